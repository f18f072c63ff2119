# SPDX-License-Identifier: MIT
"""Batches of pixels: the crops are those of Pillow at places that follow from the sample's seed, in
the loader's order, whatever the batches, threads, ranks and restarts; images that cannot be decoded
are bad records; memory comes back when nobody shows it.  Needs NumPy, Pillow and torch."""

import collections
import gc
import io
import itertools
import os
import random
import unittest
import warnings

import sheaf
from support import Case, pack

try:
    import numpy
    import torch
    from PIL import Image
    import sheaf.numpy
    import sheaf.torch
except ImportError as error:
    raise unittest.SkipTest("no torch, NumPy or Pillow: %s" % error)

COUNT = 90


def photo(number):
    chance = random.Random(number)
    width, height = chance.randrange(40, 120), chance.randrange(40, 120)
    small = Image.frombytes("RGB", (9, 7), chance.randbytes(9 * 7 * 3))
    image, file = small.resize((width, height), Image.BICUBIC), io.BytesIO()
    image.save(file, "JPEG", quality=90, subsampling=number % 3)
    return file.getvalue()


def damaged(data):
    """Its rows are there from the first one on, but their data end at once."""
    return data[:data.index(b"\xff\xda") + 24] + b"\xff\xd9"


def expected(data, crop, size):
    top, left, height, width, flipped = crop
    image = Image.open(io.BytesIO(data)).convert("RGB")
    image = image.crop((left, top, left + width, top + height)).resize((size, size), Image.BILINEAR)
    return numpy.asarray(image.transpose(Image.FLIP_LEFT_RIGHT) if flipped else image)


class PixelsCase(Case):
    @classmethod
    def share(cls):
        cls.photos = {"c%d/%03d" % (i % 3, i): photo(i) for i in range(COUNT)}
        cls.set = pack(os.path.join(cls.shared, "set"), [
            (key, {"jpg": data, "json": b"{}"}, i % 3)
            for i, (key, data) in enumerate(cls.photos.items())])
        cls.bad = pack(os.path.join(cls.shared, "bad"), [
            (key, {"jpg": data if i % 10 else damaged(data)}, i % 3)
            for i, (key, data) in enumerate(cls.photos.items())])

    def loader(self, source=None, batch_size=8, size=24, **options):
        threads, layout = options.pop("threads", 2), options.pop("layout", "nchw")
        made = sheaf.torch.DataLoader(
            source or self.set, batch_size, seed=5, shuffle_buffer=40,
            pixels=sheaf.Pixels(size, threads=threads, layout=layout), **options)
        self.addCleanup(made.close)
        return made

    @staticmethod
    def seen(batches):
        """{key: (pixels, crop, label)} and the keys in their order."""
        found, order = {}, []
        for batch in batches:
            for key, pixels, crop, label in zip(batch.keys, batch.pixels, batch.crops, batch.labels):
                found[key] = pixels.numpy().tobytes(), tuple(crop.tolist()), int(label)
                order.append(key)
        return found, order


class LoaderTest(PixelsCase):
    def test_pixels_are_pillows(self):
        for layout in ("nchw", "nhwc"):
            for batch in self.loader(layout=layout):
                self.assertEqual((batch.pixels.dtype, batch.labels.dtype, batch.crops.dtype),
                                 (torch.uint8, torch.int64, torch.int32))
                self.assertEqual(batch.fields("json"), [b"{}"] * len(batch))
                pixels = batch.pixels.permute(0, 2, 3, 1) if layout == "nchw" else batch.pixels
                for i, key in enumerate(batch.keys):
                    self.assertTrue((pixels[i].numpy() == expected(
                        self.photos[key], batch.crops[i].tolist(), 24)).all(), key)
                    self.assertEqual(batch.labels[i], int(key[1]))

    def test_whatever_the_batches_threads_and_ranks(self):
        whole, order = self.seen(self.loader())
        with sheaf.Reader(self.set, seed=5, shuffle_buffer=40) as reader:
            self.assertEqual(order, [sample.key for sample in reader])
        for batch_size, threads in ((1, 1), (7, 3), (64, 8), (200, 2)):
            self.assertEqual(self.seen(self.loader(batch_size=batch_size, threads=threads)),
                             (whole, order))
        for world in (2, 3):
            parts = [self.seen(self.loader(rank=rank, world_size=world))[0] for rank in range(world)]
            self.assertEqual({key: value for part in parts for key, value in part.items()}, whole)

    def test_killed_and_resumed(self):
        whole, order = self.seen(self.loader(batch_size=4))
        chance, state, found, keys = random.Random(4), None, {}, []
        for i in range(12):
            loader = self.loader(batch_size=4, threads=1 + i % 3)
            if state is not None:
                loader.load_state_dict(state)
            batches = itertools.islice(loader, None if i == 11 else chance.randrange(4))
            part, own = self.seen(batches)
            found.update(part)
            keys += own
            state = loader.state_dict()
            loader.close()
        self.assertEqual((found, keys), (whole, order))

    def test_epochs_differ(self):
        loader = self.loader()
        first, second = self.seen(loader)[0], self.seen(loader)[0]
        self.assertEqual(set(first), set(second))
        self.assertLess(sum(first[key] == second[key] for key in first), 3)

    def test_views(self):
        pixels = sheaf.Pixels(views=[(2, 24, (0.32, 1)), (3, 12, (0.05, 0.32))])
        loader = sheaf.torch.DataLoader(self.set, 8, seed=5, pixels=pixels)
        self.addCleanup(loader.close)
        for batch in loader:
            self.assertEqual([tuple(view.shape[1:]) for view in batch.pixels],
                             [(2, 3, 24, 24), (3, 3, 12, 12)])
            for i, key in enumerate(batch.keys):
                for k in range(5):
                    view = batch.pixels[k >= 2][i, k - 2 * (k >= 2)]
                    self.assertTrue((view.permute(1, 2, 0).numpy() == expected(
                        self.photos[key], batch.crops[i, k].tolist(), 12 if k >= 2 else 24)).all())

    def test_memory_is_not_used_while_it_is_shown(self):
        kept = [(batch.pixels[-1], batch.pixels[-1].clone()) for batch in self.loader()]
        for tensor, copy in kept:
            self.assertTrue(torch.equal(tensor, copy))

    def test_memory_comes_back(self):
        loader = self.loader(batch_size=5)
        for _ in range(3):
            for batch in loader:
                pass
        del batch
        gc.collect()
        blocks = [block for free in loader._stage.memory.free.values() for block in free]
        self.assertLess(len(blocks), 12)

    def test_refused(self):
        for options, says in (({"num_workers": 2}, "num_workers must be 0"),
                              ({"decode": len}, "decode and collate_fn None"),
                              ({"memory_bytes": 10000}, "give memory_bytes=")):
            with self.assertRaisesRegex(sheaf.Error, says):
                self.loader(**options)
        for options, says in (({"size": 0}, "the width of a crop is 0"),
                              ({"crop": "some"}, "crop is 'some': expected random, center, whole"),
                              ({"scale": (0, 1)}, "scale is 0 to 1"), ({"size": None}, "or views")):
            with self.assertRaisesRegex(sheaf.ArgumentError, says):
                sheaf.Pixels(**{"size": 24, **options})
        with self.assertRaisesRegex(sheaf.ArgumentError, "sample c./... has no field png, but jpg"):
            pixels = sheaf.Pixels(24, field="png")
            list(sheaf.torch.DataLoader(self.set, 8, pixels=pixels))


class BadImagesTest(PixelsCase):
    def test_an_error_names_the_sample(self):
        with self.assertRaisesRegex(sheaf.CorruptError, r"shard-.*: record \d+: sample c./..0, field "
                                                        r"jpg: damaged JPEG"):
            list(self.loader(self.bad))

    def test_they_are_left_out_and_counted(self):
        problems = []
        loader = self.loader(self.bad, on_corrupt="skip", report=problems.append)
        found, order = self.seen(loader)
        good = {key for i, key in enumerate(self.photos) if i % 10}
        self.assertEqual(set(found), good)
        self.assertEqual(len(order), len(good))
        self.assertEqual(len(problems), COUNT - len(good))
        self.assertEqual({problem.code for problem in problems}, {"CORRUPT"})
        self.assertEqual(loader.stats().corrupt, COUNT - len(good))
        for key, (pixels, crop, label) in found.items():
            own = numpy.frombuffer(pixels, numpy.uint8).reshape(3, 24, 24).transpose(1, 2, 0)
            self.assertTrue((own == expected(self.photos[key], crop, 24)).all())
            self.assertEqual(label, int(key[1]))

    def test_too_many(self):
        loader = self.loader(self.bad, on_corrupt="skip", max_corrupt=3, report=lambda problem: None)
        with self.assertRaisesRegex(sheaf.CorruptError, "more than 3 bad images"):
            list(loader)

    def test_an_error_comes_in_its_turn(self):
        with sheaf.Reader(self.bad, seed=5, shuffle_buffer=40) as reader:
            keys = [sample.key for sample in reader]
        first = next(i for i, key in enumerate(keys) if key.endswith("0"))
        given = []
        with self.assertRaises(sheaf.CorruptError):
            for batch in self.loader(self.bad, batch_size=2):
                given += batch.keys
        self.assertEqual(given, keys[:first // 2 * 2])


class NumpyTest(PixelsCase):
    def test_batches(self):
        whole, order = self.seen(self.loader())
        with sheaf.Reader(self.set, seed=5, shuffle_buffer=40) as reader:
            batches = list(sheaf.numpy.batches(reader, 16, pixels=sheaf.Pixels(24)))
        self.assertEqual([key for batch in batches for key in batch["__key__"]], order)
        for batch in batches:
            for i, key in enumerate(batch["__key__"]):
                self.assertEqual(batch["__pixels__"][i].tobytes(), whole[key][0])
                self.assertEqual(tuple(batch["__crops__"][i]), whole[key][1])
                self.assertEqual(batch["__label__"][i], whole[key][2])

    def test_positions(self):
        """Of the batch that was given, though the reader is ahead of it."""
        order = self.seen(self.loader())[1]
        with sheaf.Reader(self.set, seed=5, shuffle_buffer=40) as reader:
            batches = sheaf.numpy.batches(reader, 16, pixels=sheaf.Pixels(24))
            next(batches)
            position = next(batches)["__position__"]
        with sheaf.Reader(self.set, seed=5, shuffle_buffer=40) as reader:
            reader.resume(position)
            self.assertEqual([sample.key for sample in reader], order[32:])

    def test_bad_images(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with sheaf.Reader(self.bad, on_corrupt="skip") as reader:
                found = collections.Counter(key for batch in sheaf.numpy.batches(
                    reader, 16, pixels=sheaf.Pixels(24)) for key in batch["__key__"])
        self.assertEqual(set(found), {key for i, key in enumerate(self.photos) if i % 10})
