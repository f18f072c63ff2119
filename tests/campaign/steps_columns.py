# SPDX-License-Identifier: MIT
"""Steps that add a column to a data set, at once or in parts, read it with the samples in every order, choose samples
by its numbers, and drop it. After a kill, the column must be whole or missing."""

import collections
import json
import operator

import model
import steps_read
from chain import Foreseen

SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
         "!=": operator.ne}
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
    if not some:
        chain.sheaf(*words, status=2, says=["has no values"])
        return
    have = sum(counted[key] for key in some)
    if chance.random() < 0.4:
        parts(chain, shards, name, path)
    else:
        for _ in range(chance.choice([0, 0, 1, 2])):
            chain.kill(*words, "--resume")
        done = chain.sheaf(*words, "--resume")
        found = chain.numbers(done, ADDED)[:2]
        chain.equal(found, [have, len(shards.samples) - have], "the samples with and without values")
    listed = json.loads(chain.sheaf("column", "list", shards.folder, "--json").stdout)
    chain.equal([listed["samples"], listed["missing"]], [len(shards.samples), len(shards.samples) - have],
                "the counts of the column")
    read(chain, shards, name, values)
    chain.sheaf("verify", shards.folder, "--columns", name)
    chain.sheaf(*words, status=1, says=["never changes"])
    chain.sheaf("column", "drop", shards.folder, name)
    chain.equal(chain.sheaf("column", "list", shards.folder).stdout, b"", "columns after a drop")


def parts(chain, shards, name, path):
    """Adds a column in parts, some of which are killed first or run twice. A commit without a part is refused."""
    chance = chain.chance
    plan, count = chain.new("plan"), chance.choice([1, 2, 3])
    chain.sheaf("column", "plan", shards.folder, "--name", name, "--from", path, "-o", plan)
    for _ in range(chance.choice([0, 1, 2])):
        chain.kill("column", "add", "--plan", plan, "--part", "%d/%d" % (chance.randrange(count), count))
    if chance.random() < 0.3:
        chain.sheaf("commit", plan, status=None)
        if b"unfinished" not in chain.sheaf("column", "list", shards.folder).stdout:
            return
    order = list(range(count)) + [chance.randrange(count)]
    chance.shuffle(order)
    for part in order:
        chain.sheaf("column", "add", "--plan", plan, "--part", "%d/%d" % (part, count))
    for _ in range(chance.choice([0, 0, 1])):
        chain.kill("commit", plan)
    chain.sheaf("commit", plan)


def scored(chain, shards):
    """Adds a column of numbers, and makes a view of the samples whose numbers fulfil a condition."""
    if shards.foreign or not shards.samples:
        raise Foreseen("no data set of ours, or no sample")
    chance = chain.chance
    keys = sorted({sample.key for sample in shards.samples})
    scores = {key: chance.choice([-1, 0, 0.25, 1, 2.5, 1000]) for key in keys if chance.random() < 0.8}
    if not scores:
        raise Foreseen("no scores")
    path, where = chain.new("scores") + ".jsonl", []
    with open(chain.path(path), "w", encoding="utf-8") as file:
        for key, score in scores.items():
            file.write(json.dumps({"key": key, "score": score}) + "\n")
    chain.sheaf("column", "add", shards.folder, "--name", "q", "--from", path)
    wanted = [sample for sample in shards.samples if sample.key in scores]
    for _ in range(chance.choice([1, 1, 2])):
        sign, limit = chance.choice(sorted(SIGNS)), chance.choice([-1, 0, 0.25, 1, 2])
        where += ["--where", "q.score%s%s" % (sign, limit)]
        wanted = [sample for sample in wanted if SIGNS[sign](scores[sample.key], limit)]
    view = chain.new("view") + ".view"
    done = chain.sheaf("view", shards.folder, "-o", view, *where, status=None if not wanted else 0)
    if done.returncode == 0:
        lines = chain.sheaf("cat", view, "--list").stdout.decode().splitlines()
        chain.equal(sorted(line.split("\t")[0] for line in lines),
                    sorted(model.listing(sample).split("\t")[0] for sample in wanted), "the chosen samples")
    dropped = chain.sheaf("column", "drop", shards.folder, "q").stderr.decode()
    if done.returncode == 0:
        beside = "/" not in shards.folder.rstrip("/")       # the view is in the directory above the data set
        chain.equal("this view can no longer be opened" in dropped, beside, "the warning about the view")
        chain.sheaf("cat", view, "--list", status=1, says=["has no column q"])


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
