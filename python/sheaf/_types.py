# SPDX-License-Identifier: MIT
"""Arguments and results of the package's functions: paths, sizes, channels, and results as named tuples."""

from __future__ import annotations

import os
import re
import warnings
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ._sheaf import ArgumentError

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class Channel(NamedTuple):
    """A channel of a training platform as a source, for example SageMaker's "train", in any input mode (a directory,
    pipes, or S3 directly)."""
    name: str
    root: str = "/opt/ml"
    wait_seconds: int = 600             # seconds to wait for a pipe, and then for its first byte
    manifest: Optional[Path] = None     # for ShardedByS3Key: path or URL of dataset.json


Source = Union[Path, Sequence[Path], Channel]
Size = Union[int, str]      # bytes, or a text as in the command: "150MB", "64MiB"
Labels = Union[None, float, Sequence[float]]
S3 = Optional[Mapping[str, Union[str, bool]]]   # for example {"storage_class": "STANDARD_IA"}; see doc/s3.md


def _s3(settings: S3) -> List[str]:
    """Returns the settings in the form of the option `--s3`, "storage-class=STANDARD_IA"."""
    return ["%s=%s" % (name.replace("_", "-"),
                       str(value).lower() if isinstance(value, bool) else value)
            for name, value in (settings or {}).items()]


class Shard(NamedTuple):
    """One shard of a data set."""
    name: str
    bytes: int
    payload_bytes: int
    samples: int
    xxh3: Optional[str]
    source: int = 0     # number of the shard's source in the data set


class Field(NamedTuple):
    """One field of a data set: the number of samples that have it, and its sizes in bytes."""
    name: str
    samples: int
    bytes: int
    least: int
    median: int     # exact to 5 %
    most: int
    lacking: Optional[str]      # the key of the first sample without the field


class SourceInfo(NamedTuple):
    """One source of a data set, described as if it were opened alone."""
    url: str
    has_manifest: bool
    container: Optional[str]
    codec: Optional[str]
    first_shard: int
    shard_count: int
    first_number: int
    samples: int
    label_base: int
    fingerprint: str
    manifest_json: Optional[str]


class Progress(NamedTuple):
    """The progress of a call. A total of 0 means that the total is unknown."""
    stage: str
    done_bytes: int
    total_bytes: int
    done_count: int
    total_count: int


class Problem(NamedTuple):
    """A bad file or record: its file or shard, the error code ("CORRUPT"), and the message."""
    where: str
    code: str
    message: str


class Note(NamedTuple):
    """A notice that is not an error: its subject, such as a pattern, and the message."""
    about: str
    message: str


class PlanShard(NamedTuple):
    """One shard of a plan."""
    split: str
    name: str
    samples: int
    payload_bytes: int


class PackResult(NamedTuple):
    """The result of packing; sheaf.h describes each number."""
    files: int
    files_packed: int
    samples: int
    payload_bytes: int
    stored_bytes: int
    shards: int
    shards_kept: int
    skipped: int
    multipart_records: int
    memory_peak_bytes: int
    plan_bytes: int
    passed_over: int
    left_out: int
    unlabelled: int
    first_unlabelled: str
    filtered: int
    converted: int
    resized: int
    duplicates: int = 0


class FetchResult(NamedTuple):
    """The result of a fetch; sheaf.h describes each number."""
    objects: int
    bytes: int
    kept: int
    kept_bytes: int
    fetched: int
    fetched_bytes: int
    verified: int
    repeated: int
    unfinished: int
    memory_peak_bytes: int


class VerifyResult(NamedTuple):
    """The result of a check. It has the first thousand problems, and the number of all."""
    shards: int
    samples: int
    bytes: int
    passed_over: int
    unused_classes: int
    labelled: int
    unread_labels: int
    unlabelled: str
    repeated_keys: int
    repeated_key: str
    problem_count: int
    problems: List[Problem]


class Stats(NamedTuple):
    """Counters of a reader. read_bytes / chosen_bytes says how much was read for each byte of the chosen samples. It
    is more than 1 if data between the samples that a view chose was read as well."""
    samples: int
    payload_bytes: int
    read_bytes: int
    chosen_bytes: int
    cached_bytes: int
    uncached_objects: int
    corrupt: int
    passed_over: int
    lost_bytes: int
    repeated: int
    repeated_keys: int
    stall_ns: int
    first_sample_ns: int
    memory_bytes: int
    memory_peak_bytes: int
    requests: int = 0       # HTTP requests of the whole process
    retries: int = 0        # HTTP requests that were repeated after a failure
    missing: int = 0        # values that columns lack: samples that were left out, or fields
    undecoded: int = 0      # samples that were left out because a DataLoader's decode failed
    batches: int = 0        # batches that a DataLoader has returned
    wait_ns: int = 0        # ns that the program waited for batches
    step_ns: int = 0        # ns that the program did something else between batches
    read_ns: int = 0        # ns of reading, in all workers, in the program, or with pixels= in a thread
    decode_ns: int = 0      # ns of decoding, in all workers, in the program, or in decode_threads
    collate_ns: int = 0     # ns of collating, in all workers, or in the program if there are none
    workers: int = 0
    decode_threads: int = 0     # threads of the library that decode for pixels=

    def __str__(self) -> str:
        """Returns one line for people."""
        words = ["{:,} samples, {:,.1f} MB read".format(self.samples, self.read_bytes / 1e6)]
        passed = self.wait_ns + self.step_ns
        if passed != 0:
            work = self.read_ns + self.decode_ns + self.collate_ns
            of = passed * max(1, self.workers)
            words.append("{:,} batches; waits {:.0%} of the time for data".format(
                self.batches, self.wait_ns / passed))
        if passed != 0 and self.decode_threads:
            words.append("{:.0%} of {} decode threads busy; reading takes {:.0%} of the time, and "
                         "handing over {:.1%}".format(self.decode_ns / passed / self.decode_threads,
                                               self.decode_threads, self.read_ns / passed,
                                               self.collate_ns / passed))
        elif passed != 0:
            words.append("{} {:.0%} busy: {:.0%} reading, {:.0%} decoding, {:.0%} collating".format(
                "%d workers" % self.workers if self.workers > 1 else
                "1 worker" if self.workers else "the loader", work / of, self.read_ns / of,
                self.decode_ns / of, self.collate_ns / of))
        if self.stall_ns:
            words.append("the reader waited {:.1f} s for the store".format(self.stall_ns / 1e9))
        for name in ("corrupt", "undecoded"):
            if getattr(self, name):
                words.append("%d %s" % (getattr(self, name), name))
        return "; ".join(words)


def _told(call: Optional[Callable[[Any], Any]], kind: Any) -> Optional[Callable[..., Any]]:
    """Returns a function that packs the extension's separate values into one object for the program's callable."""
    if call is None:
        return None
    if not callable(call):
        raise TypeError("expected a callable or None, not %r" % (call,))
    return lambda *values: call(kind(*values))


def _noted(note: Optional[Callable[[Note], Any]], level: int = 4) -> Optional[Callable[..., Any]]:
    """Returns a function that passes a note to the program's callable, or warns if there is none, so that no note is
    silent. `level` is 4 if the function of the package that the program has called passes the result to the extension,
    and 5 if this function calls another one for that."""
    return _told((lambda told: warnings.warn(told.message, stacklevel=level)) if note is None else note, Note)


def _warn(problem: Problem) -> None:
    """Warns about a problem, so that no problem is silent."""
    warnings.warn("skipped: %s" % problem.message, stacklevel=4)


_UNITS = {"": 1, "kB": 1000, "MB": 1000 ** 2, "GB": 1000 ** 3, "TB": 1000 ** 4,
          "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


READER_MEMORY = 1 << 30             # the defaults of readers
CACHE_BYTES = 64000000000


def _one(standard: Any, **names: Any) -> Tuple[str, Any]:
    """Returns the name and the value of an option that has several names. `names` has the value under each name, or
    None. If all are None, the value is `standard`. Raises ArgumentError if the option is given under two names."""
    given = [(name, value) for name, value in names.items() if value is not None]
    if len(given) > 1:
        raise ArgumentError("%s: these are names of the same option: give one of them" %
                            " and ".join("%s=%r" % each for each in given))
    return given[0] if given else (next(iter(names)), standard)


def _needs(needed: str, has: Any, **options: Any) -> None:
    """Raises ArgumentError if one of `options` is given although it has no effect, because `has` is false: the program
    has not given `needed`. An option that is not given is None."""
    for name, value in options.items():
        if value is not None and not has:
            raise ArgumentError("%s=%r requires %s" % (name, value, needed))


def _check_reading(on_corrupt: Optional[str] = None, max_corrupt: Optional[int] = None, columns: Any = None,
                   missing: str = "fail") -> None:
    """Refuses options of a reader that have no effect."""
    _needs("on_corrupt='skip'", on_corrupt == "skip", max_corrupt=max_corrupt)
    _needs("columns", columns, missing=None if missing == "fail" else missing)


def _check_packing(on_error: str, on_change: str, max_skipped: Any, size: Optional[Size], count: int) -> None:
    """Refuses options of packing that have no effect. `size` and `count` are those of the shards."""
    _needs("on_error='skip'", on_error == "skip", max_skipped=max_skipped,
           on_change=None if on_change == "fail" else on_change)
    _check_shards(size, count)


def _check_shards(size: Optional[Size], count: int) -> None:
    if size and count:
        raise ArgumentError("shard_size=%r and shard_count=%r exclude each other" % (size, count))


def _check_images(fix_images: bool, resize: int, resize_mode: str, quality: int) -> None:
    """Refuses options about images that have no effect."""
    _needs("resize", resize, resize_mode=None if resize_mode == "shorter" else resize_mode)
    _needs("fix_images or resize", fix_images or resize, quality=None if quality == 90 else quality)


def _size(standard: Size, **names: Optional[Size]) -> int:
    """Returns an option as a number of bytes. The arguments are those of _one()."""
    name, value = _one(standard, **names)
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"(\d+)(?:\.(\d{1,9}))?(|[kMGT]B|[KMGT]iB)", value, re.ASCII)
    if found:
        part = found[2] or ""
        size_bytes, rest = divmod(int(found[1] + part) * _UNITS[found[3]], 10 ** len(part))
        if rest == 0:
            return size_bytes
    raise ArgumentError("%s=%r: invalid size, expected a number of bytes, or a number followed by kB, "
                        "MB, GB, TB, KiB, MiB, GiB or TiB" % (name, value))


def _text(path: Optional[Path]) -> Optional[str]:
    return None if path is None else os.fsdecode(path)
