# SPDX-License-Identifier: MIT
"""Tests finding samples by their keys (get), and finding when they occur (locate, cat --step)."""

import json
import os
import random
import shutil
import unittest

import servers
import support
from support import CODECS, CONTAINERS, Case, make_tree, pack, read, sheaf, tree_of, write

COUNT = 300


class Sets:
    """Makes a data set with several shards in each container."""

    @classmethod
    def make(cls, folder):
        cls.files = {"c%d/%03d.bin" % (i % 3, i): b"bytes of %d" % i for i in range(COUNT)}
        make_tree(os.path.join(folder, "tree"), cls.files)
        cls.sets = {}
        for container in CONTAINERS:
            cls.sets[container] = os.path.join(folder, container)
            pack(os.path.join(folder, "tree"), cls.sets[container], container, "none",
                 "--shard-count", 7)


class Get(Case):
    @classmethod
    def share(cls):
        Sets.make(cls.shared)

    def test_bytes_of_each_key(self):
        for container, folder in Sets.sets.items():
            for path in ("c0/000.bin", "c2/299.bin", "c1/100.bin"):
                self.assertEqual(sheaf("get", folder, path[:-4]).stdout, Sets.files[path])
            keys = [path[:-4] for path in Sets.files]
            sheaf("get", folder, *keys, "-o", self.path("out-" + container))
            self.assertEqual(tree_of(self.path("out-" + container)), Sets.files)

    def test_keys_that_are_not_there(self):
        for folder in Sets.sets.values():
            done = sheaf("get", folder, "c0/000", "nothing", "c0/000.bin", "c0/003", status=1)
            self.assertEqual(done.stdout, Sets.files["c0/000.bin"] + Sets.files["c0/003.bin"])
            self.assertIn(b"sheaf: nothing: there is no sample with this key\n", done.stderr)
            self.assertEqual(done.stderr.count(b"there is no sample"), 2)

    def test_codecs_and_numbers(self):
        for codec in CODECS:
            dest = self.path("set-" + codec)
            pack(os.path.join(self.shared, "tree"), dest, "webdataset", codec, "--no-shuffle")
            self.assertEqual(sheaf("get", dest, "c1/001").stdout, Sets.files["c1/001.bin"])
            self.assertEqual(sheaf("get", dest, "--number", 0).stdout, Sets.files["c0/000.bin"])

    def test_equal_keys_are_all_found(self):
        folder = self.path("twice")
        os.makedirs(folder)
        for i in range(2):
            shutil.copyfile(os.path.join(Sets.sets["webdataset"], "shard-000000.tar"),
                            os.path.join(folder, "x-%d.tar" % i))
        sheaf("index", folder)
        key = sheaf("cat", folder, "--list", "--no-shuffle").stdout.split(b"\t")[0].decode()
        self.assertEqual(sheaf("get", folder, key, "--field", "bin").stdout,
                         2 * Sets.files[key + ".bin"])

    def test_older_and_foreign_data_sets(self):
        folder = self.path("old")
        shutil.copytree(Sets.sets["tfrecord"], folder)
        table = os.path.join(folder, "dataset.keys")
        whole = read(table)
        os.unlink(table)
        done = sheaf("get", folder, "c0/000", status=1)
        self.assertIn(b"sheaf index --keys writes it", done.stderr)
        self.assertIn(b"sheaf index --keys writes it", sheaf("verify", folder, status=1).stderr)
        before = tree_of(folder)
        sheaf("index", folder, "--keys")
        sheaf("verify", folder)
        self.assertEqual(read(table), whole)
        self.assertEqual({n: d for n, d in tree_of(folder).items() if n != "dataset.keys"}, before)
        os.unlink(os.path.join(folder, "dataset.json"))
        done = sheaf("get", folder, "c0/000", status=1)
        self.assertIn(b"foreign shards without an index", done.stderr)
        sheaf("index", folder, "--keys", status=1)

    def test_another_data_set_s_table(self):
        folder = self.path("stale")
        shutil.copytree(Sets.sets["webdataset"], folder)
        shutil.copyfile(os.path.join(Sets.sets["tfrecord"], "dataset.keys"),
                        os.path.join(folder, "dataset.keys"))
        for command in (("get", folder, "c0/000"), ("verify", folder)):
            self.assertIn(b"is of another data set", sheaf(*command, status=1).stderr)

    def test_damage(self):
        """With a damaged table, the sample must be found, or the damage reported. The command must never say that the
        sample does not exist."""
        folder = self.path("damaged")
        shutil.copytree(Sets.sets["recordio"], folder)
        table = os.path.join(folder, "dataset.keys")
        whole = read(table)
        for at in range(0, len(whole), 97):
            write(table, support.flip(whole, at))
            self.assertIn(b"dataset.keys: ", sheaf("verify", folder, status=1).stderr)
        for size in (0, 10, 64, 100, len(whole) - 1):
            write(table, whole[:size])
            self.assertIn(b"dataset.keys: ", sheaf("verify", folder, status=1).stderr)
            self.assertIn(b"dataset.keys: ", sheaf("get", folder, "c0/000", status=1).stderr)
        write(table, whole + b"x")
        self.assertIn(b"dataset.keys: ", sheaf("get", folder, "c0/000", status=1).stderr)


class Locate(Case):
    @classmethod
    def share(cls):
        Sets.make(cls.shared)

    def listed(self, *words):
        return [line.split("\t")[0] for line in
                sheaf("cat", Sets.sets["webdataset"], "--list", *words).stdout.decode().splitlines()]

    def test_it_agrees_with_what_is_read(self):
        folder = Sets.sets["webdataset"]
        chance = random.Random(support.seed())
        for trial in range(12):
            world = chance.choice([1, 2, 3, 4, 8, 400])
            order = ["--seed", chance.randrange(1 << 40), "--epoch", chance.randrange(5),
                     "--shuffle-buffer", chance.choice([0, 1, 10, 50, 10000]),
                     "--lanes", world * chance.choice([1, 2, 5]),
                     "--remainder", chance.choice(["keep", "drop", "pad"])]
            batch = chance.choice([1, 7, 32])
            with self.subTest(order=order, world=world, batch=batch):
                every = self.listed("--rank", 0, "--world-size", 1, *order)
                keys = sorted({path[:-4] for path in chance.choices(list(Sets.files), k=30)})
                found = [json.loads(line) for line in sheaf(
                    "locate", folder, *keys, *order, "--world-size", world, "--batch", batch,
                    "--json").stdout.splitlines()]
                self.assertEqual([(f["sample"], f["key"]) for f in found],
                                 [(t, key) for t, key in enumerate(every) if key in keys])
                for f in found[:3]:
                    step = ("--step", f["step"], "--batch", batch, "--world-size", world, *order)
                    fed = self.listed(*step)
                    first = f["step"] * batch * world
                    self.assertEqual(fed, every[first:first + batch * world])
                    own = self.listed("--rank", f["rank"], *step)
                    self.assertEqual(own, fed[f["rank"]::world])
                    self.assertIn(f["key"], own)

    def test_lines(self):
        folder = Sets.sets["tfrecord"]
        done = sheaf("locate", folder, "c0/000", "nothing", "--epochs", 3, status=1)
        self.assertEqual(done.stdout.count(b"c0/000\tepoch "), 3)
        self.assertNotIn(b"step", done.stdout)
        self.assertIn(b"nothing: there is no sample with this key", done.stderr)

    def test_dropped_samples_are_named(self):
        done = sheaf("locate", Sets.sets["tfrecord"], *[path[:-4] for path in Sets.files],
                     "--lanes", 7, "--remainder", "drop")
        self.assertEqual(len(done.stdout.splitlines()), COUNT // 7 * 7)
        self.assertEqual(done.stderr.count(b"does not come in epoch 0"), COUNT % 7)

    def test_a_range(self):
        every = self.listed("--seed", 3)
        self.assertEqual(self.listed("--seed", 3, "--from", 100, "--limit", 20), every[100:120])
        self.assertEqual(self.listed("--seed", 3, "--from", COUNT), [])
        sheaf("cat", Sets.sets["webdataset"], "--list", "--from", COUNT + 1, status=2)
        for words in (("--step", 1), ("--batch", 1), ("--step", 1, "--batch", 1, "--limit", 1)):
            sheaf("cat", Sets.sets["webdataset"], "--list", *words, status=2)


class Remote(servers.S3Case):
    def test_keys_in_s3(self):
        tree = self.path("tree")
        files = {"c%d/%03d.bin" % (i % 3, i): b"bytes of %d" % i for i in range(50)}
        make_tree(tree, files)
        self.sheaf("pack", tree, self.url("set"), "--format", "tfrecord", "--shard-count", 3)
        for path in ("c0/000.bin", "c1/049.bin"):
            self.assertEqual(self.sheaf("get", self.url("set"), path[:-4]).stdout, files[path])
        self.assertIn(b"there is no sample", self.sheaf("get", self.url("set"), "x",
                                                        status=1).stderr)
        self.sheaf("verify", self.url("set"))
        whole = self.client.get(self.bucket, "set/dataset.keys")
        self.sheaf("index", self.url("set"), "--keys")
        self.assertEqual(self.client.get(self.bucket, "set/dataset.keys"), whole)


if __name__ == "__main__":
    unittest.main()
