# SPDX-License-Identifier: MIT
"""Batches that go to other processes: through a DataLoader's shared memory, and as pickles.  Needs
torch (Debian: python3-torch)."""

import copy
import gc
import mmap
import os
import pickle
import random
import unittest
from unittest import mock

import sheaf
from support import Case, samples_of, seed

try:
    import torch
    import sheaf._shared
    import sheaf.torch
except ImportError as error:
    raise unittest.SkipTest("no torch: %s" % error)

COUNT = 1500
SIZE = 20


def no_memory(*_):
    raise OSError("none is left")


class SharedCase(Case):
    @classmethod
    def share(cls):
        samples = samples_of(COUNT, size=9000)
        cls.by_key = {key: (fields, label) for key, fields, label in samples}
        cls.set = os.path.join(cls.shared, "set")
        with sheaf.Packer(cls.set, format="tfrecord", shard_bytes=1000000,
                          classes=["class %d" % i for i in range(7)]) as packer:
            for key, fields, label in samples:
                packer.append(key, fields, labels=label)

    def check(self, sample):
        fields, label = self.by_key[sample.key]
        self.assertEqual(dict(sample.items()), fields)
        self.assertEqual((sample.label, sample.class_name), (label, "class %d" % label))

    def loader(self, workers=2, **options):
        return sheaf.torch.DataLoader(self.set, SIZE, workers, **options)


class PickleTest(SharedCase):
    def test_a_batch_can_be_pickled_and_copied(self):
        reader = sheaf.Reader(self.set)
        next(reader)
        batch = reader.next_batch(50)
        for again in (pickle.loads(pickle.dumps(batch)), copy.copy(batch),
                      pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(batch))))):
            self.assertEqual(again.keys, batch.keys)
            self.assertEqual(again.labels, batch.labels)
            for one, other in zip(batch, again):
                self.check(other)
                self.assertEqual((one.number, one.shard, one.record, one.suffixes),
                                 (other.number, other.shard, other.record, other.suffixes))

    def test_views_of_an_unpacked_batch_outlive_it(self):
        batch = pickle.loads(pickle.dumps(sheaf.Reader(self.set).next_batch(50)))
        kept = list(zip(batch.keys, batch.fields("bin")))
        del batch
        gc.collect()
        junk = [os.urandom(100000) for _ in range(20)]
        for key, view in kept:
            self.assertEqual(view, self.by_key[key][0]["bin"])
        del junk

    def test_damaged_bytes_are_refused(self):
        packed = bytes(sheaf.Reader(self.set).next_batch(3)._pack())
        for size in list(range(0, 700, 7)) + [len(packed) - 1]:
            with self.assertRaises(ValueError):
                sheaf._sheaf.unpack(packed[:size])
        chance = random.Random(seed())
        for _ in range(300):
            damaged = bytearray(packed)
            damaged[chance.randrange(600)] ^= 1 << chance.randrange(8)
            try:
                for sample in sheaf._sheaf.unpack(damaged):     # wrong, but of its own bytes
                    sample.to_bytes(), repr(sample), sample.labels, sample.class_name
            except (ValueError, MemoryError):
                pass


class ArenaTest(Case):
    """A reader that reads into shared memory, without a second process."""

    @classmethod
    def share(cls):
        chance = random.Random(seed())
        cls.by_key = {"%03d" % i: chance.randbytes(20000 + i) for i in range(300)}
        cls.set = os.path.join(cls.shared, "set")
        with sheaf.Packer(cls.set, format="tfrecord", shard_bytes=2000000) as packer:
            for key, data in cls.by_key.items():
                packer.append(key, {"bin": data})

    def setUp(self):
        super().setUp()
        # Pieces have no room but for the words: what is not there already cannot be sent.
        self.arena = sheaf._sheaf.Arena(1 << 16, 64 << 20)
        _, descriptor, _, size = self.arena.name
        self.memory = mmap.mmap(descriptor, size)

    def reader(self, **options):
        return sheaf.Reader(self.set, memory_bytes=64 << 20, shuffle_buffer=50,
                            _arena=self.arena, **options)

    def receive(self, batch):
        return sheaf._sheaf.receive(self.memory, *self.arena.send(batch))

    def check(self, batch):
        for key, view in zip(batch.keys, batch.fields("bin")):
            self.assertEqual(view, self.by_key[key])

    def test_samples_are_not_copied(self):
        reader, chance = self.reader(), random.Random(seed())
        kept, keys = [], []
        for _ in range(3):
            for batch in reader.batches(20):
                keys.append(batch.keys)
                kept.append(self.receive(batch))
                del batch
                if len(kept) > 5:
                    self.check(kept.pop(chance.randrange(len(kept))))
        self.assertEqual(sorted(sum(keys, [])), sorted(3 * list(self.by_key)))
        reader.close()
        del reader, self.arena
        for batch in kept:
            self.check(batch)

    def test_one_reader_at_a_time(self):
        first, second = self.reader(), self.reader()
        one, other = first.next_batch(20), second.next_batch(20)
        self.assertIsNone(self.arena.send(other))
        sent = self.receive(one)
        first.close()
        third = self.reader()
        self.assertIsNone(self.arena.send(third.next_batch(20)))
        self.check(sent)
        del one, sent
        self.assertIsNone(self.arena.send(other))       # which takes back what was let go
        fourth = self.reader()
        self.check(self.receive(fourth.next_batch(20)))
        with self.assertRaises(TypeError):
            sheaf.Reader(self.set, _arena=self.memory)

    def test_a_reader_that_needs_more_than_there_is(self):
        reader = sheaf.Reader(self.set, memory_bytes=128 << 20, _arena=self.arena)
        batch = reader.next_batch(20)
        self.assertIsNone(self.arena.send(batch))
        self.check(batch)

    def test_what_a_child_may_see_stays(self):
        reader = self.reader()
        batch = reader.next_batch(20)
        begin, end = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            os.close(end[0])
            os.read(begin[0], 1)
            same = all(view == self.by_key[key]
                       for key, view in zip(batch.keys, batch.fields("bin")))
            os.write(end[1], b"same" if same else b"other")
            del batch
            os._exit(0)
        os.close(end[1])
        del batch
        for _ in range(3):
            for batch in reader.batches(20):
                self.check(batch)
        os.write(begin[1], b"x")
        self.assertEqual(os.read(end[0], 9), b"same")
        os.waitpid(child, 0)
        for batch in reader.batches(20):
            self.check(batch)
        for descriptor in (*begin, end[0]):
            os.close(descriptor)


class LoaderTest(SharedCase):
    def test_every_sample_comes_once_and_whole(self):
        for options in ({"workers": 1}, {"persistent_workers": True},
                        {"multiprocessing_context": "spawn"}, {"prefetch_factor": 7}):
            with self.subTest(options):
                loader = self.loader(**options)
                passes = []
                for _ in range(2):
                    found = []
                    for batch in loader:
                        self.assertIsInstance(batch, sheaf.Batch)
                        self.assertLessEqual(len(batch), SIZE)
                        for sample in batch:
                            self.check(sample)
                        found += batch.keys
                    self.assertEqual(sorted(found), sorted(self.by_key))
                    passes.append(found)
                self.assertNotEqual(*passes)

    def test_memory_is_used_again(self):
        loader = self.loader()
        for _ in range(3):              # new workers each time; those before are forgotten
            for batch in loader:
                del batch
            self.assertIn(len(sheaf._shared._mapped), (2, 3, 4))

    def test_views_that_are_kept_never_change(self):
        chance = random.Random(seed())
        kept = []
        for batch in self.loader():
            sample = batch[chance.randrange(len(batch))]
            kept += [(sample.key, sample["bin"])] if chance.random() < 0.7 else [
                (key, view) for key, view in zip(batch.keys, batch.fields("bin"))]
        del batch, sample
        gc.collect()
        for batch in self.loader():     # other workers
            pass
        for key, view in kept:
            self.assertEqual(view, self.by_key[key][0]["bin"])

    def test_more_may_be_kept_than_an_arena_holds(self):
        with mock.patch.object(sheaf._shared, "BYTES_MOST", 1 << 20):   # the workers are forked
            batches = list(self.loader())
        self.assertGreater(sum(batch.fields("bin")[0].nbytes * SIZE for batch in batches), 4 << 20)
        keys = [sample.key for batch in batches for sample in batch]
        self.assertEqual(sorted(keys), sorted(self.by_key))
        for batch in batches:
            for sample in batch:
                self.check(sample)

    def test_what_a_child_may_see_is_not_used_again(self):
        passing = iter(self.loader())
        batch = next(passing)
        whole = {key: bytes(view) for key, view in zip(batch.keys, batch.fields("bin"))}
        begin, end = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            os.close(end[0])
            os.read(begin[0], 1)
            same = {k: bytes(v) for k, v in zip(batch.keys, batch.fields("bin"))} == whole
            os.write(end[1], b"same" if same else b"other")
            os._exit(0)
        os.close(end[1])
        del batch
        for batch in passing:
            pass
        os.write(begin[1], b"x")
        self.assertEqual(os.read(end[0], 9), b"same")
        os.waitpid(child, 0)
        for descriptor in (*begin, end[0]):
            os.close(descriptor)

    def test_without_shared_memory_bytes_are_sent(self):
        before = set(sheaf._shared._mapped)
        with mock.patch.object(sheaf._sheaf, "Arena", no_memory):       # the workers are forked
            batches = list(self.loader())
        self.assertEqual(set(sheaf._shared._mapped) - before, set())
        self.assertEqual(sorted(sum((batch.keys for batch in batches), [])), sorted(self.by_key))

    def test_a_pass_that_is_broken_off(self):
        loader = self.loader(persistent_workers=True)
        for _ in range(20):
            next(iter(loader))
        self.assertEqual(sum(len(batch) for batch in loader), COUNT)

    def test_pinning_leaves_a_batch_as_it_is(self):
        batch = next(iter(self.loader()))
        self.assertIs(torch.utils.data._utils.pin_memory.pin_memory(batch), batch)


if __name__ == "__main__":
    unittest.main()
