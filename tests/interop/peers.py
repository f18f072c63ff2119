# SPDX-License-Identifier: MIT
"""What the interoperability tests share: JPEG files, packed in every way."""

import os
import shutil
import subprocess
import tempfile
import unittest

import sheaf

BUILD = os.environ["BUILD"]
INDEXES = {"webdataset": "dali,wids", "tfrecord": "dali", "recordio": "dali,mxnet"}


class Case(unittest.TestCase):
    """Images in classes, packed."""

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="sheaf-interop-")
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.tree = os.path.join(cls.shared, "tree")
        subprocess.run([os.path.join(BUILD, "make_jpegs"), cls.tree, "--images", "120",
                        "--classes", "6", "--mean-bytes", "6000"], check=True)
        cls.classes = sorted(os.listdir(cls.tree))
        cls.images = {}                     # key: (bytes, label)
        for label, name in enumerate(cls.classes):
            for file in sorted(os.listdir(os.path.join(cls.tree, name))):
                with open(os.path.join(cls.tree, name, file), "rb") as image:
                    cls.images[name + "/" + file.split(".")[0]] = (image.read(), label)

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=self.shared)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def pack(self, container, codec="none", **options):
        """A data set of the images in three shards; its directory."""
        dest = tempfile.mkdtemp(dir=self.shared)
        if codec == "none":
            options["index"] = INDEXES[container]
        sheaf.pack(self.tree, dest, format=container, codec=codec, shard_count=3, **options)
        return dest

    @staticmethod
    def shards(folder):
        return [os.path.join(folder, shard.name) for shard in sheaf.Dataset(folder).shards]

    def ordered(self, folder):
        """The keys in manifest order."""
        return [sample.key for sample in sheaf.Reader(folder, no_shuffle=True)]

    def assert_images(self, found):
        """{key: (bytes, label)} or [(bytes, label)] are the images, each once."""
        if isinstance(found, dict):
            self.assertEqual(sorted(found), sorted(self.images))
            for key, value in found.items():
                self.assertTrue(value == self.images[key], key)
        else:
            self.assertEqual(len(found), len(self.images))
            self.assertTrue(sorted(found) == sorted(self.images.values()))

    def read(self, source, name="jpg"):
        """What Sheaf reads, as {key: (bytes, label)}."""
        return {s.key: (bytes(s[name]), s.label) for s in sheaf.Reader(source, seed=1)}
