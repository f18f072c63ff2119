# SPDX-License-Identifier: MIT
"""sheaf fetch: every byte, once, and only to the right place."""

import contextlib
import json
import os
import random
import signal
import subprocess
import threading
import time
import unittest

from fake_s3 import Object, Rules
import servers
import support


class FakeCase(support.Case):
    """A fake service (self.server) whose bucket's objects are self.objects."""

    def setUp(self):
        super().setUp()
        servers.start_fake(self)
        self.out = self.path("out")

    def put(self, files):
        for name, data in files.items():
            self.objects[name] = Object(data)

    def fetch(self, *words, status=0):
        return support.sheaf("fetch", *words, env=self.env, status=status)

    def complaint(self, *words, status=1):
        """Returns the error of a fetch of s3://bucket/p into self.out that is refused."""
        return self.fetch("s3://bucket/p", self.out, *words, status=status).stderr.decode()

    def assert_fetched(self, files):
        """Checks that these files, and nothing else, are there."""
        self.assertEqual(sorted(support.tree_of(self.out)), sorted(files))
        for name, data in files.items():
            self.assertTrue(support.read(os.path.join(self.out, name)) == data, name)


class Restarts(FakeCase):
    def test_second_run_fetches_what_is_missing(self):
        files = {"%d" % i: os.urandom(1000 * i) for i in range(20)}
        self.put({"p/" + k: v for k, v in files.items()})
        self.assertIn(b"fetched 20 files", self.fetch("s3://bucket/p", self.out).stdout)
        self.assert_fetched(files)
        support.write(os.path.join(self.out, "mine"), b"stays")
        os.unlink(os.path.join(self.out, "3"))                      # missing
        support.write(os.path.join(self.out, "4"), files["4"][1:])  # shorter
        support.write(os.path.join(self.out, "5"), support.flip(files["5"], 7))     # changed later
        files["6"] = support.flip(files["6"], 8)                    # the object has changed
        self.objects["p/6"] = Object(files["6"])
        said = self.fetch("s3://bucket/p/", self.out).stdout
        self.assertIn(b"fetched 4 files (18000 bytes), 4 of them verified", said)
        self.assertIn(b"16 (172000 bytes) already present", said)
        self.assert_fetched({**files, "mine": b"stays"})

    def test_killed_at_any_time(self):
        chance = random.Random(self.server.chance.random())
        files = {"d%d/%03d" % (i % 7, i): chance.randbytes(chance.randrange(60000))
                 for i in range(300)}
        files["large"] = chance.randbytes(20 << 20)
        self.put({"p/" + k: v for k, v in files.items()})
        for _ in range(4 if support.QUICK else 15):
            process = subprocess.Popen([support.SHEAF, "fetch", "s3://bucket/p", self.out],
                                       env=self.env, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            wanted = self.server.requests + chance.randrange(1, 250)
            while self.server.requests < wanted and process.poll() is None:
                time.sleep(0.001)
            process.kill()
            process.communicate()
            # A file with its final name is whole.
            for name, data in support.tree_of(self.out).items() if os.path.isdir(self.out) else ():
                if not name.startswith(".sheaf-partial"):
                    self.assertTrue(data == files[name], name)
        self.fetch("s3://bucket/p", self.out)
        self.assert_fetched(files)
        before = self.server.requests
        self.assertIn(b"fetched 0 files", self.fetch("s3://bucket/p", self.out).stdout)
        self.assertLess(self.server.requests - before, 30)

    def test_interrupted(self):
        self.put({"p/%d" % i: os.urandom(9 << 20) for i in range(9)})

        def slow(_method, key, _query):     # one at a time, for a twentieth of a second each
            time.sleep(0.05 if key else 0)

        self.server.fault = slow
        process = subprocess.Popen([support.SHEAF, "fetch", "s3://bucket/p", self.out],
                                   env=self.env, stderr=subprocess.PIPE)
        while self.server.requests < 5:
            time.sleep(0.001)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=100)
        self.assertEqual(process.returncode, -signal.SIGTERM)
        partial = os.path.join(self.out, ".sheaf-partial")
        for name in os.listdir(partial) if os.path.exists(partial) else ():
            self.assertTrue(name.endswith(".part"), name)       # to continue later
        self.fetch("s3://bucket/p", self.out)
        self.assertFalse(os.path.exists(partial))

    def fail_from(self, offset):
        """Refuses reads of large objects from this offset on. Returns the offsets that were requested so far."""
        asked = []

        def choose(_method, key, _query):
            first = int(self.server.current.get("range", "bytes=0-")[6:].split("-")[0])
            asked.append((key, first))
            return "denied" if key and offset is not None and first >= offset else None

        self.server.fault = choose
        return asked

    def test_large_objects_are_gone_on_with(self):
        """A fetch continues large objects where a failed run stopped, if the objects are unchanged."""
        data = random.Random(self.server.chance.random()).randbytes(30 << 20)
        for etag in (None, '"0123456789abcdef0123456789abcdef-4"'):
            with self.subTest(etag):
                self.objects["p/large"] = Object(data, etag)
                self.fail_from(16 << 20)
                self.complaint("--memory", "16MiB")     # one part after the other
                asked = self.fail_from(None)
                done = self.fetch("s3://bucket/p", self.out)
                # (A part may be requested again, because a connection can end before its response.)
                self.assertEqual({first for key, first in asked if key == "p/large"},
                                 {16 << 20, 24 << 20})
                self.assertIn(b"fetched 1 file (%d bytes)" % (14 << 20), done.stdout)
                self.assert_fetched({"large": data})
                os.unlink(os.path.join(self.out, "large"))

    def test_what_is_another_object_now_is_begun_anew(self):
        data = random.Random(self.server.chance.random()).randbytes(30 << 20)
        self.put({"p/large": data})
        self.fail_from(16 << 20)
        self.complaint("--memory", "16MiB")
        data = support.flip(data, 5)
        self.put({"p/large": data})
        asked = self.fail_from(None)
        self.fetch("s3://bucket/p", self.out)
        self.assertIn(("p/large", 0), asked)
        self.assert_fetched({"large": data})

    def test_what_was_left_is_checked(self):
        data = random.Random(self.server.chance.random()).randbytes(30 << 20)
        self.put({"p/large": data})
        self.fail_from(16 << 20)
        self.complaint("--memory", "16MiB")
        partial = os.path.join(self.out, ".sheaf-partial")
        [name] = os.listdir(partial)
        with open(os.path.join(partial, name), "r+b") as file:
            file.write(bytes([data[0] ^ 1]))
        asked = self.fail_from(None)
        self.fetch("s3://bucket/p", self.out)       # continues once, and then fetches the whole object
        self.assertIn(("p/large", 16 << 20), asked)
        self.assertIn(("p/large", 0), asked)
        self.assert_fetched({"large": data})

    def test_one_at_a_time(self):
        self.put({"p/1": b"1"})
        os.mkdir(self.out)
        import fcntl
        fd = os.open(self.out, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        self.assertIn("another process", self.complaint())
        os.close(fd)
        self.fetch("s3://bucket/p", self.out)


class Faults(FakeCase):
    def test_faults_that_pass(self):
        chance = random.Random(self.server.chance.random())
        files = {"%03d" % i: chance.randbytes(chance.randrange(50000)) for i in range(100)}
        files["large"] = chance.randbytes(30 << 20)
        self.put({"p/" + k: v for k, v in files.items()})
        # A storm refuses up to 40 requests in turn, and a client tries a request only 10 times.
        self.server.weigh(dict.fromkeys(("denied", "silence", "stall", "storm"), 0))
        self.server.percent = 10
        self.fetch("s3://bucket/p", self.out)
        self.assert_fetched(files)

    def change_when_read(self, name, change):
        def served(method, key, _query):
            if method in ("GET", "HEAD") and key == name and name in self.objects:
                change()

        self.server.served = served

    def test_object_that_changes_meanwhile(self):
        self.put({"p/a": b"whole", "p/large": bytes(20 << 20)})

        def change():
            self.objects["p/large"] = Object(b"x" * (20 << 20))

        self.change_when_read("p/large", change)
        self.assertIn("p/large", self.complaint("--memory", "16MiB"))
        self.assert_fetched({"a": b"whole"})

    def test_object_that_vanishes_meanwhile(self):
        self.put({"p/a": b"whole", "p/large": bytes(20 << 20), "p/z": b"z"})
        self.change_when_read("p/large", lambda: self.objects.pop("p/large", None))
        said = self.complaint("--memory", "16MiB")
        self.assertIn("the object was removed", said)
        self.assertIn("of 3 files are complete", said)
        self.fetch("s3://bucket/p", self.out)
        self.assert_fetched({"a": b"whole", "z": b"z"})

    def test_what_was_interrupted_is_no_data_set(self):
        """If some objects cannot be fetched, the others are not taken for a whole data set."""
        support.make_tree(self.path("tree"), support.image_tree())
        support.pack(self.path("tree"), self.path("set"), "recordio", "none", "--shard-count", 3)
        files = support.tree_of(self.path("set"))
        for lost in sorted(files):
            self.put({"p/" + name: data for name, data in files.items()})

            self.server.fault = lambda method, key, query, lost=lost: \
                "denied" if key == "p/" + lost and "range" in self.server.current else None
            self.out = self.path("out-" + lost)
            self.assertIn(lost, self.complaint())
            support.sheaf("verify", self.out, status=1)
            support.sheaf("cat", self.out, "--list", status=1)
            self.server.fault = None
            self.fetch("s3://bucket/p", self.out)
            self.assert_fetched(files)
            support.sheaf("verify", self.out)

    def test_wrong_bytes(self):
        self.put({"p/%d" % i: os.urandom(1000) for i in range(5)})
        right = self.objects["p/3"]
        self.objects["p/3"] = Object(support.flip(right.data, 500), right.etag)
        said = self.complaint()
        self.assertIn("p/3: the MD5 of the fetched bytes differs from the ETag", said)
        self.assertNotIn("3", support.tree_of(self.out))

    def test_etags_that_are_no_md5(self):
        files = {str(i): os.urandom(1000) for i in range(9)}
        for name, data in files.items():
            self.objects["p/" + name] = Object(data, '"%032x"' % random.getrandbits(128))
        self.server.rules = Rules(opaque=True)
        said = self.fetch("s3://bucket/p", self.out).stdout
        self.assertIn(b"0 of them verified", said)
        self.assert_fetched(files)

    def test_multipart_etags(self):
        self.objects["p/1"] = Object(b"data", '"%032x-3"' % 7)
        self.assertIn(b"0 of them verified", self.fetch("s3://bucket/p", self.out).stdout)
        self.assert_fetched({"1": b"data"})

    def test_full_disk_is_known_before(self):
        self.put({"p/%d" % i: bytes(1 << 20) for i in range(8)})
        with support.small_disk(self.out, 6 << 20):
            before = self.server.requests
            said = self.complaint()
            self.assertRegex(said, r"8388608 bytes are needed there, but \d+ are free: "
                                   r"\d+ too few")
            self.assertLess(self.server.requests - before, 6)
            self.assertEqual(support.tree_of(self.out), {})

    def test_full_disk_meanwhile(self):
        files = {str(i): os.urandom(1 << 20) for i in range(8)}
        self.put({"p/" + k: v for k, v in files.items()})
        with support.small_disk(self.out, 10 << 20):
            hog = os.path.join(self.out, "hog")

            def fill():     # up to 5 MiB: how many of the files are there by then differs from run to run
                with open(hog, "ab", buffering=0) as file, contextlib.suppress(OSError):
                    while file.tell() < 5 << 20:
                        file.write(bytes(4096))

            self.change_when_read("p/0", fill)
            self.assertIn("No space left", self.complaint())
            os.unlink(hog)
            self.server.served = None
            self.fetch("s3://bucket/p", self.out)
            self.assert_fetched(files)

    def test_too_few_inodes(self):
        self.put({"p/%d" % i: b"" for i in range(50)})
        os.mkdir(self.out)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=20", "tmpfs", self.out],
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no right to mount a tmpfs")
        try:
            self.assertIn("50 files are to be written there", self.complaint())
        finally:
            subprocess.run(["umount", self.out], check=True)


class Names(FakeCase):
    def test_names_that_are_refused(self):
        for bad in ("../x", "/abs", "a/../../x", "a//b", "./a", "a/.", "x" * 256,
                    ".sheaf-partial"):
            self.objects.clear()
            self.put({"p/good": b"1", "p/" + bad: b"2"})
            said = self.complaint()
            self.assertIn("nothing was fetched", said, bad)
            self.assertFalse(os.path.exists(self.out), bad)
        self.assertFalse(os.path.exists(self.path("x")))

    def test_names_that_are_odd(self):
        files = {"README": b"1", ".hidden": b"2", "a b\n": b"3", "..x/...": b"4", "~": b"5",
                 "ü" * 127: b"6", "-": b"7"}
        self.put({"p/" + k: v for k, v in files.items()})
        self.fetch("s3://bucket/p", self.out)
        self.assert_fetched(files)

    def test_file_and_directory_of_one_name(self):
        self.put({"p/a": b"1", "p/a.x": b"2", "p/a-b": b"3", "p/a/b": b"4"})
        self.assertIn('is a directory in that of "a/b"', self.complaint())
        self.assertFalse(os.path.exists(self.out))

    def test_what_is_in_the_way(self):
        self.put({"p/a/b": b"1"})
        support.write(os.path.join(self.out, "a"), b"a file")
        self.assertIn("a/b: cannot make its directory", self.complaint())
        os.unlink(os.path.join(self.out, "a"))
        os.mkdir(self.path("elsewhere"))
        os.symlink(self.path("elsewhere"), os.path.join(self.out, "a"))
        self.assertIn("a/b: cannot make its directory", self.complaint())
        self.assertEqual(os.listdir(self.path("elsewhere")), [])
        os.unlink(os.path.join(self.out, "a"))
        os.makedirs(os.path.join(self.out, "a", "b"))
        self.assertIn("a/b: cannot rename the file into place", self.complaint())

    def test_a_link_is_replaced_and_not_followed(self):
        self.put({"p/a": b"new"})
        support.write(self.path("target"), b"old")
        os.mkdir(self.out)
        os.symlink(self.path("target"), os.path.join(self.out, "a"))
        self.fetch("s3://bucket/p", self.out)
        self.assertEqual(support.read(self.path("target")), b"old")
        self.assert_fetched({"a": b"new"})


class Manifests(FakeCase):
    def manifest(self, name, text):
        support.write(self.path(name), text if isinstance(text, bytes)
                      else json.dumps(text).encode())
        return self.path(name)

    def test_manifest(self):
        self.put({"x/a/1": b"1", "x/2": b"22", "x/3": b"333"})
        source = self.manifest("m.manifest", [{"prefix": "s3://bucket/x/"}, "2", "a/1", "2"])
        self.fetch(source, self.out)
        self.assert_fetched({"a/1": b"1", "2": b"22"})

    def test_hostile_manifests(self):
        self.put({"x/1": b"1"})
        for entry in ("../x/1", "/x/1", "a/../1", "1/"):
            source = self.manifest("m.manifest", [{"prefix": "s3://bucket/x/"}, "1", entry])
            self.put({"x/" + entry: b"2"})
            done = self.fetch(source, self.out, status=1)
            self.assertIn(b"nothing was fetched", done.stderr)
        for text in (b"[", b"[{}]", b'[{"prefix": "s3://bucket/x/"}, 7]', b"[1]", b"[]"):
            done = self.fetch(self.manifest("m.manifest", text), self.out, status=1)
            self.assertIn(b"of the manifest: ", done.stderr)
        source = self.manifest("m.manifest", [{"prefix": "s3://bucket/x/"}, "1", "none"])
        self.assertIn(b"x/none", self.fetch(source, self.out, status=1).stderr)
        self.assertFalse(os.path.exists(self.out))

    def test_augmented_manifest(self):
        self.put({"i/%d.jpg" % i: b"%d" % i for i in range(6)})
        lines = [b'{"source-ref": "s3://bucket/i/%d.jpg",  "label": %d}\n' % (i, i)
                 for i in range(6)]
        source = self.manifest("a.manifest", b"\n".join(lines))
        self.fetch(source, self.out)
        self.assert_fetched({"a.manifest": b"".join(lines),
                             **{"i/%d.jpg" % i: b"%d" % i for i in range(6)}})
        for host in range(2):
            out = self.path("host%d" % host)
            self.fetch(source, out, "--distribution", "sharded", "--host", host, "--hosts", 2)
            self.assertEqual(support.tree_of(out), {
                "a.manifest": b"".join(lines[host::2]),
                **{"i/%d.jpg" % i: b"%d" % i for i in range(host, 6, 2)}})

    def test_augmented_manifest_that_cannot_be(self):
        self.server.buckets["other"].objects["k"] = Object(b"2")
        self.put({"k": b"1", "a.manifest": b"3", "../k": b"4"})
        line = b'{"x-ref": "s3://bucket/k", "y-ref": "s3://other/k"}'
        done = self.fetch(self.manifest("a.manifest", line), self.out, status=1)
        self.assertIn(b'two objects have the file name "k"', done.stderr)
        line = b'{"x-ref": "s3://bucket/a.manifest"}'
        done = self.fetch(self.manifest("a.manifest", line), self.out, status=1)
        self.assertIn(b"has the manifest's file name", done.stderr)
        for line, says in ((b'{"x-ref": "s3://bucket/../k"}', b"nothing was fetched"),
                           (b'{"x-ref": 7}', b"line 1: "), (b'{"x-ref": ', b"line 1: not JSON")):
            done = self.fetch(self.manifest("a.manifest", line), self.out, status=1)
            self.assertIn(says, done.stderr)

    def test_prefix_that_ends_within_a_name(self):
        self.put({"x/shard-1": b"1", "x/shard-2/3": b"2", "x/other": b"3"})
        self.fetch("s3://bucket/x/shard-", self.out)
        self.assert_fetched({"shard-1": b"1", "shard-2/3": b"2"})

    def test_sharded_by_key(self):
        files = {"%02d" % i: b"%d" % i for i in range(11)}
        self.put({"p/" + k: v for k, v in files.items()})
        seen = {}
        for host in range(3):
            out = self.path("host%d" % host)
            self.fetch("s3://bucket/p", out, "--distribution", "sharded", "--host", host,
                       "--hosts", 3)
            part = support.tree_of(out)
            self.assertEqual(len(part), (4, 4, 3)[host])
            seen.update(part)
        self.assertEqual(seen, files)
        self.env.update(SM_HOSTS='["algo-1", "algo-10", "algo-2"]', SM_CURRENT_HOST="algo-10")
        self.fetch("s3://bucket/p", self.out, "--distribution", "sharded")
        self.assertEqual(support.tree_of(self.out), support.tree_of(self.path("host1")))


class DataSets(servers.S3Case):
    def setUp(self):
        super().setUp()
        support.make_tree(self.path("tree"), support.image_tree())
        support.pack(self.path("tree"), self.path("set"), "webdataset", "none", "--shard-count", 4)
        self.files = support.tree_of(self.path("set"))
        self.client.put_tree(self.bucket, "set/", self.files)
        self.out = self.path("out")

    def test_shards_are_verified(self):
        said = self.sheaf("fetch", self.url("set"), self.out).stdout
        self.assertIn(b"fetched %d files" % len(self.files), said)
        self.assertEqual(support.tree_of(self.out), self.files)
        self.assertIn(b"fetched 0 files", self.sheaf("fetch", self.url("set"), self.out).stdout)
        self.sheaf("verify", self.out)
        # Files have the times of their objects.
        self.assertLess(abs(os.stat(os.path.join(self.out, "dataset.json")).st_mtime - time.time()),
                        3600)

    def test_shard_that_is_not_the_data_sets(self):
        name = "shard-000002.tar"
        self.client.put(self.bucket, "set/" + name, support.flip(self.files[name], 5000))
        done = self.sheaf("fetch", self.url("set"), self.out, status=1)
        self.assertIn(b"the data set's manifest says", done.stderr)
        self.assertNotIn(name, support.tree_of(self.out))
        self.client.put(self.bucket, "set/" + name, self.files[name] + b"x")
        done = self.sheaf("fetch", self.url("set"), self.out, status=1)
        self.assertIn(b"shard-000002.tar: has ", done.stderr)

    def test_other_files_of_that_name(self):
        self.client.put_tree(self.bucket, "o/", {"dataset.json": b'{"mine": 1}', "x": b"y"})
        self.sheaf("fetch", self.url("o/"), self.out)
        self.assertEqual(support.tree_of(self.out), {"dataset.json": b'{"mine": 1}', "x": b"y"})

    def test_one_object_and_none(self):
        self.sheaf("fetch", self.url("set/dataset.json"), self.out)
        self.assertEqual(list(support.tree_of(self.out)), ["dataset.json"])
        done = self.sheaf("fetch", self.url("nothing/"), self.path("none"), status=1)
        self.assertIn(b"no objects found", done.stderr)
        self.sheaf("fetch", self.path("set"), self.path("none"), status=1)
        self.assertFalse(os.path.exists(self.path("none")))


class Warm(support.Case):
    def test_reads_everything_and_writes_nothing(self):
        files = {"d/%d" % i: os.urandom(i * 1000) for i in range(10)}
        files["large"] = bytes(20 << 20)
        support.make_tree(self.path("tree"), files)
        os.chmod(self.path("tree"), 0o555)
        size = sum(map(len, files.values()))
        said = support.sheaf("fetch", "--warm", self.path("tree")).stdout.decode()
        self.assertEqual(said, "read 11 files, %d bytes\n" % size)
        self.assertEqual(support.tree_of(self.path("tree")), files)
        said = support.sheaf("fetch", "--warm", self.path("tree/large"), "--threads", 3).stdout
        self.assertEqual(said, b"read 1 file, %d bytes\n" % (20 << 20))

    def test_a_file_that_ends_early(self):
        """sysfs states sizes that its files do not have."""
        if not os.path.isdir("/sys/kernel/mm"):
            self.skipTest("no sysfs here")
        done = support.sheaf("fetch", "--warm", "/sys/kernel/mm", status=1)
        self.assertRegex(done.stderr.decode(), "ends at|reading at|cannot open|no file")

    def test_misuse(self):
        for words, status in ((("--warm",), 2), (("--warm", "a", "b"), 2), (("a",), 2),
                              (("--warm", self.path("none")), 1), (("--warm", "s3://bucket/"), 1),
                              (("s3://bucket/", self.path("x"), "--memory", "1MiB"), 1)):
            support.sheaf("fetch", *words, status=status)


if __name__ == "__main__":
    unittest.main()
