"""The detector, and shared code of networks with cells of 8 pixels.

Each cell predicts how near the centre of an object of each class is (scores) and how far that object's four sides are from
the cell's centre (boxes).
"""

import json

import numpy as np
import torch
from torch.nn import functional

import export
import network
from detections import HEIGHT, IOU_THRESHOLD, SCORE_THRESHOLD, WIDTH, resize
from network import CELL, GRID, cell_centres, side_scales
from pictures import mirrored_boxes, moments, planes, shade
from shapes import LABELS, SCENE_FRAMES, Clip

MOMENTS = 4
# A cell half a cell off the centre of an object still scores 0.78.
CENTRE_SPREAD = 1.0


class Detect:
    """shapes.onnx: boxes of shapes."""

    name, seed, scenes, steps, batch, rate = "shapes", 20, 2500, 6000, 16, 3e-3
    halves, start = False, None
    labels, extras = LABELS, 0

    def network(self, layers):
        # Scores start near 0.02, as most cells are empty.
        return network.grid(layers, [0.0] * 4 + [-4.0] * len(self.labels) + [0.0] * self.extras)

    def draw(self, seeds, rng):
        """MOMENTS frames of each scene at the network's size: (uint8 [HEIGHT, WIDTH, 3], classes, boxes 0..1)."""
        for seed in seeds:
            clip = Clip(seed, frames=SCENE_FRAMES)
            for _, frame, rgb in moments(clip, MOMENTS, rng):
                yield resize(rgb).astype(np.uint8), *drawn(frame.objects, clip)

    def sample(self, item, rng):
        """Every class looks the same when mirrored."""
        image, classes, boxes = item
        across, down = rng.random(2) < 0.5
        image = image[:: -1 if down else 1, :: -1 if across else 1]
        scores, wanted, weights, _ = targets(classes, mirrored_boxes(boxes, across, down), len(self.labels))
        return planes(shade(image, rng)), scores, wanted, weights

    def loss(self, outputs, scores, boxes, weights):
        return box_loss(outputs["answers"], scores, boxes, weights)

    def save(self, weights, path):
        layers = export.OnnxLayers(weights, self.halves)
        boxes, scores = sides(layers, self.network(layers)["answers"], [4, len(LABELS)])
        layers.rows(boxes, "boxes", 4)
        layers.rows(scores, "scores", len(LABELS))
        cells = GRID[0] * GRID[1]
        outputs = {"boxes": ["N", cells, 4], "scores": ["N", cells, len(LABELS)]}
        metadata = {
            "lanner.task": "detect",
            "lanner.labels": "\n".join(LABELS),
            "lanner.preprocess": export.preprocess(resize="bilinear", mean=[0, 0, 0], std=[1, 1, 1]),
            "lanner.boxes": "xyxy-normalised",
            "lanner.score_threshold": str(SCORE_THRESHOLD),
            "lanner.iou_threshold": str(IOU_THRESHOLD),
        }
        layers.save(path, self.name, (HEIGHT, WIDTH), outputs, metadata)


def drawn(objects, clip):
    """Classes, and boxes relative to the image."""
    scale = np.array([clip.width, clip.height] * 2)
    return [o["class"] for o in objects], np.array([o["box"] for o in objects]) / scale


def targets(classes, boxes, count):
    """Target scores [count, rows, columns] and boxes [4, rows, columns], the boxes' weights and the object of each cell."""
    rows, columns = GRID
    scores = np.zeros((count, rows, columns), np.float32)
    wanted = np.zeros((4, rows, columns), np.float32)
    weights = np.zeros((rows, columns), np.float32)
    owner = np.zeros((rows, columns), np.int64)
    y, x = np.arange(rows)[:, None] + 0.5, np.arange(columns)[None, :] + 0.5
    for n, (number, box) in enumerate(zip(classes, boxes, strict=True)):
        cx, cy = (box[0] + box[2]) / 2 * columns, (box[1] + box[3]) / 2 * rows
        near = np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / (2 * CENTRE_SPREAD**2)).astype(np.float32)
        near[near < 0.1] = 0
        scores[number] = np.maximum(scores[number], near)
        closer = near > weights
        wanted[:, closer] = np.asarray(box, np.float32)[:, None]
        owner[closer] = n
        weights = np.maximum(weights, near)
    return scores, wanted, weights, owner


def box_loss(answers, scores, boxes, weights):
    """Scores: cross entropy, weighted by the error squared. Boxes: 1 - GIoU, and their distance in cells."""
    found = answers[:, :4].exp() * torch.as_tensor(side_scales()) + torch.as_tensor(cell_centres())
    logits = answers[:, 4 : 4 + scores.shape[1]]
    entropy = functional.binary_cross_entropy_with_logits(logits, scores, reduction="none")
    entropy = entropy * (scores - logits.sigmoid()).square()
    objects = weights.sum() + 1.0
    low, high = torch.maximum(found[:, :2], boxes[:, :2]), torch.minimum(found[:, 2:], boxes[:, 2:])
    shared = (high - low).clamp(min=0).prod(dim=1)
    union = area(found) + area(boxes) - shared
    hull = torch.cat([torch.minimum(found[:, :2], boxes[:, :2]), torch.maximum(found[:, 2:], boxes[:, 2:])], dim=1)
    giou = shared / (union + 1e-9) - (area(hull) - union) / (area(hull) + 1e-9)
    scale = torch.tensor([WIDTH, HEIGHT, WIDTH, HEIGHT]).view(1, 4, 1, 1) / CELL
    off = ((found - boxes).abs() * scale).mean(dim=1)
    return 8 * entropy.sum() / objects + (weights * (2 * (1 - giou) + off)).sum() / objects


def area(box):
    return (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])


def sides(layers, answers, sizes):
    """Splits raw outputs; edges relative to the image, probabilities of classes, and the rest unchanged."""
    names = ["distances_raw", "scores_raw", "extras_raw"][: len(sizes)]
    layers.split(answers, sizes, names)
    reach = layers.scaled(layers.node("Exp", "distances", ["distances_raw"]), "sides", side_scales())
    boxes = layers.clip(layers.moved(reach, "boxes_plane", cell_centres()), "boxes_clip", 0, 1)
    return boxes, layers.node("Sigmoid", "scores_plane", ["scores_raw"]), *names[2:]


def save_yolo(layers, answers, sizes, extras=None):
    """The output `output0` [N, 4 + C + E, cells]: cxcywh in pixels of the input, scores, and the result of `extras`."""
    boxes, scores, *rest = sides(layers, answers, sizes)
    low, high = layers.split(boxes, [2, 2], ["low", "high"])
    size = np.array([WIDTH, HEIGHT], np.float32).reshape(2, 1, 1)
    centre = layers.scaled(layers.node("Add", "twice_centre", [low, high]), "centre", size / 2)
    extent = layers.scaled(layers.node("Sub", "share", [high, low]), "extent", size)
    parts = [centre, extent, scores, *(extras(name) if extras else name for name in rest)]
    layers.reshape(layers.node("Concat", "rows", parts, axis=1), "output0", [0, sum(sizes), -1])
    return {"output0": ["N", sum(sizes), GRID[0] * GRID[1]]}


def yolo_metadata(task, labels, **others):
    words = {"task": task, "head": "yolo_v8", "labels": list(labels), "score_threshold": 0.4, "iou_threshold": 0.5}
    return {"lanner.task": json.dumps({**words, **others}), "lanner.preprocess": export.preprocess()}
