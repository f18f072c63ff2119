# SPDX-License-Identifier: MIT
"""Steps that make data sets of files: pack, also killed and resumed, and plan, parts and commit."""

import json
import os

import counts
import decoders
import meter
import model
import peers
import photos
import pictures
import readers
from chain import Foreseen, Shards
from trees import write

FILES = (r"; (\d+) of (\d+) files? (?:packed|planned), (\d+) files? skipped"
         r"(?:[^\n]*, (\d+) images? converted)?")
PACKED = (r"packed (\d+) samples? \((\d+) payload bytes?\) into (\d+) shards? \((\d+) bytes?\)"
          r"(?:, \d+ of them kept)?" + FILES)
PLANNED = r"planned (\d+) samples? \((\d+) payload bytes?\) in (\d+) shards?" + FILES
PART = (r"part \d+ of \d+: (\d+) samples? \((\d+) payload bytes?\) in (\d+) shards?, (\d+) of them "
        r"kept" + FILES)
COMMITTED = (r"committed (?:already: )?(\d+) samples? \((\d+) payload bytes?\) in (\d+) shards? "
             r"\((\d+) bytes?\)")


class Settings:
    """The settings of a run, as options and in the terms of the model."""

    def __init__(self, chain, source):
        chance = chain.chance
        self.images = pictures.choose(chance, 0.8 if has_odd_images(source) else 0.1)
        self.container = chance.choice(["webdataset", "tfrecord", "recordio"])
        self.codec = chance.choice(["none", "none", "gzip", "lz4", "zstd"])
        self.base = chance.choice([0, 0, 1])
        self.seed = chance.choice([0, 1, 7, (1 << 64) - 1])
        self.shuffle = chance.random() < 0.7
        self.skip = chance.random() < 0.75
        self.skip_changed = self.skip and chance.random() < 0.6     # also skip changed files
        self.split = chance.choice([None] * 6 + ["train=0.8,val=rest", "a=0.5,b=0.5",
                                                 "t=1/class,v=2/class,r=rest"])
        self.peers = peers.choose(chance, self.container, self.codec, 0.2)
        self.prefix = chance.choice(["shard"] * 9 + ["data_1"])
        self.cut = chance.choice([[], ["--shard-count", chance.choice([1, 2, 3, 7])],
                                  ["--shard-size", chance.choice([1, 500, 5000, 100000])]])

    def options(self):
        words = ["--format", self.container, "--codec", self.codec, *self.cut]
        words += ["--label-base", self.base] if self.base else []
        words += ["--seed", self.seed] if self.seed else []
        words += [] if self.shuffle else ["--no-shuffle"]
        words += ["--on-error", "skip"] if self.skip else []
        words += ["--on-change", "skip"] if self.skip_changed else []
        words += ["--split", self.split] if self.split else []
        words += peers.options(self.peers) + self.images.words()
        words += ["--prefix", self.prefix] if self.prefix != "shard" else []
        return words

    def splits(self):
        return [part.partition("=")[0] for part in self.split.split(",")] if self.split else []


class Naming:
    """The classes of directories, and their numbers."""

    KINDS = ("tree", "prefix", "manifest", "archive")

    def __init__(self, chain=None, source=None):
        self.depth, self.names, self.file = 0, None, None
        if chain is None or source.kind not in self.KINDS or chain.chance.random() < 0.7:
            return
        chance = chain.chance
        self.depth = chance.choice([0, 1, 1, 2])
        names = sorted({label for path, label in self.entries(source)
                        if isinstance(label, str) and model.is_text(path)})
        if not names or chance.random() < 0.5:
            return
        self.names = names + chance.choice([[], ["no such class"]])
        chance.shuffle(self.names)
        self.file = chain.new("classes") + chance.choice([".json", ".txt"])
        text = json.dumps(self.names) if self.file.endswith("json") else "\n".join(self.names) + "\n"
        if text.startswith("["):        # a name may also begin with a bracket
            text = json.dumps(self.names)
        write(chain.folder, {self.file: text.encode()})

    def entries(self, source):
        return model.at_depth(source.entries, self.depth)

    def words(self):
        words = ["--class-depth", self.depth] if self.depth else []
        return words + (["--classes", self.file] if self.file else [])


def has_odd_images(source):
    return any(data in photos.odd() for data in source.files.values())


class Job:
    """The packing of one source to one place, and the expected result."""

    def __init__(self, chain, source, dest=None, settings=None, naming=None):
        self.chain, self.source, self.naming = chain, source, naming or Naming()
        self.dest, self.metrics = dest or chain.new_dest(), None
        self.settings = settings = settings or Settings(chain, source)
        self.planned = model.plan(source.files, self.naming.entries(source), settings.container,
                                  settings.base, images=settings.images, given=self.naming.names)
        self.samples = model.pack_order(self.planned.samples, settings.seed, settings.shuffle)

    def words(self, *more):
        jobs = self.chain.chance.choice([[], ["--jobs", 1], ["--jobs", 3], ["--jobs", 2, *(
            ["--memory", "64MiB"] if self.is_narrow() else [])]])
        if self.dest.startswith("s3://"):       # these options do not change the bytes
            jobs = jobs + self.chain.chance.choice([[], ["--s3", "checksum=crc64nvme"], [
                "--s3", "acl=private", "--s3", "checksum=crc32c", "--s3", "content-md5=true"]])
        return ["pack", *self.source.arguments, self.dest, *self.options(), *jobs, *more]

    def options(self):
        return [*self.source.options, *self.settings.options(), *self.naming.words()]

    def is_narrow(self):
        """Returns whether little memory is enough: there must be room for a JPEG of each file of a sample."""
        return self.settings.images is pictures.PLAIN or \
            all(len(sample.fields) < 100 for sample in self.samples)

    def may_refuse(self):
        """Returns reasons for which packing may fail although the files are good."""
        settings = self.settings        # a split may be left empty
        return bool(settings.split) or peers.refuses(settings.peers, settings.container,
                                                     self.samples)

    def paths(self, sample):
        """Returns the files of a sample."""
        return [path for path, _ in model.paths(sample)]

    def refused(self):
        """Returns words of which the error must contain one, or None if packing must succeed."""
        if not self.settings.skip and self.planned.skipped:
            return [model.printable(path) for path in self.planned.skipped]
        return None if self.samples else ["no file", "no sample", "nothing", "none would be in"]

    def run(self, *more):
        """Packs. Returns whether it succeeded."""
        words, self.metrics = self.refused(), meter.Meter(self.chain)
        more += (*self.metrics.words(), *self.chain.chance.choice([[], [], ["--verbose"]]))
        if words is not None:
            words = [*words, "index: ", "none would be in"] if self.may_refuse() else words
            done = self.chain.sheaf(*self.words(*more), status=1, says=words)
            self.metrics.check(done.returncode)
            self.nothing_there()
            raise Foreseen(words[0])
        done = self.chain.sheaf(*self.words(*more), status=None if self.may_refuse() else 0)
        if done.returncode != 0:
            self.metrics.check(done.returncode)
            self.nothing_there()
            raise Foreseen("an index or a split")
        return done

    def places(self):
        """Returns the places of the data sets: the splits, or the single one."""
        join = "" if self.dest.endswith("/") else "/"
        return [self.dest + join + name for name in self.settings.splits()] or [self.dest]

    def nothing_there(self):
        for place in self.places():
            self.chain.sheaf("info", place, status=1)

    def check(self, numbers, stored=True):
        """Reads the result, compares it with the model, and adds it to the chain."""
        chain, settings = self.chain, self.settings
        found = [chain.read_set(place, "pack") for place in self.places()]
        every = [sample for held in found for shard in held.shards for sample in shard]
        if settings.split:
            chain.same(every, self.samples, "packed samples", ordered=False)
            order = {sample: number for number, sample in enumerate(self.samples)}
            for held in found:
                numbered = [order[sample] for shard in held.shards for sample in shard]
                chain.equal(numbered, sorted(numbered), "the order in a split")
        else:
            chain.same(every, self.samples, "packed samples")
        for held in found:
            chain.equal(held.classes, self.planned.classes, "classes")
            chain.equal((held.base, held.container, held.codec),
                        (settings.base, settings.container, settings.codec), "the manifest")
        self.check_skipped()
        expected = [len(every), model.payload(every), sum(len(held.shards) for held in found)]
        if stored:
            expected.append(sum(held.manifest["bytes"] for held in found))
        expected += [sum(len(sample.fields) for sample in every), len(self.source.entries),
                     self.planned.skipped.total(), len(self.planned.converted)]
        chain.equal(numbers, expected, "the sums that were printed")
        if self.metrics:
            self.metrics.check(samples=len(every), payload_bytes=model.payload(every),
                               stored_bytes=sum(held.manifest["bytes"] for held in found),
                               files_packed=expected[-4], skipped=expected[-2])
        for place, held, split in zip(self.places(), found, settings.splits() or ["train"]):
            check_peers(chain, place, held, settings.peers, split)
            give(chain, place, held)

    def check_skipped(self):
        check_lists(self.chain, self.dest, self.planned)


def check_lists(chain, place, planned, number=""):
    """Checks the lists of skipped files and of converted images. Each must be listed exactly once."""
    folder = chain.local(place)
    skipped = lines_of(chain, os.path.join(folder, "skipped%s.tsv" % number))
    chain.equal(sorted(path for path, _ in skipped),
                sorted(map(model.printable, planned.skipped.elements())), "skipped.tsv")
    converted = lines_of(chain, os.path.join(folder, "converted%s.tsv" % number))
    chain.equal(sorted(converted), sorted((model.printable(path), why) for path, why
                                          in planned.converted.items()), "converted.tsv")


def lines_of(chain, place):
    """Returns the lines of a list, (path, why), or None if there is no list."""
    if not os.path.exists(place):
        return []
    lines = readers.read(place).decode().split("\n")
    chain.equal(lines.pop(), "", "the end of " + os.path.basename(place))
    return [tuple(line.split("\t")) for line in lines]


def check_peers(chain, place, held, wanted, split="train"):
    """Checks the requested index files of other readers."""
    if not wanted:
        return
    try:
        peers.check(chain.local(place), held, wanted, split)
    except (decoders.Bad, OSError, KeyError, ValueError) as error:
        chain.fail("%s, index files for %s: %s" % (place, wanted, error))
    chain.sheaf("verify", place)


def give(chain, place, held):
    """Makes the data set at a place a thing of the chain."""
    counts.check(chain, place, held)
    chain.things.append(Shards([place], held.shards, container=held.container, codec=held.codec,
                               classes=held.classes, base=held.base, names=held.names,
                               ids=held.ids, texts=held.texts, folder=place,
                               foreign=held.manifest["foreign"],
                               first=counts.before_growth(held),
                               fingerprint=held.manifest["fingerprint"]))


def pack(chain, source):
    job = Job(chain, source, naming=Naming(chain, source))
    if chain.chance.random() < 0.15:
        return killed(chain, job)
    if chain.chance.random() < 0.1:
        dry_run(chain, job)
    done = job.run()
    job.check(chain.numbers(done, PACKED))
    if chain.chance.random() < 0.1:
        chain.sheaf(*job.words(), status=1, says=[job.dest])       # nothing is replaced without --overwrite
    return None


def dry_run(chain, job):
    if job.refused() is None and not job.may_refuse():
        done = chain.sheaf(*job.words("--dry-run"))
        fields = done.stdout.decode().splitlines()[-1].split("\t")
        chain.equal(fields[0], "total", "the last line of a dry run")
        if not job.planned.skipped:
            chain.equal([int(fields[-2]), int(fields[-1])],
                        [len(job.samples), job.planned.payload], "the sums of a dry run")


def killed(chain, job):
    """Kills packing once or more. The destination must be whole or refused, and the last run must complete it."""
    if job.refused() is not None or job.may_refuse():
        raise Foreseen("nothing to kill")
    metrics = meter.Meter(chain)
    for number in range(chain.chance.choice([1, 1, 2, 3])):
        chain.kill(*job.words(*(["--resume"] if number else [])), *metrics.words())
        metrics.check_killed()
        whole_or_refused(chain, job)
    way = chain.chance.choice(["--resume", "--overwrite"])
    done = chain.sheaf(*job.words(way))
    job.check(chain.numbers(done, PACKED))


def whole_or_refused(chain, job):
    for place in job.places():
        done = chain.sheaf("verify", place, status=None)
        if done.returncode == 0:
            held = chain.read_set(place, "after a kill")
            chain.same([s for shard in held.shards for s in shard], job.samples,
                       "what a killed run left, and verify accepts")


# ---- Plans -----------------------------------------------------------------------------------

def parts(chain, source):
    """Runs plan, the parts in any order, some of them twice, some killed first, and then commit."""
    job, chance = Job(chain, source, naming=Naming(chain, source)), chain.chance
    plan = chain.new("plan")
    words = ["plan", *source.arguments, job.dest, "-o", plan, *job.options()]
    early = job.planned.early
    if not job.settings.skip and early:
        chain.sheaf(*words, status=1, says=list(map(model.printable, early)))
        raise Foreseen("a bad name")
    no_sample = job.refused() is not None and not job.planned.skipped - early
    done = chain.sheaf(*words, status=1 if no_sample else None if job.may_refuse() else 0)
    if done.returncode != 0:
        raise Foreseen("a plan of nothing")
    late = job.planned.skipped - early
    if not late:
        chain.equal(chain.numbers(done, PLANNED)[:2],
                    [len(job.samples), job.planned.payload], "the sums of a plan")
    count = chance.choice([1, 2, 3, 5])
    order = chance.sample(range(count), count)
    if chance.random() < 0.3:
        order.append(chance.choice(order))
    if not run_parts(chain, job, plan, order, count, late):
        chain.sheaf("commit", plan, status=1)
        raise Foreseen("a bad file")
    commit(chain, job, plan)


def run_parts(chain, job, plan, order, count, late):
    """Returns whether all parts succeeded."""
    chance, good = chain.chance, True
    samples = seen = 0
    bad = None if job.settings.skip or not late else list(map(model.printable, late))
    if job.may_refuse():
        bad = (bad or []) + ["index: "]
    for part in order:
        words = ["pack", "--plan", plan, "--part", "%d/%d" % (part, count)]
        if chance.random() < 0.1:
            chain.kill(*words)
        done = chain.sheaf(*words, status=0 if bad is None else None, says=bad or ())
        good = good and done.returncode == 0
        if done.returncode == 0 and order.index(part) == seen:
            samples += chain.numbers(done, PART)[0]
            seen += 1
    if good and not job.may_refuse():
        chain.equal(samples, len(job.samples), "the samples of all parts")
    return good


def commit(chain, job, plan):
    done = chain.sheaf("commit", plan, status=None if job.may_refuse() or not job.samples else 0)
    if done.returncode != 0:
        job.nothing_there()
        raise Foreseen("an index, or nothing in it")
    job.check(chain.numbers(done, COMMITTED + FILES))
    if chain.chance.random() < 0.2:
        again = chain.sheaf("commit", plan)
        chain.equal(chain.numbers(again, COMMITTED), chain.numbers(done, COMMITTED),
                    "the sums of a second commit")
