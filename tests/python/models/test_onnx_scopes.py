"""Names that a subgraph shares with the graph around it."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import lanner


def loop_over_bags():
    """An embedding bag as PyTorch's exporters write it: a loop whose body reuses the names of outer values."""
    make, value = helper.make_node, helper.make_tensor_value_info
    inside = helper.make_graph(
        [
            make("Slice", ["offsets", "index", "next"], ["start"]),
            make("Add", ["next", "one"], ["beyond"]),
            make("Slice", ["offsets", "next", "beyond"], ["end"]),
            # From here on `rows` are those of the bag, before they are all rows.
            make("Slice", ["rows", "start", "end"], ["bag"]),
            make("ReduceSum", ["bag", "zero"], ["rows"], keepdims=1),
            make("SequenceInsert", ["result", "rows"], ["result_out"]),
            make("Identity", ["cond"], ["cond_out"]),
        ],
        "body",
        [value("i", TensorProto.INT64, []), value("cond", TensorProto.BOOL, []), helper.make_tensor_sequence_value_info("result", TensorProto.FLOAT, None)],
        [value("cond_out", TensorProto.BOOL, []), helper.make_tensor_sequence_value_info("result_out", TensorProto.FLOAT, None)],
    )
    inside.node.insert(0, make("Add", ["index", "one"], ["next"]))
    inside.node.insert(0, make("Reshape", ["i", "one"], ["index"]))
    nodes = [
        make("Gather", ["table", "ids"], ["rows"]),
        make("SequenceEmpty", [], ["result"]),
        make("Loop", ["bags", "yes", "result"], ["all"], body=inside),
        make("ConcatFromSequence", ["all"], ["y"], axis=0),
    ]
    constants = {
        "table": np.arange(24, dtype=np.float32).reshape(6, 4),
        "offsets": np.array([0, 2, 5]),
        "bags": np.array(2),
        "one": np.array([1]),
        "zero": np.array([0]),
        "yes": np.array(True),
    }
    graph = helper.make_graph(
        nodes,
        "g",
        [value("ids", TensorProto.INT64, [5])],
        [value("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), constants


def test_an_embedding_bag_loop_may_reuse_outer_names():
    model, constants = loop_over_bags()
    ids = np.array([0, 2, 1, 5, 3])
    rows = constants["table"][ids]
    got = lanner.build(model.SerializeToString(), budget=0)({"ids": ids})["y"].numpy()
    np.testing.assert_array_equal(got, np.stack([rows[:2].sum(0), rows[2:].sum(0)]))
