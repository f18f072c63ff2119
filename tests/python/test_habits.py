# SPDX-License-Identifier: MIT
"""What PyTorch users do around a loader: ranks that appear late, data sets of their own over a Reader,
labels as tensors, a decode that fails.  Needs torch (Debian: python3-torch)."""

import collections
import json
import logging
import os
import pickle
import subprocess
import sys
import time
import unittest
import unittest.mock
from unittest import mock

import sheaf
from loading import LoaderCase, key_of, number_of
from support import pack

import torch
import sheaf.torch

RANKS = """
import os, sys, torch.distributed, sheaf, sheaf.torch
os.environ.pop("RANK", None)
made = {"loader": lambda: sheaf.torch.DataLoader(sys.argv[1], 8, 0, decode=lambda s: s.key),
        "reader": lambda: sheaf.Reader(sys.argv[1])}[sys.argv[2]]()
torch.distributed.init_process_group("gloo", init_method="file://" + sys.argv[3], rank=0, world_size=1)
with __import__("unittest.mock").mock.patch.object(torch.distributed, "get_world_size", lambda: 2):
    try:
        print(len(list(made)))
    except sheaf.StateError as error:
        print(error)
print(len(list(made)))
"""


PART = "reads only its part of the samples; rank=0, world_size=1 reads all"

EVALUATES = """
import os, sys, torch.distributed, sheaf, sheaf.torch
rank = int(sys.argv[1])
torch.distributed.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
if rank == 1:
    for options in ({}, {}, {"rank": 0, "world_size": 1}):
        loader = sheaf.torch.DataLoader(sys.argv[3], 8, no_shuffle=True, decode=lambda s: s.key, **options)
        print(sum(map(len, loader)))
torch.distributed.barrier()
"""

UNGUARDED = """
import multiprocessing, sys, sheaf.torch
multiprocessing.set_start_method("spawn")
list(sheaf.torch.DataLoader(sys.argv[1], 8, 1))
"""


class Own(torch.utils.data.IterableDataset):
    """A user's data set over a Reader."""

    def __init__(self, source, **options):
        super().__init__()
        self.source, self.options = source, options

    def __iter__(self):
        return iter(sample.key for sample in sheaf.Reader(self.source, seed=7, **self.options))


class InReader(torch.utils.data.Dataset):
    """A map-style data set whose workers read something else."""

    def __init__(self, source):
        self.source = source

    def __len__(self):
        return 4

    def __getitem__(self, number):
        return len(list(sheaf.Reader(self.source)))


def fails_on_three(sample):
    if sample.number % 10 == 3:
        raise ValueError("too blue")
    return sample.number


def none_of_three(sample):
    return None if sample.number % 10 == 3 else sample.number


def stops(sample):
    return next(iter(()))


def stops_on_three(sample):
    return next(iter(())) if sample.number % 10 == 3 else sample.number


class OverLoader(torch.utils.data.IterableDataset):
    """A user's data set over a sampler of the package, which cannot be divided among workers."""

    def __init__(self, source):
        super().__init__()
        self.source = source

    def __iter__(self):
        dataset = sheaf.torch.Dataset(self.source, decode=key_of)
        return (dataset[number] for number in dataset.sampler())


def never(sample):
    raise OSError("broken")


class RanksTest(LoaderCase):
    def test_a_rank_that_changed_is_refused(self):
        for what in ("loader", "reader"):
            done = subprocess.run([sys.executable, "-c", RANKS, self.set, what,
                                   self.path("store-" + what)], stdout=subprocess.PIPE, text=True,
                                  check=True).stdout
            self.assertIn("as rank 0 of 1, which it was when it was made, but the process is rank 0 "
                          "of 2", done)
            self.assertIn("init_process_group", done)
            self.assertEqual(done.splitlines()[-1], "25" if what == "loader" else "200")

    def test_a_rank_of_the_environment_is_told_once(self):
        with mock.patch.dict(os.environ, {"RANK": "0", "WORLD_SIZE": "7"}), \
                self.assertLogs("sheaf", logging.WARNING) as told:
            for _ in range(2):
                self.loader()
                sheaf.Reader(self.set)
        self.assertEqual(told.output, ["WARNING:sheaf:rank 0 of 7, by RANK and WORLD_SIZE: " + PART])

    def test_a_rank_that_evaluates_alone_is_told(self):
        ranks = [subprocess.Popen([sys.executable, "-c", EVALUATES, str(rank), self.path("store-alone"),
                                   self.set], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) for rank in range(2)]
        said = [rank.communicate() for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0])
        self.assertEqual(said[1][0].split(), ["100", "100", "200"])
        self.assertEqual([each[1].count("by torch.distributed") for each in said], [0, 1])
        self.assertIn("rank 1 of 2, by torch.distributed: " + PART, said[1][1])

    def test_a_program_without_a_guard(self):
        with open(self.path("unguarded.py"), "w", encoding="utf-8") as file:
            file.write(UNGUARDED)
        done = subprocess.run([sys.executable, self.path("unguarded.py"), self.set],
                              stderr=subprocess.PIPE, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("if __name__ == '__main__':", done.stderr.splitlines()[-1])

    def test_a_batch_script_of_slurm_is_one_process(self):
        script = {"SLURM_JOB_ID": "1", "SLURM_PROCID": "0", "SLURM_NTASKS": "4"}
        with mock.patch.dict(os.environ, script):
            self.assertEqual(self.loader().dataset.world_size, 1)
        with mock.patch.dict(os.environ, {**script, "SLURM_STEP_ID": "0"}):
            self.assertEqual(self.loader().dataset.world_size, 4)

    def test_an_iterable_data_set_of_ones_own(self):
        for workers in (0, 1, 2, 3):
            loader = torch.utils.data.DataLoader(Own(self.set), 16, num_workers=workers)
            read = collections.Counter(key for batch in loader for key in batch)
            self.assertEqual(read, collections.Counter(key for key, _, _ in self.samples))
        every = torch.utils.data.DataLoader(Own(self.set, worker=0, workers=1), 16, num_workers=2)
        self.assertEqual(sum(map(len, every)), 400)
        ranks = [torch.utils.data.DataLoader(Own(self.set, rank=rank, world_size=2), 16,
                                             num_workers=2) for rank in range(2)]
        self.assertEqual(len({key for rank in ranks for batch in rank for key in batch}), 200)
        whole = torch.utils.data.DataLoader(InReader(self.set), 2, num_workers=2)
        self.assertEqual([batch.tolist() for batch in whole], [[200, 200]] * 2)

    def test_what_each_worker_would_read_whole_is_refused(self):
        for workers in (0, 1):
            loader = torch.utils.data.DataLoader(OverLoader(self.set), 16, num_workers=workers)
            self.assertEqual(sum(map(len, loader)), 200)
        with self.assertRaisesRegex(sheaf.StateError, "iterate over a sheaf.Reader there"):
            list(torch.utils.data.DataLoader(OverLoader(self.set), 16, num_workers=2))

    def test_batches_in_any_order_are_refused(self):
        with self.assertRaisesRegex(sheaf.ArgumentError, "in_order"):
            self.loader(workers=2, in_order=False)
        self.assertEqual(len(self.loader(in_order=True)), 25)

    def test_epochs_out_of_range(self):
        loader = self.loader()
        for epoch in (-1, (1 << 63) - 1, 1 << 64):
            for call in (loader.set_epoch, lambda e: self.loader(epoch=e),
                         sheaf.Reader(self.set).epoch, lambda e: sheaf.Reader(self.set, epoch=e)):
                with self.assertRaises(sheaf.ArgumentError):
                    call(epoch)
        for epoch in (None, 1.5, "3"):
            with self.assertRaisesRegex(TypeError, "whole number"):
                loader.set_epoch(epoch)
        self.assertEqual(len(list(loader)), 25)

    def test_a_data_set_of_the_package_as_source(self):
        dataset = sheaf.torch.Dataset(self.set, seed=5, shuffle_buffer=60, decode=number_of)
        loader = sheaf.torch.DataLoader(dataset, 8, 2, collate_fn=list)
        self.assertEqual(list(loader), list(self.loader()))
        self.assertIsNot(loader.dataset.reader, dataset.reader)
        for options in ({"seed": 1}, {"decode": key_of}):
            with self.assertRaisesRegex(TypeError, "takes the option"):
                sheaf.torch.DataLoader(dataset, 8, **options)


class LabelsTest(LoaderCase):
    def test_labels_are_a_tensor(self):
        for workers in (0, 2):
            for batch in self.loader(8, workers, decode=None, collate_fn=None):
                self.assertIsInstance(batch, sheaf.Batch)
                self.assertEqual((type(batch.labels), batch.labels.dtype, batch.labels.shape),
                                 (torch.Tensor, torch.int64, (8,)))
                self.assertEqual(batch.labels.tolist(), [sample.label for sample in batch])
                self.assertEqual((batch.labels == torch.tensor([s.label for s in batch])).numel(), 8)
                again = pickle.loads(pickle.dumps(batch))
                self.assertEqual((type(again), again.keys, again.labels.tolist()),
                                 (sheaf.torch.Batch, batch.keys, batch.labels.tolist()))
        self.assertRegex(repr(batch), r"^<sheaf.torch.Batch of 8 samples: .*bin.*>$")
        self.assertRegex(repr(sheaf.Dataset(self.set)[:3]), r"^<sheaf.Batch of 3 samples: .*bin.*>$")

    def test_labels_of_other_shapes(self):
        for labels, dtype, shape in ((None, torch.int64, (4, 0)), ([1, 2], torch.int64, (4, 2)),
                                     (0.5, torch.float64, (4,))):
            folder = self.path("labels-%s" % (labels,))
            with sheaf.Packer(folder) as packer:
                for i in range(4):
                    packer.append("%d" % i, {"txt": b"x"}, labels=labels)
            found = next(iter(sheaf.torch.DataLoader(folder, 4))).labels
            self.assertEqual((found.dtype, tuple(found.shape)), (dtype, shape))

    def test_the_labels_of_all_samples(self):
        dataset = sheaf.torch.Dataset(self.set)
        expected = [label for _, _, label in self.samples]
        self.assertEqual(dataset.targets.tolist(), expected)
        self.assertEqual(sheaf.Dataset(self.set).targets.tolist(), expected)
        self.assertEqual(dataset.classes, ["class %d" % i for i in range(7)])
        self.assertEqual(dataset.class_to_idx, {"class %d" % i: i for i in range(7)})
        mixed = self.path("mixed")
        with sheaf.Packer(mixed) as packer:
            packer.append("a", {"x": b"1"}, labels=3)
            packer.append("b", {"x": b"1"})
        self.assertEqual(sheaf.Dataset(mixed).targets.tolist(), [3, -1])
        vectors = pack(self.path("vectors"), [("a", {"x": b"1"}, [1, 2])], classes=None)
        with self.assertRaises(sheaf.UnsupportedError):
            sheaf.Dataset(vectors).targets      # pylint: disable=expression-not-assigned

    def test_a_loader_says_what_it_is(self):
        self.assertRegex(repr(self.loader(8, 2)), "DataLoader '.*set', rank 0 of 1, batches of 8, "
                                                  "2 workers, seed 5, next epoch 0>")


class FieldsTest(LoaderCase):
    def test_a_field_is_one_tensor(self):
        plain = list(self.loader(8, decode=None, collate_fn=None))
        for workers in (0, 2):
            loader = self.loader(8, workers, decode=None, collate_fn=None, fields=("bin",))
            for batch, expected in zip(loader, plain):
                self.assertEqual((batch.keys, batch.labels.tolist(), len(batch)),
                                 (expected.keys, expected.labels.tolist(), 8))
                data, offsets = batch["bin"]
                self.assertEqual((data.dtype, offsets.dtype, offsets.shape),
                                 (torch.uint8, torch.int64, (9,)))
                self.assertEqual(bytes(data.numpy()), b"".join(expected.fields("bin")))
                self.assertEqual([bytes(each.numpy()) for each in batch.tensors("bin")],
                                 [bytes(view) for view in expected.fields("bin")])
        with self.assertRaisesRegex(KeyError, "has no field 'seg.txt'"):
            list(self.loader(8, decode=None, collate_fn=None, fields=("bin", "seg.txt")))
        with self.assertRaisesRegex(sheaf.ArgumentError, "^on_error='skip' "):
            self.loader(8, decode=None, collate_fn=None, fields=("bin",), on_error="skip")
        for options in ({"decode": number_of, "collate_fn": None}, {"decode": None}):
            with self.assertRaisesRegex(sheaf.ArgumentError, "^fields="):
                self.loader(8, fields=("bin",), **options)
        with self.assertRaisesRegex(sheaf.ArgumentError, "expected a list of names"):
            self.loader(8, decode=None, collate_fn=None, fields="bin")

    def test_a_state_of_batches_of_fields(self):
        def loader():
            return self.loader(8, decode=None, collate_fn=None, fields=("bin",))
        whole, first = [batch.keys for batch in loader()], loader()
        given = iter(first)
        before = [next(given).keys for _ in range(5)]
        other = loader()
        other.load_state_dict(first.state_dict())
        self.assertEqual(before + [batch.keys for batch in other], whole)


def slow(sample):
    time.sleep(0.001)
    return sample.number


class StatsTest(LoaderCase):
    def test_where_the_time_went(self):
        for workers in (0, 2):
            loader = self.loader(8, workers, decode=slow)
            for _ in loader:
                time.sleep(0.002)
            stats = loader.stats()
            self.assertEqual((stats.samples, stats.batches, stats.workers), (200, 25, workers))
            self.assertGreaterEqual(stats.decode_ns, 200 * 1000000)
            self.assertGreaterEqual(stats.step_ns, 24 * 2000000)
            self.assertGreater(min(stats.wait_ns, stats.read_ns, stats.collate_ns), 0)
            if workers == 0:        # then all of it is done while the program waits
                self.assertGreaterEqual(stats.wait_ns, stats.read_ns + stats.decode_ns)
            self.assertRegex(str(stats), r"^200 samples, .* MB read; 25 batches; waits \d+% of the "
                             r"time for data; (2 workers|the loader) \d+% busy: \d+% reading, \d+% "
                             r"decoding, \d+% collating")
        with sheaf.Reader(self.set) as reader:
            next(reader)
            self.assertRegex(str(reader.stats()), r"^1 samples, [0-9.]+ MB read")

    def test_joining_fields_counts_as_collating(self):
        class Slow(sheaf.torch.FieldBatch):
            def __init__(self, *args):
                super().__init__(*args)
                time.sleep(0.01)

        loader = self.loader(8, decode=None, collate_fn=None, fields=("bin",))
        with unittest.mock.patch.object(sheaf.torch, "FieldBatch", Slow):
            self.assertEqual(len(list(loader)), 25)
        self.assertGreaterEqual(loader.stats().collate_ns, 25 * 10000000)


class DecodeTest(LoaderCase):
    def test_an_exception_names_the_sample(self):
        for workers in (0, 2):
            with self.assertRaisesRegex(ValueError, r"sample '.*3': decode: too blue"):
                list(self.loader(8, workers, decode=fails_on_three))
            with self.assertRaisesRegex(OSError, r"sample '.*': decode: broken"):
                list(self.loader(8, workers, decode=never))

    def test_a_stop_iteration_does_not_end_the_pass(self):
        for workers in (0, 2):
            with self.assertRaisesRegex(RuntimeError, "sample '.*': decode: it raised StopIteration"):
                list(self.loader(8, workers, decode=stops))
            with self.assertRaisesRegex(RuntimeError, "collate_fn: it raised StopIteration"):
                list(self.loader(8, workers, collate_fn=stops))
        loader = self.loader(8, 0, decode=stops_on_three, on_error="skip", report=lambda _: None)
        self.assertEqual((sum(map(len, loader)), loader.stats().undecoded), (180, 20))

    def test_samples_that_are_left_out(self):
        expected = [[n for n in batch if n % 10 != 3] for batch in self.loader()]
        for decode in (fails_on_three, none_of_three):
            for workers in (0, 2):
                told = []
                loader = self.loader(8, workers, decode=decode, on_error="skip", report=told.append)
                self.assertEqual(list(loader), expected)
                self.assertEqual(loader.stats().undecoded, 20)
                self.assertEqual({problem.code for problem in told}, {"DECODE"})
                self.assertEqual(len(told), 20)
                self.assertRegex(told[0].message, r"sample '.*3': decode: ")

    def test_ranks_make_equal_steps(self):
        for rank in range(2):
            loader = self.loader(8, 2, decode=fails_on_three, on_error="skip", rank=rank,
                                 world_size=2, report=lambda _: None)
            self.assertEqual(len(list(loader)), len(loader))
        with self.assertRaisesRegex(sheaf.CorruptError, "use larger batches"):
            for rank in range(2):
                list(self.loader(1, 0, decode=fails_on_three, on_error="skip", rank=rank,
                                 world_size=2, report=lambda _: None))

    def test_a_state_behind_samples_that_were_left_out(self):
        whole = list(self.loader(8, 0, decode=fails_on_three, on_error="skip",
                                 report=lambda _: None))
        loader = self.loader(8, 2, decode=fails_on_three, on_error="skip", report=lambda _: None)
        given = iter(loader)
        before = [next(given) for _ in range(7)]
        other = self.loader(8, 0, decode=fails_on_three, on_error="skip", report=lambda _: None)
        other.load_state_dict(json.loads(json.dumps(loader.state_dict())))
        self.assertEqual(before + list(other), whole)

    def test_a_decode_that_always_fails_is_an_error(self):
        with self.assertRaisesRegex(sheaf.CorruptError, "every sample of the pass.*broken"):
            list(self.loader(8, 0, decode=never, on_error="skip", report=lambda _: None))

    def test_pytorchs_own_loader(self):
        dataset = sheaf.torch.Dataset(self.set, seed=5, shuffle_buffer=60, decode=fails_on_three,
                                      on_error="skip")
        with self.assertWarnsRegex(UserWarning, "skipped: sample '.*': decode: ValueError: too blue"):
            batches = list(torch.utils.data.DataLoader(dataset, 8, sampler=dataset.sampler(),
                                                       collate_fn=list))
        self.assertEqual(sum(map(len, batches)), 180)


if __name__ == "__main__":
    unittest.main()
