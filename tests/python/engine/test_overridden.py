"""Initialisers that are also graph inputs: runs may override them, as in ONNX (IR >= 4) and onnxruntime."""

import json

import lanner
import numpy as np
import onnx
import onnxruntime
import pytest
from command import refuse, succeed
from onnx import TensorProto, helper, numpy_helper

W = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.array([1, 2, 3], np.float32)
X = np.array([[1, 2], [3, 4]], np.float32)
OTHER = np.full((2, 3), 0.5, np.float32)


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(ir_version=8, listed=("w", "b"), w_shape=(2, 3)):
    """y = relu(x w + b) / c, of which `listed` are graph inputs."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["s"]),
        helper.make_node("Relu", ["s"], ["r"]),
        helper.make_node("Div", ["r", "c"], ["y"]),
    ]
    shapes = {"w": w_shape, "b": (3,), "c": (3,)}
    inputs = [info("x", ("N", 2)), *(info(name, shapes[name]) for name in listed)]
    values = [numpy_helper.from_array(value, name) for name, value in (("w", W), ("b", B), ("c", np.full(3, 2, np.float32)))]
    graph = helper.make_graph(nodes, "net", inputs, [info("y", ("N", None))], values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=ir_version)


def expected(x=X, w=W, b=B):
    return np.maximum(x @ w + b, 0) / 2


def build(made=None, **options):
    return lanner.build((made or model()).SerializeToString(), threads=1, budget=0, **options)


# --- A run that gives one ---


def test_a_run_gives_a_value_as_in_onnxruntime():
    session = onnxruntime.InferenceSession(model().SerializeToString(), providers=["CPUExecutionProvider"])
    engine = build()
    assert [one.name for one in engine.inputs] == ["x"]
    assert sorted(one.name for one in engine.overridable) == sorted(one.name for one in session.get_overridable_initializers())
    for given in ({}, {"w": OTHER}, {"b": -B}, {"w": OTHER, "b": -B}, {}):
        (theirs,) = session.run(None, {"x": X, **given})
        found = engine({"x": X, **given})["y"].numpy()
        np.testing.assert_allclose(found, theirs, rtol=1e-6)
        np.testing.assert_allclose(found, expected(**given), rtol=1e-6)


def test_an_overridden_value_applies_to_its_run_only():
    engine = build()
    plain = engine({"x": X})["y"].numpy().copy()
    context = engine.create_context()
    for run in (engine, context):
        np.testing.assert_allclose(run({"x": X, "w": OTHER})["y"].numpy(), expected(w=OTHER), rtol=1e-6)
        np.testing.assert_array_equal(run({"x": X})["y"].numpy(), plain)
    memory = np.empty((2, 3), np.float32)
    context({"x": X, "w": OTHER}, outputs={"y": memory})
    np.testing.assert_allclose(memory, expected(w=OTHER), rtol=1e-6)


def test_the_overridable_binding_has_type_and_shape():
    (w, b) = sorted(build().overridable, key=lambda one: one.name, reverse=True)
    assert (w.name, w.dtype, w.shape) == ("w", "f32", (2, 3)) and (b.name, b.shape) == ("b", (3,))
    with pytest.raises(lanner.InvalidArgument, match=r"input w: f32\[2, 3\] expected, got f64\[2, 3\]; convert it first"):
        build()({"x": X, "w": OTHER.astype(np.float64)})
    with pytest.raises(lanner.InvalidArgument, match="dim 1"):
        build()({"x": X, "w": np.ones((2, 4), np.float32)})


def test_sizes_that_the_input_leaves_open_may_change():
    engine = build(model(listed=("w", "b", "c"), w_shape=(2, "K")))  # K is 3 in the model
    found = engine({"x": X, "w": np.ones((2, 1), np.float32)})["y"].numpy()
    np.testing.assert_allclose(found, expected(w=np.ones((2, 1), np.float32)), rtol=1e-6)


def test_a_value_that_decides_shapes_may_be_overridden():
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    graph = helper.make_graph(
        nodes, "net", [info("x", (2, 6)), info("shape", (2,), TensorProto.INT64)], [info("y", (None, None))],
        [numpy_helper.from_array(np.array([3, 4]), "shape")],
    )
    engine = build(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8))
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    assert engine({"x": x})["y"].shape == (3, 4)
    np.testing.assert_array_equal(engine({"x": x, "shape": np.array([6, 2])})["y"].numpy(), x.reshape(6, 2))


def test_files_of_ir_3_list_all_and_runs_may_give_any():
    engine = build(model(3, ("w", "b", "c")))
    assert [one.name for one in engine.inputs] == ["x"]
    assert {one.name for one in engine.overridable} == {"w", "b", "c"}
    np.testing.assert_allclose(engine({"x": X, "w": OTHER})["y"].numpy(), expected(w=OTHER), rtol=1e-6)


def test_an_initialiser_without_a_graph_input_is_rejected():
    message = "'c' is an initialiser with no graph input of its name, so that no run can give it; refit gives"
    with pytest.raises(lanner.InvalidArgument, match=message):
        build()({"x": X, "c": B})
    with pytest.raises(lanner.InvalidArgument, match="no input is called '?z'?; there is x"):
        build()({"x": X, "z": B})


# --- Inputs from the first ---


def test_an_overridden_one_is_an_input_with_the_models_value():
    engine = build(overridden=["w"])
    assert [(one.name, one.defaulted) for one in engine.inputs] == [("x", False), ("w", True)]
    assert [one.name for one in engine.overridable] == ["b"]
    assert "w" not in engine.weights
    np.testing.assert_allclose(engine({"x": X})["y"].numpy(), expected(), rtol=1e-6)
    np.testing.assert_allclose(engine({"x": X, "w": OTHER})["y"].numpy(), expected(w=OTHER), rtol=1e-6)
    np.testing.assert_allclose(engine({"x": X})["y"].numpy(), expected(), rtol=1e-6)
    np.testing.assert_allclose(engine({"x": X, "w": OTHER, "b": -B})["y"].numpy(), expected(w=OTHER, b=-B), rtol=1e-6)
    assert engine.verify(runs=1).differences == []


@pytest.mark.parametrize(
    "name, message",
    [
        ("c", "overridden: 'c' is an initialiser with no graph input of its name, so that its value is fixed"),
        ("x", "overridden: 'x' is an input without a value, which runs give anyway; leave it out"),
        ("ww", r"overridden: the model has no initialiser 'ww'; did you mean w\?"),
    ],
)
def test_other_values_cannot_be_overridden(name, message):
    with pytest.raises(lanner.Error, match=message):
        build(overridden=[name])


@pytest.mark.parametrize(
    "options, message",
    [({"states": {"w": "y"}}, "is a state"), ({"overwritable": ["w"]}, "may be overwritten by a run")],
)
def test_states_and_overwritten_inputs_have_no_default_value(options, message):
    square = model()
    square.graph.output.append(info("w2", (2, 3)))
    square.graph.node.append(helper.make_node("Neg", ["w"], ["w2"]))
    if "states" in options:
        options = {"states": {"w": "w2"}}
    with pytest.raises(lanner.InvalidArgument, match=message):
        build(square, overridden=["w"], **options)


def test_a_plan_keeps_the_default_but_cannot_override(tmp_path):
    for overridden in ([], ["w"]):
        build(overridden=overridden).save(tmp_path / "net.plan")
        engine = lanner.load(tmp_path / "net.plan")
        assert [one.name for one in engine.inputs] == ["x", *overridden] and engine.overridable == []
        np.testing.assert_allclose(engine({"x": X})["y"].numpy(), expected(), rtol=1e-6)
        with pytest.raises(lanner.InvalidArgument, match=r"'b' is an initialiser, which this engine has as a constant: build it with overridden b"):
            engine({"x": X, "b": B})
    np.testing.assert_allclose(engine({"x": X, "w": OTHER})["y"].numpy(), expected(w=OTHER), rtol=1e-6)
    with pytest.raises(lanner.InvalidArgument, match="initialiser with no graph input"):
        engine({"x": X, "c": B})


def test_a_refitted_engine_has_the_refitted_defaults():
    engine = build(overridden=["b"]).refit({"w": OTHER})
    np.testing.assert_allclose(engine({"x": X})["y"].numpy(), expected(w=OTHER), rtol=1e-6)
    np.testing.assert_allclose(engine({"x": X, "b": -B})["y"].numpy(), expected(w=OTHER, b=-B), rtol=1e-6)
    with pytest.raises(lanner.InvalidArgument, match="which this engine has as a constant"):
        build().refit({"c": B})({"x": X, "b": B})


def test_overriding_rejects_a_model_file_that_changed(tmp_path):
    path = tmp_path / "net.onnx"
    onnx.save(model(), path)
    engine = lanner.build(path, threads=1, budget=0)
    other = model()
    other.graph.initializer[0].CopyFrom(numpy_helper.from_array(W + 1, "w"))
    onnx.save(other, path)
    with pytest.raises(lanner.InvalidArgument, match="has changed since the engine was built"):
        engine({"x": X, "b": B})


def test_verify_uses_the_default_values():
    with pytest.raises(lanner.InvalidArgument, match="'w' is an initialiser, which this engine has as a constant: build it with overridden w"):
        build().verify(inputs={"x": X, "w": OTHER})
    assert build(overridden=["w"]).verify(inputs={"x": X, "w": OTHER}, runs=1).differences == []


# --- The command ---


def test_the_command_takes_it(tmp_path):
    path, plan = tmp_path / "net.onnx", tmp_path / "net.plan"
    onnx.save(model(), path)
    succeed("build", path, "-o", plan, "--overridden", "w", "--shape", "x:2x2", "--budget", 0)
    assert [one.name for one in lanner.load(plan).inputs] == ["x", "w"]
    succeed("bench", plan, "--duration", "10ms")
    places = {"x": {"dtype": "F32", "shape": X.shape, "data_offsets": [0, 16]}, "w": {"dtype": "F32", "shape": OTHER.shape, "data_offsets": [16, 40]}}
    header = json.dumps(places).encode()
    (tmp_path / "values.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + X.tobytes() + OTHER.tobytes())
    for which in (path, plan):
        succeed("bench", which, "--inputs", tmp_path / "values.safetensors", "--duration", "10ms", *([] if which == plan else ["--budget", 0]))
    assert "--overridden" in refuse("bench", plan, "--overridden", "b")
    assert "overridden: 'c' is an initialiser with no graph input" in refuse("build", path, "-o", plan, "--overridden", "c")
