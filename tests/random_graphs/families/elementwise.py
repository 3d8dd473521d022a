"""Elementwise operators, their broadcasting and their types."""

import numpy

from random_graphs import values
from random_graphs.builder import GraphBuilder
from random_graphs.registry import family
from random_graphs.values import BF16, BOOL, F16, F32, F64, FLOATS, I8, I32, I64, INTEGERS, NUMPY, U8, U16, U32, U64, UNSIGNED

# Operator: the first operator set in which it is used.
UNARY = {
    "Abs": 6, "Neg": 6, "Sqrt": 6, "Exp": 6, "Log": 6, "Sigmoid": 6, "Tanh": 6, "Relu": 6, "LeakyRelu": 6, "Elu": 6, "Selu": 6,
    "Softplus": 1, "Softsign": 1, "HardSigmoid": 6, "Erf": 9, "Floor": 6, "Ceil": 6, "Round": 11, "Sign": 9, "Reciprocal": 6,
    "Sin": 7, "Cos": 7, "Atan": 7, "ThresholdedRelu": 10, "Shrink": 9, "Identity": 1, "HardSwish": 14, "Celu": 12, "Gelu": 20,
    "Mish": 18, "Swish": 24, "Asinh": 9, "Sinh": 9, "Acos": 7, "Tan": 7, "Cosh": 9, "Asin": 7, "Atanh": 9,
}  # fmt: skip
# Their definitions contain f32 constants, or an oracle computes them in f32: f64 would show the difference.
NARROW = {"Gelu", "HardSwish", "Erf", "Shrink"}
DOMAINS = {"Sqrt", "Log", "Acos", "Asin", "Atanh"}


def unary_attributes(g: GraphBuilder, operator: str) -> dict:
    if operator in ("LeakyRelu", "Elu", "Celu", "ThresholdedRelu") and g.chance(0.7):
        return {"alpha": g.choose([0.1, 0.5, 1.0, 2.5] + ([-0.5, 0.0] if operator in ("LeakyRelu", "Elu") else []))}
    if operator == "HardSigmoid" and g.chance(0.6):
        return {"alpha": g.choose([0.2, 1 / 6, 0.5, -0.3]), "beta": g.choose([0.5, 0.0, 0.2])}
    if operator == "Gelu":
        return {"approximate": g.choose(["none", "tanh"])}
    if operator == "Shrink":
        return {"lambd": g.choose([0.5, 1.0]), "bias": g.choose([0.0, 0.25])}
    return {"alpha": g.choose([1.0, 1.7, -1.0])} if operator == "Swish" else {}


@family("elementwise", 8)
def unary(g: GraphBuilder):
    x = g.pick(g.float_type())
    operator = "Relu" if g.chance(0.08) else g.choose(list(UNARY))
    g.require(UNARY[operator] <= g.opset)
    g.require(g.dtype(x) != F64 or operator not in NARROW)
    if operator in DOMAINS and g.chance(0.9):
        x = g.node("Sigmoid" if operator not in ("Sqrt", "Log") else "Abs", [x])
    g.node(operator, [x], **unary_attributes(g, operator))


@family("elementwise")
def unary_integer(g: GraphBuilder):
    operator, since = g.choose([("Abs", 6), ("Neg", 6), ("Sign", 9), ("Relu", 14), ("BitwiseNot", 18), ("Identity", 1)])
    g.require(g.opset >= since)
    g.node(operator, [g.pick(INTEGERS)])


@family("elementwise", 8)
def binary(g: GraphBuilder):
    x = g.pick(g.float_type())
    y = g.other(x)
    operator = g.choose(["Add"] * 4 + ["Mul"] * 4 + ["Sub", "Sub", "Div", "Div", "Max", "Min", "Pow", "PRelu"])
    g.require(g.opset >= 8 or operator not in ("Max", "Min"))
    if operator == "PRelu":  # only the slope broadcasts
        g.require(values.broadcasts(g.shape(y), g.shape(x)) and list(numpy.broadcast_shapes(g.shape(y), g.shape(x))) == g.shape(x))
    if operator == "Div" and y not in g.constants and g.chance(0.8):
        operator = "Mul"
    if operator == "Pow" and g.chance(0.9):
        exponent = g.choose([2, 3, 0.5, -1, 0, 1, 2.5])
        base = x if exponent in (0, 1, 2, 3) else g.node("Abs", [x])
        return g.node("Pow", [base, g.constant(numpy.array(exponent, NUMPY[g.dtype(x)]))])
    return g.node(operator, [x, y] if operator == "PRelu" or g.chance(0.6) else [y, x])


@family("elementwise", 2)
def binary_integer(g: GraphBuilder):
    x = g.pick(INTEGERS)
    dtype, shape = g.dtype(x), g.shape(x)
    operator = g.choose("Add Sub Mul Div Max Min Mod BitwiseAnd BitwiseXor BitwiseOr Pow BitShift".split())
    g.require(g.opset >= 18 or not operator.startswith("Bitwise"))
    g.require(g.opset >= 12 or operator not in ("Mod", "Max", "Min", "BitShift", "Pow"))
    if operator in ("Div", "Mod"):
        divisor = values.numbers(g.draw, dtype, g.broadcastable(shape))
        divisor = numpy.where(divisor == 0, numpy.array(3, divisor.dtype), divisor)
        return g.node(operator, [x, g.constant(divisor)], fmod=g.choose((0, 1)) if operator == "Mod" else None)
    if operator == "Pow":
        return g.node(operator, [x, g.constant(numpy.array(g.choose((0, 1, 2, 3)), NUMPY[g.choose((dtype, F32, I32, I64))]))])
    if operator == "BitShift":
        g.require(dtype in (U8, U32, U64))
        return g.node(operator, [x, g.constant(numpy.array(g.draw.randint(0, 7), NUMPY[dtype]))], direction=g.choose(["LEFT", "RIGHT"]))
    y = g.other(x)
    return g.node(operator, [x, y] if g.chance(0.5) else [y, x])


@family("elementwise")
def float_modulo(g: GraphBuilder):
    g.require(g.opset >= 10)
    x = g.pick([F32, F64])
    g.node("Mod", [x, g.other(x)], fmod=1)


@family("elementwise", 1.5)
def comparison(g: GraphBuilder):
    x = g.pick([F32] * 4 + [g.choose(INTEGERS + FLOATS)])
    since = {"Equal": 7, "Less": 7, "Greater": 7, "LessOrEqual": 12, "GreaterOrEqual": 12, "IsNaN": 9, "IsInf": 10}
    operator = g.choose(list(since))
    g.require(g.opset >= since[operator])
    g.require(g.opset >= 11 or operator != "Equal" or g.dtype(x) not in FLOATS)
    if operator == "IsInf":
        return g.node(operator, [x], detect_negative=g.choose((0, 1)), detect_positive=g.choose((0, 1)))
    return g.node(operator, [x] if operator == "IsNaN" else [x, g.other(x)])


@family("elementwise")
def logic(g: GraphBuilder):
    x = g.pick([BOOL])
    operator = g.choose(["And", "Or", "Xor", "Not"])
    g.node(operator, [x] if operator == "Not" else [x, g.other(x)])


@family("elementwise", 1.5)
def where(g: GraphBuilder):
    g.require(g.opset >= 9)
    x = g.pick([F32, F32, F32, g.choose(INTEGERS + FLOATS)])
    y = g.other(x)
    greater = g.dtype(x) == F32 and g.chance(0.4)
    condition = g.node("Greater", [x, y]) if greater else g.boolean(g.shape(x))
    g.node("Where", [condition, x, y] if g.chance(0.5) else [condition, y, x])


@family("elementwise")
def variadic(g: GraphBuilder):
    g.require(g.opset >= 8)
    x = g.pick(g.float_type())
    operands = [x] + [g.other(x) for _ in range(g.draw.randint(0, 3))]
    g.draw.shuffle(operands)
    g.node(g.choose(["Sum", "Mean", "Max", "Min"]), operands)


@family("elementwise", 1.5)
def clip(g: GraphBuilder):
    x = g.pick([F32, F32, F32, g.choose((F16, F64, I8, U8, I32, I64))])
    dtype = g.dtype(x)
    least, most = g.choose([(0, 6), (-1, 1), (0, None), (None, 2), (None, None), (1, 5), (3, 1), (0, 1)])
    if g.opset < 11:
        g.require(dtype in FLOATS)
        return g.node("Clip", [x], min=None if least is None else float(least), max=None if most is None else float(most))
    g.require(g.opset >= 12 or dtype in FLOATS)
    least = 0 if least == -1 and dtype == U8 else least

    def bound(number) -> str:
        if number is None:
            return ""
        return g.constant(numpy.array(number, NUMPY[dtype])) if g.nested or g.chance(0.8) else g.input(dtype, [])

    return g.node("Clip", [x, bound(least), bound(most)])


@family("elementwise", 2)
def cast(g: GraphBuilder):
    x = g.pick([F32] * 6 + [*FLOATS, *INTEGERS, BOOL])
    to = g.choose([*FLOATS, *INTEGERS, BOOL, F32, F32, F32, F16])
    g.require(g.opset >= (13 if BF16 in (to, g.dtype(x)) else 9))
    if g.dtype(x) in FLOATS and to in UNSIGNED:
        x = g.node("Abs", [x])
    g.node("Cast", [x], to=to)


@family("elementwise")
def cast_chain(g: GraphBuilder):
    """Casts to another type and back, lossy and lossless."""
    g.require(g.opset >= 13)
    x = g.pick([F32, F32, I32, U8])
    for to in g.draw.choices([F32, F16, F64, I32, I64, U16], k=g.draw.randint(2, 3)):
        if g.dtype(x) in FLOATS and to in UNSIGNED:
            x = g.node("Abs", [x])
        x = g.node("Cast", [x], to=to)
