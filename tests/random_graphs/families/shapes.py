"""Shapes computed by the graph itself: passes and plans must then know exactly what is known."""

import numpy
from onnx import helper, numpy_helper

from random_graphs.builder import GraphBuilder, Value
from random_graphs.registry import family
from random_graphs.values import F32, I64


@family("shapes", 2)
def shape_arithmetic(g: GraphBuilder):
    g.require(g.opset >= 13)
    x = g.pick(ranks=[2, 3, 4], fits=all)
    g.choose(USES)(g, x)


def keep_first(g: GraphBuilder, x: str):
    shape = g.shape(x)
    first = g.node("Gather", [g.node("Shape", [x]), g.ints([0])], axis=0)
    target = g.node("Concat", [first, g.ints([-1])], axis=0)
    node = helper.make_node("Reshape", [x, target], [g.name()])
    g.declare(node, Value(g.dtype(x), [shape[0], int(numpy.prod(shape[1:]))]))


def first_half(g: GraphBuilder, x: str):
    shape = g.shape(x)
    half = g.node("Div", [g.node("Slice", [g.node("Shape", [x]), g.ints([1]), g.ints([2])]), g.ints([2])])
    node = helper.make_node("Slice", [x, g.ints([0]), half, g.ints([1])], [g.name()])
    g.declare(node, Value(g.dtype(x), [shape[0], shape[1] // 2, *shape[2:]]))


def expand_to(g: GraphBuilder, x: str):
    dtype, shape = g.dtype(x), g.shape(x)
    node = helper.make_node("Expand", [g.parameter(dtype, shape[-1:]), g.node("Shape", [x])], [g.name()])
    (y,) = g.declare(node, Value(dtype, list(shape)))
    if dtype in (F32, I64):
        g.node("Add", [x, y])


def filled(g: GraphBuilder, x: str):
    value = numpy_helper.from_array(numpy.array([1.5], numpy.float32))
    node = helper.make_node("ConstantOfShape", [g.node("Shape", [x])], [g.name()], value=value)
    g.declare(node, Value(F32, list(g.shape(x))))


def part_of_shape(g: GraphBuilder, x: str):
    shape = g.node("Shape", [x], start=g.axis(g.rank(x)) if g.opset >= 15 else None)
    if g.chance(0.5):
        g.node("Mul", [shape, shape])
    else:
        g.node("ReduceProd", [shape], keepdims=0)


def counted(g: GraphBuilder, x: str):
    size = g.node("Size", [x])
    if g.chance(0.6):
        g.node("Range", [g.ints(0), size, g.ints(1)])


USES = (keep_first, first_half, expand_to, filled, part_of_shape, counted)
