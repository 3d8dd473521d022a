"""Key points of stick figures, in the form of YOLOv8-pose: for each cell the points' offsets from its centre."""

import numpy as np
import torch

import export
from detections import HEIGHT, WIDTH
from figures import LABELS, MIRRORED, POINTS, SKELETON, FigureClip
from lessons.grid import Detect, box_loss, drawn, save_yolo, targets, yolo_metadata
from network import CELL, cell_centres
from pictures import mirrored_boxes, moments, planes, shade, shrink

MOMENTS = 3
# Pixels of the input for an offset of one unit.
REACH = 2 * CELL


class Pose(Detect):
    name, seed, scenes, steps, rate = "pose", 22, 500, 1600, 2e-3
    halves, start = True, "shapes.onnx"
    labels, extras = LABELS, 2 * len(POINTS)

    def draw(self, seeds, rng):
        for seed in seeds:
            clip = FigureClip(seed)
            for number, _, rgb in moments(clip, MOMENTS, rng):
                objects = clip.objects(number)
                points = np.array([o["keypoints"] for o in objects]) / [clip.width, clip.height]
                yield shrink(rgb, WIDTH, HEIGHT).astype(np.uint8), *drawn(objects, clip), points

    def sample(self, item, rng):
        image, classes, boxes, points = item
        across = rng.random() < 0.5
        if across:
            image = image[:, ::-1]
            points = np.concatenate([1 - points[:, MIRRORED, :1], points[:, MIRRORED, 1:]], axis=2)
        scores, wanted, weights, owner = targets(classes, mirrored_boxes(boxes, across, False), len(LABELS))
        where = points.reshape(len(points), -1)[owner].transpose(2, 0, 1)
        return planes(shade(image, rng)), scores, wanted, weights, where.astype(np.float32)

    def loss(self, outputs, scores, boxes, weights, points):
        answers = outputs["answers"]
        total = box_loss(answers, scores, boxes, weights)
        scale = torch.tensor([WIDTH, HEIGHT] * len(POINTS)).view(1, -1, 1, 1)
        found = answers[:, 4 + len(LABELS) :] * REACH + torch.as_tensor(middles())
        off = (found - points * scale).abs().mean(dim=1) / CELL
        return total + 4 * (weights * off).sum() / (weights.sum() + 1)

    def save(self, weights, path):
        def to_pixels(raw):
            return layers.moved(layers.scaled(raw, "offsets", REACH), "points", middles())

        layers = export.OnnxLayers(weights, self.halves)
        answers = self.network(layers)["answers"]
        outputs = save_yolo(layers, answers, [4, len(LABELS), self.extras], to_pixels)
        shape = {"keypoints": len(POINTS), "keypoint_values": 2, "skeleton": SKELETON}
        layers.save(path, self.name, (HEIGHT, WIDTH), outputs, yolo_metadata("pose", LABELS, **shape))


def middles():
    """For each cell, once for each point, in pixels of the input: float32 [22, rows, columns]."""
    scale = np.array([WIDTH, HEIGHT], np.float32).reshape(2, 1, 1)
    return np.tile(cell_centres()[:2] * scale, (len(POINTS), 1, 1))
