"""Clips of balls that roll through a hall, drawn from a seed, with the distance of each pixel in metres.

Seeds are separate by purpose as in shapes.py. The camera stands upright, 1.4 m above the floor; its focal length is
0.8 of the picture's width.
"""

import math
from dataclasses import dataclass

import numpy as np

import clips
from shapes import hsv

EYE, CEILING, FOCAL = 1.4, 3.2, 0.8
NEAREST, FARTHEST = 1.0, 14.0


@dataclass
class Ball:
    """Rolls to and fro around a point on the floor; metres and seconds."""

    x: float
    z: float
    radius: float
    colour: np.ndarray
    reach: tuple
    rate: float
    phase: float

    def place(self, seconds):
        turn = self.rate * seconds + self.phase
        return self.x + self.reach[0] * math.cos(turn), self.z + self.reach[1] * math.sin(turn)


class HallClip(clips.Clip):
    """Frames of two to five balls in a hall; `len()`, `[n]` (uint8 [height, width, 3]) and iteration work."""

    def __init__(self, seed, width=640, height=360, fps=30, frames=150):
        rng = np.random.default_rng((seed, 2))
        self.width, self.height, self.fps, self.frames = width, height, fps, frames
        self._hall = _Hall(rng, width, height)
        self._grain = clips.Grain(rng, width, height, 3.0, clips.GRAINS)
        self.balls = _balls(rng, self._hall)

    def draw(self, number):
        rgb, _ = self._draw(number)
        return self._grain.on(rgb, number)

    def depth(self, number):
        """Distance of each pixel along the camera's axis: float32 [height, width], metres."""
        return self._draw(number)[1]

    def _draw(self, number):
        hall = self._hall
        rgb, depth = hall.rgb.copy(), hall.depth.copy()
        placed = [(ball, *ball.place(number / self.fps)) for ball in self.balls]
        for ball, x, z in placed:
            shade = np.clip(1.3 - np.hypot(hall.floor_x - x, hall.floor_z - z) / ball.radius, 0, 1)
            rgb *= 1 - 0.5 * (shade * hall.is_floor)[..., None]
        for ball, x, z in sorted(placed, key=lambda item: -item[2]):
            _draw_ball(rgb, depth, hall, ball, x, z)
        return rgb, depth


class _Hall:
    """Five walls with their texture and depth."""

    def __init__(self, rng, width, height):
        self.focal = FOCAL * width
        self.centre = width * rng.uniform(0.4, 0.6), height * rng.uniform(0.34, 0.48)
        self.half, self.far = rng.uniform(2.4, 4.0), rng.uniform(8.0, FARTHEST)
        x = ((np.arange(width) + 0.5 - self.centre[0]) / self.focal).astype(np.float32)[None, :]
        y = ((np.arange(height) + 0.5 - self.centre[1]) / self.focal).astype(np.float32)[:, None]
        with np.errstate(divide="ignore"):
            walls = np.stack(
                np.broadcast_arrays(
                    np.where(y > 0, EYE / y, np.inf),
                    np.where(y < 0, (EYE - CEILING) / y, np.inf),
                    self.half / np.abs(x),
                    np.float32(self.far),
                )
            )
        which = walls.argmin(axis=0)
        self.depth = np.ascontiguousarray(walls.min(axis=0), np.float32)
        self.is_floor = which == 0
        self.floor_x, self.floor_z = x * self.depth, self.depth
        self.hue = rng.random()
        self.rgb = self._paint(rng, which, x * self.depth, y * self.depth)

    def _paint(self, rng, which, x, y):
        tile, board = rng.uniform(0.5, 1.0), rng.uniform(0.8, 1.8)
        dark = rng.uniform(0.55, 0.8)
        checker = (np.floor(x / tile) + np.floor(self.depth / tile)) % 2
        panels = (np.floor(np.where(which == 3, x, self.depth) / board) % 2) * (which >= 2)
        tones = [hsv((self.hue + rng.uniform(-0.2, 0.2)) % 1, rng.uniform(0.1, 0.5), v) for v in (0.75, 0.9, 0.65, 0.7)]
        rgb = np.stack(tones).astype(np.float32)[which]
        rgb *= (1 - (1 - dark) * checker * (which == 0) - 0.12 * panels)[..., None].astype(np.float32)
        return rgb * fade(self.depth)[..., None]


def fade(depth):
    """Light falls off with the distance."""
    return 1 / (1 + 0.012 * depth * depth)


def _balls(rng, hall):
    balls = []
    for _ in range(int(rng.integers(2, 6))):
        z = rng.uniform(2.6, min(hall.far - 1.2, 9.0))
        wide = min(hall.half - 0.9, 0.42 * z)
        reach = rng.uniform(0.1, 0.6), rng.uniform(0.1, 1.0) * min(1.0, (z - 2.0) / 1.5)
        colour = hsv(rng.random(), rng.uniform(0.5, 0.9), rng.uniform(0.7, 1.0))
        balls.append(
            Ball(
                rng.uniform(-wide, wide),
                z,
                rng.uniform(0.22, 0.6),
                colour,
                reach,
                rng.uniform(0.5, 1.6) * rng.choice((-1, 1)),
                rng.uniform(0, 2 * math.pi),
            )
        )
    return balls


def _draw_ball(rgb, depth, hall, ball, x, z):
    """A shaded ball that hides what is behind it; drawn as seen head-on."""
    height, width = depth.shape
    radius = hall.focal * ball.radius / z
    cx, cy = hall.centre[0] + hall.focal * x / z, hall.centre[1] + hall.focal * (EYE - ball.radius) / z
    x0, y0 = max(int(cx - radius) - 2, 0), max(int(cy - radius) - 2, 0)
    x1, y1 = min(int(cx + radius) + 3, width), min(int(cy + radius) + 3, height)
    if x0 >= x1 or y0 >= y1:
        return
    dx = ((np.arange(x0, x1) + 0.5 - cx) / radius).astype(np.float32)[None, :]
    dy = ((np.arange(y0, y1) + 0.5 - cy) / radius).astype(np.float32)[:, None]
    square = dx * dx + dy * dy
    bulge = np.sqrt(np.clip(1 - square, 0, 1))
    cover = np.clip((1 - np.sqrt(square)) * np.float32(radius) + 0.5, 0, 1)[..., None]
    light = np.clip(0.35 + 0.75 * (-0.4 * dx - 0.6 * dy + 0.7 * bulge), 0.2, 1.2) * fade(z)
    area = rgb[y0:y1, x0:x1]
    area += cover * (light[..., None] * ball.colour - area)
    inside = square < 1
    depth[y0:y1, x0:x1][inside] = (np.float32(z) - np.float32(ball.radius) * bulge)[inside]
