# SPDX-License-Identifier: MIT
"""JAX over two processes, fed by Grain from a sheaf.Dataset, and by sheaf.numpy: each sample once
an epoch, and a run that was stopped goes on exactly."""

import collections
import json
import os
import socket
import subprocess
import sys
import unittest

import sheaf
from peers import Case

try:
    import grain
    from absl import flags
    import jax          # noqa: F401
except ImportError as error:
    raise unittest.SkipTest("no Grain or JAX: %s" % error)

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = 203
BATCHES = 13            # of a rank, an epoch
STOP = 16               # in the second epoch


def key_of(sample):
    return sample.key


class JaxTest(Case):
    def make(self):
        with sheaf.Packer(self.path("set")) as packer:
            for number in range(SAMPLES):
                packer.append("%06d" % number, {"bin": b"%d" % number}, labels=number % 7)
        return self.path("set")

    def run_ranks(self, feed, folder, place, stop):
        """[numbers, sum of labels, sum of both ranks'] of each batch of each rank."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        running = [subprocess.Popen(
            [sys.executable, "-W", "ignore", os.path.join(HERE, "jax_rank.py"), feed, folder,
             "%s.%d" % (self.path(place), rank), str(rank), port, str(stop)],
            env=dict(os.environ, JAX_PLATFORMS="cpu"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for rank in range(2)]
        try:
            said = [process.communicate(timeout=500) for process in running]
        finally:
            for process in running:
                process.kill()
        self.assertEqual([process.returncode for process in running], [0, 0], said)
        return [[json.loads(line[6:]) for line in out.splitlines() if line.startswith("batch ")]
                for out, _ in said]

    def check(self, feed):
        folder = self.make()
        whole = self.run_ranks(feed, folder, "none", 0)
        for epoch in range(3):
            numbers = [number for rank in whole
                       for batch in rank[epoch * BATCHES:(epoch + 1) * BATCHES]
                       for number in batch[0]]
            repeated = collections.Counter(numbers) - collections.Counter(range(SAMPLES))
            self.assertEqual(set(numbers), set(range(SAMPLES)))
            self.assertLessEqual(sum(repeated.values()), 1)
        self.assertNotEqual(whole[0][:BATCHES], whole[0][BATCHES:2 * BATCHES])
        for one, other in zip(*whole):
            self.assertEqual(one[1] + other[1], one[2])
            self.assertEqual(one[2], other[2])
        before = self.run_ranks(feed, folder, "place", STOP)
        after = self.run_ranks(feed, folder, "place", 0)
        self.assertEqual([one + other for one, other in zip(before, after)], whole)

    def test_grain(self):
        self.check("grain")

    def test_numpy(self):
        self.check("numpy")

    def test_grain_s_worker_processes(self):
        folder = self.make()
        data = grain.MapDataset.source(sheaf.Dataset(folder)).seed(3).shuffle().map(key_of)
        flags.FLAGS.mark_as_parsed()
        iterated = data.to_iter_dataset()
        self.assertEqual(sorted(iterated), ["%06d" % number for number in range(SAMPLES)])
        self.assertEqual(
            list(iterated.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))),
            list(iterated))


if __name__ == "__main__":
    unittest.main()
