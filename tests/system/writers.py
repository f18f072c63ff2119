# SPDX-License-Identifier: MIT
"""Writers of foreign shards: containers as other programs make them, and odd ones."""

import io
import struct
import subprocess
import tarfile

from decoders import MAGIC, crc32c, masked


# ---- TFRecord --------------------------------------------------------------------------------

def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def wire(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(values, packed=True):
    """A Feature of bytes, ints or floats."""
    if isinstance(values[0], bytes):
        return wire(1, b"".join(wire(1, v) for v in values))
    if isinstance(values[0], int):
        parts, kind = [varint(v) for v in values], 3
    else:
        parts, kind = [struct.pack("<f", v) for v in values], 2
    if packed:
        return wire(kind, wire(1, b"".join(parts)))
    tag = varint(1 << 3 | (0 if kind == 3 else 5))
    return wire(kind, b"".join(tag + part for part in parts))


def example(features, packed=True):
    """A tf.train.Example; features in the order given."""
    entries = [wire(1, wire(1, name.encode()) + wire(2, feature(values, packed)))
               for name, values in features.items()]
    return wire(1, b"".join(entries))


def tfrecord(payloads):
    out = []
    for payload in payloads:
        head = struct.pack("<Q", len(payload))
        out += [head, struct.pack("<I", masked(crc32c(head))), payload,
                struct.pack("<I", masked(crc32c(payload)))]
    return b"".join(out)


# ---- RecordIO --------------------------------------------------------------------------------

def recordio_part(flag, data):
    return MAGIC + struct.pack("<I", flag << 29 | len(data)) + data + bytes(-len(data) % 4)


def recordio(payloads):
    """As dmlc-core writes: a magic at a multiple of 4 splits the record, and is dropped."""
    out = []
    for payload in payloads:
        cuts = [i for i in range(0, len(payload) & ~3, 4) if payload[i:i + 4] == MAGIC]
        parts = [payload[a:b] for a, b in zip([0] + [c + 4 for c in cuts], cuts + [None])]
        for i, part in enumerate(parts):
            last = i == len(parts) - 1
            flag = 0 if len(parts) == 1 else 3 if last else 2 if i else 1
            out.append(recordio_part(flag, part))
    return b"".join(out)


def image_record(content, label=0.0, labels=(), record_id=0):
    """MXNet's IRHeader and content."""
    return (struct.pack("<IfQQ", len(labels), label, record_id, 0) +
            struct.pack("<%df" % len(labels), *labels) + content)


# ---- tar -------------------------------------------------------------------------------------

def tar(members, form=tarfile.USTAR_FORMAT, pax_headers=None, padded=True):
    """members: (name, bytes) or TarInfo (without content)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form, pax_headers=pax_headers) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            info = tarfile.TarInfo(member[0])
            info.size = len(member[1])
            archive.addfile(info, io.BytesIO(member[1]))
    data = out.getvalue()
    if not padded:
        end = len(data.rstrip(b"\0"))
        data = data[:end + -end % 512] + bytes(1024)
    return data


def tar_header(name, size, kind=b"0", base256=False):
    """One ustar header by hand."""
    length = (b"\x80" + size.to_bytes(11, "big")) if base256 else b"%011o\0" % size
    head = bytearray(512)
    head[0:len(name)] = name
    head[100:108], head[108:116], head[116:124] = b"0000644\0", b"0000000\0", b"0000000\0"
    head[124:136], head[136:148] = length, b"00000000000\0"
    head[148:156], head[156:157] = b" " * 8, kind
    head[257:265] = b"ustar\00000"
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head)


def tar_member(name, data, **how):
    return tar_header(name, len(data), **how) + data + bytes(-len(data) % 512)


# ---- Codecs ----------------------------------------------------------------------------------

def lz4(data, *options):
    return subprocess.run(["lz4", "-c", "-q", *options], input=data, stdout=subprocess.PIPE,
                          check=True).stdout


def zstd(data, *options):
    return subprocess.run(["zstd", "-c", "-q", *options], input=data, stdout=subprocess.PIPE,
                          check=True).stdout
