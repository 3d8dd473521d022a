"""CreateDemuxer and PyNvDemuxer."""

import io
import itertools
import os
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import lanner
from lanner.compat.PyNvVideoCodec.annexb import AnnexB
from lanner.compat.PyNvVideoCodec.arguments import integer, shown
from lanner.compat.PyNvVideoCodec.codecs import chroma_of, codec_of, color_range_of, color_space_of, frame_bytes, frame_format_of
from lanner.compat.PyNvVideoCodec.enums import ColorRange, ColorSpace, cudaVideoChromaFormat, cudaVideoCodec
from lanner.compat.PyNvVideoCodec.errors import PyNvVCException, PyNvVCExceptionUnsupported, translated
from lanner.compat.PyNvVideoCodec.packet import PacketData

# The longest name of a container, of FFmpeg's list of them, is the one that users know.
_CONTAINERS = {"mov,mp4,m4a,3gp,3g2,mj2": "mp4", "matroska,webm": "matroska"}


class CallbackFile(io.BufferedIOBase):
    """A file that is read once, of a function that fills a bytearray and returns how much of it."""

    def __init__(self, callback: Callable[[bytearray], int]) -> None:
        self._callback = callback

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def read(self, size: int | None = -1) -> bytes:
        buffer = bytearray(size if size and size > 0 else 1 << 16)
        room = len(buffer)
        count = integer("the callback of CreateDemuxer", self._callback(buffer))
        if not 0 <= count <= min(room, len(buffer)):
            raise ValueError(f"the callback of CreateDemuxer: it says that it gave {count} bytes, expected 0 to {min(room, len(buffer))}")
        return bytes(memoryview(buffer)[:count])


class PyNvDemuxer:
    """Packets of the video stream of a file. The last one is empty: Decode() of it gives the frames that are left.

    Made by CreateDemuxer(). It is used by one thread at a time. Every packet has memory of its own.
    """

    def __init__(self, source: str | os.PathLike[str] | Callable[[bytearray], int]) -> None:
        self._source = CallbackFile(source) if callable(source) else os.fspath(source)
        with translated("CreateDemuxer"):
            self._demuxer = lanner.Demuxer(self._source)
        number = self._demuxer.best_video
        if number is None:
            raise PyNvVCExceptionUnsupported(f"CreateDemuxer: {shown(source)} has no video stream")
        self._video = number
        self._stream = self._demuxer.streams[number]
        self._streams = {number: self._stream}
        self._annex_b = AnnexB(self._stream)
        self._index: lanner.StreamIndex | None = None
        self._ended = self._sought = False
        with translated("CreateDemuxer"):
            self._demuxer.select([number])
        self._all_streams = False
        self._context = next(_CONTEXTS)
        _DEMUXERS[self._context] = self

    def __iter__(self) -> Iterator[PacketData]:
        return self

    def __next__(self) -> PacketData:
        if self._ended:
            raise StopIteration
        return self.Demux()

    def Demux(self) -> PacketData:
        """The next packet; an empty one at the end, again and again."""
        self._select(everything=False)
        return self._next()

    def DemuxNoSkipAudio(self) -> PacketData:
        """The next packet of any stream; stream_index and is_video say of which."""
        self._select(everything=True)
        return self._next()

    def _select(self, everything: bool) -> None:
        if everything == self._all_streams:
            return
        with translated("Demux"):
            streams = self._demuxer.streams
            self._demuxer.select([stream.index for stream in streams] if everything else [self._video])
        self._all_streams = everything

    def _next(self) -> PacketData:
        with translated("Demux"):
            packet = next(self._demuxer, None)
        if packet is None:
            self._ended = True
            return PacketData()
        if packet.stream not in self._streams:
            self._streams[packet.stream] = self._demuxer.streams[packet.stream]
        made = PacketData._of(packet, self._streams[packet.stream], self._annex_b if packet.stream == self._video else None)
        made._sought, self._sought = self._sought, False
        return made

    def Seek(self, target: int | float) -> PacketData:
        """Goes on with the last keyframe at or before a frame, and gives its packet.

        target: an int is the number of the frame, as in PyNvVideoCodec 2.2; a float is a time in seconds from the first frame, as in 1.0
        The packet's seek_pts is the frame's pts, for PyNvDecoder.SetSeekPTS().
        """
        pts = self._pts_of_time(target) if isinstance(target, float) else self._pts_of_frame("Seek", integer("Seek", target))
        with translated("Seek"):
            self._demuxer.seek(pts, self._video)
        self._ended, self._sought = False, True
        packet = self.Demux()
        packet.seek_pts = pts
        return packet

    def TimestampFromFrame(self, frame: int) -> float:
        """Seconds from the first frame to this one, by the frames' own times."""
        index = self._frames("TimestampFromFrame")
        pts = self._pts_of_frame("TimestampFromFrame", integer("TimestampFromFrame", frame))
        return float((pts - (index.pts[0] or 0)) * index.time_base)

    def isSeekDone(self, pts: int, target: int) -> int:
        """-1 where pts is before the target, 0 where the target is shown at pts, 1 behind it."""
        pts, target = integer("isSeekDone", pts), integer("isSeekDone", target)
        rate = self._stream.average_rate
        frame = float(1 / self._stream.time_base) / rate if rate > 0 and self._stream.time_base else 1
        return -1 if pts < target else 0 if pts - target < frame else 1

    def _frames(self, call: str) -> lanner.StreamIndex:
        if isinstance(self._source, CallbackFile):
            raise PyNvVCExceptionUnsupported(f"{call}: a demuxer over a callback cannot go back; open a file by its name")
        if self._index is None:
            with translated(call):
                with lanner.VideoReader(self._source, stream=self._video, rotate=False) as reader:
                    self._index = reader.index
        return self._index

    def _pts_of_frame(self, call: str, number: int) -> int:
        times = self._frames(call).pts
        if not 0 <= number < len(times):
            raise PyNvVCException(f"{call}: frame {number}, expected 0 to {len(times) - 1}")
        pts = times[number]
        if pts is None:
            raise PyNvVCExceptionUnsupported(f"{call}: the stream has no times to seek by; SimpleDecoder takes its frames by number")
        return pts

    def _pts_of_time(self, seconds: float) -> int:
        index = self._frames("Seek")
        first = self._pts_of_frame("Seek", 0)
        if not 0 <= seconds < 2**40:
            raise ValueError(f"Seek: {seconds} seconds, expected 0 or more")
        return first + int(seconds / index.time_base)

    def Width(self) -> int:
        return self._stream.width

    def Height(self) -> int:
        return self._stream.height

    def FrameRate(self) -> float:
        """Average frames per second, by the container; 0 where it does not say."""
        return self._stream.average_rate

    def _rate(self) -> tuple[int, int]:
        from fractions import Fraction

        rate = Fraction(self._stream.average_rate).limit_denominator(1001 * 1000)
        return rate.numerator, rate.denominator if rate else 0

    def AvgFrameRateNum(self) -> int:
        return self._rate()[0]

    def AvgFrameRateDen(self) -> int:
        return self._rate()[1]

    # Lanner knows one rate of a stream.
    RFrameRate, RFrameRateNum, RFrameRateDen = FrameRate, AvgFrameRateNum, AvgFrameRateDen

    def FrameSize(self) -> int:
        """Bytes of a frame in native format."""
        return frame_bytes(self._stream.width, self._stream.height, frame_format_of(self._stream)[1])

    def BitDepth(self) -> int:
        return self._stream.bit_depth

    def ChromaFormat(self) -> cudaVideoChromaFormat:
        return chroma_of(self._stream)

    def ColorSpace(self) -> ColorSpace:
        return color_space_of(self._stream)

    def ColorRange(self) -> ColorRange:
        return color_range_of(self._stream)

    def GetNvCodecId(self) -> cudaVideoCodec:
        return codec_of(self._stream)

    def GetContainerName(self) -> str:
        """FFmpeg's name; `mp4` for its family."""
        return _CONTAINERS.get(self._demuxer.format, self._demuxer.format)

    def GetTimebaseNum(self) -> int:
        return self._stream.time_base.numerator

    def GetTimebaseDen(self) -> int:
        return self._stream.time_base.denominator

    def GetVideoStreamId(self) -> int:
        return self._video

    def GetAudioStreamId(self) -> int:
        """Number of the first audio stream, -1 without one."""
        return next((stream.index for stream in self._demuxer.streams if stream.kind == "audio"), -1)

    def GetAVFormatInputContext(self) -> int:
        """What FFmpegMuxer and CreateEncoder take for this demuxer: a number of Lanner's own, no address."""
        return self._context


# What GetAVFormatInputContext() gave, of the demuxers that are still there.
_CONTEXTS = itertools.count(1 << 20)
_DEMUXERS: weakref.WeakValueDictionary[int, PyNvDemuxer] = weakref.WeakValueDictionary()


def demuxer_of(name: str, context: Any) -> PyNvDemuxer:
    """The demuxer of what its GetAVFormatInputContext() gave."""
    found = _DEMUXERS.get(integer(name, context))
    if found is None:
        raise PyNvVCException(f"{name}: {context} is not what GetAVFormatInputContext() of an open demuxer gives; no pointer into FFmpeg is taken")
    return found


def CreateDemuxer(filename: Any = None, callback: Any = None, **others: Any) -> PyNvDemuxer:
    """Opens a file, or what a function gives.

    filename: path of a video file; callback, or a function in its place: called with a bytearray, fills it and returns how many bytes it put in,
    0 at the end
    """
    if others:
        raise TypeError(f"CreateDemuxer: unknown argument '{next(iter(others))}'; known are filename, callback")
    if (filename is None) == (callback is None):
        raise TypeError("CreateDemuxer: expected a filename or a callback, one of the two")
    source = filename if callback is None else callback
    if not callable(source) and not isinstance(source, str | bytes | os.PathLike):
        raise TypeError(f"CreateDemuxer: {shown(source)} is of the wrong type; expected a path, or a function that fills a bytearray")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback: {shown(callback)} is of the wrong type; expected a function that fills a bytearray")
    return PyNvDemuxer(source)
