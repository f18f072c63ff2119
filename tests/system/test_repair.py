# SPDX-License-Identifier: MIT
"""Tests sheaf repair. Damaged and lost files must become what they were, byte for byte, or stay as they are."""

import json
import os
import re
import shutil
import subprocess
import tarfile

import servers
import support
from jpegs import jpeg
from support import (CONTAINERS, Case, flip, killing, kills, make_tree, pack, read, restore, sheaf,
                     tree_of, write)

KILL_STEP = 10 if support.QUICK else 7


def files(count=24, size=2000, mark="a"):
    chance = support.random.Random(mark)
    made = {}
    for i in range(count):
        key = "%s/%s%02d" % (("cat", "dog")[i % 2], mark, i)
        made[key + ".bin"] = chance.randbytes(size + i)
        made[key + ".txt"] = b"caption %d" % i
    return made


class Repair(Case):
    @classmethod
    def share(cls):
        cls.files = files()

    def setUp(self):
        super().setUp()
        self.source = make_tree(self.path("source"), self.files)
        self.dest = self.path("set")

    def pack(self, *more, container="webdataset", codec="none", shards=6, source=None):
        shutil.rmtree(self.dest, ignore_errors=True)
        pack(source or self.source, self.dest, container, codec, "--shard-count", str(shards),
             *more)
        shutil.rmtree(self.path("copy"), ignore_errors=True)
        shutil.copytree(self.dest, self.path("copy"))
        return tree_of(self.dest)

    def shards(self):
        manifest = json.loads(read(os.path.join(self.dest, "dataset.json")))
        return [shard["name"] for shard in manifest["shards"]]

    def at(self, name):
        return os.path.join(self.dest, name)

    def repair(self, *more, source=None, **how):
        return sheaf("repair", self.dest, "--from", source or self.source, *more, **how)

    def counts(self, *more, **how):
        found = json.loads(self.repair(*more, "--json", **how).stdout)
        return found["damaged"], found["repaired"]

    def damage(self, before):
        """Causes every kind of damage, each in another shard. Returns the names of the shards."""
        names = self.shards()
        write(self.at(names[0]), flip(before[names[0]], len(before[names[0]]) // 2))
        write(self.at(names[1]), before[names[1]][:-100])
        os.unlink(self.at(names[2]))
        os.unlink(self.at(names[3]))
        os.symlink("nowhere", self.at(names[3]))
        write(self.at(names[4]), before[names[4]] + b"more")
        return names[:5]

    def present(self):
        """Returns {name: bytes}, without links whose target does not exist."""
        return {name: read(self.at(name)) for name in os.listdir(self.dest)
                if os.path.isfile(self.at(name))}

    # ---- What is repaired -----------------------------------------------------------------------

    def test_containers_and_codecs(self):
        for container in CONTAINERS:
            for codec in ("none", "gzip", "zstd", "lz4"):
                with self.subTest(container=container, codec=codec):
                    before = self.pack(container=container, codec=codec)
                    for source in (self.source, self.path("copy")):
                        damaged = self.damage(before)
                        found = self.repair("--dry-run", source=source)
                        self.assertIn(b"%d damaged, 0 repaired" % len(damaged), found.stdout)
                        for name in damaged:
                            self.assertIn(name.encode(), found.stderr)
                        self.assertEqual(os.readlink(self.at(damaged[3])), "nowhere")
                        self.assertEqual(self.counts(source=source), (5, 5))
                        self.assertEqual(tree_of(self.dest), before)
                        self.assertFalse(os.path.islink(self.at(damaged[3])))
                        self.assertEqual(self.counts(source=source), (0, 0))
                        sheaf("verify", self.dest)

    def test_files_beside_the_shards(self):
        before = self.pack("--index", "mxnet", container="recordio")
        sides = [name for name in before if name.endswith((".lst", ".idx"))]
        self.assertEqual(len(sides), 12)
        for source in (self.source, self.path("copy")):
            for name in sides[::3]:
                os.unlink(self.at(name))
            self.assertEqual(self.counts(source=source), (4, 4))
            self.assertEqual(tree_of(self.dest), before)

    def test_damage_beside_the_shards(self):
        """A repair finds what verify finds in the files beside the shards and in the table of keys."""
        before = self.pack("--index", "mxnet", container="recordio")
        names = [name for name in sorted(before) if name.endswith(("1.lst", "2.idx"))] + ["dataset.keys"]
        self.assertEqual(len(names), 3)
        for name in names:
            data = before[name]
            for damaged in (data + b"x", data[:-1], b"", flip(data, 5), flip(data, len(data) - 1), None):
                if damaged is None and name.endswith(".idx"):
                    continue                    # verify accepts a lost .idx, but a repair does not
                for source in (self.source, self.path("copy")):
                    with self.subTest(name=name, size=damaged and len(damaged), source=source):
                        os.unlink(self.at(name))
                        if damaged is not None:
                            write(self.at(name), damaged)
                        self.assertIn(name, sheaf("verify", self.dest, status=1).stderr.decode())
                        self.assertIn(name.encode(), self.repair("--dry-run", source=source).stderr)
                        self.assertEqual(self.counts(source=source), (1, 1))
                        self.assertEqual(tree_of(self.dest), before)
        for name in names[:2]:                  # the copy has the same damage
            write(self.at(name), flip(before[name], 5))
            write(self.path("copy", name), flip(before[name], 5))
            self.assert_error(self.repair(source=self.path("copy"), status=1), name, "is damaged in the copy, too")
            self.assertEqual(self.counts(), (1, 1))
            self.assertEqual(tree_of(self.dest), before)
        shard = names[0].replace(".lst", ".rec")
        write(self.at(shard), flip(before[shard], 40))      # a named file is not compared with a damaged shard
        os.unlink(self.at(names[0]))
        self.assertEqual(self.counts(names[0], source=self.path("copy")), (1, 1))
        self.assertEqual(self.counts(), (1, 1))
        self.assertEqual(tree_of(self.dest), before)
        write(self.path("copy", names[0]), before[names[0]])
        write(self.at(names[0]), flip(before[names[0]], 5))     # the .lst is compared when the index is sound again
        section = json.loads(before["dataset.json"])["shards"][1]["index_offset"]
        write(self.at("dataset.index"), flip(before["dataset.index"], section + 60))
        self.assert_error(self.repair(source=self.path("copy"), status=1), names[0], "repair it again")
        self.assertEqual(self.counts(source=self.path("copy")), (1, 1))
        self.assertEqual(tree_of(self.dest), before)
        write(self.at("dataset.keys"), b"")     # it cannot be made before the index is sound
        write(self.at("dataset.index"), before["dataset.index"][:-1])
        self.assert_error(self.repair(status=1), "dataset.keys", "repair them first")
        self.assertEqual(self.counts("dataset.index", source=self.path("copy")), (1, 1))
        self.assertEqual(self.counts("dataset.keys"), (1, 1))
        self.assertEqual(tree_of(self.dest), before)

    def test_options_of_the_packing(self):
        """The manifest must have all options on which the bytes depend."""
        photos = {"a b/%02d.%s" % (i, ("JPEG", "jpg")[i % 2]): jpeg(40 + i, 30, seed=i)
                  for i in range(12)}
        photos.update({"c/d/%02d.v1.txt" % i: b"%d" % i for i in range(12)})
        photos["c/skipped.jpg"] = b"not a JPEG"
        tree = make_tree(self.path("photos"), photos)
        for options in (("--no-shuffle",), ("--seed", "7", "--prefix", "part"),
                        ("--exclude", "*.v1.txt", "--label-base", "1"),
                        ("--field-alias", "jpeg=jpg", "--key-end", "last-dot"),
                        ("--resize", "20", "--quality", "70", "--fix-images"),
                        ("--class-depth", "1", "--check-images", "decode")):
            with self.subTest(options=options):
                before = self.pack(*options, "--on-error", "skip", source=tree, shards=4)
                names = self.shards()
                for name in names[1:]:
                    os.unlink(self.at(name))
                self.assertEqual(self.counts(source=tree), (3, 3))
                self.assertEqual(tree_of(self.dest), before)

    def test_size_of_shards_and_splits(self):
        sheaf("pack", self.source, self.path("both"), "--format", "tfrecord", "--shard-size", "8000",
              "--split", "train=0.6,val=0.4", "--seed", "3")
        before = tree_of(self.path("both"))
        for split in ("train", "val"):
            self.dest = self.path("both", split)
            names = self.shards()
            self.assertGreater(len(names), 1)
            for name in names:
                os.unlink(self.at(name))
            self.assertEqual(self.counts(), (len(names), len(names)))
        self.assertEqual(tree_of(self.path("both")), before)

    def test_lists_archives_and_classes(self):
        """Labels must come from the list again, and classes must keep their numbers."""
        lines = self.path("labels.csv")
        write(lines, "".join("%s,%s\n" % (path, ("red", "blue", "green")[len(path) % 3 or i % 3])
                             for i, path in enumerate(sorted(self.files))
                             if path.endswith("bin")).encode())
        before = self.pack("--root", self.source, source=lines)
        os.unlink(self.at(self.shards()[2]))
        self.assert_error(self.repair(status=None), "the data set was packed from a list of files "
                          "of the kind \"csv\"", "give that list")
        self.assertEqual(self.counts("--root", self.source, source=lines), (1, 1))
        self.assertEqual(tree_of(self.dest), before)
        write(self.path("classes"), b"zebra\ndog\ncat\n")
        tar = self.path("source.tar")
        subprocess.run(["tar", "-cf", tar, "-C", self.source, "."], check=True)
        before = self.pack("--classes", self.path("classes"), source=tar)
        os.unlink(self.at(self.shards()[5]))
        self.assertEqual(self.counts(source=tar), (1, 1))
        self.assertEqual(tree_of(self.dest), before)

    def test_only_its_files_are_read(self):
        many = make_tree(self.path("many"), {"c/%04d.txt" % i: b"%d" % i * 20 for i in range(3000)})
        self.dest = self.path("many-set")
        sheaf("pack", many, self.dest, "--format", "webdataset", "--shard-count", "1000")
        name = self.shards()[517]
        members = subprocess.run(["tar", "-tf", self.at(name)], check=True,
                                 stdout=subprocess.PIPE).stdout.decode().split()
        trace = self.path("trace")
        try:
            subprocess.run(["strace", "-o", "/dev/null", "true"], check=True, stdout=subprocess.DEVNULL)
        except FileNotFoundError:
            self.skipTest("no strace")
        def check(name, members, *sources):
            before = tree_of(self.dest)
            os.unlink(self.at(name))
            subprocess.run(["strace", "-f", "-e", "trace=open,openat", "-o", trace, support.SHEAF, "repair", self.dest,
                            name, "--from", *sources], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            opened = set(re.findall(r"[0-9]+\.txt", read(trace).decode()))
            self.assertEqual(opened, {os.path.basename(path) for path in members if path.endswith(".txt")})
            self.assertNotIn(b"shard-000516", read(trace))
            self.assertEqual(tree_of(self.dest), before)

        check(name, members, many)
        # an appended shard, and an edited one whose deleted files are gone
        more = make_tree(self.path("more"), {"c/%04d.txt" % i: b"%d" % i for i in range(3000, 3100)})
        sheaf("append", more, self.dest, "--shard-count", "10")
        gone = [path for path in members if path.endswith(".txt")][0]
        write(self.path("keys"), gone.split(".")[0].encode() + b"\n")
        sheaf("edit", self.dest, "--delete", self.path("keys"), "--purge")
        os.unlink(os.path.join(many, gone))
        check("shard-000517.e1.tar", [path for path in members if path != gone], many, "--from", more)
        name = self.shards()[1003]
        check(name, subprocess.run(["tar", "-tf", self.at(name)], check=True,
                                   stdout=subprocess.PIPE).stdout.decode().split(), many, "--from", more)

    # ---- What is refused ------------------------------------------------------------------------

    def test_a_source_that_has_changed(self):
        before = self.pack(shards=3)
        name = self.shards()[0]
        member = [line.split(".")[0] for line in subprocess.run(
            ["tar", "-tf", self.at(name)], check=True,
            stdout=subprocess.PIPE).stdout.decode().split() if line.endswith(".bin")][0] + ".bin"
        path = os.path.join(self.source, member)
        good = read(path)
        for change, words in ((lambda: write(path, flip(good, 9)),
                               "the source has changed: a file is missing, or is not what was packed"),
                              (lambda: write(path, good + b"x"),
                               "the source has changed: a file is missing, or is not what was packed"),
                              (lambda: os.unlink(path), "the source has changed: a file is missing, or is not what was packed"),
                              (lambda: shutil.rmtree(self.source), "source")):
            change()
            for damaged in (before[name][:-1], None):
                if damaged is None:
                    os.unlink(self.at(name))
                else:
                    write(self.at(name), damaged)
                now = tree_of(self.dest)
                done = self.repair(status=1)
                self.assert_error(done, words)
                if os.path.exists(self.source):
                    self.assert_error(done, name)
                self.assertEqual(tree_of(self.dest), now)
        make_tree(self.source, self.files)
        self.assertEqual(self.counts(), (1, 1))
        self.assertEqual(tree_of(self.dest), before)

    def test_other_shards_are_repaired_nevertheless(self):
        before = self.pack(shards=3)
        names = self.shards()
        member = [line for line in subprocess.run(
            ["tar", "-tf", self.at(names[1])], check=True,
            stdout=subprocess.PIPE).stdout.decode().split() if line.endswith(".bin")][0]
        path = os.path.join(self.source, member)
        write(path, flip(read(path), 3))
        for name in names:
            os.unlink(self.at(name))
        self.assert_error(self.repair(status=1), names[1], "1 of 3 damaged files")
        now = tree_of(self.dest)
        self.assertNotIn(names[1], now)
        self.assertEqual({**now, names[1]: before[names[1]]}, before)

    def test_copies(self):
        before = self.pack()
        copy, name = self.path("copy"), self.shards()[1]
        others = [n for n in before if n.startswith("dataset.") and n != "dataset.json"]
        for lost in [name, *others]:
            os.unlink(self.at(lost))
        self.assert_error(self.repair(status=1), "only a copy of the data set can repair it")
        self.assertEqual(set(before) - set(tree_of(self.dest)), set(others))
        self.assertEqual(self.counts(source=os.path.join(copy, "dataset.json")), (2, 2))
        self.assertEqual(tree_of(self.dest), before)
        # the copy is damaged at the same place
        for lost in (name, "dataset.index"):
            os.unlink(self.at(lost))
            write(os.path.join(copy, lost), flip(before[lost], 40))
            self.assert_error(self.repair(source=copy, status=1), lost)
            self.assertNotIn(lost, tree_of(self.dest))
            write(self.at(lost), before[lost])
        pack(self.source, self.path("other"), "webdataset", "none", "--seed", "5")
        self.assert_error(self.repair(source=self.path("other"), status=1), "is another data set")
        self.assert_error(self.repair(source=self.dest, status=None), "source")
        self.assertEqual(tree_of(self.dest), before)

    def test_indexes_and_manifests(self):
        before = self.pack()
        copy = self.path("copy")
        for data in (before["dataset.index"] + b"x", before["dataset.index"][:-1], b""):
            write(self.at("dataset.index"), data)
            self.assert_error(self.repair(status=1), "dataset.index: has other bytes")
            self.assertEqual(self.counts(source=copy), (1, 1))
            self.assertEqual(tree_of(self.dest), before)
        for data in (None, b"", before["dataset.json"][:300], flip(before["dataset.json"], 200)):
            os.unlink(self.at("dataset.json"))
            if data is not None:
                write(self.at("dataset.json"), data)
            for source in (self.source, copy):
                self.assert_error(self.repair(source=source, status=1),
                                  "copy this file from a copy of the data set first")
            write(self.at("dataset.json"), before["dataset.json"])

    def test_columns(self):
        """A layer of a column is a data set, so it can be repaired from its copy."""
        self.pack()
        keys = sorted({path.split(".")[0] for path in tree_of(self.source)})
        write(self.path("values.csv"), ("key,value\n" + "".join("%s,of %s\n" % (key, key)
                                                               for key in keys)).encode())
        sheaf("column", "add", self.dest, "--name", "cap", "--from", self.path("values.csv"))
        shutil.rmtree(self.path("copy"))
        shutil.copytree(self.dest, self.path("copy"))
        before = tree_of(self.dest)
        os.unlink(self.at("columns/cap/1/column-000000.tfrecord"))
        sheaf("repair", self.at("columns/cap/1"), "--from", self.path("copy/columns/cap/1"))
        self.assertEqual(tree_of(self.dest), before)

    # ---- Data sets that have changed since they were packed -------------------------------------

    def check_all_again(self, *sources, lists=True):
        """Removes every shard, and then also the .lst files beside them. Repairing from these sources must bring all
        of them back."""
        before = tree_of(self.dest)
        names = self.shards()
        sides = [name for name in before if name.endswith(".lst")] if lists else []
        for lost in (names, names + sides)[:2 if sides else 1]:
            for name in lost:
                os.unlink(self.at(name))
            words = [word for source in sources[1:] for word in ("--from", source)]
            self.repair(*words, source=sources[0])
            self.assertEqual(tree_of(self.dest), before)
        sheaf("verify", self.dest)

    def edit(self, *words):
        sheaf("edit", self.dest, *words, "--purge")

    def list_of(self, *lines):
        write(self.path("list"), "".join(line + "\n" for line in lines).encode())
        return self.path("list")

    def test_after_appends(self):
        """Two appends with other options than those of packing. The source may be the directories one by one, or one
        tree that has grown, and may have files that were never packed."""
        for container in CONTAINERS:
            for codec in ("none", "gzip"):
                with self.subTest(container=container, codec=codec):
                    shutil.rmtree(self.source)
                    make_tree(self.source, self.files)
                    self.pack(container=container, codec=codec)
                    more = make_tree(self.path("more"), files(7, 500, "m"))
                    sheaf("append", more, self.dest, "--shard-count", "3", "--seed", "9")
                    make_tree(self.source, {"new/%d.txt" % i: b"new %d" % i for i in range(5)})
                    sheaf("append", self.source, self.dest, "--on-error", "skip", "--no-shuffle", "--shard-count", "2")
                    self.assertEqual(len(self.shards()), 11)
                    self.check_all_again(self.source, more)
                    make_tree(self.source, files(7, 500, "m"))
                    make_tree(self.source, {"cat/never.txt": b"never packed", "never/x.txt": b"nor this"})
                    self.check_all_again(self.source)

    def test_after_an_edit(self):
        """The files of deleted samples may be gone from the source. Changed labels are in the index."""
        for container in CONTAINERS:
            for codec in ("none", "zstd"):
                with self.subTest(container=container, codec=codec):
                    shutil.rmtree(self.source)
                    make_tree(self.source, self.files)
                    self.pack(container=container, codec=codec)
                    deleted = sorted({path.split(".")[0] for path in self.files})[::5]
                    self.edit("--delete", self.list_of(*deleted))
                    self.check_all_again(self.source, lists=False)
                    for path in self.files:
                        if path.split(".")[0] in deleted:
                            os.unlink(os.path.join(self.source, path))
                    more = make_tree(self.source, files(5, 700, "m"))
                    sheaf("append", more, self.dest, "--on-error", "skip", "--shard-count", "2")
                    self.check_all_again(self.source, lists=False)
                    self.edit("--labels", self.list_of("key,label", "cat/m00,bird", "dog/a01,cat", "dog/a03,dog"))
                    self.check_all_again(self.source, lists=False)
                    self.edit("--delete", self.list_of("dog/m01", "cat/a02"))
                    self.check_all_again(self.source, lists=False)

    def test_lost_numbers(self):
        """If samples were deleted, only the .lst file has the numbers of a RecordIO shard's records."""
        self.pack(container="recordio")
        keys = sheaf("cat", self.dest, "--list", "--no-shuffle").stdout.decode().splitlines()
        self.edit("--delete", self.list_of(keys[5].split("\t")[0]))
        before = tree_of(self.dest)
        name = [name for name in self.shards() if ".e1." in name][0]
        os.unlink(self.at(name))
        self.assertEqual(self.counts(), (1, 1))
        self.assertEqual(tree_of(self.dest), before)
        os.unlink(self.at(name))
        write(self.at(name.replace(".rec", ".lst")), b"0\t0\tx\n")
        self.assert_error(self.repair(status=1), "its .lst file is lost, which had the numbers of its records")
        self.assertFalse(os.path.exists(self.at(name)))

    def test_after_replaced_files(self):
        """The source must have the new files. With the old ones, the shard stays lost."""
        self.pack()
        better = make_tree(self.path("better"), {"cat/a00.txt": b"a better caption"})
        self.edit("--replace", better)
        before = tree_of(self.dest)
        name = [name for name in self.shards() if ".e1." in name][0]
        os.unlink(self.at(name))
        self.assert_error(self.repair(status=1), name, "replaced files, which this source has as they were before",
                          "the first sample that differs is cat/a00 (record ")
        self.assertNotIn(name, tree_of(self.dest))
        shutil.copy(os.path.join(better, "cat/a00.txt"), os.path.join(self.source, "cat/a00.txt"))
        self.assertEqual(self.counts(), (1, 1))
        self.assertEqual(tree_of(self.dest), before)

    def test_replaced_in_a_set_of_resized_images(self):
        """An edit stores files as they are, so the shard cannot be made from the source, even with the new files."""
        photos = make_tree(self.path("photos"), {"cat/%02d.jpg" % i: jpeg(80 + i, 60, seed=i) for i in range(12)})
        self.pack("--resize", "32", source=photos, shards=3)
        new = {"cat/05.jpg": jpeg(100, 70, seed=50)}
        self.edit("--replace", make_tree(self.path("better"), new))
        shutil.copytree(self.dest, self.path("backup"))
        make_tree(photos, new)
        before = tree_of(self.dest)
        name = [name for name in self.shards() if ".e1." in name][0]
        os.unlink(self.at(name))
        done = self.repair(source=photos, status=1)
        self.assert_error(done, name, "the first sample that differs is cat/05 (record ", "edits store files as they are",
                          "only a copy of the data set can repair this shard")
        self.assertEqual(self.counts(source=self.path("backup")), (1, 1))
        self.assertEqual(tree_of(self.dest), before)
        other = [name for name in self.shards() if ".e1." not in name][0]
        os.unlink(self.at(other))               # a shard without replaced files is made from the source
        self.assertEqual(self.counts(source=photos), (1, 1))
        self.assertEqual(tree_of(self.dest), before)

    def test_each_shard_is_read_once(self):
        """The hash of a shard and the files beside it are checked in one pass."""
        try:
            subprocess.run(["strace", "-o", "/dev/null", "true"], check=True, stdout=subprocess.DEVNULL)
        except OSError:
            self.skipTest("no strace")
        self.pack("--index", "mxnet", container="recordio")
        size = sum(os.path.getsize(self.at(name)) for name in self.shards())
        done = subprocess.run(["strace", "-f", "-y", "-e", "trace=pread64,read,preadv", support.SHEAF, "repair",
                               self.dest, "--from", self.source], capture_output=True, check=True)
        read_bytes = sum(int(line.rpartition(b"= ")[2].split()[0]) for line in done.stderr.splitlines()
                         if b".rec>" in line and line.rpartition(b"= ")[2][:1].isdigit())
        self.assertLess(read_bytes, 1.5 * size)
        self.assertGreaterEqual(read_bytes, size)

    def test_labels_in_files(self):
        """A label in a file .cls can be repaired only from a source with the new label."""
        numbers = {"%02d.cls" % i: b"%d" % (i % 3) for i in range(12)}
        numbers.update({"%02d.txt" % i: b"text %d" % i for i in range(12)})
        tree = make_tree(self.path("numbers"), numbers)
        self.pack(source=tree, shards=2)
        self.edit("--labels", self.list_of("key,label", "03,2"))
        before = tree_of(self.dest)
        name = [name for name in self.shards() if ".e1." in name][0]
        os.unlink(self.at(name))
        self.assert_error(self.repair(source=tree, status=1), name, "changed labels in files .cls")
        write(os.path.join(tree, "03.cls"), b"2")
        self.assertEqual(self.counts(source=tree), (1, 1))
        self.assertEqual(tree_of(self.dest), before)

    def test_labels_that_an_index_cannot_have(self):
        """After such a sample is deleted, the index of its shard still has no labels, but packing would add them."""
        lines = self.path("labels.csv")
        write(lines, b"path,label\n" + b"".join(b"cat/a%02d.bin,%s\n" % (i, b"0.5" if i == 2 else b"1")
                                                for i in range(0, 24, 2)))
        for container in ("webdataset", "tfrecord"):
            self.pack("--root", self.source, source=lines, container=container, shards=2)
            self.edit("--delete", self.list_of("cat/a02"))
            before = tree_of(self.dest)
            for name in self.shards():
                os.unlink(self.at(name))
            self.assertEqual(self.counts("--root", self.source, source=lines), (2, 2))
            self.assertEqual(tree_of(self.dest), before)

    def test_an_empty_shard(self):
        """An edit may have deleted all samples of a shard."""
        for container in CONTAINERS:
            self.pack(container=container, shards=8)
            keys = sheaf("cat", self.dest, "--list", "--no-shuffle").stdout.decode().splitlines()
            self.edit("--delete", self.list_of(*(line.split("\t")[0] for line in keys[6:9])))
            self.assertEqual(json.loads(read(self.at("dataset.json")))["shards"][2]["samples"], 0)
            self.check_all_again(self.source, lists=False)

    def test_blocks_of_the_codec(self):
        """A shard consists of several compressed blocks. An edit divides it in another way than packing."""
        big = make_tree(self.path("big"), files(20, 900000, "b"))
        for codec in ("gzip", "lz4"):
            self.pack(source=big, shards=2, codec=codec)
            keys = sorted({path.split(".")[0] for path in files(20, 900000, "b")})
            self.edit("--delete", self.list_of(keys[3], keys[12]))
            sheaf("append", make_tree(self.path("more"), files(3, 500, "m")), self.dest)
            self.check_all_again(big, self.path("more"))

    def test_splits_that_have_grown(self):
        sheaf("pack", self.source, self.path("both"), "--format", "tfrecord", "--shard-size", "8000",
              "--split", "train=0.6,val=0.4")
        more = make_tree(self.path("more"), files(20, 900, "m"))
        sheaf("append", more, self.path("both"), "--shard-size", "4000")
        for split in ("train", "val"):
            self.dest = self.path("both", split)
            self.assertGreater(len(self.shards()), 3)
            self.check_all_again(self.source, more)
        self.edit("--delete", self.list_of(*sheaf("cat", self.dest, "--list").stdout.decode().split("\t")[:1]))
        self.check_all_again(more, self.source)

    def test_with_columns(self):
        self.pack()
        sheaf("append", make_tree(self.path("more"), files(4, 500, "m")), self.dest)
        keys = [line.split("\t")[0] for line in sheaf("cat", self.dest, "--list").stdout.decode().splitlines()]
        write(self.path("values.csv"), ("key,value\n" + "".join("%s,of %s\n" % (key, key)
                                                               for key in keys)).encode())
        sheaf("column", "add", self.dest, "--name", "cap", "--from", self.path("values.csv"))
        expected = sheaf("cat", self.dest, "--columns", "cap", "--list").stdout
        self.check_all_again(self.source, self.path("more"))
        self.assertEqual(sheaf("cat", self.dest, "--columns", "cap", "--list").stdout, expected)

    def test_packed_in_parts(self):
        plan = self.path("plan")
        sheaf("plan", self.source, self.dest, "-o", plan, "--format", "recordio", "--shard-count", "6")
        for part in ("0/2", "1/2"):
            sheaf("pack", "--plan", plan, "--part", part)
        sheaf("commit", plan)
        sheaf("append", make_tree(self.path("more"), files(4, 500, "m")), self.dest)
        self.check_all_again(self.source, self.path("more"))

    def test_without_the_table_of_keys(self):
        """Then the plan of the packing run tells the samples of its shards, but nothing tells those of other shards."""
        before = self.pack()
        os.unlink(self.at("dataset.keys"))
        os.unlink(self.at(self.shards()[3]))
        self.repair()
        self.assertEqual(tree_of(self.dest), before)
        sheaf("append", make_tree(self.path("more"), files(4, 500, "m")), self.dest)
        before = tree_of(self.dest)
        for damaged in (None, flip(before["dataset-1.keys"], 70)):
            os.unlink(self.at("dataset-1.keys"))
            if damaged is not None:
                write(self.at("dataset-1.keys"), damaged)
            os.unlink(self.at(self.shards()[6]))
            os.unlink(self.at(self.shards()[0]))
            self.assert_error(self.repair("--from", self.path("more"), status=1), self.shards()[6],
                              "has samples that were appended, and its samples cannot be found", "dataset-1.keys")
            self.assertFalse(os.path.exists(self.at(self.shards()[6])))
            restore(self.dest, before)

    def test_a_source_without_the_samples(self):
        """The error names the shard and says how many of its samples the source has."""
        self.pack()
        sheaf("append", make_tree(self.path("more"), files(4, 500, "m")), self.dest)
        os.unlink(self.at(self.shards()[6]))
        self.assert_error(self.repair(status=1), self.shards()[6], "it has 0 of the 4 samples of this shard",
                          "give all files from which they were packed and appended")
        self.assertEqual(self.counts(source=self.path("more")), (1, 1))

    def test_converted_and_foreign(self):
        self.pack()
        names = self.shards()
        sheaf("convert", self.dest, self.path("converted"), "--format", "tfrecord")
        self.dest = self.path("converted")
        os.unlink(self.at(self.shards()[0]))
        self.assert_error(self.repair(status=1), "was not packed from files")
        foreign = self.path("foreign")
        os.mkdir(foreign)
        for name in names:
            shutil.copy(os.path.join(self.path("copy"), name), foreign)
        sheaf("index", foreign)
        shutil.copytree(foreign, self.path("foreign-copy"))
        os.unlink(os.path.join(foreign, names[3]))
        self.assert_error(sheaf("repair", foreign, "--from", self.source, status=1),
                          "made by another program")
        sheaf("repair", foreign, "--from", self.path("foreign-copy"))
        self.assertEqual(tree_of(foreign), tree_of(self.path("foreign-copy")))

    def test_misuse(self):
        self.pack()
        self.assert_error(sheaf("repair", self.dest, status=2), "--from is missing")
        self.assert_error(self.repair("shard-000099.tar", status=1), "has no such file")
        self.assert_error(sheaf("repair", self.source, "--from", self.source, status=1),
                          "files must be packed first")
        view = self.path("view.json")
        sheaf("view", self.dest, "-o", view)
        self.assert_error(sheaf("repair", view, "--from", self.source, status=1), "is a view")

    def test_a_missing_source_of_a_sound_data_set(self):
        self.pack()
        for more in ((), ("--dry-run",), ("--from", self.source)):
            self.assert_error(self.repair(*more, source=self.path("nowhere"), status=1), "nowhere",
                              "No such file or directory")

    def test_the_count_of_checked_files(self):
        """Optional files that the data set does not have are not counted."""
        for container in CONTAINERS:
            self.pack(container=container)
            for source in (self.source, self.path("copy")):
                with self.subTest(container=container, source=source):
                    files = json.loads(self.repair("--json", source=source).stdout)["files"]
                    self.assertEqual(files, len(os.listdir(self.dest)))
                    os.unlink(self.at("dataset.keys"))
                    self.assertEqual(json.loads(self.repair("--json", source=source).stdout)["files"], files)

    # ---- Others, and interruption ---------------------------------------------------------------

    def test_other_runs_are_not_disturbed(self):
        """An interrupted append keeps its claim, and nothing may be repaired meanwhile."""
        before = self.pack()
        more = make_tree(self.path("more"), files(4, 500, "m"))
        at = 1
        while sheaf("append", more, self.dest, status=None, env=killing(self, at)).returncode < 0 \
                and not os.path.exists(self.at(".sheaf-partial/plan")):
            at += 1
        self.assertTrue(os.path.exists(self.at(".sheaf-partial/plan")))
        name = self.shards()[0]
        os.unlink(self.at(name))
        self.assert_error(self.repair(status=1), "another")
        sheaf("append", more, self.dest, "--overwrite", status=None)
        write(self.at(name), before[name])

    def test_a_shard_that_no_index_can_describe(self):
        """A damaged shard may contain what an index for another program cannot have, such as a header of pax."""
        before = self.pack("--index", "wids")
        name = self.shards()[0]
        with tarfile.open(self.path("other.tar"), "w", format=tarfile.PAX_FORMAT) as tar:
            member = tarfile.TarInfo("a.txt")
            member.pax_headers = {"comment": "x"}
            tar.addfile(member)
        other = read(self.path("other.tar")).rstrip(b"\0")
        write(self.at(name), other.ljust(len(before[name]), b"\0"))
        for source in self.path("copy"), self.source:
            self.assertEqual(self.counts(source=source), (1, 1), source)
            self.assertEqual(self.present(), before)
            write(self.at(name), other.ljust(len(before[name]), b"\0"))

    def test_killed_anywhere(self):
        """A repair is killed at any moment. Each file must be the damaged one or the good one, and the next run must
        repair the rest."""
        before = self.pack("--index", "wids")
        for source in (self.source, self.path("copy")):
            words = ("repair", self.dest, "--from", source, "--jobs", "1")
            damaged, count = {}, 0

            def damage():
                restore(self.dest, before)
                damaged["names"] = self.damage(before)
                damaged["files"] = self.present()

            for at in kills(self, KILL_STEP, damage, *words):
                now = self.present()
                for name in before:
                    self.assertIn(now.get(name), (damaged["files"].get(name), before[name]), (at, name))
                sheaf(*words)
                self.assertEqual(tree_of(self.dest), before, at)
                self.assertEqual(len(damaged["names"]), 5)
                count += 1
            self.assertEqual(tree_of(self.dest), before)
            self.assertGreater(count, 5)


class Remote(servers.S3Case):
    def test_repair(self):
        """Repairs from files, from a copy on the disk, and from a copy in the bucket. Other objects must keep their
        ETags."""
        source = make_tree(self.path("source"), files(40, 30000))
        dest, local = self.url("set"), self.path("local")
        for to in (dest, self.url("copy")):
            self.sheaf("pack", source, to, "--format", "webdataset", "--shard-count", "8")
        sheaf("pack", source, local, "--format", "webdataset", "--shard-count", "8")
        self.assert_same_objects("set", local)
        names = ["shard-00000%d.tar" % i for i in range(8)]
        for given in (source, local, self.url("copy")):
            with self.subTest(given=given):
                tags = self.tags("set")
                self.client.request("DELETE", "/%s/set/%s" % (self.bucket, names[2]))
                data = read(os.path.join(local, names[5]))
                self.client.put(self.bucket, "set/" + names[5], flip(data, 1000))
                self.assertIn(b"2 damaged, 2 repaired",
                              self.sheaf("repair", dest, "--from", given).stdout)
                self.assert_same_objects("set", local)
                self.assertEqual({n: t for n, t in self.tags("set").items()
                                  if n not in (names[2], names[5])},
                                 {n: t for n, t in tags.items()
                                  if n not in (names[2], names[5])})
        wrong = self.sheaf("repair", dest, "--from", self.url("wrong"), status=1)
        self.assert_error(wrong, "wrong", "no object has this prefix")
        os.unlink(os.path.join(local, names[1]))
        self.sheaf("repair", local, "--from", dest)
        self.assert_same_objects("set", local)

    def test_after_an_append_and_an_edit(self):
        source, more = make_tree(self.path("source"), files(12, 30000)), make_tree(self.path("more"), files(5, 900, "m"))
        dest = self.url("set")
        self.sheaf("pack", source, dest, "--format", "recordio", "--shard-count", "4")
        self.sheaf("append", more, dest, "--shard-count", "2")
        write(self.path("keys"), b"cat/a00\ncat/m02\n")
        self.sheaf("edit", dest, "--delete", self.path("keys"))
        shards = [shard["name"] for shard in json.loads(self.client.request(
            "GET", "/%s/set/dataset.json" % self.bucket)[0])["shards"]]
        before = {name: self.client.request("GET", "/%s/set/%s" % (self.bucket, name))[0] for name in shards}
        for name in shards:
            self.client.request("DELETE", "/%s/set/%s" % (self.bucket, name))
        self.sheaf("repair", dest, "--from", source, "--from", more)
        for name in shards:
            self.assertEqual(self.client.request("GET", "/%s/set/%s" % (self.bucket, name))[0], before[name])
        self.sheaf("verify", dest)

    def tags(self, prefix):
        """Returns {name: ETag} of a data set in the bucket."""
        return {key[len(prefix) + 1:]: self.client.request("HEAD", "/%s/%s" % (
            self.bucket, key))[1].headers["ETag"] for key in self.client.list(self.bucket, prefix)}


if __name__ == "__main__":
    support.unittest.main()
