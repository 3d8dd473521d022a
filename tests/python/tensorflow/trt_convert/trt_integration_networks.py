"""Networks like those of TF-TRT's integration tests, each with the engines that are expected of it.

Made from what is known of these tests: what each is about. Names of nodes in `engines` are those that must be inside of the
engine; TRTEngineOp_000 is the last one of the graph, as TF-TRT counted."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

RANDOM = np.random.default_rng(0)


def weights(*shape, scale=0.3):
    return tf.constant(RANDOM.normal(0, scale, shape).astype(np.float32))


def native(x, name):
    """A node that the tests keep out of engines."""
    return tf.math.erfc(x, name=name)


@dataclasses.dataclass
class Case:
    """network: gives the outputs, which get their names here
    inputs, outputs: shapes
    engines: names of nodes by engine
    dtype: of the inputs
    open: which sizes are open, by input; None: the first ones
    more: further shapes, of inputs and of outputs
    modes: which precisions run, and "static", "dynamic", "profiles"
    atol: absolute tolerance, of numbers in FP16
    only_2: runs in the modes of TensorFlow 2 alone: in those of TensorFlow 1 the base class wants all nodes of an engine to have one
        first size, computed constants too, which TensorFlow folded before TF-TRT, and has an error for results of rank below 2
    """

    name: str
    network: Callable
    inputs: Sequence[Sequence[int]]
    outputs: Sequence[Sequence[int]]
    engines: dict
    dtype: object = tf.float32
    open: Sequence | None = None
    more: Sequence = ()
    modes: Sequence[str] = ("FP32", "FP16", "INT8", "static", "dynamic", "profiles")
    atol: float = 0.02
    only_2: bool = False


FLOATS = ("FP32", "FP16", "static", "dynamic", "profiles")
"""Of networks without a product, which have nothing that INT8 stores."""
EXACT = ("FP32", "static", "dynamic", "profiles")
CASES = []


def case(inputs, outputs, engines, **options):
    def add(network):
        name = "".join(word.capitalize() for word in network.__name__.split("_"))
        CASES.append(Case(name, network, inputs, outputs, {f"TRTEngineOp_{number:03d}": list(names) for number, names in enumerate(engines)}, **options))
        return network

    return add


@case([[16, 24, 24, 2]], [[16, 6, 6, 6]], [["conv", "bias_add", "relu", "identity", "pool"]])
def one_engine(x):
    y = tf.nn.conv2d(x, weights(3, 3, 2, 6), [1, 2, 2, 1], "SAME", name="conv")
    y = tf.nn.relu(tf.nn.bias_add(y, tf.constant([0.5] * 6), name="bias_add"), name="relu")
    return tf.nn.max_pool2d(tf.identity(y, name="identity"), 2, 2, "VALID", name="pool")


@case([[8, 12, 12, 2]], [[8, 12, 12, 4]], [["conv1", "relu1"], ["conv", "relu"]])
def two_engines(x):
    y = tf.nn.relu(tf.nn.conv2d(x, weights(3, 3, 2, 6), 1, "SAME", name="conv"), name="relu")
    return tf.nn.relu(tf.nn.conv2d(native(y, "native"), weights(3, 3, 6, 4), 1, "SAME", name="conv1"), name="relu1")


@case([[4, 12, 12, 2]], [[4, 12, 12, 6]], [["conv", "add", "mul", "sub"], ["first", "relu"]])
def three_branches_meet(x):
    """Branches from one value, of which one is native."""
    start = tf.nn.relu(tf.nn.conv2d(x, weights(3, 3, 2, 6), 1, "SAME", name="first"), name="relu")
    product = tf.multiply(native(start, "native"), weights(1, 1, 1, 6), name="mul")
    y = tf.add(tf.nn.conv2d(start, weights(1, 1, 6, 6), 1, "SAME", name="conv"), product, name="add")
    return tf.subtract(y, start, name="sub")


@case([[10, 10, 10, 3]], [[10, 10, 10, 3]], [["add1", "mul1"], ["add", "mul"]], modes=FLOATS)
def a_constant_as_input(x):
    """Both engines get copies of a constant."""
    c = tf.constant([[[0.5, 1.0, 1.5]]], name="shared")
    y = native(tf.multiply(tf.add(x, c, name="add"), c, name="mul"), "native")
    return tf.multiply(tf.add(y, c, name="add1"), c, name="mul1")


@case([[2, 4, 4, 3]], [[2, 4, 4, 3]], [["add", "sum", "mul"]], modes=FLOATS, only_2=True)
def constants_computed_in_the_graph(x):
    c = tf.add(weights(1, 4, 4, 3), weights(1, 4, 4, 3), name="computed")
    return tf.multiply(tf.add(tf.add(x, c, name="add"), x, name="sum"), c, name="mul")


@case([[2, 32, 32, 3]], [[2, 32, 32, 3]], [["add1", "mul1"], ["add", "mul"]], modes=FLOATS)
def control_edges_between_engines(x):
    y = tf.multiply(tf.add(x, 1.0, name="add"), 0.5, name="mul")
    z = native(y, "native")
    with tf.control_dependencies([y]):
        w = tf.add(z, 2.0, name="add1")
    with tf.control_dependencies([z]):
        return tf.multiply(w, 0.25, name="mul1")


@case([[6, 5, 8, 12], [6, 5, 12, 7]], [[6, 5, 8, 7]], [["product", "relu"]], modes=FLOATS, atol=0.1)
def products_of_two_inputs(x, y):
    return tf.nn.relu(tf.matmul(x, y, name="product"), name="relu")


@case([[6, 5, 8, 12]], [[6, 5, 8, 7]], [["product", "relu"]])
def products_with_broadcast_weights(x):
    return tf.nn.relu(tf.matmul(x, weights(1, 5, 12, 7), name="product"), name="relu")


@case([[6, 8, 12]], [[6, 8, 7]], [["product", "shift"]])
def products_with_weights_of_rank_two(x):
    return tf.add(tf.einsum("abc,cd->abd", x, weights(12, 7), name="product"), weights(7), name="shift")


@case([[4, 64]], [[4, 44]], [["flat", "product", "bias", "transposed", "add", "concat"]])
def products_and_biases_of_all_shapes(x):
    pictures = tf.reshape(x, [-1, 4, 4, 4], name="flat")
    first = tf.nn.bias_add(tf.matmul(x, weights(64, 16), name="product"), weights(16), name="bias")
    second = tf.matmul(x, weights(12, 64), transpose_b=True, name="transposed")
    third = tf.reduce_mean(tf.add(pictures, weights(4), name="add"), [1])
    return tf.concat([first, second, tf.reshape(third, [-1, 16])], 1, name="concat")


@case([[10, 24, 24, 20]], [[10, 24, 24, 20]], [["add3", "scaled3"], ["add2", "scaled2"], ["add1", "scaled1"], ["add0", "scaled0"]], modes=FLOATS)
def weights_of_every_rank_are_broadcast(x):
    for number, shape in enumerate([(24, 24, 20), (20,), (24, 1, 20), (1, 1, 1, 1)]):
        x = tf.multiply(tf.add(weights(*shape), x, name=f"add{number}"), 0.5, name=f"scaled{number}")
        x = native(x, f"native{number}") if number < 3 else x
    return x


@case([[4, 8], [4, 8]], [[4, 8]], [["both", "neither", "either"]], dtype=tf.bool, modes=EXACT)
def truth_values(x, y):
    both = tf.logical_and(x, y, name="both")
    neither = tf.logical_not(tf.logical_or(x, y, name="either"), name="neither")
    return tf.logical_or(both, neither)


@case([[3, 7, 5], [3, 7, 5]], [[3, 7, 5]], [["larger", "chosen", "least"]], modes=FLOATS)
def comparisons_choose(x, y):
    chosen = tf.where(tf.greater(x, y, name="larger"), x, tf.negative(y), name="chosen")
    return tf.minimum(chosen, 0.7, name="least")


@case([[3, 6, 5]], [[3, 6, 5]], [["narrow", "relu", "wide", "shifted"]], modes=FLOATS)
def casts_there_and_back(x):
    y = tf.nn.relu(tf.cast(x, tf.float16, name="narrow"), name="relu")
    return tf.add(tf.cast(y, tf.float32, name="wide"), 0.5, name="shifted")


@case([[2, 9, 1, 4], [2, 9, 3]], [[2, 4, 4], [2, 4], [2, 4], [2]], [["boxes", "kept"]], modes=EXACT)
def suppression_of_boxes(x, scores):
    corner = tf.multiply(x, 0.5, name="boxes")
    boxes = tf.concat([corner[..., :2], corner[..., :2] + 0.4], -1)
    return list(tf.image.combined_non_max_suppression(boxes, scores, 3, 4, 0.5, 0.2, name="kept"))


@case([[2, 3, 3, 2]], [[2, 126]], [["concat", "reshape", *(f"part{number}" for number in range(7))]], modes=FLOATS)
def concatenation_of_many(x):
    parts = [tf.multiply(x, 0.25 * (number + 1), name=f"part{number}") for number in range(7)]
    return tf.reshape(tf.concat(parts, -1, name="concat"), [-1, 126], name="reshape")


@case([[5, 12, 12, 2]], [[5, 12, 12, 1]], [["conv", "scale", "shift"]])
def a_filter_of_one_number(x):
    y = tf.nn.conv2d(x, tf.constant(0.3, shape=[3, 3, 2, 1]), 1, "SAME", name="conv")
    return tf.add(tf.multiply(y, tf.constant(0.1, shape=[12, 12, 1]), name="scale"), 1.0, name="shift")


@case([[13, 24, 11, 3]], [[13, 12, 6, 5]], [["conv", "bias", "relu"]])
def convolution_with_strides(x):
    y = tf.nn.conv2d(x, weights(3, 3, 3, 5), [1, 2, 2, 1], "SAME", name="conv")
    return tf.nn.relu(tf.nn.bias_add(y, weights(5), name="bias"), name="relu")


@case([[3, 20, 18, 3]], [[3, 14, 12, 5]], [["conv", "relu"]])
def convolution_with_dilation(x):
    return tf.nn.relu(tf.nn.conv2d(x, weights(3, 3, 3, 5), 1, "VALID", dilations=[1, 3, 3, 1], name="conv"), name="relu")


@case([[3, 9, 10, 4]], [[3, 9, 10, 8]], [["conv", "relu", "point"]])
def convolution_of_each_channel(x):
    y = tf.nn.relu(tf.nn.depthwise_conv2d(x, weights(3, 3, 4, 1), [1, 1, 1, 1], "SAME", name="conv"), name="relu")
    return tf.nn.conv2d(y, weights(1, 1, 4, 8), 1, "SAME", name="point")


@case([[3, 7, 6, 4]], [[3, 14, 12, 5]], [["conv", "relu"]], modes=FLOATS)
def convolution_backwards(x):
    return tf.nn.relu(tf.nn.conv2d_transpose(x, weights(4, 4, 5, 4), [3, 14, 12, 5], 2, "SAME", name="conv"), name="relu")


@case([[2, 5, 6, 7, 3]], [[2, 5, 6, 7, 4]], [["conv", "relu"]], modes=FLOATS)
def convolution_of_volumes(x):
    return tf.nn.relu(tf.nn.conv3d(x, weights(3, 3, 3, 3, 4), [1, 1, 1, 1, 1], "SAME", name="conv"), name="relu")


@case(
    [[1, 5, 7, 2]],
    [[1, 5, 7, 4]],
    [["conv", "sigmoid"]],
    open=[[False, False, False, True]],
    more=[([[2, 9, 4, 2]], [[2, 9, 4, 4]]), ([[3, 11, 11, 2]], [[3, 11, 11, 4]])],
    modes=("FP32", "FP16", "dynamic", "profiles"),
)
def open_sizes_everywhere(x):
    return tf.sigmoid(tf.nn.conv2d(x, weights(3, 3, 2, 4), 1, "SAME", name="conv"), name="sigmoid")


@case([[5, 4, 3]], [[5, 4, 3], [5, 4, 3]], [["product", "tanh"]])
def one_value_is_two_outputs(x):
    y = tf.tanh(tf.matmul(x, weights(1, 3, 3), name="product"), name="tanh")
    return [tf.identity(y, name="first"), tf.identity(y, name="second")]


@case([[4, 6, 5]], [[4, 5, 6]], [["add", "mul", "transpose"]], dtype=tf.int32, modes=EXACT)
def whole_numbers(x):
    return tf.transpose(tf.multiply(tf.add(x, 3, name="add"), 2, name="mul"), [0, 2, 1], name="transpose")


@case(
    [[1, 10, 10, 2]],
    [[1, 10, 10, 1]],
    [["conv", "relu", "conv1"]],
    more=[([[2, 10, 10, 2]], [[2, 10, 10, 1]]), ([[4, 10, 10, 2]], [[4, 10, 10, 1]]), ([[2, 10, 10, 2]], [[2, 10, 10, 1]])],
    modes=("FP32", "FP16", "static", "dynamic", "profiles"),
)
def batches_of_several_sizes(x):
    y = tf.nn.relu(tf.nn.conv2d(x, weights(3, 3, 2, 3), 1, "SAME", name="conv"), name="relu")
    return tf.nn.conv2d(y, weights(3, 3, 3, 1), 1, "SAME", name="conv1")


@case([[2, 15, 15, 3]], [[2, 15, 15, 10]], [["conv", "relu", "conv1"]])
def odd_numbers_of_channels(x):
    y = tf.nn.relu(tf.nn.conv2d(x, weights(5, 5, 3, 7), 1, "SAME", name="conv"), name="relu")
    return tf.nn.conv2d(y, weights(3, 3, 7, 10), 1, "SAME", name="conv1")


@case([[2, 8, 8, 3]], [[2, 8, 8, 4]], [["mul", "add", "sum"], ["conv", "negative", "sub"]])
def neighbours_with_several_edges(x):
    """The second engine reads three values of the first one, and what native nodes make of two."""
    y = tf.nn.conv2d(x, weights(3, 3, 3, 4), 1, "SAME", name="conv")
    z, w = tf.negative(y, name="negative"), tf.subtract(y, 0.5, name="sub")
    left, right = tf.multiply(native(z, "native"), y, name="mul"), tf.add(native(w, "native1"), z, name="add")
    return tf.add(left, right, name="sum")


@case([[2, 8, 8, 3]], [[2, 8, 8, 4]], [["mul", "tanh"], ["conv", "bias"]])
def neighbours_with_a_native_one_between(x):
    y = tf.nn.bias_add(tf.nn.conv2d(x, weights(3, 3, 3, 4), 1, "SAME", name="conv"), weights(4), name="bias")
    return tf.tanh(tf.multiply(y, native(y, "native"), name="mul"), name="tanh")


def ranged(x, least, most, name):
    return tf.quantization.quantize_and_dequantize_v2(x, least, most, range_given=True, name=name)


@case([[8, 6]], [[8, 4]], [["product", "shift", "relu", "second"]], modes=("FP32", "INT8", "static", "dynamic", "profiles"))
def ranges_in_the_graph(x):
    y = ranged(tf.matmul(ranged(x, -5.0, 5.0, "input"), weights(6, 8), name="product"), -5.0, 5.0, "inner")
    y = tf.nn.relu(tf.add(y, weights(8), name="shift"), name="relu")
    return tf.matmul(ranged(y, 0.0, 6.0, "outer"), weights(8, 4), name="second")


@case([[5, 6], [5, 6, 2, 2]], [[5, 6, 2, 2]], [["expanded", "add", "tanh"]], modes=FLOATS)
def inputs_of_two_ranks(x, y):
    wide = tf.expand_dims(tf.expand_dims(x, -1), -1, name="expanded")
    return tf.tanh(tf.add(wide, y, name="add"), name="tanh")


@case([[8, 4, 6, 5]], [[8, 120]], [["reshape", "transpose", "back", "sum", "flat"]], modes=FLOATS)
def reshapes_and_transposes(x):
    y = tf.transpose(tf.reshape(x, [-1, 24, 5], name="reshape"), [0, 2, 1], name="transpose")
    y = tf.reshape(tf.transpose(y, [0, 2, 1], name="back"), [-1, 4, 6, 5])
    return tf.reshape(tf.add(y, x, name="sum"), [-1, 120], name="flat")


@case([[4, 6, 3]], [[4, 3, 6], [3]], [["shape", "reshaped", "doubled"]], modes=EXACT, only_2=True)
def shapes_are_computed(x):
    size = tf.shape(x, name="shape")
    y = tf.reshape(x, [size[0], size[2], size[1]], name="reshaped")
    return [tf.multiply(y, 2.0, name="doubled"), tf.identity(size)]


@case([[4, 10]], [[4, 5], [4, 5]], [["scaled", "top"]], modes=EXACT)
def largest_elements(x):
    return list(tf.nn.top_k(tf.multiply(x, 3.0, name="scaled"), 5, name="top"))


@case([[4, 6, 7]], [[6, 7], [4, 1, 1], [4, 6, 7]], [["whole", "largest", "softmax", "scaled"]], modes=FLOATS, only_2=True)
def reductions_over_batch_and_rest(x):
    y = tf.multiply(x, 0.5, name="scaled")
    return [tf.reduce_sum(y, 0, name="whole"), tf.reduce_max(y, [1, 2], keepdims=True, name="largest"), tf.nn.softmax(y, name="softmax")]


UNARY = "exp log sqrt rsqrt reciprocal abs negative ceil floor sin cos tan sinh cosh asin acos atan asinh atanh square sigmoid tanh round sign".split()
WITHIN = {"log": 1.5, "sqrt": 1.5, "rsqrt": 1.5, "reciprocal": 1.5}


@case([[4, 5, 3, 1, 1, 2]], [[4, 5, 3, 2]], [["squeezed", *UNARY]], modes=("FP32", "static", "dynamic", "profiles"))
def every_function_of_one_value(x):
    y = tf.squeeze(x, [3, 4], name="squeezed") * 0.9
    results = []
    for name in UNARY:
        function = getattr(tf.nn, name, None) or getattr(tf.math, name)
        results.append(function(y + WITHIN.get(name, 0.03), name=name))
    return tf.add_n(results)


@case([[5, 8, 8, 2]], [[5, 2, 2, 6]], [["normal", "conv", "bias", "relu", "pool", "pool1"]])
def a_block_with_normalisation(x):
    moments = {"scale": weights(2), "offset": weights(2), "mean": weights(2), "variance": tf.constant([0.5, 2.0])}
    y, *_ = tf.compat.v1.nn.fused_batch_norm(x, **moments, epsilon=0.001, is_training=False, name="normal")
    y = tf.nn.conv2d(y, weights(3, 3, 2, 6), 1, "SAME", name="conv")
    y = tf.nn.relu(tf.nn.bias_add(y, weights(6), name="bias"), name="relu")
    return tf.nn.avg_pool2d(tf.nn.max_pool2d(y, 2, 2, "VALID", name="pool"), 2, 2, "VALID", name="pool1")


@case([[4, 6], [4, 6]], [[4, 3]], [["product", "relu"], ["add", "scaled"]])
def a_function_that_only_tensorflow_has(x, y):
    """igamma, TF-TRT's incompatible operator of two inputs."""
    z = tf.multiply(tf.add(x, y, name="add"), 0.5, name="scaled")
    z = tf.math.igamma(z, z, name="native")
    return tf.nn.relu(tf.matmul(z, weights(6, 3), name="product"), name="relu")
