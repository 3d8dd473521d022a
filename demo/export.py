"""Writes the trained detector as ONNX, with what a user of it must know declared in its metadata."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from detections import HEIGHT, IOU_THRESHOLD, SCORE_THRESHOLD, WIDTH
from network import EPSILON, GRID, cell_centres, network, side_scales
from shapes import LABELS

OPSET = 17
IR_VERSION = 8

METADATA = {
    "lanner.task": "detect",
    "lanner.labels": "\n".join(LABELS),
    "lanner.preprocess": json.dumps(
        {
            "layout": "nchw",
            "channels": "rgb",
            "resize": "bilinear",
            "fit": "stretch",
            "range": [0, 1],
            "mean": [0, 0, 0],
            "std": [1, 1, 1],
        }
    ),
    "lanner.boxes": "xyxy-normalised",
    "lanner.score_threshold": str(SCORE_THRESHOLD),
    "lanner.iou_threshold": str(IOU_THRESHOLD),
}


def save(model, path):
    """`model` is what network(KerasLayers()) gave; the file appears under `path`."""
    layers = OnnxLayers({layer.name: layer.get_weights() for layer in model.layers})
    network(layers)
    proto = layers.to_model()
    onnx.checker.check_model(proto, full_check=True)
    onnx.save(proto, path)


class OnnxLayers:
    """The same layers as network.KerasLayers, as ONNX nodes in NCHW."""

    def __init__(self, weights):
        self._weights = weights
        self._nodes, self._constants = [], []

    def to_model(self):
        cells = GRID[0] * GRID[1]
        graph = helper.make_graph(
            self._nodes,
            "shapes",
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["N", 3, HEIGHT, WIDTH])],
            [
                helper.make_tensor_value_info("boxes", TensorProto.FLOAT, ["N", cells, 4]),
                helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", cells, len(LABELS)]),
            ],
            self._constants,
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="demo/train.py",
        )
        helper.set_model_props(model, METADATA)
        return model

    def input(self):
        return "input"

    def conv(self, x, name, channels, kernel=3, stride=1, relu=True):
        weight = self._weights[name][0].transpose(3, 2, 0, 1)
        return self._normalise(self._convolve(x, name, weight, stride), name, relu)

    def depthwise(self, x, name, stride):
        weight = self._weights[name][0].transpose(2, 3, 0, 1)
        return self._normalise(
            self._convolve(x, name, weight, stride, group=weight.shape[0]), name, relu=True
        )

    def add_relu(self, x, y, name):
        return self._node("Relu", f"{name}_relu", [self._node("Add", f"{name}_add", [x, y])])

    def upsample(self, x, name):
        scales = self._constant(f"{name}_scales", np.array([1, 1, 2, 2], np.float32))
        return self._node(
            "Resize",
            name,
            [x, "", scales],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )

    def decode(self, x, name):
        weight, bias = self._weights[name]
        inputs = [
            x,
            self._constant(f"{name}_weight", weight.transpose(3, 2, 0, 1)),
            self._constant(f"{name}_bias", bias),
        ]
        x = self._node("Conv", name, inputs, kernel_shape=[1, 1])
        sizes = self._constant("answers_sizes", np.array([4, len(LABELS)], np.int64))
        self._nodes.append(
            helper.make_node("Split", [x, sizes], ["distances_raw", "scores_raw"], "answers_split", axis=1)
        )
        distances = self._node("Exp", "distances", ["distances_raw"])
        sides = self._node("Mul", "sides", [distances, self._constant("side_scales", side_scales())])
        boxes = self._node("Add", "boxes_plane", [sides, self._constant("cell_centres", cell_centres())])
        zero, one = (self._constant(n, np.array(v, np.float32)) for n, v in (("zero", 0), ("one", 1)))
        self._rows(self._node("Clip", "boxes_clip", [boxes, zero, one]), "boxes", 4)
        self._rows(self._node("Sigmoid", "scores_plane", ["scores_raw"]), "scores", len(LABELS))

    def _rows(self, x, name, channels):
        shape = self._constant(f"{name}_shape", np.array([0, channels, -1], np.int64))
        flat = self._node("Reshape", f"{name}_flat", [x, shape])
        self._node("Transpose", name, [flat], perm=[0, 2, 1])

    def _convolve(self, x, name, weight, stride, group=1):
        kernel = weight.shape[2]
        # What TensorFlow's SAME means for even sizes: an odd pixel of padding goes to the end.
        total = kernel - stride if kernel > 1 else 0
        before, after = total // 2, total - total // 2
        return self._node(
            "Conv",
            name,
            [x, self._constant(f"{name}_weight", weight)],
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[before, before, after, after],
            group=group,
        )

    def _normalise(self, x, name, relu):
        values = zip(("scale", "bias", "mean", "variance"), self._weights[f"{name}_bn"], strict=True)
        inputs = [x, *(self._constant(f"{name}_bn_{part}", value) for part, value in values)]
        x = self._node("BatchNormalization", f"{name}_bn", inputs, epsilon=EPSILON)
        return self._node("Relu", f"{name}_relu", [x]) if relu else x

    def _node(self, kind, name, inputs, **attributes):
        self._nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def _constant(self, name, value):
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name
