"""The table of operators' results is the one that TensorFlow's registry gives."""

import subprocess
from pathlib import Path

from tensorflow_python import PYTHON, needs_tensorflow

HERE = Path(__file__).parent


@needs_tensorflow
def test_the_table_is_up_to_date():
    written = subprocess.run([PYTHON, HERE / "operator_results.py"], capture_output=True, text=True, check=True, timeout=120).stdout
    table = HERE.parents[2] / "src" / "importers" / "tensorflow" / "operator_results.inc"
    assert written == table.read_text(), "write it again: operator_results.py > operator_results.inc"
