# SPDX-License-Identifier: MIT
"""Packer, pack, verify, index, Dataset; and the exceptions."""

import io
import os
import re
import shutil
import unittest
from unittest import mock

from PIL import Image

import sheaf
from support import CONTAINERS, Case, flip, pack, samples_of


def tree(root, classes=3, files=4):
    for c in range(classes):
        os.makedirs(os.path.join(root, "class%d" % c))
        for i in range(files):
            with open(os.path.join(root, "class%d" % c, "%d.txt" % i), "wb") as file:
                file.write(b"%d %d" % (c, i))
    return root


class OptionsTest(Case):
    def test_clutter_is_left_out_and_counted(self):
        source = tree(self.path("tree"))
        os.makedirs(os.path.join(source, ".git"))
        for name in (".git/HEAD.txt", "class0/.DS_Store"):
            with open(os.path.join(source, name), "wb") as file:
                file.write(b"x")
        result = sheaf.pack(source, self.path("set"), format="webdataset")
        self.assertEqual((result.files, result.samples, result.left_out), (12, 12, 2))
        self.assertEqual(sheaf.Dataset(self.path("set")).classes, ["class0", "class1", "class2"])


    def test_names_of_fields_and_keys(self):
        source, notes = tree(self.path("tree")), []
        for i in range(4):
            os.rename(os.path.join(source, "class0", "%d.txt" % i),
                      os.path.join(source, "class0", "x.%d.TEXT" % i))
        sheaf.pack(source, self.path("set"), field_alias={"text": "txt"}, key_end="last-dot")
        with sheaf.Reader(self.path("set")) as reader:
            found = {sample.key: list(sample) for sample in reader}
        self.assertEqual(found["class0/x_2"], ["txt"])
        self.assertEqual(len(found), 12)
        sheaf.pack(source, self.path("none"), dry_run=True, note=notes.append)
        self.assertIn("4 different fields", notes[0].message)
        with self.assertRaisesRegex(ValueError, "first-dot or last-dot"):
            sheaf.pack(source, self.path("none"), key_end="no dot")
        with self.assertRaisesRegex(sheaf.ArgumentError, "invalid field alias"):
            sheaf.pack(source, self.path("none"), field_alias={"a": ""})

    def test_classes_of_files(self):
        """Their names in order, a file of them, or a data set; and the directory that is a class."""
        source = tree(self.path("tree"))
        os.makedirs(os.path.join(source, "class1", "deep"))
        os.rename(os.path.join(source, "class1", "0.txt"), os.path.join(source, "class1/deep/9.txt"))
        names = ["class2", "none", "class1", "class0"]
        with open(self.path("names.txt"), "w", encoding="utf-8") as file:
            file.write("\n".join(names) + "\n")
        sheaf.pack(source, self.path("first"), classes=names, class_depth=1)
        made = {}
        for place in (names, self.path("names.txt"), self.path("first")):
            for way in ("pack", "plan", "transform"):
                to, plan = self.path("set"), self.path("plan")
                shutil.rmtree(to, ignore_errors=True)
                if way == "plan":
                    sheaf.plan(source, to, plan, classes=place, class_depth=1, overwrite=True)
                    sheaf.pack_part(plan, 0, 1)
                    sheaf.commit(plan)
                else:
                    sheaf.pack(source, to, classes=place, class_depth=1,
                               transform=(lambda sample: sample) if way == "transform" else None)
                opened = sheaf.Dataset(to)
                self.assertEqual(opened.classes, names)
                with sheaf.Reader(to) as reader:
                    made[way, str(place)] = sorted((s.key, s.label, s.class_name) for s in reader)
        self.assertEqual(set(map(tuple, made.values())), {tuple(made["pack", str(names)])})
        self.assertIn(("class1/deep/9", 2, "class1"), made["pack", str(names)])
        with self.assertRaisesRegex(sheaf.Error, "class0"):
            sheaf.pack(source, self.path("none"), classes=["class1", "class2"], class_depth=1)
        more = tree(self.path("more"), 1, 1)
        os.makedirs(os.path.join(more, "class0", "x"))
        os.rename(os.path.join(more, "class0", "0.txt"), os.path.join(more, "class0/x/7.txt"))
        sheaf.append(more, self.path("first"))
        self.assertEqual(sheaf.Dataset(self.path("first"))["class0/x/7"].label, 3)
        sheaf.pack([("k", {"txt": b"1"}, 1)], self.path("rows"), classes=self.path("names.txt"))
        self.assertEqual(sheaf.Dataset(self.path("rows")).classes, names)

    def test_other_files_in_place_of_a_list_of_classes(self):
        """Files and samples follow the same rule about a file that is not a list of classes."""
        source = tree(self.path("tree"))
        place = self.path("names")
        for text, words in (("version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 1\n", "Git LFS"),
                            ("<html>", "a web page"), ("\ufeff\n<HTML>\n<body>\n<h1>404</h1>", "a web page"),
                            ("<!DOCTYPE html>\n<title>Sign in\n", "a web page"), ("<Error>\n<Code>No</Code>", "XML"),
                            ("<?xml version='1.0'?>\n<Error>\n", "XML"), ("<html>\n<meta charset=\"x\">", "a web page"),
                            ("<!-- x -->\ncat\n", "a web page")):
            with open(place, "w", encoding="utf-8") as file:
                file.write(text)
            for what in source, [("k", {"txt": b"1"}, 0)]:
                with self.assertRaisesRegex(sheaf.CorruptError, "%s: it is .*%s" % (re.escape(place), words)):
                    sheaf.pack(what, self.path("none"), classes=place)
            self.assertFalse(os.path.exists(self.path("none", "dataset.json")))
        for number, text in enumerate(("<html>\n[UNK]\nclass0", "\ufeff<html>\r\n[UNK]\r\nclass0\r\n",
                                       "<error>\n<html>\nclass0\n[UNK]")):
            with open(place, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            to = self.path("set%d" % number)
            sheaf.pack([("k", {"txt": b"1"}, 0)], to, classes=place)
            self.assertEqual(sheaf.Dataset(to).classes, text.lstrip("\ufeff").split())

    def test_classes_of_files_and_of_samples_are_read_alike(self):
        """A data set also gives the number of its first class. A class has one name, which is not empty."""
        with sheaf.Packer(self.path("first"), classes=["none", "class0", "class1", "class2"], label_base=1) as packer:
            packer.append("k", {"txt": b"1"}, labels=1)
        source, place = tree(self.path("tree")), self.path("names")
        for number, what in enumerate((source, [("k", {"txt": b"1"}, "class1")])):
            to = self.path("set%d" % number)
            sheaf.pack(what, to, classes=self.path("first"))
            with sheaf.Reader(to) as reader:
                self.assertEqual({s.label for s in reader if s.class_name == "class1"}, {3})
            for text in "class0\n\nclass1\nclass2\n", "class0\nclass1\nclass2\nclass1\n", "":
                with open(place, "w", encoding="utf-8") as file:
                    file.write(text)
                with self.assertRaisesRegex(sheaf.CorruptError, re.escape(place)):
                    sheaf.pack(what, self.path("none"), classes=place)

    def test_a_directory_of_parquet_files(self):
        """Each file becomes a sample. One warning names the way to pack the rows."""
        for name in "0.parquet", "1.PARQUET":
            os.makedirs(self.path("parquet/a"), exist_ok=True)
            with open(self.path("parquet/a", name), "wb") as file:
                file.write(b"PAR1")
        with self.assertWarns(UserWarning) as warned:
            self.assertEqual(sheaf.pack(self.path("parquet"), self.path("set")).samples, 2)
        self.assertEqual([str(warning.message) for warning in warned.warnings], [
            "%s: all files (2) are Parquet files, and each becomes one field of one sample: to make a sample of each row, "
            "use sheaf.pack(sheaf.sources.parquet(...)) in Python" % self.path("parquet")])
        with open(self.path("parquet/a/2.txt"), "wb"):
            pass
        notes = []
        sheaf.pack(self.path("parquet"), self.path("mixed"), note=notes.append)
        self.assertEqual(notes, [])

    def test_images(self):
        def saved(kind, size):
            file = io.BytesIO()
            Image.linear_gradient("L").resize(size).convert("RGB").save(file, kind)
            return file.getvalue()
        source = self.path("images")
        os.makedirs(os.path.join(source, "c"))
        files = {"png": saved("PNG", (40, 30)), "large": saved("JPEG", (90, 60)),
                 "small": saved("JPEG", (30, 20))}
        for name, data in files.items():
            with open(os.path.join(source, "c", name + ".jpg"), "wb") as file:
                file.write(data)
        with self.assertRaisesRegex(sheaf.Error, "png.jpg: not a JPEG"):
            sheaf.pack(source, self.path("none"))
        options = dict(fix_images=True, resize=24, resize_mode="longer", quality=80,
                       check_images="decode")
        self.assertEqual(sheaf.pack(source, self.path("one"), **options).converted, 1)
        sheaf.plan(source, self.path("two"), self.path("plan"), **options)
        self.assertEqual(sheaf.pack_part(self.path("plan"), 0, 1).converted, 1)
        self.assertEqual(sheaf.commit(self.path("plan")).converted, 1)
        for name in ("one", "two"):
            with sheaf.Reader(self.path(name)) as reader:
                sizes = {s.key: Image.open(io.BytesIO(bytes(s["jpg"]))).size for s in reader}
            self.assertEqual(sizes, {"c/png": (24, 18), "c/large": (24, 16), "c/small": (24, 16)})
        for wrong in (dict(check_images="all"), dict(resize_mode="wide"), dict(quality=0),
                      dict(resize=70000), dict(fix_images=True, transform=dict)):
            with self.assertRaises(ValueError):
                sheaf.pack(source, self.path("three"), **wrong)

    def test_several_sources(self):
        source = tree(self.path("tree"))
        some = [os.path.join(source, "class%d" % c) for c in (0, 2)]
        result = sheaf.pack(some, self.path("set"))
        self.assertEqual((result.files, result.samples), (8, 8))
        self.assertEqual(sheaf.Dataset(self.path("set")).classes, ["class0", "class2"])
        with self.assertRaisesRegex(sheaf.ArgumentError, "no sources"):
            sheaf.pack([], self.path("none"))

    def test_filters(self):
        source, notes = tree(self.path("tree")), []
        result = sheaf.pack(source, self.path("set"), include="*.txt",
                            exclude=["class0/", "!class0/", "3.*", "/2.txt"], note=notes.append)
        self.assertEqual((result.files, result.samples, result.filtered), (9, 9, 3))
        self.assertEqual([note.about for note in notes], ["class0/", "3.*", "/2.txt"])
        self.assertEqual(notes[1].message, '3 files left out by the pattern "3.*"')
        result = sheaf.plan(source, self.path("other"), self.path("plan"), exclude="*1.txt")
        self.assertEqual((result.samples, result.filtered), (9, 3))
        with self.assertRaisesRegex(sheaf.ArgumentError, r'invalid pattern "\["'):
            sheaf.pack(source, self.path("none"), exclude="[")
        for wrong in (1, [2], [("a", True)]):
            with self.assertRaises(TypeError):
                sheaf.pack(source, self.path("none"), include=wrong)
        with self.assertRaisesRegex(sheaf.ArgumentError, 'invalid pattern ""'):
            sheaf.pack(source, self.path("none"), include=[""])


class PackerTest(Case):
    def test_labels_are_the_numbers_of_classes(self):
        with sheaf.Packer(self.path("set"), classes=["cat", "dog"], label_base=1) as packer:
            self.assertIn("set", repr(packer))
            packer.append("a", {"txt": b"1"}, labels=2, class_name="dog")
            packer.append("b", {"txt": b"1"}, labels=[1.0, 2])
            for label in (0, 3, 1.5, -1, [1, 7], float("nan")):
                with self.assertRaisesRegex(sheaf.ArgumentError, "sample 'c': the label"):
                    packer.append("c", {"txt": b"1"}, labels=label)
            with self.assertRaisesRegex(sheaf.ArgumentError, "is the class 'cat', not 'dog'"):
                packer.append("c", {"txt": b"1"}, labels=1, class_name="dog")
        self.assertEqual(len(sheaf.Dataset(self.path("set"))), 2)

    def test_type_errors_name_the_argument(self):
        for words in ({"jobs": "2"}, {"prefix": 7}, {"codec": 1}, {"shard_bytes": 1.5},
                      {"progress": 3}):
            with self.assertRaisesRegex(TypeError, "%s|callable" % list(words)[0]):
                sheaf.Packer(self.path("x"), **words)

    def test_a_column_that_a_sample_lacks(self):
        pack(self.path("set"), samples_of(4))
        batch = sheaf.Dataset(self.path("set"))[0:4]
        with self.assertRaisesRegex(KeyError, "the sample '.*' has no field 'jpg', but .*'bin'"):
            batch.fields("jpg")

    def test_samples_of_a_reader_can_be_packed_again(self):
        first = pack(self.path("first"), samples_of(100))
        with sheaf.Packer(self.path("second"), format="recordio") as packer:
            for sample in sheaf.Reader(first, no_shuffle=True):
                packer.append(sample.key, sample, sample.labels, sample.class_name)
        self.assertEqual(*[[(s.key, s.to_bytes(), s.labels)
                            for s in sheaf.Reader(f, no_shuffle=True)]
                           for f in (first, self.path("second"))])

    def test_the_result_and_the_data_set(self):
        packer = sheaf.Packer(self.path("set"), format="tfrecord", classes=["a", "b"],
                              shard_bytes=1000)
        for i in range(100):
            packer.append("%d" % i, {"x": bytearray(100)}, labels=i % 2)
        self.assertFalse(packer.finished)
        result = packer.finish()
        self.assertTrue(packer.finished)
        self.assertEqual((result.samples, result.payload_bytes, result.shards), (100, 10000, 10))
        opened = sheaf.Dataset(self.path("set"))
        self.assertEqual((opened.container, opened.codec, opened.samples, len(opened)),
                         ("tfrecord", "none", 100, 100))
        self.assertEqual((opened.classes, opened.label_base), (["a", "b"], 0))
        self.assertEqual(sum(shard.samples for shard in opened.shards), 100)
        self.assertEqual(opened.shards[0].name, "shard-000000.tfrecord")
        self.assertEqual(opened.manifest["samples"], 100)
        self.assertEqual(len(opened.fingerprint), 32)
        with self.assertRaises(sheaf.StateError):
            packer.append("more", {"x": b""})

    def test_a_block_that_raises_leaves_nothing(self):
        with self.assertRaises(ZeroDivisionError):
            with sheaf.Packer(self.path("set")) as packer:
                packer.append("a", {"x": b""})
                1 / 0
        self.assertFalse(os.path.exists(self.path("set", "dataset.json")))
        self.assertEqual([n for n in os.listdir(self.path()) if n != "set"], [])

    def test_a_packer_that_has_ended_lets_its_destination_go(self):
        """Though the object is still there."""
        ended = []

        def begin(fails=False):
            packer = sheaf.Packer(self.path("set"), overwrite=True)
            packer.append("a", {"x": b"%d" % len(ended)})
            ended.append(packer)
            if fails:
                shutil.rmtree(self.path("set"))
                self.assertRaises(sheaf.Error, packer.finish)
            return packer

        begin().finish()
        begin().abort()
        with self.assertRaises(ZeroDivisionError):
            with begin():
                1 / 0
        begin(fails=True)
        with begin() as packer:
            packer.finish()
            packer.abort()              # it is over already
        self.assertEqual(sheaf.Dataset(self.path("set"))[0]["x"], b"4")
        for packer in ended:
            with self.assertRaisesRegex(sheaf.StateError, "the packer is (finished|closed)"):
                packer.finish()

    def test_bad_samples_are_refused_with_their_key(self):
        with sheaf.Packer(self.path("set")) as packer:
            packer.append("good", {"x": b""})
            for key, fields, labels, error in (
                    ("good", {"x": b""}, None, sheaf.Error),
                    ("/abs", {"x": b""}, None, sheaf.ArgumentError),
                    ("k", {"__x__": b""}, None, sheaf.ArgumentError),
                    ("k", {"x": "text"}, None, TypeError),
                    ("k", {3: b""}, None, TypeError),
                    ("k", [b""], None, (TypeError, AttributeError)),
                    ("k", {"x": b""}, "3", TypeError),
                    ("k", {"x": b""}, [None], TypeError),
                    ("k", {"x": b""}, float("nan"), sheaf.ArgumentError),
                    ("k\0", {"x": b""}, None, sheaf.ArgumentError),
                    ("k", {"x\0": b""}, None, sheaf.ArgumentError),
                    (b"k", {"x": b""}, None, TypeError)):
                with self.subTest(repr((key, fields, labels))), self.assertRaises(error):
                    packer.append(key, fields, labels=labels)
            with self.assertRaisesRegex(TypeError, "the key must be a str, not b'k'"):
                packer.append(b"k", {"x": b""})
            packer.append("also good", {"x": b""})
        self.assertEqual([s.key for s in sheaf.Reader(self.path("set"), no_shuffle=True)],
                         ["good", "also good"])


class PackTest(Case):
    def test_a_tree(self):
        source = tree(self.path("tree"))
        stages = []
        for container in CONTAINERS:
            dest = self.path(container)
            result = sheaf.pack(source, dest, format=container, codec="lz4", shard_count=2,
                                progress=stages.append)
            self.assertEqual((result.files, result.samples, result.shards), (12, 12, 2))
            found = {s.key: (bytes(s["txt"]), s.class_name) for s in sheaf.Reader(dest)}
            self.assertEqual(found["class1/2"], (b"1 2", "class1"))
            self.assertEqual(len(found), 12)
        self.assertTrue(all(isinstance(stage, sheaf.Progress) for stage in stages))

    def test_options_and_callables(self):
        source = tree(self.path("tree"))
        open(os.path.join(source, "class0", "empty.jpg"), "wb").close()
        problems, shards = [], []
        result = sheaf.pack(source, self.path("set"), dry_run=True, split="train=0.5,val=0.5",
                            plan=shards.append, on_error="skip", report=problems.append)
        self.assertEqual({shard.split for shard in shards}, {"train", "val"})
        self.assertEqual(sum(shard.samples for shard in shards), result.samples)
        result = sheaf.pack(source, self.path("set"), on_error="skip", report=problems.append)
        self.assertEqual(result.skipped, 1)
        self.assertIn("empty.jpg", problems[-1].where)

    def test_what_a_callable_raises_is_raised(self):
        source = tree(self.path("tree"))
        open(os.path.join(source, "class0", "empty.jpg"), "wb").close()

        def report(problem):
            raise LookupError(problem.where)
        with self.assertRaisesRegex(LookupError, "empty.jpg"):
            sheaf.pack(source, self.path("set"), on_error="skip", report=report)
        self.assertFalse(os.path.exists(self.path("set", "dataset.json")))

    def test_arguments(self):
        source = tree(self.path("tree"))
        for error, options in (
                (ValueError, {"format": "zip"}), (ValueError, {"codec": "brotli"}),
                (ValueError, {"seed": -1}), (ValueError, {"seed": 1 << 64}),
                (TypeError, {"seed": "x"}), (TypeError, {"progress": 3}),
                (ValueError, {"on_error": "ignore"}), (ValueError, {"jobs": 1 << 32}),
                (sheaf.ArgumentError, {"label_base": 2}), (TypeError, {"bogus": 1})):
            with self.subTest(options), self.assertRaises(error):
                sheaf.pack(source, self.path("set"), **options)
        self.assertFalse(os.path.exists(self.path("set", "dataset.json")))


class PartsTest(Case):
    def files(self, folder):
        found = {}
        for name in os.listdir(folder):
            if not name.startswith("."):
                with open(os.path.join(folder, name), "rb") as file:
                    found[name] = file.read()
        return found

    def test_parts_make_what_pack_makes(self):
        source = tree(self.path("tree"), classes=5, files=20)
        options = {"format": "tfrecord", "shard_bytes": 30, "seed": 3}
        whole = sheaf.pack(source, self.path("whole"), **options)
        plan = self.path("plan")
        planned = sheaf.plan(source, self.path("set"), plan, **options)
        self.assertEqual((planned.samples, planned.shards), (100, whole.shards))
        with self.assertRaisesRegex(sheaf.NotFoundError, "shards are missing"):
            sheaf.commit(plan)
        with self.assertRaisesRegex(sheaf.ExistsError, r"holds a stored plan, .* \(sheaf\.pack_part\(PLAN\) or"):
            sheaf.pack(source, self.path("set"), **options, resume=True)
        told = []
        packed = [sheaf.pack_part(plan, part, 3, progress=told.append) for part in (2, 0, 1, 1)]
        self.assertEqual(sum(result.samples for result in packed[:3]), 100)
        self.assertEqual(packed[3].shards_kept, packed[3].shards)
        self.assertIsInstance(told[0], sheaf.Progress)
        self.assertEqual(sheaf.commit(plan).shards, whole.shards)
        self.assertEqual(self.files(self.path("set")), self.files(self.path("whole")))

    def test_a_part_from_the_environment(self):
        plan = self.path("plan")
        sheaf.plan([tree(self.path("one")), tree(self.path("two"), files=5)], self.path("set"),
                   plan, shard_bytes=10)
        with mock.patch.dict(os.environ, clear=True):
            with self.assertRaisesRegex(ValueError, "which part"):
                sheaf.pack_part(plan)
            os.environ.update(AWS_BATCH_JOB_ARRAY_INDEX="0", AWS_BATCH_JOB_ARRAY_SIZE="2")
            first = sheaf.pack_part(plan)
            self.assertIn(first.samples, range(1, 27))
            os.environ.update(AWS_BATCH_JOB_ARRAY_INDEX="2")
            with self.assertRaises(sheaf.ArgumentError):
                sheaf.pack_part(plan)
        with self.assertRaises(ValueError):
            sheaf.pack_part(plan, 1)
        sheaf.pack_part(plan, 1, 2)
        self.assertEqual(sheaf.commit(plan).samples, 27)


class VerifyTest(Case):
    def test_sound_and_damaged(self):
        folder = pack(self.path("set"), samples_of(100))
        result = sheaf.verify(folder)
        self.assertEqual((result.samples, result.problem_count, result.problems), (100, 0, []))
        flip(self.path("set", "shard-000002.tar"), 5000)
        told = []
        result = sheaf.verify(sheaf.Dataset(folder), report=told.append)
        self.assertGreater(result.problem_count, 0)
        self.assertEqual(result.problems, told)
        self.assertIn("shard-000002.tar", told[0].where + told[0].message)
        self.assertEqual(told[0].code, "CORRUPT")

    def test_foreign_shards_become_a_data_set(self):
        folder = pack(self.path("set"), samples_of(100))
        keys = [s.key for s in sheaf.Reader(folder, seed=1)]
        for name in ("dataset.json", "dataset.index", "dataset.keys"):
            os.remove(os.path.join(folder, name))
        self.assertFalse(sheaf.Dataset(folder).has_manifest)
        result = sheaf.index(folder, index="wids")
        self.assertEqual(result.samples, 100)
        self.assertTrue(sheaf.Dataset(folder).has_manifest)
        self.assertEqual([s.key for s in sheaf.Reader(folder, seed=1)], keys)
        with self.assertRaises(FileExistsError):
            sheaf.index(folder)
        sheaf.index(folder, overwrite=True)


class ErrorTest(Case):
    def test_each_is_an_error_and_what_python_would_raise(self):
        for name, also, code in (
                ("OutOfMemoryError", MemoryError, "MEMORY"),
                ("ArgumentError", ValueError, "ARGUMENT"), ("StateError", RuntimeError, "STATE"),
                ("StoreError", OSError, "IO"), ("NetworkError", ConnectionError, "NETWORK"),
                ("AccessError", PermissionError, "ACCESS"),
                ("NotFoundError", FileNotFoundError, "NOT_FOUND"),
                ("ExistsError", FileExistsError, "EXISTS"),
                ("CorruptError", Exception, "CORRUPT"),
                ("TruncatedError", sheaf.CorruptError, "TRUNCATED"),
                ("UnsupportedError", Exception, "UNSUPPORTED"),
                ("LimitError", Exception, "LIMIT"),
                ("InterruptedError", InterruptedError, "INTERRUPTED"),
                ("ChangedError", Exception, "CHANGED"),
                ("MismatchError", Exception, "MISMATCH")):
            kind = getattr(sheaf, name)
            self.assertTrue(issubclass(kind, sheaf.Error) and issubclass(kind, also), name)
            self.assertEqual(kind.code, code)
            self.assertEqual(str(kind("the text")), "the text")

    def test_the_text_is_the_library_s(self):
        with self.assertRaises(FileNotFoundError) as caught:
            sheaf.Dataset(self.path("nowhere"))
        self.assertIsInstance(caught.exception, sheaf.NotFoundError)
        self.assertIn(self.path("nowhere") + ": ", str(caught.exception))
        pack(self.path("set"), samples_of(10))
        with self.assertRaisesRegex(sheaf.ExistsError, r"\(overwrite=True replaces it\)$"):
            sheaf.Packer(self.path("set"))
        with self.assertRaisesRegex(sheaf.LimitError, r"the memory budget is 1000 bytes"):
            sheaf.Reader(self.path("set"), memory_bytes=1000)
        with self.assertRaises(sheaf.ArgumentError):
            sheaf.Reader(self.path("set"), rank=2, world_size=2)
        with self.assertRaises(sheaf.ArgumentError):
            sheaf.Reader(self.path("set"), lanes=3, rank=0, world_size=2)

    def test_options_of_a_reader(self):
        folder = pack(self.path("set"), samples_of(10))
        for error, options in ((TypeError, {"bogus": 1}), (ValueError, {"remainder": "all"}),
                               (ValueError, {"lanes": -1}), (TypeError, {"report": 1}),
                               (TypeError, {"seed": 1.5}), (TypeError, {"remainder": 2})):
            with self.subTest(options), self.assertRaises(error):
                sheaf.Reader(folder, **options)

    def test_a_file_name_in_no_encoding(self):
        with self.assertRaises(FileNotFoundError) as caught:
            sheaf.Dataset(os.fsencode(self.path()) + b"/\xff\xfe")
        self.assertIn(self.path() + "/", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
