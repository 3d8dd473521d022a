"""Positions that a Resize reads, and whether only rounding decides which element is nearest, or whether a position is inside or on an element."""

from collections.abc import Iterator

import numpy

from random_graphs.facts import Node

NEAR = 1e-4
CROP = "tf_crop_and_resize"


def only_rounding_decides(node: Node) -> bool:
    mode = node.attribute("coordinate_transformation_mode", "half_pixel")
    nearest = node.attribute("mode", "nearest") == "nearest"
    if node.shapes[0] is None or node.outputs[0] is None:
        return nearest or mode == CROP
    for old, new, (start, end), scale, at in read_axes(node, mode):
        if mode == CROP and (start, end) != (0, 1) and near_edge(at, old, start):
            return True
        # Powers of two are exact in every type; both neighbours are then equally near, and the mode decides.
        exact = mode in ("half_pixel", "asymmetric", "pytorch_half_pixel") and numpy.log2(scale) % 1 == 0
        if nearest and (mode == CROP or old != new) and not exact:
            if near(at, 0.5 if node.attribute("nearest_mode", "round_prefer_floor").startswith("round") else 0.0):
                return True
    return False


def whole_but_for_rounding(node: Node) -> bool:
    """Whether a position on an element may be off by a rounding error."""
    if node.shapes[0] is None or node.outputs[0] is None:
        return True
    mode = node.attribute("coordinate_transformation_mode", "half_pixel")
    axes = read_axes(node, mode)
    # With half_pixel_symmetric the rounded length matters too.
    exact = mode != "half_pixel_symmetric"
    return any(old != new and not (exact and numpy.log2(scale) % 1 == 0) and near(at, 0.0) for old, new, _, scale, at in axes)


def read_axes(node: Node, mode: str) -> Iterator[tuple[int, int, tuple[float, float], float, numpy.ndarray]]:
    """For each axis with known sizes: sizes before and after, region, scale and positions read."""
    for axis, (old, new) in enumerate(zip(node.shapes[0], node.outputs[0], strict=True)):
        start, end, scale = stretch(node, axis, old, new)
        yield old, new, (start, end), scale, coordinates(mode, old, new, scale, (start, end))


def near_edge(at: numpy.ndarray, old: int, start: float) -> bool:
    return bool((numpy.abs(at[1:] if start == 0 else at) < NEAR).any() or (numpy.abs(at - (old - 1)) < NEAR).any())


def near(at: numpy.ndarray, middle: float) -> bool:
    apart = numpy.abs((at - middle) - numpy.round(at - middle))
    return bool((apart < NEAR).any())


def stretch(node: Node, axis: int, old: int, new: int) -> tuple[float, float, float]:
    """The region and the scale of an axis."""
    axes = node.attribute("axes")
    rank = len(node.shapes[0])
    position = axis if axes is None else next((i for i, named in enumerate(axes) if named % rank == axis), None)
    if position is None:
        return 0.0, 1.0, 1.0
    region, scales = node.constant(1), node.constant(2)
    count = rank if axes is None else len(axes)
    start, end = (region[position], region[position + count]) if region is not None and region.size else (0.0, 1.0)
    return start, end, float(scales[position]) if scales is not None and scales.size else new / old


def coordinates(mode: str, old: int, new: int, scale: float, region: tuple[float, float]) -> numpy.ndarray:
    at = numpy.arange(new, dtype=numpy.float64)
    if mode == "asymmetric":
        return at / scale
    if mode == "align_corners":
        return at * (old - 1) / max(1, new - 1)
    if mode == CROP:
        start, end = region
        return start * (old - 1) + at * (end - start) * (old - 1) / max(1, new - 1)
    shift = 0.5 * old * (1 - new / (old * scale)) if mode == "half_pixel_symmetric" else 0.0
    return shift + (at + 0.5) / scale - 0.5
