"""A clip of moving shapes, drawn from a seed, with a log of what is where.

The same seed gives the same clip. Seeds are separate by purpose, so that a detector is never
measured on what it was trained on:

    DEMO_SEED        the clip of `./dev demo`
    TRAIN_SEEDS      train.py draws its frames from these, and from no others
    HELD_OUT_SEEDS   the accuracy in shapes.json and the tests are measured on these

A box is [x0, y0, x1, y1] in pixels of the frame, as edges: pixel i covers [i, i + 1).
"""

import json
import math
from dataclasses import dataclass

import numpy as np

import clips

LABELS = ("circle", "square", "triangle", "star", "cross", "hexagon")

DEMO_SEED = 71
TRAIN_SEEDS = range(1_000_000, 1_010_000)
HELD_OUT_SEEDS = range(2_000_000, 2_001_000)

SCENE_FRAMES = 100
# Circles of this share of the circumscribed ones bounce off each other, so shapes overlap only a little.
CONTACT = 0.9
SHADOW_REACH = 1.35
# Names of colours, each with its upper limit of the hue in degrees.
COLOURS = ("red", "orange", "yellow", "green", "cyan", "blue", "purple", "pink")
HUES = (14, 42, 68, 162, 198, 258, 302, 346)
SQUARE_SIDE = math.sqrt(0.5)
CROSS_ARM = 0.30
CROSS_REACH = math.sqrt(1 - CROSS_ARM**2)
STAR_APOTHEM = math.cos(math.radians(72))


@dataclass
class Shape:
    """One shape at one moment; `radius` is that of the circumscribed circle, in pixels."""

    label: str
    radius: float
    colour: np.ndarray
    x: float
    y: float
    vx: float
    vy: float
    angle: float
    spin: float

    def box(self):
        """The tight box around the rotated shape."""
        if self.label == "circle":
            return [self.x - self.radius, self.y - self.radius, self.x + self.radius, self.y + self.radius]
        corners = _corners(self.label) * self.radius
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        xs = self.x + corners[:, 0] * cos - corners[:, 1] * sin
        ys = self.y + corners[:, 0] * sin + corners[:, 1] * cos
        return [float(xs.min()), float(ys.min()), float(xs.max()), float(ys.max())]

    def hue(self):
        """Hue of its colour, in degrees."""
        red, green, blue = map(float, self.colour)
        return math.degrees(math.atan2(math.sqrt(3) * (green - blue), 2 * red - green - blue)) % 360

    def colour_name(self):
        return COLOURS[np.searchsorted(HUES, self.hue(), side="right") % len(COLOURS)]

    def inside(self, width, height):
        """Pixels whose centre is inside the shape: bool [height, width]."""
        cos, sin, scale = math.cos(self.angle), math.sin(self.angle), 1 / self.radius
        dx = ((np.arange(width) + 0.5 - self.x) * scale).astype(np.float32)[None, :]
        dy = ((np.arange(height) + 0.5 - self.y) * scale).astype(np.float32)[:, None]
        return _distance(self.label, dx * cos + dy * sin, dy * cos - dx * sin) < 0


@dataclass
class Frame:
    """One frame: `rgb` is uint8 [height, width, 3]; `objects` hold label, class and box."""

    number: int
    pts: float
    rgb: np.ndarray
    objects: list


class Clip(clips.Clip):
    """A sequence of frames, each drawn when asked for; `len()`, `[n]` and iteration work."""

    def __init__(self, seed, width=640, height=360, fps=30, frames=300):
        if min(width, height) < 64 or fps <= 0 or frames < 1:
            raise ValueError(
                f"clip of {frames} frames, {width}x{height}, {fps} fps: "
                "expected at least 64x64 pixels, one frame and a positive rate"
            )
        self.seed, self.width, self.height, self.fps, self.frames = seed, width, height, fps, frames
        self._scenes = {}

    def draw(self, number):
        rgb = self._scene(number).draw(number % SCENE_FRAMES)
        return Frame(number, number / self.fps, rgb, self.objects(number))

    def objects(self, number):
        """Ground truth of one frame, without drawing it."""
        shapes = self.shapes(number)
        return [{"label": s.label, "class": LABELS.index(s.label), "box": s.box()} for s in shapes]

    def shapes(self, number):
        """The shapes of one frame, the last one in front."""
        return self._scene(number).shapes_at(number % SCENE_FRAMES)

    def masks(self, number):
        """Visible pixels of each shape of one frame: bool [shapes, height, width], in the order of objects()."""
        masks = np.stack([shape.inside(self.width, self.height) for shape in self.shapes(number)])
        for n in range(len(masks)):
            masks[n] &= ~masks[n + 1 :].any(axis=0)
        return masks

    def write_truth(self, path):
        """Writes one JSON object a line for each frame: frame, pts (seconds), objects."""
        with open(path, "w", encoding="utf-8") as file:
            for n in range(self.frames):
                line = {"frame": n, "pts": n / self.fps, "objects": self.objects(n)}
                file.write(json.dumps(line) + "\n")

    def _scene(self, number):
        index = number // SCENE_FRAMES
        if index not in self._scenes:
            # One scene is held at a time: a background is several megabytes.
            self._scenes = {index: Scene((self.seed, index), self.width, self.height, self.fps)}
        return self._scenes[index]


class Scene:
    """Up to SCENE_FRAMES frames of the same shapes on the same background."""

    def __init__(self, seed, width, height, fps):
        rng = np.random.default_rng(seed)
        self.width, self.height = width, height
        self.dark = bool(rng.random() < 0.5)
        self.background = background(rng, width + SCENE_FRAMES, height, self.dark)
        self.pan = int(rng.choice((-1, 1)))
        self.grain = clips.Grain(rng, width, height, 3.5, SCENE_FRAMES)
        self.moments = _move(_first_moment(rng, width, height, self.dark), width, height, fps)

    def shapes_at(self, moment):
        return self.moments[moment]

    def draw(self, moment):
        left = moment if self.pan > 0 else SCENE_FRAMES - moment
        canvas = self.background[:, left : left + self.width].copy()
        for shape in self.shapes_at(moment):
            _draw_shape(canvas, shape)
        return self.grain.on(canvas, moment)


def _corners(label):
    def ring(count, start):
        turn = start + np.arange(count) * (2 * math.pi / count)
        return np.stack([np.cos(turn), np.sin(turn)], axis=1)

    if label == "cross":
        a, b = CROSS_ARM, CROSS_REACH
        return np.array([(sx * u, sy * v) for u, v in ((a, b), (b, a)) for sx in (-1, 1) for sy in (-1, 1)])
    count, start = {
        "square": (4, math.pi / 4),
        "triangle": (3, -math.pi / 2),
        "star": (5, -math.pi / 2),
        "hexagon": (6, 0.0),
    }[label]
    return ring(count, start)


def _distance(label, x, y):
    """Signed distance to a shape of unit radius, negative inside; exact near edges, not beyond corners."""
    if label == "circle":
        return np.sqrt(x * x + y * y) - 1
    x_abs, y_abs = np.abs(x), np.abs(y)
    if label == "square":
        return np.maximum(x_abs, y_abs) - SQUARE_SIDE
    if label == "cross":
        upright = np.maximum(x_abs - CROSS_ARM, y_abs - CROSS_REACH)
        return np.minimum(upright, np.maximum(x_abs - CROSS_REACH, y_abs - CROSS_ARM))
    if label == "triangle":
        return np.maximum(math.sqrt(0.75) * x_abs - 0.5 * y, y) - 0.5
    if label == "hexagon":
        return np.maximum(0.5 * y_abs + math.sqrt(0.75) * x_abs, y_abs) - math.sqrt(0.75)
    # A pentagram is the set of points inside at least four of its five lines: the second largest distance decides.
    largest = second = None
    for k in range(5):
        turn = -math.pi / 2 + k * 2 * math.pi / 5
        along = math.cos(turn) * x + math.sin(turn) * y
        if largest is None:
            largest, second = along, np.full_like(along, -9)
            continue
        np.maximum(second, np.minimum(largest, along), out=second)
        largest = np.maximum(largest, along)
    return second - STAR_APOTHEM


def _draw_shape(canvas, shape):
    """Blends one shape and its soft shadow into `canvas` (float32, 0..255)."""
    height, width = canvas.shape[:2]
    reach = math.ceil(shape.radius * SHADOW_REACH) + 2
    left, top = int(shape.x) - reach, int(shape.y) - reach
    x0, y0 = max(left, 0), max(top, 0)
    x1, y1 = min(left + 2 * reach, width), min(top + 2 * reach, height)
    if x0 >= x1 or y0 >= y1:
        return
    area = canvas[y0:y1, x0:x1]
    cos, sin, scale = math.cos(shape.angle), math.sin(shape.angle), 1 / shape.radius
    dx = ((np.arange(x0, x1) + 0.5 - shape.x) * scale).astype(np.float32)[None, :]
    dy = ((np.arange(y0, y1) + 0.5 - shape.y) * scale).astype(np.float32)[:, None]
    distance = _distance(shape.label, dx * cos + dy * sin, dy * cos - dx * sin)

    # The shadow is the same field shifted by a few pixels, with a soft edge.
    shift = max(1, round(shape.radius * 0.1))
    shade = np.clip(0.55 - distance[:-shift, :-shift] * 3.2, 0, 1)
    area[shift:, shift:] *= 1 - 0.36 * shade[..., None]

    cover = np.clip(0.5 - distance * np.float32(shape.radius), 0, 1)
    light = 1.0 - 0.20 * dx - 0.26 * dy
    rim = np.clip(1 + distance * 7, 0, 1)
    light += 0.28 * rim * rim
    colour = light[..., None] * shape.colour
    colour -= area
    colour *= cover[..., None]
    area += colour


def hsv(hue, saturation, value):
    """HSV (each 0..1) to RGB, float32 0..255."""
    wheel = (hue * 6 + np.array([5, 3, 1])) % 6
    ramp = np.clip(np.minimum(wheel, 4 - wheel), 0, 1)
    return (255 * value * (1 - saturation * ramp)).astype(np.float32)


def background(rng, width, height, dark):
    """Four blended corner colours, a few blurred lights and a faint pattern; float32 [height, width, 3]."""
    hue = rng.random()
    corners = []
    for _ in range(4):
        tone = rng.uniform(0.13, 0.38) if dark else rng.uniform(0.74, 0.95)
        depth = rng.uniform(0.35, 0.7) if dark else rng.uniform(0.06, 0.26)
        corners.append(hsv((hue + rng.uniform(-0.13, 0.13)) % 1, depth, tone))
    corners = np.array(corners, np.float32).reshape(2, 2, 3)
    v = np.linspace(0, 1, height, dtype=np.float32)
    u = np.linspace(0, 1, width, dtype=np.float32)
    down = np.stack([1 - v, v], axis=1)
    across = np.stack([1 - u, u], axis=1)
    picture = np.einsum("ya,xb,abc->yxc", down, across, corners, optimize=True)

    y, x = np.arange(height, dtype=np.float32), np.arange(width, dtype=np.float32)
    for _ in range(int(rng.integers(2, 6))):
        spread = height * rng.uniform(0.12, 0.4)
        glow_y = np.exp(-(((y - rng.uniform(0, height)) / spread) ** 2))
        glow_x = np.exp(-(((x - rng.uniform(0, width)) / spread) ** 2))
        glow = hsv((hue + rng.uniform(-0.2, 0.2)) % 1, 0.5, 1.0) * (
            rng.uniform(0.06, 0.16) if dark else -0.07
        )
        picture += (glow_y[:, None] * glow_x[None, :])[..., None] * glow
    picture += _pattern(rng, x, y)[..., None]
    return np.ascontiguousarray(picture, dtype=np.float32)


def _pattern(rng, x, y):
    kind = int(rng.integers(0, 4))
    strength = rng.uniform(1.5, 6.0)
    pitch = rng.uniform(14, 48)
    turn = rng.uniform(0, math.pi)
    along = (x * math.cos(turn))[None, :] + (y * math.sin(turn))[:, None]
    if kind == 0:
        return np.zeros_like(along)
    if kind == 1:
        return strength * np.sin(along * np.float32(2 * math.pi / pitch))
    if kind == 2:
        return strength * np.clip(6 * np.sin(along * np.float32(2 * math.pi / pitch)), -1, 1)
    dots = np.sin(x * np.float32(math.pi / pitch))[None, :] * np.sin(y * np.float32(math.pi / pitch))[:, None]
    return strength * np.clip(8 * np.abs(dots) - 6.4, 0, 1)


def _first_moment(rng, width, height, dark):
    """2 to 5 shapes, apart from each other, with hues spread around the wheel."""
    count = int(rng.integers(2, 6))
    classes = (
        rng.permutation(len(LABELS))[:count] if rng.random() < 0.8 else rng.integers(0, len(LABELS), count)
    )
    hue = rng.random()
    shapes = []
    for k in range(count):
        radius = height * rng.uniform(0.095, 0.19)
        x, y = _free_place(rng, width, height, radius, shapes)
        speed, course = height * rng.uniform(0.08, 0.6), rng.uniform(0, 2 * math.pi)
        value = rng.uniform(0.72, 0.98) if dark else rng.uniform(0.45, 0.82)
        colour = hsv((hue + (k + rng.uniform(-0.3, 0.3)) / count) % 1, rng.uniform(0.55, 0.9), value)
        shapes.append(
            Shape(
                LABELS[classes[k]],
                radius,
                colour,
                x,
                y,
                speed * math.cos(course),
                speed * math.sin(course),
                rng.uniform(0, 2 * math.pi),
                rng.uniform(-1.6, 1.6),
            )
        )
    return shapes


def _free_place(rng, width, height, radius, others):
    best, best_gap = None, -math.inf
    for _ in range(40):
        x, y = rng.uniform(radius, width - radius), rng.uniform(radius, height - radius)
        gap = min((math.hypot(x - o.x, y - o.y) - radius - o.radius for o in others), default=math.inf)
        if gap > best_gap:
            best, best_gap = (x, y), gap
        if gap > 0:
            break
    return best


def _move(shapes, width, height, fps):
    """The shapes at each moment of a scene: straight paths, bounces off the walls and off each other."""
    moments = [shapes]
    for _ in range(SCENE_FRAMES - 1):
        shapes = [
            Shape(
                s.label,
                s.radius,
                s.colour,
                s.x + s.vx / fps,
                s.y + s.vy / fps,
                s.vx,
                s.vy,
                s.angle + s.spin / fps,
                s.spin,
            )
            for s in shapes
        ]
        for n, shape in enumerate(shapes):
            for other in shapes[:n]:
                _bounce(shape, other)
            if (shape.x < shape.radius) == (
                shape.vx < 0
            ) and not shape.radius <= shape.x <= width - shape.radius:
                shape.vx = -shape.vx
            if (shape.y < shape.radius) == (
                shape.vy < 0
            ) and not shape.radius <= shape.y <= height - shape.radius:
                shape.vy = -shape.vy
            shape.x = min(max(shape.x, shape.radius), width - shape.radius)
            shape.y = min(max(shape.y, shape.radius), height - shape.radius)
        moments.append(shapes)
    return moments


def _bounce(a, b):
    """Exchanges the speeds along the line between two centres when they touch and approach."""
    dx, dy = b.x - a.x, b.y - a.y
    apart = math.hypot(dx, dy)
    if apart == 0 or apart > CONTACT * (a.radius + b.radius):
        return
    nx, ny = dx / apart, dy / apart
    closing = (a.vx - b.vx) * nx + (a.vy - b.vy) * ny
    if closing > 0:
        a.vx, a.vy = a.vx - closing * nx, a.vy - closing * ny
        b.vx, b.vy = b.vx + closing * nx, b.vy + closing * ny
