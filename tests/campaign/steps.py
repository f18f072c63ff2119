# SPDX-License-Identifier: MIT
"""The table of steps. To add a step, write a function of the chain and of one of its things, and add a line here: how
often the step is taken compared with the others, and for which things."""

import collections

import archives
import steps_append
import steps_change
import steps_channel
import steps_columns
import steps_copy
import steps_feed
import steps_fetch
import steps_foreign
import steps_lookup
import steps_modes
import steps_pack
import steps_pixels
import steps_python
import steps_read
import steps_repair
import steps_report
import steps_splits
import steps_torn
import steps_union
import steps_view
import steps_ways
from chain import Shards, Source
from views import View

Step = collections.namedtuple("Step", "share function takes")


def source(thing):
    return isinstance(thing, Source)


def local_source(thing):
    return source(thing) and thing.folder is not None


def tree(thing):
    return source(thing) and thing.is_tree


def prefix(thing):
    return source(thing) and thing.kind == "prefix"


def objects(thing):
    return source(thing) and thing.kind in ("prefix", "manifest", "augmented")


def listed(thing):
    return source(thing) and thing.kind == "manifest"


def augmented(thing):
    return source(thing) and thing.kind == "augmented"


def archive(thing):
    return source(thing) and thing.kind == "archive"


def readable(thing):
    return isinstance(thing, Shards)


def view(thing):
    return isinstance(thing, View)


def shards(thing):
    return readable(thing) and not view(thing)


def with_keys(thing):
    return view(thing) or data_set(thing)


def data_set(thing):
    return shards(thing) and thing.is_set


def local_set(thing):
    return data_set(thing) and thing.is_local


def remote_set(thing):
    return data_set(thing) and not thing.is_local


def bare(thing):
    return shards(thing) and not thing.is_set


def one_file(thing):
    return bare(thing) and len(thing.names) == 1 and thing.container != "recordio"


STEPS = (
    Step(3, steps_pack.pack, source),
    Step(2, steps_pack.parts, source),
    Step(2, steps_ways.packed, source),
    Step(2, archives.archived, local_source),
    Step(1, steps_change.killed_and_changed, local_source),
    Step(1, steps_change.changed_since_plan, local_source),
    Step(2, steps_change.changed_archive, archive),
    Step(1, steps_change.two_plans, source),
    Step(1, steps_change.joined, tree),
    Step(4, steps_append.append, data_set),
    Step(2, steps_splits.append_to_all, source),
    Step(3, steps_columns.column, data_set),
    Step(2, steps_columns.scored, data_set),
    Step(2, steps_repair.repair, data_set),
    Step(2, steps_repair.remade, source),
    Step(5, steps_copy.convert, shards),
    Step(2, steps_copy.convert_parts, data_set),
    Step(2, steps_ways.converted, data_set),
    Step(3, steps_copy.unpack, shards),
    Step(3, steps_copy.strip, local_set),
    Step(3, steps_copy.index, bare),
    Step(3, steps_fetch.data_set, remote_set),
    Step(1, steps_fetch.one, remote_set),
    Step(2, steps_fetch.files, prefix),
    Step(3, steps_fetch.listed, listed),
    Step(3, steps_fetch.lines, augmented),
    Step(4, steps_union.several, shards),
    Step(6, steps_view.view, data_set),
    Step(2, steps_view.info, view),
    Step(3, steps_view.convert, view),
    Step(2, steps_view.unpack, view),
    Step(3, steps_view.changed, view),
    Step(4, steps_view.staged, view),
    Step(3, steps_lookup.get, with_keys),
    Step(3, steps_lookup.locate, with_keys),
    Step(1, steps_lookup.keys_anew, local_set),
    Step(4, steps_read.listing, readable),
    Step(1, steps_read.null, readable),
    Step(2, steps_pixels.crops, readable),
    Step(3, steps_read.stream, readable),
    Step(2, steps_read.ranks, readable),
    Step(2, steps_read.resume, readable),
    Step(1, steps_read.resume_worlds, readable),
    Step(2, steps_read.verify, shards),
    Step(1, steps_read.info, shards),
    Step(1, steps_read.pipe, one_file),
    Step(2, steps_read.damage, local_set),
    Step(3, steps_report.report, readable),
    Step(3, steps_foreign.archive, local_source),
    Step(2, steps_torn.torn, local_source),
    Step(1, steps_foreign.limit, local_source),
    Step(2, steps_foreign.records, local_source),
    Step(2, steps_channel.directory, local_set),
    Step(3, steps_channel.direct, remote_set),
    Step(3, steps_channel.distributed, remote_set),
    Step(2, steps_feed.pipe_mode, shards),
    Step(2, steps_feed.feed, tree),
    Step(3, steps_feed.feed_objects, objects),
    Step(3, steps_feed.pipe_lines, augmented),
    Step(4, steps_modes.cached, remote_set),
    Step(2, steps_modes.little_memory, readable),
    *([Step(2, steps_python.numbered, readable),
       Step(2, steps_lookup.by_key, with_keys)] if steps_python.is_there() else []),
    *([Step(2, steps_python.loader, readable), Step(1, steps_python.damaged, local_set),
       Step(1, steps_python.epoch_of_each, shards)] if steps_python.has_torch() else []),
)


def first(chain):
    """Returns the step that begins a chain: it packs files into shards."""
    return chain.chance.choice([s for s in STEPS if s.takes is source or
                                s.function is steps_foreign.archive])


def next_step(chain):
    """Returns one of the steps that are possible for some thing of the chain, and the thing."""
    fits = [(step, thing) for step in STEPS for thing in chain.things if step.takes(thing)]
    weights = [step.share / sum(1 for other, _ in fits if other is step) for step, _ in fits]
    return chain.chance.choices(fits, weights)[0]
