"""Run by a Python with TensorFlow: writes frozen graphs with control flow and TensorFlow's answers to a folder.

    python tensorflow_control_flow.py FOLDER

For each case `NAME.pb` with inputs `x` (and `p`, `n`) and the output `y`, or `Identity` of Keras's models, and
`NAME.npz` with `y0`, `y1`, ... for the inputs `0_x`, `1_x`, ...
"""

import os
import sys
from pathlib import Path

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl
from tensorflow.python.ops.rnn import dynamic_rnn

v1 = tf.compat.v1
random = np.random.default_rng(0)


def numbers(*shape):
    return random.standard_normal(shape).astype(np.float32)


def placeholder(shape, name="x", dtype=tf.float32):
    return v1.placeholder(dtype, shape, name)


def flag():
    return placeholder([], "p", tf.bool)


BOTH = (np.bool_(True), np.bool_(False))


# Each case gives its output and lists of the placeholders' values.


def branches():
    x = placeholder([2, 3])
    return v1.cond(tf.reduce_sum(x) > 0, lambda: x * 2 + 1, lambda: tf.exp(x) - 3), [[numbers(2, 3)] for _ in range(6)]


def constant_branches():
    x = placeholder([])
    return v1.cond(x > 0, lambda: tf.constant(1.5), lambda: tf.constant(-2.0)), [[np.float32(1)], [np.float32(-1)]]


def several_results():
    x, p = placeholder([3]), flag()
    parts = v1.cond(p, lambda: (x + 1, x * 2, tf.constant([7.0, 8.0, 9.0])), lambda: (x - 1, x, x / 3))
    return tf.concat(parts, 0), [[numbers(3), p] for p in BOTH]


def nested_branches():
    x = placeholder([4])
    s = tf.reduce_sum(x)

    def inner():
        return v1.cond(tf.reduce_max(x) > 1, lambda: x * 10 + s, lambda: v1.cond(s > 0.5, lambda: x - 5, lambda: -x))

    y = v1.cond(s > 0, inner, lambda: v1.cond(s < -1, lambda: tf.sqrt(tf.abs(x)), lambda: x * 0.5))
    return y, [[numbers(4) * 1.5] for _ in range(12)]


def branches_in_a_row():
    x, p = placeholder([4]), flag()
    a = v1.cond(p, lambda: x + 1, lambda: x * 3)
    b = v1.cond(p, lambda: a * a, lambda: a - 7)
    c = v1.cond(tf.reduce_sum(b) > 3, lambda: b + a, lambda: b)
    d = v1.cond(p, lambda: c * 2, lambda: tf.zeros([4]))
    return d + b, [[numbers(4), p] for p in BOTH * 2]


def cases_in_order():
    x = placeholder([])
    y = v1.case([(x < 0, lambda: tf.constant(1.0)), (x < 1, lambda: x * 5), (x < 2, lambda: x * x)], default=lambda: tf.constant(-1.0))
    return y, [[np.float32(value)] for value in (-1, 0.5, 1.5, 9)]


def loop():
    x = placeholder([3])
    y = v1.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 1.1 + tf.cast(i, tf.float32)), [tf.constant(0), x])[1]
    return y, [[numbers(3)], [numbers(3)]]


def loop_of_given_length():
    x, n = placeholder([3]), placeholder([], "n", tf.int32)
    y = v1.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 2), [tf.constant(0), x])[1]
    return y, [[numbers(3), np.int32(count)] for count in (0, 1, 4)]


def nested_loops():
    x = placeholder([2])

    def body(i, a):
        inner = v1.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b + x * tf.cast(i, tf.float32)), [tf.constant(0), a])
        return i + 1, inner[1] * 0.9

    return v1.while_loop(lambda i, a: i < 4, body, [tf.constant(0), x])[1], [[numbers(2)], [numbers(2)]]


def branches_in_a_loop():
    x = placeholder([4])

    def body(i, a):
        other = lambda: v1.cond(tf.reduce_sum(a) > 0, lambda: a * 2, lambda: tf.constant([1.0, 2.0, 3.0, 4.0]))
        return i + 1, v1.cond(tf.equal(i % 2, 0), lambda: a + x, other)

    return v1.while_loop(lambda i, a: i < 7, body, [tf.constant(0), x])[1], [[numbers(4)] for _ in range(4)]


def branches_in_a_condition():
    x = placeholder([3])
    goes_on = lambda a: v1.cond(tf.reduce_sum(a) > 0, lambda: tf.reduce_max(a) < 50, lambda: tf.reduce_min(a) > -50)
    return v1.while_loop(goes_on, lambda a: [a * 1.7], [x]), [[numbers(3)] for _ in range(4)]


def loop_in_a_branch():
    x, p = placeholder([4]), flag()
    y = v1.cond(p, lambda: v1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2 + x), [tf.constant(0), x])[1], lambda: -x)
    return y, [[numbers(4), p] for p in BOTH]


def loop_that_grows():
    x = placeholder([1, 2])
    shapes = [tf.TensorShape([]), tf.TensorShape([None, 2])]
    y = v1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.concat([a, a + 1], 0)), [tf.constant(0), x], shape_invariants=shapes)[1]
    return y, [[numbers(1, 2)]]


def mapped():
    x = placeholder([4, 3])
    return tf.map_fn(lambda row: tf.reduce_sum(row) * row, x), [[numbers(4, 3)]]


def folded():
    x = placeholder([4, 3])
    return tf.foldl(lambda a, row: a * 0.5 + row, x) + tf.scan(lambda a, row: a * 0.5 + row, x), [[numbers(4, 3)]]


def array_written_backwards():
    x = placeholder([5, 3])
    target = tf.TensorArray(tf.float32, 5, element_shape=[3])
    source = tf.TensorArray(tf.float32, 5).unstack(x)
    body = lambda i, array: (i + 1, array.write(4 - i, source.read(i) * 2))
    return v1.while_loop(lambda i, array: i < 5, body, [tf.constant(0), target])[1].stack(), [[numbers(5, 3)]]


def recurrent(cell, shape, **options):
    def case():
        v1.set_random_seed(1)
        x = placeholder(shape)
        outputs, state = dynamic_rnn(cell(5), x, dtype=tf.float32, **options)
        state = state[-1] if isinstance(state, tuple) else state
        real = [size or 2 for size in shape]
        return tf.concat([tf.reshape(outputs, [-1, 5]), state], 0), [[numbers(*real)], [numbers(*real)]]

    return case


CASES = {
    case.__name__: case
    for case in (
        branches, constant_branches, several_results, nested_branches, branches_in_a_row, cases_in_order, loop, loop_of_given_length, nested_loops,
        branches_in_a_loop, branches_in_a_condition, loop_in_a_branch, loop_that_grows, mapped, folded, array_written_backwards,
    )
} | {
    "recurrent_lstm": recurrent(rnn_cell_impl.BasicLSTMCell, [2, 6, 3]),
    "recurrent_gru_open": recurrent(rnn_cell_impl.GRUCell, [None, 6, 3]),
    "recurrent_lengths": recurrent(rnn_cell_impl.BasicLSTMCell, [2, 6, 3], sequence_length=[3, 5]),
}


def write(folder: Path, name: str, graph_def, inputs: list, answers: list) -> None:
    (folder / f"{name}.pb").write_bytes(graph_def.SerializeToString())
    arrays = {f"y{i}": answer for i, answer in enumerate(answers)}
    for i, given in enumerate(inputs):
        arrays |= {f"{i}_{key}": value for key, value in given.items()}
    np.savez(folder / f"{name}.npz", **arrays)


def write_case(folder: Path, name: str, case) -> None:
    with tf.Graph().as_default() as graph, v1.Session() as session:
        output, given = case()
        tf.identity(output, "y")
        session.run(v1.global_variables_initializer())
        names = [operation.name for operation in graph.get_operations() if operation.type == "Placeholder"]
        answers = [session.run("y:0", {f"{key}:0": value for key, value in zip(names, values, strict=True)}) for values in given]
        frozen = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    write(folder, name, frozen, [dict(zip(names, values, strict=True)) for values in given], answers)


def write_keras(folder: Path) -> None:
    """Each with loops of version 2 and, `lowered`, of version 1, as freezing makes them by default."""
    keras = tf.keras
    layers = keras.layers
    chains = {
        "keras_lstm": ([layers.LSTM(5)], False),
        "keras_stack_open": ([layers.LSTM(5, return_sequences=True), layers.GRU(4)], True),
        "keras_both_ways": ([layers.Bidirectional(layers.SimpleRNN(5, return_sequences=True))], False),
        "keras_masked": ([layers.Masking(), layers.LSTM(5)], True),
    }
    for name, (chain, is_open) in chains.items():
        keras.utils.set_random_seed(3)
        value = first = keras.Input(shape=(6, 3))
        for layer in chain:
            value = layer(value)
        model = keras.Model(first, value)
        inputs = [numbers(2, 6, 3) for _ in range(2)]
        inputs[0][0, 4:] = 0  # what Masking leaves out
        answers = [np.asarray(model(each)) for each in inputs]
        spec = tf.TensorSpec([None if is_open else 2, 6, 3], tf.float32, name="x")
        function = tf.function(lambda x, model=model: model(x, training=False)).get_concrete_function(spec)
        for suffix, lower in (("", False), ("_lowered", True)):
            graph_def = convert_variables_to_constants_v2(function, lower_control_flow=lower).graph.as_graph_def()
            write(folder, name + suffix, graph_def, [{"x": each} for each in inputs], answers)


# Written for version 2; frozen with loops of either version, and with choices lowered to _SwitchN by both.


def chosen_by_number(x):
    number = tf.cast(tf.round(tf.reduce_sum(x)), tf.int32)
    inner = lambda: tf.switch_case(tf.cast(x[0, 0] > 0, tf.int32), [lambda: -x, lambda: x * x])
    return tf.switch_case(number, [lambda: x * 2, inner, lambda: tf.ones_like(x), lambda: x - 1])


def array_that_grows(x):
    array, total, i = tf.TensorArray(tf.float32, 0, dynamic_size=True), tf.zeros([3]), tf.constant(0)
    while tf.reduce_sum(total) < 6.0 and i < 20:
        total += tf.abs(x[i % 4])
        array = array.write(i, total)
        i += 1
    return array.stack()


def array_written_in_branches(x):
    array = tf.TensorArray(tf.float32, 4, element_shape=[3])
    for i in tf.range(4):
        if tf.reduce_sum(x[i]) > 0:
            array = array.write(i, x[i])
        else:
            array = array.write(i, -x[i])
    return array.stack()


def array_read_in_the_loop(x):
    array = tf.TensorArray(tf.float32, 5, element_shape=[3], clear_after_read=False).write(0, x[0])
    for i in tf.range(4):
        array = array.write(i + 1, array.read(i) * 2 + x[i])
    return array.stack()


def scanned_backwards(x):
    return tf.scan(lambda a, row: a * 0.5 + row, x, reverse=True)


def write_functions(folder: Path) -> None:
    for function in (chosen_by_number, array_that_grows, array_written_in_branches, array_read_in_the_loop, scanned_backwards):
        concrete = tf.function(function, input_signature=[tf.TensorSpec([4, 3], tf.float32, name="x")]).get_concrete_function()
        inputs = [numbers(4, 3) for _ in range(6)]
        answers = [np.asarray(concrete(tf.constant(each))) for each in inputs]
        for suffix, lower in (("", False), ("_lowered", True)):
            graph_def = convert_variables_to_constants_v2(concrete, lower_control_flow=lower).graph.as_graph_def()
            write(folder, function.__name__ + suffix, graph_def, [{"x": each} for each in inputs], answers)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    write_keras(target)
    write_functions(target)
    v1.disable_control_flow_v2()
    for case_name, each_case in CASES.items():
        write_case(target, case_name, each_case)
