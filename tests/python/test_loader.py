# SPDX-License-Identifier: MIT
"""sheaf.torch.DataLoader and Dataset: the same batches for any number of workers, epoch after epoch,
and each sample once over all ranks."""

import gc
import glob
import os
import signal
import threading
import unittest
import warnings

import sheaf
from loading import LoaderCase, key_of, marked, number_of, torch
from support import FileServer, flip, pack, samples_of


class LoaderTest(LoaderCase):
    # ---- The same batches ---------------------------------------------------------------------

    def test_batches_do_not_depend_on_workers(self):
        expected = [sample.number for sample in sheaf.Reader(self.set, seed=5, shuffle_buffer=60)]
        for workers in (0, 1, 3, 8):
            loader = self.loader(7, workers)
            self.assertEqual(len(loader), 29)
            batches = list(loader)
            self.assertEqual([len(batch) for batch in batches], [7] * 28 + [4])
            self.assertEqual(sum(batches, []), expected)

    def test_without_workers_there_is_no_socket(self):
        def sockets():
            return [name for name in os.listdir("/proc/self/fd")
                    if os.path.islink("/proc/self/fd/" + name)
                    and os.readlink("/proc/self/fd/" + name).startswith("socket:")]

        before = len(sockets())
        loader = self.loader(8)
        for batch in loader:
            self.assertEqual(len(sockets()), before)
        loader = self.loader(8, 2)
        self.assertGreater(len(sockets()), before)

    def test_what_was_skipped_pads_nothing(self):
        """Rank 1 of 2 has samples 3 and 4 of five, and 4 once more: where that is damaged, nothing."""
        folder = pack(self.path("five"), [("c/%d" % i, {"txt": b"content of %d" % i}, 0)
                                          for i in range(5)], format="webdataset")
        for path in glob.glob(folder + "/*.tar"):
            with open(path, "rb") as file:
                at = file.read().find(b"content of 4")
            if at >= 0:
                flip(path, at)
        for batch_size in (1, 2, 3, 8):
            loader = sheaf.torch.DataLoader(folder, batch_size, no_shuffle=True, rank=1,
                                            world_size=2, on_corrupt="skip", decode=number_of,
                                            collate_fn=list)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if batch_size < 3:      # a rank with a batch less would let the others wait
                    self.assertRaises(sheaf.CorruptError, list, loader)
                else:
                    self.assertEqual(sum(loader, []), [3])

    def test_a_signal_interrupts_the_wait(self):
        server = FileServer(self, self.set, silent=("shard-",))
        loader = sheaf.torch.DataLoader(server.url, 8, seed=5, decode=number_of, collate_fn=list)
        begun = threading.Event()

        def interrupt():
            server.asked.wait()
            begun.wait()
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        with self.assertRaises(KeyboardInterrupt):
            begun.set()
            next(iter(loader))
        server.goes_on.set()
        loader.set_epoch(0)
        self.assertEqual(sorted(sum(loader, [])), list(range(200)))

    def test_batches_do_not_depend_on_the_start_method(self):
        expected = list(self.loader(16))
        for method in ("spawn", "forkserver"):
            self.assertEqual(list(self.loader(16, 2, multiprocessing_context=method)), expected)

    def test_pytorch_s_own_loader_gives_them_too(self):
        for workers in (0, 2):
            dataset = sheaf.torch.Dataset(self.set, seed=5, shuffle_buffer=60, decode=number_of)
            loader = torch.utils.data.DataLoader(
                dataset, batch_size=8, sampler=dataset.sampler(), num_workers=workers,
                collate_fn=list, persistent_workers=workers > 0)
            ours = self.loader()
            for _ in range(3):
                self.assertEqual(len(loader), 25)
                self.assertEqual(list(loader), list(ours))
            dataset.close()

    def test_without_decode_a_batch_is_a_batch(self):
        for workers in (0, 2):
            loader = self.loader(16, workers, decode=None, collate_fn=None)
            batches = list(loader)
            self.assertIsInstance(batches[0], sheaf.Batch)
            self.assertEqual([sample.number for batch in batches for sample in batch],
                             sum(self.loader(16), []))
            for batch in batches:
                for sample in batch:
                    self.assertEqual(sample.to_bytes(), self.samples[sample.number][1])
                    self.assertEqual((sample.key, sample.label),
                                     self.samples[sample.number][::2])

    def test_drop_last_and_default_collate(self):
        loader = self.loader(64, drop_last=True, collate_fn=None)
        self.assertEqual(len(loader), 3)
        batches = list(loader)
        self.assertEqual([tuple(batch.shape) for batch in batches], [(64,)] * 3)

    def test_plain_numbers_are_random_access(self):
        dataset = sheaf.torch.Dataset(self.set, decode=key_of)
        self.assertEqual(len(dataset), 200)
        self.assertEqual(dataset[7], self.samples[7][0])
        self.assertEqual(dataset[-1], self.samples[-1][0])
        for workers in (0, 2):
            loader = torch.utils.data.DataLoader(dataset, batch_size=16, num_workers=workers,
                                                 shuffle=True, collate_fn=list)
            self.assertEqual(sorted(sum(loader, [])), sorted(key for key, _, _ in self.samples))

    # ---- Epochs -------------------------------------------------------------------------------

    def test_each_pass_is_the_next_epoch(self):
        epochs = [[sample.number for sample in sheaf.Reader(self.set, seed=5, shuffle_buffer=60,
                                                            epoch=epoch)] for epoch in range(4)]
        for workers in (0, 2):
            loader = self.loader(8, workers, persistent_workers=workers > 0)
            self.assertEqual(sum(loader, []), epochs[0])
            for _ in loader:            # broken off
                break
            self.assertEqual(sum(loader, []), epochs[2])
            loader.set_epoch(1)
            self.assertEqual(sum(loader, []), epochs[1])
            loader.set_epoch(3)
            self.assertEqual(sum(loader, []), epochs[3])

    def test_one_pass_at_a_time(self):
        loader = self.loader(8)
        first = iter(loader)
        next(first)
        second = iter(loader)
        next(second)
        with self.assertRaisesRegex(sheaf.StateError, "one at a time"):
            next(first)
        self.assertEqual(len(list(second)), 24)

    # ---- Ranks --------------------------------------------------------------------------------

    def test_ranks_share_an_epoch(self):
        for world, remainder, repeated, count in ((3, "auto", 1, 201), (3, "drop", 0, 198),
                                                  (3, "keep", 0, 200), (1, "pad", 0, 200)):
            every = []
            for rank in range(world):
                loader = self.loader(8, rank=rank, world_size=world, remainder=remainder,
                                     decode=marked, elastic=4)
                own = sum(loader, [])
                self.assertEqual(len(loader), -(-len(own) // 8))
                stats = loader.stats()
                self.assertEqual((stats.samples, stats.repeated),
                                 (len(own), sum(mark for _, mark in own)))
                every += own
            self.assertEqual(len(every), count)
            self.assertEqual(sum(mark for _, mark in every), repeated)
            genuine = [number for number, mark in every if not mark]
            self.assertEqual(len(set(genuine)), len(genuine))
        with self.assertRaisesRegex(ValueError, "do not divide"):
            self.loader(lanes=3, rank=0, world_size=2)
        with self.assertRaisesRegex(ValueError, "shared out equally"):
            self.loader(rank=0, world_size=300)

    def test_the_repeated_sample_may_be_alone(self):
        whole = sum(self.loader(67, rank=2, world_size=3, decode=marked), [])
        batches = list(self.loader(66, rank=2, world_size=3, decode=marked))
        self.assertEqual([len(batch) for batch in batches], [66, 1])
        self.assertEqual(sum(batches, []), whole)
        self.assertEqual(whole[-1], (whole[-2][0], True))
        batches = list(self.loader(66, rank=2, world_size=3, decode=None, collate_fn=None))
        self.assertEqual([sum(batch.repeated) for batch in batches], [0, 1])

    def test_lanes_with_little_of_the_buffer_are_warned_of(self):
        with self.assertWarnsRegex(UserWarning, "each of 64 lanes has 0 samples"):
            big = pack(self.path("big"), [("k%d" % i, {"x": b"%d" % i}, 0) for i in range(7000)])
            sheaf.torch.Dataset(big, elastic=64, shuffle_buffer=60)

    # ---- What is shared out twice -------------------------------------------------------------

    def batches_of(self, chosen, workers):
        """As a wrapper would have it that takes only chosen batches."""
        dataset = sheaf.torch.Dataset(self.set, seed=5, shuffle_buffer=60, decode=number_of)
        self.addCleanup(dataset.close)
        batches = torch.utils.data.BatchSampler(dataset.sampler(), 8, False)
        part = (batch for i, batch in enumerate(batches) if chosen(i))
        return torch.utils.data.DataLoader(dataset, batch_sampler=part, num_workers=workers,
                                           collate_fn=list), dataset

    def test_every_second_batch_is_an_error(self):
        for workers in (0, 1, 3):
            loader, _ = self.batches_of(lambda i: i % 2 == 0, workers)
            with self.assertRaisesRegex(sheaf.StateError, "shares the samples out a second time"):
                list(loader)

    def test_a_beginning_that_is_skipped_is_sought_over(self):
        whole = list(self.loader(8))
        for workers in (0, 1, 3):
            for skipped in (1, 23):
                loader, dataset = self.batches_of(lambda i, skipped=skipped: i >= skipped, workers)
                self.assertEqual(list(loader), whole[skipped:])
                if workers < 2:
                    self.assertEqual(dataset.stats().samples, 200 - 8 * skipped)

    def test_what_a_state_has_skipped_is_not_to_be_skipped_again(self):
        first = self.loader(8)
        next(iter(first))
        for workers in (0, 2):
            loader = self.loader(8, workers)
            loader.load_state_dict(first.state_dict())
            rest = (batch for i, batch in enumerate(loader.batch_sampler) if i >= 1)
            skipping = torch.utils.data.DataLoader(loader.dataset, batch_sampler=rest,
                                                   num_workers=workers, collate_fn=list)
            with self.assertRaisesRegex(sheaf.StateError, "a loaded state has skipped"):
                list(skipping)

    def test_another_loader_is_made_from_the_attributes(self):
        """As Accelerate's skip_first_batches does."""
        whole = list(self.loader(8))
        for workers in (0, 2):
            for skipped in (0, 3):
                loader = self.loader(8, workers)
                rest = (batch for i, batch in enumerate(loader.batch_sampler) if i >= skipped)
                made = torch.utils.data.DataLoader(loader.dataset, batch_sampler=rest, num_workers=workers,
                                                   collate_fn=loader.collate_fn)
                self.assertEqual(list(made), whole[skipped:])

    def test_another_loader_warns_of_skipped_samples(self):
        def odd(sample):
            if number_of(sample) % 2 == 0 or number_of(sample) < limit:
                raise ValueError("even")
            return number_of(sample)

        for limit in (0, 1000):
            loader = sheaf.torch.DataLoader(self.set, 8, decode=odd, on_error="skip", collate_fn=list)
            made = torch.utils.data.DataLoader(loader.dataset, batch_sampler=loader.batch_sampler,
                                               collate_fn=loader.collate_fn)
            if limit == 0:
                with self.assertWarnsRegex(UserWarning, "skipped: .*even"):
                    self.assertEqual(sorted(number for batch in made for number in batch), list(range(1, 200, 2)))
            else:
                with self.assertRaisesRegex(sheaf.StateError, "a batch has no samples"):
                    list(made)

    def test_an_epoch_is_set_by_the_batch_sampler_too(self):
        """What skips batches has only that of the loader."""
        loader = self.loader(8)
        loader.batch_sampler.set_epoch(1)
        self.assertEqual(list(loader), list(self.loader(8, epoch=1)))

    def test_a_wrapper_that_is_a_batch_ahead_is_told(self):
        class Wrapper(torch.utils.data.DataLoader):
            def __init__(self, base):
                self.__dict__.update(base.__dict__)
                self.base = base

            def __iter__(self):
                return iter(self.base)

        loader = self.loader(8)
        batches = iter(Wrapper(loader))
        next(batches)
        with self.assertRaisesRegex(sheaf.StateError, "move_to_device=False"):
            loader.state_dict()
        next(iter(loader))
        self.assertEqual(loader.state_dict()["batches"], 1)

    # ---- Memory -------------------------------------------------------------------------------

    def test_views_that_are_kept_do_not_stall_it(self):
        big = pack(self.path("big"), samples_of(300, size=60000))
        by_key = {key: fields for key, fields, _ in samples_of(300, size=60000)}
        for workers in (0, 2):
            loader = sheaf.torch.DataLoader(big, 10, workers, shuffle_buffer=20,
                                            memory_bytes=6 << 20)
            kept = list(loader)
            self.assertEqual(sum(len(batch) for batch in kept), 300)
            for batch in kept:
                for sample in batch:
                    self.assertEqual(sample.to_bytes(), by_key[sample.key])
            self.assertLessEqual(loader.stats().memory_peak_bytes, 6 << 20)

    def test_a_loader_goes_with_its_last_reference(self):
        def used():
            return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

        def read():
            loader = sheaf.torch.DataLoader(self.set, 8, shuffle_buffer=60)
            kept = list(loader)
            given = iter(loader)
            next(given)
            return kept

        read()
        gc.collect()
        before = used()
        gc.disable()
        self.addCleanup(gc.enable)
        kept = read()
        read()
        self.assertEqual(sum(len(batch) for batch in kept), 200)
        for batch in kept:
            for sample in batch:        # what is kept outlives it
                self.assertEqual(sample.to_bytes(), self.samples[sample.number][1])
        del kept, batch, sample
        self.assertEqual(used(), before)

    # ---- Several ------------------------------------------------------------------------------

    def test_two_loaders_in_one_program(self):
        for workers in (0, 2):
            one, two = self.loader(8, workers), self.loader(8, workers, seed=6)
            expected = list(self.loader(8)), list(self.loader(8, seed=6))
            both = list(zip(one, two))
            self.assertEqual(([first for first, _ in both], [second for _, second in both]),
                             expected)
            self.assertEqual(one.stats().samples, 200)

    def test_a_union_of_data_sets(self):
        other = pack(self.path("other"), samples_of(70, number=2))
        expected = [sample.key for sample in sheaf.Reader([self.set, other], seed=5,
                                                          shuffle_buffer=60)]
        for workers in (0, 2):
            loader = sheaf.torch.DataLoader([self.set, other], 8, workers, seed=5,
                                            shuffle_buffer=60, decode=key_of, collate_fn=list)
            self.assertEqual(len(loader), 34)
            self.assertEqual(sum(loader, []), expected)

    def test_a_remote_data_set(self):
        server = FileServer(self, self.set)
        whole = list(self.loader(8))
        for workers in (0, 2):
            loader = sheaf.torch.DataLoader(server.url, 8, workers, seed=5, shuffle_buffer=60,
                                            decode=number_of, collate_fn=list)
            given = iter(loader)
            before = [next(given) for _ in range(9)]
            state = loader.state_dict()
            loader.close()
            loader.load_state_dict(state)
            self.assertEqual(before + list(loader), whole)


if __name__ == "__main__":
    unittest.main()
