# SPDX-License-Identifier: MIT
"""WebDataset: the members of a tar, and the samples of adjacent members with one key."""

import io
import tarfile

from .common import Sample, need, parse_labels, split_name


def tar_members(data):
    """Returns (offset of the first header, name, content, whether it was made from labels) of each member. Strict."""
    found = []
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:", ignore_zeros=True) as archive:
        for member in archive:
            fixed = (member.isreg(), member.mtime, member.uid, member.gid, member.uname,
                     member.mode)
            need(fixed == (True, 0, 0, 0, "sheaf", 0o444), member.name, fixed)
            need(member.gname == "sheaf" or
                 member.gname == "label" and member.name.endswith((".cls", ".__label__")),
                 member.gname)
            need(not member.pax_headers or needs_pax(member.name), "a pax header without need")
            found.append((member.offset, member.name, archive.extractfile(member).read(),
                          member.gname == "label"))
    return found


def needs_pax(name):
    """Returns true if ustar's two fields cannot hold the path."""
    path = name.encode()
    cuts = (i for i, byte in enumerate(path) if byte == 0x2f)
    return len(path) > 100 and not any(i <= 155 and len(path) - i - 1 <= 100 for i in cuts)


def tar_end(data):
    """Returns where the members end. Two blocks of zeros and nothing else follow."""
    need(len(data) >= 1024 and len(data) % 512 == 0, "size", len(data))
    need(not any(data[-1024:]), "no end of archive")
    return len(data) - 1024


def tar_header_offsets(data):
    """Returns each header of a ustar archive, including extension headers."""
    at, offsets = 0, []
    while any(data[at:at + 512]):
        offsets.append(at)
        at += 512 + (int(data[at + 124:at + 135], 8) + 511) // 512 * 512
    return offsets


def tar_frames(data):
    """Returns (offset, key, members) of each run of adjacent members with one key."""
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
        if suffix == "__label__":
            need(made and not parse_labels(dict((s.lower(), c) for s, c, _ in members)["cls"]),
                 "__label__ beside a cls of numbers")
        if suffix.lower() == "cls" or suffix == "__label__":
            labels = parse_labels(content) or labels
            need(labels or not made, "a made cls without labels")
            need(made or suffix == "__label__" or not cls_is_label, "cls_is_label, but a cls of its own in", key)
    return Sample(key, {suffix: data for suffix, data, made in members if not made}, labels)
