# SPDX-License-Identifier: MIT
"""One rank of a framework's training loop, for test_loaders.py: three epochs of a model of one
weight.  Notes the batches that it had, is killed right after the checkpoint at step STOP, and goes
on from that checkpoint where it is there.

    rank.py FRAMEWORK SET FOLDER STOP [OPTION]

Writes FOLDER/RANK.N, of the Nth run, with a line for each batch: its samples' numbers, negative
less one if they are repeated."""

import json
import os
import signal
import sys

import torch
import torch.distributed as dist

import sheaf.torch

EPOCHS = 3
BATCH = 8
OPTIONS = {"seed": 3, "shuffle_buffer": 50}


def marked(sample):
    return torch.tensor([float(-1 - sample.number if sample.repeated else sample.number)])


class Run:
    """What every framework's loop is given."""

    def __init__(self, folder, out, stop, option=None):
        self.folder, self.out, self.stop, self.option = folder, out, int(stop), option
        self.state = os.path.join(out, "state")
        self.file = None
        self.steps = 0

    @property
    def resumes(self):
        return os.path.exists(self.state)

    def loader(self, **options):
        return sheaf.torch.DataLoader(self.folder, BATCH, 2, decode=marked, **OPTIONS, **options)

    def plain(self):
        """PyTorch's own loader."""
        dataset = sheaf.torch.Dataset(self.folder, decode=marked, **OPTIONS)
        return torch.utils.data.DataLoader(dataset, BATCH, sampler=dataset.sampler(),
                                           num_workers=2)

    def note(self, batch):
        """Of what the framework gives the model."""
        if self.file is None:
            rank = dist.get_rank()
            number = sum(os.path.exists(os.path.join(self.out, "%d.%d" % (rank, n)))
                         for n in range(2))
            self.file = open(os.path.join(self.out, "%d.%d" % (rank, number)), "x",
                             encoding="ascii")
        print(json.dumps([int(number) for number in batch.flatten()]), file=self.file, flush=True)
        self.steps += 1

    def is_to_stop(self):
        return not self.resumes and self.steps == self.stop

    def end(self):
        """All ranks have their part of the checkpoint."""
        dist.barrier()
        open(self.state, "a", encoding="ascii").close()
        os.kill(os.getpid(), signal.SIGKILL)


def loss_of(model, batch):
    return (model(batch / 1000) ** 2).mean()


def step(model, optimizer, batch):
    loss = loss_of(model, batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def ddp(run):
    """A loop as PyTorch's guide has it; rank 0 keeps the state of all."""
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = run.loader()
    saved, first = os.path.join(run.out, "ddp.pt"), 0
    if run.resumes:
        state = torch.load(saved)
        model.load_state_dict(state["model"])
        loader.load_state_dict(state["loader"])
        first = state["loader"]["epoch"]
    for epoch in range(first, EPOCHS):
        loader.set_epoch(epoch)
        for batch in loader:
            run.note(batch)
            step(model, optimizer, batch)
            if run.is_to_stop():
                if dist.get_rank() == 0:
                    torch.save({"model": model.state_dict(), "loader": loader.state_dict()}, saved)
                run.end()


def torchdata(run):
    """Each rank keeps its own state, as StatefulDataLoader wants it."""
    from torchdata.stateful_dataloader import StatefulDataLoader
    dist.init_process_group("gloo")
    dataset = sheaf.torch.Dataset(run.folder, decode=marked, **OPTIONS)
    loader = StatefulDataLoader(dataset, BATCH, sampler=dataset.sampler(), num_workers=2)
    saved, first = os.path.join(run.out, "torchdata.%d" % dist.get_rank()), 0
    if run.resumes:
        state = torch.load(saved)
        loader.load_state_dict(state["loader"])
        first = state["epoch"]
    for epoch in range(first, EPOCHS):
        for batch in loader:
            run.note(batch)
            if run.is_to_stop():
                torch.save({"epoch": epoch, "loader": loader.state_dict()}, saved)
                run.end()


def accelerate(run):
    """Prepared like the rest; save_state keeps the loader's place as well."""
    from accelerate import Accelerator, DataLoaderConfiguration
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(
        even_batches=run.option != "uneven"))
    model = torch.nn.Linear(1, 1)
    model, optimizer, loader = accelerator.prepare(
        model, torch.optim.SGD(model.parameters(), lr=0.1),
        run.plain() if run.option == "plain" else run.loader())
    saved, first = os.path.join(run.out, "accelerate"), 0
    if run.resumes:
        accelerator.load_state(saved)
        first = loader.state_dict()["epoch"]
        if run.option == "skips":       # as one does whose loader keeps no state
            loader = accelerator.skip_first_batches(loader, 3)
    for epoch in range(first, EPOCHS):
        for batch in loader:
            run.note(batch)
            loss = loss_of(model, batch)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            if run.is_to_stop():
                accelerator.save_state(saved)
                run.end()


def trainer(run):
    """Hugging Face's Trainer, whose get_train_dataloader gives the loader."""
    import transformers

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(1, 1)

        def forward(self, batch):
            if self.training:
                run.note(batch)
            return {"loss": loss_of(self.linear, batch)}

    class Stop(transformers.TrainerCallback):
        def on_save(self, *_, **__):
            run.end()

    class Trainer(transformers.Trainer):
        def get_train_dataloader(self):
            return run.loader(collate_fn=lambda samples: {"batch": torch.stack(samples)})

    arguments = transformers.TrainingArguments(
        os.path.join(run.out, "trainer"), num_train_epochs=EPOCHS, use_cpu=True, report_to=[],
        per_device_train_batch_size=BATCH, disable_tqdm=True,
        save_strategy="no" if run.resumes else "steps", save_steps=run.stop, logging_strategy="no")
    Trainer(Model(), arguments, callbacks=[Stop()]).train(resume_from_checkpoint=run.resumes or None)


def lightning(run):
    """With use_distributed_sampler as it is: on; rank 0 writes the checkpoint."""
    import lightning as pl

    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(1, 1)

        def training_step(self, batch, _):
            run.note(batch)
            return loss_of(self.linear, batch)

        def predict_step(self, batch, _):
            run.note(batch)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    saved = os.path.join(run.out, "lightning.ckpt")

    class Stop(pl.Callback):
        def on_train_batch_end(self, fitted, *_):
            if run.is_to_stop():
                fitted.save_checkpoint(saved)
                run.end()

    fitted = pl.Trainer(
        max_epochs=EPOCHS, accelerator="cpu", devices=2, strategy="ddp", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        callbacks=[Stop()])
    loader = run.plain() if run.option == "predict-plain" else run.loader(drop_last=run.option == "drop")
    if run.option in ("predict", "predict-plain"):
        fitted.predict(Model(), loader, return_predictions=False)
    else:
        fitted.fit(Model(), loader, ckpt_path=saved if run.resumes else None)


def composer(run):
    import composer as mosaic

    class Model(mosaic.ComposerModel):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(1, 1)

        def forward(self, batch):
            run.note(batch)
            return loss_of(self.linear, batch)

        def loss(self, outputs, batch, *_, **__):
            return outputs

    class Stop(mosaic.Callback):
        def batch_checkpoint(self, state, logger):
            if run.is_to_stop():
                state_file = os.path.join(run.out, "composer.pt")
                self.trainer.save_checkpoint(state_file)
                run.end()

    stop, model = Stop(), Model()
    stop.trainer = mosaic.Trainer(
        model=model, train_dataloader=run.loader(), max_duration="%dep" % EPOCHS, device="cpu",
        optimizers=torch.optim.SGD(model.parameters(), lr=0.1), callbacks=[stop],
        progress_bar=False, load_path=os.path.join(run.out, "composer.pt") if run.resumes else None)
    stop.trainer.fit()


def ray(run):
    """The driver; it starts the ranks itself."""
    import ray as cluster
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer
    cluster.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20)
    TorchTrainer(ray_rank, train_loop_config={"run": run},
                 scaling_config=ScalingConfig(num_workers=2),
                 run_config=RunConfig(storage_path=os.path.join(run.out, "ray"))).fit()


def ray_rank(config):
    from ray.train import torch as prepare
    run, saved, first = config["run"], os.path.join(config["run"].out, "ray.pt"), 0
    model = prepare.prepare_model(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = run.loader()
    prepared = prepare.prepare_data_loader(loader, move_to_device=run.option == "ahead")
    if run.resumes:
        state = torch.load(saved)
        loader.load_state_dict(state)
        first = state["epoch"]
    for epoch in range(first, EPOCHS):
        loader.set_epoch(epoch)
        for batch in prepared:
            run.note(batch)
            step(model, optimizer, batch)
            if run.is_to_stop():
                state = loader.state_dict()
                if dist.get_rank() == 0:
                    torch.save(state, saved)
                run.end()


if __name__ == "__main__":
    globals()[sys.argv[1]](Run(*sys.argv[2:]))
    if dist.is_initialized():
        dist.barrier()
