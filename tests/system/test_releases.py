# SPDX-License-Identifier: MIT
"""Tests that files of earlier releases can still be read: data sets, indexes, positions and plans.
tests/corpus/make_release.py has made each archive with the command of that release."""

import fcntl
import glob
import json
import operator
import os
import re
import shutil
import sys
import tarfile
import unittest

from support import CONTAINERS, ROOT, Case, listing, read, sheaf

CORPUS = os.path.join(ROOT, "tests", "corpus")
PLACE = "/tmp/sheaf-release-corpus"     # plans name absolute paths
RELEASES = sorted(glob.glob(os.path.join(CORPUS, "release-*.tar.xz")))


class Releases(Case):
    def setUp(self):
        super().setUp()
        # One at a time on a machine: all use one place.
        self.lock = open(PLACE + ".lock", "w", encoding="utf-8")
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def tearDown(self):
        shutil.rmtree(PLACE, ignore_errors=True)
        self.lock.close()
        super().tearDown()

    def each_release(self):
        self.assertNotEqual(RELEASES, [])
        for archive in RELEASES:
            with self.subTest(os.path.basename(archive)):
                shutil.rmtree(PLACE, ignore_errors=True)
                with tarfile.open(archive) as tar:
                    tar.extractall(PLACE)
                yield archive

    def samples(self, *words):
        return sorted(listing(*words))

    def test_data_sets(self):
        for _ in self.each_release():
            expected = self.samples(os.path.join(PLACE, "tfrecord-none"), "--no-shuffle")
            self.assertEqual(len(expected), 18)
            for container in CONTAINERS:
                folders = glob.glob(os.path.join(PLACE, container + "-*"))
                self.assertGreaterEqual(len(folders), 3)        # a codec each
                for folder in folders:
                    sheaf("verify", folder)
                    self.assertEqual(self.samples(folder, "--seed", "1"), expected, folder)
                    again = self.path("again-" + os.path.basename(folder))
                    sheaf("unpack", folder, again)
                    for path in glob.glob(os.path.join(PLACE, "tree", "*", "*")):
                        name = os.path.relpath(path, os.path.join(PLACE, "tree"))
                        self.assertEqual(read(os.path.join(again, name)), read(path))
                    shutil.rmtree(again)
            both = [line for name in ("train", "val")
                    for line in listing(os.path.join(PLACE, "split", name))]
            self.assertEqual(sorted(both), expected)

    def test_orders_and_positions(self):
        for _ in self.each_release():
            orders = json.loads(read(os.path.join(PLACE, "orders.json")))
            for name, order in orders.items():
                source = order.get("source", "webdataset-none")
                same = [source] if source.endswith(".view") else [
                    container + "-none" for container in CONTAINERS]
                for folder in same:
                    keys = [line.split("\t")[0] for line in listing(
                        os.path.join(PLACE, folder), *order["options"])]
                    self.assertEqual(keys, order["keys"], name)
                rest = listing(os.path.join(PLACE, source), "--resume-from",
                               os.path.join(PLACE, "position-" + name))
                self.assertEqual([line.split("\t")[0] for line in rest],
                                 order["keys"][order["taken"]:], name)

    def test_a_plan_that_was_begun(self):
        for _ in self.each_release():
            plan = os.path.join(PLACE, "plan")
            sheaf("info", plan)
            sheaf("pack", "--plan", plan, "--part", "0/2")
            sheaf("pack", "--plan", plan, "--part", "1/2")
            sheaf("commit", plan)
            sheaf("verify", os.path.join(PLACE, "planned"))
            self.assertEqual(self.samples(os.path.join(PLACE, "planned")),
                             self.samples(os.path.join(PLACE, "recordio-none")))

    def test_a_conversion_that_was_begun(self):
        for archive in self.each_release():
            plan = os.path.join(PLACE, "conversion")
            if not os.path.exists(plan):        # 0.1 could not plan one
                self.assertIn("release-0.1.", archive)
                continue
            sheaf("convert", "--plan", plan, "--part", "1/2")
            sheaf("commit", plan)
            sheaf("verify", os.path.join(PLACE, "converted"))
            self.assertEqual(self.samples(os.path.join(PLACE, "converted")),
                             self.samples(os.path.join(PLACE, "tfrecord-none")))

    def test_keys(self):
        """A sample must be found by its key in data sets with dataset.keys, which release 0.1 did not write."""
        for archive in self.each_release():
            folder = os.path.join(PLACE, "tfrecord-none")
            if not os.path.exists(os.path.join(folder, "dataset.keys")):
                self.assertIn("release-0.1.", archive)
                continue
            done = sheaf("get", folder, "dog/003", "--field", "bin")
            self.assertEqual(done.stdout, read(os.path.join(PLACE, "tree/dog/003.bin")))

    def test_what_has_grown(self):
        for archive in self.each_release():
            folder = os.path.join(PLACE, "grown")
            if not os.path.exists(folder):      # 0.1 could not append
                self.assertIn("release-0.1.", archive)
                continue
            sheaf("verify", folder)
            self.assertEqual(self.samples(folder),
                             self.samples(os.path.join(PLACE, "tfrecord-none")))

    def test_what_was_edited(self):
        for archive in self.each_release():
            folder = os.path.join(PLACE, "edited")
            if not os.path.exists(folder):      # 0.1 and 0.2 could not edit
                self.assertRegex(archive, "release-0[.][12][.]")
                continue
            sheaf("verify", folder)
            gone = read(os.path.join(PLACE, "gone")).decode().split()
            self.assertEqual(self.samples(folder), [
                line for line in self.samples(os.path.join(PLACE, "webdataset-none"))
                if line.split("\t")[0] not in gone])

    def test_columns(self):
        for archive in self.each_release():
            folder = os.path.join(PLACE, "columned")
            if not os.path.exists(folder):      # 0.1 and 0.2 had none
                self.assertRegex(archive, "release-0[.][12][.]")
                continue
            plan = os.path.join(PLACE, "column")
            sheaf("column", "add", "--plan", plan, "--part", "1/2")
            sheaf("commit", plan)
            sheaf("verify", folder, "--columns", "text,later")
            values = dict(map(operator.itemgetter("key", "value"), map(json.loads, read(
                os.path.join(PLACE, "values.jsonl")).splitlines())))
            for name in ("text", "later"):
                sizes = {line.split("\t")[0]: re.search(name + r"\.txt:(\d+)", line)
                         for line in listing(folder, "--columns", name, "--missing", "none")}
                self.assertEqual(len(sizes), 18)
                self.assertEqual({key: int(size.group(1)) for key, size in sizes.items() if size},
                                 {key: len(value) for key, value in values.items()})
                key = "dog/003"
                self.assertEqual(sheaf("get", folder, key, "--columns", name, "--field",
                                       name + ".txt").stdout.decode(), values[key])


if __name__ == "__main__":
    sys.exit(unittest.main())
