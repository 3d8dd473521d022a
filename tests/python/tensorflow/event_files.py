"""Prints the graphs of event files, as TensorFlow's own reader finds them: run in TensorFlow's own Python."""

import json
import os
import sys
from pathlib import Path

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
import tensorflow as tf  # noqa: E402

found = {}
for folder in ("before", "after"):
    (path,) = (Path(sys.argv[1]) / folder).iterdir()
    version, event = tf.compat.v1.train.summary_iterator(str(path))
    assert version.file_version == "brain.Event:2"
    graph = tf.compat.v1.GraphDef.FromString(event.graph_def)
    names = {node.name for node in graph.node}
    for node in graph.node:
        assert all(one.lstrip("^").split(":")[0] in names for one in node.input), node
    found[folder] = [[node.name, node.op, [str(tf.TensorShape(shape)) for shape in node.attr["_output_shapes"].list.shape]] for node in graph.node]
print(json.dumps(found))
