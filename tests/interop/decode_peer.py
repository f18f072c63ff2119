# SPDX-License-Identifier: MIT
"""What other programs decode of our shards, each in a process of its own: TensorFlow and PyTorch bring
libraries that do not go together.

    decode_peer.py torchvision SHARD...     of tar files, which webdataset reads
    decode_peer.py tensorflow SHARD...      of TFRecord files

Prints key, label, width, height, channels and the file's hash, a line an image."""

import hashlib
import sys


def torchvision(shards):
    import torch
    import torchvision.io
    import webdataset
    for sample in webdataset.WebDataset(shards, shardshuffle=False):
        data = torch.frombuffer(bytearray(sample["jpg"]), dtype=torch.uint8)
        channels, height, width = torchvision.io.decode_jpeg(data).shape
        yield sample["__key__"], int(sample["cls"]), width, height, channels, sample["jpg"]


def tensorflow(shards):
    import tensorflow as tf

    def parse(record):
        e = tf.io.parse_single_example(record, {
            "image/encoded": tf.io.FixedLenFeature([], tf.string),
            "image/filename": tf.io.FixedLenFeature([], tf.string),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64)})
        data = e["image/encoded"]
        return (e["image/filename"], e["image/class/label"], tf.shape(tf.io.decode_jpeg(data)), data)

    for name, label, shape, data in tf.data.TFRecordDataset(shards).map(parse):
        height, width, channels = shape.numpy()
        yield name.numpy().decode()[:-len(".jpg")], int(label), width, height, channels, data.numpy()


if __name__ == "__main__":
    of = {"torchvision": torchvision, "tensorflow": tensorflow}[sys.argv[1]]
    for *said, image in of(sys.argv[2:]):
        print(*said, hashlib.sha256(image).hexdigest())
