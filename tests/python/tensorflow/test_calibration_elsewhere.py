"""INT8 calibration of a model that only TensorFlow can run, where the process has no TensorFlow: by a child process."""

import functools
import importlib.util
import re
import subprocess
import sys
from math import lgamma
from pathlib import Path

import numpy as np
import pytest
from command import refuse, succeed
from interpreters import name_interpreter
from tensorflow_python import PYTHON, needs_tensorflow

lanner = pytest.importorskip("lanner")
numpy_files = pytest.importorskip("safetensors.numpy")

without_tensorflow = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is not None, reason="this Python has TensorFlow")
HERE = Path(__file__).parent
X = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)
BATCHES = [{"x": X[start : start + 4]} for start in (0, 4, 8)]


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """The folder of temporary files, in which nothing may stay."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def type_of(name="T"):
    return f'attr {{ key: "{name}" value {{ type: DT_FLOAT }} }}'


@pytest.fixture
def model(tmp_path):
    """x -> MatMul -> Sigmoid -> Lgamma -> MatMul, a frozen GraphDef."""
    nodes = [f'node {{ name: "x" op: "Placeholder" {type_of("dtype")} attr {{ key: "shape" value {{ shape {{ dim {{ size: -1 }} dim {{ size: 4 }} }} }} }} }}']
    for name, seed in (("first", 1), ("last", 2)):
        values = " ".join(f"float_val: {value:.6f}" for value in np.random.default_rng(seed).normal(size=16))
        tensor = f"tensor {{ dtype: DT_FLOAT tensor_shape {{ dim {{ size: 4 }} dim {{ size: 4 }} }} {values} }}"
        nodes.append(f'node {{ name: "{name}_weights" op: "Const" {type_of("dtype")} attr {{ key: "value" value {{ {tensor} }} }} }}')
    for name, op, *inputs in (("first", "MatMul", "x", "first_weights"), ("squashed", "Sigmoid", "first"), ("odd", "Lgamma", "squashed"), ("y", "MatMul", "odd", "last_weights")):
        nodes.append(f'node {{ name: "{name}" op: "{op}" {" ".join(f"input: {chr(34)}{each}{chr(34)}" for each in inputs)} {type_of()} }}')
    (tmp_path / "model.pbtxt").write_text("\n".join(nodes))
    return tmp_path / "model.pbtxt"


def ranges(folder):
    """Of what each engine's product reads."""
    tables = re.findall(rb"lanner calibration 1\n(?:\"?[\w/:%.]+\"? least=[^\n]+\n)+", (folder / "saved_model.pb").read_bytes())
    found = [lanner.CalibrationTable.parse(table).ranges for table in tables]
    return sorted((each["TensorRTInputPH_0"] for each in found if len(each) == 1), key=lambda range_: range_.least)


@pytest.fixture
def interpreter(tmp_path, monkeypatch):
    return functools.partial(name_interpreter, tmp_path, monkeypatch)


OPTIONS = {"precision": "int8", "budget": 0, "minimum_segment_size": 1}


@without_tensorflow
@pytest.mark.parametrize("python", ["/nowhere/python", sys.executable])
def test_the_refusal_says_what_helps(model, python, monkeypatch, tmp_path):
    monkeypatch.setenv("LANNER_KERAS_PYTHON", python)
    with pytest.raises(lanner.Unsupported) as raised:
        lanner.tf.convert(model, calibration_data=BATCHES, **OPTIONS)
    numpy_files.save_file({"x": X}, tmp_path / "samples.safetensors")
    said = refuse("convert", model, "--precision", "int8", "--calibrate", tmp_path / "samples.safetensors", "--min-segment", "1", "--budget", "0")
    for message in (str(raised.value), said):
        for part in (python, "inside TensorFlow", "LANNER_KERAS_PYTHON", "pip install tensorflow-cpu", "the ranges of a table", "Lgamma (odd)"):
            assert part in message, message
        assert "\n" not in message
    assert lanner.tf.convert(model, ranges={"TensorRTInputPH_0": (-1, 1)}, **OPTIONS).needs_tensorflow  # no run


@without_tensorflow
@pytest.mark.parametrize(
    "script, error, parts",
    [
        ("echo 'batch 1: TensorFlow cannot run it: sizes'; exit 3", lanner.InvalidArgument, ["calibration: batch 1: TensorFlow cannot run it: sizes"]),
        ("echo oh; exit 9", lanner.Unsupported, ["ended with code 9: oh"]),
        ("kill -9 $$", lanner.Unsupported, ["ended with signal 9"]),
        ("exit 0", lanner.NotFound, ["result_0.safetensors"]),
        ("echo no > $3/result_0.safetensors; exit 0", lanner.BadData, ["result_0.safetensors"]),
    ],
)
def test_an_interpreter_that_fails_is_one_error(model, interpreter, script, error, parts):
    interpreter(script)
    with pytest.raises(error) as raised:
        lanner.tf.convert(model, calibration_data=BATCHES, **OPTIONS)
    assert all(part in str(raised.value) for part in parts) and "\n" not in str(raised.value), raised.value


@needs_tensorflow
@without_tensorflow
def test_a_child_process_calibrates_as_tensorflow_in_the_process(model, tmp_path, monkeypatch):
    monkeypatch.setenv("LANNER_KERAS_PYTHON", PYTHON)
    numpy_files.save_file({"x": X}, tmp_path / "samples.safetensors")
    lanner.tf.convert(model, calibration_data=BATCHES, **OPTIONS).save(tmp_path / "python")
    succeed(
        *("convert", model, "-o", tmp_path / "command", "--precision", "int8", "--calibrate", tmp_path / "samples.safetensors"),
        *("--min-segment", "1", "--budget", "0"),
    )
    given, inner = found = ranges(tmp_path / "python")
    weights = np.random.default_rng(1).normal(size=16).reshape(4, 4).astype(np.float32)
    odd = np.vectorize(lgamma, otypes=[float])(1 / (1 + np.exp(-X @ weights)))
    assert (given.least, given.most) == (X.min(), X.max())
    np.testing.assert_allclose([inner.least, inner.most], [odd.min(), odd.max()], rtol=0.01)
    assert ranges(tmp_path / "command") == found  # batches have other sizes there


@needs_tensorflow
@without_tensorflow
def test_a_batch_that_tensorflow_cannot_run_is_named(model, monkeypatch):
    monkeypatch.setenv("LANNER_KERAS_PYTHON", PYTHON)
    with pytest.raises(lanner.InvalidArgument, match="batch 3: TensorFlow cannot run it") as raised:
        lanner.tf.convert(model, calibration_data=[*BATCHES, {"x": X[:, :3]}], **OPTIONS)
    assert "\n" not in str(raised.value)


def test_the_program_of_the_child_is_python():
    text = (HERE.parents[2] / "src" / "tf" / "convert" / "calibration_script.cpp").read_text()
    script = text.split('R"python(')[1].split(')python"')[0]
    assert subprocess.run([sys.executable, "-c", f"compile({script!r}, 'script', 'exec')"], check=False).returncode == 0
