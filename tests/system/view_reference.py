#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The order of a view, written a second time from reader/ORDER.md alone (version 2).

    view_order(sources, ...)    (source, chosen number) of each sample, in order
    view_reference.py           prints tests/corpus/view_vectors.txt, which pins the order"""

import random
import struct
from fractions import Fraction
from math import gcd

import xxhash

from order_reference import DROP, KEEP, PAD, Generator, shuffled

PIECE_MOST, PERIOD, BLOCK = 1024, 1 << 20, 65536


def source_ids(names):
    """Of (fingerprint, conditions) pairs."""
    return [xxhash.xxh3_64_intdigest((name[0] + name[1]).encode(), seed=names[:i].count(name))
            for i, name in enumerate(names)]


def apportion(weights):
    common = gcd(*weights)
    weights = [w // common for w in weights]
    total = sum(weights)
    if total <= PERIOD:
        return weights
    rest = PERIOD - sum(w > 0 for w in weights)
    shares = [w * rest // total for w in weights]
    largest = sorted((i for i in range(len(weights)) if weights[i]),
                     key=lambda i: (-(weights[i] * rest % total), i))
    for i in largest[:rest - sum(shares)]:
        shares[i] += 1
    return [s + (w > 0) for s, w in zip(shares, weights)]


def table(weights):
    """The quota method."""
    period, drawn, result = sum(weights), [0] * len(weights), []
    for t in range(period):
        source = min((i for i, w in enumerate(weights) if w and drawn[i] * period < w * (t + 1)),
                     key=lambda i: (Fraction(drawn[i] + 1, weights[i]), i))
        drawn[source] += 1
        result.append(source)
    return result


class Source:
    """The lines of one source, a source epoch after another."""

    def __init__(self, samples, name, seed, shuffle, slots, lanes):
        self.samples, self.shuffle, self.slots = samples, shuffle, slots
        self.piece = max(1, min(PIECE_MOST, samples // lanes))
        self.seed = xxhash.xxh3_64_intdigest(struct.pack("<Q", name), seed=seed)

    def line(self, epoch):
        pieces = [list(range(i, min(i + self.piece, self.samples)))
                  for i in range(0, self.samples, self.piece)]
        if self.shuffle:
            generator = Generator(4, self.seed, epoch, 0)
            for i in range(len(pieces) - 1, 0, -1):
                j = generator.below(i + 1)
                pieces[i], pieces[j] = pieces[j], pieces[i]
        return [number for piece in pieces for number in piece]

    def emit(self, epoch, lane, places):
        line = self.line(epoch)
        return shuffled([line[p] for p in places], self.slots,
                        Generator(2, self.seed, epoch, lane))

    def endless(self, lane, lanes):
        """What a lane draws, where there are weights."""
        epoch = 0
        while True:
            first, end = epoch * self.samples, (epoch + 1) * self.samples
            dealt = sorted(range(first, end), key=lambda number: number % lanes)
            own = [i for i, number in enumerate(dealt) if number % lanes == lane]
            yield from self.emit(epoch, lane, own)
            epoch += 1

    def counted(self, count, epoch, lane, lanes, offset):
        """What a lane draws in an epoch, where there are counts."""
        draws = range(epoch * count, (epoch + 1) * count)
        result = []
        for own in sorted({number // self.samples for number in draws}):
            places = [number for number in draws if number // self.samples == own]
            owner = [(offset + number - epoch * count) % lanes for number in places]
            dealt = sorted(range(len(places)), key=lambda i: owner[i])
            first = places[0] - own * self.samples
            result += self.emit(own, lane, [first + i for i, number in enumerate(dealt)
                                            if owner[number] == lane])
        return result


def phase(seed, lane, lanes, period):
    begin = lane * period // lanes
    return begin if lanes == 1 else begin + Generator(5, seed, 0, lane).below(
        max(1, period // lanes))


def weighted_lane(sources, stages, seed, epoch, lane, lanes, rounds, steps):
    """stages: (samples before, weights)."""
    tables = [table(w) for _, w in stages]
    begins = [samples // lanes for samples, _ in stages]
    drawn = [source.endless(lane, lanes) for source in sources]
    result = []
    for g in range(epoch * rounds + steps):
        stage = max(s for s, begin in enumerate(begins) if begin <= g)
        base = begins[stage] if lanes > 1 else max(begins[stage], g // rounds * rounds)
        own = tables[stage]
        source = own[(phase(seed, lane, lanes, len(own)) + g - base) % len(own)]
        result.append((source, next(drawn[source])))
    return result[epoch * rounds:]


def counted_lane(sources, counts, epoch, lane, lanes):
    drawn, offset = [], 0
    for source, count in zip(sources, counts):
        drawn.append(source.counted(count, epoch, lane, lanes, offset % lanes))
        offset += count
    own = [len(d) for d in drawn]
    blocks = -(-sum(own) // BLOCK)
    left = [iter(d) for d in drawn]
    result = []
    for j in range(blocks):
        entries = table([c * (j + 1) // blocks - c * j // blocks for c in own])
        begin = lane * len(entries) // lanes
        result += [(s, next(left[s])) for s in entries[begin:] + entries[:begin]]
    return result


def view_order(samples, names, weights=None, counts=None, total=None, stages=(), seed=0, epoch=0,
               shuffle=True, buffer=10000, lanes=1, remainder=KEEP, rank=0, world=1):
    """`samples`, `names`, `weights` or `counts`: of each source; stages: (samples before, weights)
    beyond the first."""
    if weights is not None:
        stages = [(0, apportion(weights))] + [(at, apportion(w)) for at, w in stages]
        shares, whole = stages[0][1], sum(stages[0][1])
    else:
        shares, whole, total = counts, sum(counts), sum(counts)
    slots = max(1, -(-buffer // lanes)) if shuffle else 1
    sources = [Source(n, name, seed, shuffle, max(1, slots * share // max(whole, 1)), lanes)
               for n, name, share in zip(samples, names, shares)]
    rounds, rest = divmod(total, lanes)
    rounds += remainder != DROP and rest > 0
    own = []
    for lane in range(rank, lanes, world):
        if weights is not None:
            steps = rounds - (remainder == KEEP and rest > 0 and lane >= rest)
            own.append(weighted_lane(sources, stages, seed, epoch, lane, lanes, rounds, steps))
            continue
        result = counted_lane(sources, counts, epoch, lane, lanes)[:rounds]
        if remainder == PAD and len(result) < rounds:
            result.append((result or counted_lane(sources, counts, epoch, lane % total, lanes))[0])
        own.append(result)
    return [lane[t] for t in range(rounds) for lane in own if t < len(lane)]


def vectors():
    chance = random.Random(2)
    for case in range(160):
        k = chance.choice((1, 2, 3, 7))
        lanes = chance.choice((1, 1, 2, 3, 8))
        sizes = [chance.choice((1, 5, 40, 200, 1024, 1500, 5000)) for _ in range(k)]
        full = dict(samples=sizes, names=[chance.getrandbits(64) for _ in range(k)],
                    seed=chance.choice((0, 1, chance.getrandbits(64))),
                    epoch=chance.choice((0, 0, 1, 2, 5)), shuffle=chance.random() < 0.85,
                    buffer=chance.choice((0, 1, 16, 100, 1000)), lanes=lanes,
                    remainder=chance.choice((KEEP, DROP, PAD)),
                    world=chance.choice([w for w in (1, 2, 4) if lanes % w == 0]), rank=0)
        full["rank"] = chance.randrange(full["world"])
        if case % 2:
            repeats = [chance.choice((1, 1, 2, Fraction(1, 2), 0)) for _ in range(k)]
            full["counts"] = [int(n * r + Fraction(1, 2)) for n, r in zip(sizes, repeats)]
            if not any(full["counts"]):
                full["counts"][0] = 1
        else:
            full["weights"] = [chance.choice((0, 1, 1, 2, 3, 10, 97)) for _ in range(k)]
            full["weights"][chance.randrange(k)] = 3
            full["total"] = chance.choice((1, 2, 7, 100, 500))
            full["stages"] = [] if chance.random() < 0.6 else [
                (chance.randrange(1, 600), [chance.randrange(1, 5) for _ in range(k)])]
        yield full
    for case in range(20):          # stages that begin in one round
        lanes = chance.randrange(2, 9)
        begins = [chance.randrange(1, 200) for _ in range(2)]
        begins += [at + chance.randrange(1, lanes) for at in begins]
        yield dict(samples=[40, 5, 300], names=[chance.getrandbits(64) for _ in range(3)],
                   seed=case, epoch=chance.randrange(3), shuffle=True, buffer=16, lanes=lanes,
                   remainder=chance.choice((KEEP, DROP, PAD)), world=1, rank=0, weights=[3, 1, 1],
                   total=chance.randrange(8, 100),
                   stages=[(at, [chance.randrange(3), chance.randrange(1, 9), chance.randrange(3)])
                           for at in sorted(set(begins))])


def main():
    print("# The order of a view, by tests/system/view_reference.py.  A case a line:\n"
          "# seed epoch shuffle buffer lanes remainder(1 keep 2 drop 3 pad) rank world total |\n"
          "# sources: samples, id, weight or count of each | 0 counts, 1 weights | stages:\n"
          "# samples before, weights | number of samples, XXH3-64 of source and chosen number of\n"
          "# each as u32le pairs, the first four")
    for case in vectors():
        order = view_order(**case)
        shares = case.get("weights") or case["counts"]
        total = case.get("total", sum(shares))
        print(case["seed"], case["epoch"], int(case["shuffle"]), case["buffer"], case["lanes"],
              (KEEP, DROP, PAD).index(case["remainder"]) + 1, case["rank"], case["world"], total,
              "|", len(shares), *(f"{n} {i} {s}" for n, i, s in
                                  zip(case["samples"], case["names"], shares)),
              "|", int("weights" in case), "|", len(case.get("stages", ())),
              *(f"{at} " + " ".join(map(str, w)) for at, w in case.get("stages", ())),
              "|", len(order), xxhash.xxh3_64_intdigest(
                  b"".join(struct.pack("<2I", s, n) for s, n in order)),
              *(f"{s} {n}" for s, n in order[:4]))


if __name__ == "__main__":
    main()
