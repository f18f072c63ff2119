# SPDX-License-Identifier: MIT
"""Tests that crops of pictures equal Pillow's byte for byte: of JPEGs with every sampling, of PNGs and WebPs, at every
edge, with each filter, order and layout. Decoding a part of a picture must give the same pixels as decoding the
whole."""

import io
import random

import crop_reference as reference
import images
import jpegs
import libpixels
import pictures
from PIL import Image, ImageOps
from support import Case, seed


class Pixels(Case):
    def setUp(self):
        super().setUp()
        self.chance = random.Random(seed())

    def check(self, data, picture, **how):
        """Checks that the crop of the file equals the crop of the picture."""
        options = {"width": self.chance.choice((32, 48, self.chance.randrange(1, 70))),
                   "height": self.chance.randrange(1, 70), "filter": self.chance.randrange(3),
                   "layout": self.chance.randrange(2), "order": self.chance.randrange(2), **how}
        if self.chance.randrange(3) == 0:
            options["scale"] = (1e-4, 0.05)
        number = self.chance.randrange(1 << 64)
        found, box = libpixels.pixels(data, number, **options)[0]
        expected = reference.resized(picture, box, (options["width"], options["height"]),
                                     options["filter"], options["order"] == 1)
        self.assertEqual(found, expected.tobytes(), (picture.size, options, box, number))
        drawn = reference.draw(number, *picture.size, **{
            **reference.IMAGENET, **({"scale": options["scale"]} if "scale" in options else {})})
        self.assertEqual(box, drawn)
        self.assertEqual(libpixels.pixels(data, number, decodes_whole=1, **options)[0],
                         (found, box))

    def test_photos(self):
        for data in pictures.photos(self.chance):
            picture = images.opened(data).convert("RGB")
            for _ in range(5):
                self.check(data, picture)

    def test_samplings_and_restarts(self):
        for data in pictures.by_hand(self.chance):
            picture = images.opened(data).convert("RGB")
            for _ in range(5):
                self.check(data, picture)

    def test_edges(self):
        """Crops of one pixel, row or column at each position of small pictures. At the right edge, a single column of
        colours may be left."""
        for width, height in ((19, 21), (18, 6), (34, 7), (17, 33), (33, 18), (50, 5)):
            for sampling in pictures.SAMPLINGS:
                data = jpegs.jpeg(width, height, 3, 1, sampling=sampling)
                picture, found_at = images.opened(data).convert("RGB"), set()
                for number in range(300):
                    options = {"width": 16, "height": 2, "ratio": (0.05, 20.0),
                               "scale": (0.8 / width / height, 0.01 + 2 / width / height)}
                    found, box = libpixels.pixels(data, number, **options)[0]
                    self.assertEqual(found, reference.resized(picture, box, (16, 2)).tobytes(), box)
                    found_at.add(box[1])
                self.assertGreater(len(found_at), width * 3 // 4)

    def test_masks(self):
        """Crops of masks must equal those of Pillow's NEAREST, for palettes, grey values and bits."""
        for _ in range(150):
            width, height = self.chance.randrange(1, 150), self.chance.randrange(1, 150)
            mask = Image.frombytes("L", (width, height), self.chance.randbytes(width * height))
            kind = self.chance.choice(("P", "L", "1", "P4"))
            if kind in ("P", "P4"):
                bits = 8 if kind == "P" else 4
                mask = mask.point(lambda value, bits=bits: value >> 8 - bits)
                mask.putpalette(self.chance.randbytes(768))
                data = images.saved(mask, "PNG", bits=bits)
            else:
                mask = mask.convert(kind)
                data = images.saved(mask, "PNG")
            mask = Image.frombytes("L", mask.size, images.opened(data).convert("L").tobytes()
                                   if kind in ("L", "1") else mask.tobytes())
            size = self.chance.randrange(1, 90), self.chance.randrange(1, 90)
            number, options = self.chance.randrange(1 << 64), {"width": size[0], "height": size[1]}
            if self.chance.randrange(2):
                options["scale"] = (0.001, 1.0)
            top, left, high, wide, flipped = reference.draw(number, width, height, **{
                **reference.IMAGENET, **({"scale": options["scale"]} if "scale" in options else {})})
            expected = mask.crop((left, top, left + wide, top + high)).resize(size, Image.NEAREST)
            if flipped:
                expected = expected.transpose(Image.FLIP_LEFT_RIGHT)
            self.assertEqual(libpixels.mask(data, number, **options), expected.tobytes(),
                             (kind, width, height, size, number))

    def test_masks_of_the_center(self):
        mask = Image.frombytes("L", (90, 61), self.chance.randbytes(90 * 61))
        full = mask.resize((59, 40), Image.NEAREST)
        self.assertEqual(libpixels.mask(images.saved(mask, "PNG"), crop=libpixels.CENTER, resize=40,
                                        width=32, height=20),
                         full.crop((14, 10, 46, 30)).tobytes())

    def test_no_masks(self):
        photo = images.photo(20, 20, 1)
        for data, says in ((images.saved(photo, "PNG"), "a PNG of colours, expected one with a palette"),
                           (images.png16("L", photo), "values of 16 bits"),
                           (images.saved(photo), "a mask that is JPEG, expected a PNG"),
                           (images.saved(photo.convert("L"), "PNG")[:-30], "damaged PNG")):
            with self.assertRaisesRegex(libpixels.PixelsError, says):
                libpixels.mask(data)

    def test_other_kinds(self):
        photo = images.photo(61, 43, 5)
        for data in (images.saved(photo, "PNG"), images.saved(photo.convert("L"), "PNG"),
                     images.saved(photo.convert("P"), "PNG"), images.saved(photo, "BMP"),
                     images.saved(photo, "WEBP", lossless=True), images.saved(photo, "GIF")):
            picture = images.opened(data).convert("RGB")
            for _ in range(5):
                self.check(data, picture)
        for mode in ("RGB", "L"):
            data = images.png16(mode, photo)
            for _ in range(5):
                self.check(data, photo.convert(mode).convert("RGB"))

    def test_turned_and_cmyk(self):
        """Turned and CMYK pictures must look as after --fix-images: upright and RGB."""
        photo = images.photo(60, 44, 6)
        for orientation in range(1, 9):
            data = images.turned(photo, orientation, quality=95)
            picture = ImageOps.exif_transpose(images.opened(data)).convert("RGB")
            for _ in range(4):
                self.check(data, picture)
        data = images.saved(photo.convert("CMYK"), quality=95)
        for _ in range(4):
            self.check(data, images.opened(data).convert("RGB"))

    def test_center(self):
        for _ in range(60):
            width, height = self.chance.randrange(1, 150), self.chance.randrange(1, 150)
            if max(width, height) > 20 * min(width, height):
                continue
            data = images.saved(images.photo(width, height, 7), quality=95, subsampling=2)
            resize = self.chance.randrange(32, 64)
            size = self.chance.randrange(1, resize + 1), self.chance.randrange(1, resize + 1)
            kind = self.chance.randrange(3)
            found, box = libpixels.pixels(data, crop=libpixels.CENTER, resize=resize, width=size[0],
                                          height=size[1], filter=kind)[0]
            expected = reference.centered(images.opened(data).convert("RGB"), resize, size, kind)
            self.assertEqual(found, expected.tobytes(), (width, height, resize, size, kind))
            self.assertEqual(box[4], 0)
            self.assertLessEqual(box[0] + box[2], height + 1)

    def test_whole(self):
        data = images.saved(images.photo(90, 50, 8), quality=95)
        found, box = libpixels.pixels(data, crop=libpixels.WHOLE, width=33, height=44)[0]
        self.assertEqual(box, (0, 0, 50, 90, 0))
        self.assertEqual(found, reference.resized(images.opened(data), box, (33, 44)).tobytes())

    def test_views(self):
        """Several views share one decoded picture. Each view draws its own crops, which must equal those of the view
        alone."""
        data = images.saved(images.photo(200, 150, 9), quality=90)
        picture, views = images.opened(data), [(2, 64, (0.32, 1.0)), (8, 24, (0.05, 0.32))]
        found = libpixels.pixels(data, 77, views=views)
        self.assertEqual(len({box for _, box in found}), 10)
        for i, (each, box) in enumerate(found):
            _, side, scale = views[i >= 2]
            self.assertEqual(box, reference.draw(77, 200, 150, scale, (3 / 4, 4 / 3), 0.5, i))
            self.assertEqual(each, reference.resized(picture, box, (side, side)).tobytes())

    def test_damaged(self):
        data = images.saved(images.photo(100, 80, 10), quality=90)
        for cut in (len(data) // 3, len(data) - 200, len(data) - 2):
            for number in range(5):
                with self.assertRaisesRegex(libpixels.PixelsError, "damaged JPEG"):
                    libpixels.pixels(data[:cut], number)
        self.assertEqual(libpixels.pixels(data + b"\0" * 20, 3), libpixels.pixels(data, 3))
        self.assertEqual(libpixels.pixels(data + b"\0" * 200, 3), libpixels.pixels(data, 3))
        with self.assertRaisesRegex(libpixels.PixelsError, "not an image: neither JPEG"):
            libpixels.pixels(b"text")
        png = images.saved(images.photo(100, 80, 10), "PNG")
        with self.assertRaisesRegex(libpixels.PixelsError, "damaged PNG"):
            libpixels.pixels(png[:-30])

    def test_bombs(self):
        """Very large pictures must be refused because of their headers, before memory is taken."""
        data = bytearray(images.saved(Image.new("L", (64, 64)), "PNG"))
        data[16:24] = (60000).to_bytes(4, "big") * 2
        with self.assertRaisesRegex(libpixels.PixelsError,
                                    "60000 x 60000 pixels; at most 178956970 pixels"):
            libpixels.pixels(bytes(data))
        data = bytearray(jpegs.jpeg(64, 64, 3))
        at = data.index(b"\xff\xc0") + 5
        data[at:at + 4] = b"\xff\xff\xff\xff"
        with self.assertRaisesRegex(libpixels.PixelsError, "65535 x 65535 pixels"):
            libpixels.pixels(bytes(data))
