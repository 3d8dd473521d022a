"""Operators that move, select, count or generate elements."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from definitions.case import LEFT_OUT, C, Case, f32, i64, integers, operator, reals


@operator("ArgMax", "ArgMin")
def arg(version: int) -> Iterable[Case]:
    for x in (reals(3, 4, 5), integers(0, 3, 3, 4, 5, dtype=np.float32)):
        yield C(x)
        for axis in (0, 1, 2) + ((-1,) if version >= 11 else ()):
            for keep in (0, 1):
                yield C(x, axis=axis, keepdims=keep)
                for last in (0, 1):
                    yield C(x, axis=axis, keepdims=keep, select_last_index=last)


REDUCTIONS = [f"Reduce{name}" for name in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()]


def reduction(name: str) -> None:
    @operator(name)
    def generator(version: int) -> Iterable[Case]:
        x = np.abs(reals(2, 3, 4)) + 0.5 if name == "ReduceLogSum" else reals(2, 3, 4)
        by_input = version >= (13 if name == "ReduceSum" else 18)
        for axes in ([0], [1, 2], [0, 1, 2]) + (([-1],) if version >= 11 else ()):
            for keep in ({}, {"keepdims": 0}, {"keepdims": 1}):
                yield C(x, i64(*axes), **keep, constants=[1]) if by_input else C(x, axes=axes, **keep)
        yield C(x)
        if by_input:
            for empty in (0, 1):
                yield C(x, np.zeros(0, np.int64), noop_with_empty_axes=empty, constants=[1])
                yield C(x, noop_with_empty_axes=empty)


for one in REDUCTIONS:
    reduction(one)


@operator("CumSum")
def cum_sum(version: int) -> Iterable[Case]:
    for axis in (0, 1, -1):
        for exclusive in (0, 1):
            for reverse in (0, 1):
                yield C(reals(3, 5), np.array(axis), exclusive=exclusive, reverse=reverse, constants=[1])


@operator("Concat")
def concat(version: int) -> Iterable[Case]:
    for axis in (0, 1) + ((-1,) if version >= 11 else ()):
        yield C(reals(3, 3), reals(3, 3, seed=1), reals(3, 3, seed=2), axis=axis)


@operator("Split")
def split(version: int) -> Iterable[Case]:
    x = reals(6, 4)
    if version < 18:
        yield C(x, outputs=3)
    yield C(x, num_outputs=4, outputs=4)
    yield C(x, num_outputs=2, outputs=2, axis=1)
    if version < 13:
        yield C(x, split=[1, 3, 2], outputs=3)
        yield C(x, split=[1, 3], axis=1, outputs=2)
    else:
        yield C(x, i64(1, 3, 2), outputs=3, constants=[1])
        yield C(x, i64(1, 3), axis=-1, outputs=2, constants=[1])


@operator("Slice")
def slices(version: int) -> Iterable[Case]:
    x = reals(5, 6, 7)
    if version < 10:
        yield C(x, starts=[1, 0, 2], ends=[4, 3, 1000])
        yield C(x, starts=[1, -3], ends=[-1, 6], axes=[0, 2])
        return
    yield C(x, i64(1, 0, 2), i64(4, 3, 1000), constants=[1, 2])
    yield C(x, i64(1, -3), i64(-1, 6), i64(0, 2), constants=[1, 2, 3])
    yield C(x, i64(-1, 0), i64(-1000, 6), i64(1, 2), i64(-2, 3), constants=[1, 2, 3, 4])


@operator("Pad")
def pad(version: int) -> Iterable[Case]:
    x = reals(3, 4)
    for mode in ("constant", "reflect", "edge", "wrap"):
        if mode == "wrap" and version < 19:
            continue
        for pads in ([0, 1, 2, 1], [1, 0, 0, 3]):
            if version < 11:
                yield C(x, pads=pads, mode=mode)
                yield C(x, pads=pads, mode=mode, value=2.5)
            else:
                yield C(x, i64(*pads), mode=mode, constants=[1])
                if mode == "constant":
                    yield C(x, i64(*pads), np.array(2.5, np.float32), mode=mode, constants=[1])
                    yield C(x, i64(-1, 1, 2, -1), mode=mode, constants=[1])
    if version >= 18:
        yield C(x, i64(1, 2), None, i64(1), constants=[1, 3])


@operator("Transpose")
def transpose(version: int) -> Iterable[Case]:
    yield C(reals(2, 3, 4))
    for perm in ([0, 2, 1], [2, 0, 1], [1, 0, 2]):
        yield C(reals(2, 3, 4), perm=perm)


@operator("Reshape")
def reshape(version: int) -> Iterable[Case]:
    for shape in ((6, 4), (0, -1), (2, 0, 2, 2), (-1,)):
        yield C(reals(2, 3, 4), i64(*shape), constants=[1])
    yield C(np.zeros((0, 3), np.float32), i64(3, 0), allowzero=1, constants=[1])
    yield C(reals(2, 3), i64(3, 2), allowzero=0, constants=[1])


@operator("Flatten")
def flatten(version: int) -> Iterable[Case]:
    yield C(reals(2, 3, 4))
    for axis in (0, 1, 3) + ((-1, -3) if version >= 11 else ()):
        yield C(reals(2, 3, 4), axis=axis)


def axes_of(version: int, x: np.ndarray, lists: list[list[int]]) -> Iterable[Case]:
    for axes in lists:
        if version < 11 and any(axis < 0 for axis in axes):
            continue
        yield C(x, axes=axes) if version < 13 else C(x, i64(*axes), constants=[1])


@operator("Squeeze")
def squeeze(version: int) -> Iterable[Case]:
    x = reals(1, 3, 1, 2)
    yield C(x)
    yield from axes_of(version, x, [[0], [0, 2], [-2]])


@operator("Unsqueeze")
def unsqueeze(version: int) -> Iterable[Case]:
    yield from axes_of(version, reals(2, 3), [[0], [1, 3], [-1], [2]])


@operator("Expand")
def expand(version: int) -> Iterable[Case]:
    for shape in ((2, 3, 4), (3, 1), (5, 1, 3, 4)):
        yield C(reals(3, 1), i64(*shape), constants=[1])


@operator("Tile")
def tile(version: int) -> Iterable[Case]:
    yield C(reals(2, 3), i64(2, 1), constants=[1])
    yield C(reals(2, 3, 2), i64(1, 3, 2), constants=[1])


@operator("Gather")
def gather(version: int) -> Iterable[Case]:
    places = np.array([[0, 1], [2, 1]]) if version < 11 else np.array([[0, -1], [2, -3]])
    yield C(reals(3, 4, 5), places)
    for axis in (0, 1, 2) + ((-1,) if version >= 11 else ()):
        yield C(reals(3, 4, 5), places, axis=axis)


@operator("GatherElements")
def gather_elements(version: int) -> Iterable[Case]:
    for axis in (0, 1, -1):
        yield C(reals(3, 4), integers(-3, 3, 3, 4), axis=axis)
    yield C(reals(3, 4), integers(0, 3, 2, 4))


@operator("GatherND")
def gather_nd(version: int) -> Iterable[Case]:
    yield C(reals(3, 4, 5), np.array([[0, 1], [-1, 2]]))
    yield C(reals(2, 3, 4), np.array([[0, 1, 2]]), batch_dims=0)
    yield C(reals(2, 3, 4), np.array([[[0], [1]], [[2], [-1]]]), batch_dims=1)


def scattered(version: int) -> Iterable[Case]:
    x, places, updates = reals(3, 4), np.array([[0, 2, 1], [1, 0, 2]]), reals(2, 3, seed=1)
    yield C(x, places, updates)
    for axis in (0, 1, -1):
        yield C(x, places, updates, axis=axis)
    for how in ("none", "add", "mul", "max", "min"):
        if how in ("max", "min") and version < 18:
            continue
        # Several updates of one element are order-dependent; only reductions that do not depend on the order
        # may have them.
        yield C(x, places if how == "none" else np.zeros_like(places), updates, axis=1, reduction=how)


operator("ScatterElements", "Scatter")(scattered)


@operator("ScatterND")
def scatter_nd(version: int) -> Iterable[Case]:
    x, updates = reals(4, 3), reals(2, 3, seed=1)
    yield C(x, np.array([[0], [2]]), updates)
    for how in ("none", "add", "mul", "max", "min"):
        if how in ("max", "min") and version < 18:
            continue
        yield C(x, np.array([[1], [1 if how != "none" else 3]]), updates, reduction=how)


@operator("TopK")
def top_k(version: int) -> Iterable[Case]:
    x = reals(3, 7)
    if version < 10:
        yield C(x, k=3, outputs=2)
        yield C(x, k=2, axis=0, outputs=2)
        return
    yield C(x, i64(3), outputs=2, constants=[1])
    yield C(x, i64(2), axis=0, outputs=2, constants=[1])
    for largest in (0, 1):
        yield C(x, i64(3), largest=largest, sorted=1, outputs=2, constants=[1])
    yield C(x, i64(7), sorted=0, outputs=2, constants=[1])


@operator("OneHot")
def one_hot(version: int) -> Iterable[Case]:
    for axis in (-1, 0, 1):
        yield C(integers(0 if version < 11 else -5, 5, 2, 3), np.array(5), f32(0.5, 2), axis=axis, constants=[1])


@operator("DepthToSpace")
def depth_to_space(version: int) -> Iterable[Case]:
    yield C(reals(2, 8, 2, 3), blocksize=2)
    for mode in ("DCR", "CRD"):
        yield C(reals(2, 8, 2, 3), blocksize=2, mode=mode)


@operator("SpaceToDepth")
def space_to_depth(version: int) -> Iterable[Case]:
    yield C(reals(2, 3, 4, 6), blocksize=2)


@operator("ReverseSequence")
def reverse_sequence(version: int) -> Iterable[Case]:
    x = reals(4, 3, 2)
    yield C(x, i64(4, 1, 3))
    yield C(x, i64(4, 1, 3), batch_axis=1, time_axis=0)
    yield C(x, i64(3, 1, 2, 3), batch_axis=0, time_axis=1)


@operator("Compress")
def compress(version: int) -> Iterable[Case]:
    yield C(reals(3, 4), np.array([True, False, True, True]))
    yield C(reals(3, 4), np.array([True, False, True]), axis=0)
    yield C(reals(3, 4), np.array([False, True, True]), axis=1)


@operator("NonZero")
def non_zero(version: int) -> Iterable[Case]:
    yield C(integers(0, 2, 3, 4, dtype=np.float32))
    yield C(integers(0, 2, 5).astype(bool))


@operator("Unique")
def unique(version: int) -> Iterable[Case]:
    x = integers(0, 3, 4, 3, dtype=np.float32)
    for kept in (0, 1):
        yield C(x, sorted=kept, outputs=4)
        yield C(x, sorted=kept, axis=0, outputs=4)
    yield C(x, axis=1)


@operator("Trilu")
def trilu(version: int) -> Iterable[Case]:
    yield C(reals(4, 5))
    for upper in (0, 1):
        for k in (-1, 0, 2):
            yield C(reals(2, 4, 5), np.array(k), upper=upper, constants=[1])


@operator("EyeLike")
def eye(version: int) -> Iterable[Case]:
    yield C(reals(4, 5))
    for attributes in ({"k": 1}, {"k": -2}, {"dtype": TensorProto.INT32}):
        yield C(reals(4, 5), **attributes)


@operator("Shape")
def shape(version: int) -> Iterable[Case]:
    yield C(reals(2, 3, 4))
    for attributes in ({"start": 1}, {"end": -1}, {"start": -2, "end": 7}):
        yield C(reals(2, 3, 4), **attributes)


@operator("Size")
def size(version: int) -> Iterable[Case]:
    yield C(reals(2, 3, 4))


@operator("Range")
def ranges(version: int) -> Iterable[Case]:
    yield C(np.array(1, np.float32), np.array(5, np.float32), np.array(0.7, np.float32))
    yield C(np.array(10), np.array(-3), np.array(-4))


@operator("Constant")
def constant(version: int) -> Iterable[Case]:
    values: dict[str, Any] = {"value_float": 1.5, "value_floats": [1.5, 2.5], "value_int": 3, "value_ints": [3, 4], "value_string": "a", "value_strings": ["a", "b"]}
    yield C(value=helper.make_tensor("t", TensorProto.FLOAT, [2, 2], [1, 2, 3, 4]))
    for name, value in values.items():
        yield C(**{name: value})
    held = helper.make_tensor("v", TensorProto.FLOAT, [2], [1.5, 2.5])
    yield C(sparse_value=helper.make_sparse_tensor(held, helper.make_tensor("i", TensorProto.INT64, [2], [1, 5]), [2, 3]))


@operator("ConstantOfShape")
def constant_of_shape(version: int) -> Iterable[Case]:
    yield C(i64(2, 3), constants=[0])
    yield C(i64(2, 3), value=helper.make_tensor("t", TensorProto.INT32, [1], [7]), constants=[0])


@operator("CenterCropPad")
def center_crop_pad(version: int) -> Iterable[Case]:
    yield C(reals(5, 4), i64(3, 7), constants=[1])
    yield C(reals(5, 4, 3), i64(8, 2), axes=[0, 2], constants=[1])
    yield C(reals(5, 4, 3), i64(2), axes=[-2], constants=[1])


@operator("Col2Im")
def col2im(version: int) -> Iterable[Case]:
    yield C(reals(1, 8, 9), i64(4, 4), i64(2, 2), constants=[1, 2])
    yield C(reals(1, 8, 4), i64(4, 4), i64(2, 2), strides=[2, 2], constants=[1, 2])
    yield C(reals(1, 8, 25), i64(4, 4), i64(2, 2), pads=[1, 1, 1, 1], constants=[1, 2])
    yield C(reals(1, 8, 4), i64(4, 4), i64(2, 2), dilations=[2, 2], constants=[1, 2])


@operator("DFT")
def dft(version: int) -> Iterable[Case]:
    x = reals(2, 6, 5, 1)
    axis = {"axis": 2} if version < 20 else {}
    for inverse in (0, 1):
        yield C(reals(2, 6, 5, 2), inverse=inverse, **axis)
    yield C(x, onesided=1, **axis)
    yield C(x, onesided=0, **axis)
    yield C(x, np.array(8), **axis, constants=[1])
    if version >= 20:
        yield C(x, None, np.array(1), constants=[2])


@operator("STFT")
def stft(version: int) -> Iterable[Case]:
    for onesided in (0, 1):
        yield C(reals(2, 32, 1), np.array(4), reals(8, seed=1), np.array(8), onesided=onesided, constants=[1, 3])
    yield C(reals(2, 32, 1), np.array(4), None, np.array(8), constants=[1, 3])


@operator("HannWindow", "HammingWindow", "BlackmanWindow")
def signal_window(version: int) -> Iterable[Case]:
    for attributes in ({}, {"periodic": 0}, {"periodic": 1}, {"output_datatype": TensorProto.DOUBLE}):
        yield C(np.array(9), **attributes, constants=[0])


@operator("MelWeightMatrix")
def mel(version: int) -> Iterable[Case]:
    own = [np.array(8), np.array(16), np.array(8192), np.array(0, np.float32), np.array(4096, np.float32)]
    for attributes in ({}, {"output_datatype": TensorProto.DOUBLE}):
        yield C(*own, **attributes, constants=range(5))


@operator("QuantizeLinear")
def quantize(version: int) -> Iterable[Case]:
    x, scale = reals(3, 4, scale=4), np.array(0.05, np.float32)
    for zero in (np.array(128, np.uint8), np.array(-3, np.int8)):
        yield C(x, scale, zero)
        yield C(f32(0.025, 0.075, 0.125, -0.025, 1000, -1000), scale, zero)
    yield C(x, scale)
    yield C(x, f32(0.1, 0.2, 0.3, 0.4), np.array([1, 2, 3, 4], np.uint8), axis=1)
    yield C(x, f32(0.1, 0.2, 0.3), np.array([1, 2, 3], np.int8), axis=-2)
    if version >= 21:
        yield C(x, f32(0.1, 0.2, 0.3, 0.4, 0.5, 0.6).reshape(3, 2), np.zeros((3, 2), np.uint8), axis=1, block_size=2)
        yield C(x, scale, output_dtype=TensorProto.INT8)
        yield C(x, scale, output_dtype=TensorProto.INT16, precision=TensorProto.FLOAT)
    if version >= 19:
        for saturate in (0, 1):
            yield C(x, scale, np.array(128, np.uint8), saturate=saturate)
            yield C(x, scale, output_dtype=TensorProto.FLOAT8E4M3FN, saturate=saturate)


@operator("DequantizeLinear")
def dequantize(version: int) -> Iterable[Case]:
    for x, zero in ((integers(0, 255, 3, 4, dtype=np.uint8), np.array(128, np.uint8)), (integers(-128, 127, 3, 4, dtype=np.int8), np.array(-3, np.int8))):
        yield C(x, np.array(0.05, np.float32), zero)
        yield C(x, np.array(0.05, np.float32))
    x = integers(0, 255, 3, 4, dtype=np.uint8)
    yield C(integers(-1000, 1000, 3, 4, dtype=np.int32), np.array(0.05, np.float32))
    yield C(x, f32(0.1, 0.2, 0.3, 0.4), np.array([1, 2, 3, 4], np.uint8), axis=1)
    yield C(x, f32(0.1, 0.2, 0.3), np.array([1, 2, 3], np.uint8), axis=-2)
    yield C(x, f32(0.1, 0.2, 0.3, 0.4, 0.5, 0.6).reshape(3, 2), np.zeros((3, 2), np.uint8), axis=1, block_size=2)
    yield C(x, np.array(0.05, np.float32), output_dtype=TensorProto.FLOAT)


@operator("DynamicQuantizeLinear")
def dynamic_quantize(version: int) -> Iterable[Case]:
    yield C(reals(3, 4), outputs=3)
    yield C(np.abs(reals(3, 4)) + 1, outputs=3)


def text(*values: str) -> np.ndarray:
    return np.array(values, object)


@operator("StringConcat")
def string_concat(version: int) -> Iterable[Case]:
    yield C(text("a", "b"), text("x", "y"))
    yield C(text("a", "b"), text("x"))


@operator("StringSplit")
def string_split(version: int) -> Iterable[Case]:
    words = text("one two  three", "a,b,c", "")
    yield C(words, outputs=2)
    for attributes in ({"delimiter": ","}, {"delimiter": " ", "maxsplit": 1}, {"maxsplit": 1}):
        yield C(words, outputs=2, **attributes)


@operator("StringNormalizer")
def string_normalizer(version: int) -> Iterable[Case]:
    words = text("Monday", "tuesday", "MONDAY")
    for case in ("LOWER", "UPPER", "NONE"):
        for sensitive in (0, 1):
            yield C(words, case_change_action=case, is_case_sensitive=sensitive, stopwords=["monday"])
    yield C(words, locale="en_US", case_change_action="LOWER")


@operator("RegexFullMatch")
def regex(version: int) -> Iterable[Case]:
    yield C(text("a1", "b22", "c", ""), pattern=r"[ab]\d+")


@operator("TfIdfVectorizer")
def tf_idf(version: int) -> Iterable[Case]:
    own: dict[str, Any] = {"ngram_counts": [0, 4], "ngram_indexes": [0, 1, 2, 3, 4, 5, 6]}
    numbers = {"pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7]}
    for mode in ("TF", "IDF", "TFIDF"):
        for skip in (0, 1):
            more: dict[str, Any] = {"mode": mode, "max_skip_count": skip, "min_gram_length": 1, "max_gram_length": 2}
            yield C(np.array([1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8], np.int32), **own, **numbers, **more)
            yield C(np.array([1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8], np.int32), **own, **numbers, **more, weights=[2.0, 1, 1, 3, 1, 1, 0.5])
    yield C(text("a", "b", "a", "c"), ngram_counts=[0], ngram_indexes=[0, 1], pool_strings=["a", "c"], mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0)


BODIES = "its attributes are subgraphs: tests/random_graphs generates them, and ONNX's suite has cases"
SEQUENCES = "on sequences: ONNX's suite has cases, and a single node has no tensors to compare"
LEFT_OUT |= dict.fromkeys("If Loop Scan SequenceMap".split(), BODIES)
LEFT_OUT |= dict.fromkeys(
    "ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SplitToSequence".split(),
    SEQUENCES,
)
LEFT_OUT["ImageDecoder"] = "decoding image files is not an operator here: docs/images.md"
