"""Compares an engine's results with torch's, since an exported operator may mean something else."""

from collections.abc import Sequence
from typing import Any

import torch

from lanner import errors

# Rounding error of FP32 relative to the values around an element: kernels sum in another order, and by
# formulas (Winograd's) whose steps are larger than the results. 2^-16 is 128 steps of FP32.
STEPS = 128
# Torch's own distance from float64 measures the rounding of these values in this network: allowed this many
# times.
TIMES_TORCHS = 16
# Minimum number of values of one kind, like those of a channel: fewer may all be small by chance.
MIN_GROUP = 64
# Used instead without a float64 run.
STEPS_ALONE = 1024
# For 16-bit values, relative to the largest one: errors of 16-bit sums vary widely.
HALVES = 0.05
# For integer results computed from reals: share that may differ, as where two scores are equal.
MOST_OTHERS = 0.05


def check(found: Sequence[Any], expected: Sequence[Any], wide: Sequence[Any] | None, halves: bool, exact: bool) -> None:
    """Raises Unsupported where results of an engine differ from torch's.

    expected: torch's own
    wide: the same in float64; None where not available
    halves: whether kernels may compute in 16 bits
    exact: whether no computed value is a real
    """
    for i, (one, other) in enumerate(zip(found, expected, strict=True)):
        if not other.dtype.is_floating_point:
            check_others(one, other, 0.0 if exact else MOST_OTHERS)
        elif other.numel() > 0:
            check_special(one, other)
            if halves or other.dtype in (torch.float16, torch.bfloat16):
                check_halves(one, other)
            else:
                check_reals(one, other, wide[i] if wide is not None else None)


def check_others(found: Any, expected: Any, most: float) -> None:
    share = float((found != expected).double().mean()) if expected.numel() else 0.0
    if share > most:
        raise errors.Unsupported(f"an engine's result differs from torch's in {share:.2g} of its elements, {most:.2g} is the most")


def check_special(found: Any, expected: Any) -> None:
    """NaN and infinities must be at the same indices as torch's."""
    if not torch.equal(found.isnan(), expected.isnan()):
        raise errors.Unsupported("an engine's result has NaN at other indices than torch's")
    if not torch.equal(found.isposinf(), expected.isposinf()) or not torch.equal(found.isneginf(), expected.isneginf()):
        raise errors.Unsupported("an engine's result is infinite at other indices than torch's")


def check_halves(found: Any, expected: Any) -> None:
    apart, scale = distances(found, expected), magnitudes(expected).max()
    share = float(apart.max() / scale) if scale > 0 else float(apart.max())
    if share > HALVES:
        raise errors.Unsupported(f"an engine's result differs from torch's by {share:.2g} of it, {HALVES:.2g} is the most in halves")


def check_reals(found: Any, expected: Any, wide: Any) -> None:
    """Compares element by element: small values among large ones, like scores among box coordinates, are held to their own rounding."""
    reference = expected if wide is None else wide
    steps = (STEPS_ALONE if wide is None else STEPS) * torch.finfo(expected.dtype).eps
    scale = largest_neighbour(magnitudes(reference))
    allowed = steps * scale + TIMES_TORCHS * largest_neighbour(distances(expected, reference)) + torch.finfo(expected.dtype).tiny
    apart = distances(found, reference)
    over = apart / allowed
    worst = int(over.argmax())
    if float(over.flatten()[worst]) > 1:
        near = float(scale.flatten()[worst])
        share, most = (float(one.flatten()[worst]) / near if near > 0 else float(one.flatten()[worst]) for one in (apart, allowed))
        raise errors.Unsupported(f"an engine's result differs from torch's by {share:.2g} of the values around element {worst}, rounding explains {most:.2g}")


def magnitudes(values: Any) -> Any:
    """Absolute values; non-finite ones count as 0, as they are compared separately."""
    return torch.nan_to_num(values.double(), nan=0.0, posinf=0.0, neginf=0.0).abs()


def distances(one: Any, other: Any) -> Any:
    finite = one.isfinite() & other.isfinite()
    return torch.where(finite, (one.double() - other.double()).abs(), 0.0)


def largest_neighbour(values: Any) -> Any:
    """For each element the largest value with a common index, along the dim where that is least; the largest
    of all where no dim has enough of them."""
    least = values.max().expand(values.shape)
    for dim, size in enumerate(values.shape):
        if size > 1 and values.numel() // size >= MIN_GROUP:
            others = [one for one in range(values.dim()) if one != dim]
            least = torch.minimum(least, values.amax(others, keepdim=True).expand(values.shape))
    return least


class Wide(torch.fx.Interpreter):  # type: ignore[misc]
    """Runs a graph of torch operators in float64, as far as they support it."""

    def run_node(self, node: Any) -> Any:
        return widened(super().run_node(node))

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        wide = {torch.float32: torch.float64}

        def doubled(one: Any) -> Any:
            return wide.get(one, one) if isinstance(one, torch.dtype) else one

        return super().call_function(target, torch.utils._pytree.tree_map(doubled, args), torch.utils._pytree.tree_map(doubled, kwargs))


def widened(value: Any) -> Any:
    def one(part: Any) -> Any:
        return part.double() if isinstance(part, torch.Tensor) and part.dtype == torch.float32 else part

    return torch.utils._pytree.tree_map(one, value)


def in_float64(module: Any, arguments: Sequence[Any]) -> list[Any] | None:
    """The results of a graph on these arguments; None where an operator fails or memory runs out."""
    try:
        with torch.no_grad():
            results = Wide(module).run(*map(widened, arguments))
    except Exception:  # Operators raise all kinds of errors.
        return None
    return list(results) if isinstance(results, (tuple, list)) else [results]
