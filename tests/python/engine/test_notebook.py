"""Representations of objects at a prompt and in a notebook."""

import base64
import subprocess

import numpy as np
import pytest

from command import color_classifier, make_clip

lanner = pytest.importorskip("lanner")


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    model = color_classifier(tmp_path_factory.mktemp("model") / "model.onnx")
    return lanner.build(model, budget=0.0, device="cpu", threads=1)


def png_size(data):
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def test_an_engine_shows_its_inputs_and_outputs(engine):
    assert repr(engine) == (
        "lanner.Engine(name=small, device=cpu, threads=1,\n"
        "  inputs=[input: f32[N, 3, 8, 8]],\n"
        "  outputs=[logits: f32[N, 3]])"
    )
    assert engine.device == "cpu"
    assert repr(engine.create_context(threads=1)) == "lanner.Context(of small, device=cpu, threads=1)"
    page = engine._repr_html_()
    assert page.startswith("<table>") and "input: f32[N, 3, 8, 8]" in page and "cpu, 1 thread<" in page


def test_names_are_html_escaped(tmp_path):
    import onnx

    proto = onnx.load(color_classifier(tmp_path / "model.onnx"))
    proto.graph.input[0].name = proto.graph.node[0].input[0] = "<script>{x}&"
    engine = lanner.build(proto.SerializeToString(), budget=0.0, device="cpu")
    page = engine._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;{x}&amp;" in page
    assert "<script>{x}&: f32" in repr(engine)


def test_a_tensor_shows_some_elements():
    small = lanner.Tensor(np.array([[1.5, 2.0], [0.25, -3.0]], np.float32))
    assert repr(small) == (
        "lanner.Tensor([[ 1.5 ,  2.  ],\n"
        "               [ 0.25, -3.  ]], dtype=float32, shape=(2, 2), device=cpu)"
    )
    large = repr(lanner.Tensor(np.zeros((8, 64, 64), np.float16)))
    assert "..." in large and len(large) < 900 and large.endswith("dtype=float16, shape=(8, 64, 64), device=cpu)")
    assert "'a b'" in repr(lanner.Tensor(np.array(["a b"])))


def test_pictures_are_shown(tmp_path):
    image = lanner.Image(np.zeros((40, 60, 3), np.uint8))
    assert png_size(image._repr_png_()) == (60, 40)
    assert png_size(lanner.Image(np.zeros((100, 3000), np.uint8), "gray8")._repr_png_()) == (1280, 42)
    video = lanner.VideoReader(make_clip(tmp_path))
    assert png_size(video[0]._repr_png_()) == (video.width, video.height)


def test_a_context_shows_its_engine(engine):
    context = engine.create_context(threads=2)
    page = context._repr_html_()
    assert "<b>of small</b>" in page and "cpu, 2 threads" in page and "working memory" in page


def test_a_video_shows_facts_and_its_first_frame(tmp_path):
    clip = make_clip(tmp_path)
    video = lanner.VideoReader(clip)
    page = video._repr_html_()
    assert "64 x 48" in page and "h264" in page and "0.48 s" in page
    assert png_size(base64.b64decode(page.partition("base64,")[2].partition("'")[0])) == (64, 48)
    assert next(iter(video)).index == 0, "looking at it moves nobody"
    video.close()
    assert "base64" not in video._repr_html_() and "closed" in video._repr_html_()
    with lanner.ParallelDecoder(clip) as decoder:
        assert "64 x 48" in decoder._repr_html_() and decoder._repr_html_().startswith("<table>")


def test_showing_a_pipe_does_not_read_it(tmp_path):
    clip = make_clip(tmp_path, "clip.mkv")
    with subprocess.Popen(["cat", clip], stdout=subprocess.PIPE) as pipe:
        video = lanner.VideoReader(pipe.stdout)
        page = video._repr_html_()
        assert "64 x 48" in page and "base64" not in page
        assert sum(1 for _ in video) == 12


def test_a_tensor_shows_its_range():
    page = lanner.Tensor(np.array([[1, np.nan], [np.inf, -2]], np.float32))._repr_html_()
    assert "(2, 2)" in page and "-2 to 1, mean -0.5" in page and "2 of 4" in page and "[ 1., nan, inf, -2.]" in page
    assert "values" not in lanner.Tensor(np.zeros((0, 3), np.float32))._repr_html_()
    page = lanner.Tensor(np.array(["<b>"]))._repr_html_()
    assert "<b>" not in page and "&lt;b&gt;" in page
    assert "255" in lanner.Tensor(np.array([3, 255], np.uint8))._repr_html_()


def test_preprocessing_shows_what_is_not_the_default():
    page = lanner.Preprocess(preset="imagenet", size=(224, 224))._repr_html_()
    assert "[0.485, 0.456, 0.406]<" in page and "nchw&quot; (default)" in page


def test_a_verification_shows_its_verdict(engine):
    page = engine.verify(runs=1, contexts=1)._repr_html_()
    assert "<b>right</b>" in page and "nodes compared" in page


def shown_by_task(task, value, channels=3, size=(32, 48)):
    """The result of this task for a network that returns its input."""
    from onnx import TensorProto, helper

    shape = list(value.shape)
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", made[:1], made[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    spec = lanner.Preprocess(size=size, range=(0, 1), channels="gray" if channels == 1 else "rgb")
    engine = lanner.build(model.SerializeToString(), budget=0.0, device="cpu")
    return lanner.tasks.TaskReader(engine, task, spec)({"y": value}, size)._repr_html_()


def test_results_of_maps_show_them():
    values = np.zeros((1, 3, 32, 48), np.float32)
    values[0, 0, :8], values[0, 2, 8:] = 1, 1
    page = shown_by_task({"task": "semantic", "labels": ["sky<", "road", "tree&"]}, values)
    assert "sky&lt;</td><td style='text-align:left'>25.00 %" in page and "tree&amp;" in page and "road" not in page
    assert "base64," in page
    page = shown_by_task("image", values)
    assert "48 x 32" in page and "base64," in page
    page = shown_by_task("depth", values[:, :1] + 2, channels=1)
    assert "2 to 3" in page and "base64," in page


def test_results_of_lists_show_tables():
    page = shown_by_task({"task": "classify", "labels": ["a", "b<", "c"]}, np.array([[0.1, 0.7, 0.2]], np.float32), size=(1, 1))
    assert "b&lt;</td><td style='text-align:left'>0.7" in page
    assert page.index("b&lt;") < page.index(">c<") < page.index(">a<")
    page = shown_by_task("embed", np.array([[3, 4, 0]], np.float32), size=(1, 1))
    assert "length" in page and ">5<" in page
    boxes = np.zeros((1, 25, 6), np.float32)
    boxes[0, :, 2:4], boxes[0, :, 4] = 8, 0.9
    task = {"task": "detect", "head": "yolo_v10", "labels": ["dog"]}
    page = shown_by_task(task, boxes)
    assert "<b>25 boxes</b>" in page and "dog" in page and "0.0, 0.0, 8.0, 8.0" in page and "and 5 more" in page
    assert "0 boxes" in shown_by_task(task, boxes * 0)


def test_long_lists_are_truncated(tmp_path):
    import onnx
    from onnx import TensorProto, helper

    inputs = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, [2]) for i in range(20)]
    node = helper.make_node("Sum", [value.name for value in inputs], ["y"])
    graph = helper.make_graph([node], "many", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    text = repr(lanner.build(model.SerializeToString(), budget=0.0, device="cpu"))
    assert "and 4 more]" in text and text.count("\n") < 25
