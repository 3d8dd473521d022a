"""The shape that an image shows (kinds.onnx), and its colour (colours.onnx)."""

import json

import numpy as np
from torch.nn import functional

import export
import network
from network import CROP
from pictures import moments, planes, shade, shrink
from shapes import COLOURS, LABELS, SCENE_FRAMES, Clip

MOMENTS = 3
# Images are cropped by boxes that are off by up to this share of their size, and enlarged by as much.
SLACK = 0.15


class Kinds:
    name, seed, scenes, steps, batch, rate = "kinds", 24, 300, 1200, 32, 4e-3
    halves, start = True, None
    labels, swap = LABELS, True

    def network(self, layers):
        return network.classifier(layers, len(self.labels))

    def draw(self, seeds, rng):
        """A crop of each shape at 4/3 of the network's size, so that random parts can be taken: (uint8, class)."""
        for seed in seeds:
            clip = Clip(seed, frames=SCENE_FRAMES)
            for number, _, rgb in moments(clip, MOMENTS, rng):
                for shape in clip.shapes(number):
                    yield _cut(rgb, shape.box(), rng), self.labels.index(self.label(shape))

    def label(self, shape):
        return shape.label

    def sample(self, item, rng):
        image, label = item
        across, down = rng.random(2) < 0.5
        image = image[:: -1 if down else 1, :: -1 if across else 1]
        return planes(shade(image, rng, self.swap)), np.int64(label)

    def loss(self, outputs, wanted):
        return functional.cross_entropy(outputs["scores"].flatten(1), wanted, label_smoothing=0.02)

    def save(self, weights, path):
        layers = export.OnnxLayers(weights, self.halves)
        scores = self.network(layers)["scores"]
        layers.node("Softmax", "probabilities", [layers.node("Flatten", "flat", [scores], axis=1)], axis=1)
        task = {"task": "classify", "labels": list(self.labels), "activation": "none"}
        metadata = {"lanner.task": json.dumps(task), "lanner.preprocess": export.preprocess()}
        layers.save(path, self.name, (CROP, CROP), {"probabilities": ["N", len(self.labels)]}, metadata)


class Colours(Kinds):
    name, seed, labels, swap = "colours", 25, COLOURS, False

    def label(self, shape):
        return shape.colour_name()


def _cut(rgb, box, rng):
    width, height = box[2] - box[0], box[3] - box[1]
    off = rng.uniform(-SLACK, SLACK, 4) * [width, height, width, height]
    x0, y0, x1, y1 = np.round(np.asarray(box) + off).astype(int)
    x0, y0 = max(x0, 0), max(y0, 0)
    return shrink(rgb[y0 : max(y1, y0 + 8), x0 : max(x1, x0 + 8)], CROP, CROP).astype(np.uint8)
