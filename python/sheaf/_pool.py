# SPDX-License-Identifier: MIT
"""Processes that work on tasks. The results come in the order of the tasks.

One thread sends the tasks and receives the results. It sends a task only to a process that waits for one, so no pipe
can be full in both directions. A result comes in parts, so that it need not fit into memory. Parts that are not due
yet are received and kept, up to HELD_BYTES for each process. After that, the processes wait in their pipes.

A process ends when its program ends, whatever the reason, because a thread in the process waits for the program's
end."""

from __future__ import annotations

import collections
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import threading
import traceback
from multiprocessing.reduction import ForkingPickler
from typing import (Any, Callable, Deque, Dict, Iterable, Iterator, List, NamedTuple, Optional,
                    Tuple)

from ._sheaf import ArgumentError, Error

HELD_BYTES = 32 << 20


# The function that a process calls for each task. It yields the parts of the result.
Work = Callable[[Any], Iterator[Any]]
Make = Callable[[], Work]


class TransformError(Error, RuntimeError):
    """transform raised an exception, or its process died, or the process of a function that makes a column died. The
    message names the sample. The exception's own traceback is shown as the cause."""

    code = "TRANSFORM"


TransformError.__module__ = "sheaf"     # so that tracebacks show this name


class _Remote(Exception):
    """The traceback of an exception in another process."""

    def __str__(self) -> str:
        return "\n" + str(self.args[0])


class Failure(NamedTuple):
    """An exception that a task raised. `where` names the sample."""
    where: str
    error: str
    traceback: str
    interrupted: bool = False

    def throw(self) -> None:
        raise TransformError("%s: transform: %s" % (self.where, self.error)) from _Remote(
            self.traceback)


class Raised(Exception):
    """Raised within a task. Its cause is an exception that was raised for the sample that the message names."""


def _end_with(parent: Any) -> None:
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


def _work(connection: Any, make: Make) -> None:
    """Runs in each process: receives tasks and sends the parts of their results."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)        # the program ends the process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    work: Optional[Work] = None
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        if task is None:
            return
        error: Any = None
        try:
            if work is None:
                work = make()
            for part in work(task[0]):
                connection.send_bytes(ForkingPickler.dumps((False, part)))
        except BaseException as raised:
            error = _failure(raised)
        connection.send_bytes(ForkingPickler.dumps((True, error)))


def _failure(error: BaseException) -> Any:
    """Returns an exception in a form that can be sent. An error of the library is sent as it is, any other exception
    as text."""
    where = "the result"
    if isinstance(error, Raised) and error.__cause__ is not None:
        where, error = str(error), error.__cause__
    elif isinstance(error, Error):
        return error
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return Failure(where, "%s: %s" % (type(error).__name__, error), text)


class _Process:
    def __init__(self, context: Any, make: Make) -> None:
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, make), daemon=True)
        try:
            self.process.start()
        finally:
            theirs.close()
        self.number = 0                         # number of the task that the process works on
        self.about = ""

    def give(self, number: int, task: Any, about: str) -> None:
        self.number, self.about = number, about
        try:
            self.connection.send((task,))
        except OSError:
            self.fail()

    def take(self) -> bytes:
        try:
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            self.fail()
            raise

    def fail(self) -> None:
        self.process.join(10)
        code = self.process.exitcode
        if code is not None and code < 0:
            how = "was killed by signal %d (%s)" % (-code, signal.Signals(-code).name)
        else:
            how = "ended with exit status %s; what it wrote to standard error says why" % code
        raise TransformError("%s: transform: its process %s%s" % (
            self.about, how, "; is there too little memory?" if code == -signal.SIGKILL else ""))

    def close(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class Pool:
    """A number of processes (`jobs`). Each calls make() to make its own worker function."""

    def __init__(self, make: Make, jobs: int, start_method: Optional[str]) -> None:
        try:
            context = multiprocessing.get_context(start_method)
        except ValueError:
            raise ArgumentError("start_method=%r: expected %s" % (
                start_method, ", ".join(multiprocessing.get_all_start_methods()))) from None
        if context.get_start_method() != "fork":
            try:
                ForkingPickler.dumps(make)
            except Exception as error:
                raise ArgumentError(
                    "transform cannot be sent to processes (%s): define it in a module, not within "
                    "a function, or use start_method=\"fork\"" % error) from error
        self._processes: List[_Process] = []
        try:
            for _ in range(jobs):
                self._processes.append(_Process(context, make))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes, even if they are working."""
        for process in self._processes:
            process.connection.close()
            process.process.terminate()
        for process in self._processes:
            process.close()
        self._processes = []

    def results(self, tasks: Iterable[Any], about: Callable[[Any], str]) -> Iterator[Any]:
        """Yields the parts of the results, in the order of the tasks. about(task) returns a name for the task, for
        messages."""
        coming = enumerate(tasks)
        turns = _Turns(len(self._processes))
        idle = list(self._processes)
        over = False
        while not over or turns.first < turns.given:
            while idle and not over and turns.given - turns.first < 2 * len(self._processes):
                number, task = next(coming, (0, coming))
                over = task is coming
                if not over:
                    process = idle.pop()
                    process.give(number, task, about(task))
                    turns.add(process)
            idle += turns.wait()
            yield from turns.ready()


class _Turns:
    """The tasks from number `first` to `given` - 1. Each of them is under way, or its result waits to be returned in
    order."""

    def __init__(self, processes: int) -> None:
        self.first = self.given = 0
        self._busy: Dict[Any, _Process] = {}
        self._parts: Dict[int, Deque[Tuple[Tuple[bool, Any], int]]] = {}
        self._held, self._most = 0, processes * HELD_BYTES

    def add(self, process: _Process) -> None:
        self._busy[process.connection] = process
        self._parts[self.given] = collections.deque()
        self.given += 1

    def wait(self) -> List[_Process]:
        """Receives parts of results, unless a part is already due. Returns the processes that have finished their
        task."""
        done: List[_Process] = []
        if not self._busy or self._parts[self.first]:
            return done
        taken = {connection: process for connection, process in self._busy.items()
                 if process.number == self.first or self._held < self._most}
        ready = multiprocessing.connection.wait(
            list(taken) + [process.process.sentinel for process in taken.values()])
        for connection, process in taken.items():
            if connection in ready:
                data = process.take()
                last, _ = part = pickle.loads(data)
                self._parts[process.number].append((part, len(data)))
                self._held += len(data)
                if last:
                    done.append(self._busy.pop(connection))
            elif process.process.sentinel in ready and not connection.poll():
                process.fail()
        return done

    def ready(self) -> Iterator[Any]:
        """Yields the parts that are due."""
        while self.first < self.given and self._parts[self.first]:
            (last, part), size = self._parts[self.first].popleft()
            self._held -= size
            if isinstance(part, Failure):
                part.throw()
            if isinstance(part, Error):
                raise part
            if last:
                del self._parts[self.first]
                self.first += 1
            else:
                yield part
