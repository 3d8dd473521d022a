"""What encoded packets begin with: codec headers, and whether decoding may begin (H.264 7.4.1, H.265 7.4.2.2, AV1 5.3)."""

import re
from collections.abc import Iterator

_SEQUENCE_HEADER = 1  # obu_type of AV1.


def _units(data: bytes) -> Iterator[bytes]:
    """What stands behind each start code."""
    places = [found.end() for found in re.finditer(b"\0\0\1", data)]
    for begin, end in zip(places, [*(place - 3 for place in places[1:]), len(data)], strict=True):
        unit = data[begin:end].rstrip(b"\0")
        if unit:
            yield unit


def _obus(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and bytes of each OBU that tells its size."""
    place = 0
    while place < len(data):
        kind, extended, sized = data[place] >> 3 & 15, data[place] >> 2 & 1, data[place] >> 1 & 1
        begin, size, shift = place + 1 + extended, 0, 0
        while sized and begin < len(data) and shift < 56:
            byte = data[begin]
            size |= (byte & 127) << shift
            begin, shift = begin + 1, shift + 7
            if byte < 128:
                break
        end = min(begin + size, len(data)) if sized else len(data)
        yield kind, data[place:end]
        place = end


def _kind(codec: str, unit: bytes) -> int:
    return unit[0] & 31 if codec == "h264" else unit[0] >> 1 & 63


def headers_of(codec: str, data: bytes) -> bytes:
    """The headers that a packet brings, as extradata: parameter sets, of AV1 the sequence header; empty without any."""
    if codec == "av1":
        return b"".join(obu for kind, obu in _obus(data) if kind == _SEQUENCE_HEADER)
    sets = (7, 8) if codec == "h264" else (32, 33, 34)
    return b"".join(b"\0\0\0\1" + unit for unit in _units(data) if _kind(codec, unit) in sets)


def begins_decoding(codec: str, data: bytes) -> bool:
    """Whether a packet holds an IDR picture, of HEVC any IRAP picture, of AV1 a sequence header."""
    if codec == "av1":
        return any(kind == _SEQUENCE_HEADER for kind, _ in _obus(data))
    return any(_kind(codec, unit) == 5 if codec == "h264" else 16 <= _kind(codec, unit) <= 23 for unit in _units(data))
