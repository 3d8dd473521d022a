"""H.264 and HEVC behind start codes, as PyNvVideoCodec's packets have them (H.264 Annex B, H.265 Annex B).

MP4 and Matroska keep lengths in front of the units, and parameter sets apart (ISO/IEC 14496-15, 5.3.3 and 8.3.3).
"""

from collections.abc import Iterator

import lanner

_START = b"\0\0\0\1"


class AnnexB:
    """Turns packets of one stream; those of other codecs, and of streams that have start codes, stay as they are."""

    def __init__(self, stream: lanner.StreamInfo) -> None:
        self._hevc = stream.codec == "hevc"
        self._length_bytes, sets = 0, []
        extradata = stream.extradata
        if stream.codec == "h264" and len(extradata) >= 7 and extradata[0] == 1:
            self._length_bytes, sets = (extradata[4] & 3) + 1, list(_h264_sets(extradata))
        elif self._hevc and len(extradata) >= 23 and not extradata.startswith((b"\0\0\1", _START)):
            self._length_bytes, sets = (extradata[21] & 3) + 1, list(_hevc_sets(extradata))
        self._headers = b"".join(_START + unit for unit in sets)

    def convert(self, packet: lanner.Packet) -> bytes | memoryview:
        """The packet's bytes, with parameter sets in front of the picture of keyframes that bring none."""
        if not self._length_bytes:
            return packet.data
        pieces: list[bytes | memoryview] = []
        waiting = packet.key
        for unit in self._units(packet.data):
            kind = unit[0] >> 1 & 63 if self._hevc else unit[0] & 31
            waiting = waiting and kind not in ((32, 33, 34) if self._hevc else (7, 8))
            if waiting and (kind < 32 if self._hevc else 1 <= kind <= 5):
                pieces.append(self._headers)
                waiting = False
            pieces += (_START, unit)
        return b"".join(pieces)

    def _units(self, data: memoryview) -> Iterator[memoryview]:
        position = 0
        while position + self._length_bytes <= len(data):
            begin = position + self._length_bytes
            position = begin + int.from_bytes(data[position:begin], "big")
            if position > begin:
                yield data[begin:position]  # What a wrong length lacks is not there.


def _pieces(data: bytes, position: int, count: int) -> Iterator[tuple[bytes, int]]:
    """Units behind lengths of two bytes, and where the next one begins."""
    for _ in range(count):
        size = int.from_bytes(data[position : position + 2], "big")
        unit = data[position + 2 : position + 2 + size]
        position += 2 + size
        if position > len(data):
            return  # What a wrong length lacks is not there.
        if size:
            yield unit, position


def _h264_sets(data: bytes) -> Iterator[bytes]:
    position = 6
    for unit, position in _pieces(data, 6, data[5] & 31):
        yield unit
    for unit, _ in _pieces(data, position + 1, data[position] if position < len(data) else 0):
        yield unit


def _hevc_sets(data: bytes) -> Iterator[bytes]:
    position = 23
    for _ in range(data[22]):
        count = int.from_bytes(data[position + 1 : position + 3], "big")
        position += 3
        for unit, position in _pieces(data, position, min(count, len(data))):
            yield unit
