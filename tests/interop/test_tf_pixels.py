# SPDX-License-Identifier: MIT
"""sheaf.tf with pixels: the crops of sheaf.numpy, as a tf.data.Dataset."""

import os
import random
import sys
import unittest

import sheaf
from support import Case, pack

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "system"))
import jpegs                                # pylint: disable=wrong-import-position

try:
    import tensorflow as tf
    import sheaf.numpy
    import sheaf.tf
except ImportError as error:
    raise unittest.SkipTest("no tensorflow: %s" % error)

COUNT = 50


class TensorFlowPixels(Case):
    @classmethod
    def share(cls):
        chance, cls.photos, samples = random.Random(1), {}, []
        for i in range(COUNT):
            width, height = chance.randrange(30, 90), chance.randrange(30, 90)
            key, data = "k/%02d" % i, jpegs.jpeg(width, height, 3, i, sampling=(2, 2))
            mask = tf.io.encode_png(tf.constant(list(chance.randbytes(width * height)), tf.uint8,
                                                [height, width, 1])).numpy()
            cls.photos[key] = data
            samples.append((key, {"a.png": mask, "jpg": data, "json": b"{%d}" % i}, i % 3))
        cls.set = pack(os.path.join(cls.shared, "set"), samples)
        for i in range(0, COUNT, 10):
            data = samples[i][1]["jpg"]         # it ends soon after its header
            samples[i][1]["jpg"] = data[:data.index(b"\xff\xda") + 24] + b"\xff\xd9"
        cls.bad = pack(os.path.join(cls.shared, "bad"), samples)

    def batches(self, source=None, layout="nhwc", epoch=0, **options):
        """What NumPy has."""
        with sheaf.Reader(source or self.set, seed=7, epoch=epoch, **options) as reader:
            return list(sheaf.numpy.batches(reader, 8, pixels=self.pixels(layout)))

    @staticmethod
    def pixels(layout="nhwc"):
        return sheaf.Pixels(24, layout=layout, masks=("a.png",))

    def dataset(self, source=None, layout="nhwc", **options):
        return sheaf.tf.dataset(source or self.set, seed=7, batch_size=8,
                                pixels=self.pixels(layout), **options)

    def assert_same(self, found, expected):
        self.assertEqual(len(found), len(expected))
        for own, other in zip(found, expected):
            self.assertEqual([key.decode() for key in own["__key__"].numpy()], other["__key__"])
            for name, column in (("pixels", "__pixels__"), ("crops", "__crops__"),
                                 ("__label__", "__label__")):
                self.assertTrue((own[name].numpy() == other[column]).all(), name)
            self.assertTrue((own["masks"]["a.png"].numpy() == other["__masks__"]["a.png"]).all())
            self.assertTrue((own["__seed__"].numpy().view("<u8")[:, 0] == other["__seed__"]).all())

    def test_epochs(self):
        dataset = self.dataset()
        self.assertEqual(int(dataset.cardinality()), -(-COUNT // 8))
        spec = dataset.element_spec
        self.assertEqual((spec["pixels"].shape.as_list(), spec["pixels"].dtype),
                         ([None, 24, 24, 3], tf.uint8))
        self.assertEqual((spec["crops"].shape.as_list(), spec["crops"].dtype), ([None, 5], tf.int32))
        self.assert_same(list(dataset), self.batches())
        self.assert_same(list(dataset.prefetch(2)), self.batches(epoch=1))

    def test_nchw_and_fields(self):
        found = list(self.dataset(layout="nchw", fields=("json",)))
        self.assert_same(found, self.batches(layout="nchw"))
        for batch in found:
            for key, text in zip(batch["__key__"].numpy(), batch["json"].numpy()):
                self.assertEqual(text, b"{%d}" % int(key[-2:]))

    def test_drop_last(self):
        dataset = self.dataset(drop_last=True)
        self.assertEqual(dataset.element_spec["pixels"].shape.as_list(), [8, 24, 24, 3])
        self.assert_same(list(dataset), self.batches()[:COUNT // 8])

    def test_state(self):
        """Of the batch that was given, though the reader is ahead of it."""
        whole = self.batches()
        for stop in (1, 3, 6):
            batches = list(self.dataset(state=True).take(stop))
            rest = self.dataset(resume=batches[-1]["__state__"].numpy())
            self.assert_same([*batches, *rest.take(len(whole) - stop)], whole)

    def test_ranks(self):
        found = {}
        for rank in range(2):
            for batch in self.dataset(rank=rank, world_size=2, remainder="keep"):
                for key, pixels in zip(batch["__key__"].numpy(), batch["pixels"].numpy()):
                    found[key.decode()] = pixels
        self.assertEqual(set(found), set(self.photos))
        for batch in self.batches():
            for key, pixels in zip(batch["__key__"], batch["__pixels__"]):
                self.assertTrue((found[key] == pixels).all())

    def test_bad_images(self):
        with self.assertRaisesRegex(Exception, "sample k/.0, field jpg: damaged JPEG"):
            list(self.dataset(self.bad))
        problems = []
        found = list(self.dataset(self.bad, on_corrupt="skip", report=problems.append))
        keys = sorted(key.decode() for batch in found for key in batch["__key__"].numpy())
        self.assertEqual(keys, sorted(key for i, key in enumerate(self.photos) if i % 10))
        self.assertEqual(len(problems), COUNT // 10)
        for batch in found:
            self.assertEqual(len({len(column) for name, column in batch.items()
                                  if name != "masks"}), 1)

    def test_refused(self):
        for options, says in (({"batch_size": None}, "pixels need batch_size"),
                              ({"pixels": sheaf.Pixels(views=[(2, 24, (0.1, 1))])}, "no views"),
                              ({"memory_bytes": 10000}, "give memory_bytes=")):
            with self.assertRaisesRegex(sheaf.Error, says):
                sheaf.tf.dataset(self.set, **{"batch_size": 8, "pixels": self.pixels(), **options})

    def test_it_trains(self):
        model = tf.keras.Sequential([tf.keras.layers.Rescaling(1 / 255), tf.keras.layers.Flatten(),
                                     tf.keras.layers.Dense(3)])
        model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        history = model.fit(self.dataset().map(lambda batch: (batch["pixels"], batch["__label__"])),
                            epochs=2, verbose=0)
        self.assertEqual(len(history.history["loss"]), 2)


if __name__ == "__main__":
    unittest.main()
