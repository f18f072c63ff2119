# SPDX-License-Identifier: MIT
"""Counts of fields and classes: they are the same in every way of packing, and equal the counts that Python finds in
the files."""

import json
import os
import random
import re
import shutil

import support
from support import CONTAINERS, Case, make_tree, pack, read, seed, sheaf, write
import xxhash


def odd_tree(chance):
    """Returns a tree with a field that all samples have, one that few lack, and one that few have; and with classes
    of all sizes."""
    files = {}
    for c in range(6):
        for i in range(1 + c * 20):
            key = "c%d/%03d" % (c, i)
            files[key + ".png"] = chance.randbytes(chance.choice([0, 9, 300, 4000, 20000]))
            if chance.randrange(25):
                files[key + ".Json"] = b"{%d}" % i
            if not chance.randrange(30):
                files[key + ".seg.png"] = chance.randbytes(50)
    return files


def count(files):
    """Returns {field: (samples, bytes, least, most)}."""
    sizes = {}
    for path, data in files.items():
        sizes.setdefault(path.split(".", 1)[1].lower(), []).append(len(data))
    return {name: (len(s), sum(s), min(s), max(s)) for name, s in sizes.items()}


def manifest(folder):
    return json.loads(read(os.path.join(folder, "dataset.json")))


def rewrite(folder, change):
    """Changes a manifest, as if another program had written it. The table of keys would then belong to another data
    set, so it is removed."""
    if os.path.exists(os.path.join(folder, "dataset.keys")):
        os.remove(os.path.join(folder, "dataset.keys"))
    document = manifest(folder)
    change(document)
    for shard in document["shards"]:            # as in release 0.1, which wrote no table of keys
        shard.pop("index_xxh3", None)
    del document["fingerprint"]
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    document["fingerprint"] = xxhash.xxh3_128_hexdigest(text.encode())
    write(os.path.join(folder, "dataset.json"), json.dumps(document).encode())


class Fields(Case):
    def setUp(self):
        super().setUp()
        self.chance = random.Random(seed())
        self.files = odd_tree(self.chance)
        self.source = make_tree(self.path("src"), self.files)

    def check(self, folder):
        found = json.loads(sheaf("info", folder, "--json").stdout)
        self.assertEqual({f["name"]: (f["samples"], f["bytes"], f["least"], f["most"])
                          for f in found["fields"]}, count(self.files))
        for field in found["fields"]:
            keys = [line.split("\t")[0] for line in support.listing(folder, "--no-shuffle")]
            lacking = [k for k in keys if k + "." + field["name"] not in
                       {p.lower() for p in self.files}]
            self.assertEqual(field.get("lacking"), lacking[0] if lacking else None)
        self.assertEqual(found["class_samples"], [1 + c * 20 for c in range(6)])
        sheaf("verify", folder)

    def test_every_container(self):
        for container in CONTAINERS:
            done = pack(self.source, self.path(container), container, "none", "--shard-count", 5)
            self.check(self.path(container))
            out = done.stdout.decode()
            for name, (samples, *_) in count(self.files).items():
                self.assertIn("  %s %d" % (name, samples), out)
            self.assertIn("classes: 6, of 1 sample (c0) to 101 (c5)", out)
            self.assertRegex(done.stderr.decode(), r"\d+ samples? without a field json; the first: "
                             r"c\d/\d+\n")
            self.assertNotIn("seg.png", done.stderr.decode())

    def test_jobs_and_restarts_and_conversion(self):
        one = self.path("one")
        pack(self.source, one, "webdataset", "none", "--shard-count", 7, "-j", 1)
        pack(self.source, self.path("many"), "webdataset", "none", "--shard-count", 7, "-j", 5)
        self.assertEqual(read(one + "/dataset.json"), read(self.path("many") + "/dataset.json"))
        sheaf("convert", one, self.path("rec"), "--format", "recordio", "--codec", "zstd")
        self.check(self.path("rec"))
        # An index has the counts of the data set that was packed.
        before = manifest(one)["fields"]
        for name in ("dataset.json", "dataset.index", "dataset.keys"):
            os.remove(os.path.join(one, name))
        sheaf("index", one)
        found = {f["name"]: f for f in manifest(one)["fields"]}
        self.assertEqual({f["name"]: f for f in before},
                         {name: f for name, f in found.items() if name != "cls"})

    def said(self, done):
        return [line for line in done.stderr.decode().splitlines() if "without a field" in line]

    def test_dry_run(self):
        """A dry run prints the same words as the run, for each split, and writes nothing."""
        for options in ((), ("--split", "train=0.7,val=0.3")):
            dry = pack(self.source, self.path("out"), "webdataset", "none", "--dry-run", *options)
            self.assertFalse(os.path.exists(self.path("out")))
            done = pack(self.source, self.path("out"), "webdataset", "none", *options)
            self.assertRegex("\n".join(self.said(dry)), r"\d+ samples? without a field json; the "
                             r"first: c\d/\d+")
            self.assertEqual(self.said(dry), self.said(done))
            shutil.rmtree(self.path("out"))

    def test_commit_prints_them(self):
        """commit prints the counts like pack, for the data set or for each split."""
        for number, options in enumerate(((), ("--split", "train=0.7,val=0.3"))):
            words = ("--format", "tfrecord", "--shard-count", "3", *options)
            one, many, plan = (self.path("%s-%d" % (name, number))
                               for name in ("one", "many", "plan"))
            done = sheaf("pack", self.source, one, *words)
            sheaf("plan", self.source, many, "-o", plan, *words)
            sheaf("pack", "--plan", plan)
            for _ in range(2):
                committed = sheaf("commit", plan)
                self.assertIn(b"fields:  json ", committed.stdout)
                self.assertEqual(committed.stdout.splitlines()[1:], done.stdout.splitlines()[1:])
                self.assertEqual(self.said(committed), self.said(done))
            self.assertEqual(sheaf("commit", plan, "--quiet").stdout, b"")

    def test_several_sources(self):
        half = {p: d for p, d in self.files.items() if p < "c4"}
        pack(make_tree(self.path("x"), half), self.path("a"), "webdataset")
        pack(make_tree(self.path("y"), {p: d for p, d in self.files.items() if p not in half}),
             self.path("b"), "tfrecord")
        found = json.loads(sheaf("info", self.path("a"), self.path("b"), "--json").stdout)
        self.assertEqual({f["name"]: f["samples"] for f in found["fields"]},
                         {name: f[0] for name, f in count(self.files).items()})
        self.assertEqual(found["class_samples"], [1 + c * 20 for c in range(6)])
        view = support.view_of(self, [(self.path("a"), {})])
        self.assertNotIn("fields", json.loads(sheaf("info", view, "--json").stdout))

    def test_another_manifest_is_noticed(self):
        folder = self.path("out")
        pack(self.source, folder, "webdataset")
        fields = manifest(folder)["fields"]
        for change in (lambda d: d["fields"][0].update(bytes=d["fields"][0]["bytes"] + 1),
                       lambda d: d["fields"][0].update(least=1),
                       lambda d: d["fields"].pop(),
                       lambda d: d["fields"][0].update(lacking="c9/000")):
            rewrite(folder, lambda d: d.update(fields=json.loads(json.dumps(fields))))
            sheaf("verify", folder)
            rewrite(folder, change)
            error = sheaf("verify", folder, status=1).stderr.decode()
            self.assertIn('"fields": what the manifest says', error)
        rewrite(folder, lambda d: d.update(fields=fields, class_samples=[1, 2, 3, 4, 5, 6]))
        self.assertIn('the class "c1" has 21 samples, but the manifest says 2',
                      sheaf("verify", folder, status=1).stderr.decode())
        # damage is more than a difference of counts
        rewrite(folder, lambda d: d.update(fields=fields[::-1]))
        self.assertIn("byte order", sheaf("info", folder, status=1).stderr.decode())

    def test_older_manifests_have_none(self):
        folder = self.path("out")
        pack(self.source, folder, "webdataset")

        def older(document):
            del document["fields"], document["class_samples"]

        rewrite(folder, older)
        sheaf("verify", folder)
        found = json.loads(sheaf("info", folder, "--json").stdout)
        self.assertNotIn("fields", found)
        self.assertNotIn("class_samples", found)
        self.assertNotRegex(sheaf("info", folder).stdout.decode(), "(?m)^fields")

    def test_verify_counts_what_it_reads(self):
        folder = self.path("out")
        pack(self.source, folder, "webdataset")
        found = json.loads(sheaf("verify", folder, "--json").stdout)
        self.assertEqual({f["name"]: f["samples"] for f in found["fields"]},
                         {name: f[0] for name, f in count(self.files).items()})
        self.assertTrue(re.search(r"(?m)^  json  \d+ samples", sheaf("verify", folder).stdout
                                  .decode()))

    def test_a_name_in_every_sample_of_its_own(self):
        files = {"a/%d.2024.%d.txt" % (i, i): b"x" for i in range(300)}
        done = pack(make_tree(self.path("names"), files), self.path("out"), "webdataset")
        self.assertIn(b"fields: more than 256 names", done.stdout)
        self.assertIsNone(manifest(self.path("out"))["fields"])
        self.assertIn(b"fields        more than 256", sheaf("info", self.path("out")).stdout)
        sheaf("verify", self.path("out"))


if __name__ == "__main__":
    support.unittest.main()
