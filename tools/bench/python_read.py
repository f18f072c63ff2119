# SPDX-License-Identifier: MIT
"""How fast samples reach Python: ours beside webdataset's and tf.data's, in one run.

    make bench-python                   (SAMPLES=40000 ROUNDS=5)

Contenders take turns, and a ratio is taken within a round; what counts is the median of the
rounds.  All shuffle through a buffer of BUFFER samples, or of as many over all workers, and give a
loop bytes-like objects with their labels, which it does not read; where they come in batches, lists
of them.  Of two ways that webdataset has to make batches, the faster counts.  Each run is a process
of its own, which makes EPOCHS passes; importing is not in its time.  Prints what it finds, and at the end a line of JSON."""

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
    """Batches made by the pipeline, in the workers."""
    from torch.utils.data import DataLoader
    dataset = webdataset_of(folder, BUFFER // WORKERS).batched(BATCH, collation_fn=columns)
    loader = DataLoader(dataset, batch_size=None, num_workers=WORKERS, persistent_workers=True)
    yield
    for fields, _ in passes(loader):
        yield len(fields)


def webdataset_collated(folder):
    """Batches made by the DataLoader."""
    from torch.utils.data import DataLoader
    loader = DataLoader(webdataset_of(folder, BUFFER // WORKERS), batch_size=BATCH,
                        num_workers=WORKERS, collate_fn=columns, persistent_workers=True)
    yield
    for fields, _ in passes(loader):
        yield len(fields)


def tf_data(folder):
    """As its guide has it; the batches stay tensors, and nothing is parsed."""
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


def run(name, folder):
    """{samples, seconds, cpu_seconds}"""
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


# ---- Taking turns -------------------------------------------------------------------------------

ROWS = [
    ("39 kB, one process, no DataLoader", {
        "webdataset": ("webdataset_samples", "tar"), "tf.data": ("tf_data", "tfrecord"),
        "sheaf, tar": ("sheaf_samples", "tar"), "sheaf, tfrecord": ("sheaf_samples", "tfrecord"),
     }, [("sheaf, tar", ["webdataset"], 15), ("sheaf, tfrecord", ["tf.data"], 3)]),
    ("39 kB, DataLoader, 2 workers, batches of 64", {
        "webdataset, batched": ("webdataset_batched", "tar"),
        "webdataset, collated": ("webdataset_collated", "tar"),
        "sheaf": ("sheaf_loader", "tar"),
     }, [("sheaf", ["webdataset, batched", "webdataset, collated"], 10)]),
    ("100 B, batches of 1,024, tfrecord", {
        "sheaf, batches": ("sheaf_batches", "small"), "sheaf, one by one": ("sheaf_samples", "small"),
     }, [("sheaf, batches", [], 2000000)]),
]


def make(dest, count, size, container):
    import sheaf
    noise = os.urandom(4 << 20)
    with sheaf.Packer(dest, format=container) as packer:
        for i in range(count):
            at = random.randrange(len(noise) - size)
            packer.append("c%03d/%07d" % (i % 257, i), {"bin": noise[at:at + size]},
                          labels=i % 257)


def measure(contenders, folder, expected, rounds):
    """{name: [rates]}"""
    rates = {name: [] for name in contenders}
    cpu = {name: [] for name in contenders}
    for turn in range(rounds):
        names = list(contenders)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            work, data = contenders[name]
            done = subprocess.run([sys.executable, "-W", "ignore", __file__, "--run", work,
                                   os.path.join(folder, data)], check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
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


def judge(rates, subject, bases, target):
    values = [rate / max((rates[base][turn] for base in bases), default=1)
              for turn, rate in enumerate(rates[subject])]
    found = {"subject": subject, "bases": bases, "target": target,
             "median": statistics.median(values), "low": min(values), "high": max(values)}
    found["met"] = found["median"] >= target
    print("  %s %s: %.4g (%.4g to %.4g), at least %g: %s" % (
        subject, "/ the faster of " + ", ".join(bases) if bases[1:] else
        "/ " + bases[0] if bases else "/s", found["median"], found["low"], found["high"], target,
        "met" if found["met"] else "MISSED"), flush=True)
    return found


def main():
    count, rounds = int(os.environ.get("SAMPLES", 40000)), int(os.environ.get("ROUNDS", 5))
    folder = tempfile.mkdtemp(prefix="sheaf-bench-", dir=os.environ.get("BUILD", "."))
    try:
        for name in ("tar", "tfrecord"):
            make(os.path.join(folder, name), count, SIZE,
                 {"tar": "webdataset"}.get(name, name))
        make(os.path.join(folder, "small"), 25 * count, 100, "tfrecord")
        found = []
        for title, contenders, checks in ROWS:
            print(title, flush=True)
            rates = measure(contenders, folder,
                            {"tar": count, "tfrecord": count, "small": 25 * count}, rounds)
            found += [dict(judge(rates, *check), row=title) for check in checks]
        print(json.dumps({"samples": count, "rounds": rounds, "checks": found}))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(*sys.argv[2:])
    else:
        main()
