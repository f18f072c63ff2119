# SPDX-License-Identifier: MIT
"""Runs a program's own transforms with random numbers that belong to the sample.

The generators of PyTorch (on the CPU), of `random` and of NumPy are seeded before a call and restored after it. The
usual functions for this take longer than many a transform: torch.manual_seed visits every device, and random.getstate
and numpy.random.get_state make an object of each of 624 words. So the words of `random` and NumPy are copied as
memory, if their layout in memory is the expected one. Otherwise the usual functions are used."""

from __future__ import annotations

import ctypes
import functools
import random
import struct
import sys
from typing import Any, Callable, Generic, List, Optional, Tuple, TypeVar

import torch

import sheaf

_Result = TypeVar("_Result")

WORDS = 624                         # words of a Mersenne Twister
LOW = (1 << 32) - 1


class _Torch:
    """PyTorch's generator on the CPU."""

    def begin(self, seed: int) -> None:
        generator = torch.default_generator
        self.state = generator.get_state()
        generator.manual_seed(seed)

    def end(self) -> None:
        torch.default_generator.set_state(self.state)


class _Random:
    """The generator of the module `random`. In memory, it consists of an index, then the words."""

    def __init__(self) -> None:
        self.inst: Any = getattr(random, "_inst", None)
        self.memory = self._find()

    def _find(self) -> Optional["ctypes.Array[ctypes.c_char]"]:
        size = struct.calcsize("i%dI" % WORDS)
        if type(self.inst) is not random.Random or sys.implementation.name != "cpython" \
                or random.Random.__base__.__basicsize__ < object.__basicsize__ + size:
            return None
        memory = (ctypes.c_char * size).from_address(id(self.inst) + object.__basicsize__)
        index, *words = struct.unpack("i%dI" % WORDS, memory.raw)
        return memory if random.getstate()[1] == (*words, index) else None

    def begin(self, seed: int) -> None:
        self.state: Any = random.getstate() if self.memory is None else \
            (self.memory.raw, self.inst.gauss_next)
        random.seed(seed)

    def end(self) -> None:
        if self.memory is None:
            random.setstate(self.state)
        else:
            self.memory.raw, self.inst.gauss_next = self.state


class _NumPy:
    """NumPy's global generator. In memory, it consists of the words, then an index.

    The generator makes two normal numbers at a time and keeps the second one, which is not in this memory. To find
    out whether it keeps one, draw another: a kept number takes no words."""

    def __init__(self) -> None:
        import numpy.random
        self.random = numpy.random
        self.memory: Optional["ctypes.Array[ctypes.c_char]"] = None
        self.generator: Any = None

    def _find(self) -> None:
        """Finds the memory of the generator, which a program may replace."""
        generator = self.random.get_bit_generator()
        if generator is self.generator:
            return
        self.generator, self.memory = generator, None
        if type(generator) is self.random.MT19937:
            size = struct.calcsize("%dIi" % WORDS)
            memory = (ctypes.c_char * size).from_address(generator.ctypes.state_address)
            *words, index = struct.unpack("%dIi" % WORDS, memory.raw)
            state = generator.state["state"]
            if state["pos"] == index and state["key"].tolist() == words:
                self.memory = memory
                self.index = ctypes.c_int.from_buffer(memory, WORDS * 4)

    def begin(self, seed: int) -> None:
        self.state: Any = None
        if hasattr(self.random, "get_bit_generator"):
            self._find()
        if self.memory is not None:
            before, index = self.memory.raw, self.index.value
            kept = self.random.standard_normal()
            if self.index.value != index:
                self.state = before
            else:                       # a kept number is restored by the slow function
                self.state = self.random.get_state()[:3] + (1, kept)
        else:
            self.state = self.random.get_state(legacy=False)
        self.random.seed(seed & LOW)

    def end(self) -> None:
        if not isinstance(self.state, bytes):
            self.random.set_state(self.state)
            return
        assert self.memory is not None
        index = self.index.value
        self.random.standard_normal()
        if self.index.value != index:
            self.random.standard_normal()   # so that no number is kept now
        self.memory.raw = self.state


@functools.lru_cache(maxsize=None)
def _generators(has_numpy: bool) -> Tuple[Any, ...]:
    return (_Torch(), _Random(), _NumPy()) if has_numpy else (_Torch(), _Random())


class seeded(Generic[_Result]):
    """Returns a function that calls transform(sample) with random numbers that follow from sample.seed. The numbers
    are the same for any number of workers and ranks, and after a restart. They differ from epoch to epoch. Use it for
    the option `decode`:

        def decode(sample):
            return augment(decode_jpeg(sample["jpg"])), sample.label

        loader = sheaf.torch.DataLoader("shards/", 256, 8, decode=sheaf.torch.seeded(decode))

    During the call, PyTorch's CPU generator, `random` and numpy.random are seeded. Afterwards they continue where
    they were. `others` are further generators to seed: a torch.Generator, a random.Random, an Albumentations Compose,
    or any object with set_random_seed, manual_seed or seed. Only one thread of a process at a time may be in such a
    call."""

    def __init__(self, transform: Callable[[Any], _Result], *others: Any) -> None:
        self.transform = transform
        own = getattr(transform, "set_random_seed", None)
        self.seeders = ([own] if own is not None else []) + [_seeder(other) for other in others]

    def __call__(self, sample: Any) -> _Result:
        seed = getattr(sample, "seed", None)
        if not isinstance(seed, int):
            raise sheaf.ArgumentError("seeded(transform) is called with a %s, which has no seed: "
                                      "expected a sheaf.Sample" % type(sample).__name__)
        begun: List[Any] = []
        try:
            for generator in _generators("numpy" in sys.modules):
                generator.begin(seed)
                begun.append(generator)
            for set_seed in self.seeders:
                set_seed(seed & LOW)
            return self.transform(sample)
        finally:
            for generator in reversed(begun):
                generator.end()

    def __repr__(self) -> str:
        return "sheaf.torch.seeded(%r)" % (self.transform,)


def _seeder(other: Any) -> Callable[[int], Any]:
    for name in ("set_random_seed", "manual_seed", "seed"):
        if callable(getattr(other, name, None)):
            found: Callable[[int], Any] = getattr(other, name)
            return found
    raise sheaf.ArgumentError("%r has no set_random_seed, manual_seed or seed" % (other,))


seeded.__module__ = "sheaf.torch"       # the module from which programs import it
