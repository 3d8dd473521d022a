"""Ctrl-C ends long work cleanly."""

import signal
import subprocess
import time

import pytest
from onnx import TensorProto, helper

from command import COMMAND, DETECTOR, SECONDS, leftovers, make_ppm, make_y4m, save_model, without_notes



def interrupt(folder, expected, *arguments, number=signal.SIGINT):
    """Sends the signal once the command has begun to write; returns its exit code and stderr."""
    process = subprocess.Popen([COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + SECONDS
    while not leftovers(folder, *expected):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(number)
    _, errors = process.communicate(timeout=SECONDS)
    return process.returncode, without_notes(errors)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_transcode_ends_cleanly(tmp_path, number):
    source = make_y4m(tmp_path / "in.y4m", frames=1500, width=640, height=480)
    code, errors = interrupt(tmp_path, ["in.y4m"], "transcode", source, tmp_path / "out.mp4", "--preset", "veryslow", number=number)
    assert (code, errors) == (130, "lanner: interrupted\n")
    assert leftovers(tmp_path, "in.y4m") == []


def test_run_with_every_output_ends_cleanly(tmp_path):
    source = make_y4m(tmp_path / "in.y4m", frames=1500, width=320, height=240)
    outputs = ["-o", tmp_path / "out.mp4", "--json", tmp_path / "out.jsonl", "--report", tmp_path / "out.html"]
    code, errors = interrupt(tmp_path, ["in.y4m"], "run", DETECTOR, "-i", source, *outputs, "--budget", "0", "--threads", "1")
    assert (code, errors) == (130, "lanner: interrupted\n")
    assert leftovers(tmp_path, "in.y4m") == []


def test_endless_loop_of_a_model_ends(tmp_path):
    flag = helper.make_tensor_value_info("go", TensorProto.BOOL, [])
    on = helper.make_tensor_value_info("on", TensorProto.BOOL, [])
    turn = helper.make_tensor_value_info("turn", TensorProto.INT64, [])
    state, after = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3, 8, 8]) for name in ("state", "after"))
    nodes = [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Neg", ["state"], ["after"])]
    body = helper.make_graph(nodes, "body", [turn, flag, state], [on, after])
    nodes = [
        helper.make_node("Loop", ["", "", "input"], ["looped"], body=body),
        helper.make_node("ReduceMean", ["looped"], ["logits"], axes=[2, 3], keepdims=0),
    ]
    model = save_model(tmp_path / "model.onnx", nodes, {"input": [1, 3, 8, 8]}, {"logits": [1, 3]}, {}, {})
    picture = make_ppm(tmp_path / "picture.ppm")
    options = ["--json", tmp_path / "out.jsonl", "--preset", "none", "--budget", "0", "--threads", "1"]
    code, errors = interrupt(tmp_path, ["model.onnx", "picture.ppm"], "run", model, "-i", picture, *options)
    assert (code, errors) == (130, "lanner: interrupted\n")
