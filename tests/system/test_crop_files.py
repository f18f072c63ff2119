# SPDX-License-Identifier: MIT
"""`sheaf cat --pixels` writes the crops of a training step: those of tests/corpus/step_vectors.txt, for any
container, codec, threads, ranks and memory; with masks, and with bad images. `sheaf info --pixels` counts. Settings
without a meaning are refused."""

import io
import json
import os
import random
import re

import xxhash

import crop_reference as reference
import images
import libpixels
from PIL import Image
import step_reference as steps
from support import CODECS, CONTAINERS, Case, make_tree, pack, read, sheaf


def rows(folder):
    """Returns [[file, key, labels, top, left, height, width, flipped, seed]]."""
    lines = read(os.path.join(folder, "samples.tsv")).decode().splitlines()
    assert lines[0].split("\t") == ["file", "key", "labels", "top", "left", "height", "width",
                                    "flipped", "seed"]
    return [line.split("\t") for line in lines[1:]]


def png(folder, name):
    return Image.open(io.BytesIO(read(os.path.join(folder, name))))


class CropFiles(Case):
    @classmethod
    def share(cls):
        cls.files = {steps.key(i) + ".jpg": steps.image(i) for i in range(steps.COUNT)}
        cls.tree = make_tree(os.path.join(cls.shared, "tree"), cls.files)
        cls.set = os.path.join(cls.shared, "set")
        pack(cls.tree, cls.set, "webdataset", "none", "--no-shuffle", "--shard-count", 3)

    def cat(self, *words, status=0, source=None):
        folder = self.path("crops-%d" % random.randrange(1 << 60))
        done = sheaf("cat", source or self.set, "--pixels", steps.SIDE, "--seed", steps.SEED, "-o",
                     folder, *words, status=status)
        self.assertEqual(done.stdout, b"")
        return folder if status == 0 else done.stderr.decode()

    def check(self, folder, epoch=0):
        """Checks the crops, and returns the keys."""
        vectors = steps.vectors()
        for name, key, _, *box, seed in rows(folder):
            crop = png(folder, name)
            self.assertEqual((crop.mode, crop.size), ("RGB", (steps.SIDE, steps.SIDE)))
            self.assertEqual((int(seed), tuple(map(int, box)),
                              xxhash.xxh3_64_intdigest(crop.tobytes())), vectors[epoch, key], key)
        return [row[1] for row in rows(folder)]

    def test_any_container_codec_and_threads(self):
        for number, container in enumerate(CONTAINERS):
            for codec in CODECS:
                dest = self.path(container + codec)
                pack(self.tree, dest, container, codec, "--no-shuffle", "--shard-count",
                     number + 2)
                for epoch, threads in ((0, 1), (1, 7)):
                    folder = self.cat("--threads", threads, "--epoch", epoch, source=dest)
                    keys = self.check(folder, epoch)
                    self.assertEqual(sorted(keys), [steps.key(i) for i in range(steps.COUNT)])
        self.check(self.cat("--threads", 64))

    def test_steps(self):
        """Steps of one rank, and of all ranks, have the samples of cat --list."""
        for words in (("--step", 2, "--batch", 7), ("--step", 1, "--batch", 5, "--world-size", 3),
                      ("--step", 1, "--batch", 5, "--world-size", 3, "--rank", 1, "--lanes", 6)):
            listed = sheaf("cat", self.set, "--list", "--seed", steps.SEED, *words).stdout
            found = rows(self.cat(*words))
            self.assertEqual([row[1] for row in found],
                             [line.split("\t")[0] for line in listed.decode().splitlines()])
            self.assertEqual([row[2] for row in found],
                             [line.split("\t")[1] for line in listed.decode().splitlines()])
            self.check(self.cat(*words))

    def test_settings(self):
        folder = self.path("center")
        sheaf("cat", self.set, "--pixels", "30x20,crop=center,resize=40,filter=lanczos,field=jpg",
              "--limit", 9, "-o", folder)
        for name, key, *_ in rows(folder):
            expected = reference.centered(images.opened(self.files[key + ".jpg"]).convert("RGB"), 40,
                                          (30, 20), reference.LANCZOS)
            self.assertEqual(png(folder, name).tobytes(), expected.tobytes())
        folder = self.path("random")
        sheaf("cat", self.set, "--pixels", "24,scale=0.3:0.5,ratio=1:2,flip=1,filter=bicubic,"
              "order=pillow13", "-o", folder)
        for name, key, _, *box, seed in rows(folder):
            found, own = libpixels.pixels(self.files[key + ".jpg"], int(seed), width=24, height=24,
                                          scale=(0.3, 0.5), ratio=(1.0, 2.0), flip=1.0, filter=1,
                                          order=1)[0]
            self.assertEqual(png(folder, name).tobytes(), found)
            self.assertEqual(tuple(map(int, box)), own)

    def test_masks(self):
        files = {}
        for i in range(6):
            photo = images.photo(50 + i, 40, i)
            mask = Image.frombytes("L", photo.size, random.Random(i).randbytes(40 * (50 + i)))
            files["%d.jpg" % i] = images.saved(photo)
            files["%d.seg.png" % i] = images.saved(mask, "PNG")
        pack(make_tree(self.path("src"), files), self.path("out"))
        folder = self.cat("--pixels", "24,mask=seg.png", source=self.path("out"))
        self.assertEqual(len(rows(folder)), 6)
        for name, key, *_, seed in rows(folder):
            mask = png(folder, name.replace(".png", ".seg.png"))
            self.assertEqual(mask.mode, "L")
            self.assertEqual(mask.tobytes(), libpixels.mask(files[key + ".seg.png"], int(seed),
                                                            width=24, height=24))

    def test_views(self):
        """Each crop of each view, with the same box for its mask."""
        files = {}
        for i in range(4):
            photo = images.photo(50 + i, 40, i)
            mask = Image.frombytes("L", photo.size, random.Random(i).randbytes(40 * (50 + i)))
            files["%d.jpg" % i] = images.saved(photo)
            files["%d.seg.png" % i] = images.saved(mask, "PNG")
        pack(make_tree(self.path("src"), files), self.path("out"))
        folder = self.path("views")
        views = [(2, 24, (0.32, 1.0)), (3, 16, (0.05, 0.32))]
        sheaf("cat", self.path("out"), "--pixels", "view=2:24:0.32:1,view=3:16:0.05:0.32,mask=seg.png",
              "-o", folder)
        found = rows(folder)
        self.assertEqual([row[0] for row in found],
                         ["%06d.%d.png" % (i, k) for i in range(4) for k in range(5)])
        for i in range(4):
            own = found[5 * i:5 * i + 5]
            expected = libpixels.pixels(files[own[0][1] + ".jpg"], int(own[0][8]), views=views)
            for k, (row, (pixels, box)) in enumerate(zip(own, expected)):
                self.assertEqual(png(folder, row[0]).tobytes(), pixels)
                self.assertEqual(tuple(map(int, row[3:8])), box)
                mask = png(folder, row[0].replace(".png", ".seg.png"))
                self.assertEqual((mask.mode, mask.size), ("L", (views[k >= 2][1],) * 2))
        line = sheaf("info", self.path("out"), "--pixels", "view=2:24x20:0.32:1,view=3:16:0.05:0.32")
        self.assertRegex(line.stdout.decode(), r"cropped to 2 of 24 x 20 and 3 of 16 x 16 \(4 samples, 0 bad\)")

    def test_bad_images(self):
        files = dict(self.files)
        for number in (3, 17):
            files[steps.key(number) + ".jpg"] = files[steps.key(number) + ".jpg"][:-40]
        pack(make_tree(self.path("src"), files), self.path("out"), "webdataset", "none",
             "--no-shuffle", "--check-images", "none")
        text = self.cat(source=self.path("out"), status=1)
        self.assertRegex(text, r"shard-000000.tar: record \d+: sample k0/\d\d, field jpg: damaged JPEG")
        folder = self.path("skipped")
        done = sheaf("cat", self.path("out"), "--pixels", steps.SIDE, "--seed", steps.SEED,
                     "--on-corrupt", "skip", "-o", folder)
        self.assertEqual(done.stderr.count(b"skipped: shard-000000.tar: record "), 2)
        self.assertIn(b"2 bad images were left out", done.stderr)
        self.assertEqual(sorted(self.check(folder)),
                         [steps.key(i) for i in range(steps.COUNT) if i not in (3, 17)])
        text = self.cat("--on-corrupt", "skip", "--max-corrupt", 1, source=self.path("out"), status=1)
        self.assertIn("damaged JPEG", text)

    def test_a_directory_with_files_is_left_alone(self):
        folder = self.path("full")
        make_tree(folder, {"000000.png": b"mine"})
        done = sheaf("cat", self.set, "--pixels", 32, "-o", folder, status=2)
        self.assertIn(b"is not empty: crops are written to an empty or a new directory", done.stderr)
        self.assertEqual(os.listdir(folder), ["000000.png"])
        self.assertEqual(read(os.path.join(folder, "000000.png")), b"mine")

    def test_refused(self):
        for words, says in ((("--pixels", 32), "--pixels and --output must be used together"),
                            (("-o", "x"), "--pixels and --output must be used together"),
                            (("--pixels", 32, "-o", "x", "--list"), "exclude each other")):
            self.assertIn(says, sheaf("cat", self.set, *words, status=2).stderr.decode())
        for text, says in (("big", "big is not a size"), ("0", "0 is not a size"),
                           ("32x", "32x is not a size"), ("32,crop=left", "crop is left, expected random"),
                           ("32,size=3", "size is not a setting: expected crop"),
                           ("32,flip", "flip is not a setting"), ("32,scale=1", "scale is 1, expected two"),
                           ("32,scale=0:1", "scale is 0 to 1: expected two numbers above 0"),
                           ("32,crop=center,resize=20", "resize is 20 pixels, but the crop has"),
                           ("32,mask=", "expected the name of a field"),
                           ("view=2:24", "view is 2:24, expected COUNT:SIZE:LOW:HIGH"),
                           ("crop=random", "expected a size, as in 224, or views"),
                           ("32,view=2:24:0.3:1", "expected a size, as in 224, or views")):
            done = sheaf("cat", self.set, "--pixels", text, "-o", self.path("new"), status=2)
            self.assertIn(says, done.stderr.decode())
            self.assertFalse(os.path.exists(self.path("new")))

    def test_rate(self):
        line = re.search(r"^decoding      (\d+) images a second on one core, cropped to 32 x 32 "
                         r"\(60 samples, 0 bad\)$", sheaf("info", self.set, "--pixels", 32)
                         .stdout.decode(), re.M)
        self.assertGreater(int(line[1]), 10)
        found = json.loads(sheaf("info", self.set, "--pixels", "40x32,crop=whole", "--json").stdout)
        self.assertEqual({name: found["decoding"][name] for name in ("samples", "bad", "width",
                                                                     "height")},
                         {"samples": 60, "bad": 0, "width": 40, "height": 32})
        self.assertGreater(found["decoding"]["images_per_core_second"], 10)
        self.assertNotIn("decoding", json.loads(sheaf("info", self.set, "--json").stdout))
