# SPDX-License-Identifier: MIT
"""Tests a destination that has traces of an unfinished run. Every reading command must refuse it, with the same words,
because the finished shards look like a complete data set of foreign shards."""

import json
import os
import tempfile
import unittest

import servers
from support import Case, make_tree, pack, sheaf, tree_of, write

STAND_IN = b'{"unfinished": "0123456789abcdef0123456789abcdef"}\n'
WORDS = "holds an unfinished run: packing is in progress, or was interrupted"
CLAIM = ".sheaf-partial/plan"


class Places:
    """The tests that local directories and S3 share. Subclasses have self.put, self.run_sheaf and self.where."""

    def files(self):
        """Returns the files of a complete data set, and the files of a run that packs."""
        source = make_tree(self.path("source"), {"%02d.txt" % i: b"%d" % i * 99
                                                 for i in range(20)})
        pack(source, self.path("whole"), "webdataset", "none", "--shard-count", "4")
        return tree_of(self.path("whole"))

    def traces(self):
        """Returns {name: (files, the source)}."""
        whole = self.files()
        shards = {n: d for n, d in whole.items() if n != "dataset.json"}
        split = {"a/" + n: d for n, d in whole.items()}
        return {
            "killed": ({CLAIM: b"x", **shards}, ""),
            "just-begun": ({CLAIM: b"x"}, ""),
            "replaced": ({CLAIM: b"x", "dataset.json": STAND_IN, **shards}, ""),
            "stand-in": ({"dataset.json": STAND_IN, **shards}, ""),
            "splits": ({CLAIM: b"x", **split, **{"b/" + n: d for n, d in shards.items()}}, "b"),
            "manifest": ({"dataset.json": STAND_IN, **shards}, "dataset.json"),
        }

    def commands(self, name, source):
        out = self.path("out-" + name)
        rest = [] if source.endswith(".json") else [
            ("pipe", source, out), ("index", source), ("index", source, "--overwrite")]
        if source.startswith("s3:"):
            rest.append(("fetch", source, out))
        return [("cat", source, "--list"), ("info", source), ("verify", source),
                ("convert", source, out, "--format", "tfrecord"), ("unpack", source, out),
                *rest]

    def root(self, data, **entry):
        """Makes a platform's directory with one channel."""
        root = tempfile.mkdtemp(dir=self.folder)
        write(os.path.join(root, "input", "config", "inputdataconfig.json"),
              json.dumps({"train": entry}).encode())
        write(os.path.join(root, "input", "config", "resourceconfig.json"),
              json.dumps({"current_host": "a", "hosts": ["a", "b"]}).encode())
        os.makedirs(os.path.join(root, "input", "data"))
        if data is not None:
            os.symlink(data, os.path.join(root, "input", "data", "train"))
        return root

    def test_every_command(self):
        for name, (files, below) in self.traces().items():
            self.put(name, files)
            source = self.where(name, below)
            for words in self.commands(name, source):
                with self.subTest(place=name, command=words[0]):
                    done = self.run_sheaf(*words, status=1)
                    self.assertIn(WORDS, done.stderr.decode())
                    self.assertEqual(done.stdout, b"")
                    self.assertEqual(tree_of(self.path("out-" + name)), {})

    def test_shards_named_one_by_one(self):
        """If a shell or a pattern lists the existing shards, these are not all shards that the data set will have."""
        for name, (files, below) in self.traces().items():
            shards = sorted(path for path in files if path.endswith(".tar"))
            self.put(name, files)
            if not shards or below == "dataset.json":
                continue
            shards = [self.where(name, path) for path in shards]
            for sources in (shards, shards[:1], [shards[0].replace("000000", "{000000..000003}")]):
                with self.subTest(place=name, sources=sources):
                    done = self.run_sheaf("cat", *sources, "--list", status=1)
                    self.assertIn(WORDS, done.stderr.decode())
        self.put("finished", tree_of(self.path("whole")))
        done = self.run_sheaf("cat", self.where("finished", "shard-000000.tar"), "--list")
        self.assertEqual(done.stdout.count(b"\n"), 5)

    def test_channels(self):
        for name, (files, below) in self.traces().items():
            if name == "manifest":
                continue
            for sharded in (False, True):
                with self.subTest(place=name, sharded=sharded):
                    self.put(name, files)
                    done = self.run_sheaf("cat", "--channel", "train", "--list",
                                          "--channel-root", self.channel(name, below, sharded),
                                          status=1)
                    self.assertIn(WORDS, done.stderr.decode())


class Local(Places, Case):
    def put(self, name, files):
        make_tree(self.path(name), files)

    def where(self, name, below):
        return os.path.join(self.path(name), below) if below else self.path(name)

    def run_sheaf(self, *words, **how):
        return sheaf(*words, **how)

    def channel(self, name, below, sharded):
        return self.root(os.path.join(self.path(name), below), TrainingInputMode="File",
                         S3DistributionType="ShardedByS3Key" if sharded else "FullyReplicated")


class Remote(Places, servers.S3Case):
    def put(self, name, files):
        self.client.put_tree(self.bucket, name + "/", files)

    def where(self, name, below):
        return self.url(name + "/" + below)

    def run_sheaf(self, *words, **how):
        return self.sheaf(*words, **how)

    def channel(self, name, below, sharded):
        return self.root(None, TrainingInputMode="File", DataSource={"S3DataSource": {
            "S3DataType": "S3Prefix", "S3Uri": self.where(name, below),
            "S3DataDistributionType": "ShardedByS3Key" if sharded else "FullyReplicated"}})

    def test_what_is_beside(self):
        """Tests a data set whose splits do not all exist yet: by a prefix of the names, and in a list."""
        traces = self.traces()
        for name in ("splits", "killed", "stand-in"):
            self.put(name, traces[name][0])
        write(self.path("list.manifest"), json.dumps(
            [{"prefix": self.url("stand-in/")}, "dataset.json", "shard-000000.tar"]).encode())
        for source in (self.url("splits"), self.url("killed/shard-"), self.url("stand-in/shard-"),
                       self.path("list.manifest")):
            for command in ("fetch", "pipe"):
                with self.subTest(source=source, command=command):
                    done = self.sheaf(command, source, self.path("out"), status=1)
                    self.assertIn(WORDS, done.stderr.decode())
        self.sheaf("fetch", self.url("splits/a"), self.path("a"))
        self.sheaf("verify", self.path("a"))


del Places      # its tests run in the classes that say where


if __name__ == "__main__":
    unittest.main()
