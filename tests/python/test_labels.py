# SPDX-License-Identifier: MIT
"""Which values are labels: one rule for Packer.append, the dicts and tuples of a program, and tables.  NumPy and
torch are used if they are installed."""

import array
import decimal
import fractions
import struct
import unittest

import sheaf
from support import CONTAINERS, Case

ARRAYS = []                 # values of NumPy and torch, and the labels that they are
try:
    import numpy
    ARRAYS += [(numpy.int64(3), (3,)), (numpy.uint8(3), (3,)), (numpy.float32(0.5), (0.5,)),
               (numpy.bool_(True), (1,)), (numpy.array(3), (3,)), (numpy.array([1, 2]), (1, 2)),
               ([numpy.int64(1), 2], (1, 2)), (numpy.array([]), ())]
except ImportError:
    print("no numpy")
try:
    import torch
    ARRAYS += [(torch.tensor(3), (3,)), (torch.tensor([1, 2]), (1, 2)), (torch.tensor(True), (1,)),
               (torch.tensor(0.5, requires_grad=True), (0.5,)), ([torch.tensor(1), 2], (1, 2)),
               (torch.tensor(0.5, dtype=torch.bfloat16), (0.5,))]
except ImportError:
    print("no torch")


class LabelValuesTest(Case):
    def test_fractions_are_rounded_and_integers_are_not(self):
        """By one rule in every container, for a label, a list of labels and a field cls."""
        single = struct.unpack("<f", struct.pack("<f", 0.1))[0]
        for container in CONTAINERS:
            folder = self.path("labels-" + container)
            with sheaf.Packer(folder, format=container) as packer:
                packer.append("a", {"txt": b"x"}, labels=0.1)
                packer.append("b", {"txt": b"x"}, labels=[1, 0.1, -2.5])
                for label in (2 ** 53 + 1, 2 ** 60 + 1, -2 ** 60 - 1, 10 ** 400):
                    with self.assertRaisesRegex(sheaf.ArgumentError, str(label)[:20]):
                        packer.append("c", {"txt": b"x"}, labels=label)
                    with self.assertRaisesRegex(sheaf.ArgumentError, str(label)[:20]):
                        packer.append("c", {"txt": b"x"}, labels=[0, label])
                for label in (float("nan"), float("inf"), 1e39, 1e-3 + 1e300):
                    with self.assertRaises(sheaf.Error):
                        packer.append("c", {"txt": b"x"}, labels=label)
                packer.append("d", {"txt": b"x"}, labels=2 ** 60 if container != "recordio" else 8)
            with sheaf.Reader(folder, no_shuffle=True) as reader:
                found = [sample.labels for sample in reader]
            self.assertEqual(found, [(single,), (1, single, -2.5),
                                     (2 ** 60 if container != "recordio" else 8,)])
        rows = [{"txt": "x", "cls": text} for text in ("0.1", "7", "1 0.1")]
        sheaf.pack(iter(rows), self.path("rows"), format="tfrecord")
        with sheaf.Reader(self.path("rows"), no_shuffle=True) as reader:
            self.assertEqual([sample.labels for sample in reader], [(single,), (7,), (1, single)])
        with self.assertRaisesRegex(sheaf.ArgumentError, str(2 ** 60 + 1)):
            sheaf.pack(iter([{"txt": "x", "cls": str(2 ** 60 + 1)}]), self.path("rows-2"))

    def test_a_label_may_be_a_number_of_any_library(self):
        """By one rule for Packer.append and for dicts and tuples that a program packs."""
        some = ARRAYS + [(array.array("d", [0.5, 1]), (0.5, 1)), (True, (1,)), ([True, False], (1, 0)),
                         (range(2), (0, 1)), ((7,), (7,)), ([], ()), (None, ()),
                         (decimal.Decimal("0.5"), (0.5,)), (fractions.Fraction(6, 2), (3,))]
        for number, (value, expected) in enumerate(some):
            for container in CONTAINERS:
                with sheaf.Packer(self.path("set"), format=container, overwrite=True) as packer:
                    packer.append("a", {"txt": b"x"}, labels=value)
                rows = [{"__key__": "a", "txt": "x", "label": value}], [("a", {"txt": b"x"}, value)]
                found = [sheaf.Dataset(self.path("set"))["a"].labels]
                for row in rows:
                    sheaf.pack(iter(row), self.path("rows"), format=container, overwrite=True)
                    sample = sheaf.Dataset(self.path("rows"))["a"]
                    self.assertEqual(list(sample), ["txt"])
                    found.append(sample.labels)
                self.assertEqual(found, [expected] * 3, (number, value))

    def test_what_is_no_label_is_refused_with_its_key(self):
        for value in (b"1", bytearray(b"1"), memoryview(b"1"), "3", ["cat"], {1: 2}, {1}, [[1]], 1j,
                      [None], object()):
            with sheaf.Packer(self.path("set"), overwrite=True) as packer:
                with self.assertRaisesRegex(TypeError, "sample 'a': the label is .*expected a number"):
                    packer.append("a", {"txt": b"x"}, labels=value)
                packer.append("a", {"txt": b"x"})
            if not isinstance(value, str):
                with self.assertRaisesRegex(sheaf.ArgumentError, "sample 'a': the label is "):
                    sheaf.pack(iter([("a", {"txt": b"x"}, value)]), self.path("rows"))
        for key, label in (("a", 2 ** 53 + 1), ("b", 2 ** 53 + 2), ("c", 10 ** 400)):
            with sheaf.Packer(self.path("set"), overwrite=True) as packer, self.assertRaisesRegex(
                    sheaf.ArgumentError, "^%s: the label %d is neither an integer up to" % (key, label)):
                packer.append(key, {"txt": b"x"}, labels=label)

    def test_the_name_of_a_class_in_a_tuple(self):
        rows = [("a", {"txt": b"x"}, "dog"), ("b", {"txt": b"x"}, None, "cat"), ("c", {"txt": b"x"}, 1)]
        sheaf.pack(iter(rows), self.path("set"), classes=["cat", "dog"])
        with sheaf.Reader(self.path("set"), no_shuffle=True) as reader:
            self.assertEqual([sample.labels for sample in reader], [(1,), (0,), (1,)])
        with self.assertRaisesRegex(sheaf.ArgumentError, "has the class 'dog': name all classes"):
            sheaf.pack(iter(rows), self.path("rows"))

    def test_a_field_cls_is_a_label_if_it_has_numbers(self):
        for value, expected in (("7", (7,)), (b" 1 0.5\n", (1, 0.5)), (3, (3,)), ([1, 2], (1, 2)),
                                ("", ()), (b"\xff", ()), ({"a": 1}, ()), ([[1]], ())):
            sheaf.pack(iter([{"__key__": "a", "txt": "x", "cls": value}]), self.path("set"), overwrite=True)
            self.assertEqual(sheaf.Dataset(self.path("set"))["a"].labels, expected, value)
        for word in ("1_000", "nan", "0x10", "\u0663"):
            with self.assertRaisesRegex(sheaf.ArgumentError, "has the class '%s'" % word):
                sheaf.pack(iter([{"txt": "x", "cls": word}]), self.path("rows"))

    def test_a_table_and_its_parquet_file(self):
        try:
            import pyarrow.parquet
        except ImportError:
            self.skipTest("no pyarrow")
        single = struct.unpack("<f", struct.pack("<f", 0.1))[0]
        for value, kind, expected in (
                (0.1, pyarrow.float64(), (single,)), (True, pyarrow.bool_(), (1,)), ([], pyarrow.list_(pyarrow.int64()), ()),
                ([1, 2], pyarrow.list_(pyarrow.int64()), (1, 2)), (None, pyarrow.int64(), ()),
                (decimal.Decimal("0.5"), pyarrow.decimal128(5, 2), (0.5,)), (2 ** 53, pyarrow.int64(), (2 ** 53,))):
            table = pyarrow.table({"txt": pyarrow.array([b"x"]), "label": pyarrow.array([value], kind)})
            pyarrow.parquet.write_table(table, self.path("t.parquet"))
            sheaf.pack(sheaf.sources.parquet(self.path("t.parquet")), self.path("set"), overwrite=True)
            sample = sheaf.Dataset(self.path("set"))[0]
            self.assertEqual((sample.labels, list(sample)), (expected, ["txt"]))
        table = pyarrow.table({"txt": [b"x"], "label": [2 ** 60 + 1]})
        pyarrow.parquet.write_table(table, self.path("t.parquet"))
        with self.assertRaisesRegex(sheaf.ArgumentError, str(2 ** 60 + 1)):
            sheaf.pack(sheaf.sources.parquet(self.path("t.parquet")), self.path("rows"))


if __name__ == "__main__":
    unittest.main()
