# SPDX-License-Identifier: MIT
"""Shared by the decoders: their error, CRC-32C, names, labels and varints."""

import collections
import re
import struct

import crcmod.predefined

crc32c = crcmod.predefined.mkCrcFun("crc-32c")

Sample = collections.namedtuple("Sample", "key fields labels")     # fields: {suffix: bytes}


class Bad(Exception):
    """The bytes are not what the specification says."""


def need(truth, *found):
    if not truth:
        raise Bad(*found)


def masked(crc):
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


# ---- Names and labels ------------------------------------------------------------------------

_KEY = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$")      # webdataset's own


def split_name(path):
    match = _KEY.match(path)
    need(match, "no key in", path)
    return match.group(1), match.group(2)


def parse_labels(data):
    """Returns the numbers between blanks, tabs or commas. Returns None if there is anything else, or an integer that
    would have to be rounded."""
    data = data[3:] if data.startswith(b"\xef\xbb\xbf") else data
    words = re.split(r"[ \t,]+", data.decode("latin-1").strip(" \t\r\n"))
    labels = []
    for word in words:
        if not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", word):
            return None
        value = float(word)
        if abs(value) > 3.5e38:
            return None
        if re.fullmatch(r"[-+]?\d+", word) and abs(int(word)) > 1 << 53 and \
                struct.unpack("<f", struct.pack("<f", value))[0] != int(word):
            return None
        if value != int(value) or abs(value) > 1 << 53:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        labels.append(value)
    return labels


def image_field(suffixes):
    """Returns the image field, or the first field if there is no image."""
    for fits in (lambda n: n in ("jpg", "jpeg"), lambda n: n.endswith((".jpg", ".jpeg"))):
        for suffix in suffixes:
            if fits(suffix.lower()):
                return suffix
    return suffixes[0] if suffixes else None


# ---- Numbers ---------------------------------------------------------------------------------

def varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data) and shift < 70, "varint")
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at
