"""The main job from end to end: `./dev demo` runs this after the build.

Draws a clip of moving shapes that the network has not seen and encodes it; has `lanner run` find the shapes,
draw boxes on them and write the report; compares the answers in the file with the log of what was drawn.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

from evaluate import evaluate, read_lines
from shapes import DEMO_SEED, Clip

FOLDER = pathlib.Path(__file__).resolve().parent
COMMAND = FOLDER.parent / "build" / "bin" / "lanner"
LEAST_IOU, LEAST_ACCURACY = 0.85, 0.97


def make_clip(clip, path):
    """Encodes every frame, and writes the ground truth to the same folder."""
    import lanner

    with lanner.VideoWriter(
        path, width=clip.width, height=clip.height, fps=clip.fps, codec="h264", crf=18
    ) as writer:
        for frame in clip:
            writer.write(frame.rgb)
    clip.write_truth(path.with_name("truth.jsonl"))


def make_photos(folder):
    """Images with ground truth in COCO's format, for README.md and docs/first-steps.md."""
    import make

    make.write_photos(folder / "photos", folder / "photos.json")


def find_shapes(folder, device):
    """Runs the command on the clip; returns its seconds."""
    started = time.monotonic()
    files = {
        "-i": "clip.mp4",
        "-o": "annotated.mp4",
        "--json": "answers.jsonl",
        "--truth": "truth.jsonl",
        "--report": "report.html",
    }
    arguments = [part for flag, name in files.items() for part in (flag, folder / name)]
    subprocess.run([COMMAND, "run", FOLDER / "shapes.onnx", *arguments, "--device", device], check=True)
    return time.monotonic() - started


def measure(folder):
    """The accuracy of the answers in the file."""
    measures = evaluate(read_lines(folder / "answers.jsonl"), read_lines(folder / "truth.jsonl"))
    (folder / "accuracy.json").write_text(json.dumps(measures, indent=1) + "\n", encoding="utf-8")
    return measures


def parse_options():
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--output", type=pathlib.Path, default=FOLDER / "out", help="folder (default: demo/out)"
    )
    parser.add_argument("--seed", type=int, default=DEMO_SEED, help=f"of the clip (default: {DEMO_SEED})")
    parser.add_argument("--frames", type=int, default=300, help="of the clip (default: 300)")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda:0 (default: auto)")
    return parser.parse_args()


def main():
    options = parse_options()
    if not COMMAND.exists():
        print(f"demo: {COMMAND} is missing: run ./dev build", file=sys.stderr)
        return 2
    folder = options.output
    folder.mkdir(parents=True, exist_ok=True)
    clip = Clip(options.seed, frames=options.frames)
    print(f"demo: drawing and encoding {len(clip)} frames of {clip.width}x{clip.height}", flush=True)
    make_clip(clip, folder / "clip.mp4")
    make_photos(folder)
    print("demo: lanner run demo/shapes.onnx", flush=True)
    try:
        seconds = find_shapes(folder, options.device)
    except subprocess.CalledProcessError as error:
        print(f"demo: lanner run ended with exit code {error.returncode}", file=sys.stderr)
        return 1
    measures = measure(folder)
    print(f"shapes          {measures['objects']} in {measures['frames']} frames")
    print(f"mean IoU        {measures['mean_iou']:.3f}")
    print(f"class accuracy  {measures['class_accuracy']:.3f}")
    print(f"speed           {len(clip) / seconds:.0f} frames/s, decoding, drawing and encoding included")
    print(f"video           {folder / 'annotated.mp4'}")
    print(f"report          {folder / 'report.html'}")
    if measures["mean_iou"] < LEAST_IOU or measures["class_accuracy"] < LEAST_ACCURACY:
        print(f"demo: expected mean IoU >= {LEAST_IOU}, class accuracy >= {LEAST_ACCURACY}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
