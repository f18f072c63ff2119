# SPDX-License-Identifier: MIT
"""Crops beside the Pillow that is installed here, in its own order of the passes: PIXEL_CROPS of them
(4,000), over JPEGs of every sampling, progressive, grey, with restart markers, of odd sizes, and
crops at all edges, by each filter.  Not one value differs."""

import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "system"))
import crop_reference as reference          # pylint: disable=wrong-import-position
import images                               # pylint: disable=wrong-import-position
import libpixels                            # pylint: disable=wrong-import-position
import PIL                                  # pylint: disable=wrong-import-position
import pictures                             # pylint: disable=wrong-import-position

CROPS = int(os.environ.get("PIXEL_CROPS", "4000"))
ORDER = 1 if int(PIL.__version__.split(".", 1)[0]) >= 13 else 0


def of_pillow(picture, box, size, kind):
    """One call, so that the order is Pillow's own."""
    top, left, height, width, flipped = box
    result = picture.crop((left, top, left + width, top + height)).resize(size,
                                                                          reference.FILTERS[kind])
    return result.transpose(reference.Image.FLIP_LEFT_RIGHT) if flipped else result


class Crops(unittest.TestCase):
    def test_no_value_differs(self):
        chance, made = random.Random(1), 0
        while made < CROPS:
            for data in (*pictures.photos(chance), *pictures.by_hand(chance)):
                picture = images.opened(data).convert("RGB")
                for _ in range(20):
                    size = chance.randrange(1, 70), chance.randrange(1, 70)
                    kind, number = chance.randrange(3), chance.randrange(1 << 64)
                    found, box = libpixels.pixels(
                        data, number, width=size[0], height=size[1], filter=kind, order=ORDER,
                        scale=chance.choice(((0.08, 1.0), (1e-4, 0.05))))[0]
                    if ORDER == 0 and PIL.__version__ < "10" and box[2] > 100 * box[3]:
                        continue            # an older Pillow still took rows first
                    self.assertEqual(found, of_pillow(picture, box, size, kind).tobytes(),
                                     (picture.size, box, size, kind, number))
                    made += 1
        print("crops: %d, Pillow %s: no value differs" % (made, PIL.__version__))


if __name__ == "__main__":
    unittest.main()
