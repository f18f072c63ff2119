# SPDX-License-Identifier: MIT
"""Tests shards with damage after which no record can be found. The lost bytes must be reported and counted."""

import gzip
import json
import os
import re
import zlib

import writers
from support import Case, read, sheaf, write

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
