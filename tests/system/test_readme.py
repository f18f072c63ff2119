# SPDX-License-Identifier: MIT
"""The README is run: its C program is compiled and its commands do what they say."""

import os
import re
import subprocess
import unittest

from support import BUILD, MAKE_JPEGS, ROOT, Case, read, write

README = os.path.join(ROOT, "README.md")


def blocks(language):
    text = read(README).decode()
    return re.findall(r"^```%s\n(.*?)^```" % language, text, re.S | re.M)


@unittest.skipUnless(os.path.exists(README), "no README.md")
class Readme(Case):
    @classmethod
    def share(cls):
        cls.environment = dict(os.environ, PATH=BUILD + ":" + os.environ["PATH"], LC_ALL="C")

    def test_programs_compile_and_run(self):
        programs = [b for b in blocks("c") if "main(" in b]
        self.assertNotEqual(programs, [])
        images = self.path("images")
        subprocess.run([MAKE_JPEGS, images, "--images", "300"], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["sheaf", "pack", images, self.path("shards"), "--format", "tfrecord"],
                       check=True, stdout=subprocess.DEVNULL, env=self.environment)
        for program in programs:
            write(self.path("program.c"), program.encode())
            subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-I" + ROOT, "-o",
                            self.path("program"), self.path("program.c"), "-L" + BUILD,
                            "-lsheaf", "-Wl,-rpath," + BUILD], check=True)
            done = subprocess.run([self.path("program"), self.path("shards")], check=True,
                                  stdout=subprocess.PIPE, cwd=self.folder)
            self.assertNotEqual(done.stdout, b"")

    def test_commands_run(self):
        """Every `sheaf` line of the shell blocks, in order, in one directory that has the tree
        they speak of."""
        lines = [line for block in blocks("sh")
                 for line in block.replace("\\\n", " ").splitlines()
                 if re.match(r"(\$ )?(sheaf|build/sheaf) ", line)]
        self.assertNotEqual(lines, [])
        work = self.path("work")
        os.makedirs(work)
        trees = {m for line in lines for m in re.findall(r"sheaf (?:pack|plan) ([^-\s]\S*)", line)}
        for tree in trees:
            if not os.path.splitext(tree)[1]:
                subprocess.run([MAKE_JPEGS, os.path.join(work, tree), "--images", "300"],
                               check=True, stdout=subprocess.DEVNULL)
        for line in lines:
            command = re.sub(r"^(\$ )?(build/)?", "", line)
            done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=work,
                                  env=self.environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE)
            # `... | head` ends the writer by a broken pipe
            self.assertIn(done.returncode, (0, 141), "%s\n%s" % (command, done.stderr.decode()))

    def test_options_it_speaks_of_exist(self):
        text = read(README).decode()
        known = set()
        for command in ("pack", "cat", "info", "verify", "index", "unpack", "convert"):
            known |= set(re.findall(r"--[a-z][a-z-]+", subprocess.run(
                [os.path.join(BUILD, "sheaf"), command, "--help"], check=True,
                stdout=subprocess.PIPE).stdout.decode()))
        for line in re.findall(r"sheaf (?:pack|cat|info|verify|index|unpack|convert)[^`\n]*",
                               text):
            for option in re.findall(r"(?<!\S)--[a-z][a-z-]+", line):
                self.assertIn(option, known, line)
