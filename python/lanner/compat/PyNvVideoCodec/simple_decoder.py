"""SimpleDecoder: frames of a file by number."""

from collections.abc import Iterable, Iterator
from typing import Any

from lanner.compat.PyNvVideoCodec.arguments import integer, shown
from lanner.compat.PyNvVideoCodec.enums import OutputColorType
from lanner.compat.PyNvVideoCodec.errors import translated
from lanner.compat.PyNvVideoCodec.frame import DecodedFrame
from lanner.compat.PyNvVideoCodec.metadata import ScannedStreamMetadata, StreamMetadata
from lanner.compat.PyNvVideoCodec.sessions import SESSIONS
from lanner.compat.PyNvVideoCodec.sources import Source


class SimpleDecoder:
    """Frames of a video by number, slice, batch and iteration, as of a sequence. Threads may share it."""

    def __init__(
        self,
        enc_file_path: Any,
        gpu_id: int = 0,
        cuda_context: int = 0,
        cuda_stream: int = 0,
        use_device_memory: bool = True,
        max_width: int = 0,
        max_height: int = 0,
        need_scanned_stream_metadata: bool = False,
        decoder_cache_size: int = 4,
        output_color_type: OutputColorType = OutputColorType.NATIVE,
        bWaitForSessionWarmUp: bool = False,
        enableDecodeStats: bool = False,
    ) -> None:
        """Opens a video.

        enc_file_path: path, bytes, or a seekable binary file
        gpu_id, cuda_context, cuda_stream, use_device_memory, max_width, max_height, output_color_type, bWaitForSessionWarmUp, enableDecodeStats:
        as of CreateDecoder
        need_scanned_stream_metadata: allow get_scanned_stream_metadata()
        decoder_cache_size: so many videos stay open for reconfigure_decoder()
        """
        self._source = Source("SimpleDecoder", {name: value for name, value in locals().items() if name != "self"})
        self._next = 0

    def __len__(self) -> int:
        with translated("SimpleDecoder"):
            return len(self._source.reader)

    def __getitem__(self, key: int | slice) -> DecodedFrame | list[DecodedFrame]:
        """A frame, or the frames of a slice; negative numbers count from the end."""
        if isinstance(key, slice):
            return self._at(range(*key.indices(len(self))))
        return self._at([integer("SimpleDecoder", key)])[0]

    def __iter__(self) -> Iterator[DecodedFrame]:
        """From the first frame on."""
        source = self._source
        frames = iter(source.reader)
        while True:
            with translated("SimpleDecoder"):
                frame = next(frames, None)
            if frame is None:
                return
            yield source.frame(frame)

    def _at(self, numbers: Iterable[int]) -> list[DecodedFrame]:
        wanted = list(numbers)
        with translated("SimpleDecoder"):
            return [self._source.frame(frame) for frame in self._source.reader[wanted]] if wanted else []

    def _in_order(self, begin: int, end: int) -> list[DecodedFrame]:
        """One by one: each goes on where the one before ended, also from call to call."""
        reader = self._source.reader
        with translated("SimpleDecoder"):
            return [self._source.frame(reader[number]) for number in range(begin, end)]

    def get_batch_frames(self, batch_size: int) -> list[DecodedFrame]:
        """The next frames, from the first one or from seek_to_index() on; fewer at the end, then none."""
        count = integer("batch_size", batch_size, 1)
        begin = self._next
        self._next = min(begin + count, len(self))
        return self._in_order(begin, self._next)

    def get_batch_frames_by_index(self, indices: Iterable[int]) -> list[DecodedFrame]:
        """One frame for each number, in their order; numbers may repeat. IndexError outside of the video."""
        if not hasattr(indices, "__iter__"):
            raise TypeError(f"indices: {shown(indices)} is of the wrong type; expected numbers of frames, like [0, 5]")
        return self._at([integer("indices", index) for index in indices])

    def get_stream_metadata(self) -> StreamMetadata:
        return self._source.metadata()

    def get_scanned_stream_metadata(self) -> ScannedStreamMetadata:
        return self._source.scanned_metadata()

    def seek_to_index(self, index: int) -> None:
        """get_batch_frames() goes on with this frame."""
        number, size = integer("index", index), len(self)
        if not 0 <= number < size:
            raise IndexError(f"seek_to_index: frame {number} of {size}")
        self._next = number

    def get_index_from_time_in_seconds(self, time_in_seconds: float) -> int:
        """Number of the frame that is shown so many seconds after the first one. PyNvVCException behind the last one's end."""
        with translated("get_index_from_time_in_seconds"):
            reader = self._source.reader
            first = reader.times([0])[0] or 0.0
            return reader.index_at(first + time_in_seconds)

    def reconfigure_decoder(self, new_source: Any) -> None:
        """Goes on with another video. Where it cannot be opened the one before stays."""
        self._source.turn_to(new_source)
        self._next = 0

    def stop(self) -> None:
        """Closes the file and ends decoding; frames that were given out stay valid."""
        self._source.close()

    def get_session_init_time(self) -> int:
        """Milliseconds that opening took."""
        return self._source.init_time

    @staticmethod
    def set_session_count(count: int) -> None:
        """How many decoders bWaitForSessionWarmUp waits for."""
        SESSIONS.set_count(count)


CreateSimpleDecoder = SimpleDecoder
