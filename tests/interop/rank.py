# SPDX-License-Identifier: MIT
"""One rank of a framework's training loop, for test_loaders.py: notes which samples it had.

    rank.py FRAMEWORK SET OUT"""

import json
import os
import sys

import torch

import sheaf.torch


def marked(sample):
    return [sample.number, int(sample.repeated)]


def plain(samples):
    return samples


OPTIONS = {"seed": 3, "shuffle_buffer": 50, "decode": marked, "collate_fn": plain}


def accelerate(folder):
    """Prepared as it is: Accelerate leaves it alone."""
    from accelerate import Accelerator
    loader = Accelerator(cpu=True).prepare(sheaf.torch.DataLoader(folder, 8, 2, **OPTIONS))
    return [[sample for batch in loader for sample in batch] for _ in range(2)]


def accelerate_plain(folder):
    """PyTorch's own loader is shared out a second time, which is an error."""
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True)
    dataset = sheaf.torch.Dataset(folder, seed=3, shuffle_buffer=50, decode=marked)
    loader = torch.utils.data.DataLoader(dataset, 8, sampler=dataset.sampler(), num_workers=2,
                                         collate_fn=plain)
    return [[sample for batch in accelerator.prepare(loader) for sample in batch]]


def lightning(folder):
    import lightning

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))
            self.epochs = []

        def on_train_epoch_start(self):
            self.epochs.append([])

        def training_step(self, batch, _):
            self.epochs[-1] += batch
            return (self.weight ** 2).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    os.chdir(os.path.dirname(sys.argv[3]))
    trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", devices=2, strategy="ddp",
                                logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False)
    model = Model()
    dataset = sheaf.torch.Dataset(folder, seed=3, shuffle_buffer=50, decode=marked)
    trainer.fit(model, torch.utils.data.DataLoader(dataset, 8, sampler=dataset.sampler(),
                                                   num_workers=2, collate_fn=plain))
    return model.epochs


def main(framework, folder, out):
    epochs = {"accelerate": accelerate, "accelerate_plain": accelerate_plain,
              "lightning": lightning}[framework](folder)
    with open("%s.%s" % (out, os.environ["RANK"]), "w", encoding="ascii") as file:
        json.dump(epochs, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
