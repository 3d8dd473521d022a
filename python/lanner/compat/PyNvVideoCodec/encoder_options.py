"""Keywords of CreateEncoder and Transcoder: Table 1 of the guide and those of 2.x, as options of Lanner's encoders."""

import difflib
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from lanner.compat.PyNvVideoCodec.arguments import shown
from lanner.compat.PyNvVideoCodec.errors import PyNvVCException, PyNvVCExceptionUnsupported

_DEFAULT_RATE = 10_000_000  # Of `bitrate` and `maxbitrate` in the guide's Table 1.
_DEFAULT_QP = (25, 28, 31)  # Of I, P and B pictures, what PyNvVideoCodec begins `constqp` with.
_MOST = 2**31 - 1


def _wrong(name: str, value: Any, expected: str) -> PyNvVCException:
    return PyNvVCException(f"{name}: {shown(value)}, expected {expected}")


def whole(least: int, most: int = _MOST) -> Callable[[str, Any], int]:
    """A number, or one as text."""

    def parse(name: str, value: Any) -> int:
        expected = f"{least} or more" if most == _MOST else f"{least} to {most}"
        try:
            number = int(str(value).strip()) if isinstance(value, str | int) else value.__index__()
        except (ValueError, AttributeError):
            raise _wrong(name, value, f"a whole number, {expected}") from None
        if not least <= number <= most:
            raise _wrong(name, value, expected)
        return number

    return parse


def switch(name: str, value: Any) -> bool:
    if isinstance(value, str) and value.strip().lower() in ("true", "false", "yes", "no"):
        return value.strip().lower() in ("true", "yes")
    return bool(whole(0, 1)(name, int(value) if isinstance(value, bool) else value))


def bits(name: str, value: Any) -> int:
    """Bits, or bits per second: 10000000, "10M", "512K"; K and M are 1024 and 1024 * 1024, as PyNvVideoCodec has them."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kKmM]?)\s*", str(value)) if not isinstance(value, bool) else None
    number = round(float(found[1]) * {"": 1, "k": 1024, "m": 1024 * 1024}[found[2].lower()]) if found else 0
    if not 0 < number <= _MOST:
        raise _wrong(name, value, f"1 to {_MOST}, or text with a K or M like '10M'")
    return number


def _numbers(name: str, value: Any, expected: str) -> list[int]:
    pieces = value.strip(" []()").split(",") if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else [value]
    try:
        return [whole(0)(name, piece) for piece in pieces]
    except PyNvVCException:
        raise _wrong(name, value, expected) from None


def qps(name: str, value: Any) -> tuple[int, int, int]:
    """Of I, P and B pictures: one number for all, or three in NVENC's order, P, B and I."""
    numbers = _numbers(name, value, "one number, or three of P, B and I pictures, like [28, 31, 25]")
    if len(numbers) not in (1, 3):
        raise _wrong(name, value, "one number, or three of P, B and I pictures, like [28, 31, 25]")
    p, b, i = numbers * 3 if len(numbers) == 1 else numbers
    return i, p, b


def period(name: str, value: Any) -> int:
    numbers = _numbers(name, value, "1 or more")
    if len(set(numbers)) != 1 or len(numbers) not in (1, 3) or not 0 < numbers[0] <= _MOST:
        raise _wrong(name, value, "1 or more")  # The guide's list of three can say one number alone.
    return numbers[0]


def rate(name: str, value: Any) -> Fraction:
    try:
        number = Fraction(str(value).strip())
    except (ValueError, ZeroDivisionError):
        number = Fraction(0)
    if not 0 < number <= 1_000_000:
        raise _wrong(name, value, "frames per second, like 30, '29.97' or '30000/1001'")
    return number.limit_denominator(1_000_000)


def size(name: str, value: Any) -> tuple[int, int]:
    pieces = re.split(r"[xX,]", value.strip(" []()")) if isinstance(value, str) else value
    numbers = _numbers(name, list(pieces) if isinstance(pieces, list | tuple) else [], "width and height, like [3840, 2160] or '3840x2160'")
    if len(numbers) != 2 or not all(numbers):
        raise _wrong(name, value, "width and height, like [3840, 2160] or '3840x2160'")
    return numbers[0], numbers[1]


def quality(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number <= 63:
        raise _wrong(name, value, "0 to 63, lower is better")
    return number


def word(words: Mapping[str, str]) -> Callable[[str, Any], str]:
    """One of them, in any case."""

    def parse(name: str, value: Any) -> str:
        found = words.get(value.strip().lower()) if isinstance(value, str) else None
        if found is None:
            raise _wrong(name, value, f"one of {', '.join(words)}")
        return found

    return parse


def text(_: str, value: Any) -> str:
    return str(value).strip().lower()


def _same(*words: str) -> dict[str, str]:
    return {one: one for one in words}


# Name of the keyword: of Lanner's option, empty where several make one, and what reads its value.
_PLAIN: dict[str, tuple[str, Callable[[str, Any], Any]]] = {
    "codec": ("codec", word(_same("h264", "hevc", "av1"))),
    "preset": ("preset", word({f"p{number}": f"P{number}" for number in range(1, 8)})),
    "tuning_info": ("tuning", word({**_same("high_quality", "low_latency", "ultra_low_latency", "lossless"), "uhq": "ultra_high_quality"})),
    "fps": ("fps", rate),
    "bitrate": ("bit_rate", bits),
    "maxbitrate": ("max_bit_rate", bits),
    "vbvbufsize": ("vbv_buffer_size", bits),
    "vbvinit": ("vbv_initial", bits),
    "rc": ("rate_control", word(_same("cbr", "constqp", "vbr"))),
    "cq": ("crf", quality),
    "constqp": ("const_qp", qps),
    "initqp": ("initial_qp", qps),
    "qmin": ("qp_min", qps),
    "qmax": ("qp_max", qps),
    "multipass": ("multipass", word({"fullres": "full_resolution", "qres": "quarter_resolution", "disabled": "disabled"})),
    "ldkfs": ("low_delay_keyframe_scale", whole(0, 254)),
    "lookahead": ("lookahead", whole(0, 255)),
    "aq": ("spatial_aq", switch),
    "temporalaq": ("temporal_aq", switch),
    "repeatspspps": ("repeat_headers", switch),
    "numrefl0": ("num_ref_l0", whole(1, 16)),
    "numrefl1": ("num_ref_l1", whole(1, 16)),
    "num_unit_in_ticks": ("num_units_in_tick", whole(1)),
    "timescale": ("time_scale", whole(1)),
    "profile": ("profile", text),
    "level": ("level", text),
    "tier": ("tier", text),
    "bf": ("", whole(0, 32)),
    "gop": ("", period),
    "idrperiod": ("", period),
    "slice_mode": ("", whole(0, 3)),
    "slice_data": ("", whole(0)),
    "colorspace": ("", word(_same("bt601", "bt709"))),
}
_OF_ENCODER: dict[str, tuple[str, Callable[[str, Any], Any]]] = {
    "max_res": ("", size),
    "s": ("", size),
    "global_header": ("global_header", switch),
    "use_ivf_container": ("", switch),
    "gpu_id": ("", whole(0)),
    "source_av_format_context": ("", whole(0, 2**64 - 1)),
}
_GROUPS = {"slice": {"mode": "slice_mode", "data": "slice_data"}, "timinginfo": {"num_unit_in_ticks": "num_unit_in_ticks", "timescale": "timescale"}}
_OTHER_NAMES = {"gpuid": "gpu_id"} | {f"{group}::{member}": name for group, members in _GROUPS.items() for member, name in members.items()}
_SLICES = ("macroblocks", "bytes", "rows", "count")
_COLORS = {"bt601": "smpte170m", "bt709": "bt709"}


class EncoderOptions(NamedTuple):
    """lanner: keywords of Lanner; others: what is PyNvVideoCodec's alone, by its names."""

    lanner: dict[str, Any]
    others: dict[str, Any]


def _flattened(noun: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """In small letters, without groups."""
    flat: dict[str, Any] = {}
    for key, value in given.items():
        name = str(key).lower()
        members = _GROUPS.get(name)
        if members is None:
            pairs = [(_OTHER_NAMES.get(name, name), value)]
        elif isinstance(value, Mapping):
            pairs = [(members.get(str(member).lower(), f"{name}::{member}"), one) for member, one in value.items()]
        else:
            raise _wrong(name, value, f"a dict of {', '.join(members)}")
        for one, content in pairs:
            if one not in known:
                near = difflib.get_close_matches(one, known, 1)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                raise PyNvVCException(f"{noun}: unknown keyword '{key if members is None else one}'; expected one of {', '.join(known)}{hint}")
            if one in flat:
                raise PyNvVCException(f"{noun}: '{one}' is given twice")
            flat[one] = content
    return flat


def encoder_options(noun: str, given: Mapping[str, Any], of_file: bool = False) -> EncoderOptions:
    """Checked. of_file: of a clip that is transcoded, whose size and times stay as they are, and without a rate its quality is constant."""
    known = _PLAIN if of_file else _PLAIN | _OF_ENCODER
    flat = {name: value for name, value in given.items() if value is not None}
    values = {name: known[name][1](name, value) for name, value in _flattened(noun, flat, known).items()}
    if of_file and "fps" in values:
        raise PyNvVCExceptionUnsupported(f"{noun}: fps: each frame keeps its own time; leave it out")
    options = {known[name][0]: value for name, value in values.items() if known[name][0]}
    others = {name: value for name, value in values.items() if not known[name][0]}
    options.setdefault("codec", "h264")
    options.setdefault("preset", "P4")
    options.setdefault("tuning", "high_quality")
    _set_rates(options, of_file)
    _set_structure(options, others)
    if options["codec"] != "av1" and not of_file:
        options.setdefault("repeat_headers", False)
    if "colorspace" in others:
        name = others["colorspace"]
        options |= {"color_matrix": name, "color_primaries": _COLORS[name], "color_transfer": _COLORS[name]}
    if "max_res" in others:
        options["max_width"], options["max_height"] = others["max_res"]
    return EncoderOptions(options, others)


def _set_rates(options: dict[str, Any], of_file: bool) -> None:
    """The guide's defaults: cbr of 10,000,000 bits per second; those of other modes where the mode asks for them."""
    rates = ("bit_rate", "max_bit_rate", "crf", "const_qp", "rate_control", "vbv_buffer_size", "vbv_initial")
    if options["tuning"] == "lossless" or (of_file and not any(name in options for name in rates)):
        return
    if "crf" in options:
        options.setdefault("rate_control", "vbr")
    elif "const_qp" in options:
        options.setdefault("rate_control", "constqp")
    control = options.setdefault("rate_control", "cbr")
    if control == "constqp":
        if options["codec"] != "av1" and "crf" not in options:
            options.setdefault("const_qp", _DEFAULT_QP)
        return
    if "const_qp" in options:
        return  # Both exclude each other, which the encoder says.
    if "crf" not in options:
        options.setdefault("bit_rate", _DEFAULT_RATE)
    if control == "vbr" and "crf" not in options and options["codec"] != "av1":
        options.setdefault("max_bit_rate", max(_DEFAULT_RATE, options["bit_rate"]))


def _set_structure(options: dict[str, Any], others: dict[str, Any]) -> None:
    """bf is the guide's: 0 is I, 1 IPP, 2 IBP, 3 IBBP. gop and idrperiod are exact, as NVENC keeps them."""
    gop, idr = others.get("gop"), others.get("idrperiod")
    if gop is not None and idr is not None and gop != idr:
        options["gop"] = gop
    if gop is not None or idr is not None:
        options["idr_period"] = idr or gop
    if others.get("bf") == 0:
        options.pop("gop", None)
        options["idr_period"] = 1
    if others.get("bf"):
        options["b_frames"] = others["bf"] - 1
    mode, data = others.get("slice_mode", 0), others.get("slice_data", 0)
    if data:
        options["slice_mode"], options["slice_data"] = _SLICES[mode], data
    elif mode:
        raise PyNvVCException(f"slice_mode: {mode} without slice_data; give both, like slice={{'mode': 3, 'data': 4}}")
