# SPDX-License-Identifier: MIT
"""Batches of pixels: threads of the library make crops of a reader's samples.

    samples of batch k + 2 --begin--> threads --> memory    ...    batch k --> the program

Samples are read ahead in their order. Their crops may be finished in any order, and batches are returned in order.
The memory of a batch is reused when the program holds no reference to it any more."""

from __future__ import annotations

import collections
import math
import sys
import time
from typing import Any, Callable, Deque, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

import numpy

from . import _sheaf
from ._pixels import Pixels
from ._sheaf import Batch, LimitError
from ._types import Problem, _warn

BOX = 5                             # numbers of a crop: top, left, height, width, flipped
SHARE = 4                           # 1 / SHARE of a reader's memory is for decoding
UNDER_WAY = 2                       # least number of batches that are being made,
BATCHES_MOST = 64                   # and their largest number
AHEAD_SAMPLES = 16                  # samples that are being made for each thread
_OF_IMAGE = ("CORRUPT", "TRUNCATED", "UNSUPPORTED")


class PixelBatch:
    """A batch with the crops of its images. It also has everything that a sheaf.Batch has: keys, fields(name), seeds,
    repeated, and the samples themselves.

    `pixels` is a uint8 array [samples, 3, height, width] (or nhwc); with several views it is a list of arrays
    [samples, crops, ...]. `crops` is an int32 array [samples, 5]: top, left, height, width, flipped (with views
    [samples, crops, 5]). `masks` is a dict with a uint8 array [samples, height, width] for each name (with views a
    list of arrays [samples, crops, height, width]). `labels` is an array [samples] or [samples, labels], or None if
    there are no labels."""

    def __init__(self, samples: Any, pixels: Any, crops: Any, labels: Any,
                 masks: Dict[str, Any]) -> None:
        self.samples, self.pixels, self.crops, self.labels = samples, pixels, crops, labels
        self.masks = masks
        self.given = len(samples)       # number of samples, including those without crops
        self.rest: Optional[List[int]] = None   # numbers of the samples with crops, if some have none

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.samples)

    def __getitem__(self, index: int) -> Any:
        return self.samples[index]

    @property
    def keys(self) -> List[str]:
        return [sample.key for sample in self.samples]

    @property
    def seeds(self) -> Any:
        return numpy.array([sample.seed for sample in self.samples], numpy.uint64)

    @property
    def repeated(self) -> List[bool]:
        return [sample.repeated for sample in self.samples]

    def fields(self, name: str) -> List[memoryview]:
        return [sample[name] for sample in self.samples]


def _references_if_unused() -> int:
    """Returns the number of references that Memory.take counts for a block that no array shows: the reference of the
    list, that of the variable, and in some versions of Python that of the call."""
    for block in [object()]:
        return sys.getrefcount(block)
    return 0


class Memory:
    """Blocks of memory for batches. Every array that shows a block holds a reference to it, so a block without such
    references is reused."""

    def __init__(self, allocate: Callable[[int], Any]) -> None:
        self.allocate = allocate
        self.blocks: Dict[int, List[Any]] = {}
        self.unused = _references_if_unused()

    def take(self, size: int) -> Any:
        """Returns an array of `size` bytes. A batch that is not full also gets a whole block."""
        blocks = self.blocks.setdefault(size, [])
        for block in blocks:
            if sys.getrefcount(block) <= self.unused:
                return block
        blocks.append(self.allocate(size))
        return blocks[-1]


def plain(size: int) -> Any:
    return numpy.empty(size, numpy.uint8)


class Policy:
    """The treatment of a sample whose image has no crops."""

    def __init__(self, dataset: Any, on_corrupt: Optional[str], max_corrupt: Optional[int],
                 report: Optional[Callable[[Problem], Any]]) -> None:
        self.dataset, self.skips = dataset, on_corrupt == "skip"
        self.most = max_corrupt
        self.report = _warn if report is None else report
        self.count = 0

    def __call__(self, sample: Any, code: int, name: str, message: str) -> None:
        """Returns if the sample is to be left out, and raises an error otherwise."""
        where = self.dataset.shards[sample.shard].name
        message = "%s: %s" % (where, message)
        if not self.skips or name not in _OF_IMAGE:
            _sheaf.raise_error(code, message)
        if self.most is not None and self.count >= self.most:
            _sheaf.raise_error(code, "more than %d bad images: %s" % (self.most, message))
        self.count += 1
        self.report(Problem(where, name, message))


class Shares(NamedTuple):
    """The division of the memory: bytes for reading, bytes for decoding, and the number of samples whose crops are
    being made. In addition, the program has one batch of batch_size samples."""
    reading: int
    decoding: int
    ahead: int
    batch_size: int


class Stage:
    """Makes PixelBatches from batches of samples."""

    def __init__(self, pixels: Pixels, shares: Shares, policy: Policy,
                 allocate: Callable[[int], Any] = plain) -> None:
        self.pixels, self.policy, self.shares = pixels, policy, shares
        self.pool = pixels.open(pixels.thread_count, shares.decoding)
        self.memory = Memory(allocate)
        shapes = [pixels.shape(view) for view in pixels.views] + \
            [pixels.mask_shape(view) for _ in pixels.masks for view in pixels.views]
        # bytes and shape of each sample's part of an array
        self.parts = [(math.prod(shape), shape) for shape in shapes]
        self.handing_ns = 0             # time that the program's thread has spent on making batches

    def begin(self, samples: Batch) -> Tuple[Any, ...]:
        began, count = time.monotonic_ns(), len(samples)
        arrays = [self.memory.take(size * self.shares.batch_size)[:size * count]
                  .reshape(count, *shape) for size, shape in self.parts]
        crops = numpy.empty((count, self.pixels.crops, BOX), numpy.int32)
        made = self.pool.begin(samples, self.pixels.field, [*arrays, crops])
        self.handing_ns += time.monotonic_ns() - began
        return samples, arrays, crops, made

    def end(self, samples: Batch, arrays: List[Any], crops: Any, made: Any) -> PixelBatch:
        bad = made.wait()
        began = time.monotonic_ns()
        labels = _labels(samples)
        kept: Any = samples
        rest = None
        if bad:
            for i, code, name, message in bad:
                self.policy(samples[i], code, name, message)
            lost = {i for i, *_ in bad}
            rest = [i for i in range(len(samples)) if i not in lost]
            kept = [samples[i] for i in rest]
            arrays, crops = [array[rest] for array in arrays], crops[rest]
            labels = None if labels is None else labels[rest]
        views, has_views = len(self.pixels.views), self.pixels.has_views
        parts = [arrays[i:i + views] if has_views else arrays[i]
                 for i in range(0, len(arrays), views)]
        batch = PixelBatch(kept, parts[0], crops if has_views else crops[:, 0], labels,
                           dict(zip(self.pixels.masks, parts[1:])))
        batch.given, batch.rest = len(samples), rest
        self.handing_ns += time.monotonic_ns() - began
        return batch

    def run(self, batches: Iterable[Tuple[Any, Any]]) -> Iterator[Tuple[Any, Any]]:
        """Yields (PixelBatch, other) for each (batch, other), in order. An object that is not a Batch is passed on
        unchanged. An error is raised when its batch would be next."""
        source, waiting = iter(batches), collections.deque()    # type: Any, Deque[Any]
        is_over = False
        while waiting or not is_over:
            while not is_over and self._has_room(waiting):
                try:
                    batch, other = next(source)
                except StopIteration:
                    is_over = True
                except BaseException as error:  # pylint: disable=broad-except
                    waiting.append((error, None, None))
                    is_over = True
                else:
                    waiting.append((None, self.begin(batch) if isinstance(batch, Batch) else None,
                                    (batch, other)))
            if not waiting:
                return
            failed, begun, given = waiting.popleft()
            if failed is not None:
                raise failed
            yield (self.end(*begun), given[1]) if begun is not None else given

    def _has_room(self, waiting: Deque[Any]) -> bool:
        samples = sum(len(begun[0]) for _, begun, _ in waiting if begun is not None)
        return len(waiting) < UNDER_WAY or (len(waiting) < BATCHES_MOST and
                                            samples + self.shares.batch_size <= self.shares.ahead)


def _labels(samples: Batch) -> Any:
    """Returns the labels as an array, or None if the samples have no labels or differ in their number of labels."""
    try:
        labels: Any = samples.labels
    except ValueError:
        return None
    if labels is None:
        return None
    labels = numpy.array(labels)        # labels of sheaf.torch's batches are a tensor
    if labels.ndim == 2 and labels.shape[1] <= 1:
        labels = labels[:, 0] if labels.shape[1] == 1 else None
    return labels


def memory_of(pixels: Pixels, memory_bytes: int, batch_size: int, reads: bool = True) -> Shares:
    """Divides memory between reading (unless the reader has memory of its own), decoding, and batches."""
    decoding = memory_bytes // SHARE
    rest = memory_bytes - decoding * (2 if reads else 1)
    least = UNDER_WAY * batch_size
    most = rest // pixels.bytes - batch_size        # the program has one batch
    if most < least:
        needed = (least + batch_size) * pixels.bytes * SHARE // (SHARE - 2 if reads else SHARE - 1)
        raise LimitError("batches of pixels: %d of %d samples have %d bytes, which is too much of the "
                         "memory of %d bytes: give memory_bytes=%d, or a smaller batch_size"
                         % (UNDER_WAY + 1, batch_size, (least + batch_size) * pixels.bytes,
                            memory_bytes, needed + SHARE))
    ahead = min(most, max(least, AHEAD_SAMPLES * pixels.thread_count + batch_size))
    return Shares(memory_bytes - decoding - (ahead + batch_size) * pixels.bytes, decoding, ahead,
                  batch_size)
