# SPDX-License-Identifier: MIT
"""sheaf.edit: samples are deleted, relabelled and replaced; states from before are refused."""

import os
import unittest

import sheaf
from support import Case


def make_tree(root, files):
    for path, data in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "wb") as file:
            file.write(data)
    return root


class Edit(Case):
    def setUp(self):
        super().setUp()
        self.source = make_tree(self.path("source"), {
            "%s/%02d.txt" % (("cat", "dog")[i % 2], i): b"%d" % i for i in range(40)})
        self.dest = self.path("set")
        sheaf.pack(self.source, self.dest, shard_count=5)

    def labels(self):
        with sheaf.Reader(self.dest, no_shuffle=True) as reader:
            return {sample.key: (sample.labels, bytes(sample["txt"])) for sample in reader}

    def test_all(self):
        new = make_tree(self.path("new"), {"dog/01.txt": b"better"})
        result = sheaf.edit(self.dest, delete=["cat/00", "dog/03"], labels={"cat/02": "dog"},
                            replace=new)
        self.assertEqual((result.samples, result.deleted, result.relabelled, result.replaced),
                         (38, 2, 1, 1))
        self.assertFalse(result.is_done)
        sheaf.verify(self.dest)
        found = self.labels()
        self.assertEqual(len(found), 38)
        self.assertNotIn("cat/00", found)
        self.assertEqual(found["cat/02"], ((1,), b"2"))
        self.assertEqual(found["dog/01"], ((1,), b"better"))
        self.assertTrue(sheaf.edit(self.dest, delete=["cat/00", "dog/03"],
                                   labels={"cat/02": "dog"}, replace=new, purge=True).is_done)
        names = os.listdir(self.dest)
        self.assertEqual(len([name for name in names if name.endswith(".tar")]), 5)
        self.assertEqual(self.labels(), found)

    def test_unknown(self):
        said = []
        with self.assertRaisesRegex(sheaf.NotFoundError, r"1 key or file belongs to no sample .* no/body \(.*: line 1\)"):
            sheaf.edit(self.dest, delete=["no/body"])
        result = sheaf.edit(self.dest, delete=["no/body", "cat/00"], unknown_keys="skip",
                            report=said.append)
        self.assertEqual((result.unknown, result.deleted), (1, 1))
        self.assertEqual([problem.where for problem in said], ["no/body"])
        with self.assertRaises(sheaf.ArgumentError):
            sheaf.edit(self.dest)
        with self.assertRaises(sheaf.ArgumentError):
            sheaf.edit(self.dest, delete=[], unknown_keys="say")

    def test_what_is_no_key(self):
        """A key is not divided into two keys, of which each would be deleted."""
        before = len(sheaf.Dataset(self.dest))
        for key in ("cat/00\ncat/01", "cat/00\r", "", 5):
            with self.assertRaisesRegex(sheaf.ArgumentError, "is not the key of a sample"):
                sheaf.edit(self.dest, delete=[key])
        for labels in ([("cat/00", "dog")], {"cat/00": None}):
            with self.assertRaisesRegex((TypeError, sheaf.ArgumentError), "labels must be|has no label"):
                sheaf.edit(self.dest, labels=labels)
        self.assertEqual(len(sheaf.Dataset(self.dest)), before)

    def test_positions(self):
        with sheaf.Reader(self.dest) as reader:
            next(iter(reader))
            position = reader.position()
        sheaf.edit(self.dest, delete=["cat/00"])
        with sheaf.Reader(self.dest) as reader:
            with self.assertRaisesRegex(sheaf.ChangedError, "was edited since"):
                reader.resume(position)


if __name__ == "__main__":
    unittest.main()
