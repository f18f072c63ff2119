# SPDX-License-Identifier: MIT
"""Small JPEG files made by hand, with a baseline encoder that can only encode flat 8x8 blocks.

The tests need images that a real decoder accepts, in any size, with any bytes inside (in COM segments), and wrong
images of every kind. No imaging library is needed."""

import random
import struct

# The DC code of ITU-T T.81, table K.3: category -> (code length), in canonical order.
_DC_COUNTS = bytes([0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0])
_DC_VALUES = bytes(range(12))
# One AC symbol, "end of block", with the code 00. (A single code of one bit is also legal, but two bits are safer.)
_AC_COUNTS = bytes([0, 1] + [0] * 14)
_AC_VALUES = bytes([0])


def _canonical(counts, values):
    codes, code, at = {}, 0, 0
    for length, count in enumerate(counts, 1):
        for _ in range(count):
            codes[values[at]] = (code, length)
            code, at = code + 1, at + 1
        code <<= 1
    return codes


_DC = _canonical(_DC_COUNTS, _DC_VALUES)
_AC = _canonical(_AC_COUNTS, _AC_VALUES)


def segment(marker, payload):
    return struct.pack(">BBH", 0xff, marker, len(payload) + 2) + payload


def comment(payload):
    """Returns COM segments with `payload`, as many as it needs."""
    return b"".join(segment(0xfe, payload[i:i + 65533]) for i in range(0, len(payload), 65533))


def _scan(units, unit, values):
    """Returns a scan. `unit` has the component of each block of a unit."""
    bits, count = 0, 0
    previous = [0] * (max(unit) + 1)
    for _ in range(units):
        for c in unit:
            level = values.randrange(-60, 60)
            difference, previous[c] = level - previous[c], level
            size = abs(difference).bit_length()
            code, length = _DC[size]
            extra = difference if difference >= 0 else difference + (1 << size) - 1
            end, end_length = _AC[0]
            bits = (((bits << length | code) << size | extra) << end_length) | end
            count += length + size + end_length
    pad = -count % 8
    bits = bits << pad | ((1 << pad) - 1)
    return bits.to_bytes((count + pad) // 8, "big").replace(b"\xff", b"\xff\x00")


def jpeg(width=16, height=16, components=1, seed=0, payload=b"", sampling=(1, 1), restart=0):
    """Returns a baseline JPEG with 1 component (grey), 3 (YCbCr) or 4 (CMYK). `payload` is stored in COM segments.
    The first component may have several samples for each sample of the others. A marker comes after every `restart`
    units."""
    values = random.Random(seed)
    ids = bytes(range(1, components + 1))
    frame = struct.pack(">BHHB", 8, height, width, components)
    frame += b"".join(bytes([i, sampling[0] << 4 | sampling[1] if i == 1 else 0x11, 0])
                      for i in ids)
    start = bytes([components]) + b"".join(bytes([i, 0]) for i in ids) + bytes([0, 63, 0])
    unit = [0] * (sampling[0] * sampling[1]) + list(range(1, components))
    units = -(-width // (8 * sampling[0])) * -(-height // (8 * sampling[1]))
    parts = [_scan(min(units - at, restart or units), unit, values)
             for at in range(0, units, restart or units)]
    scan = b"".join(part + bytes([0xff, 0xd0 + i % 8]) for i, part in enumerate(parts))[:-2]
    return (b"\xff\xd8" + comment(payload) +
            segment(0xdb, b"\x00" + bytes([16] * 64)) + segment(0xc0, frame) +
            segment(0xc4, b"\x00" + _DC_COUNTS + _DC_VALUES) +
            segment(0xc4, b"\x10" + _AC_COUNTS + _AC_VALUES) +
            (segment(0xdd, struct.pack(">H", restart)) if restart else b"") +
            segment(0xda, start) + scan + b"\xff\xd9")


def jpeg_size(data):
    """Returns (width, height) from the first SOF marker, or None."""
    at = 2
    while data[:2] == b"\xff\xd8" and at + 4 <= len(data) and data[at] == 0xff:
        marker, length = data[at + 1], struct.unpack(">H", data[at + 2:at + 4])[0]
        if 0xc0 <= marker <= 0xcf and marker not in (0xc4, 0xc8, 0xcc):
            height, width = struct.unpack(">HH", data[at + 5:at + 9])
            return width, height
        at += 2 + length
    return None
