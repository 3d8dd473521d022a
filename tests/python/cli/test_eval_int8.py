"""lanner eval and lanner calibrate: INT8 beside FP32."""

import json

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from color_folders import write_colors
from command import color_classifier, make_ppm, refuse, succeed
from command import lanner as command

QUICK = ["--budget", "0", "--threads", "1"]


@pytest.fixture
def int8_case(tmp_path):
    """Pictures of three classes, one of them wrong, and pictures to calibrate with."""
    data = write_colors(tmp_path)
    (tmp_path / "samples").mkdir()
    for i, color in enumerate([(255, 0, 0), (0, 255, 0), (0, 0, 255), (40, 80, 120)]):
        make_ppm(tmp_path / "samples" / f"{i}.ppm", color=color)
    model = color_classifier(tmp_path / "m.onnx")
    return [model, "--data", data, "--preset", "none", "--labels", tmp_path / "labels.txt", *QUICK], tmp_path


def test_int8_is_measured_beside_fp32(int8_case):
    arguments, folder = int8_case
    text = succeed("eval", *arguments, "--precision", "int8", "--calibrate", folder / "samples")
    assert "INT8 beside FP32" in text
    assert "the same answer as FP32 for 5 of 5 pictures, 100.0 %" in text
    assert "1 of 1 convolutions and products are in INT8" in text
    found = json.loads(succeed("eval", *arguments, "--precision", "int8", "--calibrate", folder / "samples", "--json", "-"))
    assert found["metrics"]["top1"] == found["fp32"]["top1"] == pytest.approx(0.8)
    assert found["agreement"]["agreed"] == found["agreement"]["compared"] == 5
    assert found["int8"]["int8_nodes"] == 1


def test_pictures_that_cannot_be_read_are_not_compared_with_fp32(int8_case):
    arguments, folder = int8_case
    (folder / "data" / "red" / "broken.png").write_bytes(b"x")
    done = command("eval", *arguments, "--precision", "int8", "--calibrate", folder / "samples")
    assert "the same answer as FP32 for 5 of 5 pictures" in done.stdout
    assert done.stderr.count("broken.png") == 1, done.stderr


def test_nodes_that_stay_in_fp32_are_named_with_the_reason(int8_case):
    arguments, folder = int8_case
    name = succeed("calibrate", *arguments[:1], "--preset", "none", "--calibrate", folder / "samples").splitlines()[1].split('"')[1]
    options = ["--precision", "int8", "--calibrate", folder / "samples", "--value-range", f"{name}=0:0.01"]
    text = command("eval", *arguments, *options).stdout  # A warning says that nothing is in INT8.
    assert "0 of 1 convolutions and products are in INT8" in text
    assert "stays in FP32" in text and "below 20 dB" in text


def test_int8_without_data_or_ranges_is_an_error(int8_case):
    arguments, _ = int8_case
    assert "no range" in refuse("eval", *arguments, "--precision", "int8")


def test_calibrate_prints_accuracy_where_there_are_labels(int8_case):
    arguments, folder = int8_case
    text = succeed("calibrate", *arguments, "--calibrate", folder / "samples", "-o", folder / "m.calibration")
    assert "ranges of 1 values" in text and "INT8 beside FP32" in text and "5 of 5 pictures" in text


def test_corrected_biases_are_told(int8_case):
    arguments, folder = int8_case
    model = onnx.load(arguments[0])
    random = np.random.default_rng(2)
    for one in model.graph.initializer:
        value = numpy_helper.to_array(one)
        if value.dtype == np.float32:  # weights that rounding changes
            one.CopyFrom(numpy_helper.from_array(value + random.normal(0, 0.05, value.shape).astype(np.float32), one.name))
    onnx.save(model, arguments[0])
    text = succeed("eval", *arguments, "--precision", "int8", "--calibrate", folder / "samples")
    assert "1 of 1 convolutions and products are in INT8, 1 with corrected biases" in text
