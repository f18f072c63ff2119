# SPDX-License-Identifier: MIT
"""Tests data sets of a release that wrote a gzip member or LZ4 frame for each block. tests/corpus/members has two data
sets of the same five files, a position and a plan, which that release has made."""

import os
import shutil

import libsheaf
from support import ROOT, Case, listing, make_tree, pack, read, sheaf, shards_of

CORPUS = os.path.join(ROOT, "tests", "corpus", "members")
FOLDERS = {"gzip": os.path.join(CORPUS, "gzip"), "lz4": os.path.join(CORPUS, "lz4")}
FILES = {"%s/%d.txt" % (("cat", "dog")[i % 2], i):
         (b"sample %d of an older release\n" % i * 80000)[:1500000 + i] for i in range(5)}


class OlderRelease(Case):
    def test_they_are_read(self):
        for codec, folder in FOLDERS.items():
            with self.subTest(codec=codec):
                sheaf("verify", folder)
                sheaf("unpack", folder, self.path(codec))
                self.assert_same_tree(make_tree(self.path("source"), FILES), self.path(codec))
                samples = libsheaf.samples(folder, no_shuffle=1, threads=8)
                self.assertEqual(len(samples), len(FILES))
                self.assertEqual(libsheaf.samples(folder, no_shuffle=1, threads=1), samples)

    def test_shards_alone_are_read(self):
        for codec, folder in FOLDERS.items():
            with self.subTest(codec=codec):
                os.makedirs(self.path(codec))
                (shard,) = shards_of(folder)
                shutil.copy(os.path.join(folder, shard), self.path(codec))
                self.assertEqual(len(listing(self.path(codec))), len(FILES))

    def test_positions_hold(self):
        rest = listing(FOLDERS["gzip"], "--resume-from", os.path.join(CORPUS, "position"))
        self.assertEqual(rest, listing(FOLDERS["gzip"])[2:])
        self.assertEqual(len(rest), len(FILES) - 2)

    def test_a_conversion_makes_one_member_of_them(self):
        for codec, container in (("gzip", "tfrecord"), ("lz4", "webdataset")):
            with self.subTest(codec=codec):
                ours, source = self.path("ours" + codec), make_tree(self.path("source"), FILES)
                sheaf("convert", FOLDERS[codec], self.path(codec), "--format", container,
                      "--codec", codec)
                pack(source, ours, container, codec, "--shard-count", 1, "--seed", 5)
                (shard,) = shards_of(ours)
                self.assertTrue(read(os.path.join(self.path(codec), shard)) ==
                                read(os.path.join(ours, shard)))

    def test_a_plan_says_why_it_is_refused(self):
        plan = os.path.join(CORPUS, "plan")
        for words in (("info", plan), ("pack", "--plan", plan), ("commit", plan)):
            done = sheaf(*words, status=None)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn(b"an older release's plan", done.stderr)
            self.assertIn(b"make a new plan", done.stderr)
