# SPDX-License-Identifier: MIT
"""Seeded random trees of files, with everything that occurs and worse: names in all scripts, of one letter and of
hundreds, that differ in case or in Unicode's form; samples of many fields; empty files, copies, one file far larger
than the rest; and, on request, files that cannot be packed."""

import os
import struct

import decoders
import jpegs
import photos

FOLDERS = ["", "c1", "C1", "c 2", "caf\u00e9", "cafe\u0301", "c1/sub", "c1/sub/sub", "c1.d",
           "z.y", "\u65e5\u672c", "-dash", "{0..3}", "%41", "q\"'\\", "n" * 90,
           "n" * 90 + "/" + "m" * 90, "a/b/c/d/e", "@list", "*", "__deep/__x__"]
STEMS = ["a", "A", "b-", "b0", "b_", "a b", "\u00e9", "e\u0301", "\u00ff", "x" * 120, "a\u00ad",
         "0", "1", "10", "2", "-", "\U0001f600", "[1]", "__", "#1", "k=v", "a,b", "tab"]
SUFFIXES = ["bin", "txt", "json", "seg.png", "seg.PNG", "BIN", "Txt", "idx", "npy", "s" * 130,
            "k.\u00fc", "a b", "data", "tar", "lst", "tfrecord", "jpgx"]
IMAGES = ["jpg", "JPG", "jpeg", "mask.jpg"]
BAD_NAMES = ["README", ".hidden", "trailing.", "not\udcffutf8.bin", "new\nline.bin",
             "tab\there.bin", "\x7f.bin", "over\udcc0\udcaflong.bin", "x.__key__", ".dot.x",
             "esc\x1b[31m.bin"]
BAD_TOP = ["__meta__/x.bin", "__a.b__"]
CLUTTER = [".git/HEAD.txt", ".ipynb_checkpoints/a.jpg", ".x/y/z.bin", "Thumbs.db", "DESKTOP.ini"]
BAD_CLUTTER = [".DS_Store", "._a.jpg"]
MAGIC = b"\x0a\x23\xd7\xce"
TABLE = struct.pack("<IQH3s", 1, 4, 3, b"bin")
TRAILER = b"four" + TABLE + struct.pack("<II", decoders.crc32c(TABLE), len(TABLE)) + b"sheafrec"
HEADS = [b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF\0\0\0\0WEBP", b"\x93NUMPY",
         b"BM", b"\x1f\x8b\x08", b"\x04\x22\x4d\x18", b"PAX", b"ustar"]
OWN_LABELS = [b"3\n", b"7", b"1 2 3", b"1,2\n", b" 0.5 ", b"cat", b"", b"-4", b"+4", b"1e3",
              b"nan"]
BAD_IMAGES = [b"", b"\xff\xd8\xff\xe0", b"GIF89a", jpegs.jpeg(components=4),
              jpegs.jpeg(seed=2)[:-9], bytes(100)]

_images = {}


def image(number):
    """Returns one of a few hundred valid JPEGs."""
    if number not in _images:
        _images[number] = jpegs.jpeg(8 + number % 17, 8 + number % 13, 3 if number % 2 else 1,
                                     number, bytes([number % 256]) * (number % 7))
    return _images[number]


class Tree:
    """Chooses the files of a tree. self.files is {path: bytes}, with None for a link that leads nowhere."""

    def __init__(self, chance, bad):
        self.chance, self.bad, self.files = chance, bad, {}
        self.taken, self.made = set(), set()    # paths in lower case, and the folders
        kind = chance.random()
        self.largest = 3000000 if kind < 0.02 else 70000 if kind < 0.15 else 4000
        self.folders = chance.sample(FOLDERS, chance.choice([1, 2, 4, 8]))
        self.cls_share = chance.choice([0, 0, 0, 0.1, 1])
        self.image_share = chance.choice([0, 0.3, 1])
        self.odd_images = self.image_share > 0 and chance.random() < 0.25
        empty = chance.random() < 0.03
        for _ in range(0 if empty else chance.choice([1, 2, 5, 12, 12, 12, 30, 30, 30, 100])):
            self._add_sample()
        if chance.random() < 0.02:
            self._add_wide_sample(chance.choice([400, 1000]))
        if chance.random() < 0.2:
            self._add_clutter()
        if bad:
            self._add_bad()

    def _path(self, stem, suffix):
        return os.path.join(self.chance.choice(self.folders), stem + "." + suffix)

    def _stem(self):
        if self.chance.random() < 0.3:
            return self.chance.choice(STEMS)
        return "s%03d" % self.chance.randrange(400)

    def _content(self):
        chance = self.chance
        kind = chance.random()
        if kind < 0.05:
            return b""
        if kind < 0.12 and self.files:
            return chance.choice(list(self.files.values())) or b""
        if kind < 0.17:
            return MAGIC * chance.randrange(1, 5) + b"x" * chance.randrange(4)
        if kind < 0.20:
            return TRAILER if kind < 0.19 else b"like one sheafrec"
        if kind < 0.25:
            return chance.choice(HEADS) + chance.randbytes(chance.randrange(60))
        if kind < 0.28:
            return bytes(chance.choice([1, 511, 512, 513, 1024, 5000]))
        size = chance.choice([1, 10, 100, 500, 512, 1000, self.largest])
        return chance.randbytes(chance.randrange(size + 1))

    def _put(self, path, data):
        """Adds a file, unless it would be a second field with the same name, or a folder has its path."""
        folder, above = os.path.dirname(path), []
        while folder:
            above.append(folder)
            folder = os.path.dirname(folder)
        if lower(path) in self.taken or path in self.made or self.files.keys() & above:
            return
        self.taken.add(lower(path))
        self.made.update(above)
        self.files[path] = data

    def _add_sample(self):
        chance, stem = self.chance, self._stem()
        folder = chance.choice(self.folders)
        suffixes = chance.sample(SUFFIXES, chance.choice([1, 1, 1, 2, 5]))
        for suffix in suffixes:
            self._put(os.path.join(folder, stem + "." + suffix), self._content())
        if chance.random() < self.image_share:
            self._put(os.path.join(folder, stem + "." + chance.choice(IMAGES)),
                      self._image())
        if chance.random() < self.cls_share:
            self._put(os.path.join(folder, stem + "." + chance.choice(["cls", "CLS"])),
                      chance.choice(OWN_LABELS))

    def _image(self):
        """Returns a photo, mostly a plain one. An unusual one is a bad file unless an option converts it."""
        chance = self.chance
        if not self.odd_images or chance.random() < 0.3:
            return image(chance.randrange(200))
        if self.bad and chance.random() < 0.2:
            return chance.choice(photos.damaged())
        return chance.choice(photos.sound())

    def _add_wide_sample(self, fields):
        for number in range(fields):
            self._put(os.path.join(self.folders[0], "wide.f%04d" % number), b"%d" % number)

    def _add_clutter(self):
        """Adds files that trees ignore, and lists do not."""
        names = CLUTTER + (BAD_CLUTTER if self.bad else [])
        for name in self.chance.sample(names, self.chance.choice([1, 2, 4])):
            self._put(os.path.join(self.chance.choice(self.folders), name), b"clutter")

    def _add_bad(self):
        chance = self.chance
        for _ in range(chance.choice([1, 1, 2, 6])):
            kind = chance.random()
            if kind < 0.4:
                self._put(os.path.join(chance.choice(self.folders), chance.choice(BAD_NAMES)),
                          self._content())
            elif kind < 0.5:
                self._put(chance.choice(BAD_TOP), b"top")
            elif kind < 0.7:
                self._put(self._path("bad%d" % chance.randrange(9), chance.choice(IMAGES)),
                          chance.choice(BAD_IMAGES))
            elif kind < 0.8:
                self._put(self._path(self._stem(), "gone"), None)
            elif self.files:                            # the same field of one key twice
                path = chance.choice(sorted(self.files))
                folder, name = os.path.split(path)
                stem, dot, suffix = name.partition(".")
                self.files.setdefault(os.path.join(folder, stem + dot + suffix.swapcase()), b"2")
        if chance.random() < 0.03:
            self._add_wide_sample(1025)


_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def lower(text):
    """Returns the text in lower case (ASCII only)."""
    return text.translate(_LOWER)


def write(root, files):
    """Writes the files below root."""
    root = os.fsencode(root)
    os.makedirs(root, exist_ok=True)
    made = set()
    for path, data in files.items():
        full = os.path.join(root, os.fsencode(path))
        folder = os.path.dirname(full)
        if folder not in made:
            os.makedirs(folder, exist_ok=True)
            made.add(folder)
        if data is None:
            os.symlink(b"leads nowhere", full)
            continue
        with open(full, "wb") as file:
            file.write(data)
