# SPDX-License-Identifier: MIT
"""Shared by the tests of sheaf.torch's loader: a data set, loaders of it, and functions that read up to a state and
from it on."""

import collections
import os
import unittest
import warnings

from support import Case, pack, samples_of

try:
    import torch    # pylint: disable=unused-import
    import sheaf.torch
except ImportError as error:
    raise unittest.SkipTest("no torch: %s" % error)


def key_of(sample):
    return sample.key


def number_of(sample):
    return sample.number


def marked(sample):
    return sample.number, sample.repeated


class LoaderCase(Case):
    @classmethod
    def share(cls):
        cls.samples = samples_of(200)
        cls.set = pack(os.path.join(cls.shared, "set"), cls.samples)
        warnings.filterwarnings("ignore", message="This DataLoader will create")

    def loader(self, batch_size=8, workers=0, **options):
        options = {"seed": 5, "shuffle_buffer": 60, "decode": number_of, "collate_fn": list,
                   **options}
        made = sheaf.torch.DataLoader(self.set, batch_size, workers, **options)
        self.addCleanup(made.close)
        return made

    def consume(self, state, world, batches, workers=0, batch_size=6, lanes=None,
                **options):
        """Returns the samples that all ranks read, and their state."""
        read, states = [], []
        for rank in range(world):
            loader = self.loader(batch_size, workers, rank=rank, world_size=world,
                                 decode=marked, lanes=lanes, **options)
            if state is not None:
                loader.load_state_dict(state)
            given = iter(loader)
            for _ in range(batches):
                batch = next(given, None)
                if batch is None:
                    break
                read += batch
            states.append(loader.state_dict())
            del given
            loader.close()
        self.assertEqual(states[1:], states[:-1])
        return read, states[0]

    def check_rest(self, before, after, world):
        read = collections.Counter(number for number, mark in before + after if not mark)
        self.assertEqual(read, collections.Counter(range(200)))
        self.assertLess(sum(mark for _, mark in after), world)
