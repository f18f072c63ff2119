# SPDX-License-Identifier: MIT
"""Packs many small files into a few large training shards, and reads them back shuffled.

    import sheaf, sheaf.torch
    sheaf.pack("images/", "shards/", shard_size="150MB")    # a directory per class
    assert not sheaf.verify("shards/").problems
    data = sheaf.Dataset("shards/")     # len(data), data[0]["jpg"], data.classes
    for sample in sheaf.Reader(data, seed=7): print(sample.key, sample.label)   # an epoch
    loader = sheaf.torch.DataLoader(data, batch_size=32, num_workers=2, seed=7)

A sample is a read-only mapping from field names to memoryviews. A memoryview may be kept as long as you like. It
keeps a whole block of memory alive, because samples are read in blocks of about 1 MiB (8 MiB for remote shards). If
you keep only a few of many samples, keep bytes(view) instead.

sheaf.torch, sheaf.tf, sheaf.numpy and sheaf.webdataset pass samples to these frameworks.

Threads may share a Reader or a Packer; they wait for each other. After a fork, the child can use a Dataset of the
parent, but not its readers and packers (StateError). A Dataset and a Batch can be pickled."""

from __future__ import annotations

import collections.abc as _abc
import copyreg as _copyreg
import json as _json
import logging as _logging
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union, overload

from . import _sheaf, sources
from ._sheaf import (AccessError, ArgumentError, Batch, ChangedError, CorruptError, Error,
                     ExistsError, InterruptedError, LimitError, MismatchError, NetworkError,
                     NotFoundError, OutOfMemoryError, Sample, StateError, StoreError,
                     TruncatedError, UnsupportedError)
from ._edit import EditResult, edit
from ._repair import RepairResult, repair
from ._member import check_rank as _check_rank
from ._member import epoch_of as _epoch_of
from ._member import part_of as _part_of
from ._member import rank_of as _rank_of
from ._pixels import Pixels
from ._pool import TransformError
from ._packing import Packer, append, commit, pack, pack_part, plan
from ._types import CACHE_BYTES as _CACHE_BYTES, READER_MEMORY as _READER_MEMORY
from ._types import (Channel, FetchResult, Field, Note, PackResult, Path, PlanShard, Problem,
                     Progress, Shard, Size, Source, SourceInfo, Stats, VerifyResult, _check_reading, _needs,
                     _one, _size, _text,
                     _told, _warn)

__all__ = ["Batch", "Channel", "Coming", "ConvertResult", "Dataset", "EditResult", "FetchResult",
           "Field", "Note", "PackResult", "Packer", "PipeResult", "Pixels", "PlanShard", "Problem", "Progress", "Reader",
           "RepairResult", "Sample", "Shard", "SourceInfo", "Stats", "UnpackResult", "VerifyResult", "View",
           "append", "columns", "commit", "convert", "edit", "fetch", "index", "info", "job", "locate", "pack", "pack_part",
           "pipe", "plan", "repair", "sources", "unpack", "verify", "view",
           "AccessError", "ArgumentError", "ChangedError", "CorruptError", "Error", "ExistsError",
           "InterruptedError", "LimitError", "MismatchError", "NetworkError", "NotFoundError",
           "OutOfMemoryError", "StateError", "StoreError", "TransformError",
           "TruncatedError", "UnsupportedError"]

__version__: str = _sheaf.version
_log = _logging.getLogger("sheaf")

_abc.Mapping.register(Sample)
# Batch is not registered as a Sequence, because PyTorch would divide a Sequence into its elements, down to single
# bytes.
_copyreg.pickle(Batch, lambda batch: (_sheaf.unpack, (batch._pack(),)))


def _opened(source: "Union[Source, Dataset]") -> "Dataset":
    return source if isinstance(source, Dataset) else Dataset(source)


class Dataset(_sheaf.Dataset):
    """An opened data set. Its source may be a directory with a dataset.json; foreign shards (a directory, a brace
    pattern, files, "@FILE"); or "-" for standard input. The source may also be a sequence of sources, which together
    form one data set. Their classes are merged by name.

    A Channel of a training platform is a source as well. The Dataset then has three more attributes. `world` is the
    (rank, world size) that the environment specifies for the channel, or None. `order` (seed, epoch, shuffle_buffer,
    lanes) has the values of the job's hyperparameters, sheaf_seed etc., if there are any. If each host has only some
    of the shards (ShardedByS3Key), `host` is (number, count), the samples are those of this host, and `world` counts
    only the processes of this host.

    With offline=True and `cache`, remote data sets are opened without a request, by the manifests that an earlier
    reader with this cache has kept there. Nothing is read from their servers afterwards. Samples are found by number,
    but not by key."""

    wait_seconds = 600                  # seconds to wait for the pipe of a channel

    def __init__(self, source: Source, *, cache: Optional[Path] = None, offline: bool = False,
                 _join: bool = False) -> None:
        if offline and (cache is None or isinstance(source, Channel)):
            raise ArgumentError("offline=True needs cache=, and a source that is not a channel")
        if isinstance(source, Channel):
            manifest = () if source.manifest is None else (source.manifest,)
            super().__init__(source, (*source[:2], *manifest), source.wait_seconds)
            self.wait_seconds = source.wait_seconds
        else:
            for part in source if isinstance(source, (list, tuple)) else [source]:
                if offline and isinstance(part, View):
                    part._save_offline(cache)
            super().__init__(source, join=_join, offline=_text(cache) if offline else None)
        info = self._info()
        self.world: Optional[Tuple[int, int]] = info["world"] if info["world"][1] else None
        self.order: Mapping[str, int] = info["order"]
        self.url: str = info["url"]
        self.has_manifest: bool = info["has_manifest"]
        self.is_stream: bool = info["is_stream"]
        self.host: Optional[Tuple[int, int]] = info["host"] if info["host"][1] else None
        self.is_pipe: bool = info["is_pipe"]                # True for a channel that can be read only once
        self.container: Optional[str] = info["container"]
        self.codec: Optional[str] = info["codec"]
        self.samples: Optional[int] = info["samples"]       # None for a stream
        self.is_view: bool = info["is_view"]
        self.epoch_samples: Optional[int] = info["epoch_samples"]   # for a view, the number of samples in an epoch
        self.bytes: int = info["bytes"]
        self.payload_bytes: int = info["payload_bytes"]
        self.label_base: int = info["label_base"]
        self.fingerprint: str = info["fingerprint"]
        self._manifest_json: Optional[str] = info["manifest_json"]
        self._world_by: Optional[str] = info["world_by"]
        if info["description"] is not None and isinstance(source, Channel):
            _log.info("channel %s: %s", source.name, info["description"])

    @property
    def shards(self) -> List[Shard]:
        return [Shard(*values) for values in self._shards()]

    @property
    def sources(self) -> List[SourceInfo]:
        """The sources of the data set, in the order in which they were given."""
        return [SourceInfo(*values) for values in self._sources()]

    @property
    def classes(self) -> List[str]:
        """The names of the labels label_base, label_base + 1, ...; empty if the labels have no names."""
        return self._classes()

    @property
    def fields(self) -> Optional[List[Field]]:
        """The fields, in byte order of their names. None if the manifest does not count them. The list is empty if
        there are more than 256 names."""
        fields = self._fields()
        return None if fields is None else [Field(*values) for values in fields]

    @property
    def class_to_idx(self) -> Dict[str, int]:
        """The label of each class by its name, as in torchvision's data sets."""
        return {name: label for label, name in enumerate(self.classes, self.label_base)}

    @property
    def targets(self) -> memoryview:
        """The label of each sample as int64, or -1 for a sample without a label. The labels come from the index, so
        no data is read. Raises UnsupportedError if there is no index, or if the index has no labels because they are
        vectors or fractions."""
        return memoryview(self._labels()).cast("q").toreadonly()

    @property
    def class_samples(self) -> Optional[List[int]]:
        """The number of samples of each class, or None if the manifest does not count them."""
        return self._class_samples()

    @property
    def manifest(self) -> Optional[Mapping[str, Any]]:
        """The content of dataset.json. None for foreign shards, and for several sources."""
        return None if self._manifest_json is None else _json.loads(self._manifest_json)

    def __len__(self) -> int:
        if self.samples is None:
            raise TypeError("a stream's samples are not known before its end")
        return self.samples

    @overload
    def __getitem__(self, index: Union[int, str]) -> Sample: ...

    @overload
    def __getitem__(self, index: slice) -> Batch: ...

    def __getitem__(self, index: Union[int, str, slice]) -> Union[Sample, Batch]:
        """ds[i] is the Sample with number i, and ds[i:j] is a Batch of several samples. Negative numbers count from
        the end, as in a list. ds["key"] is the sample with that key, or the first one if several samples have it.
        Raises KeyError if no sample has the key. Any thread may read. For many scattered samples, `get` is faster
        than reading them one by one.

            ds[0]["jpg"], ds[-1].label, ds[100:200].keys, ds["001.ak47/001_0001"]"""
        if isinstance(index, str):
            return self.get([index])[0]
        if isinstance(index, slice):
            numbers = range(len(self))[index]
            if not numbers:
                raise IndexError("samples %d:%d of %d: there are none" % (
                    numbers.start, numbers.stop, len(self)))
            return self.get(numbers)
        return self.get([self._number_of(index)])[0]

    def _number_of(self, index: int) -> int:
        """Returns the number of a sample. Negative indexes count from the end, as in a list."""
        try:
            return range(len(self))[index]
        except IndexError:
            raise IndexError("sample %d of %d" % (index, len(self))) from None

    def __contains__(self, key: object) -> bool:
        """Returns whether a sample has this key."""
        if not isinstance(key, str):
            raise TypeError("expected the key of a sample, not %r" % (key,))
        try:
            self.get([key])
        except KeyError:
            return False
        return True

    def get(self, numbers: Union[Sequence[int], Sequence[str]], *, memory_bytes: int = 1 << 30,
            columns: Optional[Sequence[str]] = None, missing: str = "fail") -> Batch:
        """Returns the samples with these numbers, in this order, as a Batch. Reads run concurrently. The call uses at
        most memory_bytes (1 GiB), including the samples. Raises LimitError if that is too little, ArgumentError if a
        number does not exist, and UnsupportedError for a stream.

        Keys may be given in place of numbers. If several samples have the same key, the batch contains all of them,
        one after another. Raises KeyError if no sample has a key. Keys are found in dataset.keys, which the packer
        and `index` write. Raises UnsupportedError if the data set does not have this file.

        `columns` names the columns that come with the samples, as in Reader. If a column has no value for a sample,
        missing="none" returns the sample without it, and "fail" raises NotFoundError.

            batch = ds.get([7, 30000, 12])
            batch = ds.get(["001.ak47/001_0001", "002.american-flag/002_0007"])"""
        if isinstance(numbers, str):
            raise TypeError("a sequence of keys was expected, not one: use ds[key]")
        _check_reading(columns=columns, missing=missing)
        if not hasattr(numbers, "__len__") and not hasattr(numbers, "__iter__"):
            raise TypeError("expected a sequence of numbers or keys, not %r: one sample is ds[number] or ds[key]" %
                            (numbers,))
        if not hasattr(numbers, "__len__"):
            numbers = list(numbers)
        if isinstance(next(iter(numbers), None), str):
            return self._find(list(numbers), memory_bytes, {"columns": columns, "missing": missing})
        return self._read(numbers, memory_bytes, {"columns": columns, "missing": missing})

    def locate(self, wanted: Union[str, int, Sequence[Any]], **options: Any) -> List[Coming]:
        """Returns when the samples with these keys or numbers come in an epoch, as sheaf.locate does."""
        return locate(self, wanted, **options)

    def __repr__(self) -> str:
        if self.samples is None:
            samples = "a stream"
        else:
            samples = "{:,} sample{}".format(self.samples, "" if self.samples == 1 else "s")
        classes = len(self.classes)
        return "<sheaf.Dataset %r %s, %s%s>" % (
            self.url, self.container, samples, ", {:,} classes".format(classes) if classes else "")


# The options of the order that a position contains, with their defaults; and the options that have another name in a
# position than in Reader.
_ORDER = {"seed": 0, "buffer": 10000, "lanes": 0, "shuffle": 1, "remainder": "auto"}
_OPTION = {"buffer": "shuffle_buffer", "shuffle": "no_shuffle"}


class Reader(_sheaf.Reader):
    """Iterates over the samples of an epoch: `for sample in reader` continues at the reader's position. After the end
    of an epoch, the next iteration starts the next epoch.

    The order depends only on the data set, seed (0), epoch (0), lanes (0) and shuffle_buffer (10000 samples). If one
    of these options is not given and the data set is a Channel, the job's hyperparameters determine it. lanes=0 means
    world_size x workers. remainder is "keep", "drop" or "pad"; "auto" means "pad" if world_size > 1, otherwise
    "keep".

    If rank and world_size are not given, they are found in torch.distributed or in the environment (torchrun, Open
    MPI, Slurm, SageMaker). rank=0, world_size=1 reads everything in any case. In the workers of a DataLoader over an
    IterableDataset, each worker reads its part, unless worker and workers are given.

    memory_bytes (1 GiB) is a hard ceiling. on_corrupt="skip" skips bad records, at most max_corrupt of them. `report`
    is called with a Problem for each skipped record; without `report`, a warning is given. cache_directory is a local
    cache of at most cache_bytes (64 GB) for remote shards, which later epochs and other readers share. The command's
    names memory, cache and cache_size may be used for memory_bytes, cache_directory and cache_bytes. With offline=True,
    no server is asked; see Dataset.

    `columns` names the columns that come with the samples: columns=["cap-v2"] gives sample["cap-v2.txt"]. If a column
    has no value for a sample, `missing` decides what happens: "fail", "skip" or "none"."""

    def __init__(self, source: Union[Source, Dataset], *, seed: Optional[int] = None,
                 epoch: Optional[int] = None, no_shuffle: bool = False,
                 shuffle_buffer: Optional[int] = None, lanes: Optional[int] = None,
                 rank: Optional[int] = None, world_size: Optional[int] = None,
                 worker: Optional[int] = None, workers: Optional[int] = None,
                 remainder: str = "auto", memory_bytes: Optional[Size] = None,
                 memory: Optional[Size] = None, threads: int = 0,
                 on_corrupt: str = "fail", max_corrupt: Optional[int] = None,
                 cache_directory: Optional[Path] = None, cache: Optional[Path] = None,
                 cache_bytes: Optional[Size] = None, cache_size: Optional[Size] = None,
                 report: Optional[Callable[[Problem], Any]] = None,
                 columns: Optional[Sequence[str]] = None, missing: str = "fail",
                 offline: bool = False, _arena: Optional[_sheaf.Arena] = None) -> None:
        _, cache = _one(None, cache=cache, cache_directory=cache_directory)
        _check_reading(on_corrupt, max_corrupt, columns, missing)
        kept_bytes = _size(_CACHE_BYTES, cache_size=cache_size, cache_bytes=cache_bytes)
        has_cache = cache is not None or isinstance(source, Dataset)    # an open data set may have its own
        _needs("cache", has_cache, cache_size=cache_size, cache_bytes=cache_bytes)
        dataset = source if isinstance(source, Dataset) else Dataset(source, cache=cache,
                                                                     offline=offline)
        self._found_rank: Optional[Tuple[int, int]] = None
        if rank is None and world_size is None:
            self._found_rank = _rank_of(None, None, dataset)
        rank, world_size = self._found_rank or _rank_of(rank, world_size, dataset)
        worker, workers = _part_of(worker, workers)
        given = {"seed": seed, "epoch": None if epoch is None else _epoch_of(epoch),
                 "shuffle_buffer": shuffle_buffer, "lanes": lanes}
        order = {name: dataset.order[name] if value is None else value
                 for name, value in given.items()}
        self._claim = _claim_pipe(dataset) if dataset.is_pipe else None
        super().__init__(dataset, _arena, **order, no_shuffle=no_shuffle, rank=rank,
                         world_size=world_size, worker=worker,
                         workers=workers, remainder=remainder,
                         memory_bytes=_size(_READER_MEMORY, memory=memory, memory_bytes=memory_bytes),
                         threads=threads, on_corrupt=on_corrupt, max_corrupt=max_corrupt,
                         cache_directory=_text(cache),
                         cache_bytes=kept_bytes,
                         report=_told(_warn if report is None else report, Problem),
                         columns=columns, missing=missing)
        self._bad = on_corrupt, max_corrupt, report     # the treatment of bad images
        self._order = {"seed": seed, "buffer": shuffle_buffer, "lanes": lanes,
                       "shuffle": int(not no_shuffle), "remainder": remainder}
        for word, value in self._order.items():  # a value from the hyperparameters does not count as a contradiction
            self._order[word] = _ORDER[word] if value is None else value

    def __iter__(self) -> "Reader":
        if self._found_rank is not None:
            _check_rank(*self._found_rank, self.dataset)
        return super().__iter__()

    def epoch(self, number: int) -> "Reader":
        """Moves the reader to the beginning of an epoch."""
        return super().epoch(_epoch_of(number))

    def resume(self, position: str) -> None:
        """Moves the reader to a position. It then returns exactly the samples that followed when the position was
        saved. The position contains the options of the order. If such an option was given to the reader, it must
        agree with the position, unless it has its default value."""
        if not isinstance(position, str):
            raise TypeError("a position is a text, not %r" % (position,))
        found = dict(word.split("=", 1) for word in position.split() if "=" in word)
        for word, standard in _ORDER.items():
            value = self._order[word]
            if value != standard and word in found and found[word] != str(value):
                option = _OPTION.get(word, word)
                raise ArgumentError("%s of this reader contradicts the position, which has %s=%s, "
                                    "not %s" % (option, word, found[word], value))
        super().resume(position)

    def close(self) -> None:
        """Ends the reader's threads and frees its memory."""
        super().close()
        self._claim = None

    def __exit__(self, *_: Any) -> None:
        self.close()

    def stats(self) -> Stats:
        return Stats(**super().stats())

    def batches(self, size: int, drop_last: bool = False) -> Iterator[Batch]:
        """Yields the rest of the epoch in batches of `size` samples. The last batch may be smaller."""
        iter(self)                      # after the end of an epoch, this begins the next epoch
        while True:
            batch = self.next_batch(size)
            if batch is None or (drop_last and len(batch) < size):
                return
            yield batch

    def __repr__(self) -> str:
        return "<sheaf.Reader of %r>" % (self.dataset,)


def fetch(source: Path, directory: Path, *, host: int = 0, hosts: int = 1,
          memory_bytes: Optional[Size] = None, memory: Optional[Size] = None, threads: int = 0,
          progress: Optional[Callable[[Progress], Any]] = None) -> FetchResult:
    """Copies the objects of a source, such as an s3:// prefix, into a directory, as `sheaf fetch` does. With n hosts,
    each host gets every n-th object. Objects that the directory already has are not copied again."""
    return FetchResult(**_sheaf.fetch(source, directory, host=host, hosts=hosts,
                                      memory_bytes=_size(256 << 20, memory=memory, memory_bytes=memory_bytes),
                                      threads=threads,
                                      progress=_told(progress, Progress)))


class _Problems:
    """Keeps the first problems in a list, and passes all problems to a callable."""

    MOST = 1000

    def __init__(self, report: Optional[Callable[[Problem], Any]]) -> None:
        self.found: List[Problem] = []
        self.report = report

    def __call__(self, problem: Problem) -> None:
        if len(self.found) < self.MOST:
            self.found.append(problem)
        if self.report is not None:
            self.report(problem)


def verify(source: Union[Source, Dataset], *, columns: Union[str, Sequence[str]] = (), part: int = 0, parts: int = 0,
           memory_bytes: Optional[Size] = None, memory: Optional[Size] = None, threads: int = 0,
           progress: Optional[Callable[[Progress], Any]] = None,
           report: Optional[Callable[[Problem], Any]] = None) -> VerifyResult:
    """Reads and checks everything: sizes, hashes, checksums, counts, the index. With `parts`, it checks only part
    number `part` of the shards, counted from 0. It also checks the columns that are named in `columns`, and that each
    of their records belongs to its sample.

    The result contains the problems that were found. An exception means that the check itself failed.

        assert not sheaf.verify("s3://bucket/train/").problems"""
    problems = _Problems(report)
    return VerifyResult(**_sheaf.verify(_opened(source), {"columns": columns}, part=part, parts=parts,
                                        memory_bytes=_size(_READER_MEMORY, memory=memory, memory_bytes=memory_bytes),
                                        threads=threads,
                                        progress=_told(progress, Progress),
                                        report=_told(problems, Problem)),
                        problems=problems.found)


def index(directory: Path, *, index: Optional[str] = None, overwrite: bool = False,
          keys: bool = False, memory_bytes: Optional[Size] = None, memory: Optional[Size] = None,
          threads: int = 0,
          progress: Optional[Callable[[Progress], Any]] = None,
          report: Optional[Callable[[Problem], Any]] = None,
          join: bool = False) -> VerifyResult:
    """Makes a data set of the foreign shards in a directory, as `sheaf index` does: it writes an index and a manifest
    beside them. `index` names other readers ("dali,mxnet,wids,energon") whose index files are written as well. With
    `join`, all files of a tar with the same key are one sample, even if they are not adjacent.

    With `keys`, the directory must already have a data set. Only its dataset.keys is written, which data sets of
    older releases lack.

    Raises ExistsError if there is already a manifest and `overwrite` is not set.

        sheaf.index("foreign-tars/", index="energon")"""
    if keys and (index is not None or overwrite or join):
        raise ArgumentError("keys=True writes dataset.keys only: index, join and overwrite do not belong to it")
    problems = _Problems(report)
    return VerifyResult(**_sheaf.index(directory, index, overwrite, keys, join,
                                       memory_bytes=_size(_READER_MEMORY, memory=memory, memory_bytes=memory_bytes),
                                       threads=threads, progress=_told(progress, Progress),
                                       report=_told(problems, Problem)),
                        problems=problems.found)


# These imports are last, because the modules use the names above.
from ._copies import (ConvertResult, PipeResult, UnpackResult,  # noqa: E402
                      convert, info, pipe, unpack)
from ._job import job  # noqa: E402
from ._pipe import claim_pipe as _claim_pipe  # noqa: E402
from ._views import Coming, View, locate, view  # noqa: E402
from . import columns  # noqa: E402
