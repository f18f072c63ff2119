# SPDX-License-Identifier: MIT
"""Batches of pixels: threads of the library make crops of a reader's samples.

    samples of batch k + 2 --begin--> threads --> memory    ...    batch k --> the program

Samples are read ahead in their order. Their crops may be finished in any order, and batches are returned in order.
The memory of a batch is reused when the program holds no reference to it any more."""

from __future__ import annotations

import collections
import functools
import time
from typing import Any, Callable, Deque, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

try:
    import numpy
except ImportError:
    raise ImportError("batches of pixels need NumPy: pip install numpy") from None

from . import _sheaf
from ._pixels import Pixels
from ._sheaf import ArgumentError, Batch, LimitError
from ._types import Problem, _warn

BOX = 5                             # numbers of a crop: top, left, height, width, flipped
SHARE = 4                           # 1 / SHARE of a reader's memory is for decoding
UNDER_WAY = 2                       # least number of batches that are being made,
BATCHES_MOST = 64                   # and their largest number
AHEAD_SAMPLES = 16                  # samples that are being made for each thread
PARTS_MOST = 16                     # largest number of batches whose parts are made at once,
PARTS_BYTES = 1 << 17               # and the most bytes of their labels and boxes
_OF_IMAGE = ("CORRUPT", "TRUNCATED", "UNSUPPORTED")


class PixelBatch(_sheaf.Crops):
    """A batch with the crops of its images. It also has everything that a sheaf.Batch has: keys, fields(name), seeds,
    repeated, and the samples themselves.

    `pixels` is a uint8 array [samples, 3, height, width] (or nhwc); with several views it is a list of arrays
    [samples, crops, ...]. `crops` is an int32 array [samples, 5]: top, left, height, width, flipped (with views
    [samples, crops, 5]). `masks` is a dict with a uint8 array [samples, height, width] for each name (with views a
    list of arrays [samples, crops, height, width]). `labels` is an array [samples] or [samples, labels], or None if
    there are no labels."""

    rest: Optional[List[int]] = None    # numbers of the samples with crops, if some have none

    def shorten(self, rest: Optional[List[int]]) -> None:
        """Leaves only the samples `rest` in the arrays, or all that were given if `rest` is None."""
        def shorter(arrays: Any) -> Any:
            return [each[chosen] for each in arrays] if isinstance(arrays, list) else arrays[chosen]

        self.rest = rest
        if rest is None and self.given == len(self.crops):
            return
        chosen: Any = slice(self.given) if rest is None else rest
        self.pixels, self.crops = shorter(self.pixels), self.crops[chosen]
        self.masks = {name: shorter(mask) for name, mask in self.masks.items()}
        if self.labels is not None:
            self.labels = self.labels[chosen]

    def _other_labels(self) -> Any:
        """Returns the labels if not every sample has one that is a whole number."""
        labels, show = _labels(self._read), self._parts[-1]
        return None if labels is None else show(labels)

    def __repr__(self) -> str:
        sizes = [list(view.shape) for view in (self.pixels if isinstance(self.pixels, list) else [self.pixels])]
        return "<sheaf.PixelBatch of %d sample%s: pixels %s>" % (
            len(self), "" if len(self) == 1 else "s", ", ".join(map(str, sizes)))

    @functools.cached_property
    def samples(self) -> Any:
        return self._read if self.rest is None else [self._read[i] for i in self.rest]

    def __len__(self) -> int:
        return self.given if self.rest is None else len(self.rest)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.samples)

    def __getitem__(self, index: int) -> Any:
        return self.samples[index]

    @property
    def keys(self) -> List[str]:
        return self._kept(self._read.keys)

    @property
    def seeds(self) -> Any:
        return numpy.array(self._kept(self._read.seeds), numpy.uint64)

    @property
    def repeated(self) -> List[bool]:
        return self._kept(self._read.repeated)

    def fields(self, name: str) -> List[memoryview]:
        return [sample[name] for sample in self.samples] if self.rest is not None else self._read.fields(name)

    def _kept(self, values: Any) -> Any:
        """Returns the values of the samples that have crops."""
        return values if self.rest is None else [values[i] for i in self.rest]


def plain(shape: Tuple[int, ...]) -> Any:
    return numpy.empty(shape, numpy.uint8)


def as_array(array: Any) -> Any:
    return array


def parts_of_batches(pixels: Pixels, size: int, show: Callable[[Any], Any], kept: List[Any], arrays: Sequence[Any],
                     most: int = PARTS_MOST) -> List[Any]:
    """Returns (memory of labels, memory of boxes, parts) for each of the next batches whose crops are in `arrays`. The
    parts of a batch are (pixels, masks, labels, boxes, show). They are made for several batches at once: the first
    object of a batch takes several times as long as the following ones, because the processor's caches have to be
    filled first. The list `kept` belongs to `arrays`. It holds the labels and boxes until the next call, so that they
    are freed together as well.

    show(array) returns an array of NumPy in the form in which the program gets it."""
    views, made = len(pixels.views), []
    kept.clear()
    box = (size, pixels.crops, BOX) if pixels.has_views else (size, BOX)
    for _ in range(max(1, min(most, PARTS_BYTES // (size * (8 + pixels.crops * 4 * BOX))))):
        labels, boxes = numpy.zeros(size, numpy.int64), numpy.zeros(box, numpy.int32)
        own_labels, own_boxes, *shown = map(show, (labels, boxes, *arrays))
        if pixels.has_views:
            shown = [shown[i:i + views] for i in range(0, len(shown), views)]
        kept.append((own_labels, own_boxes))
        made.append((labels, boxes, (shown[0], dict(zip(pixels.masks, shown[1:])), own_labels, own_boxes, show)))
    return made


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
    """Makes PixelBatches from batches of samples. The program gets show(array) of each array."""

    def __init__(self, pixels: Pixels, shares: Shares, policy: Policy,
                 allocate: Callable[[Tuple[int, ...]], Any] = plain, show: Callable[[Any], Any] = as_array) -> None:
        self.pixels, self.policy, self.shares, self.show = pixels, policy, shares, show
        self.pool = pixels.open(pixels.thread_count, shares.decoding)
        self.pool.batch_type = PixelBatch
        self.allocate, self.slots = allocate, 0         # number of batches for which there is memory
        self.shapes = [pixels.shape(view) for view in pixels.views] + \
            [pixels.mask_shape(view) for _ in pixels.masks for view in pixels.views]
        # the largest number of full batches that are being made
        self.ahead = min(max(UNDER_WAY, shares.ahead // shares.batch_size), BATCHES_MOST)
        self.handing_ns = 0             # time that the program's thread has spent on making batches

    def add_slot(self) -> None:
        """Makes memory for one more batch. The memory of a batch is used again when nothing refers to its arrays any
        more."""
        count = self.shares.batch_size
        parts = functools.partial(parts_of_batches, self.pixels, count, self.show, [])
        self.pool.add(_sheaf.PixelSlot(self.pool, [self.allocate((count, *shape)) for shape in self.shapes], count,
                                       parts, False))
        self.slots += 1

    def begin(self, samples: Batch) -> Any:
        """Begins to make the crops of samples, and returns their PixelBatch. end() waits for them."""
        began, made = time.monotonic_ns(), self.pool.begin(samples, self.pixels.field)
        while made is None:
            self.add_slot()
            made = self.pool.begin(samples, self.pixels.field)
        self.handing_ns += time.monotonic_ns() - began
        return made

    def end(self, batch: PixelBatch) -> Optional[PixelBatch]:
        """Returns a batch when its crops are made, or None if it has no samples."""
        bad = batch._wait()
        began = time.monotonic_ns()
        if bad is not None and not self.part(batch, bad):
            return None
        self.handing_ns += time.monotonic_ns() - began
        return batch

    def part(self, batch: PixelBatch, bad: List[Tuple[int, int, str, str]]) -> bool:
        """Shortens a batch that does not fill its memory, or that has bad images. Returns False if it has no samples.
        """
        samples, rest = batch._read, None
        if samples is None:
            return False
        if bad:
            for i, code, name, message in bad:
                self.policy(samples[i], code, name, message)
            lost = {i for i, *_ in bad}
            rest = [i for i in range(len(samples)) if i not in lost]
        batch.shorten(rest)
        return True

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
            yield (self.end(begun), given[1]) if begun is not None else given

    def _has_room(self, waiting: Deque[Any]) -> bool:
        samples = sum(len(given[0]) for _, begun, given in waiting if begun is not None)
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
    if not isinstance(pixels, Pixels):
        raise ArgumentError("pixels is %r: expected a sheaf.Pixels, such as sheaf.Pixels(224)" % (pixels,))
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
