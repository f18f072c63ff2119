# SPDX-License-Identifier: MIT
"""Samples with one key: every reader of a tar takes adjacent ones for one sample, so none is ever
written that way, and nothing is lost without a word."""

import io
import itertools
import os
import re
import tarfile

import writers
from support import Case, make_tree, pack, sheaf, write


def samples_of(tar):
    """The keys of a tar's samples as webdataset groups them: adjacent members with one key."""
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

    def test_a_sample_that_pads_a_lane_is_counted(self):
        for size in (1, 200000):        # the large ones are read as they are drawn
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
