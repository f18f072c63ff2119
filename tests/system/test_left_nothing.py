#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tests that a command that fails removes the directories that it has made, if they are still empty. Directories that
existed before stay."""

import os
import shutil
import signal
import subprocess
import time
import unittest

from support import SHEAF, Case, flip, make_tree, pack, read, sheaf, write


class LeftNothing(Case):
    def setUp(self):
        super().setUp()
        self.source = make_tree(self.path("source"), {"%s/%d.bin" % (name, i): b"bytes" * 9 for name in "ab"
                                                      for i in range(4)})
        self.dest = self.path("new", "deep", "dest")

    def places(self):
        return sorted(os.path.join(folder, name) for folder, folders, names in os.walk(self.path())
                      for name in folders + names)

    def fails(self, *words, says, limit="unlimited"):
        """Runs a command with a destination that does not exist, and once more with an empty one. Both runs must
        fail, and leave what was there. `limit` is the limit on the size of files."""
        for made in (False, True):
            if made:
                os.makedirs(self.dest)
            before = self.places()
            done = subprocess.run(["sh", "-c", "ulimit -f %s; exec \"$@\"" % limit, "sh", SHEAF, *words],
                                  stderr=subprocess.PIPE)
            self.assertIn(says, done.stderr.decode())
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(self.places(), before, words)
        os.removedirs(self.dest)

    def test_packing(self):
        options = ("--format", "tfrecord")
        for more in ((), ("--split", "train=0.5,val=0.5"), ("--resume",), ("--overwrite",)):
            self.fails("pack", self.source, self.dest, *options, *more, "--memory", "1", says="memory")
        for place in (self.dest, self.dest + "/", self.path("new", "..", "new", "deep", "dest")):
            self.fails("plan", self.source, self.dest, "-o", place, *options, says=place)
        write(os.path.join(self.source, "c", "bad.jpg"))
        self.fails("pack", self.source, self.dest, *options, says="bad.jpg")
        self.fails("pack", self.source, self.dest, *options, "--split", "train=0.5,val=0.5", says="bad.jpg")

    def test_a_destination_in_the_source(self):
        self.dest = os.path.join(self.source, "new", "dest")
        self.fails("pack", self.source, self.dest, "--format", "tfrecord", says="source")
        self.fails("plan", self.source, self.dest, "-o", self.path("p.plan"), "--format", "tfrecord", says="source")

    def test_a_claim_that_cannot_be_written(self):
        for more in ((), ("--resume",), ("--overwrite",)):
            self.fails("pack", self.source, self.dest, "--format", "tfrecord", *more, says="File too large", limit=0)

    def test_copies(self):
        packed = self.path("packed")
        pack(make_tree(self.path("one"), {"0.bin": b"bytes"}), packed, "tfrecord")
        self.fails("convert", packed, self.dest, "--format", "recordio", "--memory", "1", says="memory")
        self.fails("unpack", packed, self.dest, says="File too large", limit=0)
        self.fails("get", packed, "0", "-o", self.dest, says="File too large", limit=0)
        pack(make_tree(self.path("two"), {"a/b/c/0.bin": b"bytes"}), self.path("deep"), "tfrecord")
        self.fails("unpack", self.path("deep"), self.dest, says="File too large", limit=0)
        self.fails("get", self.path("deep"), "a/b/c/0", "-o", self.dest, says="File too large", limit=0)
        shard = os.path.join(packed, "shard-000000.tfrecord")
        write(shard, flip(read(shard), 20))
        self.fails("convert", packed, self.dest, "--format", "recordio", says="shard-000000")
        self.fails("unpack", packed, self.dest, says="shard-000000")

    def test_directories_of_samples(self):
        """A failed unpack removes the directories that it made for a file, but neither others nor those before."""
        packed, out = self.path("packed"), self.path("out")
        pack(make_tree(self.path("two"), {"a/b/c/0.bin": bytes(5000), "d/e/1.bin": b"short"}), packed, "tfrecord",
             "none", "--no-shuffle")
        os.makedirs(os.path.join(out, "a"))
        for _ in range(2):
            done = subprocess.run(["sh", "-c", "ulimit -f 1; exec \"$@\"", "sh", SHEAF, "unpack", packed, out],
                                  stderr=subprocess.PIPE)
            self.assertIn(b"File too large", done.stderr)
            self.assertEqual([places[0] for places in os.walk(out)], [out, os.path.join(out, "a")])
        write(os.path.join(out, "d", "e"), b"a file in place of a directory")
        os.rmdir(os.path.join(out, "a"))
        self.assert_error(sheaf("unpack", packed, out, status=1), "d/e/1.bin")
        self.assertEqual(sorted(places[0] for places in os.walk(out)),
                         [out] + [os.path.join(out, name) for name in ("a", "a/b", "a/b/c", "d")])

    def test_transfers(self):
        self.fails("fetch", self.path("source", "a", "0.bin"), self.dest, says="File too large", limit=0)
        self.fails("pipe", self.source, self.dest, "--memory", "1", "--epochs", "1", says="memory")

    def test_a_pipe_that_nobody_reads(self):
        process = subprocess.Popen([SHEAF, "pipe", self.source, self.dest, "--epochs", "1"], stderr=subprocess.PIPE)
        while not os.path.exists(os.path.join(self.dest, "train_0")):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate()
        self.assertFalse(os.path.exists(self.path("new")))

    def test_a_run_that_changes_a_data_set(self):
        packed = self.path("packed")
        pack(self.source, packed, "tfrecord")
        write(self.path("keys"), b"a/0\n")
        before = self.places()
        for words in (("append", self.path("more"), packed), ("edit", packed, "--delete", self.path("keys"))):
            for more in ((), ("--resume",)):
                make_tree(self.path("more"), {"a/new.bin": b"bytes"})
                self.assert_error(sheaf(*words, *more, "--memory", "1", status=1), "memory")
                shutil.rmtree(self.path("more"))
                self.assertEqual(self.places(), before, (words, more))

    def test_columns(self):
        packed = self.path("packed")
        pack(self.source, packed, "tfrecord")
        write(self.path("values.jsonl"), b'{"key": "a/0", "value": "x"}\n{"key": "none", "value": "x"}\n')
        before = self.places()
        self.assert_error(sheaf("column", "add", packed, "--name", "cap", "--from", self.path("values.jsonl"), status=1),
                          "none")
        self.assertEqual(self.places(), before)


if __name__ == "__main__":
    unittest.main()
