"""Multi-node patterns that exporters write for one operator, and targets of fusion."""

import numpy

from random_graphs import values
from random_graphs.builder import GraphBuilder
from random_graphs.families.normalization import batch_norm
from random_graphs.registry import family
from random_graphs.values import BF16, F16, F32, F64, I32, I64, INTEGERS


class Spelling:
    """Writes a pattern in a random variation: operands of commutative operators in either order, constants of any rank."""

    def __init__(self, g: GraphBuilder):
        self.g = g
        self.x = g.pick([F32])

    def number(self, value: float) -> str:
        rank = self.g.choose([0, 0, 0, 1, min(1, self.g.rank(self.x)), self.g.rank(self.x)])
        return self.g.constant(numpy.array(value, numpy.float32).reshape([1] * rank))

    def either(self, operator: str, a: str, b: str) -> str:
        return self.g.node(operator, [a, b] if self.g.chance(0.5) else [b, a])

    def one(self, operator: str, *inputs: str, **attributes) -> str:
        return self.g.node(operator, list(inputs), **attributes)


def gelu_by_erf(s: Spelling):
    scaled = s.one("Div", s.x, s.number(1.4142135)) if s.g.chance(0.5) else s.either("Mul", s.x, s.number(0.70710677))
    part = s.either("Add", s.one("Erf", scaled), s.number(1.0))
    order = s.g.draw.randint(0, 2)
    if order == 0:
        s.either("Mul", s.either("Mul", s.x, part), s.number(0.5))
    elif order == 1:
        s.either("Mul", s.either("Mul", s.x, s.number(0.5)), part)
    else:
        s.either("Mul", s.x, s.either("Mul", part, s.number(0.5)))


def gelu_by_tanh(s: Spelling):
    cube = s.one("Pow", s.x, s.number(3.0)) if s.g.chance(0.5) else s.one("Mul", s.one("Mul", s.x, s.x), s.x)
    inner = s.either("Add", s.x, s.either("Mul", cube, s.number(0.044715)))
    part = s.one("Tanh", s.either("Mul", inner, s.number(0.7978846)))
    s.either("Mul", s.either("Mul", s.x, s.either("Add", part, s.number(1.0))), s.number(0.5))


def hard_swish(s: Spelling):
    shifted = s.either("Add", s.x, s.number(3.0))
    limits = [s.g.constant(numpy.float32(0)), s.g.constant(numpy.float32(6))]
    clipped = s.one("Clip", shifted, *limits) if s.g.opset >= 11 else s.one("Clip", shifted, min=0.0, max=6.0)
    order = s.g.draw.randint(0, 3)
    if order == 0:
        s.either("Mul", s.x, s.one("Div", clipped, s.number(6.0)))
    elif order == 1:
        s.one("Div", s.either("Mul", s.x, clipped), s.number(6.0))
    elif order == 2:
        s.either("Mul", clipped, s.number(1 / 6))
    else:
        s.one("Div", clipped, s.number(6.0))


def sigmoid_by_exp(s: Spelling):
    below = s.either("Add", s.one("Exp", s.one("Neg", s.x)), s.number(1.0))
    if s.g.chance(0.5):
        s.one("Reciprocal", below)
    else:
        s.one("Div", s.number(1.0), below)


SPELLINGS = (
    gelu_by_erf,
    gelu_by_tanh,
    hard_swish,
    sigmoid_by_exp,
    lambda s: s.either("Mul", s.x, s.one("Sigmoid", s.x)),
    lambda s: s.either("Mul", s.x, s.one("Tanh", s.one("Softplus", s.x))),
    lambda s: s.one("Log", s.either("Add", s.one("Exp", s.x), s.number(1.0))),
    lambda s: s.either("Mul", s.x, s.one("HardSigmoid", s.x, alpha=1 / 6, beta=0.5)),
)


@family("patterns", 1.5)
def activation_by_parts(g: GraphBuilder):
    g.require(g.opset >= 9)
    g.choose(SPELLINGS)(Spelling(g))


@family("patterns", 2.5)
def scales_and_shifts(g: GraphBuilder):
    """Chains of constants after any value."""
    x = g.pick([F32, F32, F32, g.choose([F16, F64, I32, I64, BF16])])
    dtype = g.dtype(x)
    narrow = dtype in INTEGERS or dtype == BF16
    for _ in range(g.draw.randint(2, 4)):
        operator = g.choose(["Add", "Mul", "Sub"] if narrow else ["Add", "Mul", "Sub", "Div", "Neg", "Relu"])
        if operator in ("Neg", "Relu"):
            x = g.node(operator, [x])
            continue
        number = values.numbers(g.draw, dtype, constant_shape(g, x))
        if operator == "Div":
            number = numpy.where(number == 0, numpy.array(2, number.dtype), number)
        c = g.constant(number)
        x = g.node(operator, [x, c] if operator == "Div" or g.chance(0.65) else [c, x])


def constant_shape(g: GraphBuilder, x: str) -> list[int]:
    shape, chance = g.shape(x), g.draw.random()
    if len(shape) >= 2 and chance < 0.4:
        return g.channels(x)
    if shape and chance < 0.6:
        return [shape[-1]]
    return [] if chance < 0.8 else g.broadcastable(shape)


@family("patterns", 2)
def residual_net(g: GraphBuilder):
    """Convolutions whose outputs are added to their inputs, to themselves, gated and concatenated."""
    x = y = g.pick([F32], ranks=[4], fits=all)
    channels = g.shape(x)[1]
    for _ in range(g.draw.randint(1, 3)):
        y = residual_step(g, x, y, channels)


def residual_step(g: GraphBuilder, x: str, y: str, channels: int) -> str:
    kernel = g.choose([1, 3])
    outputs = g.choose([channels, channels, channels, g.choose([1, 4, 8, 16])])
    depthwise = outputs == channels and g.shape(y)[1] == channels and g.chance(0.3)
    weights = g.random_constant(F32, [outputs, 1 if depthwise else g.shape(y)[1], kernel, kernel])
    bias = [g.random_constant(F32, [outputs])] if g.chance(0.5) else []
    z = g.node("Conv", [y, weights, *bias], pads=[kernel // 2] * 4, group=channels if depthwise else 1)
    if g.chance(0.5):
        z = batch_norm(g, z)
    result = g.node(g.choose(["Relu", "Sigmoid", "LeakyRelu"]), [z]) if g.chance(0.6) else z
    if g.shape(result) == g.shape(x) and g.chance(0.7):
        before = y if g.shape(y) == g.shape(result) else x
        result = g.node("Add", g.choose([[result, x], [x, result], [result, z], [result, result], [result, before]]))
    if g.chance(0.3):
        result = g.node("Mul", [result, g.node("Sigmoid", [g.node("GlobalAveragePool", [result])])])
    if g.chance(0.3):
        result = g.node("Concat", [result, x, result][: g.draw.randint(2, 3)], axis=1)
    return result


@family("patterns")
def one_channel_residual(g: GraphBuilder):
    """A residual that broadcasts over channels or positions, which fused sums must not use unexpanded."""
    x = g.pick([F32], ranks=[4], fits=all)
    batch, channels, *places = g.shape(x)
    z = g.node("Conv", [x, g.random_constant(F32, [g.choose([2, 4, 8]), channels, 1, 1])])
    shape = g.choose([[batch, 1, *places], [1, 1, *places], [batch, g.shape(z)[1], 1, 1], [batch, 1, 1, 1]])
    other = g.parameter(F32, shape, 0.2) if g.chance(0.6) else g.node("Conv", [x, g.random_constant(F32, [1, channels, 1, 1])])
    g.node("Add", [z, other] if g.chance(0.5) else [other, z])


@family("patterns", 1.2)
def attention_by_hand(g: GraphBuilder):
    g.require(g.opset >= 13)
    heads, width = g.choose([1, 2, 3]), g.choose([2, 4])
    inner = heads * width
    x = g.pick([F32], shape=[g.draw.randint(1, 2), g.draw.randint(2, 5), inner], fresh=0.3)
    batch, length, _ = g.shape(x)

    def head() -> str:
        product = g.node("MatMul", [x, g.random_constant(F32, [inner, inner])])
        product = g.node("Add", [product, g.random_constant(F32, [inner])])
        return g.node("Transpose", [g.node("Reshape", [product, g.ints([0, 0, heads, width])])], perm=[0, 2, 1, 3])

    queries, keys, sources = head(), g.node("Transpose", [head()], perm=[0, 1, 3, 2]), head()
    scores = g.node("MatMul", [queries, keys])
    if g.chance(0.5):
        scores = g.node("Div", [scores, g.constant(numpy.float32(width**0.5))])
    else:
        scores = g.node("Mul", [scores, g.constant(numpy.float32(width**-0.5))])
    if g.chance(0.4):
        scores = g.node("Add", [scores, g.random_constant(F32, [batch, 1, 1, length])])
    answer = g.node("MatMul", [g.node("Softmax", [scores], axis=-1), sources])
    g.node("Add", [g.node("Reshape", [g.node("Transpose", [answer], perm=[0, 2, 1, 3]), g.ints([0, 0, inner])]), x])


@family("patterns", 3)
def views_mixed(g: GraphBuilder):
    """Slices of one value, some with further steps, concatenated again and read together with the whole."""
    g.require(g.opset >= 13)
    x = g.pick([F32], ranks=[2, 3, 4], fits=lambda shape: all(shape) and max(shape) > 1)
    axis = g.choose([i for i, dim in enumerate(g.shape(x)) if dim > 1])
    if g.chance(0.5):
        x = g.node(g.choose(["Relu", "Neg", "Abs"]), [x])
    dim = g.shape(x)[axis]
    cut = g.draw.randint(1, dim - 1)
    halves = g.node("Split", [x, g.ints([cut, dim - cut])], 2, axis=axis)
    parts = [view_step(g, half) for half in halves]
    if g.chance(0.3):
        parts.append(g.choose([*halves, x]))
    if g.chance(0.3):
        parts = [parts[-1], *parts[:-1]]
    joined = g.node("Concat", parts, axis=axis)
    if g.chance(0.5) and g.shape(joined) == g.shape(x):
        g.node("Add", [joined, x])
    if g.chance(0.3):
        order = g.draw.sample(range(g.rank(joined)), g.rank(joined))
        g.node("Concat", [g.node("Transpose", [joined], perm=order)] * 2, axis=0)


def view_step(g: GraphBuilder, part: str) -> str:
    chance = g.draw.random()
    if chance < 0.3:
        return g.node("Relu", [part])
    if chance < 0.5:
        return g.node("Add", [part, g.random_constant(F32, [])])
    if chance < 0.6:
        return g.node("Identity", [part])
    return g.node("Reshape", [g.node("Flatten", [part]), g.ints(g.shape(part))]) if chance < 0.7 else part


@family("patterns")
def same_value_twice(g: GraphBuilder):
    """v + v, v * v and x + f(x): the same value in two operands of one kernel."""
    x = g.pick([F32])
    if g.chance(0.4) and g.rank(x) == 4 and all(g.shape(x)):
        channels = g.shape(x)[1]
        x = g.node("Conv", [x, g.random_constant(F32, [channels, channels, 1, 1])])
    y = x
    for _ in range(g.draw.randint(1, 3)):
        y = g.node(g.choose(["Add", "Mul", "Sub", "Max"] if g.opset >= 8 else ["Add", "Mul"]), g.choose([[y, y], [x, y], [y, x], [x, x]]))
