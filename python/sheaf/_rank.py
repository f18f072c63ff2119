# SPDX-License-Identifier: MIT
"""The reader of a rank.  The program has it, and asks it directly; its workers, which have a copy of
this object, ask over a socket (_served.py), whichever way they were started.

A pipe can be read once.  So the first rank of a host has the reader for all ranks of the host, which
ask it over a socket, and take batch after batch in turn."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
import weakref
from typing import Any, Callable, Dict, Optional, Tuple

import sheaf
from sheaf import _sheaf
from sheaf._loader import Order
from sheaf._member import local_rank_of, worker_of
from sheaf._served import Client, Gone

_open: "weakref.WeakSet[RankReader]" = weakref.WeakSet()


def close_all() -> None:
    """Before Python ends: its threads must not outlive it."""
    for reader in list(_open):
        reader.close()


class RankReader:
    """Gives samples of a pass by their ordinals.  A pass has a number, from 1."""

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
                                    else _name_of_pipe(dataset))
        self._server: Optional[_sheaf.Server] = None
        self._client: Optional[Client] = None
        self._process = 0                   # that has the server
        self._passes = 0

    # ---- The program --------------------------------------------------------------------------

    def open(self, order: Order, epoch: int) -> None:
        """What is wrong with the options is said here."""
        if self.local_rank != 0:
            return                          # another process reads
        hosts = self.world_size // self.local_size
        self._server = _sheaf.Server(
            self.dataset, self.local_size, epoch=epoch, seed=order.seed,
            no_shuffle=order.no_shuffle, shuffle_buffer=order.shuffle_buffer,
            lanes=order.lanes // self.local_size, rank=self.rank // self.local_size,
            world_size=hosts, **self._options)
        if self.has_workers or self.local_size > 1:
            self._server.listen(self._address)
        self._process = os.getpid()
        _open.add(self)

    def is_open(self) -> bool:
        return self.local_rank != 0 or (self._server is not None and not self._server.stats()[0])

    def begin(self, order: Order, epoch: int, first: int) -> int:
        """The number of a new pass."""
        if not self.is_open():
            self.close()
            self.open(order, epoch)
        self._passes += 1
        if self._server is not None:
            self._server.begin(self._passes, epoch, first)
        return self._passes

    def tell(self) -> None:
        """What was skipped since the last time."""
        if self._server is not None and self._report is not None:
            for values in self._server.reports():
                self._report(sheaf.Problem(*values))

    def wait_for_others(self, number: int) -> None:
        """At the end of a pass: whoever has the reader of a pipe stays until all ranks of the host
        have come there."""
        while self.local_size > 1 and self._server is not None \
                and not self._server.is_over(number):
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
        if server is not None:
            server.close()

    # ---- Any process --------------------------------------------------------------------------

    def get(self, number: int, first: int, count: int) -> Tuple[Optional[sheaf.Batch], int]:
        """As Client.get."""
        if self._server is not None and self._process == os.getpid():
            return self._server.get(number, first, count)
        try:
            return self._client_here().get(number, first, count)
        except Gone:                        # the program may have opened its reader again
            self._client = None
            return self._client_here().get(number, first, count)

    def _client_here(self) -> Client:
        if self._client is None or self._client.process != os.getpid():
            worker, workers = worker_of()
            until = time.monotonic() + (600 if self.local_size > 1 else 0)
            while True:
                try:
                    self._client = Client(self._address, worker, workers * self.local_size)
                    break
                except Gone:                # the first rank may not be there yet
                    if time.monotonic() >= until:
                        raise
                    time.sleep(0.05)
        return self._client

    def __getstate__(self) -> Dict[str, Any]:
        return dict(self.__dict__, _server=None, _client=None, _report=None)


def _name_of_pipe(dataset: sheaf.Dataset) -> str:
    """The same for all ranks of a job that are on this host, and for no other job's."""
    words = [str(os.geteuid()), dataset.url]
    words += [os.environ.get(name, "") for name in ("MASTER_PORT", "TORCHELASTIC_RUN_ID",
                                                    "SLURM_JOB_ID", "OMPI_MCA_ess_base_jobid")]
    return "pipe-" + hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]
