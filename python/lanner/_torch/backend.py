"""The torch.compile backend: runs graphs of torch operators in engines as far as they are supported."""

import logging
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext
from torch.nn.attention import SDPBackend, sdpa_kernel

from lanner import _lanner, errors
from lanner._calls import shown
from lanner._torch import decompositions, export, part

log = logging.getLogger("lanner")

# Attention backends that torch may choose from: those that its exporter supports.
ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
# Options of lanner.build without names of inputs, outputs or nodes, which differ between the graphs that
# torch splits off.
OPTIONS = frozenset(row["name"] for row in _lanner._option_rows("build") if row["torch_compile"])  # type: ignore[attr-defined]


def lanner(module: Any, example_inputs: list[Any], *, options: Mapping[str, Any] | None = None, mode: str | None = None) -> Callable[..., Any]:
    """The backend of torch.compile(module, backend="lanner"): what engines can run of a graph runs in engines; the rest stays in torch, and a
    RuntimeWarning says how much and why. torch.compile calls it.

    module: the graph
    example_inputs: tensors like its inputs
    options: precision, strict, exact, threads, budget, deterministic, retune, tune_at_run, weight_budget, limits, environment and progress as of build; share_weights
    mode: raises if it is given
    """
    check_type("module", module, torch.fx.GraphModule, "torch.fx.GraphModule")
    check_type("example_inputs", example_inputs, (list, tuple), "list of tensors")
    check_type("options", options, (Mapping, type(None)), "Mapping[str, object] or None")
    if mode is not None:
        raise errors.InvalidArgument(
            f"torch.compile: backend lanner has no mode {shown(mode)}; options={{'budget': seconds}} says how long it tunes"
        )
    chosen = dict(options or {})
    for name in chosen:
        check_type("name of an option", name, str, "str")
    share_weights = chosen.pop("share_weights", False)
    check_type("share_weights", share_weights, bool, "bool")
    tensors = [one for one in [*example_inputs, *module.parameters()] if isinstance(one, torch.Tensor)]
    device = device_among(tensors)
    check_options(chosen, device)
    if torch.is_grad_enabled() and any(one.requires_grad for one in tensors):
        warn(f"all {sum(1 for node in module.graph.nodes if node.op.startswith('call_'))} nodes of a graph stay in torch: gradients are "
             "wanted, which engines do not compute; call it under torch.inference_mode() or torch.no_grad()")
        return module.forward  # type: ignore[no-any-return]

    def compile_graph(graph: Any, _: list[Any]) -> Callable[..., Any]:
        return Compiled(graph, part.Setting(device, chosen, share_weights)).boxed()

    with sdpa_kernel(ATTENTION):
        compile_all = aot_autograd(fw_compiler=compile_graph, inference_compiler=compile_graph, decompositions=decompositions.table())
        return compile_all(module, example_inputs)  # type: ignore[no-any-return]


def check_type(name: str, value: Any, kinds: Any, expected: str) -> None:
    if not isinstance(value, kinds):
        raise TypeError(f"torch.compile: {name}: {shown(value)} is of the wrong type; expected {expected}")


def device_among(tensors: list[Any]) -> Any:
    """The device of a graph over these tensors: its first GPU, where scalars may be on the CPU."""
    kinds = {tensor.device.type for tensor in tensors} - {"cpu", "cuda"}
    if kinds:
        raise errors.Unsupported(f"torch.compile: tensors are on {', '.join(sorted(kinds))}; backend lanner is for cpu and cuda")
    gpus = sorted((tensor.device for tensor in tensors if tensor.device.type == "cuda"), key=str)
    return gpus[0] if gpus else torch.device("cpu")


def check_options(options: dict[str, Any], device: Any) -> None:
    """Checks names here and values by building a tiny model, so that a wrong one is an error and not a silent fallback to torch."""
    unknown = sorted(set(options) - OPTIONS)
    if unknown:
        raise TypeError(f"torch.compile: unknown option {shown(unknown[0])}; known are {', '.join(sorted(OPTIONS | {'share_weights'}))}")
    export.check_exporter()
    import onnx  # also needed by the exporter

    kind = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, (1,))
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "x", [onnx.helper.make_value_info("x", kind)], [onnx.helper.make_value_info("y", kind)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8)
    _lanner.build(model, **{"device": export.name_of_device(device), **options})


def warn(text: str) -> None:
    warnings.warn(f"torch.compile: {text}", RuntimeWarning, stacklevel=2)


class Compiled:
    """One compiled graph: its first run builds the engines and reports what runs in them."""

    def __init__(self, graph: Any, setting: part.Setting):
        context = TracingContext.try_get()
        facts = context.fw_metadata if context else None
        weights = frozenset(facts.static_input_indices if facts else ())
        self.setting = setting
        self.divided = part.divided(graph, weights, setting)
        setting.news.append(self)

    def boxed(self) -> Callable[..., Any]:
        def run(arguments: list[Any]) -> Any:
            given = tuple(arguments)
            arguments.clear()
            results = self.divided.module(*given)
            if self.setting.news:
                self.setting.news.clear()
                self.say()
            return results

        run._boxed_call = True  # type: ignore[attr-defined]
        return run

    def say(self) -> None:
        left = self.divided.left
        stay = sum(left.values())
        total = stay + self.divided.run_by_engines
        engines = "1 engine" if self.divided.engines == 1 else f"{self.divided.engines} engines"
        text = f"{total - stay} of {total} nodes of a graph run in {engines} on {self.setting.device}"
        if stay == 0:
            log.info("torch.compile: %s", text)
            return
        names = ", ".join(f"{name} ({count})" for name, count in left.most_common())
        reasons = "".join(f"; {reason}" for reason in self.divided.reasons)
        warn(f"{text}; torch runs {names}{reasons}")
