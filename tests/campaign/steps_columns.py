# SPDX-License-Identifier: MIT
"""Steps that add a column to a data set, read it with the samples in every order, and drop it. After a kill, the
column must be whole or missing."""

import collections
import json

import model
import steps_read
from chain import Foreseen

ADDED = r"column \S+: (\d+) samples? with values, (\d+) without, in (\d+) shards?"


def column(chain, shards):
    """Adds a column with values for some samples, in any order, reads it, checks it, and drops it."""
    if shards.foreign or not shards.samples:
        raise Foreseen("no data set of ours, or no sample")
    chance = chain.chance
    counted = collections.Counter(sample.key for sample in shards.samples)
    keys = list(counted)
    some = chance.sample(keys, chance.randrange(len(keys) + 1))
    values = {key: "x" * chance.choice([0, 1, 30, 5000]) + key for key in some}
    path, name = chain.new("column") + ".jsonl", chance.choice(["cap", "a-b", "x_1"])
    with open(chain.path(path), "w", encoding="utf-8") as file:
        for key in some:
            file.write(json.dumps({"key": key, "value": values[key]}) + "\n")
    words = ["column", "add", shards.folder, "--name", name, "--from", path]
    for _ in range(chance.choice([0, 0, 1, 2])):
        chain.kill(*words, "--resume")
    done = chain.sheaf(*words, "--resume")
    found = chain.numbers(done, ADDED)[:2]
    have = sum(counted[key] for key in some)
    chain.equal(found, [have, len(shards.samples) - have], "the samples with and without values")
    read(chain, shards, name, values)
    chain.sheaf("verify", shards.folder, "--columns", name)
    chain.sheaf(*words, status=1, says=["never changes"])
    chain.sheaf("column", "drop", shards.folder, name)
    chain.equal(chain.sheaf("column", "list", shards.folder).stdout, b"", "columns after a drop")


def read(chain, shards, name, values):
    """Checks that an epoch with the column has the same lines as without it, plus the field of the column."""
    order = steps_read.Order(chain, shards)
    missing = chain.chance.choice(["none", "skip"])
    done = chain.sheaf("cat", *shards.arguments, "--list", *order.options(), "--columns", name,
                       "--missing", missing)
    expected = []
    for sample in order.samples():
        value = values.get(sample.key)
        if value is None and missing == "skip":
            continue
        field = [] if value is None else ["%s.txt:%d" % (name, len(value.encode()))]
        key, labels, *fields = model.listing(sample).split("\t")
        expected.append((key, labels, sorted(fields + field)))
    found = []
    for line in done.stdout.decode().splitlines():
        key, labels, *fields = line.split("\t")
        found.append((key, labels, sorted(fields)))
    chain.equal(found, expected, "the samples with a column")
