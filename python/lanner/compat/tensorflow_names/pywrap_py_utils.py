"""What `tensorflow.compiler.tf2tensorrt._pywrap_py_utils` gives: TF-TRT is there, as over the last TensorRT that it knew."""

_VERSION = (8, 6, 1)


def is_tensorrt_enabled() -> bool:
    return True


def get_linked_tensorrt_version() -> tuple[int, int, int]:
    return _VERSION


def get_loaded_tensorrt_version() -> tuple[int, int, int]:
    return _VERSION
