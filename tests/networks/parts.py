"""Parts of a model: the part before a detector chooses boxes, FP16 conversion by type, pieces between two cuts."""

from collections.abc import Collection, Sequence

import onnx
from onnx import TensorProto

from networks.executor import reads_of

CHOOSING = ("NonMaxSuppression", "TopK", "NonZero")
MOST_VALUES = 64


def element_types(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    """Shape inference's result for every value of the main graph, by name."""
    bare = onnx.ModelProto.FromString(model.SerializeToString())
    graph = onnx.shape_inference.infer_shapes(bare).graph
    return {value.name: value for value in (*graph.value_info, *graph.input, *graph.output)}


def nodes_behind_choices(graph: onnx.GraphProto) -> set[int]:
    """Indices of nodes that choose, or that depend on a choice."""
    chosen, found = set(), set()
    for i, node in enumerate(graph.node):
        if node.op_type in CHOOSING or reads_of(node) & chosen:
            found.add(i)
            chosen |= set(node.output)
    return found


def before_choices(model: onnx.ModelProto) -> list[str]:
    """Float values that depend on the inputs and are read by a choice or after one."""
    graph, types = model.graph, element_types(model)
    behind = nodes_behind_choices(graph)
    depends = {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}
    made: list[str] = []
    for i, node in enumerate(graph.node):
        if i in behind or node.op_type == "Shape" or not reads_of(node) & depends:
            continue
        depends |= set(node.output)
        made += node.output
    read = set().union(*(reads_of(graph.node[i]) for i in behind))
    read |= floats_before_masks(graph, read, types)
    floats = [name for name in made if name in read and types[name].type.tensor_type.elem_type == TensorProto.FLOAT]
    if not 0 < len(floats) <= MOST_VALUES:
        raise ValueError(f"{len(floats)} values lie before the choices of {graph.name}, expected 1 to {MOST_VALUES}")
    return floats


def floats_before_masks(graph: onnx.GraphProto, read: Collection[str], types: dict[str, onnx.ValueInfoProto]) -> set[str]:
    """Inputs of comparisons whose results decide choices."""
    return {
        name
        for node in graph.node
        if set(node.output) & set(read) and types.get(node.output[0]) and types[node.output[0]].type.tensor_type.elem_type == TensorProto.BOOL
        for name in node.input
    }


def with_outputs(model: onnx.ModelProto, outputs: Sequence[str]) -> onnx.ModelProto:
    """The part of the model that computes these values."""
    types = element_types(model)
    part = onnx.ModelProto.FromString(model.SerializeToString())
    graph, wanted = part.graph, set(outputs)
    kept = []
    for node in reversed(graph.node):
        if wanted & set(node.output):
            kept.append(node)
            wanted |= reads_of(node)
    kept.reverse()
    constants = [tensor for tensor in graph.initializer if tensor.name in wanted]
    inputs = [value for value in graph.input if value.name in wanted]
    for field in (graph.node, graph.initializer, graph.input, graph.output, graph.value_info):
        del field[:]
    graph.node.extend(kept)
    graph.initializer.extend(constants)
    graph.input.extend(inputs)
    graph.output.extend(output_of(types, name) for name in outputs)
    return part


def behind(model: onnx.ModelProto, values: Collection[str]) -> onnx.ModelProto:
    """The part that computes the model's outputs from these float values, which become inputs, and from its own inputs."""
    part = onnx.ModelProto.FromString(model.SerializeToString())
    graph, wanted = part.graph, {value.name for value in part.graph.output}
    kept = []
    for node in reversed(graph.node):
        if wanted & set(node.output) - set(values):
            kept.append(node)
            wanted |= reads_of(node)
    kept.reverse()
    del graph.node[:]
    graph.node.extend(kept)
    graph.input.extend(output_of({}, name) for name in values)
    return part


def output_of(types: dict[str, onnx.ValueInfoProto], name: str) -> onnx.ValueInfoProto:
    """Declared with its type only: inferred shapes of inner values may be wrong for another batch."""
    element = types[name].type.tensor_type.elem_type if name in types else TensorProto.FLOAT
    value = onnx.ValueInfoProto(name=name)
    value.type.tensor_type.elem_type = element
    return value


def in_halves(model: onnx.ModelProto) -> onnx.ModelProto:
    """Converts to FP16 with unchanged inputs and outputs, as users of onnxruntime do."""
    from onnxruntime.transformers.float16 import convert_float_to_float16

    return convert_float_to_float16(model, keep_io_types=True, disable_shape_infer=False)
