# SPDX-License-Identifier: MIT
"""Tests that the seed of a sample is that of reader/ORDER.md: in any container, codec and location; for any rank,
worker, lane and thread; before and after a restart; in unions and in views."""

import collections
import json
import os

from seed_reference import sample_seed, source_id, source_ids
from support import CODECS, CONTAINERS, Case, make_tree, pack, sheaf, view_of


def seeds(*words):
    """Returns {number: list of seeds in order}, as cat reads them."""
    found = collections.defaultdict(list)
    for line in sheaf("cat", *words, "--list", "--json").stdout.splitlines():
        sample = json.loads(line)
        found[sample["number"]].append(sample["seed"])
    return found


class Seeds(Case):
    @classmethod
    def share(cls):
        cls.counts = {"a": 101, "b": 40, "c": 40}
        cls.sets, cls.trees = {}, {}
        for name, count in cls.counts.items():
            cls.trees[name] = make_tree(os.path.join(cls.shared, "tree-" + name), {
                "c%d/%s%03d.txt" % (i % 3, name, i): b"x" * (i % 90) for i in range(count)})
            cls.sets[name] = os.path.join(cls.shared, name)
            pack(cls.trees[name], cls.sets[name], "webdataset", "none", "--shard-count", 3)

    def check(self, found, counts, seed=0, epoch=0):
        ids, first, expected = source_ids(counts), 0, {}
        for count, source in zip(counts, ids):
            for i in range(count):
                expected[first + i] = sample_seed(seed, source, epoch, i)
            first += count
        for number, own in found.items():
            self.assertEqual(set(own), {expected[number]}, number)
        return set(found) == set(expected)

    def test_containers(self):
        for container in CONTAINERS:
            for codec in CODECS:
                dest = self.path(container + codec)
                pack(self.trees["a"], dest, container, codec, "--shard-count", 5)
                self.assertTrue(self.check(seeds(dest, "--seed", 7, "--epoch", 3), [101], 7, 3))

    def test_without_manifest(self):
        shards = sorted(os.path.join(self.sets["a"], name) for name in os.listdir(self.sets["a"])
                        if name.endswith(".tar"))
        self.assertTrue(self.check(seeds(*shards, "--seed", 7), [101], 7))

    def test_streams(self):
        """The samples of streams are numbered within their shards."""
        with open(os.path.join(self.sets["a"], "shard-000001.tar"), "rb") as file:
            stdout = sheaf("cat", "-", "--list", "--json", data=file.read()).stdout
        samples = [json.loads(line) for line in stdout.splitlines()]
        self.assertGreater(len(samples), 20)
        for s in samples:
            self.assertEqual(s["seed"], sample_seed(0, source_id(0), 0, s["record"]))

    def test_ranks_lanes_and_pads(self):
        """A sample that is repeated to pad a rank has the seed of the first occurrence."""
        everything = collections.defaultdict(list)
        for rank in range(4):
            found = seeds(self.sets["a"], "--seed", 5, "--epoch", 2, "--world-size", 4, "--rank",
                          rank, "--lanes", 8, "--remainder", "pad", "--threads", rank + 1,
                          "--shuffle-buffer", 10 * rank)
            for number, own in found.items():
                everything[number] += own
        self.assertEqual(sum(map(len, everything.values())), 104)
        self.assertTrue(self.check(everything, [101], 5, 2))

    def test_epochs_and_seeds_differ(self):
        different = {seed for number in (0, 1, 1 << 63) for epoch in (0, 1, 2)
                     for own in seeds(self.sets["a"], "--seed", number, "--epoch", epoch).values()
                     for seed in own}
        self.assertEqual(len(different), 9 * 101)

    def test_resumed(self):
        place = self.path("place")
        words = [self.sets["a"], "--seed", 9, "--epoch", 4, "--list", "--json"]
        whole = sheaf("cat", *words).stdout.splitlines()
        found = []
        for limit in (1, 17, 40, 1000):
            words[3:3] = ["--resume-from", place] if found else []
            found += sheaf("cat", *words, "--limit", limit, "--save-position",
                           place).stdout.splitlines()
            words = [word for word in words if word not in ("--resume-from", place)]
        self.assertEqual([json.loads(line)["seed"] for line in found],
                         [json.loads(line)["seed"] for line in whole])

    def test_unions(self):
        """The seeds of a source do not depend on sources of other sizes."""
        self.assertTrue(self.check(seeds(*self.sets.values(), "--seed", 3), [101, 40, 40], 3))
        self.assertTrue(self.check(seeds(self.sets["b"], self.sets["c"]), [40, 40]))

    def test_views(self):
        """A sample that occurs again has another seed. The seed depends on the epoch of the source, in which the sample
        occurs once."""
        view = view_of(self, [(self.sets["a"], {"weight": 1, "where": {"every": [2, 0]}}),
                              (self.sets["b"], {"weight": 3})], samples=100)
        times, ids = collections.Counter(), source_ids([101, 40])
        for epoch in range(4):
            for number, own in seeds(view, "--seed", 6, "--epoch", epoch).items():
                for seed in own:
                    source = int(number >= 101)
                    self.assertEqual(seed, sample_seed(6, ids[source], times[number],
                                                       number - 101 * source))
                    times[number] += 1
        self.assertGreater(max(times.values()), 5)

    def test_padded_view(self):
        view = view_of(self, [(self.sets["a"], {})])
        found = collections.Counter()
        for rank in range(4):
            for own in seeds(view, "--world-size", 4, "--rank", rank, "--epoch", 1).values():
                found.update(own)
        self.assertEqual(set(found), {sample_seed(0, source_id(101), 1, i) for i in range(101)})
        self.assertEqual(sum(found.values()), 104)

    def test_json_needs_list(self):
        self.assertIn(b"--json needs --list", sheaf("cat", self.sets["a"], "--json", "--null",
                                                   status=2).stderr)
