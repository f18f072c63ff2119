# SPDX-License-Identifier: MIT
"""Independent decoders of everything that sheaf writes, from the specifications alone.

They share no code with the library: framing, CRC-32C and protobuf are written out here, tar and
gzip are Python's own, LZ4 and zstd are their commands, XXH3 is python3-xxhash.  They are strict: whatever
formats/FORMATS.md does not allow is an error."""

import collections
import gzip
import io
import json
import os
import re
import struct
import subprocess
import tarfile
import zlib

import xxhash

from jpegs import jpeg_size

Sample = collections.namedtuple("Sample", "key fields labels")     # fields: {suffix: bytes}


class Bad(Exception):
    """The bytes are not what the specification says."""


def need(truth, *found):
    if not truth:
        raise Bad(*found)


# ---- CRC-32C, two bytes a step ---------------------------------------------------------------

def _crc_table():
    table = []
    for value in range(65536):
        for _ in range(16):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = []


def crc32c(data, crc=0):
    if not _TABLE:
        _TABLE.extend(_crc_table())
    table, crc, even = _TABLE, crc ^ 0xffffffff, len(data) & ~1
    for word in memoryview(data)[:even].cast("H"):
        crc = table[(crc ^ word) & 0xffff] ^ crc >> 16
    for byte in data[even:]:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(crc):
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


# ---- Names and labels ------------------------------------------------------------------------

_KEY = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$")      # webdataset's own


def split_name(path):
    match = _KEY.match(path)
    need(match, "no key in", path)
    return match.group(1), match.group(2)


def parse_labels(data):
    """Numbers between blanks, tabs or commas; None if it is anything else."""
    words = re.split(r"[ \t,]+", data.decode("latin-1").strip(" \t\r\n"))
    labels = []
    for word in words:
        if not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", word):
            return None
        value = float(word)
        if abs(value) > 3.5e38:
            return None
        if value != int(value) or abs(value) > 1 << 53:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        labels.append(value)
    return labels


# ---- TFRecord --------------------------------------------------------------------------------

def tfrecord_frames(data):
    """(offset, payload) of each record, both CRCs checked."""
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


def varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data) and shift < 70, "varint")
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def protobuf(data):
    """(field number, value) pairs: int for varints, bytes for the rest."""
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


def _feature(data):
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
    """{feature: (kind, values)} of a tf.train.Example whose map is in byte order."""
    features, previous = {}, None
    for number, entries in protobuf(payload):
        need(number == 1, "Example field", number)
        for _, entry in protobuf(entries):
            pair = dict(protobuf(entry))
            name = pair[1]
            need(previous is None or previous < name, "features out of order:", name)
            previous = name
            features[name.decode()] = _feature(pair[2])
    return features


def tfrecord_sample(payload):
    features = example(payload)
    labels, fields = [], {}
    if "image/class/label" in features:
        kind, labels = features.pop("image/class/label")
        need(kind in ("int64", "float") and labels, "label", kind, labels)
    features.pop("image/class/text", None)
    if "image/encoded" in features:
        key, suffix = split_name(features.pop("image/filename")[1][0].decode())
        need(image_field(sorted([suffix, *(f for f in features if "/" not in f)],
                                key=str.encode)) == suffix, "image field", suffix)
        fields[suffix] = features.pop("image/encoded")[1][0]
        need(features.pop("image/format") == ("bytes", [b"JPEG"]), "image/format")
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


# ---- RecordIO --------------------------------------------------------------------------------

MAGIC = struct.pack("<I", 0xced7230a)


def recordio_frames(data):
    """(offset, frame, payload) of each record, parts rejoined around the magic."""
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
            aligned = [payload[i:i + 4] for i in range(0, len(payload) & ~3, 4)]
            need(len(parts) == 1 + aligned.count(MAGIC), "split elsewhere than at the magic")
            yield start, data[start:at], payload
            parts = []
    need(not parts, "the last record is not complete")


def recordio_fields(content):
    """[(suffix, bytes)] of content that ends in a trailer; None if it has none."""
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


def image_field(suffixes):
    """Which field is the image, or else the first."""
    for fits in (lambda n: n in ("jpg", "jpeg"), lambda n: n.endswith((".jpg", ".jpeg"))):
        for suffix in suffixes:
            if fits(suffix.lower()):
                return suffix
    return suffixes[0] if suffixes else None


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


# ---- WebDataset ------------------------------------------------------------------------------

def tar_members(data):
    """(offset of the first header, name, content, made of the labels) of each; strict."""
    found = []
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:", ignore_zeros=True) as archive:
        for member in archive:
            fixed = (member.isreg(), member.mtime, member.uid, member.gid, member.uname,
                     member.mode)
            need(fixed == (True, 0, 0, 0, "sheaf", 0o444), member.name, fixed)
            need(member.gname == "sheaf" or
                 member.gname == "label" and member.name.endswith(".cls"), member.gname)
            need(not member.pax_headers or needs_pax(member.name), "a pax header without need")
            found.append((member.offset, member.name, archive.extractfile(member).read(),
                          member.gname == "label"))
    return found


def needs_pax(name):
    """True if ustar's two fields cannot hold the path."""
    path = name.encode()
    cuts = (i for i, byte in enumerate(path) if byte == 0x2f)
    return len(path) > 100 and not any(i <= 155 and len(path) - i - 1 <= 100 for i in cuts)


def tar_end(data):
    """Where the members end; after it are two zero blocks and nothing else."""
    need(len(data) >= 1024 and len(data) % 512 == 0, "size", len(data))
    need(not any(data[-1024:]), "no end of archive")
    return len(data) - 1024


def tar_header_offsets(data):
    """Each header of a ustar archive, extension headers too."""
    at, offsets = 0, []
    while any(data[at:at + 512]):
        offsets.append(at)
        at += 512 + (int(data[at + 124:at + 135], 8) + 511) // 512 * 512
    return offsets


def tar_frames(data):
    """(offset, key, members) of each run of members of one key."""
    frames, seen = [], set()
    for offset, name, content, made in tar_members(data):
        key, suffix = split_name(name)
        if not frames or frames[-1][1] != key:
            need(key not in seen, "not adjacent:", key)
            seen.add(key)
            frames.append((offset, key, []))
        frames[-1][2].append((suffix, content, made))
    return frames


def tar_sample(key, members, cls_is_label):
    suffixes = [suffix.encode() for suffix, _, _ in members]
    need(suffixes == sorted(suffixes), "members out of order in", key, suffixes)
    need(len({s.lower() for s in suffixes}) == len(suffixes), "a field twice in", key)
    labels = []
    for suffix, content, made in members:
        if suffix.lower() == "cls":
            labels = parse_labels(content) or []
            need(labels or not made, "a made cls without labels")
            need(made or not cls_is_label, "cls_is_label, but a cls of its own in", key)
    return Sample(key, {suffix: data for suffix, data, made in members if not made}, labels)



# ---- Codecs ----------------------------------------------------------------------------------

LZ4_HEADER = bytes.fromhex("04224d18705084")


def decompress(data, codec):
    """As readers do that stop after the first gzip member or LZ4 frame, which must be all."""
    if codec == "gzip":
        member = zlib.decompressobj(31)
        raw = member.decompress(data)
        need(member.eof and not member.unused_data, "more or less than one gzip member")
        return raw
    if codec == "lz4":
        need(_lz4_blocks(data, len(LZ4_HEADER)) + 4 == len(data), "not one LZ4 frame")
        return _command("lz4", data)
    if codec == "zstd":
        frames = zstd_frames(data)
        raw = _command("zstd", data)
        need(len(raw) == sum(size for _, size in frames), "the frames' sizes")
        return raw
    return data


def _command(name, data):
    done = subprocess.run([name, "-d", "-c", "-q"], input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    need(done.returncode == 0, name, done.stderr)
    return done.stdout


def zstd_frames(data):
    """(stored, raw) bytes of each frame, by the seek table that the shard must end with."""
    count, flags, magic = struct.unpack("<IBI", data[-9:])
    at = len(data) - 8 * count - 17
    need((flags, magic) == (0, 0x8f92eab1) and at >= 0, "no seek table")
    need(struct.unpack_from("<II", data, at) == (0x184d2a5e, 8 * count + 9), "its frame")
    frames = list(struct.iter_unpack("<II", data[at + 8:-9]))
    need(sum(stored for stored, _ in frames) == at, "frames of other sizes")
    return frames


def _lz4_blocks(data, at):
    """Where LZ4 blocks with checksums end, at the end mark or that of the data."""
    while data[at:at + 4] not in (bytes(4), b""):
        (size,) = struct.unpack_from("<I", data, at)
        at += 4 + (size & 0x7fffffff) + 4
    return at


def block_alone(piece, codec):
    """A block, without what comes before it in the member or frame."""
    if codec == "gzip":
        return zlib.decompressobj(-15).decompress(piece)
    if codec == "zstd":
        need(piece[:4] == bytes.fromhex("28b52ffd"), "no frame")
        return _command("zstd", piece)
    need(_lz4_blocks(piece, 0) == len(piece), "the end of an LZ4 block")
    return _command("lz4", LZ4_HEADER + piece + bytes(4))


# ---- Index -----------------------------------------------------------------------------------

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
    """Part 6: a number a sample, or nothing if some sample has other labels or none has any."""
    if not any(labels):
        return []
    plain = [[] if not l else [int(l[0])] for l in labels]
    if plain != labels or any(l and not 0 <= l[0] <= (1 << 32) - 2 for l in plain):
        return []
    return [l[0] + 1 if l else 0 for l in plain]


def key_table(fingerprint, keys):
    """dataset.keys of samples with these keys."""
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


# ---- The data set ----------------------------------------------------------------------------

class DataSet:
    """What the packer wrote.  Reading it checks the manifest; check() everything else."""

    def __init__(self, folder):
        self.folder = folder
        text = self.read("dataset.json").decode()
        self.manifest = manifest = json.loads(text, object_pairs_hook=_no_doubles)
        rest = {k: v for k, v in manifest.items() if k != "fingerprint"}
        plain = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        need(manifest["fingerprint"] == xxhash.xxh3_128_hexdigest(plain.encode()), "fingerprint")
        self.grown = manifest.get("grown", [])
        need(manifest["sheaf"] == (2 if self.grown else 1), manifest["sheaf"])
        for key in ("samples", "bytes", "raw_bytes", "payload_bytes"):
            need(manifest[key] == sum(s[key] for s in manifest["shards"]), "sum of", key)
        self.container, self.codec = manifest["container"], manifest["codec"]
        self.classes = manifest["classes"]
        index = b"".join(self.read(self._part(part, "index"))
                         for part in range(len(self.grown) + 1))
        need(len(index) == manifest["index_bytes"], "size of the index")
        self.sections, at = [], 0
        for shard in manifest["shards"]:
            need(shard["index_offset"] == at, "index section")
            at += shard["index_bytes"]
            section = index[shard["index_offset"]:at]
            need(shard.get("index_xxh3", section[-8:].hex()) == section[-8:].hex(), "index_xxh3")
            self.sections.append(index_section(section))
            need(len(self.sections[-1].sizes) == shard["samples"], "samples of", shard["name"])
        need(at == len(index), "index longer than its sections")

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    @staticmethod
    def _part(part, suffix):
        """The name of a file of what was appended in a run, 0: of what was packed."""
        return "dataset%s.%s" % ("-%d" % part if part else "", suffix)

    def _check_keys(self, keys):
        """The tables of keys: of each part its own.  keys: of each shard."""
        firsts = [0] + [part["shards"] for part in self.grown] + [len(keys)]
        prints = [part["fingerprint"] for part in self.grown] + [self.manifest["fingerprint"]]
        for part, fingerprint in enumerate(prints):
            own = [key for shard in keys[firsts[part]:firsts[part + 1]] for key in shard]
            if os.path.exists(os.path.join(self.folder, self._part(part, "keys"))):  # older: none
                need(self.read(self._part(part, "keys")) == key_table(fingerprint, own),
                     "the table of keys, part", part)

    def frame_bounds(self, number):
        """Where the frames of a shard begin and the last one ends (no gaps, by index)."""
        bounds = [0]
        for size in self.sections[number].sizes:
            bounds.append(bounds[-1] + size)
        return bounds

    def shards(self):
        """A list of samples for each shard."""
        return [self._samples(number) for number in range(len(self.sections))]

    def samples(self):
        for shard in self.shards():
            yield from shard

    def _raw(self, number):
        return decompress(self.read(self.manifest["shards"][number]["name"]), self.codec)

    def _lines(self, number):
        name = self.manifest["shards"][number]["name"]
        data = self.read(name[:name.rindex(".rec")] + ".lst")
        need(data.endswith(b"\n") or not data, "the .lst ends in a line")
        return [line + b"\n" for line in data.split(b"\n")[:-1]]

    def _samples(self, number):
        raw = self._raw(number)
        if self.container == "tfrecord":
            return [tfrecord_sample(payload) for _, payload in tfrecord_frames(raw)]
        if self.container == "recordio":
            return [recordio_sample(payload, line) for (_, _, payload), line in
                    zip(recordio_frames(raw), self._lines(number))]
        tar_end(raw)
        return [tar_sample(key, members, self.manifest["cls_is_label"])
                for _, key, members in tar_frames(raw)]

    def check(self, records=True):
        """Sizes, hashes, the index against the frames; with `records` each sample's CRC."""
        first, keys = 0, []
        for number, shard in enumerate(self.manifest["shards"]):
            stored, section = self.read(shard["name"]), self.sections[number]
            raw = decompress(stored, self.codec)
            need((len(stored), len(raw)) == (shard["bytes"], shard["raw_bytes"]), shard)
            need(xxhash.xxh3_128_hexdigest(stored) == shard["xxh3"], "hash of", shard["name"])
            bounds = self._check_frames(raw, number, first)
            need(bounds == self.frame_bounds(number), "frames of", shard["name"])
            need(section.raw_bytes == bounds[-1] and not section.gaps, "index", shard["name"])
            need(shard["largest"] == max(section.sizes, default=0), "largest", shard["name"])
            samples = self._samples(number)
            payload = sum(len(d) for s in samples for d in s.fields.values())
            need(shard["payload_bytes"] == payload, "payload of", shard["name"])
            need(section.labels == label_part([s.labels for s in samples]), "labels in the index")
            self._check_blocks(stored, raw, section, bounds)
            if records:
                self._check_crcs(raw, section, bounds, number)
            first += shard["samples"]
            keys.append([s.key for s in samples])
        self._check_keys(keys)

    def _check_frames(self, raw, number, first):
        """Where frames are by their own headers; for RecordIO also the .idx and the ids."""
        if self.container == "tfrecord":
            return [offset for offset, _ in tfrecord_frames(raw)] + [len(raw)]
        if self.container == "webdataset":
            return [offset for offset, _, _ in tar_frames(raw)] + [tar_end(raw)]
        frames = list(recordio_frames(raw))
        name = self.manifest["shards"][number]["name"]
        index = self.read(name[:name.rindex(".rec")] + ".idx").decode()
        need(index == "".join("%d\t%d\n" % (first + i, offset)
                              for i, (offset, _, _) in enumerate(frames)), "the .idx of", name)
        lines = self._lines(number)
        need([len(line) for line in lines] == self.sections[number].names, "the .lst of", name)
        need(sum(map(len, lines)) == self.manifest["shards"][number]["names_bytes"], name)
        for i, ((_, _, payload), line) in enumerate(zip(frames, lines)):
            (record_id,) = struct.unpack_from("<Q", payload, 8)
            need(record_id == first + i == int(line.split(b"\t")[0]), "id", record_id, line)
        return [offset for offset, _, _ in frames] + [len(raw)]

    def _check_blocks(self, stored, raw, section, bounds):
        """Each block is unpacked alone, and begins with a sample."""
        if self.codec == "none":
            need(not section.blocks and not section.lead, "blocks without a codec")
            return
        need(self.manifest["single_member"] == (self.codec != "zstd"), "single_member")
        if not section.blocks:
            need(not raw and not section.lead, "no block, but bytes")
            return
        at, end, raw_at = section.lead, 0, 0
        for stored_bytes, raw_bytes in section.blocks:
            end += stored_bytes
            need(raw_at in bounds, "a block begins inside a sample:", raw_at)
            block = block_alone(stored[at:end], self.codec)
            need(block == raw[raw_at:raw_at + raw_bytes], "block at", at)
            at, raw_at = end, raw_at + raw_bytes
        need(raw_at == len(raw), "blocks do not hold everything")
        tail = {"gzip": 10, "lz4": 4, "zstd": 17 + 8 * len(section.blocks)}[self.codec]
        need(end + tail == len(stored), "the end of the member")

    def _check_crcs(self, raw, section, bounds, number):
        lines = self._lines(number) if self.container == "recordio" else None
        for i, crc in enumerate(section.crcs):
            frame = raw[bounds[i]:bounds[i + 1]]
            if self.container == "tfrecord":
                found = crc32c(frame[12:-4])
            else:
                found = crc32c(frame)
                if lines:
                    found = crc32c(lines[i][:-1], found)
            need(found == crc, "CRC of sample", i, "of shard", number)


def _no_doubles(pairs):
    need(len(dict(pairs)) == len(pairs), "a key twice in", pairs)
    return dict(pairs)

