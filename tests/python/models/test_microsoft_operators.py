"""Operators that ONNX Runtime's optimisers write (domain com.microsoft) agree with ONNX Runtime."""

import re
from pathlib import Path

import lanner
import numpy as np
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema
from single_node import agree, by_onnxruntime, integers, model_of, random, refused


def conv_inputs(**more):
    return {"x": random(2, 4, 7, 6), "w": random(6, 2, 3, 3, seed=1), **more}


@pytest.mark.parametrize(
    ("activation", "parameters"),
    [("", []), ("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.3]), ("Clip", [-0.5, 0.7]), ("HardSigmoid", [0.3, 0.4])],
)
@pytest.mark.parametrize("residual", [False, True])
def test_fused_conv(activation, parameters, residual):
    attributes = {"group": 2, "pads": [1, 0, 1, 2], "strides": [2, 1], "kernel_shape": [3, 3]}
    if activation:
        attributes["activation"] = activation
    if parameters:
        attributes["activation_params"] = parameters
    inputs = conv_inputs(b=random(6, seed=2))
    if residual:
        inputs["z"] = random(2, 6, 4, 6, seed=3)
    agree("FusedConv", inputs, attributes, constants=("w", "b"), atol=1e-4)


def test_fused_conv_refuses_unsupported_activations():
    refused("FusedConv", conv_inputs(), {"group": 2, "activation": "Sine"}, match="attribute activation: 'Sine' is not supported")
    refused("FusedConv", conv_inputs(), {"group": 2, "activation": "Clip", "activation_params": [1.0]}, match="Clip needs both min and max")


def relu(x):
    return np.maximum(x, 0)


def test_channels_last_conv():
    inputs = {"x": random(1, 3, 4, 2), "w": random(5, 2, 1, 1, seed=1), "b": random(5, seed=2), "z": random(1, 3, 4, 5, seed=3)}
    plain = np.einsum("nhwc,oc->nhwo", inputs["x"], inputs["w"][:, :, 0, 0]) + inputs["b"]
    residual = inputs.pop("z")
    agree("NhwcConv", inputs, {"kernel_shape": [1, 1]}, expected=[plain])
    agree("NhwcFusedConv", inputs | {"z": residual}, {"kernel_shape": [1, 1], "activation": "Relu"}, expected=[relu(plain + residual)])


GEMM_ACTIVATIONS = [
    {"activation": "Relu"},
    {"activation": "LeakyRelu", "activation_alpha": 0.25},
    {"activation": "Sigmoid"},
    {"activation": "Tanh"},
    {"activation": "Softplus"},
    {"activation": "Softsign"},
    {"activation": "Elu", "activation_alpha": 0.5},
    {"activation": "HardSigmoid", "activation_alpha": 0.3, "activation_beta": 0.6},
    {"activation": "Selu", "activation_alpha": 1.5, "activation_gamma": 1.2},
    {"activation": "ThresholdedRelu", "activation_alpha": 0.7},
]


@pytest.mark.parametrize("activation", GEMM_ACTIVATIONS, ids=lambda attributes: attributes["activation"])
def test_fused_gemm(activation):
    attributes = {"alpha": 0.5, "beta": 2.0, "transA": 1, "transB": 1, **activation}
    agree("FusedGemm", {"a": random(5, 3), "b": random(4, 5, seed=1), "c": random(4, seed=2)}, attributes, constants=("b", "c"))


def test_fused_gemm_without_offset():
    agree("FusedGemm", {"a": random(3, 5), "b": random(5, 4, seed=1)}, {"activation": "Relu"})


@pytest.mark.parametrize("turned_a", [0, 1])
@pytest.mark.parametrize("turned_b", [0, 1])
@pytest.mark.parametrize("op", ["FusedMatMul", "TransposeMatMul"])
def test_fused_matmul(op, turned_a, turned_b):
    a = random(2, 3, 5, 4) if turned_a else random(2, 3, 4, 5)
    b = random(3, 6, 5, seed=1) if turned_b else random(3, 5, 6, seed=1)
    agree(op, {"a": a, "b": b}, {"transA": turned_a, "transB": turned_b, "alpha": 0.125})


@pytest.mark.parametrize("turned", [0, 1])
def test_fused_matmul_with_batches_after_the_rows(turned):
    a = random(5, 2, 3, 4) if turned else random(4, 2, 3, 5)
    a = np.ascontiguousarray(a)
    agree("FusedMatMul", {"a": a, "b": random(2, 3, 5, 6, seed=1)}, {"transBatchA": 1, "transA": turned})
    b = random(6, 2, 3, 5, seed=2) if turned else random(5, 2, 3, 6, seed=2)
    agree("FusedMatMul", {"a": random(2, 3, 4, 5), "b": b}, {"transBatchB": 1, "transB": turned})


def test_fused_matmul_of_vectors():
    agree("FusedMatMul", {"a": random(5), "b": random(5, 3, seed=1)}, {"transA": 1, "alpha": 2.0})
    agree("FusedMatMul", {"a": random(4, 5), "b": random(5, seed=1)}, {"transB": 1})


def test_fused_matmul_of_doubles():
    agree("FusedMatMul", {"a": random(4, 5, dtype=np.float64), "b": random(6, 5, dtype=np.float64)}, {"transB": 1}, rtol=1e-12)


def test_fused_matmul_activation():
    a, b = random(3, 4), random(5, 4, seed=1)
    attributes = {"transB": 1, "alpha": 0.5, "activation": "LeakyRelu", "activation_alpha": 0.25}
    product = 0.5 * a @ b.T
    agree("FusedMatMulActivation", {"a": a, "b": b}, attributes, expected=[np.where(product < 0, np.float32(0.25) * product, product)])


@pytest.mark.parametrize("op", ["BiasGelu", "FastGelu", "Gelu", "QuickGelu"])
def test_gelus(op):
    inputs = {"x": random(2, 3, 8, scale=2)}
    if op == "BiasGelu":
        inputs["b"] = random(8, seed=1)
    agree(op, inputs, atol=2e-6)
    if op == "FastGelu":
        agree(op, inputs | {"b": random(8, seed=1)}, atol=2e-6)
    if op == "QuickGelu":
        agree(op, inputs, {"alpha": 0.75}, atol=2e-6)


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(__import__("math").erf)(x / np.sqrt(2)))


def fast_gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def as_floats(*arrays):
    return [np.asarray(array, np.float32) for array in arrays]


# ONNX Runtime has no CPU kernels for these.
def test_operators_of_diffusion_models():
    x, bias, skip = random(2, 6, 8), random(8, seed=1), random(2, 6, 8, seed=2)
    agree("BiasAdd", {"x": x, "b": bias, "s": skip}, expected=[x + bias + skip])
    wide = (x + bias).astype(np.float64)
    agree("BiasSplitGelu", {"x": x, "b": bias}, expected=as_floats(wide[..., :4] * gelu(wide[..., 4:])))
    agree("GemmFastGelu", {"x": x, "w": random(8, 5, seed=3), "b": random(5, seed=4)}, expected=as_floats(fast_gelu(x @ random(8, 5, seed=3) + random(5, seed=4))))
    refused("BiasSplitGelu", {"x": random(2, 3, 5), "b": random(5)}, match="expected an even last size")


def test_bias_softmax():
    scores, mask = random(2, 3, 4, 5), random(2, 1, 1, 5, seed=1)
    agree("BiasSoftmax", {"x": scores, "b": mask}, {"axis": 3, "is_inner_broadcast": 1}, expected=[softmax(scores + mask)])
    bias = random(1, 1, 4, 5, seed=2)
    flat = softmax((scores + bias).reshape(2, 3, -1)).reshape(scores.shape)
    agree("BiasSoftmax", {"x": scores, "b": bias}, {"axis": 2, "is_inner_broadcast": 0}, expected=[flat])


def test_bias_dropout_drops_nothing():
    x, bias, residual = random(2, 3), random(3, seed=1), random(2, 3, seed=2)
    agree("BiasDropout", {"x": x, "b": bias, "r": residual}, outputs=2, expected=[x + bias + residual, np.ones((2, 3), bool)])


def group_norm(x, gamma, beta, groups, silu, epsilon=1e-5):
    n, h, w, c = x.shape
    parts = x.reshape(n, h * w, groups, c // groups).astype(np.float64)
    mean, variance = parts.mean((1, 3), keepdims=True), parts.var((1, 3), keepdims=True)
    y = ((parts - mean) / np.sqrt(variance + epsilon)).reshape(x.shape) * gamma + beta
    return (y / (1 + np.exp(-y)) if silu else y).astype(np.float32)


@pytest.mark.parametrize("silu", [0, 1])
def test_group_norm(silu):
    x, gamma, beta = random(2, 3, 4, 8), random(8, seed=1), random(8, seed=2)
    expected = group_norm(x, gamma, beta, 2, silu)
    attributes = {"groups": 2, "activation": silu}
    agree("GroupNorm", {"x": x, "g": gamma, "b": beta}, attributes, expected=[expected])
    first = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    agree("GroupNorm", {"x": first, "g": gamma, "b": beta}, attributes | {"channels_last": 0}, expected=[expected.transpose(0, 3, 1, 2)])


@pytest.mark.parametrize("shape", [(2, 3, 4, 8), (2, 1, 1, 8), (2, 8)])
def test_skip_group_norm(shape):
    x, gamma, beta, bias = random(2, 3, 4, 8), random(8, seed=1), random(8, seed=2), random(8, seed=3)
    skip = random(*shape, seed=4)
    total = x + (skip[:, None, None, :] if len(shape) == 2 else skip) + bias
    inputs = {"x": x, "g": gamma, "b": beta, "s": skip, "bias": bias}
    agree("SkipGroupNorm", inputs, {"groups": 4, "activation": 0}, outputs=2, expected=[group_norm(total, gamma, beta, 4, 0), total], atol=2e-5)


def test_group_norm_refuses_other_activations():
    refused("GroupNorm", {"x": random(1, 2, 2, 4), "g": random(4), "b": random(4)}, {"groups": 2, "activation": 7}, match="attribute activation is 7")


@pytest.mark.parametrize("skip", [(2, 3, 8), (1, 3, 8), (3, 8)])
@pytest.mark.parametrize("beta", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_skip_layer_normalization(skip, beta, bias):
    inputs = {
        "x": random(2, 3, 8),
        "s": random(*skip, seed=1),
        "g": random(8, seed=2),
        "b": random(8, seed=3) if beta else None,
        "bias": random(8, seed=4) if bias else None,
    }
    agree("SkipLayerNormalization", inputs, {"epsilon": 1e-5}, constants=("g", "b", "bias"))
    agree("SkipLayerNormalization", inputs, outputs=[True, False, False, True])


def test_skip_layer_normalization_returns_its_statistics():
    x, skip = random(2, 3, 8), random(2, 3, 8, seed=1)
    total = (x + skip).astype(np.float64)
    mean, spread = total.mean(-1, keepdims=True), 1 / np.sqrt(total.var(-1, keepdims=True) + 1e-3)
    expected = as_floats((total - mean) * spread, mean, spread, total)
    agree("SkipLayerNormalization", {"x": x, "s": skip, "g": np.ones(8, np.float32)}, {"epsilon": 1e-3}, outputs=4, expected=expected)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", [(2, 3, 8), (5, 8)])
def test_skip_simplified_layer_normalization(shape, bias):
    inputs = {"x": random(*shape), "s": random(*shape, seed=1), "g": random(8, seed=2), "b": random(8, seed=3) if bias else None}
    agree("SkipSimplifiedLayerNormalization", inputs, {"epsilon": 1e-6}, outputs=[True, False, False, True], constants=("g",))


def test_skip_simplified_layer_normalization_has_no_mean():
    inputs = {"x": random(2, 3, 8), "s": random(2, 3, 8), "g": random(8)}
    refused("SkipSimplifiedLayerNormalization", inputs, outputs=2, match="computes no mean")


@pytest.mark.parametrize("axis", [-1, 1])
def test_simplified_layer_normalization(axis):
    inputs = {"x": random(2, 3, 8), "g": random(*((8,) if axis == -1 else (3, 8)), seed=1)}
    agree("SimplifiedLayerNormalization", inputs, {"axis": axis, "epsilon": 1e-4, "stash_type": 1}, domain="")


def test_simplified_layer_normalization_returns_its_inverse_deviation():
    x = random(2, 3, 8)
    spread = 1 / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-2)
    agree("SimplifiedLayerNormalization", {"x": x, "g": np.ones(8, np.float32)}, {"epsilon": 1e-2}, outputs=2, domain="", expected=as_floats(x * spread, spread))


def embedding_inputs(segments=True, mask=False, positions=None):
    return {
        "ids": integers(0, 20, 2, 5),
        "segments": integers(0, 2, 2, 5, seed=1) if segments else None,
        "words": random(20, 8),
        "places": random(7, 8, seed=1),
        "kinds": random(2, 8, seed=2) if segments else None,
        "gamma": random(8, seed=3),
        "beta": random(8, seed=4),
        "mask": np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 0]], np.int32) if mask else None,
        "positions": positions,
    }


@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("mask", [False, True])
def test_embed_layer_normalization(segments, mask):
    inputs = embedding_inputs(segments, mask)
    agree("EmbedLayerNormalization", inputs, {"epsilon": 1e-5}, outputs=3, constants=("words", "places", "kinds"))
    agree("EmbedLayerNormalization", inputs, outputs=2)


@pytest.mark.parametrize("rows", [1, 2])
def test_embed_layer_normalization_with_positions(rows):
    agree("EmbedLayerNormalization", embedding_inputs(positions=integers(0, 7, rows, 5, seed=5)), outputs=2)


def test_quantized_embed_layer_normalization():
    def table(*shape, seed):
        return integers(0, 255, *shape, seed=seed, dtype=np.uint8)

    def scale(value):
        return np.float32(value)

    inputs = {
        "ids": integers(0, 20, 2, 5),
        "segments": integers(0, 2, 2, 5, seed=1),
        "words": table(20, 8, seed=1),
        "places": table(7, 8, seed=2),
        "kinds": table(2, 8, seed=3),
        "gamma": table(8, seed=4),
        "beta": table(8, seed=5),
        "mask": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32),
    }
    inputs |= {f"scale{i}": scale(0.01 + 0.005 * i) for i in range(5)}
    inputs |= {f"zero{i}": np.uint8(120 + i) for i in range(5)}
    agree("QEmbedLayerNormalization", inputs, {"epsilon": 1e-5}, outputs=2)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
def test_pad(mode):
    inputs = {"x": random(3, 4), "pads": np.array([1, 2, 0, 1]), "value": np.array([1.5], np.float32) if mode == "constant" else None}
    agree("Pad", inputs, {"mode": mode})
    agree("Pad", inputs | {"pads": np.array([[1, 2, 0, 1]])}, {"mode": mode})


def test_range():
    agree("Range", {"start": np.array([2.0], np.float32), "limit": np.array([5.0], np.float32), "delta": np.array([0.5], np.float32)})
    agree("Range", {"start": np.int64(1), "limit": np.int64(6)}, constants=("start", "limit"))
    agree("Range", {"start": np.int32(9), "limit": np.int32(0), "delta": np.int32(-4)})


def test_unique():
    agree("Unique", {"x": np.array([3, 1, 3, 2, 1, 3], np.float32)}, outputs=3)


def test_gather_nd():
    data = random(2, 3, 4)
    agree("GatherND", {"data": data, "indices": np.array([[0, 2], [1, 1]], np.int32)})
    agree("GatherND", {"data": data, "indices": np.array([[[0, 2, 3]], [[1, 1, 0]]], np.int64)})


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_expand_dims(axis):
    agree("ExpandDims", {"x": random(2, 3), "axis": np.int32(axis)}, constants=("axis",))
    agree("ExpandDims", {"x": random(2, 3), "axis": np.array([axis], np.int32)}, constants=("axis",), expected=[np.expand_dims(random(2, 3), axis)])


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [None, -1, 2])
def test_trilu(upper, k):
    agree("Trilu", {"x": random(2, 4, 5), "k": None if k is None else np.int64(k)}, {"upper": upper})


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample(mode, padding):
    if (mode, padding) == ("bicubic", "border"):
        return  # ONNX Runtime clamps the position, ONNX and PyTorch clamp the elements read around it
    inputs = {"x": random(2, 3, 5, 4), "grid": np.random.default_rng(1).uniform(-1.3, 1.3, (2, 3, 6, 2)).astype(np.float32)}
    agree("GridSample", inputs, {"mode": mode, "padding_mode": padding, "align_corners": 1})


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(3, 4), (1, 1), (5, 1)])
def test_crop_and_resize(mode, size):
    boxes = np.array([[0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], [0.9, 0.9, 0.1, 0.2], [-0.3, 0.5, 1.4, 1.2]], np.float32)
    inputs = {"x": random(2, 3, 6, 7), "boxes": boxes, "batch": np.array([0, 1, 1, 0], np.int32), "size": np.array(size, np.int32)}
    agree("CropAndResize", inputs, {"mode": mode, "extrapolation_value": 2.5}, constants=("size",))


def test_crop_and_resize_needs_a_constant_size():
    inputs = {"x": random(1, 1, 4, 4), "boxes": random(1, 4), "batch": np.zeros(1, np.int32), "size": np.array([2, 2], np.int32)}
    refused("CropAndResize", inputs, match="crop_size must be two numbers that are known before running")


def test_inverse():
    agree("Inverse", {"x": random(3, 5, 5)}, rtol=1e-4, atol=1e-4)
    agree("Inverse", {"x": np.array([[0, 2], [4, 1]], np.float64)}, rtol=1e-12)
    agree("Inverse", {"x": np.zeros((0, 3, 3), np.float32)}, expected=[np.zeros((0, 3, 3), np.float32)])
    refused("Inverse", {"x": random(2, 3)}, match="has 3 in axis 1, expected 2 as axis 0")


def test_cdist():
    inputs = {"a": random(4, 3), "b": random(5, 3, seed=1)}
    agree("CDist", inputs, {"metric": "sqeuclidean"}, atol=1e-4)
    agree("CDist", inputs, {"metric": "euclidean"}, atol=1e-4)
    refused("CDist", inputs, {"metric": "hamming"}, match="attribute metric: 'hamming'")


def test_convolution_backwards_with_pads_as_an_input():
    inputs = {"x": random(1, 2, 4, 5), "w": random(2, 3, 3, 3, seed=1), "pads": np.array([1, 0, 1, 2]), "b": random(3, seed=2)}
    agree("ConvTransposeWithDynamicPads", inputs, {"strides": [2, 1], "kernel_shape": [3, 3]}, constants=("pads", "w"), atol=1e-4)
    refused("ConvTransposeWithDynamicPads", inputs, {"kernel_shape": [3, 3]}, match="Pads must be known before running")


@pytest.mark.parametrize("op", ["GatedAdd", "ScaledSiLU"])
def test_elementwise_operators_of_newer_language_models(op):
    x = random(2, 3, 8)
    if op == "GatedAdd":
        return agree(op, {"x": x, "y": random(2, 3, 8, seed=1), "g": random(2, 3, 1, seed=2)})
    agree(op, {"x": x}, {"alpha": 0.7})
    agree(op, {"x": x, "s": np.float32(1.3)})


@pytest.mark.parametrize("activation", ["silu", "sigmoid"])
@pytest.mark.parametrize("width", [8, 4])
def test_gated_rms_norm(activation, width):
    inputs = {"x": random(2, 3, 8), "s": random(width, seed=1), "g": random(2, 3, 8, seed=2)}
    agree("GatedRMSNorm", inputs, {"activation": activation, "epsilon": 1e-5})


@pytest.mark.parametrize("scale", [None, (8,), (2, 4), (4,)], ids=str)
def test_branchwise_rms_norm(scale):
    scales = None if scale is None else random(*scale, seed=1)
    agree("BranchwiseRMSNorm", {"x": random(2, 3, 8), "s": scales}, {"num_branches": 2, "epsilon": 1e-5})
    if scale != (8,):
        agree("BranchwiseRMSNorm", {"x": random(2, 3, 2, 4), "s": scales}, {"epsilon": 1e-5})


HALVES = [
    ("SkipLayerNormalization", {"x": random(2, 3, 8), "s": random(2, 3, 8, seed=1), "g": random(8, seed=2), "b": random(8, seed=3)}, {}),
    ("SkipSimplifiedLayerNormalization", {"x": random(2, 3, 8), "s": random(2, 3, 8, seed=1), "g": random(8, seed=2)}, {}),
    ("FastGelu", {"x": random(2, 8), "b": random(8, seed=1)}, {}),
    ("QuickGelu", {"x": random(2, 8)}, {}),
    ("FusedMatMul", {"a": random(3, 4), "b": random(5, 4)}, {"transB": 1, "alpha": 0.5}),
    ("FusedConv", conv_inputs(), {"group": 2, "kernel_shape": [3, 3], "activation": "Relu"}),
    ("MatMulNBits", {"a": random(2, 32), "b": integers(0, 255, 5, 2, 8, dtype=np.uint8), "s": np.abs(random(5, 2))}, {"N": 5, "K": 32, "bits": 4, "block_size": 16}),
    ("Inverse", {"x": np.eye(3, dtype=np.float32) * 2}, {}),
]


@pytest.mark.parametrize(("op", "inputs", "attributes"), HALVES, ids=[case[0] for case in HALVES])
def test_halves(op, inputs, attributes):
    """Half precision agrees with single precision within its own precision."""
    given = {name: array.astype(np.float16).astype(np.float32) if array.dtype == np.float32 else array for name, array in inputs.items()}
    expected = [array.astype(np.float16) for array in by_onnxruntime(model_of(op, given, attributes), given)]
    halves = {name: array.astype(np.float16) if array.dtype == np.float32 else array for name, array in given.items()}
    agree(op, halves, attributes, expected=expected, rtol=4e-3, atol=4e-3)


def test_operators_of_training_graphs():
    agree("TorchEmbedding", {"w": random(5, 3), "i": np.array([[1, 4], [0, 0]])}, expected=[random(5, 3)[[[1, 4], [0, 0]]]])
    finite, infinite = random(3), np.array([1, np.inf], np.float32)
    agree("IsAllFinite", {"a": finite, "b": infinite}, expected=[np.array(False)])
    agree("IsAllFinite", {"a": finite, "b": infinite}, {"isnan_only": 1}, expected=[np.array(True)])
    agree("SampleOp", {"x": finite})


@pytest.mark.parametrize("op", ["Conv", "ReorderInput", "ReorderOutput", "MaxPool"])
def test_layouts_for_one_machine_are_refused(op):
    refused(op, {"x": random(1, 16, 4, 4)}, domain="com.microsoft.nchwc", match="ORT_ENABLE_EXTENDED")


def is_known(op):
    try:
        lanner.build(model_of(op, {}), budget=0)
    except lanner.Error as error:
        return "does not know" not in str(error)
    return True


def test_documentation_lists_every_supported_operator():
    text = (Path(__file__).parents[3] / "docs" / "formats.md").read_text()
    section = text.split("### ONNX Runtime's own operators")[1].split("## TensorFlow")[0]
    listed = {name for line in section.splitlines() if line.startswith("| ") for name in re.findall(r"`(\w+)`", line)}
    theirs = {schema.name for schema in get_all_operator_schema() if schema.domain == "com.microsoft"}
    assert {name for name in theirs if is_known(name)} == listed
