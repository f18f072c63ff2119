# SPDX-License-Identifier: MIT
"""Tests views together with other features: views that are converted, given to commands that take files, made from
lists of keys as editors write them, written twice at once, and damaged."""

import json
import os
import shutil
import subprocess

import libsheaf
import writers
from support import (SHEAF, TIMEOUT, Case, listing, make_tree, pack, read, sheaf, shards_of,
                     view_of, write)


class ViewSeams(Case):
    @classmethod
    def share(cls):
        cls.sets = []
        for name, container in (("a", "webdataset"), ("b", "tfrecord")):
            tree = {"cat/%s%d.txt" % (name, i): b"%s %d" % (name.encode(), i) * 100
                    for i in range(40)}
            cls.sets.append(os.path.join(cls.shared, name))
            pack(make_tree(os.path.join(cls.shared, "tree-" + name), tree), cls.sets[-1], container,
                 "none", "--shard-size", "6kB")

    def view(self, *options, sources=None, name="v.view", **how):
        path = self.path(name)
        return path, sheaf("view", *(sources or self.sets), "-o", path, *options, **how)

    def keys(self, view):
        return sorted(line.split("\t")[0] for line in listing(view))

    def test_convert(self):
        """Shards are cut by size, because the view mixes the shards of its sources."""
        view, _ = self.view("--weights", "1,1", "--until", "first")
        dest = self.path("out")
        sheaf("convert", view, dest, "--format", "recordio")
        self.assertEqual(len(shards_of(dest)), 1)
        self.assertEqual([line.split("\t")[0] for line in listing(dest, "--no-shuffle")],
                         [line.split("\t")[0] for line in listing(view, "--no-shuffle")])
        sheaf("verify", dest)
        sheaf("convert", view, dest, "--format", "recordio", "--resume")

    def test_copies_of_what_comes_twice(self):
        """A copy has each sample once, under its own key."""
        twin = self.path("twin")
        pack(make_tree(self.path("tree-twin"), {"cat/a1.txt": b"twin"}), twin)
        again, _ = self.view("--repeat", "1,2.5", name="again.view")
        both, _ = self.view(sources=[self.sets[0], twin])
        for words in (("convert", again, self.path("out"), "--format", "tfrecord"),
                      ("unpack", again, self.path("out"))):
            done = sheaf(*words, status=1)
            self.assertIn(b"b: the samples that the view chooses of it come 2.5 times an epoch",
                          done.stderr)
            self.assertFalse(os.path.exists(self.path("out")))
        done = sheaf("convert", both, self.path("out"), "--format", "tfrecord", status=1)
        self.assertIn(b'leave it out of one with "not_keys" in a view', done.stderr)
        document = json.loads(read(both))
        document["sources"][1]["where"] = {"not_keys": "twins.txt"}
        document["sources"][1]["source"] = self.sets[0]
        document["sources"][0]["source"] = self.sets[0]
        write(self.path("twins.txt"), b"cat/a1\n")
        document["sources"][0]["where"] = {"keys": "twins.txt"}
        write(both, json.dumps(document).encode())
        sheaf("convert", both, self.path("out"), "--format", "tfrecord", "--overwrite")
        self.assertEqual(self.keys(self.path("out")), self.keys(self.sets[0]))

    def test_fields_that_are_nowhere(self):
        _, done = self.view("--fields", "txt,jgp")
        self.assertEqual(done.stderr.decode(),
                         'sheaf: --fields: the first sample of each source has no field "jgp"\n')

    def test_classes_by_number(self):
        """A number has one name, whatever the sources call it. Sources whose first labels differ are refused."""
        named = []
        for name, classes, base in (("x", "uvw", "0"), ("y", "pq", "0"), ("z", "uvw", "1")):
            tree = {"%s/%s.txt" % (c, name): c.encode() for c in classes}
            named.append(self.path("set-" + name))
            pack(make_tree(self.path("tree-" + name), tree), named[-1], "tfrecord", "none",
                 "--label-base", base)
        view, _ = self.view("--classes", "by-number", sources=named[:2])
        dest = self.path("out")
        sheaf("convert", view, dest, "--format", "tfrecord")
        self.assertEqual(sorted(line.split("\t")[:2] for line in listing(dest)),
                         [["p/y", "0"], ["q/y", "1"], ["u/x", "0"], ["v/x", "1"], ["w/x", "2"]])
        self.assertEqual(json.loads(read(os.path.join(dest, "dataset.json")))["classes"],
                         ["u", "v", "w"])
        sheaf("verify", dest)           # the names in the samples are those of their labels
        _, done = self.view("--classes", "by-number", sources=named, name="w.view", status=None)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"labels begin at 1, but at 0 in", done.stderr)

    def test_lists_of_names(self):
        for names in ("txt,", ",txt", "txt,,json", ""):
            _, done = self.view("--fields", names, status=None)
            self.assertNotEqual(done.returncode, 0, names)
            self.assertIn(b"is not a name", done.stderr)

    def test_commands_that_take_files(self):
        view, _ = self.view()
        moved = self.path("v.json")
        write(moved, b"\xef\xbb\xbf" + read(view))
        for words in (("pack", view, self.path("out"), "--format", "recordio"),
                      ("pack", moved, self.path("out"), "--format", "recordio"),
                      ("plan", view, self.path("out"), "-o", self.path("p"), "--format", "recordio"),
                      ("advise", view), ("fetch", view, self.path("out")),
                      ("pipe", view, self.path("out"))):
            done = sheaf(*words, status=None)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertFalse(os.path.exists(self.path("out")), words)
            self.assertIn(b": is a view, not files: name its sources, or make a data set of it with "
                          b"sheaf convert first", done.stderr, words)
            self.assertFalse(os.path.exists(self.path("out")) and words[0] != "pipe", words)

    def test_lists_of_keys_for_many_sources(self):
        """The keys of a source are looked up in the source alone, before it becomes one of several."""
        sources = []
        for i in range(30):
            write(self.path("keys%d.txt" % i), b"cat/a%d\n" % i)
            sources.append((self.sets[0], {"where": {"keys": "keys%d.txt" % i}}))
        view = view_of(self, sources)
        self.assertEqual(self.keys(view), sorted("cat/a%d" % i for i in range(30)))
        self.assertIn(b"30", sheaf("info", view).stdout)

    def test_lists_of_keys(self):
        keys = self.path("lists/keys.txt")
        os.mkdir(self.path("elsewhere"))
        for text in (b"cat/a1\ncat/a2\n", b"cat/a1\r\n\r\ncat/a2\r\ncat/a2", b"\n\ncat/a2\ncat/a1",
                     b"\xef\xbb\xbfcat/a1\ncat/a2\nno/such\n"):
            write(keys, text)
            view, _ = self.view("--keys", "lists/keys.txt", "--overwrite", sources=self.sets[:1],
                                name="elsewhere/v.view", cwd=self.folder)
            self.assertEqual(self.keys(view), ["cat/a1", "cat/a2"], text)
        for text, message in ((b"cat/a1\ncat\0a2\n", "line 2: a NUL byte"),
                              (b"no/such\n", 'no sample fulfils "where": {"keys":"%s"}' % keys),
                              (b"\n\n", 'no sample fulfils "where": {"keys":"%s"}' % keys)):
            write(keys, text)
            view, done = self.view("--keys", keys, sources=self.sets[:1], name="none.view",
                                   status=2)
            self.assertIn(message, done.stderr.decode())
            self.assertFalse(os.path.exists(view))

    def test_sets_of_labels(self):
        """Tests sets of labels and ranges, like the list of classes, in the command and in a document written by
        hand."""
        dest = self.path("numbered")
        pack(make_tree(self.path("tree-numbered"), {"%s/%d.txt" % (name, i): b"x" for name in "abcdefg"
                                                    for i in range(2)}), dest)
        for text, document, expected in (
                ("label=0,2", {"label": [0, 2]}, "ac"), ("label=1..3", {"labels": [1, 3]}, "bcd"),
                ("label=0,2..3,6", {"label": [0, [2, 3], 6]}, "acdg"), ("label=4", {"label": [4]}, "e"),
                ("class=a,c", {"classes": ["a", "c"]}, "ac")):
            view, _ = self.view("--where", text, "--overwrite", sources=[dest])
            self.assertEqual(sorted({key[0] for key in self.keys(view)}), list(expected))
            self.assertEqual(json.loads(read(view))["sources"][0]["where"], document)
        for text in ("label=", "label=1,", "label=cat", "label=1...2", "label=1..2,x"):
            _, done = self.view("--where", text, name="bad.view", sources=[dest], status=2)
            self.assertIn(b"expected class=NAME,..., label=N,A..B,...", done.stderr)
        write(self.path("odd.view"), json.dumps({"sheaf_view": 1, "sources": [
            {"source": dest, "where": {"class": ["a"]}}]}).encode())
        self.assertIn(b'unknown name "class": expected one of "classes", "label"',
                      sheaf("cat", self.path("odd.view"), status=1).stderr)

    def test_patterns_of_keys(self):
        view, _ = self.view("--where", "key=cat/[!b]3[0-5]", sources=self.sets[:1])
        self.assertEqual(self.keys(view), ["cat/a3%d" % i for i in range(6)])
        view, done = self.view("--where", "key=cat/[a", name="bad.view", status=2)
        self.assertIn(b'invalid "key_glob" "cat/[a": a "[" without its "]"', done.stderr)
        write(view, json.dumps({"sheaf_view": 1, "sources": [
            {"source": self.sets[0], "where": {"key_glob": "a\\"}}]}).encode())
        self.assertIn(b'invalid "key_glob" "a\\": it ends with a backslash',
                      sheaf("cat", view, status=1).stderr)

    def test_keys_of_two_sources(self):
        twin = self.path("twin")
        pack(make_tree(self.path("tree-twin"), {"cat/a1.txt": b"twin"}), twin)
        view, _ = self.view(sources=[self.sets[0], twin])
        out = self.path("out")
        done = sheaf("get", view, "cat/a1", "cat/a2", "-o", out, status=1)
        self.assertEqual(done.stderr.decode().splitlines()[0],
                         "sheaf: cat/a1: 2 samples have this key: choose one with --number")
        self.assertIn("sheaf: cat/a1: --number 40 is that of %s" % twin, done.stderr.decode())
        self.assertEqual(os.listdir(os.path.join(out, "cat")), ["a2.txt"])
        sheaf("get", view, "--number", "40", "-o", out)
        self.assertEqual(read(os.path.join(out, "cat/a1.txt")), b"twin")
        self.assertIn(b"twin", sheaf("get", view, "cat/a1").stdout)

        def located(*words):
            return [line.split("\t")[0]
                    for line in sheaf("locate", *words).stdout.decode().splitlines()]
        self.assertEqual(sorted(located(self.sets[0], twin, "--key", "cat/a1", "--key", "cat/a7")),
                         ["cat/a1", "cat/a1", "cat/a7"])
        self.assertEqual(located(self.sets[0], "cat/a1"), ["cat/a1"])
        found = [json.loads(line) for line in sheaf("locate", view, "cat/a1", "cat/a7", "--json")
                 .stdout.splitlines()]
        self.assertEqual(sorted((f["key"], f.get("source")) for f in found if f["key"] == "cat/a1"),
                         [("cat/a1", source) for source in sorted((self.sets[0], twin))])
        self.assertEqual([f.get("source") for f in found if f["key"] == "cat/a7"], [None])
        self.assertIn("\tsource %s\n" % twin, sheaf("locate", view, "cat/a1").stdout.decode())
        self.assertEqual(located(self.sets[0], "--key=cat/a1"), ["cat/a1"])

    def test_what_messages_name(self):
        view, _ = self.view()
        words = ("cat", view, "--batch", "16", "--list", "--step")
        self.assertEqual(len(sheaf(*words, "4").stdout.splitlines()), 16)
        for step in ("5", "9" * 15):
            self.assertIn(b"there is no step %s: the epoch has 5 steps, numbered from 0" %
                          step.encode(), sheaf(*words, step, status=2).stderr)
        self.assertIn(b": the epoch has 3 steps", sheaf(
            *words, "3", "--world-size", "2", "--remainder", "pad", status=2).stderr)
        self.assertIn(b"v.view: exists; --overwrite replaces it",
                      self.view(status=1)[1].stderr)
        plan, dest = self.path("p"), self.path("dest")
        sheaf("plan", make_tree(self.path("tree"), {"k.txt": b"1"}), dest, "-o", plan, "--format",
              "tfrecord")
        sheaf("pack", "--plan", plan, "--part", "0/1")
        self.assertIn(b"sheaf commit publishes the parts of a plan",
                      sheaf("cat", dest, "--list", status=1).stderr)

    def test_documents_that_are_hostile(self):
        source = json.dumps(self.sets[0])
        view, other = self.path("v.view"), self.path("w.view")
        for text, message in (
                ("", "examined: 0 bytes"),
                ('{"sheaf_view": 1, "sources": ' + "[" * 600000, "maximum parsing depth"),
                ('{"sheaf_view": 1, "x": ' + '{"a": ' * 200000 + "1" + "}" * 200001,
                 "maximum parsing depth"),
                ('{"sheaf_view": 1, "sources": [], "sources": [{"source": %s}]}' % source,
                 "duplicate object key"),
                ('{"sheaf_view": 1, "samples": %s, "sources": [{"source": %s, "weight": 1}]}' %
                 ("9" * 1000000, source), "too big integer"),
                ('{"sheaf_view": 1, "sources": [{"source": %s}]}\0' % source, "end of file expected"),
                ('{"sheaf_view": 1, "sources": [{"source": "a\\u0000"}]}', "not allowed"),
                (json.dumps({"sheaf_view": 1, "sources": [{"source": "a"}] * 100000}),
                 "not a list of 1 to 65535 sources"),
                (json.dumps({"sheaf_view": 1, "sources": [{"source": "a" * 2000000}]}), "aaaa"),
                ('{"sheaf_view": 1, "sources": [{"source": "v.view"}]}', "v.view: a view of a view"),
                ('{"sheaf_view": 1, "sources": [{"source": "w.view"}]}', "w.view: a view of a view")):
            write(view, text.encode())
            write(other, b'{"sheaf_view": 1, "sources": [{"source": "v.view"}]}')
            done = sheaf("cat", view, "--list", status=None)
            self.assertIn(done.returncode, (1, 2), text[:80])
            self.assertIn(message, done.stderr.decode())
            self.assertLess(len(done.stderr), 3000)

    def test_two_at_once(self):
        """Each of several commands must do all of its work, or say that another one has done it."""
        def run(*commands):
            begun = [subprocess.Popen([SHEAF, *words], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE) for words in commands]
            return [(p.communicate(timeout=TIMEOUT)[1].decode(), p.returncode) for p in begun]

        path = self.path("two.view")
        for _ in range(5):
            ended = run(*(("view", source, "-o", path, "--where", "key=cat/?1*")
                          for source in self.sets))
            self.assertEqual(sorted(status for _, status in ended), [0, 1], ended)
            winner = [status for _, status in ended].index(0)
            self.assertIn("exists; --overwrite replaces it", ended[1 - winner][0])
            self.assertEqual(self.keys(path), sorted(
                "cat/%s%d" % ("ab"[winner], i) for i in [1, *range(10, 20)]))
            os.unlink(path)
        copy = self.path("copy")
        shutil.copytree(self.sets[0], copy)
        os.unlink(os.path.join(copy, "dataset.keys"))
        ended = run(*[("index", "--keys", copy)] * 3)
        self.assertIn(0, [status for _, status in ended])
        for errors, status in ended:
            self.assertIn("another process is working there" if status else "", errors)
        self.assertEqual(read(os.path.join(copy, "dataset.keys")),
                         read(os.path.join(self.sets[0], "dataset.keys")))

    def test_one_view_opened_twice(self):
        view, _ = self.view("--where", "key=cat/?2*")
        with libsheaf.DataSet(view) as one, libsheaf.DataSet(view) as two, \
                libsheaf.Reader(one) as left, libsheaf.Reader(two) as right:
            pairs = list(zip(left, right))
        self.assertEqual(len(pairs), 22)
        self.assertTrue(all(a.key == b.key for a, b in pairs))

    def test_foreign_shards(self):
        write(self.path("x.tar"), writers.tar([("s%d.txt" % i, b"%d" % i) for i in range(30)]))
        view, _ = self.view("--where", "key=s1?", "--not-keys", "no.txt", cwd=self.folder, status=None,
                            sources=["x.tar"])
        self.assertFalse(os.path.exists(view))
        write(self.path("no.txt"), b"s11\r\ns12")
        view, _ = self.view("--where", "key=s1?", "--not-keys", "no.txt", cwd=self.folder,
                            sources=["x.tar"])
        self.assertEqual(self.keys(view), ["s10", *("s%d" % i for i in range(13, 20))])
        sheaf("convert", view, self.path("out"), "--format", "tfrecord")
        self.assertEqual(self.keys(self.path("out")), self.keys(view))
        begun = listing(view, "--limit", "3", "--save-position", self.path("position"))
        self.assertEqual(begun + listing(view, "--resume-from", self.path("position")),
                         listing(view))

    def test_fewer_samples_than_ranks(self):
        """Ranks without a sample repeat the sample of another rank, and a position for more lanes can be resumed."""
        view, _ = self.view("--where", "range=0..1")
        every = self.keys(view)
        self.assertEqual(len(every), 2)
        alone = [listing(view, "--rank", rank, "--world-size", 5) for rank in range(5)]
        self.assertEqual([len(lines) for lines in alone], [1] * 5)
        self.assertEqual([alone[2], alone[3], alone[4]], [alone[0], alone[1], alone[0]])
        place = self.path("position")
        sheaf("cat", view, "--null", "--lanes", 12, "--remainder", "drop", "--limit", 0,
              "--save-position", place)
        for rank in range(4):
            self.assertEqual(listing(view, "--resume-from", place, "--rank", rank, "--world-size",
                                     4), [])
        sheaf("cat", view, "--null", "--lanes", 12, "--limit", 0, "--save-position", place)
        rest = [line for rank in range(4) for line in listing(
            view, "--resume-from", place, "--rank", rank, "--world-size", 4)]
        self.assertEqual(sorted(line.split("\t")[0] for line in rest), every)
        found = json.loads(b"[" + b",".join(sheaf(
            "locate", view, every[0], "--lanes", 5, "--remainder", "pad",
            "--json").stdout.splitlines()) + b"]")
        self.assertEqual([f["sample"] for f in found],
                         [t for t, line in enumerate(listing(view, "--lanes", 5, "--remainder",
                                                             "pad"))
                          if line.startswith(every[0] + "\t")])

    def test_draws_that_are_left_out_are_counted(self):
        """With weights and the remainder "keep", a lane that is one step short skips its last draw. Such draws must be
        counted."""
        ten, view = self.path("ten"), self.path("ten.view")
        pack(make_tree(self.path("tree-ten"), {"c/%d.txt" % i: b"1" for i in range(10)}), ten)
        sheaf("view", ten, "-o", view, "--weights", "1", "--until", "all")
        for lanes, draws in (1, 0), (3, 2), (4, 2), (5, 0), (9, 8):
            for how in "keep", "pad", "drop":
                done = sheaf("cat", view, "--null", "--lanes", lanes, "--remainder", how)
                said = "the epoch leaves out %d draws of lanes that are one step short" % draws
                self.assertEqual(said in done.stderr.decode(), how == "keep" and draws != 0)
        came = {}
        for epoch in range(30):     # 2 of 12 draws of an epoch are left out
            for line in listing(view, "--lanes", 3, "--remainder", "keep", "--epoch", epoch):
                came[line] = came.get(line, 0) + 1
        self.assertEqual(sum(came.values()), 300)
        self.assertLessEqual(max(came.values()), 36)
        self.assertGreaterEqual(min(came.values()), 36 - 20)

    def test_a_changed_source_is_named(self):
        twin, position = self.path("twin"), self.path("position")
        pack(make_tree(self.path("tree-twin"), {"cat/k%d.txt" % i: b"1" for i in range(9)}),
             twin)
        view, _ = self.view(sources=[self.sets[0], twin])
        whole = listing(view)
        begun = listing(view, "--limit", "5", "--save-position", position)
        self.assertEqual(begun + listing(view, "--resume-from", position), whole)

        def refused():
            return sheaf("cat", view, "--list", "--resume-from", position, status=1).stderr.decode()
        write(self.path("tree-twin", "cat/k0.txt"), b"2")
        pack(self.path("tree-twin"), twin, "webdataset", "none", "--overwrite")
        self.assertIn("%s: this source of the view has changed" % twin, refused())
        self.view("--overwrite", sources=[self.sets[0], twin, self.sets[1]])
        self.assertIn("a view of 2 sources, but this one has 3", refused())
        listing(view, "--limit", "5", "--save-position", position)
        self.view("--overwrite", "--repeat", "1,2,1", sources=[self.sets[0], twin, self.sets[1]])
        self.assertIn("with other conditions, shares or stages", refused())
        many, _ = self.view("--overwrite", sources=[self.sets[0]] * 100, name="many.view")
        begun = listing(many, "--limit", "5", "--save-position", position)
        self.assertNotIn(b"sources=", read(position))
        self.assertEqual(begun + listing(many, "--resume-from", position), listing(many))
