# SPDX-License-Identifier: MIT
"""Tests make install and make uninstall, the header, and the symbols that the libraries export."""

import os
import re
import shutil
import subprocess

from support import BUILD, ROOT, SHEAF, Case, read, tree_of, write

PROGRAM = b"""
#include <sheaf.h>
#include <stdio.h>

int main(void)
{
    struct sheaf_reader_options options;

    sheaf_reader_options_init(&options, sizeof(options));
    printf("%s %d\\n", sheaf_version(), options.sizeof_options == sizeof(options));
    return 0;
}
"""


class Install(Case):
    @classmethod
    def share(cls):
        cls.dest = os.path.join(cls.shared, "root")
        cls.said = cls.make("install").stdout

    @classmethod
    def make(cls, *words):
        environment = {k: v for k, v in os.environ.items()
                       if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        return subprocess.run(["make", "-s", "-C", ROOT, "BUILD=" + os.path.relpath(BUILD, ROOT),
                               "DESTDIR=" + cls.dest, "PREFIX=/usr", *words], check=True,
                              stdout=subprocess.PIPE, env=environment)

    def compile(self, compiler, source, *words):
        """Builds a program against the installed library, with the flags of pkg-config."""
        environment = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=self.dest,
                           PKG_CONFIG_PATH=os.path.join(self.dest, "usr/lib/pkgconfig"))
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "sheaf"], check=True,
                               env=environment, stdout=subprocess.PIPE).stdout.decode().split()
        # pkg-config leaves out what is the compiler's own folder once it is below a sysroot
        flags += ["-I" + os.path.join(self.dest, "usr/include"),
                  "-L" + os.path.join(self.dest, "usr/lib")]
        subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-o", self.path("program"),
                        source, *words, *flags], check=True)
        return subprocess.run([self.path("program")], check=True, stdout=subprocess.PIPE, env={
            "LD_LIBRARY_PATH": os.path.join(self.dest, "usr/lib")}).stdout.decode()

    def test_ldconfig_is_named_where_programs_look(self):
        self.assertNotIn(b"run ldconfig", self.said)
        self.assertIn(b"run ldconfig", self.make("PREFIX=" + self.path("there"), "DESTDIR=", "install").stdout)

    def test_what_is_there(self):
        for name in ("bin/sheaf", "include/sheaf.h", "lib/libsheaf.a", "lib/libsheaf.so",
                     "lib/pkgconfig/sheaf.pc", "share/man/man1/sheaf.1",
                     "share/man/man1/sheaf-pack.1", "share/bash-completion/completions/sheaf"):
            self.assertTrue(os.path.exists(os.path.join(self.dest, "usr", name)), name)

    def test_the_command_runs(self):
        text = subprocess.run([os.path.join(self.dest, "usr/bin/sheaf"), "--version"],
                              stdout=subprocess.PIPE, check=True).stdout
        self.assertTrue(text.startswith(b"sheaf "))

    def test_a_program_in_c(self):
        write(self.path("program.c"), PROGRAM)
        for compiler in ("cc", "clang"):
            if shutil.which(compiler):
                text = self.compile(compiler, self.path("program.c"), "-std=c99", "-pedantic")
                self.assertRegex(text, r"^\d+\.\d+\.\d+ 1\n$")

    def test_a_program_in_cplusplus(self):
        if not shutil.which("g++"):
            self.skipTest("no g++")
        write(self.path("program.cc"), PROGRAM)
        for standard in ("-std=c++11", "-std=c++20"):
            text = self.compile("g++", self.path("program.cc"), standard)
            self.assertRegex(text, r" 1\n$")

    def test_static_library(self):
        write(self.path("program.c"), PROGRAM)
        environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(
            self.dest, "usr/lib/pkgconfig"))
        flags = subprocess.run(["pkg-config", "--static", "--libs", "sheaf"], check=True,
                               env=environment, stdout=subprocess.PIPE).stdout.decode().split()
        flags = [f for f in flags if f != "-lsheaf" and not f.startswith("-L/usr/lib")]
        subprocess.run(["cc", "-I" + os.path.join(self.dest, "usr/include"), "-o",
                        self.path("program"), self.path("program.c"),
                        os.path.join(self.dest, "usr/lib/libsheaf.a"), *flags], check=True)
        subprocess.run([self.path("program")], check=True, stdout=subprocess.DEVNULL)

    def test_pkg_config_knows_the_prefix(self):
        text = read(os.path.join(self.dest, "usr/lib/pkgconfig/sheaf.pc")).decode()
        self.assertIn("/usr", text)
        self.assertNotIn(self.dest, text)
        self.assertNotIn("@", text)

    def test_man_pages(self):
        for section, least in ((1, 8), (3, 18), (5, 3)):
            folder = os.path.join(self.dest, "usr/share/man/man%d" % section)
            self.assertGreaterEqual(len(os.listdir(folder)), least)
            if shutil.which("groff"):
                for name in os.listdir(folder):
                    if not read(os.path.join(folder, name)).startswith(b".so "):
                        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", name], cwd=folder,
                                              stderr=subprocess.PIPE)
                        self.assertEqual(done.stderr, b"", name)

    def test_every_public_function_has_a_manual_page(self):
        header = read(os.path.join(self.dest, "usr/include/sheaf.h")).decode()
        names = re.findall(r"^SHEAF_(?:API|CALL)[^;(]*?\b(sheaf_\w+)\(", header, re.M)
        self.assertGreater(len(names), 100)
        for name in names:
            page = read(os.path.join(self.dest, "usr/share/man/man3/%s.3" % name)).decode()
            if page.startswith(".so "):
                page = read(os.path.join(self.dest, "usr/share/man", page.split()[1])).decode()
            self.assertIn(name + "(", page)

    def complete(self, *words):
        """Returns the words that bash offers to complete the last of `words`."""
        script = os.path.join(self.dest, "usr/share/bash-completion/completions/sheaf")
        environment = dict(os.environ, PATH=os.path.join(self.dest, "usr/bin") + ":" +
                           os.environ["PATH"])
        return subprocess.run(
            ["bash", "-c", '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sheaf; '
             'printf "%s\\n" "${COMPREPLY[@]}"', script, *words], check=True, env=environment,
            stdout=subprocess.PIPE).stdout.decode().split()

    def test_completion(self):
        self.assertEqual(sorted(self.complete("sheaf", "p")), ["pack", "pipe", "plan"])
        self.assertIn("verify", self.complete("sheaf", ""))
        self.assertEqual(self.complete("sheaf", "pack", "--shard-c"), ["--shard-count"])
        self.assertIn("--shuffle-buffer", self.complete("sheaf", "cat", "--"))
        self.assertEqual(self.complete("sheaf", "pack", "--codec", "g"), ["gzip"])
        self.assertEqual(self.complete("sheaf", "pack", "--codec", "=", "g"), ["gzip"])
        self.assertEqual(self.complete("sheaf", "cat", "--missing", "s"), ["skip"])
        self.assertEqual(self.complete("sheaf", "pack", "--label-base", ""), ["0", "1"])
        self.assertEqual(self.complete("sheaf", "pack", "--resume", "--dr"), ["--dry-run"])
        self.assertEqual(self.complete("sheaf", "commit", "--s"), ["--s3"])
        text = re.sub(r"\s+", " ", subprocess.run([SHEAF, "pack", "--help"], check=True,
                                                  stdout=subprocess.PIPE).stdout.decode())
        names = re.search(r"repeatable: (encryption[a-z0-9, -]*[a-z0-9]) --", text)[1].split(", ")
        self.assertEqual(self.complete("sheaf", "pack", "--s3", ""), [n + "=" for n in names])
        self.assertEqual(self.complete("sheaf", "pack", "--codec", ""),
                         ["none", "gzip", "lz4", "zstd"])

    def test_uninstall_leaves_nothing(self):
        root, other = self.dest, self.path("root")
        try:
            shutil.copytree(root, other, symlinks=True)
            Install.dest = other
            self.make("uninstall")
        finally:
            Install.dest = root
        self.assertEqual(tree_of(other), {})
        links = [n for _, folders, names in os.walk(other) for n in folders + names
                 if os.path.islink(os.path.join(other, n))]
        self.assertEqual(links, [])


class Symbols(Case):
    def declared(self):
        text = re.sub(r"/\*.*?\*/", "", read(os.path.join(ROOT, "sheaf.h")).decode(), flags=re.S)
        return set(re.findall(r"SHEAF_(?:API|CALL)[^;]*?\b(sheaf_\w+)\(", text))

    def symbols(self, *words):
        text = subprocess.run(["nm", *words], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout.decode()
        return {line.split()[-1].split("@")[0] for line in text.splitlines()
                if len(line.split()) == 3 and line.split()[1] in "TDBRVW"}

    def test_exported_symbols_are_the_declared_ones(self):
        found = self.symbols("-D", "--defined-only", os.path.join(BUILD, "libsheaf.so"))
        self.assertEqual({s for s in found if not s.startswith("LIBSHEAF")}, self.declared())

    def test_a_library_of_another_abi_has_another_name(self):
        major, minor = re.findall(r"#define SHEAF_VERSION_(?:MAJOR|MINOR) (\d+)",
                                  read(os.path.join(ROOT, "sheaf.h")).decode())
        text = subprocess.check_output(["readelf", "-d", os.path.join(BUILD, "libsheaf.so")])
        name = re.search(rb"SONAME.*\[(.*)\]", text).group(1).decode()
        self.assertEqual(name, "libsheaf.so." + (major if major != "0" else "0." + minor))

    def test_the_package_lists_them(self):
        text = read(os.path.join(ROOT, "tools/packaging/debian/libsheaf.symbols")).decode()
        self.assertEqual(set(re.findall(r"^ (sheaf_\w+)@SHEAF_0 ", text, re.M)), self.declared())

    def test_the_archive_defines_them(self):
        found = self.symbols("--defined-only", os.path.join(BUILD, "libsheaf.a"))
        self.assertEqual(self.declared() - found, set())

    def test_the_library_has_no_other_writable_globals(self):
        """Only these variables are in writable sections: the connections that all stores share (store/remote.c), the
        number of open local files (store/local_read.c), a source of credentials that is never written to, the program's
        function for notices and the time until which the same notice is not repeated (base/notice.c), the number of
        requests (store/request.c), and the speed of each server (store/peers.c)."""
        text = subprocess.run(["objdump", "-t", os.path.join(BUILD, "libsheaf.a")], check=True,
                              stdout=subprocess.PIPE).stdout.decode()
        found = re.findall(r" O \.(?:data|data\.rel|data\.rel\.local|bss|tdata|tbss)"
                           r"\t\S+ +(\S+)$| O \*COM\*\t\S+ +(\S+)$", text, re.M)
        self.assertRegex(text, r" O \.(data\.rel\.ro|rodata)")
        self.assertEqual(sorted(re.sub(r"(?<=_ns)\.\d+$", "", a or b) for a, b in found),
                         ["nothing.0", "notices", "open_files", "process",
                          "quiet_until_ns", "request_total", "servers"])
