"""torch.compile's backend: graphs of torch's operators, as far as engines take them."""

import logging
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import onnx
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext

from lanner import _lanner, errors
from lanner._torch import export, part

log = logging.getLogger("lanner")

# Options of lanner.build that name no input, output or node: a graph that torch cut has other names with each cut.
OPTIONS = frozenset(
    ("precision", "strict", "exact", "threads", "budget", "deterministic", "retune", "weight_budget", "limits", "environment", "progress")
)


def lanner(module: Any, example_inputs: list[Any], *, options: Mapping[str, Any] | None = None, mode: str | None = None) -> Callable[..., Any]:
    """torch.compile(model, backend="lanner", options={"precision": "fp16", "budget": 0})"""
    if mode is not None:
        raise errors.InvalidArgument(f"torch.compile: backend lanner has no mode {mode!r}; options={{'budget': seconds}} says how long it tunes")
    chosen = dict(options or {})
    share_weights = chosen.pop("share_weights", False)
    check_options(chosen)
    if not isinstance(share_weights, bool):
        raise TypeError(f"share_weights: {share_weights!r:.80} is of the wrong type; expected bool")
    if torch.is_grad_enabled() and any(one.requires_grad for one in tensors_of(module, example_inputs)):
        warn(f"all {sum(1 for node in module.graph.nodes if node.op.startswith('call_'))} nodes of a graph stay in torch: gradients are "
             "wanted, which engines do not compute; call it under torch.inference_mode() or torch.no_grad()")
        return module.forward  # type: ignore[no-any-return]

    def compile_graph(graph: Any, _: list[Any]) -> Callable[..., Any]:
        return Compiled(graph, chosen, share_weights).boxed()

    return aot_autograd(fw_compiler=compile_graph, inference_compiler=compile_graph)(module, example_inputs)  # type: ignore[no-any-return]


def tensors_of(module: Any, example_inputs: list[Any]) -> list[Any]:
    return [one for one in [*example_inputs, *module.parameters()] if isinstance(one, torch.Tensor)]


def check_options(options: dict[str, Any]) -> None:
    """Names here; values by the build of something small, so that a wrong one is an error and never a reason to stay in torch."""
    unknown = sorted(set(options) - OPTIONS)
    if unknown:
        raise TypeError(f"torch.compile: unknown option '{unknown[0]}'; known are {', '.join(sorted(OPTIONS | {'share_weights'}))}")
    kind = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, (1,))
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "x", [onnx.helper.make_value_info("x", kind)], [onnx.helper.make_value_info("y", kind)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8)
    _lanner.build(model, **options)


def warn(text: str) -> None:
    warnings.warn(f"torch.compile: {text}", RuntimeWarning, stacklevel=2)


class Compiled:
    """One graph: what it says of itself comes with its first run, which builds the engines."""

    def __init__(self, graph: Any, options: dict[str, Any], share_weights: bool):
        values = [node.meta.get("val") for node in graph.graph.nodes if node.op == "placeholder"]
        devices = {one.device for one in values if isinstance(one, torch.Tensor)}
        gpus = sorted((one for one in devices if one.type == "cuda"), key=str)
        self.device = gpus[0] if gpus else torch.device("cpu")
        context = TracingContext.try_get()
        facts = context.fw_metadata if context else None
        weights = frozenset(facts.static_input_indices if facts else ())
        self.divided = part.divided(graph, weights, part.Setting(self.device, options, share_weights))
        self.said = False

    def boxed(self) -> Callable[..., Any]:
        def run(arguments: list[Any]) -> Any:
            given = tuple(arguments)
            arguments.clear()
            results = self.divided.module(*given)
            if not self.said:
                self.said = True
                self.say()
            return results

        run._boxed_call = True  # type: ignore[attr-defined]
        return run

    def say(self) -> None:
        left = self.divided.left
        stay = sum(left.values())
        total = stay + self.divided.run_by_engines
        text = f"{total - stay} of {total} nodes of a graph run in {self.divided.engines} {'engine' if self.divided.engines == 1 else 'engines'} on {self.device}"
        if stay == 0:
            log.info("torch.compile: %s", text)
            return
        names = ", ".join(f"{name} ({count})" for name, count in left.most_common())
        reasons = "".join(f"; {reason}" for reason in self.divided.reasons)
        warn(f"{text}; torch runs {names}{reasons}")
