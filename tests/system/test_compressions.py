# SPDX-License-Identifier: MIT
"""Shards that other programs have compressed: in ways that are read, with everything that is legal around the data;
and in ways that are not read, which does not count as damage."""

import bz2
import gzip
import io
import lzma
import os
import random
import subprocess
import tarfile
import zlib

import decoders
from support import Case, listing, make_tree, pack, read, sheaf, shards_of, write
from writers import lz4, tfrecord, zstd

SKIPPABLE = b"\x5a\x2a\x4d\x18\x05\0\0\0hello"


def tar_of(count=5, size=3000):
    """Returns a tar of words that compress to about a third."""
    chance, made = random.Random(1), io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for i in range(count):
            data = "".join(chance.choices("abcdefgh ", k=size)).encode()
            info = tarfile.TarInfo("key%d.txt" % i)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


class Compressions(Case):
    def test_others_are_named_by_their_magic(self):
        tar = tar_of()
        kinds = {
            "xz": lzma.compress(tar),
            "bzip2": bz2.compress(tar), "zlib": zlib.compress(tar),
            "lzop": b"\x89LZO\x00\r\n\x1a\n" + bytes(range(200)),
            "compress": b"\x1f\x9d\x90" + bytes(range(200)),
            "lzip": b"LZIP\x01\x0c" + bytes(range(200)),
            "lrzip": b"LRZI\0\6" + bytes(range(200)),
            "grzip": b"GRZipII\0\2\4:)" + bytes(range(200)),
            "lzma": lzma.compress(tar, format=lzma.FORMAT_ALONE),
            "twice: lzma": gzip.compress(lzma.compress(tar, format=lzma.FORMAT_ALONE, preset=9)),
            "twice: gzip": gzip.compress(gzip.compress(tar)),
            "twice: lz4": gzip.compress(lz4(tar)), "twice: zlib": lz4(zlib.compress(tar)),
            "twice: zstd": gzip.compress(zstd(tar)), "twice: xz": zstd(lzma.compress(tar)),
        }
        for kind, data in kinds.items():
            self.check_named(kind, data, "cat", "-", "--list")
            for name in ("x.tar", "x.tar.gz", "x.tfrecord", "x.bin"):
                path = self.path("in", name)
                write(path, data)
                for words in (("cat", path, "--list"), ("verify", path), ("unpack", path, self.path("out")),
                              ("convert", path, self.path("set"), "--format", "tfrecord")):
                    self.check_named(kind, data, *words)
                os.unlink(path)

    def check_named(self, kind, data, *words):
        """Checks that the command refuses the data, which is also in standard input, and names its compression."""
        with self.subTest(kind=kind, words=words):
            skip = () if words[0] in ("verify", "unpack") else ("--on-corrupt", "skip")
            done = sheaf(*words, *skip, data=data, status=1)
            self.assertIn(kind.encode(), done.stderr)
            self.assertIn(b"(magic ", done.stderr)
            self.assertNotIn(b"skipped", done.stderr)

    def test_large_blocks_are_known_from_a_pipe(self):
        """LZ4 returns nothing of a block, which has up to 4 MiB, before the whole block has arrived."""
        tar = tar_of(3, 3 << 19)
        for options in ((), ("-B7",), ("-B4", "-BD"), ("-9", "--no-frame-crc")):
            with self.subTest(options=options):
                data = lz4(tar, *options)
                write(self.path("noname"), data)
                self.assertEqual(len(listing("-", data=data)), 3)
                self.assertEqual(len(listing(self.path("noname"))), 3)

    def test_padding_and_skippable_frames(self):
        tar = tar_of()
        for data in (gzip.compress(tar) + bytes(10000), lz4(tar) + SKIPPABLE,
                     SKIPPABLE + lz4(tar[:1024]) + SKIPPABLE + lz4(tar[1024:]),
                     zstd(tar) + SKIPPABLE,
                     SKIPPABLE + zstd(tar[:1024]) + SKIPPABLE + zstd(tar[1024:])):
            write(self.path("x.tar.x"), data)
            self.assertEqual(len(listing(self.path("x.tar.x"))), 5)
            self.assertEqual(len(listing("-", data=data)), 5)
        sheaf("cat", "-", "--list", data=gzip.compress(tar) + bytes(100) + b"x", status=1)

    def test_a_shard_of_skippable_frames_alone(self):
        """An empty shard consists only of skippable frames. Its name says which codec they belong to."""
        for suffix, compress in ((".zst", zstd), (".lz4", lz4)):
            for empty in ("a", "c"):
                folder = self.path(suffix[1:] + empty)
                os.mkdir(folder)
                write(os.path.join(folder, "b.tfrecord" + suffix), compress(tfrecord([b"", b""])))
                write(os.path.join(folder, empty + ".tfrecord" + suffix), SKIPPABLE)
                self.assertEqual(len(listing(folder)), 2)

    def test_what_follows_the_last_member_costs_nothing_before_it(self):
        """This also holds if both are decompressed at the same time."""
        tar = tar_of()
        for codec in (gzip.compress, lz4, zstd):
            for junk in (b"junk and more of it", lz4(tar)[:-9].replace(b"\x04\x22", b"\x04\x23")):
                data = codec(tar) + junk
                write(self.path("x.tar.x"), data)
                for name in (self.path("x.tar.x"), "-"):
                    with self.subTest(codec=codec, name=name):
                        done = sheaf("cat", name, "--list", "--on-corrupt", "skip", data=data)
                        self.assertEqual(done.stdout.count(b"\n"), 5)
                        self.assertIn(b"1 corrupt record skipped", done.stderr)
                        self.assertIn(b", record 5: stored byte", done.stderr)
                        done = sheaf("cat", name, "--list", "--no-shuffle", data=data, status=1)
                        self.assertEqual(done.stdout.count(b"\n"), 5)

    def test_a_shard_of_nothing_known_is_no_empty_result(self):
        """This holds for any name of the shard."""
        for name in ("x.tar.grz", "x.tar", "x.tfrecord", "x.rec", "x.tar.gz"):
            junk = random.Random(1).randbytes(50000)
            path = self.path("in", name)
            write(path, gzip.compress(junk) if name.endswith("gz") else junk)
            for words in (("cat", path, "--list"), ("cat", path, "--null"),
                          ("unpack", path, self.path("out")),
                          ("convert", path, self.path("set"), "--format", "tfrecord")):
                with self.subTest(words=words):
                    done = sheaf(*words, "--on-corrupt", "skip", status=1)
                    self.assertIn(b"offset 0, record 0: ", done.stderr)
                    self.assertIn(b"no sample could be read", done.stderr)
            self.assert_nothing(self.path("set"))

    def test_zstd_of_every_level_and_mode(self):
        tar = tar_of(3, 1 << 18)
        for options in (("-1",), ("-19",), ("--fast=5",), ("-T2", "-B300K"), ("--no-check",),
                        ("--no-content-size",), ("--single-thread", "-9")):
            with self.subTest(options=options):
                data = zstd(tar, *options)
                write(self.path("noname"), data)
                self.assertEqual(len(listing("-", data=data)), 3)
                self.assertEqual(len(listing(self.path("noname"))), 3)

    def test_windows_of_more_than_8_MiB_are_refused(self):
        data = zstd(tar_of(), "--long=27")
        write(self.path("x.tar.zst"), data)
        for words in ((self.path("x.tar.zst"),), ("-",)):
            done = sheaf("cat", *words, "--list", "--on-corrupt", "skip", data=data, status=1)
            self.assertIn(b"window", done.stderr)

    def test_zstd_shards_are_zstds_own(self):
        """The zstd command and tar read a whole shard, and so do readers of its seek table."""
        files = {"%d.bin" % i: random.Random(i).randbytes(3 << 20) for i in range(5)}
        source = make_tree(self.path("in"), files)
        pack(source, self.path("set"), "webdataset", "zstd", "--shard-count", 1)
        [name] = shards_of(self.path("set"))
        shard = self.path("set", name)
        self.assertEqual(name, "shard-000000.tar.zst")
        self.assertGreater(len(decoders.zstd_frames(read(shard))), 2)
        subprocess.run(["zstd", "-t", "-q", shard], check=True)
        whole = subprocess.run(["zstd", "-dc", shard], check=True, stdout=subprocess.PIPE).stdout
        for program in (["tar", "--zstd"], ["bsdtar"]):
            names = subprocess.run([*program, "-tf", shard], check=True,
                                   stdout=subprocess.PIPE).stdout
            self.assertEqual(sorted(names.decode().split()), sorted(files), program)
        with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
            for name, data in files.items():
                self.assertTrue(tar.extractfile(name).read() == data)
        listed = listing(shard)
        self.assertEqual(len(listed), 5)            # read as a foreign stream, without the index
        for jobs in (1, 4):
            again = self.path("jobs%d" % jobs)
            pack(source, again, "webdataset", "zstd", "--shard-count", 1, "--jobs", jobs)
            self.assertTrue(read(os.path.join(again, "shard-000000.tar.zst")) == read(shard))
        sheaf("unpack", self.path("set"), self.path("out"))
        for name, data in files.items():
            self.assertTrue(read(self.path("out", name)) == data)

    def test_lists_may_be_compressed(self):
        source = make_tree(self.path("in"), {"a.txt": b"a", "b.txt": b"b"})
        text = b"a.txt,1\nb.txt,0\n"
        write(self.path("list.csv"), text)
        for suffix, compress in (("", bytes), (".gz", gzip.compress), (".lz4", lz4),
                                 (".zst", zstd)):
            write(self.path("list.csv" + suffix), compress(text))
            sheaf("pack", self.path("list.csv" + suffix), self.path("set" + suffix), "--root",
                  source, "--format", "tfrecord")
            self.assertEqual(listing(self.path("set" + suffix)), listing(self.path("set")))
