"""`import lanner.torch`: torch.compile(model, backend="lanner").

An installed package tells torch of itself, so the import is needed only where Lanner runs from a build folder. See docs/pytorch.md.
"""

import torch

from lanner._torch.backend import lanner as backend

__all__ = ["backend"]

if "lanner" not in torch._dynamo.list_backends(exclude_tags=()):
    torch._dynamo.register_backend(backend, name="lanner")
