# SPDX-License-Identifier: MIT
"""Sends batches from a DataLoader's workers to the program through shared memory.

A worker has an arena, which is memory that it uses again and again. Fresh memory would have to be cleared and mapped
for every batch. A batch is sent as a short message, which says where in the arena its fields are. The program maps
the arena once, and its Batch refers to this memory. When the last memoryview of the Batch is gone, a word in the
arena says so, and the worker uses the memory again. So a memoryview that is kept never changes. If a program keeps
many batches, the worker uses more memory, up to a limit. Beyond the limit, batches are sent as bytes.

The arena is a memfd and not a file in /dev/shm, which may have only 64 MB in a container. It ends with the last
process that has it. The program opens the arena through /proc, so it need not be the worker's parent."""

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

BYTES_MOST = 512 << 20          # most bytes of a worker's arena, without the memory of its reader

Name = Tuple[int, int, int, int]    # process, its descriptor, inode, bytes
Reduced = Tuple[Callable[..., Any], Tuple[Any, ...]]

# ---- In a worker ----------------------------------------------------------------------------------


class _Sender:
    def __init__(self, reader_bytes: int) -> None:
        self.process = os.getpid()
        self.arena: Optional[_sheaf.Arena] = None
        try:
            self.arena = _sheaf.Arena(BYTES_MOST, reader_bytes)
            self.name: Name = self.arena.name
        except OSError:                 # no memory, no descriptors, or no support for memfds
            pass

    def reduce(self, batch: sheaf.Batch) -> Optional[Reduced]:
        """Returns a message for a batch, or None if the arena has no room."""
        sent = None if self.arena is None else self.arena.send(batch)
        return None if sent is None else (_receive, (self.name, *sent))


_sender: Optional[_Sender] = None
_lock = threading.Lock()                # because a queue sends in a thread of its own


def _own_sender(reader_bytes: int = 0) -> _Sender:
    global _sender
    with _lock:
        if _sender is None or _sender.process != os.getpid():
            _sender = _Sender(reader_bytes)
        return _sender


def reduce_batch(batch: sheaf.Batch) -> Reduced:
    reduced = _own_sender().reduce(batch) if is_worker() else None
    return reduced or (_sheaf.unpack, (batch._pack(),))


# ---- In the program -------------------------------------------------------------------------------

_mapped: Dict[Tuple[int, int], mmap.mmap] = {}      # arenas by process and inode


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
    """Unmaps the arenas of workers that have ended. The memory is freed when their batches are gone as well."""
    multiprocessing.active_children()       # so that processes that have ended disappear from /proc
    for process in {process for process, _ in _mapped}:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            for key in [key for key in _mapped if key[0] == process]:
                del _mapped[key]
        except OSError:
            pass                            # the process exists and belongs to another user


def use() -> None:
    """Makes batches go through shared memory from now on."""
    ForkingPickler.register(sheaf.Batch, reduce_batch)
