"""Quantised operators of ONNX Runtime (domain com.microsoft) agree with ONNX Runtime, to the last step of 8 bits."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from single_node import agree, assert_close, by_lanner, by_onnxruntime, integers, model_of, random, refused

TYPES = [np.uint8, np.int8]
ONE_STEP = {"rtol": 0, "atol": 1}


def stored(*shape, dtype, seed=0):
    bounds = np.iinfo(dtype)
    return integers(bounds.min, bounds.max + 1, *shape, seed=seed, dtype=dtype)


def narrow(*shape, seed=1):
    """7-bit values: on CPUs with AVX2 only, ONNX Runtime adds two 8-bit products in 16 bits, which would otherwise overflow."""
    return integers(-64, 64, *shape, seed=seed, dtype=np.int8)


def kind(prefix, scale, zero, dtype):
    return {f"{prefix}_scale": np.float32(scale), f"{prefix}_zero": None if zero is None else dtype(zero)}


def agree_with_zeros(op, inputs, attributes=None, **model):
    """A missing zero point is 0; ONNX Runtime's kernels need it, or crash."""
    filled = {name: inputs["x" if "x" in inputs else "a"].dtype.type(0) if array is None else array for name, array in inputs.items()}
    expected = by_onnxruntime(model_of(op, filled, attributes), filled)
    agree(op, inputs, attributes, expected=expected, **model, **ONE_STEP)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("other", [(2, 3, 4), (1, 4), (3, 1), ()], ids=str)
@pytest.mark.parametrize("zero", [None, 7])
def test_binary(dtype, op, other, zero):
    inputs = {"a": stored(2, 3, 4, dtype=dtype)} | kind("a", 0.02, zero, dtype)
    inputs |= {"b": stored(*other, dtype=dtype, seed=1)} | kind("b", 0.03, 5, dtype) | kind("c", 0.04, zero, dtype)
    agree_with_zeros(op, inputs)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("zero", [None, 3])
@pytest.mark.parametrize(("op", "attributes"), [("QLinearSigmoid", {}), ("QLinearLeakyRelu", {}), ("QLinearLeakyRelu", {"alpha": 0.3})], ids=str)
def test_unary(dtype, zero, op, attributes):
    inputs = {"x": stored(2, 3, 5, dtype=dtype)} | kind("x", 0.03, zero, dtype) | kind("y", 0.01, zero, dtype)
    agree_with_zeros(op, inputs, attributes, constants=("x_scale", "x_zero", "y_scale", "y_zero"))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("opset", "axis"), [(13, -1), (13, 1), (12, 1), (12, 2), (11, 3)])
def test_softmax(dtype, opset, axis):
    inputs = {"x": stored(2, 3, 4, 5, dtype=dtype)} | kind("x", 0.05, 3, dtype) | kind("y", 1 / 256, 0 if dtype == np.uint8 else -128, dtype)
    agree("QLinearSoftmax", inputs, {"opset": opset, "axis": axis}, constants=("x_scale", "x_zero", "y_scale", "y_zero"), **ONE_STEP)


@pytest.mark.parametrize("dtype", TYPES)
def test_concat(dtype):
    inputs = kind("y", 0.05, 4, dtype) | {"a": stored(2, 3, dtype=dtype)} | kind("a", 0.02, 3, dtype)
    inputs |= {"b": stored(2, 1, dtype=dtype, seed=1)} | kind("b", 0.05, 4, dtype) | {"c": stored(2, 2, dtype=dtype, seed=2)} | kind("c", 0.09, 0, dtype)
    scales = tuple(name for name in inputs if "_" in name)
    agree("QLinearConcat", inputs, {"axis": 1}, constants=scales, **ONE_STEP)
    inputs.pop("c_zero"), inputs.pop("c_scale")
    refused("QLinearConcat", inputs, {"axis": 1}, match="9 inputs, expected 2 and some multiple of 3")


@pytest.mark.parametrize("dtype", TYPES)
def test_where(dtype):
    inputs = {"condition": random(2, 3) > 0, "x": stored(2, 3, dtype=dtype)} | kind("x", 0.02, 3, dtype)
    inputs |= {"y": stored(1, 3, dtype=dtype, seed=1)} | kind("y", 0.04, 6, dtype) | kind("z", 0.05, 9, dtype)
    agree("QLinearWhere", inputs, constants=tuple(name for name in inputs if "_" in name), **ONE_STEP)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("last", [0, 1])
def test_pools(dtype, last):
    x = stored(*((2, 5, 6, 3) if last else (2, 3, 5, 6)), dtype=dtype)
    inputs = {"x": x} | kind("x", 0.02, 3, dtype) | kind("y", 0.015, 5, dtype)
    agree("QLinearGlobalAveragePool", inputs, {"channels_last": last}, **ONE_STEP)
    attributes = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1], "channels_last": last}
    for counted in (0, 1):
        agree("QLinearAveragePool", inputs, attributes | {"count_include_pad": counted}, **ONE_STEP)
    agree("QLinearAveragePool", inputs, attributes | {"ceil_mode": 1}, **ONE_STEP)


# ONNX Runtime has no CPU kernel for it.
def test_reduce_mean():
    x = stored(2, 3, 4, dtype=np.uint8)
    inputs = {"x": x} | kind("x", 0.02, 9, np.uint8) | kind("y", 0.01, 5, np.uint8)
    mean = ((x.astype(np.float64) - 9) * 0.02).mean((0, 2), keepdims=True)
    agree("QLinearReduceMean", inputs, {"axes": [0, 2], "keepdims": 1}, expected=[np.clip(np.rint(mean / 0.01) + 5, 0, 255).astype(np.uint8)], **ONE_STEP)


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("each", [False, True])
def test_conv(last, bias, each):
    inputs = {"x": stored(*((1, 6, 5, 4) if last else (1, 4, 6, 5)), dtype=np.uint8)} | kind("x", 0.02, 120, np.uint8)
    inputs |= {"w": narrow(6, 2, 3, 3)} | kind("w", 0.01, 0, np.int8) | kind("y", 0.3, 110, np.uint8)
    if each:
        inputs |= {"w_scale": np.linspace(0.005, 0.02, 6, dtype=np.float32), "w_zero": np.zeros(6, np.int8)}
    if bias:
        inputs["b"] = integers(-500, 500, 6, seed=2)
    attributes = {"group": 2, "pads": [1, 1, 0, 0], "kernel_shape": [3, 3], "strides": [2, 1], "channels_last": last}
    agree("QLinearConv", inputs, attributes, constants=tuple(name for name in inputs if name != "x"), **ONE_STEP)


@pytest.mark.parametrize("dtype", TYPES)
def test_channels_last_max_pool(dtype):
    agree("NhwcMaxPool", {"x": stored(2, 6, 5, 3, dtype=dtype)}, {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 0]}, rtol=0, atol=0)


@pytest.mark.parametrize("b_type", TYPES)
@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
def test_matmul_integer_to_float(b_type, each, bias, zeros):
    columns = 4
    inputs = {
        "a": stored(2, 3, 5, dtype=np.uint8),
        "b": stored(5, columns, dtype=b_type, seed=1),
        "a_scale": np.float32(0.02),
        "b_scale": np.linspace(0.01, 0.03, columns, dtype=np.float32) if each else np.array([0.01], np.float32),
        "a_zero": np.uint8(7) if zeros else None,
        "b_zero": (np.arange(columns).astype(b_type) if each else b_type(3)) if zeros else None,
        "bias": random(columns, seed=2) if bias else None,
    }
    agree("MatMulIntegerToFloat", inputs, constants=("b", "b_scale", "b_zero", "bias"))


@pytest.mark.parametrize("b_type", TYPES)
@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
def test_dynamic_quantize_matmul(b_type, each, zeros):
    inputs = {
        "a": random(2, 3, 5),
        "b": stored(5, 4, dtype=b_type, seed=1),
        "b_scale": np.linspace(0.01, 0.03, 4, dtype=np.float32) if each else np.array([0.01], np.float32),
        "b_zero": (np.arange(4).astype(b_type) if each else b_type(3)) if zeros else None,
        "bias": random(4, seed=2),
    }
    agree("DynamicQuantizeMatMul", inputs, constants=("b", "b_scale", "b_zero", "bias"), atol=1e-4)


def test_matmul_of_16_bits():
    agree("MatMulInteger16", {"a": stored(3, 4, dtype=np.int16), "b": stored(4, 2, dtype=np.int16, seed=1)}, rtol=0, atol=0)
    wide = {"a": np.full((1, 2), 65535, np.uint16), "b": np.full((2, 1), 40000, np.uint16)}
    agree("MatMulInteger16", wide, expected=[np.array([[2 * 65535 * 40000 % 2**32]], np.uint32)], rtol=0, atol=0)


# ONNX Runtime has no CPU kernels for these.
def test_integers_of_training_graphs():
    a, b = stored(2, 3, dtype=np.uint8), stored(3, dtype=np.uint8, seed=1)
    product = (a.astype(np.int32) - 7) * b
    agree("MulInteger", {"a": a, "a_zero": np.uint8(7), "b": b}, expected=[product], rtol=0, atol=0)
    signed = stored(2, 3, dtype=np.int8)
    agree("ReduceSumInteger", {"x": signed}, {"axes": [1], "keepdims": 0}, expected=[signed.astype(np.int32).sum(1, dtype=np.int32)], rtol=0, atol=0)


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("offset", [None, (4,), (3, 4)], ids=str)
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("each", [False, True])
def test_gemm(turned, offset, real, each):
    a = stored(*((5, 3) if turned else (3, 5)), dtype=np.uint8)
    b = stored(*((4, 5) if turned else (5, 4)), dtype=np.int8, seed=1)
    inputs = {"a": a} | kind("a", 0.02, 7, np.uint8) | {"b": b} | kind("b", 0.01, 0, np.int8)
    if each:
        inputs |= {"b_scale": np.linspace(0.01, 0.03, 4, dtype=np.float32), "b_zero": np.zeros(4, np.int8)}
    inputs["c"] = None if offset is None else integers(-900, 900, *offset, seed=2)
    if not real:
        inputs |= kind("y", 0.5, 100, np.uint8)
    attributes = {"alpha": 0.5, "transA": turned, "transB": turned}
    tolerance = {"rtol": 1e-5, "atol": 1e-4} if real else ONE_STEP
    agree("QGemm", inputs, attributes, constants=tuple(name for name in inputs if name != "a"), **tolerance)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
def test_quantize_and_dequantize(dtype):
    agree("QuantizeLinear", {"x": random(3, 4), "scale": np.float32(0.02), "zero": dtype(7)}, rtol=0, atol=0)
    agree("QuantizeLinear", {"x": random(3, 4), "scale": np.array([0.02, 0.03, 0.04], np.float32), "zero": np.arange(3).astype(dtype)}, {"axis": 0}, rtol=0, atol=0)
    agree("DequantizeLinear", {"x": stored(3, 4, dtype=dtype), "scale": np.array([0.02], np.float32), "zero": np.array([7], dtype)}, expected=[(stored(3, 4, dtype=dtype).astype(np.float32) - 7) * np.float32(0.02)])
    agree("DequantizeLinear", {"x": stored(3, 4, dtype=dtype), "scale": np.array([0.02, 0.03, 0.04, 0.1], np.float32), "zero": None}, {"axis": 1})


def lstm_inputs(directions, each, **more):
    hidden, size = 3, 4
    columns = 4 * hidden
    shape = (directions, columns) if each else (directions,)
    inputs = {
        "x": random(5, 2, size),
        "w": narrow(directions, size, columns, seed=0),
        "r": narrow(directions, hidden, columns),
        "b": random(directions, 8 * hidden, seed=2, scale=0.3),
        "lengths": None,
        "h": None,
        "c": None,
        "p": None,
        "w_scale": np.random.default_rng(1).uniform(0.002, 0.008, shape).astype(np.float32),
        "w_zero": np.zeros(shape, np.int8),
        "r_scale": np.random.default_rng(2).uniform(0.002, 0.008, shape).astype(np.float32),
        "r_zero": np.zeros(shape, np.int8),
    }
    return inputs | more


def real_lstm(inputs, direction, hidden):
    """ONNX's LSTM on the stored weights; the difference is what rounding x and the states to 8 bits loses."""

    def weights(name):
        scale, zero = inputs[f"{name}_scale"], inputs[f"{name}_zero"]
        axis = (slice(None), None) if scale.ndim == 2 else (slice(None), None, None)
        return np.ascontiguousarray(((inputs[name].astype(np.float32) - zero[axis]) * scale[axis]).transpose(0, 2, 1))

    plain = {name: array for name, array in inputs.items() if "_" not in name} | {"w": weights("w"), "r": weights("r")}
    model = model_of("LSTM", plain, {"hidden_size": hidden, "direction": direction}, 3, domain="")
    return by_onnxruntime(model, plain)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("each", [False, True])
def test_dynamic_quantize_lstm(direction, each):
    directions = 2 if direction == "bidirectional" else 1
    inputs = lstm_inputs(directions, each)
    if each:
        inputs |= {"lengths": np.array([5, 3], np.int32), "h": random(directions, 2, 3, seed=5), "c": random(directions, 2, 3, seed=6)}
    attributes = {"hidden_size": 3, "direction": direction}
    constants = ("w", "r", "b", "w_scale", "w_zero", "r_scale", "r_zero")
    exact = real_lstm(inputs, direction, 3)
    agree("DynamicQuantizeLSTM", inputs, attributes, 3, constants=constants, expected=exact, atol=1e-5)
    # ONNX Runtime rounds x and the states to 8 bits at each step.
    agree("DynamicQuantizeLSTM", inputs, attributes, 3, constants=constants, rtol=0, atol=0.03)


def packed(numbers, bits):
    """Packs numbers of a few bits into bytes along the last axis, the first in the low bits."""
    each = 8 // bits
    padded = np.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, -numbers.shape[-1] % each)])
    parts = padded.reshape(*padded.shape[:-1], -1, each).astype(np.uint32)
    return (parts << (np.arange(each) * bits)).sum(-1).astype(np.uint8)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", ["none", "packed", "real"])
@pytest.mark.parametrize("depth", [32, 40, 64])
def test_matmul_n_bits(bits, zeros, depth):
    columns, block = 5, 16
    blocks = -(-depth // block)
    numbers = np.random.default_rng(3).integers(0, 2**bits, (columns, blocks, block))
    scales = np.random.default_rng(4).uniform(0.01, 0.1, (columns, blocks)).astype(np.float32)
    middles = np.random.default_rng(5).integers(0, 2**bits, (columns, blocks))
    zero = {"none": None, "packed": packed(middles, bits), "real": middles.astype(np.float32) + np.float32(0.25)}[zeros]
    a, bias = random(2, 3, depth), random(columns, seed=6)
    shift = {"none": np.full(middles.shape, 2 ** (bits - 1)), "packed": middles, "real": zero}[zeros]
    weights = ((numbers - shift[..., None]) * scales[..., None]).reshape(columns, -1)[:, :depth]
    inputs = {"a": a, "b": packed(numbers, bits), "scales": scales, "zeros": zero, "group": None, "bias": bias}
    attributes = {"N": columns, "K": depth, "bits": bits, "block_size": block}
    expected = [(a.astype(np.float64) @ weights.T + bias).astype(np.float32)]
    agree("MatMulNBits", inputs, attributes, constants=("b", "scales", "zeros", "bias"), expected=expected, atol=1e-4)
    if bits == 4 or (bits == 8 and zeros != "real"):  # those for which ONNX Runtime has CPU kernels
        agree("MatMulNBits", inputs, attributes, constants=("b", "scales", "zeros", "bias"), atol=1e-4, rtol=1e-4)


def test_matmul_n_bits_of_weights_that_are_inputs():
    inputs = {"a": random(2, 32), "b": stored(4, 2, 8, dtype=np.uint8), "scales": random(4 * 2, seed=1)}
    agree("MatMulNBits", inputs, {"N": 4, "K": 32, "bits": 4, "block_size": 16}, atol=1e-4)


def test_matmul_n_bits_refuses_unsupported_options():
    inputs = {"a": random(2, 32), "b": stored(4, 2, 8, dtype=np.uint8), "scales": random(4, 2, seed=1)}
    usual = {"N": 4, "K": 32, "bits": 4, "block_size": 16}
    refused("MatMulNBits", inputs, usual | {"bits": 3}, match="attribute bits is 3")
    refused("MatMulNBits", inputs, usual | {"block_size": 24}, match="attribute block_size is 24")
    refused("MatMulNBits", inputs, usual | {"K": 64}, match="cannot hold the elements")
    refused("MatMulNBits", inputs, usual | {"N": -4}, match="attribute N is -4")
    refused("MatMulNBits", inputs, usual | {"weight_prepacked": 1}, match="weight_prepacked is 1")


@pytest.mark.parametrize("table", [0, 1])
@pytest.mark.parametrize("depth", [32, 24])
def test_matmul_bnb4(table, depth):
    columns, block = 3, 16
    blocks = -(-columns * depth // block)
    inputs = {"a": random(2, depth), "b": stored(columns * depth // 2, dtype=np.uint8), "largest": np.abs(random(blocks, seed=1))}
    attributes = {"N": columns, "K": depth, "block_size": block, "quant_type": table}
    agree("MatMulBnb4", inputs, attributes, constants=("b", "largest"))


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_gather_of_packed_rows(bits, zeros, shape):
    rows, columns, block = 7, 64, 16
    numbers = np.random.default_rng(3).integers(0, 2**bits, (rows, columns))
    middles = np.random.default_rng(4).integers(0, 2**bits, (rows, columns // block))
    inputs = {
        "data": packed(numbers, bits),
        "places": integers(0, rows, *shape, dtype=np.int64),
        "scales": np.random.default_rng(5).uniform(0.01, 0.1, middles.shape).astype(np.float32),
        "zeros": packed(middles, bits) if zeros else None,
    }
    attributes = {"gather_axis": 0, "quantize_axis": 1, "block_size": block, "bits": bits}
    agree("GatherBlockQuantized", inputs, attributes, constants=("data", "scales", "zeros"))


def test_gather_of_numbers_of_four_bits():
    rows, columns, block = 5, 32, 16
    for element, low in ((TensorProto.UINT4, 0), (TensorProto.INT4, -8)):
        numbers = np.random.default_rng(3).integers(low, low + 16, (rows, columns))
        scales = np.random.default_rng(5).uniform(0.01, 0.1, (rows, columns // block)).astype(np.float32)
        node = helper.make_node("GatherBlockQuantized", ["data", "places", "scales"], ["y"], domain="com.microsoft", gather_axis=0, quantize_axis=1, block_size=block)
        graph = helper.make_graph(
            [node],
            "g",
            [helper.make_tensor_value_info("places", TensorProto.INT64, ["n"])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", columns])],
            [helper.make_tensor("data", element, numbers.shape, numbers.flatten().tolist()), numpy_helper.from_array(scales, "scales")],
        )
        imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()
        inputs = {"places": np.array([4, 0, 2])}
        assert_close(by_lanner(model, inputs), by_onnxruntime(model, inputs), 1e-6, 1e-6)


