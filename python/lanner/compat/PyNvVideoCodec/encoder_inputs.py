"""Pictures that Encode() takes, as the samples that lanner.Encoder is given."""

import contextlib
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import lanner
from lanner.compat.PyNvVideoCodec.arguments import shown
from lanner.compat.PyNvVideoCodec.devices import DeviceChoice
from lanner.compat.PyNvVideoCodec.encoder_formats import SurfaceFormat
from lanner.compat.PyNvVideoCodec.errors import PyNvVCException
from lanner.compat.PyNvVideoCodec.frame import DecodedFrame
from lanner.compat.stand_ins.pycuda import _backends as cuda

_ON_HOST = (1,)  # kDLCPU of dlpack.h.
_ON_GPU = (2, 13)  # kDLCUDA, kDLCUDAManaged.
_LEGACY_STREAM = 1  # Of the CUDA array interface.
_WIDEST_PITCH = 2**28


class _Rows(NamedTuple):
    """Rows of bytes in memory."""

    address: int
    rows: int
    row: int  # bytes of a row
    pitch: int  # bytes from a row to the next
    stream: int  # 0: none

    def interface(self) -> dict[str, Any]:
        return {"version": 3, "shape": (self.rows, self.row), "strides": (self.pitch, 1), "typestr": "|u1", "data": (self.address, False)}


class _OnHost:
    """Rows in host memory; `owner` keeps them."""

    def __init__(self, rows: _Rows, owner: Any) -> None:
        self.__array_interface__ = rows.interface()
        self._owner = owner


@functools.cache
def _driver() -> cuda.Backend:
    return cuda.backend(0)


@contextlib.contextmanager
def _context(device: DeviceChoice) -> Iterator[cuda.Backend]:
    """CUDA's driver with a context: the encoder's, else the one that is current, else the primary one, which stays for the process."""
    driver = _driver()
    pushed = device.context
    if not pushed:
        try:
            driver.memory()  # Fails where no context is current.
        except cuda.Error:
            pushed = _primary(device.gpu or 0)
    if pushed:
        driver.push(pushed)
    try:
        yield driver
    finally:
        if pushed:
            driver.pop()


@functools.cache
def _primary(gpu: int) -> int:
    return _driver().retain(gpu)


def _from_gpu(rows: _Rows, device: DeviceChoice) -> Any:
    """Behind what its stream, or the encoder's, was given so far."""
    host, stream = np.empty((rows.rows, rows.pitch), np.uint8), rows.stream or device.stream
    try:
        with _context(device) as driver:
            if stream not in (0, _LEGACY_STREAM):  # The copy waits for that one.
                driver.synchronize_stream(stream)
            driver.copy("DtoH", host.ctypes.data, rows.address, (rows.rows - 1) * rows.pitch + rows.row)
    except cuda.Error as error:
        raise PyNvVCException(f"Encode: {rows.rows} rows at {rows.address:#x} could not be read from the GPU: {error}") from error
    return host[:, : rows.row].reshape(-1)


class _OnGpu:
    """Rows in a GPU's memory; `owner` keeps them."""

    def __init__(self, rows: _Rows, owner: Any) -> None:
        self.__cuda_array_interface__ = rows.interface() | {"stream": rows.stream or None}
        self._owner = owner


class Inputs:
    """Turns what Encode() is given into bytes of the surface format, in host memory; those in device memory stay there where the GPU encodes.

    on_host: pictures lie in host memory, else in device memory, which is host memory on a machine without a GPU
    color: matrix that YUV samples are of, empty where it is not told
    by_gpu: NVENC encodes
    range: range of YUV samples, limited or full
    """

    def __init__(
        self, format: SurfaceFormat, size: tuple[int, int], device: DeviceChoice, on_host: bool, by_gpu: bool, color: str, range: str
    ) -> None:
        self._format, self.size, self._device, self._on_host, self._color, self._range = format, size, device, on_host, color, range
        # Words of 10 bits are unpacked on the host, and samples get their matrix there.
        self._stays = by_gpu and not on_host and format.sample < 4 and not (color and format.is_yuv)

    def take(self, frame: Any) -> Any:
        """What lanner.Encoder.send() takes."""
        if self._stays:
            return self._of_device(frame)
        samples = self._of_host(frame) if self._on_host else self._of_device(frame)
        if not (self._color and self._format.is_yuv):
            return samples
        if not self._format.pixel:  # YV12: V comes before U.
            luma, second, third = np.split(samples, np.cumsum([rows * row for rows, row in self._format.plane_sizes(*self.size)])[:-1])
            samples = np.concatenate([luma, third, second])
        name = self._format.pixel or "yuv420p"
        return lanner.Image.from_contiguous(samples, name, *self.size, color_space=self._color, color_range=self._range)

    def _expected(self) -> str:
        width, height = self.size
        return f"{self._format.frame_bytes(width, height)} bytes of {self._format.name} {width}x{height}"

    def _of_host(self, frame: Any) -> Any:
        if isinstance(frame, DecodedFrame) and frame._device_memory:
            raise PyNvVCException("Encode: a DecodedFrame in device memory, but usecpuinputbuffer=True declares host memory; pass False")
        if isinstance(frame, bytes | bytearray):
            return self._flat(np.frombuffer(frame, np.uint8))
        device = _device_of(frame)
        if device in _ON_GPU or (device is None and not hasattr(frame, "__array_interface__") and _has_planes(frame)):
            raise PyNvVCException(f"Encode: {_kind(frame)} lies in device memory, but usecpuinputbuffer=True declares host memory; pass False")
        if hasattr(frame, "__array_interface__"):
            return self._flat(np.asarray(frame))
        if device in _ON_HOST:
            return self._flat(np.from_dlpack(frame))
        try:
            return self._flat(np.asarray(memoryview(frame)))
        except TypeError:
            raise TypeError(f"Encode: {shown(frame)} is of the wrong type; expected {self._expected()}, as an array or as bytes") from None

    def _flat(self, array: Any) -> Any:
        """Samples in one dimension."""
        words = {1: "u1", 2: "u1 u2", 4: "u1 u4"}[self._format.sample].split()
        if array.dtype.str[1:] not in words or not array.dtype.isnative:
            kinds = " or ".join(f"uint{8 * int(word[1])}" for word in words)
            raise PyNvVCException(f"Encode: samples of {array.dtype}, expected {self._expected()}, as {kinds}")
        if array.nbytes != self._format.frame_bytes(*self.size):
            raise PyNvVCException(f"Encode: {array.nbytes} bytes, shape {list(array.shape)}, expected {self._expected()}")
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8)

    def _of_device(self, frame: Any) -> Any:
        if isinstance(frame, DecodedFrame) and not frame._device_memory:
            raise self._host_memory("a DecodedFrame of usedevicememory=False")
        if not isinstance(frame, DecodedFrame) and not hasattr(frame, "__cuda_array_interface__"):
            device = _device_of(frame)
            if device in _ON_GPU and self._stays:
                return frame
            if device in _ON_GPU:
                return self._flat(lanner.Tensor(frame).to("cpu").numpy())
            if device is not None or isinstance(frame, bytes | bytearray | memoryview) or hasattr(frame, "__array_interface__"):
                raise self._host_memory(_kind(frame))
            if not callable(getattr(frame, "cuda", None)):
                wanted = "an object with cuda(), __cuda_array_interface__ or __dlpack__ of device memory"
                raise TypeError(f"Encode: {shown(frame)} is of the wrong type; expected {wanted}")
        planes = [frame] if hasattr(frame, "__cuda_array_interface__") else frame.cuda()
        if not isinstance(planes, Sequence):
            planes = [planes]
        rows = [_rows_of(plane) for plane in planes]
        self._check(rows)
        if self._stays and self._has_planes_in(rows):
            return [_OnGpu(one, (frame, plane)) for one, plane in zip(rows, planes, strict=True)]
        return np.concatenate([self._copied(one, (frame, plane)) for one, plane in zip(rows, planes, strict=True)])

    def _host_memory(self, what: str) -> PyNvVCException:
        return PyNvVCException(f"Encode: {what} lies in host memory, but usecpuinputbuffer=False declares device memory; pass True")

    def _check(self, rows: list[_Rows]) -> None:
        """One array for each plane, or one of all."""
        wanted = self._format.plane_sizes(*self.size)
        fits = [(one.rows, one.row) for one in rows] == wanted
        if not fits and len(rows) == 1:
            fits = rows[0].rows * rows[0].row == self._format.frame_bytes(*self.size)
        if not fits:
            found, planes = (", ".join(f"{height} x {row}" for height, row in sizes) for sizes in ([(one.rows, one.row) for one in rows], wanted))
            raise PyNvVCException(f"Encode: planes of {found} bytes, expected {planes}, or one array of all: {self._expected()}")

    def _has_planes_in(self, rows: list[_Rows]) -> bool:
        """Whether each plane has rows of its own there."""
        lengths = {row for _, row in self._format.plane_sizes(*self.size)}
        return len(rows) > 1 or rows[0].pitch == rows[0].row or lengths == {rows[0].row}

    def _copied(self, rows: _Rows, owner: Any) -> Any:
        if self._device.gpu is None:
            return np.array(_OnHost(rows, owner)).reshape(-1)
        return _from_gpu(rows, self._device)


def _kind(frame: Any) -> str:
    return f"an object of type {type(frame).__name__}"


def _has_planes(frame: Any) -> bool:
    return hasattr(frame, "__cuda_array_interface__") or callable(getattr(frame, "cuda", None))


def _device_of(frame: Any) -> int | None:
    """DLPack's number of its kind of device; None where it has no DLPack."""
    if not hasattr(frame, "__dlpack__") or not hasattr(frame, "__dlpack_device__"):
        return None
    return int(frame.__dlpack_device__()[0])


def _rows_of(plane: Any) -> _Rows:
    """By its CUDA array interface: rows that may have gaps between them, and none inside."""
    facts = getattr(plane, "__cuda_array_interface__", None)
    if not isinstance(facts, dict):
        raise TypeError(f"Encode: {_kind(plane)} has no __cuda_array_interface__, which a plane in device memory needs")
    try:
        shape = [int(size) for size in facts["shape"]]
        sample, address = int(facts["typestr"][2:]), int(facts["data"][0])
        strides = [int(step) for step in facts.get("strides") or _dense(shape, sample)]
    except (KeyError, TypeError, ValueError, IndexError):
        raise TypeError(f"Encode: {_kind(plane)} has no CUDA array interface with shape, typestr and data") from None
    if len(shape) == 4 and shape[:2] == [1, 1]:
        shape, strides = shape[2:], strides[2:]
    if len(shape) == 1:
        shape, strides = [1, *shape], [shape[0] * sample, *strides]
    inner = _dense(shape, sample)[1:]
    # Strides inside a row come in samples too: so PyNvVideoCodec's own AppFrame of P010 has them.
    is_dense = len(strides) == len(shape) and all(
        size == 1 or step in (wide, wide // sample) for size, step, wide in zip(shape[1:], strides[1:], inner, strict=True)
    )
    row = sample * math.prod(shape[1:])
    fits = 0 < address < 2**63 and shape[0] > 0 and row > 0 and (row <= strides[0] <= _WIDEST_PITCH or shape[0] == 1)
    if not (fits and is_dense):
        raise PyNvVCException(f"Encode: a plane of shape {shape} and strides {strides} at {address:#x}, expected rows of samples without gaps inside")
    stream = facts.get("stream")
    return _Rows(address, shape[0], row, max(strides[0], row), stream if isinstance(stream, int) else 0)


def _dense(shape: list[int], sample: int) -> list[int]:
    """Strides in bytes, without gaps."""
    steps, step = [], sample
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return steps[::-1]
