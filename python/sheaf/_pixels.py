# SPDX-License-Identifier: MIT
"""The options for the crops of each sample's image. _pixel_stage.py makes batches of the crops."""

from __future__ import annotations

import numbers
import os
from typing import Any, NamedTuple, Optional, Sequence, Tuple, Union

from . import _sheaf
from ._sheaf import ArgumentError

_CROPS = ("random", "center", "whole")
_FILTERS = ("bilinear", "bicubic", "lanczos")
_LAYOUTS = ("nchw", "nhwc")
_ORDERS = ("pillow12", "pillow13")
VIEWS_MOST = 1024
SCALE = (0.08, 1.0)         # the default ranges of random crops
RATIO = (3 / 4, 4 / 3)


class _View(NamedTuple):
    count: int
    width: int
    height: int
    scale: Tuple[float, float]


def _is_number(value: Any, least: int) -> bool:
    """Returns whether the value is a whole number that is at least `least` and fits into 31 bits."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and least <= int(value) < 1 << 31


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _size(value: Any) -> Tuple[int, int]:
    """Returns (width, height) for a number, or for (height, width) as in torchvision."""
    pair = (value, value) if isinstance(value, numbers.Integral) else value
    if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(_is_number(side, 0) for side in pair):
        raise ArgumentError("the size of a crop is %r: expected a number of pixels, or (height, width)" % (value,))
    return int(pair[1]), int(pair[0])


def _range(name: str, value: Any) -> Tuple[float, float]:
    try:
        low, high = value
    except (TypeError, ValueError):
        low = high = None
    if not _is_real(low) or not _is_real(high):
        raise ArgumentError("%s is %r: expected two numbers (least, most)" % (name, value))
    return float(low), float(high)


def _whole(name: str, value: Any) -> int:
    if not _is_number(value, 0):
        raise ArgumentError("%s is %r: expected a whole number, 0 or more" % (name, value))
    return int(value)


def _view(value: Any) -> _View:
    try:
        count, size, scale = value
    except (TypeError, ValueError):
        raise ArgumentError("a view is %r: expected (number of crops, size, (least, most) of the scale)"
                            % (value,)) from None
    return _View(_whole("the number of crops of a view", count), *_size(size), _range("the scale of a view", scale))


def _refuse_unused(crop: str, has_views: bool, scale: Any, ratio: Any) -> None:
    """Refuses ranges that only random crops have, and a scale beside views, which have their own."""
    for name, value, default in (("scale", scale, SCALE), ("ratio", ratio, RATIO)):
        if crop != "random" and _range(name, value) != default:
            raise ArgumentError("%s=%r has no effect with crop=%r: leave it out" % (name, value, crop))
    if has_views and _range("scale", scale) != SCALE:
        raise ArgumentError("scale=%r has no effect, because each view has a scale: leave it out" % (scale,))


def _choice(name: str, value: Any, choices: Sequence[str]) -> int:
    if value not in choices:
        raise ArgumentError("%s is %r: expected %s" % (name, value, ", ".join(choices)))
    return choices.index(value)


class Pixels:
    """The crops that are made of each sample's image: RGB with 8 bits, equal to Pillow's byte for byte.

        sheaf.Pixels(224)                                   # random crops for training
        sheaf.Pixels(224, crop="center", resize=256)        # for evaluation
        sheaf.Pixels(views=[(2, 224, (0.32, 1)), (8, 96, (0.05, 0.32))])    # ten crops of each image

    `size` is a number, or (height, width). crop="random" is torchvision's RandomResizedCrop with this `scale` and
    `ratio`, mirrored with probability `flip`. Random choices follow from the sample's seed. crop="center" is
    torchvision's Resize(resize) and CenterCrop(size). crop="whole" resizes the whole picture to the size.

    `filter` is "bilinear", "bicubic" or "lanczos". `layout` is "nchw" or "nhwc". `order` is "pillow12" (Pillow up to
    12.3) or "pillow13". `field` is the name of the image's field; by default it is the first field whose name ends in
    jpg, jpeg, png, webp, gif or bmp. threads=0 uses one thread for each processor.

    masks=("seg.png",) names fields with masks of the image: PNGs of the same size, with a palette or grey. They are
    cropped and mirrored like the image. Their values are not mixed; each pixel takes the value of the nearest one."""

    def __init__(self, size: Union[int, Tuple[int, int], None] = None, *, crop: str = "random",
                 resize: Optional[int] = None, scale: Tuple[float, float] = SCALE,
                 ratio: Tuple[float, float] = RATIO, flip: float = 0.5,
                 filter: str = "bilinear", layout: str = "nchw", order: str = "pillow12",
                 field: Optional[str] = None, masks: Sequence[str] = (),
                 views: Optional[Sequence[Tuple[int, Any, Tuple[float, float]]]] = None,
                 threads: int = 0) -> None:
        if (size is None) == (views is None):
            raise ArgumentError("Pixels takes a size, or views")
        self.has_views = views is not None
        if views is not None and not isinstance(views, (list, tuple)):
            raise ArgumentError("views is %r: expected a list of (number of crops, size, (least, most) of the scale)"
                                % (views,))
        self.views = [_View(1, *_size(size), _range("scale", scale))] if views is None else list(map(_view, views))
        if not 1 <= len(self.views) <= VIEWS_MOST:
            raise ArgumentError("there are %d views: expected 1 to %d" % (len(self.views), VIEWS_MOST))
        self.layout, self.field, self.threads = layout, field, _whole("threads", threads)
        if not isinstance(masks, (list, tuple)) or not all(isinstance(name, str) for name in masks):
            raise ArgumentError("masks=%r: expected a list of names of fields" % (masks,))
        self.masks = tuple(masks)
        if field is not None and (not isinstance(field, str) or field == ""):
            raise ArgumentError("field is %r: expected the name of a field, such as \"jpg\"" % (field,))
        if field is not None and field in self.masks:
            raise ArgumentError("field %r is among the masks" % field)
        if not _is_real(flip):
            raise ArgumentError("flip is %r: expected a probability, 0 to 1" % (flip,))
        kind = _choice("crop", crop, _CROPS)
        _refuse_unused(crop, self.has_views, scale, ratio)
        self._options = (kind, _whole("resize", resize or 0), _range("ratio", ratio),
                         float(flip), _choice("filter", filter, _FILTERS),
                         _choice("layout", layout, _LAYOUTS), _choice("order", order, _ORDERS))
        self.open(1, 1 << 20)          # raises an error now if an option is wrong

    def open(self, threads: int, memory_bytes: int) -> _sheaf.PixelPool:
        views = [(v.count, v.width, v.height, *v.scale) for v in self.views]
        return _sheaf.PixelPool(views, *self._options, list(self.masks), threads, memory_bytes)

    @property
    def thread_count(self) -> int:
        return self.threads or len(os.sched_getaffinity(0))

    @property
    def bytes(self) -> int:
        """The bytes of one sample's crops, including those of its masks."""
        return sum(view.count * view.width * view.height * (3 + len(self.masks))
                   for view in self.views)

    def shape(self, view: _View) -> Tuple[int, ...]:
        """Returns the shape of one sample's crops in a view."""
        one = (3, view.height, view.width) if self.layout == "nchw" else \
            (view.height, view.width, 3)
        return (view.count, *one) if self.has_views else one

    def mask_shape(self, view: _View) -> Tuple[int, ...]:
        """Returns the shape of one sample's crops of a mask in a view."""
        one = view.height, view.width
        return (view.count, *one) if self.has_views else one

    @property
    def crops(self) -> int:
        return sum(view.count for view in self.views)

    def __repr__(self) -> str:
        return "<sheaf.Pixels %s>" % ", ".join(
            "%d x %dx%d" % (v.count, v.height, v.width) for v in self.views)
