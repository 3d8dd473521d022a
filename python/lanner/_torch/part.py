"""A part of a graph that runs in an engine: built at its first call, on torch's tensors and stream."""

import dataclasses
import functools
import logging
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from lanner import _lanner, errors
from lanner._torch import comparison, export, layouts, nodes, rewrite
from lanner._torch.weights import Watch, is_watchable

log = logging.getLogger("lanner")
# Errors that the caller must see and a fallback to torch would hide. LimitExceeded is passed on if the caller
# set the limits.
PASSED_ON = (errors.Cancelled, errors.DeviceError, errors.OutOfMemory)
HALVES = (torch.float16, torch.bfloat16)
# Maximum number of engines for fixed sizes of a part, where one for open sizes cannot be built.
MOST_FIXED = 8


@dataclasses.dataclass(frozen=True)
class Setting:
    """Settings shared by all parts of one graph. `refused`: kinds of nodes that are left to torch."""

    device: Any
    options: dict[str, Any]
    share_weights: bool = False
    refused: frozenset[Any] = frozenset()
    news: list[Any] = dataclasses.field(default_factory=list)  # Parts that no longer run as reported.

    def passes_on(self, error: Exception) -> bool:
        return isinstance(error, PASSED_ON) or (isinstance(error, errors.LimitExceeded) and "limits" in self.options)

    @property
    def halves(self) -> bool:
        """Whether kernels may compute in lower precision than the values have."""
        return any(name in str(self.options.get("precision") or "") for name in ("16", "half"))

    def without(self, refused: frozenset[Any]) -> "Setting":
        return dataclasses.replace(self, refused=refused)


class Runner:
    """An engine, the layouts of its inputs and outputs, and idle contexts by stream."""

    def __init__(self, engine: _lanner.Engine, inputs: dict[int, tuple[int, ...]], outputs: list[tuple[int, ...]]):
        self.inputs = inputs
        self.orders = outputs
        self.take(engine)

    def take(self, engine: _lanner.Engine) -> None:
        self.engine = engine
        self.names = [binding.name for binding in engine.outputs]
        known = {binding.name for binding in engine.inputs}
        self.fed = [(i, rewrite.name_of_input(i), order) for i, order in self.inputs.items() if rewrite.name_of_input(i) in known]
        self.idle: dict[int, list[_lanner.Context]] = {}

    def run(self, arguments: tuple[Any, ...], wanted: list[Any], device: Any) -> list[Any]:
        inputs = {}
        for i, name, order in self.fed:
            tensor = arguments[i].detach()
            inputs[name] = layouts.Lent(layouts.laid(tensor if tensor.device == device else tensor.to(device), order))
        results = [layouts.empty(tuple(one.shape), order, one.dtype, device) for one, order in zip(wanted, self.orders, strict=True)]
        outputs = {name: layouts.Lent(tensor) for name, tensor in zip(self.names, results, strict=True)}
        stream = torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0
        idle = self.idle.setdefault(stream, [])
        context = idle.pop() if idle else self.engine.create_context()
        context.enqueue(inputs, stream, outputs=outputs)
        context.unbind()  # torch reuses memory in stream order
        idle.append(context)
        return [layouts.like(tensor, one) for tensor, one in zip(results, wanted, strict=True)]

    def refit(self, weights: dict[str, Any], changed: list[str]) -> None:
        """Refits changed weights, and others that were merged into one constant with them."""
        known = self.engine.weights
        fixed = [name for name in changed if name not in known]
        if fixed:
            raise errors.InvalidArgument(f"{len(fixed)} of them decided how the network is computed")
        try:
            self.take(self.engine.refit(on_the_host(weights, changed)))
        except errors.InvalidArgument:
            self.take(self.engine.refit(on_the_host(weights, [name for name in weights if name in known])))


class Part:
    """Callable like the submodule that it was made from. `weights`: the arguments that are weights."""

    def __init__(self, module: Any, weights: set[int], setting: Setting):
        self.module, self.setting = module, setting
        self.values = [node.meta.get("val") for node in module.graph.nodes if node.op == "placeholder"]
        self.open = any(rewrite.is_open(value) for i, value in enumerate(self.values) if i not in weights)
        self.nodes = nodes.counted(module.graph)
        self.divided: Divided | None = None  # If no engine supports all of it.
        self.reason = ""
        self._weights = frozenset(weights)
        self._watch: Watch | None = None
        self._fixed = False  # Whether each set of sizes has its own engine.
        self._runners: list[Runner] = []
        self._plans: dict[Any, tuple[Runner | None, list[Any]]] = {}  # By shapes: the runner, and torch's results.
        self._lock = threading.RLock()

    def __call__(self, *arguments: Any) -> Any:
        if self.divided is None and (self._watch is None or self._watch.changed(arguments)):
            self._take_weights(arguments)
        runner, wanted = self._plan(arguments) if self.divided is None else (None, [])
        if self.divided is not None:
            return self.divided.module(*arguments)
        if runner is None:
            return self.module(*arguments)  # Nothing to compute.
        results = runner.run(arguments, wanted, self.setting.device)
        return tuple(results) if self._several else results[0]

    def _plan(self, arguments: tuple[Any, ...]) -> tuple[Runner | None, list[Any]]:
        key = tuple(
            (one.shape, one.stride()) if isinstance(one, torch.Tensor) else one
            for i, one in enumerate(arguments)
            if i not in self._weights
        )
        plan = self._plans.get(key)
        if plan is None:
            with self._lock:
                plan = self._plans.get(key) or self._made(arguments)
                self._plans[key] = plan
        return plan

    def _made(self, arguments: tuple[Any, ...]) -> tuple[Runner | None, list[Any]]:
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            results = self.module(*[mode.from_tensor(one) if isinstance(one, torch.Tensor) else one for one in arguments])
        self._several = isinstance(results, (tuple, list))
        wanted = list(results) if self._several else [results]
        given = [one for one in arguments if isinstance(one, torch.Tensor)]
        if any(one.numel() == 0 for one in given + wanted):
            return None, wanted
        try:
            return self._runner(arguments, wanted), wanted
        except Exception as error:  # torch's exporter raises all kinds of errors
            if self.setting.passes_on(error):
                raise
            self._divide(error)
            return None, wanted

    def _runner(self, arguments: tuple[Any, ...], wanted: list[Any]) -> Runner:
        if self._runners and not self._fixed:
            return self._runners[0]
        if self.open and not self._fixed:
            try:
                return self._build(arguments, wanted, None)
            except Exception as error:  # If open sizes are not the cause, it fails again below with the reason.
                if self.setting.passes_on(error):
                    raise
                self._fixed = True
        if len(self._runners) >= MOST_FIXED:
            raise errors.Unsupported(f"it needs an engine for each set of sizes, and there are more than {MOST_FIXED}")
        return self._build(arguments, wanted, {i: one for i, one in enumerate(arguments) if not isinstance(one, torch.Tensor)})

    def _build(self, arguments: tuple[Any, ...], wanted: list[Any], fixed: dict[int, Any] | None) -> Runner:
        weights = {i: arguments[i] for i in self._weights}
        inputs = {i: one.detach() for i, one in enumerate(arguments) if isinstance(one, torch.Tensor) and i not in weights}
        shapes = rewrite.dynamic_shapes(self.module, weights) if fixed is None and self.open else None
        module = rewrite.exportable(self.module, weights, fixed)
        program = exported(module, tuple(inputs.values()), shapes)
        options = {"precision": export.precision_of(tensors_in(self.module)), **export.sizes_of(program)}
        orders = {i: layouts.order_of(one) or tuple(range(one.dim())) for i, one in inputs.items()}
        results = [layouts.order_of(one) or tuple(range(one.dim())) for one in wanted]
        named = [(rewrite.name_of_input(i), order) for i, order in orders.items()]
        named += [(value.name, order) for value, order in zip(program.model.graph.outputs, results, strict=True)]
        options["storages"] = {name: layouts.storage_of(order) for name, order in named if not layouts.is_plain(order)}
        engine = export.build_program(program, {**options, "device": export.name_of_device(self.setting.device), **self.setting.options})
        runner = Runner(engine, orders, results)
        self._check(runner, self.module, arguments, wanted)
        self._runners.append(runner)
        return runner

    def _check(self, runner: Runner, module: Any, arguments: tuple[Any, ...], wanted: list[Any]) -> None:
        expected = module(*arguments)
        expected = list(expected) if isinstance(expected, (tuple, list)) else [expected]
        values = [*tensors_in(module), *(one for one in arguments if isinstance(one, torch.Tensor))]
        halves = self.setting.halves or any(one.dtype in HALVES for one in values)
        exact = not any(one.dtype.is_floating_point for one in [*values, *expected])
        wide = None if halves or exact else comparison.in_float64(module, arguments)
        comparison.check(runner.run(arguments, wanted, self.setting.device), expected, wide, halves, exact)

    def _divide(self, error: Exception) -> None:
        """Leaves nodes that no engine supports to torch and makes parts of the others."""
        self.reason = first_line(error)
        self.setting.news.append(self)
        tried: dict[Any, bool] = {}
        for node in self.module.graph.nodes:
            if nodes.is_counted(node) and nodes.kind_of(node) not in tried:
                tried[nodes.kind_of(node)] = self._takes(node)
        refused = self.setting.refused | {kind for kind, taken in tried.items() if not taken}
        if all(tried.values()):  # Each alone can be built, all together cannot.
            self.divided = Divided(self.module, [], self.nodes)
        else:
            self.divided = divided(self.module, self._weights, self.setting.without(refused))

    def _takes(self, node: Any) -> bool:
        try:
            module, inputs = rewrite.alone(node)
            where = {"precision": export.precision_of([*inputs]), "device": export.name_of_device(self.setting.device)}
            engine = export.build_program(exported(module, inputs, None), {**where, **self.setting.options, "budget": 0})
            results = module(*inputs)
            results = list(results) if isinstance(results, (tuple, list)) else [results]
            plain = {i: tuple(range(one.dim())) for i, one in enumerate(inputs)}
            runner = Runner(engine, plain, [tuple(range(one.dim())) for one in results])
            self._check(runner, module, inputs, results)
        except Exception as error:  # Whatever the reason: it runs in torch.
            if self.setting.passes_on(error):
                raise
            return False
        return True

    def _take_weights(self, arguments: tuple[Any, ...]) -> None:
        """Called at the first run, and when weights have changed."""
        with self._lock:
            if self._watch is None:
                self._weights = frozenset(i for i in self._weights if is_watchable(arguments[i]))
                self._watch = Watch(self._weights)
            changed = self._watch.changed(arguments)
            if changed and self._runners:
                self._refit(arguments, changed)
            self._watch.note(arguments)

    def _refit(self, arguments: tuple[Any, ...], changed: list[int]) -> None:
        try:
            for runner in self._runners:
                runner.refit({rewrite.name_of_weight(i): arguments[i] for i in self._weights}, [rewrite.name_of_weight(i) for i in changed])
        except (errors.InvalidArgument, errors.NotFound) as error:
            log.info("torch.compile: an engine is built anew for other weights: %s", first_line(error))
            self._plans.clear()
            self._runners.clear()
        else:
            log.info("torch.compile: an engine took over %d changed weights", len(changed))


class Divided:
    """A graph with parts that run in engines; the rest runs in torch."""

    def __init__(self, module: Callable[..., Any], parts: list[Part], left: Counter[str]):
        self.module, self.parts, self._left = module, parts, left

    @property
    def left(self) -> Counter[str]:
        """Number of nodes that torch runs, by operator."""
        return sum((part.divided.left for part in self.parts if part.divided), self._left)

    @property
    def run_by_engines(self) -> int:
        return sum(part.divided.run_by_engines if part.divided else sum(part.nodes.values()) for part in self.parts)

    @property
    def engines(self) -> int:
        return sum(part.divided.engines if part.divided else 1 for part in self.parts)

    @property
    def reasons(self) -> list[str]:
        """Why parts meant for an engine run in torch, or are split."""
        return [reason for part in self.parts if part.divided for reason in [part.reason, *part.divided.reasons]]


def divided(module: Any, weights: frozenset[int], setting: Setting) -> Divided:
    """`weights`: the module's arguments that are weights."""
    places = [node for node in module.graph.nodes if node.op == "placeholder"]
    constant = {node for i, node in enumerate(places) if i in weights}
    known = {node.name for node in constant}
    module, names = nodes.divide(module, constant, setting.device, setting.refused, "part_")
    parts = []
    for name in names:
        call = next(node for node in module.graph.nodes if node.op == "call_module" and node.target == name)
        own = {i for i, node in enumerate(call.args) if node.op == "get_attr" or node.name in known}
        part = Part(module.get_submodule(name), set() if setting.share_weights else own, setting)
        nodes.put_in_place(module, name, functools.partial(Part.__call__, part))
        parts.append(part)
    module.recompile()
    return Divided(module, parts, nodes.counted(module.graph))


def exported(module: Any, inputs: tuple[Any, ...], shapes: Any) -> Any:
    """Exports in a separate thread: a compiled graph runs with parts of torch's dispatcher disabled that its
    exporter needs, and torch.compile's own trace may be running."""

    def export_it() -> Any:
        with torch.no_grad():
            return export.to_onnx(torch.export.export(module, inputs, dynamic_shapes=shapes, strict=False))

    with ThreadPoolExecutor(1, "lanner-export") as thread:
        return thread.submit(export_it).result()


def on_the_host(weights: dict[str, Any], names: list[str]) -> dict[str, Any]:
    return {name: layouts.Lent(weights[name].detach().cpu().contiguous()) for name in names}


def tensors_in(module: Any) -> list[Any]:
    """The fake tensors of a graph."""
    return [one for node in module.graph.nodes for one in nodes.tensors_of(node.meta.get("val")) if one is not None]


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
