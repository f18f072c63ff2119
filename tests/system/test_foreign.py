# SPDX-License-Identifier: MIT
"""Shards of other programs, in all dialects of the formats, named in every possible way."""

import gzip
import os
import struct
import subprocess
import tarfile

import libsheaf
import writers
from jpegs import jpeg
from order_reference import epoch_order
from support import Case, listing, make_tree, read, sheaf, tree_of, write

IMAGE = jpeg(seed=1)
MEMBERS = [("a/1.jpg", IMAGE), ("a/1.cls", b"3"), ("a/2.jpg", jpeg(seed=2)), ("a/2.cls", b"4\n"),
           ("b/3.seg.png", b"\x89PNG\r\n\x1a\n...")]
LINES = ["a/1\t3\tcls:1\tjpg:%d" % len(IMAGE), "a/2\t4\tcls:2\tjpg:%d" % len(MEMBERS[2][1]),
         "b/3\t\tseg.png:11"]


def lines_of(text):
    """Returns the lines of a listing, with the fields of each line in a fixed order."""
    return ["\t".join(l.split("\t")[:2] + sorted(l.split("\t")[2:])) for l in text]


class Foreign(Case):
    def shard(self, data, name="x.tar"):
        path = self.path(name)
        write(path, data)
        return path

    def lines(self, data, name="x.tar"):
        """Returns the listing of a shard. It must be the same from a file and from a stream."""
        found = listing(self.shard(data, name), "--no-shuffle")
        stream = sheaf("cat", "-", "--list", "--no-shuffle", data=data).stdout.decode()
        # in these containers, keys do not depend on the name of the shard
        if name.endswith((".tar", ".tar.gz", ".tar.lz4")):
            self.assertEqual(stream.splitlines(), found)
        else:
            self.assertEqual(stream.count("\n"), len(found))
        return lines_of(found)

    def refused(self, data, name="x.tar"):
        done = sheaf("cat", self.shard(data, name), "--list", "--no-shuffle", status=1)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        sheaf("cat", "-", "--list", "--no-shuffle", data=data, status=1)
        return done.stderr.decode()


class Tar(Foreign):
    def test_each_dialect(self):
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            with self.subTest(form=form):
                self.assertEqual(self.lines(writers.tar(MEMBERS, form)), LINES)

    def test_long_names(self):
        name = "/".join(["d" * 60] * 5) + "/" + "k" * 120
        for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            data = writers.tar([(name + ".jpg", IMAGE), (name + ".cls", b"1"), ("z.txt", b"z")],
                               form)
            self.assertEqual(self.lines(data), [name + "\t1\tcls:1\tjpg:%d" % len(IMAGE),
                                                "z\t\ttxt:1"])

    def test_long_names_in_ustar(self):
        name = "d" * 90 + "/" + "k" * 90
        data = writers.tar([(name + ".txt", b"t")], tarfile.USTAR_FORMAT)
        self.assertEqual(self.lines(data), [name + "\t\ttxt:1"])

    def test_names_that_are_not_ascii(self):
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            self.assertEqual(self.lines(writers.tar([("ü/日本.txt", b"t")], form)),
                             ["ü/日本\t\ttxt:1"])

    def test_pax_headers_of_members_and_of_all(self):
        local = tarfile.TarInfo("short.txt")
        local.pax_headers = {"path": "from/pax.txt", "comment": "x" * 2000, "mtime": "1.5"}
        for more in (None, {"comment": "global", "mtime": "3.25"}):
            data = writers.tar([local, ("b/2.txt", b"2")], tarfile.PAX_FORMAT, more)
            self.assertEqual(self.lines(data), ["from/pax\t\ttxt:0", "b/2\t\ttxt:1"])

    def test_pax_size_wins(self):
        """The size in the header is 0, and the size in the pax record is right."""
        record = b"10 size=5\n"
        data = (writers.tar_member(b"PaxHeaders/x", record, kind=b"x") +
                writers.tar_header(b"a/1.txt", 0) + b"hello" + bytes(507) + bytes(1024))
        self.assertEqual(self.lines(data), ["a/1\t\ttxt:5"])

    def test_global_pax_path_or_size_does_not_break_the_walk(self):
        record = b"16 comment=abcd\n"
        data = (writers.tar_member(b"g", record, kind=b"g") +
                writers.tar_member(b"a/1.txt", b"1") + bytes(1024))
        self.assertEqual(self.lines(data), ["a/1\t\ttxt:1"])

    def test_base_256_sizes(self):
        data = writers.tar_member(b"a/1.txt", b"hello", base256=True) + bytes(1024)
        self.assertEqual(self.lines(data), ["a/1\t\ttxt:5"])

    def test_old_v7_headers(self):
        head = bytearray(writers.tar_header(b"a/1.txt", 5, kind=b"\0"))
        head[257:265] = bytes(8)
        head[148:156] = b" " * 8
        head[148:156] = b"%06o\0 " % sum(head)
        self.assertEqual(self.lines(bytes(head) + b"hello" + bytes(507) + bytes(1024)),
                         ["a/1\t\ttxt:5"])

    def test_directories_and_links_are_passed_over(self):
        members = []
        for name, kind, target in (("a", tarfile.DIRTYPE, ""), ("a/l.jpg", tarfile.SYMTYPE, "x"),
                                   ("a/h.jpg", tarfile.LNKTYPE, "a/1.jpg"),
                                   ("a/f.jpg", tarfile.FIFOTYPE, ""),
                                   ("a/c.jpg", tarfile.CHRTYPE, ""),
                                   ("a/" + "t" * 150 + ".jpg", tarfile.SYMTYPE, "t" * 150)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            members.append(info)
        for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            self.assertEqual(self.lines(writers.tar(members + MEMBERS, form)), LINES)

    def test_concatenated_archives(self):
        """With blocks of zeros between the archives, padded or not, nothing after them is lost."""
        parts = [writers.tar(MEMBERS[:2]), writers.tar(MEMBERS[2:4], padded=False),
                 writers.tar(MEMBERS[4:])]
        self.assertEqual(self.lines(b"".join(parts)), LINES)

    def test_dot_slash(self):
        found = self.lines(writers.tar([("./a/1.jpg", IMAGE), ("./a/1.cls", b"3")]))
        self.assertEqual(found[0].split("\t")[1:], LINES[0].split("\t")[1:])

    def test_upper_case_suffixes(self):
        found = self.lines(writers.tar([("a/1.JPG", IMAGE)]))
        self.assertEqual(found, ["a/1\t\tjpg:%d" % len(IMAGE)])
        sheaf("unpack", self.path("x.tar"), self.path("out"))
        self.assertEqual(list(tree_of(self.path("out"))), ["a/1.JPG"])

    def test_an_archive_of_nothing(self):
        self.assertEqual(self.lines(bytes(1024)), [])
        self.assertEqual(self.lines(bytes(10240)), [])

    def test_one_zero_block_is_no_end(self):
        data = writers.tar(MEMBERS, padded=False)
        self.refused(data[:-512])

    def test_names_that_webdataset_passes_over_are_not_lost_silently(self):
        """Such a name gives either an error that names it, or a sample. It is never lost silently."""
        for name in ("README", "a/.hidden", "__meta__.json"):
            data = writers.tar([(name, b"data"), ("a/1.txt", b"1")])
            done = sheaf("cat", self.shard(data), "--list", "--no-shuffle", status=None)
            self.assertIn("a/1", done.stdout.decode() + done.stderr.decode())

    def test_what_is_not_understood_is_an_error(self):
        sparse = writers.tar_member(b"a/1.txt", b"12345", kind=b"S") + bytes(1024)
        self.refused(sparse)
        negative = bytearray(writers.tar_header(b"a/1.txt", 5))
        negative[124:136] = b"-0000000005\0"
        negative[148:156] = b" " * 8
        negative[148:156] = b"%06o\0 " % sum(negative)
        self.refused(bytes(negative) + b"hello" + bytes(507) + bytes(1024))
        huge = writers.tar_header(b"a/1.txt", 1 << 60, base256=True)
        self.refused(huge + bytes(1024))

    def test_same_key_again_later(self):
        """Two samples with one key that are not adjacent are both whole. webdataset's readers also return two
        samples."""
        data = writers.tar([("a.txt", b"1"), ("b.txt", b"2"), ("a.txt", b"3")])
        done = sheaf("cat", self.shard(data), "--list", "--no-shuffle", status=None)
        if done.returncode == 0:
            self.assertEqual(done.stdout.decode().splitlines(),
                             ["a\t\ttxt:1", "b\t\ttxt:1", "a\t\ttxt:1"])

    def test_the_same_field_twice_in_a_sample(self):
        self.refused(writers.tar([("a.txt", b"1"), ("a.txt", b"2")]))

    def test_a_sample_of_too_many_fields_is_not_lost_silently(self):
        members = [("a.txt", b"a"), ("b.txt", b"b")]
        members += [("c.f%d" % i, b"c") for i in range(1100)] + [("d.txt", b"d"), ("e.txt", b"e")]
        path = self.shard(writers.tar(members))
        for command in (["cat", path, "--list"], ["cat", path, "--null"], ["cat", path],
                        ["convert", path, self.path("out"), "--format", "tfrecord"]):
            error = sheaf(*command, status=1).stderr.decode()
            self.assertIn("record 2: the sample has more than 1024 fields", error)
            self.assertIn(path, error)
        done = sheaf("cat", path, "--list", "--no-shuffle", "--on-corrupt", "skip")
        self.assertEqual([l.split(b"\t")[0] for l in done.stdout.splitlines()],
                         [b"a", b"b", b"d", b"e"])
        self.assertIn(b"1 corrupt record skipped", done.stderr)

    def test_unpack_never_leaves_its_directory(self):
        for name in ("../out.txt", "/tmp/sheaf-escape.txt", "a/../../out.txt", "a/./b.txt",
                     "..", "a//b.txt"):
            data = writers.tar([("ok.txt", b"ok"), (name, b"evil")], tarfile.GNU_FORMAT)
            target = self.path("in", "there")
            sheaf("unpack", self.shard(data), target, status=None)
            for path in tree_of(self.path("in")):
                self.assertTrue(path.startswith("there/"), path)
            self.assertFalse(os.path.exists("/tmp/sheaf-escape.txt"))
            self.assertNotIn("out.txt", os.listdir(self.folder))

    def test_unpack_does_not_follow_links_out(self):
        os.makedirs(self.path("out"))
        os.makedirs(self.path("elsewhere"))
        os.symlink(self.path("elsewhere"), self.path("out", "a"))
        os.symlink(self.path("elsewhere", "new.txt"), self.path("out", "b.txt"))
        for name in ("a/1.txt", "b.txt"):
            sheaf("unpack", self.shard(writers.tar([(name, b"x")])), self.path("out"), status=1)
        self.assertEqual(os.listdir(self.path("elsewhere")), [])

    def test_unpack_takes_no_url_for_a_directory(self):
        done = sheaf("unpack", self.shard(writers.tar([("a.txt", b"x")])), "s3://bucket/out",
                     status=2)
        self.assert_error(done, "local directory")

    def test_unpack_overwrites_nothing(self):
        write(self.path("out", "a.txt"), b"mine")
        sheaf("unpack", self.shard(writers.tar([("a.txt", b"theirs")])), self.path("out"),
              status=1)
        self.assertEqual(read(self.path("out", "a.txt")), b"mine")


class TFRecord(Foreign):
    def fields(self, payloads, **options):
        path = self.shard(writers.tfrecord(payloads), "x.tfrecord")
        return [(s.key, s.fields, s.labels) for s in libsheaf.samples(path, no_shuffle=1,
                                                                      **options)]

    def test_slim_image(self):
        features = {"image/encoded": [IMAGE], "image/format": [b"JPEG"],
                    "image/filename": [b"n01/n01_1.JPEG"], "image/class/label": [17],
                    "image/height": [16], "image/width": [16], "image/class/text": [b"dog"]}
        for packed in (True, False):
            ((key, fields, labels),) = self.fields([writers.example(features, packed)])
            self.assertEqual((key, labels), ("n01/n01_1", [17]))
            self.assertEqual(fields["JPEG"], IMAGE)

    def test_without_a_file_name(self):
        ((key, fields, labels),) = self.fields([writers.example(
            {"image/encoded": [IMAGE], "image/class/label": [2.5]})])
        self.assertEqual((key, labels), ("x/00000000", [2.5]))
        self.assertEqual(fields["jpg"], IMAGE)

    def test_other_features(self):
        ((key, fields, labels),) = self.fields([writers.example(
            {"text": [b"hello"], "numbers": [1, -2, 3], "scores": [0.5, 0.25],
             "words": [b"a", b"b"]})])
        self.assertEqual(fields, {"text": b"hello", "numbers": b"1 -2 3", "scores": b"0.5 0.25",
                                  "words": b"a\nb"})
        self.assertEqual(labels, [])

    def test_payloads_that_are_no_example(self):
        payloads = [b"plain text", b"\xff" * 20, bytes(100), b"\x0a"]
        found = self.fields(payloads)
        self.assertEqual([f for _, f, _ in found], [{"data": p} for p in payloads])
        self.assertEqual([k for k, _, _ in found], ["x/%08u" % i for i in range(4)])

    def test_empty_payload_and_empty_example(self):
        found = self.fields([b"", writers.example({})])
        self.assertEqual(len(found), 2)

    def test_order_of_features_does_not_matter(self):
        ((_, fields, labels),) = self.fields([writers.example(
            {"z": [b"1"], "image/class/label": [1], "a": [b"2"]})])
        self.assertEqual((fields, labels), ({"z": b"1", "a": b"2"}, [1]))

    def test_truncated_inside(self):
        data = writers.tfrecord([b"x" * 100, b"y" * 100])
        for size in (1, 11, 12, 50, 115, 117, 231):
            self.refused(data[:size], "x.tfrecord")

    def test_huge_length_is_refused_without_allocating_it(self):
        head = struct.pack("<Q", 1 << 50)
        data = head + struct.pack("<I", writers.masked(writers.crc32c(head))) + bytes(100)
        self.refused(data, "x.tfrecord")

    def test_zeros_are_damage(self):
        """A file of zeros was never written to its end. Only a tar of zeros is an archive without members."""
        good = self.shard(writers.tfrecord([writers.example({"x": [1]})]), "zeros/a.tfrecord")
        for name, words in (("b.tfrecord", "stored CRC 00000000"), ("B.TFRECORD", "stored CRC 00000000"),
                            ("c.rec", "found 00000000"), ("d.tfrecord-00000-of-00002", "stored CRC 00000000")):
            path = self.shard(bytes(8192), "zeros/" + name)
            for command in "cat", "verify":
                done = sheaf(command, path, status=1)
                self.assertIn(words.encode(), done.stdout + done.stderr)
            sheaf("convert", os.path.dirname(good), self.path("none"), "--format", "webdataset", status=1)
            os.unlink(path)
        self.assertEqual(listing(self.shard(bytes(10240), "e.tar")), [])

    def test_an_empty_file(self):
        self.assertEqual(listing(self.shard(b"", "x.tfrecord")), [])


class RecordIO(Foreign):
    def samples(self, payloads):
        path = self.shard(writers.recordio(payloads), "x.rec")
        return [(s.key, s.fields, s.labels) for s in libsheaf.samples(path, no_shuffle=1)]

    def test_images(self):
        found = self.samples([writers.image_record(IMAGE, 3.0, record_id=9),
                              writers.image_record(IMAGE, 0.5, record_id=9)])
        self.assertEqual(found, [("x/00000000", {"jpg": IMAGE}, [3]),
                                 ("x/00000001", {"jpg": IMAGE}, [0.5])])

    def test_vector_labels(self):
        found = self.samples([writers.image_record(IMAGE, 0.0, (1.0, 2.0, 0.25)),
                              writers.image_record(IMAGE, 7.0, (7.0,))])
        self.assertEqual([labels for _, _, labels in found], [[1, 2, 0.25], [7]])

    def test_embedded_magic(self):
        for offset in range(9):
            content = IMAGE + bytes(-len(IMAGE) % 4) + b"z" * offset + writers.MAGIC * 3 + b"end"
            ((_, fields, _),) = self.samples([writers.image_record(content)])
            self.assertEqual(fields["jpg"], content)
        for content in (writers.MAGIC, writers.MAGIC * 2, b"abcd" + writers.MAGIC):
            ((_, fields, _),) = self.samples([content])
            self.assertEqual(list(fields.values()), [content])

    def test_kinds_of_content(self):
        kinds = {"png": b"\x89PNG\r\n\x1a\n123", "gif": b"GIF89a123",
                 "bmp": b"BM" + struct.pack("<IHHI", 30, 0, 0, 26) + bytes(16),
                 "webp": b"RIFF\x10\0\0\0WEBPVP8 ", "npy": b"\x93NUMPY\x01\0v\0"}
        for name, content in kinds.items():
            ((_, fields, labels),) = self.samples([writers.image_record(content, 5.0)])
            self.assertEqual((fields, labels), ({name: content}, [5]))

    def test_the_beginning_of_a_signature_is_no_image(self):
        for content in (b"GIF8", b"GIF88a123", b"GIF87b123", b"RIFF\x10\0\0\0WEB", b"BM" + bytes(28), b"\x93NUMP",
                        b"\x89PNG\r\n\x1a123", b"\xff\xd8123"):
            ((_, fields, labels),) = self.samples([writers.image_record(content, 5.0)])
            self.assertEqual((list(fields), labels), (["data"], []), content)

    def test_anything_else_is_one_field(self):
        ((_, fields, labels),) = self.samples([b"just bytes, no header at all, not an image"])
        self.assertEqual((fields, labels),
                         ({"data": b"just bytes, no header at all, not an image"}, []))

    def test_broken_framing(self):
        good = writers.recordio([writers.image_record(IMAGE)] * 2)
        part = writers.recordio_part
        for data in (good + b"\0\0\0\0", good[:-4], part(1, b"abcd") + part(0, b"ab"),
                     part(2, b"abcd"), part(3, b"abcd"), part(1, b"abcd"), part(4, b"abcd"),
                     part(1, b"abcd") + part(2, b"abcd"), good + b"\x0a\x23\xd7"):
            self.refused(data, "x.rec")


class Codecs(Foreign):
    SHARDS = {"x.tar": writers.tar(MEMBERS),
              "x.tfrecord": writers.tfrecord([writers.example({"a": [b"1"]})] * 3),
              "x.rec": writers.recordio([writers.image_record(IMAGE)] * 3)}

    def test_compressed_by_others(self):
        for name, data in self.SHARDS.items():
            plain = self.lines(data, name)
            half = len(data) // 3       # a cut that is not at any boundary
            for packed, suffix in (
                    (gzip.compress(data), ".gz"), (writers.lz4(data), ".lz4"),
                    (gzip.compress(data[:half]) + gzip.compress(data[half:]), ".gz"),
                    (writers.lz4(data[:half], "-BD") + writers.lz4(data[half:]), ".lz4"),
                    (writers.lz4(data, "-B4", "--no-frame-crc"), ".lz4"),
                    (writers.lz4(data, "-9", "-BX", "--content-size"), ".lz4"),
                    (writers.zstd(data), ".zst"),
                    (writers.zstd(data[:half]) + writers.zstd(data[half:]), ".zst"),
                    (gzip.compress(data, 0), ".gz"),
                    (gzip.compress(data) + gzip.compress(b""), ".gz")):
                self.assertEqual(self.lines(packed, name + suffix), plain)
                # The container is detected from the content, for any name.
                self.assertEqual(listing(self.shard(packed, name), "--no-shuffle"),
                                 listing(self.shard(data, name), "--no-shuffle"))

    def test_gzip_with_all_header_fields(self):
        data = self.SHARDS["x.tar"]
        body = gzip.compress(data)
        head = bytearray(body[:10])
        head[3] = 4 | 8 | 16
        extra = struct.pack("<H", 6) + b"ab\x02\0xy" + b"name.tar\0" + b"a comment\0"
        self.assertEqual(self.lines(bytes(head) + extra + body[10:], "x.tar.gz"), LINES)

    def test_rubbish_after_the_last_member_is_an_error(self):
        data = self.SHARDS["x.tar"]
        for packed, suffix in ((gzip.compress(data), ".gz"), (writers.lz4(data), ".lz4"),
                               (writers.zstd(data), ".zst")):
            self.refused(packed + b"rubbish", "x.tar" + suffix)

    def test_what_is_no_shard_at_all(self):
        for data in (b"hello world, this is text\n" * 100, bytes(range(256)) * 8, b"PK\x03\x04",
                     b"\x1f\x8b", b"\x1f\x8b\x08\0\0\0\0\0\0\x03"):
            self.refused(data, "x.unknown")

    def test_other_files_are_named_as_what_they_are(self):
        lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 12345\n"
        for data, words in (
                (lfs, "a pointer file of Git LFS"),
                (b"\n<!DOCTYPE html><html>404</html>", "a web page"),
                (b"<html>404</html>", "a web page"), (b"<?xml version='1.0'?><Error/>", "XML"),
                (b'{"error": "denied"}', "JSON"), (b"/annex/objects/SHA256E-s1", "git-annex"),
                (b"outs:\n- md5: 1\n", "DVC"), (b"PAR1" + bytes(100), "Parquet"),
                (b"\x93NUMPY\1\0" + bytes(200), "NumPy"), (b"PK\3\4" + bytes(2000), "zip"),
                (jpeg(seed=1), "a JPEG image"), (b"label,path\n1,a\n" * 100, "a text file"),
                (b"\xff\6\0\0sNaPpY" + bytes(900), "compressed by snappy")):
            for suffix in (".tar", ".tfrecord", ".rec"):
                done = sheaf("cat", self.shard(data, "x" + suffix), "--list", status=1)
                self.assert_error(done, "x" + suffix, words, "expected a")
            for packed in (data, gzip.compress(data)):
                done = sheaf("pack", self.shard(packed, "x.tar"), self.path("none"), "--format",
                             "webdataset", status=1)
                if b"sNaPpY" not in data and data[:2] != b"PK":     # a zip is an archive
                    self.assert_error(done, "x.tar", words, "expected a tar or zip")
        tree = self.path("tree")
        write(self.path("tree/c/1.jpg"), lfs)
        done = sheaf("pack", tree, self.path("none"), "--format", "webdataset", status=1)
        self.assert_error(done, "c/1.jpg: not a JPEG: it is a pointer file of Git LFS")

    def test_what_lies_in_place_of_other_files(self):
        lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d%s\nsize 12345\n" % (b"0" * 62)
        out = self.path("set")
        sheaf("pack", make_tree(self.path("tree"), {"c/1.txt": b"1", "c/2.txt": b"2"}), out,
              "--format", "webdataset")
        for data, words in ((lfs, "it is a pointer file of Git LFS"),
                            (b"<!DOCTYPE html>" + b"<p>Sign in</p>" * 20, "it is a web page")):
            given = self.shard(data, "given.jsonl")
            for name, expected, command in (
                    ("dataset.json", "a manifest", ("info", out)),
                    ("dataset.json", "a manifest", ("cat", out, "--list")),
                    ("dataset.index", "a file of the data set", ("cat", out, "--list", "--no-shuffle")),
                    ("shard-000000.tar", "a file of the data set", ("cat", out, "--list", "--no-shuffle")),
                    ("dataset.keys", "a table of keys", ("get", out, "c/1"))):
                with self.subTest((words, name, command)):
                    path = os.path.join(out, name)
                    kept = read(path)
                    write(path, data)
                    self.assert_error(sheaf(*command, status=1), name, words, "expected " + expected)
                    write(path, kept)
            for expected, command in (
                    ("a list", ("edit", out, "--labels", given)), ("a list", ("edit", out, "--delete", given)),
                    ("a list", ("column", "add", out, "--name", "cap", "--from", given)),
                    ("a list", ("pack", given, self.path("none"), "--format", "webdataset")),
                    ("a list of classes", ("pack", self.path("tree"), self.path("none"), "--format", "webdataset",
                                           "--classes", given))):
                with self.subTest((words, command)):
                    self.assert_error(sheaf(*command, status=1), "given.jsonl: " + words, "expected " + expected)
        given = self.shard(b"PAR1" + bytes(100), "given.csv")
        done = sheaf("pack", given, self.path("none"), "--format", "webdataset", status=1)
        self.assert_error(done, "given.csv: it is a Parquet file, expected a list")


class Naming(Foreign):
    """The ways to name foreign shards."""

    def setUp(self):
        super().setUp()
        self.all = []
        for i in range(4):
            members = [("s%d/%d.txt" % (i, j), b"%d" % j) for j in range(3)]
            write(self.path("d", "train-%06d.tar" % i), writers.tar(members))
            self.all += ["s%d/%d\t\ttxt:1" % (i, j) for j in range(3)]

    def test_directory(self):
        self.assertEqual(listing(self.path("d"), "--no-shuffle"), self.all)

    def test_brace_pattern(self):
        pattern = self.path("d", "train-{000000..000003}.tar")
        self.assertEqual(listing(pattern, "--no-shuffle"), self.all)
        pattern = self.path("d", "train-{000001..000002}.tar")
        self.assertEqual(listing(pattern, "--no-shuffle"), self.all[3:9])

    def test_wildcards(self):
        write(self.path("d", "train-000000.tar.idx"), b"an index of another reader")
        write(self.path("d", ".train-000004.tar"), b"hidden")
        self.assertEqual(listing(self.path("d", "train-*.tar"), "--no-shuffle"), self.all)
        self.assertEqual(listing(self.path("d", "train*"), "--no-shuffle"), self.all)
        self.assertEqual(listing("train-00000[12].ta?", "--no-shuffle", cwd=self.path("d")),
                         self.all[3:9])
        done = sheaf("cat", self.path("d", "test-*.tar"), "--list", status=1)
        self.assert_error(done, "test-*.tar: no shard matches")

    def test_a_name_with_wildcards_that_is_a_file(self):
        write(self.path("d", "train-[12].tar"), writers.tar(MEMBERS))
        done = sheaf("cat", self.path("d", "train-[12].tar"), "--list")
        self.assertEqual(done.stdout.count(b"\n"), 3)

    def test_lists_of_webdataset(self):
        """Braces with commas, ranges of letters and ranges with steps, nested braces, and "::"."""
        names = ["%s-%02d.tar" % (word, i) for word in ("a", "b", "val") for i in (0, 2, 3)]
        for name in names:
            write(self.path("w/" + name), writers.tar([(name[:-4] + ".txt", name.encode())]))

        def found(*sources):
            return [line.split("\t")[0] for line in
                    listing(*(s.replace("W", self.path("w")) for s in sources), "--no-shuffle")]

        for pattern, wanted in (
                ("W/a-{00,02,03}.tar", ["a-00", "a-02", "a-03"]),
                ("W/{val,a}-00.tar", ["val-00", "a-00"]),
                ("W/{a,val}-{02..03}.tar", ["a-02", "a-03", "val-02", "val-03"]),
                ("W/{a..b}-00.tar", ["a-00", "b-00"]), ("W/a-{00..03..2}.tar", ["a-00", "a-02"]),
                ("W/{a-{00,03},val-02}.tar", ["a-00", "a-03", "val-02"]),
                ("W/a-00.tar::W/b-02.tar", ["a-00", "b-02"]),
                ("W/a-0{0,2}.tar::W/val-*.tar", ["a-00", "a-02", "val-00", "val-02", "val-03"])):
            with self.subTest(pattern):
                self.assertEqual(sorted(found(pattern)), sorted(wanted))
                write(self.path("list.txt"), "".join(
                    part.replace("W", self.path("w")) + "\n"
                    for part in pattern.split("::")).encode())
                if "*" not in pattern:
                    self.assertEqual(sorted(found("@" + self.path("list.txt"))), sorted(wanted))
        write(self.path("w/x,{y::z.tar"), writers.tar([("odd.txt", b"1")]))
        self.assertEqual(found("W/x,{y::z.tar"), ["odd"])
        for pattern, word in (("W/{a,none}-00.tar", "none-00.tar"), ("W/a-{3..1}.tar", "range"),
                              ("W/a-00.tar::::W/b-00.tar", "::"), ("W/{a,b.tar", "{a,b.tar")):
            done = sheaf("cat", pattern.replace("W", self.path("w")), "--list", status=None)
            self.assert_error(done, word)
        sheaf("convert", self.path("w/a-{00,02}.tar"), self.path("one"), "--format", "tfrecord")
        sheaf("convert", self.path("w/val-00.tar"), self.path("two"), "--format", "tfrecord")
        self.assertEqual(sorted(found(self.path("one") + "::" + self.path("two"))),
                         ["a-00", "a-02", "val-00"])

    def test_brace_pattern_with_one_missing(self):
        done = sheaf("cat", self.path("d", "train-{000003..000004}.tar"), "--list", status=1)
        self.assert_error(done, "train-000004.tar")

    def test_a_link_to_nothing_is_named_and_not_passed_over(self):
        """Links like those that git-annex, DVC and the cache of the Hugging Face hub leave."""
        folder = self.path("links")
        write(self.path("links/t-0.tar"), writers.tar(MEMBERS))
        os.symlink("../blobs/x", self.path("links/t-1.tar"))
        os.symlink("nowhere.md", self.path("links/NOTES.md"))       # not the name of a shard
        words = ("links/t-1.tar", "a symbolic link to ../blobs/x")
        for source in (folder, self.path("links/t-*.tar"), self.path("links/t-{0..1}.tar"),
                       self.path("links/t-1.tar")):
            for command in (("cat", source, "--list"), ("verify", source), ("info", source),
                            ("convert", source, self.path("none"), "--format", "tfrecord")):
                self.assert_error(sheaf(*command, status=None), *words)
        self.assert_error(sheaf("index", folder, status=1), *words)
        self.assert_nothing(folder)
        os.unlink(self.path("links/t-1.tar"))
        sheaf("index", folder)
        for name in ("dataset.json", "t-0.tar"):
            with self.subTest(name):
                os.rename(os.path.join(folder, name), self.path("away"))
                os.symlink("gone", os.path.join(folder, name))
                self.assert_error(sheaf("cat", folder, "--list", status=1), name, "link to gone")
                os.rename(self.path("away"), os.path.join(folder, name))
        self.assertEqual(len(listing(folder)), 3)

    def test_list(self):
        write(self.path("d", "list"), b"train-000002.tar\ntrain-000000.tar\n")
        cwd = self.path("d")
        found = listing("@list", "--no-shuffle", cwd=cwd)
        self.assertEqual(found, self.all[6:9] + self.all[:3])

    def test_what_lies_beside_them(self):
        for name in ("train.py", "job.sbatch", "slurm-7.out", "state.pt", "_SUCCESS", "README"):
            write(self.path("d", name), b"no shard")
        self.assertEqual(listing(".", "--no-shuffle", cwd=self.path("d")), self.all)
        write(self.path("d", "a.bin"), b"no shard")
        done = sheaf("info", ".", cwd=self.path("d"), status=1)
        self.assert_error(done, "a.bin: not a TFRecord", "name the shards alone, such as "
                          "'train-*.tar'")
        os.unlink(self.path("d", "a.bin"))
        for name in ("train-*.tar", "train-000000.tar", "train-{000000..000003}.tar"):
            done = sheaf("index", name, cwd=self.path("d"), status=2)
            self.assert_error(done, "names shards, expected their directory")
        sheaf("index", ".", cwd=self.path("d"))
        sheaf("verify", ".", cwd=self.path("d"))

    def test_several(self):
        found = listing(self.path("d", "train-000003.tar"), self.path("d", "train-000001.tar"),
                        "--no-shuffle")
        self.assertEqual(found, self.all[9:] + self.all[3:6])

    def test_a_name_with_braces_or_at_that_is_a_file(self):
        for name in ("{x}.tar", "a{0..1}b.tar"):
            write(self.path(name), writers.tar(MEMBERS))
            done = sheaf("cat", self.path(name), "--list", status=None)
            if done.returncode == 0:
                self.assertEqual(done.stdout.count(b"\n"), 3)

    def test_nothing_there(self):
        os.mkdir(self.path("empty"))
        for source in (self.path("empty"), self.path("missing"), self.path("missing.tar"),
                       "@" + self.path("missing"), self.path("{5..2}.tar")):
            done = sheaf("cat", source, "--list", status=None)
            self.assertIn(done.returncode, (1, 2), source)
            self.assertEqual(done.stderr.count(b"\n"), 1)

    def test_mixed_containers_are_refused_or_read(self):
        write(self.path("d", "x.tfrecord"), writers.tfrecord([b"x"]))
        done = sheaf("cat", self.path("d"), "--list", status=None)
        if done.returncode == 0:
            self.assertEqual(done.stdout.count(b"\n"), 13)

    def test_order_of_foreign_shards_is_the_contract_s(self):
        found = listing(self.path("d"), "--seed", 5, "--epoch", 3, "--shuffle-buffer", 4)
        self.assertEqual(found, [self.all[i] for i in
                                 epoch_order([3] * 4, seed=5, epoch=3, buffer=4)])

    def test_a_fifo_is_a_stream(self):
        """A FIFO, as in `sheaf cat <(command)`."""
        os.mkfifo(self.path("fifo"))
        write(self.path("x.tar"), writers.tar(MEMBERS))
        writer = subprocess.Popen(["sh", "-c", "exec cat x.tar >fifo"], cwd=self.folder)
        try:
            found = listing(self.path("fifo"), "--no-shuffle")
        finally:
            writer.kill()
            writer.wait()
        self.assertEqual(lines_of(found), LINES)
