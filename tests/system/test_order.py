# SPDX-License-Identifier: MIT
"""Tests that the order of an epoch is that of reader/ORDER.md, with any container, codec, threads and memory, and that
reading can continue at any position."""

import os
import random

import decoders
import libsheaf
from order_reference import DROP, KEEP, PAD, epoch_order
from support import CODECS, CONTAINERS, Case, listing, make_tree, pack, seed

REMAINDERS = {KEEP: 1, DROP: 2, PAD: 3}


class Order(Case):
    @classmethod
    def share(cls):
        files = {"c%d/%03d.txt" % (i % 3, i): b"x" * (i * 37 % 900) for i in range(157)}
        source = make_tree(os.path.join(cls.shared, "source"), files)
        cls.data_sets = {}
        for container in CONTAINERS:
            for codec in CODECS:
                dest = os.path.join(cls.shared, container + codec)
                pack(source, dest, container, codec, "--shard-count", 7)
                cls.data_sets[container, codec] = dest
        shards = decoders.DataSet(cls.data_sets["webdataset", "none"]).shards()
        cls.counts = [len(shard) for shard in shards]
        cls.keys = [sample.key for shard in shards for sample in shard]

    def reference(self, **options):
        return [self.keys[i] for i in epoch_order(self.counts, **options)]

    def test_no_shuffle_is_manifest_order(self):
        for folder in self.data_sets.values():
            self.assertEqual([l.split("\t")[0] for l in listing(folder, "--no-shuffle")],
                             self.keys)

    def test_the_command_follows_the_reference(self):
        folder = self.data_sets["tfrecord", "none"]
        for number in (0, 1, 12345, (1 << 64) - 1):
            for epoch in (0, 1, 77):
                for buffer in (0, 1, 10, 156, 157, 100000):
                    found = listing(folder, "--seed", number, "--epoch", epoch,
                                    "--shuffle-buffer", buffer)
                    self.assertEqual([l.split("\t")[0] for l in found],
                                     self.reference(seed=number, epoch=epoch, buffer=buffer),
                                     (number, epoch, buffer))

    def test_defaults(self):
        found = listing(self.data_sets["recordio", "lz4"])
        self.assertEqual([l.split("\t")[0] for l in found], self.reference())

    def test_neither_container_nor_codec_nor_threads_nor_memory_matter(self):
        expected = self.reference(seed=8, epoch=2, buffer=50)
        for folder in self.data_sets.values():
            for more in ((), ("--threads", 1), ("--threads", 16), ("--memory", "64MiB"),
                         ("--memory", "2GiB", "--threads", 3)):
                found = listing(folder, "--seed", 8, "--epoch", 2, "--shuffle-buffer", 50, *more)
                self.assertEqual([l.split("\t")[0] for l in found], expected, (folder, more))

    def test_members_of_a_world(self):
        chance = random.Random(seed())
        for _ in range(30):
            world, workers = chance.randrange(1, 5), chance.randrange(1, 4)
            lanes = world * workers * chance.randrange(1, 4)
            remainder = chance.choice(list(REMAINDERS))
            common = dict(seed=chance.randrange(1 << 64), epoch=chance.randrange(9),
                          lanes=lanes, workers=workers)
            buffer = chance.randrange(100)
            folder = self.data_sets[chance.choice(CONTAINERS), chance.choice(CODECS)]
            for rank in range(world):
                for worker in range(workers):
                    found = [s.key for s in libsheaf.samples(
                        folder, world_size=world, rank=rank, worker=worker,
                        shuffle_buffer=buffer, remainder=REMAINDERS[remainder], **common)]
                    self.assertEqual(found, self.reference(
                        world=world, rank=rank, worker=worker, buffer=buffer,
                        remainder=remainder, **common))

    def test_epochs_of_one_reader(self):
        with libsheaf.DataSet(self.data_sets["webdataset", "gzip"]) as data_set, \
                libsheaf.Reader(data_set, seed=3, shuffle_buffer=20) as reader:
            for epoch in (0, 1, 5, 1):
                reader.begin_epoch(epoch)
                self.assertEqual([s.key for s in reader],
                                 self.reference(seed=3, buffer=20, epoch=epoch))
                self.assertEqual(reader.epoch_samples(), len(self.keys))

    def test_an_epoch_begun_in_the_middle_of_another(self):
        with libsheaf.DataSet(self.data_sets["recordio", "none"]) as data_set, \
                libsheaf.Reader(data_set, shuffle_buffer=20) as reader:
            for _ in range(50):
                next(reader)
            reader.begin_epoch(9)
            self.assertEqual([s.key for s in reader], self.reference(buffer=20, epoch=9))

    def test_positions(self):
        """Another reader must return the rest of the epoch from any position."""
        for lanes in (1, 4):
            options = dict(seed=6, epoch=1, shuffle_buffer=30, lanes=lanes)
            whole = self.reference(seed=6, epoch=1, buffer=30, lanes=lanes)
            with libsheaf.DataSet(self.data_sets["webdataset", "lz4"]) as data_set, \
                    libsheaf.Reader(data_set, **options) as reader:
                for at in range(0, len(whole) + 1):
                    position = reader.position()
                    self.assertLessEqual(len(position), 256)
                    self.assertTrue(position.isprintable() and position.isascii())
                    if at % 13 in (0, 1, 12):
                        with libsheaf.Reader(data_set) as other:
                            other.resume(position)
                            self.assertEqual([s.key for s in other], whole[at:], position)
                    if at < len(whole):
                        self.assertEqual(next(reader).key, whole[at])

    def test_a_position_serves_another_world(self):
        """A position after whole rounds of the lanes can be resumed by fewer and by more ranks."""
        options = dict(seed=6, shuffle_buffer=30, lanes=12)
        whole = self.reference(seed=6, buffer=30, lanes=12)
        with libsheaf.DataSet(self.data_sets["tfrecord", "gzip"]) as data_set:
            with libsheaf.Reader(data_set, **options) as reader:
                for _ in range(60):
                    next(reader)
                position = reader.position()
            for world, workers in ((1, 1), (2, 1), (3, 2), (4, 3)):
                for rank in range(world):
                    for worker in range(workers):
                        with libsheaf.Reader(data_set, world_size=world, rank=rank,
                                             workers=workers, worker=worker, lanes=12) as other:
                            other.resume(position)
                            found = [s.key for s in other]
                        expected = self.reference(seed=6, buffer=30, lanes=12, world=world,
                                                  rank=rank, workers=workers, worker=worker)
                        self.assertEqual(found, expected[60 // world // workers:])
            self.assertEqual(len(whole), len(self.keys))

    def test_positions_of_others_are_refused(self):
        other = self.data_sets["webdataset", "none"]
        with libsheaf.DataSet(self.data_sets["tfrecord", "none"]) as data_set, \
                libsheaf.Reader(data_set) as reader, libsheaf.DataSet(other) as foreign, \
                libsheaf.Reader(foreign) as wrong:
            position = reader.position()
            with self.assertRaises(libsheaf.Error) as caught:
                wrong.resume(position)
            self.assertEqual(caught.exception.name, "CHANGED")
            for text in ("", "nonsense", position + "x", position[:-1], position.upper(),
                         position.replace("lanes=1", "lanes=0"), " " + position, "x" * 5000,
                         position.replace("rounds=0", "rounds=99999999999999999999")):
                with libsheaf.Reader(data_set) as another:
                    with self.assertRaises(libsheaf.Error, msg=text):
                        another.resume(text)

    def test_lanes_that_do_not_fit_are_refused(self):
        with libsheaf.DataSet(self.data_sets["tfrecord", "none"]) as data_set:
            for options in (dict(lanes=3, world_size=2), dict(rank=1), dict(worker=1, workers=1),
                            dict(world_size=2, rank=2), dict(remainder=4)):
                with self.assertRaises(libsheaf.Error, msg=options) as caught:
                    libsheaf.Reader(data_set, **options)
                self.assertEqual(caught.exception.name, "ARGUMENT")

    def test_empty_data_set_and_more_lanes_than_samples(self):
        source = make_tree(self.path("s"), {"a/%d.txt" % i: b"x" for i in range(3)})
        pack(source, self.path("d"), "tfrecord")
        for lanes in (2, 5):
            for remainder, number in REMAINDERS.items():
                found = libsheaf.samples(self.path("d"), lanes=lanes, remainder=number)
                self.assertEqual(len(found), len(epoch_order([3], lanes=lanes,
                                                             remainder=remainder)))
