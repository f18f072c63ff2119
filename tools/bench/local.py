# SPDX-License-Identifier: MIT
"""Rows 1 to 3 and 9 to 12: reading data on this machine's disk."""

import os
import shutil

import data
import peers
from run import Contender, take_turns

PASSES = 3          # passes over the data in a process, for fast contenders
EPOCHS = 10         # epochs of a shuffled reader in a process, because the first epoch fills its buffers
RECORDS_FEWER = 10  # a slow peer gets fewer records, by this factor


def _reader(bench, name, source, passes, items, size, *options):
    return Contender(name, [bench.data.program("read_sheaf"), str(passes), *options, source],
                     bytes=size * passes, items=items * passes)


def _loop(bench, name, files, *options):
    return Contender(name, [bench.data.program("read_files"), str(PASSES), *options, *files],
                     bytes=PASSES * data.size_of(files))


def _warm(files):
    for path in files:
        with open(path, "rb") as file:
            while file.read(1 << 20):
                pass


def _containers(bench):
    for container in data.CONTAINERS:
        folder = bench.data.shards(container)
        files = data.shard_files(folder)
        _warm(files)
        yield container, folder, files


def read_in_order(bench, results):
    for container, folder, files in _containers(bench):
        turns = [_loop(bench, "read(2) " + container, files),
                 _reader(bench, "sheaf " + container, folder, PASSES, bench.data.images,
                         data.size_of(files), "--no-shuffle")]
        turns.append(_loop(bench, "read(2) and CRC-32C " + container, files, "--crc"))
        if container == "recordio":
            # Any program with the command line of read_files and its line of JSON.
            split = os.environ.get("BENCH_INPUTSPLIT")
            if split:
                turns.append(Contender("InputSplit recordio", [split, str(PASSES), *files],
                                       bytes=PASSES * data.size_of(files)))
            else:
                results.missing["InputSplit recordio"] = "BENCH_INPUTSPLIT names no program"
        take_turns(turns, results, most=15, seconds=8)


def read_shuffled(bench, results):
    shards = {}
    for container, folder, files in _containers(bench):
        shards[container] = files
        take_turns([_loop(bench, "read(2) " + container, files),
                    _reader(bench, "sheaf %s shuffled" % container, folder, EPOCHS,
                            bench.data.images, data.size_of(files))],
                   results, most=9, seconds=15)
    take_turns(peers.found(bench, results, [
        ("webdataset shuffled", ["webdataset_read", "1", *shards["webdataset"]]),
        ("tf.data shuffled", ["tf_data_read", "1", *shards["tfrecord"]]),
        ("mosaicml-streaming shuffled", ["mds_read", peers.mds(bench)]),
        ("litdata shuffled", ["litdata_read", peers.litdata(bench)]),
    ], items=bench.data.images, size=data.size_of(shards["tfrecord"])), results, seconds=25)


def read_records(bench, results):
    folder, fewer = bench.data.record_shards(1), bench.data.record_shards(RECORDS_FEWER)
    files, fewer_files = data.shard_files(folder), data.shard_files(fewer)
    _warm(files + fewer_files)
    turns = [_reader(bench, "sheaf in order", folder, 1, bench.data.records, data.size_of(files),
                     "--threads", "1", "--no-shuffle"),
             _reader(bench, "sheaf shuffled", folder, 1, bench.data.records, data.size_of(files),
                     "--threads", "1")]
    turns += peers.found(bench, results, [
        ("tf.data in order", ["tf_data_read", "0", *fewer_files]),
        ("tf.data shuffled", ["tf_data_read", "1", *fewer_files])],
        items=bench.data.records // RECORDS_FEWER, size=data.size_of(fewer_files))
    for turn in turns:
        turn.command = ["taskset", "-c", "0", *turn.command]
    take_turns(turns, results, most=5, seconds=30)


def read_columns(bench, results):
    folder = bench.data.column_shards("webdataset")
    files = data.shard_files(folder)
    _warm(files)
    for order, options in (("in order", ["--no-shuffle"]), ("shuffled", [])):
        take_turns([_reader(bench, "sheaf %s, %s" % (name, order), folder, EPOCHS,
                            bench.data.images, data.size_of(files), *options, *more)
                    for name, more in (("base alone", []), ("with a column", ["--column", "cap"]))],
                   results, most=15, seconds=40)


def read_codecs(bench, results):
    for codec, program in (("gzip", "gzip -dc"), ("lz4", "lz4 -dc")):
        folder = bench.data.shards("webdataset", codec)
        files = data.shard_files(folder)
        _warm(files)
        size = data.manifest(folder)["raw_bytes"]
        turns = [_reader(bench, "sheaf " + codec, folder, 1, bench.data.images, size,
                         "--no-shuffle")]
        if shutil.which(codec):
            turns.append(Contender(program, ["sh", "-c", 'for f; do %s "$f" >/dev/null || exit 1;'
                                             " done" % program, "sh", *files],
                                   bytes=size, whole=True))
        take_turns(turns, results, seconds=20)


def memory(bench, results):
    """Measures the memory of the command, from outside. The packed data is then read and removed."""
    out = {size: os.path.join(bench.data.folder, "out-" + size) for size in ("small", "large")}
    if not bench.has_space(results, ["pack, small", "read, small", "pack, large", "read, large"],
                           15 * bench.data.images / 30607):
        return
    trees = {"small": bench.data.tree(), "large": bench.data.large_tree()}
    for path in out.values():
        bench.remove(path)
    take_turns([Contender("pack, " + size, [
        bench.data.sheaf, "pack", trees[size], out[size], "--format", "tfrecord",
        "--memory", "512MiB"], whole=True) for size in out], results, least=1, most=1)
    take_turns([Contender("read, " + size, [
        bench.data.sheaf, "cat", out[size], "--null", "--memory", "512MiB"], whole=True)
        for size in out], results, least=1, most=1)
    for path in out.values():
        bench.remove(path)


def first_sample_of(bench, where, count, source, **how):
    """Measures the time until the first sample, in order and through a shuffle buffer."""
    reader = bench.data.program("read_sheaf")
    return [Contender("%s, %d shards, in order" % (where, count), [
        reader, "1", "--limit", "1", "--no-shuffle", source], **how),
            Contender("%s, %d shards, shuffled" % (where, count), [
                reader, "1", "--limit", "1", source], **how)]


def first_sample(bench, results):
    turns = []
    for count in (8, 400):
        turns += first_sample_of(bench, "local", count, bench.data.shards("tfrecord", count=count))
    take_turns(turns, results, most=15, seconds=5)


def crop_photos(bench, results):
    """Decodes photos and crops them at random to 224 pixels, in one thread. Processor time is what counts."""
    turns = []
    for kind, count in bench.data.photos.items():
        tree = bench.data.photo_tree(kind)
        packed = bench.data.shards("webdataset", tree=tree)
        turns.append(Contender("sheaf crops, " + kind, [
            bench.data.program("read_sheaf"), "1", "--threads", "1", "--crops", "224", packed],
            items=count))
        turns += peers.found(bench, results, [
            ("torchvision crops, " + kind, ["torchvision_crops", tree]),
            ("Pillow crops, " + kind, ["pillow_crops", tree])], items=count)
    take_turns(turns, results, most=5, seconds=60)
