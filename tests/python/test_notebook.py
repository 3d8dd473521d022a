"""What objects show of themselves at a prompt and in a notebook."""

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


def test_an_engine_shows_what_it_takes_and_gives(engine):
    assert repr(engine) == (
        "lanner.Engine(name=small, device=cpu, threads=1,\n"
        "  inputs=[input: f32[N, 3, 8, 8]],\n"
        "  outputs=[logits: f32[N, 3]])"
    )
    assert engine.device == "cpu"
    assert repr(engine.create_context(threads=1)) == "lanner.Context(of small, device=cpu, threads=1)"
    page = engine._repr_html_()
    assert page.startswith("<table>") and "input: f32[N, 3, 8, 8]" in page and "cpu, 1 thread<" in page


def test_names_are_no_markup(tmp_path):
    import onnx

    proto = onnx.load(color_classifier(tmp_path / "model.onnx"))
    proto.graph.input[0].name = proto.graph.node[0].input[0] = "<script>{x}&"
    engine = lanner.build(proto.SerializeToString(), budget=0.0, device="cpu")
    page = engine._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;{x}&amp;" in page
    assert "<script>{x}&: f32" in repr(engine)


def test_a_tensor_shows_some_of_its_numbers():
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


def test_long_lists_are_cut(tmp_path):
    import onnx
    from onnx import TensorProto, helper

    inputs = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, [2]) for i in range(20)]
    node = helper.make_node("Sum", [value.name for value in inputs], ["y"])
    graph = helper.make_graph([node], "many", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    text = repr(lanner.build(model.SerializeToString(), budget=0.0, device="cpu"))
    assert "and 4 more]" in text and text.count("\n") < 25
