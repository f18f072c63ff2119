# SPDX-License-Identifier: MIT
"""How fast samples reach Python, beside webdataset and tf.data: ratios of one run, in which the
contenders take turns and the best of each counts.

    tests/run_interop.sh --bench [SAMPLES]      (80000 of 39 kB, and ten times as many of 100 B)"""

import os
import random
import shutil
import sys
import tempfile
import time
import warnings

import tensorflow as tf
import torch
import webdataset
from torch.utils.data import DataLoader

import sheaf
from sheaf.torch import ShardDataset

ROUNDS = 3
BATCH = 64


def make(dest, count, size, container):
    noise = os.urandom(4 << 20)
    with sheaf.Packer(dest, format=container) as packer:
        for i in range(count):
            at = random.randrange(len(noise) - size)
            packer.append("c%03d/%07d" % (i % 257, i), {"bin": noise[at:at + size]},
                          labels=i % 257)
    return dest


def shards(folder):
    return [os.path.join(folder, shard.name) for shard in sheaf.Dataset(folder).shards]


def length(sample):
    return len(sample["bin"])


def drain(iterable):
    for _ in iterable:
        pass


def theirs(folder):
    return webdataset.WebDataset(shards(folder), shardshuffle=100).shuffle(1000)


def tf_records(folder):
    records = tf.data.TFRecordDataset(shards(folder), num_parallel_reads=2)
    return records.shuffle(10000).batch(BATCH).prefetch(2)


def loader(dataset, workers=2):
    return DataLoader(dataset, batch_size=BATCH, num_workers=workers)


def measure(contenders, count):
    """{name: samples a second}: the best of the rounds."""
    best = dict.fromkeys(contenders, 0.0)
    for _ in range(ROUNDS):
        for name, run in contenders.items():
            begin = time.perf_counter()
            run()
            best[name] = max(best[name], count / (time.perf_counter() - begin))
    return best


def show(title, best, *bases):
    print(title)
    for name, rate in best.items():
        print("  %-44s %9.0f /s %s" % (name, rate, "".join(
            "  %6.2f x %s" % (rate / best[base], base) for base in bases if base != name)))


def main(count):
    folder = tempfile.mkdtemp(prefix="sheaf-bench-", dir=os.environ["BUILD"])
    try:
        tar = make(os.path.join(folder, "tar"), count, 39000, "webdataset")
        record = make(os.path.join(folder, "tfrecord"), count, 39000, "tfrecord")
        show("39 kB, one process, shuffled", measure({
            "webdataset": lambda: drain(theirs(tar)),
            "tf.data": lambda: drain(tf_records(record)),
            "sheaf, tar": lambda: drain(sheaf.Reader(tar)),
            "sheaf, tfrecord": lambda: drain(sheaf.Reader(record)),
            "sheaf, tar, in order": lambda: drain(sheaf.Reader(tar, no_shuffle=True)),
        }, count), "webdataset", "tf.data")
        shutil.rmtree(record)
        show("39 kB, DataLoader, 2 workers: dicts of bytes", measure({
            "webdataset": lambda: drain(loader(theirs(tar))),
            "sheaf": lambda: drain(loader(ShardDataset(tar))),
            "sheaf, no workers": lambda: drain(loader(ShardDataset(tar), 0)),
        }, count), "webdataset")
        show("39 kB, DataLoader, 2 workers: a number of each sample", measure({
            "webdataset": lambda: drain(loader(theirs(tar).map(length))),
            "sheaf": lambda: drain(loader(ShardDataset(tar, decode=length))),
            "sheaf, no workers": lambda: drain(loader(ShardDataset(tar, decode=length), 0)),
        }, count), "webdataset")
        shutil.rmtree(tar)
        small = make(os.path.join(folder, "small"), 10 * count, 100, "tfrecord")
        show("100 B, batches of 1024, tfrecord", measure({
            "sheaf": lambda: drain(sheaf.Reader(small).batches(1024)),
            "sheaf, as arrays": lambda: [batch.stack("bin") for batch
                                         in sheaf.Reader(small).batches(1024)],
            "sheaf, sample by sample": lambda: drain(sheaf.Reader(small)),
        }, 10 * count), "sheaf")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 80000)
