# SPDX-License-Identifier: MIT
"""Looking at views: when samples come in them (locate), what a step was fed (cat --step), what they
are made of (info)."""

import collections
import json
import os
import random

import support
from support import Case, make_tree, pack, read, sheaf, write

CLASSES = ("cat", "dog", "eel")
SETS = (("large", 2500, "webdataset", "none"), ("middle", 300, "recordio", "lz4"),
        ("small", 17, "tfrecord", "gzip"))


class ViewCase(Case):
    @classmethod
    def share(cls):
        cls.sets = {}
        for name, count, container, codec in SETS:
            cls.sets[name] = os.path.join(cls.shared, name)
            files = {"%s/%s%04d.txt" % (CLASSES[i % 3], name, i): b"%d" % i for i in range(count)}
            pack(make_tree(os.path.join(cls.shared, "tree-" + name), files), cls.sets[name],
                 container, codec, "--shard-size", "20kB")

    def view(self, sources, **rest):
        """Writes a view; sources: (name, members of the document)."""
        path = self.path("v%d.view" % len(os.listdir(self.folder)))
        write(path, json.dumps({"sheaf_view": 1, **rest, "sources": [
            {"source": self.sets[name], **members} for name, members in sources]}).encode())
        return path

    @staticmethod
    def keys(view, *words):
        """The keys of an epoch, in order."""
        return [line.split("\t")[0] for line in
                sheaf("cat", view, "--list", *words).stdout.decode().splitlines()]

    @staticmethod
    def located(view, keys, *words, status=0):
        return [json.loads(line) for line in
                sheaf("locate", view, *keys, "--json", *words, status=status).stdout.splitlines()]

    def random_view(self, chance):
        """A view of random sources, each with its own conditions; and the keys of the sources."""
        weighted = chance.random() < 0.6
        sources, rest = [], {}
        for name in chance.sample(("large", "middle", "small"), chance.randrange(1, 4)):
            members = {}
            if weighted:
                members["weight"] = chance.randrange(0 if sources else 1, 9)
            elif chance.random() < 0.5:
                members["repeat"] = chance.choice((1.5, 2, 0.25, 7))
            if chance.random() < 0.4:
                members["where"] = chance.choice(({"every": [2, 1]}, {"classes": ["dog"]},
                                                  {"range": [3, 16]}))
            sources.append((name, members))
        if weighted:
            rest["samples"] = chance.randrange(12, 2000)
            at = 0
            for _ in range(chance.choice((0, 0, 1, 3))):
                at += chance.randrange(1, 1500)
                weights = [chance.randrange(0, 5) for _ in sources]
                weights[chance.randrange(len(sources))] = 3
                rest.setdefault("stages", []).append({"samples": at, "weights": weights})
        return self.view(sources, **rest)


class Locate(ViewCase):
    def test_it_agrees_with_what_is_read(self):
        chance = random.Random(support.seed())
        for _ in range(25):
            view = self.random_view(chance)
            world = chance.choice((1, 2, 3))
            order = ["--seed", chance.randrange(1 << 40),
                     "--shuffle-buffer", chance.choice((0, 1, 10, 300, 10000)),
                     "--lanes", world * chance.choice((1, 2, 4)),
                     "--remainder", chance.choice(("keep", "drop", "pad"))]
            if chance.random() < 0.2:
                order.append("--no-shuffle")
            batch, first = chance.choice((1, 5, 32)), chance.randrange(4)
            with self.subTest(order=order, world=world, view=read(view)):
                epochs = [self.keys(view, *order, "--epoch", first + e) for e in range(2)]
                every = sorted(set(epochs[0] + epochs[1]))
                keys = chance.sample(every, min(len(every), 40))
                found = self.located(view, keys, *order, "--epoch", first, "--epochs", 2,
                                     "--world-size", world, "--batch", batch)
                self.assertEqual([(f["epoch"], f["sample"], f["key"]) for f in found],
                                 [(first + e, t, key) for e, epoch in enumerate(epochs)
                                  for t, key in enumerate(epoch) if key in keys])
                for f in found[:2]:
                    step = [*order, "--epoch", f["epoch"], "--step", f["step"], "--batch", batch,
                            "--world-size", world]
                    fed, whole = self.keys(view, *step), epochs[f["epoch"] - first]
                    at = f["step"] * batch * world
                    self.assertEqual(fed, whole[at:at + batch * world])
                    self.assertIn(f["key"], self.keys(view, *step, "--rank", f["rank"]))

    def test_many_lanes(self):
        """More lanes than a source has samples, and than its weight has entries."""
        for members, rest in (({"weight": 3}, {"samples": 3000}), ({"repeat": 2}, {})):
            view = self.view([("large", members), ("small", members)], **rest)
            order = ["--lanes", 128, "--epoch", 3]
            every = self.keys(view, *order)
            keys = sorted({key for key in every if "small" in key or key.endswith("77")})
            self.assertEqual([(f["sample"], f["key"]) for f in self.located(view, keys, *order)],
                             [(t, key) for t, key in enumerate(every) if key in keys])

    def test_what_never_comes(self):
        view = self.view([("large", {"where": {"every": [2, 0]}}), ("small", {"repeat": 0})])
        first = self.keys(self.sets["large"], "--no-shuffle")[:2]
        done = sheaf("locate", view, *first, "cat/small0000")
        self.assertEqual(done.stdout.count(b"\n"), 1)
        self.assertIn(first[0].encode() + b"\tepoch 0", done.stdout)
        for key in (first[1], "cat/small0000"):
            self.assertIn(b"%s: does not come in epoch 0" % key.encode(), done.stderr)

    def test_the_same_set_twice(self):
        view = self.view([("small", {}), ("small", {"repeat": 2})])
        every = self.keys(view)
        found = self.located(view, ["cat/small0000"])
        self.assertEqual([f["sample"] for f in found],
                         [t for t, key in enumerate(every) if key == "cat/small0000"])
        self.assertEqual(len(found), 3)

    def test_blocks(self):
        """A union so large that its turns have several tables."""
        view = self.view([("large", {"repeat": 30}), ("middle", {})])
        order = ["--epoch", 1, "--seed", 5]
        every = self.keys(view, *order)
        keys = sorted(set(every[::9973] + [k for k in every if "middle" in k][:20]))
        self.assertEqual([(f["sample"], f["key"]) for f in self.located(view, keys, *order)],
                         [(t, key) for t, key in enumerate(every) if key in set(keys)])
        self.assertEqual(collections.Counter(every).most_common()[0][1], 30)
