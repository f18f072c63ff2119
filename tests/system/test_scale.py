# SPDX-License-Identifier: MIT
"""Tests packing and reading many files within the requested memory."""

import os
import shutil
import subprocess

import decoders
from support import CONTAINERS, MAKE_JPEGS, QUICK, SHEAF, Case, listing, peak_memory, write

MIB = 1 << 20
ROOM = 32 * MIB                 # the program itself, libraries, stacks, malloc's own
PLAN_PER_FILE = 150             # bytes, beside the names


class Scale(Case):
    def check(self, source, paths, budget):
        """Packs into each container, and reads from it. The resident memory must stay below the limit."""
        names = sum(len(p) + 1 for p in paths)
        plan = PLAN_PER_FILE * len(paths) + names
        out = self.path("out")
        for container in CONTAINERS:
            with self.subTest(container=container):
                peak = peak_memory([SHEAF, "pack", source, out, "--format", container,
                                    "--memory", str(budget), "--jobs", "2"])
                self.assertLess(peak, budget + plan + ROOM)
                data_set = decoders.DataSet(out)
                self.assertEqual(data_set.manifest["totals"]["samples"]
                                 if "totals" in data_set.manifest
                                 else data_set.manifest["samples"], len(paths))
                index = os.path.getsize(os.path.join(out, "dataset.index"))
                stored = sum(s["bytes"] for s in data_set.manifest["shards"])
                self.assertLessEqual(index, max(stored // 1000, 16 * len(paths)))
                # a plain read, a shuffled one with a small buffer, and a check of everything
                for words in (["cat", out, "--null", "--no-shuffle"],
                              ["cat", out, "--null", "--shuffle-buffer", "500"],
                              ["verify", out]):
                    peak = peak_memory([SHEAF, *words, "--memory", str(budget)])
                    self.assertLess(peak, budget + ROOM, words)
                lines = listing(out, "--seed", 1)
                self.assertEqual(sorted(line.split("\t")[0] for line in lines),
                                 sorted(decoders.split_name(p)[0] for p in paths))
                shutil.rmtree(out)

    def test_as_many_images_as_caltech_256(self):
        count = 2000 if QUICK else 30607
        source = self.path("images")
        subprocess.run([MAKE_JPEGS, source, "--images", str(count), "--mean-bytes", "2000"],
                       check=True, stdout=subprocess.DEVNULL)
        paths = [os.path.relpath(os.path.join(f, n), source)
                 for f, _, names in os.walk(source) for n in names]
        self.assertEqual(len(paths), count)
        self.check(source, paths, 128 * MIB)

    def test_very_many_small_files(self):
        count = 10000 if QUICK else 200000
        source, paths = self.path("small"), []
        for folder in range(200):
            first = os.path.join(source, "c%03d/%06d.bin" % (folder, 0))
            write(first, bytes(range(256)) * 4)
            for i in range(count // 200):
                paths.append("c%03d/%06d.bin" % (folder, i))
                if i > 0:       # links are made faster than files
                    os.link(first, os.path.join(source, paths[-1]))
        self.check(source, paths, 64 * MIB)

    def test_a_file_larger_than_the_budget(self):
        """The file must be packed, or refused with an error that states the sizes. The memory must not exceed the
        limit."""
        source = self.path("large")
        os.makedirs(os.path.join(source, "a"))
        with open(os.path.join(source, "a", "big.bin"), "wb") as file:
            file.truncate(100 * MIB)
        process = subprocess.run([SHEAF, "pack", source, self.path("out"), "--format",
                                  "webdataset", "--memory", "32MiB"], stderr=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        peak = peak_memory([SHEAF, "pack", source, self.path("out2"), "--format", "webdataset",
                            "--memory", "32MiB"], status=process.returncode)
        self.assertLess(peak, 32 * MIB + ROOM)
        if process.returncode != 0:
            self.assertRegex(process.stderr.decode(), r"\b%d\b" % (32 * MIB))
