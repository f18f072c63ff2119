# SPDX-License-Identifier: MIT
"""Batches that a DataLoader's workers send go through shared memory.

A worker keeps a few SLOTS, each the memory of one batch, and uses them again and again: fresh
memory would have to be cleared and mapped for every batch.  What is sent is a slot's name.  The
program maps a slot when it meets it first, and its Batch lies there; when the last view of the
Batch is gone, the slot is given back by a word in it.  So a view that is kept never changes, and a
program that keeps many makes the worker use more slots, up to a limit; past that, batches are sent
as bytes.

The slots are memfds and not files in /dev/shm, which has 64 MB in a container where one gets more
memory than that.  They end with the last process that has them; a program opens a worker's by
/proc, so it need not be the worker's parent."""

from __future__ import annotations

import mmap
import multiprocessing
import os
import threading
from multiprocessing.reduction import ForkingPickler
from typing import Any, Callable, Dict, List, Optional, Tuple

import sheaf
from sheaf import _sheaf
from sheaf._member import is_worker

SLOTS_MOST = 32                 # of a worker
BYTES_MOST = 512 << 20          # of all its slots
GRAIN = 64 << 10                # a slot's size is a multiple of it

Name = Tuple[int, int, int, int]    # process, its descriptor, inode, bytes
Reduced = Tuple[Callable[..., Any], Tuple[Any, ...]]


class _Slot:
    def __init__(self, size: int) -> None:
        self.descriptor = os.memfd_create("sheaf-batch", os.MFD_CLOEXEC)
        try:
            os.posix_fallocate(self.descriptor, 0, size)    # else a lack of it would be a SIGBUS
            self.memory = mmap.mmap(self.descriptor, size)
            self.name: Name = (os.getpid(), self.descriptor, os.fstat(self.descriptor).st_ino,
                               size)
        except BaseException:
            os.close(self.descriptor)
            raise
        self.size = size

    def is_free(self) -> bool:
        return _sheaf.slot_is_free(self.memory)

    def close(self) -> None:
        self.memory.close()
        os.close(self.descriptor)


class _Sender:
    """A worker's slots."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._slots: List[_Slot] = []
        self._retired: List[Tuple[int, int]] = []   # process and inode, of those not told yet
        self._lock = threading.Lock()               # a queue sends in a thread of its own

    def reduce(self, batch: sheaf.Batch) -> Optional[Reduced]:
        """None: there is no slot for it."""
        with self._lock:
            slot = self._find(batch._slot_bytes())
            if slot is None:
                return None
            batch._put_into_slot(slot.memory)
            retired, self._retired = self._retired, []
            return _receive, (slot.name, retired)

    def _find(self, size: int) -> Optional[_Slot]:
        free = [slot for slot in self._slots if slot.is_free()]
        for slot in free:
            if slot.size >= size:
                return slot
        size = -(-(size + size // 4) // GRAIN) * GRAIN      # most of the next will fit as well
        if free:
            self._retire(free[0])
        if len(self._slots) >= SLOTS_MOST \
                or sum(slot.size for slot in self._slots) + size > BYTES_MOST:
            return None
        try:
            self._slots.append(_Slot(size))
        except OSError:                 # no memory, no descriptors, or no memfds here
            return None
        return self._slots[-1]

    def _retire(self, slot: _Slot) -> None:
        self._slots.remove(slot)
        self._retired.append((slot.name[0], slot.name[2]))
        slot.close()


_sender: Optional[_Sender] = None


def _reduce(batch: sheaf.Batch) -> Reduced:
    global _sender
    reduced = None
    if is_worker():
        if _sender is None or _sender.process != os.getpid():
            _sender = _Sender()
        reduced = _sender.reduce(batch)
    return reduced or (_sheaf.unpack, (batch._pack(),))


# ---- The program --------------------------------------------------------------------------------

_mapped: Dict[Tuple[int, int], mmap.mmap] = {}      # by process and inode


def _receive(name: Name, retired: List[Tuple[int, int]]) -> sheaf.Batch:
    process, _, inode, _ = name
    for old in retired:
        _mapped.pop(old, None)
    memory = _mapped.get((process, inode))
    if memory is None:
        _forget_ended()
        memory = _mapped[process, inode] = _map(name)
    return _sheaf.batch_of_slot(memory)


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
    ForkingPickler.register(sheaf.Batch, _reduce)
