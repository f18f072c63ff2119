# SPDX-License-Identifier: MIT
"""One chain of the campaign: a folder, the things that were made in it, and the commands that were run. Each command
is recorded as a line of shell that can be run again. Steps ask the chain to run commands, and state what they expect.
"""

import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import time

import readers
import trees
from order_reference import epoch_order

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
SHEAF = os.path.join(BUILD, "sheaf")
TIMEOUT = 300       # seconds until a command counts as hanging


class Difference(Exception):
    """A command did something other than the model says."""


class Foreseen(Exception):
    """A command was refused, which the model allows. The step has no result."""


class Source:
    """Files and the way in which they are listed: a directory, a list beside it, or an archive.

    argument: the argument that names the source, or a list of arguments. options: options for reading it. folder: the
    directory of the files, or None if they are in S3 or in an archive. kind: tree, list, archive, prefix, manifest,
    augmented or inventory."""

    def __init__(self, argument, files, entries, folder, options=(), kind="tree"):
        self.arguments = [argument] if isinstance(argument, str) else list(argument)
        self.kind = kind
        self.files, self.entries = files, entries
        self.folder, self.options = folder, list(options)

    @property
    def argument(self):
        return self.arguments[0]

    @property
    def is_tree(self):
        return self.kind == "tree" and self.argument == self.folder

    def with_entries(self, arguments, entries):
        """Returns the same files, listed in another way."""
        return Source(arguments, self.files, entries, self.folder, self.options, self.kind)


class Shards:
    """Shards: a data set, or (is_set False) shards without a manifest.

    shards: the samples of each shard, as a reader finds them. arguments: arguments of the command that name them.
    folder: where they are (a path or a URL)."""

    is_view = False

    def __init__(self, arguments, shards, **more):
        self.arguments, self.shards = list(arguments), shards
        self.container, self.codec = more["container"], more["codec"]
        self.is_set = more.get("is_set", True)
        self.foreign = more.get("foreign", not self.is_set)
        self.classes, self.base = more.get("classes", []), more.get("base", 0)
        self.names, self.folder = more.get("names", []), more.get("folder")
        self.fingerprint = more.get("fingerprint")
        self.first = more.get("first")              # number of samples before the first append
        self.dealt = more.get("dealt")              # for the shards of one host: number of hosts, and all counts
        self.sources = more.get("sources")          # for several data sets that are opened together
        self.ids, self.texts = more.get("ids"), more.get("texts")   # as in readers.Found

    @property
    def samples(self):
        return [sample for shard in self.shards for sample in shard]

    @property
    def counts(self):
        return [len(shard) for shard in self.shards]

    @property
    def epoch_length(self):
        return len(self.samples)

    def epoch(self, **order):
        """Returns the numbers of an epoch's samples, in order."""
        return epoch_order(self.counts, **order)

    def length(self, remainder, lanes):
        """Returns the common number of samples of a host in an epoch: None if it is the host's own number, -1 if the
        host is refused."""
        if self.dealt is None or remainder == "keep":
            return None
        hosts, counts = self.dealt
        if remainder == "pad":
            most = sum(sorted(counts)[len(counts) - -(-len(counts) // hosts):])
            return -1 if sum(self.counts) > most else -(-most // lanes) * lanes
        least = sum(sorted(counts)[:len(counts) // hosts])
        return -1 if sum(self.counts) < least else least // lanes * lanes

    @property
    def is_stream(self):
        """Whether the counts are unknown before the end."""
        return not self.is_set and (self.codec != "none" or
                                    (not self.is_local and self.sources is None))

    @property
    def is_local(self):
        return "://" not in self.arguments[0]


class Chain:
    def __init__(self, name, folder, s3=None):
        self.chance = random.Random(name)
        self.name, self.folder, self.s3 = name, folder, s3
        self.lines, self.things, self.number = [], [], 0
        self.env = dict(os.environ, LC_ALL="C.UTF-8") if s3 is None else s3.environment
        os.makedirs(folder)

    # ---- Names -----------------------------------------------------------------------------

    def new(self, kind):
        """Returns a free name in the chain's folder."""
        self.number += 1
        return "%s%d" % (kind, self.number)

    def path(self, name):
        return os.path.join(self.folder, name)

    def new_dest(self):
        """Returns a place for a data set: mostly a directory, in some chains with S3 a prefix."""
        name = self.new("set")
        if self.s3 is not None and self.chance.random() < 0.6:
            return self.s3.url + name
        return name

    def local(self, place):
        """Returns a directory with the files of a place. For a prefix, this is a copy."""
        if "://" not in place:
            return self.path(place)
        copy = self.path(self.new("copy"))
        for name, data in self.s3.objects(place).items():
            trees.write(copy, {name: data})
        os.makedirs(copy, exist_ok=True)
        return copy

    # ---- Commands --------------------------------------------------------------------------

    def note(self, *words):
        self.lines.append(" ".join(map(shell_word, words)))

    def fail(self, *lines):
        raise Difference("\n".join(str(line) for line in lines))

    def sheaf(self, *words, status=0, data=None, says=()):
        """Runs the command. status: the expected exit status. None: 0, or a failure with a message."""
        words = [os.fspath(word) if not isinstance(word, (int, float)) else str(word)
                 for word in words]
        self.note("sheaf", *words)
        try:
            done = subprocess.run([SHEAF, *words], cwd=self.folder, env=self.env, input=data,
                                  stdin=subprocess.DEVNULL if data is None else None,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            self.fail("sheaf %s does not end" % words[0])
        self.check_status(done, words, status, says)
        return done

    def check_status(self, done, words, status, says=()):
        """Checks the exit status. `status` is 0, None (0, or 1 or 2 with a message), or 1 (1 or 2, with a message).
        """
        text = done.stderr.decode(errors="backslashreplace")
        failed = done.returncode in (1, 2)
        if done.returncode != 0 and not failed:
            self.fail("sheaf %s: ended with status %d" % (words[0], done.returncode), text[-3000:])
        if (status == 0 and failed) or (status == 1 and not failed):
            self.fail("sheaf %s: status %d, expected %s" % (
                words[0], done.returncode, "success" if status == 0 else "a failure"), text[-3000:],
                done.stdout[-500:] if status else "")
        if failed and not re.search(r"^sheaf: .", text, re.M):
            self.fail("sheaf %s: a failure without a message" % words[0], text[-3000:])
        if failed and says and not any(word in text for word in says):
            self.fail("sheaf %s: the error names none of %s:" % (words[0], says[:5]), text[-3000:])

    def kill(self, *words):
        """Runs the command and kills it at a random moment. Returns whether it was still running."""
        seconds = self.chance.choice([0.001, 0.004, 0.008, 0.015, 0.03]) * self.chance.random()
        words = [str(word) for word in words]
        self.note("timeout", "-s", "KILL", "%.4f" % seconds, "sheaf", *words)
        process = subprocess.Popen([SHEAF, *words], cwd=self.folder, env=self.env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        process.kill()
        return process.wait() == -signal.SIGKILL

    def copy(self, names, folder):
        """Copies files to a new folder of the chain."""
        os.makedirs(self.path(folder), exist_ok=True)
        self.note("mkdir", "-p", folder)
        for name in names:
            shutil.copy(self.path(name), self.path(folder))
            self.note("cp", name, folder)

    # ---- Comparing -------------------------------------------------------------------------

    def same(self, found, expected, what, ordered=True):
        text = readers.difference(found, expected, ordered)
        if text:
            self.fail("%s:" % what, text)

    def equal(self, found, expected, what):
        if found != expected:
            self.fail("%s: found %r, expected %r" % (what, found, expected))

    def read_set(self, place, what):
        """Reads the data set at a place."""
        try:
            return readers.data_set(self.local(place))
        except Exception as error:      # pylint: disable=broad-except
            raise Difference("%s: %s cannot be read: %s: %s" % (
                what, place, type(error).__name__, error)) from error

    def numbers(self, done, pattern):
        """Returns the numbers that a pattern finds in the last line of a command."""
        text = done.stdout.decode()
        match = re.search(pattern, text)
        if match is None:
            self.fail("no %r in the output:" % pattern, text[-1000:])
        return [int(group or 0) for group in match.groups()]


def shell_word(word):
    """Quotes a word for the shell, whatever bytes it contains."""
    raw = os.fsencode(str(word))
    if re.fullmatch(rb"[\x20-\x7e]*", raw):
        return shlex.quote(raw.decode())
    return "$'%s'" % "".join(chr(b) if 0x20 <= b < 0x7f and b not in b"\\'" else "\\x%02x" % b
                             for b in raw)
