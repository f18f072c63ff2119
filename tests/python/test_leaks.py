# SPDX-License-Identifier: MIT
"""Nothing stays behind: neither objects nor memory.  References are counted where the interpreter
can do so (python3-dbg); elsewhere, memory over many rounds, Python's and the process's."""

import ctypes
import gc
import mmap
import os
import sys
import tracemalloc
import unittest

import sheaf
from support import Case, flip, pack, samples_of


def resident_bytes():
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class LeakTest(Case):
    @classmethod
    def share(cls):
        cls.set = pack(os.path.join(cls.shared, "set"), samples_of(200, size=5000),
                       format="tfrecord")
        cls.bad = pack(os.path.join(cls.shared, "bad"), samples_of(100), format="tfrecord")
        flip(os.path.join(cls.bad, "shard-000001.tfrecord"), 1000)

    def assert_steady(self, what, rounds=30):
        for _ in range(5):
            what()
        gc.collect()
        threads = len(os.listdir("/proc/self/task"))
        if hasattr(sys, "gettotalrefcount"):
            before = sys.gettotalrefcount()
            for _ in range(rounds):
                what()
            gc.collect()
            self.assertLess(abs(sys.gettotalrefcount() - before), rounds)
        else:
            tracemalloc.start()
            self.addCleanup(tracemalloc.stop)
            what()
            before, traced = resident_bytes(), tracemalloc.get_traced_memory()[0]
            for _ in range(rounds):
                what()
            gc.collect()
            self.assertLess(tracemalloc.get_traced_memory()[0] - traced, rounds * 100)
            self.assertLess(resident_bytes() - before, rounds * 40000)
        self.assertEqual(len(os.listdir("/proc/self/task")), threads)

    def test_reading(self):
        def read():
            kept = []
            for sample in sheaf.Reader(self.set):
                kept.append((sample.key, sample.items(), sample.labels, sample.to_bytes(),
                             sample.class_name, repr(sample), sample.get("none"),
                             sample.suffixes, sample.values(), "bin" in sample))
            for batch in sheaf.Reader(self.set).batches(64):
                kept.append((batch.keys, batch.labels, batch.fields("bin"), list(batch)))
                try:
                    batch.stack("bin")
                except ValueError:
                    pass
        self.assert_steady(read)

    def test_positions_and_epochs(self):
        reader = sheaf.Reader(self.set)

        def move():
            for number in range(3):
                next(reader.epoch(number))
                reader.next_batch(7)
                reader.resume(reader.position())
                reader.stats()
        self.assert_steady(move)

    def test_errors(self):
        def fail():
            for call in (lambda: list(sheaf.Reader(self.bad)), lambda: sheaf.Dataset("/nowhere"),
                         lambda: sheaf.Reader(self.set, memory_bytes=1),
                         lambda: sheaf.Reader(self.set, remainder="x"),
                         lambda: sheaf.Packer(self.set), lambda: next(sheaf.Reader(self.set))[0]):
                try:
                    call()
                except (sheaf.Error, ValueError, KeyError):
                    pass
        self.assert_steady(fail)

    def test_a_reader_in_a_cycle_is_collected(self):
        def cycle():
            found = []
            reader = sheaf.Reader(self.bad, on_corrupt="skip",
                                  report=lambda problem: found.append((problem, reader)))
            list(reader)
            self.assertTrue(found)
        self.assert_steady(lambda: (cycle(), gc.collect()))

    def test_packed_batches_and_arenas(self):
        def send():
            arena = sheaf._sheaf.Arena(1 << 20)
            _, descriptor, _, size = arena.name
            memory = mmap.mmap(descriptor, size)
            for batch in sheaf.Reader(self.set).batches(64):
                kept = [sheaf._sheaf.unpack(batch._pack()).fields("bin")]
                word, message = arena.send(batch)
                kept.append(list(sheaf._sheaf.receive(memory, word, message)))
                other, message = arena.send(batch)
                self.assertNotEqual(other, word)
                del kept
                sheaf._sheaf.receive(memory, other, message)
                for damaged in (b"", bytes(100), message[:200]):
                    for wrong in ((memory, 0, damaged), (b"", 0, message), (memory, -1, message)):
                        with self.assertRaises((ValueError, BufferError)):
                            sheaf._sheaf.receive(*wrong)
        self.assert_steady(send)

    def test_reading_into_an_arena(self):
        def read():
            arena = sheaf._sheaf.Arena(1 << 20, 32 << 20)
            _, descriptor, _, size = arena.name
            memory = mmap.mmap(descriptor, size)
            reader = sheaf.Reader(self.set, memory_bytes=32 << 20, _arena=arena)
            kept = [sheaf._sheaf.receive(memory, *arena.send(batch))
                    for batch in reader.batches(64)]
            self.assertTrue(kept[0][0].to_bytes())
        self.assert_steady(read)

    def test_packing_and_verifying(self):
        def work():
            pack(self.path("again"), samples_of(50), overwrite=True)
            sheaf.verify(self.path("again"))
            sheaf.pack(self.shared, self.path("tree"), dry_run=True, on_error="skip")
            opened = sheaf.Dataset(self.path("again"))
            return opened.shards, opened.classes, opened.manifest
        self.assert_steady(work)


if __name__ == "__main__":
    unittest.main()
