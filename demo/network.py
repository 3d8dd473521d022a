"""The detector's layers, written once: KerasLayers trains them, export.OnnxLayers writes them down."""

import keras
import numpy as np

from detections import HEIGHT, WIDTH
from shapes import LABELS

CELL = 8
GRID = (HEIGHT // CELL, WIDTH // CELL)
EPSILON = 1e-3


def network(layers):
    """Input [N, 3, HEIGHT, WIDTH] to (boxes, scores); `layers` decides what the layers are made of."""
    x = layers.input()
    x = layers.conv(x, "stem", 16, stride=2)
    x = layers.conv(x, "down_4", 24, stride=2)
    x = layers.conv(x, "down_8", 32, stride=2)
    x = residual(layers, x, "fine", 32)
    y = separable(layers, x, "down_16", 64, stride=2)
    for k in range(2):
        inner = separable(layers, y, f"coarse_{k}a", 64)
        inner = separable(layers, inner, f"coarse_{k}b", 64, relu=False)
        y = layers.add_relu(y, inner, f"coarse_{k}")
    y = layers.conv(y, "lateral", 32, kernel=1, relu=False)
    x = layers.add_relu(x, layers.upsample(y, "upsample"), "merge")
    x = layers.conv(x, "head_a", 32)
    x = separable(layers, x, "head_b", 48)
    return layers.decode(x, "answers")


def residual(layers, x, name, channels):
    inner = layers.conv(x, f"{name}_a", channels)
    inner = layers.conv(inner, f"{name}_b", channels, relu=False)
    return layers.add_relu(x, inner, name)


def separable(layers, x, name, channels, stride=1, relu=True):
    x = layers.depthwise(x, f"{name}_depth", stride)
    return layers.conv(x, f"{name}_point", channels, kernel=1, relu=relu)


def cell_centres():
    """The middle of each cell, as the box without extent that it is: float32 [4, rows, columns], 0..1."""
    rows, columns = GRID
    y, x = np.meshgrid((np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns, indexing="ij")
    return np.stack([x, y, x, y]).astype(np.float32)


def side_scales():
    """How far each side lies from the middle at a distance of one (two cells), and in which direction."""
    reach = np.array([-1 / WIDTH, -1 / HEIGHT, 1 / WIDTH, 1 / HEIGHT]) * 2 * CELL
    return reach.astype(np.float32).reshape(4, 1, 1)


class KerasLayers:
    """Layers for training, in NHWC; answers boxes [N, rows, columns, 4] and scores before the sigmoid."""

    def input(self):
        self._input = keras.Input((HEIGHT, WIDTH, 3))
        return self._input

    def conv(self, x, name, channels, kernel=3, stride=1, relu=True):
        x = keras.layers.Conv2D(
            channels, kernel, stride, "same", use_bias=False, name=name, kernel_initializer="he_normal"
        )(x)
        return self._normalise(x, name, relu)

    def depthwise(self, x, name, stride):
        x = keras.layers.DepthwiseConv2D(
            3, stride, "same", use_bias=False, name=name, depthwise_initializer="he_normal"
        )(x)
        return self._normalise(x, name, relu=True)

    def add_relu(self, x, y, name):
        return keras.layers.ReLU(name=f"{name}_relu")(keras.layers.Add(name=f"{name}_add")([x, y]))

    def upsample(self, x, name):
        return keras.layers.UpSampling2D(2, interpolation="nearest", name=name)(x)

    def decode(self, x, name):
        # Scores start near 0.02: most cells hold nothing.
        bias = np.array([0.0] * 4 + [-4.0] * len(LABELS), np.float32)
        x = keras.layers.Conv2D(
            4 + len(LABELS),
            1,
            name=name,
            kernel_initializer=keras.initializers.RandomNormal(0, 0.01),
            bias_initializer=keras.initializers.Constant(bias),
        )(x)
        centres, scales = cell_centres().transpose(1, 2, 0), side_scales().reshape(4)
        boxes = keras.ops.exp(x[..., :4]) * scales + centres
        return keras.Model(self._input, [boxes, x[..., 4:]])

    def _normalise(self, x, name, relu):
        x = keras.layers.BatchNormalization(momentum=0.97, epsilon=EPSILON, name=f"{name}_bn")(x)
        return keras.layers.ReLU(name=f"{name}_relu")(x) if relu else x
