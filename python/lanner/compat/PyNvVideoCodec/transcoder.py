"""Transcoder, and GetMediaFormat."""

import os
from typing import Any

import lanner
from lanner.compat.PyNvVideoCodec._logging import logger
from lanner.compat.PyNvVideoCodec.arguments import shown
from lanner.compat.PyNvVideoCodec.devices import DeviceChoice
from lanner.compat.PyNvVideoCodec.encoder_device import tell_of_software
from lanner.compat.PyNvVideoCodec.encoder_options import encoder_options
from lanner.compat.PyNvVideoCodec.enums import MEDIA_FORMAT
from lanner.compat.PyNvVideoCodec.errors import PyNvVCException, PyNvVCExceptionUnsupported, translated


def _path(name: str, given: Any) -> str:
    if not isinstance(given, str | os.PathLike):
        raise TypeError(f"{name}: {shown(given)} is of the wrong type; expected a path")
    return os.fsdecode(os.fspath(given))


def _seconds(name: str, given: Any) -> float:
    if isinstance(given, bool) or not hasattr(given, "__float__"):
        raise TypeError(f"{name}: {shown(given)} is of the wrong type; expected seconds")
    return float(given)


def _in_name(seconds: float) -> str:
    """0.3, 2, 12.345678: as PyNvVideoCodec's samples expect."""
    return f"{seconds:.6f}".rstrip("0").rstrip(".")


class Transcoder:
    """Decodes a clip and encodes it, both on the GPU where it can; audio and what else the file holds are copied as they are."""

    def __init__(self, enc_file_path: Any, muxed_file_path: Any, gpu_id: int, cuda_context: int, cuda_stream: int, **kwargs: Any) -> None:
        """Opens a clip.

        enc_file_path: of the clip; muxed_file_path: to write, whose extension chooses the container
        gpu_id: of the GPU that decodes and encodes, where there is one; cuda_context, cuda_stream: no effect
        kwargs: keywords of CreateEncoder() but those of size and rate; without a rate the quality is constant
        """
        self._source, self._output = _path("enc_file_path", enc_file_path), _path("muxed_file_path", muxed_file_path)
        self._device = DeviceChoice.of(gpu_id, cuda_context, cuda_stream, True)
        self._options = encoder_options("Transcoder", kwargs, of_file=True).lanner
        with translated("Transcoder"):
            if lanner.Demuxer(self._source).best_video is None:
                raise PyNvVCExceptionUnsupported(f"Transcoder: {shown(self._source)} has no video stream")
        if self._device.gpu is None:
            tell_of_software("there is no GPU")

    def transcode_with_mux(self) -> None:
        """Writes the whole clip. The file appears when it is whole."""
        self._write(self._output)

    def segmented_transcode(self, start: float, end: float) -> None:
        """Writes what is shown from `start` to `end`, in seconds, into a file of its own: out_0.5_2.mp4 beside out.mp4."""
        begin, stop = _seconds("start", start), _seconds("end", end)
        if not 0 <= begin < stop < float("inf"):
            raise PyNvVCException(f"segmented_transcode: from {begin:g} to {stop:g} seconds, expected 0 <= start < end")
        stem, extension = os.path.splitext(self._output)
        self._write(f"{stem}_{_in_name(begin)}_{_in_name(stop)}{extension}", start=begin, end=stop)

    def _write(self, path: str, **part: Any) -> None:
        with translated("Transcoder"):
            result = self._transcode(path, part)
        for note in result.notes:
            logger.warning("%s: %s", path, note)

    def _transcode(self, path: str, part: dict[str, Any]) -> lanner.TranscodeResult:
        """On the GPU; what it does not do, on the CPU, which is told."""
        gpu = "cpu" if self._device.gpu is None else f"cuda:{self._device.gpu}"
        ways = [(gpu, gpu), ("cpu", gpu), (gpu, "cpu"), ("cpu", "cpu")] if gpu != "cpu" else [("cpu", "cpu")]
        refused: lanner.Unsupported | None = None
        for decoder, encoder in ways:
            try:
                result = lanner.transcode(self._source, path, device=decoder, encoder_device=encoder, **part, **self._options)
            except lanner.Unsupported as error:
                refused = refused or error
                continue
            if refused and encoder == "cpu":
                tell_of_software(str(refused))
            if refused and decoder == "cpu":
                logger.warning("decoding on the CPU: %s", refused)
            return result
        assert refused is not None
        raise refused


def CreateTranscoder(encSource: Any, muxedDst: Any, gpuId: int = 0, cudaContext: int = 0, cudaStream: int = 0, kwargs: Any = None) -> Transcoder:
    """A Transcoder; its keywords as a dict."""
    if kwargs is not None and not isinstance(kwargs, dict):
        raise TypeError(f"kwargs: {shown(kwargs)} is of the wrong type; expected a dict")
    return Transcoder(encSource, muxedDst, gpuId, cudaContext, cudaStream, **(kwargs or {}))


_FORMATS = {".mp4": MEDIA_FORMAT.MP4, ".mov": MEDIA_FORMAT.MOV, ".webm": MEDIA_FORMAT.WEBM} | dict.fromkeys(
    (".h264", ".264", ".hevc", ".h265", ".265", ".av1", ".obu", ".ivf"), MEDIA_FORMAT.ELEMENTARY
)


def GetMediaFormat(filename: Any) -> MEDIA_FORMAT:
    """Of a file, by its extension."""
    extension = os.path.splitext(_path("filename", filename))[1].lower()
    if extension not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise PyNvVCExceptionUnsupported(f"GetMediaFormat: '{extension}' of {shown(filename)} has no MEDIA_FORMAT; those that have one are {known}")
    return _FORMATS[extension]
