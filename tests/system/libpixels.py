# SPDX-License-Identifier: MIT
"""sheaf_pixels of libsheaf.so through ctypes. The structs are a copy of those in sheaf.h."""

import ctypes
from ctypes import (POINTER, Structure, byref, c_double, c_int, c_int32, c_size_t, c_uint32, c_uint64,
                    sizeof)
import os

from libsheaf import ErrorStruct
from support import BUILD

RANDOM, CENTER, WHOLE = range(3)
NCHW, NHWC = range(2)

_library = ctypes.CDLL(os.path.join(BUILD, "libsheaf.so"))


class View(Structure):
    _fields_ = [("count", c_uint32), ("width", c_uint32), ("height", c_uint32),
                ("scale", c_double * 2)]


class Options(Structure):
    _fields_ = [("sizeof_options", c_size_t), ("width", c_uint32), ("height", c_uint32),
                ("crop", c_int), ("resize", c_uint32), ("scale", c_double * 2),
                ("ratio", c_double * 2), ("flip", c_double), ("filter", c_int), ("layout", c_int),
                ("order", c_int), ("views", POINTER(View)), ("view_count", c_size_t),
                ("decodes_whole", c_int), ("masks", POINTER(ctypes.c_char_p)),
                ("mask_count", c_size_t)]


class Box(Structure):
    _fields_ = [(name, c_int32) for name in ("top", "left", "height", "width", "flipped")]


class PixelsError(Exception):
    pass


def mask(data, seed=0, **options):
    """Returns the bytes of a crop of a mask."""
    o, error = Options(), ErrorStruct()
    _library.sheaf_pixels_options_init(byref(o), sizeof(o))
    for name, value in options.items():
        setattr(o, name, (c_double * 2)(*value) if isinstance(value, tuple) else value)
    count = o.width * o.height
    out = ctypes.create_string_buffer(count + 5)
    out[count:] = b"guard"
    code = _library.sheaf_pixels_mask(data, c_size_t(len(data)), byref(o), c_uint64(seed), out,
                                      byref(error))
    assert out.raw[count:] == b"guard"
    if code != 0:
        raise PixelsError(error.message.decode())
    return out.raw[:count]


def pixels(data, seed=0, views=(), **options):
    """Returns (bytes, box) of each crop, as rows of R, G, B."""
    o, error = Options(), ErrorStruct()
    _library.sheaf_pixels_options_init(byref(o), sizeof(o))
    for name, value in options.items():
        setattr(o, name, (c_double * 2)(*value) if isinstance(value, tuple) else value)
    sizes = [(o.width, o.height)]
    if views:
        o.views = (View * len(views))(*[View(n, side, side, scale) for n, side, scale in views])
        o.view_count = len(views)
        sizes = [(side, side) for n, side, _ in views for _ in range(n)]
    counts = [3 * w * h for w, h in sizes]
    guard = b"guard" * 10
    out = ctypes.create_string_buffer(sum(counts) + len(guard))
    out[sum(counts):] = guard
    boxes = (Box * len(sizes))()
    code = _library.sheaf_pixels(data, c_size_t(len(data)), byref(o), c_uint64(seed), out, boxes,
                                 byref(error))
    assert out.raw[sum(counts):] == guard
    if code != 0:
        raise PixelsError(error.message.decode())
    found, at = [], 0
    for count, box in zip(counts, boxes):
        part = out.raw[at:at + count]
        at += count
        if o.layout == NCHW:
            plane = count // 3
            part = bytes(b"".join(bytes(each) for each in zip(
                part[:plane], part[plane:2 * plane], part[2 * plane:])))
        found.append((part, (box.top, box.left, box.height, box.width, box.flipped)))
    return found
