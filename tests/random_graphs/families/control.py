"""Branches, loops and scans, whose bodies are small random graphs that capture outer values."""

import numpy
from onnx import helper

from random_graphs.builder import GraphBuilder, Value
from random_graphs.registry import FAMILIES, family
from random_graphs.values import BOOL, F32, I64

INSIDE = ("elementwise", "movement", "product", "convolution", "reduction", "patterns")


def body(g: GraphBuilder, parameters: dict[str, Value], count: int) -> GraphBuilder:
    families = [entry for entry in FAMILIES.values() if entry.group in INSIDE]
    inner = g.body(parameters, count, families)
    g.used.update(inner.used)
    return inner


def results(inner: GraphBuilder, value: Value) -> list[str]:
    """A value of this type that the body computed."""
    found = inner.candidates(lambda v: v.dtype == value.dtype and v.shape == value.shape)
    return [name for name in found if name.startswith(inner.prefix)]


def graph_of(g: GraphBuilder, inner: GraphBuilder, inputs: dict[str, Value], outputs: dict[str, Value]):
    def infos(named):
        return [helper.make_tensor_value_info(name, v.dtype, [g.symbols.get(d, d) for d in v.shape]) for name, v in named.items()]

    return helper.make_graph(inner.nodes, inner.prefix, infos(inputs), infos(outputs), inner.initializers)


@family("control", 1.5)
def if_(g: GraphBuilder):
    g.require(not g.nested and g.opset >= 13)
    x = g.pick([F32])
    value = g.values[x]
    condition = g.input(BOOL, []) if g.chance(0.6) else g.constant(numpy.array(g.chance(0.5)))
    branches = []
    for _ in range(2):
        inner = body(g, {}, 2)
        found = results(inner, value)
        if not found:
            inner.values[x] = value
            found = [inner.node("Relu", [x])]
            g.used.add(x)
        branches.append(graph_of(g, inner, {}, {g.choose(found): value}))
    node = helper.make_node("If", [condition], [g.name()], then_branch=branches[0], else_branch=branches[1])
    g.declare(node, Value(value.dtype, value.shape))


@family("control", 1.5)
def loop(g: GraphBuilder):
    g.require(not g.nested and g.opset >= 13)
    x = g.pick([F32], ranks=[1, 2, 3])
    value, prefix = g.values[x], g.name("L")
    # Without iterations onnxruntime gives 0 for a size known only by a symbol.
    trips = g.draw.randint(1 if g.symbols else 0, 4)
    inputs = {prefix + "i": Value(I64, []), prefix + "c": Value(BOOL, []), prefix + "s": value}
    inner = body(g, {name: v for name, v in inputs.items() if not name.endswith("c")}, 2)
    inner.values[prefix + "c"] = inputs[prefix + "c"]
    found = results(inner, value)
    carried = inner.node("Tanh", [g.choose(found) if found else prefix + "s"])
    stacked = inner.node("Identity", [g.choose([prefix + "s", carried])])
    again = inner.node("Identity", [prefix + "c"])
    graph = graph_of(g, inner, inputs, {again: inputs[prefix + "c"], carried: value, stacked: value})
    condition = g.constant(numpy.array(True)) if g.chance(0.5) else ""
    node = helper.make_node("Loop", [g.ints(trips), condition, x], [g.name(), g.name()], body=graph)
    g.declare(node, Value(value.dtype, value.shape), Value(value.dtype, [trips, *value.shape]))


@family("control", 1.5)
def scan(g: GraphBuilder):
    g.require(not g.nested and g.opset >= 13)
    x = g.pick([F32], ranks=[2, 3], fits=all)
    shape, prefix = g.shape(x), g.name("S")
    axis = g.draw.randrange(len(shape))
    element = Value(F32, shape[:axis] + shape[axis + 1 :])
    inputs = {prefix + "s": element, prefix + "e": element}
    inner = body(g, inputs, 1)
    found = results(inner, element)
    state = inner.node("Add", [prefix + "s", prefix + "e"])
    stacked = inner.node("Tanh", [g.choose(found) if found else prefix + "s"])
    output_axis = g.draw.randint(0, len(element.shape))
    node = helper.make_node(
        "Scan",
        [g.random_constant(F32, element.shape), x],
        [g.name(), g.name()],
        body=graph_of(g, inner, inputs, {state: element, stacked: element}),
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_input_directions=[g.choose((0, 1))],
        scan_output_axes=[output_axis],
        scan_output_directions=[g.choose((0, 1))],
    )
    out = list(element.shape)
    out.insert(output_axis, shape[axis])
    g.declare(node, Value(F32, element.shape), Value(F32, out))
