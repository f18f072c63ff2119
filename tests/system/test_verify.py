# SPDX-License-Identifier: MIT
"""Tests faults that verify finds although no checksum shows them, and that verify continues after a fault."""

import json
import os
import shutil

import xxhash

import writers
from support import CONTAINERS, Case, flip, make_tree, pack, read, sheaf, shards_of, write


class Verify(Case):
    @classmethod
    def share(cls):
        files = {"%s/%d.txt" % (name, i): b"%s %d" % (name.encode(), i)
                 for name in ("cat", "dog") for i in range(9)}
        cls.tree = make_tree(os.path.join(cls.shared, "tree"), files)
        cls.sets = {}
        for container in CONTAINERS:
            cls.sets[container] = os.path.join(cls.shared, container)
            pack(cls.tree, cls.sets[container], container, "none", "--shard-count", 3)

    def forged(self, container, change):
        """Makes a copy with a false manifest, whose fingerprint is right."""
        dest = self.path("forged")
        shutil.rmtree(dest, ignore_errors=True)
        shutil.copytree(self.sets[container], dest)
        path = os.path.join(dest, "dataset.json")
        manifest = json.loads(read(path))
        change(manifest)
        for shard in manifest["shards"]:        # as in release 0.1, which wrote no table of keys
            del shard["index_xxh3"]
        del manifest["fingerprint"]
        text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        manifest["fingerprint"] = xxhash.xxh3_128_hexdigest(text.encode())
        write(path, json.dumps(manifest).encode())
        os.remove(os.path.join(dest, "dataset.keys"))       # which is another manifest's
        return dest

    def problems(self, *sources):
        return sheaf("verify", *sources, status=1).stderr.decode()

    def test_a_lost_table_of_keys(self):
        dest = self.path("set")
        shutil.copytree(self.sets["tfrecord"], dest)
        os.remove(os.path.join(dest, "dataset.keys"))
        self.assertIn("set/dataset.keys: is missing, but the data set was packed with it: sheaf index --keys writes it",
                      self.problems(dest))
        sheaf("index", "--keys", dest)
        sheaf("verify", dest)

    def test_a_damaged_list_of_names(self):
        """The .lst is named if the .rec is sound, and the .rec if it is not."""
        dest = self.path("set")
        shutil.copytree(self.sets["recordio"], dest)
        for name, said in (("shard-000001.lst", "shard-000001.lst: line 1: CRC-32C"),
                           ("shard-000001.rec", "shard-000001.rec: offset 0, record 0: CRC-32C")):
            path = os.path.join(dest, name)
            data = read(path)
            at = data.index(b"\n") - 1 if name.endswith(".lst") else 33
            write(path, data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
            found = self.problems(dest)
            self.assertIn(said, found)
            if name.endswith(".lst"):
                self.assertNotIn(".rec", found.replace("-rec", ""))
            write(path, data)

    def test_sound_samples_are_those_of_a_reader(self):
        """A sample is lost if its record or its line of the .lst is damaged, and it is reported once. The .rec is not
        reported if only the .lst is damaged."""
        good = self.sets["recordio"]
        lines = read(os.path.join(good, "shard-000001.lst"))
        total = json.loads(sheaf("verify", good, "--json").stdout)["samples"]
        end = lines.index(b"\n")
        for name, at, said in (("shard-000001.lst", end, "line 1: does not end with a newline"),
                               ("shard-000001.lst", end - 1, "line 1: CRC-32C"),
                               ("shard-000001.rec", 11, "offset 0, record 0: CRC-32C")):  # in the header's flag
            dest = self.path("set")
            shutil.rmtree(dest, ignore_errors=True)
            shutil.copytree(good, dest)
            path = os.path.join(dest, name)
            write(path, flip(read(path), at, 0x40))
            with self.subTest(name=name, at=at):
                found = json.loads(sheaf("verify", dest, "--json", status=1).stdout)
                cat = sheaf("cat", dest, "--null", "--on-corrupt", "skip").stdout
                self.assertEqual(found["samples"], total - 1)
                self.assertIn(b"samples %d\n" % (total - 1), cat)
                told = [p["message"] for p in found["problems"]
                        if "record 0" in p["message"] or "line 1" in p["message"]]
                self.assertEqual(len(told), 1, told)
                self.assertIn(said, told[0])
                if name.endswith(".lst"):
                    self.assertEqual(len(found["problems"]), 1, found)

    def test_counts_of_bytes(self):
        def payload(manifest):
            manifest["payload_bytes"] += 1
            manifest["shards"][1]["payload_bytes"] += 1

        def largest(manifest):
            manifest["shards"][2]["largest"] -= 1
        for container in CONTAINERS:
            self.assertIn("sound", sheaf("verify", self.forged(container, lambda m: None))
                          .stdout.decode())
            found = self.problems(self.forged(container, payload))
            self.assertRegex(found, r"shard-000001\S+: its fields have \d+ bytes, but the manifest")
            found = self.problems(self.forged(container, largest))
            self.assertRegex(found, r"shard-000002\S+: its largest sample has \d+ bytes, but the")

    def test_classes(self):
        def more(manifest):
            manifest["classes"].append("zebra")
            manifest["class_samples"].append(0)

        def other(manifest):
            manifest["classes"][1] = "zebra"
        for container in CONTAINERS:
            done = sheaf("verify", self.forged(container, more))
            self.assertIn(b"1 class of the manifest, but no sample with its label", done.stderr)
            done = sheaf("verify", self.forged(container, more), "--json")
            self.assertEqual(json.loads(done.stdout)["unused_classes"], 1)
        found = self.problems(self.forged("tfrecord", other))
        self.assertRegex(found, r"offset \d+, record \d+: the class of the label 1 is \"dog\", but "
                                r"the manifest says \"zebra\"")

    def test_labels_that_some_samples_lack(self):
        path = self.path("x.tar")
        write(path, writers.tar([("a/1.cls", b"3"), ("a/1.txt", b"x"), ("a/2.txt", b"x"),
                                 ("a/3.cls", b"4"), ("a/4.cls", b"abc\n")]))
        done = sheaf("verify", path)
        self.assertIn(b"labels: 2 of 4 samples; the first without: ", done.stderr)
        self.assertRegex(done.stderr.decode(), r"x\.tar: offset \d+, record 1: a/2\n")
        self.assertIn(b"1 sample with a field cls that is not numbers, and so without a label",
                      done.stderr)
        found = json.loads(sheaf("verify", path, "--json").stdout)
        self.assertEqual((found["labelled"], found["unread_labels"]), (2, 1))
        write(self.path("set", "x.tar"), read(path))
        sheaf("index", self.path("set"))
        self.assertEqual(json.loads(sheaf("info", self.path("set"), "--json").stdout)["cls_words"], 1)
        self.assertIn(b"1 sample with a file .cls that is not numbers", sheaf("info", self.path("set")).stdout)
        self.assertIn(b"when it was packed or indexed, 1 sample had a file .cls that is not numbers",
                      sheaf("verify", self.path("set")).stderr)
        write(path, writers.tar([("a/1.cls", b"cat")]))
        self.assertRegex(sheaf("verify", path).stderr.decode(),
                         r"1 sample with a field cls that .*; the first without: .*record 0: a/1")
        write(path, writers.tar([("a/1.txt", b"x"), ("a/2.txt", b"x")]))
        self.assertEqual(sheaf("verify", path).stderr, b"")

    def test_a_field_that_the_manifest_denies(self):
        own = self.path("own")
        pack(make_tree(self.path("tree"), {"a/1.txt": b"1", "a/1.cls": b"7"}), own)
        sets, self.sets = self.sets, {"own": own}
        forged = self.forged("own", lambda m: m.update(cls_is_label=True))
        self.sets = sets
        self.assertIn("record 0: a/1 has a field cls, but the manifest says that none has",
                      self.problems(forged))

    # Sheaf does not read these files: what is wrong in them nothing else would show.
    PEERS = (("recordio", "none", "", "idx"), ("recordio", "gzip", "", "idx"),
             ("tfrecord", "none", "dali", "idx"), ("webdataset", "none", "dali", "idx"),
             ("webdataset", "none", "wids,energon", "tar.idx"))

    def damaged(self, dest, name, change):
        """Damages one of these files, and restores it afterwards. Returns the messages of verify."""
        path = os.path.join(dest, name)
        whole = read(path)
        write(path, change(whole))
        found = self.problems(dest)
        for part in (0, 2):
            sheaf("verify", dest, "--part", "%d/3" % part)
        write(path, whole)
        self.assertEqual(len(found.splitlines()), 2, found)     # and the last line counts
        return found

    def test_other_readers_indexes(self):
        for number, (container, codec, index, suffix) in enumerate(self.PEERS):
            dest, name = self.path("peers%d" % number), "shard-000001." + suffix
            pack(self.tree, dest, container, codec, "--shard-count", 3,
                 *(("--index", index) if index else ()))
            sheaf("verify", dest)
            line = r"%s: %s: " % (name, r"line \d+" if suffix == "idx" else r"offset \d+")
            with self.subTest(container=container, codec=codec, index=index):
                found = self.damaged(dest, name, lambda data: data[:-1])
                self.assertRegex(found, line + "the file has \\d+ bytes, but an index of this shard")
                found = self.damaged(dest, name, lambda data: data + data[-4:])
                self.assertRegex(found, line + "the file has \\d+ bytes, but an index of this shard")
                found = self.damaged(dest, name, lambda data: b"")
                self.assertRegex(found, line + "the file has 0 bytes, but an index of this shard")
                at = len(read(os.path.join(dest, name))) // 2
                found = self.damaged(dest, name, lambda data: data[:at] + b"x" + data[at + 1:])
                self.assertRegex(found, line + "(is|the byte is) .*, but the shard says")
                os.unlink(os.path.join(dest, name))             # what is not there misleads nobody
                sheaf("verify", dest)

    def test_the_index_of_records_of_which_some_were_skipped(self):
        """The samples have the numbers of the plan, from which some are missing. The index must have the same
        numbers."""
        files = {"%02d.txt" % i: b"\x0a\x23\xd7\xce" * i for i in range(12)}
        make_tree(self.path("holes"), {**files, "03.jpg": b"none", "07.jpg": b"none"})
        dest = self.path("skipped")
        pack(self.path("holes"), dest, "recordio", "none", "--shard-count", 3, "--no-shuffle",
             "--on-error", "skip")
        sheaf("verify", dest)
        path = os.path.join(dest, "shard-000001.idx")
        lines = read(path).split(b"\n")
        write(path, b"\n".join([b"3" + lines[0][lines[0].index(b"\t"):]] + lines[1:]))
        self.assertRegex(self.problems(dest), r"shard-000001.idx: line 1: is \"3\\x090\", but")

    def test_the_index_of_foreign_records(self):
        """Tests the index of `sheaf index`, and of several data sets together, in which the numbers begin again."""
        one, two = self.path("one"), self.path("two")
        for dest, count in ((one, 3), (two, 4)):
            pack(self.tree, dest, "recordio", "none", "--shard-count", count)
            os.unlink(os.path.join(dest, "dataset.json"))
            sheaf("index", dest, "--overwrite")
        sheaf("verify", one, two)
        path = os.path.join(two, "shard-000002.idx")
        lines = read(path).split(b"\n")
        lines[1], lines[2] = lines[2], lines[1]
        write(path, b"\n".join(lines))
        self.assertRegex(self.problems(one, two), r"two/shard-000002.idx: line 2: is \"\d+\\x09\d+\", "
                                                  r"but the shard says \"\d+\\x09\d+\"")

    def test_nothing_is_no_compressed_shard(self):
        for name in ("x.tfrecord.gz", "x.rec.lz4", "x.tar.gz"):
            path = self.path(name)
            write(path, b"")
            self.assertIn("%s: offset 0, record 0: " % path, self.problems(path))
            sheaf("cat", path, "--list", status=1)
        write(self.path("x.tfrecord"), b"")
        sheaf("verify", self.path("x.tfrecord"))

    def test_each_bad_shard_is_told(self):
        for container in CONTAINERS:
            dest = self.path(container)
            shutil.copytree(self.sets[container], dest)
            paths = [os.path.join(dest, name) for name in shards_of(dest)]
            for path in paths[:2]:
                data = read(path)
                write(path, flip(data, data.index(b"cat ")))
            os.remove(paths[2])
            found = self.problems(dest)
            for path in paths:
                self.assertIn("%s: " % path, found)

    def test_each_bad_foreign_shard_is_told(self):
        """Shards with members that cannot be read or are too large must be reported even if only the headers are
        read."""
        good = writers.tar_member(b"a/1.txt", b"1")
        sparse = writers.tar_header(b"a/2.txt", 0, b"S")
        after = writers.tar([("a/3.txt", b"3"), ("a/4.txt", b"4")])
        folder = self.path("foreign")
        for i in range(3):
            write(os.path.join(folder, "%d.tar" % i), good + sparse + after)
        for count, words in ((3, ["verify"]), (1, ["cat", "--no-shuffle"])):
            found = sheaf(*words, folder, status=1).stderr.decode()
            for i in range(count):
                self.assertRegex(found, r"%d.tar: offset %d, record [01]: .*a sparse" % (
                    i, len(good)))

    def test_behind_damage_nothing_else_is_wrong(self):
        """After damage in a foreign shard, the numbers of the samples differ from those of the scan. This must not be
        reported as another fault."""
        members = [writers.tar_member(b"%03d.txt" % i, b"%d" % i) for i in range(40)]
        members[20] = flip(members[20], 20)
        path = self.path("foreign.tar")
        write(path, b"".join(members) + bytes(1024))
        found = self.problems(path).splitlines()
        self.assertRegex(found[0], r"offset %d, record \d+: a tar header" % (19 * 1024))
        self.assertEqual(len(found), 3, found)      # what follows at once, and the last line counts
