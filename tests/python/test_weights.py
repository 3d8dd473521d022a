"""Other weights for a built engine, and plans without weights."""

import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

lanner = pytest.importorskip("lanner")


def weights(seed):
    """A convolution with batch normalization behind it, and a product."""
    random = np.random.default_rng(seed)
    shapes = {"conv.weight": (16, 3, 3, 3), "bn.gamma": (16,), "bn.beta": (16,), "bn.mean": (16,), "fc.weight": (10, 16), "fc.bias": (10,)}
    values = {name: random.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    return values | {"bn.variance": random.uniform(0.5, 2, 16).astype(np.float32)}


def model(values):
    nodes = [
        helper.make_node("Conv", ["x", "conv.weight"], ["c"]),
        helper.make_node("BatchNormalization", ["c", "bn.gamma", "bn.beta", "bn.mean", "bn.variance"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "fc.weight", "fc.bias"], ["y"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("N", 3, 8, 8))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("N", 10))],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def build(seed, **options):
    return lanner.build(model(weights(seed)), threads=1, budget=0, **options)


X = {"x": np.random.default_rng(7).standard_normal((1, 3, 8, 8), np.float32)}


def test_a_refit_is_as_a_build_with_the_new_weights():
    engine = build(1)
    before = engine(X)["y"].numpy().copy()
    made = engine.refit(weights(2))
    np.testing.assert_array_equal(made(X)["y"], build(2)(X)["y"])
    np.testing.assert_array_equal(engine(X)["y"], before)
    one = engine.refit({"fc.bias": weights(2)["fc.bias"]})
    np.testing.assert_array_equal(one(X)["y"], lanner.build(model(weights(1) | {"fc.bias": weights(2)["fc.bias"]}), threads=1, budget=0)(X)["y"])


def test_weights_say_what_a_refit_takes():
    engine = build(1)
    assert engine.weights == {name: ("f32", value.shape) for name, value in weights(1).items()}
    with pytest.raises(lanner.NotFound, match="the engine has no weight 'fc.bia'; did you mean fc.bias"):
        engine.refit({"fc.bia": weights(1)["fc.bias"]})
    with pytest.raises(lanner.InvalidArgument, match=r"weight 'fc.bias': expected f32\[10\], got f32\[3\]"):
        engine.refit({"fc.bias": np.zeros(3, np.float32)})


def test_a_plan_without_weights(tmp_path):
    engine = build(1)
    engine.save(tmp_path / "whole.plan")
    engine.save(tmp_path / "bare.plan", weights=False)
    onnx.save(model(weights(1)), tmp_path / "net.onnx")
    with pytest.raises(lanner.InvalidArgument, match="saved without its weights"):
        lanner.load(tmp_path / "bare.plan")
    for source in ("net.onnx", "whole.plan"):
        np.testing.assert_array_equal(lanner.load(tmp_path / "bare.plan", weights=tmp_path / source)(X)["y"], engine(X)["y"])


def test_variants_do_not_multiply_the_file(tmp_path):
    random = np.random.default_rng(0)
    names = [f"w{i}" for i in range(4)]
    nodes = [helper.make_node("Conv", ["x" if i == 0 else f"v{i - 1}", name], [f"v{i}"], pads=[1, 1, 1, 1]) for i, name in enumerate(names)]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("N", 128, 14, 14))],
        [helper.make_tensor_value_info("v3", TensorProto.FLOAT, ("N", 128, 14, 14))],
        [numpy_helper.from_array(random.standard_normal((128, 128, 3, 3), np.float32), name) for name in names],
    )
    bytes_ = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    sizes = []
    for batches in ([1], [1, 4, 16]):
        profiles = [{"x": ((n, 128, 14, 14),) * 3} for n in batches]
        path = tmp_path / f"{len(batches)}.plan"
        lanner.build(bytes_, threads=1, budget=0, profiles=profiles).save(path)
        sizes.append(os.path.getsize(path))
    assert sizes[1] < 1.1 * sizes[0]
    x = random.standard_normal((4, 128, 14, 14), np.float32)
    np.testing.assert_array_equal(lanner.load(path, threads=1)({"x": x})["v3"], lanner.build(bytes_, threads=1, budget=0, profiles=profiles)({"x": x})["v3"])
