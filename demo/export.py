"""Writes a trained network as ONNX, with what its users must know in its metadata."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from network import EPSILON

OPSET = 17
IR_VERSION = 8


def preprocess(**others):
    """Preprocessing of these networks: RGB, 0..1."""
    return json.dumps({"layout": "nchw", "channels": "rgb", "fit": "stretch", "range": [0, 1], **others})


def read_weights(path):
    """From a file of OnnxLayers: float32 arrays by layer, in its order."""
    found = {}
    for constant in onnx.load(path).graph.initializer:
        name, _, part = constant.name.rpartition("_")
        if part in ("weight", "scale", "bias", "mean", "variance"):
            found.setdefault(name, []).append(numpy_helper.to_array(constant).astype(np.float32))
    return found


class OnnxLayers:
    """The layers of network.py as ONNX nodes in NCHW, with the weights of TorchLayers.weights().

    With `halves`, weights are stored as float16 and widened by a Cast each, which engines fold.
    """

    def __init__(self, weights, halves=False):
        self._weights, self._halves = weights, halves
        self._nodes, self._constants = [], []

    def save(self, path, name, size, outputs, metadata):
        """`size`: height and width, numbers or names; `outputs`: name -> dims. The file appears under `path`."""
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self._nodes,
            name,
            [value("input", TensorProto.FLOAT, ["N", 3, *size])],
            [value(key, TensorProto.FLOAT, dims) for key, dims in outputs.items()],
            self._constants,
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="demo/train.py",
        )
        helper.set_model_props(model, metadata)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)

    def input(self):
        return "input"

    def conv(self, x, name, channels, kernel=3, stride=1, relu=True):
        return self._normalise(self._convolve(x, name, self._weights[name][0], stride), name, relu)

    def depthwise(self, x, name, stride):
        weight = self._weights[name][0]
        x = self._convolve(x, name, weight, stride, group=weight.shape[0])
        return self._normalise(x, name, relu=True)

    def plain(self, x, name, channels, kernel=1, relu=False, bias=None):
        weight, bias = self._weights[name]
        inputs = [x, self._weight(f"{name}_weight", weight), self.constant(f"{name}_bias", bias)]
        x = self.node("Conv", name, inputs, kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4)
        return self.node("Relu", f"{name}_relu", [x]) if relu else x

    def add_relu(self, x, y, name):
        return self.node("Relu", f"{name}_relu", [self.node("Add", f"{name}_add", [x, y])])

    def add(self, x, y, name):
        return self.node("Add", name, [x, y])

    def mean(self, x, name):
        return self.node("GlobalAveragePool", name, [x])

    def upsample(self, x, name):
        scales = self.constant(f"{name}_scales", [1, 1, 2, 2])
        return self.node(
            "Resize",
            name,
            [x, "", scales],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )

    def depth_to_space(self, x, name):
        return self.node("DepthToSpace", name, [x], blocksize=2, mode="CRD")

    def split(self, x, sizes, names):
        """Along the channels."""
        inputs = [x, self.constant(f"{names[0]}_sizes", sizes, np.int64)]
        self._nodes.append(helper.make_node("Split", inputs, names, f"{names[0]}_split", axis=1))
        return names

    def clip(self, x, name, low, high):
        return self.node("Clip", name, [x, self.constant(f"{name}_low", low), self.constant(f"{name}_high", high)])

    def reshape(self, x, name, dims):
        return self.node("Reshape", name, [x, self.constant(f"{name}_dims", dims, np.int64)])

    def rows(self, x, name, channels):
        """A plane of cells as rows of `channels`."""
        flat = self.reshape(x, f"{name}_flat", [0, channels, -1])
        return self.node("Transpose", name, [flat], perm=[0, 2, 1])

    def scaled(self, x, name, value):
        return self.node("Mul", name, [x, self.constant(f"{name}_by", value)])

    def moved(self, x, name, value):
        return self.node("Add", name, [x, self.constant(f"{name}_by", value)])

    def node(self, kind, name, inputs, **attributes):
        self._nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def constant(self, name, value, kind=np.float32):
        array = np.ascontiguousarray(np.asarray(value, kind)).reshape(np.shape(value))
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def _weight(self, name, value):
        if not self._halves:
            return self.constant(name, value)
        return self.node("Cast", f"{name}_f32", [self.constant(name, value, np.float16)], to=TensorProto.FLOAT)

    def _convolve(self, x, name, weight, stride, group=1):
        kernel = weight.shape[2]
        # An odd pixel of padding goes to the end.
        total = kernel - stride if kernel > 1 else 0
        before, after = total // 2, total - total // 2
        return self.node(
            "Conv",
            name,
            [x, self._weight(f"{name}_weight", weight)],
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[before, before, after, after],
            group=group,
        )

    def _normalise(self, x, name, relu):
        parts = zip(("scale", "bias", "mean", "variance"), self._weights[f"{name}_bn"], strict=True)
        inputs = [x, *(self.constant(f"{name}_bn_{part}", value) for part, value in parts)]
        x = self.node("BatchNormalization", f"{name}_bn", inputs, epsilon=EPSILON)
        return self.node("Relu", f"{name}_relu", [x]) if relu else x
