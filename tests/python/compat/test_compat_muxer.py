"""FFmpegMuxer: packets of Encode() at their times, sound of a demuxer beside them, and what does not fit."""

import ctypes
import gc
import json
import subprocess

import numpy as np
import pytest

from command import leftovers
from compat_support import COUNT, HEIGHT, WIDTH, write_clip
from compat_support import on_the_cpu as on_the_cpu

lanner = pytest.importorskip("lanner")
nvc = pytest.importorskip("lanner.compat.PyNvVideoCodec")
SIZE = 64  # That each encoder takes.


def picture(number):
    """NV12 of one brightness."""
    samples = np.full((SIZE * 3 // 2, SIZE), 128, np.uint8)
    samples[:SIZE] = 30 + 5 * number
    return samples


def make_encoder(codec="h264", **options):
    try:
        return nvc.CreateEncoder(SIZE, SIZE, "NV12", True, codec=codec, preset="P1", use_ivf_container=0, fps=25, **options)
    except nvc.PyNvVCExceptionUnsupported as error:
        pytest.skip(str(error))


def packets_of(encoder, count=12, stamps=None):
    packets = []
    for number in range(count):
        flags = nvc.NV_ENC_PIC_PARAMS()
        flags.inputTimeStamp = number if stamps is None else stamps[number]
        packets += encoder.Encode(picture(number), flags)
    return packets + list(encoder.EndEncode())


def mux(muxer, packets):
    for packet in packets:
        muxer.MuxVideoPacket(packet["data"], packet["picture_type"], packet["timestamp"])
    muxer.Finalize()


def lumas(path):
    return [int(frame.contiguous("nv12").numpy()[:SIZE].mean()) for frame in lanner.VideoReader(path)]


def ffprobe(path):
    done = subprocess.run(["ffprobe", "-v", "error", "-show_streams", "-show_packets", "-of", "json", str(path)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(("codec", "name"), [("h264", "a.mp4"), ("h264", "a.mov"), ("hevc", "a.mp4"), ("av1", "a.mp4"), ("av1", "a.webm"), ("h264", "a.h264"),
                                             ("hevc", "a.hevc"), ("av1", "a.obu")])  # fmt: skip
@pytest.mark.parametrize("headers_apart", [True, False])
def test_packets_of_an_encoder_in_a_file(tmp_path, codec, name, headers_apart):
    encoder = make_encoder(codec, bf=8 if codec == "av1" else 3, cq=20, gop=6, tuning_info="high_quality")
    extradata = encoder.GetSequenceParams() if headers_apart else b""
    muxer = nvc.FFmpegMuxer(
        file_path=str(tmp_path / name), media_format=nvc.GetMediaFormat(name), codec=codec, width=SIZE, height=SIZE, fps_num=25, fps_den=1, timebase_num=1,
        timebase_den=90000, extradata=extradata,
    )  # fmt: skip
    muxer.SetUniformPtsIncrement(3600)
    packets = packets_of(encoder)
    assert not (tmp_path / name).exists()
    mux(muxer, packets)
    assert leftovers(tmp_path, name) == []
    np.testing.assert_allclose(lumas(tmp_path / name), [30 + 5 * number for number in range(12)], atol=3)
    if name not in ("a.h264", "a.hevc", "a.obu"):
        np.testing.assert_allclose(lanner.VideoReader(tmp_path / name).times(), np.arange(12) / 25, atol=1.1e-3)
        found = ffprobe(tmp_path / name)["packets"]
        assert [one["flags"][0] == "K" for one in found] == [packet["picture_type"] == 3 for packet in packets]


def test_by_place_and_without_an_increment(tmp_path):
    muxer = nvc.FFmpegMuxer(str(tmp_path / "a.mp4"), nvc.MP4, "H264", SIZE, SIZE, 30000, 1001)
    mux(muxer, packets_of(make_encoder(bf=1)))
    np.testing.assert_allclose(lanner.VideoReader(tmp_path / "a.mp4").times(), np.arange(12) * 1001 / 30000, atol=1e-4)
    muxer.Finalize()


def test_times_of_its_own(tmp_path):
    """inputTimeStamp in ticks, with an increment of one tick."""
    stamps = [0, 10, 11, 25, 40, 41, 42, 90, 100, 101, 150, 200]
    encoder = make_encoder(bf=3, tuning_info="high_quality")
    muxer = nvc.FFmpegMuxer(tmp_path / "a.mp4", nvc.MP4, "h264", SIZE, SIZE, 25, 1, 1, 1000, encoder.GetSequenceParams())
    muxer.SetUniformPtsIncrement(1)
    mux(muxer, packets_of(encoder, stamps=stamps))
    np.testing.assert_allclose(lanner.VideoReader(tmp_path / "a.mp4").times(), np.array(stamps) / 1000, atol=1e-6)
    np.testing.assert_allclose(lumas(tmp_path / "a.mp4"), [30 + 5 * number for number in range(12)], atol=3)


def test_mux_writes_what_it_is_told(tmp_path):
    encoder = make_encoder(bf=1)
    muxer = nvc.FFmpegMuxer(str(tmp_path / "a.mp4"), nvc.MP4, "h264", SIZE, SIZE, extradata=encoder.GetSequenceParams())
    for number, packet in enumerate(packets_of(encoder)):
        assert muxer.Mux(packet["data"], 9000 * number, 9000 * number, 9000, 0, packet["picture_type"] == 3, number) is True
    muxer.Finalize()
    np.testing.assert_allclose(lanner.VideoReader(tmp_path / "a.mp4").times(), np.arange(12) / 10, atol=1e-6)


@pytest.fixture(scope="module")
def with_sound(tmp_path_factory):
    """Frames that are shown for different times, turned, and sound."""
    folder = tmp_path_factory.mktemp("muxer")
    clip = write_clip(folder / "clip.mp4")
    path = folder / "sound.mp4"
    made = subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-i", clip, "-f", "lavfi", "-i", "sine=d=1.2", "-vf", "setpts=N*N*20", "-fps_mode", "passthrough", "-enc_time_base", "1:90000", "-video_track_timescale", "90000",
         "-c:v", "libx264", "-bf", "2", "-c:a", "aac", str(folder / "plain.mp4")],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("ffmpeg with libx264 and aac is not here")
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", str(folder / "plain.mp4"), "-c", "copy", "-metadata:s:v", "rotate=90", str(path)], check=True)  # 5.1 turns it.
    return str(path)


def test_a_transcoding_loop_keeps_times_and_sound(tmp_path, with_sound):
    demuxer = nvc.CreateDemuxer(filename=with_sound)
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), usedevicememory=True)
    context = demuxer.GetAVFormatInputContext()
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", False, codec="h264", bf=3, tuning_info="high_quality", fps=1, source_av_format_context=int(context))
    out = tmp_path / "out.mp4"
    muxer = nvc.FFmpegMuxer(file_path=str(out), media_format=nvc.MP4, in_format_context=context, codec="h264", width=WIDTH, height=HEIGHT,
                            extradata=encoder.GetSequenceParams())  # fmt: skip
    frames = 0
    while True:
        packet = demuxer.DemuxNoSkipAudio()
        if packet.is_video or packet.bsl == 0:
            muxer.RecordSourceVideoPacket(packet)
            for frame in decoder.Decode(packet):
                flags = nvc.NV_ENC_PIC_PARAMS()
                flags.inputTimeStamp, frames = frames, frames + 1
                for one in encoder.Encode(frame, flags):
                    muxer.MuxVideoPacket(bytes(one["data"]), one["picture_type"], one["timestamp"])
            if packet.bsl == 0:
                break
        else:
            assert muxer.PreparePassthroughPacket(packet) == packet.pts and muxer.MuxPassthroughPacket(packet) is True
    for one in encoder.EndEncode():
        muxer.MuxVideoPacket(bytes(one["data"]), one["picture_type"], one["timestamp"])
    del demuxer
    muxer.Finalize()
    assert frames == COUNT
    before, after = lanner.VideoReader(with_sound), lanner.VideoReader(out)
    assert after.times() == before.times() and after.stream.rotation == before.stream.rotation
    digests = {subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-f", "md5", "-"], capture_output=True, check=True).stdout for path in (with_sound, str(out))}
    assert len(digests) == 1
    luma = [[int(frame.contiguous("nv12").numpy()[16:HEIGHT].mean()) for frame in lanner.VideoReader(path, rotate=False)] for path in (with_sound, out)]
    np.testing.assert_allclose(*luma, atol=2)


def test_other_counts_than_the_source_get_a_uniform_rate(tmp_path, with_sound):
    demuxer = nvc.CreateDemuxer(with_sound)
    encoder = make_encoder(bf=1)
    muxer = nvc.FFmpegMuxer(str(tmp_path / "a.mp4"), nvc.MP4, demuxer.GetAVFormatInputContext(), "h264", SIZE, SIZE, encoder.GetSequenceParams())
    for packet in demuxer:
        muxer.RecordSourceVideoPacket(packet)
    mux(muxer, packets_of(encoder))
    times = lanner.VideoReader(tmp_path / "a.mp4").times()
    assert len(times) == 12
    np.testing.assert_allclose(np.diff(times), 1 / demuxer.FrameRate(), atol=1e-3)


def test_passthrough_packets_that_are_left_out(tmp_path, with_sound):
    demuxer = nvc.CreateDemuxer(with_sound)
    alone = nvc.FFmpegMuxer(str(tmp_path / "a.mp4"), nvc.MP4, "h264", SIZE, SIZE)
    beside = nvc.FFmpegMuxer(str(tmp_path / "b.mp4"), nvc.MP4, demuxer.GetAVFormatInputContext(), "h264", SIZE, SIZE)
    while not (packet := demuxer.DemuxNoSkipAudio()).is_video:
        pass
    assert beside.MuxPassthroughPacket(packet) is False
    while (packet := demuxer.DemuxNoSkipAudio()).is_video:
        pass
    assert alone.MuxPassthroughPacket(packet) is False and alone.PreparePassthroughPacket(packet) is None
    packet.pts = packet.dts + 100  # As the first packet of some encoders' sound.
    assert beside.PreparePassthroughPacket(packet) == packet.dts
    handmade = nvc.PacketData()
    data = ctypes.create_string_buffer(b"\x21\x10\x04", 3)
    handmade.bsl, handmade.bsl_data, handmade.pts, handmade.stream_index, handmade.is_video = 3, ctypes.addressof(data), 5, packet.stream_index, 0
    assert beside.MuxPassthroughPacket(handmade) is True
    data.value = b"no"
    assert bytes(beside._queue.pop().packet.data) == b"\x21\x10\x04"
    packet.pts = -(2**63)
    assert beside.MuxPassthroughPacket(packet) is False


def test_a_forgotten_finalize_loses_nothing(tmp_path):
    encoder = make_encoder(bf=1)
    muxer = nvc.FFmpegMuxer(str(tmp_path / "a.mp4"), nvc.MP4, "h264", SIZE, SIZE, extradata=encoder.GetSequenceParams())
    for packet in packets_of(encoder):
        muxer.MuxVideoPacket(packet["data"], packet["picture_type"], packet["timestamp"])
    del muxer
    assert len(lanner.VideoReader(tmp_path / "a.mp4")) == 12


def test_what_does_not_fit_raises_in_one_line(tmp_path):
    path, data = str(tmp_path / "a.mp4"), b"\0\0\0\1\x65xyz"

    def finalized():
        muxer = nvc.FFmpegMuxer(path, nvc.MP4, "h264", SIZE, SIZE)
        muxer.Finalize()

    def twice():
        muxer = nvc.FFmpegMuxer(path, nvc.MP4, "h264", SIZE, SIZE, extradata=make_encoder().GetSequenceParams())
        muxer.MuxVideoPacket(data, 3, 0)
        muxer.MuxVideoPacket(data, 0, 0)
        muxer.Finalize()

    def late():
        encoder = make_encoder(bf=1)
        muxer = nvc.FFmpegMuxer(str(tmp_path / "b.mp4"), nvc.MP4, "h264", SIZE, SIZE)
        mux(muxer, packets_of(encoder))
        muxer.MuxVideoPacket(data, 3, 99)

    muxer = nvc.FFmpegMuxer(str(tmp_path / "c.mp4"), nvc.MP4, "h264", SIZE, SIZE)
    for kind, line, call in [
        (nvc.PyNvVCException, "expected one of h264, hevc, av1", lambda: nvc.FFmpegMuxer(path, nvc.MP4, "vp9", SIZE, SIZE)),
        (nvc.PyNvVCException, "not what GetAVFormatInputContext", lambda: nvc.FFmpegMuxer(path, nvc.MP4, 123456789, "h264", SIZE, SIZE)),
        (TypeError, "expected MEDIA_FORMAT", lambda: nvc.FFmpegMuxer(path, "mp4", "h264", SIZE, SIZE)),
        (TypeError, "height is missing", lambda: nvc.FFmpegMuxer(path, nvc.MP4, "h264", SIZE)),
        (TypeError, "unknown argument 'title'", lambda: nvc.FFmpegMuxer(path, nvc.MP4, "h264", SIZE, SIZE, title="x")),
        (TypeError, "'codec' is given twice", lambda: nvc.FFmpegMuxer(path, nvc.MP4, "h264", SIZE, SIZE, codec="h264")),
        (TypeError, "expected a path", lambda: nvc.FFmpegMuxer(3, nvc.MP4, "h264", SIZE, SIZE)),
        (ValueError, "timebase_den: 0", lambda: nvc.FFmpegMuxer(path, nvc.MP4, "h264", SIZE, SIZE, timebase_den=0)),
        (nvc.PyNvVCException, "none", lambda: nvc.FFmpegMuxer(str(tmp_path / "none" / "a.mp4"), nvc.MP4, "h264", SIZE, SIZE)),
        (nvc.PyNvVCException, "no packet of pictures", finalized),
        (nvc.PyNvVCException, "input_timestamp 0 of two packets", twice),
        (nvc.PyNvVCException, "Finalize\\(\\) was called", late),
        (nvc.PyNvVCException, "in IVF already", lambda: muxer.MuxVideoPacket(b"DKIF" + bytes(60), 3, 0)),
        (TypeError, "expected bytes", lambda: muxer.MuxVideoPacket("text", 3, 0)),
        (TypeError, "expected PacketData", lambda: muxer.RecordSourceVideoPacket(None)),
        (ValueError, "pts_inc: 0", lambda: muxer.SetUniformPtsIncrement(0)),
    ]:
        with pytest.raises(kind, match=line) as caught:
            call()
        assert len(str(caught.value).splitlines()) == 1
    muxer = caught = None
    gc.collect()
    assert leftovers(tmp_path, "b.mp4") == []
