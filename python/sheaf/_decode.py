# SPDX-License-Identifier: MIT
"""What a program's decode makes of the samples of a batch: an exception names its sample, and with
on_error="skip" a sample that decode fails on, or returns None for, is left out and reported."""

from __future__ import annotations

import time
import warnings
from typing import Any, Callable, Iterable, List, NamedTuple, Tuple

import sheaf

Decode = Callable[["sheaf.Sample"], Any]


class Decoded(List[Any]):
    """The results of a batch, and the samples that were left out."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: List[sheaf.Problem] = []


class Times:
    """How long this process took for the batch that it is at, in nanoseconds."""

    def __init__(self) -> None:
        self.reading = self.decoding = 0


times = Times()


class Told(NamedTuple):
    """A batch on its way from a worker to the program, with the samples that it lacks, and with how
    long its parts took: reading, decoding, collating."""
    batch: Any
    problems: List[sheaf.Problem]
    took: Tuple[int, int, int]

    def pin_memory(self, *_: Any) -> "Told":
        """PyTorch's thread calls this, and would otherwise take the problems apart."""
        from torch.utils.data._utils.pin_memory import pin_memory
        return self._replace(batch=pin_memory(self.batch))


def named(error: BaseException, where: str) -> BaseException:
    """Puts `where` before the exception's message, so that its type and traceback stay."""
    text = error.args[0] if error.args else ""
    if len(error.args) <= 1 and isinstance(text, str):
        error.args = ("%s: %s" % (where, text) if text else where,)
    if where not in str(error) and hasattr(error, "add_note"):
        error.add_note(where)
    return error


def decode_all(decode: Decode, samples: Iterable["sheaf.Sample"], skips: bool) -> Decoded:
    """The results of decode, in order."""
    decoded = Decoded()
    begun = time.monotonic_ns()
    for sample in samples:
        try:
            result = decode(sample)
        except Exception as error:
            if not skips:
                raise named(error, "sample %r: decode" % sample.key)
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
    """Where nobody else tells the program: in a loader that is not of this package."""
    for problem in problems:
        warnings.warn("skipped: %s" % problem.message, stacklevel=4)
