"""Images of twice the width and height, trained to restore drawn images that were shrunk."""

import json

import numpy as np

import export
import network
from figures import FigureClip
from hall import HallClip
from pictures import shrink
from shapes import Clip

SIDE, EACH = 96, 12


class Upscale:
    name, seed, scenes, steps, batch, rate = "upscale", 26, 200, 2000, 8, 2e-3
    halves, start = True, None

    def network(self, layers):
        return network.upscaler(layers)

    def draw(self, seeds, rng):
        """Crops of images, SIDE pixels wide, with enough detail."""
        for k, seed in enumerate(seeds):
            clip = (Clip, FigureClip, HallClip)[k % 3](seed, frames=1)
            rgb = clip[0] if k % 3 else clip[0].rgb
            # Without grain, which cannot be restored.
            rgb = np.clip(shrink(rgb, clip.width * 3 // 4, clip.height * 3 // 4), 0, 255)
            places = rng.integers(0, np.array(rgb.shape[:2]) - SIDE, (4 * EACH, 2))
            parts = [rgb[y : y + SIDE, x : x + SIDE] for y, x in places]
            parts.sort(key=lambda part: -np.abs(np.diff(part, axis=1)).mean())
            yield from (np.round(part).astype(np.uint8) for part in parts[:EACH])

    def sample(self, part, rng):
        if rng.random() < 0.5:
            part = part.transpose(1, 0, 2)
        part = part[:, :: -1 if rng.random() < 0.5 else 1, rng.permutation(3)]
        small = np.round(shrink(part, SIDE // 2, SIDE // 2)) / np.float32(255)
        return np.ascontiguousarray(small.transpose(2, 0, 1)), np.ascontiguousarray(
            part.transpose(2, 0, 1), np.float32
        ) / np.float32(255)

    def loss(self, outputs, wanted):
        # Edges of a crop lack their neighbours.
        return 100 * (outputs["correction"] - wanted)[..., 4:-4, 4:-4].abs().mean()

    def save(self, weights, path):
        layers = export.OnnxLayers(weights, self.halves)
        layers.clip(self.network(layers)["correction"], "image", 0, 1)
        metadata = {
            "lanner.task": json.dumps({"task": "image", "range": [0, 1]}),
            "lanner.preprocess": export.preprocess(),
        }
        layers.save(path, self.name, ("H", "W"), {"image": ["N", 3, "2H", "2W"]}, metadata)
