"""Clips of stick figures that wave and step, drawn from a seed, with the positions of their key points.

Seeds are separate by purpose as in shapes.py. Left and right are as seen in the image.
"""

import math
from dataclasses import dataclass

import numpy as np

import clips
from shapes import background, hsv

LABELS = ("figure",)
POINTS = (
    "head",
    "neck",
    "hip",
    "left elbow",
    "left hand",
    "right elbow",
    "right hand",
    "left knee",
    "left foot",
    "right knee",
    "right foot",
)
SKELETON = ((0, 1), (1, 2), (1, 3), (3, 4), (1, 5), (5, 6), (2, 7), (7, 8), (2, 9), (9, 10))
# The index of each point in a mirrored image.
MIRRORED = (0, 1, 2, 5, 6, 3, 4, 9, 10, 7, 8)

# In units of the figure's height.
HEAD, NECK, TORSO, UPPER_ARM, LOWER_ARM, THIGH, SHIN = 0.085, 0.14, 0.30, 0.17, 0.17, 0.23, 0.23
# How far each joint swings around its mean, both in radians from straight down, outwards.
ARM, ARM_SWING, ELBOW, ELBOW_SWING = (0.5, 2.1), (0.1, 0.6), (-0.3, 0.5), (0.1, 0.5)
LEG, LEG_SWING, KNEE, KNEE_SWING = (0.12, 0.35), (0.02, 0.2), (-0.25, 0.0), (0.0, 0.15)


@dataclass
class Joint:
    """A swinging angle: mean, amplitude, rate in radians a second and phase."""

    middle: float
    reach: float
    rate: float
    phase: float

    def __call__(self, seconds):
        return self.middle + self.reach * math.sin(self.rate * seconds + self.phase)


@dataclass
class Figure:
    x: float
    y: float
    height: float
    colour: np.ndarray
    lean: Joint
    sway: Joint
    joints: list

    def points(self, seconds):
        """float64 [11, 2]: x, y of POINTS in pixels."""
        lean = self.lean(seconds)
        angles = [joint(seconds) for joint in self.joints]
        hip = np.array([self.x + self.sway(seconds) * self.height, self.y])
        neck = hip + self._step(math.pi - lean, TORSO)
        head = neck + self._step(math.pi - 1.5 * lean, NECK)
        points = [head, neck, hip]
        for start, first, lower, upper in ((neck, 0, UPPER_ARM, LOWER_ARM), (hip, 4, THIGH, SHIN)):
            for k, side in ((first, -1), (first + 2, 1)):
                middle = start + self._step(side * angles[k], lower)
                points += [middle, middle + self._step(side * (angles[k] + angles[k + 1]), upper)]
        return np.array(points)

    def _step(self, angle, length):
        return self.height * length * np.array([math.sin(angle), math.cos(angle)])


class FigureClip(clips.Clip):
    """Frames of one to three figures; `len()`, `[n]` (uint8 [height, width, 3]) and iteration work."""

    def __init__(self, seed, width=640, height=360, fps=30, frames=150):
        rng = np.random.default_rng((seed, 1))
        self.width, self.height, self.fps, self.frames = width, height, fps, frames
        dark = bool(rng.random() < 0.5)
        self._background = background(rng, width, height, dark)
        self._grain = clips.Grain(rng, width, height, 3.5, clips.GRAINS)
        self.figures = _cast(rng, width, height, dark)

    def draw(self, number):
        canvas = self._background.copy()
        for figure in self.figures:
            _draw(canvas, figure, figure.points(number / self.fps))
        return self._grain.on(canvas, number)

    def objects(self, number):
        """Ground truth of one frame: label, class, box and key points of each figure."""
        found = []
        for figure in self.figures:
            points = figure.points(number / self.fps)
            x0, y0, x1, y1 = self._box(figure, points)
            box = [max(x0, 0.0), max(y0, 0.0), min(x1, float(self.width)), min(y1, float(self.height))]
            found.append({"label": LABELS[0], "class": 0, "box": box, "keypoints": points.tolist()})
        return found

    @staticmethod
    def _box(figure, points):
        thick, head = _thickness(figure), HEAD * figure.height
        reach = np.array([head] + [thick] * (len(points) - 1))[:, None]
        return [*(points - reach).min(axis=0).tolist(), *(points + reach).max(axis=0).tolist()]


def _thickness(figure):
    return figure.height * 0.028


def _cast(rng, width, height, dark):
    """One to three figures, each in a column of its own."""
    count = int(rng.integers(1, 4))
    columns = (rng.permutation(3)[:count] + 0.5) / 3 * width if count > 1 else [rng.uniform(0.3, 0.7) * width]
    hue = rng.random()
    figures = []
    for k, x in enumerate(columns):
        tall = height * rng.uniform(0.45, 0.68)
        value = rng.uniform(0.72, 0.98) if dark else rng.uniform(0.35, 0.7)
        colour = hsv((hue + k / count) % 1, rng.uniform(0.5, 0.9), value)
        y = rng.uniform(height * 0.05 + tall * 0.53, height * 0.97 - tall * 0.48)
        ranges = [(ARM, ARM_SWING), (ELBOW, ELBOW_SWING)] * 2 + [(LEG, LEG_SWING), (KNEE, KNEE_SWING)] * 2
        joints = [_joint(rng, *pair) for pair in ranges]
        lean, sway = _joint(rng, (-0.06, 0.06), (0, 0.1)), _joint(rng, (0, 0), (0.0, 0.08))
        figures.append(Figure(float(x), y, tall, colour, lean, sway, joints))
    return figures


def _joint(rng, middle, reach):
    return Joint(rng.uniform(*middle), rng.uniform(*reach), rng.uniform(1.5, 5.0), rng.uniform(0, 2 * math.pi))


def _draw(canvas, figure, points):
    """Limbs with round ends, a round head, all slightly lighter at the top."""
    thick, head = _thickness(figure), HEAD * figure.height
    height, width = canvas.shape[:2]
    low, high = points.min(axis=0) - head - 2, points.max(axis=0) + head + 2
    x0, y0 = max(int(low[0]), 0), max(int(low[1]), 0)
    x1, y1 = min(int(high[0]) + 1, width), min(int(high[1]) + 1, height)
    if x0 >= x1 or y0 >= y1:
        return
    x = (np.arange(x0, x1) + 0.5).astype(np.float32)[None, :]
    y = (np.arange(y0, y1) + 0.5).astype(np.float32)[:, None]
    distance = np.hypot(x - np.float32(points[0, 0]), y - np.float32(points[0, 1])) - np.float32(head)
    for a, b in SKELETON[1:]:
        np.minimum(distance, _to_line(x, y, points[a], points[b]) - np.float32(thick), out=distance)
    cover = np.clip(0.5 - distance, 0, 1)[..., None]
    light = np.float32(1.12) - np.float32(0.3) * (y - y0) / np.float32(max(y1 - y0, 1))
    area = canvas[y0:y1, x0:x1]
    area += cover * (light[..., None] * figure.colour - area)


def _to_line(x, y, a, b):
    along = np.float32(b[0] - a[0]), np.float32(b[1] - a[1])
    dx, dy = x - np.float32(a[0]), y - np.float32(a[1])
    share = np.clip((dx * along[0] + dy * along[1]) / max(along[0] ** 2 + along[1] ** 2, np.float32(1e-6)), 0, 1)
    return np.hypot(dx - share * along[0], dy - share * along[1])
