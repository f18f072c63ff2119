# SPDX-License-Identifier: MIT
"""webdataset and wids: tar files both ways, the index, and the drop-in."""

import json
import os
import struct
import sys
import unittest

import sheaf
from peers import Case

try:
    import webdataset
    import sheaf.webdataset
except ImportError as error:
    raise unittest.SkipTest("no webdataset: %s" % error)


def theirs(shards, **options):
    return webdataset.WebDataset(shards, shardshuffle=False, **options)


class WebDatasetTest(Case):
    def test_webdataset_reads_ours(self):
        for codec in ("none", "gzip"):
            with self.subTest(codec):
                shards = self.shards(self.pack("webdataset", codec))
                self.assert_images({s["__key__"]: (s["jpg"], int(s["cls"]))
                                    for s in theirs(shards)})

    def test_through_a_pipe(self):
        """`sheaf cat` as webdataset's own pipe: URLs, a worker each."""
        folder = os.path.join(self.path("ml"), "input", "data", "train")
        os.makedirs(os.path.dirname(folder))
        os.symlink(self.pack("recordio"), folder)
        url = "pipe:%s cat --channel train --channel-root %s --seed 7 %s" % (
            os.path.join(os.environ["BUILD"], "sheaf"), self.path("ml"),
            "--rank 0 --world-size 1 --workers 4 --worker {0..3}")
        found = [(s["__key__"], s["jpg"], int(s["cls"])) for s in theirs(url)]
        self.assert_images({key: (data, label) for key, data, label in found})
        self.assertEqual(len(found), len(self.images))

    def test_we_read_webdataset_s(self):
        for name in ("%d.tar", "%d.tar.gz"):
            with self.subTest(name):
                with webdataset.ShardWriter(self.path(name), maxcount=50, verbose=0) as writer:
                    for key, (data, label) in self.images.items():
                        writer.write({"__key__": key, "jpg": data, "cls": label,
                                      "json": {"n": label}})
                shards = [self.path(name % n) for n in range(3)]
                self.assert_images(self.read(shards))
                for sample in sheaf.Reader(shards):
                    self.assertEqual(json.loads(bytes(sample["json"])), {"n": sample.label})
                    self.assertEqual(bytes(sample["cls"]), b"%d" % sample.label)

    def test_the_drop_in_yields_the_same_dicts(self):
        folder = self.pack("webdataset")
        one = {s["__key__"]: s for s in theirs(self.shards(folder))}
        other = {s["__key__"]: s for s in sheaf.webdataset.WebDataset(folder)}
        for sample in one.values():
            sample.pop("__local_path__", None)
        self.assertEqual(one, other)

    def test_pipelines_go_on_working(self):
        folder = self.pack("recordio")
        dataset = sheaf.webdataset.WebDataset(folder, seed=2).decode("pil").to_tuple("jpg", "cls")
        for epoch in range(2):
            found = [(image.size, label) for image, label in dataset]
            reader = sheaf.Reader(folder, seed=2, epoch=epoch)
            self.assertEqual([label for _, label in found], [s.label for s in reader])
        batches = list(sheaf.webdataset.WebDataset(folder).to_tuple("jpg", "cls").batched(50))
        self.assertEqual([len(labels) for _, labels in batches], [50, 50, 20])

    def test_options_of_webdataset_are_refused_at_once(self):
        folder = self.pack("webdataset")
        with self.assertRaisesRegex(TypeError, "shardshuffle"):
            sheaf.webdataset.WebDataset(folder, shardshuffle=100)

    def test_labels_of_all_kinds_are_written_as_in_our_tar(self):
        given = {"a": [3], "b": [0.1], "c": [1, 2.5, -7], "d": [1e-20], "e": [1 << 53]}
        with sheaf.Packer(self.path("set")) as packer:
            for key, labels in given.items():
                packer.append(key, {"x": b""}, labels=[
                    v if isinstance(v, int) else struct.unpack("f", struct.pack("f", v))[0]
                    for v in labels])
        one = {s["__key__"]: s["cls"] for s in theirs(self.shards(self.path("set")))}
        other = {s["__key__"]: s["cls"] for s in sheaf.webdataset.WebDataset(self.path("set"))}
        self.assertEqual(one, other)

    def test_workers_share_an_epoch(self):
        from torch.utils.data import DataLoader
        dataset = sheaf.webdataset.WebDataset(self.pack("webdataset")).to_tuple("__key__")
        for workers in (0, 2, 3):
            loader = DataLoader(dataset, batch_size=None, num_workers=workers)
            passes = [[key for (key,) in loader] for _ in range(2)]
            for found in passes:
                self.assertEqual(sorted(found), sorted(self.images))
            self.assertNotEqual(*passes)


class WidsTest(Case):
    """wids reads our tar files at places of its choice, by our index."""

    def test_wids_reads_ours(self):
        sys.path.insert(0, os.environ.get("WIDS", ""))
        try:
            import wids
        except ImportError as error:
            raise unittest.SkipTest("no wids: %s" % error)
        finally:
            del sys.path[0]
        folder = self.pack("webdataset")
        dataset = wids.ShardListDataset(os.path.join(folder, "shardindex.json"),
                                         cache_dir=self.path("cache"), keep=True)
        self.assertEqual(len(dataset), len(self.images))
        found = {}
        for i in range(len(dataset)):
            sample = dataset.get_shard(i)[0][dataset.get_shard(i)[1]]
            found[sample["__key__"]] = (sample[".jpg"].read(), int(sample[".cls"].read()))
        self.assert_images(found)


if __name__ == "__main__":
    unittest.main()
