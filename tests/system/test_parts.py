# SPDX-License-Identifier: MIT
"""Plans whose parts are packed anywhere, in any order, twice, at once, and killed: the data set is
that of `sheaf pack`, byte for byte."""

import gzip
import itertools
import json
import os
import random
import subprocess
import time
import unittest

import servers
import support
from support import CODECS, CONTAINERS, QUICK, SHEAF, Case, image_tree, make_tree, pack, read, \
    seed, sheaf, tree_of, write

KILLS = 6 if QUICK else 20
_numbers = itertools.count()


def odd_tree(classes=5, images=12):
    """Images, samples of several files, `cls` files, and what has to be skipped."""
    files = image_tree(classes, images)
    for i in range(30):
        files["z/%03d.txt" % i] = b"words %d" % i * (i + 1)
        files["z/%03d.cls" % i] = b"%d" % (i % 4)
    files["bad/x.jpg"] = b"no image"
    files["bad/x.txt"] = b"left out with it"
    files["README"] = b"no key"
    files["two/a.JPG"] = files["two/a.jpg"] = b"one field twice"
    return files


class Parts:
    """What is the same for local directories and for S3: self.run, self.compare, self.place."""

    def plan(self, source, dest, plan, container, codec, *options):
        return self.run_sheaf("plan", source, dest, "-o", plan, "--format", container, "--codec",
                              codec, *options)

    def part(self, plan, part, parts, **how):
        return self.run_sheaf("pack", "--plan", plan, "--part", "%d/%d" % (part, parts), **how)

    def check(self, source, container, codec, *options, parts=5):
        """Plans, packs the parts in random order, some of them twice, and commits."""
        name = str(next(_numbers))
        one, many, plan = self.path("one-" + name), self.spot("many-" + name), \
            self.spot("plan-" + name)
        pack(source, one, container, codec, *options)
        self.plan(self.source_of(source), many, plan, container, codec, *options)
        order = [p for p in range(parts)] * 2
        self.chance.shuffle(order)
        for part in order[:parts + 2]:
            self.part(plan, part, parts)
        for part in set(range(parts)) - set(order[:parts + 2]):
            self.part(plan, part, parts)
        self.run_sheaf("commit", plan)
        self.compare(one, many)
        self.run_sheaf("commit", plan)          # once more changes nothing
        self.compare(one, many)

    def test_every_container_and_codec(self):
        source = make_tree(self.path("source"), image_tree(5, 24, 20000))
        for container in CONTAINERS:
            for codec in CODECS:
                with self.subTest(container=container, codec=codec):
                    self.check(source, container, codec, "--shard-size", "60kB")

    def test_options(self):
        source = make_tree(self.path("source"), image_tree(6, 20, 6000))
        for container, codec, options in (
                ("recordio", "none", ("--split", "train=0.7,val=0.3", "--index", "mxnet")),
                ("webdataset", "none", ("--split", "train=3/class,val=rest", "--index",
                                        "wids,energon,dali")),
                ("tfrecord", "gzip", ("--no-shuffle", "--seed", "7")),
                ("webdataset", "lz4", ("--label-base", "1", "--prefix", "part", "--seed", "9")),
                ("tfrecord", "none", ("--shard-count", "3"))):
            with self.subTest(options=options):
                self.check(source, container, codec, *options,
                           *(() if "--shard-count" in options else ("--shard-size", "30kB")))

    def test_skipped_files(self):
        source = make_tree(self.path("source"), odd_tree())
        self.check(source, "webdataset", "none", "--on-error", "skip", "--shard-size", "15kB")
        self.check(source, "recordio", "gzip", "--on-error", "skip", "--shard-size", "15kB",
                   "--split", "a=0.5,b=0.5")

    def test_more_parts_than_shards(self):
        source = make_tree(self.path("source"), image_tree(2, 8))
        self.check(source, "webdataset", "none", "--shard-count", "3", parts=8)

    def test_killed_and_twice_at_once(self):
        source = make_tree(self.path("source"), image_tree(5, 40, 60000))
        one, many, plan = self.path("one"), self.spot("many"), self.spot("plan")
        options = ("--shard-size", "500kB")
        pack(source, one, "webdataset", "gzip", *options)
        self.plan(self.source_of(source), many, plan, "webdataset", "gzip", *options)
        parts = 4
        begun = time.monotonic()
        self.part(plan, 0, parts)
        seconds = time.monotonic() - begun
        running = []
        for _ in range(KILLS):
            part = self.chance.randrange(parts)
            running += [(self.start(plan, part, parts), self.chance.random() * seconds)
                        for _ in range(self.chance.choice((1, 2)))]
            if len(running) > 3:
                self.reap(running)
        self.reap(running)
        finish = [self.start(plan, p, parts) for p in list(range(parts)) * 2]
        for process in finish:
            errors = process.communicate()[1].decode()
            self.assertEqual(process.returncode, 0, errors)
        self.run_sheaf("commit", plan)
        self.compare(one, many)

    def start(self, plan, part, parts):
        return subprocess.Popen([SHEAF, "pack", "--plan", plan, "--part", "%d/%d" % (part, parts),
                                 "--jobs", "1"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, env=self.environment())

    def reap(self, running):
        """Kills what has not ended in its time; others must have succeeded."""
        for process, wait in running:
            try:
                process.wait(wait)
            except subprocess.TimeoutExpired:
                process.kill()
            errors = process.communicate()[1].decode()
            self.assertIn(process.returncode, (0, -9), errors)
        running.clear()

    def test_what_is_missing(self):
        source = make_tree(self.path("source"), image_tree(4, 20, 8000))
        many, plan = self.spot("many"), self.spot("plan")
        self.plan(self.source_of(source), many, plan, "webdataset", "none", "--shard-count", "10")
        self.assert_error(self.run_sheaf("commit", plan, status=None), "10 of 10 shards are missing")
        for part in (0, 1, 3):
            self.part(plan, part, 5)
        done = self.run_sheaf("commit", plan, status=None)
        self.assert_error(done, "4 of 10 shards are missing", "shard-000004.tar", "shard-000009.tar",
                          "of 5 parts, these are not finished: 2, 4")
        self.assert_not_committed(many)
        status = json.loads(self.run_sheaf("info", plan, "--json").stdout)
        self.assertEqual((status["shards"], status["done_shards"], status["committed"],
                          status["missing_parts"]), (10, 6, False, [2, 4]))
        self.assertEqual(len(status["missing"]), 4)
        for part in (2, 4):
            self.part(plan, part, 5)
        self.run_sheaf("commit", plan)
        status = json.loads(self.run_sheaf("info", plan, "--json").stdout)
        self.assertEqual((status["done_shards"], status["committed"], status["missing"]),
                         (10, True, []))
        self.assertEqual(status["done_samples"], status["samples"])

    def test_a_finished_part_is_not_packed_again(self):
        source = make_tree(self.path("source"), image_tree(4, 20))
        many, plan = self.spot("many"), self.spot("plan")
        self.plan(self.source_of(source), many, plan, "webdataset", "none", "--shard-count", "6")
        self.part(plan, 1, 2)
        self.assertIn(b"3 shards, 3 of them kept", self.part(plan, 1, 2).stdout)
        for part in (0, 1):
            self.part(plan, part, 2)
        self.run_sheaf("commit", plan)
        # also after the end: a straggler's retry is no failure, and leaves nothing
        before = self.everything(many)
        self.part(plan, 0, 2)
        self.assertEqual(self.everything(many), before)

    def test_a_source_that_changed(self):
        files = image_tree(3, 10)
        source = make_tree(self.path("source"), files)
        where = self.source_of(source)
        for what in ("size", "content", "gone"):
            with self.subTest(what):
                many, plan = self.spot("many-" + what), self.spot("plan-" + what)
                self.plan(where, many, plan, "webdataset", "none", "--shard-count", "4")
                victim = sorted(files)[7]
                data = files[victim]
                self.change(source, victim, {"size": data + b"x", "gone": None,
                                             "content": data[:-1] + b"x"}[what])
                done = [self.part(plan, part, 4, status=None) for part in range(4)]
                failed = [d for d in done if d.returncode != 0]
                self.assertEqual(len(failed), 1)
                self.assert_error(failed[0], victim)
                self.assert_error(self.run_sheaf("commit", plan, status=None),
                                  "1 of 4 shards are missing")
                self.assert_not_committed(many)
                self.change(source, victim, data)

    def test_two_plans_for_one_place(self):
        source = make_tree(self.path("source"), image_tree(3, 10))
        where = self.source_of(source)
        many, plan, other = self.spot("many"), self.spot("plan"), self.spot("other")
        self.plan(where, many, plan, "webdataset", "none", "--shard-count", "2")
        done = self.run_sheaf("plan", where, many, "-o", other, "--format", "tfrecord",
                              status=None)
        self.assert_error(done, "unfinished run")
        self.run_sheaf("plan", where, many, "-o", other, "--format", "tfrecord", "--overwrite")
        self.assert_error(self.part(plan, 0, 1, status=None), "another plan")
        self.assert_error(self.run_sheaf("commit", plan, status=None), "another plan")
        self.part(other, 0, 1)
        self.run_sheaf("commit", other)
        self.assert_error(self.run_sheaf("commit", plan, status=None))

    def test_a_plan_is_not_lost_to_another(self):
        """One of another destination, or what is no plan, is not replaced."""
        source = make_tree(self.path("source"), image_tree(3, 4))
        where = self.source_of(source)
        many, elsewhere, plan = self.spot("many"), self.spot("elsewhere"), self.spot("plan")
        self.plan(where, many, plan, "webdataset", "none", "--shard-count", "2")
        words = ("plan", where, elsewhere, "-o", plan, "--format", "tfrecord")
        for more in ((), ("--overwrite",), ("--resume",)):
            self.assert_error(self.run_sheaf(*words, *more, status=None), "is the plan of ",
                              os.path.basename(many), "under another name")
        self.part(plan, 0, 1)
        other = self.path("other")
        write(other, b"not a plan")
        self.assert_error(self.run_sheaf("plan", where, elsewhere, "-o", other, "--format",
                                         "tfrecord", status=None), "is no plan")
        self.assertEqual(read(other), b"not a plan")
        again = self.run_sheaf("plan", where, many + "/", "-o", plan, "--format", "webdataset",
                               "--shard-count", "2", "--resume")
        self.assertIn(b"planned 12 samples", again.stdout)
        self.run_sheaf("commit", plan)

    def test_plans_of_other_files_do_not_mix(self):
        """The same names and sizes elsewhere, or other bytes at the same place: one data set is
        never made of both."""
        files = {"c%d/%02d.txt" % (i % 3, i): b"%0900d" % i for i in range(30)}
        others = {name: data[:-1] + b"x" for name, data in files.items()}
        victim = sorted(files)[3]
        first = make_tree(self.path("first"), files)
        second = make_tree(self.path("second"), others)
        where, elsewhere = self.source_of(first), self.source_of(second)
        options = ("--shard-count", "4")
        for what in ("elsewhere", "changed"):
            with self.subTest(what):
                many, plan, other = (self.spot(n + what) for n in ("many-", "plan-", "other-"))
                self.plan(where, many, plan, "webdataset", "none", *options)
                self.part(plan, 0, 2)
                if what == "changed":
                    self.change(first, victim, others[victim])
                    write(os.path.join(first, victim), others[victim])
                again = ("plan", elsewhere if what == "elsewhere" else where, many, "-o", other,
                         "--format", "webdataset", *options)
                self.assert_error(self.run_sheaf(*again, "--resume", status=None), "another plan")
                self.run_sheaf(*again, "--overwrite")
                self.assert_error(self.part(plan, 1, 2, status=None), "another plan")
                self.assert_error(self.run_sheaf("commit", plan, status=None), "another plan")
                for part in range(2):
                    self.part(other, part, 2)
                self.run_sheaf("commit", other)
                one = self.path("one-" + what)
                pack(second if what == "elsewhere" else first, one, "webdataset", "none", *options)
                self.compare(one, many)

    def test_a_damaged_shard_is_missing(self):
        source = make_tree(self.path("source"), image_tree(3, 10))
        many, plan = self.spot("many"), self.spot("plan")
        self.plan(self.source_of(source), many, plan, "recordio", "none", "--shard-count", "3")
        for part in range(3):
            self.part(plan, part, 3)
        for name in ("shard-000001.rec", "shard-000002.lst"):
            self.cut(many, name)
        self.assert_error(self.run_sheaf("commit", plan, status=None), "2 of 3 shards are missing",
                          "shard-000001.rec", "shard-000002.rec")
        for part in range(3):
            self.part(plan, part, 3)
        self.run_sheaf("commit", plan)
        pack(source, self.path("one"), "recordio", "none", "--shard-count", "3")
        self.compare(self.path("one"), many)


    def test_an_altered_shard_is_missing(self):
        """One byte more in a shard's middle, its size as it was; and files that were copied."""
        source = make_tree(self.path("source"), image_tree(3, 10))
        for container, victim, side in (("webdataset", "shard-000001.tar", None),
                                        ("recordio", "shard-000002.rec", "shard-000000.idx")):
            with self.subTest(container):
                many, plan = self.spot("many-" + container), self.spot("plan-" + container)
                one = self.path("one-" + container)
                pack(source, one, container, "none", "--shard-count", "3")
                self.plan(self.source_of(source), many, plan, container, "none",
                          "--shard-count", "3")
                self.part(plan, 0, 1)
                self.alter(many, victim, lambda data: data)
                self.alter(many, victim, lambda data: data[:99] + bytes((data[99] ^ 1,))
                           + data[100:])
                if side is not None:
                    self.alter(many, side, lambda data: b"7" + data[1:])
                altered = [victim] + ([] if side is None else ["shard-000000.rec"])
                self.assert_error(
                    self.run_sheaf("commit", plan, status=None),
                    "%d of 3 shards are missing or altered" % len(altered),
                    *("%s (altered)" % name for name in altered))
                self.assert_not_committed(many)
                self.part(plan, 0, 1)           # makes them anew
                self.alter(many, victim, lambda data: data)
                self.run_sheaf("commit", plan)
                self.compare(one, many)


class Local(Parts, Case):
    def setUp(self):
        super().setUp()
        self.chance = random.Random(seed())

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
        """Another content has another time, however fast the machine is."""
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
        """More files than one buffer of the sort holds."""
        count = 3000 if QUICK else 30000
        folder = self.path("source")
        for i in range(count):
            write(os.path.join(folder, "%d/%d.txt" % (i % 17, i)), b"%d" % i)
        self.check(folder, "webdataset", "none", "--split", "a=0.6,b=0.3,c=0.1", "--shard-size",
                   "5kB", "--memory", "16MiB")

    def test_a_sample_too_large_for_the_memory_is_refused_before_anything_is_written(self):
        source = make_tree(self.path("source"), {"a/1.bin": b"1", "a/2.bin": bytes(20000000),
                                                 "b/3.bin": b"3"})
        many, plan = self.path("many"), self.path("plan")
        words = ("plan", source, many, "-o", plan, "--format", "webdataset")
        self.assert_error(sheaf(*words, "--memory", "24MiB", status=None), "a/2",
                          "20000000", str(24 << 20))
        self.assertFalse(os.path.exists(plan))
        sheaf(*words, "--memory", "64MiB")
        before = tree_of(many)
        self.assert_error(sheaf("pack", "--plan", plan, "--memory", "24MiB", status=None),
                          "a/2.bin", "20000000", str(24 << 20))
        self.assertEqual(tree_of(many), before)
        sheaf("pack", "--plan", plan, "--memory", "64MiB")
        sheaf("commit", plan)

    def test_bad_plans(self):
        source = make_tree(self.path("source"), image_tree(2, 10))
        plan = self.path("plan")
        self.plan(source, self.path("many"), plan, "webdataset", "none", "--shard-count", "3")
        data = read(plan)
        for name, bad, words in (
                ("empty", b"", "not a plan"),
                ("other", b"x" * 1000, "not a plan"),
                ("version", data[:8] + b"\x04" + data[9:], "of version 4"),
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
        """A conversion by parts is that of one machine."""
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
        status = json.loads(sheaf("info", plan, "--json").stdout)
        self.assertEqual((status["done_shards"], status["missing_parts"]), (2, [0]))
        self.assertEqual(status["missing"], ["shard-000000.tfrecord", "shard-000001.tfrecord"])
        self.assert_error(sheaf("commit", plan, status=None), "2 of 4 shards are missing")
        self.assertIn(b"in 2 shards, and 2 kept", sheaf("convert", "--plan", plan).stdout)
        sheaf("commit", plan)
        self.compare(one, many)

    def test_verify(self):
        """Each shard is checked by one part."""
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
                ({"SLURM_PROCID": 3, "SLURM_NTASKS": 4}, "part 3 of 4"),
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
                ({"SLURM_PROCID": 4, "SLURM_NTASKS": 4}, "expected less than"),
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


class Remote(Parts, servers.S3Case):
    def setUp(self):
        super().setUp()
        self.chance = random.Random(seed())

    def run_sheaf(self, *words, **how):
        return self.sheaf(*words, **how)

    def environment(self):
        return self.server.environment()

    def spot(self, name):
        return self.url(name)

    def source_of(self, tree):
        name = "in-%s" % os.path.basename(tree)
        self.client.put_tree(self.bucket, name + "/", tree_of(tree))
        return self.url(name)

    def key(self, url):
        return url[len(self.url()):]

    def compare(self, one, many):
        self.assert_same_objects(self.key(many), one)
        self.assertEqual(self.client.uploads(self.bucket), [])

    def everything(self, dest):
        return self.stored(self.key(dest))

    def assert_not_committed(self, dest):
        self.assertNotIn("dataset.json", self.stored(self.key(dest)))

    def change(self, source, path, data):
        key = "in-%s/%s" % (os.path.basename(source), path)
        if data is None:
            self.client.delete(self.bucket, key)
        else:
            self.client.put(self.bucket, key, data)

    def cut(self, dest, name):
        key = self.key(dest) + "/" + name
        self.client.put(self.bucket, key, self.client.get(self.bucket, key)[:-1])

    def alter(self, dest, name, change):
        key = self.key(dest) + "/" + name
        self.client.put(self.bucket, key, change(self.client.get(self.bucket, key)))

    def test_inventory(self):
        files = image_tree(4, 12)
        files["dir/a b+c.txt"] = b"an odd key"
        self.client.put_tree(self.bucket, "in/", files)
        rows = []
        for key, size, tag in self.listed("in/"):
            quoted = key.replace("%", "%25").replace("+", "%2B").replace(" ", "+")
            rows.append('"%s","%s","true","false","%d","%s"\n' % (self.bucket, quoted, size, tag))
        rows.append('"%s","in/old.txt","false","false","3","0"\n' % self.bucket)
        rows.append('"%s","in/gone.txt","true","true","",""\n' % self.bucket)
        rows.append('"%s","elsewhere/x.txt","true","false","3","0"\n' % self.bucket)
        rows.append('"%s","in/","true","false","0","0"\n' % self.bucket)
        rows.append('"%s","in/dir/","true","false","0","0"\n' % self.bucket)
        manifest = {"sourceBucket": self.bucket, "destinationBucket": "arn:aws:s3:::" + self.bucket,
                    "version": "2016-11-30", "fileFormat": "CSV",
                    "fileSchema": "Bucket, Key, IsLatest, IsDeleteMarker, Size, ETag",
                    "files": [{"key": "report/data/%d.csv.gz" % i} for i in range(2)]}
        for i in range(2):
            self.client.put(self.bucket, "report/data/%d.csv.gz" % i,
                            gzip.compress("".join(rows[i::2]).encode()))
        self.client.put(self.bucket, "report/manifest.json", json.dumps(manifest).encode())
        pack(make_tree(self.path("tree"), files), self.path("one"), "webdataset", "none",
             "--shard-count", "4")
        for name, where in (("s3", self.url("report/manifest.json")),
                            ("local", self.path("report/manifest.json"))):
            if name == "local":
                self.local_report(manifest)
            done = self.sheaf("plan", where, self.path(name), "-o", self.path("plan-" + name),
                              "--root", self.url("in"), "--format", "webdataset", "--shard-count",
                              "4")
            self.assertIn(b"0 files skipped, 5 non-file entries passed over", done.stdout)
            self.sheaf("pack", "--plan", self.path("plan-" + name))
            self.sheaf("commit", self.path("plan-" + name))
            left, right = tree_of(self.path("one")), tree_of(self.path(name))
            self.assertEqual(sorted(left), sorted(right))
            for file, data in left.items():
                if file not in ("dataset.json", "dataset.keys"):    # of this kind of source
                    self.assertEqual(data, right[file], file)

    def local_report(self, manifest):
        write(self.path("report/manifest.json"), json.dumps(manifest).encode())
        for file in manifest["files"]:
            write(self.path("report/data", os.path.basename(file["key"])),
                  self.client.get(self.bucket, file["key"]))

    def listed(self, prefix):
        return [(key, len(data), servers.hashlib.md5(data).hexdigest())
                for key, data in ((prefix + k, v)
                                  for k, v in self.client.get_tree(self.bucket, prefix).items())]


del Parts       # its tests run in the classes that say where


if __name__ == "__main__":
    unittest.main()
