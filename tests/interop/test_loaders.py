# SPDX-License-Identifier: MIT
"""sheaf.torch under the frameworks that wrap a DataLoader: over two ranks each sample comes once, or
there is an error, and never less data; and what torchdata's loader keeps is where it was."""

import collections
import importlib.util
import json
import os
import socket
import subprocess
import sys
import unittest

import sheaf
from peers import Case

try:
    import sheaf.torch
except ImportError as error:
    raise unittest.SkipTest("no torch: %s" % error)

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = 203


def number_of(sample):
    return sample.number


def needs(name):
    return unittest.skipIf(importlib.util.find_spec(name) is None, "no " + name)


class LoadersTest(Case):
    def make(self):
        with sheaf.Packer(self.path("set")) as packer:
            for number in range(SAMPLES):
                packer.append("%06d" % number, {"bin": b"%d" % number}, labels=number % 7)
        return self.path("set")

    def run_ranks(self, framework, folder):
        """What each rank read of each epoch, or the errors."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        running = [subprocess.Popen(
            [sys.executable, "-W", "ignore", os.path.join(HERE, "rank.py"), framework, folder,
             self.path("out")], stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
                     LOCAL_WORLD_SIZE="2", GROUP_RANK="0", TORCHELASTIC_RUN_ID="test",
                     MASTER_ADDR="127.0.0.1", MASTER_PORT=port, OMP_NUM_THREADS="1"))
                   for rank in range(2)]
        try:
            errors = [process.communicate(timeout=300)[1] for process in running]
        finally:
            for process in running:
                process.kill()
        if any(process.returncode != 0 for process in running):
            return None, errors
        read = []
        for rank in range(2):
            with open("%s.%d" % (self.path("out"), rank), encoding="ascii") as file:
                read.append(json.load(file))
        return read, errors

    def check_once(self, framework):
        read, errors = self.run_ranks(framework, self.make())
        self.assertIsNotNone(read, errors)
        for epoch in range(2):
            both = read[0][epoch] + read[1][epoch]
            self.assertEqual(len(read[0][epoch]), len(read[1][epoch]))
            self.assertEqual(collections.Counter(number for number, mark in both if not mark),
                             collections.Counter(range(SAMPLES)))
        self.assertNotEqual(read[0][0], read[0][1])

    @needs("accelerate")
    def test_accelerate(self):
        self.check_once("accelerate")

    @needs("accelerate")
    def test_accelerate_shares_pytorch_s_loader_out_again(self):
        read, errors = self.run_ranks("accelerate_plain", self.make())
        self.assertIsNone(read)
        self.assertIn("shares the samples out a second time", "".join(errors))

    @needs("lightning")
    def test_lightning(self):
        self.check_once("lightning")

    @needs("torchdata")
    def test_stateful_loader(self):
        from torchdata.stateful_dataloader import StatefulDataLoader
        folder = self.make()

        def loader(workers):
            dataset = sheaf.torch.Dataset(folder, seed=3, shuffle_buffer=50, decode=number_of)
            return StatefulDataLoader(dataset, 8, sampler=dataset.sampler(), num_workers=workers,
                                      collate_fn=list)

        for workers in (0, 2):
            whole = list(loader(workers))
            first = loader(workers)
            given = iter(first)
            before = [next(given) for _ in range(9)]
            state = first.state_dict()
            del given
            second = loader(workers)
            second.load_state_dict(state)
            self.assertEqual(before + list(second), whole)


if __name__ == "__main__":
    unittest.main()
