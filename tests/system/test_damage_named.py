# SPDX-License-Identifier: MIT
"""Damage of every kind in one shard of several: every command names shard, offset and record, and `verify` continues
with the following shards."""

import gzip
import os
import re
import shutil
import struct

import writers
from decoders import crc32c, masked
from support import CODECS, CONTAINERS, Case, flip, make_tree, pack, read, shards_of, sheaf, write
from writers import tar_header

END = bytes(1024)
TERABYTES = 1 << 41         # more than a record may have


def member(name, data=b"x", kind=b"0"):
    return writers.tar_member(name, data, kind=kind)


def pax(key, value, kind=b"x"):
    size = len(key) + len(value) + 3
    while len(b"%d" % size) + len(key) + len(value) + 3 != size:
        size = len(b"%d" % size) + len(key) + len(value) + 3
    return member(b"PaxHeader", b"%d %s=%s\n" % (size, key, value), kind)


def header_with_size(field):
    head = bytearray(tar_header(b"b/2.bin", 0))
    head[124:136] = field
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head)


def tar(bad=b"", key=b"b"):
    """Returns a tar with three samples of 1024, 2048 and 1024 bytes. `bad` is in the middle of the second."""
    return (member(key + b"/1.txt") + member(key + b"/2.aaa") + bad + member(key + b"/2.zzz") +
            member(key + b"/3.txt") + END)


TARS = {    # content of the second sample, and a part of the message
    "sparse": (member(b"b/2.bin", kind=b"S"), "sparse"),
    "a large pax header": (pax(b"user.x", b"x" * (2 << 20)) + member(b"b/2.bin"), "1 MiB"),
    "a huge pax header": (pax(b"user.x", b"x" * (5 << 20)) + member(b"b/2.bin"), "extension"),
    "another volume": (member(b"b/2.bin", kind=b"M"), "another volume"),
    "a name in Latin-1": (member(b"b/2.caf\xe9"), "not valid UTF-8"),
    "a reserved suffix": (member(b"b/2.__key__"), "reserved"),
    "too many fields": (b"".join(member(b"b/2.f%04d" % i) for i in range(1100)), "1024 fields"),
    "a field twice": (member(b"b/2.aaa"), "two fields"),
    "a header's bit": (flip(member(b"b/2.bin"), 3), "checksum"),
    "a global path": (pax(b"path", b"x/y.z", b"g"), "global pax header"),
    "a global size": (pax(b"size", b"1", b"g"), "global pax header"),
    "over the limit": (tar_header(b"b/2.bin", TERABYTES, base256=True), "the limit is"),
    "a size of letters": (header_with_size(b"xyzxyzxyzxy\0"), "not a number"),
    "a pax size of letters": (pax(b"size", b"1x") + member(b"b/2.bin"), "not a number"),
    "a malformed pax header": (member(b"PaxHeader", b"9999 path=x\n", b"x"), "size key=value"),
    "a pax header of no member": (pax(b"path", b"b/2.x") + bytes(512), "zero block"),
}

EXAMPLES = [writers.example({"txt": [b"record %d" % i]}) for i in range(3)]
TFRECORD = writers.tfrecord(EXAMPLES)
FIRST = len(TFRECORD) // 3
OVER = struct.pack("<Q", TERABYTES)
TFRECORDS = {
    "length": (flip(TFRECORD, FIRST + 2), "length"),
    "CRC of the length": (flip(TFRECORD, FIRST + 9), "length"),
    "data": (flip(TFRECORD, FIRST + 14), "masked CRC"),
    "CRC of the data": (flip(TFRECORD, 2 * FIRST - 2), "masked CRC"),
    "cut in the data": (TFRECORD[:FIRST + 20], "expected"),
    "cut in the header": (TFRECORD[:FIRST + 5], "header"),
    "over the limit": (TFRECORD[:FIRST] + OVER + struct.pack("<I", masked(crc32c(OVER))) +
                       TFRECORD[FIRST + 12:], "the limit is"),
}

RECORDIO = writers.recordio([writers.image_record(b"content %d" % i, i) for i in range(3)])
PART = len(RECORDIO) // 3
RECORDIOS = {
    "magic": (flip(RECORDIO, PART), "magic"),
    "length": (flip(RECORDIO, PART + 7), "expected"),
    "flag": (flip(RECORDIO, PART + 7, 0xe0), "flag"),
    "cut in the data": (RECORDIO[:PART + 12], "expected"),
}


def table():
    """Yields (container, kind, bytes, offset, record, a part of the message) for the shard in the middle."""
    for kind, (bad, said) in TARS.items():
        yield "tar", kind, tar(bad), 1024, 1, said
    yield "tar", "a path that climbs", tar(member(b"b/../2.txt")), 2048, 2, 'component ".."'
    yield "tar", "cut in the data", tar()[:1024 + 612], 1024, 1, "expected"
    yield "tar", "no end", tar()[:-1024], 4096, 3, "zero blocks"
    yield "tar", "junk at the end", tar() + b"junk" * 128, 5120, 3, "checksum"
    for kind, (data, said) in TFRECORDS.items():
        yield "tfrecord", kind, data, FIRST, 1, said
    for kind, (data, said) in RECORDIOS.items():
        yield "rec", kind, data, PART, 1, said


GOOD = {"tar": (tar(key=b"a"), tar(key=b"c")), "tfrecord": (TFRECORD,) * 2, "rec": (RECORDIO,) * 2}
LAST = {"tar": flip(tar(key=b"c"), 3), "tfrecord": flip(TFRECORD, 14), "rec": flip(RECORDIO, 0)}


class DamageNamed(Case):
    def commands(self, folder, foreign=True):
        out = self.path("out")
        shutil.rmtree(out, ignore_errors=True)
        found = [("cat", folder, "--list"), ("cat", folder, "--list", "--no-shuffle"),
                 ("convert", folder, out, "--format", "webdataset"), ("unpack", folder, out),
                 ("verify", folder)]
        return found + [("index", folder)] * foreign

    def test_foreign_shards(self):
        for container, kind, data, offset, record, said in table():
            for codec, suffix in ((bytes, ""), (gzip.compress, ".gz")):
                folder = self.path("in")
                shutil.rmtree(folder, ignore_errors=True)
                first, last = GOOD[container]
                for name, content in (("a", first), ("b", data), ("c", last)):
                    write(os.path.join(folder, "%s.%s%s" % (name, container, suffix)),
                          codec(content))
                place = "b.%s%s: offset %d, record %d: " % (container, suffix, offset, record)
                for words in self.commands(folder, foreign=suffix == ""):
                    with self.subTest(container=container, kind=kind, words=words):
                        text = sheaf(*words, status=1).stderr.decode()
                        self.assertRegex(text, re.escape(place) + ".*" + re.escape(said))
                last = os.path.join(folder, "c.%s%s" % (container, suffix))
                write(last, codec(LAST[container]))
                with self.subTest(container=container, kind=kind, words="verify on"):
                    text = sheaf("verify", folder, status=1).stderr.decode()
                    self.assertIn(place, text)
                    self.assertIn("c.%s%s: offset 0, record 0: " % (container, suffix), text)
                    self.assertNotIn("a.%s%s" % (container, suffix), text)

    def test_one_is_singular(self):
        """Messages about one sample, shard, lane, byte or file use the singular."""
        source = make_tree(self.path("one"), {"k/a.txt": b"x"})
        two_bad = make_tree(self.path("bad"), {"k/a.jpg": b"", "k/b.jpg": b"", "k/c.txt": b"x"})
        folder, plan = self.path("set"), self.path("x.plan")
        commands = [("pack", source, folder, "--format", "tfrecord"),
                    ("pack", two_bad, self.path("other"), "--format", "tfrecord"),
                    ("cat", folder, "--list", "--memory", "1"), ("info", folder),
                    ("info", folder, folder + "/../set"), ("verify", folder),
                    ("plan", source, self.path("planned"), "-o", plan, "--format", "tfrecord"),
                    ("info", plan), ("unpack", folder, self.path("out")),
                    ("convert", folder, self.path("as"), "--format", "webdataset"),
                    ("cat", folder, "--list", "--lanes", "1", "--workers", "2")]
        for name, data in (("a.tar", tar()[:1]), ("b.tfrecord", TFRECORD[:FIRST + 1]),
                           ("c.tar.gz", gzip.compress(tar()) + b"j")):
            write(self.path(name), data)
            commands.append(("cat", self.path(name), "--list"))
        for words in commands:
            done = sheaf(*words, status=None)
            found = re.search(r"(?<![\d.])1 (\w+ )?(bytes|samples|shards|lanes|files|records|workers|"
                              r"members|objects|frames|fields)\b", (done.stdout + done.stderr).decode())
            self.assertIsNone(found, (words, done))

    def test_packed_shards(self):
        """A byte of a sample, of a compressed block or of the index; and a shard that is cut."""
        source = make_tree(self.path("tree"), {
            "k/%02d.txt" % i: b"sample %d " % i * 50 for i in range(30)})
        for container in CONTAINERS:
            for codec in CODECS:
                good = self.path("good")
                shutil.rmtree(good, ignore_errors=True)
                pack(source, good, container, codec, "--shard-count", 3)
                names = shards_of(good)
                for kind in ("flip", "cut", "two"):
                    self.check_packed(good, names, kind)
                self.check_index(good, names)

    def damaged(self, good):
        folder = self.path("bad")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(good, folder)
        return folder

    def check_packed(self, good, names, kind):
        folder = self.damaged(good)
        bad = names[1:] if kind == "two" else names[1:2]
        for name in bad:
            path = os.path.join(folder, name)
            data = read(path)
            write(path, data[:-20] if kind == "cut" else flip(data, len(data) // 2, 0x10))
        for words in self.commands(folder, foreign=False):
            with self.subTest(name=bad, kind=kind, words=words):
                text = sheaf(*words, status=1).stderr.decode()
                if kind == "cut":
                    self.assertRegex(text, re.escape(names[1]) + r": has \d+ bytes, but")
                elif words[0] == "verify":
                    for name in bad:
                        self.assertRegex(text, re.escape(name) + r": .*offset \d+")
                    self.assertNotIn(names[0], text)
                else:
                    found = re.search(r"(shard-\d+\S*): .*offset \d+", text)
                    self.assertIn(found and found.group(1), bad, text)
                    self.assertRegex(text, r"record \d+|samples? \d+")

    def check_index(self, good, names):
        folder = self.damaged(good)
        path = os.path.join(folder, "dataset.index")
        data = read(path)
        write(path, flip(data, len(data) // 2))
        for words in self.commands(folder, foreign=False):
            with self.subTest(name=names[1], words=words):
                text = sheaf(*words, status=1).stderr.decode()
                self.assertRegex(text, re.escape(names[1]) + ": .*(index|dataset.index)")
                if words[0] == "verify":
                    self.assertNotIn(names[2] + ": ", text)


class DirectoriesInPlaceOfFiles(Case):
    """A directory has the name of a file of the data set, or is given in place of a file. As with other damage, the
    exit status is 1; 2 is for an invalid option or argument."""

    def setUp(self):
        super().setUp()
        self.source = make_tree(self.path("source"), {"a/1.txt": b"1", "a/2.txt": b"2"})
        self.good = self.path("good")
        pack(self.source, self.good, "tfrecord")

    def fails(self, name, *words):
        bad = self.path("bad")
        shutil.rmtree(bad, ignore_errors=True)
        shutil.copytree(self.good, bad)
        os.unlink(os.path.join(bad, name))
        os.mkdir(os.path.join(bad, name))
        self.assert_error(sheaf(*words, status=1), name + ": is a directory, not a file")
        self.assertFalse(os.path.exists(self.path("out")))

    def test_in_a_data_set(self):
        bad, out = self.path("bad"), self.path("out")
        for words in (("info", bad), ("cat", bad, "--list"), ("verify", bad), ("index", bad),
                      ("convert", bad, out, "--format", "recordio"), ("edit", bad, "--purge"),
                      ("repair", bad, "--from", self.source), ("append", self.source, bad),
                      ("pack", self.source, bad, "--format", "tfrecord", "--overwrite"),
                      ("pack", self.source, out, "--format", "tfrecord", "--classes", bad)):
            self.fails("dataset.json", *words)
        for name in ("dataset.index", "dataset.keys", "shard-000000.tfrecord"):
            for words in (("get", bad, "a/1"), ("append", self.source, bad), ("repair", bad, "--from", self.good),
                          ("pack", self.source, bad, "--format", "tfrecord", "--overwrite")):
                self.fails(name, *words)

    def test_as_an_argument(self):
        for words in (("commit", self.source), ("pack", "--plan", self.source), ("cat", "@" + self.source, "--list"),
                      ("edit", self.good, "--labels", self.source), ("edit", self.good, "--delete", self.source)):
            self.assert_error(sheaf(*words, status=1), self.source + ": is a directory, not a file")
