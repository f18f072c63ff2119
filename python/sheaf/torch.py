# SPDX-License-Identifier: MIT
"""PyTorch: a data set for DataLoader.

    from torch.utils.data import DataLoader
    from sheaf.torch import ShardDataset

    dataset = ShardDataset("shards/", seed=7, decode=lambda s: (decode_jpeg(s["jpg"]), s.label))
    loader = DataLoader(dataset, batch_size=64, num_workers=4)
    for epoch in range(3):
        for images, labels in loader:       # each pass is the next epoch
            ...

Workers and ranks share an epoch out among themselves: over all of them each sample comes once
(with more than one rank: so often that all ranks have the same number, see `remainder`).

Exact resume: torchdata's StatefulDataLoader in place of DataLoader, with its own state_dict() and
load_state_dict().  Without workers the data set's own will do.  With its workers, a plain
DataLoader cannot know where they are."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterator, Optional, Tuple, Union

import torch.utils.data

import sheaf
import sheaf._shared
from sheaf._member import Epochs, rank_of, worker_of

sheaf._shared.use()

LANES = 24          # of each rank; 1, 2, 3, 4, 6, 8, 12 and 24 workers divide it


class Fields(Dict[str, Any]):
    """A dict whose KeyError names the sample and what it has: in a batch of many, that of one
    without a label cannot be found otherwise."""

    def __missing__(self, name: str) -> Any:
        raise KeyError("the sample %r has no %r, but %s" % (
            self.get("__key__"), name, sorted(key for key in self if key != "__key__")))


def to_dict(sample: sheaf.Sample) -> Dict[str, Any]:
    """What a sample is without a `decode`: its fields as bytes, with __key__ and, if it has
    labels, __label__ (a number, or a list of several)."""
    result = Fields(sample.to_bytes())
    labels = sample.labels
    result["__key__"] = sample.key
    if labels:
        result["__label__"] = labels[0] if len(labels) == 1 else list(labels)
    return result


def _as_it_is(batch: sheaf.Batch) -> sheaf.Batch:
    return batch


class ShardDataset(torch.utils.data.IterableDataset[Any]):
    """The samples of a data set, each as decode(sample) makes it, in the worker.

    decode takes a sheaf.Sample, whose views are not to be sent to other processes: it makes
    tensors, numbers or bytes of them.  The default is to_dict.

    With batch_size the data set yields decode(batch), of a sheaf.Batch, or without decode the Batch
    itself, for a DataLoader with batch_size=None.  From a worker a Batch comes in shared memory,
    which is by far the fastest way for bytes.

    Each pass is the next epoch, beginning with `epoch`; set_epoch says which the next one is, also
    to persistent workers.  rank and world_size are those of torch.distributed or of the
    environment when the data set is made.

    The order does not depend on the number of workers where that divides lanes / world_size, by
    default 24; but a DataLoader takes whole batches from worker after worker.  shuffle_buffer
    counts samples over all ranks."""

    def __init__(self, source: Union[sheaf.Source, sheaf.Dataset], *,
                 decode: Optional[Callable[[Any], Any]] = None, batch_size: Optional[int] = None,
                 drop_last: bool = False, epoch: int = 0, rank: Optional[int] = None,
                 world_size: Optional[int] = None, lanes: Optional[int] = None,
                 remainder: str = "auto", threads: int = 1, **options: Any) -> None:
        """threads is a worker's; options are those of sheaf.Reader."""
        super().__init__()
        for name in ("worker", "workers"):
            if name in options:
                raise TypeError("%s is the DataLoader's to say" % name)
        self.dataset = source if isinstance(source, sheaf.Dataset) else sheaf.Dataset(source)
        if decode is None:
            decode = to_dict if batch_size is None else _as_it_is
        self.decode: Callable[[Any], Any] = decode
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.rank, self.world_size = rank_of(rank, world_size, self.dataset)
        self.remainder = remainder
        self._lanes = lanes
        self._options = dict(options, threads=threads)
        self._epochs = Epochs(epoch)
        self._resume: Optional[Dict[str, Any]] = None
        self._pass: Optional[_Pass] = None
        self._samples: Optional[int] = None
        if not self.dataset.is_stream:
            with self._reader(0, 1, 0) as reader:   # what is wrong with the options is said here
                self._samples = len(reader)

    # ---- Sharing out --------------------------------------------------------------------------

    def _lane_count(self, workers: int) -> int:
        if self._lanes is not None:
            return self._lanes
        if self.dataset.is_stream:
            return 1
        if LANES % workers == 0:
            return self.world_size * LANES
        if self.world_size > 1 or self.remainder not in ("auto", "keep"):
            raise ValueError("%d workers do not divide the %d lanes of a rank: give ShardDataset "
                             "lanes=, a multiple of world_size x num_workers" % (workers, LANES))
        return workers * -(-LANES // workers)

    def _reader(self, worker: int, workers: int, epoch: int) -> sheaf.Reader:
        arena = None
        if self.decode is _as_it_is:        # its batches are sent
            arena = sheaf._shared.arena(self._options.get("memory_bytes", 1 << 30))
        return sheaf.Reader(self.dataset, epoch=epoch, rank=self.rank,
                            world_size=self.world_size, worker=worker, workers=workers,
                            lanes=self._lane_count(workers), remainder=self.remainder,
                            _arena=arena, **self._options)

    def __len__(self) -> int:
        """The exact number of samples that this rank has in an epoch, over all its workers.
        (With batch_size: of batches, if they are made without workers.)"""
        if self._samples is None:
            raise TypeError("a stream's samples are not known before its end")
        if self.batch_size is None:
            return self._samples
        batches, rest = divmod(self._samples, self.batch_size)
        return batches + (rest != 0 and not self.drop_last)

    # ---- Passes -------------------------------------------------------------------------------

    def set_epoch(self, epoch: int) -> None:
        """The next pass will be this epoch."""
        self._epochs.set(epoch)
        self._resume = None

    def __iter__(self) -> Iterator[Any]:
        place = (os.getpid(), *worker_of())
        state, self._resume = self._resume, None
        last, self._pass = self._pass, None
        epoch = self._epochs.begin(None if state is None else state["epoch"])
        if last is not None and last.is_over and last.place == place:
            reader = last.reader.epoch(epoch)       # its threads and memory are warm
        else:
            reader = self._reader(*place[1:], epoch)
        position = None if state is None else state["position"]
        if position is not None:
            reader.resume(position)
        self._pass = _Pass(self, reader, place if position is None else None)
        return self._pass

    def state_dict(self) -> Dict[str, Any]:
        """Where this process is in its pass."""
        if self._pass is not None:
            return {"epoch": self._pass.reader.current_epoch,
                    "position": self._pass.reader.position()}
        if self._resume is not None:
            return dict(self._resume)
        return {"epoch": self._epochs.next(), "position": None}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """The next pass goes on from there."""
        self._resume = dict(state)
        self._pass = None

    def __getstate__(self) -> Dict[str, Any]:
        return dict(self.__dict__, _pass=None)      # a reader does not go to other processes


class _Pass:
    """One pass of one process.  When it is over, another one at the same place may have its
    reader; place None: it was resumed, and with that has taken over another order."""

    def __init__(self, dataset: ShardDataset, reader: sheaf.Reader,
                 place: Optional[Tuple[int, int, int]]) -> None:
        self.dataset, self.reader, self.place = dataset, reader, place
        self.is_over = False

    def __iter__(self) -> "_Pass":
        return self

    def __next__(self) -> Any:
        if self.is_over:
            raise StopIteration
        size = self.dataset.batch_size
        if size is None:
            sample = next(self.reader, None)
            if sample is not None:
                return self.dataset.decode(sample)
        else:
            batch = self.reader.next_batch(size)
            if batch is not None and (len(batch) == size or not self.dataset.drop_last):
                return self.dataset.decode(batch)
        self.is_over = True
        raise StopIteration
