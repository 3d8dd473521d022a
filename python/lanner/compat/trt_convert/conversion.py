"""A model of the user's, converted by lanner.tf, and the result as TensorFlow's GraphDef."""

import collections
import dataclasses
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import lanner
from lanner.compat.trt_convert import graphs, logs, variables
from lanner.compat.trt_convert.parameters import TrtConversionParams

Batch = Mapping[str, object]


@dataclasses.dataclass
class Source:
    """What is converted: the folder of a SavedModel, or the bytes of a GraphDef.

    outputs: values that a GraphDef is computed for, like `logits` or `split:1`
    denied: names of nodes that stay native
    """

    model: str | bytes
    tags: Sequence[str] = ()
    signature: str = ""
    outputs: Sequence[str] = ()
    denied: Sequence[str] = ()


def convert(source: Source, params: TrtConversionParams, *, batches: Iterable[Batch] | None = None, **options: Any) -> lanner.tf.ConvertedModel:
    """Converts with a conversion's parameters; INT8 only with batches, or where quantization nodes have the ranges.

    batches: calibration data
    options: further options of lanner.tf.convert: mode, max_batch_size, profile_strategy, threads
    """
    variables.tell_of_those_without_effect()
    precision = params.precision_mode.lower()
    if precision == "int8" and params.use_calibration:
        if batches is None:
            precision = "fp32"
        else:
            options["calibration_data"] = batches
    with warnings.catch_warnings():  # TF-TRT left nodes to TensorFlow without a word; report.tell() names them
        warnings.filterwarnings("ignore", message=".*runs inside TensorFlow alone")
        return _convert(source, params, precision, options)


def _convert(source: Source, params: TrtConversionParams, precision: str, options: dict[str, Any]) -> lanner.tf.ConvertedModel:
    return lanner.tf.convert(
        source.model,
        tags=list(source.tags),
        signature=source.signature,
        outputs=list(source.outputs),
        denied_nodes=list(source.denied),
        denied_operators=variables.denied_operators(),
        maximum_engines=variables.maximum_engines(),
        minimum_segment_size=params.minimum_segment_size,
        maximum_cached_engines=params.maximum_cached_engines,
        allow_build_at_runtime=params.allow_build_at_runtime,
        native_fallback=params.use_function_backup and "remove_native_segments" not in variables.experimental_features(),
        precision=precision,
        **options,
    )


@dataclasses.dataclass
class Result:
    """A converted model as TensorFlow's.

    model: what it was made of
    engines: whether engines were asked for
    meta_graph: MetaGraphDef with the GraphDef and the signature
    ops: operators inside each engine
    plans: plan of each engine, where engines were asked for
    """

    model: lanner.tf.ConvertedModel
    engines: bool
    meta_graph: Any
    ops: dict[str, collections.Counter[str]]
    plans: dict[str, bytes]

    @property
    def signature(self) -> Any:
        return graphs.signature_of(self.meta_graph)

    @property
    def has_state(self) -> bool:
        """Whether tables or variables get their values when TensorFlow loads the model."""
        return graphs.INITIAL_NODES in self.meta_graph.collection_def

    def write(self, folder: str) -> None:
        """Writes a SavedModel with the assets that tables read. The folder must be new or empty."""
        path = Path(folder)
        _require_empty(path)
        self.model.save(path, engines=self.engines)
        _write_meta_graph(self.meta_graph, path)

    @property
    def input_names(self) -> dict[str, str]:
        """Name of the model's input by the name of the tensor that is fed."""
        return {info.name: key for key, info in self.signature.inputs.items()}


def result_of(model: lanner.tf.ConvertedModel, settings: graphs.EngineSettings, *, engines: bool = False) -> Result:
    """The model as a MetaGraphDef, with what a conversion's parameters say about its engines in their nodes."""
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel()
    plans = {}
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder, engines=engines)
        saved.ParseFromString((Path(folder) / "saved_model.pb").read_bytes())
        (meta_graph,) = saved.meta_graphs
        for node in graphs.engine_nodes(meta_graph.graph_def):
            path = Path(folder) / "assets" / f"{graphs.PLAN_PREFIX}{node.name.replace('/', '.')}"
            if engines and path.exists():
                plans[node.name] = path.read_bytes()
    ops: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for inside in model.nodes:
        if inside["engine"] is not None:
            ops[str(inside["engine"])][str(inside["op"])] += 1
    names = graphs.apply(meta_graph.graph_def, settings)
    for signature in meta_graph.signature_def.values():
        graphs.rename_in_signature(signature, names)
    return Result(model, engines, meta_graph, {names[name]: ops[name] for name in names}, {names[name]: plan for name, plan in plans.items()})


_LETTERS = {"f": "float", "i": "int", "u": "uint", "b": "bfloat"}


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """numpy's type for the element type of a Binding: `f32`, `i64`, `bool`, `bf16`, `string`."""
    if dtype in ("bool", "string"):
        return np.dtype(bool if dtype == "bool" else object)
    name = _LETTERS[dtype[0]] + dtype.lstrip("fiub")
    if dtype[0] == "b":
        import ml_dtypes

        made: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return made
    return np.dtype(name)


def as_array(value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The value of an input: a tensor of TensorFlow's, an array, or numbers."""
    try:
        if hasattr(value, "numpy"):
            return np.asarray(value.numpy())
        return value if isinstance(value, (np.ndarray, np.generic)) else np.asarray(value, dtype=dtype)  # type: ignore[return-value]
    except (TypeError, ValueError) as error:
        raise RuntimeError(f"Failed to convert input to tensor. {type(value).__name__}: {error}") from error


def batches_of(generator: Iterator[Any], model: lanner.tf.ConvertedModel) -> list[dict[str, np.ndarray[Any, Any]]]:
    """What a calibration_input_fn or input_fn yields: a value for the only input, a list or tuple in the order of names, or a dict."""
    dtypes = {binding.name: numpy_dtype(binding.dtype) for binding in model.inputs}
    names = sorted(dtypes)
    made = []
    for given in generator:
        values = given if isinstance(given, dict) else dict(zip(names, given if isinstance(given, (list, tuple)) else [given], strict=False))
        count = len(given) if isinstance(given, (dict, list, tuple)) else 1
        if count != len(names) or set(values) != set(names):
            shown = f"inputs {', '.join(sorted(map(str, given)))}" if isinstance(given, dict) else f"{count} values"
            raise ValueError(f"the input function gave {shown}; expected one for each of {', '.join(names)}")
        made.append({name: as_array(values[name], dtypes[name]) for name in names})
    return made


def require_equal_shapes(batches: Sequence[Mapping[str, np.ndarray[Any, Any]]]) -> None:
    """Calibration data has one shape for each input, as TF-TRT required."""
    if not batches:
        raise ValueError("INT8 calibration: the input function gave no data; expected at least one batch")
    for number, batch in enumerate(batches):
        for name, value in batch.items():
            first = batches[0][name]
            if value.shape != first.shape:
                raise ValueError(
                    f"INT8 calibration: input {name} of batch {number} has shape {value.shape}, of the first one {first.shape}; "
                    "all batches should have the same shape"
                )


def tags_of(tags: Sequence[str] | str | None) -> list[str]:
    return [tags] if isinstance(tags, str) else sorted(tags or ["serve"])


def threads_of(session_config: Any) -> int:
    """Threads that a ConfigProto asks for; its other fields are reported as without effect."""
    if session_config is None:
        return 0
    others = [field.name for field, _ in session_config.ListFields() if field.name != "intra_op_parallelism_threads"]
    if others:
        logs.tell_once(f"session_config: {', '.join(others)}: no effect, as no session converts; intra_op_parallelism_threads has one.")
    return int(session_config.intra_op_parallelism_threads)


def tell_of_template(template: Any) -> None:
    if template is not None:
        logs.tell_once("rewriter_config_template has no effect: Lanner converts without Grappler's passes.")


def write_saved_model(meta_graph: Any, folder: str) -> None:
    """Writes a SavedModel of one graph, which appears when it is complete. The folder must be new or empty."""
    path = Path(folder)
    _require_empty(path)
    path.mkdir(parents=True, exist_ok=True)
    _write_meta_graph(meta_graph, path)


def _require_empty(path: Path) -> None:
    if path.exists() and any(path.iterdir()):
        raise AssertionError(f"Export directory {path} already exists, and isn't empty. Please choose a different export directory.")


def _write_meta_graph(meta_graph: Any, path: Path) -> None:
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel(saved_model_schema_version=1, meta_graphs=[meta_graph])
    beside = path / f"saved_model.pb.{os.getpid()}.part"
    beside.write_bytes(saved.SerializeToString(deterministic=True))
    beside.replace(path / "saved_model.pb")
