# SPDX-License-Identifier: MIT
"""Views, which choose, weigh and mix samples of data sets; and when samples come in an epoch."""

from __future__ import annotations

import collections.abc
import json
import operator
import os
import tempfile
import weakref
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

import sheaf

from . import _sheaf

Where = Union[None, Mapping[str, Any], Callable[["sheaf.Sample"], Any]]
PROGRESS_EVERY = 1000               # samples between two calls of `progress`


class Coming(NamedTuple):
    """One occurrence of a sample in an epoch. All numbers are counted from 0."""
    key: str
    number: int             # number of the sample in the data set
    epoch: int
    sample: int             # number of the sample in the epoch, over all ranks
    rank: int
    step: Optional[int]     # step of the rank, or None without a batch size


class View:
    """Chosen samples of data sets, and how they are mixed, as in the documents that `sheaf view` writes. A View can
    be opened like a data set:

        mix = sheaf.View(["photos/", "drawings/"], weights=[3, 1], until="all")
        large = sheaf.View("photos/", where=lambda sample: len(sample["jpg"]) > 10000)
        large.save("large.view")
        for sample in sheaf.Reader(mix, seed=7): ...

    `weights` are the shares of the sources. With weights, the length of an epoch must be given: `samples` is its
    number of samples; until="first" ends it when one source was drawn completely; until="all" ends it when every
    source was drawn completely. Without weights, `repeat` states how often each source comes in an epoch (default 1).

    `where` has conditions with the command's names ({"class": ["cat", "dog"], "label": [0, 5, 9], "key": "2025/*",
    "keys": "keep.txt", "not_keys": "bad.txt", "columns": [("quality.score", ">", 0.3)], "range": [0, 1000],
    "every": [10, 3]}). A range of labels is written "0..9" or range(10). A condition of "columns" compares the number
    in a field of a column by <, <=, >, >=, == or !=, without reading images. The names of the document are accepted
    as well. A list of conditions has one entry for each source, and None for a source without a condition. fields,
    classes and stages are those of the document.

    `where` may also be a function. It is called once with each sample, when the view is first saved or opened. The
    chosen samples are stored in a file beside the document. If the function raises an exception, the message has the
    sample's key."""

    def __init__(self, sources: Union[sheaf.Path, Sequence[sheaf.Path]], *,
                 weights: Optional[Sequence[int]] = None,
                 repeat: Optional[Sequence[float]] = None,
                 where: Union[Where, Sequence[Where]] = None, samples: Optional[int] = None,
                 until: Optional[str] = None, fields: Optional[Sequence[str]] = None,
                 classes: Union[None, str, Mapping[str, Any]] = None,
                 stages: Optional[Sequence[Mapping[str, Any]]] = None) -> None:
        if isinstance(sources, (str, bytes)) or hasattr(sources, "__fspath__"):
            sources = [sources]     # type: ignore[list-item]
        self._sources = [os.fsdecode(source)    # type: ignore[arg-type]
                         for source in _listed("sources", sources, "paths or URLs, or one")]
        if where is None or callable(where) or isinstance(where, Mapping):
            where = [where] * len(self._sources)
        conditions = _listed("where", where, "conditions such as {'classes': ['cat']} or functions, or one for all")
        for each in conditions:
            if each is not None and not callable(each) and not isinstance(each, Mapping):
                raise TypeError("where: expected a dict such as {'classes': ['cat']}, a function or None, not %r" %
                                (each,))
        one_each = "numbers, one for each source"
        self._each = {"weight": None if weights is None else _listed("weights", weights, one_each),
                      "repeat": None if repeat is None else _listed("repeat", repeat, one_each), "where": conditions}
        for name, values in self._each.items():
            if values is not None and len(values) != len(self._sources):
                raise _sheaf.ArgumentError("%s: %d values for %d sources" % (name, len(values),
                                                                             len(self._sources)))
        self._fields = None if fields is None else _listed("fields", fields, "names")
        self._rest = {"samples": samples, "until": until, "classes": classes, "stages": stages}
        self._chosen: Dict[int, List[int]] = {}     # numbers that a function chose, for each source with a function
        self._path: Optional[str] = None
        self._cache: Optional[sheaf.Path] = None    # set if no server may be asked; see _save_offline

    def save(self, path: sheaf.Path, *, overwrite: bool = False,
             progress: Optional[Callable[[int, int], Any]] = None) -> str:
        """Writes the document, and beside it one file for each function, with the samples that it chose.
        progress(judged, samples) is called while the functions choose. Nothing is written before all functions have
        finished."""
        name = os.fsdecode(path)
        if not overwrite and "://" not in name and os.path.exists(name):
            raise sheaf.ExistsError("%s: exists" % name)
        wheres = self._each["where"]
        for i, where in enumerate(wheres or []):
            if callable(where) and i not in self._chosen:
                self._chosen[i] = self._choose(i, where, progress)
        document = json.dumps(self._document(name))
        if self._cache is None:
            _sheaf.view_write(document, name, overwrite)
        else:                           # it is checked when it is opened
            with open(name, "w", encoding="utf-8") as file:
                file.write(document)
        self._path = name
        return name

    def _save_offline(self, cache: sheaf.Path) -> None:
        """Saves an unsaved view to a temporary file without asking a server. `cache` has the manifests, and the samples
        that functions judge."""
        if self._path is None:
            self._cache = cache
            try:
                os.fspath(self)
            finally:
                self._cache = None

    def _source(self, i: int) -> sheaf.Dataset:
        offline = self._cache is not None and "://" in self._sources[i]
        return sheaf.Dataset(self._sources[i], cache=self._cache, offline=offline)

    def _choose(self, i: int, where: Callable[["sheaf.Sample"], Any],
                progress: Optional[Callable[[int, int], Any]]) -> List[int]:
        dataset, chosen = self._source(i), []
        reader = sheaf.Reader(dataset, cache=self._cache, no_shuffle=True, rank=0, world_size=1, worker=0, workers=1,
                              seed=0, epoch=0, lanes=1, shuffle_buffer=0)
        judged = 0
        for batch in reader.batches(PROGRESS_EVERY):
            for sample in batch:
                try:
                    if where(sample):
                        chosen.append(sample.number)
                except Exception as error:
                    raise _sheaf.ArgumentError("%s: where: sample %r: %s: %s" % (
                        self._sources[i], sample.key, type(error).__name__, error)) from error
            judged += len(batch)
            if progress is not None:
                progress(judged, dataset.samples or 0)
        return chosen

    def _document(self, path: str) -> Dict[str, Any]:
        sources = []
        for i, source in enumerate(self._sources):
            members = {name: values[i] for name, values in self._each.items() if values is not None}
            if i in self._chosen:
                members["where"] = {"numbers": self._source(i)._write_numbers(
                    self._chosen[i], path)}
            elif not members["where"]:
                del members["where"]
            else:
                members["where"] = _lists(_conditions(members["where"]),
                                          lambda keys: _relative(keys, path))
            if self._fields is not None:
                members["fields"] = self._fields
            sources.append({"source": _relative(source, path), **members})
        rest = {name: value for name, value in self._rest.items() if value is not None}
        return {"sheaf_view": 1, **rest, "sources": sources}

    def __fspath__(self) -> str:
        if self._path is None:
            folder = tempfile.TemporaryDirectory(prefix="sheaf-view-")
            weakref.finalize(self, folder.cleanup)
            self._sources = [_absolute(source) for source in self._sources]
            self._each["where"] = [where if not where or callable(where)
                                   else _lists(where, _absolute) for where in self._each["where"]]
            self.save(os.path.join(folder.name, "unsaved.view"))
        assert self._path is not None
        return self._path

    def __repr__(self) -> str:
        return "<sheaf.View of %s%s>" % (", ".join(map(repr, self._sources)),
                                         "" if self._path is None else ", in %r" % self._path)


def _listed(name: str, values: Any, expected: str) -> List[Any]:
    """Returns the values of an option as a list. Raises TypeError if there is only one value."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError("%s: expected a list of %s, not %r" % (name, expected, values))
    return list(values)


def _absolute(source: str) -> str:
    return source if "://" in source else os.path.abspath(source)


# The names of conditions in the command and in the document, and the member of the document for each.
_CONDITIONS = {"class": "classes", "classes": "classes", "label": "label", "labels": "label",
               "key": "key_glob", "key_glob": "key_glob", "keys": "keys", "not_keys": "not_keys",
               "range": "range", "every": "every", "numbers": "numbers", "columns": "columns"}
_BETWEEN = {"range": "..", "every": "/"}


def _conditions(where: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the conditions in the form of the document."""
    made: Dict[str, Any] = {}
    for name, value in where.items():
        member = _CONDITIONS.get(name)
        if member is None:
            raise _sheaf.ArgumentError("where: unknown condition %r: expected one of %s" % (
                name, ", ".join(sorted(_CONDITIONS))))
        if member in made:
            raise _sheaf.ArgumentError("where: %r is the second condition of its kind" % name)
        if value is None:
            raise _sheaf.ArgumentError("where: %s is None: leave the condition out" % name)
        if member == "classes":
            value = _names(name, value)
        elif member == "label":
            value = _labels(name, value)
        elif member == "key_glob" and not isinstance(value, str):
            raise _sheaf.ArgumentError("where: %s: %.80r: expected one pattern, such as '2025/*'" % (name, value))
        elif member in _BETWEEN and isinstance(value, str):
            value = _pair(value, _BETWEEN[member])
        elif member == "columns":
            value = _comparisons(value)
        elif isinstance(value, range):
            value = [value.start, value.stop]
        made[member] = value
    return made


def _pair(text: str, between: str) -> List[int]:
    try:
        first, last = map(int, text.split(between))
    except ValueError:
        raise _sheaf.ArgumentError("where: %r: expected A%sB" % (text, between)) from None
    return [first, last]


def _comparisons(value: Any) -> List[List[Any]]:
    """One condition on a column, or a list of them."""
    conditions = [value] if len(value) == 3 and isinstance(value[0], str) else value
    try:
        return [[field, sign, number if isinstance(number, int) else float(number)]
                for field, sign, number in conditions]
    except (TypeError, ValueError):
        raise _sheaf.ArgumentError("where: columns: %r: expected (COLUMN.FIELD, comparison, number), such as "
                                   "('quality.score', '>', 0.3)" % (value,)) from None


def _several(name: str, value: Any) -> List[Any]:
    """Returns the items of a condition that chooses several classes or labels."""
    if isinstance(value, str):
        value = value.split(",")
    elif not isinstance(value, collections.abc.Iterable) or isinstance(value, (bytes, range)):
        value = [value]
    if not list(value):
        raise _sheaf.ArgumentError("where: %s is empty, so no sample would be chosen" % name)
    return list(value)


def _names(name: str, value: Any) -> List[str]:
    names = _several(name, value)
    for each in names:
        if not isinstance(each, str):
            raise _sheaf.ArgumentError("where: %s: %.80r: expected the name of a class; a number is chosen by "
                                       "'label'" % (name, each))
    return names


def _labels(name: str, value: Any) -> List[Any]:
    """Returns a label, a range of labels, or several of these in the form of the document: each is a number, or
    [first, last]."""
    labels: List[Any] = []
    for each in _several(name, value):
        if isinstance(each, range):
            labels += [[each.start, each.stop - 1]] if each.step == 1 and each else list(each)
            continue
        ends = each.split("..") if isinstance(each, str) else \
            list(each) if isinstance(each, (list, tuple)) else [each]
        try:
            numbers = [_whole(end) for end in ends]
        except (TypeError, ValueError):
            numbers = []
        if len(numbers) not in (1, 2) or min(numbers) < 0:
            raise _sheaf.ArgumentError("where: %s: %.80r: expected a whole number from 0, or a range such as '0..9' "
                                       "or range(10); a name is chosen by 'class'" % (name, each))
        labels.append(numbers if len(numbers) == 2 else numbers[0])
    return labels


def _whole(number: Any) -> int:
    """Returns a whole number, which may be a text or a float. Raises TypeError or ValueError if it is not whole."""
    if isinstance(number, str) or isinstance(number, float) and number.is_integer():
        return int(number)
    return operator.index(number)


def _lists(where: Mapping[str, Any], place: Callable[[str], str]) -> Dict[str, Any]:
    """Returns the conditions with `place` applied to the paths of their lists of keys, which may be path objects."""
    made = dict(where)
    for name in {"keys", "not_keys"}.intersection(where):
        if not isinstance(where[name], (str, bytes, os.PathLike)):
            raise _sheaf.ArgumentError("where: %s: %.80r: expected the path of a file with a key in each line" % (
                name, where[name]))
        made[name] = place(os.fsdecode(where[name]))
    return made


def _relative(source: str, path: str) -> str:
    """Returns the name of a source as a document at `path` must contain it."""
    if "://" in source or os.path.isabs(source):
        return source
    if "://" in path:
        return os.path.abspath(source)
    return os.path.relpath(source, os.path.dirname(path) or ".")


def view(sources: Union[sheaf.Path, Sequence[sheaf.Path]], output: sheaf.Path, *,
         overwrite: bool = False, progress: Optional[Callable[[int, int], Any]] = None,
         **options: Any) -> View:
    """Writes a view, as `sheaf view` does. This is View(sources, **options).save(output)."""
    made = View(sources, **options)
    made.save(output, overwrite=overwrite, progress=progress)
    return made


def locate(source: Union[sheaf.Source, "sheaf.Dataset"], wanted: Union[str, int, Sequence[Any]], *,
           epochs: int = 1, epoch: int = 0, batch: Optional[int] = None, world_size: int = 1,
           **order: Any) -> List[Coming]:
    """Finds when samples come in the epochs of a data set or view, as `sheaf locate` does. Returns an entry for each
    occurrence of the samples with these keys or numbers, in the order of the epochs. The options of the order (seed,
    lanes, shuffle_buffer, no_shuffle, workers, remainder) must be those of the training. Raises KeyError if no sample
    has a key.

        for coming in sheaf.locate("mix.view", "cat/0001", seed=7, epochs=3, batch=32, world_size=8):
            print(coming.epoch, coming.rank, coming.step)"""
    if batch is not None and batch < 1:
        raise sheaf.ArgumentError("batch is %r: expected a whole number above 0" % (batch,))
    dataset = source if isinstance(source, sheaf.Dataset) else sheaf.Dataset(source)
    found = dataset.get([wanted] if isinstance(wanted, (str, int)) else list(wanted))
    keys, numbers = list(found.keys), [sample.number for sample in found]
    del found
    if order.get("remainder") is None:
        order.pop("remainder", None)
    result = []
    for number in range(epoch, epoch + epochs):
        for asked, sample, rank, ordinal in dataset._locate(
                numbers, epoch=number, world_size=world_size, **order):
            result.append(Coming(keys[asked], numbers[asked], number, sample, rank,
                                 None if batch is None else ordinal // batch))
    return result
