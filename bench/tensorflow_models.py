"""The ten networks of TF-TRT's guide, with random weights and a last layer fitted on synthetic classes, as TensorFlow exports them.

Run by a Python with TensorFlow, from tensorflow_networks.py:

    python tensorflow_models.py NAME FOLDER --images 1000 --cache PICTURES

writes FOLDER/saved_model and FOLDER/logits.npy, TensorFlow's answers in FP32. What is there already is not made again.
Networks that tf.keras.applications lacks are built here from layers, after the papers: ResNet-50 v1.5 (the stride of a block in its 3 x 3
convolution) and Inception v4 (Szegedy et al. 2016, figures 3 to 9).

Weights are NumPy's of a seed (drawn_weights.py). What follows from pictures is the scale of each layer (settle) and the last layer
(fit_last_layer).
"""

import argparse
import json
import os
import shutil
import time
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import drawn_weights  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import synthetic_images as synthetic  # noqa: E402
from keras import layers  # noqa: E402

CLASSES = synthetic.CLASSES
TRAINING = 30  # Pictures of each class that the last layer is fitted on.
SETTLING = 20  # Pictures that scales of layers come from.
BATCH = 8
# What a channel's mean is set to, in standard deviations: a trained network's rectifiers let a part pass, not all and not nothing.
SHIFT = 1.0


def convolution(x, filters, size, strides=1, padding="same", activation=True):
    x = layers.Conv2D(filters, size, strides=strides, padding=padding, use_bias=False)(x)
    x = layers.BatchNormalization(epsilon=1e-3)(x)
    return layers.ReLU()(x) if activation else x


def resnet50_v1_5(shape):
    x = inputs = keras.Input(shape, name="image")
    x = convolution(layers.ZeroPadding2D(3)(x), 64, 7, 2, "valid")
    x = layers.MaxPooling2D(3, 2, padding="same")(x)
    for stage, (filters, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
        for block in range(blocks):
            strides = 2 if stage > 0 and block == 0 else 1
            y = convolution(x, filters, 1)
            y = convolution(y, filters, 3, strides)
            y = convolution(y, 4 * filters, 1, activation=False)
            if block == 0:
                x = convolution(x, 4 * filters, 1, strides, activation=False)
            x = layers.ReLU()(layers.Add()([x, y]))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(CLASSES, name="predictions")(x))


def inception_v4_stem(x):
    x = convolution(x, 32, 3, 2, "valid")
    x = convolution(x, 32, 3, 1, "valid")
    x = convolution(x, 64, 3)
    x = layers.Concatenate()([layers.MaxPooling2D(3, 2)(x), convolution(x, 96, 3, 2, "valid")])
    a = convolution(convolution(x, 64, 1), 96, 3, 1, "valid")
    b = convolution(convolution(convolution(x, 64, 1), 64, (7, 1)), 64, (1, 7))
    x = layers.Concatenate()([a, convolution(b, 96, 3, 1, "valid")])
    return layers.Concatenate()([convolution(x, 192, 3, 2, "valid"), layers.MaxPooling2D(3, 2)(x)])


def pooled(x, filters):
    return convolution(layers.AveragePooling2D(3, 1, padding="same")(x), filters, 1)


def inception_a(x):
    c = convolution(convolution(x, 64, 1), 96, 3)
    d = convolution(convolution(convolution(x, 64, 1), 96, 3), 96, 3)
    return layers.Concatenate()([pooled(x, 96), convolution(x, 96, 1), c, d])


def reduction_a(x):
    c = convolution(convolution(convolution(x, 192, 1), 224, 3), 256, 3, 2, "valid")
    return layers.Concatenate()([layers.MaxPooling2D(3, 2)(x), convolution(x, 384, 3, 2, "valid"), c])


def inception_b(x):
    c = convolution(convolution(convolution(x, 192, 1), 224, (1, 7)), 256, (7, 1))
    d = convolution(convolution(convolution(x, 192, 1), 192, (1, 7)), 224, (7, 1))
    d = convolution(convolution(d, 224, (1, 7)), 256, (7, 1))
    return layers.Concatenate()([pooled(x, 128), convolution(x, 384, 1), c, d])


def reduction_b(x):
    b = convolution(convolution(x, 192, 1), 192, 3, 2, "valid")
    c = convolution(convolution(convolution(x, 256, 1), 256, (1, 7)), 320, (7, 1))
    return layers.Concatenate()([layers.MaxPooling2D(3, 2)(x), b, convolution(c, 320, 3, 2, "valid")])


def inception_c(x):
    c = convolution(x, 384, 1)
    d = convolution(convolution(convolution(x, 384, 1), 448, (1, 3)), 512, (3, 1))
    split = [convolution(y, 256, size) for y in (c, d) for size in ((1, 3), (3, 1))]
    return layers.Concatenate()([pooled(x, 256), convolution(x, 256, 1), *split])


def inception_v4(shape):
    inputs = keras.Input(shape, name="image")
    x = inception_v4_stem(inputs)
    for block, count in ((inception_a, 4), (reduction_a, 1), (inception_b, 7), (reduction_b, 1), (inception_c, 3)):
        for _ in range(count):
            x = block(x)
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x))
    return keras.Model(inputs, layers.Dense(CLASSES, name="predictions")(x))


def application(name):
    return lambda shape: getattr(keras.applications, name)(weights=None, input_shape=shape, classes=CLASSES, classifier_activation=None)


# By the guide's names: side of the images, and what builds it.
NETWORKS = {
    "MobileNet v1": (224, application("MobileNet")),
    "MobileNet v2": (224, application("MobileNetV2")),
    "NASNet - Large": (331, application("NASNetLarge")),
    "NASNet - Mobile": (224, application("NASNetMobile")),
    "ResNet-50 v1.5": (224, resnet50_v1_5),
    "ResNet-50 v2": (224, application("ResNet50V2")),
    "VGG16": (224, application("VGG16")),
    "VGG19": (224, application("VGG19")),
    "Inception v3": (299, application("InceptionV3")),
    "Inception v4": (299, inception_v4),
}


def draw_weights(model):
    """Returns what was drawn for each layer, as drawn_weights.kernels() takes it."""
    drawn = {}
    for index, layer in enumerate(model.layers):
        weights = layer.get_weights()
        kernels = [i for i, weight in enumerate(weights) if weight.ndim > 1]
        if not kernels:
            continue
        drawn[index] = []
        for i in kernels:
            shape = weights[i].shape
            depthwise = isinstance(layer, layers.DepthwiseConv2D) or (isinstance(layer, layers.SeparableConv2D) and i == 0)
            drawn[index].append({"shape": shape, "fan_in": int(np.prod(shape[:2] if depthwise else shape[:-1]))})
        for i, kernel in zip(kernels, drawn_weights.kernels(index, drawn[index]), strict=True):
            weights[i] = kernel
        layer.set_weights(weights)
    return drawn


def settle(model, images, drawn):
    """Gives activations the scale of a trained network's, layer by layer: a deep network of random weights would lose the classes. Normalising
    layers take the mean and variance of these pictures; without such layers weights and biases do the same for each channel."""
    normalising = [layer for layer in model.layers if isinstance(layer, layers.BatchNormalization)]
    if not normalising:
        return settle_chain(model, images, drawn)
    for layer in normalising:
        layer.momentum = 0.0
        layer.beta.assign(tf.fill(layer.beta.shape, SHIFT))
    tf.function(lambda x: model(x, training=True))(synthetic.values(images))


def settle_chain(model, images, drawn):
    """A network that is a chain of layers."""
    x = synthetic.values(images)
    for index, layer in list(enumerate(model.layers))[1:-1]:
        if not isinstance(layer, (layers.Conv2D, layers.Dense)):
            x = layer(x).numpy()
            continue
        activation, layer.activation = layer.activation, keras.activations.linear
        y = layer(x).numpy()
        layer.activation = activation
        axes = tuple(range(y.ndim - 1))
        mean, deviation = y.mean(axes, dtype=np.float64), y.std(axes, dtype=np.float64) + 1e-6
        _, bias = layer.get_weights()
        drawn[index][0]["divisor"] = deviation.tolist()
        (kernel,) = drawn_weights.kernels(index, drawn[index])
        layer.set_weights([kernel, ((bias - mean) / deviation + SHIFT).astype(np.float32)])
        x = np.maximum((y - mean) / deviation + SHIFT, 0).astype(np.float32)


def ridge(features, wanted, penalty):
    """Weights of the least squared error with a penalty on their size, which is a share of the features' variance."""
    gram = features @ features.T
    return features.T @ np.linalg.solve(gram + np.eye(len(gram)) * penalty * np.trace(gram) / len(gram), wanted)


def fit_last_layer(model, images, labels):
    """Ridge regression of standardised features onto the classes; a fifth of the pictures chooses the penalty. Returns the share of that fifth
    that is answered well."""
    last = [layer for layer in model.layers if isinstance(layer, (layers.Dense, layers.Conv2D))][-1]
    run = tf.function(keras.Model(model.input, last.input))
    features = np.concatenate([run(synthetic.values(images[i : i + BATCH]), training=False).numpy() for i in range(0, len(images), BATCH)])
    features = features.reshape(len(images), -1).astype(np.float64)
    mean, deviation = features.mean(0), features.std(0) + 1e-9
    features = (features - mean) / deviation
    wanted = np.eye(CLASSES)[labels] - 1 / CLASSES
    kept = len(images) * 4 // 5
    answers = {penalty: features[kept:] @ ridge(features[:kept], wanted[:kept], penalty) for penalty in (1e-4, 1e-3, 1e-2, 1e-1, 1)}
    best = min(answers, key=lambda penalty: np.square(answers[penalty] - wanted[kept:]).mean())
    weight = ridge(features, wanted, best) * 10 / deviation[:, None]
    last.set_weights([weight.reshape(last.get_weights()[0].shape).astype(np.float32), (-mean @ weight).astype(np.float32)])
    return (answers[best].argmax(1) == labels[kept:]).mean()


def export(name, folder, cache):
    """Makes FOLDER/saved_model."""
    keras.utils.set_random_seed(0)
    side, build = NETWORKS[name]
    model = build((side, side, 3))
    images, labels = synthetic.cached(cache, synthetic.TRAINING, TRAINING * CLASSES, side)
    start = time.monotonic()
    drawn = draw_weights(model)
    settle(model, images[:SETTLING], drawn)
    (folder / "drawn.json").write_text(json.dumps(drawn))
    accuracy = fit_last_layer(model, images, labels)
    print(f"{name}: fitted in {time.monotonic() - start:.1f} s, accuracy on pictures left out {accuracy:.3f}", flush=True)
    for answers in [*folder.glob("*.npy"), *folder.glob("row-*.json")]:
        answers.unlink()  # Of an earlier model.
    made = folder / "saved_model.part"
    shutil.rmtree(made, ignore_errors=True)
    model.export(made, verbose=False)
    made.rename(folder / "saved_model")


def answer(name, folder, count, cache):
    """Makes FOLDER/logits.npy, and goes on where an earlier run ended."""
    images, labels = synthetic.cached(cache, synthetic.TEST, count, NETWORKS[name][0])
    path = folder / "logits.npy"
    logits = list(np.load(path)) if path.exists() else []
    model = tf.saved_model.load(folder / "saved_model")
    start, before = time.monotonic(), len(logits)
    while len(logits) < count:
        logits.extend(model.serve(synthetic.values(images[len(logits) : len(logits) + BATCH])).numpy())
        if len(logits) == count or len(logits) % (8 * BATCH) == 0:
            np.save(path, logits)
    accuracy = (np.argmax(logits, 1)[:count] == labels).mean()
    print(f"{name}: TensorFlow took {time.monotonic() - start:.1f} s for {max(count - before, 0)} pictures, accuracy {accuracy:.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=NETWORKS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--cache", type=Path, required=True, help="folder that pictures are kept in")
    arguments = parser.parse_args()
    if not (arguments.folder / "saved_model").exists():
        export(arguments.name, arguments.folder, arguments.cache)
    answer(arguments.name, arguments.folder, arguments.images, arguments.cache)


if __name__ == "__main__":
    main()
