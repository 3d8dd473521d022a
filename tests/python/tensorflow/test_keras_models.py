"""Keras' files, exported by Keras itself in a child process."""

import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command import refuse, succeed
from tensorflow_python import PYTHON, needs_tensorflow

import lanner

pytestmark = needs_tensorflow


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keras")
    made = subprocess.run([PYTHON, Path(__file__).with_name("keras_models.py"), folder], capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr[-4000:]
    return folder, pickle.loads((folder / "answers.pickle").read_bytes())


@pytest.fixture(autouse=True)
def interpreter(monkeypatch, tmp_path):
    monkeypatch.setenv("LANNER_KERAS_PYTHON", PYTHON)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    yield
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("name", ["m.keras", "m.h5"])
def test_answers_are_those_of_keras(models, tmp_path, name):
    folder, (x, y) = models
    engine = lanner.build(folder / name, budget=0)
    assert [binding.name for binding in engine.inputs] == ["image"]
    np.testing.assert_allclose(np.asarray(*engine({"image": x}).values()), y, rtol=1e-5, atol=1e-6)
    model = lanner.tf.convert(folder / name, budget=0)
    assert model.share == 1
    np.testing.assert_allclose(np.asarray(*model({"image": x}).values()), y, rtol=1e-5, atol=1e-6)
    model.save(tmp_path / "converted")
    np.testing.assert_allclose(np.asarray(*lanner.tf.load(tmp_path / "converted")({"image": x}).values()), y, rtol=1e-5, atol=1e-6)


def test_every_command_takes_a_keras_file(models, tmp_path):
    path = models[0] / "m.keras"
    assert "image: f32[batch, 16, 16, 3]" in succeed("probe", path)
    assert "per second" in succeed("bench", path, "--duration", "10ms", "--budget", "0")
    assert "throughput" in succeed("tf", "eval", path, "--data", "synthetic", "--runs", "2", "--budget", "0")
    (tmp_path / "a.ppm").write_bytes(b"P6 16 16 255\n" + bytes(768))
    assert "class" in succeed("run", path, "-i", tmp_path / "a.ppm", "--preset", "imagenet-tf", "--budget", "0")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lambda.keras", "has a Lambda, whose code is not run"),
        ("lambda.h5", "has a Lambda, whose code is not run"),
        ("module.keras", "system of os is not Keras' own"),
        ("function.keras", "function of keras.utils is not Keras' own"),
        ("vocabulary.keras", "reads its vocabulary from another file"),
        ("deep.keras", "nested more than 200 deep"),
        ("link.h5", "is a link to another file"),
        ("external.h5", "are in another file"),
        ("only.weights.h5", "without a network"),
    ],
)
def test_files_with_code_or_ways_out_are_refused(models, tmp_path, name, said):
    assert said in refuse("build", models[0] / name, "-o", tmp_path / "m.plan")
    assert not (models[0] / "run").exists()
