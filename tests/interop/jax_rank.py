# SPDX-License-Identifier: MIT
"""One rank of a JAX training loop over two processes on the CPU, for test_jax.py: each step is
a sum over both.  Stops after STOP batches of this run, with its place in PLACE, and goes on from
there where that is there; prints the numbers of each batch.

    jax_rank.py grain|numpy SET PLACE RANK PORT STOP"""

import json
import os
import sys

import grain
import jax
import numpy

import sheaf.numpy

EPOCHS = 3
BATCH = 8


def decode(sample):
    return {"number": numpy.int64(sample.number), "__label__": numpy.int64(sample.label)}


def by_grain(folder, place):
    """Yields batches; send() gives the place behind the last one."""
    data = grain.MapDataset.source(sheaf.Dataset(folder)).seed(3).shuffle()
    data = data[jax.process_index()::jax.process_count()].map(decode).batch(BATCH).repeat(EPOCHS)
    batches = iter(data.to_iter_dataset(grain.ReadOptions(num_threads=4, prefetch_buffer_size=20)))
    if place is not None:
        batches.set_state(place)
    for batch in batches:
        yield batch, batches.get_state


def by_numpy(folder, place):
    reader = sheaf.Reader(folder, seed=3, shuffle_buffer=50, rank=jax.process_index(),
                          world_size=jax.process_count())
    if place is not None:
        reader.resume(place)
    while reader.current_epoch < EPOCHS:
        for batch in sheaf.numpy.batches(reader, BATCH):
            batch["number"] = numpy.array([int(key) for key in batch["__key__"]])
            yield batch, reader.position
        reader.epoch(reader.current_epoch + 1)


def main(feed, folder, place_file, rank, port, stop):
    jax.distributed.initialize("127.0.0.1:" + port, 2, int(rank))
    mesh = jax.make_mesh((2,), ("rank",))
    shared = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("rank"))
    total = jax.jit(lambda x: x.sum(), out_shardings=jax.sharding.NamedSharding(
        mesh, jax.sharding.PartitionSpec()))
    place = None
    if os.path.exists(place_file):
        with open(place_file, encoding="utf-8") as file:
            place = json.load(file)
    batches = {"grain": by_grain, "numpy": by_numpy}[feed](folder, place)
    for step, (batch, place_of) in enumerate(batches, 1):
        labels = jax.numpy.asarray(batch["__label__"]).sum().reshape(1)
        both = total(jax.make_array_from_process_local_data(shared, numpy.asarray(labels)))
        print("batch", json.dumps([batch["number"].tolist(), int(labels[0]), int(both)]))
        if step == int(stop):
            with open(place_file, "w", encoding="utf-8") as file:
                json.dump(place_of(), file)
            break


if __name__ == "__main__":
    main(*sys.argv[1:])
