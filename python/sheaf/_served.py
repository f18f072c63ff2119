# SPDX-License-Identifier: MIT
"""What a worker asks the reader of its rank by: the program has a Server (python/src/serving.h), and
each worker a Client, which asks it for samples by their ordinals.  So has each rank that shares the
reader of another one.

A Client's batches lie in memory that it shares with the program.  The connection lives as long as
that memory is in use: its end is what tells the server that all of it is free."""

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
PATIENCE_SECONDS = 5        # before it is said that an answer is waited for

_log = logging.getLogger("sheaf")


class Gone(sheaf.StateError):
    """The server has ended, or ended and begun again."""


class _Connection(socket.socket):
    """Closed when nobody uses it any more."""

    def __del__(self) -> None:
        self.close()


class _Memory(mmap.mmap):
    """Has its connection with it, for as long as anything lies in it."""
    connection: _Connection


class Client:
    """A connection to a Server, of the process that made it."""

    def __init__(self, address: str, rank: int = 0, workers: int = 1, waits_for: str = "") -> None:
        """waits_for: what an answer may have to wait for, which is logged if it takes long."""
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
        """Anybody may take a name: what answers must be of this user."""
        peer = self._connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        if _PEER.unpack(peer)[1] not in (os.geteuid(), 0):
            raise ConnectionRefusedError("a program of another user answers")

    def get(self, number: int, first: int, count: int) -> Tuple[Optional[sheaf.Batch], int]:
        """`count` samples of pass `number`, from ordinal `first` on, fewer where some were skipped
        or a stream ends, None if there are none; and how many this rank has, if that is known."""
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
        """For the answer's first byte, if that may take long, and says once that it does."""
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
