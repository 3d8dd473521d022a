"""Inputs of `lanner run` other than batches of images: a single image, further values, tokens."""

import json

import numpy as np
import onnx
import pytest
from command import lanner as command
from command import make_ppm, refuse, succeed
from onnx import TensorProto, helper, numpy_helper

QUICK = ["--budget", "0", "--threads", "1"]
F, I = TensorProto.FLOAT, TensorProto.INT64
value = helper.make_tensor_value_info


def write(path, nodes, inputs, outputs, constants=None):
    initializers = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "small", inputs, outputs, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def torchvision_detector(path, height="height", width="width"):
    """As exported by torchvision: an image [3, H, W] of 0..1, lists of boxes; the score is the image's mean."""
    boxes = np.array([[2, 3, 12, 9]], np.float32)
    return write(
        path,
        [helper.make_node("ReduceMean", ["image"], ["mean"], axes=[0, 1, 2], keepdims=0),
         helper.make_node("Unsqueeze", ["mean", "zero"], ["scores"]),
         helper.make_node("Identity", ["box"], ["boxes"]), helper.make_node("Identity", ["label"], ["labels"])],
        [value("image", F, [3, height, width])],
        [value("boxes", F, ["K", 4]), value("labels", I, ["K"]), value("scores", F, ["K"])],
        {"zero": np.zeros(1, np.int64), "box": boxes, "label": np.array([1], np.int64)},
    )


def conditioned(path, dtype=F, dims=(1,), name="gain"):
    """The mean of the image, times the sum of the other input."""
    return write(
        path,
        [helper.make_node("ReduceMean", ["image"], ["mean"], axes=[1, 2, 3], keepdims=0),
         helper.make_node("Cast", [name], ["floats"], to=F),
         helper.make_node("ReduceSum", ["floats"], ["sum"], keepdims=0),
         helper.make_node("Mul", ["mean", "sum"], ["out"])],
        [value("image", F, [1, 3, 8, 8]), value(name, dtype, list(dims))], [value("out", F, [1])],
    )


def save_floats(path, array, name="gain"):
    """A safetensors file with one tensor."""
    header = json.dumps({name: {"dtype": "F32", "shape": array.shape, "data_offsets": [0, array.nbytes]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + array.tobytes())


def number(*arguments):
    (line,) = succeed("run", *arguments, "--task", "none", "--range", "0,1", "--json", "-", *QUICK).splitlines()
    (values,) = json.loads(line)["outputs"].values()
    return values["values"][0]


class TestOnePicture:
    @pytest.mark.parametrize("size", [("height", "width"), (10, 20)])
    def test_torchvision_detectors_run_without_flags(self, tmp_path, size):
        model, picture = torchvision_detector(tmp_path / "m.onnx", *size), make_ppm(tmp_path / "x.ppm", 20, 10, (51, 102, 153))
        done = command("run", model, "-i", picture, "-o", tmp_path / "x.png", "--json", "-", *QUICK)
        assert done.returncode == 0, done.stderr
        (found,) = json.loads(done.stdout)["detections"]
        assert found["score"] == pytest.approx(0.4, abs=1e-3) and found["box"] == pytest.approx([2, 3, 12, 9], abs=0.01)
        assert "torchvision" in done.stderr and "RGB 0..1" in done.stderr

    def test_pictures_of_several_sizes_and_clips_follow_one_another(self, tmp_path):
        model = torchvision_detector(tmp_path / "m.onnx")
        pictures = [make_ppm(tmp_path / f"{n}.ppm", 20 + 4 * n, 12, (255, 255, 255)) for n in range(3)]
        lines = succeed("run", model, "-i", *pictures, "--json", "-", *QUICK).splitlines()
        assert [json.loads(line)["detections"][0]["score"] for line in lines] == pytest.approx([1, 1, 1], abs=1e-3)

    def test_batch_for_a_single_picture_input_is_refused(self, tmp_path):
        model, picture = torchvision_detector(tmp_path / "m.onnx"), make_ppm(tmp_path / "x.ppm")
        assert "--batch 2" in refuse("run", model, "-i", picture, "--batch", "2", *QUICK)


class TestOtherInputs:
    def test_inputs_from_a_number_a_list_and_a_file(self, tmp_path):
        picture = make_ppm(tmp_path / "x.ppm", 8, 8, (51, 51, 51))
        model = conditioned(tmp_path / "m.onnx", dims=("N", 2))
        assert number(model, "-i", picture, "--inputs", "gain=3") == pytest.approx(0.2 * 6)
        assert number(model, "-i", picture, "--inputs", "gain=[[1, 2], [3, 4.5]]") == pytest.approx(0.2 * 10.5)
        save_floats(tmp_path / "v.safetensors", np.array([[1, 9]], np.float32))
        assert number(model, "-i", picture, "--inputs", tmp_path / "v.safetensors") == pytest.approx(2)
        assert number(model, "-i", picture, "--inputs", f"gain={tmp_path / 'v.safetensors'}") == pytest.approx(2)
        line = conditioned(tmp_path / "i.onnx", I, (3,))
        assert number(line, "-i", picture, "--inputs", "gain=1,2,4") == pytest.approx(0.2 * 7)

    @pytest.mark.parametrize(("given", "said"), [
        ([], "gain: i64[3] takes no image; give it by --inputs"),
        (["gain=1,2"], "it is i64[2], the model takes gain: i64[3]"),
        (["gain=1.5"], "1.5 is not a valid i64"),
        (["gain=[[1],[2,3]]"], "rows of a list have different lengths"),
        (["gain=abc"], "or an existing .safetensors file, got 'abc'"),
        (["gain=[]"], "empty"),
        (["other=1"], "the model's inputs are image, gain"),
        (["gain=1", "gain=2"], "given twice"),
        (["image=1", "gain=1"], "no input of the model takes images"),
        (["nowhere.safetensors"], "an existing .safetensors file"),
    ])
    def test_invalid_inputs_are_reported_before_the_work(self, tmp_path, given, said):
        picture, model = make_ppm(tmp_path / "x.ppm", 8, 8), conditioned(tmp_path / "m.onnx", I, (3,))
        flags = [word for text in given for word in ("--inputs", text)]
        assert said in refuse("run", model, "-i", picture, "--task", "none", "--range", "0,1", *flags, *QUICK)

    def test_tensor_of_another_type_is_refused(self, tmp_path):
        picture, model = make_ppm(tmp_path / "x.ppm", 8, 8), conditioned(tmp_path / "m.onnx", I, (3,))
        save_floats(tmp_path / "v.safetensors", np.zeros(3, np.float32))
        flags = ["--inputs", tmp_path / "v.safetensors", "--task", "none", "--range", "0,1"]
        assert "it is f32[3], the model takes gain: i64[3]" in refuse("run", model, "-i", picture, *flags, *QUICK)

    def test_clip_gets_inputs_at_each_frame(self, tmp_path):
        from command import make_clip

        clip = make_clip(tmp_path, frames=4)
        model = conditioned(tmp_path / "m.onnx")
        flags = ["--task", "none", "--range", "0,1", "--json", "-", "--inputs"]
        once, twice = (succeed("run", model, "-i", clip, *flags, f"gain={n}", *QUICK).splitlines() for n in (1, 2))
        values = [json.loads(line)["outputs"]["out"]["values"][0] for line in once + twice]
        assert len(values) == 8 and values[4:] == pytest.approx([2 * one for one in values[:4]])


class TestWords:
    def test_token_inputs_are_not_images(self, tmp_path):
        model = write(tmp_path / "m.onnx", [helper.make_node("Cast", ["ids"], ["out"], to=F)],
                      [value("ids", I, ["b", "s"])], [value("out", F, ["b", "s"])])
        said = refuse("run", model, "-i", make_ppm(tmp_path / "x.ppm"), "--range", "0,1", *QUICK)
        assert "no input of the model takes images" in said and "ids: i64[b, s]" in said

    def test_ambiguous_image_input_names_the_flag(self, tmp_path):
        model = write(tmp_path / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])],
                      [value("x", F, [1, 3, 8, 8])], [value("y", F, [1, 3, 8, 8])])
        said = refuse("run", model, "-i", make_ppm(tmp_path / "x.ppm"), "--range", "0,1", *QUICK)
        assert "--task image" in said
