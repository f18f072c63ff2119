# SPDX-License-Identifier: MIT
"""Tars of other programs: Python's tarfile and GNU tar, in each of their formats, whole or compressed, with
directories and links between the files; and one with a sample that exceeds a limit in its middle."""

import gzip
import io
import os
import subprocess
import tarfile

import model
import readers
import trees
import writers
from chain import Foreseen, Shards

# By name: suffix, codec as the reader has it, and the program that compresses.
COMPRESSIONS = {"none": ("", "none"), "gzip": (".gz", "gzip"), "members": (".gz", "gzip"),
                "zstd": (".zst", "zstd"), "lz4": (".lz4", "lz4")}
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "pax": tarfile.PAX_FORMAT, "gnu": tarfile.GNU_FORMAT}
FIELDS_TOO_MANY = model.FIELDS_MOST + 1


def files_of(source):
    """Returns the files of each sample that can be packed."""
    planned = model.plan(source.files, source.entries, "webdataset")
    return [model.paths(sample) for sample in planned.samples]


def archive(chain, source):
    """Makes a directory of one to three tars, which becomes a thing of the chain."""
    chance = chain.chance
    samples = files_of(source)
    if not samples or source.folder is None:
        raise Foreseen("nothing for a tar")
    chance.shuffle(samples)
    folder, count = chain.new("foreign"), chance.choice([1, 1, 2, 3])
    os.makedirs(chain.path(folder))
    compression = chance.choice(["none", "none", "none", *COMPRESSIONS])
    suffix, codec = COMPRESSIONS[compression]
    names, found = [], []
    for number in range(count):
        files = [pair for sample in samples[number::count] for pair in sample]
        if chance.random() < 0.1:
            chance.shuffle(files)               # files of one sample that are not adjacent then make several samples
        raw = write(chain, source, files)
        names.append("t-%d.tar%s" % (number, suffix))
        found.append(readers.tar(raw))
        with open(chain.path(os.path.join(folder, names[-1])), "wb") as file:
            file.write(compressed(raw, compression))
    if not any(found):
        raise Foreseen("an empty tar")
    chain.things.append(Shards([folder], found, container="webdataset", codec=codec, is_set=False,
                               names=names, folder=folder))


def write(chain, source, files):
    """Returns the bytes of a tar of these files."""
    kind = chain.chance.choice(list(FORMATS))
    if chain.chance.random() < 0.4:
        return by_gnu_tar(chain, source, [path for path, _ in files], kind)
    chain.lines.append("# tarfile, format %s" % kind)
    return by_python(chain, files, kind)


def by_gnu_tar(chain, source, paths, kind):
    """Makes a tar with GNU tar, which leaves out names that do not fit into ustar."""
    words = ["tar", "-cf", "-", "--format", kind, "--no-recursion", "--null", "-T", "-"]
    chain.note(*words, "-C", source.folder)
    done = subprocess.run(words, cwd=chain.path(source.folder), check=False,
                          input=b"".join(os.fsencode(path) + b"\0" for path in paths),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in ((0, 2) if kind == "ustar" else (0,)):
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return done.stdout


def by_python(chain, files, kind):
    stream, chance = io.BytesIO(), chain.chance
    with tarfile.open(fileobj=stream, mode="w", format=FORMATS[kind]) as tar:
        for path, data in files:
            if chance.random() < 0.05:
                add_other(tar, chance.choice([tarfile.DIRTYPE, tarfile.SYMTYPE]))
            info = tarfile.TarInfo(path)
            info.size, info.mtime = len(data), chance.choice([0, 1, 1.5, 1 << 33])
            try:
                tar.addfile(info, io.BytesIO(data))
            except ValueError:
                continue                        # a name that ustar cannot split
    return stream.getvalue()


def add_other(tar, kind):
    """Adds a member that is not a file, and is skipped."""
    info = tarfile.TarInfo("between")
    info.type = kind
    info.linkname = "nowhere" if kind == tarfile.SYMTYPE else ""
    tar.addfile(info)


def compressed(raw, how):
    if how == "none":
        return raw
    if how == "gzip":
        return gzip.compress(raw, 1)
    if how == "members":
        half = len(raw) // 2
        return gzip.compress(raw[:half]) + gzip.compress(raw[half:])
    return subprocess.run([how, "-q", "-c"], input=raw, stdout=subprocess.PIPE, check=True).stdout


# ---- Records -----------------------------------------------------------------------------------

def records(chain, source):
    """Makes TFRecords with other names of features, as other programs write them."""
    planned = model.plan(source.files, source.entries, "tfrecord")
    if not planned.samples:
        raise Foreseen("nothing for a record")
    chance, folder, found = chain.chance, chain.new("records"), []
    names, how = [], chance.choice(["none", "none", "gzip"])
    label = chance.choice(["label", "label/id", "objects/class/label"])
    samples = chance.sample(planned.samples, len(planned.samples))
    count = chance.choice([1, 2])
    for number in range(count):
        payloads = [payload_of(sample, label, chance) for sample in samples[number::count]]
        raw = writers.tfrecord(payloads)
        found.append(readers.tfrecord(raw))
        names.append("r-%05d.tfrecord%s" % (number, ".gz" if how == "gzip" else ""))
        trees.write(chain.path(folder), {names[-1]: compressed(raw, how)})
    chain.lines.append("# %s: records with a feature %s" % (folder, label))
    chain.things.append(Shards([folder], found, container="tfrecord", codec=how, is_set=False,
                               names=names, folder=folder))


def payload_of(sample, label, chance):
    """Returns some fields as features with slashes in their names, and a number."""
    features = {"__key__": [sample.key.encode()]}
    for suffix, data in sample.fields:
        features[suffix if model.lower(suffix) == "cls" else "data/" + suffix] = [data]
    features[label] = [chance.randrange(5)]
    if chance.random() < 0.3:
        features["box/numbers"] = [chance.randrange(-9, 900) for _ in range(4)]
    return writers.example(dict(sorted(features.items(), key=lambda item: item[0].encode())))


# ---- Limits ------------------------------------------------------------------------------------

def limit(chain, source):
    """Puts a sample with too many fields among others. None of the others may be lost silently."""
    samples = files_of(source)
    if len(samples) < 2 or source.folder is None:
        raise Foreseen("no middle")
    at = chain.chance.randrange(1, len(samples))
    wide = [("__wide__x/wide.f%04d" % n, b"%d" % n) for n in range(FIELDS_TOO_MANY)]
    before = [pair for sample in samples[:at] for pair in sample]
    after = [pair for sample in samples[at:] for pair in sample]
    name = chain.new("limit") + ".tar"
    with open(chain.path(name), "wb") as file:
        file.write(by_python(chain, before + wide + after, "pax"))
    first = readers.tar(by_python(chain, before, "pax"))
    rest = readers.tar(by_python(chain, after, "pax"))
    check_limit(chain, name, first, rest)


def check_limit(chain, name, first, rest):
    words = ["cat", name, "--list", "--no-shuffle"]
    lines = [model.listing(sample) for sample in first]
    done = chain.sheaf(*words, status=1, says=[name])
    found = done.stdout.decode().splitlines()
    chain.equal(found, lines[:len(found)], "the samples before the limit")
    done = chain.sheaf(*words, "--on-corrupt", "skip")
    chain.equal(done.stdout.decode().splitlines(),
                lines + [model.listing(sample) for sample in rest], "the samples but for one")
    if b"1 corrupt record skipped" not in done.stderr:
        chain.fail("the sample that was left out is not counted:", done.stderr.decode()[-1000:])
    for words in (["convert", name, chain.new("set"), "--format", "tfrecord"],
                  ["unpack", name, chain.new("tree")], ["verify", name]):
        chain.sheaf(*words, status=1, says=[name])
