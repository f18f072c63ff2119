# SPDX-License-Identifier: MIT
"""What the tests of the Python package share: data sets to read."""

import os
import random
import sys

import sheaf

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from case import Case, seed     # pylint: disable=unused-import,wrong-import-position

CONTAINERS = ("webdataset", "tfrecord", "recordio")


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
