# SPDX-License-Identifier: MIT
"""Steps that look samples up by their keys and numbers, as bytes, as files, and in Python; that find out when samples
come in an epoch; and that write tables of keys again."""

import collections
import json
import os

import model
import readers
import steps_copy
import steps_python
import steps_read
from chain import Foreseen

MISSING = ["not/there", "x" * 300, "a\tb"]


def keys_of(chain, thing):
    """Returns (the requested keys, each once; the numbers of the samples that have them)."""
    every = [sample.key for sample in thing.samples]
    keys = chain.chance.sample(every, min(len(every), chain.chance.choice([1, 2, 5, 80])))
    keys = list(dict.fromkeys(keys))
    numbers = collections.defaultdict(list)
    for number, key in enumerate(every):
        numbers[key].append(number)
    return keys, numbers


def get(chain, thing):
    """Gets one field to standard output, with or without its name."""
    if not thing.samples:
        raise Foreseen("no sample")
    chance = chain.chance
    keys, numbers = keys_of(chain, thing)
    found = [number for key in keys for number in numbers[key]]
    words = ["get", *thing.arguments]
    if chance.random() < 0.4:
        found.insert(0, chance.randrange(len(thing.samples)))
        words += ["--number", found[0]]
        if chance.random() < 0.5:
            keys, found = [], found[:1]
    if chance.random() < 0.5:
        # The files of samples with the same key would have the same name, so none of them is written.
        several = [key for key in keys if len(numbers[key]) > 1]
        found = found[:1 if "--number" in words else 0] + [
            number for key in keys for number in numbers[key] if key not in several]
        return get_files(chain, words, (keys, several), [thing.samples[n] for n in found])
    return get_bytes(chain, words, keys, [thing.samples[number] for number in found])


def with_missing(chain, words, keys):
    """Returns words for the keys, and perhaps for keys that no sample has, and the word that the error must contain.
    """
    missing = [key for key in chain.chance.sample(MISSING, chain.chance.choice([0, 0, 1, 2]))]
    if missing:
        keys = keys + missing
        chain.chance.shuffle(keys[-len(missing) - 1:])
    return [*words, *(["--", *keys] if keys else [])], missing


def get_bytes(chain, words, keys, samples):
    names = sorted({name for sample in samples for name in model.field_names(sample)})
    field = None
    if names and chain.chance.random() < 0.6:
        field = chain.chance.choice(names)
        words = [*words, "--field", field]
    chosen = [one_field(sample, field) for sample in samples]
    words, missing = with_missing(chain, words, keys)
    if None in chosen:
        bad = [sample.key for sample, data in zip(samples, chosen) if data is None]
        chain.sheaf(*words, status=1, says=bad)
        raise Foreseen("no such field")
    done = chain.sheaf(*words, status=1 if missing else 0, says=["not/there", "x" * 300, "a\\x09b"])
    chain.equal(done.stdout == b"".join(chosen), True, "the bytes that get gives")


def one_field(sample, name):
    """Returns the bytes of the field. None if there is no field, or several and no name is given."""
    found = [data for suffix, data in sample.fields
             if name is None or model.lower(suffix) == name]
    return found[0] if len(found) == 1 else None


def get_files(chain, words, keys, samples):
    """Gets samples as files. keys: (all of them, the keys that several samples have)."""
    (keys, several), folder = keys, chain.new("got")
    words, missing = with_missing(chain, [*words, "-o", folder], keys)
    files = [pair for sample in samples for pair in model.paths(sample)]
    clash = steps_copy.clashing(files)
    if clash:
        chain.sheaf(*words, status=1, says=clash)
        raise Foreseen(clash[0])
    chain.sheaf(*words, status=1 if missing or several else 0,
                says=MISSING[:2] + ["a\\x09b"] + several)
    chain.equal(readers.tree_of(chain.path(folder)) == dict(files), True, "the files of get")


# ---- When samples come ---------------------------------------------------------------------------

def locate(chain, thing):
    """Compares the output of locate with the order of an epoch, for each rank and step."""
    if not thing.samples:
        raise Foreseen("no sample")
    chance = chain.chance
    world, batch = chance.choice([1, 1, 2, 3]), chance.choice([1, 4, 32])
    order = steps_read.Order(chain, thing, world)
    keys, numbers = keys_of(chain, thing)
    asked = {number for key in keys for number in numbers[key]}
    first, epochs = order.epoch, chance.choice([1, 2]) if order.shuffle else 1
    done = chain.sheaf("locate", *thing.arguments, "--json", *order.options(), "--epochs", epochs,
                       "--world-size", world, "--batch", batch, "--", *keys)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for line in lines:
        chain.equal("source" in line, len(numbers[line["key"]]) > 1,
                    "whether the source is named of %s" % line["key"])
        line.pop("source", None)
    expected = []
    for order.epoch in range(first, first + epochs):
        whole = whole_order(order)
        expected += [{"key": thing.samples[number].key, "epoch": order.epoch, "sample": at,
                      "rank": rank, "step": ordinal // batch}
                     for at, (number, rank, ordinal) in enumerate(whole) if number in asked]
    steps_python.same(chain, lines, expected, "when samples come")
    if lines and epochs == 1:
        check_step(chain, thing, order, chance.choice(lines), batch)


def whole_order(order):
    """Returns [(number, rank, number within the rank)] of an epoch, taking the lanes in turn."""
    every = collections.defaultdict(list)
    for lane in range(order.lanes):
        own = order.numbers(rank=lane, world=order.lanes, workers=1)
        for at, number in enumerate(own):
            every[at].append((number, lane % order.world))
    found, had = [], collections.Counter()
    for at in sorted(every):
        for number, rank in every[at]:
            found.append((number, rank, had[rank]))
            had[rank] += 1
    return found


def check_step(chain, thing, order, line, batch):
    """Checks the inverse: the step of the rank contains the sample."""
    done = chain.sheaf("cat", *thing.arguments, "--list", *order.options(), "--step", line["step"],
                       "--batch", batch, "--world-size", order.world, "--rank", line["rank"])
    own = order.numbers(rank=line["rank"])
    at = line["step"] * batch
    steps_read.same_lines(chain, done, [thing.samples[n] for n in own[at:at + batch]],
                          "step %d of rank %d" % (line["step"], line["rank"]))


# ---- Tables of keys ------------------------------------------------------------------------------

def keys_anew(chain, shards):
    """Restores the table of keys of a data set that has lost it."""
    table = chain.path(os.path.join(shards.folder, "dataset.keys"))
    if not shards.samples or not os.path.exists(table):
        raise Foreseen("no table of keys")
    before, key = readers.read(table), chain.chance.choice(shards.samples).key
    os.unlink(table)
    chain.note("rm", os.path.join(shards.folder, "dataset.keys"))
    chain.sheaf("get", shards.folder, "-o", chain.new("got"), "--", key, status=1,
                says=["index --keys"])
    chain.sheaf("index", shards.folder, "--keys")
    chain.equal(readers.read(table) == before, True, "the table of keys as it was")
    get(chain, shards)


# ---- In Python -----------------------------------------------------------------------------------

def by_key(chain, thing):
    """Checks ds[key] and ds.get(keys)."""
    if not thing.samples:
        raise Foreseen("no sample")
    keys, numbers = keys_of(chain, thing)
    keys = keys[:20]
    one, many, missing = steps_python.Run(chain, {
        "how": "keys", "sources": thing.arguments, "keys": keys, "missing": "not/there"}).lines()
    steps_python.same(chain, one["batch"], [
        steps_python.described(thing.samples[numbers[key][0]], numbers[key][0]) for key in keys],
        "samples by key")
    steps_python.same(chain, many["batch"], [
        steps_python.described(thing.samples[number], number) for key in keys
        for number in numbers[key]], "many samples by key")
    chain.equal("not/there" in missing["missing"], True, "what names a missing key")
