# SPDX-License-Identifier: MIT
"""Tests shards with damage after which no record can be found. The lost bytes must be reported and counted. If there is
an index, verify must report exactly the samples that a reader loses."""

import gzip
import json
import os
import random
import re
import zlib

import writers
from support import CODECS, CONTAINERS, Case, flip, pack, read, sheaf, shards_of, write

SKIP = ("--on-corrupt", "skip")


def records(container, count, size=1000):
    """Returns a shard as other programs write it, and the offset of each record."""
    payloads = [bytes([i % 251]) * size for i in range(count)]
    if container == "webdataset":
        pieces = [writers.tar_member(b"a/%05d.bin" % i, p) for i, p in enumerate(payloads)]
        end = bytes(1024)
    else:
        make = writers.tfrecord if container == "tfrecord" else writers.recordio
        pieces = [make([payload]) for payload in payloads]
        end = b""
    offsets = [sum(map(len, pieces[:i])) for i in range(count)]
    return b"".join(pieces) + end, offsets


class LostRest(Case):
    def stats(self, data, name="x.tar", status=0):
        """Reads the shard. Returns [samples, corrupt, lost_bytes], and standard error."""
        write(self.path(name), data)
        done = sheaf("cat", self.path(name), "--null", "--no-shuffle", *SKIP, status=status)
        found = [int(re.search(br"^%s (\d+)$" % word, done.stdout, re.M).group(1))
                 for word in (b"samples", b"corrupt", b"lost_bytes")]
        return found, done.stderr.decode()

    def test_nothing_but_zeros_behind_damage(self):
        for container in ("tfrecord", "recordio", "webdataset"):
            with self.subTest(container=container):
                data, offsets = records(container, 20)
                at = offsets[7]
                data = data[:at] + b"\xff" * 600 + bytes(len(data) - at - 600)
                # Of a tar, the sample before it may have lost a member.
                first = 6 if container == "webdataset" else 7
                at = offsets[first]
                lost = len(data) - at
                found, said = self.stats(data)
                self.assertEqual(found, [first, 1, lost])
                words = "the rest of the shard, %d bytes, is lost" % lost
                place = r"x\.tar: offset %d, record %d: .*" % (at, first)
                self.assertRegex(said, place + words)
                self.assertIn("%d bytes behind damage" % lost, said)
                verify = sheaf("verify", self.path("x.tar"), status=1).stderr.decode()
                self.assertRegex(verify, place + words)
                pipe = sheaf("cat", "-", "--null", *SKIP, data=data)
                self.assertIn(b"lost_bytes %d\n" % lost, pipe.stdout)

    def test_damage_that_is_followed_by_records_loses_no_rest(self):
        data, offsets = records("tfrecord", 20)
        data = data[:offsets[7]] + b"\xff" * 8 + data[offsets[7] + 8:]
        found, said = self.stats(data)
        self.assertEqual(found, [19, 1, 0])
        self.assertNotIn("lost", said)

    def test_a_compressed_stream_that_breaks(self):
        data, _ = records("webdataset", 3000, size=100)
        first, second = gzip.compress(data[:1024 * 1000]), gzip.compress(data[1024 * 1000:])
        broken = first + b"\x1f\x8b\x08" + b"\xff" * (len(second) - 3)
        found, said = self.stats(broken)
        self.assertEqual(found[1], 1)
        self.assertGreaterEqual(found[2], len(second) - 3)
        self.assertIn("the rest of the shard, %d stored bytes, is lost" % found[2], said)

    def test_a_compressed_stream_that_is_cut(self):
        data, _ = records("tfrecord", 3000)
        cut = gzip.compress(data, 1)[:10000]
        found, said = self.stats(cut, name="x.tfrecord.gz")
        whole = zlib.decompressobj(31).decompress(cut)
        self.assertEqual(found, [len(whole) // 1016, 1, 0])
        self.assertIn("ends at stored byte 10000, inside member 1; the rest of the shard is lost",
                      said)

    def test_a_cut_shard_with_an_index_gives_all_samples_of_whole_blocks(self):
        """The other samples must be counted, because the index has their number."""
        for i in range(300):
            write(self.path("tree", "%03d.bin" % i), os.urandom(50000))
        for codec in ("gzip", "lz4", "zstd"):
            with self.subTest(codec=codec):
                place = self.path(codec)
                sheaf("pack", self.path("tree"), place, "--format", "tfrecord", "--codec", codec)
                shard = json.loads(read(os.path.join(place, "dataset.json")))["shards"][0]
                path = os.path.join(place, shard["name"])
                write(path, read(path)[:shard["bytes"] // 2])
                done = sheaf("cat", place, "--null", *SKIP)
                samples = int(re.search(br"^samples (\d+)$", done.stdout, re.M).group(1))
                self.assertGreaterEqual(samples, 60)        # a block has some 4 MiB of 7
                self.assertIn(b"corrupt %d\n" % (300 - samples), done.stdout)
                self.assertEqual(done.stderr.count(b"skipped: "), 300 - samples)

    def test_damage_in_a_compressed_block_loses_one_sample_if_the_rest_unpacks(self):
        """The number of lost samples must not depend on the memory."""
        for i in range(100):
            write(self.path("tree", "%03d.bin" % i), os.urandom(50) * 200)
        sheaf("pack", self.path("tree"), self.path("lz4"), "--format", "tfrecord", "--codec", "lz4")
        path = self.path("lz4", "shard-000000.tfrecord.lz4")
        data = bytearray(read(path))
        literal = read(self.path("tree", "042.bin"))[:50]
        data[data.index(literal)] ^= 1
        write(path, bytes(data))
        for memory in ("1GiB", "2MiB"):
            with self.subTest(memory=memory):
                done = sheaf("cat", self.path("lz4"), "--null", "--memory", memory, *SKIP)
                self.assertIn(b"samples 99\n", done.stdout)
                self.assertRegex(done.stderr, br"record \d+: .*CRC")


    def test_info_names_the_damage(self):
        """The samples that info counts are those before the damage."""
        data, offsets = records("webdataset", 20)
        write(self.path("x.tar"), data[:offsets[7] + 200])
        for words in ((), ("--json",), ("--quiet",)):
            done = sheaf("info", self.path("x.tar"), *words)
            self.assertRegex(done.stderr, rb"1 damaged place, where samples may be lost that are not counted here; the "
                             rb"first: \S+x\.tar: offset %d, record 6: .*sheaf verify" % offsets[6])
        write(self.path("x.tar"), data)
        self.assertEqual(sheaf("info", self.path("x.tar")).stderr, b"")


class VerifyAndReader(Case):
    @classmethod
    def share(cls):
        cls.tree = os.path.join(cls.shared, "tree")
        draw = random.Random(3)
        for i in range(100):        # Half of the samples can be compressed.
            write(os.path.join(cls.tree, "%03d.bin" % i),
                  draw.randbytes(3000) if i % 2 else b"sample %03d " % i * 300)

    def packed(self, container, codec):
        """Packs the tree into one shard."""
        place = self.path(container + codec)
        pack(self.tree, place, container, codec)
        return place

    def lost(self, folder):
        """Returns the records that verify names, and the records that a reader skips."""
        verify = sheaf("verify", folder, status=1).stderr.decode()
        cat = sheaf("cat", folder, "--null", "--no-shuffle", *SKIP).stderr.decode()
        named = re.findall(r"^sheaf: \S+: offset \d+, record (\d+): .*", verify, re.M)
        sound = re.search(r"has (\d+) sound samples, but the manifest says (\d+)", verify)
        skipped = re.findall(r"skipped: \S+: offset \d+, record (\d+): ", cat)
        self.assertEqual(int(sound[2]) - int(sound[1]) if sound else 0, len(skipped), verify)
        self.assertIn("XXH3-128 is", verify)
        return sorted(map(int, named)), sorted(map(int, skipped)), verify

    def test_verify_names_the_samples_that_a_reader_loses(self):
        for container in CONTAINERS:
            for codec in CODECS:
                good = self.packed(container, codec)
                path = os.path.join(good, *shards_of(good))
                data = read(path)
                flips = [flip(data, len(data) * i // 8, 0x10) for i in range(1, 8)]
                garbage = data[:len(data) // 2] + b"\xa5" * 900 + data[len(data) // 2 + 900:]
                for i, bad in enumerate(flips + [garbage]):
                    with self.subTest(container=container, codec=codec, damage=i):
                        write(path, bad)
                        named, skipped, said = self.lost(good)
                        self.assertEqual(named, skipped, said)
                        self.assertGreater(len(named), 0)
                        self.assertNotIn("is lost", said)

    def test_one_flipped_bit_loses_one_sample(self):
        """The bit is in a sample that cannot be compressed, so it changes one byte of this sample."""
        for container in CONTAINERS:
            for codec in CODECS:
                good = self.packed(container, codec)
                path = os.path.join(good, *shards_of(good))
                data = read(path)
                at = data.find(read(os.path.join(self.tree, "051.bin"))[1000:1020])
                if at < 0:          # gzip codes literals with a varying number of bits.
                    continue
                write(path, flip(data, at))
                with self.subTest(container=container, codec=codec):
                    named, skipped, said = self.lost(good)
                    self.assertEqual(named, skipped)
                    self.assertEqual(len(named), 1)
                    self.assertIn("(the sample 051)", said)

    def test_a_truncated_shard(self):
        """The missing records are reported together."""
        for codec in CODECS:
            good = self.packed("tfrecord", codec)
            path = os.path.join(good, *shards_of(good))
            data = read(path)
            write(path, data[:len(data) // 2])
            with self.subTest(codec=codec):
                verify = sheaf("verify", good, status=1).stderr.decode()
                first, count = re.search(r"record (\d+): .*with the \d+ records after it, (\d+) records are missing",
                                         verify).groups()
                cat = sheaf("cat", good, "--null", *SKIP, status=None).stderr.decode()
                self.assertEqual(int(first) + int(count), 100)
                self.assertEqual(int(count), cat.count("skipped: "))

    def test_a_codec_block_that_ends_too_early(self):
        """The shard is not truncated, so each lost record is reported."""
        good = self.packed("tfrecord", "gzip")
        path = os.path.join(good, *shards_of(good))
        data = read(path)
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        half = deflate.compress(gzip.decompress(data)[:150000]) + deflate.flush(zlib.Z_FULL_FLUSH)
        empty = b"\0\0\0\xff\xff"          # a block of deflate without bytes
        write(path, (data[:10] + half + empty * len(data))[:len(data)])
        named, skipped, said = self.lost(good)
        self.assertEqual(named, skipped, said)
        self.assertGreater(len(named), 20)

    def test_damage_outside_of_the_samples(self):
        """The checksum at the end of a gzip stream, or the end mark of a tar."""
        for codec, said in (("gzip", "incorrect data check"), ("none", "offset ")):
            good = self.packed("webdataset", codec)
            path = os.path.join(good, *shards_of(good))
            data = read(path)
            write(path, flip(data, len(data) - (8 if codec == "gzip" else 1000), 0x10))
            with self.subTest(codec=codec):
                named, skipped, verify = self.lost(good)
                self.assertEqual((named, skipped), ([], []), verify)
                self.assertRegex(verify, "all of its samples can be read, but other bytes are damaged: .*" + said)

    def test_a_tar_without_its_end_mark(self):
        good = self.packed("webdataset", "none")
        path = os.path.join(good, *shards_of(good))
        data = read(path)
        size = (len(data.rstrip(b"\0")) + 511) // 512 * 512
        write(path, data[:size])
        self.assertIn(b"samples 100\n", sheaf("cat", good, "--null", *SKIP).stdout)
        verify = sheaf("verify", good, status=1).stderr.decode()
        self.assertNotIn("sound samples", verify)
        self.assertRegex(verify, "all of its samples can be read, but other bytes are damaged: offset %d, "
                                 "record 100: .*zero blocks" % size)

    def test_a_record_that_is_larger_than_the_memory(self):
        """The error is the same in a sound shard and after damage."""
        tree, place = self.path("large"), self.path("set")
        for name, size in (("a", 3000), ("b", 3000), ("c", 3 << 20)):
            write(os.path.join(tree, name + ".bin"), bytes(size))
        pack(tree, place, "tfrecord", "none", "--no-shuffle")
        path = os.path.join(place, *shards_of(place))
        for change in (False, True):
            if change:
                write(path, flip(read(path), 2000))
            said = sheaf("verify", place, "--memory", "1MiB", "--threads", "1", status=1).stderr.decode()
            self.assertRegex(said, r"record 2: a frame of \d+ bytes is larger than the 524288 bytes of memory", change)
            said = sheaf("verify", place, "--memory", "6MiB", "--threads", "4", status=int(change)).stderr.decode()
            self.assertNotIn("larger than", said)

    def test_little_memory(self):
        """The blocks are decompressed in steps if memory is short."""
        for codec in ("gzip", "lz4", "zstd"):
            good = self.packed("tfrecord", codec)
            path = os.path.join(good, *shards_of(good))
            write(path, flip(read(path), 90000, 0x10))
            with self.subTest(codec=codec):
                self.assertEqual(sheaf("verify", good, status=1).stderr,
                                 sheaf("verify", good, "--memory", "256KiB", "--threads", "1", status=1).stderr)
