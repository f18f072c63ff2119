# SPDX-License-Identifier: MIT
"""Rows that a program packs: their labels, their images, their order, and how they are split.  Needs
Pillow (Debian: python3-pil)."""

import ast
import collections
import io
import json
import os
import re
import unittest
import warnings

from PIL import Image

import sheaf
from sheaf import _rows
from support import CONTAINERS, Case


def image(kind="JPEG", size=(24, 16), mode="RGB"):
    to = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert(mode).save(to, kind)
    return to.getvalue()


class RowsCase(Case):
    def packed(self, rows, name="set", **options):
        """[(key, label, class name, {field: bytes})]"""
        sheaf.pack(rows, self.path(name), overwrite=True, **options)
        with sheaf.Reader(self.path(name), no_shuffle=True) as reader:
            return [(s.key, s.label, s.class_name, s.to_bytes()) for s in reader]


class LabelsTest(RowsCase):
    def test_a_label_by_any_of_its_names(self):
        for name in ("label", "__label__", "labels", "Label", "class", "CLASS"):
            for container in CONTAINERS:
                found = self.packed(({"txt": "x", name: i % 2} for i in range(4)), format=container)
                self.assertEqual([row[1] for row in found], [0, 1, 0, 1], name)
                self.assertEqual({tuple(row[3]) for row in found}, {("txt",)})
        for name in ("label", "class", "class_name", "__label__"):
            found = self.packed(({"txt": "x", name: "dog" if i % 2 else "cat"} for i in range(4)),
                                classes=["dog", "cat"])
            self.assertEqual([row[1:3] for row in found], [(1, "cat"), (0, "dog")] * 2, name)
        found = self.packed(iter([{"txt": "x", "label": 1, "class": "dog"}]), classes=["cat", "dog"])
        self.assertEqual(found[0][1:3], (1, "dog"))
        with self.assertRaisesRegex(sheaf.ArgumentError, "the label 0 is the class 'cat', not 'dog'"):
            self.packed(iter([{"txt": "x", "label": 0, "class": "dog"}]), classes=["cat", "dog"])

    def test_booleans_are_numbers(self):
        for container in CONTAINERS:
            found = self.packed(iter([{"txt": "x", "label": True}, {"txt": "x", "label": False}]), format=container)
            self.assertEqual([row[1] for row in found], [1, 0])
            with sheaf.Packer(self.path("own"), format=container, overwrite=True) as packer:
                packer.append("a", {"txt": b"x"}, labels=[True, False])
            self.assertEqual([sample.labels for sample in sheaf.Reader(self.path("own"))], [(1, 0)])

    def test_a_table_has_the_same_names(self):
        class Table(sheaf.sources._Source):
            samples = 3

            def rows(self, first):
                for i in range(first, 3):
                    yield {"txt": "%d" % i, "Labels": i}

        self.assertEqual([row[1] for row in self.packed(Table(None, None, None))], [0, 1, 2])

    def test_classes_of_a_table_get_the_numbers_that_classes_gives(self):
        class Table(sheaf.sources._Source):
            """What a ClassLabel column of Hugging Face's data sets gives."""
            samples, classes, no_label = 4, ["cat", "dog"], -1

            def rows(self, first):
                for label in (0, 1, -1, [0, 1]):
                    yield {"txt": "x", "label": label}

        for classes, labels in ((None, [(0,), (1,), (), (0, 1)]), (["cat", "dog"], [(0,), (1,), (), (0, 1)]),
                                (["eel", "dog", "cat"], [(2,), (1,), (), (2, 1)])):
            sheaf.pack(Table(None, None, None), self.path("set"), classes=classes, overwrite=True)
            made = sheaf.Dataset(self.path("set"))
            self.assertEqual([sample.labels for sample in made], labels)
            self.assertEqual([sample.class_name for sample in made][:2], ["cat", "dog"])
        with self.assertRaisesRegex(sheaf.ArgumentError, "the class 'dog' is none of classes"):
            sheaf.pack(Table(None, None, None), self.path("set"), classes=["cat"], overwrite=True)

    def test_several_columns_with_named_classes(self):
        for written in ({"_type": "ClassLabel", "names": ["a"]},
                        {"_type": "Sequence", "feature": {"_type": "ClassLabel", "names": ["a"]}},
                        [{"_type": "ClassLabel", "names": ["a"]}]):
            self.assertEqual(sheaf.sources._written_names(written), ["a"])
        for written in ({"_type": "Value", "dtype": "int64"}, [], {}, None):
            self.assertIsNone(sheaf.sources._written_names(written))
        named = {"coarse": ["a"], "fine": ["b"]}
        with self.assertWarnsRegex(UserWarning, "columns 'coarse', 'fine' have named classes.*label='coarse'"):
            self.assertIsNone(sheaf.sources._label_column(["txt", "coarse", "fine"], named))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(sheaf.sources._label_column(["txt", "fine"], {"fine": ["b"]}), "fine")
            self.assertEqual(sheaf.sources._label_column(["Label", "x"], {"Label": ["a"], "x": ["b"]}), "Label")

    def test_what_cannot_be_a_label_stays_a_field(self):
        found = self.packed(iter([{"txt": "x", "labels": [[1, 2], [3, 4]]},
                                  {"txt": "x", "label": {"a": 1}}, {"txt": "x", "label": b"\0\1"},
                                  {"txt": "x", "label": None}]))
        self.assertEqual([row[1] for row in found], [None] * 4)
        self.assertEqual([sorted(row[3]) for row in found],
                         [["labels.json", "txt"], ["label.json", "txt"], ["label", "txt"], ["txt"]])

    def test_classes_may_be_numbers_by_name(self):
        rows = [{"txt": "x", "label": name} for name in ("cat", "dog")]
        with open(self.path("to_idx.json"), "w", encoding="ascii") as file:
            file.write('{"dog": 0, "cat": 1}')
        for classes in ({"dog": 0, "cat": 1}, {"cat": 1, "dog": 0}, self.path("to_idx.json")):
            self.assertEqual([row[1:3] for row in self.packed(iter(rows), classes=classes)], [(1, "cat"), (0, "dog")])
            with sheaf.Packer(self.path("own"), overwrite=True, **(
                    {"classes": classes} if isinstance(classes, dict) else {})) as packer:
                packer.append("a", {"txt": b"x"}, labels=1)
        for number, name in enumerate(("cat", "dog")):
            os.makedirs(self.path("tree", name))
            with open(self.path("tree", name, "%d.txt" % number), "wb") as file:
                file.write(b"x")
        sheaf.pack(self.path("tree"), self.path("files"), classes={"cat": 1, "dog": 0})
        self.assertEqual(sheaf.Dataset(self.path("files")).classes, ["dog", "cat"])
        for wrong in ({"cat": 1, "dog": 2}, {"cat": 0, "dog": 0}):
            with self.assertRaises(sheaf.ArgumentError):
                self.packed(iter(rows), classes=wrong)

    def test_a_name_without_classes_is_an_error(self):
        with self.assertRaisesRegex(sheaf.ArgumentError, "has the class 'cat': name all classes"):
            self.packed(iter([{"txt": "x", "label": "cat"}]))
        with self.assertRaisesRegex(sheaf.ArgumentError, "the class 'eel' is none of classes"):
            self.packed(iter([{"txt": "x", "label": "eel"}]), classes=["cat"])

    def test_classes_without_a_label_are_an_error(self):
        with self.assertRaisesRegex(sheaf.ArgumentError, "names 2 classes, but none of 3 samples has a "
                                    "label.*label"):
            self.packed(({"txt": "x", "kind": 1} for _ in range(3)), classes=["cat", "dog"])
        self.assertFalse(os.path.exists(self.path("set", "dataset.json")))


class ImagesTest(RowsCase):
    def test_an_image_is_named_by_its_content(self):
        for kind, name in (("JPEG", "jpg"), ("PNG", "png"), ("WEBP", "webp"), ("GIF", "gif")):
            data = image(kind)
            found = self.packed(iter([{"image": {"bytes": data, "path": "x.jpg"}, "label": 1}]))
            self.assertEqual([row[1:] for row in found], [(1, None, {name: data})])
        found = self.packed(iter([{"left": {"bytes": image(), "path": None},
                                   "right": {"bytes": image("PNG"), "path": None}}]))
        self.assertEqual(sorted(found[0][3]), ["left.jpg", "right.png"])
        with open(self.path("there.png"), "wb") as file:
            file.write(image("PNG"))
        found = self.packed(iter([{"image": {"bytes": None, "path": self.path("there.png")}}]))
        self.assertEqual(found[0][3], {"png": image("PNG")})
        sound = {"bytes": b"RIFF1234WAVE", "path": "a.wav"}
        self.assertEqual(self.packed(iter([{"audio": sound}]))[0][3], {"audio": sound["bytes"]})

    def test_it_is_checked_as_a_file_is(self):
        class Table(sheaf.sources._Source):
            """What Hugging Face's Image feature gives."""
            samples, images = 3, ("image",)

            def rows(self, first):
                for data in (image(), image()[:200], b""):
                    yield {"image": {"bytes": data, "path": None}, "label": 0}

        with self.assertRaises(sheaf.CorruptError):
            self.packed(Table(None, None, None))
        problems = []
        found = self.packed(Table(None, None, None), on_error="skip", report=problems.append)
        self.assertEqual([row[3] for row in found], [{"jpg": image()}])
        self.assertEqual([problem.code for problem in problems], ["CORRUPT"] * 2)


    def test_they_are_made_smaller_and_fixed(self):
        rows = [{"jpg": image(*of), "label": 0} for of in (
            ("JPEG", (200, 100)), ("PNG", (200, 100)), ("JPEG", (200, 100), "CMYK"))]
        with self.assertRaises(sheaf.CorruptError):
            sheaf.pack(iter(rows), self.path("set"))
        for more in ({}, {"seed": 0}):
            result = sheaf.pack(iter(rows), self.path("set"), overwrite=True, resize=50,
                                fix_images=True, **more)
            self.assertEqual((result.samples, result.converted, result.resized), (3, 2, 1))
            self.assertEqual({Image.open(io.BytesIO(bytes(sample["jpg"]))).size
                              for sample in sheaf.Dataset(self.path("set"))}, {(100, 50)})


class OrderTest(RowsCase):
    def rows(self, count=120):
        return [{"__key__": "%03d" % i, "txt": "%d" % i, "label": i // 40} for i in range(count)]

    def test_a_seed_shuffles(self):
        rows = self.rows()
        orders = []
        for seed in (0, 0, 1):
            found = self.packed(iter(rows), seed=seed, classes=["a", "b", "c"])
            self.assertEqual(sorted((row[0], row[1], row[3]["txt"]) for row in found),
                             [(row["__key__"], row["label"], row["txt"].encode()) for row in rows])
            orders.append([row[0] for row in found])
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])
        self.assertNotEqual(orders[0], sorted(orders[0]))
        self.assertEqual(sheaf.Dataset(self.path("set")).classes, ["a", "b", "c"])
        self.assertEqual(list(sheaf.verify(self.path("set")).problems), [])
        result = sheaf.pack(iter(rows), self.path("cut"), seed=0, shard_count=3)
        self.assertEqual((result.samples, result.shards), (120, 3))
        self.assertEqual(os.listdir(self.path()), [name for name in os.listdir(self.path())
                                                   if not name.startswith(".sheaf")])

    def test_splits(self):
        for split, expected in (("train=0.75,val=0.25", (90, 30)), ("train=0.5,val=rest", (60, 60)),
                                ("train=30/class,val=rest", (90, 30))):
            for seed in (None, 3):
                result = sheaf.pack(iter(self.rows()), self.path("set"), split=split, seed=seed,
                                    overwrite=True, classes=["a", "b", "c"])
                self.assertEqual(result.samples, 120)
                sets = [sheaf.Dataset(self.path("set", name)) for name in ("train", "val")]
                self.assertEqual(tuple(map(len, sets)), expected)
                counts = [collections.Counter(data.targets) for data in sets]
                self.assertEqual([set(count.values()) for count in counts],
                                 [{expected[0] // 3}, {expected[1] // 3}])
                keys = [sample.key for data in sets for sample in data]
                self.assertEqual(sorted(keys), [row["__key__"] for row in self.rows()])
                self.assertEqual([data.classes for data in sets], [["a", "b", "c"]] * 2)
        sheaf.pack(iter(self.rows()), self.path("set"), overwrite=True)
        with self.assertRaises(sheaf.ExistsError):
            sheaf.pack(iter(self.rows()), self.path("set"), split="train=0.5,val=0.5")
        self.assertEqual(len(sheaf.Dataset(self.path("set"))), 120)
        sheaf.pack(iter(self.rows()), self.path("set"), split="train=0.5,val=0.5", overwrite=True)
        self.assertEqual(sorted(os.listdir(self.path("set"))), ["train", "val"])
        for split in ("train=0.5", "train=0.9,val=0.9", "train", "a=rest,b=rest", "a=x,b=rest"):
            with self.assertRaisesRegex(sheaf.ArgumentError, "^split: "):
                sheaf.pack(iter(self.rows()), self.path("bad"), split=split)
            self.assertFalse(os.path.exists(self.path("bad")))

    def test_the_size_of_shards_of_splits(self):
        rows = [{"__key__": "%03d" % i, "bin": bytes(1000)} for i in range(200)]
        for size, shards in ((2000, 50), ("10kB", 10), (1000000, 1)):
            result = sheaf.pack(iter(rows), self.path("set"), split="a=0.5,b=0.5", shard_size=size, overwrite=True)
            self.assertEqual((result.samples, result.shards), (200, 2 * shards))
            self.assertEqual([len(sheaf.Dataset(self.path("set", name)).shards) for name in "ab"], [shards] * 2)
        result = sheaf.convert(self.path("set", "a"), self.path("to"), format="tfrecord", split="x=0.5,y=0.5",
                               shard_size=2000)
        self.assertEqual((result.samples, result.shards), (100, 50))
        for make in (lambda **how: sheaf.pack(iter(rows), self.path("no"), **how),
                     lambda **how: sheaf.convert(self.path("set", "a"), self.path("no"), format="tfrecord", **how)):
            with self.assertRaisesRegex(sheaf.ArgumentError, "the shard size is 0 bytes"):
                make(split="x=0.5,y=0.5", shard_size=0)
            self.assertFalse(os.path.exists(self.path("no")))

    def test_a_data_set_with_repeated_keys_is_not_divided(self):
        sheaf.pack(iter(self.rows()), self.path("set"))
        for how in ("number", "drop"):
            with self.assertRaisesRegex(sheaf.ArgumentError, "convert with duplicate_keys first, and divide the result"):
                sheaf.convert(self.path("set"), self.path("no"), format="tfrecord", split="x=0.5,y=0.5",
                              duplicate_keys=how)

    def tree(self, keys, name):
        for key in keys:
            path = self.path(name, key + ".txt")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(key)
        return self.path(name)

    def split_keys(self, name):
        return {split: {sample.key for sample in sheaf.Dataset(self.path(name, split))} for split in ("train", "val")}

    def options(self, *names):
        with open(self.path(*names, "dataset.json")) as file:
            return json.load(file)["options"]

    def test_notes_are_warnings(self):
        """A notice of the command is a warning, unless the program takes it."""
        rows = [{"txt": "a", "label": int(i % 20 == 0)} for i in range(100)]
        files = self.tree({"%s/%d" % (name, i): name for name, count in (("a", 30), ("b", 5)) for i in range(count)}, "f")
        split = "train=10/class,val=rest"
        words = r"^split: val has no sample of 1 class with at most 10 samples: %s \(5\)$"
        self.assertEqual(sheaf.pack(files, self.path("whole")).samples, 35)
        for name, make in ((1, lambda **more: sheaf.pack(iter(rows), self.path("r"), split=split, **more)),
                           ('"b"', lambda **more: sheaf.pack(files, self.path("p"), split=split, **more)),
                           ('"b"', lambda **more: sheaf.convert(self.path("whole"), self.path("c"), format="tfrecord",
                                                                split=split, **more))):
            with self.assertWarnsRegex(UserWarning, words % name) as warned:
                make()
            self.assertEqual(len(warned.warnings), 1)
            told = []
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                make(note=told.append, overwrite=True)
            self.assertRegex(told[0].message, words % name)
            self.assertEqual(len(told), 1)
        with self.assertRaisesRegex(sheaf.ArgumentError, "^append: the source is samples"):
            sheaf.append(iter(rows), self.path("whole"))

    def test_splits_of_samples_are_those_of_files(self):
        """Samples and files with the same keys and labels go to the same splits, and the manifests say so."""
        keys = ["%s/%03d" % (kind, i) for kind in ("a", "b", "c") for i in range(27)]
        for split in ("train=0.8,val=0.2", "val=0.3,train=rest", "train=20/class,val=rest"):
            for seed in (None, 5):
                sheaf.pack(self.tree(keys, "files"), self.path("made"), split=split, seed=seed, overwrite=True)
                result = sheaf.pack(({"__key__": key, "txt": key, "class": key[0]} for key in keys), self.path("set"),
                                    split=split, seed=seed, overwrite=True, classes=["a", "b", "c"], shard_count=2)
                self.assertEqual((result.samples, result.shards), (81, 4))
                self.assertEqual(self.split_keys("set"), self.split_keys("made"))
                for name in ("train", "val"):
                    own, made = self.options("set", name), self.options("made", name)
                    for each in ("split", "split_name", "seed"):
                        self.assertEqual(own[each], made[each])
                    self.assertEqual((own["split"], own["split_name"], own["source"]), (split, name, "program"))
                    self.assertEqual(sheaf.verify(self.path("set", name)).problems, [])

    def test_append_to_splits_of_samples(self):
        """An append to all splits keeps their proportions. A sample of val is refused in train."""
        keys = ["%s/%03d" % (kind, i) for kind in ("a", "b") for i in range(40)]
        first = keys[:20] + keys[40:60]
        for split, sizes in (("train=0.75,val=0.25", (60, 20)), ("train=15/class,val=rest", (30, 50))):
            sheaf.pack(({"__key__": key, "txt": key, "class": key[0]} for key in first), self.path("set"), split=split,
                       seed=2, overwrite=True, classes=["a", "b"])
            before = self.split_keys("set")
            self.assertEqual([len(before[name]) for name in ("train", "val")], [30, 10])
            with self.assertRaisesRegex(sheaf.ExistsError, "the split val of the same data has a sample with this key"):
                sheaf.append(self.tree(sorted(before["val"]), split[:8]), self.path("set", "train"))
            self.assertEqual(self.split_keys("set"), before)
            result = sheaf.append(self.tree(keys, "all"), self.path("set"), on_error="skip", report=lambda _: None)
            self.assertEqual(result.samples, 40)
            after = self.split_keys("set")
            self.assertEqual(tuple(len(after[name]) for name in ("train", "val")), sizes)
            for name in after:
                self.assertLessEqual(before[name], after[name])
                self.assertEqual(sheaf.verify(self.path("set", name)).problems, [])

    def test_repeated_keys(self):
        rows = [{"__key__": key, "txt": "%d" % i, "label": i % 2} for i, key in enumerate(("a", "b", "a", "a-2", "a"))]
        for more in ({}, {"seed": 1}, {"split": "x=0.5,y=0.5"}):
            with self.assertRaises(sheaf.ExistsError):
                sheaf.pack(iter(rows), self.path("set"), overwrite=True, **more)
            for how, keys in (("number", ["a", "a-2", "a-2-2", "a-3", "b"]), ("drop", ["a", "a-2", "b"])):
                sheaf.pack(iter(rows), self.path("set"), overwrite=True, duplicate_keys=how, **more)
                sets = [self.path("set", name) for name in "xy"] if "split" in more else self.path("set")
                self.assertEqual(sorted(sample.key for sample in sheaf.Dataset(sets)), keys)
        result = sheaf.pack(iter(rows), self.path("set"), overwrite=True, duplicate_keys="drop")
        self.assertEqual((result.samples, result.skipped, result.duplicates), (3, 2, 2))
        many = [{"__key__": "%d" % (i % 40), "txt": "%d" % i, "label": i % 2} for i in range(100)]
        for how, sizes in (("number", [30, 70]), ("drop", [30, 10])):
            sheaf.pack(iter(many), self.path("set"), overwrite=True, duplicate_keys=how, split="x=15/class,y=rest")
            found = [sheaf.Dataset(self.path("set", name)) for name in "xy"]
            self.assertEqual(list(map(len, found)), sizes)
            self.assertEqual(collections.Counter(found[0].targets), {0: 15, 1: 15})
        with sheaf.Packer(self.path("own"), duplicate_keys="number") as packer:
            for row in rows:
                packer.append(row["__key__"], {"txt": row["txt"].encode()})
        self.assertEqual([sample.key for sample in sheaf.Dataset(self.path("own"))], ["a", "b", "a-2", "a-2-2", "a-3"])
        with self.assertRaisesRegex(sheaf.ArgumentError, "is for samples"):
            sheaf.pack(self.path("set"), self.path("no"), duplicate_keys="drop")

    def test_a_sorted_source_is_told(self):
        notes = []
        sheaf.pack(iter(self.rows()), self.path("set"), note=notes.append, overwrite=True)
        self.assertEqual([note.about for note in notes], ["order"])
        self.assertIn("sorted by class", notes[0].message)
        with self.assertWarnsRegex(UserWarning, "sorted by class.*seed=0"):
            sheaf.pack(iter(self.rows()), self.path("set"), overwrite=True)
        mixed = [dict(row, label=i % 3) for i, row in enumerate(self.rows())]
        rare = [dict(row, label=int(i % 30 == 0)) for i, row in enumerate(self.rows())]
        for rows in (mixed, rare, [dict(row, label=1) for row in mixed], mixed[:10]):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                sheaf.pack(iter(rows), self.path("set"), overwrite=True)


class Kinds(Case):
    def test_kinds_of_images_are_those_of_the_library(self):
        """The module has a table of its own, because sheaf.h has none. It must know what formats/image_kind.c knows."""
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "formats", "image_kind.c")
        with open(path, encoding="utf-8") as file:
            found = re.findall(r'\{ "\w+", "\w+", \{ ("[^}]*) \}, (\d+), (\d+), (".*") \}', file.read())
        self.assertEqual(len(found), 5)
        for names, place, _, begins in found:
            suffixes = json.loads("[%s]" % names)
            for suffix in suffixes:
                self.assertEqual(_rows.image_kind(b"", "x." + suffix, False), suffixes[0])
            data = b"RIFF".ljust(int(place), b"\0") if int(place) else b""
            data += ast.literal_eval("b" + begins)
            kinds = {_rows.image_kind(data + rest, None, False) for rest in (b"", b"7a", b"9a")}
            self.assertIn(suffixes[0], kinds)


if __name__ == "__main__":
    unittest.main()
