"""Trains the demo's detector and writes shapes.onnx with shapes.json beside it.

    python -m venv /tmp/train && /tmp/train/bin/pip install -r requirements/demo-train.txt
    /tmp/train/bin/python demo/train.py

About fifteen minutes on one core. Frames come from TRAIN_SEEDS; the accuracy in shapes.json is measured on
HELD_OUT_SEEDS.

The network is anchor-free: each cell of a grid, 8 pixels apart, says how near the centre of an object of each
class is (scores) and how far that object's four sides are from the middle of the cell (boxes).
"""

import argparse
import json
import os
import pathlib
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

import export
from accuracy import measure_drawn, measure_h264
from detections import HEIGHT, WIDTH, resize
from network import CELL, GRID, KerasLayers, network
from shapes import HELD_OUT_SEEDS, LABELS, SCENE_FRAMES, TRAIN_SEEDS, Clip

SEED = 20
MOMENTS = 4
# A cell half a cell off the centre of an object still scores 0.78.
CENTRE_SPREAD = 1.0
YCC = np.array([[0.299, 0.587, 0.114], [-0.1687, -0.3313, 0.5], [0.5, -0.4187, -0.0813]], np.float32)


def degrade(rgb, rng):
    """What a video encoder does to a frame, roughly: thin chroma, quantised 8x8 blocks."""
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


def draw_pool(scenes):
    """MOMENTS frames of each scene at the network's size: uint8 [F, HEIGHT, WIDTH, 3], and their objects."""
    rng = np.random.default_rng(SEED)
    pool = np.empty((scenes * MOMENTS, HEIGHT, WIDTH, 3), np.uint8)
    objects = []
    for k in range(scenes):
        clip = Clip(TRAIN_SEEDS[k], frames=SCENE_FRAMES)
        for number in rng.choice(SCENE_FRAMES, MOMENTS, replace=False):
            frame = clip[int(number)]
            rgb = degrade(frame.rgb, rng) if rng.random() < 0.4 else frame.rgb
            pool[len(objects)] = resize(rgb)
            scale = np.array([clip.width, clip.height] * 2)
            objects.append(
                ([o["class"] for o in frame.objects], np.array([o["box"] for o in frame.objects]) / scale)
            )
    return pool, objects


def augment(image, boxes, rng):
    """Mirrors, swaps and shades colours, blurs and adds noise; every class looks the same mirrored."""
    boxes = boxes.copy()
    if rng.random() < 0.5:
        image, boxes = (
            image[:, ::-1],
            np.stack([1 - boxes[:, 2], boxes[:, 1], 1 - boxes[:, 0], boxes[:, 3]], axis=1),
        )
    if rng.random() < 0.5:
        image, boxes = (
            image[::-1],
            np.stack([boxes[:, 0], 1 - boxes[:, 3], boxes[:, 2], 1 - boxes[:, 1]], axis=1),
        )
    image = image[..., rng.permutation(3)].astype(np.float32) / 255
    image = (image - 0.5) * rng.uniform(0.8, 1.2) + 0.5 + rng.uniform(-0.08, 0.08)
    if rng.random() < 0.25:
        image[:, 1:-1] = image[:, 1:-1] * 0.5 + (image[:, :-2] + image[:, 2:]) * 0.25
    if rng.random() < 0.25:
        image[1:-1] = image[1:-1] * 0.5 + (image[:-2] + image[2:]) * 0.25
    image += rng.standard_normal(image.shape, dtype=np.float32) * np.float32(rng.uniform(0, 0.025))
    return np.clip(image, 0, 1), boxes


def targets(classes, boxes):
    """Wanted scores [rows, columns, C], boxes [rows, columns, 4] and the boxes' weights [rows, columns]."""
    rows, columns = GRID
    scores = np.zeros((rows, columns, len(LABELS)), np.float32)
    wanted = np.zeros((rows, columns, 4), np.float32)
    weights = np.zeros((rows, columns), np.float32)
    y, x = np.arange(rows)[:, None] + 0.5, np.arange(columns)[None, :] + 0.5
    for number, box in zip(classes, boxes, strict=True):
        cx, cy = (box[0] + box[2]) / 2 * columns, (box[1] + box[3]) / 2 * rows
        near = np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / (2 * CENTRE_SPREAD**2)).astype(np.float32)
        near[near < 0.1] = 0
        scores[..., number] = np.maximum(scores[..., number], near)
        closer = near > weights
        wanted[closer] = box
        weights = np.maximum(weights, near)
    return scores, wanted, weights


def loss(outputs, scores, boxes, weights):
    """Scores: cross entropy, weighted by the error squared. Boxes: 1 - GIoU, and their distance in cells."""
    found, logits = outputs
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(labels=scores, logits=logits)
    entropy *= tf.square(scores - tf.sigmoid(logits))
    objects = tf.reduce_sum(weights) + 1.0
    low, high = tf.maximum(found[..., :2], boxes[..., :2]), tf.minimum(found[..., 2:], boxes[..., 2:])
    shared = tf.reduce_prod(tf.maximum(high - low, 0), axis=-1)
    union = area(found) + area(boxes) - shared
    hull = tf.concat(
        [tf.minimum(found[..., :2], boxes[..., :2]), tf.maximum(found[..., 2:], boxes[..., 2:])], axis=-1
    )
    giou = shared / (union + 1e-9) - (area(hull) - union) / (area(hull) + 1e-9)
    off = (
        tf.reduce_mean(
            tf.abs(found - boxes) * tf.constant([WIDTH, HEIGHT, WIDTH, HEIGHT], tf.float32), axis=-1
        )
        / CELL
    )
    return 8 * tf.reduce_sum(entropy) / objects + tf.reduce_sum(weights * (2 * (1 - giou) + off)) / objects


def area(box):
    return (box[..., 2] - box[..., 0]) * (box[..., 3] - box[..., 1])


def train(scenes, steps, batch):
    pool, objects = draw_pool(scenes)
    model = network(KerasLayers())
    rate = keras.optimizers.schedules.CosineDecay(1e-4, steps - 200, warmup_target=3e-3, warmup_steps=200)
    optimizer = keras.optimizers.AdamW(rate, weight_decay=1e-4, global_clipnorm=10.0)

    @tf.function(jit_compile=False)
    def step(images, *wanted):
        with tf.GradientTape() as tape:
            value = loss(model(images, training=True), *wanted)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(value, variables), variables, strict=True))
        return value

    rng = np.random.default_rng(SEED + 1)
    started, order, mean = time.monotonic(), [], None
    for number in range(steps):
        images, wanted = [], []
        while len(images) < batch:
            order = order or rng.permutation(len(objects)).tolist()
            k = order.pop()
            image, boxes = augment(pool[k], objects[k][1], rng)
            images.append(image)
            wanted.append(targets(objects[k][0], boxes))
        value = float(step(np.stack(images), *(np.stack(part) for part in zip(*wanted, strict=True))))
        mean = value if mean is None else 0.98 * mean + 0.02 * value
        if number % 100 == 99:
            print(
                f"step {number + 1} of {steps}: loss {mean:.3f}, {time.monotonic() - started:.0f} s",
                flush=True,
            )
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenes", type=int, default=2500)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path(__file__).parent / "shapes.onnx")
    options = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    model = train(options.scenes, options.steps, options.batch)
    export.save(model, options.output)
    record = {
        "labels": LABELS,
        "parameters": int(sum(np.prod(w.shape) for w in model.weights)),
        "bytes": options.output.stat().st_size,
        "training": {
            "seed": SEED,
            "steps": options.steps,
            "batch": options.batch,
            "frames": options.scenes * MOMENTS,
            "clip_seeds": [TRAIN_SEEDS[0], TRAIN_SEEDS[options.scenes - 1]],
        },
        "held_out": {
            "clip_seeds": [HELD_OUT_SEEDS[0], HELD_OUT_SEEDS[-1]],
            "drawn": measure_drawn(options.output),
            "h264": measure_h264(options.output),
        },
    }
    options.output.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record["held_out"], indent=1))


if __name__ == "__main__":
    main()
