"""TensorFlow graphs and Caffe nets: real ones against recorded results, and small ones from the command line."""

import os
from pathlib import Path

import numpy as np
import pytest

import lanner
from command import DATA, refuse, succeed

MODELS = DATA / "models"
LENET = Path(__file__).parents[2] / "importers" / "lenet.prototxt"
needs_models = pytest.mark.skipif(not MODELS.exists(), reason="no real models at ../shared/data")

# Results of TensorFlow 2.21 for the file with `PIXELS` (and keep_prob 1), by a Session on the imported
# GraphDef; every 98th of the auto-encoder's 784 values.
PIXELS = (np.arange(2 * 784).reshape(2, 784) * 37 % 256 / 256).astype(np.float32)
RECORDED = {
    "mnist_softmax.pb": [
        [0.000165821, 6.10499e-07, 0.0453439, 0.259439, 1.89281e-06, 0.684766, 0.0015435, 0.000249761, 0.00846676, 2.34177e-05],
        [0.000113192, 6.22531e-08, 0.270191, 0.54261, 4.13315e-08, 0.175945, 0.000183533, 1.0147e-05, 0.0109195, 2.79999e-05],
    ],
    "tf/fc-layers.pb": [
        [-6.92462, -4.09559, 6.70508, 1.17032, -11.3006, -1.27909, -10.6507, -6.67756, -2.69803, -11.3516],
        [-11.3962, -6.67501, 9.40483, 0.838745, -15.2115, -3.24324, -17.6494, -10.2167, -2.52534, -17.0936],
    ],
    "tf/ae0.pb": [
        [0.00509134, 0.000562436, 0.00432532, 0.09578, 0.00590872, 0.430236, 0.00619473, 0.000923048],
        [0.0068147, 6.32179e-05, 0.00559421, 0.351066, 0.00719366, 0.0312455, 0.00899369, 0.0120327],
    ],
    "tf/lstm.pb": [
        [9.36866, -2.26589, -1.8304, -1.48306, -2.68386, -4.15561, -1.99848, 0.563945, 3.68062, 3.00262],
        [10.592, -4.39571, -3.65862, -2.03575, -2.87117, -1.13655, -3.93344, -1.1912, 5.79916, 5.07715],
    ],
    "tf/gru.pb": [
        [-1.9501, -0.848435, 5.20168, 0.380837, 0.246349, -0.406159, -7.13821, 10.3568, 2.8499, 4.29192],
        [0.0702432, -2.45636, 5.78013, 0.167903, -3.48561, -0.090622, -5.34063, 12.2828, 3.63148, 4.35602],
    ],
}


def answers(engine):
    given = {"keep_prob": np.float32(1)} if any(binding.name == "keep_prob" for binding in engine.inputs) else {}
    (name,) = [binding.name for binding in engine.inputs if binding.name != "keep_prob"]
    (result,) = engine({name: PIXELS, **given}).values()
    result = np.asarray(result)
    return result[:, ::98] if result.shape[1] == 784 else result


@needs_models
@pytest.mark.parametrize("name", RECORDED)
def test_frozen_graphs_give_what_tensorflow_gives(tmp_path, name):
    shapes = {"X": (2, 784), "keep_prob": ()} if "gru" in name else {}
    engine = lanner.build(MODELS / name, budget=0, threads=1, shapes=shapes)
    np.testing.assert_allclose(answers(engine), RECORDED[name], rtol=1e-4, atol=2e-5)
    engine.save(tmp_path / "plan")
    np.testing.assert_array_equal(answers(lanner.load(tmp_path / "plan", threads=1)), answers(engine))


def digit_options(dark_is):
    return ["--channels", "gray", "--range", dark_is, "--size", "28x28", "--budget", "0", "--threads", "1", "--top", "1"]


def names_of(output):
    return [line.split()[2] for line in output.splitlines() if "class" in line]


@needs_models
def test_lenet_names_digits():
    pictures = [MODELS / "digit_1.pgm", MODELS / "digit_9.pgm"]
    weights = MODELS / "lenet.caffemodel"
    # The images are dark on light, the net was trained on light digits over 256.
    options = ["-i", *pictures, *digit_options("0.99609375,0")]
    assert names_of(succeed("run", LENET, "--weights", weights, *options)) == ["1", "9"]
    assert names_of(succeed("run", weights, *options)) == ["1", "9"]


@needs_models
def test_a_row_of_pixels_is_an_image_too():
    output = succeed("run", MODELS / "mnist_softmax.pb", "-i", MODELS / "digit_1.pgm", *digit_options("1,0"))
    assert names_of(output) == ["1"]
    message = refuse("run", MODELS / "mnist_softmax.pb", "-i", MODELS / "digit_1.pgm", "--range", "0,1")
    assert "--size WIDTHxHEIGHT" in message
    message = refuse("run", MODELS / "mnist_softmax.pb", "-i", MODELS / "digit_1.pgm", "--range", "0,1", "--size", "28x28")
    assert "three channels is 2352 numbers" in message


@needs_models
def test_weights_in_a_separate_file_in_python():
    with (MODELS / "lenet.caffemodel").open("rb") as file:
        engine = lanner.build(LENET, weights=file.read(), budget=0, threads=1)
    assert [repr(binding) for binding in engine.inputs] == ["data: f32[batch, 1, 28, 28]"]
    digit = np.frombuffer((MODELS / "digit_9.pgm").read_bytes()[-784:], np.uint8).reshape(1, 1, 28, 28)
    (result,) = engine({"data": (255 - digit.astype(np.float32)) / 256}).values()
    assert np.asarray(result).argmax() == 9


def test_a_net_without_its_weights(tmp_path):
    assert "give the .caffemodel" in refuse("build", LENET, "--print-ir")
    (tmp_path / "empty").write_bytes(b"")
    assert "not the weights" in refuse("build", LENET, "--weights", tmp_path / "empty", "--print-ir", code=2)
    assert os.fspath(tmp_path / "none") in refuse("build", LENET, "--weights", tmp_path / "none", "--print-ir", code=2)


GRAPH = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: -1 } dim { size: 8 } dim { size: 8 } dim { size: 3 } } } } }
node { name: "w" op: "Const" attr { key: "value" value { tensor { dtype: DT_FLOAT
       tensor_shape { dim { size: 3 } dim { size: 3 } dim { size: 3 } dim { size: 4 } } float_val: 0.5 } } } }
node { name: "c" op: "Conv2D" input: "x" input: "w"
       attr { key: "strides" value { list { i: [1, 1, 1, 1] } } } attr { key: "padding" value { s: "SAME" } } }
node { name: "b" op: "Const" attr { key: "value" value { tensor { dtype: DT_FLOAT
       tensor_shape { dim { size: 4 } } float_val: [1, 2, 3, 4] } } } }
node { name: "a" op: "BiasAdd" input: "c" input: "b" }
node { name: "r" op: "Relu" input: "a" }
node { name: "p" op: "MaxPool" input: "r" attr { key: "ksize" value { list { i: [1, 2, 2, 1] } } }
       attr { key: "strides" value { list { i: [1, 2, 2, 1] } } } attr { key: "padding" value { s: "VALID" } } }
node { name: "s" op: "Const" attr { key: "value" value { tensor { dtype: DT_INT32
       tensor_shape { dim { size: 2 } } int_val: [-1, 64] } } } }
node { name: "y" op: "Reshape" input: "p" input: "s" }
"""


def test_data_channels_last_costs_no_transposes(tmp_path):
    (tmp_path / "net.pbtxt").write_text(GRAPH)
    engine = lanner.build(tmp_path / "net.pbtxt", budget=0, threads=1)
    assert [repr(binding) for binding in engine.inputs] == ["x: f32[batch, 8, 8, 3]"]
    assert [node["op"] for node in engine.explain()["nodes"]] == ["fused", "max_pool"]
    x = np.ones((2, 8, 8, 3), np.float32)
    (result,) = engine({"x": x}).values()
    rows = np.asarray(result).reshape(2, 4, 4, 4)
    # In the middle a window sums 27 halves, at an edge 18; the maximum of each four is a middle one.
    np.testing.assert_allclose(rows, np.broadcast_to(13.5 + np.array([1, 2, 3, 4], np.float32), rows.shape))
