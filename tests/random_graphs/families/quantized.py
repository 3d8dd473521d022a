"""Quantization and integer products."""

import numpy

from random_graphs.builder import GraphBuilder
from random_graphs.families.convolution import window
from random_graphs.registry import family
from random_graphs.values import DTYPE, F32, I4, I8, I16, U4, U8, U16

ZERO_POINTS = {I4: (-3, 3), U4: (0, 7), I8: (-9, 9), U8: (100, 140), I16: (-9, 9), U16: (0, 99)}


def scale(g: GraphBuilder, shape=()) -> str:
    return g.constant((g.rng().integers(1, 9, shape) / 16).astype(numpy.float32))


def zero_point(g: GraphBuilder, dtype, shape=()) -> str:
    return g.constant(g.rng().integers(0, 5, shape).astype(dtype))


@family("quantized", 4)
def quantize_and_back(g: GraphBuilder):
    g.require(g.opset >= 10)
    x = g.pick([F32], ranks=[1, 2, 3, 4], fits=all)
    shape = g.shape(x)
    dtype = g.choose([U8, I8] + ([I4, U4, I16, U16] if g.opset >= 21 else []))
    axis, chance, parameters, attributes = g.draw.randrange(len(shape)), g.draw.random(), [], {}
    if chance < 0.4 and g.opset >= 13:
        parameters, attributes = [shape[axis]], {"axis": axis - len(shape) if g.chance(0.3) else axis}
    elif chance < 0.6 and g.opset >= 21:
        block = g.draw.randint(1, shape[axis])
        parameters = shape[:axis] + [-(-shape[axis] // block)] + shape[axis + 1 :]
        attributes = {"axis": axis, "block_size": block}
    steps = scale(g, parameters)
    zero = ""
    if dtype != U8 or g.chance(0.8):
        zero = g.constant(g.rng().integers(*ZERO_POINTS[dtype], parameters), dtype)
    quantized = g.node("QuantizeLinear", [x, steps, zero], **attributes)
    if not attributes and len(shape) >= 2 and dtype in (U8, I8) and g.chance(0.3):
        quantized = g.node("Transpose", [quantized])
    g.node("DequantizeLinear", [quantized, steps, zero], **attributes)


@family("quantized", 1.5)
def dynamic_quantize(g: GraphBuilder):
    g.require(g.opset >= 11)
    g.node("DynamicQuantizeLinear", [g.pick([F32], ranks=[1, 2, 3], fits=all)], 3)


@family("quantized", 1.5)
def integer_matmul(g: GraphBuilder):
    g.require(g.opset >= 13)
    dtype = g.choose([numpy.uint8, numpy.int8])
    x = g.pick([DTYPE[numpy.dtype(dtype)]], ranks=[2, 3], fits=all)
    columns = g.draw.randint(1, 6)
    weights = g.constant(g.rng().integers(-8 if dtype == numpy.int8 else 0, 9, [g.shape(x)[-1], columns]).astype(dtype))
    if g.chance(0.5):
        return g.node("MatMulInteger", [x, weights, zero_point(g, dtype) if g.chance(0.6) else ""])
    shape = [columns] if g.chance(0.3) else []
    second = [weights, scale(g, shape), zero_point(g, dtype, shape)]
    return g.node("QLinearMatMul", [x, scale(g), zero_point(g, dtype), *second, scale(g), zero_point(g, dtype)])


@family("quantized", 1.5)
def integer_conv(g: GraphBuilder):
    g.require(g.opset >= 13)
    linear = g.chance(0.5)
    x = g.pick([g.choose([U8, I8]) if linear else U8], ranks=[g.choose([3, 4])], fits=all)
    channels, dtype = g.shape(x)[1], numpy.uint8 if g.dtype(x) == U8 else numpy.int8
    groups = g.choose([1, channels])
    outputs = groups * g.choose([1, 2])
    kernel, attributes = window(g, x)
    weight_type = g.choose([dtype, numpy.int8]) if linear else numpy.uint8
    least = -8 if weight_type == numpy.int8 else 0
    weights = g.constant(g.rng().integers(least, 9, [outputs, channels // groups, *kernel]).astype(weight_type))
    if not linear:
        zero = zero_point(g, dtype) if g.chance(0.6) else ""
        return g.node("ConvInteger", [x, weights, zero], group=groups, **attributes)
    shape = [outputs] if g.chance(0.4) else []
    zero = zero_point(g, weight_type, shape) if weight_type == numpy.uint8 else g.constant(numpy.zeros(shape, weight_type))
    bias = [g.constant(g.rng().integers(-50, 50, [outputs]).astype(numpy.int32))] if g.chance(0.5) else []
    inputs = [x, scale(g), zero_point(g, dtype), weights, scale(g, shape), zero, scale(g), zero_point(g, dtype), *bias]
    return g.node("QLinearConv", inputs, group=groups, **attributes)
