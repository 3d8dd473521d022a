"""lanner.compat.PyNvVideoCodec's encoder: what Reconfigure() changes while it encodes, and what it refuses."""

import pytest

from compat_encoders import make, one_line, picture, units
from compat_support import on_the_cpu as on_the_cpu

lanner = pytest.importorskip("lanner")
nvc = pytest.importorskip("lanner.compat.PyNvVideoCodec")


def test_reconfigure_changes_the_eight_fields():
    encoder = make(bitrate=400_000, vbvbufsize=100_000, tuning_info="ultra_low_latency", fps=25)
    params = encoder.GetEncodeReconfigureParams()
    assert str(params) == ("Reconfig Params [rateControlMode=2, multiPass=0, averageBitrate=400000, vbvBufferSize=100000, maxBitRate=400000, "
                           "vbvInitialDelay=0, frameRateNum=25, frameRateDen=1]")  # fmt: skip
    packets = list(encoder.Encode(picture()))
    params.averageBitrate = int(params.averageBitrate / 2)
    params.vbvBufferSize = 50_000
    assert encoder.Reconfigure(params) is True
    assert encoder.GetEncodeReconfigureParams().averageBitrate == 200_000 and encoder.GetEncodeReconfigureParams().vbvBufferSize == 50_000
    packets += encoder.Encode(picture(1))
    params = encoder.GetEncodeReconfigureParams()
    params.rateControlMode, params.maxBitRate, params.vbvInitialDelay = nvc.NV_ENC_PARAMS_RC_MODE.VBR, 300_000, 40_000
    params.frameRateNum, params.frameRateDen = 25000, 2000
    encoder.Reconfigure(params)
    packets += [packet for number in (2, 3) for packet in encoder.Encode(picture(number))]
    packets += encoder.EndEncode()
    assert [packet["key"] for packet in packets] == [True, False, True, False] and [packet["pts"] for packet in packets] == [0, 1, 2, 4]
    assert [packet["timestamp"] for packet in packets] == [0, 1, 2, 3]
    found = encoder.GetEncodeReconfigureParams()
    assert (found.rateControlMode, found.maxBitRate, found.vbvInitialDelay, found.frameRateNum / found.frameRateDen) == (nvc.NV_ENC_PARAMS_RC_MODE.VBR, 300_000, 40_000, 12.5)


def test_another_size_within_max_res():
    encoder = make(max_res="192x128", tuning_info="ultra_low_latency")
    packets = list(encoder.Encode(picture()))
    encoder.Reconfigure(encoder.GetEncodeReconfigureParams(), width=192, height=128)
    with pytest.raises(nvc.PyNvVCException, match="expected 36864 bytes of NV12 192x128"):
        encoder.Encode(picture(1))
    packets += [*encoder.Encode(picture(1, 192, 128)), *encoder.EndEncode()]
    assert [(packet["key"], packet["pts"], 7 in units(packet["data"])) for packet in packets] == [(True, 0, True), (True, 1, True)]
    for one, line in [(encoder, "after the end"), (make(), "created for 96x64 alone"), (make(max_res=[96, 64]), "expected at most 96x64")]:
        with pytest.raises(nvc.PyNvVCException, match=line):
            one.Reconfigure(one.GetEncodeReconfigureParams(), width=200)


def test_what_cannot_be_reconfigured():
    encoder = make(bitrate=400_000)
    params = encoder.GetEncodeReconfigureParams()
    for name in ("width", "gop", "targetQuality", "averageBitRate"):
        with pytest.raises(AttributeError, match="it has rateControlMode, multiPass, averageBitrate"):
            setattr(params, name, 1)
    for name, value, line in [("multiPass", 2, "only NVENC"), ("averageBitrate", 0, "where the encoder stands at 400000"), ("frameRateDen", 0, "1 or more each"),
                              ("rateControlMode", 0, "constqp"), ("vbvInitialDelay", 10**9, "vbv_initial"), ("maxBitRate", 900_000, "cbr")]:  # fmt: skip
        params = encoder.GetEncodeReconfigureParams()
        setattr(params, name, value)
        with pytest.raises(nvc.PyNvVCException) as caught:
            encoder.Reconfigure(params)
        one_line(caught, line)
    with pytest.raises(nvc.PyNvVCException, match="expected one of CONSTQP"):
        params.rateControlMode = 7
    with pytest.raises(TypeError):
        encoder.Reconfigure({"averageBitrate": 1})
    assert encoder.GetEncodeReconfigureParams().averageBitrate == 400_000
