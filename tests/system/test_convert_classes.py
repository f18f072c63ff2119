# SPDX-License-Identifier: MIT
"""Class names that only the records contain: a conversion keeps them, or says that it cannot."""

import json

import libsheaf
import writers
from support import CONTAINERS, Case, make_tree, pack, read, sheaf, shards_of, write


class ClassNames(Case):
    def source(self, *classes, name="x.tfrecord"):
        """Returns TF Examples, each with a (label, class name)."""
        payloads = []
        for i, (label, text) in enumerate(classes):
            features = {"image/encoded": [b"%d" % i], "image/filename": [b"f%d.txt" % i]}
            if label is not None:
                features["image/class/label"] = [label]
            if text is not None:
                features["image/class/text"] = [text.encode()]
            payloads.append(writers.example(features))
        path = self.path(name)
        write(path, writers.tfrecord(payloads))
        return path

    def converted(self, source, container, **how):
        return sheaf("convert", source, self.path(container), "--format", container, "--overwrite",
                     **how)

    def names(self, source):
        return [(s.labels, s.class_name) for s in libsheaf.samples(source, no_shuffle=1)]

    def test_they_are_the_manifest_s_classes(self):
        source = self.source((3, "dog"), (0, "cat"), (3, "dog"), (1, "bird"))
        for container in CONTAINERS:
            self.converted(source, container)
            self.assertEqual(self.names(self.path(container)), self.names(source))
            manifest = json.loads(read(self.path(container, "dataset.json")))
            self.assertEqual((manifest["classes"], manifest["label_base"]),
                             (["cat", "bird", "2", "dog"], 0))
            sheaf("verify", self.path(container))

    def test_labels_from_1(self):
        self.converted(self.source((2, "dog"), (1, "cat")), "webdataset")
        manifest = json.loads(read(self.path("webdataset", "dataset.json")))
        self.assertEqual((manifest["classes"], manifest["label_base"]), (["cat", "dog"], 1))

    def test_names_that_are_no_list(self):
        for classes in ([(1, "cat"), (1, "dog")], [(0.5, "cat")], [(-1, "cat")],
                        [(None, "cat")], [(1 << 30, "cat")]):
            source = self.source(*classes)
            for container in ("webdataset", "recordio"):
                with self.subTest(classes=classes, container=container):
                    done = self.converted(source, container, status=None)
                    self.assertIn(b"its class name \"%s\" would be lost: " %
                                  classes[-1][1].encode(), done.stderr)
                    self.assertNotEqual(done.returncode, 0)
            self.converted(source, "tfrecord")
            self.assertEqual(self.names(self.path("tfrecord")), self.names(source))

    def test_a_label_that_is_a_field_has_the_class_s_name_too(self):
        tree = make_tree(self.path("tree"), {"cat/1.txt": b"x", "dog/1.txt": b"y", "cat/2.txt": b"z",
                                             "cat/2.cls": b"1\n", "dog/2.txt": b"", "dog/2.cls": b"7"})
        pack(tree, self.path("tar"), "webdataset")
        pack(tree, self.path("packed"), "tfrecord")
        self.converted(self.path("tar"), "tfrecord")
        sheaf("plan", tree, self.path("parts"), "--format", "tfrecord", "-o", self.path("plan"))
        sheaf("pack", "--plan", self.path("plan"))
        sheaf("commit", self.path("plan"))
        for name in ("packed", "parts"):
            shards = shards_of(self.path(name))
            self.assertEqual(shards, shards_of(self.path("tfrecord")))
            for shard in shards:
                self.assertEqual(read(self.path(name, shard)), read(self.path("tfrecord", shard)))
        self.assertEqual(sorted(self.names(self.path("packed")))[1:3],
                         [([1.0], "dog")] * 2)

    def test_parts_of_a_plan(self):
        self.source((0, "cat"), (1, "dog"), name="set/x.tfrecord")
        sheaf("index", self.path("set"))
        for container in CONTAINERS:
            dest, plan = self.path(container), self.path(container + ".plan")
            sheaf("plan", self.path("set"), dest, "--format", container, "-o", plan)
            done = sheaf("convert", "--plan", plan, status=None)
            if container == "tfrecord":
                sheaf("commit", plan)
                self.assertEqual(self.names(dest), self.names(self.path("set")))
            else:
                self.assertIn(b"does not name that class", done.stderr)
