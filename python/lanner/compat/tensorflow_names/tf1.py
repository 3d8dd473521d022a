"""`import tensorflow` as TensorFlow 1: tensorflow.compat.v1 in graph mode, with tensorflow.contrib.tensorrt."""

import importlib
import sys
from types import ModuleType
from typing import Any

from lanner.compat.trt_convert import converter_v1


class _TensorFlow1(ModuleType):
    """Names of tensorflow.compat.v1, then those of tensorflow, submodules included."""

    def __init__(self, module: ModuleType, v1: ModuleType) -> None:
        super().__init__("tensorflow", v1.__doc__)
        for name in ("__path__", "__file__", "__spec__", "__loader__", "__package__"):
            setattr(self, name, getattr(module, name))
        self._modules = (v1, module)

    def __getattr__(self, name: str) -> Any:
        if name == "contrib":
            return importlib.import_module("tensorflow.contrib")
        for module in self._modules:
            try:
                return getattr(module, name)
            except AttributeError:
                continue
        if f"tensorflow.{name}" in sys.modules:
            return sys.modules[f"tensorflow.{name}"]
        raise AttributeError(f"tensorflow.{name}: neither tensorflow.compat.v1 nor tensorflow has it")

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._modules[0]), "contrib"})


def present(module: ModuleType) -> None:
    """Makes `import tensorflow` give TensorFlow 1's names, in graph mode; engines are called TRTEngineOp_0."""
    v1 = importlib.import_module("tensorflow.compat.v1")
    shown = v1.logging.get_verbosity()
    v1.logging.set_verbosity(v1.logging.ERROR)  # it warns that the variables of TensorFlow 1 are deprecated
    v1.disable_v2_behavior()
    v1.logging.set_verbosity(shown)
    converter_v1.default_names = "1.x"
    sys.modules["tensorflow"] = _TensorFlow1(module, v1)
