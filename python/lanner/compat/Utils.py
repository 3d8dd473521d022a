"""The helpers that PyNvVideoCodec's guide and samples call `Utils`."""

import ctypes
import importlib
from typing import Any, NamedTuple

import numpy as np

__all__ = ["AppCAI", "AppFrame", "cast_address_to_1d_bytearray"]


def cast_address_to_1d_bytearray(base_address: int, size: int) -> np.ndarray:
    """Bytes at an address in host memory, without a copy: the object that owns them has to be kept meanwhile."""
    if size < 0 or not base_address:
        raise ValueError(f"cast_address_to_1d_bytearray: {size} bytes at {base_address}, expected an address and 0 or more bytes")
    return np.ctypeslib.as_array(ctypes.cast(int(base_address), ctypes.POINTER(ctypes.c_uint8)), shape=(size,))


class AppCAI:
    """A plane in device memory, by the CUDA array interface. Strides are in bytes."""

    def __init__(self, shape: Any, stride: Any, typestr: str, gpualloc: Any) -> None:
        self.__cuda_array_interface__ = {
            "shape": tuple(int(size) for size in shape),
            "strides": tuple(int(step) for step in stride),
            "data": (int(gpualloc), False),
            "typestr": typestr,
            "version": 3,
        }


class _Layout(NamedTuple):
    """Planes of a format: how many samples of `typestr` lie side by side, and over how many pixels each way."""

    typestr: str
    planes: tuple[tuple[int, int, int], ...]  # samples of a pixel, pixels across, pixels down
    single: bool = False  # cuda() gives the plane itself, not a list


_WHOLE, _PAIRS, _QUARTER = (1, 1, 1), (2, 2, 2), (1, 2, 2)
_LAYOUTS = {
    "NV12": _Layout("|u1", (_WHOLE, _PAIRS)),
    "YUV420": _Layout("|u1", (_WHOLE, _QUARTER, _QUARTER)),
    "YUV444": _Layout("|u1", (_WHOLE, _WHOLE, _WHOLE)),
    "NV16": _Layout("|u1", (_WHOLE, _WHOLE)),
    "P010": _Layout("<u2", (_WHOLE, _PAIRS)),
    "P210": _Layout("<u2", (_WHOLE, _WHOLE)),
    "YUV444_16BIT": _Layout("<u2", (_WHOLE, _WHOLE, _WHOLE)),
    "ARGB": _Layout("|u1", ((4, 1, 1),), single=True),
    "ABGR": _Layout("|u1", ((4, 1, 1),), single=True),
}
_OTHER_NAMES = {"YUV420_10BIT": "P010", "YUV444_10BIT": "YUV444_16BIT", "IYUV": "YUV420", "ARGB10": "ARGB", "ABGR10": "ABGR"}


class AppFrame:
    """Device memory of a frame, with a plane's array interface for each plane: what Encode() takes by `cuda()`.

    Without a GPU the stand-in for pycuda gives host memory.
    """

    def __init__(self, width: int, height: int, format: str) -> None:
        layout = _LAYOUTS.get(_OTHER_NAMES.get(format, format))
        if layout is None:
            raise ValueError(f"AppFrame: format '{format}' is not one of {', '.join([*_LAYOUTS, *_OTHER_NAMES])}")
        if width < 1 or height < 1:
            raise ValueError(f"AppFrame: a frame of {width}x{height}, expected pixels")
        sample = int(layout.typestr[2:])
        planes, offsets, self.frameSize = [], [], 0
        for samples, across, down in layout.planes:
            shape = (-(-height // down), -(-width // across), samples)
            planes.append((shape, (shape[1] * samples * sample, samples * sample, sample)))
            offsets.append(self.frameSize)
            self.frameSize += shape[0] * planes[-1][1][0]
        self.gpuAlloc = _driver().mem_alloc(self.frameSize)
        views = [AppCAI(shape, stride, layout.typestr, int(self.gpuAlloc) + offset) for (shape, stride), offset in zip(planes, offsets, strict=True)]
        self.cai = views[0] if layout.single else views

    def cuda(self) -> Any:
        return self.cai


def _driver() -> Any:
    """pycuda's driver where it is installed, else the stand-in; its context is made current."""
    try:
        importlib.import_module("pycuda.autoinit")
        return importlib.import_module("pycuda.driver")
    except ImportError:
        importlib.import_module("lanner.compat.stand_ins.pycuda.autoinit")
        return importlib.import_module("lanner.compat.stand_ins.pycuda.driver")
