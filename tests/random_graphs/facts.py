"""Facts of a model's nodes that are known without running it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy
import onnx
from onnx import helper, numpy_helper


@dataclass
class Node:
    """A node with its known facts; unknown shapes and numbers are None."""

    operator: str
    opset: int
    inputs: list[str]
    attributes: dict
    shapes: list[list[int] | None]
    constants: list[numpy.ndarray | None]
    outputs: list[list[int] | None]
    producers: list["Node | None"] = field(default_factory=list)
    dtype: int = 0
    """Of the first output, as in TensorProto; 0 where unknown."""

    def attribute(self, name: str, default=None):
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def constant(self, position: int) -> numpy.ndarray | None:
        return self.constants[position] if position < len(self.constants) else None

    def has(self, position: int) -> bool:
        return position < len(self.inputs) and bool(self.inputs[position])


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph and all nested graphs."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs(attribute.g)


def nodes_of(model: onnx.ModelProto) -> list[Node]:
    opset = next(entry.version for entry in model.opset_import if not entry.domain)
    try:
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # then less is known
        pass
    shapes: dict[str, list[int] | None] = {}
    dtypes: dict[str, int] = {}
    constants: dict[str, numpy.ndarray] = {}
    for graph in graphs(model.graph):
        for info in [*graph.value_info, *graph.input, *graph.output]:
            shapes[info.name] = known_shape(info.type.tensor_type)
            dtypes[info.name] = info.type.tensor_type.elem_type
        for tensor in [*graph.initializer, *(a.t for n in graph.node if n.op_type == "Constant" for a in n.attribute if a.name == "value")]:
            shapes.setdefault(tensor.name, list(tensor.dims))
        constants.update({tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer})
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
                constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
                shapes[node.output[0]] = list(node.attribute[0].t.dims)
    return linked(model, opset, shapes, constants, dtypes)


def linked(model: onnx.ModelProto, opset: int, shapes, constants, dtypes) -> list[Node]:
    found, producers = [], {}
    for graph in graphs(model.graph):
        for proto in graph.node:
            node = Node(
                proto.op_type,
                opset,
                list(proto.input),
                {attribute.name: helper.get_attribute_value(attribute) for attribute in proto.attribute},
                [shapes.get(name) for name in proto.input],
                [constants.get(name) for name in proto.input],
                [shapes.get(name) for name in proto.output],
                [producers.get(name) for name in proto.input],
                dtypes.get(proto.output[0], 0) if proto.output else 0,
            )
            producers.update(dict.fromkeys(proto.output, node))
            found.append(node)
    return found


def known_shape(tensor: onnx.TypeProto.Tensor) -> list[int] | None:
    if not tensor.HasField("shape") or not all(dim.HasField("dim_value") for dim in tensor.shape.dim):
        return None
    return [dim.dim_value for dim in tensor.shape.dim]
