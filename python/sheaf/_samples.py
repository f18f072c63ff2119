# SPDX-License-Identifier: MIT
"""The forms in which programs give samples, and how their fields are stored.

The bytes of a field are stored as they are. A value that is not bytes is stored in the usual form of its type, and
the field's name then gets the suffix of this form. The table of forms is in sources.py, where users find it."""

from __future__ import annotations

import collections.abc
import io
import json
import re
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ._rows import are_numbers, label_of, not_numbers, plain, unpack_images
from ._sheaf import ArgumentError, Sample

# Suffixes of text, and of JSON values.
_TEXTS = ("txt", "text", "json", "jsonl", "cls", "csv", "tsv", "xml", "html", "md", "yaml", "yml")
_VALUES = ("json", "cls")


class Made(NamedTuple):
    """A sample in the form that a Packer takes."""
    key: str
    fields: Dict[str, bytes]
    labels: Any = None
    class_name: Optional[str] = None

    @property
    def payload(self) -> int:
        return sum(map(len, self.fields.values()))


class Row(collections.abc.Mapping):     # type: ignore[type-arg]
    """A sample of a source. Like a sheaf.Sample, it is a mapping from field names to memoryviews. `names` has the
    names under which some fields are packed if there is no transform."""

    def __init__(self, key: str, fields: Mapping[str, Any], labels: Any = None,
                 class_name: Optional[str] = None, number: int = 0,
                 names: Optional[Mapping[str, str]] = None) -> None:
        self.key, self.class_name, self.number, self.names = key, class_name, number, names or {}
        self._fields = dict(content(key, *item) for item in fields.items())
        found = plain(labels)
        self.labels: Tuple[Any, ...] = () if found is None else \
            found if isinstance(found, tuple) else (found,)

    @property
    def label(self) -> Any:
        return self.labels[0] if self.labels else None

    def to_bytes(self) -> Dict[str, bytes]:
        """Returns a dict of the fields' bytes."""
        return dict(self._fields)

    def __getitem__(self, name: str) -> memoryview:
        if name in self._fields:
            return memoryview(self._fields[name])
        raise KeyError("the sample %r has no field %r, but %s" % (
            self.key, name, ", ".join(map(repr, self._fields))))

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return "<sheaf.sources sample %r: %s>" % (self.key, ", ".join(self._fields))


def _named(name: str, suffixes: Sequence[str]) -> str:
    return name if name.lower().rpartition(".")[2] in suffixes else "%s.%s" % (name, suffixes[0])


def content(key: str, name: str, value: Any) -> Tuple[str, bytes]:
    """Returns the name and the bytes of a field."""
    if isinstance(value, bytes):
        return name, value
    if isinstance(value, (bytearray, memoryview)):
        return name, bytes(value)
    if isinstance(value, str):
        return _named(name, _TEXTS), value.encode()
    library = type(value).__module__.partition(".")[0]
    if library == "torch":
        value = value.detach().cpu()
        value, library = (value.tolist(), "") if value.ndim == 0 else (value.numpy(), "numpy")
    if library == "PIL":
        to = io.BytesIO()
        value.save(to, "PNG")
        return _named(name, ("png",)), to.getvalue()
    if library == "numpy":
        if getattr(value, "shape", ()) != ():
            import numpy
            to = io.BytesIO()
            numpy.save(to, value, allow_pickle=False)
            return _named(name, ("npy",)), to.getvalue()
        value = value.item()
    try:
        return _named(name, _VALUES), json.dumps(value).encode()
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            "sample %r: the field %r is a %s, expected bytes, text, an array, or what JSON can hold "
            "(%s)" % (key, name, type(value).__name__, error)) from None


def _fields(sample: Any) -> Dict[str, Any]:
    """Returns the fields of a sample that is packed unchanged. Names of files keep their capitals."""
    fields = sample.to_bytes()
    if isinstance(sample, Row):
        return {sample.names.get(name, name): data for name, data in fields.items()}
    return dict(zip(getattr(sample, "suffixes", fields), fields.values()))


def _number(word: str) -> Any:
    """Returns the number in a word. An integer stays an integer and is not rounded, so that the packer refuses one
    that it cannot store. Raises ValueError if the word is not a decimal number."""
    if not re.fullmatch(r"[-+.0-9eE]+", word):
        raise ValueError(word)
    try:
        return int(word)
    except ValueError:
        return float(word)


def _of_cls(value: Any) -> Any:
    """Returns the labels in a field `cls`, which may be text or numbers, or None if it has no labels."""
    text = bytes(value).decode(errors="replace") \
        if isinstance(value, (bytes, bytearray, memoryview)) else plain(value)
    try:
        labels = tuple(map(_number, text.split())) if isinstance(text, str) else text
    except ValueError:
        return None
    return labels if are_numbers(labels) and labels != () else None


def _one(value: Any, key: str, given: Any) -> Made:
    """Returns one sample in the form that a Packer takes. If `value` has no key or labels, they are those of `given`,
    the item that it was made from."""
    labels, class_name = getattr(given, "labels", None), getattr(given, "class_name", None)
    given_key = key
    if isinstance(value, Made):
        return value
    if isinstance(value, (Sample, Row)):
        key, fields, labels, class_name = value.key, _fields(value), value.labels, value.class_name
    elif isinstance(value, tuple):
        if not 2 <= len(value) <= 4:
            raise ArgumentError("sample %r: a tuple of %d, expected (key, fields), or also labels "
                                "and a class name" % (key, len(value)))
        key, fields = value[0], value[1]
        if len(value) > 2:
            labels, class_name = plain(value[2]), value[3] if len(value) > 3 else None
        if isinstance(labels, str) and class_name is None:
            labels, class_name = None, labels
    else:
        key, fields = value.get("__key__", key), {**value}
        fields.pop("__key__", None)
        in_cls = _of_cls(fields["cls"]) if "cls" in fields else None
        said = label_of({name: field for name, field in fields.items()
                         if name != "cls" or in_cls is None})
        fields, names = unpack_images({name: field for name, field in fields.items()
                                       if name not in said.columns})
        fields = {names.get(name, name): field for name, field in fields.items()}
        if said.labels is not None or said.class_name is not None:
            labels, class_name = said.labels, said.class_name
        if in_cls is not None and said.labels is None:
            labels = in_cls
    labels = plain(labels)
    if labels is not None and not are_numbers(labels):
        raise ArgumentError(not_numbers(key, labels))
    if not isinstance(key, str) or not isinstance(fields, collections.abc.Mapping):
        raise ArgumentError("sample %r: expected (key, fields), a text and a mapping, not (%.50r, "
                            "%.50r)" % (given_key, key, fields))
    return Made(key, dict(content(key, *item) for item in fields.items()), labels, class_name)


def name_of(item: Any, number: int) -> str:
    """Returns the key of an item, or its number if it has no key."""
    if isinstance(item, collections.abc.Mapping) and "__key__" in item:
        return str(item["__key__"])
    if isinstance(item, tuple) and item and isinstance(item[0], str):
        return item[0]
    key = getattr(item, "key", None)
    return key if isinstance(key, str) else "%09d" % number


def made(value: Any, item: Any, number: int) -> List[Made]:
    """Returns the samples in `value` (one, several or None), which was made from `item` with number `number`."""
    key = name_of(item, number)
    if value is None:
        return []
    if isinstance(value, (tuple, collections.abc.Mapping)):
        return [_one(value, key, item)]
    if isinstance(value, (str, bytes)) or not isinstance(value, collections.abc.Iterable):
        raise ArgumentError("sample %r: expected a sample, several or None, not %.100r" %
                            (key, value))
    several = list(value)
    for each in several:
        if not isinstance(each, (tuple, collections.abc.Mapping)):
            raise ArgumentError("sample %r: expected samples, not %.100r" % (key, each))
    return [_one(each, key, item) for each in several]
