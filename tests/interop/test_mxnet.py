# SPDX-License-Identifier: MIT
"""MXNet: RecordIO files both ways, with its .idx, and ImageRecordIter."""

import hashlib
import os
import subprocess
import unittest

import sheaf
from peers import Case

MXNET = os.environ.get("MXNET_PYTHON", "")
HERE = os.path.dirname(os.path.abspath(__file__))

if not MXNET or subprocess.run([MXNET, "-c", "import mxnet"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL).returncode != 0:
    raise unittest.SkipTest("no mxnet")


def mxnet(*words, text=None):
    done = subprocess.run([MXNET, os.path.join(HERE, "mxnet_peer.py"), *words], input=text,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return [line.split() for line in done.stdout.splitlines()]


class MXNetTest(Case):
    def test_mxnet_reads_ours(self):
        number = 0
        folder = self.pack("recordio")
        keys = self.ordered(folder)
        for shard in self.shards(folder):
            for identity, label, digest in mxnet("read", shard, shard[:-4] + ".idx"):
                data, expected = self.images[keys[int(identity)]]
                self.assertEqual(int(identity), number)
                self.assertEqual(float(label), expected)
                self.assertEqual(digest, hashlib.sha256(data).hexdigest())
                number += 1
        self.assertEqual(number, len(self.images))

    def test_image_record_iter_reads_ours(self):
        folder = self.pack("recordio")
        found = []
        for shard in self.shards(folder):
            found += [float(label) for (label,) in mxnet("iterate", shard, shard[:-4] + ".idx")]
        self.assertEqual(found, [s.label for s in sheaf.Reader(folder, no_shuffle=True)])

    def test_we_read_mxnet_s(self):
        lines = "".join("%d %s\n" % (label, os.path.join(self.tree, key + ".jpg"))
                        for key, (_, label) in self.images.items())
        mxnet("write", self.path("x.rec"), self.path("x.idx"), text=lines)
        found = [(bytes(s["jpg"]), s.label) for s in sheaf.Reader(self.path("x.rec"))]
        self.assert_images(found)


if __name__ == "__main__":
    unittest.main()
