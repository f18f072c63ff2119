# SPDX-License-Identifier: MIT
"""Named pipes that `sheaf pipe` writes: of a tree, a prefix, either kind of manifest, one object, or the shards of a
data set; unchanged, decompressed or as records; in order or shuffled; for one host or several. The decoders read the
pipes, and `sheaf cat` reads them as a channel."""

import contextlib
import gzip
import json
import os
import subprocess
import time

import decoders
import meter
import model
import steps_channel
import steps_copy
import trees
from augmented import Augmented
from chain import SHEAF, TIMEOUT, Foreseen


# ---- The command -----------------------------------------------------------------------------

@contextlib.contextmanager
def feeding(chain, words, says=None):
    """Runs `sheaf pipe` in the background. says: words of which its error must contain one. None: it succeeds."""
    chain.note("sheaf", *words, "&")
    with subprocess.Popen([SHEAF, *map(str, words)], cwd=chain.folder, env=chain.env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as feeder:
        try:
            yield feeder
            feeder.errors = feeder.communicate(timeout=TIMEOUT)[1]
        except subprocess.TimeoutExpired:
            chain.fail("sheaf pipe does not end")
        finally:
            feeder.kill()
    done = subprocess.CompletedProcess(words, feeder.returncode, b"", feeder.errors)
    chain.check_status(done, words, 0 if says is None else 1, says or ())


def from_pipes(chain, words, epochs, says=None):
    """Returns the bytes of each pipe. If the command fails, there are fewer."""
    folder, found, metrics = chain.path(words[2]), [], meter.Meter(chain)
    os.makedirs(folder)
    words = [*words, *metrics.words()]
    with feeding(chain, words, says) as feeder:
        for epoch in epochs:
            pipe = os.path.join(folder, "train_%d" % epoch)
            while not os.path.exists(pipe) and feeder.poll() is None:
                time.sleep(0.001)
            if not os.path.exists(pipe):
                break
            with open(pipe, "rb") as stream:
                found.append(stream.read())
    if says is None:
        chain.equal(len(found), len(epochs), "the pipes")
        metrics.check(epochs=len(epochs), bytes=sum(map(len, found)))
    else:
        metrics.check(feeder.returncode)
    return found


class Fed:
    """Options, and the expected content. `units` is a list of lists of contents that stay together: an object, or the
    contents of one line."""

    def __init__(self, chain, units):
        chance = chain.chance
        self.chain, self.units = chain, units
        self.hosts, self.count = chance.choice([1, 1, 2, 3]), chance.choice([1, 2])
        self.first = chance.choice([0, 4])
        self.shuffle, self.wrapped = chance.random() < 0.4, chance.random() < 0.7

    def options(self, host):
        words = ["--epochs", self.count]
        words += ["--first-epoch", self.first] if self.first else []
        words += ["--shuffle", "--seed", 3] if self.shuffle else []
        words += ["--record-wrapper", "recordio"] if self.wrapped else []
        words += self.chain.chance.choice([[], ["--memory", "64MiB"]])
        if self.hosts > 1:
            words += ["--distribution", "sharded", "--host", host, "--hosts", self.hosts]
        return words

    def check(self, source, *more):
        """Writes the pipes for each host, and compares."""
        epochs = range(self.first, self.first + self.count)
        fed = [from_pipes(self.chain, ["pipe", source, self.chain.new("pipes"),
                                       *self.options(host), *more], epochs)
               for host in range(self.hosts)]
        for epoch in range(self.count):
            self.check_epoch([of_host[epoch] for of_host in fed], "epoch %d" % epoch)

    def check_epoch(self, streams, what):
        equal = self.chain.equal
        if not self.shuffle:
            for host, stream in enumerate(streams):
                own = [part for unit in self.units[host::self.hosts] for part in unit]
                found = self.parts(stream)
                equal(found == own if self.wrapped else stream == b"".join(own), True,
                      "the bytes of %s, host %d" % (what, host))
            return
        equal(sum(map(len, streams)) if not self.wrapped else 0,
              sum(len(part) for unit in self.units for part in unit) if not self.wrapped else 0,
              "the size of %s" % what)
        if self.wrapped:
            size = len(self.units[0])
            found = []
            for host, stream in enumerate(streams):
                parts = self.parts(stream)
                own = [parts[at:at + size] for at in range(0, len(parts), size)]
                equal(len(own), len(self.units[host::self.hosts]), "the units of host %d" % host)
                found += own
            equal(sorted(found) == sorted(self.units), True, "the records of %s" % what)

    def parts(self, stream):
        """Returns the records of a stream."""
        if not self.wrapped:
            return None
        return [payload for _, _, payload in decoders.recordio_frames(stream)]


# ---- What is fed -----------------------------------------------------------------------------

def feed(chain, source):
    """Writes the files of a tree to pipes."""
    if not source.files or None in source.files.values() or \
            not all(map(model.is_text, source.files)):
        raise Foreseen("not a tree of files")
    files = [source.files[path] for path in sorted(source.files, key=os.fsencode)]
    if chain.chance.random() < 0.3:
        return unpacked(chain, source.files)
    return Fed(chain, [[data] for data in files]).check(source.argument)


def unpacked(chain, files):
    """Writes files that are gzip streams of one or two members, and one that is not a gzip stream."""
    chance, folder = chain.chance, chain.new("zipped")
    packed = {path: zipped(chance, data) for path, data in files.items()}
    trees.write(chain.path(folder), packed)
    chain.lines.append("# %s: each file of the tree, gzipped" % folder)
    if chance.random() < 0.3:
        bad = chance.choice(sorted(files))
        with open(os.path.join(os.fsencode(chain.path(folder)), os.fsencode(bad)), "wb") as file:
            file.write(chance.choice([packed[bad][:-1], packed[bad] + b"more", b"plain", b""]))
        chain.lines.append("# but %s" % ascii(bad))
        words = ["pipe", folder, chain.new("pipes"), "--epochs", 1, "--compression", "gzip"]
        from_pipes(chain, words, [0], [bad])
        return
    names = sorted(files, key=os.fsencode)
    Fed(chain, [[files[name]] for name in names]).check(folder, "--compression", "gzip")


def zipped(chance, data):
    if chance.random() < 0.3:
        half = len(data) // 2
        return gzip.compress(data[:half], 1) + gzip.compress(data[half:], 1)
    return gzip.compress(data, chance.choice([0, 1, 9]))


def feed_objects(chain, source):
    """Writes the objects of a prefix or of a manifest, or the attributes of an augmented manifest."""
    if isinstance(source, Augmented):
        return feed_lines(chain, source)
    missing = [path for path, _ in source.entries if source.files.get(path) is None]
    if source.kind == "manifest":
        names = [path for path, _ in source.entries]
    else:
        names = sorted(source.files, key=os.fsencode)
    if missing:
        words = ["pipe", source.argument, chain.new("pipes"), "--epochs", 1]
        chain.sheaf(*words, status=1, says=list(map(model.printable, missing)))
        raise Foreseen("a missing object")
    if not names:
        raise Foreseen("no objects")
    return Fed(chain, [[source.files[name]] for name in names]).check(source.argument)


def wanted(chain, source):
    """Returns some attributes, and the content of each line for them: the object's content, the text of a string, or
    the JSON of any other value."""
    if source.has_bad:
        chain.sheaf("pipe", source.argument, chain.new("pipes"), "--attributes", "x",
                    "--epochs", 1, status=1, says=["line "])
        raise Foreseen("a bad line")
    names = set.intersection(*[{attribute.name for attribute in attributes}
                               for _, attributes in source.lines])
    names = sorted(name for name in names if "," not in name)
    if not names:
        raise Foreseen("no attribute that all lines have")
    names = chain.chance.sample(names, chain.chance.randrange(len(names)) + 1)
    units = []
    for _, attributes in source.lines:
        by_name = {attribute.name: attribute for attribute in attributes}
        units.append([content(source, by_name[name]) for name in names])
    return names, units


def content(source, attribute):
    """Returns None if the object does not exist."""
    if attribute.kind == "object":
        return source.objects.get(attribute.value)
    value = json.loads(attribute.value)
    return value.encode() if isinstance(value, str) else attribute.value.encode()


def feed_lines(chain, source):
    names, units = wanted(chain, source)
    more = ["--attributes", ",".join(names)]
    if any(None in unit for unit in units):
        chain.sheaf("pipe", source.argument, chain.new("pipes"), "--epochs", 1, *more, status=1,
                    says=["missing/"])
        raise Foreseen("a missing object")
    Fed(chain, units).check(source.argument, *more)


# ---- Read as a channel -----------------------------------------------------------------------

def without_key(line):
    return line.partition("\t")[2]


def pipe_mode(chain, shards):
    """Reads shards through one named pipe, epoch after epoch, decompressed on the way or not. The samples must be
    those that a reader finds without the manifest. RecordIO's keys are those of the pipe."""
    if not shards.samples or shards.folder is None:
        raise Foreseen("nothing for a pipe")
    chance, root, epochs = chain.chance, chain.new("ml"), chain.chance.choice([1, 2])
    found = steps_copy.as_bare(shards) if shards.is_set else shards.shards
    expected = [sample for shard in found for sample in shard]
    if any(a.key == b.key for a, b in zip(expected, expected[1:])):
        raise Foreseen("two that are one where shards meet")
    words = ["pipe", shards.folder, steps_channel.configure(chain, root, TrainingInputMode="Pipe"),
             "--epochs", epochs]
    words += ["--compression", "gzip"] if shards.codec == "gzip" and chance.random() < 0.5 else []
    lines = [model.listing(sample) for sample in expected]
    clean = (lambda line: line) if shards.container != "recordio" else without_key
    with feeding(chain, words):
        for epoch in range(epochs):
            order, by_number = chance.choice([(["--no-shuffle"], True), (["--seed", 5], False)])
            done = chain.sheaf("cat", "--channel", "train", "--channel-root", root, "--list",
                               "--channel-wait", 60, "--epoch", epoch, *order)
            given = list(map(clean, done.stdout.decode().splitlines()))
            want = list(map(clean, lines))
            chain.equal(given if by_number else sorted(given), want if by_number else sorted(want),
                        "a pipe, epoch %d" % epoch)


def pipe_lines(chain, source):
    """Reads augmented lines as records and samples. An object is named by its kind, or by its attribute. `label`, or
    else `class`, is the label."""
    names, units = wanted(chain, source)
    if any(None in unit for unit in units):
        raise Foreseen("a missing object")
    root, chance = chain.new("ml"), chain.chance
    in_config = chance.random() < 0.5
    entry = {"AttributeNames": names} if in_config else {}
    pipes = steps_channel.configure(chain, root, TrainingInputMode="Pipe",
                                    RecordWrapperType="RecordIO", **entry)
    words = ["pipe", source.argument, pipes, "--epochs", 1, "--record-wrapper", "recordio",
             "--attributes", ",".join(names)]
    samples = [sample_of(names, unit) for unit in units]
    twice = any(len(set(model.field_names(sample))) < len(sample.fields) for sample in samples)
    with feeding(chain, words):
        done = chain.sheaf("cat", "--channel", "train", "--channel-root", root, "--list",
                           "--channel-wait", 60, "--no-shuffle",
                           *([] if in_config else ["--attributes", ",".join(names)]),
                           status=1 if twice else 0, says=["two fields named"])
    if twice:
        raise Foreseen("one name twice")
    lines = [without_key(model.listing(sample)) for sample in samples]
    given = done.stdout.decode().splitlines()
    chain.equal(list(map(without_key, given)), lines, "augmented lines from a pipe")
    chain.equal(len({line.partition("\t")[0] for line in given}), len(lines), "different keys")


def sample_of(names, unit):
    """Returns the sample of a line's records."""
    label = next((name for name in ("label", "class") if name in names), None)
    fields, labels = [], ()
    for name, data in zip(names, unit):
        if name.endswith("-ref") and name != "-ref":
            suffix, name = model.sniff(data), name[:-len("-ref")]
            if suffix is not None:
                name = suffix if suffix not in dict(fields) else name + "." + suffix
        elif name == label:
            numbers = decoders.parse_labels(data.strip(b"[]"))
            if numbers:
                labels = tuple(numbers)
                continue
        fields.append((name, data))
    return model.Sample("x", tuple(sorted(fields, key=lambda field: field[0].encode())), labels,
                        None)
