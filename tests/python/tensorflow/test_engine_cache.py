"""The cache of engines by shapes of a converted model: counters, profiles, saved engines, options."""

import json
import threading
import warnings

import numpy as np
import pytest
from command import refuse, succeed

import lanner

# y = tanh(exp(-relu(x)))
GRAPH = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: -1 } } } } }
node { name: "relu" op: "Relu" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "neg" op: "Neg" input: "relu" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "exp" op: "Exp" input: "neg" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "y" op: "Tanh" input: "exp" attr { key: "T" value { type: DT_FLOAT } } }
"""
SHAPES = [(8, 224), (8, 224), (4, 224), (8, 299), (16, 224)]


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("graph") / "graph.pbtxt"
    path.write_text(GRAPH)
    return path


def values(shape):
    return np.linspace(-2, 2, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def run(model, shape):
    x = values(shape)
    np.testing.assert_allclose(np.asarray(model({"x": x})["y"]), np.tanh(np.exp(-np.maximum(x, 0))), rtol=1e-5)


def counters(model):
    (engine,) = model.engines
    return {name: engine[name] for name in ("built", "hits", "evicted", "native")}


def convert(graph, **options):
    return lanner.tf.convert(graph, **{"budget": 0, "threads": 1, **options})


@pytest.mark.parametrize(("maximum", "evicted"), [(1, 2), (100, 0)])
def test_builds_hits_and_evictions_are_counted(graph, maximum, evicted):
    model = convert(graph, maximum_cached_engines=maximum)
    for shape in SHAPES:
        run(model, shape)
    assert counters(model) == {"built": 3, "hits": 2, "evicted": evicted, "native": {}}
    (engine,) = model.engines
    assert engine["maximum"] == maximum
    latest = [(16, 224), (8, 299), (8, 224)]
    assert [cached["shapes"]["TensorRTInputPH_0"]["opt"] for cached in engine["cached"]] == latest[:maximum]
    assert f"3 built, 2 hits, {evicted} evicted" in model.summary()


def test_a_native_run_is_counted_with_its_cause_and_warned_of_once(graph):
    model = convert(graph, allow_build_at_runtime=False)
    with pytest.warns(RuntimeWarning, match="runs natively for inputs .2, 8.*not_built"):
        run(model, (2, 8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(model, (2, 8))
    assert counters(model)["native"] == {"not_built": 2}
    assert "2 runs natively: not_built" in model.summary()
    strict = convert(graph, allow_build_at_runtime=False, native_fallback=False)
    with pytest.raises(lanner.Unsupported, match="native_fallback is off"):
        run(strict, (2, 8))


def test_engines_are_built_ahead_for_several_inputs_and_saved(graph, tmp_path):
    model = convert(graph)
    model.save(tmp_path / "unbuilt")
    assert not list(tmp_path.glob("unbuilt/assets/*"))
    model.build([{"x": values((2, 8))}, {"x": values((4, 16))}])
    model.build({"x": values((2, 9))})
    model.save(tmp_path / "built")
    assert len(list(tmp_path.glob("built/assets/trt-serialized-engine.*"))) == 1
    loaded = lanner.tf.load(tmp_path / "built", budget=0, threads=1, allow_build_at_runtime=False)
    for shape in [(2, 8), (4, 16), (2, 9)]:
        run(loaded, shape)
    assert counters(loaded) == {"built": 0, "hits": 3, "evicted": 0, "native": {}}


def test_profiles_are_made_of_all_inputs(graph):
    model = convert(graph, engine_shapes="profiles", profile_strategy="range")
    model.build(({"x": values((2, 8))}, {"x": values((4, 16))}))
    for shape in [(2, 8), (3, 12), (4, 16)]:
        run(model, shape)
    assert counters(model) == {"built": 1, "hits": 3, "evicted": 0, "native": {}}
    with pytest.warns(RuntimeWarning, match="outside_profiles"):
        run(model, (8, 16))


def test_static_mode_builds_one_engine(graph):
    model = convert(graph, mode="static", shapes={"x": ((1, 8), (1, 8), (4, 8))}, max_batch_size=4)
    assert counters(model)["built"] == 1
    run(model, (3, 8))
    assert counters(model)["hits"] == 1
    with pytest.raises(lanner.InvalidArgument, match="is static"):
        model.build({"x": values((3, 8))})


def test_threads_share_the_engines(graph):
    model = convert(graph)
    threads = [threading.Thread(target=lambda: [run(model, (4, 32 + n)) for n in range(3)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counters(model) == {"built": 3, "hits": 6, "evicted": 0, "native": {}}


def test_a_memory_limit_that_nothing_fits_runs_natively(graph):
    model = convert(graph, memory_limit=1)
    with pytest.warns(RuntimeWarning, match="memory_limit"):
        run(model, (2, 8))
    assert counters(model)["native"] == {"memory_limit": 1}


def test_wrong_options_say_what_was_expected(graph):
    for options, expected in [
        ({"maximum_cached_engines": 0}, "maximum_cached_engines"),
        ({"mode": "fast"}, "expected one of static, dynamic"),
        ({"engine_shapes": "all"}, "expected one of any, implicit_batch, profiles"),
        ({"profile_strategy": "Best"}, "expected one of Range, Optimal"),
        ({"engine_shapes": "any", "profile_strategy": "Range"}, "only engine_shapes profiles"),
    ]:
        with pytest.raises((lanner.InvalidArgument, ValueError, TypeError), match=expected):
            convert(graph, **options)
    with pytest.raises(TypeError, match="dicts from input name to array"):
        convert(graph).build([1])


def test_the_command_builds_engines_for_given_shapes(graph, tmp_path):
    common = ("convert", graph, "--budget", "0", "--threads", "1")
    out = json.loads(succeed(*common, "-o", tmp_path / "out", "--build-for", "x=2x8", "--build-for", "x=4x9", "--json"))
    (engine,) = out["engines"]
    assert (engine["built"], engine["hits"], engine["maximum"]) == (2, 0, 16)
    loaded = lanner.tf.load(tmp_path / "out", budget=0, threads=1)
    run(loaded, (2, 8))
    assert counters(loaded)["hits"] == 1
    out = json.loads(succeed(*common, "--max-cached-engines", "1", "--engine-shapes", "implicit_batch", "--build-for", "x=2x8", "--build-for", "x=4x8", "--json"))
    assert (out["engines"][0]["built"], out["engines"][0]["evicted"]) == (2, 1)
    assert "the model has no input 'z'" in refuse(*common, "--build-for", "x=2x8,z=1")
    assert "expected a shape of input" in refuse(*common, "--build-for", "z=1")


def test_the_report_has_the_engines_by_shape(graph, tmp_path):
    succeed("convert", graph, "--budget", "0", "--build-for", "x=8x224", "--engine-shapes", "profiles", "--report", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "Engines by shape" in page and "[8, 224] in " in page
    succeed("convert", graph, "--budget", "0", "--build-for", "x=8x224", "--report", tmp_path / "r.html")
    assert "[to 8, 224] in " in (tmp_path / "r.html").read_text()
