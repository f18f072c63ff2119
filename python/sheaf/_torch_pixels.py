# SPDX-License-Identifier: MIT
"""The batches of pixels of a sheaf.torch.DataLoader, as tensors.

A thread of the pool reads the samples of the next batches and begins their crops. If another process may read them,
the program's thread reads them instead."""

from __future__ import annotations

import collections
import time
from typing import Any, Deque, Iterator, Optional, Tuple

import torch

import sheaf
from sheaf._loader import BITS
from sheaf._map_style import Dataset, Nothing
from sheaf._pixel_stage import PixelBatch, Policy, Stage, memory_of, plain


class PixelStage(Stage):
    """Makes batches of pixels from a loader's batches, as tensors."""

    def __init__(self, dataset: Dataset, pixels: sheaf.Pixels, batch_size: int, pins: bool) -> None:
        options = dataset._options
        policy = Policy(dataset.dataset, options["on_corrupt"], options["max_corrupt"],
                        dataset.reader.report)
        shares = memory_of(pixels, options["memory_bytes"] or 1 << 30, batch_size)
        options["memory_bytes"] = shares.reading
        self.dataset = dataset
        super().__init__(pixels, shares, policy, _pinned if pins and torch.cuda.is_available() else plain,
                         _tensor, _numbers)

    def batches(self, loader: Any) -> Iterator[Any]:
        """Yields the batches of a pass, which begins when the first batch is requested."""
        own, server, is_stream = loader.sampler.begin(), self.dataset.reader.own_server(), self.dataset.dataset.is_stream
        if server is None:
            yield from self._of_others(loader, own)
            return
        waiting: Deque[Any] = collections.deque()
        while True:
            while len(waiting) < self.ahead and not own.is_over:
                run = self._next_run(loader, own)
                if run is not None:
                    waiting.append((self.read(server, own.number, *run), run))
            if not waiting:
                return
            (made, slot), (first, count) = waiting.popleft()
            batch = self.end(made, slot)
            if batch is None or is_stream:
                yield self.dataset._nothing(batch is not None, made.real, count, first + count - 1) \
                    or self._unless_empty(batch)
            else:
                yield self._unless_empty(batch)
            del batch, made, slot           # the program may have let the batch go

    def _next_run(self, loader: Any, own: Any) -> Optional[Tuple[int, int]]:
        """Returns the first ordinal and the number of samples of the next batch to read, or None at the end of the
        pass."""
        reader, most = self.dataset.reader, self.shares.batch_size
        count = min(most, own.count - own.yielded)
        if count <= 0 or (count < most and loader.drop_last):
            own.is_over = True
            return None
        first = own.yielded * reader.local_size + reader.local_rank * most + own.first
        own.yielded += count
        return first, count

    def _of_others(self, loader: Any, own: Any) -> Iterator[Any]:
        """Yields the batches of a pass whose samples another process may read."""
        for batch, _ in self.run((batch, None) for batch in self._read_batches(loader, own)):
            yield self._unless_empty(batch) if isinstance(batch, PixelBatch) else batch

    def _read_batches(self, loader: Any, own: Any) -> Iterator[Any]:
        while not own.is_over:
            begun, run = time.monotonic_ns(), self._next_run(loader, own)
            if run is not None:
                first, count = run
                batch = self.dataset._run_of([((own.number << BITS) + first, count)], count, first + count - 1)
                loader._times[3] += time.monotonic_ns() - begun
                yield batch

    def _unless_empty(self, batch: PixelBatch) -> Any:
        if batch.rest is None or batch.rest:
            return batch
        self.dataset._check_skipped(batch.given, [])
        return Nothing.SKIPPED


def _tensor(array: Any) -> Any:
    return None if array is None else torch.from_numpy(array)


def _numbers(data: bytearray) -> Any:
    return torch.frombuffer(data, dtype=torch.int64) if data else torch.empty(0, dtype=torch.int64)


def _pinned(shape: Tuple[int, ...]) -> Any:
    return torch.empty(shape, dtype=torch.uint8, pin_memory=True).numpy()
