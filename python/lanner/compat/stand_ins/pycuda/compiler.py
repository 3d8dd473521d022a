"""What scripts import from pycuda.compiler."""


class SourceModule:
    """Kernels from source: not part of this stand-in."""

    def __init__(self, *_: object, **__: object) -> None:
        raise NotImplementedError("pycuda.compiler.SourceModule: this stand-in compiles no kernels; install pycuda: pip install pycuda")
