# SPDX-License-Identifier: MIT
"""Tests positions in files. Other files in the directory must stay. If a full disk or an abandoned pipe ends the
reading, the saved position must be right."""

import fcntl
import os
import resource
import signal
import struct
import subprocess
import termios
import time

from support import MAKE_JPEGS, SHEAF, Case, read, sheaf, write

IMAGES = 900


def records_within(data):
    """Returns the number of complete TFRecords in these first bytes of a file."""
    at = count = 0
    while at + 12 <= len(data):
        at += 16 + struct.unpack_from("<Q", data, at)[0]
        count += at <= len(data)
    return count


def full_disk():
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


class PositionFile(Case):
    @classmethod
    def share(cls):
        tree = os.path.join(cls.shared, "tree")
        cls.data = os.path.join(cls.shared, "data")
        subprocess.run([MAKE_JPEGS, tree, "--images", str(IMAGES), "--mean-bytes", "4000"],
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run([SHEAF, "pack", tree, cls.data, "--format", "recordio",
                        "--shard-count", "3"], check=True, stdout=subprocess.DEVNULL)

    def keys(self, *options):
        done = sheaf("cat", self.data, "--list", *options)
        return [line.split(b"\t")[0] for line in done.stdout.splitlines()]

    def test_a_url_is_not_a_file(self):
        for option in ("--save-position", "--resume-from", "--metrics"):
            done = sheaf("cat", self.data, "--list", option, "s3://bucket/file", status=1)
            self.assertEqual(done.stdout, b"")
            self.assert_error(done, "s3://bucket/file: is a URL, expected a file")

    def test_files_beside_it_stay(self):
        position = self.path("p")
        others = {self.path("p" + end): end.encode() for end in (".tmp", ".0.tmp", "~")}
        for path, data in others.items():
            write(path, data)
        for _ in range(2):
            self.keys("--limit", "7", "--save-position", position)
        self.assertEqual(sorted(os.listdir(self.path())),
                         sorted(map(os.path.basename, [position, *others])))
        self.assertEqual({path: read(path) for path in others}, others)
        self.assertEqual(self.keys("--resume-from", position), self.keys()[7:])

    def test_the_end_of_an_epoch_is_said(self):
        """Reading from a position at the end of its epoch returns nothing, and a message says so."""
        position = self.path("p")
        self.keys("--lanes", "4", "--save-position", position)
        for how in (("--list",), ("--null",), ("--to", "tfrecord"), ()):
            done = sheaf("cat", self.data, *how, "--resume-from", position)
            self.assertEqual(done.stderr.decode(), "sheaf: %s: the position is at the end of its "
                             "epoch: no sample is left\n" % position)
        self.keys("--save-position", position, "--limit", "1")
        done = sheaf("cat", self.data, "--list", "--resume-from", position)
        self.assertEqual(done.stderr, b"")

    def test_a_full_disk_leaves_the_position_before(self):
        position = self.path("p")
        self.keys("--limit", "7", "--save-position", position)
        before = read(position)
        done = subprocess.run([SHEAF, "cat", self.data, "--list", "--limit", "9",
                               "--save-position", position], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, preexec_fn=full_disk)
        self.assertEqual(done.returncode, 1)
        self.assertIn(position.encode(), done.stderr)
        self.assertEqual(os.listdir(self.path()), ["p"])
        self.assertEqual(read(position), before)

    def taken(self, reader):
        """Reads some bytes of a pipe, and closes it when its writer cannot write any more. Returns the number of bytes
        that the pipe took."""
        out = reader.stdout.read(300000)
        waiting = -1
        while True:
            now = struct.unpack("i", fcntl.ioctl(reader.stdout, termios.FIONREAD, b"\0" * 4))[0]
            if now == waiting:
                break
            waiting = now
            time.sleep(0.3)
        self.assertIsNone(reader.poll())
        reader.stdout.close()
        return len(out) + waiting

    def test_a_pipe_that_nobody_reads(self):
        position = self.path("p")
        whole = sheaf("cat", self.data, "--to", "tfrecord").stdout
        reader = subprocess.Popen([SHEAF, "cat", self.data, "--to", "tfrecord", "--save-position",
                                   position], stdout=subprocess.PIPE, bufsize=0)
        count = records_within(whole[:self.taken(reader)])
        self.assertEqual(reader.wait(), -signal.SIGPIPE)
        self.assertTrue(0 < count < IMAGES)
        self.assertEqual(self.keys("--resume-from", position), self.keys()[count:])

    def test_a_pipe_that_nobody_reads_from_the_start(self):
        position = self.path("p")
        ours, theirs = os.pipe()
        os.close(ours)
        done = subprocess.run([SHEAF, "cat", self.data, "--list", "--save-position", position],
                              stdout=theirs, stderr=subprocess.PIPE)
        os.close(theirs)
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, b""))
        self.assertEqual(self.keys("--resume-from", position), self.keys())

    def test_a_directory_is_no_position(self):
        done = sheaf("cat", self.data, "--list", "--resume-from", self.path(), status=1)
        self.assert_error(done, self.path(), "Is a directory")

    def test_a_changed_digit_is_refused(self):
        position = self.path("p")
        self.keys("--limit", "7", "--save-position", position)
        write(position, read(position).replace(b" epoch=0 ", b" epoch=3 "))
        done = sheaf("cat", self.data, "--list", "--resume-from", position, status=1)
        self.assertIn(b"the position is damaged", done.stderr)
