# SPDX-License-Identifier: MIT
"""Tests several sources at once. Keys are relative to the common directory of the sources, and classes to each
source."""

import json
import os

from support import Case, listing, make_tree, pack, read, shards_of, sheaf, write

FILES = {"25/cat/1.txt": b"1", "25/cat/2.txt": b"2", "26/cat/1.txt": b"3", "26/dog/3.txt": b"4",
         "25.csv": b"25/cat/1.txt,cat\n25/cat/2.txt,cat\n", "26.csv": b"26/cat/1.txt,cat\n",
         "numbers.lst": b"0\t7\t25/cat/1.txt\n"}
KEYS = ["25/cat/1", "25/cat/2", "26/cat/1", "26/dog/3"]


class ManySources(Case):
    def setUp(self):
        super().setUp()
        self.tree = make_tree(self.path("y"), FILES)

    def pack(self, *sources, status=0):
        return sheaf("pack", *(os.path.join(self.tree, s) for s in sources), self.path("out"),
                     "--format", "webdataset", "--overwrite", status=status)

    def check(self, *sources):
        """Packs the sources. The samples must be those of KEYS, and the classes must be cat and dog."""
        self.pack(*sources)
        self.assertEqual(sorted(row.split("\t")[0] for row in listing(self.path("out"))), KEYS)
        manifest = json.loads(read(self.path("out", "dataset.json")))
        self.assertEqual(manifest["classes"], ["cat", "dog"])
        shards = shards_of(self.path("out"))
        sheaf("plan", *(os.path.join(self.tree, s) for s in sources), self.path("parts"), "-o",
              self.path("plan"), "--format", "webdataset", "--overwrite")
        sheaf("pack", "--plan", self.path("plan"))
        sheaf("commit", self.path("plan"))
        self.assertEqual(shards_of(self.path("parts")), shards)

    def test_directories_and_lists(self):
        self.check("25", "26/cat", "26/dog")
        self.check("25", "26.csv", "26/dog")
        self.check("25/cat", "26/cat", "26/dog")
        self.check("25", "26")
        write(os.path.join(self.tree, "26", "some.list"), b"./dog/3.txt\n\ndog/../../25/cat/1.txt\n")
        self.assertIn(b'".."', self.pack("25", "26/some.list", status=1).stderr)
        write(os.path.join(self.tree, "26", "some.list"), b"./dog/3.txt\n\ncat/1.txt\n")
        self.check("25.csv", "26/some.list")

    def test_absolute_paths_of_a_list_are_below_its_own_root(self):
        with open(os.path.join(self.tree, "25", "absolute.list"), "w") as file:
            file.write("".join("%s/25/cat/%d.txt\n" % (os.path.realpath(self.tree), i)
                               for i in (1, 2)))
        self.check("25/absolute.list", "26/cat", "26/dog")

    def test_a_file_that_two_lists_name_is_refused(self):
        done = self.pack("25.csv", "25", status=1)
        self.assertIn(b"two inputs with one key: 25/cat/1.txt and 25/cat/1.txt", done.stderr)

    def test_numbers_and_names_do_not_mix(self):
        for sources in (("numbers.lst", "26"), ("26", "numbers.lst")):
            self.assertIn(b"is a number", self.pack(*sources, status=None).stderr)
            self.assertFalse(os.path.exists(self.path("out", "dataset.json")))

    def test_what_cannot_be_one_of_several_is_named(self):
        os.symlink("/dev/null", self.path("a.tar"))
        self.assertIn(b"kind archive", self.pack("25", self.path("a.tar"), status=2).stderr)
        self.assertIn(b"is also a source", self.pack("25", "25/cat", status=2).stderr)
        pack(os.path.join(self.tree, "25"), self.path("y", "set"))
        self.assertIn(b"is a data set", self.pack("26", "set", status=2).stderr)

    def test_filters_are_relative_to_each_source(self):
        sheaf("pack", os.path.join(self.tree, "25"), os.path.join(self.tree, "26"),
              self.path("out"), "--format", "webdataset", "--include", "/cat/1.txt")
        self.assertEqual(sorted(row.split("\t")[0] for row in listing(self.path("out"))),
                         ["25/cat/1", "26/cat/1"])
