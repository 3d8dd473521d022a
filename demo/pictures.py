"""Images for training: shrunk as Pillow does, with the effects of cameras and video encoders."""

import functools

import numpy as np

# Share of training images that look like a video encoder's output.
DEGRADED = 0.4
YCC = np.array([[0.299, 0.587, 0.114], [-0.1687, -0.3313, 0.5], [0.5, -0.4187, -0.0813]], np.float32)


def shrink(picture, width, height):
    """Antialiased: float32 [height, width, ...] of any [h, w, ...]."""
    picture = np.asarray(picture, np.float32)
    picture = np.tensordot(_triangles(picture.shape[0], height), picture, (1, 0))
    return np.moveaxis(np.tensordot(_triangles(picture.shape[1], width), picture, (1, 1)), 0, 1)


@functools.cache
def _triangles(length, size):
    """A triangle filter two target pixels wide around the centre of each."""
    scale = max(length / size, 1.0)
    centre = (np.arange(size) + 0.5) * length / size
    near = 1 - np.abs(np.arange(length)[None, :] + 0.5 - centre[:, None]) / scale
    weights = np.clip(near, 0, None)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def degrade(rgb, rng):
    """Rough effects of a video encoder: subsampled chroma, quantised 8x8 blocks."""
    ycc = rgb.astype(np.float32) @ YCC.T
    height, width = rgb.shape[:2]
    chroma = ycc[..., 1:].reshape(height // 2, 2, width // 2, 2, 2).mean(axis=(1, 3))
    luma = quantise(ycc[..., 0], rng.uniform(4, 45))
    chroma = [
        quantise(
            np.pad(chroma[..., c], ((0, -height // 2 % 8), (0, -width // 2 % 8)), mode="edge"),
            rng.uniform(4, 45),
        )[: height // 2, : width // 2]
        for c in range(2)
    ]
    wide = np.stack([luma, *(c.repeat(2, axis=0).repeat(2, axis=1) for c in chroma)], axis=-1)
    return np.clip(wide @ np.linalg.inv(YCC).T.astype(np.float32), 0, 255).astype(np.uint8)


def quantise(plane, step):
    k, n = np.arange(8)[:, None], np.arange(8)[None, :]
    dct = np.cos(np.pi * (2 * n + 1) * k / 16) * np.where(k == 0, np.sqrt(1 / 8), np.sqrt(1 / 4))
    dct = dct.astype(np.float32)
    height, width = plane.shape
    blocks = plane.reshape(height // 8, 8, width // 8, 8).transpose(0, 2, 1, 3)
    steps = step * (0.5 + (k + n).astype(np.float32) / 6)
    blocks = np.round(dct @ blocks @ dct.T / steps) * steps
    return (dct.T @ blocks @ dct).transpose(0, 2, 1, 3).reshape(height, width)


def shade(image, rng, swap=True):
    """uint8 [h, w, 3] to float32 0..1 with changed colours (`swap`), light, sharpness and noise."""
    image = (image[..., rng.permutation(3)] if swap else image).astype(np.float32) / 255
    image = (image - 0.5) * rng.uniform(0.8, 1.2) + 0.5 + rng.uniform(-0.08, 0.08)
    if rng.random() < 0.25:
        image[:, 1:-1] = image[:, 1:-1] * 0.5 + (image[:, :-2] + image[:, 2:]) * 0.25
    if rng.random() < 0.25:
        image[1:-1] = image[1:-1] * 0.5 + (image[:-2] + image[2:]) * 0.25
    image += rng.standard_normal(image.shape, dtype=np.float32) * np.float32(rng.uniform(0, 0.025))
    return np.clip(image, 0, 1)


def planes(image):
    """[h, w, 3] to [3, h, w]."""
    return np.ascontiguousarray(image.transpose(2, 0, 1))


def mirrored_boxes(boxes, across, down):
    """Boxes, relative to an image, in the image mirrored left to right, top to bottom."""
    boxes = np.asarray(boxes, np.float64).reshape(-1, 4)
    if across:
        boxes = np.stack([1 - boxes[:, 2], boxes[:, 1], 1 - boxes[:, 0], boxes[:, 3]], axis=1)
    if down:
        boxes = np.stack([boxes[:, 0], 1 - boxes[:, 3], boxes[:, 2], 1 - boxes[:, 1]], axis=1)
    return boxes


def moments(clip, count, rng):
    """This many frames of a clip: (number, frame, its image as uint8 [height, width, 3], some degraded)."""
    for number in rng.choice(len(clip), count, replace=False):
        frame = clip[int(number)]
        rgb = getattr(frame, "rgb", frame)
        yield int(number), frame, degrade(rgb, rng) if rng.random() < DEGRADED else rgb
