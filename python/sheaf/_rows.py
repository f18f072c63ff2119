# SPDX-License-Identifier: MIT
"""Rows: samples of a program or of another library, as mappings. Labels and images have the same rules in every row,
whatever library it comes from."""

from __future__ import annotations

import collections.abc
import decimal
import numbers
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

# Names of items that are a label or the name of its class, in upper or lower case. Earlier names take precedence.
LABELS = ("__label__", "label", "labels", "cls", "class", "class_name")

# Names of columns that are paths of files, in a table without bytes.
PATHS = ("path", "file", "file_name", "filename", "image")

_MAGIC = ((b"\xff\xd8\xff", "jpg"), (b"\x89PNG\r\n\x1a\n", "png"), (b"GIF87a", "gif"),
          (b"GIF89a", "gif"), (b"BM", "bmp"), (b"II*\0", "tif"), (b"MM\0*", "tif"))
_SUFFIXES = {"jpg": "jpg", "jpeg": "jpg", "png": "png", "webp": "webp", "gif": "gif", "bmp": "bmp",
             "tif": "tif", "tiff": "tif"}


class Label(NamedTuple):
    """The label of a row."""
    labels: Any                     # a number or several, or None
    class_name: Optional[str]
    columns: Tuple[str, ...]        # the columns that gave the label or class name


# Types with items that are not labels: bytes, names, and collections without an order.
_NOT_SEVERAL = (str, bytes, bytearray, collections.abc.Mapping, collections.abc.Set)


def _scalar(value: Any) -> Any:
    """Returns a number of any library as an int or a float. Returns a value that is not a number unchanged."""
    if hasattr(value, "tolist") and not isinstance(value, memoryview) and getattr(value, "ndim", 1) <= 1:
        value = value.tolist()
    if isinstance(value, (decimal.Decimal, numbers.Rational)) and not isinstance(value, int):
        return int(value) if float(value).is_integer() else float(value)
    return int(value) if isinstance(value, bool) else value


def plain(labels: Any) -> Any:
    """Returns labels as None, an int, a float, or a tuple of these. They may be numbers, arrays and tensors of any
    library. Returns a value that cannot be labels, such as a name or bytes, unchanged, or as a tuple with an item
    that is not a number."""
    if type(labels) in (int, float) or labels is None:
        return labels
    labels = _scalar(labels)
    if not isinstance(labels, collections.abc.Iterable) or isinstance(labels, _NOT_SEVERAL) \
            or isinstance(labels, memoryview) and labels.itemsize == 1 or getattr(labels, "ndim", 1) > 1:
        return labels
    return tuple(map(_scalar, labels)) or None


def are_numbers(labels: Any) -> bool:
    """Returns whether the result of plain() is a number or several numbers."""
    if isinstance(labels, tuple):
        return all(isinstance(label, (int, float)) for label in labels)
    return isinstance(labels, (int, float))


def not_numbers(key: str, labels: Any) -> str:
    """Returns a message that names the first label that is not a number."""
    wrong = [label for label in labels if not are_numbers(label)] if isinstance(labels, tuple) else [labels]
    return "sample %r: the label is %.50r, expected a number, several, or None (the name of a class " \
           "is given as class_name)" % (key, wrong[0])


def label_of(row: Mapping[str, Any], column: Optional[str] = None) -> Label:
    """Returns the label of a row, from the column `column`, or from the columns with the usual names. A value that
    cannot be a label, such as a box or bytes, does not count as a label and stays a field."""
    named = {name.lower(): name for name in row} if column is None else {"label": column}
    labels: Any = None
    class_name, used = None, []
    for usual in LABELS:
        name = named.get(usual)
        value = None if name is None else row[name]
        if name is None or usual == "cls" and isinstance(value, (bytes, bytearray, memoryview)):
            continue
        value = plain(value)
        if value is None:
            used.append(name)
        elif isinstance(value, str):
            if class_name is None and (value or usual != "cls"):
                class_name = str(value)
                used.append(name)
        elif labels is None and are_numbers(value):
            labels = value
            used.append(name)
    return Label(labels, class_name, tuple(used))


def is_encoded(value: Any) -> bool:
    """Returns whether the value is an image or a sound in the form of Hugging Face's data sets."""
    return isinstance(value, dict) and set(value) == {"bytes", "path"}


def bytes_of(value: Mapping[str, Any]) -> bytes:
    """Returns the bytes of such an image or sound."""
    if value["bytes"] is not None:
        return bytes(value["bytes"])
    with open(value["path"], "rb") as file:
        return file.read()


def image_kind(data: bytes, path: Optional[str], is_image: bool) -> Optional[str]:
    """Returns the suffix of an image: by its content, or by its path if the content is of no known kind. If neither
    is known, returns "jpg" for a value that is said to be an image, so that the packer checks it and reports what is
    wrong. Otherwise returns None."""
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    suffix = os.path.splitext(path or "")[1][1:].lower()
    return _SUFFIXES.get(suffix, "jpg" if is_image else None)


def unpack_images(fields: Dict[str, Any],
                  images: Tuple[str, ...] = ()) -> Tuple[Dict[str, Any], Dict[str, str]]:
    """Returns the fields with the bytes of images and sounds, and the names under which images are packed. The only
    image of a row is named after its kind, "jpg"; several images are named "COLUMN.jpg". `images` are the columns
    that are said to be images."""
    made: Dict[str, Any] = {}
    kinds: Dict[str, str] = {}
    for name, value in fields.items():
        if is_encoded(value):
            data = bytes_of(value)
            kind = image_kind(data, value["path"], name in images)
            if kind is not None:
                kinds[name] = kind
            value = data
        made[name] = value
    return made, {name: kind if len(kinds) == 1 and kind not in fields else "%s.%s" % (name, kind)
                  for name, kind in kinds.items()}


class Runs:
    """Counts how often the label changes from one sample to the next. This shows whether a source is sorted by class.
    """

    LEAST = 50                      # least number of samples for a judgement

    def __init__(self) -> None:
        self._counts: Dict[Any, int] = {}
        self._last: Any = None
        self._runs = 0

    def add(self, label: Any) -> None:
        if self._runs == 0 or label != self._last:
            self._runs += 1
        self._last = label
        self._counts[label] = self._counts.get(label, 0) + 1

    @property
    def are_sorted(self) -> bool:
        """Whether the label changes far less often than it would in a random order."""
        samples = sum(self._counts.values())
        if samples < self.LEAST or len(self._counts) < 2:
            return False
        expected = samples - sum(count * count for count in self._counts.values()) / samples
        return self._runs < expected / 4
