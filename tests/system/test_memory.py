# SPDX-License-Identifier: MIT
"""Tests little memory that is enough: with very large samples, codecs and many lanes, and with limited address
space."""

import io
import os
import random
import re
import resource
import tarfile

from support import (CODECS, CONTAINERS, SHEAF, Case, listing, make_tree, pack, peak_memory,
                     seed, sheaf, view_of)

MB = 1000000


def statistics(*words, **how):
    text = sheaf("cat", *words, "--null", **how).stdout.decode()
    return {name: float(value) for name, value in map(str.split, text.splitlines())}


class LittleMemory(Case):
    @classmethod
    def share(cls):
        rng = random.Random(seed())
        files = {"%04d.bin" % i: rng.randbytes(rng.randrange(8000)) for i in range(600)}
        for i in range(0, 600, 150):
            files["%04d.bin" % i] = rng.randbytes(3 * MB)
        source = make_tree(os.path.join(cls.shared, "source"), files)
        cls.samples = len(files)
        cls.data_sets = {}
        for container in CONTAINERS:
            for codec in CODECS:
                dest = os.path.join(cls.shared, container + codec)
                pack(source, dest, container, codec, "--shard-size", "10MB")
                cls.data_sets[container, codec] = dest
        few = make_tree(os.path.join(cls.shared, "few"), {"%d.bin" % i: b"x" for i in range(3)})
        cls.few = os.path.join(cls.shared, "few-lz4")
        pack(few, cls.few, "tfrecord", "lz4")

    def test_what_was_read_again_is_told(self):
        chance = random.Random(1)
        files = {"c/%04d.bin" % i: chance.randbytes(4000) for i in range(1500)}
        folder = self.path("again")
        pack(make_tree(self.path("again-tree"), files), folder, "webdataset", "lz4")
        done = sheaf("cat", folder, "--null", "--memory", "4MB", "--lanes", 32)
        self.assertRegex(done.stderr, rb"(?m)^sheaf: read [\d.]+ [MG]B of shards of [\d.]+ MB: "
                                      rb"samples of the shuffle buffer .* more --memory")
        self.assertEqual(sheaf("cat", folder, "--null").stderr, b"")

    def test_outliers_and_lanes_change_nothing(self):
        for (container, codec), folder in self.data_sets.items():
            for lanes in (1, 256):
                for more in ((), ("--no-shuffle",)):
                    words = (folder, "--lanes", lanes, *more)
                    with self.subTest(words=words):
                        found = statistics(*words, "--memory", "16MB")
                        self.assertEqual(found["samples"], self.samples)
                        self.assertLessEqual(found["memory_peak_bytes"], 16 * MB)

    def test_what_is_drawn_alone_comes_in_the_same_order(self):
        for codec in CODECS:
            folder = self.data_sets["webdataset", codec]
            self.assertEqual(listing(folder, "--memory", "6MB"), listing(folder))

    def test_a_compressed_sample_takes_little_more_than_itself(self):
        files = {"%d.bin" % i: random.Random(i).randbytes(10 * MB) for i in range(2)}
        source = make_tree(self.path("large"), files)
        for codec in CODECS:
            folder = self.path("large-" + codec)
            pack(source, folder, "webdataset", codec)
            found = statistics(folder, "--memory", "11MB", "--no-shuffle")
            self.assertEqual(found["payload_bytes"], 20 * MB)
            self.assertLessEqual(found["memory_peak_bytes"], 11 * MB)

    def test_what_is_not_in_the_budget_is_little(self):
        files = {"%03d.bin" % i: random.Random(i).randbytes(20000) for i in range(200)}
        files.update(("x%d.bin" % i, random.Random(i).randbytes(16 * MB)) for i in range(4))
        source = make_tree(self.path("mixed"), files)
        for codec in CODECS:
            folder = self.path("mixed-" + codec)
            pack(source, folder, "tfrecord", codec)
            for memory in (20, 40):
                with self.subTest(codec=codec, memory=memory):
                    peak = peak_memory([SHEAF, "cat", folder, "--null", "--memory",
                                        "%dMB" % memory, "--threads", "8"])
                    self.assertLess(peak, memory * MB + (32 << 20))

    def test_many_lanes_take_little_more(self):
        rng = random.Random(seed())
        source = make_tree(self.path("many"), {"%04d.bin" % i: rng.randbytes(rng.randrange(24000))
                                               for i in range(5000)})
        pack(source, self.path("set"), "tfrecord")
        peak = peak_memory([SHEAF, "cat", self.path("set"), "--null", "--memory", "48MiB",
                            "--lanes", "512"])
        self.assertLess(peak, (48 + 32) << 20)

    def test_lanes_are_in_the_budget(self):
        """A data set of small samples, and a view, in which each lane has memory for each source."""
        count = 16000
        with tarfile.open(self.path("small.tar"), "w") as archive:
            for i in range(count):
                member = tarfile.TarInfo("%05d.bin" % i)
                member.size = 5
                archive.addfile(member, io.BytesIO(b"%05d" % i))
        folder = self.path("small")
        pack(self.path("small.tar"), folder, "tfrecord")
        view = view_of(self, [(folder, {"where": {"range": [0, count // 2]}}),
                              (folder, {"where": {"range": [count // 2, count]}})])
        for place, lanes in ((folder, count // 2), (view, count // 4)):
            with self.subTest(place=place):
                done = sheaf("cat", place, "--null", "--memory", "4MB", "--lanes", lanes, status=1)
                least = int(re.search(r"at least (\d+)", done.stderr.decode()).group(1))
                self.assertIn(b"%d lanes" % lanes, done.stderr)
                found = statistics(place, "--memory", least, "--lanes", lanes)
                self.assertEqual(found["samples"], count)
                self.assertLessEqual(found["memory_peak_bytes"], least)
                peak = peak_memory([SHEAF, "cat", place, "--null", "--memory", "32MB", "--lanes", str(lanes)])
                self.assertLess(peak, 32 * MB + (20 << 20))
        self.assertEqual(statistics(self.few, "--memory", "100kB", "--lanes", 100000)["samples"], 3)

    def test_ten_columns_take_the_same_budget(self):
        """Columns of captions, numbers and values of 20 kB, some of which are kept in memory and some read with each
        sample. The limit is that of the reader without columns."""
        rng = random.Random(seed())
        keys = ["%04d" % i for i in range(1500)]
        source = make_tree(self.path("base"), {key + ".bin": rng.randbytes(rng.randrange(8000)) for key in keys})
        folder = self.path("wide")
        pack(source, folder, "webdataset", "none", "--shard-size", "3MB")
        for column in range(10):
            size = (4, 200, 20000)[column % 3]
            with open(self.path("values.jsonl"), "w", encoding="ascii") as file:
                for key in keys:
                    file.write('{"key": "%s", "value": "%s"}\n' % (key, rng.randbytes(size // 2).hex()))
            sheaf("column", "add", folder, "--name", "c%d" % column, "--from", self.path("values.jsonl"))
        names = ",".join("c%d" % column for column in range(10))
        for memory in (24, 48):
            for more in ((), ("--no-shuffle",), ("--lanes", "64")):
                words = (folder, "--memory", "%dMB" % memory, *more)
                with self.subTest(words=words):
                    for columns in ((), ("--columns", names)):
                        found = statistics(*words, *columns)
                        self.assertEqual(found["samples"], len(keys))
                        self.assertLessEqual(found["memory_peak_bytes"], memory * MB)
                    peak = peak_memory([SHEAF, "cat", *words, "--null", "--columns", names])
                    self.assertLess(peak, memory * MB + (32 << 20))

    def test_a_large_sample_of_a_stream_is_read_or_the_cure_is_said(self):
        for i in range(2):
            with tarfile.open(self.path("%d.tar.gz" % i), "w:gz") as archive:
                for name, size in (("a.bin", 10), ("b.bin", 20 * MB), ("c.bin", 10)):
                    member = tarfile.TarInfo("%d%s" % (i, name))
                    member.size = size
                    archive.addfile(member, io.BytesIO(bytes(size)))
        words = (self.path("0.tar.gz"), self.path("1.tar.gz"), "--lanes", 2)
        self.assertEqual(statistics(*words, "--memory", "400MB")["samples"], 6)
        done = sheaf("cat", *words, "--null", "--memory", "64MB", status=1)
        self.assert_error(done, "record 1", "--memory raises it")

    def test_three_samples_need_little(self):
        self.assertEqual(statistics(self.few, "--memory", "100kB")["samples"], 3)

    def test_a_refusal_names_what_is_enough(self):
        for folder in (self.few, *self.data_sets.values()):
            done = sheaf("cat", folder, "--null", "--memory", 1000, "--lanes", 4, status=1)
            text = done.stderr.decode()
            self.assertIn("--memory", text)
            least = re.search(r"at least (\d+)", text).group(1)
            found = statistics(folder, "--memory", least, "--lanes", 4, "--limit", 200)
            self.assertLessEqual(found["memory_peak_bytes"], int(least))

    def test_all_that_a_stream_read_is_counted(self):
        # Foreign files, not the sets: of one chunk, which is the last, and of several.
        for folder in (self.few, self.data_sets["tfrecord", "lz4"]):
            found = statistics(os.path.join(folder, "shard-000000.tfrecord.lz4"))
            self.assertGreater(found["payload_bytes"], 0)
            self.assertGreaterEqual(found["read_bytes"], found["payload_bytes"])

    def test_address_space_is_reserved_as_it_is_used(self):
        most = 1000 * 1000 * 1024

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (most, most))

        folder = self.data_sets["tfrecord", "none"]
        found = statistics(folder, "--memory", "16GiB", "--threads", 2, preexec_fn=limit)
        self.assertEqual(found["samples"], self.samples)
