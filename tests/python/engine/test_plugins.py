"""Operators of a plug-in: the example of docs/plugins.md, from the command line and from Python."""

import subprocess

import numpy as np
import onnx
import pytest
from command import BUILD, ROOT, SECONDS, refuse, succeed
from onnx import TensorProto, helper

lanner = pytest.importorskip("lanner")


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    page = (ROOT / "docs" / "plugins.md").read_text()
    (folder / "softsign.c").write_text(page.split("```c\n", 1)[1].split("```", 1)[0])
    words = ["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "softsign.c"]
    words += ["-o", "softsign.so", f"-I{ROOT / 'include'}", f"-L{BUILD / 'lib'}", "-llanner", "-lm"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "softsign.so"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "softsign.onnx"
    nodes = [helper.make_node("Softsign2", ["x"], ["s"], domain="acme"), helper.make_node("Neg", ["s"], ["y"])]
    value = helper.make_tensor_value_info
    sizes = ["N", 3, 8, 8]
    graph = helper.make_graph(
        nodes, "g", [value("x", TensorProto.FLOAT, sizes)], [value("y", TensorProto.FLOAT, sizes)]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


@pytest.fixture
def environment(plugin):
    made = lanner.Environment()
    made.load_plugin(plugin)
    return made


def check_answers(engine):
    x = np.random.default_rng(0).standard_normal((2, 3, 8, 8), dtype=np.float32)
    np.testing.assert_allclose(engine({"x": x})["y"], -x / (2 + np.abs(x)), rtol=1e-6)


def test_from_python(model, environment, tmp_path):
    assert environment.operators == ["acme.Softsign2 1"]
    engine = lanner.build(model, environment=environment, threads=1, budget=0.5)
    assert "acme.Softsign2" in engine.lowered_ir()
    check_answers(engine)
    engine.save(tmp_path / "softsign.plan")
    loaded = lanner.load(tmp_path / "softsign.plan", environment=environment, threads=1)
    check_answers(loaded)
    assert loaded.verify(runs=2)
    with pytest.raises(lanner.Unsupported, match=r"needs the operator acme.Softsign2 \(version 1\)"):
        lanner.load(tmp_path / "softsign.plan")
    with pytest.raises(lanner.Unsupported, match="acme.Softsign2"):
        lanner.build(model)


def test_a_path_that_is_no_plugin_is_rejected(tmp_path):
    environment = lanner.Environment()
    with pytest.raises(lanner.NotFound, match="there is no such file"):
        environment.load_plugin(tmp_path / "absent.so")
    assert environment.operators == []


def test_timings_are_cached_in_the_environments_folder(model, environment, tmp_path):
    environment.set_cache_folder(tmp_path / "caches")
    lanner.build(model, environment=environment, shapes={"x": (2, 3, 8, 8)}, threads=1, budget=0.2)
    assert (tmp_path / "caches" / "timing.txt").exists()


def test_from_the_command(model, plugin, tmp_path):
    plan = tmp_path / "softsign.plan"
    succeed("build", model, "-o", plan, "--plugin", plugin, "--budget", "0.2s", "--threads", "1")
    assert "acme.Softsign2" in succeed("explain", plan, "--plugin", plugin)
    succeed("verify", plan, "--plugin", plugin, "--runs", "2")
    assert "acme.Softsign2" in refuse("verify", plan)
    assert "softsign.so" in refuse("verify", plan, "--plugin", tmp_path / "softsign.so")
