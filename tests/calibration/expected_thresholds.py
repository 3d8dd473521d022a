"""Thresholds by straightforward definitions in NumPy, independent of the library: the constants of thresholds_test.cpp.

    .venv/bin/python tests/calibration/expected_thresholds.py

The values are made by a linear congruential generator, as in the test.
"""

import math

import numpy

BINS, ENTROPY_BINS = 8192, 2048


def uniform(count: int) -> list[float]:
    """Numbers above 0 and below 1."""
    state, numbers = 1, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        numbers.append(((state >> 40) + 0.5) / 2**24)
    return numbers


def distributions(count: int) -> dict[str, numpy.ndarray]:
    u = uniform(2 * count)
    normal = [math.sqrt(-2 * math.log(u[2 * i])) * math.cos(2 * math.pi * u[2 * i + 1]) for i in range(count)]
    laplace = [(1 if u[2 * i] < 0.5 else -1) * -math.log(u[2 * i + 1]) for i in range(count)]
    values = {
        "gaussian": normal,
        "laplace": laplace,
        "uniform": [2 * u[i] - 1 for i in range(count)],
        "gaussian_outlier": [*normal, 20.0],
        "half_gaussian": [max(x, 0) for x in normal],
        "exponential": [abs(x) for x in laplace],
    }
    return {name: numpy.array(made, numpy.float32) for name, made in values.items()}


def counted(values: numpy.ndarray, bins: int) -> tuple[numpy.ndarray, float]:
    magnitudes = numpy.abs(values.astype(numpy.float64))
    magnitudes = magnitudes[magnitudes > 0]
    found, _ = numpy.histogram(magnitudes, bins, (0, magnitudes.max()))
    return found.astype(numpy.float64), magnitudes.max()


def levels_of_bins(used: int, levels: int) -> numpy.ndarray:
    return numpy.arange(used) * levels // used


def expanded(mass: numpy.ndarray, filled: numpy.ndarray, level: numpy.ndarray) -> numpy.ndarray:
    """Each level's mass, divided equally among those of its bins that are filled."""
    total = numpy.bincount(level, mass)
    share = numpy.bincount(level, filled)
    return numpy.where(filled, (total / numpy.maximum(share, 1))[level], 0)


def divergence(p: numpy.ndarray, q: numpy.ndarray) -> float:
    p, q = p / p.sum(), q / q.sum()
    there = p > 0
    if (q[there] == 0).any():
        return math.inf
    return float(numpy.sum(p[there] * numpy.log(p[there] / q[there])))


def entropy(values: numpy.ndarray) -> float:
    bins, largest = counted(values, ENTROPY_BINS)
    bins[0] = 0
    levels = 128 if values.min() < 0 else 256
    results = {}
    for used in range(levels, ENTROPY_BINS + 1):
        inside = bins[:used]
        reference = inside.copy()
        reference[-1] += bins[used:].sum()
        results[used] = divergence(reference, expanded(inside, reference > 0, levels_of_bins(used, levels)))
    best = min(results, key=results.get)
    return min(best + 0.5, ENTROPY_BINS) * largest / ENTROPY_BINS


def entropy2(values: numpy.ndarray) -> float:
    bins, largest = counted(values, ENTROPY_BINS)
    bins[0] = 0
    levels = 128 if values.min() < 0 else 256
    results = {}
    for used in range(levels, ENTROPY_BINS + 1):
        level = numpy.full(ENTROPY_BINS, levels - 1)
        level[:used] = levels_of_bins(used, levels)
        results[used] = divergence(bins, expanded(bins, bins > 0, level))
    bound = min(results.values()) + math.sqrt(2 * (bins > 0).sum()) / bins.sum()
    return max(used for used, found in results.items() if found <= bound) * largest / ENTROPY_BINS


def least_error(values: numpy.ndarray) -> float:
    """By the values themselves, not by bins."""
    magnitudes = numpy.abs(values.astype(numpy.float64))
    steps = 127 if values.min() < 0 else 255
    results = {}
    for share in numpy.arange(0.05, 1.0001, 0.0025):
        step = share * magnitudes.max() / steps
        stored = numpy.minimum(numpy.round(magnitudes / step), steps) * step
        results[share] = float(numpy.sum((magnitudes - stored) ** 2))
    return min(results, key=results.get) * magnitudes.max()


def percentile(values: numpy.ndarray, percent: float) -> float:
    return float(numpy.sort(numpy.abs(values))[math.ceil(percent / 100 * len(values)) - 1])


if __name__ == "__main__":
    for name, values in distributions(200_000).items():
        found = [entropy(values), entropy2(values), numpy.abs(values).max(), percentile(values, 99.99),
                 percentile(values, 99.999), least_error(values)]
        print(f'{{"{name}", ' + ", ".join(f"{number:.4f}" for number in found) + "},")
