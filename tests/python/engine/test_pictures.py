"""Inputs with built-in preprocessing of pictures, from Python."""

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
    built = lanner.build(model, images={"x": lanner.Preprocess(**KEYWORDS)}, threads=1, budget=budget, device="cpu")
    built.save(tmp_path / "negative.plan")
    for engine in (built, lanner.load(tmp_path / "negative.plan")):
        assert [binding.image for binding in engine.inputs] == ["any"]
        assert str(engine.inputs[0]) == "x: any image[N]"
        for images in ([picture(37, 23, 1)], [picture(20, 16, 2), picture(5, 90, 3)]):
            np.testing.assert_array_equal(engine({"x": images})["y"], by_hand(*images))


def test_errors_are_one_line(model):
    spec = lanner.Preprocess(**KEYWORDS)
    engine = lanner.build(model, images={"x": ("nv12", spec)}, threads=1, budget=0, device="cpu")
    assert engine.inputs[0].image == "nv12"
    with pytest.raises(lanner.InvalidArgument, match="the picture is rgb24, expected nv12") as caught:
        engine({"x": picture(8, 8, 1)})
    assert "\n" not in str(caught.value)
    with pytest.raises(lanner.InvalidArgument, match="bind an Image"):
        engine({"x": np.zeros((1, 3, 16, 20), np.float32)})
    with pytest.raises(lanner.InvalidArgument, match="the model has no input 'z'"):
        lanner.build(model, images={"z": spec}, budget=0)
    with pytest.raises(lanner.InvalidArgument, match="nv21x"):
        lanner.build(model, images={"x": ("nv21x", spec)}, budget=0)
    with pytest.raises(TypeError, match="images of x"):
        lanner.build(model, images={"x": "nv12"}, budget=0)


@pytest.fixture
def inputs(tmp_path):
    still, clip = tmp_path / "image.png", make_clip(tmp_path, frames=5)
    lanner.save_image(still, picture(37, 23, 1))
    return [still, clip]


FLAGS = ["--preset", "imagenet", "--fit", "letterbox"]
QUICK = ["--threads", "1", "--budget", "0", "--device", "cpu"]


def test_the_command_builds_and_runs_picture_inputs(model, inputs, tmp_path):
    plans = {"tensors": ["--shape", "x:1x3x16x20:2x3x16x20:4x3x16x20"], "any": ["--image-input"], "rgb24": ["--image-input=rgb24"]}
    for name, flags in plans.items():
        succeed("build", model, "-o", tmp_path / name, *flags, *FLAGS, *QUICK)
    assert [lanner.load(tmp_path / name).inputs[0].image for name in plans] == ["", "any", "rgb24"]

    def answers(source, *options):
        lines = succeed("run", source, "-i", *inputs, "--batch", 2, "--task", "none", "--json", "-", *options).splitlines()
        return [json.loads(line)["outputs"]["y"] for line in lines]

    expected = answers(tmp_path / "tensors", "--threads", "1")
    assert len(expected) == 6
    by_hand_first = by_hand(lanner.load_image(inputs[0])).ravel()[: len(expected[0]["values"])]
    np.testing.assert_array_equal(np.float32(expected[0]["values"]), by_hand_first)
    assert answers(tmp_path / "any") == answers(model, *FLAGS, *QUICK) == expected
    # What was built counts where the command line says the same again, without the size that the model has.
    assert answers(tmp_path / "any", *FLAGS) == expected
    assert answers(tmp_path / "any", "--turn", "1") == answers(tmp_path / "tensors", "--turn", "1")


def test_the_command_rejects_invalid_picture_options(model, inputs, tmp_path):
    still, _ = inputs
    plan = tmp_path / "rgb.plan"
    succeed("build", model, "-o", plan, "--image-input=rgb24", *FLAGS, *QUICK)
    assert 'expected fit "letterbox", got fit "crop"' in refuse("run", plan, "-i", still, "--task", "none", "--fit", "crop")
    assert "--region" in refuse("run", plan, "-i", still, "--task", "none", "--region", "4x")
    assert "region" in refuse("run", plan, "-i", still, "--task", "none", "--region", "400x400+0+0")
    assert "the picture is yuv420p, expected rgb24" in refuse("run", plan, "-i", inputs[1], "--task", "none")
    assert "--image-input: pixel format 'rgb'" in refuse("build", model, "-o", plan, "--image-input=rgb", *FLAGS)
    undeclared = refuse("build", model, "-o", plan, "--image-input")
    assert "neither the command line nor the model declares the preprocessing of input x" in undeclared and "; give --preset" in undeclared
    several = refuse("build", model, "-o", plan, "--image-input", *FLAGS, *QUICK, "--profile", "x=1x3x16x20:2x3x16x20:4x3x16x20")
    assert "profile 1: input x: it takes any image[N]; expected the number of pictures as its shape, like [4]" in several


def test_profiles_count_pictures(model, tmp_path):
    plan = tmp_path / "ranged.plan"
    succeed("build", model, "-o", plan, "--image-input", *FLAGS, *QUICK, "--profile", "x=1:2:4")
    assert "x 1 to 4, opt 2" in succeed("explain", plan)
    pictures, profiles = {"x": lanner.Preprocess(**KEYWORDS)}, [{"x": ((1,), (2,), (4,))}]
    engine = lanner.build(model, images=pictures, profiles=profiles, threads=1, budget=0, device="cpu")
    engine.prepare({"x": (3,)})
    told = engine.explain()
    assert told["profiles"] == [{"x": {"min": [1], "opt": [2], "max": [4]}}]
    assert [variant["shapes"]["x"] for variant in told["variants"]] == [[2], [3]]
    with pytest.raises(lanner.InvalidArgument, match=r"it takes any image\[N\]; expected the number of pictures"):
        engine.prepare({"x": (1, 3, 16, 20)})


def test_plans_with_picture_inputs_are_explained_timed_and_verified(model, tmp_path):
    plan = tmp_path / "any.plan"
    succeed("build", model, "-o", plan, "--image-input", *FLAGS, *QUICK)
    assert "preprocess_images" in succeed("explain", plan)
    explained = json.loads(succeed("explain", plan, "--json"))
    assert explained["inputs"] == ["x: any image[N]"]
    assert [(node["op"], node["backend"]) for node in explained["nodes"]][0] == ("preprocess_images", "cpu")
    measured = json.loads(succeed("bench", plan, "--batch", "2", "--duration", "50ms", "--profile", "--json"))
    assert "preprocess_images" in [node["op"] for node in measured["results"][0]["profile"]]
    assert "2 nodes right" in succeed("verify", plan, "--runs", "2")
