"""The networks, each defined once: torch_layers.TorchLayers trains them, export.OnnxLayers exports them.

A network is a function of `layers`, which makes its layers and returns their outputs by name.
"""

import numpy as np

from detections import HEIGHT, WIDTH

CELL = 8
GRID = (HEIGHT // CELL, WIDTH // CELL)
EPSILON = 1e-3
CROP = 48


def pyramid(layers):
    """Features of cells of 2, 4 and 8 pixels, the last with context from cells of 16."""
    stem = layers.conv(layers.input(), "stem", 16, stride=2)
    fine = layers.conv(stem, "down_4", 24, stride=2)
    x = layers.conv(fine, "down_8", 32, stride=2)
    x = residual(layers, x, "fine", 32)
    y = separable(layers, x, "down_16", 64, stride=2)
    for k in range(2):
        inner = separable(layers, y, f"coarse_{k}a", 64)
        inner = separable(layers, inner, f"coarse_{k}b", 64, relu=False)
        y = layers.add_relu(y, inner, f"coarse_{k}")
    y = layers.conv(y, "lateral", 32, kernel=1, relu=False)
    x = layers.add_relu(x, layers.upsample(y, "upsample"), "merge")
    return stem, fine, layers.conv(x, "head_a", 32)


def grid(layers, bias, prototypes=0):
    """Predicts each cell's content; `bias` is each channel's initial value. `prototypes`: also parts of masks."""
    _, fine, x = pyramid(layers)
    outputs = {"answers": layers.plain(separable(layers, x, "head_b", 48), "answers", len(bias), bias=bias)}
    if prototypes:
        x = finer(layers, x, fine, "masks", 32)
        outputs["prototypes"] = layers.plain(x, "prototypes", prototypes)
    return outputs


def depth(layers):
    """The logarithm of the distance at each second pixel."""
    stem, fine, x = pyramid(layers)
    x = separable(layers, x, "head_b", 48)
    x = finer(layers, x, fine, "depth_4", 24)
    x = finer(layers, x, stem, "depth_2", 16)
    return {"log_depth": layers.plain(x, "log_depth", 1, bias=np.array([1.5]))}


def classifier(layers, classes):
    """One of `classes` for an image of CROP x CROP pixels."""
    x = layers.conv(layers.input(), "stem", 12, stride=2)
    x = layers.conv(x, "down_4", 24, stride=2)
    x = residual(layers, x, "fine", 24)
    x = separable(layers, x, "down_8", 40, stride=2)
    x = separable(layers, x, "coarse", 48)
    return {"scores": layers.plain(layers.mean(x, "mean"), "scores", classes)}


def upscaler(layers):
    """Twice the width and height: a correction of each pixel, repeated four times."""
    picture = layers.input()
    x = layers.plain(picture, "look", 24, kernel=5, relu=True)
    x = layers.plain(x, "think", 24, kernel=3, relu=True)
    x = layers.plain(x, "again", 24, kernel=3, relu=True)
    x = layers.depth_to_space(layers.plain(x, "correct", 12, kernel=3), "spread")
    return {"correction": layers.add(layers.upsample(picture, "repeat"), x, "sum")}


def residual(layers, x, name, channels):
    inner = layers.conv(x, f"{name}_a", channels)
    inner = layers.conv(inner, f"{name}_b", channels, relu=False)
    return layers.add_relu(x, inner, name)


def separable(layers, x, name, channels, stride=1, relu=True):
    x = layers.depthwise(x, f"{name}_depth", stride)
    return layers.conv(x, f"{name}_point", channels, kernel=1, relu=relu)


def finer(layers, x, side, name, channels):
    """Twice the resolution, combined with the features of that size."""
    x = layers.upsample(layers.conv(x, f"{name}_in", channels, kernel=1, relu=False), f"{name}_up")
    side = layers.conv(side, f"{name}_side", channels, kernel=1, relu=False)
    return layers.conv(layers.add_relu(x, side, f"{name}_sum"), f"{name}_out", channels)


def cell_centres():
    """The centre of each cell, as a box of size 0: float32 [4, rows, columns], 0..1."""
    rows, columns = GRID
    y, x = np.meshgrid((np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns, indexing="ij")
    return np.stack([x, y, x, y]).astype(np.float32)


def side_scales():
    """The offset of each side from the centre for a distance of one (two cells), with its sign."""
    reach = np.array([-1 / WIDTH, -1 / HEIGHT, 1 / WIDTH, 1 / HEIGHT]) * 2 * CELL
    return reach.astype(np.float32).reshape(4, 1, 1)
