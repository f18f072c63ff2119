# SPDX-License-Identifier: MIT
"""Images of every unusual kind, made and read by Pillow, and damaged images, each with one fault."""

import io
import random
import struct
import zlib

from PIL import Image, ImageChops, ImageOps, ImageStat


def photo(width, height, seed=0):
    """Returns an image with smooth colours, which a JPEG keeps well."""
    values = random.Random(seed)
    size = (width // 8 + 1, height // 8 + 1)
    small = Image.frombytes("RGB", size, values.randbytes(size[0] * size[1] * 3))
    return small.resize((width, height), Image.BICUBIC)


def saved(image, kind="JPEG", **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def opened(data):
    return Image.open(io.BytesIO(data))


def turned(image, orientation, **options):
    exif = Image.Exif()
    exif[0x112] = orientation
    return saved(image, exif=exif.tobytes(), **options)


def tiff(order, kind, value, before=0):
    """Returns EXIF data as TIFF, with an orientation of this type (TIFF's number) after other entries."""
    code = {3: "H", 4: "I", 5: "II", 6: "b", 8: "h", 9: "i", 10: "ii", 11: "f", 12: "d"}[kind]
    data = struct.pack(order + code, *((value, 1) if len(code) == 2 else (value,)))
    count = before + 1
    entries = b"".join(struct.pack(order + "HHII", 0x100 + i, 4, 1, 6) for i in range(before))
    entries += struct.pack(order + "HHI", 0x112, kind, 1)
    entries += data.ljust(4, b"\0") if len(data) <= 4 else struct.pack(order + "I", 14 + 12 * count)
    head = b"MM\0*" if order == ">" else b"II*\0"
    return head + struct.pack(order + "IH", 8, count) + entries + bytes(4) + data


def png_chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def app1(data, body):
    return data[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + data[2:]


def in_png(data, *chunks, last=False):
    at = len(data) - 12 if last else 33
    return data[:at] + b"".join(png_chunk(*chunk) for chunk in chunks) + data[at:]


def orientations(image):
    """Returns files that specify an orientation in every possible way, by name: (bytes, orientation)."""
    plain = {"jpg": saved(image), "png": saved(image, "PNG")}
    xmp = b'<rdf:Description tiff:Orientation="%d"/>', b"<tiff:Orientation>%d</tiff:Orientation>"
    name = b"http://ns.adobe.com/xap/1.0/\0", b"XML:com.adobe.xmp\0"
    made = {}
    for order in "<>":
        for kind in (3, 4, 5, 6, 8, 9, 10, 11, 12):
            value = 2 + kind % 7
            exif = tiff(order, kind, value, before=kind % 3)
            key = "%s-%d" % ("little" if order == "<" else "big", kind)
            made["jpeg-" + key] = app1(plain["jpg"], b"Exif\0\0" + exif), value
            made["png-" + key] = in_png(plain["png"], (b"eXIf", exif), last=kind % 2), value
            made["webp-" + key] = saved(image, "WEBP", lossless=True, exif=exif), value
    exif = tiff(">", 3, 6)
    digits = b"\nexif\n%8d\n%s\n" % (len(exif) + 6, (b"Exif\0\0" + exif).hex().encode())
    profile = b"Raw profile type exif\0"
    made["png-profile"] = in_png(plain["png"], (b"tEXt", profile + digits)), 6
    made["png-profile-z"] = in_png(plain["png"],
                                   (b"zTXt", profile + b"\0" + zlib.compress(digits))), 6
    for number, text in enumerate(xmp):
        made["jpeg-xmp-%d" % number] = app1(plain["jpg"], name[0] + text % 8), 8
        made["webp-xmp-%d" % number] = saved(image, "WEBP", lossless=True, xmp=text % 5), 5
        made["png-xmp-%d" % number] = in_png(
            plain["png"], (b"iTXt", name[1] + b"\0\0\0\0" + text % 7)), 7
        made["png-xmp-z-%d" % number] = in_png(
            plain["png"], (b"iTXt", name[1] + b"\1\0\0\0" + zlib.compress(text % 3))), 3
    # EXIF takes precedence over XMP. A value that is not an orientation turns nothing.
    made["both"] = app1(app1(plain["jpg"], name[0] + xmp[0] % 8),
                        b"Exif\0\0" + tiff("<", 4, 1)), 1
    for value in (0, 9, 65536 + 6):
        made["no-%d" % value] = app1(plain["jpg"], b"Exif\0\0" + tiff("<", 4, value)), 1
    made["fraction"] = app1(plain["jpg"], b"Exif\0\0" + tiff("<", 11, 6.5)), 1
    return made


TURNS = {2: Image.FLIP_LEFT_RIGHT, 3: Image.ROTATE_180, 4: Image.FLIP_TOP_BOTTOM,
         5: Image.TRANSPOSE, 6: Image.ROTATE_270, 7: Image.TRANSVERSE, 8: Image.ROTATE_90}


def without_adobe(data):
    """Removes the segment of a JPEG that says how its colours are stored."""
    at = data.index(b"Adobe") - 4
    return data[:at] + data[at + 2 + struct.unpack(">H", data[at + 2:at + 4])[0]:]


def with_adobe(data, transform):
    return (data[:2] + b"\xff\xee" + struct.pack(">H5sHHHB", 14, b"Adobe", 100, 0, 0, transform) +
            data[2:])


def png16(mode, image):
    """Returns a PNG of 16 bits whose upper eight bits are those of the image."""
    channels = {"L": 1, "RGB": 3}[mode]
    data, rows = image.convert(mode).tobytes(), b""
    for y in range(image.height):
        row = data[y * image.width * channels:(y + 1) * image.width * channels]
        rows += b"\0" + b"".join(bytes([value, 37]) for value in row)

    header = struct.pack(">IIBBBBB", image.width, image.height, 16, {1: 0, 3: 2}[channels], 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) +
            png_chunk(b"IDAT", zlib.compress(rows)) + png_chunk(b"IEND", b""))


def rle_bmp(width, height, seed=0):
    """Returns a BMP of 8 bits with runs, literals and skips, and its content as rows of indices."""
    values, rows, data = random.Random(seed), [], b""
    for y in range(height):
        row, x = [], 0
        while x < width:
            count = min(values.randrange(1, 9), width - x)
            if values.random() < 0.5 or count < 3:
                index = values.randrange(16)
                row += [index] * count
                data += bytes([count, index])
            else:
                literal = [values.randrange(16) for _ in range(count)]
                row += literal
                data += bytes([0, count] + literal + [0] * (count % 2))
            x += count
        rows.append(row)
        data += b"\0\0" if y + 1 < height else b"\0\1"
    palette = b"".join(bytes([i * 16, 255 - i * 16, i, 0]) for i in range(16))
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 1, len(data), 0, 0, 16, 0)
    at = 14 + len(head) + len(palette)
    return b"BM" + struct.pack("<IHHI", at + len(data), 0, 0, at) + head + palette + data


def odd(size=(97, 61)):
    """Returns files that loaders cannot read as expected, by name: (bytes, their kind)."""
    p = photo(*size)
    alpha = p.convert("RGBA")
    alpha.putalpha(Image.linear_gradient("L").resize(p.size))
    frames = [photo(50, 40, i).quantize(32) for i in range(3)]
    cmyk = saved(p.convert("CMYK"), quality=95)
    made = {
        "cmyk": (cmyk, "CMYK"),
        "cmyk-plain": (without_adobe(cmyk), "CMYK"),
        "ycck": (with_adobe(without_adobe(cmyk), 2), "CMYK"),
        "png-rgb": (saved(p, "PNG"), "PNG"),
        "png-alpha": (saved(alpha, "PNG"), "PNG"),
        "png-palette": (saved(p.quantize(40), "PNG"), "PNG"),
        "png-transparent": (saved(p.quantize(9), "PNG", transparency=3), "PNG"),
        "png-grey": (saved(p.convert("L"), "PNG"), "PNG"),
        "png-grey-alpha": (saved(p.convert("LA"), "PNG"), "PNG"),
        "png-bits": (saved(p.convert("1"), "PNG"), "PNG"),
        "png-16": (png16("RGB", p), "PNG"),
        "gif": (saved(p.quantize(64), "GIF", interlace=0), "GIF"),
        "gif-interlaced": (saved(p.quantize(64), "GIF", interlace=1), "GIF"),
        "gif-animated": (saved(frames[0], "GIF", save_all=True, append_images=frames[1:]), "GIF"),
        "bmp-rgb": (saved(p, "BMP"), "BMP"),
        "bmp-rgba": (saved(alpha, "BMP"), "BMP"),
        "bmp-palette": (saved(p.quantize(200), "BMP"), "BMP"),
        "bmp-grey": (saved(p.convert("L"), "BMP"), "BMP"),
        "bmp-bits": (saved(p.convert("1"), "BMP"), "BMP"),
        "bmp-runs": (rle_bmp(45, 23), "BMP"),
        "webp": (saved(p, "WEBP", quality=80), "WebP"),
        "webp-lossless": (saved(p, "WEBP", lossless=True), "WebP"),
        "webp-alpha": (saved(alpha, "WEBP"), "WebP"),
        "webp-animated": (saved(frames[0].convert("RGB"), "WEBP", save_all=True,
                                append_images=[f.convert("RGB") for f in frames[1:]]), "WebP"),
    }
    for orientation in range(2, 9):
        made["exif-%d" % orientation] = (turned(p, orientation), "turned")
    made["exif-grey"] = (turned(p.convert("L"), 6), "turned")
    made["exif-cmyk"] = (turned(p.convert("CMYK"), 8), "turned")
    return made


def plain(size=(97, 61)):
    """Returns files that --fix-images does not change."""
    p = photo(*size, seed=1)
    return {"colour": saved(p), "grey": saved(p.convert("L")), "progressive": saved(p, progressive=True),
            "upright": turned(p, 1), "full-chroma": saved(p, subsampling=0)}


def converted(data, quality=90):
    """Returns the image that Pillow makes of a file."""
    image = ImageOps.exif_transpose(opened(data))
    mode = "L" if image.mode in ("L", "1", "LA") and data[:2] != b"BM" else "RGB"
    return saved(image.convert(mode), quality=quality)


def smaller_size(width, height, size, mode="shorter"):
    """Returns the size to which an image is reduced, or None if it keeps its size."""
    if mode == "exact":
        return (size, size) if min(width, height) >= size and max(width, height) > size else None
    side = (min if mode == "shorter" else max)(width, height)
    if side <= size:
        return None
    return max(1, width * size // side), max(1, height * size // side)


def _sizes(image, size, mode):
    """Returns the sizes of an image that is made smaller: as it is stored, and as it will be stored. Returns None if
    the image keeps its size."""
    width, height = image.size
    if image.getexif().get(0x112, 1) >= 5:
        to = smaller_size(height, width, size, mode)
        return (width, height), to and to[::-1]
    return (width, height), smaller_size(width, height, size, mode)


def smaller(data, size, mode="shorter", quality=90, drafted=None):
    """Returns the result of Pillow for a JPEG that is decoded to at least twice the size of the result, or only its
    brightness (drafted: "L"). Returns None if the image keeps its size."""
    image = opened(data)
    (width, height), to = _sizes(image, size, mode)
    if to is None:
        return None
    image.draft(drafted or image.mode, (2 * to[0], 2 * to[1]))
    image.load()
    divisor = next(d for d in (1, 2, 4, 8) if -(-width // d) == image.width)
    exif = image.getexif()
    if image.mode == "CMYK":
        image = image.convert("RGB")
    image = image.resize(to, Image.LANCZOS, box=(0, 0, width / divisor, height / divisor))
    image.info["exif"] = exif.tobytes()
    return saved(ImageOps.exif_transpose(image), quality=quality)


def smaller_whole(data, size, mode="shorter"):
    """Returns the pixels of the whole JPEG, resampled."""
    image = opened(data)
    _, to = _sizes(image, size, mode)
    return ImageOps.exif_transpose(image).resize(
        to[::-1] if image.getexif().get(0x112, 1) >= 5 else to, Image.LANCZOS)


def brightness(data):
    """Returns the brightness of each pixel of a JPEG, as it is stored."""
    image = opened(data)
    image.draft("L", image.size)
    return image.tobytes()


def mean_error(one, other):
    """Returns the mean square of the differences of two images."""
    difference = ImageStat.Stat(ImageChops.difference(one, other))
    return sum(difference.sum2) / sum(difference.count)


def largest_difference(one, other):
    return max(high for low, high in ImageChops.difference(opened(one), opened(other)).getextrema())


# ---- Damage ----------------------------------------------------------------------------------

def _segment(data, marker):
    """Returns the beginning and the end of the segment with this marker."""
    at = data.index(bytes([0xff, marker]))
    return at, at + 2 + struct.unpack(">H", data[at + 2:at + 4])[0]


def _scan(data):
    return _segment(data, 0xda)[1]


def _cut(data, marker):
    at, end = _segment(data, marker)
    return data[:at] + data[end:]


def _put(data, at, body):
    return data[:at] + body + data[at + len(body):]


JPEG_FAULTS = {
    "cut-and-ended": lambda d, r: d[:r.randrange(_scan(d) + 20, len(d) - 200)] + b"\xff\xd9",
    "end-within": lambda d, r: _put(d, r.randrange(_scan(d), len(d) - 200), b"\xff\xd9"),
    "restart-within": lambda d, r: _put(d, r.randrange(_scan(d), len(d) - 200), b"\xff\xd3"),
    "bytes-lost": lambda d, r: d[:_scan(d) + 30] + d[_scan(d) + 30 + r.randrange(200, 400):],
    "half-lost": lambda d, r: d[:_scan(d) + 20] + d[(_scan(d) + len(d)) // 2 + r.randrange(50):],
    "ones-within": lambda d, r: _put(d, r.randrange(_scan(d), len(d) - 400), b"\xff\x00" * 100),
    "taller": lambda d, r: _put(d, _segment(d, 0xc0)[0] + 5, struct.pack(">H", 400 + r.randrange(99))),
    "wider": lambda d, r: _put(d, _segment(d, 0xc0)[0] + 7, struct.pack(">H", 400 + r.randrange(99))),
    "huffman-number": lambda d, r: _put(d, _segment(d, 0xc4)[0] + 4, b"\x44"),
    "no-quantisation": lambda d, r: _cut(d, 0xdb),
    "no-frame": lambda d, r: _cut(d, 0xc0),
    "no-scan": lambda d, r: _cut(d, 0xda),
    "huffman-overfull": lambda d, r: _put(d, _segment(d, 0xc4)[0] + 5, b"\xff" * 4),
    "lossless": lambda d, r: _put(d, _segment(d, 0xc0)[0], b"\xff\xc3"),
    "twelve-bits": lambda d, r: _put(d, _segment(d, 0xc0)[0] + 4, b"\x0c"),
    "no-components": lambda d, r: _put(d, _segment(d, 0xc0)[0] + 9, b"\x00"),
    "sampling-wrong": lambda d, r: _put(d, _segment(d, 0xc0)[0] + 11, b"\x5f"),
}
OTHER_FAULTS = {
    "png": {"crc": lambda d, r: _put(d, d.index(b"IDAT") + 9, b"\xaa\x55"),
            "cut": lambda d, r: d[:r.randrange(60, len(d) - 12)],
            "no-data": lambda d, r: d[:33] + d[-12:],
            "type": lambda d, r: _put(d, 25, b"\x05")},
    "gif": {"cut": lambda d, r: d[:r.randrange(len(d) // 2, len(d) - 30)],
            "no-image": lambda d, r: d[:13] + b"\x3b",
            "size": lambda d, r: d[:9]},
    "bmp": {"cut": lambda d, r: d[:r.randrange(54, len(d) - 1)],
            "depth": lambda d, r: _put(d, 28, b"\x07\x00"),
            "header": lambda d, r: _put(d, 14, b"\x11\x00")},
    "webp": {"cut": lambda d, r: d[:r.randrange(40, len(d) - 1)],
             "data": lambda d, r: _put(d, 20, b"\xff" * 12)},
}


def damaged():
    """Returns a hundred damaged files, by name."""
    r, files = random.Random(7), {}
    for name, fault in JPEG_FAULTS.items():
        for i in range(5):
            files["jpeg-%s-%d.jpg" % (name, i)] = fault(saved(photo(150, 101, i)), r)
    whole = {"png": saved(photo(60, 40), "PNG"), "gif": saved(photo(60, 40).quantize(), "GIF"),
             "bmp": saved(photo(60, 40), "BMP"), "webp": saved(photo(60, 40), "WEBP")}
    for kind, faults in OTHER_FAULTS.items():
        for name, fault in faults.items():
            for i in range(2):
                files["%s-%s-%d.%s" % (kind, name, i, kind)] = fault(whole[kind], r)
    return files
