"""lanner.compat.PyNvVideoCodec's encoder: pictures of every kind in, what each keyword does to the stream or why it is refused."""

import logging
import pickle
import subprocess

import numpy as np
import pytest

from compat_encoders import COUNT, HEIGHT, WIDTH, encode, make, one_line, picture, probed, settings, stream, units
from compat_support import on_the_cpu as on_the_cpu

lanner = pytest.importorskip("lanner")
nvc = pytest.importorskip("lanner.compat.PyNvVideoCodec")
encoder_options = pytest.importorskip("lanner.compat.PyNvVideoCodec.encoder_options")
Utils = pytest.importorskip("lanner.compat.Utils")
FORMATS = {"NV12": 1.5, "yv12": 1.5, "IYUV": 1.5, "YUV420": 1.5, "YUV420P": 1.5, "YUV444": 3, "yuv444_16bit": 6, "YUV444_10BIT": 6, "NV16": 2, "P010": 3,
           "YUV420_10BIT": 3, "P210": 4, "ARGB": 4, "ABGR": 4, "ARGB10": 4, "ABGR10": 4}  # fmt: skip


def test_packets_are_dicts_in_order_and_bytes_in_a_row():
    encoder = make(bf=3, gop=6)
    results = []
    for number in range(COUNT):
        params = nvc.NV_ENC_PIC_PARAMS()
        params.inputTimeStamp = 1000 + 3 * number
        results.append(encoder.Encode(picture(number), params))
    results.append(encoder.EndEncode())
    packets = [packet for result in results for packet in result]
    assert sorted(packet["timestamp"] for packet in packets) == [1000 + 3 * number for number in range(COUNT)]
    assert all(packet["timestamp"] == 1000 + 3 * packet["pts"] and packet["dts"] <= packet["pts"] for packet in packets)
    assert [packet["pts"] for packet in packets if packet["key"]] == [0, 6] and packets[0]["picture_type"] == 3
    assert {packet["picture_type"] for packet in packets} == {0, 1, 3}
    last = results[-1]
    assert len(last) == len(list(last)) >= 1 and isinstance(last[0], dict) and last[:1] == [last[0]] and "EncodedPackets" in repr(last)
    assert bytes(last) == bytes(bytearray(last)) == b"".join([last]) == stream(last) and bytes(pickle.loads(pickle.dumps(last))) == bytes(last)
    assert not nvc.EncodedPackets() and bytes(bytearray(encoder.EndEncode())) == b""
    with pytest.raises(nvc.PyNvVCException, match="EndEncode.. was called") as caught:
        encoder.Encode(picture())
    one_line(caught)


def test_encoding_by_software_is_told_once(caplog):
    nvc.encoder.tell_of_software.cache_clear()
    with caplog.at_level(logging.WARNING, "PyNvVideoCodec"):
        logging.getLogger("PyNvVideoCodec").addHandler(caplog.handler)
        make(), make()
        logging.getLogger("PyNvVideoCodec").removeHandler(caplog.handler)
    assert caplog.text.count("FFmpeg's software encoders") == 1 and "NVENC" in caplog.text


class Planes:
    """An object with cuda()."""

    def __init__(self, *planes):
        self._planes = planes

    def cuda(self):
        return list(self._planes)


class Plane:
    """Host memory that is told as a device's."""

    def __init__(self, array, **changes):
        facts = array.__array_interface__
        self.kept = array
        self.__cuda_array_interface__ = {"shape": array.shape, "strides": array.strides, "typestr": array.dtype.str, "data": (facts["data"][0], False), "version": 3} | changes


class OverDlpack:
    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def first_picture(host, frame, **keywords):
    encoder = make(host, tuning_info="ultra_low_latency", constqp=20, **keywords)
    return bytes(encoder.Encode(frame)) + bytes(encoder.EndEncode())


def test_inputs_in_host_memory_give_the_same_stream():
    planes = picture()
    wanted = first_picture(True, planes)
    whole = planes.reshape(-1)
    for frame in (whole, planes[None, None], planes.tobytes(), bytearray(planes), memoryview(whole), np.asfortranarray(planes), OverDlpack(planes)):
        assert first_picture(True, frame) == wanted


def test_inputs_in_device_memory_give_the_same_stream():
    planes = picture()
    wanted = first_picture(True, planes)
    luma, chroma = planes[:HEIGHT, :, None], planes[HEIGHT:].reshape(HEIGHT // 2, WIDTH // 2, 2)
    wide = np.zeros((HEIGHT * 3 // 2, WIDTH + 32), np.uint8)
    wide[:, :WIDTH] = planes
    pitched = wide[:HEIGHT, :WIDTH], wide[HEIGHT:, :WIDTH]
    frame = Utils.AppFrame(WIDTH, HEIGHT, "NV12")
    np.copyto(Utils.cast_address_to_1d_bytearray(int(frame.gpuAlloc), frame.frameSize), planes.reshape(-1))
    for given in (Planes(Plane(luma), Plane(chroma)), Planes(*map(Plane, pitched)), Planes(Plane(planes)), Plane(planes), Plane(planes[None, None]),
                  Plane(planes.reshape(-1), strides=None), Plane(wide[:, :WIDTH]), frame):  # fmt: skip
        assert first_picture(False, given) == wanted


def test_planes_of_pynvvideocodecs_own_app_frame_of_p010():
    """Its strides inside a row are of samples, its rows' of bytes."""
    words = (np.arange(HEIGHT * 3 // 2 * WIDTH) * 64 % 65536).astype("<u2").reshape(-1, WIDTH)
    wanted = nvc.CreateEncoder(WIDTH, HEIGHT, "P010", True, constqp=20, tuning_info="ultra_low_latency").Encode(words)
    luma = Plane(words[:HEIGHT, :, None], strides=(2 * WIDTH, 2, 1), typestr="|u2")
    chroma = Plane(words[HEIGHT:].reshape(HEIGHT // 2, WIDTH // 2, 2), strides=(2 * WIDTH, 2, 1), typestr="|u2")
    given = nvc.CreateEncoder(WIDTH, HEIGHT, "P010", False, constqp=20, tuning_info="ultra_low_latency").Encode(Planes(luma, chroma))
    assert bytes(given) == bytes(wanted)


@pytest.mark.parametrize("name", FORMATS)
def test_every_surface_format(name, tmp_path):
    size = int(WIDTH * HEIGHT * FORMATS[name])
    codec = "hevc" if name not in ("NV12", "ARGB") else "h264"
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, name, True, codec=codec)
    encoder.Encode(bytes(size))
    for wrong in (size - 1, size + 1, 0):
        with pytest.raises(nvc.PyNvVCException, match=f"expected {size} bytes of") as caught:
            encoder.Encode(bytes(wrong))
        one_line(caught)
    found = probed(tmp_path / f"a.{codec}", bytes(encoder.EndEncode()), "pix_fmt", "width")
    assert found["width"] == str(WIDTH) and ("10" in found["pix_fmt"]) == ("10" in name or "16B" in name.upper()), found


def test_app_frames_of_each_format():
    for name in ("NV12", "YUV420", "YUV444", "NV16", "P010", "P210", "YUV444_16BIT", "ARGB", "ABGR", "YUV420_10BIT", "YUV444_10BIT", "IYUV", "ARGB10"):
        frame = Utils.AppFrame(WIDTH, HEIGHT, name)
        if name != "ARGB10":
            encoder = nvc.CreateEncoder(WIDTH, HEIGHT, name, False, codec="hevc")
            assert len([*encoder.Encode(frame), *encoder.EndEncode()]) == 1


@pytest.mark.parametrize(
    ("host", "frame", "line"),
    [(True, Plane(picture()), "lies in device memory, but usecpuinputbuffer=True"), (True, Planes(), "lies in device memory"), (False, picture(), "lies in host memory"),
     (False, b"bytes", "lies in host memory"), (False, OverDlpack(picture()), "lies in host memory, but usecpuinputbuffer=False declares device memory; pass True"),
     (True, None, "is of the wrong type"), (True, 3, "is of the wrong type"), (True, "text", "is of the wrong type"), (False, None, "expected an object with cuda"),
     (False, 3, "wrong type"), (False, Planes(object()), "has no __cuda_array_interface__"), (False, Planes(), "expected 64 x 96, 32 x 96"),
     (False, Planes(Plane(picture()[:HEIGHT])), "expected 64 x 96, 32 x 96"), (False, Plane(picture(), strides=(8, 1)), "rows of samples without gaps"),
     (False, Plane(picture(), data=(0, False)), "rows of samples"), (False, Plane(picture(), shape=(-96, 96)), "rows of samples"),
     (False, Plane(picture(), typestr="?"), "no CUDA array interface"), (False, Plane(picture().T), "rows of samples without gaps"),
     (True, picture().astype(np.float32), "samples of float32"), (True, picture().astype(">u2"), "samples of >u2"), (True, np.array(3), "samples of int64"),
     (False, Plane(picture(), shape=(2**40, 2**40)), "rows of samples"), (False, Plane(picture(), strides=(2**70, 1)), "rows of samples"), (True, picture()[:-2], "expected 9216 bytes of NV12 96x64"), (True, np.zeros((64, 96, 3), np.uint8), "18432 bytes")],
)  # fmt: skip
def test_what_is_no_picture_there_raises(host, frame, line):
    with pytest.raises((nvc.PyNvVCException, TypeError)) as caught:
        make(host).Encode(frame)
    one_line(caught, line)


def test_decoded_frames_where_they_were_asked_for(tmp_path):
    from compat_support import write_clip

    clip = write_clip(tmp_path / "clip.mp4", width=WIDTH, height=HEIGHT, count=3)
    for device in (True, False):
        demuxer = nvc.CreateDemuxer(clip)
        decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), usedevicememory=device)
        (frame, *_) = [frame for packet in demuxer for frame in decoder.Decode(packet)]
        assert first_picture(not device, frame) == first_picture(True, np.array(frame))
        with pytest.raises(nvc.PyNvVCException, match="memory, but usecpuinputbuffer"):
            make(device).Encode(frame)


def test_tensors_of_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    assert first_picture(True, torch.from_numpy(picture())) == first_picture(True, picture())
    with pytest.raises(nvc.PyNvVCException, match="lies in host memory"):
        make(False).Encode(torch.from_numpy(picture()))


def test_nothing_wrong_is_taken_or_told_in_two_lines():
    wrong = [None, "x", "", b"", -1, 2**70, 1.5, [], {}, object(), True, [None], {"mode": "x"}, "\n", float("inf")]
    refused = 0
    for name in [*encoder_options._PLAIN, *encoder_options._OF_ENCODER, "slice", "timinginfo", "cudacontext", "cudastream"]:
        for value in wrong:
            try:
                make(**{name: value})
            except (nvc.PyNvVCException, TypeError, ValueError) as error:
                refused += 1
                assert len(str(error).splitlines()) == 1, (name, value)
    assert refused > 400
    for host in (True, False):
        for value in wrong:
            with pytest.raises((nvc.PyNvVCException, TypeError)) as caught:
                make(host).Encode(value)
            one_line(caught)
        for flags in (value for value in wrong if value is not True):
            with pytest.raises((nvc.PyNvVCException, TypeError, ValueError)) as caught:
                make(True).Encode(picture(), flags)
            one_line(caught)


def test_codecs():
    assert units(stream(encode(make(codec="H264"), 2)))[:2] == [7, 8]
    assert units(stream(encode(make(codec="hevc"), 2)), hevc=True)[:3] == [32, 33, 34]
    data = stream(encode(make(codec="Av1"), 3))
    assert data[:4] == b"DKIF" and data[8:12] == b"AV01" and int.from_bytes(data[12:14], "little") == WIDTH and int.from_bytes(data[16:20], "little") == 30
    buffer = bytearray(data)
    assert nvc.patch_ivf_frame_count(buffer, 3) and buffer[24:28] == b"\3\0\0\0" and not nvc.patch_ivf_frame_count(bytearray(40), 3)
    with pytest.raises(TypeError, match="read-only"):
        nvc.patch_ivf_frame_count(data, 3)
    assert stream(encode(make(codec="av1", use_ivf_container="0"), 3))[:2] == b"\x12\0"  # A temporal delimiter.


def test_rates_and_buffers(tmp_path):
    assert settings()["rc"] == "cbr" and settings()["bitrate"] == "10000" and settings()["vbv_bufsize"] == "10000"
    found = settings(RC="VBR", bitrate="2M", maxbitrate=3_000_000, vbvbufsize="500K", vbvinit=100_000)
    assert (found["rc"], found["bitrate"], found["vbv_maxrate"], found["vbv_bufsize"]) == ("abr", "2097", "3000", "512")
    sizes = [len(stream(encode(make(rc="cbr", bitrate=rate, vbvbufsize=rate // 10), 30))) for rate in (200_000, 400_000)]
    assert 1.6 < sizes[1] / sizes[0] < 2.4 and 0.7 < sizes[1] / 50_000 < 1.4
    assert settings(cq=20)["crf"] == "20.0" and settings(cq=20, maxbitrate="1M")["vbv_maxrate"] == "1048"


def test_quantisers_are_of_p_b_and_i_pictures():
    for keywords in ({"rc": "constqp", "constqp": [28, 34, 25]}, {"constqp": "28,34,25"}):
        found = settings(bf=3, **keywords)  # x264 takes I and B as ratios of quantiser steps, which double every 6.
        assert (found["rc"], found["qp"], found["ip_ratio"], found["pb_ratio"]) == ("cqp", "28", "1.41", "2.00")
    found = settings(bf=3, rc="constqp")
    assert (found["qp"], found["ip_ratio"], found["pb_ratio"]) == ("28", "1.41", "1.41")
    assert settings(constqp="20")["qp"] == "20"
    found = settings(qmin=[20, 20, 20], qmax=30)
    assert found["qpmin"] == "20" and found["qpmax"] == "30"


def test_structure_of_pictures():
    def types(**keywords):
        packets = sorted(encode(make(**keywords), 9), key=lambda packet: packet["pts"])
        return "".join({3: "I", 2: "i", 1: "B", 0: "P"}[packet["picture_type"]] for packet in packets)

    assert types(bf=0) == "I" * 9 and types(bf=1, gop=4) == "IPPPIPPPI" and types(bf="1", idrperiod=8) == "IPPPPPPPI"
    assert types(gop=[4, 4, 4], idrperiod=4, bf=1) == "IPPPIPPPI"
    assert "B" in types(bf=3, gop=9) and "BBB" not in types(bf=3, gop=9)
    assert make(bf=3).GetNumBFrames() == 2 and make(tuning_info="low_latency").GetNumBFrames() == 0 and make(bf=0).GetNumBFrames() == 0


def test_b_frames_of_presets():
    for preset in ("P1", "P7"):
        assert make(preset=preset).GetNumBFrames() == int(settings(preset=preset)["bframes"])
    assert make(preset="P4", tuning_info="lossless").GetNumBFrames() == int(settings(preset="P4", tuning_info="lossless")["bframes"])
    assert make(preset="P4", codec="hevc").GetNumBFrames() in range(1, 17)


def test_presets_and_tunings():
    levels = [int(settings(preset=f"p{number}", tuning_info="HIGH_QUALITY")["subme"]) for number in range(1, 8)]
    assert levels == sorted(levels) and levels[0] < levels[6] and settings()["subme"] == settings(preset="P4")["subme"]
    assert len(make(tuning_info="ultra_low_latency").Encode(picture())) == 1 and len(make().Encode(picture())) == 0
    assert settings(tuning_info="low_latency")["bframes"] == "0"


def test_lossless_gives_every_sample_back(tmp_path):
    path = tmp_path / "a.h264"
    path.write_bytes(stream(encode(make(tuning_info="lossless"), 3)))
    done = subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "nv12", "-"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("ffmpeg is not here")
    assert done.stdout == b"".join(picture(number).tobytes() for number in range(3))


def test_slices_headers_and_timing(tmp_path):
    assert units(stream(encode(make(slice={"mode": 3, "data": 4}, bf=1), 1))).count(5) == 4
    assert units(stream(encode(make(slice_mode=2, slice_data=1, bf=1), 1))).count(5) == HEIGHT // 16
    assert units(stream(encode(make(**{"slice::mode": "0", "slice::data": "6"}, bf=1), 1))).count(5) == 4
    assert [units(stream(encode(make(gop=4, repeatspspps=repeat)))).count(7) for repeat in (0, "1")] == [1, 3]
    data = stream(encode(make(timingInfo={"num_unit_in_ticks": 1001, "timescale": "48000"}), 3))
    assert probed(tmp_path / "a.h264", data, "r_frame_rate")["r_frame_rate"] == "24000/1001"
    assert probed(tmp_path / "b.h264", stream(encode(make(fps="29.97"), 3)), "r_frame_rate")["r_frame_rate"] == "2997/100"


def test_lookahead_aq_and_references():
    found = settings(lookahead="12", aq=1, temporalaq=1, numrefl0=2, preset="P5")
    assert (found["rc_lookahead"], found["aq"], found["mbtree"], found["ref"]) == ("12", "1:1.00", "1", "2")
    assert settings(aq=0)["aq"] in ("0", "1:0.00") and settings(temporalaq="0")["mbtree"] == "0"


def test_profile_level_and_times_of_packets(tmp_path):
    """Defect 14's other half: `profile` and `level`, and packets that tell their times."""
    packets = encode(make(profile="main", level="4.1", bf=3), 9)
    sps = packets[0]["data"].index(b"\0\0\1\x67") + 4
    assert (packets[0]["data"][sps], packets[0]["data"][sps + 2]) == (77, 41)
    assert sorted(packet["pts"] for packet in packets) == list(range(9)) and packets != sorted(packets, key=lambda packet: packet["pts"])
    assert [packet["dts"] for packet in packets] == sorted({packet["dts"] for packet in packets})
    found = probed(tmp_path / "a.hevc", stream(encode(make(codec="hevc", level="5", tier="high"), 2)), "level")
    assert found["level"] == "150"


@pytest.mark.parametrize("name", ["NV12", "ARGB", "YV12", "YUV444"])
def test_colorspace_is_told_and_samples_stay(name, tmp_path):
    size = int(WIDTH * HEIGHT * FORMATS[name if name != "YV12" else "yv12"])
    samples = (np.arange(size) * 7 % 200 + 20).astype(np.uint8)
    plain, told = (nvc.CreateEncoder(WIDTH, HEIGHT, name, True, constqp=12, **keywords) for keywords in ({}, {"colorspace": "BT709"}))
    results = []
    for number, encoder in enumerate((plain, told)):
        encoder.Encode(samples)
        path = tmp_path / f"{number}.h264"
        results.append((probed(path, bytes(encoder.EndEncode()), "color_space"), path))
    assert results[1][0]["color_space"] == "bt709"
    frames = [subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-f", "rawvideo", "-"], capture_output=True, check=False).stdout for _, path in results]
    assert (frames[0] == frames[1]) == (name != "ARGB") and frames[0]  # RGB alone is converted by it.


REFUSED = [({"multipass": "fullres"}, "only NVENC encodes each picture in two passes"), ({"multipass": "QRES"}, "only NVENC"), ({"initqp": 20}, "only NVENC takes an initial QP"),
           ({"ldkfs": 3}, "only NVENC scales keyframes"), ({"numrefl1": 2}, "only NVENC limits list 1"), ({"tuning_info": "uhq"}, "only NVENC has it"),
           ({"qmin": [10, 20, 30]}, "expected one number for all"), ({"gop": 60, "idrperiod": 30}, "give one of both"), ({"maxbitrate": "20M"}, "max_bit_rate 20971520 beside bit_rate"),
           ({"constqp": 20, "rc": "cbr"}, "const_qp is of rate_control constqp"), ({"tuning_info": "lossless", "bitrate": 1000000}, "lossless keeps every sample"),
           ({"max_res": [64, 64]}, "expected at least the size 96x64"), ({"s": "64x64"}, "s: 64x64, but width and height are 96x64"),
           ({"source_av_format_context": 1}, "no pointer into FFmpeg"), ({"slice_mode": 3}, "without slice_data"), ({"codec": "av1", "bf": 0}, "expected 2 or more"),
           ({"codec": "h265"}, "expected one of h264, hevc, av1"), ({"preset": "P8"}, "expected one of p1"), ({"rc": "abr"}, "expected one of cbr, constqp, vbr"),
           ({"multipass": "half"}, "expected one of fullres, qres"), ({"colorspace": "bt2020"}, "expected one of bt601, bt709"), ({"bitrate": "much"}, "like '10M'"),
           ({"bitrate": 0}, "expected 1 to"), ({"bitrate": True}, "expected 1 to"), ({"constqp": [1, 2]}, "three of P, B and I"), ({"constqp": "a,b,c"}, "three of P, B and I"),
           ({"constqp": 52}, "const_qp 52, expected 0 to 51"), ({"fps": "fast"}, "frames per second"), ({"fps": "1/0"}, "frames per second"), ({"gop": 0}, "1 or more"),
           ({"gop": [1, 2, 3]}, "1 or more"), ({"bf": -1}, "0 to 32"), ({"bf": 2.5}, "whole number"), ({"aq": 5}, "0 to 1"), ({"lookahead": 256}, "0 to 255"),
           ({"cq": float("nan")}, "0 to 63"), ({"slice": 3}, "a dict of mode, data"), ({"slice": {"size": 3}}, "unknown keyword 'slice::size'"), ({"max_res": "big"}, "width and height"),
           ({"bitrat": 1}, "did you mean 'bitrate'?"), ({"GOP": 3, "gop": 4}, "given twice"), ({"repeatspspps": 2}, "0 to 1"), ({"profile": "best"}, "profile")]  # fmt: skip


@pytest.mark.parametrize(("keywords", "line"), REFUSED, ids=[str(keywords) for keywords, _ in REFUSED])
def test_refused_keywords_say_why(keywords, line):
    with pytest.raises(nvc.PyNvVCException) as caught:
        make(**keywords)
    one_line(caught, line)


def test_create_encoder_takes_its_arguments_by_name():
    assert bytes(nvc.CreateEncoder(width=WIDTH, height=HEIGHT, format="nv12", usecpuinputbuffer=1, gpuid=0, cudacontext=0, cudastream=0, s=[WIDTH, HEIGHT],
                                   max_res="192X128").EndEncode()) == b""  # fmt: skip
    encoder = nvc.PyNvEncoder(WIDTH, HEIGHT, "NV12", 0, 0, True, {"codec": "h264", "max_res": None})
    assert len(encode(encoder, 2)) == 2 and encoder.GetSequenceParams().startswith(b"\0\0\0\1\x67")
    for arguments, line in [((0, 64, "NV12", True), "width"), ((96, 64, "NV99", True), "fmt: 'NV99' is not one of NV12"), ((96, 64, 3, True), "fmt"),
                            ((96, 64, "NV12", 7), "usecpuinputbuffer"), ((96, 64), "expected width, height, fmt")]:  # fmt: skip
        with pytest.raises((TypeError, ValueError, nvc.PyNvVCException)) as caught:
            nvc.CreateEncoder(*arguments)
        one_line(caught, line)
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="no encoder on a device"):
        encoder.CopyToDeviceMemory("a.yuv")


def test_picture_flags():
    flags = nvc.NV_ENC_PIC_FLAGS
    encoder = make(tuning_info="ultra_low_latency")
    packets = []
    for number in range(6):
        wanted = {2: flags.FORCEIDR, 3: flags.OUTPUT_SPSPPS, 4: int(flags.FORCEINTRA) | flags.OUTPUT_SPSPPS}.get(number, 0)
        packets += encoder.Encode(picture(number), wanted)
    assert [packet["key"] for packet in packets] == [True, False, True, False, True, False]
    assert [7 in units(packet["data"]) for packet in packets] == [True, False, False, True, True, False]
    for wrong, line in [(flags.EOS, "EndEncode"), (flags.OUTPUT_RECON_FRAME, "by NVENC only"), (flags.DISABLE_ENC_STATE_ADVANCE, "by NVENC only"), (64, "0x40 is no combination")]:
        with pytest.raises(nvc.PyNvVCException) as caught:
            encoder.Encode(picture(), wrong)
        one_line(caught, line)
    with pytest.raises(TypeError):
        encoder.Encode(picture(), "FORCEIDR")


def test_picture_params():
    params = nvc.NV_ENC_PIC_PARAMS()
    assert repr(params) == "<NV_ENC_PIC_PARAMS encodePicFlags=0 inputTimeStamp=0>"
    params.encodePicFlags, params.inputWidth, params.inputHeight, params.frameIdx = nvc.NV_ENC_PIC_FLAGS.OUTPUT_SPSPPS, WIDTH, HEIGHT, 3
    assert len(make(tuning_info="ultra_low_latency").Encode(picture(), params)) == 1
    params.inputWidth = 8
    with pytest.raises(nvc.PyNvVCException, match="inputWidth: 8"):
        make().Encode(picture(), params)
    params.inputWidth, params.pictureStruct = 0, 2
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="is a field"):
        make().Encode(picture(), params)
    with pytest.raises(AttributeError, match="no field 'qp'"):
        params.qp = 3
    with pytest.raises(TypeError):
        params.frameIdx = "1"


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_sei_messages(codec):
    note = list(range(16)) + list(b"a note")
    data = encode(make(codec=codec, bf=1, gop=30), 3, 0, [({"sei_type": 5}, note), ({"sei_type": 5}, bytes(note[::-1]))])
    assert all(bytes(note) in packet["data"] and bytes(note[::-1]) in packet["data"] for packet in data)
    for wrong in ([5], [({}, b"1")], [({"sei_type": 5}, "text")], 5):
        with pytest.raises(TypeError, match="expected .*sei_type"):
            make().Encode(picture(), 0, wrong)


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_capabilities_of_encoders(codec):
    try:
        caps = nvc.GetEncoderCaps(gpuid=0, codec=codec)
    except nvc.PyNvVCExceptionUnsupported as error:
        pytest.skip(str(error))
    assert len(caps) == 56 and all(isinstance(value, int) for value in caps.values())
    assert caps["width_max"] >= 8192 and 1 <= caps["width_min"] <= 64 and caps["num_encoder_engines"] >= 1 and caps["support_lookahead"] == 1
    assert caps["support_dynamic_slice_mode"] == (codec == "h264") and caps["support_field_encoding"] == 0
    with pytest.raises(nvc.PyNvVCException, match="expected one of h264, hevc, av1"):
        nvc.GetEncoderCaps(codec="vp9")
