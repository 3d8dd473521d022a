"""Results in the memory of inputs and of one another: right, or refused."""

import numpy as np
import pytest
from onnx import TensorProto, helper

lanner = pytest.importorskip("lanner")

SHAPE = (4, 4)
SIZE = 16
X = (np.arange(SIZE, dtype=np.float32) / 10).reshape(SHAPE)


@pytest.fixture(scope="module")
def engine():
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("MatMul", ["x", "x"], ["square"]),
        helper.make_node("Softmax", ["square"], ["y"]),
        helper.make_node("Sub", ["x", "y"], ["z"]),
    ]
    outputs = [value(name, TensorProto.FLOAT, SHAPE) for name in ("y", "z")]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, SHAPE)], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return lanner.build(model, budget=0, threads=1, device="cpu")


def part(memory, begin):
    return memory[begin : begin + SIZE].reshape(SHAPE)


@pytest.mark.parametrize("as_tensor", [False, True])
@pytest.mark.parametrize("begin", [0, 1, 8, 15])
@pytest.mark.parametrize("name", ["y", "z"])
def test_an_output_in_its_input_is_right(engine, begin, name, as_tensor):
    right = {key: value.numpy().copy() for key, value in engine({"x": X.copy()}).items()}
    memory = np.zeros(4 * SIZE, np.float32)
    memory[:SIZE] = X.ravel()
    into = part(memory, begin)
    results = engine.create_context()({"x": part(memory, 0)}, outputs={name: lanner.Tensor(into) if as_tensor else into})
    np.testing.assert_array_equal(into, right[name])
    for key, value in right.items():
        np.testing.assert_array_equal(results[key].numpy(), value)


def test_inputs_that_are_views_from_behind_are_copied_first(engine):
    memory = X.ravel().copy()
    right = engine({"x": X[::-1, ::-1].copy()})["y"].numpy()
    results = engine.create_context()({"x": part(memory, 0)[::-1, ::-1]}, outputs={"y": part(memory, 0)})
    np.testing.assert_array_equal(results["y"].numpy(), right)


@pytest.mark.parametrize("begin", [0, 1, 15])
def test_two_outputs_in_one_array_are_refused(engine, begin):
    memory = np.zeros(4 * SIZE, np.float32)
    context = engine.create_context()
    with pytest.raises(lanner.InvalidArgument, match="^outputs y and z: the memory bound for them overlaps; give each"):
        context({"x": X}, outputs={"y": part(memory, 0), "z": part(memory, begin)})
    context({"x": X}, outputs={"y": part(memory, 0), "z": part(memory, SIZE)})
