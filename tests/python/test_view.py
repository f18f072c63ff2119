# SPDX-License-Identifier: MIT
"""A view from Python: the reader and a training loop give the same samples, each as often as the
view says, whatever the number of workers and ranks, and a state goes on exactly."""

import json
import os
import pathlib
import subprocess
import unittest

import sheaf
from support import Case, pack, samples_of

try:
    import torch
    import sheaf.torch
except ImportError:
    torch = None

SHEAF = os.path.join(os.environ["BUILD"], "sheaf")


def read(path):
    with open(path, "rb") as file:
        return file.read()


VIEWS = {
    "shares": {"samples": 101, "sources": [{"source": "large", "weight": 3},
                                           {"source": "small", "weight": 1}]},
    "repeats": {"sources": [{"source": "large", "where": {"every": [2, 1]}},
                            {"source": "small", "repeat": 2.5}]},
}
EPOCH = {"shares": 101, "repeats": 30 + 18}


class View(Case):
    def setUp(self):
        super().setUp()
        for name, count in (("large", 60), ("small", 7)):
            pack(self.path(name), [("%s/%03d" % (name, i), {"txt": b"%d" % i}, i % 7)
                                   for i in range(count)])
        for name, document in VIEWS.items():
            with open(self.path(name + ".view"), "w", encoding="ascii") as file:
                json.dump({"sheaf_view": 1, **document}, file)

    def keys(self, name, **options):
        return [sample.key for sample in sheaf.Reader(self.path(name + ".view"), seed=3,
                                                      shuffle_buffer=8, **options)]

    def test_a_view_has_no_plan(self):
        self.assertEqual(sheaf.Dataset(self.path("large"))._planned(), 60)
        for name in VIEWS:
            with self.assertRaisesRegex(sheaf.UnsupportedError, "a view has no plan of stretches"):
                sheaf.Dataset(self.path(name + ".view"))._planned()

    def test_labels_and_classes_are_sets(self):
        def labels(where):
            view = sheaf.View(self.path("large"), where=where)
            return {sample.label for sample in sheaf.Reader(view)}

        for where, expected in (({"label": [0, 2]}, {0, 2}), ({"labels": [0, 5, 3]}, {0, 3, 5}),
                                ({"label": 4}, {4}), ({"label": "1..3"}, {1, 2, 3}),
                                ({"label": "0,4..5"}, {0, 4, 5}), ({"label": range(2, 4)}, {2, 3}),
                                ({"class": ["class 0", "class 2"]}, {0, 2}),
                                ({"classes": ["class 1"]}, {1}), ({"class": "class 3"}, {3}),
                                ({"label": [1, 2], "class": ["class 2", "class 3"]}, {2}),
                                ({"key": "large/00[0-2]"}, {0, 1, 2}),
                                ({"range": range(0, 2)}, {0, 1}), ({"every": "30/4"}, {4, 6})):
            with self.subTest(where=where):
                self.assertEqual(labels(where), expected)
        with self.assertRaisesRegex(sheaf.ArgumentError, "unknown condition 'klass': expected one of "
                                    "class, .*label.*range"):
            labels({"klass": ["cat"]})
        with self.assertRaisesRegex(sheaf.ArgumentError, "second condition of its kind"):
            labels({"label": [1], "labels": [2]})
        self.assertEqual(labels({"label": [[0, 1]]}), labels({"label": range(2)}))
        self.assertEqual(labels({"label": 1.0}), labels({"label": 1}))
        for where, message in (
                ({"class": ["cow"]}, r'there is no class "cow"; the \d classes are ".*"'),
                ({"class": 3}, "where: class: 3: expected the name of a class"),
                ({"class": b"cat"}, "where: class: b'cat': expected the name"),
                ({"class": []}, "where: class is empty"), ({"class": None}, "where: class is None"),
                ({"labels": ["cat"]}, "where: labels: 'cat': expected a whole number.*by 'class'"),
                ({"label": 1.5}, "where: label: 1.5: expected a whole number"),
                ({"label": [-1]}, "where: label: -1: expected a whole number from 0"),
                ({"label": [[0, 1, 2]]}, r"where: label: \[0, 1, 2\]: expected a whole number"),
                ({"label": []}, "where: label is empty"),
                ({"key": ["a*", "b*"]}, "where: key: .*expected one pattern"),
                ({"keys": ["a", "b"]}, "where: keys: .*expected the path of a file")):
            with self.subTest(where), self.assertRaisesRegex(sheaf.ArgumentError, message):
                labels(where)

    def test_counts(self):
        for name, samples in EPOCH.items():
            data = sheaf.Dataset(self.path(name + ".view"))
            self.assertTrue(data.is_view)
            self.assertEqual((data.samples, data.epoch_samples), (67, samples))
            self.assertEqual(len(self.keys(name)), samples)
        shares = self.keys("shares")
        for taken in range(1, 102):
            large = sum(key.startswith("large") for key in shares[:taken])
            self.assertLess(abs(large - taken * 3 / 4), 1)

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_the_loader_gives_what_the_reader_gives(self):
        for name in VIEWS:
            for workers in (0, 2):
                loader = sheaf.torch.DataLoader(self.path(name + ".view"), 8, workers, seed=3,
                                                shuffle_buffer=8)
                self.assertEqual(len(loader), -(-EPOCH[name] // 8))
                keys = [list(batch.keys) for batch in loader]
                self.assertEqual(sum(keys, []), self.keys(name))

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_a_state_goes_on_exactly(self):
        def loader(name, **options):
            return sheaf.torch.DataLoader(self.path(name + ".view"), 4, seed=3, shuffle_buffer=8,
                                          lanes=2, **options)
        for name in VIEWS:
            whole = [list(batch.keys) for batch in loader(name)]
            for stop in (1, 3, 5):
                first = loader(name)
                batches = iter(first)
                for _ in range(stop):
                    next(batches)
                state = first.state_dict()
                rest = loader(name)
                rest.load_state_dict(state)
                self.assertEqual([list(batch.keys) for batch in rest], whole[stop:])

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_ranks(self):
        for name, samples in EPOCH.items():
            given = []
            for rank in (0, 1):
                loader = sheaf.torch.DataLoader(self.path(name + ".view"), 4, seed=3,
                                                shuffle_buffer=8, rank=rank, world_size=2,
                                                decode=lambda s: (s.key, s.repeated),
                                                collate_fn=list)
                given.append([sample for batch in loader for sample in batch])
            self.assertEqual(len(given[0]), len(given[1]))
            together = [key for pair in zip(*given) for key, repeated in pair if not repeated]
            self.assertEqual(len(together), samples)

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_a_state_names_the_source_that_changed(self):
        loader = sheaf.torch.DataLoader(self.path("shares.view"), 4, seed=3)
        next(iter(loader))
        state = loader.state_dict()
        self.assertLess(len(json.dumps(state)), 512)
        os.rename(self.path("small"), self.path("kept"))
        pack(self.path("small"), [("other", {"txt": b"1"}, 0)])
        with self.assertRaisesRegex(sheaf.ChangedError, "small: this source of the view has "
                                    "changed since the state was taken"):
            sheaf.torch.DataLoader(self.path("shares.view"), 4, seed=3).load_state_dict(state)
        with self.assertRaisesRegex(sheaf.ChangedError, "a view of 2 sources, but this one has 1"):
            sheaf.torch.DataLoader(sheaf.View(self.path("large")), 4,
                                   seed=3).load_state_dict(state)
        os.rename(self.path("small"), self.path("other"))
        os.rename(self.path("kept"), self.path("small"))
        with self.assertRaisesRegex(sheaf.ChangedError, "same sources, but with other conditions"):
            sheaf.torch.DataLoader(self.path("repeats.view"), 4, seed=3).load_state_dict(state)
        sheaf.torch.DataLoader(self.path("shares.view"), 4, seed=3).load_state_dict(state)


class Made(Case):
    """Views that Python makes."""

    def setUp(self):
        super().setUp()
        for name, count in (("large", 60), ("small", 7)):
            pack(self.path(name), [("%s/%03d" % (name, i), {"txt": b"%d" % i}, i % 7)
                                   for i in range(count)])

    def keys(self, source, **options):
        return [sample.key for sample in sheaf.Reader(source, seed=3, **options)]

    def test_it_opens_where_a_data_set_does(self):
        view = sheaf.View([self.path("large"), self.path("small")], weights=[3, 1], samples=101)
        self.assertEqual(sheaf.Dataset(view).epoch_samples, 101)
        keys = self.keys(view)
        saved = view.save(self.path("saved.view"))
        self.assertEqual(saved, self.path("saved.view"))
        self.assertEqual(self.keys(saved), keys)
        self.assertEqual(self.keys(view), keys)
        with self.assertRaises(sheaf.ExistsError):
            view.save(saved)
        view.save(saved, overwrite=True)
        again = sheaf.view([self.path("large"), self.path("small")], self.path("again.view"),
                           weights=[3, 1], samples=101)
        self.assertEqual(self.keys(again), keys)
        for wrong in ({"weights": [1]}, {"where": [None]}):
            with self.assertRaisesRegex(ValueError, "values for 2 sources"):
                sheaf.View([self.path("large"), self.path("small")], **wrong)
        with self.assertRaisesRegex(sheaf.ArgumentError, "no length of its own"):
            sheaf.View(self.path("large"), weights=[1]).save(self.path("x.view"))
        with open(self.path("odd.view"), "w", encoding="utf-8") as file:
            json.dump({"sheaf_view": 1, "sources": [{"source": self.path("large"), "weight": 1}]}, file)
        with self.assertRaisesRegex(sheaf.UnsupportedError, "no length of its own"):
            sheaf.Dataset(self.path("odd.view"))

    def test_lists_of_keys_are_found_from_elsewhere(self):
        """Paths are relative to where the program runs, whatever the document's directory is."""
        with open(self.path("keys.txt"), "w", encoding="utf-8") as file:
            file.write("large/003\nlarge/050\n")
        os.mkdir(self.path("elsewhere"))
        before = os.getcwd()
        os.chdir(self.path("."))
        try:
            view = sheaf.View("large", where={"keys": pathlib.Path("keys.txt")})
            saved = view.save("elsewhere/keys.view")
            unsaved = sheaf.View("large", where={"not_keys": "keys.txt", "range": [0, 100]})
            self.assertEqual(len(self.keys(unsaved)), 58)
            os.chdir(self.path("elsewhere"))
            self.assertEqual(sorted(self.keys(self.path(saved))), ["large/003", "large/050"])
            self.assertEqual(len(self.keys(unsaved)), 58)
        finally:
            os.chdir(before)

    def test_classes_as_a_map(self):
        view = sheaf.View(self.path("small"), classes={0: 40, 1: 40})
        self.assertEqual(sorted(s.label for s in sheaf.Reader(view)), [2, 3, 4, 5, 6, 40, 40])
        self.assertEqual({s.class_name for s in sheaf.Reader(view)}, {None})

    def test_relative_paths(self):
        os.makedirs(self.path("views"))
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            sheaf.View("small").save("views/a.view")
        finally:
            os.chdir(before)
        self.assertEqual(len(self.keys(self.path("views/a.view"))), 7)
        self.assertEqual(json.loads(read(self.path("views/a.view")))["sources"][0]["source"],
                         "../small")

    def test_a_function_chooses_once(self):
        asked, told = [], []

        def third(sample):
            asked.append(sample.key)
            return int(bytes(sample["txt"])) % 3 == 0

        view = sheaf.View([self.path("large"), self.path("small")],
                          where=[third, {"range": [0, 2]}])
        view.save(self.path("a.view"), progress=lambda *seen: told.append(seen))
        self.assertEqual(sorted(asked), ["large/%03d" % i for i in range(60)])
        self.assertEqual(told, [(60, 60)])
        expected = ["large/%03d" % i for i in range(0, 60, 3)] + ["small/000", "small/001"]
        self.assertEqual(sorted(self.keys(view)), expected)
        view.save(self.path("b.view"))
        self.assertEqual(len(asked), 60)
        self.assertEqual(read(self.path("a.view")), read(self.path("b.view")))
        self.assertEqual(self.keys(self.path("b.view")), self.keys(self.path("a.view")))
        self.assertEqual(len([n for n in os.listdir(self.folder) if n.endswith(".numbers")]), 1)

    def test_a_function_that_fails(self):
        view = sheaf.View(self.path("small"), where=lambda sample: sample["jpg"])
        with self.assertRaisesRegex(ValueError, "small: where: sample 'small/000': KeyError"):
            view.save(self.path("a.view"))

        def stop(sample):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            sheaf.View(self.path("small"), where=stop).save(self.path("a.view"))
        with self.assertRaisesRegex(sheaf.ArgumentError, "no sample fulfils"):
            sheaf.View(self.path("small"), where=lambda sample: False).save(self.path("a.view"))
        self.assertFalse(os.path.exists(self.path("a.view")))

    def test_numbers_of_another_data_set_or_changed(self):
        sheaf.View(self.path("small"), where=lambda s: s.label > 2).save(self.path("a.view"))
        name = next(n for n in os.listdir(self.folder) if n.endswith(".numbers"))
        whole = read(self.path(name))
        for size, byte in ((len(whole) - 1, b""), (len(whole) - 1, b"\xff"), (0, b"")):
            with open(self.path(name), "wb") as file:
                file.write(whole[:size] + byte)
            with self.assertRaisesRegex(sheaf.CorruptError, "it was changed"):
                sheaf.Dataset(self.path("a.view"))
        with open(self.path(name), "wb") as file:
            file.write(whole)
        pack(self.path("other"), [("a", {"txt": b"a"}, 0)])
        text = read(self.path("a.view")).decode().replace(self.path("small"), self.path("other"))
        with open(self.path("b.view"), "w", encoding="ascii") as file:
            file.write(text)
        with self.assertRaisesRegex(sheaf.ChangedError, "chosen of another data set"):
            sheaf.Dataset(self.path("b.view"))
        os.unlink(self.path(name))
        with self.assertRaisesRegex(sheaf.NotFoundError, name):
            sheaf.Dataset(self.path("a.view"))

    def test_numbers_of_what_has_grown_since(self):
        for tree, names in (("tree", "abc"), ("more", "de")):
            os.makedirs(self.path(tree + "/cat"))
            for name in names:
                with open(self.path("%s/cat/%s.txt" % (tree, name)), "wb") as file:
                    file.write(name.encode())
        sheaf.pack(self.path("tree"), self.path("grown"))
        view = sheaf.View(self.path("grown"), where=lambda s: s.key > "cat/a")
        view.save(self.path("a.view"))
        sheaf.append(self.path("more"), self.path("grown"))
        with self.assertRaisesRegex(sheaf.ChangedError, "grown: the data set has grown since "
                                    "samples of it were chosen by number, from 3 to 5: choose "
                                    "them again, and save the view again"):
            sheaf.Dataset(self.path("a.view"))
        sheaf.View(self.path("grown"), where=lambda s: s.key > "cat/a").save(
            self.path("a.view"), overwrite=True)
        self.assertEqual(len(self.keys(self.path("a.view"))), 4)

    def test_locate(self):
        view = sheaf.View([self.path("large"), self.path("small")], weights=[3, 1], samples=101)
        order = {"seed": 3, "lanes": 2, "shuffle_buffer": 8, "remainder": "keep"}
        found = sheaf.locate(view, ["small/003", "large/010"], epochs=2, batch=4, world_size=2,
                             **order)
        for epoch in (0, 1):
            keys = self.keys(view, lanes=2, shuffle_buffer=8, epoch=epoch)
            own = [c for c in found if c.epoch == epoch]
            self.assertEqual([(c.sample, c.key) for c in own],
                             [(t, k) for t, k in enumerate(keys) if k in ("small/003",
                                                                          "large/010")])
            for c in own:
                self.assertEqual((c.rank, c.step), (c.sample % 2, c.sample // 2 // 4))
        self.assertEqual(sheaf.Dataset(self.path("small")).locate(3, seed=3),
                         sheaf.locate(self.path("small"), "small/003", seed=3))
        with self.assertRaisesRegex(KeyError, "nothing"):
            sheaf.locate(view, "nothing")
        for batch in (0, -1):
            with self.assertRaisesRegex(sheaf.ArgumentError, "batch is %d: expected" % batch):
                sheaf.locate(view, "small/003", batch=batch)

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_what_a_step_was_fed(self):
        """`sheaf cat --step` is what the loaders of all ranks gave at that step; so is locate."""
        mixed = sheaf.view([self.path("large"), self.path("small")], self.path("w.view"),
                           weights=[3, 1], samples=101, where=[lambda s: s.label != 2, None])
        union = sheaf.view([self.path("large"), self.path("small")], self.path("u.view"),
                           repeat=[1, 2.5])
        for view in (mixed, union):
            for epoch in (0, 2):
                steps = {}
                for rank in range(3):
                    loader = sheaf.torch.DataLoader(view, 5, 2, seed=3, epoch=epoch, lanes=6,
                                                    shuffle_buffer=8, rank=rank, world_size=3,
                                                    decode=lambda s: (s.key, s.repeated),
                                                    collate_fn=list)
                    for step, batch in enumerate(loader):   # without those that only pad it
                        steps[step, rank] = [key for key, repeated in batch if not repeated]
                order = ["--seed", "3", "--epoch", str(epoch), "--lanes", "6",
                         "--shuffle-buffer", "8", "--remainder", "keep"]
                for step in (0, 3, max(step for step, _ in steps)):
                    for rank in range(3):
                        out = subprocess.check_output(
                            [SHEAF, "cat", view, "--list", "--step", str(step), "--batch", "5",
                             "--world-size", "3", "--rank", str(rank), *order], text=True)
                        self.assertEqual([line.split("\t")[0] for line in out.splitlines()],
                                         steps[step, rank])
                for key in ("small/001", "large/010"):
                    fed = sorted((step, rank) for (step, rank), keys in steps.items()
                                 for k in keys if k == key)
                    found = sheaf.locate(view, key, seed=3, epoch=epoch, lanes=6, batch=5,
                                         shuffle_buffer=8, world_size=3, remainder="keep")
                    self.assertEqual(sorted((c.step, c.rank) for c in found), fed)


class Messages(Case):
    """A value of another type is an error that names the argument, says what was expected, and shows the value."""

    def test_wrong_types(self):
        folder = pack(self.path("set"), samples_of(3))
        data = sheaf.Dataset(folder)
        for call, says in ((lambda: sheaf.Reader(None), "a source must be a path or URL, .* not None"),
                           (lambda: sheaf.verify(5), "a source must be a path or URL, .* not 5"),
                           (lambda: sheaf.Dataset([None]), "a source must be a path or URL, not None"),
                           (lambda: sheaf.append(None, folder), "a source must be a path or URL, .* not None"),
                           (lambda: sheaf.View(5), "sources: expected a list of paths or URLs, or one, not 5"),
                           (lambda: sheaf.View(folder, where=5), "where: expected a list of conditions .* not 5"),
                           (lambda: sheaf.View(folder, where="class"), "where: expected .* not 'class'"),
                           (lambda: sheaf.View(folder, where=[5]), "where: expected a dict .* not 5"),
                           (lambda: sheaf.View(folder, repeat=2), "repeat: expected a list of numbers, .* not 2"),
                           (lambda: sheaf.View(folder, weights=2), "weights: expected a list of numbers, .* not 2"),
                           (lambda: sheaf.View(folder, fields="jpg"), "fields: expected a list of names, not 'jpg'"),
                           (lambda: data.get(5), "expected a sequence of numbers or keys, not 5")):
            with self.assertRaisesRegex(TypeError, says):
                call()

    def test_a_missing_source_is_named_with_its_view(self):
        path = self.path("x.view")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"sheaf_view": 1, "sources": [{"source": "gone/"}]}')
        with self.assertRaisesRegex(sheaf.NotFoundError, r"x\.view: .*gone.*: cannot stat"):
            sheaf.Reader(path)
