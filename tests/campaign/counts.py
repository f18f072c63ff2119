# SPDX-License-Identifier: MIT
"""The counts in a manifest: for each field, how many samples have it and how large it is; and the samples of each
class. `info --json` must print the same."""

from fractions import Fraction

import model

NAMES_MOST = 256
LABEL_MOST = (1 << 32) - 2      # largest label that an index can have


def rounded(size):
    """Rounds a size down to its first two digits."""
    step = 10 ** max(0, len(str(size)) - 2)
    return size // step * step


def fields(samples, first=None):
    """Returns the counts of fields as a manifest has them, or None if there are too many names. first: the number of
    samples before the first append. If none of these has a field, the manifest does not name a sample without it."""
    sizes, lacking = {}, {}
    for number, sample in enumerate(samples):
        own = {model.lower(suffix): len(data) for suffix, data in sample.fields}
        for name in sizes.keys() - own.keys():
            lacking.setdefault(name, sample.key)
        for name, size in own.items():
            if name not in sizes and number > 0:
                lacking[name] = samples[0].key if first is None or number < first else None
            sizes.setdefault(name, []).append(size)
    if len(sizes) > NAMES_MOST:
        return None
    return [field(name, sizes[name], lacking.get(name)) for name in sorted(sizes, key=str.encode)]


def field(name, sizes, lacking):
    floors = sorted(map(rounded, sizes))
    counted = [number for floor in sorted(set(floors)) for number in (floor, floors.count(floor))]
    found = {"name": name, "samples": len(sizes), "bytes": sum(sizes), "least": min(sizes),
             "most": max(sizes), "sizes": counted}
    return {**found, "lacking": lacking} if lacking is not None else found


def class_samples(shards, classes, base):
    """Returns the samples of each class, or None if some shard has labels that are not small numbers, so that the
    index has none of its labels."""
    counts = [0] * len(classes)
    for samples in shards:
        labels = [sample.labels for sample in samples if sample.labels]
        if any(len(own) != 1 or own[0] != int(own[0]) or not 0 <= own[0] <= LABEL_MOST
               for own in labels) or (samples and not labels):
            return None
        for own in labels:
            if 0 <= own[0] - base < len(classes):
                counts[int(own[0]) - base] += 1
    return counts


def before_growth(held):
    """Returns the number of samples before the first append, or None if there was no append, or no samples before it.
    """
    counts = [sum(map(len, held.shards[:time["shards"]])) for time in held.manifest.get("grown", ())]
    return next((count for count in counts if count), None)


def check(chain, place, held):
    """Checks the manifest of a data set that was just made."""
    samples = [sample for shard in held.shards for sample in shard]
    manifest = held.manifest
    compare(chain, manifest.get("fields", "nothing"), fields(samples, before_growth(held)), place)
    if held.classes:
        chain.equal(manifest.get("class_samples"),
                    class_samples(held.shards, held.classes, held.base),
                    "%s: the samples of classes" % place)


def compare(chain, found, expected, what):
    """Compares fields, and reports the first one that differs."""
    if found != expected and isinstance(found, list) and isinstance(expected, list):
        for one, other in zip(found, expected):
            chain.equal(one, other, "%s, a field" % what)
    chain.equal(found, expected, "%s, the fields" % what)


def check_told(chain, found, shards):
    """Checks the output of `info --json` for a data set. A median must be near the true one."""
    told = found.get("fields")
    expected = fields(shards.samples, shards.first)
    if expected is None:
        chain.equal(told, None, "too many fields")
        return
    for own in told:
        sizes = sorted(len(data) for sample in shards.samples for suffix, data in sample.fields
                       if model.lower(suffix) == own["name"])
        median, true = own.pop("median"), sizes[(len(sizes) - 1) // 2]
        if abs(median - true) > Fraction(true, 20) + 1:
            chain.fail("the median of %s: found %d, expected %d" % (own["name"], median, true))
    for own in expected:
        del own["sizes"]
    compare(chain, told, expected, "info --json")
