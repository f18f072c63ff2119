# SPDX-License-Identifier: MIT
"""The manual agrees with the help; how options are read; behaviour at a terminal and with a full disk."""

import array
import fcntl
import os
import pty
import re
import signal
import subprocess
import termios
import time
import unittest

import writers
from support import ROOT, SHEAF, Case, image_tree, make_tree, pack, sheaf

COMMANDS = ("pack", "cat", "info", "verify", "index", "view", "unpack", "convert", "advise", "fetch",
            "pipe", "commit", "get", "locate", "report", "column", "edit",
            "repair")
OF_ALL = {"help", "quiet", "verbose"}       # options that sheaf.1 describes


def help_of(command):
    return sheaf(command, "--help").stdout.decode()


def manual_path(command=None):
    return os.path.join(ROOT, "tools", "sheaf-%s.1" % command if command else "sheaf.1")


def unread(pipe):
    """Returns the number of bytes in a pipe that its reader has not read yet."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


class Manual(unittest.TestCase):
    def test_manual_and_help_know_the_same_options(self):
        for command in COMMANDS:
            helped = set(re.findall(r"^  --([a-z0-9-]+)", help_of(command), re.M)) - OF_ALL
            with open(manual_path(command), encoding="utf-8") as file:
                text = file.read()
            described = set(re.findall(r"^\.It (?:Fl j , )?Fl -([a-z0-9-]+)", text, re.M))
            synopsis = text.split(".Sh SYNOPSIS")[1].split(".Sh DESCRIPTION")[0]
            self.assertEqual(described, helped, command)
            self.assertEqual(set(re.findall(r"Fl -([a-z0-9-]+)", synopsis)), helped, command)

    def test_options_of_all_commands(self):
        with open(manual_path(), encoding="utf-8") as file:
            entries = file.read().split(".Ss Options")[1].split(".Ss Output")[0]
        self.assertEqual(set(re.findall(r"^\.It Fl -(\S+)", entries, re.M)), OF_ALL)
        for command in (*COMMANDS, "plan", "append", "commit"):
            helped = re.findall(r"^  --([a-z0-9-]+)", help_of(command), re.M)
            self.assertEqual(set(helped[-3:]), OF_ALL, command)

    def test_manuals_that_leave_options_to_another(self):
        with open(manual_path("pack"), encoding="utf-8") as file:
            pack_options = set(re.findall(r"^\.It (?:Fl j , )?Fl -([a-z0-9-]+)", file.read(), re.M))
        for command, others in (("plan", pack_options), ("append", pack_options),
                                ("commit", set())):
            helped = set(re.findall(r"^  --([a-z0-9-]+)", help_of(command), re.M)) - OF_ALL
            with open(manual_path(command), encoding="utf-8") as file:
                described = set(re.findall(r"^\.It (?:Fl o Ar PLAN , )?Fl -([a-z0-9-]+)",
                                           file.read(), re.M))
            self.assertLessEqual(described, helped, command)
            self.assertLessEqual(helped, described | others, command)

    def test_manual_and_help_know_the_same_s3_settings(self):
        text = re.sub(r"\s+", " ", help_of("pack"))
        helped = re.search(r"repeatable: (encryption[a-z0-9, -]*[a-z0-9]) --", text)[1].split(", ")
        with open(manual_path("pack"), encoding="utf-8") as file:
            entry = file.read().split(".It Fl -s3")[1].split("\n.El\n")[0]
        self.assertEqual(re.findall(r"^\.It Cm (\S+)$", entry, re.M), helped)
        with open(os.path.join(ROOT, "doc", "s3.md"), encoding="utf-8") as file:
            table = file.read().split("| NAME of the setting | values | header of the request | sent with |")[1].split("\n\n")[0]
        self.assertEqual(re.findall(r"^\| `([a-z0-9-]+)` \|", table, re.M), helped)

    def test_manual_and_help_know_the_same_defaults(self):
        seen = 0
        for command in COMMANDS:
            with open(manual_path(command), encoding="utf-8") as file:
                manual = file.read()
            text = re.sub(r"\s+", " ", help_of(command))
            for name, default in re.findall(
                    r" --([a-z0-9-]+)(?: [^ ]+)?(?:(?! --).)*?\(default: ([0-9]+[A-Za-z]*)[ )]", text):
                entry = manual.split(".It Fl -%s" % name)[1].split(".It Fl")[0]
                self.assertRegex(entry, r"The\s+default\s+is\s+%s\b" % default,
                                 (command, name))
                seen += 1
        self.assertGreater(seen, 10)

    def test_the_manual_is_well_formed(self):
        # mandoc runs in the directory of the pages, where it finds the pages that they refer to
        folder = os.path.dirname(manual_path())
        pages = [os.path.basename(manual_path(c)) for c in (None, "plan", "append", "commit",
                                                        *COMMANDS)]
        try:
            done = subprocess.run(["mandoc", "-Tlint", *pages], cwd=folder,
                                  stdout=subprocess.PIPE)
        except FileNotFoundError:
            self.skipTest("no mandoc")
        self.assertEqual(done.stdout, b"")


class Misuse(Case):
    def refused(self, *words, says=()):
        done = sheaf(*words, status=2)
        text = done.stderr.decode()
        self.assertEqual(done.stdout, b"")
        self.assertEqual(text.count("\n"), 1, text)
        self.assertTrue(text.startswith("sheaf: "), text)
        for word in says:
            self.assertIn(word, text)

    def test_commands(self):
        self.refused()
        self.refused("frobnicate", says=["frobnicate", "--help"])
        self.refused("pak", says=["did you mean pack?"])
        self.refused("")

    def test_arguments(self):
        self.refused("pack", "a", "--format", "tfrecord")
        self.refused("pack", "a", "b", says=["--format"])
        self.refused("convert", "a", "b", says=["--format"])
        for command in COMMANDS:
            self.refused(command)
        self.refused("index", "a", "b")
        self.refused("unpack", "a")

    def test_options_without_effect(self):
        """An option that needs another one is refused without it, even if it has its default value."""
        given = {"pack": ("a", "b", "--format", "tfrecord"), "convert": ("a", "b", "--format", "tfrecord"),
                 "plan": ("a", "b", "-o", "p", "--format", "tfrecord"), "append": ("a", "b"), "unpack": ("a", "b"),
                 "cat": ("a", "--null"), "get": ("a", "b"), "info": ("a",), "pipe": ("a", "b"), "edit": ("a", "--purge"),
                 "view": ("a", "-o", "b.view"), "column": ("add", "a", "--name", "n", "--from", "f")}
        for commands, option, needs in (
                (("cat", "convert", "unpack"), ("--max-corrupt", "3"), "--on-corrupt skip"),
                (("cat", "convert", "unpack"), ("--max-corrupt", "3", "--on-corrupt", "fail"), "--on-corrupt skip"),
                (("cat", "convert", "unpack", "get"), ("--missing", "none"), "--columns"),
                (("cat", "convert", "unpack", "get"), ("--missing", "fail"), "--columns"),
                (("cat", "convert", "unpack"), ("--cache-size", "1GB"), "--cache"),
                (("pack", "plan", "append"), ("--max-skipped", "3"), "--on-error skip"),
                (("pack", "plan", "convert"), ("--resize-mode", "longer"), "--resize"),
                (("pack", "plan", "convert"), ("--quality", "80"), "--fix-images or --resize"),
                (("pack", "convert", "column"), ("--part", "0/2"), "--plan"),
                (("convert",), ("--seed", "1"), "--shuffle or --split"), (("pipe",), ("--seed", "1"), "--shuffle"),
                (("info",), ("--plot", "p.svg"), "--shuffle-quality"),
                (("view",), ("--unknown-keys", "fail"), "--keys or --not-keys"),
                (("edit",), ("--unknown-keys", "skip"), "--delete, --labels or --replace")):
            for command in commands:
                with self.subTest(command=command, option=option):
                    self.refused(command, *given[command], *option,
                                 says=["%s: %s requires %s\n" % (command, option[0], needs)])
        for command in ("pack", "plan", "append", "convert"):
            self.refused(command, *given[command], "--shard-size", "1MB", "--shard-count", "2",
                         says=[command + ": --shard-size and --shard-count exclude each other"])
        self.refused("fetch", "--warm", "a", "--memory", "64MB",
                     says=["fetch: --warm allows no options but --threads and --metrics\n"])
        sheaf("fetch", "--warm", make_tree(self.path("warm"), {"a": b"text"}), "--threads", "1")
        for words, allowed in ((("list", "a", "--name", "n"), "--json"), (("drop", "a", "n", "--json"), ""),
                               (("plan", "a", "--name", "n", "-o", "p", "--json"), "--name, --from,"),
                               (("add", "a", "--name", "n", "--from", "f", "--json"), "--name, --from,")):
            self.refused("column", *words, says=["column: %s allows no options" % words[0], allowed])

    def test_a_plan_has_no_order(self):
        tree, plan = make_tree(self.path("tree"), {"a.txt": b"text"}), self.path("p.plan")
        sheaf("plan", tree, self.path("to"), "-o", plan, "--format", "tfrecord")
        sheaf("info", plan, "--json")
        self.refused("info", plan, "--seed", "3", says=["info: a plan allows no options but --json"])

    def test_unknown_options(self):
        self.refused("pack", "a", "b", "--formt", "tfrecord", says=["did you mean --format?"])
        self.refused("cat", "a", "--frobnicate", says=["--frobnicate"])
        self.refused("cat", "a", "-n")
        self.refused("cat", "a", "--lis")       # abbreviations are refused
        self.refused("cat", "a", "--=x")

    def test_sizes(self):
        tree = make_tree(self.path("tree"), {"%d.txt" % i: bytes(100) for i in range(100)})
        for size, same in (("1.5kB", "1500"), ("0.5KiB", "512"), ("2.000kB", "2000")):
            plans = [sheaf("pack", tree, self.path("out"), "--format", "tfrecord", "--dry-run",
                           "--shard-size", s).stdout for s in (size, same)]
            self.assertEqual(plans[0], plans[1])

    def test_other_words_for_help(self):
        whole, of_cat = sheaf("--help").stdout, sheaf("cat", "--help").stdout
        self.assertEqual([sheaf("-h").stdout, sheaf("help").stdout], [whole] * 2)
        self.assertEqual([sheaf("cat", "-h").stdout, sheaf("help", "cat").stdout], [of_cat] * 2)
        self.assertEqual(sheaf("help", "nothing-like-it", status=2).stdout, b"")

    def test_values(self):
        given = ["pack", "a", "b", "--format", "tfrecord"]
        for words in (["--shard-size", "0"], ["--shard-size", "1.GB"], ["--shard-size", ".5GB"],
                      ["--shard-size", "1.5"], ["--shard-size", "0.3kiB"],
                      ["--shard-size", "0.0001kB"], ["--shard-size", "15 MB"],
                      ["--shard-size", "MB"], ["--shard-size", ""], ["--shard-size", "-1"],
                      ["--shard-size", "150M"], ["--shard-size", "99999999999TB"],
                      ["--seed", "18446744073709551616"], ["--seed", "-1"], ["--seed", "0x10"],
                      ["--seed", "1 "], ["--seed", ""], ["--shard-count", "0"],
                      ["--jobs", "1025"], ["--label-base", "2"], ["--codec", "zip"],
                      ["--codec", ""], ["--codec", "GZIP"], ["--on-error", "ignore"]):
            self.refused(*given, *words, says=words[:1])
            self.refused(*given, "=".join(words), says=words[:1])
        self.refused(*given, "--jobs")
        self.refused(*given, "--resume=1", says=["no value"])
        self.refused("cat", "a", "--list", "--null")
        self.refused("cat", "a", "--list", "--to", "tfrecord")


class Streams(Case):
    @classmethod
    def share(cls):
        cls.source = make_tree(os.path.join(cls.shared, "source"), image_tree())
        cls.data_set = os.path.join(cls.shared, "set")
        pack(cls.source, cls.data_set, "webdataset", "none", "--shard-size", "50kB")

    def test_options_and_arguments_may_be_mixed(self):
        usual = sheaf("cat", self.data_set, "--list", "--seed", 5, "--limit", 7).stdout
        self.assertEqual(usual.count(b"\n"), 7)
        for words in (["--list", "--seed=5", self.data_set, "--limit=7"],
                      ["--limit", 3, "--seed", 5, "--list", "--limit", 7, "--", self.data_set]):
            self.assertEqual(sheaf("cat", *words).stdout, usual)

    def test_two_dashes_end_the_options(self):
        os.symlink(self.data_set, self.path("--list"))
        done = sheaf("cat", "--list", "--", "--list", cwd=self.folder)
        self.assertEqual(done.stdout, sheaf("cat", self.data_set, "--list").stdout)

    def test_sizes(self):
        def plan(size):
            return sheaf("pack", self.source, self.path("d"), "--format", "tfrecord",
                         "--dry-run", "--shard-size", size).stdout
        self.assertEqual(plan("40kB"), plan("40000"))
        self.assertEqual(plan("64KiB"), plan("65536"))
        self.assertNotEqual(plan("40kB"), plan("1MB"))

    def test_no_binary_data_on_a_terminal(self):
        leader, follower = pty.openpty()
        try:
            done = subprocess.run([SHEAF, "cat", self.data_set], stdout=follower,
                                  stderr=subprocess.PIPE)
        finally:
            os.close(follower)
            os.close(leader)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"terminal", done.stderr)

    def test_a_pipe_that_closes_early_ends_it_quietly(self):
        tree = make_tree(self.path("large"), {"%d.bin" % i: bytes(100000) for i in range(20)})
        pack(tree, self.path("set"), "webdataset", "none")
        process = subprocess.Popen([SHEAF, "cat", self.path("set")], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        process.stdout.read(1000)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(process.wait(), -signal.SIGPIPE)

    def test_a_signal_ends_it_though_standard_input_is_silent(self):
        begun = writers.tar([("a.txt", b"x" * 1000)])[:1536]    # one sample, and nothing after it
        for words, made in ((["unpack", "-", self.path("a")], "a"),
                            (["convert", "-", self.path("b"), "--format", "tfrecord"], "b"),
                            (["cat", "-", "--list"], "")):
            process = subprocess.Popen([SHEAF, *words], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            os.write(process.stdin.fileno(), begun)
            while process.poll() is None and \
                    (unread(process.stdin) > 0 or not os.path.isdir(self.path(made))):
                time.sleep(0.001)
            process.terminate()
            self.assertEqual(process.wait(), -signal.SIGTERM, words)
            process.stdin.close()
            process.stdout.close()
        self.assertFalse(os.path.exists(self.path("b")))

    def test_what_came_before_a_bad_record_is_written(self):
        whole = sheaf("cat", self.data_set, "--to", "tfrecord", "--no-shuffle").stdout
        lines = sheaf("cat", self.data_set, "--list", "--no-shuffle").stdout
        done = sheaf("cat", "-", "--list", "--no-shuffle", data=whole[:-1], status=1)
        self.assertEqual(done.stdout, b"".join(lines.splitlines(True)[:-1]))

    def test_a_full_disk_behind_standard_output(self):
        for words in (["cat", self.data_set], ["cat", self.data_set, "--list"],
                      ["cat", self.data_set, "--null"], ["info", self.data_set],
                      ["verify", self.data_set], ["pack", "--help"], ["--help"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([SHEAF, *words], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn(b"No space left on device", done.stderr)
