# SPDX-License-Identifier: MIT
"""PyTorch: DataLoader with workers, ranks, epochs and states.  Needs torch (Debian:
python3-torch); the tests of StatefulDataLoader need torchdata too."""

import os
import pickle
import random
import unittest

import sheaf
from support import Case, pack, samples_of, seed

try:
    import torch
    from torch.utils.data import DataLoader
    from sheaf.torch import ShardDataset
except ImportError as error:
    raise unittest.SkipTest("no torch: %s" % error)
try:
    from torchdata.stateful_dataloader import StatefulDataLoader
except ImportError:
    StatefulDataLoader = None

COUNT = 500


def key_of(sample):
    return sample.key


def keys_of_batch(batch):
    return batch.keys


def tensor_of(sample):
    return torch.tensor(list(sample["bin"][:2]) + [0, 0])[:2], sample.label


class TorchCase(Case):
    @classmethod
    def share(cls):
        cls.samples = samples_of(COUNT)
        cls.set = pack(os.path.join(cls.shared, "set"), cls.samples)

    def dataset(self, **options):
        options.setdefault("decode", key_of)
        options.setdefault("rank", 0)
        options.setdefault("world_size", 1)
        return ShardDataset(self.set, **options)

    def flat(self, loader):
        return [key for batch in loader for key in batch]

    def expected(self, **options):
        return [s.key for s in sheaf.Reader(self.set, **dict({"lanes": 24}, **options))]


class FieldsTest(TorchCase):
    def test_a_sample_without_a_label_is_named(self):
        mixed = pack(self.path("mixed"), [("a/%d" % i, {"bin": b"x"}, i if i != 3 else None)
                                          for i in range(8)])
        loader = DataLoader(ShardDataset(mixed, rank=0, world_size=1), batch_size=4)
        with self.assertRaisesRegex(KeyError, r"the sample 'a/3' has no '__label__', but .*'bin'"):
            for batch in loader:
                pass
        sample = next(iter(ShardDataset(mixed, rank=0, world_size=1)))
        self.assertEqual(dict(pickle.loads(pickle.dumps(sample))), dict(sample))


class LoaderTest(TorchCase):
    def test_samples_are_dicts_of_bytes(self):
        by_key = {key: (fields, label) for key, fields, label in self.samples}
        count = 0
        for sample in DataLoader(self.dataset(decode=None), batch_size=None, num_workers=2):
            fields, label = by_key[sample.pop("__key__")]
            self.assertEqual(sample.pop("__label__"), label)
            self.assertEqual(sample, fields)
            count += 1
        self.assertEqual(count, COUNT)

    def test_decoded_samples_are_collated(self):
        count = 0
        for pairs, labels in DataLoader(self.dataset(decode=tensor_of), batch_size=50,
                                        num_workers=2):
            self.assertEqual((pairs.shape[1:], labels.shape), ((2,), pairs.shape[:1]))
            self.assertEqual(labels.dtype, torch.int64)
            count += len(labels)
        self.assertEqual(count, COUNT)

    def test_the_whole_and_its_order_for_any_number_of_workers(self):
        whole = self.expected(seed=9, epoch=1)
        for workers in (0, 1, 2, 3):
            loader = DataLoader(self.dataset(seed=9, epoch=1), batch_size=None,
                                num_workers=workers)
            found = list(loader)
            self.assertEqual(sorted(found), sorted(whole))
            if workers in (0, 1):
                self.assertEqual(found, whole)
            self.assertEqual(found[:1], whole[:1])
        with self.assertRaisesRegex(ValueError, "do not divide the 24 lanes"):
            list(DataLoader(self.dataset(world_size=2), batch_size=None, num_workers=5))
        loader = DataLoader(self.dataset(), batch_size=None, num_workers=5)
        self.assertEqual(sorted(loader), sorted(whole))

    def test_batches_made_by_the_data_set(self):
        dataset = self.dataset(decode=keys_of_batch, batch_size=64)
        loader = DataLoader(dataset, batch_size=None)
        self.assertEqual(len(loader), 8)
        batches = list(loader)
        self.assertEqual([len(b) for b in batches], [64] * 7 + [52])
        self.assertEqual(sum(batches, []), self.expected())
        dropping = self.dataset(decode=keys_of_batch, batch_size=64, drop_last=True)
        self.assertEqual([len(b) for b in DataLoader(dropping, batch_size=None)], [64] * 7)
        self.assertEqual(len(dropping), 7)

    def test_length_is_exact(self):
        chance = random.Random(seed())
        for remainder in ("auto", "keep", "drop", "pad"):
            for _ in range(4):
                world_size = chance.choice((1, 2, 3, 5))
                lanes = chance.choice((None, world_size * 2, world_size * 6))
                everyone = []
                for rank in range(world_size):
                    dataset = self.dataset(rank=rank, world_size=world_size, lanes=lanes,
                                           remainder=remainder)
                    found = self.flat(DataLoader(dataset, batch_size=8,
                                                 num_workers=chance.choice((0, 1, 2))))
                    self.assertEqual(len(found), len(dataset), (remainder, world_size, lanes))
                    everyone.append(found)
                if remainder != "keep":     # all ranks make the same number of steps
                    self.assertEqual(len({len(found) for found in everyone}), 1)
                if remainder != "drop":
                    self.assertEqual(len(set(sum(everyone, []))), COUNT)

    def test_ranks_come_from_the_environment(self):
        before = dict(os.environ)
        os.environ.update(RANK="1", WORLD_SIZE="2")
        try:
            dataset = ShardDataset(self.set, decode=key_of)
        finally:
            os.environ.clear()
            os.environ.update(before)
        self.assertEqual(list(dataset), self.expected(rank=1, world_size=2, lanes=48))

    def test_errors_are_told_where_the_data_set_is_made(self):
        with self.assertRaises(sheaf.NotFoundError):
            ShardDataset(self.path("nowhere"))
        with self.assertRaises(sheaf.LimitError):
            self.dataset(memory_bytes=1000)
        with self.assertRaises(TypeError):
            self.dataset(bogus=1)
        with self.assertRaises(TypeError):
            self.dataset(workers=2)
        with self.assertRaises(ValueError):
            ShardDataset(self.set, rank=0)


class EpochTest(TorchCase):
    def test_each_pass_is_the_next_epoch(self):
        for options in ({}, {"num_workers": 1}, {"num_workers": 1, "persistent_workers": True},
                        {"num_workers": 1, "multiprocessing_context": "spawn"}):
            with self.subTest(options):
                dataset = self.dataset(seed=2, epoch=5)
                loader = DataLoader(dataset, batch_size=10, **options)
                for epoch in (5, 6):
                    self.assertEqual(self.flat(loader), self.expected(seed=2, epoch=epoch))
                next(iter(loader))          # a pass that is broken off counts too
                self.assertEqual(self.flat(loader), self.expected(seed=2, epoch=8))

    def test_set_epoch_reaches_persistent_workers(self):
        for workers in (0, 1, 2):
            dataset = self.dataset(seed=2)
            loader = DataLoader(dataset, batch_size=10, num_workers=workers,
                                persistent_workers=workers > 0)
            for epoch in (3, 1, 1, 9):
                dataset.set_epoch(epoch)
                found, whole = self.flat(loader), self.expected(seed=2, epoch=epoch)
                if workers < 2:
                    self.assertEqual(found, whole)
                self.assertEqual(sorted(found), sorted(whole))
                self.assertEqual(found[0], whole[0])

    def test_workers_agree_on_the_epoch_whatever_was_before(self):
        dataset, passes = self.dataset(), 0
        for workers in (3, 0, 2, 1, 8, 3):
            for persistent in (False, workers > 0):
                loader = DataLoader(dataset, batch_size=7, num_workers=workers,
                                    persistent_workers=persistent)
                for _ in range(2):
                    found, whole = self.flat(loader), self.expected(epoch=passes)
                    self.assertEqual(sorted(found), sorted(whole))
                    self.assertEqual(found[0], whole[0])
                    passes += 1

    def test_a_peek_does_not_part_the_workers(self):
        dataset = self.dataset()
        self.assertEqual(next(iter(dataset)), self.expected()[0])
        found = self.flat(DataLoader(dataset, batch_size=7, num_workers=3))
        self.assertEqual(sorted(found), sorted(self.expected()))

    def test_a_pass_that_is_over_stays_over(self):
        for options in ({}, {"batch_size": 7, "decode": keys_of_batch}):
            dataset = self.dataset(**options)
            first, second = iter(dataset), iter(dataset)    # side by side
            for one, other in zip(first, second):
                self.assertNotEqual(one, other)
            self.assertEqual(list(second), [])
            third = iter(dataset)
            next(third)
            self.assertEqual((list(first), list(second)), ([], []))
            if not options:
                self.assertEqual(list(third), self.expected(epoch=2)[1:])

    def test_each_pass_is_the_next_epoch_though_torch_is_seeded_alike(self):
        for workers, persistent in ((0, False), (2, False), (2, True), (3, False)):
            loader = DataLoader(self.dataset(seed=7), batch_size=None, num_workers=workers,
                                persistent_workers=persistent)
            orders = set()
            for _ in range(3):
                torch.manual_seed(0)
                orders.add(tuple(loader))
            self.assertEqual(len(orders), 3)
            for order in orders:
                self.assertEqual(sorted(order), sorted(self.expected()))

    def test_epochs_out_of_range(self):
        for epoch in (-1, 1 << 31):
            with self.assertRaises(ValueError):
                self.dataset().set_epoch(epoch)


class StateTest(TorchCase):
    def test_the_data_set_s_own_state(self):
        whole = self.expected(seed=6, epoch=2)
        for taken in (0, 1, 24, 133, COUNT):
            dataset = self.dataset(seed=6, epoch=2)
            passing = iter(dataset)
            self.assertEqual([next(passing) for _ in range(taken)], whole[:taken])
            state = pickle.loads(pickle.dumps(dataset.state_dict()))
            other = self.dataset(seed=6)
            other.load_state_dict(state)
            self.assertEqual(other.state_dict(), state)
            self.assertEqual(list(other), whole[taken:])
            self.assertEqual(list(other), self.expected(seed=6, epoch=3))

    def test_a_state_before_the_first_pass(self):
        dataset = self.dataset(epoch=4)
        other = self.dataset()
        other.load_state_dict(dataset.state_dict())
        self.assertEqual(list(other), self.expected(epoch=4))

    @unittest.skipIf(StatefulDataLoader is None, "no torchdata")
    def test_stateful_loader(self):
        for workers, persistent in ((0, False), (1, False), (2, False), (2, True)):
            for taken in (0, 1, 5, 20, 49):
                with self.subTest(workers=workers, persistent=persistent, taken=taken):
                    def loader():
                        return StatefulDataLoader(self.dataset(seed=6), batch_size=10,
                                                  num_workers=workers,
                                                  persistent_workers=persistent)
                    one = loader()
                    first = self.flat(one)
                    passing = iter(one)
                    head = [next(passing) for _ in range(taken)]
                    state = pickle.loads(pickle.dumps(one.state_dict()))
                    tail = list(passing)
                    other = loader()
                    other.load_state_dict(state)
                    self.assertEqual(list(other), tail)
                    self.assertEqual(sorted(sum(head + tail, [])), sorted(first))
                    self.assertEqual(self.flat(other), self.flat(one))
                    self.assertTrue(self.flat(one) != first)


if __name__ == "__main__":
    unittest.main()
