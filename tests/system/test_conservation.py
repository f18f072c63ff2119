# SPDX-License-Identifier: MIT
"""A data set whose samples differ from those in its manifest: each command that reads it fails, and leaves nothing
that looks like a whole result."""

import os

from support import CONTAINERS, Case, make_tree, pack, read, sheaf, shards_of, write, tree_of


class Conservation(Case):
    def data_set(self, name, container, letter, samples=6):
        files = {"%s%d.txt" % (letter, i): b"%s%d" % (letter.encode(), i) for i in range(samples)}
        tree = make_tree(self.path("tree-" + name), files)
        pack(tree, self.path(name), container, "none", "--shard-count", "2", "--no-shuffle")
        return self.path(name)

    def refused(self, source):
        self.assertIn(b"shard-000001", sheaf("cat", source, "--list", status=1).stderr)
        sheaf("cat", source, "--null", status=1)
        self.assertIn(b"shard-000001", sheaf("verify", source, status=1).stdout
                      + sheaf("verify", source, status=1).stderr)
        sheaf("convert", source, self.path("converted"), "--format", "tfrecord", status=1)
        self.assertFalse(os.path.exists(self.path("converted/dataset.json")))
        done = sheaf("unpack", source, self.path("files"), status=1)
        self.assertNotIn(b"unpacked", done.stdout)

    def test_a_shard_of_another_data_set(self):
        for container in CONTAINERS:
            one = self.data_set("one-" + container, container, "a")
            other = self.data_set("other-" + container, container, "b")
            write(os.path.join(one, shards_of(one)[1]),
                  read(os.path.join(other, shards_of(other)[1])))
            self.refused(one)
            for name in tree_of(self.path("files")):
                os.unlink(self.path("files", name))

    def test_a_shard_with_fewer_samples(self):
        for container in CONTAINERS:
            one = self.data_set("one-" + container, container, "a")
            fewer = self.data_set("fewer-" + container, container, "a", samples=4)
            write(os.path.join(one, shards_of(one)[1]),
                  read(os.path.join(fewer, shards_of(fewer)[1])))
            self.refused(one)
            done = sheaf("pipe", one, self.path("pipes"), status=1)
            self.assertIn(b"but dataset.json says", done.stderr)
            for name in tree_of(self.path("files")):
                os.unlink(self.path("files", name))
