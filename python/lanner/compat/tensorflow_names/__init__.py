"""TF-TRT's modules under TensorFlow's names, for scripts that run by `python -m lanner.compat`.

`tensorflow.python.compiler.tensorrt.trt_convert`, and with it `tensorflow.experimental.tensorrt`, which takes its names from
there, and `tensorflow.contrib.tensorrt` become modules of this package. When TensorFlow is imported, the operators of
converted models are registered with it, so that they load and run.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import lanner

_HERE = __name__
TARGETS = {
    "tensorflow.python.compiler.tensorrt.trt_convert": "lanner.compat.trt_convert",
    "tensorflow.compiler.tf2tensorrt._pywrap_py_utils": f"{_HERE}.pywrap_py_utils",
    "tensorflow.contrib": f"{_HERE}.contrib",
    "tensorflow.contrib.tensorrt": f"{_HERE}.contrib.tensorrt",
}


class _Alias(importlib.abc.Loader):
    """Loads a module by giving another one."""

    def __init__(self, target: str) -> None:
        self._target = target

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(self._target)


class _Followed(importlib.abc.Loader):
    """The loader of a module, and what is done after it."""

    def __init__(self, loader: Any, then: Callable[[ModuleType], None]) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__.loader = module.__loader__ = self._loader  # type: ignore[union-attr]
        self._loader.exec_module(module)
        self._then(module)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, tf1: bool) -> None:
        self._tf1 = tf1

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if name in TARGETS:
            return importlib.machinery.ModuleSpec(name, _Alias(TARGETS[name]), is_package=name == "tensorflow.contrib")
        if name == "tensorflow":
            spec = importlib.machinery.PathFinder.find_spec(name, path)
            if spec is not None and spec.loader is not None:
                spec.loader = _Followed(spec.loader, self._after_tensorflow)
            return spec
        return None

    def _after_tensorflow(self, module: ModuleType) -> None:
        from lanner.compat.trt_convert import functions, logs

        try:
            functions.register_operators()
        except lanner.Error as error:  # a script may not need them
            logs.warn(f"converted models do not run in this TensorFlow: {error}")
        if self._tf1:
            from lanner.compat.tensorflow_names import tf1

            tf1.present(module)


def install(*, tf1: bool = False) -> None:
    """Gives TF-TRT's modules TensorFlow's names, where TensorFlow is installed.

    tf1: `import tensorflow` gives tensorflow.compat.v1, with tensorflow.contrib.tensorrt, in graph mode
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    finder = _Finder(tf1)
    sys.meta_path.insert(0, finder)
    loaded = sys.modules.get("tensorflow")
    if loaded is None:
        return
    for name, target in TARGETS.items():
        parent, _, child = name.rpartition(".")
        if name in sys.modules:
            sys.modules[name] = importlib.import_module(target)
            setattr(sys.modules[parent], child, sys.modules[name])
    from lanner.compat import trt_convert

    loaded.experimental.tensorrt.Converter = trt_convert.TrtGraphConverterV2
    loaded.experimental.tensorrt.ConversionParams = trt_convert.TrtConversionParams
    finder._after_tensorflow(loaded)
