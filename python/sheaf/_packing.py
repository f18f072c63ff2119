# SPDX-License-Identifier: MIT
"""Packing: of a source, at once or in the parts of a plan; and of samples that a program makes."""

from __future__ import annotations

import collections.abc
import os
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _sheaf
from ._sheaf import ArgumentError
from ._types import (Labels, Note, PackResult, Path, PlanShard, Problem, Progress, Size, _size, _text,
                     _told)


class Packer(_sheaf.Packer):
    """Makes a data set at `dest` of samples that the program makes.  As a context manager it
    finishes at the end, and leaves nothing behind if the block raised.

        with sheaf.Packer("shards/", format="tfrecord", classes=["cat", "dog"]) as packer:
            packer.append("pets/1", {"jpg": data}, labels=1)"""

    def __init__(self, dest: Path, *, format: str = "webdataset", codec: str = "none",
                 classes: Optional[Sequence[str]] = None,
                 shard_bytes: Size = 150000000, shard_size: Optional[Size] = None,
                 prefix: str = "shard", label_base: int = 0,
                 overwrite: bool = False, index: Optional[str] = None, jobs: int = 0,
                 memory_bytes: Size = 512 << 20, memory: Optional[Size] = None,
                 progress: Optional[Callable[[Progress], Any]] = None) -> None:
        super().__init__(dest, format=format, codec=codec,
                         shard_bytes=_size("shard_size", shard_size, shard_bytes), prefix=prefix,
                         label_base=label_base,
                         overwrite=overwrite, index=index, jobs=jobs,
                         memory_bytes=_size("memory", memory, memory_bytes),
                         progress=_told(progress, Progress))
        self._dest = os.fsdecode(dest)
        self._classes = None if classes is None else list(classes)
        self._label_base = label_base
        if self._classes is not None:
            self.set_classes(self._classes)

    def append(self, key: str, fields: Mapping[str, Any], labels: Labels = None,
               class_name: Optional[str] = None) -> None:
        """Packs one sample: its key, {name: bytes} and labels.  With classes=..., an ArgumentError
        names a label that is not the number of a class, or not of the class class_name.

            packer.append("pets/1", {"jpg": data, "json": b"{}"}, labels=1)"""
        if self._classes is not None and labels is not None:
            self._check_labels(key, labels, class_name)
        super().append(key, fields, labels, class_name)

    def _check_labels(self, key: str, labels: Labels, class_name: Optional[str]) -> None:
        classes, base = self._classes or [], self._label_base
        for label in labels if isinstance(labels, collections.abc.Iterable) else (labels,):
            number = label - base if label is not None and label == label // 1 else -1
            if not 0 <= number < len(classes):
                raise ArgumentError("sample %r: the label is %r, expected an integer from %d to "
                                    "%d, the numbers of the classes" % (key, label, base,
                                                                    base + len(classes) - 1))
            if class_name is not None and classes[int(number)] != class_name:
                raise ArgumentError("sample %r: the label %r is the class %r, not %r" % (
                    key, label, classes[int(number)], class_name))

    def __repr__(self) -> str:
        return "<sheaf.Packer of %r%s>" % (self._dest, ", finished" if self.finished else "")

    def finish(self) -> PackResult:
        """Waits for everything, then writes the manifest."""
        return PackResult(**self._finish())

    def __enter__(self) -> "Packer":
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is not None:
            self.abort()
        elif not self.finished:
            self.finish()


Patterns = Union[str, Sequence[str]]


def _filters(include: Patterns, exclude: Patterns) -> List[Tuple[str, bool]]:
    """The patterns in order, each with whether it packs."""
    return [(pattern, packs) for patterns, packs in ((include, True), (exclude, False))
            for pattern in ([patterns] if isinstance(patterns, str) else patterns)]


def _aliases(field_alias: Optional[Mapping[str, str]]) -> List[str]:
    return ["%s=%s" % pair for pair in (field_alias or {}).items()]


def pack(source: Union[Path, Sequence[Path]], dest: Path, *, format: str = "webdataset",
         codec: str = "none",
         shard_bytes: Size = 150000000, shard_size: Optional[Size] = None, shard_count: int = 0,
         prefix: str = "shard", root: Optional[Path] = None, no_shuffle: bool = False,
         seed: int = 0, label_base: int = 0, split: Optional[str] = None,
         on_error: str = "fail", resume: bool = False, overwrite: bool = False,
         dry_run: bool = False, index: Optional[str] = None, jobs: int = 0,
         memory_bytes: Size = 512 << 20, memory: Optional[Size] = None,
         progress: Optional[Callable[[Progress], Any]] = None,
         report: Optional[Callable[[Problem], Any]] = None,
         plan: Optional[Callable[[PlanShard], Any]] = None,
         include: Patterns = (), exclude: Patterns = (),
         field_alias: Optional[Mapping[str, str]] = None, key_end: str = "first-dot",
         note: Optional[Callable[[Note], Any]] = None) -> PackResult:
    """Packs a directory tree, a list, or several of these into a data set at `dest`, as `sheaf
    pack` does.  include and exclude are patterns as in a .gitignore, in this order; "!" before one
    makes it the other.  field_alias={"jpeg": "jpg"} gives a field another name."""
    return PackResult(**_sheaf.pack(
        source, dest, format=format, codec=codec,
        shard_bytes=_size("shard_size", shard_size, shard_bytes), shard_count=shard_count,
        prefix=prefix,
        root=_text(root), no_shuffle=no_shuffle, seed=seed,
        label_base=label_base, split=split, on_error=on_error, resume=resume,
        overwrite=overwrite, dry_run=dry_run, index=index, jobs=jobs,
        memory_bytes=_size("memory", memory, memory_bytes),
        progress=_told(progress, Progress), report=_told(report, Problem),
        plan=_told(plan, PlanShard), filters=_filters(include, exclude),
        field_aliases=_aliases(field_alias), key_end=key_end, note=_told(note, Note)))


def plan(source: Union[Path, Sequence[Path]], dest: Path, plan: Path, *,
         format: str = "webdataset", codec: str = "none",
         shard_bytes: Size = 150000000, shard_size: Optional[Size] = None, shard_count: int = 0,
         prefix: str = "shard",
         root: Optional[Path] = None, no_shuffle: bool = False, seed: int = 0,
         label_base: int = 0, split: Optional[str] = None, on_error: str = "fail",
         resume: bool = False, overwrite: bool = False, index: Optional[str] = None,
         jobs: int = 0, memory_bytes: Size = 512 << 20, memory: Optional[Size] = None,
         progress: Optional[Callable[[Progress], Any]] = None,
         report: Optional[Callable[[Problem], Any]] = None,
         include: Patterns = (), exclude: Patterns = (),
         field_alias: Optional[Mapping[str, str]] = None, key_end: str = "first-dot",
         note: Optional[Callable[[Note], Any]] = None) -> PackResult:
    """Packing on many machines: 1. plan, once; 2. pack_part, for each part, anywhere; 3. commit.
    Lists the sources, and stores what is to go into which shard of `dest` in `plan`, a path or an
    s3:// URL, as `sheaf plan` does."""
    return PackResult(**_sheaf.plan(
        source, dest, plan, format=format, codec=codec,
        shard_bytes=_size("shard_size", shard_size, shard_bytes), shard_count=shard_count,
        prefix=prefix, root=_text(root),
        no_shuffle=no_shuffle, seed=seed, label_base=label_base, split=split, on_error=on_error,
        resume=resume, overwrite=overwrite, index=index, jobs=jobs,
        memory_bytes=_size("memory", memory, memory_bytes),
        progress=_told(progress, Progress), report=_told(report, Problem),
        filters=_filters(include, exclude), field_aliases=_aliases(field_alias), key_end=key_end,
        note=_told(note, Note)))


def pack_part(plan: Path, part: Optional[int] = None, parts: Optional[int] = None, *,
              jobs: int = 0, memory_bytes: Size = 512 << 20, memory: Optional[Size] = None,
              progress: Optional[Callable[[Progress], Any]] = None,
              report: Optional[Callable[[Problem], Any]] = None) -> PackResult:
    """Packs part number `part`, from 0, of `parts` of a plan: in any order, at once, or again.
    Without them, the part is the one that the environment says (Slurm, Kubernetes, AWS Batch, MPI,
    SageMaker)."""
    if (part is None) != (parts is None):
        raise ArgumentError("part and parts are given together, or neither")
    if part is None or parts is None:
        found = _sheaf.part_from_environment()
        if found is None:
            raise ArgumentError("nothing in the environment says which part this is: give part and "
                                "parts")
        part, parts = found
    return PackResult(**_sheaf.pack_part(
        plan, part, parts, jobs=jobs, memory_bytes=_size("memory", memory, memory_bytes),
        progress=_told(progress, Progress), report=_told(report, Problem)))


def commit(plan: Path, *, jobs: int = 0, memory_bytes: Size = 512 << 20,
           memory: Optional[Size] = None,
           progress: Optional[Callable[[Progress], Any]] = None,
           report: Optional[Callable[[Problem], Any]] = None) -> PackResult:
    """Checks that all shards of a plan are there, and makes them a data set.  A NotFoundError says
    which are missing, and their parts."""
    return PackResult(**_sheaf.commit(
        plan, jobs=jobs, memory_bytes=_size("memory", memory, memory_bytes),
        progress=_told(progress, Progress),
        report=_told(report, Problem)))
