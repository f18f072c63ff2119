# SPDX-License-Identifier: MIT
"""--include and --exclude: for every source, the packed files are those of a tree without the files that are left
out. tests/test_filter.c compares the rules with git's."""

import json
import os

from support import Case, make_tree, pack, read, shards_of, sheaf, write
from test_archive import tar_of, zip_of

FILES = {"%s/%02d.%s" % (name, i, suffix): b"%s %d" % (name.encode(), i)
         for name in ("cat", "dog", "raw", "dog/pug") for i in range(4)
         for suffix in ("txt", "json", "tmp")}
FILTERS = ["--include", "*.txt", "--include", "cat/", "--exclude", "raw/", "--exclude", "*3.*",
           "--include", "dog/03.txt"]


def is_packed(path):
    """Returns whether FILTERS pack a path."""
    if path.startswith("raw/"):
        return False
    if path == "dog/03.txt":
        return True
    return "3." not in path and (path.endswith(".txt") or path.startswith("cat/"))


class Filters(Case):
    def setUp(self):
        super().setUp()
        self.tree = make_tree(self.path("tree"), FILES)
        self.packed = {path: data for path, data in FILES.items() if is_packed(path)}
        pack(make_tree(self.path("less"), self.packed), self.path("expected"))

    def check(self, source, *words):
        done = pack(source, self.path("out"), "webdataset", "none", *FILTERS, "--overwrite", *words)
        self.assertEqual(shards_of(self.path("out")), shards_of(self.path("expected")))
        self.assertIn(b"%d of %d files packed" % (len(self.packed), len(self.packed)), done.stdout)
        return done

    def test_every_source_has_the_same_samples(self):
        write(self.path("a.tar"), tar_of(FILES))
        write(self.path("a.zip"), zip_of(FILES))
        write(os.path.join(self.tree, "all.list"), "".join(p + "\n" for p in FILES).encode())
        left_out = len(FILES) - len(self.packed)
        done = self.check(self.tree)
        self.assertIn(b'1 directory left out by the pattern "raw/"', done.stderr)    # the directory was not read
        for source in ("a.tar", "a.zip", "tree/all.list"):
            done = self.check(self.path(source))
            self.assertIn(b", %d left out by patterns" % left_out, done.stdout)
            self.assertIn(b'12 files left out by the pattern "raw/"', done.stderr)

    def test_bad_files_that_are_left_out_are_no_problem(self):
        write(os.path.join(self.tree, "raw", "no-suffix"))
        write(os.path.join(self.tree, "raw", "bad.jpg"))
        write(os.path.join(self.tree, "dog", "README"))
        os.symlink("nowhere", os.path.join(self.tree, "dog", "away.dat"))
        os.symlink("../raw", os.path.join(self.tree, "dog", "link"))
        self.check(self.tree, "--exclude", "link/")

    def test_a_plan_and_its_parts(self):
        plan, out = self.path("plan"), self.path("out")
        sheaf("plan", self.tree, out, "-o", plan, "--format", "webdataset", *FILTERS)
        sheaf("pack", "--plan", plan)
        sheaf("commit", plan)
        self.assertEqual(shards_of(out), shards_of(self.path("expected")))
        options = json.loads(read(os.path.join(out, "dataset.json")))["options"]
        self.assertEqual(options["filters"], ["+*.txt", "+cat/", "-raw/", "-*3.*", "+dog/03.txt"])

    def test_resume_with_other_filters_is_another_plan(self):
        pack(self.tree, self.path("out"), "webdataset", "none", *FILTERS)
        self.assert_error(pack(self.tree, self.path("out"), "webdataset", "none", "--resume",
                               status=1), "another plan")

    def test_what_decides_nothing_is_pointed_out(self):
        done = self.check(self.tree, "--exclude", "*.jepg")
        self.assertIn(b'the pattern "*.jepg" has decided nothing', done.stderr)
        done = pack(self.tree, self.path("none"), "webdataset", "none", "--include", "*.jpg", status=1)
        self.assertIn(b"no file can be packed (0 found, %d left out by patterns)" % len(FILES),
                      done.stderr)
        done = pack(self.tree, self.path("none"), "webdataset", "none", "--exclude", "a[", status=2)
        self.assertIn(b'invalid pattern "a["', done.stderr)
        self.assertFalse(os.path.exists(self.path("none")))
