"""Where pictures are encoded."""

import functools
from typing import Any

from lanner.compat.PyNvVideoCodec._logging import logger
from lanner.compat.PyNvVideoCodec.devices import DeviceChoice


@functools.cache
def tell_of_software(why: str) -> None:
    """Once a process for each reason."""
    logger.warning("encoding by FFmpeg's software encoders, not by NVENC: %s", why)


def device_options(device: DeviceChoice) -> dict[str, Any]:
    """Keywords of a lanner.Encoder on this GPU."""
    return {"device": f"cuda:{device.gpu}", "cuda_context": device.context or None, "cuda_stream": device.stream or None}
