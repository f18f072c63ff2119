# SPDX-License-Identifier: MIT
"""TensorFlow: a tf.data.Dataset.

    dataset = sheaf.tf.dataset("shards/", seed=7)
    dataset = dataset.map(lambda s: (tf.io.decode_jpeg(s["jpg"]), s["__label__"]))
    for epoch in range(3):
        for image, label in dataset.prefetch(2):    # each pass is the next epoch
            ..."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Sequence, Union

import tensorflow as tf

import sheaf
from sheaf._member import rank_of

CHUNK = 64          # samples that cross from Python into TensorFlow at once


def dataset(source: Union[sheaf.Source, sheaf.Dataset], *,
            fields: Optional[Sequence[str]] = None, rank: Optional[int] = None,
            world_size: Optional[int] = None, epoch: int = 0,
            **options: Any) -> "tf.data.Dataset":
    """The samples of a data set as dicts: the named fields (by default those of the first
    sample, which all must have) and __key__ as strings, and, if the first sample has labels,
    __label__ (int64, or float32 if they are not whole; a vector if there are several).

    options are those of sheaf.Reader.  Each pass is the next epoch, beginning with `epoch`."""
    opened = source if isinstance(source, sheaf.Dataset) else sheaf.Dataset(source)
    rank, world_size = rank_of(rank, world_size, opened)
    options = dict(options, rank=rank, world_size=world_size)
    columns = _Columns(opened, fields)
    epochs = iter(range(epoch, 1 << 62))

    def chunks() -> Iterator[Dict[str, Any]]:
        with sheaf.Reader(opened, epoch=next(epochs), **options) as reader:
            for batch in reader.batches(CHUNK):
                yield columns.of(batch)

    result = tf.data.Dataset.from_generator(chunks, output_signature=columns.signature)
    result = result.unbatch()
    if not opened.is_stream:
        with sheaf.Reader(opened, **options) as reader:
            result = result.apply(tf.data.experimental.assert_cardinality(len(reader)))
    return result


class _Columns:
    """Which columns there are, and those of a batch."""

    def __init__(self, opened: sheaf.Dataset, fields: Optional[Sequence[str]]) -> None:
        if opened.is_stream and fields is None:
            raise ValueError("a stream cannot be read twice: say which fields= there are")
        first: Optional[sheaf.Sample] = None
        if not opened.is_stream:
            first = opened[0] if len(opened) != 0 else None
        if first is None and fields is None:
            raise ValueError("%s has no samples: say which fields= there are" % opened.url)
        self.fields: List[str] = list(fields if fields is not None else first or ())
        self.labels = 0 if first is None else len(first.labels)
        whole = first is None or all(isinstance(label, int) for label in first.labels)
        self.label_type = tf.int64 if whole else tf.float32
        self.signature = {name: tf.TensorSpec([None], tf.string)
                          for name in ["__key__", *self.fields]}
        if self.labels != 0:
            shape = [None] if self.labels == 1 else [None, self.labels]
            self.signature["__label__"] = tf.TensorSpec(shape, self.label_type)

    def of(self, batch: sheaf.Batch) -> Dict[str, Any]:
        columns: Dict[str, Any] = {"__key__": batch.keys}
        for name in self.fields:
            columns[name] = [bytes(view) for view in batch.fields(name)]
        if self.labels == 1:
            columns["__label__"] = [sample.label for sample in batch]
        elif self.labels > 1:
            columns["__label__"] = [list(sample.labels) for sample in batch]
        return columns
