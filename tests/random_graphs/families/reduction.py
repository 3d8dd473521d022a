"""Operators over whole axes."""

import numpy

from random_graphs.builder import GraphBuilder
from random_graphs.registry import family
from random_graphs.values import F16, F32, F64, FLOATS, I32, I64

REDUCTIONS = ("Sum", "Mean", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp")


@family("reduction", 3)
def reduce(g: GraphBuilder):
    x = g.pick([F32] * 5 + [g.choose([I32, I64, F64, F16])], ranks=[1, 2, 3, 4, 5])
    name = g.choose(REDUCTIONS)
    if name.startswith("Log"):
        g.require(g.dtype(x) in FLOATS)
        x = g.node("Abs", [x])
    rank = g.rank(x)
    axes = g.draw.sample(range(rank), g.draw.randint(1, rank))
    if rank > 2 and g.chance(0.25):
        axes = list(range(2, rank))
    if g.opset >= 11:
        axes = [axis - rank if g.chance(0.4) else axis for axis in axes]
    keep, every, operator = g.choose([0, 1, None]), g.chance(0.1), "Reduce" + name
    if g.opset < 18 and (g.opset < 13 or operator != "ReduceSum"):
        return g.node(operator, [x], axes=None if every else axes, keepdims=keep)
    if g.chance(0.08):
        return g.node(operator, [x, g.ints([])] if g.chance(0.5) else [x], keepdims=keep, noop_with_empty_axes=1)
    return g.node(operator, [x] if every else [x, g.ints(axes)], keepdims=keep)


@family("reduction")
def arg_extreme(g: GraphBuilder):
    x = g.pick([F32, F32, I32], ranks=[1, 2, 3, 4], fits=all)
    last = g.choose((0, 1)) if g.opset >= 12 else None
    operator = g.choose(["ArgMax", "ArgMin"])
    g.node(operator, [x], axis=g.axis(g.rank(x), 11), keepdims=g.choose([0, 1, None]), select_last_index=last)


@family("reduction")
def running_sum(g: GraphBuilder):
    g.require(g.opset >= 11)
    x = g.pick([F32, F32, I32, I64, F64], ranks=[1, 2, 3, 4])
    axis = g.constant(numpy.array(g.axis(g.rank(x)), g.choose([numpy.int32, numpy.int64])))
    g.node("CumSum", [x, axis], exclusive=g.choose((0, 1)), reverse=g.choose((0, 1)))


@family("reduction", 0.2)
def running_product(g: GraphBuilder):
    g.require(g.opset >= 26)
    x = g.pick([F32], ranks=[1, 2])
    g.node("CumProd", [x, g.ints(0)], exclusive=g.choose((0, 1)), reverse=g.choose((0, 1)))


@family("reduction")
def top_k(g: GraphBuilder):
    g.require(g.opset >= 11)
    x = g.pick([F32, F32, I32, I64], ranks=[1, 2, 3, 4], fits=all)
    axis = g.axis(g.rank(x))
    g.node("TopK", [x, g.ints([g.draw.randint(1, g.shape(x)[axis])])], 2, axis=axis, largest=g.choose((0, 1)))


@family("reduction", 2)
def softmax(g: GraphBuilder):
    x = g.pick(g.float_type(), ranks=[1, 2, 3, 4, 5])
    operator = g.choose(["Softmax", "Softmax", "LogSoftmax", "Hardmax"])
    # The default was 1, which an input of one dim has not.
    axis = None if g.chance(0.5) and (g.opset >= 13 or g.rank(x) > 1) else g.axis(g.rank(x), 11)
    g.node(operator, [x], axis=axis)
