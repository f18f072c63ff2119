# SPDX-License-Identifier: MIT
"""Tests several data sets that are opened together. Each source must stay as it is, and the classes are merged by
name."""

import collections
import gzip
import json
import os

import libsheaf
import writers
from fake_s3 import Object, Server
from order_reference import epoch_order
from support import CODECS, CONTAINERS, Case, flip, listing, make_tree, pack, read, shards_of, sheaf, write

Facts = collections.namedtuple("Facts", "key label class_name text")

ONE = {"%s/%d.txt" % (name, i): b"one %s %d" % (name.encode(), i)
       for name in ("cat", "dog") for i in range(20)}
TWO = {"%s/%d.txt" % (name, i): b"two %s %d" % (name.encode(), i)
       for name in ("bird", "dog") for i in range(100, 110)}


class Union(Case):
    @classmethod
    def share(cls):
        cls.trees = [make_tree(os.path.join(cls.shared, name), files)
                     for name, files in (("tree1", ONE), ("tree2", TWO))]
        cls.one = os.path.join(cls.shared, "one")
        cls.two = os.path.join(cls.shared, "two")
        pack(cls.trees[0], cls.one, "webdataset", "none", "--shard-count", 3)
        pack(cls.trees[1], cls.two, "recordio", "lz4", "--shard-count", 2, "--label-base", 1)

    @staticmethod
    def facts(*sources, **options):
        return [Facts(s.key, s.labels, s.class_name, s.fields["txt"])
                for s in libsheaf.samples(*sources, **options)]

    @staticmethod
    def expected(files, numbers):
        return sorted(Facts(key[:-4], [numbers[key.split("/")[0]]], key.split("/")[0], text)
                      for key, text in files.items())

    def info(self, *sources):
        return json.loads(sheaf("info", *sources, "--json").stdout)

    def refused(self, *sources, status=1):
        """Opens the sources, which must be refused. Returns the message."""
        messages = {sheaf("cat", *sources, "--list", status=status).stderr,
                    sheaf("verify", *sources, status=status).stderr}
        self.assertEqual(len(messages), 1, messages)
        return messages.pop().decode()

    def test_classes_are_merged_by_name(self):
        for sources, numbers in (((self.one, self.two), {"cat": 0, "dog": 1, "bird": 2}),
                                 ((self.two, self.one), {"bird": 1, "dog": 2, "cat": 3})):
            with self.subTest(sources=sources):
                self.assertEqual(sorted(self.facts(*sources)), sorted(
                    self.expected(ONE, numbers) + self.expected(TWO, numbers)))
                info = self.info(*sources)
                self.assertEqual(info["classes"], sorted(numbers, key=numbers.get))
                self.assertEqual(info["label_base"], min(numbers.values()))
                self.assertEqual(info["samples"], len(ONE) + len(TWO))

    def test_sources_keep_their_order(self):
        together = self.facts(self.one, self.two, no_shuffle=1)
        apart = self.facts(self.one, no_shuffle=1) + self.facts(self.two, no_shuffle=1)
        self.assertEqual([f[2:] for f in together], [f[2:] for f in apart])

    def test_each_container_and_codec_beside_each_other(self):
        folders = []
        for container in CONTAINERS:
            for codec in CODECS:
                folders.append(self.path(container + codec))
                pack(self.trees[len(folders) % 2], folders[-1], container, codec)
        numbers = {"bird": 0, "dog": 1, "cat": 2}
        expected = [fact for i in range(len(folders))
                    for fact in (self.expected(ONE, numbers) if i % 2 else
                                 self.expected(TWO, numbers))]
        self.assertEqual(sorted(self.facts(*folders)), sorted(expected))
        self.assertEqual(sorted(self.facts(*folders, lanes=4, shuffle_buffer=7)), sorted(expected))
        self.assertIn(b"sound: %d samples" % len(expected), sheaf("verify", *folders).stdout)

    def test_many_sources(self):
        folders = []
        for i in range(20):
            folders.append(self.path("set%d" % i))
            pack(make_tree(self.path("tree%d" % i), {"a/%d.txt" % i: b"%d" % i}), folders[-1],
                 "recordio")
        self.assertEqual([f.text for f in self.facts(*folders, no_shuffle=1)],
                         [b"%d" % i for i in range(20)])

    def test_order_is_that_of_the_shards_in_a_row(self):
        info = self.info(self.one, self.two)
        keys = [f.key for f in self.facts(self.one, self.two, no_shuffle=1)]
        order = epoch_order([s["samples"] for s in info["shards"]], seed=5, epoch=2, buffer=16)
        self.assertEqual([f.key for f in self.facts(self.one, self.two, seed=5, epoch=2,
                                                    shuffle_buffer=16)], [keys[i] for i in order])

    def test_each_source_is_checked_by_its_own_index(self):
        for bad, good in ((self.one, self.two), (self.two, self.one)):
            folder = self.copy(bad, "copy")
            path = os.path.join(folder, shards_of(folder)[1])
            data = read(path)
            write(path, flip(data, data.index(b"one cat" if bad == self.one else b"two ")))
            for sources in ((folder, good), (good, folder)):
                done = sheaf("cat", *sources, "--list", status=1)
                self.assertIn("%s: " % path, done.stderr.decode())
                self.assertIn(path, sheaf("verify", *sources, status=1).stderr.decode())
                left = sheaf("cat", *sources, "--list", "--on-corrupt", "skip", status=None)
                lost = len(ONE) + len(TWO) - left.stdout.count(b"\n")
                self.assertGreater(lost, 0)
                self.assertIn(b"%d corrupt record" % lost, left.stderr)

    def copy(self, folder, name):
        dest = self.path(name + os.path.basename(folder))
        for file in os.listdir(folder):
            write(os.path.join(dest, file), read(os.path.join(folder, file)))
        return dest

    def test_a_position_is_of_the_union(self):
        other = self.path("other")
        pack(self.trees[0], other, "tfrecord")
        unions = ((self.one, self.two), (self.two, self.one), (self.one,),
                  (self.one, self.two, other))
        for sources in unions:
            with libsheaf.DataSet(*sources) as data, libsheaf.Reader(data, seed=3) as reader:
                for _ in range(11):
                    next(reader)
                position, rest = reader.position(), [s.key for s in reader]
            for others in unions:
                with libsheaf.DataSet(*others) as data, libsheaf.Reader(data) as reader:
                    if others == sources:
                        reader.resume(position)
                        self.assertEqual([s.key for s in reader], rest)
                    else:
                        with self.assertRaises(libsheaf.Error) as caught:
                            reader.resume(position)
                        self.assertEqual(caught.exception.name, "CHANGED")

    def test_convert_makes_one_data_set_of_them(self):
        for container in CONTAINERS:
            dest = self.path(container)
            done = sheaf("convert", self.one, self.two, dest, "--format", container)
            self.assertIn(b"converted %d samples" % (len(ONE) + len(TWO)), done.stdout)
            self.assertEqual(self.facts(dest, no_shuffle=1),
                             self.facts(self.one, self.two, no_shuffle=1))
            self.assertEqual(self.info(dest)["classes"], ["cat", "dog", "bird"])
            sheaf("verify", dest)

    def test_a_key_of_two_sources_comes_from_each(self):
        other = self.path("other")
        tree = make_tree(self.path("tree"), {key: b"other" for key in ONE})
        pack(tree, other, "tfrecord")
        found = collections.Counter(f.key for f in self.facts(self.one, other))
        self.assertEqual(found, {key[:-4]: 2 for key in ONE})
        refused = sheaf("unpack", self.one, other, self.path("files"), status=1)
        self.assertIn(b".txt: two samples of the data set have this file", refused.stderr)
        refused = sheaf("convert", self.one, other, self.path("all"), "--format", "tfrecord",
                        status=1)
        self.assertIn(b"a sample with this key is already packed", refused.stderr)

    def test_the_same_data_set_twice_is_refused(self):
        again = self.copy(self.one, "again")
        for sources in ((self.one, self.one), (self.one, self.two, again),
                        (self.one, os.path.join(self.one, "dataset.json"))):
            self.assertIn("the same data set as %s" % self.one,
                          self.refused(*sources, status=2))

    def test_the_same_samples_in_another_shape_are_said(self):
        """A note must report sources with the same samples: a conversion, a conversion of a conversion or by parts, and
        the same files packed again. Sources that only look alike must not be reported."""
        tree = make_tree(self.path("same-size"), {"x/%d.txt" % i: b"%08d" % i for i in range(20)})
        other = make_tree(self.path("other"), {"x/%d.txt" % i: b"%08d" % i for i in range(20, 40)})
        for name, source in (("a", tree), ("other-set", other)):
            pack(source, self.path(name), "webdataset", "none", "--shard-count", 2)
        sheaf("convert", self.path("a"), self.path("b"), "--format", "tfrecord", "--codec", "gzip",
              "--on-corrupt", "skip")
        sheaf("convert", self.path("b"), self.path("c"), "--format", "recordio", "--index", "mxnet")
        sheaf("plan", self.path("a"), self.path("d"), "-o", self.path("d.plan"), "--format",
              "tfrecord")
        for part in ("0/2", "1/2"):
            sheaf("convert", "--plan", self.path("d.plan"), "--part", part)
        sheaf("commit", self.path("d.plan"))
        pack(self.trees[0], self.path("again"), "tfrecord", "lz4", "--shard-count", 5)
        for one, two in (("a", "b"), ("b", "a"), ("b", "c"), ("a", "d"),
                         (self.one, "again"), ("again", self.one)):
            one, two = self.path(one), self.path(two)
            said = "%s: seems to hold the samples of %s once more" % (two, one)
            with self.subTest(one=one, two=two):
                done = sheaf("cat", one, two, "--list")
                self.assertEqual(done.stderr.decode().count(said), 1, done.stderr)
                done = sheaf("convert", one, two, self.path("both"), "--format", "tfrecord",
                             status=1)
                self.assertIn(said.encode(), done.stderr)
                self.assertIn(b"a sample with this key is already packed", done.stderr)
                self.assertIn(b"seems to be %s\n" % one.encode(), sheaf("info", one, two).stdout)
                self.assertEqual(self.info(one, two)["sources"][1]["same_as"], one)
        for one, two in (("a", "other-set"), (self.one, self.two), ("b", "other-set")):
            done = sheaf("cat", self.path(one), self.path(two), "--list")
            self.assertEqual(done.stderr, b"")

    def test_classes_with_names_and_without(self):
        plain = self.path("plain")
        write(self.path("list.csv"), b"".join(b"tree/%s,%d\n" % (k.encode(), i % 3)
                                              for i, k in enumerate(ONE)))
        make_tree(self.path("tree"), ONE)
        pack(self.path("list.csv"), plain)
        for sources in ((self.one, plain), (plain, self.one)):
            message = self.refused(*sources)
            self.assertIn("%s: its classes have no names, but those of %s have" %
                          (plain, self.one), message)

    def test_labels_that_are_no_class(self):
        """Such labels stay if the source's numbers stay, and are refused if the numbers change."""
        odd = self.path("odd")
        tree = make_tree(self.path("tree"), {**TWO, "bird/x.cls": b"0.5", "bird/x.txt": b"x"})
        pack(tree, odd, "tfrecord")
        self.assertIn([0.5], [f.label for f in self.facts(odd, self.one)])
        refused = sheaf("cat", self.one, odd, "--list", status=1).stderr.decode()
        self.assertRegex(refused, r"odd/shard-000000.tfrecord: .*record \d+: .*not one class")
        self.assertEqual(refused, sheaf("cat", self.one, odd, "--list", "--on-corrupt", "skip",
                                        status=1).stderr.decode())

    def test_a_label_in_a_field_of_its_own(self):
        """A file .cls of the source stays a field. Its number would be wrong after the classes were merged."""
        own = self.path("own")
        pack(make_tree(self.path("tree"), {**TWO, "bird/x.cls": b"0", "bird/x.txt": b"x"}), own)
        self.assertIn([0], [s.labels for s in libsheaf.samples(own, self.one)])
        self.assertIn("its field cls has the label 0, but its number in the merged classes of the "
                      "open data sets is 2",
                      sheaf("cat", self.one, own, "--list", status=1).stderr.decode())

    def test_foreign_shards_beside_a_data_set(self):
        unnamed = self.path("unnamed")
        write(self.path("list.csv"), b"tree/cat/1.txt,7\n")
        make_tree(self.path("tree"), ONE)
        pack(self.path("list.csv"), unnamed, "recordio")
        shard = self.path("x.tar")
        write(shard, writers.tar([("f/1.txt", b"f1"), ("f/1.cls", b"3"), ("f/2.txt", b"f2")]))
        found = libsheaf.samples(shard, unnamed, no_shuffle=1)
        self.assertEqual([(s.key, s.labels, s.number) for s in found],
                         [("f/1", [3], 0), ("f/2", [], 1), ("tree/cat/1", [7], 2)])
        self.assertEqual(found[0].fields["cls"], b"3")
        self.assertIn("%s: its classes have no names" % shard, self.refused(self.one, shard))

    def test_streams_beside_a_data_set(self):
        shard = self.path("x.tar.gz")
        write(shard, gzip.compress(writers.tar([("f/1.txt", b"f1")])))
        self.assertIn("%s: a pipe, or shards" % shard, self.refused(self.one, shard))

    def test_one_that_is_still_being_packed(self):
        folder = self.copy(self.two, "unfinished")
        os.remove(os.path.join(folder, "dataset.json"))
        write(os.path.join(folder, ".sheaf-partial", "plan"), b"")
        for sources in ((folder,), (self.one, folder), (folder, self.one)):
            self.assertIn("%s: holds an unfinished run" % folder, self.refused(*sources))

    def test_what_is_said_of_them(self):
        info = self.info(self.one, self.two)
        self.assertEqual([(s["url"], s["shards"], s["samples"]) for s in info["sources"]],
                         [(self.one, 3, len(ONE)), (self.two, 2, len(TWO))])
        self.assertEqual([s["fingerprint"] for s in info["sources"]],
                         [self.info(s)["fingerprint"] for s in (self.one, self.two)])
        self.assertEqual([s["name"] for s in info["shards"]],
                         [os.path.join(source, s["name"]) for source in (self.one, self.two)
                          for s in self.info(source)["shards"]])
        self.assertIn(b"sources       2", sheaf("info", self.one, self.two).stdout)
        lineage = json.loads(sheaf("info", self.one, self.two, "--lineage").stdout)
        self.assertEqual([s["source"] for s in lineage["sources"]], [self.one, self.two])
        quality = json.loads(sheaf("info", self.one, self.two, "--shuffle-quality",
                                   "--json").stdout)
        alone = json.loads(sheaf("info", self.path_of_whole(), "--shuffle-quality",
                                 "--json").stdout)
        self.assertEqual(quality["shuffle_quality"], alone["shuffle_quality"])

    def path_of_whole(self):
        dest = self.path("whole")
        sheaf("convert", self.one, self.two, dest, "--format", "tfrecord")
        return dest


class Refusals(Case):
    """Tests that a source which cannot be examined is not taken for a missing one."""

    def setUp(self):
        super().setUp()
        self.server = Server(1)
        self.addCleanup(self.server.stop)
        self.objects = self.server.buckets["bucket"].objects
        self.env = dict(os.environ, AWS_ENDPOINT_URL=self.server.url, AWS_ACCESS_KEY_ID="id",
                        AWS_SECRET_ACCESS_KEY="secret", AWS_REGION="us-east-1")
        self.objects["p/x.tar"] = Object(writers.tar([("f/1.txt", b"f1")]))

    def deny(self, *denied):
        self.server.fault = lambda method, key, query: \
            "denied" if key in denied or query.get("prefix") in denied else None

    def cat(self, status=1):
        done = sheaf("cat", "s3://bucket/p", "--list", status=status, env=self.env)
        return (done.stderr if status else done.stdout).decode()

    def test_a_journal_that_may_not_be_read(self):
        self.objects["p/.sheaf-partial/plan"] = Object(b"{}")
        self.assertIn("holds an unfinished run", self.cat())
        self.deny("p/.sheaf-partial/plan")
        self.assertIn("s3://bucket/p: cannot tell whether a data set is being packed there: ",
                      self.cat())

    def test_a_manifest_that_may_not_be_read(self):
        self.objects["p/dataset.json"] = Object(b"{}")
        self.deny("p/dataset.json")
        self.assertIn("s3://bucket/p/dataset.json: ", self.cat())

    def test_what_is_denied_and_is_not_there(self):
        self.deny("p/dataset.json", "p/.sheaf-partial/plan")
        self.assertEqual(self.cat(status=0), "f/1\t\ttxt:2\n")
