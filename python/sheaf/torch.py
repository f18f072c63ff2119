# SPDX-License-Identifier: MIT
"""PyTorch: batches that do not depend on the number of workers, and exact resume.

    import sheaf.torch

    loader = sheaf.torch.DataLoader("shards/", batch_size=64, num_workers=4, seed=7,
                                    decode=lambda s: (decode_jpeg(s["jpg"]), s.label))
    for epoch in range(3):
        for images, labels in loader:       # each pass is the next epoch
            ...
        torch.save(loader.state_dict(), "state.pt")     # in mid-epoch as well

Ranks are detected automatically (from torch.distributed or the environment), and all have the same number of samples
in each epoch. Over all ranks, each sample comes once. At most world_size - 1 samples are repeated at the end, and
marked (sample.repeated). One reader per rank, in the program, serves the rank's workers.

PyTorch's own DataLoader works as well, with the same batches:

    dataset = sheaf.torch.Dataset("shards/", seed=7, decode=...)
    loader = torch.utils.data.DataLoader(dataset, batch_size=64, num_workers=4,
                                         sampler=dataset.sampler())"""

from __future__ import annotations

import atexit
import inspect
import multiprocessing
import sys
import time
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

import torch.utils.data
import torch.utils.data.distributed

import sheaf
import sheaf._shared
from sheaf._loader import BITS, Place, batches_of, place_of, share_of, state_of
from sheaf._batch import Batch, FieldBatch
from sheaf._decode import Told
from sheaf._map_style import READER_OPTIONS, Collate, Dataset, Fields, Nothing, TellingCollate, as_it_is, to_dict
from sheaf._member import epoch_of, part_of
from sheaf._rank import close_all
from sheaf import _sheaf
from sheaf._sheaf import pixels_version
from sheaf._seeded import seeded

__all__ = ["Batch", "DataLoader", "Dataset", "FieldBatch", "Fields", "Sampler", "seeded", "to_dict"]

sheaf._shared.use()
atexit.register(close_all)

ENDLESS = 1 << 62       # number of ordinals of a stream, whose end is not known


class _Progress(_sheaf.Progress):
    """The progress of a pass of a sampler. It is an object of its own, so that a loader and its reader are freed with
    the last reference to the loader, even if an iterator still exists."""

    def __init__(self, place: Place, number: int, first: int, count: int) -> None:
        self.place, self.number, self.first, self.count = place, number, first, count

    def __reduce__(self) -> Any:
        counts = {"yielded": self.yielded, "is_over": self.is_over, "handed": self.handed}
        return _Progress, (self.place, self.number, self.first, self.count), (None, counts)


class Sampler(torch.utils.data.distributed.DistributedSampler[Any]):
    """Yields the samples that this rank reads, in order, as numbers for a sheaf.torch.Dataset. It is a
    DistributedSampler, so that frameworks do not divide the samples among ranks a second time.

    Each pass is the next epoch, even if the last pass did not reach its end. set_epoch(e) makes the next pass epoch
    e. state_dict() is the position of the latest pass, counted by the numbers that the sampler has yielded.
    load_state_dict() makes the next pass continue there. A DataLoader's workers take numbers ahead. So with workers,
    use the state of this module's DataLoader, or of torchdata's StatefulDataLoader."""

    def __init__(self, dataset: Dataset, epoch: Optional[int] = None, block: int = 1) -> None:
        """`block` is the number of samples that each of the ranks that share a pipe takes in turn."""
        if epoch is None:
            epoch = dataset.dataset.order["epoch"]
        if not dataset.dataset.is_stream:   # a stream has no length
            super().__init__(dataset, num_replicas=dataset.world_size, rank=dataset.rank,
                             shuffle=not dataset.order.no_shuffle, seed=dataset.order.seed,
                             drop_last=dataset.remainder == "drop")
        epoch = epoch_of(epoch)
        self.source, self.block = dataset, block
        self.next_place = Place(epoch, 0, dataset.order.lanes)
        self.latest: Optional[_Progress] = None
        if not dataset.reader.is_open():
            dataset.reader.open(dataset.order, epoch)

    def __len__(self) -> int:
        """Returns the number of samples of this rank in a whole epoch."""
        return share_of(self.source.epoch_samples, self.source.rank, self.source.world_size,
                        self.source.remainder).count

    def __iter__(self) -> "_Ordinals":
        return _Ordinals(self)

    def set_epoch(self, epoch: int) -> None:
        """Makes the next pass this epoch. If a loaded state has begun this epoch, the pass continues from there."""
        epoch = epoch_of(epoch)
        if epoch != self.next_place.epoch:
            self.next_place = Place(epoch, 0, self.source.order.lanes)

    def state_dict(self) -> Dict[str, Any]:
        """Returns the position of the latest pass, after the numbers that it has yielded."""
        return self.state_of_yielded(self.latest)

    def state_of_yielded(self, own: Optional[_Progress]) -> Dict[str, Any]:
        """Returns the position of the pass `own` after the numbers that it has yielded."""
        return self.state(own, None if own is None or own.is_over else own.yielded, 1)

    def state(self, own: Optional[_Progress], batches: Optional[int], batch_size: int,
              drop_last: bool = False) -> Dict[str, Any]:
        """Returns the state after `batches` batches of the pass `own`. If `batches` is None, returns the state before
        the next pass. The state is the same on every rank. If some ranks have one batch more than others, the epoch
        is over when these ranks have received it."""
        source = self.source
        if own is None or batches is None:
            return state_of(source.order, self.next_place, 0, batch_size, source.world_size, 0,
                            source.dataset)
        place, skipped = own.place, source.reader.skipped(own.number,
                                                          own.first + batches * batch_size)
        if 0 < batches and not source.dataset.is_stream and batches >= batches_of(
                source.epoch_samples, source.world_size, source.remainder, place.done, batch_size,
                drop_last):
            # samples that are left out at the end of the epoch are also over
            place, batches, skipped = Place(place.epoch + 1, 0, place.lanes), 0, 0
        return state_of(source.order, place, batches, batch_size, source.world_size, skipped,
                        source.dataset)

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Makes the next pass continue at the state."""
        place = place_of(state, self.source.order, self.source.epoch_samples_of,
                         self.source.world_size, self.source.dataset)
        self.source._set_lanes(place.lanes)
        self.next_place = place
        self.latest = None

    def begin(self) -> _Progress:
        """Begins a pass, which becomes the latest one."""
        source, place = self.source, self.next_place
        source.check_rank()
        if part_of(None, None)[1] > 1:
            raise sheaf.StateError("each worker of a DataLoader over an IterableDataset would read all samples of "
                                   "the rank: iterate over a sheaf.Reader there, whose samples are divided among "
                                   "the workers, or use sheaf.torch.DataLoader without the IterableDataset")
        if source.dataset.is_stream:
            first, count = place.done * source.reader.local_size // source.world_size, ENDLESS
        else:
            first, count = share_of(source.epoch_samples, source.rank, source.world_size, source.remainder,
                                    place.done)
        number = source.reader.begin(source.order, place.epoch, first, self.block)
        self.latest = _Progress(place, number, first, count)
        self.next_place = Place(place.epoch + 1, 0, source.order.lanes)
        return self.latest


class _Ordinals:
    """One pass of a sampler. It begins when its first number is requested."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self.own: Optional[_Progress] = None    # None before the pass has begun

    def __iter__(self) -> "_Ordinals":
        return self

    def __next__(self) -> int:
        if self.own is None:
            self.own = self.sampler.begin()
        own, reader, block = self.own, self.sampler.source.reader, self.sampler.block
        if own.yielded >= own.count:
            own.is_over = True
            raise StopIteration
        ordinal = own.yielded
        own.yielded += 1
        if reader.local_size > 1:
            turn, rest = divmod(ordinal, block)
            ordinal = (turn * reader.local_size + reader.local_rank) * block + rest
        return (own.number << BITS) + own.first + ordinal

    def state_dict(self) -> Dict[str, Any]:
        """Returns the position of this pass, for loaders that save the state of a sampler's iterator."""
        return self.sampler.state_of_yielded(self.own)

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Makes this pass continue at the state."""
        self.sampler.load_state_dict(state)


class DataLoader(torch.utils.data.DataLoader[Any]):
    """PyTorch's DataLoader over a sheaf.torch.Dataset and its sampler. The batches are the same for any number of
    workers. Its state can be resumed with any number of workers, and with any world size that divides the number of
    lanes, without reading the earlier samples.

    `source` is anything that sheaf.Dataset takes, or a sheaf.torch.Dataset, which has its own options. decode(sample)
    and collate_fn(list) run in the workers. Without collate_fn, PyTorch's is used. Without both, a batch is a
    sheaf.torch.Batch. The options of sheaf.torch.Dataset and of PyTorch's DataLoader are accepted by name.
    len(loader) is the exact number of batches of a whole epoch, the same on every rank unless remainder is "keep". A
    stream has no len() before its end, and its ranks may have different numbers of batches.

    With pixels=sheaf.Pixels(...) and without workers, threads of the library decode and crop the images. A batch then
    has pixels, crops, masks and labels as tensors (sheaf._pixel_stage.PixelBatch). All memory, including that of the
    batches, is within memory_bytes. An image that cannot be decoded is a bad record for on_corrupt and max_corrupt;
    if it is skipped, its batch is smaller. pin_memory=True makes the batches in pinned memory.

    With fields=("jpg",), a batch is a FieldBatch: for each field, one uint8 tensor with the bytes of all samples, and
    their offsets. The bytes are copied once, with pin_memory=True into pinned memory, for a decoder on a GPU.

    Each pass is the next epoch, beginning with `epoch`, even if you left the last pass early. set_epoch(e) makes the
    next pass epoch e. To continue a pass that you left early, load the state that was saved at that point. Only one
    pass can run at a time: a second iterator ends the first one, whose next batch may raise a StateError. An error in
    batch k is raised when batch k is due.

        loader = sheaf.torch.DataLoader("s3://bucket/train/", 256, 8, seed=1, decode=decode)"""

    _is_accelerate_prepared = True      # so that Accelerate does not divide the samples again
    use_stateful_dataloader = True      # so that Accelerate's save_state and load_state include the state

    def __init__(self, source: Union[sheaf.Source, sheaf.Dataset], batch_size: int = 1,
                 num_workers: int = 0, *, epoch: Optional[int] = None,
                 decode: Optional[Callable[[sheaf.Sample], Any]] = None,
                 collate_fn: Optional[Callable[[List[Any]], Any]] = None,
                 drop_last: bool = False, pixels: Optional[sheaf.Pixels] = None,
                 fields: Optional[Sequence[str]] = None,
                 **options: Any) -> None:
        own = {name: options.pop(name) for name in list(options) if name in _DATASET_OPTIONS}
        if not options.pop("in_order", True):
            raise sheaf.ArgumentError("in_order=False is not possible: batches that come in any order "
                                      "have no state to go on from, and would not be the same in "
                                      "every run")
        for name in ("sampler", "batch_sampler", "shuffle", "dataset"):
            if name in options:
                raise TypeError("%s is not an option: the order is that of seed, shuffle_buffer, "
                                "no_shuffle and lanes; what puts samplers of its own in takes "
                                "PyTorch's DataLoader over a sheaf.torch.Dataset and its sampler()"
                                % name)
        if not isinstance(batch_size, int) or batch_size < 1:
            raise sheaf.ArgumentError("batch_size is %r: expected a whole number above 0" % (batch_size,))
        if pixels is not None and (num_workers != 0 or decode is not None
                                   or collate_fn is not None or isinstance(source, Dataset)):
            raise sheaf.ArgumentError("with pixels, threads of the library decode: num_workers must be "
                                      "0, decode and collate_fn None, and the source no "
                                      "sheaf.torch.Dataset")
        if fields is not None and (decode is not None or collate_fn is not None
                                   or pixels is not None or isinstance(source, Dataset)):
            raise sheaf.ArgumentError("fields=%r gives the bytes as they are: it excludes decode, "
                                      "collate_fn, pixels, and a sheaf.torch.Dataset as the source"
                                      % (fields,))
        if isinstance(fields, str):
            raise sheaf.ArgumentError("fields=%r: expected a list of names" % fields)
        if own.get("on_error", "fail") != "fail" and (pixels is not None or fields is not None):
            raise sheaf.ArgumentError("on_error=%r applies to decode, which pixels and fields exclude: give "
                                      "on_corrupt=\"skip\" to leave out damaged samples" % own["on_error"])
        self.fields = None if fields is None else tuple(fields)
        if isinstance(source, Dataset):
            if own or decode is not None:
                raise TypeError("%s: the source is a sheaf.torch.Dataset, which takes the option" %
                                ", ".join([*own, *(["decode"] if decode else [])]))
            dataset = source.again()
        else:
            dataset = Dataset(source, decode=as_it_is if decode is None else decode, **own)
        if collate_fn is None:
            collate_fn = as_it_is if dataset.decode is as_it_is else torch.utils.data.default_collate
        dataset._drops_last, dataset._takes_nothing = drop_last, True
        dataset.reader.has_workers = num_workers > 0
        self._stage: Any = None
        if pixels is not None:
            from sheaf._torch_pixels import PixelStage      # which needs NumPy
            self._stage = PixelStage(dataset, pixels, batch_size, options.get("pin_memory", False))
        self._is_ahead = False
        self.undecoded = 0                              # samples that were left out because decode failed
        self._times = [0] * 6           # number of batches; ns of waiting, stepping, reading, decoding, collating
        super().__init__(dataset, batch_size, num_workers=num_workers,
                         collate_fn=Collate(collate_fn), drop_last=drop_last,
                         sampler=Sampler(dataset, epoch, batch_size), **options)
        # When it resumes, Hugging Face's Trainer wraps this in another loader, which calls set_epoch of its batch
        # sampler.
        setattr(self.batch_sampler, "set_epoch", self.sampler.set_epoch)

    def __iter__(self) -> Any:
        self._is_ahead = _is_wrapped(self, sys._getframe(1))
        if self._stage is not None:
            return _PixelBatches(self, self.sampler.latest, self._stage.new_pass(self))
        before = self.sampler.latest
        passing = _Batches(self, before, super().__iter__())
        if self.sampler.latest is not before:       # workers have already taken numbers
            passing.has_given(0)
        return passing

    def _get_iterator(self) -> Any:
        """PyTorch calls this method to begin a pass, and hands the present collate_fn to the workers."""
        collate, self.collate_fn = self.collate_fn, TellingCollate(self.collate_fn.collate)
        try:
            return super()._get_iterator()
        finally:
            self.collate_fn = collate

    def set_epoch(self, epoch: int) -> None:
        """Makes the next pass this epoch. If a loaded state has begun this epoch, the pass continues from there."""
        self.sampler.set_epoch(epoch)

    def state_dict(self) -> Dict[str, Any]:
        """Returns the program's position, after the last batch that it received. The state is the same on every rank.
        """
        if self._is_ahead:
            raise sheaf.StateError("where the program is cannot be told: what wraps the loader has "
                                   "taken a batch ahead; with Ray, prepare_data_loader(loader, "
                                   "move_to_device=False)")
        latest = self.sampler.latest
        state = self.sampler.state(latest, None if latest is None else latest.handed, self.batch_size, self.drop_last)
        if self._stage is not None:
            state["pixels"] = pixels_version
        return state

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Makes the next pass continue at a state. With `pixels`, a state with another version of the pixels raises
        ArgumentError, and other decoding libraries give a warning."""
        if self._stage is not None:
            _check_pixels(state)
        self.sampler.load_state_dict(state)

    def stats(self) -> sheaf.Stats:
        """Returns the counts of this rank's reader, the number of samples that were left out because decode failed,
        and how the time of the steps was spent. str() of the result is one line for people."""
        batches, wait, step, read, decode, collate = self._times
        stats, stage, threads = self.dataset.stats(), self._stage, 0
        if stage is not None:
            stats = stats._replace(corrupt=stats.corrupt + stage.policy.count)
            ready = stage.pool.ready_times
            batches, wait, step = batches + ready[0], wait + ready[1], step + ready[2]
            read, decode = read + stage.pool.read_ns, stage.pool.busy_ns
            collate, threads = collate + stage.handing_ns + ready[3], stage.pixels.thread_count
        return stats._replace(
            undecoded=self.undecoded, batches=batches, wait_ns=wait, step_ns=step, read_ns=read,
            decode_ns=decode, collate_ns=collate, workers=self.num_workers, decode_threads=threads)

    def __repr__(self) -> str:
        order, sampler = self.dataset.order, self.sampler
        return "<sheaf.torch.DataLoader %r, rank %d of %d, batches of %d, %s, seed %d, next epoch " \
               "%d>" % (self.dataset.dataset.url, self.dataset.rank, self.dataset.world_size,
                        self.batch_size, "%d workers" % self.num_workers if self.num_workers
                        else "no workers", order.seed, sampler.next_place.epoch)

    def close(self) -> None:
        """Ends the workers and the reader."""
        self._iterator = None
        self.dataset.close()


def _check_pixels(state: Dict[str, Any]) -> None:
    before = state.get("pixels") if isinstance(state, dict) else None
    if before is None or before == pixels_version:
        return
    if before.split(",")[0] != pixels_version.split(",")[0]:
        raise sheaf.ArgumentError("the state is of %s, but this release makes %s: its crops would be "
                                  "others" % (before.split(",")[0], pixels_version.split(",")[0]))
    warnings.warn("the state's images were decoded by %s, and now by %s, which may give other pixels"
                  % (before, pixels_version), stacklevel=3)


def _is_wrapped(loader: DataLoader, caller: Any) -> bool:
    """Returns whether another loader, made from this one's attributes, begins the pass. Ray's loader does this and
    holds one batch back."""
    wrapper = caller.f_locals.get("self")
    return isinstance(wrapper, torch.utils.data.DataLoader) and wrapper is not loader \
        and getattr(wrapper, "dataset", None) is loader.dataset


def _advise(loader: DataLoader, error: Exception) -> None:
    """Adds the usual cause to PyTorch's error about workers that have ended. A worker that is not forked imports the
    program, and ends if the program then creates the loader again."""
    context = loader.multiprocessing_context or multiprocessing
    if type(error) is RuntimeError and "exited unexpectedly" in str(error) \
            and context.get_start_method() != "fork":
        error.args = ("%s: workers import the program, so a loader must be created below if __name__ == "
                      "'__main__':" % error,)


class _Batches:
    """One pass of a DataLoader. It counts the batches that the program has received."""

    def __init__(self, loader: DataLoader, before: Optional[_Progress], inner: Any) -> None:
        """`before` is the loader's pass before this one."""
        self.loader, self.inner, self.given = loader, inner, 0
        self.has_any, self.last_problem = False, ""     # whether any batch had samples left after decode
        self.left_ns = 0                # time when the program received its latest batch
        self.own: Optional[_Progress] = None
        if before is not None:
            before.handed = None

    def __iter__(self) -> "_Batches":
        return self

    def __len__(self) -> int:
        return len(self.loader)

    def __next__(self) -> Any:
        batch: Any = Nothing.SKIPPED
        times, begun = self.loader._times, time.monotonic_ns()
        if self.left_ns != 0:
            times[2] += begun - self.left_ns
        while batch is Nothing.SKIPPED:
            batch = self._next()
            if isinstance(batch, Told):
                batch = self.untold(batch)
        self.has_any = True
        if self.loader.fields is not None:
            made = time.monotonic_ns()
            batch = FieldBatch(batch, self.loader.fields, self.loader.pin_memory)
            times[5] += time.monotonic_ns() - made
        self.left_ns = time.monotonic_ns()
        times[0] += 1
        times[1] += self.left_ns - begun
        return batch

    def untold(self, told: Told) -> Any:
        """Returns the batch without the information that the worker sent with it. Counts the times, and reports the
        samples that were left out."""
        for i, took in enumerate(told.took, 3):
            self.loader._times[i] += took
        if told.problems:
            self.loader.undecoded += len(told.problems)
            self.last_problem = told.problems[-1].message
        for problem in told.problems:
            self.loader.dataset.reader.report(problem)
        return told.batch

    def _next(self) -> Any:
        loader = self.loader
        try:
            batch = next(self.inner)
            if batch is Nothing.END:
                self._drain()
                raise StopIteration
        except StopIteration:
            self.has_given(None)
            if self.last_problem and not self.has_any:
                raise sheaf.CorruptError("decode has left out every sample of the pass, the last one "
                                         "since %s" % self.last_problem) from None
            raise
        except Exception as error:
            self.has_given(self.given)
            _advise(loader, error)
            raise
        finally:
            loader.dataset.reader.tell()
        self.given += 1
        self.has_given(self.given)
        return batch

    def has_given(self, batches: Optional[int]) -> None:
        """Notes how many batches this pass has returned, or None if the pass is over."""
        if self.own is None:
            self.own = self.loader.sampler.latest
        if self.own is not None:
            self.own.handed = batches

    def _drain(self) -> None:
        """Takes the remaining batches of a stream that has ended, because workers were already asked for places after
        its end."""
        if self.own is None:
            self.own = self.loader.sampler.latest
        if self.own is not None:
            self.own.count = 0
        for _ in self.inner:
            pass
        if self.own is not None:
            self.loader.dataset.reader.wait_for_others(self.own.number)


class _PixelBatches(_sheaf.ReadyBatches, _Batches):
    """One pass of a DataLoader with pixels. Almost every batch is complete. ReadyBatches returns such a batch itself,
    and does the same as _Batches in less time."""

    def _next_other(self) -> Any:
        """Returns a batch that is not complete, or that is the first one of its pass."""
        try:
            return _Batches.__next__(self)
        finally:
            self.queue = self.inner.queue_of_complete


_DATASET_OPTIONS = (inspect.signature(Dataset).parameters.keys() | READER_OPTIONS) - \
    {"source", "decode", "reader"}
