"""States, aliases and storages from Python and from the command line."""

import json

import numpy as np
import pytest
from command import refuse, succeed

lanner = pytest.importorskip("lanner")
onnx = pytest.importorskip("onnx")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """s_out = s + x, y = 2 * s_out."""
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["s", "x"], ["s_out"]), onnx.helper.make_node("Add", ["s_out", "s_out"], ["y"])],
        "sums",
        [info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in ("x", "s")],
        [info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in ("y", "s_out")],
    )
    path = tmp_path_factory.mktemp("states") / "sums.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
    return path


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_a_context_keeps_its_state(model):
    engine = lanner.build(model, states={"s": "s_out"}, threads=1, budget=0, device="cpu")
    assert [binding.state for binding in engine.inputs] == [False, True]
    context = engine.create_context()
    assert context.state("s") is None
    for turn in (1, 2, 3):
        np.testing.assert_array_equal(context({"x": X})["y"], 2 * turn * X)
    np.testing.assert_array_equal(context.state("s"), 3 * X)
    np.testing.assert_array_equal(context({"x": X, "s": X * 10})["s_out"], 11 * X)
    context.reset_states()
    np.testing.assert_array_equal(context({"x": X})["s_out"], X)
    for _ in range(2):  # an engine's own contexts remember nothing
        np.testing.assert_array_equal(engine({"x": X})["s_out"], X)
    with pytest.raises(lanner.InvalidArgument, match="not a state"):
        context.state("x")
    with pytest.raises(lanner.InvalidArgument, match="no input is called 'q'"):
        context.state("q")
    assert engine.explain()["states"] == [["s", "s_out"]]


def test_an_aliased_output_is_in_the_inputs_array(model):
    engine = lanner.build(model, aliases={"s_out": "s"}, threads=1, budget=0, device="cpu")
    assert [binding.overwritten for binding in engine.inputs] == [False, True]
    array = np.ones((2, 3), np.float32)
    for turn in (1, 2):
        result = engine({"x": X, "s": array})["s_out"]
        np.testing.assert_array_equal(array, 1 + turn * X)
        assert np.shares_memory(result.numpy(), array)
    array.flags.writeable = False
    with pytest.raises(lanner.InvalidArgument, match="read-only"):
        engine({"x": X, "s": array})


def test_storages_are_given_as_texts(model):
    storages = {"x": "ba:float16", "y": "ba", "s_out": "row:f16"}
    engine = lanner.build(model, storages=storages, threads=1, budget=0, device="cpu")
    assert [(one.dtype, one.storage) for one in engine.inputs] == [("f16", "f16 ba"), ("f32", "row")]
    turned = np.asfortranarray(X.astype(np.float16))
    results = engine({"x": turned, "s": X})
    assert results["y"].numpy().strides == (4, 8)
    assert results["s_out"].dtype == "float16"
    np.testing.assert_array_equal(results["y"], 4 * X)
    with pytest.raises(lanner.InvalidArgument, match=r"input x: f16\[2, 3\] expected"):
        engine({"x": X, "s": X})
    with pytest.raises(lanner.InvalidArgument, match="storage ''"):
        lanner.build(model, storages={"x": ""}, device="cpu")


def test_the_command_line_accepts_states_and_storages(model, tmp_path):
    plan = tmp_path / "sums.plan"
    options = ["--state", "s=s_out", "--storage", "y=ba:fp16", "--overwritable", "x", "--budget", "0", "--device", "cpu"]
    succeed("build", model, "-o", plan, *options)
    told = json.loads(succeed("explain", plan, "--json"))
    assert told["states"] == [["s", "s_out"]]
    assert told["overwritable"] == ["x"]
    assert told["storages"] == {"y": {"layout": "ba", "dtype": "f16"}}
    context = lanner.load(plan).create_context()
    for turn in (1, 2):
        np.testing.assert_array_equal(context({"x": X.copy()})["y"], 2 * turn * X)
    assert "--state 's': expected INPUT=OUTPUT" in refuse("build", model, "-o", plan, "--state", "s")
