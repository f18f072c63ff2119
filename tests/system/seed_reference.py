#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The seed of a sample, written a second time from reader/ORDER.md alone.

    sample_seed(seed, id, source epoch, number)
    seed_reference.py           prints tests/corpus/seed_vectors.txt, which fixes the seeds"""

import random
import struct

import xxhash

WORD = (1 << 64) - 1


def source_id(samples, before=0, host=0, hosts=0):
    return xxhash.xxh3_64_intdigest(struct.pack("<4Q", samples, before, host, hosts))


def source_ids(counts):
    return [source_id(count, counts[:i].count(count)) for i, count in enumerate(counts)]


def sample_seed(seed, source, epoch, number):
    return xxhash.xxh3_64_intdigest(b"pixels1\0" + struct.pack("<4Q", seed, source, epoch, number))


def main():
    print("# The seeds of samples, by tests/system/seed_reference.py.  A case a line: samples,\n"
          "# earlier sources with as many, host, hosts | seed, source epoch, number | seed of it")
    chance = random.Random(1)
    cases = [(0, 0, 0, 0, 0, 0, 0), (1, 0, 0, 0, WORD, 0, 0), (157, 0, 0, 0, 7, 3, 156),
             (157, 1, 0, 0, 7, 3, 156), (80, 0, 1, 2, 7, 3, 79), (WORD, 9, 0, 0, 1, WORD, WORD)]
    cases += [(chance.randrange(1 << 40), chance.randrange(3), 0, 0, chance.randrange(WORD),
               chance.randrange(1000), chance.randrange(1 << 40)) for _ in range(50)]
    for case in cases:
        print(*case[:4], "|", *case[4:], "|", sample_seed(case[4], source_id(*case[:4]), *case[5:]))


if __name__ == "__main__":
    main()
