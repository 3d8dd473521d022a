"""What a module's weights were when an engine was built of them."""

import weakref
from typing import Any

import torch


def is_watchable(tensor: Any) -> bool:
    """Whether a change of it in place can be seen: tensors made in inference mode do not count their changes."""
    return isinstance(tensor, torch.Tensor) and not tensor.is_inference()


class Watch:
    """Sees which weights are other tensors, or were written to, since they were taken note of."""

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
