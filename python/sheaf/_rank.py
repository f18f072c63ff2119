# SPDX-License-Identifier: MIT
"""The reader of a rank. It belongs to the program, which calls it directly. Its workers have a copy of this object
and make their requests over a socket (_served.py), for any start method.

A pipe can be read only once. So the first rank of a host has the reader for all ranks of the host. The ranks make
their requests over a socket, and take one batch after another in turn. A pass then belongs to all ranks of the host:
it begins at one place, and it is over when every rank has reached its end or left it. Samples that a rank does not
take go to no other rank."""

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

PLACE_BITS = 32                         # low bits of the number of a shared pass; see serving.h

_log = logging.getLogger("sheaf")
_open: "weakref.WeakSet[RankReader]" = weakref.WeakSet()


def close_all() -> None:
    """Closes all readers before Python ends, because their threads must not outlive it."""
    for reader in list(_open):
        reader.close()


class RankReader:
    """Returns samples of a pass by their ordinals. Passes are numbered from 1. If ranks share a pipe, the lower half
    of the number is a checksum of the values on which the ranks must agree."""

    def __init__(self, dataset: sheaf.Dataset, rank: int, world_size: int,
                 report: Callable[[sheaf.Problem], Any], options: Dict[str, Any]) -> None:
        self.dataset, self.rank, self.world_size = dataset, rank, world_size
        self.local_rank, self.local_size = (0, 1) if not dataset.is_pipe else \
            local_rank_of(rank, world_size)
        self.has_workers = True             # False if no other process makes requests
        self._report: Optional[Callable[[sheaf.Problem], Any]] = report
        self._options = options
        # The address never changes, because existing workers know it.
        self._address = "sheaf-" + (secrets.token_hex(16) if self.local_size == 1
                                    else pipe_of_job(dataset))
        self._server: Optional[_sheaf.Server] = None
        self._client: Optional[Client] = None
        self._process = 0                   # the process that has the server
        self._claim: Any = None             # the claim of the pipe
        self._passes = 0
        self._first = 1                     # the pass in which the first rank may come late
        self._ended = (0, 0)                # the number of a pass over a stream, and its end

    # ---- Used by the program ------------------------------------------------------------------

    def open(self, order: Order, epoch: int) -> None:
        """Opens the server. Raises an error if an option is wrong."""
        if self.local_rank != 0:
            return                          # another process has the reader
        hosts = self.world_size // self.local_size
        is_shared = self.has_workers or self.local_size > 1
        self._server = _sheaf.Server(
            self.dataset, self.local_size, self.dataset.wait_seconds, is_shared, epoch=epoch,
            seed=order.seed, no_shuffle=order.no_shuffle, shuffle_buffer=order.shuffle_buffer,
            lanes=order.lanes // self.local_size, rank=self.rank // self.local_size,
            world_size=hosts, **self._options)
        if is_shared:
            self._server.listen(self._address)
        self._process = os.getpid()
        _open.add(self)

    def is_open(self) -> bool:
        return self.local_rank != 0 or (self._server is not None and not self._server.stats()[0])

    def begin(self, order: Order, epoch: int, first: int, block: int) -> int:
        """Begins a pass and returns its number. `block` is the number of samples that a rank takes in turn."""
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
        """Reports the samples that were skipped since the last call."""
        if self._server is not None:
            for values in self._server.reports():
                self.report(sheaf.Problem(*values))

    def report(self, problem: sheaf.Problem) -> None:
        """Passes a problem to the program's `report`."""
        if self._report is not None:
            self._report(problem)

    def wait_for_others(self, number: int) -> None:
        """Waits at the end of a pass. The process that has the reader of a pipe must stay until all ranks of the host
        have finished the pass."""
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
        """Returns the number of ordinals of a pass below `end` that were skipped as corrupt."""
        return 0 if self._server is None else self._server.skipped(number, end)

    def stats(self) -> sheaf.Stats:
        if self._server is None:
            raise sheaf.StateError("nothing has been read yet, or the loader is closed"
                                   if self.local_rank == 0 else
                                   "the first rank of this host reads the pipe, and counts")
        return sheaf.Stats(**self._server.stats()[1])

    def close(self) -> None:
        """Closes the server. The next pass opens it again."""
        server, self._server, self._client = self._server, None, None
        self._claim, self._first = None, self._passes + 1
        if server is not None:
            server.close()

    def own_server(self) -> Optional[_sheaf.Server]:
        """Returns the server, if it is of this process and no other process uses it."""
        is_own = self.local_size == 1 and not self.has_workers and self._process == os.getpid()
        return self._server if is_own else None

    # ---- Used by any process ------------------------------------------------------------------

    def get(self, number: int, first: int, count: int) -> Tuple[Optional[sheaf.Batch], int]:
        """Returns samples of a pass, as Client.get does."""
        ended, end = self._ended
        if number == ended and first >= end:    # the process that reads the pipe may have ended by then
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
            # The program may have opened its reader again, so try once more.
            return self._client_here(number).get(number, first, count)

    def _client_here(self, number: int) -> Client:
        if self._client is not None and self._client.process == os.getpid():
            return self._client
        begun, told = time.monotonic(), False
        while True:
            try:
                self._client = self._connect()
                self._first = -1            # from now on, the first rank must be there
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
