"""The networks of TF-TRT's guide (Table 1) converted by lanner.tf.convert, against TensorFlow's own answers.

    python bench/tensorflow_networks.py --tensorflow ~/tensorflow/bin/python --nets 'MobileNet v1,VGG16' --log log.jsonl
    python bench/tensorflow_networks.py --log log.jsonl --write

--tensorflow is a Python with TensorFlow 2.21; it builds, fits and exports each network (tensorflow_models.py). A row of the log is one
network; a second run resumes. --write writes docs/tensorflow-networks.md from the log: networks that it lacks are not measured.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import lanner

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "tensorflow-networks.md"
NAMES = [
    "MobileNet v1",
    "MobileNet v2",
    "NASNet - Large",
    "NASNet - Mobile",
    "ResNet-50 v1.5",
    "ResNet-50 v2",
    "VGG16",
    "VGG19",
    "Inception v3",
    "Inception v4",
]
BATCH = 8


def logits_of(model, images):
    """Of a converted model or an engine."""
    (name,) = (binding.name for binding in model.inputs)
    found = []
    for begin in range(0, len(images), BATCH):
        batch = images[begin : begin + BATCH]
        full = np.concatenate([batch, np.repeat(batch[-1:], BATCH - len(batch), 0)])
        (y,) = model({name: full.astype(np.float32) / np.float32(127.5) - 1}).values()
        found.append(np.asarray(y)[: len(batch)])
    return np.concatenate(found)


def converted(folder, calibration, **options):
    plain = lanner.tf.convert(folder / "saved_model", minimum_segment_size=-1, budget=0)
    (name,) = (binding.name for binding in plain.inputs)
    del plain
    if calibration is not None:
        options["calibration_data"] = [{name: calibration[i : i + BATCH]} for i in range(0, len(calibration), BATCH)]
    shape = (BATCH, *np.load(folder / "data.npz")["images"].shape[1:])
    return lanner.tf.convert(folder / "saved_model", shapes={name: shape}, **options)


def measure(folder, name):
    data = np.load(folder / "data.npz")
    images, labels, wanted = data["images"], data["labels"], data["logits"]
    start = time.monotonic()
    model = converted(folder, None, budget=2)
    row = {"network": name, "images": len(images), "share": model.share, "convert_seconds": time.monotonic() - start}
    row["engines"] = sum(part["engine"] for part in model.parts)
    row["nodes"] = sum(node["op"] not in ("Const", "Placeholder", "Identity", "NoOp") for node in model.nodes)
    row["native"] = sorted({node["op"] for node in model.nodes if not node["engine"] and node["op"] not in ("Const", "Placeholder", "Identity", "NoOp")})
    fp32 = logits_of(model, images)
    del model
    row["difference"] = float(np.abs(fp32 - wanted).max() / np.abs(wanted).max())
    row["accuracy"] = float((wanted.argmax(1) == labels).mean())
    row["fp32"] = float((fp32.argmax(1) == wanted.argmax(1)).mean())
    # Without timing kernels for integers are used also where others are faster. The plan says how many nodes they are.
    converted(folder, data["calibration"], precision="int8", budget=0).save_plan(folder / "int8.plan")
    plan = lanner.load(folder / "int8.plan")
    row["int8_nodes"] = json.loads(plan.metadata["lanner.int8"])["int8_nodes"]
    int8 = logits_of(plan, images)
    row["int8"] = float((int8.argmax(1) == fp32.argmax(1)).mean())
    row["int8_accuracy"] = float((int8.argmax(1) == labels).mean())
    row["seconds"] = time.monotonic() - start
    return row


def run(arguments, done):
    names = [name.strip() for name in arguments.nets.split(",")] if arguments.nets else NAMES
    if unknown := set(names) - set(NAMES):
        sys.exit(f"no network {', '.join(sorted(unknown))}; expected {', '.join(NAMES)}")
    for name in names:
        if name in done:
            continue
        with tempfile.TemporaryDirectory(prefix="lanner-networks-") as folder:
            made = subprocess.run([arguments.tensorflow, HERE / "tensorflow_models.py", name, folder, "--images", str(arguments.images)], check=False)
            if made.returncode != 0:
                sys.exit(f"{name}: TensorFlow ended with {made.returncode}")
            row = measure(Path(folder), name)
        print(json.dumps(row), flush=True)
        with open(arguments.log, "a") as log:
            log.write(json.dumps(row) + "\n")


def row_text(name, row):
    if row is None:
        return f"| {name} | not measured |  |  |  |  |  |  |  |  |"
    right = row["int8_nodes"] > 0 and row["share"] > 0.99 and row["engines"] == 1 and row["difference"] <= 1e-4 and row["fp32"] == 1 and row["int8"] >= 0.98
    bad = "" if right and row["accuracy"] >= 0.9 else " **no**"
    return (
        f"| {name}{bad} | {row['images']} | {row['nodes']} | {100 * row['share']:.1f} % | {row['engines']} | {row['difference']:.1e} | "
        f"{100 * row['accuracy']:.1f} % | {100 * row['fp32']:.1f} % | {100 * row['int8']:.1f} % | {row['int8_nodes']} |"
    )


def page(rows):
    lines = [
        "# The networks of TF-TRT's guide",
        "",
        "Generated by `python bench/tensorflow_networks.py --write` from its log; do not edit.",
        "",
        "The ten networks of Table 1 of NVIDIA's guide to TF-TRT, built by `tf.keras.applications`, or from layers where it lacks them (ResNet-50 v1.5,",
        "Inception v4), with random weights. Their last layer is fitted on 20 synthetic classes, so that the answers are not arbitrary; TensorFlow exports",
        "them, `lanner.tf.convert` converts them, and both run the same images on the CPU.",
        "",
        "- **converted**: share of the nodes that are in engines; placeholders, constants, `Identity` and `NoOp` do not count. **engines**: how many.",
        "- **difference**: of the logits in FP32, the largest, relative to TensorFlow's largest logit; at most 1e-4.",
        "- **accuracy**: TensorFlow's on the synthetic classes; at least 90 %.",
        "- **FP32**: images whose best class is TensorFlow's. **INT8**: images whose best class is that of our FP32, after calibration on 48 other",
        "  images; at least 98 %. **INT8 nodes**: convolutions and products that run in integers; the guard of [INT8](int8.md) leaves others in FP32.",
        "- **no** behind a name: one of these bounds is not met.",
        "",
        "| network | images | nodes | converted | engines | difference | accuracy | FP32 | INT8 | INT8 nodes |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join(lines + [row_text(name, rows.get(name)) for name in NAMES]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", help="a Python with TensorFlow; without it nothing is measured")
    parser.add_argument("--nets", help="names, separated by commas; default: all")
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--log", required=True, type=Path)
    parser.add_argument("--write", action="store_true", help="write docs/tensorflow-networks.md from the log")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in arguments.log.read_text().splitlines()] if arguments.log.exists() else []
    if arguments.tensorflow:
        run(arguments, {row["network"] for row in rows})
    if arguments.write:
        rows = [json.loads(line) for line in arguments.log.read_text().splitlines()] if arguments.log.exists() else []
        PAGE.write_text(page({row["network"]: row for row in rows}))


if __name__ == "__main__":
    main()
