"""Selects the nodes of a graph of torch operators that run in engines."""

import functools
import operator
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.passes.utils.fuser_utils import fuse_by_partitions

TYPES = frozenset(
    getattr(torch, name)
    for name in ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "bool")
)


@functools.cache
def exporters() -> Any:
    """The operators that torch's ONNX exporter supports, directly or by decomposition."""
    from torch.onnx._internal.exporter import _registration

    registry = _registration.ONNXRegistry.from_torchlib()
    decompositions = torch._decomp.core_aten_decompositions()
    return lambda target: registry.is_registered(target) or target in decompositions


def tensors_of(value: Any) -> list[Any]:
    """The outputs of a node, with None for those that are not tensors."""
    values = value if isinstance(value, (tuple, list)) else [value]
    return [one if isinstance(one, torch.Tensor) else None for one in values]


def is_plain(tensor: Any, device: Any) -> bool:
    """Whether an engine on the device can return it: supported type, strided, sizes determined by the inputs'."""
    if tensor is None or tensor.dtype not in TYPES or tensor.layout != torch.strided or tensor.device != device:
        return False
    symbols: set[Any] = set()
    for size in tensor.shape:
        if isinstance(size, torch.SymInt):
            symbols |= size.node.expr.free_symbols
    return not any(str(symbol).startswith("u") for symbol in symbols)  # torch's names of data-dependent sizes


def kind_of(node: Any) -> tuple[Any, ...]:
    """Key of nodes that an engine supports or not alike: operator and types."""
    given = tuple(value.dtype if isinstance(value, torch.Tensor) else None for value in (one.meta.get("val") for one in node.all_input_nodes))
    return node.target, given


def is_random(node: Any) -> bool:
    """Whether its results depend on torch.manual_seed. Attention without dropout does not, though its operators are marked so."""
    if torch.Tag.nondeterministic_seeded not in node.target.tags:
        return False
    return bool(argument(node, "dropout_p", None) != 0)


def argument(node: Any, name: str, otherwise: Any) -> Any:
    """The operator's argument with this name; `otherwise` where it has none."""
    for place, one in enumerate(node.target._schema.arguments):
        if one.name == name:
            return node.args[place] if place < len(node.args) else node.kwargs.get(name, one.default_value)
    return otherwise


def is_training(node: Any) -> bool:
    """Whether it normalises by statistics of its input: torch's exporter writes only the form that does not."""
    return argument(node, "training", False) is not False


def is_supported(node: Any, device: Any, refused: frozenset[Any]) -> bool:
    if node.op != "call_function":
        return False
    if node.target is operator.getitem:
        source = node.args[0]
        return isinstance(source, torch.fx.Node) and is_supported(source, device, refused) and is_plain(node.meta.get("val"), device)
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target._schema.is_mutable or kind_of(node) in refused:
        return False
    if is_random(node) or is_training(node) or not exporters()(target):
        return False
    value = node.meta.get("val")
    if isinstance(value, (tuple, list)):
        used = {user.args[1] for user in node.users if user.target is operator.getitem}
        return len(used) > 0 and all(is_plain(one, device) for i, one in enumerate(tensors_of(value)) if i in used)
    return is_plain(value if isinstance(value, torch.Tensor) else None, device)


def is_counted(node: Any) -> bool:
    """Whether a node computes on tensors: sizes, views and parts of a tuple do not count."""
    if node.op != "call_function" or node.target is operator.getitem:
        return False
    if isinstance(node.target, torch._ops.OpOverload) and node.target.is_view:
        return False
    return any(one is not None for one in tensors_of(node.meta.get("val")))


def counted(graph: Any) -> Counter[str]:
    """Counts the nodes of a graph that torch runs, by operator name."""
    return Counter(str(node.target) for node in graph.nodes if is_counted(node) and not is_part(node))


def is_part(node: Any) -> bool:
    return isinstance(node.target, functools.partial)


def stages(graph: Any, weights: set[Any], takes: Callable[[Any], bool]) -> dict[Any, int]:
    """Nodes that run in engines, with the number of their engine: nodes of one stage depend only on torch nodes of earlier stages."""

    def is_torchs(node: Any) -> bool:
        return node.op == "call_function" and node not in taken

    stage: dict[Any, int] = {}
    taken: dict[Any, int] = {}
    free = set(weights)  # Independent of inputs: computed in the engine that reads it, which folds it.
    for node in graph.nodes:
        runs = takes(node)
        stage[node] = max((stage[one] + (runs and is_torchs(one)) for one in node.all_input_nodes), default=0)
        if runs:
            taken[node] = stage[node]
        if node.op == "get_attr" or (node.op == "call_function" and free.issuperset(node.all_input_nodes)):
            free.add(node)
    for node in reversed(graph.nodes):
        readers = [stage[user] for user in node.users if user.op != "output"]
        if node in taken and node in free and len(readers) == len(node.users) > 0:
            stage[node] = taken[node] = max(stage[node], min(readers))
    return taken


def divide(module: Any, weights: set[Any], device: Any, refused: frozenset[Any], prefix: str) -> tuple[Any, list[str]]:
    """The module with nodes for engines moved to submodules, and their names. Views stay in torch, where they cost nothing."""
    parts: dict[int, dict[Any, None]] = {}
    for node, stage in stages(module.graph, weights, functools.cache(lambda node: is_supported(node, device, refused))).items():
        parts.setdefault(stage, {})[node] = None
    fused = fuse_by_partitions(module, [part for _, part in sorted(parts.items()) if any(map(is_counted, part))], prefix=prefix)
    return fused, [node.target for node in fused.graph.nodes if node.op == "call_module" and node.target.startswith(prefix)]


def put_in_place(module: Any, name: str, run: Callable[..., Any]) -> None:
    """Replaces the call of the submodule by `run`."""
    run.__name__ = name
    for node in module.graph.nodes:
        if node.op == "call_module" and node.target == name:
            node.op, node.target = "call_function", run
    module.delete_submodule(name)
