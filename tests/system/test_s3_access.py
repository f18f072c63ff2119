# SPDX-License-Identifier: MIT
"""Tests who may read and write: keys, roles and tenants. Also compares with Amazon's own command."""

import contextlib
import json
import os
import shutil
import stat
import subprocess
import sys
import time
import unittest

import servers
import support
from support import make_tree, pack, read


def running(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return b"\nState:\tZ" not in read("/proc/%d/status" % pid)
    return False


class Orphans(support.Case):
    def test_servers_end_with_a_test_that_is_killed(self):
        program = ("import sys, time, servers; s, n = servers.Radosgw(), servers.Nginx('/tmp'); "
                   "print(s.folder, n.process.pid, flush=True); time.sleep(1000)")
        with subprocess.Popen([sys.executable, "-c", program], cwd=support.HERE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as test:
            said = test.stdout.readline().split()
            if not said:
                self.skipTest("no radosgw and nginx here")
            test.kill()
        folder, pids = said[0].decode(), [int(said[1])]
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        for name in ("rgw", "osd", "mon"):
            with contextlib.suppress(FileNotFoundError):        # it has ended already
                pids.append(int(read(os.path.join(folder, name + ".pid"))))
        deadline = time.monotonic() + 60
        while any(running(pid) for pid in pids):
            self.assertLess(time.monotonic(), deadline, pids)
            time.sleep(0.05)


class Keys(servers.S3Case):
    @classmethod
    def share(cls):
        cls.tree = make_tree(os.path.join(cls.shared, "tree"), support.image_tree(2, 10))

    def refused(self, keys, *words, secrets=()):
        env = self.server.environment(keys=keys)
        self.client.put(self.bucket, "in/1.txt", b"1")
        for command in (["pack", self.tree, self.url("set"), "--format", "webdataset"],
                        ["pack", self.url("in"), self.path("out"), "--format", "webdataset"],
                        ["cat", self.url("set"), "--list"], ["verify", self.url("set")]):
            done = self.sheaf(*command, env=env, status=1)
            self.assert_error(done, *words)
            for secret in secrets:
                self.assertNotIn(secret.encode(), done.stdout + done.stderr)
        self.assertEqual(list(self.client.list(self.bucket, "set/")), [])
        self.assert_nothing(self.path("out"))

    def test_wrong_secret(self):
        self.refused((self.client.access, "a-wrong-secret", None), "SignatureDoesNotMatch",
                     "secret access key", secrets=["a-wrong-secret"])

    def test_unknown_key(self):
        self.refused(("AKIANOBODY", "its-secret", None), "InvalidAccessKeyId", "access key",
                     secrets=["its-secret"])

    def test_temporary_keys(self):
        keys = self.client.assume_role(self.server.said["S3_ROLE_ALL"], 900)
        env = self.server.environment(keys=keys)
        self.sheaf("pack", self.tree, self.url("set"), "--format", "webdataset", env=env)
        pack(self.tree, self.path("local"))
        self.assertEqual(support.listing(self.url("set"), env=env),
                         support.listing(self.path("local")))

    def test_temporary_keys_with_a_wrong_token(self):
        access, secret, _ = self.client.assume_role(self.server.said["S3_ROLE_ALL"], 900)
        self.refused((access, secret, "a-wrong-token"), self.url("")[:-1],
                     secrets=[secret, "a-wrong-token"])

    def test_keys_that_have_expired(self):
        keys = self.client.assume_role(self.server.said["S3_ROLE_ALL"], 1)
        time.sleep(2.5)
        self.refused(keys, "credentials", secrets=keys[1:])

    def test_no_keys(self):
        env = self.server.environment()
        del env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"]
        done = self.sheaf("cat", self.url("set"), "--list", env=env, status=1)
        self.assert_error(done, "credentials")

    def test_anonymous(self):
        self.client.request("PUT", "/" + self.bucket, [("acl", "")],
                            headers=[("x-amz-acl", "public-read")])
        self.client.request("PUT", "/%s/open.tar" % self.bucket, body=b"",
                            headers=[("x-amz-acl", "public-read")])
        pack(self.tree, self.path("local"))
        for name, data in support.tree_of(self.path("local")).items():
            self.client.request("PUT", "/%s/set/%s" % (self.bucket, name), body=data,
                                headers=[("x-amz-acl", "public-read")])
        env = self.server.environment(AWS_NO_SIGN_REQUEST="1")
        del env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"]
        self.assertEqual(support.listing(self.url("set"), env=env),
                         support.listing(self.path("local")))
        done = self.sheaf("pack", self.tree, self.url("other"), "--format", "webdataset", env=env,
                          status=1)
        self.assert_error(done, "AccessDenied", "the request was not signed")

    def test_public_objects_that_may_not_be_listed(self):
        """Missing objects are then "denied", and existing ones can be read anyway."""
        pack(self.tree, self.path("local"), "webdataset", "none", "--shard-count", "3")
        for name, data in support.tree_of(self.path("local")).items():
            for folder in ("set", "foreign"):
                if folder == "set" or name.startswith("shard-"):
                    self.client.request("PUT", "/%s/%s/%s" % (self.bucket, folder, name),
                                        body=data, headers=[("x-amz-acl", "public-read")])
        env = self.server.environment(AWS_NO_SIGN_REQUEST="1")
        del env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"]
        expected = [line.split("\t")[0] for line in support.listing(self.path("local"),
                                                                    "--no-shuffle")]
        for sources in ([self.url("set")], [self.url("set/dataset.json")],
                        [self.url("foreign/shard-{000000..000002}.tar")],
                        [self.url("foreign/shard-%06d.tar" % i) for i in range(3)]):
            found = support.listing(*sources, "--no-shuffle", env=env)
            self.assertEqual([line.split("\t")[0] for line in found], expected)
        for source in ("foreign", "foreign/none.tar", "none", "foreign/none-{0..3}.tar"):
            done = self.sheaf("cat", self.url(source), "--list", env=env, status=1)
            self.assert_error(done, "AccessDenied", self.url(source.partition("-")[0]))

    def test_shared_files_and_profiles(self):
        env = self.server.environment(AWS_PROFILE="work")
        support.write(self.path("credentials"), ("[work]\naws_access_key_id = %s\n"
                      "aws_secret_access_key = %s\n" % (
                          self.client.access, self.client.secret)).encode())
        support.write(self.path("config"), ("[profile work]\nregion = us-east-1\n"
                      "endpoint_url = %s\n[profile role]\nrole_arn = %s\n"
                      "source_profile = work\nendpoint_url = %s\nregion = us-east-1\n" % (
                          self.server.plain, self.server.said["S3_ROLE_ALL"],
                          self.server.plain)).encode())
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
            del env[name]
        env.update(AWS_CONFIG_FILE=self.path("config"),
                   AWS_SHARED_CREDENTIALS_FILE=self.path("credentials"))
        self.sheaf("pack", self.tree, self.url("set"), "--format", "webdataset", env=env)
        env["AWS_PROFILE"] = "role"
        self.sheaf("verify", self.url("set"), env=env)
        self.sheaf("pack", self.tree, self.url("by-role"), "--format", "webdataset", env=env)


class Tenants(servers.S3Case):
    """Tests a role that may read one prefix of the bucket "shared"."""

    def setUp(self):
        super().setUp()
        try:
            self.client.make_bucket("shared")
        except servers.Refused:
            pass
        tree = make_tree(self.path("tree"), support.image_tree(2, 10))
        for tenant in "ab":
            self.sheaf("pack", tree, "s3://shared/%s/set" % tenant, "--format", "recordio",
                       "--overwrite")
        pack(tree, self.path("local"), "recordio")
        keys = self.client.assume_role(self.server.said["S3_ROLE_TENANT"], 900)
        self.tenant = self.server.environment(keys=keys)

    def test_its_own(self):
        self.assertEqual(support.listing("s3://shared/a/set", "--seed", "1", env=self.tenant),
                         support.listing(self.path("local"), "--seed", "1"))
        self.sheaf("verify", "s3://shared/a/set", env=self.tenant)
        self.sheaf("unpack", "s3://shared/a/set", self.path("out"), env=self.tenant)
        self.assert_same_tree(self.path("out"), self.path("tree"))
        self.assertEqual(len(support.listing("s3://shared/a/set/shard-000000.rec",
                                             env=self.tenant)), 20)

    def test_another_s(self):
        for words in (["cat", "s3://shared/b/set", "--list"], ["verify", "s3://shared/b/set"],
                      ["cat", "s3://shared/b/set/dataset.json", "--list"],
                      ["cat", "s3://shared/b/set/shard-000000.rec", "--list"],
                      ["unpack", "s3://shared/b/set", self.path("out")],
                      ["pack", "s3://shared/b/", self.path("out"), "--format", "webdataset"]):
            done = self.sheaf(*words, env=self.tenant, status=1)
            self.assert_error(done, "AccessDenied", "s3://shared/b")

    def test_it_may_not_write(self):
        done = self.sheaf("pack", self.path("tree"), "s3://shared/a/new", "--format",
                          "webdataset", env=self.tenant, status=1)
        self.assert_error(done, "AccessDenied")
        self.assertEqual(self.client.list("shared", "a/new"), {})


class Renewal(servers.S3Case):
    """Tests keys that live for a few seconds and are renewed while a run works."""

    SECONDS = 4

    def process_environment(self):
        """Returns an environment in which credential_process runs this test's client. Each call adds a line to the file
        `calls`."""
        script = self.path("get-keys")
        support.write(script, ("""#!%s
import sys, json, datetime
sys.path.insert(0, %r)
import servers
client = servers.Client(%r, %r, %r)
keys = client.assume_role(%r, %d)
with open(%r, "a") as file:
    print(keys[0], file=file)
until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=%d)
print(json.dumps({"Version": 1, "AccessKeyId": keys[0], "SecretAccessKey": keys[1],
                  "SessionToken": keys[2], "Expiration": until.strftime("%%Y-%%m-%%dT%%H:%%M:%%SZ")}))
""" % (sys.executable, support.HERE, self.server.plain, self.client.access, self.client.secret,
            self.server.said["S3_ROLE_ALL"], self.SECONDS, self.path("calls"),
            self.SECONDS)).encode())
        os.chmod(script, stat.S_IRWXU)
        support.write(self.path("config"), b"[default]\ncredential_process = %s\n" %
                      script.encode())
        env = self.server.environment(AWS_CONFIG_FILE=self.path("config"),
                                      BUILD=support.BUILD)
        del env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"]
        return env

    def calls(self):
        return len(read(self.path("calls")).splitlines())

    def test_in_the_middle_of_a_read(self):
        tree = support.photo_tree(self.path("tree"), 1500)
        self.sheaf("pack", tree, self.url("set"), "--format", "webdataset", "--shard-size",
                   "10MB")
        pack(tree, self.path("local"), "webdataset", "none", "--shard-size", "10MB")
        process = subprocess.Popen(
            [support.SHEAF, "cat", self.url("set"), "--seed", "1", "--memory", "24MiB",
             "--shuffle-buffer", "0"], env=self.process_environment(), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        got = []
        while data := process.stdout.read(4 << 20):
            got.append(data)
            time.sleep(2.5 * self.SECONDS * len(data) / 60e6)
        errors = process.stderr.read().decode()
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(process.wait(), 0, errors)
        self.assertTrue(b"".join(got) == support.sheaf(
            "cat", self.path("local"), "--seed", "1", "--shuffle-buffer", "0").stdout)
        self.assertGreaterEqual(self.calls(), 2)

    def test_in_the_middle_of_a_pack(self):
        """The source is a list from a pipe, so the scan takes longer than the keys live."""
        self.client.put_tree(self.bucket, "in/", {"%d.txt" % i: b"%d" % i for i in range(50)})
        os.mkfifo(self.path("list"))
        process = subprocess.Popen(
            [support.SHEAF, "pack", self.path("list"), self.url("set"), "--format", "webdataset",
             "--root", self.url("in")], env=self.process_environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with open(self.path("list"), "w", encoding="ascii", buffering=1) as file:
            for i in range(50):
                print("%d.txt" % i, file=file)
                time.sleep(2.2 * self.SECONDS / 50)
        errors = process.stderr.read().decode()
        process.stderr.close()
        self.assertEqual(process.wait(), 0, errors)
        self.assertEqual(len(support.listing(self.url("set"), env=self.env)), 50)
        self.assertGreaterEqual(self.calls(), 2)


@unittest.skipUnless(os.path.exists("/usr/bin/aws"), "no awscli here (Debian package awscli)")
class Awscli(servers.S3Case):
    """Tests that Amazon's own program reads what Sheaf has written, and the other way round."""

    def aws(self, *words):
        env = dict(self.env, AWS_DEFAULT_REGION="us-east-1", AWS_PAGER="")
        done = subprocess.run(["/usr/bin/aws", "--endpoint-url", self.server.plain, *words],
                              env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        return done.stdout

    def test_both_ways(self):
        tree = support.photo_tree(self.path("tree"), 140, mean=200000)
        pack(tree, self.path("local"), "webdataset", "none", "--shard-size", "12MB")
        self.sheaf("pack", tree, self.url("ours"), "--format", "webdataset", "--shard-size",
                   "12MB")
        self.aws("s3", "cp", "--recursive", self.url("ours"), self.path("theirs"))
        self.assert_same_tree(self.path("theirs"), self.path("local"))
        self.aws("s3", "sync", self.path("local"), self.url("theirs"))
        self.sheaf("verify", self.url("theirs"))
        self.assertEqual(support.listing(self.url("theirs"), "--seed", "3", env=self.env),
                         support.listing(self.path("local"), "--seed", "3"))
        self.aws("s3", "sync", tree, self.url("tree"))
        self.sheaf("pack", self.url("tree"), self.path("again"), "--format", "webdataset",
                   "--shard-size", "12MB")
        self.assert_same_tree(self.path("again"), self.path("local"))
        listed = json.loads(self.aws("s3api", "list-objects-v2", "--bucket", self.bucket,
                                     "--prefix", "ours/", "--output", "json"))
        self.assertEqual({e["Key"][5:]: e["Size"] for e in listed["Contents"]},
                         {n: len(d) for n, d in support.tree_of(self.path("local")).items()})


class Settings(servers.S3Case):
    """Tests the settings of requests (see test_s3_settings). radosgw stores tags, ACLs and storage classes, and does
    not support checksums."""

    @classmethod
    def share(cls):
        chance = support.random.Random(1)
        cls.tree = make_tree(os.path.join(cls.shared, "tree"), {
            "a/%d.bin" % i: chance.randbytes(2600000) for i in range(4)})
        pack(cls.tree, os.path.join(cls.shared, "local"))

    def ask(self, key, query=()):
        return self.client.request("GET", "/%s/%s" % (self.bucket, key), query)

    def test_what_it_keeps(self):
        settings = ["--s3", "tags=team=vision&stage=r%20w", "--s3", "acl=public-read", "--s3",
                    "storage-class=STANDARD", "--s3", "checksum=crc64nvme", "--s3",
                    "content-md5=true", "--s3", "requester-pays=true"]
        self.sheaf("pack", self.tree, self.url("set"), "--format", "webdataset", *settings)
        self.assert_clean()
        self.assertEqual(self.client.get_tree(self.bucket, "set/"),
                         support.tree_of(os.path.join(self.shared, "local")))
        for key in self.client.list(self.bucket, "set/"):
            self.assertIn("AllUsers", self.ask(key, [("acl", "")])[0].decode(), key)
            if "shard-" in key:         # it forgets the tags of what comes in parts
                continue
            tags = self.ask(key, [("tagging", "")])[0].decode()
            self.assertIn("<Key>team</Key><Value>vision</Value>", tags, key)
            self.assertIn("<Value>r w</Value>", tags, key)

    def test_a_class_that_it_does_not_have(self):
        """The server refuses an unknown storage class, and nothing may be left."""
        done = self.sheaf("pack", self.tree, self.url("set"), "--format", "webdataset", "--s3",
                          "storage-class=STANDARD_IA", status=None)
        if done.returncode == 0:
            self.skipTest("it takes any class")
        self.assertEqual(list(self.client.list(self.bucket, "set/")), [])


if __name__ == "__main__":
    unittest.main()
