"""Model files of many parts, as somebody sends who means harm: each makes a reader or a build do much work.

They are written field by field as protobuf: the classes of onnx would take longer than the builds. A case is
`name: (suffix, function of the number of parts that gives the file's bytes)`.
"""

import struct

FLOAT, INT64 = 1, 7
F_GRAPH, F_STRING, F_INT, F_INTS = 5, 3, 2, 7


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def integer(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    data = value if isinstance(value, (bytes, bytearray)) else value.encode()
    return varint(field << 3 | 2) + varint(len(data)) + data


# --- ONNX -----------------------------------------------------------------------------------------------------


def node(op, inputs, outputs, attributes=b"", domain="", name=""):
    parts = [text(1, each) for each in inputs] + [text(2, each) for each in outputs] + [text(4, op)]
    if name:
        parts.append(text(3, name))
    if domain:
        parts.append(text(7, domain))
    return b"".join(parts) + attributes


def attribute(name, value):
    """A field 5 of a node: a whole number, a list of these, or a graph's bytes."""
    if isinstance(value, int):
        return text(5, text(1, name) + integer(3, value) + integer(20, F_INT))
    if isinstance(value, list):
        return text(5, text(1, name) + b"".join(integer(8, each) for each in value) + integer(20, F_INTS))
    return text(5, text(1, name) + text(6, value) + integer(20, F_GRAPH))


def value(name, dims=(1,), kind=FLOAT):
    """Dims: numbers, or names of open sizes."""
    shape = b"".join(text(1, integer(1, d) if isinstance(d, int) else text(2, d)) for d in dims)
    return text(1, name) + text(2, text(1, integer(1, kind) + text(2, shape)))


def tensor(name, dims, raw, kind=FLOAT):
    return b"".join(integer(1, d) for d in dims) + integer(2, kind) + text(8, name) + text(9, raw)


def integers(name, values):
    return tensor(name, [len(values)], struct.pack(f"<{len(values)}q", *values), INT64)


def graph(nodes, inputs=("x",), outputs=("y",), initialisers=(), more=b""):
    def infos(field, values):
        return [text(field, each if isinstance(each, bytes) else value(each)) for each in values]

    parts = [text(1, each) for each in nodes] + [text(2, "g")] + [text(5, each) for each in initialisers]
    return b"".join(parts + infos(11, inputs) + infos(12, outputs)) + more


def function(name, inputs, outputs, nodes, more=b""):
    parts = [text(1, name), *(text(4, each) for each in inputs), *(text(5, each) for each in outputs)]
    parts += [text(7, each) for each in nodes]
    return b"".join(parts) + text(9, integer(2, 17)) + text(9, text(1, "f") + integer(2, 1)) + text(10, "f") + more


def model(body, functions=(), more=b""):
    opsets = text(8, integer(2, 17)) + text(8, text(1, "f") + integer(2, 1))
    return integer(1, 8) + text(7, body) + opsets + b"".join(text(25, each) for each in functions) + more


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


def fan_out(n):
    """One value read by many nodes that are the same."""
    names = [f"v{i}" for i in range(n)]
    nodes = [node("Neg", ["x"], [each]) for each in names]
    return model(graph([*nodes, node("Sum", names, ["y"])]))


def identities(n):
    names = [f"v{i}" for i in range(n)]
    nodes = [node("Identity", ["x"], [each]) for each in names]
    return model(graph([*nodes, node("Sum", names, ["y"])]))


def chain_of_identities(n):
    return model(graph(chain_nodes("Identity", "x", n, "y")))


def dead_nodes(n):
    return model(graph([*chain_nodes("Neg", "x", n, "z"), node("Neg", ["x"], ["y"])]))


def chain_of_casts(n):
    nodes, last = [], "x"
    for i in range(n):
        name = "y" if i + 1 == n else f"v{i}"
        nodes.append(node("Cast", [last], [name], attribute("to", FLOAT if i % 2 else 11)))
        last = name
    return model(graph(nodes))


def chain_of_transposes(n):
    nodes = chain_nodes("Transpose", "x", n, "y", attributes=attribute("perm", [1, 0, 2]))
    return model(graph(nodes, [value("x", [2, 3, 4])], [value("y", ["?"] * 3)]))


def chain_of_reshapes(n):
    names = ["x", *(f"v{i}" for i in range(n - 1)), "y"]
    nodes = [node("Reshape", [names[i], f"s{i % 2}"], [names[i + 1]]) for i in range(n)]
    shapes = [integers("s0", [6, 4]), integers("s1", [4, 6])]
    return model(graph(nodes, [value("x", [4, 6])], [value("y", ["?", "?"])], shapes))


def chain_of_shapes(n):
    """Sizes that are computed of sizes."""
    nodes, last = [node("Shape", ["x"], ["v0"])], "v0"
    for i in range(n):
        nodes.append(node("Add", [last, last], [f"v{i + 1}"]))
        last = f"v{i + 1}"
    nodes.append(node("Identity", [last], ["y"]))
    return model(graph(nodes, [value("x", ["a"])], [value("y", [1], INT64)]))


def constant_chain(n):
    """All of it can be computed while the model is built."""
    given = [tensor("c", [1], struct.pack("<f", 1))]
    return model(graph([*chain_nodes("Neg", "c", n, "v", prefix="w"), node("Add", ["x", "v"], ["y"])], initialisers=given))


def chain_of_concats(n):
    names = ["x", *(f"v{i}" for i in range(n - 1)), "y"]
    nodes = [node("Concat", [names[i], "x"], [names[i + 1]], attribute("axis", 0)) for i in range(n)]
    return model(graph(nodes, outputs=[value("y", ["?"])]))


def chain_of_convolutions(n):
    given = [tensor("w", [1, 1, 1, 1], struct.pack("<f", 1))]
    names = ["x", *(f"v{i}" for i in range(n - 1)), "y"]
    nodes = [node("Conv", [names[i], "w"], [names[i + 1]]) for i in range(n)]
    return model(graph(nodes, [value("x", [1, 1, 2, 2])], [value("y", ["?"] * 4)], given))


def chain_of_products(n):
    given = [tensor("w", [2, 2], struct.pack("<4f", 1, 0, 0, 1))]
    names = ["x", *(f"v{i}" for i in range(n - 1)), "y"]
    nodes = [node("MatMul", [names[i], "w"], [names[i + 1]]) for i in range(n)]
    return model(graph(nodes, [value("x", [2, 2])], [value("y", [2, 2])], given))


def chain_behind_a_product(n):
    given = [tensor("w", [2, 2], struct.pack("<4f", 1, 0, 0, 1))]
    nodes = [node("MatMul", ["x", "w"], ["p"]), *chain_nodes("Neg", "p", n, "y")]
    return model(graph(nodes, [value("x", [2, 2])], [value("y", [2, 2])], given))


def products_and_chains(n):
    given = [tensor("w", [2, 2], struct.pack("<4f", 1, 0, 0, 1))]
    ops = ["MatMul", "Neg", "Exp", "Relu"]
    names = ["x", *(f"v{i}" for i in range(n - 1)), "y"]
    nodes = [node(ops[i % 4], [names[i], *(["w"] if i % 4 == 0 else [])], [names[i + 1]]) for i in range(n)]
    return model(graph(nodes, [value("x", [2, 2])], [value("y", [2, 2])], given))


def branches(n):
    """Subgraphs side by side."""
    nodes = []
    for i in range(n):
        inner = [graph([node(op, ["x"], [f"{op}{i}"])], [], [f"{op}{i}"]) for op in ("Neg", "Exp")]
        nodes.append(node("If", ["c"], [f"v{i}"], attribute("then_branch", inner[0]) + attribute("else_branch", inner[1])))
    return model(graph([*nodes, node("Sum", [f"v{i}" for i in range(n)], ["y"])], ["x", value("c", [], 9)]))


def captures(n):
    """A subgraph that reads many values of the graph around it."""
    names = [f"v{i}" for i in range(n)]
    inner = [graph([node("Sum", names, [out])], [], [out]) for out in ("t", "e")]
    nodes = [node("Neg", ["x" if i == 0 else f"v{i - 1}"], [f"v{i}"]) for i in range(n)]
    nodes.append(node("If", ["c"], ["y"], attribute("then_branch", inner[0]) + attribute("else_branch", inner[1])))
    return model(graph(nodes, ["x", value("c", [], 9)]))


def branch_outputs(n):
    """A node with many outputs and subgraphs that give them."""
    def side(op):
        names = [f"{op}{i}" for i in range(n)]
        return graph([node(op, ["x"], [each]) for each in names], [], names)

    names = [f"v{i}" for i in range(n)]
    nodes = [node("If", ["c"], names, attribute("then_branch", side("Neg")) + attribute("else_branch", side("Exp"))),
             node("Sum", names, ["y"])]
    return model(graph(nodes, ["x", value("c", [], 9)]))


def loop_states(n):
    names = [f"s{i}" for i in range(n)]
    results = [f"r{i}" for i in range(n)]
    body = graph([node("Identity", ["c"], ["d"]), *(node("Neg", [a], [b]) for a, b in zip(names, results))],
                 [value("i", [], INT64), value("c", [], 9), *names], [value("d", [], 9), *results])
    outs = [f"o{i}" for i in range(n)]
    return model(graph([node("Loop", ["m", "t", *["x"] * n], outs, attribute("body", body)), node("Sum", outs, ["y"])],
                       ["x", value("m", [], INT64), value("t", [], 9)]))


def nested(n):
    """Subgraphs within each other, as deep as may be, each reading a value of the outermost graph `n` times."""
    inner, depth = None, 12
    for i in range(depth):
        nodes = [node("Neg", ["x"], [f"k{i}_{j}"]) for j in range(n // depth)]
        if inner:
            nodes.append(node("If", ["c"], [f"o{i}"], attribute("then_branch", inner) + attribute("else_branch", graph(
                [node("Neg", ["x"], [f"e{i}"])], [], [f"e{i}"]))))
        else:
            nodes.append(node("Neg", ["x"], [f"o{i}"]))
        inner = graph(nodes, [], [f"o{i}"])
    nodes = [node("If", ["c"], ["y"], attribute("then_branch", inner) + attribute("else_branch", graph(
        [node("Neg", ["x"], ["e"])], [], ["e"])))]
    return model(graph(nodes, ["x", value("c", [], 9)]))


def elements(n):
    """A list of 10 n numbers, each of which is a byte in the file."""
    given = integers("c", [1]) if n == 0 else b"".join([integer(1, 10 * n), integer(2, INT64), text(8, "c"), text(7, b"\1" * (10 * n))])
    return model(graph([node("Gather", ["c", "i"], ["y"])], [value("i", [1], INT64)], [value("y", [1], INT64)], [given]))


def strings(n):
    given = integer(1, n) + integer(2, 8) + text(8, "c") + text(6, "") * n
    return model(graph([node("Gather", ["c", "i"], ["y"])], [value("i", [1], INT64)], [value("y", [1], 8)], [given]))


# --- TensorFlow -----------------------------------------------------------------------------------------------


def tf_node(name, op, inputs=(), **attributes):
    parts = [text(1, name), text(2, op), *(text(3, each) for each in inputs)]
    parts += [text(5, text(1, key) + text(2, data)) for key, data in {"T": integer(6, 1), **attributes}.items()]
    return b"".join(parts)


def tf_placeholder(name, dims=(1,)):
    shape = b"".join(text(2, integer(1, d)) for d in dims)
    return tf_node(name, "Placeholder", dtype=integer(6, 1), shape=text(7, shape))


def tf_graph(nodes, functions=()):
    library = text(2, b"".join(text(1, each) for each in functions)) if functions else b""
    return b"".join(text(1, each) for each in nodes) + library + text(4, integer(1, 1000))


def tf_function(name, nodes, result):
    signature = text(1, name) + text(2, text(1, "a") + integer(3, 1)) + text(3, text(1, "b") + integer(3, 1))
    return text(1, signature) + b"".join(text(3, each) for each in nodes) + text(4, text(1, "b") + text(2, result))


def tf_chain_nodes(first, count, separator=""):
    nodes, last = [], first
    for i in range(count):
        nodes.append(tf_node(f"v{i}", "Neg", [last]))
        last = f"v{i}{separator}"
    return nodes, last


def tf_chain(n):
    return tf_graph([tf_placeholder("x"), *tf_chain_nodes("x", n)[0]])


def tf_results(n):
    return tf_graph([tf_placeholder("x"), *(tf_node(f"v{i}", "Neg", ["x"]) for i in range(n))])


def tf_inputs(n):
    names = [f"x{i}" for i in range(n)]
    return tf_graph([*(tf_placeholder(each) for each in names), tf_node("y", "AddN", names, N=integer(3, n))])


def tf_recursive(n):
    nodes, last = tf_chain_nodes("first:b:0", n, ":y:0")
    body = tf_function("F", [tf_node("first", "F", ["a"]), *nodes], last)
    return tf_graph([tf_placeholder("x"), tf_node("y", "F", ["x"])], [body])


def tf_doubling(n):
    depth, functions = 24, []
    for i in range(depth):
        if i + 1 == depth:
            nodes, last = tf_chain_nodes("a", max(n // 30, 1), ":y:0")
        else:
            nodes, last = [tf_node("m", f"F{i + 1}", ["a"]), tf_node("o", f"F{i + 1}", ["m:b:0"])], "o:b:0"
        functions.append(tf_function(f"F{i}", nodes, last))
    return tf_graph([tf_placeholder("x"), tf_node("y", "F0", ["x"])], functions)


def tf_long_names(n):
    """A node with a long name of which a late result is read: it has as many names."""
    name = "s" * (n * 10)
    return tf_graph([tf_placeholder("x"), tf_node(name, "Split", ["a", "x"], num_split=integer(3, 60000)),
                     tf_node("a", "Const", dtype=integer(6, 3), value=text(8, integer(1, 3) + text(2, b"") + integer(7, 0))),
                     tf_node("y", "Neg", [f"{name}:59999"])])


def tf_late_results(n):
    """A function with many results, each read by name."""
    signature = text(1, "F") + text(2, text(1, "a") + integer(3, 1)) + b"".join(text(3, text(1, f"r{i}") + integer(3, 1)) for i in range(n))
    body = text(1, signature) + text(3, tf_node("v", "Neg", ["a"])) + b"".join(text(4, text(1, f"r{i}") + text(2, "v:y:0")) for i in range(n))
    outer = tf_function("G", [tf_node("f", "F", ["a"]), tf_node("s", "AddN", [f"f:r{i}:0" for i in range(n)], N=integer(3, n))], "s:sum:0")
    return tf_graph([tf_placeholder("x"), tf_node("y", "G", ["x"])], [body, outer])


def tf_constants(n):
    def constant(i):
        record = integer(1, 1) + text(2, text(2, integer(1, 1))) + text(4, struct.pack("<f", i))
        return tf_node(f"c{i}", "Const", dtype=integer(6, 1), value=text(8, record))

    names = [f"c{i}" for i in range(n)]
    return tf_graph([tf_placeholder("x"), *(constant(i) for i in range(n)),
                     tf_node("y", "AddN", ["x", *names], N=integer(3, n + 1))])


# --- Caffe ----------------------------------------------------------------------------------------------------


def caffe_net(layers, names=("x",), dims=(1, 1, 1, 1)):
    heads = [text(3, each) + text(8, b"".join(integer(1, d) for d in dims)) for each in names]
    return text(1, "net") + b"".join(heads) + b"".join(text(100, each) for each in layers)


def caffe_layer(name, kind, bottoms, tops):
    return text(1, name) + text(2, kind) + b"".join(text(3, each) for each in bottoms) + b"".join(text(4, each) for each in tops)


def caffe_chain(n):
    names = ["x", *(f"v{i}" for i in range(n))]
    return caffe_net([caffe_layer(f"l{i}", "AbsVal", [names[i]], [names[i + 1]]) for i in range(n)])


def caffe_in_place(n):
    return caffe_net([caffe_layer("a", "AbsVal", ["x"], ["v"]), *(caffe_layer(f"l{i}", "AbsVal", ["v"], ["v"]) for i in range(n))])


def caffe_outputs(n):
    return caffe_net([caffe_layer(f"l{i}", "AbsVal", ["x"], [f"v{i}"]) for i in range(n)])


def caffe_inputs(n):
    names = [f"x{i}" for i in range(n)]
    return caffe_net([caffe_layer("sum", "Eltwise", names, ["y"])], names)


def caffe_split(n):
    return caffe_net([caffe_layer("split", "Split", ["x"], [f"v{i}" for i in range(n)])])


def caffe_text(n):
    head = 'name: "net" input: "x" input_shape { dim: 1 dim: 1 dim: 1 dim: 1 }\n'
    names = ["x", *(f"v{i}" for i in range(n))]
    return (head + "".join(f'layer {{ name: "l{i}" type: "AbsVal" bottom: "{names[i]}" top: "{names[i + 1]}" }}\n'
                           for i in range(n))).encode()


ONNX = [shared_attribute, distinct_reals, concats_of_one, concats_alike, joined_splits, decided_weights,
        unused_captures, chain_behind_a_product, products_and_chains, chain, chain_open, chain_backwards, chain_of_functions, recursive, recursive_in_branch, mutual, doubling,
        doubling_of_nothing, unused_functions, function_of_many_attributes, outputs, outputs_of_one, inputs, inputs_read,
        inputs_open, initialisers, initialisers_read, initialisers_added, value_infos, attributes_of_one,
        long_attribute, concat_of_one, sum_of_one, split, split_read, metadata, opsets, dims, colliding_names, fan_out,
        identities, chain_of_identities, dead_nodes, chain_of_casts, chain_of_transposes, chain_of_reshapes,
        chain_of_shapes, constant_chain, chain_of_concats, chain_of_convolutions, chain_of_products, branches,
        captures, branch_outputs, loop_states, nested, elements, strings]
OTHERS = [tf_chain, tf_results, tf_inputs, tf_recursive, tf_doubling, tf_long_names, tf_late_results,
          tf_constants, caffe_chain, caffe_in_place,
          caffe_outputs, caffe_inputs, caffe_split, caffe_text]
CASES = {make.__name__: make for make in [*ONNX, *OTHERS]}
