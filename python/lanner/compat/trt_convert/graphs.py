"""TRTEngineOp nodes in a GraphDef of TensorFlow's: what a conversion's parameters say about engines is written to them."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lanner._tf_operators import functions_of, nodes_of
from lanner.compat.trt_convert.parameters import TrtConversionParams

ENGINE_OP = "TRTEngineOp"
PLAN_PREFIX = "trt-serialized-engine."
NATIVE_SUFFIX = "_native_segment"
INITIAL_NODES = "saved_model_main_op"
"""The collection of what runs when TensorFlow loads a model."""
_LARGEST = (1 << 63) - 1


@dataclasses.dataclass
class EngineSettings:
    """What the nodes of a conversion's engines say beside what lanner.tf writes there.

    is_static: engines are built by the conversion
    names: "2.x": `TRTEngineOp_000_000`; "1.x": `TRTEngineOp_0`, and the attributes of TensorFlow 1.x
    native_segments: whether native segments are stored
    functions: whether native segments are functions of the library; False: GraphDefs in the nodes. Functions of TensorFlow 2
        belong to the process, where two models would have one name for theirs
    """

    params: TrtConversionParams
    is_static: bool = False
    names: str = "2.x"
    native_segments: bool = True
    functions: bool = True


def signature_of(meta_graph: Any) -> Any:
    """The signature of a converted model, which has one."""
    (signature,) = (one for name, one in meta_graph.signature_def.items() if not name.startswith("__saved_model_"))
    return signature


def check_names(names: str) -> None:
    if names not in ("1.x", "2.x"):
        raise ValueError(f"names: expected '1.x' (TRTEngineOp_0) or '2.x' (TRTEngineOp_000_000), got '{names}'")


def engine_nodes(graph: Any) -> Iterator[Any]:
    """Nodes of engines, in the graph and in its functions."""
    return (node for _, node in nodes_of(graph) if node.op == ENGINE_OP)


def apply(graph: Any, settings: EngineSettings) -> dict[str, str]:
    """Writes the settings to the engines' nodes, and gives the name that each engine has now."""
    if not settings.functions:
        _put_segments_into_nodes(graph)
    names = {node.name: node.name for node in engine_nodes(graph)}
    for node in engine_nodes(graph):
        _set_attributes(node, settings)
    if settings.names == "1.x":
        names = {name: re.sub(r"TRTEngineOp_\d{3,}_(\d{3,})$", lambda match: f"TRTEngineOp_{int(match[1])}", name) for name in names}
        _rename(graph, names)
    if not settings.native_segments:
        remove_native_segments(graph)
    elif settings.names == "1.x":
        for node in engine_nodes(graph):
            node.attr["segment_funcdef_name"].s = node.attr["segment_func"].func.name.encode()
    return names


def _set_attributes(node: Any, settings: EngineSettings) -> None:
    params, attr = settings.params, node.attr
    attr["workspace_size_bytes"].i = min(int(params.max_workspace_size_bytes), _LARGEST)
    attr["use_calibration"].b = bool(params.use_calibration)
    attr["precision_mode"].s = params.precision_mode.upper().encode()
    attr["static_engine"].b = settings.is_static
    attr["cached_engine_batches"].list.i[:] = list(params.cached_engine_batches or [])


def _put_segments_into_nodes(graph: Any) -> None:
    """Makes functions that are native segments GraphDefs in their engines' nodes, in which functions that they call stay."""
    from tensorflow.python.framework import function_def_to_graph

    segments = {function.signature.name: function for function in functions_of(graph)}
    taken = set()
    for node in engine_nodes(graph):
        name = node.attr["segment_func"].func.name
        if name not in segments:
            continue
        segment, tensors = function_def_to_graph.function_def_to_graph_def(segments[name])
        signature = segments[name].signature
        placeholders = {argument.name: f"TensorRTInputPH_{number}" for number, argument in enumerate(signature.input_arg)}
        for inner in segment.node:
            inner.name = placeholders.get(inner.name, inner.name)
            inner.input[:] = [placeholders.get(text.removesuffix(":0"), text) for text in inner.input]
        for number, result in enumerate(signature.output_arg):
            made = segment.node.add(name=f"TensorRTOutputPH_{number}", op="Identity")
            tensor = tensors[segments[name].ret[result.name]].removesuffix(":0")
            made.input.append(placeholders.get(tensor, tensor))
            made.attr["T"].type = result.type
        del segment.library.function[:]
        segment.library.function.extend(segments[other] for other in sorted(_called_by(segments, name) - {name}))
        node.attr["serialized_segment"].s = segment.SerializeToString(deterministic=True)
        del node.attr["segment_func"]
        taken.add(name)
    kept = [function for function in functions_of(graph) if function.signature.name not in taken]
    del functions_of(graph)[:]
    functions_of(graph).extend(kept)


def _called_by(functions: Mapping[str, Any], name: str) -> set[str]:
    """The functions that one calls, itself included."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if name in found or name not in functions:
            continue
        found.add(name)
        for node in functions[name].node_def:
            waiting.append(node.op)
            for attribute in node.attr.values():
                waiting += [attribute.func.name, *(each.name for each in attribute.list.func)]
    return found


def _rename(graph: Any, names: Mapping[str, str]) -> None:
    functions = {name + NATIVE_SUFFIX: new + NATIVE_SUFFIX for name, new in names.items()}
    for function in functions_of(graph):
        function.signature.name = functions.get(function.signature.name, function.signature.name)
    for _, node in nodes_of(graph):
        if node.op == ENGINE_OP:
            node.name = names.get(node.name, node.name)
            called = node.attr["segment_func"].func
            called.name = functions.get(called.name, called.name)
        for number, text in enumerate(node.input):
            name, colon, output = text.lstrip("^").partition(":")
            if name in names:
                node.input[number] = ("^" if text.startswith("^") else "") + names[name] + colon + output


def rename_in_signature(signature: Any, names: Mapping[str, str]) -> None:
    for info in signature.outputs.values():
        name, colon, output = info.name.partition(":")
        info.name = names.get(name, name) + colon + output


def remove_native_segments(graph: Any) -> None:
    """Removes the functions that an engine's failure would call, and says so to the operator that builds the engine."""
    kept = [function for function in functions_of(graph) if not function.signature.name.endswith(NATIVE_SUFFIX)]
    del functions_of(graph)[:]
    functions_of(graph).extend(kept)
    for node in engine_nodes(graph):
        node.attr["segment_func"].func.name = ""
        node.attr["segment_funcdef_name"].s = b""
        node.attr["_lanner_native_segment"].b = False

