# SPDX-License-Identifier: MIT
"""Tests plans whose parts are packed anywhere: in any order, twice, at the same time, and by killed processes. The data
set must equal that of `sheaf pack` byte for byte. This module has the tests for local directories; parts.py has those
that S3 must pass as well."""

import gzip
import json
import os
import random
import re
import unittest

import support
from parts import Parts, odd_tree
from support import QUICK, Case, image_tree, make_tree, pack, read, seed, sheaf, tree_of, write


class Local(Parts, Case):
    def run_sheaf(self, *words, **how):
        return sheaf(*words, **how)

    def environment(self):
        return None

    def spot(self, name):
        return self.path(name)

    def source_of(self, tree):
        return tree

    def compare(self, one, many):
        self.assert_same_tree(one, many)
        self.assertFalse(os.path.exists(os.path.join(many, ".sheaf-partial")))

    def everything(self, dest):
        return tree_of(dest)

    def assert_not_committed(self, dest):
        self.assertFalse(os.path.exists(os.path.join(dest, "dataset.json")))

    def change(self, source, path, data):
        """Writes other content, and makes sure that the file's time differs, however fast the machine is."""
        path = os.path.join(source, path)
        if data is None:
            os.unlink(path)
        else:
            moment = os.stat(path).st_mtime_ns + 1000000000 if os.path.exists(path) else None
            write(path, data)
            if moment is not None:
                os.utime(path, ns=(moment, moment))

    def cut(self, dest, name):
        path = os.path.join(dest, name)
        os.truncate(path, os.path.getsize(path) - 1)

    def alter(self, dest, name, change):
        self.change(dest, name, change(read(os.path.join(dest, name))))

    # ---- What has nothing to do with the place -------------------------------------------------

    def test_plan_where_a_pack_was_interrupted(self):
        """A run without a stored plan cannot be continued by a plan. The error says so."""
        source = make_tree(self.path("source"), dict(image_tree(2, 5), **{"z/bad.jpg": b"x"}))
        words = (source, self.path("set"), "--format", "webdataset", "--shard-count", "5", "--no-shuffle")
        sheaf("pack", *words, "--jobs", "1", status=1)
        os.unlink(os.path.join(source, "z/bad.jpg"))
        for more, said in (((), "unfinished run (process "), (("--resume",), "or of no stored plan (process ")):
            self.assert_error(sheaf("plan", *words, "-o", self.path("plan"), *more, status=1), said,
                              "--overwrite starts again")

    def test_a_plan_in_its_source(self):
        """The plan would be a file of the next plan, so it is refused before it is written."""
        source = make_tree(self.path("source"), image_tree(2, 3))
        for place in ("plan", sorted(os.listdir(source))[0] + "/plan"):
            self.assert_error(sheaf("plan", source, self.path("set"), "-o", os.path.join(source, place), "--format",
                                    "webdataset", status=None), "is inside the source", "choose a place outside")
        self.assertFalse(os.path.exists(os.path.join(source, "plan")) or os.path.exists(self.path("set")))
        self.assert_error(sheaf("pack", source, self.path("set"), "--format", "webdataset", "--metrics",
                                os.path.join(source, "metrics"), status=2), "choose a place outside")
        self.assertFalse(os.path.exists(os.path.join(source, "metrics")))

    def test_several_sources(self):
        files = image_tree(4, 10)
        source = make_tree(self.path("source"), files)
        some = sorted({path.split("/")[0] for path in files})
        inner = make_tree(self.path("inner"), {p: d for p, d in files.items()
                                               if p.split("/")[0] in some[:3]})
        pack(inner, self.path("one"))
        sheaf("plan", *(os.path.join(source, name) for name in some[:3]), self.path("many"), "-o",
              self.path("plan"), "--format", "webdataset")
        sheaf("pack", "--plan", self.path("plan"))
        sheaf("commit", self.path("plan"))
        self.compare(self.path("one"), self.path("many"))
        self.assert_error(sheaf("plan", source, os.path.join(source, some[0]), self.path("x"),
                                "-o", self.path("y"), "--format", "webdataset", status=None),
                          "is also a source")
        pack(inner, os.path.join(source, "set"))
        self.assert_error(sheaf("plan", os.path.join(source, some[0]), os.path.join(source, "set"),
                                self.path("x"), "-o", self.path("y"), "--format", "webdataset",
                                "--on-error", "skip", status=None), "is a data set, not files")

    def test_lists(self):
        files = image_tree(4, 10)
        source = make_tree(self.path("source"), files)
        names = sorted(files)
        lists = {
            "plain": "".join(n + "\n" for n in names).encode(),
            "a.csv": "".join("%s,%d\n" % (n, int(n[:3]) % 3) for n in names).encode(),
            "b.lst": "".join("%d\t%s\t0.5\t%s\n" % (i, int(n[:3]), n)
                             for i, n in enumerate(names)).encode(),
        }
        for name, data in lists.items():
            with self.subTest(name):
                write(os.path.join(source, name), data)
                self.check(os.path.join(source, name), "webdataset", "none", "--shard-count", "3",
                           "--root", source)
                write(os.path.join(source, name + ".gz"), gzip.compress(data))
                pack(os.path.join(source, name), self.path("plain-" + name))
                pack(os.path.join(source, name + ".gz"), self.path("gz-" + name))
                self.assert_same_tree(self.path("plain-" + name), self.path("gz-" + name))

    def test_order_and_splits_of_many(self):
        """The source has more files than one buffer of the sort holds."""
        count = 3000 if QUICK else 30000
        folder = self.path("source")
        for i in range(count):
            write(os.path.join(folder, "%d/%d.txt" % (i % 17, i)), b"%d" % i)
        self.check(folder, "webdataset", "none", "--split", "a=0.6,b=0.3,c=0.1", "--shard-size",
                   "5kB", "--memory", "16MiB")

    def test_a_sample_too_large_for_the_memory_is_refused_before_anything_is_written(self):
        """The error names the largest sample, and a limit that is just enough for all samples."""
        source = make_tree(self.path("source"), {"a/1.bin": bytes(15000000), "a/2.bin": bytes(20000000),
                                                 "b/3.bin": b"3"})
        many, plan = self.path("many"), self.path("plan")
        words = ("plan", source, many, "-o", plan, "--format", "webdataset")
        for more in ((), ("--check-images", "decode")):
            done = sheaf(*words, *more, "--memory", "24MiB", status=None)
            self.assert_error(done, "a/2.bin", "20000000", str(24 << 20), "and 1 other needs also too much", "--memory raises it")
            self.assertFalse(os.path.exists(plan))
            enough = re.search(rb"(\d+) MiB are enough for all samples", done.stderr).group(1).decode()
            sheaf("pack", source, self.path("one"), "--format", "webdataset", "--overwrite", *more,
                  "--memory", enough + "MiB")
            self.assert_error(sheaf(*words, *more, "--memory", "%dMiB" % (int(enough) - 1), status=None), "a/2.bin")
        sheaf(*words, "--memory", "64MiB")
        before = tree_of(many)
        done = sheaf("pack", "--plan", plan, "--memory", "24MiB", status=None)
        self.assert_error(done, "a/2.bin", "20000000", str(24 << 20))
        self.assertEqual(tree_of(many), before)
        enough = re.search(rb"(\d+) MiB are enough for all samples", done.stderr).group(1).decode()
        sheaf("pack", "--plan", plan, "--memory", enough + "MiB")
        sheaf("commit", plan)

    def test_bad_plans(self):
        source = make_tree(self.path("source"), image_tree(2, 10))
        plan = self.path("plan")
        self.plan(source, self.path("many"), plan, "webdataset", "none", "--shard-count", "3")
        data = read(plan)
        for name, bad, words in (
                ("empty", b"", "not a plan"),
                ("other", b"x" * 1000, "not a plan"),
                ("version", data[:8] + b"\x05" + data[9:], "of version 5"),
                ("cut", data[:-1], "truncated after"),
                ("longer", data + b"x", "truncated after"),
                ("foot", support.flip(data, len(data) - 40), "damaged"),
                ("section", support.flip(data, 30), "damaged")):
            with self.subTest(name):
                write(self.path("bad"), bad)
                done = sheaf("pack", "--plan", self.path("bad"), status=None)
                self.assert_error(done, words)
                self.assertNotIn("dataset.json", os.listdir(self.path("many")))
        chance = random.Random(seed())
        for _ in range(100):
            at = chance.randrange(len(data))
            write(self.path("bad"), support.flip(data, at, 1 << chance.randrange(8)))
            self.assert_error(sheaf("pack", "--plan", self.path("bad"), status=None))

    def test_convert(self):
        """A conversion by parts must equal the conversion by one machine."""
        source = make_tree(self.path("source"), odd_tree())
        origin = self.path("origin")
        for container, codec, (to, to_codec, *more) in (
                ("webdataset", "none", ("tfrecord", "gzip")),
                ("tfrecord", "lz4", ("recordio", "none", "--index", "mxnet")),
                ("recordio", "gzip", ("webdataset", "lz4"))):
            with self.subTest(container=container, to=to):
                pack(source, origin, container, codec, "--shard-size", "9kB", "--on-error",
                     "skip", "--overwrite", "--label-base", "1")
                one, many, plan = (self.path(n + to) for n in ("one", "many", "plan"))
                sheaf("convert", origin, one, "--format", to, "--codec", to_codec, *more)
                self.plan(origin, many, plan, to, to_codec, *more)
                order = [0, 1, 2, 3, 1]
                self.chance.shuffle(order)
                for part in order[:-1]:
                    sheaf("convert", "--plan", plan, "--part", "%d/4" % part)
                sheaf("convert", "--plan", plan)        # what is left, if anything is
                sheaf("commit", plan)
                self.compare(one, many)
        self.assert_error(sheaf("pack", "--plan", plan, status=None), "plan of a conversion")
        plan = self.path("plan-again")
        self.plan(origin, self.path("again"), plan, "tfrecord", "none")
        pack(source, origin, "recordio", "none", "--overwrite", "--on-error", "skip")
        self.assert_error(sheaf("convert", "--plan", plan, status=None), "has changed")
        plan = self.path("plan-third")
        self.plan(source, self.path("third"), plan, "tfrecord", "none", "--on-error", "skip")
        self.assert_error(sheaf("convert", "--plan", plan, status=None), "plan of files")

    def test_convert_makes_an_altered_shard_again(self):
        source = make_tree(self.path("source"), image_tree(3, 10))
        origin, one, many, plan = (self.path(n) for n in ("origin", "one", "many", "plan"))
        pack(source, origin, "webdataset", "none", "--shard-count", "4")
        sheaf("convert", origin, one, "--format", "tfrecord")
        self.plan(origin, many, plan, "tfrecord", "none")
        sheaf("convert", "--plan", plan)
        for number, harm in enumerate((lambda data: data[:-1], lambda data: support.flip(data, 99))):
            victim = os.path.join(many, "shard-00000%d.tfrecord" % number)
            write(victim, harm(read(victim)))
            os.utime(victim, (number, number))      # it may have been made in the same tick of the clock
        status = json.loads(sheaf("info", plan, "--json").stdout)
        self.assertEqual((status["done_shards"], status["missing_parts"]), (2, [0]))
        self.assertEqual(status["missing"], ["shard-000000.tfrecord", "shard-000001.tfrecord"])
        self.assert_error(sheaf("commit", plan, status=None), "2 of 4 shards are missing")
        self.assertIn(b"in 2 shards, and 2 kept", sheaf("convert", "--plan", plan).stdout)
        sheaf("commit", plan)
        self.compare(one, many)

    def test_shards_that_are_lost_later(self):
        """If shards of a published data set are lost later, a request for the state of its plan must report them."""
        tree = make_tree(self.path("source"), image_tree(3, 20))
        for split, place in (None, "shard-000002.tar"), ("train=0.5,val=0.5", "val/shard-000001.tar"):
            dest, plan = self.path("out"), self.path("plan")
            more = ("--split", split) if split else ()
            sheaf("plan", tree, dest, "-o", plan, "--format", "webdataset", "--shard-count", "4",
                  "--overwrite", *more)
            sheaf("pack", "--plan", plan)
            sheaf("commit", plan)
            sheaf("commit", plan)
            kept = read(os.path.join(dest, place))
            total = 8 if split else 4
            for lost, how in (None, "(missing)"), (kept[:-512], "(%d bytes, expected %d)" %
                                                   (len(kept) - 512, len(kept))):
                if lost is None:
                    os.unlink(os.path.join(dest, place))
                else:
                    write(os.path.join(dest, place), lost)
                for words in ("commit", plan), ("pack", "--plan", plan), \
                        ("pack", "--plan", plan, "--part", "0/9"):
                    error = sheaf(*words, status=1).stderr.decode()
                    self.assertIn("the data set was published, but of its 5 files 1 is missing "
                                  "or altered: %s %s" % (os.path.basename(place), how), error)
                    self.assertIn("sheaf pack --plan PLAN --part I/N", error)
                    self.assertIn("sheaf repair --from makes them again", error)
                info = json.loads(sheaf("info", plan, "--json").stdout)
                self.assertEqual((info["committed"], info["shards"], info["done_shards"],
                                  info["missing"]), (True, total, total - 1, [place]))
                said = sheaf("info", plan).stdout.decode()
                self.assertIn("committed     yes, but shards are missing or altered since\n", said)
            # What the message advises.
            sheaf("plan", tree, self.path("again"), "-o", self.path("plan2"), "--format",
                  "webdataset", "--shard-count", "4", "--overwrite", *more)
            part = 2 if split is None else [
                i for i in range(total) if not sheaf("pack", "--plan", self.path("plan2"), "--part",
                                                     "%d/%d" % (i, total)).stderr and
                os.path.exists(self.path("again", place))][0]
            sheaf("pack", "--plan", self.path("plan2"), "--part", "%d/%d" % (part, total))
            self.assertEqual(read(self.path("again", place)), kept)
            write(os.path.join(dest, place), kept)
            self.assertIn(b"was committed already", sheaf("commit", plan).stdout)

    def test_verify(self):
        """Each shard must be verified by exactly one part."""
        source, dest = make_tree(self.path("source"), image_tree(3, 20)), self.path("out")
        pack(source, dest, "webdataset", "none", "--shard-count", "7")
        total = 0
        for part in range(4):
            done = sheaf("verify", dest, "--part", "%d/4" % part)
            total += int(done.stdout.split(b" samples in ")[1].split()[0])
        self.assertEqual(total, 7)
        damaged = os.path.join(dest, "shard-000005.tar")
        write(damaged, support.flip(read(damaged), 700))
        bad = [p for p in range(4)
               if sheaf("verify", dest, "--part", "%d/4" % p, status=None).returncode != 0]
        self.assertEqual(bad, [3])
        self.assertEqual(sheaf("verify", dest, "--part", "4/4", status=None).returncode, 2)

    def test_environment(self):
        source = make_tree(self.path("source"), image_tree(3, 10))
        plan = self.path("plan")
        self.plan(source, self.path("many"), plan, "webdataset", "none", "--shard-count", "4")
        for variables, words in (
                ({"SLURM_ARRAY_TASK_ID": 7, "SLURM_ARRAY_TASK_MIN": 5, "SLURM_ARRAY_TASK_MAX": 9,
                  "SLURM_ARRAY_TASK_STEP": 2, "SLURM_ARRAY_TASK_COUNT": 3}, "part 1 of 3"),
                ({"SLURM_PROCID": 3, "SLURM_NTASKS": 4, "SLURM_STEP_ID": 0}, "part 3 of 4"),
                ({"OMPI_COMM_WORLD_RANK": 0, "OMPI_COMM_WORLD_SIZE": 2}, "part 0 of 2"),
                ({"AWS_BATCH_JOB_ARRAY_INDEX": 2, "AWS_BATCH_JOB_ARRAY_SIZE": 9}, "part 2 of 9"),
                ({"JOB_COMPLETION_INDEX": 1, "JOB_COMPLETIONS": 8}, "part 1 of 8"),
                ({"SM_HOSTS": '["algo-1", "algo-10", "algo-2"]', "SM_CURRENT_HOST": "algo-2"},
                 "part 2 of 3")):
            env = dict(os.environ, **{k: str(v) for k, v in variables.items()})
            done = sheaf("pack", "--plan", plan, env=env)
            self.assertIn(words.encode(), done.stdout)
        for variables, words in (
                ({"SLURM_ARRAY_TASK_ID": 7, "SLURM_ARRAY_TASK_MIN": 5, "SLURM_ARRAY_TASK_MAX": 9,
                  "SLURM_ARRAY_TASK_COUNT": 3}, "evenly spaced"),
                ({"SLURM_PROCID": 4, "SLURM_NTASKS": 4, "SLURM_STEP_ID": 0}, "expected less than"),
                ({"SLURM_ARRAY_TASK_ID": 7}, "--part I/N specifies it"),
                ({"JOB_COMPLETION_INDEX": 1}, "JOB_COMPLETIONS")):
            env = dict(os.environ, **{k: str(v) for k, v in variables.items()})
            self.assert_error(sheaf("pack", "--plan", plan, env=env, status=None), words)

    def test_misuse(self):
        for words in (("pack", "--part", "0/2"), ("pack", "--plan", "p", "--part", "2/2"),
                      ("pack", "--plan", "p", "--part", "1"), ("pack", "--plan", "p", "a", "b"),
                      ("pack", "--plan", "p", "--format", "tfrecord"), ("commit",),
                      ("plan", "a", "b", "--format", "tfrecord"), ("plan", "a", "b", "-o", "p"),
                      ("plan", "a", "b", "--format", "tfrecord", "-o")):
            with self.subTest(words):
                self.assertEqual(sheaf(*words, status=None).returncode, 2)


if __name__ == "__main__":
    unittest.main()
