"""Surface formats of CreateEncoder, and how their planes lie."""

from typing import Any, NamedTuple

from lanner.compat.PyNvVideoCodec.arguments import shown
from lanner.compat.PyNvVideoCodec.errors import PyNvVCExceptionUnsupported


class SurfaceFormat(NamedTuple):
    """A surface format by PyNvVideoCodec's name, in capitals.

    lanner: its name for lanner.Encoder; pixel: of the pixel format, empty where it has none
    sample: bytes of a sample; planes: for each the samples of a pixel, and how many pixels one stands for across and down
    """

    name: str
    lanner: str
    pixel: str
    sample: int
    planes: tuple[tuple[int, int, int], ...]

    @property
    def is_yuv(self) -> bool:
        return self.name not in ("ARGB", "ABGR", "ARGB10", "ABGR10")

    def plane_sizes(self, width: int, height: int) -> list[tuple[int, int]]:
        """Rows, and bytes of a row, of each plane."""
        return [(-(-height // down), -(-width // across) * samples * self.sample) for samples, across, down in self.planes]

    def frame_bytes(self, width: int, height: int) -> int:
        return sum(rows * row for rows, row in self.plane_sizes(width, height))


_WHOLE, _QUARTER = (1, 1, 1), (1, 2, 2)
_FORMATS = {
    one.name: one
    for one in (
        SurfaceFormat("NV12", "nv12", "nv12", 1, (_WHOLE, (2, 2, 2))),
        SurfaceFormat("YV12", "yv12", "", 1, (_WHOLE, _QUARTER, _QUARTER)),
        SurfaceFormat("IYUV", "iyuv", "yuv420p", 1, (_WHOLE, _QUARTER, _QUARTER)),
        SurfaceFormat("YUV444", "yuv444", "yuv444p", 1, (_WHOLE,) * 3),
        # 10 bits lie in the high bits of 16, and of 16 the encoders keep 10.
        SurfaceFormat("YUV444_10BIT", "yuv444_16bit", "yuv444p16", 2, (_WHOLE,) * 3),
        SurfaceFormat("YUV444_16BIT", "yuv444_16bit", "yuv444p16", 2, (_WHOLE,) * 3),
        SurfaceFormat("NV16", "nv16", "nv16", 1, (_WHOLE, (2, 2, 1))),
        SurfaceFormat("P010", "p010", "p010", 2, (_WHOLE, (2, 2, 2))),
        SurfaceFormat("P016", "p016", "p016", 2, (_WHOLE, (2, 2, 2))),
        SurfaceFormat("P210", "p210", "p210", 2, (_WHOLE, (2, 2, 1))),
        SurfaceFormat("ARGB", "argb", "", 1, ((4, 1, 1),)),
        SurfaceFormat("ABGR", "abgr", "", 1, ((4, 1, 1),)),
        SurfaceFormat("ARGB10", "argb10", "", 4, (_WHOLE,)),
        SurfaceFormat("ABGR10", "abgr10", "", 4, (_WHOLE,)),
    )
}
_OTHER_NAMES = {"YUV420": "IYUV", "YUV420P": "IYUV", "YUV420_10BIT": "P010"}


def surface_format(given: Any) -> SurfaceFormat:
    """By its name in any case."""
    if not isinstance(given, str):
        raise TypeError(f"fmt: {shown(given)} is of the wrong type; expected str, like 'NV12'")
    name = given.upper()
    found = _FORMATS.get(_OTHER_NAMES.get(name, name))
    if found is None:
        raise PyNvVCExceptionUnsupported(f"fmt: {shown(given)} is not one of {', '.join([*_FORMATS, *_OTHER_NAMES])}")
    return found
