# SPDX-License-Identifier: MIT
"""A torchvision v2 pipeline with random transforms, under sheaf.torch.seeded: it gives the same bytes for any number
of workers, for fork and spawn, for worlds of 1, 2 and 4, and when it is killed and resumed 20 times."""

import io
import itertools
import os
import random
import unittest

import sheaf
from peers import Case

try:
    import numpy
    import PIL.Image
    import torch
    from torchvision.transforms import v2
    import sheaf.torch
except ImportError as absent:
    raise unittest.SkipTest("no torchvision: %s" % absent)

COUNT = 72
AUGMENT = v2.Compose([v2.RandomResizedCrop(24, antialias=True), v2.RandomHorizontalFlip(),
                      v2.ColorJitter(0.4, 0.4, 0.4, 0.1), v2.RandAugment(2), v2.PILToTensor()])


def augmented(sample):
    with PIL.Image.open(io.BytesIO(sample["png"])) as image:
        return sample.key, AUGMENT(image.convert("RGB")).numpy().tobytes()


DECODE = sheaf.torch.seeded(augmented)


class Seeded(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        torch.set_num_threads(1)

    def setUp(self):
        super().setUp()
        self.set = self.path("set")
        chance = numpy.random.RandomState(1)
        with sheaf.Packer(self.set) as packer:
            for number in range(COUNT):
                file = io.BytesIO()
                PIL.Image.fromarray(chance.randint(0, 256, (40, 48, 3), "u1")).save(file, "PNG")
                packer.append("%03d" % number, {"png": file.getvalue()})
        with sheaf.Reader(self.set, seed=3, rank=0, world_size=1) as reader:
            self.expected = dict(DECODE(sample) for sample in reader)

    def loader(self, workers=0, context=None, **options):
        made = sheaf.torch.DataLoader(self.set, 5, workers, seed=3, decode=DECODE, collate_fn=list,
                                      multiprocessing_context=context, **options)
        self.addCleanup(made.close)
        return made

    def check(self, batches):
        found = list(itertools.chain.from_iterable(batches))
        self.assertGreaterEqual(len(found), COUNT)
        self.assertEqual(dict(found), self.expected)

    def test_transforms_are_random(self):
        self.assertEqual(len(set(self.expected.values())), COUNT)

    def test_workers(self):
        for workers, context in ((0, None), (1, "fork"), (2, "fork"), (7, "fork"), (2, "spawn")):
            self.check(self.loader(workers, context))

    def test_worlds(self):
        for world in (1, 2, 4):
            self.check(itertools.chain.from_iterable(
                self.loader(rank % 2, rank=rank, world_size=world) for rank in range(world)))

    def test_killed_and_resumed(self):
        """The state is saved 20 times. After each time, a process goes on that has read nothing yet."""
        chance, state, found = random.Random(4), None, []
        for i in range(21):
            loader = self.loader(i % 2)
            if state is not None:
                loader.load_state_dict(state)
            batches = iter(loader)
            found += itertools.islice(batches, None if i == 20 else chance.randrange(2))
            state = loader.state_dict()
            del batches
            loader.close()
        self.check(found)


if __name__ == "__main__":
    unittest.main()
