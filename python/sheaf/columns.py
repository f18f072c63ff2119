# SPDX-License-Identifier: MIT
"""Columns: fields that are added to the samples of a data set after it was packed.

    sheaf.columns.add("s3://bucket/train/", "cap-v2", "captions.jsonl")
    sheaf.columns.write("s3://bucket/train/", "clip-l14", embed, jobs=8)
    for sample in sheaf.Reader("s3://bucket/train/", columns=["cap-v2"]):
        sample["cap-v2.txt"]

doc/columns.md describes them."""

from __future__ import annotations

import concurrent.futures
import itertools
import os
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from . import Path, Problem, Progress, Reader, Size, Source, _opened, _sheaf, _size, _told, _warn
from ._packing import _part
from ._types import S3, _s3
from ._views import View

Values = Optional[Mapping[str, Any]]


class ColumnResult(NamedTuple):
    """Counts of the values that were written: samples == with_values + missing. The other counts are of values that
    were left out. `unknown` counts values whose key the data set does not have. `repeated` counts values for a sample
    that already has one. `present` counts values for a sample for which the column already has a record. `elsewhere`
    counts values for samples of other parts of a plan."""
    samples: int
    with_values: int
    missing: int
    values: int
    payload_bytes: int
    unknown: int
    repeated: int
    present: int
    stored_bytes: int
    shards: int
    shards_kept: int
    memory_peak_bytes: int
    elsewhere: int = 0


class Column(NamedTuple):
    """A column of a data set. `uncovered` is the number of samples that were appended to the data set later. `fields`
    are the extensions of the column's fields. `error` says why the column cannot be read, or is None."""
    name: str
    samples: int
    missing: int
    uncovered: int
    stored_bytes: int
    shards: int
    layers: int
    fields: List[str]
    error: Optional[str]


def add(dataset: Path, name: str, source: Path, *, only_missing: bool = False, resume: bool = False,
        unknown_keys: str = "fail", duplicate_keys: str = "fail", memory: Size = "1GiB", jobs: int = 0,
        s3: S3 = None, progress: Optional[Callable[[Progress], Any]] = None,
        report: Optional[Callable[[Problem], Any]] = None) -> ColumnResult:
    """Adds a column with the values in a list or directory, as `sheaf column add` does.

    Raises NotFoundError if the data set does not have a key, unless unknown_keys is "skip". Raises ExistsError if the
    column exists, or if there is a second value for a field, unless duplicate_keys is "drop"."""
    return ColumnResult(**_sheaf.column_add(
        dataset, name, source, only_missing=only_missing, resume=resume, on_unknown=unknown_keys,
        on_repeated="skip" if duplicate_keys == "drop" else duplicate_keys,
        memory_bytes=_size("memory", memory, 0), jobs=jobs, s3=_s3(s3),
        progress=_told(progress, Progress), report=_told(_warn if report is None else report, Problem)))


def list(source: Source) -> List[Column]:
    """Returns the columns of a data set."""
    return [Column(**{**each, "fields": each["fields"].split(",") if each["fields"] else []})
            for each in _sheaf.column_list(_opened(source))]


def drop(dataset: Path, name: str) -> None:
    """Removes a column, or the leftovers of a column whose writing was interrupted."""
    _sheaf.column_drop(dataset, name)


def _checked(values: Values, fields: Optional[Sequence[str]]) -> Values:
    if values is not None and fields is not None:
        for field in values:
            if field not in fields:
                raise ValueError("the function returned the field %r: expected %s"
                                 % (field, " or ".join(fields)))
    return values


_function: Optional[Callable[[Dict[str, Any]], Values]] = None


def _take(function: Callable[[Dict[str, Any]], Values]) -> None:
    global _function
    _function = function


def _call(samples: Sequence[Dict[str, Any]]) -> Sequence[Values]:
    assert _function is not None
    return [_function(sample) for sample in samples]


def _samples(dataset: Path, first: int, end: int) -> Iterator[Dict[str, Any]]:
    """Yields the samples from number `first` up to, but not including, number `end`. The reader reads them ahead,
    shard by shard."""
    if first == end:
        return
    is_whole = first == 0 and end == len(_opened(dataset))
    source: Source = dataset if is_whole else View(dataset, where={"range": [first, end]})
    with Reader(source, no_shuffle=True, rank=0, world_size=1, worker=0, workers=1, seed=0, epoch=0, lanes=1,
                shuffle_buffer=0) as reader:
        for sample in reader:
            yield {"__key__": sample.key, "__label__": sample.label,
                   **{name: bytes(sample[name]) for name in sample}}


def _batches(samples: Iterator[Dict[str, Any]], size: int) -> Iterator[List[Dict[str, Any]]]:
    while True:
        batch = [*itertools.islice(samples, size)]
        if not batch:
            return
        yield batch


def _results(samples: Iterator[Dict[str, Any]], function: Callable[[Dict[str, Any]], Values], jobs: int,
             batch: int) -> Iterator[Values]:
    """Yields the result of the function for each sample, in order."""
    if jobs <= 1:
        yield from map(function, samples)
        return
    with concurrent.futures.ProcessPoolExecutor(jobs, initializer=_take, initargs=(function,)) as pool:
        waiting: Deque[concurrent.futures.Future[Sequence[Values]]] = deque()
        for each in _batches(samples, batch):
            waiting.append(pool.submit(_call, each))
            if len(waiting) > 2 * jobs:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def write(dataset: Path, name: str, function: Callable[[Dict[str, Any]], Values], *,
          fields: Optional[Sequence[str]] = None, jobs: int = 1, batch: int = 16,
          version: str = "", only_missing: bool = False, resume: bool = False,
          memory: Size = "1GiB", s3: S3 = None) -> ColumnResult:
    """Writes a column with the results of function(sample) for each sample. A result is a dict from extensions to
    bytes, or None if the sample has no value. The sample is a dict of its fields as bytes, with __key__ and
    __label__. `fields` are the extensions that are allowed.

    With `jobs`, the function is called in that number of processes, for `batch` samples at once. It must then be a
    function that can be pickled.

    With `resume`, an interrupted run continues after the last finished shard of the column. `version` must then be
    the same as before.

        sheaf.columns.write("shards/", "size", lambda sample: {"txt": b"%d" % len(sample["jpg"])})"""
    path = os.fspath(dataset)
    writer = _sheaf.ColumnWriter(path, name, only_missing=only_missing, resume=resume,
                                 memory_bytes=_size("memory", memory, 0), version=version, s3=_s3(s3))
    try:
        samples = _samples(path, writer.next, writer.end)
        for values in _results(samples, function, jobs, batch):
            writer.append(_checked(values, fields))
        return ColumnResult(**writer.finish())
    finally:
        writer.close()


def plan(dataset: Path, name: str, plan: Path, *, source: Optional[Path] = None, version: str = "",
         only_missing: bool = False, resume: bool = False, s3: S3 = None,
         progress: Optional[Callable[[Progress], Any]] = None) -> ColumnResult:
    """Stores a plan for adding a column in parts, on any number of machines. Call `plan` once, then add_part or
    write_part for each part, and then sheaf.commit. Nothing is visible before the commit.

    `source` is as for add(). It is None if a function makes the values. `version` then tells versions of the function
    apart: with `resume`, finished shards of an earlier plan are kept only if the version is the same."""
    return ColumnResult(**_sheaf.column_plan(dataset, name, source, plan, version=version, only_missing=only_missing,
                                             resume=resume, s3=_s3(s3), progress=_told(progress, Progress)))


def add_part(plan: Path, part: Optional[int] = None, parts: Optional[int] = None, *, unknown_keys: str = "fail",
             duplicate_keys: str = "fail", memory: Size = "1GiB", jobs: int = 0, s3: S3 = None,
             progress: Optional[Callable[[Progress], Any]] = None,
             report: Optional[Callable[[Problem], Any]] = None) -> ColumnResult:
    """Writes part number `part`, counted from 0, of `parts` of a plan with a source. Parts may be written in any
    order, at the same time, or again. If part and parts are not given, they are taken from the environment, as by
    sheaf.pack_part. Raises ChangedError if the source has other values than when the plan was made."""
    return ColumnResult(**_sheaf.column_add_part(
        plan, *_part(part, parts), on_unknown=unknown_keys,
        on_repeated="skip" if duplicate_keys == "drop" else duplicate_keys, memory_bytes=_size("memory", memory, 0),
        jobs=jobs, s3=_s3(s3), progress=_told(progress, Progress),
        report=_told(_warn if report is None else report, Problem)))


def write_part(plan: Path, function: Callable[[Dict[str, Any]], Values], part: Optional[int] = None,
               parts: Optional[int] = None, *, fields: Optional[Sequence[str]] = None, jobs: int = 1, batch: int = 16,
               memory: Size = "1GiB", s3: S3 = None) -> ColumnResult:
    """Writes a part of a plan with the results of function(sample), as write() does for a whole column. Finished
    shards are kept, so a part that was killed is simply written again. part and parts are as in add_part().

        sheaf.columns.plan("shards/", "size", "size.plan")
        sheaf.columns.write_part("size.plan", lambda sample: {"txt": b"%d" % len(sample["jpg"])}, 0, 2)
        sheaf.columns.write_part("size.plan", lambda sample: {"txt": b"%d" % len(sample["jpg"])}, 1, 2)
        sheaf.commit("size.plan")"""
    writer = _sheaf.ColumnWriter(os.fspath(plan), *_part(part, parts), memory_bytes=_size("memory", memory, 0),
                                 s3=_s3(s3))
    try:
        dataset = _planned_base(plan)
        while writer.next != writer.end:
            samples = _samples(dataset, writer.next, writer.end)
            for values in _results(samples, function, jobs, batch):
                writer.append(_checked(values, fields))
        return ColumnResult(**writer.finish())
    finally:
        writer.close()


def _planned_base(plan: Path) -> str:
    """Returns the URL of the data set to which the column of a plan belongs."""
    info = _sheaf.plan_info(plan)
    assert info is not None
    return str(info["root"])
