# SPDX-License-Identifier: MIT
"""Damage: every prefix and every flipped byte of small shards, and other faults of a disk. A reader must never return
a sample that was not packed."""

import json
import os
import re
import shutil

import decoders
import libsheaf
from jpegs import jpeg
from support import (CODECS, CONTAINERS, QUICK, SUFFIX, Case, flip, make_tree, pack, read, sheaf,
                     shards_of, write)

FILES = {"a/1.bin": b"one", "a/2.jpg": jpeg(8, 8, seed=2), "a/2.txt": b"some words",
         "b/3.bin": b"\x0a\x23\xd7\xce" * 3, "b/4.txt": b"x" * 37, "b/5.bin": b""}
STEP = 7 if QUICK else 1

ONE = dict(no_shuffle=1, threads=1)
SKIP = dict(no_shuffle=1, threads=1, on_corrupt=libsheaf.SKIP)
IS_BAD = {"CORRUPT", "TRUNCATED", "CHANGED", "LIMIT", "UNSUPPORTED", "NOT_FOUND", "ARGUMENT"}


def positions(data, step=1):
    """Yields the positions of the bytes to damage. Long runs of zeros, which fill the blocks of a tar, are not damaged
    everywhere, but at both ends, at the ends of blocks, and at every seventh byte."""
    runs = iter([(run.start() + 8, run.end() - 8) for run in re.finditer(rb"\0{32,}", data)] + [(len(data),) * 2])
    first, end = next(runs)
    for at in range(0, len(data), STEP * step):
        while at >= end:
            first, end = next(runs)
        if at < first or at % 7 == 0 or at % 512 in (0, 1, 511):
            yield at


class Damage(Case):
    """A small data set of each container and codec, and damaged copies of it."""

    @classmethod
    def share(cls):
        source = make_tree(os.path.join(cls.shared, "source"), FILES)
        cls.data_sets, cls.samples = {}, {}
        for container in CONTAINERS:
            for codec in CODECS:
                folder = os.path.join(cls.shared, container + codec)
                pack(source, folder, container, codec, "--shard-count", 1)
                cls.data_sets[container, codec] = folder
                cls.samples[container, codec] = libsheaf.samples(folder, **ONE)
                assert len(cls.samples[container, codec]) == 5

    def copy(self, container, codec):
        """Makes a copy to damage. Returns its folder, the path of its shard, and the shard's bytes."""
        folder = self.path(container + codec)
        shutil.copytree(self.data_sets[container, codec], folder)
        shard = os.path.join(folder, shards_of(folder)[0])
        return folder, shard, read(shard)

    def foreign(self, container, codec):
        """Makes a copy of the shard alone, without manifest or index."""
        data = read(os.path.join(self.data_sets[container, codec], "shard-000000" +
                                 SUFFIX[container] + SUFFIX[codec]))
        os.makedirs(self.path("alone"), exist_ok=True)
        shard = self.path("alone", "x" + SUFFIX[container] + SUFFIX[codec])
        return shard, data

    def each(self, check, codecs=CODECS):
        for container in CONTAINERS:
            for codec in codecs:
                with self.subTest(container=container, codec=codec):
                    check(container, codec)

    def read_all(self, source, expected, what, **options):
        """Reads, and checks that each returned sample is the next expected one. Returns the error, or None."""
        found = 0
        try:
            with libsheaf.DataSet(source) as data_set, \
                    libsheaf.Reader(data_set, **options) as reader:
                for sample in reader:
                    self.assertLess(found, len(expected), "%s: a sample too many" % what)
                    self.assertEqual(sample, expected[found], what)
                    found += 1
        except libsheaf.Error as error:
            self.assertIn(error.name, IS_BAD, what)
            self.assertNotIn("\n", error.message)
            return error
        self.assertEqual(found, len(expected), "%s: samples lost without an error" % what)
        return None

    def read_skipping(self, source, expected, what):
        """Reads with SKIP. Returned samples must be right and in order, and the others must be counted."""
        try:
            with libsheaf.DataSet(source) as data_set, libsheaf.Reader(data_set, **SKIP) as reader:
                found = list(reader)
                lost, reported = reader.stats().corrupt, reader.reported()
        except libsheaf.Error as error:
            self.assertIn(error.name, IS_BAD, what)
            return None
        rest = iter(expected)
        for sample in found:
            self.assertTrue(any(sample == other for other in rest), "%s: %r" % (what, sample))
        self.assertEqual(len(found) + lost, len(expected), what)
        self.assertEqual(len(reported), lost, what)
        return found


class WithIndex(Damage):
    def frame_ends(self, container):
        """Returns where the frames of the shard end. A reader must check up to these points."""
        folder = self.data_sets[container, "none"]
        return decoders.DataSet(folder).frame_bounds(0)

    def test_every_prefix(self):
        def check(container, codec):
            folder, shard, data = self.copy(container, codec)
            expected = self.samples[container, codec]
            for size in positions(data):
                write(shard, data[:size])
                what = "cut at %d of %d" % (size, len(data))
                self.assertIsNotNone(self.read_all(folder, expected, what, **ONE), what)
        self.each(check)

    def test_bytes_too_many(self):
        def check(container, codec):
            folder, shard, data = self.copy(container, codec)
            for more in (b"\0", bytes(1024), data):
                write(shard, data + more)
                self.assertIsNotNone(self.read_all(folder, self.samples[container, codec],
                                                   "longer", **ONE))
        self.each(check)

    def test_every_flipped_byte_is_found_before_its_sample_is_handed_out(self):
        def check(container, codec):
            folder, shard, data = self.copy(container, codec)
            expected = self.samples[container, codec]
            last = self.frame_ends(container)[-1]
            for at in positions(data):
                write(shard, flip(data, at, 1 << at % 8))
                what = "byte %d of %d flipped" % (at, len(data))
                error = self.read_all(folder, expected, what, **ONE)
                if codec == "none" and at < last:
                    self.assertIsNotNone(error, what)
                    self.assertIn(os.path.basename(shard), error.message)
        self.each(check)

    def test_skip_loses_only_the_sample_that_is_hit(self):
        def check(container, codec):
            folder, shard, data = self.copy(container, codec)
            expected, bounds = self.samples[container, codec], self.frame_ends(container)
            for at in positions(data[:bounds[-1]], 3):
                write(shard, flip(data, at, 1 << at % 8))
                what = "byte %d flipped" % at
                found = self.read_skipping(folder, expected, what)
                self.assertIsNotNone(found, what)
                hit = next(i for i, end in enumerate(bounds[1:]) if at < end)
                self.assertEqual(found, expected[:hit] + expected[hit + 1:], what)
        self.each(check, ["none"])

    def test_skip_in_a_compressed_shard(self):
        def check(container, codec):
            folder, shard, data = self.copy(container, codec)
            for at in positions(data, 3):
                write(shard, flip(data, at, 1 << at % 8))
                self.read_skipping(folder, self.samples[container, codec], "byte %d" % at)
        self.each(check, CODECS[1:])

    def test_skip_of_a_cut_shard(self):
        def check(container, codec):
            folder, shard, data = self.copy(container, codec)
            for size in positions(data, 3):
                write(shard, data[:size])
                self.read_skipping(folder, self.samples[container, codec], "cut at %d" % size)
        self.each(check)

    def test_verify_tells_a_problem_once(self):
        def told(folder, count):
            lines = sheaf("verify", folder, status=1).stderr.decode().splitlines()
            self.assertEqual(len(lines), count + 1, lines)      # one more line for the sum
            return lines
        for container in CONTAINERS:
            folder, shard, data = self.copy(container, "none")
            write(shard, data[:self.frame_ends(container)[2] + 7])
            told(folder, 3)     # its end, its size, its samples
            os.unlink(shard)
            told(folder, 1)
            shutil.rmtree(folder)
        folder, shard, _ = self.copy("recordio", "none")
        os.unlink(shard[:-len(".rec")] + ".lst")
        self.assertIn(".lst", told(folder, 1)[0])

    def test_convert_skips_if_it_is_told_to(self):
        folder, shard, data = self.copy("tfrecord", "none")
        write(shard, flip(data, self.frame_ends("tfrecord")[2] + 13))
        out = self.path("converted")
        sheaf("convert", folder, out, "--format", "recordio", status=1)
        self.assertFalse(os.path.exists(os.path.join(out, "dataset.json")))
        sheaf("convert", folder, out, "--format", "recordio", "--on-corrupt", "skip",
              "--max-corrupt", "0", status=1)
        done = sheaf("convert", folder, out, "--format", "recordio", "--on-corrupt", "skip")
        self.assertIn(os.path.basename(shard).encode(), done.stderr)
        self.assertIn(b"1 corrupt record skipped", done.stderr)
        expected = self.samples["tfrecord", "none"]
        self.assertEqual([s.key for s in libsheaf.samples(out, **ONE)],
                         [s.key for s in expected[:2] + expected[3:]])

    def test_max_corrupt(self):
        folder, shard, data = self.copy("tfrecord", "none")
        bounds = self.frame_ends("tfrecord")
        for hit in (0, 2, 4):
            data = flip(data, bounds[hit] + 13)
        write(shard, data)
        for most in range(5):
            options = dict(SKIP, max_corrupt=most)
            with libsheaf.DataSet(folder) as data_set:
                with libsheaf.Reader(data_set, **options) as reader:
                    if most < 3:
                        with self.assertRaises(libsheaf.Error):
                            list(reader)
                    else:
                        self.assertEqual(len(list(reader)), 2)
                    self.assertLessEqual(reader.stats().corrupt, most + 1)

    def test_verify_finds_every_flip(self):
        def check(container, codec):
            folder, shard, data = self.copy(container, codec)
            for at in positions(data, 3):
                write(shard, flip(data, at, 1 << at % 8))
                try:
                    with libsheaf.DataSet(folder) as data_set:
                        problems = data_set.verify()
                except libsheaf.Error:
                    continue
                self.assertNotEqual(problems, [], "byte %d" % at)
        self.each(check)

    def test_message_says_where_and_what(self):
        def check(container, codec):
            folder, shard, data = self.copy(container, codec)
            bounds = self.frame_ends(container)
            write(shard, flip(data, bounds[3] - 20))
            error = self.read_all(folder, self.samples[container, codec], "", **ONE)
            self.assertIn(os.path.basename(shard), error.message)
            self.assertRegex(error.message, r"\b2\b")           # the number of the record, from 0
            self.assertRegex(error.message, r"\b%d\b" % bounds[2])
            self.assertRegex(error.message, "expected|, but ")
            done = sheaf("cat", folder, "--list", "--no-shuffle", status=1)
            self.assertIn(error.message, done.stderr.decode())
        self.each(check, ["none"])

    def test_command_skips_reports_and_counts(self):
        folder, shard, data = self.copy("webdataset", "none")
        write(shard, flip(data, self.frame_ends("webdataset")[1] + 600))
        done = sheaf("cat", folder, "--list", "--on-corrupt", "skip", "--no-shuffle")
        self.assertEqual(done.stdout.count(b"\n"), 4)
        self.assertIn("shard-000000.tar", done.stderr.decode())
        self.assertIn("1 corrupt record", done.stderr.decode())
        sheaf("cat", folder, "--list", "--on-corrupt", "skip", "--max-corrupt", 0, status=1)


class Foreign(Damage):
    """Without manifest and index, only the container and the codec can detect damage."""

    def expected(self, shard, data):
        write(shard, data)
        return libsheaf.samples(shard, **ONE)

    def boundaries(self, container, codec, data):
        """Returns cuts that look like an end in these containers."""
        # The content is complete, and only the seek table is missing. Plain zstd files also have none.
        whole = {data.rindex(b"\x5e\x2a\x4d\x18")} if codec == "zstd" else set()
        if container == "webdataset":
            return whole
        if codec == "none":
            return set(decoders.DataSet(self.data_sets[container, "none"]).frame_bounds(0))
        return whole | {0}      # an empty file; otherwise the shard is one member or frame

    def test_every_prefix(self):
        def check(container, codec):
            shard, data = self.foreign(container, codec)
            expected, quiet = self.expected(shard, data), self.boundaries(container, codec, data)
            for size in positions(data):
                if size in quiet:
                    continue
                write(shard, data[:size])
                what = "cut at %d of %d" % (size, len(data))
                self.assertIsNotNone(self.read_all(shard, expected, what, **ONE), what)
        self.each(check)

    def test_a_tar_without_its_end(self):
        """A tar that is cut at a boundary of members, which other programs accept as a whole archive; also with
        skipping, and as a stream."""
        shard, data = self.foreign("webdataset", "none")
        expected = self.expected(shard, data)
        for size in range(0, len(data) - 511, 512):
            write(shard, data[:size])
            self.assertIsNotNone(self.read_all(shard, expected, "cut at %d" % size, **ONE))
            done = sheaf("cat", "-", "--list", data=data[:size], status=1)
            self.assertNotEqual(done.stderr, b"")
            for line in done.stdout.decode().splitlines():
                self.assertIn(line.split("\t")[0], [s.key for s in expected])

    def test_every_flipped_byte_where_there_is_a_checksum(self):
        def check(container, codec):
            shard, data = self.foreign(container, codec)
            expected = self.expected(shard, data)
            for at in positions(data):
                write(shard, flip(data, at, 1 << at % 8))
                what = "byte %d of %d flipped" % (at, len(data))
                error = self.read_all(shard, expected, what, **ONE)
                if container == "tfrecord" and codec == "none":
                    self.assertIsNotNone(error, what)
        check("tfrecord", "none")
        self.each(check, CODECS[1:])

    def test_every_flipped_byte_of_tar_headers(self):
        shard, data = self.foreign("webdataset", "none")
        expected = self.expected(shard, data)
        for start in decoders.tar_header_offsets(data):
            for at in range(start, start + 512, STEP):
                write(shard, flip(data, at, 1 << at % 8))
                self.read_all(shard, expected, "byte %d flipped" % at, **ONE)

    def test_flips_of_what_has_no_checksum_do_no_harm(self):
        """The content of RecordIO and tar has no checksum, so a flip is not detected, but it must not break the
        reader."""
        for container in ("recordio", "webdataset"):
            shard, data = self.foreign(container, "none")
            for at in positions(data):
                write(shard, flip(data, at, 1 << at % 8))
                try:
                    libsheaf.samples(shard, **ONE)
                except libsheaf.Error as error:
                    self.assertIn(error.name, IS_BAD)

    def test_skip(self):
        def check(container, codec):
            shard, data = self.foreign(container, codec)
            expected = {s.key: s.fields for s in self.expected(shard, data)}
            for at in positions(data, 3):
                write(shard, flip(data, at, 1 << at % 8))
                try:
                    for sample in libsheaf.samples(shard, **SKIP):
                        if container == "tfrecord" or codec != "none":
                            self.assertEqual(sample.fields, expected[sample.key], at)
                except libsheaf.Error as error:
                    self.assertIn(error.name, IS_BAD)
        self.each(check)

    def test_tfrecord_skips_a_bad_payload_only(self):
        shard, data = self.foreign("tfrecord", "none")
        expected = self.expected(shard, data)
        bounds = decoders.DataSet(self.data_sets["tfrecord", "none"]).frame_bounds(0)
        for hit in range(5):
            write(shard, flip(data, bounds[hit] + 12))
            with libsheaf.DataSet(shard) as data_set:
                with libsheaf.Reader(data_set, **SKIP) as reader:
                    self.assertEqual([s.fields for s in reader],
                                     [s.fields for i, s in enumerate(expected) if i != hit])
                    self.assertEqual(reader.stats().corrupt, 1)


class Sidecars(Damage):
    def damaged(self, name, container, cuts=True):
        """Yields (description, folder) for each damaged copy of one file beside the shards."""
        folder, _, _ = self.copy(container, "none")
        path = os.path.join(folder, name)
        data = read(path)
        for at in range(0, len(data), STEP):
            write(path, flip(data, at, 1 << at % 8))
            yield "%s: byte %d of %d flipped" % (name, at, len(data)), folder
        for size in range(0, len(data) if cuts else 0, STEP):
            write(path, data[:size])
            yield "%s: cut at %d of %d" % (name, size, len(data)), folder
        for more in (b"\0", b"\n", b" ", b"{}", data):
            write(path, data + more)
            yield "%s: %r after it" % (name, more[:10]), folder
        os.unlink(path)

    def test_manifest(self):
        text = read(os.path.join(self.data_sets["recordio", "none"], "dataset.json"))
        for what, folder in self.damaged("dataset.json", "recordio"):
            error = self.read_all(folder, self.samples["recordio", "none"], what, **ONE)
            if error is None:       # only a byte that is not content: a blank between tokens
                self.assertEqual(json.loads(read(os.path.join(folder, "dataset.json"))),
                                 json.loads(text), what)

    def test_index(self):
        for container in CONTAINERS:
            for what, folder in self.damaged("dataset.index", container):
                error = self.read_all(folder, self.samples[container, "none"], what, **ONE)
                self.assertIsNotNone(error, what)

    def test_names_of_recordio(self):
        for what, folder in self.damaged("shard-000000.lst", "recordio"):
            error = self.read_all(folder, self.samples["recordio", "none"], what, **ONE)
            try:
                with libsheaf.DataSet(folder) as data_set:
                    problems = data_set.verify()
            except libsheaf.Error:
                continue
            self.assertNotEqual(problems, [], what)
            if "after it" not in what and "flipped" not in what:
                self.assertIsNotNone(error, what)

    def test_missing_files(self):
        def check(container, codec):
            for name in sorted(os.listdir(self.data_sets[container, codec])):
                # Without a table of keys it is like a data set of release 0.1.
                if name in ("dataset.json", "dataset.keys") or name.endswith(".idx"):
                    continue
                folder, _, _ = self.copy(container, codec)
                os.unlink(os.path.join(folder, name))
                error = self.read_all(folder, self.samples[container, codec], name, **ONE)
                self.assertIsNotNone(error, name)
                self.assertIn(name, error.message)
                sheaf("verify", folder, status=1)
                shutil.rmtree(folder)
        self.each(check)

    def test_without_manifest_there_is_no_data_set_of_ours(self):
        folder, _, _ = self.copy("webdataset", "none")
        os.unlink(os.path.join(folder, "dataset.json"))
        info = json.loads(sheaf("info", folder, "--json").stdout)
        self.assertFalse(info["manifest"])


class Shards(Case):
    """Several shards: one replaced, two exchanged, one of another run."""

    @classmethod
    def share(cls):
        files = {"c/%02d.bin" % i: bytes([i]) * 100 for i in range(12)}
        cls.source = make_tree(os.path.join(cls.shared, "source"), files)

    def test_exchanged_shards(self):
        for container in CONTAINERS:
            folder = self.path(container)
            pack(self.source, folder, container, "none", "--shard-count", 3)
            good = {s.key: s.fields for s in libsheaf.samples(folder)}
            one, two = (os.path.join(folder, n) for n in shards_of(folder)[:2])
            self.assertEqual(os.path.getsize(one), os.path.getsize(two))
            os.rename(one, one + ".tmp")
            os.rename(two, one)
            os.rename(one + ".tmp", two)
            with self.assertRaises(libsheaf.Error):
                libsheaf.samples(folder)
            with libsheaf.DataSet(folder) as data_set:
                self.assertNotEqual(data_set.verify(), [])
                with libsheaf.Reader(data_set, on_corrupt=libsheaf.SKIP) as reader:
                    for sample in reader:
                        self.assertEqual(sample.fields, good[sample.key])
                    self.assertEqual(reader.stats().corrupt, 8)

    def test_shard_of_another_run(self):
        for container in CONTAINERS:
            folder, other = self.path(container), self.path(container + "2")
            pack(self.source, folder, container, "none", "--shard-count", 3)
            pack(self.source, other, container, "none", "--shard-count", 3, "--seed", 1)
            name = shards_of(folder)[1]
            shutil.copy(os.path.join(other, name), os.path.join(folder, name))
            with self.assertRaises(libsheaf.Error) as caught:
                libsheaf.samples(folder)
            self.assertIn(name, caught.exception.message)

    def test_a_shard_replaced_while_it_is_read(self):
        folder = self.path("big")
        source = make_tree(self.path("source"),
                           {"c/%03d.bin" % i: os.urandom(100000) for i in range(60)})
        pack(source, folder, "tfrecord", "none", "--shard-count", 3)
        good = {s.key: s.fields for s in libsheaf.samples(folder)}
        with libsheaf.DataSet(folder) as data_set, \
                libsheaf.Reader(data_set, memory_bytes=4 << 20, shuffle_buffer=0,
                                no_shuffle=1, threads=1) as reader:
            next(reader)
            last = os.path.join(folder, shards_of(folder)[-1])
            write(last, bytes(os.path.getsize(last)))
            with self.assertRaises(libsheaf.Error):
                for sample in reader:
                    self.assertEqual(sample.fields, good[sample.key])
