# SPDX-License-Identifier: MIT
"""The batches of sheaf.torch: a sheaf.Batch with its labels as a tensor."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

import torch

import sheaf
from sheaf._shared import Reduced, reduce_batch


class Batch(sheaf.Batch):
    """A batch of a DataLoader without `decode`: a sheaf.Batch with its labels as a tensor."""

    __slots__ = ()

    @property
    def labels(self) -> torch.Tensor:   # type: ignore[override]
        """A tensor [samples] if each sample has one label, otherwise [samples, labels]. Its type is int64 if all
        labels of the batch are whole numbers, otherwise float64. Raises ValueError if the samples differ in their
        number of labels."""
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


class Field(NamedTuple):
    """One field of all samples of a batch. Sample i has the bytes data[offsets[i]:offsets[i + 1]]."""
    data: torch.Tensor                  # uint8 [bytes]
    offsets: torch.Tensor               # int64 [samples + 1], on the CPU


class FieldBatch:
    """The bytes of some fields of a batch, each field in one tensor:

        loader = sheaf.torch.DataLoader("shards/", 256, fields=("jpg",), pin_memory=True)
        for batch in loader:
            images = torchvision.io.decode_jpeg(batch.tensors("jpg"), device="cuda")
            batch["jpg"].data, batch["jpg"].offsets, batch.labels, batch.keys

    Raises KeyError if a sample lacks one of the fields."""

    def __init__(self, batch: sheaf.Batch, fields: Sequence[str], pins: bool) -> None:
        self.keys, self.labels, self.repeated = batch.keys, batch.labels, batch.repeated
        pins = pins and torch.cuda.is_available()
        self._fields: Dict[str, Field] = {}
        for name in fields:
            offsets = torch.zeros(len(batch) + 1, dtype=torch.int64)
            sizes = [view.nbytes for view in batch.fields(name)]
            torch.cumsum(torch.tensor(sizes, dtype=torch.int64), 0, out=offsets[1:])
            data = torch.empty(sum(sizes), dtype=torch.uint8, pin_memory=pins)
            batch._join(name, data.data_ptr(), sum(sizes))
            self._fields[name] = Field(data, offsets)

    def __getitem__(self, name: str) -> Field:
        return self._fields[name]

    def tensors(self, name: str) -> List[torch.Tensor]:
        """Returns one tensor for each sample with the bytes of the field. These tensors share the memory of the
        field's one tensor."""
        data, offsets = self._fields[name]
        return list(data.split((offsets[1:] - offsets[:-1]).tolist()))

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return "<sheaf.torch.FieldBatch of %d samples: %s>" % (len(self), ", ".join(self._fields))


Batch.__module__ = FieldBatch.__module__ = "sheaf.torch"        # the module from which programs import them


def _made(receive: Callable[..., Any], args: Tuple[Any, ...]) -> Batch:
    return Batch(receive(*args))


def _reduce(batch: Batch) -> Reduced:
    """Pickles a batch in the same way as a sheaf.Batch."""
    return _made, reduce_batch(batch)


ForkingPickler.register(Batch, _reduce)
