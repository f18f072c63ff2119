# SPDX-License-Identifier: MIT
"""A small training run of one rank, for test_training.py: a CNN on decoded JPEGs, over gloo.

    train.py SET STATE LOSSES EPOCHS [STOP_AT]

Writes a line for each step into LOSSES (rank 0's mean loss over all ranks).  Every step the state
of model, optimiser and loader is kept, and written to STATE at step STOP_AT, where the process
ends itself with SIGKILL.  Goes on from STATE where that is there."""

import io
import os
import signal
import sys

import PIL.Image
import torch
import torch.distributed as dist

import sheaf.torch


def decode(sample):
    image = PIL.Image.open(io.BytesIO(sample["jpg"])).convert("RGB").resize((16, 16))
    pixels = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    return pixels.reshape(16, 16, 3).permute(2, 0, 1).float() / 255, sample.label


def main(folder, state_path, losses_path, epochs, stop_at=None):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    state_path = "%s.%d" % (state_path, rank)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                              torch.nn.Flatten(), torch.nn.Linear(8 * 7 * 7, 6))
    model = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    loader = sheaf.torch.DataLoader(folder, 8, 2, seed=3, decode=decode)
    step = epoch = 0
    if os.path.exists(state_path):
        state = torch.load(state_path, weights_only=False)
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(state["loader"])
        step, epoch = state["step"], state["loader"]["epoch"]
    with open(losses_path, "a") as losses:
        for epoch in range(epoch, int(epochs)):
            for images, labels in loader:
                loss = torch.nn.functional.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total = loss.detach().clone()
                dist.all_reduce(total)
                if rank == 0:
                    print("%d %.9f" % (step, total.item()), file=losses, flush=True)
                step += 1
                if stop_at is not None and step == int(stop_at):
                    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(),
                                "loader": loader.state_dict(), "step": step},
                               state_path)
                    dist.barrier()
                    os.kill(os.getpid(), signal.SIGKILL)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
