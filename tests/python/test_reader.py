# SPDX-License-Identifier: MIT
"""Reader: what it yields, in which order, and where it is."""

import io
import os
import random
import shutil
import subprocess
import tarfile
import unittest
from unittest import mock

import sheaf
from support import CONTAINERS, Case, flip, pack, samples_of, seed

COUNT = 1000


class ReaderTest(Case):
    @classmethod
    def share(cls):
        cls.samples = samples_of(COUNT)
        cls.by_key = {key: (fields, label) for key, fields, label in cls.samples}
        cls.sets = {name: pack(os.path.join(cls.shared, name), cls.samples, format=name)
                    for name in CONTAINERS}
        cls.set = cls.sets["webdataset"]

    def keys(self, *args, **options):
        with sheaf.Reader(*(args or (self.set,)), **options) as reader:
            return [sample.key for sample in reader]

    def test_every_sample_comes_once_with_its_bytes_in_every_container(self):
        for container, folder in self.sets.items():
            with self.subTest(container):
                seen = []
                for sample in sheaf.Reader(folder, seed=5):
                    fields, label = self.by_key[sample.key]
                    self.assertEqual(sample.to_bytes(), fields)
                    self.assertEqual({name: bytes(view) for name, view in sample.items()}, fields)
                    self.assertEqual((sample.label, sample.labels), (label, (label,)))
                    self.assertEqual(sample.class_name, "class %d" % label)
                    seen.append(sample.key)
                self.assertEqual(sorted(seen), sorted(self.by_key))

    def test_the_order_is_that_of_the_options_and_of_the_command(self):
        one = self.keys(seed=5, epoch=2)
        self.assertEqual(one, self.keys(seed=5, epoch=2, threads=1, memory_bytes=64 << 20))
        self.assertEqual(one, self.keys(self.sets["recordio"], seed=5, epoch=2))
        self.assertNotEqual(one, self.keys(seed=5, epoch=3))
        self.assertEqual(self.keys(no_shuffle=True), [key for key, _, _ in self.samples])
        listed = subprocess.run([os.path.join(os.environ["BUILD"], "sheaf"), "cat", self.set,
                                 "--list", "--seed", "5", "--epoch", "2"],
                                stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
        self.assertEqual([line.split("\t")[0] for line in listed], one)

    def test_rank_and_world_size_are_those_of_the_environment(self):
        parts = [self.keys(rank=rank, world_size=2) for rank in range(2)]
        for rank, names in enumerate((("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"))):
            found = {**dict(zip(names, (str(rank), "2"))), "SLURM_STEP_ID": "0"}
            with mock.patch.dict(os.environ, found):
                self.assertEqual(self.keys(), parts[rank])
                self.assertEqual(len(self.keys(rank=0, world_size=1)), COUNT)
        with mock.patch.dict(os.environ, {"RANK": "1"}):
            with self.assertRaisesRegex(sheaf.ArgumentError, "WORLD_SIZE"):
                self.keys()
        with self.assertRaisesRegex(ValueError, "together"):
            self.keys(rank=1)

    def test_each_pass_is_the_next_epoch(self):
        reader = sheaf.Reader(self.set, seed=5, epoch=1)
        self.assertEqual([s.key for s in reader], self.keys(seed=5, epoch=1))
        self.assertEqual([s.key for s in reader], self.keys(seed=5, epoch=2))
        self.assertEqual(reader.current_epoch, 2)
        self.assertEqual([s.key for s in reader.epoch(7)], self.keys(seed=5, epoch=7))
        found = [sample.key for batch in reader.batches(64) for sample in batch]
        self.assertEqual(found, self.keys(seed=5, epoch=8))

    def test_an_ended_iterator_stays_ended(self):
        reader = sheaf.Reader(self.set)
        iterator = iter(reader)
        self.assertEqual(sum(1 for _ in iterator), COUNT)
        self.assertIsNone(next(iterator, None))
        self.assertIsNone(next(iterator, None))
        self.assertEqual(reader.current_epoch, 0)

    def test_length_and_ranks(self):
        self.assertEqual(len(sheaf.Reader(self.set)), COUNT)
        for remainder in ("keep", "drop", "pad"):
            everyone = []
            for rank in range(3):
                for worker in range(2):
                    reader = sheaf.Reader(self.set, rank=rank, world_size=3, worker=worker,
                                          workers=2, remainder=remainder)
                    keys = [sample.key for sample in reader]
                    self.assertEqual(len(keys), len(reader))
                    everyone += keys
            self.assertEqual(len(set(everyone)), COUNT // 6 * 6 if remainder == "drop" else COUNT)
            self.assertEqual(len(everyone), {"keep": COUNT, "drop": COUNT // 6 * 6,
                                             "pad": -(-COUNT // 6) * 6}[remainder])

    def test_a_position_after_any_sample_gives_the_same_rest(self):
        chance = random.Random(seed())
        whole = self.keys(seed=3, lanes=4)
        for taken in [0, 1, 3, 4, COUNT - 1, COUNT] + chance.sample(range(COUNT), 12):
            reader = sheaf.Reader(self.set, seed=3, lanes=4)
            self.assertEqual([next(reader).key for _ in range(taken)], whole[:taken])
            position = reader.position()
            self.assertLessEqual(len(position), 256)
            self.assertEqual([s.key for s in reader], whole[taken:] if taken < COUNT else
                             self.keys(seed=3, lanes=4, epoch=1) if taken > COUNT else [])
            other = sheaf.Reader(self.set)
            other.resume(position)
            self.assertEqual(other.position(), position)
            self.assertEqual([s.key for s in other], whole[taken:])
            self.assertEqual([s.key for s in other], self.keys(seed=3, lanes=4, epoch=1))

    def test_options_that_contradict_a_position_are_refused(self):
        """As by the command; options that are not given follow the position."""
        reader = sheaf.Reader(self.set, seed=3, lanes=4, shuffle_buffer=50)
        position = reader.position()
        for options in ({"seed": 4}, {"lanes": 2}, {"shuffle_buffer": 60}, {"no_shuffle": True},
                        {"remainder": "drop"}):
            other = sheaf.Reader(self.set, **options)
            with self.assertRaisesRegex(sheaf.ArgumentError, "contradicts the position"):
                other.resume(position)
        other = sheaf.Reader(self.set, seed=3, lanes=4, shuffle_buffer=50)
        other.resume(position)
        self.assertEqual([s.key for s in other], [s.key for s in reader])

    def test_a_position_after_a_round_fits_another_world(self):
        whole = self.keys(seed=3, lanes=4)
        reader = sheaf.Reader(self.set, seed=3, lanes=4)
        for _ in range(40):
            next(reader)
        parts = []
        for rank in range(2):
            part = sheaf.Reader(self.set, rank=rank, world_size=2)
            part.resume(reader.position())
            parts.append([sample.key for sample in part])
        self.assertEqual([key for pair in zip(*parts) for key in pair], whole[40:])

    def test_positions_between_batches_and_samples_agree(self):
        reader = sheaf.Reader(self.set, seed=3)
        other = sheaf.Reader(self.set, seed=3)
        for size in (1, 7, 1, 300, 2, 64):
            batch = reader.next_batch(size)
            single = [next(other).key for _ in range(size)]
            self.assertEqual(batch.keys, single)
            self.assertEqual(reader.position(), other.position())
            self.assertEqual(next(reader).key, next(other).key)
            self.assertEqual(reader.stats().samples, other.stats().samples)
            self.assertEqual(reader.stats().payload_bytes, other.stats().payload_bytes)

    def test_batches_have_the_size_that_was_asked_for(self):
        reader = sheaf.Reader(self.set)
        self.assertEqual([len(b) for b in reader.batches(300)], [300, 300, 300, 100])
        self.assertEqual([len(b) for b in reader.batches(300, drop_last=True)], [300] * 3)
        next(iter(reader))
        self.assertEqual([len(b) for b in reader.batches(300)], [300, 300, 300, 99])
        self.assertIsNone(reader.next_batch(1))
        with self.assertRaises(ValueError):
            reader.next_batch(0)

    def test_another_data_set_refuses_a_position(self):
        other = pack(self.path("other"), samples_of(50, 2))
        reader = sheaf.Reader(other)
        before = reader.position()
        with self.assertRaisesRegex(sheaf.ChangedError, "belongs to data set"):
            reader.resume(sheaf.Reader(self.set).position())
        for text, error in (("nonsense", sheaf.ArgumentError), (before + "\0", sheaf.ArgumentError),
                            (None, TypeError), (before.encode(), TypeError)):
            with self.assertRaisesRegex(error, "position"):
                reader.resume(text)
        self.assertEqual(reader.position(), before)
        self.assertEqual(len(list(reader)), 50)

    def test_a_trace_of_an_unfinished_run_is_refused(self):
        for name, text in ((".sheaf-partial/plan", "x"),
                           ("dataset.json", '{"unfinished": "%032x"}\n' % 7)):
            place = shutil.copytree(self.set, self.path("of-" + os.path.basename(name)))
            os.unlink(os.path.join(place, "dataset.json"))
            os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
            with open(os.path.join(place, name), "w", encoding="ascii") as file:
                file.write(text)
            for call in (sheaf.Reader, sheaf.Dataset, sheaf.verify):
                with self.assertRaisesRegex(sheaf.Error, "%s: holds an unfinished run" % place):
                    call(place)

    def test_several_data_sets_are_one_of_several_sources(self):
        other = pack(os.path.join(self.folder, "other"), [("x/1", {"txt": b"x"}, 1)])
        dataset = sheaf.Dataset([self.set, other])
        self.assertEqual([(s.url, s.has_manifest, s.first_number, s.samples)
                          for s in dataset.sources],
                         [(self.set, True, 0, COUNT), (other, True, COUNT, 1)])
        self.assertEqual({s.source for s in dataset.shards}, {0, 1})
        self.assertEqual(len(dataset), COUNT + 1)
        last = list(sheaf.Reader(dataset, no_shuffle=True))[-1]
        self.assertEqual((last.key, last.class_name, dataset.classes[last.label]),
                         ("x/1", "class 1", "class 1"))
        self.assertEqual(len(sheaf.Dataset(self.set).sources), 1)

    def test_statistics(self):
        reader = sheaf.Reader(self.set)
        for _ in range(10):
            next(reader)
        self.assertEqual(reader.stats().samples, 10)
        for _ in reader:
            pass
        stats = reader.stats()
        self.assertEqual(stats.samples, COUNT)
        self.assertEqual(stats.payload_bytes, sum(len(data) for _, fields, _ in self.samples
                                                  for data in fields.values()))
        self.assertLessEqual(stats.memory_peak_bytes, 1 << 30)

    def test_closed(self):
        with sheaf.Reader(self.set) as reader:
            view = next(reader)["bin"]
            kept = bytes(view)
        self.assertEqual(bytes(view), kept)
        reader.close()
        for call in (lambda: next(reader), reader.position, lambda: len(reader),
                     lambda: reader.next_batch(1), lambda: iter(reader)):
            with self.assertRaisesRegex(sheaf.StateError, "closed"):
                call()


class ForeignTest(Case):
    def test_a_stream_has_no_length_and_can_be_listed(self):
        folder = pack(self.path("set"), samples_of(40), codec="gzip")
        os.remove(os.path.join(folder, "dataset.json"))
        os.remove(os.path.join(folder, "dataset.index"))
        opened = sheaf.Dataset(folder)
        self.assertTrue(opened.is_stream)
        self.assertIsNone(opened.samples)
        reader = sheaf.Reader(opened)
        with self.assertRaisesRegex(TypeError, "stream"):
            len(reader)
        self.assertEqual(len(list(reader)), 40)

    def test_sources_of_all_kinds(self):
        folder = pack(self.path("set"), samples_of(40))
        shards = [os.path.join(folder, shard.name) for shard in sheaf.Dataset(folder).shards]
        for source in (folder, os.fsencode(folder), os.path.join(folder, "dataset.json"), shards,
                       os.path.join(folder, "shard-{000000..000003}.tar")):
            self.assertEqual(len(list(sheaf.Reader(source))), 40)
        self.assertEqual(len(list(sheaf.Reader(shards[:2]))), 20)


class CorruptTest(Case):
    """Damage in mid-shard: found at its sample, skipped if that is wished for."""

    def setUp(self):
        super().setUp()
        self.set = pack(self.path("set"), samples_of(400, 3), format="tfrecord")
        self.good = [s.key for s in sheaf.Reader(self.set, seed=1, lanes=2)]
        shard = os.path.join(self.set, "shard-000001.tfrecord")
        for part in (3, 5, 8):
            flip(shard, os.path.getsize(shard) * part // 10)

    def test_the_samples_before_it_come_then_the_error_stays(self):
        reader = sheaf.Reader(self.set, seed=1, lanes=2)
        found = []
        with self.assertRaisesRegex(sheaf.CorruptError, r"shard-000001.tfrecord: .*record \d+"):
            for sample in reader:
                found.append(sample.key)
        self.assertEqual(found, self.good[:len(found)])
        self.assertGreater(len(found), 0)
        with self.assertRaises(sheaf.CorruptError):
            next(reader)
        batches = sheaf.Reader(self.set, seed=1, lanes=2).batches(1000)
        self.assertEqual(next(batches).keys, found)
        with self.assertRaises(sheaf.CorruptError):
            next(batches)

    def test_skipping_reports_each_and_positions_stay_exact(self):
        problems = []
        reader = sheaf.Reader(self.set, seed=1, lanes=2, on_corrupt="skip",
                              report=problems.append)
        whole, positions = [], [reader.position()]
        for sample in reader:
            whole.append(sample.key)
            positions.append(reader.position())
        self.assertEqual(len(problems), reader.stats().corrupt)
        self.assertEqual(len(whole) + len(problems), 400)
        self.assertGreater(len(problems), 0)
        self.assertEqual({problem.code for problem in problems}, {"CORRUPT"})
        bad = {self.good.index(key) for key in set(self.good) - set(whole)}
        near = {n + d for n in bad for d in (-2, -1, 0, 1, 2)}
        for taken in sorted(near | {0, len(whole)} | set(range(0, len(whole), 37))):
            if 0 <= taken <= len(whole):
                other = sheaf.Reader(self.set, on_corrupt="skip")
                other.resume(positions[taken])
                self.assertEqual([s.key for s in other], whole[taken:])

    def test_skipping_without_a_report_warns(self):
        with self.assertWarnsRegex(UserWarning, r"skipped: .*shard-000001.tfrecord: .*record \d+"):
            list(sheaf.Reader(self.set, on_corrupt="skip"))

    def test_a_limit_on_skipping(self):
        with self.assertRaisesRegex(sheaf.CorruptError, "more than 1 bad records"):
            list(sheaf.Reader(self.set, on_corrupt="skip", max_corrupt=1))

    def test_what_a_report_raises_is_raised(self):
        def report(problem):
            raise KeyError(problem.code)
        reader = sheaf.Reader(self.set, on_corrupt="skip", report=report)
        raised, found = 0, 0
        while True:
            try:
                next(reader)
                found += 1
            except StopIteration:
                break
            except KeyError:
                raised += 1
        self.assertGreater(raised, 0)
        self.assertEqual(found + reader.stats().corrupt, 400)

    def damaged_tar(self):
        """An archive with a header that is damaged: which is found when a reader begins."""
        path = self.path("foreign.tar")
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
            for i in range(40):
                entry = tarfile.TarInfo("s%03d.txt" % i)
                entry.size = 4
                tar.addfile(entry, io.BytesIO(b"%04d" % i))
        flip(path, 20 * 1024 + 10)
        return path

    def test_a_report_that_raises_in_epoch_leaves_one_epoch(self):
        path, armed = self.damaged_tar(), []

        def report(_):
            if armed:
                raise KeyError(armed.pop())
        reader = sheaf.Reader(path, on_corrupt="skip", report=report)
        self.assertEqual(len([next(reader) for _ in range(3)]), 3)
        armed.append("epoch")
        with self.assertRaises(KeyError):
            reader.epoch(5)
        self.assertEqual(reader.current_epoch, 5)
        expected = [s.key for s in sheaf.Reader(path, on_corrupt="skip", report=report, epoch=5)]
        self.assertIn(" epoch=5 ", reader.position())
        self.assertEqual([s.key for s in reader], expected)

    def test_a_reader_that_could_not_be_made_is_closed(self):
        def report(_):
            raise KeyError("open")
        reader = sheaf.Reader.__new__(sheaf.Reader)
        with self.assertRaises(KeyError):
            reader.__init__(self.damaged_tar(), on_corrupt="skip", report=report)
        for call in (lambda: next(reader), reader.position, lambda: reader.epoch(1)):
            with self.assertRaises(sheaf.StateError):
                call()
        reader.close()

    def test_an_error_behind_an_exception_comes_next(self):
        path = pack(self.path("first"), samples_of(400, 3), format="tfrecord")
        shard = os.path.join(path, "shard-000000.tfrecord")
        with open(shard, "rb") as f:
            size = 16 + int.from_bytes(f.read(8), "little")
        flip(shard, size - 20)
        flip(shard, size + 30)

        def report(_):
            raise KeyError("first")
        reader = sheaf.Reader(path, on_corrupt="skip", max_corrupt=1, report=report,
                              no_shuffle=True)
        with self.assertRaises(KeyError):
            next(reader)
        for _ in range(2):
            with self.assertRaisesRegex(sheaf.CorruptError, "more than 1 bad records"):
                next(reader)

    def test_a_report_may_not_use_its_reader(self):
        caught = []

        def report(_):
            try:
                reader.position()
            except sheaf.StateError as error:
                caught.append(str(error))
        reader = sheaf.Reader(self.set, on_corrupt="skip", report=report)
        list(reader)
        self.assertTrue(caught)
        self.assertIn("not allowed", caught[0])


if __name__ == "__main__":
    unittest.main()
