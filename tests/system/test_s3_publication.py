# SPDX-License-Identifier: MIT
"""Tests what a packer does with a shard of another packer in S3, and with uploads whose beginning got no response."""

import itertools
import os
import subprocess
import unittest

import fake_s3
import servers
import support
from support import make_tree


LOOK = "bytes=0-0"      # of requests that ask what is there


class Base(support.Case):
    def setUp(self):
        super().setUp()
        self.server = fake_s3.Server(1)
        self.addCleanup(self.server.stop)
        self.objects = self.server.buckets["bucket"].objects
        self.env = dict(servers.clean_environment(), AWS_ACCESS_KEY_ID="key", LC_ALL="C.UTF-8",
                        AWS_SECRET_ACCESS_KEY="secret", AWS_ENDPOINT_URL=self.server.url,
                        AWS_REGION="us-east-1")
        self.tree = make_tree(self.path("tree"), {"a/%d.bin" % i: b"%d " % i * 900
                                                  for i in range(9)})
        self.done = []          # (method, key)

    def run_sheaf(self, *words, status=0):
        done = subprocess.run([support.SHEAF, *words], env=self.env, cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=support.TIMEOUT)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stderr.decode()


class NamesOfViews(Base):
    def test_a_data_set_does_not_get_the_name_of_a_view(self):
        """A reader would open the view of this name."""
        for name in "out.view", "out.json", "out.json/":
            for option in (), ("--overwrite",), ("--resume",):
                says = self.run_sheaf("pack", self.tree, "s3://bucket/" + name, "--format", "tfrecord", *option,
                                      status=2)
                self.assertIn("choose another name for the data set", says)
        self.assertEqual(self.objects, {})
        self.run_sheaf("pack", self.tree, "set.view", "--format", "tfrecord")
        self.run_sheaf("verify", "set.view")


class Trials(Base):
    """Tests the object with which a run finds out whether the server obeys conditions on writes."""

    def pack(self):
        """Packs the tree. Returns the keys of the test objects in the order of their writes."""
        trials = []

        def served(method, key, _query):
            self.done.append((method, key))
            if method == "PUT" and "/trial" in key:
                trials.append(key)
        self.server.served = self.server.served or served
        said = self.run_sheaf("pack", self.tree, "s3://bucket/set", "--format", "tfrecord", "--overwrite")
        self.assertNotIn("this server", said)
        self.assertFalse([key for key in self.objects if ".sheaf" in key])
        return trials

    def test_each_run_has_an_object_of_its_own(self):
        keys = self.pack()
        self.assertEqual(keys, keys[:1] * 3)
        self.server.served = None
        self.assertNotEqual(keys[0], self.pack()[0])

    def test_object_of_a_killed_run_is_removed(self):
        for key in self.pack()[:1]:
            self.objects[key] = fake_s3.Object(b"left")
            self.pack()

    def test_object_that_another_run_removes(self):
        """A run that cleans the directory may remove the test object after any of the test's requests."""
        for last in range(1, 5):
            done = []

            def served(_method, key, _query, last=last, done=done):
                if "/trial" in key:
                    done.append(key)
                    if len(done) == last:
                        self.objects.pop(key, None)
            with self.subTest(last):
                self.server.served = served
                self.pack()
                self.assertGreaterEqual(len(done), last)


class Publication(Base):
    """Tests shards that appear while a packer works. The service adds them at a chosen request."""

    def pack_part(self, status=0):
        return self.run_sheaf("pack", "--plan", "plan", status=status)

    def half_published(self):
        """Makes a plan, and the files that a packer leaves if it cannot record that its shard is finished. Returns
        these files and the name of the shard."""
        self.run_sheaf("plan", self.tree, "s3://bucket/set", "-o", "plan", "--format", "tfrecord",
                       "--shard-count", "1", "--s3", "checksum=none")

        def choose(method, key, _query):
            put = [k for m, k in self.done if m == "PUT"]
            self.done.append((method, key))
            return "denied" if method == "PUT" and any(k.endswith(".tfrecord") for k in put) \
                else None
        self.server.fault = choose
        self.pack_part(status=1)
        self.server.fault = None
        left = {key: self.objects.pop(key) for key in sorted(self.objects)
                if key.endswith((".done", ".tfrecord"))}
        self.assertEqual(len(left), 2, left)
        self.done = []
        return left, next(key for key in left if key.endswith(".tfrecord"))

    def is_look(self):
        return self.server.current.get("range") == LOOK

    def is_read(self, method, key, shard):
        return method == "GET" and key == shard and not self.is_look()

    def arrive(self, left):
        """Makes the files appear when the next packer looks for them, after it has made its own shard."""
        def choose(method, key, _query):
            self.done.append((method, key))
            if key.endswith(".done") and self.is_look() and left:
                self.objects.update(left)
                left.clear()
        self.server.fault = choose

    def test_replaced_while_it_is_read(self):
        """The packer must judge the shard that it has read, and not the one that exists afterwards."""
        left, shard = self.half_published()
        good = left[shard]
        self.arrive(left)

        def served(method, key, _query):
            if self.is_read(method, key, shard) and self.objects[key].data == good.data:
                self.objects[key] = fake_s3.Object(support.flip(good.data, 100))
        self.server.served = served
        text = self.pack_part(status=1)
        self.assertIn("another run is writing this shard", text)
        self.server.served = None
        self.run_sheaf("commit", "plan", status=1)
        self.assertNotIn("set/dataset.json", self.objects)
        self.pack_part()
        self.run_sheaf("commit", "plan")
        self.assertTrue(self.objects[shard].data == good.data)
        self.run_sheaf("verify", "s3://bucket/set")

    def test_answer_that_is_damaged(self):
        """A good shard must not be replaced because one read of it was damaged in transit."""
        left, shard = self.half_published()
        self.arrive(left)
        arrives, wrong = self.server.fault, ["bytes"]

        def choose(method, key, query):
            arrives(method, key, query)
            return wrong.pop() if self.is_read(method, key, shard) and wrong else None
        self.server.fault = choose
        self.pack_part()
        self.assertEqual(wrong, [])
        self.assertNotIn(("PUT", shard), self.done)
        self.run_sheaf("commit", "plan")

    def test_entry_and_claim_that_come_damaged(self):
        """A journal entry or claim that arrives damaged must be read once more."""
        for name in (".done", "/plan"):
            with self.subTest(name):
                self.objects.clear()
                self.run_sheaf("plan", self.tree, "s3://bucket/set", "-o", "plan" + name[1:],
                               "--format", "tfrecord", "--shard-count", "2")
                self.run_sheaf("pack", "--plan", "plan" + name[1:])
                wrong = ["bytes"]
                self.server.fault = lambda method, key, _query, name=name, wrong=wrong: (
                    wrong.pop() if method == "GET" and key.endswith(name) and wrong else None)
                self.run_sheaf("commit", "plan" + name[1:])
                self.server.fault = None
                self.assertEqual(wrong, [])


class Uploads(Base):
    """Tests uploads that were begun twice. Nobody knows the first one, which must be removed when the data set
    exists."""

    def test_begun_twice(self):
        make_tree(self.tree, {"b/large.bin": os.urandom(9 << 20)})
        begun = []

        def choose(method, _key, query):
            if method == "POST" and "uploads" in query:
                begun.append(("twice", "lose")[len(begun) % 2])
                return begun[-1]
            return None
        self.server.fault = choose
        words = ["pack", self.tree, "s3://bucket/set", "--format", "webdataset"]
        for more in ((), ("--overwrite",)):
            self.run_sheaf(*words, *more)
            self.assertEqual(self.server.buckets["bucket"].uploads, {})
        self.assertGreaterEqual(len(begun), 3)
        self.run_sheaf("verify", "s3://bucket/set")


    def commit_with(self, number, choose):
        plan = self.path("plan-%d" % number)
        self.objects.clear()
        self.run_sheaf("plan", self.tree, "s3://bucket/set", "-o", plan, "--format", "tfrecord")
        self.run_sheaf("pack", "--plan", plan)
        self.server.fault = choose
        self.run_sheaf("commit", plan)
        self.server.fault = None
        self.assertEqual(self.server.buckets["bucket"].uploads, {})
        self.run_sheaf("verify", "s3://bucket/set")

    def test_probe_whose_abort_is_refused(self):
        """A commit makes an upload of its own (the probe) to find out whether the server lists uploads."""
        refused = []

        def choose(method, key, _query):
            if method == "DELETE" and key.endswith("/.sheaf-probe") and not refused:
                refused.append(key)
                return "denied"
            return None
        self.commit_with(1, choose)
        self.assertEqual(refused, ["set/.sheaf-probe"])

    def test_probe_that_is_begun_twice(self):
        """The probe is begun twice, and the listing that would show it is refused."""
        begun, refused = [], []

        def choose(method, key, query):
            if method == "POST" and key.endswith("/.sheaf-probe") and not begun:
                begun.append(key)
                return "lose"
            if begun and key == "" and "uploads" in query and not refused:
                refused.append(query["prefix"])
                return "denied"
            return None
        self.commit_with(2, choose)
        self.assertEqual(refused, ["set/"])


class Torn(Base):
    """Tests responses whose XML ends early or is damaged, although their length is right."""

    def test_each_once(self):
        make_tree(self.tree, {"b/large.bin": os.urandom(9 << 20)})
        torn = set()

        def choose(method, key, query):
            kind = "List" if key == "" else "Complete" if "uploadId" in query else "Create"
            kind += " uploads" if "uploads" in query else ""
            if (key == "" or method == "POST") and (kind, key) not in torn:
                torn.add((kind, key))
                return "torn"
            return None
        self.server.fault = choose
        self.run_sheaf("pack", self.tree, "s3://bucket/set", "--format", "webdataset")
        self.objects["in/a/0.bin"] = fake_s3.Object(b"0")
        self.run_sheaf("pack", "s3://bucket/in", "s3://bucket/again", "--format", "webdataset",
                       "--overwrite")       # lists the uploads before
        self.assertEqual(self.server.buckets["bucket"].uploads, {})
        self.run_sheaf("verify", "s3://bucket/set")
        self.assertEqual({kind for kind, _ in torn}, {
            "List", "List uploads", "Create uploads", "Complete"})

    def test_for_ever(self):
        self.env["AWS_MAX_ATTEMPTS"] = "2"
        self.server.fault = lambda method, key, query: "torn" if key == "" else None
        text = self.run_sheaf("pack", "s3://bucket/in", self.path("out"), "--format", "webdataset",
                              status=1)
        self.assertRegex(text, r"listing s3://bucket/in/: a reply of \d+ bytes? is not XML: .*; "
                               r"gave up after 2 attempts in ")


class Words(Base):
    def test_message_is_empty(self):
        """If the server's message is empty, the error must not end with a colon."""
        self.server.fault = lambda *_: "no message"
        text = self.run_sheaf("pack", self.tree, "s3://bucket/set", "--format", "tfrecord",
                              status=1)
        self.assertIn("InvalidRequest", text)
        self.assertNotRegex(text, r"InvalidRequest: *(;|\n|$)")


class Elsewhere(Base):
    def test_region_is_told_in_the_middle(self):
        """A response names the bucket's region, and all further requests must go there, even in a pack that has begun.
        Such a response may be wrong about whether the request was carried out."""
        make_tree(self.tree, {"b/large.bin": os.urandom(9 << 20)})
        count = itertools.count(1)
        self.server.fault = lambda *_: "elsewhere" if next(count) > 12 and \
            "/us-east-1/" in self.server.current["authorization"] else None
        text = self.run_sheaf("pack", self.tree, "s3://bucket/set", "--format", "webdataset")
        self.assertEqual(text.count("continuing there"), 1, text)
        self.run_sheaf("verify", "s3://bucket/set")
        self.assertEqual(self.server.buckets["bucket"].uploads, {})


if __name__ == "__main__":
    unittest.main()
