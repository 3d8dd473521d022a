"""Rewrites a part of torch's graph for torch.export: weights become buffers, sizes are taken from the inputs."""

import operator
from collections.abc import Mapping
from typing import Any

import torch


class NotDynamic(Exception):
    """The part depends on a size that none of its inputs has: it can be exported for fixed sizes only."""


def name_of_input(position: int) -> str:
    return f"x{position}"


def name_of_weight(position: int) -> str:
    return f"w{position}"


def is_open(value: Any) -> bool:
    """Whether it is a dynamic size, or a tensor with one."""
    sizes = value.shape if isinstance(value, torch.Tensor) else [value]
    return any(isinstance(size, torch.SymInt) for size in sizes)


def exportable(module: Any, weights: Mapping[int, Any], fixed: Mapping[int, Any] | None) -> Any:
    """The part as a module over its tensor inputs without weights. `fixed`: the values of inputs that are
    numbers; None: they follow from the inputs' sizes."""
    places = [node for node in module.graph.nodes if node.op == "placeholder"]
    root, graph = torch.nn.Module(), torch.fx.Graph()
    made: dict[Any, Any] = {}
    for i, node in enumerate(places):
        if i not in weights and isinstance(node.meta.get("val"), torch.Tensor):
            made[node] = graph.placeholder(name_of_input(i))
    for i, node in enumerate(places):
        if i in weights:
            root.register_buffer(name_of_weight(i), weights[i].detach())
            made[node] = graph.get_attr(name_of_weight(i))
        elif node not in made:
            made[node] = fixed[i] if fixed is not None else size_among(graph, made, node.meta.get("val"))
    for node in module.graph.nodes:
        if node.op == "placeholder":
            continue
        if node.op == "get_attr":
            setattr(root, node.target, getattr(module, node.target))
        made[node] = graph.node_copy(node, made.__getitem__)
    return whole(root, graph)


def whole(root: Any, graph: Any) -> Any:
    """Drops torch.compile's metadata of the nodes: torch.export infers its own."""
    for node in graph.nodes:
        node.meta = {}
    return torch.fx.GraphModule(root, graph).eval()


def size_among(graph: Any, made: Mapping[Any, Any], wanted: Any) -> Any:
    """A node for the size of an input that is `wanted`."""
    if isinstance(wanted, torch.SymInt):
        for node, copy in made.items():
            if copy.op != "placeholder":
                continue
            for dim, size in enumerate(node.meta["val"].shape):
                if isinstance(size, torch.SymInt) and size.node.expr == wanted.node.expr:
                    return graph.call_function(torch.ops.aten.sym_size.int, (copy, dim))
    raise NotDynamic(str(wanted))


def dynamic_shapes(module: Any, weights: Mapping[int, Any]) -> tuple[Any, ...]:
    """The open sizes of the exportable part's inputs, in the form of torch.export."""
    dynamic = torch.export.Dim.DYNAMIC
    shapes: list[Any] = []
    for i, node in enumerate(node for node in module.graph.nodes if node.op == "placeholder"):
        value = node.meta.get("val")
        if i in weights or not isinstance(value, torch.Tensor):
            continue
        sizes = [dynamic if isinstance(size, torch.SymInt) else torch.export.Dim.STATIC for size in value.shape]
        shapes.append(tuple(sizes) if dynamic in sizes else None)
    return tuple(shapes)


def alone(node: Any) -> tuple[Any, tuple[Any, ...]]:
    """A module of this one node, and inputs for it, to test whether an engine supports it."""
    graph, inputs = torch.fx.Graph(), []

    def argument(one: Any) -> Any:
        value = one.meta.get("val")
        if not isinstance(value, torch.Tensor):
            return int(value.node.hint) if isinstance(value, torch.SymInt) else value
        sizes = [int(size.node.hint) if isinstance(size, torch.SymInt) else size for size in value.shape]
        given = torch.rand(sizes, device=value.device) if value.dtype.is_floating_point else torch.zeros(sizes, device=value.device)
        inputs.append(given.to(value.dtype))
        return graph.placeholder(name_of_input(len(inputs) - 1))

    made: dict[Any, Any] = {one: argument(one) for one in node.all_input_nodes}
    copy = graph.node_copy(node, made.__getitem__)
    values = node.meta.get("val")
    if isinstance(values, (tuple, list)):
        used = sorted({user.args[1] for user in node.users})
        graph.output(tuple(graph.call_function(operator.getitem, (copy, i)) for i in used))
    else:
        graph.output(copy)
    return whole(torch.nn.Module(), graph), tuple(inputs)
