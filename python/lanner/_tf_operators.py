"""Operators for TensorFlow: what lanner.tf.register() does. TensorFlow is imported at its call and nowhere else."""

import ctypes
import functools
import importlib
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lanner import _lanner
from lanner.errors import NotFound, Unsupported

_FILE = "liblanner-tensorflow.so"
_ENGINES = ("TRTEngineOp", "LannerEngineOp")
_OLDEST, _NEWEST_MAJOR = (2, 15), 2
_lock = threading.Lock()
_others_engines = False  # TRTEngineOp is TensorFlow's own
_segments_in_files = False
_library: ctypes.CDLL | None = None


def _path() -> Path:
    """The library, which lies beside liblanner."""
    package = Path(_lanner.__file__ or __file__).parent
    folders = [package, package.parents[1] / "lib"]
    folders += [Path(folder) for folder in os.environ.get("LANNER_MODULE_PATH", "").split(":") if folder]
    for folder in folders:
        if (folder / _FILE).is_file():
            return folder / _FILE
    raise NotFound(f"{_FILE}: not in {', '.join(map(str, folders))}; reinstall Lanner or set LANNER_MODULE_PATH")


def _tensorflow() -> Any:
    try:
        tensorflow = importlib.import_module("tensorflow")
    except ImportError as error:
        raise Unsupported(f"lanner.tf.register: TensorFlow cannot be imported ({error}); expected TensorFlow 2.15 or later in this Python") from error
    numbers = tuple(int(part) for part in tensorflow.__version__.split(".")[:2])
    if numbers < _OLDEST or numbers[0] > _NEWEST_MAJOR:
        raise Unsupported(f"lanner.tf.register: TensorFlow {tensorflow.__version__}; expected 2.15 or a later 2.x")
    return tensorflow


def functions_of(graph: Any) -> Any:
    """The functions of a GraphDef, as a list that may be changed."""
    return graph.library.function


def nodes_of(graph: Any) -> Iterator[tuple[str, Any]]:
    """The nodes of a GraphDef and of its functions, each with the name of its function; "": none."""
    for node in graph.node:
        yield "", node
    for function in functions_of(graph):
        for node in function.node_def:
            yield function.signature.name, node


def _name_functions(graph: Any) -> Any:
    """Old nodes name the function with their native segment by text, or not at all. TensorFlow drops functions that nothing
    names, and its loader looks up the empty name: here they get the attribute that names functions. Where TRTEngineOp is
    TensorFlow's own, they become LannerEngineOp."""
    functions = {function.signature.name for function in functions_of(graph)}
    for _, node in nodes_of(graph):
        if node.op == "TRTEngineOp" and _others_engines:
            node.op = "LannerEngineOp"
        if node.op not in _ENGINES or ("segment_func" in node.attr and node.attr["segment_func"].func.name):
            continue
        by_text = node.attr["segment_funcdef_name"].s.decode() if "segment_funcdef_name" in node.attr else ""
        named = [name for name in (by_text, node.name.rpartition("/")[2] + "_native_segment") if name in functions]
        if named:
            node.attr["segment_func"].func.name = named[0]
        elif "segment_func" in node.attr:
            del node.attr["segment_func"]
    return graph


def _name_folder(graph: Any, folder: Path) -> None:
    """Tells the nodes where plans of their engines may lie, and the time of the model that they belong to."""
    if not any((folder / "assets").glob("trt-serialized-engine.*")) or not (folder / "saved_model.pb").is_file():
        return
    said = f"{(folder / 'saved_model.pb').stat().st_mtime_ns} {folder.absolute()}".encode()
    for _, node in nodes_of(graph):
        if node.op in _ENGINES:
            node.attr["_lanner_folder"].s = said


def _leave_in_file(graph: Any, folder: Path) -> None:
    """Takes native segments out of the nodes, and tells where in the file they are."""
    file = folder / "saved_model.pb"
    if not file.is_file():
        return
    place = f"{file.stat().st_mtime_ns} {folder.absolute()}"
    taken = set()
    for function, node in nodes_of(graph):
        if node.op not in _ENGINES:
            continue
        called = node.attr["segment_func"].func.name if "segment_func" in node.attr else ""
        if called:
            node.attr["_lanner_segment"].s = f"{place}\n@{called}".encode()
            node.attr["segment_funcdef_name"].s = called.encode()
            del node.attr["segment_func"]
            taken.add(called)
        elif node.attr["serialized_segment"].s:
            node.attr["_lanner_segment"].s = f"{place}\n{function}\n{node.name}".encode()
            node.attr["serialized_segment"].s = b""
    kept = [function for function in functions_of(graph) if function.signature.name not in taken]
    del functions_of(graph)[:]
    functions_of(graph).extend(kept)


def _add_to_readers() -> None:
    """TensorFlow's readers of graphs and SavedModels in Python pass what they read through _name_functions(), and SavedModels
    also through _name_folder()."""
    importer: Any = importlib.import_module("tensorflow.python.framework.importer")
    loader_impl: Any = importlib.import_module("tensorflow.python.saved_model.loader_impl")
    read_graph, read_model = importer._ProcessGraphDefParam, loader_impl.parse_saved_model

    @functools.wraps(read_graph)
    def graph(*arguments: Any, **options: Any) -> Any:
        return _name_functions(read_graph(*arguments, **options))

    @functools.wraps(read_model)
    def model(export_dir: Any, *arguments: Any, **options: Any) -> Any:
        saved = read_model(export_dir, *arguments, **options)
        for meta_graph in saved.meta_graphs:
            folder = Path(os.fsdecode(export_dir))
            if _segments_in_files:
                _leave_in_file(meta_graph.graph_def, folder)
            _name_folder(_name_functions(meta_graph.graph_def), folder)
        return saved

    importer._ProcessGraphDefParam, loader_impl.parse_saved_model = graph, model


def _text(function: Any) -> Any:
    address = function()
    try:
        return json.loads(ctypes.string_at(address).decode(errors="replace"))
    finally:
        _library.lanner_tensorflow_free(address)  # type: ignore[union-attr]


def _open(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    for name in ("lanner_tensorflow_state", "lanner_tensorflow_statistics"):
        function = getattr(library, name)
        function.restype, function.argtypes = ctypes.c_void_p, []
    library.lanner_tensorflow_free.restype, library.lanner_tensorflow_free.argtypes = None, [ctypes.c_void_p]
    library.lanner_tensorflow_set.restype = None
    library.lanner_tensorflow_set.argtypes = [ctypes.c_int, ctypes.c_double, ctypes.c_int]
    return library


def register(*, threads: int = 0, budget: float | None = None, native_segments: bool = True, segments_in_files: bool = False) -> str:
    """Adds Lanner's operators to the TensorFlow of this process, which is imported, so that converted models run
    in it: LannerEngineOp, and those of TF-TRT that it lacks. Can be called again, to change the options for
    engines that have not run yet. Returns TensorFlow's version.

    threads: threads of each engine; 0: as many as TensorFlow uses within one operator
    budget: seconds to time kernels when an engine is built; None: the default of builds
    native_segments: where an engine cannot be built or does not take the shapes, TensorFlow runs its nodes;
        False: that is an error
    segments_in_files: TensorFlow holds several copies of what is in nodes. True leaves native segments, which have the weights,
        in the SavedModel's file when it is loaded: the file must then stay as it is, and saving the loaded model again
        with TensorFlow leaves them out
    """
    global _library, _others_engines, _segments_in_files
    if threads < 0 or threads > 4096:
        raise ValueError(f"threads {threads}: expected 0 to 4096")
    if budget is not None and budget < 0:
        raise ValueError(f"budget {budget}: expected seconds, 0 or more")
    tensorflow = _tensorflow()
    with _lock:
        if _library is None:
            path = _path()
            tensorflow.load_op_library(str(path))
            _add_to_readers()
            _library = _open(path)
        state = _text(_library.lanner_tensorflow_state)
        if state["error"]:
            raise Unsupported(f"lanner.tf.register: {state['error']}")
        _segments_in_files = segments_in_files
        _others_engines = "TRTEngineOp" not in state["operators"]
        _library.lanner_tensorflow_set(threads, -1.0 if budget is None else budget, native_segments)
    return str(tensorflow.__version__)


def engine_statistics() -> list[dict[str, Any]]:
    """What the engines did that this process's TensorFlow holds and has run: a dict for each.

    name, id: name of the node; engines of several models may share it, so each engine has a number too
    engine: whether the node has an engine; else, and where engines for some shapes failed, `build_error` says why
    maximum, built, hits, evicted, cached, weight_bytes: as in ConvertedModel.engines
    runs, native_runs: runs by the engine that were begun, and runs of the nodes by TensorFlow
    native: number of the latter by reason
    folder: of the SavedModel whose plan was taken; empty: the engine is built anew
    build_seconds: for reading the node, with what it built then
    threads, contexts: threads of a run; contexts are what several threads need to run it at the same time
    segment_bytes, native_bytes: memory of the native segment as a graph, and in TensorFlow's session (0: none)
    """
    with _lock:
        return [] if _library is None else _text(_library.lanner_tensorflow_statistics)
