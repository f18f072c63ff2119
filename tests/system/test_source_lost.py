# SPDX-License-Identifier: MIT
"""Tests that a source which vanishes is not a bad file: it must end the run, whatever --on-error says. Also tests the
limit for the number of skipped files, and that this number is always shown."""

import errno
import json
import os

import support
from jpegs import jpeg
from support import Case, make_tree, pack, read, sheaf, write

SKIP = ("--on-error", "skip")


def info(dest):
    return json.loads(sheaf("info", dest, "--json").stdout)


class Lost(Case):
    @classmethod
    def share(cls):
        cls.library = support.preload(cls.shared, "refuse")
        cls.files = {"%s/%02d.txt" % ("ab"[i % 2], i): b"%d" % i * 9 for i in range(40)}
        cls.tree = make_tree(os.path.join(cls.shared, "tree"), cls.files)

    def refused(self, number, end, *words, status=0):
        env = dict(os.environ, LD_PRELOAD=self.library, REFUSE_END=end, REFUSE_ERRNO=str(number))
        return sheaf(*words, status=status, env=env)

    def test_errors_of_the_place_end_the_run(self):
        for number in (errno.EIO, errno.ENOTCONN, errno.ESTALE, errno.ETIMEDOUT, errno.ECONNABORTED,
                       errno.EHOSTDOWN):
            for end in ("a/20.txt", "b"):       # a file, and a directory
                for words in (("pack", self.tree, self.path("out"), "--format", "webdataset"),
                              ("plan", self.tree, self.path("out"), "-o", self.path("p"),
                               "--format", "tfrecord")):
                    if words[0] == "plan" and "/" in end:   # no file is opened then
                        continue
                    done = self.refused(number, end, *words, *SKIP, "--quiet", status=1)
                    self.assert_error(done, os.strerror(number))
                    self.assert_nothing(self.path("out"))

    def test_a_part_whose_source_is_lost(self):
        sheaf("plan", self.tree, self.path("out"), "-o", self.path("p"), "--format", "tfrecord",
              "--shard-count", 4, *SKIP)
        self.refused(errno.ESTALE, "a/20.txt", "pack", "--plan", self.path("p"), status=1)
        sheaf("commit", self.path("p"), status=1)
        sheaf("pack", "--plan", self.path("p"))
        sheaf("commit", self.path("p"))
        self.assertEqual(info(self.path("out"))["samples"], 40)

    def test_a_file_that_cannot_be_read_is_bad(self):
        done = self.refused(errno.EACCES, "a/20.txt", "pack", self.tree, self.path("out"),
                            "--format", "webdataset", *SKIP, "--quiet")
        self.assertEqual(done.stderr.count(b"1 of 40 files skipped: skipped.tsv lists them"), 1)
        self.assertEqual((info(self.path("out"))["samples"], info(self.path("out"))["skipped"]),
                         (39, 1))

    def changed(self, *options):
        """Packs the two parts of a plan after two of its files have changed."""
        tree = make_tree(self.path("changing"), self.files)
        sheaf("plan", tree, self.path("out"), "-o", self.path("p"), "--format", "tfrecord",
              "--shard-count", 4, "--no-shuffle", "--overwrite", *options)
        os.unlink(os.path.join(tree, "a/38.txt"))
        write(os.path.join(tree, "b/01.txt"), b"longer than it was")
        return [sheaf("pack", "--plan", self.path("p"), "--part", "%d/2" % part, status=None)
                for part in range(2)]

    def test_files_that_changed_are_a_choice_of_their_own(self):
        for done in self.changed(*SKIP):
            self.assert_error(done, "since the scan")
        sheaf("commit", self.path("p"), status=1)
        for done in self.changed(*SKIP, "--on-change", "skip"):
            self.assertEqual(done.returncode, 0)
        done = sheaf("commit", self.path("p"), "--quiet")
        self.assertIn(b"2 of 40 files skipped", done.stderr)
        self.assertEqual((info(self.path("out"))["samples"], info(self.path("out"))["skipped"]),
                         (38, 2))
        self.assertIn(b"skipped       2 when it was packed",
                      sheaf("info", self.path("out")).stdout)
        done = sheaf("pack", self.tree, self.path("o"), "--format", "tfrecord", "--on-change",
                     "skip", status=2)
        self.assert_error(done, "requires --on-error skip")

    def test_one_limit_for_all_parts(self):
        for done in self.changed(*SKIP, "--on-change", "skip", "--max-skipped", "1"):
            self.assertEqual(done.returncode, 0)        # each part has one
        done = sheaf("commit", self.path("p"), status=1)
        self.assert_error(done, "2 files would be skipped, but only 1 may be")
        self.assert_nothing(self.path("out"))
        for done in self.changed(*SKIP, "--on-change", "skip", "--max-skipped", "5%"):
            self.assertEqual(done.returncode, 0)
        sheaf("commit", self.path("p"))

    def test_max_skipped(self):
        tree = make_tree(self.path("bad"), {**{"%02d.jpg" % i: jpeg(seed=i) for i in range(17)},
                                            **{"x%d.jpg" % i: b"no image" for i in range(3)}})
        for limit, good in (("3", True), ("2", False), ("0", False), ("15%", True),
                            ("14.9%", False), ("100%", True)):
            done = pack(tree, self.path("out"), "recordio", "none", *SKIP, "--overwrite",
                        "--max-skipped", limit, status=0 if good else 1)
            if good:
                self.assertEqual(info(self.path("out"))["skipped"], 3)
                self.assertEqual(len(read(self.path("out/skipped.tsv")).splitlines()), 3)
            else:
                self.assert_error(done, "files would be skipped", "--max-skipped allows more")
        for limit in ("-1", "x", "1.5", "101%", "", "1%%"):
            self.assertIn(pack(tree, self.path("o"), "recordio", "none", *SKIP, "--max-skipped",
                               limit, status=None).returncode, (1, 2), limit)
        more = make_tree(self.path("more"), {"y.jpg": b"", "z.jpg": jpeg(seed=90)})
        sheaf("append", more, self.path("out"), *SKIP, "--max-skipped", "0", status=1)
        sheaf("append", more, self.path("out"), *SKIP, "--max-skipped", "1")
        self.assertEqual(info(self.path("out"))["skipped"], 4)
