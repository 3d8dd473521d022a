"""The built command, and the small clips, pictures and models that its tests run it on."""

import subprocess
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build"
COMMAND = BUILD / "bin" / "lanner"
DATA = ROOT.parent / "shared" / "data"
DETECTOR = ROOT / "demo" / "shapes.onnx"
SECONDS = 300  # Nothing here takes long; a hang must not take for ever.


def lanner(*arguments, **options):
    """Runs the command to its end; text of stdout and stderr, and the exit code, whatever it is."""
    return subprocess.run(
        [COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=SECONDS, check=False, **options
    )


def without_notes(stderr):
    """What was said, without lines like the one of `lanner run` that tells how the task was found."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not line.startswith("lanner: note: "))


def succeed(*arguments, **options):
    result = lanner(*arguments, **options)
    assert (result.returncode, without_notes(result.stderr)) == (0, ""), result.stderr
    return result.stdout


def refuse(*arguments, code=2, **options):
    """One line on stderr, nothing on stdout; the line without its `lanner: `."""
    result = lanner(*arguments, **options)
    said = without_notes(result.stderr)
    assert result.returncode == code, (result.returncode, result.stdout, result.stderr)
    assert result.stdout == ""
    assert said.startswith("lanner: ") and said.endswith("\n")
    assert said.count("\n") == 1
    return said.removeprefix("lanner: ").removesuffix("\n")


def leftovers(folder, *expected):
    """Files in a folder besides the expected ones, temporary files too."""
    return sorted(path.name for path in folder.iterdir() if path.name not in expected)


def make_y4m(path, frames=12, width=64, height=48, rate=25):
    """An uncompressed clip, each frame brighter than the one before."""
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F{rate}:1 Ip A1:1 C420jpeg\n".encode())
        for number in range(frames):
            luma = np.full((height, width), 40 + 12 * number % 160, np.uint8)
            luma[: height // 2, : width // 2] = 200
            chroma = ((width + 1) // 2) * ((height + 1) // 2)
            file.write(b"FRAME\n" + luma.tobytes() + bytes([100 + number % 50]) * chroma + bytes([128]) * chroma)
    return path


def make_clip(folder, name="clip.mp4", **options):
    source = make_y4m(folder / "source.y4m", **options)
    succeed("transcode", source, folder / name)
    source.unlink()
    return folder / name


def make_ppm(path, width=20, height=10, color=(250, 120, 10)):
    path.write_bytes(f"P6 {width} {height} 255\n".encode() + bytes(color) * (width * height))
    return path


def save_model(path, nodes, inputs, outputs, constants, metadata):
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "small",
        [value(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [value(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, metadata)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return path


def color_classifier(path, batch="N", channels_last=False, size=8, metadata=None):
    """Says which channel is brightest: logits are ten times the mean of each channel."""
    shape = [batch, size, size, 3] if channels_last else [batch, 3, size, size]
    axes = [1, 2] if channels_last else [2, 3]
    nodes = [
        helper.make_node("ReduceMean", ["input"], ["mean"], "mean", axes=axes, keepdims=0),
        helper.make_node("MatMul", ["mean", "weight"], ["logits"], "product"),
    ]
    weight = np.eye(3, dtype=np.float32) * 10
    return save_model(path, nodes, {"input": shape}, {"logits": [batch, 3]}, {"weight": weight}, metadata or {})


LABELS = "red\ngreen\nblue\n"
