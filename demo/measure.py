"""Accuracy of the demo's networks on images they were not trained on, with lanner.

    .venv/bin/python demo/measure.py             # all of them, into networks.json
    .venv/bin/python demo/measure.py pose        # one, printed only
"""

import argparse
import json
import math
import pathlib

import lanner
import numpy as np

from evaluate import evaluate, match
from figures import FigureClip
from hall import HallClip
from pictures import shrink
from shapes import HELD_OUT_SEEDS, HUES, SCENE_FRAMES, Clip

FOLDER = pathlib.Path(__file__).resolve().parent
CLIPS = 40
MOMENTS = (0, 40, 80)
CUT = 4
# A colour nearer than this to the border of another, in degrees, may be called by either name.
BORDER = 6
# A key point nearer than this to its true position, relative to the figure's height, is right.
NEAR = 0.05


class Answers:
    """A network and what its outputs mean."""

    def __init__(self, name, **options):
        self.engine = lanner.build(FOLDER / f"{name}.onnx", budget=0, **options)
        self.reader = lanner.tasks.TaskReader(self.engine)

    def __call__(self, rgb):
        image = lanner.Image.from_array(np.ascontiguousarray(rgb))
        return self.reader(self.engine({"input": image}), image)


def shape_frames(clips):
    for seed in HELD_OUT_SEEDS[:clips]:
        clip = Clip(seed, frames=SCENE_FRAMES)
        for number in MOMENTS:
            yield clip, number


def measure_kinds(clips):
    answers, right = Answers("kinds"), []
    for clip, number in shape_frames(clips):
        rgb = clip[number].rgb
        right += [answers(cut(rgb, s.box())).names[0] == s.label for s in clip.shapes(number)]
    return {"pictures": len(right), "accuracy": share(right)}


def measure_colours(clips):
    """`clear`: colours that are not near the border of another."""
    answers, right, clear = Answers("colours"), [], []
    for clip, number in shape_frames(clips):
        rgb = clip[number].rgb
        for shape in clip.shapes(number):
            right.append(answers(cut(rgb, shape.box())).names[0] == shape.colour_name())
            if min(abs((shape.hue() - hue + 180) % 360 - 180) for hue in HUES) > BORDER:
                clear.append(right[-1])
    return {"pictures": len(right), "accuracy": share(right), "clear": share(clear)}


def measure_masks(clips):
    """The measures of boxes and the mean IoU of masks; a missed shape counts 0."""
    answers, overlaps = Answers("masks"), []
    found_lines, truth_lines = [], []
    for clip, number in shape_frames(clips):
        frame = clip[number]
        found = answers(frame.rgb)
        truth = clip.masks(number)
        masks = found.masks.numpy().astype(bool)
        pairs = {t: d for t, d, _ in match([o["box"] for o in frame.objects], boxes_of(found))}
        for t, mask in enumerate(truth):
            overlaps.append(mask_iou(mask, masks[pairs[t]]) if t in pairs else 0.0)
        add_lines(found_lines, truth_lines, found, frame.objects)
    return {**of_boxes(found_lines, truth_lines), "mask_iou": share(overlaps)}


def measure_pose(clips):
    """The measures of boxes, the share of right key points, and their mean distance."""
    answers, off = Answers("pose"), []
    found_lines, truth_lines = [], []
    for seed in HELD_OUT_SEEDS[:clips]:
        clip = FigureClip(seed)
        for number in MOMENTS:
            objects = clip.objects(number)
            found = answers(clip[number])
            points = found.keypoints.numpy()[..., :2]
            pairs = {t: d for t, d, _ in match([o["box"] for o in objects], boxes_of(found))}
            for t, figure in enumerate(clip.figures):
                truth = np.array(objects[t]["keypoints"])
                away = np.hypot(*(points[pairs[t]] - truth).T) if t in pairs else np.full(len(truth), np.inf)
                off += (away / figure.height).tolist()
            add_lines(found_lines, truth_lines, found, objects)
    off = np.array(off)
    found = off[np.isfinite(off)]
    return {**of_boxes(found_lines, truth_lines), "points_right": share(off < NEAR), "points_off": share(found)}


def measure_depth(clips):
    """The mean relative error of the distance, and the share of pixels within a quarter of it."""
    answers, errors, within = Answers("depth"), [], []
    for seed in HELD_OUT_SEEDS[:clips]:
        clip = HallClip(seed)
        for number in MOMENTS:
            truth, found = clip.depth(number), answers(clip[number]).depth.numpy()
            errors.append((np.abs(found - truth) / truth).mean())
            within.append((np.maximum(found / truth, truth / found) < 1.25).mean())
    return {"frames": len(errors), "relative_error": share(errors), "within_quarter": share(within)}


def measure_upscale(clips):
    """PSNR in decibels compared with bicubic enlargement, on halved images of all three kinds."""
    answers, network, bicubic = None, [], []
    for k, seed in enumerate(HELD_OUT_SEEDS[:clips]):
        rgb = (Clip(seed)[0].rgb, FigureClip(seed)[0], HallClip(seed)[0])[k % 3]
        # Both lose the grain.
        large = np.round(np.clip(shrink(rgb, 480, 272), 0, 255)).astype(np.uint8)
        small = np.round(shrink(large, 240, 136)).astype(np.uint8)
        answers = answers or Answers("upscale", shapes={"input": (1, 3, 136, 240)})
        network.append(psnr(np.asarray(answers(small).image), large))
        spec = {"size": (272, 480), "resize": "bicubic", "layout": "nhwc", "range": (0, 255), "dtype": "uint8"}
        bicubic.append(psnr(lanner.Image.from_array(small).to_tensor(**spec).numpy()[0], large))
    return {"pictures": len(network), "psnr": share(network), "bicubic_psnr": share(bicubic)}


MEASURES = {
    "kinds": measure_kinds,
    "colours": measure_colours,
    "masks": measure_masks,
    "pose": measure_pose,
    "depth": measure_depth,
    "upscale": measure_upscale,
}


def cut(rgb, box):
    height, width = rgb.shape[:2]
    x0, y0, x1, y1 = (int(round(v)) for v in box)
    return rgb[max(y0 - CUT, 0) : min(y1 + CUT, height), max(x0 - CUT, 0) : min(x1 + CUT, width)]


def boxes_of(found):
    return found.boxes.numpy().reshape(-1, 4)


def add_lines(found_lines, truth_lines, found, objects):
    """As input of evaluate()."""
    number = len(truth_lines)
    found_lines.append({"frame": number, "detections": json.loads(found.to_json())["detections"]})
    truth_lines.append({"frame": number, "objects": objects})


def of_boxes(found_lines, truth_lines):
    measures = evaluate(found_lines, truth_lines)
    names = ("frames", "objects", "mean_iou", "class_accuracy", "recall", "precision")
    return {name: round(measures[name], 4) for name in names}


def mask_iou(a, b):
    return (a & b).sum() / max((a | b).sum(), 1)


def psnr(found, truth):
    error = np.square(found.astype(np.float64) - truth).mean()
    return 10 * math.log10(255**2 / max(error, 1e-9))


def share(values):
    return round(float(np.mean(values)), 4)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", choices=MEASURES)
    parser.add_argument("--clips", type=int, default=CLIPS, help=f"of each network (default: {CLIPS})")
    options = parser.parse_args()
    if options.name:
        print(json.dumps(MEASURES[options.name](options.clips), indent=1))
        return
    seeds = [HELD_OUT_SEEDS[0], HELD_OUT_SEEDS[options.clips - 1]]
    record = {"clip_seeds": seeds, "networks": {name: take(options.clips) for name, take in MEASURES.items()}}
    (FOLDER / "networks.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
