# SPDX-License-Identifier: MIT
"""Training over two processes: no hang where shards and ranks are uneven, the loss falls, and a
run that was killed goes on with the same losses."""

import os
import socket
import subprocess
import sys
import unittest

import sheaf
from peers import Case

try:
    import PIL                  # noqa: F401
    import torch                # noqa: F401
except ImportError as error:
    raise unittest.SkipTest("no torch: %s" % error)

HERE = os.path.dirname(os.path.abspath(__file__))
EPOCHS = 10


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class TrainingTest(Case):
    def train(self, *words):
        """The exit statuses of both ranks."""
        port, running = free_port(), []
        for rank in range(2):
            running.append(subprocess.Popen(
                [sys.executable, "-W", "ignore", os.path.join(HERE, "train.py"), *words],
                env=dict(os.environ, RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                         MASTER_PORT=str(port), OMP_NUM_THREADS="1")))
        try:
            return [process.wait(timeout=300) for process in running]
        finally:
            for process in running:
                process.kill()

    @staticmethod
    def losses(path):
        with open(path) as file:
            return [line.split()[1] for line in file]

    def test_killed_and_resumed(self):
        folder = self.path("set")
        # 119 samples in 3 shards for 2 ranks x 2 workers: nothing divides
        os.remove(os.path.join(self.tree, sorted(self.images)[0] + ".jpg"))
        sheaf.pack(self.tree, folder, shard_count=3)
        whole, parts = self.path("whole"), self.path("parts")
        self.assertEqual(self.train(folder, self.path("none"), whole, str(EPOCHS)), [0, 0])
        steps = len(self.losses(whole))
        stop = str(steps * 2 // 5)      # within an epoch
        self.assertEqual(self.train(folder, self.path("state"), parts, str(EPOCHS), stop),
                         [-9, -9])
        self.assertEqual(len(self.losses(parts)), int(stop))
        self.assertEqual(self.train(folder, self.path("state"), parts, str(EPOCHS)), [0, 0])
        self.assertEqual(self.losses(parts), self.losses(whole))
        values = [float(loss) for loss in self.losses(whole)]
        third = steps // 3
        self.assertLess(sum(values[-third:]), 0.9 * sum(values[:third]))


if __name__ == "__main__":
    unittest.main()
