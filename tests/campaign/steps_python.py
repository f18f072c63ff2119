# SPDX-License-Identifier: MIT
"""Steps that read with the Python package: samples by number, and PyTorch's loader in any world, with any number of
workers, killed and resumed. The program that reads is loading.py."""

import collections
import importlib.util
import json
import os
import signal
import subprocess
import sys

import loading
import model
import steps_read
from chain import BUILD, TIMEOUT, Foreseen
from order_reference import KEEP

PACKAGE = os.path.join(BUILD, "python")
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "loading.py")
WORLDS = [1, 1, 1, 2, 3, 4]


def is_there():
    """Returns whether the package is built, and says so if it is not."""
    return os.path.isdir(os.path.join(PACKAGE, "sheaf"))


def has_torch():
    return is_there() and importlib.util.find_spec("torch") is not None


class Run:
    """The program, running in the background."""

    def __init__(self, chain, task):
        self.chain = chain
        text = json.dumps({"sources": [], **task})
        chain.note("PYTHONPATH=" + PACKAGE, sys.executable, PROGRAM, text)
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, text], cwd=chain.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            env=dict(chain.env, PYTHONPATH=PACKAGE))

    def lines(self):
        """Returns everything that the program prints until it ends."""
        try:
            out, errors = self.process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
            self.chain.fail("the program does not end")
        self.check(errors)
        return [json.loads(line) for line in out.splitlines()]

    def check(self, errors):
        if self.process.returncode != 0:
            self.chain.fail("the program ended with status %d:" % self.process.returncode,
                            errors.decode(errors="replace")[-3000:])

    def some(self, count):
        """Returns a number of lines, then kills the program and its workers."""
        found = []
        while len(found) < count:
            line = self.process.stdout.readline()
            if not line.endswith(b"\n"):
                break
            found.append(json.loads(line))
        ended = len(found) < count
        if not ended:
            self.kill()
        errors = self.process.communicate()[1]
        if ended:
            self.check(errors)
        self.chain.lines.append("# killed after %d lines" % len(found))
        return found

    def refused(self, *says):
        """Checks that the program ends with an exception whose message contains one of these words."""
        errors = self.process.communicate(timeout=TIMEOUT)[1]
        if self.process.returncode != 1 or not any(word in errors for word in says):
            self.chain.fail("the program ended with status %d, not by any of %r:" % (
                self.process.returncode, says), errors.decode(errors="replace")[-3000:])

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


# ---- By number -------------------------------------------------------------------------------

def described(sample, number, repeated=False):
    """Returns what the program must print about a sample."""
    labels = [int(label) if label == int(label) else label for label in sample.labels]
    return [number, sample.key, labels, sample.name, repeated,
            [suffix for suffix, _ in sample.fields],
            loading.digest(data for _, data in sample.fields)]


def numbered(chain, shards):
    """Reads samples by number: one by one, many at once, as a slice, and in a child process."""
    chance, every = chain.chance, shards.samples
    if not every:
        raise Foreseen("no sample")
    count = len(every)
    numbers = [chance.randrange(-count, count) for _ in range(chance.choice([1, 3, 20]))]
    cut = [chance.choice([None, 0, 1, -2, count // 2]), chance.choice([None, count, -1, 3]),
           chance.choice([None, 1, 2, -1])]
    if not range(count)[slice(*cut)]:           # an empty slice raises IndexError
        cut = [None, None, -1]
    run = Run(chain, {"how": "random", "sources": shards.arguments, "numbers": numbers,
                      "slice": cut})
    if shards.is_stream:
        run.refused(b"stream")
        raise Foreseen("a stream has no numbers")
    length, *batches = run.lines()
    chain.equal(length, {"count": count}, "the length")
    chosen = [described(every[number], range(count)[number]) for number in numbers]
    slices = [described(every[number], number) for number in range(count)[slice(*cut)]]
    for found, expected in zip(batches, (chosen, chosen, slices, chosen), strict=True):
        same(chain, found["batch"], expected, "samples by number")


def same(chain, found, expected, what):
    if found == expected:
        return
    at = next((i for i, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]),
              min(len(found), len(expected)))
    chain.fail("%s: %d, expected %d; number %d is" % (what, len(found), len(expected), at),
               found[at:at + 1], "expected", expected[at:at + 1])


# ---- By a loader -----------------------------------------------------------------------------

class Epochs:
    """A loader's options, and what its ranks read. Rank r of W reads the samples of the epoch whose place is r modulo
    W, after all ranks together have read `done` samples."""

    def __init__(self, chain, shards):
        chance = chain.chance
        self.shards, self.seed = shards, chance.choice([0, 1, 7, (1 << 64) - 1])
        self.shuffle, self.buffer = chance.random() < 0.8, chance.choice([0, 1, 3, 10, 10000])
        self.lanes = chance.choice([1, 12])
        self.remainder = chance.choice(["auto", "pad", "drop", "keep"])
        self.first, self.lines = chance.choice([0, 3]), {}
        self.options = {"seed": self.seed, "no_shuffle": not self.shuffle, "lanes": self.lanes,
                        "shuffle_buffer": self.buffer, "remainder": self.remainder,
                        "epoch": self.first}
        if not shards.is_local and chance.random() < 0.5:
            self.options["cache_directory"] = chain.new("cache")

    def worlds(self):
        """Returns the worlds that can divide the epoch."""
        return [world for world in WORLDS if self.lanes % world == 0 and
                self.shards.epoch_length >= world]

    def line(self, epoch):
        if epoch not in self.lines:
            self.lines[epoch] = self.shards.epoch(
                seed=self.seed, epoch=epoch, shuffle=self.shuffle, buffer=self.buffer,
                lanes=self.lanes, remainder=KEEP, rank=0, world=1, worker=0, workers=1)
        return self.lines[epoch]

    def of_rank(self, place, rank, world):
        """Returns the rest of an epoch for a rank."""
        epoch, done = place
        line, every = self.line(epoch), self.shards.samples
        own = [line[at] for at in range(len(line)) if at % world == rank]
        rest = [line[at] for at in range(done, len(line)) if at % world == rank]
        found = [described(every[number], number) for number in rest]
        kind, left = self.remainder, len(line) - done
        if kind == "drop":
            return found[:left // world]
        if kind == "pad" or (kind == "auto" and world > 1):
            for _ in range(-(-left // world) - len(found)):
                found.append(described(every[own[-1]], own[-1], True))
        return found

    def after(self, place, batches, size, world):
        """Returns the place of a state that was saved at this point."""
        epoch, done = place[0], place[1] + batches * size * world
        return (epoch + 1, 0) if done >= len(self.line(epoch)) else (epoch, done)


def phase_of(chain, epochs):
    chance, size = chain.chance, chain.chance.choice([1, 3, 8, 50])
    most = epochs.shards.epoch_length // size + 2
    return {"world": chance.choice(epochs.worlds()), "workers": chance.choice([0, 0, 1, 2, 3]),
            "batch": size, "steps": chance.choice([chance.randrange(most), most, most]),
            "raw": chance.random() < 0.4}


def loader(chain, shards):
    """Reads a pass in several runs, each in another world, with other workers and batches. In some chains, the first
    run is killed."""
    epochs = Epochs(chain, shards)
    if not shards.samples:
        raise Foreseen("no sample")
    phases = [phase_of(chain, epochs) for _ in range(chain.chance.choice([1, 2, 3]))]
    place, state = (epochs.first, 0), None
    task = {"how": "loader", "sources": shards.arguments, "options": epochs.options, "state": None}
    if shards.is_stream:
        raise Foreseen("a stream's order is not modelled")
    if chain.chance.random() < 0.4:
        phase = {**phase_of(chain, epochs), "world": 1}
        place, state = killed(chain, epochs, {**task, "phases": [phase]})
    lines = Run(chain, {**task, "state": state, "phases": phases}).lines()
    for phase in phases:
        place = check_phase(chain, epochs, phase, place, lines)
    chain.equal(lines, [], "lines of no phase")


def killed(chain, epochs, task):
    """Kills one rank's pass. Returns (place, state) of the last batch that it printed."""
    phase, place = task["phases"][0], (epochs.first, 0)
    found = Run(chain, task).some(chain.chance.randrange(phase["steps"] + 1))
    batches = [line["batch"] for line in found if line["batch"] is not None]
    expected = epochs.of_rank(place, 0, 1)
    same(chain, sum(batches, []), expected[:len(batches) * phase["batch"]], "before it was killed")
    if not found:
        return place, None
    return epochs.after(place, len(batches), phase["batch"], 1), found[-1]["state"]


def check_phase(chain, epochs, phase, place, lines):
    """Checks the lines of a phase. Returns the place where the next phase begins."""
    world, size = phase["world"], phase["batch"]
    for rank in range(world):
        batches = []
        while lines and lines[0]["rank"] == rank and lines[0]["batch"] is not None:
            batches.append(lines.pop(0)["batch"])
        chain.equal(lines[:1] and (lines[0]["rank"], lines[0]["batch"]), (rank, None),
                    "the end of rank %d" % rank)
        lines.pop(0)
        expected = epochs.of_rank(place, rank, world)
        same(chain, sum(batches, []), expected[:phase["steps"] * size],
             "rank %d of %d from %r on" % (rank, world, place))
        chain.equal([len(batch) for batch in batches[:-1]], [size] * len(batches[:-1]),
                    "the sizes of batches")
    had = min(phase["steps"], -(-len(epochs.of_rank(place, 0, world)) // size))
    if phase["steps"] > had:            # one more batch was requested, at the end of the epoch
        return place[0] + 1, 0
    return epochs.after(place, had, size, world)


def damaged(chain, shards):
    """Checks that with on_corrupt="skip" a batch only lacks its damaged samples, and that these are the samples that
    `sheaf cat` leaves out."""
    if not shards.samples:
        raise Foreseen("no sample")
    copy, _ = steps_read.damaged_copy(chain, shards)
    done = chain.sheaf("cat", copy, "--list", "--no-shuffle", "--on-corrupt", "skip", status=None)
    if done.returncode != 0:
        raise Foreseen("damage that ends a shard")
    left = collections.Counter(done.stdout.decode().splitlines())
    good = {number for number, sample in enumerate(shards.samples) if left[model.listing(sample)]}
    epochs = Epochs(chain, shards)
    epochs.options["on_corrupt"] = "skip"
    phase = {**phase_of(chain, epochs), "steps": len(shards.samples) + 1}
    wholes = [epochs.of_rank((epochs.first, 0), rank, phase["world"])
              for rank in range(phase["world"])]
    run = Run(chain, {"how": "loader", "sources": [copy], "options": epochs.options,
                      "state": None, "phases": [phase]})
    if any(whole and not any(one[0] in good for one in whole) for whole in wholes):
        run.refused(b"all that was found was corrupt", b"use larger batches")
        raise Foreseen("a rank has damage alone")
    cuts = [[whole[at:at + phase["batch"]] for at in range(0, len(whole), phase["batch"])]
            for whole in wholes]
    cuts = [[[one for one in batch if one[0] in good] for batch in cut] for cut in cuts]
    if phase["world"] > 1 and not all(batch for cut in cuts for batch in cut):
        run.refused(b"use larger batches")      # otherwise a rank would make one step less
        raise Foreseen("a batch is damage alone")
    lines = run.lines()
    for rank, cut in enumerate(cuts):
        found = [line["batch"] for line in lines
                 if line["rank"] == rank and line["batch"] is not None]
        same(chain, found, [batch for batch in cut if batch],
             "batches of damaged shards, rank %d of %d" % (rank, phase["world"]))


def epoch_of_each(chain, shards):
    """Checks that all ranks together read each sample once, also from a stream, with any number of workers."""
    chance, every = chain.chance, shards.samples
    world = 1 if shards.is_stream else chance.choice([1, 1, 2])
    seed, shuffle = chance.choice([0, 7]), chance.random() < 0.8
    task = {"how": "epoch", "sources": shards.arguments, "world": world,
            "batch": chance.choice([1, 7, 50]), "options": {"seed": seed, "no_shuffle": not shuffle,
                                                            "shuffle_buffer": 10, "epoch": 1}}
    lines = [Run(chain, {**task, "workers": workers}).lines()
             for workers in (0, chance.choice([1, 2, 3]))]
    chain.equal(lines[1], lines[0], "the batches with workers")
    found = [sample for line in lines[0] for sample in line["batch"]]
    expected = [described(sample, number) for number, sample in enumerate(every)]
    if shards.is_stream:                # samples of a stream are numbered in the order in which they arrive
        found, expected = [[one[1:] for one in some] for some in (found, expected)]
    same(chain, sorted(found, key=repr), sorted(expected, key=repr), "the samples of all ranks")
