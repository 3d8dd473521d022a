"""Keras layers and functions of TensorFlow, frozen by TensorFlow with open batches, against its own answers."""

import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tensorflow_python import PYTHON, needs_tensorflow

import lanner

HERE = Path(__file__).parent
TABLE = {"resize bicubic": 1e-3}  # TensorFlow reads cubic weights from a table
# Read as text: layer_models.py imports TensorFlow.
NAMES = [
    line.split('"')[1]
    for line in (HERE / "layer_models.py").read_text().splitlines()
    if line.startswith('    "') and '": (' in line
]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layers")
    made = subprocess.run([PYTHON, HERE / "layer_models.py", folder], capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr[-4000:]
    return folder, pickle.loads((folder / "models.pickle").read_bytes())


@needs_tensorflow
@pytest.mark.parametrize("name", NAMES)
def test_layer(models, name):
    folder, made = models
    record = made[name]
    assert "error" not in record, record.get("error")
    engine = lanner.build(folder / record["path"], budget=0, threads=1, outputs=[record["output"]])
    (got,) = engine({engine.inputs[0].name: record["x"]}).values()
    assert np.asarray(got).dtype == record["y"].dtype
    np.testing.assert_allclose(np.asarray(got), record["y"], rtol=2e-5, atol=TABLE.get(name, 1e-5))
