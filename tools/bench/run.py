# SPDX-License-Identifier: MIT
"""Runs contenders in turn. Each round runs every contender once, so that other work of the machine affects all of
them alike. A ratio is computed within a round; its median and range are reported."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field


class Failed(Exception):
    """A contender did not do its work."""


@dataclass
class Contender:
    """A command. It prints a line of JSON about its work (meter.h). With `whole`, it is measured from outside
    instead, from its start to its end, with all processes that it waits for."""
    name: str
    command: list
    bytes: int = 0              # bytes that the command moves, if it does not print them
    items: int = 0              # number of files or samples that the command must report
    whole: bool = False
    before: object = None       # function that is called before each run and not measured
    after: object = None
    env: dict = None


@dataclass
class Measure:
    """The measurements of one run."""
    seconds: float
    cpu_seconds: float
    bytes: int
    items: int
    peak_bytes: int
    first_seconds: float = 0

    def get(self, quantity):
        return {
            "seconds": self.seconds,
            "items/CPU s": self.items / self.cpu_seconds if self.cpu_seconds else 0,
            "GB/s": self.bytes / 1e9 / self.seconds,
            "items/s": self.items / self.seconds,
            "CPU s/GB": self.cpu_seconds * 1e9 / self.bytes if self.bytes else 0,
            "peak MiB": self.peak_bytes / 2**20,
            "first ms": self.first_seconds * 1e3,
            "seconds/item": self.seconds / max(self.items, 1),
        }[quantity]


@dataclass
class Results:
    """All measurements, by contender, in the order of the rounds; and the contenders that could not be run."""
    measures: dict = field(default_factory=dict)
    missing: dict = field(default_factory=dict)     # name: reason

    def series(self, name, quantity):
        return [m.get(quantity) for m in self.measures[name]]

    def ratios(self, name, base, quantity):
        return [a / b for a, b in zip(self.series(name, quantity), self.series(base, quantity))]


def run_once(contender):
    if contender.before:
        contender.before()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        process = subprocess.Popen(contender.command, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=err, env=contender.env)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, why = out.read().decode(errors="replace"), err.read().decode(errors="replace")
    if contender.after:
        contender.after()
    if process.returncode != 0:
        raise Failed("%s: status %d: %s" % (contender.name, process.returncode,
                                            (why or said).strip()[-300:]))
    if contender.whole:
        return Measure(seconds, usage.ru_utime + usage.ru_stime, contender.bytes,
                       contender.items, usage.ru_maxrss * 1024)
    return _measure(contender, json.loads(said.strip().splitlines()[-1]))


def _measure(contender, said):
    if contender.items and said["items"] != contender.items:
        raise Failed("%s: %d items, not %d" % (contender.name, said["items"], contender.items))
    return Measure(said["seconds"], said["cpu_seconds"], contender.bytes or said["bytes"],
                   said["items"], said["peak_bytes"], said["first_seconds"])


def take_turns(contenders, results, least=3, most=9, seconds=15):
    """Makes rounds until `seconds` have passed, with a least and a largest number of rounds. A contender that fails
    is reported and left out."""
    contenders = list(contenders)
    begin, done = time.monotonic(), 0
    while contenders and done < most and (done < least or time.monotonic() - begin < seconds):
        shift = done % len(contenders)
        for contender in contenders[shift:] + contenders[:shift]:
            try:
                measure = run_once(contender)
            except (Failed, OSError, ValueError) as error:
                print("  left out: %s" % error, file=sys.stderr)
                results.missing[contender.name] = str(error)
                results.measures.pop(contender.name, None)
                contenders.remove(contender)
                continue
            results.measures.setdefault(contender.name, []).append(measure)
        done += 1


def spread(values):
    """Returns (median, least, most)."""
    return statistics.median(values), min(values), max(values)
