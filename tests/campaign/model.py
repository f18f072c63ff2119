# SPDX-License-Identifier: MIT
"""Computes what the commands must do: the rules of the formats' and the commands' manuals, written a second time. The
model never looks at the output of the commands."""

import collections
import os
import re
import struct

import xxhash

import decoders
import pictures
from trees import lower

# fields: (suffix, bytes) in byte order of suffix. labels: floats. name: the name of the class, or None.
Sample = collections.namedtuple("Sample", "key fields labels name")

FIELDS_MOST = 1024
PATH_MOST = 4096

BAD_LINE = object()     # in place of a label: this entry is an invalid line of a list
LATE = object()         # in place of bytes: a file that is listed but cannot be read


# ---- Names -----------------------------------------------------------------------------------

def is_text(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return not re.search("[\x00-\x1f\x7f]", text)


def is_dunder(text):
    return len(text) >= 4 and text.startswith("__") and text.endswith("__")


def name_is_bad(path):
    """Returns whether the containers, or their usual readers, cannot take a path."""
    if not path or len(os.fsencode(path)) > PATH_MOST or not is_text(path):
        return True
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts) or is_dunder(parts[0]):
        return True
    stem, _, suffix = parts[-1].partition(".")
    return not stem or not suffix or is_dunder(suffix)


def is_clutter(path):
    """Returns whether a tree or prefix ignores a path."""
    *folders, name = path.split("/")
    return any(folder.startswith(".") for folder in folders) or name == ".DS_Store" or \
        name.startswith("._") or name.lower() in ("thumbs.db", "desktop.ini")


def key_of(path):
    folder, slash, base = path.rpartition("/")
    stem, _, suffix = base.partition(".")
    return folder + slash + stem, suffix


def printable(path):
    """Returns a path as it is printed in a report, as one line of text."""
    text = is_text(path)
    return b"".join(b"\\x%02x" % byte if byte < 0x20 or byte in b"\x7f\\" or
                    (byte >= 0x80 and not text) else bytes([byte])
                    for byte in os.fsencode(path)).decode()


# ---- Packing ---------------------------------------------------------------------------------

# classes: names in order of number. skipped: paths with counts, because a list may name one twice. early: those of
# them that were found before a file was read. known: those of samples that the data set of an append already has.
# converted: {path: why} of the images of samples that were converted. payload: the bytes of the samples' files, as
# they are in the source.
Planned = collections.namedtuple("Planned", "samples classes skipped early known converted payload")


def fits_float(label):
    return struct.unpack("<f", struct.pack("<f", label))[0] == label


def labels_do_not_fit(labels, container):
    """Returns whether labels do not fit. A RecordIO header has 32-bit floats, and so has an Example's list with a
    fraction in it."""
    if container == "webdataset" or (container == "tfrecord" and
                                     all(label == int(label) for label in labels)):
        return False
    return not all(map(fits_float, labels))


def _group_is_bad(group):
    names = [lower(suffix) for suffix, _, _, _ in group]
    labels = [label for _, _, _, label in group if label is not None]
    return (len(group) > FIELDS_MOST or len(set(names)) < len(names) or
            any(data is None for _, _, data, _ in group) or
            any(label != labels[0] for label in labels))


def at_depth(entries, depth):
    """Returns the entries with the first `depth` parts of their directory as the class. 0: all parts."""
    return [(path, "/".join(label.split("/")[:depth]) if depth and isinstance(label, str) else label)
            for path, label in entries]


def plan(files, entries, container, base=0, known=None, images=pictures.PLAIN, given=None):
    """entries: [(path, None | name of a class | tuple of numbers)] of the source. given: the names of all classes, in
    the order of their numbers. known: (classes, keys) of the data set of an append, and the keys of the other splits
    of its data."""
    old_classes, old_keys, other_keys = known or ([], (), ())
    skipped, in_set, groups = collections.Counter(), collections.Counter(), {}
    for path, label in entries:
        if label is BAD_LINE or name_is_bad(path):
            skipped[path] += 1
            continue
        key, suffix = key_of(path)
        groups.setdefault(key, []).append((suffix, path, files.get(path), label))
    kept, names = [], set()
    for key, group in groups.items():
        if _group_is_bad(group) or key in old_keys or key in other_keys:
            skipped.update(path for _, path, _, _ in group)
            if not _group_is_bad(group) and key in old_keys:
                in_set.update(path for _, path, _, _ in group)
            continue
        own = [data for suffix, _, data, _ in group if lower(suffix) == "cls"]
        label = next((g[3] for g in group if g[3] is not None), None)
        kept.append((key, group, label, own))
    # If a file cls has numbers, they are the label. If it has a word, the label comes from elsewhere: from the
    # directory, if some sample without cls has such a label, or if no cls has numbers.
    looked = [own[0] is LATE or bool(decoders.parse_labels(own[0]))
              for _, _, label, own in kept if own and label is not None]
    elsewhere = any(not own and label is not None for _, _, label, own in kept) or \
        bool(looked) and not any(looked)
    for i, (key, group, label, own) in enumerate(kept):
        if isinstance(label, str) and (not own or elsewhere):
            names.add(label)
        numbers = () if not own or own[0] is LATE else \
            tuple(decoders.parse_labels(own[0]) or ())
        if own and (numbers or not elsewhere):
            label = numbers
        kept[i] = (key, group, label)
    early = collections.Counter(skipped)
    classes = list(given) if given else old_classes + sorted(names - set(old_classes), key=os.fsencode)
    if known:
        check_labels(kept, old_classes, classes, base, old_keys)
    samples, converted, payload_bytes = [], {}, 0
    for key, group, label in kept:
        name = label if isinstance(label, str) else None
        numbers = (float(classes.index(name) + base),) if name is not None else label or ()
        if name is None:
            name = class_of(numbers, classes, base)
        made = [(None, "") if data is LATE else images.treat(suffix, data)
                for suffix, _, data, _ in group]
        if any(data is None for data, _ in made) or labels_do_not_fit(numbers, container):
            skipped.update(path for _, path, _, _ in group)
            continue
        converted.update({file[1]: why for file, (_, why) in zip(group, made) if why})
        payload_bytes += sum(len(data) for _, _, data, _ in group)
        fields = tuple(sorted(((file[0], data) for file, (data, _) in zip(group, made)),
                              key=lambda field: field[0].encode()))
        samples.append(Sample(key, fields, tuple(numbers), name))
    return Planned(samples, classes, skipped, early, in_set, converted, payload_bytes)


class Unlike(Exception):
    """The labels differ in kind from those of the data set of an append."""


def check_labels(kept, old_classes, classes, base, old_keys):
    for _, group, label in kept:
        if isinstance(label, str) and not old_classes and old_keys:
            raise Unlike("have no names")
        has_own = any(lower(suffix) == "cls" for suffix, _, data, _ in group if data is not LATE)
        if label and not isinstance(label, str) and not has_own and old_classes and \
                (len(label) != 1 or not label[0] - base in range(len(classes))):
            raise Unlike("labels have names")


def class_of(labels, classes, base):
    """Returns the name of a label that is the number of a class."""
    if len(labels) != 1 or labels[0] != int(labels[0]):
        return None
    number = int(labels[0]) - base
    return classes[number] if 0 <= number < len(classes) else None


def pack_order(samples, seed, shuffle):
    """Returns the order in which samples are packed."""
    if not shuffle:
        return sorted(samples, key=lambda s: s.key.encode())
    return sorted(samples, key=lambda s: (xxhash.xxh3_64_intdigest(s.key.encode(), seed=seed),
                                          s.key.encode()))


# ---- What shards hold when their manifest is not there ---------------------------------------

def label_text(labels):
    """Returns labels as text in the form of the containers: the shortest text from which the same numbers are read
    back."""
    words = []
    for label in labels:
        if label == int(label) and abs(label) <= 1 << 53:
            words.append("%d" % label)
            continue
        words.append(next(text for text in ("%.*g" % (digits, label) for digits in range(1, 10))
                          if struct.unpack("<f", struct.pack("<f", float(text)))[0] == label))
    return " ".join(words)


def sniff(data):
    for head, suffix in ((b"\xff\xd8\xff", "jpg"), (b"\x89PNG\r\n\x1a\n", "png"),
                         (b"GIF87a", "gif"), (b"GIF89a", "gif"), (b"\x93NUMPY", "npy")):
        if data.startswith(head):
            return suffix
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    if len(data) >= 14 and data[:2] == b"BM" and struct.unpack_from("<I", data, 2)[0] == len(data):
        return "bmp"
    return None


def field_names(sample):
    return [lower(suffix) for suffix, _ in sample.fields]


def made_cls(sample):
    """Returns the member that a tar gets for the labels, or None if it gets none."""
    own = [data for suffix, data in sample.fields if lower(suffix) == "cls"]
    if not sample.labels or own and decoders.parse_labels(own[0]):
        return None
    return "__label__" if own else "cls", label_text(sample.labels).encode()


def with_field(sample, field):
    fields = tuple(sorted(sample.fields + (field,), key=lambda f: f[0].encode()))
    return sample._replace(fields=fields)


def record_payload(sample, number):
    """Returns the payload of a RecordIO record: header, labels, fields."""
    labels = sample.labels
    if len(labels) == 1:
        head = struct.pack("<IfQQ", 0, labels[0], number, 0)
    elif labels:
        head = struct.pack("<IfQQ%df" % len(labels), len(labels), 0, number, 0, *labels)
    else:
        head = struct.pack("<IfQQ", 0, 0, number, 1)
    if len(sample.fields) == 1 and not sample.fields[0][1].endswith(b"sheafrec"):
        return head, sample.fields[0][1], False
    suffixes = [suffix for suffix, _ in sample.fields]
    first = decoders.image_field(suffixes)
    fields = dict(sample.fields)
    order = ([first] if first is not None else []) + [s for s in suffixes if s != first]
    table = struct.pack("<I", len(order)) + b"".join(
        struct.pack("<QH", len(fields[s]), len(s.encode())) + s.encode() for s in order)
    return head, b"".join(fields[s] for s in order) + table + struct.pack(
        "<II", decoders.crc32c(table), len(table)) + b"sheafrec", True


def as_foreign(sample, container, stem, record, number):
    """Returns the sample that a reader finds in one of our shards without the manifest (and for RecordIO without the
    list). number: the number of the sample in its data set. record: its number in its shard."""
    if container == "webdataset":
        made = made_cls(sample)     # __label__ is never a field
        return (with_field(sample, made) if made and made[0] == "cls" else sample)._replace(
            name=None)
    if container == "tfrecord":
        return sample
    head, content, has_trailer = record_payload(sample, number)
    key = "%s/%08d" % (stem, record)
    if has_trailer:
        return sample._replace(key=key, name=None, labels=sample.labels or (0.0,))
    suffix = sniff(content)
    if suffix is None:
        payload = head + content
        return Sample(key, ((sniff(payload) or "data", payload),), (), None)
    return Sample(key, ((suffix, content),), sample.labels or (0.0,), None)


# ---- Conversion ------------------------------------------------------------------------------

def cannot_hold(sample, container):
    """Returns why a container cannot take a sample, or None if it can."""
    if labels_do_not_fit(sample.labels, container):
        return "a label that its floats do not hold"
    own = [data for suffix, data in sample.fields if lower(suffix) == "cls"]
    if container == "webdataset" and not sample.fields and not sample.labels:
        return "nothing to hold"
    if container == "webdataset" and own and decoders.parse_labels(own[0]) and \
            tuple(decoders.parse_labels(own[0])) != sample.labels:
        return "a field cls that differs from the labels"
    if any(pictures.PLAIN.treat(suffix, data)[0] is None for suffix, data in sample.fields):
        return "an image that is none"
    return None


def listing(sample):
    """Returns the line of `cat --list`."""
    return "%s\t%s%s" % (sample.key, label_text(sample.labels), "".join(
        "\t%s:%d" % (lower(suffix), len(data)) for suffix, data in sample.fields))


def payload(samples):
    return sum(len(data) for sample in samples for _, data in sample.fields)


def paths(sample):
    """Returns the files that unpack makes of a sample."""
    return [("%s.%s" % (sample.key, suffix), data) for suffix, data in sample.fields]
