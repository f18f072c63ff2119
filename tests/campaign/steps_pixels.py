# SPDX-License-Identifier: MIT
"""Steps that make crops. cat --pixels must write the samples in the order of the epoch, with the same crops as for
each image alone. It may leave out only images without crops."""

import io
import os
import re

from PIL import Image

import libpixels
import model
import steps_read
from chain import Foreseen

SIDE = 24
IMAGE = re.compile(r"(?:[A-Za-z0-9]+\.)?(?:jpe?g|png|webp|gif|bmp)")


def crop_of(data, seed):
    """Returns (pixels, box), or None if the image cannot be cropped."""
    try:
        return libpixels.pixels(data, seed, width=SIDE, height=SIDE)[0]
    except libpixels.PixelsError:
        return None


def crops(chain, shards):
    order, folder = steps_read.Order(chain, shards), chain.new("crops")
    samples = [(sample, {model.lower(name): data for name, data in sample.fields})
               for sample in order.samples()]
    names = sorted({name for _, fields in samples for name in fields if IMAGE.fullmatch(name)})
    if not names:
        raise Foreseen("no image")
    name = chain.chance.choice(names)
    words = ["cat", *shards.arguments, "--pixels", "%d,field=%s" % (SIDE, name), "-o", folder,
             "--on-corrupt", "skip", "--threads", chain.chance.choice([0, 1, 3]), *order.options()]
    if any(name not in fields for _, fields in samples):
        chain.sheaf(*words, status=1, says=["has no field %s, but" % name])
        raise Foreseen("a sample without the image")
    chain.sheaf(*words)
    with open(os.path.join(chain.path(folder), "samples.tsv"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file.readlines()[1:]]
    check(chain, chain.path(folder), rows, [(sample, fields[name]) for sample, fields in samples])


def check(chain, folder, rows, expected):
    """Checks that each row is the next sample that has crops."""
    expected = iter(expected)
    for file, key, _, *box, seed in rows:
        for sample, data in expected:
            found = crop_of(data, int(seed))
            if found is not None:
                break
        else:
            chain.fail("a crop of %s, which is none of the samples" % key)
        with open(os.path.join(folder, file), "rb") as png:
            pixels = Image.open(io.BytesIO(png.read())).tobytes()
        chain.equal((key, tuple(map(int, box)), pixels == found[0]), (sample.key, found[1], True),
                    "the crop %s" % file)
    left = [sample.key for sample, data in expected if crop_of(data, 0) is not None]
    chain.equal(left, [], "images without crops")
