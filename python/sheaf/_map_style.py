# SPDX-License-Identifier: MIT
"""The map-style data set of sheaf.torch. A number selects a sample by random access, or a place in an epoch."""

from __future__ import annotations

import enum
import inspect
import math
import time
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import torch
import torch.utils.data

import sheaf
from sheaf._loader import BITS, MASK, Order, is_count
from sheaf._batch import Batch
from sheaf._decode import Decode, Decoded, Told, decode_all, named, times, unstopped, warn_all
from sheaf._member import check_rank, rank_of
from sheaf._rank import RankReader
from sheaf._types import CACHE_BYTES, READER_MEMORY


class Fields(Dict[str, Any]):
    """A dict whose KeyError names the sample and its fields. In a batch of many samples, a sample without a label
    could not be found otherwise."""

    def __missing__(self, name: str) -> Any:
        raise KeyError("the sample %r has no %r, but %s" % (
            self.get("__key__"), name, sorted(key for key in self if key != "__key__")))


def to_dict(sample: sheaf.Sample) -> Dict[str, Any]:
    """Returns a sample as a dict of its fields as bytes, with __key__ and, if it has labels, __label__ (a number, or
    a list of several numbers). This is the default of `decode`."""
    result = Fields(sample.to_bytes())
    labels = sample.labels
    result["__key__"] = sample.key
    if labels:
        result["__label__"] = labels[0] if len(labels) == 1 else list(labels)
    return result


def as_it_is(batch: Any) -> Any:
    return batch


def problems_of(batch: Any) -> List[sheaf.Problem]:
    """Returns the problems of the samples that decode left out of a batch."""
    return batch.problems if isinstance(batch, Decoded) else []


class Nothing(enum.Enum):
    """Stands for a batch without samples in the DataLoader of this module."""
    END = 0             # the batch lies after the end of a stream
    SKIPPED = 1         # all samples of the batch were corrupt


# The options of sheaf.Reader that this module passes on.
READER_OPTIONS = inspect.signature(sheaf.Reader).parameters.keys() - {"source", "epoch", "worker", "workers", "_arena"}


class Collate:
    """Calls the program's collate_fn. This is the collate_fn of a sheaf.torch.DataLoader for other loaders, which a
    framework makes from its attributes. For example, Hugging Face's Trainer does this when it resumes."""

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self.collate = collate

    def __call__(self, samples: Any) -> Any:
        problems = problems_of(samples)
        if isinstance(samples, Nothing) or (problems and not samples):
            raise sheaf.StateError("a batch has no samples, because all of them were skipped or the stream has ended; "
                                   "only the sheaf.torch.DataLoader itself leaves out such a batch, but another loader "
                                   "was made from its attributes")
        warn_all(problems)
        return self.call(samples)

    def call(self, samples: Any) -> Any:
        """Returns the batch that collate_fn makes."""
        try:
            return self.collate(samples)
        except StopIteration as error:
            raise named(unstopped(error), "collate_fn")     # pylint: disable=raise-missing-from


class TellingCollate(Collate):
    """Sends a Told to the iterator of a sheaf.torch.DataLoader. A batch without samples is sent as Nothing."""

    def __call__(self, samples: Any) -> Any:
        if isinstance(samples, Nothing):
            return samples
        begun = time.monotonic_ns()
        problems = problems_of(samples)
        batch = Nothing.SKIPPED if problems and not samples else self.call(samples)
        return Told(batch, problems, (times.reading, times.decoding, time.monotonic_ns() - begun))


class Dataset(torch.utils.data.Dataset[Any]):
    """A map-style data set: dataset[i] is decode(sample number i), read by random access. The indexes that sampler()
    yields are places in a shuffled epoch instead. The samples of these places are read in order, by one reader for
    all workers. len(dataset) is the number of all samples.

    `decode` takes a sheaf.Sample and runs in the workers; the default is to_dict. The sample's memoryviews must not
    outlive the batch if the batch goes to another process, so make tensors, numbers or bytes of them. If decode
    raises an exception, the message names the sample. With on_error="skip", a sample is left out, reported and
    counted if decode raises an exception or returns None for it. Its batch is then smaller, so all ranks still have
    the same number of steps.

    rank and world_size are those of torch.distributed or of the environment at the time when the data set is created.
    A later run can be resumed with any world size that divides `lanes` (default world_size). `elastic` sets lanes to
    the least common multiple of `elastic` and world_size. With more lanes, samples are shuffled less well, because
    each lane has only its part of the shuffle buffer.

    remainder="pad" lets ranks repeat a sample (at most world_size - 1 samples of an epoch, which are marked). "drop"
    leaves out at most that many samples instead. With "keep", some ranks have one sample more than others, which
    suits evaluation without collectives. "auto" means "pad" if there are several ranks, or if hosts have shards of
    their own.

    The other options are those of sheaf.Reader. memory_bytes is the limit of the rank, for all its workers. If seed
    (0), epoch (0), shuffle_buffer (10000) or lanes is not given and the data set is a Channel, the job's
    hyperparameters determine it. A stream (compressed foreign shards, a pipe) has no numbers and no length. Use the
    DataLoader of this module for it, which finds the end of the stream. Raises ValueError if options contradict each
    other."""

    def __init__(self, source: Union[sheaf.Source, sheaf.Dataset], *, seed: Optional[int] = None,
                 no_shuffle: bool = False, shuffle_buffer: Optional[int] = None,
                 lanes: Optional[int] = None, elastic: int = 1, rank: Optional[int] = None,
                 world_size: Optional[int] = None, remainder: str = "auto",
                 decode: Optional[Decode] = None, on_error: str = "fail",
                 report: Optional[Callable[[sheaf.Problem], Any]] = None,
                 cache_directory: Optional[sheaf.Path] = None,
                 cache: Optional[sheaf.Path] = None, offline: bool = False, **reader: Any) -> None:
        self._given = {name: value for name, value in locals().items()
                       if name not in ("self", "source", "reader", "__class__")}
        self._given.update(reader)
        for name in reader:
            if name not in READER_OPTIONS:
                raise TypeError("Dataset() got an unexpected keyword argument %r" % name)
        sheaf._check_reading(**{name: reader[name] for name in ("on_corrupt", "max_corrupt", "columns", "missing")
                                if name in reader})
        _, cache = sheaf._one(None, cache=cache, cache_directory=cache_directory)
        self.dataset = source if isinstance(source, sheaf.Dataset) else \
            sheaf.Dataset(source, cache=cache, offline=offline)
        self.decode: Decode = to_dict if decode is None else decode
        if on_error not in ("fail", "skip"):
            raise sheaf.ArgumentError("on_error is %r: expected fail or skip" % (on_error,))
        self.on_error = on_error
        if not is_count(elastic) or elastic == 0:
            raise sheaf.ArgumentError("elastic is %r: expected a whole number above 0" % (elastic,))
        self._finds_rank = rank is None and world_size is None
        self.rank, self.world_size = rank_of(rank, world_size, self.dataset)
        if remainder not in ("auto", "pad", "drop", "keep"):
            raise sheaf.ArgumentError("remainder is %r: expected auto, pad, drop or keep" % (remainder,))
        self.remainder = remainder if remainder != "auto" else \
            "pad" if self.dataset.host or self.world_size > 1 and not self.dataset.is_stream \
            else "keep"
        self._epoch_samples: Optional[int] = None       # computed when it is first needed
        job = self.dataset.order            # the hyperparameters, if the data set is a Channel
        if lanes is None and elastic == 1 and job["lanes"] != 0:
            lanes = job["lanes"]
        self.order = Order(self.dataset.fingerprint, job["seed"] if seed is None else seed,
                           bool(no_shuffle),
                           job["shuffle_buffer"] if shuffle_buffer is None else shuffle_buffer,
                           math.lcm(self.world_size, elastic) if lanes is None else lanes,
                           self.dataset.host)
        self._check()
        reader["cache_directory"] = sheaf._text(cache)
        for name, other, standard in (("memory_bytes", "memory", READER_MEMORY),
                                      ("cache_bytes", "cache_size", CACHE_BYTES)):
            reader[name] = sheaf._size(standard, **{other: reader.pop(other, None), name: reader.get(name)})
        self._options = reader
        if self.dataset.host and not self.dataset.is_stream:
            # The hosts become equal because the line of each host is made longer or shorter, not the share of this
            # rank.
            self._options["remainder"] = self.remainder
        self.reader = RankReader(self.dataset, self.rank, self.world_size,
                                 sheaf._warn if report is None else report, self._options)
        self._drops_last = False            # the option drop_last of this module's DataLoader
        self._takes_nothing = False

    def again(self) -> "Dataset":
        """Returns another data set with the same options and a reader of its own."""
        return Dataset(self.dataset, **self._given)

    def check_rank(self) -> None:
        """Raises StateError if the rank has changed since this data set was created."""
        if self._finds_rank:
            check_rank(self.rank, self.world_size, self.dataset)

    def _check(self) -> None:
        order = self.order
        if order.lanes < 1 or order.lanes % self.world_size != 0:
            raise sheaf.ArgumentError("%d lanes do not divide among %d ranks" % (order.lanes,
                                                                                 self.world_size))
        if self.dataset.is_stream:
            if self.remainder != "keep":
                raise sheaf.ArgumentError("%s is a stream of unknown length, whose ranks cannot be made "
                                          "equal: only remainder=\"keep\" is possible" % self.dataset.url)
            return
        if self.remainder == "pad" and self.epoch_samples < self.world_size:
            raise sheaf.ArgumentError("%d samples cannot be shared out equally among %d ranks: "
                                      "remainder=\"keep\" lets some have none"
                                      % (self.epoch_samples, self.world_size))
        if order.lanes > self.world_size and not order.no_shuffle \
                and order.shuffle_buffer < 100 * order.lanes < self.epoch_samples:
            warnings.warn("each of %d lanes has %d samples of the shuffle buffer, which mixes "
                          "little: give shuffle_buffer=%d, or fewer lanes"
                          % (order.lanes, order.shuffle_buffer // order.lanes, 100 * order.lanes),
                          stacklevel=4)

    def _set_lanes(self, lanes: int) -> None:
        if lanes != self.order.lanes:
            self.order = self.order._replace(lanes=lanes)
            self._epoch_samples = None
            self._check()
            self.close()

    def close(self) -> None:
        """Ends the reader. The next pass opens another one."""
        self.reader.close()

    def stats(self) -> sheaf.Stats:
        """Returns the counts of the rank's reader over all passes since the reader was opened."""
        return self.reader.stats()

    def sampler(self, epoch: Optional[int] = None) -> "sheaf.torch.Sampler":
        """Returns a sampler of the places that this rank reads, for the option `sampler` of a DataLoader. Raises
        UnsupportedError for a stream."""
        from sheaf.torch import Sampler
        if self.dataset.is_stream:
            raise sheaf.UnsupportedError("%s is a stream, whose end PyTorch's own loader cannot "
                                         "find: use sheaf.torch.DataLoader, or index it"
                                         % self.dataset.url)
        return Sampler(self, epoch)

    # ---- Labels -------------------------------------------------------------------------------

    @property
    def classes(self) -> List[str]:
        """The names of the classes, as in torchvision's data sets."""
        return self.dataset.classes

    @property
    def class_to_idx(self) -> Dict[str, int]:
        """The label of each class."""
        return self.dataset.class_to_idx

    @property
    def targets(self) -> torch.Tensor:
        """The label of each sample as an int64 tensor, read from the index; see sheaf.Dataset.targets."""
        targets = bytearray(self.dataset.targets)
        return torch.frombuffer(targets, dtype=torch.int64) if targets else \
            torch.empty(0, dtype=torch.int64)

    # ---- Samples, in any process --------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.dataset)

    @property
    def epoch_samples(self) -> int:
        """The number of samples in an epoch of all ranks. For a view, this is not the number of samples in its
        sources. If hosts have shards of their own, it is the common length of an epoch on every host."""
        if self._epoch_samples is None:
            samples = self.epoch_samples_of(self.order.lanes)
            self._epoch_samples = len(self.dataset) if samples is None else samples
        return self._epoch_samples

    def epoch_samples_of(self, lanes: int) -> Optional[int]:
        """Returns the number of samples in an epoch with `lanes` lanes, or None for a stream."""
        if self.dataset.host and not self.dataset.is_stream:
            return self.dataset._planned(remainder=self.remainder, lanes=lanes)
        return self.dataset.epoch_samples

    def __getitem__(self, number: int) -> Any:
        return self.__getitems__([number])[0]

    def __getitems__(self, numbers: Sequence[int]) -> Any:
        begun = time.monotonic_ns()
        samples = self._samples(numbers)
        times.reading, times.decoding = time.monotonic_ns() - begun, 0
        if isinstance(samples, Nothing):
            return samples
        if self.decode is as_it_is:
            return Batch(samples) if isinstance(samples, sheaf.Batch) else samples
        decoded = decode_all(self.decode, samples, self.on_error == "skip")
        if not decoded:
            self._check_skipped(len(numbers), decoded.problems)
        elif decoded.problems and not self._takes_nothing:
            warn_all(decoded.problems)
        return decoded

    def _samples(self, numbers: Sequence[int]) -> Any:
        """Returns the samples of these numbers as a Batch or a list."""
        if len(numbers) == 0 or max(numbers) < 1 << BITS:
            # For a stream, get() raises an error.
            if not self.dataset.is_stream and len(numbers) > 0 and \
                    not 0 <= min(numbers) <= max(numbers) < len(self.dataset):
                numbers = [self.dataset._number_of(number) for number in numbers]
            own = {name: self._options[name] for name in ("memory_bytes", "columns", "missing")
                   if name in self._options}
            return self.dataset.get(numbers, **own)
        return self._run_of(_runs(numbers), len(numbers), numbers[-1] & MASK)

    def _run_of(self, runs: Sequence[Tuple[int, int]], count: int, last: int) -> Any:
        """Returns the samples of `runs` as a Batch or a list. A run is a pair of its first number and the count of
        consecutive numbers. `last` is the last ordinal."""
        real, batches = 0, []
        for number, some in runs:
            batch, real = self.reader.get(number >> BITS, number & MASK, some)
            if batch is not None:
                batches.append(batch)
        nothing = self._nothing(bool(batches), real, count, last)
        if nothing is not None:
            return nothing
        if len(batches) == 1:
            return batches[0]
        return [sample for batch in batches for sample in batch]

    def _nothing(self, is_any: bool, real: int, count: int, last: int) -> Optional[Nothing]:
        """Returns what stands for a batch of `count` samples, the last of which has the ordinal `last`, or None if it
        is a batch. `is_any` says whether it has samples. The rank has `real` samples."""
        if self.dataset.is_stream and real <= last and (self._drops_last or not is_any):
            return Nothing.END
        if not is_any:
            self._check_skipped(count, [])
            return Nothing.SKIPPED
        return None

    def _check_skipped(self, count: int, problems: List[sheaf.Problem]) -> None:
        """Raises CorruptError if a batch without samples cannot be left out. With several ranks, one rank would
        otherwise make one step less than the others, and a collective would hang."""
        if self._takes_nothing and self.world_size == 1:
            return
        what = "by decode (%d), the last one since %s" % (count, problems[-1].message) \
            if problems else "as corrupt (%d)" % count
        raise sheaf.CorruptError("all samples of a batch were skipped %s; without a batch the ranks "
                                 "would not make the same steps: use larger batches" % what)

    def __repr__(self) -> str:
        return "<sheaf.torch.Dataset %r rank %d of %d>" % (self.dataset.url, self.rank,
                                                           self.world_size)


def _runs(numbers: Sequence[int]) -> List[Tuple[int, int]]:
    """Divides numbers into runs of consecutive numbers, each as (first, count)."""
    runs: List[Tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][0] + runs[-1][1]:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((number, 1))
    return runs


Dataset.__module__ = "sheaf.torch"      # the module from which programs import it
