"""Trains a network of the demo, by its name, and writes NAME.onnx.

    python -m venv /tmp/train && /tmp/train/bin/pip install -r requirements/demo-train.txt
    /tmp/train/bin/python demo/train.py masks

Two to twenty minutes on one core. Images come from TRAIN_SEEDS; measure.py measures a network's accuracy on
HELD_OUT_SEEDS.
"""

import argparse
import pathlib
import time

import numpy as np
import torch

import export
from lessons import LESSONS
from shapes import TRAIN_SEEDS
from torch_layers import TorchLayers

FOLDER = pathlib.Path(__file__).resolve().parent
WARMUP = 100


def train(lesson):
    rng = np.random.default_rng(lesson.seed)
    pool = list(lesson.draw(TRAIN_SEEDS[: lesson.scenes], rng))
    print(f"{lesson.name}: {len(pool)} pictures drawn", flush=True)
    model = TorchLayers(lesson.network)
    model(torch.as_tensor(lesson.sample(pool[0], rng)[0])[None].repeat(2, 1, 1, 1))
    if lesson.start:
        taken = model.start_from(export.read_weights(FOLDER / lesson.start))
        print(f"{lesson.name}: starts with {taken} of {len(model.parts)} layers of {lesson.start}", flush=True)
    optimizer = torch.optim.AdamW(model.parameters(), lesson.rate, weight_decay=1e-4)
    rates = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, lesson.rate, lesson.steps, pct_start=WARMUP / (lesson.steps + WARMUP), final_div_factor=100
    )
    started, order, mean = time.monotonic(), [], None
    for number in range(lesson.steps):
        samples = []
        while len(samples) < lesson.batch:
            order = order or rng.permutation(len(pool)).tolist()
            samples.append(lesson.sample(pool[order.pop()], rng))
        images, *wanted = (torch.as_tensor(np.stack(part)) for part in zip(*samples, strict=True))
        loss = lesson.loss(model(images), *wanted)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        rates.step()
        mean = loss.item() if mean is None else 0.98 * mean + 0.02 * loss.item()
        if number % 100 == 99:
            seconds = time.monotonic() - started
            print(f"{lesson.name}: step {number + 1} of {lesson.steps}: loss {mean:.3f}, {seconds:.0f} s", flush=True)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=LESSONS)
    parser.add_argument("--output", type=pathlib.Path, help="where to write (default: NAME.onnx beside this file)")
    parser.add_argument("--steps", type=int, help="of training (default: the network's own)")
    parser.add_argument("--scenes", type=int, help="to draw pictures of (default: the network's own)")
    options = parser.parse_args()
    lesson = LESSONS[options.name]()
    torch.set_num_threads(1)
    weights = {}
    if lesson.steps:
        torch.manual_seed(lesson.seed)
        torch.use_deterministic_algorithms(True)
        lesson.steps, lesson.scenes = options.steps or lesson.steps, options.scenes or lesson.scenes
        weights = train(lesson).eval().weights()
    path = options.output or FOLDER / f"{lesson.name}.onnx"
    lesson.save(weights, path)
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
