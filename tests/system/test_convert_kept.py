# SPDX-License-Identifier: MIT
"""Data that cat reads can also be converted and unpacked: images that pack refuses, repeated keys, and shards of
records without keys. Nothing is lost without a count."""

import json
import os

import decoders
import images
import writers
from jpegs import jpeg, jpeg_size
from support import (CONTAINERS, SUFFIX, Case, listing, make_tree, pack, read, sheaf, shards_of,
                     small_disk, tree_of, write)


def fields_of(place):
    """Returns {key: {suffix: bytes}} of a data set, from unpack."""
    found = {}
    for path, data in tree_of(place).items():
        key, suffix = decoders.split_name(path)
        found.setdefault(key, {})[suffix] = data
    return found


def payloads_of(shard):
    """Returns the payloads of the records of a TFRecord shard."""
    found, at = [], 0
    while at < len(shard):
        size = int.from_bytes(shard[at:at + 8], "little")
        found.append(shard[at + 12:at + 12 + size])
        at += 16 + size
    return found


class MadeUpKeys(Case):
    def test_no_two_shards_make_up_one_key(self):
        for names in (["c10-train.tfrecord-00000-of-00002", "c10-train.tfrecord-00001-of-00002"],
                      ["t.part1.tfrecord", "t.part2.tfrecord"],
                      ["a/0.tfrecord", "b/0.tfrecord", "0.tfrecord"],
                      ["x/a/0.tfrecord", "y/a/0.tfrecord", "y/b/0.tfrecord"],
                      ["t.tfrecord", "t.tfrecords"]):
            with self.subTest(names=names):
                root = self.path("r%d" % len(os.listdir(self.folder)))
                for i, name in enumerate(names):
                    write(os.path.join(root, name), writers.tfrecord(
                        writers.example({"image": [b"%d" % (2 * i + k)]}) for k in range(2)))
                keys = [line.split("\t")[0] for line in
                        listing(*names, "--no-shuffle", cwd=root)]
                self.assertEqual(len(set(keys)), 2 * len(names), keys)
                sheaf("unpack", *names, "un", cwd=root)
                self.assertEqual(sorted(f["image"] for f in fields_of(root + "/un").values()),
                                 [b"%d" % i for i in range(2 * len(names))])
                for container in CONTAINERS:
                    sheaf("convert", *names, "o-" + container, "--format", container, cwd=root)
                    self.assertEqual(sorted(line.split("\t")[0] for line in
                                            listing(root + "/o-" + container)), sorted(keys))

    def test_one_stem_for_one_name(self):
        for name, stem in (("train.tfrecord", "train"), ("train.v2.tar.gz", "train.v2"),
                           ("s.rec", "s")):
            data = {"train.tfrecord": writers.tfrecord([b"x"]), "s.rec": writers.recordio([b"x"]),
                    "train.v2.tar.gz": None}[name]
            if data is not None:
                write(self.path(name), data)
                self.assertEqual(listing(self.path(name)), [stem + "/00000000\t\tdata:1"])


class KeptImages(Case):
    @classmethod
    def share(cls):
        cls.files = {
            "a.jpg": jpeg(), "b.jpg": images.saved(images.photo(40, 30).convert("CMYK")),
            "c.jpg": b"", "d.jpg": images.saved(images.photo(20, 20), "PNG"), "e.jpeg": b"text",
            "f.jpg": jpeg(40, 24, 3)[:-9],
        }

    def shards(self, container):
        """Makes a foreign shard of the files."""
        place = self.path("%s/s%s" % (container, SUFFIX[container]))
        if container == "webdataset":
            write(place, writers.tar(list(self.files.items())))
        else:
            write(place, writers.tfrecord(
                writers.example({"image/encoded": [data], "image/filename": [name.encode()]})
                for name, data in self.files.items()))
        return os.path.dirname(place)

    def test_images_stay_as_they_are(self):
        for container in ("webdataset", "tfrecord"):
            source = self.shards(container)
            for to in CONTAINERS:
                dest, files = self.path(container + to), self.path("u" + container + to)
                done = sheaf("convert", source, dest, "--format", to)
                self.assertEqual(done.stderr, b"")
                sheaf("unpack", dest, files)
                self.assertEqual({k.decode() if isinstance(k, bytes) else k: v
                                  for k, v in tree_of(files).items()}, self.files)

    def test_check_images_names_shard_and_cure(self):
        source = self.shards("webdataset")
        for how in ("markers", "decode"):
            done = sheaf("convert", source, self.path("o"), "--format", "tfrecord",
                         "--check-images", how, status=1)
            self.assert_error(done, "s.tar: record 1: b.jpg: ", "--fix-images",
                              "--on-corrupt skip")
        done = sheaf("convert", source, self.path("o"), "--format", "tfrecord", "--check-images",
                     "markers", "--on-corrupt", "skip", "--max-corrupt", 2, status=1)
        done = sheaf("convert", source, self.path("o"), "--format", "tfrecord", "--check-images",
                     "markers", "--on-corrupt", "skip", "--quiet")
        self.assertIn(b"5 samples left out: skipped.tsv in ", done.stderr)
        self.assertEqual([line.split("\t")[0] for line in
                          read(self.path("o/skipped.tsv")).decode().splitlines()],
                         ["b", "c", "d", "e", "f"])
        self.assertEqual(len(listing(self.path("o"))), 1)
        self.assertIn(b"sound", sheaf("verify", self.path("o")).stdout)

    def test_fix_images_and_resize_as_in_pack(self):
        files = {"%d/%s.jpg" % (i % 2, name): data
                 for i, (name, (data, _)) in enumerate(sorted(images.odd().items()))}
        files.update({"0/large%d.jpg" % i: images.saved(images.photo(300, 200, i))
                      for i in range(90)})
        files.update({"0/large%d.txt" % i: b"%d" % i for i in range(90)})
        make_tree(self.path("tree"), files)
        pack(self.path("tree"), self.path("kept"), "webdataset", "none", "--check-images", "none",
             "--shard-count", 3)
        for options in (["--fix-images"], ["--fix-images", "--resize", 50, "--quality", 80],
                        ["--resize", 40, "--resize-mode", "exact", "--check-images", "none"]):
            for name in ("packed", "converted", "again", "parts", "u1", "u2"):
                self.remove(name)
            pack(self.path("tree"), self.path("packed"), "webdataset", "none", "--shard-count", 3,
                 *options)
            done = sheaf("convert", self.path("kept"), self.path("converted"), "--format",
                         "webdataset", *options)
            sheaf("convert", self.path("kept"), self.path("again"), "--format", "webdataset",
                  "--jobs", 1, "--memory", "32MiB", *options)
            sheaf("plan", self.path("kept"), self.path("parts"), "-o", self.path("p"), "--format",
                  "webdataset", *options)
            for part in (1, 0):
                sheaf("convert", "--plan", self.path("p"), "--part", "%d/2" % part)
            sheaf("commit", self.path("p"))
            for name in shards_of(self.path("packed")):
                shard = read(self.path("packed/" + name))
                for other in ("converted", "again", "parts"):
                    self.assertEqual(shard == read(self.path(other + "/" + name)), True, other)
            if "--fix-images" in options:
                for other in ("converted", "parts"):
                    self.assertEqual(read(self.path("packed/converted.tsv")),
                                     read(self.path(other + "/converted.tsv")))
                self.assertRegex(done.stdout, rb", \d+ images converted")
            self.assertEqual(sheaf("info", self.path("packed")).stdout.count(b"smaller"),
                             sheaf("info", self.path("converted")).stdout.count(b"smaller"))
            os.unlink(self.path("p"))

    def remove(self, name):
        import shutil
        shutil.rmtree(self.path(name), ignore_errors=True)

    def test_resume_of_smaller_images(self):
        make_tree(self.path("tree"), {"%02d.jpg" % i: images.saved(images.photo(200, 100, i))
                                      for i in range(40)})
        pack(self.path("tree"), self.path("set"), "webdataset", "none", "--shard-count", 20)
        options = ("--format", "tfrecord", "--resize", 32, "--jobs", 1)
        sheaf("convert", self.path("set"), self.path("whole"), *options)
        damaged = bytearray(read(self.path("set/shard-000018.tar")))
        good = bytes(damaged)
        damaged[700] ^= 1
        write(self.path("set/shard-000018.tar"), bytes(damaged))
        sheaf("convert", self.path("set"), self.path("out"), *options, status=1)
        write(self.path("set/shard-000018.tar"), good)
        done = sheaf("convert", self.path("set"), self.path("out"), *options, "--resume")
        self.assertRegex(done.stdout, rb", [1-9]\d* of them kept")
        self.assert_same_tree(self.path("whole"), self.path("out"))


class OpaqueRecords(Case):
    """A record that is not a tf.train.Example becomes one field and is counted, unless it stays a record."""

    def test_they_are_counted_and_named(self):
        example = writers.example({"x": [b"1"]})
        many = writers.example({"f%04d" % i: [1.5] for i in range(1100)})
        write(self.path("s.tfrecord"), writers.tfrecord([example, b"raw bytes", many, b"\xff" * 9]))
        said = "sheaf: %d records, such as %s, are not tf.train.Examples whose features can be " \
            "fields: each is one field\n"
        for container, count in ("webdataset", 3), ("recordio", 3), ("tfrecord", 2):
            error = sheaf("convert", self.path("s.tfrecord"), self.path(container), "--format",
                          container).stderr.decode()
            self.assertEqual(error, said % (count, "s/00000001"))
            error = sheaf("convert", self.path(container), self.path("again"), "--format",
                          container, "--overwrite").stderr
            self.assertEqual(error, b"")


class KeptOptions(Case):
    """A conversion keeps what the data set states about its samples."""

    def setUp(self):
        super().setUp()
        self.source = make_tree(self.path("source"), {
            "a/%d.jpg" % i: jpeg(64, 48, 3, i) for i in range(4)} | {"b/x.png.jpg": images.saved(
                images.photo(40, 30), "PNG")})
        pack(self.source, self.path("set"), "webdataset", "none", "--fix-images", "--resize", "16",
             "--resize-mode", "longer", "--quality", "77", "--key-end", "last-dot")

    def options(self, name):
        manifest = json.loads(read(self.path(name, "dataset.json")))
        names = ("fix_images", "resize", "resize_mode", "quality", "image_libraries", "key_end",
                 "images_converted", "images_resized")
        return {name: manifest["options"].get(name) for name in names}

    def test_a_whole_data_set(self):
        sheaf("convert", self.path("set"), self.path("other"), "--format", "tfrecord")
        self.assertEqual(self.options("other"), self.options("set"))
        self.assertEqual(self.options("other")["images_converted"], 1)
        done = sheaf("info", self.path("other"))
        self.assertIn(b"1 converted, 4 only made smaller", done.stdout)
        more = make_tree(self.path("more"), {"a/9.z.jpg": jpeg(64, 48, 3, 9)})
        done = sheaf("append", more, self.path("other"))
        self.assertEqual(done.stderr, b"")
        listed = listing(self.path("other"), "--no-shuffle")
        self.assertTrue(listed[-1].startswith("a/9_z\t0\t"), listed)
        sheaf("get", self.path("other"), "a/9_z", "--field", "jpg", "-o", self.path("got"))
        self.assertEqual(jpeg_size(read(self.path("got/a/9_z.jpg"))), (16, 12))

    def test_a_plan_makes_the_same(self):
        sheaf("convert", self.path("set"), self.path("other"), "--format", "tfrecord")
        sheaf("plan", self.path("set"), self.path("parts"), "-o", self.path("plan"), "--format",
              "tfrecord")
        sheaf("convert", "--plan", self.path("plan"))
        sheaf("commit", self.path("plan"))
        self.assertEqual(tree_of(self.path("parts")), tree_of(self.path("other")))

    def test_some_samples_of_a_data_set(self):
        """The number of changed images is unknown."""
        sheaf("view", self.path("set"), "-o", self.path("some.view"), "--where", "class=a")
        sheaf("convert", self.path("some.view"), self.path("other"), "--format", "webdataset")
        self.assertEqual(self.options("other"), {**self.options("set"), "images_converted": None,
                                                 "images_resized": None})
        info = json.loads(sheaf("info", self.path("other"), "--json").stdout)
        self.assertEqual((info["images_converted"], info["images_resized"]), (None, None))

    def test_sources_that_differ(self):
        pack(make_tree(self.path("more"), {"c/1.jpg": jpeg(8, 8)}), self.path("plain"),
             "webdataset", "none", "--key-end", "last-dot")
        sheaf("view", self.path("set"), self.path("plain"), "-o", self.path("both.view"))
        sheaf("convert", self.path("both.view"), self.path("other"), "--format", "webdataset")
        found = self.options("other")
        self.assertEqual((found["fix_images"], found["resize"], found["key_end"]),
                         (None, None, "last-dot"))


class Room(Case):
    """Every command that knows the size of its output checks the free space first, in the same way."""

    def test_one_check(self):
        source = make_tree(self.path("source"), {"a/%d.bin" % i: bytes(200000) for i in range(20)})
        pack(source, self.path("set"), "tfrecord")
        with small_disk(self.path("disk"), 2 << 20):
            to = self.path("disk", "out")
            for words in (("pack", source, to, "--format", "webdataset"),
                          ("convert", self.path("set"), to, "--format", "webdataset"),
                          ("unpack", self.path("set"), to)):
                error = sheaf(*words, status=1).stderr.decode()
                self.assertRegex(error, r"disk/out: \d+ bytes are needed there, but \d+ are free: "
                                        r"\d+ too few\n$")
                self.assertEqual(os.listdir(self.path("disk")), [])
            sheaf("convert", self.path("set"), to, "--format", "webdataset", "--codec", "zstd")

    def test_images_that_become_smaller(self):
        source = make_tree(self.path("source"), {
            "a/%d.jpg" % i: jpeg(64, 48, 3, i, bytes(200000)) for i in range(20)})
        with small_disk(self.path("disk"), 2 << 20):
            pack(source, self.path("disk", "out"), "webdataset", "none", "--resize", "16")


class RepeatedKeys(Case):
    def sources(self):
        write(self.path("w/0.tar"), writers.tar([("k.txt", b"0"), ("l.txt", b"1"),
                                                 ("k-2.txt", b"2")]))
        write(self.path("w/1.tar"), writers.tar([("k.txt", b"3"), ("m.txt", b"4"),
                                                 ("k.txt", b"5"), ("l.txt", b"6")]))
        write(self.path("t/0.tfrecord"), writers.tfrecord(
            writers.example({"image/encoded": [jpeg(seed=i)], "image/filename": [b"image.jpg"]})
            for i in range(3)))
        return self.path("w"), self.path("t")

    def test_fail_names_the_cure(self):
        for source in self.sources():
            for words in (("convert", source, self.path("o"), "--format", "tfrecord"),
                          ("convert", source, self.path("o"), "--format", "tfrecord",
                           "--on-corrupt", "skip"),
                          ("unpack", source, self.path("u"))):
                done = sheaf(*words, status=1)
                self.assert_error(done, "record ", "--duplicate-keys number")
                self.assertNotIn(b"--resume", done.stderr)

    def test_number(self):
        tars, records = self.sources()
        keys = {"k": b"0", "l": b"1", "k-2": b"2", "k-3": b"3", "m": b"4", "k-4": b"5", "l-2": b"6"}
        done = sheaf("unpack", tars, self.path("u"), "--duplicate-keys", "number")
        self.assertIn(b"3 samples had the key of another sample", done.stderr)
        self.assertEqual({k: f["txt"] for k, f in fields_of(self.path("u")).items()}, keys)
        sheaf("unpack", tars, self.path("u"), "--duplicate-keys", "number", "--resume")
        self.assertEqual(len(fields_of(self.path("u"))), 7)
        for container in CONTAINERS:
            dest = self.path("o-" + container)
            done = sheaf("convert", tars, dest, "--format", container, "--duplicate-keys",
                         "number")
            self.assertIn(b"3 samples had the key of another sample", done.stderr)
            sheaf("unpack", dest, self.path("u-" + container))
            self.assertEqual({k: f["txt"] for k, f in
                              fields_of(self.path("u-" + container)).items()}, keys)
            sheaf("convert", records, dest + "t", "--format", container, "--duplicate-keys",
                  "number")
            self.assertEqual([line.split("\t")[0] for line in listing(dest + "t", "--no-shuffle")],
                             ["image", "image-2", "image-3"])

    def test_drop(self):
        tars, _ = self.sources()
        keys = {"k": b"0", "l": b"1", "k-2": b"2", "m": b"4"}
        done = sheaf("unpack", tars, self.path("u"), "--duplicate-keys", "drop", "--quiet")
        self.assertIn(b"3 samples left out", done.stderr)
        self.assertEqual({k: f["txt"] for k, f in fields_of(self.path("u")).items()}, keys)
        done = sheaf("convert", tars, self.path("o"), "--format", "recordio", "--duplicate-keys",
                     "drop", "--quiet")
        self.assertIn(b"3 samples left out: skipped.tsv in ", done.stderr)
        self.assertEqual(sorted(line.split("\t")[0] for line in listing(self.path("o"))),
                         sorted(keys))
        self.assertEqual(read(self.path("o/skipped.tsv")).decode().count(
            "left out: a sample with this key is already packed"), 3)

    def test_by_parts(self):
        """A plan decides about repeated keys like a conversion in one run, across shards and parts."""
        tars, _ = self.sources()
        write(self.path("w/2.tar"), read(self.path("w/0.tar")))        # all of its keys are repeated
        sheaf("index", tars)
        plan = self.path("plan")
        done = sheaf("plan", tars, self.path("many"), "-o", plan, "--format", "tfrecord", status=1)
        self.assert_error(done, "6 of its samples have the key of an earlier sample",
                          "--duplicate-keys number")
        for rule, keys in (("number", "k l k-2 k-3 m k-4 l-2 k-5 l-3 k-2-2"), ("drop", "k l k-2 m")):
            one, many, plan = (self.path(name + rule) for name in ("one-", "many-", "plan-"))
            options = ("--format", "tfrecord", "--duplicate-keys", rule)
            sheaf("convert", tars, one, *options)
            said = {"number": b"6 samples had the key of another sample",
                    "drop": b"6 samples left out"}[rule]
            done = sheaf("plan", tars, many, "-o", plan, *options)
            self.assertIn(said, done.stderr)
            hashes = [json.loads(read(self.path(one, "dataset.json")))["options"]["plan"],
                      json.loads(sheaf("info", plan, "--json").stdout)["hash"]]
            self.assertEqual(hashes[0], hashes[1])
            found = json.loads(sheaf("info", plan, "--json").stdout)
            self.assertEqual((found["duplicates"], found["dropped"]), (6, 6 * (rule == "drop")))
            self.assertIn(b"repeated keys 6 samples ", sheaf("info", plan).stdout)
            for part in (2, 0, 1):
                sheaf("convert", "--plan", plan, "--part", "%d/3" % part)
            done = sheaf("commit", plan, "--quiet")
            self.assertEqual(done.stderr != b"", rule == "drop")
            self.assertEqual(tree_of(many), tree_of(one))
            self.assertEqual([line.split("\t")[0] for line in listing(many, "--no-shuffle")],
                             keys.split())
            self.assertIn(said, sheaf("commit", plan).stderr)
        self.assertEqual(json.loads(sheaf("info", many, "--json").stdout)["skipped"], 6)

    def test_a_plan_of_files_has_no_repeated_keys(self):
        source = make_tree(self.path("source"), {"a/1.txt": b"1"})
        done = sheaf("plan", source, self.path("o"), "-o", self.path("p"), "--format", "tfrecord",
                     "--duplicate-keys", "drop", status=2)
        self.assert_error(done, "is not a data set")

    def test_files_of_one_key_are_not_torn_apart(self):
        """Two samples with one key and different suffixes do not collide, unless an option requests it."""
        write(self.path("i.tar"), writers.tar([("a.jpg", b"A"), ("b.jpg", b"B"), ("a.cls", b"1")]))
        sheaf("unpack", self.path("i.tar"), self.path("u"))
        self.assertEqual(sorted(tree_of(self.path("u"))), ["a.cls", "a.jpg", "b.jpg"])







class UnreadLabels(Case):
    def test_words_in_cls_are_counted_and_named(self):
        """A foreign label that cannot be one is reported where it is left: in convert, index and verify."""
        write(self.path("s/0.tar"), writers.tar([
            ("a.txt", b"1"), ("a.cls", b"cat"), ("b.txt", b"2"), ("b.cls", b"3"), ("c.txt", b"3"), ("d.txt", b"4"),
            ("d.cls", b"9007199254740993")]))
        for container in CONTAINERS:
            done = sheaf("convert", self.path("s"), self.path(container), "--format", container)
            self.assertEqual(done.stderr, b"sheaf: 2 samples, such as a, with a field cls that is not numbers, and "
                             b"so without a label\n")
            self.assertEqual(listing(self.path(container), "--no-shuffle")[1], "b\t3\tcls:1\ttxt:1")
            self.assertIn(b"2 samples with a file .cls", sheaf("info", self.path(container)).stdout)
        for command in "index", "verify":
            error = sheaf(command, self.path("s")).stderr.decode()
            self.assertIn("labels: 1 of 4 samples; the first without: ", error)
            self.assertIn("sheaf: 2 samples with a field cls that is not numbers, and so without a label\n", error)


class TooLarge(Case):
    def test_more_memory_is_no_cure(self):
        """A sample that no record of the container can hold is named before memory for it is asked for."""
        os.makedirs(self.path("in/c"))
        with open(self.path("in/c/a.bin"), "wb") as file:
            file.truncate(600 << 20)
        write(self.path("in/c/b.txt"), b"x")
        pack(self.path("in"), self.path("set"), "webdataset", "none", "--memory", "1300MiB")
        words = "the sample has 629145600 bytes, but a record of recordio must have less than 536870912"
        done = sheaf("convert", self.path("set"), self.path("out"), "--format", "recordio", "--memory", "1300MiB",
                     status=1)
        self.assert_error(done, words, "--on-corrupt skip leaves out such samples")
        self.assertNotIn(b"--memory", done.stderr)
        done = sheaf("convert", self.path("set"), self.path("out"), "--format", "recordio", "--memory", "1300MiB",
                     "--on-corrupt", "skip")
        self.assertIn(words.encode(), done.stderr)
        self.assertEqual(listing(self.path("out")), ["c/b\t0\ttxt:1"])


class CopiedRecords(Case):
    def test_more_numbers_than_a_sample_has_labels(self):
        """They are a field, as are numbers that cannot be labels."""
        many = writers.example({"image/class/label": list(range(70000))})
        write(self.path("s.tfrecord"), writers.tfrecord([many]))
        sheaf("convert", self.path("s.tfrecord"), self.path("o"), "--format", "webdataset")
        self.assertEqual(listing(self.path("o")), ["s/00000000\t\timage.class.label:%d" % len(
            " ".join(map(str, range(70000))))])

    def test_a_key_that_cannot_be_one_has_a_cure(self):
        for name, key in ("o", b"a.b"), ("p", b"../x"):
            write(self.path("s.tfrecord"), writers.tfrecord([writers.example({"__key__": [key], "v": [1]})]))
            done = sheaf("convert", self.path("s.tfrecord"), self.path(name), "--format", "tfrecord", status=1)
            self.assert_error(done, "record 0: s/00000000.__key__: suffixes like __this__ are reserved",
                              "--field-map FROM=TO renames a field")
            sheaf("convert", self.path("s.tfrecord"), self.path(name), "--format", "tfrecord", "--field-map",
                  "__key__=name")
            self.assertEqual(sheaf("get", self.path(name), "s/00000000", "--field", "name").stdout, key)

    def test_records_that_are_no_samples_keep_their_bytes(self):
        """Records with many features, odd names or sequences keep their bytes, and the key is appended."""
        sequence = writers.wire(1, writers.wire(1, writers.wire(1, b"id") + writers.wire(
            2, writers.feature([5])))) + writers.wire(2, writers.wire(1, writers.wire(1, b"f")
            + writers.wire(2, writers.wire(1, writers.feature([b"x"])))))
        payloads = [writers.example({"f%04d" % i: [i] for i in range(count)})
                    for count in (1025, 1031, 1033, 1100)]
        # Names that are equal as names of fields: in upper and lower case, with "/" and ".", and twice the same.
        equal = [writers.example({"A": [1], "a": [2]}), writers.example({"a/b": [1], "a.b": [2]}),
                 writers.wire(1, 2 * writers.example({"a": [1]})[2:])]
        payloads += [writers.example({"a\nb": [1], "c": [2]}), sequence, *equal]
        write(self.path("s.tfrecord"), writers.tfrecord(payloads))
        for more in ((), ("--shard-count", 2), ("--shuffle",)):
            dest = self.path("o%d" % len(more))
            sheaf("convert", self.path("s.tfrecord"), dest, "--format", "tfrecord", *more,
                  "--overwrite")
            records = [record for name in shards_of(dest)
                       for record in payloads_of(read(os.path.join(dest, name)))]
            self.assertEqual(len(records), len(payloads))
            for payload in payloads:
                found = [r for r in records if r.startswith(payload)]
                self.assertEqual(len(found), 1)
                self.assertIn(b"__key__", found[0][len(payload):])
            sheaf("unpack", dest, self.path("u" + os.path.basename(dest)), "--resume")
            self.assertEqual(sorted(f["data"] for f in fields_of(
                self.path("u" + os.path.basename(dest))).values()), sorted(payloads))
