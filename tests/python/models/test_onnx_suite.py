"""ONNX's own suite still has the results listed in docs/onnx-suite.md; a sample of it, which every operator is in."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from samples import ALL

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "tests" / "onnx_suite.py"
EVERY = 3


@pytest.fixture(scope="module")
def suite():
    spec = importlib.util.spec_from_file_location("onnx_suite", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def cases(suite):
    return suite.load_cases()


@pytest.mark.timeout(1800)
def test_cases_that_passed_still_pass():
    sample = [] if ALL else ["--sample", str(EVERY)]
    outcome = subprocess.run([sys.executable, SCRIPT, "--check", *sample], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout[-4000:] + outcome.stderr[-2000:]


def test_a_sample_has_every_operator(suite, cases):
    names = {case.name: case for case in cases if case.group == "node"}
    sample = suite.sample_of(cases, EVERY)
    assert len(cases) / EVERY <= len(sample) < len(cases) / 2
    assert {(case.group, suite.operator_of(case, names)) for case in sample} == {(case.group, suite.operator_of(case, names)) for case in cases}
    assert suite.sample_of(cases, 1) == cases


class FakeCase:
    def __init__(self, name, run):
        self.group, self.name, self.run = "node", name, run


def test_a_crash_and_a_hang_end_one_case_only(suite, monkeypatch):
    import os
    import signal
    import time

    monkeypatch.setattr(suite, "SECONDS_A_CASE", 1)
    cases = [
        FakeCase("crash", lambda: os.kill(os.getpid(), signal.SIGSEGV)),
        FakeCase("exit", lambda: os._exit(3)),
        FakeCase("hang", lambda: time.sleep(600)),
        *(FakeCase(f"fine_{i}", lambda: "passed") for i in range(5)),
    ]
    results = suite.run_cases(cases, workers=2)
    assert results["node/crash"] == "crashed: the process died with SIGSEGV"
    assert results["node/exit"] == "crashed: the process died with status 3"
    assert results["node/hang"] == "hangs: stopped after 1 s"
    assert [results[f"node/fine_{i}"] for i in range(5)] == ["passed"] * 5


def test_lost_and_new_results_are_differences(suite):
    recorded = {"node/a": "passed", "node/b": "unsupported", "node/c": "unsupported", "node/d": "passed"}
    assert suite.differences(recorded, {"node/a": "passed", "node/b": "another reason"}) == []
    assert suite.differences(recorded, {"node/a": "wrong result"}) == ["no longer passes: node/a: wrong result"]
    assert "--write" in suite.differences(recorded, {"node/b": "passed"})[-1]
    assert "--write" in suite.differences(recorded, {"node/e": "unsupported"})[-1]


def test_changes_of_intentional_differences_are_reported(suite):
    name, reason = next(iter(suite.DELIBERATE.items()))
    recorded = {name: suite.PURPOSE + reason}
    assert suite.differences(recorded, recorded) == []
    assert name in suite.differences(recorded, {name: "Error: it does not build"})[0]
    assert "--write" in suite.differences(recorded, {name: "passed"})[-1]
    assert set(suite.DELIBERATE) <= set(suite.read_report())


def test_the_report_is_read_back_as_written(suite, cases, tmp_path):
    cases = [case for case in cases if case.group == "simple"]
    results = {f"simple/{case.name}": "passed" if i else "no: because | of this" for i, case in enumerate(cases)}
    path = tmp_path / "suite.md"
    path.write_text(suite.report(cases, results))
    assert suite.read_report(path) == results
