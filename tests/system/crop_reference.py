#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The crops of a picture, written a second time from image/PIXELS.md alone, and resized by Pillow.

    draw(seed, width, height, ...)      returns top, left, height, width, flipped
    resized(picture, box, size, ...)    returns the crop as a Pillow picture
    crop_reference.py                   prints tests/corpus/crop_vectors.txt"""

import math
import random

from PIL import Image
import xxhash

from order_reference import WORD, Generator

BILINEAR, BICUBIC, LANCZOS = range(3)
FILTERS = (Image.BILINEAR, Image.BICUBIC, Image.LANCZOS)
IMAGENET = {"scale": (0.08, 1.0), "ratio": (3 / 4, 4 / 3), "flip": 0.5}


def exponential(x):
    y, halvings = x, 0
    while abs(y) > 0.5:
        y, halvings = y / 2, halvings + 1
    total = 1.0
    for k in range(20, 0, -1):
        total = 1 + total * y / k
    for _ in range(halvings):
        total *= total
    return total


def logarithm(x):
    whole, y = 0.0, 0.0
    while x > 2:
        x, whole = x / 2, whole + 1
    while x < 0.5:
        x, whole = x * 2, whole - 1
    for _ in range(8):
        e = exponential(y)
        y += 2 * (x - e) / (x + e)
    return whole * 0.69314718055994530942 + y


def draw(seed, width, height, scale, ratio, flip, view=0):
    generator = Generator(6, seed, view, 0)

    def number():
        return (generator.next() >> 11) / (1 << 53)
    low, high = logarithm(ratio[0]), logarithm(ratio[1])
    flipped = int(number() < flip)
    for _ in range(10):
        area = width * height * (scale[0] + (scale[1] - scale[0]) * number())
        shape = exponential(low + (high - low) * number())
        down, across = number(), number()
        w, h = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
        if 0 < w <= width and 0 < h <= height:
            return (min(int(down * (height - h + 1.0)), height - h),
                    min(int(across * (width - w + 1.0)), width - w), h, w, flipped)
    w, h = width, height
    if width / height < ratio[0]:
        h = min(max(round(width / ratio[0]), 1), height)
    elif width / height > ratio[1]:
        w = min(max(round(height * ratio[1]), 1), width)
    return (height - h) // 2, (width - w) // 2, h, w, flipped


def resized(picture, box, size, kind=BILINEAR, pillow13=False):
    """Resizes with Pillow before 13, which resizes rows first. From Pillow 10 on, very high pictures are an
    exception. Two separate steps give the other order."""
    top, left, height, width, flipped = box
    result = picture.crop((left, top, left + width, top + height))
    down = height - size[1] > 0 and height - size[1] > 2 * (width - size[0]) if pillow13 else \
        height > 100 * width and size[1] < height
    if down:
        result = result.resize((width, size[1]), FILTERS[kind])
    elif pillow13:
        result = result.resize((size[0], height), FILTERS[kind])
    result = result.resize(size, FILTERS[kind])
    return result.transpose(Image.FLIP_LEFT_RIGHT) if flipped else result


def centered(picture, resize, size, kind=BILINEAR):
    """Returns the crop of torchvision's Resize and CenterCrop."""
    width, height = picture.size
    short, other = min(width, height), max(width, height)
    other = int(resize * other / short)
    full = (resize, other) if width <= height else (other, resize)
    left, top = round((full[0] - size[0]) / 2.0), round((full[1] - size[1]) / 2.0)
    return resized(picture, (0, 0, height, width, 0), full, kind).crop(
        (left, top, left + size[0], top + size[1]))


def pixels_of(width, height, seed):
    """Returns a picture that a test in C makes as well."""
    generator = Generator(1, seed, width, height)
    return Image.frombytes("RGB", (width, height),
                           bytes(generator.next() >> 56 for _ in range(width * height * 3)))


def main():
    chance = random.Random(1)
    print("# Crops, by tests/system/crop_reference.py.  \"draw\" seed view, width height of the\n"
          "# picture, scale ratio (two each) flip | top left height width flipped")
    for case in range(300):
        width, height = chance.choice([(500, 375), (375, 500), (chance.randrange(1, 40),
                                       chance.randrange(1, 40)), (3, 4000), (65535, 2)])
        how = IMAGENET if case % 3 else {"scale": (0.01, 0.3), "ratio": (0.5, 3.0), "flip": 0.25}
        seed, view = chance.choice([0, WORD, chance.randrange(WORD)]), chance.randrange(3)
        print("draw", seed, view, width, height, *how["scale"], *map(repr, how["ratio"]),
              how["flip"], "|", *draw(seed, width, height, view=view, **how))
    print("# \"resize\" seed of the picture, width height, box, size, filter, order (1: Pillow 13) |\n"
          "# XXH3-64 of the pixels, row by row, each R, G, B")
    for case in range(120):
        width, height = chance.randrange(1, 90), chance.randrange(1, 90)
        if case % 10 == 0:
            width, height = chance.randrange(1, 4), chance.randrange(300, 500)
        w, h = chance.randrange(1, width + 1), chance.randrange(1, height + 1)
        if case % 10 == 0:
            h = height
        box = (chance.randrange(height - h + 1), chance.randrange(width - w + 1), h, w,
               chance.randrange(2))
        size = chance.randrange(1, 70), chance.randrange(1, 70)
        kind, order = chance.randrange(3), chance.randrange(2)
        data = resized(pixels_of(width, height, case), box, size, kind, order == 1).tobytes()
        print("resize", case, width, height, *box, *size, kind, order, "|",
              xxhash.xxh3_64_intdigest(data))


if __name__ == "__main__":
    main()
