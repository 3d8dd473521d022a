"""lanner.compat.PyNvVideoCodec's demuxing and decoding beside Lanner's own readers, and what does not fit."""

import ctypes
import os
import subprocess
import threading

import numpy as np
import pytest

from compat_support import COUNT, GOP, HEIGHT, WIDTH, array_of, assert_same, wanted_frames, write_clip
from compat_support import on_the_cpu as on_the_cpu

lanner = pytest.importorskip("lanner")
nvc = pytest.importorskip("lanner.compat.PyNvVideoCodec")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("compat")


@pytest.fixture(scope="module")
def clip(folder):
    return write_clip(folder / "clip.mp4")


@pytest.fixture(scope="module")
def wanted(clip):
    return wanted_frames(clip)


def decode_all(demuxer, decoder):
    return [frame for packet in demuxer for frame in decoder.Decode(packet)]


def one_line(error):
    text = str(error.value)
    assert text and len(text.splitlines()) == 1, text
    return text


def test_demuxer_facts(clip):
    demuxer = nvc.CreateDemuxer(filename=clip)
    assert (demuxer.Width(), demuxer.Height(), demuxer.BitDepth(), demuxer.FrameRate()) == (WIDTH, HEIGHT, 8, 25.0)
    assert demuxer.FrameSize() == WIDTH * HEIGHT * 3 // 2
    assert demuxer.GetNvCodecId() == nvc.cudaVideoCodec.H264 and str(demuxer.ChromaFormat()) == "cudaVideoChromaFormat.420"
    assert demuxer.GetContainerName() == "mp4" and demuxer.GetVideoStreamId() == 0 and demuxer.GetAudioStreamId() == -1
    assert demuxer.GetTimebaseNum() * 25 * 512 == demuxer.GetTimebaseDen() or demuxer.GetTimebaseDen() > 0
    assert (demuxer.AvgFrameRateNum(), demuxer.AvgFrameRateDen()) == (25, 1) == (demuxer.RFrameRateNum(), demuxer.RFrameRateDen())
    assert demuxer.RFrameRate() == 25.0 and isinstance(demuxer.ColorSpace(), nvc.ColorSpace) and isinstance(demuxer.ColorRange(), nvc.ColorRange)
    other = nvc.CreateDemuxer(filename=clip)
    assert demuxer.GetAVFormatInputContext() == demuxer.GetAVFormatInputContext() != other.GetAVFormatInputContext() > 0


def test_demuxer_ends_with_an_empty_packet_again_and_again(clip):
    demuxer = nvc.CreateDemuxer(clip)
    packets = list(demuxer)
    assert len(packets) == COUNT + 1 and packets[-1].bsl == 0 and all(packet.bsl for packet in packets[:-1])
    assert list(demuxer) == [] and demuxer.Demux().bsl == 0 and demuxer.DemuxNoSkipAudio().bsl == 0


def test_packets_are_annex_b_and_decode_anywhere(clip, folder, wanted):
    demuxer = nvc.CreateDemuxer(clip)
    packets = [packet for packet in demuxer if packet.bsl]
    raw = b"".join(ctypes.string_at(packet.bsl_data, packet.bsl) for packet in packets)
    assert raw.startswith(b"\0\0\0\1") and packets[0].key == 1 and packets[1].key == 0
    (folder / "raw.h264").write_bytes(raw)
    assert_same(list(nvc.SimpleDecoder(str(folder / "raw.h264"))), wanted)


def test_packets_are_as_ffmpeg_writes_them(clip, folder):
    done = subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", clip, "-c", "copy", "-bsf:v", "h264_mp4toannexb", str(folder / "ff.h264")], check=False)
    if done.returncode:
        pytest.skip("ffmpeg is not here")
    ours = b"".join(ctypes.string_at(packet.bsl_data, packet.bsl) for packet in nvc.CreateDemuxer(clip) if packet.bsl)
    units = lambda data: [unit for unit in data.replace(b"\0\0\0\1", b"\0\0\1").split(b"\0\0\1") if unit]  # noqa: E731
    assert units(ours) == units((folder / "ff.h264").read_bytes())


@pytest.mark.parametrize("codec", ["hevc", "av1"])
def test_other_codecs_decode(folder, codec):
    try:
        path = write_clip(folder / f"{codec}.mp4", codec=codec, count=12)
    except lanner.Error as error:
        pytest.skip(f"no encoder: {error}")
    demuxer = nvc.CreateDemuxer(path)
    assert demuxer.GetNvCodecId() == nvc.cudaVideoCodec[codec.upper()]
    packets = list(demuxer)
    assert_same(decode_all(packets, nvc.CreateDecoder(codec=demuxer.GetNvCodecId())), wanted_frames(path))
    if codec == "hevc":
        raw = folder / "raw.hevc"
        raw.write_bytes(b"".join(ctypes.string_at(packet.bsl_data, packet.bsl) for packet in packets if packet.bsl))
        assert_same(list(nvc.SimpleDecoder(str(raw))), wanted_frames(path))


def test_packets_made_by_hand(clip, wanted):
    """Times and bytes of one's own, as of clients that demux by other libraries."""
    decoder, kept, frames = nvc.CreateDecoder(codec=nvc.cudaVideoCodec.H264), [], []
    for number, packet in enumerate(packet for packet in nvc.CreateDemuxer(clip) if packet.bsl):
        made = nvc.PacketData()
        kept.append(ctypes.create_string_buffer(ctypes.string_at(packet.bsl_data, packet.bsl)))
        made.bsl, made.bsl_data = packet.bsl, ctypes.addressof(kept[-1])
        made.pts, made.dts, made.key, made.decode_flag = packet.pts + 7, packet.dts + 7, packet.key, nvc.VideoPacketFlag.ENDOFPICTURE
        assert repr(made).startswith("key:")
        frames += decoder.Decode(made)
        assert number < COUNT
    end = nvc.PacketData()
    frames += decoder.Decode(end)
    assert_same(frames, wanted)
    assert [frame.timestamp - 7 for frame in frames] == [frame.pts for frame in lanner.VideoReader(clip)]


def test_packet_attributes_take_integers_only():
    packet = nvc.PacketData()
    packet.bDiscontinuity, packet.decode_flag = True, nvc.VideoPacketFlag.ENDOFSTREAM
    assert (packet.bDiscontinuity, packet.decode_flag, packet.key, packet.pts, packet.bsl) == (1, 1, 0, 0, 0)
    for name, wrong in [("pts", "5"), ("pts", 2**63), ("bsl", -1), ("bsl_data", 1.5), ("key", None)]:
        with pytest.raises((TypeError, ValueError)) as caught:
            setattr(packet, name, wrong)
        assert name in one_line(caught)
    with pytest.raises(AttributeError, match="no attribute 'ptss'"):
        packet.ptss = 1
    packet = nvc.PacketData()
    packet.bsl = 5
    with pytest.raises(ValueError, match="address 0"):
        nvc.CreateDecoder().Decode(packet)


COLORS = [(nvc.OutputColorType.NATIVE, "nv12", "NV12"), (nvc.OutputColorType.RGB, "rgb24", "RGB"), (nvc.OutputColorType.RGBP, "rgb_planar", "RGBP")]


@pytest.mark.parametrize(("color", "name", "shown"), COLORS)
@pytest.mark.parametrize("device", [True, False])
def test_output_colors(clip, color, name, shown, device):
    demuxer = nvc.CreateDemuxer(clip)
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), outputColorType=color, usedevicememory=device)
    frames = decode_all(demuxer, decoder)
    wanted = [frame.contiguous(name).numpy() for frame in lanner.VideoReader(clip)]
    assert_same(frames, wanted)
    first = frames[0]
    assert first.format == nvc.Pixel_Format[shown] == decoder.GetPixelFormat() and first.framesize() == wanted[0].nbytes == decoder.GetFrameSize()
    assert (decoder.GetWidth(), decoder.GetHeight()) == (WIDTH, HEIGHT) and first.shape == wanted[0].shape
    base = first.GetPtrToPlane(0)
    assert ctypes.string_at(base, first.framesize()) == wanted[0].tobytes()
    views = first.cuda()
    assert [view.dataptr for view in views] == [first.GetPtrToPlane(number) for number in range(len(views))]
    joined = b"".join(np.ascontiguousarray(np.asarray(view)).tobytes() for view in views)
    assert joined == wanted[0].tobytes()
    assert hasattr(views[0], "__cuda_array_interface__") == device  # Without a GPU device memory is the host's.
    with pytest.raises(IndexError):
        first.GetPtrToPlane(len(views))


NATIVE = [("yuv420p", "NV12", "nv12"), ("yuv422p", "NV16", "nv16"), ("yuv444p", "YUV444", "yuv444p"), ("yuv420p10le", "P016", "p010"),
          ("yuv422p10le", "P216", "p210"), ("yuv444p10le", "YUV444_16Bit", "yuv444p10msb"), ("gray", "NV12", "nv12")]  # fmt: skip


@pytest.mark.parametrize(("source", "format", "name"), NATIVE)
def test_native_formats(folder, source, format, name):
    path = folder / f"{source}.mkv"
    done = subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=s=50x38:r=25:d=0.2", "-c:v", "ffv1", "-pix_fmt", source, str(path)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("ffmpeg is not here")
    decoder = nvc.SimpleDecoder(str(path))
    frames = decoder[:]
    assert {frame.format for frame in frames} == {nvc.Pixel_Format[format]}
    wanted = [frame.contiguous(name).numpy() for frame in lanner.VideoReader(path)]
    assert_same(frames, wanted)
    sizes = [int(np.prod(view.shape)) for view in frames[0].cuda()]
    assert sum(sizes) == wanted[0].size and frames[0].strides == tuple(step // wanted[0].itemsize for step in wanted[0].strides)


def test_nvcv_image_and_nv12_to_rgb(clip, folder):
    frame, other = nvc.SimpleDecoder(clip)[4], lanner.VideoReader(clip)[4]
    with pytest.warns(DeprecationWarning):
        (view,) = frame.nvcv_image()
    np.testing.assert_array_equal(np.asarray(view)[..., 0], array_of(frame))
    rgb = frame.nv12_to_rgb().numpy()
    assert rgb.shape == (1, 3, HEIGHT, WIDTH)
    np.testing.assert_array_equal(rgb[0], other.to("nv12").contiguous("rgb_planar").numpy())
    packed = nvc.SimpleDecoder(clip, output_color_type=nvc.OutputColorType.RGB)[4]
    for call in (packed.nvcv_image, packed.nv12_to_rgb):
        with pytest.raises(nvc.PyNvVCExceptionUnsupported, match=r"Pixel_Format\.RGB, expected"):
            call()


def test_sei_messages(clip, folder):
    frames = list(lanner.VideoReader(clip, sei=True))
    demuxer = nvc.CreateDemuxer(clip)
    ours = decode_all(demuxer, nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), enableSEIMessage=1))
    assert any(frame.sei for frame in frames)
    for frame, other in zip(ours, frames, strict=True):
        assert frame.getSEIMessage() == [({"sei_type": kind, "sei_uncompressed": 0}, list(data)) for kind, data in other.sei]
    assert nvc.SimpleDecoder(clip)[0].getSEIMessage() == []


@pytest.mark.parametrize("latency", nvc.DisplayDecodeLatencyType)
def test_latency(folder, latency):
    """Without reordering, low latency gives a frame with each packet; the order is that of presentation always."""
    path = write_clip(folder / f"{latency.name}.mkv", codec="mpeg4", count=8)
    demuxer = nvc.CreateDemuxer(path)
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), latency=latency)
    given = [decoder.Decode(packet) for packet in demuxer]
    assert_same([frame for frames in given for frame in frames], wanted_frames(path))
    if latency != nvc.DisplayDecodeLatencyType.NATIVE:
        assert [len(frames) for frames in given] == [1] * 8 + [0]


def test_reconfigure_between_streams(clip, wanted, folder):
    other = write_clip(folder / "wide.mp4", width=96, height=32, count=9)
    decoder = nvc.CreateDecoder(codec=nvc.cudaVideoCodec.H264, maxwidth=96, maxheight=48)
    assert_same(decode_all(nvc.CreateDemuxer(clip), decoder), wanted)
    assert decoder.setReconfigParams(96, 32) == 1
    assert_same(decode_all(nvc.CreateDemuxer(other), decoder), wanted_frames(other))
    half = list(nvc.CreateDemuxer(clip))[:15]  # Another stream without an end of this one: what was left comes first.
    frames = [frame for packet in half for frame in decoder.Decode(packet)]
    frames += decode_all(nvc.CreateDemuxer(other), decoder)
    assert_same(frames, wanted[:15] + wanted_frames(other)) if len(frames) == 24 else pytest.fail(f"{len(frames)} frames")


def test_frames_one_by_one_and_locked(clip, wanted):
    demuxer, decoder = nvc.CreateDemuxer(clip), nvc.CreateDecoder()
    with pytest.raises(nvc.PyNvVCException, match="no frame waits"):
        decoder.GetFrame()
    waiting = [decoder.GetNumDecodedFrame(packet) for packet in demuxer][-1]
    assert waiting == COUNT
    assert_same([decoder.GetFrame() for _ in range(10)], wanted[:10])
    address = decoder.GetLockedFrame()
    assert ctypes.string_at(address, wanted[10].nbytes) == wanted[10].tobytes()
    decoder.UnlockFrame(address)
    with pytest.raises(nvc.PyNvVCException, match="no frame is locked"):
        decoder.UnlockFrame(address)


def test_decoder_facts_before_the_first_packet(clip):
    decoder = nvc.CreateDecoder()
    assert decoder.GetSessionInitTime() == 0 and decoder.getDecoderSessionOverHead(1) == 0
    decoder.setDecoderSessionID(1)
    decoder.WaitOnCUStream(0)
    decoder.SyncOnCUStream()
    for call in (decoder.GetWidth, decoder.GetHeight, decoder.GetFrameSize, decoder.GetPixelFormat):
        with pytest.raises(nvc.PyNvVCException, match="decode a packet first"):
            call()
    assert decoder.Decode(nvc.PacketData()) == []
    decoder.Decode(nvc.CreateDemuxer(clip).Demux())
    assert (decoder.GetWidth(), decoder.GetFrameSize(), decoder.GetPixelFormat()) == (WIDTH, WIDTH * HEIGHT * 3 // 2, nvc.Pixel_Format.NV12)


def test_sessions_wait_for_each_other(clip, monkeypatch):
    monkeypatch.setattr("lanner.compat.PyNvVideoCodec.sessions.PATIENCE", 0.2)
    try:
        nvc.PyNvDecoder.SetSessionCount(2)
        decoders = []
        threads = [threading.Thread(target=lambda: decoders.append(nvc.SimpleDecoder(clip, bWaitForSessionWarmUp=True))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(decoders) == 2 and all(decoder.get_session_init_time() >= 0 for decoder in decoders)
        nvc.SimpleDecoder.set_session_count(3)
        with pytest.raises(nvc.PyNvVCException, match="1 of 3 sessions"):
            nvc.SimpleDecoder(clip, bWaitForSessionWarmUp=True)
    finally:
        nvc.PyNvDecoder.SetSessionCount(0)


def test_simple_decoder_batches_and_times(clip, wanted):
    decoder = nvc.SimpleDecoder(clip, need_scanned_stream_metadata=True)
    frames = []
    while batch := decoder.get_batch_frames(7):
        frames += batch
    assert_same(frames, wanted)
    decoder.seek_to_index(22)
    assert_same(decoder.get_batch_frames(3), wanted[22:25])
    assert [decoder.get_index_from_time_in_seconds(seconds) for seconds in (0, 0.039, 0.041, 1.0)] == [0, 0, 1, 25]
    with pytest.raises(nvc.PyNvVCException, match="99 s"):
        decoder.get_index_from_time_in_seconds(99)
    for number in (-1, COUNT):
        with pytest.raises(IndexError):
            decoder.seek_to_index(number)
    assert_same([frame for frame in decoder], wanted)
    assert decoder.get_session_init_time() >= 0


def test_metadata(clip):
    decoder = nvc.SimpleDecoder(clip, need_scanned_stream_metadata=True)
    plain, scanned = decoder.get_stream_metadata(), decoder.get_scanned_stream_metadata()
    assert (plain.width, plain.height, plain.num_frames, plain.average_fps, plain.codec_name) == (WIDTH, HEIGHT, COUNT, 25.0, "h264")
    assert plain.duration == pytest.approx(COUNT / 25) and plain.bitrate > 0 and "num_frames= 30" in repr(plain)
    packets = [packet for packet in nvc.CreateDemuxer(clip) if packet.bsl]
    assert scanned.key_frame_indices == list(range(0, COUNT, GOP)) and scanned.num_frames == COUNT
    assert scanned.pts == [packet.pts for packet in packets] and scanned.dts == [packet.dts for packet in packets]
    assert len(scanned.packet_size) == COUNT and sum(scanned.packet_size) <= os.path.getsize(clip)
    with pytest.raises(nvc.PyNvVCException, match="need_scanned_stream_metadata"):
        nvc.SimpleDecoder(clip).get_scanned_stream_metadata()
    assert repr(nvc.StreamMetadata()).startswith("<StreamMetadata [\nwidth= 0\n") and nvc.ScannedStreamMetadata().pts == []


def test_kept_videos_are_used_again(clip, folder, wanted):
    other = write_clip(folder / "kept.mp4", count=6)
    decoder = nvc.SimpleDecoder(clip, decoder_cache_size=2)
    first = decoder._source.reader
    decoder.reconfigure_decoder(other)
    decoder.reconfigure_decoder(clip)
    assert decoder._source.reader is first and not first.closed
    decoder.reconfigure_decoder(write_clip(folder / "third.mp4", count=3))
    decoder.reconfigure_decoder(other)
    assert first.closed
    write_clip(folder / "kept.mp4", count=4, first=9)
    decoder.reconfigure_decoder(other)  # It has changed since.
    assert len(decoder) == 4


def test_threaded_decoder_from_any_frame(clip, wanted, folder):
    for start in (0, 1, 15, 29):
        decoder = nvc.ThreadedDecoder(clip, 6, start_frame=start)
        frames = []
        while batch := decoder.get_batch_frames(5):
            frames += batch
        assert_same(frames, wanted[start:])
        assert decoder.get_batch_frames(5) == [] and len(decoder) == COUNT
    other = write_clip(folder / "threaded.mp4", count=11, width=32)
    decoder.reconfigure_decoder(other, start_frame=4)
    assert_same(decoder.get_batch_frames(6) + decoder.get_batch_frames(6), wanted_frames(other)[4:])
    with pytest.raises(nvc.PyNvVCException):
        decoder.reconfigure_decoder("no such file.mp4")
    assert decoder.get_stream_metadata().num_frames == 11
    for start in (11, 99):
        with pytest.raises(IndexError, match=f"frame {start} of 11"):
            nvc.ThreadedDecoder(other, 6, start_frame=start)
    with pytest.raises(nvc.PyNvVCException, match="at most buffer_size"):
        nvc.ThreadedDecoder(other, 2).get_batch_frames(3)


def test_threads_share_a_simple_decoder(clip, wanted):
    decoder, faults = nvc.SimpleDecoder(clip), []

    def work(seed):
        for number in np.random.default_rng(seed).integers(0, COUNT, 12):
            if not np.array_equal(array_of(decoder[int(number)]), wanted[number]):
                faults.append(number)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_capabilities():
    caps = nvc.GetDecoderCaps(gpuid=0, codec=nvc.cudaVideoCodec.H264, chromaformat=nvc.cudaVideoChromaFormat(1), bitdepth=8)
    assert set(caps) == {"supported", "num_decoder_engines", "width_min", "height_min", "width_max", "height_max", "mb_num_max"}
    assert caps["supported"] == 1 and caps["num_decoder_engines"] >= 1 and caps["width_max"] >= 4096
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="raw frames"):
        nvc.GetDecoderCaps(codec=nvc.cudaVideoCodec.NV12)


def test_enumerations_print_as_theirs():
    assert str(nvc.cudaVideoCodec.H264) == "cudaVideoCodec.H264" and repr(nvc.cudaVideoCodec.H264) == "<cudaVideoCodec.H264: 4>"
    assert str(nvc.cudaVideoChromaFormat["420"]) == "cudaVideoChromaFormat.420" and int(nvc.VideoPacketFlag.ENDOFPICTURE) == 8
    assert getattr(nvc.cudaVideoChromaFormat, "444") == 3 and nvc.BT_709 is nvc.ColorSpace.BT_709 and nvc.FORCEIDR is nvc.NV_ENC_PIC_FLAGS.FORCEIDR
    assert nvc.SEI_TYPE.TIME_CODE == 136 and nvc.Pixel_Format.NV12 == 3 and issubclass(nvc.PyNvVCExceptionUnsupported, Exception)


WRONG = [None, "x", b"", -1, 2**70, 1.5, [], {}, object(), True]


def wrong_calls(clip):
    demuxer, decoder, simple = nvc.CreateDemuxer(clip), nvc.CreateDecoder(), nvc.SimpleDecoder(clip)
    frame = simple[0]
    threaded = nvc.ThreadedDecoder(clip, 2)
    functions = [nvc.CreateDemuxer, lambda value: nvc.CreateDemuxer(callback=value), demuxer.Seek, demuxer.TimestampFromFrame, decoder.Decode, decoder.SetSeekPTS,
                 decoder.UnlockFrame, decoder.GetNumDecodedFrame, decoder.WaitOnCUStream, decoder.setReconfigParams, nvc.SimpleDecoder, simple.__getitem__,
                 simple.get_batch_frames, simple.get_batch_frames_by_index, simple.seek_to_index, simple.get_index_from_time_in_seconds, simple.reconfigure_decoder,
                 lambda value: nvc.ThreadedDecoder(value, 2), lambda value: nvc.ThreadedDecoder(clip, value), threaded.get_batch_frames, threaded.reconfigure_decoder,
                 frame.GetPtrToPlane, lambda value: demuxer.isSeekDone(value, value)]  # fmt: skip
    for name in ("gpuid", "codec", "cudacontext", "cudastream", "usedevicememory", "maxwidth", "outputColorType", "enableSEIMessage", "latency", "enableDecodeStats", "nonsense"):
        functions.append(lambda value, name=name: nvc.CreateDecoder(**{name: value}))
        functions.append(lambda value, name=name: nvc.GetDecoderCaps(**{name: value}))
    return functions


def test_wrong_values_are_refused_in_one_line(clip):
    allowed = (TypeError, ValueError, IndexError, OverflowError, nvc.PyNvVCException)
    refused = 0
    for function in wrong_calls(clip):
        for value in WRONG:
            try:
                function(value)
            except allowed as error:
                refused += 1
                assert str(error) and len(str(error).splitlines()) == 1, (function, value, error)
    assert refused > 250


def test_options_without_an_effect_say_so_or_fail(clip):
    for make in (lambda: nvc.CreateDecoder(enableDecodeStats=True), lambda: nvc.SimpleDecoder(clip, enableDecodeStats=True)):
        with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="no decode statistics"):
            make()
    frame = nvc.SimpleDecoder(clip)[0]
    assert (frame.decode_stats_size, frame.getRawDecodeStats(), frame.ParseDecodeStats()) == (0, [], {})
    docs = nvc.CreateDecoder.__doc__
    assert docs.count("no effect") >= 3
    with pytest.raises(nvc.PyNvVCException, match="created for cudaVideoCodec.HEVC"):
        nvc.CreateDecoder(codec=nvc.cudaVideoCodec.HEVC).Decode(nvc.CreateDemuxer(clip).Demux())


def test_a_callback_that_says_what_is_not_so(clip):
    for answer in (-1, 10**9, "x", None):
        with pytest.raises((nvc.PyNvVCException, ValueError, TypeError)) as caught:
            nvc.CreateDemuxer(lambda buffer, answer=answer: answer)
        assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(ZeroDivisionError):
        nvc.CreateDemuxer(lambda buffer: 1 // 0)
    with pytest.raises(nvc.PyNvVCException):
        nvc.CreateDemuxer(lambda buffer: 0)
