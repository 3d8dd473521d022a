"""FFmpegMuxer: packets of an encoder, and the sound of a demuxer, into a file."""

import ctypes
import os
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import lanner
from lanner.compat.PyNvVideoCodec._logging import logger
from lanner.compat.PyNvVideoCodec.arguments import flag, integer, member, shown
from lanner.compat.PyNvVideoCodec.demuxer import PyNvDemuxer, demuxer_of
from lanner.compat.PyNvVideoCodec.enums import MEDIA_FORMAT
from lanner.compat.PyNvVideoCodec.errors import PyNvVCException, translated
from lanner.compat.PyNvVideoCodec.headers import begins_decoding, headers_of
from lanner.compat.PyNvVideoCodec.packet import NO_PTS, PacketData

_BARE = {"h264": "h264", "hevc": "hevc", "av1": "obu"}
_CONTAINERS = {MEDIA_FORMAT.MOV: "mov", MEDIA_FORMAT.MP4: "mp4", MEDIA_FORMAT.WEBM: "webm"}
_ALONE = {"codec": None, "width": None, "height": None, "fps_num": 30, "fps_den": 1, "timebase_num": 1, "timebase_den": 90000, "extradata": b""}
_OF_SOURCE = {"in_format_context": None, "codec": None, "width": None, "height": None, "extradata": b""}
_I, _IDR = 2, 3  # NV_ENC_PIC_TYPE of nvEncodeAPI.h.


def _arguments(args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Those behind file_path and media_format, of one of the two constructors."""
    of_source = "in_format_context" in kwargs or (bool(args) and not isinstance(args[0], str))
    known: dict[str, Any] = _OF_SOURCE if of_source else _ALONE
    if len(args) > len(known):
        raise TypeError(f"FFmpegMuxer: {len(args) + 2} arguments, expected at most {len(known) + 2}")
    given = dict(zip(known, args, strict=False))
    for name, value in kwargs.items():
        if name not in known:
            raise TypeError(f"FFmpegMuxer: unknown argument '{name}'; known are file_path, media_format, {', '.join(known)}")
        if name in given:
            raise TypeError(f"FFmpegMuxer: '{name}' is given twice")
        given[name] = value
    missing = [name for name, value in known.items() if value is None and name not in given]
    if missing:
        raise TypeError(f"FFmpegMuxer: {missing[0]} is missing; expected file_path, media_format, {', '.join(known)}")
    return known | given


def _bytes(name: str, given: Any) -> bytes:
    try:
        return bytes(memoryview(given))
    except TypeError:
        raise TypeError(f"{name}: {shown(given)} is of the wrong type; expected bytes") from None


def _packet_data(call: str, given: Any) -> PacketData:
    if not isinstance(given, PacketData):
        raise TypeError(f"{call}: {shown(given)} is of the wrong type; expected PacketData")
    return given


class _Sound(NamedTuple):
    """A packet of the source that waits, and the times that it is written with."""

    packet: lanner.Packet
    stream: int  # of the source
    pts: int
    dts: int
    duration: int


class FFmpegMuxer:
    """Writes the packets of an encoder, and the sound of a demuxer as it is, into a file, which appears with Finalize().

    FFmpegMuxer(file_path, media_format, codec, width, height, fps_num=30, fps_den=1, timebase_num=1, timebase_den=90000, extradata=b"")
    FFmpegMuxer(file_path, media_format, in_format_context, codec, width, height, extradata=b""): times are those of a demuxer's video

    media_format: MEDIA_FORMAT, as of GetMediaFormat(); codec: h264, hevc or av1; extradata: GetSequenceParams() of the encoder, else those of the first
    keyframe are taken; in_format_context: what GetAVFormatInputContext() of the demuxer gives
    It is used by one thread at a time.
    """

    def __init__(self, file_path: Any, media_format: Any, *args: Any, **kwargs: Any) -> None:
        given = _arguments(args, kwargs)
        if not isinstance(file_path, str | os.PathLike):
            raise TypeError(f"file_path: {shown(file_path)} is of the wrong type; expected a path")
        self._path = os.fspath(file_path)
        format_ = member("media_format", media_format, MEDIA_FORMAT)
        self._codec = str(given["codec"]).lower()
        if self._codec not in _BARE:
            raise PyNvVCException(f"codec: {shown(given['codec'])}, expected one of {', '.join(_BARE)}")
        self._size = integer("width", given["width"], 1, 2**16), integer("height", given["height"], 1, 2**16)
        self._extradata = _bytes("extradata", given["extradata"])
        self._source: PyNvDemuxer | None = None
        if "in_format_context" in given:
            self._source = demuxer_of("in_format_context", given["in_format_context"])
            self._time_base, self._rate = self._source._stream.time_base, Fraction(self._source.AvgFrameRateNum(), self._source.AvgFrameRateDen() or 1)
        else:
            self._time_base = Fraction(*(integer(name, given[name], 1, 2**31 - 1) for name in ("timebase_num", "timebase_den")))
            self._rate = Fraction(*(integer(name, given[name], 1, 2**31 - 1) for name in ("fps_num", "fps_den")))
        self._increment = 0
        self._recorded: list[tuple[int, int]] = []  # pts and duration of the source's pictures.
        self._queue: list[tuple[bytes, bool, int] | _Sound] = []
        self._numbers: dict[int, int] = {}  # In the file, of the source's streams.
        self._left_out: set[int] = set()
        self._begun = self._ended = False
        with translated("FFmpegMuxer"):
            self._muxer = lanner.Muxer(self._path, container=_CONTAINERS.get(format_) or _BARE[self._codec])

    def __del__(self) -> None:
        """As PyNvVideoCodec's: packets that wait are not lost where a script forgets Finalize()."""
        if getattr(self, "_queue", None) and not self._ended and not sys.is_finalizing():
            logger.warning("FFmpegMuxer: Finalize() was not called; %d packets are written now", len(self._queue))
            try:
                self.Finalize()
            except Exception as error:  # Nobody is there to catch it.
                logger.error("FFmpegMuxer: %s", error)

    def Mux(self, data: Any, pts: int, dts: int, duration: int, stream_index: int = 0, is_key_frame: bool = False, numb: int = 0) -> bool:
        """Writes a packet with these times, in ticks of the file's time base; of another stream of the source in its own. True."""
        integer("numb", numb)
        index = integer("stream_index", stream_index, 0)
        packet = lanner.Packet(
            _bytes("data", data), pts=integer("pts", pts, -(2**62), 2**62), dts=integer("dts", dts, -(2**62), 2**62),
            duration=integer("duration", duration, 0, 2**62), key=flag("is_key_frame", is_key_frame),
        )  # fmt: skip
        self._refuse_late("Mux")
        with translated("Mux"):
            self._begin(packet.data)
            number = 0 if index == self._video else self._numbers.get(index)
            if number is None:
                raise PyNvVCException(f"Mux: stream_index {index}: there is no such stream in the file")
            self._muxer.write(packet, stream=number)
        return True

    def SetUniformPtsIncrement(self, pts_inc: int) -> None:
        """Ticks of the time base from one input_timestamp to the next; without it they follow from the rate."""
        self._increment = integer("pts_inc", pts_inc, 1, 2**31 - 1)

    def RecordSourceVideoPacket(self, packet: PacketData) -> None:
        """Keeps the time of a picture that is going to be decoded and encoded. Others, and those that are not shown, count for nothing."""
        one = _packet_data("RecordSourceVideoPacket", packet)
        if one.is_video and not one.discardable and (one._packet is not None or one.bsl):
            self._recorded.append((one.pts, one.duration))

    def MuxVideoPacket(self, data: Any, picture_type: int, input_timestamp: int) -> None:
        """Keeps a packet for Finalize(): `data`, `picture_type` and `timestamp` of what Encode() and EndEncode() give."""
        content = _bytes("data", data)
        kind = integer("picture_type", picture_type, 0)
        stamp = integer("input_timestamp", input_timestamp, 0, 2**63 - 1)
        self._refuse_late("MuxVideoPacket")
        if content.startswith(b"DKIF"):
            raise PyNvVCException("MuxVideoPacket: the packet is in IVF already; give CreateEncoder use_ivf_container=0")
        key = kind == _IDR or (kind == _I and begins_decoding(self._codec, content))
        self._queue.append((content, key, stamp))

    def PreparePassthroughPacket(self, packet: PacketData) -> int | None:
        """The pts that a packet of sound is written with; None for one that is left out."""
        one = _packet_data("PreparePassthroughPacket", packet)
        if self._source is None or one.pts == NO_PTS:
            return None
        stream = self._source._streams.get(one.stream_index)
        if stream is None or stream.kind != "audio":
            return None
        return one.dts if NO_PTS < one.dts < one.pts else one.pts

    def MuxPassthroughPacket(self, packet: PacketData) -> bool:
        """Keeps a packet of sound for Finalize(); False for one that is left out."""
        pts = self.PreparePassthroughPacket(packet)
        if pts is None:
            return False
        self._refuse_late("MuxPassthroughPacket")
        kept = packet._packet or lanner.Packet(ctypes.string_at(packet.bsl_data, packet.bsl))
        dts = pts if packet.dts == NO_PTS else min(packet.dts, pts)
        self._queue.append(_Sound(kept, packet.stream_index, pts, dts, max(0, packet.duration)))
        return True

    def Finalize(self) -> None:
        """Writes what was kept, pictures at their times, and completes the file. Nothing happens the second time."""
        if self._ended:
            return
        self._ended = True
        with translated("Finalize"), self._muxer as muxer:
            pictures = [one for one in self._queue if not isinstance(one, _Sound)]
            if not pictures and not self._begun:
                raise PyNvVCException("Finalize: no packet of pictures was given")
            self._begin(next((data for data, key, _ in pictures if key), b""))
            times = iter(self._times([stamp for _, _, stamp in pictures]))
            late = self._lateness
            for one in self._queue:
                if not isinstance(one, _Sound):
                    pts, dts, duration = next(times)
                    muxer.write(lanner.Packet(one[0], pts=pts, dts=dts, duration=duration, key=one[1]))
                else:
                    self._write_sound(one, late)
            self._queue.clear()

    @property
    def _video(self) -> int:
        return 0 if self._source is None else self._source._video

    def _refuse_late(self, call: str) -> None:
        if self._ended:
            raise PyNvVCException(f"{call}: Finalize() was called, which completes the file; make another muxer")

    def _begin(self, first: bytes | memoryview) -> None:
        """Declares the streams: the video, whose headers may stand in its first packet alone, and the sound."""
        if self._begun:
            return
        self._begun = True
        shape: dict[str, Any] = {}
        if self._source is not None:
            stream = self._source._stream
            shape = {"sample_aspect": stream.sample_aspect, "rotation": stream.rotation, "mirror": stream.mirror}
        if self._rate:
            shape["average_rate"] = self._rate
        extradata = self._extradata or headers_of(self._codec, bytes(first))
        self._muxer.add_stream(
            lanner.StreamInfo(self._codec, width=self._size[0], height=self._size[1], time_base=self._time_base, extradata=extradata, **shape)
        )
        if self._source is not None:
            for stream in self._source._demuxer.streams:
                if stream.kind == "audio":
                    self._copy(self._source, stream)

    def _copy(self, source: PyNvDemuxer, stream: lanner.StreamInfo) -> None:
        try:
            self._numbers[stream.index] = self._muxer.copy_stream(source._demuxer, stream.index)
        except lanner.Unsupported as error:
            self._left_out.add(stream.index)
            logger.warning("%s", error)

    def _write_sound(self, sound: _Sound, late: Fraction) -> None:
        number = self._numbers.get(sound.stream)
        if number is None or self._source is None:
            if sound.stream not in self._left_out:  # In MPEG-TS streams show late.
                self._left_out.add(sound.stream)
                logger.warning("%s: stream %d is left out: it began behind the first packets", self._path, sound.stream)
            return
        shift = round(late / self._source._streams[sound.stream].time_base)
        pts, dts = sound.pts + shift, sound.dts + shift
        if (sound.packet.pts, sound.packet.dts) == (pts, dts):
            self._muxer.write(sound.packet, stream=number)  # With what FFmpeg knows of it beside its bytes.
        else:
            self._muxer.write(lanner.Packet(sound.packet, pts=pts, dts=dts, duration=sound.duration, key=True), stream=number)

    @property
    def _lateness(self) -> Fraction:
        """Seconds by which all is shown later, so that nothing begins before 0, which an edit list would hide."""
        first = min((pts for pts, _ in self._recorded if pts != NO_PTS), default=0)
        return max(0, -first) * self._time_base

    def _times(self, stamps: list[int]) -> list[tuple[int, int, int]]:
        """pts, dts and duration of each packet, which come in decoding order."""
        order = sorted(stamps)
        double = next((a for a, b in zip(order, order[1:], strict=False) if a == b), None)
        if double is not None:
            raise PyNvVCException(f"MuxVideoPacket: input_timestamp {double} of two packets; each picture needs its own")
        shown_at, last = self._shown_at(order)
        ranks = {stamp: rank for rank, stamp in enumerate(order)}
        # As many packets as B pictures make a picture wait: from there on each time of decoding is one of showing.
        wait = max((place - ranks[stamp] for place, stamp in enumerate(stamps)), default=0)
        step = shown_at[1] - shown_at[0] if len(shown_at) > 1 else last
        times = []
        for place, stamp in enumerate(stamps):
            rank = ranks[stamp]
            dts = shown_at[place - wait] if place >= wait else shown_at[0] - (wait - place) * step
            end = shown_at[rank + 1] if rank + 1 < len(shown_at) else shown_at[rank] + last
            times.append((shown_at[rank], dts, end - shown_at[rank]))
        return times

    def _shown_at(self, order: list[int]) -> tuple[list[int], int]:
        """Times of the pictures in the order of showing, and how long the last one is shown."""
        step = Fraction(self._increment) or (1 / (self._rate * self._time_base) if self._rate else Fraction(1))
        begin = 0
        if self._recorded:
            recorded = sorted(self._recorded)
            late = round(self._lateness / self._time_base)
            if len(recorded) == len(order) and recorded[0][0] != NO_PTS:
                times: list[int] = []
                for pts, _ in recorded:
                    times.append(max(pts + late, times[-1] + 1) if times else pts + late)
                before = times[-1] - times[-2] if len(times) > 1 else 0
                return times, max(1, recorded[-1][1] or before or round(step))
            begin = recorded[0][0] + late if recorded[0][0] != NO_PTS else 0
            logger.warning(
                "%s: %d packets of pictures, %d pictures of the source: their times are those of a uniform rate", self._path, len(order), len(recorded)
            )
            order = list(range(len(order)))
        return [begin + round(stamp * step) for stamp in order], max(1, round(step))
