# SPDX-License-Identifier: MIT
"""Batches as NumPy arrays.  Needs numpy (Debian: python3-numpy)."""

import gc
import os
import unittest

import sheaf
from support import Case, pack, samples_of

try:
    import numpy
    import sheaf.numpy
except ImportError as error:
    raise unittest.SkipTest("no numpy: %s" % error)


class NumpyTest(Case):
    def test_columns(self):
        folder = self.path("set")
        with sheaf.Packer(folder) as packer:
            for i in range(100):
                packer.append("%d" % i, {"f": numpy.full(5, i, "<f4"), "v": b"x" * i}, labels=i)
        kept = list(sheaf.numpy.batches(sheaf.Reader(folder, no_shuffle=True), 32))
        gc.collect()
        self.assertEqual([len(batch["__key__"]) for batch in kept], [32, 32, 32, 4])
        values = numpy.concatenate([batch["f"].view("<f4") for batch in kept])
        self.assertTrue((values == numpy.arange(100)[:, None]).all())
        self.assertEqual(values.shape, (100, 5))
        self.assertFalse(kept[0]["f"].flags.writeable or kept[0]["f"].flags.owndata)
        labels = numpy.concatenate([batch["__label__"] for batch in kept])
        self.assertTrue((labels == numpy.arange(100)).all())
        self.assertEqual(labels.dtype, numpy.int64)
        self.assertEqual([len(array) for array in kept[1]["v"]], list(range(32, 64)))

    def test_fields_that_some_samples_lack(self):
        with sheaf.Packer(self.path("set")) as packer:
            packer.append("a", {"x": b"1"})
            packer.append("b", {"y": b"22"})
            packer.append("c", {"x": b"3", "y": b"44"})
        (batch,) = sheaf.numpy.batches(sheaf.Reader(self.path("set"), no_shuffle=True), 10)
        self.assertEqual([None if a is None else a.tobytes() for a in batch["x"]],
                         [b"1", None, b"3"])
        self.assertEqual([None if a is None else a.tobytes() for a in batch["y"]],
                         [None, b"22", b"44"])

    def test_labels_of_all_shapes(self):
        for labels, shape, kind in ((None, None, None), ([1, 2, 3], (7, 3), "int64"),
                                    (0.5, (7,), "float64"), ([1, 0.5], (7, 2), "float64"),
                                    (-(1 << 40), (7,), "int64")):
            folder = self.path("set-%r" % (labels,))
            with sheaf.Packer(folder) as packer:
                for i in range(7):
                    packer.append("%d" % i, {"x": b""}, labels=labels)
            (batch,) = sheaf.numpy.batches(sheaf.Reader(folder), 10)
            if shape is None:
                self.assertNotIn("__label__", batch)
            else:
                self.assertEqual((batch["__label__"].shape, batch["__label__"].dtype),
                                 (shape, kind))
                self.assertEqual(batch["__label__"].tolist(), [labels] * 7)

    def test_labels_from_numpy_can_be_packed(self):
        with sheaf.Packer(self.path("set")) as packer:
            packer.append("a", {"x": numpy.zeros(3, "u1")}, labels=numpy.int64(3))
            packer.append("b", {"x": b""}, labels=numpy.float32(0.1))
            packer.append("c", {"x": b""}, labels=numpy.array([1, 2]))
        self.assertEqual([s.labels for s in sheaf.Reader(self.path("set"), no_shuffle=True)],
                         [(3,), (float(numpy.float32(0.1)),), (1, 2)])

    def test_the_epochs_follow_each_other(self):
        folder = pack(self.path("set"), samples_of(50))
        reader = sheaf.Reader(folder, seed=1)
        for epoch in range(2):
            found = sum((batch["__key__"] for batch in sheaf.numpy.batches(reader, 8)), [])
            self.assertEqual(found, [s.key for s in sheaf.Reader(folder, seed=1, epoch=epoch)])



class Messages(Case):
    def test_wrong_types(self):
        with self.assertRaisesRegex(TypeError, "reader must be a sheaf.Reader, not 'set/'"):
            sheaf.numpy.batches("set/", 5)
        with self.assertRaisesRegex(TypeError, "batch must be a sheaf.Batch, not 'set/'"):
            sheaf.numpy.arrays("set/")


if __name__ == "__main__":
    unittest.main()
