# SPDX-License-Identifier: MIT
"""Where crops are: PIXEL_DRAWS of them (100,000) beside as many of torchvision's RandomResizedCrop, of
pictures that every try fits into, that many tries fail for, and that only the fallback is left for.
Chi-square of area, ratio and position, and how often the fallback is taken."""

import math
import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "system"))
import libpixels                            # pylint: disable=wrong-import-position

try:
    import numpy
    import torch
    from torchvision.transforms import RandomResizedCrop
except ImportError as error:
    raise unittest.SkipTest("no torchvision: %s" % error)

DRAWS = int(os.environ.get("PIXEL_DRAWS", "100000"))
SIZES = ((100, 75), (75, 100), (40, 110), (300, 20), (6, 5))
SCALE, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)
BINS, SIGMAS = 20, 5


def bmp(width, height):
    row = bytes(-(-width * 3 // 4) * 4)
    head = struct.pack("<2sIHHIIiiHHIIiiII", b"BM", 54 + len(row) * height, 0, 0, 54, 40, width, height,
                       1, 24, 0, 0, 0, 0, 0, 0)
    return head + row * height


def ours(width, height, count):
    """[draws, 5]: top, left, height, width, flipped"""
    data, boxes = bmp(width, height), []
    for seed in range(-(-count // 1024)):
        boxes += [box for _, box in libpixels.pixels(data, seed, views=[(1024, 1, SCALE)])]
    return numpy.array(boxes[:count])


def theirs(width, height, count):
    torch.manual_seed(1)
    picture = torch.empty(3, height, width, dtype=torch.uint8)
    return numpy.array([RandomResizedCrop.get_params(picture, SCALE, RATIO) for _ in range(count)])


def chi_square(one, other):
    """(sum, limit) of two samples of equal size, in bins of about equal numbers; the limit by Wilson
    and Hilferty."""
    edges = numpy.unique(numpy.quantile(numpy.concatenate([one, other]),
                                        numpy.arange(1, BINS) / BINS))
    a, b = (numpy.bincount(numpy.digitize(each, edges), minlength=len(edges) + 1)
            for each in (one, other))
    used = a + b > 0
    a, b = a[used].astype(float), b[used].astype(float)
    free = max(1, len(a) - 1)
    limit = free * (1 - 2 / (9 * free) + SIGMAS * math.sqrt(2 / (9 * free))) ** 3
    return ((a - b) ** 2 / (a + b)).sum(), limit


class Draws(unittest.TestCase):
    def test_torchvisions(self):
        count, worst = DRAWS // len(SIZES), 0.0
        for width, height in SIZES:
            own, other = ours(width, height, count), theirs(width, height, count)
            for name, value in (
                    ("area", lambda box: box[:, 2] * box[:, 3]),
                    ("ratio", lambda box: box[:, 3] / box[:, 2]),
                    ("top", lambda box: box[:, 0]), ("left", lambda box: box[:, 1]),
                    ("vertical", lambda box: box[:, 0] / numpy.maximum(1, height - box[:, 2])),
                    ("horizontal", lambda box: box[:, 1] / numpy.maximum(1, width - box[:, 3]))):
                found, limit = chi_square(value(own), value(other))
                self.assertLess(found, limit, (width, height, name))
                worst = max(worst, found / limit)
            flips = int(own[:, 4].sum())
            self.assertLess(abs(flips - count / 2), SIGMAS * math.sqrt(count) / 2)
        print("draws: %d of %d pictures; the largest chi-square is %.2f of its limit"
              % (count * len(SIZES), len(SIZES), worst))

    def test_fallback(self):
        """Of a picture that no try fits into."""
        own, other = ours(1000, 4, 1024), theirs(1000, 4, 200)
        self.assertEqual({tuple(box) for box in own[:, :4]}, {tuple(box) for box in other})


if __name__ == "__main__":
    unittest.main()
