# SPDX-License-Identifier: MIT
"""Numbers of classes: the depth of class directories, and data sets that must have the same numbers."""

import json
import os

import decoders
from jpegs import jpeg
from support import CONTAINERS, Case, listing, make_tree, pack, sheaf, write

JPG = jpeg(seed=1)


def labels_of(dest):
    return {line.split("\t")[0]: line.split("\t")[1] for line in listing(dest, "--no-shuffle")}


class Depth(Case):
    NAMES = ("001.ak47/x.jpg", "056.dog/x.jpg", "056.dog/greg/vision309/y.jpg", "057.elk/x.jpg")

    def test_class_depth(self):
        """With --class-depth 1, labels are those of ImageFolder: the first directory is the class."""
        tree = make_tree(self.path("tree"), {name: JPG for name in self.NAMES})
        for container in CONTAINERS:
            dest = self.path(container)
            done = pack(tree, dest, container, "none", "--class-depth", 1)
            self.assertEqual(done.stderr, b"")
            data_set = decoders.DataSet(dest)
            self.assertEqual(data_set.classes, ["001.ak47", "056.dog", "057.elk"])
            self.assertEqual({s.key: s.labels for s in data_set.samples()},
                             {"001.ak47/x": [0], "056.dog/x": [1],
                              "056.dog/greg/vision309/y": [1], "057.elk/x": [2]})
            self.assertEqual(data_set.manifest["options"]["class_depth"], 1)
        pack(tree, self.path("two"), "webdataset", "none", "--class-depth", 2)
        self.assertEqual(decoders.DataSet(self.path("two")).classes,
                         ["001.ak47", "056.dog", "056.dog/greg", "057.elk"])

    def test_every_kind_of_source(self):
        tree = make_tree(self.path("tree"), {name: JPG for name in self.NAMES})
        write(self.path("tree", "l.txt"), "".join(n + "\n" for n in self.NAMES).encode())
        pack(self.path("tree", "l.txt"), self.path("list"), "webdataset", "none",
             "--class-depth", 1)
        sheaf("pack", os.path.join(tree, "001.ak47"), os.path.join(tree, "056.dog"),
              self.path("several"), "--format", "webdataset", "--class-depth", 1)
        self.assertEqual(decoders.DataSet(self.path("list")).classes,
                         ["001.ak47", "056.dog", "057.elk"])
        self.assertEqual(decoders.DataSet(self.path("several")).classes,
                         ["001.ak47", "056.dog", "greg"])

    def test_a_deeper_class_is_told(self):
        tree = make_tree(self.path("tree"), {name: JPG for name in self.NAMES})
        said = b'classes are directories of different depths: "056.dog/greg/vision309" is one of ' \
            b'3, "001.ak47" of 1; --class-depth 1 makes the first directory the class'
        self.assertIn(said, pack(tree, self.path("out")).stderr)
        self.assertIn(said, pack(tree, self.path("dry"), "webdataset", "none",
                                 "--dry-run").stderr)
        self.assertIn(said, sheaf("plan", tree, self.path("parts"), "-o", self.path("p"),
                                  "--format", "webdataset").stderr)
        flat = make_tree(self.path("flat"), {"a/b/1.jpg": JPG, "c/d/1.jpg": JPG})
        self.assertEqual(pack(flat, self.path("flat-out")).stderr, b"")


class Agreement(Case):
    def setUp(self):
        super().setUp()
        self.train = make_tree(self.path("im/train"), {
            "%s/%d.jpg" % (c, i): JPG for c in ("cat", "dog", "owl") for i in range(2)})
        self.val = make_tree(self.path("im/val"), {"%s/1.jpg" % c: JPG for c in ("cat", "owl")})

    def test_classes_of_a_data_set_or_a_file(self):
        pack(self.train, self.path("out/train"), "webdataset", "none", "--label-base", 1)
        write(self.path("lines.txt"), b"\xef\xbb\xbfcat\r\ndog\r\nowl\r\n\r\n")
        write(self.path("names.json"), json.dumps(["cat", "dog", "owl"]).encode())
        write(self.path("to_idx.json"), b'{"owl": 2, "cat": 0, "dog": 1}')
        for number, (classes, base) in enumerate((
                ("out/train", 1), ("out/train/dataset.json", 1), ("lines.txt", 0),
                ("names.json", 0), ("to_idx.json", 0))):
            dest = self.path("val-%d" % number)
            pack(self.val, dest, "tfrecord", "none", "--classes", self.path(classes))
            data_set = decoders.DataSet(dest)
            self.assertEqual(data_set.classes, ["cat", "dog", "owl"])
            self.assertEqual({s.key: s.labels for s in data_set.samples()},
                             {"cat/1": [base], "owl/1": [2 + base]})

    def test_a_class_that_is_not_listed(self):
        pack(self.val, self.path("val"))
        done = pack(self.train, self.path("none"), "webdataset", "none", "--classes",
                    self.path("val"), status=1)
        self.assert_error(done, 'the class "dog" is not one of the 2 classes of', "val")
        for text, words in ((b"cat\n\nowl\n", "class 2: expected a name"),
                            (b"cat\ncat\n", 'the class "cat" is named twice'),
                            (b"", "has no classes"), (b'["cat", 1]', "class 2: expected a text"),
                            (b'{"cat": 0, "dog": 2}', 'class "dog": expected a number of its own from 0 to 1'),
                            (b'{"cat": 0, "dog": 0}', "a number of its own"), (b'{"cat": "x"}', "a number of its own")):
            write(self.path("bad.txt"), text)
            done = pack(self.train, self.path("none"), "webdataset", "none", "--classes",
                        self.path("bad.txt"), status=None)
            self.assert_error(done, "bad.txt", words)
        pack(make_tree(self.path("n"), {"1.jpg": JPG}), self.path("unnamed"))
        done = pack(self.train, self.path("none"), "webdataset", "none", "--classes",
                    self.path("unnamed"), status=2)
        self.assert_error(done, "unnamed", "have no names")

    def test_names_that_look_like_a_page_or_json(self):
        """The first names of a list are not a web page or a JSON document because of a bracket."""
        tree = make_tree(self.path("tree"), {"%s/1.txt" % name: b"1" for name in ("cat", "<html>", "[UNK]")})
        for i, text in enumerate(("<html>\n[UNK]\ncat\n", "\ufeff<html>\r\n[UNK]\r\ncat", "[UNK]\n<html>\ncat\n",
                                  '["cat", "<html>", "[UNK]"]', '{\n"cat": 0, "<html>": 1, "[UNK]": 2}',
                                  "<error>\n<html>\ncat\n[UNK]")):
            names = self.path("names-%d" % i)
            write(names, text.encode())
            out = self.path("out-%d" % i)
            sheaf("pack", tree, out, "--format", "tfrecord", "--classes", names)
            expected = text.lstrip("\ufeff").split() if "," not in text else ["cat", "<html>", "[UNK]"]
            self.assertEqual(decoders.DataSet(out).classes, expected)
        for text, words in (("<html>", "a web page"), ("<html>\n<body>\n<h1>404</h1>", "a web page"),
                            ("<!DOCTYPE html>\n<title>Sign in\n", "a web page"), ("<Error>\n<Code>No</Code>", "XML"),
                            ("<?xml version='1.0'?>\n<Error>\n", "XML"), ("<html>\n<meta charset=\"x\">", "a web page"),
                            ("['cat', 'dog']", "invalid token"), ("[1, 2]", "")):
            write(self.path("wrong"), text.encode())
            done = sheaf("pack", tree, self.path("none"), "--format", "tfrecord", "--classes", self.path("wrong"),
                         status=1)
            self.assert_error(done, self.path("wrong"), words)

    def test_lists_that_begin_like_a_page(self):
        for name in ("<html>.txt", "b.txt"):
            write(self.path("d", name), b"1")
        write(self.path("d/list.txt"), b"<html>.txt\nb.txt\n")
        sheaf("pack", self.path("d/list.txt"), self.path("out"), "--format", "tfrecord")
        self.assertEqual({s.key for s in decoders.DataSet(self.path("out")).samples()}, {"<html>", "b"})

    def test_classes_on_many_machines(self):
        pack(self.train, self.path("train"))
        pack(self.val, self.path("val"), "webdataset", "none", "--classes", self.path("train"))
        sheaf("plan", self.val, self.path("parts"), "-o", self.path("p"), "--format", "webdataset",
              "--classes", self.path("train"))
        sheaf("pack", "--plan", self.path("p"))
        sheaf("commit", self.path("p"))
        self.assertEqual(decoders.DataSet(self.path("parts")).classes, ["cat", "dog", "owl"])
        self.assertEqual(labels_of(self.path("parts")), labels_of(self.path("val")))

    def test_a_sibling_with_other_numbers_is_told(self):
        pack(self.train, self.path("out/train"))
        done = pack(self.val, self.path("out/val"))
        self.assertIn(b'the class "owl" has the number 1 here, and 2 in the data set', done.stderr)
        self.assertIn(b"--classes with that data set", done.stderr)
        done = pack(self.val, self.path("out/val2"), "webdataset", "none", "--classes",
                    self.path("out/train"))
        self.assertNotIn(b"/train", done.stderr)
        self.assertEqual(pack(self.val, self.path("elsewhere/val")).stderr, b"")

    def test_classes_are_shown_before_packing(self):
        dry = pack(self.train, self.path("dry"), "webdataset", "none", "--dry-run").stdout.decode()
        self.assertEqual([line for line in dry.splitlines() if line.startswith("class\t")],
                         ["class\t0\tcat\t2", "class\t1\tdog\t2", "class\t2\towl\t2"])
        plan = sheaf("plan", self.train, self.path("parts"), "-o", self.path("p"), "--format",
                     "webdataset").stdout.decode()
        self.assertIn("classes: 0 cat, 1 dog, 2 owl\n", plan)
        shown = sheaf("info", self.path("p")).stdout.decode()
        self.assertIn("classes       3\n  0  cat\n  1  dog\n  2  owl\n", shown)
        found = json.loads(sheaf("info", self.path("p"), "--json").stdout)
        self.assertEqual((found["classes"], found["label_base"]), (["cat", "dog", "owl"], 0))
