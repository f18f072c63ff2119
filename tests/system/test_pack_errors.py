# SPDX-License-Identifier: MIT
"""Tests files that must not be packed silently, destinations that must not be changed, full disks, and signals. With
`fail` and with `skip`, checks the report, the last line and the exit status."""

import os
import shutil
import signal
import subprocess

import decoders
from jpegs import jpeg
from support import (CONTAINERS, SHEAF, Case, image_tree, make_tree, pack, read, sheaf, shards_of,
                     small_disk, tree_of, write)

GOOD = {"a/%d.jpg" % i: jpeg(seed=i, payload=bytes(2000)) for i in range(5)}
WHOLE = jpeg(64, 64, 3, 9, bytes(1000))
BAD = {
    "empty": b"",
    "not a JPEG": b"this is text, not an image, whatever its name says" * 10,
    "a PNG": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "only SOI": b"\xff\xd8",
    "only SOI and EOI": b"\xff\xd8\xff\xd9",
    "headers cut short": WHOLE[:-len(WHOLE) // 2],
    "no end": WHOLE[:-2],
    "scan cut short": WHOLE[:-40],
    "CMYK": jpeg(16, 16, 4),
}


class BadFiles(Case):
    def each(self):
        for number, (what, data) in enumerate(BAD.items()):
            source = make_tree(self.path("s%d" % number), {**GOOD, "b/bad.jpg": data})
            yield what, source, self.path("d%d" % number)

    def test_fail_names_the_file_and_leaves_nothing(self):
        for what, source, dest in self.each():
            for container in CONTAINERS:
                with self.subTest(what=what, container=container):
                    done = pack(source, dest, container, status=1)
                    self.assert_error(done, "b/bad.jpg")
                    self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                    self.assert_nothing(dest)
                    self.assertNotEqual(sheaf("cat", dest, "--list", status=None).returncode, 0)

    def test_skip_that_leaves_nothing_is_an_error(self):
        source = make_tree(self.path("source"), {"b/bad.jpg": BAD["only SOI"]})
        done = pack(source, self.path("out"), "webdataset", "none", "--on-error", "skip", status=1)
        self.assert_error(done, "no sample could be packed: 1 bad file, the first b/bad.jpg")
        self.assert_nothing(self.path("out"))
        plan = self.path("plan")
        sheaf("plan", source, self.path("many"), "-o", plan, "--format", "tfrecord", "--on-error",
              "skip")
        sheaf("pack", "--plan", plan)
        self.assert_error(sheaf("commit", plan, status=1), "no sample could be packed: 1 bad file")
        self.assertFalse(os.path.exists(self.path("many", "dataset.json")))

    def test_skip_reports_and_counts(self):
        for what, source, dest in self.each():
            with self.subTest(what=what):
                done = pack(source, dest, "webdataset", "none", "--on-error", "skip")
                self.assertRegex(done.stdout.decode().splitlines()[0], r"\b1 files? skipped")
                report = read(os.path.join(dest, "skipped.tsv")).decode()
                self.assertEqual(report.count("\n"), 1, report)
                self.assertTrue(report.startswith("b/bad.jpg\t"), report)
                self.assertGreater(len(report.split("\t")[1].strip()), 5)
                self.assertIn(b"b/bad.jpg", done.stderr)
                sheaf("unpack", dest, dest + "-out")
                self.assertEqual(tree_of(dest + "-out"), GOOD)
                sheaf("verify", dest)

    def test_whether_a_file_is_bad_does_not_change_the_bytes_of_jobs(self):
        tree = {**image_tree(), **{"x/%02d.jpg" % i: data for i, data in enumerate(BAD.values())}}
        source = make_tree(self.path("source"), tree)
        results = []
        for jobs in (1, 2, 8):
            dest = self.path("out%d" % jobs)
            pack(source, dest, "tfrecord", "gzip", "--on-error", "skip", "--jobs", jobs,
                 "--shard-size", "100kB")
            results.append(tree_of(dest))
        self.assertEqual(read(self.path("out1", "skipped.tsv")).count(b"\n"), len(BAD))
        self.assertTrue(results[0] == results[1] == results[2], "other bytes")

    def test_the_memory_does_not_change_what_is_skipped(self):
        tree = {**image_tree(), **{"x/%02d.jpg" % i: data for i, data in enumerate(BAD.values())}}
        source = make_tree(self.path("source"), tree)
        for container in CONTAINERS:
            results = []
            for memory in ("64MiB", "2GiB"):
                dest = self.path(container + memory)
                pack(source, dest, container, "lz4", "--on-error", "skip", "--memory", memory,
                     "--shard-size", "100kB")
                results.append(tree_of(dest))
            self.assertEqual(results[0]["skipped.tsv"].count(b"\n"), len(BAD))
            self.assertTrue(results[0] == results[1], "other bytes")

    def test_a_sample_that_is_too_large_for_the_memory_is_not_skipped(self):
        source = make_tree(self.path("source"), {**GOOD, "b/large.bin": bytes(40000000)})
        done = pack(source, self.path("out"), "webdataset", "none", "--on-error", "skip",
                    "--memory", "64MiB", status=1)
        self.assert_error(done, "b/large.bin", "--memory")
        self.assert_nothing(self.path("out"))

    def test_a_sample_that_no_record_holds_is_a_bad_file_whatever_the_memory(self):
        os.makedirs(self.path("large/c"))
        with open(self.path("large/c/a.bin"), "wb") as file:
            file.truncate(600 << 20)
        write(self.path("large/c/b.txt"), b"x")
        for options in ((), ("--memory", "100MiB"), ("--dry-run",)):
            done = pack(self.path("large"), self.path("out%d" % len(options)), "recordio", "none",
                        "--on-error", "skip", *options)
            self.assertIn(b"c/a.bin: the sample has 629145600 bytes, but a record of recordio must "
                          b"have less than 536870912", done.stderr)
        done = pack(self.path("large"), self.path("none"), "recordio", "none", status=1)
        self.assert_error(done, "c/a.bin", "--on-error skip")
        self.assertNotIn(b"--memory", done.stderr)

    def test_a_bad_image_takes_its_sidecars_or_leaves_them_but_says_so(self):
        """In all cases, every file must be either in the data set or in the report."""
        tree = {**GOOD, "b/1.jpg": b"", "b/1.json": b"{}", "b/1.txt": b"t"}
        source = make_tree(self.path("source"), tree)
        pack(source, self.path("out"), "webdataset", "none", "--on-error", "skip")
        sheaf("unpack", self.path("out"), self.path("back"))
        packed = set(tree_of(self.path("back")))
        skipped = {line.split("\t")[0] for line in
                   read(self.path("out", "skipped.tsv")).decode().splitlines()}
        self.assertEqual(packed & skipped, set())
        self.assertEqual(packed | skipped, set(tree))

    def test_an_empty_jpeg_is_found_before_anything_is_read(self):
        """The size is known when the plan is made, so a dry run and a plan report such a file as packing does."""
        source = make_tree(self.path("source"), {**GOOD, "b/1.jpg": b"", "b/1.txt": b"t"})
        done = pack(source, self.path("out"), "webdataset", "none", "--on-error", "skip")
        self.assertIn(b"skipped: b/1.jpg: the file is empty", done.stderr)
        again = pack(source, self.path("out"), "webdataset", "none", "--on-error", "skip", "--resume", "--dry-run")
        self.assertEqual(again.stderr, b"", "a dry run has the plan of the real run")
        for words in (("pack", source, self.path("other"), "--dry-run"), ("pack", source, self.path("other")),
                      ("plan", source, self.path("other"), "-o", self.path("plan")),
                      ("append", source, self.path("out"), "--dry-run")):
            more = () if words[0] == "append" else ("--format", "webdataset")
            refused = sheaf(*words, *more, status=1)
            self.assertIn(b"b/1.jpg: the file is empty", refused.stderr)
            self.assertIn(b"--on-error skip packs the rest", refused.stderr)
        self.assertFalse(os.path.exists(self.path("plan")))
        sheaf("plan", source, self.path("other"), "--format", "webdataset", "-o", self.path("plan"),
              "--check-images", "none")

    def test_everything_bad(self):
        source = make_tree(self.path("source"), {"a/1.jpg": b"", "a/2.jpg": b"x"})
        done = pack(source, self.path("out"), "webdataset", "none", "--on-error", "skip",
                    status=None)
        self.assertIn(done.returncode, (0, 1))
        if done.returncode == 0:
            self.assertEqual(sheaf("cat", self.path("out"), "--list").stdout, b"")

    def test_other_files_may_be_empty_or_anything(self):
        tree = {"a/1.txt": b"", "a/2.bin": b"\0", "a/3.png": b"no png", "a/4.json": b"{"}
        source = make_tree(self.path("source"), tree)
        for container in CONTAINERS:
            pack(source, self.path(container), container)
            sheaf("unpack", self.path(container), self.path(container + "-out"))
            self.assertEqual(tree_of(self.path(container + "-out")), tree)


class TwoInputsWithOneKey(Case):
    def test_suffixes_that_differ_in_case_only(self):
        source = make_tree(self.path("source"),
                           {"a/1.jpg": jpeg(seed=1), "a/1.JPG": jpeg(seed=2), **GOOD})
        done = pack(source, self.path("out"), status=1)
        self.assert_error(done, "a/1.")
        self.assert_nothing(self.path("out"))

    def test_a_list_that_names_a_file_twice(self):
        make_tree(self.path("tree"), GOOD)
        write(self.path("files.txt"), b"a/1.jpg\na/2.jpg\na/1.jpg\n")
        done = sheaf("pack", self.path("files.txt"), self.path("out"), "--format", "tfrecord",
                     "--root", self.path("tree"), status=1)
        self.assert_error(done, "a/1.jpg")


class Moving(Case):
    """Tests files that vanish or change between the scan and the moment when they are packed."""

    def pack_while(self, change, *options):
        """Packs a source, and calls `change` with a file while the run is stopped after the scan."""
        tree = {"a/%04d.bin" % i: bytes(300000) for i in range(60)}
        source = make_tree(self.path("source"), tree)
        process = subprocess.Popen([SHEAF, "pack", source, self.path("out"), "--format",
                                    "webdataset", "--jobs", "1", "--no-shuffle",
                                    "--shard-size", "1MB", *options],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # The first finished or partial shard says that the scan is over.
        while process.poll() is None and \
                not any(names for _, _, names in os.walk(self.path("out"))):
            pass
        process.send_signal(signal.SIGSTOP)
        change(os.path.join(source, "a", "0059.bin"))
        process.send_signal(signal.SIGCONT)
        out, errors = process.communicate()
        return process.returncode, out.decode(), errors.decode()

    def test_a_file_that_vanishes(self):
        for _ in range(50):
            code, _, errors = self.pack_while(os.unlink)
            if code != 0:
                break
            shutil.rmtree(self.path("out"))     # it was too quick for us
        self.assertEqual(code, 1)
        self.assertIn("0059.bin", errors)
        self.assert_nothing(self.path("out"))

    def test_a_file_that_grows(self):
        def grow(path):
            with open(path, "ab") as file:
                file.write(b"more")
        for _ in range(50):
            code, _, errors = self.pack_while(grow)
            if code != 0:
                break
            shutil.rmtree(self.path("out"))
        self.assertEqual(code, 1)
        self.assertIn("0059.bin", errors)
        self.assert_nothing(self.path("out"))

    def test_a_file_that_vanishes_is_skipped(self):
        for _ in range(50):
            code, out, errors = self.pack_while(os.unlink, "--on-error", "skip", "--on-change",
                                                "skip")
            self.assertEqual(code, 0, errors)
            data_set = decoders.DataSet(self.path("out"))
            data_set.check()
            if len(list(data_set.samples())) == 59:
                break
            shutil.rmtree(self.path("out"))
        self.assertIn("0059.bin", read(self.path("out", "skipped.tsv")).decode())
        self.assertRegex(out.splitlines()[0], r"\b1 files? skipped")


class Destination(Case):
    @classmethod
    def share(cls):
        cls.source = make_tree(os.path.join(cls.shared, "source"), GOOD)

    def test_an_existing_data_set_is_not_touched(self):
        pack(self.source, self.path("out"))
        before = tree_of(self.path("out"))
        done = pack(self.source, self.path("out"), "tfrecord", status=1)
        self.assert_error(done, "overwrite")
        self.assertEqual(tree_of(self.path("out")), before)

    def test_overwrite_replaces_all_of_it(self):
        pack(self.source, self.path("out"), "recordio", "none", "--shard-count", 4)
        pack(self.source, self.path("out"), "tfrecord", "gzip", "--overwrite")
        pack(self.source, self.path("fresh"), "tfrecord", "gzip")
        self.assertEqual(tree_of(self.path("out")), tree_of(self.path("fresh")))

    def test_splits_are_a_data_set(self):
        """A new data set with splits must replace all splits of the old one."""
        out = self.path("out")
        pack(self.source, out, "recordio", "none", "--split", "train=0.5,val=0.5")
        pack(self.source, self.path("out", "mine"))             # a data set of its own
        before = tree_of(out)
        for more in ([], ["--resume"], ["--split", "train=0.5,test=0.5"]):
            self.assert_error(pack(self.source, out, "webdataset", "none", *more, status=1),
                              "out/train", "--overwrite")
        self.assertEqual(tree_of(out), before)
        pack(self.source, out, "webdataset", "none", "--split", "test=0.5,val=0.5", "--overwrite")
        self.assertEqual(sorted({name.split("/")[0] for name in tree_of(out)}),
                         ["mine", "test", "val"])
        pack(self.source, out, "tfrecord", "none", "--overwrite")
        pack(self.source, self.path("fresh"), "tfrecord", "none")
        self.assertEqual({name: data for name, data in tree_of(out).items()
                          if not name.startswith("mine/")}, tree_of(self.path("fresh")))
        sheaf("verify", self.path("out", "mine"))

    def test_overwrite_leaves_files_of_others(self):
        pack(self.source, self.path("out"), "webdataset", "none", "--shard-count", 3)
        write(self.path("out", "notes.md"), b"mine")
        pack(self.source, self.path("out"), "webdataset", "none", "--overwrite")
        self.assertEqual(read(self.path("out", "notes.md")), b"mine")

    def test_a_failed_overwrite_does_not_pass_for_the_new_data_set(self):
        pack(self.source, self.path("out"))
        bad = make_tree(self.path("bad"), {**GOOD, "b/bad.jpg": b""})
        pack(bad, self.path("out"), "tfrecord", "none", "--overwrite", status=1)
        done = sheaf("verify", self.path("out"), status=None)
        if done.returncode == 0:    # the old one, whole
            sheaf("unpack", self.path("out"), self.path("back"))
            self.assert_same_tree(self.source, self.path("back"))

    def test_inside_the_source(self):
        source = make_tree(self.path("source"), GOOD)
        for dest in (source, os.path.join(source, "out"), os.path.join(source, "a", "out")):
            done = pack(source, dest, status=None)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(tree_of(source), GOOD)

    def test_no_source(self):
        done = pack(self.path("nothing"), self.path("out"), status=1)
        self.assert_error(done, "nothing")
        self.assertFalse(os.path.exists(self.path("out", "dataset.json")))

    def test_an_empty_source(self):
        os.mkdir(self.path("empty"))
        done = pack(self.path("empty"), self.path("out"), status=None)
        self.assertIn(done.returncode, (0, 1))
        if done.returncode == 0:
            sheaf("verify", self.path("out"))

    def test_a_file_where_the_directory_should_be(self):
        write(self.path("out"), b"a file")
        pack(self.source, self.path("out"), status=1)
        self.assertEqual(read(self.path("out")), b"a file")

    def test_dry_run_says_what_the_run_would(self):
        pack(self.source, self.path("out"))
        fresh = pack(self.source, self.path("none"), "tfrecord", "none", "--dry-run")
        self.assertEqual(fresh.stderr, b"")
        write(self.path("other", "shard-000000.tfrecord"), b"mine")
        pack(self.source, self.path("splits"), "tfrecord", "none", "--split", "a=0.5,b=0.5")
        for dest, why in (("out", "--overwrite"), ("other", "belongs to no data set"),
                          ("splits", "--overwrite")):
            refused = pack(self.source, self.path(dest), "tfrecord", "none", status=1)
            done = pack(self.source, self.path(dest), "tfrecord", "none", "--dry-run", status=1)
            self.assertEqual(done.stdout, fresh.stdout)
            self.assertEqual(done.stderr, refused.stderr)
            self.assertIn(why.encode(), done.stderr)
        done = pack(self.source, self.path("out"), "tfrecord", "none", "--dry-run", "--overwrite")
        self.assertEqual(done.stderr, b"")
        for dest, more in ((self.source, "--overwrite"), (self.path("out"), "--resume"), (self.path("other"), "--resume")):
            refused = pack(self.source, dest, "tfrecord", "none", more, status=None)
            done = pack(self.source, dest, "tfrecord", "none", more, "--dry-run", status=refused.returncode)
            self.assertEqual(done.stderr, refused.stderr)
        sheaf("verify", self.path("out"))

    def test_dry_run_writes_nothing(self):
        done = pack(self.source, self.path("out"), "tfrecord", "none", "--dry-run",
                    "--shard-count", 2)
        self.assertFalse(os.path.exists(self.path("out")))
        lines = done.stdout.decode().splitlines()
        self.assertEqual(len(lines), 4)        # shards, classes and the sum
        self.assertIn("shard-000001.tfrecord", lines[1])
        pack(self.source, self.path("out"), "tfrecord", "none", "--shard-count", 2)
        real = [len(shard) for shard in decoders.DataSet(self.path("out")).shards()]
        self.assertEqual([int(line.split("\t")[2]) for line in lines[:2]], real)

    def test_dry_run_tells_every_problem_and_its_cure(self):
        tree = make_tree(self.path("bad"), {
            "c/README": b"", "c/a.dat": b"1", "c/a.DAT": b"2", "c/ok.txt": b"x", "d/.x": b"",
            "d/big.bin": bytes(20 << 20)})
        pack(self.source, self.path("out"))
        done = pack(tree, self.path("out"), "webdataset", "none", "--dry-run", "--memory", "16MiB",
                    status=1)
        lines = done.stderr.decode().splitlines()
        self.assertEqual(len(lines), 7)
        for words in ("c/README: the base name", "c/a.dat: two inputs", "c/a.DAT: two inputs",
                      "d/.x: the base name", "--memory raises it", "--overwrite replaces it"):
            self.assertTrue(any(words in line for line in lines[:6]), (words, lines))
        self.assertRegex(lines[6], r"and 3 more bad files.*--on-error skip")
        self.assertIn(b"total\t1\t2\t", done.stdout)
        done = pack(tree, self.path("out"), "webdataset", "none", "--dry-run", "--memory", "128MiB",
                    "--exclude", "README", "--exclude", ".x", "--exclude", "*.DAT", status=1)
        self.assertIn(b"--overwrite replaces it", done.stderr)
        self.assertNotIn(b"bad file", done.stderr)


class Space(Case):
    def test_too_little_is_said_before_anything_is_written(self):
        source = make_tree(self.path("source"), {"a/%d.bin" % i: bytes(200000) for i in range(20)})
        with small_disk(self.path("disk"), 2 << 20):
            for container in CONTAINERS:
                done = pack(source, self.path("disk", "out"), container, status=1)
                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                self.assertEqual(tree_of(self.path("disk")), {})
                self.assertFalse(os.path.exists(self.path("disk", "out")))
            dry = pack(source, self.path("disk", "out"), container, "none", "--dry-run", status=1)
            self.assertEqual((dry.stderr, dry.stdout.count(b"total")), (done.stderr, 1))
            os.mkdir(self.path("disk", "out"))      # a directory of the user stays
            pack(source, self.path("disk", "out"), status=1)
            self.assertTrue(os.path.isdir(self.path("disk", "out")))

    @staticmethod
    def fill(path):
        """Writes until the disk is full."""
        with open(path, "wb", buffering=0) as hog:
            try:
                while hog.write(bytes(1 << 16)):
                    pass
            except OSError:
                pass

    def test_a_disk_that_fills_up_ends_cleanly(self):
        """The space vanishes after the check for free space. The command must fail, and must leave nothing that looks
        like a shard."""
        source = make_tree(self.path("source"),
                           {"a/%d.bin" % i: os.urandom(100000) for i in range(100)})
        with small_disk(self.path("disk"), 12 << 20):
            for _ in range(50):
                process = subprocess.Popen([SHEAF, "pack", source, self.path("disk", "out"),
                                            "--format", "webdataset", "--codec", "gzip",
                                            "--shard-size", "1MB", "--jobs", "1"],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                while process.poll() is None and not os.path.isdir(self.path("disk", "out")):
                    pass
                process.send_signal(signal.SIGSTOP)
                self.fill(self.path("disk", "hog"))
                process.send_signal(signal.SIGCONT)
                errors = process.communicate()[1].decode()
                if process.returncode != 0:
                    break
                os.unlink(self.path("disk", "hog"))     # it was too quick for us
                shutil.rmtree(self.path("disk", "out"))
            self.assertEqual(process.returncode, 1, errors)
            self.assertIn("No space left", errors)
            self.assert_nothing(self.path("disk", "out"))
            for name in os.path.isdir(self.path("disk", "out")) and shards_of(self.path("disk", "out")) or ():
                decoders.decompress(read(self.path("disk", "out", name)), "gzip")
            os.unlink(self.path("disk", "hog"))
            pack(source, self.path("disk", "out"), "webdataset", "gzip", "--shard-size", "1MB",
                 "--resume")
            sheaf("verify", self.path("disk", "out"))


class Signals(Case):
    def test_a_signal_ends_it_cleanly(self):
        source = make_tree(self.path("source"),
                           {"a/%d.bin" % i: os.urandom(200000) for i in range(100)})
        for number in (signal.SIGINT, signal.SIGTERM):
            dest = self.path("out%d" % number)
            for _ in range(50):
                process = subprocess.Popen([SHEAF, "pack", source, dest, "--format", "tfrecord",
                                            "--codec", "gzip", "--shard-size", "1MB"],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                while process.poll() is None and not (os.path.isdir(dest) and os.listdir(dest)):
                    pass
                process.send_signal(number)
                errors = process.communicate()[1].decode()
                if process.returncode != 0:
                    break
                sheaf("verify", dest)       # it was at its end, and is whole
                shutil.rmtree(dest)
            self.assertIn(process.returncode, (1, -number), errors)
            self.assert_nothing(dest)
            pack(source, dest, "tfrecord", "gzip", "--shard-size", "1MB", "--resume")
            sheaf("verify", dest)
