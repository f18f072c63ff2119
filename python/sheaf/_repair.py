# SPDX-License-Identifier: MIT
"""Repairs of damaged or lost files of a data set, as `sheaf repair` makes them."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional, Sequence, Union

from . import _sheaf
from ._types import S3, Note, Path, Problem, Progress, Size, _s3, _size, _text, _told


class RepairResult(NamedTuple):
    """The result of a repair; sheaf.h describes each number."""
    files: int
    damaged: int
    repaired: int
    memory_peak_bytes: int
    is_copy: bool


def repair(dataset: Path, source: Union[Path, Sequence[Path]], files: Sequence[str] = (), *,
           root: Optional[Path] = None, dry_run: bool = False, jobs: int = 0,
           memory: Size = "512MiB", s3: S3 = None,
           progress: Optional[Callable[[Progress], Any]] = None,
           report: Optional[Callable[[Problem], Any]] = None,
           note: Optional[Callable[[Note], Any]] = None) -> RepairResult:
    """Checks the files of a data set and re-creates damaged and lost files, as `sheaf repair` does.
    `source` is the source that was packed (or several, if samples were appended), or a copy of the
    data set.  `files` are the names of files that are re-created without a check.  `report` is called
    for each file that could not be repaired, and `note` for each repaired one.

    ChangedError: the source is not the one that was packed, or the copy is another data set;
    UnsupportedError: only a copy can repair a file.

        sheaf.repair("shards/", "photos/")"""
    return RepairResult(**_sheaf.repair(
        dataset, source, files=list(files), root=_text(root), dry_run=dry_run, jobs=jobs,
        memory_bytes=_size(0, memory=memory), s3=_s3(s3), progress=_told(progress, Progress),
        report=_told(report, Problem), note=_told(note, Note)))
