# SPDX-License-Identifier: MIT
"""Tests plans whose parts are packed to S3, from local files, from files in S3, and from files that an inventory
lists."""

import gzip
import hashlib
import json
import os
import unittest

import servers
from parts import Parts
from support import image_tree, make_tree, pack, tree_of, write


class Remote(Parts, servers.S3Case):
    # The codec of a shard does not depend on its place, so each container and each codec is packed once or twice.
    KINDS = (("webdataset", "none"), ("tfrecord", "gzip"), ("recordio", "lz4"), ("webdataset", "zstd"))
    SHARD_SIZE, SMALL_SHARD_SIZE = "100kB", "30kB"      # a shard in S3 takes several requests

    def run_sheaf(self, *words, **how):
        return self.sheaf(*words, **how)

    def environment(self):
        return self.server.environment()

    def spot(self, name):
        return self.url(name)

    def source_of(self, tree):
        """Copies the tree into the bucket, unless an earlier call has copied it."""
        name = "in-%s" % os.path.basename(tree)
        if not self.client.list(self.bucket, name + "/"):
            self.client.put_tree(self.bucket, name + "/", tree_of(tree))
        return self.url(name)

    def key(self, url):
        return url[len(self.url()):]

    def compare(self, one, many):
        self.assert_same_objects(self.key(many), one)
        self.assertEqual(self.client.uploads(self.bucket), [])

    def everything(self, dest):
        return self.stored(self.key(dest))

    def assert_not_committed(self, dest):
        self.assertNotIn("dataset.json", self.stored(self.key(dest)))

    def change(self, source, path, data):
        key = "in-%s/%s" % (os.path.basename(source), path)
        if data is None:
            self.client.delete(self.bucket, key)
        else:
            self.client.put(self.bucket, key, data)

    def cut(self, dest, name):
        key = self.key(dest) + "/" + name
        self.client.put(self.bucket, key, self.client.get(self.bucket, key)[:-1])

    def alter(self, dest, name, change):
        key = self.key(dest) + "/" + name
        self.client.put(self.bucket, key, change(self.client.get(self.bucket, key)))

    def test_inventory(self):
        files = image_tree(4, 12)
        files["dir/a b+c.txt"] = b"an odd key"
        self.client.put_tree(self.bucket, "in/", files)
        rows = []
        for key, size, tag in self.listed("in/"):
            quoted = key.replace("%", "%25").replace("+", "%2B").replace(" ", "+")
            rows.append('"%s","%s","true","false","%d","%s"\n' % (self.bucket, quoted, size, tag))
        rows.append('"%s","in/old.txt","false","false","3","0"\n' % self.bucket)
        rows.append('"%s","in/gone.txt","true","true","",""\n' % self.bucket)
        rows.append('"%s","elsewhere/x.txt","true","false","3","0"\n' % self.bucket)
        rows.append('"%s","in/","true","false","0","0"\n' % self.bucket)
        rows.append('"%s","in/dir/","true","false","0","0"\n' % self.bucket)
        manifest = {"sourceBucket": self.bucket, "destinationBucket": "arn:aws:s3:::" + self.bucket,
                    "version": "2016-11-30", "fileFormat": "CSV",
                    "fileSchema": "Bucket, Key, IsLatest, IsDeleteMarker, Size, ETag",
                    "files": [{"key": "report/data/%d.csv.gz" % i} for i in range(2)]}
        for i in range(2):
            self.client.put(self.bucket, "report/data/%d.csv.gz" % i,
                            gzip.compress("".join(rows[i::2]).encode()))
        self.client.put(self.bucket, "report/manifest.json", json.dumps(manifest).encode())
        pack(make_tree(self.path("tree"), files), self.path("one"), "webdataset", "none",
             "--shard-count", "4")
        for name, where in (("s3", self.url("report/manifest.json")),
                            ("local", self.path("report/manifest.json"))):
            if name == "local":
                self.local_report(manifest)
            done = self.sheaf("plan", where, self.path(name), "-o", self.path("plan-" + name),
                              "--root", self.url("in"), "--format", "webdataset", "--shard-count",
                              "4")
            self.assertIn(b"0 files skipped, 5 non-file entries passed over", done.stdout)
            self.sheaf("pack", "--plan", self.path("plan-" + name))
            self.sheaf("commit", self.path("plan-" + name))
            left, right = tree_of(self.path("one")), tree_of(self.path(name))
            self.assertEqual(sorted(left), sorted(right))
            for file, data in left.items():
                if file not in ("dataset.json", "dataset.keys"):    # of this kind of source
                    self.assertEqual(data, right[file], file)

    def local_report(self, manifest):
        write(self.path("report/manifest.json"), json.dumps(manifest).encode())
        for file in manifest["files"]:
            write(self.path("report/data", os.path.basename(file["key"])),
                  self.client.get(self.bucket, file["key"]))

    def listed(self, prefix):
        return [(key, len(data), hashlib.md5(data).hexdigest())
                for key, data in ((prefix + k, v)
                                  for k, v in self.client.get_tree(self.bucket, prefix).items())]


if __name__ == "__main__":
    unittest.main()
