"""Outputs whose memory overlaps inputs or other outputs: right, or rejected."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from overlap_cases import SHAPE, SIZE, X, build, part

lanner = pytest.importorskip("lanner")


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


def test_inputs_with_negative_strides_are_copied_first(engine):
    memory = X.ravel().copy()
    right = engine({"x": X[::-1, ::-1].copy()})["y"].numpy()
    results = engine.create_context()({"x": part(memory, 0)[::-1, ::-1]}, outputs={"y": part(memory, 0)})
    np.testing.assert_array_equal(results["y"].numpy(), right)


@pytest.mark.parametrize("begin", [0, 1, 15])
def test_two_outputs_in_one_array_are_rejected(engine, begin):
    memory = np.zeros(4 * SIZE, np.float32)
    context = engine.create_context()
    with pytest.raises(lanner.InvalidArgument, match="^outputs y and z: the memory bound for them overlaps; give each"):
        context({"x": X}, outputs={"y": part(memory, 0), "z": part(memory, begin)})
    context({"x": X}, outputs={"y": part(memory, 0), "z": part(memory, SIZE)})


def values(results):
    return {name: value.numpy().copy() for name, value in results.items()}


@pytest.mark.parametrize("state", ["sum", "as it was"])
@pytest.mark.parametrize("name", ["x", "s_out"])
def test_outputs_overlapping_states_are_right(name, state):
    """An output in the memory of an input, and in that of the state that the caller holds from the last run."""
    last = helper.make_node("Add", ["s", "x"], ["s_out"]) if state == "sum" else helper.make_node("Identity", ["s"], ["s_out"])
    nodes = [last, helper.make_node("Softmax", ["s"], ["a"]), helper.make_node("Sub", ["x", "a"], ["y"])]
    engine = build(nodes, {"x": SHAPE, "s": SHAPE}, {"y": SHAPE, "s_out": SHAPE}, states={"s": "s_out"})
    first = np.linspace(-1, 1, SIZE, dtype=np.float32).reshape(SHAPE)
    plain = engine.create_context()
    right = [values(plain(given)) for given in ({"x": X, "s": first}, {"x": X}, {"x": X})]
    context = engine.create_context()
    memory = X.copy()
    held = context({"x": memory, "s": first})
    into = memory if name == "x" else held["s_out"].numpy()
    second = context({"x": memory}, outputs={"y": into})
    np.testing.assert_array_equal(into, right[1]["y"])
    np.testing.assert_array_equal(second["s_out"], right[1]["s_out"])
    third = context({"x": X})
    for key, value in right[2].items():
        np.testing.assert_array_equal(third[key], value)
    with pytest.raises(lanner.InvalidArgument, match="^output s_out: it uses the memory of an input, so none can be bound for it$"):
        context({"x": X}, outputs={"s_out": np.zeros(SHAPE, np.float32)})


@pytest.mark.parametrize("passed", ["Identity", "Reshape"])
@pytest.mark.parametrize("with_memory", [False, True])
def test_an_input_that_is_also_an_output_is_right(passed, with_memory):
    """Writes to its memory do not change the result."""
    nodes = [helper.make_node("Neg", ["x"], ["y"])]
    if passed == "Identity":
        nodes.append(helper.make_node("Identity", ["x"], ["z"]))
    else:
        nodes.append(helper.make_node("Constant", [], ["shape"], value_ints=[SIZE]))
        nodes.append(helper.make_node("Reshape", ["x", "shape"], ["z"]))
    engine = build(nodes, {"x": SHAPE}, {"y": SHAPE, "z": SHAPE if passed == "Identity" else (SIZE,)})
    memory = X.copy()
    wanted = {"y": memory}
    if with_memory:
        wanted["z"] = np.zeros(X.size if passed == "Reshape" else SHAPE, np.float32)
    results = engine.create_context()({"x": memory}, outputs=wanted)
    np.testing.assert_array_equal(memory, -X)
    np.testing.assert_array_equal(results["y"], -X)
    np.testing.assert_array_equal(results["z"].numpy().reshape(SHAPE), X)


@pytest.mark.parametrize("element", [0, 1])
def test_an_output_in_an_element_of_a_sequence_is_right(element):
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, SHAPE))
    nodes = [
        helper.make_node("ConcatFromSequence", ["xs"], ["all"], axis=0),
        helper.make_node("Constant", [], ["axis"], value_ints=[0]),
        helper.make_node("ReduceSum", ["all", "axis"], ["sum"], keepdims=0),
        helper.make_node("SequenceLength", ["xs"], ["length"]),
        helper.make_node("Cast", ["length"], ["count"], to=TensorProto.FLOAT),
        helper.make_node("Div", ["all", "count"], ["parts"]),
        helper.make_node("Identity", ["xs"], ["same"]),
    ]
    engine = build(nodes, {"xs": helper.make_value_info("xs", kind)},
                   {"parts": (2 * SHAPE[0], SHAPE[1]), "same": helper.make_value_info("same", kind)})
    memory = np.zeros(8 * SIZE, np.float32)
    elements = [part(memory, 2 * SIZE * i) for i in range(2)]
    elements[0][:], elements[1][:] = X, X + 7
    into = memory[2 * SIZE * element : 2 * SIZE * element + 2 * SIZE].reshape(2 * SHAPE[0], SHAPE[1])
    before = [one.copy() for one in elements]
    results = engine.create_context()({"xs": elements}, outputs={"parts": into})
    np.testing.assert_array_equal(into, np.concatenate([X, X + 7]) / 2)
    for one, copy in zip(results["same"], before, strict=True):
        np.testing.assert_array_equal(one, copy)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("begin", [0, 1, 5])
def test_an_output_in_the_pictures_of_a_batch_is_right(count, begin):
    """A picture's bytes are read while the result is made, by rows and columns."""
    nodes = [helper.make_node("Softmax", ["x"], ["y"], axis=3)]
    shape = (count, 3, 4, 4)
    engine = build(nodes, {"x": shape}, {"y": shape}, preprocess={"x": lanner.Preprocess(range=(0, 1), size=(4, 4))})
    memory = np.zeros(4096, np.uint8)
    pixels = memory[: count * 8 * 8 * 3].reshape(count, 8, 8, 3)
    pixels[:] = np.random.default_rng(2).integers(0, 256, pixels.shape)
    right = engine({"x": [lanner.Image(one.copy()) for one in pixels]})["y"].numpy().copy()
    into = memory[64 * begin : 64 * begin + 4 * count * 48].view(np.float32).reshape(shape)
    engine.create_context()({"x": [lanner.Image(one) for one in pixels]}, outputs={"y": into})
    np.testing.assert_array_equal(into, right)
