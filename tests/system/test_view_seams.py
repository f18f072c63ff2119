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
