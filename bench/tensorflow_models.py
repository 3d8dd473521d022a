"""The ten networks of TF-TRT's guide, with random weights and a last layer fitted on synthetic classes, as TensorFlow exports them.

Run by a Python with TensorFlow, from tensorflow_networks.py:

    python tensorflow_models.py NAME FOLDER --images 1000

writes FOLDER/saved_model, and FOLDER/data.npz: images (u8), labels, logits (TensorFlow's, FP32), calibration images.
Networks that tf.keras.applications lacks are built here from layers, after the papers: ResNet-50 v1.5 (the stride of a block in its 3 x 3
convolution) and Inception v4 (Szegedy et al. 2016, figures 3 to 9).
"""

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers  # noqa: E402

CLASSES = 20
TRAINING = 20  # Images of each class that the last layer is fitted on.
CALIBRATION = 48
BATCH = 16


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


class Images:
    """Pictures of classes: a smooth pattern for each class, moved, mixed with another pattern, of other contrast, with noise."""

    def __init__(self, side):
        self.side = side
        self.random = np.random.default_rng(1)
        self.patterns = self.smooth(CLASSES)

    def smooth(self, count):
        small = self.random.uniform(-1, 1, (count, 6, 6, 3)).astype(np.float32)
        return tf.image.resize(small, (self.side, self.side), method="bicubic").numpy()

    def make(self, count):
        labels = np.arange(count) % CLASSES
        self.random.shuffle(labels)
        images = np.empty((count, self.side, self.side, 3), np.uint8)
        for begin in range(0, count, 64):
            of = labels[begin : begin + 64]
            other = self.smooth(len(of))
            for i, label in enumerate(of):
                moved = np.roll(self.patterns[label], self.random.integers(-self.side // 20, self.side // 20 + 1, 2), (0, 1))
                mixed = (moved + 0.15 * other[i]) * self.random.uniform(0.7, 1.1) + self.random.normal(0, 0.05, moved.shape)
                images[begin + i] = np.clip(127.5 * (mixed + self.random.uniform(-0.15, 0.15)) + 127.5, 0, 255)
        return images, labels


def values(images):
    return images.astype(np.float32) / np.float32(127.5) - 1


def outputs(model, images):
    run = tf.function(lambda x: model(x, training=False))
    return np.concatenate([run(values(images[i : i + BATCH])).numpy() for i in range(0, len(images), BATCH)])


def settle_normalisation(model, images):
    """Moving averages become those of a batch, so that activations have the scale of a trained network's, and offsets such that few of
    them are cut off: a deep network of random weights around zero would lose the classes."""
    for layer in model.layers:
        if isinstance(layer, layers.BatchNormalization):
            layer.momentum = 0.0
            layer.beta.assign(tf.fill(layer.beta.shape, 1.5))
    model(values(images[: 2 * BATCH]), training=True)


def fit_last_layer(model, images, labels):
    """Ridge regression onto the classes."""
    last = [layer for layer in model.layers if isinstance(layer, (layers.Dense, layers.Conv2D))][-1]
    features = outputs(keras.Model(model.input, last.input), images).reshape(len(images), -1).astype(np.float64)
    mean = features.mean(0)
    centred = features - mean
    gram = centred @ centred.T
    wanted = np.eye(CLASSES)[labels] - 1 / CLASSES
    weight = centred.T @ np.linalg.solve(gram + np.eye(len(gram)) * 0.1 * np.trace(gram) / len(gram), wanted) * 10
    last.set_weights([weight.reshape(last.get_weights()[0].shape).astype(np.float32), (-mean @ weight).astype(np.float32)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=NETWORKS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=1000)
    arguments = parser.parse_args()
    keras.utils.set_random_seed(0)
    side, build = NETWORKS[arguments.name]
    model = build((side, side, 3))
    source = Images(side)
    training, classes = source.make(TRAINING * CLASSES)
    settle_normalisation(model, training)
    fit_last_layer(model, training, classes)
    images, labels = source.make(arguments.images)
    start = time.monotonic()
    logits = outputs(model, images)
    print(f"TensorFlow: {len(images)} images in {time.monotonic() - start:.1f} s, accuracy {(logits.argmax(1) == labels).mean():.4f}", flush=True)
    model.export(arguments.folder / "saved_model", verbose=False)
    np.savez(arguments.folder / "data.npz", images=images, labels=labels, logits=logits, calibration=values(training[:CALIBRATION]))


if __name__ == "__main__":
    main()
