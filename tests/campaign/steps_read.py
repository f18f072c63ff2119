# SPDX-License-Identifier: MIT
"""Steps that read: epochs in every order and by every rank, as lines and as streams; positions; verify and info;
damage."""

import json
import os
import re

import counts
import meter
import model
import readers
import steps_report
from chain import Foreseen, Shards
from order_reference import DROP, KEEP, PAD


class Order:
    """Options that choose an order, and the samples in this order."""

    def __init__(self, chain, shards, world=1, workers=1):
        chance = chain.chance
        self.shards, self.world, self.workers = shards, world, workers
        self.seed = chance.choice([0, 1, 7, (1 << 64) - 1])
        self.epoch = chance.choice([0, 1, 5])
        self.shuffle = chance.random() < 0.8
        if not self.shuffle:
            self.seed = self.epoch = 0          # the defaults of the command
        self.buffer = chance.choice([0, 1, 3, 10, 10000])
        self.lanes = world * workers
        if not shards.is_stream:
            self.lanes *= chance.choice([1, 1, 2, 3])
        self.remainder = KEEP if shards.is_stream else chance.choice([KEEP, DROP, PAD])
        if shards.length(self.remainder, self.lanes) == -1:
            self.remainder = KEEP

    def options(self):
        words = ["--seed", self.seed, "--epoch", self.epoch] if self.shuffle else ["--no-shuffle"]
        words += ["--shuffle-buffer", self.buffer] if self.shuffle else []
        if not self.shards.is_stream:
            words += ["--lanes", self.lanes, "--remainder", self.remainder]
        return words

    def numbers(self, rank=0, worker=0, world=None, workers=None):
        """Returns the numbers of the samples, in order."""
        return self.shards.epoch(seed=self.seed, epoch=self.epoch, shuffle=self.shuffle,
                                 buffer=self.buffer, lanes=self.lanes, remainder=self.remainder,
                                 rank=rank, world=world or self.world, worker=worker,
                                 workers=workers or self.workers,
                                 length=self.shards.length(self.remainder, self.lanes))

    def samples(self, **member):
        every = self.shards.samples
        return [every[number] for number in self.numbers(**member)]


def same_lines(chain, done, samples, what):
    found = done.stdout.decode().splitlines()
    expected = [model.listing(sample) for sample in samples]
    if found != expected:
        at = next((i for i, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]),
                  min(len(found), len(expected)))
        chain.fail("%s: %d lines, expected %d; line %d is" % (what, len(found), len(expected), at),
                   found[at:at + 1], "expected", expected[at:at + 1])


def listing(chain, shards):
    order = Order(chain, shards)
    words = ["cat", *shards.arguments, "--list", *order.options()]
    samples = order.samples()
    if chain.chance.random() < 0.3:
        limit = chain.chance.randrange(len(samples) + 2)
        words += ["--limit", limit]
        samples = samples[:limit]
    metrics = meter.Meter(chain)
    words += metrics.words() + chain.chance.choice([[], [], ["--quiet"], ["--verbose"]])
    same_lines(chain, chain.sheaf(*words), samples, "the listing")
    metrics.check(samples=len(samples), payload_bytes=model.payload(samples), corrupt=0)


def null(chain, shards):
    order, metrics = Order(chain, shards), meter.Meter(chain)
    done = chain.sheaf("cat", *shards.arguments, "--null", *order.options(), *metrics.words())
    values = dict(line.split() for line in done.stdout.decode().splitlines())
    samples = order.samples()
    chain.equal((int(values["samples"]), int(values["payload_bytes"]), int(values["corrupt"])),
                (len(samples), model.payload(samples), 0), "the sums of cat --null")
    metrics.check(samples=len(samples), payload_bytes=model.payload(samples), corrupt=0)


def stream(chain, shards):
    """Writes an epoch as one stream in any container, which becomes a foreign shard."""
    order = Order(chain, shards)
    container = chain.chance.choice(["webdataset", "tfrecord", "recordio"])
    numbers, left_out = order.numbers(), 0
    if container == "webdataset":           # WebDataset cannot hold a sample twice in a row
        kept = [n for i, n in enumerate(numbers) if i == 0 or numbers[i - 1] != n]
        left_out, numbers = len(numbers) - len(kept), kept
    every = shards.samples
    samples = [every[number] for number in numbers]
    numbers = record_numbers(shards, numbers)
    words = ["cat", *shards.arguments, "--to", container, *order.options()]
    twice = container == "webdataset" and next(
        (a.key for a, b in zip(samples, samples[1:]) if a.key == b.key), None)
    if twice:
        chain.sheaf(*words, status=1, says=[twice, "cls"])
        raise Foreseen("a sample twice in a row")
    if any(model.cannot_hold(sample, container) for sample in samples):
        done = chain.sheaf(*words, status=None)
        if done.returncode != 0:
            raise Foreseen("a label")
    else:
        done = chain.sheaf(*words)
    if left_out and b"%d repeated sample" % left_out not in done.stderr:
        chain.fail("the samples that were left out are not counted:", done.stderr.decode()[-1000:])
    stem = chain.new("stream")
    name = stem + readers.SUFFIX[container]
    with open(chain.path(name), "wb") as file:
        file.write(done.stdout)
    chain.lines[-1] += " >%s" % name
    expected = [model.as_foreign(sample, container, stem, record, number)
                for record, (sample, number) in enumerate(zip(samples, numbers))]
    found = readers.foreign(done.stdout, container, name)
    chain.same(found, expected, "the stream of cat --to %s" % container)
    if found:
        chain.things.append(Shards([name], [found], container=container, codec="none",
                                   is_set=False, names=[name]))


def record_numbers(shards, numbers):
    """Returns the numbers that a RecordIO stream gives to samples: in the data set, or, if the counts of the shards
    before are unknown, in their shard."""
    if not shards.is_stream:
        return numbers
    in_shard = [record for count in shards.counts for record in range(count)]
    return [in_shard[number] for number in numbers]


def ranks(chain, shards):
    """Reads with the members of a world, one after another. Together, they must give the order of the epoch."""
    world, workers = chain.chance.choice([(2, 1), (1, 2), (2, 2), (3, 1)])
    order = Order(chain, shards, world, workers)
    if shards.is_stream:
        raise Foreseen("no counts")
    for rank in range(world):
        for worker in range(workers):
            done = chain.sheaf("cat", *shards.arguments, "--list", *order.options(),
                               "--rank", rank, "--world-size", world, "--worker", worker,
                               "--workers", workers)
            same_lines(chain, done, order.samples(rank=rank, worker=worker),
                       "rank %d worker %d" % (rank, worker))


def resume(chain, shards):
    """Reads the epoch in two or three runs, with a position between them."""
    order = Order(chain, shards)
    samples, at = order.samples(), 0
    place = chain.new("position")
    words = order.options()
    for _ in range(chain.chance.choice([1, 1, 2])):
        limit = chain.chance.randrange(len(samples) - at + 1)
        done = chain.sheaf("cat", *shards.arguments, "--list", *words, "--limit", limit,
                           "--save-position", place)
        same_lines(chain, done, samples[at:at + limit], "before a position")
        at += limit
        words = ["--resume-from", place]
    if at % order.lanes == 0 and order.lanes % 2 == 0 and not shards.is_stream and \
            shards.length(PAD, 2) != -1:
        return resume_world(chain, shards, order, place, at)
    done = chain.sheaf("cat", *shards.arguments, "--list", *words)
    return same_lines(chain, done, samples[at:], "after a position")


def resume_world(chain, shards, order, place, at):
    """Resumes with two ranks in place of one."""
    for rank in range(2):
        done = chain.sheaf("cat", *shards.arguments, "--list", "--resume-from", place, "--rank",
                           rank, "--world-size", 2)
        whole = order.numbers(rank=rank, world=2)
        every = shards.samples
        same_lines(chain, done, [every[n] for n in whole[at // 2:]],
                   "after a position, rank %d of 2" % rank)


WORLDS = [(1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (1, 3), (4, 1), (1, 4)]


def resume_worlds(chain, shards):
    """Reads an epoch in three runs, each with another number of ranks and workers, from the position of any member
    before. Each member stops after the same number of rounds of the lanes."""
    if shards.is_stream or shards.length(PAD, 12) == -1:
        raise Foreseen("no counts, or too few")
    order = Order(chain, shards)
    order.lanes, places, rounds = 12, [], 0
    for run in range(3):
        order.world, order.workers = chain.chance.choice(WORLDS)
        until, before, places = None, places, []
        if run < 2:
            until = chain.chance.randrange(rounds, shards.epoch_length // order.lanes + 1)
        for member in range(order.world * order.workers):
            words = ["--resume-from", chain.chance.choice(before)] if before else order.options()
            if until is not None:
                places.append(chain.new("position"))
                words += ["--save-position", places[-1]]
            run_member(chain, order, member, words, (rounds, until))
        rounds = until


def run_member(chain, order, member, words, rounds):
    """Runs one worker of a rank, from one round of the lanes to another (None: the last one)."""
    rank, worker = member % order.world, member // order.world
    lanes, (first, until) = order.lanes // (order.world * order.workers), rounds
    words = ["cat", *order.shards.arguments, "--list", *words, "--rank", rank, "--world-size",
             order.world, "--worker", worker, "--workers", order.workers]
    words += [] if until is None else ["--limit", (until - first) * lanes]
    numbers = order.numbers(rank=rank, worker=worker)
    numbers = numbers[first * lanes:None if until is None else until * lanes]
    every = order.shards.samples
    same_lines(chain, chain.sheaf(*words), [every[n] for n in numbers],
               "after round %d, rank %d of %d, worker %d of %d" % (
                   first, rank, order.world, worker, order.workers))


def verify(chain, shards):
    count = chain.chance.choice([0, 0, 2])
    words = [["--part", "%d/%d" % (i, count)] for i in range(count)] or [[]]
    samples = 0
    for more in words:
        done = chain.sheaf("verify", *shards.arguments, *more)
        samples += chain.numbers(done, r"sound: (\d+) samples?")[0]
    chain.equal(samples, len(shards.samples), "the samples that verify counted")


def info(chain, shards):
    if shards.is_set and chain.chance.random() < 0.5:
        found = json.loads(chain.sheaf("info", *shards.arguments, "--json").stdout)
        chain.equal((found["samples"], found["payload_bytes"]),
                    (len(shards.samples), model.payload(shards.samples)), "the sums of info")
        counts.check_told(chain, found, shards)
        return
    done = chain.sheaf("info", *shards.arguments)
    if not shards.is_stream:
        chain.equal(chain.numbers(done, r"(?m)^samples +(\d+)$"), [len(shards.samples)],
                    "the samples that info says")


def pipe(chain, shards):
    """Reads one foreign shard on standard input."""
    path = os.path.join(shards.folder or "", shards.names[0])
    data = readers.read(chain.path(path))
    chain.note("cat", path, "|")
    if shards.container == "recordio":
        raise Foreseen("keys from a name")
    done = chain.sheaf("cat", "-", "--list", "--no-shuffle", data=data)
    same_lines(chain, done, shards.samples, "standard input")


def damage(chain, shards):
    """Changes some bytes of a data set. No command may call it valid. Whatever is read must be right, and nothing may
    be missing that is not counted; for every command that can skip."""
    copy, flips = damaged_copy(chain, shards)
    chain.sheaf("verify", copy, status=1, says=[name for name, _, _ in flips])
    if chain.chance.random() < 0.5:
        steps_report.damaged(chain, copy)
    done = chain.sheaf("cat", copy, "--to", "tfrecord", "--no-shuffle", "--on-corrupt", "skip",
                       status=None)
    if done.returncode == 0:
        rest = check_rest(chain, shards, done)
        check_most(chain, copy, len(shards.samples) - len(rest))
        check_copies(chain, shards, copy, rest)


def damaged_copy(chain, shards):
    """Returns a copy of a data set, and a description of the damage in it."""
    if not shards.is_set or not shards.is_local:
        raise Foreseen("nothing guards it")
    copy = chain.new("damaged")
    chain.copy([os.path.join(shards.folder, name)
                for name in os.listdir(chain.path(shards.folder))
                if os.path.isfile(chain.path(os.path.join(shards.folder, name)))], copy)
    flips = {flip(chain, copy, chain.chance.choice(shards.names))
             for _ in range(chain.chance.choice([1, 1, 1, 3, 5]))} - {None}
    if not flips:
        raise Foreseen("an empty shard")
    return copy, flips


def flip(chain, folder, name):
    """Changes a bit of a shard. Returns its position, or None if the shard is empty."""
    place = chain.path(os.path.join(folder, name))
    data = bytearray(readers.read(place))
    if not data:
        return None
    at, bit = chain.chance.randrange(len(data)), 1 << chain.chance.randrange(8)
    data[at] ^= bit
    with open(place, "wb") as file:
        file.write(data)
    chain.lines.append("# flip 0x%02x at %d of %s/%s" % (bit, at, folder, name))
    return name, at, bit


def check_rest(chain, shards, done):
    """Checks the samples that were read from a damaged data set."""
    rest = readers.foreign(done.stdout, "tfrecord", "x")
    every = set(shards.samples)
    for sample in rest:
        if sample not in every:
            chain.fail("a damaged sample was handed out:", readers.brief(sample))
    check_counted(chain, done, len(shards.samples) - len(rest))
    return rest


def check_counted(chain, done, lost):
    text = done.stderr.decode(errors="replace")
    said = sum(map(int, re.findall(r"(\d+) corrupt records? skipped", text)))
    if lost != said:
        chain.fail("%d samples are missing, and %d are said to be" % (lost, said), text[-2000:])


def check_most(chain, copy, lost):
    """Checks the limit of skipped samples: the exact number is enough, and one less is too few."""
    words = ["cat", copy, "--null", "--no-shuffle", "--on-corrupt", "skip", "--max-corrupt"]
    chain.sheaf(*words, lost)
    if lost:
        chain.sheaf(*words, lost - 1, status=1)


def check_copies(chain, shards, copy, rest):
    """Checks that convert and unpack make the same of a damaged data set as cat."""
    target, tree, lost = chain.new("set"), chain.new("tree"), len(shards.samples) - len(rest)
    container = chain.chance.choice(["webdataset", "tfrecord", "recordio"])
    cannot = not rest or any(model.cannot_hold(sample, container) for sample in rest)
    done = chain.sheaf("convert", copy, target, "--format", container, "--on-corrupt", "skip",
                       status=None if cannot else 0)
    if done.returncode == 0:
        check_counted(chain, done, lost)
        held = chain.read_set(target, "convert")
        chain.same([s for shard in held.shards for s in shard], rest, "what is left, converted")
    files = [pair for sample in rest for pair in model.paths(sample)]
    done = chain.sheaf("unpack", copy, tree, "--on-corrupt", "skip", status=None)
    if done.returncode == 0:
        check_counted(chain, done, lost)
        chain.equal(readers.tree_of(chain.path(tree)), dict(files), "what is left, unpacked")
