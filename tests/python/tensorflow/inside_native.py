"""What runs natively inside TensorFlow, and errors. Cases of inside_cases.py."""

import os
import subprocess
import sys

import engine_models as models
import numpy as np
import tensorflow as tf
from inside_support import OPERATORS, SHARED, close, network, numbers, one_engine, raises, session_run, statistics, v1
from tensorflow.core.framework import graph_pb2

import lanner


def case_text_is_refused(folder):
    concrete = tf.function(lambda x: [tf.identity(x)]).get_concrete_function(tf.TensorSpec([None], tf.string))
    graph = models.engine_graph(concrete, "last_serialized")
    raises(lambda: session_run(graph, "y0:0", {"x0:0": [b"a"]}), "TRTEngineOp_000_000", "type 7", "engines do not take")


def case_shapes_that_do_not_fit_run_natively(folder):
    """Of a node that says batch 4, whose segment takes any."""
    graph, node = one_engine()
    node.attr["input_shapes"].list.shape[0].dim[0].size = 4
    xs = [numbers(batch, 8, 8, 3) for batch in (4, 2, 4, 3)]
    answers = [[value.numpy() for value in network(x)] for x in xs]
    with tf.Graph().as_default() as made, v1.Session(graph=made) as session:
        tf.import_graph_def(graph, name="")
        for x, expected in zip(xs, answers, strict=True):
            for got, value in zip(session.run(["y0:0", "y1:0"], {"x0:0": x}), expected, strict=True):
                close(got, value)
        (engine,) = statistics("TRTEngineOp_000_000")
    assert engine["runs"] == 2 and engine["native_runs"] == 2 and engine["native_bytes"] > 0 and engine["built"] == 1, engine
    assert sorted(engine["native"]) == [f"input 0 has shape [{batch}, 8, 8, 3], the node has [4, 8, 8, 3]" for batch in (2, 3)], engine


def run_natively_with_one_thread():
    concrete = models.frozen(network, [None, 8, 8, 3])
    x = numbers(2, 8, 8, 3)
    expected = [value.numpy() for value in network(x)]
    for form in ("last_serialized", "last_function"):
        graph = models.engine_graph(concrete, form)
        for node in graph.node:
            if node.op == "TRTEngineOp":
                node.attr["input_shapes"].list.shape[0].dim[0].size = 4
        for got, value in zip(session_run(graph, ["y0:0", "y1:0"], {"x0:0": x}, options=v1.RunOptions(timeout_in_ms=30000)), expected, strict=True):
            close(got, value)
    assert sum(entry["native_runs"] for entry in lanner.tf.engine_statistics()) == 0, "the engines have gone with their sessions"


def case_native_segments_need_no_second_thread(folder):
    """Where TensorFlow has a single thread to run operators, which is in the engine's kernel meanwhile."""
    one_thread = os.environ | {"TF_NUM_INTEROP_THREADS": "1"}
    run = subprocess.run([sys.executable, __file__, "", SHARED], env=one_thread, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr[-3000:]


def case_a_wrong_shape_is_an_error(folder):
    graph, _ = one_engine()
    for node in graph.node:
        if node.name == "x0":
            node.attr["shape"].shape.Clear()
            node.attr["shape"].shape.unknown_rank = True
    raises(lambda: session_run(graph, "y0:0", {"x0:0": numbers(2, 8, 8, 4)}), "TRTEngineOp_000_000")
    raises(lambda: session_run(graph, "y0:0", {"x0:0": numbers(2, 3)}), "TRTEngineOp_000_000", "has shape [2, 3]", "another rank")


def case_native_segments_can_be_forbidden(folder):
    graph, node = one_engine()
    node.attr["input_shapes"].list.shape[0].dim[0].size = 4
    x = numbers(2, 8, 8, 3)
    lanner.tf.register(budget=0, native_segments=False)
    try:
        raises(lambda: session_run(graph, "y0:0", {"x0:0": x}), "TRTEngineOp_000_000", "the node has [4, 8, 8, 3]", "native_segments=False")
    finally:
        lanner.tf.register(budget=0)
    os.environ["TF_TRT_ALLOW_ENGINE_NATIVE_SEGMENT_EXECUTION"] = "false"
    try:
        raises(lambda: session_run(graph, "y0:0", {"x0:0": x}), "TF_TRT_ALLOW_ENGINE_NATIVE_SEGMENT_EXECUTION")
    finally:
        del os.environ["TF_TRT_ALLOW_ENGINE_NATIVE_SEGMENT_EXECUTION"]


def case_an_operator_without_a_rule_runs_natively(folder):
    concrete = tf.function(lambda x: [tf.math.betainc(x, x, 0.5) * 2]).get_concrete_function(tf.TensorSpec([None], tf.float32))
    graph, x = models.engine_graph(concrete, "last_serialized"), np.float32([1, 2, 3])
    expected = tf.math.betainc(x, x, 0.5) * 2
    with tf.Graph().as_default() as made, v1.Session(graph=made) as session:
        tf.import_graph_def(graph, name="")
        close(session.run("y0:0", {"x0:0": x}), expected)
        (engine,) = statistics("TRTEngineOp_000_000")
    (reason,) = engine["native"]
    assert "Betainc" in engine["build_error"] and "Betainc" in reason and engine["native_runs"] == 1 and engine["built"] == 0, engine


def case_damaged_and_missing_segments(folder):
    x = numbers(2, 8, 8, 3)
    segment = one_engine()[1].attr["serialized_segment"].s
    for damaged in (segment[: len(segment) // 2], b"ftrt an engine", b""):
        graph, _ = one_engine(serialized_segment=damaged)
        raises(lambda: session_run(graph, "y0:0", {"x0:0": x}), "TRTEngineOp_000_000", "TensorRT")  # noqa: B023 - called at once
    broken = graph_pb2.GraphDef.FromString(segment)
    next(node for node in broken.node if node.op == "Conv2D").input[0] = "nowhere"
    graph, _ = one_engine(serialized_segment=broken.SerializeToString())
    raises(lambda: session_run(graph, "y0:0", {"x0:0": x}), "TRTEngineOp_000_000", "nowhere")
    missing = graph_pb2.GraphDef.FromString(segment)
    del missing.node[-1]
    graph, _ = one_engine(serialized_segment=missing.SerializeToString())
    raises(lambda: session_run(graph, "y0:0", {"x0:0": x}), "TRTEngineOp_000_000", "1 outputs")


def case_calibration_is_said_to_be_elsewhere(folder):
    raises(lambda: OPERATORS.get_calibration_data_op(resource_name="TRTEngineOp_0"), "lanner.tf.convert")


if __name__ == "__main__":
    run_natively_with_one_thread()
