"""What TF-TRT said about a conversion: the line of native operators, reasons, and summary()'s table."""

import collections
import os
from collections.abc import Callable, Iterable
from typing import Any

from lanner.tf import ConvertedModel
from lanner.compat.trt_convert import logs, variables

_UNCOUNTED = ("Identity", "Snapshot", "StopGradient")


def _native_nodes(model: ConvertedModel) -> list[tuple[str, str, str]]:
    """Operator, name and reason of each node that is not converted. TF-TRT left out constants, and what is in small segments."""
    found = [("Placeholder", binding.name, "an input of the model") for binding in model.inputs]
    for node in model.nodes:
        small = node["code"] == "segment_too_small" and node["op"] not in _UNCOUNTED
        if node["engine"] is None and node["code"] != "constant" and not small:
            found.append((str(node["op"]), str(node["name"]), str(node["reason"])))
    return found


def native_line(nodes: list[tuple[str, str, str]]) -> str:
    ops = sorted({op for op, _, _ in nodes})
    return f"There are {len(nodes)} ops of {len(ops)} different types in the graph that are not converted to TensorRT: {', '.join(ops)}."


def _grouped(nodes: list[tuple[str, str, str]]) -> dict[str, collections.Counter[str]]:
    groups: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for op, _, reason in nodes:
        groups[op][" ".join(reason.split())] += 1
    return dict(sorted(groups.items(), key=lambda item: (-item[1].total(), item[0])))


def _detailed(nodes: list[tuple[str, str, str]]) -> str:
    lines = ["", "#" * 80, "TensorRT unsupported/non-converted OP Report:"]
    groups = _grouped(nodes)
    for op, reasons in groups.items():
        lines.append(f"\t- {op} -> {reasons.total()}x")
        lines += [f"\t\t- [Count: {count}x] {reason}" for reason, count in reasons.most_common()]
    lines += ["-" * 80, f"\t- Total nonconverted OPs: {len(nodes)}", f"\t- Total nonconverted OP Types: {len(groups)}", "#" * 80]
    return "\n".join(lines)


def _write_csv(path: str, nodes: list[tuple[str, str, str]]) -> None:
    rows = ["OP Name|Reason|Count"]
    rows += [f"{op}|{reason.replace('|', '/')}|{count}" for op, reasons in _grouped(nodes).items() for reason, count in reasons.most_common()]
    beside = f"{path}.{os.getpid()}.part"
    try:
        with open(beside, "w", encoding="utf-8") as file:
            file.write("\n".join(rows) + "\n")
        os.replace(beside, path)
    except OSError as error:
        logs.write(logs.ERROR, "segment", f"TF_TRT_SHOW_DETAILED_REPORT={path}: the report was not written: {error}")


def tell(model: ConvertedModel) -> None:
    """Writes what TF-TRT logged after a conversion."""
    nodes = _native_nodes(model)
    detailed, path = variables.detailed_report()
    logs.write(logs.INFO, "segment", native_line(nodes))
    if detailed:
        logs.write(logs.INFO, "segment", _detailed(nodes))
    if path:
        _write_csv(path, nodes)
    for node in model.nodes:
        if node["engine"] is None:
            text = f"Not a TF-TRT candidate, (Op type: {node['op']}), (Op name: {node['name']}), (Reason: {' '.join(str(node['reason']).split())})"
            logs.verbose(1, "segment", text)
        else:
            logs.verbose(2, "convert_nodes", f"{node['name']} ({node['op']}) is in {node['engine']}")
    for part in model.parts:
        if part["engine"]:
            bindings = "; ".join(f"{binding}" for binding in [*part["inputs"], *part["outputs"]])  # type: ignore[misc]
            logs.verbose(1, "convert_graph", f"{part['name']}: {part['nodes']} nodes")
            logs.verbose(2, "convert_graph", f"{part['name']}: {bindings}")


_COLUMNS = (
    ("TRTEngineOP Name", 0.20),
    ("Device", 0.09),
    ("# Nodes", 0.05),
    ("# Inputs", 0.09),
    ("# Outputs", 0.09),
    ("Input DTypes", 0.12),
    ("Output Dtypes", 0.12),
    ("Input Shapes", 0.12),
    ("Output Shapes", 0.12),
)


def _row(fields: Iterable[object], line_length: int) -> str:
    line, end = "", 0
    for field, (_, share) in zip(fields, _COLUMNS, strict=True):
        end += int(line_length * share)
        line = (line + (" " if line else "") + str(field)).ljust(end)
        if len(line) > end:
            line = line[: end - 4] + " ..."
    return line


def _engine_fields(node: Any, count: int) -> list[object]:
    from tensorflow import dtypes

    types = [[dtypes.as_dtype(number).name for number in node.attr[key].list.type] for key in ("InT", "OutT")]
    shapes = [[[dim.size for dim in shape.dim] for shape in node.attr[key].list.shape] for key in ("input_shapes", "output_shapes")]
    return [node.name, node.device.split("/")[-1], count, len(types[0]), len(types[1]), *types, *shapes]


def print_summary(graph: Any, ops: dict[str, collections.Counter[str]], line_length: int, detailed: bool, print_fn: Callable[[str], object]) -> None:
    """summary()'s table of a converted GraphDef.

    ops: operators of each engine's native segment
    """
    print_fn(_row((name for name, _ in _COLUMNS), line_length))
    print_fn("=" * line_length)
    engines = sorted((node for node in graph.node if node.op == "TRTEngineOp"), key=lambda node: node.name)
    for node in engines:
        inside = ops.get(node.name, collections.Counter())
        if len(engines) != 1:
            print_fn(f"\n{'-' * 40}\n")
        print_fn(_row(_engine_fields(node, inside.total()), line_length))
        if detailed:
            print_fn("")
            for op, count in sorted(inside.items()):
                print_fn(f"\t- {op}: {count}x")
    converted = sum(inside.total() for inside in ops.values())
    total = converted + len(graph.node) - len(engines)
    print_fn(f"\n{'=' * line_length}")
    print_fn(f"[*] Total number of TensorRT engines: {len(engines)}")
    print_fn(f"[*] % of OPs Converted: {100 * converted / max(total, 1):.2f}% [{converted}/{total}]\n")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _color(node: Any) -> int:
    """The number in Graphviz's color scheme of the type that a node computes in."""
    return int(node.attr["DstT"].type or node.attr["dtype"].type or node.attr["T"].type) % 12 + 1


def write_graph_viz(graph: Any, ops: dict[str, collections.Counter[str]], path: str) -> None:
    """Writes the converted graph in Graphviz's language, nodes colored by the type that they compute in."""
    lines = ["digraph tftrt_converted_graph {", "  node [style=filled colorscheme=set312 shape=box];"]
    for node in graph.node:
        label = f"{node.name} [{ops.get(node.name, collections.Counter()).total()}]" if node.op == "TRTEngineOp" else node.op
        device = node.device.split("/")[-1] or "device:Unspecified"
        lines.append(f"  {_quoted(node.name)} [label={_quoted(label + chr(10) + device)} fillcolor={_color(node)}];")
        lines += [f"  {_quoted(name.lstrip('^').split(':')[0])} -> {_quoted(node.name)};" for name in node.input]
    beside = f"{path}.{os.getpid()}.part"
    try:
        with open(beside, "w", encoding="utf-8") as file:
            file.write("\n".join([*lines, "}"]) + "\n")
        os.replace(beside, path)
    except OSError as error:
        logs.write(logs.ERROR, "trt_convert", f"TF_TRT_EXPORT_GRAPH_VIZ_PATH={path}: the graph was not written: {error}")
