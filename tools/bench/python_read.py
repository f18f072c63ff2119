# SPDX-License-Identifier: MIT
"""Measures how fast samples reach Python, and compares Sheaf with webdataset, litData, tf.data and an earlier build
of Sheaf, in one run.

    make bench-python                   (SAMPLES=30607 ROUNDS=5 BENCH_EARLIER=OTHER/build/python)

Contenders take turns, and a ratio is computed within a round. The result is the median of the rounds. All contenders
shuffle through a buffer of BUFFER samples in total, except litData, which has no buffer: it shuffles the order of
chunks, and the samples of each chunk. All give a loop bytes-like objects with their labels, or lists of these for
batches. The loop does not read the bytes.

webdataset can make batches in two ways, of which the faster one counts. An earlier build of Sheaf reads data that it
packed itself, through its own class for a DataLoader.

Each run is a process of its own, which makes EPOCHS passes. The time does not include importing. Packages that are
not installed are named, and their checks are not measured. Prints the results, and a line of JSON at the end."""

import importlib.util
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

EPOCHS = 3
BUFFER = 10000
BATCH = 64
WORKERS = 2
SIZE = 39000
EARLIER = os.environ.get("BENCH_EARLIER")       # directory of the package `sheaf` of an earlier build

# ---- One run, in a process of its own -----------------------------------------------------------


def urls(folder):
    import sheaf
    return [os.path.join(folder, shard.name) for shard in sheaf.Dataset(folder).shards]


def passes(iterable):
    for _ in range(EPOCHS):
        yield from iterable


def columns(samples):
    return [s["bin"] for s in samples], [s["cls"] for s in samples]


def webdataset_of(folder, buffer):
    import webdataset
    return webdataset.WebDataset(urls(folder), shardshuffle=100).shuffle(buffer)


def webdataset_samples(folder):
    dataset = webdataset_of(folder, BUFFER)
    yield
    for sample in passes(dataset):
        sample["bin"], sample["cls"]
        yield 1


def webdataset_batched(folder):
    """Reads batches that the pipeline makes in the workers."""
    from torch.utils.data import DataLoader
    dataset = webdataset_of(folder, BUFFER // WORKERS).batched(BATCH, collation_fn=columns)
    loader = DataLoader(dataset, batch_size=None, num_workers=WORKERS, persistent_workers=True)
    yield
    for fields, _ in passes(loader):
        yield len(fields)


def webdataset_collated(folder):
    """Reads batches that the DataLoader makes."""
    from torch.utils.data import DataLoader
    loader = DataLoader(webdataset_of(folder, BUFFER // WORKERS), batch_size=BATCH,
                        num_workers=WORKERS, collate_fn=columns, persistent_workers=True)
    yield
    for fields, _ in passes(loader):
        yield len(fields)


def copied_columns(samples):
    """Copies litData's views of its chunks, because a worker cannot send views."""
    return [bytes(s["bin"]) for s in samples], [s["cls"] for s in samples]


def litdata_loader(folder):
    from litdata import StreamingDataLoader, StreamingDataset
    loader = StreamingDataLoader(StreamingDataset(folder, shuffle=True), batch_size=BATCH,
                                 num_workers=WORKERS, collate_fn=copied_columns,
                                 persistent_workers=True)
    yield
    for fields, _ in passes(loader):
        yield len(fields)


def tf_data(folder):
    """Reads with tf.data as its guide shows. The batches stay tensors, and records are not parsed."""
    import tensorflow as tf
    tf.constant(0)
    names = tf.data.Dataset.from_tensor_slices(urls(folder)).shuffle(1000)
    records = names.interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)
    batches = records.shuffle(BUFFER).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    yield
    for batch in passes(batches):
        yield int(batch.shape[0])


def sheaf_samples(folder):
    import sheaf
    dataset = sheaf.Dataset(folder)
    yield
    for sample in passes(sheaf.Reader(dataset, shuffle_buffer=BUFFER)):
        sample["bin"], sample.label
        yield 1


def sheaf_batches(folder, size=1024):
    import sheaf
    dataset = sheaf.Dataset(folder)
    yield
    reader = sheaf.Reader(dataset, shuffle_buffer=BUFFER)
    for _ in range(EPOCHS):
        for batch in reader.batches(size):
            yield len(batch)


def sheaf_loader(folder):
    import sheaf.torch
    loader = sheaf.torch.DataLoader(folder, BATCH, WORKERS, shuffle_buffer=BUFFER,
                                    persistent_workers=True)
    yield
    for batch in passes(loader):
        yield len(batch.fields("bin")) + 0 * len(batch.labels)


def earlier_loader(folder):
    """Reads with PyTorch's DataLoader in builds that do not have sheaf.torch.DataLoader."""
    import sheaf.torch
    if hasattr(sheaf.torch, "DataLoader"):
        yield from sheaf_loader(folder)
        return
    from torch.utils.data import DataLoader
    dataset = sheaf.torch.ShardDataset(folder, batch_size=BATCH, shuffle_buffer=BUFFER)
    loader = DataLoader(dataset, batch_size=None, num_workers=WORKERS, persistent_workers=True)
    yield
    for batch in passes(loader):
        yield len(batch.fields("bin")) + 0 * len(batch.labels)


def run(name, folder):
    """Returns {samples, seconds, cpu_seconds}."""
    warnings.filterwarnings("ignore")
    work = globals()[name](folder)
    next(work)

    def cpu():
        return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (
            resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
    begin, begin_cpu = time.perf_counter(), cpu()
    samples = sum(work)
    print(json.dumps({"samples": samples, "seconds": time.perf_counter() - begin,
                      "cpu_seconds": cpu() - begin_cpu}))


# ---- The data -----------------------------------------------------------------------------------

NOISE = 4 << 20


def make_sheaf(dest, count, size, container):
    import sheaf
    noise = os.urandom(NOISE)
    with sheaf.Packer(dest, format=container) as packer:
        for i in range(count):
            at = random.randrange(NOISE - size)
            packer.append("c%03d/%07d" % (i % 257, i), {"bin": noise[at:at + size]},
                          labels=i % 257)


def litdata_item(number):
    return {"bin": os.urandom(SIZE), "cls": number % 257}


def make_litdata(dest, count, *_):
    from litdata import optimize
    optimize(fn=litdata_item, inputs=list(range(count)), output_dir=dest, chunk_bytes="64MB",
             num_workers=WORKERS)


def make(dest, count, size, container):
    (make_litdata if container == "litdata" else make_sheaf)(dest, int(count), int(size), container)


# ---- Taking turns -------------------------------------------------------------------------------

# name: the package that makes it (as in NEEDS), its container, the factor by which it has fewer samples, bytes of a
# sample
DATA = {"tar": ("sheaf", "webdataset", 1, SIZE), "tfrecord": ("sheaf", "tfrecord", 1, SIZE),
        "small": ("sheaf", "tfrecord", 25, 100), "earlier": ("earlier", "webdataset", 1, SIZE),
        "litdata": ("litdata", "litdata", 1, SIZE)}

ROWS = [
    ("39 kB, one process, no DataLoader", {
        "webdataset": ("webdataset_samples", "tar"), "tf.data": ("tf_data", "tfrecord"),
        "sheaf, tar": ("sheaf_samples", "tar"), "sheaf, tfrecord": ("sheaf_samples", "tfrecord"),
     }, [("sheaf, tar", ["webdataset"], 15), ("sheaf, tfrecord", ["tf.data"], 3)]),
    ("39 kB, DataLoader, 2 workers, batches of 64", {
        "webdataset, batched": ("webdataset_batched", "tar"),
        "webdataset, collated": ("webdataset_collated", "tar"),
        "litData": ("litdata_loader", "litdata"),
        "earlier build": ("earlier_loader", "earlier"),
        "sheaf": ("sheaf_loader", "tar"),
     }, [("sheaf", ["webdataset, batched", "webdataset, collated"], 10),
         ("sheaf", ["litData"], 3), ("sheaf", ["earlier build"], 1)]),
    ("100 B, batches of 1,024, tfrecord", {
        "sheaf, batches": ("sheaf_batches", "small"), "sheaf, one by one": ("sheaf_samples", "small"),
     }, [("sheaf, batches", [], 2000000)]),
]

NEEDS = {"webdataset": "webdataset", "litdata": "litdata", "tf": "tensorflow"}


def is_here(work):
    """Returns whether the package that a measurement needs is installed."""
    name = work.split("_")[0]
    if name == "earlier":
        return EARLIER is not None
    return name not in NEEDS or importlib.util.find_spec(NEEDS[name]) is not None


def process(flag, work, *words, **options):
    """Runs this program, with the package of an earlier build for contenders that need it."""
    env = dict(os.environ)
    if work.split("_")[0] == "earlier":
        env["PYTHONPATH"] = os.pathsep.join([EARLIER, env.get("PYTHONPATH", "")])
    return subprocess.run([sys.executable, "-W", "ignore", os.path.abspath(__file__), flag, *words],
                          env=env, check=True, stdout=subprocess.PIPE, timeout=600, **options)


def make_all(folder, count):
    """Makes all data sets and returns {name: samples}."""
    made = {}
    for name, (maker, container, times, size) in DATA.items():
        if is_here(maker):
            process("--make", maker, os.path.join(folder, name), str(times * count), str(size),
                    container, stderr=subprocess.DEVNULL)
            made[name] = times * count
    return made


def measure(contenders, folder, expected, rounds):
    """Returns {name: [rates]}."""
    for name in [name for name in contenders if not is_here(contenders[name][0])]:
        print("  %-24s is not here" % name, flush=True)
    contenders = {name: of for name, of in contenders.items() if is_here(of[0])}
    rates = {name: [] for name in contenders}
    cpu = {name: [] for name in contenders}
    for turn in range(rounds):
        names = list(contenders)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            work, data = contenders[name]
            done = process("--run", work, work, os.path.join(folder, data),
                           stderr=subprocess.DEVNULL)
            found = json.loads(done.stdout.splitlines()[-1])
            if found["samples"] != EPOCHS * expected[data]:
                raise SystemExit("%s: %d samples, expected %d" % (
                    name, found["samples"], EPOCHS * expected[data]))
            rates[name].append(found["samples"] / found["seconds"])
            cpu[name].append(found["cpu_seconds"] / found["samples"] * 1e6)
    for name in contenders:
        print("  %-24s %9.0f /s (%.0f to %.0f), %.1f us of processors a sample" % (
            name, statistics.median(rates[name]), min(rates[name]), max(rates[name]),
            statistics.median(cpu[name])), flush=True)
    return rates


def label_of(subject, bases):
    if not bases:
        return subject + " /s"
    return subject + " / " + ("the faster of " if bases[1:] else "") + ", ".join(bases)


def judge(rates, subject, bases, target):
    """Returns the result of a check, or None if one of its contenders is missing."""
    if not {subject, *bases} <= rates.keys():
        print("  %s, at least %g: not measured" % (label_of(subject, bases), target), flush=True)
        return None
    values = [rate / max((rates[base][turn] for base in bases), default=1)
              for turn, rate in enumerate(rates[subject])]
    found = {"subject": subject, "bases": bases, "target": target,
             "median": statistics.median(values), "low": min(values), "high": max(values)}
    found["met"] = found["median"] >= target
    print("  %s: %.4g (%.4g to %.4g), at least %g: %s" % (
        label_of(subject, bases), found["median"], found["low"], found["high"], target,
        "met" if found["met"] else "MISSED"), flush=True)
    return found


def main():
    count, rounds = int(os.environ.get("SAMPLES", 30607)), int(os.environ.get("ROUNDS", 5))
    folder = tempfile.mkdtemp(prefix="sheaf-bench-", dir=os.environ.get("BUILD", "."))
    try:
        made = make_all(folder, count)
        found = []
        for title, contenders, checks in ROWS:
            print(title, flush=True)
            rates = measure(contenders, folder, made, rounds)
            judged = [judge(rates, *check) for check in checks]
            found += [dict(check, row=title) for check in judged if check is not None]
        print(json.dumps({"samples": count, "rounds": rounds, "checks": found}))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(*sys.argv[2:])
    elif sys.argv[1:2] == ["--make"]:
        make(*sys.argv[2:])
    else:
        main()
