"""What TensorFlow reads of the files that tensorflow_reads_test.cpp wrote; and files of TensorFlow's for it.

`make FOLDER` writes what the test reads, `check FOLDER` reads what it wrote, and ends with an exception where something
is not as expected.
"""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import function_pb2, graph_pb2
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.saved_model import loader_impl

FOLDER = Path(sys.argv[2])
X = np.float32([[1, 2], [-3, 4]])
ANSWER = np.maximum(X @ np.float32([[1, 2], [3, 4]]) + np.float32([10, 20]), 0)


def graph_def(name: str) -> graph_pb2.GraphDef:
    graph = graph_pb2.GraphDef()
    graph.ParseFromString((FOLDER / name).read_bytes())
    return graph


def run_graph() -> None:
    graph = graph_def("graph.pb")
    assert (graph.versions.producer, graph.versions.min_consumer) == (2474, 12)
    assert [f.signature.name for f in graph.library.function] == ["scaled", "kept"]
    with tf.Graph().as_default() as made:
        tf.import_graph_def(graph, name="")
        with tf.compat.v1.Session(graph=made) as session:
            answer, text, empty, scalar = session.run(["relu:0", "text:0", "empty:0", "scalar:0"], {"x:0": X})
    np.testing.assert_array_equal(answer, 2 * ANSWER)
    assert text.tolist() == [b"one", b"", b"\0\xff"]
    assert empty.shape == (0, 3) and empty.dtype == np.int64
    assert scalar.shape == () and scalar == 7


def check_attributes() -> None:
    """Every kind of value, empty ones too."""
    (node,) = graph_def("attributes.pb").node
    value = node.attr
    kinds = {name: value[name].WhichOneof("value") for name in value}
    assert kinds == {
        "text": "s", "integer": "i", "real": "f", "flag": "b", "type": "type", "shape": "shape", "scalar_shape": "shape", "any_shape": "shape",
        "tensor": "tensor", "function": "func", "texts": "list", "integers": "list", "reals": "list", "flags": "list", "types": "list",
        "shapes": "list", "functions": "list", "nothing": "list", "reference": "placeholder", "raw": "s",
    }, kinds
    assert (node.device, list(node.input)) == ("/device:CPU:0", ["a", "b:1", "^c"])
    assert (value["text"].s, value["integer"].i, value["real"].f, value["flag"].b, value["type"].type) == (b"\0x", -5, 0.5, False, tf.int64.as_datatype_enum)
    assert tf.TensorShape(value["shape"].shape).as_list() == [None, 3] and tf.TensorShape(value["scalar_shape"].shape).rank == 0
    assert tf.TensorShape(value["any_shape"].shape).rank is None
    np.testing.assert_array_equal(tf.make_ndarray(value["tensor"].tensor), np.float16([1, 2, 3]))
    assert value["function"].func.name == "f" and value["reference"].placeholder == "T" and value["raw"].s == b"kept"
    assert list(value["texts"].list.s) == [b"a", b""] and list(value["integers"].list.i) == [1, -1]
    assert list(value["reals"].list.f) == [0.25] and list(value["flags"].list.b) == [True, False]
    assert list(value["types"].list.type) == [1, 3]
    assert [tf.TensorShape(shape).rank for shape in value["shapes"].list.shape] == [1, 0, None]
    assert [function.name for function in value["functions"].list.func] == ["f", "g"]


def check_engines() -> None:
    last, first = graph_def("engines.pb").node
    assert last.op == first.op == "TRTEngineOp"
    assert last.attr["segment_func"].func.name == "TRTEngineOp_000_000_native_segment"
    assert first.attr["segment_funcdef_name"].s == b"TRTEngineOp_0_native_segment"
    for node in (last, first):
        assert list(node.attr["InT"].list.type) == [1, 3] and list(node.attr["OutT"].list.type) == [1]
        assert [tf.TensorShape(s).rank for s in node.attr["input_shapes"].list.shape] == [2, 0]
        assert node.attr["precision_mode"].s == b"INT8" and node.attr["calibration_data"].s == b"TRT-8401"
    assert {"max_batch_size", "_use_implicit_batch", "_allow_build_at_runtime", "profile_strategy", "output_shapes"} <= set(last.attr)


def run_saved_model() -> None:
    folder = str(FOLDER / "saved_model")
    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString((FOLDER / "saved_model" / "saved_model.pb").read_bytes())
    (meta,) = saved.meta_graphs
    assert saved.saved_model_schema_version == 1 and list(meta.meta_info_def.tags) == ["serve"]
    assert meta.meta_info_def.function_aliases["called"] == "scaled"
    assert [(asset.tensor_info.name, asset.filename) for asset in meta.asset_file_def] == [("asset:0", "labels.txt")]
    (asset,) = loader_impl.get_asset_tensors(folder, meta).values()
    assert Path(tf.compat.as_str(asset)).read_text() == "labels"
    loaded = tf.saved_model.load(folder)
    signature = loaded.signatures["serving_default"]
    assert list(signature.structured_input_signature[1]) == ["x"]
    np.testing.assert_allclose(signature(x=tf.constant(X))["y"], X @ np.float32([[5, 6], [7, 8]]), rtol=1e-6)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.saved_model.load(session, ["serve"], folder)
        y = session.run("y:0", {"x:0": X})
    np.testing.assert_allclose(y, X @ np.float32([[5, 6], [7, 8]]), rtol=1e-6)


def read_checkpoints() -> None:
    reader = tf.train.load_checkpoint(str(FOLDER / "checkpoint" / "all"))
    shapes = reader.get_variable_to_shape_map()
    assert len(shapes) == 911, len(shapes)
    for i in range(900):
        key = f"{i:03}" + "k" * 400
        assert reader.get_tensor(key) == i
    for name, dtype in {"f32": "float32", "f64": "float64", "f16": "float16", "i8": "int8", "u8": "uint8", "i64": "int64", "bool": "bool"}.items():
        tensor = reader.get_tensor(f"types/{name}")
        assert tensor.dtype == dtype and tensor.tolist() == [[1, 0, 1]], (name, tensor)
    assert reader.get_tensor("types/bf16").astype(np.float32).tolist() == [[1, 0, 1]]
    assert reader.get_tensor("text").tolist() == [b"", b"x" * 300, b"\0"] and reader.get_tensor("scalar") == 7
    assert shapes["nothing"] == [0, 4]
    assert tf.train.load_checkpoint(str(FOLDER / "checkpoint" / "none")).get_variable_to_shape_map() == {}


def read_events() -> None:
    (path,) = FOLDER.glob("events.out.tfevents.*")
    version, graph = tf.compat.v1.train.summary_iterator(str(path))
    assert version.file_version == "brain.Event:2" and version.wall_time == 1700000000.5
    assert graph.graph_def == (FOLDER / "graph.pb").read_bytes()


def write_records() -> None:
    with tf.io.TFRecordWriter(str(FOLDER / "made.tfrecord")) as writer:
        for i in range(50):
            feature = {
                "text": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"%d" % i] * i)),
                "number": tf.train.Feature(int64_list=tf.train.Int64List(value=range(-i, i))),
                "real": tf.train.Feature(float_list=tf.train.FloatList(value=[i / 4])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.v = tf.Variable([[5.0, 6.0], [7.0, 8.0]])
        self.count = tf.Variable(3)

    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def call(self, x):
        return {"y": tf.nn.relu(x @ self.v) if self.count > 2 else x}


def make() -> None:
    model = Model()
    tf.saved_model.save(model, str(FOLDER / "made"), signatures=model.call)
    write_records()


def run_rewritten() -> None:
    """A model of TensorFlow 2 whose graph was read and written, and whose object graph was passed through."""
    expected = np.maximum(X @ np.float32([[5, 6], [7, 8]]), 0)
    loaded = tf.saved_model.load(str(FOLDER / "rewritten"))
    np.testing.assert_allclose(loaded.call(tf.constant(X))["y"], expected, rtol=1e-6)
    np.testing.assert_allclose(loaded.signatures["serving_default"](x=tf.constant(X))["y"], expected, rtol=1e-6)
    assert loaded.count.numpy() == 3


if sys.argv[1] == "make":
    make()
else:
    for step in (run_graph, check_attributes, check_engines, run_saved_model, run_rewritten, read_checkpoints, read_events):
        step()
    assert function_pb2.FunctionDef.FromString((FOLDER / "function.pb").read_bytes()).control_ret["done"] == "work"
