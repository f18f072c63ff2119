# SPDX-License-Identifier: MIT
"""The batches of pixels of a sheaf.torch.DataLoader, as tensors.

A thread of the pool reads the samples of the next batches and begins their crops. If another process may read them,
the program's thread reads them instead."""

from __future__ import annotations

import time
from typing import Any, Iterator, Optional

import torch

import sheaf
from sheaf import _sheaf
from sheaf._loader import BITS
from sheaf._map_style import Dataset, Nothing
from sheaf._pixel_stage import PixelBatch, Policy, Stage, memory_of, parts_of_batches


class PixelStage(Stage):
    """Makes batches of pixels from a loader's batches, as tensors."""

    def __init__(self, dataset: Dataset, pixels: sheaf.Pixels, batch_size: int, pins: bool) -> None:
        options = dataset._options
        policy = Policy(dataset.dataset, options.get("on_corrupt"), options.get("max_corrupt"),
                        dataset.reader.report)
        shares = memory_of(pixels, options["memory_bytes"] or 1 << 30, batch_size)
        options["memory_bytes"] = shares.reading
        self.dataset, self.pins = dataset, pins and torch.cuda.is_available()
        super().__init__(pixels, shares, policy, show=torch.from_numpy)

    def add_slot(self) -> None:
        """Makes memory for one more batch. Pinned memory is for one batch only, because a copy to a GPU may still read
        it after the program has dropped its tensor. PyTorch's allocator gives such memory out again when the copy has
        ended."""
        if not self.pins:
            super().add_slot()
            return
        count = self.shares.batch_size
        tensors = [torch.empty((count, *shape), dtype=torch.uint8, pin_memory=True) for shape in self.shapes]
        # the program gets these tensors themselves, because PyTorch then also knows the memory of a part of a tensor
        self.pool.add(_sheaf.PixelSlot(self.pool, [tensor.numpy() for tensor in tensors], count, lambda _: (
            parts_of_batches(self.pixels, count, torch.as_tensor, [], tensors, 1)), True))

    def queue(self, own: Any, drops_last: bool) -> Optional[_sheaf.PixelQueue]:
        """Returns the batches of the pass `own`, or None if another process may read them."""
        server = self.dataset.reader.own_server()
        if server is None:
            return None
        return _sheaf.PixelQueue(self.pool, server, own, own.number, own.first, own.count, self.shares.batch_size,
                                 self.ahead, drops_last, self.pixels.field)

    def new_pass(self, loader: Any) -> PixelPass:
        return PixelPass(self, loader)

    def unlike_others(self, batch: PixelBatch, bad: Any) -> Any:
        """Returns a batch of a stream, or one that does not fill its memory, or what stands for it."""
        is_any, (first, count) = self.part(batch, bad or []), batch._asked
        nothing = self.dataset._nothing(is_any, batch._real, count, first + count - 1)
        return self._unless_empty(batch) if nothing is None else nothing

    def of_others(self, loader: Any, own: Any) -> Iterator[Any]:
        """Yields the batches of a pass whose samples another process may read."""
        for batch, _ in self.run((batch, None) for batch in self._read_batches(loader, own)):
            yield self._unless_empty(batch) if isinstance(batch, PixelBatch) else batch

    def _read_batches(self, loader: Any, own: Any) -> Iterator[Any]:
        reader, most = self.dataset.reader, self.shares.batch_size
        while own.yielded < own.count:
            count = min(most, own.count - own.yielded)
            if count < most and loader.drop_last:
                break
            first = own.yielded * reader.local_size + reader.local_rank * most + own.first
            own.yielded += count
            begun = time.monotonic_ns()
            batch = self.dataset._run_of([((own.number << BITS) + first, count)], count, first + count - 1)
            loader._times[3] += time.monotonic_ns() - begun
            yield batch
        own.is_over = True

    def _unless_empty(self, batch: PixelBatch) -> Any:
        if batch.rest is None or batch.rest:
            return batch
        self.dataset._check_skipped(batch.given, [])
        return Nothing.SKIPPED


class PixelPass:
    """The batches of a pass, which begins when the first batch is requested. An exception of a signal handler leaves
    the batch that is waited for in place, so that the program can ask for it again."""

    def __init__(self, stage: PixelStage, loader: Any) -> None:
        self.stage, self.loader = stage, loader
        self.is_stream = stage.dataset.dataset.is_stream
        self.own: Any = None
        self.queue: Optional[_sheaf.PixelQueue] = None
        self.others: Iterator[Any] = iter(())       # if another process may read the samples

    def __iter__(self) -> PixelPass:
        return self

    def __next__(self) -> Any:
        if self.own is None:
            self._begin()
        if self.queue is None:
            return next(self.others)
        if self.own.count == 0:             # the end of a stream was found
            self.close()
            raise StopIteration
        try:
            return self._next(self.queue)
        except Exception:
            self.close()
            raise

    def close(self) -> None:
        """Ends the pass."""
        self.queue = None

    @property
    def queue_of_complete(self) -> Optional[_sheaf.PixelQueue]:
        """The queue, if a complete batch of it needs no attention of this object, or None."""
        return None if self.is_stream else self.queue

    def _begin(self) -> None:
        self.own = self.loader.sampler.begin()
        self.queue = self.stage.queue(self.own, self.loader.drop_last)
        if self.queue is None:
            self.others = self.stage.of_others(self.loader, self.own)

    def _next(self, queue: _sheaf.PixelQueue) -> Any:
        stage, batch = self.stage, queue.first()
        while batch is False:
            stage.add_slot()
            batch = queue.first()
        if batch is None:
            raise StopIteration
        bad = batch._wait()
        queue.remove()
        began = time.monotonic_ns()
        if bad is not None or self.is_stream:
            batch = stage.unlike_others(batch, bad)
        stage.handing_ns += time.monotonic_ns() - began
        return batch
