"""Small ONNX models that ask for much when they run: what they are given decides how much. CASES maps a name to a function that
makes the model's bytes and its inputs; `n` is how much it asks for, which is about a number of elements."""

import struct

import numpy as np

from protobuf_records import FLOAT, INT64, attribute, graph, integer, model, node, tensor, text, value, varint

BOOL, STRING = 9, 8
TENSOR = 4


def size(*sizes):
    return np.array(sizes, np.int64)


def strings(*texts):
    return np.array(texts, dtype=object)


def real_attribute(name, number):
    return text(5, text(1, name) + varint(2 << 3 | 5) + struct.pack("<f", number) + integer(20, 1))


def text_attribute(name, words):
    return text(5, text(1, name) + text(4, words) + integer(20, 3))


def one(op, names, inputs, attributes=b"", outputs=("y",), kind=FLOAT, rank=1, kinds=None, opset=17):
    """A node with these inputs, whose sizes are open; `names` holds the ranks of inputs by name."""
    kinds = kinds or {}
    infos = [value(name, [f"{name}{d}" for d in range(ranked)], kinds.get(name, FLOAT)) for name, ranked in names.items()]
    outs = [value(each, ["?"] * rank, kind) for each in outputs]
    return model(graph([node(op, list(names), list(outputs), attributes)], infos, outs), opset=opset), inputs


def expand(n):
    return one("Expand", {"x": 1, "s": 1}, {"x": np.ones(1, np.float32), "s": size(n)}, kinds={"s": INT64})


def expand_strings(n):
    return one("Expand", {"x": 1, "s": 1}, {"x": strings("t" * 64), "s": size(n)}, kinds={"x": STRING, "s": INT64}, kind=STRING)


def tile(n):
    return one("Tile", {"x": 1, "r": 1}, {"x": np.ones(2, np.float32), "r": size(n)}, kinds={"r": INT64})


def tile_strings(n):
    return one("Tile", {"x": 1, "r": 1}, {"x": strings("t" * 64), "r": size(n)}, kinds={"x": STRING, "r": INT64}, kind=STRING)


def range_of(n):
    inputs = {"a": np.array(0, np.int64), "b": np.array(n, np.int64), "c": np.array(1, np.int64)}
    return one("Range", {"a": 0, "b": 0, "c": 0}, inputs, kinds=dict.fromkeys("abc", INT64), kind=INT64)


def pad(n):
    return one("Pad", {"x": 1, "p": 1}, {"x": np.ones(1, np.float32), "p": size(0, n)}, kinds={"p": INT64})


def constant_of_shape(n):
    return one("ConstantOfShape", {"s": 1}, {"s": size(n)}, kinds={"s": INT64})


def one_hot(n):
    inputs = {"i": size(*range(64)), "d": np.array(n // 64, np.int64), "v": np.array([0, 1], np.float32)}
    return one("OneHot", {"i": 1, "d": 0, "v": 1}, inputs, kinds={"i": INT64, "d": INT64}, rank=2)


def non_zero(n):
    x = np.ones((1, 1, 1, 1, 1, 1, 1, n // 64), np.float32)
    return one("NonZero", {"x": 8}, {"x": x}, kind=INT64, rank=2)


def resize(n):
    side = int(n**0.5)
    made = model(graph([node("Resize", ["x", "", "", "s"], ["y"], text_attribute("mode", "cubic"))],
                       [value("x", [1, 1, 2, 2]), value("s", [4], INT64)], [value("y", [1, 1, "?", "?"])]))
    return made, {"x": np.ones((1, 1, 2, 2), np.float32), "s": size(1, 1, side, side)}


def unique(n):
    return one("Unique", {"x": 1}, {"x": np.arange(n // 8, dtype=np.float32)}, kind=FLOAT)


def unique_strings(n):
    return one("Unique", {"x": 1}, {"x": np.array([f"{i:032}" for i in range(n // 256)], dtype=object)}, kinds={"x": STRING}, kind=STRING)


def concatenated_strings(n):
    """Each text behind each."""
    count = int((n / 16) ** 0.5)
    x, y = np.array([["t" * 64]] * count, dtype=object), np.array([["u" * 64] * count], dtype=object)
    return one("StringConcat", {"x": 2, "z": 2}, {"x": x, "z": y}, kinds=dict.fromkeys("xz", STRING), kind=STRING, rank=2, opset=20)


def split_strings(n):
    """One long text makes all rows as wide as its words are many."""
    count = int((n / 4) ** 0.5)
    x = np.array([" ".join("a" * (count // 2)), *["b"] * count], dtype=object)
    return one("StringSplit", {"x": 1}, {"x": x}, outputs=("y", "z"), kinds={"x": STRING}, kind=STRING, rank=2, opset=20)


def full_match(n):
    """A pattern that naive search takes for ever for."""
    return one("RegexFullMatch", {"x": 1}, {"x": strings("a" * (n // 1000))}, text_attribute("pattern", "(a*)*(a|aa)*(a*a*a*a*)*b"),
               kinds={"x": STRING}, kind=BOOL, opset=20)


def outer_product(n):
    count = int(n**0.25)
    x = np.ones((count, count), np.float32)
    return one("Einsum", {"a": 2, "b": 2}, {"a": x, "b": x}, text_attribute("equation", "ab,cd->abcd"), rank=4)


def einsum_of_many(n):
    """Sums over indices that no two operands share."""
    count = max(int(n ** (1 / 6)), 2)
    names = {each: 2 for each in "abc"}
    return one("Einsum", names, dict.fromkeys(names, np.ones((count, count), np.float32)), text_attribute("equation", "ij,kl,mn->"), rank=0)


def broadcast(n):
    count = int(n**0.5)
    return one("Add", {"x": 2, "z": 2}, {"x": np.ones((count, 1), np.float32), "z": np.ones((1, count), np.float32)}, rank=2)


def product(n):
    count = int(n**0.5)
    return one("MatMul", {"x": 2, "z": 2}, {"x": np.ones((count, 2), np.float32), "z": np.ones((2, count), np.float32)}, rank=2)


def attention(n):
    """Scores of each with each."""
    count = int(n**0.5)
    x = np.ones((1, 1, count, 4), np.float32)
    infos = [value(name, [1, 1, "t", 4]) for name in "qkv"]
    made = model(graph([
        node("Transpose", ["k"], ["kt"], attribute("perm", [0, 1, 3, 2])), node("MatMul", ["q", "kt"], ["s"]),
        node("Softmax", ["s"], ["p"]), node("MatMul", ["p", "v"], ["y"])], infos, [value("y", [1, 1, "t", 4])]))
    return made, dict.fromkeys("qkv", x)


def suppression(n):
    """Boxes of which none goes: each is held against each."""
    count = int(n**0.5) * 4
    rows = np.arange(count, dtype=np.float32)
    boxes = np.stack([rows, rows * 0, rows + 0.5, rows * 0 + 1], 1)[None]
    nodes = [node("NonMaxSuppression", ["b", "s", "m", "i", "t"], ["y"])]
    infos = [value("b", [1, "n", 4]), value("s", [1, 1, "n"]), value("m", [], INT64), value("i", []), value("t", [])]
    inputs = {"b": boxes, "s": np.ones((1, 1, count), np.float32), "m": np.array(count, np.int64), "i": np.array(1, np.float32), "t": np.array(0, np.float32)}
    return model(graph(nodes, infos, [value("y", ["?", 3], INT64)])), inputs


def top_k(n):
    return one("TopK", {"x": 1, "k": 1}, {"x": np.arange(n // 8, dtype=np.float32), "k": size(n // 8)}, outputs=("y", "z"), kinds={"k": INT64})


def gather(n):
    return one("Gather", {"x": 2, "i": 1}, {"x": np.ones((1, 1024), np.float32), "i": np.zeros(n // 1024, np.int64)}, kinds={"i": INT64}, rank=2)


def roi_align(n):
    count = max(n // (64 * 64), 1)
    inputs = {"x": np.ones((1, 1, 8, 8), np.float32), "r": np.tile(np.array([[0, 0, 8, 8]], np.float32), (count, 1)), "b": np.zeros(count, np.int64)}
    return one("RoiAlign", {"x": 4, "r": 2, "b": 1}, inputs, attribute("output_height", 64) + attribute("output_width", 64) +
               attribute("sampling_ratio", 64), kinds={"b": INT64}, rank=4)


def fourier(n):
    """Of a prime length, which no fast way is known for that takes no more memory."""
    return one("DFT", {"x": 3}, {"x": np.ones((1, 1_000_003 if n > 1 << 22 else 10_007, 1), np.float32)}, rank=3)


def unpooled(n):
    inputs = {"x": np.ones((1, 1, 1), np.float32), "i": np.zeros((1, 1, 1), np.int64), "s": size(1, 1, n)}
    return one("MaxUnpool", {"x": 3, "i": 3, "s": 1}, inputs, attribute("kernel_shape", [1]), kinds={"i": INT64, "s": INT64}, rank=3)


def loop(body_nodes, turns, states, results, given, infos):
    """A loop that turns `turns` times; `states` are (name in, name out, type)."""
    body = graph([node("Identity", ["on"], ["go"]), *body_nodes], [value("i", [], INT64), value("on", [], BOOL), *[s[2] for s in states]],
                 [value("go", [], BOOL), *results])
    outs = [f"o{k}" for k in range(len(results))]
    made = node("Loop", ["m", "t", *[s[0] for s in states]], outs, attribute("body", body))
    return made, {"m": np.array(turns, np.int64), "t": np.array(True), **given}, [value("m", [], INT64), value("t", [], BOOL), *infos], outs


def doubling_loop(n):
    """A state that is twice as long after each turn."""
    made, inputs, infos, outs = loop([node("Concat", ["s", "s"], ["r"], attribute("axis", 0))], 60,
                                     [("x", "r", value("s", ["k"]))], [value("r", ["j"])], {"x": np.ones(1, np.float32)}, [value("x", ["l"])])
    return model(graph([made], infos, [value(outs[0], ["?"])])), inputs


def doubling_texts(n):
    made, inputs, infos, outs = loop([node("StringConcat", ["s", "s"], ["r"])], 60, [("x", "r", value("s", [1], STRING))],
                                     [value("r", [1], STRING)], {"x": strings("a")}, [value("x", [1], STRING)])
    return model(graph([made], infos, [value(outs[0], [1], STRING)]), opset=20), inputs


def endless_loop(n):
    made, inputs, infos, outs = loop([node("Neg", ["s"], ["r"])], 1 << 40, [("x", "r", value("s", [1]))], [value("r", [1])],
                                     {"x": np.ones(1, np.float32)}, [value("x", [1])])
    return model(graph([made], infos, [value(outs[0], [1])])), inputs


def stacked_loop(n):
    """What each turn gives is kept."""
    made, inputs, infos, outs = loop([node("Identity", ["x"], ["r"])], 1 << 40, [], [value("r", [64])],
                                     {"x": np.ones(64, np.float32)}, [value("x", [64])])
    return model(graph([made], infos, [value(outs[0], ["?", 64])])), inputs


def loop_in_loops(n):
    """Loops of few turns in each other."""
    depth, turns = 7, 1 << 10
    inner = [node("Neg", ["s0"], ["r0"])]
    for k in range(depth):
        body = graph([node("Identity", [f"on{k}"], [f"go{k}"]), *inner], [value(f"i{k}", [], INT64), value(f"on{k}", [], BOOL), value(f"s{k}", [1])],
                     [value(f"go{k}", [], BOOL), value(f"r{k}", [1])])
        inner = [node("Loop", ["m", "t", f"s{k + 1}"], [f"r{k + 1}"], attribute("body", body))]
    made = node("Loop", ["m", "t", "x"], [f"r{depth}"], attribute("body", body))
    return (model(graph([made], [value("m", [], INT64), value("t", [], BOOL), value("x", [1])], [value(f"r{depth}", [1])])),
            {"m": np.array(turns, np.int64), "t": np.array(True), "x": np.ones(1, np.float32)})


def growing_sequence(n):
    """A list that each turn makes longer by a large element, in a copy of the list."""
    sequence = text(1, "q") + text(2, text(4, text(1, text(1, integer(1, FLOAT) + text(2, text(1, integer(1, 1)))))))
    result = text(1, "r") + sequence[len(text(1, "q")):]
    body = graph([node("Identity", ["on"], ["go"]), node("SequenceInsert", ["q", "x"], ["r"])],
                 [value("i", [], INT64), value("on", [], BOOL), sequence], [value("go", [], BOOL), result])
    nodes = [node("SequenceConstruct", ["x"], ["e"]), node("Loop", ["m", "t", "e"], ["o"], attribute("body", body)),
             node("SequenceLength", ["o"], ["y"])]
    return (model(graph(nodes, [value("m", [], INT64), value("t", [], BOOL), value("x", [1])], [value("y", [], INT64)])),
            {"m": np.array(1 << 40, np.int64), "t": np.array(True), "x": np.ones(1, np.float32)})


def split_sequence(n):
    """As many tensors as elements."""
    nodes = [node("SplitToSequence", ["x"], ["q"], attribute("axis", 0)), node("SequenceLength", ["q"], ["y"])]
    return model(graph(nodes, [value("x", ["n"])], [value("y", [], INT64)])), {"x": np.ones(n // 64, np.float32)}


def scan(n):
    """Each row gives one as long as all."""
    body = graph([node("Add", ["x", "e"], ["f"])], [value("e", [])], [value("f", ["n"])])
    made = node("Scan", ["x"], ["y"], attribute("body", body) + attribute("num_scan_inputs", 1))
    return model(graph([made], [value("x", ["n"])], [value("y", ["?", "?"])])), {"x": np.ones(int(n**0.5), np.float32)}


def transposed_convolution(n):
    made = model(graph([node("ConvTranspose", ["x", "w"], ["y"], attribute("strides", [n]))], [value("x", [1, 1, "n"]), value("w", [1, 1, 1])],
                       [value("y", [1, 1, "?"])]))
    return made, {"x": np.ones((1, 1, 2), np.float32), "w": np.ones((1, 1, 1), np.float32)}


def convolution_of_kernels(n):
    """A kernel as large as the picture."""
    side = int(n**0.25)
    made = model(graph([node("Conv", ["x", "w"], ["y"], attribute("pads", [side - 1] * 4))], [value("x", [1, 1, "h", "w0"]), value("w", [1, 1, "k", "l"])],
                       [value("y", [1, 1, "?", "?"])]))
    x = np.ones((1, 1, side, side), np.float32)
    return made, {"x": x, "w": x}


def cumulated(n):
    return one("CumSum", {"x": 1, "a": 0}, {"x": np.ones(n // 8, np.float32), "a": np.array(0, np.int64)}, kinds={"a": INT64})


def random_numbers(n):
    nodes = [node("ConstantOfShape", ["s"], ["c"]), node("RandomNormalLike", ["c"], ["y"])]
    return model(graph(nodes, [value("s", [1], INT64)], [value("y", ["?"])])), {"s": size(n)}


def chain_of_large(n):
    """Values of which each is let go when the next is there."""
    names = ["c", *(f"v{k}" for k in range(10)), "y"]
    nodes = [node("ConstantOfShape", ["s"], ["c"]), *(node("Neg", [a], [b]) for a, b in zip(names, names[1:]))]
    return model(graph(nodes, [value("s", [1], INT64)], [value("y", ["?"])])), {"s": size(n)}


def recurrent(n):
    """A state for each step."""
    steps = n // 64
    infos = [value("x", ["t", 1, 1]), value("w", [1, 256, 1]), value("r", [1, 256, 64])]
    made = model(graph([node("LSTM", ["x", "w", "r"], ["y"], attribute("hidden_size", 64))], infos, [value("y", ["?", 1, 1, 64])]))
    return made, {"x": np.ones((steps, 1, 1), np.float32), "w": np.ones((1, 256, 1), np.float32), "r": np.ones((1, 256, 64), np.float32)}


CASES = {make.__name__: make for make in [
    expand, expand_strings, tile, tile_strings, range_of, pad, constant_of_shape, one_hot, non_zero, resize, unique, unique_strings,
    concatenated_strings, split_strings, full_match, outer_product, einsum_of_many, broadcast, product, attention, suppression, top_k,
    gather, roi_align, fourier, unpooled, doubling_loop, doubling_texts, endless_loop, stacked_loop, loop_in_loops, growing_sequence,
    split_sequence, scan, transposed_convolution, convolution_of_kernels, cumulated, random_numbers, chain_of_large, recurrent,
]}  # fmt: skip
