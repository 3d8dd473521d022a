"""The sweep over tactics: its log, resuming, and the page made from logs."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="networks are built with onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
SWEEP = ROOT / "build" / "bin" / "lanner_sweep"
FOLDER = ROOT / "tests" / "tactics"
RIGHT = {
    "what": "tactic", "key": "1", "lanner": "0.1", "device": "a processor", "libraries": "onednn 3", "backend": "onednn",
    "kernel": "conv", "config": "", "inputs": ["row"], "outputs": ["aBcd16b"], "precision": "fp32", "problem": "conv(x)",
    "networks": ["net"], "uses": 1, "verdict": "right", "reason": "", "seconds": 0.1,
}  # fmt: skip


@pytest.fixture
def network(tmp_path):
    random = np.random.default_rng(1)
    weights = numpy_helper.from_array(random.standard_normal((8, 8, 3, 3)).astype(np.float32), "w")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c", "x"], ["s"]),
        helper.make_node("Relu", ["s"], ["r"]),
        helper.make_node("Softmax", ["r"], ["y"], axis=1),
    ]
    sizes = ["N", 8, 6, 6]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, sizes)]
    graph = helper.make_graph(nodes, "small", inputs, outputs, [weights])
    path = tmp_path / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def sweep(*arguments, code=0):
    done = subprocess.run([SWEEP, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def rows(log):
    return [json.loads(line) for line in log.read_text().splitlines()]


def report(*arguments, code=0):
    done = subprocess.run([sys.executable, FOLDER / "report.py", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


def test_every_tactic_of_every_problem_is_a_row_once(network, tmp_path):
    log = tmp_path / "log.jsonl"
    arguments = ["--nets", network, "--batches", "1,3", "--log", log, "--runs", "4", "--threads", "2"]
    assert "nothing is left" in sweep(*arguments).stdout
    found = rows(log)
    assert {row["verdict"] for row in found} == {"right"}
    tactics = [row for row in found if row["what"] == "tactic"]
    assert len({row["key"] for row in tactics}) == len(tactics)
    for batch in (1, 3):
        assert any(row["problem"].startswith(f"conv+add+relu(f32[{batch}, 8, 6, 6]") for row in tactics)
        assert any(row["problem"].startswith(f"softmax(f32[{batch}, 8, 6, 6]") for row in tactics)
    again = sweep(*arguments)
    assert again.stdout.startswith("0 right, 0 wrong")
    assert rows(log) == found


def test_a_sweep_resumes_where_it_stopped(network, tmp_path):
    log, whole = tmp_path / "log.jsonl", tmp_path / "whole.jsonl"
    arguments = ["--nets", network, "--batches", "2", "--runs", "2", "--threads", "1"]
    sweep(*arguments, "--log", whole)
    assert "the time is up" in sweep(*arguments, "--log", log, "--seconds", "0").stdout
    lines = whole.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[: len(lines) // 2]))
    sweep(*arguments, "--log", log)
    assert sorted(row["key"] for row in rows(log)) == sorted(row["key"] for row in rows(whole))


def test_shares_cover_everything_once(network, tmp_path):
    arguments = ["--nets", network, "--batches", "2", "--runs", "2", "--threads", "1"]
    logs = [tmp_path / name for name in ("whole", "first", "second")]
    sweep(*arguments, "--log", logs[0])
    for share, log in enumerate(logs[1:]):
        sweep(*arguments, "--log", log, "--share", f"{share}/2")
    keys = [sorted(row["key"] for row in rows(log)) if log.exists() else [] for log in logs]
    assert keys[0] == sorted(keys[1] + keys[2])


def test_chosen_tactics_and_runners_up_are_tried(network, tmp_path):
    log = tmp_path / "log.jsonl"
    arguments = ["--nets", network, "--batches", "2", "--runs", "2", "--chosen", "--budget", "1", "--log", log]
    sweep(*arguments)
    found = rows(log)
    assert [row["problem"] for row in found if row["what"] == "build"] == ["small at batch 2"]
    per_problem = [sum(row["problem"] == one for row in found) for one in {row["problem"] for row in found if row["what"] == "tactic"}]
    assert per_problem and max(per_problem) <= 2
    assert sweep(*arguments).stdout.startswith("0 right, 0 wrong")


def test_a_network_that_cannot_be_read_is_a_row(tmp_path):
    broken, log = tmp_path / "broken.onnx", tmp_path / "log.jsonl"
    broken.write_bytes(b"no model")
    sweep("--nets", broken, "--batches", "1", "--log", log)
    (row,) = rows(log)
    assert (row["what"], row["verdict"], row["networks"]) == ("build", "untried", ["broken"])
    assert row["reason"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "--nets: expected paths"),
        (["--nets", "a", "--batches", "0"], "--batches: 0"),
        (["--nets", "a", "--precision", "fp8"], "'fp8': expected fp32, fp16 or bf16"),
        (["--nets", "a", "--share", "2/2"], "I below N"),
        (["--nets", "a", "--runs", "0"], "--runs is 0"),
        (["--nets", "a", "--size", "seq"], "NAME=NUMBER"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message, tmp_path):
    done = sweep(*arguments, "--log", tmp_path / "log", code=2)
    assert message in done.stderr
    assert not (tmp_path / "log").exists()


def test_a_damaged_log_is_refused(network, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text("{\n")
    done = sweep("--nets", network, "--log", log, code=2)
    assert "log.jsonl, line 1: expected a row of a sweep" in done.stderr
    assert log.read_text() == "{\n"


def test_the_page_counts_and_names_what_is_wrong(tmp_path):
    log, page = tmp_path / "log.jsonl", tmp_path / "tactics.md"
    wrong = {**RIGHT, "key": "2", "config": "7", "verdict": "wrong", "reason": "output 0 differs from run to run"}
    later = {**wrong, "key": "3", "verdict": "right", "reason": ""}
    crash = {name: RIGHT[name] for name in ("what", "key", "lanner", "device", "libraries", "problem", "networks", "precision")}
    crash.update(what="problem", key="4", verdict="wrong", reason="it ends the process by signal 11")
    log.write_text("".join(json.dumps(row) + "\n" for row in (RIGHT, wrong, {**wrong, "key": "3"}, later, crash)))
    report(log, "--output", page)
    text = page.read_text()
    assert "## a processor" in text and "onednn 3" in text
    assert "| onednn | conv | fp32 | 3 | 2 | 1 | 0 |" in text
    assert "| onednn conv fp32 7 | row -> aBcd16b | conv(x) | net | output 0 differs from run to run |" in text
    assert "| problem fp32 |  | conv(x) | net | it ends the process by signal 11 |" in text


def test_sections_of_other_machines_stay(tmp_path):
    log, page = tmp_path / "log.jsonl", tmp_path / "tactics.md"
    for row in (RIGHT, {**RIGHT, "device": "another"}, {**RIGHT, "libraries": "onednn 2"}, {**RIGHT, "kernel": "pool"}):
        log.write_text(json.dumps(row) + "\n")
        report(log, "--output", page)
    text = page.read_text()
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## a processor", "## a processor", "## another"]
    assert text.count("| onednn | conv | fp32 | 1 | 1 | 0 | 0 |") == 2 and text.count("| onednn | pool | fp32 | 1 | 1 | 0 | 0 |") == 1


def test_the_page_needs_rows(tmp_path):
    empty, page = tmp_path / "empty", tmp_path / "page.md"
    empty.write_text("")
    assert "hold no rows" in report(empty, "--output", page, code=2).stderr
    empty.write_text("?\n")
    assert "line 1: expected a row" in report(empty, "--output", page, code=2).stderr
    assert not page.exists()


def test_vit_is_a_model(tmp_path):
    spec = importlib.util.spec_from_file_location("make_vit", FOLDER / "make_vit.py")
    make_vit = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_vit)
    make_vit.LAYERS = 1
    model = make_vit.vit()
    onnx.checker.check_model(model, full_check=True)
    assert [dim.dim_param or dim.dim_value for dim in model.graph.output[0].type.tensor_type.shape.dim] == ["N", 1000]
