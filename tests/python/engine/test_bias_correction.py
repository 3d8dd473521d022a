"""Builds with precision int8 correct biases by what rounding takes from the mean, where that makes nodes more exact."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import lanner
from command import succeed
from int8_builds import answers, batches, decibels, int8, write_tensors

OUTPUTS = 16


def convolution(seed=2, size=12, kernel=3, pads=1, product=False):
    """One convolution, or a product of rows, of 8 channels."""
    random = np.random.default_rng(seed)
    shape = (8, OUTPUTS) if product else (OUTPUTS, 8, kernel, kernel)
    weights = random.normal(0, 0.3, shape).astype(np.float32)
    # A large weight in each channel makes large steps for the others.
    weights[(0, slice(None)) if product else (slice(None), 0, 0, 0)] = 3
    bias = random.normal(0, 1, OUTPUTS).astype(np.float32)
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"]) if product else helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[pads] * 4)
    sizes = [] if product else [size, size]
    result = [] if product else [size + 2 * pads - kernel + 1] * 2
    graph = helper.make_graph(
        [node], "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8, *sizes])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", OUTPUTS, *result])],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def values(*shape, seed=3, mean=1.0):
    return (np.random.default_rng(seed).normal(0, 1, shape) * 0.4 + mean).astype(np.float32)


def report_of(engine):
    return json.loads(engine.metadata["lanner.int8"])


def mean_error(model, engine, data):
    expected = answers(lanner.build(model, budget=0), data)
    errors = expected - answers(engine, data)
    return np.abs(errors.mean(axis=(0, *range(2, errors.ndim)))).max()


def by_table(model, engine):
    """With the same ranges, without data: nothing is corrected."""
    with pytest.warns(RuntimeWarning, match="not guarded"):
        return int8(model, calibration=lanner.CalibrationTable.parse(engine.metadata["lanner.calibration"]))


def test_ranges_only_corrects_nothing_so_that_a_build_from_the_table_gives_the_same_answers():
    model, data = convolution(), values(16, 8, 12, 12)
    engine = int8(model, calibration_data=batches(data), ranges_only=True)
    report = report_of(engine)
    assert (report["int8_nodes"], report["bias_corrected_nodes"]) == (1, 0)
    assert (answers(engine, data) == answers(by_table(model, engine), data)).all()


@pytest.mark.parametrize("product", [False, True])
def test_a_correction_raises_the_ratio(product):
    model = convolution(product=product)
    data = values(*((256, 8) if product else (16, 8, 12, 12)))
    engine = int8(model, calibration_data=batches(data))
    report = report_of(engine)
    assert report["bias_corrected_nodes"] == 1
    (node,) = report["nodes"]
    assert node["bias_corrected"]
    assert node["snr_db"] > node["uncorrected_snr_db"] + 1
    # A product's ratio is that without the bias, which is added behind it.
    expected = answers(lanner.build(model, budget=0), data)
    assert decibels(expected, answers(engine, data)) == pytest.approx(node["snr_db"], abs=0.5)
    plain = by_table(model, engine)
    assert report_of(plain)["bias_corrected_nodes"] == 0
    assert decibels(expected, answers(plain, data)) == pytest.approx(node["uncorrected_snr_db"], abs=0.5)
    # It holds for other inputs of the kind.
    other = values(*data.shape, seed=11)
    expected = answers(lanner.build(model, budget=0), other)
    assert decibels(expected, answers(engine, other)) > decibels(expected, answers(plain, other)) + 1


def test_where_errors_have_no_mean_nothing_is_corrected():
    model, half = convolution(), values(8, 8, 12, 12, mean=0)
    report = report_of(int8(model, calibration_data=batches(np.concatenate([half, -half]))))
    assert report["bias_corrected_nodes"] == 0
    assert "bias_corrected" not in report["nodes"][0]


def test_where_most_of_a_window_is_padding_nothing_is_corrected():
    """The correction is that of a window within the picture."""
    model, data = convolution(size=2, kernel=5, pads=2), values(32, 8, 2, 2)
    engine = int8(model, calibration_data=batches(data), least_snr=-1000)
    report = report_of(engine)
    assert (report["int8_nodes"], report["bias_corrected_nodes"]) == (1, 0)
    assert np.array_equal(answers(engine, data), answers(by_table(model, engine), data))


def test_order_and_batches_of_the_data_change_nothing():
    model, data = convolution(), values(23, 8, 12, 12)
    shuffled = data[np.random.default_rng(7).permutation(23)]
    made = [int8(model, calibration_data=each) for each in (batches(data), batches(shuffled, 5), batches(data, 1))]
    for engine in made[1:]:
        assert report_of(engine)["bias_corrected_nodes"] == 1
        assert report_of(engine)["nodes"][0]["snr_db"] == pytest.approx(report_of(made[0])["nodes"][0]["snr_db"], abs=1e-3)
        # Kernels for other batch sizes may give means that differ in their last bits.
        np.testing.assert_allclose(answers(engine, data), answers(made[0], data), rtol=0, atol=1e-4)


def test_a_plan_keeps_it(tmp_path):
    model, data = convolution(), values(16, 8, 12, 12)
    engine = int8(model, calibration_data=batches(data))
    engine.save(tmp_path / "int8.plan")
    loaded = lanner.load(tmp_path / "int8.plan")
    assert report_of(loaded) == report_of(engine)
    assert np.array_equal(answers(loaded, data), answers(engine, data))
    engine.save(tmp_path / "bare.plan", weights=False)
    assert np.array_equal(answers(lanner.load(tmp_path / "bare.plan", weights=tmp_path / "int8.plan"), data), answers(engine, data))


@pytest.mark.parametrize("product", [False, True])
def test_a_refit_computes_it_again(product):
    first, second = convolution(product=product), convolution(seed=5, product=product)
    data = values(*((256, 8) if product else (16, 8, 12, 12)))
    engine = int8(first, calibration_data=batches(data))
    uncorrected = mean_error(second, by_table(second, engine), data)
    new = {one.name: numpy_helper.to_array(one) for one in second.graph.initializer}
    assert mean_error(second, engine.refit(new), data) < 0.3 * uncorrected


def test_the_command_tells_of_it(tmp_path):
    onnx.save(convolution(), tmp_path / "net.onnx")
    write_tensors(tmp_path / "data.safetensors", x=values(16, 8, 12, 12))
    plan = tmp_path / "net.plan"
    succeed("build", tmp_path / "net.onnx", "-o", plan, "--precision", "int8", "--calibrate", tmp_path / "data.safetensors", "--budget", "0")
    assert report_of(lanner.load(plan))["bias_corrected_nodes"] == 1
