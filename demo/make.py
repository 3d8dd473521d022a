"""Draws the inputs of the recipes of docs/cookbook.md into a folder, and copies the demo's networks there.

    python demo/make.py demo/out/cookbook

clip.mp4 and clip.mkv (moving shapes), figures.mp4 (stick figures), hall.mp4 (balls in a hall), small.mp4 (the shapes, a
quarter of the pixels), a.mp4, b.mp4, c.mp4; shapes/: images of single shapes, circle_0.png and so on;
photos/ with photos.json, its ground truth in COCO's format.
"""

import argparse
import json
import pathlib
import shutil
import sys

import lanner
import numpy as np

from figures import FigureClip
from hall import HallClip
from pictures import shrink
from shapes import DEMO_SEED, LABELS, Clip

FOLDER = pathlib.Path(__file__).resolve().parent
NETWORKS = ("shapes", "kinds", "colours", "masks", "pose", "poster", "upscale", "depth")
FRAMES, MOVING, FEW = 60, 45, 30
# Seeds for viewing: neither for training nor for measuring.
SEEDS = range(3_000_000, 3_000_100)
FIGURES, HALL = SEEDS[8], SEEDS[1]
EACH, PHOTOS, MARGIN = 4, 24, 6


def tell(text):
    """Drawing takes minutes, so each file is printed before it."""
    print(f"make: {text}", file=sys.stderr, flush=True)


def write_clip(path, frames, fps=30, **options):
    tell(f"{path.name}, {len(frames)} frames")
    writer = None
    for rgb in frames:
        if writer is None:
            writer = lanner.VideoWriter(path, width=rgb.shape[1], height=rgb.shape[0], fps=fps, crf=18, **options)
        writer.write(rgb)
    writer.close()


def write_clips(folder):
    tell(f"drawing {FRAMES} frames of moving shapes")
    shapes = [frame.rgb for frame in Clip(DEMO_SEED, frames=FRAMES)]
    write_clip(folder / "clip.mp4", shapes, gop=30)
    write_clip(folder / "clip.mkv", shapes[:FEW])
    small = [np.round(shrink(rgb, rgb.shape[1] // 2, rgb.shape[0] // 2)).astype(np.uint8) for rgb in shapes[:FEW]]
    write_clip(folder / "small.mp4", small)
    write_clip(folder / "figures.mp4", FigureClip(FIGURES, frames=MOVING))
    write_clip(folder / "hall.mp4", HallClip(HALL, frames=MOVING))
    for k, name in enumerate("abc"):
        write_clip(folder / f"{name}.mp4", [frame.rgb for frame in Clip(SEEDS[k], frames=FEW)])


def write_shapes(folder):
    """EACH images of every kind, cropped from frames."""
    folder.mkdir(exist_ok=True)
    tell(f"{folder.name}/, {EACH} pictures of each of {len(LABELS)} shapes")
    missing = dict.fromkeys(LABELS, EACH)
    for seed in SEEDS:
        frame = Clip(seed, frames=1)[0]
        for item in frame.objects:
            if missing[item["label"]]:
                missing[item["label"]] -= 1
                x0, y0, x1, y1 = (int(round(v)) for v in item["box"])
                part = frame.rgb[max(y0 - MARGIN, 0) : y1 + MARGIN, max(x0 - MARGIN, 0) : x1 + MARGIN]
                save(folder / f"{item['label']}_{missing[item['label']]}.png", part)
        if not any(missing.values()):
            return


def write_photos(folder, truth):
    """Images of several shapes, and their boxes in COCO's format."""
    folder.mkdir(exist_ok=True)
    tell(f"{folder.name}/, {PHOTOS} pictures, and {truth.name}")
    images, annotations = [], []
    for number, seed in enumerate(SEEDS[-PHOTOS:], 1):
        frame = Clip(seed, frames=1)[0]
        name = f"photo_{number:02d}.png"
        save(folder / name, frame.rgb if number % 3 else by_night(frame.rgb, seed))
        height, width = frame.rgb.shape[:2]
        images.append({"id": number, "file_name": name, "width": width, "height": height})
        for item in frame.objects:
            x0, y0, x1, y1 = item["box"]
            box = [x0, y0, x1 - x0, y1 - y0]
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": number,
                    "category_id": item["class"] + 1,
                    "bbox": box,
                    "area": box[2] * box[3],
                    "iscrowd": 0,
                }
            )
    categories = [{"id": k, "name": label} for k, label in enumerate(LABELS, 1)]
    text = json.dumps({"images": images, "annotations": annotations, "categories": categories}, indent=1)
    truth.write_text(text + "\n", encoding="utf-8")


def by_night(rgb, seed):
    """Dark and noisy: a detector is sometimes wrong on these."""
    noise = np.random.default_rng(seed).normal(0, 22, rgb.shape)
    return np.clip(rgb * 0.35 + noise, 0, 255).astype(np.uint8)


def save(path, rgb):
    lanner.save_image(path, lanner.Image.from_array(np.ascontiguousarray(rgb)))


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name in NETWORKS:
        shutil.copy(FOLDER / f"{name}.onnx", folder)
    write_clips(folder)
    write_shapes(folder / "shapes")
    write_photos(folder / "photos", folder / "photos.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    make(parser.parse_args().folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
