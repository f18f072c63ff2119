# SPDX-License-Identifier: MIT
"""sheaf.torch.seeded: a transform draws the same for a sample whatever reads it, and the program's
own generators go on as if it had drawn nothing.  Needs torch and NumPy."""

import itertools
import pickle
import random
import unittest

from loading import LoaderCase

import numpy
import torch
import sheaf.torch
import sheaf._seeded


def drawn(sample):
    """Every generator, and what keeps a number for the next call."""
    return (sample.key, random.random(), random.gauss(0, 1), random.sample(range(1000), 3),
            numpy.random.rand(), numpy.random.randn(3).tolist(), numpy.random.randint(1 << 30),
            torch.rand(2).tolist(), torch.randn(1).item(), torch.randperm(5).tolist())


def fails(sample):
    drawn(sample)
    raise ZeroDivisionError


def programs():
    """What the program draws next, without a change to its generators."""
    states = random.getstate(), numpy.random.get_state(), torch.get_rng_state()
    found = drawn(Given)
    random.setstate(states[0])
    numpy.random.set_state(states[1])
    torch.set_rng_state(states[2])
    return found


class Given:
    key, seed = "given", 0xfedcba9876543210


class Own:
    """As Albumentations: it has a generator of its own, which it seeds."""
    def __init__(self):
        self.random = random.Random(1)

    def set_random_seed(self, seed):
        self.random.seed(seed)

    def __call__(self, sample):
        return self.random.random()


class Generators(unittest.TestCase):
    def check_untouched(self):
        """After every number of draws, so that each place in the words, and a kept normal number,
        has its turn."""
        call = sheaf.torch.seeded(drawn)
        expected = None
        for i in range(700):
            before = programs()
            found = call(Given)
            self.assertEqual(programs(), before, i)
            self.assertEqual(expected or found, found)
            expected = found
            random.gauss(0, 1)
            numpy.random.randn()
            torch.randn(1)

    def test_they_go_on(self):
        for generator in sheaf._seeded._generators(True)[1:]:
            generator.begin(1)
            generator.end()
            self.assertIsNotNone(generator.memory, generator)
        self.check_untouched()

    def test_they_go_on_by_the_slow_way(self):
        generators = sheaf._seeded._generators(True)
        memory = [generator.memory for generator in generators[1:]]
        generators[1].memory = generators[2].memory = None
        try:
            self.check_untouched()
        finally:
            generators[1].memory, generators[2].memory = memory

    def test_both_ways_are_one(self):
        generators = sheaf._seeded._generators(True)
        call = sheaf.torch.seeded(drawn)
        fast, memory = call(Given), [generator.memory for generator in generators[1:]]
        generators[1].memory = generators[2].memory = None
        try:
            self.assertEqual(call(Given), fast)
        finally:
            generators[1].memory, generators[2].memory = memory

    def test_another_generator_of_numpy(self):
        before = numpy.random.get_bit_generator()
        numpy.random.set_bit_generator(numpy.random.MT19937(5))
        try:
            numpy.random.randn()
            self.check_untouched()
        finally:
            numpy.random.set_bit_generator(before)

    def test_an_error_puts_them_back(self):
        before = programs()
        with self.assertRaises(ZeroDivisionError):
            sheaf.torch.seeded(fails)(Given)
        self.assertEqual(programs(), before)

    def test_generators_of_ones_own(self):
        own, generator, other = Own(), torch.Generator(), random.Random(2)
        self.assertEqual(sheaf.torch.seeded(own)(Given), sheaf.torch.seeded(own)(Given))

        def transform(_):
            return own(None), torch.rand(1, generator=generator).item(), other.random()
        call = sheaf.torch.seeded(transform, own, generator, other)
        first = call(Given)
        own(None), torch.rand(1, generator=generator), other.random()
        self.assertEqual(call(Given), first)

    def test_seeds_differ(self):
        class Other:
            key, seed = "given", Given.seed + 1
        found = sheaf.torch.seeded(drawn)(Given), sheaf.torch.seeded(drawn)(Other)
        self.assertTrue(all(a != b for a, b in zip(found[0][1:], found[1][1:])))

    def test_refused(self):
        with self.assertRaisesRegex(sheaf.ArgumentError, "called with a dict, which has no seed"):
            sheaf.torch.seeded(drawn)({})
        with self.assertRaisesRegex(sheaf.ArgumentError, "3 has no set_random_seed"):
            sheaf.torch.seeded(drawn, 3)


class Loaders(LoaderCase):
    decode = staticmethod(sheaf.torch.seeded(drawn))

    @classmethod
    def share(cls):
        super().share()
        with sheaf.Reader(cls.set, seed=5, epoch=0) as reader:
            cls.expected = {sample.key: cls.decode(sample) for sample in reader}

    def check(self, *passes):
        found = list(itertools.chain.from_iterable(passes))
        self.assertGreaterEqual(len(found), 200)
        self.assertEqual({each[0]: each for each in found}, self.expected)

    def test_pickled(self):
        self.assertEqual(pickle.loads(pickle.dumps(self.decode)).transform, drawn)

    def test_workers(self):
        for workers, context in ((0, None), (1, "fork"), (2, "fork"), (7, "fork"), (2, "spawn")):
            loader = self.loader(8, workers, decode=self.decode, multiprocessing_context=context)
            self.check(*loader)

    def test_worlds(self):
        for world in (1, 2, 4):
            for lanes in (world, 8):
                batches = []
                for rank in range(world):
                    batches += self.loader(6, rank % 3, decode=self.decode, rank=rank,
                                           world_size=world, lanes=lanes)
                self.check(*batches)

    def test_killed_and_resumed(self):
        chance, state, found = random.Random(3), None, []
        for i in range(21):
            loader = self.loader(3, i % 3, decode=self.decode)
            if state is not None:
                loader.load_state_dict(state)
            batches = iter(loader)
            for batch in itertools.islice(batches, None if i == 20 else chance.randrange(5)):
                found.append(batch)
            state = loader.state_dict()
            del batches
            loader.close()
        self.check(*found)

    def test_epochs(self):
        loader = self.loader(8, 1, decode=self.decode)
        first, second = [{each[0]: each for batch in loader for each in batch} for _ in range(2)]
        self.assertEqual(set(first), set(second))
        self.assertFalse(any(first[key] == second[key] for key in first))

    def test_batches_of_seeds(self):
        with sheaf.Reader(self.set, seed=5) as reader:
            for batch in reader.batches(64):
                self.assertEqual(batch.seeds.tolist(), [sample.seed for sample in batch])
                self.assertEqual(pickle.loads(pickle.dumps(batch[0])).seed, batch[0].seed)
        self.assertEqual(sheaf.Dataset(self.set)[3].seed, 0)
