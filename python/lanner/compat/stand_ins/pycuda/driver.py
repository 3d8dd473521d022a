"""The parts of pycuda.driver that scripts around video use.

With CUDA's driver (libcuda.so.1, or the library that LANNER_CUDA_DRIVER names) calls go there. Without one, or without a GPU, there is one
device whose memory is the host's: copies are done when they return, streams and contexts have nothing to wait for.
"""

from typing import Any

import numpy as np

from ._backends import Backend, Error, LogicError, MemoryError, RuntimeError, backend

__all__ = [
    "Context", "Device", "DeviceAllocation", "Error", "Event", "LogicError", "MemoryError", "RuntimeError", "Stream", "ctx_flags", "from_device",
    "from_device_like", "get_driver_version", "get_version", "host_alloc_flags", "init", "mem_alloc", "mem_alloc_like", "mem_get_info", "memcpy_dtod",
    "memcpy_dtod_async", "memcpy_dtoh", "memcpy_dtoh_async", "memcpy_htod", "memcpy_htod_async", "memset_d8", "pagelocked_empty",
    "pagelocked_empty_like", "pagelocked_zeros", "to_device",
]  # fmt: skip

_backend: Backend | None = None


def _driver() -> Backend:
    if _backend is None:
        raise LogicError("pycuda.driver: it was not initialized; call init() first")
    return _backend


def init(flags: int = 0) -> None:
    """Finds the driver; nothing happens the second time."""
    global _backend
    if _backend is None:
        _backend = backend(flags)


def get_version() -> tuple[int, int, int]:
    return (_driver().version() // 1000, _driver().version() % 1000 // 10, 0)


def get_driver_version() -> int:
    return _driver().version()


def mem_get_info() -> tuple[int, int]:
    """Free and total bytes of the current device."""
    return _driver().memory()


class ctx_flags:
    SCHED_AUTO, SCHED_SPIN, SCHED_YIELD, SCHED_BLOCKING_SYNC, MAP_HOST = 0, 1, 2, 4, 8


class host_alloc_flags:
    PORTABLE, DEVICEMAP, WRITECOMBINED = 1, 2, 4


class Context:
    """A context of a device; push() makes it the thread's current one."""

    def __init__(self, handle: int, release: Any) -> None:
        self.handle = handle
        self._release = release

    def push(self) -> None:
        _driver().push(self.handle)

    @staticmethod
    def pop() -> None:
        _driver().pop()

    @staticmethod
    def synchronize() -> None:
        _driver().synchronize()

    @staticmethod
    def get_device() -> "Device":
        return Device(_driver().current_device())

    def detach(self) -> None:
        """Gives the context back; it is not used afterwards."""
        release, self._release = self._release, None
        if release:
            release()


class Device:
    """A GPU by its number; without one number 0 is the host."""

    def __init__(self, number: int) -> None:
        if not 0 <= number < self.count():
            raise LogicError(f"pycuda.driver.Device: no device {number}; there are {self.count()}")
        self.number = number

    @staticmethod
    def count() -> int:
        return _driver().count()

    def name(self) -> str:
        return _driver().name(self.number)

    def total_memory(self) -> int:
        return _driver().total_memory(self.number)

    def compute_capability(self) -> tuple[int, int]:
        return _driver().capability(self.number)

    def retain_primary_context(self) -> Context:
        handle = _driver().retain(self.number)
        return Context(handle, lambda: _driver().release(self.number))

    def make_context(self, flags: int = 0) -> Context:
        """A context of its own, which is the thread's current one then."""
        handle = _driver().create_context(self.number, flags)
        return Context(handle, lambda: _driver().destroy_context(handle))


class Stream:
    """A queue of work; `handle` is its CUstream."""

    def __init__(self, flags: int = 0) -> None:
        self.handle = _driver().create_stream(flags)

    def synchronize(self) -> None:
        _driver().synchronize_stream(self.handle)

    def is_done(self) -> bool:
        return _driver().stream_is_done(self.handle)

    def wait_for_event(self, event: "Event") -> None:
        _driver().wait_for_event(self.handle, event.handle)

    def __del__(self) -> None:
        if _backend is not None and getattr(self, "handle", None):
            _backend.destroy_stream(self.handle)


class Event:
    """A mark in a stream."""

    def __init__(self, flags: int = 0) -> None:
        self.handle = _driver().create_event(flags)

    def record(self, stream: Stream | None = None) -> "Event":
        _driver().record_event(self.handle, _handle(stream))
        return self

    def synchronize(self) -> "Event":
        _driver().synchronize_event(self.handle)
        return self

    def __del__(self) -> None:
        if _backend is not None and getattr(self, "handle", None):
            _backend.destroy_event(self.handle)


class DeviceAllocation:
    """Device memory; `int()` of it is its address. It is freed with the object, or by free()."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise LogicError(f"pycuda.driver.mem_alloc: {size} bytes, expected 1 or more")
        self.size = size
        self._address = _driver().allocate(size)

    def __int__(self) -> int:
        if not self._address:
            raise LogicError("pycuda.driver: the memory was freed")
        return self._address

    __index__ = __int__

    def free(self) -> None:
        address, self._address = int(self), 0
        _driver().free(address)

    def __del__(self) -> None:
        if _backend is not None and getattr(self, "_address", None):
            _backend.free(self._address)


def mem_alloc(bytes: int) -> DeviceAllocation:
    return DeviceAllocation(int(bytes))


def mem_alloc_like(array: np.ndarray) -> DeviceAllocation:
    return mem_alloc(array.nbytes)


def to_device(buffer: Any) -> DeviceAllocation:
    memory = mem_alloc(memoryview(buffer).nbytes)
    memcpy_htod(memory, buffer)
    return memory


def from_device(devptr: Any, shape: Any, dtype: Any, order: str = "C") -> np.ndarray:
    array: np.ndarray = np.empty(shape, dtype, "F" if order == "F" else "C")
    memcpy_dtoh(array, devptr)
    return array


def from_device_like(devptr: Any, other: np.ndarray) -> np.ndarray:
    return from_device(devptr, other.shape, other.dtype)


def _handle(stream: Any) -> int:
    return int(getattr(stream, "handle", stream) or 0)


def _address_of(buffer: Any, writable: bool) -> tuple[int, int]:
    """Address and bytes of host memory that is one piece."""
    array = buffer if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, np.uint8)
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise ValueError("pycuda.driver: expected host memory in one piece, got an array with gaps; copy it first")
    if writable and not array.flags.writeable:
        raise ValueError("pycuda.driver: expected host memory to write to, got read-only memory")
    return array.ctypes.data, array.nbytes


def memcpy_dtoh(dest: Any, src: Any) -> None:
    """Fills a host buffer from device memory."""
    address, size = _address_of(dest, True)
    _driver().copy("DtoH", address, int(src), size)


def memcpy_htod(dest: Any, src: Any) -> None:
    address, size = _address_of(src, False)
    _driver().copy("HtoD", int(dest), address, size)


def memcpy_dtod(dest: Any, src: Any, size: int) -> None:
    _driver().copy("DtoD", int(dest), int(src), size)


def memcpy_dtoh_async(dest: Any, src: Any, stream: Any = None) -> None:
    """Fills a host buffer, which has to be kept until the stream is synchronized."""
    address, size = _address_of(dest, True)
    _driver().copy_async("DtoH", address, int(src), size, _handle(stream))


def memcpy_htod_async(dest: Any, src: Any, stream: Any = None) -> None:
    address, size = _address_of(src, False)
    _driver().copy_async("HtoD", int(dest), address, size, _handle(stream))


def memcpy_dtod_async(dest: Any, src: Any, size: int, stream: Any = None) -> None:
    _driver().copy_async("DtoD", int(dest), int(src), size, _handle(stream))


def memset_d8(dest: Any, data: int, count: int) -> None:
    _driver().fill(int(dest), data, count)


def pagelocked_empty(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> np.ndarray:
    """A host array that a GPU copies to without a detour."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    samples: np.ndarray = np.frombuffer(_driver().page_locked(max(size, 1), mem_flags), np.uint8, size).view(kind)
    return samples.reshape(shape, order="F" if order == "F" else "C")


def pagelocked_zeros(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> np.ndarray:
    array = pagelocked_empty(shape, dtype, order, mem_flags)
    array.fill(0)
    return array


def pagelocked_empty_like(array: np.ndarray, mem_flags: int = 0) -> np.ndarray:
    return pagelocked_empty(array.shape, array.dtype, "C", mem_flags)
