# SPDX-License-Identifier: MIT
"""Row 14: views, compared with one data set of the same samples, and with the mixes of peers."""

import json
import os
import subprocess

import data
import peers
from local import EPOCHS
from run import Contender, take_turns

RUN, OF = 1000, 10      # every tenth run of a thousand samples


def _write(bench, name, text):
    path = os.path.join(bench.data.folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _keys_of_runs(bench, source):
    listing = subprocess.run([bench.data.sheaf, "cat", source, "--no-shuffle", "--list"],
                             check=True, stdout=subprocess.PIPE).stdout.decode()
    keys = [line.split("\t")[0] for line in listing.splitlines()]
    return [key for number, key in enumerate(keys) if number // RUN % OF == 0]


def _view(bench, name, sources, **rest):
    return _write(bench, name, json.dumps({"sheaf_view": 1, "sources": sources, **rest}))


def _reader(bench, name, source, items, size):
    return Contender(name, [bench.data.program("read_sheaf"), str(EPOCHS), source],
                     bytes=size * EPOCHS, items=items * EPOCHS)


def read_views(bench, results):
    one = bench.data.shards("tfrecord")
    size = data.size_of(data.shard_files(one))
    trees = bench.data.part_trees()
    parts = [bench.data.shards("tfrecord", tree=tree) for tree in trees]
    files = [data.shard_files(part) for part in parts]
    tars = [data.shard_files(bench.data.shards("webdataset", tree=tree))[0] for tree in trees]
    mix = _view(bench, "mix.view", [{"source": part, "weight": 1} for part in parts],
                samples=bench.data.images)
    keys = _keys_of_runs(bench, one)
    runs = os.path.join(bench.data.folder, "runs.view")
    subprocess.run([bench.data.sheaf, "view", one, "-o", runs, "--overwrite", "--keys",
                    _write(bench, "runs.txt", "\n".join(keys))], check=True)
    take_turns([_reader(bench, "sheaf one set", one, bench.data.images, size),
                _reader(bench, "sheaf mix", mix, bench.data.images, size),
                _reader(bench, "sheaf runs", runs, len(keys),
                        size * len(keys) // bench.data.images)], results, most=9, seconds=30)
    take_turns(peers.found(bench, results, [
        ("webdataset mix", ["webdataset_mix", *tars]),
        ("tf.data mix", ["tf_data_mix", *[f[0] for f in files]]),
        ("mosaicml-streaming mix", ["mds_mix", *[peers.mds(bench, t) for t in trees]]),
        ("litdata mix", ["litdata_mix", *[peers.litdata(bench, t) for t in trees]]),
    ], size=size), results, most=3, seconds=25)
