# SPDX-License-Identifier: MIT
"""Does what a platform expects when a training job ends: a failure writes its reason, a SIGTERM saves the state."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import Any, Callable, Iterator, Optional

from . import NotFoundError, Path, _sheaf


class _Stopped(SystemExit):
    """The process received a SIGTERM."""


def _stop(number: int, _frame: Any) -> None:
    raise _Stopped(128 + number)


@contextlib.contextmanager
def job(root: Path = "/opt/ml", *, save: Optional[Callable[[], Any]] = None) -> Iterator[None]:
    """Runs a block as a training job of a platform. If the block raises an exception, the exception is written as one
    line of at most 1,024 bytes to ROOT/output/failure, where SageMaker shows it. If the directory ROOT does not
    exist, nothing is written.

    With `save`, a SIGTERM (a Spot instance is reclaimed, a job is stopped) ends the block. Then save() is called to
    store the state, and the program exits with status 143. This works only in the main thread.

        with sheaf.job(save=lambda: torch.save(loader.state_dict(), "/opt/ml/checkpoints/loader")):
            train(loader)"""
    catches = save is not None and threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, _stop) if catches else None
    try:
        yield
    except _Stopped:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)       # so that a second SIGTERM does not end save()
        if save is not None:
            save()
        raise
    except Exception as error:
        message = " ".join(("%s: %s" % (type(error).__name__, error)).split())
        with contextlib.suppress(NotFoundError):
            _sheaf.report_failure(os.fsencode(root), message)
        raise
    finally:
        if catches:
            signal.signal(signal.SIGTERM, before)
