"""TensorFlow's operators, each with types, attribute values and open sizes, against the answers of TensorFlow itself.

LANNER_TENSORFLOW_PYTHON names a Python with TensorFlow, which makes the graphs and the answers of all cases in one
process. LANNER_WRITE_TENSORFLOW_SAMPLES=1 writes the cases that the compiled tests run without TensorFlow.
"""

import math
import os
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
from operator_cases import FAMILIES, TOLERANCE, all_cases
from sample_files import write_samples
from tensorflow_python import PYTHON, needs_tensorflow

import lanner

HERE = Path(__file__).parent
CASES = all_cases()


def wanted_cases(items):
    """Those of the tests that run; the files of samples are of all cases of their families."""
    found = set()
    for item in items:
        if item.path != Path(__file__):
            continue
        given = getattr(getattr(item, "callspec", None), "params", {})
        found |= {given["case"].name} if "case" in given else set()
        found |= {case.name for case in CASES if case.family == given.get("family")}
    return found


@pytest.fixture(scope="module")
def oracle(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tensorflow")
    names = "\n".join(sorted(wanted_cases(request.session.items)))
    made = subprocess.run([PYTHON, HERE / "oracle.py", folder], input=names, capture_output=True, text=True, timeout=550)
    assert made.returncode == 0, made.stderr[-4000:]
    with (folder / "answers.pickle").open("rb") as file:
        return folder, pickle.load(file)


def compare(name, got, expected, tolerance):
    got = np.asarray(got)
    assert got.shape == expected.shape, f"{name}: shape {got.shape}, expected {expected.shape}"
    if expected.dtype.kind in "OSU":
        texts = [one.decode() if isinstance(one, bytes) else one for one in expected.ravel()]
        assert [str(one) for one in got.ravel()] == texts, name
        return
    assert got.dtype == expected.dtype, f"{name}: type {got.dtype}, expected {expected.dtype}"
    if got.dtype.name not in TOLERANCE:
        np.testing.assert_array_equal(got, expected, err_msg=name)
        return
    relative = tolerance or TOLERANCE[got.dtype.name]
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    finite = np.abs(expected[np.isfinite(expected)])
    # Of sums the largest terms decide, so that near 0 the whole tensor's size counts.
    absolute = relative * 0.05 * (finite.max() if finite.size else 0)
    np.testing.assert_allclose(got, expected, rtol=relative, atol=absolute, err_msg=name)


@needs_tensorflow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_operator(oracle, case):
    folder, made = oracle
    record = made["cases"][case.name]
    assert not record["error"], f"TensorFlow refuses the case: {record['error']}"
    for graph in record["graphs"]:
        if case.refused:
            with pytest.raises(lanner.Error, match=case.refused):
                lanner.build(folder / graph, budget=0, threads=1)
            continue
        engine = lanner.build(folder / graph, budget=0, threads=1)
        got = engine({name: value for name, value in record["feeds"].items()})
        unread = {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "_FusedBatchNormEx"}
        if case.op not in unread:
            assert set(got) == set(record["answers"]), "names of outputs"
        for name, value in got.items():
            compare(name, value, record["answers"][name], case.tolerance)


def is_close(word, expected):
    """Two numbers that differ in rounding: processors differ in the last digits of TensorFlow's answers."""
    try:
        return math.isclose(float(word.strip(",")), float(expected.strip(",")), rel_tol=1e-3, abs_tol=1e-5)
    except ValueError:
        return False


@needs_tensorflow
@pytest.mark.parametrize("family", FAMILIES)
def test_compiled_samples_are_current(oracle, family):
    _, made = oracle
    path = HERE.parents[1] / "importers" / "tensorflow_samples" / f"{family}.txt"
    text = write_samples([case for case in CASES if case.family == family], made)
    if os.environ.get("LANNER_WRITE_TENSORFLOW_SAMPLES"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    words, wanted = path.read_text().split(), text.split()
    assert len(words) == len(wanted), "LANNER_WRITE_TENSORFLOW_SAMPLES=1 writes it"
    for word, expected in zip(words, wanted, strict=True):
        assert word == expected or is_close(word, expected), "LANNER_WRITE_TENSORFLOW_SAMPLES=1 writes it"
