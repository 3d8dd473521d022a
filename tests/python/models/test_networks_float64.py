"""What `./dev networks` runs in float64, compared with ONNX's own reference, and the graph before a detector's choices."""

import sys
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="networks are read with onnx")
pytest.importorskip("onnxruntime", reason="results are compared with onnxruntime")
pytest.importorskip("lanner")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from networks import float64, parts  # noqa: E402


def one_node(op, inputs, **attributes):
    """A model of one node, opset 20; inputs are float64 so that onnx.reference computes in it where it can."""
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(op, names, ["y"], **attributes)
    infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in zip(names, inputs, strict=True)]
    graph = helper.make_graph([node], "one", infos, [onnx.ValueInfoProto(name="y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), dict(zip(names, inputs, strict=True))


def numbers(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


NODES = {
    "conv": ("Conv", [numbers(2, 4, 9, 8), numbers(6, 2, 3, 2), numbers(6)], {"group": 2, "pads": [1, 0, 2, 1], "strides": [2, 1], "dilations": [2, 1]}),
    "depthwise": ("Conv", [numbers(1, 6, 7, 7), numbers(6, 1, 3, 3)], {"group": 6, "pads": [1, 1, 1, 1]}),
    "conv of clips": ("Conv", [numbers(1, 2, 4, 5, 6), numbers(3, 2, 2, 3, 3)], {"pads": [0, 1, 1, 1, 1, 1]}),
    "same conv": ("Conv", [numbers(1, 2, 7, 8), numbers(3, 2, 3, 3)], {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    "transposed": ("ConvTranspose", [numbers(1, 4, 5, 4), numbers(4, 2, 3, 3), numbers(2)], {"strides": [2, 3], "pads": [1, 0, 0, 1], "dilations": [1, 2]}),
    "max pool": ("MaxPool", [numbers(1, 2, 8, 7)], {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}),
    "max pool up": ("MaxPool", [numbers(1, 2, 8, 8)], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    "mean": ("AveragePool", [numbers(1, 2, 8, 7)], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "mean with pads": ("AveragePool", [numbers(1, 2, 8, 7)], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    "scatter": ("ScatterND", [numbers(5, 3), np.array([[1], [4]]), numbers(2, 3)], {}),
    "gather": ("GatherND", [numbers(4, 3, 2), np.array([[0, 1], [3, -1]])], {}),
    "elements": ("GatherElements", [numbers(4, 3), np.array([[0, -1, 1]])], {"axis": 0}),
    "scattered elements": ("ScatterElements", [numbers(4, 3), np.array([[0, -1, 1]]), numbers(1, 3)], {"axis": 0}),
    "erf": ("Erf", [numbers(50)], {}),
    "grid": ("GridSample", [numbers(1, 2, 4, 5), numbers(1, 3, 3, 2)], {"mode": "linear", "align_corners": 1}),
    "grid between": ("GridSample", [numbers(2, 2, 4, 5), numbers(2, 3, 3, 2)], {"mode": "linear", "align_corners": 0}),
}
for mode in ("linear", "cubic"):
    for place in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"):
        inputs = [numbers(1, 2, 5, 4), np.array([], np.float64), np.array([], np.float32), np.array([1, 2, 9, 3])]
        NODES[f"resize {mode} {place}"] = ("Resize", inputs, {"mode": mode, "coordinate_transformation_mode": place})


@pytest.mark.parametrize("name", NODES)
def test_float64_functions_do_what_the_reference_does(name):
    op, inputs, attributes = NODES[name]
    assert op in float64.FUNCTIONS
    model, feed = one_node(op, inputs, **attributes)
    (expected,) = ReferenceEvaluator(model).run(None, feed)
    got = float64.run(model, feed, ["y"])["y"]
    assert got.dtype == np.float64
    narrow = op in ("Erf", "GridSample") or attributes.get("mode") == "cubic"  # The reference's own float32 precision shows.
    np.testing.assert_allclose(got, expected, rtol=1e-4 if narrow else 1e-9, atol=1e-5 if narrow else 1e-12)


def test_groups_of_a_transposed_convolution_are_independent():
    x, w = numbers(1, 4, 5, 4), numbers(4, 2, 3, 3)
    together = float64.conv_transpose({"group": 2, "strides": [2, 1]}, x, w)
    alone = [float64.conv_transpose({"strides": [2, 1]}, x[:, i : i + 2], w[i : i + 2]) for i in (0, 2)]
    np.testing.assert_allclose(together, np.concatenate(alone, 1), rtol=1e-12)


@pytest.mark.parametrize("rounding, expected", [("floor", [0, 0, 1, 1, 2]), ("ceil", [0, 1, 2, 2, 2]), ("round_prefer_floor", [0, 1, 1, 2, 2])])
def test_nearest_elements(rounding, expected):
    """Three elements to five: positions 0, 0.6, 1.2, 1.8, 2.4."""
    attributes = {"mode": b"nearest", "coordinate_transformation_mode": b"asymmetric", "nearest_mode": rounding.encode()}
    y = float64.resize(attributes, np.arange(3.0).reshape(1, 1, 3), sizes=np.array([1, 1, 5]))
    np.testing.assert_array_equal(y.reshape(-1), expected)


def test_boxes_that_overlap_a_better_one_are_suppressed():
    boxes = np.array([[[0, 0, 10, 10], [0, 1, 10, 11], [20, 20, 30, 30], [0, 0, 10, 9.0]]])
    scores = np.array([[[0.6, 0.9, 0.3, 0.1], [0.2, 0.1, 0.8, 0.7]]])
    chosen = float64.non_max_suppression({}, boxes, scores, np.array([9]), np.array([0.5]), np.array([0.15]))
    np.testing.assert_array_equal(chosen, [[0, 0, 1], [0, 0, 2], [0, 1, 2], [0, 1, 3]])


def test_regions_are_means_of_their_samples():
    """For a plane, the bins of any region are the heights at their centres."""
    rows, columns = np.mgrid[0:12, 0:16]
    plane = (3.0 * rows + columns)[None, None]
    attributes = {"output_height": 2, "output_width": 2, "sampling_ratio": 2, "coordinate_transformation_mode": b"output_half_pixel"}
    pooled = float64.roi_align(attributes, plane, np.array([[2.0, 4, 10, 8]]), np.array([0]))
    np.testing.assert_allclose(pooled[0, 0], [[3 * 5 + 4, 3 * 5 + 8], [3 * 7 + 4, 3 * 7 + 8]])


def test_numbers_stay_float64_from_end_to_end():
    """1e8 + 1 does not fit a float32; casts, constants and branches must not narrow it."""
    then = helper.make_graph([helper.make_node("Add", ["wide", "one"], ["then"])], "then", [], [onnx.ValueInfoProto(name="then")])
    other = helper.make_graph([helper.make_node("Identity", ["wide"], ["other"])], "other", [], [onnx.ValueInfoProto(name="other")])
    nodes = [
        helper.make_node("Constant", [], ["large"], value=numpy_helper.from_array(np.array([1e8], np.float32))),
        helper.make_node("Add", ["large", "x"], ["sum"]),
        helper.make_node("Cast", ["sum"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("Greater", ["x", "one"], ["more"]),
        helper.make_node("If", ["more"], ["y"], then_branch=then, else_branch=other),
    ]
    one = numpy_helper.from_array(np.array([1], np.float32), "one")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    model = helper.make_model(helper.make_graph(nodes, "wide", [x], [onnx.ValueInfoProto(name="y")], [one]), opset_imports=[helper.make_opsetid("", 17)])
    assert float64.run(model, {"x": np.array([2], np.float32)}, ["y"])["y"] == 1e8 + 3
    assert float64.run(model, {"x": np.array([1], np.float32)}, ["y"])["y"] == 1e8 + 1


def test_loops_carry_and_gather():
    body_inputs = [onnx.ValueInfoProto(name=name) for name in ("turn", "going", "sum")]
    nodes = [helper.make_node("Add", ["sum", "step"], ["next"]), helper.make_node("Identity", ["going"], ["on"]), helper.make_node("Identity", ["next"], ["row"])]
    body = helper.make_graph(nodes, "body", body_inputs, [onnx.ValueInfoProto(name=name) for name in ("on", "next", "row")])
    constants = [numpy_helper.from_array(np.array(3), "turns"), numpy_helper.from_array(np.array(True), "yes"), numpy_helper.from_array(np.array([2], np.float32), "step")]
    loop = helper.make_node("Loop", ["turns", "yes", "x"], ["last", "rows"], body=body)
    graph = helper.make_graph([loop], "loop", [onnx.ValueInfoProto(name="x")], [onnx.ValueInfoProto(name=name) for name in ("last", "rows")], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    found = float64.run(model, {"x": np.array([1], np.float32)}, ["last", "rows"])
    assert found["last"].tolist() == [7] and found["rows"].tolist() == [[3], [5], [7]]


# --- Comparison ---


def test_values_before_a_choice_are_found():
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["scores"]),
        helper.make_node("Neg", ["x"], ["boxes"]),
        helper.make_node("Neg", ["two"], ["fixed"]),
        helper.make_node("Greater", ["scores", "two"], ["mask"]),
        helper.make_node("NonZero", ["mask"], ["where"]),
        helper.make_node("Transpose", ["where"], ["places"]),
        helper.make_node("GatherND", ["boxes", "places"], ["kept"]),
        helper.make_node("Add", ["kept", "fixed"], ["y"]),
    ]
    two = numpy_helper.from_array(np.array([2], np.float32), "two")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [4]), ("y", None)))
    model = helper.make_model(helper.make_graph(nodes, "chooses", [x], [y], [two]), opset_imports=[helper.make_opsetid("", 17)])
    assert parts.before_choices(model) == ["scores", "boxes"]
    part = parts.with_outputs(model, ["scores", "boxes"])
    assert [node.op_type for node in part.graph.node] == ["Mul", "Neg"]
