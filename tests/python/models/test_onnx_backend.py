"""The backend interface: what `onnx.backend` requires, and values of every kind as inputs and outputs."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.backend.base import Backend, BackendRep

import lanner
from lanner import onnx_backend


def model_of(nodes, inputs, outputs):
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=name) for name in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


def tensor(name, kind=TensorProto.FLOAT, shape=(2,)):
    return helper.make_tensor_value_info(name, kind, shape)


@pytest.fixture(scope="module")
def add():
    return model_of([helper.make_node("Add", ["a", "b"], ["sum"])], [tensor("a"), tensor("b")], ["sum"])


def test_is_a_backend(add):
    assert issubclass(onnx_backend.LannerBackend, Backend)
    assert isinstance(onnx_backend.prepare(add), BackendRep)
    assert onnx_backend.supports_device("CPU")
    assert not onnx_backend.supports_device("CUDA:0")


def test_inputs_by_order_by_name_and_alone(add):
    a, b = np.float32([1, 2]), np.float32([10, 20])
    prepared = onnx_backend.prepare(add, "CPU")
    (by_order,) = prepared.run([a, b])
    by_name = prepared.run({"b": b, "a": a})
    np.testing.assert_array_equal(by_order, [11, 22])
    np.testing.assert_array_equal(by_name.sum, [11, 22])
    np.testing.assert_array_equal(by_name["sum"], [11, 22])
    relu = model_of([helper.make_node("Relu", ["x"], ["y"])], [tensor("x")], ["y"])
    np.testing.assert_array_equal(onnx_backend.run_model(relu, np.float32([-1, 1]))[0], [0, 1])


def test_results_outlive_the_next_run(add):
    prepared = onnx_backend.prepare(add)
    (first,) = prepared.run([np.float32([1, 2]), np.float32([0, 0])])
    prepared.run([np.float32([5, 6]), np.float32([0, 0])])
    np.testing.assert_array_equal(first, [1, 2])


def test_wrong_inputs_are_refused(add):
    prepared = onnx_backend.prepare(add)
    with pytest.raises(lanner.InvalidArgument, match="1 inputs given, the model has 2: a, b"):
        prepared.run([np.float32([1, 2])])
    with pytest.raises(lanner.InvalidArgument, match="'c'"):
        prepared.run({"a": np.float32([1, 2]), "c": np.float32([1, 2])})
    with pytest.raises(lanner.InvalidArgument):
        prepared.run([np.float64([1, 2]), np.float32([1, 2])])


def test_models_from_files_and_bytes(add, tmp_path):
    onnx.save(add, tmp_path / "add.onnx")
    for model in (tmp_path / "add.onnx", str(tmp_path / "add.onnx"), add.SerializeToString()):
        (result,) = onnx_backend.prepare(model).run([np.float32([1, 2])] * 2)
        np.testing.assert_array_equal(result, [2, 4])


def test_compatibility_is_asked_of_the_importer(add):
    assert onnx_backend.is_compatible(add)
    assert not onnx_backend.is_compatible(model_of([helper.make_node("Frobnicate", ["x"], ["y"])], [tensor("x")], ["y"]))


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool", "complex64",
     *(getattr(ml_dtypes, name) for name in (
         "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn", "int4", "uint4",
         "int2", "uint2"))],
    ids=lambda dtype: np.dtype(dtype).name,
)
def test_every_element_type_goes_through(dtype):
    values = np.array([1, 0, 1, 1, 0], dtype)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], [tensor("x", kind, (5,))], ["y"])
    (result,) = onnx_backend.run_model(model, [values])
    assert result.dtype == values.dtype
    np.testing.assert_array_equal(result.astype(np.complex64), values.astype(np.complex64))


def test_strings():
    (result,) = onnx_backend.run_node(helper.make_node("StringConcat", ["a", "b"], ["y"]), [np.array(["a", "ü"], object), np.array(["1", "2"])])
    assert result.dtype == object
    assert result.tolist() == ["a1", "ü2"]


def test_sequences():
    values = [np.float32([1, 2]), np.float32([3])]
    (result,) = onnx_backend.run_node(helper.make_node("SequenceInsert", ["s", "x"], ["y"]), [values, np.float32([4])])
    assert [element.tolist() for element in result] == [[1, 2], [3], [4]]


def test_optionals():
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, (2,)))
    nodes = [helper.make_node("OptionalHasElement", ["x"], ["has"]), helper.make_node("Identity", ["x"], ["same"])]
    prepared = onnx_backend.prepare(model_of(nodes, [helper.make_value_info("x", kind)], ["has", "same"]))
    has, same = prepared.run([None])
    assert not has and same is None
    has, same = prepared.run([np.float32([1, 2])])
    assert has
    np.testing.assert_array_equal(same, [1, 2])


def test_nodes():
    clip = helper.make_node("Clip", ["x", "low", "high"], ["y"])
    x = np.float32([-5, 0, 5])
    np.testing.assert_array_equal(onnx_backend.run_node(clip, [x, np.float32(-1), np.float32(1)])[0], [-1, 0, 1])
    np.testing.assert_array_equal(onnx_backend.run_node(clip, [x, None, np.float32(1)]).y, [-5, 0, 1])
    old = helper.make_node("Clip", ["x"], ["y"], max=1.0)
    np.testing.assert_array_equal(onnx_backend.run_node(old, [x], opset_version=6)[0], [-5, 0, 1])
    with pytest.raises(lanner.InvalidArgument, match="2 inputs given, the node has 3"):
        onnx_backend.run_node(clip, [x, np.float32(1)])


def test_onnx_can_drive_it():
    """As ONNX documents it for backends; tests/onnx_suite.py runs the whole suite."""
    from onnx.backend.test import BackendTest

    suite = BackendTest(onnx_backend, __name__).include("^test_(add|softmax_axis_1|maxpool_2d_default)_cpu$").test_suite
    names = ("test_add_cpu", "test_softmax_axis_1_cpu", "test_maxpool_2d_default_cpu")
    for case in (case for case in suite if case.id().endswith(names)):
        case.debug()
