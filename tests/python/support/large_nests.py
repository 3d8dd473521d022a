"""ONNX models of which passes, inference and lowering may make much work: graphs within graphs, functions that carry much, constants of
constants, sizes of sizes, long names. Each function makes one of `n` parts."""

import struct

from large_graphs import chain_nodes
from protobuf_records import INT64, attribute, function, graph, integer, integers, model, node, tensor, text, value

BOOL = 9
F_TENSOR, F_STRINGS = 4, 8


def weights(n, prefix="w"):
    return [tensor(f"{prefix}{i}", [1], struct.pack("<f", i)) for i in range(n)]


def constant_split(n):
    """A weight of which every part is a constant of its own."""
    given = [tensor("w", [n], struct.pack(f"<{n}f", *range(n)))]
    names = [f"s{i}" for i in range(n)]
    return model(graph([node("Split", ["w"], names, attribute("axis", 0)), node("Concat", ["x", *names[::-1]], ["y"], attribute("axis", 0))],
                       outputs=[value("y", [n + 1])], initialisers=given))


def constant_concat(n):
    names = [f"w{i}" for i in range(n)]
    nodes = [node("Concat", names, ["c"], attribute("axis", 0)), node("Concat", ["x", "c"], ["y"], attribute("axis", 0))]
    return model(graph(nodes, outputs=[value("y", [n + 1])], initialisers=weights(n)))


def constant_sums(n):
    """Constants that are made of ever more weights."""
    names = ["w0", *(f"v{i}" for i in range(1, n))]
    nodes = [node("Add", [names[i - 1], f"w{i}"], [names[i]]) for i in range(1, n)]
    return model(graph([*nodes, node("Add", ["x", names[-1]], ["y"])], initialisers=weights(n)))


def constants_alike(n):
    """Weights of equal values, each read by a node that is the same but for it."""
    given = [tensor(f"w{i}", [1], struct.pack("<f", 1)) for i in range(n)]
    nodes = [node("Add", ["x", f"w{i}"], [f"v{i}"]) for i in range(n)]
    return model(graph([*nodes, node("Sum", [f"v{i}" for i in range(n)], ["y"])], initialisers=given))


def long_captured_name(n):
    """A value with a long name that a graph far within reads."""
    name, inner = "s" * (n * 10), None
    for i in range(16):
        nodes = [node("If", ["c"], [f"o{i}"], attribute("then_branch", inner) + attribute("else_branch", inner)) if inner and i < 3
                 else node("If", ["c"], [f"o{i}"], attribute("then_branch", inner) + attribute("else_branch", graph(
                     [node("Neg", ["x"], [f"e{i}"])], [], [f"e{i}"]))) if inner else node("Neg", [name], [f"o{i}"])]
        inner = graph(nodes, [], [f"o{i}"])
    nodes = [node("Exp", ["x"], [name]), node("If", ["c"], ["y"], attribute("then_branch", inner) + attribute("else_branch", graph(
        [node("Neg", ["x"], ["e"])], [], ["e"])))]
    return model(graph(nodes, ["x", value("c", [], BOOL)]))


def long_function_text(n):
    """A function with a long text, called many times."""
    body = [node("StringNormalizer", ["a"], ["b"], text(5, text(1, "stopwords") + text(9, "t" * (n * 10)) + integer(20, F_STRINGS)))]
    calls = chain_nodes("F", "x", max(n // 10, 1), "y", domain="f")
    return model(graph(calls, [value("x", [1], 8)], [value("y", ["?"], 8)]), [function("F", ["a"], ["b"], body)])


def large_function_constant(n):
    """A function with a large constant, called many times."""
    given = text(5, text(1, "value") + text(5, tensor("", [n], struct.pack(f"<{n}f", *range(n)))) + integer(20, F_TENSOR))
    body = [node("Constant", [], ["c"], given), node("Add", ["a", "c"], ["b"])]
    calls = chain_nodes("F", "x", max(n // 10, 1), "y", domain="f")
    return model(graph(calls, [value("x", [n])], [value("y", [n])]), [function("F", ["a"], ["b"], body)])


def defaults_of_function(n):
    """A function with many attributes that have defaults, called many times."""
    names = b"".join(text(11, text(1, f"a{i}") + integer(3, i) + integer(20, 2)) for i in range(n))
    calls = chain_nodes("F", "x", max(n // 10, 1), "y", domain="f")
    return model(graph(calls), [function("F", ["a"], ["b"], [node("Neg", ["a"], ["b"])], names)])


def loop_outputs(n):
    """A loop that gives many lists."""
    names = [f"r{i}" for i in range(n)]
    body = graph([node("Identity", ["c"], ["d"]), *(node("Neg", ["x"], [each]) for each in names)],
                 [value("i", [], INT64), value("c", [], BOOL)], [value("d", [], BOOL), *names])
    outs = [f"o{i}" for i in range(n)]
    return model(graph([node("Loop", ["m", "t"], outs, attribute("body", body)), node("Sum", outs, ["y"])],
                       ["x", value("m", [], INT64), value("t", [], BOOL)], [value("y", ["?", "?"])]))


def scan_states(n):
    names, results = [f"s{i}" for i in range(n)], [f"r{i}" for i in range(n)]
    body = graph([node("Neg", [a], [b]) for a, b in zip(names, results)] + [node("Neg", ["e"], ["f"])],
                 [*names, value("e", [])], [*results, value("f", [])])
    outs = [f"o{i}" for i in range(n)]
    made = node("Scan", [*["x"] * n, "z"], [*outs, "g"], attribute("body", body) + attribute("num_scan_inputs", 1))
    return model(graph([made, node("Sum", outs, ["y"])], ["x", value("z", [4])]))


def nested_graphs(n, op, around, depth, within):
    """`n` nodes spread over graphs that lie within each other."""
    inner = None
    for i in range(depth):
        nodes = chain_nodes("Neg", f"s{i}", max(n // depth, 1), f"k{i}", prefix=f"p{i}_")
        last = f"k{i}"
        if inner:
            nodes.append(node(op, around(last), [f"o{i}"], attribute("body", inner)))
            last = f"o{i}"
        inner = within(i, nodes, last)
    return model(graph([node(op, around("x"), ["y"], attribute("body", inner))], ["x", value("m", [], INT64), value("t", [], BOOL)]))


def nested_loops(n):
    def within(i, nodes, last):
        return graph([*nodes, node("Identity", [f"c{i}"], [f"d{i}"])],
                     [value(f"i{i}", [], INT64), value(f"c{i}", [], BOOL), value(f"s{i}")], [value(f"d{i}", [], BOOL), value(last)])
    return nested_graphs(n, "Loop", lambda state: ["m", "t", state], 8, within)


def nested_scans(n):
    inner, depth = None, 18
    for i in range(depth):
        nodes = chain_nodes("Neg", f"s{i}", max(n // depth, 1), f"k{i}", prefix=f"p{i}_")
        last = f"k{i}"
        if inner:
            nodes.append(node("Scan", [last, "z"], [f"o{i}", f"q{i}"], attribute("body", inner) + attribute("num_scan_inputs", 1)))
            last = f"o{i}"
        nodes.append(node("Neg", [f"e{i}"], [f"f{i}"]))
        inner = graph(nodes, [value(f"s{i}"), value(f"e{i}", [])], [value(last), value(f"f{i}", [])])
    made = node("Scan", ["x", "z"], ["y", "g"], attribute("body", inner) + attribute("num_scan_inputs", 1))
    return model(graph([made], ["x", value("z", [2])]))


def unrolled_loops(n):
    """Loops of a few turns, which passes may write out."""
    given = [integers("m", [8]), tensor("t", [], b"\1", BOOL)]
    nodes, last = [], "x"
    for i in range(max(n // 10, 1)):
        body = graph([node("Identity", [f"c{i}"], [f"d{i}"]), node("Neg", [f"s{i}"], [f"r{i}"])],
                     [value(f"i{i}", [], INT64), value(f"c{i}", [], BOOL), value(f"s{i}")], [value(f"d{i}", [], BOOL), value(f"r{i}")])
        nodes.append(node("Loop", ["m", "t", last], [f"v{i}"], attribute("body", body)))
        last = f"v{i}"
    return model(graph([*nodes, node("Neg", [last], ["y"])], initialisers=given))


def constant_branches(n):
    """Branches of which one is never taken, each of which reads what many others do."""
    given = [tensor("c", [], b"\1", BOOL)]
    nodes, last = [], "x"
    for i in range(n):
        sides = [graph([node("Add", ["x", last], [f"{op}{i}"])], [], [f"{op}{i}"]) for op in ("t", "e")]
        nodes.append(node("If", ["c"], [f"v{i}"], attribute("then_branch", sides[0]) + attribute("else_branch", sides[1])))
        last = f"v{i}"
    return model(graph([*nodes, node("Neg", [last], ["y"])], initialisers=given))


def sequence(n):
    names = [f"v{i}" for i in range(n)]
    nodes = [*(node("Neg", ["x"], [each]) for each in names), node("SequenceConstruct", names, ["q"]),
             *(node("SequenceAt", ["q", f"i{i}"], [f"w{i}"]) for i in range(n)), node("Sum", [f"w{i}" for i in range(n)], ["y"])]
    given = [tensor(f"i{i}", [], struct.pack("<q", i), INT64) for i in range(n)]
    return model(graph(nodes, initialisers=given))


def sequence_chain(n):
    nodes, last = [node("SequenceConstruct", ["x"], ["q"])], "q"
    for i in range(n):
        nodes.append(node("SequenceInsert", [last, "x"], [f"q{i}"]))
        last = f"q{i}"
    return model(graph([*nodes, node("ConcatFromSequence", [last], ["y"], attribute("axis", 0))], outputs=[value("y", ["?"])]))


def open_concat(n):
    """A size that is the sum of many."""
    names = [f"x{i}" for i in range(n)]
    return model(graph([node("Concat", names, ["y"], attribute("axis", 0))], [value(each, [f"n{each}"]) for each in names], [value("y", ["?"])]))


def doubled_sizes(n):
    names = ["x", *(f"v{i}" for i in range(n - 1)), "y"]
    nodes = [node("Concat", [names[i], names[i]], [names[i + 1]], attribute("axis", 0)) for i in range(n)]
    return model(graph(nodes, [value("x", ["a"])], [value("y", ["?"])]))


def open_reshapes(n):
    """Sizes that are computed of shapes."""
    nodes, last = [], "x"
    for i in range(n):
        nodes += [node("Shape", [last], [f"s{i}"]), node("Reshape", [last, f"s{i}"], [f"r{i}"]), node("Neg", [f"r{i}"], [f"v{i}"])]
        last = f"v{i}"
    return model(graph([*nodes, node("Neg", [last], ["y"])], [value("x", ["a", "b"])], [value("y", ["?", "?"])]))


def transposes_of_one(n):
    """A transpose that many nodes read, each of which passes may move it behind."""
    nodes = [node("Transpose", ["x"], ["t"], attribute("perm", [1, 0]))]
    nodes += [node("Exp" if i % 2 else "Neg", ["t"], [f"e{i}"]) for i in range(n)]
    nodes += [node("Transpose", [f"e{i}"], [f"v{i}"], attribute("perm", [1, 0])) for i in range(n)]
    return model(graph([*nodes, node("Sum", [f"v{i}" for i in range(n)], ["y"])], [value("x", [2, 3])], [value("y", [2, 3])]))


def pads(n):
    names = ["x", *(f"v{i}" for i in range(n - 1)), "y"]
    nodes = [node("Pad", [names[i], "p"], [names[i + 1]]) for i in range(n)]
    return model(graph(nodes, outputs=[value("y", ["?"])], initialisers=[integers("p", [0, 1])]))


def wide_products(n):
    """Products that share one input, which kernels may take together."""
    given = [tensor(f"w{i}", [2, 2], struct.pack("<4f", i, 0, 0, 1)) for i in range(n)]
    nodes = [node("MatMul", ["x", f"w{i}"], [f"v{i}"]) for i in range(n)]
    return model(graph([*nodes, node("Concat", [f"v{i}" for i in range(n)], ["y"], attribute("axis", 0))],
                       [value("x", [2, 2])], [value("y", [2 * n, 2])], given))


def chain_of_joins(n):
    """Each reads all that was before through a concatenation."""
    nodes, last = [], "x"
    for i in range(n):
        nodes += [node("Neg", [last], [f"n{i}"]), node("Concat", [f"n{i}", "x"], [f"c{i}"], attribute("axis", 0)),
                  node("Slice", [f"c{i}", "b", "e"], [f"v{i}"])]
        last = f"v{i}"
    return model(graph([*nodes, node("Neg", [last], ["y"])], initialisers=[integers("b", [0]), integers("e", [1])]))


CASES = [
    constant_split, constant_concat, constant_sums, constants_alike, long_captured_name, long_function_text, large_function_constant,
    defaults_of_function, loop_outputs, scan_states, nested_loops, nested_scans, unrolled_loops, constant_branches, sequence,
    sequence_chain, open_concat, doubled_sizes, open_reshapes, transposes_of_one, pads, wide_products, chain_of_joins,
]  # fmt: skip
