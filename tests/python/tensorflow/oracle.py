"""Run by a Python with TensorFlow: writes a frozen graph and the answers of each case into a folder.

    python oracle.py FOLDER < NAMES

NAMES are those of the cases wanted, one a line. Written are `FOLDER/000012.pb`, `000012.open.pb` with unknown sizes, and answers.pickle: for each case the graphs, answers by output
name or TensorFlow's error, and the attributes of the node; for each operator its types, from TensorFlow's registry.
"""

import os
import pickle
import sys
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from operator_cases import Const, all_cases  # noqa: E402
from tensorflow.core.framework import types_pb2  # noqa: E402
from tensorflow.python.framework import op_def_library, op_def_registry  # noqa: E402

v1 = tf.compat.v1
CONFIG = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
CONFIG.graph_options.rewrite_options.disable_meta_optimizer = True  # each node by its own kernel


def open_shape(shape, which):
    if which is None:
        return list(shape)
    if which == "rank":
        return None
    return [None if which is True or axis in which else size for axis, size in enumerate(shape)]


def input_tensor(value, name, which, feeds):
    if isinstance(value, list):
        return [input_tensor(one, f"{name}_{i}", which, feeds) for i, one in enumerate(value)]
    if isinstance(value, Const):
        return tf.constant(value.value, name=name)
    kind = tf.string if value.dtype.kind in "OSU" else tf.as_dtype(value.dtype)
    placeholder = v1.placeholder(kind, open_shape(value.shape, which), name=name)
    feeds[placeholder] = value
    return placeholder


def attribute_value(definition, value):
    if definition.type == "type":
        return tf.as_dtype(value)
    if definition.type == "list(type)":
        return [tf.as_dtype(one) for one in value]
    return value


def default_attributes(definition):
    """Defaults of the attributes that do not follow from the inputs; apply_op asks for all of them."""
    implied = set()
    for argument in definition.input_arg:
        implied |= {argument.type_attr, argument.number_attr, argument.type_list_attr}
    found = {}
    for attribute in definition.attr:
        kind = attribute.default_value.WhichOneof("value")
        if attribute.name in implied or not kind:
            continue
        value = getattr(attribute.default_value, kind)
        if kind == "list":
            found[attribute.name] = [one for _, values in value.ListFields() for one in values]
        elif kind == "shape":
            found[attribute.name] = None if value.unknown_rank else [dim.size for dim in value.dim]
        else:
            found[attribute.name] = value
    return found


def run_node(op, inputs, given, which=None, run=True):
    """A graph of one node, its answers by name, and the values fed by name."""
    definition = op_def_registry.get(op)
    kinds = {attribute.name: attribute for attribute in definition.attr}
    graph, feeds = tf.Graph(), {}
    with graph.as_default(), v1.Session(graph=graph, config=CONFIG) as session:
        arguments = {
            argument.name: input_tensor(value, f"in_{argument.name}", which, feeds)
            for argument, value in zip(definition.input_arg, inputs, strict=False)
        }
        attributes = default_attributes(definition) | given
        arguments |= {name: attribute_value(kinds[name], value) for name, value in attributes.items()}
        op_def_library.apply_op(op, name="y", **arguments)
        outputs = list(graph.get_operation_by_name("y").outputs)
        got = session.run(outputs, feeds) if run else []
    answers = {tensor.name.removesuffix(":0"): np.asarray(one) for tensor, one in zip(outputs, got, strict=False)}
    return graph.as_graph_def(), answers, {tensor.op.name: value for tensor, value in feeds.items()}


def answer(case, which):
    known = case.expected is not None or case.like is not None
    definition, answers, feeds = run_node(case.op, case.inputs, case.attributes, which, run=not known)
    if case.expected is not None:
        answers = {"y": case.expected}
    elif case.like is not None:
        inputs, attributes, order = case.like
        answers = {name: one.transpose(order) for name, one in run_node(case.op, inputs, attributes)[1].items()}
    return definition, answers, feeds


def attributes_of(definition):
    """The node's attributes as (kind, values): kinds as in AttrValue."""
    (node,) = [node for node in definition.node if node.name == "y"]
    found = {}
    for name, value in node.attr.items():
        kind = value.WhichOneof("value")
        if kind == "list":
            lists = [(field.name, list(one)) for field, one in value.list.ListFields()]
            found[name] = (f"list.{lists[0][0]}", lists[0][1]) if lists else ("list.i", [])
        elif kind in ("s", "i", "f", "b", "type"):
            found[name] = (kind, [getattr(value, kind)])
        if name in found and found[name][0].endswith("type"):
            found[name] = (found[name][0], [types_pb2.DataType.Name(one) for one in found[name][1]])
    return found


def types_of(op):
    """The type attribute of each input, and the types that TensorFlow's definition allows it."""
    definition = op_def_registry.get(op)
    allowed = {
        attribute.name: [types_pb2.DataType.Name(one) for one in attribute.allowed_values.list.type]
        for attribute in definition.attr
        if attribute.type == "type"
    }
    inputs = [
        argument.type_attr or argument.type_list_attr or types_pb2.DataType.Name(argument.type)
        for argument in definition.input_arg
    ]
    return inputs, allowed


def run_case(case, index, folder):
    record = {"graphs": [], "error": "", "attributes": {}}
    try:
        for which in [None] + ([case.open] if case.open else []):
            definition, answers, feeds = answer(case, which)
            path = folder / f"{index:06}{'.open' if which else ''}.pb"
            path.write_bytes(definition.SerializeToString())
            record["graphs"].append(path.name)
            record["answers"], record["feeds"] = answers, feeds
            record["attributes"] = attributes_of(definition)
    except Exception as error:  # noqa: BLE001 - any failure is reported as the case's
        record["error"] = f"{type(error).__name__}: {' '.join(str(error).split())[:600]}"
    return record


def main():
    folder = Path(sys.argv[1])
    wanted = set(sys.stdin.read().splitlines())
    cases = [case for case in all_cases() if case.name in wanted]
    records = {case.name: run_case(case, index, folder) for index, case in enumerate(cases)}
    types = {case.op: types_of(case.op) for case in cases}
    with (folder / "answers.pickle").open("wb") as file:
        pickle.dump({"cases": records, "types": types, "version": tf.__version__}, file)


if __name__ == "__main__":
    main()
