"""TrtGraphConverter: GraphDefs and SavedModels of TensorFlow 1."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import lanner
from lanner.compat.trt_convert import conversion, functions, graphs, logs, report, variables
from lanner.compat.trt_convert.parameters import (
    DEFAULT_TRT_MAX_WORKSPACE_SIZE_BYTES,
    TrtConversionParams,
    TrtPrecisionMode,
    check_conversion_params,
    needs_calibration,
)

default_names = "2.x"
"""How engines are called where a converter's `names` does not say; `python -m lanner.compat --tf1` sets "1.x"."""


def _name(value: Any) -> str:
    """The name of a node or tensor, given by it or by the object of TensorFlow."""
    return str(value if isinstance(value, str) else value.decode() if isinstance(value, bytes) else value.name)


def _value_name(value: Any) -> str:
    return _name(value).removesuffix(":0")


class TrtGraphConverter:
    """Converts a GraphDef or SavedModel, as TF-TRT did in TensorFlow 1.

    input_saved_model_dir, input_saved_model_tags, input_saved_model_signature_key: the SavedModel that is converted
    input_graph_def: the GraphDef that is converted, instead
    nodes_denylist, nodes_blacklist: nodes that stay native; of a GraphDef these are its outputs
    session_config: ConfigProto; its intra_op_parallelism_threads is used, other fields are reported
    max_batch_size: of static engines
    is_dynamic_op: False: engines are built by convert(); True: where the model runs
    names: "2.x": engines are called TRTEngineOp_000_000; "1.x": TRTEngineOp_0
    The others: see TrtConversionParams.
    """

    def __init__(
        self,
        input_saved_model_dir: str | None = None,
        input_saved_model_tags: Sequence[str] | None = None,
        input_saved_model_signature_key: str | None = None,
        input_graph_def: Any = None,
        nodes_denylist: Sequence[Any] | None = None,
        max_batch_size: int | None = 1,
        max_workspace_size_bytes: int = DEFAULT_TRT_MAX_WORKSPACE_SIZE_BYTES,
        precision_mode: str = TrtPrecisionMode.FP32,
        minimum_segment_size: int = 3,
        is_dynamic_op: bool = False,
        maximum_cached_engines: int = 1,
        use_calibration: bool = True,
        use_function_backup: bool = True,
        *,
        nodes_blacklist: Sequence[Any] | None = None,
        session_config: Any = None,
        cached_engine_batches: Sequence[int] | None = None,
        rewriter_config_template: Any = None,
        names: str | None = None,
    ) -> None:
        _require_graph_mode()
        if bool(input_graph_def) == bool(input_saved_model_dir):
            which = "Can only" if input_graph_def else "Must"
            raise ValueError(f"{which} specify one of input_graph_def and input_saved_model_dir")
        if nodes_denylist and nodes_blacklist:
            raise ValueError("nodes_denylist and nodes_blacklist are two names of one parameter; give one of them")
        params = TrtConversionParams(
            max_workspace_size_bytes=max_workspace_size_bytes,
            precision_mode=precision_mode,
            minimum_segment_size=minimum_segment_size,
            maximum_cached_engines=maximum_cached_engines,
            use_calibration=use_calibration,
            use_function_backup=use_function_backup,
            cached_engine_batches=cached_engine_batches,
        )
        check_conversion_params(params)
        is_dynamic_op = _settled_mode(params, is_dynamic_op, max_batch_size)
        names = names or default_names
        graphs.check_names(names)
        conversion.tell_of_template(rewriter_config_template)
        self._params = params
        self._graph_def = input_graph_def
        self._batch_size = None if is_dynamic_op else max_batch_size
        self._threads = conversion.threads_of(session_config)
        self._settings = graphs.EngineSettings(params, not is_dynamic_op, names, use_function_backup)
        self._denied = [_value_name(node) for node in (nodes_denylist or nodes_blacklist or [])]
        self._tags = conversion.tags_of(input_saved_model_tags)
        self._source = self._source_of(input_saved_model_dir, input_saved_model_signature_key or "serving_default")
        self._model: lanner.tf.ConvertedModel | None = None
        self._result: conversion.Result | None = None
        self._calibrated = False

    def _source_of(self, folder: str | None, key: str) -> conversion.Source:
        """Outputs stay native, so that they keep their names for those who fetch them."""
        denied = [name.split(":")[0] for name in self._denied]
        if folder is None:
            return conversion.Source(_with_outputs(self._graph_def, self._denied), outputs=self._denied, denied=denied)
        from tensorflow.python.tools import saved_model_utils

        self._original = saved_model_utils.get_meta_graph_def(folder, ",".join(self._tags))
        if key not in self._original.signature_def:
            raise ValueError(f"{folder}: no signature '{key}'; there are: {', '.join(sorted(self._original.signature_def)) or 'none'}")
        outputs = [info.name.split(":")[0] for info in self._original.signature_def[key].outputs.values()]
        return conversion.Source(str(folder), self._tags, key, denied=[*denied, *outputs])

    def convert(self) -> Any:
        """Converts the model and returns the GraphDef."""
        if self._model is not None:
            raise AssertionError("convert() is already called")
        functions.register_operators()
        self._model = self._convert()
        if self._settings.is_static and _has_open_sizes(self._model):
            self._settings.is_static = False
            self._model = self._convert()
        report.tell(self._model)
        self._result = conversion.result_of(self._model, self._settings, engines=self._settings.is_static)
        if variables.graph_viz_path():
            report.write_graph_viz(self._result.meta_graph.graph_def, self._result.ops, variables.graph_viz_path())
        return self._result.meta_graph.graph_def

    def _convert(self, batches: Sequence[conversion.Batch] | None = None) -> lanner.tf.ConvertedModel:
        options: dict[str, Any] = {"mode": "dynamic"}
        if self._settings.is_static:
            options = {"mode": "static", "max_batch_size": self._batch_size}
        return conversion.convert(self._source, self._params, batches=batches, threads=self._threads, **options)

    def calibrate(
        self,
        fetch_names: Sequence[str],
        num_runs: int,
        feed_dict_fn: Callable[[], Mapping[Any, Any]] | None = None,
        input_map_fn: Callable[[], Mapping[str, Any]] | None = None,
    ) -> Any:
        """Calibrates for INT8 and returns the GraphDef.

        fetch_names: tensors that are fetched; they must be in the graph
        num_runs: how many batches are taken
        feed_dict_fn: function that returns a batch, as a dict from the name of an input to its value
        input_map_fn: function that returns a dict from the name of an input to a tensor, which is evaluated num_runs times
        """
        if self._model is None or self._result is None:
            raise AssertionError("Need to call convert() before calibrate()")
        if not needs_calibration(self._params):
            raise AssertionError("calibrate() is for precision mode INT8 with use_calibration=True")
        if self._calibrated:
            raise AssertionError("calibrate() is already called")
        if bool(feed_dict_fn) == bool(input_map_fn):
            raise ValueError("Should specify one and only one of feed_dict_fn and input_map_fn.")
        self._check_fetches(fetch_names)
        runs = _fed(feed_dict_fn, num_runs) if feed_dict_fn else _mapped(input_map_fn, num_runs)  # type: ignore[arg-type]
        batches = [self._batch(values) for values in runs]
        conversion.require_equal_shapes(batches)
        self._model = self._convert(batches)
        self._result = conversion.result_of(self._model, self._settings)
        self._calibrated = True
        return self._result.meta_graph.graph_def

    def _check_fetches(self, fetch_names: Sequence[str]) -> None:
        assert self._result is not None
        known = {node.name for node in self._result.meta_graph.graph_def.node}
        for name in fetch_names:
            if _name(name).split(":")[0] not in known:
                raise ValueError(f"Requested return_element '{_name(name)}' not found in graph_def.")

    def _batch(self, values: Mapping[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        assert self._result is not None and self._model is not None
        dtypes = {binding.name: conversion.numpy_dtype(binding.dtype) for binding in self._model.inputs}
        names = self._result.input_names
        batch = {}
        for key, value in values.items():
            tensor = _name(key) if ":" in _name(key) else _name(key) + ":0"
            if tensor not in names:
                raise ValueError(f"calibration: '{_name(key)}' is not an input; there are {', '.join(sorted(names))}")
            batch[names[tensor]] = conversion.as_array(value, dtypes[names[tensor]])
        return batch

    def save(self, output_saved_model_dir: str) -> None:
        """Saves the converted model as a SavedModel; of a GraphDef there is none.

        output_saved_model_dir: a folder that is new or empty
        """
        if self._result is None:
            raise AssertionError("Need to call convert() before save()")
        if needs_calibration(self._params) and not self._calibrated:
            raise AssertionError("Need to call calibrate() before save(), as the precision mode is INT8")
        if self._graph_def:
            raise ValueError("Not able to save to a SavedModel since input is a GraphDef")
        meta_graph = self._result.meta_graph
        del meta_graph.meta_info_def.tags[:]
        meta_graph.meta_info_def.tags.extend(self._tags)
        _keep_collections(self._original, meta_graph)
        if self._result.has_state:
            self._result.write(str(output_saved_model_dir))
        else:
            conversion.write_saved_model(meta_graph, str(output_saved_model_dir))


def _settled_mode(params: TrtConversionParams, is_dynamic_op: bool, max_batch_size: int | None) -> bool:
    """Whether engines are dynamic, with TF-TRT's warnings."""
    if needs_calibration(params) and not is_dynamic_op:
        logs.warn("INT8 precision mode with calibration is supported with dynamic TRT ops only. Disregarding is_dynamic_op parameter.")
        is_dynamic_op = True
    if is_dynamic_op:
        if max_batch_size is not None:
            logs.warn("When is_dynamic_op==True max_batch_size should be None")
    elif not isinstance(max_batch_size, int):
        raise ValueError("When is_dynamic_op==False max_batch_size should be an integer")
    return is_dynamic_op


def _has_open_sizes(model: lanner.tf.ConvertedModel) -> bool:
    """Whether sizes besides the batch are open, for which no engine can be built ahead; it warns of them."""
    open_shapes = {binding.name: binding.shape for binding in model.inputs if any(isinstance(size, str) for size in binding.shape[1:])}
    for name, shape in open_shapes.items():
        shown = ",".join("?" if isinstance(size, str) else str(size) for size in shape)
        text = "Input shapes must be fully defined when in static mode. Please try is_dynamic_op=True."
        logs.write(logs.WARNING, "convert_nodes", f"{text} (shape of {name} was [{shown}])")
    return bool(open_shapes)


def _with_outputs(graph: Any, outputs: Sequence[str]) -> bytes:
    """A GraphDef has no outputs of its own: as a MetaGraphDef it takes those that are named, and nothing else is computed."""
    if not outputs:
        return bytes(graph.SerializeToString())
    from tensorflow.core.protobuf import meta_graph_pb2

    made = meta_graph_pb2.MetaGraphDef(graph_def=graph)
    made.meta_info_def.tensorflow_version = "1"  # by which a MetaGraphDef is told from a GraphDef
    return bytes(made.SerializeToString())


def _require_graph_mode() -> None:
    from tensorflow.python.eager import context

    if context.executing_eagerly():
        raise RuntimeError("Please use tf.experimental.tensorrt.Converter in TF 2.0.")


def _keep_collections(original: Any, converted: Any) -> None:
    """Collections of names stay where the nodes are still there; those of variables and training have lost their meaning."""
    nodes = {node.name for node in converted.graph_def.node}
    for key, collection in original.collection_def.items():
        names = [name for name in collection.node_list.value if name.lstrip("^").split(":")[0] in nodes]
        if key not in ("train_op", graphs.INITIAL_NODES) and names:
            converted.collection_def[key].node_list.value[:] = names


def _fed(feed_dict_fn: Callable[[], Mapping[Any, Any]], num_runs: int) -> list[Mapping[Any, Any]]:
    return [feed_dict_fn() for _ in range(num_runs)]


def _mapped(input_map_fn: Callable[[], Mapping[str, Any]], num_runs: int) -> list[Mapping[Any, Any]]:
    import tensorflow as tf

    with tf.Graph().as_default():
        tensors = input_map_fn()
    for key, value in tensors.items():
        if not isinstance(key, str):
            raise ValueError("Keys of input_map_fn must be of type str")
        if not isinstance(value, tf.Tensor):
            raise ValueError("Values of input_map_fn must be of type tf.Tensor")
    if not tensors:
        raise ValueError("input_map_fn gave no tensors; expected one for each input")
    with tf.compat.v1.Session(graph=next(iter(tensors.values())).graph) as session:
        return [session.run(dict(tensors)) for _ in range(num_runs)]


def create_inference_graph(
    input_graph_def: Any,
    outputs: Sequence[Any] | None,
    max_batch_size: int | None = 1,
    max_workspace_size_bytes: int = DEFAULT_TRT_MAX_WORKSPACE_SIZE_BYTES,
    precision_mode: str = TrtPrecisionMode.FP32,
    minimum_segment_size: int = 3,
    is_dynamic_op: bool = False,
    maximum_cached_engines: int = 1,
    input_saved_model_dir: str | None = None,
    input_saved_model_tags: Sequence[str] | None = None,
    input_saved_model_signature_key: str | None = None,
    output_saved_model_dir: str | None = None,
    *,
    cached_engine_batches: Sequence[int] | None = None,
    use_calibration: bool = False,
    session_config: Any = None,
) -> Any:
    """Converts a GraphDef, or a SavedModel where that is None, by one call, and returns the GraphDef. See TrtGraphConverter.

    outputs: tensors or nodes that the GraphDef is computed for; they stay native
    output_saved_model_dir: where the converted SavedModel is saved, if given
    """
    converter = TrtGraphConverter(
        input_saved_model_dir=input_saved_model_dir,
        input_saved_model_tags=input_saved_model_tags,
        input_saved_model_signature_key=input_saved_model_signature_key,
        input_graph_def=input_graph_def,
        nodes_denylist=outputs,
        max_batch_size=max_batch_size,
        max_workspace_size_bytes=max_workspace_size_bytes,
        precision_mode=precision_mode,
        minimum_segment_size=minimum_segment_size,
        is_dynamic_op=is_dynamic_op,
        maximum_cached_engines=maximum_cached_engines,
        use_calibration=use_calibration,
        session_config=session_config,
        cached_engine_batches=cached_engine_batches,
    )
    graph = converter.convert()
    if output_saved_model_dir:
        converter.save(output_saved_model_dir)
    return graph
