# SPDX-License-Identifier: MIT
"""Tests commands that examine views: when samples occur (locate), which samples a step has received (cat --step), and
what a view consists of (info)."""

import collections
import itertools
import json
import os
import random
import re

import libsheaf
import support
from support import Case, make_tree, pack, read, sheaf, view_of, write

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
        """Writes a view. `sources` has pairs (name, members of the document)."""
        return view_of(self, [(self.sets[name], members) for name, members in sources], **rest)

    @staticmethod
    def keys(view, *words):
        """Returns the keys of an epoch, in order."""
        return [line.split("\t")[0] for line in
                sheaf("cat", view, "--list", *words).stdout.decode().splitlines()]

    @staticmethod
    def located(view, keys, *words, status=0):
        return [json.loads(line) for line in
                sheaf("locate", view, *keys, "--json", *words, status=status).stdout.splitlines()]

    def random_view(self, chance):
        """Writes a view of random sources, each with its own conditions. Returns its path and the keys of the
        sources."""
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
                if not keys:            # fewer samples than lanes, and the rest is dropped
                    continue
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
        """There are more lanes than samples of a source, and than entries of its weight."""
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
        """The union is so large that its order of sources has several tables."""
        view = self.view([("large", {"repeat": 30}), ("middle", {})])
        order = ["--epoch", 1, "--seed", 5]
        every = self.keys(view, *order)
        keys = sorted(set(every[::9973] + [k for k in every if "middle" in k][:20]))
        self.assertEqual([(f["sample"], f["key"]) for f in self.located(view, keys, *order)],
                         [(t, key) for t, key in enumerate(every) if key in set(keys)])
        self.assertEqual(collections.Counter(every).most_common()[0][1], 30)


class Quality(ViewCase):
    @staticmethod
    def quality(*words):
        return json.loads(sheaf("info", *words, "--shuffle-quality", "--json").stdout)[
            "shuffle_quality"]

    def test_it_agrees_with_what_is_read(self):
        chance = random.Random(support.seed())
        for _ in range(8):
            view = self.random_view(chance)
            order = ["--seed", chance.randrange(1 << 40), "--epoch", chance.randrange(3),
                     "--shuffle-buffer", chance.choice((0, 10, 1000)),
                     "--lanes", chance.choice((1, 3))]
            labels = [key.split("/")[0] for key in self.keys(view, *order)]
            runs = [len(list(group)) for _, group in itertools.groupby(labels)]
            found = self.quality(view, *order)
            with self.subTest(order=order, view=read(view)):
                self.assertEqual(found["samples"], len(labels))
                self.assertEqual(found["longest_label_run"], max(runs))
                self.assertAlmostEqual(found["label_run"], len(labels) / len(runs), 3)
                batches = [len(set(labels[i:i + 256])) for i in range(0, len(labels) - 255, 256)]
                if batches:
                    self.assertAlmostEqual(found["labels_in_256"], sum(batches) / len(batches), 3)

    def test_the_verdict_and_what_to_change(self):
        tree = os.path.join(self.shared, "tree-large")
        pack(tree, self.path("sorted"), "recordio", "none", "--no-shuffle")
        self.sets = {**self.sets, "sorted": self.path("sorted")}
        view = self.view([("sorted", {})])
        for source in (self.path("sorted"), view):
            poor = self.quality(source, "--shuffle-buffer", 10)
            self.assertEqual(poor["grade"], "poor")
            self.assertIn("badly mixed: samples of one label come", poor["verdict"])
            self.assertIn("use --shuffle-buffer 2500 (now 10)", poor["advice"])
            good = self.quality(source, "--shuffle-buffer", 2500)
            self.assertEqual(good["grade"], "good")
            self.assertNotIn("advice", good)
        text = sheaf("info", view, "--shuffle-quality", "--no-shuffle").stdout.decode()
        self.assertIn("\nverdict: badly mixed", text)
        self.assertTrue(text.endswith("\nto mix better: leave --no-shuffle out\n"))
        fair = self.quality(self.sets["large"], "--no-shuffle")     # packed in random order
        self.assertEqual(fair["grade"], "fair")

    def test_the_plot(self):
        view = self.view([("large", {"weight": 2}), ("small", {"weight": 1})], samples=3000)
        sheaf("info", view, "--shuffle-quality", "--plot", self.path("plot.svg"))
        plot = read(self.path("plot.svg")).decode()
        heights = [float(h) for h in re.findall(r'cy="([0-9.]+)"', plot)]
        self.assertEqual(len(heights), 750)         # every fourth
        # The small set is the top of the square, a 150th of it, and has a third of the samples.
        self.assertAlmostEqual(sum(h < 44 for h in heights) / len(heights), 1 / 3, 1)

    def test_passes_of_a_small_source(self):
        """Even an ideal shuffle brings neighbours close together if a source is used many times in an epoch."""
        view = self.view([("large", {"weight": 1}), ("small", {"weight": 4})], samples=2000)
        found = self.quality(view)
        self.assertAlmostEqual(found["neighbours_kept"], found["ideal_neighbours_kept"], 1)
        self.assertGreater(found["neighbours_kept"], 1)
        self.assertEqual(found["grade"], "good")


class Info(ViewCase):
    @staticmethod
    def info(view):
        return json.loads(sheaf("info", view, "--json").stdout)

    def test_sources_of_an_epoch(self):
        view = self.view([("large", {"weight": 6, "where": {"every": [5, 0]}}),
                          ("middle", {"weight": 3}), ("small", {"weight": 0})], samples=1000)
        found = self.info(view)
        self.assertEqual([(s["chosen"], s["weight"]) for s in found["sources"]],
                         [(500, 2), (300, 1), (17, 0)])
        counts = collections.Counter(re.sub("^.*/|[0-9]", "", key) for key in self.keys(view))
        for name, source in zip(("large", "middle", "small"), found["sources"]):
            self.assertAlmostEqual(counts[name] / 1000, source["share"], 2)
            self.assertAlmostEqual(counts[name] / source["chosen"], source["epochs"], 2)
        self.assertEqual(found["warnings"], [])
        text = sheaf("info", view).stdout.decode()
        self.assertIn("chosen 500  weight 2  share 0.6667  epochs of it 1.333  amplification ", text)
        self.assertIn("classes       3, from 0 (cat) to 2 (eel)\n", text)

    def test_warnings(self):
        view = self.view([("large", {"weight": 1000}), ("small", {"weight": 700}),
                          ("middle", {"weight": 1})], samples=1000)
        small, middle = self.info(view)["warnings"]
        self.assertIn("small: each of its chosen samples comes 24 times an epoch", small)
        self.assertIn("middle: comes less than once an epoch", middle)
        self.assertIn("\nwarning       " + small + "\n", sheaf("info", view).stdout.decode())

    def test_amplification(self):
        """The number of bytes that the index predicts must be close to the number that is read in order, including gaps
        and whole blocks."""
        chance = random.Random(support.seed())
        files = {"%05d.txt" % i: chance.randbytes(chance.choice((10, 500, 3000, 12000)))
                 for i in range(600)}
        folder = make_tree(self.path("odd"), files)
        for container, codec in (("tfrecord", "none"), ("webdataset", "none"),
                                 ("webdataset", "zstd")):
            packed = self.path(container + codec)
            pack(folder, packed, container, codec, "--shard-size", "1MB")
            for where in ({"every": [2, 1]}, {"every": [7, 0]}, {"range": [100, 109]}, {}):
                self.sets["odd"] = packed
                view = self.view([("odd", {"where": where} if where else {})])
                found = self.info(view)
                lines = sheaf("cat", view, "--null", "--no-shuffle").stdout.decode().split("\n")
                read = float(dict(line.split(" ") for line in lines[:-1])["amplification"])
                with self.subTest(container=container, codec=codec, where=where):
                    self.assertAlmostEqual(found["amplification"], read, delta=0.05 * read)   # chunks end
                    self.assertEqual(found["sources"][0]["amplification"], found["amplification"])
                    self.assertGreaterEqual(found["amplification"], 1)
        self.assertIn("\namplification 1.000\n", sheaf("info", view).stdout.decode())

    def test_an_epoch_that_ends_in_a_stretch(self):
        """If an epoch of a view ends before an epoch of its sources, the number of read bytes must not be less than
        that of the chosen samples."""
        view = self.view([("large", {"weight": 1}), ("middle", {"weight": 2})], samples=500)
        stats = dict(line.split() for line in sheaf(
            "cat", view, "--null", "--no-shuffle").stdout.decode().splitlines())
        self.assertGreaterEqual(int(stats["read_bytes"]), int(stats["chosen_bytes"]))

    def test_stages(self):
        view = self.view([("large", {"weight": 2}), ("small", {"weight": 4})], samples=10,
                         stages=[{"samples": 30, "weights": [0, 5]}])
        self.assertEqual(self.info(view)["stages"], [{"samples": 30, "weights": [0, 1]}])
        text = sheaf("info", view, "--rank", 0, "--world-size", 2).stdout.decode()
        self.assertIn("\nstages        from sample 30 on, weights 0,1\n", text)
        self.assertIn("\nplan          none: a view draws each sample by itself", text)
        self.assertIsNone(self.info(view)["plan"])

    def test_overlap(self):
        wheres = ({}, {"every": [2, 0]}, {"every": [2, 1]}, {"range": [100, 200]},
                  {"every": [3, 0], "range": [50, 2000]}, {"range": [150, 151]})
        samples = self.keys(self.sets["large"], "--no-shuffle")

        def chosen(where):
            first, end = where.get("range", (0, len(samples)))
            every, at = where.get("every", (1, 0))
            return set(samples[first:end][at::every])

        for one, two in itertools.product(wheres, wheres):
            view = self.view([("large", {"where": one} if one else {}),
                              ("large", {"where": two} if two else {})])
            shared = len(chosen(one) & chosen(two))
            with self.subTest(one=one, two=two):
                found = [re.search(r": (\d+) of its (\d+) chosen", w).groups()
                         for w in self.info(view)["warnings"]]
                self.assertEqual(found, [(str(shared), str(len(chosen(two))))] if shared else [])


class Classes(ViewCase):
    def labels(self, view):
        """Returns {class of the file: {(name, label) in the view}}."""
        found = collections.defaultdict(set)
        for sample in libsheaf.samples(view):
            found[sample.key.split("/")[0]].add((sample.class_name, sample.labels[0]))
        return dict(found)

    def test_names_to_names(self):
        sources = [("small", {}), ("middle", {"where": {"classes": ["dog"]}})]
        view = self.view(sources, classes={"cat": "pet", "eel": "fish", "dog": "pet"})
        self.assertEqual(self.labels(view), {"cat": {("pet", 0)}, "dog": {("pet", 0)},
                                             "eel": {("fish", 1)}})
        found = Info.info(view)
        self.assertEqual(found["classes"], ["pet", "fish"])
        quality = Quality.quality(view, "--shuffle-buffer", 1000)
        self.assertLess(quality["ideal_labels_in_256"], 2.01)
        part = self.view(sources, classes={"eel": "cat"})   # others keep theirs
        self.assertEqual(self.labels(part), {"cat": {("cat", 0)}, "dog": {("dog", 1)},
                                             "eel": {("cat", 0)}})

    def test_numbers_to_numbers(self):
        view = self.view([("large", {"where": {"range": [0, 40]}}), ("small", {})],
                         classes={"0": 5, "1": 0})
        self.assertEqual(self.labels(view), {"cat": {(None, 5)}, "dog": {(None, 0)},
                                             "eel": {(None, 2)}})
        self.assertEqual(Info.info(view)["classes"], [])

    def test_numbers_that_are_no_class(self):
        """Labels below the first class are mapped, or stay."""
        write(self.path("odd/x.jsonl"), b"".join(
            b'{"path": "%d.txt", "label": %d}\n' % (label + 1, label) for label in range(-1, 4)))
        for label in range(-1, 4):
            write(self.path("odd/%d.txt" % (label + 1)), b"x")
        pack(self.path("odd/x.jsonl"), self.path("odd-set"), "tfrecord", "none", "--label-base", 1)
        self.sets = {**self.sets, "odd": self.path("odd-set")}
        view = self.view([("odd", {})], classes={"0": 7, "2": 8})
        self.assertEqual(self.labels(view), {"0": {(None, -1)}, "1": {(None, 7)}, "2": {(None, 1)},
                                             "3": {(None, 8)}, "4": {(None, 3)}})

    def test_the_command(self):
        write(self.path("map.json"), b'{"cat": "pet", "dog": "pet"}')
        view = self.path("mapped.view")
        sheaf("view", self.sets["small"], "-o", view, "--classes", self.path("map.json"))
        self.assertEqual(json.loads(read(view))["classes"], {"cat": "pet", "dog": "pet"})
        self.assertEqual(self.labels(view)["dog"], {("pet", 0)})
        same = self.view([("small", {})], classes={"dog": "pet", "cat": "pet"})
        self.assertEqual(Info.info(same)["fingerprint"], Info.info(view)["fingerprint"])

    def test_refused(self):
        for classes, reason in (
                ({"cow": "pet"}, 'no source has a class "cow"'), ({}, "is an empty map"),
                ({"cat": 1}, "names to names or of numbers to numbers"),
                ({"0": 1, "1": "x"}, "names to names or of numbers to numbers"),
                ({"cat": "dog", "0": 1}, "names to names or of numbers to numbers"),
                ({"01": 1}, "names to names or of numbers to numbers"),
                ({"0": -1}, "not a whole number"), ({"cat": ""}, "is not a name"),
                ({"99999999": 1}, "a label above"), (3, "nor a map")):
            view = self.view([("small", {})], classes=classes)
            with self.subTest(classes=classes):
                done = sheaf("cat", view, "--list", status=None)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(reason, done.stderr.decode())
        plain = make_tree(self.path("plain"), {"%d.txt" % i: b"x" for i in range(4)})
        pack(plain, self.path("nameless"), "tfrecord", "none")
        self.sets = {**self.sets, "nameless": self.path("nameless")}
        view = self.view([("nameless", {}), ("small", {})], classes={"cat": "pet"})
        self.assertIn("have no names", sheaf("cat", view, "--list", status=1).stderr.decode())
        view = self.view([("nameless", {"where": {"classes": ["cat"]}})])
        self.assertIn("have no names here", sheaf("cat", view, "--list", status=1).stderr.decode())
