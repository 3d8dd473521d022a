"""Inputs that take pictures, from Python."""

import json

import numpy as np
import pytest
from command import make_clip, refuse, succeed

lanner = pytest.importorskip("lanner")
onnx = pytest.importorskip("onnx")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """y = -x of pictures of 20 x 16."""
    info = onnx.helper.make_tensor_value_info
    sizes = ["N", 3, 16, 20]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Neg", ["x"], ["y"])],
        "negative",
        [info("x", onnx.TensorProto.FLOAT, sizes)],
        [info("y", onnx.TensorProto.FLOAT, sizes)],
    )
    path = tmp_path_factory.mktemp("pictures") / "negative.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
    return path


KEYWORDS = {"preset": "imagenet", "size": (16, 20), "fit": "letterbox"}


def picture(width, height, seed):
    return lanner.Image(np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8))


def by_hand(*images):
    return -np.concatenate([image.to_tensor(**KEYWORDS).numpy() for image in images])


@pytest.mark.parametrize("budget", [0, 0.3])
def test_an_engine_takes_images_of_any_size(model, budget, tmp_path):
    built = lanner.build(model, pictures={"x": lanner.Preprocess(**KEYWORDS)}, threads=1, budget=budget, device="cpu")
    built.save(tmp_path / "negative.plan")
    for engine in (built, lanner.load(tmp_path / "negative.plan")):
        assert [binding.picture for binding in engine.inputs] == ["any"]
        assert str(engine.inputs[0]) == "x: any picture[N]"
        for images in ([picture(37, 23, 1)], [picture(20, 16, 2), picture(5, 90, 3)]):
            np.testing.assert_array_equal(engine({"x": images})["y"], by_hand(*images))


def test_errors_are_one_line(model):
    spec = lanner.Preprocess(**KEYWORDS)
    engine = lanner.build(model, pictures={"x": ("nv12", spec)}, threads=1, budget=0, device="cpu")
    assert engine.inputs[0].picture == "nv12"
    with pytest.raises(lanner.InvalidArgument, match="the picture is rgb24, expected nv12") as caught:
        engine({"x": picture(8, 8, 1)})
    assert "\n" not in str(caught.value)
    with pytest.raises(lanner.InvalidArgument, match="bind an Image"):
        engine({"x": np.zeros((1, 3, 16, 20), np.float32)})
    with pytest.raises(lanner.InvalidArgument, match="the model has no input 'z'"):
        lanner.build(model, pictures={"z": spec}, budget=0)
    with pytest.raises(lanner.InvalidArgument, match="nv21x"):
        lanner.build(model, pictures={"x": ("nv21x", spec)}, budget=0)
    with pytest.raises(TypeError, match="pictures of x"):
        lanner.build(model, pictures={"x": "nv12"}, budget=0)


def test_the_command_runs_a_plan_that_takes_pictures(model, tmp_path):
    still, clip = tmp_path / "image.png", make_clip(tmp_path, frames=5)
    lanner.save_image(still, picture(37, 23, 1))
    spec = lanner.Preprocess(**KEYWORDS)
    answers = []
    for name in ("pictures", "preprocess"):
        plan = tmp_path / f"{name}.plan"
        lanner.build(model, threads=1, budget=0, device="cpu", **{name: {"x": spec}}).save(plan)
        answers.append(succeed("run", plan, "-i", still, clip, "--batch", 2, "--json", "-").splitlines())
    assert len(answers[0]) == 6
    assert answers[0] == answers[1]
    error = refuse("run", tmp_path / "pictures.plan", "-i", still, "--fit", "crop")
    assert "its preprocessing is part of the engine" in error
