"""Decompositions of operators that torch's exporter does not support, or not in every form."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch

# Normalisation by statistics of the input: the exporter supports only the form for inference.
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


def attention(query: Any, key: Any, value: Any, bias: Any, is_causal: bool, scale: float | None) -> Any:
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        unseen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).triu(1)
        scores = scores.masked_fill(unseen, float("-inf"))
    return torch.softmax(scores if bias is None else scores + bias, -1) @ value


def _unread(like: Any, count: int) -> tuple[Any, ...]:
    """Placeholders for results that only training reads."""
    return tuple(like.new_zeros(0) for _ in range(count))


# Torch's attention operators on a GPU; which one it uses depends on types and sizes.
def efficient_attention(query: Any, key: Any, value: Any, attn_bias: Any, _: bool, dropout_p: float = 0, is_causal: bool = False, *, scale: float | None = None) -> Any:
    return attention(query, key, value, attn_bias, is_causal, scale), *_unread(query, 3)


def flash_attention(query: Any, key: Any, value: Any, dropout_p: float = 0, is_causal: bool = False, _: bool = False, *, scale: float | None = None) -> Any:
    return attention(query, key, value, None, is_causal, scale), *_unread(query, 3), query.shape[-2], key.shape[-2], *_unread(query, 3)


def cudnn_attention(
    query: Any, key: Any, value: Any, attn_bias: Any, _: bool, dropout_p: float = 0, is_causal: bool = False, __: bool = False, *, scale: float | None = None
) -> Any:
    return attention(query, key, value, attn_bias, is_causal, scale), *_unread(query, 3), query.shape[-2], key.shape[-2], *_unread(query, 3)


def _attentions() -> dict[Any, Any]:
    named = {
        "_scaled_dot_product_efficient_attention": efficient_attention,
        "_scaled_dot_product_flash_attention": flash_attention,
        "_scaled_dot_product_cudnn_attention": cudnn_attention,
    }
    return {getattr(torch.ops.aten, name).default: made for name, made in named.items() if hasattr(torch.ops.aten, name)}


@functools.cache
def table() -> Any:
    """The table in the form that torch's tracing expects."""
    aten = torch.ops.aten
    made = torch._decomp.get_decompositions([getattr(aten, name) for name in BY_TORCH if hasattr(aten, name)])
    return {**made, **_attentions(), aten.var_mean.correction: var_mean, aten.var.correction: var}
