"""Operators in parts, where torch's exporter does not know them, or not in every form."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch

# Normalization by statistics of the input: the exporter knows the form without training alone.
BY_TORCH = ("_native_batch_norm_legit", "_native_batch_norm_legit_functional", "_batch_norm_with_update_functional", "native_batch_norm")


def var_mean(x: Any, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False) -> tuple[Any, Any]:
    dims = list(dim) if dim else list(range(x.dim()))
    count = math.prod(x.shape[one] for one in dims)
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    mean = wide.mean(dims, keepdim=True)
    freedom = count - (1 if correction is None else correction)
    variance = (wide - mean).square().sum(dims, keepdim=keepdim) / freedom
    if not keepdim:
        mean = mean.squeeze(dims)
    return variance.to(x.dtype), mean.to(x.dtype)


def var(x: Any, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    return var_mean(x, dim, correction=correction, keepdim=keepdim)[0]


@functools.cache
def table() -> Any:
    """As torch's tracing takes it."""
    aten = torch.ops.aten
    made = torch._decomp.get_decompositions([getattr(aten, name) for name in BY_TORCH if hasattr(aten, name)])
    return {**made, aten.var_mean.correction: var_mean, aten.var.correction: var}
