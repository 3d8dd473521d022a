"""CreateEncoder and PyNvEncoder, over NVENC or FFmpeg's software encoders."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NoReturn

import lanner
from lanner.compat.PyNvVideoCodec._logging import logger
from lanner.compat.PyNvVideoCodec.arguments import flag, integer, shown
from lanner.compat.PyNvVideoCodec.demuxer import PyNvDemuxer, demuxer_of
from lanner.compat.PyNvVideoCodec.devices import DeviceChoice
from lanner.compat.PyNvVideoCodec.encoded import EncodedPackets, Ivf, packet_of
from lanner.compat.PyNvVideoCodec.encoder_device import device_options, tell_of_software
from lanner.compat.PyNvVideoCodec.encoder_formats import surface_format
from lanner.compat.PyNvVideoCodec.encoder_inputs import Inputs
from lanner.compat.PyNvVideoCodec.encoder_options import encoder_options
from lanner.compat.PyNvVideoCodec.encoder_params import NV_ENC_PIC_PARAMS, request_of, sei_of, structEncodeReconfigureParams
from lanner.compat.PyNvVideoCodec.encoder_structure import preset_b_frames
from lanner.compat.PyNvVideoCodec.encoder_times import Times
from lanner.compat.PyNvVideoCodec.errors import PyNvVCException, PyNvVCExceptionUnsupported, translated


def _of_source(source: PyNvDemuxer, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by which an encoder takes after a clip: its rate, and its matrix and range where no other is given."""
    found: dict[str, Any] = {}
    if source.AvgFrameRateNum():
        found["fps"] = Fraction(source.AvgFrameRateNum(), source.AvgFrameRateDen())
    stream = source._stream
    if "color_matrix" not in options and stream.color_space not in ("unspecified", "rgb"):
        found["color_matrix"] = stream.color_space
        if stream.color_range != "unspecified":
            found["color_range"] = stream.color_range
    return found


class PyNvEncoder:
    """Encodes pictures of one size. Made by CreateEncoder(); used by one thread at a time."""

    def __init__(
        self, width: int, height: int, fmt: str, cudacontext: int, cudastream: int, usecpuinputbuffer: bool, optional_args: Mapping[str, Any]
    ) -> None:
        """As CreateEncoder()."""
        self._size = integer("width", width, 1, 2**16), integer("height", height, 1, 2**16)
        surface = surface_format(fmt)
        on_host = flag("usecpuinputbuffer", usecpuinputbuffer)
        if not isinstance(optional_args, Mapping):
            raise TypeError(f"PyNvEncoder: {shown(optional_args)} is of the wrong type; expected a dict of keywords")
        options, others = encoder_options("CreateEncoder", optional_args)
        if others.get("s", self._size) != self._size:
            raise PyNvVCException(f"s: {others['s'][0]}x{others['s'][1]}, but width and height are {width}x{height}")
        if others.get("source_av_format_context"):
            options |= _of_source(demuxer_of("source_av_format_context", others["source_av_format_context"]), options)
        device = DeviceChoice.of(others.get("gpu_id", 0), cudacontext, cudastream, not on_host)
        if others.get("bf") == 0:
            logger.warning("bf=0: every picture is an I picture, as in Table 1 of the guide; bf=1 is IPP")
        self._options = {"width": width, "height": height, "format": surface.lanner, **options}
        self._rate: Any = None  # After it changed.
        self._own_bound = not any(str(name).lower() == "maxbitrate" for name in optional_args)
        with translated("CreateEncoder"):
            self._encoder = self._open(device)
        by_gpu = "device" in self._options
        self._inputs = Inputs(surface, self._size, device, on_host, by_gpu, options.get("color_matrix", ""), options.get("color_range", "limited"))
        is_ivf = options["codec"] == "av1" and others.get("use_ivf_container", True)
        base: Any = self._encoder.time_base
        self._ivf = Ivf(*self._size, (base.denominator, base.numerator)) if is_ivf else None
        self._pictures = 0
        self._times = Times()
        self._timestamps: dict[int, int] = {}
        self._ended = False

    def _open(self, device: DeviceChoice) -> lanner.Encoder:
        """By the GPU's NVENC; by software where there is none, or none that takes these options, which is told."""
        if device.gpu is None:
            tell_of_software("there is no GPU")
            return lanner.Encoder(**self._options)
        try:
            on_gpu = {**self._options, **device_options(device)}
            encoder = lanner.Encoder(**on_gpu)
        except lanner.Unsupported as error:
            try:
                made = lanner.Encoder(**self._options)
            except lanner.Error as of_software:
                raise error from of_software
            tell_of_software(str(error))
            return made
        self._options = on_gpu
        return encoder

    def Encode(self, frame: Any, pic_flags: Any = 0, sei: Any = None) -> EncodedPackets:
        """Encodes a picture; the packets that are ready, which may be of earlier ones.

        frame: with usecpuinputbuffer=True bytes or an array in host memory, of any shape and the surface format's bytes; else in device memory an object
        whose cuda() gives the planes, each with __cuda_array_interface__, such as AppFrame and DecodedFrame, or one with __cuda_array_interface__ or
        __dlpack__ of all planes below each other: [height * 3 / 2, width] or [1, 1, height * 3 / 2, width] of NV12
        pic_flags: NV_ENC_PIC_FLAGS, several by |, or an NV_ENC_PIC_PARAMS. FORCEINTRA gives an IDR as FORCEIDR does
        sei: [({"sei_type": payloadType}, payload), ...]; of AV1 metadata
        """
        if self._ended:
            raise PyNvVCException("Encode: EndEncode() was called, which ends the stream; make another encoder")
        timestamp = self._pictures
        if isinstance(pic_flags, NV_ENC_PIC_PARAMS):
            pic_flags._check(*self._size)
            timestamp, pic_flags = pic_flags.inputTimeStamp, pic_flags.encodePicFlags
        request = request_of(pic_flags)
        messages = sei_of(sei)
        with translated("Encode"):
            picture = self._inputs.take(frame)
            tick, time = self._times.next(self._frame())
            self._encoder.send(picture, pts=tick, sei=messages, **request)
            self._times.take(tick, time)
            self._timestamps[tick] = timestamp
            self._pictures += 1
            return self._given(self._encoder)

    def EndEncode(self) -> EncodedPackets:
        """Ends the stream; the packets that are left. The second time there are none."""
        if self._ended:
            return EncodedPackets()
        self._ended = True
        with translated("EndEncode"):
            return self._given(self._encoder.end())

    def _given(self, packets: Iterable[lanner.Packet]) -> EncodedPackets:
        given = []
        for one in packets:
            given.append(packet_of(one, self._timestamps.pop(one.pts or 0, 0), self._times, self._ivf))
            self._times.forget(one.dts)
        return EncodedPackets(given)

    def _frame(self) -> Fraction:
        """How many of the first rate's frames one takes, which is not 1 where the rate has changed."""
        rate: Any = self._encoder.reconfigurable["fps"]
        frame: Fraction = 1 / (rate * self._encoder.time_base)
        return frame

    def GetEncodeReconfigureParams(self) -> structEncodeReconfigureParams:
        """Where the encoder stands."""
        return structEncodeReconfigureParams._of(self._encoder.reconfigurable)

    def Reconfigure(self, params: structEncodeReconfigureParams, *, width: int = 0, height: int = 0) -> bool:
        """Changes the fields that differ from where the encoder stands, from the next picture on; True.

        width, height: beyond PyNvVideoCodec, another size within max_res, 0 keeps it
        NVENC changes what its GPU can as it runs, libx264 averageBitrate, maxBitRate and vbvBufferSize. For others the encoder starts anew at an IDR, and
        times go on.
        """
        if not isinstance(params, structEncodeReconfigureParams):
            raise TypeError(f"Reconfigure: {shown(params)} is of the wrong type; expected what GetEncodeReconfigureParams() gives")
        changes = params._changes(self._encoder)
        size = integer("width", width, 0, 2**16) or self._size[0], integer("height", height, 0, 2**16) or self._size[1]
        if size != self._size:
            changes["width"], changes["height"] = size
        self._raise_bound(changes)
        with translated("Reconfigure"):
            self._encoder.reconfigure(**changes)
        self._follow(changes)
        self._size = self._inputs.size = size
        return True

    def _raise_bound(self, changes: dict[str, Any]) -> None:
        """A bound that was not asked for lies at or above the rate."""
        bound: Any = self._encoder.reconfigurable["max_bit_rate"]
        self._own_bound = self._own_bound and "max_bit_rate" not in changes
        if self._own_bound and 0 < bound < changes.get("bit_rate", 0) and changes.get("rate_control", "vbr") == "vbr":
            changes["max_bit_rate"] = changes["bit_rate"]

    def _follow(self, changes: Mapping[str, Any]) -> None:
        """The options that one more encoder like this has."""
        now = self._encoder.reconfigurable
        if changes.get("rate_control", "constqp") != "constqp" and "bit_rate" in changes:
            for name in ("const_qp", "crf"):
                self._options.pop(name, None)
        self._options |= {name: now[name] for name in changes if name != "fps"}
        if "vbv_initial" in self._options:
            self._options["vbv_initial"] = now["vbv_initial"]
        if now["rate_control"] == "cbr":
            self._options.pop("max_bit_rate", None)
        if "fps" not in changes:
            return
        self._rate = now["fps"]
        if self._ivf is not None and self._frame() < 1:
            logger.warning(f"fps={self._rate}: IVF counts in {self._encoder.time_base} s, longer than a frame; take the times of pts and dts")

    def GetSequenceParams(self) -> bytes:
        """Headers as they stand apart from the stream: SPS and PPS, of HEVC VPS too, of AV1 the sequence header."""
        apart = {name: value for name, value in self._options.items() if name not in ("repeat_headers", "max_width", "max_height")}
        with translated("GetSequenceParams"):
            one_more = lanner.Encoder(**{**apart, "global_header": True})
            if self._rate is not None:
                one_more.reconfigure(fps=float(self._rate))
            return one_more.extradata

    def GetNumBFrames(self) -> int:
        """Most B pictures in a row: bf - 1, or what preset and tuning_info decide, which one more encoder of the same options tells."""
        if "b_frames" in self._options:
            return int(self._options["b_frames"])
        if self._options["tuning"] in ("low_latency", "ultra_low_latency") or self._options.get("idr_period") == 1:
            return 0
        with translated("GetNumBFrames"):
            return preset_b_frames(self._options)

    def CopyToDeviceMemory(self, path: Any) -> NoReturn:
        raise PyNvVCExceptionUnsupported("CopyToDeviceMemory: there is no encoder on a device; pycuda.driver.to_device() copies an array")


def CreateEncoder(width: int, height: int, fmt: Any = None, usecpuinputbuffer: Any = None, **kwargs: Any) -> PyNvEncoder:
    """An encoder of pictures, by a GPU's NVENC, and by software where there is none.

    width, height: of the pictures
    fmt, or `format` by name: surface format, as NV12, YUV420, YV12, IYUV, YUV444, YUV444_10BIT, YUV444_16BIT, NV16, P010, P210, ARGB, ABGR, ARGB10, ABGR10
    usecpuinputbuffer: True: pictures lie in host memory, False: in device memory
    kwargs: the keywords of the guide's Table 1 and of 2.x in any case; docs/pynvvideocodec.md tells each. Unknown ones raise
    """
    if fmt is None:
        fmt = kwargs.pop("format", None)
    if fmt is None or usecpuinputbuffer is None:
        raise TypeError("CreateEncoder: expected width, height, fmt and usecpuinputbuffer, like CreateEncoder(1920, 1080, 'NV12', True)")
    context, stream = kwargs.pop("cudacontext", 0), kwargs.pop("cudastream", 0)
    return PyNvEncoder(width, height, fmt, context, stream, usecpuinputbuffer, kwargs)
