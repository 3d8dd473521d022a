"""Whether an engine gives what torch gives: what an exporter writes for an operator may mean something else."""

from collections.abc import Sequence
from typing import Any

import torch

from lanner import errors

# What FP32's rounding explains, as a share of the values around an element: kernels add up in another order, and by formulas (Winograd's)
# whose steps are larger than the results. 2^-16 is 128 steps of FP32.
STEPS = 128
# Torch's own distance from float64 is what rounding does to these values in this network: so often it is allowed.
TIMES_TORCHS = 16
# Values that are of one kind, as those of a channel, are at least so many: fewer may all be small by chance.
LEAST_AROUND = 64
# Without a float64 run there is no such measure.
STEPS_ALONE = 1024
# Of values in halves, as a share of the largest one: sums in halves end anywhere near.
HALVES = 0.05
# Of results that are no reals but come of some: how many may differ, as where two scores are equal.
MOST_OTHERS = 0.05


def check(found: Sequence[Any], expected: Sequence[Any], wide: Sequence[Any] | None, halves: bool, exact: bool) -> None:
    """Throws Unsupported where results of an engine are not those of torch.

    expected: torch's own
    wide: the same in float64; None where they cannot be had
    halves: whether kernels may compute in halves
    exact: whether nothing that is computed is a real
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
    """NaN and infinities stand where torch has them."""
    if not torch.equal(found.isnan(), expected.isnan()):
        raise errors.Unsupported("an engine's result has NaN at other places than torch's")
    if not torch.equal(found.isposinf(), expected.isposinf()) or not torch.equal(found.isneginf(), expected.isneginf()):
        raise errors.Unsupported("an engine's result is infinite at other places than torch's")


def check_halves(found: Any, expected: Any) -> None:
    apart, scale = distances(found, expected), magnitudes(expected).max()
    share = float(apart.max() / scale) if scale > 0 else float(apart.max())
    if share > HALVES:
        raise errors.Unsupported(f"an engine's result differs from torch's by {share:.2g} of it, {HALVES:.2g} is the most in halves")


def check_reals(found: Any, expected: Any, wide: Any) -> None:
    """Each element by itself: small values beside large ones, as scores beside the places of boxes, are held to their own rounding."""
    truth = expected if wide is None else wide
    steps = (STEPS_ALONE if wide is None else STEPS) * torch.finfo(expected.dtype).eps
    scale = around(magnitudes(truth))
    allowed = steps * scale + TIMES_TORCHS * around(distances(expected, truth)) + torch.finfo(expected.dtype).tiny
    apart = distances(found, truth)
    over = apart / allowed
    worst = int(over.argmax())
    if float(over.flatten()[worst]) > 1:
        near = float(scale.flatten()[worst])
        share, most = (float(one.flatten()[worst]) / near if near > 0 else float(one.flatten()[worst]) for one in (apart, allowed))
        raise errors.Unsupported(f"an engine's result differs from torch's by {share:.2g} of the values around element {worst}, rounding explains {most:.2g}")


def magnitudes(values: Any) -> Any:
    """What is not finite counts for nothing: where it stands is compared by itself."""
    return torch.nan_to_num(values.double(), nan=0.0, posinf=0.0, neginf=0.0).abs()


def distances(one: Any, other: Any) -> Any:
    finite = one.isfinite() & other.isfinite()
    return torch.where(finite, (one.double() - other.double()).abs(), 0.0)


def around(values: Any) -> Any:
    """Of each element the largest value that shares an index with it, along the dim where that is least; the largest of all where
    no dim has enough of them."""
    least = values.max().expand(values.shape)
    for dim, size in enumerate(values.shape):
        if size > 1 and values.numel() // size >= LEAST_AROUND:
            others = [one for one in range(values.dim()) if one != dim]
            least = torch.minimum(least, values.amax(others, keepdim=True).expand(values.shape))
    return least


class Wide(torch.fx.Interpreter):  # type: ignore[misc]
    """A graph of torch's operators in float64, as far as these have it."""

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
    """The results of a graph on these arguments; None where an operator of it, or the memory, does not do."""
    try:
        with torch.no_grad():
            results = Wide(module).run(*map(widened, arguments))
    except Exception:  # Operators say no in many ways.
        return None
    return list(results) if isinstance(results, (tuple, list)) else [results]
