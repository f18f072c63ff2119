# SPDX-License-Identifier: MIT
"""Reads data sets, shards without a manifest, streams and trees without the library."""

import collections
import io
import json
import os
import struct
import tarfile

import decoders
import model
import writers
from model import Sample
from support import SUFFIX, read, tree_of     # pylint: disable=unused-import

# shards: a list of samples for each shard. names: of the shard files. ids: the numbers of RecordIO's records (in the
# plan, in which skipped samples keep their numbers). texts: the classes that TFRecord's records name.
Found = collections.namedtuple(
    "Found", "shards names ids texts classes base container codec manifest")


# ---- Data sets -------------------------------------------------------------------------------

class _Ours(decoders.DataSet):
    """A data set that was packed. Some RecordIO ids may be missing."""

    def ids(self, number):
        if self.container != "recordio":
            return list(range(len(self.sections[number].sizes)))
        return [struct.unpack_from("<Q", payload, 8)[0]
                for _, _, payload in decoders.recordio_frames(self._raw(number))]

    def _samples(self, number):
        if self.container != "tfrecord":
            return super()._samples(number)
        return [record(payload) for _, payload in decoders.tfrecord_frames(self._raw(number))]

    def _check_frames(self, raw, number, first):
        if self.container != "recordio":
            return super()._check_frames(raw, number, first)
        name = self.manifest["shards"][number]["name"]
        stem, ids = name[:name.rindex(".rec")], self.ids(number)
        offsets = [offset for offset, _, _ in decoders.recordio_frames(raw)]
        decoders.need(ids == sorted(set(ids)) and (not ids or ids[0] >= first), "ids of", name, ids)
        decoders.need(self.read(stem + ".idx").decode() == "".join(
            "%d\t%d\n" % pair for pair in zip(ids, offsets)), "the .idx of", name)
        lines = self._lines(number)
        decoders.need([int(line.split(b"\t")[0]) for line in lines] == ids, "the .lst of", name)
        decoders.need([len(line) for line in lines] == self.sections[number].names and
                      sum(map(len, lines)) == self.manifest["shards"][number]["names_bytes"],
                      "lines of", name)
        return offsets + [len(raw)]


class _Foreign(decoders.DataSet):
    """A data set that was indexed. Its shards are read like foreign shards."""

    def _samples(self, number):
        return foreign(self._raw(number), self.container,
                       self.manifest["shards"][number]["name"])


def data_set(folder):
    """Reads a data set and its index, and checks them by the rules of the formats."""
    with open(os.path.join(folder, "dataset.json"), encoding="utf-8") as file:
        is_foreign = json.load(file)["foreign"]
    held = _Foreign(folder) if is_foreign else _Ours(folder)
    manifest = held.manifest
    classes, base = manifest["classes"], manifest["label_base"]
    names = [shard["name"] for shard in manifest["shards"]]
    ids = texts = None
    if is_foreign:
        shards = held.shards()
        _check_counts(manifest, shards)
    else:
        held.check()
        shards = [[_named(sample, classes, base) for sample in shard] for shard in held.shards()]
        texts = _texts(held, shards)
        ids = [held.ids(number) for number in range(len(shards))]
    return Found(shards, names, ids, texts, classes, base, held.container, held.codec, manifest)


def _check_counts(manifest, shards):
    for shard, samples in zip(manifest["shards"], shards):
        decoders.need(shard["samples"] == len(samples), "samples of", shard, len(samples))
        decoders.need(shard["payload_bytes"] == model.payload(samples), "payload of", shard)


def _named(sample, classes, base):
    fields = tuple(sorted(sample.fields.items(), key=lambda field: field[0].encode()))
    labels = tuple(float(label) for label in sample.labels)
    return Sample(sample.key, fields, labels, model.class_of(labels, classes, base))


def _texts(held, shards):
    """A TFRecord names the class, except if the label is the sample's own."""
    if held.container != "tfrecord":
        return [[sample.name for sample in samples] for samples in shards]
    texts = []
    for number, samples in enumerate(shards):
        frames = decoders.tfrecord_frames(held._raw(number))    # pylint: disable=protected-access
        texts.append([class_text(decoders.example(payload)) for _, payload in frames])
        for text, sample in zip(texts[-1], samples):
            decoders.need(text == sample.name or text is None and "cls" in
                          model.field_names(sample), "class text of", sample.key)
    return texts


def class_text(features):
    kind, values = features.get("image/class/text", ("bytes", [None]))
    decoders.need(kind == "bytes" and len(values) == 1, "image/class/text", values)
    return None if values[0] is None else values[0].decode()


# ---- Shards without a manifest ---------------------------------------------------------------

def foreign(raw, container, name):
    """Returns the samples in a shard's raw bytes, as a reader finds them that knows nothing else."""
    if container == "webdataset":
        return tar(raw)
    if container == "tfrecord":
        return tfrecord(raw)
    return recordio(raw, os.path.basename(name).partition(".")[0])


def tar(raw):
    groups = []
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:", ignore_zeros=True) as archive:
        for member in archive:
            if not member.isreg():
                continue
            key, suffix = model.key_of(member.name)
            if not groups or groups[-1][0] != key:
                groups.append((key, []))
            groups[-1][1].append((suffix, archive.extractfile(member).read()))
    return [_tar_sample(key, fields) for key, fields in groups]


def _tar_sample(key, fields):
    labels = ()
    for suffix, data in fields:
        if model.lower(suffix) == "cls" or suffix == "__label__":
            labels = tuple(decoders.parse_labels(data) or labels)
    fields = [field for field in fields if field[0] != "__label__"]
    return Sample(key, tuple(sorted(fields, key=lambda f: f[0].encode())), labels, None)


def tfrecord(raw):
    samples = []
    for _, payload in decoders.tfrecord_frames(raw):
        sample = record(payload)
        fields = tuple(sorted(sample.fields.items(), key=lambda f: f[0].encode()))
        samples.append(Sample(sample.key, fields, tuple(sample.labels),
                              class_text(decoders.example(payload))))
    return samples


def record(payload):
    """Reads the record of any program. Features with slashes in their names, or with numbers, are fields with text.
    """
    features = decoders.example(payload)
    own = {name for name, (kind, _) in features.items()
           if ("/" in name or kind != "bytes") and not name.startswith("image/")}
    if not own:
        return decoders.tfrecord_sample(payload)
    sample = decoders.tfrecord_sample(writers.example(
        {name: values for name, (_, values) in features.items() if name not in own}))
    for name in own:
        kind, values = features[name]
        sample.fields[name.replace("/", ".")] = b"\n".join(values) if kind == "bytes" else \
            " ".join(map(str, values)).encode()
    return sample


def recordio(raw, stem):
    samples = []
    for record, (_, _, payload) in enumerate(decoders.recordio_frames(raw)):
        samples.append(record_sample(payload, "%s/%08d" % (stem, record)))
    return samples


def record_sample(payload, key):
    """Reads a foreign record. If its content is of no known kind, it is one field, including the header."""
    count = struct.unpack_from("<I", payload)[0] if len(payload) >= 24 else 0
    content = payload[24 + 4 * count:]
    if len(payload) < 24 + 4 * count or \
            not (model.sniff(content) or content.endswith(b"sheafrec")):
        return Sample(key, ((model.sniff(payload) or "data", payload),), (), None)
    labels = struct.unpack_from("<%df" % count, payload, 24) or \
        struct.unpack_from("<f", payload, 4)
    try:
        fields = decoders.recordio_fields(content)
    except (decoders.Bad, struct.error, UnicodeDecodeError):
        fields = None
    if fields is None:
        fields = [(model.sniff(content) or "data", content)]
    return Sample(key, tuple(sorted(fields, key=lambda f: f[0].encode())), tuple(labels), None)


# ---- Differences -----------------------------------------------------------------------------

def difference(found, expected, ordered=True):
    """Returns the difference of two lists of samples in a few lines, or an empty text."""
    if found == expected or (not ordered and
                             collections.Counter(found) == collections.Counter(expected)):
        return ""
    missing = list((collections.Counter(expected) - collections.Counter(found)).elements())
    surplus = list((collections.Counter(found) - collections.Counter(expected)).elements())
    lines = ["%d samples found, %d expected" % (len(found), len(expected))]
    lines += ["missing: " + brief(sample) for sample in missing[:3]]
    lines += ["surplus: " + brief(sample) for sample in surplus[:3]]
    if not missing and not surplus:
        at = next(i for i, pair in enumerate(zip(found, expected)) if pair[0] != pair[1])
        lines.append("another order from sample %d: %s in place of %s" %
                     (at, brief(found[at]), brief(expected[at])))
    return "\n".join(lines)


def brief(sample):
    fields = ["%s: %d bytes %s" % (suffix, len(data), data[:16].hex())
              for suffix, data in sample.fields[:4]]
    return "%r labels %s name %r {%s}" % (sample.key, list(sample.labels)[:6], sample.name,
                                         ", ".join(fields))
