# SPDX-License-Identifier: MIT
"""Codecs: decompresses a shard as a whole, and each block alone."""

import struct
import subprocess
import zlib

from .common import need

LZ4_HEADER = bytes.fromhex("04224d18705084")


def decompress(data, codec):
    """Decompresses like readers that stop after the first gzip member or LZ4 frame, which must be everything."""
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
    """Returns (stored, raw) bytes of each frame, from the seek table at the end of the shard."""
    count, flags, magic = struct.unpack("<IBI", data[-9:])
    at = len(data) - 8 * count - 17
    need((flags, magic) == (0, 0x8f92eab1) and at >= 0, "no seek table")
    need(struct.unpack_from("<II", data, at) == (0x184d2a5e, 8 * count + 9), "its frame")
    frames = list(struct.iter_unpack("<II", data[at + 8:-9]))
    need(sum(stored for stored, _ in frames) == at, "frames of other sizes")
    return frames


def _lz4_blocks(data, at):
    """Returns where LZ4 blocks with checksums end: at the end mark, or at the end of the data."""
    while data[at:at + 4] not in (bytes(4), b""):
        (size,) = struct.unpack_from("<I", data, at)
        at += 4 + (size & 0x7fffffff) + 4
    return at


def block_alone(piece, codec):
    """Decompresses a block without the data before it in the member or frame."""
    if codec == "gzip":
        return zlib.decompressobj(-15).decompress(piece)
    if codec == "zstd":
        need(piece[:4] == bytes.fromhex("28b52ffd"), "no frame")
        return _command("zstd", piece)
    need(_lz4_blocks(piece, 0) == len(piece), "the end of an LZ4 block")
    return _command("lz4", LZ4_HEADER + piece + bytes(4))
