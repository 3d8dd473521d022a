"""Memory layouts of torch tensors, and their names in Lanner."""

from typing import Any

import torch


def order_of(tensor: Any) -> tuple[int, ...] | None:
    """Its dims from the outermost in memory to the innermost, where they fill it without gaps; else None."""
    if tensor.is_contiguous():
        return tuple(range(tensor.dim()))
    strides = tensor.stride()
    order = tuple(sorted(range(tensor.dim()), key=lambda dim: (-strides[dim], dim)))
    return order if tensor.permute(order).is_contiguous() else None


def storage_of(order: tuple[int, ...]) -> str:
    """The order in the form of lanner.build: "acdb"."""
    return "".join(chr(ord("a") + dim) for dim in order)


def is_plain(order: tuple[int, ...]) -> bool:
    return order == tuple(range(len(order)))


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(order.index(dim) for dim in range(len(order)))


def laid(tensor: Any, order: tuple[int, ...]) -> Any:
    """The tensor in this order; itself if it already is."""
    if is_plain(order):
        return tensor.contiguous()
    return tensor.permute(order).contiguous().permute(inverse(order))


def empty(shape: tuple[int, ...], order: tuple[int, ...], dtype: Any, device: Any) -> Any:
    memory = torch.empty([shape[dim] for dim in order], dtype=dtype, device=device)
    return memory if is_plain(order) else memory.permute(inverse(order))


def like(tensor: Any, wanted: Any) -> Any:
    """The tensor with the strides of `wanted`, which torch's next operator may rely on."""
    if tensor.stride() == wanted.stride() or any(size > 1 and stride == 0 for size, stride in zip(wanted.shape, wanted.stride(), strict=True)):
        return tensor
    return torch.empty_strided(wanted.shape, wanted.stride(), dtype=tensor.dtype, device=tensor.device).copy_(tensor)


class Lent:
    """Passes a tensor to Lanner for one run on torch's own stream, without synchronisation."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any):
        self.tensor = tensor

    def __dlpack__(self, **_: object) -> Any:
        return torch.utils.dlpack.to_dlpack(self.tensor)
