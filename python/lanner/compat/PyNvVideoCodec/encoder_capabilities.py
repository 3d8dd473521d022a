"""GetEncoderCaps."""

import os
from typing import Any

import lanner
from lanner.compat.PyNvVideoCodec.arguments import shown
from lanner.compat.PyNvVideoCodec.devices import DeviceChoice
from lanner.compat.PyNvVideoCodec.encoder_device import tell_of_software
from lanner.compat.PyNvVideoCodec.errors import PyNvVCException, PyNvVCExceptionUnsupported

_SMALL = 64  # A size that each encoder takes.
# Sides and blocks of 16 x 16 pixels of the highest levels (H.264 A.3.1, H.265 A.4.1, AV1 A.3).
_LARGEST = {"h264": (16384, 16384, 139264), "hevc": (8192, 8192, 139264), "av1": (16384, 8704, 557056)}
_VBR_AND_CBR = 3  # NV_ENC_PARAMS_RC_VBR | NV_ENC_PARAMS_RC_CBR.
# What has no counterpart in the interface of software encoders.
_NOT_THERE = (
    "support_field_encoding", "support_monochrome", "support_fmo", "support_qpelmv", "support_stereo_mvc", "num_max_temporal_layers",
    "support_hierarchical_pframes", "support_hierarchical_bframes", "separate_colour_plane", "support_temporal_svc", "support_dyn_force_constqp",
    "support_subframe_readback", "support_constrained_encoding", "support_intra_refresh", "support_ref_pic_invalidation", "preproc_support",
    "async_encode_support", "mb_per_sec_max", "support_meonly_mode", "num_max_ltr_frames", "support_emphasis_level_map",
    "support_alpha_layer_encoding", "single_slice_intra_refresh", "disable_enc_state_advance", "output_recon_surface", "output_block_stats",
    "output_row_stats", "dynamic_query_encoder_capacity",
)  # fmt: skip

_NOT_IN_12_1 = ("support_yuv422_encode",)  # Of later versions of the API than Lanner asks for.


def _takes(codec: str, **options: Any) -> int:
    """Whether an encoder opens with these options."""
    try:
        lanner.Encoder(**{"width": _SMALL, "height": _SMALL, "codec": codec, "threads": 1, **options})
    except lanner.Error:
        return 0
    return 1


def GetEncoderCaps(gpuid: int = 0, codec: str = "h264") -> dict[str, int]:
    """What NVENC answers for a codec, by PyNvVideoCodec's names.

    Without a GPU, or an NVENC of it that has the codec, it tells of the software encoder: 0 where there is no such thing; its engines are the CPU's cores.
    """
    device = DeviceChoice.of(gpuid, 0, 0, False)
    if not isinstance(codec, str):
        raise TypeError(f"codec: {shown(codec)} is of the wrong type; expected 'h264', 'hevc' or 'av1'")
    name = codec.lower()
    if name not in _LARGEST:
        raise PyNvVCException(f"codec: {shown(codec)}, expected one of {', '.join(_LARGEST)}")
    try:
        found = _of_nvenc(device, name)
        return found or _of_software(name)
    except lanner.Unsupported as error:
        raise PyNvVCExceptionUnsupported(f"GetEncoderCaps: {error}") from error


def _of_nvenc(device: DeviceChoice, codec: str) -> dict[str, int]:
    """Empty where there is none."""
    if device.gpu is None:
        tell_of_software("there is no GPU")
        return {}
    try:
        found = next(one for one in lanner.encoder_capabilities(f"cuda:{device.gpu}") if one.codec == codec)
    except lanner.Unsupported as error:
        tell_of_software(str(error))
        return {}
    if not found.supported:
        tell_of_software(f"cuda:{device.gpu} does not encode {codec}")
        return {}
    return {**dict.fromkeys(_NOT_IN_12_1, 0), **found.values}


def _of_software(name: str) -> dict[str, int]:
    lanner.Encoder(width=_SMALL, height=_SMALL, codec=name)
    (width, height, blocks), least = _LARGEST[name], next(side for side in (1, 2, 16, 32, _SMALL) if _takes(name, width=side, height=side))
    return dict.fromkeys(_NOT_THERE, 0) | {
        "num_max_bframes": next((count for count in (31, 16, 7) if _takes(name, b_frames=count)), 0), "supported_ratecontrol_modes": _VBR_AND_CBR,
        "support_bdirect_mode": int(name == "h264"), "support_cabac": int(name == "h264"), "support_adaptive_transform": int(name == "h264"),
        "level_min": {"h264": 9, "hevc": 30, "av1": 0}[name], "level_max": {"h264": 62, "hevc": 186, "av1": 19}[name],
        "width_max": width, "height_max": height, "width_min": least, "height_min": least, "mb_num_max": blocks,
        "support_dyn_res_change": 0, "support_dyn_bitrate_change": 1, "support_dyn_rcmode_change": 1,
        "support_custom_vbv_buf_size": _takes(name, rate_control="cbr", bit_rate=100_000, vbv_buffer_size=50_000),
        "support_dynamic_slice_mode": _takes(name, slice_mode="bytes", slice_data=1000), "support_sao": int(name == "hevc"),
        "support_yuv444_encode": _takes(name, format="yuv444p"), "support_yuv422_encode": _takes(name, format="nv16"),
        "support_10bit_encode": _takes(name, format="p010"), "support_lossless_encode": _takes(name, tuning="lossless"),
        "support_lookahead": _takes(name, lookahead=10), "support_temporal_aq": _takes(name, temporal_aq=True, bit_rate=100_000),
        "support_weighted_prediction": 1, "support_bframe_ref_mode": 1, "support_multiple_ref_frames": _takes(name, num_ref_l0=2),
        "num_encoder_engines": len(os.sched_getaffinity(0)),
    }  # fmt: skip
