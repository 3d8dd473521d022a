"""ONNX models with many of something: functions, attributes, inputs, outputs, initialisers. Each function makes one of `n` parts."""

import struct

from protobuf_records import F_INTS, attribute, function, graph, integer, model, node, tensor, text, value, varint


def chain_nodes(op, first, count, last, prefix="v", **options):
    names = [first, *(f"{prefix}{i}" for i in range(count - 1)), last]
    return [node(op, [names[i]], [names[i + 1]], **options) for i in range(count)]


def chain(n):
    return model(graph(chain_nodes("Neg", "x", n, "y")))


def chain_open(n):
    return model(graph(chain_nodes("Neg", "x", n, "y"), [value("x", ["a", "b", 3])], [value("y", ["a", "b", 3])]))


def chain_backwards(n):
    return model(graph(chain_nodes("Neg", "x", n, "y")[::-1]))


def chain_of_functions(n):
    """Each node calls a function of one node."""
    return model(graph(chain_nodes("F", "x", n, "y", domain="f")), [function("F", ["a"], ["b"], [node("Neg", ["a"], ["b"])])])


def recursive(n):
    """A function that calls itself first."""
    body = [node("F", ["a"], ["v"], domain="f"), *chain_nodes("Neg", "v", n, "b", prefix="w")]
    return model(graph([node("F", ["x"], ["y"], domain="f")]), [function("F", ["a"], ["b"], body)])


def recursive_in_branch(n):
    """A function that calls itself in a subgraph of its first node."""
    inner = graph([node("F", ["a"], ["t"], domain="f")], [], ["t"])
    body = [
        node("ReduceMax", ["a"], ["m"], attribute("keepdims", 0)),
        node("Cast", ["m"], ["c"], attribute("to", 9)),
        node("If", ["c"], ["v"], attribute("then_branch", inner) + attribute("else_branch", inner)),
        *chain_nodes("Neg", "v", n, "b", prefix="w"),
    ]
    return model(graph([node("F", ["x"], ["y"], domain="f")]), [function("F", ["a"], ["b"], body)])


def mutual(n):
    functions = []
    for name, other in (("F", "G"), ("G", "F")):
        body = [node(other, ["a"], ["v"], domain="f"), *chain_nodes("Neg", "v", n // 2, "b", prefix="w")]
        functions.append(function(name, ["a"], ["b"], body))
    return model(graph([node("F", ["x"], ["y"], domain="f")]), functions)


def doubling(n):
    """Functions that call the next one twice: 2^24 nodes of a few hundred bytes; each brings `n` / 30 nodes."""
    depth, functions = 24, []
    for i in range(depth):
        last = i + 1 == depth
        calls = [node("Neg", ["a"], ["b"])] if last else [
            node(f"F{i + 1}", ["a"], ["m"], domain="f"), node(f"F{i + 1}", ["m"], ["b"], domain="f")]
        rest = [node("Neg", ["a"], [f"r{k}"]) for k in range(n // 30)] if last else []
        functions.append(function(f"F{i}", ["a"], ["b"], [*rest, *calls]))
    return model(graph([node("F0", ["x"], ["y"], domain="f")]), functions)


def doubling_of_nothing(n):
    """The same of functions without nodes: what is left are the calls, each with `n` / 30 parameters."""
    depth, functions = 24, []
    names = [f"p{k}" for k in range(n // 30)]
    for i in range(depth):
        last = i + 1 == depth
        calls = [] if last else [
            node(f"F{i + 1}", ["a", *names], ["m"], domain="f"), node(f"F{i + 1}", ["m", *names], ["b"], domain="f")]
        functions.append(function(f"F{i}", ["a", *names], ["a" if last else "b"], calls))
    return model(graph([node("F0", ["x", *["x"] * len(names)], ["y"], domain="f")]), functions)


def unused_functions(n):
    functions = [function(f"F{i}", ["a"], ["b"], [node("Neg", ["a"], ["b"])]) for i in range(n)]
    return model(graph([node("Neg", ["x"], ["y"])]), functions)


def function_of_many_attributes(n):
    """Each node of a function takes an attribute of the caller's, which has `n` of these."""
    given = b"".join(attribute(f"a{i}", i) for i in range(n))
    body = chain_nodes("Neg", "a", max(n // 10, 1), "b")
    names = b"".join(text(6, f"a{i}") for i in range(n))
    return model(graph([node("F", ["x"], ["y"], given, domain="f")]), [function("F", ["a"], ["b"], body, names)])


def shared_attribute(n):
    """A list of the caller's, which every node of a function's body takes."""
    nodes = chain_nodes("Transpose", "a", 2000, "b", attributes=text(5, text(1, "perm") + text(21, "p") + integer(20, F_INTS)))
    call = node("F", ["x"], ["y"], attribute("p", [0] * n), domain="f")
    return model(graph([call]), [function("F", ["a"], ["b"], nodes, text(6, "p"))])


def distinct_reals(n):
    """Nodes that differ in a real attribute alone."""
    nodes = [node("LeakyRelu", ["x"], [f"v{i}"], text(5, text(1, "alpha") + varint(2 << 3 | 5) + struct.pack("<f", i) + integer(20, 1)))
             for i in range(n)]
    return model(graph([*nodes, node("Sum", [f"v{i}" for i in range(n)], ["y"])]))


def concats_of_one(n):
    """One value read by many concatenations."""
    nodes = [node("Concat", ["x", f"v{i}"], [f"w{i}"], attribute("axis", 0)) for i in range(n)]
    first = [node("Exp" if i % 2 else "Neg", ["x"], [f"v{i}"]) for i in range(n)]
    return model(graph([*first, *nodes, node("Sum", [f"w{i}" for i in range(n)], ["y"])], outputs=[value("y", [2])]))


def concats_alike(n):
    """Two concatenations that begin with the same many parts."""
    names = [f"v{i}" for i in range(n)]
    first = chain_nodes("Neg", "x", n, names[-1], prefix="v")
    nodes = [node("Concat", [*names, end], [f"w{end}"], attribute("axis", 0)) for end in ("x", "v0")]
    return model(graph([*first, *nodes, node("Add", ["wx", "wv0"], ["y"])], outputs=[value("y", [n + 1])]))


def joined_splits(n):
    """A concatenation of all parts of many splits."""
    nodes, parts = [], []
    for i in range(n // 2):
        nodes.append(node("Neg", ["x" if i == 0 else f"b{i - 1}"], [f"b{i}"]))
        nodes.append(node("Split", [f"b{i}"], [f"p{i}", f"q{i}"], attribute("axis", 0)))
        parts += [f"p{i}", f"q{i}"]
    return model(graph([*nodes, node("Concat", parts, ["y"], attribute("axis", 0))], [value("x", [2])], [value("y", [n // 2 * 2])]))


def decided_weights(n):
    """Many weights whose values decide what is built."""
    given = [tensor(f"w{i}", [1], struct.pack("<f", 0)) for i in range(n)]
    names = ["x", *(f"v{i}" for i in range(n - 1)), "y"]
    nodes = [node("Clip", [names[i], f"w{i}"], [names[i + 1]]) for i in range(n)]
    return model(graph(nodes, initialisers=given))


def unused_captures(n):
    """A subgraph that reads many values for nodes that nothing reads."""
    names = [f"v{i}" for i in range(n)]
    def side(op):
        inner = [node(op, [each], [f"{op}{each}"]) for each in names]
        return graph([*inner, node("Sum", [f"{op}{each}" for each in names[::2]], [op])], [], [op])
    nodes = chain_nodes("Neg", "x", n, names[-1], prefix="v")
    nodes.append(node("If", ["c"], ["y"], attribute("then_branch", side("Neg")) + attribute("else_branch", side("Exp"))))
    return model(graph(nodes, ["x", value("c", [], 9)]))


def outputs(n):
    names = [f"y{i}" for i in range(n)]
    return model(graph([node("Neg", ["x"], [each]) for each in names], ["x"], names))


def outputs_of_one(n):
    """One value under many names."""
    names = [f"y{i}" for i in range(n)]
    return model(graph([node("Identity", ["x"], [each]) for each in names], ["x"], names))


def inputs(n):
    names = [f"x{i}" for i in range(n)]
    return model(graph([node("Neg", ["x0"], ["y"])], names))


def inputs_read(n):
    names = [f"x{i}" for i in range(n)]
    return model(graph([node("Sum", names, ["y"])], names))


def inputs_open(n):
    """Sizes of names of their own."""
    names = [f"x{i}" for i in range(n)]
    return model(graph([node("Neg", ["x0"], ["y"])], [value(each, [f"n_{each}"]) for each in names], [value("y", ["?"])]))


def initialisers(n):
    given = [tensor(f"c{i}", [1], struct.pack("<f", i)) for i in range(n)]
    return model(graph([node("Neg", ["x"], ["y"])], initialisers=given))


def initialisers_read(n):
    given = [tensor(f"c{i}", [1], struct.pack("<f", i)) for i in range(n)]
    return model(graph([node("Concat", ["x", *(f"c{i}" for i in range(n))], ["y"], attribute("axis", 0))],
                       outputs=[value("y", ["?"])], initialisers=given))


def initialisers_added(n):
    """A constant for each node of a chain."""
    given = [tensor(f"c{i}", [1], struct.pack("<f", i)) for i in range(n)]
    names = ["x", *(f"v{i}" for i in range(n - 1)), "y"]
    nodes = [node("Add", [names[i], f"c{i}"], [names[i + 1]]) for i in range(n)]
    return model(graph(nodes, initialisers=given))


def value_infos(n):
    more = b"".join(text(13, value(f"z{i}")) for i in range(n))
    return model(graph([node("Neg", ["x"], ["y"])], more=more))


def attributes_of_one(n):
    return model(graph([node("Neg", ["x"], ["y"], b"".join(attribute(f"a{i}", i) for i in range(n)))]))


def long_attribute(n):
    return model(graph([node("Transpose", ["x"], ["y"], attribute("perm", [0] * n))]))


def concat_of_one(n):
    return model(graph([node("Concat", ["x"] * n, ["y"], attribute("axis", 0))], outputs=[value("y", [n])]))


def sum_of_one(n):
    return model(graph([node("Sum", ["x"] * n, ["y"])]))


def split(n):
    return model(graph([node("Split", ["x"], [f"s{i}" for i in range(n)], attribute("axis", 0)),
                        node("Neg", ["s0"], ["y"])], [value("x", [n])]))


def split_read(n):
    names = [f"s{i}" for i in range(n)]
    return model(graph([node("Split", ["x"], names, attribute("axis", 0)),
                        node("Concat", names[::-1], ["y"], attribute("axis", 0))], [value("x", [n])], [value("y", [n])]))


def metadata(n):
    more = b"".join(text(14, text(1, f"key{i}") + text(2, "v")) for i in range(n))
    return model(graph([node("Neg", ["x"], ["y"])]), more=more)


def opsets(n):
    more = b"".join(text(8, text(1, f"domain{i}") + integer(2, 1)) for i in range(n))
    return model(graph([node("Neg", ["x"], ["y"])]), more=more)


def dims(n):
    return model(graph([node("Neg", ["x"], ["y"])], [value("x", [1] * n)], [value("y", [1] * n)]))


def colliding_names(n):
    """Names that differ in the file and are one when they are made fit for a graph."""
    marks = "./-:+*?!#~"

    def name(i):
        digits = []
        while i:
            digits.append(marks[i % 10])
            i //= 10
        return "v" + "".join(digits)

    names = ["x", *(name(i) for i in range(1, n)), "y"]
    return model(graph([node("Neg", [names[i]], [names[i + 1]]) for i in range(len(names) - 1)]))


CASES = [
    shared_attribute, distinct_reals, concats_of_one, concats_alike, joined_splits, decided_weights, unused_captures, chain, chain_open,
    chain_backwards, chain_of_functions, recursive, recursive_in_branch, mutual, doubling, doubling_of_nothing, unused_functions,
    function_of_many_attributes, outputs, outputs_of_one, inputs, inputs_read, inputs_open, initialisers, initialisers_read,
    initialisers_added, value_infos, attributes_of_one, long_attribute, concat_of_one, sum_of_one, split, split_read, metadata, opsets,
    dims, colliding_names,
]  # fmt: skip
