"""Answers of float64 runs, stored on disk one sample each, and their models."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from networks import parts
from networks.catalogue import Case, Feed, Network, write_model

# Batches beyond this repeat their samples.
DISTINCT = 8
BEFORE, HALVES = "before choices", "fp16"


@dataclass(frozen=True)
class Store:
    folder: Path

    def model(self, network: Network, part: str = "") -> Path:
        """File of the network, or of a part of it (BEFORE, HALVES or both), created if missing."""
        path = self.folder / "models" / f"{network.name}{'.' + part.replace(' ', '-') if part else ''}.onnx"
        if not path.exists():
            if part:
                self.write_part(network, part, path)
            else:
                write_model(network.name, path)
        return path

    def plan(self, name: str) -> Path:
        """Plan of a built network; the folder exists."""
        path = self.folder / "plans" / f"{name.replace(' ', '-').replace(':', '')}.plan"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write_part(self, network: Network, part: str, path: Path) -> None:
        if part.startswith(HALVES):
            model = parts.in_halves(onnx.load(self.model(network, part.removeprefix(HALVES).strip())))
        else:
            model = onnx.load(self.model(network))
            model = parts.with_outputs(model, parts.before_choices(model))
        partial = path.with_suffix(".partial")
        onnx.save(model, partial)
        partial.rename(path)

    def sample_path(self, network: Network, case: Case, number: int) -> Path:
        return self.folder / "answers" / network.name / f"{case.key}-{number}.npz"

    def missing(self, network: Network, case: Case) -> list[int]:
        return [i for i in range(min(case.batch + case.further, DISTINCT)) if not self.sample_path(network, case, i).exists()]

    def compute(self, network: Network, case: Case, stage: Callable[[str], None]) -> None:
        """Writes missing answers."""
        from networks import float64

        model = onnx.load(self.model(network))
        names = [value.name for value in model.graph.output]
        if network.is_detector:
            names += parts.before_choices(model)
        for number in self.missing(network, case):
            stage(f"float64 run of sample {number}")
            save(self.sample_path(network, case, number), float64.run(model, network.sample(case, number), names))

    def feed(self, network: Network, case: Case, first: int = 0) -> Feed:
        """The inputs of a case; others with another `first` sample."""
        samples = [network.sample(case, (i + first) % DISTINCT) for i in range(case.batch)]
        return joined(samples)

    def answers(self, network: Network, case: Case, part: str = "", first: int = 0) -> dict[str, np.ndarray]:
        """The float64 run's answers for `feed`."""
        whole = joined([load(self.sample_path(network, case, (i + first) % DISTINCT)) for i in range(case.batch)])
        results = {value.name for value in network.header.graph.output}
        return {name: array for name, array in whole.items() if (name in results) == (part != BEFORE)}


def joined(samples: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    if len(samples) == 1:
        return samples[0]
    return {name: np.concatenate([sample[name] for sample in samples]) for name in samples[0]}


def save(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Names of values may have any characters, so they are stored next to the arrays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    names = np.frombuffer(json.dumps(list(arrays)).encode(), np.uint8)
    with open(partial, "wb") as file:
        np.savez(file, names=names, **{f"value{i}": array for i, array in enumerate(arrays.values())})
    partial.rename(path)


def load(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as file:
        return {name: file[f"value{i}"] for i, name in enumerate(json.loads(file["names"].tobytes()))}
