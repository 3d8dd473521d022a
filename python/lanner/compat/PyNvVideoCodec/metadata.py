"""What SimpleDecoder and ThreadedDecoder tell of a stream."""

import os
from dataclasses import dataclass, field, fields
from typing import Any

import lanner
from lanner.compat.PyNvVideoCodec.packet import NO_PTS


@dataclass(repr=False)
class StreamMetadata:
    """Facts of a stream: sizes in pixels, the exact number of frames, seconds, bits per second."""

    width: int = 0
    height: int = 0
    num_frames: int = 0
    average_fps: float = 0.0
    duration: float = 0.0
    bitrate: float = 0.0
    codec_name: str = ""

    def __repr__(self) -> str:
        lines = [f"{'duration_in_seconds' if one.name == 'duration' else one.name}= {getattr(self, one.name)}" for one in fields(self)]
        return f"<{type(self).__name__} [\n" + "\n".join(lines) + "\n]>"


@dataclass(repr=False)
class ScannedStreamMetadata(StreamMetadata):
    """The same, and what every packet says, in the order of the file. key_frame_indices are numbers of frames in presentation order."""

    key_frame_indices: list[int] = field(default_factory=list)
    packet_size: list[int] = field(default_factory=list)
    pts: list[int] = field(default_factory=list)
    dts: list[int] = field(default_factory=list)


def metadata_of(reader: lanner.VideoReader, source: Any) -> StreamMetadata:
    stream, duration = reader.stream, reader.duration or 0.0
    bits = float(stream.bit_rate)
    if not bits and duration > 0 and isinstance(source, str | os.PathLike):
        bits = 8 * os.path.getsize(source) / duration  # Of the whole file, where the stream says nothing.
    return StreamMetadata(stream.width, stream.height, len(reader), reader.fps or 0.0, duration, bits, stream.codec)


def scanned_metadata_of(reader: lanner.VideoReader, source: Any) -> ScannedStreamMetadata:
    plain = metadata_of(reader, source)
    scanned = ScannedStreamMetadata(**{one.name: getattr(plain, one.name) for one in fields(plain)})
    scanned.key_frame_indices = list(reader.index.keyframes)
    with lanner.Demuxer(source) as demuxer:
        demuxer.select([reader.stream.index])
        for packet in demuxer:
            scanned.packet_size.append(len(packet))
            scanned.pts.append(NO_PTS if packet.pts is None else packet.pts)
            scanned.dts.append(NO_PTS if packet.dts is None else packet.dts)
    return scanned
