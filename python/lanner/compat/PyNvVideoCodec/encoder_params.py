"""Parameters of one picture, and what Reconfigure() changes."""

from typing import Any

import lanner
from lanner.compat.PyNvVideoCodec.arguments import integer, shown
from lanner.compat.PyNvVideoCodec.enums import NV_ENC_MULTI_PASS, NV_ENC_PARAMS_RC_MODE, NV_ENC_PIC_FLAGS
from lanner.compat.PyNvVideoCodec.errors import PyNvVCException, PyNvVCExceptionUnsupported

_MOST = 2**32 - 1


class _Fields:
    """Attributes that are integers; others raise."""

    _bounds: dict[str, int] = {}

    def __init__(self) -> None:
        for name in self._bounds:
            object.__setattr__(self, name, 0)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._bounds:
            raise AttributeError(f"{type(self).__name__} has no field '{name}'; it has {', '.join(self._bounds)}")
        object.__setattr__(self, name, integer(name, value, 0, self._bounds[name]))


class NV_ENC_PIC_PARAMS(_Fields):
    """What is asked for of one picture.

    encodePicFlags: NV_ENC_PIC_FLAGS, several by |
    inputTimeStamp: comes back as `timestamp` of the picture's packet
    inputWidth, inputHeight: 0, or the size of the encoder; pictureStruct: 0 or 1, a whole picture
    frameIdx, inputDuration, inputPitch, pictureType: no effect, as of NVENC where it decides on types and copies the picture
    """

    _bounds = {
        "encodePicFlags": _MOST, "inputTimeStamp": 2**64 - 1, "frameIdx": _MOST, "inputDuration": 2**64 - 1, "inputWidth": _MOST, "inputHeight": _MOST,
        "inputPitch": _MOST, "pictureStruct": _MOST, "pictureType": _MOST,
    }  # fmt: skip
    encodePicFlags: int
    inputTimeStamp: int
    frameIdx: int
    inputDuration: int
    inputWidth: int
    inputHeight: int
    inputPitch: int
    pictureStruct: int
    pictureType: int

    def _check(self, width: int, height: int) -> None:
        for name, value, size in (("inputWidth", self.inputWidth, width), ("inputHeight", self.inputHeight, height)):
            if value not in (0, size):
                raise PyNvVCException(f"{name}: {value}, but the encoder was created for {width}x{height}")
        if self.pictureStruct not in (0, 1):
            raise PyNvVCExceptionUnsupported(f"pictureStruct: {self.pictureStruct} is a field; expected 1, a whole picture")

    def __repr__(self) -> str:
        return f"<NV_ENC_PIC_PARAMS encodePicFlags={self.encodePicFlags} inputTimeStamp={self.inputTimeStamp}>"


def request_of(flags: Any) -> dict[str, bool]:
    """Keywords of lanner.Encoder.send()."""
    given = integer("pic_flags", flags, 0)
    flag = NV_ENC_PIC_FLAGS
    if given & flag.EOS:
        raise PyNvVCExceptionUnsupported("pic_flags: EOS comes without a picture; call EndEncode()")
    for one in (flag.DISABLE_ENC_STATE_ADVANCE, flag.OUTPUT_RECON_FRAME):
        if given & one:
            raise PyNvVCExceptionUnsupported(f"pic_flags: {one.name} is supported by NVENC only, and Lanner's NVENC encoder does not offer it; leave it out")
    if given & ~(flag.FORCEINTRA | flag.FORCEIDR | flag.OUTPUT_SPSPPS):
        raise PyNvVCException(f"pic_flags: {given:#x} is no combination of {', '.join(flag.__members__)}")
    return {"force_idr": bool(given & (flag.FORCEINTRA | flag.FORCEIDR)), "emit_headers": bool(given & flag.OUTPUT_SPSPPS)}


_CONTROLS = {"constqp": NV_ENC_PARAMS_RC_MODE.CONSTQP, "vbr": NV_ENC_PARAMS_RC_MODE.VBR, "cbr": NV_ENC_PARAMS_RC_MODE.CBR}
_PASSES = {
    "disabled": NV_ENC_MULTI_PASS.DISABLED, "quarter_resolution": NV_ENC_MULTI_PASS.QUARTER_RESOLUTION, "full_resolution": NV_ENC_MULTI_PASS.FULL_RESOLUTION,
}  # fmt: skip


class structEncodeReconfigureParams(_Fields):
    """The eight fields that Reconfigure() may change; rates are bits per second, buffers bits."""

    _bounds = {
        "rateControlMode": _MOST, "multiPass": _MOST, "averageBitrate": _MOST, "vbvBufferSize": _MOST, "maxBitRate": _MOST, "vbvInitialDelay": _MOST,
        "frameRateNum": _MOST, "frameRateDen": _MOST,
    }  # fmt: skip
    rateControlMode: int
    multiPass: int
    averageBitrate: int
    vbvBufferSize: int
    maxBitRate: int
    vbvInitialDelay: int
    frameRateNum: int
    frameRateDen: int

    def __setattr__(self, name: str, value: Any) -> None:
        kinds = {"rateControlMode": NV_ENC_PARAMS_RC_MODE, "multiPass": NV_ENC_MULTI_PASS}
        if name in kinds:
            kind, number = kinds[name], integer(name, value, 0)
            if number not in set(kind):
                raise PyNvVCException(f"{name}: {number}, expected one of {', '.join(f'{one.name} ({one.value})' for one in kind)}")
            object.__setattr__(self, name, kind(number))
        else:
            super().__setattr__(name, value)

    @classmethod
    def _of(cls, state: dict[str, Any]) -> "structEncodeReconfigureParams":
        self = cls()
        self.rateControlMode = _CONTROLS.get(state["rate_control"] or "", NV_ENC_PARAMS_RC_MODE.CONSTQP)
        self.multiPass = _PASSES[state["multipass"]]
        self.averageBitrate, self.vbvBufferSize = state["bit_rate"], state["vbv_buffer_size"]
        self.maxBitRate = state["bit_rate"] if state["rate_control"] == "cbr" else state["max_bit_rate"]
        self.vbvInitialDelay = state["vbv_initial"]
        self.frameRateNum, self.frameRateDen = state["fps"].numerator, state["fps"].denominator
        return self

    def _changes(self, encoder: lanner.Encoder) -> dict[str, Any]:
        """Keywords of lanner.Encoder.reconfigure(): what differs from where the encoder stands."""
        now = structEncodeReconfigureParams._of(encoder.reconfigurable)
        changed = {name for name in self._bounds if getattr(self, name) != getattr(now, name)}
        if {"frameRateNum", "frameRateDen"} & changed and not (self.frameRateNum and self.frameRateDen):
            raise PyNvVCException(f"frameRateNum / frameRateDen: {self.frameRateNum} / {self.frameRateDen}, expected 1 or more each")
        for name in ("averageBitrate", "vbvBufferSize", "maxBitRate", "vbvInitialDelay"):
            if name in changed and not getattr(self, name):
                raise PyNvVCException(f"{name}: 0, where the encoder stands at {getattr(now, name)}; expected 1 or more")
        words = {
            "rateControlMode": ("rate_control", next(word for word, one in _CONTROLS.items() if one == self.rateControlMode)),
            "multiPass": ("multipass", next(word for word, one in _PASSES.items() if one == self.multiPass)),
            "averageBitrate": ("bit_rate", self.averageBitrate), "vbvBufferSize": ("vbv_buffer_size", self.vbvBufferSize),
            "maxBitRate": ("max_bit_rate", self.maxBitRate), "vbvInitialDelay": ("vbv_initial", self.vbvInitialDelay),
        }  # fmt: skip
        changes: dict[str, Any] = dict(words[name] for name in words if name in changed)
        if {"frameRateNum", "frameRateDen"} & changed:
            changes["fps"] = self.frameRateNum / self.frameRateDen
        return changes

    def __repr__(self) -> str:
        return f"Reconfig Params [{', '.join(f'{name}={int(getattr(self, name))}' for name in self._bounds)}]"


def sei_of(given: Any) -> list[tuple[int, bytes]] | None:
    """Messages as lanner.Encoder takes them, of ({"sei_type": type}, payload) each."""
    if given is None:
        return None
    try:
        messages = [(integer("sei_type", about["sei_type"], 0), bytes(payload)) for about, payload in given]
    except (TypeError, ValueError, KeyError, IndexError):
        raise TypeError(f'sei: {shown(given)} is of the wrong type; expected [({{"sei_type": 5}}, bytes), ...]') from None
    return messages
