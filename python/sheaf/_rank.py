# SPDX-License-Identifier: MIT
"""The reader of a rank.  The program has it, and asks it directly; its workers, which have a copy of
this object, ask over a socket (_served.py), whichever way they were started.

A pipe can be read once.  So the first rank of a host has the reader for all ranks of the host, which
ask it over a socket, and take batch after batch in turn.  A pass is then one of all of them: it
begins at one place, it is over when all have come to its end or have broken it off, and what one
rank does not take is nobody else's."""

from __future__ import annotations

import logging
import os
import secrets
import time
import weakref
import zlib
from typing import Any, Callable, Dict, Optional, Tuple

import sheaf
from sheaf import _sheaf
from sheaf._loader import Order
from sheaf._member import local_rank_of, worker_of
from sheaf._pipe import claim_pipe, pipe_of_job
from sheaf._served import PATIENCE_SECONDS, Client, Gone

PLACE_BITS = 32                         # of a shared pass's number: serving.h

_log = logging.getLogger("sheaf")
_open: "weakref.WeakSet[RankReader]" = weakref.WeakSet()


def close_all() -> None:
    """Before Python ends: its threads must not outlive it."""
    for reader in list(_open):
        reader.close()


class RankReader:
    """Gives samples of a pass by their ordinals.  A pass has a number, from 1; of ranks that share a
    pipe it has a checksum in its lower half, of what they must agree on."""

    def __init__(self, dataset: sheaf.Dataset, rank: int, world_size: int,
                 report: Callable[[sheaf.Problem], Any], options: Dict[str, Any]) -> None:
        self.dataset, self.rank, self.world_size = dataset, rank, world_size
        self.local_rank, self.local_size = (0, 1) if not dataset.is_pipe else \
            local_rank_of(rank, world_size)
        self.has_workers = True             # False: nobody else will ask
        self._report: Optional[Callable[[sheaf.Problem], Any]] = report
        self._options = options
        # It stays: workers that are there already know it.
        self._address = "sheaf-" + (secrets.token_hex(16) if self.local_size == 1
                                    else pipe_of_job(dataset))
        self._server: Optional[_sheaf.Server] = None
        self._client: Optional[Client] = None
        self._process = 0                   # that has the server
        self._claim: Any = None             # of the pipe
        self._passes = 0
        self._first = 1                     # the pass in which the first rank may come late
        self._ended = (0, 0)                # a pass of a stream, and its end

    # ---- The program --------------------------------------------------------------------------

    def open(self, order: Order, epoch: int) -> None:
        """What is wrong with the options is said here."""
        if self.local_rank != 0:
            return                          # another process reads
        hosts = self.world_size // self.local_size
        self._server = _sheaf.Server(
            self.dataset, self.local_size, self.dataset.wait_seconds, epoch=epoch, seed=order.seed,
            no_shuffle=order.no_shuffle, shuffle_buffer=order.shuffle_buffer,
            lanes=order.lanes // self.local_size, rank=self.rank // self.local_size,
            world_size=hosts, **self._options)
        if self.has_workers or self.local_size > 1:
            self._server.listen(self._address)
        self._process = os.getpid()
        _open.add(self)

    def is_open(self) -> bool:
        return self.local_rank != 0 or (self._server is not None and not self._server.stats()[0])

    def begin(self, order: Order, epoch: int, first: int, block: int) -> int:
        """The number of a new pass, which takes its samples in blocks."""
        if not self.is_open():
            self.close()
            self.open(order, epoch)
        if self.dataset.is_pipe and self.local_rank == 0 and self._claim is None:
            self._claim = claim_pipe(self.dataset)
        self._passes += 1
        number = self._passes
        if self.local_size > 1:
            place = zlib.crc32(repr((order, epoch, first, block)).encode())
            number = number << PLACE_BITS | place
        if self._server is not None:
            self._server.begin(number, epoch, first)
        return number

    def tell(self) -> None:
        """What was skipped since the last time."""
        if self._server is not None:
            for values in self._server.reports():
                self.report(sheaf.Problem(*values))

    def report(self, problem: sheaf.Problem) -> None:
        """Tells the program what was skipped."""
        if self._report is not None:
            self._report(problem)

    def wait_for_others(self, number: int) -> None:
        """At the end of a pass: whoever has the reader of a pipe stays until all ranks of the host
        are done with it."""
        if self.local_size == 1 or self._server is None:
            return
        begun, told = time.monotonic(), False
        while True:
            is_over, missing = self._server.is_over(number)
            waited = time.monotonic() - begun
            if is_over:
                return
            if missing != 0 and waited > self.dataset.wait_seconds:
                raise sheaf.StateError("%d of the %d ranks of this host, which share the pipe %s, did "
                                       "not come within %d s" % (missing, self.local_size,
                                                                 self.dataset.url, waited))
            if waited > PATIENCE_SECONDS and not told:
                told = True
                _log.warning("waiting for the other ranks of this host, which share the pipe %s",
                             self.dataset.url)
            time.sleep(0.02)

    def skipped(self, number: int, end: int) -> int:
        """How many ordinals of a pass below `end` were skipped as corrupt."""
        return 0 if self._server is None else self._server.skipped(number, end)

    def stats(self) -> sheaf.Stats:
        if self._server is None:
            raise sheaf.StateError("nothing has been read yet, or the loader is closed"
                                   if self.local_rank == 0 else
                                   "the first rank of this host reads the pipe, and counts")
        return sheaf.Stats(**self._server.stats()[1])

    def close(self) -> None:
        """A new pass opens it again."""
        server, self._server, self._client = self._server, None, None
        self._claim, self._first = None, self._passes + 1
        if server is not None:
            server.close()

    # ---- Any process --------------------------------------------------------------------------

    def get(self, number: int, first: int, count: int) -> Tuple[Optional[sheaf.Batch], int]:
        """As Client.get."""
        ended, end = self._ended
        if number == ended and first >= end:    # who reads the pipe may be gone by then
            return None, end
        if self._server is not None and self.local_size == 1 and self._process == os.getpid():
            answer = self._server.get(number, first, count)
        else:
            answer = self._ask(number, first, count)
        if self.dataset.is_stream and answer[1] < first + count:
            self._ended = number, answer[1]
        return answer

    def _ask(self, number: int, first: int, count: int) -> Tuple[Optional[sheaf.Batch], int]:
        try:
            return self._client_here(number).get(number, first, count)
        except Gone as gone:
            self._client, self._first = None, -1
            if self.local_size > 1:
                raise Gone("the first rank of this host, which reads the pipe %s, has ended, or its "
                           "loader is closed" % self.dataset.url) from gone
            # The program may have opened its reader again.
            return self._client_here(number).get(number, first, count)

    def _client_here(self, number: int) -> Client:
        if self._client is not None and self._client.process == os.getpid():
            return self._client
        begun, told = time.monotonic(), False
        while True:
            try:
                self._client = self._connect()
                self._first = -1            # from now on it must be there
                return self._client
            except Gone:
                waited = time.monotonic() - begun
                if self.local_size == 1 or number >> PLACE_BITS != self._first or \
                        waited > self.dataset.wait_seconds:
                    raise
            if waited > PATIENCE_SECONDS and not told:
                told = True
                _log.warning("rank %d waits for the first rank of this host, which reads the pipe "
                             "%s", self.rank, self.dataset.url)
            time.sleep(0.05)

    def _connect(self) -> Client:
        workers = worker_of()[1]
        if self.local_size == 1:
            return Client(self._address, workers=workers)
        return Client(self._address, self.local_rank, workers,
                      "the pipe %s, or the ranks of this host that share it" % self.dataset.url)

    def __getstate__(self) -> Dict[str, Any]:
        return dict(self.__dict__, _server=None, _client=None, _report=None, _claim=None)
