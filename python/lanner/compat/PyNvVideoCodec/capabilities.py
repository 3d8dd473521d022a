"""GetDecoderCaps."""

import os

import lanner
from lanner.compat.PyNvVideoCodec.arguments import integer, member
from lanner.compat.PyNvVideoCodec.codecs import codec_name
from lanner.compat.PyNvVideoCodec.devices import DeviceChoice
from lanner.compat.PyNvVideoCodec.enums import cudaVideoChromaFormat, cudaVideoCodec
from lanner.compat.PyNvVideoCodec.errors import PyNvVCException, translated

_LARGEST_SIDE = 16384  # Of FFmpeg's decoders, with the pixels that Lanner's limits allow.


def GetDecoderCaps(
    gpuid: int = 0,
    codec: cudaVideoCodec = cudaVideoCodec.H264,
    chromaformat: cudaVideoChromaFormat = cudaVideoChromaFormat["420"],
    bitdepth: int = 8,
) -> dict[str, int]:
    """What decodes such streams: `supported`, `num_decoder_engines`, and bounds of the coded size in pixels and macroblocks.

    Without a GPU it tells of the CPU, whose engines are its cores.
    """
    name = codec_name(member("codec", codec, cudaVideoCodec))
    chroma = member("chromaformat", chromaformat, cudaVideoChromaFormat)
    depth = integer("bitdepth", bitdepth, 0, 16)
    device = DeviceChoice.of(gpuid, 0, 0, False)
    if device.gpu is None:
        return _of_cpu(name)
    with translated("GetDecoderCaps"):
        found = lanner.decoder_capabilities(f"cuda:{device.gpu}")
    text = {"Monochrome": "4:0:0", "420": "4:2:0", "422": "4:2:2", "444": "4:4:4"}[chroma.name]
    for one in found:
        if (one.codec, one.chroma, one.bit_depth) == (name, text, depth):
            return _caps(one.supported, one.engines, (one.min_width, one.min_height), (one.max_width, one.max_height), one.max_macroblocks)
    return _caps(False, 0, (0, 0), (0, 0), 0)


def _of_cpu(name: str) -> dict[str, int]:
    try:
        lanner.Decoder(lanner.StreamInfo(name, width=64, height=64), threads=1, device="cpu")
    except lanner.Unsupported:
        return _caps(False, 0, (0, 0), (0, 0), 0)
    except lanner.Error as error:
        raise PyNvVCException(f"GetDecoderCaps: {error}") from error
    cores = len(os.sched_getaffinity(0))
    return _caps(True, cores, (1, 1), (_LARGEST_SIDE, _LARGEST_SIDE), _LARGEST_SIDE * _LARGEST_SIDE // 256)


def _caps(supported: bool, engines: int, least: tuple[int, int], most: tuple[int, int], macroblocks: int) -> dict[str, int]:
    return {
        "supported": int(supported), "num_decoder_engines": engines, "width_min": least[0], "height_min": least[1], "width_max": most[0],
        "height_max": most[1], "mb_num_max": macroblocks,
    }  # fmt: skip
