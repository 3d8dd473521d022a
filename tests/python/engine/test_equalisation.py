"""Builds with precision int8 scale the channels between two nodes, where that makes the network's outputs more exact."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import lanner
from command import succeed
from int8_builds import answers, batches, decibels, int8, write_tensors

MIDDLE = 16


def network(seed=2, between="Relu", spread=6.0):
    """Two convolutions; the channels between them differ by 2^spread."""
    random = np.random.default_rng(seed)
    sizes = np.exp2(np.linspace(-spread / 2, spread / 2, MIDDLE)).astype(np.float32)
    first = random.normal(0, 0.3, (MIDDLE, 8, 3, 3)).astype(np.float32) * sizes[:, None, None, None]
    second = random.normal(0, 0.3, (12, MIDDLE, 3, 3)).astype(np.float32) / sizes[:, None, None]
    bias = random.normal(0, 1, MIDDLE).astype(np.float32) * sizes
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1] * 4),
        helper.make_node(between, ["c"], ["r"]),
        helper.make_node("Conv", ["r", "v"], ["y"], pads=[1] * 4),
    ]
    weights = [numpy_helper.from_array(value, name) for name, value in (("w", first), ("b", bias), ("v", second))]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", channels, 12, 12]) for name, channels in (("x", 8), ("y", 12))]
    graph = helper.make_graph(nodes, "small", infos[:1], infos[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def values(count=16, seed=3):
    return np.random.default_rng(seed).normal(0, 1, (count, 8, 12, 12)).astype(np.float32)


def report_of(engine):
    return json.loads(engine.metadata["lanner.int8"])


def build(model, data, **options):
    return int8(model, calibration_data=batches(data), least_snr=-1000, **options)


@pytest.mark.parametrize("between", ["Relu", "LeakyRelu"])
def test_equalised_channels_raise_the_ratio(between):
    model, data = network(between=between), values()
    engine = build(model, data)
    report = report_of(engine)
    assert report["equalised_nodes"] == 1
    assert [node.get("equalised", False) for node in report["nodes"]].count(True) == 1
    assert report["outputs_snr_db"] > report["unequalised_outputs_snr_db"] + 3
    expected = answers(lanner.build(model, budget=0), data)
    assert decibels(expected, answers(engine, data)) == pytest.approx(report["outputs_snr_db"], abs=0.5)
    with pytest.warns(RuntimeWarning, match="not guarded"):
        plain = int8(model, calibration=lanner.CalibrationTable.parse(engine.metadata["lanner.calibration"]))
    other = values(seed=9)
    expected = answers(lanner.build(model, budget=0), other)
    assert decibels(expected, answers(engine, other)) > decibels(expected, answers(plain, other)) + 1


@pytest.mark.parametrize("options", [{"between": "Sigmoid"}, {"spread": 0.0}], ids=str)
def test_what_gains_nothing_stays(options):
    report = report_of(build(network(**options), values()))
    assert report["equalised_nodes"] == 0
    assert "unequalised_outputs_snr_db" not in report


def test_given_ranges_are_those_of_the_model(tmp_path):
    model, data = network(), values()
    engine = build(model, data)
    onnx.save(model, tmp_path / "net.onnx")
    write_tensors(tmp_path / "data.safetensors", x=data)
    succeed("calibrate", tmp_path / "net.onnx", "--calibrate", tmp_path / "data.safetensors", "-o", tmp_path / "net.calibration")
    assert engine.metadata["lanner.calibration"] == (tmp_path / "net.calibration").read_text()
    given = build(model, data, calibration=tmp_path / "net.calibration")
    assert report_of(given)["equalised_nodes"] == 0


def test_order_and_batches_of_the_data_change_nothing():
    model, data = network(), values(23)
    shuffled = data[np.random.default_rng(7).permutation(23)]
    made = [int8(model, calibration_data=each, least_snr=-1000) for each in (batches(data), batches(shuffled, 5), batches(data, 1))]
    for engine in made[1:]:
        assert report_of(engine)["equalised_nodes"] == 1
        assert report_of(engine)["outputs_snr_db"] == pytest.approx(report_of(made[0])["outputs_snr_db"], abs=0.01)
        assert decibels(answers(made[0], data), answers(engine, data)) > 60


def test_plans_and_refits_keep_it(tmp_path):
    model, other, data = network(), network(seed=5), values()
    engine = build(model, data)
    engine.save(tmp_path / "int8.plan")
    loaded = lanner.load(tmp_path / "int8.plan")
    assert report_of(loaded) == report_of(engine)
    assert np.array_equal(answers(loaded, data), answers(engine, data))
    new = {one.name: numpy_helper.to_array(one) for one in other.graph.initializer}
    expected = answers(lanner.build(other, budget=0), data)
    assert decibels(expected, answers(engine.refit(new), data)) > 25
