"""An image as a printed poster: few tones, dark outlines. Designed, not trained: its weights are filters."""

import json

import numpy as np

import export

TONES = 4
LUMA = (0.299, 0.587, 0.114)
BINOMIAL = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]) / 256
SOBEL = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]) / 4
INK = np.array([0.09, 0.07, 0.16]).reshape(1, 3, 1, 1)


class Poster:
    name, steps = "poster", 0

    def save(self, weights, path):
        layers = export.OnnxLayers({})
        soft = _filter(layers, "input", "soft", np.tile(BINOMIAL, (3, 1, 1, 1)), group=3)
        soft = _filter(layers, soft, "softer", np.tile(BINOMIAL, (3, 1, 1, 1)), group=3)
        luma = _filter(layers, soft, "luma", np.array(LUMA).reshape(1, 3, 1, 1))
        moved = layers.node("Sub", "moved", [_tones(layers, luma), luma])
        vivid = _filter(layers, layers.node("Add", "flat", [soft, moved]), "vivid", _saturation(1.4))
        edges = _outlines(layers, luma)
        lit = layers.node("Mul", "lit", [layers.clip(vivid, "bounded", 0, 1), edges])
        dark = layers.moved(layers.scaled(edges, "less", -1), "ink_share", 1)
        layers.node("Add", "image", [lit, layers.scaled(dark, "ink", INK)])
        metadata = {
            "lanner.task": json.dumps({"task": "image", "range": [0, 1]}),
            "lanner.preprocess": export.preprocess(),
        }
        layers.save(path, self.name, ("H", "W"), {"image": ["N", 3, "H", "W"]}, metadata)


def _tones(layers, luma):
    """Brightness in TONES steps, with steep but continuous transitions, so that clips do not flicker."""
    steps = layers.scaled(luma, "tones", TONES)
    low = layers.node("Floor", "low", [steps])
    part = layers.node("Sub", "part", [steps, low])
    steep = layers.clip(layers.moved(layers.scaled(part, "steep", 5), "steeper", -2), "step", 0, 1)
    return layers.scaled(layers.node("Add", "tone", [low, steep]), "even", 1 / TONES)


def _outlines(layers, luma):
    """1 where all is smooth, 0 on edges."""
    slope = _filter(layers, luma, "slope", np.stack([SOBEL, SOBEL.T])[:, None])
    length = layers.node("ReduceL2", "length", [slope], axes=[1], keepdims=1)
    return layers.clip(layers.moved(layers.scaled(length, "steepness", -14), "smooth", 1.6), "outline", 0, 1)


def _saturation(amount):
    """A 1x1 matrix that moves colours away from gray."""
    gray = np.tile(np.array(LUMA), (3, 1))
    return (gray + amount * (np.eye(3) - gray)).reshape(3, 3, 1, 1)


def _filter(layers, x, name, weight, group=1):
    """A convolution with repeated borders."""
    margin = weight.shape[2] // 2
    if margin:
        sides = layers.constant(f"{name}_sides", [0, 0, margin, margin] * 2, np.int64)
        x = layers.node("Pad", f"{name}_border", [x, sides], mode="edge")
    inputs = [x, layers.constant(f"{name}_weight", weight)]
    return layers.node("Conv", name, inputs, kernel_shape=list(weight.shape[2:]), group=group)
