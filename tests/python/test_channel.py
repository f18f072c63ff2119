# SPDX-License-Identifier: MIT
"""Channels of a training platform as sources."""

import json
import os
import pickle
import threading
import unittest
from unittest import mock

import sheaf
from support import Case, pack, samples_of

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
