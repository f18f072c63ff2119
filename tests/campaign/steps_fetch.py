# SPDX-License-Identifier: MIT
"""Steps that fetch a data set, one of its objects, a prefix, or the objects that either kind of manifest lists; by
one host or several, also after a kill and a second time."""

import os

import meter
import model
import readers
import steps_copy
import steps_pack
from chain import Foreseen


def run(chain, *words, lines_in=None):
    """Fetches, in some chains after a run that was killed. lines_in: a file that is not an object."""
    metrics, killed = meter.Meter(chain), chain.chance.random() < 0.3
    words = ["fetch", *words, *metrics.words()]
    if killed:
        chain.kill(*words)
        metrics.check_killed()
    before = size_of(chain, words[2], lines_in)
    chain.sheaf(*words)
    metrics.check()
    if metrics.name is not None:
        kept = metrics.total("kept")
        chain.equal(metrics.total("fetched") + kept, metrics.total("objects"),
                    "the objects in " + metrics.name)
        if not killed:
            chain.equal((kept, metrics.total("fetched_bytes")),
                        (0, size_of(chain, words[2], lines_in) - before), "the sums in " + metrics.name)


def size_of(chain, folder, but):
    return sum(len(data) for name, data in readers.tree_of(chain.path(folder)).items()
               if name != but)


def data_set(chain, shards):
    """Copies a data set from S3 to a directory."""
    folder = chain.new("fetched")
    run(chain, shards.arguments[0] + "/", folder)
    held = chain.read_set(folder, "fetch")
    chain.same([s for shard in held.shards for s in shard], shards.samples, "fetched samples")
    steps_pack.give(chain, folder, held)


def one(chain, shards):
    """Copies one of its objects by name, or several objects by the beginning of their names."""
    folder, name = chain.new("fetched"), chain.chance.choice(shards.names)
    objects = chain.s3.objects(shards.folder)
    run(chain, shards.folder + "/" + name, folder)
    found = readers.tree_of(chain.path(folder))
    chain.equal(found == {name: objects[name]}, True, "the one object")
    stem = name.partition(".")[0][:-1]
    run(chain, shards.folder + "/" + stem, folder + "-part")
    found = readers.tree_of(chain.path(folder + "-part"))
    chain.equal(found == {path: data for path, data in objects.items() if path.startswith(stem)},
                True, "the objects whose names begin so")


def shared(chain, chance):
    """Yields (options, host, hosts) for each host that fetches."""
    hosts = chance.choice([1, 1, 2, 3])
    for host in range(hosts):
        words = ["--distribution", "sharded", "--host", host, "--hosts", hosts] \
            if hosts > 1 else []
        yield words, host, hosts


def files(chain, source):
    """Copies the objects of a prefix to files: by one host, or by several hosts that each get their own part."""
    folder = chain.new("fetched")
    if not source.files:
        chain.sheaf("fetch", source.argument, folder, status=1)
        raise Foreseen("nothing there")
    for words, _, _ in shared(chain, chain.chance):
        run(chain, source.argument, folder, *words)
    steps_copy.check_tree(chain, folder, source.files)


def listed(chain, source):
    """Copies the objects that a manifest lists. The files are named by its entries."""
    names = [path for path, _ in source.entries]
    missing = [path for path in names if path not in source.files]
    if missing or not names:
        folder = chain.new("fetched")
        chain.sheaf("fetch", source.argument, folder, status=1,
                    says=list(map(model.printable, missing)) or ["no objects found"])
        chain.equal(os.path.exists(chain.path(folder)), False, "something was fetched")
        raise Foreseen("a missing object")
    for words, host, hosts in shared(chain, chain.chance):
        folder = chain.new("fetched")
        run(chain, source.argument, folder, *words)
        if names[host::hosts]:
            found = readers.tree_of(chain.path(folder))
            chain.equal(found == {name: source.files[name] for name in names[host::hosts]}, True,
                        "the files of host %d" % host)


def lines(chain, source):
    """Copies the objects of lines, named by their keys, and the lines themselves."""
    keys = [[attribute.value for attribute in attributes if attribute.kind == "object"]
            for _, attributes in source.lines]
    says = ["line "] + ["no objects found"] * (not any(keys)) if source.has_bad else \
        ["missing/"] if any(key not in source.objects for own in keys for key in own) else \
        [] if any(keys) else ["no objects found"]
    if says:
        folder = chain.new("fetched")
        chain.sheaf("fetch", source.argument, folder, status=1, says=says)
        chain.equal(os.path.exists(chain.path(folder)), False, "something was fetched")
        raise Foreseen("lines that cannot be fetched")
    for words, host, hosts in shared(chain, chain.chance):
        folder = chain.new("fetched")
        run(chain, source.argument, folder, *words, lines_in=os.path.basename(source.argument))
        expected = {key: source.objects[key] for own in keys[host::hosts] for key in own}
        expected[os.path.basename(source.argument)] = "".join(
            text + "\n" for text, _ in source.lines[host::hosts]).encode()
        found = readers.tree_of(chain.path(folder))
        if found != expected:
            chain.fail("the files of host %d of %d:" % (host, hosts),
                       sorted(set(found) ^ set(expected))[:6] or
                       [path for path in found if found[path] != expected[path]][:6])
