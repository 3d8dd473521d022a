"""Real networks agree with ONNX Runtime, and with recorded results."""

import wave
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import lanner
from lanner import onnx_backend

ROOT = Path(__file__).parents[3]
MODELS = ROOT.parent / "shared" / "data" / "models"
WINDOW, OVERLAP = 43844, 30 * 256  # samples at 22,050 Hz, as basic pitch cuts its input

needs_models = pytest.mark.skipif(not MODELS.exists(), reason="no real models at ../shared/data")


def by_onnxruntime(path, inputs):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, inputs)


def assert_same(path, inputs, rtol, atol):
    outputs = onnx_backend.prepare(path).run(inputs)
    for got, expected in zip(outputs, by_onnxruntime(path, inputs), strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol, atol)
    return outputs


def random_input(shape, dtype=np.float32):
    return np.random.default_rng(7).uniform(-1, 1, shape).astype(dtype)


@needs_models
def test_mnist():
    assert_same(MODELS / "mnist.onnx", {"Input3": 255 * random_input((1, 1, 28, 28))}, 1e-4, 1e-2)


@needs_models
def test_mnist_names_a_digit():
    image = lanner.load_image(MODELS / "digit_9.pgm")
    pixels = np.asarray(image.to_tensor(layout="nchw", dtype="float32", channels="gray", range=(0, 255)))
    (scores,) = onnx_backend.prepare(MODELS / "mnist.onnx").run([pixels.reshape(1, 1, 28, 28)])
    assert scores.argmax() == 9


@needs_models
def test_squeezenet_in_half_precision():
    path = MODELS / "squeezenet_fp16.onnx"
    (name,) = [binding.name for binding in lanner.build(path, budget=0).inputs]
    image = 100 * random_input((1, 3, 224, 224), np.float16)
    assert_same(path, {name: image}, 0.02, 2e-3)


@needs_models
@pytest.mark.parametrize("batch", [1, 3])
def test_basic_pitch_for_any_batch(batch):
    path = MODELS / "basic_pitch" / "model.onnx"
    assert_same(path, {"serving_default_input_2:0": random_input((batch, WINDOW, 1))}, 1e-3, 1e-4)


def half_the_rate(samples):
    """Every second sample after a low-pass filter."""
    places = np.arange(-255, 256)
    taps = np.sinc(0.485 * places) * np.kaiser(len(places), 10)
    return np.convolve(samples, taps / taps.sum(), "same")[::2].astype(np.float32)


def windows_of(samples):
    padded = np.concatenate([np.zeros(OVERLAP // 2, np.float32), samples])
    starts = range(0, len(padded), WINDOW - OVERLAP)
    return np.stack([np.pad(padded[i : i + WINDOW], (0, max(0, i + WINDOW - len(padded)))) for i in starts])[..., None]


@needs_models
def test_basic_pitch_agrees_with_recorded_results():
    folder = MODELS / "basic_pitch"
    with wave.open(str(folder / "vocadito_10.wav")) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768
    recorded = np.load(folder / "golden_output.npz", allow_pickle=True)["arr_0"].item()
    outputs = onnx_backend.prepare(folder / "model.onnx").run([windows_of(half_the_rate(samples))])
    for name, output in zip(["onset", "note", "contour"], outputs, strict=True):
        frames = output[:, 15:-15].reshape(-1, output.shape[-1])[: len(recorded[name])]
        # The recorded results were computed with another resampling filter.
        np.testing.assert_allclose(frames, recorded[name], rtol=0, atol=0.01)


@pytest.mark.parametrize("batch", [1, 2])
def test_network_of_the_demo(batch):
    assert_same(ROOT / "demo" / "shapes.onnx", {"input": random_input((batch, 3, 192, 320))}, 1e-3, 1e-4)
