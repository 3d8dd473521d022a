"""lanner probe of models: the format, open sizes, task and preprocessing, and remedies for unsupported formats."""

import io
import json
import struct
import zipfile

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import lanner as package
from command import ROOT, color_classifier, lanner, refuse, save_model, succeed

SHAPES = ROOT / "demo" / "shapes.onnx"


def test_model_is_described_without_a_build(tmp_path):
    text = succeed("probe", SHAPES)
    lines = dict(line.split(None, 1) for line in text.splitlines()[1:] if not line.startswith(" "))
    assert text.startswith(f"{SHAPES}: ONNX, IR ") and ", opset " in text.splitlines()[0] and " KiB\n" in text
    assert lines["inputs"].startswith("input: f32[") and lines["open"] and "conv" in lines["nodes"]
    assert lines["task"].startswith("detect") and "RGB" in lines["pictures"] and "metadata" in lines["pictures"]


def test_json_has_open_sizes_operators_and_metadata(tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Add", ["b", "x"], ["y"])]
    model = save_model(tmp_path / "m.onnx", nodes, {"x": ["batch", 3, "length"]}, {"y": ["batch", 3, "length"]}, {}, {"author": "me"})
    told = json.loads(succeed("probe", model, "--json"))
    assert (told["kind"], told["format"], told["readable"]) == ("model", "ONNX", True)
    assert told["details"].startswith("IR 8, opset 17")
    assert told["inputs"] == [{"name": "x", "type": "f32", "dims": [-1, 3, -1], "dim_names": ["batch", "3", "length"]}]
    assert told["open"] == ["batch", "length"] and told["operators"] == {"relu": 2, "add": 1}
    assert told["metadata"] == {"author": "me"} and told["preprocessing"] is None
    assert "open     batch, length\n" in succeed("probe", model)


def test_missing_preprocessing_is_explained(tmp_path):
    text = succeed("probe", color_classifier(tmp_path / "m.onnx"))
    assert "pictures not told: " in text and "--preset" in text


def test_plan_is_described(tmp_path):
    succeed("build", color_classifier(tmp_path / "m.onnx"), "-o", tmp_path / "m.plan", "--budget", "0", "-q", "--preset", "none")
    told = json.loads(succeed("probe", tmp_path / "m.plan", "--json"))
    assert (told["kind"], told["format"]) == ("plan", "a plan of Lanner") and told["preprocessing"]["source"] == "the plan"


def test_exact_is_refused_for_models(tmp_path):
    assert "--exact is for clips" in refuse("probe", color_classifier(tmp_path / "m.onnx"), "--exact")


def archive(*names):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name in names:
            file.writestr(name, b"x" * 100)
    return data.getvalue()


def record(number, content):
    """A length-delimited protobuf field."""
    size, text = len(content), b""
    while size >= 0x80:
        text += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + text + bytes([size]) + content


NODE = record(1, record(1, b"x") + record(2, b"Placeholder"))

FOREIGN = {
    "m.tflite": (b"\x1c\0\0\0TFL3" + bytes(64), "TensorFlow Lite", "tf2onnx.convert --tflite"),
    "m.weights.h5": (b"\x89HDF\r\n\x1a\n" + bytes(200), "without a network", "Keras"),
    "m.pt": (archive("m/data.pkl", "m/version", "m/data/0"), "PyTorch", "lanner.build(module, example_inputs)"),
    "old.pth": (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19." + bytes(64), "PyTorch", "load_state_dict"),
    "script.pt": (archive("m/data.pkl", "m/constants.pkl", "m/code/__torch__.py"), "TorchScript", "torch.jit.load"),
    "m.pt2": (archive("archive_format", "models/model.json"), "program exported by PyTorch", "torch.export.load"),
    "m.ort": (b"\x18\0\0\0ORTM" + bytes(64), "ONNX Runtime's own format", "expected"),
    "m.gguf": (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "GGUF", "expected ONNX"),
    "m.engine": (b"ftrt" + bytes(64), "TensorRT", "expected"),
    "m.xml": (b'<?xml version="1.0"?>\n<net name="m" version="11">\n</net>\n', "OpenVINO", "expected"),
    "m.param": (b"7767517\n1 1\nInput data 0 1 data\n", "ncnn", "expected"),
    "m.pkl": (b"\x80\x04\x95" + bytes(32), "Python pickle", "export the network to ONNX"),
    "m.zip": (archive("model.onnx"), "zip archive", "unzip"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_other_formats_are_named_with_a_remedy(tmp_path, name):
    content, what, remedy = FOREIGN[name]
    path = tmp_path / name
    path.write_bytes(content)
    text = succeed("probe", path)
    assert what in text and remedy in text
    told = json.loads(succeed("probe", path, "--json"))
    assert told["readable"] is False and what in told["format"] and remedy in told["remedy"]
    for command in (["build", path, "-o", tmp_path / "m.plan"], ["bench", path], ["run", path, "-i", path]):
        said = refuse(*command)
        assert what in said and remedy in said
    with pytest.raises(package.Unsupported) as raised:
        package.build(path)
    assert what in str(raised.value) and remedy in str(raised.value)
    with pytest.raises(package.Unsupported, match="it is "):
        package.build(content)


@pytest.mark.parametrize(
    ("files", "what"),
    [
        (["config.json", "model.safetensors"], "transformers model folder"),
        (["Manifest.json", "Data/x"], "Core ML package"),
    ],
)
def test_model_folders_are_named_with_a_remedy(tmp_path, files, what):
    for name in files:
        (tmp_path / "m" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "m" / name).write_bytes(b"x")
    assert what in succeed("probe", tmp_path / "m")
    assert what in refuse("build", tmp_path / "m", "-o", tmp_path / "m.plan")
    with pytest.raises(package.Unsupported, match=what):
        package.build(tmp_path / "m")


def test_truncated_archives_do_not_crash(tmp_path):
    whole = archive("m/data.pkl", "m/version")
    for end in (4, 30, len(whole) - 30, len(whole) - 21, len(whole) - 1):
        (tmp_path / "m.pt").write_bytes(whole[:end])
        assert "archive" in succeed("probe", tmp_path / "m.pt") or end == len(whole) - 1


def test_supported_models_are_not_mistaken_for_other_formats(tmp_path):
    """A TensorFlow graph, and ONNX files whose first fields a SavedModel has too."""
    (tmp_path / "m.pb").write_bytes(NODE + record(1, record(1, b"y") + record(2, b"Relu") + record(3, b"x")))
    assert json.loads(lanner("probe", tmp_path / "m.pb", "--json").stdout or '{"format": ""}')["format"] in ("TensorFlow GraphDef", "")
    value = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value("x", TensorProto.FLOAT, [2])], [value("y", TensorProto.FLOAT, [2])])
    for producer in ("", "a" * 300, "pytorch"):
        onnx.save(helper.make_model(graph, producer_name=producer, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
        assert json.loads(succeed("probe", tmp_path / "m.onnx", "--json"))["readable"] is True
        x = np.array([-1, 2], np.float32)
        assert package.build(tmp_path / "m.onnx", budget=0)({"x": x})["y"].numpy().tolist() == [0, 2]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.onnx", b"", "the file is empty"),
        ("empty.mp4", b"", "the file is empty"),
        ("notes.txt", b"hello\n", "neither a model (ONNX, TensorFlow, Caffe) nor a plan, a clip or an image of a known format"),
        ("random.bin", bytes(range(256)), "neither a model (ONNX, TensorFlow, Caffe) nor a plan, a clip or an image of a known format"),
        ("cut.onnx", SHAPES.read_bytes()[:3000], "the file is cut off or damaged"),
    ],
)
def test_unknown_files_are_an_error(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_bytes(content)
    text = refuse("probe", path)
    assert text.startswith(f"probe {path}: ") and text.endswith(said)
    assert "build" not in text.removeprefix(f"probe {path}")


def test_build_explains_empty_and_text_files(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"")
    assert refuse("build", path, "-o", tmp_path / "m.plan").endswith(": the file is empty; expected a model")
    path.write_bytes(b"hello there")
    assert refuse("build", path, "-o", tmp_path / "m.plan").endswith("it has 11 bytes and starts with 'hello th'")
    path.write_bytes(bytes([0, 1, 2]))
    assert refuse("build", path, "-o", tmp_path / "m.plan").endswith("it has 3 bytes and starts with 00 01 02")


@pytest.mark.parametrize(("start", "what"), [(b"\x89PNG\r\n\x1a\n", "an image (PNG)"), (b"\xff\xd8\xff\xe0", "an image (JPEG)"), (b"\0\0\0\x18ftypmp42", "a clip (MP4 or MOV)"), (b"RIFF\0\0\0\0AVI LIST", "a clip (AVI)")])
def test_python_names_a_picture_in_place_of_a_model(tmp_path, start, what):
    path = tmp_path / "m.onnx"
    path.write_bytes(start + bytes(64))
    with pytest.raises(package.BadData) as caught:
        package.build(path)
    assert str(caught.value) == f"build {path}: it is {what}; expected a model (ONNX, TensorFlow, Caffe)"
