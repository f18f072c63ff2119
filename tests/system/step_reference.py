#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The images of a data set, and the crops that a training step gets, computed from the seed of a run and the epoch
alone. seed_reference.py computes the seeds, crop_reference.py the positions of the crops, and Pillow makes the crops.

    image(number)           returns the bytes of an image of the data set
    vectors()               returns the content of tests/corpus/step_vectors.txt
    step_reference.py       prints this content"""

import os

import xxhash

import jpegs

COUNT, SEED, SIDE = 60, 7, 32
SAMPLINGS = ((1, 1), (2, 1), (1, 2), (2, 2))
VECTORS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "corpus",
                       "step_vectors.txt")


def key(number):
    return "k%d/%02d" % (number // 20, number)


def image(number):
    return jpegs.jpeg(40 + number * 37 % 60, 30 + number * 53 % 70, 1 if number % 9 == 0 else 3, number,
                      sampling=SAMPLINGS[number % 4] if number % 9 else (1, 1),
                      restart=number % 3)


def vectors():
    """Returns {(epoch, key): (seed, box, XXH3-64 of the pixels, row by row, each R, G, B)}."""
    found = {}
    with open(VECTORS, encoding="ascii") as file:
        for line in file:
            if not line.startswith("#"):
                left, seed, box, pixels = line.split("|")
                epoch, name = left.split()
                found[int(epoch), name] = int(seed), tuple(map(int, box.split())), int(pixels)
    return found


def main():
    import crop_reference
    import images
    from seed_reference import sample_seed, source_id
    print("# The crops of tests/system/step_reference.py's images, by that program, with seed 7.\n"
          "# epoch key | seed of the sample | top left height width flipped | XXH3-64 of the pixels")
    for epoch in range(2):
        for number in range(COUNT):
            picture = images.opened(image(number)).convert("RGB")
            seed = sample_seed(SEED, source_id(COUNT), epoch, number)
            box = crop_reference.draw(seed, *picture.size, **crop_reference.IMAGENET)
            crop = crop_reference.resized(picture, box, (SIDE, SIDE))
            print(epoch, key(number), "|", seed, "|", *box, "|",
                  xxhash.xxh3_64_intdigest(crop.tobytes()))


if __name__ == "__main__":
    main()
