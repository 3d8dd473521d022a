"""The encoding half of PyNvVideoCodec's names: each raises one line until it is there."""

from typing import Any, NoReturn

from lanner.compat.PyNvVideoCodec.enums import NamedEnum
from lanner.compat.PyNvVideoCodec.errors import PyNvVCExceptionUnsupported


class NV_ENC_PARAMS_RC_MODE(NamedEnum):
    """Rate control."""

    CONSTQP = 0
    VBR = 1
    CBR = 2


class NV_ENC_MULTI_PASS(NamedEnum):
    """Passes of rate control."""

    DISABLED = 0
    QUARTER_RESOLUTION = 1
    FULL_RESOLUTION = 2


class NV_ENC_PIC_FLAGS(NamedEnum):
    """What is asked for of one picture."""

    FORCEINTRA = 1
    FORCEIDR = 2
    OUTPUT_SPSPPS = 4
    EOS = 8
    DISABLE_ENC_STATE_ADVANCE = 16
    OUTPUT_RECON_FRAME = 32


class MEDIA_FORMAT(NamedEnum):
    """Containers of FFmpegMuxer."""

    ELEMENTARY = 0
    MOV = 1
    MP4 = 2
    WEBM = 3


def _refuse(name: str) -> NoReturn:
    raise PyNvVCExceptionUnsupported(
        f"{name}: lanner.compat.PyNvVideoCodec does not encode yet; lanner.VideoWriter and `lanner transcode` write video"
    )


class _NotYet:
    """A class of the encoding half."""

    def __init__(self, *_: Any, **__: Any) -> None:
        _refuse(type(self).__name__)


class PyNvEncoder(_NotYet):
    """Not there yet."""


class Transcoder(_NotYet):
    """Not there yet."""


class FFmpegMuxer(_NotYet):
    """Not there yet."""


class NV_ENC_PIC_PARAMS(_NotYet):
    """Not there yet."""


class structEncodeReconfigureParams(_NotYet):
    """Not there yet."""


def CreateEncoder(*_: Any, **__: Any) -> NoReturn:
    """Not there yet."""
    _refuse("CreateEncoder")


def CreateTranscoder(*_: Any, **__: Any) -> NoReturn:
    """Not there yet."""
    _refuse("CreateTranscoder")


def GetEncoderCaps(*_: Any, **__: Any) -> NoReturn:
    """Not there yet."""
    _refuse("GetEncoderCaps")


def GetMediaFormat(*_: Any, **__: Any) -> NoReturn:
    """Not there yet."""
    _refuse("GetMediaFormat")


def patch_ivf_frame_count(*_: Any, **__: Any) -> NoReturn:
    """Not there yet."""
    _refuse("patch_ivf_frame_count")
