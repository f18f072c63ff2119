# SPDX-License-Identifier: MIT
"""Tests shards on network file systems, for which a FUSE file system stands. It is slow, fails for a moment, or forgets
its files."""

import os
import unittest

import faultfs
from support import CONTAINERS, Case, image_tree, listing, make_tree, pack, sheaf, shards_of


class Network(Case):
    @classmethod
    def share(cls):
        tree = os.path.join(cls.shared, "tree")
        make_tree(tree, image_tree(5, 60, size=8000))
        cls.lists, cls.shards = {}, {}
        for container in CONTAINERS:
            folder = os.path.join(cls.shared, container)
            pack(tree, folder, container, "none", "--shard-count", 4)
            cls.lists[container] = listing(folder, "--seed", 3, "--shuffle-buffer", 40)
            cls.shards[container] = len(shards_of(folder))

    def read(self, container="webdataset", *more, status=0, **how):
        """Reads the data set through the FUSE file system. Returns the ended command and the counts of calls."""
        with faultfs.mounted(os.path.join(self.shared, container), self.path("mnt"),
                             **how) as counts:
            done = sheaf("cat", self.path("mnt"), "--list", "--seed", 3, "--shuffle-buffer", 40,
                         *more, status=status)
            found = counts()
        if status == 0:
            self.assertEqual(done.stdout.decode().splitlines(), self.lists[container])
        return done, found

    def test_slow_opens_and_reads(self):
        for container in CONTAINERS:
            with self.subTest(container):
                self.read(container, latency=0.01)
                self.read(container, "--lanes", 1, "--threads", 1, latency=0.01)

    def test_reads_that_fail_for_a_moment(self):
        for container in CONTAINERS:
            with self.subTest(container):
                _, counts = self.read(container, direct=1, eio=4)
                self.assertGreater(counts["failed"], 2)

    def test_listings_that_fail_for_a_moment(self):
        for name in os.listdir(os.path.join(self.shared, "webdataset")):
            if name.endswith(".tar"):           # shards without a manifest: they are listed
                os.makedirs(self.path("shards"), exist_ok=True)
                os.link(os.path.join(self.shared, "webdataset", name), self.path("shards", name))
        for failures, status in ((2, 0), (1000, 1)):
            with faultfs.mounted(self.path("shards"), self.path("mnt"), lists=failures) as counts:
                done = sheaf("cat", self.path("mnt"), "--list", status=status)
                self.assertGreater(counts()["list"], 2)
            if status == 0:
                self.assertEqual(len(done.stdout.splitlines()), len(self.lists["webdataset"]))
            else:
                self.assert_error(done, "cannot list", "Input/output error")

    def test_reads_that_fail_for_good(self):
        done, counts = self.read(status=1, direct=1, eio=1)
        self.assert_error(done, "cannot read", "Input/output error")
        self.assertLess(counts["failed"], 20)

    def test_files_that_went_stale_are_opened_again(self):
        for container in CONTAINERS:
            with self.subTest(container):
                _, counts = self.read(container, direct=1, stale=6)
                self.assertGreater(counts["failed"], 0)

    def test_files_that_went_stale_and_are_others_now(self):
        done, _ = self.read(status=1, direct=1, stale=6, changed=1)
        self.assert_error(done, "went stale", "another one now")

    def test_no_sample_costs_a_question(self):
        """The mount caches neither names nor attributes, so each request is counted."""
        for container in CONTAINERS:
            with self.subTest(container):
                _, counts = self.read(container, direct=1)
                files = self.shards[container] * (2 if container == "recordio" else 1) + 2
                self.assertEqual(counts["open"], files)
                self.assertLess(counts["getattr"], 12 * files)
                self.assertLess(12 * files, len(self.lists[container]))
                # in pieces as large as the mount lets through
                self.assertGreater(counts["largest"], 100000)


if __name__ == "__main__":
    unittest.main()
