# SPDX-License-Identifier: MIT
"""Tests of packing by the parts of a plan, for any place of the files and the data set. Parts are packed in any
order, twice, at the same time, and are killed. test_parts.py runs the tests in local directories, test_s3_parts.py in
S3."""

import itertools
import json
import os
import random
import subprocess
import time

from support import CODECS, CONTAINERS, QUICK, SHEAF, image_tree, make_tree, pack, read, seed, write

KILLS = 6 if QUICK else 20
_numbers = itertools.count()


def odd_tree(classes=5, images=12):
    """Returns a tree with images, samples of several files, `cls` files, and files that must be skipped."""
    files = image_tree(classes, images, size=6000)
    for i in range(30):
        files["z/%03d.txt" % i] = b"words %d" % i * (i + 1)
        files["z/%03d.cls" % i] = b"%d" % (i % 4)
    files["bad/x.jpg"] = b"no image"
    files["bad/x.txt"] = b"left out with it"
    files["README"] = b"no key"
    files["two/a.JPG"] = files["two/a.jpg"] = b"one field twice"
    return files


class Parts:
    """The tests. A class for one place provides run_sheaf, environment, spot, source_of, compare, everything,
    assert_not_committed, change, cut and alter."""

    KINDS = tuple(itertools.product(CONTAINERS, CODECS))
    SHARD_SIZE, SMALL_SHARD_SIZE = "60kB", "15kB"

    def setUp(self):
        super().setUp()
        self.chance = random.Random(seed())

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
        self.run_sheaf("commit", plan)          # a second commit changes nothing
        self.compare(one, many)

    def test_every_container_and_codec(self):
        source = make_tree(self.path("source"), image_tree(5, 12, 20000))
        for container, codec in self.KINDS:
            with self.subTest(container=container, codec=codec):
                self.check(source, container, codec, "--shard-size", self.SHARD_SIZE)

    def test_options(self):
        source = make_tree(self.path("source"), image_tree(6, 10, 6000))
        for container, codec, options in (
                ("recordio", "none", ("--split", "train=0.7,val=0.3", "--index", "mxnet")),
                ("webdataset", "none", ("--split", "train=3/class,val=rest", "--index",
                                        "wids,energon,dali")),
                ("tfrecord", "gzip", ("--no-shuffle", "--seed", "7")),
                ("webdataset", "lz4", ("--label-base", "1", "--prefix", "part", "--seed", "9")),
                ("tfrecord", "none", ("--shard-count", "3"))):
            with self.subTest(options=options):
                self.check(source, container, codec, *options,
                           *(() if "--shard-count" in options else ("--shard-size", self.SMALL_SHARD_SIZE)))

    def test_skipped_files(self):
        source = make_tree(self.path("source"), odd_tree())
        self.check(source, "webdataset", "none", "--on-error", "skip", "--shard-size", self.SMALL_SHARD_SIZE)
        self.check(source, "recordio", "gzip", "--on-error", "skip", "--shard-size", self.SMALL_SHARD_SIZE,
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
        """Kills processes that have not ended in time. The others must have succeeded."""
        for process, wait in running:
            self.kill_after(process, wait)
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
        # A late retry after the end also succeeds, and leaves nothing behind.
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
                self.assert_error(failed[0], victim, "restore the file", "make the plan again")
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
        self.assert_error(done, "holds a stored plan", "--resume keeps it if it is the same plan")
        self.run_sheaf("plan", where, many, "-o", other, "--format", "tfrecord", "--overwrite")
        self.assert_error(self.part(plan, 0, 1, status=None), "another plan")
        self.assert_error(self.run_sheaf("commit", plan, status=None), "another plan")
        self.part(other, 0, 1)
        self.run_sheaf("commit", other)
        self.assert_error(self.run_sheaf("commit", plan, status=None))

    def test_pack_where_a_plan_is_stored(self):
        """The plan is not taken for an interrupted run. The error says how the plan is packed, and how it is
        replaced."""
        source = make_tree(self.path("source"), image_tree(2, 5))
        many, plan = self.spot("many"), self.spot("plan")
        words = ("pack", self.source_of(source), many, "--format", "webdataset")
        self.plan(self.source_of(source), many, plan, "webdataset", "none")
        for more in ((), ("--resume",)):
            self.assert_error(self.run_sheaf(*words, *more, status=None), "holds a stored plan, by process ",
                              "sheaf pack --plan PLAN", "sheaf commit PLAN", "--overwrite starts again")
        self.part(plan, 0, 1)
        self.run_sheaf("commit", plan)
        self.plan(self.source_of(source), many, plan, "webdataset", "none", "--overwrite")
        self.run_sheaf(*words, "--overwrite")

    def test_a_plan_is_not_lost_to_another(self):
        """A plan of another destination, or a file that is not a plan, is never replaced."""
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
        """Two plans of files with the same names and sizes, in other places or with other bytes, never make one data
        set together."""
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
        """A shard with a changed byte and the same size is reported, and so are files that were copied."""
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
                self.part(plan, 0, 1)           # packs the shards again
                self.alter(many, victim, lambda data: data)
                self.run_sheaf("commit", plan)
                self.compare(one, many)
