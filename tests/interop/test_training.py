# SPDX-License-Identifier: MIT
"""Training over two processes under torchrun: no hang where shards and ranks are uneven, the loss
falls, and a run that was killed goes on with the same losses."""

import os
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
EPOCHS = 15


class TrainingTest(Case):
    def train(self, *words):
        """Whether both ranks came to their end, and what torchrun said."""
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "torch.distributed.run", "--standalone",
             "--nproc-per-node", "2", os.path.join(HERE, "train.py"), *words], timeout=600,
            capture_output=True, text=True, env=dict(os.environ, OMP_NUM_THREADS="1"))
        return done.returncode == 0, done.stderr

    @staticmethod
    def losses(path):
        with open(path) as file:
            return [line.split()[1] for line in file]

    def test_killed_and_resumed(self):
        folder = self.path("set")
        # 119 samples in 3 shards for 2 ranks with 2 workers each: nothing divides
        os.remove(os.path.join(self.tree, sorted(self.images)[0] + ".jpg"))
        sheaf.pack(self.tree, folder, shard_count=3)
        whole = self.path("whole")
        is_done, said = self.train(folder, self.path("none"), whole, str(EPOCHS))
        self.assertTrue(is_done, said)
        steps = len(self.losses(whole))
        for stop in (steps * 2 // 5, steps * 2 // 5 + 3):    # at the end of an epoch, and within
            parts, state = self.path("parts-%d" % stop), self.path("state-%d" % stop)
            is_done, said = self.train(folder, state, parts, str(EPOCHS), str(stop))
            self.assertFalse(is_done, said)
            self.assertEqual(len(self.losses(parts)), stop)
            is_done, said = self.train(folder, state, parts, str(EPOCHS))
            self.assertTrue(is_done, said)
            self.assertEqual(self.losses(parts), self.losses(whole))
        values = [float(loss) for loss in self.losses(whole)]
        third = steps // 3
        self.assertLess(sum(values[-third:]), 0.9 * sum(values[:third]))


if __name__ == "__main__":
    unittest.main()
