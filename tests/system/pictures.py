# SPDX-License-Identifier: MIT
"""Random JPEGs for the tests of crops."""

import images
import jpegs
from PIL import Image

SAMPLINGS = ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 2))


def photos(chance):
    """JPEGs by Pillow: progressive and baseline ones of three samplings, and grey ones."""
    for i in range(60):
        width, height = chance.choice([(chance.randrange(1, 50), chance.randrange(1, 50)),
                                       (chance.randrange(50, 300), chance.randrange(50, 300)),
                                       (chance.randrange(1, 4), chance.randrange(300, 420))])
        size = width // chance.choice((1, 3, 9)) + 1, height // chance.choice((1, 3, 9)) + 1
        picture = Image.frombytes("RGB", size, chance.randbytes(size[0] * size[1] * 3)).resize(
            (width, height), Image.BICUBIC)
        how = {"subsampling": i % 3} if i % 7 else {}
        yield images.saved(picture if i % 7 else picture.convert("L"), quality=chance.choice(
            (60, 90, 95)), **({"progressive": True} if i % 5 == 0 and min(width, height) > 8 else {}),
            **how)


def by_hand(chance):
    """Of every sampling, with and without restart markers."""
    for i in range(56):
        yield jpegs.jpeg(chance.randrange(1, 120), chance.randrange(1, 120), 3, chance.random(),
                         sampling=SAMPLINGS[i % 7], restart=chance.choice((0, 1, 3, 10)))
