# SPDX-License-Identifier: MIT
"""A command replaces only files that it wrote itself, and leaves files of other programs alone."""

import json
import os
import shutil
import stat

from support import Case, make_tree, pack, read, sheaf, write

FOREIGN = b'{"labels": [["a.jpg", 6]]}\n'


class ForeignFiles(Case):
    @classmethod
    def share(cls):
        tree = make_tree(os.path.join(cls.shared, "tree"),
                         {"c/%02d.txt" % i: b"%d" % i for i in range(20)})
        cls.set = os.path.join(cls.shared, "set")
        pack(tree, cls.set, "tfrecord")

    def check(self, path, *words, again=True):
        """The command replaces its own file, and refuses to replace another one."""
        sheaf(*words)
        if again:
            mine = read(path)
            sheaf(*words)
            self.assertGreater(len(mine), 0)
        write(path, FOREIGN)
        done = sheaf(*words, status=1)
        self.assert_error(done, os.path.basename(path), "exists", "not replaced")
        self.assertEqual(read(path), FOREIGN)
        write(path, b"")            # an empty file, as mktemp makes it
        sheaf(*words)
        self.assertNotEqual(read(path), b"")

    def test_devices_and_pipes(self):
        """A device or a pipe is not replaced by a file."""
        path = self.path("p")
        os.mkfifo(path)
        for words in (("report", self.set, "-o"), ("info", self.set, "--shuffle-quality", "--plot"),
                      ("cat", self.set, "--null", "--metrics"),
                      ("cat", self.set, "--null", "--save-position")):
            done = sheaf(*words, path, status=1)
            self.assert_error(done, path, "exists", "not replaced")
            self.assertTrue(stat.S_ISFIFO(os.lstat(path).st_mode))

    def test_report(self):
        self.check(self.path("r.html"), "report", self.set, "-o", self.path("r.html"))

    def test_plot(self):
        self.check(self.path("p.svg"), "info", self.set, "--shuffle-quality", "--plot",
                   self.path("p.svg"))

    def test_metrics(self):
        self.check(self.path("m.prom"), "cat", self.set, "--null", "--metrics", self.path("m.prom"))

    def test_position(self):
        self.check(self.path("pos"), "cat", self.set, "--null", "--limit", "5", "--save-position",
                   self.path("pos"))

    def test_views(self):
        view = self.path("v.json")
        words = ("view", self.set, "-o", view, "--where", "key=c/0*", "--overwrite")
        sheaf(*words)
        sheaf(*words)
        for name in ("v.json", "v.json.chosen"):
            kept = read(self.path(name))
            write(self.path(name), FOREIGN)
            done = sheaf(*words, status=1)
            self.assert_error(done, name, "exists", "choose another name")
            self.assertEqual(read(self.path(name)), FOREIGN)
            write(self.path(name), kept)
        shutil.copy(os.path.join(self.set, "dataset.json"), self.path("d.json"))
        done = sheaf("view", self.set, "-o", self.path("d.json"), "--overwrite", status=1)
        self.assert_error(done, "d.json", "not a view")
        self.assertEqual(json.loads(read(self.path("d.json")))["sheaf"], 1)
