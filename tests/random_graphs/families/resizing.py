"""Resampling."""

import numpy

from random_graphs.builder import GraphBuilder
from random_graphs.registry import family
from random_graphs.values import F32

CROP = "tf_crop_and_resize"
SCALES = (0.5, 2.0, 1.5, 0.3, 1.0, 2.7, 0.75)


def resize_attributes(g: GraphBuilder) -> dict:
    mode = g.choose(["nearest", "linear", "linear", "cubic"])
    transforms = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", CROP]
    transforms += ["half_pixel_symmetric"] if g.opset >= 19 else []
    attributes = {"mode": mode, "coordinate_transformation_mode": g.choose(transforms)}
    if mode == "nearest":
        attributes["nearest_mode"] = g.choose(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        attributes |= {"cubic_coeff_a": g.choose([-0.5, -0.75])} if g.chance(0.5) else {}
        attributes |= {"exclude_outside": 1} if g.chance(0.4) else {}
    if g.opset >= 18 and mode != "nearest" and g.chance(0.3):
        attributes["antialias"] = 1
    return attributes


@family("resizing", 3)
def resize(g: GraphBuilder):
    g.require(g.opset >= 11)
    x = g.pick([F32], ranks=[2, 3, 4, 4, 4, 5], fits=all)
    rank, attributes = g.rank(x), resize_attributes(g)
    active = list(range(max(0, rank - g.choose([1, 2, 2])), rank))
    axes = list(range(rank))
    if g.opset >= 18 and g.chance(0.4):
        axes = active
        attributes["axes"] = [axis - rank if g.chance(0.3) else axis for axis in axes]
    scales = [g.choose(SCALES) if axis in active else 1.0 for axis in axes]
    none = "" if g.opset >= 13 else g.constant(numpy.zeros(0, numpy.float32))
    region = none
    crop = attributes["coordinate_transformation_mode"] == CROP
    if crop:
        starts = [g.choose([0, 0.1, 0.25, -0.1]) if axis in active else 0.0 for axis in axes]
        ends = [g.choose([0.95, 0.8, 0.6, 1.2]) if axis in active else 1.0 for axis in axes]
        region = g.constant(numpy.array(starts + ends, numpy.float32))
        attributes["extrapolation_value"] = 10.0
    if not crop and g.chance(0.5):
        return g.node("Resize", [x, region, g.constant(numpy.array(scales, numpy.float32))], **attributes)
    if "axes" in attributes and not crop and g.chance(0.3):
        attributes["keep_aspect_ratio_policy"] = g.choose(["not_larger", "not_smaller"])
    sizes = [max(1, int(g.shape(x)[axis] * scale)) for axis, scale in zip(axes, scales, strict=True)]
    return g.node("Resize", [x, region, none, g.ints(sizes)], **attributes)


@family("resizing", 0.7)
def depth_and_space(g: GraphBuilder):
    x = g.pick([F32], ranks=[4], fits=all)
    _, channels, height, width = g.shape(x)
    if channels % 4 == 0:
        return g.node("DepthToSpace", [x], blocksize=2, mode=g.choose(["DCR", "CRD"]) if g.opset >= 11 else None)
    g.require(height % 2 == 0 and width % 2 == 0)
    return g.node("SpaceToDepth", [x], blocksize=2)


@family("resizing", 0.5)
def grid_sample(g: GraphBuilder):
    g.require(g.opset >= 16)
    old = g.opset < 20
    count = 2 if old else g.choose([2, 2, 3])
    x = g.pick([F32], ranks=[count + 2], fits=all)
    grid = g.input(F32, [g.shape(x)[0], *(g.draw.randint(1, 4) for _ in range(count)), count])
    mode = g.choose(["bilinear", "nearest", "bicubic"] if old else ["linear", "nearest"] + (["cubic"] if count == 2 else []))
    g.node("GridSample", [x, grid], mode=mode, padding_mode=g.choose(["zeros", "border", "reflection"]), align_corners=g.choose((0, 1)))
