# SPDX-License-Identifier: MIT
"""Batches of pixels: crops that threads of the library make of a reader's samples.

    samples of batch k + 2 --begin--> threads --> memory    ...    batch k --> the program

Samples are read ahead in their order, their crops are finished in any, and batches are given in
order.  The memory of a batch is used again when the program has let go of all that shows it."""

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

BOX = 5                             # numbers of a place: top, left, height, width, flipped
SHARE = 4                           # of a reader's memory, one part of so many is for decoding
UNDER_WAY = 2                       # batches, at least,
BATCHES_MOST = 64                   #   and at most;
AHEAD_SAMPLES = 16                  # and for each thread so many samples
_OF_IMAGE = ("CORRUPT", "TRUNCATED", "UNSUPPORTED")


class PixelBatch:
    """A batch with the crops of its images. `pixels` is a uint8 array [samples, 3, height, width] (or nhwc); with
    several views it is a list of arrays [samples, crops, ...]. `crops` is an int32 array [samples, 5]: top, left,
    height, width, flipped (with views [samples, crops, 5]). `masks` is a dict with a uint8 array [samples, height,
    width] for each name (with views a list of arrays [samples, crops, height, width]). `labels` is an array
    [samples] or [samples, labels], or None if there are no labels. It also has everything that a sheaf.Batch has:
    keys, fields(name), seeds, repeated, and the samples themselves."""

    def __init__(self, samples: Any, pixels: Any, crops: Any, labels: Any,
                 masks: Dict[str, Any]) -> None:
        self.samples, self.pixels, self.crops, self.labels = samples, pixels, crops, labels
        self.masks = masks
        self.given = len(samples)       # with those that have no crops;
        self.rest: Optional[List[int]] = None   # then, which these are

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
    """How many references Memory.take counts of a block that nothing shows: those of the list, of the
    variable, and in some versions of Python of the call."""
    for block in [object()]:
        return sys.getrefcount(block)
    return 0


class Memory:
    """Blocks that batches are made in.  A block is used again when no array shows it any more: all
    that show it refer to it."""

    def __init__(self, allocate: Callable[[int], Any]) -> None:
        self.allocate = allocate
        self.blocks: Dict[int, List[Any]] = {}
        self.unused = _references_if_unused()

    def take(self, size: int) -> Any:
        """An array of so many bytes.  A batch that is not full has a whole one, too."""
        blocks = self.blocks.setdefault(size, [])
        for block in blocks:
            if sys.getrefcount(block) <= self.unused:
                return block
        blocks.append(self.allocate(size))
        return blocks[-1]


def plain(size: int) -> Any:
    return numpy.empty(size, numpy.uint8)


class Policy:
    """What becomes of a sample whose image has no crops."""

    def __init__(self, dataset: Any, on_corrupt: Optional[str], max_corrupt: Optional[int],
                 report: Optional[Callable[[Problem], Any]]) -> None:
        self.dataset, self.skips = dataset, on_corrupt == "skip"
        self.most = max_corrupt
        self.report = _warn if report is None else report
        self.count = 0

    def __call__(self, sample: Any, code: int, name: str, message: str) -> None:
        """Returns if it is to be left out, and raises otherwise."""
        where = self.dataset.shards[sample.shard].name
        message = "%s: %s" % (where, message)
        if not self.skips or name not in _OF_IMAGE:
            _sheaf.raise_error(code, message)
        if self.most is not None and self.count >= self.most:
            _sheaf.raise_error(code, "more than %d bad images: %s" % (self.most, message))
        self.count += 1
        self.report(Problem(where, name, message))


class Shares(NamedTuple):
    """What is for what: bytes for reading and for decoding, and samples whose crops are under way,
    besides one batch of batch_size that is with the program."""
    reading: int
    decoding: int
    ahead: int
    batch_size: int


class Stage:
    """Makes PixelBatches of batches."""

    def __init__(self, pixels: Pixels, shares: Shares, policy: Policy,
                 allocate: Callable[[int], Any] = plain) -> None:
        self.pixels, self.policy, self.shares = pixels, policy, shares
        self.pool = pixels.open(pixels.thread_count, shares.decoding)
        self.memory = Memory(allocate)
        shapes = [pixels.shape(view) for view in pixels.views] + \
            [pixels.mask_shape(view) for _ in pixels.masks for view in pixels.views]
        self.parts = [(math.prod(shape), shape) for shape in shapes]    # of a sample
        self.handing_ns = 0             # time of the program's thread for making batches

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
        """(batch, other) as (PixelBatch, other), in order.  What is no Batch passes, and an error is
        raised when its turn comes."""
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
    """None if they have none, or not equally many."""
    try:
        labels: Any = samples.labels
    except ValueError:
        return None
    if labels is None:
        return None
    labels = numpy.array(labels)        # of sheaf.torch's batches they are a tensor
    if labels.ndim == 2 and labels.shape[1] <= 1:
        labels = labels[:, 0] if labels.shape[1] == 1 else None
    return labels


def memory_of(pixels: Pixels, memory_bytes: int, batch_size: int, reads: bool = True) -> Shares:
    """Shares memory out between reading (unless the reader has its own), decoding, and batches."""
    decoding = memory_bytes // SHARE
    rest = memory_bytes - decoding * (2 if reads else 1)
    least = UNDER_WAY * batch_size
    most = rest // pixels.bytes - batch_size        # one is with the program
    if most < least:
        needed = (least + batch_size) * pixels.bytes * SHARE // (SHARE - 2 if reads else SHARE - 1)
        raise LimitError("batches of pixels: %d of %d samples have %d bytes, which is too much of the "
                         "memory of %d bytes: give memory_bytes=%d, or a smaller batch_size"
                         % (UNDER_WAY + 1, batch_size, (least + batch_size) * pixels.bytes,
                            memory_bytes, needed + SHARE))
    ahead = min(most, max(least, AHEAD_SAMPLES * pixels.thread_count + batch_size))
    return Shares(memory_bytes - decoding - (ahead + batch_size) * pixels.bytes, decoding, ahead,
                  batch_size)
