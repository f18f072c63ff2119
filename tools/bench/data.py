# SPDX-License-Identifier: MIT
"""The data for the measurements, in BUILD/bench/data. It is made once and kept."""

import contextlib
import glob
import json
import os
import shutil
import subprocess

CONTAINERS = ("tfrecord", "recordio", "webdataset")
SUFFIX = {"tfrecord": ".tfrecord", "recordio": ".rec", "webdataset": ".tar"}
SIZES = {               # files, small records, files of 1 KB (and ten times this number)
    "full": (30607, 5000000, 150000),
    "quick": (3000, 500000, 5000),
}
PARTS = 8           # trees among which the files are divided, to be mixed
REPLICATE = 10          # copies of an image in the large tree
RECORD_BYTES = 100      # bytes of a small record's content


class Data:
    """Paths of the data. Each is made when it is first requested."""

    def __init__(self, build, size):
        self.build = build
        self.images, self.records, self.small_files = SIZES[size]
        self.folder = os.path.join(build, "bench", "data-" + size)
        # Photos of about 500 x 400 pixels, as in ImageNet, and of about 1400 x 1200.
        self.photos = {"photos": self.images // 10, "large photos": self.images // 100}
        os.makedirs(self.folder, exist_ok=True)

    def program(self, name):
        return os.path.join(self.build, "bench", name)

    @property
    def sheaf(self):
        return os.path.join(self.build, "sheaf")

    @contextlib.contextmanager
    def _made(self, name):
        """Yields a path, and whether it must be made. If making it fails, the path is removed."""
        path = os.path.join(self.folder, name)
        if os.path.exists(path):
            yield path, False
            return
        half = path + ".half"
        shutil.rmtree(half, ignore_errors=True)
        print("  making %s" % name, flush=True)
        yield half, True
        os.rename(half, path)

    def tree(self):
        """JPEG files of 39 kB, the size of Caltech-256."""
        with self._made("tree") as (path, make):
            if make:
                _run([os.path.join(self.build, "make_jpegs"), path, "--images", self.images])
        return os.path.join(self.folder, "tree")

    def large_tree(self):
        """The same files, each under several names. They are hard links, which cost no space."""
        with self._made("large-tree") as (path, make):
            if make:
                for i in range(REPLICATE):
                    os.makedirs(path, exist_ok=True)
                    _run(["cp", "-al", self.tree(), os.path.join(path, "copy-%02d" % i)])
        return os.path.join(self.folder, "large-tree")

    def small_tree(self, replicate):
        """Files of 1 KB."""
        name = "small-tree-%d" % replicate
        with self._made(name) as (path, make):
            if make:
                _run([os.path.join(self.build, "make_jpegs"), path, "--images",
                      self.small_files, "--mean-bytes", 1000, "--replicate", replicate])
        return os.path.join(self.folder, name)

    def photo_tree(self, kind):
        """JPEG files of 110 kB, or of 300 kB."""
        name = kind.replace(" ", "-")
        with self._made(name) as (path, make):
            if make:
                _run([os.path.join(self.build, "make_jpegs"), path, "--images", self.photos[kind],
                      "--mean-bytes", 110000 if kind == "photos" else 300000])
        return os.path.join(self.folder, name)

    def part_trees(self):
        """The files, divided in turn among several trees that each have all classes, as hard links."""
        with self._made("part-trees") as (path, make):
            for number, file in enumerate(sorted(glob.glob(os.path.join(self.tree(), "*", "*")))
                                          if make else ()):
                link = os.path.join(path, "part-%d" % (number % PARTS),
                                    os.path.relpath(file, self.tree()))
                os.makedirs(os.path.dirname(link), exist_ok=True)
                os.link(file, link)
        return sorted(glob.glob(os.path.join(self.folder, "part-trees", "*")))

    def shards(self, container, codec="none", count=0, tree=None):
        """Packs the tree and returns the directory of the data set."""
        name = "%s-%s%s%s" % (container, codec, "-%d" % count if count else "",
                              "-" + os.path.basename(tree) if tree else "")
        with self._made(name) as (path, make):
            if make:
                _run([self.sheaf, "pack", tree or self.tree(), path, "--format", container,
                      "--codec", codec, *(["--shard-count", count] if count else [])])
        return _warm(os.path.join(self.folder, name))

    def column_shards(self, container):
        """The shards, with a column `cap` of texts of 200 bytes."""
        name = "%s-column" % container
        with self._made(name) as (path, make):
            if make:
                shutil.copytree(self.shards(container), path)
                list_ = path + ".jsonl"
                keys = subprocess.run([self.sheaf, "cat", path, "--list"], check=True,
                                      stdout=subprocess.PIPE).stdout.decode().splitlines()
                with open(list_, "w") as file:
                    for line in keys:
                        file.write(json.dumps({"key": line.split("\t")[0], "value": "caption " * 25})
                                   + "\n")
                _run([self.sheaf, "column", "add", path, "--name", "cap", "--from", list_])
                os.unlink(list_)
        return _warm(os.path.join(self.folder, name))

    def record_shards(self, fewer):
        """Small records, reduced in number by a factor, as a foreign data set that was indexed."""
        name = "records-%d" % (self.records // fewer)
        with self._made(name) as (path, make):
            if make:
                os.makedirs(path)
                _run([self.program("make_records"), path, self.records // fewer, RECORD_BYTES])
                _run([self.sheaf, "index", path])
        return _warm(os.path.join(self.folder, name))


def _run(words):
    subprocess.run([str(w) for w in words], check=True, stdout=subprocess.DEVNULL)


def files_of(folder):
    """Returns all files of a data set, including those of its columns."""
    return [path for path in glob.glob(os.path.join(folder, "**"), recursive=True)
            if os.path.isfile(path)]


def _warm(folder):
    """Reads a data set into the page cache, and returns its directory."""
    for path in files_of(folder):
        with open(path, "rb") as file:
            while file.read(1 << 20):
                pass
    return folder


def manifest(folder):
    with open(os.path.join(folder, "dataset.json"), encoding="utf-8") as file:
        return json.load(file)


def shard_files(folder):
    return sorted(path for path in glob.glob(os.path.join(folder, "shard-*"))
                  if not path.endswith((".idx", ".lst")))


def size_of(paths):
    return sum(os.path.getsize(path) for path in paths)
