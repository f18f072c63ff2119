# SPDX-License-Identifier: MIT
"""The batches of pixels of a sheaf.torch.DataLoader, as tensors.

A thread of the pool reads the samples of the next batches and begins their crops. If another process may read them,
the program's thread reads them instead."""

from __future__ import annotations

import collections
import functools
import time
from typing import Any, Deque, Iterator, Tuple

import torch

import sheaf
from sheaf._loader import BITS
from sheaf._map_style import Dataset, Nothing
from sheaf._pixel_stage import PixelBatch, Policy, Stage, memory_of, plain


class PixelStage(Stage):
    """Makes batches of pixels from a loader's batches, as tensors."""

    def __init__(self, dataset: Dataset, pixels: sheaf.Pixels, batch_size: int, pins: bool) -> None:
        options = dataset._options
        policy = Policy(dataset.dataset, options.get("on_corrupt"), options.get("max_corrupt"),
                        dataset.reader.report)
        shares = memory_of(pixels, options["memory_bytes"] or 1 << 30, batch_size)
        options["memory_bytes"] = shares.reading
        self.dataset = dataset
        super().__init__(pixels, shares, policy, _pinned if pins and torch.cuda.is_available() else plain,
                         torch.from_numpy, _numbers)

    def batches(self, loader: Any) -> Iterator[Any]:
        """Yields the batches of a pass, which begins when the first batch is requested. Everything that each batch
        needs is in this function, because the caches of the processor forget much between two batches."""
        own, server, is_stream = loader.sampler.begin(), self.dataset.reader.own_server(), self.dataset.dataset.is_stream
        if server is None:
            yield from self._of_others(loader, own)
            return
        waiting: Deque[Any] = collections.deque()
        read, field, most, clock = self.pool.read, self.pixels.field, self.shares.batch_size, time.monotonic_ns
        while True:
            while len(waiting) < self.ahead and not own.is_over:
                count = min(most, own.count - own.yielded)
                if count <= 0 or (count < most and loader.drop_last):
                    own.is_over = True
                    break
                made = read(server, own.number, own.first + own.yielded, count, field)
                if made is None:
                    self.add_slot()
                else:
                    own.yielded += count
                    waiting.append(made)
            if not waiting:
                return
            made = waiting.popleft()
            bad = made.wait()
            began = clock()
            if bad is None and not is_stream:
                batch: Any = PixelBatch(self, made, made.arrays, None)
            else:
                batch = self._unlike_others(made, bad)
            self.handing_ns += clock() - began
            yield batch
            del batch, made                 # the program may have let the batch go

    def _unlike_others(self, made: sheaf._sheaf.Crops, bad: Any) -> Any:
        """Returns a batch of a stream, or one that does not fill its memory, or what stands for it."""
        batch, (first, count) = self.part(made, bad or []), made.asked
        nothing = self.dataset._nothing(batch is not None, made.real, count, first + count - 1)
        return self._unless_empty(batch) if nothing is None and batch is not None else nothing

    def _of_others(self, loader: Any, own: Any) -> Iterator[Any]:
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


_numbers = functools.partial(torch.frombuffer, dtype=torch.int64)


def _pinned(shape: Tuple[int, ...]) -> Any:
    return torch.empty(shape, dtype=torch.uint8, pin_memory=True).numpy()
