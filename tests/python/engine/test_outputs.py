"""Engines with other outputs than the model's, and preprocessing declared by the model."""

import json
import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from command import color_classifier, refuse, save_model, succeed

lanner = pytest.importorskip("lanner")

OPTIONS = {"budget": 0.0, "device": "cpu", "threads": 1}
RED = np.zeros((20, 30, 3), np.uint8) + np.array([250, 20, 10], np.uint8)


def test_inner_values_can_be_outputs(tmp_path):
    model = color_classifier(tmp_path / "model.onnx")
    x = np.random.default_rng(1).random((2, 3, 8, 8), np.float32)
    engine = lanner.build(model, outputs=["mean", "logits"], **OPTIONS)
    assert [output.name for output in engine.outputs] == ["mean", "logits"]
    results = engine({"input": x})
    np.testing.assert_allclose(results["mean"], x.mean(axis=(2, 3)), rtol=1e-5)
    np.testing.assert_allclose(results["logits"], 10 * x.mean(axis=(2, 3)), rtol=1e-5)
    only = lanner.build(model, outputs=["mean"], **OPTIONS)
    assert list(only({"input": x})) == ["mean"]
    only.save(tmp_path / "plan")
    assert [output.name for output in lanner.load(tmp_path / "plan").outputs] == ["mean"]
    by_node = lanner.build(model, outputs=["product"], **OPTIONS)
    np.testing.assert_array_equal(by_node({"input": x})["product"], results["logits"])
    assert [output.name for output in lanner.build(model, outputs=[], **OPTIONS).outputs] == ["logits"]


def test_unknown_output_values_are_rejected(tmp_path):
    model = color_classifier(tmp_path / "model.onnx")
    with pytest.raises(lanner.NotFound, match="no value 'maen'; did you mean mean"):
        lanner.build(model, outputs=["maen"], **OPTIONS)
    with pytest.raises(lanner.NotFound, match="own outputs are logits"):
        lanner.build(model, outputs=["something"], **OPTIONS)
    with pytest.raises(TypeError, match="outputs: 'mean' is of the wrong type.*a list of names"):
        lanner.build(model, outputs="mean", **OPTIONS)


def test_the_command_accepts_inner_values_as_outputs(tmp_path):
    model = color_classifier(tmp_path / "model.onnx")
    succeed("build", model, "-o", tmp_path / "plan", "--budget", 0, "--outputs", "mean,logits")
    assert [output.name for output in lanner.load(tmp_path / "plan").outputs] == ["mean", "logits"]
    succeed("build", model, "-o", tmp_path / "plan", "--budget", 0, "--outputs", "logits", "--outputs", "mean")
    assert [output.name for output in lanner.load(tmp_path / "plan").outputs] == ["logits", "mean"]
    said = refuse("build", model, "-o", tmp_path / "plan", "--outputs", "meen")
    assert said.endswith("did you mean mean?")
    said = refuse("verify", tmp_path / "plan", "--outputs", "mean")
    assert "is a plan" in said and "--outputs" in said


def declared(**spec):
    return {"lanner.preprocess": json.dumps({"range": [0, 1], **spec})}


def test_pictures_are_preprocessed_as_the_model_declares(tmp_path):
    model = color_classifier(tmp_path / "model.onnx", metadata=declared(channels="bgr"))
    engine = lanner.build(model, **OPTIONS)
    assert engine.preprocess == {"input": lanner.Preprocess(size=(8, 8), channels="bgr", range=(0, 1))}
    for picture in (lanner.Image(RED), [lanner.Image(RED)]):
        logits = engine({"input": picture})["logits"].numpy()
        np.testing.assert_allclose(logits, [[10 * 10 / 255, 20 * 10 / 255, 250 * 10 / 255]], rtol=1e-4)
    engine.save(tmp_path / "plan")
    loaded = lanner.load(tmp_path / "plan")
    assert loaded.preprocess == engine.preprocess
    np.testing.assert_array_equal(loaded({"input": lanner.Image(RED)})["logits"], logits)
    own = lanner.build(model, preprocess={"input": lanner.Preprocess()}, **OPTIONS)
    assert own.preprocess == {"input": lanner.Preprocess(size=(8, 8))}
    named = color_classifier(tmp_path / "named.onnx", metadata={"lanner.preprocess.input": '{"channels": "bgr"}'})
    assert lanner.build(named, **OPTIONS).preprocess == {"input": lanner.Preprocess(size=(8, 8), channels="bgr")}
    assert lanner.build(color_classifier(tmp_path / "none.onnx"), **OPTIONS).preprocess == {}


def test_the_command_reports_the_origin_of_preprocessing(tmp_path):
    model = color_classifier(tmp_path / "model.onnx", metadata=declared(channels="bgr"))
    lanner.save_image(tmp_path / "red.png", lanner.Image(RED))
    by_command = json.loads(succeed("run", model, "-i", tmp_path / "red.png", "--json", "-", "--budget", 0))
    lanner.build(model, **OPTIONS).save(tmp_path / "plan")
    by_plan = json.loads(succeed("run", tmp_path / "plan", "-i", tmp_path / "red.png", "--json", "-"))
    assert by_command["top"] == by_plan["top"] and by_plan["top"][0]["class"] == 2


def test_size_and_type_are_the_models(tmp_path):
    model = color_classifier(tmp_path / "model.onnx", size=10)
    engine = lanner.build(model, preprocess={"input": lanner.Preprocess(preset="caffe")}, **OPTIONS)
    assert engine.preprocess == {"input": lanner.Preprocess(preset="caffe", size=(10, 10))}
    logits = engine({"input": lanner.Image(RED)})["logits"].numpy()
    np.testing.assert_allclose(logits, 10 * np.array([[10 - 104, 20 - 117, 250 - 123]]), rtol=1e-5)
    with pytest.raises(lanner.InvalidArgument, match="it gives .*, the model expects"):
        lanner.build(model, preprocess={"input": lanner.Preprocess(size=(8, 8))}, **OPTIONS)
    half = onnx.load(model)
    half.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT16
    half.graph.node[0].input[0] = "real"
    half.graph.node.insert(0, helper.make_node("Cast", ["input"], ["real"], to=TensorProto.FLOAT))
    halves = lanner.build(half.SerializeToString(), preprocess={"input": lanner.Preprocess(preset="caffe")}, **OPTIONS)
    assert halves.preprocess == {"input": lanner.Preprocess(preset="caffe", size=(10, 10), dtype="float16")}
    np.testing.assert_allclose(halves({"input": lanner.Image(RED)})["logits"], logits, rtol=1e-2)
    with pytest.raises(lanner.InvalidArgument, match="it gives u8"):
        lanner.build(model, preprocess={"input": lanner.Preprocess(dtype="uint8")}, **OPTIONS)


def test_unusable_preprocessing_metadata_warns(tmp_path):
    faults = {
        '{"chanels": "bgr"}': "chanels",
        "{": "metadata lanner.preprocess",
        json.dumps({"width": 9, "height": 9}): "the model expects",
        json.dumps({"layout": "nhwc"}): "the model expects",
    }
    for number, (text, said) in enumerate(faults.items()):
        model = color_classifier(tmp_path / f"{number}.onnx", metadata={"lanner.preprocess": text})
        with pytest.warns(RuntimeWarning, match=said):
            engine = lanner.build(model, **OPTIONS)
        assert engine.preprocess == {}
        with pytest.raises(lanner.InvalidArgument, match="no preprocessing"):
            engine({"input": lanner.Image(RED)})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            given = lanner.build(model, preprocess={"input": lanner.Preprocess()}, **OPTIONS)
            assert given.preprocess == {"input": lanner.Preprocess(size=(8, 8))}
            taking = lanner.build(model, images={"input": lanner.Preprocess()}, **OPTIONS)
            assert taking.inputs[0].image == "any"


def two_inputs(path, second):
    nodes = [
        helper.make_node("ReduceMean", ["a"], ["x"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("ReduceMean", ["b"], ["y"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Add", ["x", "y"], ["sum"]),
    ]
    return save_model(path, nodes, {"a": [1, 3, 8, 8], "b": second}, {"sum": [1]}, {}, declared())


def test_preprocessing_applies_to_the_only_picture_input(tmp_path):
    one = lanner.build(two_inputs(tmp_path / "one.onnx", [1, 16, 8, 8]), **OPTIONS)
    assert list(one.preprocess) == ["a"]
    with pytest.warns(RuntimeWarning, match="fits several inputs: a, b; name one, as lanner.preprocess.a"):
        two = lanner.build(two_inputs(tmp_path / "two.onnx", [1, 3, 4, 4]), **OPTIONS)
    assert two.preprocess == {}
    given = lanner.build(tmp_path / "two.onnx", preprocess={"b": lanner.Preprocess()}, **OPTIONS)
    assert sorted(given.preprocess) == ["a", "b"]
