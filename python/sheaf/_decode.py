# SPDX-License-Identifier: MIT
"""Calls a program's `decode` for the samples of a batch.

If `decode` raises an exception, the exception names the sample. With on_error="skip", a sample is left out and
reported if `decode` raises an exception or returns None for it."""

from __future__ import annotations

import time
import warnings
from typing import Any, Callable, Iterable, List, NamedTuple, Tuple

import sheaf

Decode = Callable[["sheaf.Sample"], Any]


class Decoded(List[Any]):
    """The decoded samples of a batch, and a problem for each sample that was left out."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: List[sheaf.Problem] = []


class Times:
    """The time that this process has spent on its present batch, in nanoseconds."""

    def __init__(self) -> None:
        self.reading = self.decoding = 0


times = Times()


class Told(NamedTuple):
    """A batch on its way from a worker to the program, with a problem for each sample that was left out. `took` has
    the times of reading, decoding and collating."""
    batch: Any
    problems: List[sheaf.Problem]
    took: Tuple[int, int, int]

    def pin_memory(self, *_: Any) -> "Told":
        """PyTorch's pinning thread calls this method. Without it, PyTorch would go through the tuple and its problems
        itself."""
        from torch.utils.data._utils.pin_memory import pin_memory
        return self._replace(batch=pin_memory(self.batch))


def unstopped(error: Exception) -> Exception:
    """Returns a RuntimeError in place of a StopIteration, which would silently end the pass over the loader."""
    if not isinstance(error, StopIteration):
        return error
    instead = RuntimeError("it raised StopIteration, as next() does at the end of an iterator")
    instead.__cause__ = error
    return instead


def named(error: BaseException, where: str) -> BaseException:
    """Puts `where` before the exception's message, and keeps its type and traceback."""
    text = error.args[0] if error.args else ""
    if len(error.args) <= 1 and isinstance(text, str):
        error.args = ("%s: %s" % (where, text) if text else where,)
    if where not in str(error) and hasattr(error, "add_note"):
        error.add_note(where)
    return error


def decode_all(decode: Decode, samples: Iterable["sheaf.Sample"], skips: bool) -> Decoded:
    """Returns the results of `decode`, in the order of the samples."""
    decoded = Decoded()
    begun = time.monotonic_ns()
    for sample in samples:
        try:
            result = decode(sample)
        except Exception as error:
            if not skips:
                raise named(unstopped(error), "sample %r: decode" % sample.key)
            decoded.problems.append(_problem(sample, "%s: %s" % (type(error).__name__, error)))
            continue
        if skips and result is None:
            decoded.problems.append(_problem(sample, "it returned None"))
        else:
            decoded.append(result)
    times.decoding = time.monotonic_ns() - begun
    return decoded


def _problem(sample: "sheaf.Sample", what: str) -> sheaf.Problem:
    return sheaf.Problem("shard %d" % sample.shard, "DECODE",
                         "sample %r: decode: %s" % (sample.key, what))


def warn_all(problems: List[sheaf.Problem]) -> None:
    """Warns about samples that were left out, if the loader is not of this package and so does not report them."""
    for problem in problems:
        warnings.warn("skipped: %s" % problem.message, stacklevel=4)
