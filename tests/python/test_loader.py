# SPDX-License-Identifier: MIT
"""sheaf.torch.DataLoader and Dataset: the same batches for any number of workers, exact resume in
any world, and nothing left behind by whatever is killed."""

import collections
import gc
import glob
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import warnings

import sheaf
from support import Case, FileServer, flip, pack, samples_of

try:
    import torch
    import sheaf.torch
except ImportError:
    torch = None

SCRIPT = """
import sys
import sheaf.torch
loader = sheaf.torch.DataLoader(sys.argv[1], 4, 2, shuffle_buffer=40, decode=lambda s: s.number,
                                prefetch_factor=4)
batches = iter(loader)
next(batches)
print(*[worker.pid for worker in batches.inner._workers], flush=True)
sys.stdin.read()
"""


RANK = """
import json, os, sys
import torch
import torch.distributed
import sheaf.torch

folder, state, stop, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
torch.distributed.init_process_group("gloo")
loader = sheaf.torch.DataLoader(folder, 8, 2, seed=3, shuffle_buffer=50, elastic=4,
                                decode=lambda s: (s.number, s.repeated), collate_fn=list)
if os.path.exists(state):
    loader.load_state_dict(torch.load(state))
read = []
for step, batch in enumerate(loader, 1):
    torch.distributed.all_reduce(torch.ones(1))     # a rank with fewer batches would hang here
    read += batch
    if step == stop:
        break
torch.distributed.barrier()
if torch.distributed.get_rank() == 0:
    torch.save(loader.state_dict(), state)
with open(out, "w", encoding="ascii") as file:
    json.dump(read, file)
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def key_of(sample):
    return sample.key


def number_of(sample):
    return sample.number


def marked(sample):
    return sample.number, sample.repeated


def wait_until(condition):
    """What another process does on its own; where it never comes, the runner ends the test."""
    while not condition():
        time.sleep(0.05)


def is_gone(process):
    try:
        with open("/proc/%d/stat" % process, encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def arenas_of_the_dead():
    """Memory that was shared by a loader of this test, and is now some other process's."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/maps" % process, encoding="utf-8") as file:
                has = "memfd:sheaf-arena" in file.read()
            with open("/proc/%s/stat" % process, encoding="ascii") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if has and parent == 1:         # it has lost its own
            found.append(process)
    return found


@unittest.skipIf(torch is None, "PyTorch is not installed")
class LoaderTest(Case):
    @classmethod
    def share(cls):
        cls.samples = samples_of(200)
        cls.set = pack(os.path.join(cls.shared, "set"), cls.samples)
        warnings.filterwarnings("ignore", message="This DataLoader will create")

    def loader(self, batch_size=8, workers=0, **options):
        options = {"seed": 5, "shuffle_buffer": 60, "decode": number_of, "collate_fn": list,
                   **options}
        made = sheaf.torch.DataLoader(self.set, batch_size, workers, **options)
        self.addCleanup(made.close)
        return made

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

    def run_ranks(self, world, stop, state):
        """What each of them read, over gloo."""
        port, programs, read = str(free_port()), [], []
        for rank in range(world):
            programs.append(subprocess.Popen(
                [sys.executable, "-W", "ignore", "-c", RANK, self.set, state, str(stop),
                 self.path("out-%d" % rank)], stderr=subprocess.PIPE, text=True,
                env=dict(os.environ, RANK=str(rank), WORLD_SIZE=str(world),
                         MASTER_ADDR="127.0.0.1", MASTER_PORT=port)))
        for rank, program in enumerate(programs):
            errors = program.communicate()[1]
            self.assertEqual(program.returncode, 0, errors)
            with open(self.path("out-%d" % rank), encoding="ascii") as file:
                read.append([tuple(sample) for sample in json.load(file)])
        return read

    def test_two_ranks_stop_and_four_go_on(self):
        state = self.path("state.pt")
        before = self.run_ranks(2, 5, state)
        self.assertEqual([len(part) for part in before], [40, 40])
        after = self.run_ranks(4, 1000, state)
        self.assertEqual([len(part) for part in after], [30] * 4)
        self.check_rest(sum(before, []), sum(after, []), 4)

    # ---- Resume -------------------------------------------------------------------------------

    def consume(self, state, world, batches, workers=0, batch_size=6, lanes=None):
        """What all ranks read, and their state."""
        read, states = [], []
        for rank in range(world):
            loader = self.loader(batch_size, workers, rank=rank, world_size=world,
                                 decode=marked, lanes=lanes)
            if state is not None:
                loader.load_state_dict(state)
            given = iter(loader)
            for _ in range(batches):
                batch = next(given, None)
                if batch is None:
                    break
                read += batch
            states.append(loader.state_dict())
            del given
            loader.close()
        self.assertEqual(states[1:], states[:-1])
        return read, states[0]

    def check_rest(self, before, after, world):
        read = collections.Counter(number for number, mark in before + after if not mark)
        self.assertEqual(read, collections.Counter(range(200)))
        self.assertLess(sum(mark for _, mark in after), world)

    def test_any_world_goes_on_from_any_batch(self):
        for world, after in ((1, 1), (1, 4), (2, 1), (2, 4), (4, 2)):
            for batches in range(0, -(-200 // (6 * world)) + 1, 1 if world > 1 else 3):
                before, state = self.consume(None, world, batches, lanes=4)
                if state["epoch"] != 0 or len(before) >= 200:
                    continue            # it is over
                rest, _ = self.consume(state, after, 1000, batch_size=5)
                self.check_rest(before, rest, after)

    def test_any_number_of_workers_goes_on(self):
        whole = list(self.loader(6, decode=marked))
        for batches, workers, then in ((1, 2, 3), (7, 3, 0), (33, 0, 2)):
            before, state = self.consume(None, 1, batches, workers)
            self.assertEqual(before, sum(whole[:batches], []))
            self.assertEqual(state["batches"], batches)
            rest, _ = self.consume(state, 1, 1000, then)
            self.assertEqual(rest, sum(whole[batches:], []))

    def test_other_lanes_and_workers(self):
        before, state = self.consume(None, 2, 5, 2, lanes=4)
        for persistent in (False, True):
            loader = self.loader(6, 2, decode=marked, persistent_workers=persistent)
            if persistent:
                next(iter(loader))      # its workers know the reader of one lane
            loader.load_state_dict(state)
            self.check_rest(before, sum(loader, []), 1)

    def test_twice_resumed_in_other_worlds(self):
        one, state = self.consume(None, 2, 5, lanes=4)
        two, state = self.consume(state, 4, 2)
        three, _ = self.consume(state, 1, 1000)
        self.check_rest(one + two, three, 1)

    def test_the_state_of_an_epoch_that_is_over_is_the_next_one(self):
        loader = self.loader(8)
        for _ in loader:
            pass
        self.assertEqual((loader.state_dict()["epoch"], loader.state_dict()["batches"]), (1, 0))
        other = self.loader(8)
        other.load_state_dict(loader.state_dict())
        self.assertEqual(list(other), list(loader))

    def test_an_epoch_is_over_with_its_last_batch(self):
        """Also where samples are left out behind it, which are no pass of their own."""
        for options in ({"drop_last": True}, {"remainder": "drop", "rank": 0, "world_size": 3}):
            loader = self.loader(11, **options)
            batches = iter(loader)
            for _ in range(len(loader)):
                next(batches)
            self.assertEqual(loader.state_dict()["epoch"], 1)
            other = self.loader(11, **options)
            other.load_state_dict(loader.state_dict())
            self.assertEqual(other.state_dict()["epoch"], 1)
            self.assertEqual(len(list(other)), len(loader))

    def test_the_state_before_the_first_batch_is_where_the_pass_begins(self):
        """Workers have numbers of the pass by then."""
        whole = list(self.loader(8))
        _, third = self.consume(None, 1, 3, batch_size=8)
        for workers, persistent in ((0, False), (2, False), (2, True)):
            loader = self.loader(8, workers, persistent_workers=persistent)
            iter(loader)
            self.assertEqual((loader.state_dict()["epoch"], loader.state_dict()["batches"]), (0, 0))
            loader = self.loader(8, workers, persistent_workers=persistent)
            loader.load_state_dict(third)
            given = iter(loader)
            other = self.loader(8)
            other.load_state_dict(loader.state_dict())
            self.assertEqual(list(other), whole[3:])
            self.assertEqual(list(given), whole[3:])
            self.assertEqual(loader.state_dict()["epoch"], 1)

    def test_the_state_after_an_error_is_where_the_batch_was_due(self):
        def fail(sample):
            raise KeyError("no %d" % sample.number)

        for workers in (0, 2):
            loader = self.loader(8, workers, decode=fail)
            with self.assertRaises(KeyError):
                next(iter(loader))
            self.assertEqual((loader.state_dict()["epoch"], loader.state_dict()["batches"]), (0, 0))

    def test_set_epoch_keeps_a_loaded_place(self):
        whole = list(self.loader(8))
        _, state = self.consume(None, 1, 3, batch_size=8)
        loader = self.loader(8)
        loader.load_state_dict(state)
        loader.set_epoch(0)
        self.assertEqual(list(loader), whole[3:])

    def test_what_was_read_is_not_read_again(self):
        _, state = self.consume(None, 1, 20, batch_size=8)
        loader = self.loader(8)
        loader.load_state_dict(state)
        self.assertEqual(len(list(loader)), 5)
        self.assertEqual(loader.stats().samples, 40)

    def test_a_state_of_something_else_is_refused(self):
        state = self.loader(8).state_dict()
        with self.assertRaisesRegex(sheaf.ArgumentError, "seed of this loader is 6"):
            self.loader(8, seed=6).load_state_dict(state)
        other = pack(self.path("other"), samples_of(50, number=2))
        loader = sheaf.torch.DataLoader(other, 8, seed=5, shuffle_buffer=60)
        with self.assertRaises(sheaf.ChangedError):
            loader.load_state_dict(state)
        with self.assertRaisesRegex(sheaf.ArgumentError, "lanes, which do not divide"):
            self.loader(8, rank=0, world_size=3).load_state_dict(state)
        with self.assertRaisesRegex(sheaf.ArgumentError, "not a state"):
            self.loader(8).load_state_dict({"epoch": 3})

    def test_the_sampler_s_iterator_has_a_state(self):
        dataset = sheaf.torch.Dataset(self.set, seed=5, shuffle_buffer=60, decode=number_of)
        numbers = iter(dataset.sampler())
        before = [next(numbers) for _ in range(30)]
        state = numbers.state_dict()
        other = sheaf.torch.Dataset(self.set, seed=5, shuffle_buffer=60, decode=number_of)
        again = iter(other.sampler())
        again.load_state_dict(state)
        read = [dataset[number] for number in before] + other.__getitems__(list(again))
        self.assertEqual(read, sum(self.loader(), []))

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

    # ---- Errors -------------------------------------------------------------------------------

    def damaged(self):
        """A set with a damaged sample, and its number."""
        folder = pack(self.path("damaged-%d" % time.monotonic_ns()), self.samples)
        path = os.path.join(folder, "shard-000001.tar")
        with open(path, "rb") as file:
            at = file.read().index(self.samples[75][1]["bin"])
        flip(path, at)
        return folder, 75

    def test_an_error_comes_with_its_batch(self):
        folder, bad = self.damaged()
        order = [sample.number for sample in sheaf.Reader(self.set, seed=5, shuffle_buffer=60)]
        whole = order.index(bad) // 8
        for workers in (0, 1, 3):
            loader = sheaf.torch.DataLoader(folder, 8, workers, seed=5, shuffle_buffer=60,
                                            decode=number_of, collate_fn=list)
            given = iter(loader)
            for i in range(whole):
                self.assertEqual(next(given), order[8 * i:8 * i + 8])
            with self.assertRaisesRegex(sheaf.CorruptError, "CRC-32C"):
                next(given)

    def test_after_an_error_there_is_another_pass(self):
        folder, _ = self.damaged()
        loader = sheaf.torch.DataLoader(folder, 8, 1, seed=5, shuffle_buffer=60,
                                        decode=number_of, collate_fn=list,
                                        persistent_workers=True)
        for _ in range(2):
            with self.assertRaisesRegex(sheaf.CorruptError, "CRC-32C"):
                list(loader)

    def test_what_is_skipped_leaves_a_hole(self):
        folder, bad = self.damaged()
        expected = [[number for number in batch if number != bad] for batch in self.loader(8)]
        for workers in (0, 3):
            told = []
            loader = sheaf.torch.DataLoader(folder, 8, workers, seed=5, shuffle_buffer=60,
                                            decode=number_of, collate_fn=list, on_corrupt="skip",
                                            report=told.append)
            self.assertEqual(list(loader), expected)
            self.assertEqual(loader.stats().corrupt, 1)
            self.assertEqual([problem.code for problem in told], ["CORRUPT"])
            loader.set_epoch(0)
            given, skipped = iter(loader), 0
            for batch, samples in zip(range(1, 26), expected):
                self.assertEqual(next(given), samples)
                skipped += len(samples) < 8
                self.assertEqual(loader.state_dict()["skipped"], skipped if batch < 25 else 0)
                if batch == 24:
                    state = loader.state_dict()
            self.assertEqual(skipped, 1)
            other = sheaf.torch.DataLoader(folder, 8, 0, seed=5, shuffle_buffer=60,
                                           decode=number_of, collate_fn=list, on_corrupt="skip")
            other.load_state_dict(state)
            self.assertEqual(other.state_dict(), {**state, "start": 24 * 8, "batches": 0})
            self.assertEqual(list(other), expected[24:])

    def test_a_batch_of_damage_alone(self):
        folder, bad = self.damaged()
        for workers in (0, 2):
            loader = sheaf.torch.DataLoader(folder, 1, workers, seed=5, shuffle_buffer=60,
                                            decode=number_of, on_corrupt="skip",
                                            report=lambda _: None)
            self.assertEqual([int(batch) for batch in loader],
                             [number for number in sum(self.loader(8), []) if number != bad])
            with self.assertRaisesRegex(sheaf.CorruptError, "use larger batches"):
                for rank in range(2):
                    for _ in sheaf.torch.DataLoader(folder, 1, workers, rank=rank, world_size=2,
                                                    on_corrupt="skip", report=lambda _: None):
                        pass

    def test_a_decode_that_fails_is_told(self):
        def fail(sample):
            raise KeyError("no %d" % sample.number)

        for workers in (0, 2):
            with self.assertRaisesRegex(KeyError, "no [0-9]+"):
                list(self.loader(8, workers, decode=fail))

    def test_options_that_are_none(self):
        with self.assertRaisesRegex(TypeError, "shuffle is not an option"):
            self.loader(shuffle=True)
        with self.assertRaisesRegex(ValueError, "batch_size is 0"):
            self.loader(0)
        with self.assertRaisesRegex(TypeError, "buffer"):
            self.loader(buffer=3)
        with self.assertRaises(sheaf.LimitError):
            self.loader(memory_bytes=100)

    # ---- Killing ------------------------------------------------------------------------------

    def test_a_worker_that_is_killed_is_told_and_replaced(self):
        loader = self.loader(2, 2, prefetch_factor=2)
        given = iter(loader)
        next(given)
        victim = given.inner._workers[0]
        os.kill(victim.pid, signal.SIGKILL)
        with self.assertRaisesRegex(RuntimeError, "exited unexpectedly|killed"):
            list(given)
        del given
        loader.set_epoch(0)
        self.assertEqual(list(loader), list(self.loader(2)))

    def test_what_is_killed_after_any_batch_goes_on(self):
        """With other workers, in another world; and nothing of it is left."""
        whole = list(self.loader(25, decode=marked, lanes=2))
        for batches in range(1, 8):
            state, workers = self.path("state-%d" % batches), batches % 3
            program = os.fork()
            if program == 0:
                try:
                    self.read_and_die(batches, workers, state)
                finally:
                    os._exit(1)
            self.assertEqual(os.waitpid(program, 0)[1], signal.SIGKILL)
            with open(state, encoding="ascii") as file:
                kept = json.load(file)
            wait_until(lambda kept=kept: all(is_gone(worker) for worker in kept["workers"]))
            self.assertEqual(kept["read"], [list(sample) for sample in sum(whole[:batches], [])])
            rest, _ = self.consume(kept["state"], 1 + batches % 2, 1000, (batches + 1) % 3)
            self.check_rest(kept["read"], rest, 1 + batches % 2)
        self.assertEqual(arenas_of_the_dead(), [])

    def read_and_die(self, batches, workers, path):
        loader = self.loader(25, workers, decode=marked, lanes=2)
        given = iter(loader)
        read = sum((next(given) for _ in range(batches)), [])
        pids = [worker.pid for worker in given.inner._workers] if workers else []
        with open(path, "w", encoding="ascii") as file:
            json.dump({"read": read, "state": loader.state_dict(), "workers": pids}, file)
        os.kill(os.getpid(), signal.SIGKILL)

    def test_workers_end_with_the_program(self):
        with subprocess.Popen([sys.executable, "-c", SCRIPT, self.set], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as program:
            workers = [int(word) for word in program.stdout.readline().split()]
            self.assertEqual(len(workers), 2)
            program.kill()
        wait_until(lambda: all(is_gone(worker) for worker in workers))
        self.assertEqual(arenas_of_the_dead(), [])

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
