# SPDX-License-Identifier: MIT
"""sheaf append: the earlier files of the data set stay the same, byte for byte. The new samples are all there or not
at all, and readers continue, wherever the run is killed."""

import json
import os
import shutil
import signal
import subprocess

import decoders
import images
import libsheaf
import servers
import support
from jpegs import jpeg
from support import (CONTAINERS, SHEAF, Case, flip, held, kills, listing, make_tree, pack, read,
                     released, restore, sheaf, tree_of, write)

KILL_STEP = 15 if support.QUICK else 5


def files(classes, mark, count=12, size=3000):
    chance = support.random.Random(mark)
    return {"%s/%s%02d.bin" % (classes[i % len(classes)], mark, i):
            chance.randbytes(size) for i in range(count)}


def manifest_of(folder):
    return json.loads(read(os.path.join(folder, "dataset.json")))


def labels(dataset):
    return {line.split("\t")[0]: line.split("\t")[1] for line in listing(dataset)}


class Append(Case):
    @classmethod
    def share(cls):
        cls.old = make_tree(os.path.join(cls.shared, "old"), files(("cat", "dog"), "a"))
        cls.new = make_tree(os.path.join(cls.shared, "new"), files(("ant", "cat"), "b"))

    def setUp(self):
        super().setUp()
        self.dest = self.path("set")

    def pack(self, *more, container="webdataset", codec="none"):
        shutil.rmtree(self.dest, ignore_errors=True)
        pack(self.old, self.dest, container, codec, "--shard-count", "3", *more)
        return tree_of(self.dest)

    def append(self, *more, source=None, **how):
        return sheaf("append", source or self.new, self.dest, "--shard-count", "2", *more, **how)

    def check_kept(self, before, but=()):
        """Checks that all earlier files are unchanged, except the manifest."""
        after = tree_of(self.dest)
        for name, data in before.items():
            if name != "dataset.json" and name not in but:
                self.assertEqual(after.get(name), data, name)
        return after

    # ---- What is there afterwards ---------------------------------------------------------------

    def test_containers(self):
        for container in CONTAINERS:
            for codec in ("none", "zstd", "gzip"):
                with self.subTest(container=container, codec=codec):
                    before = self.pack(container=container, codec=codec)
                    was = labels(self.dest)
                    sheaf("cat", self.dest, "--limit", "3", "--save-position", self.path("at"))
                    self.append()
                    after = self.check_kept(before)
                    self.assertLessEqual({"dataset-1.index", "dataset-1.keys"}, set(after))
                    self.assertNotIn("skipped-1.tsv", after)
                    sheaf("verify", self.dest)
                    self.assertEqual(manifest_of(self.dest)["classes"], ["cat", "dog", "ant"])
                    now = labels(self.dest)
                    self.assertLessEqual(was.items(), now.items())
                    self.assertEqual({k: v for k, v in now.items() if k not in was},
                                     {"ant/b%02d" % i: "2" for i in range(0, 12, 2)} |
                                     {"cat/b%02d" % i: "0" for i in range(1, 12, 2)})
                    self.check_files()
                    done = sheaf("cat", self.dest, "--resume-from", self.path("at"), status=1)
                    self.assert_error(done, "has grown since the position was taken, from 12 to 24")

    def check_files(self):
        out = self.path("out")
        shutil.rmtree(out, ignore_errors=True)
        sheaf("unpack", self.dest, out)
        self.assertEqual(tree_of(out), {**tree_of(self.old), **tree_of(self.new)})
        for key in ("cat/a00", "ant/b00"):      # each key is in another table
            self.assertEqual(sheaf("get", self.dest, key).stdout,
                             tree_of(out)[key + ".bin"])

    def test_new_shards_are_those_of_packing(self):
        """An independent decoder reads the new shards. Names, numbers and other readers' files continue."""
        before = self.pack("--index", "wids")
        self.append()
        after = self.check_kept(before, but=("shardindex.json",))
        for name in ("shard-000003.tar", "shard-000004.tar"):
            self.assertIn(name, after)
        found = {}
        for name in support.shards_of(self.dest):
            found.update((key, made) for _, key, made in decoders.tar_frames(after[name]))
        self.assertEqual(len(found), 24)
        listed = json.loads(after["shardindex.json"])["shardlist"]
        self.assertEqual([os.path.basename(shard["url"]) for shard in listed],
                         support.shards_of(self.dest))
        self.assertEqual(sum(shard["nsamples"] for shard in listed), 24)
        # A second append: its class came with the first one, and the shard size is that of the data set.
        more = make_tree(self.path("more"), files(("ant", "bee"), "c", 4))
        sheaf("append", more, self.dest)
        self.check_kept(after, but=("shardindex.json",))
        self.assertEqual(manifest_of(self.dest)["classes"], ["cat", "dog", "ant", "bee"])
        self.assertEqual([g["shards"] for g in manifest_of(self.dest)["grown"]], [3, 5])
        sheaf("verify", self.dest)
        self.assertEqual(len(labels(self.dest)), 28)

    def numbers(self):
        """Returns the numbers of all samples, from the lists and the indexes of the shards."""
        numbers = []
        for shard in support.shards_of(self.dest):
            for end in (".lst", ".idx"):
                lines = read(os.path.join(self.dest, shard.split(".")[0] + end)).decode().splitlines()
                numbers.append([int(line.split("\t")[0]) for line in lines])
        self.assertEqual(numbers[0::2], numbers[1::2])
        return sum(numbers[0::2], [])

    def test_numbers_go_on_in_lists_and_indexes(self):
        self.pack(container="recordio")
        self.append()
        self.assertEqual(self.numbers(), list(range(24)))

    def test_numbers_follow_those_that_were_skipped(self):
        """A skipped file keeps its number. New numbers follow the highest number, even that of a skipped file."""
        def with_bad(mark, *bad):
            return make_tree(self.path(mark), {**files(("cat",), mark, 4),
                                               **{"cat/%s.jpg" % name: b"" for name in bad}})
        pack(with_bad("e", "a", "b", "f"), self.dest, "recordio", "gzip", "--shard-count", "2",
             "--on-error", "skip")
        before = self.numbers()
        self.assertGreater(before[-1], 3)       # with this seed, a bad file is not the last one
        bad = with_bad("g", "c", "d", "e", "h")
        sheaf("append", bad, self.dest, "--on-error", "skip", "--shard-count", "1")
        sheaf("append", with_bad("i", "b"), self.dest, "--on-error", "skip")
        after, now = tree_of(self.dest), self.numbers()
        self.assertEqual(now[:4], before)
        self.assertEqual(now, sorted(set(now)))
        self.assertEqual(len(now), 12)
        sheaf("append", self.path("i"), self.dest, "--on-error", "skip", "--resume")
        self.assertEqual(tree_of(self.dest), after)
        sheaf("verify", self.dest)
        name, last = "shard-000003.lst", b"\n%d\t" % now[-1]
        write(os.path.join(self.dest, name), after[name].replace(last, b"\nx%s" % last[2:]))
        self.assert_error(sheaf("append", self.new, self.dest, status=1), name,
                          "does not begin with the number of a sample")

    def test_what_is_written(self):
        """Only the new shards are written, and at most a tenth more."""
        self.pack()
        source = make_tree(self.path("source"), files(("cat",), "w", 2000, 2000))
        before = sum(map(len, tree_of(self.dest).values()))
        program = ("import os, subprocess, sys\n"
                   "p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
                   "os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)\n"
                   "print(open('/proc/%d/io' % p.pid).read())\n")
        done = subprocess.run([support.sys.executable, "-c", program, SHEAF, "append", source,
                               self.dest, "--shard-size", "1000000"], check=True,
                              stdout=subprocess.PIPE)
        written = int(done.stdout.split(b"wchar: ")[1].split()[0])
        added = sum(map(len, tree_of(self.dest).values())) - before
        shards = sum(s["bytes"] for s in manifest_of(self.dest)["shards"][3:])
        self.assertGreaterEqual(written, shards)
        self.assertLess(written, 1.1 * shards)
        self.assertLess(added, 1.1 * shards)

    # ---- What is refused ------------------------------------------------------------------------

    def test_refusals(self):
        before = self.pack()
        foreign = self.path("foreign")
        shutil.copytree(self.dest, foreign, ignore=shutil.ignore_patterns("dataset.*"))
        view = support.view_of(self, [(self.dest, {})])
        numbers = self.path("numbers.csv")
        write(numbers, b"cat/b01.bin,7\n")
        for place, source, *said in (
                (view, self.new, "is a view"), (foreign, self.new, "has no dataset.json"),
                (self.dest, self.dest, "is a data set, not files to pack"),
                (self.path("nothing"), self.new, "nothing"),
                (self.dest, self.path("nothing"), "nothing"),
                (self.dest, numbers, "not the number of a class")):
            more = ("--root", self.new) if source == numbers else ()
            done = sheaf("append", source, place, *more, status=None)
            self.assert_error(done, *said)
            self.assertEqual(tree_of(self.dest), before)
        sheaf("index", foreign)
        self.assert_error(sheaf("append", self.new, foreign, status=1), "another program")
        os.unlink(os.path.join(self.dest, "dataset.keys"))
        self.assert_error(self.append(status=1), "dataset.keys", "sheaf index --keys")
        sheaf("index", "--keys", self.dest)
        self.assertEqual(tree_of(self.dest), before)
        self.append()

    def test_labels_without_names(self):
        one, two = self.path("one.csv"), self.path("two.csv")
        write(one, b"cat/a00.bin,3\ndog/a01.bin,4\n")
        write(two, b"cat/b01.bin,9\n")
        sheaf("pack", one, self.dest, "--format", "tfrecord", "--root", self.old)
        self.assert_error(self.append(status=1), "the samples have classes")
        sheaf("append", two, self.dest, "--root", self.new)
        self.assertEqual(labels(self.dest), {"cat/a00": "3", "dog/a01": "4", "cat/b01": "9"})
        sheaf("verify", self.dest)

    def test_labels_that_get_a_name_later(self):
        """The count of a new class includes the samples whose field cls had its number already."""
        def append(number, files, *expected):
            sheaf("append", make_tree(self.path("more%d" % number), files), self.dest)
            self.assertEqual(manifest_of(self.dest)["class_samples"], list(expected))
            sheaf("verify", self.dest)

        for container in CONTAINERS:
            shutil.rmtree(self.dest, ignore_errors=True)
            old = make_tree(self.path("named"), {
                "cat/a.bin": b"a", "cat/b.bin": b"b", "cat/b.cls": b"2", "dog/c.bin": b"c",
                "dog/d.bin": b"d", "dog/d.cls": b"4", "dog/e.bin": b"e", "dog/e.cls": b"9"})
            pack(old, self.dest, container, "none", "--shard-count", "2")
            self.assertEqual(manifest_of(self.dest)["class_samples"], [1, 1])
            append(1, {"owl/f.bin": b"f", "cat/g.bin": b"g", "cat/g.cls": b"3"}, 1, 1, 2)
            append(2, {"pig/h.bin": b"h"}, 1, 1, 2, 2)
            write(self.path("keys"), b"dog/c\n")
            sheaf("edit", self.dest, "--delete", self.path("keys"))
            append(3, {"cat/i.bin": b"i"}, 2, 0, 2, 2)
            append(4, {"yak/j.bin": b"j"}, 2, 0, 2, 2, 2)

    def test_files_without_a_class_for_a_data_set_with_classes(self):
        """Files without a class are refused even if no new file has one, because the directory of a class is not the
        class itself."""
        self.pack()
        said = b"6 samples without a label among others that have one, such as \"b00\": "
        for more in (("--dry-run",), ()):
            done = self.append(*more, source=os.path.join(self.new, "ant"))
            self.assertIn(said, done.stderr)
        sheaf("pack", os.path.join(self.old, "cat"), self.path("flat"), "--format", "tfrecord")
        done = sheaf("append", os.path.join(self.new, "ant"), self.path("flat"))
        self.assertNotIn(b"without a label", done.stderr)

    def test_keys_that_are_there(self):
        before = self.pack()
        source = make_tree(self.path("source"), {**tree_of(self.new), "cat/a00.bin": b"again",
                                                 "cat/a00.txt": b"of one key", "dog/new.bin": b"x"})
        done = self.append(source=source, status=1)
        self.assert_error(done, "cat/a00.bin", "has a sample with this key already",
                          "1 more bad file")
        self.assertEqual(tree_of(self.dest), before)
        done = self.append("--on-error", "skip", source=source)
        self.assertIn(b"13 of 15 files packed, 2 files skipped", done.stdout)
        self.assertEqual(read(os.path.join(self.dest, "skipped-1.tsv")).count(b"\n"), 2)
        self.assertEqual(len(labels(self.dest)), 25)

    def test_split(self):
        """A split grows like any data set, but its new classes are numbered without those of the other splits."""
        pack(self.old, self.dest, "webdataset", "none", "--split", "train=0.5,val=0.5")
        train = os.path.join(self.dest, "train")
        done = sheaf("append", self.new, train)
        self.assertIn(b"is the split train, and has new classes now: ant has number 2", done.stderr)
        again = make_tree(self.path("again"), {"ant/z.bin": b"z"})
        self.assertEqual(sheaf("append", again, train).stderr, b"")
        sheaf("verify", train)

    def splits(self, spec, classes=("cat", "dog"), count=50, **how):
        """Packs a data set of several splits, and returns the keys of each."""
        old = make_tree(self.path("older"), {"%s/a%03d.bin" % (name, i): b"%d" % i
                                             for name in classes for i in range(count)})
        pack(old, self.dest, how.get("container", "webdataset"), "none", "--split", spec, "--seed",
             "3")
        return self.split_keys(spec)

    def split_keys(self, spec):
        return {name: {sample.key for sample in libsheaf.samples(os.path.join(self.dest, name))}
                for name in (part.split("=")[0] for part in spec.split(","))}

    def more(self, name, classes=("cat", "dog"), count=20):
        return make_tree(self.path(name), {"%s/%s%03d.bin" % (c, name, i): b"%d" % i
                                           for c in classes for i in range(count)})

    def test_all_splits(self):
        """New samples are divided among all splits in the same proportions, and no key changes its split."""
        spec = "train=0.8,val=0.2"
        for container in CONTAINERS:
            shutil.rmtree(self.dest, ignore_errors=True)
            before = self.splits(spec, container=container)
            more = self.more("b-" + container, ("cat", "dog", "owl"))
            dry = sheaf("append", more, self.dest, "--dry-run").stdout
            self.assertEqual([line.split(b"/")[0] for line in dry.splitlines()], [b"train", b"val"])
            done = sheaf("append", more, self.dest)
            self.assertIn(b"appended 60 samples", done.stdout)
            self.assertEqual(done.stderr, b"")
            after = self.split_keys(spec)
            new = {name: after[name] - before[name] for name in after}
            self.assertEqual({name: len(keys) for name, keys in new.items()}, {"train": 48, "val": 12})
            for name in new:
                self.assertTrue(before[name] < after[name])
                self.assertEqual({c: sum(key.startswith(c) for key in new[name])
                                  for c in ("cat", "dog", "owl")},
                                 dict.fromkeys(("cat", "dog", "owl"), {"train": 16, "val": 4}[name]))
                manifest = manifest_of(os.path.join(self.dest, name))
                self.assertEqual(manifest["classes"], ["cat", "dog", "owl"])
                sheaf("verify", os.path.join(self.dest, name))
            self.assertFalse(after["train"] & after["val"])
            # the same samples again: each split knows those of the other
            both = make_tree(self.path("again-" + container), {
                sorted(before["val"])[0] + ".bin": b"x", sorted(before["train"])[0] + ".bin": b"x"})
            self.assert_error(sheaf("append", both, self.dest, status=1), "this key already")
            done = sheaf("append", both, self.dest, "--on-error", "skip")
            self.assertIn(b"nothing to append", done.stderr)
            self.assertEqual(self.split_keys(spec), after)

    def test_all_splits_one_by_one(self):
        """The totals keep the proportions even if each append has one sample."""
        spec = "train=0.8,val=0.2"
        before = self.splits(spec, count=10)
        for i in range(10):
            sheaf("append", make_tree(self.path("one%d" % i), {"cat/n%d.bin" % i: b"n"}), self.dest)
        after = self.split_keys(spec)
        self.assertEqual([len(after[name]) - len(before[name]) for name in ("train", "val")], [8, 2])

    def test_all_splits_of_so_many(self):
        """A split with so many samples of each class gets only those that it lacks."""
        spec = "train=40/class,val=rest"
        self.splits(spec)
        for name, skip, expected in (("b", (), 30), ("c", ("--on-error", "skip"), 40)):
            sheaf("append", self.more(name, ("cat", "owl"), 30), self.dest, *skip)
            train = self.split_keys(spec)["train"]
            self.assertEqual([sum(key.startswith(c) for key in train) for c in ("cat", "dog", "owl")],
                             [40, 40, expected])

    def test_a_new_class_of_so_many_that_has_samples(self):
        """Samples that had the label of a class before it was one count among the N samples of the class."""
        spec = "train=6/class,val=rest"
        for container in CONTAINERS:
            dest = self.path("set-" + container)
            pack(make_tree(self.path("a"), {"aa/%d.bin" % i: b"a" for i in range(9)}), dest, container, "none",
                 "--split", spec)
            numbered = make_tree(self.path("n"), {
                name: data for i in range(4) for name, data in (("n%d.bin" % i, b"n"), ("n%d.cls" % i, b"1"))})
            sheaf("append", numbered, os.path.join(dest, "train"))
            new = make_tree(self.path("b"), {"bb/%d.bin" % i: b"b" for i in range(9)})
            for _ in range(2):
                sheaf("append", new, dest, "--resume")
                self.assertEqual([manifest_of(os.path.join(dest, name))["class_samples"] for name in ("train", "val")],
                                 [[6, 6], [3, 7]])
                for name in ("train", "val"):
                    sheaf("verify", os.path.join(dest, name))

    def test_resume_of_all_splits_of_so_many(self):
        """A finished append is found again, though the samples that it added count for its own division."""
        spec = "train=4/class,val=3/class,test=rest"
        old = {"cat/a%02d.bin" % i: b"%d" % i for i in range(12)}
        pack(make_tree(self.path("older"), {**old, **{"dog/a%02d.bin" % i: b"d" for i in range(5)}}),
             self.dest, "webdataset", "none", "--split", spec)
        counts = [[4, 4], [3, 1], [5, 0]], [[4, 4, 4], [3, 3, 3], [5, 2, 1]], [[4, 4, 4], [3, 3, 3], [9, 2, 5]]
        sources = [make_tree(self.path("more%d" % i), {"%s/%s.bin" % (name, i * 100 + k): b"%d" % k
                                                       for name, count in new for k in range(count)})
                   for i, new in enumerate(((("dog", 4), ("owl", 8)), (("cat", 4), ("owl", 4))))]
        self.assertEqual(self.class_samples(spec), counts[0])
        for source, expected in zip(sources, counts[1:]):
            sheaf("append", source, self.dest, "--split", spec)
            self.assertEqual(self.class_samples(spec), expected)
            after = tree_of(self.dest)
            for words in (("--split", spec), ()):
                done = sheaf("append", source, self.dest, *words, "--resume")
                self.assertIn(b"of them kept", done.stdout)
                self.assertEqual(done.stderr, b"")
                self.assertEqual(tree_of(self.dest), after)
        for name in ("train", "val", "test"):
            sheaf("verify", os.path.join(self.dest, name))

    def test_resume_between_splits_of_so_many(self):
        """If only some splits have been published, the others get the samples that the whole append gives them."""
        spec = "train=4/class,val=3/class,test=rest"
        pack(make_tree(self.path("older"), {"%s/a%02d.bin" % (name, i): b"%d" % i
                                            for name, count in (("cat", 12), ("dog", 5)) for i in range(count)}),
             self.dest, "webdataset", "none", "--split", spec)
        before = tree_of(self.dest)
        more = self.more("b", ("dog", "owl"), count=9)
        sheaf("append", more, self.dest)
        whole = tree_of(self.dest)
        for kept in ("train", "val", "test"):
            restore(self.dest, {name: data for name, data in before.items() if not name.startswith(kept + "/")})
            restore(os.path.join(self.dest, kept), {name[len(kept) + 1:]: data for name, data in whole.items()
                                                    if name.startswith(kept + "/")})
            sheaf("append", more, self.dest, "--resume")
            self.assertEqual(tree_of(self.dest), whole, kept)

    def class_samples(self, spec):
        return [manifest_of(os.path.join(self.dest, part.split("=")[0]))["class_samples"]
                for part in spec.split(",")]

    def test_other_proportions(self):
        spec = "train=0.8,val=0.2"
        before = self.splits(spec)
        more = self.more("b")
        for wrong, words in (("train=1.0", "also a split"), ("a=0.5,b=0.5", "a")):
            self.assert_error(sheaf("append", more, self.dest, "--split", wrong, status=None), words)
        train = os.path.join(self.dest, "train")
        self.assert_error(sheaf("append", more, train, "--split", spec, status=None), "one data set")
        sheaf("append", more, self.dest, "--split", "train=0.5,val=0.5")
        after = self.split_keys(spec)
        self.assertEqual([len(after[name]) - len(before[name]) for name in ("train", "val")], [20, 20])

    def test_all_splits_of_which_one_gets_bad_files_only(self):
        spec = "train=0.5,val=0.5"
        before = self.splits(spec)
        more = make_tree(self.path("more"), {"cat/n.bin": b"n", "cat/x.jpg": b""})
        done = sheaf("append", more, self.dest, "--on-error", "skip")
        after = self.split_keys(spec)
        self.assertEqual(sorted(len(after[name]) - len(before[name]) for name in after), [0, 1])
        grown = next(name for name in after if after[name] != before[name])
        shard = manifest_of(os.path.join(self.dest, grown))["shards"][-1]
        self.assertIn(b"appended 1 sample (1 payload byte) in 1 shard (%d bytes)" % shard["bytes"],
                      done.stdout)

    def test_all_splits_killed(self):
        """After a kill at any moment, --resume completes all splits, and no sample is in two of them."""
        for spec in ("train=0.8,val=0.2", "train=40/class,val=6/class,test=rest"):
            with self.subTest(spec=spec):
                shutil.rmtree(self.dest, ignore_errors=True)
                self.splits(spec)
                self.kill_at_each_call(spec)

    def kill_at_each_call(self, spec):
        names = [part.partition("=")[0] for part in spec.split(",")]
        more = self.more("b%d" % len(names), ("cat", "dog", "owl"), count=40)
        before, words = tree_of(self.dest), ("append", more, self.dest, "--shard-count", "2", "--jobs", "1")
        sheaf(*words)
        whole, partial = tree_of(self.dest), 0
        step = 3 if len(names) == 2 else KILL_STEP
        for at in kills(self, step, lambda: restore(self.dest, before), *words):
            partial += len({"grown" in manifest_of(os.path.join(self.dest, name)) for name in names}) == 2
            sheaf(*words, "--resume")
            self.assertEqual(tree_of(self.dest), whole, "killed at call %d" % at)
        if step == 3:       # with larger steps, no kill may come between the two manifests
            self.assertGreater(partial, 0)
        sheaf(*words, "--resume")
        self.assertEqual(tree_of(self.dest), whole)

    def test_all_splits_others_meanwhile(self):
        """While one run appends to all splits, other runs at these splits are refused, or lose nothing."""
        spec = "train=0.5,val=0.5"
        more, other = self.more("b"), self.more("x", count=2)
        for at in ("shard-000001.tar", "dataset-1.index", "dataset.json"):
            for place in ("", "train", "val"):
                for how in ((), ("--resume",), ("--overwrite",)):
                    with self.subTest(at=at, place=place, how=how):
                        shutil.rmtree(self.dest, ignore_errors=True)
                        before = self.splits(spec)
                        run, mark = held(self, at, "append", more, self.dest, "--shard-count", "1")
                        done = sheaf("append", other, os.path.join(self.dest, place), *how, status=None)
                        status = released(run, mark)[0]
                        self.assertIn((done.returncode, status), ((1, 0), (0, 1), (0, 0)))
                        after = self.split_keys(spec)
                        self.assertEqual(sum(map(len, after.values())), len(set().union(*after.values())))
                        keys = set().union(*after.values()) - set().union(*before.values())
                        new = {key for key in keys if key[4] == "b"}
                        self.assertEqual(len(keys - new), 4 * (done.returncode == 0))
                        self.assertEqual(len(new) == 40, status == 0)
                        for name in before:
                            self.assertEqual(libsheaf.problems(os.path.join(self.dest, name)), [])
                        sheaf("append", more, self.dest, "--shard-count", "1", "--on-error", "skip", "--resume",
                              status=None)
                        sheaf("append", more, self.dest, "--on-error", "skip", "--overwrite")
                        keys = set().union(*self.split_keys(spec).values())
                        self.assertEqual(sum(key[4] == "b" for key in keys), 40)

    def test_a_bad_file_changes_no_split(self):
        spec = "train=0.5,val=0.5"
        self.splits(spec)
        before = self.split_keys(spec)
        more = self.more("b")
        with open(os.path.join(more, "cat", "zz.jpg"), "wb") as file:
            file.write(b"no JPEG")
        self.assert_error(sheaf("append", more, self.dest, status=1), "zz.jpg")
        self.assertEqual(self.split_keys(spec), before)
        for name in before:
            self.assertNotIn("grown", manifest_of(os.path.join(self.dest, name)))
        sheaf("append", more, self.dest, "--on-error", "skip", "--overwrite")
        self.assertEqual(read(os.path.join(self.dest, "train", "skipped-1.tsv")).count(b"\n"), 1)
        self.assertEqual(sum(map(len, self.split_keys(spec).values())), 140)

    def test_shards_without_the_manifest(self):
        """Without the manifest they are foreign shards, and files beside them do not belong to them."""
        self.pack()
        self.append()
        os.unlink(os.path.join(self.dest, "dataset.json"))
        self.assertEqual(len(listing(self.dest)), 24)
        self.assert_error(sheaf("index", self.dest, status=1), "belongs to no data set")
        sheaf("index", self.dest, "--overwrite")
        sheaf("verify", self.dest)

    def test_conversion_of_what_has_grown(self):
        plan = self.path("plan")
        self.pack()
        self.append()
        sheaf("convert", self.dest, self.path("all"), "--format", "tfrecord")
        self.assertEqual(labels(self.path("all")), labels(self.dest))
        sheaf("plan", self.dest, self.path("parts"), "-o", plan, "--format", "tfrecord")
        more = make_tree(self.path("more"), {"cat/more.bin": b"m"})
        sheaf("append", more, self.dest)
        self.assert_error(sheaf("convert", "--plan", plan, status=1),
                          "has grown or was edited since the plan")

    def test_nothing_new(self):
        """If nothing is new, the command succeeds, but only if the data set has all samples. The leftovers of another
        run still prevent it."""
        before = self.pack()
        for more in ((), ("--dry-run",), ("--resume",), ("--overwrite",)):
            done = self.append("--on-error", "skip", *more, source=self.old)
            self.assertEqual((done.stdout, done.stderr.decode()), (
                b"", "sheaf: nothing to append: the data set has all of these keys already "
                "(12 files)\n"))
            self.assertEqual(tree_of(self.dest), before)
        self.assert_error(self.append("--dry-run", source=self.old, status=1), "this key already")

    def test_nothing_new_but_bad_files(self):
        """If all new files are bad, they are named and nothing is appended, whether they are found by listing or by
        reading. A source of bad files alone is an error, as for pack."""
        before = self.pack()
        for bad, reason in (("cat/new.jpg", "the file is empty"), ("cat/nosuffix", "key.suffix")):
            source = make_tree(self.path(os.path.basename(bad)), {**tree_of(self.old), bad: b""})
            for more in ((), ("--resume",), ("--overwrite",)):
                done = self.append("--on-error", "skip", *more, source=source)
                self.assertEqual(done.stdout, b"")
                self.assertRegex(done.stderr.decode(), "^sheaf: skipped: %s: .*%s.*\nsheaf: nothing "
                                 "was appended: the data set has 12 files already, and 1 bad file "
                                 "was skipped\n$" % (bad, reason))
                self.assertEqual(tree_of(self.dest), before)
            self.append(source=source, status=1)
            alone = make_tree(self.path("alone"), {bad: b""})
            self.append("--on-error", "skip", source=alone, status=1)
            os.unlink(os.path.join(alone, bad))
        self.assertEqual(tree_of(self.dest), before)

    def test_known_samples_are_counted(self):
        """Known samples are counted once, and listed only with --verbose."""
        self.pack()
        source = make_tree(self.path("source"), {**tree_of(self.old), **tree_of(self.new),
                                                 "cat/bad.jpg": b""})
        dry = self.append("--on-error", "skip", "--dry-run", source=source)
        self.assertEqual(dry.stderr, b"")
        done = self.append("--on-error", "skip", source=source)
        self.assertEqual(done.stderr, b"sheaf: skipped: cat/bad.jpg: the file is empty\n")
        self.assertIn(b"; 12 of 25 files packed, 13 files skipped; the data set has 12 of the "
                      b"skipped already\n", done.stdout)
        done = self.append("--on-error", "skip", "--verbose", source=self.old)
        self.assertEqual(done.stderr.count(b"a sample with this key already"), 12)

    def test_nothing_new_after_something_new(self):
        """Samples of an earlier append are not reported as appended."""
        self.pack()
        self.append()
        for more in ((), ("--resume",)):
            done = self.append("--on-error", "skip", *more, source=self.old)
            self.assertEqual(done.stdout, b"")
            self.assertIn(b"nothing to append", done.stderr)

    def test_options_that_are_not_given_again(self):
        """The options of the data set are used as if they were given."""
        again = ("--field-alias", "bin=data", "--key-end", "last-dot", "--class-depth", "1")
        photo = {"cat/x.y.jpg": jpeg(32, 24, 3), "cat/z.bin": b"z",
                 "cat/deep/w.png": images.saved(images.photo(20, 30), "PNG")}
        source = make_tree(self.path("photos"), photo)
        for options in (again, ("--fix-images", "--quality", "71"),
                        ("--resize", "8", "--resize-mode", "longer"),
                        (*again, "--fix-images", "--resize", "9", "--field-alias", "png=jpg")):
            grown = []
            for given in (options, ()):
                self.pack(*options)
                done = self.append(*given, source=source)
                self.assertNotIn(b"was packed with", done.stderr)
                grown.append((tree_of(self.dest),
                              manifest_of(self.dest)["grown"][0]["options"]))
            self.assertEqual(grown[0], grown[1])
        self.pack("--resize", "64")
        self.assertIn(b"packed with resize 64, but what is appended with 32\n",
                      self.append("--dry-run", "--resize", "32").stderr)
        self.assertNotIn(b"was packed with", self.append("--resize", "64").stderr)

    def test_dry_run(self):
        before = self.pack()
        done = self.append("--dry-run")
        self.assertEqual([line.split("\t")[:2] for line in done.stdout.decode().splitlines()],
                         [["shard-000003.tar", "6"], ["shard-000004.tar", "6"]])
        self.assertEqual(tree_of(self.dest), before)

    # ---- Others meanwhile -----------------------------------------------------------------------

    def test_others_meanwhile(self):
        """Readers see the old data set until the manifest has its name. A second run is refused."""
        words = ("append", self.new, self.dest, "--shard-count", "2")
        other_files = make_tree(self.path("other"), {"cat/other.bin": b"o"})
        for at in ("shard-000004.tar", "dataset-1.index", "dataset-1.keys", "dataset.json"):
            with self.subTest(at=at):
                before = self.pack()
                run, mark = held(self, at, *words)
                self.assertEqual(len(listing(self.dest)), 12)
                sheaf("verify", self.dest)
                for other in (("append", other_files, self.dest), (*words, "--resume"),
                              (*words, "--overwrite"),
                              ("pack", self.old, self.dest, "--format", "webdataset",
                               "--overwrite")):
                    self.assert_error(sheaf(*other, status=1), self.dest)
                self.assertEqual(released(run, mark)[0], 0)
                self.check_kept(before)
                self.assertEqual(len(listing(self.dest)), 24)
                sheaf("verify", self.dest)

    def test_reader_that_has_it_open(self):
        """The reader opens further shards with the index that it had before."""
        old = make_tree(self.path("big"), files(("cat", "dog"), "r", 60, 20000))
        sheaf("pack", old, self.dest, "--format", "webdataset", "--shard-count", "12")
        reader = subprocess.Popen([SHEAF, "cat", self.dest, "--threads", "1", "--memory", "4MiB",
                                   "--to", "webdataset"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = reader.stdout.read(4096)
        self.append()
        rest, errors = reader.communicate(timeout=60)
        self.assertEqual((reader.returncode, errors), (0, b""))
        self.assertEqual(len(decoders.tar_frames(first + rest)), 60)
        self.assertEqual(len(listing(self.dest)), 72)

    # ---- Killed ---------------------------------------------------------------------------------

    def test_killed_anywhere(self):
        """After a kill, readers find the old data set or the whole new one. If the run is resumed, or repeated after
        its leftovers were removed, the result has the bytes of an uninterrupted run."""
        words = ("append", self.new, self.dest, "--shard-count", "2", "--jobs", "1")
        start = self.pack("--index", "wids")
        sheaf(*words)
        whole = tree_of(self.dest)
        self.assertEqual(len(labels(self.dest)), 24)
        ends = []
        for at in kills(self, KILL_STEP, lambda: restore(self.dest, start), *words):
            count = len(listing(self.dest))
            self.assertIn(count, (12, 24), at)
            sheaf("verify", self.dest)
            ends.append(count)
            if at % 2 == 0:
                sheaf(*words, "--resume")
            elif count == 12:
                sheaf(*words, "--overwrite")
            else:       # the run had published, and its leftovers prevent nothing
                more = make_tree(self.path("third"), {"cat/third.bin": b"3"})
                sheaf("append", more, self.dest, "--overwrite")
                self.assertEqual(len(listing(self.dest)), 25)
                sheaf("verify", self.dest)
                continue
            self.assertEqual(tree_of(self.dest), whole, at)
        self.assertGreater(len(ends), 5)

    def test_killed_while_it_removed_its_claim(self):
        """The data set has grown, and the claim is in the stage of the run that was killed."""
        words = ("append", self.new, self.dest, "--shard-count", "2")
        self.pack()
        sheaf(*words)
        whole = tree_of(self.dest)
        write(os.path.join(self.dest, ".sheaf-partial", "5" * 32 + ".stage", "plan.5555555555555555"),
              b"sheaf-plan 2\n")
        sheaf(*words, "--resume")
        self.assertEqual(tree_of(self.dest), whole)

    def test_left_alone_and_replaced(self):
        """A run that replaces the data set also removes the shards that the killed run had appended."""
        self.pack()
        run, mark = held(self, "dataset.json", "append", self.new, self.dest, "--shard-count", "2")
        support.killed(run, mark)
        self.assert_error(self.append(status=1), "another run changes it, or was interrupted",
                          "if it has ended, --resume continues it and --overwrite starts again")
        done = sheaf("append", self.old, self.dest, "--resume", "--on-error", "skip", status=1)
        self.assert_error(done, "another plan")
        more = make_tree(self.path("more"), {"cat/more.bin": b"m"})
        self.assert_error(sheaf("append", more, self.dest, "--resume", status=1),
                          "another plan")
        pack(self.new, self.dest, "webdataset", "none", "--overwrite", "--shard-count", "1")
        self.assertEqual(sorted(os.listdir(self.dest)),
                         ["dataset.index", "dataset.json", "dataset.keys", "shard-000000.tar"])
        self.pack()
        self.append()
        pack(self.new, self.dest, "webdataset", "none", "--overwrite", "--shard-count", "1")
        self.assertEqual(sorted(os.listdir(self.dest)),
                         ["dataset.index", "dataset.json", "dataset.keys", "shard-000000.tar"])

    def test_resume_counts_what_was_left_out(self):
        """For existing samples, a resumed run reports the same numbers of skipped and converted files as the first
        run."""
        self.pack()
        source = make_tree(self.path("source"), {"cat/x.txt": b"x", "cat/y.jpg": b"", "cat/y.txt":
                                                 b"y", "cat/z.jpg": jpeg(components=4)})
        words = ("--on-error", "skip", "--fix-images")
        for more, kept in (((), b""), (("--resume",), b" of them kept")):
            done = self.append(*words, *more, source=source)
            self.assertIn(kept + b"; 2 of 4 files packed, 2 files skipped, 1 image converted\n",
                          done.stdout)

    def test_resume_of_what_is_there(self):
        self.pack()
        self.append()
        after = tree_of(self.dest)
        self.assertIn(b"2 of them kept", self.append("--resume").stdout)
        self.assertEqual(tree_of(self.dest), after)
        for words in (("pack", self.old, self.dest, "--format", "webdataset", "--shard-count",
                       "3", "--resume"),):
            self.assert_error(sheaf(*words, status=1), "has grown since, from 12 to 24 samples",
                              "--overwrite replaces it")
        self.assertEqual(tree_of(self.dest), after)

    def test_plan_of_what_has_grown(self):
        plan = self.path("plan")
        sheaf("plan", self.old, self.dest, "-o", plan, "--format", "webdataset", "--shard-count",
              "3")
        self.assert_error(sheaf("append", self.new, self.dest, status=1), "holds an unfinished run")
        sheaf("pack", "--plan", plan)
        self.assert_error(sheaf("append", self.new, self.dest, status=1), "holds an unfinished run")
        sheaf("commit", plan)
        self.assertEqual(sheaf("pack", "--plan", plan, "--part", "1/2").stdout,
                         b"part 1 of 2: the data set is complete already\n")
        self.append()
        after = tree_of(self.dest)
        for words in (("commit", plan), ("pack", "--plan", plan, "--part", "0/2")):
            self.assert_error(sheaf(*words, status=1), "has grown since, from 12 to 24 samples",
                              "append to the data set, or replace it by a new plan")
        self.assertIn(b"committed", sheaf("info", plan).stdout)
        self.assertEqual(tree_of(self.dest), after)

    # ---- Damage ---------------------------------------------------------------------------------

    def test_damage(self):
        self.pack()
        self.append()
        good = tree_of(self.dest)
        for name, at in (("dataset-1.index", 60), ("dataset-1.keys", 80), ("shard-000004.tar", 600),
                         ("dataset-1.index", None), ("shard-000003.tar", None)):
            with self.subTest(name=name, at=at):
                path = os.path.join(self.dest, name)
                os.unlink(path) if at is None else write(path, flip(good[name], at))
                done = sheaf("verify", self.dest, status=1)
                self.assert_error(done, name)
                write(path, good[name])
        sheaf("verify", self.dest)


class Killed(Case):
    """Each run is killed while the service executes one of its requests."""

    def setUp(self):
        super().setUp()
        servers.start_fake(self)

    def test_all_splits(self):
        """After a kill at any request, --resume completes all splits."""
        old = make_tree(self.path("old"), {"%s/a%02d.bin" % (name, i): b"%d" % i
                                           for name in ("cat", "dog") for i in range(12)})
        new = make_tree(self.path("new"), {"%s/b%02d.bin" % (name, i): b"%d" % i
                                           for name in ("cat", "dog", "owl") for i in range(8)})
        few = b'sheaf: split: test has no sample of 1 class with at most 11 samples: "owl" (8)\n'
        for spec, says in (("train=0.8,val=0.2", b""), ("train=10/class,val=1/class,test=rest", few)):
            with self.subTest(spec=spec):
                self.objects.clear()
                sheaf("pack", old, "s3://bucket/set", "--format", "tfrecord", "--split", spec, env=self.env)
                self.kill_at_each_request(new, says)

    def kill_at_each_request(self, new, says):
        step = 12 if support.QUICK else 4
        before, at = dict(self.objects), support.random.Random(support.seed()).randrange(step) - step
        words = [SHEAF, "append", new, "s3://bucket/set", "--shard-count", "2"]
        sheaf(*words[1:], env=self.env)
        whole = self.stored()
        while True:
            self.objects.clear()
            self.objects.update(before)
            at += step
            process, left = None, [max(at, 1)]

            def served(_method, _key, _query):
                left[0] -= 1
                if left[0] == 0:
                    process.kill()
            self.server.served = served
            process = subprocess.Popen(words, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            errors = process.communicate()[1]
            self.server.served = None
            if left[0] > 0:
                self.assertEqual((process.returncode, errors), (0, says))
                break
            sheaf(*words[1:], "--resume", env=self.env)
            self.assertEqual(self.stored(), whole, "killed at request %d" % at)

    def stored(self):
        """Returns the objects. A run that takes over from another one may change the newline at the end of a
        manifest."""
        return {key: value.data.rstrip(b"\n") if key.endswith(".json") else value.data
                for key, value in self.objects.items()}


class Remote(servers.S3Case):
    """In S3, an object that readers use is never written again."""

    def test_append(self):
        old = make_tree(self.path("old"), files(("cat", "dog"), "a", 40, 30000))
        new = make_tree(self.path("new"), files(("ant", "cat"), "b"))
        dest = self.url("set")
        self.sheaf("pack", old, dest, "--format", "webdataset", "--shard-count", "8")
        reader = subprocess.Popen([SHEAF, "cat", dest, "--memory", "4MiB", "--to", "webdataset"],
                                  env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = reader.stdout.read(4096)
        self.sheaf("append", new, dest, "--shard-count", "2")
        rest, errors = reader.communicate(timeout=60)
        self.assertEqual((reader.returncode, errors), (0, b""))
        self.assertEqual(len(decoders.tar_frames(first + rest)), 40)
        self.sheaf("verify", dest)
        self.assertEqual(len(self.sheaf("cat", dest, "--list").stdout.splitlines()), 52)
        self.assertIn(b"2 of them kept",
                      self.sheaf("append", new, dest, "--shard-count", "2", "--resume").stdout)
        local = self.path("local")
        sheaf("pack", old, local, "--format", "webdataset", "--shard-count", "8")
        sheaf("append", new, local, "--shard-count", "2")
        self.assert_same_objects("set", local)

    def test_killed_and_fetched(self):
        """After a kill, the data set can be copied, but another run may not begin."""
        old = make_tree(self.path("old"), files(("cat", "dog"), "a"))
        new = make_tree(self.path("new"), files(("ant", "cat"), "b"))
        dest = self.url("set")
        self.sheaf("pack", old, dest, "--format", "webdataset", "--shard-count", "3")
        self.put_claim(dest)
        for words in ((), ("--resume",)):
            self.assertEqual(self.sheaf("append", new, dest, *words, status=1).returncode, 1)
        self.sheaf("fetch", dest, self.path("copy"))
        self.assertEqual(len(listing(self.path("copy"))), 12)
        self.sheaf("verify", dest)
        self.sheaf("append", new, dest, "--overwrite")
        self.sheaf("verify", dest)
        self.assertEqual(len(self.sheaf("cat", dest, "--list").stdout.splitlines()), 24)

    def put_claim(self, dest):
        """Stores the claim of a local run that was stopped."""
        local = self.path("stopped")
        more = make_tree(self.path("more"), {"cat/more.bin": b"m"})
        sheaf("pack", self.path("old"), local, "--format", "webdataset", "--shard-count", "3")
        run, _ = held(self, "dataset-1.index", "append", more, local)
        run.send_signal(signal.SIGKILL)
        run.communicate()
        folder = os.path.join(local, ".sheaf-partial")
        for name in os.listdir(folder):
            if not name.endswith((".tmp", ".stage")):
                self.client.request("PUT", "/%s/set/.sheaf-partial/%s" % (self.bucket, name),
                                    body=read(os.path.join(folder, name)))


if __name__ == "__main__":
    support.unittest.main()
