# SPDX-License-Identifier: MIT
"""The tfrecord package: TFRecord files both ways, with the index that DALI reads as well."""

import os
import unittest

from peers import Case

try:
    import numpy
    import tfrecord
    from tfrecord.tools.tfrecord2idx import create_index
except ImportError as error:
    raise unittest.SkipTest("no tfrecord: %s" % error)

DESCRIPTION = {"image/encoded": "byte", "image/filename": "byte", "image/class/label": "int"}


def read(path, index, **how):
    for e in tfrecord.tfrecord_loader(path, index, DESCRIPTION, **how):
        key = bytes(e["image/filename"]).decode()
        yield key[:-4], (bytes(e["image/encoded"]), int(e["image/class/label"][0]))


class TFRecordTest(Case):
    def test_tfrecord_reads_ours(self):
        for codec in ("none", "gzip"):
            shards = self.shards(self.pack("tfrecord", codec))
            self.assert_images(dict(pair for shard in shards for pair in read(
                shard, None, compression_type="gzip" if codec == "gzip" else None)))

    def test_our_index_is_theirs(self):
        for shard in self.shards(self.pack("tfrecord")):
            ours = shard[:-len(".tfrecord")] + ".idx"
            create_index(shard, self.path("theirs"))
            with open(ours) as one, open(self.path("theirs")) as other:
                self.assertEqual(one.read(), other.read())
            halves = [dict(read(shard, ours, shard=(n, 2))) for n in range(2)]
            self.assertEqual(dict(read(shard, None)), {**halves[0], **halves[1]})

    def test_we_read_tfrecord_s(self):
        writer = tfrecord.TFRecordWriter(self.path("x.tfrecord"))
        for key, (data, label) in self.images.items():
            writer.write({"image/encoded": (data, "byte"), "image/class/label": (label, "int"),
                          "image/filename": ((key + ".jpg").encode(), "byte")})
        writer.close()
        self.assert_images(self.read(self.path("x.tfrecord")))


if __name__ == "__main__":
    unittest.main()
