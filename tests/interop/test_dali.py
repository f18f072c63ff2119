# SPDX-License-Identifier: MIT
"""NVIDIA DALI, on the CPU: it reads each container of ours by the index that we write for it."""

import os
import unittest

import sheaf
from peers import Case

try:
    from nvidia.dali import fn, pipeline_def
    import nvidia.dali.tfrecord as tfrec
except ImportError as error:
    raise unittest.SkipTest("no DALI: %s" % error)


def run(make, count):
    """The columns of `count` samples."""
    pipeline = pipeline_def(batch_size=1, num_threads=1, device_id=None)(make)()
    pipeline.build()
    for _ in range(count):
        yield [output.at(0) for output in pipeline.run()]


class DaliTest(Case):
    def check(self, make):
        self.assert_images([(image.tobytes(), int(label.tobytes().decode()
                                                  if label.dtype == "uint8" else label[0]))
                            for image, label in run(make, len(self.images))])

    def test_webdataset(self):
        shards = self.shards(self.pack("webdataset"))
        for indexes in ([shard[:-4] + ".idx" for shard in shards], None):
            self.check(lambda: tuple(fn.readers.webdataset(
                paths=shards, ext=["jpg", "cls"], missing_component_behavior="error",
                **({} if indexes is None else {"index_paths": indexes}))))

    def test_tfrecord(self):
        shards = self.shards(self.pack("tfrecord"))

        def make():
            features = fn.readers.tfrecord(
                path=shards, index_path=[shard[:-9] + ".idx" for shard in shards], features={
                    "image/encoded": tfrec.FixedLenFeature((), tfrec.string, ""),
                    "image/class/label": tfrec.FixedLenFeature([1], tfrec.int64, -1)})
            return features["image/encoded"], features["image/class/label"]
        self.check(make)

    def test_recordio(self):
        """One shard: DALI counts an index's offsets over all files together."""
        dest = self.path("set")
        sheaf.pack(self.tree, dest, format="recordio", shard_count=1, index="dali")
        (shard,) = self.shards(dest)
        self.check(lambda: tuple(fn.readers.mxnet(path=[shard], index_path=[shard[:-4] + ".idx"])))

    def test_images_decode(self):
        shards = self.shards(self.pack("webdataset"))

        def make():
            image, _ = fn.readers.webdataset(paths=shards, ext=["jpg", "cls"],
                                             index_paths=[s[:-4] + ".idx" for s in shards])
            return (fn.resize(fn.decoders.image(image, device="cpu"), resize_x=8, resize_y=8),)
        self.assertEqual({image.shape for (image,) in run(make, len(self.images))}, {(8, 8, 3)})


if __name__ == "__main__":
    unittest.main()
