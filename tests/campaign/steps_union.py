# SPDX-License-Identifier: MIT
"""Several data sets opened together as one, with their classes merged by name. The union is a thing of the chain like
any other, which later steps read, convert and unpack."""

import model
from chain import Foreseen, Shards


class Refused(Exception):
    """The sources cannot form one data set."""


def several(chain, shards):
    """Opens two or three things of the chain together."""
    others = [thing for thing in chain.things if isinstance(thing, Shards) and
              thing is not shards and thing.sources is None]
    if not others or shards.sources is not None:
        raise Foreseen("one alone")
    sources = [shards, *chain.chance.sample(others, min(len(others), chain.chance.choice([1, 2])))]
    chain.chance.shuffle(sources)
    arguments = [word for source in sources for word in source.arguments]
    if not any(source.is_set for source in sources) and any(s.is_stream for s in sources):
        return streams(chain, sources, arguments)
    try:
        classes, base, found = merged(sources)
    except Refused as why:
        chain.sheaf("cat", *arguments, "--list", status=1)
        raise Foreseen(str(why)) from why
    refused = next((sample for sample in found if isinstance(sample, str)), None)
    if refused is not None:
        chain.sheaf("cat", *arguments, "--list", status=1, says=["its label", "its field cls"])
        raise Foreseen(refused)
    counts = [count for source in sources for count in source.counts]
    cut = iter(found)
    chain.things.append(Shards(arguments, [[next(cut) for _ in range(n)] for n in counts],
                               container=None, codec="none", is_set=False, classes=classes,
                               base=base, sources=sources))
    return None


def streams(chain, sources, arguments):
    """Foreign shards next to each other are one source, and may be streams."""
    if len({(source.container, source.codec) for source in sources}) > 1:
        raise Foreseen("streams of several kinds")
    chain.things.append(Shards(arguments, [shard for source in sources for shard in source.shards],
                               container=sources[0].container, codec=sources[0].codec,
                               is_set=False, sources=sources))


def merged(sources):
    """Returns (classes, base, samples). A sample that cannot be read is a text that says why."""
    if any(source.is_stream for source in sources):
        raise Refused("streams")
    if any(not a.is_set and not b.is_set and (a.container, a.codec) != (b.container, b.codec)
           for a, b in zip(sources, sources[1:])):
        raise Refused("foreign shards of several containers next to each other")
    if len({bool(source.classes) for source in sources}) > 1:
        raise Refused("some with classes and some without")
    prints = [source.fingerprint for source in sources if source.is_set]
    if len(set(prints)) < len(prints):
        raise Refused("the same data set twice")
    base, classes = sources[0].base, []
    numbers = [numbers_of(source, classes, base) for source in sources]
    samples = [sample if own is None else renumbered(sample, source, own)
               for source, own in zip(sources, numbers) for sample in source.samples]
    return classes, base, [sample if isinstance(sample, str) or not classes else sample._replace(
        name=model.class_of(sample.labels, classes, base)) for sample in samples]


def numbers_of(source, classes, base):
    """Adds the classes of a source to the merged list. Returns its new numbers, or None if they stay the same."""
    both = min(len(classes), len(source.classes))
    if not source.classes or (source.base == base and source.classes[:both] == classes[:both]):
        classes.extend(source.classes[both:])
        return None
    for name in source.classes:
        if name not in classes:
            classes.append(name)
    return [classes.index(name) + base for name in source.classes]


def renumbered(sample, source, numbers):
    labels = sample.labels
    if not labels:
        return sample
    if len(labels) != 1 or labels[0] != int(labels[0]) or \
            not 0 <= labels[0] - source.base < len(numbers):
        return "labels that are no class"
    number = float(numbers[int(labels[0]) - source.base])
    if number != labels[0] and "cls" in model.field_names(sample):
        return "a cls of its own"
    return sample._replace(labels=(number,))
