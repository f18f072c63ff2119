# SPDX-License-Identifier: MIT
"""Tests tars of other programs with members that cannot be read or belong to no sample. A lost sample must be reported,
and the samples beside it must be returned."""

import gzip
import io
import shutil
import tarfile

import writers
from support import Case, flip, listing, sheaf, tree_of, write

SKIP = ("--on-corrupt", "skip")
END = bytes(1024)


def member(name, data=b"data", **how):
    return writers.tar_member(name, data, **how)


def with_links():
    """Returns a tar with three samples, and with a link, a device and a directory between, before and after them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, kind in (("d", tarfile.DIRTYPE), ("d/1.txt", None), ("d/1.jpg", tarfile.SYMTYPE),
                           ("d/2.txt", None), ("d/2.png", tarfile.FIFOTYPE), ("d/3.txt", None),
                           ("d/README", None)):
            info = tarfile.TarInfo(name)
            info.type = kind or tarfile.REGTYPE
            info.size = 0 if kind else 5
            tar.addfile(info, None if kind else io.BytesIO(b"words"))
    return out.getvalue()


class OddTars(Case):
    def found(self, data, *options, name="x.tar", status=0):
        """Lists a tar as a file and as a stream, with the same result. Returns the keys and the messages."""
        write(self.path(name), data)
        done = sheaf("cat", self.path(name), "--list", "--no-shuffle", *options, status=status)
        stream = sheaf("cat", "-", "--list", "--no-shuffle", *options, data=data, status=status)
        if status == 0:
            self.assertEqual(stream.stdout, done.stdout)
        self.assertEqual(stream.stderr.replace(b": -: ", b": x: "),
                         done.stderr.replace(self.path(name).encode(), b"x"))
        return ([line.split("\t")[0] for line in done.stdout.decode().splitlines()],
                done.stderr.decode())

    def only_that_sample(self, bad, reason):
        """Puts a bad member between two intact samples and between other members of its own sample. Only its sample
        must be lost."""
        data = (member(b"a/1.txt") + member(b"a/2.aaa") + bad + member(b"a/2.zzz") +
                member(b"a/3.txt") + END)
        for codec in (bytes, gzip.compress):
            keys, said = self.found(codec(data), *SKIP)
            self.assertEqual(keys, ["a/1", "a/3"])
            self.assertRegex(said, r"skipped: .*offset 1024, record 1: .*" + reason)
            self.assertIn("1 corrupt record skipped", said)
        _, said = self.found(data, status=1)
        self.assertRegex(said, r"offset 1024, record 1: .*" + reason)
        for words in (("index", self.path()), ("verify", self.path("x.tar")),
                      ("unpack", self.path("x.tar"), self.path("out")),
                      ("convert", self.path("x.tar"), self.path("set"), "--format", "tfrecord")):
            done = sheaf(*words, status=1)
            self.assertRegex(done.stderr.decode(), r"x\.tar: offset 1024, record 1: .*" + reason)
        sheaf("convert", self.path("x.tar"), self.path("good"), "--format", "tfrecord", *SKIP)
        self.assertEqual(sheaf("cat", self.path("good"), "--list").stdout.count(b"\n"), 2)
        for name in ("out", "set", "good"):
            self.remove(name)

    def remove(self, name):
        shutil.rmtree(self.path(name), ignore_errors=True)

    def test_names_that_are_no_text(self):
        for name in (b"a/2.caf\xe9.txt", b"a/2.tab\there.txt", b"a/2.new\nline"):
            with self.subTest(name=name):
                self.only_that_sample(member(name), r"member \"a/2\..*\?.*\": the name")

    def test_a_key_that_is_no_text(self):
        data = member(b"a/1.txt") + member(b"a/caf\xe9.txt") + member(b"a/3.txt") + END
        keys, said = self.found(data, *SKIP)
        self.assertEqual(keys, ["a/1", "a/3"])
        self.assertIn('member "a/caf?.txt": the name is not valid UTF-8', said)

    def test_sparse_files(self):
        self.only_that_sample(member(b"a/2.bin", kind=b"S"), "sparse file")
        pax = member(b"PaxHeader", b"22 GNU.sparse.major=1\n25 GNU.sparse.name=a/2.x\n", kind=b"x")
        self.only_that_sample(pax + member(b"a/2.bin"), "sparse file")
        self.only_that_sample(member(b"a/2.bin", kind=b"M"), "continued from another volume")

    def test_large_pax_headers(self):
        value = b"x" * (2 << 20)
        record = b"%d SCHILY.xattr.user.x=" % (len(value) + 8 + 21) + value + b"\n"
        self.assertEqual(int(record.split(b" ")[0]), len(record))
        self.only_that_sample(member(b"PaxHeader", record, kind=b"x") + member(b"a/2.bin"),
                              "more than 1 MiB of extension headers")

    def test_two_long_names(self):
        data = (member(b"././@LongLink", b"a/first.txt\0", kind=b"L") +
                member(b"././@LongLink", b"a/second.txt\0", kind=b"L") + member(b"a/x.txt") + END)
        self.assertEqual(self.found(data), (["a/second"], ""))

    def test_a_tar_without_its_end(self):
        """With --on-corrupt skip, all complete samples must be returned, and the missing end must be reported."""
        members = [member(b"a/%d.txt" % i) for i in range(3)]
        for end in (b"", bytes(512)):
            keys, said = self.found(b"".join(members) + end, *SKIP)
            self.assertEqual(keys, ["a/0", "a/1", "a/2"])
            self.assertRegex(said, "skipped: .*zero blocks")
            self.assertIn("1 corrupt record skipped", said)
            keys, said = self.found(gzip.compress(b"".join(members) + end), *SKIP)
            self.assertEqual(keys, ["a/0", "a/1", "a/2"])
            self.found(b"".join(members) + end, status=1)
        keys, said = self.found(b"".join(members)[:-512], *SKIP)
        self.assertEqual(keys, ["a/0", "a/1"])

    def test_global_headers_that_say_what_members_are(self):
        """Readers disagree about the members after such a global header. All of these members must be lost, and nothing
        else."""
        good = member(b"b/1.txt") + member(b"b/2.txt") + END
        for record in (b"9 size=1\n", b"14 path=x/y.z\n", b"8 path=\n", b"22 GNU.sparse.major=1\n"):
            rest = (member(b"Global.1", record, kind=b"g") + member(b"a/3.txt") +
                    member(b"a/4.txt") + END)
            data = member(b"a/1.txt") + member(b"a/2.txt") + rest
            said = r'offset 1024, record 1: the global pax header "Global\.1": it gives one '
            for codec in (bytes, gzip.compress):
                keys, text = self.found(codec(data), *SKIP)
                self.assertEqual(keys, ["a/1"])
                self.assertRegex(text, said)
                self.assertIn("%d bytes, is lost" % (1024 + len(rest)), text)
                self.assertIn("1 corrupt record skipped", text)
                _, text = self.found(codec(data), status=1)
                self.assertRegex(text, said)
            write(self.path("in", "a.tar"), data)
            write(self.path("in", "b.tar"), good)
            self.assertEqual(len(listing(self.path("in"), *SKIP)), 3)
            done = sheaf("verify", self.path("in"), status=1)
            self.assertRegex(done.stderr.decode(), r"a\.tar: " + said)

    def test_global_headers_of_other_things_are_passed_over(self):
        data = (member(b"pax_global_header", b"17 comment=abcde\n", kind=b"g") +
                member(b"a/1.txt") + member(b"g", b"11 mtime=1\n", kind=b"g") +
                member(b"a/2.txt") + END)
        self.assertEqual(self.found(data), (["a/1", "a/2"], ""))

    def test_a_damaged_first_header_leaves_the_rest(self):
        data = member(b"a/1.txt") + member(b"a/2.txt") + member(b"a/3.txt") + END
        for bad in (flip(data, 5), b"\xff" * 512 + data[512:], bytes(range(256)) * 2 + data[512:]):
            for codec in (bytes, gzip.compress):
                write(self.path("x.tar"), codec(bad))
                done = sheaf("cat", self.path("x.tar"), "--list", "--no-shuffle", *SKIP)
                self.assertEqual(done.stdout, b"a/3\t\ttxt:4\n")
                self.assertIn(b"offset 0, record 0: a tar header's bytes", done.stderr)
                self.assertIn(b"2 corrupt records skipped", done.stderr)

    def test_paths_are_what_extracting_would_have(self):
        """A leading slash, empty components and "." have no meaning for any command."""
        names = [b"/a/1.txt", b"a//2.txt", b"./a/./3.txt", b"//a/.//4.txt", b"/a/5.d/x.txt"]
        keys = ["a/1", "a/2", "a/3", "a/4", "a/5.d/x"]
        data = b"".join(member(name) for name in names) + END
        self.assertEqual(self.found(data), (keys, ""))
        sheaf("unpack", self.path("x.tar"), self.path("files"))
        self.assertEqual(sorted(tree_of(self.path("files"))), [key + ".txt" for key in keys])
        sheaf("convert", self.path("x.tar"), self.path("set"), "--format", "recordio")
        self.assertEqual(listing(self.path("set"), "--no-shuffle"),
                         listing(self.path("x.tar"), "--no-shuffle"))
        self.assertEqual(sheaf("verify", self.path("x.tar")).stderr, b"")

    def test_members_of_one_sample_under_names_that_mean_the_same(self):
        data = member(b"/a/1.jpg") + member(b"a//1.txt") + member(b"a/2.txt") + END
        self.assertEqual(self.found(data), (["a/1", "a/2"], ""))
        data = member(b"a/1.txt") + member(b"a//1.txt") + member(b"a/2.txt") + END
        keys, said = self.found(data, *SKIP)
        self.assertEqual(keys, ["a/2"])
        self.assertIn("x.tar: offset 0, record 0: the sample has two fields", said)

    def test_a_name_that_ends_like_a_directory(self):
        data = member(b"a/1.txt") + member(b"b.txt/") + member(b"c.txt/.") + END
        self.assertEqual(self.found(data)[0], ["a/1"])

    def test_paths_that_climb_are_damage_of_that_sample(self):
        for name in (b"../2.txt", b"a/2.x/../2.txt", b"/../2.txt"):
            data = member(b"a/1.txt") + member(name) + member(b"a/3.txt") + END
            keys, said = self.found(data, *SKIP)
            self.assertEqual(keys, ["a/1", "a/3"])
            self.assertRegex(said, r'x\.tar: offset 1024, record 1: .*component "\.\."')
            for words in (("convert", self.path("x.tar"), self.path("set"), "--format", "tfrecord"),
                          ("unpack", self.path("x.tar"), self.path("files"))):
                done = sheaf(*words, status=1)
                self.assertRegex(done.stderr.decode(), r"x\.tar: offset 1024, record 1: .*the path")
                self.remove("files")
                done = sheaf(*words, *SKIP)
                self.assertIn(b"1 corrupt record skipped", done.stderr)
                self.remove("set")
            self.remove("files")

    def test_reserved_suffixes_are_damage_of_that_sample(self):
        self.only_that_sample(member(b"a/2.__key__"), "suffixes like __this__")

    def test_every_command_counts_what_is_passed_over(self):
        said = b"4 tar members were passed over"
        for name, data in (("x.tar", with_links()), ("x.tar.gz", gzip.compress(with_links()))):
            path = self.path("in", name)
            write(path, data)
            for words in (("cat", path, "--list"), ("cat", path, "--null"), ("verify", path),
                          ("cat", path, "--to", "tfrecord"),
                          ("unpack", path, self.path("out" + name)),
                          ("convert", path, self.path("set" + name), "--format", "tfrecord")):
                with self.subTest(words=words):
                    self.assertEqual(sheaf(*words).stderr.count(said), 1)
            self.assertIn(said, sheaf("cat", "-", "--list", data=data).stderr)
            self.assertIn(b"passed_over 4\n", sheaf("cat", path, "--null").stdout)
            self.assertEqual(len(tree_of(self.path("out" + name))), 3)
        write(self.path("one", "x.tar"), with_links())
        self.assertIn(said, sheaf("index", self.path("one")).stderr)

    def test_a_tar_of_nothing_else_says_so(self):
        write(self.path("x.tar"), member(b"README") + member(b"d", b"", kind=b"5") + END)
        for words in (("cat", self.path("x.tar"), "--list"), ("verify", self.path("x.tar"))):
            self.assertIn(b"no sample was found: 2 tar members were passed over",
                          sheaf(*words).stderr)
