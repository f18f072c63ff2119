# SPDX-License-Identifier: MIT
"""Tests --quiet and --verbose of every command: what they leave out, what they add, and what they do not change."""

import io
import os
import pty
import select
import subprocess
import tarfile
import time

import servers
from support import SHEAF, Case, make_tree, pack, sheaf, write
from test_command_line import COMMANDS

ALL = (*COMMANDS, "plan", "append", "commit")
# Of these, what is printed on standard output is what they are for.
PRINTING = {"cat", "info", "verify", "get", "locate", "advise"}
WAIT = 100          # seconds; only a hang takes so long


def foreign_tar():
    """Returns a tar with two samples, and a directory, which is skipped."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        folder = tarfile.TarInfo("c0")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for name in ("c0/a.txt", "c0/b.txt"):
            member = tarfile.TarInfo(name)
            member.size = 3
            tar.addfile(member, io.BytesIO(b"abc"))
    return data.getvalue()


class Verbosity(Case):
    def setUp(self):
        super().setUp()
        self.tree = make_tree(self.path("tree"), {
            **{"c%d/%03d.txt" % (i % 3, i): b"x" * i for i in range(30)}, "c0/.DS_Store": b"no"})
        self.more = make_tree(self.path("more"), {"c0/more.txt": b"more", "c0/.DS_Store": b"no"})
        self.tar = self.path("foreign.tar")
        write(self.tar, foreign_tar())
        self.made = self.path("made")
        pack(self.tree, self.made)
        self.runs = 0

    def new(self, name):
        return self.path("%s-%d" % (name, self.runs))

    def words(self, command):
        """Returns the arguments of a small case of the command. The paths are new at each call."""
        self.runs += 1
        out, webdataset = self.new("out"), ("--format", "webdataset")
        if command == "append":
            pack(self.tree, out)
        elif command == "index":
            write(os.path.join(out, "a.tar"), foreign_tar())
        elif command == "commit":
            sheaf("plan", self.tree, out, "-o", self.new("plan"), *webdataset)
            sheaf("pack", "--plan", self.new("plan"))
        elif command == "column":
            write(self.new("values") + ".jsonl", b'{"key": "c0/000", "value": "a caption"}\n')
        elif command in ("edit", "repair"):
            pack(self.tree, out)
            write(self.new("keys"), b"c0/000\n")
        return {
            "pack": ("pack", self.tree, out, *webdataset),
            "append": ("append", self.more, out),
            "cat": ("cat", self.tar, "--list"),
            "info": ("info", self.made),
            "report": ("report", self.made, "-o", out),
            "verify": ("verify", self.tar),
            "column": ("column", "add", self.made, "--name", "words-%d" % self.runs,
                       "--from", self.new("values") + ".jsonl"),
            "repair": ("repair", out, "--from", self.tree),
            "edit": ("edit", out, "--delete", self.new("keys")),
            "index": ("index", out),
            "view": ("view", self.made, "--fields", "nothing", "-o", out + ".view"),
            "unpack": ("unpack", self.tar, out),
            "get": ("get", self.made, "c0/000"),
            "locate": ("locate", self.made, "c0/000"),
            "convert": ("convert", self.tar, out, "--format", "tfrecord"),
            "plan": ("plan", self.tree, out, "-o", self.new("plan"), *webdataset),
            "commit": ("commit", self.new("plan")),
            "fetch": ("fetch", "--warm", self.tree),
            "advise": ("advise", self.made),
            "pipe": ("pipe", self.tar, out, "--epochs", "1", "--channel", "train"),
        }[command]

    def piped(self, words):
        """Runs sheaf pipe with a reader at the other end."""
        pipe = os.path.join(words[2], "train_0")
        os.makedirs(words[2], exist_ok=True)
        feeder = subprocess.Popen([SHEAF, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            end = time.monotonic() + WAIT
            while not os.path.exists(pipe) and feeder.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            subprocess.run(["cat", pipe], check=True, stdout=subprocess.DEVNULL, timeout=WAIT)
            out, errors = feeder.communicate(timeout=WAIT)
        finally:
            if feeder.poll() is None:
                feeder.kill()
                feeder.communicate()
        self.assertEqual(feeder.returncode, 0, errors)
        return subprocess.CompletedProcess(words, 0, out, errors)

    def run_case(self, command, *more):
        words = (*self.words(command), *more)
        return self.piped(words) if command == "pipe" else sheaf(*words)

    def test_every_command(self):
        with_notes = set()
        for command in ALL:
            with self.subTest(command):
                usual = self.run_case(command)
                quiet = self.run_case(command, "--quiet")
                verbose = self.run_case(command, "--verbose")
                self.assertEqual(quiet.stderr, b"")
                self.assertEqual(quiet.stdout, usual.stdout if command in PRINTING else b"")
                lines = verbose.stderr.splitlines()
                self.assertLess(len(usual.stderr.splitlines()), len(lines))
                self.assertTrue([x for x in lines if x.startswith(b"sheaf: version ")], lines)
                self.assertTrue([x for x in lines if x.startswith(b"sheaf: time ")], lines)
                self.assertTrue(all(x.startswith(b"sheaf: ") for x in lines), lines)
                if usual.stderr:
                    with_notes.add(command)
        self.assertLessEqual({"pack", "plan", "append", "cat", "verify", "index", "view", "unpack",
                              "convert"}, with_notes)

    def test_an_error_is_always_said(self):
        for command in ALL:
            with self.subTest(command):
                words = [os.path.join(self.folder, "none") if os.path.exists(str(word)) or
                         command == "commit" and word == self.new("plan") else word
                         for word in self.words(command)]
                done = sheaf(*words, "--quiet", status=None)
                self.assertIn(done.returncode, (1, 2))
                self.assertRegex(done.stderr, rb"\Asheaf: .*none.*\n\Z")

    def test_problems_that_verify_finds(self):
        shard = [n for n in os.listdir(self.made) if n.endswith(".tar")][0]
        with open(os.path.join(self.made, shard), "r+b") as file:
            file.truncate(100)
        usual = sheaf("verify", self.made, status=1)
        self.assertEqual(sheaf("verify", self.made, "--quiet", status=1).stderr, usual.stderr)

    def test_both_are_misuse(self):
        for command in ALL:
            done = sheaf(*self.words(command), "--quiet", "--verbose", status=2)
            self.assertEqual(done.stderr.decode(), "sheaf: %s: --quiet and --verbose exclude each "
                             "other\n" % command)

    def test_progress(self):
        for more, shown in (((), True), (("--quiet",), False)):
            terminal, stderr = pty.openpty()
            subprocess.run([SHEAF, *self.words("pack"), *more], check=True, stderr=stderr,
                           stdout=subprocess.DEVNULL, timeout=WAIT)
            self.assertEqual(bool(select.select([terminal], [], [], 0)[0]), shown)
            os.close(stderr)
            os.close(terminal)

    def test_a_dry_run_is_a_result(self):
        words = ("pack", self.tree, self.path("dry"), "--format", "webdataset", "--dry-run")
        self.assertEqual(sheaf(*words, "--quiet").stdout, sheaf(*words).stdout)

    def test_remote_objects(self):
        servers.start_fake(self)
        env = {**self.env, "AWS_SECRET_ACCESS_KEY": "nobody-sees-this"}
        sheaf("pack", self.tree, "s3://bucket/set", "--format", "webdataset", "--quiet", env=env)
        said = sheaf("cat", "s3://bucket/set", "--list", "--verbose", env=env).stderr.decode()
        self.assertRegex(said, r"sheaf: set in the environment: .*AWS_SECRET_ACCESS_KEY")
        self.assertRegex(said, r"sheaf: read [0-9.]+ k?B, 0 B of it from the cache; ")
        self.assertRegex(said, r"sheaf: [0-9]+ HTTP requests, [0-9]+ of them repeated\n")
        self.assertNotIn("nobody-sees-this", said)
