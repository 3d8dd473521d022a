"""Random small graphs agree with onnxruntime or onnx.reference. To run more of them: tests/random_graphs/run.py."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="graphs are built with onnx")
pytest.importorskip("onnxruntime", reason="results are compared with onnxruntime")
lanner = pytest.importorskip("lanner")

TESTS = Path(__file__).resolve().parents[2]
SCRIPT = TESTS / "random_graphs" / "run.py"
COUNT = 150

# Seeds of past defects, and what was wrong. A seed gives the same graph only until a family is changed.
PAST = {
    231: "GridSample before version 20 was refused",
    439: "a Clip with min >= max made a build fail",
    1061: "DynamicQuantizeLinear of zeros only had a scale of 0",
    4622: "Hardmax of old operator sets rejected empty inputs",
    5253: "VALID and ceil_mode gave two shapes for one AveragePool",
    7623: "indices of MaxPool where a window holds only the lowest number",
}


@pytest.fixture
def package(monkeypatch):
    monkeypatch.syspath_prepend(TESTS)


def run(*arguments):
    command = [sys.executable, SCRIPT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.timeout(1800)
def test_random_graphs_agree_with_the_oracles(tmp_path):
    """Without tuning, so that nothing depends on timings."""
    outcome = run("--seed", 0, "--count", COUNT, "--budget", 0, "--workers", 2, "--timeout", 300, "--out", tmp_path)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr[-2000:]
    assert outcome.stdout.startswith(f"{COUNT} graphs in ")
    assert ": 0 failed" in outcome.stdout


def test_past_defects_stay_fixed(tmp_path):
    outcome = run("--seeds", *PAST, "--budget", 0, "--out", tmp_path)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr[-2000:]


def test_the_same_seed_gives_the_same_graph(package):
    from random_graphs.cases import generate

    for seed in range(20):
        first, second = generate(seed), generate(seed)
        assert first.model.SerializeToString() == second.model.SerializeToString()
        assert [feed.keys() for feed in first.feeds] == [feed.keys() for feed in second.feeds]
        for one, other in zip(first.feeds, second.feeds, strict=True):
            assert all(one[name].tobytes() == other[name].tobytes() for name in one)
        assert first.options == second.options


def wrong_sum(monkeypatch):
    """Lanner with a fault: every graph with an Add is off by a ten-thousandth."""
    from random_graphs import check

    right = check.run

    def run_wrongly(context, case, feed):
        got = right(context, case, feed)
        adds = any(node.op_type == "Add" for node in case.model.graph.node)
        return [array * np.float32(1.0001) if adds and array.dtype == "float32" else array for array in got]

    monkeypatch.setattr(check, "run", run_wrongly)


def first_with_add():
    from random_graphs.cases import generate

    for seed in range(200):
        case = generate(seed)
        operators = [node.op_type for node in case.model.graph.node]
        if "Add" in operators and len(operators) > 4 and not case.symbols and case.options.precision == "fp32":
            return seed
    raise AssertionError("no graph with an Add")


def test_a_wrong_result_is_found_reduced_saved_and_replayed(package, monkeypatch, tmp_path):
    from random_graphs.cases import Case
    from random_graphs.check import check
    from random_graphs.session import Settings, Summary, reports

    wrong_sum(monkeypatch)
    seed = first_with_add()
    settings = Settings(out=tmp_path, budget=0, seconds_to_reduce=20)
    (report,) = reports(settings, iter([seed]), float("inf"))
    assert report.outcome.failure.kind == "values"
    assert report.operators == "Add"
    summary = Summary(settings)
    summary.add(report)
    assert f"run.py --seed {seed} --count 1 --budget 0; " in next(summary.lines(verbose=False))

    saved = Case.load(tmp_path / str(seed))
    assert check(saved).failure.kind == "values"
    monkeypatch.undo()
    monkeypatch.syspath_prepend(TESTS)
    assert check(saved).failure is None
    replayed = run("--replay", tmp_path / str(seed))
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


SECONDS = 3  # Passed twice, in full.
ENDS = {
    "crash": (lambda _: os.kill(os.getpid(), signal.SIGSEGV), "the process died with SIGSEGV", [0, 1]),
    "hang": (lambda _: time.sleep(600), f"stopped after {SECONDS} s", [0]),
}


class QuickOracle:
    """Needs no time, so that only what hangs reaches the limit."""

    name = "none"

    def __init__(self, model, feed):
        pass

    def run(self, feed):
        return []


@pytest.mark.parametrize("kind", ENDS)
def test_a_crash_and_a_hang_fail_their_seed_and_the_run_goes_on(kind, package, monkeypatch, tmp_path):
    from random_graphs import check
    from random_graphs.session import Settings, reports

    end, text, seeds = ENDS[kind]
    monkeypatch.setattr(check, "build", end)
    monkeypatch.setattr(check, "Oracle", QuickOracle)
    settings = Settings(out=tmp_path, seconds_a_case=SECONDS, seconds_to_reduce=0)
    found = {report.seed: report.outcome.failure for report in reports(settings, iter(seeds), float("inf"))}
    assert sorted(found) == seeds
    assert {(failure.kind, failure.where, failure.text) for failure in found.values()} == {(kind, "lanner", text)}
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{seed}.{end}" for seed in seeds for end in ("npz", "onnx", "txt")]


def test_an_error_of_the_tester_itself_ends_the_run(package, monkeypatch):
    from random_graphs import session

    monkeypatch.setattr(session, "generate", lambda *_: 1 / 0)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        list(session.reports(session.Settings(), iter([0]), float("inf")))


def test_an_unknown_family_is_refused_with_the_known_ones():
    outcome = run("--family", "nonsense")
    assert outcome.returncode == 2
    assert "convolution" in outcome.stderr and "Traceback" not in outcome.stderr
