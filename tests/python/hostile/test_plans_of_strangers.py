"""Manipulated plans: the digest is not a signature."""

import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper

import lanner

from command import DATA, refuse, succeed


def summing_model() -> bytes:
    nodes = [helper.make_node("Add", ["x", "d"], ["s"]), helper.make_node("MatMul", ["s", "w"], ["z"])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (4, 8)) for name in ("x", "d")]
    weights = numpy_helper.from_array(numpy.linspace(-1, 1, 32, dtype=numpy.float32).reshape(8, 4), "w")
    outputs = [helper.make_tensor_value_info("z", TensorProto.FLOAT, (4, 4))]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString()


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "whole.plan"
    lanner.build(summing_model(), budget=0).save(path)
    return path


def test_a_whole_plan_passes(plan):
    engine = lanner.load(plan, verify=True)
    found = engine.verify()
    assert found.right and found.undecided == []


def test_verify_must_be_a_bool(plan):
    with pytest.raises(TypeError):
        lanner.load(plan, verify="yes")


def test_the_command_verifies_plans_alone(plan, tmp_path):
    succeed("explain", plan, "--verify")
    model = tmp_path / "model.onnx"
    model.write_bytes(summing_model())
    assert "is not a plan, and --verify is only for plans" in refuse("explain", model, "--verify")


def test_storages_in_a_portable_graph_are_rejected():
    stored = DATA.parent / "found" / "hostile" / "plan_ir_storage.plan"
    if not stored.exists():
        pytest.skip(f"{stored} is not there")
    with pytest.raises(lanner.BadData, match="the portable graph stores %w as Ba32b"):
        lanner.load(stored)
    assert "only a lowered graph says storages" in refuse("explain", stored)
