# SPDX-License-Identifier: MIT
"""TFRecord: its frames, and samples as tf.train.Example."""

import struct

from jpegs import jpeg_size

from .common import Sample, crc32c, image_field, masked, need, split_name, varint


def tfrecord_frames(data):
    """Yields (offset, payload) of each record, after checking both CRCs."""
    at = 0
    while at < len(data):
        need(at + 12 <= len(data), "header cut short at", at)
        size, crc = struct.unpack_from("<QI", data, at)
        need(crc == masked(crc32c(data[at:at + 8])), "length CRC at", at)
        need(at + 16 + size <= len(data), "payload cut short at", at)
        payload = data[at + 12:at + 12 + size]
        (crc,) = struct.unpack_from("<I", data, at + 12 + size)
        need(crc == masked(crc32c(payload)), "payload CRC at", at)
        yield at, payload
        at += 16 + size


def protobuf(data):
    """Yields pairs (field number, value): int for varints, bytes for the rest."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            need(kind in (1, 2, 5), "wire type", kind)
            size, at = varint(data, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            need(at + size <= len(data), "field cut short")
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def feature(data):
    lists = list(protobuf(data))
    need(len(lists) == 1, "a feature has one list, not", len(lists))
    kind, content = lists[0]
    if kind == 1:
        return "bytes", [value for _, value in protobuf(content)]
    parts = list(protobuf(content))
    need(len(parts) <= 1 and all(isinstance(p[1], bytes) for p in parts), "not packed")
    packed = parts[0][1] if parts else b""
    if kind == 2:
        return "float", [v for (v,) in struct.iter_unpack("<f", packed)]
    need(kind == 3, "list kind", kind)
    values, at = [], 0
    while at < len(packed):
        value, at = varint(packed, at)
        values.append(value - (1 << 64) if value >> 63 else value)
    return "int64", values


def example(payload):
    """Returns {feature: (kind, values)} of a tf.train.Example whose map is in byte order."""
    features, previous = {}, None
    for number, entries in protobuf(payload):
        need(number == 1, "Example field", number)
        for _, entry in protobuf(entries):
            pair = dict(protobuf(entry))
            name = pair[1]
            need(previous is None or previous < name, "features out of order:", name)
            previous = name
            features[name.decode()] = feature(pair[2])
    return features


FORMATS = {"jpg": b"JPEG", "jpeg": b"JPEG", "png": b"PNG", "webp": b"WEBP", "gif": b"GIF", "bmp": b"BMP"}


def example_image(suffixes):
    """Returns the field that an Example has as image/encoded, or None."""
    first = image_field(suffixes)
    if first is not None and first.lower().split(".")[-1] in ("jpg", "jpeg"):
        return first
    others = [name for name in suffixes if name.lower() in FORMATS]
    return others[0] if others else None


def tfrecord_sample(payload):
    features = example(payload)
    labels, fields = [], {}
    if "image/class/label" in features:
        kind, labels = features.pop("image/class/label")
        need(kind in ("int64", "float") and labels, "label", kind, labels)
    features.pop("image/class/text", None)
    if "image/encoded" in features:
        key, suffix = split_name(features.pop("image/filename")[1][0].decode())
        need(example_image(sorted([suffix, *(f for f in features if "/" not in f)],
                                  key=str.encode)) == suffix, "image field", suffix)
        fields[suffix] = features.pop("image/encoded")[1][0]
        need(features.pop("image/format") == ("bytes", [FORMATS[suffix.lower().split(".")[-1]]]),
             "image/format")
        found = (features.pop("image/width", (0, [0]))[1][0],
                 features.pop("image/height", (0, [0]))[1][0])
        need(found == (jpeg_size(fields[suffix]) or (0, 0)), "image size", found)
    else:
        key = features.pop("__key__")[1][0].decode()
    for name, (kind, values) in features.items():
        need(kind == "bytes" and len(values) == 1, "feature", name)
        fields[name] = values[0]
    return Sample(key, dict(sorted(fields.items(), key=lambda f: f[0].encode())),
                  [float(v) for v in labels])
