"""Converted models inside TensorFlow: liblanner-tensorflow.so and lanner.tf.register(). The cases are those of inside_cases.py,
in the Python of LANNER_TENSORFLOW_PYTHON and, where it is given, of LANNER_TENSORFLOW_OLDEST_PYTHON (TensorFlow 2.15)."""

import ctypes
import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from samples import sampled
from tensorflow_python import PYTHON, needs_tensorflow

import lanner

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
LIBRARY = ROOT / "build" / "lib" / "liblanner-tensorflow.so"
SHARED = ROOT.parent / "shared" / "data" / "models"
PYTHONS = {"newest": PYTHON, "oldest": os.environ.get("LANNER_TENSORFLOW_OLDEST_PYTHON")}
PARTS = [(HERE / f"inside_{part}.py").read_text() for part in ("engines", "native", "files", "foreign", "calibration")]
CASES = [name for part in PARTS for name in re.findall(r"^def (case_\w+)", part, re.MULTILINE)]
FORMS = re.findall(r'"(\w+)"', re.search(r"^FORMS = (.*)", (HERE / "engine_models.py").read_text(), re.MULTILINE)[1])
CASES += [f"case_form_{form}" for form in FORMS]
CASES_IN = {"newest": CASES, "oldest": sampled(CASES, every=2)}


def environment(folder):
    """For TensorFlow's Python: the package under test, and of this Python's packages the one that it needs."""
    import nanobind_backend

    packages = folder / "packages"
    packages.mkdir()
    (packages / "nanobind_backend").symlink_to(Path(nanobind_backend.__file__).parent)
    return os.environ | {"PYTHONPATH": f"{ROOT / 'build' / 'python'}:{packages}", "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Of a release of TensorFlow, which runs all of its cases in one process."""
    return functools.cache(lambda release: results_of(release, tmp_path_factory.mktemp("inside")))


def results_of(release, folder):
    command = [PYTHONS[release], HERE / "inside_cases.py", folder, SHARED, *CASES_IN[release]]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment(folder), cwd=HERE)
    if not (folder / "done").exists():
        done = list(json.loads((folder / "results.json").read_text())) if (folder / "results.json").exists() else []
        return {"failed": f"TensorFlow's Python ended with {run.returncode} after {done}: {run.stderr[-4000:]}"}
    return json.loads((folder / "results.json").read_text())


@pytest.mark.parametrize(("release", "case"), [(release, case) for release in PYTHONS for case in CASES_IN[release]])
def test_inside_tensorflow(results, release, case):
    if not PYTHONS[release]:
        pytest.skip(f"no Python with the {release} TensorFlow: LANNER_TENSORFLOW_PYTHON, LANNER_TENSORFLOW_OLDEST_PYTHON")
    found = results(release)
    assert "failed" not in found, found["failed"]
    assert found[case] is None, f"TensorFlow {found['version']}: {found[case]}"


@needs_tensorflow
def test_a_converted_model_runs_through_the_c_api(tmp_path):
    """TF_LoadLibrary, TF_LoadSessionFromSavedModel and TF_SessionRun of TensorFlow's own libraries, without its Python package."""
    where = "import importlib.util as u; print(u.find_spec('tensorflow').submodule_search_locations[0])"
    tensorflow = subprocess.run([PYTHON, "-c", where], capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    subprocess.run([PYTHON, HERE / "saved_models.py", tmp_path], check=True, capture_output=True, timeout=300)
    model = lanner.tf.convert(tmp_path / "keras", budget=0, denied_operators=["Relu6"])
    model.save(tmp_path / "converted")
    x = np.random.default_rng(0).normal(size=(3, 16, 16, 3)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x)
    (engine,) = [part for part in model.parts if part["engine"] and part["outputs"][0].shape[-1] == 5]
    input_name = model.inputs[0].name
    (expected,) = model({input_name: x}).values()
    arguments = [tensorflow, LIBRARY, tmp_path / "converted", graph_name(tmp_path / "converted"), engine["name"], tmp_path / "data.npz"]
    run = subprocess.run([PYTHON, HERE / "inside_c_api.py", *arguments], capture_output=True, text=True, timeout=120, env=os.environ | {"CUDA_VISIBLE_DEVICES": ""})
    assert run.returncode == 0, run.stderr[-3000:]
    np.testing.assert_allclose(np.load(tmp_path / "data.npz.y.npy"), np.asarray(expected), rtol=1e-5, atol=1e-6)


def graph_name(folder):
    """The name of the model's only placeholder, besides those of its segments."""
    names = set(re.findall(rb"\n.([\w/]+)\x12\x0bPlaceholder", (folder / "saved_model.pb").read_bytes()))
    (name,) = [name.decode() for name in names if not name.startswith(b"TensorRT")]
    return name


def test_the_library_needs_no_tensorflow():
    """It is linked without TensorFlow, shows what TensorFlow and lanner.tf call, and loads where there is no TensorFlow."""
    symbols = subprocess.run(["nm", "-D", LIBRARY], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line for line in symbols if " U TF" in line] == []
    shown = {line.split()[-1] for line in symbols if line.split()[-2] in "TDBVW" and not line.split()[-1].startswith("_")}
    assert shown == {"TF_InitKernel", *(f"lanner_tensorflow_{name}" for name in ("free", "set", "state", "statistics"))}
    needed = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
    assert not re.search(r"NEEDED.*(tensorflow|protobuf|absl)", needed)
    library = ctypes.CDLL(str(LIBRARY))
    library.lanner_tensorflow_state.restype = ctypes.c_void_p
    state = json.loads(ctypes.string_at(library.lanner_tensorflow_state()))
    assert "this process has no TensorFlow" in state["error"] and state["operators"] == []
    library.lanner_tensorflow_statistics.restype = ctypes.c_char_p
    assert json.loads(library.lanner_tensorflow_statistics()) == []


@needs_tensorflow
def test_the_library_may_be_loaded_before_tensorflow(tmp_path):
    script = f"import ctypes\nctypes.CDLL({str(LIBRARY)!r})\nimport lanner\nprint(lanner.tf.register())"
    run = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, timeout=120, env=environment(tmp_path))
    assert run.returncode == 0 and run.stdout.startswith("2."), run.stderr[-2000:]


@pytest.mark.parametrize(
    "version, message", [(None, "cannot be imported"), ("2.14.1", "TensorFlow 2.14.1; expected 2.15"), ("3.0.0", "TensorFlow 3.0.0; expected 2.15")]
)
def test_a_missing_or_unknown_tensorflow_is_one_line(tmp_path, version, message):
    if version:
        (tmp_path / "tensorflow.py").write_text(f"__version__ = {version!r}\n")
    else:
        (tmp_path / "tensorflow.py").write_text("raise ImportError('there is none')\n")
    script = "import lanner\nassert lanner.tf.engine_statistics() == []\ntry:\n    lanner.tf.register()\nexcept lanner.Unsupported as error:\n    print(error)"
    paths = os.environ | {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, env=paths)
    assert run.returncode == 0, run.stderr
    assert message in run.stdout and run.stdout.count("\n") == 1, run.stdout
