# SPDX-License-Identifier: MIT
"""dataset.index and dataset.keys."""

import collections
import struct

import xxhash

from .common import need, varint

Section = collections.namedtuple("Section", "sizes crcs names gaps blocks labels raw_bytes lead")


def index_section(data):
    need(data[-8:] == xxhash.xxh3_64_digest(data[:-8]), "hash of an index section")
    words = struct.unpack_from("<8s12Q", data)
    need(words[:2] == (b"SHEAFIDX", 1), words[:2])
    (samples, raw_bytes, names_bytes, lead, gap_count, block_count, sizes_size, names_size,
     gaps_size, blocks_size, labels_size) = words[2:]
    at = 104

    def varints(size, count):
        nonlocal at
        values, end = [], at + size
        while at < end:
            value, after = varint(data, at)
            need(after == at + 1 or data[after - 1], "a varint longer than it need be")
            values.append(value)
            at = after
        need(at == end and len(values) == count, "part of", size, "bytes:", len(values), count)
        return values
    sizes = varints(sizes_size, samples)
    crcs = struct.unpack_from("<%dI" % samples, data, at)
    at += 4 * samples
    names = varints(names_size, samples if names_size else 0)
    gaps = varints(gaps_size, 2 * gap_count)
    blocks = varints(blocks_size, 2 * block_count)
    labels = varints(labels_size, samples if labels_size else 0)
    need(at == len(data) - 8 and sum(names) == names_bytes, "size of an index section")
    return Section(sizes, crcs, names, list(zip(gaps[::2], gaps[1::2])),
                   list(zip(blocks[::2], blocks[1::2])), labels, raw_bytes, lead)


def label_part(labels):
    """Returns part 6: a number for each sample, or nothing if some sample has other labels or none has any."""
    if not any(labels):
        return []
    plain = [[] if not l else [int(l[0])] for l in labels]
    if plain != labels or any(l and not 0 <= l[0] <= (1 << 32) - 2 for l in plain):
        return []
    return [l[0] + 1 if l else 0 for l in plain]


def key_table(fingerprint, keys):
    """Returns dataset.keys for samples with these keys."""
    def half(data):
        return xxhash.xxh3_64_intdigest(data) & 0xffffffff

    count = -(-len(keys) // 64)
    header = b"SHEAFKEY" + struct.pack("<Q32sQ", 1, fingerprint.encode(), len(keys))
    out = [header, xxhash.xxh3_64_digest(header)]
    buckets, records, end = [[] for _ in range(count)], [], 0
    for value, number in sorted((xxhash.xxh3_64_intdigest(k.encode()), i)
                                for i, k in enumerate(keys)):
        buckets[value * count >> 64].append(struct.pack("<II", value & 0xffffffff, number))
    for i, entries in enumerate(buckets):
        end += len(entries)
        out.append(b"".join(entries))
        record = struct.pack("<QI", end, half(out[-1]))
        records.append(record + struct.pack("<I", half(fingerprint.encode() + struct.pack("<Q", i)
                                                       + record)))
    return b"".join(out + records)
