"""Operator definitions agree with onnxruntime, onnx.reference and PyTorch. To run all cases: tests/definitions/run.py."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="models are built with onnx")
pytest.importorskip("onnxruntime", reason="results are compared with onnxruntime")
pytest.importorskip("lanner")

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from definitions import check, oracles  # noqa: E402
from definitions.case import C, every_case, schemas, uncovered  # noqa: E402
from definitions.differences import DIFFERENCES, REFUSED  # noqa: E402
from samples import sampled  # noqa: E402

EVERY = 12  # A sample of the 4,800 cases, which takes seconds.

# Cases of past defects, and what was wrong.
PAST = {
    r"Resize-19\(.*float32\[4\]\){mode=linear,coordinate_transformation_mode=align_corners}#1": "a fraction for the output's length",
    r"Resize-11\(.*{mode=nearest,coordinate_transformation_mode=align_corners}#1": "a fraction for the output's length",
    r"GridSample-20\(.*\[2,3,5,6\].*mode=cubic,padding_mode=border": "the position was clamped, not the elements",
    r"GridSample-16\(.*mode=bicubic,padding_mode=reflection": "the position was clamped, not the elements",
    r"RoiAlign-10\(": "regions were shifted by half a pixel",
    r"MaxUnpool-11\(.*int64\[4\]": "indices referred to another shape",
    r"NonMaxSuppression-1[01]\(.*center_point_box=0": "a score equal to the threshold was kept",
    r"LSTM-14\(.*clip=0.5": "the cell's state was clipped too",
    r"Constant-13\(\){value_strings?=": "string outputs were empty",
    r"Softmax-13\(float32\[2,4\]\)": "a NaN in a row",
}


def cases(pattern):
    found = [case for case in every_case() if re.match(pattern, case.name)]
    assert found, pattern
    return found


@pytest.mark.parametrize("pattern", PAST)
def test_past_defects_stay_fixed(pattern):
    verdicts = [check.judge(case) for case in cases(pattern)]
    assert any(verdict and oracles.RUNTIME in verdict.agreed for verdict in verdicts), "onnxruntime was not used"
    assert [str(verdict) for verdict in verdicts if verdict and verdict.failed] == []


@pytest.mark.parametrize("part", range(4))
def test_a_sample_of_all_definitions(part):
    sample = sampled(every_case(), EVERY)[part::4]
    verdicts = [verdict for verdict in map(check.judge, sample) if verdict]
    assert len(verdicts) > 0.9 * len(sample)
    assert [str(verdict) for verdict in verdicts if verdict.failed] == []


def test_every_operator_version_and_attribute_has_a_case_or_a_reason():
    assert uncovered() == []
    assert len({(case.operator, case.version) for case in every_case()}) > 400


def test_an_attribute_without_a_case_is_reported(monkeypatch):
    from definitions import case as module

    monkeypatch.setitem(module.OPERATORS, "Gelu", lambda version: [C(np.zeros(3, np.float32))])
    assert "Gelu-20.approximate" in uncovered()


@pytest.mark.parametrize("name", ["Softmax", "Identity", "TopK"])
def test_a_wrong_answer_is_found(monkeypatch, name):
    right = oracles.by_lanner
    monkeypatch.setattr(check, "by_lanner", lambda case, model: [y + y.dtype.type(1) for y in right(case, model)])
    case = cases(rf"{name}-13\(" if name != "TopK" else r"TopK-11\(.*axis=0")[0]
    verdict = check.judge(case)
    assert verdict.failed and oracles.RUNTIME in verdict.differs


def test_a_refusal_is_found(monkeypatch):
    def refuse(case, model):
        raise RuntimeError("it does not build")

    monkeypatch.setattr(check, "by_lanner", refuse)
    assert check.judge(cases(r"Relu-13\(")[0]).refused == "it does not build"


def test_entries_of_differences_name_operators_and_reasons():
    for entry in [*DIFFERENCES, *REFUSED]:
        assert set(entry.operators) <= set(schemas()) and entry.reason


def test_torch_is_used_where_it_is_installed():
    pytest.importorskip("torch", reason="PyTorch is optional")
    asked = [r"Resize-19\(.*mode=linear,coordinate_transformation_mode=align_corners", r"GridSample-16\(", r"MaxUnpool-11\(", r"Conv-11\("]
    for pattern in asked:
        verdicts = [check.judge(case) for case in cases(pattern)]
        assert any(verdict and oracles.TORCH in verdict.agreed for verdict in verdicts), pattern
        assert [str(verdict) for verdict in verdicts if verdict and verdict.failed] == []
