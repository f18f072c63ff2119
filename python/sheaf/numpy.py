# SPDX-License-Identifier: MIT
"""Batches of arrays for NumPy and JAX.

    for batch in sheaf.numpy.batches(reader, 1024):
        x, y = batch["bin"], batch["__label__"]     # uint8 [1024, bytes], int64 [1024]
        x = jax.numpy.asarray(x)"""

from __future__ import annotations

from typing import Any, Dict, Iterator, Optional

import numpy

import sheaf
from sheaf._pixel_stage import Policy, Stage, memory_of
from sheaf._types import _size


def arrays(batch: sheaf.Batch) -> Dict[str, Any]:
    """Returns the columns of a batch. If a field has the same size in every sample, its column is a read-only uint8
    array [samples, bytes]. Otherwise it is a list of uint8 arrays, with None for a sample that lacks the field.
    __key__ is a list of keys, and __seed__ a uint64 array of seeds. __label__ is an array [samples] or [samples,
    labels]. Its type is int64 if all labels of the batch are whole numbers, otherwise float64. It is missing if there
    are no labels."""
    if not isinstance(batch, sheaf.Batch):
        raise TypeError("batch must be a sheaf.Batch, not %r" % (batch,))
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


def batches(reader: sheaf.Reader, size: int, drop_last: bool = False,
            pixels: Optional[sheaf.Pixels] = None,
            memory_bytes: sheaf.Size = 512 << 20) -> Iterator[Dict[str, Any]]:
    """Returns the rest of the epoch as arrays. Each pass over the result is the next epoch.

    With `pixels`, a batch has these columns: __pixels__, uint8 [samples, 3, height, width] (nhwc if so requested; for
    several views a list); __crops__, int32 [samples, 5]; __masks__, a dict, if there are masks; __position__, the
    position of the reader after this batch (the reader itself is already ahead); and __key__, __seed__ and __label__.
    The reader's on_corrupt applies to images as well.

    The reader already uses its own memory. Decoding and the batches take at most memory_bytes in addition."""
    if not isinstance(reader, sheaf.Reader):
        raise TypeError("reader must be a sheaf.Reader, not %r" % (reader,))
    if pixels is None:
        return map(arrays, reader.batches(size, drop_last))
    shares = memory_of(pixels, _size(0, memory_bytes=memory_bytes), size, reads=False)
    stage = Stage(pixels, shares, Policy(reader.dataset, *reader._bad))
    return _pixels(reader, size, drop_last, stage)


def _pixels(reader: sheaf.Reader, size: int, drop_last: bool, stage: Stage) -> Iterator[Dict[str, Any]]:
    positions = (reader.position if reader.dataset.fingerprint else lambda: "")
    for batch, position in stage.run((batch, positions())
                                     for batch in reader.batches(size, drop_last)):
        columns = {"__key__": batch.keys, "__seed__": batch.seeds, "__pixels__": batch.pixels,
                   "__crops__": batch.crops, "__position__": position}
        if batch.masks:
            columns["__masks__"] = batch.masks
        if batch.labels is not None:
            columns["__label__"] = batch.labels
        yield columns
