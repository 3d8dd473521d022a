"""liblanner-runtime: a program without the builder loads and runs plans; calls that need the builder are errors."""

import os
import shutil
import subprocess

import numpy as np
import pytest
from command import BUILD, SECONDS, save_model
from onnx import helper

import lanner

PROBE = BUILD / "bin" / "lanner_runtime_probe"
LIBRARIES = BUILD / "lib"
RANGES = [{"input": (1, 3, 8, 8)}, {"input": (2, 3, 8, 8)}]
REMEDY = "link liblanner"


def output_of(*command, **more):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=SECONDS, check=False,
        env={**os.environ, **more},
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout.splitlines()


def probe(*commands, **more):
    """One line for each of `("load", path), ("run", "1x3x8x8"), ...`."""
    said = output_of(PROBE, *[word for command in commands for word in command], **more)
    assert len(said) == len(commands), said
    return said


def numbers(line):
    """Of `logits 0x1p+0 ... `."""
    name, *words = line.split()
    assert name == "logits", line
    return np.array([float.fromhex(word) for word in words], np.float32)


def ramp(*shape):
    count = int(np.prod(shape))
    return (np.arange(1, count + 1, dtype=np.float32) * 0.125 - 1).reshape(shape)


def expected(engine, batch):
    return engine({"input": ramp(batch, 3, 8, 8)})["logits"].numpy().ravel()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    draw = np.random.default_rng(1)
    nodes = [
        helper.make_node("Conv", ["input", "filters"], ["windows"], "windows", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["windows"], ["positive"]),
        helper.make_node("ReduceMean", ["positive"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["mean", "weight"], ["logits"], "product"),
    ]
    constants = {
        "filters": draw.standard_normal((16, 3, 3, 3)).astype(np.float32),
        "weight": draw.standard_normal((16, 5)).astype(np.float32),
    }
    path = tmp_path_factory.mktemp("runtime") / "windows.onnx"
    return save_model(path, nodes, {"input": ["N", 3, 8, 8]}, {"logits": ["N", 5]}, constants, {})


@pytest.fixture(scope="module")
def engine(model):
    return lanner.build(model, profiles=RANGES, threads=1, budget=0)


@pytest.fixture(scope="module")
def plan(engine, model):
    path = model.parent / "windows.plan"
    engine.save(path)
    return path


def test_a_plan_gives_the_same_numbers(plan, engine):
    _, one, two = probe(("load", plan), ("run", "1x3x8x8"), ("run", "2x3x8x8"))
    np.testing.assert_array_equal(numbers(one), expected(engine, 1))
    np.testing.assert_array_equal(numbers(two), expected(engine, 2))


def test_no_other_library_of_lanner_is_loaded(plan):
    *_, said = probe(("load", plan), ("run", "1x3x8x8"), ("libraries", "-"))
    loaded = said.split()
    assert any(name.startswith("liblanner-runtime.so") for name in loaded)
    assert all(name.startswith("liblanner-runtime") for name in loaded), loaded
    if (LIBRARIES / "liblanner-onednn.so").exists():
        assert "liblanner-runtime-onednn.so" in loaded


def test_shapes_without_a_variant_are_rejected_in_one_line(plan):
    _, said, after = probe(("load", plan), ("run", "5x3x8x8"), ("run", "2x3x8x8"))
    assert said.startswith("error: unsupported: ")
    assert "no variant for input: [5, 3, 8, 8]" in said
    assert "the plan has input: [1, 3, 8, 8] and input: [2, 3, 8, 8]" in said
    assert "liblanner-runtime" in said and "profiles" in said and said.endswith(REMEDY)
    assert numbers(after).size == 10  # The others still run.


def test_a_plan_without_sizes_runs_prepared_shapes_only(model, tmp_path):
    open_engine, path = lanner.build(model, threads=1, budget=0), tmp_path / "open.plan"
    open_engine.save(path)
    said = probe(("load", path), ("run", "2x3x8x8"))[-1]
    assert said.startswith("error: unsupported: ") and "no variant for input: [2, 3, 8, 8]" in said
    assert "built without sizes of input: f32[N, 3, 8, 8]" in said and "prepare" in said and said.endswith(REMEDY)
    open_engine.prepare({"input": (2, 3, 8, 8)})
    open_engine.save(path)
    _, ready, refused = probe(("load", path), ("run", "2x3x8x8"), ("run", "1x3x8x8"))
    np.testing.assert_array_equal(numbers(ready), expected(open_engine, 2))
    assert "the plan has input: [2, 3, 8, 8]" in refused and refused.endswith(REMEDY)


def test_prepared_shapes_run_and_others_are_rejected(plan):
    _, ready, refused = probe(("load", plan), ("prepare", "2x3x8x8"), ("prepare", "3x3x8x8"))
    assert ready == "2x3x8x8"
    assert refused.startswith("error: unsupported: ") and refused.endswith(REMEDY)


def test_another_number_of_threads_uses_the_same_kernels(plan, engine):
    said = probe(("threads", 2), ("load", plan), ("run", "2x3x8x8"))[-1]
    np.testing.assert_allclose(numbers(said), expected(engine, 2), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("asked", ["build", "verify", "measure"])
def test_calls_that_need_the_builder_are_rejected(plan, model, asked):
    said = probe(("load", plan), (asked, model))[-1]
    assert said.startswith("error: unsupported: ")
    assert "needs the builder" in said and "liblanner-runtime" in said and ";" in said


def test_missing_kernels_are_an_error(engine, plan, tmp_path):
    if all(node["backend"] != "onednn" for node in engine.explain()["nodes"]):
        pytest.skip("the plan has no kernel of oneDNN")
    shutil.copy(LIBRARIES / f"liblanner-runtime.so.{version()}", tmp_path)  # without the module
    said = probe(("load", plan), LD_LIBRARY_PATH=str(tmp_path))[0]
    assert said.startswith("error: unsupported: ") and "onednn" in said
    assert "has no builder to choose kernels anew" in said and said.endswith(REMEDY)


def test_refit_needs_no_builder(plan, engine):
    refitted = engine.refit({"filters": ramp(16, 3, 3, 3)})
    said = probe(("load", plan), ("refit", "filters"), ("run", "1x3x8x8"))[-1]
    np.testing.assert_array_equal(numbers(said), expected(refitted, 1))
    assert np.abs(numbers(said) - expected(engine, 1)).max() > 1e-3


def test_a_stripped_plan_takes_weights_of_a_plan_but_not_of_a_model(plan, engine, model, tmp_path):
    stripped = tmp_path / "stripped.plan"
    engine.save(stripped, weights=False)
    *_, said = probe(("weights", plan), ("load", stripped), ("run", "1x3x8x8"))
    np.testing.assert_array_equal(numbers(said), expected(engine, 1))
    refused = probe(("weights", model), ("load", stripped))[-1]
    assert refused.startswith("error: ") and "reads no models" in refused and "safetensors" in refused


def test_a_loaded_plan_is_saved_unchanged(plan, tmp_path):
    again = tmp_path / "again.plan"
    probe(("load", plan), ("save", again))
    assert again.read_bytes() == plan.read_bytes()


def test_explain_needs_no_builder(plan):
    assert int(probe(("load", plan), ("explain", "-"))[-1]) > 1000


def test_the_runtime_needs_only_expected_libraries():
    def needed(file):
        return [line for line in output_of("readelf", "-d", file) if "NEEDED" in line and "lanner" in line]

    assert [line.split("[")[1] for line in needed(PROBE)] == [f"liblanner-runtime.so.{version()}]"]
    assert needed(LIBRARIES / "liblanner-runtime.so") == []
    for module in LIBRARIES.glob("liblanner-runtime-*.so"):
        assert all("liblanner-runtime.so" in line for line in needed(module)), module


def version():
    return ".".join(lanner.__version__.split(".")[:2])


def symbols(file, kinds):
    """Names of what is defined in an object file or library and seen from outside of its file."""
    lines = (line.split() for line in output_of("nm", "--defined-only", file))
    return {words[-1] for words in lines if len(words) >= 3 and words[-2] in kinds}


def test_no_symbol_of_the_builder_is_in_the_runtime():
    objects = BUILD / "src" / "CMakeFiles" / "lanner_builder_objects.dir"
    builder = set()
    for part in ("importers", "passes", "lower", "builder", "tf"):
        files = list((objects / part).rglob("*.o"))
        assert files, part
        for file in files:
            builder |= symbols(file, "TDB")
    builder = {name for name in builder if name != "_ZN6lanner12find_builderEv"}  # the runtime defines its own
    assert len(builder) > 300
    # In the library what the version script hides is local: lower-case letters.
    assert builder <= symbols(LIBRARIES / "liblanner.so", "TDBtdb")
    assert builder & symbols(LIBRARIES / "liblanner-runtime.so", "TDBtdbVWvw") == set()
