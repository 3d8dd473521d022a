"""PyNvVideoCodec's interface over Lanner, on a CPU too; docs/pynvvideocodec.md says what differs."""

import sys as _sys

from lanner.compat.PyNvVideoCodec import _logging as _logging
from lanner.compat.PyNvVideoCodec.capabilities import GetDecoderCaps
from lanner.compat.PyNvVideoCodec.decoder import CreateDecoder, PyNvDecoder
from lanner.compat.PyNvVideoCodec.demuxer import CreateDemuxer, PyNvDemuxer
from lanner.compat.PyNvVideoCodec.encoded import EncodedPackets, patch_ivf_frame_count
from lanner.compat.PyNvVideoCodec.encoder import CreateEncoder, PyNvEncoder
from lanner.compat.PyNvVideoCodec.encoder_capabilities import GetEncoderCaps
from lanner.compat.PyNvVideoCodec.encoder_params import NV_ENC_PIC_PARAMS, structEncodeReconfigureParams
from lanner.compat.PyNvVideoCodec.enums import (
    MEDIA_FORMAT,
    NV_ENC_MULTI_PASS,
    NV_ENC_PARAMS_RC_MODE,
    NV_ENC_PIC_FLAGS,
    SEI_TYPE,
    ColorRange,
    ColorSpace,
    DisplayDecodeLatencyType,
    OutputColorType,
    Pixel_Format,
    VideoPacketFlag,
    cudaVideoChromaFormat,
    cudaVideoCodec,
    cudaVideoSurfaceFormat,
)
from lanner.compat.PyNvVideoCodec.errors import PyNvVCException, PyNvVCExceptionUnsupported
from lanner.compat.PyNvVideoCodec.frame import CAIMemoryView, DecodedFrame
from lanner.compat.PyNvVideoCodec.metadata import ScannedStreamMetadata, StreamMetadata
from lanner.compat.PyNvVideoCodec.muxer import FFmpegMuxer
from lanner.compat.PyNvVideoCodec.packet import PacketData
from lanner.compat.PyNvVideoCodec.simple_decoder import CreateSimpleDecoder, SimpleDecoder
from lanner.compat.PyNvVideoCodec.threaded_decoder import CreateThreadedDecoder, ThreadedDecoder
from lanner.compat.PyNvVideoCodec.transcoder import CreateTranscoder, GetMediaFormat, Transcoder

__all__ = [
    "CAIMemoryView", "ColorRange", "ColorSpace", "CreateDecoder", "CreateDemuxer", "CreateEncoder", "CreateSimpleDecoder", "CreateThreadedDecoder",
    "CreateTranscoder", "DecodedFrame", "DisplayDecodeLatencyType", "EncodedPackets", "FFmpegMuxer", "GetDecoderCaps", "GetEncoderCaps", "GetMediaFormat", "MEDIA_FORMAT",
    "NV_ENC_MULTI_PASS", "NV_ENC_PARAMS_RC_MODE", "NV_ENC_PIC_FLAGS", "NV_ENC_PIC_PARAMS", "OutputColorType", "PacketData", "Pixel_Format",
    "PyNvDecoder", "PyNvDemuxer", "PyNvEncoder", "PyNvVCException", "PyNvVCExceptionUnsupported", "SEI_TYPE", "ScannedStreamMetadata", "SimpleDecoder",
    "StreamMetadata", "ThreadedDecoder", "Transcoder", "VideoPacketFlag", "cudaVideoChromaFormat", "cudaVideoCodec", "cudaVideoSurfaceFormat",
    "patch_ivf_frame_count", "structEncodeReconfigureParams",
]  # fmt: skip

__version__ = "2.2.4"
"""The version of PyNvVideoCodec whose names these are."""

# The guide calls its own module by this name: PyNvVideoCodec._PyNvVideoCodec.cudaVideoCodec.H264.
_PyNvVideoCodec = _sys.modules[__name__]

# Members that PyNvVideoCodec's module has by their own names.
for _enum in (ColorSpace, ColorRange, NV_ENC_PIC_FLAGS, MEDIA_FORMAT):
    globals().update(_enum.__members__)
del _enum
