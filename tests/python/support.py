# SPDX-License-Identifier: MIT
"""What the tests of the Python package share: data sets to read."""

import os
import random
import shutil
import tempfile
import unittest

import sheaf

CONTAINERS = ("webdataset", "tfrecord", "recordio")


def seed():
    """The seed of a random test: SEED, or a new one; printed, so that a failure can be repeated."""
    value = int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
    print("SEED=%d" % value, flush=True)
    return value


def samples_of(count, number=1, size=400):
    """[(key, {name: bytes}, label)]: fields of all sizes, some samples with two."""
    chance = random.Random(number)
    made = []
    for i in range(count):
        fields = {"bin": chance.randbytes(chance.randrange(size))}
        if i % 3 == 0:
            fields["seg.txt"] = b"%d" % i
        made.append(("c%d/%05d" % (i % 7, i), fields, i % 7))
    return made


def pack(dest, samples, **options):
    """A data set of them, in several shards."""
    options.setdefault("classes", ["class %d" % i for i in range(7)])
    with sheaf.Packer(dest, **options) as packer:
        for number, (key, fields, label) in enumerate(samples):
            if number % max(1, len(samples) // 4) == 0:
                packer.cut()
            packer.append(key, fields, labels=label)
    return dest


def flip(path, at):
    """One bit of a file."""
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


class Case(unittest.TestCase):
    """A test with a directory of its own (self.path), shared by the class (cls.shared)."""

    maxDiff = 500

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="sheaf-test-")
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.share()

    @classmethod
    def share(cls):
        """What the tests of the class have in common."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=self.shared)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)
