# SPDX-License-Identifier: MIT
"""The index files of other readers, read by the rules of these readers, and compared with the shards as tarfile and
the decoders find them."""

import io
import json
import os
import struct
import tarfile

import decoders
import model
import readers

READERS = {"webdataset": ["wids", "dali", "energon", "wids,energon", "dali,wids,energon"],
           "tfrecord": ["dali"], "recordio": ["mxnet", "dali", "dali,mxnet"]}


def choose(chance, container, codec, share):
    """Returns some of the readers, or None."""
    if codec != "none" or chance.random() >= share:
        return None
    return chance.choice(READERS[container])


def options(peers):
    return ["--index", peers] if peers else []


# ---- What they cannot read -------------------------------------------------------------------

def refuses(peers, container, samples):
    """Returns whether a tar of ours would have names that one of the readers misreads."""
    if not peers or container != "webdataset":
        return False
    members = [name for sample in samples for name, _ in members_of(sample)]
    return misread(peers, members, [len(os.fsencode(name)) <= 100 for name in members])


def members_of(sample):
    made = model.made_cls(sample)
    return model.paths(sample) + ([("%s.%s" % (sample.key, made[0]), made[1])] if made else [])


def misread(peers, names, is_plain):
    """is_plain: for each name, whether all of it is in the first 100 bytes of its header."""
    if "wids" in peers and not all(is_plain):
        return True
    return "dali" in peers and any(" " in model.key_of(name)[1] for name in names)


def refuses_tars(peers, raws):
    """Returns the same for tars of other programs."""
    for raw in raws:
        members = files_of(raw)
        if misread(peers, [member.name for member in members],
                   [is_plain(raw, member) for member in members]):
            return True
    return False


def files_of(raw):
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:", ignore_zeros=True) as tar:
        return [member for member in tar if member.isreg()]


def is_plain(raw, member):
    return member.offset_data - member.offset == 512 and \
        header_name(raw, member) == os.fsencode(member.name)


def header_name(raw, member):
    """Returns the name that a reader finds that looks only at this field."""
    return raw[member.offset_data - 512:][:100].rstrip(b"\0")


# ---- What they find --------------------------------------------------------------------------

def check(folder, held, peers, split="train"):
    """Raises decoders.Bad if an index file is not what its reader needs. held: a readers.Found."""
    before = 0
    for name, samples in zip(held.names, held.shards):
        raw = readers.read(os.path.join(folder, name))
        stem = os.path.join(folder, name[:name.rindex(".")])
        if held.container == "webdataset":
            check_tar(folder, name, raw, samples, peers)
        elif held.container == "tfrecord":
            check_dali_tfrecord(stem + ".idx", raw)
        else:
            numbers = held.ids[held.names.index(name)] if held.ids is not None else \
                range(before, before + len(samples))
            check_mxnet(stem + ".idx", raw, list(numbers))
        before += len(samples)
    if "wids" in peers:
        check_shard_index(folder, held)
    if "energon" in peers:
        check_metadata(folder, held, split)


def check_tar(folder, name, raw, samples, peers):
    groups = []
    for member in files_of(raw):
        key = model.key_of(member.name)[0]
        if not groups or groups[-1][0] != key:
            groups.append((key, []))
        groups[-1][1].append(member)
    decoders.need([key for key, _ in groups] == [sample.key for sample in samples], "keys of", name)
    if "wids" in peers:
        for _, members in groups:
            for member in members:
                decoders.need(header_name(raw, member) == os.fsencode(member.name), "wids reads",
                              header_name(raw, member), "for", member.name)
    if "dali" in peers:
        check_dali_tar(os.path.join(folder, name[:-len(".tar")] + ".idx"), raw, groups)
    if "energon" in peers:
        check_energon(os.path.join(folder, name + ".idx"), raw, groups)


def check_dali_tar(path, raw, groups):
    """Checks DALI's index: a head, and a line for each sample. The words of a line come in threes, or in fours with
    the member's name."""
    head, *lines = readers.read(path).decode().split("\n")
    decoders.need(lines.pop() == "" and len(lines) == len(groups), "lines of", path)
    has_blank = any(" " in member.name for _, members in groups for member in members)
    decoders.need(head == "v1.%d %d" % (1 if has_blank else 2, len(groups)), "head of", path, head)
    for line, (_, members) in zip(lines, groups):
        expected = []
        for member in members:
            expected += [model.key_of(member.name)[1], str(member.offset_data), str(member.size)]
            expected += [] if has_blank else [member.name]
            data = raw[member.offset_data:member.offset_data + member.size]
            decoders.need(len(data) == member.size, "size of", member.name)
        decoders.need(line.split(" ") == expected, "line of", path, line, expected)


def check_energon(path, raw, groups):
    """Checks Energon's index: where each sample begins, including headers, and where the last one ends."""
    found = [offset for (offset,) in struct.iter_unpack("<Q", readers.read(path))]
    decoders.need(len(found) == len(groups) + 1, "offsets of", path)
    for first, last, (key, members) in zip(found, found[1:], groups):
        decoders.need(first <= members[0].offset and
                      members[-1].offset_data + members[-1].size <= last, "sample", key, "of", path)
        part = readers.tar(raw[first:last] + bytes(1024))
        decoders.need([sample.key for sample in part] == [key], "sample", key, "by", path)


def check_dali_tfrecord(path, raw):
    expected = ["%d %d" % (offset, 16 + len(payload))
                for offset, payload in decoders.tfrecord_frames(raw)]
    decoders.need(readers.read(path).decode().split("\n") == expected + [""], "lines of", path)


def check_mxnet(path, raw, numbers):
    expected = ["%d\t%d" % (number, offset) for number, (offset, _, _) in
                zip(numbers, decoders.recordio_frames(raw))]
    decoders.need(readers.read(path).decode().split("\n") == expected + [""], "lines of", path)


def document(folder, *names):
    return json.loads(readers.read(os.path.join(folder, *names)))


def check_shard_index(folder, held):
    found = document(folder, "shardindex.json")
    decoders.need((found["__kind__"], found["wids_version"]) == ("wids-shard-index-v1", 1), found)
    decoders.need([(shard["url"], shard["nsamples"], shard["filesize"])
                   for shard in found["shardlist"]] ==
                  [(name, len(samples), os.path.getsize(os.path.join(folder, name)))
                   for name, samples in zip(held.names, held.shards)], "shardindex.json")


def check_metadata(folder, held, split):
    decoders.need(document(folder, ".nv-meta", ".info.json") == {"shard_counts": {
        name: len(samples) for name, samples in zip(held.names, held.shards)}}, ".info.json")
    decoders.need(document(folder, ".nv-meta", "split.yaml") == {
        "split_parts": {split: held.names}, "exclude": []}, "split.yaml")
    decoders.need(b"CrudeWebdataset" in readers.read(os.path.join(
        folder, ".nv-meta", "dataset.yaml")), "dataset.yaml")
