# SPDX-License-Identifier: MIT
"""The case study: one training program, and every way in which its data can come from S3.

    BUILD=build python3 tools/bench/casestudy.py [WAY]...       (all)

After AWS's "Choose the best data source for your Amazon SageMaker training job", on one machine:
{File, FastFile, mounted file system, direct S3, Pipe} x {small, large data set} x {JPEGs of 39 kB,
shards of about 110 MB}.  Scaled to some five minutes: the small set is 1,000 images in three
epochs (of 1 GB: 30,607), the large one 5,000 in one (of 54 GB: 1.5 million), and the shuffle buffer
1,000; the consumer takes 1,000 samples a second; the server is radosgw, made to answer 15 ms after
each request, at 400 MB/s together and 80 MB/s a connection.

Prints the table; BUILD/bench/casestudy.json and casestudy.svg get it as well."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass

import bench
import charts
import data
import remote
import servers

RATE = 1000             # samples a second that the consumer takes
WORKERS = 8             # of the consumer, where a sample is a file
LATENCY_MS, LINK_MB, CONNECTION_MB = 15, 400, 80
SIZES = {"small": (1000, 3), "large": (5000, 1)}       # images, epochs
SHARD_SIZE = "110MB"
PARTS = ("download", "first sample", "training", "stall")


@dataclass
class Cell:
    """What one way took, in seconds."""
    size: str
    way: str
    form: str               # JPEGs or shards
    by: str                 # the tool that brings the data
    download: float = 0
    first: float = 0
    train: float = 0
    stall: float = 0
    missing: str = ""

    @property
    def parts(self):
        return [self.download, self.first, self.train, self.stall]


class Study:
    """The data, in the bucket and on the disk, and the programs."""

    def __init__(self, build, rgw, endpoint, folder):
        self.build, self.rgw, self.endpoint, self.folder = build, rgw, endpoint, folder
        self.env = rgw.environment(endpoint)
        self.sheaf = os.path.join(build, "sheaf")

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def url(self, size, form):
        return "s3://%s/%s-%s/" % (remote.BUCKET, size, form)

    def prepare(self, size):
        """The tree, its shards, and both in the bucket."""
        tree, shards = self.path(size + "-JPEGs"), self.path(size + "-shards")
        _run([os.path.join(self.build, "make_jpegs"), tree, "--images", SIZES[size][0]])
        _run([self.sheaf, "pack", tree, shards, "--format", "webdataset", "--shard-size",
              SHARD_SIZE])
        for folder in (tree, shards):
            transfers = []
            for path in _files(folder):
                key = "/%s/%s/%s" % (remote.BUCKET, os.path.basename(folder),
                                     os.path.relpath(path, folder))
                transfers.append([
                    'url = "%s"' % remote.presigned(self.rgw.client, self.rgw.plain, "PUT", key),
                    'upload-file = "%s"' % path, 'output = "/dev/null"', 'header = "Expect:"'])
            for at in range(0, len(transfers), 500):
                _run(remote.curl(self.path("put"), transfers[at:at + 500]))

    def consume(self, cell, *words):
        """Trains; its times go into the cell."""
        done = subprocess.run([os.path.join(self.build, "bench", "consume"), str(RATE),
                               str(SIZES[cell.size][1]), *words], check=False, env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.decode(errors="replace").strip()[-300:])
        said = json.loads(done.stdout)
        expected = SIZES[cell.size][0] * SIZES[cell.size][1]
        if said["samples"] != expected:
            raise RuntimeError("%d samples, not %d" % (said["samples"], expected))
        cell.first, cell.train, cell.stall = said["first"], said["train"], said["stall"]

    @contextlib.contextmanager
    def channel(self, config=None):
        """A directory as a job's /opt/ml; it, and the place of its channels."""
        root = self.path("ml")
        for part in ("data", "config"):
            os.makedirs(os.path.join(root, "input", part))
        with open(os.path.join(root, "input", "config", "inputdataconfig.json"), "w",
                  encoding="utf-8") as file:
            json.dump({"train": config or {}}, file)
        try:
            yield root, os.path.join(root, "input", "data")
        finally:
            shutil.rmtree(root)

    def list_of(self, names):
        path = self.path("list")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(name + "\n" for name in names)
        return path


def _run(words, **how):
    done = subprocess.run([str(w) for w in words], check=False, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, **how)
    if done.returncode != 0:
        raise RuntimeError("%s: %s" % (words[0], done.stderr.decode(errors="replace")[-300:]))


def _files(folder):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)


def _train_on_folder(study, cell, folder):
    if cell.form == "JPEGs":
        study.consume(cell, "files", str(WORKERS), study.list_of(_files(folder)))
        return
    with study.channel() as (root, at):
        os.symlink(folder, os.path.join(at, "train"))
        study.consume(cell, "channel", root)


# ---- The ways ----------------------------------------------------------------------------------

def file_mode(study, cell):
    """Everything is on the disk before training begins."""
    dest = study.path("downloaded")
    shutil.rmtree(dest, ignore_errors=True)
    begin = time.monotonic()
    if cell.by == "aws s3 cp":
        _run(["aws", "s3", "cp", "--recursive", "--only-show-errors",
              study.url(cell.size, cell.form), dest], env=study.env)
    else:
        _run([study.sheaf, "fetch", study.url(cell.size, cell.form), dest], env=study.env)
    cell.download = time.monotonic() - begin
    _train_on_folder(study, cell, dest)
    shutil.rmtree(dest)


def fast_file(study, cell):
    """A file system over the bucket: s3fs in the place of SageMaker's own."""
    mount = study.path("mount")
    os.makedirs(mount, exist_ok=True)
    with open(study.path("keys"), "w", encoding="ascii", opener=lambda p, f: os.open(
            p, f, 0o600)) as file:
        file.write("%s:%s" % (study.rgw.client.access, study.rgw.client.secret))
    _run(["s3fs", "%s:/%s-%s" % (remote.BUCKET, cell.size, cell.form), mount, "-o",
          "url=%s,use_path_request_style,passwd_file=%s,ro,listobjectsv2" % (
              study.endpoint, study.path("keys"))], env=servers.clean_environment())
    try:
        _train_on_folder(study, cell, mount)
    finally:
        _run(["fusermount", "-u", "-z", mount])


def mounted(study, cell):
    """A file system that holds the data: this machine's disk, with nothing in memory, in the place
    of EFS and of FSx for Lustre."""
    if bench.Bench.can_drop_caches():
        bench.Bench.drop_caches()
    _train_on_folder(study, cell, study.path("%s-%s" % (cell.size, cell.form)))


def direct(study, cell):
    """No file system: a request a sample, or the library's own reading of shards."""
    if cell.form == "shards":
        source = {"S3DataSource": {"S3Uri": study.url(cell.size, cell.form)}}
        with study.channel({"DataSource": source}) as (root, _):
            study.consume(cell, "channel", root)
        return
    prefix = "%s-%s/" % (cell.size, cell.form)
    study.consume(cell, "urls", str(WORKERS), study.list_of(
        remote.presigned(study.rgw.client, study.endpoint, "GET", "/%s/%s" % (remote.BUCKET, key))
        for key in study.rgw.client.list(remote.BUCKET, prefix)))


def manifest(study, cell):
    """SageMaker's manifest file of the shards: a pipe has nothing but them."""
    folder = study.path("%s-%s" % (cell.size, cell.form))
    path = study.path("manifest.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump([{"prefix": study.url(cell.size, cell.form)}] + [
            os.path.basename(name) for name in data.shard_files(folder)], file)
    return path


def pipe(study, cell):
    """Named pipes, an epoch each, which `sheaf pipe` feeds as SageMaker does.  Of JPEGs each
    becomes a record (RecordWrapperType RecordIO)."""
    if cell.form == "shards":
        words = [manifest(study, cell)]
    else:
        words = [study.url(cell.size, cell.form), "--record-wrapper", "recordio"]
    with study.channel({"TrainingInputMode": "Pipe"}) as (root, at):
        feeder = subprocess.Popen([study.sheaf, "pipe", words[0], at, "--epochs",
                                   str(SIZES[cell.size][1]), *words[1:]], env=study.env,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            while feeder.poll() is None and not os.path.exists(os.path.join(at, "train_0")):
                time.sleep(0.01)
            if feeder.poll() is None:
                study.consume(cell, "channel", root)
            if feeder.wait(timeout=60) != 0:
                raise RuntimeError(feeder.stderr.read().decode(errors="replace")[-300:])
        finally:
            feeder.kill()
            feeder.wait()
            feeder.stderr.close()


WAYS = (                # name, what it does, who brings JPEGs, who brings shards
    ("File", file_mode, ("aws s3 cp", "sheaf fetch"), ("aws s3 cp", "sheaf fetch")),
    ("FastFile", fast_file, ("s3fs",), ("s3fs, sheaf",)),
    ("mounted", mounted, ("the disk",), ("the disk, sheaf",)),
    ("direct S3", direct, ("a GET each",), ("sheaf",)),
    ("Pipe", pipe, ("sheaf pipe",), ("sheaf pipe, sheaf",)),
)


# ---- The report --------------------------------------------------------------------------------

def table(report):
    lines = ["| data set | way | files | brought by | download | first sample | training | stall | "
             "total |", "|---|---|---|---|---|---|---|---|---|"]
    for c in (Cell(**c) for c in report["cells"]):
        lines.append("| %s | %s | %s | %s | %s |" % (
            c.size, c.way, c.form, c.by, c.missing or " | ".join(
                "%.1f s" % v for v in [*c.parts, sum(c.parts)])))
    return lines


def show(cell):
    name = "%-6s %-10s %-7s %-18s" % (cell.size, cell.way, cell.form, cell.by)
    print("  %s %s" % (name, "not measured: " + cell.missing if cell.missing else "  ".join(
        "%s %5.1f" % p for p in zip((*PARTS, "total"), [*cell.parts, sum(cell.parts)]))),
          flush=True)


def draw(report, folder):
    for size, (images, epochs) in SIZES.items():
        rows = [("%s, %s: %s" % (c["way"], c["form"], c["by"]), Cell(**c).parts)
                for c in report["cells"] if c["size"] == size and not c["missing"]]
        if rows:
            with open(os.path.join(folder, "casestudy-%s.svg" % size), "w",
                      encoding="utf-8") as file:
                file.write(charts.stacked("%s images, %d epoch%s" % (
                    "{:,}".format(images), epochs, "s" if epochs > 1 else ""), "seconds", PARTS,
                    rows))


def measure(study, wanted):
    for size in SIZES:
        for way, run, *tools in WAYS:
            for form, by in [(f, t) for f, ts in zip(("JPEGs", "shards"), tools) for t in ts]:
                if wanted and way not in wanted:
                    continue
                cell = Cell(size, way, form, by)
                try:
                    run(study, cell)
                except (RuntimeError, OSError, subprocess.SubprocessError) as why:
                    cell.missing = str(why).strip().splitlines()[-1]
                show(cell)
                yield cell


def main(wanted):
    build = os.path.abspath(os.environ.get("BUILD", "build"))
    here = bench.Bench("quick")
    os.makedirs(here.folder, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="casestudy-", dir=here.folder)
    report = {"machine": bench.machine(), "cells": []}
    begin = time.monotonic()
    rgw = servers.Radosgw()
    try:
        rgw.client.make_bucket(remote.BUCKET)
        with remote.shaped(here, rgw.plain, LATENCY_MS, LINK_MB, CONNECTION_MB) as endpoint:
            study = Study(build, rgw, endpoint, folder)
            for size in SIZES:
                study.prepare(size)
            print("the consumer takes %d samples a second; seconds" % RATE, flush=True)
            report["cells"] = [asdict(cell) for cell in measure(study, wanted)]
    finally:
        rgw.stop()
        shutil.rmtree(folder, ignore_errors=True)
    report["seconds"] = time.monotonic() - begin
    with open(os.path.join(here.folder, "casestudy.json"), "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
    draw(report, here.folder)
    print("%.0f s" % report["seconds"])


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, bench.end_orderly)
    main(sys.argv[1:])
