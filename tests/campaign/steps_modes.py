# SPDX-License-Identifier: MIT
"""Steps that read as a training job does: from S3 through a cache, and with little memory."""

import model
import steps_copy
import steps_read
from chain import Foreseen


def cached(chain, shards):
    """Reads a data set in S3 through a cache: cold, warm, and after another data set has replaced it."""
    target, cache = steps_copy.Target(chain), chain.new("cache")
    target.dest = chain.s3.url + chain.new("set")
    if steps_copy.convert_refused(shards, target) is not None:
        raise Foreseen("it cannot be converted")
    chain.sheaf("convert", *shards.arguments, target.dest, *target.options())
    size = chain.chance.choice(["64GB", "100kB"])
    for _ in range(2):
        read_cached(chain, shards, target.dest, cache, size)
    others = [thing for thing in chain.things if steps_copy.can_follow(thing, shards) and
              steps_copy.convert_refused(thing, target) is None]
    if others:
        other = chain.chance.choice(others)
        chain.sheaf("convert", *other.arguments, target.dest, *target.options(), "--overwrite")
        read_cached(chain, other, target.dest, cache, size)


def read_cached(chain, shards, place, cache, size):
    # Converting leaves out shards without samples, but no sample, so the order without shuffling stays the same.
    done = chain.sheaf("cat", place, "--list", "--no-shuffle", "--cache", cache, "--cache-size",
                       size)
    steps_read.same_lines(chain, done, shards.samples, "through the cache")


def little_memory(chain, shards):
    """With less memory, the output is the same, or the command is refused and says how much memory is needed."""
    order = steps_read.Order(chain, shards)
    size = chain.chance.choice([1, 4, 16, 64]) << 20
    done = chain.sheaf("cat", *shards.arguments, "--list", "--memory", size, *order.options(),
                       status=None, says=["memory"])
    if done.returncode == 0:
        steps_read.same_lines(chain, done, order.samples(), "with little memory")
    elif model.payload(shards.samples) < size // 4 and size >= 16 << 20:
        chain.fail("a small data set is refused:", done.stderr.decode()[-1000:])
