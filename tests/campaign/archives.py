# SPDX-License-Identifier: MIT
"""Archives as sources: tars as Python's tarfile and GNU tar write them, whole or compressed, with
directories that are tars within the tar, and zips.  Links are in them as links, and nothing is
followed: the model takes such a member for a file that cannot be read, as one that leads nowhere."""

import gzip
import io
import os
import subprocess
import tarfile
import warnings
import zipfile

import model
import trees
from chain import Foreseen, Source

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "pax": tarfile.PAX_FORMAT, "gnu": tarfile.GNU_FORMAT}
COMPRESSIONS = {"": None, ".gz": "gzip", ".xz": "xz", ".bz2": "bzip2", ".zst": "zstd",
                ".lz4": "lz4"}
SHORT = {".tar.gz": ".tgz", ".tar.xz": ".txz", ".tar.bz2": ".tbz2", ".tar.zst": ".tzst"}


def make(chain, files, folder=None):
    """An archive of files as a source.  folder: where they are; None: they are in memory alone."""
    chance, name = chain.chance, chain.new("archive")
    kinds = ["zip", "tar", "tar", "tar"] + (["gnu"] if folder is not None else [])
    kind = chance.choice(kinds)
    below = chance.choice(["", "", "", "down", "down/there"])
    if kind == "zip":
        name, raw, written = name + ".zip", *as_zip(chance, files, below)
    else:
        files = {path: data for path, data in files.items() if not path.endswith(".tar")}
        raw, written = (by_gnu_tar(chain, files, folder) if kind == "gnu" else
                        by_python(chance, files, below))
        below = "" if kind == "gnu" else below
        suffix = ".tar" + chance.choice(["", "", "", *COMPRESSIONS])
        raw = compressed(chance, raw, COMPRESSIONS[suffix[4:]])
        name += chance.choice([suffix, SHORT.get(suffix, suffix)])
    trees.write(chain.folder, {name: raw})
    chain.lines.append("# an archive, %s: %d bytes" % (kind, len(raw)))
    options = ["--root", below + chance.choice(["", "/"])] if below else []
    entries = [(path, os.path.dirname(path) or None) for path in written
               if not model.is_clutter(path)]
    return Source(name, files, entries, None, options, "archive")


def compressed(chance, raw, program):
    if program is None:
        return raw
    if program == "gzip" and chance.random() < 0.5:
        half = len(raw) // 2                    # two members, as of `cat a.gz b.gz`
        return gzip.compress(raw[:half], 1) + gzip.compress(raw[half:], 1)
    return subprocess.run([program, "-1", "-c"], input=raw, stdout=subprocess.PIPE,
                          check=True).stdout


# ---- Zips ------------------------------------------------------------------------------------

def as_zip(chance, files, below):
    """(bytes, the paths in it).  A zip's names are Unicode."""
    out, written = io.BytesIO(), []
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as archive:
        warnings.simplefilter("ignore")         # a name twice
        for path, data in twice(chance, files):
            if not is_unicode(path):
                continue
            info = zipfile.ZipInfo(os.path.join(below, path))
            info.external_attr = 0o120777 << 16 if data is None else 0o644 << 16
            info.compress_type = chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
            archive.writestr(info, b"nowhere" if data is None else data)
            written.append(path)
        if below:
            archive.writestr("elsewhere/x.bin", b"not below the root")
            archive.writestr(below + "-not.bin", b"not below the root")
    return out.getvalue(), written


def is_unicode(path):
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def twice(chance, files):
    """The files, in any order; some of a tree with bad ones stand there twice."""
    pairs = list(files.items())
    chance.shuffle(pairs)
    if any(model.name_is_bad(path) for path in files) and chance.random() < 0.2:
        pairs.append(chance.choice(pairs))
    return pairs


# ---- Tars ------------------------------------------------------------------------------------

def by_python(chance, files, below):
    """(bytes, the paths in it)."""
    kind, pairs = chance.choice(list(FORMATS)), twice(chance, files)
    tops = sorted({path.partition("/")[0] for path in files if "/" in path})
    nested = [top for top in tops if chance.random() < 0.15]
    inner, written = {top: [] for top in nested}, []
    outer = []
    for path, data in pairs:
        top, _, rest = path.partition("/")
        (inner[top] if rest and top in inner else outer).append((path, data))
    blocks = []
    for half in (outer[::2], outer[1::2]) if chance.random() < 0.1 else (outer,):
        blocks.append(tar_of(half, kind, below, "", written))
    for top, members in inner.items():
        content = tar_of(members, kind, "", top + "/", written)
        blocks.append(tar_of([(top + ".tar", content)], "pax", below, "", []))
    if below:
        blocks.append(tar_of([("elsewhere/x.bin", b"1"), (below + ".bin", b"2")], kind, "", "", []))
    if chance.random() < 0.5:                   # one tar, or several of them end to end
        blocks = [block[:members_end(block)] for block in blocks[:-1]] + blocks[-1:]
    return b"".join(blocks), written


def members_end(raw):
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as tar:
        members = tar.getmembers()
        return tar.offset if members else 0


def tar_of(pairs, kind, below, cut, written):
    """cut: what the names within leave out.  Adds the paths to those written."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=FORMATS[kind]) as tar:
        for path, data in pairs:
            info = tarfile.TarInfo(os.path.join(below, path[len(cut):]))
            if data is None:
                info.type, info.linkname = tarfile.SYMTYPE, "nowhere"
            else:
                info.size = len(data)
            try:
                tar.addfile(info, io.BytesIO(data or b""))
            except ValueError:
                continue                        # ustar: a name without a place to cut it
            written.append(path)
    return out.getvalue()


def by_gnu_tar(chain, files, folder):
    """As `tar -C folder .` writes it, directories and all; or of the names of files alone."""
    kind = chain.chance.choice(["gnu", "pax", "v7"])
    words = ["tar", "-cf", "-", "--format", kind, "--null", "-T", "-"]
    chain.note(*words, "-C", folder)
    dot = chain.chance.choice([b"", b"./"])
    done = subprocess.run(words, cwd=chain.path(folder), check=False, stdout=subprocess.PIPE,
                          input=b"".join(dot + os.fsencode(path) + b"\0" for path in files),
                          stderr=subprocess.PIPE)
    if done.returncode not in ((0, 2) if kind == "v7" else (0,)):
        raise RuntimeError(done.stderr.decode(errors="replace"))
    with tarfile.open(fileobj=io.BytesIO(done.stdout), mode="r:") as tar:
        names = {name.removeprefix("./") for name in tar.getnames()}
    return done.stdout, [path for path in files if path in names]


# ---- The step ----------------------------------------------------------------------------------

def archived(chain, source):
    """An archive of a tree: of what a chain began with, or of what was unpacked."""
    files = {path: source.files.get(path) for path, _ in source.entries if path in source.files}
    if not files:
        raise Foreseen("nothing for an archive")
    chain.things.append(make(chain, files, source.folder))
