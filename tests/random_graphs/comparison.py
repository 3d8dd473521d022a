"""Whether two results agree within the effect of rounding."""

import numpy

from random_graphs.inner import PRECISION, distance
from random_graphs.values import BF16, DTYPE, F16, F32, F64

# Relative to the number, and to the largest of the result where that is below one.
RELATIVE = {F32: 4e-6, F64: 1e-14, F16: 2e-3, BF16: 1.6e-2}
SLACK = 12


def difference(expected: numpy.ndarray, got: numpy.ndarray, precision: str, spread: numpy.ndarray | None = None) -> str:
    """The difference in one line, or an empty string. `spread`: from inner.spread; without it only a small difference passes."""
    expected, got = numpy.asarray(expected), numpy.asarray(got)
    if expected.dtype != got.dtype:
        return f"type {got.dtype}, expected {expected.dtype}"
    if expected.shape != got.shape:
        return f"shape {list(got.shape)}, expected {list(expected.shape)}"
    apart = distance(expected, got)
    wrong = apart > tolerance(expected, precision, spread)
    if not wrong.any():
        return ""
    place = tuple(int(i) for i in numpy.unravel_index(numpy.argmax(numpy.where(wrong, apart, -1)), wrong.shape))
    moved = "" if spread is None else f", rounding moves it by {spread[place]:.3g}"
    return f"values: {got[place]} at {list(place)}, expected {expected[place]}{moved}; {int(wrong.sum())} of {wrong.size} wrong"


def tolerance(expected: numpy.ndarray, precision: str, spread: numpy.ndarray | None) -> numpy.ndarray:
    slack = numpy.zeros(expected.shape) if spread is None else SLACK * spread
    if DTYPE.get(expected.dtype) not in RELATIVE:
        return numpy.where(slack > 0, numpy.inf, 0.0)
    relative = max(RELATIVE[DTYPE[expected.dtype]], 2 * PRECISION[precision])
    size = numpy.abs(numpy.nan_to_num(expected.astype(numpy.float64), posinf=0, neginf=0))
    return relative * (size + min(1.0, size.max(initial=1e-30))) + slack
