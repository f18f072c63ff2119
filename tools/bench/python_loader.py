# SPDX-License-Identifier: MIT
"""Measures the cost of sheaf.torch.DataLoader, compared with PyTorch's own DataLoader over a list of the same files
in memory.

    make bench-python                   (IMAGES=30607 ROUNDS=5)

Decoded: JPEG decode and a random crop in WORKERS workers. First batch: the time from the constructor to the first
batch of such a loader. Resume: the time to the first batch after a state at 90 % of an epoch, minus the time at the
start of an epoch. Memory: proportional set sizes of the program and 8 workers, minus those of PyTorch's own loader
over numbers.

Each run is a process of its own, and runs take turns. The result is the median of the rounds. Prints the results, and
a line of JSON at the end."""

import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BATCH, WORKERS, CROP = 64, 2, 64
MANY = 8                                # workers for the measurement of memory
BUDGET = 256 << 20


def crop(data):
    """Returns a random crop of a JPEG as a tensor."""
    import random
    import numpy
    import torch
    from PIL import Image
    image = numpy.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    top = random.randrange(max(1, image.shape[0] - CROP))
    left = random.randrange(max(1, image.shape[1] - CROP))
    return torch.from_numpy(image[top:top + CROP, left:left + CROP].copy())


def of_sample(sample):
    return crop(sample["jpg"])


def sizes(samples):
    return len(samples)


def files_of(folder):
    return [os.path.join(top, name) for top, _, names in os.walk(folder + "/tree")
            for name in names]


class InMemory:
    """A list of files, which are read before the measurement begins."""

    def __init__(self, folder):
        self.files = []
        for path in files_of(folder):
            with open(path, "rb") as file:
                self.files.append(file.read())

    def __len__(self):
        return len(self.files)

    def __getitem__(self, number):
        return crop(self.files[number])


def sheaf_loader(folder, workers, **options):
    import sheaf.torch
    return sheaf.torch.DataLoader(folder + "/set", BATCH, workers, collate_fn=sizes,
                                  memory_bytes=BUDGET, **options)


def torch_loader(data, workers):
    import torch.utils.data
    return torch.utils.data.DataLoader(data, BATCH, shuffle=True, num_workers=workers,
                                       collate_fn=sizes)


def timed(make):
    """Returns (seconds to the first batch, seconds to the end, number of samples)."""
    begin = time.perf_counter()
    batches = iter(make())
    samples = next(batches)
    first = time.perf_counter() - begin
    samples += sum(batches)
    return first, time.perf_counter() - begin, samples


def run_sheaf(folder):
    import sheaf.torch                              # the import is not measured
    return timed(lambda: sheaf_loader(folder, WORKERS, decode=of_sample))


def run_torch(folder):
    data = InMemory(folder)
    return timed(lambda: torch_loader(data, WORKERS))


def first_of(folder, state=None):
    loader = sheaf_loader(folder, WORKERS, decode=len)
    begin = time.perf_counter()
    if state is not None:
        loader.load_state_dict(state)
    next(iter(loader))
    return time.perf_counter() - begin, loader


def run_resume(folder):
    """Returns (seconds to start, seconds to resume)."""
    started, loader = first_of(folder)
    state = loader.state_dict()
    state["batches"] = len(loader) * 9 // 10
    loader.close()
    resumed, _ = first_of(folder, state)
    return started, resumed


def memory_of(loader):
    """Returns the bytes of this process and its workers, in the middle of a pass."""
    batches = iter(loader)
    for _ in range(2 * MANY):
        next(batches)
    pids = [os.getpid()]
    pids += [int(pid) for pid in open("/proc/self/task/%d/children" % pids[0]).read().split()]
    total = 0
    for pid in pids:
        with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as file:
            total += sum(1024 * int(line.split()[1]) for line in file if line.startswith("Pss:"))
    return total


def run_memory_sheaf(folder):
    return (memory_of(sheaf_loader(folder, MANY, decode=len)),)


def run_memory_torch(_):
    return (memory_of(torch_loader(list(range(100000)), MANY)),)


def run(name, folder):
    done = subprocess.run([sys.executable, "-W", "ignore", __file__, "--run", name, folder],
                          check=True, stdout=subprocess.PIPE, timeout=600)
    return json.loads(done.stdout.splitlines()[-1])


def verdict(label, values, target, at_least):
    median = statistics.median(values)
    met = median >= target if at_least else median <= target
    print("  %-44s %.4g (%.4g to %.4g), at %s %g: %s" % (
        label, median, min(values), max(values), "least" if at_least else "most", target,
        "met" if met else "MISSED"), flush=True)
    return {"label": label, "median": median, "target": target, "met": met}


def main():
    count, rounds = int(os.environ.get("IMAGES", 30607)), int(os.environ.get("ROUNDS", 5))
    build = os.path.abspath(os.environ.get("BUILD", "build"))
    folder = tempfile.mkdtemp(prefix="sheaf-bench-", dir=build)
    try:
        subprocess.run([os.path.join(build, "make_jpegs"), folder + "/tree", "--images",
                        str(count)], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([os.path.join(build, "sheaf"), "pack", folder + "/tree", folder + "/set",
                        "--format", "webdataset"], check=True, stdout=subprocess.DEVNULL)
        ours, theirs, resumed, memory = [], [], [], []
        for _ in range(rounds):
            ours.append(run("run_sheaf", folder))
            theirs.append(run("run_torch", folder))
            resumed.append(run("run_resume", folder))
            memory.append(run("run_memory_sheaf", folder)[0] - run("run_memory_torch", folder)[0])
        if {found[2] for found in ours + theirs} != {count}:
            raise SystemExit("samples are missing")
        found = [
            verdict("decode and crop, rate / files in memory",
                    [b[1] / a[1] for a, b in zip(ours, theirs)], 0.97, True),
            verdict("first batch, time / files in memory",
                    [a[0] / b[0] for a, b in zip(ours, theirs)], 1.2, False),
            verdict("resume at 90 %, ms above a start",
                    [1000 * (b - a) for a, b in resumed], 50, False),
            verdict("memory, 8 workers, MiB above PyTorch",
                    [m / 2**20 for m in memory], BUDGET / 2**20 + MANY * 5, False)]
        print(json.dumps({"images": count, "rounds": rounds, "checks": found}))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(globals()[sys.argv[2]](sys.argv[3])))
    else:
        main()
