# SPDX-License-Identifier: MIT
"""NumPy, and with it JAX: batches of arrays.

    for batch in sheaf.numpy.batches(reader, 1024):
        x, y = batch["bin"], batch["__label__"]     # uint8 [1024, bytes], int64 [1024]
        x = jax.numpy.asarray(x)"""

from __future__ import annotations

from typing import Any, Dict, Iterator

import numpy

import sheaf


def arrays(batch: sheaf.Batch) -> Dict[str, Any]:
    """The columns of a batch.  A field that has one size in every sample is one read-only uint8
    array [samples, bytes]; else a list of uint8 arrays, None where a sample lacks it.  __key__ is
    a list, __seed__ a uint64 array of sample.seed, __label__ an array [samples], or [samples, labels]: int64 if all labels of the batch are
    whole numbers, else float64; there is none without labels."""
    columns: Dict[str, Any] = {"__key__": batch.keys}
    for name in batch.names:
        try:
            columns[name] = numpy.asarray(batch.stack(name))
        except (KeyError, ValueError):
            columns[name] = [None if view is None else numpy.frombuffer(view, numpy.uint8)
                             for view in (sample.get(name) for sample in batch)]
    columns["__seed__"] = numpy.asarray(batch.seeds)
    labels = numpy.asarray(batch.labels)
    if labels.shape[1] != 0:
        columns["__label__"] = labels[:, 0] if labels.shape[1] == 1 else labels
    return columns


def batches(reader: sheaf.Reader, size: int, drop_last: bool = False) -> Iterator[Dict[str, Any]]:
    """The rest of the epoch, as arrays; each pass is the next epoch."""
    return map(arrays, reader.batches(size, drop_last))
