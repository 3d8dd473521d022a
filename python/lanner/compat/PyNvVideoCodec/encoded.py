"""What Encode() and EndEncode() give."""

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import lanner
from lanner.compat.PyNvVideoCodec.arguments import integer, shown
from lanner.compat.PyNvVideoCodec.encoder_times import Times

# NV_ENC_PIC_TYPE of nvEncodeAPI.h.
_P, _B, _I, _IDR = 0, 1, 2, 3
_TYPES = {"P": _P, "B": _B, "I": _I}

Packet = dict[str, Any]


class EncodedPackets(bytes):
    """Packets as PyNvVideoCodec 2.2 gives them, whose bytes in a row are what 1.0 gives.

    len(), iteration and [number] are of the packets: dicts of `data` (bytes), `timestamp` (inputTimeStamp of its picture, else the picture's number) and
    `picture_type` (NV_ENC_PIC_TYPE: 0 P, 1 B, 2 I, 3 IDR), and beyond PyNvVideoCodec `pts` and `dts` (in frames of the first rate; a Fraction where after a
    change of the rate a time lies between two) and `key` (bool).
    bytes(), bytearray(), b"".join() and file.write() take the bytes of all packets.
    """

    packets: tuple[Packet, ...]

    def __new__(cls, packets: Iterable[Packet] = ()) -> "EncodedPackets":
        kept = tuple(packets)
        self = super().__new__(cls, b"".join(packet["data"] for packet in kept))
        self.packets = kept
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (self.packets,)

    def __len__(self) -> int:
        return len(self.packets)

    def __iter__(self) -> Iterator[Packet]:  # type: ignore[override]
        return iter(self.packets)

    def __getitem__(self, key: Any) -> Any:
        return list(self.packets[key]) if isinstance(key, slice) else self.packets[key]

    def __repr__(self) -> str:
        return f"<EncodedPackets {len(self)}, {sum(len(packet['data']) for packet in self.packets)} bytes>"

    __str__ = __repr__


def packet_of(packet: lanner.Packet, timestamp: int, times: Times, ivf: "Ivf | None") -> Packet:
    data = bytes(packet.data)
    return {
        "data": data if ivf is None else ivf.wrapped(data, packet.pts or 0), "timestamp": timestamp,
        "picture_type": _IDR if packet.key else _TYPES.get(packet.picture_type or "", _P), "pts": times.of(packet.pts), "dts": times.of(packet.dts),
        "key": packet.key,
    }  # fmt: skip


class Ivf:
    """The container of bare AV1: a header of 32 bytes, and 12 bytes in front of each packet."""

    def __init__(self, width: int, height: int, rate: tuple[int, int]) -> None:
        self._header = struct.pack("<4sHH4sHHIIII", b"DKIF", 0, 32, b"AV01", width, height, *rate, 0, 0)

    def wrapped(self, data: bytes, pts: int) -> bytes:
        header, self._header = self._header, b""
        return header + struct.pack("<IQ", len(data), pts) + data


def patch_ivf_frame_count(buffer: Any, frame_count: int) -> bool:
    """Writes the number of packets into the header of an IVF file that stands in a writable buffer; False where it is none."""
    count = integer("frame_count", frame_count, 0, 2**32 - 1)
    try:
        view = memoryview(buffer).cast("B")
    except TypeError:
        raise TypeError(f"patch_ivf_frame_count: {shown(buffer)} is of the wrong type; expected a bytearray") from None
    if view.readonly:
        raise TypeError("patch_ivf_frame_count: the buffer is read-only; expected a bytearray")
    if len(view) < 32 or bytes(view[:4]) != b"DKIF":
        return False
    view[24:28] = count.to_bytes(4, "little")
    return True
