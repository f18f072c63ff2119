# SPDX-License-Identifier: MIT
"""Photos of every unusual kind for the trees, some of them damaged."""

import functools
import random

import images

SIZES = [(61, 43), (43, 61), (90, 17), (64, 64), (16, 16), (130, 100)]
# Faults that leave the markers of a JPEG in order, and faults that do not.
FAULTS = ["cut-and-ended", "bytes-lost", "half-lost", "taller", "wider", "no-frame"]


@functools.lru_cache(None)
def sound():
    """Returns photos that decode: plain JPEGs of some sizes, and files that loaders cannot read as expected."""
    every = [images.saved(images.photo(*size, number).convert("L" if number % 3 == 2 else "RGB"))
             for number, size in enumerate(SIZES)]
    every += images.plain((61, 43)).values()
    return every + [data for data, _ in images.odd((61, 43)).values()]


@functools.lru_cache(None)
def odd():
    """Returns all photos for which some option makes another file or a bad file."""
    return frozenset([*sound(), *damaged()])


@functools.lru_cache(None)
def damaged():
    chance = random.Random(3)
    every = [images.JPEG_FAULTS[name](images.saved(images.photo(60, 50, number)), chance)
             for number, name in enumerate(FAULTS)]
    whole = {"png": images.saved(images.photo(60, 40), "PNG"),
             "gif": images.saved(images.photo(60, 40).quantize(), "GIF"),
             "webp": images.saved(images.photo(60, 40), "WEBP")}
    return every + [images.OTHER_FAULTS[kind]["cut"](data, chance) for kind, data in whole.items()]
