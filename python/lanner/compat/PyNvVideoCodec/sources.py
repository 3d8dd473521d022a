"""What SimpleDecoder and ThreadedDecoder are opened on, and the readers that they keep open."""

import os
from collections import OrderedDict
from typing import Any

import lanner
from lanner.compat.PyNvVideoCodec.arguments import flag, integer, member, shown
from lanner.compat.PyNvVideoCodec.decoder import refuse_statistics
from lanner.compat.PyNvVideoCodec.devices import DeviceChoice
from lanner.compat.PyNvVideoCodec.enums import OutputColorType
from lanner.compat.PyNvVideoCodec.errors import PyNvVCException, translated
from lanner.compat.PyNvVideoCodec.frame import DecodedFrame
from lanner.compat.PyNvVideoCodec.metadata import ScannedStreamMetadata, StreamMetadata, metadata_of, scanned_metadata_of
from lanner.compat.PyNvVideoCodec.sessions import SESSIONS


def source_of(given: Any) -> Any:
    """A path as str, bytes, or a seekable binary file."""
    if isinstance(given, str):
        return given
    if isinstance(given, os.PathLike):
        return os.fspath(given)
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(given)
    if not (hasattr(given, "read") and hasattr(given, "seek")):
        raise TypeError(f"enc_file_path: {shown(given)} is of the wrong type; expected a path, bytes or a seekable binary file")
    if hasattr(given, "seekable") and not given.seekable():
        raise ValueError(f"enc_file_path: {shown(given)} cannot seek; expected a seekable binary file")
    return given


class Source:
    """A reader of one source at a time, and of those before it; threads may share it."""

    def __init__(self, noun: str, given: dict[str, Any]) -> None:
        self._noun = noun
        self._device = DeviceChoice.of(given["gpu_id"], given["cuda_context"], given["cuda_stream"], given["use_device_memory"])
        integer("max_width", given["max_width"], 0), integer("max_height", given["max_height"], 0)
        self._scan = flag("need_scanned_stream_metadata", given["need_scanned_stream_metadata"])
        self._cache_size = integer("decoder_cache_size", given["decoder_cache_size"], 1)
        self._color = member("output_color_type", given["output_color_type"], OutputColorType)
        refuse_statistics(given["enableDecodeStats"])
        self._wait = flag("bWaitForSessionWarmUp", given.get("bWaitForSessionWarmUp", False))
        self._readers: OrderedDict[Any, lanner.VideoReader] = OrderedDict()
        self._current: tuple[Any, lanner.VideoReader] | None = None
        self.init_time = 0
        self.turn_to(given["enc_file_path"])

    def turn_to(self, given: Any) -> None:
        """Goes on with another source. Where it cannot be opened the one before stays, and works as before."""
        source = source_of(given)
        if self._scan and hasattr(source, "read"):
            raise ValueError("need_scanned_stream_metadata: a file object is read in one place at a time; give a path or bytes")
        with translated(self._noun):
            key = self._key(source)
            if key in self._readers:
                reader = self._readers.pop(key)
            else:
                make = lambda: self._device.open(lambda **options: lanner.VideoReader(source, rotate=False, **options))  # noqa: E731
                reader, self.init_time = SESSIONS.begin(make, self._wait)
        self._readers[key] = reader
        self._current = source, reader
        while len(self._readers) > self._cache_size:
            self._readers.popitem(last=False)[1].close()

    @staticmethod
    def _key(source: Any) -> Any:
        """The same for a file that has not changed."""
        if not isinstance(source, str):
            return id(source), source  # Kept, so that nothing else gets its number.
        try:
            facts = os.stat(source)
        except (OSError, ValueError):
            return source
        return source, facts.st_size, facts.st_mtime_ns, facts.st_ino

    @property
    def reader(self) -> lanner.VideoReader:
        if self._current is None:
            raise PyNvVCException(f"{self._noun}: it was stopped; make another one")
        return self._current[1]

    def frame(self, frame: lanner.Frame) -> DecodedFrame:
        return DecodedFrame._of(frame, self._color, self._device.device_memory)

    def metadata(self) -> StreamMetadata:
        reader = self.reader
        with translated(self._noun):
            return metadata_of(reader, self._current[0] if self._current else None)

    def scanned_metadata(self) -> ScannedStreamMetadata:
        if not self._scan:
            raise PyNvVCException(f"get_scanned_stream_metadata: the {self._noun} was created without need_scanned_stream_metadata")
        reader = self.reader
        with translated(self._noun):
            return scanned_metadata_of(reader, self._current[0] if self._current else None)

    def close(self) -> None:
        """Frames that were given out stay valid."""
        self._current = None
        while self._readers:
            self._readers.popitem()[1].close()
