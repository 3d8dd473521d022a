"""Writes the seeds of tests/fuzz/corpus: small inputs for every reader.

    .venv/bin/python tests/fuzz/make_corpus.py [build/bin/lanner]

Inputs found by fuzzers are in the same folders, under other names, and are left alone.
"""

import json
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import onnx
from audio_seeds import audio_seeds
from bundle_seeds import bundle_seeds
from onnx import TensorProto, helper, numpy_helper
from picture_seeds import cache_seeds, clip_seeds, picture_seeds, settings_seeds
from protobuf_seeds import caffe_seeds, saved_model_seeds, tensorflow_seeds
from task_seeds import calibration_seeds, label_seeds, task_seeds, truth_seeds
from tfrecord_seeds import tfrecord_seeds
from video_seeds import bitstream_seeds, elementary_stream_seeds, index_seeds

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
F32 = TensorProto.FLOAT


def write(target: str, name: str, content: bytes) -> None:
    assert len(content) < 8192, (target, name, len(content))
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"seed-{name}").write_bytes(content)


def value(name, dtype=F32, shape=("N", 3, 4, 4)):
    return helper.make_tensor_value_info(name, dtype, shape)


def constant(name, array):
    return numpy_helper.from_array(numpy.asarray(array), name)


def model(nodes, inputs, outputs, constants=(), opset=17, functions=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
    made = helper.make_model(graph, opset_imports=opsets, functions=list(functions))
    made.ir_version = 8
    return made


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs, outputs, **attributes)


def weights(*shape):
    count = int(numpy.prod(shape))
    return (numpy.arange(count, dtype=numpy.float32).reshape(shape) % 7 - 3) / 4


def picture_network():
    nodes = [
        node("Conv", ["x", "w", "b"], ["a"], pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["r"]),
        node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("GlobalAveragePool", ["p"], ["m"]),
        node("Flatten", ["m"], ["f"]),
        node("Softmax", ["f"], ["y"], axis=1),
    ]
    return model(nodes, [value("x")], [value("y", shape=("N", 4))], [constant("w", weights(4, 3, 3, 3)), constant("b", weights(4))])


def product_network():
    nodes = [
        node("MatMul", ["x", "w"], ["a"]),
        node("Add", ["a", "b"], ["c"]),
        node("Gelu", ["c"], ["d"], approximate="tanh"),
        node("LayerNormalization", ["d", "b", "b"], ["e"], axis=-1),
        node("Transpose", ["e"], ["t"], perm=[1, 0]),
        node("Concat", ["t", "t"], ["y"], axis=0),
    ]
    return model(nodes, [value("x", shape=("N", 4))], [value("y", shape=None)], [constant("w", weights(4, 4)), constant("b", weights(4))], opset=20)


def quantized_network():
    scale, zero = constant("s", numpy.float32(0.1)), constant("z", numpy.uint8(3))
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("QLinearConv", ["q", "s", "z", "w", "s", "z", "s", "z"], ["c"], auto_pad="SAME_UPPER"),
        node("DequantizeLinear", ["c", "s", "z"], ["y"]),
    ]
    weight = constant("w", numpy.arange(27, dtype=numpy.uint8).reshape(1, 3, 3, 3))
    return model(nodes, [value("x")], [value("y", shape=None)], [scale, zero, weight])


def branching_network():
    positive = helper.make_graph([node("Relu", ["x"], ["a"])], "then", [], [value("a", shape=(2,))])
    negative = helper.make_graph([node("Neg", ["x"], ["b"])], "else", [], [value("b", shape=(2,))])
    nodes = [node("If", ["p"], ["y"], then_branch=positive, else_branch=negative)]
    return model(nodes, [value("p", TensorProto.BOOL, ()), value("x", shape=(2,))], [value("y", shape=(2,))])


def looping_network():
    body = helper.make_graph(
        [node("Add", ["s", "s"], ["t"]), node("Identity", ["c"], ["d"])], "body",
        [value("i", TensorProto.INT64, ()), value("c", TensorProto.BOOL, ()), value("s", shape=(2,))],
        [value("d", TensorProto.BOOL, ()), value("t", shape=(2,))],
    )
    trips = constant("n", numpy.int64(3))
    return model([node("Loop", ["n", "", "x"], ["y"], body=body)], [value("x", shape=(2,))], [value("y", shape=(2,))], [trips])


def function_network():
    function = helper.make_function(
        "local", "twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 17)]
    )
    nodes = [node("twice", ["x"], ["y"], domain="local")]
    return model(nodes, [value("x", shape=(2,))], [value("y", shape=(2,))], functions=[function])


def moving_network():
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "i"], ["g"], axis=0),
        node("Slice", ["x", "g", "e", "i"], ["l"]),
        node("Resize", ["x", "", "f"], ["r"], mode="linear"),
        node("Pad", ["r", "p"], ["q"], mode="reflect"),
        node("Split", ["q"], ["y", "z"], axis=3),
    ]
    constants = [
        constant("i", numpy.array([1], numpy.int64)), constant("e", numpy.array([9], numpy.int64)),
        constant("f", numpy.array([1, 1, 2, 2], numpy.float32)), constant("p", numpy.array([0, 0, 1, 1, 0, 0, 1, 1], numpy.int64)),
    ]
    return model(nodes, [value("x")], [value("y", shape=None), value("z", shape=None), value("l", shape=None)], constants)


def text_network():
    nodes = [
        node("StringNormalizer", ["x"], ["n"], case_change_action="LOWER", stopwords=["a"]),
        node("RegexFullMatch", ["n"], ["m"], pattern="[a-z]+(b|c){2,3}"),
        node("SequenceConstruct", ["n", "n"], ["q"]),
        node("ConcatFromSequence", ["q"], ["y"], axis=0),
    ]
    return model(nodes, [value("x", TensorProto.STRING, (2,))], [value("y", TensorProto.STRING, None), value("m", TensorProto.BOOL, None)], opset=20)


def residual_network():
    nodes = [
        node("Conv", ["x", "d"], ["a"], pads=[1, 1, 1, 1], group=3),
        node("Clip", ["a", "low", "high"], ["c"]),
        node("Conv", ["c", "w"], ["e"], kernel_shape=[1, 1]),
        node("Add", ["e", "x"], ["r"]),
        node("AveragePool", ["r"], ["y"], kernel_shape=[2, 2], count_include_pad=1),
    ]
    constants = [
        constant("d", weights(3, 1, 3, 3)), constant("w", weights(3, 3, 1, 1)),
        constant("low", numpy.float32(0)), constant("high", numpy.float32(6)),
    ]
    return model(nodes, [value("x")], [value("y", shape=None)], constants)


def reducing_network():
    nodes = [
        node("ConvTranspose", ["x", "t"], ["c"], strides=[2, 2], output_shape=[8, 8]),
        node("ReduceMean", ["c", "axes"], ["m"], keepdims=0),
        node("CumSum", ["m", "zero"], ["s"]),
        node("Einsum", ["s"], ["y"], equation="bc->cb"),
    ]
    constants = [constant("t", weights(3, 1, 2, 2)), constant("zero", numpy.int64(0)), constant("axes", numpy.array([1, -1], numpy.int64))]
    return model(nodes, [value("x")], [value("y", shape=None)], constants, opset=18)


def attention_network():
    nodes = [
        node("MatMul", ["x", "w"], ["q"]),
        node("Reshape", ["q", "heads"], ["h"]),
        node("Transpose", ["h"], ["k"], perm=[0, 2, 3, 1]),
        node("Transpose", ["h"], ["v"], perm=[0, 2, 1, 3]),
        node("MatMul", ["v", "k"], ["s"]),
        node("Softmax", ["s"], ["p"], axis=-1),
        node("MatMul", ["p", "v"], ["y"]),
    ]
    constants = [constant("w", weights(8, 8)), constant("heads", numpy.array([0, 0, 2, 4], numpy.int64))]
    return model(nodes, [value("x", shape=("N", 3, 8))], [value("y", shape=None)], constants, opset=18)


def recurrent_network():
    nodes = [
        node("LSTM", ["x", "w", "r"], ["h"], hidden_size=2),
        node("Squeeze", ["h", "one"], ["s"]),
        node("TopK", ["s", "k"], ["t", "i"], axis=-1),
        node("Tile", ["t", "twice"], ["y"]),
        node("OneHot", ["i", "depth", "values"], ["z"], axis=1),
    ]
    constants = [
        constant("w", weights(1, 8, 3)), constant("r", weights(1, 8, 2)), constant("one", numpy.array([1], numpy.int64)),
        constant("k", numpy.array([1], numpy.int64)), constant("twice", numpy.array([1, 2, 1], numpy.int64)),
        constant("depth", numpy.int64(3)), constant("values", numpy.array([0, 1], numpy.float32)),
    ]
    return model(nodes, [value("x", shape=(4, 1, 3))], [value("y", shape=None), value("z", shape=None)], constants)


def halves_network():
    halves = TensorProto.FLOAT16
    nodes = [
        node("Conv", ["x", "w"], ["a"], pads=[0, 0, 1, 1], strides=[2, 2]),
        node("InstanceNormalization", ["a", "s", "s"], ["n"]),
        node("LeakyRelu", ["n"], ["l"]),
        node("DepthToSpace", ["l"], ["d"], blocksize=2),
        node("Expand", ["d", "wide"], ["y"]),
    ]
    constants = [
        constant("w", weights(4, 3, 3, 3).astype(numpy.float16)), constant("s", numpy.ones(4, numpy.float16)), constant("wide", numpy.array([2, 1, 1, 1], numpy.int64)),
    ]
    return model(nodes, [value("x", halves, (1, 3, 4, 4))], [value("y", halves, None)], constants)


def microsoft(kind, inputs, outputs, **attributes):
    return node(kind, inputs, outputs, domain="com.microsoft", **attributes)


def microsoft_attention_network():
    nodes = [
        microsoft("SkipLayerNormalization", ["x", "x", "g"], ["n", "", "", "s"]),
        microsoft("Attention", ["n", "w", "b", "m"], ["a", "p"], num_heads=2, unidirectional=1),
        microsoft("MultiHeadAttention", ["a", "n", "s"], ["h"], num_heads=2),
        microsoft("GroupQueryAttention", ["h", "n", "s", "c", "c", "l", "t", "r", "r"], ["y", "k", "v"], num_heads=2, kv_num_heads=2, do_rotary=1),
    ]
    constants = [
        constant("g", weights(4)), constant("w", weights(4, 12)), constant("b", weights(12)), constant("r", weights(8, 1)),
        constant("l", numpy.array([2], numpy.int32)), constant("t", numpy.array([3], numpy.int32)),
    ]
    inputs = [value("x", shape=(1, 3, 4)), value("m", TensorProto.INT32, (1, 3)), value("c", shape=(1, 2, 5, 2))]
    return model(nodes, inputs, [value(name, shape=None) for name in ("y", "k", "v", "p")], constants)


def packed_network():
    nodes = [
        microsoft("GatherBlockQuantized", ["d", "i", "e"], ["x"], block_size=16, bits=4),
        microsoft("MatMulNBits", ["x", "w", "e", "z"], ["p"], K=32, N=2, bits=4, block_size=16),
        microsoft("QuickGelu", ["p"], ["q"]),
        microsoft("DynamicQuantizeMatMul", ["q", "v", "s"], ["y"]),
        microsoft("CropAndResize", ["o", "o2", "o3", "o4"], ["u"]),
    ]
    constants = [
        constant("d", numpy.arange(32, dtype=numpy.uint8).reshape(2, 16)), constant("e", weights(2, 2)), constant("s", numpy.float32(0.1)),
        constant("w", numpy.arange(32, dtype=numpy.uint8).reshape(2, 2, 8)), constant("z", numpy.array([[3], [5]], numpy.uint8)),
        constant("v", numpy.array([[1], [2]], numpy.int8)), constant("o4", numpy.array([2, 2], numpy.int32)), constant("o3", numpy.array([0], numpy.int32)),
        constant("o2", numpy.array([[0, 0, 1, 1]], numpy.float32)),
    ]
    inputs = [value("i", TensorProto.INT64, (3,)), value("o", shape=(1, 1, 3, 3))]
    return model(nodes, inputs, [value("y", shape=None), value("u", shape=None)], constants)


def shadowing_network():
    def branch(name):
        inner = [node("Add", ["v", "x"], ["w"]), node("Neg", ["w"], ["v"]), node("Mul", ["v", "w"], [name])]
        return helper.make_graph(inner, name, [], [value(name, shape=(2,))])

    nodes = [node("Mul", ["x", "x"], ["v"]), node("If", ["p"], ["y"], then_branch=branch("a"), else_branch=branch("b"))]
    return model(nodes, [value("p", TensorProto.BOOL, ()), value("x", shape=(2,))], [value("y", shape=(2,))])


def joined_network():
    """Parts written in place, read in place, and within each other (decision 024)."""
    nodes = [
        node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        node("Conv", ["x", "v"], ["b"]),
        node("Concat", ["a", "b"], ["j"], axis=1),
        node("Relu", ["j"], ["r"]),
        node("Split", ["r"], ["p", "q"], axis=1),
        node("Mul", ["p", "q"], ["m"]),
        node("Sigmoid", ["s"], ["t"]),
        node("Tanh", ["s"], ["u"]),
        node("Concat", ["t", "u"], ["o"], axis=1),
        node("Exp", ["o"], ["e"]),
    ]
    constants = [constant("w", weights(8, 3, 3, 3)), constant("v", weights(8, 3, 1, 1))]
    inputs = [value("x", shape=(1, 3, 4, 4)), value("s", shape=(2, 16))]
    return model(nodes, inputs, [value("m", shape=(1, 8, 4, 4)), value("e", shape=(2, 32))], constants)


def rows_network():
    """After a data-dependent count (decision 018)."""
    nodes = [
        node("NonZero", ["x"], ["n"]),
        node("Transpose", ["n"], ["t"]),
        node("GatherND", ["x", "t"], ["g"]),
        node("Reshape", ["g", "s"], ["c"]),
        node("MatMul", ["c", "w"], ["p"]),
        node("Relu", ["p"], ["y"]),
    ]
    constants = [constant("s", numpy.array([-1, 1])), constant("w", weights(1, 16))]
    return model(nodes, [value("x", shape=(4, 8))], [value("y", shape=("K", 16))], constants)


def transformer_network():
    nodes = [
        node("LayerNormalization", ["x", "g", "b"], ["n"]),
        node("MatMul", ["n", "w"], ["q"]),
        node("Split", ["q"], ["a", "k", "v"], axis=-1, num_outputs=3),
        node("Transpose", ["k"], ["t"], perm=[0, 2, 1]),
        node("MatMul", ["a", "t"], ["s"]),
        node("Mul", ["s", "scale"], ["m"]),
        node("Softmax", ["m"], ["p"], axis=-1),
        node("MatMul", ["p", "v"], ["o"]),
        node("Add", ["o", "x"], ["r"]),
        node("Gelu", ["r"], ["y"]),
    ]
    constants = [constant("g", numpy.ones(8, numpy.float32)), constant("b", weights(8)), constant("w", weights(8, 24)), constant("scale", numpy.float32(0.35))]
    return model(nodes, [value("x", shape=(1, 4, 8))], [value("y", shape=(1, 4, 8))], constants, opset=20)


def integers_network():
    nodes = [
        node("Cast", ["x"], ["c"], to=TensorProto.INT32),
        node("BitShift", ["u", "two"], ["s"], direction="LEFT"),
        node("Cast", ["s"], ["t"], to=TensorProto.INT32),
        node("Add", ["c", "t"], ["a"]),
        node("Mod", ["a", "seven"], ["m"]),
        node("Cast", ["m"], ["i"], to=TensorProto.INT64),
        node("Gather", ["w", "i"], ["y"]),
        node("Greater", ["a", "seven"], ["z"]),
    ]
    constants = [constant("two", numpy.uint8(2)), constant("seven", numpy.int32(7)), constant("w", weights(7, 4))]
    inputs = [value("x", TensorProto.INT8, (2, 3)), value("u", TensorProto.UINT8, (2, 3))]
    return model(nodes, inputs, [value("y", shape=None), value("z", TensorProto.BOOL, None)], constants, opset=18)


def scan_network():
    body = helper.make_graph(
        [node("Add", ["h", "e"], ["o"]), node("Relu", ["o"], ["r"])], "body", [value("h", shape=(3,)), value("e", shape=(3,))],
        [value("o", shape=(3,)), value("r", shape=(3,))],
    )
    nodes = [node("Scan", ["s", "x"], ["f", "y"], num_scan_inputs=1, body=body)]
    return model(nodes, [value("s", shape=(3,)), value("x", shape=(4, 3))], [value("f", shape=(3,)), value("y", shape=(4, 3))])


def state_network():
    nodes = [node("Concat", ["c", "x"], ["d"], axis=1), node("ReduceSum", ["d", "one"], ["y"]), node("Add", ["h", "y"], ["k"])]
    inputs = [value("x", shape=(1, 1, 4)), value("c", shape=(1, "T", 4)), value("h", shape=(1, 1, 4))]
    outputs = [value("y", shape=None), value("d", shape=(1, "U", 4)), value("k", shape=(1, 1, 4))]
    return model(nodes, inputs, outputs, [constant("one", numpy.array([1], numpy.int64))])


NETWORKS = {
    "residual": residual_network, "reducing": reducing_network, "attention": attention_network, "recurrent": recurrent_network, "halves": halves_network,
    "picture": picture_network, "product": product_network, "quantized": quantized_network, "branch": branching_network,
    "loop": looping_network, "function": function_network, "moving": moving_network, "text": text_network,
    "joined": joined_network, "rows": rows_network, "transformer": transformer_network, "integers": integers_network, "scan": scan_network,
}
# Only for the importer: plans contain the imported form.
IMPORTED = {"microsoft-attention": microsoft_attention_network, "packed": packed_network, "shadow": shadowing_network}


def small_network():
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["y"])]
    return model(nodes, [value("x", shape=("N", 4))], [value("y", shape=("N", 4))], [constant("w", weights(4, 4))])


def tables_network():
    """Constants of many types that are too large for the text, and one that may be overridden."""
    given = {
        "texts": numpy.array([f"t{i}" for i in range(20)], dtype=object), "truths": numpy.arange(20) % 3 == 0,
        "bytes": numpy.arange(20, dtype=numpy.uint8), "d": numpy.linspace(0, 1, 20, dtype=numpy.float32),
    }
    nodes = [node("Gather", [name, "i"], [f"of_{name}"]) for name in given]
    kinds = {"texts": onnx.TensorProto.STRING, "truths": onnx.TensorProto.BOOL, "bytes": onnx.TensorProto.UINT8, "d": onnx.TensorProto.FLOAT}
    inputs = [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, [2]), value("d", shape=(20,))]
    outputs = [helper.make_tensor_value_info(f"of_{name}", kinds[name], [2]) for name in given]
    return model(nodes, inputs, outputs, [constant(name, array) for name, array in given.items()])


# Networks whose plans have several variants or states, with their build options.
VARIANTS = {
    "variants": (small_network, ["--profile", "x=1x4:1x4:2x4", "--profile", "x=3x4:4x4:9x4"]),
    "tables": (tables_network, ["--overridden", "d"]),
    "state": (state_network, ["--shape", "c:1x2x4", "--state", "h=k", "--overwritable", "x", "--storage", "y=row:fp16"]),
}


def onnx_seeds() -> None:
    for name, make in (NETWORKS | IMPORTED).items():
        write("onnx", f"{name}.onnx", make().SerializeToString())


def ir_seeds() -> None:
    for path in sorted((ROOT / "tests" / "graph").glob("*.ir")):
        write("ir", path.name, path.read_bytes())
    for path in sorted((ROOT / "tests" / "passes").glob("*.ir")):
        cases = re.findall(r"^// before\n(.*?)^// after$", path.read_text(), re.MULTILINE | re.DOTALL)
        for number, case in enumerate(cases[:3]):
            write("ir", f"{path.stem}-{number}.ir", case.encode())


def read_plan(path: Path) -> tuple[dict, bytes]:
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def plan_text(path: Path) -> bytes:
    """The format that plan_target.cpp reassembles."""
    header, data = read_plan(path)
    metadata = header.pop("__metadata__")
    texts = [name for name in header if name == "ir" or name.startswith(("lowered", "reports"))]
    parts = {name: data[slice(*header.pop(name)["data_offsets"])] for name in texts}
    end = max((entry["data_offsets"][1] for name, entry in header.items() if not name.startswith("__pad_")), default=0)
    header = {name: entry for name, entry in header.items() if entry["data_offsets"][1] <= end}
    target = json.loads(metadata["lanner.target"])
    target["isa"] = "here"
    parts = {
        "target": json.dumps(target).encode(), "weights": metadata["lanner.weights"].encode(),
        **({"variants": metadata["lanner.variants"].encode()} if "lanner.variants" in metadata else {}),
        **{name: b"[]" if name.startswith("reports") else content for name, content in parts.items()},
        "entries": json.dumps(header).encode(), "data": data[:end].rstrip(b"\0"),
    }
    return b"".join(b"=== " + name.encode() + b"\n" + content.rstrip(b"\n") + b"\n" for name, content in parts.items())


def plan_seeds(command: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plans = {name: (make, []) for name, make in NETWORKS.items()} | VARIANTS
        for name, (make, options) in plans.items():
            source, plan = Path(folder, f"{name}.onnx"), Path(folder, f"{name}.plan")
            onnx.save(make(), source)
            subprocess.run(
                [command, "build", source, "-o", plan, "--budget", "0", "--deterministic", "--threads", "1", *options],
                check=True, capture_output=True,
            )
            write("plan", f"{name}.txt", plan_text(plan))


def safetensors(header: dict, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def safetensors_seeds() -> None:
    entry = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    write("safetensors", "one", safetensors({"w": entry}, bytes(range(24))))
    kinds = {"BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "I16": 2, "F16": 2, "BF16": 2, "I64": 8, "F64": 8}
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for kind, size in kinds.items():
        header[kind.lower()] = {"dtype": kind, "shape": [1], "data_offsets": [end, end + size]}
        end += size
    write("safetensors", "kinds", safetensors(header, bytes(end)))
    write("safetensors", "empty", safetensors({"e": {"dtype": "F32", "shape": [0, 4], "data_offsets": [0, 0]}}, b""))


def regex_seeds() -> None:
    patterns = {
        "words": "(?i)[a-z]+(b|c){2,3}\nAbCb", "classes": r"[[:alpha:]\d_-]*?\W[^x-z]" + "\nab1 a", "groups": "(?P<a>x(?:y|z)*)+$\nxyzx",
        "edges": r"\A\b.*\B\z" + "\nwort", "nested": "((a*)*)*b\naaaaaaaaaaaaaaaaaac", "unicode": "[à-ü]+é?\nàü\u00e9",
    }
    for name, text in patterns.items():
        write("regex", name, text.encode())


def text_seeds() -> None:
    for target, seeds in {"task": task_seeds(), "truth": truth_seeds(), "labels": label_seeds(), "calibration": calibration_seeds()}.items():
        for name, content in seeds.items():
            write(target, name, content)


def outside_seeds() -> None:
    for target, seeds in {"audio": audio_seeds(), "picture": picture_seeds(), "clip": clip_seeds(), "cache": cache_seeds(), "settings": settings_seeds()}.items():
        for name, content in seeds.items():
            write(target, name, content)


def video_seeds() -> None:
    for target, seeds in {"bitstream": bitstream_seeds(), "elementary_stream": elementary_stream_seeds(), "index": index_seeds()}.items():
        for name, content in seeds.items():
            write(target, name, content)


def protobuf_seeds() -> None:
    for target, seeds in {"tensorflow": tensorflow_seeds(), "bundle": bundle_seeds(), "saved_model": saved_model_seeds(), "caffe": caffe_seeds(), "tfrecord": tfrecord_seeds()}.items():
        for name, content in seeds.items():
            write(target, name, content)


if __name__ == "__main__":
    onnx_seeds()
    ir_seeds()
    safetensors_seeds()
    regex_seeds()
    text_seeds()
    outside_seeds()
    video_seeds()
    protobuf_seeds()
    plan_seeds(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "bin" / "lanner")
