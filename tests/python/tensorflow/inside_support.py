"""What the cases of models inside TensorFlow share: small networks, ways to run a graph, comparison. In a Python with TensorFlow."""

import sys
from pathlib import Path

import engine_models as models
import keras
import numpy as np
import tensorflow as tf

import lanner
from lanner import _tf_operators

lanner.tf.register(budget=0)
OPERATORS = tf.load_op_library(str(_tf_operators._path()))
v1 = tf.compat.v1
RANDOM = np.random.default_rng(0)
SHARED = Path(sys.argv[2])


def numbers(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


FILTER, MATRIX, BIAS = tf.Variable(numbers(3, 3, 3, 4)), tf.Variable(numbers(4, 5)), tf.Variable(numbers(5))


def network(x):
    """A picture's features and a softmax of their means."""
    features = tf.nn.relu(tf.nn.conv2d(x, FILTER, 1, "SAME"))
    return [tf.nn.softmax(tf.reduce_mean(features, [1, 2]) @ MATRIX + BIAS), features]


def close(got, expected, atol=1e-5):
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-5, atol=atol)


def raises(call, *parts):
    try:
        call()
    except Exception as error:  # noqa: BLE001 - TensorFlow's classes differ from way to way
        for part in parts:
            assert part in str(error), (part, str(error)[:2000])
        return error
    raise AssertionError(f"nothing was raised, expected {parts}")


EARLIER = set()  # engines of earlier cases, which TensorFlow may keep


def statistics(name):
    """Of the engines of this name that the case made."""
    return [entry for entry in lanner.tf.engine_statistics() if entry["name"] == name and entry["id"] not in EARLIER]


def session_run(graph, fetches, feeds, config=None, **options):
    with tf.Graph().as_default() as made, v1.Session(graph=made, config=config) as session:
        tf.import_graph_def(graph, name="")
        return session.run(fetches, feeds, **options)


def signature(folder):
    """A callable that takes one array or several and gives the outputs by name. It keeps the model alive."""
    loaded = tf.saved_model.load(str(folder))
    function = loaded.signatures["serving_default"]
    names = list(function.structured_input_signature[1])

    def call(*arrays):
        return {name: value.numpy() for name, value in function(**dict(zip(names, map(tf.constant, arrays), strict=True))).items()}

    call.loaded = loaded
    return call


def converted(source, folder, **options):
    model = lanner.tf.convert(source, budget=0, minimum_segment_size=1, **options)
    model.save(folder)
    return model


def keras_model(folder, layers, shape):
    inputs = keras.Input(shape)
    model = keras.Model(inputs, layers(inputs))
    (model.export if hasattr(model, "export") else lambda path: tf.saved_model.save(model, path))(str(folder))
    return model


def small_network(x):
    for width in (8, 12):
        y = keras.layers.Conv2D(width, 3, padding="same", strides=2)(x)
        x = keras.layers.ReLU()(keras.layers.BatchNormalization()(y))
    return keras.layers.Dense(5, activation="softmax")(keras.layers.GlobalAveragePooling2D()(x))


def one_engine(**attributes):
    """A graph of `network` as one engine, and its concrete function."""
    concrete = models.frozen(network, [None, 8, 8, 3])
    graph = models.engine_graph(concrete, "last_serialized")
    (node,) = [node for node in graph.node if node.op == "TRTEngineOp"]
    for key, value in attributes.items():
        if key == "op":
            node.op = value
        else:
            setattr(node.attr[key], {bytes: "s", bool: "b"}[type(value)], value)
    return graph, node
