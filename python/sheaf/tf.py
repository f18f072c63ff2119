# SPDX-License-Identifier: MIT
"""Samples as a tf.data.Dataset for TensorFlow.

    dataset = sheaf.tf.dataset("shards/", seed=7, batch_size=64, state=True)
    for epoch in range(3):
        for batch in dataset.prefetch(2):       # each pass is the next epoch
            train(batch["jpg"], batch["__label__"])
            saved = batch["__state__"]          # dataset(..., resume=saved) continues from here

tf.data reads ahead, so it cannot say how far a training loop is. Therefore the state comes with the samples, as one
more column."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy
import tensorflow as tf

import sheaf
from sheaf._member import epoch_of, rank_of
from sheaf._pixel_stage import BOX, Policy, Shares, Stage, memory_of
from sheaf._types import READER_MEMORY, _size

CHUNK = 64          # samples that pass from Python to TensorFlow at once


def dataset(source: Union[sheaf.Source, sheaf.Dataset], *, batch_size: Optional[int] = None,
            drop_last: bool = False, fields: Optional[Sequence[str]] = None,
            label_type: Optional[tf.DType] = None, rank: Optional[int] = None,
            world_size: Optional[int] = None, epoch: int = 0, state: bool = False,
            resume: Any = None, pixels: Optional[sheaf.Pixels] = None,
            **options: Any) -> "tf.data.Dataset":
    """Returns the samples of a data set as dicts. Their items are the named fields (by default those of the first
    sample, which every sample must have) and __key__, as strings; __label__, if the first sample has labels; and
    __seed__, the sample's seed as two int32 numbers for functions such as tf.image.stateless_random_crop. With
    batch_size, the elements are batches of samples.

    __label__ has the type label_type. By default this is int64 if the first sample's labels are whole numbers,
    otherwise float32. __label__ is a vector if there are several labels. Raises ValueError if the labels of a later
    sample do not have the type.

    With state=True, each element has a string __state__: the state after the sample, or after the whole batch.
    resume= takes such a string, or the last one of an array of them, and continues after it, on the same rank with
    the same options. The strings may pass through map, batch and prefetch. Without batch_size, samples then come one
    by one, which takes longer.

    With pixels=sheaf.Pixels(224, layout="nhwc") and batch_size, threads of the library decode and crop the images.
    The columns are then pixels (uint8), crops (int32), masks (a dict of uint8, if there are masks) and the fields
    that `fields` names. Reading, decoding and batches take at most memory_bytes.

    rank and world_size are found as in sheaf.Reader, or else in TF_CONFIG. A tf.distribute.Strategy does not divide
    the samples a second time. The other options are those of sheaf.Reader. Each pass is the next epoch, beginning
    with `epoch`, or with the rest of a resumed epoch."""
    opened = source if isinstance(source, sheaf.Dataset) else sheaf.Dataset(source)
    given = rank
    rank, world_size = rank_of(rank, world_size, opened)
    if opened.host is None:         # otherwise the tasks of TF_CONFIG are on hosts with other shards
        rank, world_size = _task_of(rank, world_size, given)
    options = dict(options, rank=rank, world_size=world_size)
    on_corrupt = options.get("on_corrupt", "fail")
    if pixels is not None and (batch_size is None or pixels.has_views):
        raise sheaf.ArgumentError("pixels need batch_size, and no views")
    shares = None
    if pixels is not None and batch_size is not None:
        memory = _size(READER_MEMORY, memory=options.pop("memory", None),
                       memory_bytes=options.pop("memory_bytes", None))
        shares = memory_of(pixels, memory, batch_size)
        options["memory_bytes"] = shares.reading
    columns = _Columns(opened, fields, label_type, state, on_corrupt, pixels, shares)
    passes = _Passes(opened, epoch_of(epoch), resume, options)
    size = batch_size if batch_size is not None else 1 if state else CHUNK

    def chunks() -> Iterator[Dict[str, Any]]:
        resumed, reader, given = passes.resume is not None, passes.begin(), False
        with reader:
            batches = reader.batches(size, drop_last and batch_size is not None)
            for made in (columns.of(batch, reader) for batch in batches) if pixels is None \
                    else columns.with_pixels(batches, reader):
                given = True
                yield made
        if resumed and not given:       # the state is at the end of an epoch
            yield from chunks()

    samples = None
    if not opened.is_stream:
        with passes.open() as reader:   # raises an error now if an option is wrong
            if resume is None and on_corrupt == "fail":
                samples = len(reader)
    result = tf.data.Dataset.from_generator(
        chunks, output_signature=columns.signature(batch_size if drop_last else None))
    if batch_size is None:
        result = result.unbatch()
    elif samples is not None:
        samples = samples // batch_size if drop_last else -(-samples // batch_size)
    if samples is not None:
        result = result.apply(tf.data.experimental.assert_cardinality(samples))
    shared = tf.data.Options()
    shared.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return result.with_options(shared)


def _task_of(rank: int, world_size: int, given: Optional[int]) -> Tuple[int, int]:
    """Returns the rank and world size that were found. If they are 0 of 1 and none were given, returns those of
    TF_CONFIG."""
    if given is not None or world_size != 1 or "TF_CONFIG" not in os.environ:
        return rank, world_size
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    cluster = resolver.cluster_spec().as_dict()
    if resolver.task_type not in ("chief", "worker"):
        return rank, world_size
    chiefs = len(cluster.get("chief", ()))
    first = chiefs if resolver.task_type == "worker" else 0
    return first + resolver.task_id, chiefs + len(cluster.get("worker", ()))


class _Passes:
    """Chooses the epoch of the next pass, and its beginning."""

    def __init__(self, opened: sheaf.Dataset, epoch: int, resume: Any,
                 options: Dict[str, Any]) -> None:
        self.opened, self.epoch, self.options = opened, epoch, options
        self.resume: Optional[str] = None
        if resume is not None:
            last = resume if isinstance(resume, str) else numpy.ravel(resume)[-1]
            self.resume = last.decode() if isinstance(last, bytes) else str(last)

    def open(self) -> sheaf.Reader:
        reader = sheaf.Reader(self.opened, epoch=self.epoch, **self.options)
        if self.resume is not None:
            reader.resume(self.resume)
        return reader

    def begin(self) -> sheaf.Reader:
        reader = self.open()
        self.resume, self.epoch = None, reader.current_epoch + 1
        return reader


class _Columns:
    """The columns of the data set, and their values for a batch."""

    def __init__(self, opened: sheaf.Dataset, fields: Optional[Sequence[str]],
                 label_type: Optional[tf.DType], state: bool, on_corrupt: str,
                 pixels: Optional[sheaf.Pixels], shares: Optional[Shares]) -> None:
        if opened.is_stream and fields is None:
            raise sheaf.ArgumentError("a stream cannot be read twice: say which fields= there are")
        first: Optional[sheaf.Sample] = None
        if not opened.is_stream:
            with sheaf.Reader(opened, no_shuffle=True, rank=0, world_size=1, worker=0, workers=1,
                              on_corrupt=on_corrupt, report=lambda problem: None) as reader:
                first = next(reader, None)
        if first is None and fields is None:
            raise sheaf.ArgumentError("%s has no samples: say which fields= there are" % opened.url)
        self.pixels, self.shares = pixels, shares
        every = first or () if pixels is None else ()
        self.fields: List[str] = list(fields if fields is not None else every)
        self.labels = 0 if first is None else len(first.labels)
        whole = first is None or all(isinstance(label, int) for label in first.labels)
        self.label_type = label_type or (tf.int64 if whole else tf.float32)
        self.state = state

    def signature(self, size: Optional[int]) -> Dict[str, Any]:
        columns: Dict[str, Any] = {name: tf.TensorSpec([size], tf.string) for name in ["__key__", *self.fields]}
        columns["__seed__"] = tf.TensorSpec([size, 2], tf.int32)
        if self.labels != 0:
            shape = [size] if self.labels == 1 else [size, self.labels]
            columns["__label__"] = tf.TensorSpec(shape, self.label_type)
        if self.state:
            columns["__state__"] = tf.TensorSpec([size], tf.string)
        if self.pixels is not None:
            shape = self.pixels.shape(self.pixels.views[0])
            columns["pixels"] = tf.TensorSpec([size, *shape], tf.uint8)
            columns["crops"] = tf.TensorSpec([size, BOX], tf.int32)
            if self.pixels.masks:
                mask = tf.TensorSpec([size, *self.pixels.mask_shape(self.pixels.views[0])], tf.uint8)
                columns["masks"] = dict.fromkeys(self.pixels.masks, mask)
        return columns

    def of(self, batch: sheaf.Batch, reader: sheaf.Reader) -> Dict[str, Any]:
        columns: Dict[str, Any] = {"__key__": batch.keys}
        for name in self.fields:
            columns[name] = [bytes(view) for view in batch.fields(name)]
        seeds = numpy.asarray(batch.seeds).astype("<u8")
        columns["__seed__"] = seeds.view("<i4").reshape(-1, 2)
        if self.labels != 0:
            columns["__label__"] = self._labels_of(batch)
        if self.state:
            columns["__state__"] = [reader.position()] * len(batch)
        return columns

    def with_pixels(self, batches: Iterator[sheaf.Batch],
                    reader: sheaf.Reader) -> Iterator[Dict[str, Any]]:
        assert self.pixels is not None and self.shares is not None
        stage = Stage(self.pixels, self.shares, Policy(reader.dataset, *reader._bad))
        for made, columns in stage.run((batch, self.of(batch, reader)) for batch in batches):
            if made.rest is not None:           # samples with bad images are left out
                columns = {name: [column[i] for i in made.rest] for name, column in columns.items()}
            if len(made) != 0:
                columns.update(pixels=made.pixels, crops=made.crops)
                if made.masks:
                    columns["masks"] = made.masks
                yield columns

    def _labels_of(self, batch: sheaf.Batch) -> Any:
        labels = numpy.asarray(batch.labels)
        if labels.dtype.kind == "f" and self.label_type.is_integer:
            raise sheaf.ArgumentError("labels of samples %s to %s are not whole numbers, as those of the "
                                      "first sample are: give label_type=tf.float32"
                                      % (batch.keys[0], batch.keys[-1]))
        return labels[:, 0] if self.labels == 1 else labels
