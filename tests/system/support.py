# SPDX-License-Identifier: MIT
"""What the system tests share: running the command, making trees, comparing them."""

import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import case                     # pylint: disable=wrong-import-position
import jpegs                    # pylint: disable=wrong-import-position
from case import seed           # pylint: disable=unused-import,wrong-import-position

ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
SHEAF = os.path.join(BUILD, "sheaf")
MAKE_JPEGS = os.path.join(BUILD, "make_jpegs")
TIMEOUT = 900       # seconds for a command that hangs: none takes so long on the slowest machine
QUICK = bool(os.environ.get("QUICK"))

CONTAINERS = ("webdataset", "tfrecord", "recordio")
CODECS = ("none", "gzip", "lz4", "zstd")
SUFFIX = {"webdataset": ".tar", "tfrecord": ".tfrecord", "recordio": ".rec",
          "none": "", "gzip": ".gz", "lz4": ".lz4", "zstd": ".zst"}
NOT_SHARDS = (".idx", ".lst", ".json", ".index", ".keys", ".tsv")


# A shell's background job ignores SIGINT, and so would the commands that it is sent to.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def sheaf(*words, status=0, data=None, **how):
    """Runs the command; its output as bytes.  The exit status must be as said (None: any)."""
    done = subprocess.run([SHEAF, *map(os.fspath, map(_text, words))], input=data,
                          stdin=subprocess.DEVNULL if data is None else None,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT, **how)
    if status is not None and done.returncode != status:
        raise AssertionError("sheaf %s: status %d, not %d\n%s" % (
            " ".join(str(w) for w in words), done.returncode, status,
            done.stderr.decode(errors="replace")))
    return done


def _text(word):
    return word if isinstance(word, (bytes, os.PathLike)) else str(word)


def listing(*words, **how):
    """`sheaf cat --list`, as lines."""
    return sheaf("cat", *words, "--list", **how).stdout.decode().splitlines()


def pack(source, dest, container="webdataset", codec="none", *more, **how):
    return sheaf("pack", source, dest, "--format", container, "--codec", codec, *more, **how)


# ---- Files -----------------------------------------------------------------------------------

def write(path, data=b""):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def make_tree(root, files):
    """{path: bytes} -> files below root."""
    for path, data in files.items():
        write(os.path.join(os.fsencode(root), os.fsencode(path)), data)
    return root


def tree_of(root):
    """{path: bytes} of the files below root."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, root)] = read(path)
    return found


def shards_of(folder):
    return sorted(name for name in os.listdir(folder)
                  if not name.startswith(".") and not name.endswith(NOT_SHARDS)
                  and os.path.isfile(os.path.join(folder, name)))


def view_of(case_, sources, **rest):
    """Writes the document of a view into the test's folder; sources: (place, other members)."""
    path = case_.path("v%d.view" % len(os.listdir(case_.folder)))
    write(path, json.dumps({"sheaf_view": 1, **rest, "sources": [
        {"source": place, **members} for place, members in sources]}).encode())
    return path


def held(case_, end, *words, **variables):
    """A command that waits just before a file whose path ends so gets its name; and the file that is
    to be removed for it to go on."""
    library, mark = case_.path("hold.so"), case_.path("held")
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library,
                    os.path.join(HERE, "hold.c"), "-ldl"], check=True)
    run = subprocess.Popen([SHEAF, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                           env=dict(os.environ, LD_PRELOAD=library, HOLD_END=end, HOLD_FILE=mark,
                                    **variables))
    while not os.path.exists(mark):
        case_.assertIsNone(run.poll())
        time.sleep(0.005)
    return run, mark


def flip(data, at, bit=0x01):
    return data[:at] + bytes([data[at] ^ bit]) + data[at + 1:]


class Case(case.Case):
    @classmethod
    def place(cls):
        """Memory, if there is plenty (fsync costs most of the time otherwise), unless TMPDIR says
        where."""
        memory = "/dev/shm"
        if "TMPDIR" not in os.environ and os.path.isdir(memory) and \
                shutil.disk_usage(memory).free > 8 << 30:
            return memory
        return None

    def assert_same_tree(self, one, other):
        left, right = tree_of(one), tree_of(other)
        self.assertEqual(sorted(left), sorted(right))
        for name, data in left.items():
            self.assertTrue(data == right[name], "%s differs" % name)

    def assert_error(self, done, *words):
        """One line on standard error that says each of the words; no crash."""
        text = done.stderr.decode(errors="replace")
        self.assertIn(done.returncode, (1, 2), text)
        for word in words:
            self.assertIn(str(word), text)

    def kill_after(self, process, seconds):
        """Kills what has not ended by then; others must have succeeded."""
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        errors = process.communicate()[1].decode()
        self.assertIn(process.returncode, (0, -9), errors)

    def assert_nothing(self, folder):
        """No data set, and nothing that could be taken for one."""
        names = [n for n in os.listdir(folder) if not n.startswith(".")] \
            if os.path.isdir(folder) else []
        self.assertNotIn("dataset.json", names)


# ---- Trees -----------------------------------------------------------------------------------

def image_tree(classes=5, images=12, seed_number=1, size=20000, magic=True):
    """A Caltech-like tree: a directory per class, JPEGs of all sizes, and sidecars of some."""
    chance = random.Random(seed_number)
    names = ["%03d.%s" % (i + 1, word) for i, word in zip(
        range(classes), itertools.cycle(["ak47", "billiards", "coin", "dog", "faces-easy"]))]
    files = {}
    for number, name in enumerate(names, 1):
        for image in range(1, images + 1):
            key = "%s/%03d_%04d" % (name, number, image)
            payload = chance.randbytes(chance.randrange(size))
            if magic and image % 5 == 0:     # RecordIO's magic, on its grid and off it
                payload = b"\x0a\x23\xd7\xce" * 5 + payload + b"x\x0a\x23\xd7\xce\x0a\x23\xd7\xce"
            files[key + (".JPG" if image % 7 == 0 else ".jpg")] = jpegs.jpeg(
                8 + image, 8 + number, 3 if image % 2 else 1, image, payload)
            if image % 4 == 0:
                files[key + ".json"] = b'{"n": %d}\n' % image
            if image % 6 == 0:
                files[key + ".seg.PNG"] = b"\x89PNG\r\n\x1a\n" + chance.randbytes(image)
                files[key + ".txt"] = b""
    return files


def expected_samples(files):
    """{key: {suffix: bytes}} of a tree, by webdataset's rule."""
    import decoders
    samples = {}
    for path, data in files.items():
        key, suffix = decoders.split_name(path)
        samples.setdefault(key, {})[suffix] = data
    return samples


@contextlib.contextmanager
def small_disk(folder, size):
    """A tmpfs of `size` bytes at `folder`; skips the test where that is not allowed."""
    os.makedirs(folder, exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % size, "tmpfs", folder],
                      stderr=subprocess.DEVNULL).returncode != 0:
        raise unittest.SkipTest("no right to mount a tmpfs")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


# A process begins with the peak of the one that it was forked from, so a small one forks it.
MEASURE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, code, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(code)
print(usage.ru_maxrss * 1024, process.returncode)
"""


def peak_memory(words, status=0):
    """Runs a command; the largest resident set it had, in bytes."""
    done = subprocess.run([sys.executable, "-S", "-c", MEASURE, *words], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    peak, code = map(int, done.stdout.split())
    if code != status:
        raise AssertionError("%s: status %d\n%s" % (words, code, done.stderr.decode()))
    return peak
