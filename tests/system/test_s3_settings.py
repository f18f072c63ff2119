# SPDX-License-Identifier: MIT
"""Tests settings that bucket policies require: --s3 and SHEAF_S3_... The server refuses requests without them, and
verifies checksums itself. (test_s3_access tests the settings with radosgw.)"""

import concurrent.futures
import os
import signal
import subprocess
import time
import unittest

import fake_s3
import servers
import support
from support import make_tree, pack

KMS_KEY = "arn:aws:kms:us-east-1:111122223333:key/1234abcd"
NEW = {"encryption": ("x-amz-server-side-encryption", "aws:kms"),
       "kms-key": ("x-amz-server-side-encryption-aws-kms-key-id", KMS_KEY),
       "bucket-key": ("x-amz-server-side-encryption-bucket-key-enabled", "true"),
       "storage-class": ("x-amz-storage-class", "STANDARD_IA"),
       "acl": ("x-amz-acl", "bucket-owner-full-control"),
       "tags": ("x-amz-tagging", "team=vision&stage=raw")}
EVERY = {"owner": ("x-amz-expected-bucket-owner", "111122223333"),
         "requester-pays": ("x-amz-request-payer", "requester")}
VALUES = {"requester-pays": "true"}
FORMAT = ("--format", "webdataset")


def options(settings):
    """Returns the settings as options of the command."""
    return [word for name, (_, value) in settings.items()
            for word in ("--s3", "%s=%s" % (name, VALUES.get(name, value)))]


def variables(settings):
    return {"SHEAF_S3_" + name.upper().replace("-", "_"): VALUES.get(name, value)
            for name, (_, value) in settings.items()}


class Case(support.Case):
    @classmethod
    def share(cls):
        chance = support.random.Random(1)
        files = support.image_tree(2, 4, size=3000)
        files.update({"large/%d.bin" % i: chance.randbytes(2600000) for i in range(4)})
        cls.tree = make_tree(os.path.join(cls.shared, "tree"), files)
        cls.small = make_tree(os.path.join(cls.shared, "small"), support.image_tree(2, 4, 3000))
        cls.local = os.path.join(cls.shared, "local")
        pack(cls.tree, cls.local)
        cls.words = ["pack", cls.tree, "s3://bucket/set", *FORMAT]
        cls.expected = support.tree_of(cls.local)

    def setUp(self):
        super().setUp()
        self.server = fake_s3.Server(support.seed())
        self.addCleanup(self.server.stop)
        self.objects = self.server.buckets["bucket"].objects
        self.env = dict(servers.clean_environment(), AWS_ACCESS_KEY_ID="key",
                        AWS_SECRET_ACCESS_KEY="secret", AWS_ENDPOINT_URL=self.server.url,
                        AWS_REGION="us-east-1")

    def demand(self, **how):
        self.server.rules = fake_s3.Rules(**how)
        return self.server.rules

    def run_sheaf(self, *words, status=0, env=None):
        done = subprocess.run([support.SHEAF, *words], env=dict(self.env, **env or {}),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stderr.decode()

    def check_set(self, prefix="set/", expected=None):
        found = {key[len(prefix):]: o.data for key, o in self.objects.items()
                 if key.startswith(prefix)}
        self.assertEqual(found, self.expected if expected is None else expected)


class Policies(Case):
    def demand_all(self):
        return self.demand(new=dict(NEW.values()), every=dict(EVERY.values()))

    def test_all_that_is_written_has_what_is_demanded(self):
        rules = self.demand_all()
        said = self.run_sheaf("pack", self.tree, "s3://bucket/set", *FORMAT,
                              *options({**NEW, **EVERY}))
        # At the end, the command reads the data set, to say what its samples have.  That is no
        # request of the packer's, so it has the environment's settings.
        self.assertIn("packed, but it cannot be read back", said)
        self.assertIn("set SHEAF_S3_REQUESTER_PAYS=true", said)
        last = max(i for i, (kind, _, _) in enumerate(rules.seen) if kind == "DeleteObject")
        self.assertEqual([each[:2] for each in rules.refused if each in rules.seen[:last]], [])
        self.check_set()
        kinds = {kind for kind, _, _ in rules.seen}
        self.assertLessEqual({"PutObject", "CreateMultipartUpload", "UploadPart",
                              "CompleteMultipartUpload", "HeadObject", "GetObject", "DeleteObject",
                              "ListObjectsV2"}, kinds)
        self.assertTrue(any(".sheaf-partial" in key for _, key, _ in rules.seen))
        for kind, _, headers in rules.seen[:last]:
            for name, _ in NEW.values():        # elsewhere, S3 refuses some of them
                self.assertEqual(name in headers, kind in ("PutObject", "CreateMultipartUpload"))

    def test_the_environment_is_for_reading_too(self):
        rules = self.demand_all()
        env = variables({**NEW, **EVERY})
        self.run_sheaf("pack", self.tree, "s3://bucket/set", *FORMAT, env=env)
        self.run_sheaf("cat", "s3://bucket/set", env=variables(EVERY))
        self.run_sheaf("verify", "s3://bucket/set", env=variables(EVERY))
        self.run_sheaf("fetch", "s3://bucket/set", self.path("copy"), env=variables(EVERY))
        self.assertEqual(rules.refused, [])
        self.check_set()
        text = self.run_sheaf("cat", "s3://bucket/set", status=1)
        self.assertIn("SHEAF_S3_REQUESTER_PAYS=true", text)

    def test_a_refusal_says_what_may_be_missing_and_nothing_is_written(self):
        self.demand(new=dict(NEW.values()))
        given = {name: NEW[name] for name in ("encryption", "acl")}
        text = self.run_sheaf("pack", self.small, "s3://bucket/set", *FORMAT, *options(given),
                              status=1)
        self.assertIn("explicit deny", text)
        self.assertIn("may demand headers that were not sent: "
                      "x-amz-server-side-encryption-aws-kms-key-id, x-amz-storage-class, "
                      "x-amz-tagging, x-amz-checksum-crc64nvme", text)
        self.assertIn("--s3 NAME=VALUE", text)
        self.assertEqual(self.objects, {})

    def test_what_is_not_a_setting_is_refused_before_anything_is_asked(self):
        rules = self.demand()
        for setting, name in (("storageclass=STANDARD", "storageclass"), ("acl=mine", "mine"),
                              ("kms-key=k", "encryption=aws:kms"), ("owner", "owner=VALUE")):
            text = self.run_sheaf("pack", self.small, "s3://bucket/set", *FORMAT, "--s3", setting,
                                  status=2)
            self.assertIn(name, text)
            self.assertIn(name, self.run_sheaf("pack", self.small, "s3://bucket/set", *FORMAT,
                                               "--dry-run", "--s3", setting, status=2))
        text = self.run_sheaf("pack", self.small, "s3://bucket/set", *FORMAT, status=2,
                              env={"SHEAF_S3_STORAGECLASS": "STANDARD"})
        self.assertIn("SHEAF_S3_STORAGECLASS", text)
        text = self.run_sheaf("pack", self.small, self.path("out"), *FORMAT, "--s3", "acl=private",
                              status=2)
        self.assertIn("is not in S3", text)
        self.assert_nothing(self.path("out"))
        self.assertEqual(rules.seen, [])

    def test_plans_parts_commits_and_conversions_take_them(self):
        rules = self.demand_all()
        given = options({**NEW, **EVERY})
        self.run_sheaf("plan", self.tree, "s3://bucket/set", "-o", "s3://bucket/plan", *FORMAT,
                       *given)
        env = variables(EVERY)          # to read the plan, which is not what is written
        self.run_sheaf("pack", "--plan", "s3://bucket/plan", "--part", "0/1", *given, env=env)
        self.run_sheaf("commit", "s3://bucket/plan", *given, env=env)
        self.assertEqual(rules.refused, [])
        self.check_set()
        self.run_sheaf("convert", "s3://bucket/set", "s3://bucket/made", "--format", "tfrecord",
                       *given, env=env)
        self.run_sheaf("plan", "s3://bucket/set", "s3://bucket/too", "-o", self.path("plan"),
                       "--format", "tfrecord", *given, env=env)
        self.run_sheaf("convert", "--plan", self.path("plan"), *given, env=env)
        self.run_sheaf("commit", self.path("plan"), *given, env=env)
        self.assertEqual(rules.refused, [])
        made = {key[5:]: o.data for key, o in self.objects.items() if key.startswith("made/shard")}
        self.assertEqual(made, {key[4:]: o.data for key, o in self.objects.items()
                                if key.startswith("too/shard")})

    def test_an_option_wins_over_the_environment(self):
        rules = self.demand(new={"x-amz-storage-class": "ONEZONE_IA"})
        self.run_sheaf("pack", self.small, "s3://bucket/set", *FORMAT, "--s3",
                       "storage-class=ONEZONE_IA", "--s3", "acl=",
                       env={"SHEAF_S3_STORAGE_CLASS": "STANDARD", "SHEAF_S3_ACL": "private"})
        self.assertEqual(rules.refused, [])
        self.assertFalse(any("x-amz-acl" in headers for _, _, headers in rules.seen))


class Checksums(Case):
    def check_sums(self, kind, whole=True):
        shards = [o for key, o in self.objects.items() if key.startswith("set/")]
        self.assertTrue(any("-" in o.etag for o in shards))
        for found in shards:
            value = found.checksums[kind]
            if "-" in found.etag and not whole:
                self.assertRegex(value, r"^[A-Za-z0-9+/]{6}==-[0-9]+$")
            else:
                self.assertEqual(value, self.server.sum(kind, found.data))

    def test_each_kind(self):
        for kind, whole in (("crc64nvme", True), ("crc32c", True), ("crc32c", False)):
            with self.subTest(kind=kind, whole=whole):
                self.objects.clear()
                rules = self.demand(whole=whole, lock=True)
                self.run_sheaf(*self.words, "--s3", "checksum=" + kind)
                self.assertEqual(rules.refused, [])
                self.check_set()
                self.check_sums(kind, whole)
                for what, _, headers in rules.seen:
                    self.assertNotIn("content-md5", headers)
                    if what == "CompleteMultipartUpload":
                        self.assertEqual(whole, "x-amz-checksum-" + kind in headers)

    def test_amazon_gets_them_unasked(self):
        """The service is a proxy, and nothing else is reachable under Amazon's host name."""
        env = {"AWS_ENDPOINT_URL": "http://s3.us-east-1.amazonaws.com",
               "SHEAF_S3_ADDRESSING": "path", "HTTP_PROXY": self.server.url,
               "http_proxy": self.server.url}
        rules = self.demand(lock=True)
        self.run_sheaf(*self.words, env=env)
        self.assertEqual(rules.refused, [])
        self.check_set()
        self.check_sums("crc64nvme")
        self.objects.clear()
        rules = self.demand()
        self.run_sheaf(*self.words, env=dict(env, AWS_REQUEST_CHECKSUM_CALCULATION="when_required"))
        self.assertFalse(any(fake_s3.sent(headers) for _, _, headers in rules.seen))

    def test_what_is_damaged_on_its_way_is_sent_again(self):
        self.server.percent = 25
        self.server.fault = lambda method, key, query: \
            "store" if method == "PUT" and self.server.chance.random() < 0.2 else None
        for kind in fake_s3.SUMS:
            self.objects.clear()
            self.run_sheaf(*self.words, "--s3", "checksum=" + kind)
            self.check_set()

    def test_an_answer_that_says_another_one_is_an_error(self):
        self.server.fault = lambda method, key, query: \
            "lie" if method == "PUT" and "partNumber" in query else None
        text = self.run_sheaf(*self.words, "--s3", "checksum=crc64nvme", status=1,
                              env={"AWS_MAX_ATTEMPTS": "2"})
        self.assertRegex(text, r"the store has CRC-64/NVME AAAA\S+, but \S+= was sent")
        self.assertNotIn("set/dataset.json", self.objects)

    def test_an_object_that_has_another_one_is_an_error(self):
        self.server.fault = lambda method, key, query: \
            "lie" if method == "HEAD" and "shard-" in key else None
        text = self.run_sheaf(*self.words, "--s3", "checksum=crc64nvme", status=1)
        self.assertRegex(text, r"and checksum AAAA\S+, its parts make CRC-64/NVME \S+=")
        self.assertNotIn("set/dataset.json", self.objects)

    def test_a_run_that_is_killed_is_resumed(self):
        words = ["pack", self.tree, "s3://bucket/set", *FORMAT, "--shard-size", "9MB", "--s3",
                 "checksum=crc64nvme"]
        pack(self.tree, self.path("whole"), "webdataset", "none", "--shard-size", "9MB")
        self.server.fault = lambda method, key, query: \
            "silence" if method == "PUT" and "uploadId" in query else None
        with subprocess.Popen([support.SHEAF, *words], env=self.env, stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as process:
            deadline = time.monotonic() + 60
            while not self.server.buckets["bucket"].uploads and time.monotonic() < deadline:
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
        self.assertTrue(self.server.buckets["bucket"].uploads)
        self.server.fault = None
        self.run_sheaf(*words, "--resume")
        self.check_set(expected=support.tree_of(self.path("whole")))
        self.check_sums("crc64nvme")
        self.assertEqual(self.server.buckets["bucket"].uploads, {})

    def test_content_md5_where_it_is_demanded(self):
        for how, given in (({"lock": True}, "none"), ({"md5": True}, "crc64nvme")):
            self.objects.clear()
            rules = self.demand(**how)
            self.run_sheaf(*self.words, "--s3", "checksum=" + given)
            self.check_set()
            self.assertNotEqual(rules.refused, [])
            rules = self.demand(**how)
            self.objects.clear()
            self.run_sheaf(*self.words, "--s3", "checksum=" + given, "--s3", "content-md5=true")
            self.check_set()
            self.assertEqual(rules.refused, [])

    def test_two_packers_have_their_own(self):
        rules = self.demand()
        kinds = {"one": "crc64nvme", "two": "crc32c"}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(self.run_sheaf, "pack", self.small, "s3://bucket/" + name,
                                     *FORMAT, "--s3", "checksum=" + kind)
                         for name, kind in kinds.items()]:
                done.result()
        for what, key, headers in rules.seen:
            if what == "PutObject":
                self.assertEqual(list(fake_s3.sent(headers)), [kinds[key.split("/")[0]]], key)


if __name__ == "__main__":
    unittest.main()
