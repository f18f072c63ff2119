# SPDX-License-Identifier: MIT
"""Which samples a rank reads: arithmetic on ordinals, and what a training job notes of it.

An epoch is one sequence of N samples, whatever the number of ranks: g = 0, 1, ...; rank r of W has
those with g % W == r, its ordinals 0, 1, ... (the lanes take turns, and W divides their number).
So a place in an epoch is a count of samples that all ranks together have had, and any world that
divides the lanes can go on from there."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple

import sheaf

BITS = 40                               # of an ordinal, in the numbers that a sampler yields
MASK = (1 << BITS) - 1
SOURCES_MOST, DIGITS = 256, 4           # of a view, in a state: of each fingerprint the first digits


class Share(NamedTuple):
    """What one rank reads of an epoch, from where all ranks have had `done` samples together."""
    first: int                          # ordinal
    count: int


def share_of(samples: int, rank: int, world_size: int, remainder: str, done: int = 0) -> Share:
    """All ranks have equally many with "pad", which lets some have one sample twice, and with
    "drop", which leaves out world_size - 1 samples at most.  With "keep" some have one more."""
    first = max(0, -(-(done - rank) // world_size))
    left = max(0, samples - done)
    if remainder == "pad":
        return Share(first, -(-left // world_size))
    if remainder == "drop":
        return Share(first, left // world_size)
    return Share(first, max(0, -(-(samples - rank) // world_size) - first))


def batches_of(samples: int, world_size: int, remainder: str, done: int, batch_size: int,
               drop_last: bool) -> int:
    """Of the rest of an epoch, on the rank that has most of it: the epoch is over, for all ranks,
    when that rank has had its last batch."""
    left = max(0, samples - done)
    most = left // world_size if remainder == "drop" else -(-left // world_size)
    return most // batch_size if drop_last else -(-most // batch_size)


class Order(NamedTuple):
    """What the order of an epoch depends on, besides the data set."""
    fingerprint: str
    seed: int
    no_shuffle: bool
    shuffle_buffer: int
    lanes: int
    host: Optional[Tuple[int, int]] = None      # (number, count), if each has shards of its own


class Place(NamedTuple):
    """Where a state is: in an epoch, after so many samples of all ranks together, of which this rank
    has skipped so many as corrupt."""
    epoch: int
    done: int
    lanes: int
    skipped: int = 0


def state_of(order: Order, place: Place, batches: int, batch_size: int, world_size: int,
             skipped: int, dataset: sheaf.Dataset) -> Dict[str, Any]:
    """The same for every rank of a host, but for what it skipped: after `place`, `batches` of
    batch_size of each of world_size ranks.  Only a host with shards of its own is named."""
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


def _grown(source: sheaf.SourceInfo, digits: str) -> Optional[str]:
    """Returns the message about a data set whose fingerprint began so before it was changed."""
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
    """The state is of another view: in what it was another."""
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
    """ChangedError: the state is of another data set; ArgumentError: of another order.  samples_of
    says how many an epoch of so many lanes has; None: a stream, whose ranks are not equal, so that
    only the same ranks can go on with it."""
    if not isinstance(state, dict) or state.get("sheaf") != 1:
        raise sheaf.ArgumentError("this is not a state of a sheaf loader: %.80r" % (state,))
    if not order.fingerprint:
        raise sheaf.UnsupportedError("this stream cannot be resumed: it is standard input, or its "
                                     "order is the platform's")
    done = state["start"] + state["batches"] * state["batch_size"] * state["world_size"]
    # Of a view, stages that begin later may have been appended.  The whole one is in older states.
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
