# SPDX-License-Identifier: MIT
"""--fix-images, --resize, --quality and --check-images: images that loaders cannot read as expected become the plain
JPEGs that Pillow would make, large images become small, other files are unchanged, and damaged images are named."""

import json
import os
import struct
import zlib

import images
from support import CONTAINERS, Case, make_tree, pack, read, shards_of, sheaf, write
from test_archive import tar_of
from test_fields import rewrite


def lines(*words):
    with open(os.path.join(*words), encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("\t") for line in file)


class Fixed(Case):
    def setUp(self):
        super().setUp()
        self.odd, self.plain = images.odd(), images.plain()
        self.files = {"c/%s.jpg" % name: data for name, (data, _) in self.odd.items()}
        self.files.update({"d/%s.jpeg" % name: data for name, data in self.plain.items()})
        self.tree = make_tree(self.path("tree"), self.files)

    def unpacked(self, name):
        sheaf("unpack", self.path(name), self.path(name + ".files"))
        return self.path(name + ".files")

    def check(self, name, quality=90):
        """Checks that the result equals Pillow's byte for byte. Pillow has the same libjpeg."""
        folder = self.unpacked(name)
        for key, (data, _) in self.odd.items():
            with self.subTest(key):
                self.assertEqual(read(os.path.join(folder, "c/%s.jpg" % key)),
                                 images.converted(data, quality))
        for key, data in self.plain.items():
            self.assertEqual(read(os.path.join(folder, "d/%s.jpeg" % key)), data)
        said = lines(self.path(name), "converted.tsv")
        self.assertEqual(sorted(said), sorted("c/%s.jpg" % key for key in self.odd))
        for key, (_, was) in self.odd.items():
            self.assertIn(was, said["c/%s.jpg" % key])

    def test_as_pillow_in_every_container(self):
        for container in CONTAINERS:
            done = pack(self.tree, self.path(container), container, "none", "--fix-images")
            self.assertIn(b"%d images converted" % len(self.odd), done.stdout)
            sheaf("verify", self.path(container))
            self.check(container)

    def test_bytes_depend_on_options_alone(self):
        options = ["--fix-images", "--quality", "71", "--shard-count", "4", "--seed", "3"]
        pack(self.tree, self.path("one"), "webdataset", "zstd", *options, "--jobs", "1")
        pack(self.tree, self.path("many"), "webdataset", "zstd", *options, "--jobs", "7",
             "--memory", "24MiB")
        write(self.path("a.tar"), tar_of(self.files))
        pack(self.path("a.tar"), self.path("archive"), "webdataset", "zstd", *options)
        for name in ("many", "archive"):
            self.assertEqual(shards_of(self.path(name)), shards_of(self.path("one")))
            self.assertEqual(read(self.path(name, "converted.tsv")),
                             read(self.path("one", "converted.tsv")))
        self.check("one", 71)
        sheaf("plan", self.tree, self.path("parts"), "-o", self.path("plan"), "--format",
              "webdataset", "--codec", "zstd", *options)
        for part in ("1/2", "0/2", "1/2"):
            sheaf("pack", "--plan", self.path("plan"), "--part", part)
        done = sheaf("commit", self.path("plan"))
        self.assertEqual(shards_of(self.path("parts")), shards_of(self.path("one")))
        self.assertEqual(read(self.path("parts", "converted.tsv")),
                         read(self.path("one", "converted.tsv")))
        self.assertIn(b"image", done.stdout)

    def test_other_options_do_not_resume(self):
        pack(self.tree, self.path("out"), "webdataset", "none", "--fix-images")
        pack(self.tree, self.path("out"), "webdataset", "none", "--fix-images", "--resume")
        for other in (["--quality", "80"], ["--check-images", "decode"]):
            pack(self.tree, self.path("out"), "webdataset", "none", "--fix-images", "--resume",
                 *other, status=1)
        manifest = read(self.path("out", "dataset.json"))
        self.assertIn(b'"image_libraries": "libjpeg-turbo ', manifest)
        self.assertIn(b'"quality": 90', manifest)
        pack(self.tree, self.path("out"), "webdataset", "none", "--overwrite", "--on-error", "skip")
        self.assertFalse(os.path.exists(self.path("out", "converted.tsv")))

    def test_grey_of_16_bits(self):
        """The upper eight bits are used. Pillow clips the values to 255 instead."""
        photo = images.photo(40, 30)
        tree = make_tree(self.path("grey"), {"c/a.jpg": images.png16("L", photo)})
        pack(tree, self.path("grey-set"), "webdataset", "none", "--fix-images")
        self.assertEqual(read(os.path.join(self.unpacked("grey-set"), "c/a.jpg")),
                         images.converted(images.saved(photo.convert("L"), "PNG"), 90))

    def test_small_files_that_become_large(self):
        """A block of tiny files is encoded again, with the memory that their JPEGs need."""
        flat = images.saved(images.photo(8, 8).resize((1500, 1200), 0), "PNG", compress_level=9)
        expected = images.converted(flat, 100)
        tree = make_tree(self.path("flat"), {"c/%d.jpg" % i: flat for i in range(40)})
        self.assertLess(len(flat), 50000)
        pack(tree, self.path("flat-set"), "recordio", "none", "--fix-images", "--quality", "100")
        folder = self.unpacked("flat-set")
        for i in range(40):
            self.assertEqual(read(os.path.join(folder, "c/%d.jpg" % i)), expected)


class Upright(Case):
    """Orientations, in every way in which a file can state them. Pillow 9.4 does not support all of them."""

    def test_every_way_to_say_it(self):
        image = images.photo(23, 11)
        files = images.orientations(image)
        tree = make_tree(self.path("tree"), {"c/%s.jpg" % k: v[0] for k, v in files.items()})
        pack(tree, self.path("out"), "webdataset", "none", "--fix-images")
        sheaf("unpack", self.path("out"), self.path("files"))
        said = lines(self.path("out"), "converted.tsv")
        for name, (data, turn) in files.items():
            with self.subTest(name):
                was, got = images.opened(data), read(self.path("files", "c/%s.jpg" % name))
                wanted = was.convert("RGB")
                wanted = wanted if turn == 1 else wanted.transpose(images.TURNS[turn])
                wanted.info = {}
                self.assertEqual(got, data if turn == 1 and was.format == "JPEG"
                                 else images.saved(wanted, quality=90))
                self.assertEqual("(EXIF orientation %d)" % turn in said.get("c/%s.jpg" % name, ""),
                                 turn != 1)
        pack(tree, self.path("small"), "webdataset", "none", "--fix-images", "--resize", "7")
        sheaf("unpack", self.path("small"), self.path("smaller"))
        for name, (_, turn) in files.items():
            got = images.opened(read(self.path("smaller", "c/%s.jpg" % name)))
            self.assertEqual(got.size, (7, 14) if turn >= 5 else (14, 7), name)


class Bytes(Case):
    """Bytes that belong to nothing, at places where every decoder skips them."""

    def test_between_segments_and_before_the_end(self):
        whole = images.saved(images.photo(40, 30))
        frame, scan = whole.index(b"\xff\xc0"), whole.index(b"\xff\xda")
        files = {"%s-%d" % (name, i): whole[:at] + junk + whole[at:]
                 for name, at in (("frame", frame), ("scan", scan), ("end", len(whole) - 2))
                 for i, junk in enumerate((b"\0\0", b"U" * 20, b"ab\xff\0c"))}
        tree = make_tree(self.path("tree"), {"c/%s.jpg" % k: v for k, v in files.items()})
        for options in ((), ("--fix-images",), ("--check-images", "decode")):
            dest = self.path("out%d" % len(options) + options[-1] if options else "out")
            pack(tree, dest, "webdataset", "none", *options)
            sheaf("unpack", dest, dest + ".files")
            for name, data in files.items():
                self.assertEqual(read(os.path.join(dest + ".files", "c/%s.jpg" % name)), data)
        for name, data in files.items():        # and a file that ends there is cut
            write(self.path("cut", "c/%s.jpg" % name), data[:-1])
        done = pack(self.path("cut"), self.path("none"), "webdataset", "none", "--on-error", "skip",
                    status=1)
        for name in files:
            self.assertIn("c/%s.jpg: truncated JPEG" % name, done.stderr.decode())


class Smaller(Case):
    SIZES = [(500, 375), (375, 500), (1601, 1203), (2000, 1501), (257, 256), (256, 257), (256, 900),
             (300, 200), (3000, 300), (1024, 1024), (701, 523), (64, 64)]

    def setUp(self):
        super().setUp()
        self.files = {}
        for i, (width, height) in enumerate(self.SIZES):
            image = images.photo(width, height, i)
            image = image.convert("L") if i % 4 == 3 else image
            self.files["c/%d.jpg" % i] = images.turned(image, 6) if i % 5 == 2 else images.saved(
                image, progressive=i % 5 == 1)
        self.tree = make_tree(self.path("tree"), self.files)

    def check(self, name, size, mode="shorter", quality=90):
        folder = self.path(name + ".files")
        sheaf("unpack", self.path(name), folder)
        kept = 0
        for path, data in self.files.items():
            expected, made = images.smaller(data, size, mode, quality), read(os.path.join(folder, path))
            kept += expected is None
            with self.subTest(path, mode=mode):
                if expected is None or images.opened(data).mode != "RGB":
                    self.assertEqual(made, expected or data)
                else:
                    self.check_colour(data, made, expected, size, mode, quality)
        return kept

    def check_colour(self, data, made, expected, size, mode, quality):
        """The brightness is Pillow's.  The colours do not go through RGB and the brightness' size, as they do in
        Pillow, so they differ; but not more than Pillow's do from those of the whole picture."""
        self.assertEqual(images.opened(made).size, images.opened(expected).size)
        self.assertEqual(images.brightness(made), images.brightness(
            images.smaller(data, size, mode, quality, "L")))
        self.assertLessEqual(images.largest_difference(made, expected), 60)
        whole = images.smaller_whole(data, size, mode)
        self.assertLessEqual(images.mean_error(images.opened(made), whole),
                             1.02 * images.mean_error(images.opened(expected), whole))

    def test_counts(self):
        """What only became smaller is counted: by every way to pack, and by who looks at the result."""
        write(os.path.join(self.tree, "c/x.jpg"), images.saved(images.photo(400, 300), "PNG"))
        smaller = sum(images.smaller(data, 256) is not None and images.opened(data).getexif() == {}
                      for data in self.files.values())
        turned = sum(images.opened(data).getexif() != {} for data in self.files.values())
        said = b"%d images converted, %d images only made smaller" % (turned + 1, smaller)
        options = ["--format", "webdataset", "--fix-images", "--resize", "256", "--shard-count", "2"]
        for more in ([], ["--resume"]):
            self.assertIn(said, sheaf("pack", self.tree, self.path("out"), *options, *more).stdout)
        sheaf("plan", self.tree, self.path("parts"), "-o", self.path("plan"), *options)
        sheaf("pack", "--plan", self.path("plan"))
        for _ in range(2):
            self.assertIn(said, sheaf("commit", self.path("plan")).stdout)
        self.assertEqual(read(self.path("parts", "dataset.json")), read(self.path("out", "dataset.json")))
        sheaf("pack", self.tree, self.path("splits"), *options, "--split", "a=0.5,b=0.5")
        more = make_tree(self.path("more"), {"c/more.jpg": images.saved(images.photo(100, 90))})
        sheaf("append", more, self.path("out"), "--resize", "64")
        for sources, counts in ((["out"], (turned + 1, smaller + 1)), (["parts"], (turned + 1, smaller)),
                                (["splits/a", "splits/b"], (turned + 1, smaller))):
            done = sheaf("info", *(self.path(name) for name in sources), "--json")
            info = json.loads(done.stdout)
            self.assertEqual((info["images_converted"], info["images_resized"]), counts)
        self.assertIn(b"images        %d converted, %d only made smaller" % (turned + 1, smaller + 1),
                      sheaf("info", self.path("out")).stdout)

    def test_as_pillow(self):
        """Grey images have the same bytes, the others the same brightness."""
        for i, (width, height) in enumerate(self.SIZES[:4]):    # whose colours are not halved, and mirrored
            for subsampling in (0, 1, 2):
                self.files["c/%d-%d.jpg" % (i, subsampling)] = images.turned(
                    images.photo(width, height - i % 2, i), 1 + (3 * i + subsampling) % 8,
                    subsampling=subsampling)
        make_tree(self.tree, self.files)
        for container, mode in zip(CONTAINERS, ("shorter", "longer", "exact")):
            pack(self.tree, self.path(mode), container, "none", "--resize", "256", "--resize-mode",
                 mode)
            sheaf("verify", self.path(mode))
            self.assertGreater(self.check(mode, 256, mode), 0)

    def test_four_colours_as_pillow(self):
        """They become RGB first, and have the same bytes."""
        self.files = {"c/%d.jpg" % i: images.turned(images.photo(width, height, i).convert("CMYK"), 1 + 3 * i)
                      for i, (width, height) in enumerate([(601, 400), (1201, 1100), (300, 1024)])}
        pack(make_tree(self.path("cmyk"), self.files), self.path("out"), "tfrecord", "none",
             "--fix-images", "--resize", "150")
        self.check("out", 150)

    def test_close_to_the_whole_picture(self):
        """Decoding small first changes a value by a few of 255: 3 here, where the picture is smooth."""
        whole = images.photo(2000, 1501, 3)
        made = images.smaller(images.saved(whole, quality=98), 256, quality=100)
        self.assertLessEqual(images.largest_difference(
            made, images.saved(whole.resize(images.opened(made).size, images.Image.LANCZOS),
                               quality=100)), 12)

    def test_bytes_depend_on_options_alone(self):
        options = ["--resize", "100", "--quality", "85", "--shard-count", "3", "--fix-images",
                   "--check-images", "decode"]
        pack(self.tree, self.path("one"), "tfrecord", "none", *options, "--jobs", "1")
        pack(self.tree, self.path("many"), "tfrecord", "none", *options, "--jobs", "8", "--memory",
             "96MiB")
        sheaf("plan", self.tree, self.path("parts"), "-o", self.path("plan"), "--format", "tfrecord",
              *options)
        for part in ("2/3", "1/3", "0/3"):
            sheaf("pack", "--plan", self.path("plan"), "--part", part)
        sheaf("commit", self.path("plan"))
        for name in ("many", "parts"):
            self.assertEqual(shards_of(self.path(name)), shards_of(self.path("one")))
        pack(self.tree, self.path("one"), "tfrecord", "none", *options, "--resume")
        for other in (["--resize", "101"], ["--resize-mode", "longer"]):
            pack(self.tree, self.path("one"), "tfrecord", "none", *options, *other, "--resume",
                 status=1)
        self.assertIn(b'"resize": 100, "resize_mode": "shorter"',
                      read(self.path("one", "dataset.json")))

    def test_what_is_no_jpeg_stays_an_error(self):
        write(os.path.join(self.tree, "c/x.jpg"), images.saved(images.photo(400, 300), "PNG"))
        done = pack(self.tree, self.path("out"), "webdataset", "none", "--resize", "64", status=1)
        self.assertIn(b"c/x.jpg: not a JPEG", done.stderr)
        self.assertIn(b"; --fix-images makes plain JPEGs of such images, --on-error skip packs the rest",
                      done.stderr)
        sheaf("plan", self.tree, self.path("parts"), "-o", self.path("plan"), "--format", "webdataset")
        done = sheaf("pack", "--plan", self.path("plan"), status=1)
        self.assertIn(b"c/x.jpg: not a JPEG", done.stderr)
        self.assertIn(b"; make the plan again with --overwrite and --fix-images or --on-error skip", done.stderr)
        pack(self.tree, self.path("out"), "webdataset", "none", "--resize", "64", "--fix-images")
        sheaf("unpack", self.path("out"), self.path("files"))
        self.assertEqual(images.opened(read(self.path("files", "c/x.jpg"))).size, (85, 64))

    def test_wrong_values(self):
        for words in (["--resize", "0"], ["--resize", "65536"], ["--resize-mode", "wider"],
                      ["--quality", "0"], ["--quality", "101"], ["--check-images", "no"]):
            pack(self.tree, self.path("out"), "webdataset", "none", *words, status=2)


class Archive(Case):
    def test_one_command_from_an_archive_to_small_plain_images(self):
        """The shape of Caltech-256: classes of photos in a tar, and in it every oddity that there is."""
        files, odd = {}, images.odd((400, 300))
        for i in range(24):
            files["256/%03d.thing/%03d_%04d.jpg" % (i % 6, i % 6, i)] = images.saved(
                images.photo(300 + 20 * i, 340, i))
        for i, (data, _) in enumerate(odd.values()):
            files["256/%03d.thing/odd_%04d.%s" % (i % 6, i, "jpeg" if i % 9 == 0 else "jpg")] = data
        damaged = {"256/003.thing/" + name: data for name, data in images.damaged().items()
                   if name.startswith(("jpeg-taller", "jpeg-half"))}
        files.update(damaged)
        for name in (".DS_Store", "001.thing/Thumbs.db", "001.thing/._x.jpg"):
            files["256/" + name] = b"clutter"
        write(self.path("a.tar"), tar_of(files))
        for container in CONTAINERS:
            done = pack(self.path("a.tar"), self.path(container), container, "none", "--fix-images",
                        "--resize", "256", "--check-images", "decode", "--field-alias", "jpeg=jpg",
                        "--on-error", "skip", "--shard-size", "300kB")
            self.assertIn(b"%d images converted" % len(odd), done.stdout)
            self.assertEqual(sorted(lines(self.path(container), "skipped.tsv")), sorted(damaged))
            self.assertEqual(len(lines(self.path(container), "converted.tsv")), len(odd))
            sheaf("verify", self.path(container))
            folder, found = self.path(container + ".files"), 0
            sheaf("unpack", self.path(container), folder)
            for directory, _, names in os.walk(folder):
                for name in (n for n in names if n.endswith(".jpg")):
                    image = images.opened(read(os.path.join(directory, name)))
                    image.load()
                    found += 1
                    self.assertEqual(image.format, "JPEG")
                    self.assertIn(image.mode, ("RGB", "L"))
                    self.assertEqual(image.getexif().get(0x112, 1), 1)
                    self.assertTrue(min(image.size) <= 256, image.size)
            self.assertEqual(found, 24 + len(odd))


class Refused(Case):
    def test_what_is_left_out_is_not_converted(self):
        """An image that became another one, of a sample with a file that is bad."""
        png = images.saved(images.photo(20, 10), "PNG")
        for other, more in (("b.jpg", []), ("b.png", ["--check-images", "decode"])):
            tree = make_tree(self.path(other), {"c/x.a.jpg": png, "c/x." + other: b"no image",
                                                "c/y.jpg": png})
            done = pack(tree, self.path("out"), "tfrecord", "none", "--on-error", "skip",
                        "--overwrite", "--fix-images", *more)
            self.assertIn(b", 1 image converted", done.stdout)
            self.assertEqual(list(lines(self.path("out"), "converted.tsv")), ["c/y.jpg"])
            self.assertEqual(sorted(lines(self.path("out"), "skipped.tsv")),
                             ["c/x.a.jpg", "c/x." + other])

    def test_what_a_container_does_not_take(self):
        """It is a bad file, as without these options; more memory would not help."""
        make_tree(self.path("tree"), {"a.bin": b"a", "b.bin": b"b", "c.bin": b""})
        write(self.path("tree/x.jsonl"), b"".join(
            b'{"path": "%c.bin", "label": [%s, 0.5]}\n' % (name, label)
            for name, label in zip(b"abc", (b"1", b"16777217", b"16777217"))))
        for more in ([], ["--fix-images"], ["--resize", "9"]):
            done = pack(self.path("tree/x.jsonl"), self.path("out"), "tfrecord", "none",
                        "--on-error", "skip", "--overwrite", *more)
            self.assertIn(b"packed 1 sample", done.stdout)
            self.assertEqual(sorted(lines(self.path("out"), "skipped.tsv")), ["b.bin", "c.bin"])


class Advice(Case):
    def test_an_error_names_the_option_that_helps(self):
        fix = b"--fix-images makes plain JPEGs of such images, --on-error skip packs the rest"
        skip = b"--on-error skip packs the rest, --exclude leaves files out"
        whole = images.saved(images.photo(60, 40))
        for name, (data, options, advice) in {
                "cmyk": (images.odd()["cmyk"][0], (), fix), "gif": (images.odd()["gif"][0], (), fix),
                "cut": (whole[:-100], (), skip), "text": (b"no image", (), skip),
                "half": (images.odd()["png-rgb"][0][:200], ("--fix-images",), skip)}.items():
            with self.subTest(name):
                tree = make_tree(self.path(name), {"c/x.jpg": data, "c/y.jpg": whole})
                done = pack(tree, self.path("out"), "webdataset", "none", *options, status=1)
                self.assertIn(b"c/x.jpg: ", done.stderr)
                self.assertTrue(done.stderr.endswith(b"; " + advice + b"\n"), done.stderr)


class Truncated(Case):
    def test_one_wording(self):
        """Of a JPEG that ends too early, whatever was to be done with it."""
        photo, reasons = images.photo(300, 200), {}
        for name, image in (("rgb", images.saved(photo)), ("turned", images.turned(photo, 6)),
                            ("cmyk", images.saved(photo.convert("CMYK")))):
            tree = make_tree(self.path(name), {"c/x.jpg": image[:-100],
                                               "c/y.jpg": images.saved(photo)})
            for options in ((), ("--resize", "64"), ("--fix-images",), ("--check-images", "decode"),
                            ("--resize", "64", "--fix-images")):
                pack(tree, self.path("out"), "webdataset", "none", "--on-error", "skip",
                     "--overwrite", *options)
                reasons[name, options] = lines(self.path("out"), "skipped.tsv")["c/x.jpg"]
        self.assertEqual(set(reasons.values()),
                         {"truncated JPEG: it ends before its EOI marker"}, reasons)


class Memory(Case):
    def test_files_that_are_no_images_reserve_none(self):
        """Of a sample, what its images may become is reserved, and nothing for the rest."""
        files = {"c/x.%03d.txt" % i: b"%d" % i for i in range(400)}
        tree = make_tree(self.path("tree"), {**files, "c/x.JPG": images.turned(
            images.photo(300, 200), 6)})
        for more in (["--fix-images"], ["--resize", "100"]):
            pack(tree, self.path("out"), "webdataset", "none", "--memory", "24MiB", "--overwrite",
                 *more)
            sheaf("unpack", self.path("out"), self.path("files" + more[0]))
            self.assertLess(images.opened(read(self.path("files" + more[0], "c/x.JPG"))).size,
                            (300, 200))


class Counted(Case):
    def info(self, folder, *more):
        found = json.loads(sheaf("info", folder, *more, "--json").stdout)
        return found["images_converted"], found["images_resized"]

    def test_what_an_older_release_did_not_count_is_unknown(self):
        """But where nothing could become of images, the count is 0."""
        tree = make_tree(self.path("tree"), {"c/x.jpg": images.saved(images.photo(300, 200))})
        for name, options, counted, uncounted in (
                ("plain", [], (0, 0), (0, 0)), ("fixed", ["--fix-images"], (0, 0), (None, 0)),
                ("small", ["--resize", "64"], (0, 1), (0, None))):
            pack(tree, self.path(name), "webdataset", "none", *options)
            self.assertEqual(self.info(self.path(name)), counted)
            rewrite(self.path(name), lambda d: [d["options"].pop(key, None) for key in
                                                ("images_converted", "images_resized")])
            self.assertEqual(self.info(self.path(name)), uncounted)
        self.assertEqual(self.info(self.path("plain"), self.path("small")), (0, None))
        self.assertIn(b"images        0 converted, unknown how many only made smaller\n",
                      sheaf("info", self.path("small")).stdout)
        sheaf("report", self.path("fixed"), "-o", self.path("r.html"))
        self.assertIn(b"an unknown number of images became plain JPEGs, and 0 images became only",
                      read(self.path("r.html")))
        more = make_tree(self.path("more"), {"c/y.jpg": images.saved(images.photo(300, 200))})
        sheaf("index", "--keys", self.path("small"))
        sheaf("append", more, self.path("small"), "--resize", "64")
        self.assertEqual(self.info(self.path("small")), (0, None))


class Bombs(Case):
    def test_limits(self):
        """More pixels than anybody decodes are a bad file; more memory than there is, an error."""
        small = images.saved(images.photo(16, 16))
        bomb = images.saved(images.photo(16, 16), "PNG")
        bomb = bomb[:16] + b"\0\0\xff\xff\0\0\xff\xff" + bomb[24:]
        tree = make_tree(self.path("tree"), {"c/bomb.jpg": bomb, "c/small.jpg": small})
        done = pack(tree, self.path("out"), "webdataset", "none", "--fix-images", status=1)
        self.assertIn(b"c/bomb.jpg: ", done.stderr)
        bomb = bomb[:29] + struct.pack(">I", zlib.crc32(bomb[12:29])) + bomb[33:]
        write(self.path("tree", "c/bomb.jpg"), bomb)
        done = pack(tree, self.path("out"), "webdataset", "none", "--fix-images", status=1)
        self.assertIn(b"c/bomb.jpg: an image of 65535 x 65535 pixels; at most 178956970", done.stderr)
        pack(tree, self.path("out"), "webdataset", "none", "--fix-images", "--on-error", "skip")
        self.assertIn("at most 178956970", lines(self.path("out", "skipped.tsv"))["c/bomb.jpg"])
        write(self.path("tree", "c/bomb.jpg"), 
              images.saved(images.photo(8, 8).resize((3000, 3000), 0), "PNG"))
        done = pack(tree, self.path("few"), "webdataset", "none", "--fix-images", "--memory",
                    "40MiB", "--on-error", "skip", status=1)
        self.assertIn(b"c/bomb.jpg: decoding the image needs ", done.stderr)


class Checked(Case):
    def test_damage_is_named(self):
        damaged = images.damaged()
        self.assertGreaterEqual(len(damaged), 100)
        tree = make_tree(self.path("tree"), {"c/" + name: data for name, data in damaged.items()})
        for name, data in images.plain().items():
            write(os.path.join(tree, "c/%s.jpg" % name), data)
        pack(tree, self.path("out"), "tfrecord", "none", "--check-images", "decode", "--on-error",
             "skip")
        skipped = lines(self.path("out", "skipped.tsv"))
        self.assertEqual(sorted(skipped), sorted("c/" + name for name in damaged))
        pack(tree, self.path("fixed"), "tfrecord", "none", "--check-images", "decode", "--on-error",
             "skip", "--fix-images")
        self.assertEqual(sorted(lines(self.path("fixed", "skipped.tsv"))), sorted(skipped))
