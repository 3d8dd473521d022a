"""Elementwise operators."""

from collections.abc import Iterable

import numpy as np
from onnx import TensorProto

from definitions.case import LEFT_OUT, C, Case, between, f32, i64, integers, operator, reals

EDGES = f32(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 100.0, -100.0, 1e-30, np.inf, -np.inf, np.nan)


@operator(
    *"Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor HardSwish Log Mish Neg Reciprocal Relu Round Sigmoid Sign".split(),
    *"Sin Sinh Softplus Softsign Sqrt Tan Tanh Identity".split(),
)
def unary(version: int) -> Iterable[Case]:
    yield C(EDGES)
    yield C(reals(2, 3, 37))
    yield C(between(0.1, 0.9, 4, 5))
    yield C(between(1.1, 3, 5))


@operator("IsNaN", "Not")
def predicate(version: int) -> Iterable[Case]:
    yield C(EDGES)
    yield C(np.array([True, False, True]))


@operator("IsInf")
def is_infinite(version: int) -> Iterable[Case]:
    yield C(EDGES)
    for negative in (0, 1):
        for positive in (0, 1):
            yield C(EDGES, detect_negative=negative, detect_positive=positive)




NUMBERS: dict[str, list[dict]] = {
    "Elu": [{"alpha": 0.5}, {"alpha": 2.0}],
    "Celu": [{"alpha": 0.5}, {"alpha": 2.0}],
    "LeakyRelu": [{"alpha": 0.1}, {"alpha": -0.5}, {"alpha": 1.5}],
    "ThresholdedRelu": [{"alpha": 0.25}, {"alpha": -0.5}],
    "Selu": [{"alpha": 0.5, "gamma": 2.0}, {"alpha": 2.0}, {"gamma": 0.5}],
    "HardSigmoid": [{"alpha": 0.5, "beta": 0.25}, {"alpha": 1 / 6}, {"beta": 0.75}],
    "Shrink": [{"bias": 0.25, "lambd": 0.75}, {"lambd": 1.5}, {"bias": 1.0}],
    "Gelu": [{"approximate": "none"}, {"approximate": "tanh"}],
}


def numbered(name: str) -> None:
    @operator(name)
    def generator(version: int) -> Iterable[Case]:
        for attributes in ({}, *NUMBERS[name]):
            yield C(reals(3, 37), **attributes)
            yield C(f32(0.0, 1.0, -1.0, 3.0, -3.0, np.nan), **attributes)


for one in NUMBERS:
    numbered(one)

BROADCASTS = [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((3, 1), (2, 1, 4)), ((), (2, 3)), ((1,), (5,))]


@operator("PRelu")
def slopes(version: int) -> Iterable[Case]:
    for shape in ((2, 3, 4), (4,), (3, 1), (1,), (1, 3, 1)):
        yield C(reals(2, 3, 4), reals(*shape, seed=1))


@operator("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mean", "Sum")
def arithmetic(version: int) -> Iterable[Case]:
    for a, b in BROADCASTS:
        yield C(between(0.5, 2, *a), between(0.5, 2, *b, seed=1))
        yield C(reals(*a), reals(*b, seed=1))


@operator("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")
def comparison(version: int) -> Iterable[Case]:
    for a, b in BROADCASTS:
        yield C(integers(0, 3, *a, dtype=np.float32), integers(0, 3, *b, seed=1, dtype=np.float32))
    yield C(EDGES, EDGES[::-1].copy())


@operator("And", "Or", "Xor")
def logic(version: int) -> Iterable[Case]:
    for a, b in BROADCASTS:
        yield C(integers(0, 2, *a).astype(bool), integers(0, 2, *b, seed=1).astype(bool))


@operator("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bits(version: int) -> Iterable[Case]:
    for dtype in (np.int32, np.uint8, np.int64):
        yield C(integers(0, 100, 3, 4, dtype=dtype), integers(0, 100, 4, seed=1, dtype=dtype))


@operator("BitwiseNot")
def inverted(version: int) -> Iterable[Case]:
    for dtype in (np.int32, np.uint8, np.int64):
        yield C(integers(0, 100, 3, 4, dtype=dtype))


@operator("BitShift")
def shift(version: int) -> Iterable[Case]:
    for direction in ("LEFT", "RIGHT"):
        yield C(integers(0, 200, 7, dtype=np.uint8), integers(0, 8, 7, seed=1, dtype=np.uint8), direction=direction)
        yield C(integers(0, 2**31, 7, dtype=np.uint64), integers(0, 30, 7, seed=1, dtype=np.uint64), direction=direction)


@operator("Mod")
def modulo(version: int) -> Iterable[Case]:
    a, b = integers(-9, 10, 20), i64(3, -3, 4, -4, 5)[np.arange(20) % 5]
    yield C(a, b)
    yield C(a, b, fmod=0)
    yield C(a, b, fmod=1)
    yield C(reals(20, scale=4), reals(20, seed=1), fmod=1)


@operator("Clip")
def clip(version: int) -> Iterable[Case]:
    x = reals(4, 9)
    yield C(x)
    if version < 11:
        for attributes in ({"min": -0.5}, {"max": 0.5}, {"min": -0.25, "max": 0.75}):
            yield C(x, **attributes)
        return
    low, high = np.array(-0.5, np.float32), np.array(0.5, np.float32)
    for inputs in ([low], [None, high], [low, high], [high, low]):
        yield C(x, *inputs)
        yield C(x, *inputs, constants=[i + 1 for i, y in enumerate(inputs) if y is not None])
    yield C(f32(np.nan, np.inf, -np.inf, 0), low, high)
    yield C(EDGES, low)
    yield C(EDGES, None, high)


@operator("Where")
def where(version: int) -> Iterable[Case]:
    yield C(integers(0, 2, 2, 1).astype(bool), reals(2, 3), reals(3, seed=1))
    yield C(integers(0, 2, 4).astype(bool), integers(0, 9, 3, 4), integers(0, 9, 1, seed=1))


TYPES = {
    "float": (np.float32, TensorProto.FLOAT),
    "half": (np.float16, TensorProto.FLOAT16),
    "double": (np.float64, TensorProto.DOUBLE),
    "int32": (np.int32, TensorProto.INT32),
    "int64": (np.int64, TensorProto.INT64),
    "int8": (np.int8, TensorProto.INT8),
    "uint8": (np.uint8, TensorProto.UINT8),
    "bool": (np.bool_, TensorProto.BOOL),
}


@operator("Cast")
def cast(version: int) -> Iterable[Case]:
    for dtype, _ in TYPES.values():
        x = f32(0, 1, 2.5, 3.99, 100, 7).astype(dtype)
        for _, to in TYPES.values():
            yield C(x, to=to)
    yield C(f32(-1.5, -0.25, 0.75, 1.5), to=TensorProto.INT32)
    for saturate in (0, 1):
        for to in (TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2FNUZ):
            yield C(f32(0, 1, -2.5, 500, -1e6, np.nan), to=to, saturate=saturate)


@operator("CastLike")
def cast_like(version: int) -> Iterable[Case]:
    for dtype, _ in TYPES.values():
        yield C(f32(0, 1, 2.5, 3.99, 100, 7), np.zeros(1, dtype))
        yield C(f32(0, 1, 2.5, 3.99, 100, 7), np.zeros(1, dtype), saturate=0)


@operator("Dropout")
def dropout(version: int) -> Iterable[Case]:
    x = reals(3, 4)
    yield C(x)
    yield C(x, ratio=0.3)
    yield C(x, seed=3)
    if version >= 12:
        yield C(x, np.array(0.3, np.float32), outputs=2)
        yield C(x, np.array(0.0, np.float32), np.array(True), outputs=2, constants=[1, 2])


RANDOM = "random numbers differ by implementation; ONNX's suite checks types and shapes"
LEFT_OUT |= dict.fromkeys("Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike".split(), RANDOM)
