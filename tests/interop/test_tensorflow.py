# SPDX-License-Identifier: MIT
"""TensorFlow: TFRecord files both ways, and sheaf.tf."""

import json
import os
import socket
import subprocess
import sys
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

    def test_converted_features_are_tensorflow_s(self):
        """From TFRecord to TFRecord nothing of an Example changes, to TensorFlow's own parser."""
        def example(number):
            return tf.train.Example(features=tf.train.Features(feature={
                "id": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
                "int/many": tf.train.Feature(int64_list=tf.train.Int64List(value=[-1, 1 << 62])),
                "int/none": tf.train.Feature(int64_list=tf.train.Int64List()),
                "float/whole": tf.train.Feature(float_list=tf.train.FloatList(value=[1, -0.0])),
                "bytes/many": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"", b"x"])),
                "nothing": tf.train.Feature()}))
        with tf.io.TFRecordWriter(self.path("foreign.tfrecord")) as writer:
            for number in range(20):
                writer.write(example(number).SerializeToString())
        sheaf.convert(self.path("foreign.tfrecord"), self.path("converted"), format="tfrecord",
                      shard_size=500)
        found = []
        for record in tf.data.TFRecordDataset(self.shards(self.path("converted"))):
            found.append(tf.train.Example.FromString(record.numpy()))
            del found[-1].features.feature["__key__"]
        self.assertEqual(found, [example(number) for number in range(20)])

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

    def test_batches(self):
        folder = self.pack("webdataset")
        expected = [s.key for s in sheaf.Reader(folder, seed=3)]
        for drop_last, sizes in ((False, [50, 50, 20]), (True, [50, 50])):
            dataset = sheaf.tf.dataset(folder, seed=3, batch_size=50, drop_last=drop_last)
            self.assertEqual(int(dataset.cardinality()), len(sizes))
            self.assertEqual(dataset.element_spec["__label__"],
                             tf.TensorSpec([50 if drop_last else None], tf.int64))
            batches = list(dataset)
            self.assertEqual([len(b["__label__"]) for b in batches], sizes)
            keys = [key.decode() for b in batches for key in b["__key__"].numpy()]
            self.assertEqual(keys, expected[:sum(sizes)])
            for b in batches:
                for key, image, label in zip(b["__key__"].numpy(), b["jpg"].numpy(), b["__label__"]):
                    self.assertEqual((image, int(label)), self.images[key.decode()])

    def test_stopped_and_resumed(self):
        """At each batch of two epochs; what tf.data has read ahead is not lost."""
        folder = self.pack("webdataset")
        for options in ({"batch_size": 50}, {"batch_size": 50, "drop_last": True}, {}):
            def keys_of(epochs, **resume):
                dataset = sheaf.tf.dataset(folder, seed=3, state=True, fields=[], rank=1,
                                           world_size=2, **options, **resume)
                if not options:
                    dataset = dataset.map(lambda s: s).batch(50)
                return [(b["__key__"].numpy().tolist(), b["__state__"])
                        for _ in range(epochs) for b in dataset.prefetch(2)]
            whole = keys_of(3)
            for done, (_, state) in enumerate(whole[:-1], 1):
                rest = [keys for keys, _ in whole[done:]]
                for saved in (state, state.numpy(), state.numpy()[-1].decode()):
                    epochs = -(-len(rest) * 3 // len(whole))
                    self.assertEqual([keys for keys, _ in keys_of(epochs, resume=saved)], rest)
        with self.assertRaises(sheaf.Error):
            sheaf.tf.dataset(folder, seed=4, resume=saved)

    def test_labels_of_another_type(self):
        folder = self.path("set")
        with sheaf.Packer(folder) as packer:
            packer.append("a", {"x": b"1"}, labels=1 << 40)
            packer.append("b", {"x": b"2"}, labels=0.5)
        with self.assertRaisesRegex(tf.errors.OpError, "label_type=tf.float32"):
            list(sheaf.tf.dataset(folder))
        labels = {float(e["__label__"]) for e in sheaf.tf.dataset(folder, label_type=tf.float32)}
        self.assertEqual(labels, {float(1 << 40), 0.5})

    def test_damage_that_is_skipped(self):
        folder = self.pack("webdataset")
        with open(self.shards(folder)[0], "r+b") as shard:
            shard.seek(2000)
            shard.write(b"damage")
        dataset = sheaf.tf.dataset(folder, on_corrupt="skip", report=lambda problem: None)
        self.assertEqual(len(list(dataset)), len(self.images) - 1)

    def test_a_strategy_over_two_ranks(self):
        """TensorFlow would share the batches of each rank out a second time."""
        folder, ports = self.pack("webdataset"), []
        for _ in range(2):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                ports.append("127.0.0.1:%d" % probe.getsockname()[1])
        running = [subprocess.Popen(
            [sys.executable, "-W", "ignore", os.path.join(os.path.dirname(__file__), "tf_rank.py"),
             folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, TF_CONFIG=json.dumps({
                "cluster": {"worker": ports}, "task": {"type": "worker", "index": rank}})))
                   for rank in range(2)]
        try:
            said = [process.communicate(timeout=500) for process in running]
        finally:
            for process in running:
                process.kill()
        self.assertEqual([process.returncode for process in running], [0, 0], said)
        keys = [out.split() for out, _ in said]
        self.assertEqual([len(found) for found in keys], [60, 60])
        self.assertEqual(sorted(keys[0] + keys[1]), sorted(self.images))

    def test_fields_that_samples_lack(self):
        folder = self.path("set")
        with sheaf.Packer(folder) as packer:
            packer.append("a", {"x": b"1", "y": b""})
            packer.append("b", {"x": b"2"})
        self.assertEqual([e["x"].numpy() for e in sheaf.tf.dataset(folder, fields=["x"])],
                         [bytes(s["x"]) for s in sheaf.Reader(folder)])
        with self.assertRaisesRegex(tf.errors.OpError, "sample 'b' has no field 'y'"):
            list(sheaf.tf.dataset(folder))


if __name__ == "__main__":
    unittest.main()
