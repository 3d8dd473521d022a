"""Writes ViT-B/16 (Dosovitskiy et al., "An Image is Worth 16x16 Words", 2021) as vit_b16.onnx with random weights.

usage: python make_vit.py FOLDER

The batch is open. Weights have a fixed seed and sizes that keep values near 1. Needs numpy and onnx."""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, LAYERS, INNER, PATCH, SIZE, CLASSES = 768, 12, 12, 3072, 16, 224, 1000
PATCHES = (SIZE // PATCH) ** 2


class Network:
    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(16)

    def constant(self, value: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weights(self, *shape: int, deviation: float) -> str:
        return self.constant((self.random.standard_normal(shape) * deviation).astype(np.float32))

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def linear(self, x: str, wide: int, out: int) -> str:
        product = self.op("MatMul", x, self.weights(wide, out, deviation=wide**-0.5))
        return self.op("Add", product, self.weights(out, deviation=0.02))

    def normal(self, x: str) -> str:
        scale = self.constant(np.ones(WIDTH, np.float32))
        return self.op("LayerNormalization", x, scale, self.weights(WIDTH, deviation=0.02), axis=-1, epsilon=1e-6)

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))


def embedding(net: Network, image: str) -> str:
    kernel = net.weights(WIDTH, 3, PATCH, PATCH, deviation=(3 * PATCH * PATCH) ** -0.5)
    patches = net.op("Conv", image, kernel, net.weights(WIDTH, deviation=0.02), strides=[PATCH, PATCH], kernel_shape=[PATCH, PATCH])
    row = net.op("Transpose", net.op("Reshape", patches, net.integers(0, WIDTH, PATCHES)), perm=[0, 2, 1])
    batch = net.op("Slice", net.op("Shape", image), net.integers(0), net.integers(1), net.integers(0))
    shape = net.op("Concat", batch, net.integers(1, WIDTH), axis=0)
    token = net.op("Expand", net.weights(1, 1, WIDTH, deviation=0.5), shape)
    return net.op("Add", net.op("Concat", token, row, axis=1), net.weights(1, PATCHES + 1, WIDTH, deviation=0.1))


def attention(net: Network, x: str) -> str:
    depth = WIDTH // HEADS
    split = net.integers(0, PATCHES + 1, HEADS, depth)
    parts = []
    for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        part = net.op("Reshape", net.linear(x, WIDTH, WIDTH), split)
        parts.append(net.op("Transpose", part, perm=order))
    scores = net.op("Mul", net.op("MatMul", parts[0], parts[1]), net.constant(np.float32(depth**-0.5)))
    mixed = net.op("MatMul", net.op("Softmax", scores, axis=-1), parts[2])
    rows = net.op("Reshape", net.op("Transpose", mixed, perm=[0, 2, 1, 3]), net.integers(0, PATCHES + 1, WIDTH))
    return net.linear(rows, WIDTH, WIDTH)


def gelu(net: Network, x: str) -> str:
    inner = net.op("Erf", net.op("Div", x, net.constant(np.float32(2**0.5))))
    return net.op("Mul", net.op("Mul", x, net.op("Add", inner, net.constant(np.float32(1)))), net.constant(np.float32(0.5)))


def vit() -> onnx.ModelProto:
    net = Network()
    x = embedding(net, "input")
    for _ in range(LAYERS):
        x = net.op("Add", x, attention(net, net.normal(x)))
        x = net.op("Add", x, net.linear(gelu(net, net.linear(net.normal(x), WIDTH, INNER)), INNER, WIDTH))
    token = net.op("Gather", net.normal(x), net.constant(np.array(0, np.int64)), axis=1)
    logits = net.linear(token, WIDTH, CLASSES)
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["N", 3, SIZE, SIZE])]
    outputs = [helper.make_tensor_value_info(logits, TensorProto.FLOAT, ["N", CLASSES])]
    graph = helper.make_graph(net.nodes, "vit_b16", inputs, outputs, net.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python make_vit.py FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    model = vit()
    onnx.checker.check_model(model)
    onnx.save(model, folder / "vit_b16.onnx")
    print(folder / "vit_b16.onnx")


if __name__ == "__main__":
    main()
