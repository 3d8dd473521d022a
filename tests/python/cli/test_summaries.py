"""The summaries of build, bench and run."""

import json
import os
import pty
import re
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from command import COMMAND, DETECTOR, SECONDS, color_classifier, make_clip, make_ppm, refuse, save_model, succeed

QUICK = ["--budget", "0", "--threads", "1", "--device", "cpu"]


@pytest.fixture
def model(tmp_path):
    return color_classifier(tmp_path / "model.onnx")


@pytest.fixture
def determinant(tmp_path):
    """An operator without a kernel."""
    nodes = [helper.make_node("Det", ["x"], ["d"], "det_node"), helper.make_node("Relu", ["x"], ["r"], "relu")]
    value = helper.make_tensor_value_info
    outputs = [value("d", TensorProto.FLOAT, ["N"]), value("r", TensorProto.FLOAT, ["N", 64, 64])]
    graph = helper.make_graph(nodes, "slow", [value("x", TensorProto.FLOAT, ["N", 64, 64])], outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "slow.onnx")
    return tmp_path / "slow.onnx"


class TestBuild:
    def test_build_prints_facts_of_the_plan(self, tmp_path):
        plan = tmp_path / "shapes.plan"
        text = succeed("build", DETECTOR, "-o", plan, *QUICK)
        found = re.match(r"shapes: (\d+) nodes, (\d+) after simplification, run in (\d+) steps, fp32, on cpu \(.+\), 1 thread\n", text)
        assert found and int(found[1]) > int(found[2]) > int(found[3]) > 5
        assert "no kernel was timed" in text and f"plan     {plan}, " in text
        assert "inputs   input: f32[N, 3, 192, 320]" in text
        assert re.search(r"(\d+) of \1 kernels were chosen by estimates, without timing: a larger --budget times them \(a run over images alone has none\)", text)
        assert "where the time goes" not in text  # Not known.

    def test_json_has_the_same_facts(self, tmp_path):
        plan = tmp_path / "shapes.plan"
        found = json.loads(succeed("build", DETECTOR, "-o", plan, "--budget", "2s", "--threads", "1", "--json"))
        assert found["plan"] == {"path": str(plan), "bytes": plan.stat().st_size}
        assert found["imported_nodes"] > found["simplified_nodes"] > found["steps"]
        assert 0 < found["build"]["tuning_seconds"] <= found["build"]["seconds"]
        assert sum(group["share"] for group in found["where"]) == pytest.approx(1)
        assert sum(group["steps"] for group in found["where"]) == found["steps"]
        assert (found["threads"], found["precision"], found["device"]) == (1, "fp32", "cpu")

    @pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
    def test_idle_cores_are_reported(self, tmp_path, model):
        cores = len(os.sched_getaffinity(0))
        said = f"it runs on 1 of {cores} available cores: --threads {cores}"
        assert said in succeed("build", model, "-o", tmp_path / "a.plan", *QUICK)
        assert "available cores" not in succeed("build", model, "-o", tmp_path / "b.plan", "--budget", "0", "--device", "cpu")

    def test_summary_is_left_out_where_stdout_is_data(self, tmp_path, model):
        plan = tmp_path / "model.plan"
        assert succeed("build", model, "-o", plan, "-q", *QUICK) == ""
        assert succeed("build", model, "-o", plan, "--print-ir", *QUICK).startswith("graph @")
        assert "give -o FILE" in refuse("build", model, "--print-ir", "--json", *QUICK)


class TestBench:
    def test_iterations_and_warmup_options_apply(self, model):
        options = ["--iterations", "7", "--warmup", "3", "--json", *QUICK]
        found = json.loads(succeed("bench", model, *options))["results"][0]
        assert (found["runs"], found["warmup"]["runs"]) == (7, 3)
        latency = found["latency"]
        assert latency["min"] <= latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["max"]
        assert latency["min"] <= latency["mean"] <= latency["max"]
        assert latency["mean"] * 7 <= found["seconds"]
        assert "profile" not in found and found["where"]
        found = json.loads(succeed("bench", model, "--iterations", "2", "--duration", "50ms", "--warmup", "0", "--json", *QUICK))["results"][0]
        assert found["runs"] >= 2 and found["seconds"] >= 0.05 and found["warmup"]["runs"] == 0
        assert json.loads(succeed("bench", model, "--iterations", "1", "--warmup", "20ms", "--json", *QUICK))["results"][0]["warmup"]["seconds"] >= 0.02

    def test_bench_text_has_all_parts(self, model):
        text = succeed("bench", model, "--batch", "1,8", "--iterations", "5", "--warmup", "2", *QUICK)
        lines = text.splitlines()
        assert lines[0].split() == ["batch", "per", "second", "mean", "min", "p50", "p90", "p99", "max", "runs"]
        assert [line.split()[0] for line in lines[1:3]] == ["1", "8"] and lines[1].split()[-1] == "5"
        assert "warm-up  2 runs" in text and "where the time goes, batch 8" in text
        assert "small: 2 nodes" in text and "1 thread" in text

    def test_nodes_without_a_kernel_are_reported(self, determinant):
        text = succeed("bench", determinant, "--iterations", "3", "--warmup", "1", *QUICK)
        assert "reference:reference (by definition, no kernel)" in text
        found = re.search(r"(\d+) % of the time is in nodes that run by their definition: det x1; `lanner explain FILE --node (\w+)`", text)
        assert found and int(found[1]) > 50
        assert found[2] in succeed("explain", determinant, "--node", found[2], *QUICK)
        found = json.loads(succeed("bench", determinant, "--iterations", "3", "--json", *QUICK))
        assert [group["by_definition"] for group in found["results"][0]["where"]] == [True, False]
        assert any("by their definition" in sentence for sentence in found["advice"])

    def test_bench_inputs_from_a_file(self, tmp_path):
        """A network with a table lookup: random indices would be out of range."""
        nodes = [helper.make_node("Gather", ["table", "ids"], ["rows"], "look_up")]
        table = np.arange(12, dtype=np.float32).reshape(6, 2)
        value = helper.make_tensor_value_info
        graph = helper.make_graph(nodes, "ids", [value("ids", TensorProto.INT64, ["N"])], [value("rows", TensorProto.FLOAT, ["N", 2])],
                                  [onnx.numpy_helper.from_array(table, "table")])  # fmt: skip
        model = tmp_path / "ids.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        ids = np.array([5, 0, 3], np.int64)
        header = json.dumps({"ids": {"dtype": "I64", "shape": [3], "data_offsets": [0, 24]}}).encode()
        header += b" " * (-len(header) % 8)
        file = tmp_path / "values.safetensors"
        file.write_bytes(len(header).to_bytes(8, "little") + header + ids.tobytes())
        found = json.loads(succeed("bench", model, "--inputs", file, "--iterations", "2", "--json", *QUICK))["results"][0]
        assert found["batch"] == 3 and found["engine"]["inputs"] == ["ids: i64[3]"]
        file.write_bytes(file.read_bytes().replace(b'"ids"', b'"idx"'))
        assert "the model has no input 'idx'; did you mean ids?" in refuse("bench", model, "--inputs", file, *QUICK)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--iterations", "0"], "--iterations"),
            (["--warmup", "soon"], "--warmup: duration 'soon'"),
            (["--warmup", "-1"], "--warmup"),
            (["--inputs", "no.safetensors"], "no.safetensors"),
        ],
    )
    def test_options_that_make_no_sense(self, model, options, said):
        assert said in refuse("bench", model, *options, *QUICK)

    def test_options_of_models_are_refused_for_clips(self, tmp_path):
        clip = make_clip(tmp_path, frames=3)
        for options in (["--iterations", "3"], ["--warmup", "1"], ["--inputs", "x"]):
            assert "are for models" in refuse("bench", clip, *options)


class TestRun:
    def test_run_prints_what_ran_and_what_limits_it(self, tmp_path, model):
        clip = make_clip(tmp_path, frames=20)
        arguments = ["run", model, "-i", clip, "--range", "0,1", *QUICK]
        text = succeed(*arguments, "-q", "-o", tmp_path / "out.mp4")
        assert text.startswith("20 frames in ")
        assert re.search(r"^small: 2 nodes.* on cpu", text, re.M)
        assert re.search(r"^stages   decode \d+ %, .*encode \d+ %$", text, re.M)
        assert re.search(r"limits? the rate[:;].*at work \d+ %", text)
        assert "frames in" not in succeed(*arguments)  # Only answers.
        assert "frames in" not in succeed(*arguments, "--json", "-")

    def test_image_stages_are_sequential(self, tmp_path, model):
        picture = make_ppm(tmp_path / "a.ppm")
        assert "Stages run one after the other; most of the time goes into " in succeed("run", model, "-i", picture, picture, "--range", "0,1", "-q", *QUICK)

    def test_summary_goes_to_stderr_at_a_terminal(self, tmp_path, model):
        picture = make_ppm(tmp_path / "a.ppm")
        master, terminal = pty.openpty()
        command = [COMMAND, "run", model, "-i", picture, "--range", "0,1", *QUICK]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, text=True, timeout=SECONDS, check=True)
        os.close(terminal)
        shown = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
        os.close(master)
        assert "small: 2 nodes" in shown.decode() and "small: 2 nodes" not in done.stdout


def test_names_of_models_stay_text(tmp_path):
    """Control characters of names do not reach the terminal."""
    model = save_model(tmp_path / "m.onnx", [helper.make_node("Relu", ["in\x1b[31m"], ["out"], "n")], {"in\x1b[31m": [1, 4]}, {"out": [1, 4]}, {}, {})
    for arguments in (["build", model, "-o", tmp_path / "m.plan"], ["bench", model, "--iterations", "2"]):
        assert "\x1b" not in succeed(*arguments, *QUICK)
