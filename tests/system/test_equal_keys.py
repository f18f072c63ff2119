# SPDX-License-Identifier: MIT
"""Samples with equal keys: every reader of a tar takes adjacent ones for one sample, so they are never written next
to each other, and nothing is lost silently."""

import gzip
import io
import itertools
import json
import os
import random
import re
import tarfile

import writers
from support import Case, flip, listing, make_tree, pack, read, seed, sheaf, tree_of, write


def samples_of(tar):
    """Returns the keys of a tar's samples as webdataset groups them: adjacent members with one key."""
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r|") as archive:
        names = [member.name for member in archive]
    return [key for key, _ in itertools.groupby(re.sub(r"\.[^/]*$", "", name) for name in names)]


class EqualKeys(Case):
    def tars(self, *archives):
        for number, keys in enumerate(archives):
            write(self.path("t/%d.tar" % number),
                  writers.tar([(key + ".txt", b"%d" % number) for key in keys]))
        return self.path("t")

    def test_adjacent_samples_of_one_key_are_refused(self):
        folder = self.tars(["a", "b"], ["b", "c"])
        done = sheaf("cat", folder, "--no-shuffle", status=1)
        self.assertIn(b"1.tar: record 0: b: the previous sample has the same key", done.stderr)
        self.assertEqual(samples_of(done.stdout + bytes(1024)), ["a", "b"])
        for container in ("tfrecord", "recordio"):
            stream = sheaf("cat", folder, "--no-shuffle", "--to", container).stdout
            self.assertEqual(sheaf("cat", "-", "--list", data=stream).stdout.count(b"\n"), 4)

    def test_others_of_one_key_are_two_samples(self):
        stream = sheaf("cat", self.tars(["a", "b"], ["c", "a", "b"]), "--no-shuffle").stdout
        self.assertEqual(samples_of(stream), ["a", "b", "c", "a", "b"])
        again = sheaf("cat", "-", "--list", "--no-shuffle", data=stream).stdout
        self.assertEqual([line[:1] for line in again.splitlines()], [b"a", b"b", b"c", b"a", b"b"])

    def test_what_is_one_data_set_has_each_key_once(self):
        for archives in ((["a", "b"], ["b"]), (["a", "b"], ["c", "a"])):
            folder = self.tars(*archives)
            done = sheaf("convert", folder, self.path("out"), "--format", "webdataset", status=1)
            self.assertRegex(done.stderr, rb"1\.tar: record [01]: ")
            done = sheaf("unpack", folder, self.path("files"), status=1)
            self.assertRegex(done.stderr, rb"1\.tar: record [01]: ")
            for name in os.listdir(self.path("files")):
                os.unlink(self.path("files/" + name))

    def test_they_are_counted_and_the_first_is_named(self):
        folder = self.tars(["a", "b"], ["c", "a", "b", "c"])    # c again in the same shard, a and b in another one
        done = sheaf("cat", folder, "--null")
        self.assertIn(b"1 sample has the key of an earlier one", done.stderr)
        self.assertIn(b"repeated_keys 1\n", done.stdout)
        for words in (("cat", folder, "--null"), ("info", folder)):
            self.assertIn(b"without an index, only keys of the same tar are compared", sheaf(*words).stderr)
        self.assertEqual(json.loads(sheaf("info", folder, "--json").stdout)["repeated_keys"], 1)
        for command in ("verify", "index"):
            done = sheaf(command, folder)
            self.assertIn(b"3 samples have the key of an earlier one; the first: ", done.stderr)
            self.assertIn(b"1.tar: record 1: a:", done.stderr)
            self.assertNotIn(b"only keys of the same tar", done.stderr)
        self.assertEqual(json.loads(sheaf("info", folder, "--json").stdout)["repeated_keys"], 3)
        self.assertIn(b"3 samples have the key", sheaf("cat", folder, "--list").stderr)
        self.assertEqual(json.loads(sheaf("verify", folder, "--json").stdout)["repeated_keys"], 3)
        done = sheaf("get", folder, "a", "--field", "txt")
        self.assertIn(b"a: 2 samples have this key", done.stderr)
        self.assertEqual(done.stdout, b"01")
        whole = self.tars(["a", "b"], ["c"])
        for name in ("dataset.json", "dataset.index", "dataset.keys"):
            os.unlink(self.path("t/" + name))
        self.assertNotIn(b"earlier", sheaf("index", whole).stderr + sheaf("verify", whole).stderr)
        self.assertNotIn(b"repeated_keys", read(self.path("t/dataset.json")))

    def test_damage_makes_no_key_a_repeated_one(self):
        data = writers.tar([(key + end, key.encode() * 600) for key in "abc"
                            for end in (".x", ".y")])
        for at in range(0, len(data) - 1024, 512):
            write(self.path("x.tar"), flip(data, at))
            done = sheaf("cat", self.path("x.tar"), "--list", "--on-corrupt", "skip")
            self.assertNotIn(b"earlier", done.stderr)

    def test_a_sample_that_pads_a_lane_is_counted(self):
        for size in (1, 200000):        # large samples are read when they are drawn
            tree = make_tree(self.path("tree%d" % size),
                             {"%02d.txt" % i: b"%d" % i * size for i in range(7)})
            pack(tree, self.path("set%d" % size), "webdataset", "none", "--shard-count", "2")
            for lanes, buffer in itertools.product((2, 3, 5, 6, 8, 20), (0, 2, 100)):
                options = (self.path("set%d" % size), "--lanes", lanes, "--remainder", "pad",
                           "--shuffle-buffer", buffer)
                shown = sheaf("cat", *options, "--null").stdout.decode()
                repeated = int(re.search(r"^repeated (\d+)$", shown, re.M).group(1))
                self.assertEqual(repeated, -7 % lanes)
                listed = sheaf("cat", *options, "--list").stdout.splitlines()
                self.assertEqual(len(listed), 7 + repeated)
                done = sheaf("cat", *options)
                keys = samples_of(done.stdout)
                left_out = re.search(rb"(\d+) repeated samples? left out", done.stderr)
                self.assertEqual(len(keys) + (int(left_out.group(1)) if left_out else 0),
                                 len(listed))
                self.assertEqual(len(set(keys)), 7)

    def test_a_sample_twice_in_a_row_is_left_out_of_a_tar(self):
        tree = make_tree(self.path("tree"), {"%02d.txt" % i: b"%d" % i for i in range(3)})
        pack(tree, self.path("set"), "tfrecord", "none")
        options = (self.path("set"), "--world-size", 2, "--rank", 1, "--remainder", "pad",
                   "--no-shuffle")
        self.assertEqual(sheaf("cat", *options, "--list").stdout.count(b"\n"), 2)
        done = sheaf("cat", *options)
        self.assertEqual(len(samples_of(done.stdout)), 1)
        self.assertIn(b"1 repeated sample left out: a tar cannot hold a sample twice in a row",
                      done.stderr)


class Torn(Case):
    """Tars in which the files of a sample are not adjacent, as tar makes them without --sort=name."""

    def setUp(self):
        super().setUp()
        chance = random.Random(seed())
        self.samples = {"d/%d" % i: {suffix: chance.randbytes(chance.randrange(2000))
                                     for suffix in ("bin", "txt", "json")[:1 + i % 3]}
                        for i in range(30)}
        for key, fields in self.samples.items():
            fields["cls"] = key[2:].encode()
        members = [(key + "." + suffix, data) for key, fields in self.samples.items()
                   for suffix, data in fields.items()]
        shuffled = chance.sample(members, len(members))
        by_suffix = sorted(members, key=lambda m: m[0].split(".")[1])
        half = [m for m in members if int(m[0][2:].split(".")[0]) < 15]
        self.tars = {"shuffled": [shuffled], "by-suffix": [by_suffix], "whole": [members],
                     "two": [sorted(half, key=lambda m: m[0][::-1]),
                             [m for m in members if m not in half]]}
        for name, shards in self.tars.items():
            for number, shard in enumerate(shards):
                write(self.path("%s/%d.tar" % (name, number)), writers.tar(shard))

    def check(self, folder):
        found = {}
        for path, data in folder.items():
            key, suffix = path.rsplit(".", 1)
            found.setdefault(key, {})[suffix] = data
        self.assertEqual(found, self.samples)

    def test_convert_puts_them_together(self):
        for name in self.tars:
            with self.subTest(name):
                for container in ("webdataset", "tfrecord", "recordio"):
                    dest = self.path("%s-%s" % (name, container))
                    done = sheaf("convert", self.path(name), dest, "--format", container, "--join")
                    self.assertIn(b"converted 30 samples", done.stdout)
                    self.assertNotIn(b"earlier", done.stderr)
                    self.assertIn(b"sound: 30 samples", sheaf("verify", dest).stdout)
                sheaf("unpack", self.path(name + "-webdataset"), self.path(name + "-files"))
                self.check(tree_of(self.path(name + "-files")))
        done = sheaf("convert", self.path("shuffled"), self.path("none"), "--format", "tfrecord",
                     status=1)
        self.assert_error(done, "0.tar", "a sample with this key is already packed")

    def test_index_puts_them_together(self):
        for name, shards in self.tars.items():
            folder = self.path(name)
            before = tree_of(folder)
            with self.subTest(name):
                self.assertIn(b"indexed 30 samples", sheaf("index", folder, "--join").stdout)
                self.assertEqual({n: d for n, d in tree_of(folder).items() if n in before}, before)
                done = sheaf("verify", folder)
                self.assertIn(b"sound: 30 samples in %d shard" % len(shards), done.stdout)
                self.assertNotIn(b"earlier", done.stderr)
                lines = listing(folder)
                self.assertEqual(len(lines), 30)
                for options in (("--lanes", 3, "--memory", "2MiB"), ("--shuffle-buffer", 4),
                                ("--no-shuffle",)):
                    self.assertEqual(sorted(listing(folder, *options)), sorted(lines))
                self.assertEqual(sheaf("get", folder, "d/29", "--field", "json").stdout,
                                 self.samples["d/29"]["json"])
                sheaf("unpack", folder, self.path(name + "-files"))
                self.check(tree_of(self.path(name + "-files")))
                sheaf("convert", folder, self.path(name + "-tf"), "--format", "tfrecord")
                sheaf("verify", self.path(name + "-tf"))
                view = self.path(name + ".view")
                sheaf("view", folder, "--where", "key=d/1*", "--output", view)
                self.assertEqual(len(listing(view)), 11)

    def test_damage_of_a_joined_shard_is_found(self):
        folder = self.path("shuffled")
        sheaf("index", folder, "--join")
        data = read(self.path("shuffled/0.tar"))
        for at in random.Random(seed()).sample(range(len(data)), 20):
            write(self.path("shuffled/0.tar"), flip(data, at))
            sheaf("verify", folder, status=1)
        write(self.path("shuffled/0.tar"), data)
        sheaf("verify", folder)

    def test_what_cannot_be_joined_is_said(self):
        twice = [("a.txt", b"1"), ("b.txt", b"2"), ("a.txt", b"3")]
        write(self.path("twice/0.tar"), writers.tar(twice))
        for command in (("index", self.path("twice"), "--join"),
                        ("convert", self.path("twice"), self.path("none"), "--format", "tfrecord",
                         "--join")):
            self.assert_error(sheaf(*command, status=1), "0.tar", "txt")
        self.assert_nothing(self.path("twice"))
        write(self.path("z/0.tar.gz"), gzip.compress(writers.tar(twice)))
        done = sheaf("convert", self.path("z"), self.path("none"), "--format", "tfrecord", "--join",
                     status=1)
        self.assert_error(done, "0.tar.gz", "compressed")
        sheaf("index", self.path("shuffled"), "--join", "--index", "wids", status=2)
