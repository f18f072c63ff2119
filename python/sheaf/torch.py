# SPDX-License-Identifier: MIT
"""PyTorch: batches that do not depend on the number of workers, and exact resume.

    import sheaf.torch

    loader = sheaf.torch.DataLoader("shards/", batch_size=64, num_workers=4, seed=7,
                                    decode=lambda s: (decode_jpeg(s["jpg"]), s.label))
    for epoch in range(3):
        for images, labels in loader:       # each pass is the next epoch
            ...
        torch.save(loader.state_dict(), "state.pt")     # in mid-epoch as well

Ranks are found by themselves (torch.distributed, or the environment) and have equally many samples
each epoch: over all of them each sample comes once, and at most world_size - 1 once more, at the
end and marked (sample.repeated).  One reader per rank, in the program, serves its workers.

PyTorch's own DataLoader does as well, with the same batches:

    dataset = sheaf.torch.Dataset("shards/", seed=7, decode=...)
    loader = torch.utils.data.DataLoader(dataset, batch_size=64, num_workers=4,
                                         sampler=dataset.sampler())

Streams (compressed or remote foreign shards, pipes) have no ordinals: ShardDataset reads them."""

from __future__ import annotations

import atexit
import math
import os
import secrets
import sys
import warnings
import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import torch.utils.data
import torch.utils.data.distributed

import sheaf
import sheaf._shared
from sheaf import _sheaf
from sheaf._loader import BITS, MASK, Order, Place, place_of, share_of, state_of
from sheaf._member import Epochs, rank_of, worker_of
from sheaf._served import Client, Gone

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


def _as_it_is(batch: Any) -> Any:
    return batch


# ---- Map-style --------------------------------------------------------------------------------


_servers: "weakref.WeakSet[Dataset]" = weakref.WeakSet()


def _close_all() -> None:
    for dataset in list(_servers):
        dataset.close()


class Dataset(torch.utils.data.Dataset[Any]):
    """A map-style data set: dataset[i] is decode(sample number i), by random access, and what
    sampler() yields are places in a shuffled epoch, which are read in order, by one reader for all
    workers.  len(dataset) counts all samples.

    decode takes a sheaf.Sample and runs in the workers; its views are not to be kept beyond the
    batch by whoever sends them to another process: make tensors, numbers or bytes of them.  The
    default is to_dict.

    rank and world_size are those of torch.distributed or of the environment when the data set is
    made.  lanes (by default world_size) is what any later world size must divide to resume; elastic
    asks for the least number that it and world_size divide.  More lanes mix less: each has its part
    of the shuffle buffer.  remainder: "pad" lets ranks repeat a sample (at most world_size - 1 an
    epoch, marked), "drop" leaves so many out, "keep" lets ranks have one more than others; "auto"
    pads if there are several ranks.  The other options are those of sheaf.Reader; memory_bytes is
    the rank's, for all workers.

    sheaf.UnsupportedError: a stream has no numbers; ValueError: options that do not fit."""

    def __init__(self, source: Union[sheaf.Source, sheaf.Dataset], *, seed: int = 0,
                 no_shuffle: bool = False, shuffle_buffer: int = 10000,
                 lanes: Optional[int] = None, elastic: int = 1, rank: Optional[int] = None,
                 world_size: Optional[int] = None, remainder: str = "auto",
                 decode: Optional[Callable[[sheaf.Sample], Any]] = None,
                 memory_bytes: int = 1 << 30, threads: int = 0, on_corrupt: str = "fail",
                 max_corrupt: Optional[int] = None,
                 report: Optional[Callable[[sheaf.Problem], Any]] = None,
                 cache_directory: Optional[sheaf.Path] = None,
                 cache_bytes: int = 64000000000) -> None:
        self.dataset = source if isinstance(source, sheaf.Dataset) else sheaf.Dataset(source)
        if self.dataset.is_stream:
            raise sheaf.UnsupportedError("%s is a stream, which has no numbered samples: index it, "
                                         "or read it by ShardDataset" % self.dataset.url)
        self.decode: Callable[[sheaf.Sample], Any] = to_dict if decode is None else decode
        self.rank, self.world_size = rank_of(rank, world_size, self.dataset)
        if lanes is None:
            lanes = math.lcm(self.world_size, elastic)
        if remainder not in ("auto", "pad", "drop", "keep"):
            raise ValueError("remainder is %r: expected auto, pad, drop or keep" % (remainder,))
        self.remainder = remainder if remainder != "auto" else \
            "pad" if self.world_size > 1 else "keep"
        self.order = Order(self.dataset.fingerprint, seed, bool(no_shuffle), shuffle_buffer, lanes)
        self._check()
        self._report = sheaf._warn if report is None else report
        self._options = {"memory_bytes": memory_bytes, "threads": threads,
                         "on_corrupt": on_corrupt, "max_corrupt": max_corrupt,
                         "cache_directory": None if cache_directory is None
                         else os.fspath(cache_directory), "cache_bytes": cache_bytes}
        self._address: Optional[str] = None
        self._server: Optional[_sheaf.Server] = None
        self._client: Optional[Client] = None
        self._passes = 0

    def _check(self) -> None:
        order = self.order
        if order.lanes < 1 or order.lanes % self.world_size != 0:
            raise ValueError("%d lanes do not divide among %d ranks" % (order.lanes,
                                                                        self.world_size))
        if self.remainder == "pad" and len(self.dataset) < self.world_size:
            raise ValueError("%d samples cannot be shared out equally among %d ranks: "
                             "remainder=\"keep\" lets some have none"
                             % (len(self.dataset), self.world_size))
        if order.lanes > self.world_size and not order.no_shuffle \
                and order.shuffle_buffer < 100 * order.lanes < len(self.dataset):
            warnings.warn("each of %d lanes has %d samples of the shuffle buffer, which mixes "
                          "little: give shuffle_buffer=%d, or fewer lanes"
                          % (order.lanes, order.shuffle_buffer // order.lanes, 100 * order.lanes),
                          stacklevel=4)

    # ---- The program --------------------------------------------------------------------------

    def _open(self, epoch: int) -> None:
        """What is wrong with the options is said here."""
        order = self.order
        if self._address is None:       # it stays: workers that are there already know it
            self._address = "sheaf-" + secrets.token_hex(16)
        self._server = _sheaf.Server(
            self.dataset, self._address, epoch=epoch, seed=order.seed,
            no_shuffle=order.no_shuffle, shuffle_buffer=order.shuffle_buffer, lanes=order.lanes,
            rank=self.rank, world_size=self.world_size, **self._options)
        _servers.add(self)

    def _is_served(self) -> bool:
        return self._server is not None and not self._server.stats()[0]

    def _begin(self, epoch: int, first: int) -> int:
        """The number of a new pass."""
        if not self._is_served():
            self.close()
            self._open(epoch)
        assert self._server is not None
        self._passes += 1
        self._server.begin(self._passes, epoch, first)
        return self._passes

    def _set_lanes(self, lanes: int) -> None:
        if lanes != self.order.lanes:
            self.order = self.order._replace(lanes=lanes)
            self._check()
            self.close()

    def _tell(self) -> None:
        """What was skipped since the last time."""
        if self._server is not None:
            for values in self._server.reports():
                self._report(sheaf.Problem(*values))

    def close(self) -> None:
        """Ends the reader; a new pass opens it again."""
        server, self._server, self._client = self._server, None, None
        if server is not None:
            server.close()

    def stats(self) -> sheaf.Stats:
        """The counts of the rank's reader, of all passes since it was opened."""
        if self._server is None:
            raise sheaf.StateError("nothing has been read yet, or the loader is closed")
        return sheaf.Stats(**self._server.stats()[1])

    def sampler(self, epoch: int = 0) -> "Sampler":
        """Yields what this rank reads: for `sampler=` of a DataLoader."""
        return Sampler(self, epoch)

    # ---- Samples, in any process --------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, number: int) -> Any:
        samples = self._samples([number])
        if not samples:
            raise sheaf.CorruptError("this sample was skipped as corrupt: read in batches, which "
                                     "leave it out")
        return self.decode(samples[0])

    def __getitems__(self, numbers: Sequence[int]) -> Sequence[Any]:
        samples = self._samples(numbers)
        if self.decode is _as_it_is:
            return samples
        return [self.decode(sample) for sample in samples]

    def _samples(self, numbers: Sequence[int]) -> Any:
        """A Batch, or a list of samples."""
        if len(numbers) == 0 or max(numbers) < 1 << BITS:
            if any(number < 0 for number in numbers):
                numbers = [range(len(self))[number] for number in numbers]
            return self.dataset.get(numbers, memory_bytes=self._options["memory_bytes"])
        batches = [batch for batch in (self._served(number, count)
                                       for number, count in _runs(numbers)) if batch is not None]
        if len(batches) == 1:
            return batches[0]
        return [sample for batch in batches for sample in batch]

    def _served(self, number: int, count: int) -> Optional[sheaf.Batch]:
        try:
            return self._client_here().get(number >> BITS, number & MASK, count)
        except Gone:                    # the program may have opened its reader again
            self._client = None
            return self._client_here().get(number >> BITS, number & MASK, count)

    def _client_here(self) -> Client:
        if self._client is None or self._client.process != os.getpid():
            if self._address is None:
                raise sheaf.StateError("numbers of a sampler are asked for before it has begun: "
                                       "take them from dataset.sampler()")
            worker, workers = worker_of()
            self._client = Client(self._address, worker, workers)
        return self._client

    def __getstate__(self) -> Dict[str, Any]:
        return dict(self.__dict__, _server=None, _client=None, _report=None)

    def __repr__(self) -> str:
        return "<sheaf.torch.Dataset %r rank %d of %d>" % (self.dataset.url, self.rank,
                                                           self.world_size)


def _runs(numbers: Sequence[int]) -> List[Tuple[int, int]]:
    """(first, count) of those that follow one another."""
    runs: List[Tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][0] + runs[-1][1]:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((number, 1))
    return runs


class _Progress:
    """How far a pass of a sampler is.  (Apart from the iterator, so that a loader goes, with its
    reader, when the last reference does.)"""

    def __init__(self, place: Place) -> None:
        self.place, self.yielded = place, 0


class Sampler(torch.utils.data.distributed.DistributedSampler[Any]):
    """The samples that this rank reads, in their order, as numbers for a sheaf.torch.Dataset.  It
    is a DistributedSampler, so that what would share the samples out leaves it alone.

    Each pass is the next epoch, whether the one before came to its end or was broken off;
    set_epoch(e) makes the next pass epoch e.  state_dict() is where the latest pass is, by what the
    sampler has yielded, and load_state_dict() makes the next pass go on from there; DataLoader's
    workers take numbers ahead, so with them use the state of the DataLoader of this module, or
    torchdata's StatefulDataLoader."""

    def __init__(self, dataset: Dataset, epoch: int = 0) -> None:
        super().__init__(dataset, num_replicas=dataset.world_size, rank=dataset.rank,
                         shuffle=not dataset.order.no_shuffle, seed=dataset.order.seed,
                         drop_last=dataset.remainder == "drop")
        self.source = dataset
        self.next_place = Place(epoch, 0, dataset.order.lanes)
        self.latest: Optional[_Progress] = None
        if not dataset._is_served():
            dataset._open(epoch)

    def __len__(self) -> int:
        """Of a whole epoch."""
        return share_of(len(self.source), self.source.rank, self.source.world_size,
                        self.source.remainder).count

    def __iter__(self) -> "_Ordinals":
        return _Ordinals(self)

    def set_epoch(self, epoch: int) -> None:
        """The next pass is this epoch; one that a loaded state has begun goes on from there."""
        if epoch != self.next_place.epoch:
            self.next_place = Place(epoch, 0, self.source.order.lanes)

    def state_dict(self) -> Dict[str, Any]:
        """Where the latest pass is, by what was yielded."""
        return self.state(None if self.latest is None else self.latest.yielded, 1)

    def state(self, batches: Optional[int], batch_size: int,
              drop_last: bool = False) -> Dict[str, Any]:
        """After so many batches of the latest pass; None: before the next one."""
        if batches is None or self.latest is None:
            return self._state(self.next_place, 0, batch_size, drop_last)
        return self._state(self.latest.place, batches, batch_size, drop_last)

    def _state(self, place: Place, batches: int, batch_size: int, drop_last: bool) -> Dict[str, Any]:
        source, start = self.source, place.done
        left = share_of(len(source), source.rank, source.world_size, source.remainder, start).count
        if batches > 0 and batches >= (left // batch_size if drop_last else -(-left // batch_size)):
            start, batches = len(source), 0         # what is left out at the end is over as well
        return state_of(source.order, place.epoch, start, batches, batch_size, source.world_size)

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """The next pass goes on from there."""
        place = place_of(state, self.source.order, len(self.source))
        if place.lanes % self.source.world_size != 0:
            raise sheaf.ArgumentError("the state has %d lanes, which do not divide among %d ranks"
                                      % (place.lanes, self.source.world_size))
        self.source._set_lanes(place.lanes)
        self.next_place = place
        self.latest = None


class _Ordinals:
    """One pass of a sampler.  It begins when its first number is taken."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self.own: Optional[_Progress] = None    # None: not begun
        self.count = self.number = 0

    def _begin(self) -> _Progress:
        sampler, source = self.sampler, self.sampler.source
        place = sampler.next_place
        share = share_of(len(source), source.rank, source.world_size, source.remainder, place.done)
        self.number = (source._begin(place.epoch, share.first) << BITS) + share.first
        self.count = share.count
        self.own = sampler.latest = _Progress(place)
        sampler.next_place = Place(place.epoch + 1, 0, source.order.lanes)
        return self.own

    def __iter__(self) -> "_Ordinals":
        return self

    def __next__(self) -> int:
        own = self.own or self._begin()
        if own.yielded == self.count:
            raise StopIteration
        own.yielded += 1
        return self.number + own.yielded - 1

    def state_dict(self) -> Dict[str, Any]:
        """For loaders that keep the state of a sampler's iterator."""
        if self.own is None:
            return self.sampler.state(None, 1)
        return self.sampler._state(self.own.place, self.own.yielded, 1, False)

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """This pass goes on from there."""
        self.sampler.load_state_dict(state)


class DataLoader(torch.utils.data.DataLoader[Any]):
    """PyTorch's DataLoader over a sheaf.torch.Dataset and its sampler: the same batches for any
    number of workers, and a state that any number of workers, and any world size that divides the
    lanes, goes on from, without reading what came before.

    source is what sheaf.Dataset takes.  decode(sample) and collate_fn(list) run in the workers;
    without collate_fn it is PyTorch's; without both, a batch is a sheaf.Batch.  The options of
    sheaf.torch.Dataset and those of PyTorch's DataLoader are taken by name.  len(loader) is the
    exact number of batches of a whole epoch, the same on every rank unless remainder is "keep".

    Each pass is the next epoch, beginning with `epoch`, also after one that was broken off;
    set_epoch(e) makes the next one epoch e.  To go on with a pass that was broken off, load the
    state that was taken then.  There is one pass at a time: a second iterator ends the first, whose
    next batch may be a StateError.  An error in batch k is raised when batch k is due.

        loader = sheaf.torch.DataLoader("s3://bucket/train/", 256, 8, seed=1, decode=decode)"""

    _is_accelerate_prepared = True      # so that Accelerate does not share the samples out again
    use_stateful_dataloader = True      # so that its save_state and load_state have the state

    def __init__(self, source: Union[sheaf.Source, sheaf.Dataset], batch_size: int = 1,
                 num_workers: int = 0, *, epoch: int = 0,
                 decode: Optional[Callable[[sheaf.Sample], Any]] = None,
                 collate_fn: Optional[Callable[[List[Any]], Any]] = None,
                 drop_last: bool = False, **options: Any) -> None:
        own = {name: options.pop(name) for name in list(options) if name in _DATASET_OPTIONS}
        for name in ("sampler", "batch_sampler", "shuffle", "dataset"):
            if name in options:
                raise TypeError("%s is not an option: the order is that of seed, shuffle_buffer, "
                                "no_shuffle and lanes; what puts samplers of its own in takes "
                                "PyTorch's DataLoader over a sheaf.torch.Dataset and its sampler()"
                                % name)
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError("batch_size is %r: expected a whole number above 0" % (batch_size,))
        dataset = Dataset(source, decode=_as_it_is if decode is None else decode, **own)
        if collate_fn is None and decode is None:
            collate_fn = _as_it_is
        self.batches_given: Optional[int] = None        # of the pass under way; None: there is none
        self._is_ahead = False
        super().__init__(dataset, batch_size, num_workers=num_workers, collate_fn=collate_fn,
                         sampler=Sampler(dataset, epoch), drop_last=drop_last, **options)
        # Hugging Face's Trainer, to resume, puts another loader around this.
        setattr(self.batch_sampler, "set_epoch", self.sampler.set_epoch)

    def __iter__(self) -> Any:
        self._is_ahead = _is_wrapped(self, sys._getframe(1))
        before = self.sampler.latest
        passing = _Batches(self, super().__iter__())
        if self.sampler.latest is not before:       # workers have numbers already
            passing.has_given(0)
        return passing

    def set_epoch(self, epoch: int) -> None:
        """The next pass is this epoch; one that a loaded state has begun goes on from there."""
        self.sampler.set_epoch(epoch)

    def state_dict(self) -> Dict[str, Any]:
        """Where the program is: after the batch that it had last.  The same on every rank."""
        if self._is_ahead:
            raise sheaf.StateError("where the program is cannot be told: what wraps the loader has "
                                   "taken a batch ahead; with Ray, prepare_data_loader(loader, "
                                   "move_to_device=False)")
        return self.sampler.state(self.batches_given, self.batch_size, self.drop_last)

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """The next pass goes on from there."""
        self.sampler.load_state_dict(state)
        self.batches_given = None

    def stats(self) -> sheaf.Stats:
        """The counts of this rank's reader."""
        return self.dataset.stats()

    def close(self) -> None:
        """Ends workers and reader."""
        self._iterator = None
        self.dataset.close()


def _is_wrapped(loader: DataLoader, caller: Any) -> bool:
    """Whether another loader, made of this one's attributes, begins the pass: Ray's, which holds a
    batch back."""
    wrapper = caller.f_locals.get("self")
    return isinstance(wrapper, torch.utils.data.DataLoader) and wrapper is not loader \
        and getattr(wrapper, "dataset", None) is loader.dataset


class _Batches:
    """One pass of a DataLoader, which counts the batches that the program has had."""

    def __init__(self, loader: DataLoader, inner: Any) -> None:
        self.loader, self.inner, self.given = loader, inner, 0
        self.own: Optional[_Progress] = None
        loader.batches_given = None

    def __iter__(self) -> "_Batches":
        return self

    def __len__(self) -> int:
        return len(self.loader)

    def __next__(self) -> Any:
        loader = self.loader
        try:
            batch = next(self.inner)
        except StopIteration:
            self.has_given(None)
            raise
        except Exception:
            self.has_given(self.given)
            raise
        finally:
            loader.dataset._tell()
        self.given += 1
        self.has_given(self.given)
        return batch

    def has_given(self, batches: Optional[int]) -> None:
        """Tells the loader, of a pass that has begun, unless there is a later one.  None: it is
        over."""
        if self.own is None:
            self.own = self.loader.sampler.latest
        if self.loader.sampler.latest is self.own:
            self.loader.batches_given = batches


_DATASET_OPTIONS = frozenset(("seed", "no_shuffle", "shuffle_buffer", "lanes", "elastic", "rank",
                              "world_size", "remainder", "memory_bytes", "threads", "on_corrupt",
                              "max_corrupt", "report", "cache_directory", "cache_bytes"))

atexit.register(_close_all)


# ---- Streams ----------------------------------------------------------------------------------


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
