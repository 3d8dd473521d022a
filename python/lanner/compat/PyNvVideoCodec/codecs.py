"""Codecs, chroma formats and pixel formats: PyNvVideoCodec's names and Lanner's."""

import lanner
from lanner.compat.PyNvVideoCodec.enums import ColorRange, ColorSpace, OutputColorType, Pixel_Format, cudaVideoChromaFormat, cudaVideoCodec
from lanner.compat.PyNvVideoCodec.errors import PyNvVCExceptionUnsupported

_CODECS = {
    cudaVideoCodec.MPEG1: "mpeg1video",
    cudaVideoCodec.MPEG2: "mpeg2video",
    cudaVideoCodec.MPEG4: "mpeg4",
    cudaVideoCodec.VC1: "vc1",
    cudaVideoCodec.H264: "h264",
    cudaVideoCodec.JPEG: "mjpeg",
    cudaVideoCodec.H264_SVC: "h264",
    cudaVideoCodec.H264_MVC: "h264",
    cudaVideoCodec.HEVC: "hevc",
    cudaVideoCodec.VP8: "vp8",
    cudaVideoCodec.VP9: "vp9",
    cudaVideoCodec.AV1: "av1",
}
_NAMES = {name: codec for codec, name in reversed(_CODECS.items())} | {"h264": cudaVideoCodec.H264, "wmv3": cudaVideoCodec.VC1}


def codec_name(codec: cudaVideoCodec) -> str:
    """FFmpeg's name."""
    if codec not in _CODECS:
        raise PyNvVCExceptionUnsupported(f"codec: {codec} is a layout of raw frames, which nothing decodes; expected one like cudaVideoCodec.H264")
    return _CODECS[codec]


def codec_of(stream: lanner.StreamInfo) -> cudaVideoCodec:
    if stream.codec not in _NAMES:
        known = ", ".join(sorted(_NAMES))
        raise PyNvVCExceptionUnsupported(f"codec '{stream.codec}' has no cudaVideoCodec; those that have one are {known}; SimpleDecoder reads others")
    return _NAMES[stream.codec]


def chroma_of(stream: lanner.StreamInfo) -> cudaVideoChromaFormat:
    """By the decoder's format; 4:2:0 where it is not known, as PyNvVideoCodec has it."""
    name = stream.format
    if name.startswith("gray"):
        return cudaVideoChromaFormat.Monochrome
    if any(part in name for part in ("444", "gbr", "rgb", "bgr")):
        return cudaVideoChromaFormat["444"]
    if any(part in name for part in ("422", "nv16", "p21")):
        return cudaVideoChromaFormat["422"]
    return cudaVideoChromaFormat["420"]


def color_space_of(stream: lanner.StreamInfo) -> ColorSpace:
    spaces = {"bt601": ColorSpace.BT_601, "bt709": ColorSpace.BT_709, "bt2020": ColorSpace.BT_2020}
    return spaces.get(stream.color_space, ColorSpace.UNSPEC)


def color_range_of(stream: lanner.StreamInfo) -> ColorRange:
    return {"limited": ColorRange.MPEG, "full": ColorRange.JPEG}.get(stream.color_range, ColorRange.UDEF)


# What libnvcuvid stores for a chroma format and a depth, by the chroma format of Lanner's frame. More than 8 bits are in the high bits of 16.
_NATIVE = {
    ("420", 8): (Pixel_Format.NV12, "nv12"),
    ("420", 10): (Pixel_Format.P016, "p010"),
    ("420", 12): (Pixel_Format.P016, "p012"),
    ("420", 16): (Pixel_Format.P016, "p016"),
    ("422", 8): (Pixel_Format.NV16, "nv16"),
    ("422", 10): (Pixel_Format.P216, "p210"),
    ("422", 12): (Pixel_Format.P216, "p212"),
    ("422", 16): (Pixel_Format.P216, "p216"),
    ("444", 8): (Pixel_Format.YUV444, "yuv444p"),
    ("444", 10): (Pixel_Format.YUV444_16Bit, "yuv444p10msb"),
    ("444", 12): (Pixel_Format.YUV444_16Bit, "yuv444p12msb"),
    ("444", 16): (Pixel_Format.YUV444_16Bit, "yuv444p16"),
    ("rgb", 8): (Pixel_Format.RGB, "rgb24"),
}
_FRAMES = {
    "gray8": ("420", 8), "gray10": ("420", 10), "gray12": ("420", 12), "gray16": ("420", 16), "nv12": ("420", 8), "p010": ("420", 10), "p012": ("420", 12), "p016": ("420", 16),
    "nv16": ("422", 8), "p210": ("422", 10), "p212": ("422", 12), "p216": ("422", 16), "yuv444p10msb": ("444", 10), "yuv444p12msb": ("444", 12),
} | {
    f"yuv{alpha}{chroma}p{bits or ''}": ("444" if chroma in (410, 411, 440) else str(chroma), {0: 8, 9: 10, 14: 16}.get(bits, bits))
    for alpha in ("", "a") for chroma in (410, 411, 420, 422, 440, 444) for bits in (0, 9, 10, 12, 14, 16)
}  # fmt: skip


def format_for(frame_format: str, color: OutputColorType) -> tuple[Pixel_Format, str]:
    """What a frame of this format is given out as: PyNvVideoCodec's name, and Lanner's."""
    if color == OutputColorType.RGB:
        return Pixel_Format.RGB, "rgb24"
    if color == OutputColorType.RGBP:
        return Pixel_Format.RGBP, "rgb_planar"
    return _NATIVE[_FRAMES.get(frame_format, ("rgb", 8))]


def frame_format_of(stream: lanner.StreamInfo) -> tuple[Pixel_Format, str]:
    """What its frames are in native format, by the container's word."""
    chroma = chroma_of(stream)
    name = "420" if chroma.name == "Monochrome" else chroma.name
    depth = next(bits for bits in (8, 10, 12, 16) if bits >= min(stream.bit_depth, 16))
    return _NATIVE[(name, depth)]


def frame_bytes(width: int, height: int, name: str) -> int:
    """Of a frame without gaps."""
    sample = 1 if name in ("nv12", "nv16", "yuv444p", "rgb24", "rgb_planar") else 2
    row, half = (width + 1) // 2 * 2, (height + 1) // 2
    if name in ("nv12", "p010", "p012", "p016"):
        return sample * row * (height + half)
    if name in ("nv16", "p210", "p212", "p216"):
        return sample * row * height * 2
    return sample * width * height * 3
