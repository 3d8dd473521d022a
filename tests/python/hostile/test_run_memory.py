"""Models of a few hundred bytes whose runs need much memory: rejected within the limit, for every number of threads."""

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from peak_memory import OWN

pytest.importorskip("lanner")

MIB = 1 << 20
LIMIT = 256 * MIB
BESIDE = 256 * MIB  # Python, NumPy, the library, and what limits leave out
RUN = OWN + """
import sys
import numpy as np, lanner
path, shape, threads = sys.argv[1], eval(sys.argv[2]), int(sys.argv[3])
try:
    engine = lanner.build(path, budget=0, threads=threads, limits={"total_bytes": %d})
    engine({one.name: np.array(shape) if one.name == "s" else np.zeros([0 if d == 0 else d for d in shape], np.float32) for one in engine.inputs})
except lanner.LimitExceeded as error:
    print(error)
else:
    print("held")
print(peak())
""" % LIMIT


def constant(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.array(values, dtype), name)


def strings(values):
    return helper.make_tensor("t", TensorProto.STRING, [len(values)], [value.encode() for value in values])


def save(path, nodes, outputs, constants, inputs, opset=18):
    made = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs], constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    onnx.save(model, path)
    return path


def run(path, values, threads):
    """Output and peak memory of the process."""
    arguments = [sys.executable, "-c", RUN, str(path), repr(values), str(threads)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=True)
    said, peak = done.stdout.rsplit("\n", 2)[:2]
    return said, int(peak)


SIZE = helper.make_tensor_value_info("s", TensorProto.INT64, ["n"])
LONG = "x" * 1000
STRING = TensorProto.STRING
TEXTS = {
    "expand": [helper.make_node("Expand", ["t", "s"], ["y"])],
    "tile": [helper.make_node("Tile", ["t", "s"], ["y"])],
    "pad": [helper.make_node("Concat", ["z", "s"], ["p"], axis=0), helper.make_node("Pad", ["t", "p"], ["y"], mode="edge")],
    "resize": [helper.make_node("Resize", ["t", "", "", "s"], ["y"], mode="nearest")],
    "gather": [helper.make_node("ConstantOfShape", ["s"], ["i"], value=helper.make_tensor("v", TensorProto.INT64, [1], [0])), helper.make_node("Gather", ["t", "i"], ["y"])],
    "where": [helper.make_node("ConstantOfShape", ["s"], ["i"], value=helper.make_tensor("v", TensorProto.BOOL, [1], [1])), helper.make_node("Where", ["i", "t", "t"], ["y"])],
    "concat": [helper.make_node("Expand", ["e", "s"], ["w"]), helper.make_node("StringConcat", ["w", "t"], ["y"])],
}


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("kind", TEXTS)
def test_memory_of_characters_is_counted_on_every_thread(tmp_path, kind, threads):
    texts = [strings([LONG]), constant("z", [0]), helper.make_tensor("e", STRING, [1], [b""])]
    path = save(tmp_path / "m.onnx", TEXTS[kind], [("y", STRING)], texts, [SIZE], 20)
    said, peak = run(path, [2_000_000], threads)
    assert "over the limit total_bytes" in said
    assert peak < LIMIT + BESIDE


F32 = TensorProto.FLOAT
X = helper.make_tensor_value_info("x", F32, None)
LARGE = 100_000_000
LISTS = {
    # Tables as long as an axis of the output, whose elements may be a byte or empty.
    "resize": ([1, 1, 1, 1], [helper.make_node("Cast", ["x"], ["b"], to=TensorProto.BOOL), helper.make_node("Cast", ["b"], ["u"], to=TensorProto.UINT8), helper.make_node("Resize", ["u", "", "", "s4"], ["y"], mode="nearest")], TensorProto.UINT8),
    "resize_linear": ([1, 1, 1, 1], [helper.make_node("Resize", ["x", "", "", "s4"], ["y"], mode="linear")], F32),
    "resize_of_nothing": ([1, 0, 1, 1], [helper.make_node("Resize", ["x", "", "", "s40"], ["y"], mode="nearest")], F32),
    "pad_of_nothing": ([0, 1], [helper.make_node("Pad", ["x", "pads"], ["y"])], F32),
    "runs_of_nothing": ([0, LARGE, 5], [helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)], F32),
    "products_of_nothing": ([LARGE, 1, 0], [helper.make_node("MatMul", ["x", "empty"], ["y"])], F32),
    "slices_of_nothing": ([LARGE, 0], [helper.make_node("Unique", ["x"], ["y"], axis=0)], F32),
}


@pytest.mark.parametrize("kind", LISTS)
def test_memory_of_working_lists_is_counted(tmp_path, kind):
    shape, nodes, dtype = LISTS[kind]
    constants = [
        constant("s4", [1, 1, 0 if kind == "resize" else 1, LARGE]), constant("s40", [1, 0, 1, LARGE]),
        constant("pads", [0, 0, 0, LARGE]), constant("axes", [1, 2]), constant("empty", np.zeros((0, 0)), np.float32),
    ]
    used = {name for node in nodes for name in node.input}
    path = save(tmp_path / "m.onnx", nodes, [("y", dtype)], [one for one in constants if one.name in used], [X])
    _, peak = run(path, shape, 2)
    assert peak < LIMIT + BESIDE
