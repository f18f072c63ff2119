# SPDX-License-Identifier: MIT
"""Computes the results of the options for images: the bytes that Pillow makes, or a bad file.

For a colour JPEG that is made smaller, Pillow gives only the brightness. The bytes must be those that one thread
makes of this JPEG alone. The fault of a damaged photo (photos.py) says whether it decodes."""

import functools
import os
import subprocess
import tempfile

import decoders
import images
import jpegs
import photos
from support import SHEAF
from trees import lower, write

NAMES = {"PNG": "PNG", "GIF": "GIF", "BMP": "BMP", "WEBP": "WebP"}
JPEG_ENDS = (".jpg", ".jpeg")
ENDS = JPEG_ENDS + (".png", ".gif", ".bmp", ".webp")


class Options:
    """The options for images. By default, nothing is done."""

    def __init__(self, fix=False, size=None, mode="shorter", quality=90, decode=False):
        self.fix, self.size, self.mode, self.quality, self.decode = fix, size, mode, quality, decode

    def words(self):
        words = ["--fix-images"] if self.fix else []
        words += ["--resize", self.size] if self.size else []
        words += ["--resize-mode", self.mode] if self.size and self.mode != "shorter" else []
        words += ["--quality", self.quality] if self.quality != 90 else []
        return words + (["--check-images", "decode"] if self.decode else [])

    def grown(self, options):
        """Returns the options for appended files. Options that are not given are those of the data set."""
        size, mode = (self.size, self.mode) if self.size else \
            (options.get("resize"), options.get("resize_mode", "shorter"))
        return Options(self.fix or options.get("fix_images", False), size, mode,
                       options.get("quality", 90) if self.quality == 90 else self.quality,
                       self.decode)

    def treat(self, suffix, data):
        """Returns (the packed bytes, or None for a bad file; the reason in converted.tsv, or "")."""
        name = "." + lower(suffix)
        if not name.endswith(ENDS):
            return data, ""
        return treated(name.endswith(JPEG_ENDS), data, self.fix, self.size, self.mode, self.quality,
                       self.decode)


PLAIN = Options()


def choose(chance, share):
    if chance.random() >= share:
        return PLAIN
    size = chance.choice([None, 5, 16, 40, 61, 1000])
    fix = chance.random() < 0.6
    return Options(fix, size, chance.choice(["shorter", "longer", "exact"]),
                   chance.choice([90, 90, 71, 100]) if size or fix else 90, chance.random() < 0.4)


def has_markers(data):
    """Returns whether a JPEG of the trees is valid for a check that decodes no pixel."""
    return (data[:3] == b"\xff\xd8\xff" and data[-2:] == b"\xff\xd9" and
            bool(jpegs.jpeg_size(data)) and b"\xff\xc0\x00\x14" not in data)


# ---- What comes out --------------------------------------------------------------------------

@functools.lru_cache(4000)
def treated(is_jpeg, data, fix, size, mode, quality, decode):
    why, to = "", None
    if is_jpeg:
        image = looked_at(data)
        if image is not None:
            why = reason(image) if fix else ""
            if why or (image.format == "JPEG" and image.mode != "CMYK"):
                to = new_size(image, size, mode)
            if why or to:
                if data in photos.damaged():
                    return None, ""
                if to and image.format == "JPEG" and image.mode == "RGB":
                    return made_alone(data, size, mode, quality), why
                return made(image, to, quality), why
        if not has_markers(data):
            return None, ""
    return (None if decode and not decodes(data) else data), ""


def looked_at(data):
    """Returns an image as Pillow opens it, not yet decoded, or None."""
    try:
        image = images.opened(data)
        return image if image.format in ("JPEG", *NAMES) else None
    except Exception:                                   # pylint: disable=broad-except
        return None                                     # Pillow raises exceptions of any kind


def decodes(data):
    image = looked_at(data)
    if image is None or data in photos.damaged():
        return False
    try:
        image.load()
    except Exception:                                   # pylint: disable=broad-except
        return False
    return True


def orientation(image):
    try:
        return image.getexif().get(0x112, 1)
    except OSError:                     # the chunks of a PNG after its pixels cannot be read
        return 1


def reason(image):
    """Returns the reason in converted.tsv."""
    words = ["was " + NAMES[image.format]] if image.format != "JPEG" else \
        ["was CMYK or YCCK"] if image.mode == "CMYK" else []
    if orientation(image) != 1:
        words.append("was turned (EXIF orientation %d)" % orientation(image))
    return "; ".join(words)


def new_size(image, size, mode):
    """Returns the new size of an image as stored, before turning. None if it keeps its size."""
    if size is None:
        return None
    if orientation(image) < 5:
        return images.smaller_size(*image.size, size, mode)
    to = images.smaller_size(*image.size[::-1], size, mode)
    return to and to[::-1]


def made_alone(data, size, mode, quality):
    """Makes a colour JPEG smaller alone, and compares its size and brightness with Pillow's."""
    options = Options(size=size, mode=mode, quality=quality).words()
    with tempfile.TemporaryDirectory() as folder:
        tree, place = os.path.join(folder, "tree"), os.path.join(folder, "set")
        write(tree, {"x.jpg": data})
        subprocess.run([SHEAF, "pack", tree, place, "--format", "tfrecord", "--jobs", "1",
                        "--quiet", *map(str, options)], check=True)
        with open(os.path.join(place, "shard-000000.tfrecord"), "rb") as file:
            (_, payload), = decoders.tfrecord_frames(file.read())
    found = decoders.tfrecord_sample(payload).fields["jpg"]
    expected = images.smaller(data, size, mode, quality, "L")
    if images.opened(found).size != images.opened(expected).size or \
            images.brightness(found) != images.brightness(expected):
        raise decoders.Bad("another picture than Pillow's", options)
    return found


def made(image, to, quality):
    """Returns the upright, plain JPEG."""
    turn, (width, height), divisor = orientation(image), image.size, 1
    is_bmp = image.format == "BMP"
    if to:
        image.draft(image.mode, (2 * to[0], 2 * to[1]))
    image.load()
    if to and image.format == "JPEG":
        divisor = next(d for d in (1, 2, 4, 8) if -(-width // d) == image.width)
    image = image.convert("L" if image.mode in ("L", "1", "LA") and not is_bmp else "RGB")
    if to:
        image = image.resize(to, images.Image.LANCZOS,
                             box=(0, 0, width / divisor, height / divisor))
    exif = images.Image.Exif()
    exif[0x112] = turn
    image.info = {"exif": exif.tobytes()}       # and no comment
    return images.saved(images.ImageOps.exif_transpose(image), quality=quality)
