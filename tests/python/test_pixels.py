# SPDX-License-Identifier: MIT
"""Batches of pixels: the crops are those of Pillow at places that follow from the sample's seed, in
the loader's order, whatever the batches, threads, ranks and restarts; images that cannot be decoded
are bad records; memory comes back when nobody shows it.  Needs NumPy, Pillow,
torch and xxhash."""

import collections
import copy
import gc
import gzip
import io
import itertools
import math
import os
import random
import signal
import subprocess
import sys
import unittest
import unittest.mock
import warnings

import sheaf
from support import Case, pack

try:
    import numpy
    import torch
    from PIL import Image
    import sheaf.numpy
    import sheaf.torch
    from sheaf import _pixel_stage
    import xxhash
except ImportError as error:
    raise unittest.SkipTest("no torch, NumPy, Pillow or xxhash: %s" % error)

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))
import step_reference       # pylint: disable=wrong-import-position

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

    def test_repr(self):
        self.assertEqual(repr(next(iter(self.loader()))), "<sheaf.PixelBatch of 8 samples: pixels [8, 3, 24, 24]>")
        views = sheaf.Pixels(views=[(2, 24, (0.32, 1)), (1, 12, (0.05, 0.32))])
        loader = sheaf.torch.DataLoader(self.set, 1, pixels=views)
        self.addCleanup(loader.close)
        self.assertEqual(repr(next(iter(loader))),
                         "<sheaf.PixelBatch of 1 sample: pixels [1, 2, 3, 24, 24], [1, 1, 3, 12, 12]>")

    def test_attributes_can_be_replaced(self):
        """A program may put other values into a batch, and attributes of its own."""
        batch = next(iter(self.loader()))
        batch.pixels, batch.labels, batch.note = batch.pixels.float(), None, "seen"
        self.assertEqual((batch.pixels.dtype, batch.labels, batch.note), (torch.float32, None, "seen"))
        self.assertEqual((tuple(batch.crops.shape), batch.masks), ((8, 5), {}))
        with self.assertRaisesRegex(AttributeError, "cannot be deleted"):
            del batch.crops

    def test_memory_is_not_used_while_it_is_shown(self):
        kept = [(batch.pixels[-1], batch.pixels[-1].clone()) for batch in self.loader()]
        for tensor, old in kept:
            self.assertTrue(torch.equal(tensor, old))

    def test_memory_comes_back(self):
        loader = self.loader(batch_size=5)
        for _ in range(3):
            for batch in loader:
                pass
        del batch
        gc.collect()
        self.assertLessEqual(loader._stage.slots, loader._stage.ahead + 2)

    def test_samples_stay(self):
        """Bytes of samples stay as they were after their batch and its loader are gone."""
        loader, kept, count = self.loader(batch_size=7), [], 0
        for batch in loader:
            self.assertEqual(len(batch), len(batch.keys))
            if count % 2:                       # of every second batch, nobody asks for the samples
                kept += zip(batch.keys, batch.fields("jpg"), batch.seeds)
            count += 1
        loader.close()
        del batch, loader
        gc.collect()
        self.assertEqual(count, -(-COUNT // 7))
        self.assertGreater(len(kept), COUNT // 3)
        for key, view, _ in kept:
            self.assertEqual(view, self.photos[key])

    def test_interrupted(self):
        """A signal handler runs while a batch is made. Afterwards the pass can go on, whatever the handler raises."""
        class Interrupt(BaseException):
            pass

        class Error(Exception):
            pass

        raised = []

        def interrupt(*_):
            raise raised[-1]

        large, file = Image.frombytes("RGB", (2000, 1500), random.Random(1).randbytes(9000000)), io.BytesIO()
        large.save(file, "JPEG")
        source = pack(self.path("large"), [("%02d" % i, {"jpg": file.getvalue()}, i % 3) for i in range(120)])
        loader = self.loader(source, batch_size=40, threads=1, size=8)
        batches = iter(loader)
        keys = next(batches).keys
        pool = loader._stage.pool
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, interrupt))
        for kind in (Interrupt, Error):
            raised.append(kind)
            before = pool.busy_ns
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with self.assertRaises(kind):
                next(batches)
            self.assertEqual(pool.busy_ns, before)      # it grows when a batch is made
            keys += next(batches).keys
        del batches
        loader.close()
        self.assertEqual(len(set(keys)), 120)

    def test_labels_stay(self):
        """Labels and crops that the program keeps have memory of their own, also those of 40 batches."""
        loader = self.loader(batch_size=2)
        kept = [(batch.keys, batch.labels, batch.crops, batch.labels.clone(), batch.crops.clone()) for batch in loader]
        self.assertGreater(len(kept), 40)
        for keys, labels, crops, old_labels, old_crops in kept:
            self.assertTrue(torch.equal(labels, old_labels) and torch.equal(crops, old_crops))
            self.assertEqual(labels.tolist(), [int(key[1]) for key in keys])
        self.assertLessEqual(loader._stage.slots, loader._stage.ahead + 2)

    def test_pinned_memory_is_for_one_batch(self):
        """A copy to a GPU may still read pinned memory after its tensor is dropped. So memory is used again only by
        PyTorch's allocator, which knows when the copy has ended."""
        whole, order = self.seen(self.loader())
        loader, empty, made = self.loader(), torch.empty, []

        def pinned(shape, dtype, pin_memory):
            self.assertTrue(pin_memory)
            made.append(empty(shape, dtype=dtype))
            return made[-1]
        loader._stage.pins = True
        with unittest.mock.patch.object(torch, "empty", pinned):
            batches = [(batch.pixels, batch) for batch in loader]
        self.assertEqual(self.seen(batch for _, batch in batches), (whole, order))
        addresses = {tensor.data_ptr() for tensor in made}
        self.assertEqual((len(made), len(addresses)), (len(batches), len(batches)))
        self.assertEqual({pixels.data_ptr() for pixels, _ in batches}, addresses)
        self.assertTrue(all(any(pixels is tensor for tensor in made) for pixels, _ in batches[:-1]))

    def test_passes_that_are_left(self):
        """The samples that were read ahead go to nobody, and the next pass is whole."""
        whole, order = self.seen(self.loader(epoch=7))
        loader = self.loader()
        for _ in range(6):
            next(iter(loader))
        loader.set_epoch(7)
        first, second = iter(loader), None
        next(first)
        loader.set_epoch(7)
        second = self.seen(loader)
        self.assertEqual(second, (whole, order))
        with self.assertRaisesRegex(sheaf.StateError, "this pass over the data has ended"):
            for _ in first:
                pass

    def test_closed_in_a_pass(self):
        loader = self.loader()
        batches = iter(loader)
        next(batches)
        loader.close()
        with self.assertRaisesRegex(sheaf.StateError, "the loader is closed"):
            for _ in batches:
                pass

    def test_labels_of_every_kind(self):
        """One, several, fractions, none, and a different number of them."""
        photos = list(self.photos.values())
        for labels, expected in (([(i,) for i in range(6)], torch.arange(6)),
                                 ([(i, i + 1) for i in range(6)], torch.tensor([(i, i + 1) for i in range(6)])),
                                 ([(i / 2,) for i in range(6)], torch.arange(6).double() / 2),
                                 ([()] * 6, None), ([(1,) * (1 + i % 2) for i in range(6)], None)):
            source = pack(self.path("labels"), [("%d" % i, {"jpg": photos[i]}, labels[i]) for i in range(6)],
                          overwrite=True, classes=None)
            batch = next(iter(self.loader(source, batch_size=6, no_shuffle=True)))
            if expected is None:
                self.assertIsNone(batch.labels)
            else:
                self.assertEqual(batch.labels.dtype, expected.dtype)
                self.assertTrue(torch.equal(batch.labels, expected))

    def test_a_child_process_lets_go_of_batches(self):
        loader = self.loader()
        batches = iter(loader)
        batch = next(batches)
        before = batch.pixels.clone()
        child = os.fork()
        if child == 0:
            del batches, batch, loader
            gc.collect()
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertTrue(torch.equal(batch.pixels, before))
        self.assertEqual(sum(len(each) for each in batches), COUNT - len(batch))

    def test_a_forked_child_is_told(self):
        """A child lacks the threads that make the crops, and would wait for them forever."""
        batches = iter(self.loader())
        next(batches)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            for call in (lambda: next(batches), lambda: list(batches)):
                try:
                    call()
                except sheaf.StateError as error:
                    os.write(write, b"%s\n" % str(error).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            said = file.read()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertRegex(said, b"^(the loader was opened before fork.*\n){2}$")
        self.assertEqual(len(list(batches)), 11)

    def test_streams(self):
        """Streams have the batches of a reader, up to their end, and also with drop_last."""
        stream = self.path("stream")
        os.mkdir(stream)
        for name in os.listdir(self.set):
            if name.endswith(".tar"):
                with open(os.path.join(self.set, name), "rb") as file, \
                        open(os.path.join(stream, name + ".gz"), "wb") as to:
                    to.write(gzip.compress(file.read(), 1))
        with sheaf.Reader(stream, seed=5, shuffle_buffer=40) as reader:
            keys = [sample.key for sample in reader]
        self.assertEqual(len(keys), COUNT)
        for drop_last in (False, True):
            for _ in range(2):
                loader = self.loader(stream, drop_last=drop_last)
                found = [key for batch in loader for key in batch.keys]
                self.assertEqual(found, keys[:COUNT // 8 * 8 if drop_last else COUNT])

    def test_refused(self):
        for options, says in (({"num_workers": 2}, "num_workers must be 0"),
                              ({"decode": len}, "decode and collate_fn None"),
                              ({"on_error": "skip"}, "^on_error='skip' .* give on_corrupt=\"skip\""),
                              ({"memory_bytes": 10000}, "give memory_bytes=")):
            with self.assertRaisesRegex(sheaf.Error, says):
                self.loader(**options)
        for options, says in (({"size": 0}, "the width of a crop is 0"),
                              ({"crop": "some"}, "crop is 'some': expected random, center, whole"),
                              ({"scale": (0, 1)}, "scale is 0 to 1"), ({"size": None}, "or views")):
            with self.assertRaisesRegex(sheaf.ArgumentError, says):
                sheaf.Pixels(**{"size": 24, **options})
        for options, says in (({"size": 24.0}, r"crop is 24.0: expected a number of pixels, or \(height, width\)"),
                              ({"size": "24"}, "crop is '24'"), ({"size": (1, 2, 3)}, r"crop is \(1, 2, 3\)"),
                              ({"ratio": 2}, r"ratio is 2: expected two numbers \(least, most\)"),
                              ({"scale": (1,)}, r"scale is \(1,\)"), ({"threads": -1}, "threads is -1"),
                              ({"threads": 1 << 40}, "threads is 1099511627776"),
                              ({"crop": "center", "resize": (30, 30)}, r"resize is \(30, 30\): expected a whole"),
                              ({"size": None, "views": []}, "there are 0 views: expected 1 to 1024"),
                              ({"size": None, "views": [(2, 24)]}, r"a view is \(2, 24\): expected \(number"),
                              ({"resize": 256}, "resize is 256, but only crop=center is made of a resized picture"),
                              ({"crop": "whole", "resize": 256}, "give crop=center, or leave resize out"),
                              ({"crop": "center", "scale": (0.5, 1)}, "has no effect with crop='center'"),
                              ({"crop": "whole", "ratio": (1, 1)}, "has no effect with crop='whole'"),
                              ({"size": None, "views": [(2, 24, (0.1, 1))], "scale": (0.5, 1)}, "each view has"),
                              ({"size": None, "views": 5}, "views is 5: expected a list"),
                              ({"flip": "0.5"}, "flip is '0.5': expected a probability"),
                              ({"flip": None}, "flip is None"), ({"scale": ("0.1", "1")}, "expected two numbers"),
                              ({"field": 5}, "field is 5: expected the name"), ({"field": ""}, "field is ''"),
                              ({"masks": None}, "masks=None: expected a list"),
                              ({"masks": [5]}, r"masks=\[5\]: expected a list"),
                              ({"size": None, "views": [(True, 24, (0, 1))]}, "crops of a view is True")):
            with self.assertRaisesRegex(sheaf.ArgumentError, says):
                sheaf.Pixels(**{"size": 24, **options})
        sheaf.Pixels(24, crop="center", scale=[0.08, 1.0], ratio=numpy.array([3 / 4, 4 / 3]))    # the defaults
        sheaf.Pixels(views=[(2, 24, (0.1, 1))], scale=numpy.array([0.08, 1.0]))
        sheaf.Pixels(24, scale=numpy.array([0.2, 1.0]))
        with self.assertRaisesRegex(sheaf.ArgumentError, "has no effect with crop='center'"):
            sheaf.Pixels(24, crop="center", scale=numpy.array([0.2, 1.0]))
        with self.assertRaisesRegex(sheaf.ArgumentError, r"pixels is 24: expected a sheaf.Pixels, such as"):
            sheaf.torch.DataLoader(self.set, 8, pixels=24)
        with sheaf.Reader(self.set) as reader, self.assertRaisesRegex(sheaf.ArgumentError, "pixels is 24"):
            sheaf.numpy.batches(reader, 8, pixels=24)
        with self.assertRaisesRegex(sheaf.ArgumentError, "sample c./... has no field png, but jpg"):
            pixels = sheaf.Pixels(24, field="png")
            list(sheaf.torch.DataLoader(self.set, 8, pixels=pixels))


class WithoutNumPyTest(PixelsCase):
    def test_only_pixels_need_it(self):
        program = ("import sys; sys.modules['numpy'] = None\n"
                   "import sheaf, sheaf.torch\n"
                   "print(sum(len(batch) for batch in sheaf.torch.DataLoader(sys.argv[1], 8)))\n"
                   "sheaf.torch.DataLoader(sys.argv[1], 8, pixels=sheaf.Pixels(24))\n")
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", program, self.set], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.stdout, "%d\n" % COUNT, done.stderr)
        self.assertIn("ImportError: batches of pixels need NumPy: pip install numpy", done.stderr)


class VectorsTest(Case):
    """The tensors of tests/corpus/step_vectors.txt, whatever the threads, batches, worlds, memory
    and restarts."""

    @classmethod
    def share(cls):
        cls.vectors = step_reference.vectors()
        cls.sets = [pack(os.path.join(cls.shared, container), [
            (step_reference.key(i), {"jpg": step_reference.image(i)}, i % 3)
            for i in range(step_reference.COUNT)], format=container, codec=codec)
            for container, codec in (("webdataset", "none"), ("recordio", "zstd"), ("tfrecord", "lz4"))]

    def loader(self, source, batch_size, threads, **options):
        made = sheaf.torch.DataLoader(source, batch_size, seed=step_reference.SEED, pixels=sheaf.Pixels(
            step_reference.SIDE, threads=threads, layout="nhwc"), **options)
        self.addCleanup(made.close)
        return made

    def check(self, batches, epoch=0):
        keys = []
        for batch in batches:
            for key, seed, crop, pixels in zip(batch.keys, batch.seeds, batch.crops, batch.pixels):
                self.assertEqual((int(seed), tuple(crop.tolist()),
                                  xxhash.xxh3_64_intdigest(pixels.numpy())),
                                 self.vectors[epoch, key])
                keys.append(key)
        return keys

    def test_whatever_the_threads_and_batches(self):
        for threads, batch_size in itertools.product((1, 2, 7, 64), (1, 7, 64)):
            for source in self.sets:
                loader = self.loader(source, batch_size, threads,
                                     memory_bytes=(8 << 20) + batch_size * 4096 * 20)
                for epoch in range(2):
                    self.assertEqual(len(self.check(loader, epoch)), step_reference.COUNT)

    def test_worlds(self):
        for world in (2, 4):
            keys = [key for rank in range(world) for key in self.check(
                self.loader(self.sets[0], 8, 2, rank=rank, world_size=world))]
            self.assertEqual(len(set(keys)), step_reference.COUNT)

    def test_resumed(self):
        """Killed after each batch."""
        state, keys = None, []
        for i in range(-(-step_reference.COUNT // 7)):
            loader = self.loader(self.sets[0], 7, 1 + i % 3)
            if state is not None:
                loader.load_state_dict(state)
            keys += self.check(itertools.islice(loader, 1))
            state = loader.state_dict()
            loader.close()
        self.assertEqual(len(set(keys)), step_reference.COUNT)


class MasksTest(Case):
    """Masks are cropped and mirrored as their image is, and keep their values."""

    @classmethod
    def share(cls):
        chance, cls.masks, samples = random.Random(3), {}, []
        for i in range(40):
            data = photo(i)
            size = Image.open(io.BytesIO(data)).size
            mask = Image.frombytes("P", size, bytes(chance.randrange(21) for _ in range(
                size[0] * size[1])))
            mask.putpalette(bytes(range(63)))
            file = io.BytesIO()
            mask.save(file, "PNG")
            cls.masks["m/%02d" % i] = Image.frombytes("L", size, mask.tobytes())
            samples.append(("m/%02d" % i, {"a.png": file.getvalue(), "jpg": data}, i % 3))
        cls.set = pack(os.path.join(cls.shared, "masks"), samples)
        samples[7] = (samples[7][0], {**samples[7][1], "a.png": samples[8][1]["a.png"]}, 1)
        cls.bad = pack(os.path.join(cls.shared, "bad"), samples)

    def expected(self, key, crop, size):
        top, left, height, width, flipped = crop
        mask = self.masks[key].crop((left, top, left + width, top + height)).resize(
            (size, size), Image.NEAREST)
        return numpy.asarray(mask.transpose(Image.FLIP_LEFT_RIGHT) if flipped else mask)

    def loader(self, source, pixels, **options):
        made = sheaf.torch.DataLoader(source, 8, seed=5, pixels=pixels, **options)
        self.addCleanup(made.close)
        return made

    def test_one_view(self):
        seen = 0
        for batch in self.loader(self.set, sheaf.Pixels(24, masks=("a.png",))):
            self.assertEqual(list(batch.masks), ["a.png"])
            mask = batch.masks["a.png"]
            self.assertEqual((mask.dtype, tuple(mask.shape[1:])), (torch.uint8, (24, 24)))
            for i, key in enumerate(batch.keys):
                self.assertTrue((mask[i].numpy() == self.expected(
                    key, batch.crops[i].tolist(), 24)).all(), key)
                seen += 1
        self.assertEqual(seen, 40)

    def test_views(self):
        pixels = sheaf.Pixels(views=[(2, 24, (0.32, 1)), (3, 12, (0.05, 0.32))], masks=["a.png"])
        for batch in self.loader(self.set, pixels):
            views = batch.masks["a.png"]
            self.assertEqual([tuple(view.shape[1:]) for view in views], [(2, 24, 24), (3, 12, 12)])
            for i, key in enumerate(batch.keys):
                for k in range(5):
                    self.assertTrue((views[k >= 2][i, k - 2 * (k >= 2)].numpy() == self.expected(
                        key, batch.crops[i, k].tolist(), 12 if k >= 2 else 24)).all())

    def test_a_mask_of_another_size(self):
        pixels = sheaf.Pixels(24, masks=("a.png",))
        with self.assertRaisesRegex(sheaf.CorruptError, r"record \d+: sample m/07, field a.png: a mask "
                                                        r"of \d+ x \d+ pixels, expected"):
            list(self.loader(self.bad, pixels))
        keys = []
        for batch in self.loader(self.bad, pixels, on_corrupt="skip", report=lambda problem: None):
            self.assertEqual(len(batch.masks["a.png"]), len(batch))
            for i, key in enumerate(batch.keys):
                self.assertTrue((batch.masks["a.png"][i].numpy() == self.expected(
                    key, batch.crops[i].tolist(), 24)).all())
            keys += batch.keys
        self.assertEqual(len(keys), 39)

    def test_numpy(self):
        with sheaf.Reader(self.set) as reader:
            for batch in sheaf.numpy.batches(reader, 16, pixels=sheaf.Pixels(24, masks=("a.png",))):
                for i, key in enumerate(batch["__key__"]):
                    self.assertTrue((batch["__masks__"]["a.png"][i] == self.expected(
                        key, batch["__crops__"][i].tolist(), 24)).all())

    def test_refused(self):
        with self.assertRaisesRegex(sheaf.ArgumentError, "sample m/.. has no field b.png, but a.png"):
            list(self.loader(self.set, sheaf.Pixels(24, masks=("b.png",))))
        for options, says in (({"masks": "a.png"}, "expected a list of names"),
                              ({"masks": ["a.png"], "field": "a.png"}, "is among the masks"),
                              ({"masks": [""]}, "mask 0 has no name")):
            with self.assertRaisesRegex(sheaf.ArgumentError, says):
                sheaf.Pixels(24, **options)


class StateTest(PixelsCase):
    def test_versions(self):
        loader = self.loader()
        next(iter(loader))
        state = loader.state_dict()
        self.assertTrue(state["pixels"].startswith("pixels1, libjpeg-turbo "))
        self.loader().load_state_dict(state)
        with self.assertRaisesRegex(sheaf.ArgumentError, "the state is of pixels0, but"):
            self.loader().load_state_dict({**state, "pixels": "pixels0, libjpeg-turbo 1"})
        with self.assertWarnsRegex(UserWarning, "decoded by pixels1, libjpeg-turbo 1, and now by"):
            self.loader().load_state_dict({**state, "pixels": "pixels1, libjpeg-turbo 1"})

    def test_a_sampler_is_copied(self):
        """Programs copy samplers, also in a pass."""
        loader = self.loader()
        batches = iter(loader)
        next(batches), next(batches)
        sampler = copy.deepcopy(loader.sampler)
        self.assertEqual(sampler.state_dict(), loader.sampler.state_dict())
        self.assertEqual(sampler.latest.handed, 2)

    def test_times(self):
        loader = self.loader()
        for _ in loader:
            pass
        stats = loader.stats()
        self.assertEqual((stats.decode_threads, stats.batches), (2, 12))
        self.assertGreater(min(stats.decode_ns, stats.collate_ns, stats.wait_ns), 0)
        self.assertRegex(str(stats), r"^90 samples, .* 12 batches; waits \d+% of the time for data; "
                                     r"\d+% of 2 decode threads busy; reading takes \d+% of the time, "
                                     r"and handing over \d+\.\d%")


class MemoryTest(PixelsCase):
    def test_shares(self):
        """Whatever the batches, memory for all that is under way is within the limit."""
        for size, threads, batch_size, memory in ((24, 2, 8, 1 << 20), (24, 64, 1, 1 << 20),
                                                  (224, 64, 4, 1 << 28), (224, 2, 256, 1 << 29)):
            pixels = sheaf.Pixels(size, threads=threads)
            for reads in (True, False):
                shares = _pixel_stage.memory_of(pixels, memory, batch_size, reads)
                batches = (shares.ahead + batch_size) * pixels.bytes
                self.assertLessEqual(shares.decoding + batches, memory * (3 if reads else 4) // 4)
                self.assertGreaterEqual(shares.ahead, 2 * batch_size)
                self.assertEqual(shares.reading, memory - shares.decoding - batches)

    def test_least(self):
        pixels = sheaf.Pixels(24, threads=2)
        for reads in (True, False):
            with self.assertRaisesRegex(sheaf.LimitError, "give memory_bytes=") as raised:
                _pixel_stage.memory_of(pixels, 1000, 8, reads)
            least = int(str(raised.exception).split("memory_bytes=")[1].split(",")[0])
            _pixel_stage.memory_of(pixels, least, 8, reads)

    def test_small_batches(self):
        """Blocks that are made are those that the shares have."""
        loader = self.loader(batch_size=1, threads=64, memory_bytes=4 << 20)
        made = []
        loader._stage.allocate = lambda shape: made.append(math.prod(shape)) or numpy.empty(
            shape, numpy.uint8)
        for batch in loader:
            pass
        shares = loader._stage.shares
        self.assertLessEqual(sum(made), (shares.ahead + 1) * loader._stage.pixels.bytes)


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

    def test_ranks_make_equal_steps(self):
        found = 0
        for rank in range(2):
            loader = self.loader(self.bad, rank=rank, world_size=2, on_corrupt="skip", report=lambda _: None)
            sizes = [len(batch) for batch in loader]
            self.assertEqual(len(sizes), len(loader))
            self.assertEqual(COUNT // 2 - sum(sizes), loader.stats().corrupt)
            found += sum(sizes)
        self.assertEqual(found, COUNT - COUNT // 10)
        with self.assertRaisesRegex(sheaf.CorruptError, "use larger batches"):
            for rank in range(2):
                list(self.loader(self.bad, batch_size=1, rank=rank, world_size=2, on_corrupt="skip",
                                 report=lambda _: None))

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

    def test_memory_is_not_used_while_it_is_shown(self):
        with sheaf.Reader(self.set) as reader:
            kept = [(batch["__pixels__"][-1], batch["__pixels__"][-1].copy())
                    for batch in sheaf.numpy.batches(reader, 8, pixels=sheaf.Pixels(24))]
        self.assertGreater(len(kept), 10)
        for view, old in kept:
            self.assertTrue((view == old).all())

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
