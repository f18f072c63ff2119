# SPDX-License-Identifier: MIT
"""Steps that make views of the chain's things, by the command or by hand; describe and copy them; and change the
source of a view. Views are read by the steps of steps_read.py and steps_python.py, like any data set."""

import json
import os
import shutil
from fractions import Fraction

import xxhash

import model
import steps_copy
import steps_pack
import steps_read
import steps_union
import trees
from chain import Foreseen, Shards
from views import Part, Unknown, View, relative

MOST = 20000        # largest number of samples of an epoch that the model computes


# ---- Making ------------------------------------------------------------------------------------

def view(chain, shards):
    """Makes a view of a data set and perhaps of others, or of the same data set twice."""
    chance = chain.chance
    others = [thing for thing in chain.things if isinstance(thing, Shards) and
              thing.is_set]
    sources = [shards] + [chance.choice(others) for _ in range(chance.choice([0, 0, 1, 1, 2, 3]))]
    chance.shuffle(sources)
    by_hand = chance.random() < 0.5
    path = chain.new(chance.choice(["view", "view", "views/view"])) + \
        chance.choice([".view", ".json"])
    if chain.s3 is not None and chance.random() < 0.4:
        path = chain.s3.url + path
    rest, weights, repeats = mixing(chance, sources, by_hand)
    if by_hand:
        wheres = [conditions(chain, source, path, ["numbers"]) for source in sources]
        fields = [fields_of(chance, source) for source in sources]
    else:
        wheres = [conditions(chain, sources[0], path)] * len(sources)
        fields = [fields_of(chance, sources[0])] * len(sources)
    parts = []
    for i, source in enumerate(sources):
        where, files, numbers = wheres[i]
        members = {} if weights is None else {"weight": weights[i]}
        members.update({} if repeats is None else {"repeat": repeats[i]})
        members.update({"where": where} if where else {})
        members.update({"fields": fields[i]} if fields[i] else {})
        parts.append(Part(source, members, files, numbers))
    make(chain, path, parts, rest, by_hand)


def mixing(chance, sources, by_hand):
    """Returns (members of the document beside its sources, weights, repeats)."""
    rest, count = {}, len(sources)
    how = chance.choice(["union", "union", "repeat", "weight", "weight"])
    if chance.random() < 0.2:
        rest["classes"] = chance.choice(["by-name", "by-number", "by-number"])
    elif chance.random() < 0.2:
        rest["classes"] = {str(number): chance.choice([0, 1, 7, 1000]) for number in
                           chance.sample(range(6), chance.choice([1, 2, 3]))}
    elif chance.random() < 0.2:
        names = sorted({name for source in sources for name in source.classes})
        some = chance.sample(names, chance.randrange(1, len(names) + 1)) if names else []
        rest.update({"classes": {name: chance.choice(["a", "b", names[0]]) for name in some}}
                    if some else {})
    if how == "union":
        return rest, None, None
    if how == "repeat":
        return rest, None, [chance.choice([1, 2, 3, 0.5, 1.5, 0.25, 0]) for _ in sources]
    weights = [chance.choice([0, 1, 1, 2, 3, 10]) for _ in sources]
    weights[chance.randrange(count)] = 3
    if chance.random() < 0.5:
        rest["until"] = chance.choice(["first", "all"])
    else:
        rest["samples"] = chance.choice([1, 12, 40, 100, 333])
    at = 0
    for _ in range(chance.choice([0, 1, 2]) if by_hand else 0):
        at += chance.choice([1, 12, 50, 200])
        later = [chance.randrange(4) for _ in sources]
        later[chance.randrange(count)] = 1
        rest.setdefault("stages", []).append({"samples": at, "weights": later})
    return rest, weights, None


def conditions(chain, source, path, more=()):
    """Returns ({conditions}, {contents of their files}, the numbers of a file of numbers)."""
    chance, where, files, numbers = chain.chance, {}, {}, None
    count = len(source.samples)
    keys = [sample.key for sample in source.samples]
    for kind in chance.sample(["classes", "labels", "label", "keys", "not_keys", "key_glob", "range",
                               "every", *more], chance.choice([0, 0, 1, 1, 2])):
        if kind == "classes" and source.classes:
            names = [name for name in source.classes if "," not in name]
            if names:
                where[kind] = chance.sample(names, chance.randrange(1, len(names) + 1))
        elif kind == "labels" and "label" not in where:
            where[kind] = [chance.choice([0, 1]), chance.choice([1, 3, 100, 1 << 31])]
        elif kind == "label" and "labels" not in where:
            where[kind] = [0, [2, chance.choice([2, 3, 100])], chance.choice([1, 7])]
        elif kind in ("keys", "not_keys"):
            some = chance.sample(keys, chance.randrange(count + 1)) + ["not/there"]
            place = chain.new("keys") + ".txt"
            files[kind] = "".join(key + "\n" for key in some).encode()
            trees.write(chain.folder, {place: files[kind]})
            where[kind] = chain.path(place) if "://" in path else place
        elif kind == "key_glob":
            where[kind] = chance.choice(["*", "c*", "*/*", "s*", "*1*", "*[0-9]", "???*"])
        elif kind == "range":
            where[kind] = [chance.choice([0, 0, 1, count // 2]),
                           chance.choice([count + 1, count // 2 + 2, 100000])]
        elif kind == "every":
            where[kind] = chance.choice([[1, 0], [2, 1], [2, 0], [3, 2], [10, 0]])
        elif kind == "numbers" and source.fingerprint:
            numbers = set(chance.sample(range(count), chance.randrange(count + 1)))
            where[kind] = write_numbers(chain, source, path, numbers)
    return where, files, numbers


def write_numbers(chain, source, path, numbers):
    """Writes a file beside the view with a bit for each sample. Its name depends on its content."""
    bits, count = sum(1 << number for number in numbers), len(source.samples)
    data = b"sheaf_numbers 1 %s %d\n" % (source.fingerprint.encode(), count) + \
        bits.to_bytes(-(-count // 8), "little")
    name = xxhash.xxh3_128_hexdigest(data) + ".numbers"
    if "://" in path:
        chain.s3.put("", {os.path.dirname(path)[len(chain.s3.url):] + "/" + name: data}
                     if os.path.dirname(path) + "/" != chain.s3.url else {name: data})
    else:
        trees.write(chain.folder, {os.path.join(os.path.dirname(path), name): data})
    return name


def fields_of(chance, source):
    if chance.random() < 0.7:
        return None
    names = sorted({model.lower(suffix) for sample in source.samples[:20]
                    for suffix, _ in sample.fields if "," not in suffix}) or ["none"]
    return chance.sample(names, chance.randrange(1, min(len(names), 4) + 1))


# If a view has several faults, any of them may be reported.
EMPTY = ["no sample fulfils", "it has no sample", "an epoch of the view has no sample",
         "all repeats are 0"]


def make(chain, path, parts, rest, by_hand):
    """Writes the document, and predicts the view. If the view can be read, it becomes a thing of the chain."""
    try:
        made, refused = View(path, parts, rest), None
        if not all(made.chosen):
            refused = EMPTY
        elif made.total == 0:
            refused = EMPTY[2:]
    except steps_union.Refused as why:
        refused, made = ["have no names", "its index has no labels", str(why), *EMPTY], None
    except Unknown:
        made, refused = None, ["its index has no labels", "no sample fulfils"]
    status = 1 if refused else 0
    done = write_by_hand(chain, path, parts, rest, status, refused) if by_hand else \
        write_by_command(chain, path, parts, rest, status, refused)
    if refused:
        raise Foreseen("a view that cannot be")
    chain.equal(chain.numbers(done, r"(?m)^epoch +(\d+)$"), [made.total], "the epoch of info")
    if made.total > MOST:
        raise Foreseen("a long epoch")
    bad = [sample for sample in made.samples if isinstance(sample, str)]
    if bad:
        drawn = any(isinstance(made.samples[n], str) for n in made.epoch(shuffle=False))
        chain.sheaf("cat", path, "--null", "--no-shuffle", status=1 if drawn else 0,
                    says=["its label", "its field cls"])
        raise Foreseen(bad[0])
    chain.things.append(made)


def write_by_command(chain, path, parts, rest, status, says):
    members = [part.members for part in parts]
    words = ["view", *[part.shards.arguments[0] for part in parts], "-o", path]
    if "weight" in members[0]:
        words += ["--weights", ",".join(str(m["weight"]) for m in members)]
    if "repeat" in members[0]:
        words += ["--repeat", ",".join(str(m["repeat"]) for m in members)]
    for name in ("samples", "until", "classes"):
        value = rest.get(name)
        if isinstance(value, dict):
            value = chain.new("map") + ".json"
            trees.write(chain.folder, {value: json.dumps(rest[name]).encode()})
        words += ["--" + name, value] if value is not None else []
    where = members[0].get("where", {})
    for name, value in where.items():
        words += {"classes": lambda v: ["--where", "class=" + ",".join(v)],
                  "labels": lambda v: ["--where", "label=%d..%d" % tuple(v)],
                  "label": lambda v: ["--where", "label=%d,%d..%d,%d" % (v[0], *v[1], v[2])],
                  "key_glob": lambda v: ["--where", "key=" + v],
                  "range": lambda v: ["--where", "range=%d..%d" % tuple(v)],
                  "every": lambda v: ["--where", "every=%d/%d" % tuple(v)],
                  "keys": lambda v: ["--keys", v],
                  "not_keys": lambda v: ["--not-keys", v]}[name](value)
    if "fields" in members[0]:
        words += ["--fields", ",".join(members[0]["fields"])]
    if "/" in path and "://" not in path:
        os.makedirs(os.path.dirname(chain.path(path)), exist_ok=True)
    if "://" in path:
        words[1:1 + len(parts)] = [absolute(chain, part.shards.arguments[0]) for part in parts]
    if status == 0 and {"--keys", "--not-keys"} & set(map(str, words)):
        chain.sheaf(*words, "--unknown-keys", "fail", status=1, says=["not/there"])
    chain.sheaf(*words, status=status, says=says or ())
    return chain.sheaf("info", path, status=status)


def absolute(chain, place):
    return place if "://" in place else chain.path(place)


def write_by_hand(chain, path, parts, rest, status, says):
    """Writes the document, with paths that are relative to it."""
    sources = []
    for part in parts:
        members = json.loads(json.dumps(part.members))
        place = part.shards.arguments[0]
        source = absolute(chain, place) if "://" in path else relative(place, path)
        for name in part.files:
            members["where"][name] = relative(members["where"][name], path)
        sources.append({"source": source, **members})
    text = json.dumps({"sheaf_view": 1, **rest, "sources": sources},
                      ensure_ascii=chain.chance.random() < 0.5)
    if "://" in path:
        chain.s3.put("", {path[len(chain.s3.url):]: text.encode()})
    else:
        trees.write(chain.folder, {path: text.encode()})
    chain.lines.append("# %s: %s" % (path, text))
    return chain.sheaf("info", path, status=status, says=says or ())


# ---- Looking at it -----------------------------------------------------------------------------

def info(chain, made):
    """Checks what info says about each source, and about the view."""
    found = json.loads(chain.sheaf("info", *made.arguments, "--json").stdout)
    chain.equal(found["samples"], len(made.samples), "the samples of all sources")
    chain.equal([source["chosen"] for source in found["sources"]],
                [len(own) for own in made.chosen], "what is chosen of each source")


# ---- Copies ------------------------------------------------------------------------------------

def line_of(made):
    """Returns the samples of an epoch in order, as a conversion reads them."""
    return [made.samples[number] for number in made.epoch(shuffle=False)]


AGAIN = "times an epoch, and a copy has each only once"


def refuse_again(chain, made, words):
    """Checks that a view that draws samples again is not converted."""
    period = sum(made.shares)
    times = [share if made.weights is None else Fraction(share * made.total, period)
             for share in made.shares]
    if any(count >= len(own) + 1 for count, own in zip(times, made.chosen)):
        chain.sheaf(*words, status=1, says=[AGAIN])
        raise Foreseen(AGAIN)


def convert(chain, made):
    """Converts an epoch of the view to a data set."""
    target = steps_copy.Target(chain, True)
    samples = [made.samples[number] for number in target.numbers(made)]
    as_set = Shards([], [samples], container=None, codec="none")
    refused = steps_copy.convert_refused(as_set, target)
    words = ["convert", *made.arguments, target.dest, *target.options()]
    refuse_again(chain, made, words)
    if refused is not None:
        chain.sheaf(*words, status=1, says=refused)
        chain.sheaf("info", target.dest, status=1)
        raise Foreseen(refused[0])
    done = chain.sheaf(*words)
    held = chain.read_set(target.dest, "convert of a view")
    chain.same([s for shard in held.shards for s in shard], samples, "a converted view")
    if target.count:
        chain.equal(len(held.shards), min(target.count, len(samples)), "the shards of a view")
    chain.equal((held.classes, held.base), (made.classes, made.base), "classes")
    chain.equal(chain.numbers(done, steps_copy.CONVERTED)[:2],
                [len(samples), model.payload(samples)], "the sums of convert")
    steps_pack.give(chain, target.dest, held)


def unpack(chain, made):
    folder, samples = chain.new("tree"), line_of(made)
    files = [pair for sample in samples for pair in model.paths(sample)]
    words = ["unpack", *made.arguments, folder]
    refuse_again(chain, made, words)
    clash = steps_copy.clashing(files)
    if clash:
        chain.sheaf(*words, status=1, says=clash)
        raise Foreseen(clash[0])
    chain.sheaf(*words)
    steps_copy.check_tree(chain, folder, dict(files))


# ---- Stages ------------------------------------------------------------------------------------

def staged(chain, made):
    """Appends a stage to a view while a run is under way. The run continues as if the stage had always been there."""
    if made.weights is None or not made.is_local:
        raise Foreseen("no weights, or in S3")
    chance, place = chain.chance, chain.new("position")
    order = steps_read.Order(chain, made)
    samples = order.samples()
    at = chance.randrange(len(samples) + 1)
    done = chain.sheaf("cat", *made.arguments, "--list", *order.options(), "--limit", at,
                       "--save-position", place)
    steps_read.same_lines(chain, done, samples[:at], "before a stage is appended")
    stages = list(made.rest.get("stages", ()))
    first = order.epoch * len(samples) + at + chance.choice([1, 5, 50]) * order.lanes
    weights = [chance.randrange(4) for _ in made.parts]
    weights[chance.randrange(len(weights))] = 5
    stages.append({"samples": max([first] + [stage["samples"] + 1 for stage in stages]),
                   "weights": weights})
    order.shards = later = View(made.arguments[0], made.parts, {**made.rest, "stages": stages})
    write_by_hand(chain, later.arguments[0], later.parts, later.rest, 0, None)
    done = chain.sheaf("cat", *later.arguments, "--list", "--resume-from", place)
    steps_read.same_lines(chain, done, order.samples()[at:], "after a stage was appended")
    chain.things.remove(made)
    chain.things.append(later)


# ---- A source that changes ---------------------------------------------------------------------

def changed(chain, made):
    """Removes, damages or replaces a source. The samples must be right, or an error must name the source."""
    chance = chain.chance
    if any(not source.is_local for source in made.sources) or not made.is_local:
        raise Foreseen("in S3")
    order = steps_read.Order(chain, made)
    samples, place = order.samples(), chain.new("position")
    at = chance.randrange(len(samples) + 1)
    done = chain.sheaf("cat", *made.arguments, "--list", *order.options(), "--limit", at,
                       "--save-position", place)
    steps_read.same_lines(chain, done, samples[:at], "before a source changes")
    source = chance.choice(made.sources)
    folder, kept = chain.path(source.folder), chain.path(chain.new("kept"))
    shutil.copytree(folder, kept)
    try:
        {"removed": remove, "damaged": damage, "other": another}[
            chance.choice(["removed", "damaged", "other"])](chain, made, source, place,
                                                           samples[at:])
    finally:
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        shutil.rmtree(kept)
    done = chain.sheaf("cat", *made.arguments, "--list", "--resume-from", place)
    steps_read.same_lines(chain, done, samples[at:], "when the source is there again")


def remove(chain, made, source, place, _):
    chain.lines.append("# %s is removed" % source.folder)
    shutil.rmtree(chain.path(source.folder))
    os.makedirs(chain.path(source.folder))
    for words in (["--resume-from", place], []):
        chain.sheaf("cat", *made.arguments, "--list", *words, status=1, says=[source.folder])


def damage(chain, made, source, place, rest):
    """Changes one bit. The samples must be right until an error names the shard."""
    flipped = steps_read.flip(chain, source.folder, chain.chance.choice(source.names))
    done = chain.sheaf("cat", *made.arguments, "--list", "--resume-from", place, status=None,
                       says=[flipped[0]] if flipped else [])
    lines = [model.listing(sample) for sample in rest]
    found = done.stdout.decode().splitlines()
    chain.equal(found, lines[:len(found)], "the lines of a damaged source")
    if done.returncode == 0:
        chain.equal(len(found), len(lines), "the lines, without an error")
    done = chain.sheaf("cat", *made.arguments, "--null", "--on-corrupt", "skip",
                       "--resume-from", place, status=None)
    if done.returncode == 0:
        sums = dict(line.split() for line in done.stdout.decode().splitlines())
        chain.equal(int(sums["samples"]) + int(sums["corrupt"]), len(lines),
                    "samples and what is corrupt")


def another(chain, made, source, place, _):
    """Puts another data set in its place. A position must then be refused."""
    others = [thing for thing in chain.things if isinstance(thing, Shards) and thing.is_set and
              thing.is_local and thing.fingerprint != source.fingerprint]
    if not others:
        raise Foreseen("no other data set")
    other = chain.chance.choice(others)
    chain.lines.append("# %s is in the place of %s" % (other.folder, source.folder))
    shutil.rmtree(chain.path(source.folder))
    shutil.copytree(chain.path(other.folder), chain.path(source.folder))
    chain.sheaf("cat", *made.arguments, "--list", "--resume-from", place, status=1,
                says=[source.folder, *made.arguments])
