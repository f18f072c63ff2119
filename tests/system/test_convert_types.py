# SPDX-License-Identifier: MIT
"""sheaf convert from TFRecord to TFRecord: every feature of an Example keeps its name, its type, all values and their
order. Only a key is added."""

import gzip
import os
import random
import shutil

import decoders
import support
import writers
from jpegs import jpeg
from support import Case, listing, pack, read, seed, sheaf, tree_of, view_of, write
from writers import varint, wire

COUNT = 40
NAN = float("nan")


def raw(payload):
    """Returns {name: the message Feature} of an Example."""
    found = {}
    for _, entries in decoders.protobuf(payload):
        for _, entry in decoders.protobuf(entries):
            pair = dict(decoders.protobuf(entry))
            decoders.need(pair[1].decode() not in found, "two features", pair[1])
            found[pair[1].decode()] = pair[2]
    return found


def typed(feature):
    """Returns ("bytes", "float" or "int64", values) of a Feature, or None if it has no list."""
    return decoders.feature(feature) if feature else None


def entry(name, feature):
    return wire(1, wire(1, name.encode()) + wire(2, feature))


def record(features):
    """Returns an Example of {name: Feature or list}."""
    return wire(1, b"".join(entry(name, f if isinstance(f, bytes) else writers.feature(f))
                            for name, f in features.items()))


def some_features(chance, number):
    """Returns features of every kind, in any order."""
    features = {
        "id": [number],
        "image": [jpeg(seed=number)],
        "label": [number % 3],
        "int/none": wire(3, wire(1, b"")) if number % 2 else wire(3, b""),
        "int/one": [-1],
        "int/many": [chance.choice((0, 7, -1, 1 << 62, -(1 << 63))) for _ in range(number % 7 + 2)],
        "int/unpacked": writers.feature([5, -300], packed=False),
        "float/whole": [1.0, 2.0],
        "float/odd": [NAN, -0.0, float("inf"), 0.1],
        "float/one": [3.0],
        "float/none": wire(2, b""),
        "bytes/many": [b"", b"\n", chance.randbytes(number)],
        "bytes/none": wire(1, b""),
        "bytes/empty": [b""],
        "says.nothing": b"",
        "Upper/Case": [b"x"],
    }
    names = list(features)
    chance.shuffle(names)
    for name in names[:number % 4]:         # some samples lack some features
        if name not in ("id", "image", "label"):
            del features[name]
            names.remove(name)
    return {name: features[name] for name in names}


class ConvertTypes(Case):
    @classmethod
    def share(cls):
        chance = random.Random(3)
        cls.records = [record(some_features(chance, i)) for i in range(COUNT)]

    def source(self, records=None, name="x.tfrecord"):
        path = self.path(name)
        data = writers.tfrecord(self.records if records is None else records)
        write(path, gzip.compress(data) if name.endswith(".gz") else data)
        return path

    def indexed(self, records=None):
        """Makes a data set of the records."""
        os.mkdir(self.path("i"))
        sheaf("index", os.path.dirname(self.source(records, "i/x.tfrecord")))
        return self.path("i")

    def convert(self, *words, dest="d", **how):
        """Converts, checks the result, and returns the features of its records in order."""
        dest = self.path(dest)
        shutil.rmtree(dest, ignore_errors=True)
        sheaf("convert", *words, dest, "--format", "tfrecord", **how)
        sheaf("verify", dest)
        return self.written(dest)

    @staticmethod
    def written(dest):
        return [raw(payload) for name in support.shards_of(dest)
                for _, payload in decoders.tfrecord_frames(read(os.path.join(dest, name)))]

    def assert_kept(self, found, records, keys=None):
        self.assertEqual(len(found), len(records))
        for i, (features, payload) in enumerate(zip(found, records)):
            key = features.pop("__key__")
            if keys is not None:
                self.assertEqual(typed(key), ("bytes", [keys[i].encode()]))
            self.assertEqual(features, raw(payload))

    def number_of(self, features):
        return typed(features["id"])[1][0]

    def test_nothing_is_lost(self):
        source = self.source()
        found = self.convert(source)
        self.assert_kept(found, self.records, ["x/%08d" % i for i in range(COUNT)])
        # The bytes are compared. A reader gets the same from both.
        kinds = {name: typed(feature)[0] for features in found
                 for name, feature in features.items() if feature and name != "int/unpacked"}
        wanted = {"id": "int64", "label": "int64", "image": "bytes", "Upper/Case": "bytes"}
        for name, kind in kinds.items():
            start = name.split("/")[0].replace("int", "int64")
            self.assertEqual(kind, wanted.get(name, start if "/" in name else "bytes"), name)
        self.assertEqual(listing(self.path("d"), "--no-shuffle"), listing(source, "--no-shuffle"))

    def test_again(self):
        """A second conversion, parts of a plan, and any number of jobs give the same bytes."""
        self.convert(self.source(), "--shard-size", "3kB")
        once = tree_of(self.path("d"))
        self.convert(self.path("d"), "--jobs", 1, dest="e")
        shards = {name: data for name, data in once.items() if name.startswith("shard-")}
        self.assertGreater(len(shards), 2)
        again = tree_of(self.path("e"))
        self.assertEqual({name: again[name] for name in shards}, shards)
        sheaf("plan", self.path("d"), self.path("f"), "-o", self.path("plan"), "--format",
              "tfrecord")
        for part in range(2):
            sheaf("convert", "--plan", self.path("plan"), "--part", "%d/2" % part)
        sheaf("commit", self.path("plan"))
        sheaf("verify", self.path("f"))
        parts = tree_of(self.path("f"))
        self.assertEqual({name: parts[name] for name in shards}, shards)

    def test_other_shards_and_order(self):
        source = self.indexed()
        wanted = {i: raw(payload) for i, payload in enumerate(self.records)}
        for words in (["--shard-size", "5kB"], ["--shard-count", 9],
                      ["--shuffle", "--seed", seed() % 1000, "--shard-count", 3],
                      ["--codec", "gzip"], ["--codec", "lz4", "--shuffle"]):
            if "--codec" in words:
                sheaf("convert", source, self.path("c"), "--format", "tfrecord", *words)
                sheaf("verify", self.path("c"))
                found = self.convert(self.path("c"))
                shutil.rmtree(self.path("c"))
            else:
                found = self.convert(source, *words)
            for features in found:
                features.pop("__key__")
            self.assertEqual({self.number_of(f): f for f in found}, wanted)

    def test_sources(self):
        """Compressed sources, several sources, and a source beside another container."""
        self.assert_kept(self.convert(self.source(name="x.tfrecord.gz")), self.records)
        half = COUNT // 2
        one = self.source(self.records[:half], "one.tfrecord")
        two = self.source(self.records[half:], "two.tfrecord")
        self.assert_kept(self.convert(one, two), self.records,
                         ["one/%08d" % i for i in range(half)] +
                         ["two/%08d" % i for i in range(COUNT - half)])
        pack(support.make_tree(self.path("tree"), {"b.txt": b"hi"}), self.path("tar"))
        *kept, last = self.convert(self.indexed(self.records[:3]), self.path("tar"))
        self.assert_kept(kept, self.records[:3])
        self.assertEqual(typed(last["txt"]), ("bytes", [b"hi"]))

    def test_read_again(self):
        self.convert(self.source())
        key = "x/00000005"
        text = sheaf("get", self.path("d"), key, "--field", "float.odd").stdout
        self.assertEqual(text, b"nan 0 inf 0.1")
        text = sheaf("get", self.path("d"), key, "--field", "int.one").stdout
        self.assertEqual(text, b"-1")
        sheaf("convert", self.path("d"), self.path("w"), "--format", "webdataset")
        self.assertEqual(sheaf("get", self.path("w"), key, "--field", "float.odd").stdout,
                         b"nan 0 inf 0.1")

    # ---- Names -----------------------------------------------------------------------------------

    def test_field_map(self):
        found = self.convert(self.source(), "--field-map",
                             "image=jpg,label=label,int/many=n,int/one=float.one,float/one=int.one")
        for number, (features, payload) in enumerate(zip(found, self.records)):
            wanted = raw(payload)
            image = typed(wanted.pop("image"))
            del wanted["label"]
            for name, to in (("int/many", "n"), ("int/one", "\0"), ("float/one", "int.one"),
                             ("\0", "float.one")):
                if name in wanted:
                    wanted[to] = wanted.pop(name)
            for name, value in (("image/encoded", image),
                                ("image/filename", ("bytes", [b"x/%08d.jpg" % number])),
                                ("image/format", ("bytes", [b"JPEG"])),
                                ("image/height", ("int64", [16])),
                                ("image/width", ("int64", [16])),
                                ("image/class/label", ("int64", [number % 3]))):
                self.assertEqual(typed(features.pop(name)), value)
            self.assertEqual(features, wanted)
        self.assertEqual([line.split("\t")[1] for line in listing(self.path("d"), "--no-shuffle")],
                         ["%d" % (i % 3) for i in range(COUNT)])

    def test_other_images(self):
        """A PNG is written as image/encoded, from files and from other containers, and comes back as the same field."""
        png = b"\x89PNG\r\n\x1a\n" + b"rest"
        source = support.make_tree(self.path("files"), {
            "c/a.png": png, "c/a.txt": b"1", "d/b.WebP": b"RIFF", "d/b.seg.png": png,
            "d/c.seg.png": png})
        for container in support.CONTAINERS:
            pack(source, self.path(container), container, "none", "--no-shuffle")
        sheaf("convert", self.path("webdataset"), self.path("tf"), "--format", "tfrecord")
        sheaf("convert", self.path("tf"), self.path("again"), "--format", "tfrecord")
        sheaf("convert", self.path("again"), self.path("tar"), "--format", "webdataset")
        self.assertEqual(listing(self.path("tar"), "--no-shuffle"),
                         listing(self.path("webdataset"), "--no-shuffle"))
        for name in ("tfrecord", "tf", "again"):
            a, b, c = [{key: typed(value)[1] for key, value in raw(payload).items()}
                       for payload in self.payloads(self.path(name))]
            self.assertEqual((a["image/encoded"], a["image/format"], a["image/filename"], a["txt"]),
                             ([png], [b"PNG"], [b"c/a.png"], [b"1"]))
            self.assertEqual((b["image/encoded"], b["image/format"], b["image/filename"], b["seg.png"]),
                             ([b"RIFF"], [b"WEBP"], [b"d/b.WebP"], [png]))
            self.assertEqual((c["seg.png"], c["__key__"]), ([png], [b"d/c"]))
            self.assertNotIn("image/encoded", c)
            self.assertNotIn("png", a)

    def payloads(self, folder):
        """Returns the Examples of the only shard of a data set."""
        return [payload for _, payload in
                decoders.tfrecord_frames(read(os.path.join(folder, "shard-000000.tfrecord")))]

    def test_names_that_collide(self):
        source = self.source([record({"a/b": [1], "c": [2]})])
        done = sheaf("convert", source, self.path("d"), "--format", "tfrecord", "--field-map",
                     "c=a.b", status=1)
        self.assert_error(done, "two fields are named", "a.b")
        source = self.source([record({"a/b": [1], "a.b": [2]})])
        sheaf("convert", source, self.path("d"), "--format", "tfrecord", "--overwrite")
        payload, = self.payloads(self.path("d"))
        self.assertTrue(payload.startswith(record({"a/b": [1], "a.b": [2]})))

    # ---- What Sheaf knows of features --------------------------------------------------------------

    def test_labels(self):
        """The label is that of the manifest, and its list is unchanged."""
        lists = ([2.0], [1], [1.0, 0.5], wire(3, b""), [-0.0], [NAN], [b"cat"], [1 << 60])
        records = [record({"image/class/label": v, "x": [b"x"]}) for v in lists]
        source = self.source(records)
        self.assert_kept(self.convert(source), records)
        self.assertEqual(listing(self.path("d"), "--no-shuffle"), listing(source, "--no-shuffle"))
        # Another label makes another list.
        records = [record({"image/class/label": wire(3, b""), "y": [7]}),
                   record({"image/class/label": [NAN], "y": [8]})]
        one, two = self.convert(self.source(records), "--field-map", "y=label")
        self.assertEqual(typed(one["image/class/label"]), ("int64", [7]))
        self.assertEqual(typed(two["image/class/label"]), ("int64", [8]))
        self.assertEqual(typed(two["image.class.label"])[0], "float")

    def test_images(self):
        image, png = [jpeg()], [b"\x89PNG\r\n\x1a\nrest"]
        for features, key in (
                ({"image/encoded": image}, "__key__"),
                ({"image/encoded": image, "image/filename": [b"a/b.jpg"]}, None),
                ({"image/encoded": image, "image/filename": [b"/no path"]}, "__key__"),
                ({"image/encoded": image, "image/format": [b"jpeg"], "image/height": [16],
                  "image/width": [16]}, "__key__"),
                ({"image/encoded": image, "image/format": [b"JPEG"], "image/height": [16],
                  "image/width": [16], "__key__": [b"mine"]}, None),
                ({"image/encoded": image, "image/format": [b"JPEG"]}, "__key__"),
                ({"image/encoded": image, "image/height": [1, 2], "image/width": [5.0]}, "__key__"),
                ({"image/encoded": png, "image/format": [b"PNG"]}, "__key__"),
                ({"image/encoded": png, "image/filename": [b"a/b.PNG"]}, None),
                ({"image/encoded": [b"a", b"b"], "image/filename": [b"a.jpg"]}, "__key__"),
                ({"image/filename": [b"a.jpg"], "image/width": [4]}, "__key__"),
                ({"jpg": image, "image/class/text": [b"cat"]}, "__key__"),
                ({"jpg": image, "image/encoded": png, "image/filename": [b"a.png"]}, None)):
            source = self.source([record(features)])
            (found,) = self.convert(source)
            if key is not None:
                del found[key]
            self.assertEqual(found, raw(record(features)))
            self.assertEqual(listing(self.path("d")), listing(source))
        # Sizes that are not those of the image. Otherwise a reader would take them for the computed sizes.
        (found,) = self.convert(self.source([record({
            "image/encoded": image, "image/format": [b"JPEG"], "image/height": [7],
            "image/width": [16]})]))
        self.assertEqual({name: typed(found[name])[1] for name in found if "eight" in name},
                         {"image/height": [16], "image.height": [7]})

    def test_fields_of_a_view(self):
        """Fields that the view leaves out are left out, and the others stay."""
        view = view_of(self, [(self.indexed(), {"fields": ["int.many", "float.odd"]})])
        found = self.convert(view)
        for features, payload in zip(found, self.records):
            del features["__key__"]
            self.assertEqual(features, {name: feature for name, feature in raw(payload).items()
                                        if name in ("int/many", "float/odd")})

    def test_what_is_no_example(self):
        records = [b"just bytes", self.records[1]]
        one, two = self.convert(self.source(records))
        self.assertEqual(typed(one["data"]), ("bytes", [b"just bytes"]))
        self.assert_kept([two], records[1:])

    # ---- Seams -----------------------------------------------------------------------------------

    def test_damaged_records_are_skipped(self):
        source = self.source()
        data, frames = read(source), [at for at, _ in decoders.tfrecord_frames(read(source))]
        write(source, support.flip(data, frames[7] + 20))
        self.assert_kept(self.convert(source, "--on-corrupt", "skip"),
                         self.records[:7] + self.records[8:])

    def test_resumed(self):
        self.convert(self.source(), "--shard-count", 10)
        source, dest = self.path("d"), self.path("e")
        sheaf("convert", source, dest, "--format", "tfrecord")
        whole = tree_of(dest)
        shutil.rmtree(dest)
        path = os.path.join(source, support.shards_of(source)[8])
        data, times = read(path), os.stat(path)
        write(path, support.flip(data, 30))
        sheaf("convert", source, dest, "--format", "tfrecord", status=1)
        write(path, data)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        sheaf("convert", source, dest, "--format", "tfrecord", "--resume")
        self.assertEqual(tree_of(dest), whole)

    def test_large_lists(self):
        """Lists whose bytes are larger than their text."""
        records = [record({"n": writers.feature([-1] * 60000, packed=i % 2 == 0),
                           "e": [b""] * 50000}) for i in range(6)]
        self.assert_kept(self.convert(self.source(records), "--memory", "64MiB"), records)


if __name__ == "__main__":
    support.unittest.main()
