"""Runs ONNX graphs node by node with a table of functions, freeing each value after its last use."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import onnx
from onnx import helper

Value = Any
Function = Callable[..., Value | tuple[Value, ...]]
"""Called with the node's attributes as a dict and its inputs, None for those left out."""


class NotHandled(Exception):
    """A function does not support this form of its operator."""


@dataclass(frozen=True)
class Library:
    """The arithmetic of the executor."""

    constant: Callable[[onnx.TensorProto], Value]
    functions: dict[str, Function]
    other: Callable[[onnx.NodeProto, int, Sequence[Value]], Sequence[Value]]
    """Runs a node (of an operator set) without a function, or that its function does not support."""
    stacked: Callable[[Sequence[Value]], Value]
    """Stacks a loop's outputs along a new first axis."""


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def subgraphs_of(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def reads_of(node: onnx.NodeProto) -> set[str]:
    """Names that a node reads, including those that its subgraphs capture."""
    names = set(node.input) - {""}
    for graph in subgraphs_of(node):
        own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
        for inner in graph.node:
            names |= reads_of(inner) - own
            own |= set(inner.output)
        names |= {value.name for value in graph.output} - own
    return names


class Executor:
    """One model, ready to be run many times."""

    def __init__(self, model: onnx.ModelProto, library: Library):
        self.model, self.library = model, library
        self.opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
        self.last_use = {name: i for i, node in enumerate(model.graph.node) for name in reads_of(node)}

    def run(self, feed: dict[str, Value], names: Sequence[str]) -> list[Value]:
        """The values of these names, among all results of the graph's nodes."""
        graph, kept = self.model.graph, set(names)
        values = dict(feed)
        self.add_constants(graph, values)
        for i, node in enumerate(graph.node):
            self.step(node, values)
            for name in reads_of(node) | set(node.output):
                if name not in kept and self.last_use.get(name, -1) <= i:
                    values.pop(name, None)
        return [values[name] for name in names]

    def add_constants(self, graph: onnx.GraphProto, values: dict[str, Value]) -> None:
        for tensor in graph.initializer:
            values[tensor.name] = self.library.constant(tensor)

    def step(self, node: onnx.NodeProto, values: dict[str, Value]) -> None:
        try:
            results = self.results_of(node, values)
        except Exception as error:
            raise RuntimeError(f"node {node.name or node.output[0]} ({node.op_type}): {type(error).__name__}: {error}") from error
        values.update((name, result) for name, result in zip(node.output, results, strict=False) if name)

    def results_of(self, node: onnx.NodeProto, values: dict[str, Value]) -> Sequence[Value]:
        inputs = [values[name] if name else None for name in node.input]
        if node.op_type == "If":
            return self.branch(node, inputs, values)
        if node.op_type == "Loop":
            return self.loop(node, inputs, values)
        function = self.library.functions.get(node.op_type) if node.domain in ("", "ai.onnx") else None
        if function:
            try:
                results = function(self.attributes_of(node), *inputs)
                return results if isinstance(results, tuple) else (results,)
            except NotHandled:
                pass
        return self.library.other(node, self.opset, inputs)

    def attributes_of(self, node: onnx.NodeProto) -> dict:
        attributes = attributes_of(node)
        if node.op_type == "RoiAlign" and self.opset < 16:
            attributes["coordinate_transformation_mode"] = b"output_half_pixel"
        return attributes

    def subgraph(self, graph: onnx.GraphProto, arguments: Sequence[Value], outer: dict[str, Value]) -> list[Value]:
        values = dict(outer)
        values.update(zip([value.name for value in graph.input], arguments, strict=True))
        self.add_constants(graph, values)
        for node in graph.node:
            self.step(node, values)
        return [values[value.name] for value in graph.output]

    def branch(self, node: onnx.NodeProto, inputs: list[Value], values: dict[str, Value]) -> list[Value]:
        name = "then_branch" if bool(inputs[0].reshape(-1)[0]) else "else_branch"
        return self.subgraph(attributes_of(node)[name], [], values)

    def loop(self, node: onnx.NodeProto, inputs: list[Value], values: dict[str, Value]) -> list[Value]:
        body = attributes_of(node)["body"]
        limit, going, *carried = inputs
        gathered: list[list[Value]] = [[] for _ in range(len(body.output) - 1 - len(carried))]
        turn = 0
        while (limit is None or turn < int(limit.reshape(-1)[0])) and (going is None or bool(going.reshape(-1)[0])):
            number = self.library.constant(helper.make_tensor("", onnx.TensorProto.INT64, [], [turn]))
            going, *results = self.subgraph(body, [number, going, *carried], values)
            carried = results[: len(carried)]
            for rows, row in zip(gathered, results[len(carried) :], strict=True):
                rows.append(row)
            turn += 1
        if turn == 0 and gathered:
            raise NotHandled("a loop without turns gathers values of unknown shape")
        return [*carried, *map(self.library.stacked, gathered)]
