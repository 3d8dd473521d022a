"""ThreadedDecoder: frames that another thread decodes ahead."""

import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

import lanner
from lanner.compat.PyNvVideoCodec.arguments import integer
from lanner.compat.PyNvVideoCodec.enums import OutputColorType
from lanner.compat.PyNvVideoCodec.errors import PyNvVCException, translated
from lanner.compat.PyNvVideoCodec.frame import DecodedFrame
from lanner.compat.PyNvVideoCodec.metadata import ScannedStreamMetadata, StreamMetadata
from lanner.compat.PyNvVideoCodec.sources import Source


class _Worker:
    """A thread that keeps at most `room` frames ready."""

    def __init__(self, source: Source, start: int, room: int) -> None:
        self._changed = threading.Condition()
        self._ready: deque[DecodedFrame] = deque()
        self._room = room
        self._ended = self._stopped = False
        self._error: BaseException | None = None
        self._frames = self._from(source.reader, start)
        self._thread = threading.Thread(target=self._work, args=(source,), name="ThreadedDecoder", daemon=True)
        self._thread.start()

    @staticmethod
    def _from(reader: lanner.VideoReader, start: int) -> Iterator[lanner.Frame]:
        if start == 0:
            yield from reader
        else:
            yield from (reader[number] for number in range(start, len(reader)))  # Each goes on where the one before ended.

    def _work(self, source: Source) -> None:
        try:
            for frame in self._frames:
                made = source.frame(frame)
                with self._changed:
                    self._changed.wait_for(lambda: self._stopped or len(self._ready) < self._room)
                    if self._stopped:
                        return
                    self._ready.append(made)
                    self._changed.notify_all()
        except BaseException as error:  # It is raised where frames are asked for.
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def take(self, count: int) -> list[DecodedFrame]:
        """So many frames; fewer at the end. An error is raised when the frames before it were taken."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or len(self._ready) >= count)
            if self._error is not None and not self._ready:
                raise self._error
            frames = [self._ready.popleft() for _ in range(min(count, len(self._ready)))]
            self._changed.notify_all()
        return frames

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._thread.join()


class ThreadedDecoder:
    """Frames of a video in order, decoded ahead by a thread of its own, which ends with the video, end() or the object."""

    def __init__(
        self,
        enc_file_path: Any,
        buffer_size: int,
        gpu_id: int = 0,
        cuda_context: int = 0,
        cuda_stream: int = 0,
        use_device_memory: bool = True,
        max_width: int = 0,
        max_height: int = 0,
        need_scanned_stream_metadata: bool = False,
        decoder_cache_size: int = 4,
        output_color_type: OutputColorType = OutputColorType.NATIVE,
        start_frame: int = 0,
        enableDecodeStats: bool = False,
    ) -> None:
        """Opens a video and begins to decode.

        buffer_size: frames that are kept ready; a batch is no larger
        start_frame: number of the first frame
        The others are as of SimpleDecoder.
        """
        given = {name: value for name, value in locals().items() if name != "self"}
        self._room = integer("buffer_size", buffer_size, 1)
        self._worker: _Worker | None = None
        self._source = Source("ThreadedDecoder", given)
        self._begin(start_frame)

    def _begin(self, start: int) -> None:
        number, size = integer("start_frame", start, 0), len(self)
        if number >= size:
            raise IndexError(f"start_frame: frame {number} of {size}")
        self._worker = _Worker(self._source, number, self._room)

    def __len__(self) -> int:
        with translated("ThreadedDecoder"):
            return len(self._source.reader)

    def get_batch_frames(self, batch_size: int) -> list[DecodedFrame]:
        """The next frames; fewer at the end, then none."""
        count = integer("batch_size", batch_size, 1)
        if count > self._room:
            raise PyNvVCException(f"batch_size: {count} frames, expected at most buffer_size, which is {self._room}")
        if self._worker is None:
            raise PyNvVCException("ThreadedDecoder: it was ended; make another one")
        with translated("ThreadedDecoder"):
            return self._worker.take(count)

    def get_stream_metadata(self) -> StreamMetadata:
        return self._source.metadata()

    def get_scanned_stream_metadata(self) -> ScannedStreamMetadata:
        return self._source.scanned_metadata()

    def reconfigure_decoder(self, new_source: Any, start_frame: int = 0) -> None:
        """Goes on with another video, from a frame of it on. Where it cannot be opened the one before goes on."""
        integer("start_frame", start_frame, 0)
        self._source.turn_to(new_source)
        self._stop()
        self._begin(start_frame)

    def _stop(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop()

    def end(self) -> None:
        """Ends the thread and closes the file; frames that were given out stay valid. Nothing happens the second time."""
        self._stop()
        self._source.close()

    def __del__(self) -> None:
        if getattr(self, "_worker", None) is not None:
            self._stop()


CreateThreadedDecoder = ThreadedDecoder
