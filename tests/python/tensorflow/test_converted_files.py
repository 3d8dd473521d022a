"""Plan, ONNX and event files of networks that TensorFlow exported."""

import json
import pickle
import subprocess
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from command import refuse, succeed
from tensorflow_python import PYTHON, needs_tensorflow

import lanner

pytestmark = needs_tensorflow
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    made = subprocess.run([PYTHON, HERE / "saved_models.py", folder], capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr[-4000:]
    answers = pickle.loads((folder / "answers.pickle").read_bytes())["keras"]
    return folder / "keras", answers["inputs"][0], answers["outputs"][0]


def test_plan_and_onnx_give_tensorflows_answers(network, tmp_path):
    folder, x, y = network
    succeed("convert", folder, "--plan", tmp_path / "m.plan", "--onnx", tmp_path / "m.onnx", "--budget", "0")
    plan = lanner.load(tmp_path / "m.plan")
    np.testing.assert_allclose(np.asarray(plan({"picture": x})["output_0"]), y, rtol=1e-5, atol=1e-6)
    (got,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(["output_0"], {"picture": x})
    np.testing.assert_allclose(got, y, rtol=1e-5, atol=1e-6)
    engine = lanner.build(tmp_path / "m.onnx", budget=0)
    np.testing.assert_allclose(np.asarray(engine({"picture": x})["output_0"]), y, rtol=1e-5, atol=1e-6)


def test_tensorflow_reads_the_event_files(network, tmp_path):
    lanner.tf.convert(network[0], budget=0, denied_operators=["Softmax"]).write_events(tmp_path)
    read = subprocess.run([PYTHON, HERE / "event_files.py", tmp_path], capture_output=True, text=True, timeout=300)
    assert read.returncode == 0, read.stderr[-4000:]
    found = json.loads(read.stdout)
    before, after = found["before"], found["after"]
    assert sum(op == "Conv2D" for _, op, _ in before) == 2 and len(after) < len(before)
    assert [op for _, op, _ in after if op not in ("Placeholder", "Identity")] == ["Softmax", "TRTEngineOp"]
    shapes = {op: shape for _, op, shape in before}
    assert shapes["Softmax"] == ["(None, 5)"] and shapes["Conv2D"] == ["(None, 16, 16, 8)"]


def test_onnx_refuses_control_flow_by_name(network, tmp_path):
    folder = network[0].parent / "signatures"
    said = refuse("convert", folder, "--signature", "branches", "--onnx", tmp_path / "m.onnx", "--budget", "0")
    assert "ONNX has no form for " in said and not (tmp_path / "m.onnx").exists()
