"""PacketData: a piece of a compressed stream."""

import ctypes
from typing import Any

import lanner
from lanner.compat.PyNvVideoCodec.annexb import AnnexB
from lanner.compat.PyNvVideoCodec.arguments import integer
from lanner.compat.PyNvVideoCodec.enums import VideoPacketFlag

NO_PTS = -(2**63)  # FFmpeg's AV_NOPTS_VALUE, as PyNvVideoCodec gives it.
_NUMBERS = {
    "key": 0, "pts": 0, "dts": 0, "pos": 0, "duration": 0, "decode_flag": 0, "bDiscontinuity": 0, "seek_pts": 0, "stream_index": -1, "is_video": 1,
    "discardable": 0,
}  # fmt: skip


class PacketData:
    """Compressed bytes at an address, with their times.

    key, pts, dts, pos, duration: of the packet, times in ticks of the stream; what the stream does not say is -2**63
    bsl, bsl_data: size and address of the bytes; of H.264 and HEVC behind start codes. They stay valid as long as the packet
    decode_flag: VideoPacketFlag; bDiscontinuity: 1 where times jump; seek_pts: of the frame that Seek() was asked for

    A packet made by hand has to keep what its address points at until Decode() has returned.
    """

    key: int
    pts: int
    dts: int
    pos: int
    duration: int
    decode_flag: int
    bDiscontinuity: int
    seek_pts: int
    stream_index: int
    is_video: int
    discardable: int

    def __init__(self) -> None:
        self.__dict__.update(_NUMBERS)
        self._packet: lanner.Packet | None = None
        self._stream: lanner.StreamInfo | None = None
        self._annex_b: AnnexB | None = None
        self._bytes: Any = None  # Keeps what _address points at.
        self._size: int = 0
        self._address: int = 0
        self._is_prepared = True
        self._sought = False

    @classmethod
    def _of(cls, packet: lanner.Packet, stream: lanner.StreamInfo, annex_b: AnnexB | None) -> "PacketData":
        self = cls()
        self.__dict__.update(
            _packet=packet, _stream=stream, _annex_b=annex_b, stream_index=packet.stream, is_video=int(stream.kind == "video"), key=int(packet.key),
            pts=NO_PTS if packet.pts is None else packet.pts, dts=NO_PTS if packet.dts is None else packet.dts, pos=packet.pos,
            duration=packet.duration, bDiscontinuity=int(packet.discontinuity), discardable=int(packet.discard), _is_prepared=False,
        )  # fmt: skip
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _NUMBERS:
            value = integer(name, value, -(2**63), 2**63 - 1)
        elif not name.startswith("_") and name not in ("bsl", "bsl_data"):
            raise AttributeError(f"PacketData has no attribute '{name}'; it has bsl, bsl_data, {', '.join(_NUMBERS)}")
        object.__setattr__(self, name, value)

    def _prepare(self) -> None:
        """Finds the bytes when somebody looks at them: a decoder takes the packet as the container has it."""
        if self._is_prepared or self._packet is None:
            return
        self._is_prepared = True
        found = self._packet.data if self._annex_b is None else self._annex_b.convert(self._packet)
        if isinstance(found, memoryview):
            self._address = self._packet.ptr if len(found) else 0
        else:
            self._bytes = ctypes.create_string_buffer(bytes(found), len(found))
            self._address = ctypes.addressof(self._bytes)
        self._size = len(found)

    @property
    def bsl(self) -> int:
        self._prepare()
        return self._size

    @bsl.setter
    def bsl(self, size: int) -> None:
        self._prepare()
        self._packet = None
        self._size = integer("bsl", size, 0, 2**63 - 1)

    @property
    def bsl_data(self) -> int:
        self._prepare()
        return self._address

    @bsl_data.setter
    def bsl_data(self, address: int) -> None:
        self._prepare()
        self._packet = None
        self._address = integer("bsl_data", address, 0, 2**64 - 1)

    def _is_end(self) -> bool:
        size = len(self._packet) if self._packet is not None else self._size
        return size == 0 or bool(self.decode_flag & VideoPacketFlag.ENDOFSTREAM)

    def _to_lanner(self) -> lanner.Packet:
        """What a decoder takes, with the times that the packet has by now."""
        packet = self._packet
        pts, dts = (None if value == NO_PTS else value for value in (self.pts, self.dts))
        key, jumps = bool(self.key), bool(self.bDiscontinuity or self.decode_flag & VideoPacketFlag.DISCONTINUITY)
        if packet is not None:
            if (packet.pts, packet.dts, packet.key, packet.discontinuity) == (pts, dts, key, jumps):
                return packet
            return lanner.Packet(
                packet, stream=packet.stream, pts=pts, dts=dts, duration=packet.duration, pos=packet.pos, key=key, discard=packet.discard,
                discontinuity=jumps, corrupt=packet.corrupt,
            )  # fmt: skip
        if not self._address:
            raise ValueError(f"PacketData: {self._size} bytes at address 0; set bsl_data to the address of the bytes")
        data = ctypes.string_at(self._address, self._size)
        return lanner.Packet(data, pts=pts, dts=dts, duration=max(0, self.duration), key=key, discontinuity=jumps)

    def __repr__(self) -> str:
        values = [(name, getattr(self, name)) for name in ("key", "pts", "dts", "pos", "bsl", "bsl_data", "duration")]
        values += [("decode flag", self.decode_flag), ("stream_index", self.stream_index), ("is_video", self.is_video), ("discardable", self.discardable)]
        return "".join(f"{name + ':':<10}{value}\n" for name, value in values)
