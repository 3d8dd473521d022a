"""DecodedFrame: a picture in memory without gaps."""

import warnings
from collections.abc import Sequence
from typing import Any

import lanner
from lanner.compat.PyNvVideoCodec.arguments import integer
from lanner.compat.PyNvVideoCodec.codecs import format_for
from lanner.compat.PyNvVideoCodec.enums import OutputColorType, Pixel_Format
from lanner.compat.PyNvVideoCodec.errors import PyNvVCExceptionUnsupported, translated
from lanner.compat.PyNvVideoCodec.packet import NO_PTS


class _Sizes(tuple[int, ...]):
    """A tuple that gives itself when it is called: the guide has frame.shape(), the library frame.shape."""

    def __call__(self) -> tuple[int, ...]:
        return tuple(self)


class _Text(str):
    """The same of a str."""

    def __call__(self) -> str:
        return str(self)


class CAIMemoryView:
    """A plane, by the CUDA array interface; in host memory by NumPy's array interface too.

    shape, stride: of the plane, strides in bytes; data, dataptr: its address
    """

    def __init__(self, shape: Sequence[int], stride: Sequence[int], typestr: str, stream: int, dataptr: int, readonly: bool) -> None:
        self.shape, self.stride = list(shape), list(stride)
        self.data = self.dataptr = dataptr
        self._typestr, self._stream, self._readonly = typestr, stream, bool(readonly)
        self._owner: Any = None
        self._cuda = True

    def _interface(self) -> dict[str, Any]:
        return {
            "version": 3, "shape": tuple(self.shape), "strides": tuple(self.stride), "typestr": self._typestr, "data": (self.dataptr, self._readonly),
        }  # fmt: skip

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if not self._cuda:
            raise AttributeError("the plane lies in host memory, as usedevicememory=False asked for")
        return {**self._interface(), "stream": self._stream or None}

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self._owner is None or self._owner.device != "cpu":
            raise AttributeError("the plane lies in a GPU's memory")
        return self._interface()

    def __repr__(self) -> str:
        return f"<CAIMemoryView {self.shape}>"


# Planes in the frame's memory: samples of a pixel, and log2 of the pixels that one stands for each way.
_PLANES = {
    Pixel_Format.NV12: ((1, 0, 0), (2, 1, 1)),
    Pixel_Format.P016: ((1, 0, 0), (2, 1, 1)),
    Pixel_Format.NV16: ((1, 0, 0), (2, 1, 0)),
    Pixel_Format.P216: ((1, 0, 0), (2, 1, 0)),
    Pixel_Format.YUV444: ((1, 0, 0),) * 3,
    Pixel_Format.YUV444_16Bit: ((1, 0, 0),) * 3,
    Pixel_Format.RGB: ((3, 0, 0),),
    Pixel_Format.RGBP: ((1, 0, 0),) * 3,
}


class DecodedFrame:
    """A picture in memory of its own without gaps, on the GPU or the host; it stays valid for as long as it is held.

    timestamp: pts in ticks of the stream, -2**63 where there is none
    format: Pixel_Format; NumPy (on the host) and DLPack share the memory
    decoder_stream_event: 0: the frame is complete
    """

    timestamp: int
    format: Pixel_Format
    _tensor: lanner.Tensor
    _size: tuple[int, int]
    _color: tuple[str, str]
    _device_memory: bool
    _sei: list[tuple[int, bytes]]
    decoder_stream_event = 0
    decode_stats_size = 0
    decode_stats_ptr = 0

    def __init__(self) -> None:
        raise TypeError("DecodedFrame: frames come from Decode() and from SimpleDecoder, none is made by hand")

    @classmethod
    def _of(cls, frame: lanner.Frame, color: OutputColorType, device_memory: bool) -> "DecodedFrame":
        self = object.__new__(cls)
        self.format, name = format_for(frame.format, color)
        with translated("DecodedFrame"):
            self._tensor = frame.contiguous(name)
        self._size = frame.width, frame.height
        self._color = frame.color_space, frame.color_range
        self._device_memory = device_memory
        self._sei = frame.sei
        self.timestamp = NO_PTS if frame.pts is None else frame.pts
        return self

    def _interface(self) -> dict[str, Any]:
        tensor = self._tensor
        found: dict[str, Any] = tensor.__array_interface__ if tensor.device == "cpu" else tensor.__cuda_array_interface__
        return found

    def _address(self) -> int:
        return int(self._interface()["data"][0])

    def _planes(self) -> list[tuple[list[int], list[int], int]]:
        """Shape, strides in bytes and offset of each."""
        width, height = self._size
        sample = 1 if self._tensor.dtype == "uint8" else 2
        shapes = [[(height + (1 << down) - 1) >> down, (width + (1 << across) - 1) >> across, samples] for samples, across, down in _PLANES[self.format]]
        row = max(shape[1] * shape[2] for shape in shapes) * sample  # Luma rows are as long as those of chroma.
        offsets = [row * sum(shape[0] for shape in shapes[:number]) for number in range(len(shapes))]
        return [(shape, [row, shape[2] * sample, sample], offset) for shape, offset in zip(shapes, offsets, strict=True)]

    def cuda(self) -> list[CAIMemoryView]:
        """A view of each plane."""
        return [self._view(shape, strides, offset) for shape, strides, offset in self._planes()]

    def _view(self, shape: list[int], strides: list[int], offset: int) -> CAIMemoryView:
        interface = self._interface()
        view = CAIMemoryView(shape, strides, interface["typestr"], 0, interface["data"][0] + offset, False)
        view._owner, view._cuda = self._tensor, self._device_memory
        return view

    def nvcv_image(self) -> list[CAIMemoryView]:
        """The planes of NV12 or YUV444 below each other, as one view [rows, width, 1]; deprecated in PyNvVideoCodec 2."""
        if self.format not in (Pixel_Format.NV12, Pixel_Format.YUV444):
            raise PyNvVCExceptionUnsupported(f"nvcv_image: a frame of {self.format}, expected Pixel_Format.NV12 or Pixel_Format.YUV444")
        warnings.warn("nvcv_image() is deprecated; use cuda() or DLPack", DeprecationWarning, stacklevel=2)
        row = self._planes()[0][1][0]
        return [self._view([self.framesize() // row, row, 1], [row, 1, 1], 0)]

    def nv12_to_rgb(self) -> lanner.Tensor:
        """The picture as RGB, uint8 [1, 3, height, width], where the frame lies."""
        if self.format != Pixel_Format.NV12:
            raise PyNvVCExceptionUnsupported(f"nv12_to_rgb: a frame of {self.format}, expected Pixel_Format.NV12")
        space, spread = self._color
        with translated("nv12_to_rgb"):
            image = lanner.Image.from_contiguous(self._tensor, "nv12", *self._size, color_space=space, color_range=spread)
            return image.to_tensor(dtype="uint8")

    @property
    def shape(self) -> _Sizes:
        """Of the whole frame: [rows, width], or three dimensions of YUV444, RGB and RGBP."""
        return _Sizes(self._tensor.shape)

    @property
    def strides(self) -> _Sizes:
        """In samples, as DLPack has them."""
        steps, step = [], 1
        for size in reversed(self._tensor.shape):
            steps.append(step)
            step *= size
        return _Sizes(reversed(steps))

    @property
    def dtype(self) -> _Text:
        """Of the samples: |u1 or <u2."""
        return _Text(self._interface()["typestr"])

    def __dlpack__(self, stream: Any = None, **options: Any) -> Any:
        return self._tensor.__dlpack__(stream=stream, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.__dlpack_device__()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._tensor.__array_interface__

    def framesize(self) -> int:
        """Bytes of the frame."""
        return self._tensor.nbytes

    def GetPtrToPlane(self, plane: int) -> int:
        """Address of a plane's first sample, valid for as long as the frame."""
        planes = self._planes()
        number = integer("GetPtrToPlane", plane)
        if not 0 <= number < len(planes):
            raise IndexError(f"GetPtrToPlane: plane {number} of a frame of {self.format}, which has {len(planes)}")
        return self._address() + planes[number][2]

    def getPTS(self) -> int:
        return self.timestamp

    def getSEIMessage(self) -> list[tuple[dict[str, int], list[int]]]:
        """({"sei_type": payloadType, "sei_uncompressed": 0}, payload) of each message, where the decoder was created with enableSEIMessage."""
        return [({"sei_type": kind, "sei_uncompressed": 0}, list(payload)) for kind, payload in self._sei]

    def getRawDecodeStats(self) -> list[int]:
        """Nothing: there are no decode statistics."""
        return []

    def ParseDecodeStats(self) -> dict[str, list[int]]:
        """Nothing: there are no decode statistics."""
        return {}

    def __repr__(self) -> str:
        return f"<DecodedFrame [timestamp={self.timestamp}, format={self.format}, {self.cuda()}]>"
