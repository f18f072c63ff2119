# SPDX-License-Identifier: MIT
"""The same matrix on every S3 server of s3_servers.py: what is packed, read, resumed, appended,
converted and fetched there is what it is on a local disk; nothing of others is touched, and nothing
of ours stays.  What a server cannot do is refused before anything is published."""

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
SETTINGS = ("checksum=crc64nvme", "checksum=crc32c", "content-md5=true", "storage-class=STANDARD",
            "storage-class=STANDARD_IA", "storage-class=EXPRESS_ONEZONE", "acl=private",
            "acl=bucket-owner-full-control", "tags=team=vision&stage=raw%20data",
            "encryption=AES256", "encryption=aws:kms", "owner=123456789012", "requester-pays=true")
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
            try:
                data, _ = self.client.request("GET", "/" + self.bucket,
                                              [("uploads", ""), ("prefix", prefix)])
            except servers.Refused as refused:
                if "<Code>NoSuchUpload</Code>" not in str(refused):     # rclone: there is none
                    raise
                continue
            for upload in ElementTree.fromstring(data).findall(".//{*}Upload"):
                key = upload.findtext("{*}Key")
                if self.server.lists_uploads_below or key == prefix:
                    found.append((key, upload.findtext("{*}UploadId")))
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

    def pack_here(self, container, codec):
        """Packs the tree on this machine; the set's name, and the options that it was packed with."""
        name, words = container + "-" + codec, ("--format", container, "--codec", codec, *SMALL)
        support.sheaf("pack", self.tree, self.path(name), *words)
        return name, words

    def test_containers_and_codecs(self):
        for container in support.CONTAINERS:
            for codec in support.CODECS:
                with self.subTest(container=container, codec=codec):
                    name, words = self.pack_here(container, codec)
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
        """In a ring: each container and codec from the one before it."""
        kinds = [(container, codec) for codec in support.CODECS for container in support.CONTAINERS]
        support.pack(self.tree, self.path("set"), "webdataset", "none", *SMALL)
        self.client.put_tree(self.bucket, "set/", support.tree_of(self.path("set")))
        before = "set"
        for container, codec in kinds[1:] + kinds[:1]:
            with self.subTest(container=container, codec=codec):
                name = "%s-%s" % (container, codec)
                words = ("--format", container, "--codec", codec)
                support.sheaf("convert", self.path(before), self.path(name), *words)
                self.sheaf("convert", self.url(before), self.url(name), *words)
                self.assert_same(name, self.path(name))
                self.sheaf("verify", self.url(name))
                before = name

    def test_append(self):
        """To each container and codec; the second time there is nothing to do."""
        more = support.make_tree(self.path("more"), {"new %d/%02d.jpg" % (i % 3, i): jpegs.jpeg(
            8, 8, 3, i) for i in range(20)})
        for container in support.CONTAINERS:
            for codec in support.CODECS:
                with self.subTest(container=container, codec=codec):
                    name, words = self.pack_here(container, codec)
                    support.sheaf("append", more, self.path(name))
                    self.sheaf("pack", self.tree, self.url(name), *words)
                    self.sheaf("append", more, self.url(name))
                    self.assert_same(name, self.path(name))
                    self.sheaf("append", more, self.url(name), "--resume")
                    self.assert_same(name, self.path(name))
                    self.assertIn(b"sound", self.sheaf("verify", self.url(name)).stdout)

    def test_get(self):
        self.sheaf("pack", self.tree, self.url("set"), "--format", "webdataset", *SMALL)
        support.pack(self.tree, self.path("set"), "webdataset", "none", *SMALL)
        key = support.listing(self.path("set"))[5].split("\t")[0]
        self.assertTrue(self.sheaf("get", self.url("set"), key).stdout ==
                        support.sheaf("get", self.path("set"), key).stdout)

    def test_views(self):
        """Of two data sets, of which one has grown; the second time from the cache."""
        support.sheaf("pack", self.tree, self.path("one"), "--format", "webdataset", *SMALL)
        support.sheaf("append", support.make_tree(self.path("more"), {"new/1.txt": b"1"}),
                      self.path("one"))
        self.client.put_tree(self.bucket, "one/", support.tree_of(self.path("one")))
        self.client.put_tree(self.bucket, "two/", support.tree_of(self.whole))
        chosen = ({"where": {"every": [2, 1]}}, {"where": {"every": [9, 4]}})
        there = support.view_of(self, list(zip((self.url("one"), self.url("two")), chosen)))
        here = support.view_of(self, list(zip((self.path("one"), self.whole), chosen)))
        words = ("--to", "webdataset", "--no-shuffle")
        expected = support.sheaf("cat", here, *words).stdout
        self.assertTrue(self.sheaf("cat", there, *words).stdout == expected)
        for _ in range(2):
            self.assertTrue(self.sheaf("cat", there, *words, "--cache", self.path("cache")).stdout
                            == expected)
        self.assertEqual(sorted(support.listing(there, "--seed", "5", env=self.env)),
                         sorted(support.listing(here, "--seed", "5")))

    def test_fetch(self):
        self.sheaf("pack", self.tree, self.url("set"), "--format", "tfrecord", *SMALL)
        support.pack(self.tree, self.path("set"), "tfrecord", "none", *SMALL)
        self.sheaf("fetch", self.url("set/"), self.path("fetched"))
        self.assert_same_tree(self.path("fetched"), self.path("set"))
        self.client.put_tree(self.bucket, "large/", support.tree_of(self.whole))
        self.sheaf("fetch", self.url("large/"), self.path("fetched-large"))
        self.assert_same_tree(self.path("fetched-large"), self.whole)
        again = self.sheaf("fetch", self.url("large/"), self.path("fetched-large"))
        if self.server.lists_etags:     # or it cannot be known that nothing has changed
            self.assertIn(b"fetched 0 files", again.stdout)

    def test_cache(self):
        self.sheaf("pack", self.large, self.url("set"), *IN_PARTS)
        expected = support.sheaf("cat", self.whole, "--no-shuffle").stdout
        words = ("cat", self.url("set"), "--no-shuffle", "--cache", self.path("cache"))
        for _ in range(2):
            self.assertTrue(self.sheaf(*words).stdout == expected)
        self.assertGreater(sum(len(d) for d in support.tree_of(self.path("cache")).values()),
                           len(expected) // 2)

    # ---- Runs that end early, and others ---------------------------------------------------

    def start(self, *words):
        words = words or ("pack", self.large, self.url("set"), *IN_PARTS)
        return subprocess.Popen([support.SHEAF, *words], env=self.env, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)

    def kill_when(self, is_time, *words):
        """Starts a run, and kills it then; it may have come to its end."""
        process, until = self.start(*words), time.monotonic() + DEADLINE
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

    def test_convert_killed_and_resumed(self):
        self.client.put_tree(self.bucket, "from/", support.tree_of(self.whole))
        support.sheaf("convert", self.whole, self.path("to"), "--format", "recordio")
        words = ("convert", self.url("from"), self.url("set"), "--format", "recordio")
        self.kill_when(self.is_there(".rec"), *words)
        self.sheaf(*words, "--resume")
        self.assert_same("set", self.path("to"))

    def test_append_killed_and_resumed(self):
        """The data set is what it was until all is there."""
        few = ("--format", "tfrecord", "--shard-count", "2")
        add = ("--shard-size", "10MB")
        support.sheaf("pack", self.tree, self.path("grown"), *few)
        before = support.listing(self.path("grown"))
        support.sheaf("append", self.large, self.path("grown"), *add)
        words = ("append", self.large, self.url("set"), *add)
        for way, last in (("--resume", "shard-000002.tfrecord"),
                          ("--overwrite", ".sheaf-partial/plan")):
            with self.subTest(way=way):
                self.sheaf("pack", self.tree, self.url("set"), *few, "--overwrite")
                self.kill_when(self.is_there(last), *words)
                if "set/dataset-1.index" not in self.client.list(self.bucket):
                    self.assertEqual(support.listing(self.url("set"), env=self.env), before)
                self.sheaf(*words, way)
                self.assert_same("set", self.path("grown"))

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
        plan = self.url("plan")
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
        if self.server.lists_directories:
            keys.remove("set/sub/shard-000000.tfrecord")
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

    def test_double_slashes(self):
        """A key with an empty name in it is a bad file; a destination with one is readable, or
        refused."""
        self.client.put(self.bucket, "in/a/1.txt", b"1")
        try:
            self.client.put(self.bucket, "in/b//2.txt", b"2")
        except servers.Refused:
            pass
        if "in/b//2.txt" in self.client.list(self.bucket):
            done = self.sheaf("pack", self.url("in"), self.url("no"), "--format", "webdataset",
                              status=1)
            self.assert_error(done, "b//2.txt")
            self.assertEqual(self.client.list(self.bucket, "no/"), {})
            self.sheaf("pack", self.url("in"), self.url("out"), "--format", "webdataset",
                       "--on-error", "skip")
            self.assertEqual(len(support.listing(self.url("out"), env=self.env)), 1)
        support.pack(self.tree, self.path("local"), "webdataset", "none", *SMALL)
        done = self.sheaf("pack", self.tree, self.url("x//y"), "--format", "webdataset", *SMALL,
                          status=None)
        if done.returncode == 0:
            if self.server.keeps_slashes:
                self.assert_same("x//y", self.path("local"))
            self.sheaf("verify", self.url("x//y"))
            self.assertEqual(support.listing(self.url("x//y"), env=self.env),
                             support.listing(self.path("local")))
        else:
            self.assert_error(done, self.url("x//y"))
            self.assertEqual(self.client.list(self.bucket, "x/"), {})

    def test_pages_of_keys(self):
        if not self.server.lists_pages:
            self.skipTest("it cannot list so many objects")
        files = {"%04d.txt" % i: b"text %d" % i for i in range(1100)}
        support.pack(support.make_tree(self.path("tree"), files), self.path("local"))
        self.client.put_tree(self.bucket, "in/", files)
        self.sheaf("pack", self.url("in/"), self.path("remote"), "--format", "webdataset")
        self.assert_same_tree(self.path("local"), self.path("remote"))

    # ---- What a policy may demand ----------------------------------------------------------

    def test_settings(self):
        """Each is taken, or refused by the server before anything is published."""
        for setting in SETTINGS:
            with self.subTest(setting=setting):
                name = setting.partition("&")[0].replace("=", "-").replace(":", "-")
                done = self.sheaf("pack", self.large, self.url(name), *IN_PARTS, "--s3", setting,
                                  status=None)
                self.assertEqual(done.returncode, setting in self.server.refuses, done.stderr)
                if done.returncode == 0:
                    self.assert_same(name, self.whole)
                else:
                    self.assert_error(done, self.url(name))
                    self.assertEqual(self.client.list(self.bucket, name), {})
                    self.assert_clean(name, support.tree_of(self.whole))

    def test_settings_of_all_commands(self):
        """All that the server takes at once, and by none of them do the bytes change."""
        given = [word for setting in SETTINGS[::-1] if setting not in self.server.refuses
                 for word in ("--s3", setting)]
        plan = self.url("plan")
        self.sheaf("plan", self.large, self.url("set"), "-o", plan, *IN_PARTS, *given)
        for part in (0, 1):
            self.sheaf("pack", "--plan", plan, "--part", "%d/2" % part, *given)
        self.sheaf("commit", plan, *given)
        self.assert_same("set", self.whole)
        self.sheaf("convert", self.url("set"), self.url("other"), "--format", "recordio", *given)
        support.sheaf("convert", self.whole, self.path("other"), "--format", "recordio")
        self.assert_same("other", self.path("other"))
        for place in (self.url("other"), self.path("other")):
            self.sheaf("append", self.tree, place, *(given if place.startswith("s3:") else ()))
        self.assert_same("other", self.path("other"))

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
