"""Models with TRTEngineOp nodes in the forms that TF-TRT's releases wrote, from the facts of the formats: no TF-TRT takes part.

Used by inside_support.py, in a Python whose TensorFlow knows the operators.
"""

import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework import convert_to_constants
from tensorflow.python.trackable import asset, resource

v1 = tf.compat.v1
NATIVE = "_native_segment"


def frozen(function, *shapes, dtype=tf.float32):
    """The concrete function of `function` on inputs of these shapes, variables as constants."""
    concrete = tf.function(function).get_concrete_function(*[tf.TensorSpec(shape, dtype) for shape in shapes])
    return convert_to_constants.convert_variables_to_constants_v2(concrete, lower_control_flow=False)


def segment_graph(concrete):
    """The graph that TF-TRT kept in `serialized_segment`: placeholders and results by its names."""
    graph = graph_pb2.GraphDef()
    graph.CopyFrom(concrete.graph.as_graph_def())
    renamed = {tensor.op.name: f"TensorRTInputPH_{i}" for i, tensor in enumerate(concrete.inputs)}
    results = [tensor.name for tensor in concrete.outputs]
    for node in graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
        node.name = renamed.get(node.name, node.name)
    for i, (name, tensor) in enumerate(zip(results, concrete.outputs, strict=True)):
        node = graph.node.add(name=f"TensorRTOutputPH_{i}", op="Identity")
        node.input.append(renamed.get(name.split(":")[0], name))
        node.attr["T"].type = tensor.dtype.as_datatype_enum
    return graph


def segment_function(concrete, name):
    """The same as a function of the library."""
    definition = type(concrete.function_def)()
    definition.CopyFrom(concrete.function_def)
    definition.signature.name = name
    for key in list(definition.attr):
        del definition.attr[key]
    return definition


def shape_proto(shape):
    return tf.TensorShape(shape).as_proto()


def engine_node(graph, concrete, name, inputs, form, function="", **attributes):
    """Adds a node as of one era: `first` (1.x to 2.0) or `last` (2.x)."""
    node = graph.node.add(name=name, op=attributes.pop("op", "TRTEngineOp"))
    node.input.extend(inputs)
    attr = node.attr
    attr["InT"].list.type.extend(tensor.dtype.as_datatype_enum for tensor in concrete.inputs)
    attr["OutT"].list.type.extend(tensor.dtype.as_datatype_enum for tensor in concrete.outputs)
    attr["input_shapes"].list.shape.extend(shape_proto(tensor.shape) for tensor in concrete.inputs)
    attr["output_shapes"].list.shape.extend(shape_proto(tensor.shape) for tensor in concrete.outputs)
    attr["precision_mode"].s = b"FP32"
    attr["calibration_data"].s = b""
    attr["workspace_size_bytes"].i = 1 << 30
    attr["use_calibration"].b = False
    attr["max_cached_engines_count"].i = 1
    attr["cached_engine_batches"].list.i.extend([8] if form == "first" else [])
    attr["fixed_input_size"].b = True
    attr["static_engine"].b = False
    attr["serialized_segment"].s = b""
    if form == "first":
        attr["segment_funcdef_name"].s = function.encode()
    else:
        attr["segment_funcdef_name"].s = b""
        if function:
            attr["segment_func"].func.name = function
        attr["max_batch_size"].i = 8
        attr["profile_strategy"].s = b""
        attr["use_explicit_precision"].b = False
        for hidden in ("_use_implicit_batch", "_allow_build_at_runtime", "_allow_soft_placement", "_profile_generation_mode"):
            attr[hidden].b = hidden == "_allow_build_at_runtime"
    for key, value in attributes.items():
        setattr(attr[key], {bytes: "s", bool: "b", int: "i"}[type(value)], value)
    return node


FORMS = ("first_static", "first_dynamic", "last_function", "last_serialized", "last_calibrated")


def engine_graph(concrete, form):
    """Placeholders `x0`.., one engine in one of FORMS, results `y0`.. ."""
    name = "TRTEngineOp_0" if form.startswith("first") else "TRTEngineOp_000_000"
    graph = graph_pb2.GraphDef()
    graph.versions.producer = 1087
    for i, tensor in enumerate(concrete.inputs):
        node = graph.node.add(name=f"x{i}", op="Placeholder")
        node.attr["dtype"].type = tensor.dtype.as_datatype_enum
        node.attr["shape"].shape.CopyFrom(shape_proto(tensor.shape))
    inputs = [f"x{i}" for i in range(len(concrete.inputs))]
    graph.library.CopyFrom(concrete.graph.as_graph_def().library)
    if form in ("first_static", "last_function"):
        graph.library.function.add().CopyFrom(segment_function(concrete, name + NATIVE))
    if form == "first_static":  # bytes of TensorRT's, which nobody here reads
        engine_node(graph, concrete, name, inputs, "first", name + NATIVE, static_engine=True, serialized_segment=b"ftrt\x00\x01\x02\x03 an engine")
    elif form == "last_function":
        engine_node(graph, concrete, name, inputs, "last", name + NATIVE, static_engine=True)
    else:
        precision = {"precision_mode": b"INT8", "calibration_data": b"TRT-8401-EntropyCalibration2\nx: 3c010a14\n"} if form == "last_calibrated" else {}
        engine_node(graph, concrete, name, inputs, form.split("_")[0], serialized_segment=segment_graph(concrete).SerializeToString(), **precision)
    for i, tensor in enumerate(concrete.outputs):
        node = graph.node.add(name=f"y{i}", op="Identity")
        node.input.append(f"{name}:{i}" if i else name)
        node.attr["T"].type = tensor.dtype.as_datatype_enum
    return graph


def signature_names(concrete):
    return [f"x{i}" for i in range(len(concrete.inputs))], [f"y{i}" for i in range(len(concrete.outputs))]


def save_of_first_era(graph, concrete, folder):
    """A SavedModel of TensorFlow 1: a graph and a signature, no objects."""
    inputs, outputs = signature_names(concrete)
    with tf.Graph().as_default() as made, v1.Session(graph=made) as session:
        tf.import_graph_def(graph, name="")
        given = {name: made.get_tensor_by_name(name + ":0") for name in inputs}
        got = {name: made.get_tensor_by_name(name + ":0") for name in outputs}
        v1.saved_model.simple_save(session, str(folder), given, got)


class EngineResource(resource.TrackableResource):
    """As TrtGraphConverterV2.save wrote it: a resource by the engine's name, and a file of serialised engines."""

    def __init__(self, operators, name, file):
        super().__init__()
        self._operators, self._name = operators, name
        self._file = self._track_trackable(asset.Asset(str(file)), "_serialized_trt_resource_filename")

    def _create_resource(self):
        return self._operators.create_trt_resource_handle(resource_name=self._name)

    def _initialize(self):
        self._operators.initialize_trt_resource(self.resource_handle, self._file.asset_path, max_cached_engines_count=1)


def save_of_last_era(graph, concrete, folder, operators):
    """A SavedModel of TensorFlow 2, with the resources of its engines."""
    inputs, outputs = signature_names(concrete)

    def run(*given):
        got = tf.import_graph_def(graph, dict(zip(inputs, given, strict=True)), [name + ":0" for name in outputs], name="")
        return dict(zip(outputs, got, strict=True))

    specs = [tf.TensorSpec(tensor.shape, tensor.dtype, name) for tensor, name in zip(concrete.inputs, inputs, strict=True)]
    module = tf.Module()
    file = folder.parent / "trt-serialized-engine.TRTEngineOp_000_000"
    file.write_bytes(b"engines of TensorRT, as TFRecords")
    module.trt_engine_resources = {"TRTEngineOp_000_000": EngineResource(operators, "TRTEngineOp_000_000", file)}
    tf.saved_model.save(module, str(folder), tf.function(run, input_signature=specs).get_concrete_function())
