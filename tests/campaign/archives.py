# SPDX-License-Identifier: MIT
"""Archives as sources: tars in the forms of Python's tarfile and GNU tar, whole or compressed, with directories that
are tars inside the tar, and zips. Links are stored as links and not followed. The model treats such a member like a
file that cannot be read, or a link that leads nowhere."""

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
    """An archive of files as a source. folder: the directory of the files, or None if they are only in memory."""
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
        half = len(raw) // 2                    # two members, as made by `cat a.gz b.gz`
        return gzip.compress(raw[:half], 1) + gzip.compress(raw[half:], 1)
    return subprocess.run([program, "-1", "-c"], input=raw, stdout=subprocess.PIPE,
                          check=True).stdout


# ---- Zips ------------------------------------------------------------------------------------

def as_zip(chance, files, below):
    """Returns (bytes, paths in the archive). A zip's names are Unicode."""
    out, written = io.BytesIO(), []
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as archive:
        warnings.simplefilter("ignore")         # a name may occur twice
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
    """Returns the files in any order. In a tree with bad files, some occur twice."""
    pairs = list(files.items())
    chance.shuffle(pairs)
    if any(model.name_is_bad(path) for path in files) and chance.random() < 0.2:
        pairs.append(chance.choice(pairs))
    return pairs


# ---- Tars ------------------------------------------------------------------------------------

def by_python(chance, files, below):
    """Returns (bytes, paths in the archive)."""
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
    if chance.random() < 0.5:                   # one tar, or several tars end to end
        blocks = [block[:members_end(block)] for block in blocks[:-1]] + blocks[-1:]
    return b"".join(blocks), written


def members_end(raw):
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as tar:
        members = tar.getmembers()
        return tar.offset if members else 0


def tar_of(pairs, kind, below, cut, written):
    """Returns a tar. cut: the prefix that names inside the tar leave out. Adds the paths to those that were written.
    """
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
                continue                        # a name that ustar cannot split
            written.append(path)
    return out.getvalue()


def by_gnu_tar(chain, files, folder):
    """Makes a tar as `tar -C folder .` does, including directories, or only of the names of files."""
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
    """Makes an archive of a tree: the tree with which a chain began, or one that was unpacked."""
    files = {path: source.files.get(path) for path, _ in source.entries if path in source.files}
    if not files:
        raise Foreseen("nothing for an archive")
    chain.things.append(make(chain, files, source.folder))
