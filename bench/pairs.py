"""Alternating measurements and their statistics."""

import math
import random
import statistics
import sys


def ratio_interval(ratios, samples=2000, seed=0):
    """Median of the ratios and its 95 % bootstrap interval (Efron, percentile method)."""
    chooser = random.Random(seed)
    medians = sorted(statistics.median(chooser.choices(ratios, k=len(ratios))) for _ in range(samples))
    return statistics.median(ratios), (medians[int(samples * 0.025)], medians[int(samples * 0.975)])


def tell(label, pair, pairs):
    if sys.stderr.isatty():
        print(f"\r{label}: {pair + 1} of {pairs}", end="\n" if pair + 1 == pairs else "", file=sys.stderr, flush=True)


def alternate(ours, rival, pairs, label):
    """Calls `ours()` and `rival()` alternately; each returns seconds. The order changes from pair to pair."""
    own, other = [], []
    for pair in range(pairs):
        tell(label, pair, pairs)
        for measured, times in ((ours, own), (rival, other)) if pair % 2 == 0 else ((rival, other), (ours, own)):
            times.append(measured())
    return own, other


def percentile(times, share):
    """By nearest rank: one of the measured times, at most the largest."""
    return sorted(times)[max(0, math.ceil(share * len(times)) - 1)]


def spread(times):
    """Of single runs, in seconds."""
    return {"count": len(times), **{f"p{part}": percentile(times, part / 100) for part in (50, 90, 99)}, "max": max(times)}


def summary(own, other):
    """Ratio above 1: Lanner is faster."""
    ratio, interval = ratio_interval([b / a for a, b in zip(own, other, strict=True)])
    return {
        "ratio": ratio,
        "interval": interval,
        "seconds": statistics.median(own),
        "rival_seconds": statistics.median(other),
        "own_times": own,
        "rival_times": other,
    }
