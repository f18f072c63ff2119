# SPDX-License-Identifier: MIT
"""The batches of sheaf.torch: a sheaf.Batch whose labels are a tensor."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any, Callable, Tuple

import torch

import sheaf
from sheaf._shared import Reduced, reduce_batch


class Batch(sheaf.Batch):
    """What a DataLoader without a decode gives: a sheaf.Batch, with the labels as a tensor."""

    __slots__ = ()

    @property
    def labels(self) -> torch.Tensor:   # type: ignore[override]
        """A tensor [samples] if each sample has one label, else [samples, labels]: int64 if all
        labels of the batch are whole numbers, else float64.  ValueError: samples differ in how many
        labels they have."""
        view = super().labels
        kind = torch.int64 if view.format == "q" else torch.float64
        if view.nbytes == 0:
            return torch.empty(view.shape, dtype=kind)
        labels = torch.frombuffer(bytearray(view), dtype=kind)
        return labels if view.shape[1] == 1 else labels.reshape(view.shape)

    def __repr__(self) -> str:
        return super().__repr__().replace("<sheaf.Batch", "<sheaf.torch.Batch", 1)

    def __reduce__(self) -> Any:
        return Batch, (sheaf.Batch(self),)


Batch.__module__ = "sheaf.torch"        # where programs have it from


def _made(receive: Callable[..., Any], args: Tuple[Any, ...]) -> Batch:
    return Batch(receive(*args))


def _reduce(batch: Batch) -> Reduced:
    """As a sheaf.Batch goes to another process."""
    return _made, reduce_batch(batch)


ForkingPickler.register(Batch, _reduce)
