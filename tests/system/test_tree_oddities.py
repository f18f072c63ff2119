# SPDX-License-Identifier: MIT
"""Tests odd trees as they occur in practice: odd names, files and places. Files that can be packed must come back byte
for byte, and all others must be reported."""

import os
import shutil
import struct
import subprocess

import decoders
from jpegs import jpeg
from support import (CONTAINERS, SHEAF, Case, expected_samples, listing, make_tree, pack, read,
                     sheaf, tree_of, write)

LONG = "n" * 90
# What RecordIO's multi-field records end with, as the end of a file.
TABLE = struct.pack("<IQH3s", 1, 4, 3, b"bin")
TRAILER = b"four" + TABLE + struct.pack("<II", decoders.crc32c(TABLE), len(TABLE)) + b"sheafrec"
# A path that ustar holds in one field, one it holds in two, and ones it cannot hold at all.
NAMES = {
    "plain/a.jpg": jpeg(seed=1),
    "with space/b c .jpg": jpeg(seed=2),
    "dots.in.dirs/v1.2/c.seg.png": b"png",
    "dots.in.dirs/v1.2/c.jpg": jpeg(seed=3),
    "ünïcode/日本語 \U0001f600.jpg": jpeg(seed=4),
    "plain/UPPER.JPG": jpeg(seed=5),
    "plain/UPPER.Json": b"{}",
    "plain/-dash.jpg": jpeg(seed=6),
    "plain/quote\"'\\.jpg": jpeg(seed=7),
    "plain/*glob?[1].jpg": jpeg(seed=8),
    "plain/{0..9}.jpg": jpeg(seed=9),
    "plain/%41%s%n.jpg": jpeg(seed=10),
    "plain/@list.jpg": jpeg(seed=11),
    "plain/_under__.jpg": jpeg(seed=12),
    "plain/__meta__/x.jpg": jpeg(seed=25),
    "__meta__.jpg": jpeg(seed=26),
    "plain/many.dots.in.the.name.jpg": jpeg(seed=13),
    "plain/long" + "k" * 200 + ".jpg": jpeg(seed=14),
    "plain/x." + "s" * 200: b"long suffix",
    "/".join([LONG] * 2) + "/d.jpg": jpeg(seed=15),
    "/".join([LONG] * 4) + "/e.jpg": jpeg(seed=16),
    "/".join([LONG] * 20) + "/f.jpg": jpeg(seed=17),
    "é" * 60 + "/" + "ü" * 100 + ".jpg": jpeg(seed=18),
    "deep/a/b/c/d/e/f/g/h.jpg": jpeg(seed=19),
    "root.jpg": jpeg(seed=20),
    "plain/empty.bin": b"",
    "plain/own.cls": b"7",
    "plain/own.jpg": jpeg(seed=21),
    "plain/cls_is_text.cls": b"seven\n",
    "plain/only.txt": b"no image here",
    "plain/multi.jpg": jpeg(seed=22),
    "plain/multi.json": b"{}",
    "plain/multi.txt": b"words",
    "plain/multi.jpeg": jpeg(seed=23),
    "plain/two.mask.jpg": jpeg(seed=24),
    "plain/two.depth.png": b"png",
    "binary/zeros.bin": bytes(5000),
    "binary/magic.bin": b"\x0a\x23\xd7\xce" * 100,
    "binary/tar.tar": bytes(10240),
    "binary/trailer.bin": b"like a trailer sheafrec",
    "binary/fake.jpg": jpeg(seed=27) + TRAILER,
    "binary/fakes.jpg": jpeg(seed=28) + TRAILER,
    "binary/fakes.txt": TRAILER,
    "binary/short.bin": b"sheafrec",
}


class Names(Case):
    @classmethod
    def share(cls):
        cls.source = make_tree(os.path.join(cls.shared, "source"), NAMES)
        cls.data_sets = {c: os.path.join(cls.shared, c) for c in CONTAINERS}
        for container, dest in cls.data_sets.items():
            pack(cls.source, dest, container)

    def test_they_come_back(self):
        for container, folder in self.data_sets.items():
            with self.subTest(container=container):
                sheaf("unpack", folder, self.path(container))
                self.assert_same_tree(self.source, self.path(container))

    def test_decoders_agree(self):
        expected = expected_samples(NAMES)
        for container, folder in self.data_sets.items():
            with self.subTest(container=container):
                found = {s.key: s.fields for s in decoders.DataSet(folder).samples()}
                self.assertEqual(found, expected)

    def test_listings_agree(self):
        first = listing(self.data_sets["webdataset"])
        self.assertEqual(len(first), len(expected_samples(NAMES)))
        for folder in self.data_sets.values():
            self.assertEqual(listing(folder), first)

    def test_labels(self):
        """The directory is the class, unless a cls file states the label in numbers."""
        for container, folder in self.data_sets.items():
            with self.subTest(container=container):
                data_set = decoders.DataSet(folder)
                found = {s.key: s.labels for s in data_set.samples()}
                classes = data_set.classes
                self.assertEqual(classes, sorted(classes, key=os.fsencode))
                self.assertEqual(found["plain/own"], [7.0])
                self.assertEqual(found["plain/cls_is_text"], [float(classes.index("plain"))])
                self.assertEqual(found["root"], [])
                for key in ("plain/a", "deep/a/b/c/d/e/f/g/h"):
                    self.assertEqual(found[key], [float(classes.index(os.path.dirname(key)))])

    def test_verify(self):
        for folder in self.data_sets.values():
            sheaf("verify", folder)


class OwnCls(Case):
    """Tests a cls file of the user's own. It must stay unchanged, and no other label may be added."""

    def test_bytes_of_cls_are_kept(self):
        files = {"a/%d.cls" % i: text for i, text in enumerate(
            [b"3", b"3\n", b" 0.5 ", b"1 0 2", b"1,2,3\n", b"cat", b"", b"9007199254740993",
             b"1e400", b"nan", b"0x10", b"-4", b"+4", b"3\0"])}
        files.update({"a/%d.jpg" % i: jpeg(seed=i) for i in range(20)})
        source = make_tree(self.path("source"), files)
        lines = []
        for container in CONTAINERS:
            pack(source, self.path(container), container)
            sheaf("unpack", self.path(container), self.path("out", container))
            self.assert_same_tree(source, self.path("out", container))
            lines.append(listing(self.path(container), "--no-shuffle"))
        self.assertEqual(lines[0], lines[1])
        self.assertEqual(lines[0], lines[2])
        labels = dict(line.split("\t")[:2] for line in lines[0])
        self.assertEqual([labels["a/%d" % i] for i in (0, 1, 2, 3, 4, 11)],
                         ["3", "3", "0.5", "1 0 2", "1 2 3", "-4"])


class OddFiles(Case):
    def pack_and_compare(self, source, expected, *options):
        for container in CONTAINERS:
            pack(source, self.path("ds-" + container), container, "none", *options)
            found = {s.key for s in decoders.DataSet(self.path("ds-" + container)).samples()}
            self.assertEqual(found, expected)

    def test_symbolic_links_are_followed(self):
        source = self.path("source")
        make_tree(source, {"a/1.jpg": jpeg(seed=1)})
        make_tree(self.path("elsewhere"), {"2.jpg": jpeg(seed=2), "3.jpg": jpeg(seed=3)})
        os.symlink(self.path("elsewhere", "2.jpg"), os.path.join(source, "a", "4.jpg"))
        os.symlink(self.path("elsewhere"), os.path.join(source, "b"))
        self.pack_and_compare(source, {"a/1", "a/4", "b/2", "b/3"})

    def test_a_loop_is_an_error_not_an_endless_walk(self):
        source = make_tree(self.path("source"), {"a/1.jpg": jpeg(seed=1)})
        os.symlink("..", os.path.join(source, "a", "up"))
        self.assert_error(pack(source, self.path("out"), status=1), "a/up")
        self.assert_nothing(self.path("out"))
        self.pack_and_compare(source, {"a/1"}, "--on-error", "skip")
        self.assertIn(b"a/up", read(self.path("ds-tfrecord", "skipped.tsv")))

    def test_a_broken_link_is_an_error(self):
        source = make_tree(self.path("source"), {"a/1.jpg": jpeg(seed=1)})
        os.symlink("nowhere.jpg", os.path.join(source, "a", "2.jpg"))
        self.assert_error(pack(source, self.path("out"), status=1), "a/2.jpg")
        self.pack_and_compare(source, {"a/1"}, "--on-error", "skip")

    def test_fifos_and_sockets_do_not_hang(self):
        source = make_tree(self.path("source"), {"a/1.jpg": jpeg(seed=1)})
        os.mkfifo(os.path.join(source, "a", "2.jpg"))
        self.assert_error(pack(source, self.path("out"), status=1), "a/2.jpg")
        self.pack_and_compare(source, {"a/1"}, "--on-error", "skip")

    def test_an_unreadable_file_is_named(self):
        source = make_tree(self.path("source"), {"a/1.jpg": jpeg(seed=1), "a/2.jpg": jpeg()})
        os.chmod(os.path.join(source, "a", "2.jpg"), 0)
        how = {}
        if os.geteuid() == 0:       # who reads everything: so let nobody do it
            shutil.copy(SHEAF, self.path("sheaf"))
            os.chmod(self.shared, 0o755)
            os.chmod(self.folder, 0o777)
            how = dict(user=65534, group=65534, extra_groups=[])
        program = self.path("sheaf") if how else SHEAF
        command = [program, "pack", source, self.path("out"), "--format", "tfrecord"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
        self.assertEqual(done.returncode, 1)
        self.assert_error(done, "a/2.jpg", "ermission denied")
        self.assert_nothing(self.path("out"))
        subprocess.run(command + ["--on-error", "skip"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, **how)
        self.assertEqual([s.key for s in decoders.DataSet(self.path("out")).samples()], ["a/1"])
        self.assertIn(b"a/2.jpg\t", read(self.path("out", "skipped.tsv")))

    def test_empty_directories_are_no_matter(self):
        source = make_tree(self.path("source"), {"a/1.jpg": jpeg(seed=1)})
        os.makedirs(os.path.join(source, "b", "c"))
        self.pack_and_compare(source, {"a/1"})

    def test_names_that_differ_in_case_alone(self):
        """Keys that differ only in case are two samples. Fields of one sample that differ only in case must be refused,
        and both files named."""
        files = {"d/A.jpg.txt": b"1", "d/a.txt": b"2", "d/A.txt": b"3", "D/a.txt": b"4",
                 "d/c.TXT": b"5"}
        tree = make_tree(self.path("tree"), files)
        keys = ["D/a", "d/A", "d/a", "d/c"]
        for container in CONTAINERS:
            with self.subTest(container=container):
                dest = self.path(container)
                pack(tree, dest, container)
                self.assertEqual(sorted(line.split("\t")[0] for line in listing(dest)), keys)
                sheaf("unpack", dest, dest + "-back")
                back = tree_of(dest + "-back")
                self.assertEqual(sorted(back.values()), sorted(files.values()))
                self.assertEqual({name.lower() for name in back}, {name.lower() for name in files})
        write(self.path("tree", "d", "a.TXT"), b"6")
        for container in CONTAINERS:
            dest = self.path("bad-" + container)
            done = pack(tree, dest, container, status=1)
            self.assertIn(b"two inputs with one key: d/a.TXT and d/a.txt", done.stderr)
            pack(tree, dest, container, "none", "--on-error", "skip")
            self.assertEqual(sorted(line.split(b"\t")[0] for line in
                                    read(os.path.join(dest, "skipped.tsv")).splitlines()),
                             [b"d/a.TXT", b"d/a.txt"])
            self.assertEqual(len(listing(dest)), len(keys) - 1)

    def test_hard_links_are_files(self):
        source = make_tree(self.path("source"), {"a/1.jpg": jpeg(seed=1)})
        os.link(os.path.join(source, "a", "1.jpg"), os.path.join(source, "a", "2.jpg"))
        self.pack_and_compare(source, {"a/1", "a/2"})


class Clutter(Case):
    """Tests files that are not data. They are left out and reported, except if a list names them."""

    DATA = {"a/1.txt": b"1", "b/2.txt": b"2", "b/Thumbs.txt": b"no clutter"}
    CLUTTER = {".git/HEAD.txt": b"ref", ".git/objects/ab/cd.bin": b"o",
               "a/.ipynb_checkpoints/1.txt": b"old", ".DS_Store": b"x", "b/.DS_Store": b"x",
               "a/._1.txt": b"x", "Thumbs.db": b"x", "a/thumbs.db": b"x", "b/Desktop.ini": b"x"}
    ENTRIES = 9 - 1             # of .git, one

    def test_a_tree(self):
        tree = make_tree(self.path("tree"), {**self.DATA, **self.CLUTTER})
        done = pack(tree, self.path("out"))
        self.assertIn(b"%d ignored: directories whose" % self.ENTRIES, done.stderr)
        self.assertIn(b"; 3 of 3 files packed, 0 files skipped, %d ignored"
                      % self.ENTRIES, done.stdout)
        pack(make_tree(self.path("clean"), self.DATA), self.path("same"))
        self.assert_same_tree(self.path("out"), self.path("same"))
        done = pack(tree, self.path("dry"), "tfrecord", "none", "--dry-run")
        self.assertIn(b"%d ignored" % self.ENTRIES, done.stderr)

    def test_a_link_to_a_directory(self):
        tree = make_tree(self.path("tree"), self.DATA)
        os.symlink(os.path.join(tree, "a"), os.path.join(tree, ".linked"))
        done = pack(tree, self.path("out"))
        self.assertIn(b"1 ignored", done.stderr)
        self.assertEqual(len(listing(self.path("out"))), 3)

    def test_a_plan_and_its_parts(self):
        tree = make_tree(self.path("tree"), {**self.DATA, **self.CLUTTER})
        plan, out = self.path("x.plan"), self.path("out")
        done = sheaf("plan", tree, out, "-o", plan, "--format", "tfrecord")
        self.assertIn(b"%d ignored" % self.ENTRIES, done.stderr)
        sheaf("pack", "--plan", plan, "--part", "0/1")
        sheaf("commit", plan)
        pack(make_tree(self.path("clean"), self.DATA), self.path("same"), "tfrecord")
        self.assertEqual(sorted(listing(out)), sorted(listing(self.path("same"))))

    def test_a_list_keeps_what_it_names(self):
        tree = make_tree(self.path("tree"), {**self.DATA, **self.CLUTTER})
        names = ["a/1.txt", ".git/HEAD.txt", "a/.ipynb_checkpoints/1.txt", "Thumbs.db"]
        write(self.path("tree", "list.txt"), "".join(name + "\n" for name in names).encode())
        done = pack(os.path.join(tree, "list.txt"), self.path("out"))
        self.assertNotIn(b"ignored", done.stderr)
        self.assertEqual(len(listing(self.path("out"))), 4)


class Unlabelled(Case):
    def test_files_in_the_root_among_classes_are_told(self):
        tree = make_tree(self.path("tree"), {"cat/1.txt": b"1", "dog/2.txt": b"2", "top.txt": b"3",
                                             "top.json": b"{}", "z.txt": b"4"})
        said = b"2 samples without a label among others that have one, such as \"top\": "
        self.assertIn(said, pack(tree, self.path("out")).stderr)
        done = sheaf("plan", tree, self.path("o"), "-o", self.path("p"), "--format", "tfrecord")
        self.assertIn(said, done.stderr)
        self.assertIn(b"labels: 2 of 4 samples", sheaf("verify", self.path("out")).stderr)

    def test_lines_without_a_label_are_told(self):
        tree = make_tree(self.path("tree"), {"1.txt": b"1", "2.txt": b"2"})
        write(self.path("tree", "list.csv"), b"path,label\n1.txt,3\n2.txt,\n")
        self.assertIn(b"1 sample without a label among others that have one, such as \"2\": files "
                      b"in the root of a directory have no class, nor has a line of a list whose "
                      b"label is empty", pack(os.path.join(tree, "list.csv"),
                                              self.path("out")).stderr)

    def test_no_word_where_none_has_a_class_or_cls_says_it(self):
        tree = make_tree(self.path("flat"), {"1.txt": b"1", "2.txt": b"2"})
        self.assertEqual(pack(tree, self.path("out")).stderr, b"")
        tree = make_tree(self.path("own"), {"a/1.txt": b"1", "2.txt": b"2", "2.cls": b"0"})
        self.assertEqual(pack(tree, self.path("out2")).stderr, b"")


class Refused(Case):
    """Tests names that some common reader would lose or could not represent. They must be refused."""

    BAD = [b"a/README", b"a/.hidden", b"a/trailing.", b"a/not\xffutf8.jpg", b"a/new\nline.jpg",
           b"a/tab\there.jpg", b"__meta__/x.jpg", b"__meta.x__", b"__a__/__b__/c.jpg",
           b"a/\x7f.jpg", b"a/over\xc0\xaflong.jpg", b"a/\xed\xa0\x80.jpg", b"a/x.__key__"]

    def test_each_is_named_and_can_be_skipped(self):
        for number, name in enumerate(self.BAD):
            with self.subTest(name=name):
                source = self.path("s%d" % number)
                make_tree(source, {b"a/good.jpg": jpeg(seed=1)})
                write(os.path.join(os.fsencode(source), name), jpeg(seed=2))
                done = pack(source, self.path("d%d" % number), status=1)
                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                self.assert_nothing(self.path("d%d" % number))
                pack(source, self.path("e%d" % number), "webdataset", "none", "--on-error", "skip")
                keys = [s.key for s in decoders.DataSet(self.path("e%d" % number)).samples()]
                self.assertEqual(keys, ["a/good"])
                report = read(self.path("e%d" % number, "skipped.tsv"))
                self.assertEqual(report.count(b"\n"), 1, report)
                report.decode()     # a report is always text

    def test_a_component_too_long_for_any_container(self):
        source = make_tree(self.path("source"), {"a/1.jpg": jpeg(seed=1)})
        folder = os.open(source, os.O_RDONLY)
        try:                        # a path over 4096 bytes can only be made step by step
            for _ in range(25):
                os.mkdir("d" * 200, dir_fd=folder)
                below = os.open("d" * 200, os.O_RDONLY, dir_fd=folder)
                os.close(folder)
                folder = below
            os.close(os.open("x.jpg", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
        finally:
            os.close(folder)
        pack(source, self.path("out"), status=1)
        pack(source, self.path("out2"), "tfrecord", "none", "--on-error", "skip")
        self.assertEqual([s.key for s in decoders.DataSet(self.path("out2")).samples()], ["a/1"])
