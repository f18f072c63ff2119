# SPDX-License-Identifier: MIT
"""sheaf advise: its findings about a source, and the effect of the options on its answer."""

import json
import os
import unittest

import servers
import support


class Local(support.Case):
    def setUp(self):
        super().setUp()
        self.sizes = [0, 5, 999, 1000, 9999, 10000, 123456, 2000000]
        support.make_tree(self.path("tree"), {
            "d%d/%d.bin" % (i % 3, i): bytes(n) for i, n in enumerate(self.sizes)})

    def advise(self, source, *words):
        return json.loads(support.sheaf("advise", source, "--json", *words).stdout)

    def test_survey(self):
        found = self.advise(self.path("tree"))["survey"]
        self.assertEqual(found["objects"], len(self.sizes))
        self.assertEqual(found["bytes"], sum(self.sizes))
        self.assertEqual((found["smallest_bytes"], found["median_bytes"], found["largest_bytes"]),
                         (0, 9999, 2000000))
        self.assertEqual([d["objects"] for d in found["decades"]], [3, 2, 1, 1, 1, 0, 0, 0])
        self.assertEqual(sum(d["bytes"] for d in found["decades"]), sum(self.sizes))
        self.assertFalse(found["is_dataset"])

    def test_data_set(self):
        support.make_tree(self.path("images"), support.image_tree())
        support.pack(self.path("images"), self.path("set"), "webdataset", "none")
        found = self.advise(self.path("set"))
        self.assertTrue(found["survey"]["is_dataset"])
        self.assertEqual(found["survey"]["samples"], 60)
        self.assertIn("60 samples", found["reasons"][0])
        self.assertNotIn("pack", found["mode"])

    def test_options(self):
        plain = self.advise(self.path("tree"))
        self.assertEqual(plain["epochs"], 10)
        self.assertEqual(len(plain["estimates"]), 6)
        self.assertIn(plain["mode"], [e["mode"] for e in plain["estimates"]])
        slow = self.advise(self.path("tree"), "--epochs", 3, "--consumer-rate", "1kB",
                           "--reads-per-epoch", "1.5")
        for e in slow["estimates"]:
            self.assertAlmostEqual(e["epoch_s"], 1.5 * sum(self.sizes) / 1000, places=3)
            self.assertAlmostEqual(e["total_s"], e["startup_s"] + e["first_epoch_s"] +
                                   2 * e["epoch_s"], places=2)
        dear = self.advise(self.path("tree"), "--constant", "get-price=4e5,list-rate=2")
        self.assertEqual(dear["constants"]["list-rate"], 2)
        self.assertEqual(dear["estimates"][0]["mode"], "File")
        self.assertAlmostEqual(dear["estimates"][0]["request_cost"], 0.4 * len(self.sizes),
                               places=4)
        self.assertGreater(dear["estimates"][0]["startup_s"], 4)
        self.assertEqual(dear["constants"]["put-price"], plain["constants"]["put-price"])

    def test_text(self):
        said = support.sheaf("advise", self.path("tree"), "--constant", "file-rate=123").stdout
        for word in (b"8 objects", b"median 10.0 kB", b"FSx for Lustre", b"file-rate", b"123 B/s",
                     b"get-price", b"5,500 objects/s", b"efs-rate         300 MB/s",
                     b"assume that these objects lie in S3"):
            self.assertIn(word, said)
        self.assertNotRegex(said, rb"\de[+]\d")

    def test_constants_are_printed_as_people_write_them(self):
        said = support.sheaf("advise", self.path("tree")).stdout.decode()
        for line in ("fsx-rate 200 MB/s/TB ", "get-price 0.4 $/million ", "file-rate 200 MB/s "):
            self.assertIn(line, " ".join(said.split()))

    def test_constants_of_bytes_take_units(self):
        plain, units = (self.advise(self.path("tree"), "--constant", "efs-rate=" + text)
                        for text in ("250000000", "250MB"))
        self.assertEqual(plain, units)

    def test_misuse(self):
        for words in (("--constant", "x"), ("--constant", "file-rat=1"),
                      ("--constant", "file-rate=fast"), ("--constant", "file-rate=0"),
                      ("--constant", ""), ("--reads-per-epoch", "often"), ("--epochs", "0"),
                      ("--reads-per-epoch", "-1"), ("--reads-per-epoch", "nan")):
            support.sheaf("advise", self.path("tree"), *words, status=2)
        done = support.sheaf("advise", self.path("tree"), "--constant", "file-rat=1", status=2)
        self.assertIn(b"did you mean file-rate", done.stderr)
        os.mkdir(self.path("empty"))
        for source in ("empty", "none"):
            support.sheaf("advise", self.path(source), status=1)


class Remote(servers.S3Case):
    def test_prefix_and_manifests(self):
        self.client.put_tree(self.bucket, "p/", {"%02d" % i: bytes(i * 10) for i in range(30)})
        support.write(self.path("m.manifest"), json.dumps(
            [{"prefix": self.url("p/")}, "01", "02"]).encode())
        support.write(self.path("a.manifest"), json.dumps(
            {"x-ref": self.url("p/29"), "label": 1}).encode())
        for source, objects, size in ((self.url("p"), 30, 4350), (self.path("m.manifest"), 2, 30),
                                      (self.path("a.manifest"), 1, 290)):
            found = json.loads(self.sheaf("advise", source, "--json").stdout)["survey"]
            self.assertEqual((found["objects"], found["bytes"], found["place"]),
                             (objects, size, "S3"))
        self.sheaf("advise", self.url("nothing/"), status=1)


if __name__ == "__main__":
    unittest.main()
