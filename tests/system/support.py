# SPDX-License-Identifier: MIT
"""Shared by the system tests: running the command, making trees, and comparing them."""

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
TIMEOUT = 900       # seconds until a command counts as hanging; no command takes this long on the slowest machine
QUICK = bool(os.environ.get("QUICK"))

CONTAINERS = ("webdataset", "tfrecord", "recordio")
CODECS = ("none", "gzip", "lz4", "zstd")
SUFFIX = {"webdataset": ".tar", "tfrecord": ".tfrecord", "recordio": ".rec",
          "none": "", "gzip": ".gz", "lz4": ".lz4", "zstd": ".zst"}
NOT_SHARDS = (".idx", ".lst", ".json", ".index", ".keys", ".tsv")


# A shell's background job ignores SIGINT, and the commands that the tests interrupt would inherit this.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def sheaf(*words, status=0, data=None, **how):
    """Runs the command and returns its output as bytes. The exit status must be `status` (None: any)."""
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
    """Returns the output of `sheaf cat --list` as lines."""
    return sheaf("cat", *words, "--list", **how).stdout.decode().splitlines()


def pack(source, dest, container="webdataset", codec="none", *more, **how):
    return sheaf("pack", source, dest, "--format", container, "--codec", codec, *more, **how)


# ---- Files -----------------------------------------------------------------------------------

def write(path, data=b""):
    """Writes a file. It is shortened only after it was written, because ext4 waits for the disk when a file is closed
    that was emptied and written again. Tests that write a file thousands of times would mostly wait."""
    def opener(name, _flags):
        return os.open(name, os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        file = open(path, "wb", opener=opener)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        file = open(path, "wb", opener=opener)
    with file:
        file.write(data)
        file.truncate()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def make_tree(root, files):
    """Writes files {path: bytes} below root."""
    for path, data in files.items():
        write(os.path.join(os.fsencode(root), os.fsencode(path)), data)
    return root


def tree_of(root):
    """Returns {path: bytes} of the files below root."""
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
    """Writes the document of a view into the test's folder. `sources` are pairs (place, other members)."""
    path = case_.path("v%d.view" % len(os.listdir(case_.folder)))
    write(path, json.dumps({"sheaf_view": 1, **rest, "sources": [
        {"source": place, **members} for place, members in sources]}).encode())
    return path


def restore(root, files):
    """Writes the files {path: bytes} below root, and removes all others."""
    shutil.rmtree(root, ignore_errors=True)
    make_tree(root, files)


# ---- Commands whose system calls are held, or fail -------------------------------------------

def preload(folder, name):
    """Compiles the source `name` as a library for LD_PRELOAD, unless it is in the folder. Returns its path."""
    library = os.path.join(folder, os.path.basename(name) + ".so")
    if not os.path.exists(library):
        subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library,
                        os.path.join(HERE, name + ".c"), "-ldl"], check=True)
    return library


def held(case_, end, *words, **variables):
    """Starts a command that waits just before a file with this ending gets its name. Returns the command, and the
    file whose removal lets it continue."""
    mark = case_.path("mark")
    run = subprocess.Popen([SHEAF, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env=dict(os.environ, LD_PRELOAD=preload(case_.shared, "hold"), HOLD_END=end,
                                    HOLD_FILE=mark, **variables))
    while not os.path.exists(mark):
        case_.assertIsNone(run.poll(), "it ended before " + end)
        time.sleep(0.005)
    return run, mark


def released(run, mark):
    """Lets a held command continue. Returns its exit status, output and errors."""
    os.unlink(mark)
    out, errors = run.communicate(timeout=60)
    return run.returncode, out, errors


def killed(run, mark):
    """Kills a held command."""
    run.kill()
    run.communicate()
    os.unlink(mark)


def killing(case_, at):
    """Returns an environment in which a command is killed at system call number `at`."""
    return dict(os.environ, LD_PRELOAD=preload(case_.shared, "../campaign/faults"), FAULT_KIND="kill",
                FAULT_AT=str(at))


def kills(case_, step, prepare, *words, first=None):
    """Runs a command again and again. Each run is killed `step` system calls later than the run before. Calls
    prepare() before each run. Yields the number of the system call after each kill, and ends after a run that
    succeeded."""
    at = first or random.Random(seed()).randrange(1, step)
    while True:
        prepare()
        if sheaf(*words, status=None, env=killing(case_, at)).returncode == 0:
            return
        yield at
        at += step


def flip(data, at, bit=0x01):
    return data[:at] + bytes([data[at] ^ bit]) + data[at + 1:]


class Case(case.Case):
    @classmethod
    def place(cls):
        """Returns a directory in memory if there is plenty, because fsync takes most of the time otherwise. TMPDIR
        takes precedence."""
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
        """Checks that standard error has one line that contains each of the words, and that the command did not
        crash."""
        text = done.stderr.decode(errors="replace")
        self.assertIn(done.returncode, (1, 2), text)
        for word in words:
            self.assertIn(str(word), text)

    def kill_after(self, process, seconds):
        """Kills processes that have not ended in time. The others must have succeeded."""
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        errors = process.communicate()[1].decode()
        self.assertIn(process.returncode, (0, -9), errors)

    def assert_nothing(self, folder):
        """Checks that there is no data set, and nothing that could be mistaken for one."""
        names = [n for n in os.listdir(folder) if not n.startswith(".")] \
            if os.path.isdir(folder) else []
        self.assertNotIn("dataset.json", names)


# ---- Trees -----------------------------------------------------------------------------------

def image_tree(classes=5, images=12, seed_number=1, size=20000, magic=True):
    """Returns a tree like Caltech-256: a directory for each class, JPEGs of all sizes, and sidecars of some."""
    chance = random.Random(seed_number)
    names = ["%03d.%s" % (i + 1, word) for i, word in zip(
        range(classes), itertools.cycle(["ak47", "billiards", "coin", "dog", "faces-easy"]))]
    files = {}
    for number, name in enumerate(names, 1):
        for image in range(1, images + 1):
            key = "%s/%03d_%04d" % (name, number, image)
            payload = chance.randbytes(chance.randrange(size))
            if magic and image % 5 == 0:     # RecordIO's magic number, at a multiple of 4 and elsewhere
                payload = b"\x0a\x23\xd7\xce" * 5 + payload + b"x\x0a\x23\xd7\xce\x0a\x23\xd7\xce"
            files[key + (".JPG" if image % 7 == 0 else ".jpg")] = jpegs.jpeg(
                8 + image, 8 + number, 3 if image % 2 else 1, image, payload)
            if image % 4 == 0:
                files[key + ".json"] = b'{"n": %d}\n' % image
            if image % 6 == 0:
                files[key + ".seg.PNG"] = b"\x89PNG\r\n\x1a\n" + chance.randbytes(image)
                files[key + ".txt"] = b""
    return files


def photo_tree(root, images, classes=5, mean=39000):
    """Writes JPEGs below root. They are as large as photos, but random bytes in a comment take most of the space, so
    that making them takes little time."""
    chance = random.Random(images)
    for image in range(images):
        write(os.path.join(root, "%03d.class" % (image % classes + 1), "%05d.jpg" % image),
              jpegs.jpeg(seed=image, payload=chance.randbytes(chance.randrange(2 * mean))))
    return root


def expected_samples(files):
    """Returns {key: {suffix: bytes}} of a tree, by webdataset's rule."""
    import decoders
    samples = {}
    for path, data in files.items():
        key, suffix = decoders.split_name(path)
        samples.setdefault(key, {})[suffix] = data
    return samples


@contextlib.contextmanager
def small_disk(folder, size):
    """Mounts a tmpfs of `size` bytes at `folder`. Skips the test if this is not allowed."""
    os.makedirs(folder, exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % size, "tmpfs", folder],
                      stderr=subprocess.DEVNULL).returncode != 0:
        raise unittest.SkipTest("no right to mount a tmpfs")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


# A process begins with the peak memory of the process that forked it, so a small process forks it.
MEASURE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, code, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(code)
print(usage.ru_maxrss * 1024, process.returncode)
"""


def peak_memory(words, status=0):
    """Runs a command, and returns the largest resident set that it had, in bytes."""
    done = subprocess.run([sys.executable, "-S", "-c", MEASURE, *words], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    peak, code = map(int, done.stdout.split())
    if code != status:
        raise AssertionError("%s: status %d\n%s" % (words, code, done.stderr.decode()))
    return peak
