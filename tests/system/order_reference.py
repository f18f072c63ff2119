#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The order of an epoch, written a second time from reader/ORDER.md alone.

    epoch_order(counts, ...)    returns the manifest numbers of the samples, in order
    order_reference.py          prints tests/corpus/order_vectors.txt, which fixes the order"""

import random
import struct

import xxhash

WORD = (1 << 64) - 1
KEEP, DROP, PAD = "keep", "drop", "pad"


class Generator:
    """xoshiro256**, seeded through XXH3-64."""

    def __init__(self, purpose, seed, epoch, lane):
        message = struct.pack("<4Q", purpose, seed, epoch, lane)
        self.s = [xxhash.xxh3_64_intdigest(message, seed=i) for i in range(4)]

    @staticmethod
    def rotate(x, k):
        return (x << k | x >> (64 - k)) & WORD

    def next(self):
        s = self.s
        result = self.rotate(s[1] * 5 & WORD, 7) * 9 & WORD
        t = s[1] << 17 & WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = self.rotate(s[3], 45)
        return result

    def below(self, n):
        product = self.next() * n
        while product & WORD < ((1 << 64) - n) % n:
            product = self.next() * n
        return product >> 64


def line(counts, seed, epoch, shuffle):
    """Returns the manifest numbers of the samples in the line, with the shards in permuted order."""
    shards = list(range(len(counts)))
    if shuffle:
        generator = Generator(1, seed, epoch, 0)
        for i in range(len(shards) - 1, 0, -1):
            j = generator.below(i + 1)
            shards[i], shards[j] = shards[j], shards[i]
    starts = [sum(counts[:i]) for i in range(len(counts))]
    return [starts[s] + i for s in shards for i in range(counts[s])]


def lane_places(total, lanes, remainder, lane):
    each, rest = divmod(total, lanes)
    if remainder == DROP:
        return list(range(lane * each, lane * each + each))
    start = lane * each + min(lane, rest)
    places = list(range(start, start + each + (lane < rest)))
    if remainder == PAD and rest > 0 and lane >= rest:
        places.append(places[0] if each > 0 else lane % total)
    return places


def shuffled(inputs, slots, generator):
    held, rest = list(inputs[:slots]), iter(inputs[slots:])
    result = []
    while held:
        j = generator.below(len(held))
        result.append(held[j])
        try:
            held[j] = next(rest)
        except StopIteration:
            last = held.pop()
            if j < len(held):
                held[j] = last
    return result


def epoch_order(counts, seed=0, epoch=0, shuffle=True, buffer=10000, lanes=1, remainder=KEEP,
                rank=0, world=1, worker=0, workers=1, length=None):
    places = line(counts, seed, epoch, shuffle)
    slots = max(1, -(-buffer // lanes)) if shuffle else 1
    own = []
    for lane in range(lanes):
        if lane % world == rank and lane // world % workers == worker:
            inputs = [places[p % len(places)] for p in lane_places(
                len(places) if length is None else length, lanes, remainder, lane)]
            own.append(shuffled(inputs, slots, Generator(2, seed, epoch, lane)))
    rounds = max((len(lane) for lane in own), default=0)
    return [lane[t] for t in range(rounds) for lane in own if t < len(lane)]


def vectors():
    """Settings that together cover every case of the specification."""
    shard_sets = [[], [0], [1], [5], [7, 0, 3], [10, 10, 10, 9], [1] * 12, [33, 1, 64, 2, 0, 17]]
    for counts in shard_sets:
        for lanes in (1, 2, 3, 8):
            for remainder in (KEEP, DROP, PAD):
                yield dict(counts=counts, seed=7, epoch=1, buffer=16, lanes=lanes,
                           remainder=remainder)
    for seed in (0, 1, 2, 1 << 32, WORD):
        for epoch in (0, 1, 2, WORD):
            yield dict(counts=[12, 13, 14], seed=seed, epoch=epoch, buffer=8)
    for buffer in (0, 1, 2, 5, 41, 42, 43, 100000, WORD):
        for lanes in (1, 4):
            yield dict(counts=[20, 22], seed=3, buffer=buffer, lanes=lanes)
    for remainder in (KEEP, DROP, PAD):
        for world, workers, lanes in ((2, 1, 2), (1, 3, 3), (2, 2, 8), (3, 2, 6), (4, 4, 16)):
            for member in range(world * workers):
                yield dict(counts=[9, 11, 10, 4], seed=11, epoch=2, buffer=10, lanes=lanes,
                           remainder=remainder, world=world, workers=workers,
                           rank=member % world, worker=member // world)
    for lanes in (1, 3):
        yield dict(counts=[9, 11, 10], seed=5, shuffle=False, buffer=10, lanes=lanes)
    chance = random.Random(1)
    for _ in range(20):
        yield dict(counts=[chance.randrange(60) for _ in range(chance.randrange(1, 9))],
                   seed=chance.randrange(1 << 64), epoch=chance.randrange(1000),
                   buffer=chance.randrange(80), lanes=chance.randrange(1, 10),
                   remainder=chance.choice((KEEP, DROP, PAD)))


DEFAULTS = dict(seed=0, epoch=0, shuffle=True, buffer=10000, lanes=1, remainder=KEEP, rank=0,
                world=1, worker=0, workers=1)


def print_orders():
    print("# The order of an epoch, by tests/system/order_reference.py.  A case a line:\n"
          "# seed epoch shuffle buffer lanes remainder(1 keep 2 drop 3 pad) rank world worker\n"
          "# workers | shards, samples of each | number of samples, each by its manifest number")
    for case in vectors():
        full = {**DEFAULTS, **case}
        order = epoch_order(**full)
        head = [full["seed"], full["epoch"], int(full["shuffle"]), full["buffer"], full["lanes"],
                (KEEP, DROP, PAD).index(full["remainder"]) + 1, full["rank"], full["world"],
                full["worker"], full["workers"]]
        print(*head, "|", len(full["counts"]), *full["counts"], "|", len(order), *order)


def print_draws():
    """Bounds near 2^63 redraw half of the time. No real shuffle does this."""
    print("# The generator.  A case a line: \"draw\" purpose seed epoch lane bound, then 8 draws")
    for bound in (1, 2, 3, 1000, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, WORD):
        for purpose, seed, epoch, lane in ((1, 0, 0, 0), (2, WORD, 5, 77)):
            generator = Generator(purpose, seed, epoch, lane)
            print("draw", purpose, seed, epoch, lane, bound,
                  *(generator.below(bound) for _ in range(8)))


if __name__ == "__main__":
    print_orders()
    print_draws()
