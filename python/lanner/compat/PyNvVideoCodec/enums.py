"""PyNvVideoCodec's enumerations."""

from enum import IntEnum
from typing import TYPE_CHECKING


class NamedEnum(IntEnum):
    """Prints as `cudaVideoCodec.H264`, as PyNvVideoCodec's do."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __repr__(self) -> str:
        return f"<{self}: {self.value}>"


class cudaVideoCodec(NamedEnum):
    """Codecs by libnvcuvid's numbers, and layouts of raw frames."""

    MPEG1 = 0
    MPEG2 = 1
    MPEG4 = 2
    VC1 = 3
    H264 = 4
    JPEG = 5
    H264_SVC = 6
    H264_MVC = 7
    HEVC = 8
    VP8 = 9
    VP9 = 10
    AV1 = 11
    YUV420 = 0x49595556
    YV12 = 0x59563132
    NV12 = 0x4E563132
    YUYV = 0x59555956
    UYVY = 0x55595659


class Pixel_Format(NamedEnum):
    """Memory order of a decoded frame."""

    NV12 = 3
    YUV444 = 4
    P016 = 5
    YUV444_16Bit = 6
    NV16 = 7
    P216 = 8
    RGB = 9
    RGBP = 10


class cudaVideoSurfaceFormat(NamedEnum):
    """Memory order of a decoder's surfaces."""

    NV12 = 0
    P016 = 1
    YUV444 = 2
    YUV444_16Bit = 3
    NV16 = 4
    P216 = 5


if TYPE_CHECKING:

    class cudaVideoChromaFormat(NamedEnum):
        Monochrome = 0

else:
    # Names that are no identifiers: getattr(cudaVideoChromaFormat, "420").
    cudaVideoChromaFormat = NamedEnum("cudaVideoChromaFormat", {"Monochrome": 0, "420": 1, "422": 2, "444": 3}, module=__name__)
    cudaVideoChromaFormat.__doc__ = "Chroma subsampling by libnvcuvid's numbers."


class OutputColorType(NamedEnum):
    """What decoded frames are converted to: nothing, RGB [height, width, 3], RGB [3, height, width]."""

    NATIVE = 0
    RGB = 1
    RGBP = 2


class DisplayDecodeLatencyType(NamedEnum):
    """How soon a frame comes."""

    NATIVE = 0
    LOW = 1
    ZERO = 2


class VideoPacketFlag(NamedEnum):
    """Flags of PacketData.decode_flag."""

    ENDOFSTREAM = 1
    TIMESTAMP = 2
    DISCONTINUITY = 4
    ENDOFPICTURE = 8
    NOTIFY_EOS = 16


class ColorSpace(NamedEnum):
    """Matrix between YUV and RGB; BT_2020 is Lanner's."""

    BT_601 = 0
    BT_709 = 1
    UNSPEC = 2
    BT_2020 = 3


class ColorRange(NamedEnum):
    """MPEG: limited, JPEG: full."""

    MPEG = 0
    JPEG = 1
    UDEF = 2


class SEI_TYPE(NamedEnum):
    """payloadType of SEI messages (H.264 Annex D, H.265 Annex D)."""

    TIME_CODE_H264 = 1
    USER_DATA_REGISTERED = 4
    USER_DATA_UNREGISTERED = 5
    TIME_CODE = 136
    MASTERING_DISPLAY_COLOR_VOLUME = 137
    CONTENT_LIGHT_LEVEL_INFO = 144
    ALTERNATIVE_TRANSFER_CHARACTERISTICS = 147


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
