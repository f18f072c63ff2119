# SPDX-License-Identifier: MIT
"""Changes of samples that a data set has, as `sheaf edit` makes them."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Optional, Sequence, Union

from . import _sheaf
from ._types import S3, Note, Path, Problem, Progress, Size, _needs, _noted, _s3, _size, _text, _told

Label = Union[str, float, Sequence[float]]


class EditResult(NamedTuple):
    """The result of an edit; sheaf.h describes each number."""
    samples: int
    deleted: int
    relabelled: int
    replaced: int
    unknown: int
    shards: int
    shards_written: int
    shards_kept: int
    stored_bytes: int
    memory_peak_bytes: int
    is_done: bool
    purged: int


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, bytes, os.PathLike))


def _plain(label: Any) -> Any:
    """The label as JSON has it: a name, a number or numbers, also of NumPy."""
    return label.tolist() if hasattr(label, "tolist") else \
        label if label is None or isinstance(label, (str, int, float)) else list(label)


def _keys_file(folder: str, keys: Iterable[str]) -> str:
    path = os.path.join(folder, "keys.txt")
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for key in keys:
            if not isinstance(key, str) or not key or "\n" in key or "\r" in key:
                raise _sheaf.ArgumentError("%r is not the key of a sample" % (key,))
            file.write(key + "\n")
    return path


def _labels_file(folder: str, labels: Mapping[str, Label]) -> str:
    if not hasattr(labels, "items"):
        raise TypeError("labels must be a path, or a mapping from keys to labels, not %r" % (labels,))
    path = os.path.join(folder, "labels.jsonl")
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for key, label in labels.items():
            file.write(json.dumps({"key": key, "label": _plain(label)}, ensure_ascii=False) + "\n")
    return path


def edit(dataset: Path, *, delete: Union[None, Path, Iterable[str]] = None,
         labels: Union[None, Path, Mapping[str, Label]] = None, replace: Optional[Path] = None,
         unknown_keys: str = "fail", resume: bool = False, overwrite: bool = False,
         purge: bool = False, dry_run: bool = False, jobs: int = 0, memory: Size = "512MiB",
         s3: S3 = None, progress: Optional[Callable[[Progress], Any]] = None,
         report: Optional[Callable[[Problem], Any]] = None,
         note: Optional[Callable[[Note], Any]] = None) -> EditResult:
    """Deletes samples, gives samples other labels and replaces files of samples, as `sheaf edit`
    does.  `delete` is a file with a key in each line, or the keys; `labels` a list of keys and
    labels, or a mapping; `replace` a directory or another source.  NotFoundError: a key or file
    belongs to no sample; unknown_keys="skip" leaves them out, and calls `report` for each.

    If the data set has columns, they can no longer be read after the edit. `note` is then called with
    a notice that names them. Without `note`, the notice is a warning.

        sheaf.edit("shards/", delete=["cat/0017"], labels={"dog/0002": "cat"}, purge=True)"""
    _needs("delete, labels or replace", delete is not None or labels is not None or replace is not None,
           unknown_keys=None if unknown_keys == "fail" else unknown_keys)
    with tempfile.TemporaryDirectory(prefix="sheaf-") as folder:
        keys_at = None if delete is None else _text(delete) if _is_path(delete) else \
            _keys_file(folder, delete)      # type: ignore[arg-type]
        labels_at = None if labels is None else _text(labels) if _is_path(labels) else \
            _labels_file(folder, labels)    # type: ignore[arg-type]
        return EditResult(**_sheaf.edit(
            dataset, delete_keys=keys_at, labels=labels_at, replace=_text(replace),
            on_unknown=unknown_keys, resume=resume, overwrite=overwrite, purge=purge,
            dry_run=dry_run, jobs=jobs, memory_bytes=_size(0, memory=memory), s3=_s3(s3),
            progress=_told(progress, Progress), report=_told(report, Problem),
            note=_noted(note)))
