# SPDX-License-Identifier: MIT
"""Tests sheaf convert with a new plan. The shards and the order differ, and nothing may be lost. The bytes must not
depend on the number of jobs, and must be the same after a run that was killed."""

import os
import shutil

import decoders
import support
from support import Case, listing, make_tree, pack, read, seed, sheaf, tree_of

SAMPLES = 90
KILL_STEP = 23 if support.QUICK else 9


class Reshard(Case):
    @classmethod
    def share(cls):
        chance = support.random.Random(7)
        cls.files = {"c%d/%03d.bin" % (i // 30, i): chance.randbytes(chance.randrange(100, 4000))
                     for i in range(SAMPLES)}
        cls.files.update(("c%d/%03d.txt" % (i // 30, i), b"%d" % i) for i in range(0, SAMPLES, 3))
        cls.tree = make_tree(os.path.join(cls.shared, "tree"), cls.files)
        cls.source = os.path.join(cls.shared, "source")
        pack(cls.tree, cls.source, "webdataset", "none", "--no-shuffle", "--shard-count", "4",
             "--label-base", "1")
        cls.sorted = [line.split("\t")[0] for line in listing(cls.source, "--no-shuffle")]

    def convert(self, *more, source=None, dest="dest", to="webdataset", **how):
        dest = self.path(dest)
        shutil.rmtree(dest, ignore_errors=True)
        done = sheaf("convert", source or self.source, dest, "--format", to, *more, **how)
        return dest, done

    def shards(self, dest):
        return [[key for _, key, _ in decoders.tar_frames(read(os.path.join(dest, name)))]
                for name in support.shards_of(dest)]

    def check(self, dest):
        """Checks that every file and label still exists."""
        sheaf("verify", dest)
        out = self.path("out")
        shutil.rmtree(out, ignore_errors=True)
        sheaf("unpack", dest, out)
        self.assertEqual(tree_of(out), tree_of(self.tree))
        self.assertEqual(sorted(listing(dest)), sorted(listing(self.source)))

    def test_shards(self):
        for count in (1, 7, SAMPLES, SAMPLES + 5):
            dest, _ = self.convert("--shard-count", count)
            shards = self.shards(dest)
            self.assertEqual(len(shards), min(count, SAMPLES))
            self.assertEqual(sum(shards, []), self.sorted)
            sizes = {len(shard) for shard in shards}
            self.assertLessEqual(max(sizes) - min(sizes), 1)
            self.check(dest)
        for size in (20000, 60000, 10 ** 9):
            dest, _ = self.convert("--shard-size", size)
            self.assertEqual(sum(self.shards(dest), []), self.sorted)
            total = sum(map(len, self.files.values()))
            count = max(1, total // size + (total % size >= size - size // 2))
            payloads = [sum(len(data) for _, _, members in decoders.tar_frames(
                read(os.path.join(dest, name))) for _, data, made in members if not made)
                for name in support.shards_of(dest)]
            self.assertEqual(len(payloads), count)
            self.assertLess(max(payloads) - min(payloads), 2 * 4100)
            self.check(dest)

    def test_order(self):
        orders = []
        for number in (1, 2):
            dest, _ = self.convert("--shuffle", "--seed", number, "--shard-count", "5")
            orders.append(sum(self.shards(dest), []))
            self.assertEqual(sorted(orders[-1]), sorted(self.sorted))
            self.check(dest)
        self.assertNotEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], self.sorted)
        classes = [key[:2] for key in orders[0]]        # they come mixed
        self.assertEqual(len(set(classes[:20])), 3)

    def test_jobs_memory_and_containers(self):
        """Neither the number of threads nor their memory may change a byte."""
        for to in support.CONTAINERS:
            words = ("--shuffle", "--seed", "4", "--shard-size", "30000", "--codec", "zstd")
            one, _ = self.convert(*words, "--jobs", "1", to=to, dest="one")
            for more in (("--jobs", "3"), ("--jobs", "8", "--memory", "40MiB")):
                other, _ = self.convert(*words, *more, to=to, dest="other")
                self.assert_same_tree(one, other)
            self.check(one)
            again, _ = self.convert("--shuffle", "--seed", "5", source=one, dest="again")
            self.check(again)                           # of compressed shards, back to tar

    def test_views_and_several(self):
        view = support.view_of(self, [(self.source, {"where": {"classes": ["c0", "c2"]}})])
        dest, _ = self.convert("--shuffle", "--shard-count", "3", source=view)
        self.assertEqual(sorted(sum(self.shards(dest), [])),
                         [key for key in self.sorted if key[:2] != "c1"])
        self.assertEqual(len(self.shards(dest)), 3)
        sheaf("verify", dest)

    def test_killed_and_resumed(self):
        words = ("--shuffle", "--seed", "2", "--shard-count", "6", "--index", "wids")
        whole = tree_of(self.convert(*words, dest="whole")[0])
        at, kept = support.random.Random(seed()).randrange(1, KILL_STEP), 0
        while True:
            dest, done = self.convert(*words, status=None, env=support.killing(self, at))
            if done.returncode == 0:
                break
            resume = ("convert", self.source, dest, "--format", "webdataset", "--resume")
            if os.path.exists(os.path.join(dest, ".sheaf-partial/plan")):
                other = sheaf(*resume, *words[:2], "3", *words[3:], status=1)
                self.assert_error(other, "another plan")
            done = sheaf(*resume, *words)
            kept += b"of them kept" in done.stdout
            self.assertEqual(tree_of(dest), whole, at)
            at += KILL_STEP
        self.assertGreater(kept, 0)

    def test_refusals(self):
        stream = sheaf("cat", self.source, "--to", "webdataset").stdout
        for words, said in ((("--shuffle",), "can only be read in its own order"),
                            (("--shard-count", "3"), "its samples are not counted")):
            done = sheaf("convert", "-", self.path("d"), "--format", "tfrecord", *words,
                         data=stream, status=1)
            self.assert_error(done, said)
        for words, said in ((("--seed", "3"), "--seed requires --shuffle"),
                            (("--shard-size", "1kB", "--shard-count", "3"), "exclude each other"),
                            (("--shard-count", "0"), "--shard-count")):
            self.assert_error(self.convert(*words, status=2)[1], said)
        for words in (("--shard-size", "20kB"), ("--shard-count", "3"), ("--seed", "3")):
            done = sheaf("plan", self.source, self.path("p"), "-o", self.path("plan"), "--format",
                         "tfrecord", *words, status=2)
            self.assert_error(done, "a plan cannot split, shuffle or reshard it")


if __name__ == "__main__":
    support.unittest.main()
