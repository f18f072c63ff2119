# SPDX-License-Identifier: MIT
"""Replaces webdataset's WebDataset: it yields the same dicts, so that existing pipelines continue to work.

    from sheaf.webdataset import WebDataset     # in place of webdataset's

    dataset = WebDataset("shards/train-{000000..000146}.tar", seed=7).decode("pil")
    for image, label in dataset.to_tuple("jpg", "cls"):
        ...

Every container works, not only tar. The reader shuffles, in the same order for all ranks (shuffle_buffer=,
no_shuffle=True). Ranks and workers divide an epoch among themselves sample by sample."""

from __future__ import annotations

import inspect
import os
import struct
from typing import Any, Dict, Iterator, List, Optional, Union

import webdataset

import sheaf
from sheaf._member import Epochs, check_rank, rank_of, worker_of


def label_text(labels: Any) -> bytes:
    """Returns labels as text in the form of webdataset's field `cls`: "3", or "0.5 1"."""
    return " ".join(str(label) if isinstance(label, int) else _float_text(label)
                    for label in labels).encode()


def _float_text(label: float) -> str:
    """Returns the shortest digits from which the same 32-bit float is read back."""
    single = struct.pack("<f", label)
    for digits in range(1, 10):
        text = "%.*g" % (digits, label)
        if struct.pack("<f", float(text)) == single:
            return text
    return repr(label)


class Samples:
    """The first stage of a pipeline: the samples of an epoch as webdataset's dicts. Each pass is the next epoch."""

    def __init__(self, source: Union[sheaf.Source, sheaf.Dataset], *, epoch: int = 0,
                 rank: Optional[int] = None, world_size: Optional[int] = None,
                 **options: Any) -> None:
        for name in options:
            if name not in inspect.signature(sheaf.Reader).parameters:
                raise TypeError("%s=: options here are those of sheaf.Reader, not webdataset's; "
                                "it shuffles and shares an epoch out by itself" % name)
        self.dataset = source if isinstance(source, sheaf.Dataset) else sheaf.Dataset(source)
        self._finds_rank = rank is None
        rank, world_size = rank_of(rank, world_size, self.dataset)
        self.options = dict(options, rank=rank, world_size=world_size)
        self._epochs = Epochs(epoch)

    def _urls(self) -> List[str]:
        folder = self.dataset.url if self.dataset.has_manifest else ""
        if folder.endswith(".json"):
            folder = os.path.dirname(folder)
        return [os.path.join(folder, shard.name) for shard in self.dataset.shards]

    def __call__(self) -> Iterator[Dict[str, Any]]:
        if self._finds_rank:
            check_rank(self.options["rank"], self.options["world_size"], self.dataset)
        worker, workers = worker_of()
        urls = self._urls()
        with sheaf.Reader(self.dataset, epoch=self._epochs.begin(), worker=worker,
                          workers=workers, **self.options) as reader:
            for sample in reader:
                yield self._dict(sample, urls)

    def set_epoch(self, epoch: int) -> None:
        self._epochs.set(epoch)

    @staticmethod
    def _dict(sample: sheaf.Sample, urls: List[str]) -> Dict[str, Any]:
        result: Dict[str, Any] = {"__key__": sample.key, "__url__": urls[sample.shard]}
        result.update(sample.to_bytes())
        if "cls" not in result and sample.labels:
            result["cls"] = label_text(sample.labels)
        return result


class WebDataset(webdataset.DataPipeline, webdataset.FluidInterface):
    """Replaces webdataset.WebDataset. The options are those of sheaf.Reader."""

    def __init__(self, source: Union[sheaf.Source, sheaf.Dataset], **options: Any) -> None:
        self.samples = Samples(source, **options)
        super().__init__(self.samples)

    def set_epoch(self, epoch: int) -> None:
        """Makes the next pass this epoch."""
        self.samples.set_epoch(epoch)
