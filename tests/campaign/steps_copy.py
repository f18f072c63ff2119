# SPDX-License-Identifier: MIT
"""Steps that make shards or files from shards: convert (plain, by parts, of several data sets), unpack, index, and
the loss of a manifest."""

import copy
import os
import re

import decoders
import model
import peers
import readers
import steps_pack
from chain import Foreseen, Shards, Source
from sources import tree_entries

CONVERTED = (r"converted (\d+) samples? \((\d+) payload bytes?\) into (\d+) shards? "
             r"\((\d+) bytes?\)")
UNPACKED = r"unpacked (\d+) samples?: (\d+) files?, (\d+) bytes?"
INDEXED = r"indexed (\d+) samples? in (\d+) shards?, (\d+) bytes? read"


# ---- Other names for fields ------------------------------------------------------------------

class FieldMap:
    """Pairs of names for --field-map, and the resulting samples. A field may become the label of a sample without
    one."""

    def __init__(self, chance, shards):
        names = sorted({model.lower(suffix) for sample in shards.samples
                        for suffix, _ in sample.fields if not set("=,") & set(suffix)})
        some = chance.sample(names, min(len(names), chance.choice([1, 1, 2])))
        self.pairs = {name: chance.choice(["New", "x.y", "label", some[0], names[0], name + "2"])
                      for name in some}

    def words(self):
        return ["--field-map", ",".join("=".join(pair) for pair in self.pairs.items())]

    def is_bad(self):
        """Returns whether two fields get the same name."""
        names = [model.lower(name) for name in self.pairs.values()]
        return len(set(names)) < len(names)

    def apply(self, sample, shards):
        """Returns the renamed sample, or a text that says why it is impossible."""
        fields = []
        for suffix, data in sample.fields:
            to = self.pairs.get(model.lower(suffix), suffix)
            if to != "label" or to == suffix:
                fields.append((to, data))
                continue
            numbers = decoders.parse_labels(data)
            if sample.labels or not numbers or len(numbers) > 1 or \
                    numbers[0] != int(numbers[0]):
                return "no label"
            labels = (float(numbers[0]),)
            sample = sample._replace(labels=labels, name=model.class_of(
                labels, shards.classes, shards.base))
        fields = tuple(sorted(fields, key=lambda field: field[0].encode()))
        sample = sample._replace(fields=fields)
        return sample if len(set(model.field_names(sample))) == len(fields) else "two of one name"


def mapped(chain, shards, target):
    """Returns the samples with other names, which a conversion then copies, or None if it is impossible."""
    target.map = chosen = FieldMap(chain.chance, shards)
    made = [[chosen.apply(sample, shards) for sample in shard] for shard in shards.shards]
    bad = any(isinstance(sample, str) for shard in made for sample in shard)
    if chosen.is_bad() or bad:
        return None
    found = copy.copy(shards)
    found.shards = made
    return found


# ---- convert ---------------------------------------------------------------------------------

class Target:
    """The destination of a conversion, its form, and whether it has new shards or a new order."""

    def __init__(self, chain, can_be_anew=False):
        self.dest, self.map, self.repeated = chain.new_dest(), None, None
        self.container = chain.chance.choice(["webdataset", "tfrecord", "recordio"])
        self.codec = chain.chance.choice(["none", "none", "gzip", "lz4", "zstd"])
        self.peers = peers.choose(chain.chance, self.container, self.codec, 0.4)
        chance, is_anew = chain.chance, can_be_anew and chain.chance.random() < 0.5
        self.shuffle, self.seed = is_anew and chance.random() < 0.6, chance.choice([0, 1, 7])
        self.count = chance.choice([None, 1, 3, 7, 1000]) if is_anew else None
        self.size = chance.choice([1, 500, 5000]) if is_anew and self.count is None else None

    def options(self):
        words = ["--format", self.container, "--codec", self.codec, *peers.options(self.peers)]
        words += ["--shuffle", "--seed", self.seed] if self.shuffle else []
        words += ["--shard-count", self.count] if self.count else []
        words += self.map.words() if self.map else []
        words += ["--duplicate-keys", self.repeated] if self.repeated else []
        return words + (["--shard-size", self.size] if self.size else [])

    def numbers(self, shards):
        """Returns the numbers of the samples, in the order in which they are copied."""
        if not self.shuffle:
            return shards.epoch(shuffle=False)
        return shards.epoch(seed=self.seed, buffer=max(1, shards.epoch_length))

    def cut(self, samples):
        """Returns the new shards. A sample is in the shard whose share contains the sample's middle."""
        if self.count:
            most, whole = min(self.count, len(samples)), len(samples)
            places = range(len(samples))
        else:
            whole, at, places = model.payload(samples), 0, []
            most = max(1, whole // self.size +
                       (whole % self.size >= self.size - self.size // 2))
            for own in (model.payload([sample]) for sample in samples):
                places.append(at + own // 2)
                at += own
        made = {}
        for place, sample in zip(places, samples):
            made.setdefault(min(place * most // max(1, whole), most - 1), []).append(sample)
        return list(made.values())

    def shards(self, shards):
        """Returns the expected shards."""
        if not self.count and not self.size:
            return [shard for shard in shards.shards if shard]
        every = shards.samples
        return self.cut([every[number] for number in self.numbers(shards)])


def told_apart(shards, how):
    """Returns the samples with unique keys: "number" gives the later ones KEY-2, KEY-3, ..., and "drop" leaves them
    out."""
    seen, made = set(), []
    for shard in shards.shards:
        made.append([])
        for sample in shard:
            key, number = sample.key, 2
            while key in seen and how == "number":
                key, number = "%s-%d" % (sample.key, number), number + 1
            if key not in seen:
                made[-1].append(sample._replace(key=key))
            seen.add(key)
    found = copy.copy(shards)
    found.shards = made
    return found


def convert_refused(shards, target):
    """Returns words that the error may contain if the conversion is impossible, or None if it is possible."""
    samples, container = shards.samples, target.container
    words = [s.key for s in samples if model.cannot_hold(s, container)]
    keys = [s.key for s in samples]
    if len(set(keys)) < len(keys):
        words += [key for key in set(keys) if keys.count(key) > 1]
    words += list(map(model.printable, words))
    if not words and peers.refuses(target.peers, container, samples):
        return ["index: "]
    return words or None


def has_repeated_keys(shards):
    return len({sample.key for sample in shards.samples}) < len(shards.samples)


def convert(chain, shards):
    target, source = Target(chain, shards.is_set), shards
    if not target.size and any(sample.fields for sample in shards.samples) and \
            chain.chance.random() < 0.25:
        shards = mapped(chain, source, target)
    words = ["convert", *source.arguments, target.dest, *target.options()]
    if shards is None:
        chain.sheaf(*words, status=1)
        chain.sheaf("info", target.dest, status=1)
        raise Foreseen("fields that cannot have other names")
    if has_repeated_keys(shards) and not target.shuffle and not target.count and \
            not target.size and chain.chance.random() < 0.7:
        target.repeated = chain.chance.choice(["number", "drop"])
        shards = told_apart(shards, target.repeated)
        words = ["convert", *source.arguments, target.dest, *target.options()]
    refused = convert_refused(shards, target)
    if refused is not None:
        chain.sheaf(*words, status=1, says=refused)
        chain.sheaf("info", target.dest, status=1)
        raise Foreseen(refused[0])
    if not shards.is_local:
        words += chain.chance.choice([[], ["--cache", chain.new("cache")]])
    words += chain.chance.choice([[], [], ["--jobs", 1], ["--jobs", 3, "--memory", "128MiB"]])
    if chain.chance.random() < 0.15:
        done = convert_killed(chain, shards, target, words)
    elif not shards.is_set and len(shards.names) == 1 and shards.container != "recordio":
        place = os.path.join(shards.folder or "", shards.names[0])
        chain.note("cat", place, "|")
        words[1:1 + len(shards.arguments)] = ["-"]
        done = chain.sheaf(*words, data=readers.read(chain.path(place)))
    else:
        done = chain.sheaf(*words)
    check_converted(chain, shards, target, chain.numbers(done, CONVERTED))


def convert_killed(chain, shards, target, words):
    chain.kill(*words)
    done = chain.sheaf("verify", target.dest, status=None)
    if done.returncode == 0:
        held = chain.read_set(target.dest, "after a kill")
        chain.same([s for shard in held.shards for s in shard],
                   [s for shard in target.shards(shards) for s in shard],
                   "what a killed conversion left, and verify accepts")
    return chain.sheaf(*words, chain.chance.choice(["--resume", "--overwrite"]))


def can_follow(thing, shards):
    """Returns whether `thing` is a data set other than `shards`, with samples, at another place."""
    return isinstance(thing, Shards) and not thing.is_view and bool(thing.samples) and thing is not shards and \
        thing.folder != shards.folder


def check_converted(chain, shards, target, numbers):
    held = chain.read_set(target.dest, "convert")
    expected = target.shards(shards)
    chain.equal(list(map(len, held.shards)), list(map(len, expected)), "samples of the shards")
    chain.same([s for shard in held.shards for s in shard],
               [s for shard in expected for s in shard], "converted samples")
    chain.equal((held.container, held.codec), (target.container, target.codec), "the manifest")
    if shards.is_set or shards.sources:
        chain.equal((held.classes, held.base), (shards.classes, shards.base), "classes")
    chain.equal(numbers, [len(shards.samples), model.payload(shards.samples), len(expected),
                          held.manifest["bytes"]], "the sums of convert")
    steps_pack.check_peers(chain, target.dest, held, target.peers)
    steps_pack.give(chain, target.dest, held)


def convert_parts(chain, shards):
    """Runs plan, convert --plan for each part, and commit."""
    if not shards.is_set or not shards.samples:
        raise Foreseen("nothing to plan")
    source, target, plan = shards, Target(chain), chain.new("plan")
    if has_repeated_keys(shards) and chain.chance.random() < 0.8:
        target.repeated = chain.chance.choice(["number", "drop"])
        shards = told_apart(shards, target.repeated)
    refused = convert_refused(shards, target)
    if refused is not None:
        raise Foreseen(refused[0])
    chain.sheaf("plan", source.arguments[0], target.dest, "-o", plan, *target.options())
    count = chain.chance.choice([1, 2, 3])
    for part in chain.chance.sample(range(count), count):
        words = ["convert", "--plan", plan, "--part", "%d/%d" % (part, count)]
        if chain.chance.random() < 0.15:
            chain.kill(*words)
        chain.sheaf(*words)
    done = chain.sheaf("commit", plan)
    check_converted(chain, shards, target, chain.numbers(done, steps_pack.COMMITTED)[:4])


# ---- unpack ----------------------------------------------------------------------------------

def unpack(chain, shards):
    folder = chain.new("tree")
    files = [pair for sample in shards.samples for pair in model.paths(sample)]
    words = ["unpack", *shards.arguments, folder]
    if not shards.is_local:
        words += chain.chance.choice([[], ["--cache", chain.new("cache")]])
    clash = clashing(files)
    if clash:
        chain.sheaf(*words, status=1, says=clash)
        raise Foreseen(clash[0])
    if chain.chance.random() < 0.3:
        done = unpack_killed(chain, folder, words, dict(files))
    else:
        done = chain.sheaf(*words)
    chain.equal(chain.numbers(done, UNPACKED), [len(shards.samples), len(files),
                                                model.payload(shards.samples)],
                "the sums of unpack")
    check_tree(chain, folder, dict(files))


def unpack_killed(chain, folder, words, files):
    """Kills unpack once or twice. Files with their final names must be whole, and --resume must write the rest."""
    for _ in range(chain.chance.choice([1, 2])):
        chain.kill(*words, *(["--resume"] if os.path.exists(chain.path(folder)) else []))
        for path, data in readers.tree_of(chain.path(folder)).items():
            if not any(part.startswith(".sheaf") for part in path.split("/")):
                chain.equal(files.get(path), data, "%s, after a kill" % path)
    return chain.sheaf(*words, "--resume")


def clashing(files):
    """Returns paths that cannot all be files: the same path twice, or one below another; and paths that no file
    system allows."""
    paths = [path for path, _ in files]
    folders = {os.path.dirname(path) for path in paths}
    for folder in list(folders):
        while folder:
            folders.add(folder)
            folder = os.path.dirname(folder)
    bad = [path for path in set(paths) if path in folders or
           any(len(os.fsencode(part)) > 255 for part in path.split("/"))]
    return bad + [path for path in set(paths) if paths.count(path) > 1]


def check_tree(chain, folder, files):
    found = readers.tree_of(chain.path(folder))
    if found != files:
        chain.fail("the files of %s differ:" % folder,
                   sorted(set(found) ^ set(files))[:6] or
                   [path for path in files if found[path] != files[path]][:6])
    if len(files) < 400:
        chain.things.append(Source(folder, files, tree_entries(files), folder))


# ---- Without a manifest ----------------------------------------------------------------------

def as_bare(shards):
    """Returns the content of a data set's shards for a reader without its manifest."""
    found = []
    for shard, (name, samples) in enumerate(zip(shards.names, shards.shards)):
        stem = name.partition(".")[0]
        found.append(samples if shards.foreign else [
            model.as_foreign(sample._replace(name=shards.texts[shard][record]), shards.container,
                             stem, record, shards.ids[shard][record])
            for record, sample in enumerate(samples)])
    return found


def strip(chain, shards):
    """Makes foreign shards of a data set, without its manifest: in a directory, or by name."""
    if not shards.names or not shards.is_local:
        raise Foreseen("no shards of its own")
    folder = chain.new("bare")
    chain.copy([os.path.join(shards.folder, name) for name in shards.names], folder)
    found = as_bare(shards)
    chain.things.append(Shards(arguments_of(chain, folder, shards.names), found, container=shards.container, codec=shards.codec,
                               is_set=False, names=shards.names, folder=folder))


def arguments_of(chain, folder, names):
    """Returns arguments that name shards: their directory, each of them, a list of them, or a pattern."""
    how, places = chain.chance.random(), [os.path.join(folder, name) for name in names]
    if how < 0.15:
        return places
    if how < 0.25:
        listing = chain.new("shards") + ".txt"
        with open(chain.path(listing), "w", encoding="utf-8") as file:
            file.write("".join(place + "\n" for place in places))
        chain.note("printf", "%s\\n", *places, ">", listing)
        return ["@" + listing]
    stem, number, rest = re.fullmatch(r"(.*-)(\d+)(.*)", names[0]).groups()
    numbers = ["%0*d" % (len(number), int(number) + i) for i in range(len(names))]
    if how < 0.35 and names == [stem + text + rest for text in numbers]:
        return [os.path.join(folder, "%s{%s..%s}%s" % (stem, number, numbers[-1], rest))]
    return [folder]


def index(chain, shards):
    """Makes a data set of foreign shards."""
    if shards.is_set or shards.folder is None:
        raise Foreseen("not in a directory of their own")
    if shards.codec != "none":
        chain.sheaf("index", shards.folder, status=1, says=[shards.folder])
        raise Foreseen("compressed")
    wanted = peers.choose(chain.chance, shards.container, "none", 0.4)
    if shards.container == "webdataset" and wanted and peers.refuses_tars(
            wanted, [readers.read(chain.path(os.path.join(shards.folder, name)))
                     for name in shards.names]):
        chain.sheaf("index", shards.folder, "--index", wanted, status=1, says=["index: "])
        wanted = None
    done = chain.sheaf("index", shards.folder, *peers.options(wanted))
    size = sum(os.path.getsize(chain.path(os.path.join(shards.folder, name)))
               for name in shards.names)
    chain.equal(chain.numbers(done, INDEXED), [len(shards.samples), len(shards.names), size],
                "the sums of index")
    held = chain.read_set(shards.folder, "index")
    chain.same([s for shard in held.shards for s in shard], shards.samples, "indexed samples")
    steps_pack.check_peers(chain, shards.folder, held, wanted)
    if chain.chance.random() < 0.3:
        index_again(chain, shards, held)
    chain.things.remove(shards)
    steps_pack.give(chain, shards.folder, held)


def index_again(chain, shards, held):
    """Indexes an indexed data set again. This is refused without --overwrite, and gives the same result with it."""
    chain.sheaf("index", shards.folder, status=1, says=[shards.folder])
    chain.sheaf("index", shards.folder, "--overwrite", "--threads", 2)
    again = chain.read_set(shards.folder, "index --overwrite")
    chain.same([s for shard in again.shards for s in shard], shards.samples, "indexed again")
    chain.equal(again.manifest["fingerprint"], held.manifest["fingerprint"], "the fingerprint")
