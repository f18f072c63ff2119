# SPDX-License-Identifier: MIT
"""Tests what unpack leaves when it is killed, and how it continues."""

import io
import os
import subprocess
import tarfile
import unittest

import libsheaf
import writers
from support import SHEAF, Case, make_tree, pack, read, sheaf, write


class Unpack(Case):
    def test_resume(self):
        """Right files of a killed run must be kept, and wrong ones must never be taken for right."""
        files = {"%02d/%03d.bin" % (i % 7, i): b"%d" % i * 300 for i in range(200)}
        tree = make_tree(self.path("in"), files)
        pack(tree, self.path("set"), "webdataset")
        out = self.path("out")
        sheaf("unpack", self.path("set"), out)
        self.assert_same_tree(out, tree)
        for name in list(files)[::3]:
            os.unlink(os.path.join(out, name))
        write(os.path.join(out, "03", ".sheaf-unpack"), b"half of it")
        done = sheaf("unpack", self.path("set"), out, status=1)
        self.assert_error(done, "File exists", "--resume keeps what is there already")
        done = sheaf("unpack", self.path("set"), out + "//", status=1)
        self.assertIn(b" %s/0" % out.encode(), done.stderr)
        kept = os.stat(os.path.join(out, list(files)[1])).st_ino
        sheaf("unpack", self.path("set"), out, "--resume")
        self.assert_same_tree(out, tree)
        self.assertEqual(os.stat(os.path.join(out, list(files)[1])).st_ino, kept)
        for damaged in (b"", b"x" * len(files["01/001.bin"])):
            write(os.path.join(out, "01/001.bin"), damaged)
            done = sheaf("unpack", self.path("set"), out, "--resume", status=1)
            self.assert_error(done, "01/001.bin: exists, and differs from the data set")

    def test_options_of_an_older_header(self):
        """The bytes behind the struct of a program with an older sheaf.h are not options."""
        tree = make_tree(self.path("in"), {"a/%d.bin" % i: b"%d" % i for i in range(5)})
        pack(tree, self.path("set"), "webdataset")
        with libsheaf.DataSet(self.path("set")) as dataset:
            self.assertEqual(dataset.unpack(self.path("out")), 5)
        self.assert_same_tree(self.path("out"), tree)

    def test_two_samples_of_one_key(self):
        """Two samples with one key are two samples, even if they are equal."""
        with tarfile.open(self.path("a.tar"), "w") as tar:
            for name in ("a.txt", "b.txt", "a.txt"):
                member = tarfile.TarInfo(name)
                member.size = 3
                tar.addfile(member, io.BytesIO(b"abc"))
        for words in ((), ("--resume",), ("--resume",)):
            done = sheaf("unpack", self.path("a.tar"), self.path("out"), *words, status=1)
            self.assert_error(done, "a.txt: two samples of the data set have this file")

    def test_kills(self):
        """Whenever the process ends, a file that has its final name must be complete."""
        files = {"%03d.bin" % i: bytes([i]) * 300000 for i in range(100)}
        tree = make_tree(self.path("in"), files)
        pack(tree, self.path("set"), "webdataset")
        for i in range(5):
            process = subprocess.Popen([SHEAF, "unpack", self.path("set"),
                                        self.path("out"), "--resume"])
            while process.poll() is None and not os.path.exists(
                    self.path("out/%03d.bin" % (19 * (i + 1)))):
                pass
            process.kill()
            process.wait()
            for name in os.listdir(self.path("out")):
                if name != ".sheaf-unpack":
                    self.assertEqual(read(self.path("out/" + name)), files[name])
        sheaf("unpack", self.path("set"), self.path("out"), "--resume")
        self.assert_same_tree(self.path("out"), tree)

    def test_a_file_and_a_directory_of_one_name(self):
        for number, names in enumerate((["c.jpg/x.txt", "c.jpg"], ["c.jpg", "c.jpg/x.txt"])):
            write(self.path("s.tar"), writers.tar([(name, b"1") for name in names]))
            for options in ((), ("--resume",)):
                done = sheaf("unpack", self.path("s.tar"), self.path("u%d" % number), *options,
                             status=1)
                self.assert_error(done, "c.jpg", "record 1", "directory", "sheaf get KEY")
                self.assertNotIn(b"--resume", done.stderr)

    def test_no_directory(self):
        pack(make_tree(self.path("in"), {"a.bin": b"x"}), self.path("set"), "webdataset")
        write(self.path("file"), b"text")
        os.symlink("nowhere", self.path("dangling"))
        for name in ("file", "dangling"):
            done = sheaf("unpack", self.path("set"), self.path(name), status=1)
            self.assert_error(done, "%s: cannot make the directory" % self.path(name))
        self.assert_error(sheaf("unpack", self.path("set"), "", status=1), "No such file or directory")


if __name__ == "__main__":
    unittest.main()
