"""SavedModels and MetaGraphs, as a whole and in parts, against TensorFlow's answers and files of others."""

import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tensorflow_python import PYTHON, needs_tensorflow

import lanner

HERE = Path(__file__).parent
DATA = HERE.parents[3] / "shared" / "data" / "models"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    made = subprocess.run([PYTHON, HERE / "saved_models.py", folder], capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr[-4000:]
    return folder, pickle.loads((folder / "answers.pickle").read_bytes())


def only(results):
    (value,) = results.values()
    return np.asarray(value)


def run(engine, value):
    return only(engine({engine.inputs[0].name: value}))


@needs_tensorflow
def test_a_keras_network_is_read_converted_and_loaded(models, tmp_path):
    folder, answers = models[0] / "keras", models[1]["keras"]
    (x,), (y,) = answers["inputs"], answers["outputs"]
    np.testing.assert_allclose(run(lanner.build(folder, budget=0), x), y, rtol=1e-5, atol=1e-6)
    for denied in ([], ["Relu6"], ["Conv2D", "Softmax"]):
        model = lanner.tf.convert(folder, budget=0, minimum_segment_size=2, denied_operators=denied)
        np.testing.assert_allclose(run(model, x), y, rtol=1e-5, atol=1e-6)
        assert (model.share == 1) == (not denied)
        assert all(node["engine"] or node["reason"] for node in model.nodes)
        for engines in (True, False):
            model.save(tmp_path / f"{len(denied)}{engines}", engines=engines)
            loaded = lanner.tf.load(tmp_path / f"{len(denied)}{engines}", budget=0)
            assert [part["engine"] for part in loaded.parts] == [part["engine"] for part in model.parts]
            np.testing.assert_allclose(run(loaded, x), y, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(run(lanner.build(tmp_path / f"{len(denied)}{engines}", budget=0), x), y, rtol=1e-5, atol=1e-6)


@needs_tensorflow
def test_calibrated_engines_are_built_anew_where_no_plan_is_saved(models, tmp_path):
    folder, answers = models[0] / "keras", models[1]["keras"]
    (x,) = answers["inputs"]
    model = lanner.tf.convert(folder, budget=0, precision="int8", calibration_data=[{"picture": x}])
    for engines in (True, False):
        model.save(tmp_path / str(engines), engines=engines)
        np.testing.assert_array_equal(run(lanner.tf.load(tmp_path / str(engines), budget=0), x), run(model, x))


@needs_tensorflow
def test_kernels_of_a_converted_model_are_timed_ahead(models):
    folder, answers = models[0] / "keras", models[1]["keras"]
    (x,), (y,) = answers["inputs"], answers["outputs"]
    model = lanner.tf.convert(folder, budget=1)
    model.build({model.inputs[0].name: x})
    np.testing.assert_allclose(run(model, x), y, rtol=1e-5, atol=1e-6)


@needs_tensorflow
@pytest.mark.parametrize(
    "options",
    [
        {"mode": "static", "max_batch_size": 8},
        {"mode": "dynamic", "engine_shapes": "implicit_batch", "maximum_cached_engines": 1},
        {"mode": "dynamic", "profile_strategy": "Range"},
        {"mode": "dynamic", "profile_strategy": "Optimal", "denied_operators": ["Conv2D"], "minimum_segment_size": 2},
        {"allow_build_at_runtime": False},
    ],
    ids=["static", "implicit", "range", "optimal-in-parts", "unbuilt"],
)
def test_all_modes_of_engines_give_tensorflows_answers(models, tmp_path, options):
    folder, answers = models[0] / "keras", models[1]["keras"]
    (x,), (y,) = answers["inputs"], answers["outputs"]
    model = lanner.tf.convert(folder, budget=0, **options)
    name = model.inputs[0].name
    if "profile_strategy" in options:
        model.build([{name: x[:1]}, {name: x}])
    for given in (model, model, None):
        if given is None:
            model.save(tmp_path / "saved")
            given = lanner.tf.load(tmp_path / "saved", budget=0)
        for rows in (1, len(x)):
            np.testing.assert_allclose(run(given, x[:rows]), y[:rows], rtol=1e-5, atol=1e-6)
        for engine in given.engines:
            natively = {"not_built"} if options.get("allow_build_at_runtime") is False else set()
            assert set(engine["native"]) == natively, engine


@needs_tensorflow
def test_signatures_branches_and_loops(models):
    folder, answers = models[0] / "signatures", models[1]["signatures"]
    with pytest.raises(lanner.InvalidArgument, match="name one: branches, look_up"):
        lanner.build(folder, budget=0)
    ids, rows = answers["look_up"]
    for make in (lanner.build, lanner.tf.convert):
        np.testing.assert_array_equal(run(make(folder, budget=0, signature="look_up"), ids), rows)
        model = make(folder, budget=0, signature="branches")
        for x, y in answers["branches"]:
            np.testing.assert_allclose(run(model, x), y, rtol=1e-6)


@needs_tensorflow
def test_models_of_tensorflow_1(models):
    folder, answers = models[0] / "early", models[1]["early"]
    for engine in (lanner.build(folder / "saved", budget=0), lanner.build(folder / "model.ckpt.meta", budget=0, outputs=["y"])):
        np.testing.assert_allclose(run(engine, answers["x"]), answers["y"], rtol=1e-6)
    with pytest.raises(lanner.InvalidArgument, match="name them as outputs"):
        lanner.build(folder / "model.ckpt.meta")


@needs_data
def test_basic_pitch_gives_its_golden_output():
    """Spotify's basic-pitch: its SavedModel, as a whole and in parts, beside the ONNX file of the same network."""
    x = np.random.default_rng(0).normal(0, 0.1, (2, 43844, 1)).astype(np.float32)
    onnx = lanner.build(DATA / "basic_pitch" / "model.onnx", budget=0)
    wanted = sorted((np.asarray(v) for v in onnx({onnx.inputs[0].name: x}).values()), key=lambda v: (v.shape, float(v.sum())))
    folder = DATA / "basic_pitch" / "saved_model"
    for model in (lanner.build(folder, budget=0), lanner.tf.convert(folder, budget=0), lanner.tf.convert(folder, budget=0, denied_operators=["Conv2D"])):
        assert sorted(output.name for output in model.outputs) == ["contour", "note", "onset"]
        got = sorted((np.asarray(v) for v in model({"input_2": x}).values()), key=lambda v: (v.shape, float(v.sum())))
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_allclose(a, b, atol=2e-4)


@needs_data
def test_a_regression_in_three_formats():
    folder = DATA / "tf" / "regression"
    x = np.array([1, 2.5, -3], np.float32)
    answers = [
        run(lanner.build(path, budget=0, outputs=outputs), x)
        for path, outputs in ((folder / "saved_model", []), (folder / "checkpoint" / "model.meta", ["pred"]), (folder / "graphdef" / "frozen.pb", []))
    ]
    np.testing.assert_allclose(answers[1], answers[0], rtol=1e-6)
    np.testing.assert_allclose(answers[2], answers[0], rtol=1e-6)


def test_wrong_calls_of_conversions_say_what_was_expected(tmp_path):
    with pytest.raises(lanner.NotFound):
        lanner.tf.convert(tmp_path / "nowhere")
    (tmp_path / "m.onnx").write_bytes(b"\x08\x07\x12\x01x")
    with pytest.raises(lanner.BadData, match="not a model of TensorFlow"):
        lanner.tf.convert(tmp_path / "m.onnx")
    with pytest.raises(TypeError, match="minimum_segment_size"):
        lanner.tf.convert(tmp_path / "m.onnx", minimum_segment_size="three")
    with pytest.raises(TypeError, match="images"):
        lanner.tf.convert(tmp_path / "m.onnx", images={})
