"""Refit of a built engine, and plans without weights."""

import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from command import ROOT
from onnx import TensorProto, helper, numpy_helper

lanner = pytest.importorskip("lanner")


def weights(seed):
    """A convolution followed by batch normalization, and a product."""
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


def test_a_refit_equals_a_build_with_the_new_weights():
    engine = build(1)
    before = engine(X)["y"].numpy().copy()
    made = engine.refit(weights(2))
    np.testing.assert_array_equal(made(X)["y"], build(2)(X)["y"])
    np.testing.assert_array_equal(engine(X)["y"], before)
    one = engine.refit({"fc.bias": weights(2)["fc.bias"]})
    np.testing.assert_array_equal(one(X)["y"], lanner.build(model(weights(1) | {"fc.bias": weights(2)["fc.bias"]}), threads=1, budget=0)(X)["y"])


def test_weights_lists_what_a_refit_accepts():
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


def test_variants_share_weights_in_the_file(tmp_path):
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


def test_a_weight_budget_on_a_cpu_is_rejected():
    engine = build(1)
    assert (engine.weight_budget, engine.streamable_weights, engine.min_weight_budget) == (None, 0, 0)
    engine.weight_budget = None
    with pytest.raises(lanner.Unsupported, match="a weight budget is for engines on a GPU"):
        engine.weight_budget = 1 << 20
    with pytest.raises(lanner.Unsupported, match="weight budget"):
        build(1, weight_budget=1 << 20)


# With a driver of its own, which a process opens once: a convolution's arithmetic is the fake library's.
FAKES = """
import sys
import lanner, numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(3)
filters = {f"w{i}": (random.standard_normal((48, 48, 3, 3)) / 20).astype(np.float32) for i in range(4)}
names = ["x", *(f"c{i}" for i in range(3)), "y"]
nodes = [helper.make_node("Conv", [names[i], f"w{i}"], [names[i + 1]], pads=[1, 1, 1, 1]) for i in range(4)]
value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 48, 3, 3))
constants = [numpy_helper.from_array(array, name) for name, array in filters.items()]
graph = helper.make_graph(nodes, "net", [value("x")], [value("y")], constants)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "net.onnx")
one = filters["w0"].nbytes
engine = lanner.build("net.onnx", device="cuda:0", budget=0, threads=1)
x = random.standard_normal((1, 48, 3, 3)).astype(np.float32)
context = engine.create_context()
expected = context({"x": x})["y"].numpy()
assert (engine.weight_budget, engine.streamable_weights, engine.min_weight_budget) == (None, 4 * one, one)
for budget in (one, 2 * one, 3 * one, None):
    engine.weight_budget = budget
    assert engine.weight_budget == budget
    for _ in range(4):
        np.testing.assert_array_equal(context({"x": x})["y"].numpy(), expected)
engine.save("net.plan")
loaded = lanner.load("net.plan", weight_budget=2 * one)
assert loaded.explain()["memory"]["weights"] == {"all": 4 * one, "streamable": 4 * one, "min_budget": one, "budget": 2 * one, "resident": 0, "ring": 2 * one}
np.testing.assert_array_equal(loaded({"x": x})["y"].numpy(), expected)
try:
    engine.weight_budget = one - 1
except lanner.InvalidArgument as error:
    print(error)
"""


@pytest.fixture
def fakes(tmp_path):
    driver, libraries = ROOT / "build" / "lib" / "libfake_cuda.so", ROOT / "build" / "tests" / "fake_libraries"
    if not driver.exists() or not libraries.exists():
        pytest.skip("the fake driver and libraries are not built here")
    # The libraries are found by their folder, what they are linked to by the loader.
    found = {"LANNER_CUDA_DRIVER": str(driver), "LANNER_LIBRARY_PATH": str(libraries), "LD_LIBRARY_PATH": str(driver.parent)}
    return {"env": os.environ | found | {"LANNER_CACHE_DIR": str(tmp_path)}, "cwd": tmp_path}


def test_weights_are_streamed_within_a_budget(fakes):
    done = subprocess.run([sys.executable, "-c", FAKES], capture_output=True, text=True, **fakes)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("the network runs with 82944 at least\n")
    tool = str(ROOT / "build" / "bin" / "lanner")
    explained = subprocess.run([tool, "explain", "net.plan", "--weight-budget", "162KiB"], capture_output=True, text=True, **fakes)
    assert explained.returncode == 0, explained.stderr
    assert "streamed 324.0 KiB of weights through 162.0 KiB a context; 0 B stay on the GPU" in explained.stdout
    refused = subprocess.run([tool, "explain", "net.plan", "--weight-budget", "1KiB"], capture_output=True, text=True, **fakes)
    assert refused.returncode != 0 and "the network runs with 82944 at least" in refused.stderr
