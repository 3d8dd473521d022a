"""lanner build, explain, bench and verify."""

import json
import os
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from command import COMMAND, DETECTOR, SECONDS, color_classifier, lanner, leftovers, make_clip, make_ppm, refuse, save_model, succeed

QUICK = ["--budget", "0", "--threads", "1"]


@pytest.fixture
def model(tmp_path):
    return color_classifier(tmp_path / "model.onnx")


def test_plan_gives_the_answers_of_its_model(tmp_path, model):
    plan, picture = tmp_path / "model.plan", make_ppm(tmp_path / "picture.ppm")
    assert succeed("build", model, "-o", plan, "--preset", "none", "--size", "8x8", "-q", *QUICK) == ""
    assert succeed("run", plan, "-i", picture) == succeed("run", model, "--preset", "none", "--size", "8x8", "-i", picture, *QUICK)


def test_plan_is_recognised_by_content(tmp_path, model):
    plan = tmp_path / "misnamed.onnx"
    succeed("build", model, "-o", plan, "--shape", "input:1x3x8x8", *QUICK)
    assert "complete" in succeed("verify", "--file-only", plan)
    assert json.loads(succeed("explain", plan, "--json"))["nodes"]
    assert "is already a plan" in refuse("build", plan, "-o", tmp_path / "b.plan")


@pytest.mark.parametrize(
    "options", [["--precision", "fp16"], ["--pin", "a=fp32"], ["--place", "a=cpu"], ["--strict"], ["--exact"], ["--budget", "1s"], ["--deterministic"], ["--shape", "input:1x3x8x8"]]
)
def test_build_options_are_refused_for_a_plan(tmp_path, model, options):
    plan = tmp_path / "model.plan"
    succeed("build", model, "-o", plan, "--shape", "input:1x3x8x8", *QUICK)
    for command in ("explain", "bench"):
        line = refuse(command, plan, *options, cwd=tmp_path)
        assert f"is a plan, for which {options[0]} was fixed" in line and "build it again" in line
    assert "'fp8'" in refuse("explain", plan, "--precision", "fp8")


def test_a_plan_without_weights_takes_them_from_the_model(tmp_path, model):
    plan, whole, picture = tmp_path / "model.plan", tmp_path / "whole.plan", make_ppm(tmp_path / "picture.ppm")
    options = ["--preset", "none", "--size", "8x8", *QUICK]
    succeed("build", model, "-o", plan, "--strip-weights", *options)
    succeed("build", model, "-o", whole, *options)
    expected = succeed("run", whole, "-i", picture)
    for weights in (model, whole):
        assert succeed("run", plan, "--weights", weights, "-i", picture) == expected
    assert "the plan was saved without its weights" in refuse("explain", plan)
    assert "the plan holds its own" in refuse("explain", whole, "--weights", model)
    assert "give -o FILE" in refuse("build", model, "--print-ir", "--strip-weights", *options)


def warned(*arguments):
    """The one line on stderr of a command that succeeds."""
    result = lanner(*arguments)
    assert result.returncode == 0 and result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("lanner: warning: ")
    return result.stderr


def test_precision_without_effect_is_a_warning(tmp_path, model):
    plan = tmp_path / "model.plan"
    said = warned("build", model, "-o", plan, "--shape", "input:1x3x8x8", "--precision", "fp16", "--device", "cpu", *QUICK)
    assert "model.onnx: precision fp16 has no effect" in said
    assert "precision fp16 has no effect" in succeed("explain", plan)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_a_plan_runs_with_fewer_threads_than_it_was_built_for(tmp_path):
    plan = tmp_path / "shapes.plan"
    succeed("build", DETECTOR, "-o", plan, "--deterministic", "--threads", "2")
    for command in ([COMMAND], ["taskset", "-c", str(min(os.sched_getaffinity(0))), COMMAND]):
        threads = ["--threads", "1"] if len(command) == 1 else []
        result = subprocess.run([*command, "bench", plan, "--duration", "10ms", "--json", *threads], capture_output=True, text=True, timeout=SECONDS)
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["threads"] == 1
        assert result.stderr == "" or "tuned again from its IR" in result.stderr


def test_deterministic_builds_are_equal(tmp_path):
    for name in ("a", "b"):
        succeed("build", DETECTOR, "-o", tmp_path / f"{name}.plan", "--deterministic", "--threads", "1")
    assert (tmp_path / "a.plan").read_bytes() == (tmp_path / "b.plan").read_bytes()


def test_the_graph_is_printed_at_every_stage(tmp_path, model):
    imported = succeed("build", model, "--print-ir", "--stop-after", "import")
    canonical = succeed("build", model, "--print-ir", *QUICK)
    lowered = succeed("build", model, "--print-ir=lowered", "--shape", "input:1x3x8x8", *QUICK)
    assert all(text.startswith("graph @") and "matmul" in text for text in (imported, canonical))
    assert "tactic(" in lowered and "tactic(" not in canonical
    assert leftovers(tmp_path, "model.onnx") == []


def test_trace_passes_writes_each_graph(tmp_path):
    folder = tmp_path / "passes"
    succeed("build", DETECTOR, "--trace-passes", folder, *QUICK)
    texts = [path.read_text() for path in sorted(folder.glob("*.ir"))]
    assert texts and all(text.startswith("graph @") for text in texts)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give -o FILE for the plan, or --print-ir"),
        (["-o", "x.plan", "--stop-after", "import"], "--stop-after"),
        (["--print-ir", "--shape", "input"], "NAME:SIZES"),
        (["--print-ir", "--shape", "inputs:1x3x8x8"], "inputs"),
        (["--print-ir", "--shape", "input:2x3x8x8:1x3x8x8:4x3x8x8"], "expected min <= opt <= max"),
        (["--print-ir", "--shape", "input:1x4x8x8"], "input"),
        (["--print-ir", "--profile", "input"], "expected INPUT=MIN:OPT:MAX"),
        (["--print-ir", "--profile", "=1x3x8x8"], "expected INPUT=MIN:OPT:MAX"),
        (["--print-ir", "--profile", "input=1x3x8x8:2x3x8x8"], "expected INPUT=MIN:OPT:MAX"),
        (["--print-ir", "--profile", "input=1x3x8x8,input=2x3x8x8"], "comes twice"),
        (["--print-ir", "--profile", "input=1x3x8x8", "--profile", "inputs=1x3x8x8"], "profile 2: the model has no input"),
        (["--print-ir", "--profile", "input=2x3x8x8:1x3x8x8:4x3x8x8"], "profile 1: input input: dim 0: expected min"),
        (["--print-ir", "--precision", "fp8"], "fp8"),
        (["--print-ir", "--pin", "conv"], "expected NODE=TYPE"),
        (["--print-ir", "--pin", "conv=fp8"], "--pin 'conv=fp8': precision 'fp8'"),
        (["--print-ir", "--pin", "nothing=fp32"], "pin 'nothing=fp32': no node"),
        (["--print-ir", "--device", "cpu", "--place", "conv"], "expected NODE=DEVICE"),
        (["--print-ir", "--device", "cpu", "--place", "conv=tpu"], "--place 'conv=tpu': device 'tpu' is not known"),
        (["--print-ir", "--device", "cpu", "--place", "nothing=cpu"], "placement 'nothing=cpu': no node"),
        (["--print-ir", "--device", "cpu", "--place", "*=cuda:0"], "placement '*=cuda:0': the engine's devices are cpu and the host"),
        (["--print-ir", "--device", "cpu,cuda:0"], "device cuda:0 with cpu"),
        (["--print-ir", "--device", "cuda:0,cuda"], "cuda:0 comes twice"),
        (["--print-ir", "--budget", "soon"], "duration 'soon'"),
        (["--print-ir", "--stop-after", "no_such_pass"], "no_such_pass"),
        (["--print-ir", "--device", "cuda:99"], "cuda:99"),
        (["--print-ir", "--device", "tpu"], "tpu"),
        (["--print-ir=pretty"], "canonical or lowered"),
    ],
)
def test_options_that_make_no_sense(tmp_path, model, options, said):
    assert said in refuse("build", model, *options, cwd=tmp_path)
    assert leftovers(tmp_path, "model.onnx") == []


def test_profiles_become_variants_of_a_plan(tmp_path, model):
    plan = tmp_path / "model.plan"
    profiles = ["--profile", "input=1x3x8x8:1x3x8x8:2x3x8x8", "--profile", "input=3x3x8x8:8x3x8x8:9x3x8x8"]
    succeed("build", model, "-o", plan, *profiles, *QUICK)
    found = json.loads(succeed("explain", plan, "--json"))
    assert found["profiles"][1] == {"input": {"min": [3, 3, 8, 8], "opt": [8, 3, 8, 8], "max": [9, 3, 8, 8]}}
    assert [(one["shapes"]["input"][0], one["profile"], one["ahead"]) for one in found["variants"]] == [(1, 0, True), (8, 1, True)]
    said = succeed("explain", plan)
    assert "profile  2: input 3x3x8x8 to 9x3x8x8, opt 8x3x8x8" in said
    assert "variant  input 8x3x8x8, 1 threads: " in said
    assert "--profile was fixed" in refuse("explain", plan, *profiles)


def test_shape_range_bounds_a_plans_inputs(tmp_path, model):
    plan = tmp_path / "model.plan"
    succeed("build", model, "-o", plan, "--shape", "input:1x3x8x8:2x3x8x8:4x3x8x8", *QUICK)
    succeed("bench", plan, "--batch", "4", "--duration", "10ms")
    assert "input" in refuse("bench", plan, "--batch", "5", "--duration", "10ms")


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    plan = tmp_path_factory.mktemp("explain") / "shapes.plan"
    succeed("build", DETECTOR, "-o", plan, "--budget", "1s", "--threads", "1")
    return plan


class TestExplain:
    def test_explain_lists_every_source_node(self, plan):
        nodes = json.loads(succeed("explain", plan, "--json"))["nodes"]
        sources = {source for node in nodes for source in node["sources"]}
        assert {"distances", "boxes", "scores"} <= sources
        text = succeed("explain", plan)
        assert all(node["name"] in text for node in nodes)
        assert "threads" in text and "weights" in text

    def test_explain_of_a_node_lists_alternatives(self, plan):
        nodes = json.loads(succeed("explain", plan, "--json"))["nodes"]
        tried = next(node for node in nodes if len(node.get("considered", [])) > 1)
        text = succeed("explain", plan, "--node", tried["name"])
        assert text.count("chosen ") == 1
        assert text.count("rejected ") == len(tried["considered"]) - 1
        assert text in succeed("explain", plan, "--all")

    def test_unknown_node_suggests_the_nearest_name(self, plan):
        name = json.loads(succeed("explain", plan, "--json"))["nodes"][0]["name"]
        assert f"did you mean {name}" in refuse("explain", plan, "--node", name + "x")


class TestBench:
    def test_bench_measures_each_batch(self, model):
        found = json.loads(succeed("bench", model, "--shape", "input:1x3x8x8:2x3x8x8:2x3x8x8", "--batch", "1,2", "--duration", "20ms", "--json", *QUICK))
        assert [result["batch"] for result in found["results"]] == [1, 2]
        for result in found["results"]:
            latency = result["latency"]
            assert result["runs"] >= 1
            assert 0 < latency["p50"] <= latency["p90"] <= latency["p99"]
            assert result["items_per_second"] > 0
        assert found["threads"] == 1

    def test_bench_profile_lists_every_node(self, model):
        text = succeed("bench", model, "--duration", "20ms", "--profile", *QUICK)
        assert text.splitlines()[0].split()[:2] == ["batch", "per"]
        assert "matmul" in text

    def test_bench_of_a_clip_decodes_it(self, tmp_path):
        clip = make_clip(tmp_path, frames=9)
        found = json.loads(succeed("bench", clip, "--duration", "60s", "--json"))
        assert (found["frames"], found["width"], found["height"]) == (9, 64, 48)
        assert "--batch" in refuse("bench", clip, "--batch", "2")

    @pytest.mark.parametrize(("options", "said"), [(["--batch", "0"], "--batch"), (["--batch", "1,,2"], "--batch"), (["--duration", "0"], "--duration")])
    def test_options_that_make_no_sense(self, model, options, said):
        assert said in refuse("bench", model, *options)


def test_a_changed_plan_is_refused(tmp_path, model):
    plan = tmp_path / "model.plan"
    succeed("build", model, "-o", plan, "--shape", "input:1x3x8x8", *QUICK)
    good = plan.read_bytes()
    for place in (20, len(good) // 2, len(good) - 1):
        plan.write_bytes(good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :])
        assert str(plan) in refuse("verify", "--file-only", plan)
    plan.write_bytes(good[:-7])
    assert str(plan) in refuse("verify", "--file-only", plan)
    assert "is not a plan" in refuse("verify", "--file-only", model)


def test_bench_takes_the_batch_from_shape_and_says_how_to_give_one(tmp_path):
    nodes = [helper.make_node("Gather", ["table", "ids"], ["y"])]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "text", [value("ids", TensorProto.INT64, ["b", "s"])], [value("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.ones((4, 3), np.float32), "table")],
    )  # fmt: skip
    path = tmp_path / "text.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    found = json.loads(succeed("bench", path, "--shape", "ids:2x16", "--duration", "10ms", "--json", *QUICK))
    assert [result["batch"] for result in found["results"]] == [2]
    assert "--shape sets a batch of 2" in refuse("bench", path, "--shape", "ids:2x16", "--batch", "8", *QUICK)

    reshape = [helper.make_node("Reshape", ["x", "to"], ["y"])]
    save_model(tmp_path / "fits.onnx", reshape, {"x": ["n", "length"]}, {"y": [7, "m"]}, {"to": np.array([7, 50], np.int64)}, {})
    told = lanner("bench", tmp_path / "fits.onnx", "--duration", "10ms", *QUICK)
    assert told.returncode == 2 and "give them: --shape x:nxlength" in told.stderr, told.stderr
