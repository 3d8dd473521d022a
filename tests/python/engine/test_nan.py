"""NaN is propagated through networks for all types and numbers of threads."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import lanner

TYPES = {"f32": (TensorProto.FLOAT, np.float32), "f16": (TensorProto.FLOAT16, np.float16), "bf16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16)}
SHAPE = (2, 16, 12, 12)


def node(op, *inputs, **attributes):
    return lambda x, y: helper.make_node(op, [x, *inputs], [y], **attributes)


CONV = node("Conv", "w", pads=[1, 1, 1, 1])
RELU = node("Relu")
RELU6 = node("Clip", "zero", "six")
POOL = node("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
NETWORKS = {
    "conv, relu": [CONV, RELU],
    "conv, relu6": [CONV, RELU6],
    "conv, sum, relu": [CONV, node("Add", "x"), RELU],
    "depthwise, relu6": [node("Conv", "d", group=16, pads=[1, 1, 1, 1]), RELU6],
    "conv, sigmoid": [CONV, node("Sigmoid")],
    "conv, hard_swish": [CONV, node("HardSwish")],
    "conv, relu, conv, relu": [CONV, RELU, CONV, RELU],
    "max pool": [POOL],
    "conv, relu, max pool": [CONV, RELU, POOL],
    "global max pool": [node("GlobalMaxPool")],
    "softmax of channels": [node("Softmax", axis=1)],
    "softmax of rows": [node("Softmax", axis=-1)],
    "log softmax of the middle": [node("LogSoftmax", axis=2)],
    "product, relu": [node("MatMul", "m"), RELU],
    "relu": [RELU],
    "clip": [RELU6],
}


def model_of(steps, dtype):
    onnx_type, numpy_type = TYPES[dtype]
    rng = np.random.default_rng(0)
    values = {"w": rng.standard_normal((16, 16, 3, 3)) * 0.1, "d": rng.standard_normal((16, 1, 3, 3)), "m": rng.standard_normal((12, 12)), "zero": np.array(0.0), "six": np.array(6.0)}
    nodes = [step("x" if i == 0 else f"v{i}", "y" if i + 1 == len(steps) else f"v{i + 1}") for i, step in enumerate(steps)]
    used = {name for one in nodes for name in one.input}
    constants = [numpy_helper.from_array(value.astype(numpy_type), name) for name, value in values.items() if name in used]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", onnx_type, SHAPE)], [helper.make_tensor_value_info("y", onnx_type, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString()


def reach(places, op):
    """The output elements that a NaN at these indices reaches, by the operator's definition."""
    if op.op_type in ("Conv", "MaxPool"):
        step = 2 if op.op_type == "MaxPool" else 1
        rows, columns = places.shape[2:]
        padded = np.pad(places, ((0, 0), (0, 0), (1, 1), (1, 1)))
        taps = [padded[:, :, i : i + rows : step, k : k + columns : step] for i in range(3) for k in range(3)]
        found = np.any(taps, axis=0)
        mixes = op.op_type == "Conv" and not any(attribute.name == "group" for attribute in op.attribute)
        return np.broadcast_to(found.any(1, keepdims=True), found.shape) if mixes else found
    if op.op_type == "GlobalMaxPool":
        return places.any((2, 3), keepdims=True)
    if op.op_type in ("Softmax", "LogSoftmax"):
        return np.broadcast_to(places.any(op.attribute[0].i, keepdims=True), places.shape)
    if op.op_type == "MatMul":
        return np.broadcast_to(places.any(-1, keepdims=True), places.shape)
    return places


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", NETWORKS)
def test_nan_is_propagated(name, dtype, threads):
    context = lanner.build(model_of(NETWORKS[name], dtype), threads=threads, budget=0)
    x = np.random.default_rng(1).standard_normal(SHAPE).astype(TYPES[dtype][1])
    healthy = np.asarray(context({"x": x})["y"].numpy(), np.float32)
    assert np.isfinite(healthy).all()
    sick = x.copy()
    sick[0, 3, 4, 5] = sick[1, 0, 11, 0] = np.nan
    given = np.isnan(np.asarray(sick, np.float32))
    expected = given
    for step in NETWORKS[name]:
        op = step("a", "b")
        expected = reach(expected, op) | (given if op.op_type == "Add" else False)
    for _ in range(2):
        found = np.asarray(context({"x": sick})["y"].numpy(), np.float32)
        np.testing.assert_array_equal(np.isnan(found), expected)
        close = np.isclose(found, healthy, rtol=1e-2, atol=1e-2) | expected
        assert close.all(), "what the NaN does not reach is another number"
    np.testing.assert_array_equal(np.asarray(context({"x": x})["y"].numpy(), np.float32), healthy)
