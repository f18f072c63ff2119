# SPDX-License-Identifier: MIT
"""A read-only file system (FUSE) that shows a directory as if it were behind a bad network: reads take time, fail
sometimes, or find that the server has forgotten the file."""

import argparse
import contextlib
import errno
import json
import os
import subprocess
import sys
import threading
import time
import unittest


@contextlib.contextmanager
def mounted(source, folder, **options):
    """Shows `source` at `folder`. Yields a function that returns the number of operations so far.

    latency: seconds that an open or read takes. eio: one read in this number fails, once. lists: this number of
    listings fail at the beginning. stale: from this read on, all files that are open are stale. changed: they then
    also have another time."""
    os.makedirs(folder, exist_ok=True)
    counts = folder.rstrip("/") + ".counts"
    words = [sys.executable, os.path.abspath(__file__), source, folder, counts]
    for name, value in options.items():
        words += ["--" + name, str(value)]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while not os.path.ismount(folder):
            if process.poll() is not None:
                raise unittest.SkipTest("no FUSE here: %s" % process.stderr.read().decode())
            if time.monotonic() > deadline:
                raise RuntimeError("%s is not mounted" % folder)
            time.sleep(0.02)
        yield lambda: _read_counts(counts)
    finally:
        subprocess.run(["fusermount", "-u", "-z", folder], check=False,
                       stderr=subprocess.DEVNULL)
        process.wait(60)
        process.stderr.close()


def _read_counts(path):
    with open(path, encoding="ascii") as file:
        return json.load(file)


def main():
    import fusepy

    class Faults(fusepy.Operations):
        def __init__(self, options):
            self.options, self.lock = options, threading.Lock()
            self.counts = {"getattr": 0, "open": 0, "read": 0, "list": 0, "failed": 0, "largest": 0}
            self.generation, self.generations = 0, {}       # the generation of each open file
            self._write()

        def _path(self, path):
            return self.options.source + path

        def _write(self):
            with open(self.options.counts + ".new", "w", encoding="ascii") as file:
                json.dump(self.counts, file)
            os.replace(self.options.counts + ".new", self.options.counts)

        def _count(self, name):
            with self.lock:
                self.counts[name] += 1
                self._write()
                return self.counts[name]

        def getattr(self, path, fh=None):
            self._count("getattr")
            try:
                st = os.lstat(self._path(path))
            except OSError as error:
                raise fusepy.FuseOSError(error.errno)
            found = {name: getattr(st, name) for name in (
                "st_mode", "st_nlink", "st_size", "st_uid", "st_gid", "st_mtime", "st_ctime",
                "st_atime")}
            if self.options.changed and self.generation:
                found["st_mtime"] += 1
            return found

        def readdir(self, path, fh):
            if self._count("list") <= self.options.lists:
                raise fusepy.FuseOSError(errno.EIO)
            return [".", "..", *os.listdir(self._path(path))]

        def open(self, path, flags):
            time.sleep(self.options.latency)
            self._count("open")
            fh = os.open(self._path(path), os.O_RDONLY)
            with self.lock:
                self.generations[fh] = self.generation
            return fh

        def release(self, path, fh):
            os.close(fh)

        def read(self, path, size, offset, fh):
            time.sleep(self.options.latency)
            number = self._count("read")
            with self.lock:
                self.counts["largest"] = max(self.counts["largest"], size)
                if number == self.options.stale:
                    self.generation = 1
                stale = self.generations[fh] < self.generation
                if stale or (self.options.eio and number % self.options.eio == 0):
                    self.counts["failed"] += 1
                    self._write()
                    raise fusepy.FuseOSError(errno.ESTALE if stale else errno.EIO)
            return os.pread(fh, size, offset)

    parser = argparse.ArgumentParser()
    for name in ("source", "folder", "counts"):
        parser.add_argument(name)
    parser.add_argument("--latency", type=float, default=0)
    for name in ("eio", "lists", "stale", "changed", "direct"):
        parser.add_argument("--" + name, type=int, default=0)
    options = parser.parse_args()
    fusepy.FUSE(Faults(options), options.folder, foreground=True, ro=True, attr_timeout=0,
                entry_timeout=0, direct_io=bool(options.direct))


if __name__ == "__main__":
    main()
