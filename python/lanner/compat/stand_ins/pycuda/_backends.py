"""Who does the work of pycuda.driver: CUDA's driver, or the host alone."""

import builtins
import ctypes
import os
from typing import Any


class Error(Exception):
    """The base of pycuda's errors."""


class LogicError(Error):
    """A call that makes no sense."""


class MemoryError(Error):  # noqa: A001 - pycuda's name
    """The device has no memory left."""


class RuntimeError(Error):  # noqa: A001 - pycuda's name
    """A call that failed."""


class HostBackend:
    """One device whose memory is the host's."""

    _context = 1  # No address, and not null: scripts hand handles on.

    def __init__(self) -> None:
        self._memory: dict[int, Any] = {}
        self._stack: list[int] = []
        self._handles = 1

    def version(self) -> int:
        return 12000

    def count(self) -> int:
        return 1

    def name(self, _: int) -> str:
        return "host memory (no GPU)"

    def total_memory(self, _: int) -> int:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

    def memory(self) -> tuple[int, int]:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"), self.total_memory(0)

    def capability(self, _: int) -> tuple[int, int]:
        return (0, 0)

    def retain(self, _: int) -> int:
        return self._context

    def release(self, _: int) -> None:
        return

    def create_context(self, _: int, __: int) -> int:
        self.push(self._context)
        return self._context

    def destroy_context(self, _: int) -> None:
        return

    def push(self, handle: int) -> None:
        self._stack.append(handle)

    def pop(self) -> None:
        if not self._stack:
            raise LogicError("pycuda.driver.Context.pop: no context is current")
        self._stack.pop()

    def current_device(self) -> int:
        return 0

    def synchronize(self) -> None:
        return

    def create_stream(self, _: int) -> int:
        self._handles += 1
        return self._handles

    create_event = create_stream

    def destroy_stream(self, _: int) -> None:
        return

    destroy_event = synchronize_stream = synchronize_event = destroy_stream

    def stream_is_done(self, _: int) -> bool:
        return True

    def wait_for_event(self, _: int, __: int) -> None:
        return

    record_event = wait_for_event

    def allocate(self, size: int) -> int:
        try:
            memory = (ctypes.c_uint8 * size)()
        except (builtins.MemoryError, OverflowError) as error:
            raise MemoryError(f"pycuda.driver.mem_alloc: {size} bytes were refused by the system") from error
        address = ctypes.addressof(memory)
        self._memory[address] = memory
        return address

    def free(self, address: int) -> None:
        if self._memory.pop(address, None) is None:
            raise LogicError(f"pycuda.driver: no memory begins at {address:#x}")

    def copy(self, _: str, dest: int, src: int, size: int) -> None:
        if not dest or not src:
            raise LogicError(f"pycuda.driver: a copy from {src:#x} to {dest:#x}, expected addresses of memory")
        ctypes.memmove(dest, src, size)

    def copy_async(self, kind: str, dest: int, src: int, size: int, _: int) -> None:
        self.copy(kind, dest, src, size)

    def fill(self, dest: int, value: int, count: int) -> None:
        if not dest:
            raise LogicError("pycuda.driver.memset_d8: expected the address of memory, got 0")
        ctypes.memset(dest, value, count)

    def page_locked(self, size: int, _: int) -> Any:
        return (ctypes.c_uint8 * size)()


class CudaBackend:
    """Calls of CUDA's driver; a pointer is what its ABI calls one."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status == 0:
            return
        text = ctypes.c_char_p()
        self._library.cuGetErrorName(status, ctypes.byref(text))
        line = f"{name} failed: {text.value.decode() if text.value else status}"
        raise (MemoryError if status == 2 else LogicError if status in (1, 101, 201, 400, 709) else RuntimeError)(line)

    def _number(self, name: str, *arguments: Any) -> int:
        value = ctypes.c_int()
        self._call(name, ctypes.byref(value), *arguments)
        return value.value

    def _handle(self, name: str, *arguments: Any) -> int:
        value = ctypes.c_void_p()
        self._call(name, ctypes.byref(value), *arguments)
        return value.value or 0

    def _device(self, number: int) -> ctypes.c_int:
        return ctypes.c_int(self._number("cuDeviceGet", ctypes.c_int(number)))

    def version(self) -> int:
        return self._number("cuDriverGetVersion")

    def count(self) -> int:
        return self._number("cuDeviceGetCount")

    def name(self, number: int) -> str:
        text = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", text, ctypes.c_int(len(text)), self._device(number))
        return text.value.decode(errors="replace")

    def total_memory(self, number: int) -> int:
        size = ctypes.c_size_t()
        self._call("cuDeviceTotalMem_v2", ctypes.byref(size), self._device(number))
        return size.value

    def memory(self) -> tuple[int, int]:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def capability(self, number: int) -> tuple[int, int]:
        major, minor = (self._number("cuDeviceGetAttribute", ctypes.c_int(which), self._device(number)) for which in (75, 76))
        return (major, minor)

    def retain(self, number: int) -> int:
        return self._handle("cuDevicePrimaryCtxRetain", self._device(number))

    def release(self, number: int) -> None:
        self._call("cuDevicePrimaryCtxRelease_v2", self._device(number))

    def create_context(self, number: int, flags: int) -> int:
        return self._handle("cuCtxCreate_v2", ctypes.c_uint(flags), self._device(number))

    def destroy_context(self, handle: int) -> None:
        self._call("cuCtxDestroy_v2", ctypes.c_void_p(handle))

    def push(self, handle: int) -> None:
        self._call("cuCtxPushCurrent_v2", ctypes.c_void_p(handle))

    def pop(self) -> None:
        self._handle("cuCtxPopCurrent_v2")

    def current_device(self) -> int:
        return self._number("cuCtxGetDevice")

    def synchronize(self) -> None:
        self._call("cuCtxSynchronize")

    def create_stream(self, flags: int) -> int:
        return self._handle("cuStreamCreate", ctypes.c_uint(flags))

    def destroy_stream(self, handle: int) -> None:
        self._library.cuStreamDestroy_v2(ctypes.c_void_p(handle))

    def synchronize_stream(self, handle: int) -> None:
        self._call("cuStreamSynchronize", ctypes.c_void_p(handle))

    def stream_is_done(self, handle: int) -> bool:
        return bool(self._library.cuStreamQuery(ctypes.c_void_p(handle)) == 0)

    def wait_for_event(self, stream: int, event: int) -> None:
        self._call("cuStreamWaitEvent", ctypes.c_void_p(stream), ctypes.c_void_p(event), ctypes.c_uint(0))

    def create_event(self, flags: int) -> int:
        return self._handle("cuEventCreate", ctypes.c_uint(flags))

    def destroy_event(self, handle: int) -> None:
        self._library.cuEventDestroy_v2(ctypes.c_void_p(handle))

    def record_event(self, event: int, stream: int) -> None:
        self._call("cuEventRecord", ctypes.c_void_p(event), ctypes.c_void_p(stream))

    def synchronize_event(self, handle: int) -> None:
        self._call("cuEventSynchronize", ctypes.c_void_p(handle))

    def allocate(self, size: int) -> int:
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def free(self, address: int) -> None:
        self._library.cuMemFree_v2(ctypes.c_uint64(address))

    def copy(self, kind: str, dest: int, src: int, size: int) -> None:
        self.copy_async(kind, dest, src, size, 0)
        self.synchronize_stream(0)

    def copy_async(self, kind: str, dest: int, src: int, size: int, stream: int) -> None:
        name = {"DtoH": "cuMemcpyDtoHAsync_v2", "HtoD": "cuMemcpyHtoDAsync_v2", "DtoD": "cuMemcpyAsync"}[kind]
        self._call(name, ctypes.c_uint64(dest), ctypes.c_uint64(src), ctypes.c_size_t(size), ctypes.c_void_p(stream))

    def fill(self, dest: int, value: int, count: int) -> None:
        self._call("cuMemsetD8Async", ctypes.c_uint64(dest), ctypes.c_ubyte(value), ctypes.c_size_t(count), ctypes.c_void_p(0))
        self.synchronize_stream(0)

    def page_locked(self, size: int, flags: int) -> Any:
        library, address = self._library, self._handle("cuMemHostAlloc", ctypes.c_size_t(size), ctypes.c_uint(flags))

        class PageLocked(ctypes.c_uint8 * size):  # type: ignore[misc]
            """Given back when the last array over it is gone."""

            def __del__(self) -> None:
                library.cuMemFreeHost(ctypes.c_void_p(address))

        return PageLocked.from_address(address)


Backend = HostBackend | CudaBackend


def backend(flags: int) -> Backend:
    try:
        library = ctypes.CDLL(os.environ.get("LANNER_CUDA_DRIVER") or "libcuda.so.1")
        made = CudaBackend(library)
        if library.cuInit(ctypes.c_uint(flags)) == 0 and made.count() > 0:
            return made
    except (OSError, AttributeError, Error):  # There is no driver, or none that answers.
        pass
    return HostBackend()
