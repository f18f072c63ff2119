# SPDX-License-Identifier: MIT
"""Tests `sheaf report`. Python's HTML parser reads the page, and its numbers are compared with counts that Python has
made from the files. The data sets are of every kind, with damage, and with texts that would be markup."""

import base64
import functools
import gzip
import html.parser
import json
import os
import random
import re
import struct

import jpegs
import servers
import support
from support import Case, make_tree, pack, read, seed, sheaf, write
import writers

VOID = {"meta", "img"}
HOSTILE = "</section><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;"


class Page(html.parser.HTMLParser):
    """Parses a page: the texts of each section, and the attributes of all elements. Checks that elements are closed in
    the right order."""

    def __init__(self, data):
        super().__init__()
        self.open, self.sections, self.elements, self.section = [], {}, [], "head"
        self.feed(data.decode())
        self.close()
        if self.open:
            raise AssertionError("not closed: %s" % self.open)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "section":
            self.section = dict(attrs)["id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            raise AssertionError("%s is closed" % tag)

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.sections.setdefault(self.section, []).append(data)

    def text(self, section):
        return " ".join(" ".join(self.sections.get(section, [])).split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@functools.lru_cache
def picture(width, height, number):
    return jpegs.jpeg(width, height, 3, number)


class Report(Case):
    def report(self, *sources, status=0):
        path = self.path("r.html")
        done = sheaf("report", *sources, "-o", path, status=status)
        data = read(path)
        page = Page(data)
        # nothing that runs, and nothing from elsewhere
        for tag, attributes in page.elements:
            self.assertNotIn(tag, ("script", "link", "iframe", "object", "embed", "base", "form"))
            for name, value in attributes.items():
                self.assertFalse(name.startswith("on"), name)
                if name in ("src", "href"):
                    self.assertTrue(value.startswith("data:image/"), value[:80])
        self.assertNotIn(b"url(", data)
        self.assertLess(len(data), 3_000_000)
        self.assertEqual([n for n in os.listdir(self.folder) if n.endswith(".tmp")], [])
        page.said = done.stdout.decode() + done.stderr.decode()
        return page

    def images(self, classes, each):
        """Returns images: `each` images of class 0, and fewer and fewer of the other classes."""
        return {"c%02d/%03d.jpg" % (c, i): picture(40 + c, 30 + i, c)
                for c in range(classes) for i in range(max(1, each - c))}

    def test_it_is_what_is_there(self):
        files = self.images(12, 10)
        files.update({name[:-4] + ".json": b"{}" for name in list(files)[1:]})
        for container in support.CONTAINERS:
            pack(make_tree(self.path("src"), files), self.path(container), container, "none",
                 "--shard-count", 3)
            page = self.report(self.path(container), "--verify")
            count = sum(name.endswith(".jpg") for name in files)
            self.assertIn("%d samples" % count, page.text("head"))
            self.assertIn("12 classes", page.text("head"))
            self.assertIn("sound", page.text("head"))
            for c in range(12):
                self.assertIn("c%02d %d" % (c, sum(n.startswith("c%02d" % c) and n.endswith("jpg")
                                                   for n in files)), page.text("classes"))
            sizes = [len(data) for name, data in files.items() if name.endswith(".jpg")]
            self.assertIn("jpg %d" % count, page.text("fields"))
            self.assertIn("json %d" % (count - 1), page.text("fields"))
            self.assertIn("1 sample without it, first c00/000", page.text("fields"))
            self.assertIn("under 1 kB %d" % sum(s < 1000 for s in sizes), page.text("fields"))
            self.assertIn("%d of %d samples" % (count, count), page.text("images"))
            self.assertIn("width %d" % 40, page.text("images"))
            self.assertIn(" 51 ", page.text("images"))
            self.assertIn("Sound. All %d samples" % count, page.text("checked"))
            self.assertEqual(len(page.all("figure")), 48 + 8)
            self.assertIn("6 of each image, as a loader with sheaf.Pixels(64)", page.text("crops"))
            self.assertEqual(len(page.all("circle")), 2 * count)

    def test_pictures_are_of_all_classes_and_small(self):
        files = {"k%02d/%d.jpg" % (c, i): picture(700, 500, 0)
                 for c in range(60) for i in range(2 if c else 40)}
        pack(make_tree(self.path("src"), files), self.path("out"), "webdataset", "none",
             "--no-shuffle")
        page = self.report(self.path("out"))
        captions = re.findall(r"k\d\d", page.text("samples"))
        self.assertEqual((len(captions), len(set(captions))), (48, 48))
        strips = [image["src"] for image in page.all("img") if image["alt"] == "crops"]
        self.assertEqual(len(strips), 8)
        for strip in strips:
            kind, data = strip.split(",", 1)
            self.assertEqual(kind, "data:image/png;base64")
            self.assertEqual(base64.b64decode(data, validate=True)[16:24],
                             struct.pack(">II", 64, 6 * 64))
        for image in page.all("img"):
            if image["alt"] == "crops":
                continue
            kind, data = image["src"].split(",", 1)
            self.assertEqual(kind, "data:image/jpeg;base64")
            data = base64.b64decode(data, validate=True)
            at = data.index(b"\xff\xc0")
            self.assertEqual(struct.unpack(">HH", data[at + 5:at + 9]), (114, 160))

    def test_hostile_names(self):
        name = HOSTILE.replace("/", "")
        files = {"%s/%s%d.txt" % (name, name, i): HOSTILE.encode() for i in range(3)}
        files["\u202e\u0085/x.txt"] = b"\xff\xfe not UTF-8 <b>"
        folder = make_tree(self.path("src"), files)
        pack(folder, self.path("<b>o&t"), "tfrecord")
        page = self.report(self.path("<b>o&t"))
        self.assertIn("<b>o&t", page.text("head"))
        self.assertIn(name[:40], page.text("samples"))
        self.assertIn(HOSTILE[:40], page.text("samples"))
        self.assertEqual(page.all("img"), [])
        self.assertNotIn("\u202e", page.text("samples"))

    def test_sets_without_classes_or_images_and_empty_ones(self):
        pack(make_tree(self.path("a"), {"%d.bin" % i: b"\0" * i for i in range(5)}),
             self.path("flat"), "recordio")
        page = self.report(self.path("flat"))
        self.assertEqual(page.text("images") + page.text("classes"), "")
        self.assertIn("bin 0 B", page.text("samples"))
        for i in range(5):      # none of them
            os.remove(self.path("a/%d.bin" % i))
        write(self.path("a/x.lst"), b"")
        sheaf("pack", self.path("a"), self.path("none"), "--format", "webdataset", status=None)
        if os.path.exists(self.path("none/dataset.json")):
            self.report(self.path("none"))

    def test_foreign_sets_views_and_unions(self):
        files = self.images(3, 4)
        tar = [("s%d.%s" % (i, kind), data) for i in range(6)
               for kind, data in (("jpg", picture(50, 40, i)), ("cls", b"1"))]
        write(self.path("foreign/a.tar"), writers.tar(tar))
        page = self.report(self.path("foreign"))
        self.assertIn("another program", page.text("head"))
        self.assertEqual(len(page.all("figure")), 6 + 6)
        with open(self.path("foreign/a.tar"), "rb") as file:     # a stream
            write(self.path("packed/a.tar.gz"), gzip.compress(file.read()))
        page = self.report(self.path("packed"))
        self.assertIn("only be read from the beginning", page.text("head"))
        self.assertEqual(len(page.all("figure")), 6 + 6)
        pack(make_tree(self.path("x"), files), self.path("one"), "webdataset")
        pack(make_tree(self.path("y"), {"q" + n: d for n, d in files.items()}), self.path("two"),
             "tfrecord")
        self.assertIn("2 data sets", self.report(self.path("one"), self.path("two")).text("head"))
        view = support.view_of(self, [(self.path("one"), {"where": {"classes": ["c01"]}}),
                                      (self.path("two"), {})])
        page = self.report(view)
        self.assertIn("A view of 2 sources", page.text("head"))
        self.assertIn("c01 3", page.text("classes"))
        self.assertIn("c00 0", page.text("classes"))
        self.assertNotIn("c02", page.text("samples").replace("qc02", ""))

    def test_damage_is_shown(self):
        pack(make_tree(self.path("src"), self.images(2, 6)), self.path("out"), "webdataset")
        shard = self.path("out/shard-000000.tar")
        data = bytearray(read(shard))
        data[700] ^= 1
        write(shard, data)
        page = self.report(self.path("out"), "--verify")
        self.assertIn("damaged", page.text("head"))
        self.assertIn("3 problems", page.text("checked"))   # the sample, the number of sound ones, and the hash
        self.assertIn("shard-000000.tar", page.text("checked"))
        self.assertIn("damaged", self.report(self.path("out")).text("head"))
        # a JPEG that cannot be decoded is shown in words
        jpeg = picture(300, 200, 1)
        bad = jpeg[:jpeg.index(b"\xff\xda")] + b"\xff\xda\xff\xd9" + b"x" * 60000
        write(self.path("odd/a.tar"), writers.tar([("a.jpg", bad), ("b.jpg", jpeg)]))
        self.report(self.path("odd"))

    def test_very_many_classes(self):
        chance = random.Random(seed())
        files = {"class %06d/%d.txt" % (c, i): b"x" for c in range(3000)
                 for i in range(chance.randrange(1, 3))}
        pack(make_tree(self.path("src"), files), self.path("out"), "tfrecord")
        page = self.report(self.path("out"))
        self.assertIn("3000 classes of 1 to 2", page.text("classes"))
        self.assertIn("mean of at most 10 classes", page.text("classes"))
        self.assertEqual(len(page.all("figure")), 48)

    def test_labels_that_are_not_classes(self):
        for label in 1 << 20, (1 << 32) - 3, (1 << 32) - 2:
            files = {"%d.%s" % (i, name): data for i in range(60)
                     for name, data in (("txt", b"x"), ("cls", b"%d" % label))}
            pack(make_tree(self.path("src"), files), self.path("%d" % label), "tfrecord")
            page = self.report(self.path("%d" % label))
            self.assertEqual(len(page.all("figure")), 48)

    def test_what_packing_left_out(self):
        files = self.images(2, 5)
        files["c00/bad.jpg"] = b"no <image>"
        pack(make_tree(self.path("src"), files), self.path("out"), "webdataset", "none",
             "--on-error", "skip")
        self.assertIn("c00/bad.jpg", self.report(self.path("out")).text("checked"))

    def test_what_packing_splits_did(self):
        files = self.images(2, 5)
        files["c00/bad.jpg"], files["c01/cmyk.jpg"] = b"no <image>", jpegs.jpeg(8, 8, 4, 1)
        pack(make_tree(self.path("src"), files), self.path("out"), "webdataset", "none", "--on-error",
             "skip", "--fix-images", "--split", "a=0.5,b=0.5")
        said = [self.report(self.path("out", name)).text("checked") for name in "ab"]
        for text in said:
            self.assertIn("Left out when all splits were packed c00/bad.jpg", text)
            self.assertIn("Converted when all splits were packed c01/cmyk.jpg", text)
        self.assertEqual(sum("1 image became a plain JPEG" in text for text in said), 1)
        manifest = self.path("out", "a", "dataset.json")
        options = self.report(self.path("out", "a")).text("details")
        self.assertIn('Packed with "fix_images": true, ', options)
        write(manifest, json.dumps(json.loads(read(manifest)), separators=(",", ":")).encode())
        self.assertEqual(self.report(self.path("out", "a")).text("checked"), said[0])
        self.assertEqual(self.report(self.path("out", "a")).text("details"), options)
        os.rename(self.path("out/a"), self.path("moved"))
        self.assertNotIn("all splits", self.report(self.path("moved")).text("checked"))

    def test_what_appending_left_out(self):
        pack(make_tree(self.path("src"), self.images(2, 5)), self.path("out"), "webdataset", "none")
        for word, more in (("a", ()), ("b", ("--on-error", "skip", "--fix-images"))):
            sheaf("append", make_tree(self.path(word), {
                "c00/%s.jpg" % word: picture(9, 9, 1), **({} if word == "a" else {
                    "c00/bad.jpg": b"no <image>", "c01/cmyk.jpg": jpegs.jpeg(8, 8, 4, 1)})}),
                  self.path("out"), *more)
        said = self.report(self.path("out")).text("checked")
        self.assertIn("appended (skipped-2.tsv) c00/bad.jpg", said)
        self.assertIn("appended (converted-2.tsv) c01/cmyk.jpg", said)
        self.assertNotIn("-1.tsv", said)

    def test_two_at_once(self):
        """Two runs write the page at the same time. It must be the page of one of them."""
        path, pages = self.path("r.html"), {}
        for name in ("one", "other"):
            source = make_tree(self.path(name), {"%s/%d.txt" % (name, i): b"x" for i in range(90)})
            pack(source, self.path(name + "-set"))
            sheaf("report", self.path(name + "-set"), "-o", path)
            pages[name] = read(path)
        self.assertNotEqual(pages["one"], pages["other"])
        run, mark = support.held(self, "r.html", "report", self.path("one-set"), "-o", path)
        sheaf("report", self.path("other-set"), "-o", path)
        self.assertEqual(read(path), pages["other"])
        os.unlink(mark)
        self.assertEqual((run.communicate(timeout=60)[1], run.returncode), (b"", 0))
        self.assertEqual(read(path), pages["one"])
        self.assertEqual([n for n in os.listdir(self.folder) if n.endswith(".tmp")], [])

    def test_where_it_cannot_be_written(self):
        pack(make_tree(self.path("src"), self.images(1, 2)), self.path("out"), "webdataset")
        for path in (self.path("no/where.html"), self.path("out")):
            error = sheaf("report", self.path("none"), "-o", path, status=1).stderr.decode()
            self.assertIn(path, error)
        self.assertIn("--output is required", sheaf("report", self.path("out"), status=2)
                      .stderr.decode())
        if os.path.exists("/dev/full"):
            write(self.path("r.html"), b"before")
            sheaf("report", self.path("none"), "-o", self.path("r.html"), status=1)
            self.assertEqual(read(self.path("r.html")), b"before")


class FromS3(servers.S3Case):
    def test_it_is_the_same_page(self):
        files = {"c%d/%d.jpg" % (c, i): picture(40, 30, i) for c in range(3) for i in range(5)}
        here, there = self.path("out"), self.url("set")
        pack(make_tree(self.path("src"), files), here, "recordio")
        self.client.put_tree(self.bucket, "set/", support.tree_of(here))
        sheaf("report", here, "-o", self.path("here.html"))
        self.sheaf("report", there, "-o", self.path("there.html"))
        one, other = Page(read(self.path("here.html"))), Page(read(self.path("there.html")))
        for section in ("samples", "classes", "fields", "images", "shards", "mixing", "checked"):
            self.assertTrue(one.text(section))
            self.assertEqual(other.text(section), one.text(section))


if __name__ == "__main__":
    support.unittest.main()
