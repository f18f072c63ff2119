# SPDX-License-Identifier: MIT
"""What goes wrong under sheaf.torch.DataLoader: damage, programs that fail, and processes that are
killed, of which nothing is left."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

import sheaf
from loading import LoaderCase, marked, number_of
from support import flip, pack


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


def wait_until(condition):
    """What another process does on its own."""
    limit = time.monotonic() + 300
    while not condition():
        if time.monotonic() > limit:
            raise AssertionError("it did not come")
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


class FaultsTest(LoaderCase):
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
        for options in ({"batch_size": 0}, {"remainder": "some"}, {"lanes": 3, "rank": 0,
                        "world_size": 2}, {"rank": 0}, {"threads": -1}, {"on_corrupt": "no"}):
            with self.assertRaises(sheaf.Error):        # they are ValueErrors as well
                self.loader(**options)
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
        wait_until(lambda: not arenas_of_the_dead())    # other tests may have some for a moment

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
        wait_until(lambda: not arenas_of_the_dead())    # other tests may have some for a moment


if __name__ == "__main__":
    unittest.main()
