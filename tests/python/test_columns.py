# SPDX-License-Identifier: MIT
"""Columns from Python: written by a function, resumed, and read by readers and a training loop."""

import datetime
import decimal
import json
import os
import signal
import unittest

import sheaf
from support import Case, pack

try:
    import torch
    import sheaf.torch
except ImportError:
    torch = None

COUNT = 50


def killed(sample):
    """Kills its process, as the kernel does if there is too little memory."""
    if sample["__key__"] == "k/030":
        os.kill(os.getpid(), signal.SIGKILL)
    return double(sample)


def double(sample):
    """Of samples of one in five there is no value."""
    number = int(bytes(sample["txt"]))
    return None if number % 5 == 0 else {"num": b"%d" % (2 * number)}


class Columns(Case):
    def setUp(self):
        super().setUp()
        self.set = self.path("set")
        pack(self.set, [("k/%03d" % i, {"txt": b"%d" % i}, i % 3) for i in range(COUNT)])

    def check(self, samples, without=()):
        found = {}
        for sample in samples:
            number = int(bytes(sample["txt"]))
            found[number] = sample
            if number in without:
                self.assertNotIn("twice.num", sample)
            else:
                self.assertEqual(bytes(sample["twice.num"]), b"%d" % (2 * number))
        return found

    def test_written_and_read(self):
        for jobs in (1, 2):
            with self.subTest(jobs=jobs):
                result = sheaf.columns.write(self.set, "twice", double, fields=("num",), jobs=jobs)
                self.assertEqual((result.samples, result.with_values, result.missing), (50, 40, 10))
                (column,) = sheaf.columns.list(self.set)
                self.assertEqual((column.name, column.missing, column.fields, column.error),
                                 ("twice", 10, ["num"], None))
                fives = range(0, COUNT, 5)
                with sheaf.Reader(self.set, seed=1, columns=["twice"], missing="none") as reader:
                    self.assertEqual(len(self.check(reader, fives)), COUNT)
                    self.assertEqual(reader.stats().missing, 10)
                with sheaf.Reader(self.set, seed=1, columns="twice", missing="skip") as reader:
                    self.assertEqual(sorted(self.check(reader)),
                                     [i for i in range(COUNT) if i % 5 != 0])
                alone = sheaf.verify(self.set)
                both = sheaf.verify(self.set, columns=["twice"])
                self.assertEqual(sheaf.verify(self.set, columns="twice").bytes, both.bytes)
                self.assertEqual((both.problems, both.samples), ([], COUNT))
                self.assertGreater(both.bytes, alone.bytes)
                self.assertEqual(both.shards, alone.shards + 1)
                with self.assertRaisesRegex(sheaf.NotFoundError, "thrice"):
                    sheaf.verify(self.set, columns=["twice", "thrice"])
                with self.assertRaisesRegex(sheaf.NotFoundError, "no value in the column twice"):
                    for _ in sheaf.Reader(self.set, columns=["twice"]):
                        pass
                sheaf.columns.drop(self.set, "twice")
                self.assertEqual(sheaf.columns.list(self.set), [])

    def test_added(self):
        path = self.path("x.jsonl")
        with open(path, "w", encoding="ascii") as file:
            for i in reversed(range(COUNT)):
                json.dump({"key": "k/%03d" % i, "num": 2 * i}, file)
                file.write("\n")
        result = sheaf.columns.add(self.set, "twice", path)
        self.assertEqual((result.with_values, result.missing), (COUNT, 0))
        self.assertEqual(len(self.check(sheaf.Reader(self.set, columns=["twice"]))), COUNT)
        with self.assertRaises(sheaf.ExistsError):
            sheaf.columns.add(self.set, "twice", path)
        sheaf.convert(self.set, self.path("made"), format="tfrecord", columns=["twice"])
        self.assertEqual(len(self.check(sheaf.Reader(self.path("made")))), COUNT)

    def rows(self):
        return [{"key": "k/%03d" % i, "num": 2 * i, "value": "caption \u00fc %d" % i, "none": None}
                for i in reversed(range(COUNT))]

    def test_rows(self):
        """A column can be added from the rows of a program, in any order. Values have the form of JSON Lines."""
        result = sheaf.columns.add(self.set, "twice", iter(self.rows()))
        self.assertEqual((result.with_values, result.missing, result.values), (COUNT, 0, 2 * COUNT))
        for number, sample in self.check(sheaf.Reader(self.set, columns=["twice"])).items():
            self.assertEqual(bytes(sample["twice.txt"]).decode(), "caption \u00fc %d" % number)
            self.assertNotIn("twice.none", sample)
        rows = [{"__key__": "k/000", "value": {"a": [1]}, "raw": b"bytes", "list": [0.5], "day": datetime.date(2026, 1, 2),
                 "dec": decimal.Decimal("0.25")}]
        sheaf.columns.add(self.set, "other", rows)
        (sample,) = sheaf.Dataset(self.set).get([0], columns=["other"], missing="none")
        self.assertEqual({name: bytes(sample[name]) for name in sample if name.startswith("other.")},
                         {"other.json": b'{"a": [1]}', "other.raw": b"bytes", "other.list": b"[0.5]",
                          "other.day": b"2026-01-02", "other.dec": b"0.25"})

    def test_rows_that_cannot_be_added(self):
        for row, why in (({"num": 1}, "row 1 has no 'key'"), ({"key": None, "num": 1}, "row 1 has no 'key'"),
                         ({"key": "k/000", "raw": b"\xff"}, "row 1, the key 'k/000': the value 'raw'"),
                         ({"key": "k/000", "num": float("nan")}, "the value 'num'"),
                         ({"key": "k/000", "num": object()}, "it is a object"), (7, "row 1 is a int")):
            with self.assertRaisesRegex(sheaf.ArgumentError, why):
                sheaf.columns.add(self.set, "twice", [row])
        with self.assertRaisesRegex(sheaf.ArgumentError, "expected one path"):
            sheaf.columns.add(self.set, "twice", ["a.jsonl", "b.jsonl"])
        with self.assertRaisesRegex(sheaf.NotFoundError, "^row 2: the data set has no sample with the key k/999"):
            sheaf.columns.add(self.set, "twice", [{"key": "k/001", "num": 1}, {"key": "k/999", "num": 1}])
        self.assertEqual(sheaf.columns.list(self.set), [])

    def test_parquet(self):
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            self.skipTest("no pyarrow")
        rows = self.rows()
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), self.path("x.parquet"))
        sheaf.columns.add(self.set, "twice", self.path("x.parquet"))
        self.assertEqual(len(self.check(sheaf.Reader(self.set, columns=["twice"]))), COUNT)
        sheaf.columns.drop(self.set, "twice")
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{"id": row["key"], "n": row["num"], "label": 1}
                                                               for row in rows]), self.path("x.parquet"))
        sheaf.columns.add(self.set, "twice", sheaf.sources.parquet(self.path("x.parquet"), key="id",
                                                                   fields={"n": "num", "label": "label"}))
        with self.assertRaisesRegex(sheaf.ArgumentError, "a column 'key' cannot become a field"):
            sheaf.columns.add(self.set, "other", sheaf.sources.parquet(self.path("x.parquet"), key="id",
                                                                       fields={"n": "key"}))
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{"key": row["key"], "image": "no/file.jpg", "n": "7"}
                                                               for row in rows]), self.path("y.parquet"))
        sheaf.columns.add(self.set, "texts", self.path("y.parquet"))
        sheaf.columns.add(self.set, "chosen", sheaf.sources.parquet(self.path("y.parquet"), fields={"image": "txt"}))
        for sample in sheaf.Reader(self.set, columns=["texts", "chosen"]):
            self.assertEqual(bytes(sample["texts.image"]), b"no/file.jpg")
            self.assertEqual(bytes(sample["chosen.txt"]), b"no/file.jpg")
        for sample in self.check(sheaf.Reader(self.set, columns=["twice"])).values():
            self.assertEqual(bytes(sample["twice.label"]), b"1")

    def test_written_in_the_order_of_the_samples(self):
        """The function sees each sample once, in order; a resumed run begins with a later sample."""
        keys = [sample.key for sample in sheaf.Reader(self.set, no_shuffle=True)]
        seen = []
        sheaf.columns.write(self.set, "one", lambda sample: seen.append(sample["__key__"]))
        self.assertEqual(seen, keys)
        for first in (0, 1, 24, COUNT - 1, COUNT):
            self.assertEqual([sample["__key__"] for _, sample in sheaf.columns._samples(self.set, first, COUNT)],
                             keys[first:])
        self.assertEqual([key["__key__"] for _, key in sheaf.columns._samples(self.set, 3, 20)], keys[3:20])

    def test_parts(self):
        """A function writes the parts of a plan. A part that failed keeps its finished shards."""
        count, plan = 18000, self.path("x.plan")
        big = pack(self.path("big"), [("k/%05d" % i, {"txt": b"%d" % i}, 0) for i in range(count)])
        result = sheaf.columns.plan(big, "twice", plan, version="1")
        self.assertEqual((result.samples, result.shards), (count, 2))
        with self.assertRaisesRegex(sheaf.ArgumentError, "without a source of values"):
            sheaf.columns.add_part(plan, 0, 1)

        def fails(sample):
            if int(sample["txt"]) == 17000:
                raise KeyError("x")
            return double(sample)

        with self.assertRaises(KeyError):
            sheaf.columns.write_part(plan, fails, 0, 1)
        self.assertEqual(sheaf.info(plan)["done_shards"], 1)
        with self.assertRaisesRegex(sheaf.NotFoundError, "column-000001"):
            sheaf.commit(plan)
        result = sheaf.columns.write_part(plan, double, 0, 1, jobs=2)
        self.assertEqual((result.shards, result.shards_kept), (1, 1))
        self.assertEqual(result.samples, result.with_values + result.missing)
        self.assertEqual(sheaf.commit(plan).samples, count)
        (column,) = sheaf.columns.list(big)
        self.assertEqual((column.samples, column.missing), (count, count // 5))
        with sheaf.Reader(big, columns=["twice"], missing="skip") as reader:
            self.assertEqual(len(self.check(reader)), count - count // 5)
        with self.assertRaises(sheaf.ExistsError):
            sheaf.columns.plan(big, "twice", plan)

    def test_parts_of_a_list(self):
        path, plan = self.path("x.jsonl"), self.path("x.plan")
        with open(path, "w", encoding="ascii") as file:
            for i in range(COUNT):
                file.write('{"key": "k/%03d", "num": %d}\n' % (i, 2 * i))
        sheaf.columns.plan(self.set, "twice", plan, source=path)
        result = sheaf.columns.add_part(plan, 0, 2)
        more = sheaf.columns.add_part(plan, 1, 2)
        self.assertEqual((result.with_values, more.with_values), (COUNT, 0))    # a plan of one shard
        sheaf.commit(plan)
        self.assertEqual(len(self.check(sheaf.Reader(self.set, columns=["twice"]))), COUNT)

    def test_by_number_and_key(self):
        sheaf.columns.write(self.set, "twice", double)
        data = sheaf.Dataset(self.set)
        batch = data.get(range(COUNT), columns=["twice"], missing="none")
        self.assertEqual(len(self.check(batch, range(0, COUNT, 5))), COUNT)
        batch = data.get(["k/007", "k/003"], columns=["twice"])
        self.assertEqual([bytes(sample["twice.num"]) for sample in batch], [b"14", b"6"])
        with self.assertRaisesRegex(sheaf.NotFoundError, "no value in the column twice"):
            data.get(["k/005"], columns=["twice"])
        with self.assertRaisesRegex(sheaf.ArgumentError, "expected fail or none"):
            data.get([0], columns=["twice"], missing="skip")
        with self.assertRaises(sheaf.NotFoundError):
            data.get([0], columns=["thrice"])
        self.assertNotIn("twice.num", data.get([7])[0])

    def test_refused_after_an_edit_and_valid_after_an_append(self):
        folder = self.path("grows")
        pack(folder, [("k/%03d" % i, {"txt": b"%d" % i}, i % 3) for i in range(COUNT)])
        sheaf.columns.write(folder, "twice", lambda s: {"num": b"%d" % (2 * int(s["txt"]))})
        more = self.path("more")
        os.makedirs(os.path.join(more, "class 0"))
        with open(os.path.join(more, "class 0", "900.txt"), "w", encoding="ascii") as file:
            file.write("900")
        sheaf.append(more, folder)
        with sheaf.Reader(folder, columns=["twice"], missing="none") as reader:
            self.assertEqual(len(self.check(reader, {900})), COUNT + 1)
        sheaf.columns.write(folder, "twice", lambda s: {"num": b"%d" % (2 * int(s["txt"]))}, only_missing=True)
        self.assertEqual(len(self.check(sheaf.Reader(folder, columns=["twice"]))), COUNT + 1)
        notes = []
        sheaf.edit(folder, delete=["k/003"], note=notes.append)
        (note,) = notes
        self.assertIn("the column twice belongs to the data set before this edit", note.message)
        with self.assertRaisesRegex(sheaf.ChangedError, "belongs to another data set"):
            sheaf.Reader(folder, columns=["twice"])

    def test_edited_while_a_column_is_written(self):
        """The column could not be read, so it is not published."""
        edits = iter([lambda: sheaf.edit(self.set, delete=["k/003"])])
        with self.assertRaisesRegex(sheaf.ChangedError, "the data set was edited after the column was begun"):
            sheaf.columns.write(self.set, "twice", lambda sample: [edit() for edit in edits] and {"num": b"1"} or None)
        self.assertNotIn("dataset.json", os.listdir(os.path.join(self.set, "columns", "twice", "1")))
        sheaf.columns.drop(self.set, "twice")
        sheaf.columns.plan(self.set, "twice", self.path("plan"))
        sheaf.columns.write_part(self.path("plan"), double, 0, 1)
        sheaf.edit(self.set, delete=["k/004"])
        with self.assertRaisesRegex(sheaf.ChangedError, "the data set was edited after the column was begun"):
            sheaf.commit(self.path("plan"))
        self.assertNotIn("dataset.json", os.listdir(os.path.join(self.set, "columns", "twice", "1")))

    def test_views(self):
        sheaf.columns.write(self.set, "twice", double)
        for columns in (("twice.num", ">", 40), [("twice.num", ">", 40), ["twice.num", "<=", 90]]):
            view = sheaf.View(self.set, where={"columns": columns})
            most = 45 if isinstance(columns, list) else COUNT
            self.assertEqual(sorted(int(bytes(s["txt"])) for s in sheaf.Reader(view)),
                             [i for i in range(21, COUNT) if i % 5 != 0 and i <= most])
        for wrong in ("twice.num>4", [("twice.num", ">")], ("twice.num", ">", "x")):
            with self.assertRaises(sheaf.ArgumentError):
                sheaf.View(self.set, where={"columns": wrong}).save(self.path("x.view"))

    def test_a_process_that_is_killed(self):
        sheaf.columns.plan(self.set, "part", self.path("plan"))
        for call in (lambda: sheaf.columns.write(self.set, "twice", killed, jobs=2, batch=2),
                     lambda: sheaf.columns.write_part(self.path("plan"), killed, 0, 1, jobs=2, batch=2)):
            with self.assertRaisesRegex(sheaf.TransformError, r"^after sample 'k/0\d\d' \(number \d+\): a process .* "
                                                              "died: it was killed, .* too little memory"):
                call()
        result = sheaf.columns.write(self.set, "twice", double, jobs=2, resume=True)
        self.assertEqual(result.samples, COUNT)

    def test_a_function_that_fails(self):
        def fails(sample):
            if sample["__key__"] == "k/030":
                raise KeyError("x")
            return double(sample)

        with self.assertRaises(KeyError):
            sheaf.columns.write(self.set, "twice", fails)
        self.assertFalse(os.path.exists(os.path.join(self.set, "columns/twice/1/dataset.json")))
        with self.assertRaisesRegex(ValueError, "returned the field 'num'"):
            sheaf.columns.write(self.set, "other", double, fields=("txt",))
        result = sheaf.columns.write(self.set, "twice", double, resume=True)
        self.assertEqual(result.with_values, 40)
        again = sheaf.columns.write(self.set, "twice", None, resume=True)   # it is there already
        self.assertEqual(again.with_values, 40)

    def test_messages_name_the_sample_or_the_row(self):
        def fails(sample):
            if sample["__key__"] == keys[30]:
                raise RuntimeError("boom")
            return double(sample)

        keys = [sample.key for sample in sheaf.Reader(self.set, no_shuffle=True)]
        for jobs in (1, 2):
            with self.assertRaisesRegex(RuntimeError, r"sample '%s' \(number 30\): boom" % keys[30]):
                sheaf.columns.write(self.set, "other", fails, jobs=jobs)
        for result, kind, says in (("text", sheaf.ArgumentError, "expected a dict from extensions to bytes"),
                                   ({"txt": "text"}, TypeError, "the field 'txt' is of <class 'str'>, expected bytes"),
                                   ({"num": 1}, TypeError, "the field 'num' is of <class 'int'>, expected bytes"),
                                   ({1: b"x"}, TypeError, "the name of a field is 1, expected a text"),
                                   ({"a/b": b"x"}, sheaf.ArgumentError, "cannot be the extension .* contains a slash")):
            with self.assertRaisesRegex(kind, r"sample '%s' \(number 0\): .*%s" % (keys[0], says)):
                sheaf.columns.write(self.set, "other", lambda sample: result)
        for rows, kind, says in (([{"key": "none", "v": 1}], sheaf.NotFoundError, "^row 1: the data set has no sample"),
                                 ([{"key": keys[0], "v": 1}] * 2, sheaf.ExistsError, "^row 2: a second value"),
                                 ([{"key": keys[0], "a/b": 1}], sheaf.ArgumentError, '^row 1: the name "a/b"'),
                                 ([{"key": keys[0]}], sheaf.ArgumentError, "^the source: has no values")):
            with self.assertRaisesRegex(kind, says):
                sheaf.columns.add(self.set, "other", rows)
        said = []
        sheaf.columns.add(self.set, "rows", [{"key": "none", "v": 1}, {"key": keys[0], "v": 1}], unknown_keys="skip",
                          report=said.append)
        self.assertTrue(said[0].message.startswith("row 1: "), said)
        self.assertEqual(said[0].where, "the source")

    def test_a_failed_function_leaves_nothing(self):
        with self.assertRaises(ZeroDivisionError):
            sheaf.columns.write(self.set, "never", lambda sample: 1 / 0)
        self.assertFalse(os.path.exists(os.path.join(self.set, "columns")))

    def test_the_empty_directory_of_a_killed_run_is_dropped(self):
        os.makedirs(os.path.join(self.set, "columns/never/1"))
        sheaf.columns.drop(self.set, "never")
        self.assertFalse(os.path.exists(os.path.join(self.set, "columns")))
        with self.assertRaises(sheaf.NotFoundError):
            sheaf.columns.drop(self.set, "never")

    @unittest.skipIf(torch is None, "no torch")
    def test_loader(self):
        sheaf.columns.write(self.set, "twice", lambda s: {"num": b"%d" % (2 * int(s["txt"]))})
        for workers in (0, 2):
            loader = sheaf.torch.DataLoader(self.set, 8, workers, seed=2, columns=["twice"],
                                            decode=lambda s: {n: bytes(s[n]) for n in s},
                                            collate_fn=list)
            samples = [sample for batch in loader for sample in batch]
            self.assertEqual(len(self.check(samples)), COUNT)


if __name__ == "__main__":
    unittest.main()
