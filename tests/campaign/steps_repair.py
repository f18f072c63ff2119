# SPDX-License-Identifier: MIT
"""A step that damages files of a data set and repairs them from a copy: whoever is killed on the
way leaves each file damaged or good, and the next repair leaves all of them good."""

import os
import shutil

from chain import Foreseen

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
