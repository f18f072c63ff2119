# SPDX-License-Identifier: MIT
"""Samples of other libraries' data sets, for sheaf.pack.

    sheaf.pack(sheaf.sources.parquet("train.parquet", fields={"image": "jpg"}), "shards/")
    sheaf.pack(sheaf.sources.mds("mds/", key="id"), "shards/", format="tfrecord")
    sheaf.pack(sheaf.sources.huggingface(dataset), "shards/", transform=smaller, jobs=8)

Each is a sequence of samples: len(source), source[i], iteration.  It reads as it goes on, with the
other library, which must be installed.

A sample's key is the column `key`, or else "__key__", or else the sample's number, in nine digits.
Its labels are the column `label`, or else "label" or "cls": a number, several, or a class's name,
which needs pack(classes=[...]) unless the data set has names itself.  The other columns are its
fields, or those that `fields` names: {"image": "jpg"} stores the column image as the field jpg,
["image"] as image.  A column that is None in a sample is no field of it.

What a field holds, here and wherever sheaf.pack takes samples, follows from the type:

    bytes, bytearray, memoryview    as they are, under the column's name: "image"
    an encoded image of a library   its bytes as they are: a JPEG stays that JPEG: "image"
    str                             UTF-8 text                        "caption.txt"
    an array, a tensor              a .npy file                       "mask.npy"
    an image that is only pixels    a PNG                             "image.png"
    numbers, lists, dicts, ...      JSON                              "meta.json"

A name that has the suffix already stays: "txt", "caption.txt"."""

from __future__ import annotations

import collections.abc
import importlib
import itertools
import json
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._samples import Row
from ._sheaf import ArgumentError
from ._types import Path

__all__ = ["arrayrecord", "huggingface", "litdata", "mds", "parquet"]

Fields = Union[None, Mapping[str, str], Sequence[str]]


def of(source: Any) -> Any:
    """What sheaf.pack was given, as what it iterates over."""
    if type(source).__module__.partition(".")[0] == "datasets":
        return huggingface(source)
    return source


def _need(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError("this source needs the package %s, pip install %s (%s)" % (
            package, package, error)) from error


def _stamp(paths: Sequence[Path]) -> str:
    """What tells that files are the same as before."""
    return json.dumps([[os.path.basename(os.fsdecode(path)), os.stat(path).st_size,
                        os.stat(path).st_mtime_ns] for path in paths])


class _Source(collections.abc.Sequence):        # type: ignore[type-arg]
    """Samples with columns.  A source has rows(first): the rows from number `first` on, as dicts."""

    identity: Optional[str] = None      # by which a run that resumes knows it again
    classes: Optional[List[str]] = None
    samples = 0

    def __init__(self, key: Optional[str], label: Optional[str], fields: Fields) -> None:
        self._key, self._label = key, label
        self._fields = fields if fields is None or isinstance(fields, collections.abc.Mapping) \
            else {name: name for name in fields}
        if isinstance(fields, str):
            raise ArgumentError("fields=%r: expected names, or a mapping from columns to fields"
                                % fields)

    def rows(self, first: int) -> Iterator[Dict[str, Any]]:
        raise NotImplementedError

    def begin(self, first: int) -> Iterator[Row]:
        """The samples from number `first` on."""
        for number, row in enumerate(self.rows(first), first):
            yield self._sample(row, number)

    def _sample(self, row: Dict[str, Any], number: int) -> Row:
        key = self._column(row, self._key, "__key__")
        label = self._column(row, self._label, "label", "cls")
        labels, class_name = (None, None) if label is None else self._labels(row[label])
        if self._fields is not None:
            for name in self._fields:
                self._column(row, name)
            fields = {to: row[name] for name, to in self._fields.items()}
        else:
            fields = {name: value for name, value in row.items() if name not in (key, label)}
        return Row("%09d" % number if key is None else str(row[key]),
                   {name: _encoded(value) for name, value in fields.items() if value is not None},
                   labels, class_name, number)

    @staticmethod
    def _column(row: Dict[str, Any], given: Optional[str], *usual: str) -> Optional[str]:
        if given is not None and given not in row:
            raise ArgumentError("there is no column %r, but %s" % (
                given, ", ".join(map(repr, row))))
        return given or next((name for name in usual if name in row), None)

    @staticmethod
    def _labels(value: Any) -> Tuple[Any, Optional[str]]:
        return (None, value) if isinstance(value, str) else (value, None)

    def __iter__(self) -> Iterator[Row]:
        return self.begin(0)

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        number = range(len(self))[index]
        return next(self.begin(number))


def _encoded(value: Any) -> Any:
    """An image or a sound that Hugging Face's formats keep as {"bytes": ..., "path": ...}."""
    if isinstance(value, dict) and set(value) == {"bytes", "path"}:
        if value["bytes"] is not None:
            return value["bytes"]
        with open(value["path"], "rb") as file:
            return file.read()
    return value


# ---- Parquet -------------------------------------------------------------------------------------

class parquet(_Source):                 # pylint: disable=invalid-name
    """The rows of a Parquet file, of several, or of those of a directory, in byte order of names.

        sheaf.pack(sheaf.sources.parquet("train/", key="id", fields={"image": "jpg"}), "shards/")"""

    def __init__(self, path: Union[Path, Sequence[Path]], *, key: Optional[str] = None,
                 label: Optional[str] = None, fields: Fields = None) -> None:
        super().__init__(key, label, fields)
        self._parquet = _need("pyarrow.parquet", "pyarrow")
        given = [path] if isinstance(path, (str, bytes, os.PathLike)) else list(path)
        self._paths = [file for each in given for file in _below(each, ".parquet")]
        self._counts = [self._parquet.read_metadata(file).num_rows for file in self._paths]
        self.samples = sum(self._counts)
        self.identity = "parquet " + _stamp(self._paths)

    def rows(self, first: int) -> Iterator[Dict[str, Any]]:
        columns = None
        if self._fields is not None:
            wanted = {*self._fields, self._key, self._label, "__key__", "label", "cls"}
        for path, count in zip(self._paths, self._counts):
            if first >= count:
                first -= count
                continue
            with self._parquet.ParquetFile(path) as file:
                if self._fields is not None:
                    columns = [name for name in file.schema_arrow.names if name in wanted]
                for group in range(file.num_row_groups):
                    rows = file.metadata.row_group(group).num_rows
                    if first >= rows:
                        first -= rows
                        continue
                    for batch in file.iter_batches(64, row_groups=[group], columns=columns):
                        yield from batch.slice(first).to_pylist()
                        first = max(first - len(batch), 0)


def _below(path: Path, suffix: str) -> List[str]:
    """A file, or those of a directory."""
    text = os.fsdecode(path)
    if not os.path.isdir(text):
        return [text]
    found = sorted(os.path.join(text, name) for name in os.listdir(text) if name.endswith(suffix))
    if not found:
        raise ArgumentError("%s: there is no file *%s in it" % (text, suffix))
    return found


# ---- Hugging Face --------------------------------------------------------------------------------

class huggingface(_Source):             # pylint: disable=invalid-name
    """The rows of a datasets.Dataset or IterableDataset: a split of a data set.  Images and sounds
    are not decoded.  A column of ClassLabel has the names of the classes.

        dataset = datasets.load_dataset("imagefolder", data_dir="images/", split="train")
        sheaf.pack(sheaf.sources.huggingface(dataset, fields={"image": "jpg"}), "shards/")"""

    def __init__(self, dataset: Any, *, key: Optional[str] = None, label: Optional[str] = None,
                 fields: Fields = None) -> None:
        super().__init__(key, label, fields)
        if isinstance(dataset, dict):
            raise ArgumentError("these are several splits (%s): choose one, dataset[%r]" % (
                ", ".join(dataset), next(iter(dataset), "train")))
        self.identity = getattr(dataset, "_fingerprint", None) and "huggingface %s" % \
            dataset._fingerprint
        features = dataset.features or {}
        named = label or next((name for name in ("label", "cls") if name in features), None)
        self.classes = getattr(features.get(named), "names", None)
        self._arrays = {name: feature.dtype for name, feature in features.items()
                        if type(feature).__name__.startswith("Array")}
        for name, feature in features.items():
            if getattr(feature, "decode", False):
                dataset = dataset.cast_column(name, type(feature)(decode=False))
        self._dataset = dataset.with_format(None)
        self.samples = len(dataset) if hasattr(dataset, "__len__") else 0

    def rows(self, first: int) -> Iterator[Dict[str, Any]]:
        if hasattr(self._dataset, "__len__"):
            rows = (self._dataset[i] for i in range(first, len(self._dataset)))
        else:
            rows = iter(self._dataset.skip(first))
        for row in rows:
            for name, kind in self._arrays.items():
                row[name] = _need("numpy", "numpy").asarray(row[name], dtype=kind)
            yield row


# ---- Mosaic Streaming ----------------------------------------------------------------------------

class mds(_Source):                     # pylint: disable=invalid-name
    """The samples of a directory of MDS shards (mosaicml-streaming), compressed or not.  Columns
    encoded as jpeg or png stay encoded.

        sheaf.pack(sheaf.sources.mds("mds/train", label="class"), "shards/")"""

    def __init__(self, directory: Path, *, key: Optional[str] = None, label: Optional[str] = None,
                 fields: Fields = None) -> None:
        super().__init__(key, label, fields)
        local = os.fsdecode(directory)
        self._streaming = _need("streaming", "mosaicml-streaming")
        self._encodings = _need("streaming.base.format.mds.encodings", "mosaicml-streaming")
        self._shards = self._streaming.LocalDataset(local).shards
        for shard in self._shards:
            shard.validate(False)       # a pickle may run anything
            if not hasattr(shard, "column_encodings"):
                raise ArgumentError("%s: its shards are not MDS" % local)
        self.samples = sum(shard.samples for shard in self._shards)
        self.identity = "mds " + _stamp([os.path.join(local, "index.json")])

    def rows(self, first: int) -> Iterator[Dict[str, Any]]:
        for shard in self._shards:
            if first >= shard.samples:
                first -= shard.samples
                continue
            data = self._read(shard)
            ends = memoryview(data)[4:8 + 4 * shard.samples].cast("I")
            for i in range(first, shard.samples):
                yield self._row(shard, data[ends[i]:ends[i + 1]])
            first = 0

    def _read(self, shard: Any) -> bytes:
        path = os.path.join(shard.dirname, shard.split, shard.raw_data.basename)
        if os.path.exists(path):
            with open(path, "rb") as file:
                return file.read()
        with open(os.path.join(shard.dirname, shard.split, shard.zip_data.basename), "rb") as file:
            compression = _need("streaming.base.compression", "mosaicml-streaming")
            return compression.decompress(shard.compression, file.read())

    def _row(self, shard: Any, data: bytes) -> Dict[str, Any]:
        """The sizes of columns that have no fixed one, then all columns."""
        at = 4 * sum(not size for size in shard.column_sizes)
        sizes = iter(memoryview(data)[:at].cast("I"))
        row: Dict[str, Any] = {}
        for name, kind, fixed in zip(shard.column_names, shard.column_encodings,
                                     shard.column_sizes):
            end = at + (fixed or next(sizes))
            part = data[at:end]
            row[name] = part if kind in ("jpeg", "png") else self._encodings.mds_decode(kind, part)
            at = end
        return row


# ---- litData -------------------------------------------------------------------------------------

class litdata(_Source):                 # pylint: disable=invalid-name
    """The samples of a directory that litData's optimize() has written: of dicts the items, of tuples
    and lists columns "0", "1", ..., of anything else the column "0".  JPEG images stay encoded.

        sheaf.pack(sheaf.sources.litdata("optimized/", label="class"), "shards/")"""

    def __init__(self, directory: Path, *, key: Optional[str] = None, label: Optional[str] = None,
                 fields: Fields = None) -> None:
        super().__init__(key, label, fields)
        local = os.fsdecode(directory)
        peer = _need("litdata", "litdata")
        serializer = _need("litdata.streaming.serializers", "litdata").JPEGSerializer

        class Encoded(serializer):      # type: ignore[misc, valid-type]
            """Gives the bytes as they are."""

            def deserialize(self, data: Any) -> bytes:
                return bytes(data)

        self._dataset = peer.StreamingDataset(local, shuffle=False,
                                              serializers={"jpeg": Encoded()})
        self.samples = len(self._dataset)
        self.identity = "litdata " + _stamp([os.path.join(local, "index.json")])

    def rows(self, first: int) -> Iterator[Dict[str, Any]]:
        for i in range(first, self.samples):
            item = self._dataset[i]
            if not isinstance(item, dict):
                item = {str(k): value for k, value in enumerate(
                    item if isinstance(item, (tuple, list)) else (item,))}
            yield item


# ---- ArrayRecord ---------------------------------------------------------------------------------

class arrayrecord(_Source):             # pylint: disable=invalid-name
    """The records of ArrayRecord files, of several, or of those of a directory.  A record is bytes,
    which are the field `field`; a transform can take them apart.

        sheaf.pack(sheaf.sources.arrayrecord("train/"), "shards/", transform=parse)"""

    def __init__(self, path: Union[Path, Sequence[Path]], *, field: str = "bin") -> None:
        super().__init__(None, None, None)
        peer = _need("array_record.python.array_record_data_source", "array-record")
        given = [path] if isinstance(path, (str, bytes, os.PathLike)) else list(path)
        paths = [file for each in given
                 for file in _below(each, "" if _has_parts(each) else ".array_record")]
        self._field = field
        self._records = peer.ArrayRecordDataSource(paths)
        self.samples = len(self._records)
        self.identity = "arrayrecord " + _stamp(paths)

    def rows(self, first: int) -> Iterator[Dict[str, Any]]:
        numbers = iter(range(first, self.samples))
        while some := list(itertools.islice(numbers, 64)):
            for record in self._records.__getitems__(some):
                yield {self._field: record}


def _has_parts(path: Path) -> bool:
    """Files of a directory may be train.array_record-00000-of-00004."""
    return os.path.isdir(path) and not any(
        name.endswith(".array_record") for name in os.listdir(os.fsdecode(path)))
