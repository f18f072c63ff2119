# SPDX-License-Identifier: MIT
"""Runs the real command against a service that fails at random (a storm). A run must succeed, or end with a clear
error. Nothing may be lost, doubled or altered, and there may be a manifest only if everything else exists. FAULTS sets
the number of faults. SEED repeats their choice, but not their order, because requests run at the same time."""

import collections
import concurrent.futures
import os
import re
import subprocess
import time
import unittest

import fake_s3
import servers
import support
from support import make_tree, pack

FAULTS = int(os.environ.get("FAULTS", "0")) or (300 if support.QUICK else 800)
PERCENT = 18
RUNS_AT_ONCE = 8


class Storm(support.Case):
    @classmethod
    def share(cls):
        chance = support.random.Random(1)
        files = support.image_tree(4, 12, size=40000)
        files.update({"large/%d.bin" % i: chance.randbytes(2600000) for i in range(5)})
        cls.files = files
        cls.tree = make_tree(os.path.join(cls.shared, "tree"), files)
        cls.kinds = [("webdataset", "none", "12MB"), ("tfrecord", "none", "300kB"),
                     ("recordio", "none", "4MB"), ("webdataset", "gzip", "20MB")]
        cls.sets = {}
        for number, (container, codec, size) in enumerate(cls.kinds):
            folder = os.path.join(cls.shared, "set-%d" % number)
            pack(cls.tree, folder, container, codec, "--shard-size", size)
            cls.sets[number] = support.tree_of(folder)
            cls.sets[number, "list"] = support.listing(folder, "--seed", "1")
            cls.sets[number, "cat"] = support.sheaf("cat", folder, "--seed", "1").stdout

    def setUp(self):
        super().setUp()
        self.seed = support.seed()
        self.server = fake_s3.Server(self.seed)
        self.server.rules = fake_s3.Rules(lies=True)
        # No reader can find a wrong byte in a tar that has no manifest.
        self.server.checked = r"shard-.*\.(rec|tfrecord)$|^set/.*shard-.*\.tar$"
        self.addCleanup(self.server.stop)
        self.env = dict(servers.clean_environment(), AWS_ACCESS_KEY_ID="key",
                        AWS_SECRET_ACCESS_KEY="secret", AWS_ENDPOINT_URL=self.server.url,
                        AWS_REGION="us-east-1")
        self.results = collections.Counter()
        self.counted = []           # runs that pack

    def run_sheaf(self, *words):
        return subprocess.run([support.SHEAF, *words], env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=900)

    def check_failed(self, done):
        """Checks the error: one line that names the place. A run of half a minute may have lines of progress before
        it, and a fault while the server's conditions are tried may have led to the notice about them."""
        text = re.sub(r"(?m)^sheaf: \w+ +\d+% .*\n", "", done.stderr.decode())
        text = re.sub(r"(?m)^sheaf: s3://\S+: this server .*: let one run at a time write there\n", "", text)
        self.assertEqual(done.returncode, 1, text)
        self.assertRegex(text, r"^sheaf: .+\n$")
        self.assertRegex(text, "s3://|http://", text)

    def put_tree(self, bucket, prefix, files):
        for path, data in files.items():
            self.server.buckets[bucket].objects[prefix + path] = fake_s3.Object(data)

    # ---- Runs ----------------------------------------------------------------------------------

    def check_set(self, bucket, number):
        """Checks that the data set in the bucket is complete."""
        found = {key.removeprefix("set/"): o.data
                 for key, o in self.server.buckets[bucket].objects.items()
                 if key.startswith("set/")}
        expected = self.sets[number]
        self.assertEqual(sorted(found), sorted(expected))
        for name, data in expected.items():
            self.assertTrue(found[name] == data, "%s differs" % name)

    @staticmethod
    def is_read(manifest, expected):
        """Returns whether readers accept this manifest. They refuse the stand-in, and a manifest or stand-in in which
        the store has changed a byte."""
        if len(manifest) == len(expected):
            return sum(a != b for a, b in zip(manifest, expected)) != 1
        return len(manifest) != len('{"unfinished": ""}\n') + 32

    def pack_run(self, bucket, number, source):
        container, codec, size = self.kinds[number]
        words = ["pack", source, "s3://%s/set" % bucket, "--format", container, "--codec", codec,
                 "--shard-size", size]
        # Of each kind, and with ETags alone.
        words += ["--s3", "checksum=%s" % ("none", "crc64nvme", "crc32c")[len(self.counted) % 3]]
        self.counted.append(bucket)
        if source.startswith("s3:"):
            self.put_tree(bucket, "in/", self.files)
        for attempt in range(8):
            done = self.run_sheaf(*words, *(["--resume"] if attempt else []))
            objects = self.server.buckets[bucket].objects
            if done.returncode == 0:
                break
            self.results["pack failed"] += 1
            self.check_failed(done)
            manifest = objects.get("set/dataset.json")
            if manifest and self.is_read(manifest.data, self.sets[number]["dataset.json"]):
                # It is whole: the last answer was lost.
                visible = {k: o for k, o in objects.items() if ".sheaf-partial" not in k}
                for name, data in self.sets[number].items():
                    self.assertTrue(visible["set/" + name].data == data, name)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.results["pack right"] += 1
        self.check_set(bucket, number)

    def cat_run(self, bucket, number, what):
        self.put_tree(bucket, "set/", self.sets[number])
        words = ["cat", "s3://%s/set" % bucket, "--seed", "1"]
        if what == "list":
            words.append("--list")
        if self.server.chance.random() < 0.5:
            words += ["--memory", "240MiB", "--shuffle-buffer", "10000"]
        if self.server.chance.random() < 0.3:
            words += ["--cache", self.path("cache"), "--cache-size", "20MB"]
        done = self.run_sheaf(*words)
        expected = self.sets[number, what]
        got = done.stdout.decode().splitlines() if what == "list" else done.stdout
        if done.returncode == 0:
            self.results["cat right"] += 1
            self.assertTrue(got == expected, "another epoch than without faults")
            return
        self.results["cat failed"] += 1
        self.check_failed(done)
        self.assertTrue(expected[:len(got)] == got, "samples before the error are wrong")

    def foreign_run(self, bucket, number):
        """Reads shards without a manifest, as streams."""
        names = sorted(n for n in self.sets[number] if n.startswith("shard-"))
        self.put_tree(bucket, "", {n: self.sets[number][n] for n in names})
        done = self.run_sheaf("cat", *("s3://%s/%s" % (bucket, n) for n in names), "--no-shuffle")
        if done.returncode == 0:
            self.results["cat right"] += 1
            self.assertTrue(done.stdout == self.foreign[number], "another stream")
            return
        self.results["cat failed"] += 1
        self.check_failed(done)
        self.assertTrue(self.foreign[number].startswith(done.stdout))

    def one_run(self, number):
        bucket = "run-%d" % number
        kind = number % len(self.kinds)
        turn = number // len(self.kinds) % 6
        if turn == 0:
            self.pack_run(bucket, kind, self.tree)
        elif turn == 1:
            self.pack_run(bucket, kind, "s3://%s/in" % bucket)
        elif turn == 2 and kind in (0, 3):
            self.foreign_run(bucket, kind)
        else:
            self.cat_run(bucket, kind, "cat" if turn % 2 else "list")
        del self.server.buckets[bucket]

    def make_foreign(self):
        self.foreign = {}
        for number in (0, 3):
            folder = self.path("foreign-%d" % number)
            make_tree(folder, {n: d for n, d in self.sets[number].items()
                               if n.startswith("shard-")})
            self.foreign[number] = support.sheaf("cat", folder, "--no-shuffle").stdout

    def test_storm(self):
        self.make_foreign()
        self.server.percent = PERCENT
        started, number, failures = time.monotonic(), 0, []
        with concurrent.futures.ThreadPoolExecutor(RUNS_AT_ONCE) as pool:
            running = set()
            while not failures and (self.server.faults < FAULTS or running):
                while self.server.faults < FAULTS and len(running) < RUNS_AT_ONCE:
                    running.add(pool.submit(self.one_run, number))
                    number += 1
                done, running = concurrent.futures.wait(
                    running, return_when=concurrent.futures.FIRST_COMPLETED)
                failures += [f.exception() for f in done if f.exception() is not None]
        print("%d faults in %d requests of %d runs, %.0f s: %s; %s" % (
            self.server.faults, self.server.requests, number, time.monotonic() - started,
            dict(self.results), dict(self.server.counts)), flush=True)
        if failures:
            raise failures[0]
        self.assertGreater(self.results["pack right"] + self.results["cat right"],
                           (self.results["pack failed"] + self.results["cat failed"]))


if __name__ == "__main__":
    unittest.main()
