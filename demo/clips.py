"""Shared code of the drawn clips."""

import numpy as np

GRAIN_MARGIN = 64
# After this many frames, the grain of a clip of figures or of a hall repeats.
GRAINS = 150


class Clip:
    """A sequence of `frames` frames, each drawn by `draw(number)` when asked for; `len()`, `[n]` and iteration work."""

    frames = 0

    def draw(self, number):
        raise NotImplementedError

    def __len__(self):
        return self.frames

    def __iter__(self):
        return (self[n] for n in range(self.frames))

    def __getitem__(self, number):
        if not 0 <= number < self.frames:
            raise IndexError(f"frame {number} of a clip of {self.frames}")
        return self.draw(number)


class Grain:
    """Sensor noise, up to `most` levels: one image of it, shifted; it repeats after `count` frames."""

    def __init__(self, rng, width, height, most, count):
        self._width, self._height = width, height
        size = (height + GRAIN_MARGIN, width + GRAIN_MARGIN, 1)
        self._noise = rng.standard_normal(size, dtype=np.float32) * np.float32(rng.uniform(1.0, most))
        self._offsets = rng.integers(0, GRAIN_MARGIN, (count, 2))

    def on(self, canvas, number):
        """The image with noise: uint8 from float32 [height, width, 3]."""
        y, x = self._offsets[number % len(self._offsets)]
        return np.clip(canvas + self._noise[y : y + self._height, x : x + self._width], 0, 255).astype(np.uint8)
