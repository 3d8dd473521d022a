"""`lanner.compat.trt_convert` and `python -m lanner.compat` with TensorFlow in the process, which runs what is converted.

The cases are scripts of users: trt_convert_cases.py in TensorFlow 2, trt_convert_cases_1.py as TensorFlow 1; and the
examples of NVIDIA's guide, whose text lies beside the project.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from samples import ALL
from tensorflow_cases import environment, names_of, results_of
from tensorflow_python import PYTHON, needs_tensorflow
from tf_trt_guide import GUIDE, REPAIRS

pytest.importorskip("lanner")

HERE = Path(__file__).parent
CASES = HERE / "trt_convert"
FILES = {"trt_convert_cases.py": [], "trt_convert_cases_1.py": ["--tf1"], "trt_guide_cases.py": [], "trt_guide_cases_1.py": ["--tf1"]}
PYTHONS = {"newest": PYTHON, "oldest": os.environ.get("LANNER_TENSORFLOW_OLDEST_PYTHON")}
_results = {}


@pytest.mark.parametrize(("release", "file", "case"), [(release, file, case) for release in PYTHONS for file in FILES for case in names_of(CASES / file)])
def test_a_script_of_a_user(release, file, case, tmp_path_factory):
    if not PYTHONS[release]:
        pytest.skip(f"no Python with the {release} TensorFlow: LANNER_TENSORFLOW_PYTHON, LANNER_TENSORFLOW_OLDEST_PYTHON")
    if "guide" in file and not GUIDE.exists():
        pytest.skip("no ../shared/reference")
    key = release, file
    if key not in _results:
        _results[key] = results_of(PYTHONS[release], CASES / file, tmp_path_factory.mktemp("cases"), *FILES[file])
    assert _results[key][case] == "", _results[key][case]


def test_the_page_lists_every_repair_of_the_guide():
    page = (HERE.parents[2] / "docs" / "tf-trt.md").read_text()
    for _, _, repair in REPAIRS:
        assert repair in page, repair


PARTS = 4
RUNS = {"2": [46, 46, 40, 40], "1": [35, 41, 31, 36]}
"""Runs of networks of trt_integration_networks.py in the modes of each TensorFlow, by part."""
SAMPLE = [("2", 0), ("1", 1), ("1", 2), ("1", 3)]
"""Each network in the modes of one TensorFlow, but for reductions_over_batch_and_rest, which needs those of TensorFlow 2: they take
three times as long."""


@needs_tensorflow
@pytest.mark.parametrize(("modes", "part"), [(modes, part) for modes in RUNS for part in range(PARTS)] if ALL else SAMPLE)
def test_the_integration_tests_of_tensorflow_run(modes, part, tmp_path):
    """Its base class makes models, converts, builds, saves, loads and runs them in each mode: with implicit batch and with profiles in
    TensorFlow 2, with static and dynamic engines in TensorFlow 1, where conversions inside a session are left out."""
    file, flags = {"2": ("trt_integration.py", []), "1": ("trt_integration_1.py", ["--tf1"])}[modes]
    results = results_of(PYTHON, CASES / file, tmp_path, *flags, arguments=(part, PARTS), seconds=900)
    assert results == {"ran": RUNS[modes][part], "failed": []}


INSTALLED = """
import tensorflow as tf
from tensorflow.python.compiler.tensorrt import trt_convert
before = trt_convert.__name__
import lanner.compat
lanner.compat.install()
lanner.compat.install()
from tensorflow.python.compiler.tensorrt import trt_convert
import tensorflow.contrib.tensorrt as contrib
print(before, trt_convert.__name__, tf.experimental.tensorrt.Converter is trt_convert.TrtGraphConverterV2, contrib.__name__)
"""


@needs_tensorflow
def test_a_program_may_install_the_names_after_tensorflow(tmp_path):
    done = subprocess.run([PYTHON, "-c", INSTALLED], env=environment(tmp_path), capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == [
        "tensorflow.python.compiler.tensorrt.trt_convert",
        "lanner.compat.trt_convert",
        "True",
        "lanner.compat.tensorflow_names.contrib.tensorrt",
    ]


def test_without_tensorflow_there_are_the_parameters():
    from lanner.compat import trt_convert

    assert trt_convert.TrtConversionParams(precision_mode="fp16").precision_mode == "fp16"
    with pytest.raises(ValueError, match="precision mode 'x' is not supported"):
        trt_convert.TrtGraphConverterV2("model", precision_mode="x")


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is not None, reason="this Python has TensorFlow")
def test_tf1_needs_tensorflow(tmp_path):
    import lanner

    (tmp_path / "script.py").write_text("")
    path = {**os.environ, "PYTHONPATH": str(Path(lanner.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-m", "lanner.compat", "--tf1", tmp_path / "script.py"], env=path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--tf1: TensorFlow is not installed in this Python" in done.stderr.splitlines()[-1]
