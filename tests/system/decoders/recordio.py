# SPDX-License-Identifier: MIT
"""RecordIO: its frames, and samples with one or several fields."""

import struct

from .common import Sample, crc32c, image_field, need, parse_labels, split_name

MAGIC = struct.pack("<I", 0xced7230a)


def magics(payload):
    """Returns where a record contains the magic number at a multiple of 4."""
    found, at = [], payload.find(MAGIC)
    while at >= 0:
        if at % 4 == 0:
            found.append(at)
        at = payload.find(MAGIC, at + 1)
    return found


def recordio_frames(data):
    """Yields (offset, frame, payload) of each record, with parts joined around the magic number."""
    at, start, parts = 0, 0, []
    while at < len(data):
        need(at % 4 == 0 and data[at:at + 4] == MAGIC, "magic at", at)
        (word,) = struct.unpack_from("<I", data, at + 4)
        flag, size = word >> 29, word & (1 << 29) - 1
        end = at + 8 + size
        padded = end + -size % 4
        need(padded <= len(data), "record cut short at", at)
        need(not any(data[end:padded]), "padding at", end)
        need(flag in ((2, 3) if parts else (0, 1)), "part flag", flag, "at", at)
        start = start if parts else at
        parts.append(data[at + 8:end])
        at = padded
        if flag in (0, 3):
            payload = MAGIC.join(parts)
            need(len(parts) == 1 + len(magics(payload)), "split elsewhere than at the magic")
            yield start, data[start:at], payload
            parts = []
    need(not parts, "the last record is not complete")


def recordio_fields(content):
    """Returns [(suffix, bytes)] of content that ends in a trailer, or None if it has no trailer."""
    if not content.endswith(b"sheafrec"):
        return None
    crc, size = struct.unpack_from("<II", content, len(content) - 16)
    table = content[len(content) - 16 - size:-16]
    need(len(table) == size and crc32c(table) == crc, "trailer")
    (count,), at, start, fields = struct.unpack_from("<I", table), 4, 0, []
    for _ in range(count):
        length, suffix_size = struct.unpack_from("<QH", table, at)
        suffix = table[at + 10:at + 10 + suffix_size].decode()
        fields.append((suffix, content[start:start + length]))
        at, start = at + 10 + suffix_size, start + length
    need(at == size and start == len(content) - 16 - size, "sizes in a trailer")
    need(count != 1 or fields[0][1].endswith(b"sheafrec"), "a trailer without need")
    return fields


def recordio_sample(payload, line):
    count, label, record_id, id2 = struct.unpack_from("<IfQQ", payload)
    labels = list(struct.unpack_from("<%df" % count, payload, 24)) or [label]
    need(count == 0 or label == 0, "the header's label beside a list")
    need(id2 in (0, 1) and (id2 == 0 or (count, label) == (0, 0)), "id2", id2)
    number, *texts, path = line.decode().rstrip("\n").split("\t")
    need(int(number) == record_id, "id of the .lst", number, record_id)
    need(parse_labels("\t".join(texts).encode()) == labels, "labels of the .lst", texts, labels)
    labels = [] if id2 else labels
    content = payload[24 + 4 * count:]
    fields = recordio_fields(content)
    if fields is None:
        key, suffix = split_name(path)
        return Sample(key, {suffix: content}, labels)
    suffixes = sorted((suffix for suffix, _ in fields), key=str.encode)
    if not fields:
        return Sample(path, {}, labels)
    first = image_field(suffixes)
    need([suffix for suffix, _ in fields] == [first] + [x for x in suffixes if x != first],
         "order of fields", suffixes)
    key, suffix = split_name(path)
    need(suffix == first, "suffix in the .lst", path)
    return Sample(key, dict(fields), labels)
