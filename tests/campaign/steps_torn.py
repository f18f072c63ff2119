# SPDX-License-Identifier: MIT
"""Tars in which the files of a sample are apart, and which --join puts together."""

import model
import readers
import steps_copy
import steps_foreign
import trees
from chain import Foreseen, Shards


def torn(chain, source):
    """Tars whose files are in any order, and of which --join makes the same samples as of a sorted
    one, in the order of the first file of each."""
    samples, chance = steps_foreign.files_of(source), chain.chance
    if not samples or source.folder is None:
        raise Foreseen("nothing for a tar")
    folder, found, names = chain.new("torn"), [], []
    count = min(chance.choice([1, 1, 2]), len(samples))
    for number in range(count):
        files = [pair for sample in samples[number::count] for pair in sample]
        chance.shuffle(files)
        places = {}
        for path, _ in files:
            places.setdefault(model.key_of(path)[0], len(places))
        together = sorted(files, key=lambda pair: places[model.key_of(pair[0])[0]])
        names.append("t-%d.tar" % number)
        raw = steps_foreign.by_python(chain, files, "pax")
        trees.write(chain.path(folder), {names[-1]: raw})
        found.append(readers.tar(steps_foreign.by_python(chain, together, "pax")))
    shards = Shards([folder], found, container="webdataset", codec="none", is_set=False,
                    names=names, folder=folder)
    chance.choice([torn_converted, torn_indexed])(chain, shards)


def torn_converted(chain, shards):
    target = steps_copy.Target(chain)
    words = ["convert", shards.folder, target.dest, "--join", *target.options()]
    refused = steps_copy.convert_refused(shards, target)
    if refused is not None:
        chain.sheaf(*words, status=1, says=refused)
        raise Foreseen(refused[0])
    done = chain.sheaf(*words)
    steps_copy.check_converted(chain, shards, target, chain.numbers(done, steps_copy.CONVERTED))


def torn_indexed(chain, shards):
    keys = [sample.key for sample in shards.samples]
    done = chain.sheaf("index", shards.folder, "--join")
    chain.equal(chain.numbers(done, steps_copy.INDEXED)[:2], [len(keys), len(shards.names)],
                "the sums of index --join")
    done = chain.sheaf("cat", shards.folder, "--list", "--no-shuffle")
    chain.equal(done.stdout.decode().splitlines(), list(map(model.listing, shards.samples)),
                "the samples that were joined")
    chain.sheaf("verify", shards.folder)
