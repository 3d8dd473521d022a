"""Gathering, scattering and other operators on positions."""

import numpy

from random_graphs.builder import GraphBuilder
from random_graphs.registry import family
from random_graphs.values import BOOL, F32, F64, I32, I64


@family("indexing", 2)
def gather(g: GraphBuilder):
    x = g.pick(ranks=[1, 2, 3, 4], fits=all)
    axis = g.axis(g.rank(x), 11)
    dim = g.shape(x)[axis]
    shape = g.choose([[], [1], [3], [2, 2], [0]] if g.chance(0.2) else [[], [1], [3], [2, 2]])
    least = -dim if g.opset >= 11 else 0
    indices = g.rng().integers(least, dim, shape).astype(g.choose([numpy.int32, numpy.int64]))
    g.node("Gather", [x, g.constant(indices)], axis=axis)


@family("indexing")
def gather_elements(g: GraphBuilder):
    g.require(g.opset >= 11)
    x = g.pick(ranks=[1, 2, 3, 4], fits=all)
    axis = g.axis(g.rank(x))
    shape = [g.draw.randint(1, dim) for dim in g.shape(x)]
    shape[axis] = g.draw.randint(1, 5)
    dim = g.shape(x)[axis]
    indices = g.rng().integers(-dim, dim, shape).astype(g.choose([numpy.int32, numpy.int64]))
    g.node("GatherElements", [x, g.constant(indices)], axis=axis)


@family("indexing")
def gather_nd(g: GraphBuilder):
    g.require(g.opset >= 12)
    x = g.pick(ranks=[1, 2, 3, 4], fits=all)
    shape, rng = g.shape(x), g.rng()
    batch = g.draw.randint(0, len(shape) - 1)
    depth = g.draw.randint(1, len(shape) - batch)
    places = shape[:batch] + g.choose([[], [2], [2, 3]])
    indices = numpy.stack([rng.integers(-shape[batch + i], shape[batch + i], places) for i in range(depth)], -1)
    g.node("GatherND", [x, g.constant(indices.astype(numpy.int64))], batch_dims=batch)


def scatter_reduction(g: GraphBuilder) -> str:
    g.require(g.opset >= 11)
    if g.opset < 16:
        return "none"
    return g.choose(["none", "none", "add", "mul"] + (["max", "min"] if g.opset >= 18 else []))


@family("indexing")
def scatter_elements(g: GraphBuilder):
    """Without a reduction no element is written twice, because the order of writes is undefined."""
    reduction = scatter_reduction(g)
    x = g.pick([F32, F32, F32, I32, I64, F64], ranks=[1, 2, 3], fits=all)
    shape, rng = g.shape(x), g.rng()
    axis = g.draw.randrange(len(shape))
    update = [g.draw.randint(1, dim) for dim in shape]
    along = rng.permutation(shape[axis])[: update[axis]] if reduction == "none" else rng.integers(0, shape[axis], update[axis])
    indices = numpy.broadcast_to(along.reshape([-1 if i == axis else 1 for i in range(len(shape))]), update)
    indices = numpy.where(rng.random(update) < 0.3, indices - shape[axis], indices).astype(numpy.int64)
    inputs = [x, g.constant(indices), g.parameter(g.dtype(x), update, 0.4)]
    g.node("ScatterElements", inputs, axis=axis, reduction=reduction if g.opset >= 16 else None)


@family("indexing")
def scatter_nd(g: GraphBuilder):
    reduction = scatter_reduction(g)
    x = g.pick([F32, F32, F32, I32, I64, F64], ranks=[1, 2, 3], fits=all)
    shape, rng = g.shape(x), g.rng()
    depth, count = g.draw.randint(1, len(shape)), g.draw.randint(1, 4)
    if reduction == "none":
        places = list(numpy.ndindex(*shape[:depth]))
        indices = numpy.array(g.draw.sample(places, min(count, len(places))))
    else:
        indices = numpy.stack([rng.integers(-dim, dim, count) for dim in shape[:depth]], -1)
    updates = g.parameter(g.dtype(x), [len(indices), *shape[depth:]], 0.5)
    inputs = [x, g.constant(indices.astype(numpy.int64)), updates]
    g.node("ScatterND", inputs, reduction=reduction if g.opset >= 16 else None)


@family("indexing", 0.3)
def one_hot(g: GraphBuilder):
    g.require(g.opset >= 11)
    x = g.pick([I64, I32, I64], ranks=[0, 1, 2])
    pair = g.constant(numpy.array([0, 2], g.choose([numpy.float32, numpy.int32])))
    g.node("OneHot", [x, g.ints(g.draw.randint(1, 6)), pair], axis=g.draw.randint(-1, g.rank(x)))


@family("indexing", 0.3)
def non_zero(g: GraphBuilder):
    g.require(g.opset >= 13)
    g.node("NonZero", [g.pick([F32, I64, BOOL], ranks=[1, 2, 3])])


@family("indexing", 0.3)
def unique(g: GraphBuilder):
    g.require(g.opset >= 11)
    x = g.pick([F32, I64], ranks=[1, 2, 3], fits=all)
    g.node("Unique", [x], 4, sorted=g.choose((0, 1)), axis=g.axis(g.rank(x)) if g.chance(0.4) else None)


@family("indexing", 0.3)
def triangle(g: GraphBuilder):
    g.require(g.opset >= 14)
    inputs = [g.pick([F32, I64, F64], ranks=[2, 3, 4])]
    inputs += [g.ints(g.draw.randint(-3, 3))] if g.chance(0.7) else []
    g.node("Trilu", inputs, upper=g.choose((0, 1)))


@family("indexing", 0.3)
def eye(g: GraphBuilder):
    g.require(g.opset >= 9)
    g.node("EyeLike", [g.pick([F32, I32], ranks=[2])], k=g.draw.randint(-2, 2), dtype=g.choose([None, F32, I64]))


@family("indexing", 0.3)
def compress(g: GraphBuilder):
    g.require(g.opset >= 11)
    x = g.pick(ranks=[1, 2, 3])
    axis = g.draw.randrange(g.rank(x))
    g.node("Compress", [x, g.random_constant(BOOL, [g.draw.randint(0, g.shape(x)[axis])])], axis=axis)


@family("indexing", 0.3)
def reverse_sequence(g: GraphBuilder):
    g.require(g.opset >= 10)
    x = g.pick(ranks=[2, 3, 4], fits=all)
    time = g.choose((0, 1))
    lengths = g.rng().integers(1, g.shape(x)[time] + 1, g.shape(x)[1 - time])
    g.node("ReverseSequence", [x, g.ints(lengths)], time_axis=time, batch_axis=1 - time)


@family("indexing", 0.3)
def determinant(g: GraphBuilder):
    g.require(g.opset >= 11)
    g.node("Det", [g.pick([F32], shape=g.choose([[2, 3, 3], [4, 4]]), fresh=0.3)])


@family("indexing", 0.3)
def center(g: GraphBuilder):
    g.require(g.opset >= 18)
    x = g.pick(ranks=[1, 2, 3])
    g.node("CenterCropPad", [x, g.ints([g.draw.randint(1, 7) for _ in g.shape(x)])])
