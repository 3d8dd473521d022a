"""The networks of TF-TRT's guide (Table 1) converted by lanner.tf.convert, against TensorFlow's own answers.

    python bench/tensorflow_networks.py --tensorflow ~/tensorflow/bin/python --nets 'MobileNet v1,VGG16' --log log.jsonl
    python bench/tensorflow_networks.py --log log.jsonl --write

--tensorflow is a Python with TensorFlow 2.21; it builds, fits and exports each network (tensorflow_models.py). A row of the log is one
network; a second run resumes, also within a network, from what the work folder has (--work). --write writes docs/tensorflow-networks.md from
the log: networks that it lacks are not measured.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import synthetic_images as synthetic

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
CALIBRATION = 48  # Pictures.


def logits_of(model, images):
    """Of a converted model or an engine."""
    (name,) = (binding.name for binding in model.inputs)
    found = []
    for begin in range(0, len(images), BATCH):
        batch = images[begin : begin + BATCH]
        full = np.concatenate([batch, np.repeat(batch[-1:], BATCH - len(batch), 0)])
        (y,) = model({name: synthetic.values(full)}).values()
        found.append(np.asarray(y)[: len(batch)])
    return np.concatenate(found)


def converted(folder, calibration, **options):
    plain = lanner.tf.convert(folder / "saved_model", minimum_segment_size=-1, budget=0)
    (binding,) = plain.inputs
    name, shape = binding.name, (BATCH, *binding.shape[1:])
    del plain
    if calibration is not None:
        data = synthetic.values(calibration)
        options["calibration_data"] = [{name: data[i : i + BATCH]} for i in range(0, len(data), BATCH)]
    return lanner.tf.convert(folder / "saved_model", shapes={name: shape}, **options)


def measure_fp32(folder, images):
    """Row of the conversion in FP32; its answers are kept in FOLDER/fp32-IMAGES.npy."""
    start = time.monotonic()
    model = converted(folder, None, budget=2)
    row = {"share": model.share, "convert_seconds": time.monotonic() - start, "engines": sum(part["engine"] for part in model.parts)}
    counted = [node for node in model.nodes if node["op"] not in ("Const", "Placeholder", "Identity", "NoOp")]
    row["nodes"] = len(counted)
    row["native"] = sorted({node["op"] for node in counted if not node["engine"]})
    np.save(folder / f"fp32-{len(images)}.npy", logits_of(model, images))
    return row | {"fp32_seconds": time.monotonic() - start}


def measure_int8(folder, images, calibration):
    """Row of INT8; its answers are kept in FOLDER/int8-IMAGES.npy."""
    start = time.monotonic()
    # Without timing kernels for integers are used also where others are faster. The saved engine says how many nodes they are.
    model = converted(folder, calibration, precision="int8", budget=0)
    row = {"int8_convert_seconds": time.monotonic() - start}
    with tempfile.TemporaryDirectory() as saved:
        model.save(saved)
        (engine,) = Path(saved).glob("assets/trt-serialized-engine.*")
        report = json.loads(lanner.load(engine).metadata["lanner.int8"])
    (folder / "int8.json").write_text(json.dumps(report))
    row |= {"int8_nodes": report["int8_nodes"], "int8_candidates": len(report["nodes"]), "outputs_snr_db": report["outputs_snr_db"]}
    np.save(folder / f"int8-{len(images)}.npy", logits_of(model, images))
    return row | {"int8_seconds": time.monotonic() - start}


def resumed(path, make):
    """What an earlier run wrote to `path`, or what `make` returns, written there."""
    if not path.exists():
        path.write_text(json.dumps(make()))
    return json.loads(path.read_text())


def measure(folder, name, pictures, count):
    wanted = np.load(folder / "logits.npy")[:count]
    side = lanner.tf.convert(folder / "saved_model", minimum_segment_size=-1, budget=0).inputs[0].shape[1]
    images, labels = synthetic.cached(pictures, synthetic.TEST, count, side)
    calibration, _ = synthetic.cached(pictures, synthetic.CALIBRATION, CALIBRATION, side)
    row = {"network": name, "images": len(images)}
    row |= resumed(folder / f"row-fp32-{count}.json", lambda: measure_fp32(folder, images))
    row |= resumed(folder / f"row-int8-{count}.json", lambda: measure_int8(folder, images, calibration))
    fp32, int8 = np.load(folder / f"fp32-{count}.npy"), np.load(folder / f"int8-{count}.npy")
    row["difference"] = float(np.abs(fp32 - wanted).max() / np.abs(wanted).max())
    row["accuracy"] = float((wanted.argmax(1) == labels).mean())
    row["fp32"] = float((fp32.argmax(1) == wanted.argmax(1)).mean())
    row["int8"] = float((int8.argmax(1) == fp32.argmax(1)).mean())
    row["int8_accuracy"] = float((int8.argmax(1) == labels).mean())
    return row


def run(arguments, done):
    names = [name.strip() for name in arguments.nets.split(",")] if arguments.nets else NAMES
    if unknown := set(names) - set(NAMES):
        sys.exit(f"no network {', '.join(sorted(unknown))}; expected {', '.join(NAMES)}")
    pictures = arguments.work / "pictures"
    for name in names:
        if name in done:
            continue
        folder = arguments.work / name.lower().replace(" ", "")
        folder.mkdir(parents=True, exist_ok=True)
        command = [arguments.tensorflow, HERE / "tensorflow_models.py", name, folder, "--images", str(arguments.images), "--cache", pictures]
        made = subprocess.run(command, check=False)
        if made.returncode != 0:
            sys.exit(f"{name}: TensorFlow ended with {made.returncode}")
        row = measure(folder, name, pictures, arguments.images)
        print(json.dumps(row), flush=True)
        with open(arguments.log, "a") as log:
            log.write(json.dumps(row) + "\n")


def row_text(name, row):
    if row is None:
        return f"| {name} | not measured |  |  |  |  |  |  |  |  |"
    whole = row["share"] > 0.99 and row["engines"] == 1 and row["difference"] <= 1e-4 and row["fp32"] == 1
    bad = "" if whole and row["int8_nodes"] > 0 and row["int8"] >= 0.98 and row["accuracy"] >= 0.9 else " **no**"
    return (
        f"| {name}{bad} | {row['images']} | {row['nodes']} | {100 * row['share']:.1f} % | {row['engines']} | {row['difference']:.1e} | "
        f"{100 * row['accuracy']:.1f} % | {100 * row['fp32']:.1f} % | {100 * row['int8']:.1f} % | "
        f"{row['int8_nodes']} of {row['int8_candidates']} |"
    )


def page(rows):
    lines = [
        "# The networks of TF-TRT's guide",
        "",
        "Generated by `python bench/tensorflow_networks.py --write` from its log; do not edit.",
        "",
        "The ten networks of Table 1 of NVIDIA's guide to TF-TRT, built by `tf.keras.applications`, or from layers where it lacks them (ResNet-50 v1.5,",
        "Inception v4), with random weights. TensorFlow exports them, `lanner.tf.convert` converts them, and both run the same pictures on the CPU.",
        "",
        "So that the answers are not arbitrary, the last layer is fitted on 600 pictures of 20 synthetic classes: shapes with a texture before a",
        "background, of other place, size, direction, colours, light, clutter and noise in each picture. Two things keep the classes through a deep",
        "network of random weights: each channel is given the mean and variance that a trained network's may have, and the places of a kernel have a",
        "part in common, as smooth kernels have. The pictures of the test, of the fit and of the calibration are different ones.",
        "",
        "- **converted**: share of the nodes that are in engines; placeholders, constants, `Identity` and `NoOp` do not count. **engines**: how many.",
        "- **difference**: of the logits in FP32, the largest, relative to TensorFlow's largest logit; at most 1e-4.",
        "- **accuracy**: TensorFlow's on the synthetic classes; at least 90 %.",
        "- **FP32**: pictures whose best class is TensorFlow's. **INT8**: pictures whose best class is that of our FP32, after calibration on 48",
        "  pictures; at least 98 %. **INT8 nodes**: convolutions and products that run in integers, of those that could; the guard of",
        "  [INT8](int8.md) leaves the others in FP32.",
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
    parser.add_argument("--work", type=Path, default=HERE.parent / "build" / "networks", help="keeps pictures, models and answers for a later run")
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
