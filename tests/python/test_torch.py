# SPDX-License-Identifier: MIT
"""sheaf.torch: what a sample is without a decode, who this process is, and streams, which have neither
numbers nor a length.  test_loader.py has the batches and their order.  Needs torch
(Debian: python3-torch)."""

import glob
import gzip
import os
import pickle
import unittest
from unittest import mock

import sheaf
from support import Case, pack, samples_of

try:
    import torch
    import sheaf.torch
except ImportError as error:
    raise unittest.SkipTest("no torch: %s" % error)

COUNT = 200


def key_of(sample):
    return sample.key


def tensor_of(sample):
    return torch.tensor(list(sample["bin"][:2]) + [0, 0])[:2], sample.label


class TorchCase(Case):
    @classmethod
    def share(cls):
        cls.samples = samples_of(COUNT)
        cls.set = pack(os.path.join(cls.shared, "set"), cls.samples)

    def loader(self, source, batch_size=8, workers=0, **options):
        options = {"seed": 5, "shuffle_buffer": 60, "decode": key_of, "collate_fn": list,
                   **options}
        made = sheaf.torch.DataLoader(source, batch_size, workers, **options)
        self.addCleanup(made.close)
        return made


class SamplesTest(TorchCase):
    def test_a_sample_without_a_label_is_named(self):
        mixed = pack(self.path("mixed"), [("a/%d" % i, {"bin": b"x"}, i % 7 if i != 3 else None)
                                          for i in range(8)])
        loader = self.loader(mixed, 4, decode=sheaf.torch.to_dict, collate_fn=None,
                             no_shuffle=True)
        with self.assertRaisesRegex(KeyError, r"the sample 'a/3' has no '__label__', but .*'bin'"):
            for batch in loader:
                pass
        sample = sheaf.torch.Dataset(mixed)[3]
        self.assertEqual(dict(pickle.loads(pickle.dumps(sample))), dict(sample))

    def test_samples_are_dicts_of_bytes(self):
        by_key = {key: (fields, label) for key, fields, label in self.samples}
        count = 0
        for batch in self.loader(self.set, 16, 2, decode=sheaf.torch.to_dict):
            for sample in batch:
                fields, label = by_key[sample.pop("__key__")]
                self.assertEqual(sample.pop("__label__"), label)
                self.assertEqual(sample, fields)
                count += 1
        self.assertEqual(count, COUNT)

    def test_a_data_set_is_a_sequence(self):
        dataset = sheaf.torch.Dataset(self.set)
        self.assertEqual([sample["__key__"] for sample in dataset],
                         [sample.key for sample in sheaf.Dataset(self.set)])
        for number in (COUNT, -COUNT - 1):
            with self.assertRaisesRegex(IndexError, "sample %d of %d" % (number, COUNT)):
                dataset[number]

    def test_a_state_as_0_2_saved_it(self):
        """Its words, with which every later release resumes."""
        state = {"sheaf": 1, "fingerprint": sheaf.Dataset(self.set).fingerprint, "seed": 5,
                 "no_shuffle": False, "shuffle_buffer": 60, "lanes": 1, "epoch": 1, "start": 16,
                 "batches": 3, "batch_size": 8, "world_size": 1, "skipped": 0}
        whole = self.loader(self.set)
        whole.set_epoch(1)
        expected = list(whole)
        resumed = self.loader(self.set)
        resumed.load_state_dict(state)
        self.assertEqual(list(resumed), expected[5:])
        self.assertEqual(set(resumed.state_dict()), set(state))

    def test_decoded_samples_are_collated(self):
        count = 0
        for pairs, labels in self.loader(self.set, 50, 2, decode=tensor_of, collate_fn=None):
            self.assertEqual((pairs.shape[1:], labels.shape), ((2,), pairs.shape[:1]))
            self.assertEqual(labels.dtype, torch.int64)
            count += len(labels)
        self.assertEqual(count, COUNT)

    def test_ranks_come_from_the_environment(self):
        for names in (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS")):
            with mock.patch.dict(os.environ, {**dict(zip(names, "12")), "SLURM_STEP_ID": "0"}):
                loader = self.loader(self.set)
            self.assertEqual((loader.dataset.rank, loader.dataset.world_size), (1, 2))
            self.assertEqual(sum(loader, []), sum(self.loader(self.set, rank=1, world_size=2), []))

    def test_errors_are_told_where_the_loader_is_made(self):
        with self.assertRaises(sheaf.NotFoundError):
            self.loader(self.path("nowhere"))
        with self.assertRaises(sheaf.LimitError):
            self.loader(self.set, memory_bytes=1000)
        with self.assertRaises(ValueError):
            self.loader(self.set, rank=0)
        for elastic in (0, -1, 1.5, "2"):
            with self.assertRaisesRegex(sheaf.ArgumentError, "elastic is .*: expected a whole number"):
                self.loader(self.set, elastic=elastic)


class StreamTest(TorchCase):
    """Foreign .tar.gz shards, which have no index."""

    @classmethod
    def share(cls):
        super().share()
        cls.stream = os.path.join(cls.shared, "stream")
        os.mkdir(cls.stream)
        for path in glob.glob(os.path.join(cls.set, "*.tar")):
            with open(path, "rb") as file:
                packed = gzip.compress(file.read())
            with open(os.path.join(cls.stream, os.path.basename(path) + ".gz"), "wb") as file:
                file.write(packed)
        cls.keys = sorted(key for key, _, _ in cls.samples)

    def test_batches_do_not_depend_on_workers(self):
        expected = [[sample.key for sample in sheaf.Reader(self.stream, seed=5, shuffle_buffer=60,
                                                           epoch=epoch)] for epoch in range(3)]
        self.assertEqual(sorted(expected[0]), self.keys)
        for workers in (0, 1, 3, 8):
            for persistent in (False, workers > 0):
                loader = self.loader(self.stream, 7, workers, persistent_workers=persistent)
                with self.assertRaisesRegex(TypeError, "not known before its end"):
                    len(loader)
                for epoch in range(3):
                    batches = list(loader)
                    self.assertEqual([len(batch) for batch in batches], [7] * 28 + [4])
                    self.assertEqual(sum(batches, []), expected[epoch])
                self.assertEqual(loader.stats().samples, 3 * COUNT)

    def test_its_end_where_a_batch_ends(self):
        for workers in (0, 3):
            batches = list(self.loader(self.stream, 50, workers))
            self.assertEqual([len(batch) for batch in batches], [50] * 4)

    def test_drop_last_and_whole_batches(self):
        for workers in (0, 2):
            batches = list(self.loader(self.stream, 7, workers, drop_last=True))
            self.assertEqual([len(batch) for batch in batches], [7] * 28)
            for batch in self.loader(self.stream, 7, workers, decode=None, collate_fn=None):
                self.assertIsInstance(batch, sheaf.Batch)

    def test_resume(self):
        for workers, then in ((0, 2), (2, 0)):
            whole = list(self.loader(self.stream, 7))
            following = list(self.loader(self.stream, 7, epoch=1))
            for batches in (1, 13, 28, 29):
                loader = self.loader(self.stream, 7, workers)
                given = iter(loader)
                before = [next(given) for _ in range(batches)]
                state = pickle.loads(pickle.dumps(loader.state_dict()))
                other = self.loader(self.stream, 7, then)
                other.load_state_dict(state)
                self.assertEqual(before + list(other), whole)
                self.assertEqual(list(other), following)
            for _ in given:
                pass
            self.assertEqual(loader.state_dict()["epoch"], 1)

    def test_ranks_have_whole_shards(self):
        every = []
        for rank in range(2):
            loader = self.loader(self.stream, 7, 2, rank=rank, world_size=2)
            own = list(loader)
            self.assertEqual(own, list(self.loader(self.stream, 7, rank=rank, world_size=2)))
            every += sum(own, [])
        self.assertEqual(sorted(every), self.keys)
        state = loader.state_dict()
        with self.assertRaisesRegex(sheaf.ArgumentError, "2 ranks, but this world has 1"):
            self.loader(self.stream).load_state_dict(state)

    def test_what_a_stream_cannot(self):
        dataset = sheaf.torch.Dataset(self.stream)
        with self.assertRaisesRegex(sheaf.UnsupportedError, "use sheaf.torch.DataLoader"):
            dataset.sampler()
        with self.assertRaises(sheaf.UnsupportedError):
            dataset[0]
        with self.assertRaises(TypeError):
            len(dataset)
        with self.assertRaisesRegex(ValueError, "cannot be made equal"):
            self.loader(self.stream, remainder="pad")

    def test_damage_in_it(self):
        folder = self.path("damaged")
        os.mkdir(folder)
        with open(os.path.join(self.set, "shard-000000.tar"), "rb") as file:
            data = bytearray(file.read())
        data[data.index(b"ustar") + 3] ^= 1         # of its first member's header
        with open(os.path.join(folder, "a.tar.gz"), "wb") as file:
            file.write(gzip.compress(data))
        for workers in (0, 2):
            with self.assertRaises(sheaf.CorruptError):
                list(self.loader(folder, 7, workers))
            loader = self.loader(folder, 7, workers, on_corrupt="skip", report=lambda _: None)
            self.assertEqual(sorted(sum(loader, [])),
                             sorted(key for key, _, _ in self.samples[1:50]))

    def test_standard_input_cannot_be_resumed(self):
        with open(os.path.join(self.set, "shard-000000.tar"), "rb") as file:
            kept = os.dup(0)
            os.dup2(file.fileno(), 0)
        try:
            loader = self.loader("-", 7)
            self.assertEqual(len(sum(loader, [])), 50)
            state = loader.state_dict()
            with self.assertRaises(sheaf.UnsupportedError):
                loader.load_state_dict(state)
        finally:
            os.dup2(kept, 0)
            os.close(kept)


if __name__ == "__main__":
    unittest.main()
