# SPDX-License-Identifier: MIT
"""Views where other parts meet them: converted, given to commands that take files, and written from
lists of keys as editors leave them."""

import json
import os

from support import Case, listing, make_tree, pack, read, sheaf, shards_of, write


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
        """Shards are cut by size: the view mixes those of its sources."""
        view, _ = self.view("--weights", "1,1", "--until", "first")
        dest = self.path("out")
        sheaf("convert", view, dest, "--format", "recordio")
        self.assertEqual(len(shards_of(dest)), 1)
        self.assertEqual([line.split("\t")[0] for line in listing(dest, "--no-shuffle")],
                         [line.split("\t")[0] for line in listing(view, "--no-shuffle")])
        sheaf("verify", dest)
        sheaf("convert", view, dest, "--format", "recordio", "--resume")

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
            self.assertIn(b": is a view, not files: name its sources, or make a data set of it with "
                          b"sheaf convert first", done.stderr, words)
            self.assertFalse(os.path.exists(self.path("out")) and words[0] != "pipe", words)

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

    def test_patterns_of_keys(self):
        view, _ = self.view("--where", "key=cat/[!b]3[0-5]", sources=self.sets[:1])
        self.assertEqual(self.keys(view), ["cat/a3%d" % i for i in range(6)])
        view, done = self.view("--where", "key=cat/[a", name="bad.view", status=2)
        self.assertIn(b'invalid "key_glob" "cat/[a": a "[" without its "]"', done.stderr)
        write(view, json.dumps({"sheaf_view": 1, "sources": [
            {"source": self.sets[0], "where": {"key_glob": "a\\"}}]}).encode())
        self.assertIn(b'invalid "key_glob" "a\\": it ends with a backslash',
                      sheaf("cat", view, status=2).stderr)

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
