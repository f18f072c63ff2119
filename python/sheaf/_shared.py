# SPDX-License-Identifier: MIT
"""Batches that a DataLoader's workers send go through shared memory.

A worker has an ARENA, memory that is used again and again: fresh memory would have to be cleared
and mapped for every batch.  What is sent is a message of a few bytes a sample, which says where in
the arena the fields are.  The program maps the arena when it meets it first, and its Batch lies
there; when the last view of the Batch is gone, that is said by a word in the arena, and the memory
is free.  So a view that is kept never changes, and a program that keeps many makes the worker use
more memory, up to a limit; past that, batches are sent as bytes.

The arena is a memfd and not a file in /dev/shm, which has 64 MB in a container where one gets more
memory than that.  It ends with the last process that has it; a program opens a worker's by /proc,
so it need not be the worker's parent."""

from __future__ import annotations

import mmap
import multiprocessing
import os
import threading
from multiprocessing.reduction import ForkingPickler
from typing import Any, Callable, Dict, Optional, Tuple

import sheaf
from sheaf import _sheaf
from sheaf._member import is_worker

BYTES_MOST = 512 << 20          # of a worker's arena, without what its reader uses

Name = Tuple[int, int, int, int]    # process, its descriptor, inode, bytes
Reduced = Tuple[Callable[..., Any], Tuple[Any, ...]]

# ---- A worker -----------------------------------------------------------------------------------


class _Sender:
    def __init__(self, reader_bytes: int) -> None:
        self.process = os.getpid()
        self.arena: Optional[_sheaf.Arena] = None
        try:
            self.arena = _sheaf.Arena(BYTES_MOST, reader_bytes)
            self.name: Name = self.arena.name
        except OSError:                 # no memory, no descriptors, or no memfds here
            pass

    def reduce(self, batch: sheaf.Batch) -> Optional[Reduced]:
        """None: there is no room for it."""
        sent = None if self.arena is None else self.arena.send(batch)
        return None if sent is None else (_receive, (self.name, *sent))


_sender: Optional[_Sender] = None
_lock = threading.Lock()                # a queue sends in a thread of its own


def _own_sender(reader_bytes: int = 0) -> _Sender:
    global _sender
    with _lock:
        if _sender is None or _sender.process != os.getpid():
            _sender = _Sender(reader_bytes)
        return _sender


def reduce_batch(batch: sheaf.Batch) -> Reduced:
    reduced = _own_sender().reduce(batch) if is_worker() else None
    return reduced or (_sheaf.unpack, (batch._pack(),))


# ---- The program --------------------------------------------------------------------------------

_mapped: Dict[Tuple[int, int], mmap.mmap] = {}      # by process and inode


def _receive(name: Name, word: int, message: bytes) -> sheaf.Batch:
    process, _, inode, _ = name
    memory = _mapped.get((process, inode))
    if memory is None:
        _forget_ended()
        memory = _mapped[process, inode] = _map(name)
    return _sheaf.receive(memory, word, message)


def _map(name: Name) -> mmap.mmap:
    process, number, inode, size = name
    descriptor = os.open("/proc/%d/fd/%d" % (process, number), os.O_RDWR | os.O_CLOEXEC)
    try:
        if os.fstat(descriptor).st_ino != inode:
            raise sheaf.StateError("the worker %d that sent a batch has ended" % process)
        return mmap.mmap(descriptor, size)
    finally:
        os.close(descriptor)


def _forget_ended() -> None:
    """Lets the memory of workers go that have ended, once their batches are gone as well."""
    multiprocessing.active_children()       # so that those that have ended are not there any more
    for process in {process for process, _ in _mapped}:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            for key in [key for key in _mapped if key[0] == process]:
                del _mapped[key]
        except OSError:
            pass                            # another user's: it is there


def use() -> None:
    """From now on."""
    ForkingPickler.register(sheaf.Batch, reduce_batch)
