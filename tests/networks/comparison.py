"""Distances of results from those of a float64 run."""

from dataclasses import asdict, dataclass

import numpy as np

from networks.boxes import overlaps

# A detection is the same one where its score is that near and its box overlaps that much, or, as rounding moves boxes of a part of a
# pixel's width by as much, has its corners that near: as a part of the largest coordinate.
SAME_BOX, NEAR_CORNER, NEAR_SCORE = 0.9, 1e-3, 0.02
BROKEN = "are NaN or infinite"
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Distance:
    """For one output. `unlike` says what cannot be measured: type, shape, non-numbers."""

    error: float = 0.0
    """The largest difference, relative to the largest expected number."""
    snr: float = 0.0
    """Signal to noise in dB; at most 320, which is more than float64 tells apart."""
    unlike: str = ""


def distance(got: np.ndarray, expected: np.ndarray) -> Distance:
    if got.shape != expected.shape:
        return Distance(unlike=f"shape {list(got.shape)}, expected {list(expected.shape)}")
    if expected.dtype.kind != "f":
        wrong = int((got != expected).sum())
        return Distance(unlike=f"{wrong} of {got.size} differ" if wrong else "", snr=320)
    got = got.astype(np.float64)
    broken = ~np.isfinite(got) & np.isfinite(expected)
    if broken.any():
        return Distance(unlike=f"{int(broken.sum())} of {got.size} {BROKEN}")
    finite = np.isfinite(expected)
    if (got[~finite] != expected[~finite]).any():
        return Distance(unlike=f"numbers where {int((~finite).sum())} of {got.size} are infinite or none")
    return of_numbers(got[finite], expected[finite])


def of_numbers(got: np.ndarray, expected: np.ndarray) -> Distance:
    apart = got - expected
    largest = max(float(np.abs(expected).max(initial=0)), 1e-300)
    noise, signal = float(np.square(apart).sum()), float(np.square(expected).sum())
    snr = 320.0 if noise == 0 else min(320.0, 10 * float(np.log10(max(signal, 1e-300) / noise)))
    return Distance(float(np.abs(apart).max(initial=0)) / largest, snr)


def distances(got: Arrays, expected: Arrays) -> dict[str, dict]:
    return {name: asdict(distance(got[name], expected[name])) for name in expected}


def worst(all_of_them: list[dict[str, dict]]) -> dict[str, dict]:
    """Output by output, of several runs."""

    def rank(one: dict) -> tuple:
        return bool(one["unlike"]), one.get("error", 0), -one.get("matched", 0)

    return {name: max((found[name] for found in all_of_them), key=rank) for name in all_of_them[0]}


def pooled(samples: list[dict[str, dict]]) -> dict[str, dict]:
    """Output by output, of several samples: the largest difference, and the noise of all together."""
    result = {}
    for name, one in worst(samples).items():
        noise = np.mean([10 ** (-found[name]["snr"] / 10) for found in samples]) if "snr" in one else 0
        means = {key: float(np.mean([found[name][key] for found in samples])) for key in ("matched", "one_box") if key in one}
        result[name] = one | ({"snr": -10 * float(np.log10(noise))} if noise else {}) | means
    return result


def spread(runs: list[Arrays]) -> float:
    """The largest difference between the first run and another, as `Distance.error`; infinite if types or shapes differ."""
    first, largest = runs[0], 0.0
    for run in runs[1:]:
        for name, array in run.items():
            if array.tobytes() == first[name].tobytes() and array.shape == first[name].shape:
                continue
            apart = distance(array, first[name].astype(np.float64) if first[name].dtype.kind == "f" else first[name])
            largest = max(largest, np.inf if apart.unlike or apart.error == 0 else apart.error)
    return largest


def detections(got: Arrays, expected: Arrays) -> dict[str, dict]:
    """Which of the expected boxes were found, in any order; each found box matches at most one."""
    boxes, scores, labels = (got[name] for name in ("boxes", "scores", "labels"))
    free, matched = np.ones(len(scores), bool), 0
    boxes, near = boxes.astype(np.float64), NEAR_CORNER * float(np.abs(expected["boxes"]).max(initial=0))
    for box, score, label in zip(expected["boxes"], expected["scores"], expected["labels"], strict=True):
        alike = np.maximum(overlaps(box, boxes), np.abs(boxes - box).max(axis=1, initial=0) <= near)
        fits = alike * (free & (labels == label) & (np.abs(scores - score) <= NEAR_SCORE))
        best = int(fits.argmax()) if len(fits) else 0
        if len(fits) and fits[best] >= SAME_BOX:
            free[best] = False
            matched += 1
    most = max(len(scores), len(expected["scores"]))
    shares = {"matched": matched / most if most else 1.0, "one_box": 1 / most if most else 0.0}
    return {"detections": {"unlike": "", **shares, "found": len(scores), "expected": len(expected["scores"])}}
