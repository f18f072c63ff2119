# SPDX-License-Identifier: MIT
"""Computes a view: the samples that its conditions choose from each source, with the classes of all, in the order
that tests/system/view_reference.py implements a second time."""

import collections
import fnmatch
import json
import os
from fractions import Fraction

import xxhash

import model
import steps_union
from chain import Shards
from order_reference import KEEP
from view_reference import source_ids, view_order

# A source of a view: the thing, the members of its document, and the contents of its files of keys. The numbers come
# from a file of numbers.
Part = collections.namedtuple("Part", "shards members files numbers")

LABEL_MOST = (1 << 32) - 2      # largest label that an index can have


class Unknown(Exception):
    """There is a condition on labels, and the index has none."""


class View(Shards):
    """samples: all samples of the sources, numbered as one data set. chosen: the chosen numbers of each source.
    total: number of samples in an epoch. rest: the members of the document beside its sources."""

    is_view = True

    def __init__(self, path, parts, rest):
        classes, base, samples = united(parts, rest.get("classes", "by-name"))
        super().__init__([path], [samples], container=None, codec="none", is_set=False,
                         classes=classes, base=base, sources=[part.shards for part in parts])
        self.parts, self.rest, self.chosen, first = parts, rest, [], 0
        for part in parts:
            self.chosen.append([first + number for number in chosen_of(part)])
            first += len(part.shards.samples)
        members = [part.members for part in parts]
        self.weights = [m["weight"] for m in members] if "weight" in members[0] else None
        self.repeats = [m.get("repeat", 1) for m in members]
        self.shares = self.weights or [
            int(len(own) * Fraction(str(repeat)) + Fraction(1, 2))
            for own, repeat in zip(self.chosen, self.repeats)]
        self.total = self.length_of() if self.weights else sum(self.shares)
        self.ids = None

    def length_of(self):
        """Returns the number of samples in an epoch with weights."""
        if "samples" in self.rest:
            return self.rest["samples"]
        period = sum(self.weights)
        lengths = [Fraction(len(own) * period, weight)
                   for own, weight in zip(self.chosen, self.weights) if weight]
        if self.rest["until"] == "first":
            return max(1, int(min(lengths)))
        return max(1, -int(-max(lengths) // 1))

    @property
    def is_local(self):
        return "://" not in self.arguments[0] and all(source.is_local for source in self.sources)

    @property
    def epoch_length(self):
        return self.total

    def epoch(self, world=1, workers=1, rank=0, worker=0, remainder=KEEP, **order):
        """Returns the numbers of an epoch's samples, in order."""
        order.pop("length", None)
        shares = {"weights": self.weights, "total": self.total, "stages": [
            (stage["samples"], stage["weights"]) for stage in self.rest.get("stages", ())]} \
            if self.weights else {"counts": self.shares}
        found = view_order([len(own) for own in self.chosen], self.ids or self.name_sources(),
                           rank=rank + world * worker, world=world * workers,
                           remainder=remainder, **shares, **order)
        return [self.chosen[source][number] for source, number in found]

    def name_sources(self):
        self.ids = source_ids([(part.shards.fingerprint, where_text(part)) for part in self.parts])
        return self.ids

    def document(self):
        return {"sheaf_view": 1, **self.rest, "sources": [
            {"source": part.shards.arguments[0], **part.members} for part in self.parts]}


def where_text(part):
    """Returns the conditions in the form in which the source's identity has them. A file of keys is replaced by its
    hash."""
    where = dict(part.members.get("where", {}))
    for name, data in part.files.items():
        where[name] = xxhash.xxh3_64_hexdigest(data)
    return json.dumps(where, sort_keys=True, separators=(",", ":"), ensure_ascii=False) \
        if where else ""


# ---- What is chosen ----------------------------------------------------------------------------

def chosen_of(part):
    """Returns the numbers of the chosen samples in their source."""
    where, samples = part.members.get("where", {}), part.shards.samples
    if {"classes", "label", "labels"} & set(where):
        own = [label_of(sample) for sample in samples]
        if not has_labels(part.shards):
            raise Unknown
        numbers = {part.shards.classes.index(name) + part.shards.base
                   for name in where.get("classes", ())}
        first, last = where.get("labels", (0, LABEL_MOST))
        wanted = [item if isinstance(item, list) else [item, item]
                  for item in where.get("label", [[first, last]])]
        left = [n for n, label in enumerate(own)
                if label is not None and any(low <= label <= high for low, high in wanted)
                and ("classes" not in where or label in numbers)]
    else:
        left = list(range(len(samples)))
    if "numbers" in where:
        left = [n for n in left if n in part.numbers]
    lists = {name: set(data.decode().split("\n")) for name, data in part.files.items()}
    left = [n for n in left if has_key(samples[n].key, where, lists)]
    if "range" in where:
        left = left[where["range"][0]:where["range"][1]]
    if "every" in where:
        left = left[where["every"][1]::where["every"][0]]
    return left


def has_labels(shards):
    """Returns whether the index of each shard has labels."""
    own = [{label_of(sample) for sample in shard} for shard in shards.shards if shard]
    return not shards.foreign and all("odd" not in some and some != {None} for some in own)


def label_of(sample):
    """Returns the number that an index has for a sample: None without a label, "odd" for a label that it cannot have.
    """
    if not sample.labels:
        return None
    label = sample.labels[0]
    return int(label) if len(sample.labels) == 1 and label == int(label) and \
        0 <= label <= LABEL_MOST else "odd"


def has_key(key, where, lists):
    return (("keys" not in lists or key in lists["keys"]) and
            ("not_keys" not in lists or key not in lists["not_keys"]) and
            ("key_glob" not in where or fnmatch.fnmatchcase(key, where["key_glob"])))


# ---- The classes of all ------------------------------------------------------------------------

def united(parts, how):
    """Returns (classes, base, samples of all sources). A sample that cannot be read is a text that says why."""
    sources = [part.shards for part in parts]
    if how == "by-number":
        for source in sources[1:]:
            if source.base != sources[0].base:
                raise steps_union.Refused("labels begin at %d, but at %d"
                                          % (source.base, sources[0].base))
        longest = max(sources, key=lambda source: len(source.classes))
        classes, base, numbers = longest.classes, sources[0].base, [None] * len(sources)
    elif isinstance(how, dict) and next(iter(how)).isdecimal():
        return [], 0, [renumbered(kept(sample, part.members.get("fields")), how)
                       for part in parts for sample in part.shards.samples]
    elif isinstance(how, dict):
        if not all(source.classes for source in sources):
            raise steps_union.Refused("have no names")
        base, classes, numbers = sources[0].base, [], []
        for source in sources:
            own = [how.get(name, name) for name in source.classes]
            classes += [name for name in dict.fromkeys(own) if name not in classes]
            numbers.append([classes.index(name) + base for name in own])
    else:
        if len({bool(source.classes) for source in sources}) > 1:
            raise steps_union.Refused("some with classes and some without")
        base, classes = sources[0].base, []
        numbers = [steps_union.numbers_of(source, classes, base) for source in sources]
    samples = []
    for part, own in zip(parts, numbers):
        for sample in part.shards.samples:
            sample = kept(sample, part.members.get("fields"))
            if own is not None:
                sample = steps_union.renumbered(sample, part.shards, own)
            if not isinstance(sample, str) and classes and (how != "by-number" or part.shards.classes):
                sample = sample._replace(name=model.class_of(sample.labels, classes, base))
            samples.append(sample)
    return classes, base, samples


def renumbered(sample, numbers):
    """Returns labels by a map of labels to labels, in a view without names."""
    labels = sample.labels
    if labels and (len(labels) != 1 or labels[0] != int(labels[0])):
        return "labels that are no class"
    own = labels and float(numbers.get("%d" % labels[0], labels[0]))
    if labels and own != labels[0] and "cls" in model.field_names(sample):
        return "a cls of its own"
    return sample._replace(labels=(own,) if labels else (), name=None)


def kept(sample, fields):
    if fields is None:
        return sample
    return sample._replace(fields=tuple((suffix, data) for suffix, data in sample.fields
                                        if suffix in fields or model.lower(suffix) in fields))


def relative(place, path):
    """Returns a place in the chain's folder in the form in which a document at `path` names it."""
    return place if "://" in place or os.path.isabs(place) else \
        os.path.relpath(place, os.path.dirname(path) or ".")
