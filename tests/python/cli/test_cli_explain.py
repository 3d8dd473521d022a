"""lanner explain: names of fused steps, what their speed rests on, advice."""

import json
import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import lanner
from command import lanner as command
from command import refuse, succeed

QUICK = ["--budget", "0", "--threads", "1"]
RANDOM = np.random.default_rng(3)


def reals(*shape):
    return (RANDOM.standard_normal(shape) * 0.2).astype(np.float32)


def save(path, nodes, inputs, outputs, constants):
    def values(table):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in table.items()]

    graph = helper.make_graph(nodes, "written", values(inputs), values(outputs), [numpy_helper.from_array(array, name) for name, array in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return path


def layers(path, count, width=16):
    nodes, constants, value = [], {}, "x"
    for i in range(1, count + 1):
        constants |= {f"w{i}": reals(width, width), f"b{i}": reals(width)}
        result = "y" if i == count else f"g{i}"
        nodes.append(helper.make_node("Gemm", [value, f"w{i}", f"b{i}"], [result], f"ip{i}"))
        if i < count:
            nodes.append(helper.make_node("Relu", [result], [f"r{i}"], f"relu{i}"))
            value = f"r{i}"
    return save(path, nodes, {"x": [4, width]}, {"y": [4, width]}, constants)


def explained(path, budget="0"):
    return json.loads(succeed("explain", path, "--json", "--budget", budget, "--threads", "1"))


def test_a_fused_step_is_named_after_its_nodes(tmp_path):
    model = layers(tmp_path / "m.onnx", 2)
    (step,) = explained(model)["nodes"]
    assert step["title"] == "ip1 + relu1 + ip2"
    assert step["kind"] == "2-layer MLP"
    text = succeed("explain", model, *QUICK)
    assert "2-layer MLP" in text and "ip1 + relu1 + ip2" in text


def test_a_long_name_is_short_in_the_overview_and_whole_in_the_details(tmp_path):
    model = layers(tmp_path / "m.onnx", 6)
    overview = succeed("explain", model, *QUICK)
    assert "ip1 + ... + ip6, 11 nodes" in overview and "relu3" not in overview
    assert "ip1 + relu1 + ip2 + relu2 + ip3 + relu3" in succeed("explain", model, "--node", "relu3", *QUICK)


def test_the_log_names_each_fused_step(tmp_path):
    run = command("build", layers(tmp_path / "m.onnx", 2), "-o", tmp_path / "m.plan", "-q", *QUICK, env={**os.environ, "LANNER_LOG": "info"})
    assert "fused ip1 + relu1 + ip2: 2-layer MLP by cpu:mlp" in run.stderr


def test_each_step_has_its_unit_padding_and_limit(tmp_path):
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "conv1"), helper.make_node("Softmax", ["c"], ["y"], "soft", axis=1)]
    model = save(tmp_path / "m.onnx", nodes, {"x": [1, 3, 9, 9]}, {"y": [1, 20, 7, 7]}, {"w": reals(20, 3, 3, 3)})
    plan = explained(model, budget="0.2")
    assert sum(step["flops_share"] for step in plan["nodes"]) == pytest.approx(1)
    for step in plan["nodes"]:
        products = "conv" in step["kind"]
        assert (step["matrix_unit"] != "none") == (products and step["backend"] != "reference"), step
        assert step["matrix_unit"] != "none" or step["matrix_unit_reason"]
        assert 0 <= step["padding_bytes"] < step["bytes"]
        if step["limit"] and step["seconds"] > 0:
            assert step["limit"]["share"] == pytest.approx(step["limit"]["seconds"] / step["seconds"])
    assert "matrix unit" in succeed("explain", model, "--node", "conv1", *QUICK)


def test_the_limit_is_that_of_the_unit_which_multiplies(tmp_path):
    model = save(
        tmp_path / "m.onnx",
        [helper.make_node("MatMul", ["x", "w"], ["y"], "product")],
        {"x": [256, 1024]},
        {"y": [256, 1024]},
        {"w": reals(1024, 1024)},
    )

    def step(precision):
        plan = json.loads(succeed("explain", model, "--json", "--precision", precision, *QUICK))
        (found,) = [node for node in plan["nodes"] if "matmul" in node["kind"]]
        return found

    narrow, wide = step("bf16"), step("fp32")
    if narrow["matrix_unit"] != "AMX":
        pytest.skip("no AMX here")
    assert wide["limit"]["by"] == "compute"
    assert narrow["limit"]["seconds"] < wide["limit"]["seconds"] / 4


def test_advice_names_the_node_and_the_gain(tmp_path):
    nodes = [
        helper.make_node("Gather", ["table", "i"], ["a"], "pick", axis=1),
        helper.make_node("ReduceProd", ["a", "axes"], ["y"], "products", keepdims=1),
    ]
    constants = {"i": RANDOM.integers(0, 64, (2000,)).astype(np.int64), "axes": np.array([0], np.int64)}
    model = save(tmp_path / "m.onnx", nodes, {"table": [300, 64]}, {"y": [1, 2000]}, constants)
    (advice,) = [one for one in explained(model, budget="0.3")["advice"] if one["title"] == "pick"]
    assert "axis 1" in advice["text"] and "axis 0" in advice["text"]
    text = succeed("explain", model, "--advise", "--budget", "0.3", "--threads", "1")
    assert "(pick) gathers pieces of 4 bytes along axis 1" in text and "gain: at most" in text


def test_no_advice_says_so(tmp_path):
    assert "nothing about single nodes" in succeed("explain", layers(tmp_path / "m.onnx", 2), "--advise", *QUICK)


def test_advice_is_about_models(tmp_path):
    (tmp_path / "clip.y4m").write_bytes(b"YUV4MPEG2 W16 H16 F25:1\nFRAME\n" + bytes(384))
    assert "--advise" in refuse("explain", tmp_path / "clip.y4m", "--advise")


def residual_sum(path, outputs):
    """A convolution whose result is quantised and dequantised before a sum, as quantisers write it."""
    node = helper.make_node
    nodes = [
        node("DequantizeLinear", ["x", "s", "o"], ["d"]),
        node("DequantizeLinear", ["w", "s", "i"], ["v"]),
        node("Conv", ["d", "v"], ["c"], "conv1"),
        node("QuantizeLinear", ["c", "t", "o"], ["q"]),
        node("DequantizeLinear", ["q", "t", "o"], ["p"]),
        node("DequantizeLinear", ["z", "s", "o"], ["e"]),
        node("Add", ["p", "e"], ["a"], "sum1"),
        node("Relu", ["a"], ["r"], "relu1"),
        node("QuantizeLinear", ["r", "t", "o"], ["y"]),
    ]
    constants = {
        "s": np.float32(0.02), "t": np.float32(0.05), "o": np.uint8(3), "i": np.int8(0),
        "w": RANDOM.integers(-127, 127, (32, 32, 1, 1)).astype(np.int8),
    }
    values = [helper.make_tensor_value_info(name, TensorProto.UINT8, [1, 32, 9, 9]) for name in ["x", "z", *outputs]]
    graph = helper.make_graph(nodes, "sum", values[:2], values[2:], [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


def kinds_with_products(path):
    return [step["kind"] for step in explained(path)["nodes"] if "conv" in step["kind"]]


def test_a_quantised_convolution_and_the_sum_behind_it_are_one_step(tmp_path):
    (kind,) = kinds_with_products(residual_sum(tmp_path / "m.onnx", ["y"]))
    assert "conv+quantize_linear" in kind and "+add" in kind and kind.endswith("+quantize_linear")


def test_a_quantised_convolution_that_others_read_is_a_step_of_its_own(tmp_path):
    (kind,) = kinds_with_products(residual_sum(tmp_path / "m.onnx", ["y", "q"]))
    assert "add" not in kind


def test_the_step_gives_what_the_definition_gives(tmp_path):
    model = residual_sum(tmp_path / "m.onnx", ["y"])
    graph = onnx.load(model)
    values = {name: RANDOM.integers(0, 256, (1, 32, 9, 9)).astype(np.uint8) for name in "xz"}
    (found,) = lanner.build(model, budget=0).create_context()(values).values()
    (expected,) = ReferenceEvaluator(graph).run(None, values)
    assert np.array_equal(np.asarray(found), expected)
