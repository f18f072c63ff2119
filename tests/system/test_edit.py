# SPDX-License-Identifier: MIT
"""A data set that is edited: only shards with changed samples are written again, all other records
stay byte for byte, and everybody sees the data set before the edit or after it, wherever the run is
killed."""

import json
import os
import shutil
import subprocess

import decoders
import servers
import support
from jpegs import jpeg
from support import (CONTAINERS, SHEAF, Case, flip, held, kills, listing, make_tree, pack, read,
                     released, restore, sheaf, tree_of, write)

KILL_STEP = 15 if support.QUICK else 9
DELETED = ("cat/a00", "dog/a07")


def files(count=24, size=2000, mark="a"):
    chance = support.random.Random(mark)
    made = {}
    for i in range(count):
        key = "%s/%s%02d" % (("cat", "dog")[i % 2], mark, i)
        made[key + ".bin"] = chance.randbytes(size + i)
        made[key + ".txt"] = b"caption %d" % i
    return made


def manifest_of(folder):
    return json.loads(read(os.path.join(folder, "dataset.json")))


def labels(dataset):
    return {line.split("\t")[0]: line.split("\t")[1] for line in listing(dataset)}


class Edit(Case):
    @classmethod
    def share(cls):
        cls.files = files()
        cls.source = make_tree(os.path.join(cls.shared, "source"), cls.files)

    def setUp(self):
        super().setUp()
        self.dest = self.path("set")
        self.keys = self.path("keys.txt")
        write(self.keys, "".join(key + "\n" for key in DELETED).encode())

    def pack(self, *more, container="webdataset", codec="none", shards=6):
        shutil.rmtree(self.dest, ignore_errors=True)
        pack(self.source, self.dest, container, codec, "--shard-count", str(shards), *more)
        return tree_of(self.dest)

    def edit(self, *more, **how):
        return sheaf("edit", self.dest, *more, **how)

    def result(self, *more):
        return json.loads(self.edit(*more, "--json").stdout)

    def shard_of(self, *keys):
        """The names of the shards that have these samples."""
        names = [shard["name"] for shard in manifest_of(self.dest)["shards"]]
        ends = [shard["samples"] for shard in manifest_of(self.dest)["shards"]]
        order = [line.split("\t")[0] for line in listing(self.dest, "--no-shuffle")]
        found = set()
        for key in keys:
            at = order.index(key)
            shard = 0
            while at >= ends[shard]:
                at -= ends[shard]
                shard += 1
            found.add(names[shard])
        return found

    def check(self, files_there):
        sheaf("verify", self.dest)
        out = self.path("out")
        shutil.rmtree(out, ignore_errors=True)
        sheaf("unpack", self.dest, out)
        self.assertEqual(tree_of(out), files_there)

    def without(self, *keys):
        return {path: data for path, data in self.files.items() if path.split(".")[0] not in keys}

    # ---- What is there afterwards ---------------------------------------------------------------

    def test_containers(self):
        """Keys, labels and files of all kinds; the others keep their bytes, names and order."""
        new_file = make_tree(self.path("new"), {"dog/a03.txt": b"a better caption",
                                                "dog/a03.bin": b"\x0a\x23\xd7\xce" * 300})
        list_ = self.path("labels.csv")
        write(list_, b"key,label\ncat/a02,dog\ndog/a05.bin,bird\n")
        for container in CONTAINERS:
            for codec in ("none", "gzip", "zstd", "lz4"):
                with self.subTest(container=container, codec=codec):
                    before = self.pack(container=container, codec=codec)
                    order = listing(self.dest, "--no-shuffle")
                    touched = self.shard_of(*DELETED, "cat/a02", "dog/a05", "dog/a03")
                    inodes = {name: os.stat(os.path.join(self.dest, name)).st_ino
                              for name in before}
                    found = self.result("--delete", self.keys, "--labels", list_, "--replace",
                                        new_file)
                    self.assertEqual([found[name] for name in (
                        "samples", "deleted", "relabelled", "replaced", "unknown",
                        "shards_written")], [22, 2, 2, 1, 0, len(touched)])
                    manifest = manifest_of(self.dest)
                    self.assertEqual(set(manifest["edited"][0]["shards"]), touched)
                    self.assertEqual(manifest["sheaf"], 3)
                    self.assertEqual(manifest["classes"], ["cat", "dog", "bird"])
                    after = tree_of(self.dest)
                    for name, data in before.items():
                        if name != "dataset.json":
                            self.assertEqual(after[name], data, name)
                            self.assertEqual(os.stat(os.path.join(self.dest, name)).st_ino,
                                             inodes[name])
                    now = self.without(*DELETED)
                    now.update({"dog/a03.txt": b"a better caption",
                                "dog/a03.bin": b"\x0a\x23\xd7\xce" * 300})
                    self.check(now)
                    self.assertEqual(
                        [line.split("\t")[0] for line in listing(self.dest, "--no-shuffle")],
                        [line.split("\t")[0] for line in order
                         if line.split("\t")[0] not in DELETED])
                    was = dict(line.split("\t")[:2] for line in order)
                    was.update({"cat/a02": "1", "dog/a05": "2"})
                    self.assertEqual(labels(self.dest),
                                     {k: v for k, v in was.items() if k not in DELETED})
                    for key in DELETED:
                        self.assert_error(sheaf("get", self.dest, key, status=1), "no sample")

    def test_records_are_copied(self):
        """Read by an independent decoder, record by record."""
        for container, decode in (("webdataset", decoders.tar_frames),):
            self.pack(container=container)
            touched = self.shard_of(*DELETED)
            was = {name: read(os.path.join(self.dest, name)) for name in touched}
            self.edit("--delete", self.keys)
            for name, data in was.items():
                edited = read(os.path.join(self.dest, name.replace(".tar", ".e1.tar")))
                before, after = decode(data), decode(edited)
                left = [(key, made) for _, key, made in before if key not in DELETED]
                self.assertEqual([(key, made) for _, key, made in after], left)
                for offset, key, _ in after:
                    at = next(o for o, k, _ in before if k == key)
                    self.assertEqual(edited[offset:offset + 512], data[at:at + 512])

    def test_only_the_shards_that_hold_them_are_read(self):
        """A hundred of some thousand: all other shards may be missing."""
        many = make_tree(self.path("many"), {"c/%04d.txt" % i: b"%d" % i * 20
                                             for i in range(3000)})
        sheaf("pack", many, self.dest, "--format", "recordio", "--shard-count", "40",
              "--no-shuffle")
        keys = ["c/%04d" % i for i in range(500, 600)]
        write(self.keys, "\n".join(keys).encode())
        touched = self.shard_of(*keys)
        self.assertLessEqual(len(touched), 3)
        away = self.path("away")
        os.mkdir(away)
        for name in support.shards_of(self.dest):
            if name not in touched:
                os.rename(os.path.join(self.dest, name), os.path.join(away, name))
        self.assertEqual(self.result("--delete", self.keys)["shards_written"], len(touched))
        for name in os.listdir(away):
            os.rename(os.path.join(away, name), os.path.join(self.dest, name))
        sheaf("verify", self.dest)
        self.assertEqual(len(listing(self.dest)), 2900)

    def test_again_and_appended(self):
        """Edits and appends in turn; the last ones leave a shard without samples."""
        more = make_tree(self.path("more"), files(4, 500, "m"))
        for container in CONTAINERS:
            with self.subTest(container=container):
                self.pack(container=container)
                self.edit("--delete", self.keys)
                sheaf("append", more, self.dest)
                write(self.path("next"), b"dog/a01\nmissing\n")
                self.edit("--delete", self.path("next"), "--unknown-keys", "skip")
                write(self.path("all"), b"".join(b"%s/m%02d\n" % (c, i) for i, c in enumerate(
                    (b"cat", b"dog", b"cat", b"dog"))))
                self.edit("--delete", self.path("all"))
                self.check(self.without(*DELETED, "dog/a01"))
                manifest = manifest_of(self.dest)
                self.assertEqual([edit["grown"] for edit in manifest["edited"]], [0, 1, 1])
                self.assertEqual([edit["samples"] for edit in manifest["edited"]], [24, 26, 25])
                self.assertEqual(manifest["shards"][-1]["samples"], 0)
                sheaf("append", more, self.dest)
                self.check({**self.without(*DELETED, "dog/a01"), **files(4, 500, "m")})
                before = tree_of(self.dest)
                sheaf("index", "--keys", self.dest)
                self.assertEqual(tree_of(self.dest), before)

    def test_other_readers_files(self):
        self.pack("--index", "wids,energon")
        self.edit("--delete", self.keys)
        sheaf("verify", self.dest)
        listed = json.loads(read(os.path.join(self.dest, "shardindex.json")))["shardlist"]
        self.assertEqual([os.path.basename(shard["url"]) for shard in listed],
                         [shard["name"] for shard in manifest_of(self.dest)["shards"]])
        self.assertEqual(sum(shard["nsamples"] for shard in listed), 22)

    def test_fewer_names_of_fields(self):
        """The manifest has no counts of fields if there are more than 256 names, even if the rest has fewer."""
        tree = make_tree(self.path("many"), {"c/%03d.f%03d" % (i, i): b"x" for i in range(300)})
        sheaf("pack", tree, self.path("set-of-many"), "--format", "webdataset")
        write(self.path("gone"), "".join("c/%03d\n" % i for i in range(200)).encode())
        sheaf("edit", self.path("set-of-many"), "--delete", self.path("gone"))
        sheaf("verify", self.path("set-of-many"))

    def test_own_labels(self):
        """A field `cls` of numbers gets the new ones; any other stays beside them."""
        own = make_tree(self.path("own"), {"x/0.txt": b"0", "x/0.cls": b"3", "x/1.txt": b"1",
                                           "x/1.cls": b"word", "x/2.txt": b"2"})
        list_ = self.path("labels.tsv")
        write(list_, b"x/0\t7\nx/1\t8\nx/2\t9\n")
        for container in CONTAINERS:
            with self.subTest(container=container):
                shutil.rmtree(self.dest, ignore_errors=True)
                lines = self.path("own.lst")
                write(lines, b"".join(b"%d\t3\tx/%s\n" % (i, name) for i, name in enumerate(
                    sorted(os.listdir(os.path.join(own, "x"))) and
                    [b"0.txt", b"0.cls", b"1.txt", b"1.cls", b"2.txt"])))
                pack(lines, self.dest, container, "none", "--root", own)
                self.edit("--labels", list_)
                sheaf("verify", self.dest)
                self.assertEqual(labels(self.dest), {"x/0": "7", "x/1": "8", "x/2": "9"})
                self.assertEqual(sheaf("get", self.dest, "x/0", "--field", "cls").stdout, b"7")
                self.assertEqual(sheaf("get", self.dest, "x/1", "--field", "cls").stdout, b"word")

    def test_splits(self):
        """Each split is a data set; labels of JSON lines, and paths."""
        sheaf("pack", self.source, self.dest, "--format", "tfrecord", "--split",
              "train=0.5,val=0.5")
        train = os.path.join(self.dest, "train")
        key = sorted(labels(train))[0]
        list_ = self.path("labels.jsonl")
        new = "dog" if key.startswith("cat") else "cat"
        write(list_, json.dumps({"key": key, "label": new}).encode() + b"\n")
        sheaf("edit", train, "--labels", list_)
        for name in ("train", "val"):
            sheaf("verify", os.path.join(self.dest, name))
        self.assertEqual(labels(train)[key], str(("cat", "dog").index(new)))
        # an edit that changes nothing writes nothing
        before = tree_of(train)
        write(list_, json.dumps({"path": key + ".bin", "class": new}).encode() + b"\n\n")
        self.assertRegex(sheaf("edit", train, "--labels", list_).stdout,
                         b"^nothing to change: the samples have these labels and files already; ")
        self.assertEqual(tree_of(train), before)

    def test_files_that_do_not_differ(self):
        """They are skipped, from a directory and from an archive. If no file differs, nothing changes."""
        values = self.path("values.jsonl")
        write(values, b'{"key": "cat/a00", "value": "a caption"}\n')
        archive = self.path("same.tar")
        subprocess.run(["tar", "-cf", archive, "-C", self.source, "cat", "dog"], check=True)
        other = dict(self.files)
        other["dog/a03.bin"] = flip(other["dog/a03.bin"], 1000)        # the size is the same
        changed = make_tree(self.path("changed"), other)
        for container in CONTAINERS:
            for source in (self.source, archive):
                with self.subTest(container=container, source=source):
                    self.pack(container=container, codec="zstd")
                    sheaf("column", "add", self.dest, "--name", "cap", "--from", values)
                    before = tree_of(self.dest)
                    self.assertEqual(self.edit("--replace", source, "--purge").stdout,
                                     b"nothing to change: the samples have these labels and files "
                                     b"already; no shard that an edit has replaced is left: nothing to "
                                     b"remove; 24 samples in 6 shards\n")
                    found = self.result("--replace", source, "--dry-run")
                    self.assertEqual((found["replaced"], found["shards_written"]), (0, 0))
                    self.assertEqual(tree_of(self.dest), before)
                    sheaf("verify", self.dest, "--columns", "cap")
            touched = self.shard_of("dog/a03")
            found = self.result("--replace", changed)
            self.assertEqual((found["replaced"], found["shards_written"]), (1, 1))
            self.assertEqual(set(manifest_of(self.dest)["edited"][0]["shards"]), touched)
            self.check(other)

    def test_file_cls_that_does_not_differ(self):
        """It still contradicts another label for its sample, in a list."""
        own = make_tree(self.path("own"), {"x/0.txt": b"0", "x/0.cls": b"0", "x/1.txt": b"1",
                                           "x/1.cls": b"0"})
        list_ = self.path("labels.csv")
        write(list_, b"key,label\nx/0,7\n")
        lines = self.path("own.lst")
        write(lines, b"".join(b"%d\t3\tx/%s\n" % (i, name) for i, name in enumerate(
            [b"0.txt", b"0.cls", b"1.txt", b"1.cls"])))
        pack(lines, self.dest, "webdataset", "none", "--root", own)
        before = tree_of(self.dest)
        self.assert_error(self.edit("--labels", list_, "--replace", own, status=2),
                          "the labels differ from the field cls")
        self.assertEqual(tree_of(self.dest), before)
        self.assertEqual(self.result("--replace", own)["replaced"], 0)

    def test_jpegs_are_checked(self):
        sources = make_tree(self.path("photos"), {"a/%d.jpg" % i: jpeg(20, 20, seed=i)
                                                  for i in range(4)})
        sheaf("pack", sources, self.dest, "--format", "webdataset", "--shard-count", "2")
        before = tree_of(self.dest)
        new = make_tree(self.path("new"), {"a/1.jpg": jpeg(30, 30)[:-20]})
        self.assert_error(self.edit("--replace", new, status=1), "a/1.jpg")
        self.assertEqual(tree_of(self.dest), before)
        write(os.path.join(new, "a", "1.jpg"), jpeg(30, 30))
        self.edit("--replace", new)
        sheaf("verify", self.dest)
        self.assertEqual(sheaf("get", self.dest, "a/1").stdout, jpeg(30, 30))

    # ---- Refused --------------------------------------------------------------------------------

    def test_empty_lists(self):
        """Each empty list is named, as it may be the wrong one."""
        before = self.pack()
        empty = self.path("empty.csv")
        write(empty)
        for option, said in (("--delete", "keys to delete"), ("--labels", "labels to correct")):
            done = self.edit(option, empty)
            self.assertIn("%s: is empty: there are no %s" % (empty, said), done.stderr.decode())
            self.assertIn(b"nothing to change", done.stdout)
        self.assertEqual(tree_of(self.dest), before)

    def test_no_files_to_put_in_place(self):
        """A directory without files is an error, because a misspelt prefix in S3 looks like such a directory."""
        before = self.pack()
        os.mkdir(self.path("none"))
        self.assert_error(self.edit("--replace", self.path("none"), status=1), "none: there are no files to put in place")
        self.assertEqual(tree_of(self.dest), before)

    def test_unknown_keys(self):
        before = self.pack()
        write(self.keys, b"cat/a00\nnobody\n\nno/one\n")
        new = make_tree(self.path("new"), {"cat/a02.png": b"p", "cat/zz.bin": b"z",
                                           "cat/a04.bin": b"new"})
        done = self.edit("--delete", self.keys, "--replace", new, status=1)
        self.assert_error(done, "nobody: no sample has this key (%s: line 2)" % self.keys,
                          "no/one: no sample has this key (%s: line 4)" % self.keys,
                          "cat/a02.png: its sample has no such field (%s)" % new, "cat/zz.bin: no sample",
                          "4 keys or files belong to no sample of the data set, first nobody (%s: line 2)" % self.keys,
                          "--unknown-keys skip")
        self.assertEqual(tree_of(self.dest), before)
        done = self.edit("--delete", self.keys, "--replace", new, "--unknown-keys", "skip")
        self.assertIn(b"4 keys or files of no sample were left out", done.stderr)
        now = self.without("cat/a00")
        now["cat/a04.bin"] = b"new"
        self.check(now)

    def test_numbers_of_no_class(self):
        """The error has the line, the key, the value and the numbers that are allowed."""
        self.pack()
        one = self.path("one.csv")
        for value in ("99", "-1", "2.5", "2"):
            write(one, b"cat/a02,1\ncat/a04,%s\n" % value.encode())
            self.assert_error(self.edit("--labels", one, status=1), one + ": line 2: \"cat/a04\": the label " + value +
                              " is not the number of a class", "the numbers of its classes are 0 to 1")
        write(one, b"cat/a02,1\ncat/a04,0\n")
        self.edit("--labels", one)

    def test_contradictions(self):
        before = self.pack()
        one = self.path("one.csv")
        for text, words in ((b"cat/a00,dog\n", "deleted, and also changed (%s: line 1)" % one),
                            (b"cat/a02,dog\ncat/a02.bin,cat\n", "two different labels (%s: line 2)" % one),
                            (b"cat/a02,\n", "has no label"),
                            (b"cat/a02,99\n", "label"),
                            (b"cat/a02,1\ncat/a04,dog\n", "the name of a class")):
            with self.subTest(text=text):
                write(one, text)
                self.assert_error(self.edit("--delete", self.keys, "--labels", one, status=None),
                                  words)
                self.assertEqual(tree_of(self.dest), before)
        self.assert_error(self.edit("--replace", self.dest, status=2), "holds the source")
        self.assert_error(self.edit(status=2), "nothing to do")
        self.assert_error(self.edit("--purge", "--resume", "--overwrite", status=2),
                          "exclude each other")

    def test_a_lost_manifest_is_named(self):
        """Without dataset.json, the shards before the edit are read, too."""
        self.pack()
        self.edit("--delete", self.keys)
        os.unlink(os.path.join(self.dest, "dataset.json"))
        for command, status in (("info", 0), ("cat", 0), ("verify", 1)):
            done = sheaf(command, self.dest, status=status)
            self.assertIn(b"dataset.json is missing, although there is a dataset.index", done.stderr)
        self.assertIn(b"or index the shards again", done.stderr)
        self.assertIn(b"1 problem in", done.stderr)
        sheaf("index", self.dest, "--overwrite")
        sheaf("verify", self.dest)

    def test_what_cannot_be_edited(self):
        self.pack()
        view = self.path("view.json")
        sheaf("view", self.dest, "-o", view)
        self.assert_error(sheaf("edit", view, "--delete", self.keys, status=1), "is a view")
        foreign = self.path("foreign")
        os.mkdir(foreign)
        for name in support.shards_of(self.dest):
            shutil.copy(os.path.join(self.dest, name), foreign)
        self.assert_error(sheaf("edit", foreign, "--delete", self.keys, status=1),
                          "has no dataset.json")
        sheaf("index", foreign)
        self.assertNotIn(b"dataset.json is missing", sheaf("index", foreign, "--overwrite").stderr)
        self.assert_error(sheaf("edit", foreign, "--delete", self.keys, status=1),
                          "made by another program")

    def test_damage(self):
        """A damaged shard is not copied; a damage elsewhere does not matter."""
        before = self.pack(container="recordio")
        touched = self.shard_of(*DELETED)
        for name in support.shards_of(self.dest):
            path = os.path.join(self.dest, name)
            write(path, flip(before[name], 200))
            done = self.edit("--delete", self.keys, status=1 if name in touched else 0)
            if name in touched:
                self.assert_error(done, name)
                self.assertNotIn("edited", manifest_of(self.dest))
            else:
                self.assertEqual(manifest_of(self.dest)["samples"], 22)
            self.pack(container="recordio")

    def test_positions_states_and_views(self):
        self.pack()
        sheaf("cat", self.dest, "--limit", "3", "--save-position", self.path("at"))
        write(self.path("numbers.json"), json.dumps({"sheaf_view": 1}).encode())
        self.edit("--delete", self.keys)
        self.assert_error(sheaf("cat", self.dest, "--resume-from", self.path("at"), status=1),
                          "was edited since the position was taken")
        view = self.path("view.json")
        write(self.path("not"), b"dog/a01\n")
        sheaf("view", self.dest, "--not-keys", self.path("not"), "-o", view)
        self.assertEqual(len(listing(view)), 21)
        write(self.path("next"), b"dog/a03\n")
        self.edit("--delete", self.path("next"))
        self.assertEqual(len(listing(view)), 20)        # its condition is on keys
        plan = self.path("plan")
        self.assert_error(sheaf("pack", self.source, self.dest, "--format", "webdataset",
                                "--shard-count", "6", "--resume", status=1), "data set")
        self.assertFalse(os.path.exists(plan))

    def test_columns(self):
        """A column belongs to the data set as it was before: it is never read with other samples.
        It can be dropped and added again, and a column of the edited data set can be read."""
        self.pack()
        values = self.path("values.jsonl")
        write(values, "".join(json.dumps({"key": key, "value": "of " + key}) + "\n" for key in sorted(
            {path.split(".")[0] for path in self.files})).encode())
        add = ("column", "add", self.dest, "--from", values, "--name")
        sheaf(*add, "cap")
        before = tree_of(os.path.join(self.dest, "columns"))
        for words in (("--delete", self.keys), ("--labels", self.path("labels.csv"))):
            write(self.path("labels.csv"), b"key,label\ncat/a02,dog\n")
            named = b"the column cap belongs to the data set before this edit"
            for more in (["--dry-run"], []):        # a column that was refused before is not named again
                self.assertEqual(self.edit(*words, *more).stderr.count(named), words[0] == "--delete")
            for command in (("cat", self.dest, "--columns", "cap", "--list"),
                            ("verify", self.dest, "--columns", "cap"),
                            ("convert", self.dest, self.path("out"), "--format", "tfrecord",
                             "--columns", "cap")):
                self.assert_error(sheaf(*command, status=1), "cap",
                                  "belongs to another data set, or to another state of this one",
                                  "sheaf column drop removes the column")
            self.assertEqual(tree_of(os.path.join(self.dest, "columns")), before)
            sheaf("verify", self.dest)
        self.assert_error(sheaf(*add, "cap", status=1), "cap")
        sheaf("column", "drop", self.dest, "cap")
        sheaf(*add, "cap", "--unknown-keys", "skip")
        out = self.path("unpacked")
        sheaf("unpack", self.dest, out, "--columns", "cap")
        found = {path.split(".")[0]: data for path, data in tree_of(out).items()
                 if path.endswith(".cap.txt")}
        self.assertEqual(found, {key: b"of " + key.encode() for key in labels(self.dest)})

    # ---- Purge ----------------------------------------------------------------------------------

    def test_purge(self):
        for container in CONTAINERS:
            with self.subTest(container=container):
                self.pack(container=container)
                write(os.path.join(self.dest, "mine.txt"), b"of another program")
                touched = self.shard_of(*DELETED)
                self.edit("--delete", self.keys)
                there = set(os.listdir(self.dest))
                self.assertLessEqual(touched, there)
                self.assertEqual(self.edit("--purge", "--dry-run").stdout.decode(), "would have removed %d shards "
                                 "that edits have replaced\n" % len(touched))
                self.assertEqual(self.result("--purge")["purged"], len(touched))
                gone = there - set(os.listdir(self.dest))
                stems = {name.split(".")[0] for name in touched}
                self.assertEqual({name.split(".")[0] for name in gone} - {"dataset"}, stems)
                self.assertLessEqual({"dataset.index", "dataset.keys"}, gone)
                self.assertIn(b": nothing to remove\n", self.edit("--purge").stdout)
                self.assertFalse({name for name in gone if ".e1." in name})
                self.assertIn("mine.txt", os.listdir(self.dest))
                self.check(self.without(*DELETED))
                write(self.path("next"), b"dog/a01\n")
                self.edit("--delete", self.path("next"), "--purge")
                self.check(self.without(*DELETED, "dog/a01"))
                self.assertEqual(sorted(set(support.shards_of(self.dest)) - {"mine.txt"}),
                                 sorted(s["name"] for s in manifest_of(self.dest)["shards"]))
                pack(self.source, self.dest, container, "none", "--overwrite", "--shard-count", "1")
                self.assertEqual({name.split(".")[0] for name in os.listdir(self.dest)},
                                 {"dataset", "shard-000000", "mine"})

    def test_replaced_with_what_edits_left(self):
        self.pack()
        self.edit("--delete", self.keys)
        pack(self.source, self.dest, "webdataset", "none", "--overwrite", "--shard-count", "1")
        self.assertEqual(sorted(os.listdir(self.dest)),
                         ["dataset.index", "dataset.json", "dataset.keys", "shard-000000.tar"])

    def test_dry_run(self):
        before = self.pack()
        found = self.result("--delete", self.keys, "--dry-run")
        self.assertEqual((found["dry_run"], found["deleted"], found["samples"],
                          found["shards_written"]),
                         (True, 2, 22, len(self.shard_of(*DELETED))))
        self.assertEqual(tree_of(self.dest), before)

    # ---- Others meanwhile -----------------------------------------------------------------------

    def test_two_at_once(self):
        """While one edits, nobody else changes the data set; readers see it as it was."""
        more = make_tree(self.path("more"), files(2, 100, "m"))
        write(self.path("next"), b"dog/a01\n")
        words = ("edit", self.dest, "--delete", self.keys)
        for at in ("e1.tar", "dataset.e1.index", "dataset.e1.keys", "dataset.json"):
            with self.subTest(at=at):
                self.pack()
                run, mark = held(self, at, *words)
                self.assertEqual(len(listing(self.dest)), 24)
                sheaf("verify", self.dest)
                for other in ((*words, "--resume"), (*words, "--overwrite"),
                              ("edit", self.dest, "--delete", self.path("next")),
                              ("edit", self.dest, "--purge"), ("append", more, self.dest),
                              ("append", more, self.dest, "--overwrite")):
                    if other[2:] != ("--purge",):       # there is nothing to purge yet
                        sheaf(*other, status=1)
                self.assertEqual(released(run, mark)[0], 0)
                self.check(self.without(*DELETED))

    def test_append_at_once(self):
        more = make_tree(self.path("more"), files(2, 100, "m"))
        for at in ("shard-000006.tar", "dataset.json"):
            with self.subTest(at=at):
                self.pack()
                run, mark = held(self, at, "append", more, self.dest)
                for more_words in ((), ("--resume",), ("--overwrite",)):
                    self.edit("--delete", self.keys, *more_words, status=1)
                self.assertEqual(released(run, mark)[0], 0)
                self.edit("--delete", self.keys)
                self.check({**self.without(*DELETED), **files(2, 100, "m")})

    def test_reader_that_has_it_open(self):
        """It reads shards that it had not opened yet as they were; if they were purged, it says
        so, and gives nothing of the new ones."""
        big = make_tree(self.path("big"), files(60, 20000, "r"))
        keys = b"".join(b"%s/r%02d\n" % ((b"cat", b"dog")[i % 2], i) for i in range(0, 60, 2))
        write(self.keys, keys)
        for purge in (False, True):
            with self.subTest(purge=purge):
                shutil.rmtree(self.dest, ignore_errors=True)
                sheaf("pack", big, self.dest, "--format", "webdataset", "--shard-count", "12")
                before = decoders.tar_frames(sheaf("cat", self.dest, "--to", "webdataset").stdout)
                reader = subprocess.Popen([SHEAF, "cat", self.dest, "--threads", "1", "--memory",
                                           "4MiB", "--to", "webdataset"],
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                first = reader.stdout.read(4096)
                self.edit("--delete", self.keys, *(("--purge",) if purge else ()))
                rest, errors = reader.communicate(timeout=60)
                if reader.returncode == 0:
                    found = decoders.tar_frames(first + rest)
                    self.assertEqual([(k, m) for _, k, m in found],
                                     [(k, m) for _, k, m in before])
                else:
                    self.assertTrue(purge)
                    self.assertTrue(b"shard-" in errors, errors)
                self.assertEqual(len(listing(self.dest)), 30)

    # ---- Killed ---------------------------------------------------------------------------------

    def test_killed_anywhere(self):
        """It is the old one or the new one; resumed, begun again, or edited otherwise, it has the
        bytes of a run that nobody killed."""
        words = ("edit", self.dest, "--delete", self.keys, "--purge", "--jobs", "1")
        start = self.pack("--index", "wids")
        sheaf(*words)
        whole = tree_of(self.dest)
        ends = []
        for at in kills(self, KILL_STEP, lambda: restore(self.dest, start), *words):
            count = len(listing(self.dest))
            self.assertIn(count, (22, 24), at)
            sheaf("verify", self.dest)
            ends.append(count)
            sheaf(*words, "--resume" if at % 2 == 0 else "--overwrite")
            self.assertEqual(tree_of(self.dest), whole, at)
        self.assertGreater(len(ends), 5)
        self.assertEqual(set(ends), {22, 24})

    def test_left_alone_and_changed_otherwise(self):
        self.pack()
        run, mark = held(self, "dataset.json", "edit", self.dest, "--delete", self.keys)
        support.killed(run, mark)
        self.assert_error(self.edit("--delete", self.keys, status=1), "another run changes it",
                          "--resume continues it and --overwrite starts again")
        write(self.path("next"), b"dog/a01\n")
        self.assert_error(self.edit("--delete", self.path("next"), "--resume", status=1),
                          "another plan")
        more = make_tree(self.path("more"), files(2, 100, "m"))
        sheaf("append", more, self.dest, "--overwrite")
        self.check({**self.files, **files(2, 100, "m")})
        self.assertFalse([name for name in os.listdir(self.dest) if ".e1." in name])
        self.edit("--delete", self.keys)
        done = self.edit("--delete", self.keys)
        self.assertIn(b"this edit was made before", done.stdout)


class Remote(servers.S3Case):
    """On S3: objects that are not rewritten keep their ETag."""

    def tags(self, prefix):
        """{name: ETag} of a data set in the bucket."""
        return {key[len(prefix) + 1:]: self.client.request("HEAD", "/%s/%s" % (
            self.bucket, key))[1].headers["ETag"] for key in self.client.list(self.bucket, prefix)}

    def test_edit(self):
        source = make_tree(self.path("source"), files(40, 30000))
        dest = self.url("set")
        self.sheaf("pack", source, dest, "--format", "webdataset", "--shard-count", "8")
        keys = self.path("keys")
        write(keys, b"cat/a00\ndog/a07\n")
        local = self.path("local")
        sheaf("pack", source, local, "--format", "webdataset", "--shard-count", "8")
        before = self.tags("set")
        reader = subprocess.Popen([SHEAF, "cat", dest, "--memory", "4MiB", "--to", "webdataset"],
                                  env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = reader.stdout.read(4096)
        self.sheaf("edit", dest, "--delete", keys)
        rest, errors = reader.communicate(timeout=60)
        self.assertEqual((reader.returncode, errors), (0, b""))
        self.assertEqual(len(decoders.tar_frames(first + rest)), 40)
        after = self.tags("set")
        self.assertEqual({name: tag for name, tag in after.items() if name in before},
                         {**before, "dataset.json": after["dataset.json"]})
        self.sheaf("verify", dest)
        self.assertEqual(len(self.sheaf("cat", dest, "--list").stdout.splitlines()), 38)
        sheaf("edit", local, "--delete", keys)
        self.assert_same_objects("set", local)
        done = self.sheaf("edit", dest, "--replace", self.url("nope/"), status=1)
        self.assertIn(b"nope/: there are no files to put in place: check the name", done.stderr)
        self.assertIn(b"made before", self.sheaf("edit", dest, "--delete", keys,
                                                 "--purge").stdout)
        sheaf("edit", local, "--purge")
        self.assert_same_objects("set", local)


if __name__ == "__main__":
    support.unittest.main()
