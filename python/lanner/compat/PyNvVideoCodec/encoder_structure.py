"""How many B pictures in a row an encoder writes where its preset decides."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import lanner

_MOST_IN_HIERARCHY = 31  # B pictures of SVT-AV1's deepest hierarchy.
_FRAMES = 3, 6  # OBU_FRAME_HEADER and OBU_FRAME, of AV1 6.2.2.


def preset_b_frames(options: Mapping[str, Any]) -> int:
    """Most B pictures in a row of an encoder with these keywords of lanner.Encoder: of gray pictures that one more of its kind encodes.

    libx264 and libx265 write their settings into their first packet, NVENC tells the type of each picture, and AV1 sends the pictures that are shown
    later ahead of the first B picture.
    """
    coming = _packets(options)
    first = next(coming)
    if (told := _told(bytes(first.data))) is not None:
        return told
    packets = [first, *coming]
    types = "".join(packet.picture_type for packet in sorted(packets, key=lambda packet: packet.pts or 0))
    if "B" in types:
        return max(map(len, re.findall("B+", types)))
    return _hidden(packets) if options["codec"] == "av1" else 0


def _packets(options: Mapping[str, Any]) -> Iterator[lanner.Packet]:
    encoder, picture = lanner.Encoder(**options), _gray(options)
    for _ in range(_MOST_IN_HIERARCHY + 2):
        encoder.send(picture)
        yield from encoder
    yield from encoder.end()


def _gray(options: Mapping[str, Any]) -> lanner.Image:
    width, height, format = options["width"], options["height"], options["format"]
    planes = lanner.Image(np.full((height, width, 3), 128, np.uint8)).contiguous(format)
    color = options.get("color_matrix") or "unspecified", options.get("color_range") or "unspecified"
    return lanner.Image.from_contiguous(planes, format, width, height, color_space=color[0], color_range=color[1])


def _told(packet: bytes) -> int | None:
    """What libx264 and libx265 write in an SEI message (user_data_unregistered, H.264 D.1.7)."""
    found = re.search(rb"\bbframes=(\d+)", packet)
    return int(found[1]) if found else None


def _hidden(packets: Sequence[lanner.Packet]) -> int:
    """Each level of a hierarchy is a picture in the temporal unit behind the keyframe's, and halves the distance to the next."""
    levels = sum(kind in _FRAMES for kind in _units(bytes(packets[1].data))) - 1 if len(packets) > 1 else 0
    return 2**levels - 1 if levels > 0 else 0


def _units(data: bytes) -> list[int]:
    """Types of the OBUs of a temporal unit (AV1 5.3)."""
    types, at = [], 0
    while at < len(data):
        header, size, shift, more = data[at], 0, 0, True
        at += 1 + (header >> 2 & 1)
        while more and at < len(data):
            size, shift, more, at = size | (data[at] & 127) << shift, shift + 7, data[at] > 127, at + 1
        types.append(header >> 3 & 15)
        at += size
    return types
