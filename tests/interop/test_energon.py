# SPDX-License-Identifier: MIT
"""Megatron-Energon: it takes a data set of ours as prepared, and reads it by our index."""

import unittest
from dataclasses import dataclass

import sheaf
from peers import Case

try:
    from megatron import energon
except ImportError as error:
    raise unittest.SkipTest("no energon: %s" % error)


@dataclass
class Image(energon.Sample):
    image: bytes
    label: int


@energon.stateless
def cook(sample):
    return Image(**energon.basic_sample_keys(sample), image=sample["jpg"],
                 label=int(sample["cls"]))


class Encoder(energon.DefaultTaskEncoder):
    cookers = [energon.Cooker(cook)]
    decoder = None

    def batch(self, samples):
        return samples


class EnergonTest(Case):
    def loader(self, folder, workers):
        config = energon.WorkerConfig(rank=0, world_size=1, num_workers=workers)
        return energon.get_loader(energon.get_train_dataset(
            folder, batch_size=1, shuffle_buffer_size=None, max_samples_per_sequence=None,
            worker_config=config, repeat=False, task_encoder=Encoder()))

    def test_energon_reads_ours(self):
        folder = self.path("set")
        sheaf.pack(self.tree, folder, shard_count=3, index="energon")
        for workers in (0, 2):
            found = {}
            for (sample,) in self.loader(folder, workers):
                key = sample.__key__.rpartition(".tar/")[2] or sample.__key__
                self.assertNotIn(key, found)
                found[key] = (bytes(sample.image), sample.label)
            self.assert_images(found)


if __name__ == "__main__":
    unittest.main()
