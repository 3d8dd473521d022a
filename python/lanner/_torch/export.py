"""Builds an engine from a torch.nn.Module by torch's own exporter: torch.export, then torch.onnx."""

import importlib.util
import os
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from lanner import _lanner, errors

# Larger models go through a file: a protobuf message is limited to 2 GiB, and is in memory several times.
LARGE = 256 << 20
# The engine's bound of an unbounded size; torch's own largest bounds mean the same.
UNBOUNDED, LARGEST = 2**63 - 1, 2**31 - 2


def build_module(
    model: Any, example_inputs: object = None, *others: object, dynamic_shapes: object = None, **options: Any
) -> _lanner.Engine:
    """Implements lanner.build for a module or an ExportedProgram."""
    if others:
        raise TypeError(f"build: {others[0]!r:.80} has no name; expected options by their names, like precision=\"fp16\"")
    model = getattr(model, "_orig_mod", model)  # the module inside of a result of torch.compile
    options = {name: value for name, value in options.items() if value is not None}
    if isinstance(model, torch.export.ExportedProgram):
        if example_inputs is not None or dynamic_shapes is not None:
            raise errors.InvalidArgument("build: example_inputs and dynamic_shapes were settled when the ExportedProgram was made")
        program = to_onnx(model)
    else:
        arguments, by_name = arguments_of(model, example_inputs)
        program = to_onnx(model, arguments, kwargs=by_name, dynamic_shapes=dynamic_shapes)
        program.model.graph.name = type(model).__name__
    name_outputs(program)
    exported = program.exported_program
    tensors = list(exported.state_dict.values()) + [value for value in exported.constants.values() if isinstance(value, torch.Tensor)]
    inputs = [value for value in values_of_inputs(exported) if isinstance(value, torch.Tensor)]
    options.setdefault("device", device_of(tensors or inputs))
    options.setdefault("precision", precision_of([*tensors, *inputs]))
    if not options.get("shapes") and not options.get("profiles"):
        options.update(sizes_of(program))
    return build_program(program, options)


def arguments_of(model: Any, example_inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of forward."""
    if example_inputs is None:
        raise errors.InvalidArgument(
            f"build {type(model).__name__}: a module does not describe its inputs; give example_inputs: a tensor, a tuple, or a dict by "
            "the names of forward's arguments"
        )
    if isinstance(example_inputs, Mapping):
        return (), dict(example_inputs)
    if isinstance(example_inputs, (tuple, list)):
        return tuple(example_inputs), {}
    return (example_inputs,), {}


def to_onnx(model: Any, arguments: tuple[Any, ...] = (), **options: Any) -> Any:
    """torch's ONNXProgram. Weights keep their names and are folded by the build, so that a refit finds them."""
    check_exporter()
    return torch.onnx.export(model, arguments, dynamo=True, optimize=False, verbose=False, **options)


def check_exporter() -> None:
    if importlib.util.find_spec("onnxscript") is None:
        raise errors.NotFound("torch's exporter needs the package onnxscript, which is not installed: pip install onnxscript")


def build_program(program: Any, options: dict[str, Any]) -> _lanner.Engine:
    weights = sum(value.const_value.nbytes for value in program.model.graph.initializers.values() if value.const_value is not None)
    if weights < LARGE:
        return _lanner.build(program.model_proto.SerializeToString(), **options)
    with tempfile.TemporaryDirectory(prefix="lanner-") as folder:
        path = os.path.join(folder, "model.onnx")
        program.save(path, external_data=True)
        return _lanner.build(path, **options)


def name_outputs(program: Any) -> None:
    """Names outputs by their position in forward's result: `output`, `output_1`, or the keys of a dict."""
    outputs, spec = program.model.graph.outputs, program.exported_program.call_spec.out_spec
    if spec is None or spec.num_leaves != len(outputs):
        return  # Some are not tensors: keep torch's names.
    paths, _ = pytree.tree_flatten_with_path(pytree.tree_unflatten(list(range(spec.num_leaves)), spec))
    names = set(program.model.graph.initializers)
    names.update(value.name for value in program.model.graph.inputs)
    names.update(value.name for node in program.model.graph for value in node.outputs)
    renamed: set[int] = set()
    for value, (path, _) in zip(outputs, paths, strict=True):
        if id(value) in renamed or value.producer() is None:
            continue  # An unchanged input or weight, or returned twice: it already has a name.
        name = name_of(path)
        while name in names and name != value.name:
            name += "_"
        value.name = name
        names.add(name)
        renamed.add(id(value))


def name_of(path: tuple[Any, ...]) -> str:
    parts = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in path]
    if path and isinstance(path[0], pytree.SequenceKey):
        parts[0] = f"output_{parts[0]}"
    return ".".join(parts) or "output"


def values_of_inputs(exported: Any) -> Iterator[Any]:
    """The representative of each argument of forward in the exported graph: a fake tensor, or a number."""
    wanted = set(exported.graph_signature.user_inputs)
    for node in exported.graph.nodes:
        if node.op == "placeholder" and node.name in wanted:
            yield node.meta.get("val")


def device_of(tensors: list[Any]) -> str:
    """Lanner's name of their device."""
    devices = sorted({str(tensor.device) for tensor in tensors})
    if len(devices) > 1:
        raise errors.InvalidArgument(f"build: the module's tensors are on {', '.join(devices)}; give the engine's device: device=")
    return name_of_device(torch.device(devices[0] if devices else "cpu"))


def name_of_device(device: Any) -> str:
    if device.type not in ("cpu", "cuda"):
        raise errors.Unsupported(f"build: the module is on {device}; engines are for cpu and cuda: move it there, or give device=")
    if device.type == "cpu":
        return "cpu"
    return f"cuda:{torch.cuda.current_device() if device.index is None else device.index}"


def precision_of(tensors: list[Any]) -> str:
    """The precision option: kernels may compute in the types of the module's values."""
    types = {tensor.dtype for tensor in tensors}
    return ",".join(["fp32"] + ["fp16"] * (torch.float16 in types) + ["bf16"] * (torch.bfloat16 in types))


def sizes_of(program: Any) -> dict[str, Any]:
    """Options for open sizes: one profile, tuned for the example, so that other sizes reuse its kernels."""
    ranges = ranges_of(program)
    return {"shapes": ranges, "profiles": [ranges]} if ranges else {}


def ranges_of(program: Any) -> dict[str, tuple[tuple[int, ...], ...]]:
    """Shape ranges of inputs with open sizes: the bounds of dynamic_shapes, with the example's shape as opt."""
    bounds = program.exported_program.range_constraints
    shapes: dict[str, tuple[tuple[int, ...], ...]] = {}
    values = [value for value in values_of_inputs(program.exported_program) if isinstance(value, torch.Tensor)]
    names = [value.name for value in program.model.graph.inputs]
    if len(names) != len(values):
        return shapes  # Some inputs are numbers: open sizes stay open, as for any file.
    for name, value in zip(names, values, strict=True):
        ranges = [range_of(size, bounds) for size in value.shape]
        if any(least != most for least, _, most in ranges):
            shapes[name] = tuple(zip(*ranges, strict=True))
    return shapes


def range_of(size: Any, bounds: Any) -> tuple[int, int, int]:
    if isinstance(size, int):
        return size, size, size
    bound = bounds.get(size.node.expr)
    least = int(bound.lower) if bound is not None and bound.lower.is_Integer else 1
    most = int(bound.upper) if bound is not None and bound.upper.is_Integer else UNBOUNDED
    # Without a given minimum torch counts from 2: its tracing treats 0 and 1 as special cases, an engine does
    # not.
    least = least if least > 2 else 1
    typical = size.node.hint if size.node.has_hint() else least
    return min(least, typical), typical, UNBOUNDED if most > LARGEST else max(most, typical)
