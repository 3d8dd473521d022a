"""Whether an engine gives what torch gives: what an exporter writes for an operator may mean something else."""

from typing import Any

import torch

from lanner import errors

# As a share of the largest value. Loose: kernels that torch and Lanner choose add up in another order, in halves too, and what
# an exporter got wrong is off by much more.
TOLERANCE = 0.05
# Of results that are no reals: how many may differ, as where two scores are equal.
MOST_OTHERS = 0.05


def difference(found: Any, expected: Any) -> float:
    """The largest one as a share of the largest value; of integers and truths how many differ. What is not finite for torch counts
    for nothing."""
    if not expected.dtype.is_floating_point:
        return float((found != expected).double().mean())
    finite = torch.isfinite(expected)
    if not bool(finite.any()):
        return 0.0
    scale = expected[finite].abs().max().double()
    apart = (found[finite].double() - expected[finite].double()).abs().max()
    return float(apart / scale) if scale > 0 else float(apart)


def check(found: list[Any], expected: list[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        share = difference(one, other)
        most = TOLERANCE if other.dtype.is_floating_point else MOST_OTHERS
        if not share <= most:
            raise errors.Unsupported(f"an engine's result differs from torch's by {share:.2g} of it, {most:.2g} is the most")
