"""Engine.verify and `lanner verify`: right networks, wrong kernels, reproducers of single nodes."""

import json
import os
import subprocess

import lanner
import numpy as np
import onnx
import pytest
from command import BUILD, ROOT, color_classifier, leftovers, refuse, succeed

DEMO = ROOT / "demo" / "shapes.onnx"
QUICK = ("--budget", "0", "--threads", "1")
NUMPY = {"F32": np.float32, "F16": np.float16, "I64": np.int64, "I8": np.int8, "BOOL": np.bool_}


def safetensors(path):
    """Arrays by name: eight bytes of header length, a JSON object, the bytes."""
    content = path.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    arrays = {}
    for name, entry in json.loads(content[8:begin]).items():
        if name != "__metadata__" and not name.startswith("__pad"):
            first, last = entry["data_offsets"]
            arrays[name] = np.frombuffer(content[begin + first : begin + last], NUMPY[entry["dtype"]]).reshape(entry["shape"])
    return arrays


@pytest.fixture(scope="module")
def reproducers(tmp_path_factory):
    """The reproducers that lanner_tests writes."""
    folder = tmp_path_factory.mktemp("reproducers")
    subprocess.run(
        [BUILD / "bin" / "lanner_tests", "--gtest_filter=*ReproducerFiles*"],
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=300,
        env={**os.environ, "LANNER_REPRODUCERS": str(folder)},
    )
    return sorted(folder.glob("*.onnx"))


def test_models_of_single_nodes_are_onnx_models(reproducers):
    assert len(reproducers) > 20
    for path in reproducers:
        onnx.checker.check_model(onnx.load(path), full_check=True)


def test_onnxruntime_agrees_with_lanner_on_single_nodes(reproducers):
    onnxruntime = pytest.importorskip("onnxruntime")
    for path in reproducers:
        operands = safetensors(path.with_suffix(".inputs.safetensors"))
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        engine = lanner.build(path, budget=0, threads=1)
        assert [one.name for one in session.get_inputs()] == [one.name for one in engine.inputs], path.name
        expected = session.run(None, operands)
        for output, array in zip(engine(operands).values(), expected, strict=True):
            np.testing.assert_allclose(np.asarray(output), array, rtol=1e-3, atol=1e-4, err_msg=path.name)
        assert engine.verify(inputs=operands, runs=1).right, path.name


@pytest.fixture(scope="module")
def engine():
    return lanner.build(DEMO, budget=0, threads=1, shapes={"input": (1, 3, 192, 320)})


def test_the_demos_network_is_right(engine):
    found = engine.verify(runs=2)
    assert found and found.right
    assert found.nodes > 10 and found.differences == [] and found.network == "" and found.reproducer is None
    assert repr(found).startswith(f"right: {found.nodes} nodes compared")
    assert "\n" not in repr(found)


def test_verify_accepts_values_and_progress(engine):
    seen = []
    picture = np.random.default_rng(1).random((1, 3, 192, 320), np.float32)
    found = engine.verify(inputs={"input": picture}, runs=1, contexts=1, progress=lambda stage, done, total: seen.append((stage, total)))
    assert found.right
    assert ("verify", found.nodes) not in seen and {stage for stage, _ in seen} == {"verify"}


def test_verify_rejects_what_does_not_fit(engine):
    with pytest.raises(lanner.InvalidArgument, match="no input is called 'inptu'; there is input"):
        engine.verify(inputs={"inptu": 1})
    with pytest.raises(lanner.InvalidArgument, match="expected"):
        engine.verify(inputs={"input": np.zeros((1, 3, 192, 320), np.int32)})
    with pytest.raises(lanner.InvalidArgument, match="runs is 0"):
        engine.verify(runs=0)
    with pytest.raises(TypeError, match="shapes of input"):
        engine.verify({"input": 5})


def test_other_shapes_of_an_open_model(tmp_path):
    model = color_classifier(tmp_path / "c.onnx")
    engine = lanner.build(model, budget=0, threads=1, shapes={"input": ((1, 3, 8, 8), (2, 3, 8, 8), (4, 3, 8, 8))})
    assert engine.verify({"input": (4, 3, 8, 8)}, runs=1).right
    with pytest.raises(lanner.InvalidArgument, match="input"):
        engine.verify({"input": (5, 3, 8, 8)}, runs=1)


class TestCommand:
    def test_reproduces_a_written_node(self, reproducers):
        path = next(path for path in reproducers if path.stem == "fused")
        assert "1 node right" in succeed("verify", path, "--inputs", path.with_suffix(".inputs.safetensors"), "--runs", "1", *QUICK)
        assert "fused.onnx: a header of" in refuse("verify", path, "--inputs", path, *QUICK)
        assert "no input 'r'" in refuse("verify", DEMO, "--inputs", path.with_suffix(".inputs.safetensors"), *QUICK)
        operands = lanner.load_tensors(path.with_suffix(".inputs.safetensors"))
        assert {name: tensor.shape for name, tensor in operands.items()} == {"r": (1, 3, 4, 4), "x": (1, 2, 4, 4)}

    def test_prints_how_many_nodes_are_right(self, tmp_path):
        plan = tmp_path / "m.plan"
        said = succeed("verify", DEMO, "--shape", "input:1x3x192x320", "--runs", "2", *QUICK)
        assert " nodes right, " in said and said.endswith("; 2 contexts x 2 runs alike\n")
        succeed("build", DEMO, "-o", plan, "--shape", "input:1x3x192x320", *QUICK)
        assert succeed("verify", plan, "--runs", "2") == said

    def test_prints_json(self):
        found = json.loads(succeed("verify", DEMO, "--shape", "input:1x3x192x320", "--runs", "1", "--contexts", "1", "--json", *QUICK))
        assert found["right"] and found["nodes"] > 10 and found["differences"] == [] and found["runs"] == 1

    def test_a_plan_is_verified_at_given_shapes(self, tmp_path):
        model, plan = color_classifier(tmp_path / "c.onnx"), tmp_path / "c.plan"
        succeed("build", model, "-o", plan, "--shape", "input:1x3x8x8:2x3x8x8:4x3x8x8", *QUICK)
        assert "right" in succeed("verify", plan, "--shape", "input:4x3x8x8", "--runs", "1")
        assert refuse("verify", plan, "--shape", "input:5x3x8x8").startswith(f"verify {plan}: input")
        assert "comes twice" in refuse("verify", plan, "--shape", "input:4x3x8x8", "--shape", "input:4x3x8x8")

    def test_existing_files_are_not_changed(self, tmp_path):
        model = color_classifier(tmp_path / "c.onnx")
        before = model.read_bytes()
        assert "would overwrite" in refuse("verify", model, "-o", model)
        inputs = model.with_suffix(".inputs.safetensors")
        assert "would overwrite" in refuse("verify", model, "--inputs", inputs, "-o", tmp_path / "c.other")
        succeed("verify", model, "--shape", "input:1x3x8x8", "--runs", "1", "-o", tmp_path / "x.onnx", *QUICK)
        assert model.read_bytes() == before
        assert leftovers(tmp_path, "c.onnx") == []  # nothing differs
