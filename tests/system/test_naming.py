# SPDX-License-Identifier: MIT
"""Tests --field-alias and --key-end. The shards must equal those of a tree whose files have the new names."""

import os

from support import Case, make_tree, pack, shards_of, sheaf, write
from test_archive import tar_of

FILES = {"a/IMG.2024.%02d.JPEGS" % i: b"%d" % i for i in range(6)}
FILES.update({"a/IMG.2024.%02d.txt" % i: b"t%d" % i for i in range(6)})
FILES.update({"b.c/%d.dat" % i: b"d%d" % i for i in range(3)})
NAMED = {path.replace("IMG.2024.", "IMG_2024_").replace("JPEGS", "jpgs"): data
         for path, data in FILES.items()}
OPTIONS = ["--key-end", "last-dot", "--field-alias", "png=jpgs", "--field-alias", "jpegs=jpgs"]


class Naming(Case):
    def setUp(self):
        super().setUp()
        self.tree = make_tree(self.path("tree"), FILES)
        pack(make_tree(self.path("named"), NAMED), self.path("expected"))

    def check(self, dest):
        self.assertEqual(shards_of(self.path(dest)), shards_of(self.path("expected")))
        sheaf("verify", self.path(dest))

    def test_trees_archives_and_lists(self):
        write(self.path("a.tar"), tar_of(FILES))
        write(os.path.join(self.tree, "all.list"), "".join(p + "\n" for p in FILES).encode())
        for source in ("a.tar", "tree/all.list"):
            pack(self.path(source), self.path("out"), "webdataset", "none", *OPTIONS, "--overwrite")
            self.check("out")
        os.unlink(os.path.join(self.tree, "all.list"))
        pack(self.tree, self.path("tree-out"), "webdataset", "none", *OPTIONS)
        self.check("tree-out")
        pack(self.tree, self.path("tree-out"), "webdataset", "none", *OPTIONS, "--resume")

    def test_a_plan_knows_where_the_files_are(self):
        sheaf("plan", self.tree, self.path("out"), "-o", self.path("plan"), "--format", "webdataset",
              *OPTIONS)
        write(os.path.join(self.tree, "a/IMG.2024.02.txt"), b"T2")
        self.assertIn(b"a/IMG.2024.02.txt: changed since the scan",
                      sheaf("pack", "--plan", self.path("plan"), status=1).stderr)
        write(os.path.join(self.tree, "a/IMG.2024.02.txt"), b"t2")
        sheaf("plan", self.tree, self.path("out"), "-o", self.path("plan"), "--format", "webdataset",
              *OPTIONS, "--overwrite")
        sheaf("pack", "--plan", self.path("plan"))
        sheaf("commit", self.path("plan"))
        self.check("out")

    def test_an_alias_of_nothing(self):
        done = pack(self.tree, self.path("out"), "webdataset", "none", "--dry-run", *OPTIONS,
                    "--field-alias", "webpp=jpg")
        self.assertIn(b'the field alias "webpp=jpg" has renamed nothing', done.stderr)
        self.assertNotIn(b'"jpegs=jpgs"', done.stderr)

    def test_collisions_name_both_paths(self):
        write(os.path.join(self.tree, "a/IMG_2024_02.png"), b"x")
        done = pack(self.tree, self.path("out"), "webdataset", "none", *OPTIONS, status=1)
        self.assertIn(b"two inputs with one key: a/IMG.2024.02.JPEGS and a/IMG_2024_02.png",
                      done.stderr)

    def test_odd_fields_are_pointed_out(self):
        done = pack(self.tree, self.path("out"), "webdataset", "none", "--exclude", "*.txt", "--dry-run")
        self.assertIn(b"6 different fields with a dot in 6 files", done.stderr)
        self.assertIn(b"--key-end last-dot", done.stderr)
        seg = make_tree(self.path("seg"), {"%d.%s" % (i, s): b"x" for i in range(20)
                                           for s in ("seg.png", "png")})
        done = pack(seg, self.path("out"), "webdataset", "none", "--dry-run")
        self.assertEqual(done.stderr, b"")

    def test_wrong_aliases(self):
        for alias in ("jpg", "=jpg", "jpg=", "a=b=c", "a=b/c", "a=.b", "a=b\n"):
            done = pack(self.tree, self.path("out"), "webdataset", "none", "--field-alias", alias,
                        status=2)
            self.assertIn(b"invalid field alias", done.stderr)
