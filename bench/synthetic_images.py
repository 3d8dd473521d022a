"""Synthetic pictures of twenty classes, by NumPy alone: the same seed gives the same pictures on every machine.

A class is a colour, a texture with its frequency and direction, and the shape that the texture fills, before a background of another
colour. Place, size, direction, frequency, colour, light, contrast, clutter and noise differ from picture to picture. Each picture has a
generator of its own, so that any of them can be made alone.
"""

import numpy as np

CLASSES = 20
# Sets of pictures that share none: which the last layer is fitted on, calibration's, and those that answers are counted on.
TRAINING, CALIBRATION, TEST = range(3)
SHAPES = 4
TEXTURES = 5


def colour(hue, saturation, value):
    """A colour of the HSV wheel, as RGB."""
    distance = np.abs((6 * hue + np.array([0, 4, 2])) % 6 - 3) - 1
    return (value * (1 - saturation * (1 - np.clip(distance, 0, 1)))).astype(np.float32)


def texture(kind, u, v, cycles):
    """Between -1 and 1, of so many cycles between u = 0 and u = 1."""
    a, b = 2 * np.pi * cycles * u, 2 * np.pi * cycles * v
    if kind == 0:  # stripes
        return np.sin(a)
    if kind == 1:  # checks
        return np.sign(np.sin(a) * np.sin(b))
    if kind == 2:  # dots
        return np.clip(2 * (np.cos(a) + np.cos(b)) - 1, -1, 1)
    if kind == 3:  # rings
        return np.sin(np.hypot(a, b))
    return np.clip(2 * np.sin(a + 2 * np.sin(b / 2)), -1, 1)  # waves


def distance_to(shape, u, v):
    """Below 1: within the shape, whose size is about 1."""
    if shape == 0:  # disc
        return np.hypot(u, v)
    if shape == 1:  # square
        return np.maximum(np.abs(u), np.abs(v)) * 1.15
    if shape == 2:  # triangle
        return np.maximum(np.maximum(1.73 * u + v, -1.73 * u + v), -2 * v) * 0.85
    return np.minimum(np.maximum(np.abs(u), 2.5 * np.abs(v)), np.maximum(2.5 * np.abs(u), np.abs(v)))  # cross


def clutter(random, x, y):
    """A smooth field of some waves of any direction, about between -1 and 1."""
    field = np.zeros_like(x)
    for _ in range(3):
        direction, cycles, phase = random.uniform(0, 2 * np.pi), random.uniform(0.5, 3), random.uniform(0, 2 * np.pi)
        field += np.sin(2 * np.pi * cycles * (x * np.cos(direction) + y * np.sin(direction)) + phase) / 3
    return field


def picture(label, side, random):
    """Of one class, u8, height x width x 3."""
    axis = ((np.arange(side) + 0.5) / side - 0.5).astype(np.float32)
    y, x = np.meshgrid(axis, axis, indexing="ij")
    turn = np.deg2rad(36 * (label % TEXTURES) + 45 * (label // TEXTURES) + random.uniform(-8, 8))
    left, top = random.uniform(-0.1, 0.1, 2)
    u = (x - left) * np.cos(turn) + (y - top) * np.sin(turn)
    v = (y - top) * np.cos(turn) - (x - left) * np.sin(turn)
    size = random.uniform(0.4, 0.5)
    cycles = (5, 8, 13, 20)[label // TEXTURES] * random.uniform(0.93, 1.07)
    wave = texture(label % TEXTURES, u + random.uniform(-0.02, 0.02), v + random.uniform(-0.02, 0.02), cycles)
    within = np.clip((1 - distance_to((label + label // TEXTURES) % SHAPES, u / size, v / size)) * 20 + 0.5, 0, 1)
    front = colour(label % TEXTURES / TEXTURES + random.uniform(-0.02, 0.02), random.uniform(0.6, 0.8), 0.75)
    front = front * (1 + 0.25 * wave[..., None] * random.uniform(0.7, 1))
    back = colour(label // TEXTURES / SHAPES + 0.1 + random.uniform(-0.02, 0.02), random.uniform(0.5, 0.7), 0.6)
    back = back * (1 + 0.2 * clutter(random, x, y)[..., None])
    image = back + within[..., None] * (front - back)
    direction = random.uniform(0, 2 * np.pi)
    light = random.uniform(0.8, 1.15) * (1 + random.uniform(0, 0.25) * (x * np.cos(direction) + y * np.sin(direction)))
    image = image * light[..., None] + random.normal(0, random.uniform(0.005, 0.03), image.shape)
    return np.clip(255 * image + 0.5, 0, 255).astype(np.uint8)


def pictures(which, count, side):
    """The first `count` of a set, and their classes, each about as often."""
    images = np.empty((count, side, side, 3), np.uint8)
    for i in range(count):
        images[i] = picture(i % CLASSES, side, np.random.default_rng([which, i]))
    return images, np.arange(count) % CLASSES


def cached(folder, which, count, side):
    """The same, kept in a folder."""
    path = folder / f"{('training', 'calibration', 'test')[which]}-{side}-{count}.npy"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        np.save(path.with_suffix(".part.npy"), pictures(which, count, side)[0])
        path.with_suffix(".part.npy").rename(path)
    return np.load(path, mmap_mode="r"), np.arange(count) % CLASSES


def values(images):
    """As networks take them: between -1 and 1."""
    return images.astype(np.float32) / np.float32(127.5) - 1
