"""CreateDecoder and PyNvDecoder."""

from collections import deque
from typing import Any

import lanner
from lanner.compat.PyNvVideoCodec.arguments import flag, integer, member, shown
from lanner.compat.PyNvVideoCodec.codecs import codec_name, frame_bytes, frame_format_of
from lanner.compat.PyNvVideoCodec.devices import DeviceChoice
from lanner.compat.PyNvVideoCodec.enums import DisplayDecodeLatencyType, OutputColorType, Pixel_Format, cudaVideoCodec
from lanner.compat.PyNvVideoCodec.errors import PyNvVCException, PyNvVCExceptionUnsupported, translated
from lanner.compat.PyNvVideoCodec.frame import DecodedFrame
from lanner.compat.PyNvVideoCodec.packet import PacketData
from lanner.compat.PyNvVideoCodec.sessions import SESSIONS


def refuse_statistics(wanted: Any) -> None:
    if flag("enableDecodeStats", wanted):
        raise PyNvVCExceptionUnsupported("enableDecodeStats: Lanner reads no decode statistics; leave it out")


class PyNvDecoder:
    """Frames of packets. Made by CreateDecoder(); used by one thread at a time.

    The decoder begins with the first packet, whose stream says what its container knows; packets made by hand are of `codec`.
    """

    def __init__(self, device: DeviceChoice, codec: cudaVideoCodec, color: OutputColorType, options: dict[str, Any], wait: bool) -> None:
        self._device, self._codec, self._color, self._options, self._wait = device, codec, color, options, wait
        self._by_hand = lanner.StreamInfo(codec_name(codec))
        self._decoder: lanner.Decoder | None = None
        self._stream: lanner.StreamInfo | None = None
        self._ended = False
        self._seek_pts: int | None = None
        self._queue: deque[DecodedFrame] = deque()
        self._locked: dict[int, DecodedFrame] = {}
        self._newest: DecodedFrame | None = None
        self._init_time = 0

    def Decode(self, packet: PacketData) -> list[DecodedFrame]:
        """Frames that are ready, in presentation order; an empty packet, as a demuxer gives at its end, gives those that are left."""
        if not isinstance(packet, PacketData):
            raise TypeError(f"Decode: {shown(packet)} is of the wrong type; expected PacketData")
        with translated("Decode"):
            frames = self._frames(packet)
        made = [DecodedFrame._of(frame, self._color, self._device.device_memory) for frame in frames if self._is_wanted(frame)]
        self._newest = made[-1] if made else self._newest
        return made

    def _frames(self, packet: PacketData) -> list[lanner.Frame]:
        if packet._is_end():
            if self._decoder is None or self._ended:
                return []
            self._ended = True
            return self._decoder.decode(None)
        frames = self._turn_to(packet._stream or self._stream or self._by_hand)
        assert self._decoder is not None
        if self._ended or packet._sought:
            self._decoder.flush()
        self._ended = False
        return frames + self._decoder.decode(packet._to_lanner())

    def _turn_to(self, stream: lanner.StreamInfo) -> list[lanner.Frame]:
        """Begins, or goes on with another stream; frames of the one before that were left."""
        if stream is self._stream:
            return []
        if stream.codec != codec_name(self._codec):
            raise PyNvVCException(f"a packet of {stream.codec}, but the decoder was created for {self._codec}")
        left: list[lanner.Frame] = []
        if self._decoder is None:
            make = lambda: self._device.open(lambda **options: lanner.Decoder(stream, **self._options, **options))  # noqa: E731
            self._decoder, self._init_time = SESSIONS.begin(make, self._wait)
        else:
            left = [] if self._ended else self._decoder.decode(None)
            self._decoder.reset(stream)
        self._stream, self._ended = stream, False
        return left

    def _is_wanted(self, frame: lanner.Frame) -> bool:
        """Not before the time of SetSeekPTS(), until that was reached."""
        if self._seek_pts is None or frame.pts is None:
            return True
        if frame.pts < self._seek_pts:
            return False
        self._seek_pts = None
        return True

    def __iter__(self) -> "PyNvDecoder":
        return self

    def __next__(self) -> list[DecodedFrame]:
        raise TypeError("PyNvDecoder: next() has no packet to decode; call Decode(packet)")

    def SetSeekPTS(self, pts: int) -> None:
        """Frames before this time are decoded and not given, until one at or behind it comes."""
        self._seek_pts = integer("SetSeekPTS", pts)

    def GetNumDecodedFrame(self, packet: PacketData) -> int:
        """Decodes a packet and keeps its frames for GetFrame(); how many wait."""
        self._queue.extend(self.Decode(packet))
        return len(self._queue)

    def GetFrame(self) -> DecodedFrame:
        """The first of the frames that wait."""
        if not self._queue:
            raise PyNvVCException("GetFrame: no frame waits; call GetNumDecodedFrame(packet) first")
        return self._queue.popleft()

    def GetLockedFrame(self) -> int:
        """The address of the first of the frames that wait, whose memory is kept until UnlockFrame()."""
        frame = self.GetFrame()
        address = frame.GetPtrToPlane(0)
        self._locked[address] = frame
        return address

    def UnlockFrame(self, address: int) -> None:
        if self._locked.pop(integer("UnlockFrame", address), None) is None:
            raise PyNvVCException(f"UnlockFrame: no frame is locked at {address:#x}")

    def _known(self, call: str) -> lanner.StreamInfo:
        if self._stream is None or not self._stream.width:
            raise PyNvVCException(f"{call}: not known before the first frame; decode a packet first")
        return self._stream

    def GetWidth(self) -> int:
        return self._newest._size[0] if self._newest else self._known("GetWidth").width

    def GetHeight(self) -> int:
        return self._newest._size[1] if self._newest else self._known("GetHeight").height

    def GetPixelFormat(self) -> Pixel_Format:
        return self._newest.format if self._newest else frame_format_of(self._known("GetPixelFormat"))[0]

    def GetFrameSize(self) -> int:
        """Bytes of a frame, of the newest where sizes change."""
        if self._newest:
            return self._newest.framesize()
        stream = self._known("GetFrameSize")
        names = {OutputColorType.RGB: "rgb24", OutputColorType.RGBP: "rgb_planar"}
        return frame_bytes(stream.width, stream.height, names.get(self._color) or frame_format_of(stream)[1])

    def WaitOnCUStream(self, stream: int) -> None:
        """Nothing to wait for: frames are complete when Decode() gives them."""
        integer("WaitOnCUStream", stream, 0)

    def SyncOnCUStream(self) -> None:
        """Nothing to wait for: frames are complete when Decode() gives them."""

    def setReconfigParams(self, width: int = 0, height: int = 0) -> int:
        """Forgets the stream so far, so that another may follow; sizes are followed by themselves. Gives 1."""
        integer("width", width, 0)
        integer("height", height, 0)
        if self._decoder is not None:
            with translated("setReconfigParams"):
                self._decoder.flush()
        self._ended, self._seek_pts, self._newest = False, None, None
        return 1

    @staticmethod
    def SetSessionCount(count: int) -> None:
        """How many decoders bWaitForSessionWarmUp waits for."""
        SESSIONS.set_count(count)

    def GetSessionInitTime(self) -> int:
        """Milliseconds that the decoder took to begin; 0 before the first packet."""
        return self._init_time

    def setDecoderSessionID(self, number: int) -> None:
        """A number for the caller's own use."""
        self._session = integer("setDecoderSessionID", number)

    @staticmethod
    def getDecoderSessionOverHead(number: int) -> int:
        """0: sessions share nothing that one of them waits for."""
        integer("getDecoderSessionOverHead", number)
        return 0


def CreateDecoder(
    gpuid: int = 0,
    codec: cudaVideoCodec = cudaVideoCodec.H264,
    cudacontext: int = 0,
    cudastream: int = 0,
    usedevicememory: bool = False,
    maxwidth: int = 0,
    maxheight: int = 0,
    outputColorType: OutputColorType = OutputColorType.NATIVE,
    enableSEIMessage: bool = False,
    bWaitForSessionWarmUp: bool = False,
    latency: DisplayDecodeLatencyType = DisplayDecodeLatencyType.NATIVE,
    enableDecodeStats: bool = False,
    *,
    enableasyncallocations: bool = False,
) -> PyNvDecoder:
    """A decoder of packets, on a GPU where there is one, else on the CPU.

    gpuid: number of the GPU; without any GPU 0 is the CPU
    codec: of packets that are made by hand; a demuxer's packets have to be of it
    cudacontext, cudastream: of the GPU: the context to decode in, the stream whose order frames are complete in; no effect on the CPU
    usedevicememory: frames lie in the GPU's memory, else in the host's; without a GPU that is host memory too
    maxwidth, maxheight: no effect: sizes are followed
    outputColorType: NATIVE, RGB [height, width, 3] or RGBP [3, height, width]
    enableSEIMessage: frames bring their SEI messages
    bWaitForSessionWarmUp: wait until as many decoders have begun as SetSessionCount() says
    latency: LOW and ZERO give a frame as soon as it is decoded; frames come in presentation order with all of them
    enableDecodeStats: refused: there are none
    enableasyncallocations: of 1.0; no effect: allocations are ordered with the decoder's work anyway
    """
    device = DeviceChoice.of(gpuid, cudacontext, cudastream, usedevicememory)
    integer("maxwidth", maxwidth, 0), integer("maxheight", maxheight, 0)
    flag("enableasyncallocations", enableasyncallocations)
    refuse_statistics(enableDecodeStats)
    soon = member("latency", latency, DisplayDecodeLatencyType) != DisplayDecodeLatencyType.NATIVE
    options = {"latency": "low" if soon else "normal", "sei": flag("enableSEIMessage", enableSEIMessage)}
    color = member("outputColorType", outputColorType, OutputColorType)
    return PyNvDecoder(device, member("codec", codec, cudaVideoCodec), color, options, flag("bWaitForSessionWarmUp", bWaitForSessionWarmUp))
