"""Operands of ONNX Runtime's quantised operators (domain com.microsoft): element types, zero points that are left out, axes, lists of one element
in place of scalars, types of 16 and 4 bits. Answers are ONNX Runtime's, or computed here where it has no kernel."""

import itertools

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from single_node import agree, assert_close, by_lanner, by_onnxruntime, integers, model_of, random

BYTES = [np.uint8, np.int8]
ONE_STEP = {"rtol": 0, "atol": 1}


def stored(*shape, dtype, seed=0):
    bounds = np.iinfo(dtype)
    return integers(bounds.min, bounds.max + 1, *shape, seed=seed, dtype=dtype)


def kind(prefix, scale, zero, dtype):
    return {f"{prefix}_scale": np.float32(scale), f"{prefix}_zero": None if zero is None else dtype(zero)}


def is_parameter(name):
    return name.endswith(("_scale", "_zero"))


def cases(dtype, x_zero, y_zero):
    """Operators whose scales and zero points are scalars, with their inputs and attributes."""
    x, y = kind("x", 0.03, x_zero, dtype), kind("y", 1 / 200, y_zero, dtype)
    two = {"a": stored(2, 3, 4, dtype=dtype)} | kind("a", 0.02, x_zero, dtype) | {"b": stored(3, 1, dtype=dtype, seed=1)} | kind("b", 0.03, y_zero, dtype)
    rows, pictures = {"x": stored(2, 3, 5, dtype=dtype)} | x | y, {"x": stored(1, 2, 4, 5, dtype=dtype)} | x | y
    return {
        "QLinearAdd": (two | kind("c", 0.04, y_zero, dtype), {}),
        "QLinearMul": (two | kind("c", 0.04, x_zero, dtype), {}),
        "QLinearSigmoid": (rows, {}),
        "QLinearLeakyRelu": (rows, {"alpha": 0.2}),
        "QLinearSoftmax": (rows, {"opset": 13, "axis": -2}),
        "QLinearAveragePool": (pictures, {"kernel_shape": [2, 2]}),
        "QLinearGlobalAveragePool": (pictures, {}),
    }


@pytest.mark.parametrize("op", cases(np.uint8, 0, 0))
@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("zeros", list(itertools.product((None, 5), (None, 3))), ids=str)
def test_scalars_may_be_lists_and_zero_points_may_be_left_out(op, dtype, zeros):
    inputs, attributes = cases(dtype, *zeros)[op]
    given = {name: dtype(0) if array is None else array for name, array in inputs.items()}  # some of ONNX Runtime's kernels crash without
    expected = by_onnxruntime(model_of(op, given, attributes, constants=tuple(filter(is_parameter, given))), given)
    lists = {name: np.array([array]) if is_parameter(name) and array is not None else array for name, array in inputs.items()}
    for each in (inputs, lists):
        agree(op, each, attributes, expected=expected, **ONE_STEP)


def product_inputs(a_type, b_type, columns, zeros, as_list):
    """`columns`: a scale for each column of b. Numbers of b are of 7 bits: ONNX Runtime adds products in 16 bits where there is only AVX2."""
    single = (lambda value: np.array([value])) if as_list else (lambda value: value)
    b_zero = np.arange(4).astype(b_type) if columns else single(b_type(3))
    return {
        "a": stored(2, 3, 5, dtype=a_type),
        "b": integers(0, 64, 5, 4, seed=1, dtype=b_type),
        "a_scale": single(np.float32(0.02)),
        "b_scale": np.linspace(0.01, 0.03, 4, dtype=np.float32) if columns else single(np.float32(0.01)),
        "a_zero": single(a_type(9)) if zeros else None,
        "b_zero": b_zero if zeros else None,
        "bias": random(4, seed=2),
    }


def less_zero(inputs, name):
    zero = inputs[f"{name}_zero"]
    return inputs[name].astype(np.float64) - (0 if zero is None else zero.astype(np.float64))


def real_product(inputs):
    return less_zero(inputs, "a") @ less_zero(inputs, "b") * inputs["a_scale"].astype(np.float64) * inputs["b_scale"].astype(np.float64)


TYPES = [(a, b) for a in BYTES for b in BYTES]


@pytest.mark.parametrize(("a_type", "b_type"), TYPES)
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("as_list", [False, True])
def test_products(a_type, b_type, columns, zeros, as_list):
    inputs = product_inputs(a_type, b_type, columns, zeros, as_list)
    constants = ("b", "b_scale", "b_zero", "bias")
    expected = [(real_product(inputs) + inputs["bias"]).astype(np.float32)]
    agree("MatMulIntegerToFloat", inputs, constants=constants, expected=expected, atol=1e-4)
    if a_type == np.uint8:
        agree("MatMulIntegerToFloat", inputs, constants=constants, atol=1e-4)
        dynamic = {"a": random(2, 3, 5)} | {name: inputs[name] for name in constants}
        agree("DynamicQuantizeMatMul", dynamic, constants=constants, atol=1e-4)


@pytest.mark.parametrize(("a_type", "b_type"), TYPES)
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("offset", [(), (4,), (1, 4), (3, 1), (3, 4)], ids=str)
@pytest.mark.parametrize("y_type", [None, *BYTES])
def test_gemms(a_type, b_type, columns, offset, y_type):
    of = product_inputs(a_type, b_type, columns, True, as_list=False) | {"a": stored(3, 5, dtype=a_type)}
    inputs = {name: of[name] for name in ("a", "a_scale", "a_zero", "b", "b_scale", "b_zero")} | {"c": integers(-900, 900, *offset, seed=2)}
    y = 0.7 * (real_product(inputs) + inputs["c"] * inputs["a_scale"].astype(np.float64) * inputs["b_scale"])
    if y_type is None:
        return agree("QGemm", inputs, {"alpha": 0.7}, expected=[y.astype(np.float32)], atol=1e-4)
    bounds = np.iinfo(y_type)
    expected = [np.clip(np.rint(y / np.float32(0.5)) + 9, bounds.min, bounds.max).astype(y_type)]
    agree("QGemm", inputs | kind("y", 0.5, 9, y_type), {"alpha": 0.7}, expected=expected, **ONE_STEP)


@pytest.mark.parametrize(("x_type", "w_type"), TYPES)
@pytest.mark.parametrize("y_type", BYTES)
@pytest.mark.parametrize("channels", [False, True])
@pytest.mark.parametrize("last", [0, 1])
def test_convolutions_of_a_row(x_type, w_type, y_type, channels, last):
    x = stored(1, 4, 9, dtype=x_type)
    inputs = {"x": x} | kind("x", 0.02, 9, x_type) | {"w": integers(0, 64, 6, 4, 3, seed=1, dtype=w_type)} | kind("w", 0.01, 2, w_type) | kind("y", 0.3, 11, y_type)
    if channels:
        inputs |= {"w_scale": np.linspace(0.005, 0.02, 6, dtype=np.float32), "w_zero": np.full(6, 2, w_type)}
    windows = np.lib.stride_tricks.sliding_window_view(less_zero(inputs, "x"), 3, 2)[:, :, ::2]
    sums = np.einsum("nctk,ock->not", windows, inputs["w"].astype(np.float64) - 2)
    y = sums * 0.02 * np.broadcast_to(inputs["w_scale"], 6)[None, :, None] / np.float32(0.3)
    bounds = np.iinfo(y_type)
    expected = np.clip(np.rint(y) + 11, bounds.min, bounds.max).astype(y_type)
    if last:
        inputs["x"], expected = x.transpose(0, 2, 1).copy(), expected.transpose(0, 2, 1)
    parameters = tuple(name for name in inputs if name != "x")
    agree("QLinearConv", inputs, {"kernel_shape": [3], "strides": [2], "channels_last": last}, constants=parameters, expected=[expected], **ONE_STEP)


@pytest.mark.parametrize(("x_type", "w_type"), TYPES)
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("as_list", [False, True])
def test_attention(x_type, w_type, columns, zeros, as_list):
    single = (lambda value: np.array([value])) if as_list else (lambda value: value)
    inputs = {
        "x": stored(2, 4, 5, dtype=x_type),
        "w": integers(0, 60, 5, 18, dtype=w_type),
        "b": random(18, seed=2),
        "x_scale": single(np.float32(0.01)),
        "w_scale": np.linspace(0.005, 0.02, 18, dtype=np.float32) if columns else single(np.float32(0.01)),
        "mask": np.array([[1, 1, 1, 1], [1, 1, 0, 0]], np.int32),
        "x_zero": single(x_type(9)) if zeros else None,
        "w_zero": (np.arange(18).astype(w_type) if columns else single(w_type(3))) if zeros else None,
    }
    weights = {"a": inputs["x"], "b": inputs["w"], "a_zero": inputs["x_zero"], "b_zero": inputs["w_zero"]}
    projected = real_product(weights | {"a_scale": inputs["x_scale"], "b_scale": inputs["w_scale"]}) + inputs["b"]
    # Attention of a product with the identity.
    plain = {"x": projected.astype(np.float32), "w": np.eye(18, dtype=np.float32), "b": np.zeros(18, np.float32), "mask": inputs["mask"]}
    expected = by_onnxruntime(model_of("Attention", plain, {"num_heads": 2}), plain)
    agree("QAttention", inputs, {"num_heads": 2}, constants=("w", "b", "w_scale", "w_zero"), expected=expected, atol=1e-4)


def test_sums_beyond_halves():
    """The sums of products and the scales' product leave the range of f16, in which the scales and results are."""
    inputs = product_inputs(np.uint8, np.int8, True, True, as_list=False)
    inputs |= {"a": np.full((2, 600), 250, np.uint8), "b": np.full((600, 4), 100, np.int8), "bias": np.zeros(4, np.float16)}
    inputs |= {"a_scale": np.float16(2e-4), "b_scale": np.full(4, 3e-4, np.float16)}
    expected = real_product(inputs)
    assert expected.max() < 2
    (got,) = by_lanner(model_of("MatMulIntegerToFloat", inputs, constants=("b", "b_scale", "b_zero", "bias")), inputs)
    assert got.dtype == np.float16
    np.testing.assert_allclose(got, expected, rtol=2e-3)
    inputs = {
        "x": np.full((1, 2, 600), 250, np.uint8),
        "w": np.full((600, 6), 100, np.int8),
        "b": np.zeros(6, np.float16),
        "x_scale": np.float16(2e-4),
        "w_scale": np.float16(3e-4),
        "mask": None,
        "x_zero": np.uint8(9),
    }
    (got,) = by_lanner(model_of("QAttention", inputs, {"num_heads": 1}, constants=("w", "b")), inputs)
    np.testing.assert_allclose(got, 241 * 100 * 600 * float(np.float16(2e-4)) * float(np.float16(3e-4)), rtol=2e-3)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
@pytest.mark.parametrize("real", [np.float32, np.float16])
@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize(("axis", "size"), [(None, None), (None, 1), (None, 4), (0, 3), (1, 4), (-1, 4), (-2, 3), (1, 1)], ids=str)
def test_axes(dtype, real, zero, axis, size):
    scale = real(0.02) if size is None else (np.arange(size) * 0.01 + 0.02).astype(real)
    zeros = None if not zero else dtype(7) if size is None else np.arange(size).astype(dtype)
    attributes = {} if axis is None else {"axis": axis}
    agree("DequantizeLinear", {"x": stored(3, 4, dtype=dtype), "scale": scale, "zero": zeros}, attributes)
    if zero or dtype == np.uint8:  # the type that is written is the zero point's
        agree("QuantizeLinear", {"x": random(3, 4, scale=300).astype(real), "scale": scale, "zero": zeros}, attributes, rtol=0, atol=0)


@pytest.mark.parametrize("real", [np.float32, np.float16])
def test_integers_of_32_bits_are_dequantised(real):
    x = integers(-9000, 9000, 3, 4)
    agree("DequantizeLinear", {"x": x, "scale": real(0.02), "zero": None})
    agree("DequantizeLinear", {"x": x, "scale": np.array([0.1, 0.2, 0.3], real), "zero": None}, {"axis": -2})


def four_bits(name, element, numbers):
    return helper.make_tensor(name, element, np.shape(numbers), np.ravel(numbers).tolist())


@pytest.mark.parametrize("element", [TensorProto.INT4, TensorProto.UINT4])
@pytest.mark.parametrize("real", [np.float32, np.float16])
@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize(("axis", "size"), [(None, None), (0, 3), (-1, 4)], ids=str)
def test_numbers_of_four_bits(element, real, zero, axis, size):
    low, kind_of_reals = -8 if element == TensorProto.INT4 else 0, helper.np_dtype_to_tensor_dtype(np.dtype(real))
    scale = np.array(0.1, real) if size is None else (np.arange(size) * 0.05 + 0.1).astype(real)
    constants = [numpy_helper.from_array(scale, "scale"), four_bits("x", element, integers(low, low + 16, 3, 4))]
    constants.append(four_bits("zero", element, low + 3 if size is None else np.arange(size) + low))
    attributes = {} if axis is None else {"axis": axis}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "scale", "zero"][: 3 if zero else 2], ["d"], domain="com.microsoft", **attributes),
        helper.make_node("Add", ["d", "r"], ["s"]),
        helper.make_node("QuantizeLinear", ["s", "scale", "zero"], ["q"], domain="com.microsoft", **attributes),
        helper.make_node("Cast", ["q"], ["i"], to=TensorProto.INT32),
    ]
    outputs = [helper.make_tensor_value_info("s", kind_of_reals, (3, 4)), helper.make_tensor_value_info("i", TensorProto.INT32, (3, 4))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("r", kind_of_reals, (3, 4))], outputs, constants)
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()
    inputs = {"r": random(3, 4).astype(real)}
    (got, steps), (expected, expected_steps) = by_lanner(model, inputs), by_onnxruntime(model, inputs)
    assert_close([got], [expected], 1e-6, 4e-3 if real == np.float16 else 1e-6)  # a sum is rounded once where it is fused
    assert_close([steps], [expected_steps], 0, real == np.float16)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("real", [np.float32, np.float16])
@pytest.mark.parametrize("zeros", [False, True])
def test_tables_by_negative_axes_and_places(bits, real, zeros):
    def packed(numbers):
        return (numbers if bits == 8 else numbers[..., ::2] | (numbers[..., 1::2] << 4)).astype(np.uint8)

    inputs = {
        "data": packed(integers(0, 2**bits, 7, 64)),
        "places": integers(-7, 7, 2, 3, dtype=np.int64),
        "scales": np.abs(random(7, 4, seed=5)).astype(real),
        "zeros": packed(integers(0, 2**bits, 7, 4)) if zeros else None,
    }
    attributes = {"gather_axis": -2, "quantize_axis": -1, "block_size": 16, "bits": bits}
    agree("GatherBlockQuantized", inputs, attributes, constants=("data", "scales", "zeros"))
