"""Normalizations."""

import numpy

from random_graphs import values
from random_graphs.builder import GraphBuilder
from random_graphs.registry import family
from random_graphs.values import F16, F32, F64

# Operator: its first operator set, and the ranks it supports.
NORMALIZATIONS = {
    "InstanceNormalization": (6, [3, 4]),
    "LayerNormalization": (17, [2, 3, 4]),
    "GroupNormalization": (21, [3, 4]),
    "RMSNormalization": (23, [2, 3, 4]),
    "LpNormalization": (6, [2, 3, 4]),
    "MeanVarianceNormalization": (9, [4]),
    "LRN": (6, [4]),
}


def batch_norm(g: GraphBuilder, x: str) -> str:
    channels, dtype = g.shape(x)[1], g.dtype(x)
    scale, bias, mean = (g.random_constant(dtype, [channels]) for _ in range(3))
    variance = numpy.abs(values.numbers(g.draw, dtype, [channels])) + numpy.array(0.1, values.NUMPY[dtype])
    if g.chance(0.1) and not g.nested:
        scale = g.input(dtype, [channels])
    return g.node("BatchNormalization", [x, scale, bias, mean, g.constant(variance)], epsilon=g.choose([None, 1e-3]))


@family("normalization", 2)
def batch_normalization(g: GraphBuilder):
    y = batch_norm(g, g.pick([F32], ranks=[2, 3, 4, 5]))
    if g.chance(0.6):
        g.node(g.choose(["Relu", "Neg", "Sigmoid"]), [y])


@family("normalization", 2)
def normalization(g: GraphBuilder):
    operator = g.choose(list(NORMALIZATIONS))
    since, ranks = NORMALIZATIONS[operator]
    g.require(g.opset >= since)
    # In f64 the types of epsilon and of the first stage would show.
    x = g.pick([F32] * 9 + [F64 if operator == "LpNormalization" else F16], ranks=ranks, fits=all)
    ADD[operator](g, operator, x)


def over_channels(g: GraphBuilder, operator: str, x: str):
    dtype, channels = g.dtype(x), g.shape(x)[1]
    groups = g.choose([n for n in range(1, channels + 1) if channels % n == 0]) if operator == "GroupNormalization" else None
    g.node(operator, [x, g.parameter(dtype, [channels]), g.parameter(dtype, [channels])], num_groups=groups)


def over_last(g: GraphBuilder, operator: str, x: str):
    dtype, axis = g.dtype(x), g.axis(g.rank(x))
    shape = g.shape(x)[axis:]
    inputs = [x, g.parameter(dtype, shape)]
    outputs = 1
    if operator == "LayerNormalization":
        inputs += [g.parameter(dtype, shape)] if g.chance(0.6) else []
        outputs = g.choose([1, 1, 1, 3])
    g.node(operator, inputs, outputs, axis=axis, epsilon=g.choose([None, 1e-2]))


def lp(g: GraphBuilder, operator: str, x: str):
    g.node(operator, [x], axis=g.axis(g.rank(x)), p=g.choose([1, 2]))


def local_response(g: GraphBuilder, operator: str, x: str):
    attributes = {"alpha": g.choose([None, 0.1]), "beta": g.choose([None, 0.5]), "bias": g.choose([None, 2.0])}
    g.node(operator, [x], size=g.choose([1, 3, 5, 2]), **attributes)


def mean_variance(g: GraphBuilder, operator: str, x: str):
    g.node(operator, [x], axes=g.choose([None, [0, 2, 3], [1], [2, 3]]))


ADD = {
    "InstanceNormalization": over_channels,
    "GroupNormalization": over_channels,
    "LayerNormalization": over_last,
    "RMSNormalization": over_last,
    "LpNormalization": lp,
    "LRN": local_response,
    "MeanVarianceNormalization": mean_variance,
}
