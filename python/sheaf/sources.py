# SPDX-License-Identifier: MIT
"""Samples of other libraries' data sets, for sheaf.pack.

    sheaf.pack(sheaf.sources.parquet("train.parquet", fields={"image": "jpg"}), "shards/")
    sheaf.pack(sheaf.sources.mds("mds/", key="id"), "shards/", format="tfrecord")
    sheaf.pack(sheaf.sources.huggingface(dataset), "shards/", transform=smaller, jobs=8)

Each source is a sequence of samples: len(source), source[i], iteration. It reads samples when they are needed, with
the other library, which must be installed.

A sample's key is the column `key`. If this is not given, it is the column "__key__", or else the sample's number, in
nine digits.

A sample's labels are the column `label`. If this is not given, they are the column "__label__", "label", "labels",
"cls", "class" or "class_name", in upper or lower case. The value is a number, several numbers, or the name of a
class. Numbers may be those of Python, NumPy or PyTorch; several numbers may be a list, an array or a tensor. None
and an empty list are no label. A fraction is rounded to a 32-bit float. An integer is never rounded: beyond 2^53, it
is refused unless a 32-bit float equals it. A name needs pack(classes=[...]), unless the data set itself has names.
The same rules hold for the dicts and tuples that a program makes. A value that cannot be a label, such as a box,
stays a field.

The other columns are the sample's fields, or only those that `fields` names: {"image": "jpg"} stores the column image
as the field jpg, ["image"] stores it as image. A column that is None in a sample does not become a field of it.

The content of a field follows from the type of the value, here and wherever sheaf.pack takes samples:

    bytes, bytearray, memoryview    as they are, under the column's name: "image"
    an encoded image of a library   its bytes as they are, named by their kind, "jpg", "png", "webp",
                                    if it is the only image and `fields` names none; several are
                                    "image.jpg"; JPEGs are checked as files are
    str                             UTF-8 text                        "caption.txt"
    an array, a tensor              a .npy file                       "mask.npy"
    an image that is only pixels    a PNG                             "image.png"
    numbers, lists, dicts, ...      JSON                              "meta.json"

A name that already has the suffix is kept: "txt", "caption.txt"."""

from __future__ import annotations

import collections.abc
import importlib
import itertools
import json
import os
import shutil
import tempfile
import urllib.parse
import warnings
import weakref
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._rows import LABELS, PATHS, label_of, unpack_images
from ._samples import Row
from ._sheaf import ArgumentError
from ._types import Path

__all__ = ["arrayrecord", "huggingface", "litdata", "mds", "parquet"]

Fields = Union[None, Mapping[str, str], Sequence[str]]


def of(source: Any) -> Any:
    """Returns the source of sheaf.pack in a form that it can iterate over."""
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
    """Returns a text that changes when one of the files changes."""
    return json.dumps([[os.path.basename(os.fsdecode(path)), os.stat(path).st_size,
                        os.stat(path).st_mtime_ns] for path in paths])


class _Source(collections.abc.Sequence):        # type: ignore[type-arg]
    """A source of samples with columns. rows(first) yields the rows from number `first` on, as dicts."""

    identity: Optional[str] = None      # recognises the source when a run is resumed
    classes: Optional[List[str]] = None
    images: Tuple[str, ...] = ()        # columns that contain images
    no_label: Optional[int] = None      # the number that means "no label"
    samples = 0

    def __init__(self, key: Optional[str], label: Optional[str], fields: Fields) -> None:
        self._key, self._label = key, label
        self._fields = fields if fields is None or isinstance(fields, collections.abc.Mapping) \
            else {name: name for name in fields}
        if isinstance(fields, str):
            raise ArgumentError("fields=%r: expected names, or a mapping from columns to fields"
                                % fields)

    @property
    def key_column(self) -> Optional[str]:
        """The column that the program has named as the key."""
        return self._key

    @property
    def field_names(self) -> Optional[Mapping[str, str]]:
        """The columns that the program has chosen, and the names of their fields. None if all columns are fields."""
        return self._fields

    def rows(self, first: int) -> Iterator[Dict[str, Any]]:
        raise NotImplementedError

    def values(self) -> Iterator[Dict[str, Any]]:
        """Yields the rows as they are stored. A path in a row stays a path."""
        return self.rows(0)

    def begin(self, first: int) -> Iterator[Row]:
        """Yields the samples from number `first` on."""
        for number, row in enumerate(self.rows(first), first):
            yield self._sample(row, number)

    def _sample(self, row: Dict[str, Any], number: int) -> Row:
        key = self._column(row, self._key, "__key__")
        said = label_of(row, self._column(row, self._label))
        if self._label is not None and row[self._label] is not None and not said.columns:
            raise ArgumentError("sample %d: the column %r is %.50r, expected a label: a number, "
                                "several, or the name of a class" % (number, self._label,
                                                                     row[self._label]))
        if self._fields is not None:
            for name in self._fields:
                self._column(row, name)
            fields = {to: row[name] for name, to in self._fields.items()}
        else:
            fields = {name: value for name, value in row.items()
                      if name != key and name not in said.columns}
        fields = {name: value for name, value in fields.items() if value is not None}
        fields, names = unpack_images(fields, self.images)
        return Row("%09d" % number if key is None else str(row[key]), fields,
                   None if said.labels == self.no_label else said.labels, said.class_name, number,
                   names if self._fields is None else None)

    @staticmethod
    def _column(row: Dict[str, Any], given: Optional[str], *usual: str) -> Optional[str]:
        if given is not None and given not in row:
            raise ArgumentError("there is no column %r, but %s" % (
                given, ", ".join(map(repr, row))))
        return given or next((name for name in usual if name in row), None)

    def __iter__(self) -> Iterator[Row]:
        return self.begin(0)

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        number = range(len(self))[index]
        return next(self.begin(number))


# ---- Parquet -------------------------------------------------------------------------------------

class parquet(_Source):                 # pylint: disable=invalid-name
    """Returns the rows of a Parquet file, of several files, or of the files in a directory and its
    subdirectories, in byte order of their paths. Files at s3://, https:// and hf:// are first copied to a temporary
    directory. So are the files that such a table names.

        sheaf.pack(sheaf.sources.parquet("train/", key="id", fields={"image": "jpg"}), "shards/")"""

    def __init__(self, path: Union[Path, Sequence[Path]], *, key: Optional[str] = None,
                 label: Optional[str] = None, fields: Fields = None) -> None:
        super().__init__(key, label, fields)
        self._parquet = _need("pyarrow.parquet", "pyarrow")
        given = [path] if isinstance(path, (str, bytes, os.PathLike)) else list(path)
        self._folders: List[str] = []       # temporary directories with copies, which are removed with this object
        self._places: Dict[str, str] = {}   # for the copy of a single file: the URL of the directory it is from
        self._paths = [file for each in given for file in _below(self._here(each), ".parquet")]
        self._counts = [self._parquet.read_metadata(file).num_rows for file in self._paths]
        self.samples = sum(self._counts)
        self.identity = None if self._folders else "parquet " + _stamp(self._paths)
        schema = self._parquet.read_schema(self._paths[0])
        self._take_features(json.loads((schema.metadata or {}).get(b"huggingface", b"{}")))
        self._file = None if fields is not None else self._file_column(schema)

    def _file_column(self, schema: Any) -> Optional[str]:
        """Returns the column that names files: a column of text, in a table without bytes."""
        types = {column.name: str(column.type) for column in schema}
        if any("binary" in kind for kind in types.values()):
            return None
        texts = {name.lower(): name for name, kind in types.items() if "string" in kind}
        return next((texts[name] for name in PATHS if name in texts), None)

    def _with_file(self, row: Dict[str, Any], folder: str) -> Dict[str, Any]:
        """Returns a row of a list with the file in place of the file's name. The field is named as `sheaf pack` names
        it."""
        name = row.pop(self._file)
        if not name:
            raise ArgumentError("the column %r does not name a file in a row" % self._file)
        path = os.path.realpath(os.path.join(folder, name))
        if os.path.commonpath([os.path.realpath(folder), path]) != os.path.realpath(folder):
            raise ArgumentError("%r is not below %r" % (name, folder))
        self._bring(name, path, folder)
        with open(path, "rb") as file:
            data = file.read()
        below, base = os.path.split(os.path.relpath(path, os.path.realpath(folder)))
        stem, _, suffix = base.partition(".")
        return {"__key__": os.path.join(below, stem), suffix.lower() or "bin": data, **row}

    def _here(self, path: Path) -> Path:
        """Returns the path of a local file, or of a local copy of a remote file."""
        text = os.fsdecode(path)
        if "://" not in text:
            return path
        from . import fetch
        folder = tempfile.mkdtemp(prefix="sheaf-parquet-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._folders.append(folder)
        fetch(text, folder)
        found = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
        if len(found) != 1:
            return folder
        if text.partition("?")[0].lower().endswith(".parquet"):
            self._places[folder] = text.partition("?")[0].rpartition("/")[0] + "/"
        return found[0]

    def _bring(self, name: str, path: str, folder: str) -> None:
        """Copies the file `name` to `path`, in the copy of a remote directory, unless it is there."""
        place = self._places.get(folder)
        if place is None or os.path.exists(path):
            return
        from . import fetch
        fetch(place + (urllib.parse.quote(name) if place.startswith("http") else name), os.path.dirname(path))

    def _take_features(self, written: Mapping[str, Any]) -> None:
        """Reads the notes of Hugging Face's datasets about the columns: which are images, and the names of classes.
        """
        features = written.get("info", {}).get("features") or {}
        images = [name for name, each in features.items()
                  if isinstance(each, dict) and each.get("_type") == "Image"]
        self.images = tuple(images if self._fields is None else
                            [to for name, to in self._fields.items() if name in images])
        named = {name: names for name, names in zip(features, map(_written_names, features.values())) if names}
        if self._label is None:
            self._label = _label_column(list(features), named)
        if self._label in named:
            self.classes, self.no_label = named[self._label], -1

    def rows(self, first: int) -> Iterator[Dict[str, Any]]:
        for folder, row in self._rows_below(first):
            yield row if self._file is None else self._with_file(row, folder)

    def values(self) -> Iterator[Dict[str, Any]]:
        return (row for _, row in self._rows_below(0))

    def _rows_below(self, first: int) -> Iterator[Tuple[str, Dict[str, Any]]]:
        """Yields the directory of each row's table, and the row."""
        columns = None
        if self._fields is not None:
            wanted = {*self._fields, self._key, self._label, "__key__", "key"}
        for path, count in zip(self._paths, self._counts):
            if first >= count:
                first -= count
                continue
            with self._parquet.ParquetFile(path) as file:
                if self._fields is not None:
                    columns = [name for name in file.schema_arrow.names
                               if name in wanted or name.lower() in LABELS]
                for group in range(file.num_row_groups):
                    rows = file.metadata.row_group(group).num_rows
                    if first >= rows:
                        first -= rows
                        continue
                    for batch in file.iter_batches(64, row_groups=[group], columns=columns):
                        yield from ((os.path.dirname(path) or ".", row) for row in batch.slice(first).to_pylist())
                        first = max(first - len(batch), 0)


def _below(path: Path, suffix: str) -> List[str]:
    """Returns a file, or the files in a directory and its subdirectories."""
    text = os.fsdecode(path)
    if not os.path.isdir(text):
        return [text]
    found = sorted(os.path.join(at, name) for at, _, names in os.walk(text) for name in names
                   if name.lower().endswith(suffix) and not name.startswith("."))
    if not found:
        raise ArgumentError("%s: there is no file *%s in it" % (text, suffix))
    return found


# ---- Hugging Face --------------------------------------------------------------------------------

class huggingface(_Source):             # pylint: disable=invalid-name
    """Returns the rows of a datasets.Dataset or IterableDataset, which is one split of a data set. Images and sounds
    are not decoded. The class names of a ClassLabel column are kept.

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
        named = {name: _names_of(feature) for name, feature in features.items()}
        named = {name: names for name, names in named.items() if names}
        self._label = label or _label_column(list(features), named)
        self.classes = named.get(self._label)
        self.no_label = None if self.classes is None else -1
        self.images = tuple(name for name, feature in features.items()
                            if type(feature).__name__ == "Image")
        if fields is not None:          # the table is keyed by the names of the fields
            self.images = tuple(to for name, to in self._fields.items() if name in self.images)
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


def _written_names(feature: Any) -> Optional[List[str]]:
    """Returns the names of the classes of a ClassLabel, or of a sequence of ClassLabels, in the notes of a file."""
    while isinstance(feature, list) and feature or isinstance(feature, dict) and "feature" in feature:
        feature = feature[0] if isinstance(feature, list) else feature["feature"]
    is_label = isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
    return feature["names"] if is_label else None


def _names_of(feature: Any) -> Optional[List[str]]:
    """Returns the names of the classes of a ClassLabel, or of a sequence of ClassLabels."""
    return getattr(feature, "names", None) or getattr(getattr(feature, "feature", None), "names", None)


def _label_column(columns: Sequence[str], named: Mapping[str, Any]) -> Optional[str]:
    """Returns the column that is the label, among the columns with named classes: the one with a usual name, or the
    only one. If it returns None, the usual names are looked for in each row. Warns if there are several columns with
    named classes, but no column has a usual name."""
    lower = {name.lower(): name for name in columns}
    usual = next((lower[name] for name in LABELS if lower.get(name) in named), None)
    if len(named) > 1 and not lower.keys() & set(LABELS):
        warnings.warn("the columns %s have named classes, and none of them is the label: choose one with label=%r"
                      % (", ".join(map(repr, named)), next(iter(named))), stacklevel=4)
    return usual or (next(iter(named)) if len(named) == 1 else None)


# ---- Mosaic Streaming ----------------------------------------------------------------------------

class mds(_Source):                     # pylint: disable=invalid-name
    """Returns the samples of a directory of MDS shards (mosaicml-streaming), compressed or not. Columns that are
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
            shard.validate(False)       # because reading a pickle can run any code
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
        """Divides a sample into its columns. The sizes of columns without a fixed size come first, then all columns.
        """
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
    """Returns the samples of a directory that litData's optimize() has written. The columns of a sample are the items
    of a dict, "0", "1", ... for a tuple or list, and "0" for any other object. JPEG images stay encoded.

        sheaf.pack(sheaf.sources.litdata("optimized/", label="class"), "shards/")"""

    def __init__(self, directory: Path, *, key: Optional[str] = None, label: Optional[str] = None,
                 fields: Fields = None) -> None:
        super().__init__(key, label, fields)
        local = os.fsdecode(directory)
        peer = _need("litdata", "litdata")
        serializer = _need("litdata.streaming.serializers", "litdata").JPEGSerializer

        class Encoded(serializer):      # type: ignore[misc, valid-type]
            """A serializer that returns the bytes as they are."""

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
    """Returns the records of one ArrayRecord file, of several files, or of the files in a directory. A record's bytes
    become the field `field`; a transform can divide them.

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
    """Returns whether a directory has files named like train.array_record-00000-of-00004."""
    return os.path.isdir(path) and not any(
        name.endswith(".array_record") for name in os.listdir(os.fsdecode(path)))
