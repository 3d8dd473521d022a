"""ONNX models of which passes and lowering may make much work: chains, branches, loops. Each function makes one of `n` parts."""

import struct

from large_graphs import chain_nodes
from protobuf_records import FLOAT, INT64, attribute, graph, integer, integers, model, node, tensor, text, value


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


CASES = [
    chain_behind_a_product, products_and_chains, fan_out, identities, chain_of_identities, dead_nodes, chain_of_casts, chain_of_transposes,
    chain_of_reshapes, chain_of_shapes, constant_chain, chain_of_concats, chain_of_convolutions, chain_of_products, branches, captures,
    branch_outputs, loop_states, nested, elements, strings,
]  # fmt: skip
