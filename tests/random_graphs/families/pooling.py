"""Pooling, alone and after a pad that may be merged into it."""

import numpy

from random_graphs.builder import GraphBuilder
from random_graphs.families.convolution import window
from random_graphs.registry import family
from random_graphs.values import F32, F64, I8, U8

POOLS = ("MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")


@family("pooling", 3)
def pool(g: GraphBuilder):
    operator = g.choose(POOLS)
    narrow = operator == "MaxPool" and g.opset >= 12 and g.chance(0.15)
    dtype = g.choose([U8, I8]) if narrow else F64 if g.chance(0.04) else F32
    x = g.pick([dtype], ranks=[g.choose([1, 2, 2, 2, 3]) + 2], fits=all)
    if operator.startswith("Global"):
        return g.node(operator, [x])
    return POOL[operator](g, x, *window(g, x, pool=True))


def max_pool(g: GraphBuilder, x: str, kernel: list[int], attributes: dict):
    if g.opset < 10:
        attributes.pop("dilations", None)
    elif g.chance(0.35):
        attributes["ceil_mode"] = 1
    both = g.opset >= 8 and g.chance(0.25)
    if both and g.chance(0.3):
        attributes["storage_order"] = 1
    g.node("MaxPool", [x], 2 if both else 1, kernel_shape=kernel, **attributes)


def average_pool(g: GraphBuilder, x: str, kernel: list[int], attributes: dict):
    if g.opset < 19:
        attributes.pop("dilations", None)
    if g.opset >= 10 and g.chance(0.35):
        attributes["ceil_mode"] = 1
    g.node("AveragePool", [x], kernel_shape=kernel, count_include_pad=g.choose([None, 1]), **attributes)


def lp_pool(g: GraphBuilder, x: str, kernel: list[int], attributes: dict):
    if g.opset < 18:
        attributes.pop("dilations", None)
    elif g.chance(0.3):
        attributes["ceil_mode"] = 1
    g.node("LpPool", [x], kernel_shape=kernel, p=g.choose([1, 2, 3]), **attributes)


POOL = {"MaxPool": max_pool, "AveragePool": average_pool, "LpPool": lp_pool}


@family("pooling")
def padded_window(g: GraphBuilder):
    g.require(g.opset >= 11)
    x = g.pick([F32], ranks=[3, 4], fits=all)
    count = g.rank(x) - 2
    value = g.choose([0, 0, 0, -numpy.inf, 1])
    pads = [0, 0, *(g.draw.randint(0, 3) for _ in range(count)), 0, 0, *(g.draw.randint(0, 3) for _ in range(count))]
    given = [g.constant(numpy.float32(value))] if value or g.chance(0.5) else []
    y = g.node("Pad", [x, g.ints(pads), *given], mode="constant")
    kernel, attributes = window(g, y, pool=True)
    operator = g.choose(["MaxPool", "AveragePool", "Conv"])
    if operator == "Conv":
        g.node("Conv", [y, g.random_constant(F32, [3, g.shape(y)[1], *kernel])], **attributes)
    else:
        POOL[operator](g, y, kernel, attributes)
