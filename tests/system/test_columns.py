# SPDX-License-Identifier: MIT
"""Columns, which add fields later. Their values come with the right samples in the same order, all or none, and no
byte of the base is changed, wherever the run is killed."""

import csv
import json
import os
import shutil
import subprocess
import tarfile
import unittest

import servers
import support
from support import (CONTAINERS, SHEAF, Case, flip, killing, kills, make_tree, pack, read, sheaf,
                     tree_of, write)

KILL_STEP = 9 if support.QUICK else 3
COUNT = 40


def files(mark, count=COUNT):
    chance = support.random.Random(mark)
    return {"c%d/%s%02d.bin" % (i % 3, mark, i): chance.randbytes(3000 + 40 * i)
            for i in range(count)}


def keys_of(source):
    return sorted(path.split(".")[0] for path in tree_of(source))


def caption(key, mark=""):
    return "what %s%s shows, \u00e9" % (key, mark)


def captions(path, keys, mark=""):
    """Returns JSON Lines for the keys, in another order."""
    keys = list(keys)
    support.random.Random(path).shuffle(keys)
    write(path, "".join(json.dumps({"key": key, "value": caption(key, mark)}) + "\n"
                        for key in keys).encode())
    return path


class Columns(Case):
    @classmethod
    def share(cls):
        cls.source = make_tree(os.path.join(cls.shared, "source"), files("a"))
        cls.keys = keys_of(cls.source)

    def setUp(self):
        super().setUp()
        self.dest = self.path("set")

    def pack(self, container="webdataset", codec="none"):
        shutil.rmtree(self.dest, ignore_errors=True)
        pack(self.source, self.dest, container, codec, "--shard-count", "4")

    def add(self, name="cap", source=None, *more, **how):
        source = source or captions(self.path("captions.jsonl"), self.keys)
        return sheaf("column", "add", self.dest, "--name", name, "--from", source, *more, **how)

    def samples(self, *more, dest=None):
        """Returns [(key, {field: bytes})] of an epoch, in order."""
        out = self.path("out.tar")
        with open(out, "wb") as file:
            subprocess.run([SHEAF, "cat", dest or self.dest, *more], stdout=file, check=True)
        found = []
        with tarfile.open(out) as tar:
            for member in tar:
                key, field = member.name.split(".", 1)
                if not found or found[-1][0] != key:
                    found.append((key, {}))
                found[-1][1][field] = tar.extractfile(member).read()
        return found

    def check(self, found, name="cap", mark="", without=()):
        files_ = tree_of(self.source)
        for key, fields in found:
            self.assertEqual(fields.pop("bin"), files_[key + ".bin"])
            fields.pop("cls", None)
            self.assertEqual(fields, {} if key in without else
                             {"%s.txt" % name: caption(key, mark).encode()})
        self.assertEqual(len(found), len(self.keys))

    # ---- Reading --------------------------------------------------------------------------------

    def test_containers_and_orders(self):
        for container in CONTAINERS:
            for codec in ("none", "zstd"):
                with self.subTest(container=container, codec=codec):
                    self.pack(container, codec)
                    before = tree_of(self.dest)
                    self.add()
                    after = tree_of(self.dest)
                    self.assertEqual({n: d for n, d in after.items() if n in before}, before)
                    for order in (("--no-shuffle",), ("--seed", "3", "--shuffle-buffer", "7"),
                                  ("--seed", "4"), ("--seed", "5", "--shuffle-buffer", "0"),
                                  ("--seed", "3", "--lanes", "4", "--memory", "300kB",
                                   "--shuffle-buffer", "16")):
                        alone = [key for key, _ in self.samples(*order)]
                        found = self.samples(*order, "--columns", "cap")
                        self.assertEqual([key for key, _ in found], alone)
                        self.check(found)

    def test_ranks_and_positions(self):
        self.pack()
        self.add()
        whole, at = [], self.path("at")
        for rank in "01":
            order = ("--world-size", "2", "--rank", rank, "--seed", "2", "--lanes", "4",
                     "--shuffle-buffer", "8")
            all_ = self.samples(*order, "--columns", "cap")
            head = self.samples(*order, "--columns", "cap", "--limit", "9", "--save-position", at)
            with_column = read(at)
            self.samples(*order, "--limit", "9", "--save-position", at)
            self.assertEqual(read(at), with_column)     # the same with and without the column
            tail = self.samples("--world-size", "2", "--rank", rank, "--resume-from", at,
                                "--columns", "cap")
            self.assertEqual(head + tail, all_)
            whole += all_
        self.check(whole)

    def test_several(self):
        self.pack()
        self.add()
        table = self.path("scores.csv")
        with open(table, "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(("score", "key", "note"))
            rows.writerows((i / 7, key, "a, \"b\"\n%d" % i) for i, key in enumerate(self.keys))
        self.add("scores", table)
        masks = make_tree(self.path("masks"), {key + ".seg.png": key.encode() * 90
                                               for key in self.keys})
        self.add("masks", masks)
        for key, fields in self.samples("--columns", "masks,cap,scores", "--seed", "1"):
            i = self.keys.index(key)
            self.assertEqual(fields["cap.txt"], caption(key).encode())
            self.assertEqual(fields["scores.score"], repr(i / 7).encode())
            self.assertEqual(fields["scores.note"], b"a, \"b\"\n%d" % i)
            self.assertEqual(fields["masks.seg.png"], key.encode() * 90)
        listed = [json.loads(line) for line in
                  sheaf("column", "list", self.dest, "--json").stdout.splitlines()]
        self.assertEqual([(c["name"], c["samples"], c["missing"], c["fields"]) for c in listed],
                         [("cap", COUNT, 0, "txt"), ("masks", COUNT, 0, "seg.png"),
                          ("scores", COUNT, 0, "note,score")])

    def test_views(self):
        self.pack()
        self.add()
        keys = self.path("keys.txt")
        write(keys, "\n".join(self.keys[5:15]).encode())
        view = support.view_of(self, [(self.dest, {"where": {"keys": keys}})])
        found = self.samples("--columns", "cap", dest=view)
        self.assertEqual(sorted(key for key, _ in found), self.keys[5:15])
        for key, fields in found:
            self.assertEqual(fields["cap.txt"], caption(key).encode())

    def test_info_and_report(self):
        self.pack()
        page = self.path("page.html")
        self.assertNotIn(b"columns", sheaf("info", self.dest).stdout)
        self.assertEqual(json.loads(sheaf("info", self.dest, "--json").stdout)["columns"], [])
        sheaf("report", self.dest, "-o", page)
        self.assertNotIn(b"id=columns", read(page))
        self.add("cap", captions(self.path("some.jsonl"), self.keys[3:]))
        self.add("q", self.scores(self.path("scores.csv"), lambda i: i))
        self.assertIn(b"columns\n  cap  37 samples with a value, 3 without  ",
                      sheaf("info", self.dest).stdout)
        found = json.loads(sheaf("info", self.dest, "--json").stdout)["columns"]
        listed = [json.loads(line) for line in
                  sheaf("column", "list", self.dest, "--json").stdout.splitlines()]
        self.assertEqual(found, listed)
        self.assertEqual([(c["name"], c["samples"], c["missing"]) for c in found],
                         [("cap", 40, 3), ("q", 40, 0)])
        sheaf("report", self.dest, "-o", page)
        self.assertIn(b"<td>cap</td><td>txt</td><td>37</td><td>3</td>", read(page))
        os.unlink(os.path.join(self.dest, "columns/q/1/dataset.json"))
        self.assertIn(b"  q  unfinished\n", sheaf("info", self.dest).stdout)

    def scores(self, path, of):
        write(path, ("key,score\n" + "".join("%s,%r\n" % (key, of(i)) for i, key in
                                             enumerate(self.keys) if of(i) is not None)).encode())
        return path

    def chosen(self, view):
        return sorted(line.split("\t")[0] for line in
                      sheaf("cat", view, "--list").stdout.decode().splitlines())

    def test_views_choose_by_numbers(self):
        def score(i):
            return None if i % 5 == 0 else round(i / 10 - 1, 1)

        self.pack()
        self.add("q-1", self.scores(self.path("scores.csv"), score))
        view = self.path("good.view")
        for sign, fits in (("<", float.__lt__), ("<=", float.__le__), (">", float.__gt__),
                           (">=", float.__ge__), ("==", float.__eq__), ("!=", float.__ne__)):
            with self.subTest(sign=sign):
                sheaf("view", self.dest, "-o", view, "--overwrite", "--where",
                      "q-1.score%s0.3" % sign)
                self.assertEqual(self.chosen(view),
                                 [key for i, key in enumerate(self.keys)
                                  if score(i) is not None and fits(score(i), 0.3)])
        sheaf("view", self.dest, "-o", view, "--overwrite", "--where", "q-1.score>-0.75", "--where",
              "key=c1/*", "--where", "q-1.score<=2")
        expected = [key for i, key in enumerate(self.keys) if score(i) is not None and
                    -0.75 < score(i) <= 2 and key.startswith("c1/")]
        self.assertEqual(self.chosen(view), expected)
        # The same by hand, and without the file of what was chosen; no image is read for it.
        document = json.loads(read(view))
        self.assertEqual(document["sources"][0]["where"]["columns"],
                         [["q-1.score", ">", -0.75], ["q-1.score", "<=", 2]])
        fingerprint = json.loads(sheaf("info", view, "--json").stdout)["fingerprint"]
        os.unlink(view + ".chosen")
        self.assertEqual(self.chosen(view), expected)
        self.assertEqual(json.loads(sheaf("info", view, "--json").stdout)["fingerprint"],
                         fingerprint)
        # Another column of that name is another view.
        sheaf("column", "drop", self.dest, "q-1")
        self.assert_error(sheaf("cat", view, "--list", status=1), "%s: has no column q-1, which the "
                          "condition on q-1.score needs: the data set has no columns" % self.dest)
        self.add("q-1", self.scores(self.path("scores.csv"), lambda i: 5 if i < 30 else 0))
        sheaf("view", self.dest, "-o", view, "--overwrite", "--where", "q-1.score<1")
        self.assertEqual(self.chosen(view), self.keys[30:])
        self.assertNotEqual(json.loads(sheaf("info", view, "--json").stdout)["fingerprint"],
                            fingerprint)

    def test_views_read_no_image(self):
        """A condition on a column opens no shard of the base, and finds wrong pairs."""
        self.pack()
        self.add("q", self.scores(self.path("scores.csv"), lambda i: i))
        shards = [n for n in tree_of(self.dest) if n.startswith("shard-")]
        for name in shards:
            os.rename(os.path.join(self.dest, name), self.path(os.path.basename(name)))
        sheaf("view", self.dest, "-o", self.path("good.view"), "--where", "q.score>=20")
        for name in shards:
            os.rename(self.path(os.path.basename(name)), os.path.join(self.dest, name))
        self.assertEqual(self.chosen(self.path("good.view")), self.keys[20:])
        self.add("words")
        for words, said in ((("words.txt>1",), "which is not a number"),
                            (("none.score>1",), "%s: has no column none, which the condition on none.score "
                             "needs: the data set has the columns q, words;" % self.dest),
                            (("q.other>1",), "%s: the column q has no field other, which the condition on "
                                                 "q.other needs: it has the field" % self.dest),
                            (("q.score>1x",), "is not a condition"),
                            (("q.score=1",), "is not a condition")):
            self.assert_error(sheaf("view", self.dest, "-o", self.path("bad.view"), "--where",
                                    *words, status=None), said)

    def test_copies(self):
        self.pack()
        self.add()
        sheaf("convert", self.dest, self.path("made"), "--format", "tfrecord", "--columns", "cap")
        self.check(self.samples(dest=self.path("made")))
        sheaf("unpack", self.dest, self.path("files"), "--columns", "cap")
        self.assertEqual(tree_of(self.path("files")), {
            **tree_of(self.source),
            **{key + ".cap.txt": caption(key).encode() for key in self.keys}})

    # ---- Missing values --------------------------------------------------------------------------

    def test_missing(self):
        self.pack()
        some = self.keys[3:]
        done = self.add("cap", captions(self.path("some.jsonl"), some))
        self.assertIn(b"column cap: 37 samples with values, 3 without", done.stdout)
        done = sheaf("cat", self.dest, "--columns", "cap", "--null", status=1)
        self.assert_error(done, "has no value in the column cap", "--missing skip")
        self.check(self.samples("--columns", "cap", "--missing", "none"),
                   without=self.keys[:3])
        found = self.samples("--columns", "cap", "--missing", "skip", "--seed", "1")
        self.assertEqual(sorted(key for key, _ in found), some)
        done = sheaf("cat", self.dest, "--columns", "cap", "--missing", "skip", "--list")
        self.assertIn(b"3 samples were left out", done.stderr)

    def test_unknown_and_repeated(self):
        self.pack()
        path = self.path("x.jsonl")
        lines = [json.dumps({"key": key, "value": caption(key)}) for key in self.keys]
        lines[7:7] = [json.dumps({"key": "c9/none", "value": 1})]
        lines.append(json.dumps({"key": self.keys[2], "value": "again"}))
        write(path, "\n".join(lines).encode())
        before = tree_of(self.dest)
        done = self.add("cap", path, status=1)
        self.assert_error(done, "x.jsonl: line 8:", "no sample with the key c9/none",
                          "--unknown-keys skip")
        done = self.add("cap", path, "--unknown-keys", "skip", status=1)
        self.assert_error(done, "x.jsonl: line %d:" % len(lines), "a second value for the field "
                          "txt of the sample " + self.keys[2], "--duplicate-keys drop")
        self.assertEqual({n: d for n, d in tree_of(self.dest).items()
                          if not n.startswith("columns/")}, before)
        sheaf("column", "drop", self.dest, "cap", status=None)
        done = self.add("cap", path, "--unknown-keys", "skip", "--duplicate-keys", "drop")
        self.assertIn(b"1 value was left out, because the data set does not have the key",
                      done.stderr)
        self.check(self.samples("--columns", "cap"))

    def test_unknown_keys_are_named_once(self):
        """Each line is named once, whatever its number of fields. The number of values is printed in addition."""
        self.pack()
        lines = [json.dumps({"key": key, "value": "v", "score": 1, "tags": ["a"]})
                 for key in (self.keys[0], "c9/none", "c9/no", "c9/none")]
        table = [",".join(("key", "one", "two"))] + ["%s,1,2" % key for key in ("c9/no", "c9/none")]
        for name, text, numbers, count in (("two.jsonl", lines, (2, 3, 4), 9),
                                           ("two.csv", table, (2, 3), 4)):
            path = self.path(name)
            write(path, "\n".join(text).encode())
            said = self.add("cap-" + name[-3:].strip("."), path, "--unknown-keys",
                            "skip").stderr.decode()
            self.assertEqual(sorted(line.split(": ")[3] for line in said.splitlines()
                                    if ": skipped: " in line), ["line %d" % n for n in numbers])
            self.assertIn("%d values were left out" % count, said)

    def test_refusals(self):
        self.pack()
        self.add()
        before = tree_of(self.dest)
        bad = self.path("bad.jsonl")
        write(bad, b'{"name": "x", "value": 1}\n')
        for words, said in (
                (("cap",), "has a column cap, and a column never changes"),
                (("Cap",), "is not a name of a column"),
                (("more", bad), "bad.jsonl: line 1: expected an object with a string \"key\""),
                (("more", self.path("none.jsonl")), "none.jsonl")):
            self.assert_error(self.add(*words, status=None), said)
            self.assertEqual(tree_of(self.dest), before)
        self.assert_error(sheaf("cat", self.dest, "--columns", "nocap", "--list", status=1),
                          "has no column nocap")
        self.assert_error(sheaf("column", "drop", self.dest, "nocap", status=1),
                          "has no column nocap")

    def test_a_field_is_not_hidden(self):
        make_tree(self.path("two"), {"a.txt": b"1", "a.cap.txt": b"2", "b.txt": b"3"})
        pack(self.path("two"), self.dest)
        write(self.path("two.jsonl"), b'{"key": "a", "value": "v"}\n')
        self.assert_error(self.add("cap", self.path("two.jsonl"), status=1), "cap.txt")

    # ---- By key and number ----------------------------------------------------------------------

    def test_get(self):
        """Samples that are read by key or number have the same columns as in an epoch."""
        self.pack()
        self.add("cap", captions(self.path("some.jsonl"), self.keys[:-1]))
        more = make_tree(self.path("more"), files("b", 5))
        sheaf("append", more, self.dest)
        self.add("cap", captions(self.path("new.jsonl"), keys_of(more)), "--only-missing")
        self.add("q", self.scores(self.path("scores.csv"), lambda i: i))
        for key in (self.keys[0], self.keys[20], keys_of(more)[3]):
            out = sheaf("get", self.dest, key, "--columns", "cap", "--field", "cap.txt").stdout
            self.assertEqual(out, caption(key).encode())
        keys = [self.keys[7], self.keys[2], self.keys[30]]
        sheaf("get", self.dest, *keys, "--columns", "cap,q", "-o", self.path("got"))
        got, source = tree_of(self.path("got")), tree_of(self.source)
        self.assertEqual(len(got), 9)
        for key in keys:
            self.assertEqual(got[key + ".bin"], source[key + ".bin"])
            self.assertEqual(got[key + ".cap.txt"], caption(key).encode())
            self.assertEqual(got[key + ".q.score"], b"%d" % self.keys.index(key))
        # Numbers, also in a view.
        listed = [key for key, _ in self.samples("--no-shuffle")]
        view = support.view_of(self, [(self.dest, {"where": {"range": [10, 20]}})])
        for source in (self.dest, view):
            number = 12
            key = listed[number]
            if key != self.keys[-1]:
                self.assertEqual(sheaf("get", source, "--number", str(number), "--columns", "cap",
                                       "--field", "cap.txt").stdout, caption(key).encode())
        last = self.keys[-1]
        self.assert_error(sheaf("get", self.dest, last, "--columns", "cap", "--field", "bin",
                                status=1), "the sample %s has no value in the column cap" % last)
        self.assertEqual(sheaf("get", self.dest, last, "--columns", "cap", "--field", "bin",
                               "--missing", "none").stdout, tree_of(self.source)[last + ".bin"])
        sheaf("get", self.dest, last, "--columns", "cap", "--missing", "skip", status=2)
        self.assert_error(sheaf("get", self.dest, last, "--columns", "nocap", status=1),
                          "has no column nocap")
        self.assert_error(sheaf("get", self.dest, self.keys[0], "--columns", "cap", status=1),
                          "has several fields")

    def test_get_finds_wrong_pairs(self):
        self.pack()
        self.add()
        shard = os.path.join(self.dest, "columns", "cap", "1", "column-000000.tfrecord")
        write(shard, flip(read(shard), len(read(shard)) // 2))
        failed = [key for key in self.keys
                  if sheaf("get", self.dest, key, "--columns", "cap", "--field", "cap.txt",
                           status=None).returncode != 0]
        self.assertEqual(len(failed), 1)

    # ---- Changes --------------------------------------------------------------------------------

    def test_append_and_drop(self):
        self.pack()
        self.add()
        more = make_tree(self.path("more"), files("b", 10))
        sheaf("append", more, self.dest, "--shard-count", "2")
        new = keys_of(more)
        found = dict(self.samples("--columns", "cap", "--missing", "none"))
        self.assertEqual({key for key in found if "cap.txt" not in found[key]}, set(new))
        listed = json.loads(sheaf("column", "list", self.dest, "--json").stdout)
        self.assertEqual((listed["samples"], listed["uncovered"]), (COUNT, 10))
        path = captions(self.path("new.jsonl"), [*new, *self.keys[:2]])
        done = self.add("cap", path, "--only-missing")
        self.assertIn(b"10 samples with values, 0 without", done.stdout)
        self.assertIn(b"2 values were left out", done.stderr)
        for order in (("--no-shuffle",), ("--seed", "1")):
            for key, fields in self.samples("--columns", "cap", *order):
                self.assertEqual(fields["cap.txt"], caption(key).encode())
        done = self.add("cap", path, "--only-missing")
        self.assertIn(b"nothing is missing", done.stderr)
        sheaf("verify", self.dest, "--columns", "cap")
        sheaf("column", "drop", self.dest, "cap")
        self.assertEqual(sheaf("column", "list", self.dest).stdout, b"")
        self.assertEqual([n for n in tree_of(self.dest) if n.startswith("columns")], [])
        self.add("cap", captions(self.path("all.jsonl"), [*self.keys, *new], "!"))
        for key, fields in self.samples("--columns", "cap"):
            self.assertEqual(fields["cap.txt"], caption(key, "!").encode())

    def test_a_drop_leaves_files_that_no_column_has(self):
        self.pack()
        self.add()
        own = tree_of(self.dest)
        for name in ("1/skipped.tsv", "1/converted.tsv", "1/notes.txt", "01/dataset.json", "+2/x"):
            write(os.path.join(self.dest, "columns/cap", name), b"mine")
        stray = tree_of(self.dest).keys() - own.keys()
        sheaf("column", "drop", self.dest, "cap")
        self.assertEqual(len(stray), 5)
        self.assertEqual({n for n in tree_of(self.dest) if n.startswith("columns")}, stray)

    def test_a_drop_names_views(self):
        """Views that need the column are named if they are beside the data set or in it. Views of
        other data sets and of other columns are not named."""
        self.pack()
        for name in ("q", "q-2"):
            self.add(name, self.scores(self.path("scores.csv"), float))
        other = self.path("other")
        shutil.copytree(self.dest, other)
        sheaf("edit", other, "--delete", self.list_of("deleted.txt", self.keys[:1]))
        sheaf("column", "drop", other, "q")
        sheaf("column", "add", other, "--name", "q", "--from",
              self.scores(self.path("scores.csv"), float), "--unknown-keys", "skip")
        for name, dest, column in (("near.view", self.dest, "q"), ("far/far.view", self.dest, "q"),
                                   ("set/in.view", self.dest, "q"), ("two.view", self.dest, "q-2"),
                                   ("other.view", other, "q")):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            sheaf("view", dest, "-o", self.path(name), "--where", "%s.score>3" % column)
        write(self.path("bad.view"), b"{\"sheaf_view\": 1, ")
        said = sheaf("column", "drop", self.dest, "q").stderr.decode().splitlines()
        self.assertEqual(len(said), 2, said)
        for name in ("near.view", "set/in.view"):
            self.assertTrue(any(line.startswith("sheaf: %s: this view can no longer be opened"
                                                % self.path(name)) for line in said), said)
        self.assertEqual(sheaf("column", "drop", self.dest, "q-2").stderr.count(b"two.view"), 1)

    def list_of(self, name, lines):
        write(self.path(name), "".join(line + "\n" for line in lines).encode())
        return self.path(name)

    def test_a_source_without_values(self):
        self.pack()
        for name, data in (("e.jsonl", b""), ("e.csv", b"key,value\n"), ("none.csv", b""),
                           ("null.jsonl", b'{"key": "%s", "value": null}\n' % self.keys[0].encode())):
            write(self.path(name), data)
            self.assert_error(self.add("e", self.path(name), status=2), "has no values")
        os.makedirs(self.path("empty"))
        self.assert_error(self.add("e", self.path("empty"), status=2), "has no values")
        self.assertEqual(sheaf("column", "list", self.dest).stdout, b"")

    def test_appended_and_then_edited(self):
        """After an edit, all parts of a data set that was appended to have the same fingerprint."""
        self.pack()
        more = make_tree(self.path("more"), files("b", 10))
        sheaf("append", more, self.dest)
        new = keys_of(more)
        sheaf("edit", self.dest, "--delete", self.list_of("gone.txt", [self.keys[0], new[0]]))
        left = self.keys[1:] + new[1:]
        self.add("cap", captions(self.path("all.jsonl"), left))
        for order in (("--no-shuffle",), ("--seed", "1")):
            found = self.samples("--columns", "cap", *order)
            self.assertEqual(sorted(key for key, _ in found), sorted(left))
            for key, fields in found:
                self.assertEqual(fields["cap.txt"], caption(key).encode())
        sheaf("verify", self.dest, "--columns", "cap")
        last = make_tree(self.path("last"), files("c", 5))
        sheaf("append", last, self.dest)
        self.add("cap", captions(self.path("last.jsonl"), keys_of(last)), "--only-missing")
        self.assertEqual(len(self.samples("--columns", "cap")), len(left) + 5)
        self.assertIn(b"cap\t%d\t0\t" % (len(left) + 5),
                      sheaf("column", "list", self.dest).stdout)

    def test_another_base(self):
        """The samples have other bytes, in other places, so the column is refused."""
        self.pack()
        self.add()
        column = self.path("kept")
        shutil.copytree(os.path.join(self.dest, "columns"), column)
        shutil.rmtree(self.dest)
        pack(self.source, self.dest, "webdataset", "none", "--shard-count", "4", "--seed", "9")
        shutil.copytree(column, os.path.join(self.dest, "columns"))
        self.assert_error(sheaf("cat", self.dest, "--columns", "cap", "--list", status=1),
                          "belongs to another data set")
        # Even if the fingerprint is the same, the records differ.
        path = os.path.join(self.dest, "columns", "cap", "1", "dataset.json")
        document = json.loads(read(path))
        document["options"]["base"] = json.loads(read(os.path.join(self.dest, "dataset.json")))[
            "fingerprint"]
        write(path, self.signed(document))
        self.assert_error(sheaf("cat", self.dest, "--columns", "cap", "--list", status=1),
                          "belongs to another sample")
        self.assert_error(sheaf("verify", self.dest, "--columns", "cap", status=1),
                          "belongs to another sample")
        self.assert_error(sheaf("get", self.dest, "--number", "3", "--columns", "cap", status=1),
                          "belongs to another sample")

    @staticmethod
    def signed(document):
        try:
            import xxhash
        except ImportError:
            raise unittest.SkipTest("no xxhash")
        del document["fingerprint"]
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        document["fingerprint"] = xxhash.xxh3_128_hexdigest(text.encode())
        return json.dumps(document).encode()

    def test_damage(self):
        self.pack()
        self.add()
        shard = os.path.join(self.dest, "columns", "cap", "1", "column-000000.tfrecord")
        write(shard, flip(read(shard), len(read(shard)) // 2))
        self.assert_error(sheaf("cat", self.dest, "--columns", "cap", "--list", status=1),
                          "column-000000.tfrecord", "record")
        done = sheaf("cat", self.dest, "--columns", "cap", "--list", "--on-corrupt", "skip")
        self.assertEqual(len(done.stdout.splitlines()), COUNT - 1)
        sheaf("verify", self.dest, "--columns", "cap", status=1)
        sheaf("verify", self.dest)
        os.unlink(shard)
        done = sheaf("verify", self.dest, "--columns", "cap", status=1)
        self.assertEqual(done.stderr.count(b"column-000000.tfrecord"), 1)
        found = json.loads(sheaf("verify", self.dest, "--columns", "cap", "--json", status=1).stdout)
        self.assertEqual([len(found["problems"]), found["sound"], "error" in found], [1, False, False])

    def test_two_writers(self):
        """One of them writes the column, and the other one is refused; or both write the same."""
        self.pack()
        for second in ("", "!"):
            sources = [captions(self.path("c%s.jsonl" % mark), self.keys, mark)
                       for mark in ("", second)]
            runs = [subprocess.Popen([SHEAF, "column", "add", self.dest, "--name", "cap", "--from",
                                      source], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    for source in sources]
            ends = [(run.communicate()[1], run.returncode) for run in runs]
            done = [mark for mark, (_, code) in zip(("", second), ends) if code == 0]
            self.assertEqual(len(done), 1, ends)
            for said, code in ends:
                self.assertTrue(code == 0 or b"columns/cap/1" in said or
                                b"has a column cap" in said, said)
            self.check(self.samples("--columns", "cap"), mark=done[0])
            sheaf("verify", self.dest, "--columns", "cap")
            sheaf("column", "drop", self.dest, "cap")
            self.assertEqual([n for n in tree_of(self.dest) if n.startswith("columns")], [])

    def test_append_at_once(self):
        """Whichever comes first, the column is there for the samples of before."""
        more = make_tree(self.path("more"), files("b", 10))
        for _ in range(3):
            self.pack()
            append = subprocess.Popen([SHEAF, "append", more, self.dest], stdout=subprocess.DEVNULL)
            done = self.add("cap", status=None)
            self.assertEqual(append.wait(), 0)
            if done.returncode != 0:
                self.assert_error(done, "the data set changed while the column was made")
                self.add()
            found = dict(self.samples("--columns", "cap", "--missing", "none"))
            self.assertEqual({key for key in found if "cap.txt" in found[key]}, set(self.keys))
            self.assertEqual(len(found), COUNT + 10)

    def test_resume_needs_the_same_values(self):
        self.pack()
        first = captions(self.path("c.jsonl"), self.keys)
        words = ("column", "add", self.dest, "--name", "cap", "--from", first, "--resume")
        killed = 1
        while not os.path.exists(os.path.join(self.dest, "columns/cap/1/column-000000.tfrecord")):
            sheaf(*words, status=None, env=killing(self, killed))
            killed += 5
        self.assertFalse(os.path.exists(os.path.join(self.dest, "columns/cap/1/dataset.json")))
        other = captions(self.path("other.jsonl"), self.keys, "!")
        self.assert_error(self.add("cap", other, "--resume", status=1), "columns/cap/1")
        sheaf("column", "drop", self.dest, "cap")
        self.assertEqual(os.listdir(self.dest), [n for n in os.listdir(self.dest)
                                                 if n != "columns"])
        self.add("cap", other)
        self.check(self.samples("--columns", "cap"), mark="!")

    def test_killed_anywhere(self):
        """After a kill, the column is whole or missing. The next run completes it."""
        self.pack()
        base = tree_of(self.dest)
        source = captions(self.path("c.jsonl"), self.keys)
        self.add("cap", source)
        whole = {n: d for n, d in tree_of(self.dest).items() if n.startswith("columns/")}
        words = ("column", "add", self.dest, "--name", "cap", "--from", source, "--resume")
        for at in kills(self, KILL_STEP, lambda: shutil.rmtree(os.path.join(self.dest, "columns")), *words,
                        first=1):
            there = sheaf("cat", self.dest, "--columns", "cap", "--list", status=None)
            if there.returncode == 0:
                self.assertEqual(len(there.stdout.splitlines()), COUNT)
            sheaf(*words)
            now = tree_of(self.dest)
            self.assertEqual({n: d for n, d in now.items() if not n.startswith("columns/")}, base)
            self.assertEqual({n: d for n, d in now.items() if n.startswith("columns/")}, whole)
        self.assertGreater(at, 10)
        self.assertEqual(tree_of(self.dest), {**base, **whole})


class ColumnsOverHttp(Case):
    def test_one_read_for_a_shard(self):
        """A small column is read once for each shard of the base, however often that is read."""
        chance = support.random.Random(3)
        source = make_tree(self.path("source"), {"k%02d.bin" % i: chance.randbytes(150000)
                                                 for i in range(40)})
        pack(source, self.path("web/set"), "webdataset", "none", "--shard-count", "2")
        sheaf("column", "add", self.path("web/set"), "--name", "cap", "--from",
              captions(self.path("c.jsonl"), keys_of(source)))
        server = servers.Nginx(self.path("web"))
        self.addCleanup(server.stop)
        for order in (("--no-shuffle",), ("--shuffle-buffer", "4")):
            before = len(server.requests())
            done = sheaf("cat", server.url + "/set/", "--columns", "cap", "--list", "--memory",
                         "4MB", *order)
            self.assertEqual(done.stdout.count(b"cap.txt:"), 40)
            asked = server.requests()[before:]
            self.assertEqual(sum("GET /set/columns/cap/1/column-" in line for line in asked), 2)
            self.assertGreater(sum("GET /set/shard-" in line for line in asked), 6)


class ColumnsInBucket(servers.S3Case):
    def test_whole_way(self):
        source = make_tree(self.path("source"), files("s"))
        keys = keys_of(source)
        self.sheaf("pack", source, self.url("set/"), "--format", "webdataset", "--shard-count", "3")
        self.sheaf("column", "add", self.url("set/"), "--name", "cap", "--from",
                   captions(self.path("c.jsonl"), keys))
        self.assert_clean("set/")
        listed = {}
        for more in ((), ("--seed", "2", "--lanes", "2"), ("--cache", self.path("cache")),
                     ("--cache", self.path("cache"))):
            out = self.sheaf("cat", self.url("set/"), "--columns", "cap", "--list", *more).stdout
            for line in out.decode().splitlines():
                key, _, *fields = line.split("\t")
                listed.setdefault(key, set()).add(tuple(sorted(fields)))
        self.assertEqual(sorted(listed), keys)
        for key, seen in listed.items():
            (fields,) = seen
            self.assertIn("cap.txt:%d" % len(caption(key).encode()), fields)
        self.sheaf("verify", self.url("set/"), "--columns", "cap")
        self.sheaf("fetch", self.url("set/"), self.path("fetched"))     # columns come with the set
        out = sheaf("cat", self.path("fetched"), "--columns", "cap", "--list").stdout
        self.assertEqual(out.count(b"cap.txt:"), 40)
        self.assertIn(b"cap  40 samples", self.sheaf("info", self.url("set/")).stdout)
        self.assertIn(b"cap\t40\t0\t", self.sheaf("column", "list", self.url("set/")).stdout)
        self.sheaf("column", "drop", self.url("set/"), "cap")
        self.assertEqual(self.sheaf("column", "list", self.url("set/")).stdout, b"")
        left = [n for n in self.stored("set/") if n.startswith("columns")]
        self.assertEqual(left, ["columns/cap/1/dataset.json"])      # a stand-in; see column_drop.c
        self.assert_error(self.sheaf("cat", self.url("set/"), "--columns", "cap", status=1),
                          "has no column cap (dropped at 20")
        self.assert_error(self.sheaf("column", "drop", self.url("set/"), "cap", status=1),
                          "has no column cap (dropped at 20")
        self.sheaf("fetch", self.url("set/"), self.path("fetched-2"))
        self.assertEqual(sheaf("column", "list", self.path("fetched-2")).stdout, b"")
        self.sheaf("column", "add", self.url("set/"), "--name", "cap", "--from",
                   captions(self.path("c.jsonl"), keys[3:], "!"))
        self.sheaf("verify", self.url("set/"), "--columns", "cap")
        self.assertIn(b"cap\t37\t3\t", self.sheaf("column", "list", self.url("set/")).stdout)


if __name__ == "__main__":
    unittest.main()
