"""Seeds of protobuf formats, each message in binary and in text: TensorFlow's GraphDef and Caffe's nets."""

import struct
from dataclasses import dataclass


@dataclass
class Enumerator:
    name: str
    number: int


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    parts = []
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def binary(message: list, schema: dict) -> bytes:
    """`message`: (field, value) in order; `schema`: field -> its number, or (number, schema) of a message."""
    made = b""
    for name, value in message:
        number, inner = schema[name] if isinstance(schema[name], tuple) else (schema[name], None)
        if isinstance(value, float):
            made += varint(number << 3 | 5) + struct.pack("<f", value)
        elif isinstance(value, (int, Enumerator)):
            made += varint(number << 3) + varint(value.number if isinstance(value, Enumerator) else value)
        else:
            content = binary(value, inner) if isinstance(value, list) else value.encode()
            made += varint(number << 3 | 2) + varint(len(content)) + content
    return made


def text(message: list) -> str:
    def shown(value) -> str:
        if isinstance(value, list):
            return "{ " + text(value).replace("\n", " ") + "}"
        if isinstance(value, str):
            return '"' + value.replace("\\", "\\\\").replace("\n", "\\n") + '"'
        return value.name if isinstance(value, Enumerator) else str(value)

    return "".join(f"{name}: {shown(value)}\n" for name, value in message)


# graph.proto and its parts

SHAPE = {"dim": (2, {"size": 1, "name": 2}), "unknown_rank": 3}
TENSOR = {
    "dtype": 1, "tensor_shape": (2, SHAPE), "tensor_content": 4, "float_val": 5, "int_val": 7, "string_val": 8, "int64_val": 10,
    "bool_val": 11,
}
FUNCTION_NAME = {"name": 1}
LIST = {"s": 2, "i": 3, "f": 4, "b": 5, "type": 6, "func": (9, FUNCTION_NAME)}
ATTRIBUTE = {
    "list": (1, LIST), "s": 2, "i": 3, "f": 4, "b": 5, "type": 6, "shape": (7, SHAPE), "tensor": (8, TENSOR), "func": (10, FUNCTION_NAME),
}
NODE = {"name": 1, "op": 2, "input": 3, "device": 4, "attr": (5, {"key": 1, "value": (2, ATTRIBUTE)})}
SIGNATURE = {"name": 1, "input_arg": (2, {"name": 1, "type": 3}), "output_arg": (3, {"name": 1, "type": 3})}
FUNCTION = {"signature": (1, SIGNATURE), "node_def": (3, NODE), "ret": (4, {"key": 1, "value": 2})}
GRAPH_DEF = {"node": (1, NODE), "library": (2, {"function": (1, FUNCTION)}), "versions": (4, {"producer": 1})}

F32, I32, BOOL = Enumerator("DT_FLOAT", 1), Enumerator("DT_INT32", 3), Enumerator("DT_BOOL", 10)


def node(name: str, op: str, inputs=(), **attributes) -> list:
    """An attribute is (field of the value, content)."""
    fields = [("name", name), ("op", op), *(("input", each) for each in inputs)]
    return fields + [("attr", [("key", key), ("value", [content])]) for key, content in attributes.items()]


def shape(*dims) -> list:
    return [("dim", [("size", dim)]) for dim in dims]


def placeholder(name: str, *dims, dtype=F32) -> list:
    return node(name, "Placeholder", dtype=("type", dtype), shape=("shape", shape(*dims)))


def floats_value(values, *dims) -> tuple:
    return "tensor", [("dtype", F32), ("tensor_shape", shape(*dims)), *(("float_val", float(v)) for v in values)]


def floats(name: str, values, *dims) -> list:
    return node(name, "Const", dtype=("type", F32), value=floats_value(values, *dims))


def integers_value(values, *dims) -> tuple:
    return "tensor", [("dtype", I32), ("tensor_shape", shape(*dims)), *(("int_val", v) for v in values)]


def integers(name: str, values, *dims) -> list:
    return node(name, "Const", dtype=("type", I32), value=integers_value(values, *dims))


def strides(*values) -> tuple:
    return "list", [("i", value) for value in values]


def graph_def(nodes, functions=()) -> list:
    message = [("node", each) for each in nodes]
    if functions:
        message.append(("library", [("function", each) for each in functions]))
    return [*message, ("versions", [("producer", 1800)])]


def pictures() -> list:
    one = strides(1, 1, 1, 1)
    return graph_def([
        placeholder("x", -1, 6, 6, 2), floats("w", range(8), 2, 2, 2, 1), floats("k", [1], 1, 1, 1, 2), floats("s", [1], 2),
        node("conv", "Conv2D", ["x", "w"], strides=one, padding=("s", "SAME"), data_format=("s", "NHWC")),
        node("deep", "DepthwiseConv2dNative", ["conv", "k"], strides=one, padding=("s", "VALID")),
        node("norm", "FusedBatchNormV3", ["deep", "s", "s", "s", "s"], epsilon=("f", 0.5), is_training=("b", 0)),
        node("relu", "Relu6", ["norm"]),
        node("pool", "MaxPool", ["relu"], ksize=strides(1, 2, 2, 1), strides=strides(1, 2, 2, 1), padding=("s", "SAME")),
        integers("size", [5, 7], 2), node("large", "ResizeBilinear", ["pool", "size"], half_pixel_centers=("b", 1)),
        integers("axes", [1, 2], 2), node("mean", "Mean", ["large", "axes"], keep_dims=("b", 0)),
        node("y", "Softmax", ["mean"]),
    ])


def shapes() -> list:
    return graph_def([
        placeholder("x", -1, 4, 6), integers("zero", [0]), integers("two", [2]), integers("order", [2, 0, 1], 3),
        node("t", "Transpose", ["x", "order"]), node("sizes", "Shape", ["t"]),
        integers("b", [1], 1), integers("e", [2], 1), integers("step", [1], 1),
        node("part", "StridedSlice", ["sizes", "b", "e", "step"], shrink_axis_mask=("i", 1)),
        node("to", "Pack", ["part", "zero"], N=("i", 2), axis=("i", 0)),
        node("parts", "Split", ["two", "x"], num_split=("i", 3)),
        node("joined", "ConcatV2", ["parts:2", "parts", "two"], N=("i", 2)),
        integers("pads", [0, 0, 1, 1, 0, 2], 3, 2), node("padded", "MirrorPad", ["joined", "pads"], mode=("s", "REFLECT")),
        node("chosen", "GatherV2", ["padded", "b", "two"]), node("best", "TopKV2", ["chosen", "zero"], sorted=("b", 1)),
        node("one", "OneHot", ["best:1", "two", "f", "f"], axis=("i", -1)), floats("f", [1]),
    ])


def calls() -> list:
    body = [
        ("signature", [("name", "step"), ("input_arg", [("name", "i")]), ("input_arg", [("name", "v")]), ("output_arg", [("name", "o")]),
                       ("output_arg", [("name", "p")])]),
        ("node_def", integers("one", [1])), ("node_def", node("more", "AddV2", ["i", "one:output:0"])),
        ("node_def", node("twice", "Mul", ["v", "v"])),
        ("ret", [("key", "o"), ("value", "more:z:0")]), ("ret", [("key", "p"), ("value", "twice:z:0")]),
    ]
    condition = [
        ("signature", [("name", "going"), ("input_arg", [("name", "i")]), ("input_arg", [("name", "v")]), ("output_arg", [("name", "o")])]),
        ("node_def", integers("five", [5])), ("node_def", node("less", "Less", ["i", "five:output:0"])),
        ("ret", [("key", "o"), ("value", "less:z:0")]),
    ]
    return graph_def([
        placeholder("x", 2), integers("start", [0]),
        node("loop", "StatelessWhile", ["start", "x"], body=("func", [("name", "step")]), cond=("func", [("name", "going")])),
        node("call", "PartitionedCall", ["loop", "loop:1"], f=("func", [("name", "step")])),
        placeholder("p", dtype=BOOL),
        node("if", "If", ["p", "call", "call:1"], then_branch=("func", [("name", "step")]), else_branch=("func", [("name", "step")])),
        node("y", "Identity", ["if:1", "^loop"]),
    ], [body, condition])


def branches() -> list:
    """A conditional of TensorFlow 1 with another one in its first branch."""
    return graph_def([
        placeholder("x", 2), placeholder("p", dtype=BOOL), placeholder("q", dtype=BOOL),
        node("c/Switch", "Switch", ["p", "p"], T=("type", BOOL)), node("c/t", "Identity", ["c/Switch:1"]), node("c/id", "Identity", ["p"]),
        node("c/x", "Switch", ["x", "c/id"], T=("type", F32)), node("c/q", "Switch", ["q", "c/id"], T=("type", BOOL)),
        node("d/x", "Switch", ["c/x:1", "c/q:1"], T=("type", F32)), node("d/no", "Neg", ["d/x"]), node("d/yes", "Exp", ["d/x:1"]),
        node("d/Merge", "Merge", ["d/no", "d/yes"], N=("i", 2)), node("c/k", "Const", ["^c/t"], dtype=("type", F32), value=floats_value([2], 2)),
        node("c/sum", "Mul", ["d/Merge", "c/k"]), node("c/Merge", "Merge", ["c/x", "c/sum"], N=("i", 2)), node("y", "Identity", ["c/Merge"]),
    ])


def frames() -> list:
    """A loop of TensorFlow 1 that fills an array, and one of version 2 over a list."""
    def enter(name: str, source: str, constant: int) -> list:
        return node(name, "Enter", [source], frame_name=("s", "f"), is_constant=("b", constant))

    return graph_def([
        placeholder("x", 4, 2), integers("zero", [0]), integers("four", [4]), integers("all", range(4), 4), integers("any", [-1]),
        node("in", "TensorArrayV3", ["four"], dtype=("type", F32), element_shape=("shape", shape(2))),
        node("out", "TensorArrayV3", ["four"], dtype=("type", F32), element_shape=("shape", [("unknown_rank", 1)])),
        node("fill", "TensorArrayScatterV3", ["in", "all", "x", "in:1"]),
        enter("e/i", "zero", 0), enter("e/flow", "out:1", 0), enter("e/n", "four", 1), enter("e/out", "out", 1), enter("e/in", "in", 1), enter("e/fill", "fill", 1),
        node("m/i", "Merge", ["e/i", "n/i"], N=("i", 2)), node("m/flow", "Merge", ["e/flow", "n/flow"], N=("i", 2)),
        node("less", "Less", ["m/i", "e/n"]), node("go", "LoopCond", ["less"]),
        node("s/i", "Switch", ["m/i", "go"]), node("s/flow", "Switch", ["m/flow", "go"]), node("i", "Identity", ["s/i:1"]),
        node("one", "Const", ["^i"], dtype=("type", I32), value=integers_value([1])), node("more", "AddV2", ["i", "one"]),
        node("read", "TensorArrayReadV3", ["e/in", "i", "e/fill"]), node("twice", "Mul", ["read", "read"]),
        node("write", "TensorArrayWriteV3", ["e/out", "i", "twice", "s/flow:1"]),
        node("n/i", "NextIteration", ["more"]), node("n/flow", "NextIteration", ["write"]), node("x/flow", "Exit", ["s/flow"]),
        node("result", "TensorArrayGatherV3", ["out", "all", "x/flow"]),
        node("list", "TensorListReserve", ["any", "four"], element_dtype=("type", F32)),
        node("from", "TensorListFromTensor", ["result", "any"]), node("set", "TensorListSetItem", ["from", "zero", "row"]),
        floats("row", [1, 2], 2), node("push", "TensorListPushBack", ["set", "row"]), node("pop", "TensorListPopBack", ["push", "any"]),
        node("y", "TensorListStack", ["pop", "any"]), node("z", "TensorListLength", ["list"]),
    ])


# caffe.proto

BLOB = {"num": 1, "channels": 2, "height": 3, "width": 4, "data": 5, "shape": (7, {"dim": 1})}
CONVOLUTION = {"num_output": 1, "bias_term": 2, "pad": 3, "kernel_size": 4, "group": 5, "stride": 6, "dilation": 18}
POOLING = {"pool": 1, "kernel_size": 2, "stride": 3, "pad": 4, "global_pooling": 12}
INNER = {"num_output": 1, "bias_term": 2, "axis": 5, "transpose": 6}
RULE = {"phase": 1, "stage": 4}
LAYER = {
    "name": 1, "type": 2, "bottom": 3, "top": 4, "blobs": (7, BLOB), "include": (8, RULE), "exclude": (9, RULE), "concat_param": (104, {"axis": 2}),
    "convolution_param": (106, CONVOLUTION), "eltwise_param": (110, {"operation": 1, "coeff": 2}), "inner_product_param": (117, INNER),
    "lrn_param": (118, {"local_size": 1, "alpha": 2, "beta": 3}), "mvn_param": (120, {"normalize_variance": 1, "across_channels": 2}),
    "pooling_param": (121, POOLING), "power_param": (122, {"power": 1, "scale": 2, "shift": 3}), "slice_param": (126, {"slice_point": 2, "axis": 3}),
    "reshape_param": (133, {"shape": (1, {"dim": 1}), "axis": 2, "num_axes": 3}), "flatten_param": (135, {"axis": 1, "end_axis": 2}),
    "reduction_param": (136, {"operation": 1, "axis": 2}), "tile_param": (138, {"axis": 1, "tiles": 2}),
    "batch_norm_param": (139, {"use_global_stats": 1, "eps": 3}), "scale_param": (142, {"axis": 1, "num_axes": 2, "bias_term": 4}),
    "input_param": (143, {"shape": (1, {"dim": 1})}), "crop_param": (144, {"axis": 1, "offset": 2}), "permute_param": (202, {"order": 1}),
}
OLD_LAYER = {
    "bottom": 2, "top": 3, "name": 4, "type": 5, "blobs": (6, BLOB), "convolution_param": (10, CONVOLUTION), "inner_product_param": (17, INNER),
    "pooling_param": (19, POOLING),
}
NET = {"name": 1, "layers": (2, OLD_LAYER), "input": 3, "input_dim": 4, "input_shape": (8, {"dim": 1}), "layer": (100, LAYER)}


def layer(name: str, kind, bottoms=(), *fields, tops=None, field="layer") -> tuple:
    ends = [*(("bottom", bottom) for bottom in bottoms), *(("top", top) for top in tops or [name])]
    return field, [("name", name), ("type", kind), *ends, *fields]


def dims(*sizes) -> list:
    return [("dim", size) for size in sizes]


def blob(values, *sizes) -> tuple:
    return "blobs", [*(("data", float(value)) for value in values), ("shape", dims(*sizes))]


def trained(with_blobs: bool = True) -> list:
    def blobs(*these):
        return these if with_blobs else ()

    return [
        ("name", "net"), layer("x", "Input", [], ("input_param", [("shape", dims(1, 2, 6, 6))])),
        layer("c", "Convolution", ["x"], ("convolution_param", [("num_output", 2), ("kernel_size", 3), ("pad", 1), ("group", 2)]),
              *blobs(blob(range(18), 2, 1, 3, 3), blob([1, 2], 2))),
        layer("b", "BatchNorm", ["c"], ("batch_norm_param", [("eps", 0.001)]), *blobs(blob([0, 1], 2), blob([1, 2], 2), blob([1], 1))),
        layer("s", "Scale", ["b"], ("scale_param", [("bias_term", 1)]), *blobs(blob([1, 2], 2), blob([3, 4], 2))),
        layer("s", "ReLU", ["s"]),
        layer("p", "Pooling", ["s"], ("pooling_param", [("pool", Enumerator("AVE", 1)), ("kernel_size", 3), ("stride", 2)])),
        layer("n", "LRN", ["p"], ("lrn_param", [("local_size", 3), ("alpha", 0.5)])),
        layer("i", "InnerProduct", ["n"], ("inner_product_param", [("num_output", 2)]), *blobs(blob(range(36), 2, 18), blob([1, 2], 2))),
        layer("y", "Softmax", ["i"]),
        layer("loss", "SoftmaxWithLoss", ["i"], ("include", [("phase", Enumerator("TRAIN", 0))])),
    ]


def untrained() -> list:
    return [
        ("input", "x"), ("input_dim", 1), ("input_dim", 4), ("input_dim", 4), ("input_dim", 3),
        layer("parts", "Slice", ["x"], ("slice_param", [("axis", 1), ("slice_point", 1)]), tops=["a", "b"]),
        layer("t", "Tile", ["a"], ("tile_param", [("axis", 1), ("tiles", 3)])),
        layer("e", "Eltwise", ["t", "b"], ("eltwise_param", [("operation", Enumerator("SUM", 1)), ("coeff", 1.0), ("coeff", -2.0)])),
        layer("j", "Concat", ["e", "x"], ("concat_param", [("axis", 1)])),
        layer("o", "Permute", ["j"], ("permute_param", [("order", 0), ("order", 2), ("order", 1), ("order", 3)])),
        layer("r", "Reshape", ["o"], ("reshape_param", [("shape", dims(0, -1, 2)), ("axis", 0), ("num_axes", 2)])),
        layer("cut", "Crop", ["x", "a"], ("crop_param", [("axis", 2), ("offset", 0)])),
        layer("w", "Power", ["cut"], ("power_param", [("power", 2.0), ("shift", 1.0)])),
        layer("m", "MVN", ["w"], ("mvn_param", [("across_channels", 1)])),
        layer("f", "Flatten", ["m"]), layer("sum", "Reduction", ["f"], ("reduction_param", [("axis", 1)])),
    ]


def old_form() -> list:
    def old(name: str, kind: Enumerator, bottom: str, *fields):
        return layer(name, kind, [bottom], *fields, field="layers")

    weights = [("num", 1), ("channels", 1), ("height", 1), ("width", 1), ("data", 2.0)]
    return [
        ("name", "old"), ("input", "x"), ("input_shape", dims(1, 1, 4, 4)),
        old("c", Enumerator("CONVOLUTION", 4), "x", ("blobs", weights), ("convolution_param", [("num_output", 1), ("kernel_size", 1), ("bias_term", 0)])),
        old("p", Enumerator("POOLING", 17), "c", ("pooling_param", [("kernel_size", 2), ("stride", 2)])),
        old("y", Enumerator("RELU", 18), "p"),
    ]


def tensorflow_seeds() -> dict[str, bytes]:
    seeds = {}
    for name, message in {"pictures": pictures(), "shapes": shapes(), "calls": calls(), "branches": branches(), "frames": frames()}.items():
        seeds[f"{name}.pb"] = binary(message, GRAPH_DEF)
        seeds[f"{name}.pbtxt"] = text(message).encode()
    return seeds


TENSOR_INFO = {"name": 1, "dtype": 2, "tensor_shape": (3, SHAPE)}
NAMED_INFO = {"key": 1, "value": (2, TENSOR_INFO)}
SIGNATURE_DEF = {"inputs": (1, NAMED_INFO), "outputs": (2, NAMED_INFO), "method_name": 3}
META_GRAPH = {
    "meta_info_def": (1, {"tags": 4, "tensorflow_version": 5}), "graph_def": (2, GRAPH_DEF),
    "signature_def": (5, {"key": 1, "value": (2, SIGNATURE_DEF)}),
}  # fmt: skip
SAVED_MODEL = {"saved_model_schema_version": 1, "meta_graphs": (2, META_GRAPH)}


def meta_graph(graph: list, inputs: dict, outputs: dict) -> list:
    def infos(field: str, tensors: dict) -> list:
        return [(field, [("key", key), ("value", [("name", tensor), ("dtype", F32)])]) for key, tensor in tensors.items()]

    return [
        ("meta_info_def", [("tags", "serve"), ("tensorflow_version", "2.17.0")]), ("graph_def", graph),
        ("signature_def", [("key", "serving_default"), ("value", infos("inputs", inputs) + infos("outputs", outputs))]),
    ]  # fmt: skip


def engines() -> list:
    """Two nodes of TF-TRT: one with a function, one with a graph in an attribute, which as text is none."""
    segment = [
        ("signature", [("name", "f"), ("input_arg", [("name", "a")]), ("output_arg", [("name", "b")])]),
        ("node_def", node("negative", "Neg", ["a"])), ("ret", [("key", "b"), ("value", "negative:y:0")]),
    ]  # fmt: skip
    return graph_def([
        placeholder("x", 2), node("TRTEngineOp_0", "TRTEngineOp", ["x"], segment_func=("func", [("name", "f")])),
        node("native", "Exp", ["TRTEngineOp_0"]),
        node("TRTEngineOp_1", "TRTEngineOp", ["native"], serialized_segment=("s", "no graph"), segment_funcdef_name=("s", "f")),
        node("y", "Neg", ["TRTEngineOp_1"]),
    ], [segment])  # fmt: skip


def saved_model_seeds() -> dict[str, bytes]:
    graphs = {
        "calls": meta_graph(calls(), {"x": "x:0", "p": "p:0"}, {"y": "y:0", "z": "call:1"}),
        "engines": meta_graph(engines(), {"x": "x:0"}, {"y": "y:0"}),
        "inside": meta_graph(engines(), {"x": "native:0"}, {"y": "y:0"}),
    }
    seeds = {}
    for name, graph in graphs.items():
        model = [("saved_model_schema_version", 1), ("meta_graphs", graph)]
        seeds[f"{name}.pb"] = binary(model, SAVED_MODEL)
        seeds[f"{name}.pbtxt"] = text(model).encode()
        seeds[f"{name}.meta"] = binary(graph, META_GRAPH)
    return seeds


def caffe_seeds() -> dict[str, bytes]:
    seeds = {"apart": text(trained(with_blobs=False)).encode() + b"\n=== weights\n" + binary(trained(), NET)}
    for name, message in {"trained": trained(), "untrained": untrained(), "old": old_form()}.items():
        seeds[f"{name}.caffemodel"] = binary(message, NET)
        seeds[f"{name}.prototxt"] = text(message).encode()
    return seeds
