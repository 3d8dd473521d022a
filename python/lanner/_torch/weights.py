"""Detects changes of a module's weights since an engine was built."""

import weakref
from typing import Any

import torch


def is_watchable(tensor: Any) -> bool:
    """Whether in-place changes can be detected: tensors created in inference mode have no version counter."""
    return isinstance(tensor, torch.Tensor) and not tensor.is_inference()


class Watch:
    """Detects weights that were replaced or written to since note()."""

    def __init__(self, positions: frozenset[int]):
        self.positions = positions
        self._seen: dict[int, tuple[Any, int, int]] = {}

    def note(self, arguments: tuple[Any, ...]) -> None:
        for i in self.positions:
            tensor = arguments[i]
            self._seen[i] = (weakref.ref(tensor), tensor._version, tensor.data_ptr())

    def changed(self, arguments: tuple[Any, ...]) -> list[int]:
        changed = []
        for i, (known, version, address) in self._seen.items():
            tensor = arguments[i]
            if tensor is not known() or tensor._version != version or tensor.data_ptr() != address:
                changed.append(i)
        return changed
