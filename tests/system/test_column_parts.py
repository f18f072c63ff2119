# SPDX-License-Identifier: MIT
"""Columns that are added in parts, by a plan. The parts are written in any order, twice, at the same time, and are
killed. The column then has the same values as one that was added at once."""

import json
import os
import re
import shutil
import subprocess
import unittest

import decoders
import servers
import support
from support import SHEAF, Case, make_tree, pack, read, sheaf, tree_of, write
from writers import tar_member

COUNT, SHARDS = 30000, 10       # the planned shards have 9000, 9000, 9000 and 3000 samples
KILL_STEP = 97 if support.QUICK else 31


def key_of(i):
    return "c%d/k%05d" % (i % 7, i)


def caption(key, mark=""):
    return "what %s%s shows \u00e9 \"quoted\"" % (key, mark)


def tar_of(path):
    write(path, b"".join(tar_member(key_of(i).encode() + b".bin", b"x" * (1 + i % 3)) for i in range(COUNT)) + bytes(1024))
    return path


def captions(path, chance, mark="", step=7):
    """Writes JSON Lines in random order, in which some samples have no value."""
    lines = [json.dumps({"key": key_of(i), "value": caption(key_of(i), mark), "score": i / 8,
                         **({"more": None, "tags": ["a", i]} if i % 5 == 0 else {})})
             for i in range(COUNT) if step == 0 or i % step != 0]
    chance.shuffle(lines)
    write(path, ("\n".join(lines) + "\n").encode())
    return path


def values(data_set, container="tfrecord"):
    """Returns all samples with their values of the column cap."""
    return sheaf("cat", data_set, "--columns", "cap", "--missing", "none", "--to", container).stdout


class Shared(Case):
    @classmethod
    def share(cls):
        cls.chance = support.random.Random(support.seed())
        cls.base = os.path.join(cls.shared, "base")
        pack(tar_of(os.path.join(cls.shared, "base.tar")), cls.base, "tfrecord", "none",
             "--shard-count", str(SHARDS))
        cls.list = captions(os.path.join(cls.shared, "c.jsonl"), cls.chance)
        cls.kill = os.path.join(cls.shared, "kill.so")
        subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", cls.kill,
                        os.path.join(support.HERE, "../campaign/faults.c"), "-ldl"], check=True)
        cls.at_once = os.path.join(cls.shared, "at-once")
        shutil.copytree(cls.base, cls.at_once)
        sheaf("column", "add", cls.at_once, "--name", "cap", "--from", cls.list)
        cls.expected, found = values(cls.at_once), {}
        tar = values(cls.at_once, "webdataset")
        for at in decoders.tar_header_offsets(tar):
            size = int(tar[at + 124:at + 135], 8)
            found[tar[at:at + 100].rstrip(b"\0").decode()] = tar[at + 512:at + 512 + size]
        assert {name: data for name, data in found.items() if name.endswith(".cap.txt")} == {
            key_of(i) + ".cap.txt": caption(key_of(i)).encode() for i in range(COUNT) if i % 7 != 0}
        assert caption(key_of(8)).encode() in cls.expected
        sheaf("column", "add", cls.base, "--name", "whole", "--from", cls.list)

    def setUp(self):
        super().setUp()
        self.dest, self.stored = self.path("set"), self.path("cap.plan")
        shutil.copytree(self.base, self.dest)

    def plan(self, *more, name="cap", source=None, **how):
        return sheaf("column", "plan", self.dest, "--name", name, "--from", source or self.list,
                     "-o", self.stored, *more, **how)

    def part(self, part, parts, *more, **how):
        return sheaf("column", "add", "--plan", self.stored, "--part", "%d/%d" % (part, parts),
                     *more, **how)

    def start(self, part, parts, **environment):
        return subprocess.Popen([SHEAF, "column", "add", "--plan", self.stored, "--part",
                                 "%d/%d" % (part, parts)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=dict(os.environ, **environment))

    def listed(self):
        """Returns {name: description} of the columns."""
        lines = sheaf("column", "list", self.dest, "--json").stdout.splitlines()
        return {c["name"]: c for c in map(json.loads, lines)}

    def check_equal(self, at_once=None):
        """The column cap has the values of the column that was added at once."""
        expected = self.expected if at_once is None else values(at_once)
        self.assertTrue(values(self.dest) == expected, "the values differ")
        sheaf("verify", self.dest, "--columns", "cap,whole")

    def check_counts(self):
        columns = self.listed()
        same = ("samples", "missing", "uncovered", "layers", "fields")
        self.assertEqual([columns["cap"][n] for n in same], [columns["whole"][n] for n in same])
        self.assertEqual(columns["cap"]["missing"], len(range(0, COUNT, 7)))


class ColumnParts(Shared):
    def test_any_order_and_twice_at_once(self):
        before = tree_of(self.dest)
        self.assertIn(b"planned the column cap of 30000 samples in 4 shards",
                      self.plan().stdout)
        running = [self.start(part, 3) for part in (2, 0, 1, 0, 2)]
        for process in running:
            said = process.communicate()[1]
            self.assertEqual(process.returncode, 0, said)
        self.assertNotIn("whole.txt", self.listed().get("cap", {}).get("fields", ""))
        self.assertIn(b"committed 30000 samples", sheaf("commit", self.stored).stdout)
        self.check_equal()
        self.check_counts()
        after = tree_of(self.dest)
        self.assertEqual({n: after[n] for n in before}, before)
        whole = {n: d for n, d in after.items() if n.startswith("columns/cap/")}
        # A second commit, and a part that comes too late, change nothing.
        self.assertIn(b"was committed already", sheaf("commit", self.stored).stdout)
        self.assertIn(b"0 samples with values, 0 without, in 0 shards, and 2 kept",
                      self.part(0, 2).stdout)
        self.assertEqual({n: d for n, d in tree_of(self.dest).items()
                          if n.startswith("columns/cap/")}, whole)
        self.assertEqual([n for n in whole if "partial" in n], [])
        manifest = json.loads(read(os.path.join(self.dest, "columns/cap/1/dataset.json")))
        self.assertEqual([n for n in manifest["options"] if n.startswith("values")], [])
        # Another number of parts gives the same bytes.
        sheaf("column", "drop", self.dest, "cap")
        self.plan()
        for part in range(6):
            self.part(part, 6)
        sheaf("commit", self.stored)
        self.assertEqual({n: d for n, d in tree_of(self.dest).items()
                          if n.startswith("columns/cap/")}, whole)

    def test_a_missing_part_is_named(self):
        self.plan()
        self.part(0, 4)
        done = self.part(2, 4)
        counts = re.fullmatch(rb"part 2 of 4: (\d+) samples with values, (\d+) without, in 1 shard, "
                              rb"and 0 kept\n", done.stdout)
        self.assertIn(sum(map(int, counts.groups())), range(8192, 12000))
        self.assertIn(b"values are for samples of other parts", done.stderr)
        self.assert_error(sheaf("commit", self.stored, status=1), "2 of 4 shards are missing",
                          "column-000001.tfrecord", "column-000003.tfrecord",
                          "of 4 parts, these are not finished: 1, 3")
        self.assertEqual(self.listed()["cap"], {"name": "cap", "error": "unfinished"})
        self.assert_error(sheaf("cat", self.dest, "--columns", "cap", "--list", status=1),
                          "has no column cap")
        info = json.loads(sheaf("info", self.stored, "--json").stdout)
        self.assertEqual((info["source"], info["samples"], info["shards"], info["done_shards"],
                          info["missing_parts"]), ("column", COUNT, 4, 2, [1, 3]))
        self.assertNotIn(b"payload", sheaf("info", self.stored).stdout)
        # All shards at once: the finished ones are kept.
        self.assertIn(b"in 2 shards, and 2 kept", self.part(0, 1).stdout)
        sheaf("commit", self.stored)
        self.check_equal()
        self.check_counts()

    def test_a_sample_without_a_value_is_named(self):
        """By its key in the data set, not by the key of its record in the column."""
        source, lacking = self.path("few.jsonl"), sorted(map(key_of, (7, 1001, 20000)))
        write(source, "".join(json.dumps({"key": key_of(i), "value": "v"}) + "\n" for i in range(
            COUNT) if key_of(i) not in lacking).encode())
        self.plan(source=source)
        self.part(0, 1)
        said = sheaf("commit", self.stored).stderr.decode()
        first = next(key for key in support.listing(self.dest, "--no-shuffle")
                     if key.split("\t")[0] in lacking).split("\t")[0]
        self.assertIn("3 samples without a field txt; the first: %s\n" % first, said)

    def test_killed_parts(self):
        self.plan()
        at, killed = 30, True
        while killed:
            process = self.start(0, 1, LD_PRELOAD=self.kill, FAULT_KIND="kill", FAULT_AT=str(at))
            process.communicate()
            killed = process.returncode != 0
            self.assertLess(at, 3000)
            self.assertTrue("cap" not in self.listed() or "error" in self.listed()["cap"])
            at += KILL_STEP
        sheaf("commit", self.stored)
        self.check_equal()
        self.check_counts()

    def test_changed_values(self):
        source = self.path("c.jsonl")
        shutil.copy(self.list, source)
        self.plan(source=source)
        self.part(0, 2)
        write(source, read(source).replace(b"shows", b"SHOWS", 1))
        self.assert_error(self.part(1, 2, status=1), "c.jsonl", "have changed since the plan")
        shutil.copy(self.list, source)
        self.part(1, 2)
        sheaf("commit", self.stored)
        self.check_equal()

    def test_unknown_and_repeated_values(self):
        source = self.path("c.jsonl")
        shutil.copy(self.list, source)
        with open(source, "ab") as file:
            for key in ("nobody", key_of(1)):
                file.write(json.dumps({"key": key, "value": "too much"}).encode() + b"\n")
        self.plan(source=source)
        self.assert_error(self.part(0, 1, status=1), "no sample with the key nobody")
        self.assert_error(self.part(0, 1, "--unknown-keys", "skip", status=1),
                          "a second value for the field txt of the sample c1/k00001")
        for part in range(2):
            done = self.part(part, 2, "--unknown-keys", "skip", "--duplicate-keys", "drop")
            self.assertIn(b"1 value was left out, because the data set does not have the key",
                          done.stderr)
        sheaf("commit", self.stored)
        self.check_equal()

    def test_refusals(self):
        self.assert_error(self.plan(name="whole", status=1), "has a column whole")
        self.assert_error(self.plan(source=self.path("none.jsonl"), status=1), "none.jsonl")
        self.assertEqual([n for n in tree_of(self.dest) if n.startswith("columns/cap")], [])
        self.plan()
        self.assert_error(self.plan(status=1), "sheaf column drop removes it")
        self.plan("--resume")
        self.assert_error(sheaf("pack", "--plan", self.stored, "--part", "0/1", status=2),
                          "is a plan of a column", "sheaf column add --plan")
        self.assert_error(sheaf("convert", "--plan", self.stored, "--part", "0/1", status=2),
                          "is a plan of a column", "sheaf column add --plan")
        files = self.path("files.plan")
        make_tree(self.path("tree"), {"a.txt": b"a"})
        sheaf("plan", self.path("tree"), self.path("other"), "-o", files, "--format", "tfrecord")
        self.assert_error(sheaf("column", "add", "--plan", files, "--part", "0/1", status=2),
                          "is a plan of files, expected one of a column", "sheaf pack --plan")
        for words in (("add", self.dest, "--plan", self.stored), ("list", "--plan", self.stored),
                      ("add", "--plan", self.stored, "--part", "2/2"), ("plan", self.dest),
                      ("add", "--plan", self.stored, "--name", "x"), ("list",),
                      ("list", self.dest, "--part", "0/1")):
            sheaf("column", *words, status=2)
        # A dropped column is not published.
        self.part(0, 1)
        sheaf("column", "drop", self.dest, "cap")
        self.assert_error(sheaf("commit", self.stored, status=1))
        self.assertEqual(list(self.listed()), ["whole"])
        # A plan without values is for a program.
        sheaf("column", "plan", self.dest, "--name", "cap", "-o", self.stored)
        self.assert_error(self.part(0, 1, status=2), "is a plan without a source of values")

    def test_after_append(self):
        """Samples that are appended while the parts run have no value, until a plan adds them."""
        self.plan()
        self.part(0, 2)
        more = make_tree(self.path("more"), {"new/%03d.bin" % i: b"%d" % i for i in range(50)})
        at_once = shutil.copytree(self.at_once, self.path("at-once"))
        for grown in (self.dest, at_once):
            sheaf("append", more, grown, "--shard-count", "2")
        self.part(1, 2)
        sheaf("commit", self.stored)
        column = self.listed()["cap"]
        self.assertEqual((column["samples"], column["uncovered"]), (COUNT, 50))
        self.check_equal(at_once)
        source = self.path("new.jsonl")
        write(source, "".join(json.dumps({"key": "new/%03d" % i, "value": "n%d" % i}) + "\n"
                              for i in range(40)).encode())
        self.plan("--only-missing", source=source)
        self.assertIn(b"40 samples with values, 10 without", self.part(0, 1).stdout)
        sheaf("commit", self.stored)
        column = self.listed()["cap"]
        self.assertEqual((column["samples"], column["uncovered"], column["layers"]),
                         (COUNT + 50, 0, 2))
        done = self.plan("--only-missing", source=source)
        self.assertIn(b"nothing is missing", done.stderr)

    def test_the_base_must_be_the_same(self):
        self.plan()
        write(self.path("gone.txt"), key_of(5).encode())
        sheaf("edit", self.dest, "--delete", self.path("gone.txt"))
        self.assert_error(self.part(0, 1, status=1), "has changed since the plan was made")


class ColumnPartsInBucket(servers.S3Case):
    def test_whole_way(self):
        source = make_tree(self.path("source"), {"k%03d.bin" % i: b"%d" % i for i in range(300)})
        self.sheaf("pack", source, self.url("set/"), "--format", "webdataset", "--shard-count", "3")
        values, plan = self.path("c.jsonl"), self.url("cap.plan")
        write(values, "".join(json.dumps({"key": "k%03d" % i, "value": "v%d" % i}) + "\n"
                              for i in range(300)).encode())
        self.sheaf("column", "plan", self.url("set/"), "--name", "cap", "--from", values, "-o", plan)
        self.sheaf("column", "add", "--plan", plan, "--part", "1/2")
        self.assert_error(self.sheaf("commit", plan, status=1), "column-000000.tfrecord")
        self.sheaf("column", "add", "--plan", plan, "--part", "0/2")
        self.sheaf("commit", plan)
        out = self.sheaf("cat", self.url("set/"), "--columns", "cap", "--list").stdout
        self.assertEqual(out.count(b"cap.txt:"), 300)
        self.sheaf("verify", self.url("set/"), "--columns", "cap")
        self.sheaf("column", "drop", self.url("set/"), "cap")
        self.assertEqual([n for n in self.stored("set/") if n.startswith("columns")],
                         ["columns/cap/1/dataset.json"])        # a stand-in; see column_drop.c


if __name__ == "__main__":
    unittest.main()
