# SPDX-License-Identifier: MIT
"""The same work done in several ways: with other numbers of threads, with little memory, by parts, killed and
resumed, and with more or less output. Each way must leave the same files, byte for byte."""

import meter
import model
import readers
import steps_copy
import steps_pack
from chain import Foreseen

TALK = [[], [], ["--quiet"], ["--verbose"]]
PACE = [["--jobs", 1], ["--jobs", 2], ["--jobs", 5], ["--jobs", 3, "--memory", "64MiB"]]


class Way:
    """One way to run a command. kind: whole, parts or killed."""

    def __init__(self, chain, kinds):
        chance = chain.chance
        self.kind, self.pace, self.talk = (chance.choice(kinds), chance.choice(PACE),
                                           chance.choice(TALK))

    def more(self):
        return [*self.pace, *self.talk]


def packed(chain, source):
    """Packs a source twice or more."""
    settings = None
    first = None
    for _ in range(chain.chance.choice([2, 2, 3])):
        job = steps_pack.Job(chain, source, settings=settings)
        if job.refused() is not None or job.may_refuse():
            raise Foreseen("a job that may fail")
        settings, way = job.settings, Way(chain, ["whole", "whole", "parts", "killed"])
        done = {"whole": pack, "parts": pack_parts, "killed": pack_killed}[way.kind](
            chain, job, way)
        if first is None:
            first = job
            if done is not None and "--quiet" not in way.talk:
                job.check(chain.numbers(done, steps_pack.PACKED))
            else:
                check_samples(chain, job)
            continue
        same_files(chain, first.dest, job.dest)


def words_of(job, way):
    pace = way.pace if len(way.pace) == 2 or job.is_narrow() else way.pace[:2]
    return ["pack", *job.source.arguments, job.dest, *job.options(), *pace, *way.talk]


def check_samples(chain, job):
    held = chain.read_set(job.dest, "pack")
    chain.same([s for shard in held.shards for s in shard], job.samples, "packed samples")
    job.check_skipped()
    steps_pack.give(chain, job.dest, held)


def pack(chain, job, way):
    metrics = meter.Meter(chain)
    done = chain.sheaf(*words_of(job, way), *metrics.words())
    if "--quiet" in way.talk:
        chain.equal(done.stdout, b"", "what --quiet says")
    metrics.check(samples=len(job.samples), payload_bytes=model.payload(job.samples),
                  skipped=job.planned.skipped.total(), files_packed=sum(
                      len(sample.fields) for sample in job.samples))
    return done


def pack_parts(chain, job, way):
    plan, count = chain.new("plan"), chain.chance.choice([1, 2, 3])
    chain.sheaf("plan", *job.source.arguments, job.dest, "-o", plan, *job.options(), *way.talk)
    for part in chain.chance.sample(range(count), count):
        words = ["pack", "--plan", plan, "--part", "%d/%d" % (part, count), *way.pace[:2]]
        if chain.chance.random() < 0.3:
            chain.kill(*words)
        chain.sheaf(*words, *way.talk)
    chain.sheaf("commit", plan, *way.talk)


def pack_killed(chain, job, way):
    for _ in range(chain.chance.choice([1, 2])):
        chain.kill(*words_of(job, way), "--resume")
    chain.sheaf(*words_of(job, way), "--resume")


def converted(chain, shards):
    """Converts a data set twice."""
    if not shards.samples:
        raise Foreseen("nothing to convert")
    first = steps_copy.Target(chain, True)
    if steps_copy.convert_refused(shards, first) is not None:
        raise Foreseen("it cannot be converted")
    can_be_planned = not (first.shuffle or first.count or first.size)
    places = []
    for _ in range(2):
        dest = chain.new_dest()
        places.append(dest)
        way = Way(chain, ["whole", "killed"] + ["parts"] * can_be_planned)
        words = ["convert", *shards.arguments, dest, *first.options(), *way.more()]
        if way.kind == "killed":
            chain.kill(*words, "--resume")
            chain.sheaf(*words, "--resume")
        elif way.kind == "whole":
            chain.sheaf(*words)
        else:
            convert_parts(chain, shards, dest, first, way)
    same_files(chain, *places)
    held = chain.read_set(places[0], "convert")
    chain.same([s for shard in held.shards for s in shard],
               [s for shard in first.shards(shards) for s in shard], "converted samples")
    steps_pack.give(chain, places[0], held)


def convert_parts(chain, shards, dest, target, way):
    plan, count = chain.new("plan"), chain.chance.choice([1, 2])
    chain.sheaf("plan", shards.arguments[0], dest, "-o", plan, *target.options(), *way.talk)
    for part in chain.chance.sample(range(count), count):
        chain.sheaf("convert", "--plan", plan, "--part", "%d/%d" % (part, count), *way.more())
    chain.sheaf("commit", plan, *way.talk)


def same_files(chain, one, other):
    """Checks that two places have the same files."""
    found = [readers.tree_of(chain.local(place)) for place in (one, other)]
    if found[0] != found[1]:
        chain.fail("%s and %s differ:" % (one, other), sorted(set(found[0]) ^ set(found[1]))[:6] or
                   [name for name in found[0] if found[0][name] != found[1][name]][:6])
