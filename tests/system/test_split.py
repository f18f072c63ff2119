# SPDX-License-Identifier: MIT
"""Tests splits: they must be stratified, disjoint and complete, and have the same label numbers. Also tests the
division into shards."""

import collections
import json
import os
import shutil

import decoders
import writers
from jpegs import jpeg
from support import (CONTAINERS, Case, image_tree, listing, make_tree, pack, sheaf, shards_of,
                     tree_of, write)

CLASSES, IMAGES = 6, 40


class Split(Case):
    @classmethod
    def share(cls):
        cls.files = image_tree(CLASSES, IMAGES, size=500)
        cls.source = make_tree(os.path.join(cls.shared, "source"), cls.files)
        cls.keys = {decoders.split_name(path)[0] for path in cls.files}

    def parts(self, spec, container="webdataset", *options):
        """Returns {split: {class: [keys]}}. Checks that the splits are disjoint and complete."""
        dest = self.path("out")
        pack(self.source, dest, container, "none", "--split", spec, *options)
        self.assertFalse(os.path.exists(os.path.join(dest, "dataset.json")))
        found, seen, classes = {}, [], []
        for name in (part.split("=")[0] for part in spec.split(",")):
            data_set = decoders.DataSet(os.path.join(dest, name))
            data_set.check()
            classes.append(data_set.classes)
            found[name] = collections.defaultdict(list)
            for sample in data_set.samples():
                seen.append(sample.key)
                folder = os.path.dirname(sample.key)
                found[name][folder].append(sample.key)
                self.assertEqual(sample.labels, [data_set.classes.index(folder)])
        self.assertEqual(sorted(seen), sorted(self.keys))
        self.assertTrue(all(c == classes[0] for c in classes), "label maps differ")
        return found

    def test_the_directory_above_names_them(self):
        self.parts("train=0.8,val=0.2")
        done = sheaf("cat", self.path("out"), "--list", status=1)
        self.assert_error(done, "name one of")
        self.assertTrue({b"train", b"val"} <= set(done.stderr.replace(b",", b" ").split()))

    def test_of_many_only_some_are_named(self):
        for i in range(30):
            write(self.path("many", "set-%02d" % i, "dataset.json"), b"")
        done = sheaf("cat", self.path("many"), "--list", status=1)
        self.assert_error(done, "set-01, ")
        self.assertRegex(done.stderr.decode(), r"set-\d\d, \.\.\.\n$")

    def test_fractions_are_kept_in_each_class(self):
        found = self.parts("train=0.8,val=0.2")
        for name, share in (("train", 0.8), ("val", 0.2)):
            self.assertEqual([len(keys) for keys in found[name].values()],
                             [IMAGES * share] * CLASSES)

    def test_three_parts_that_do_not_divide(self):
        found = self.parts("a=0.33,b=0.33,c=0.34")
        for name in "abc":
            for keys in found[name].values():
                self.assertIn(len(keys), (13, 14))

    def test_so_many_of_each_class(self):
        found = self.parts("train=30/class,val=rest")
        self.assertEqual([len(k) for k in found["train"].values()], [30] * CLASSES)
        self.assertEqual([len(k) for k in found["val"].values()], [IMAGES - 30] * CLASSES)

    def test_the_seed_chooses(self):
        first = self.parts("train=0.5,val=0.5", "tfrecord", "--seed", 1)
        os.rename(self.path("out"), self.path("first"))
        other = self.parts("train=0.5,val=0.5", "tfrecord", "--seed", 2)
        os.rename(self.path("out"), self.path("other"))
        again = self.parts("train=0.5,val=0.5", "tfrecord", "--seed", 1)
        self.assertNotEqual(first, other)
        self.assertEqual(first, again)
        self.assertTrue(tree_of(self.path("out")) == tree_of(self.path("first")))

    def test_the_same_in_every_container(self):
        first = None
        for container in CONTAINERS:
            found = self.parts("train=0.7,val=0.3", container)
            os.rename(self.path("out"), self.path(container))
            first = first or found
            self.assertEqual(found, first)

    def test_classes_of_another_split_keep_their_number(self):
        tree = {**self.files, "999.rare/1.txt": b"only one"}
        source = make_tree(self.path("source"), tree)
        pack(source, self.path("out"), "tfrecord", "none", "--split", "train=0.9,val=0.1")
        train = decoders.DataSet(self.path("out", "train"))
        val = decoders.DataSet(self.path("out", "val"))
        self.assertEqual(train.classes, val.classes)
        self.assertIn("999.rare", train.classes)

    def test_splits_unpack_to_the_whole(self):
        self.parts("train=0.8,val=0.2", "recordio")
        for name in ("train", "val"):
            sheaf("verify", self.path("out", name))
            sheaf("unpack", self.path("out", name), self.path("back", name))
        both = {**tree_of(self.path("back", "train")), **tree_of(self.path("back", "val"))}
        self.assertEqual(sorted(both), sorted(self.files))

    def test_a_data_set_is_divided_as_its_files(self):
        pack(self.source, self.path("set"), "tfrecord", "none")
        for spec, container in zip(("a=0.33,b=0.33,c=rest", "train=30/class,val=rest",
                                    "train=0.8,val=0.2"), CONTAINERS):
            found = self.parts(spec, container, "--seed", 3)
            shutil.rmtree(self.path("out"))
            done = sheaf("convert", self.path("set"), self.path("to"), "--format", container,
                         "--split", spec, "--seed", 3, "--overwrite", "--shard-count", 2)
            self.assertIn(b"converted %d samples" % len(self.keys), done.stdout)
            self.assertFalse(os.path.exists(self.path("to", "dataset.json")))
            for name, classes in found.items():
                data_set = decoders.DataSet(self.path("to", name))
                data_set.check()
                self.assertEqual(len(shards_of(self.path("to", name))), 2)
                self.assertEqual(sorted(sample.key for sample in data_set.samples()),
                                 sorted(key for keys in classes.values() for key in keys))
                with open(self.path("to", name, "dataset.json"), encoding="utf-8") as file:
                    options = json.load(file)["options"]
                self.assertEqual([options[each] for each in ("split", "split_name", "seed")],
                                 [spec, name, "3"])
        sheaf("append", self.source, self.path("to", "val"), status=1)
        sheaf("convert", self.path("to", "val"), self.path("one"), "--format", "tfrecord",
              "--split", "x=0.5,y=0.5", "--shuffle")
        self.assertEqual(sum(len(listing(self.path("one", name))) for name in "xy"),
                         len(listing(self.path("to", "val"))))
        for more, said in ((["--resume"], "--split and --resume"), (["--split", "x=2"], "split: "),
                           (["--split", "a=200/class,b=rest"], "none would be in b")):
            done = sheaf("convert", self.path("set"), self.path("no"), "--format", "tfrecord",
                         "--split", "a=0.5,b=0.5", *more, status=None)
            self.assert_error(done, said)
            self.assertFalse(os.path.exists(self.path("no")))
        one = os.path.join(self.path("set"), shards_of(self.path("set"))[0])
        sheaf("view", self.path("set"), "-o", self.path("some.view"))
        for source, more, said in (
                (one, [], "only a data set with a manifest can be divided among splits: sheaf index"),
                (self.path("some.view"), [], "a view cannot be divided among splits: convert it"),
                (self.path("set"), ["--duplicate-keys", "drop"], "--split and --duplicate-keys"),
                (self.path("set"), ["--duplicate-keys", "number"], "and divide the result")):
            done = sheaf("convert", source, self.path("no"), "--format", "webdataset", "--split",
                         "a=0.5,b=0.5", *more, status=None)
            self.assert_error(done, said)
            self.assertFalse(os.path.exists(self.path("no")))

    def test_repeated_keys_are_resolved_before_the_division(self):
        """The advice of the error leads to the division of all samples."""
        for i in range(2):
            write(self.path("w/%d.tar" % i), writers.tar([("%02d.txt" % (k % 15), b"%d" % i)
                                                          for k in range(20)]))
        sheaf("index", self.path("w"))
        words = ("--format", "webdataset", "--split", "a=0.5,b=0.5")
        done = sheaf("convert", self.path("w"), self.path("no"), *words, status=1)
        self.assert_error(done, "record ", "--duplicate-keys")
        for rule, counts in (("number", [20, 20]), ("drop", [8, 7])):
            sheaf("convert", self.path("w"), self.path(rule), "--format", "tfrecord",
                  "--duplicate-keys", rule)
            sheaf("convert", self.path(rule), self.path("to-" + rule), *words)
            self.assertEqual([len(listing(self.path("to-" + rule, s))) for s in "ab"], counts)

    def test_a_field_becomes_the_label_before_the_division(self):
        tree = {"%03d.%s" % (i, name): value for i in range(200)
                for name, value in (("txt", b"x"), ("y", b"%d" % (i % 2)))}
        pack(make_tree(self.path("flat"), tree), self.path("set"), "webdataset", "none")
        sheaf("convert", self.path("set"), self.path("to"), "--format", "tfrecord", "--field-map",
              "y=label", "--split", "train=30/class,val=rest")
        for name, count in (("train", 30), ("val", 70)):
            data_set = decoders.DataSet(self.path("to", name))
            self.assertEqual(collections.Counter(s.labels[0] for s in data_set.samples()),
                             {0: count, 1: count})
        for i in (3, 4, 5):
            tree["%03d.y" % i] = b"no number"
        pack(make_tree(self.path("bad"), tree), self.path("worse"), "webdataset", "none")
        words = ("convert", self.path("worse"), self.path("part"), "--format", "tfrecord",
                 "--field-map", "y=label", "--split", "train=98/class,val=rest")
        self.assert_error(sheaf(*words, status=1), "record ", "cannot become the label")
        self.assertFalse(os.path.exists(self.path("part")))
        done = sheaf(*words, "--on-corrupt", "skip")
        self.assertIn(b"converted 197 samples", done.stdout)
        found = {name: collections.Counter(s.labels[0] for s in decoders.DataSet(
            self.path("part", name)).samples()) for name in ("train", "val")}
        self.assertEqual(found, {"train": {0: 98, 1: 98}, "val": {0: 1}})

    def test_nonsense_is_refused(self):
        for spec in ("train", "train=", "train=2", "train=0.9,val=0.2", "train=x", "=0.5",
                     "train=0.5,train=0.5", "a/b=0.5,c=0.5", "train=rest,val=rest", "",
                     "train=-0.5,val=rest", ".=1", "..=1", "train=0.5,,val=0.5"):
            with self.subTest(spec=spec):
                done = pack(self.source, self.path("bad"), "tfrecord", "none", "--split", spec,
                            status=None)
                self.assertIn(done.returncode, (1, 2), done.stdout)
                self.assertFalse(os.path.exists(self.path("bad")))


class Shards(Case):
    """Tests the sizes of shards: near the requested size, balanced, and without a small rest at the end."""

    @classmethod
    def share(cls):
        files = {"c/%05d.bin" % i: bytes(1000) for i in range(210)}
        cls.source = make_tree(os.path.join(cls.shared, "source"), files)

    def sizes(self, *options):
        dest = self.path("out")
        pack(self.source, dest, "webdataset", "none", "--overwrite", *options)
        return [len(shard) for shard in decoders.DataSet(dest).shards()]

    def test_no_stub(self):
        for size in (20000, 19999, 12000, 100000, 210000, 208000, 400000, 1):
            with self.subTest(size=size):
                counts = self.sizes("--shard-size", size)
                self.assertEqual(sum(counts), 210)
                self.assertLessEqual(max(counts) - min(counts), 1)
                if 1000 <= size <= 210000:
                    self.assertLess(abs(max(counts) * 1000 - size) / size, 0.5)

    def test_of_splits_of_a_data_set(self):
        """Each split is cut by the requested size, or by that of 150 MB."""
        pack(self.source, self.path("set"), "tfrecord", "none")
        for size, shards in (((), 1), (("--shard-size", 2100), 50), (("--shard-size", 21000), 5),
                             (("--shard-size", 400000), 1), (("--shuffle", "--shard-size", 7000), 15)):
            with self.subTest(size=size):
                sheaf("convert", self.path("set"), self.path("to"), "--format", "webdataset",
                      "--split", "a=0.5,b=0.5", "--overwrite", *size)
                for name in "ab":
                    counts = [len(s) for s in decoders.DataSet(self.path("to", name)).shards()]
                    self.assertEqual((len(counts), sum(counts)), (shards, 105))
                    self.assertLessEqual(max(counts) - min(counts), 1)

    def test_count(self):
        for count in (1, 2, 7, 210):
            with self.subTest(count=count):
                counts = self.sizes("--shard-count", count)
                self.assertEqual(len(counts), count)
                self.assertLessEqual(max(counts) - min(counts), 1)

    def test_more_shards_than_samples(self):
        done = pack(self.source, self.path("out"), "webdataset", "none", "--shard-count", 400,
                    status=None)
        self.assertIn(done.returncode, (0, 1, 2))
        if done.returncode == 0:
            sheaf("verify", self.path("out"))

    def test_prefix(self):
        pack(self.source, self.path("out"), "tfrecord", "lz4", "--prefix", "train-é",
             "--shard-count", 2)
        names = os.listdir(self.path("out"))
        self.assertIn("train-é-000001.tfrecord.lz4", names)
        sheaf("verify", self.path("out"))
        for prefix in ("", "a/b", ".hidden", "../x", "new\nline"):
            done = pack(self.source, self.path("bad"), "tfrecord", "none", "--prefix", prefix,
                        status=None)
            self.assertIn(done.returncode, (1, 2), prefix)
            self.assertFalse(os.path.exists(self.path("bad")))

class Leaks(Case):
    def test_a_sample_of_another_split_is_not_appended(self):
        """A file whose key is in the split val must count as a bad file for train, whatever the splits are called."""
        tree = make_tree(self.path("im"), {"a/%d.txt" % i: b"%d" % i for i in range(20)})
        out = self.path("out")
        sheaf("pack", tree, out, "--format", "webdataset", "--split", "train=0.8,val=0.2")
        key = listing(os.path.join(out, "val"), "--limit", 1)[0].split("\t")[0]
        more = make_tree(self.path("more"), {key + ".txt": b"x", "a/new.txt": b"y"})
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        for where, dest in ((here, os.path.join(out, "train")), (here, os.path.join(out, "train/")),
                            (out, "train"), (os.path.join(out, "train"), ".")):
            os.chdir(where)
            done = sheaf("append", more, dest, status=1)
            self.assert_error(done, key + ".txt", "the split val of the same data has a sample "
                              "with this key")
        os.chdir(here)
        sheaf("append", more, os.path.join(out, "train"), "--on-error", "skip")
        keys = {s: {line.split("\t")[0] for line in listing(os.path.join(out, s))}
                for s in ("train", "val")}
        self.assertIn("a/new", keys["train"])
        self.assertEqual(keys["train"] & keys["val"], set())

    def test_a_split_that_is_gone_is_told(self):
        tree = make_tree(self.path("im"), {"a/%d.txt" % i: b"%d" % i for i in range(20)})
        out = self.path("out")
        sheaf("pack", tree, out, "--format", "webdataset", "--split", "train=0.8,val=0.2")
        shutil.rmtree(os.path.join(out, "val"))
        done = sheaf("append", make_tree(self.path("more"), {"a/new.txt": b"y"}),
                     os.path.join(out, "train"))
        self.assertIn(b"the keys are not compared with those of the split val", done.stderr)

    def test_classes_that_are_not_in_the_rest(self):
        """A class with few samples is named, because the split that gets the rest has none of them."""
        tree = make_tree(self.path("tree"), {"%s/%02d.txt" % (name, i): b"%d" % i for name, count in
                                             (("cat", 16), ("dog", 7), ("owl", 15)) for i in range(count)})
        spec = ("--split", "train=10/class,val=5/class,test=rest")
        words = (b"sheaf: split: test has no sample of 2 classes with at most 15 samples: "
                 b'"dog" (7), "owl" (15)\n')
        out, whole, plan = self.path("out"), self.path("whole"), self.path("plan")
        sheaf("pack", tree, whole, "--format", "tfrecord")
        for command in (("pack", tree, out, "--format", "tfrecord", "--dry-run"),
                        ("pack", tree, out, "--format", "tfrecord", "--on-error", "skip", "--dry-run"),
                        ("plan", tree, self.path("parts"), "-o", plan, "--format", "tfrecord"),
                        ("convert", whole, self.path("made"), "--format", "webdataset"),
                        ("pack", tree, out, "--format", "tfrecord")):
            self.assertEqual(sheaf(*command, *spec).stderr, words, command)
        self.assertEqual(sheaf("pack", tree, out, "--format", "tfrecord", *spec, "--quiet", "--overwrite").stderr, b"")
        for command in (("pack", tree), ("convert", whole)):        # a class with 16 samples and more is not named
            done = sheaf(*command, self.path("x" + command[0]), "--format", "tfrecord", "--split", "train=6/class,val=rest")
            self.assertEqual(done.stderr, b"")
        for name, count, said in (("fox", 3, True), ("cat", 3, False), ("dog", 3, True), ("dog", 30, False)):
            more = make_tree(self.path("more"), {"%s/n%d-%d.txt" % (name, count, i): b"n" for i in range(count)})
            done = sheaf("append", more, out, "--exclude", "*", "--include", "n%d-*" % count, "--include", "%s/" % name)
            self.assertEqual(b'"%s" (%d)' % (name.encode(), 10 if name == "dog" else count) in done.stderr, said, name)

    def test_many_classes_that_are_not_in_the_rest(self):
        tree = make_tree(self.path("tree"), {"class-%03d/0.txt" % i: b"" for i in range(500)})
        write(os.path.join(tree, "class-000/1.txt"), b"")
        done = sheaf("pack", tree, self.path("out"), "--format", "tfrecord", "--split", "train=1/class,val=rest")
        self.assertRegex(done.stderr, rb'has no sample of 499 classes with at most 1 sample: "class-001" \(1\), '
                         rb'"class-002" \(1\), .*, and \d+ more\n$')
        named = done.stderr.count(b'"') // 2
        self.assertTrue(done.stderr.endswith(b", and %d more\n" % (499 - named)))
        self.assertGreater(named, 20)


class GoodOnes(Case):
    def test_so_many_good_samples_of_each_class(self):
        """Bad files do not count among the N samples of a class. They belong to the rest, where they are skipped."""
        files = {}
        for name in ("cat", "dog"):
            for i in range(30):
                files["%s/%02d.jpg" % (name, i)] = jpeg(seed=i) if i % 3 else b"no image"
        tree = make_tree(self.path("tree"), files)
        for more in ((), ("--check-images", "decode"), ("--fix-images",)):
            out = self.path("out" + "".join(more))
            sheaf("pack", tree, out, "--format", "webdataset", "--split",
                  "train=12/class,val=5/class,test=rest", "--on-error", "skip", *more)
            counts = {}
            for split in ("train", "val", "test"):
                for line in listing(os.path.join(out, split)):
                    counts.setdefault(split, collections.Counter())[line.split("/")[0]] += 1
            self.assertEqual(counts, {"train": {"cat": 12, "dog": 12}, "val": {"cat": 5, "dog": 5},
                                      "test": {"cat": 3, "dog": 3}})
            sheaf("plan", tree, self.path("parts"), "-o", self.path("p"), "--format", "webdataset",
                  "--split", "train=12/class,val=5/class,test=rest", "--on-error", "skip",
                  "--overwrite", *more)
            sheaf("pack", "--plan", self.path("p"))
            sheaf("commit", self.path("p"))
            for split in ("train", "val", "test"):
                self.assertEqual(listing(os.path.join(out, split), "--no-shuffle"),
                                 listing(self.path("parts", split), "--no-shuffle"))

    def test_too_few_good_samples(self):
        tree = make_tree(self.path("tree"), {
            "a/%d.jpg" % i: jpeg(seed=i) if i < 4 else b"no" for i in range(8)})
        sheaf("pack", tree, self.path("out"), "--format", "webdataset", "--split",
              "train=3/class,val=rest", "--on-error", "skip")
        self.assertEqual([len(listing(self.path("out", s))) for s in ("train", "val")], [3, 1])

    def test_the_info_of_a_split_without_samples(self):
        """The size of its content is known: 0 bytes. Files without content are the same case."""
        tree = make_tree(self.path("tree"), {"a/0.txt": b"", "a/1.txt": b"", "a/2.jpg": b"no image"})
        pack(tree, self.path("out"), "tfrecord", "none", "--split", "train=2/class,val=rest",
             "--on-error", "skip", status=None)
        for split, samples in (("train", 2), ("val", 0)):
            told = json.loads(sheaf("info", self.path("out", split), "--json").stdout)
            self.assertEqual((told["samples"], told["payload_bytes"]), (samples, 0))
            self.assertEqual([shard["payload_bytes"] for shard in told["shards"]],
                             [0] * len(told["shards"]))
