"""Models of TensorFlow and Caffe with many parts. Each function makes one of `n` parts."""

import struct

from protobuf_records import integer, text


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
    return tf_graph([tf_placeholder("x", (60000,)), tf_node(name, "Split", ["a", "x"], num_split=integer(3, 60000)),
                     tf_node("a", "Const", dtype=integer(6, 3), value=text(8, integer(1, 3) + text(2, b"") + integer(7, 0))),
                     tf_node("y", "Neg", [f"{name}:59999"])])


def tf_long_answers(n):
    """A node with a long name and many results that nothing reads."""
    return tf_graph([tf_placeholder("x", (60000,)), tf_node("s" * (n * 10), "Split", ["a", "x"], num_split=integer(3, 60000)),
                     tf_node("a", "Const", dtype=integer(6, 3), value=text(8, integer(1, 3) + text(2, b"") + integer(7, 0)))])


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


def caffe_concat(n):
    names = [f"v{i}" for i in range(n)]
    return caffe_net([*(caffe_layer(f"l{i}", "AbsVal", ["x"], [each]) for i, each in enumerate(names)),
                      caffe_layer("c", "Concat", names, ["y"])])


def caffe_slice(n):
    """One value that is cut into many."""
    points = b"".join(integer(2, i) for i in range(1, n))
    cut = caffe_layer("s", "Slice", ["x"], [f"v{i}" for i in range(n)]) + text(135, integer(3, 1) + points)
    return caffe_net([cut], dims=(1, n, 1, 1))


def caffe_text(n):
    head = 'name: "net" input: "x" input_shape { dim: 1 dim: 1 dim: 1 dim: 1 }\n'
    names = ["x", *(f"v{i}" for i in range(n))]
    return (head + "".join(f'layer {{ name: "l{i}" type: "AbsVal" bottom: "{names[i]}" top: "{names[i + 1]}" }}\n'
                           for i in range(n))).encode()


CASES = [
    tf_chain, tf_results, tf_inputs, tf_recursive, tf_doubling, tf_long_names, tf_long_answers, tf_late_results, tf_constants, caffe_chain, caffe_in_place,
    caffe_outputs, caffe_inputs, caffe_split, caffe_concat, caffe_slice, caffe_text,
]  # fmt: skip
