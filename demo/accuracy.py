"""The detector's accuracy on clips it was not trained on, by onnxruntime; needs no engine of this project.

    /tmp/train/bin/python demo/accuracy.py       # writes shapes.json; the environment is train.py's
"""

import io
import json
import pathlib

import numpy as np
import onnxruntime

from detections import to_detections, to_input
from evaluate import evaluate
from shapes import HELD_OUT_SEEDS, LABELS, SCENE_FRAMES, TRAIN_SEEDS, Clip

MEASURES = ("frames", "objects", "mean_iou", "class_accuracy", "recall", "precision")
MOMENTS = (0, 33, 66, 99)
H264_FRAMES = 30
CRF = 28


def measure_drawn(model, clips=100):
    """On frames as drawn: four moments of the first scene of each clip."""
    frames = []
    for seed in HELD_OUT_SEEDS[:clips]:
        clip = Clip(seed, frames=SCENE_FRAMES)
        frames += [(clip[n].rgb, clip.objects(n)) for n in MOMENTS]
    return measure(model, frames)


def measure_h264(model, clips=10):
    """On the first second of other clips, encoded as H.264 (4:2:0) at a low quality and decoded again."""
    frames = []
    for seed in HELD_OUT_SEEDS[-clips:]:
        clip = Clip(seed, frames=H264_FRAMES)
        decoded = through_h264([frame.rgb for frame in clip])
        frames += [(rgb, clip.objects(n)) for n, rgb in enumerate(decoded)]
    return {"crf": CRF, **measure(model, frames)}


def measure(model, frames):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    answers, truth = [], []
    for number, (rgb, objects) in enumerate(frames):
        boxes, scores = session.run(["boxes", "scores"], {"input": to_input(rgb)})
        found = to_detections(boxes[0], scores[0], rgb.shape[1], rgb.shape[0])
        answers.append({"frame": number, "detections": found})
        truth.append({"frame": number, "objects": objects})
    measures = evaluate(answers, truth)
    return {name: round(measures[name], 4) for name in MEASURES}


def through_h264(frames):
    import av

    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=30, options={"crf": str(CRF)})
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        for rgb in frames:
            container.mux(
                stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(rgb), format="rgb24"))
            )
        container.mux(stream.encode())
    file.seek(0)
    with av.open(file) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def main():
    import export
    from lessons.grid import MOMENTS, Detect

    path = pathlib.Path(__file__).with_name("shapes.onnx")
    record = {
        "labels": LABELS,
        "parameters": sum(value.size for values in export.read_weights(path).values() for value in values),
        "bytes": path.stat().st_size,
        "training": {
            "seed": Detect.seed,
            "steps": Detect.steps,
            "batch": Detect.batch,
            "frames": Detect.scenes * MOMENTS,
            "clip_seeds": [TRAIN_SEEDS[0], TRAIN_SEEDS[Detect.scenes - 1]],
        },
        "held_out": {
            "clip_seeds": [HELD_OUT_SEEDS[0], HELD_OUT_SEEDS[-1]],
            "drawn": measure_drawn(path),
            "h264": measure_h264(path),
        },
    }
    path.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record["held_out"], indent=1))


if __name__ == "__main__":
    main()
