# SPDX-License-Identifier: MIT
"""Packing of a source, at once or in the parts of a plan, and of samples that a program makes."""

from __future__ import annotations

import collections.abc
import contextlib
import json
import os
import tempfile
import warnings
from typing import Any, Callable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _sheaf
from ._rows import are_numbers, not_numbers, plain
from ._sheaf import ArgumentError
from ._types import (S3, Labels, Note, PackResult, Path, PlanShard, Problem, Progress, Size, _check_images,
                     _check_packing, _noted, _s3, _size, _text, _told)

MEMORY_BYTES = 512 << 20            # the defaults of packing
SHARD_BYTES = 150000000


class Packer(_sheaf.Packer):
    """Makes a data set at `dest` from samples that the program makes. Used as a context manager, it finishes the data
    set at the end of the block. If the block raises an exception, nothing is left at `dest`. duplicate_keys is as in
    convert().

        with sheaf.Packer("shards/", format="tfrecord", classes=["cat", "dog"]) as packer:
            packer.append("pets/1", {"jpg": data}, labels=1)"""

    def __init__(self, dest: Path, *, format: str = "webdataset", codec: str = "none",
                 classes: Union[None, Sequence[str], Mapping[str, int]] = None,
                 shard_bytes: Optional[Size] = None, shard_size: Optional[Size] = None,
                 prefix: str = "shard", label_base: int = 0,
                 overwrite: bool = False, index: Optional[str] = None, jobs: int = 0,
                 memory_bytes: Optional[Size] = None, memory: Optional[Size] = None,
                 progress: Optional[Callable[[Progress], Any]] = None,
                 s3: S3 = None, duplicate_keys: str = "fail") -> None:
        super().__init__(dest, format=format, codec=codec,
                         shard_bytes=_size(SHARD_BYTES, shard_size=shard_size, shard_bytes=shard_bytes), prefix=prefix,
                         label_base=label_base,
                         overwrite=overwrite, index=index, jobs=jobs,
                         memory_bytes=_size(MEMORY_BYTES, memory=memory, memory_bytes=memory_bytes),
                         progress=_told(progress, Progress), s3=_s3(s3),
                         duplicate_keys=duplicate_keys)
        self._dest = os.fsdecode(dest)
        self._classes = None if classes is None else _in_order(classes, label_base)
        self._label_base = label_base
        if self._classes is not None:
            self.set_classes(self._classes)

    def append(self, key: str, fields: Mapping[str, Any], labels: Labels = None,
               class_name: Optional[str] = None) -> None:
        """Packs one sample: its key, {name: bytes} and labels. A label may be a Python number, or a number of NumPy
        or PyTorch; several labels may be a list, an array or a tensor. A fraction is rounded to a 32-bit float. An
        integer is never rounded: beyond 2^53, it is refused unless a 32-bit float equals it. If the packer has
        `classes`, the label must be the number of a class, and of the class class_name if this is given. Raises
        ArgumentError or TypeError, which names the label, if a label is refused.

            packer.append("pets/1", {"jpg": data, "json": b"{}"}, labels=1)"""
        labels = plain(labels)
        if labels is not None and not are_numbers(labels):
            raise TypeError(not_numbers(key, labels))
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
        """Waits for all work, then writes the manifest."""
        return PackResult(**self._finish())

    def __enter__(self) -> "Packer":
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is not None:
            self.abort()
        elif not self.finished:
            self.finish()


Patterns = Union[str, Sequence[str]]
# Names of classes, or their numbers by name, or a path or data set that has them.
Classes = Union[None, Path, Sequence[str], Mapping[str, int]]


def _filters(include: Patterns, exclude: Patterns) -> List[Tuple[str, bool]]:
    """Returns the patterns in order, each with a flag that is true if files that match it are packed."""
    return [(pattern, packs) for patterns, packs in ((include, True), (exclude, False))
            for pattern in ([patterns] if isinstance(patterns, str) else patterns)]


def _aliases(field_alias: Optional[Mapping[str, str]]) -> List[str]:
    return ["%s=%s" % pair for pair in (field_alias or {}).items()]


def _is_files(source: Any) -> bool:
    """Returns whether the source is one path or several. Any other source consists of samples."""
    if isinstance(source, (str, bytes, os.PathLike)):
        return True
    return isinstance(source, (list, tuple)) and (
        not source or isinstance(source[0], (str, bytes, os.PathLike)))


def _warn_note(note: Note) -> None:
    warnings.warn(note.message, stacklevel=5)


def _jobs(jobs: int) -> int:
    return jobs or min(len(os.sched_getaffinity(0)), 8)


def _refuse(why: str, **given: Any) -> None:
    for name, value in given.items():
        if value:
            raise ArgumentError("%s=%r: %s" % (name, value, why))


def _in_order(classes: Union[Sequence[str], Mapping[str, int]], label_base: int) -> List[str]:
    """Returns the names of classes in the order of their numbers, which a mapping states."""
    if not isinstance(classes, collections.abc.Mapping):
        return list(classes)
    names = sorted(classes, key=classes.__getitem__)
    if [classes[name] for name in names] != list(range(label_base, label_base + len(names))):
        raise ArgumentError("classes: expected the numbers from %d to %d, each for one name" % (
            label_base, label_base + len(names) - 1))
    return names


def _class_names(classes: Classes, label_base: int) -> Tuple[Optional[List[str]], int]:
    """Returns the names of the classes in order, and the number of the first class. The classes may be given as a
    list, in a file, or by a data set."""
    if classes is None:
        return None, label_base
    if not isinstance(classes, (str, bytes, os.PathLike)):
        return _in_order(classes, label_base), label_base
    found = _sheaf.class_list(classes, label_base)
    return [name for name, _ in found], found[0][1]


@contextlib.contextmanager
def _class_file(classes: Classes) -> Iterator[Optional[str]]:
    """Yields the path of a file or data set that names the classes. If the classes are given as a list, this is a
    temporary file."""
    if classes is None or isinstance(classes, (str, bytes, os.PathLike)):
        yield None if classes is None else os.fsdecode(classes)
        return
    with tempfile.NamedTemporaryFile("w", prefix="sheaf-classes-", encoding="utf-8") as file:
        json.dump(classes if isinstance(classes, collections.abc.Mapping) else list(classes), file)
        file.flush()
        yield file.name


def _limit(value: Union[None, int, str]) -> Optional[str]:
    return None if value is None else str(value)


def pack(source: Any, dest: Path, *, format: str = "webdataset",
         codec: str = "none",
         shard_bytes: Optional[Size] = None, shard_size: Optional[Size] = None, shard_count: int = 0,
         prefix: str = "shard", root: Optional[Path] = None, no_shuffle: bool = False,
         seed: Optional[int] = None, label_base: int = 0, split: Optional[str] = None,
         on_error: str = "fail", resume: bool = False, overwrite: bool = False,
         dry_run: bool = False, index: Optional[str] = None, jobs: int = 0,
         memory_bytes: Optional[Size] = None, memory: Optional[Size] = None,
         progress: Optional[Callable[[Progress], Any]] = None,
         report: Optional[Callable[[Problem], Any]] = None,
         plan: Optional[Callable[[PlanShard], Any]] = None,
         include: Patterns = (), exclude: Patterns = (),
         field_alias: Optional[Mapping[str, str]] = None, key_end: str = "first-dot",
         fix_images: bool = False, check_images: str = "markers", quality: int = 90,
         resize: int = 0, resize_mode: str = "shorter",
         note: Optional[Callable[[Note], Any]] = None,
         transform: Optional[Callable[[Any], Any]] = None, version: Optional[str] = None,
         start_method: Optional[str] = None,
         classes: Classes = None, s3: S3 = None, on_change: str = "fail",
         max_skipped: Union[None, int, str] = None, class_depth: int = 0,
         duplicate_keys: str = "fail") -> PackResult:
    """Packs a directory tree, a list, or several of these into a data set at `dest`, as `sheaf pack` does. A shard has
    about shard_size bytes of payload (150 MB). memory_bytes (512 MiB) is the limit of the buffers; the command's name
    `memory` may be used as well.

    `include` and `exclude` are patterns as in a .gitignore. All `include` patterns are applied before the `exclude`
    patterns; a "!" before a pattern inverts it. field_alias={"jpeg": "jpg"} renames a field. fix_images converts
    files that are named like a JPEG but are other images to plain JPEGs. resize=256 makes larger JPEGs smaller, so
    that the side that resize_mode selects ("shorter", "longer", "exact") has 256 pixels. `s3` has settings for
    objects that are written to S3: s3={"encryption": "aws:kms", "storage_class": "STANDARD_IA"}.

    on_error="skip" leaves out bad files and lists them in skipped.tsv, at most max_skipped of them (10 or "1%").
    on_change="skip" also leaves out files that vanished or changed since the source was scanned.

    transform(sample) returns a replacement for the sample: a sample, several samples (a list or a generator), or None
    to leave it out. A sample may be a mapping of fields, which keeps the key and the labels; a tuple (key, fields[,
    labels[, class_name]]), where the name of a class may take the place of the labels; or the sample that transform
    received. sheaf.sources describes which values are labels, and how fields that are not bytes are stored. If the function raises an exception, TransformError names the key.

    The transform function runs in `jobs` processes of start_method ("fork", "spawn", "forkserver"; by default
    Python's own choice). Samples are packed in the order of the plan, so the bytes are the same for any number of
    processes.

    `source` may also be samples: one of sheaf.sources, a sheaf.Dataset, a Hugging Face Dataset, or an iterable. They
    are packed in their order, unless `seed` shuffles them or `split` divides them. Both options need disk space for a
    second copy while they run. If a key is repeated, duplicate_keys="number" gives the later sample a free key such as
    KEY-2, and "drop" leaves it out. `classes` names the labels; it is an error if no sample has a label. If samples are
    sorted by class, `note` is called.

    `note` is called for each notice that `sheaf pack` prints, such as one about columns of a list that became fields.
    Without it, a warning is given.

    `resume` continues a run that was killed, after its last finished shard. The source, the options, the name of
    transform and `version` must be the same as before. `version` is any text. Use another text whenever transform
    changes. For an iterable, `version` also identifies the samples.

        def smaller(sample):
            image = PIL.Image.open(io.BytesIO(sample["jpg"])).convert("RGB").resize((256, 256))
            to = io.BytesIO()
            image.save(to, "JPEG")
            return {"jpg": to.getvalue()}

        sheaf.pack("images/", "shards/", transform=smaller, version="256", jobs=8)"""
    _check_packing(on_error, on_change, max_skipped, shard_bytes if shard_size is None else shard_size, shard_count)
    _check_images(fix_images, resize, resize_mode, quality)
    size = _size(SHARD_BYTES, shard_size=shard_size, shard_bytes=shard_bytes)
    images = dict(fix_images=fix_images, quality=quality, resize=resize, resize_mode=resize_mode)
    writing = dict(format=format, codec=codec, prefix=prefix, on_error=on_error, resume=resume,
                   check_images=check_images, overwrite=overwrite, index=index, jobs=jobs,
                   memory_bytes=_size(MEMORY_BYTES, memory=memory, memory_bytes=memory_bytes),
                   progress=_told(progress, Progress), report=_told(report, Problem), s3=_s3(s3))
    choosing = dict(shard_count=shard_count, root=_text(root), no_shuffle=no_shuffle,
                    seed=seed or 0, split=split, dry_run=dry_run, plan=_told(plan, PlanShard),
                    filters=_filters(include, exclude), field_aliases=_aliases(field_alias),
                    key_end=key_end, note=_noted(note), on_change=on_change,
                    max_skipped=_limit(max_skipped), class_depth=class_depth)
    if not _is_files(source):
        _refuse("is for files, and the source is samples", root=root, dry_run=dry_run, plan=plan,
                include=include, exclude=exclude, field_alias=field_alias, max_skipped=max_skipped,
                class_depth=class_depth,
                on_change=on_change if on_change != "fail" else None,
                key_end=key_end if key_end != "first-dot" else None)
        if seed is None and split is None:
            _refuse("needs seed= if the source is samples, which are packed as they come otherwise",
                    shard_count=shard_count)
    if transform is not None and not callable(transform):
        raise TypeError("transform must be callable, not %r" % (transform,))
    if not _is_files(source) and not (hasattr(source, "__iter__") or hasattr(source, "__getitem__")):
        raise TypeError("source must be a path, paths or samples, not %r" % (source,))
    if transform is None:
        _refuse("is for a transform", start_method=start_method)
    if transform is None and _is_files(source):
        _refuse("is for a transform", version=version)
        _refuse("is for samples: files with one key are one sample",
                duplicate_keys=duplicate_keys if duplicate_keys != "fail" else None)
    else:
        writing.update(duplicate_keys=duplicate_keys)
    if transform is not None:
        _refuse("is for what is packed without a transform", fix_images=fix_images, resize=resize)
    if _is_files(source) and (transform is None or dry_run):
        with _class_file(classes) as choosing["classes"]:
            return PackResult(**_sheaf.pack(source, dest, shard_bytes=size, label_base=label_base,
                                            **images, **writing, **choosing))
    from . import _making, sources
    made = _making.Transform(transform, version or "", _jobs(jobs), start_method) \
        if transform is not None else None
    tell = report or (lambda problem: None)
    if made is None:
        writing.update(images)
    if made is None or not _is_files(source):
        names, label_base = _class_names(classes, label_base)
        if seed is not None or split is not None:
            return _making.pack_staged(sources.of(source), dest, made, names, label_base, size, shard_count,
                                       seed, split, tell, _noted(note, 5), writing)
        return _making.pack_items(sources.of(source), dest, made, version, names, label_base, size, tell,
                                  note or _warn_note, writing)
    _refuse("is not possible with a transform: pack with split alone, and then each part of that, "
            "sheaf.pack(sheaf.Dataset(\"parts/train\"), ..., transform=...)", split=split)
    with _class_file(classes) as choosing["classes"]:
        planning = dict(writing, shard_bytes=size, label_base=label_base, duplicate_keys="fail", **choosing)
        return _making.pack_planned(source, dest, made, on_error == "skip", size, shard_count,
                                    planning, tell, writing)


def plan(source: Union[Path, Sequence[Path]], dest: Path, plan: Path, *,
         format: str = "webdataset", codec: str = "none",
         shard_bytes: Optional[Size] = None, shard_size: Optional[Size] = None, shard_count: int = 0,
         prefix: str = "shard",
         root: Optional[Path] = None, no_shuffle: bool = False, seed: int = 0,
         label_base: int = 0, split: Optional[str] = None, on_error: str = "fail",
         resume: bool = False, overwrite: bool = False, index: Optional[str] = None,
         jobs: int = 0, memory_bytes: Optional[Size] = None, memory: Optional[Size] = None,
         progress: Optional[Callable[[Progress], Any]] = None,
         report: Optional[Callable[[Problem], Any]] = None,
         include: Patterns = (), exclude: Patterns = (),
         field_alias: Optional[Mapping[str, str]] = None, key_end: str = "first-dot",
         fix_images: bool = False, check_images: str = "markers", quality: int = 90,
         resize: int = 0, resize_mode: str = "shorter",
         note: Optional[Callable[[Note], Any]] = None, s3: S3 = None,
         on_change: str = "fail", max_skipped: Union[None, int, str] = None,
         classes: Classes = None, class_depth: int = 0,
         duplicate_keys: str = "fail") -> PackResult:
    """Makes a plan for packing on many machines. Call `plan` once, then pack_part for each part, on any machine, then
    commit. `plan` lists the sources, decides which sample goes into which shard of `dest`, and stores the plan at
    `plan`, a path or an s3:// URL, as `sheaf plan` does.

    If the source is a data set, the plan is for its conversion: convert(plan=...) converts a part. duplicate_keys is
    for such a plan, and is as in convert()."""
    _check_packing(on_error, on_change, max_skipped, shard_bytes if shard_size is None else shard_size, shard_count)
    _check_images(fix_images, resize, resize_mode, quality)
    with _class_file(classes) as file:
        return PackResult(**_sheaf.plan(
            source, dest, plan, format=format, codec=codec,
            shard_bytes=_size(SHARD_BYTES, shard_size=shard_size, shard_bytes=shard_bytes), shard_count=shard_count,
            prefix=prefix, root=_text(root),
            no_shuffle=no_shuffle, seed=seed, label_base=label_base, split=split, on_error=on_error,
            resume=resume, overwrite=overwrite, index=index, jobs=jobs,
            memory_bytes=_size(MEMORY_BYTES, memory=memory, memory_bytes=memory_bytes),
            progress=_told(progress, Progress), report=_told(report, Problem),
            filters=_filters(include, exclude), field_aliases=_aliases(field_alias), key_end=key_end,
            fix_images=fix_images, check_images=check_images, quality=quality,
            resize=resize, resize_mode=resize_mode, note=_noted(note), s3=_s3(s3),
            on_change=on_change, max_skipped=_limit(max_skipped), class_depth=class_depth,
            classes=file, duplicate_keys=duplicate_keys))


def _part(part: Optional[int], parts: Optional[int]) -> Tuple[int, int]:
    """Returns the part and the number of parts, from the arguments or the environment."""
    if (part is None) != (parts is None):
        raise ArgumentError("part and parts are given together, or neither")
    if part is not None and parts is not None:
        return part, parts
    found = _sheaf.part_from_environment()
    if found is None:
        raise ArgumentError("nothing in the environment says which part this is: give part and "
                            "parts")
    return found


def pack_part(plan: Path, part: Optional[int] = None, parts: Optional[int] = None, *,
              jobs: int = 0, memory_bytes: Optional[Size] = None, memory: Optional[Size] = None,
              progress: Optional[Callable[[Progress], Any]] = None,
              report: Optional[Callable[[Problem], Any]] = None, s3: S3 = None) -> PackResult:
    """Packs part number `part`, counted from 0, of `parts` of a plan. Parts may be packed in any order, at the same
    time, or again. If part and parts are not given, they are taken from the environment (Slurm, Kubernetes, AWS
    Batch, MPI, SageMaker)."""
    return PackResult(**_sheaf.pack_part(
        plan, *_part(part, parts), jobs=jobs,
        memory_bytes=_size(MEMORY_BYTES, memory=memory, memory_bytes=memory_bytes),
        progress=_told(progress, Progress), report=_told(report, Problem), s3=_s3(s3)))


def append(source: Any, dataset: Path, *, shard_size: Optional[Size] = None, shard_count: int = 0,
           root: Optional[Path] = None, no_shuffle: bool = False, seed: int = 0,
           on_error: str = "fail", resume: bool = False, overwrite: bool = False,
           dry_run: bool = False, jobs: int = 0, memory: Size = "512MiB",
           progress: Optional[Callable[[Progress], Any]] = None,
           report: Optional[Callable[[Problem], Any]] = None,
           plan: Optional[Callable[[PlanShard], Any]] = None,
           include: Patterns = (), exclude: Patterns = (),
           field_alias: Optional[Mapping[str, str]] = None, key_end: str = "first-dot",
           fix_images: bool = False, check_images: str = "markers", quality: int = 90,
           resize: int = 0, resize_mode: str = "shorter",
           note: Optional[Callable[[Note], Any]] = None, s3: S3 = None,
           on_change: str = "fail", max_skipped: Union[None, int, str] = None,
           class_depth: int = 0, split: Optional[str] = None) -> PackResult:
    """Adds the files of `source` to a data set as new shards, as `sheaf append` does. Existing classes keep their
    numbers, and new classes get the numbers after them. Readers that have the data set open continue with the earlier
    samples. Resuming at an earlier position raises ChangedError. Without shard_size, shards have the size of those of
    the data set. `overwrite` removes the leftovers of an interrupted append, and no samples of the data set.

    If `dataset` is a directory of splits, the samples are divided among all of them, in the proportions of the data or
    of `split`. A sample that one of the splits has is not added to another one.

        sheaf.append("new-photos/", "shards/")"""
    if source is None:
        raise TypeError("a source must be a path or URL, or several of them, not None")
    if not _is_files(source):
        raise ArgumentError("append: the source is samples, expected files: pack the samples as another data set, and "
                            "join the two in a view")
    _check_packing(on_error, on_change, max_skipped, shard_size, shard_count)
    return PackResult(**_sheaf.append(
        source, dataset, shard_bytes=_size(0, shard_size=shard_size), shard_count=shard_count,
        root=_text(root), no_shuffle=no_shuffle, seed=seed, on_error=on_error, resume=resume,
        overwrite=overwrite, dry_run=dry_run, jobs=jobs, memory_bytes=_size(0, memory=memory),
        progress=_told(progress, Progress), report=_told(report, Problem),
        plan=_told(plan, PlanShard), filters=_filters(include, exclude),
        field_aliases=_aliases(field_alias), key_end=key_end, fix_images=fix_images,
        check_images=check_images, quality=quality, resize=resize, resize_mode=resize_mode,
        note=_noted(note), s3=_s3(s3), class_depth=class_depth,
        on_change=on_change, max_skipped=_limit(max_skipped), split=split))


def commit(plan: Path, *, jobs: int = 0, memory_bytes: Optional[Size] = None,
           memory: Optional[Size] = None,
           progress: Optional[Callable[[Progress], Any]] = None,
           report: Optional[Callable[[Problem], Any]] = None, s3: S3 = None) -> PackResult:
    """Checks that all shards of a plan exist, and publishes them as a data set. Raises NotFoundError if shards are
    missing, and names the shards and their parts."""
    return PackResult(**_sheaf.commit(
        plan, jobs=jobs, memory_bytes=_size(MEMORY_BYTES, memory=memory, memory_bytes=memory_bytes),
        progress=_told(progress, Progress),
        report=_told(report, Problem), s3=_s3(s3)))
