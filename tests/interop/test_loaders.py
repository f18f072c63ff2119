# SPDX-License-Identifier: MIT
"""sheaf.torch under the frameworks that wrap a DataLoader, over two ranks: what the model is given
is exactly what the loader alone gives, each sample once an epoch, and it goes on exactly where it
was killed; or there is an error with the cure, and never less data."""

import collections
import importlib.util
import json
import os
import subprocess
import sys
import unittest

import sheaf
from peers import Case

try:
    import sheaf.torch
    from rank import BATCH, EPOCHS, OPTIONS, marked
except ImportError as error:
    raise unittest.SkipTest("no torch: %s" % error)

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = 203
BATCHES = 13        # of a rank, an epoch
STOP = 16           # in the second epoch


def needs(name):
    return unittest.skipIf(importlib.util.find_spec(name) is None, "no " + name)


def has_composer():
    """It has its own interpreter."""
    python = os.environ.get("COMPOSER_PYTHON", "")
    return os.path.exists(python) and \
        subprocess.run([python, "-c", "import importlib.util as u, sys; "
                        "sys.exit(u.find_spec('composer') is None)"]).returncode == 0


class LoadersTest(Case):
    def setUp(self):
        super().setUp()
        self.set = self.path("set")
        with sheaf.Packer(self.set) as packer:
            for number in range(SAMPLES):
                packer.append("%06d" % number, {"bin": b"%d" % number}, labels=number % 7)

    def launch(self, framework, *option, python=sys.executable):
        """Two ranks, under torchrun: where they note what they had, and what they said."""
        out = self.path(framework)
        os.makedirs(out, exist_ok=True)
        torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        done = subprocess.run(
            [python, "-W", "ignore", *([] if framework == "ray" else torchrun),
             os.path.join(HERE, "rank.py"), framework, self.set, out, str(STOP), *option],
            capture_output=True, text=True, timeout=600,
            env=dict(os.environ, OMP_NUM_THREADS="1", NODE_RANK="0"))
        return out, done

    @staticmethod
    def noted(out, rank, number):
        try:
            with open(os.path.join(out, "%d.%d" % (rank, number)), encoding="ascii") as file:
                return [json.loads(line) for line in file]
        except FileNotFoundError:
            return []

    def alone(self, rank, drop_last=False):
        """The batches of all epochs, of the loader without any framework."""
        loader = sheaf.torch.DataLoader(self.set, BATCH, decode=marked, rank=rank, world_size=2,
                                        drop_last=drop_last, **OPTIONS)
        return [[int(number) for number in batch.flatten()]
                for _ in range(EPOCHS) for batch in loader]

    def test_what_the_loader_gives_alone(self):
        """Which the others are compared with."""
        ranks = [self.alone(0), self.alone(1)]
        for epoch in range(EPOCHS):
            both = [number for rank in ranks
                    for batch in rank[epoch * BATCHES:(epoch + 1) * BATCHES] for number in batch]
            self.assertEqual(collections.Counter(number for number in both if number >= 0),
                             collections.Counter(range(SAMPLES)))
            self.assertEqual(len(both), SAMPLES + 1)

    def check(self, framework, *option, **python):
        """Killed in the second epoch, resumed."""
        out, killed = self.launch(framework, *option, **python)
        self.assertEqual([len(self.noted(out, rank, 0)) for rank in range(2)], [STOP, STOP],
                         killed.stderr)
        out, done = self.launch(framework, *option, **python)
        self.assertEqual(done.returncode, 0, done.stderr)
        for rank in range(2):
            self.assertEqual(self.noted(out, rank, 0) + self.noted(out, rank, 1),
                             self.alone(rank, "drop" in option), done.stderr)

    def test_ddp(self):
        self.check("ddp")

    @needs("torchdata")
    def test_torchdata(self):
        self.check("torchdata")

    @needs("accelerate")
    def test_accelerate(self):
        self.check("accelerate")

    @needs("accelerate")
    def test_accelerate_without_even_batches(self):
        self.check("accelerate", "uneven")

    @needs("accelerate")
    def test_accelerate_shares_pytorch_s_loader_out_again(self):
        out, done = self.launch("accelerate", "plain")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("shares the samples out a second time", done.stderr)

    @needs("accelerate")
    def test_accelerate_skips_what_the_state_has_skipped(self):
        out, _ = self.launch("accelerate", "skips")
        out, done = self.launch("accelerate", "skips")
        self.assertNotEqual(done.returncode, 0)
        self.assertLess(len(self.noted(out, 0, 1)), 2)      # each worker has to ask once
        self.assertIn("a loaded state has skipped", done.stderr)

    @needs("transformers")
    def test_trainer(self):
        self.check("trainer")

    @needs("lightning")
    def test_lightning(self):
        self.check("lightning")

    @needs("lightning")
    def test_lightning_that_drops_the_last_batch(self):
        self.check("lightning", "drop")

    @needs("lightning")
    def test_lightning_predicts_with_pytorch_s_loader(self):
        """It has a batch sampler of its own around the sampler then."""
        out, done = self.launch("lightning", "predict-plain")
        self.assertEqual(done.returncode, 0, done.stderr)
        for rank in range(2):
            self.assertEqual(self.noted(out, rank, 0), self.alone(rank)[:BATCHES])
        out, done = self.launch("lightning", "predict")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual([self.noted(out, rank, 1) for rank in range(2)], [[], []])

    @needs("ray")
    def test_ray(self):
        self.check("ray")

    @needs("ray")
    def test_ray_that_holds_a_batch_back(self):
        _, done = self.launch("ray", "ahead")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("move_to_device=False", done.stderr)

    @unittest.skipUnless(has_composer(), "no composer")
    def test_composer(self):
        self.check("composer", python=os.environ["COMPOSER_PYTHON"])


if __name__ == "__main__":
    unittest.main()
