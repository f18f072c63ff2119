# SPDX-License-Identifier: MIT
"""Rows 4, 5, 12 and 18: packing a tree to shards on the same disk."""

import os
import shutil

import data
import peers
from run import Contender, take_turns


def _packs(bench, before, suffix=""):
    """The contenders: the command for each container, the smallest possible work, and tar; and the commands that
    remove their output."""
    source, items = bench.data.tree(), bench.data.images
    size = data.manifest(bench.data.shards("tfrecord"))["payload_bytes"]
    out = os.path.join(bench.data.folder, "out")

    def clean():
        bench.remove(out)
        bench.remove(out + ".tar")
        before()

    return [Contender("sheaf pack %s%s" % (container, suffix), [
        bench.data.sheaf, "pack", source, out, "--format", container],
        bytes=size, items=items, whole=True, before=clean) for container in data.CONTAINERS] + [
            Contender("pack_files" + suffix, [bench.data.program("pack_files"), source, out],
                      bytes=size, items=items, whole=True, before=clean)] + (
        [Contender("tar" + suffix, ["tar", "-cf", out + ".tar", "-C", source, "."],
                   bytes=size, items=items, whole=True, before=clean)] if shutil.which("tar") else []), clean


def pack_warm(bench, results):
    turns, clean = _packs(bench, os.sync)
    out = os.path.join(bench.data.folder, "out")
    if shutil.which("tar"):     # sheaf pack syncs its shards, too
        turns.append(Contender("tar, synced", [
            "sh", "-c", 'tar -cf "$1" -C "$2" . && sync "$1"', "sh", out + ".tar",
            bench.data.tree()], bytes=turns[0].bytes, items=turns[0].items, whole=True,
            before=clean))
    for name, work, mxnet in (("webdataset ShardWriter", "webdataset_write", False),
                              ("im2rec", "im2rec", True)):
        turns += peers.found(bench, results, [(name, [work, bench.data.tree(), out])],
                             items=bench.data.images, mxnet=mxnet, before=clean)
    take_turns(turns, results, most=5, seconds=60)
    clean()


def pack_cold(bench, results):
    if not bench.can_drop_caches():
        for name in ["tar, cold", "pack_files, cold"] + ["sheaf pack %s, cold" % c for c in data.CONTAINERS]:
            results.missing[name] = "only root can drop the page cache"
        return
    turns, clean = _packs(bench, bench.drop_caches, ", cold")
    take_turns(turns, results, seconds=45)
    clean()


def pack_small_files(bench, results):
    out = os.path.join(bench.data.folder, "out")

    def clean():
        bench.remove(out)
        os.sync()

    # A file takes a block of 4 KiB, and the shards need space as well.
    if not bench.has_space(results, ["150,000 files", "1,500,000 files"],
                           10 * bench.data.small_files / 150000):
        return
    turns = []
    for name, replicate in (("150,000 files", 1), ("1,500,000 files", 10)):
        tree = bench.data.small_tree(replicate)
        turns.append(Contender(name, [
            bench.data.sheaf, "pack", tree, out, "--format", "webdataset"],
            items=bench.data.small_files * replicate, whole=True, before=clean))
    # The first round finds the names and files of the tree in memory, or brings them there.
    take_turns(turns, results, least=2, most=2)
    clean()
    for measures in results.measures.values():
        del measures[:-1]


def pack_smaller(bench, results):
    out = os.path.join(bench.data.folder, "out")
    turns = []

    def clean():
        bench.remove(out)
        os.sync()

    for kind, count in bench.data.photos.items():
        tree = bench.data.photo_tree(kind)
        turns.append(Contender("sheaf pack --resize 256, " + kind, [
            bench.data.sheaf, "pack", tree, out, "--format", "recordio", "--resize", "256"],
            items=count, whole=True, before=clean))
        turns += peers.found(bench, results, [
            ("im2rec --resize 256, " + kind, ["im2rec_resize", tree, out]),
            ("Pillow, " + kind, ["pillow_resize", tree, out])], items=count, before=clean)
    take_turns(turns, results, most=5, seconds=60)
    clean()
