# SPDX-License-Identifier: MIT
"""sheaf.torch.DataLoader from S3: the batches of a local copy, whatever the server does meanwhile."""

import json
import os
import subprocess
import sys
import unittest

import sheaf
from support import Case, pack, samples_of, share_server

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "system"))
import fake_s3                          # pylint: disable=wrong-import-position

try:
    import torch
    import sheaf.torch
except ImportError:
    torch = None

URL = "s3://bucket/set/"
OPTIONS = {"seed": 6, "shuffle_buffer": 60, "collate_fn": list}

# Reads so many batches, each noted with the state after it, and is killed.
KILLED = """
import json, os, signal, sys
import sheaf.torch
loader = sheaf.torch.DataLoader(sys.argv[1], 8, int(sys.argv[2]), seed=6, shuffle_buffer=60,
                                decode=lambda s: s.number, collate_fn=list)
for step, batch in enumerate(loader, 1):
    print(json.dumps([batch, loader.state_dict()]), flush=True)
    if step == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
"""


def number_of(sample):
    return sample.number


@unittest.skipIf(torch is None, "no PyTorch here")
class FromS3(Case):
    @classmethod
    def share(cls):
        cls.set = pack(os.path.join(cls.shared, "set"), samples_of(300, size=3000))
        cls.server = share_server(cls, fake_s3.Server(1))

    def setUp(self):
        super().setUp()
        self.server.percent = 0
        self.objects = self.server.buckets["bucket"].objects
        self.objects.clear()
        for name in os.listdir(self.set):
            with open(os.path.join(self.set, name), "rb") as file:
                self.objects["set/" + name] = fake_s3.Object(file.read())
        local = self.loader(self.set)
        self.expected = list(local)
        local.close()

    def loader(self, source=URL, workers=0, **options):
        loader = sheaf.torch.DataLoader(source, 8, workers, decode=number_of,
                                        **{**OPTIONS, **options})
        self.addCleanup(loader.close)
        return loader

    def test_the_batches_of_a_local_copy(self):
        for workers in (0, 2):
            loader = self.loader(workers=workers)
            self.assertEqual(list(loader), self.expected)
            self.assertNotEqual(list(loader), self.expected)        # the next epoch
            loader.close()

    def test_killed_and_resumed(self):
        """With workers and without, each going on for the other."""
        for workers, after in ((0, 2), (2, 0)):
            done = subprocess.run([sys.executable, "-c", KILLED, URL, str(workers), "13"],
                                  stdout=subprocess.PIPE, timeout=300, check=False)
            self.assertLess(done.returncode, 0)
            noted = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual([batch for batch, _ in noted], self.expected[:13])
            for step in (1, 13):
                loader = self.loader(workers=after)
                loader.load_state_dict(noted[step - 1][1])
                self.assertEqual(list(loader), self.expected[step:])
                loader.close()

    def test_the_cache(self):
        """What one loader has read, the next one, with workers, does not read from the server."""
        cached = []
        for workers in (0, 2):
            loader = self.loader(workers=workers, cache_directory=self.path("cache"),
                                 cache_bytes=1 << 30)
            self.assertEqual(list(loader), self.expected)
            cached.append(loader.stats().cached_bytes)
            loader.close()
        stored = sum(len(found.data) for name, found in self.objects.items()
                     if name.endswith(".tar"))
        self.assertGreater(cached[1], stored / 2)
        self.assertGreater(cached[1], cached[0])

    def test_a_server_that_fails_now_and_then(self):
        self.server.weigh({name: name in ("503", "500", "429", "reset", "lose", "cut", "short")
                           for name in self.server.all_faults})
        self.server.percent, before = 8, self.server.faults
        for workers in (0, 2):
            loader = self.loader(workers=workers, memory_bytes=16 << 20)
            self.assertEqual(list(loader), self.expected)
            loader.close()
        self.assertGreater(self.server.faults, before)

    def test_an_error_in_the_middle(self):
        """It is raised by the batch that it is in; from the state before it another loader goes on
        when the server is well again."""
        name = sorted(name for name in self.objects if name.endswith(".tar"))[2]
        good = self.objects[name]
        damaged = fake_s3.Object(good.data[:1000] + b"?" * (len(good.data) - 1000))
        for broken in (None, damaged):
            for workers in (0, 2):
                whole = list(self.loader(self.set, no_shuffle=True))
                if broken is None:
                    del self.objects[name]
                else:
                    self.objects[name] = broken
                loader, given = self.loader(workers=workers, no_shuffle=True), []
                with self.assertRaises(sheaf.Error) as caught:
                    for batch in loader:
                        given.append(batch)
                self.assertIn(os.path.basename(name), str(caught.exception))
                self.assertEqual(given, whole[:len(given)])
                self.assertGreater(len(given), 5)
                state = loader.state_dict()
                loader.close()
                self.objects[name] = good
                again = self.loader(workers=2 - workers, no_shuffle=True)
                again.load_state_dict(state)
                self.assertEqual(list(again), whole[len(given):])
                again.close()


if __name__ == "__main__":
    unittest.main()
