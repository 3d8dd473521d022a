"""Where pictures are encoded."""

import functools
from typing import Any

from lanner.compat.PyNvVideoCodec._logging import logger
from lanner.compat.PyNvVideoCodec.devices import Place


@functools.cache
def tell_of_software(why: str) -> None:
    """Once a process for each reason."""
    logger.warning("encoding by FFmpeg's software encoders, not by NVENC: %s", why)


def device_options(place: Place) -> dict[str, Any]:
    """Keywords of a lanner.Encoder on the place's GPU."""
    return {"device": f"cuda:{place.gpu}", "cuda_context": place.context or None, "cuda_stream": place.stream or None}
