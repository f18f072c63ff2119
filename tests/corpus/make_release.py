#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_release.py SHEAF OUT.tar.xz: what a release of the command writes, for test_releases.py to
read with every later one: data sets in each container and codec, a split, a view, positions, a data
set that was edited, one with a column, and plans of files, of a conversion and of a column, of which
one part of two is packed.  A plan names its source and destination by their absolute paths, so all
is made in PLACE, where the test puts it again."""

import json
import os
import random
import shutil
import subprocess
import sys
import tarfile

PLACE = "/tmp/sheaf-release-corpus"
ORDERS = (("none", "webdataset-none", ["--seed", "5", "--lanes", "2"], 6),
          ("whole", "webdataset-none", ["--no-shuffle"], 7),
          ("buffer", "webdataset-none",
           ["--seed", "9", "--epoch", "3", "--shuffle-buffer", "4"], 5),
          ("view", "mix.view", ["--seed", "2", "--epoch", "1", "--lanes", "2"], 8))


def make_tree():
    rng = random.Random(1)
    for name in ("cat", "dog", "owl"):
        os.makedirs("tree/" + name)
        for i in range(6):
            for suffix, data in (("bin", rng.randbytes(rng.randrange(400))),
                                 ("json", b'{"number": %d}\n' % i)):
                path = "tree/%s/%03d.%s" % (name, i, suffix)
                with open(path, "wb") as file:
                    file.write(data)
                os.utime(path, (1700000000, 1700000000))


def main():
    command, out = map(os.path.abspath, sys.argv[1:])

    def sheaf(*words):
        return subprocess.run([command, *words], check=True, stdout=subprocess.PIPE).stdout

    os.mkdir(PLACE)
    os.chdir(PLACE)
    make_tree()
    for container in ("webdataset", "tfrecord", "recordio"):
        for codec in ("none", "gzip", "lz4", "zstd"):
            sheaf("pack", "tree", "%s-%s" % (container, codec), "--format", container, "--codec",
                  codec, "--shard-size", "2kB", "--seed", "3")
    sheaf("pack", "tree", "split", "--format", "tfrecord", "--split", "train=0.7,val=0.3")
    sheaf("view", "webdataset-none", "split/val", "-o", "mix.view", "--weights", "3,1",
          "--samples", "24")
    sheaf("plan", "tree", "planned", "-o", "plan", "--format", "recordio", "--shard-size", "2kB")
    sheaf("pack", "--plan", "plan", "--part", "0/2")
    sheaf("plan", "webdataset-none", "converted", "-o", "conversion", "--format", "tfrecord")
    sheaf("convert", "--plan", "conversion", "--part", "0/2")
    sheaf("pack", "tree", "grown", "--format", "tfrecord", "--shard-size", "2kB", "--include",
          "cat/")
    sheaf("append", "tree", "grown", "--exclude", "cat/")
    sheaf("pack", "tree", "edited", "--format", "webdataset", "--shard-size", "2kB")
    with open("gone", "w", encoding="utf-8") as file:
        file.write("cat/002\nowl/005\n")
    sheaf("edit", "edited", "--delete", "gone")
    sheaf("pack", "tree", "columned", "--format", "tfrecord", "--shard-size", "2kB")
    with open("values.jsonl", "w", encoding="utf-8") as file:
        for name in ("cat", "dog", "owl"):
            for i in range(5):      # the sixth has none
                key = "%s/%03d" % (name, i)
                file.write(json.dumps({"key": key, "value": "a picture of " + key}) + "\n")
    sheaf("column", "add", "columned", "--name", "text", "--from", "values.jsonl")
    sheaf("column", "plan", "columned", "--name", "later", "--from", "values.jsonl", "-o", "column")
    sheaf("column", "add", "--plan", "column", "--part", "0/2")
    orders = {}
    for name, source, options, count in ORDERS:
        whole = sheaf("cat", source, "--list", *options)
        sheaf("cat", source, "--null", *options, "--limit", str(count),
              "--save-position", "position-" + name)
        orders[name] = {"source": source, "options": options, "taken": count, "keys": [
            line.split(b"\t")[0].decode() for line in whole.splitlines()]}
    with open("orders.json", "w", encoding="utf-8") as file:
        json.dump(orders, file, indent=1)
    with tarfile.open(out, "w:xz") as tar:
        tar.add(".", ".")
    shutil.rmtree(PLACE)


main()
