# SPDX-License-Identifier: MIT
"""sheaf.repair: damaged and lost shards are made again from files or a copy."""

import os
import shutil
import unittest

import sheaf
from support import Case


class Repair(Case):
    def setUp(self):
        super().setUp()
        self.source = self.path("source")
        for i in range(40):
            path = os.path.join(self.source, ("cat", "dog")[i % 2], "%02d.txt" % i)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(b"%d" % i * 50)
        self.dest = self.path("set")
        sheaf.pack(self.source, self.dest, shard_count=5)
        self.copy = self.path("copy")
        shutil.copytree(self.dest, self.copy)
        self.lost = os.path.join(self.dest, "shard-000002.tar")

    def content(self):
        with open(self.lost, "rb") as file:
            return file.read()

    def test_from_files_and_from_a_copy(self):
        before, said = self.content(), []
        for source in (self.source, [self.source], self.copy):
            os.unlink(self.lost)
            result = sheaf.repair(self.dest, source, dry_run=True, note=said.append)
            self.assertEqual((result.files, result.damaged, result.repaired, result.is_copy),
                             (result.files, 1, 0, source == self.copy))
            self.assertFalse(os.path.exists(self.lost))
            result = sheaf.repair(self.dest, source, note=said.append)
            self.assertEqual((result.damaged, result.repaired), (1, 1))
            self.assertEqual(self.content(), before)
        self.assertEqual({note.about for note in said}, {"shard-000002.tar"})
        self.assertEqual(sheaf.repair(self.dest, self.source).damaged, 0)
        self.assertEqual(sheaf.repair(self.dest, self.source, ["shard-000001.tar"]).repaired, 1)
        self.assertFalse(sheaf.verify(self.dest).problems)

    def test_after_an_append_and_an_edit(self):
        more = self.path("more")
        for i in range(6):
            path = os.path.join(more, "cat", "m%d.txt" % i)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(b"more %d" % i)
        sheaf.append(more, self.dest)
        sheaf.edit(self.dest, delete=["cat/m1"], labels={"cat/m2": "dog", "dog/01": "cat"}, purge=True)
        before = {}
        for name in os.listdir(self.dest):
            if name.endswith(".tar"):
                with open(os.path.join(self.dest, name), "rb") as file:
                    before[name] = file.read()
                os.unlink(os.path.join(self.dest, name))
        with self.assertRaisesRegex(sheaf.ChangedError, "it has 0 of the 5 samples of this shard"):
            sheaf.repair(self.dest, self.source)
        self.assertEqual(sheaf.repair(self.dest, [self.source, more]).repaired, 1)
        for name, data in before.items():
            with open(os.path.join(self.dest, name), "rb") as file:
                self.assertEqual(file.read(), data)

    def test_failures(self):
        os.unlink(self.lost)
        with open(os.path.join(self.source, "cat", "00.txt"), "ab") as file:
            file.write(b"more")
        said = []
        with self.assertRaisesRegex(sheaf.ChangedError, "the source has changed"):
            sheaf.repair(self.dest, self.source, ["shard-000002.tar", "shard-000001.tar"],
                         report=said.append)
        # the changed file is in one of them; the other one was repaired
        self.assertEqual([problem.where for problem in said], ["shard-000001.tar"])
        self.assertTrue(os.path.exists(self.lost))
        with self.assertRaisesRegex(sheaf.NotFoundError, "has no such file"):
            sheaf.repair(self.dest, self.source, ["shard-000009.tar"])
        sheaf.pack(self.source, self.path("other"))
        with self.assertRaisesRegex(sheaf.ChangedError, "is another data set"):
            sheaf.repair(self.dest, self.path("other"))


if __name__ == "__main__":
    unittest.main()
