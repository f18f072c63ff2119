# SPDX-License-Identifier: MIT
"""Tests labels and paths in every form in which a source may write them. A stated label must be packed or reported."""

import io
import json
import os
import tarfile
import zipfile

import decoders
from jpegs import jpeg
from support import CONTAINERS, Case, listing, make_tree, pack, sheaf, tree_of, write

JPG = jpeg(seed=1)


def labels_of(dest):
    """Returns {key: labels}, as `cat --list` prints them."""
    return dict(line.split("\t")[:2] for line in listing(dest, "--no-shuffle"))


class Labels(Case):
    def tree(self, *names, **files):
        return make_tree(self.path("tree"), dict({name: JPG for name in names}, **files))

    def put(self, name, text):
        path = os.path.join(self.path("tree"), name)
        write(path, text if isinstance(text, bytes) else text.encode())
        return path

    def pack(self, source, *options, container="webdataset"):
        """Packs the source. Returns the data set and the messages of the command."""
        self.count = getattr(self, "count", 0) + 1
        dest = self.path("out-%d" % self.count)
        done = pack(source, dest, container, "none", *options)
        return dest, done.stderr.decode()


class Columns(Labels):
    def test_names_of_paths_and_labels(self):
        """CSV and JSON Lines use the same names of columns, in upper or lower case."""
        self.tree("a.jpg", "b.jpg")
        for path in ("path", "File", "file_name", "FILENAME", "image"):
            for label in ("label", "Labels", "class", "CLASS_NAME"):
                csv = self.put("l.csv", "%s, %s\na.jpg,7\nb.jpg,8\n" % (path, label))
                lines = self.put("l.jsonl", "".join(json.dumps({path: p, label: n}) + "\n"
                                                    for p, n in (("a.jpg", 7), ("b.jpg", 8))))
                for source in (csv, lines):
                    dest, said = self.pack(source)
                    self.assertEqual(labels_of(dest), {"a": "7", "b": "8"}, (path, label))
                    self.assertEqual(said, "")

    def test_a_class_names_the_number_of_its_label(self):
        self.tree("a.jpg", "b.jpg", "c.jpg")
        rows = (("a.jpg", "cat", 2), ("b.jpg", "dog", 0), ("c.jpg", "cat", 2))
        csv = self.put("l.csv", "path,class,label\n" + "".join("%s,%s,%d\n" % r for r in rows))
        lines = self.put("l.jsonl", "".join(json.dumps(
            {"path": p, "class_name": c, "label": n}) + "\n" for p, c, n in rows))
        for source in (csv, lines):
            for container in CONTAINERS:
                dest, said = self.pack(source, container=container)
                data_set = decoders.DataSet(dest)
                self.assertEqual(data_set.classes, ["dog", "1", "cat"])
                self.assertEqual({s.key: s.labels for s in data_set.samples()},
                                 {"a": [2], "b": [0], "c": [2]})
                self.assertEqual(said, "")

    def test_names_that_do_not_fit_numbers_are_refused(self):
        self.tree("a.jpg", "b.jpg")
        for rows, words in ((("a.jpg,cat,0", "b.jpg,cat,1"), ("cat", "two numbers, 0 and 1")),
                            (("a.jpg,cat,0", "b.jpg,dog,0"), ("number 0", "cat", "dog"))):
            source = self.put("l.csv", "path,class,label\n%s\n%s\n" % rows)
            done = pack(source, self.path("none"), status=1)
            self.assert_error(done, *words)

    def test_further_columns_become_fields(self):
        self.tree("a.jpg", "b.jpg")
        self.put("l.csv", "path,label,xmin,caption\na.jpg,0,5,\"hello, you\"\nb.jpg,1,,bye\n")
        self.put("l.jsonl", '{"path": "a.jpg", "label": 0, "boxes": [[1,  2]], "text": "h\\u00e9"}\n'
                            '{"path": "b.jpg", "label": 1, "boxes": null, "text": ""}\n')
        for container in CONTAINERS:
            dest, said = self.pack(os.path.join(self.path("tree"), "l.csv"), container=container)
            self.assertEqual(said, 'sheaf: %s: the columns "xmin", "caption" became fields\n'
                             % os.path.join(self.path("tree"), "l.csv"))
            fields = {s.key: s.fields for s in decoders.DataSet(dest).samples()}
            self.assertEqual(fields, {"a": {"jpg": JPG, "xmin": b"5", "caption": b"hello, you"},
                                      "b": {"jpg": JPG, "caption": b"bye"}})
            dest, said = self.pack(os.path.join(self.path("tree"), "l.jsonl"), container=container)
            self.assertIn('the columns "boxes", "text" became fields', said)
            fields = {s.key: s.fields for s in decoders.DataSet(dest).samples()}
            self.assertEqual(fields, {"a": {"jpg": JPG, "boxes": b"[[1,  2]]",
                                            "text": "hé".encode()},
                                      "b": {"jpg": JPG, "text": b""}})

    def test_columns_that_cannot_be_fields_are_counted(self):
        self.tree("a.jpg", "b.jpg", "c.jpg")
        source = self.put("l.csv", "path,category,a/b,JPG\na.jpg,cat,1,x\nb.jpg,dog,2,\n")
        dest, said = self.pack(source)
        self.assertIn('2 values of "a/b" left out: it is no name of a field', said)
        self.assertIn('1 value of "JPG" left out: the sample\'s file has that name', said)
        self.assertIn('the column "category" became a field; none is a label, whose column is '
                      'called label, labels, class or class_name', said)
        fields = {s.key: s.fields for s in decoders.DataSet(dest).samples()}
        self.assertEqual(fields["a"], {"jpg": JPG, "category": b"cat"})
        self.assert_left_out(dest, 3)
        sheaf("append", self.put("m.csv", "path,a/b\nc.jpg,1\n"), dest)
        self.assert_left_out(dest, 4)

    def assert_left_out(self, dest, count):
        """Checks that `info` and `verify` report `count` values that could not become fields."""
        self.assertEqual(json.loads(sheaf("info", dest, "--json").stdout)["left_out_values"], count)
        self.assertIn("left out      %d value%s of lists, which could not become fields\n" % (
            count, "" if count == 1 else "s"), sheaf("info", dest).stdout.decode())
        self.assertIn("when it was packed, %d value" % count, sheaf("verify", dest).stderr.decode())

    def test_two_files_of_a_sample_say_a_field_once(self):
        self.tree("a.jpg", "a.txt")
        source = self.put("l.csv", "path,label,caption\na.jpg,3,hi\na.txt,3,hi\n")
        dest, _ = self.pack(source)
        self.assertEqual([(s.key, sorted(s.fields), s.labels)
                          for s in decoders.DataSet(dest).samples()],
                         [("a", ["caption", "jpg", "txt"], [3])])
        dest, said = self.pack(self.put("m.csv", "id,path,text\n1,a.jpg,hi\n2,a.txt,hi\n"))
        self.assertEqual([(s.key, sorted(s.fields)) for s in decoders.DataSet(dest).samples()],
                         [("a", ["jpg", "text", "txt"])])
        self.assertIn("1 field left out, such as a.id: the lines of a list that name files of one "
                      "sample say it differently", said)
        self.assert_left_out(dest, 1)

    def test_further_columns_on_many_machines(self):
        self.tree(*("%d.jpg" % i for i in range(30)))
        source = self.put("l.csv", "path,label,caption\n" + "".join(
            "%d.jpg,%d,text %d\n" % (i, i % 3, i) for i in range(30)))
        dest, _ = self.pack(source, "--shard-count", 3)
        sheaf("plan", source, self.path("parts"), "-o", self.path("p"), "--format", "webdataset",
              "--shard-count", 3)
        for part in range(2):
            sheaf("pack", "--plan", self.path("p"), "--part", "%d/2" % part)
        sheaf("commit", self.path("p"))
        self.assertEqual(listing(self.path("parts"), "--no-shuffle"), listing(dest, "--no-shuffle"))

    def test_augmented_manifest_of_local_files(self):
        self.tree("x/a.jpg", "x/b.jpg", **{"m/a.png": b"mask", "m/b.jpg": JPG})
        text = "".join(json.dumps({"image-ref": "x/%s" % i, "mask-ref": "m/%s" % m, "label": n,
                                   "boxes": [[1, 2]]}) + "\n"
                       for i, m, n in (("a.jpg", "a.png", "cat"), ("b.jpg", "b.jpg", "dog")))
        for name in ("l.jsonl", "l.manifest"):
            dest, said = self.pack(self.put(name, text))
            self.assertIn('the column "boxes" became a field', said)
            data_set = decoders.DataSet(dest)
            self.assertEqual(data_set.classes, ["cat", "dog"])
            self.assertEqual({s.key: (s.fields, s.labels) for s in data_set.samples()}, {
                "x/a": ({"jpg": JPG, "png": b"mask", "boxes": b"[[1, 2]]"}, [0]),
                "x/b": ({"jpg": JPG, "mask.jpg": JPG, "boxes": b"[[1, 2]]"}, [1])})

    def test_tabs_and_semicolons(self):
        """The separator is found in the first record, in tables and in plain lists that are tables."""
        self.tree("a, b.jpg", "c.jpg")
        for between in "\t;,":
            rows = ["a, b.jpg" if between != "," else '"a, b.jpg"', "c.jpg"]
            entries = "".join("%s%s%d\n" % (p, between, n) for n, p in enumerate(rows))
            for head in ("", "file_name%slabel\n" % between):
                for name in ("l.csv", "l.tsv", "l.txt", "L.CSV"):
                    if name == "l.txt" and between == "," and not head:
                        continue        # a file may be called so
                    dest, _ = self.pack(self.put(name, head + entries))
                    self.assertEqual(labels_of(dest), {"a, b": "0", "c": "1"},
                                     (between, head, name))

    def test_booleans_are_numbers(self):
        """In JSON Lines, true and false are 1 and 0, as in the rows of Python. In a CSV, they are words."""
        self.tree("a.jpg", "b.jpg", "c.jpg")
        for name in ("label", "Class"):
            lines = "".join(json.dumps({"path": path, name: label}) + "\n" for path, label in (
                ("a.jpg", True), ("b.jpg", False), ("c.jpg", [True, 2, False])))
            for container in CONTAINERS:
                dest, _ = self.pack(self.put("l.jsonl", lines), container=container)
                self.assertEqual(labels_of(dest), {"a": "1", "b": "0", "c": "1 2 0"})
        dest, _ = self.pack(self.put("l.csv", "path,label\na.jpg,true\nb.jpg,false\n"))
        self.assertEqual(decoders.DataSet(dest).classes, ["false", "true"])
        self.assertEqual(labels_of(dest), {"a": "1", "b": "0"})

    def test_plain_lists_stay_plain(self):
        self.tree("d/a,b.jpg", "d/a;1.jpg", "d/x.jpg,7")
        source = self.put("l.txt", "d/a,b.jpg\nd/a;1.jpg\nd/x.jpg,7\n")
        dest, _ = self.pack(source)
        self.assertEqual(labels_of(dest), {"d/a,b": "0", "d/a;1": "0", "d/x": "0"})


class Cls(Labels):
    def test_a_word_keeps_the_label_of_the_directory(self):
        files = {"c/a.jpg": JPG, "c/a.cls": b"cat", "d/b.jpg": JPG,
                 "d/b.cls": b"\xef\xbb\xbf3\r\n", "e/x.jpg": JPG}
        self.tree(**files)
        for container in CONTAINERS:
            dest, said = self.pack(self.path("tree"), container=container)
            data_set = decoders.DataSet(dest)
            data_set.check()
            self.assertEqual(data_set.classes, ["c", "d", "e"])
            self.assertEqual({s.key: (s.labels, s.fields) for s in data_set.samples()}, {
                "c/a": ([0], {"jpg": JPG, "cls": b"cat"}),
                "d/b": ([3], {"jpg": JPG, "cls": files["d/b.cls"]}),
                "e/x": ([2], {"jpg": JPG})})
            self.assertIn("1 sample, such as c/a, with a field cls that is not numbers: the label "
                          "is that of the directory or list", said)
            self.assertIn("1 sample, such as d/b, with a field cls that is numbers", said)
            sheaf("verify", dest)
            sheaf("unpack", dest, self.path("back-" + container))
            self.assertEqual(tree_of(self.path("back-" + container)), files)

    def test_words_alone_do_not_hide_the_directories(self):
        self.tree(**{"c/a.jpg": JPG, "c/a.cls": b"cat", "d/b.jpg": JPG, "d/b.CLS": b"dog\n"})
        dest, _ = self.pack(self.path("tree"))
        self.assertEqual(decoders.DataSet(dest).classes, ["c", "d"])
        self.assertEqual(labels_of(dest), {"c/a": "0", "d/b": "1"})
        self.assertEqual(self.words_of(dest), 2)
        sheaf("convert", dest, self.path("rec"), "--format", "recordio")
        sheaf("convert", self.path("rec"), self.path("tar"), "--format", "webdataset")
        self.assertEqual(listing(self.path("tar"), "--no-shuffle"), listing(dest, "--no-shuffle"))

    def words_of(self, dest):
        """Returns the number of .cls files that `info` counts as words. Checks that `verify` reports the same number."""
        count = json.loads(sheaf("info", dest, "--json").stdout)["cls_words"]
        line = b"%d sample%s with a file .cls that is not numbers" % (count, b"s" * (count != 1))
        self.assertEqual(line in sheaf("info", dest).stdout, count != 0)
        said = b"%d sample%s had a file .cls that is not numbers" % (count, b"s" * (count != 1))
        self.assertEqual(said in sheaf("verify", dest).stderr, count != 0)
        return count

    def test_words_are_counted_in_every_way(self):
        """A data set states how many .cls files have a word, also after splits, parts, a resumed run or an append."""
        self.tree(**{"c/%02d.%s" % (i, suffix): b"cat" if suffix == "cls" and i % 3 else b"0"
                     for i in range(12) for suffix in ("cls", "txt")})
        source, words = self.path("tree"), ("--format", "tfrecord", "--shard-count", "3")
        sheaf("pack", source, self.path("all"), *words)
        self.assertEqual(self.words_of(self.path("all")), 8)
        sheaf("pack", source, self.path("halves"), *words, "--split", "a=0.5,b=0.5")
        self.assertEqual(sum(self.words_of(self.path("halves", part)) for part in "ab"), 8)
        for done in (sheaf("plan", source, self.path("parts"), "-o", self.path("plan"), *words),
                     sheaf("pack", source, self.path("none"), *words, "--dry-run")):
            self.assertIn(b"8 of 12 fields cls that were looked at, such as that of c/", done.stderr)
        said = [sheaf("pack", "--plan", self.path("plan"), "--part", part).stderr for part in ("0/2", "1/2")]
        self.assertEqual(sum(int(line.split(b" ")[1]) for line in b"".join(said).splitlines()), 8)
        done = sheaf("commit", self.path("plan"))
        self.assertIn(b"8 samples with a file .cls that is not numbers", done.stderr)
        self.assertEqual(self.words_of(self.path("parts")), 8)
        more = make_tree(self.path("more"), {"new.cls": b"cat", "new.txt": b"1"})
        done = sheaf("append", more, self.path("parts"), "--dry-run")
        self.assertIn(b"1 of 1 field cls that were looked at, such as that of new, is not", done.stderr)
        sheaf("append", more, self.path("parts"))
        self.assertEqual(self.words_of(self.path("parts")), 9)
        for status in (json.loads(sheaf("info", self.path("plan"), "--json").stdout),):
            self.assertEqual((status["cls_words"], status["cls_looked"]), (8, 12))
        self.assertIn(b"cls words     8 of 12 fields cls that planning has examined are not numbers",
                      sheaf("info", self.path("plan")).stdout)
        for name in CONTAINERS:
            sheaf("convert", self.path("parts"), self.path("as-" + name), "--format", name)
            self.assertEqual(self.words_of(self.path("as-" + name)), 9)
        sheaf("plan", self.path("all"), self.path("many"), "-o", self.path("plan-2"), "--format", "webdataset")
        sheaf("convert", "--plan", self.path("plan-2"))
        sheaf("commit", self.path("plan-2"))
        self.assertEqual(self.words_of(self.path("many")), 8)

    def test_numbers_alone_are_the_labels(self):
        """If the labels are numbers, the directories of an unpacked data set are not classes."""
        self.tree(**{"0/a.jpg": JPG, "0/a.cls": b"5", "1/b.jpg": JPG, "1/b.cls": b"6",
                     "1/c.jpg": JPG, "1/c.cls": b"?"})
        dest, said = self.pack(self.path("tree"))
        self.assertEqual(decoders.DataSet(dest).classes, [])
        self.assertEqual(labels_of(dest), {"0/a": "5", "1/b": "6", "1/c": ""})
        self.assertIn("1 sample, such as 1/c, with a field cls that is not numbers, and so "
                      "without a label", said)

    def test_webdataset_reads_both_members(self):
        self.tree(**{"c/a.jpg": JPG, "c/a.cls": b"cat"})
        dest, _ = self.pack(self.path("tree"))
        with tarfile.open(os.path.join(dest, "shard-000000.tar")) as archive:
            self.assertEqual([(m.name, m.gname) for m in archive],
                             [("c/a.__label__", "label"), ("c/a.cls", "sheaf"),
                              ("c/a.jpg", "sheaf")])
        shard = os.path.join(dest, "shard-000000.tar")
        self.assertEqual(labels_of(shard), {"c/a": "0"})


def zip_of(names, system):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in names:
            info = zipfile.ZipInfo(name)
            info.create_system = system
            archive.writestr(info, b"" if name.endswith("\\") else JPG)
    return data.getvalue()


class Paths(Labels):
    def test_zips_made_on_windows(self):
        names = ["c\\aa.jpg", "dd\\e\\b.jpg", "n\\"]
        os.makedirs(self.path("tree"))
        for system in (0, 10, 11, 14):
            dest, _ = self.pack(self.put("w.ZIP", zip_of(names, system)))
            self.assertEqual(labels_of(dest), {"c/aa": "0", "dd/e/b": "1"})
            self.assertEqual(decoders.DataSet(dest).classes, ["c", "dd/e"])
        dest, _ = self.pack(self.put("u.zip", zip_of(names[:1], 3)))
        self.assertEqual(labels_of(dest), {"c\\aa": ""})     # a name of Unix may have it

    def tar(self, names):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as archive:
            for name, content in names.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        return data.getvalue()

    def test_paths_without_meaning(self):
        """`//`, `/./`, `./` and a leading slash have no meaning, in archives, nested archives, and lists."""
        written = ["c//a.jpg", "d/./b.jpg", "/e/c.jpg", "./f/./g//h.jpg", "//i//j.jpg"]
        wanted = {"c/a": "0", "d/b": "1", "e/c": "2", "f/g/h": "3", "i/j": "4"}
        self.tree(*(key + ".jpg" for key in wanted))
        plain = self.put("s.tar", self.tar({name: JPG for name in written}))
        dest, _ = self.pack(plain)
        self.assertEqual(labels_of(dest), wanted)
        self.assertEqual(decoders.DataSet(dest).classes, ["c", "d", "e", "f/g", "i"])
        sheaf("cat", plain, "--list", "--no-shuffle")
        nested = self.put("n.tar", self.tar({".//x//inner.tar": self.tar(
            {name: JPG for name in written})}))
        dest, _ = self.pack(nested)
        self.assertEqual(labels_of(dest), {"x/inner/" + key: n for key, n in wanted.items()})
        dest, _ = self.pack(nested, "--root", "./x//inner/")
        self.assertEqual(labels_of(dest), wanted)
        with zipfile.ZipFile(self.path("tree", "s.zip"), "w") as archive:
            for name in written:
                archive.writestr(name, JPG)
        dest, _ = self.pack(self.path("tree", "s.zip"))
        self.assertEqual(labels_of(dest), wanted)
        relative = [name for name in written if not name.startswith("/")]
        dest, _ = self.pack(self.put("l.csv", "".join("%s,7\n" % name for name in relative)))
        self.assertEqual(labels_of(dest), {"c/a": "7", "d/b": "7", "f/g/h": "7"})

    def test_absolute_paths_of_a_list(self):
        """The absolute paths of a list must lie in the root directory, under whatever name of it, and however the list
        is named."""
        tree = self.tree("c/a.jpg", "d/b.jpg")
        os.symlink(tree, self.path("link"))
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        for names in (tree, self.path("link"), tree + "//", tree + "/../tree"):
            write(os.path.join(tree, "files.txt"), "".join(
                "%s/%s.jpg\n" % (names, key) for key in ("c/a", "d/b")).encode())
            for where, given in ((tree, "files.txt"), (tree, "./files.txt"),
                                 (self.path("link"), "files.txt"),
                                 (here, os.path.join(tree, "files.txt")),
                                 (here, self.path("link", "files.txt")),
                                 (os.path.dirname(tree), "tree/files.txt")):
                os.chdir(where)
                dest, _ = self.pack(given)
                self.assertEqual(labels_of(dest), {"c/a": "0", "d/b": "1"}, (names, where, given))
        os.chdir(here)
        done = pack(self.put("c/files.txt", self.path("tree", "d/b.jpg") + "\n"),
                    self.path("none"), status=1)
        self.assert_error(done, "the path is absolute, but does not begin with the list's root",
                          self.path("tree", "c"))


class UnknownKeys(Labels):
    def test_keys_that_no_source_has_are_counted_and_named(self):
        tree = make_tree(self.path("im"), {"a/%d.jpg" % i: JPG for i in range(1, 5)})
        pack(tree, self.path("set"))
        write(self.path("delete.txt"), b"a/1\r\na/2\n\na/3.jpg\n")
        for option in ("--not-keys", "--keys"):
            done = sheaf("view", self.path("set"), "-o", self.path("x" + option + ".view"), option,
                         self.path("delete.txt"))
            self.assertEqual(done.stderr.decode(), "sheaf: 1 of 3 keys of %s is in no source: "
                             "a/3.jpg\n" % self.path("delete.txt"))
            done = sheaf("view", self.path("set"), "-o", self.path("none.view"), option,
                         self.path("delete.txt"), "--unknown-keys", "fail", status=1)
            self.assertIn(b"1 unknown key: nothing was written", done.stderr)
            self.assertFalse(os.path.exists(self.path("none.view")))
        write(self.path("good.txt"), b"a/1\na/3")
        done = sheaf("view", self.path("set"), "-o", self.path("good.view"), "--not-keys",
                     self.path("good.txt"), "--unknown-keys", "fail")
        self.assertEqual(done.stderr, b"")
