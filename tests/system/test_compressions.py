# SPDX-License-Identifier: MIT
"""Shards that other programs have compressed: in ways that are read, with what is legal around
them, and in ways that are not, which is no damage that could be skipped."""

import bz2
import gzip
import io
import lzma
import os
import random
import subprocess
import tarfile
import zlib

from support import Case, listing, sheaf, write

SKIPPABLE = b"\x5a\x2a\x4d\x18\x05\0\0\0hello"


def tar_of(count=5, size=3000):
    """Words, that compress to a third or so."""
    chance, made = random.Random(1), io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for i in range(count):
            data = "".join(chance.choices("abcdefgh ", k=size)).encode()
            info = tarfile.TarInfo("key%d.txt" % i)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


def lz4(data, *options):
    return subprocess.run(["lz4", "-q", "-c", *options], input=data, check=True,
                          stdout=subprocess.PIPE).stdout


class Compressions(Case):
    def test_others_are_named_by_their_magic(self):
        tar = tar_of()
        kinds = {
            "zstd": b"\x28\xb5\x2f\xfd" + bytes(range(200)), "xz": lzma.compress(tar),
            "bzip2": bz2.compress(tar), "zlib": zlib.compress(tar),
            "lzop": b"\x89LZO\x00\r\n\x1a\n" + bytes(range(200)),
            "compress": b"\x1f\x9d\x90" + bytes(range(200)),
            "twice: gzip": gzip.compress(gzip.compress(tar)),
            "twice: lz4": gzip.compress(lz4(tar)), "twice: zlib": lz4(zlib.compress(tar)),
        }
        for kind, data in kinds.items():
            for name in ("x.tar", "x.tar.gz", "x.tfrecord", "x.bin"):
                path = self.path("in", name)
                write(path, data)
                for words in (("cat", path, "--list"), ("cat", "-", "--list"), ("verify", path),
                              ("unpack", path, self.path("out")),
                              ("convert", path, self.path("set"), "--format", "tfrecord")):
                    with self.subTest(kind=kind, words=words):
                        skip = () if words[0] in ("verify", "unpack") else ("--on-corrupt", "skip")
                        done = sheaf(*words, *skip, data=data, status=1)
                        self.assertIn(kind.encode(), done.stderr)
                        self.assertIn(b"(magic ", done.stderr)
                        self.assertNotIn(b"skipped", done.stderr)
                os.unlink(path)

    def test_large_blocks_are_known_from_a_pipe(self):
        """LZ4 shows nothing of a block before all of it is there."""
        tar = tar_of(3, 3 << 20)
        for options in ((), ("-B7",), ("-B4", "-BD"), ("-9", "--no-frame-crc")):
            with self.subTest(options=options):
                data = lz4(tar, *options)
                write(self.path("noname"), data)
                self.assertEqual(len(listing("-", data=data)), 3)
                self.assertEqual(len(listing(self.path("noname"))), 3)

    def test_padding_and_skippable_frames(self):
        tar = tar_of()
        for data in (gzip.compress(tar) + bytes(10000), lz4(tar) + SKIPPABLE,
                     SKIPPABLE + lz4(tar[:1024]) + SKIPPABLE + lz4(tar[1024:])):
            write(self.path("x.tar.x"), data)
            self.assertEqual(len(listing(self.path("x.tar.x"))), 5)
            self.assertEqual(len(listing("-", data=data)), 5)
        sheaf("cat", "-", "--list", data=gzip.compress(tar) + bytes(100) + b"x", status=1)
