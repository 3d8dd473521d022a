"""Minimises a failing case: fewer inputs, outputs and nodes, simpler options, as long as it fails in the same way."""

import time
from collections.abc import Callable, Iterator

import numpy
import onnx
from onnx import helper

from random_graphs.cases import Case, Feed, names_read
from random_graphs.check import Failure
from random_graphs.inner import Inner
from random_graphs.oracle import NoOracle, Oracle
from random_graphs.values import DTYPE

PLAIN = ({"plan": False}, {"deterministic": False}, {"threads": 1}, {"budget": 0}, {"precision": "fp32"})

Model = onnx.ModelProto


def reduced(case: Case, failure: Failure, judge: Callable[[Case], Failure | None], seconds: float) -> Case:
    """`judge` runs a case; an exception counts as another failure."""
    end = time.monotonic() + seconds

    def fails(smaller: Case) -> bool:
        try:
            return failure.same_as(judge(smaller))
        except Exception:  # a candidate may be an invalid model
            return False

    again = True
    while again:
        again = False
        for smaller in candidates(case):
            if time.monotonic() > end:
                return case
            if fails(smaller):
                case, again = smaller, True
                break
    return case


def candidates(case: Case) -> Iterator[Case]:
    """One step smaller, the largest steps first."""
    for plain in PLAIN:
        key, value = next(iter(plain.items()))
        if getattr(case.options, key) != value:
            yield case.with_options(**plain)
    if len(case.feeds) > 1:
        for feed in case.feeds:
            yield Case(case.model, [feed], case.options)
    for step in (fewer_outputs, inner_outputs, inner_inputs, without_nodes, fixed_symbols):
        yield from step(case)


def copied(model: Model) -> Model:
    return Model.FromString(model.SerializeToString())


def names_written(graph: onnx.GraphProto) -> list[str]:
    return [name for node in graph.node if node.op_type != "Constant" for name in node.output if name]


def keep(items, wanted: Callable) -> None:
    """Of a repeated field, in place."""
    kept = [type(item).FromString(item.SerializeToString()) for item in items if wanted(item)]
    del items[:]
    items.extend(kept)


def cleaned(case: Case, model: Model, feeds: list[Feed] | None = None) -> Case:
    """Without nodes that no output needs."""
    graph = model.graph
    needed, kept = {info.name for info in graph.output}, set()
    for i in reversed(range(len(graph.node))):
        if needed & set(graph.node[i].output):
            kept.add(i)
            needed |= names_read([graph.node[i]])
    numbers = iter(range(len(graph.node)))
    keep(graph.node, lambda _: next(numbers) in kept)
    keep(graph.initializer, lambda tensor: tensor.name in needed)
    keep(graph.input, lambda info: info.name in needed)
    del graph.value_info[:]
    names = {info.name for info in graph.input}
    feeds = [{name: array for name, array in feed.items() if name in names} for feed in (feeds or case.feeds)]
    return Case(model, feeds, case.options)


def fewer_outputs(case: Case) -> Iterator[Case]:
    names = [info.name for info in case.model.graph.output]
    if len(names) < 2:
        return
    for one in names:
        model = copied(case.model)
        keep(model.graph.output, lambda info, one=one: info.name == one)
        yield cleaned(case, model)
    for one in names:
        model = copied(case.model)
        keep(model.graph.output, lambda info, one=one: info.name != one)
        yield cleaned(case, model)


def types_of(model: Model) -> dict[str, int]:
    inferred = onnx.shape_inference.infer_shapes(model).graph
    return {info.name: info.type.tensor_type.elem_type for info in [*inferred.value_info, *inferred.output]}


def inner_outputs(case: Case) -> Iterator[Case]:
    """Makes an earlier value the only output."""
    types = types_of(case.model)
    for name in names_written(case.model.graph)[:-1]:
        if types.get(name) and [info.name for info in case.model.graph.output] != [name]:
            model = copied(case.model)
            del model.graph.output[:]
            model.graph.output.append(helper.make_tensor_value_info(name, types[name], None))
            smaller = cleaned(case, model)
            if len(smaller.model.graph.node) < len(case.model.graph.node):
                yield smaller


def inner_inputs(case: Case) -> Iterator[Case]:
    """Makes a computed value an input, with the oracle's value."""
    try:
        oracle = Oracle(case.model, case.feeds[0])
        runs = [Inner.of(oracle, feed).arrays for feed in case.feeds]
    except (NoOracle, IndexError):
        return
    outputs = {info.name for info in case.model.graph.output}
    for name in reversed(names_written(case.model.graph)):
        arrays = [run.get(name) for run in runs]
        if name in outputs or any(array is None or array.dtype not in DTYPE for array in arrays):
            continue
        model = copied(case.model)
        for node in model.graph.node:
            node.output[:] = [f"{name}_gone" if output == name else output for output in node.output]
        alike = len({array.shape for array in arrays}) == 1
        dims = list(arrays[0].shape) if alike else [f"{name}_{i}" for i in range(arrays[0].ndim)]
        model.graph.input.append(helper.make_tensor_value_info(name, DTYPE[arrays[0].dtype], dims))
        feeds = [feed | {name: numpy.array(array)} for feed, array in zip(case.feeds, arrays, strict=True)]
        smaller = cleaned(case, model, feeds)
        if len(smaller.model.graph.node) < len(case.model.graph.node):
            yield smaller


def without_nodes(case: Case) -> Iterator[Case]:
    """Removes a node, and replaces its output by its first input."""
    outputs = {info.name for info in case.model.graph.output}
    for i, node in enumerate(case.model.graph.node):
        if node.op_type == "Constant" or len(node.output) != 1 or not node.input or node.output[0] in outputs:
            continue
        model = copied(case.model)
        gone, instead = node.output[0], node.input[0]
        del model.graph.node[i]
        for other in model.graph.node:
            other.input[:] = [instead if name == gone else name for name in other.input]
        for info in model.graph.output:
            info.type.tensor_type.ClearField("shape")
        yield cleaned(case, model)


def fixed_symbols(case: Case) -> Iterator[Case]:
    """Replaces symbols by numbers where there is only one set of inputs."""
    if not case.symbols or len(case.feeds) > 1:
        return
    yield case.fixed()
