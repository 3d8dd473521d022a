"""Element types and numbers. Everything random comes from one random.Random."""

import random

import ml_dtypes  # noqa: F401, names bfloat16 and the types of 4 bits to NumPy
import numpy
from onnx import TensorProto, helper

F32, F16, F64, BF16 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16
I8, I16, I32, I64 = TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64
U8, U16, U32, U64 = TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64
I4, U4, BOOL = TensorProto.INT4, TensorProto.UINT4, TensorProto.BOOL

FLOATS = (F32, F16, F64, BF16)
INTEGERS = (I8, I16, I32, I64, U8, U16, U32, U64)
UNSIGNED = (U8, U16, U32, U64)
NUMPY = {dtype: numpy.dtype(helper.tensor_dtype_to_np_dtype(dtype)) for dtype in (*FLOATS, *INTEGERS, BOOL, I4, U4)}
DTYPE = {array: dtype for dtype, array in NUMPY.items()}

SIZES = (2, 3, 4, 5, 6, 7, 8, 9, 16, 17)
LARGE_SIZES = (1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 257, 513)
SYMBOL_SIZES = (5, 6, 7, 9, 11, 13)
EXTREME = (numpy.nan, numpy.inf, -numpy.inf, -0.0, 0.0, 1e30, -1e30, 1e-40, 65504.0, 88.7, -103.9)


def is_float(array: numpy.ndarray) -> bool:
    return DTYPE.get(array.dtype) in FLOATS


def generator(draw: random.Random) -> numpy.random.Generator:
    return numpy.random.default_rng(draw.getrandbits(60))


def numbers(draw: random.Random, dtype: int, shape, extreme: bool = False) -> numpy.ndarray:
    """Small numbers of a type; half of the floats are multiples of a quarter, so that ties and equal values occur."""
    rng = generator(draw)
    count = int(numpy.prod(shape, dtype=numpy.int64))
    if dtype in FLOATS:
        flat = rng.integers(-12, 13, count) / 4.0 if rng.random() < 0.5 else rng.standard_normal(count)
    elif dtype == BOOL:
        flat = rng.integers(0, 2, count)
    else:
        flat = rng.integers(0 if dtype in UNSIGNED else -5, 8, count)
    flat = flat.astype(NUMPY[dtype])
    if extreme and count and dtype != BOOL:
        limits = EXTREME if dtype in FLOATS else (numpy.iinfo(flat.dtype).min, numpy.iinfo(flat.dtype).max, 0, 1)
        for _ in range(max(1, count // 5)):
            flat[rng.integers(count)] = limits[rng.integers(len(limits))]
    return flat.reshape(shape)


def size(draw: random.Random) -> int:
    """A dim's size: ones are frequent because they broadcast, zeros rare because little is left of such graphs."""
    chance = draw.random()
    if chance < 0.003:
        return 0
    if chance < 0.2:
        return 1
    return draw.choice(SIZES) if chance < 0.97 else 33


def broadcasts(a, b) -> bool:
    try:
        numpy.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        return False
    return True
