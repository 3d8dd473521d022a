"""Convolutions, and their usual successors."""

import numpy

from random_graphs import values
from random_graphs.builder import GraphBuilder
from random_graphs.families.normalization import batch_norm
from random_graphs.registry import family
from random_graphs.values import F16, F32, F64, NUMPY


def window(g: GraphBuilder, x: str, pool: bool = False) -> tuple[list[int], dict]:
    """A kernel's shape, with strides, dilations and padding for which it fits the padded input at least once."""
    places = g.shape(x)[2:]
    count = len(places)
    kernel = [g.choose([1, 1, 2, 3, 3, 4, 5]) for _ in places]
    attributes: dict = {}
    if g.chance(0.5):
        attributes["strides"] = [g.choose([1, 2, 3, 4]) for _ in places]
    if g.chance(0.3):
        attributes["dilations"] = [g.choose([1, 2, 3]) for _ in places]
    chance = g.draw.random()
    if chance < 0.45:
        most = [min(k - 1, 2) if pool else 3 for k in kernel] * 2
        attributes["pads"] = [g.draw.randint(0, limit) for limit in most]
    elif chance < 0.65:
        attributes["auto_pad"] = g.choose(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
    if attributes.get("auto_pad", "").startswith("SAME"):
        attributes.pop("dilations", None)
        if "strides" in attributes:
            attributes["strides"] = [min(s, k) for s, k in zip(attributes["strides"], kernel, strict=True)]
        return kernel, attributes
    pads, dilations = attributes.get("pads", [0] * 2 * count), attributes.get("dilations", [1] * count)
    for i, place in enumerate(places):
        room = place + pads[i] + pads[i + count]
        while kernel[i] > 1 and dilations[i] * (kernel[i] - 1) + 1 > room:
            kernel[i] -= 1
        if pool and "pads" in attributes:
            pads[i], pads[i + count] = min(pads[i], kernel[i] - 1), min(pads[i + count], kernel[i] - 1)
            dilations[i] = dilations[i] if dilations[i] * (kernel[i] - 1) + 1 <= place + pads[i] + pads[i + count] else 1
            kernel[i] = min(kernel[i], place + pads[i] + pads[i + count])
            dilations[i] = min(dilations[i], place)  # otherwise a window may cover only padding
    return kernel, attributes


@family("convolution", 5)
def conv(g: GraphBuilder):
    dtype = F32 if g.chance(0.95) else g.choose([F64, F16])
    x = g.pick([dtype], ranks=[g.choose([1, 2, 2, 2, 3]) + 2], fits=lambda shape: shape[1] > 0 and all(shape[2:]))
    channels = g.shape(x)[1]
    groups = g.choose([1, 1, 1] + [n for n in (2, 3, 4, channels) if channels % n == 0])
    outputs = groups * g.choose([1, 1, 2, 3]) if groups > 1 else g.choose([1, 2, 3, 4, 5, 8, 16, channels])
    kernel, attributes = window(g, x)
    if g.chance(0.15):  # same size, so that residuals fit
        kernel = [k | 1 for k in kernel]
        attributes = {"pads": [k // 2 for k in kernel] * 2}
        outputs = channels
    if g.chance(0.5):
        attributes["kernel_shape"] = kernel
    inputs = [x, g.parameter(dtype, [outputs, channels // groups, *kernel])]
    if g.chance(0.5):
        inputs.append(g.parameter(dtype, [outputs]))
    tail(g, g.node("Conv", inputs, group=groups if groups > 1 or g.chance(0.5) else None, **attributes))


@family("convolution", 2)
def transposed_conv(g: GraphBuilder):
    x = g.pick([F32], ranks=[g.choose([1, 2, 2, 3]) + 2], fits=all)
    channels = g.shape(x)[1]
    groups = g.choose([1, 1] + [n for n in (2, 3, channels) if channels % n == 0])
    kernel, attributes = window(g, x)
    if "strides" in attributes and g.chance(0.4):
        attributes["output_padding"] = [g.draw.randint(0, s - 1) for s in attributes["strides"]]
    if g.chance(0.5):
        attributes["kernel_shape"] = kernel
    outputs = g.choose([1, 2, 3])
    inputs = [x, g.parameter(F32, [channels, outputs, *kernel])]
    if g.chance(0.5):
        inputs.append(g.random_constant(F32, [outputs * groups]))
    y = g.node("ConvTranspose", inputs, group=groups if groups > 1 else None, **attributes)
    g.require(all(g.shape(y)))
    tail(g, y)


def tail(g: GraphBuilder, y: str) -> str:
    """Some nodes that are fused with a convolution, and some that must not be."""
    for _ in range(g.choose([0, 0, 1, 2, 3, 4])):
        y = g.choose(TAILS)(g, y)
    return y


def normalized(g: GraphBuilder, y: str) -> str:
    return batch_norm(g, y) if g.dtype(y) == F32 else y


def rectified(g: GraphBuilder, y: str) -> str:
    return g.node("Relu", [y])


def with_residual(g: GraphBuilder, y: str) -> str:
    dtype, shape = g.dtype(y), g.shape(y)
    found = g.candidates(lambda v: v.dtype == dtype and v.shape == shape)
    other = g.choose(found) if found and g.chance(0.8) else g.parameter(dtype, shape, 0)
    return g.node(g.choose(["Add", "Add", "Add", "Mul", "Sub"]), [y, other] if g.chance(0.5) else [other, y])


def with_other(g: GraphBuilder, y: str) -> str:
    return g.node("Add", [y, g.other(y)])


def scaled(g: GraphBuilder, y: str) -> str:
    number = values.numbers(g.draw, g.dtype(y), g.channels(y) if g.rank(y) >= 2 and g.chance(0.7) else [])
    number = numpy.where(number == 0, numpy.array(1.5, number.dtype), number)
    return g.node(g.choose(["Mul", "Add", "Div", "Sub"]), [y, g.constant(number)])


def activated(g: GraphBuilder, y: str) -> str:
    operator = g.choose(["Sigmoid", "Tanh", "LeakyRelu", "Elu", "HardSwish", "Neg", "Abs", "Swish", "PRelu"])
    if operator == "Swish":
        return g.node("Mul", [y, g.node("Sigmoid", [y])])
    if operator == "PRelu":
        return g.node(operator, [y, g.random_constant(g.dtype(y), g.channels(y) if g.chance(0.6) else [1])])
    return g.node("Tanh" if operator == "HardSwish" and g.opset < 14 else operator, [y])


def clipped(g: GraphBuilder, y: str) -> str:
    if g.opset < 11:
        return g.node("Clip", [y], min=0.0, max=6.0)
    return g.node("Clip", [y, *(g.constant(numpy.array(limit, NUMPY[g.dtype(y)])) for limit in (0, 6))])


TAILS = (normalized, rectified, with_residual, with_other, scaled, activated, clipped)
