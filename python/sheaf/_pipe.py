# SPDX-License-Identifier: MIT
"""Lets only one process of a host read the pipes of a channel.

The system prevents two processes from reading one pipe at once. But a process may come after an epoch's pipe was
read. It would take the next epoch's pipe for it, and continue with the wrong data. So a process claims the pipes of a
channel for as long as it has a reader."""

from __future__ import annotations

import hashlib
import os
import socket
import weakref
from typing import Any

import sheaf


class _Claim(socket.socket):
    """A name on this host. The name is free again when no object refers to the claim any more."""

    def __del__(self) -> None:
        self.close()


_claims: "weakref.WeakValueDictionary[str, _Claim]" = weakref.WeakValueDictionary()


def _forked() -> None:
    """Drops the claims in a forked child, because they belong to the parent."""
    for claim in list(_claims.values()):
        claim.close()
    _claims.clear()


os.register_at_fork(after_in_child=_forked)


def _name(*words: str) -> str:
    return hashlib.sha256("\0".join((str(os.geteuid()), *words)).encode()).hexdigest()[:32]


def claim_pipe(dataset: sheaf.Dataset) -> Any:
    """Claims the pipes of a channel, and returns the claim. Raises StateError if another process of this host has
    claimed them."""
    directory, channel = os.path.split(dataset.url)
    there = os.stat(directory or ".")
    name = "sheaf-reads-" + _name("%d %d" % (there.st_dev, there.st_ino), channel)
    claim = _claims.get(name)
    if claim is not None:
        return claim
    claim = _Claim(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        claim.bind(b"\0" + name.encode())
    except OSError:
        raise sheaf.StateError("another process of this host reads the pipe %s, and only one can: "
                               "ranks of a host share it if LOCAL_RANK and LOCAL_WORLD_SIZE, or Open "
                               "MPI's or Slurm's variables, say which they are"
                               % dataset.url) from None
    _claims[name] = claim
    return claim


def pipe_of_job(dataset: sheaf.Dataset) -> str:
    """Returns a name that is the same for all ranks of a job on this host, and different for other jobs."""
    return "pipe-" + _name(dataset.url, *(os.environ.get(name, "") for name in (
        "MASTER_PORT", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "OMPI_MCA_ess_base_jobid")))
