"""The fields of protobuf, and ONNX's records by them: the classes of onnx would take longer than the builds."""

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


def model(body, functions=(), more=b"", opset=17):
    opsets = text(8, integer(2, opset)) + text(8, text(1, "f") + integer(2, 1))
    return integer(1, 8) + text(7, body) + opsets + b"".join(text(25, each) for each in functions) + more
