"""Where frames are decoded and where they lie."""

import functools
from typing import Any, NamedTuple

import numpy as np

import lanner
from lanner.compat.PyNvVideoCodec._logging import logger
from lanner.compat.PyNvVideoCodec.arguments import flag, handle, integer
from lanner.compat.PyNvVideoCodec.errors import PyNvVCExceptionUnsupported


@functools.cache
def _missing(gpu: int) -> str:
    """Why there is no such GPU; empty where there is one. The answer is kept for the process."""
    try:
        lanner.Tensor(np.zeros(1, np.uint8)).to(f"cuda:{gpu}")
    except (lanner.Unsupported, lanner.InvalidArgument, lanner.DeviceError) as error:
        return str(error)
    return ""


class DeviceChoice(NamedTuple):
    """The device, context, stream and kind of memory that gpuid, cudacontext, cudastream and usedevicememory select.

    Without any GPU, number 0 is the CPU: device memory is host memory then, and handles of contexts and streams have no effect.
    """

    gpu: int | None
    context: int
    stream: int
    device_memory: bool

    @classmethod
    def of(cls, gpu: Any, context: Any, stream: Any, device_memory: Any) -> "DeviceChoice":
        number = integer("gpuid", gpu, 0, 2**15 - 1)
        given = handle("cudacontext", context), handle("cudastream", stream), flag("usedevicememory", device_memory)
        missing = _missing(number)
        if not missing:
            return cls(number, *given)
        if number > 0:
            raise PyNvVCExceptionUnsupported(f"gpuid {number}: there is no such GPU: {missing}")
        return cls(None, *given)

    def options(self) -> dict[str, Any]:
        """Keywords of a lanner.Decoder or VideoReader."""
        if self.gpu is None:
            return {"device": "cpu"}
        device = f"cuda:{self.gpu}"
        handles = {"cuda_context": self.context or None, "cuda_stream": self.stream or None}
        return {"device": device, "output": device if self.device_memory else "cpu", **handles}

    def fallback(self) -> dict[str, Any]:
        """The same for a stream that the GPU does not decode: decoded on the CPU, with frames copied to where they were requested."""
        if self.gpu is None or not self.device_memory:
            return {"device": "cpu"}
        return {"device": "cpu", "output": f"cuda:{self.gpu}", "cuda_stream": self.stream or None}

    def open(self, make: Any) -> Any:
        """`make(**options)`; once more on the CPU where the GPU does not decode the stream."""
        try:
            return make(**self.options())
        except lanner.Unsupported as error:
            if self.gpu is None:
                raise
            made = make(**self.fallback())
            logger.warning("decoding on the CPU: %s", error)
            return made
