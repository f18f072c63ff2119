# SPDX-License-Identifier: MIT
"""Tests views: which samples are chosen, their order, and what is refused. The order is compared with an implementation
that was written from ORDER.md alone."""

import json
import os
import random
import shutil
import subprocess
from fractions import Fraction

import libsheaf
from order_reference import DROP, KEEP, PAD
from support import SHEAF, Case, listing, make_tree, pack, sheaf, view_of, write
from view_reference import source_ids, view_order

CLASSES = ("cat", "dog", "eel")


def tree(name, count, classes, times=1):
    return {"%s/%s%04d.txt" % (classes[i % len(classes)], name, i): b"%s %d" % (name.encode(), i) *
            (1 + i % 7) * times for i in range(count)}


class View(Case):
    @classmethod
    def share(cls):
        cls.sets = {}
        for name, count, classes, container, codec, times in (
                ("large", 2500, CLASSES, "webdataset", "none", 1),
                ("middle", 300, CLASSES[1:], "recordio", "lz4", 1),
                ("small", 17, CLASSES[:1], "tfrecord", "gzip", 1),
                ("heavy", 120, CLASSES, "tfrecord", "none", 1500),
                ("heavy2", 50, CLASSES, "recordio", "none", 1500)):
            cls.sets[name] = os.path.join(cls.shared, name)
            pack(make_tree(os.path.join(cls.shared, "tree-" + name),
                           tree(name, count, classes, times)),
                 cls.sets[name], container, codec, "--shard-size",
                 "20kB" if times == 1 else "600kB")
        cls.samples = {name: libsheaf.samples(path, no_shuffle=1)
                       for name, path in cls.sets.items()}
        cls.prints = {name: json.loads(sheaf("info", path, "--json").stdout)["fingerprint"]
                      for name, path in cls.sets.items()}

    def view(self, sources, **rest):
        """Writes a view. `sources` has pairs (name, members of the document)."""
        return view_of(self, [(self.sets[name], members) for name, members in sources], **rest)

    @staticmethod
    def texts(*sources, **options):
        return [s.fields["txt"] for s in libsheaf.samples(*sources, **options)]

    @staticmethod
    def position(view, taken, **options):
        with libsheaf.DataSet(view) as data_set, libsheaf.Reader(data_set, **options) as reader:
            for _ in range(taken):
                next(reader)
            return reader.position()

    @staticmethod
    def rest(view, position, **options):
        with libsheaf.DataSet(view) as data_set, libsheaf.Reader(data_set, **options) as reader:
            reader.resume(position)
            return [s.fields["txt"] for s in reader]

    def chosen(self, name, where):
        """Returns the samples of a data set that satisfy the conditions."""
        result = [s for s in self.samples[name]
                  if ("classes" not in where or s.class_name in where["classes"])
                  and ("labels" not in where
                       or where["labels"][0] <= s.labels[0] <= where["labels"][1])]
        if "range" in where:
            result = result[where["range"][0]:where["range"][1]]
        if "every" in where:
            result = result[where["every"][1]::where["every"][0]]
        return result

    def expected(self, sources, options, total=None, stages=()):
        wheres = [members.get("where", {}) for _, members in sources]
        chosen = [self.chosen(name, where) for (name, _), where in zip(sources, wheres)]
        names = source_ids([(self.prints[name], json.dumps(where, sort_keys=True, separators=(
            ",", ":")) if where else "") for (name, _), where in zip(sources, wheres)])
        if "weight" in sources[0][1]:
            shares = {"weights": [members["weight"] for _, members in sources]}
        else:
            shares = {"counts": [int(len(c) * Fraction(str(members.get("repeat", 1)))
                                     + Fraction(1, 2))
                                 for c, (_, members) in zip(chosen, sources)]}
        order = view_order([len(c) for c in chosen], names, total=total, stages=stages,
                           **shares, **options)
        return [chosen[source][number].fields["txt"] for source, number in order]

    def check(self, sources, total=None, stages=(), resume=False, **options):
        rest = {} if total is None else {"samples": total}
        if stages:
            rest["stages"] = [{"samples": at, "weights": w} for at, w in stages]
        view = self.view(sources, **rest)
        expected = self.expected(sources, options, total, stages)
        given = dict(seed=options.get("seed", 0), epoch=options.get("epoch", 0),
                     no_shuffle=int(not options.get("shuffle", True)),
                     shuffle_buffer=options.get("buffer", 10000), lanes=options.get("lanes", 1),
                     rank=options.get("rank", 0), world_size=options.get("world", 1),
                     remainder=(KEEP, DROP, PAD).index(options.get("remainder", KEEP)) + 1)
        self.assertEqual(self.texts(view, **given), expected, (sources, options, total, stages))
        if resume:
            self.check_resumed(view, expected, **given)

    def check_resumed(self, view, expected, **options):
        """From every position of the epoch, even within a round, the rest must be the same."""
        with libsheaf.DataSet(view) as data_set, libsheaf.Reader(data_set, **options) as reader:
            positions = [reader.position()] + [reader.position() for _ in reader]
            for taken, position in enumerate(positions):
                reader.resume(position)
                self.assertEqual([s.fields["txt"] for s in reader], expected[taken:], taken)

    def test_shares(self):
        sources = [("large", {"weight": 3}), ("middle", {"weight": 1}), ("small", {"weight": 1})]
        self.check(sources, 1000)
        self.check(sources, 1000, epoch=3, seed=7, lanes=4, rank=1, world=2, remainder=PAD)
        self.check(sources, 999, stages=[(500, [1, 0, 4]), (1500, [1, 1, 1])], epoch=1, lanes=2,
                   buffer=40)

    def test_union_and_repeats(self):
        self.check([("large", {}), ("middle", {"repeat": 2.5}), ("small", {"repeat": 0.5})])
        self.check([("large", {}), ("middle", {"repeat": 2.5}), ("small", {})], lanes=3,
                   remainder=PAD, epoch=1, buffer=100)

    def test_conditions(self):
        self.check([("large", {"where": {"classes": ["eel", "cat"], "range": [10, 700],
                                         "every": [3, 1]}}),
                    ("middle", {"where": {"labels": [1, 1]}}), ("middle", {})], seed=4, buffer=64)

    def test_heavy(self):
        """The samples are so large that they are read only when they are drawn. The order must be the same."""
        sources = [("heavy", {"weight": 3}), ("heavy2", {"weight": 1})]
        self.check(sources, 500)
        self.check(sources, 400, epoch=2, seed=7, lanes=4, rank=1, world=2, remainder=PAD,
                   buffer=30)
        self.check([("heavy", {"where": {"every": [3, 1]}}), ("heavy", {"repeat": 2.5}),
                    ("heavy2", {})], lanes=3, remainder=PAD, epoch=1, buffer=40)
        view = self.view(sources, samples=300)
        options = dict(lanes=2, shuffle_buffer=50, epoch=1)
        whole = self.texts(view, **options)
        for taken in (0, 1, 148, 299):
            self.assertEqual(self.rest(view, self.position(view, taken, **options)), whole[taken:])
        small = self.texts(view, memory_bytes=2 << 20, **options)
        self.assertTrue(small == whole)

    def test_random_views(self):
        chance = random.Random(3)
        for _ in range(25):
            k = chance.randrange(1, 4)
            weighted = chance.random() < 0.5
            sources = []
            for name in (chance.choice(("large", "middle", "small")) for _ in range(k)):
                members = {"weight": chance.randrange(0 if sources else 1, 9)} if weighted else (
                    {"repeat": chance.choice((1.5, 2, 0.25))} if chance.random() < 0.5 else {})
                if chance.random() < 0.5:
                    members["where"] = {"every": [2, chance.randrange(2)]}
                sources.append((name, members))
            lanes = chance.choice((1, 2, 6))
            world = chance.choice([w for w in (1, 2, 3) if lanes % w == 0])
            self.check(sources, chance.randrange(6, 600) if weighted else None,
                       seed=chance.getrandbits(64), epoch=chance.randrange(4), lanes=lanes,
                       world=world, rank=chance.randrange(world), shuffle=chance.random() < 0.8,
                       buffer=chance.choice((0, 5, 300)),
                       remainder=chance.choice((KEEP, DROP, PAD)))

    def test_resume(self):
        view = self.view([("large", {"weight": 2}), ("small", {"weight": 1})], samples=300)
        longer = self.view([("large", {"weight": 2}), ("small", {"weight": 1})], samples=300,
                           stages=[{"samples": 900, "weights": [0, 1]}])
        options = dict(lanes=4, shuffle_buffer=50, epoch=1)
        whole = self.texts(view, **options)
        for taken in (0, 4, 148, 296, 300):
            position = self.position(view, taken, **options)
            self.assertLessEqual(len(position), 256)
            for path in (view, longer):     # a stage that comes later changes nothing
                self.assertEqual(self.rest(path, position), whole[taken:])
            halves = [self.rest(view, position, lanes=2, rank=r, world_size=2) for r in (0, 1)]
            self.assertEqual([t for pair in zip(*halves) for t in pair], whole[taken:])
        other = self.view([("large", {"weight": 3}), ("small", {"weight": 1})], samples=300)
        with self.assertRaisesRegex(libsheaf.Error, "belongs to"):
            self.rest(other, position)

    def test_a_stage_that_begins_at_the_position(self):
        """Changes the mix of a stopped job from its position on."""
        sources, options = [("large", {"weight": 2}), ("small", {"weight": 1})], dict(
            lanes=4, shuffle_buffer=50, epoch=1)
        first = [{"samples": 301, "weights": [1, 3]}]
        view = self.view(sources, samples=300, stages=first)
        for taken in (0, 4, 148, 300):
            position = self.position(view, taken, **options)
            at = 300 + taken
            for begins in ([at], [at + 1, at + 3]) if taken else ([302],):
                stages = first + [{"samples": b, "weights": [0, b]} for b in begins]
                longer = self.view(sources, samples=300, stages=stages)
                self.assertEqual(self.rest(longer, position),
                                 self.texts(longer, **options)[taken:], begins)
                again = self.position(longer, taken, **options)
                self.assertEqual(again, position)       # nothing of the stage came
                self.assertEqual(self.rest(view, again), self.texts(view, **options)[taken:])
        first.append({"samples": 440, "weights": [0, 1]})
        longer = self.view(sources, samples=300, stages=first)
        for taken in (141, 144):        # within the round where they differ, and behind it
            for one, other in ((view, longer), (longer, view)):
                with self.assertRaisesRegex(libsheaf.Error, "belongs to"):
                    self.rest(other, self.position(one, taken, **options))

    def test_stages_that_begin_in_one_round(self):
        """A stage may begin after any number of samples. Several stages may begin at the same step of the lanes."""
        chance = random.Random(11)
        for case in range(16):
            lanes, total = chance.randrange(1, 9), chance.randrange(20, 60)
            sources = [("large", {"weight": 2}), ("middle", {"weight": 1}),
                       ("small", {"weight": 1})]
            begins = chance.sample(range(1, 2 * total), 3)
            begins += [at + chance.randrange(1, lanes) for at in begins[:2] if lanes > 1]
            stages = [(at, [chance.randrange(3), chance.randrange(3), chance.randrange(1, 9)])
                      for at in sorted(set(begins))]
            options = dict(seed=case, epoch=chance.randrange(2), lanes=lanes, buffer=30,
                           remainder=chance.choice((KEEP, DROP, PAD)))
            with self.subTest(options=options, total=total, stages=stages):
                self.check(sources, total, stages, resume=True, **options)

    def test_keys(self):
        write(self.path("keep.txt"), b"cat/large0003\r\ndog/large0004\n\ncat/large0006\nnot/there\n")
        write(self.path("bad.txt"), b"dog/large0004\n")
        os.makedirs(self.path("views"))
        view = self.path("views/keys.view")
        write(view, json.dumps({"sheaf_view": 1, "sources": [
            {"source": self.sets["large"],
             "where": {"keys": "../keep.txt", "not_keys": "../bad.txt"}},
            {"source": self.sets["middle"], "where": {"key_glob": "dog/*001?"}}]}).encode())
        keys = [line.split("\t")[0] for line in listing(view)]
        self.assertEqual(sorted(keys), ["cat/large0003", "cat/large0006"] + sorted(
            s.key for s in self.samples["middle"] if s.key.startswith("dog/") and
            s.key[-2] == "1" and s.key[-4:-2] == "00"))

    def test_blocks_once(self):
        """Samples that lie scattered in a block must be decompressed together, and be right."""
        files = {"%05d.txt" % i: b"%d " % i * 2000 for i in range(3000)}
        folder = make_tree(self.path("blocks"), files)
        for codec in ("none", "gzip", "lz4", "zstd"):
            for container in ("webdataset", "recordio"):
                packed = self.path("%s-%s" % (container, codec))
                pack(folder, packed, container, codec, "--shard-size", "1MB")
                stored = json.loads(sheaf("info", packed, "--json").stdout)["bytes"]
                self.sets["blocks"] = packed
                view = self.view([("blocks", {"where": {"every": [7, 2]}})])
                texts = sorted(s.fields["txt"] for s in
                               libsheaf.samples(packed, no_shuffle=1)[2::7])
                for options in (dict(no_shuffle=1), {}, dict(shuffle_buffer=100)):
                    with libsheaf.DataSet(view) as data_set, \
                            libsheaf.Reader(data_set, **options) as reader:
                        read = sorted(s.fields["txt"] for s in reader)
                        stats = reader.stats()
                    self.assertTrue(read == texts, (container, codec, options))
                    self.assertLessEqual(stats.chosen_bytes, stats.read_bytes)
                    self.assertAlmostEqual(stats.chosen_bytes / stored, 1 / 7, delta=0.02)
                    if codec == "none":     # the gaps are larger than is read along
                        self.assertEqual(stats.chosen_bytes, stats.read_bytes)
                    else:
                        self.assertLess(stats.read_bytes, 2 * stored)     # with .lst lines

    def test_keys_are_looked_up(self):
        """If the data set has a table of keys, only the samples in the list of keys are read. For a pattern, all
        samples are read once. Damage in other samples shows which ones were read."""
        copy = self.path("copy")
        shutil.copytree(self.sets["heavy"], copy)
        keys = [s.key for s in self.samples["heavy"]]
        damaged = sorted(f for f in os.listdir(copy) if f.endswith(".tfrecord"))[-1]

        def write_view(*words, status=0):
            return sheaf("view", copy, "-o", self.path("v.view"), "--overwrite", *words,
                         status=status).stderr.decode()

        write_view("--where", "key=cat/*")
        with open(os.path.join(copy, damaged), "r+b") as file:
            file.seek(5000)
            file.write(b"damage")
        chosen = [k for k in keys if k.startswith("cat/")]
        self.assertIn("chosen %d " % len(chosen), sheaf("info", self.path("v.view")).stdout.decode())
        self.assertIn("CRC", write_view("--where", "key=dog/*", status=1))
        os.unlink(self.path("v.view.chosen"))
        sheaf("info", self.path("v.view"), status=1)
        write(self.path("keep.txt"), "\n".join(keys[:9] + ["not/there"]).encode())
        write(self.path("bad.txt"), keys[3].encode())
        write_view("--keys", self.path("keep.txt"), "--not-keys", self.path("bad.txt"))
        listed = sorted(line.split("\t")[0] for line in listing(self.path("v.view")))
        self.assertEqual(listed, sorted(keys[:3] + keys[4:9]))
        write_view("--keys", self.path("keep.txt"), "--where", "key=cat/*")
        listed = sorted(line.split("\t")[0] for line in listing(self.path("v.view")))
        self.assertEqual(listed, sorted(k for k in keys[:9] if k.startswith("cat/")))
        write_view("--not-keys", self.path("bad.txt"))
        self.assertIn("chosen %d " % (len(keys) - 1),
                      sheaf("info", self.path("v.view")).stdout.decode())
        for name in ("dataset.keys", "v.view.chosen"):      # all would be read, and damage found
            os.unlink(os.path.join(copy if name == "dataset.keys" else self.folder, name))
        self.assertIn("CRC", write_view("--not-keys", self.path("bad.txt"), status=1))
        write(self.path("v.view.chosen"), b"SHEAFCHO no such thing")
        sheaf("info", self.path("v.view"), status=1)

    def test_again_is_no_complaint(self):
        """A source that is used often is read often. This must not be reported as a lack of memory."""
        view = self.view([("heavy", {"repeat": 30})])
        done = sheaf("cat", view, "--null")
        stats = dict(line.split() for line in done.stdout.decode().splitlines())
        self.assertGreater(int(stats["read_bytes"]), 64 << 20)
        self.assertEqual(stats["amplification"], "1.000")
        self.assertEqual(done.stderr, b"")

    def test_few_descriptors(self):
        """The view has more sources than the process may have open files."""
        sources = []
        for i in range(100):
            name = "few%d" % i
            self.sets[name] = self.path(name)
            os.symlink(self.sets["small" if i % 2 else "heavy2"], self.path(name))
            sources.append((name, {"weight": 1, "where": {"range": [i // 2 % 17, 17 + i // 2 % 17]}}))
        view = self.view(sources, samples=3000)
        listed = listing(view, "--shuffle-buffer", "300")
        self.assertEqual(len(listed), 3000)
        done = subprocess.run(["sh", "-c", 'ulimit -n 64 && exec "$@"', "sh", SHEAF, "cat", view,
                               "--list", "--shuffle-buffer", "300"], stdout=subprocess.PIPE,
                              timeout=120, check=True)
        self.assertEqual(done.stdout.decode().splitlines(), listed)

    def test_until(self):
        sources = [("large", {"weight": 1}), ("middle", {"weight": 1})]
        self.assertEqual(len(self.texts(self.view(sources, until="first"))), 600)
        texts = self.texts(self.view(sources, until="all"))
        self.assertEqual(len(texts), 5000)
        self.assertEqual(len(set(t for t in texts if t.startswith(b"large"))), 2500)

    def test_fields_and_classes(self):
        two = make_tree(self.path("two"), {"dog/a.txt": b"a", "dog/a.json": b"{}"})
        pack(two, self.path("packed"), "webdataset")
        self.sets["two"] = self.path("packed")
        for fields, left in ((["json"], {"json"}), (["txt", "json"], {"txt", "json"})):
            view = self.view([("two", {"fields": fields}), ("small", {})])
            samples = libsheaf.samples(view)
            own = [s for s in samples if s.key == "dog/a"]
            self.assertEqual([(set(s.fields) - {"cls"}, s.class_name) for s in own],
                             [(left, "dog")])
            self.assertEqual({s.class_name: s.labels[0] for s in samples}, {"dog": 0, "cat": 1})

    def test_refused(self):
        for sources, rest, reason in (
                ([("large", {"where": {"classes": ["cow"]}})], {}, 'there is no class "cow"; the '),
                ([("large", {"where": {"labels": [7, 9]}})], {}, 'no sample fulfils "where"'),
                ([("large", {"weight": 1})], {}, "no length of its own"),
                ([("large", {"wieght": 1})], {}, 'unknown name "wieght"')):
            view = self.view(sources, **rest)
            message = sheaf("cat", view, "--list", status=1).stderr.decode()
            self.assertIn(reason, message)
            self.assertEqual(sheaf("info", view, status=1).stderr.decode(), message)
            self.assertIn("large" if "where" in sources[0][1] else view, message)
        nested = self.view([("small", {})])
        self.sets["nested"] = nested
        self.assertIn("a view of a view", sheaf(
            "cat", self.view([("nested", {})]), "--list", status=1).stderr.decode())
        self.assertIn("cannot be opened together", sheaf(
            "cat", nested, self.sets["small"], "--list", status=1).stderr.decode())
        self.assertIn("--classes: %s: cannot be read" % self.path(), sheaf(
            "view", self.sets["small"], "-o", self.path("v.view"), "--classes", self.path(),
            status=2).stderr.decode())
        write(self.path("other.json"), b'{"samples": 3}')
        sheaf("cat", self.path("other.json"), "--list", status=1)
