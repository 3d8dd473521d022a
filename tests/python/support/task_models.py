"""Networks of known tasks, whose outputs the tests choose."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64, np.dtype(np.int32): TensorProto.INT32, np.dtype(np.uint8): TensorProto.UINT8}
ULTRALYTICS = {"names": "{0: 'cat', 1: 'dog'}", "stride": "32", "task": "detect", "imgsz": "[64, 64]"}


def constant_network(path, outputs, size=(64, 64), metadata=None):
    """Returns these arrays for any image; it reads the image so that nothing is folded."""
    nodes = [
        helper.make_node("ReduceMean", ["input"], ["mean"], keepdims=0),
        helper.make_node("Mul", ["mean", "zero"], ["nothing"]),
    ]
    constants = {"zero": np.float32(0)}
    for name, value in outputs.items():
        constants[f"{name}_value"] = value
        nodes.append(helper.make_node("Cast", ["nothing"], [f"{name}_zero"], to=TYPES[value.dtype]))
        nodes.append(helper.make_node("Add", [f"{name}_value", f"{name}_zero"], [name]))
    graph = helper.make_graph(
        nodes,
        "constant",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, size[1], size[0]])],
        [helper.make_tensor_value_info(name, TYPES[value.dtype], value.shape) for name, value in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, metadata or {})
    onnx.save(model, path)
    return path


def yolo(classes=2, extra=()):
    """Two objects that a network of 64 x 64 (84 cells) finds in three cells."""
    output = np.zeros((1, 4 + classes + len(extra), 84), np.float32)
    output[0, :4, 3] = [20, 32, 16, 8]
    output[0, :4, 4] = [21, 32, 16, 8]
    output[0, :4, 70] = [44, 36, 8, 8]
    output[0, 4, 3], output[0, 4, 4], output[0, 5, 70] = 0.75, 0.5, 0.875
    for number, value in enumerate(extra):
        output[0, 4 + classes + number, :] = value
    return output


def detector(path, metadata, height=64, width=64, anchors=84, classes=2, extra=0, dtype=TensorProto.FLOAT):
    """output0: boxes in a row, the first with the mean of the input as its score; `seen` is the input."""
    rows = 4 + classes + extra
    boxes = np.zeros((1, rows, anchors), np.float32)
    boxes[0, :4, 0] = [32, 32, 16, 8]
    score = np.zeros((1, rows, anchors), np.float32)
    score[0, 4, 0] = 1
    nodes = [
        helper.make_node("Cast", ["images"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["floats"], ["mean"], keepdims=0),
        helper.make_node("Mul", ["score", "mean"], ["scored"]),
        helper.make_node("Add", ["boxes", "scored"], ["output0"]),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "detector",
        [value("images", dtype, [1, 3, height, width])],
        [value("output0", TensorProto.FLOAT, [1, rows, anchors])],
        [numpy_helper.from_array(boxes, "boxes"), numpy_helper.from_array(score, "score")],
    )
    return write(path, graph, metadata)


def write(path, graph, metadata=()):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    for key, text in dict(metadata).items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, text
    onnx.save(model, path)
    return path


def ultralytics(task="detect", imgsz="[64, 64]", **others):
    """Metadata that version 8 and later write into an export."""
    return {
        "description": "Ultralytics YOLO11n model", "author": "Ultralytics", "version": "8.3.40", "stride": "32",
        "task": task, "batch": "1", "imgsz": imgsz, "names": "{0: 'person', 1: 'bicycle'}", **others,
    }
