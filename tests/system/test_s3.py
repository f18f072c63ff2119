# SPDX-License-Identifier: MIT
"""Tests data sets in S3. The bytes and the order must be those of a local disk, whatever happens on the way."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

import fake_s3
import servers
import support
from support import make_tree, pack, read

SIZE = "150kB"


class Same(servers.S3Case):
    """Tests that commands give the same result in a bucket as locally."""

    KINDS = (("webdataset", "none"), ("tfrecord", "gzip"), ("recordio", "lz4"))

    @classmethod
    def share(cls):
        cls.tree = make_tree(os.path.join(cls.shared, "tree"), support.image_tree(4, 30))
        cls.local_sets = {}
        for kind in cls.KINDS:
            cls.local_sets[kind] = os.path.join(cls.shared, kind[0])
            pack(cls.tree, cls.local_sets[kind], *kind, "--shard-size", SIZE)
        cls.remote_sets = {}

    def put_set(self, kind):
        """Packs a data set into the bucket of the test."""
        self.sheaf("pack", self.tree, self.url(kind[0]), "--format", kind[0], "--codec", kind[1],
                   "--shard-size", SIZE)
        return self.url(kind[0]), self.local_sets[kind]

    def each(self):
        """Yields data sets in the bucket of the first test that asks for them. Tests must not change them."""
        for kind in self.KINDS:
            with self.subTest(kind=kind):
                if kind not in self.remote_sets:
                    self.remote_sets[kind], _ = self.put_set(kind)
                yield kind, self.remote_sets[kind], self.local_sets[kind]

    def test_bytes(self):
        for kind in self.KINDS:
            with self.subTest(kind=kind):
                _, local = self.put_set(kind)
                self.assert_same_objects(kind[0], local)
                self.assert_clean()

    def test_order(self):
        for _, url, local in self.each():
            for options in (["--no-shuffle"], ["--seed", "7"],
                            ["--seed", "3", "--shuffle-buffer", "20", "--lanes", "4"]):
                self.assertEqual(support.listing(url, *options, env=self.env),
                                 support.listing(local, *options))

    def test_content(self):
        for _, url, local in self.each():
            self.assertTrue(self.sheaf("cat", url, "--seed", "5").stdout ==
                            support.sheaf("cat", local, "--seed", "5").stdout)

    def test_verify(self):
        for _, url, _ in self.each():
            self.assertIn(b"sound", self.sheaf("verify", url).stdout)

    def test_info(self):
        for _, url, local in self.each():
            self.assertEqual(self.sheaf("info", url).stdout, support.sheaf("info", local).stdout)

    def test_unpack(self):
        for kind, url, _ in self.each():
            self.sheaf("unpack", url, self.path(kind[0]))
            self.assert_same_tree(self.path(kind[0]), self.tree)

    def test_convert(self):
        for number, kind in enumerate(self.KINDS):
            url, local = self.put_set(kind)
            to = self.KINDS[(number + 1) % 3]
            self.sheaf("convert", url, self.url("as-" + to[0]), "--format", to[0], "--codec",
                       to[1])
            self.assert_same_objects("as-" + to[0], self.local_sets[to], but=["dataset.json",
                                                                              "dataset.keys"])
            self.sheaf("convert", local, self.url("up-" + kind[0]), "--format", to[0])
            self.sheaf("convert", url, self.path("down-" + kind[0]), "--format", to[0])
            self.assert_same_objects("up-" + kind[0], self.path("down-" + kind[0]))
        self.assert_clean()

    def test_splits(self):
        options = ("--format", "webdataset", "--split", "train=0.7,val=0.3", "--shard-size", SIZE)
        support.sheaf("pack", self.tree, self.path("local"), *options)
        self.sheaf("pack", self.tree, self.url("split"), *options)
        self.assert_same_objects("split", self.path("local"))
        self.assertEqual(support.listing(self.url("split/val"), env=self.env),
                         support.listing(self.path("local", "val")))

    def test_peers_indexes(self):
        options = ("--format", "webdataset", "--index", "dali,wids", "--shard-size", SIZE)
        support.sheaf("pack", self.tree, self.path("local"), *options)
        self.sheaf("pack", self.tree, self.url("peers"), *options)
        self.assert_same_objects("peers", self.path("local"))

    def test_positions(self):
        url, local = self.put_set(self.KINDS[0])
        options = ["--seed", "4", "--list"]
        self.sheaf("cat", url, *options, "--limit", "50", "--save-position", self.path("p"))
        rest = self.sheaf("cat", url, "--list", "--resume-from", self.path("p")).stdout
        self.assertEqual(rest.decode().splitlines(),
                         support.listing(local, "--seed", "4")[50:])
        self.assertEqual(rest, support.sheaf("cat", local, "--list", "--resume-from",
                                             self.path("p")).stdout)

    def test_foreign_shards(self):
        for name in support.shards_of(self.local_sets[self.KINDS[0]]):
            self.client.put(self.bucket, "foreign/" + name,
                            read(os.path.join(self.local_sets[self.KINDS[0]], name)))
        names = sorted(self.client.list(self.bucket, "foreign/"))
        pattern = self.url("foreign/shard-{000000..%06d}.tar" % (len(names) - 1))
        folder = self.path("foreign")
        os.makedirs(folder)
        for name in names:
            shutil.copy(os.path.join(self.local_sets[self.KINDS[0]], os.path.basename(name)),
                        folder)
        expected = support.listing(folder, "--no-shuffle")
        for source in ([self.url("foreign/")], [pattern], [self.url(n) for n in names]):
            self.assertEqual(support.listing(*source, "--no-shuffle", env=self.env), expected)
        self.sheaf("index", self.url("foreign"))
        support.sheaf("index", folder)
        self.assert_same_objects("foreign", folder)
        self.assertEqual(support.listing(self.url("foreign"), "--seed", "2", env=self.env),
                         support.listing(folder, "--seed", "2"))

    def test_overwrite(self):
        kind = self.KINDS[0]
        url, local = self.put_set(kind)
        done = self.sheaf("pack", self.tree, url, "--format", "webdataset", status=1)
        self.assert_error(done, url, "data set")
        self.sheaf("pack", self.tree, url, "--format", "webdataset", "--shard-count", "2",
                   "--overwrite")
        support.pack(self.tree, self.path("two"), *kind, "--shard-count", "2")
        self.assert_same_objects(kind[0], self.path("two"))
        self.assert_clean()

    def test_both_styles_and_tls(self):
        said = self.server.said
        kind = self.KINDS[0]
        for number, (endpoint, style) in enumerate((
                (said["S3_TLS"], "path"), (said["S3_PLAIN_NAMED"], "virtual"),
                (said["S3_TLS_NAMED"], "virtual"))):
            env = self.server.environment(endpoint, SHEAF_S3_ADDRESSING=style)
            name = "style-%d" % number
            with self.subTest(endpoint=endpoint, style=style):
                self.sheaf("pack", self.tree, self.url(name), "--format", kind[0],
                           "--shard-size", SIZE, env=env)
                self.assert_same_objects(name, self.local_sets[kind])
                self.assertEqual(support.listing(self.url(name), env=env),
                                 support.listing(self.local_sets[kind]))
        env = self.server.environment(said["S3_TLS"])
        del env["AWS_CA_BUNDLE"]
        done = self.sheaf("verify", self.url("style-0"), env=env, status=1)
        self.assert_error(done, "certificate is not trusted")
        env["AWS_CA_BUNDLE"] = os.devnull
        done = self.sheaf("verify", self.url("style-0"), env=env, status=1)
        self.assert_error(done, "no CA certificates can be read")


class Interrupted(servers.S3Case):
    """Tests that a run which ends early leaves no data set, and that another run continues it."""

    @classmethod
    def share(cls):
        count = 400 if support.QUICK else 700
        cls.tree = support.photo_tree(os.path.join(cls.shared, "tree"), count)
        cls.options = ("--format", "webdataset", "--shard-size",
                       "1MB" if support.QUICK else "1500kB")
        cls.whole = os.path.join(cls.shared, "whole")
        support.sheaf("pack", cls.tree, cls.whole, *cls.options)

    def start(self, *more):
        return subprocess.Popen([support.SHEAF, "pack", self.tree, self.url("set"), *self.options,
                                 *more], env=self.env, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)

    def wait_for_shards(self, process, count):
        while process.poll() is None and sum(
                k.endswith(".tar") for k in self.client.list(self.bucket, "set/")) < count:
            time.sleep(0.005)

    def check_unfinished(self, process):
        process.stderr.close()
        if "set/dataset.json" in self.client.list(self.bucket) and \
                b"unfinished" not in self.client.get(self.bucket, "set/dataset.json"):
            # Also when it was killed after that: what can be seen is whole.
            self.sheaf("verify", self.url("set"))
            return
        done = self.sheaf("cat", self.url("set"), "--list", status=1)
        self.assert_error(done, self.url("set"))

    def check_whole(self):
        self.assert_same_objects("set", self.whole)
        self.assert_clean()

    def test_killed_and_resumed(self):
        for shards in (0, 1, 4):
            with self.subTest(shards=shards):
                process = self.start()
                if shards == 0:
                    time.sleep(0.03)
                else:
                    self.wait_for_shards(process, shards)
                process.kill()
                process.wait()
                self.check_unfinished(process)
                done = self.sheaf("pack", self.tree, self.url("set"), *self.options, "--resume")
                if shards > 1 and process.returncode != 0:
                    self.assertIn(b"kept", done.stdout)
                self.check_whole()
                self.sheaf("verify", self.url("set"))
                for key in self.client.list(self.bucket):
                    self.client.delete(self.bucket, key)

    def test_uploads_of_a_killed_run_are_removed(self):
        """The shards are sent in parts. The service keeps incomplete uploads until they are aborted."""
        for way in ("--resume", "--overwrite"):
            with self.subTest(way=way):
                process = self.start("--shard-size", "12MB")
                while process.poll() is None and not self.client.uploads(self.bucket):
                    time.sleep(0.002)
                process.kill()
                process.wait()
                process.stderr.close()
                self.sheaf("pack", self.tree, self.url("set"), *self.options, "--shard-size",
                           "12MB", way)
                self.assert_clean("set/")
                for key in self.client.list(self.bucket):
                    self.client.delete(self.bucket, key)

    def test_killed_many_times(self):
        chance = support.random.Random(support.seed())
        for _ in range(5):
            process = self.start("--resume")
            time.sleep(chance.random() * 0.2)
            process.kill()
            process.wait()
            self.check_unfinished(process)
        self.sheaf("pack", self.tree, self.url("set"), *self.options, "--resume")
        self.check_whole()

    def test_killed_when_only_its_traces_were_left(self):
        """A run was killed after it had published the manifest, when some files of its journal were left. The data set
        must count as finished."""
        notes = {}
        while not notes:
            for key in self.client.list(self.bucket):
                self.client.delete(self.bucket, key)
            process = self.start()
            self.wait_for_shards(process, 2)
            process.kill()
            process.wait()
            process.stderr.close()
            notes = self.client.get_tree(self.bucket, "set/.sheaf-partial/")
            self.sheaf("pack", self.tree, self.url("set"), *self.options, "--resume")
        self.client.put_tree(self.bucket, "set/.sheaf-partial/", notes)
        self.sheaf("verify", self.url("set"))
        done = self.sheaf("pack", self.tree, self.url("set"), *self.options, "--resume")
        self.assertIn(b"%d of them kept" % len(support.shards_of(self.whole)), done.stdout)
        self.check_whole()

    def test_killed_and_overwritten(self):
        process = self.start()
        self.wait_for_shards(process, 2)
        process.kill()
        process.wait()
        process.stderr.close()
        if process.returncode != 0:
            done = self.sheaf("pack", self.tree, self.url("set"), *self.options, status=1)
            self.assert_error(done, "resume")
        self.sheaf("pack", self.tree, self.url("set"), *self.options, "--overwrite")
        self.check_whole()

    def test_interrupted_by_a_signal(self):
        process = self.start()
        self.wait_for_shards(process, 1)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        self.check_unfinished(process)
        self.assertEqual(self.client.uploads(self.bucket), [])
        self.sheaf("pack", self.tree, self.url("set"), *self.options, "--resume")
        self.check_whole()

    def test_killed_with_a_source_in_s3(self):
        self.client.put_tree(self.bucket, "in/", {
            key: data for key, data in list(support.tree_of(self.tree).items())[:200]})
        words = ["pack", self.url("in"), self.url("set"), "--format", "tfrecord", "--shard-size",
                 "500kB"]
        self.sheaf(*words[:2], self.path("local"), *words[3:])
        process = subprocess.Popen([support.SHEAF, *words], env=self.env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(0.15)
        process.kill()
        process.wait()
        process.stderr.close()
        self.sheaf(*words, "--resume")
        self.assert_same_objects("set", self.path("local"))
        self.assert_clean()

    def test_no_bucket_and_no_right(self):
        done = self.sheaf("pack", self.tree, "s3://no-such-bucket/x", *self.options, status=1)
        self.assert_error(done, "NoSuchBucket")

    def test_nothing_at_that_name(self):
        self.client.put(self.bucket, "set/readme.txt", b"1")
        for command in (["cat", "--list"], ["verify"], ["info"]):
            done = self.sheaf(command[0], self.url("sett"), *command[1:], status=1)
            self.assert_error(done, self.url("sett"), "nothing is there")
        done = self.sheaf("verify", self.url("set"), status=1)
        self.assert_error(done, "a directory without shards")


class Changed(servers.S3Case):
    @classmethod
    def share(cls):
        cls.tree = support.photo_tree(os.path.join(cls.shared, "tree"), 700)

    def setUp(self):
        super().setUp()
        self.sheaf("pack", self.tree, self.url("set"), "--format", "webdataset", "--shard-size",
                   "12MB")

    def read_slowly(self, change):
        """Begins to read with little memory, changes the data set, and continues to read."""
        process = subprocess.Popen(
            [support.SHEAF, "cat", self.url("set"), "--no-shuffle", "--memory", "6MiB"],
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(1 << 20)
        change()
        process.stdout.read()
        errors = process.stderr.read()
        process.stdout.close()
        process.stderr.close()
        return subprocess.CompletedProcess([], process.wait(), b"", errors)

    def test_a_shard_replaced_while_it_is_read(self):
        def change():
            for key, size in self.client.list(self.bucket, "set/shard").items():
                self.client.put(self.bucket, key, b"x" * size)
        done = self.read_slowly(change)
        self.assert_error(done, "shard-", "replaced")

    def test_a_shard_removed_while_it_is_read(self):
        def change():
            for key in self.client.list(self.bucket, "set/shard"):
                self.client.delete(self.bucket, key)
        done = self.read_slowly(change)
        self.assert_error(done, "shard-")

    def test_damage_is_found(self):
        key = "set/shard-000000.tar"
        data = self.client.get(self.bucket, key)
        self.client.put(self.bucket, key, support.flip(data, len(data) // 2))
        done = self.sheaf("verify", self.url("set"), status=1)
        self.assert_error(done, "shard-000000.tar")
        done = self.sheaf("cat", self.url("set"), "--null", status=1)
        self.assert_error(done, "shard-000000.tar", "record")
        self.client.put(self.bucket, key, data[:len(data) // 2])
        self.assert_error(self.sheaf("verify", self.url("set"), status=1), "shard-000000.tar")


def peak_of(*words, env):
    """Returns the largest resident memory of the command. (The value of wait4 also includes memory of the parent.)"""
    process = subprocess.Popen([support.SHEAF, *words], env=env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    peak = 0
    while process.poll() is None:
        with contextlib.suppress(OSError, TypeError):
            status = read("/proc/%d/status" % process.pid)
            peak = max(peak, int(re.search(rb"VmHWM:\s+(\d+)", status)[1]) << 10)
        time.sleep(0.004)
    errors = process.stderr.read()
    process.stderr.close()
    if process.returncode != 0:
        raise AssertionError(errors.decode())
    return peak


class Memory(servers.S3Case):
    def test_peak(self):
        """Without QUICK, the data set is larger than the memory, so that a command that keeps too much of it exceeds the
        limit."""
        count = 1500 if support.QUICK else 5000
        tree = support.photo_tree(self.path("tree"), count)
        mib = 1 << 20
        for words, memory in (
                (("pack", tree, self.url("set"), "--format", "webdataset", "--shard-size",
                  "20MB"), 128),
                (("pack", tree, self.url("less"), "--format", "webdataset", "--shard-size",
                  "60MB"), 64),
                (("pack", tree, self.url("lists"), "--format", "recordio", "--shard-size",
                  "60MB"), 64),
                (("cat", self.url("set"), "--null", "--shuffle-buffer", "500"), 64),
                (("cat", self.url("set"), "--null", "--shuffle-buffer", "300"), 128),
                (("verify", self.url("set")), 128)):
            peak = peak_of(*words, "--memory", "%dMiB" % memory, env=self.env)
            print("%s: peak %d MiB of %d" % (words[0], peak // mib, memory), flush=True)
            self.assertLess(peak, (memory + 32) * mib)


class AtOnce(servers.S3Case):
    """Uses a server that responds only when a certain number of requests for parts of shards have arrived."""

    HELD = 32

    def setUp(self):
        super().setUp()
        self.held = fake_s3.Server(0)
        self.addCleanup(self.held.stop)
        self.held.hold = self.HELD
        self.env["AWS_ENDPOINT_URL"] = self.held.url

    def put_set(self, tree, *options, side_files=True):
        pack(tree, self.path("local"), "webdataset", "none", *options)
        for name, data in self.local(self.path("local")).items():
            if side_files or name.startswith("shard-"):
                self.held.buckets["there"].objects["set/" + name] = fake_s3.Object(data)

    def test_peak_with_requests_in_flight(self):
        tree = support.photo_tree(self.path("tree"), 1500)
        self.put_set(tree, "--shard-size", "12MB")
        peak = peak_of("cat", "s3://there/set", "--null", "--shuffle-buffer", "0", "--memory",
                       "64MiB", env=self.env)
        self.assertGreaterEqual(self.held.asked, self.HELD)
        self.assertLess(peak, (64 + 32) << 20)

    def test_verify_reads_ahead(self):
        """Tests that a single thread has HELD requests in progress while it verifies one shard."""
        tree = make_tree(self.path("tree"), {"%02d.bin" % i: os.urandom(1 << 20)
                                             for i in range(20)})
        self.put_set(tree, "--shard-count", "1")
        support.sheaf("verify", "s3://there/set", "--threads", "1", "--memory", "64MiB",
                      env=self.env)
        self.assertGreaterEqual(self.held.asked, self.HELD)

    def test_shards_without_an_index_are_read_ahead(self):
        tree = make_tree(self.path("tree"), {"%02d.bin" % i: os.urandom(1 << 20)
                                             for i in range(20)})
        self.put_set(tree, "--shard-count", "1", side_files=False)

        def hold(_method, key, _query):
            """Holds requests from the first one on that does not begin with the first byte of the shard."""
            if not self.held.hold and "shard-" in key and \
                    not self.held.current.get("range", "bytes=0-").startswith("bytes=0-"):
                self.held.hold = self.HELD - 2

        self.held.fault = hold
        for words in (["cat", "s3://there/set/", "--null", "--memory", "128MiB"],
                      ["index", "s3://there/set", "--memory", "32MiB"]):
            self.held.hold = 0
            support.sheaf(*words, env=self.env)
            self.assertGreaterEqual(self.held.asked, self.HELD - 2)

    def test_foreign_shards_are_looked_at_together(self):
        tree = make_tree(self.path("tree"), {"%03d.txt" % i: b"%d" % i for i in range(100)})
        self.put_set(tree, "--shard-count", "40", side_files=False)
        for source in ("s3://there/set/", "s3://there/set/shard-{000000..000039}.tar"):
            self.held.hold = self.HELD
            lines = support.listing(source, "--no-shuffle", env=self.env)
            self.assertEqual(len(lines), 100)
            self.assertGreaterEqual(self.held.asked, self.HELD)

    def put_columns(self, count):
        """Puts a data set with several columns into the bucket. Returns the names of the columns."""
        tree = make_tree(self.path("tree"), {"%03d.bin" % i: os.urandom(3000) for i in range(40)})
        local = self.path("local")
        pack(tree, local, "webdataset", "none", "--shard-count", "2")
        names = ["c%d" % i for i in range(count)]
        for name in names:
            lines = ["key\tvalue"] + ["%03d\t%s of %d" % (i, name, i) for i in range(40)]
            support.write(self.path("values.tsv"), ("\n".join(lines) + "\n").encode())
            support.sheaf("column", "add", local, "--name", name, "--from",
                          self.path("values.tsv"))
        for name, data in self.local(local).items():
            self.held.buckets["there"].objects["set/" + name] = fake_s3.Object(data)
        return names

    def test_columns_are_opened_together(self):
        """One thread must have the requests for all columns of a shard in progress."""
        names = self.put_columns(10)
        self.held.held_name = "column-"
        for order in ("--no-shuffle", "--shuffle-buffer=8"):
            self.held.hold = len(names)
            out = support.sheaf("cat", "s3://there/set/", "--columns", ",".join(names), "--list",
                                "--threads", "1", order, env=self.env).stdout.decode()
            self.assertGreaterEqual(self.held.asked, len(names))
            lines = out.splitlines()
            self.assertEqual(len(lines), 40)
            for line in lines:
                key, _, *fields = line.split("\t")
                for name in names:
                    self.assertIn("%s.txt:%d" % (name, len("%s of %d" % (name, int(key)))), fields)


if __name__ == "__main__":
    unittest.main()
