"""Models with quantised weights: plans keep them quantised, and kernels use them or not."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

lanner = pytest.importorskip("lanner")

K, N, BLOCK = 512, 768, 32


def numbers(name, values, bits):
    if bits == 8:
        return numpy_helper.from_array(values.astype(np.int8), name)
    return helper.make_tensor(name, TensorProto.INT4, values.shape, values.flatten().tolist())


def model(bits, seed=1, zero=False):
    """Two products: int8 weights with a scale per column, int4 weights with one per block of a column."""
    random = np.random.default_rng(seed)
    low, high = (-128, 128) if bits == 8 else (-8, 8)
    shapes = {8: ((N,), {"axis": 1}), 4: ((K // BLOCK, N), {"axis": 0, "block_size": BLOCK})}
    scale_shape, attributes = shapes[bits]
    scale = random.uniform(0.5, 1.5, scale_shape).astype(np.float32) / (high * 8)
    initializers = [
        numbers("w", random.integers(low, high, (K, N)), bits),
        numpy_helper.from_array(scale, "s"),
        numpy_helper.from_array(random.standard_normal(N, np.float32), "b"),
    ]
    inputs = ["w", "s"]
    if zero:
        initializers.append(numbers("z", random.integers(low // 4, high // 4, scale_shape), bits))
        inputs.append("z")
    nodes = [
        helper.make_node("DequantizeLinear", inputs, ["d"], **attributes),
        helper.make_node("MatMul", ["x", "d"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["a"]),
        helper.make_node("Relu", ["a"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("M", K))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("M", N))],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def data(rows=1):
    return {"x": np.random.default_rng(5).standard_normal((rows, K), np.float32)}


def expected(network, inputs):
    return ReferenceEvaluator(network).run(None, inputs)[0]


def close(got, want):
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


cases = pytest.mark.parametrize("bits, zero", [(8, False), (8, True), (4, False), (4, True)])


@cases
@pytest.mark.parametrize("rows", [1, 5, 40])
def test_a_plan_is_as_small_as_the_model(tmp_path, bits, zero, rows):
    network = model(bits, zero=zero)
    engine = lanner.build(network, threads=1, budget=0, shapes={"x": (rows, K)})
    want = expected(network, data(rows))
    close(engine(data(rows))["y"], want)
    engine.save(tmp_path / "net.plan")
    small = len(network.SerializeToString())
    assert (tmp_path / "net.plan").stat().st_size < 1.1 * small + 16384
    loaded = lanner.load(tmp_path / "net.plan", threads=1)
    np.testing.assert_array_equal(loaded(data(rows))["y"], engine(data(rows))["y"])


@cases
def test_the_portable_graph_keeps_weights_as_they_are(bits, zero):
    engine = lanner.build(model(bits, zero=zero), threads=1, budget=0, shapes={"x": (1, K)})
    assert "dequantize_linear" in engine.ir()


@cases
def test_refit(tmp_path, bits, zero):
    first, second = (model(bits, seed=seed, zero=zero) for seed in (1, 2))
    engine = lanner.build(first, threads=1, budget=0, shapes={"x": (1, K)})
    engine.save(tmp_path / "net.plan")
    values = {one.name: one for one in second.graph.initializer}
    given = {"s": numpy_helper.to_array(values["s"])}
    only_scale = lanner.build(first, threads=1, budget=0, shapes={"x": (1, K)})
    changed = onnx.ModelProto()
    changed.CopyFrom(first)
    for one in changed.graph.initializer:
        if one.name == "s":
            one.CopyFrom(values["s"])
    for made in (only_scale, lanner.load(tmp_path / "net.plan", threads=1)):
        close(made.refit(given)(data())["y"], expected(changed, data()))


@cases
def test_a_plan_without_weights(tmp_path, bits, zero):
    network = model(bits, zero=zero)
    engine = lanner.build(network, threads=1, budget=0, shapes={"x": (1, K)})
    engine.save(tmp_path / "bare.plan", weights=False)
    engine.save(tmp_path / "whole.plan")
    onnx.save(network, tmp_path / "net.onnx")
    for source in ("net.onnx", "whole.plan"):
        loaded = lanner.load(tmp_path / "bare.plan", weights=tmp_path / source)
        np.testing.assert_array_equal(loaded(data())["y"], engine(data())["y"])


def test_weights_that_no_kernel_takes_are_folded():
    random = np.random.default_rng(1)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0),
        helper.make_node("Conv", ["x", "d"], ["c"]),
        helper.make_node("BatchNormalization", ["c", "gamma", "beta", "mean", "variance"], ["y"]),
    ]
    vectors = {name: random.uniform(0.5, 1.5, 8).astype(np.float32) for name in ("gamma", "beta", "mean", "variance")}
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4, 6, 6))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 8, 4, 4))],
        [
            numpy_helper.from_array(random.integers(-128, 128, (8, 4, 3, 3)).astype(np.int8), "w"),
            numpy_helper.from_array(random.uniform(0.001, 0.002, 8).astype(np.float32), "s"),
            *[numpy_helper.from_array(value, name) for name, value in vectors.items()],
        ],
    )
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    engine = lanner.build(network, threads=1, budget=0)
    assert "dequantize_linear" in engine.ir()
    kinds = [node["op"] for node in engine.explain()["nodes"]]
    assert "dequantize_linear" not in kinds and "batch_normalization" not in kinds
    assert len(kinds) == 1 or kinds.count("conv") == 1
    x = {"x": random.standard_normal((1, 4, 6, 6), np.float32)}
    close(engine(x)["y"], expected(network, x))


def test_a_damaged_table_of_weights_is_refused(tmp_path):
    network = model(8)
    lanner.build(network, threads=1, budget=0, shapes={"x": (40, K)}).save(tmp_path / "net.plan")
    content = (tmp_path / "net.plan").read_bytes()
    assert b"computed" in content
    (tmp_path / "bad.plan").write_bytes(content.replace(b"computed", b"compited", 1))
    with pytest.raises(lanner.Error):
        lanner.load(tmp_path / "bad.plan")


def packed(numbers):
    """Two numbers a byte, the first in the low bits."""
    return (numbers[..., ::2] | numbers[..., 1::2] << 4).astype(np.uint8)


def product_of_packed_weights(columns, bits, zero):
    """MatMulNBits and its weights, whose last block is not full."""
    random, depth, block = np.random.default_rng(7), 500, 32
    blocks = -(-depth // block)
    values = random.integers(0, 2**bits, (columns, blocks, block))
    zeros = random.integers(0, 2**bits, (columns, blocks)) if zero else np.full((columns, blocks), 2 ** (bits - 1))
    scales = random.uniform(0.01, 0.1, (columns, blocks)).astype(np.float32)
    store = packed if bits == 4 else lambda array: array.astype(np.uint8)
    initializers = [numpy_helper.from_array(store(values), "b"), numpy_helper.from_array(scales, "s")]
    if zero:
        initializers.append(numpy_helper.from_array(store(zeros), "z"))
    names = ["x", *[one.name for one in initializers]]
    node = helper.make_node("MatMulNBits", names, ["y"], domain="com.microsoft", K=depth, N=columns, bits=bits, block_size=block)
    rows = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ("M", size)) for name, size in (("x", depth), ("y", columns))]
    graph = helper.make_graph([node], "net", rows[:1], rows[1:], initializers)
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    weights = ((values - zeros[..., None]) * scales[..., None]).reshape(columns, -1)[:, :depth]
    return helper.make_model(graph, opset_imports=imports, ir_version=10), weights


@pytest.mark.parametrize("bits, zero", [(8, False), (8, True), (4, False), (4, True)])
@pytest.mark.parametrize("columns", [640, 301])
def test_packed_weights_stay_packed(tmp_path, bits, zero, columns):
    network, weights = product_of_packed_weights(columns, bits, zero)
    x = np.random.default_rng(8).standard_normal((3, weights.shape[1]), np.float32)
    engine = lanner.build(network, threads=1, budget=0, shapes={"x": x.shape})
    close(engine({"x": x})["y"], (x @ weights.T).astype(np.float32))
    engine.save(tmp_path / "net.plan")
    small = len(network.SerializeToString()) * (1 if bits == 8 or columns % 2 == 0 else 2)  # a row of whole bytes, else a byte each
    assert (tmp_path / "net.plan").stat().st_size < 1.3 * small + 16384  # scales are kept as given and transposed
    np.testing.assert_array_equal(lanner.load(tmp_path / "net.plan", threads=1)({"x": x})["y"], engine({"x": x})["y"])


def kinds_of(channels_last):
    """How a convolution of quantised values runs, with the layout of the network's input."""
    random = np.random.default_rng(9)
    weights = random.integers(-64, 64, (32, 16, 3, 3)).astype(np.int8)
    values = {"xs": np.float32(0.02), "xz": np.uint8(7), "w": weights, "ws": np.float32(0.01), "wz": np.int8(0), "ys": np.float32(0.5), "yz": np.uint8(9)}
    node = helper.make_node("QLinearConv", ["x", *values], ["y"], domain="com.microsoft", channels_last=channels_last)
    shape = (1, 30, 28, 16) if channels_last else (1, 16, 30, 28)
    graph = helper.make_graph(
        [node],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, shape)],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in values.items()],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    engine = lanner.build(helper.make_model(graph, opset_imports=imports, ir_version=8), threads=1, budget=0)
    return [node["kind"] for node in engine.explain()["nodes"] if "conv" in node["kind"]]


def test_weights_stay_integers_behind_a_transposed_input():
    assert kinds_of(channels_last=1) == kinds_of(channels_last=0)
