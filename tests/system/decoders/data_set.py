# SPDX-License-Identifier: MIT
"""A data set that the packer wrote: dataset.json, and the checks of everything against it."""

import json
import os
import struct

import xxhash

from .codec import block_alone, decompress
from .common import crc32c, need
from .index import index_section, key_table, label_part
from .recordio import recordio_frames, recordio_sample
from .tfrecord import tfrecord_frames, tfrecord_sample
from .webdataset import tar_end, tar_frames, tar_sample


class DataSet:
    """A data set that the packer wrote. Reading it checks the manifest; check() checks everything else."""

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
        """Returns the name of an index file of one run. Run 0 packed the data set, and later runs appended to it."""
        return "dataset%s.%s" % ("-%d" % part if part else "", suffix)

    def _check_keys(self, keys):
        """Checks the table of keys of each run. keys: the keys of each shard."""
        firsts = [0] + [part["shards"] for part in self.grown] + [len(keys)]
        prints = [part["fingerprint"] for part in self.grown] + [self.manifest["fingerprint"]]
        for part, fingerprint in enumerate(prints):
            own = [key for shard in keys[firsts[part]:firsts[part + 1]] for key in shard]
            # data sets of older releases have none
            if os.path.exists(os.path.join(self.folder, self._part(part, "keys"))):
                need(self.read(self._part(part, "keys")) == key_table(fingerprint, own),
                     "the table of keys, part", part)

    def frame_bounds(self, number):
        """Returns where the frames of a shard begin and the last one ends, from the index. There are no gaps."""
        bounds = [0]
        for size in self.sections[number].sizes:
            bounds.append(bounds[-1] + size)
        return bounds

    def shards(self):
        """Returns a list of samples for each shard."""
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
        """Checks sizes and hashes, and the index against the frames; with `records` also each sample's CRC."""
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
        """Compares the index with the frames' own headers; for RecordIO also with the .idx and the ids."""
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
        """Decompresses each block alone, and checks that it begins with a sample."""
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
