# SPDX-License-Identifier: MIT
"""Samples, views and batches: what they are, and who owns the bytes."""

import array
import collections.abc
import gc
import os
import pickle
import random
import unittest

import sheaf
from support import Case, pack, samples_of, seed


class SampleTest(Case):
    @classmethod
    def share(cls):
        cls.samples = samples_of(600)
        cls.by_key = {key: fields for key, fields, _ in cls.samples}
        cls.set = pack(os.path.join(cls.shared, "set"), cls.samples)

    def test_it_is_a_mapping(self):
        sample = next(sheaf.Reader(self.set, no_shuffle=True))
        self.assertIsInstance(sample, collections.abc.Mapping)
        self.assertEqual(sample.keys(), ["bin", "seg.txt"])
        self.assertEqual(list(sample), ["bin", "seg.txt"])
        self.assertEqual(len(sample), 2)
        self.assertIn("seg.txt", sample)
        self.assertNotIn("txt", sample)
        self.assertNotIn(3, sample)
        self.assertEqual(bytes(sample["seg.txt"]), b"0")
        self.assertEqual([bytes(v) for v in sample.values()], list(self.samples[0][1].values()))
        self.assertEqual(dict(sample).keys(), {"bin", "seg.txt"})
        self.assertIsNone(sample.get("jpg"))
        self.assertEqual(sample.get("jpg", 5), 5)
        with self.assertRaises(KeyError) as caught:
            sample["jpg"]
        self.assertEqual(caught.exception.args, (
            "the sample 'c0/00000' has no field 'jpg', but ['bin', 'seg.txt']",))
        self.assertEqual((sample.number, sample.shard, sample.record), (0, 0, 0))
        self.assertEqual(repr(sample), "<sheaf.Sample 'c0/00000' ['bin', 'seg.txt']>")
        self.assertEqual(pickle.loads(pickle.dumps(sample)).to_bytes(), sample.to_bytes())
        with self.assertRaises(TypeError):
            sheaf.Sample()

    def test_fields_are_counted(self):
        data = sheaf.Dataset(self.set)
        sizes = {"bin": [], "seg.txt": []}
        lacking = next(key for key, fields, _ in self.samples if "seg.txt" not in fields)
        for _, fields, _ in self.samples:
            for name, content in fields.items():
                sizes[name].append(len(content))
        self.assertEqual([(*f[:4], f.most, f.lacking) for f in data.fields],
                         [(name, len(s), sum(s), min(s), max(s), missing) for (name, s), missing
                          in zip(sizes.items(), (None, lacking))])
        median = sorted(sizes["bin"])[len(sizes["bin"]) // 2]
        self.assertAlmostEqual(data.fields[0].median, median, delta=median / 20 + 1)
        self.assertEqual(sum(data.class_samples or [600]), 600)

    def test_views_are_read_only_bytes_without_a_copy(self):
        sample = next(sheaf.Reader(self.set, no_shuffle=True))
        view = sample["bin"]
        self.assertIsInstance(view, memoryview)
        self.assertEqual((view.format, view.ndim, view.readonly), ("B", 1, True))
        with self.assertRaises(TypeError):
            view[0] = 1
        self.assertEqual(view.obj is not None, True)

    def test_views_outlive_everything_else(self):
        chance = random.Random(seed())
        reader = sheaf.Reader(self.set)
        kept = []
        for sample in reader:
            if chance.random() < 0.1:
                kept.append((sample.key, sample["bin"]))
        batch = reader.epoch(1).next_batch(50)
        kept += [(sample.key, sample["bin"]) for sample in batch]
        columns = batch.keys, batch.fields("bin")
        reader.close()
        del reader, sample, batch
        gc.collect()
        junk = [os.urandom(300000) for _ in range(20)]     # reuses what was freed
        for key, view in kept + list(zip(*columns)):
            self.assertEqual(view, self.by_key[key]["bin"])
        del junk

    def test_labels(self):
        folder = self.path("labels")
        given = {"a": None, "b": 3, "c": 0.5, "d": [1, 2, 0.25], "e": -7, "f": 1 << 53,
                 "g": array.array("d", [1.5, 2])}
        expected = {"a": (), "b": (3,), "c": (0.5,), "d": (1, 2, 0.25), "e": (-7,),
                    "f": (1 << 53,), "g": (1.5, 2)}
        with sheaf.Packer(folder) as packer:
            for key, labels in given.items():
                packer.append(key, {"x": b""}, labels=labels)
        for sample in sheaf.Reader(folder):
            self.assertEqual(sample.labels, expected[sample.key])
            self.assertEqual(sample.label, (expected[sample.key] or (None,))[0])
            self.assertEqual([type(v) for v in sample.labels],
                             [type(v) for v in expected[sample.key]])

    def test_suffixes_keep_their_case(self):
        folder = self.path("case")
        with sheaf.Packer(folder) as packer:
            packer.append("a", {"JPG.Txt": b"1"})
        sample = next(sheaf.Reader(folder))
        self.assertEqual((sample.keys(), sample.suffixes), (["jpg.txt"], ["JPG.Txt"]))


class BatchTest(Case):
    @classmethod
    def share(cls):
        cls.set = os.path.join(cls.shared, "set")
        with sheaf.Packer(cls.set, format="tfrecord") as packer:
            for i in range(500):
                packer.append("%03d" % i, {"x": bytes([i % 256]) * 20, "y": b"y" * (i % 4)},
                              labels=[i, i / 2])

    def test_it_is_a_sequence_of_samples(self):
        batch = sheaf.Reader(self.set, no_shuffle=True).next_batch(10)
        self.assertEqual(len(batch), 10)
        self.assertEqual([s.key for s in batch], ["%03d" % i for i in range(10)])
        self.assertEqual(batch[-1].key, "009")
        self.assertEqual(batch.keys, [s.key for s in batch])
        self.assertEqual(batch.names, ["x", "y"])
        for index in (10, -11):
            with self.assertRaises(IndexError):
                batch[index]

    def test_columns(self):
        batch = sheaf.Reader(self.set, no_shuffle=True).next_batch(8)
        self.assertEqual([bytes(v) for v in batch.fields("y")], [b"y" * (i % 4) for i in range(8)])
        self.assertEqual(batch.labels.tolist(), [[i, i / 2] for i in range(8)])
        self.assertEqual((batch.labels.format, batch.labels.shape), ("d", (8, 2)))
        with self.assertRaisesRegex(KeyError, "000' has no field 'z'"):
            batch.fields("z")

    def test_stacked_fields_are_rows(self):
        for step in (1, 2, 100):
            for batch in sheaf.Reader(self.set).batches(step):
                rows = batch.stack("x")
                self.assertEqual((rows.shape, rows.format, rows.readonly), ((step, 20), "B", True))
                self.assertTrue(rows.c_contiguous)
                self.assertEqual(rows.tolist(), [list(bytes(s["x"])) for s in batch])
                del rows

    def test_what_cannot_be_stacked_is_refused(self):
        batch = sheaf.Reader(self.set, no_shuffle=True).next_batch(8)
        with self.assertRaisesRegex(ValueError, "y does not make an array: sample 001 has 1 bytes"):
            batch.stack("y")
        with self.assertRaises(KeyError):
            batch.stack("z")
        mixed = self.path("mixed")
        with sheaf.Packer(mixed) as packer:
            packer.append("a", {"x": b"1"}, labels=1)
            packer.append("b", {"x": b"1"}, labels=[1, 2])
        with self.assertRaisesRegex(ValueError, "labels do not make an array"):
            sheaf.Reader(mixed, no_shuffle=True).next_batch(2).labels

    def test_large_samples_of_several_readings_make_one_batch(self):
        """They are not copied, so they lie anywhere; the rows and the labels are one array."""
        folder = self.path("large")
        with sheaf.Packer(folder, format="tfrecord") as packer:
            for i in range(200):
                packer.append("%03d" % i, {"x": b"%03d" % i * 7000, "y": b"%03d" % i}, labels=i)
        for buffer in (0, 50):
            reader = sheaf.Reader(folder, shuffle_buffer=buffer)
            order = [sample.key for sample in sheaf.Reader(folder, shuffle_buffer=buffer)]
            found, views, places = [], [], {}
            for size in (1, 40, 2, 1, 100, 3, 1):
                found.append(next(reader).key)
                places[len(found)] = reader.position()
                batch = reader.next_batch(size)
                rows, labels = batch.stack("x"), batch.labels
                views += [rows, batch.fields("x"), batch.stack("y")]
                for i, key in enumerate(batch.keys):
                    self.assertEqual(bytes(rows[i:i + 1]), key.encode() * 7000)
                    self.assertEqual(labels[i, 0], int(key))
                found += batch.keys
                places[len(found)] = reader.position()
            self.assertEqual(found, order[:len(found)])
            kept = [view.tobytes() for view in views[0::3]]
            reader.close()
            del reader, batch, rows, labels
            gc.collect()
            junk = [os.urandom(21000) for _ in range(300)]     # reuses what was freed
            self.assertEqual([view.tobytes() for view in views[0::3]], kept)
            for fields, ids in zip(views[1::3], views[2::3]):
                for field, key in zip(fields, ids.tolist()):
                    self.assertEqual(field, bytes(key) * 7000)
            del junk
            for count, position in places.items():
                other = sheaf.Reader(folder, shuffle_buffer=buffer)
                other.resume(position)
                self.assertEqual(next(other).key, order[count])

    def test_rows_outlive_the_batch(self):
        rows = [sheaf.Reader(self.set, no_shuffle=True).next_batch(8).stack("x")
                for _ in range(5)]
        gc.collect()
        for view in rows:
            self.assertEqual(view.tolist(), [[i] * 20 for i in range(8)])


if __name__ == "__main__":
    unittest.main()
