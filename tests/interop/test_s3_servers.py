# SPDX-License-Identifier: MIT
"""The same matrix on every S3 server of s3_servers.py: what is packed, read, resumed, converted and
fetched there is what it is on a local disk; nothing of others is touched, and nothing of ours stays.
What a server cannot do is refused before anything is published."""

import os
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "system"))
import jpegs                    # pylint: disable=wrong-import-position
import s3_servers               # pylint: disable=wrong-import-position
import servers                  # pylint: disable=wrong-import-position
import support                  # pylint: disable=wrong-import-position

SMALL = ("--shard-size", "100kB")
IN_PARTS = ("--format", "tfrecord", "--shard-size", "10MB")     # of 8 MiB and the rest
ODD = ["a b", "a+b", "a%20b", "100%", "a=b;c", "~t", "\u00fcml\u00e4ut", "(1)", "a&b", "it's",
       "q?x=1", "#1", "@", "{0..3}", "\U0001f33e"]
DEADLINE = 120      # seconds for what must come some time


class Matrix:
    """Its subclasses name a server."""

    make = None

    @classmethod
    def share(cls):
        cls.server = cls.make()     # pylint: disable=not-callable
        cls.addClassCleanup(cls.server.stop)
        cls.tree = support.make_tree(os.path.join(cls.shared, "tree"), support.image_tree(3, 12))
        cls.large = os.path.join(cls.shared, "large")
        subprocess.run([support.MAKE_JPEGS, cls.large, "--images", "700", "--classes", "7"],
                       check=True, stdout=subprocess.DEVNULL)
        cls.whole = os.path.join(cls.shared, "whole")
        support.sheaf("pack", cls.large, cls.whole, *IN_PARTS)

    def setUp(self):
        super().setUp()
        self.client, self.env = self.server.client, self.server.environment()
        self.bucket = "bucket-%d" % next(servers.numbers)
        self.client.make_bucket(self.bucket)

    # ---- What is there ---------------------------------------------------------------------

    def uploads(self, keys):
        """The unfinished uploads of the bucket; of these keys only, where a server lists none
        without a key: [(key, id)]."""
        found = []
        if not self.server.lists_uploads:
            return found
        for prefix in [""] if self.server.lists_uploads_below else sorted(keys):
            data, _ = self.client.request("GET", "/" + self.bucket,
                                          [("uploads", ""), ("prefix", prefix)])
            for upload in ElementTree.fromstring(data).iter(servers.AMAZON + "Upload"):
                key = upload.findtext(servers.AMAZON + "Key")
                if self.server.lists_uploads_below or key == prefix:
                    found.append((key, upload.findtext(servers.AMAZON + "UploadId")))
        return found

    def assert_clean(self, prefix, names):
        """Nothing is left of an upload or of a run."""
        prefix = prefix.rstrip("/") + "/"
        keys = {prefix + name for name in names} | {prefix + ".sheaf-probe"}
        self.assertEqual([key for key, _ in self.uploads(keys) if key.startswith(prefix)], [])
        self.assertEqual([k for k in self.client.list(self.bucket, prefix)
                          if ".sheaf-partial" in k], [])

    def assert_same(self, prefix, folder):
        """The objects below the prefix are the files of the folder, and nothing else is left."""
        self.assert_same_objects(prefix, folder)
        self.assert_clean(prefix, support.tree_of(folder))

    # ---- Packing and reading ---------------------------------------------------------------

    def test_containers_and_codecs(self):
        for container in support.CONTAINERS:
            for codec in support.CODECS:
                with self.subTest(container=container, codec=codec):
                    name = container + "-" + codec
                    words = ("--format", container, "--codec", codec, *SMALL)
                    support.sheaf("pack", self.tree, self.path(name), *words)
                    self.sheaf("pack", self.tree, self.url(name), *words)
                    self.assert_same(name, self.path(name))
                    self.assertEqual(support.listing(self.url(name), "--seed", "7", env=self.env),
                                     support.listing(self.path(name), "--seed", "7"))
                    self.assertIn(b"sound", self.sheaf("verify", self.url(name)).stdout)

    def test_in_parts(self):
        self.sheaf("pack", self.large, self.url("set"), *IN_PARTS)
        self.assert_same("set", self.whole)
        self.assertTrue(self.sheaf("cat", self.url("set"), "--seed", "3").stdout ==
                        support.sheaf("cat", self.whole, "--seed", "3").stdout)

    def test_convert(self):
        support.pack(self.tree, self.path("one"), "webdataset", "none", *SMALL)
        support.sheaf("convert", self.path("one"), self.path("two"), "--format", "recordio",
                      "--codec", "zstd")
        self.sheaf("convert", self.path("one"), self.url("one"), "--format", "webdataset")
        self.sheaf("convert", self.url("one"), self.url("two"), "--format", "recordio", "--codec",
                   "zstd")
        self.assertEqual(sorted(support.listing(self.url("two"), env=self.env)),
                         sorted(support.listing(self.path("two"))))
        self.sheaf("verify", self.url("two"))
        self.assert_clean("two", support.tree_of(self.path("two")))

    def test_get_and_views(self):
        self.sheaf("pack", self.tree, self.url("set"), "--format", "webdataset", *SMALL)
        support.pack(self.tree, self.path("set"), "webdataset", "none", *SMALL)
        key = support.listing(self.path("set"))[5].split("\t")[0]
        self.assertTrue(self.sheaf("get", self.url("set"), key).stdout ==
                        support.sheaf("get", self.path("set"), key).stdout)
        view = support.view_of(self, [(self.url("set"), {"where": {"every": [2, 1]}})])
        local = support.view_of(self, [(self.path("set"), {"where": {"every": [2, 1]}})])
        self.assertEqual(sorted(support.listing(view, env=self.env)),
                         sorted(support.listing(local)))

    def test_fetch(self):
        self.sheaf("pack", self.tree, self.url("set"), "--format", "tfrecord", *SMALL)
        support.pack(self.tree, self.path("set"), "tfrecord", "none", *SMALL)
        self.sheaf("fetch", self.url("set/"), self.path("fetched"))
        self.assert_same_tree(self.path("fetched"), self.path("set"))
        self.client.put_tree(self.bucket, "large/", support.tree_of(self.whole))
        self.sheaf("fetch", self.url("large/"), self.path("fetched-large"))
        self.assert_same_tree(self.path("fetched-large"), self.whole)

    def test_cache(self):
        self.sheaf("pack", self.large, self.url("set"), *IN_PARTS)
        expected = support.sheaf("cat", self.whole, "--no-shuffle").stdout
        words = ("cat", self.url("set"), "--no-shuffle", "--cache", self.path("cache"))
        for _ in range(2):
            self.assertTrue(self.sheaf(*words).stdout == expected)
        self.assertGreater(sum(len(d) for d in support.tree_of(self.path("cache")).values()),
                           len(expected) // 2)

    # ---- Runs that end early, and others ---------------------------------------------------

    def start(self, *more):
        return subprocess.Popen([support.SHEAF, "pack", self.large, self.url("set"), *IN_PARTS,
                                 *more], env=self.env, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)

    def kill_when(self, is_time):
        """Starts a run, and kills it then; it may have come to its end."""
        process, until = self.start(), time.monotonic() + DEADLINE
        while process.poll() is None and not is_time() and time.monotonic() < until:
            time.sleep(0.002)
        process.kill()
        process.wait()
        process.stderr.close()
        if "set/dataset.json" not in self.client.list(self.bucket):
            done = self.sheaf("cat", self.url("set"), "--list", status=1)
            self.assert_error(done, self.url("set"))

    def is_there(self, end, count=1):
        return lambda: sum(k.endswith(end)
                           for k in self.client.list(self.bucket, "set/")) >= count

    def test_killed_and_resumed(self):
        for what, is_time in (("claimed", self.is_there("plan")),
                              ("an upload", lambda: self.uploads(["set/shard-000000.tfrecord"])),
                              ("a shard", self.is_there(".tfrecord"))):
            with self.subTest(killed_after=what):
                self.kill_when(is_time)
                self.sheaf("pack", self.large, self.url("set"), *IN_PARTS, "--resume")
                self.assert_same("set", self.whole)
                for key in self.client.list(self.bucket):
                    self.client.delete(self.bucket, key)

    def test_killed_and_overwritten(self):
        self.kill_when(self.is_there(".tfrecord"))
        done = self.sheaf("pack", self.large, self.url("set"), *IN_PARTS, status=1)
        self.assert_error(done, self.url("set"))
        self.sheaf("pack", self.large, self.url("set"), *IN_PARTS, "--overwrite")
        self.assert_same("set", self.whole)

    def test_overwrite(self):
        self.sheaf("pack", self.tree, self.url("set"), "--format", "webdataset", *SMALL)
        done = self.sheaf("pack", self.large, self.url("set"), *IN_PARTS, status=1)
        self.assert_error(done, self.url("set"), "data set")
        self.sheaf("pack", self.large, self.url("set"), *IN_PARTS, "--overwrite")
        self.assert_same("set", self.whole)

    def test_two_runs(self):
        """Of which one has the destination; what is there in the end is of one plan."""
        runs = [self.start() for _ in range(2)]
        codes = [(run.wait(timeout=support.TIMEOUT), run.stderr.read(), run.stderr.close())[0]
                 for run in runs]
        self.assertEqual(sorted(codes), [0, 1])
        self.assert_same("set", self.whole)

    def test_parts_of_a_plan(self):
        plan = self.path("plan")
        self.sheaf("plan", self.large, self.url("set"), "-o", plan, *IN_PARTS)
        for part in (1, 0):
            self.assert_error(self.sheaf("commit", plan, status=1), "missing")
            self.sheaf("pack", "--plan", plan, "--part", "%d/2" % part)
        self.sheaf("commit", plan)
        self.sheaf("commit", plan)
        self.assert_same("set", self.whole)

    def begin_upload(self, key):
        data, _ = self.client.request("POST", "/%s/%s" % (self.bucket, key), [("uploads", "")])
        return [e.text for e in ElementTree.fromstring(data).iter() if
                e.tag.endswith("UploadId")][0]

    def test_uploads_of_others(self):
        """Below the destination, and beside it."""
        if not self.server.lists_uploads:
            self.skipTest("it lists no uploads")
        keys = ["set/their-own.bin", "set/sub/shard-000000.tfrecord", "set-2/shard-000000.tfrecord"]
        theirs = sorted((key, self.begin_upload(key)) for key in keys)
        self.kill_when(self.is_there(".tfrecord"))
        self.sheaf("pack", self.large, self.url("set"), *IN_PARTS, "--resume")
        self.sheaf("pack", self.large, self.url("set"), *IN_PARTS, "--overwrite")
        ours = ["set/" + name for name in support.tree_of(self.whole)]
        self.assertEqual(sorted(self.uploads(keys + ours)), theirs)
        self.assert_same_objects("set", self.whole)

    # ---- Keys ------------------------------------------------------------------------------

    def odd_files(self):
        return {"dir %d/%s.jpg" % (i % 3, name): jpegs.jpeg(8, 8, 3, i)
                for i, name in enumerate(ODD)}

    def test_odd_keys(self):
        """As sources: the same as from a tree, or a refusal."""
        files = self.odd_files()
        support.pack(support.make_tree(self.path("tree"), files), self.path("local"))
        self.client.put_tree(self.bucket, "in/", files)
        done = self.sheaf("pack", self.url("in/"), self.url("out"), "--format", "webdataset",
                          status=0 if self.server.encodes_keys else 1)
        if self.server.encodes_keys:
            self.assert_same("out", self.path("local"))
        else:
            self.assert_error(done, "listing", "encoded")
            self.assertEqual(self.client.list(self.bucket, "out/"), {})

    def test_odd_destinations(self):
        support.pack(self.tree, self.path("local"), "webdataset", "none", *SMALL)
        for name in ("a b", "a+b", "100%", "\u00fcml\u00e4ut", "a&b=c"):
            with self.subTest(name=name):
                words = ("pack", self.tree, self.url(name), "--format", "webdataset", *SMALL)
                done = self.sheaf(*words, status=None)
                if done.returncode == 0:
                    self.assert_same_objects(name, self.path("local"))
                    self.assertEqual(support.listing(self.url(name), env=self.env),
                                     support.listing(self.path("local")))
                else:
                    self.assertFalse(self.server.encodes_keys, done.stderr)
                    self.assert_error(done, "listing", "encoded")
                    for key in ("dataset.json", ".sheaf-partial/plan"):
                        with self.assertRaises(servers.Refused):
                            self.client.get(self.bucket, name + "/" + key)

    def test_pages_of_keys(self):
        files = {"%04d.txt" % i: b"text %d" % i for i in range(1100)}
        support.pack(support.make_tree(self.path("tree"), files), self.path("local"))
        self.client.put_tree(self.bucket, "in/", files)
        self.sheaf("pack", self.url("in/"), self.path("remote"), "--format", "webdataset")
        self.assert_same_tree(self.path("local"), self.path("remote"))

    # ---- Refusals --------------------------------------------------------------------------

    def test_wrong_secret(self):
        if not self.server.checks_signatures:
            self.skipTest("it checks no signatures")
        done = self.sheaf("pack", self.tree, self.url("set"), "--format", "webdataset", status=1,
                          env=self.server.environment(secret="wrong"))
        self.assert_error(done, "SignatureDoesNotMatch")

    def test_no_such_bucket(self):
        if not self.server.needs_buckets:
            self.skipTest("it makes them")
        done = self.sheaf("pack", self.tree, "s3://no-such-bucket/set", "--format", "webdataset",
                          status=1)
        self.assert_error(done, "NoSuchBucket")


for _make in s3_servers.ALL:
    globals()[_make.__name__] = type(_make.__name__, (Matrix, servers.BucketCase), {
        "make": _make, "__module__": __name__})


if __name__ == "__main__":
    unittest.main()
