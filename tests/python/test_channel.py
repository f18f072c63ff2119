# SPDX-License-Identifier: MIT
"""Channels of a training platform as sources."""

import json
import os
import pickle
import signal
import threading
import unittest
from unittest import mock

import sheaf
from support import Case, pack, samples_of

try:
    import torch
    import sheaf.torch
except ImportError:
    torch = None

HOSTS = {"current_host": "algo-2", "hosts": ["algo-1", "algo-2", "algo-3"]}


class ChannelTest(Case):
    @classmethod
    def share(cls):
        cls.set = pack(os.path.join(cls.shared, "set"), samples_of(200))

    def setUp(self):
        super().setUp()
        self.root = self.path("ml")
        os.makedirs(os.path.join(self.root, "input", "data"))
        os.makedirs(os.path.join(self.root, "input", "config"))
        environment = mock.patch.dict(os.environ)
        environment.start()
        self.addCleanup(environment.stop)
        for name in list(os.environ):
            if name.startswith(("RANK", "WORLD_SIZE", "LOCAL_", "OMPI_", "SLURM_", "SM_")):
                del os.environ[name]

    def write(self, name, content):
        with open(os.path.join(self.root, "input", "config", name), "w") as file:
            json.dump(content, file)

    def keys(self, source, **options):
        return [sample.key for sample in sheaf.Reader(source, seed=3, **options)]

    def test_a_directory(self):
        os.symlink(self.set, os.path.join(self.root, "input", "data", "train"))
        channel = sheaf.Channel("train", self.root)
        opened = sheaf.Dataset(channel)
        self.assertIsNone(opened.world)
        self.assertEqual(self.keys(opened), self.keys(self.set))
        self.assertEqual(self.keys(channel), self.keys(self.set))
        self.assertEqual(self.keys(pickle.loads(pickle.dumps(opened))), self.keys(self.set))

    def test_its_world(self):
        os.symlink(self.set, os.path.join(self.root, "input", "data", "train"))
        self.write("resourceconfig.json", HOSTS)
        opened = sheaf.Dataset(sheaf.Channel("train", self.root))
        self.assertEqual(opened.world, (1, 3))
        os.environ.update(RANK="4", WORLD_SIZE="6")
        self.assertEqual(sheaf.Dataset(sheaf.Channel("train", self.root)).world, (4, 6))

    def test_what_was_found_is_logged(self):
        """As the command prints it; what the caller gives is not."""
        os.symlink(self.set, os.path.join(self.root, "input", "data", "train"))
        self.write("resourceconfig.json", HOSTS)
        with self.assertLogs("sheaf", "INFO") as logged:
            sheaf.Reader(sheaf.Channel("train", self.root))
        self.assertEqual(len(logged.output), 2)
        self.assertRegex(logged.output[0], "^INFO:sheaf:channel train: directory .*train")
        self.assertRegex(logged.output[1], "^INFO:sheaf:rank 1 of 3, by .*resourceconfig.json")
        os.environ.update(RANK="4", WORLD_SIZE="6")
        with self.assertLogs("sheaf", "INFO") as logged:
            sheaf.Reader(self.set)
        self.assertEqual(logged.output, [
            "INFO:sheaf:rank 4 of 6, by RANK and WORLD_SIZE: reads only its part of the samples; "
            "rank=0, world_size=1 reads all"])
        with self.assertNoLogs("sheaf", "INFO"):
            sheaf.Reader(self.set, rank=0, world_size=2)

    def test_hyperparameters_of_the_job(self):
        os.symlink(self.set, os.path.join(self.root, "input", "data", "train"))
        channel = sheaf.Channel("train", self.root)
        self.write("hyperparameters.json", {"sheaf_seed": "9", "sheaf_epoch": "2",
                                            "sheaf_shuffle_buffer": "50", "lr": "0.1"})
        expected = [s.key for s in sheaf.Reader(self.set, seed=9, epoch=2, shuffle_buffer=50)]
        reader = sheaf.Reader(channel)
        position = reader.position()
        self.assertEqual([s.key for s in reader], expected)
        self.assertEqual([s.key for s in sheaf.Reader(channel, epoch=0, shuffle_buffer=10000)],
                         [s.key for s in sheaf.Reader(self.set, seed=9)])
        again = sheaf.Reader(channel, seed=9)
        again.resume(position)
        self.assertEqual([s.key for s in again], expected)
        self.write("hyperparameters.json", {"sheaf_sead": "9"})
        with self.assertRaisesRegex(sheaf.ArgumentError, "sheaf_sead"):
            sheaf.Dataset(channel)

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_hyperparameters_in_a_loader(self):
        os.symlink(self.set, os.path.join(self.root, "input", "data", "train"))
        channel = sheaf.Channel("train", self.root)
        self.write("hyperparameters.json", {"sheaf_seed": "9", "sheaf_epoch": "2", "sheaf_lanes": 6,
                                            "sheaf_shuffle_buffer": "50"})

        def keys(loader):
            return [key for batch in loader for key in batch.keys]
        said = {"seed": 9, "shuffle_buffer": 50, "lanes": 6}
        loader = sheaf.torch.DataLoader(channel, 16)
        self.assertEqual(keys(loader), list(s.key for s in sheaf.Reader(self.set, epoch=2, **said)))
        self.assertEqual(keys(loader), list(s.key for s in sheaf.Reader(self.set, epoch=3, **said)))
        given = sheaf.torch.DataLoader(channel, 16, seed=1, shuffle_buffer=10000, lanes=1, epoch=0)
        self.assertEqual(keys(given), [s.key for s in sheaf.Reader(self.set, seed=1)])
        own = torch.utils.data.DataLoader(dataset := sheaf.torch.Dataset(
            channel, decode=lambda s: s.key), 16, sampler=dataset.sampler())
        self.assertEqual([key for batch in own for key in batch],
                         list(s.key for s in sheaf.Reader(self.set, epoch=2, **said)))

    def test_a_job_that_fails_says_why(self):
        failure = os.path.join(self.root, "output", "failure")
        with self.assertRaises(ValueError), sheaf.job(self.root):
            raise ValueError("no such luck")
        with open(failure, encoding="utf-8") as file:
            self.assertEqual(file.read(), "ValueError: no such luck")
        with self.assertRaises(ValueError), sheaf.job(self.path("nowhere")):
            raise ValueError("nobody is told")
        self.assertFalse(os.path.exists(self.path("nowhere")))

    def test_a_job_that_is_stopped_saves_its_state(self):
        before, saved = signal.getsignal(signal.SIGTERM), []
        reader = sheaf.Reader(self.set)
        with self.assertRaises(SystemExit) as caught:
            with sheaf.job(self.root, save=lambda: saved.append(reader.position())):
                for number, _ in enumerate(reader):
                    if number == 99:
                        os.kill(os.getpid(), signal.SIGTERM)
        self.assertEqual((caught.exception.code, len(saved)), (143, 1))
        self.assertIs(signal.getsignal(signal.SIGTERM), before)
        self.assertFalse(os.path.exists(os.path.join(self.root, "output", "failure")))
        rest = [s.key for s in reader]
        again = sheaf.Reader(self.set)
        again.resume(saved[0])
        self.assertEqual([s.key for s in again], rest)
        self.assertEqual(len(rest), 100)

    def test_a_pipe(self):
        os.mkfifo(os.path.join(self.root, "input", "data", "train_0"))
        with open(os.path.join(self.set, "shard-000001.tar"), "rb") as file:
            shard = file.read()

        def feed():
            with open(os.path.join(self.root, "input", "data", "train_0"), "wb") as pipe:
                pipe.write(shard)
        feeder = threading.Thread(target=feed)
        feeder.start()
        found = self.keys(sheaf.Channel("train", self.root, wait_seconds=60))
        feeder.join()
        self.assertEqual(sorted(found), sorted(self.keys(os.path.join(self.set,
                                                                      "shard-000001.tar"))))
        self.assertEqual(len(found), 50)

    def test_one_that_is_not_there(self):
        with self.assertRaisesRegex(sheaf.NotFoundError, "nothing"):
            sheaf.Dataset(sheaf.Channel("nothing", self.root))
        with self.assertRaises(sheaf.ArgumentError):
            sheaf.Dataset(sheaf.Channel("no/name", self.root))


if __name__ == "__main__":
    unittest.main()
