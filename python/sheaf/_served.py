# SPDX-License-Identifier: MIT
"""The connection between a worker and the reader of its rank. The program has a Server (python/src/serving.h). Each
worker has a Client, which requests samples by their ordinals. If ranks share the reader of one rank, each rank has a
Client as well.

The batches of a Client are in memory that it shares with the program. The connection stays open as long as this
memory is in use. When it ends, the server frees the memory."""

from __future__ import annotations

import logging
import mmap
import os
import select
import socket
import struct
import threading
from typing import Optional, Tuple

import sheaf
from sheaf import _sheaf

_HELLO = struct.Struct("=II")
_WELCOME = struct.Struct("=Q")
_ASK = struct.Struct("=QQQ")
_ANSWER = struct.Struct("=iIQQQ")
_PEER = struct.Struct("=iII")
_NO_WORD = 0xffffffff
PATIENCE_SECONDS = 5        # a longer wait for an answer is logged

_log = logging.getLogger("sheaf")


class Gone(sheaf.StateError):
    """The server has ended, or has been replaced by a new one."""


class _Connection(socket.socket):
    """A socket that is closed when no object refers to it any more."""

    def __del__(self) -> None:
        self.close()


class _Memory(mmap.mmap):
    """Shared memory that keeps its connection open for as long as it is in use."""
    connection: _Connection


class Client:
    """A connection from one process to a Server."""

    def __init__(self, address: str, rank: int = 0, workers: int = 1, waits_for: str = "") -> None:
        """`waits_for` names what an answer may have to wait for. A long wait is logged with this name."""
        self.process = os.getpid()
        self._waits_for = waits_for
        self._lock = threading.Lock()
        self._connection = _Connection(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._connection.connect(b"\0" + address.encode())
            self._check_peer()
            self._connection.sendall(_HELLO.pack(rank, workers))
            data, descriptors, _, _ = socket.recv_fds(self._connection, _WELCOME.size, 1)
        except OSError as error:
            raise Gone("the program that reads the data has ended, or its loader is closed: %s"
                       % error) from None
        if len(data) != _WELCOME.size:
            raise Gone("the program that reads the data has ended")
        self._memory: Optional[_Memory] = None
        for descriptor in descriptors:
            self._memory = _Memory(descriptor, _WELCOME.unpack(data)[0])
            self._memory.connection = self._connection
            os.close(descriptor)

    def _check_peer(self) -> None:
        """Refuses a server of another user, because any user can take a free name."""
        peer = self._connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        if _PEER.unpack(peer)[1] not in (os.geteuid(), 0):
            raise ConnectionRefusedError("a program of another user answers")

    def get(self, number: int, first: int, count: int) -> Tuple[Optional[sheaf.Batch], int]:
        """Returns up to `count` samples of pass `number` from ordinal `first` on, and the number of samples that this
        rank has, if it is known. There are fewer samples if some were skipped or a stream ends. Returns None in place
        of the samples if there are none."""
        with self._lock:
            try:
                self._connection.sendall(_ASK.pack(number, first, count))
                self._wait()
                code, word, samples, size, real = _ANSWER.unpack(self._receive(_ANSWER.size))
                message = self._receive(size)
            except OSError as error:
                raise Gone("the program that reads the data has ended: %s" % error) from None
        if code != 0:
            _sheaf.raise_error(code, message.decode("utf-8", "replace"))
        if word == _NO_WORD or self._memory is None:
            return (_sheaf.unpack(message) if samples else None), real
        batch = _sheaf.receive(self._memory, word, message)
        return (batch if samples else None), real

    def _wait(self) -> None:
        """Waits for the first byte of an answer that may take long, and logs once that it does."""
        if self._waits_for and not select.select([self._connection], [], [], PATIENCE_SECONDS)[0]:
            _log.warning("waiting for %s", self._waits_for)
            self._waits_for = ""

    def _receive(self, size: int) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        while view:
            got = self._connection.recv_into(view)
            if got == 0:
                raise ConnectionError("no answer")
            view = view[got:]
        return data
