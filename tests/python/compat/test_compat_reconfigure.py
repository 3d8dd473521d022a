"""lanner.compat.PyNvVideoCodec's encoder: what Reconfigure() changes while it encodes, and what it refuses."""

import logging
from fractions import Fraction

import pytest

from compat_encoders import make, one_line, picture, probed, stream, units
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
    assert [packet["key"] for packet in packets] == [True, False, True, False] and [packet["pts"] for packet in packets] == [0, 1, 3, 5]
    assert [packet["timestamp"] for packet in packets] == [0, 1, 2, 3]
    found = encoder.GetEncodeReconfigureParams()
    assert (found.rateControlMode, found.maxBitRate, found.vbvInitialDelay, found.frameRateNum / found.frameRateDen) == (nvc.NV_ENC_PARAMS_RC_MODE.VBR, 300_000, 40_000, 12.5)


def change_rates(encoder, count, changes):
    """Packets of pictures, with the rate changed before those of these numbers."""
    packets = []
    for number in range(count):
        if number in changes:
            params = encoder.GetEncodeReconfigureParams()
            params.frameRateNum, params.frameRateDen = changes[number]
            encoder.Reconfigure(params)
        packets += encoder.Encode(picture(number))
    return packets + list(encoder.EndEncode())


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_times_follow_the_rate_that_holds(codec):
    """In frames of the first rate."""
    structure = {} if codec == "av1" else {"bf": 3}
    packets = change_rates(make(codec=codec, fps=25, bitrate=400_000, **structure), 12, {4: (50, 1), 8: (10, 1)})
    half, slow = Fraction(1, 2), Fraction(5, 2)
    shown = [0, 1, 2, 3] + [3 + half * number for number in range(1, 5)] + [5 + slow * number for number in range(1, 5)]
    assert sorted(packet["pts"] for packet in packets) == shown
    assert [packet["timestamp"] for packet in sorted(packets, key=lambda packet: packet["pts"])] == list(range(12))
    order = [packet["dts"] for packet in packets]
    assert order == sorted(set(order)) and all(packet["dts"] <= packet["pts"] for packet in packets)
    assert all(isinstance(packet["pts"], int) for packet in packets if packet["pts"] == int(packet["pts"]))


def test_the_streams_timing_is_that_of_the_new_rate(tmp_path):
    packets = change_rates(make(fps=25, bitrate=400_000, bf=1), 6, {3: (50, 1)})
    assert [packet["key"] for packet in packets] == [True, False, False, True, False, False]
    for part, rate in ((packets[:3], "25/1"), (packets[3:], "50/1")):
        assert probed(tmp_path / "a.h264", stream(part), "r_frame_rate") == {"r_frame_rate": rate}


def test_headers_apart_are_those_of_the_stream_after_a_change():
    encoder = make(fps=25, bitrate=400_000, tuning_info="ultra_low_latency", max_res="192x128")
    list(encoder.Encode(picture()))
    params = encoder.GetEncodeReconfigureParams()
    params.frameRateNum, params.averageBitrate, params.vbvBufferSize = 50, 200_000, 100_000
    encoder.Reconfigure(params, width=192, height=128)
    data = stream(encoder.Encode(picture(1, 192, 128)))
    headers = encoder.GetSequenceParams()
    assert headers.startswith(b"\0\0\0\1\x67") and headers in data


def test_ivf_tells_of_frames_shorter_than_its_ticks(caplog):
    encoder = make(codec="av1", fps=25, bitrate=400_000)
    encoder.Encode(picture())
    params = encoder.GetEncodeReconfigureParams()
    params.frameRateNum = 50
    with caplog.at_level(logging.WARNING, "PyNvVideoCodec"):
        logging.getLogger("PyNvVideoCodec").addHandler(caplog.handler)
        encoder.Reconfigure(params)
        logging.getLogger("PyNvVideoCodec").removeHandler(caplog.handler)
    assert caplog.text.count("fps=50: IVF counts in 1/25 s, longer than a frame") == 1


def test_a_bound_that_was_not_asked_for_follows_the_rate():
    for keywords, fails in (({}, False), ({"maxbitrate": 10_000_000}, True)):
        encoder = make(rc="vbr", bitrate=8_000_000, **keywords)
        params = encoder.GetEncodeReconfigureParams()
        assert params.maxBitRate == 10_000_000
        params.averageBitrate = 12_000_000
        if fails:
            with pytest.raises(nvc.PyNvVCException, match="max_bit_rate 10000000, expected bit_rate 12000000 or more"):
                encoder.Reconfigure(params)
        else:
            encoder.Reconfigure(params)
            assert encoder.GetEncodeReconfigureParams().maxBitRate == 12_000_000


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
