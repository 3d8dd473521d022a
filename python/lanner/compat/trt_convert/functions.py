"""Converted models as functions of TensorFlow 2, and saved with their engines."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lanner
from lanner.compat.trt_convert import graphs


def register_operators() -> None:
    """Registers TRTEngineOp with TensorFlow, unless it has been: then options that were given stay."""
    from tensorflow.python.framework import op_def_registry

    if op_def_registry.get("LannerEngineOp") is None:
        lanner.tf.register()


def concrete_function(meta_graph: Any) -> Any:
    """A ConcreteFunction with the signature's names, whose graph has the converted graph's nodes."""
    import tensorflow as tf

    signature = graphs.signature_of(meta_graph)
    graph = tf.compat.v1.GraphDef()
    graph.CopyFrom(meta_graph.graph_def)
    fed = {info.name.split(":")[0] for info in signature.inputs.values()}
    kept = [node for node in graph.node if node.name not in fed]
    del graph.node[:]
    graph.node.extend(kept)
    keys = sorted(signature.outputs)

    def converted(**inputs: Any) -> dict[str, Any]:
        named = {signature.inputs[key].name: value for key, value in inputs.items()}
        results = tf.graph_util.import_graph_def(graph, input_map=named, return_elements=[signature.outputs[key].name for key in keys], name="")
        for key, result in zip(keys, results, strict=True):
            result.set_shape(signature.outputs[key].tensor_shape)
        return dict(zip(keys, results, strict=True))

    specs = {key: tf.TensorSpec(info.tensor_shape, tf.dtypes.as_dtype(info.dtype), name=key) for key, info in signature.inputs.items()}
    return tf.function(converted, autograph=False).get_concrete_function(**specs)


def loaded(folder: Any, key: str) -> tuple[Any, Any]:
    """The model in a TemporaryDirectory, which stays as long as the model does, and its function. Tables and variables get their values."""
    import tensorflow as tf

    model = tf.saved_model.load(folder.name)
    model.lanner_folder = folder
    return model, model.signatures[key]


def _call(operator: str, **arguments: Any) -> Any:
    """Calls an operator of the library that lanner.tf.register() loads, for which TensorFlow has no Python function."""
    import tensorflow as tf
    from tensorflow.python.framework import op_def_library

    def apply() -> Any:
        return op_def_library.apply_op(operator, **arguments)

    return tf.function(apply, autograph=False)() if tf.executing_eagerly() else apply()


def _engine_resource(name: str, path: Path, maximum_cached_engines: int) -> Any:
    """The plan of an engine, as TF-TRT stored it beside a converted function."""
    from tensorflow.python.trackable import asset, resource

    class EngineResource(resource.TrackableResource):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(device="CPU")
            self._plan = self._track_trackable(asset.Asset(str(path)), "_serialized_trt_resource_filename")

        def _create_resource(self) -> Any:
            return _call("CreateTRTResourceHandle", resource_name=name)

        def _initialize(self) -> None:
            _call(
                "InitializeTRTResource",
                resource_handle=self.resource_handle,
                filename=self._plan.asset_path,
                max_cached_engines_count=maximum_cached_engines,
            )

    return EngineResource()


def save(function: Any, signature_key: str, plans: Mapping[str, bytes], maximum_cached_engines: int, folder: str, scratch: str, options: Any) -> None:
    """Saves the function as a SavedModel of TensorFlow 2, with plans as assets.

    scratch: folder for the plans until they are copied
    """
    import tensorflow as tf

    module = tf.Module()
    resources = {}
    for name, plan in plans.items():
        short = name.split("/")[-1]
        path = Path(scratch) / f"{graphs.PLAN_PREFIX}{short}"
        path.write_bytes(plan)
        resources[short] = _engine_resource(short, path, maximum_cached_engines)
    module.trt_engine_resources = resources
    tf.saved_model.save(module, folder, signatures={signature_key: function}, options=options)
