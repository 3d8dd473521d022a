"""What `tensorflow.contrib` gives: its `tensorrt` alone."""

from typing import NoReturn

from lanner.compat.tensorflow_names.contrib import tensorrt

__all__ = ["tensorrt"]


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(f"tensorflow.contrib.{name}: of tensorflow.contrib there is `tensorrt` alone")
