# SPDX-License-Identifier: MIT
"""Steps that read as a training job does: by the platform's channels, from named pipes that `sheaf
pipe` feeds, from S3 through a cache; and with little memory."""

import os
import subprocess
import time

import decoders
import model
import steps_copy
import steps_read
from chain import SHEAF, TIMEOUT, Foreseen


def channel(chain, shards):
    """The data set as a channel in File mode."""
    root, name = chain.new("ml"), chain.chance.choice(["train", "val-1"])
    data = os.path.join(root, "input", "data")
    os.makedirs(chain.path(data))
    os.symlink(chain.path(shards.folder), chain.path(os.path.join(data, name)))
    chain.note("mkdir", "-p", data)
    chain.note("ln", "-s", "../../../" + shards.folder, os.path.join(data, name))
    order = steps_read.Order(chain, shards)
    done = chain.sheaf("cat", "--channel", name, "--channel-root", root, "--list",
                       *order.options())
    steps_read.same_lines(chain, done, order.samples(), "a channel")


def pipe_mode(chain, shards):
    """Its shards through one named pipe, epoch after epoch.  RecordIO's keys are the pipe's."""
    if shards.container == "recordio" or not shards.samples:
        raise Foreseen("keys from a name")
    root, epochs = chain.new("ml"), chain.chance.choice([1, 2])
    data = os.path.join(root, "input", "data")
    os.makedirs(chain.path(data))
    configure(chain, root)
    words = ["pipe", shards.folder, data, "--epochs", epochs]
    chain.note("sheaf", *words, "&")
    # What comes is what a reader finds in the shards who has not their manifest.
    expected = [sample for shard in steps_copy.as_bare(shards) for sample in shard]
    if any(a.key == b.key for a, b in zip(expected, expected[1:])):
        raise Foreseen("two that are one where shards meet")
    with subprocess.Popen([SHEAF, *map(str, words)], cwd=chain.folder, env=chain.env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as feeder:
        try:
            for epoch in range(epochs):
                done = chain.sheaf("cat", "--channel", "train", "--channel-root", root, "--list",
                                   "--channel-wait", 60, "--no-shuffle", "--epoch", epoch)
                steps_read.same_lines(chain, done, expected, "a pipe, epoch %d" % epoch)
            text = feeder.communicate(timeout=TIMEOUT)[1]
        finally:
            feeder.kill()
    if feeder.returncode != 0:
        chain.fail("sheaf pipe: status %d" % feeder.returncode,
                   text.decode(errors="replace")[-2000:])


def configure(chain, root):
    """What the platform says of the channel, so that its reader waits for the pipe."""
    folder, text = os.path.join(root, "input", "config"), '{"train": {"TrainingInputMode": "Pipe"}}'
    os.makedirs(chain.path(folder))
    name = os.path.join(folder, "inputdataconfig.json")
    with open(chain.path(name), "w", encoding="ascii") as file:
        file.write(text)
    chain.lines.append("mkdir -p %s; echo '%s' >%s" % (folder, text, name))


def cached(chain, shards):
    """A data set in S3 through a cache: cold, warm, and when another one has taken its place."""
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
    # Converting leaves out shards without a sample, but no sample: their order in place is kept.
    done = chain.sheaf("cat", place, "--list", "--no-shuffle", "--cache", cache, "--cache-size",
                       size)
    steps_read.same_lines(chain, done, shards.samples, "through the cache")


def little_memory(chain, shards):
    """With less memory the same comes out, or a refusal that says how much it takes."""
    order = steps_read.Order(chain, shards)
    size = chain.chance.choice([1, 4, 16, 64]) << 20
    done = chain.sheaf("cat", *shards.arguments, "--list", "--memory", size, *order.options(),
                       status=None, says=["memory"])
    if done.returncode == 0:
        steps_read.same_lines(chain, done, order.samples(), "with little memory")
    elif model.payload(shards.samples) < size // 4 and size >= 16 << 20:
        chain.fail("a small data set is refused:", done.stderr.decode()[-1000:])


def feed(chain, source):
    """The files of a tree through named pipes: as they are, or each as a record; in order or
    shuffled; to one host or to several, of which each has its own."""
    files = [source.files[path] for path in sorted(source.files, key=os.fsencode)]
    if not files or None in files or not all(map(model.is_text, source.files)):
        raise Foreseen("not a tree of files")
    chance = chain.chance
    hosts, epochs, first = chance.choice([1, 1, 2, 3]), chance.choice([1, 2]), chance.choice([0, 4])
    shuffle, wrapped = chance.random() < 0.4, chance.random() < 0.7
    fed = []
    for host in range(hosts):
        words = ["pipe", source.argument, chain.new("pipes"), "--epochs", epochs]
        words += ["--first-epoch", first] if first else []
        words += ["--shuffle", "--seed", 3] if shuffle else []
        words += ["--record-wrapper", "recordio"] if wrapped else []
        words += ["--distribution", "sharded", "--host", host, "--hosts", hosts] if hosts > 1 else []
        fed.append(from_pipes(chain, words, range(first, first + epochs)))
    for epoch in range(epochs):
        streams = [of_host[epoch] for of_host in fed]
        if wrapped:
            found = [payload for stream in streams
                     for _, _, payload in decoders.recordio_frames(stream)]
            if hosts > 1 or shuffle:
                found, files = sorted(found), sorted(files)
            chain.equal(found == files, True, "the records of epoch %d" % epoch)
        elif hosts == 1 and not shuffle:
            chain.equal(streams[0] == b"".join(files), True, "the bytes of epoch %d" % epoch)
        else:
            chain.equal(sum(map(len, streams)), sum(map(len, files)), "the size of epoch %d" % epoch)


def from_pipes(chain, words, epochs):
    """The bytes of each pipe that the command feeds."""
    folder, found = chain.path(words[2]), []
    os.makedirs(folder)
    chain.note("sheaf", *words, "&")
    with subprocess.Popen([SHEAF, *map(str, words)], cwd=chain.folder, env=chain.env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as feeder:
        try:
            for epoch in epochs:
                pipe = os.path.join(folder, "train_%d" % epoch)
                while not os.path.exists(pipe) and feeder.poll() is None:
                    time.sleep(0.001)
                if not os.path.exists(pipe):
                    break
                with open(pipe, "rb") as stream:
                    found.append(stream.read())
            text = feeder.communicate(timeout=TIMEOUT)[1]
        finally:
            feeder.kill()
    if feeder.returncode != 0 or len(found) != len(epochs):
        chain.fail("sheaf pipe: status %d, %d epochs" % (feeder.returncode, len(found)),
                   text.decode(errors="replace")[-2000:])
    return found
