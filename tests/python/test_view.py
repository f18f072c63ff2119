# SPDX-License-Identifier: MIT
"""A view from Python: the reader and a training loop give the same samples, each as often as the
view says, whatever the number of workers and ranks, and a state goes on exactly."""

import json
import unittest

import sheaf
from support import Case, pack

try:
    import torch
    import sheaf.torch
except ImportError:
    torch = None

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
