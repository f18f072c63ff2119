# SPDX-License-Identifier: MIT
"""TensorFlow: TFRecord files both ways, and sheaf.tf."""

import os
import unittest

import sheaf
from peers import Case

try:
    import tensorflow as tf
    import sheaf.tf
except ImportError as error:
    raise unittest.SkipTest("no tensorflow: %s" % error)


def parse(record):
    return tf.io.parse_single_example(record, {
        "image/encoded": tf.io.FixedLenFeature([], tf.string),
        "image/filename": tf.io.FixedLenFeature([], tf.string),
        "image/class/label": tf.io.FixedLenFeature([], tf.int64),
        "image/class/text": tf.io.FixedLenFeature([], tf.string),
        "image/format": tf.io.FixedLenFeature([], tf.string),
        "image/height": tf.io.FixedLenFeature([], tf.int64),
        "image/width": tf.io.FixedLenFeature([], tf.int64)})


class TensorFlowTest(Case):
    def test_tensorflow_reads_ours(self):
        for codec in ("none", "gzip"):
            with self.subTest(codec):
                found = {}
                records = tf.data.TFRecordDataset(
                    self.shards(self.pack("tfrecord", codec)),
                    compression_type="GZIP" if codec == "gzip" else "")
                for e in records.map(parse):
                    key = e["image/filename"].numpy().decode()
                    self.assertTrue(key.endswith(".jpg"))
                    label = int(e["image/class/label"])
                    found[key[:-4]] = (e["image/encoded"].numpy(), label)
                    self.assertEqual(e["image/class/text"].numpy().decode(), self.classes[label])
                    self.assertEqual(e["image/format"].numpy(), b"JPEG")
                    shape = tf.io.decode_jpeg(e["image/encoded"]).shape
                    self.assertEqual((shape[0], shape[1]),
                                     (int(e["image/height"]), int(e["image/width"])))
                self.assert_images(found)

    def test_we_read_tensorflow_s(self):
        def feature(**kind):
            return tf.train.Feature(**kind)
        for compression in ("", "GZIP"):
            with self.subTest(compression):
                paths = [self.path("part-%d%s" % (n, compression)) for n in range(2)]
                writers = [tf.io.TFRecordWriter(path, compression) for path in paths]
                for i, (key, (data, label)) in enumerate(self.images.items()):
                    example = tf.train.Example(features=tf.train.Features(feature={
                        "image/encoded": feature(bytes_list=tf.train.BytesList(value=[data])),
                        "image/filename": feature(
                            bytes_list=tf.train.BytesList(value=[(key + ".jpg").encode()])),
                        "image/class/label": feature(
                            int64_list=tf.train.Int64List(value=[label]))}))
                    writers[i % 2].write(example.SerializeToString())
                for writer in writers:
                    writer.close()
                self.assert_images(self.read(paths))

    def test_a_tf_data_dataset(self):
        for container in ("webdataset", "tfrecord", "recordio"):
            folder = self.pack(container)
            dataset = sheaf.tf.dataset(folder, seed=3)
            self.assertEqual(int(dataset.cardinality()), len(self.images))
            for epoch in range(2):
                found = [(e["__key__"].numpy().decode(), (e["jpg"].numpy(), int(e["__label__"])))
                         for e in dataset]
                self.assert_images(dict(found))
                self.assertEqual([key for key, _ in found],
                                 [s.key for s in sheaf.Reader(folder, seed=3, epoch=epoch)])
            self.assertEqual(dataset.element_spec["__label__"].dtype, tf.int64)

    def test_a_pipeline_that_decodes(self):
        dataset = sheaf.tf.dataset(self.pack("webdataset"), seed=3)
        batches = dataset.map(lambda s: (tf.image.resize(
            tf.io.decode_jpeg(s["jpg"], channels=3), [8, 8]), s["__label__"])).batch(50)
        self.assertEqual([tuple(images.shape) for images, _ in batches],
                         [(50, 8, 8, 3), (50, 8, 8, 3), (20, 8, 8, 3)])

    def test_fields_that_samples_lack(self):
        folder = self.path("set")
        with sheaf.Packer(folder) as packer:
            packer.append("a", {"x": b"1", "y": b""})
            packer.append("b", {"x": b"2"})
        self.assertEqual([e["x"].numpy() for e in sheaf.tf.dataset(folder, fields=["x"])],
                         [bytes(s["x"]) for s in sheaf.Reader(folder)])
        with self.assertRaisesRegex(tf.errors.OpError, "sample b has no field y"):
            list(sheaf.tf.dataset(folder))


if __name__ == "__main__":
    unittest.main()
