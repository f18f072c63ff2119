# SPDX-License-Identifier: MIT
"""A tar of the shape of Caltech-256, with every odd file that such a tar may have, becomes in one command
what torchvision, TensorFlow and MXNet decode without one error.  CALTECH_IMAGES says how many images: 30607
are those of Caltech-256."""

import collections
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import time
import unittest

import sheaf
from peers import BUILD, Case as Peers

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
try:
    import images
except ImportError as error:
    raise unittest.SkipTest("no %s" % error.name)

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGES = int(os.environ.get("CALTECH_IMAGES", 771))
CLASSES, SIDE, POOL = 257, 256, 97
CLUTTER = (".DS_Store", "._x", "Thumbs.db", "desktop.ini")

# What a file is to become.  size: upright; grey: it has one channel; made: what converted.tsv says of it,
# "" if nothing; digest: of its bytes, if they stay.
Expected = collections.namedtuple("Expected", "label size grey made digest")


def photos():
    """Sizes like those of Caltech-256: some images need not become smaller."""
    for i in range(POOL):
        image = images.photo(180 + 37 * i % 480, 150 + 53 * i % 370, i)
        yield image.convert("L") if i % 12 == 5 else image


def ways(image):
    """Every way to be odd: name, bytes, and what it was."""
    cmyk = images.saved(image.convert("CMYK"))
    yield "cmyk", cmyk, "was CMYK or YCCK"
    yield "ycck", images.with_adobe(images.without_adobe(cmyk), 2), "was CMYK or YCCK"
    yield "png", images.saved(image, "PNG", compress_level=1), "was PNG"
    yield "gif", images.saved(image.quantize(64), "GIF"), "was GIF"
    yield "bmp", images.saved(image, "BMP"), "was BMP"
    yield "webp", images.saved(image, "WEBP"), "was WebP"
    for orientation in range(2, 9):
        yield "exif-%d" % orientation, images.turned(image, orientation), "was turned"
    yield "exif-1", images.turned(image, 1), ""
    yield "truncated", images.saved(image)[:-100], None


class Source:
    """The tar, and what becomes of its files."""

    def __init__(self, path):
        self.expected, self.truncated, self.clutter = {}, [], 0
        with tarfile.open(path, "w") as self.tar:
            self.write()

    def add(self, name, data):
        info = tarfile.TarInfo("256_ObjectCategories/" + name)
        info.size = len(data)
        self.tar.addfile(info, io.BytesIO(data))

    def write(self):
        pool = [(image, images.saved(image, quality=92)) for image in photos()]
        colour = [image for image, _ in pool if image.mode == "RGB"]
        each = max(1, IMAGES // 100)                            # of each way
        odd = [way for i in range(each) for way in ways(colour[i % len(colour)])]
        for i in range(IMAGES):
            label = i % CLASSES
            name = "%03d.thing/%03d_%04d" % (label + 1, label + 1, i // CLASSES + 1)
            if i < len(odd):
                self.add(name + ".jpg", odd[i][1])
                self.expect(name, label, *odd[i][1:])
            else:
                self.add(name + ".jpg", pool[i % POOL][1])
                self.expect(name, label, pool[i % POOL][1], "")
        for i in range(each):
            for name in CLUTTER:
                if i < CLASSES:
                    self.add("%03d.thing/%s" % (i + 1, name), b"clutter")
                    self.clutter += 1

    def expect(self, name, label, data, made):
        if made is None:
            self.truncated.append(name)
            return
        image = images.opened(data)
        size, grey = image.size, image.mode == "L"
        if image.getexif().get(0x112, 1) >= 5:
            size = size[::-1]
        to = images.smaller_size(*size, SIDE)
        digest = None if made or to else hashlib.sha256(data).hexdigest()
        self.expected[name] = Expected(label, to or size, grey, made, digest)


class OneCommand(Peers):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.archive = os.path.join(cls.shared, "caltech.tar")
        begin = time.monotonic()
        cls.source = Source(cls.archive)
        cls.took("generate", begin)

    @staticmethod
    def took(what, begin):
        """For who runs it by hand, with all 30,607."""
        if "CALTECH_IMAGES" in os.environ:
            print("%s: %.1f s" % (what, time.monotonic() - begin), file=sys.stderr)

    def sheaf(self, *words):
        begin = time.monotonic()
        done = subprocess.run([os.path.join(BUILD, "sheaf"), *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.took("sheaf " + words[0], begin)
        return done.stdout

    def packed(self, container):
        """The data set, made by one command; it says what it did, and so does its report."""
        source, folder = self.source, self.path(container)
        made = {name: e.made for name, e in source.expected.items() if e.made}
        shrunk = sum(not e.made and e.digest is None for e in source.expected.values())
        said = self.sheaf("pack", self.archive, folder, "--format", container, "--root",
                          "256_ObjectCategories", "--fix-images", "--resize", str(SIDE), "--on-error",
                          "skip", "--index", "mxnet" if container == "recordio" else "")
        self.assertIn("packed %d samples" % len(source.expected), said)
        for part in ("%d files skipped" % len(source.truncated), "%d ignored" % source.clutter,
                     "%d images converted" % len(made), "%d images only made smaller" % shrunk):
            self.assertIn(part, said)
        self.sheaf("report", folder, "-o", self.path("report.html"))
        with open(self.path("report.html"), encoding="utf-8") as page:
            page = page.read()
        for part in ("{:,} image".format(len(made)), "{:,} image".format(shrunk), "Left out when",
                     min(source.truncated), "Converted when", min(made)):
            self.assertTrue(part in page, part)
        return folder

    @staticmethod
    def peer(python, *words):
        """The lines that a peer prints."""
        done = subprocess.run([python, "-W", "ignore", *words], capture_output=True, text=True, cwd=HERE)
        if done.returncode != 0 and "ModuleNotFoundError" in done.stderr:
            raise unittest.SkipTest(done.stderr.splitlines()[-1])
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return [line.rsplit(" ", 5) for line in done.stdout.splitlines()]

    def check(self, lines, greys=True):
        """Every image is there once, with its label, size and channels; and as it was, if it stays."""
        self.assertEqual(sorted(line[0] for line in lines), sorted(self.source.expected))
        for key, label, width, height, channels, digest in lines:
            expected = self.source.expected[key]
            self.assertEqual((float(label), int(width), int(height), int(channels)), (
                expected.label, *expected.size, 1 if greys and expected.grey else 3), key)
            self.assertLessEqual(min(int(width), int(height)), SIDE, key)
            self.assertIn(expected.digest, (None, digest), key)

    def test_torchvision(self):
        self.check_decoded("webdataset", "torchvision")

    def test_tensorflow(self):
        self.check_decoded("tfrecord", "tensorflow")

    def check_decoded(self, container, library):
        folder, begin = self.packed(container), time.monotonic()
        self.check(self.peer(sys.executable, "decode_peer.py", library, *self.shards(folder)))
        self.took(library, begin)

    def test_mxnet(self):
        folder, begin, lines = self.packed("recordio"), time.monotonic(), []
        python, keys = os.environ.get("MXNET_PYTHON", sys.executable), self.ordered(folder)
        for shard in self.shards(folder):
            index = shard[:-4] + ".idx"
            decoded = self.peer(python, "mxnet_peer.py", "decode", shard, index)
            self.assertEqual([float(label) for (label,) in
                              self.peer(python, "mxnet_peer.py", "iterate", shard, index)],
                             [float(line[1]) for line in decoded])
            lines += [[key, *line[1:]] for key, line in zip(keys[len(lines):], decoded)]
        self.check(lines, greys=False)      # its decoder makes three channels of one
        self.took("mxnet", begin)


if __name__ == "__main__":
    unittest.main()
