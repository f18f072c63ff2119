# SPDX-License-Identifier: MIT
"""Steps that damage files of a data set and repair them from a copy, or from the files that were packed, appended and
edited. A killed repair leaves each file damaged or good, and the next repair leaves all of them good."""

import json
import os
import shutil

import sources
from chain import Foreseen
from steps_pack import Job
from trees import write

REPAIRED = r"checked (\d+) files?: (\d+) damaged, (\d+) repaired"


def content(folder):
    """{path: bytes} of the files of a data set, without its columns."""
    found = {}
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[name] = file.read()
    return found


def damage(chance, path, data):
    """Flips a bit, truncates, appends to or removes the file."""
    how = chance.choice(["flip", "truncate", "append", "remove"] if data else ["append", "remove"])
    os.unlink(path)
    if how == "remove":
        return
    at = chance.randrange(len(data)) if data else 0
    changed = {"flip": data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1:]
               if data else b"", "truncate": data[:at], "append": data + b"x"}[how]
    with open(path, "wb") as file:
        file.write(changed)


def repair(chain, shards):
    """Damages some shards and side files, and repairs them from a copy."""
    if shards.foreign or "://" in shards.folder:
        raise Foreseen("no data set of ours on the disk")
    folder, copy = chain.path(shards.folder), chain.new("copy")
    chain.note("cp", "-r", shards.folder, copy)
    shutil.copytree(folder, chain.path(copy))
    before = content(folder)
    names = sorted(name for name in before if name.endswith(
        (".tfrecord", ".rec", ".tar", ".gz", ".lz4", ".zst")))
    some = chain.chance.sample(names, chain.chance.randrange(len(names) + 1))
    for name in some:
        chain.note("#", "damage", os.path.join(shards.folder, name))
        damage(chain.chance, os.path.join(folder, name), before[name])
    words = ["repair", shards.folder, "--from", copy]
    for _ in range(chain.chance.choice([0, 0, 1, 2])):
        chain.kill(*words)
        now = content(folder)
        for name in set(before) - set(some):
            chain.equal(now.get(name), before[name], "a file that was not damaged: " + name)
    done = chain.sheaf(*words)
    found = chain.numbers(done, REPAIRED)
    chain.equal(found[1], found[2], "the files that were damaged and repaired")
    chain.equal(content(folder) == before, True, "the files of the data set are as they were")
    chain.sheaf("verify", shards.folder)
    shutil.rmtree(chain.path(copy))


def delete_some(chain, place):
    """Deletes samples, unless the edit is refused."""
    lines = chain.sheaf("cat", place, "--list").stdout.decode().splitlines()
    keys = sorted({line.split("\t")[0] for line in lines})
    path = chain.new("keys")
    write(chain.folder, {path: "".join(key + "\n" for key in chain.chance.sample(
        keys, chain.chance.randrange(len(keys)))).encode()})
    chain.sheaf("edit", place, "--delete", path, status=None)


def remade(chain, source):
    """Packs a source, appends another one and deletes samples. Damaged shards must become what they were, from the
    files of both sources."""
    job, chance, given = Job(chain, source), chain.chance, [source]
    if job.refused() is not None or job.may_refuse() or "://" in job.dest:
        raise Foreseen("nothing on the disk")
    place, folder = job.dest, chain.path(job.dest)
    chain.sheaf(*job.words())
    for _ in range(chance.choice([0, 1, 2])):
        more = sources.make(chain)
        done = chain.sheaf("append", *more.arguments, place, *more.options, "--on-error", "skip",
                           "--shard-count", chance.choice([1, 2, 3]), status=None)
        if done.returncode == 0:
            given.append(more)
        if chance.random() < 0.5:
            delete_some(chain, place)
    before = content(folder)
    shards = json.loads(before["dataset.json"])["shards"]       # without those that an edit has replaced
    some = [shard["name"] for shard in shards if chance.random() < 0.6]
    for name in some:
        chain.note("#", "damage", os.path.join(place, name))
        damage(chance, os.path.join(folder, name), before[name])
    for thing in given:         # each run repairs the shards of the files that it is given
        words = ["repair", place, *thing.options]
        for argument in thing.arguments:
            words += ["--from", argument]
        if chance.random() < 0.3:
            chain.kill(*words)
        chain.sheaf(*words, status=None)
    now = content(folder)
    chain.equal([name for name in before if now.get(name) != before[name]], [], "files that are not as they were")
    chain.equal(set(now) - set(before), set(), "files that are new")
    chain.sheaf("verify", place)
