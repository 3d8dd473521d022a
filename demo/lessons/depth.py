"""The distance of each second pixel, in metres."""

import json

import numpy as np
import torch

import export
import network
from detections import HEIGHT, WIDTH
from hall import HallClip
from pictures import moments, planes, shade, shrink

MOMENTS = 3
FINE = (HEIGHT // 2, WIDTH // 2)


class Depth:
    name, seed, scenes, steps, batch, rate = "depth", 23, 400, 800, 8, 3e-3
    halves, start = True, "shapes.onnx"

    def network(self, layers):
        return network.depth(layers)

    def draw(self, seeds, rng):
        for seed in seeds:
            clip = HallClip(seed)
            for number, _, rgb in moments(clip, MOMENTS, rng):
                far = np.log(clip.depth(number))
                yield shrink(rgb, WIDTH, HEIGHT).astype(np.uint8), shrink(far, FINE[1], FINE[0]).astype(np.float16)

    def sample(self, item, rng):
        image, far = item
        if rng.random() < 0.5:
            image, far = image[:, ::-1], far[:, ::-1]
        return planes(shade(image, rng)), far[None].astype(np.float32)

    def loss(self, outputs, wanted):
        """The difference of logarithms, and of their slopes, so that edges are sharp."""
        found = outputs["log_depth"]
        total = (found - wanted).abs().mean()
        for axis in (2, 3):
            total = total + 0.5 * (torch.diff(found, dim=axis) - torch.diff(wanted, dim=axis)).abs().mean()
        return 10 * total

    def save(self, weights, path):
        layers = export.OnnxLayers(weights, self.halves)
        layers.node("Exp", "depth", [self.network(layers)["log_depth"]])
        metadata = {"lanner.task": json.dumps({"task": "depth"}), "lanner.preprocess": export.preprocess()}
        layers.save(path, self.name, (HEIGHT, WIDTH), {"depth": ["N", 1, *FINE]}, metadata)
