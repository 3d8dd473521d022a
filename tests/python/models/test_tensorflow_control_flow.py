"""Frozen graphs of TensorFlow with control flow of both versions: the answers are TensorFlow's."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from tensorflow_python import PYTHON, needs_tensorflow

import lanner

WRITER = Path(__file__).parents[1] / "support" / "tensorflow_control_flow.py"

pytestmark = needs_tensorflow


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("control_flow")
    done = subprocess.run([PYTHON, WRITER, folder], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def differences(folder, name):
    """The largest difference from TensorFlow's answer to each input, by the answer's largest number."""
    recorded = np.load(folder / f"{name}.npz")
    output = "y" if name in VERSION_1 else "Identity"
    engine = lanner.build(folder / f"{name}.pb", budget=0, threads=1, outputs=[output])
    for i in range(sum(key.startswith("y") for key in recorded)):
        given = {key.removeprefix(f"{i}_"): recorded[key] for key in recorded if key.startswith(f"{i}_")}
        answer, expected = np.asarray(engine(given)[output]), recorded[f"y{i}"]
        assert answer.shape == expected.shape
        yield float(np.abs(answer - expected).max() / np.abs(expected).max())


VERSION_1 = [
    "branches", "constant_branches", "several_results", "nested_branches", "branches_in_a_row", "cases_in_order", "loop", "loop_of_given_length",
    "nested_loops", "branches_in_a_loop", "branches_in_a_condition", "loop_in_a_branch", "loop_that_grows", "mapped", "folded",
    "array_written_backwards", "recurrent_lstm", "recurrent_gru_open", "recurrent_lengths",
]


@pytest.mark.parametrize("name", VERSION_1)
def test_control_flow_of_version_1_gives_what_tensorflow_gives(models, name):
    assert max(differences(models, name)) < 1e-5


VERSION_2 = ["chosen_by_number", "array_that_grows", "array_written_in_branches", "array_read_in_the_loop", "scanned_backwards"]


@pytest.mark.parametrize("lowered", ["", "_lowered"])
@pytest.mark.parametrize("name", VERSION_2)
def test_functions_give_what_tensorflow_gives(models, name, lowered):
    assert max(differences(models, name + lowered)) < 1e-5


@pytest.mark.parametrize("lowered", ["", "_lowered"])
@pytest.mark.parametrize("name", ["keras_lstm", "keras_stack_open", "keras_both_ways", "keras_masked"])
def test_recurrent_layers_of_keras_give_what_keras_gives(models, name, lowered):
    assert max(differences(models, name + lowered)) < 1e-5
