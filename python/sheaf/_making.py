# SPDX-License-Identifier: MIT
"""Packs samples instead of files: the results of a transform of files, or the samples of another source.

Files are listed in a plan, which sheaf.plan makes with dry_run, so that the destination is left alone. Each process
reads groups of about 4 MiB of the plan's samples itself. Samples of another source are read here, and sent to the
processes in groups. In both cases the Packer gets the results in the order of the source, so they do not depend on
the number of processes.

All samples that were made of one item are in the same shard. Each shard is recorded with the number of the item after
it, and a resumed run begins with this item."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import tempfile
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import _sheaf
from ._packing import Packer
from ._pool import Pool, Raised, Work
from ._rows import LABELS, Runs
from ._samples import Made, made, name_of
from ._sheaf import ArgumentError, ChangedError
from ._types import Note, PackResult, Problem

GROUP_ITEMS = 64                    # most items of a source that are sent to a process at once
GROUP_BYTES = 1 << 20               # most bytes of their fields, about
PART_BYTES = 4 << 20                # bytes of results that a process sends at once, about

# The results of one item: its number, its shard in the plan, and the samples that were made of it.
_Result = Tuple[int, int, List[Made]]
# The results of some items, and the bad files among these items.
_Part = Tuple[List[_Result], List[Tuple[str, str, str]]]


class Transform(NamedTuple):
    function: Callable[[Any], Any]
    version: str
    jobs: int
    start_method: Optional[str]

    @property
    def name(self) -> str:
        function = self.function
        while hasattr(function, "func"):        # for a functools.partial
            function = function.func
        return "%s.%s" % (getattr(function, "__module__", ""),
                          getattr(function, "__qualname__", type(function).__qualname__))


def _transformed(function: Callable[[Any], Any], item: Any, number: int) -> List[Made]:
    """Calls transform for an item and returns the samples. If the result is a generator, it runs here as well, so
    that its exceptions also name the sample."""
    try:
        return made(function(item), item, number)
    except ArgumentError:
        raise
    except BaseException as error:
        raise Raised("sample %r" % name_of(item, number)) from error


# ---- Code that runs in the processes --------------------------------------------------------------

class _FromPlan(NamedTuple):
    """Makes the function that a process calls with the number of the first sample of a group in a plan."""
    function: Callable[[Any], Any]
    plan: str
    skips: bool

    def __call__(self) -> Work:
        planned = _sheaf.Planned(self.plan)

        def work(first: int) -> Iterator[_Part]:
            problems: List[Tuple[str, str, str]] = []
            batch = planned.read(first, (lambda *problem: problems.append(problem))
                                 if self.skips else None)
            yield from _in_parts(((sample.number, sample.shard,
                                   _transformed(self.function, sample, sample.number))
                                  for sample in batch), problems)
        return work


class _FromItems(NamedTuple):
    """Makes the function that a process calls with a group of numbered items."""
    function: Callable[[Any], Any]

    def __call__(self) -> Work:
        return lambda group: _in_parts(((number, 0, _transformed(self.function, item, number))
                                        for number, item in group), [])


def _in_parts(results: Iterable[_Result], problems: List[Tuple[str, str, str]]) -> Iterator[_Part]:
    some: List[_Result] = []
    size = 0
    for result in results:
        some.append(result)
        size += sum(sample.payload for sample in result[2])
        if size >= PART_BYTES:
            yield some, []
            some, size = [], 0
    if some or problems:
        yield some, problems


# ---- Sources of items -----------------------------------------------------------------------------

class _Planned:
    """The files of a plan, in the order of the plan."""

    def __init__(self, path: str, skips: bool) -> None:
        self._path, self._skips, self._planned = path, skips, _sheaf.Planned(path)
        info = self._planned.info()
        self.identity, self.origin = "plan " + info["identity"], "plan " + info["hash"]
        self.classes, self.label_base = info["classes"] or None, info["label_base"]
        self._samples = info["samples"]

    def results(self, first: int, transform: Transform) -> Iterator[Any]:
        make = _FromPlan(transform.function, self._path, self._skips)
        with Pool(make, transform.jobs, transform.start_method) as pool:
            yield from pool.results(self._stretches(first), lambda at: "samples from number %d" % at)

    def _stretches(self, at: int) -> Iterator[int]:
        while at < self._samples:
            yield at
            at = self._planned.end(at)


class _Items:
    """The items of a source of samples, or of any iterable."""

    def __init__(self, source: Any, version: Optional[str], classes: Optional[Sequence[str]],
                 label_base: int) -> None:
        self._source = source
        identity = getattr(source, "identity", None) or getattr(source, "fingerprint", None)
        if identity is None and version:
            identity = "samples"
        self.identity = self.origin = identity
        self.classes = getattr(source, "classes", None) or None if classes is None else classes
        self.names_classes = classes is not None
        self._own = list(getattr(source, "classes", None) or []) if hasattr(source, "begin") else []
        if self.names_classes and self._own == list(classes):
            self._own = []              # the numbers of the source are those of the data set
        self.label_base = getattr(source, "label_base", label_base)

    def _items(self, first: int) -> Iterator[Tuple[int, Any]]:
        """Returns pairs of a number and an item, from number `first` on. If the source can begin at a number, the earlier items
        are not read."""
        begin = getattr(self._source, "begin", None)
        if begin is not None:
            items = map(self._renumbered, begin(first)) if self.names_classes and self._own else begin(first)
        elif isinstance(self._source, _sheaf.Dataset):
            items = _dataset(self._source, first)
        else:
            items = itertools.islice(self._source, first, None)
        return enumerate(items, first)

    def _renumbered(self, row: Any) -> Any:
        """Replaces the labels of a row, which are numbers in the source's list of classes, by the numbers that the
        names of these classes have in the data set."""
        classes, labels = list(self.classes or []), []
        for label in row.labels:
            name = self._own[label] if label in range(len(self._own)) else label
            if name not in classes:
                raise ArgumentError("sample %r: the class %r is none of classes" % (row.key, name))
            labels.append(classes.index(name) + self.label_base)
        row.labels = tuple(labels)
        return row

    def results(self, first: int, transform: Optional[Transform]) -> Iterator[Any]:
        if transform is None:
            for number, item in self._items(first):
                yield [(number, 0, made(item, item, number))], []
            return
        make = _FromItems(transform.function)
        with Pool(make, transform.jobs, transform.start_method) as pool:
            yield from pool.results(self._groups(first), lambda group: "samples %r to %r" % (
                name_of(group[0][1], group[0][0]), name_of(group[-1][1], group[-1][0])))

    def _groups(self, first: int) -> Iterator[List[Tuple[int, Any]]]:
        group: List[Tuple[int, Any]] = []
        size = 0
        for number, item in self._items(first):
            group.append((number, item))
            size += _bytes_of(item)
            if len(group) == GROUP_ITEMS or size >= GROUP_BYTES:
                yield group
                group, size = [], 0
        if group:
            yield group


def _dataset(dataset: Any, first: int) -> Iterator[Any]:
    """Yields the samples of a data set in order, from number `first` on."""
    from . import Reader
    with Reader(dataset, no_shuffle=True, rank=0, world_size=1, worker=0, workers=1) as reader:
        if first == 0:
            yield from reader
            return
    for at in range(first, len(dataset), GROUP_ITEMS):
        yield from dataset[at:at + GROUP_ITEMS]


def _bytes_of(item: Any) -> int:
    if isinstance(item, tuple) and len(item) > 1:
        item = item[1]
    if isinstance(item, dict) or hasattr(item, "values"):
        return sum(len(value) for value in item.values() if hasattr(value, "__len__"))
    return len(item) if isinstance(item, (bytes, str)) else 0


# ---- Packing -------------------------------------------------------------------------------------

class _Resumable(Packer):
    """A Packer that can be resumed and then skips the items of finished shards."""

    def __init__(self, dest: Any, classes: Optional[Sequence[str]], label_base: int, checks: bool,
                 options: Dict[str, Any]) -> None:
        try:
            _sheaf.Packer.__init__(self, dest, label_base=label_base, **options)
        except ChangedError as error:
            raise ChangedError("%s; or the name or version of transform has" % error) from None
        self._dest, self._label_base = os.fsdecode(dest), label_base
        self._classes, self._checks = None if classes is None else list(classes), checks
        self.added = self.labelled = 0
        self.first_unlabelled = ""
        self.runs = Runs()
        if self._classes is not None:
            self.set_classes(self._classes)

    def add(self, sample: Made) -> None:
        key, fields, labels, class_name = sample
        if class_name is not None and self._classes is None:
            raise ArgumentError("sample %r has the class %r: name all classes, classes=[...], which "
                                "gives them their numbers" % (key, class_name))
        if class_name is not None and labels is None:
            if class_name not in (self._classes or []):
                raise ArgumentError("sample %r: the class %r is none of classes" % (key, class_name))
            labels = (self._classes or []).index(class_name) + self._label_base
        self.added += 1
        if labels is not None:
            self.labelled += 1
        elif self.labelled + 1 == self.added:
            self.first_unlabelled = key
        self.runs.add(labels)
        if self._checks:
            self.append(key, fields, labels, class_name)
        else:                           # files may have labels that are not numbers of classes
            _sheaf.Packer.append(self, key, fields, labels, class_name)


def _identify(items: Any, transform: Optional[Transform], version: Optional[str], cut: Any,
              resume: bool) -> Dict[str, str]:
    """Returns the two texts by which a resumed run recognises its samples: the source, the name of transform and the
    caller's version."""
    if items.identity is None:
        if resume:
            raise ArgumentError("resume=True needs version=\"...\", a text for what these samples "
                                "are, as it was given to the run before")
        return {}
    name = None if transform is None else transform.name
    return {"identity": json.dumps([items.identity, name, version or "", cut]),
            "origin": json.dumps([items.origin, name, version or "", cut])}


def _fill(packer: _Resumable, results: Iterator[Any], shard_bytes: int, by_plan: bool,
          report: Callable[[Problem], Any]) -> int:
    """Appends all results to the packer. Returns the number of bad files."""
    payload = end = shard = skipped = 0
    for group, problems in results:
        for problem in problems:
            report(Problem(*problem))
            skipped += 1
        for number, of_shard, samples in group:
            if by_plan and of_shard != shard:
                packer._cut_at(end or number)
            shard = of_shard
            for sample in samples:
                packer.add(sample)
                payload += sample.payload
            end = number + 1
            if not by_plan and payload >= shard_bytes:
                packer._cut_at(end)
                payload = 0
    packer._cut_at(end or 1)
    return skipped


def _check(packer: _Resumable, items: Any, note: Callable[[Note], Any]) -> None:
    """Checks the samples as a whole: whether any of them has a label, and whether they are sorted by class."""
    if packer.added and not packer.labelled and getattr(items, "names_classes", False):
        raise ArgumentError("classes= names %d classes, but none of %d samples has a label: a label "
                            "is the item or column %s of a row" % (
                                len(items.classes), packer.added, ", ".join(LABELS)))
    if isinstance(items, _Items) and packer.runs.are_sorted:
        note(Note("order", "the samples come sorted by class, and are packed in this order: with "
                           "seed=0 they are shuffled first"))


def _make(items: Any, dest: Any, transform: Optional[Transform], version: Optional[str],
          shard_bytes: int, shard_count: int, report: Callable[[Problem], Any],
          note: Callable[[Note], Any], options: Dict[str, Any]) -> PackResult:
    options.update(_identify(items, transform, version, [shard_bytes, shard_count],
                             options.get("resume", False)))
    packer = _Resumable(dest, items.classes, items.label_base, isinstance(items, _Items),
                        dict(options, shard_bytes=(1 << 63) - 1))
    skipped = 0
    try:
        if not packer._is_there:
            first = packer._skip()
            with contextlib.closing(items.results(first, transform)) as results:
                skipped = _fill(packer, results, shard_bytes, shard_count != 0, report)
            if first == 0:
                _check(packer, items, note)
        result = packer.finish()
    finally:
        if not packer.finished:
            packer.abort()
    # unlabelled samples are counted only if others have a label, as for files
    if packer.labelled and packer.added > packer.labelled:
        result = result._replace(unlabelled=packer.added - packer.labelled,
                                 first_unlabelled=packer.first_unlabelled)
    return result._replace(skipped=result.skipped + skipped)


def pack_planned(source: Any, dest: Any, transform: Transform, skips: bool, shard_bytes: int,
                 shard_count: int, planning: Dict[str, Any], report: Callable[[Problem], Any],
                 options: Dict[str, Any]) -> PackResult:
    """Packs the results of a transform of files."""
    with tempfile.TemporaryDirectory(prefix="sheaf-") as folder:
        path = os.path.join(folder, "plan")
        found = _sheaf.plan(source, dest, path, **dict(planning, dry_run=True))
        items = _Planned(path, skips)
        sources = [source] if isinstance(source, (str, bytes, os.PathLike)) else list(source)
        options["sources"] = [os.fsdecode(each) for each in sources]
        options["source_count"] = len(sources)
        result = _make(items, dest, transform, transform.version, shard_bytes, shard_count, report,
                       lambda _: None, options)
    result = result._replace(skipped=result.skipped + found["skipped"])
    return result._replace(**{name: found[name] for name in (
        "passed_over", "left_out", "unlabelled", "first_unlabelled", "filtered", "plan_bytes")})


def pack_items(source: Any, dest: Any, transform: Optional[Transform], version: Optional[str],
               classes: Optional[Sequence[str]], label_base: int, shard_bytes: int,
               report: Callable[[Problem], Any], note: Callable[[Note], Any],
               options: Dict[str, Any]) -> PackResult:
    """Packs samples of a source or an iterable."""
    return _make(_Items(source, version, classes, label_base), dest, transform, version, shard_bytes,
                 0, report, note, options)


# ---- Samples in another order, or in several data sets --------------------------------------------

def pack_staged(source: Any, dest: Any, transform: Optional[Transform],
                classes: Optional[Sequence[str]], label_base: int, shard_bytes: int, shard_count: int,
                seed: Optional[int], split: Optional[str], report: Callable[[Problem], Any],
                note: Optional[Callable[..., Any]], options: Dict[str, Any]) -> PackResult:
    """Packs samples that are to be shuffled or split, in two steps. First, they are packed as they come into a data
    set in a temporary directory. Then this data set is converted to the destination."""
    if options.get("resume"):
        raise ArgumentError("resume=True is not possible with seed= or split= of samples, which are "
                            "packed twice: begin anew, with overwrite=True")
    place = os.fsdecode(dest)
    beside = None if "://" in place else os.path.dirname(os.path.abspath(place))
    with tempfile.TemporaryDirectory(prefix=".sheaf-rows-", dir=beside if beside and
                                     os.path.isdir(beside) else None) as folder:
        first = os.path.join(folder, "rows")
        result = pack_items(source, first, transform, None, classes, label_base, shard_bytes, report,
                            lambda _: None, dict(options, codec="none", index=None, overwrite=False,
                                                 resume=False, s3=[], prefix="shard"))
        then = {name: options[name] for name in ("format", "codec", "prefix", "overwrite", "index",
                                                 "jobs", "memory_bytes", "progress", "s3")}
        then.update(shard_bytes=shard_bytes, shard_count=shard_count, reshard=True,
                    reshuffle=seed is not None, seed=seed or 0, split=split, note=note)
        from . import Dataset
        made = _sheaf.convert(Dataset(first), dest, {}, **then)
    return result._replace(stored_bytes=made["stored_bytes"], shards=made["shards"])
