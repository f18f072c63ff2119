# SPDX-License-Identifier: MIT
"""Tests sources that are lists: plain lists, MXNet's .lst, CSV, JSON Lines, and invalid ones."""

import bz2
import io
import json
import lzma
import os
import tarfile

import decoders
from jpegs import jpeg
from support import CONTAINERS, Case, listing, make_tree, pack, read, sheaf, tree_of, write

TREE = {"x/a.jpg": jpeg(seed=1), "x/b.jpg": jpeg(seed=2), "y/c, d.jpg": jpeg(seed=3),
        "y/e.jpg": jpeg(seed=4), "y/e.txt": b"text", "z/ü.jpg": jpeg(seed=5)}


def tarred(name):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.addfile(tarfile.TarInfo(name))
    return out.getvalue()


class Lists(Case):
    @classmethod
    def share(cls):
        cls.tree = make_tree(os.path.join(cls.shared, "tree"), TREE)

    def labels(self, name, text, *options):
        """Packs a list beside the tree into every container. Returns {key: labels}."""
        results = []
        write(os.path.join(self.tree, name), text)
        self.addCleanup(os.unlink, os.path.join(self.tree, name))
        for container in CONTAINERS:
            dest = self.path(container)
            pack(os.path.join(self.tree, name), dest, container, "none", *options)
            data_set = decoders.DataSet(dest)
            data_set.check()
            results.append({s.key: s.labels for s in data_set.samples()})
            lines = listing(dest, "--no-shuffle")
            self.assertEqual(len(lines), len(results[0]))
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])
        return results[0]

    def test_plain_list(self):
        """A plain list has one path per line and no labels, so the directories are the classes."""
        found = self.labels("list.txt", "x/a.jpg\ny/c, d.jpg\nz/ü.jpg\n".encode())
        self.assertEqual(found, {"x/a": [0], "y/c, d": [1], "z/ü": [2]})

    def test_columns_that_differ_only_in_case(self):
        """The first column becomes the field, and the values of the others are left out and counted."""
        text = b"path,label,box,Box,box\nx/a.jpg,1,one,two,three\nx/b.jpg,2,four,,\n"
        write(os.path.join(self.tree, "boxes.csv"), text)
        self.addCleanup(os.unlink, os.path.join(self.tree, "boxes.csv"))
        done = sheaf("pack", os.path.join(self.tree, "boxes.csv"), self.path("set"), "--format", "tfrecord")
        self.assertIn(b'1 value of "Box" left out: an earlier column has that name', done.stderr)
        self.assertIn(b'1 value of "box" left out: an earlier column has that name', done.stderr)
        self.assertEqual({s.key: s.fields["box"] for s in decoders.DataSet(self.path("set")).samples()},
                         {"x/a": b"one", "x/b": b"four"})
        self.assertIn(b"2 values of lists", sheaf("info", self.path("set")).stdout)

    def test_other_files_in_place_of_a_list(self):
        for name, text, word in (("a.csv", b"<html><body>", "web page"), ("a.txt", b"<?xml ", "XML"),
                                 ("a.lst", b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
                                 ("a.jsonl", b"\xef\xbb\xbf\n<!DOCTYPE html>", "web page")):
            write(self.path(name), text)
            done = sheaf("pack", self.path(name), self.path("set"), "--format", "tfrecord", status=1)
            self.assert_error(done, self.path(name), word)

    def test_manifest_of_another_program(self):
        os.mkdir(self.path("set"))
        write(self.path("set", "dataset.json"), b'{"labels": []}')
        for words in ((), ("--overwrite",), ("--resume",)):
            done = sheaf("pack", self.tree, self.path("set"), "--format", "tfrecord", *words, status=1)
            self.assert_error(done, "another program wrote the file")
        self.assertEqual(tree_of(self.path("set")), {"dataset.json": b'{"labels": []}'})

    def test_plain_list_without_final_newline_and_with_crlf(self):
        found = self.labels("list.txt", b"x/a.jpg\r\nx/b.jpg")
        self.assertEqual(sorted(found), ["x/a", "x/b"])

    def test_fields_of_one_sample_in_a_list(self):
        found = self.labels("list", b"y/e.jpg\ny/e.txt\n")
        self.assertEqual(sorted(found), ["y/e"])

    def test_lst(self):
        found = self.labels("list.lst", "0\t3\tx/a.jpg\n1\t0.5\tx/b.jpg\n"
                            "2\t1\t0\t7\ty/c, d.jpg\n9\t-2.000000\tz/ü.jpg\n".encode())
        self.assertEqual(found, {"x/a": [3], "x/b": [0.5], "y/c, d": [1, 0, 7], "z/ü": [-2]})

    def test_labels_become_exact_floats(self):
        found = self.labels("list.lst", b"0\t0.1\tx/a.jpg\n1\t16777216\tx/b.jpg\n")
        self.assertEqual(found, {"x/a": [0.10000000149011612], "x/b": [16777216]})

    def test_label_that_a_container_cannot_hold_exactly(self):
        write(os.path.join(self.tree, "big.lst"), b"0\t16777217\tx/a.jpg\n")
        self.addCleanup(os.unlink, os.path.join(self.tree, "big.lst"))
        source = os.path.join(self.tree, "big.lst")
        for container in ("webdataset", "tfrecord"):
            pack(source, self.path(container), container)
            self.assertEqual([s.labels for s in decoders.DataSet(
                self.path(container)).samples()], [[16777217]])
        done = pack(source, self.path("rec"), "recordio", status=1)
        self.assert_error(done, "16777217")

    def test_csv(self):
        found = self.labels("list.csv", 'x/a.jpg,3\nx/b.jpg,0.5\n"y/c, d.jpg",1,2\nz/ü.jpg,4\n'
                            .encode())
        self.assertEqual(found, {"x/a": [3], "x/b": [0.5], "y/c, d": [1, 2], "z/ü": [4]})

    def test_csv_with_a_header_and_names_of_classes(self):
        found = self.labels("list.csv", b'id,label,path\n1,"tabby, striped",x/a.jpg\n'
                            b'2,dog,x/b.jpg\n3,dog,y/e.jpg\n')
        self.assertEqual(found, {"x/a": [1], "x/b": [0], "y/e": [0]})
        self.assertEqual(decoders.DataSet(self.path("tfrecord")).classes,
                         ["dog", "tabby, striped"])

    def test_jsonl_with_names_of_classes(self):
        found = self.labels("list.jsonl", '{"path": "x/a.jpg", "label": "ü"}\n'
                            '{"path": "x/b.jpg", "label": "a"}\n'.encode(), "--label-base", 1)
        self.assertEqual(found, {"x/a": [2], "x/b": [1]})

    def test_jsonl(self):
        lines = [{"path": "x/a.jpg", "label": 3}, {"path": "x/b.jpg", "label": [1, 0.5]},
                 {"label": -1, "path": "z/ü.jpg"}]
        found = self.labels("list.jsonl", "".join(json.dumps(l) + "\n" for l in lines).encode())
        self.assertEqual(found, {"x/a": [3], "x/b": [1, 0.5], "z/ü": [-1]})

    def test_integers_of_any_size_in_jsonl(self):
        """An integer that does not fit into 64 bits is a field like any other, and a label by the rule of labels."""
        text = ('{"path": "x/a.jpg", "label": 18446744073709551616, "id": 18446744073709551615}\n'
                '{"path": "x/b.jpg", "label": [1, -9223372036854775808], "id": [123456789012345678901234567890, 7]}\n')
        write(os.path.join(self.tree, "big.jsonl"), text.encode())
        self.addCleanup(os.unlink, os.path.join(self.tree, "big.jsonl"))
        for container in "webdataset", "tfrecord", "recordio":
            pack(os.path.join(self.tree, "big.jsonl"), self.path(container), container)
            self.assertEqual({s.key: (s.labels, s.fields["id"]) for s in decoders.DataSet(
                self.path(container)).samples()}, {
                    "x/a": ([2 ** 64], b"18446744073709551615"),
                    "x/b": ([1, -2 ** 63], b"[123456789012345678901234567890, 7]")})
        for label in "18446744073709551615", "[0, 9223372036854775809]":
            write(self.path("bad.jsonl"), b'{"path": "x/a.jpg", "label": %s}\n' % label.encode())
            done = pack(self.path("bad.jsonl"), self.path("none"), "tfrecord", "none", "--root", self.tree, status=1)
            self.assert_error(done, "bad.jsonl", "the label %s is beyond 2^53" % label.strip("[0, ]"))

    def test_root(self):
        write(self.path("elsewhere.lst"), b"0\t1\tx/a.jpg\n")
        pack(self.path("elsewhere.lst"), self.path("out"), "tfrecord", "none",
             "--root", self.tree)
        done = sheaf("pack", self.path("elsewhere.lst"), self.path("none"), "--format", "tfrecord",
                     status=1)
        self.assert_error(done, "x/a.jpg: cannot stat below the list's root")
        self.assertEqual([s.key for s in decoders.DataSet(self.path("out")).samples()], ["x/a"])

    def test_absolute_paths_begin_with_the_root(self):
        write(self.path("list.csv"), os.path.join(self.tree, "x/a.jpg").encode() + b",1\n")
        pack(self.path("list.csv"), self.path("out"), "tfrecord", "none", "--root", self.tree)
        self.assertEqual([s.key for s in decoders.DataSet(self.path("out")).samples()], ["x/a"])
        other = os.path.join(self.tree, "y")
        done = sheaf("pack", self.path("list.csv"), self.path("none"), "--format", "tfrecord",
                     "--root", other, status=1)
        self.assert_error(done, "%s/x/a.jpg: the path is absolute, but does not begin with the "
                          "list's root \"%s\"" % (self.tree, other))

    def test_paths_that_climb_may_not_leave_the_root(self):
        """A path with ".." is the file that it leads to, whether it is relative or absolute."""
        write(self.path("outside.jpg"), b"x")
        inside = ["y/../x/a.jpg", "x/./../y/e.jpg", self.tree + "/y/../z/ü.jpg",
                  "../%s/x/b.jpg" % os.path.basename(self.tree)]
        for text in "".join(p + "\n" for p in inside), "".join(json.dumps({"path": p}) + "\n" for p in inside):
            name = os.path.join(self.tree, "list.jsonl" if text[0] == "{" else "list.txt")
            write(name, text.encode())
            self.addCleanup(os.unlink, name)
            pack(name, self.path("climbs"), "tfrecord", "none", "--overwrite")
            self.assertEqual(sorted(s.key for s in decoders.DataSet(self.path("climbs")).samples()),
                             ["x/a", "x/b", "y/e", "z/ü"])
        for path in "../outside.jpg", "../../etc/passwd", "none/../x/a.jpg":
            write(os.path.join(self.tree, "list.txt"), path.encode() + b"\n")
            done = sheaf("pack", os.path.join(self.tree, "list.txt"), self.path("none"), "--format", "tfrecord",
                         status=1)
            self.assert_error(done, path + ": the path has a component \"..\", and leads to no directory below the "
                              "list's root \"%s\"" % self.tree)

    def test_a_header_without_paths_is_named(self):
        for name, text, column in (("a.csv", "img,label\nx/a.jpg,1\n", "label"),
                                   ("a.csv", "image_path;Class;caption\nx/a.jpg;cat;one\n", "Class"),
                                   ("a.tsv", "img\tLABELS\nx/a.jpg\t1\n", "LABELS"),
                                   ("a.txt", "img\tclass_name\nx/a.jpg\tcat\n", "class_name")):
            write(self.path(name), text.encode())
            for more in (), ("--on-error", "skip"):
                done = sheaf("pack", self.path(name), self.path("none"), "--format", "tfrecord", "--root", self.tree,
                             *more, status=1)
                self.assert_error(done, "%s:1: the header has a column \"%s\", but no column of paths, which is "
                                  "called path, file, file_name, filename or image" % (self.path(name), column))
        found = self.labels("words.csv", b"x/a.jpg,label\nx/b.jpg,class\n")
        self.assertEqual(found, {"x/a": [1], "x/b": [0]})

    def test_texts_of_other_systems_are_named(self):
        table = "path,label\nx/a.jpg,1\n"
        for name, data, words in (
                ("a.csv", table.encode("utf-16"), "it is text in UTF-16, expected UTF-8"),
                ("a.csv", table.encode("utf-16-be"), "it is text in UTF-16, expected UTF-8"),
                ("a.txt", "x/a.jpg\n".encode("utf-16-le"), "it is text in UTF-16, expected UTF-8"),
                ("a.csv", table.replace("\n", "\r").encode(), "lines that end with LF or CR LF"),
                ("a.csv", lzma.compress(table.encode()), "it is compressed by xz, expected a list"),
                ("a.csv", bz2.compress(table.encode()), "it is compressed by bzip2, expected a list"),
                ("a.bin", tarred("x/a.jpg"), "it has the content of a tar file, expected a list")):
            write(self.path(name), data)
            done = sheaf("pack", self.path(name), self.path("none"), "--format", "tfrecord", "--root", self.tree,
                         status=1)
            self.assert_error(done, self.path(name), words)
        write(os.path.join(self.shared, "BZh.jpg"), TREE["x/a.jpg"])
        write(os.path.join(self.shared, "list.txt"), b"BZh.jpg\n")
        pack(os.path.join(self.shared, "list.txt"), self.path("bzh"), "tfrecord", "none")

    def test_links_to_nothing_are_named(self):
        tree = make_tree(self.path("linked"), {"c/a.jpg": TREE["x/a.jpg"]})
        os.symlink("../annex/b", os.path.join(tree, "c/b.jpg"))
        os.symlink("gone", os.path.join(tree, "d"))
        words = "is a symbolic link to a file that does not exist: fetch the file that it stands for"
        write(self.path("list.txt"), b"linked/c/a.jpg\nlinked/c/b.jpg\n")
        for source, path in (tree, "c/b.jpg"), (self.path("list.txt"), "linked/c/b.jpg"):
            done = sheaf("pack", source, self.path("none"), "--format", "tfrecord", status=1)
            self.assert_error(done, "%s: %s" % (path, words))
        done = sheaf("pack", os.path.join(tree, "d"), self.path("none"), "--format", "tfrecord", status=1)
        self.assert_error(done, "%s/d: the source %s" % (tree, words))
        sheaf("pack", tree, self.path("skipped"), "--format", "tfrecord", "--on-error", "skip")
        self.assertEqual(read(self.path("skipped/skipped.tsv")),
                         ("c/b.jpg\t%s\nd\t%s\n" % (words, words)).encode())

    def test_unpack_gives_the_listed_files(self):
        write(self.path("some.txt"), b"y/e.jpg\ny/e.txt\nx/a.jpg\n")
        for container in CONTAINERS:
            pack(self.path("some.txt"), self.path(container), container, "none", "--root",
                 self.tree)
            sheaf("unpack", self.path(container), self.path(container + "-out"))
            self.assertEqual(tree_of(self.path(container + "-out")),
                             {name: TREE[name] for name in ("y/e.jpg", "y/e.txt", "x/a.jpg")})


class Wrong(Case):
    """Tests invalid lists. Each must be refused with the list's name and the line number."""

    LISTS = [
        ("a.lst", b"0\t1\tx/a.jpg\nnot a line\n", 2),
        ("b.lst", b"0\t3\tx/a.jpg\n1\t3x\tx/b.jpg\n", 2),
        ("c.lst", b"0\tx/a.jpg\n", 1),
        ("d.csv", b"x/a.jpg,1\nx/b.jpg,cat\n", 2),
        ("e.csv", b'"x/a.jpg,1\n', 1),
        ("e2.csv", b"path,category\nx/a.jpg\n", 2),
        ("f.jsonl", b'{"path": "x/a.jpg", "label": 1}\n{"path": 3}\n', 2),
        ("g.jsonl", b'{"path": "x/a.jpg", "label": 1}\n{broken\n', 2),
        ("h.jsonl", b'{"path": "x/a.jpg", "label": "cat"}\n[1]\n', 2),
        ("h2.jsonl", b'{"path": "x/a.jpg", "label": 1}\n{"path": "x/b.jpg", "label": {}}\n', 2),
        ("i.jsonl", b'{"label": 1}\n', 1),
        ("j.lst", b"0\t1\tx/a.jpg\n0\tnan\tx/b.jpg\n", 2),
        ("k.lst", b"0\t1\tx/a.jpg\n0\t1e999\tx/b.jpg\n", 2),
        ("l.txt", b"x/a.jpg\n../outside.jpg\n", None),
        ("m.txt", b"x/a.jpg\n/etc/passwd.jpg\n", None),
        ("n.txt", b"x/a.jpg\nx/../b.jpg\n", None),
        ("o.txt", b"x/a.jpg\nx/missing.jpg\n", None),
        ("p.txt", b"x/a.jpg\nx/nul\0byte.jpg\n", None),
    ]

    def test_lists(self):
        tree = make_tree(self.path("tree"), TREE)
        for name, text, line in self.LISTS:
            with self.subTest(name=name):
                write(os.path.join(tree, name), text)
                done = pack(os.path.join(tree, name), self.path("out-" + name), status=None)
                self.assertIn(done.returncode, (1, 2))
                message = done.stderr.decode()
                self.assertEqual(message.count("\n"), 1, message)
                if line is not None:
                    self.assertRegex(message, r"%s.*\b%d\b" % (name, line))
                self.assert_nothing(self.path("out-" + name))

    def test_an_image_is_no_list(self):
        """An image is refused as a list even if bad files are skipped, because the lines in it are not paths."""
        tree = make_tree(self.path("tree"), TREE)
        write(os.path.join(tree, "photo.jpg"), b"\xff\xd8\xff\xe0\x00\x10JFIF\n\xa5p\n")
        done = pack(os.path.join(tree, "photo.jpg"), self.path("out"), "webdataset", "none",
                    "--on-error", "skip", status=1)
        self.assert_error(done, "photo.jpg: it is a JPEG image, expected a list")
        self.assert_nothing(self.path("out"))

    def test_a_data_set_is_no_source(self):
        tree = make_tree(self.path("tree"), TREE)
        pack(tree, self.path("set"))
        done = pack(self.path("set"), self.path("out"), status=2)
        self.assert_error(done, "is a data set")
        self.assert_nothing(self.path("out"))

    def test_missing_files_can_be_skipped(self):
        tree = make_tree(self.path("tree"), TREE)
        write(os.path.join(tree, "list.lst"), b"0\t1\tx/a.jpg\n1\t2\tx/missing.jpg\n")
        pack(os.path.join(tree, "list.lst"), self.path("out"), "recordio", "none",
             "--on-error", "skip")
        self.assertIn(b"x/missing.jpg\t", read(self.path("out", "skipped.tsv")))
        self.assertEqual([s.key for s in decoders.DataSet(self.path("out")).samples()], ["x/a"])
