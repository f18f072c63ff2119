# SPDX-License-Identifier: MIT
"""Random access: samples by their numbers, in any order, from any thread and process."""

import os
import pickle
import random
import threading
import unittest

import sheaf
from support import CONTAINERS, Case, pack, samples_of, seed


class AccessTest(Case):
    @classmethod
    def share(cls):
        cls.samples = samples_of(200)
        cls.sets = {name: pack(os.path.join(cls.shared, name), cls.samples, format=name)
                    for name in CONTAINERS}

    def check(self, sample, number):
        key, fields, label = self.samples[number]
        self.assertEqual((sample.number, sample.key, sample.label, sample.class_name),
                         (number, key, label, "class %d" % label))
        self.assertEqual(sample.to_bytes(), fields)

    def test_indices_are_those_of_a_list(self):
        for folder in self.sets.values():
            opened = sheaf.Dataset(folder)
            self.assertEqual(len(opened), 200)
            for index in (0, 7, 199, -1, -200):
                self.check(opened[index], range(200)[index])
            for part in (slice(3, 50), slice(None, None, 7), slice(20, 3, -1), slice(-5, None)):
                for sample, number in zip(opened[part], range(200)[part], strict=True):
                    self.check(sample, number)
            for index in (200, -201):
                with self.assertRaisesRegex(IndexError, "of 200"):
                    opened[index]
            with self.assertRaises(IndexError):
                opened[5:5]
            with self.assertRaises(TypeError):
                opened[1.5]
            for number in (-1, 200, 2**70):
                with self.assertRaisesRegex(sheaf.ArgumentError, "there is no sample %d" % number):
                    opened.get([number])

    def test_keys_are_found(self):
        for folder in self.sets.values():
            opened = sheaf.Dataset(folder)
            for number in (0, 7, 199):
                self.check(opened[self.samples[number][0]], number)
            order = random.Random(seed()).choices(range(200), k=300)
            batch = opened.get([self.samples[number][0] for number in order])
            for sample, number in zip(batch, order, strict=True):
                self.check(sample, number)
            for key in ("nothing", "", "x" * 5000, self.samples[3][0] + "\0"):
                with self.assertRaises(KeyError) as told:
                    opened[key]
                self.assertEqual(told.exception.args, (key,))
                with self.assertRaises(KeyError) as told:
                    opened.get([self.samples[3][0], key])
                self.assertEqual(told.exception.args, (key,))
            self.assertIn(self.samples[7][0], opened)
            self.assertNotIn("nothing", opened)
            with self.assertRaises(TypeError):
                self.samples[7][2] in opened        # pylint: disable=pointless-statement
            for wrong in (["a", 1], [1, "a"], "a"):
                with self.assertRaises(TypeError):
                    opened.get(wrong)
            with self.assertRaises(sheaf.LimitError):
                opened.get([key for key, _, _ in self.samples], memory_bytes=5000)

    def test_keys_of_several_sources(self):
        """All samples with a key are found, source after source."""
        key = self.samples[12][0]
        opened = sheaf.Dataset([self.sets[name] for name in CONTAINERS])
        self.assertEqual([s.number for s in opened.get([key])], [12, 212, 412])
        self.assertEqual(opened[key].number, 12)

    def test_a_set_that_is_replaced_in_place(self):
        """What was opened is not read from the data set that has taken its place, be it as large."""
        def other(sample):
            key, fields, label = sample
            flipped = {name: bytes(byte ^ 1 for byte in data) for name, data in fields.items()}
            return key, flipped, label

        for container in CONTAINERS:
            folder = pack(self.path(container), self.samples, format=container)
            opened = sheaf.Dataset(folder)
            pack(folder, [other(sample) for sample in self.samples], overwrite=True,
                 format=container)
            for use in (lambda: opened[7], lambda: list(sheaf.Reader(opened, seed=1)),
                        lambda: list(sheaf.Reader(opened, on_corrupt="skip")),
                        lambda: opened[self.samples[3][0]]):
                with self.assertRaisesRegex(sheaf.ChangedError, "of another data set"):
                    use()

    def test_a_data_set_without_its_keys(self):
        folder = pack(self.path("old"), self.samples)
        table = os.path.join(folder, "dataset.keys")
        with open(table, "rb") as file:
            whole = file.read()
        os.remove(table)
        opened = sheaf.Dataset(folder)
        with self.assertRaisesRegex(sheaf.UnsupportedError, "has no dataset.keys"):
            opened[self.samples[0][0]]
        self.assertEqual(sheaf.index(folder, keys=True).samples, 200)
        self.check(opened[self.samples[0][0]], 0)
        with open(table, "rb") as file:
            self.assertEqual(file.read(), whole)

    def test_numbers_come_in_the_order_given(self):
        chance = random.Random(seed())
        for folder in self.sets.values():
            opened = sheaf.Dataset(folder)
            numbers = [chance.randrange(200) for _ in range(300)]
            for sample, number in zip(opened.get(numbers), numbers, strict=True):
                self.check(sample, number)
        with self.assertRaisesRegex(sheaf.ArgumentError, "no sample 200"):
            opened.get([3, 200])
        with self.assertRaises(sheaf.ArgumentError):
            opened.get([-1])
        with self.assertRaises(sheaf.LimitError):
            opened.get(range(200), memory_bytes=5000)

    def test_samples_outlive_the_data_set(self):
        sample = sheaf.Dataset(self.sets["webdataset"])[12]
        junk = [os.urandom(300000) for _ in range(20)]
        self.check(sample, 12)
        del junk

    def test_threads_and_forks(self):
        opened = sheaf.Dataset(self.sets["recordio"])
        failures = []

        def read(number):
            chance = random.Random(number)
            try:
                for _ in range(30):
                    numbers = [chance.randrange(200) for _ in range(9)]
                    for sample, number in zip(opened.get(numbers), numbers):
                        self.check(sample, number)
            except BaseException as error:      # pylint: disable=broad-except
                failures.append(error)

        threads = [threading.Thread(target=read, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        child = os.fork()
        if child == 0:
            os._exit(0 if opened[5].key == self.samples[5][0] else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_samples_are_pickled(self):
        sample = sheaf.Dataset(self.sets["tfrecord"])[33]
        self.check(pickle.loads(pickle.dumps(sample)), 33)
        read = next(sheaf.Reader(self.sets["tfrecord"], no_shuffle=True))
        self.check(pickle.loads(pickle.dumps(read)), 0)

    def test_it_says_what_it_is(self):
        folder = self.sets["webdataset"]
        self.assertEqual(repr(sheaf.Dataset(folder)),
                         "<sheaf.Dataset %r webdataset, 200 samples, 7 classes>" % folder)


if __name__ == "__main__":
    unittest.main()
