# SPDX-License-Identifier: MIT
"""Tests packing from S3: prefixes, SageMaker's manifests, and lists."""

import json
import os
import unittest

import decoders
import images
import jpegs
import servers
import support
from support import make_tree, pack, read


class Prefix(servers.S3Case):
    def both(self, files, *options):
        """Packs the files as a tree and as objects. Both data sets must be equal."""
        tree = make_tree(self.path("tree"), files)
        self.client.put_tree(self.bucket, "in/images/", files)
        pack(tree, self.path("local"), *options)
        self.sheaf("pack", self.url("in/images/"), self.path("remote"), "--format",
                   *(options or ("webdataset",)))
        self.assert_same_tree(self.path("local"), self.path("remote"))

    def test_as_a_tree(self):
        self.both(support.image_tree(4, 15))

    def test_pages_of_keys(self):
        self.both({"%02d/%03d/%d.txt" % (i, j, k): b"%d" % k
                   for i in range(3) for j in range(12) for k in range(9)})

    def test_flat_pages(self):
        self.both({"%06d.txt" % i: b"text %d" % i for i in range(1010)})

    def test_images_become_others(self):
        """The result must equal that of a directory byte for byte. One image is damaged, and one sample is left out
        completely."""
        files = {"c/%s.jpg" % name: data for name, (data, _) in images.odd().items()}
        files.update({"d/%d.jpg" % i: images.saved(images.photo(200 + 90 * i, 180, i)) for i in range(5)})
        cut, cmyk = files["d/3.jpg"][:-100], files["c/cmyk.jpg"]
        files.update({"c/cut.jpg": cut, "d/two.jpg": cmyk, "d/two.b.jpg": cut})
        tree = make_tree(self.path("tree"), files)
        self.client.put_tree(self.bucket, "in/images/", files)
        options = ["--format", "webdataset", "--fix-images", "--resize", "100", "--on-error", "skip",
                   "--shard-count", "3"]
        for more in ((), ("--memory", "24MiB")):
            here = support.sheaf("pack", tree, self.path("local"), *options, "--overwrite")
            there = self.sheaf("pack", self.url("in/images/"), self.path("remote"), *options, *more,
                               "--overwrite")
            for done in (here, there):
                self.assertIn(b"3 files skipped, %d images converted, 5 images only made smaller"
                              % len(images.odd()), done.stdout)
            self.assertIn(b"d/two.jpg\tleft out", read(self.path("remote/skipped.tsv")))
            self.assertNotIn(b"d/two", read(self.path("remote/converted.tsv")))
            self.assert_same_tree(self.path("local"), self.path("remote"))
        self.sheaf("plan", self.url("in/images/"), self.url("parts"), "-o", self.path("plan"), *options)
        for part in ("1/2", "0/2"):
            self.sheaf("pack", "--plan", self.path("plan"), "--part", part)
        self.sheaf("commit", self.path("plan"))
        self.assert_same_objects("parts", self.path("remote"))

    def test_odd_keys(self):
        names = ["a b", "a+b", "a%20b", "a=b;c", "~t", "\u00fcml\u00e4ut", "(1)", "a&b",
                 "\U0001f33e", "it's", "q?x=1", "#1", "@", "{0..3}", "back\\slash"]
        self.both({"dir %d/%s.jpg" % (i % 3, name): jpegs.jpeg(8, 8, 3, i)
                   for i, name in enumerate(names)})

    def test_straight_to_s3(self):
        files = support.image_tree(3, 20)
        tree = make_tree(self.path("tree"), files)
        self.client.put_tree(self.bucket, "in/", files)
        pack(tree, self.path("local"), "recordio", "lz4", "--shard-size", "100kB")
        self.sheaf("pack", self.url("in"), self.url("out/"), "--format", "recordio", "--codec",
                   "lz4", "--shard-size", "100kB")
        self.assert_same_objects("out", self.path("local"))
        self.assert_clean()

    def test_tls(self):
        files = support.image_tree(2, 20)
        self.client.put_tree(self.bucket, "in/", files)
        pack(make_tree(self.path("tree"), files), self.path("local"))
        self.sheaf("pack", self.url("in"), self.path("out"), "--format", "webdataset",
                   env=self.server.environment(self.server.tls))
        self.assert_same_tree(self.path("local"), self.path("out"))

    def test_many_large(self):
        chance = support.random.Random(1)
        self.both({"%d/%d.bin" % (i % 2, i): chance.randbytes(3 << 20) for i in range(12)})

    def test_little_memory(self):
        chance = support.random.Random(2)
        files = {"%d.bin" % i: chance.randbytes(1 << 20) for i in range(20)}
        self.client.put_tree(self.bucket, "in/", files)
        pack(make_tree(self.path("tree"), files), self.path("local"))
        self.sheaf("pack", self.url("in"), self.path("out"), "--format", "webdataset",
                   "--memory", "16MiB")
        self.assert_same_tree(self.path("local"), self.path("out"))

    def test_clutter_is_left_out(self):
        files = {"a/1.txt": b"1", "b/2.txt": b"2"}
        clutter = {".git/a/b.txt": b"x", ".git/c.txt": b"x", "a/.DS_Store": b"x", "thumbs.db": b"x"}
        self.client.put_tree(self.bucket, "in/", {**files, **clutter})
        done = self.sheaf("pack", self.url("in"), self.path("out"), "--format", "webdataset")
        self.assertIn(b"4 ignored", done.stderr)
        pack(make_tree(self.path("tree"), files), self.path("local"))
        self.assert_same_tree(self.path("local"), self.path("out"))

    def test_filters(self):
        files = {"a/1.txt": b"1", "b/2.txt": b"2"}
        others = {"a/1.tmp": b"x", "raw/3.txt": b"x", "raw/b/4.txt": b"x"}
        self.client.put_tree(self.bucket, "in/", {**files, **others})
        done = self.sheaf("pack", self.url("in"), self.path("out"), "--format", "webdataset",
                          "--exclude", "/raw", "--exclude", "*.tmp")
        self.assertIn(b'2 files left out by the pattern "/raw"', done.stderr)
        pack(make_tree(self.path("tree"), files), self.path("local"))
        self.assertEqual(support.shards_of(self.path("out")), support.shards_of(self.path("local")))

    def test_markers_of_directories_are_no_files(self):
        self.client.put(self.bucket, "in/cat/", b"")
        self.client.put(self.bucket, "in/cat/1.txt", b"1")
        done = self.sheaf("pack", self.url("in"), self.path("out"), "--format", "webdataset")
        self.assertEqual(len(support.listing(self.path("out"))), 1)
        self.assertIn(b"1 of 1 file packed, 0 files skipped, 1 non-file entry passed over",
                      done.stdout)
        self.client.put(self.bucket, "in/dog/", b"content")
        done = self.sheaf("pack", self.url("in"), self.path("no"), "--format", "webdataset",
                          status=1)
        self.assertIn(b"dog/", done.stderr)

    def test_bad_objects(self):
        self.client.put_tree(self.bucket, "in/", {
            "a/1.jpg": jpegs.jpeg(8, 8, 3, 1), "a/2.jpg": b"no JPEG", "a/.hidden": b"x",
            "a/README": b"x", "b/3.jpg": jpegs.jpeg(8, 8, 3, 2)[:-40], "b//4.jpg": b"x",
            "b//./5.jpg": jpegs.jpeg(8, 8, 3, 3)})
        done = self.sheaf("pack", self.url("in"), self.path("no"), "--format", "webdataset",
                          status=1)
        self.assert_nothing(self.path("no"))
        done = self.sheaf("pack", self.url("in"), self.path("out"), "--format", "webdataset",
                          "--on-error", "skip")
        # Empty components of a key mean nothing, as in an archive.
        self.assertEqual(sorted(line.split("\t")[0] for line in support.listing(self.path("out"))),
                         ["a/1", "b/5"])
        skipped = read(self.path("out", "skipped.tsv")).decode()
        self.assertEqual(sorted(line.split("\t")[0] for line in skipped.splitlines()),
                         ["a/.hidden", "a/2.jpg", "a/README", "b/3.jpg", "b/4.jpg"])
        self.assertIn("5 files skipped", done.stdout.decode())

    def test_nothing_there(self):
        done = self.sheaf("pack", self.url("none/"), self.path("out"), "--format", "webdataset",
                          status=1)
        self.assert_error(done, self.url("none/"), "no file")
        done = self.sheaf("pack", "s3://no-such-bucket/x", self.path("out"), "--format",
                          "webdataset", status=1)
        self.assert_error(done, "no-such-bucket", "NoSuchBucket")

    def test_into_itself(self):
        self.client.put(self.bucket, "in/1.txt", b"1")
        for dest in ("in/out", "in", "in/"):
            done = self.sheaf("pack", self.url("in"), self.url(dest), "--format", "webdataset",
                              status=2)
            self.assert_error(done, "into itself")
        self.sheaf("pack", self.url("in"), self.url("in2"), "--format", "webdataset")

    def test_dry_run_reads_nothing(self):
        self.client.put(self.bucket, "in/a/1.jpg", b"no JPEG, but nobody looks")
        done = self.sheaf("pack", self.url("in"), self.path("out"), "--format", "webdataset",
                          "--dry-run")
        self.assertIn("total\t1\t1\t25", done.stdout.decode())


class Manifest(servers.S3Case):
    def manifest(self, entries, name="train.manifest", prefix="data/"):
        text = json.dumps([{"prefix": self.url(prefix)}] + entries)
        support.write(self.path(name), text.encode())
        return self.path(name)

    def test_a_part_of_a_prefix(self):
        files = support.image_tree(3, 20)
        self.client.put_tree(self.bucket, "data/", files)
        some = {path: data for i, (path, data) in enumerate(sorted(files.items()))
                if path.endswith(("jpg", "JPG")) and i % 2}
        pack(make_tree(self.path("tree"), some), self.path("local"), "tfrecord")
        self.sheaf("pack", self.manifest(sorted(some)), self.path("out"), "--format", "tfrecord")
        self.assert_same_tree_but_manifest(self.path("local"), self.path("out"))
        self.client.put(self.bucket, "lists/a.manifest", read(self.path("train.manifest")))
        self.sheaf("pack", self.url("lists/a.manifest"), self.path("out2"), "--format",
                   "tfrecord")
        self.assert_same_tree(self.path("out"), self.path("out2"))

    def assert_same_tree_but_manifest(self, one, other):
        left, right = support.tree_of(one), support.tree_of(other)
        self.assertEqual(sorted(left), sorted(right))
        for name in left:
            self.assertTrue(name in ("dataset.json", "dataset.keys") or left[name] == right[name],
                            name)

    def test_a_prefix_that_is_no_directory(self):
        self.client.put_tree(self.bucket, "data/set-", {"1.txt": b"1", "x/2.txt": b"22"})
        self.sheaf("pack", self.manifest(["1.txt", "x/2.txt"], prefix="data/set-"),
                   self.path("out"), "--format", "webdataset")
        self.assertEqual(sorted(line.split("\t")[0] for line in support.listing(self.path("out"))),
                         ["1", "x/2"])
        self.client.put_tree(self.bucket, "data", {"/1.txt": b"1"})
        self.sheaf("pack", self.manifest(["/1.txt"], "b.json", prefix="data"), self.path("out2"),
                   "--format", "webdataset")
        self.assertEqual(support.listing(self.path("out2"))[0].split("\t")[0], "1")

    def test_what_is_missing(self):
        self.client.put_tree(self.bucket, "data/", {"1.txt": b"1"})
        manifest = self.manifest(["1.txt", "2.txt", "3.txt"])
        done = self.sheaf("pack", manifest, self.path("no"), "--format", "webdataset", status=1)
        self.assert_error(done, "2.txt", "NoSuchKey")
        self.sheaf("pack", manifest, self.path("out"), "--format", "webdataset", "--on-error",
                   "skip")
        self.assertEqual(len(read(self.path("out", "skipped.tsv")).splitlines()), 2)

    def test_malformed(self):
        for text, word in ((b"[]", "prefix"), (b"[1]", "prefix"), (b'["a"]', "prefix"),
                           (b'[{"prefix": "x"}]', "prefix"),
                           (b'[{"prefix": "s3://b/"}, 7]', "entry 2"),
                           (b'[{"prefix": "s3://b/"} "x"]', "comma"),
                           (b'[{"prefix": "s3://b/"}, "x"', "comma"),
                           (b'[{"prefix": "s3://b/"}] x', "after"),
                           (b'[{"prefix": "s3://b/"}, "x]', "entry 2"),
                           (b'[{"prefix": "s3://b/"}, ""]', "entry 2")):
            support.write(self.path("m.manifest"), text)
            done = self.sheaf("pack", self.path("m.manifest"), self.path("out"), "--format",
                              "webdataset", status=1)
            self.assert_error(done, "m.manifest", word)


class Augmented(servers.S3Case):
    def pack_lines(self, lines, *options, name="data.manifest", status=0):
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        support.write(self.path(name), text.encode())
        return self.sheaf("pack", self.path(name), self.path("out"), "--format", "webdataset",
                          *options, status=status)

    def samples(self):
        found = {}
        for shard in support.shards_of(self.path("out")):
            for _, key, members in decoders.tar_frames(read(self.path("out", shard))):
                found[key] = {suffix: data for suffix, data, _ in members}
        return found

    def test_objects_fields_and_labels(self):
        cat, dog = jpegs.jpeg(8, 8, 3, 1), jpegs.jpeg(9, 8, 3, 2)
        self.client.put_tree(self.bucket, "", {"img/cat.1.jpg": cat, "img/dog.jpg": dog,
                                               "masks/cat.png": b"PNG", "masks/dog.jpg": dog})
        self.pack_lines([
            {"source-ref": self.url("img/cat.1.jpg"), "label": 3, "mask-ref":
             self.url("masks/cat.png")},
            '{"source-ref": "%s", "class": 1, "mask-ref": "%s", "boxes": [ [1, 2.50] ], '
            '"boxes-metadata": {"a": "}\\"]"}}' % (self.url("img/dog.jpg"),
                                                   self.url("masks/dog.jpg"))])
        self.assertEqual(self.samples(), {
            "img/cat": {"1.jpg": cat, "png": b"PNG", "cls": b"3"},
            "img/dog": {"jpg": dog, "mask.jpg": dog, "cls": b"1", "boxes": b"[ [1, 2.50] ]",
                        "boxes-metadata": b'{"a": "}\\"]"}'}})

    def test_classes_by_name(self):
        self.client.put_tree(self.bucket, "", {"1.txt": b"1", "2.txt": b"2"})
        self.pack_lines([{"a-ref": self.url("1.txt"), "label": "wolf"},
                         {"a-ref": self.url("2.txt"), "label": "bear"}])
        self.assertEqual({k: v["cls"] for k, v in self.samples().items()}, {"1": b"1", "2": b"0"})
        manifest = json.loads(read(self.path("out", "dataset.json")))
        self.assertEqual(manifest["classes"], ["bear", "wolf"])

    def test_ground_truth(self):
        self.client.put_tree(self.bucket, "", {"1.txt": b"1"})
        self.pack_lines([{"source-ref": self.url("1.txt"), "animal": 4, "animal-metadata": {
            "class-name": "cat", "type": "groundtruth/image-classification"}}])
        sample = self.samples()["1"]
        self.assertEqual(sample["cls"], b"4")
        self.assertNotIn("animal", sample)
        self.assertIn("animal-metadata", sample)

    def test_jsonl_and_lines_without_objects(self):
        self.client.put(self.bucket, "dir/obj", b"content")
        self.pack_lines([{"image-ref": self.url("dir/obj")}, "", {"source": "a text", "label": 2}],
                        name="a.jsonl")
        self.assertEqual(self.samples(), {"dir/obj": {"image": b"content"},
                                          "00000003": {"source": b'"a text"', "cls": b"2"}})

    def test_in_the_bucket(self):
        self.client.put_tree(self.bucket, "", {"%d.txt" % i: b"%d" % i for i in range(80)})
        self.client.put(self.bucket, "all.manifest", "".join(
            json.dumps({"x-ref": self.url("%d.txt" % i), "label": i % 7}) + "\n"
            for i in range(80)).encode())
        self.sheaf("pack", self.url("all.manifest"), self.path("out"), "--format", "webdataset")
        self.assertEqual(self.samples(), {str(i): {"txt": b"%d" % i, "cls": b"%d" % (i % 7)}
                                          for i in range(80)})

    def test_bad_lines_and_objects(self):
        self.client.put_tree(self.bucket, "", {"1.txt": b"1"})
        lines = [{"a-ref": self.url("1.txt"), "label": 1}, "{", {"a-ref": "no url"}, {"a-ref": 7},
                 {"a-ref": self.url("2.txt"), "b": 1}, "[]", "{}",
                 {"a-ref": self.url("3.txt"), "label": {}}, {"b": 2, "label": "name"}]
        done = self.pack_lines(lines, status=1)
        self.assert_error(done, "data.manifest:2", "not JSON")
        self.pack_lines(lines, "--on-error", "skip")
        self.assertEqual(list(self.samples()), ["1"])
        where = [line.split("\t")[0].rpartition("/")[2]
                 for line in read(self.path("out", "skipped.tsv")).decode().splitlines()]
        self.assertEqual(sorted(where), ["2.b", "2.txt"] + ["data.manifest:%d" % n
                                                            for n in (2, 3, 4, 6, 7, 8, 9)])

    def test_one_object_twice(self):
        self.client.put(self.bucket, "1.txt", b"1")
        done = self.pack_lines([{"a-ref": self.url("1.txt")}] * 2, status=1)
        self.assert_error(done, "two inputs with one key")


class Lists(servers.S3Case):
    def test_csv_with_a_root(self):
        self.client.put_tree(self.bucket, "data/", {"a/1.txt": b"1", "b/2.txt": b"22"})
        support.write(self.path("l.csv"), ("path,label\na/1.txt,5\n%s,6\n" % self.url(
            "data/b/2.txt")).encode())
        self.sheaf("pack", self.path("l.csv"), self.path("out"), "--format", "webdataset",
                   "--root", self.url("data"))
        self.assertEqual(sorted(support.listing(self.path("out"))),
                         ["a/1\t5\ttxt:1", "b/2\t6\ttxt:2"])

    def test_a_list_in_the_bucket(self):
        self.client.put_tree(self.bucket, "data/", {"a/1.txt": b"1", "l.csv": b"a/1.txt,5\n"})
        self.sheaf("pack", self.url("data/l.csv"), self.path("out"), "--format", "webdataset")
        self.assertEqual(len(support.listing(self.path("out"))), 1)


class Changes(servers.S3Case):
    def test_a_root_is_for_lists(self):
        self.client.put(self.bucket, "in/1.txt", b"1")
        done = self.sheaf("pack", self.url("in"), self.path("out"), "--format", "webdataset",
                          "--root", "/", status=2)
        self.assert_error(done, "root")

    def test_resume_with_another_text_is_another_plan(self):
        self.client.put(self.bucket, "1.txt", b"1")
        manifest = self.path("a.manifest")
        support.write(manifest, json.dumps({"a-ref": self.url("1.txt"), "b": 1}).encode())
        self.sheaf("pack", manifest, self.path("out"), "--format", "webdataset")
        self.sheaf("pack", manifest, self.path("out"), "--format", "webdataset", "--resume")
        support.write(manifest, json.dumps({"a-ref": self.url("1.txt"), "b": 2}).encode())
        self.sheaf("pack", manifest, self.path("out"), "--format", "webdataset", "--resume",
                   status=1)


if __name__ == "__main__":
    unittest.main()
