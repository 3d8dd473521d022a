"""Models with open inputs that contain a fixed size of their export: the mismatch is reported where the shape is given."""

import command
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import lanner

SAID = r"input x: \[2, 6\] does not fit the model: node view: reshape: f32\[1, 6\] cannot hold the elements of f32\[2, 6\]; it was exported for x: \[1, 6\]"


def model_of(nodes, constants, dims=("n", 6)):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def reshaped():
    """A view with the exported batch size, 1."""
    nodes = [helper.make_node("Reshape", ["x", "s"], ["r"], name="view"), helper.make_node("Relu", ["r"], ["y"])]
    return model_of(nodes, {"s": np.array([1, 6])}).SerializeToString()


def ones(*shape):
    return np.ones(shape, np.float32)


def test_mismatch_is_reported_by_bind(reshaped):
    engine = lanner.build(reshaped, budget=0)
    assert engine({"x": ones(1, 6)})["y"].shape == (1, 6)
    with pytest.raises(lanner.InvalidArgument, match=SAID):
        engine({"x": ones(2, 6)})


def test_mismatch_is_reported_by_build(reshaped):
    with pytest.raises(lanner.InvalidArgument, match=SAID):
        lanner.build(reshaped, budget=0, shapes={"x": ((1, 6), (2, 6), (2, 6))})
    with pytest.raises(lanner.InvalidArgument, match=r"input x: \[8, 6\] does not fit the model"):
        lanner.build(reshaped, budget=0, shapes={"x": ((1, 6), (1, 6), (8, 6))})


def test_mismatch_is_reported_by_the_command(reshaped, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(reshaped)
    done = command.lanner("build", path, "-o", tmp_path / "m.plan", "--budget", 0, "--shape", "x:1x6:1x6:8x6")
    assert done.returncode != 0
    assert "does not fit the model" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_constant_of_the_exported_size():
    add = helper.make_node("Add", ["x", "p"], ["y"], name="plus")
    engine = lanner.build(model_of([add], {"p": ones(3, 6)}).SerializeToString(), budget=0)
    with pytest.raises(lanner.InvalidArgument, match=r"input x: \[2, 6\] does not fit the model: node plus: .*; it was exported for"):
        engine({"x": ones(2, 6)})
    assert engine({"x": ones(3, 6)})["y"].shape == (3, 6)
    concat = helper.make_node("Concat", ["x", "p"], ["y"], name="beside", axis=1)
    with pytest.raises(lanner.InvalidArgument, match=r"node beside: .*; it was exported for x: \[3, 6\]"):
        lanner.build(model_of([concat], {"p": ones(3, 6)}).SerializeToString(), budget=0)({"x": ones(1, 6)})


def test_mismatch_is_checked_after_loading_a_plan(reshaped, tmp_path):
    path = tmp_path / "m.plan"
    lanner.build(reshaped, budget=0).save(path)
    engine = lanner.load(path)
    assert engine({"x": ones(1, 6)})["y"].shape == (1, 6)
    with pytest.raises(lanner.InvalidArgument, match=SAID):
        engine({"x": ones(2, 6)})


def test_models_that_are_open_inside_take_any_size():
    nodes = [helper.make_node("Reshape", ["x", "s"], ["r"]), helper.make_node("Relu", ["r"], ["y"])]
    engine = lanner.build(model_of(nodes, {"s": np.array([-1, 3])}).SerializeToString(), budget=0)
    for batch in (1, 5, 2):
        assert engine({"x": ones(batch, 6)})["y"].shape == (2 * batch, 3)
