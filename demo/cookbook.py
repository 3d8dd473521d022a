"""Makes the images of docs/cookbook.md from the outputs of its recipes.

    python demo/make.py demo/out/cookbook     # then run the recipes in that folder, or: pytest tests/python/project/test_cookbook.py
    python demo/cookbook.py demo/out/cookbook
"""

import argparse
import pathlib

import lanner
import numpy as np

from pictures import shrink

OUTPUT = pathlib.Path(__file__).resolve().parents[1] / "docs" / "cookbook"
WIDTH, GAP = 480, 8


def frame(path, number):
    return np.asarray(lanner.VideoReader(path)[number].image)


def narrow(rgb):
    """At most WIDTH wide."""
    if rgb.shape[1] <= WIDTH:
        return rgb
    height = round(rgb.shape[0] * WIDTH / rgb.shape[1])
    return np.round(np.clip(shrink(rgb, WIDTH, height), 0, 255)).astype(np.uint8)


def beside(*pictures):
    gap = np.full((pictures[0].shape[0], GAP, 3), 255, np.uint8)
    parts = [part for picture in pictures for part in (gap, picture)]
    return np.hstack(parts[1:])


def enlarged(folder):
    """A detail of a small frame by pixels, by bicubic resizing and by the network."""
    small = lanner.VideoReader(folder / "small.mp4")[3].image
    spec = {"size": (2 * small.height, 2 * small.width), "layout": "nhwc", "range": (0, 255), "dtype": "uint8"}
    large = np.asarray(lanner.load_image(folder / "large_03.png"))
    ways = [small.to_tensor(**spec, resize=way).numpy()[0] for way in ("nearest", "bicubic")]
    y, x = 10, 446
    parts = [picture[y : y + 108, x : x + 108] for picture in (*ways, large)]
    return beside(*(part.repeat(3, axis=0).repeat(3, axis=1) for part in parts))


def pictures(folder):
    yield "boxes", narrow(frame(folder / "boxes.mp4", 20))
    yield "masks", narrow(frame(folder / "masks.mp4", 20))
    yield "pose", frame(folder / "pose.mp4", 20)
    yield "poster", beside(*(narrow(frame(folder / name, 10)) for name in ("hall.mp4", "poster.mp4")))
    yield "upscale", enlarged(folder)
    yield "depth", beside(*(narrow(frame(folder / name, 10)) for name in ("hall.mp4", "depth.mp4")))
    yield "colours", narrow(frame(folder / "colours.mp4", 20))
    yield "sheet", np.asarray(lanner.load_image(folder / "sheet.png"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="in which the recipes ran")
    folder = parser.parse_args().folder
    OUTPUT.mkdir(exist_ok=True)
    for name, rgb in pictures(folder):
        lanner.save_image(OUTPUT / f"{name}.jpg", lanner.Image.from_array(np.ascontiguousarray(rgb)))


if __name__ == "__main__":
    main()
