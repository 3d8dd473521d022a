"""Small engines, and parts of one memory that overlap."""

import numpy as np
from onnx import TensorProto, helper

import lanner

SHAPE = (4, 4)
SIZE = 16
X = (np.arange(SIZE, dtype=np.float32) / 10).reshape(SHAPE)


def part(memory, begin):
    return memory[begin : begin + SIZE].reshape(SHAPE)


def build(nodes, inputs, outputs, **options):
    """`inputs` and `outputs`: shape by name, or a whole value info."""

    def info(name, shape):
        return shape if not isinstance(shape, tuple) else helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(nodes, "g", [info(*one) for one in inputs.items()], [info(*one) for one in outputs.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return lanner.build(model, budget=0, threads=1, device="cpu", **options)
