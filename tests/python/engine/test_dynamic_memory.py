"""Values whose size only a run tells are held until their last reader has run, and no longer: told by the account of
memory, which refuses a run that takes more."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from single_node import by_onnxruntime

import lanner

COUNT = 1 << 18  # elements of each value
VALUE = 4 * COUNT


def model(nodes, outputs, constants=()):
    graph = helper.make_graph(
        [
            helper.make_node("ConstantOfShape", ["count"], ["v0"], value=numpy_helper.from_array(np.array([1e-6], np.float32))),
            *nodes,
        ],
        "g",
        [helper.make_tensor_value_info("count", TensorProto.INT64, [1])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in {"zero": np.float32(0), "axis": np.array(0), **dict(constants)}.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def chain(depth, start="v0", stem="v"):
    """Each value is as large as the last, and each operator needs all of it."""
    nodes, last = [], start
    for k in range(depth):
        name = f"{stem}{k + 1}"
        nodes.append(helper.make_node("CumSum", [last, "axis"], [name], reverse=k % 2) if k % 3 == 0 else helper.make_node("Tanh", [last], [name]))
        last = name
    return nodes, last


def given():
    return {"count": np.array([COUNT])}


def run_within(bytes_, values, runs=3):
    """The results of runs that may hold as much as so many values take."""
    engine = lanner.build(bytes_, budget=0, limits={"total_bytes": int(values * VALUE)})
    results = None
    for _ in range(runs):
        results = {name: value.numpy().copy() for name, value in engine(given()).items()}
    return results


def test_a_chain_keeps_two_values_alive():
    nodes, last = chain(40)
    bytes_ = model(nodes, [last])
    got = run_within(bytes_, 3.5)[last]
    (expected,) = by_onnxruntime(bytes_, given())
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)
    with pytest.raises(lanner.LimitExceeded, match="total_bytes"):
        run_within(bytes_, 1.75)  # the two cannot be fewer


def test_a_value_lives_until_its_last_reader():
    nodes, last = chain(20)
    nodes.append(helper.make_node("Add", [last, "v2"], ["sum"]))
    more, end = chain(20, "sum", "w")
    bytes_ = model(nodes + more, [end])
    got = run_within(bytes_, 3.5)[end]
    (expected,) = by_onnxruntime(bytes_, given())
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)


def test_intermediate_results_that_are_outputs_are_kept():
    nodes, last = chain(12)
    bytes_ = model(nodes, ["v3", "v7", last])
    got = run_within(bytes_, 4.5)
    for name, expected in zip(("v3", "v7", last), by_onnxruntime(bytes_, given())):
        np.testing.assert_allclose(got[name], expected, rtol=1e-3, atol=1e-4)


def test_unused_outputs_are_released():
    nodes, constants = [], {}
    for k in range(6):
        constants[f"c{k}"] = np.float32(k + 2)
        nodes.append(helper.make_node("Mul", ["v0", f"c{k}"], [f"scaled{k}"]))
        nodes.append(helper.make_node("TopK", [f"scaled{k}", "count"], [f"values{k}", f"places{k}"], name=f"top{k}"))
        nodes.append(helper.make_node("ReduceMax", [f"values{k}"], [f"most{k}"], keepdims=0))
    names = [f"most{k}" for k in range(6)]
    got = run_within(model(nodes, names, constants), 7.5)
    np.testing.assert_allclose([float(got[name]) for name in names], [(k + 2) * 1e-6 for k in range(6)], rtol=1e-5)


def test_a_branch_keeps_two_values_alive():
    nodes, last = chain(20, "v0", "t")
    other, other_last = chain(3, "v0", "e")
    info = lambda name: [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)]  # noqa: E731
    bytes_ = model(
        [
            helper.make_node("ReduceMax", ["v0"], ["most"], keepdims=0),
            helper.make_node("Greater", ["most", "zero"], ["c"]),
            helper.make_node("If", ["c"], ["y"], then_branch=helper.make_graph(nodes, "t", [], info(last)), else_branch=helper.make_graph(other, "e", [], info(other_last))),
        ],
        ["y"],
    )
    got = run_within(bytes_, 3.5)["y"]
    (expected,) = by_onnxruntime(bytes_, given())
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)


def test_loop_iterations_keep_only_carried_values_alive():
    nodes, last = chain(9, "carried", "t")
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["still"]), *nodes],
        "body",
        [value("turn", TensorProto.INT64, []), value("going", TensorProto.BOOL, []), value("carried", TensorProto.FLOAT, None)],
        [value("still", TensorProto.BOOL, []), value(last, TensorProto.FLOAT, None)],
    )
    bytes_ = model([helper.make_node("Loop", ["turns", "", "v0"], ["y"], body=body)], ["y"], {"turns": np.array(4)})
    got = run_within(bytes_, 4.5)["y"]
    (expected,) = by_onnxruntime(bytes_, given())
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)
