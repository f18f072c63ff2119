# SPDX-License-Identifier: MIT
"""Computes which samples a rank reads, and makes and checks the states of a loader.

An epoch is one sequence of N samples, numbered g = 0, 1, ..., for any number of ranks. Rank r of W reads the samples
with g % W == r. Within the rank, they have the ordinals 0, 1, ... (This works because the lanes take turns, and W
divides their number.) So a place in an epoch is the number of samples that all ranks together have read. A run can
continue there with any world size that divides the number of lanes."""

from __future__ import annotations

import json
import operator
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple

import sheaf

BITS = 40                               # bits of an ordinal in the numbers that a sampler yields
MASK = (1 << BITS) - 1
# The entries that every state has; the second are numbers of samples, batches, ranks and so on.
_COUNTS = ("lanes", "epoch", "start", "batches", "batch_size", "world_size")
_ENTRIES = ("fingerprint", "seed", "no_shuffle", "shuffle_buffer") + _COUNTS
SOURCES_MOST, DIGITS = 256, 4           # sources of a view that a state names, and digits of each fingerprint


class Share(NamedTuple):
    """The part of an epoch that one rank reads, after all ranks together have read `done` samples."""
    first: int                          # ordinal of the first sample
    count: int


def share_of(samples: int, rank: int, world_size: int, remainder: str, done: int = 0) -> Share:
    """Returns the part of an epoch that a rank reads after `done` samples.

    With "pad" and "drop", all ranks have the same number of samples: "pad" repeats samples, and "drop" leaves out at
    most world_size - 1 samples. With "keep", some ranks have one sample more."""
    first = max(0, -(-(done - rank) // world_size))
    left = max(0, samples - done)
    if remainder == "pad":
        return Share(first, -(-left // world_size))
    if remainder == "drop":
        return Share(first, left // world_size)
    return Share(first, max(0, -(-(samples - rank) // world_size) - first))


def batches_of(samples: int, world_size: int, remainder: str, done: int, batch_size: int,
               drop_last: bool) -> int:
    """Returns the number of batches in the rest of an epoch, on the rank that has the most samples. The epoch is over
    for all ranks when that rank has received its last batch."""
    left = max(0, samples - done)
    most = left // world_size if remainder == "drop" else -(-left // world_size)
    return most // batch_size if drop_last else -(-most // batch_size)


class Order(NamedTuple):
    """The data set and the options that determine the order of an epoch."""
    fingerprint: str
    seed: int
    no_shuffle: bool
    shuffle_buffer: int
    lanes: int
    host: Optional[Tuple[int, int]] = None      # (number, count), if each host has shards of its own


class Place(NamedTuple):
    """The place of a state in an epoch. `done` is the number of samples that all ranks together have read. `skipped`
    is the number of these that this rank has skipped as corrupt."""
    epoch: int
    done: int
    lanes: int
    skipped: int = 0


def state_of(order: Order, place: Place, batches: int, batch_size: int, world_size: int,
             skipped: int, dataset: sheaf.Dataset) -> Dict[str, Any]:
    """Returns the state of a loader at a point after `place`. From `place` to this point, each of world_size ranks
    has read `batches` batches of batch_size samples.

    The state is the same on every rank of a host, except for the number of skipped samples. It names the host only if
    each host has shards of its own."""
    words = order._asdict()
    if order.host is None:
        del words["host"]
    words["fingerprint"] = dataset._fingerprint_at(
        place.done + batches * batch_size * world_size, epoch=place.epoch, lanes=order.lanes)
    if dataset.is_view and len(dataset.sources) <= SOURCES_MOST:
        words["sources"] = [source.fingerprint[:DIGITS] for source in dataset.sources]
    return {"sheaf": 1, **words, "epoch": place.epoch, "start": place.done,
            "batches": batches, "batch_size": batch_size, "world_size": world_size,
            "skipped": place.skipped + skipped}


def is_count(value: Any) -> bool:
    """Returns whether the value is a whole number that is not negative, also of NumPy."""
    try:
        return operator.index(value) >= 0
    except TypeError:
        return False


def _grown(source: sheaf.SourceInfo, digits: str) -> Optional[str]:
    """Returns a message if a fingerprint that the data set had before it was edited, or before samples were appended,
    begins with `digits`."""
    manifest = json.loads(source.manifest_json) if source.manifest_json else {}
    edits, grown = manifest.get("edited", []), manifest.get("grown", [])
    until = edits[-1]["grown"] if edits else 0
    if any(former["fingerprint"].startswith(digits) for former in edits + grown[:until]):
        return "%s: the data set was edited since the state was taken, so samples may have other " \
               "numbers: begin an epoch of the data set as it is now" % source.url
    for former in grown[until:]:
        if former["fingerprint"].startswith(digits):
            samples = sum(shard["samples"] for shard in manifest["shards"][:former["shards"]])
            return "%s: the data set has grown since the state was taken, from %d to %d samples: " \
                   "begin an epoch of all of them" % (source.url, samples, source.samples)
    return None


def _what_changed(before: Sequence[str], sources: Sequence[sheaf.SourceInfo]) -> str:
    """Returns a message that says how the view of a state differs from this view."""
    if len(before) != len(sources):
        return "the state is of a view of %d sources, but this one has %d" % (len(before),
                                                                             len(sources))
    for digits, source in zip(before, sources):
        if not source.fingerprint.startswith(digits):
            return _grown(source, digits) or \
                "%s: this source of the view has changed since the state was taken: its " \
                "fingerprint began with %s, and is %s" % (source.url, digits, source.fingerprint)
    return "the state is of a view of the same sources, but with other conditions, shares or stages"


def place_of(state: Dict[str, Any], order: Order, samples_of: Callable[[int], Optional[int]],
             world_size: int, dataset: sheaf.Dataset) -> Place:
    """Returns the place of a state. samples_of(lanes) returns the number of samples in an epoch, or None for a
    stream. A stream can be resumed only with the same number of ranks, because its ranks have unequal numbers of
    samples.

    Raises ChangedError if the state belongs to another data set, and ArgumentError if it belongs to another order."""
    if not isinstance(state, dict) or state.get("sheaf") != 1:
        raise sheaf.ArgumentError("this is not a state of a sheaf loader: %.80r" % (state,))
    for name in _ENTRIES:
        if name not in state:
            raise sheaf.ArgumentError("the state is damaged: it has no %r" % name)
    for name in _COUNTS:
        if not is_count(state[name]):
            raise sheaf.ArgumentError("the state is damaged: %r is %r, expected a whole number that is not negative"
                                      % (name, state[name]))
    if not order.fingerprint:
        raise sheaf.UnsupportedError("this stream cannot be resumed: it is standard input, or its "
                                     "order is the platform's")
    done = state["start"] + state["batches"] * state["batch_size"] * state["world_size"]
    # Stages that begin later may have been appended to a view. States of older releases have the fingerprint with all
    # stages.
    fingerprint = dataset._fingerprint_at(done, epoch=state["epoch"], lanes=state["lanes"])
    is_of_this = state["fingerprint"] in (fingerprint, order.fingerprint)
    if not is_of_this and order.host and state.get("host"):
        raise sheaf.ChangedError(
            "the state is of host %d of %d, but this is host %d of %d%s: each host saves and loads "
            "its own" % (*state["host"], *order.host, " with other shards than it had then"
                         if tuple(state["host"]) == tuple(order.host) else ""))
    if not is_of_this and dataset.is_view and "sources" in state:
        raise sheaf.ChangedError(_what_changed(state["sources"], dataset.sources))
    if not is_of_this:
        grown = [] if dataset.is_view else [_grown(source, state["fingerprint"])
                                            for source in dataset.sources]
        raise sheaf.ChangedError(next(filter(None, grown), None) or
                                 "the state is of data set %s, but this one is %s"
                                 % (state["fingerprint"], fingerprint))
    for name in ("seed", "no_shuffle", "shuffle_buffer"):
        if state[name] != getattr(order, name):
            raise sheaf.ArgumentError("%s of this loader is %r, but the state has %r: the samples "
                                      "that follow would be others"
                                      % (name, getattr(order, name), state[name]))
    if state["lanes"] % world_size != 0:
        raise sheaf.ArgumentError("the state has %d lanes, which do not divide among %d ranks"
                                  % (state["lanes"], world_size))
    samples = samples_of(state["lanes"])
    if samples is None and state["world_size"] != world_size:
        raise sheaf.ArgumentError("the state of a stream is of %d ranks, but this world has %d: "
                                  "index the data set (sheaf index) to resume in another world"
                                  % (state["world_size"], world_size))
    if samples is not None and done >= samples:
        return Place(state["epoch"] + 1, 0, state["lanes"])
    return Place(state["epoch"], done, state["lanes"], state.get("skipped", 0))
