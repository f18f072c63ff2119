# SPDX-License-Identifier: MIT
"""Finds the place of this process in a training job: its rank, its number among a DataLoader's workers, and its
epoch."""

from __future__ import annotations

import logging
import operator
import os
import sys
import zlib
from typing import TYPE_CHECKING, Any, List, Optional, Set, Tuple

from . import _sheaf

if TYPE_CHECKING:
    import sheaf

WORKERS_MOST = 4096
DISTRIBUTED = "torch.distributed"
EPOCH_MOST = (1 << 63) - 2              # so that the number of the next epoch is also valid
_log = logging.getLogger("sheaf")


def rank_of(rank: Optional[int], world_size: Optional[int],
            dataset: sheaf.Dataset) -> Tuple[int, int]:
    """Returns rank and world size, for every reader of this package. The first of these that exists is used: the
    arguments; the values of a channel; those of torch.distributed, if it is initialised; the environment (torchrun's,
    Open MPI's, Slurm's variables, SageMaker's hosts), by the rule of sheaf_world_from_environment, which the command
    also uses; rank 0 of 1."""
    if (rank is None) != (world_size is None):
        raise _sheaf.ArgumentError("rank and world_size are given together, or neither")
    if rank is not None and world_size is not None:
        if dataset.host is not None:
            _check_world_of_host(world_size, world_size * dataset.host[1])
        return rank, world_size
    found = _found(dataset)
    if found is None:
        return 0, 1
    _tell(*found)
    return found[:2]


def _found(dataset: sheaf.Dataset) -> Optional[Tuple[int, int, Optional[str]]]:
    """Returns rank, world size and their origin, or None if nothing specifies them."""
    if dataset.world is not None:
        if dataset.host is not None:
            size = dataset.world[1]
            _check_world_of_host(size, size * dataset.host[1], size)
        return (*dataset.world, dataset._world_by)
    distributed = _distributed()
    if distributed is not None:
        return (*distributed, DISTRIBUTED)
    return _sheaf.world_from_environment()


_notices: Set[Tuple[int, int, Optional[str]]] = set()


def _tell(rank: int, world_size: int, by: Optional[str]) -> None:
    """Logs the rank that was found. The first time, it is shown even if logging is off, as the command does, because
    the program may not expect to get only a part of the samples. For example, it may evaluate on one rank only."""
    if world_size == 1:
        return
    notice = (rank, world_size, by)
    is_news = notice not in _notices and not is_worker()
    _notices.add(notice)
    is_shown = _log.isEnabledFor(logging.INFO)
    _log.log(logging.WARNING if is_news and not is_shown else logging.INFO,
             "rank %d of %d, by %s: reads only its part of the samples; rank=0, world_size=1 "
             "reads all", *notice)


def check_rank(rank: int, world_size: int, dataset: sheaf.Dataset) -> None:
    """Raises StateError if the rank of this process is no longer the rank that was found when its reader was created.
    (The process of a worker need not know its rank.)"""
    found = _found(dataset)
    if found is None or found[:2] == (rank, world_size) or is_worker() and found[2] != DISTRIBUTED:
        return
    raise _sheaf.StateError(
        "this reads as rank %d of %d, which it was when it was made, but the process is rank %d of "
        "%d now (%s): make it after init_process_group(), or give rank= and world_size="
        % (rank, world_size, *found))


def _distributed() -> Optional[Tuple[int, int]]:
    """Returns rank and world size of torch.distributed, or None if it is not initialised."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available() \
            or not torch.distributed.is_initialized():
        return None
    return torch.distributed.get_rank(), torch.distributed.get_world_size()


def _check_world_of_host(world_size: int, *worlds: int) -> None:
    """Raises ArgumentError if ranks are counted over all hosts although each host has shards of its own. Each rank
    would then leave out samples that no other host can read. `worlds` has the sizes that torch.distributed may have.
    """
    found = _distributed()
    if found is not None and found[1] not in worlds:
        raise _sheaf.ArgumentError(
            "%d ranks share this host's shards (ShardedByS3Key), but torch.distributed has %d, "
            "expected %s: rank and world_size are those of the processes of this host (LOCAL_RANK, "
            "LOCAL_WORLD_SIZE)" % (world_size, found[1], " or ".join(map(str, worlds))))


_LOCAL = (("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
          ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
          ("SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"))


def local_rank_of(rank: int, world_size: int) -> Tuple[int, int]:
    """Returns the number of this rank among the ranks of its host, and their count, from the variables that
    sheaf_channel_world reads. Returns (0, 1) if these variables are not set."""
    for names in _LOCAL:
        words = [os.environ.get(name, "") for name in names]
        if all(word.isdigit() for word in words):
            local, size = int(words[0]), int(words[1])
            if size < 1 or world_size % size != 0 or rank % size != local:
                raise _sheaf.ArgumentError("%s is %d and %s is %d, but rank %d of %d cannot be that one of "
                                           "its host: ranks of a host must follow one another"
                                           % (names[0], local, names[1], size, rank, world_size))
            return local, size
    return 0, 1


def worker_of() -> Tuple[int, int]:
    """Returns this worker's number and the number of workers. Returns (0, 1) outside of a DataLoader's workers."""
    info = _worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)


def part_of(worker: Optional[int], workers: Optional[int]) -> Tuple[int, int]:
    """Returns the part of a rank's samples that a reader returns, as (worker, workers). This is the given part. If
    none is given, a worker of a DataLoader over an IterableDataset gets its own part, because each worker iterates
    over its own copy of the data set. Any other process gets all samples."""
    if (worker is None) != (workers is None):
        raise _sheaf.ArgumentError("worker and workers are given together, or neither")
    if worker is not None and workers is not None:
        return worker, workers
    info = _worker_info()
    if info is None or not isinstance(info.dataset, sys.modules["torch.utils.data"].IterableDataset):
        return 0, 1
    if info.num_workers > 1:
        _log.info("worker %d of %d, by torch.utils.data.get_worker_info()", info.id,
                  info.num_workers)
    return info.id, info.num_workers


def epoch_of(epoch: Any, most: int = EPOCH_MOST) -> int:
    """Checks the number of an epoch and returns it."""
    try:
        number = operator.index(epoch)
    except TypeError:
        raise TypeError("epoch is %r: expected a whole number" % (epoch,)) from None
    if not 0 <= number <= most:
        raise _sheaf.ArgumentError("epoch is %d: expected 0 to %d" % (number, most))
    return number


def is_worker() -> bool:
    """Returns whether this process is a DataLoader's worker."""
    return _worker_info() is not None


def _worker_info() -> Any:
    """Returns PyTorch's information about this worker, or None outside of a DataLoader's workers. In a worker,
    torch.utils.data is always imported."""
    data = sys.modules.get("torch.utils.data")
    return None if data is None else data.get_worker_info()


def _words_in_common(count: int) -> Any:
    """Returns `count` zeros. If torch is imported, they are in memory that the processes of a DataLoader share."""
    torch = sys.modules.get("torch")
    zeros = [0] * count
    return zeros if torch is None else torch.tensor(zeros, dtype=torch.int64).share_memory_()


class Epochs:
    """Chooses the epoch of each pass: the epoch after the last one that was begun.

    The workers of a pass must choose the same epoch, but each is a copy of this process, and may be created anew for
    each pass. So every process writes the epoch that it began last to shared memory, together with a name of its
    pass. All workers of a pass compute the same name, because the DataLoader gives its workers one random number per
    set of workers, and each worker counts its passes from the same number.

    The first worker of a pass finds the last epoch of all processes and takes the next one. The other workers find
    the entry with the name of their pass and take its epoch. If they look before this entry is written, they compute
    the same next epoch. Each process writes only its own word, so no lock is needed.

    If a program seeds torch before each pass, every set of workers gets the same random number. So an entry counts
    only while the process that wrote it lives. The processes of earlier sets have ended by then."""

    EPOCH_BITS = 31                     # bits of a word for the epoch + 1; the name of the pass is in the higher bits
    EPOCH_MASK = (1 << EPOCH_BITS) - 1
    EPOCH_MOST = EPOCH_MASK - 1

    def __init__(self, epoch: int) -> None:
        # The words have the epoch that was set, the last pass of this process, and the last pass of each worker.
        self._words = _words_in_common(2 + WORKERS_MOST)
        self._writers = _words_in_common(2 + WORKERS_MOST)  # the process that wrote each word
        self._count = 0
        self.set(epoch)

    def set(self, epoch: int) -> None:
        """Makes the next pass this epoch."""
        epoch = epoch_of(epoch, self.EPOCH_MOST)
        self._forget(None)
        self._words[0] = epoch

    def next(self) -> int:
        """Returns the epoch of the next pass."""
        return self._after(self._begun())

    def begin(self, epoch: Optional[int] = None) -> int:
        """Returns the epoch of the pass that this process begins: the given epoch (of a state), or the next one."""
        name, place = self._pass()
        if epoch is not None:
            self._forget(name)
        begun = self._begun()           # the words are read once, because other processes may write theirs
        for at, word in begun:
            if epoch is None and word >> self.EPOCH_BITS == name and self._writer_lives(at):
                epoch = (word & self.EPOCH_MASK) - 1
        if epoch is None:
            epoch = self._after(begun)
        self._writers[place] = os.getpid()
        self._words[place] = name << self.EPOCH_BITS | epoch + 1
        return epoch

    def _pass(self) -> Tuple[int, int]:
        """Returns the name of the pass that this process begins, in 32 bits, and the index of the process's word."""
        self._count += 1
        info = _worker_info()
        if info is None:
            return zlib.crc32(b"%d" % self._count), 1
        if info.id >= WORKERS_MOST:
            raise _sheaf.ArgumentError("worker %d: expected fewer than %d" % (info.id, WORKERS_MOST))
        named = b"%d %d" % (info.seed - info.id, self._count)
        return zlib.crc32(named), 2 + info.id

    def _begun(self) -> List[Tuple[int, int]]:
        """Returns the index and the word of each process that has begun a pass."""
        words = self._words if isinstance(self._words, list) else self._words.tolist()
        return [(place, word) for place, word in enumerate(words[1:], 1) if word != 0]

    def _writer_lives(self, place: int) -> bool:
        try:
            os.kill(int(self._writers[place]), 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True

    def _after(self, begun: List[Tuple[int, int]]) -> int:
        if not begun:
            return int(self._words[0])
        return max(word & self.EPOCH_MASK for _, word in begun)

    def _forget(self, name: Optional[int]) -> None:
        """Clears the words of all passes except the pass `name`."""
        for place, word in self._begun():
            if word >> self.EPOCH_BITS != name:
                self._words[place] = 0
