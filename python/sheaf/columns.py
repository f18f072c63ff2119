# SPDX-License-Identifier: MIT
"""Columns: fields that are added to the samples of a data set after it was packed.

    sheaf.columns.add("s3://bucket/train/", "cap-v2", "captions.jsonl")
    sheaf.columns.write("s3://bucket/train/", "clip-l14", embed, jobs=8)
    for sample in sheaf.Reader("s3://bucket/train/", columns=["cap-v2"]):
        sample["cap-v2.txt"]

doc/columns.md describes them."""

from __future__ import annotations

import collections.abc
import concurrent.futures
import concurrent.futures.process
import contextlib
import itertools
import json
import os
import tempfile
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import Path, Problem, Progress, Reader, Size, Source, _opened, _sheaf, _size, _told, _warn, sources
from ._decode import named, unstopped
from ._packing import _is_files, _part
from ._pool import TransformError
from ._sheaf import ArgumentError
from ._types import S3, _s3
from ._views import View

Values = Optional[Mapping[str, Any]]
# A sample and its number in the data set.
Numbered = Tuple[int, Dict[str, Any]]
# The name of a sample for messages, and its values.
Made = Tuple[str, Values]


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


Rows = Iterable[Mapping[str, Any]]


def _plain(value: Any) -> Any:
    """Returns a value that JSON does not have in a form that JSON has: text for bytes, dates and decimal numbers, and
    a list or a number for an array. Raises TypeError if there is no such form, and ValueError for bytes that are not
    UTF-8."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode()
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "as_tuple"):      # decimal.Decimal
        return str(value)
    raise TypeError("it is a %s" % type(value).__name__)


def _json(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, default=_plain, allow_nan=False, ensure_ascii=False)


def _line(number: int, key: Any, fields: Mapping[str, Any]) -> str:
    """Returns a row as a line of JSON."""
    if "key" in fields:
        raise ArgumentError("row %d: a column 'key' cannot become a field: choose the columns with fields=" % number)
    try:
        return _json({"key": str(key), **fields}) + "\n"
    except (TypeError, ValueError):
        for name, value in fields.items():
            try:
                _json({name: value})
            except (TypeError, ValueError) as error:
                raise ArgumentError("row %d, the key %r: the value %r cannot be written as text or JSON (%s); write "
                                    "such values with sheaf.columns.write, or as files KEY.%s" %
                                    (number, key, name, error, name)) from None
        raise


def _lines(source: Any) -> Iterator[str]:
    """Yields the rows of a source of sheaf.sources, or of any other iterable of mappings, as lines of JSON."""
    is_source = hasattr(source, "key_column")
    named = source.key_column if is_source else None
    for number, row in enumerate(source.values() if is_source else source, 1):
        if not isinstance(row, collections.abc.Mapping):
            raise ArgumentError("row %d is a %s, expected a mapping with a key and values" % (number,
                                                                                             type(row).__name__))
        key = named or next((usual for usual in ("key", "__key__") if usual in row), "key")
        if row.get(key) is None:
            raise ArgumentError("row %d has no %r, which names the sample: it has %s" % (
                number, key, ", ".join(map(repr, row))))
        wanted = source.field_names if is_source else None
        yield _line(number, row[key], {to: row[column] for column, to in wanted.items()} if wanted is not None else
                    {column: value for column, value in row.items() if column != key})


class _Given(NamedTuple):
    """A source that sheaf_column_add reads, and its place in messages if it is a temporary file of rows: `shown` is the
    path that the program gave, or None."""
    path: Path
    is_temporary: bool = False
    shown: Optional[str] = None

    def told(self, message: str) -> str:
        """Returns a message of the library in which the program's source is named instead of the temporary file. Each
        line of this file is a row."""
        if not self.is_temporary:
            return message
        where = "" if self.shown is None else self.shown + ": "
        return message.replace("%s: line " % self.path, where + "row ").replace(
            str(self.path), self.shown or "the source")


@contextlib.contextmanager
def _as_path(source: Union[Path, Rows]) -> Iterator[_Given]:
    """Gives a source that sheaf_column_add reads. Rows are first written to a temporary file, which the messages of
    errors do not name."""
    shown = None
    if isinstance(source, (str, bytes, os.PathLike)):
        shown = os.fsdecode(source)
        if not shown.lower().endswith(".parquet"):
            yield _Given(source)
            return
        source = sources.parquet(source)
    elif _is_files(source):
        raise ArgumentError("expected one path, or rows with a key and values, not %.100r" % (source,))
    with tempfile.TemporaryDirectory(prefix="sheaf-") as folder:
        path = os.path.join(folder, "rows.jsonl")
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(_lines(sources.of(source)))
        given = _Given(path, True, shown)
        try:
            yield given
        except _sheaf.Error as error:
            error.args = (given.told(str(error)),)
            raise


def add(dataset: Path, name: str, source: Union[Path, Rows], *, only_missing: bool = False, resume: bool = False,
        unknown_keys: str = "fail", duplicate_keys: str = "fail", memory: Size = "1GiB", jobs: int = 0,
        s3: S3 = None, progress: Optional[Callable[[Progress], Any]] = None,
        report: Optional[Callable[[Problem], Any]] = None) -> ColumnResult:
    """Adds a column with the values in a list or directory, as `sheaf column add` does. The source may also be a
    Parquet file, a source of sheaf.sources, or an iterable of mappings. Each row then has the key of a sample in
    "key", or in the column that the source names. Every other column becomes a field with the same name, and a column
    "value" becomes the field txt or json. The rows are first written to a temporary file.

        sheaf.columns.add("shards/", "cap-v2", "captions.parquet")
        sheaf.columns.add("shards/", "score", ({"key": key, "score": rate(key)} for key in keys))

    Raises NotFoundError if the data set does not have a key, unless unknown_keys is "skip". Raises ExistsError if the
    column exists, or if there is a second value for a field, unless duplicate_keys is "drop"."""
    tell = _warn if report is None else report
    with _as_path(source) as given:
        return ColumnResult(**_sheaf.column_add(
            dataset, name, given.path, only_missing=only_missing, resume=resume, on_unknown=unknown_keys,
            on_repeated="skip" if duplicate_keys == "drop" else duplicate_keys,
            memory_bytes=_size(0, memory=memory), jobs=jobs, s3=_s3(s3),
            progress=_told(progress, Progress),
            report=_told(lambda problem: tell(Problem(given.told(problem.where), problem.code,
                                                      given.told(problem.message))), Problem)))


def list(source: Source) -> List[Column]:
    """Returns the columns of a data set."""
    return [Column(**{**each, "fields": each["fields"].split(",") if each["fields"] else []})
            for each in _sheaf.column_list(_opened(source))]


def drop(dataset: Path, name: str) -> None:
    """Removes a column, or the leftovers of a column whose writing was interrupted."""
    _sheaf.column_drop(dataset, name)


class _Maker(NamedTuple):
    """Makes the values of samples with the program's function. Returns the name of the sample for messages, and its
    values."""
    function: Callable[[Dict[str, Any]], Values]
    fields: Optional[Sequence[str]]

    def __call__(self, number: int, sample: Dict[str, Any]) -> Made:
        where = "sample %r (number %d)" % (sample["__key__"], number)
        try:
            values = self.function(sample)
        except Exception as error:
            raise named(unstopped(error), where)
        if values is not None and not isinstance(values, collections.abc.Mapping):
            raise ArgumentError("%s: the function returned %.100r, expected a dict from extensions to bytes, such as "
                                "{\"txt\": b\"...\"}, or None" % (where, values))
        for field in values or ():
            if self.fields is not None and field not in self.fields:
                raise ArgumentError("%s: the function returned the field %r: expected %s" % (
                    where, field, " or ".join(self.fields)))
        return where, values


_maker: Optional[_Maker] = None


def _take(maker: _Maker) -> None:
    global _maker
    _maker = maker


def _call(samples: Sequence[Numbered]) -> Sequence[Made]:
    assert _maker is not None
    return [_maker(*each) for each in samples]


def _samples(dataset: Path, first: int, end: int) -> Iterator[Numbered]:
    """Yields the samples from number `first` up to, but not including, number `end`, with their numbers. The reader
    reads them ahead, shard by shard."""
    if first == end:
        return
    is_whole = first == 0 and end == len(_opened(dataset))
    source: Source = dataset if is_whole else View(dataset, where={"range": [first, end]})
    with Reader(source, no_shuffle=True, rank=0, world_size=1, worker=0, workers=1, seed=0, epoch=0, lanes=1,
                shuffle_buffer=0) as reader:
        for number, sample in enumerate(reader, first):
            yield number, {"__key__": sample.key, "__label__": sample.label,
                           **{name: bytes(sample[name]) for name in sample}}


def _batches(samples: Iterator[Numbered], size: int) -> Iterator[List[Numbered]]:
    while True:
        batch = [*itertools.islice(samples, size)]
        if not batch:
            return
        yield batch


def _made(pool: concurrent.futures.Executor, samples: Iterator[Numbered], jobs: int,
          batch: int) -> Iterator[Sequence[Made]]:
    """Yields the results of the processes for batches of samples, in order."""
    waiting: Deque[concurrent.futures.Future[Sequence[Made]]] = deque()
    for each in _batches(samples, batch):
        waiting.append(pool.submit(_call, each))
        if len(waiting) > 2 * jobs:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _results(samples: Iterator[Numbered], maker: _Maker, jobs: int, batch: int) -> Iterator[Made]:
    """Yields the result of the function for each sample, in order."""
    if jobs <= 1:
        yield from itertools.starmap(maker, samples)
        return
    place = "among the first samples"
    with concurrent.futures.ProcessPoolExecutor(jobs, initializer=_take, initargs=(maker,)) as pool:
        try:
            for made in _made(pool, samples, jobs, batch):
                place = "after " + made[-1][0]
                yield from made
        except concurrent.futures.process.BrokenProcessPool as error:
            raise TransformError(
                "%s: a process that called the function died: it was killed, most often because there was too little "
                "memory, or the function crashed. Call this again with fewer jobs or a smaller batch; write() keeps "
                "the finished shards if resume=True" % place) from error


def _write(writer: _sheaf.ColumnWriter, results: Iterable[Made]) -> None:
    for where, values in results:
        try:
            writer.append(values)
        except (TypeError, ArgumentError) as error:
            raise named(error, where)


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
                                 memory_bytes=_size(0, memory=memory), version=version, s3=_s3(s3))
    try:
        samples = _samples(path, writer.next, writer.end)
        _write(writer, _results(samples, _Maker(function, fields), jobs, batch))
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
        on_repeated="skip" if duplicate_keys == "drop" else duplicate_keys, memory_bytes=_size(0, memory=memory),
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
    writer = _sheaf.ColumnWriter(os.fspath(plan), *_part(part, parts), memory_bytes=_size(0, memory=memory),
                                 s3=_s3(s3))
    try:
        dataset = _planned_base(plan)
        while writer.next != writer.end:
            samples = _samples(dataset, writer.next, writer.end)
            _write(writer, _results(samples, _Maker(function, fields), jobs, batch))
        return ColumnResult(**writer.finish())
    finally:
        writer.close()


def _planned_base(plan: Path) -> str:
    """Returns the URL of the data set to which the column of a plan belongs."""
    info = _sheaf.plan_info(plan)
    assert info is not None
    return str(info["root"])
