"""The sixteen known defects of PyNvVideoCodec: how Lanner's drop-in behaves in each case."""

import ctypes
import gc
import hashlib
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from compat_support import COUNT, GOP, HEIGHT, WIDTH, array_of, assert_same, environment, samples_of, wanted_frames, write_clip
from compat_support import on_the_cpu as on_the_cpu

lanner = pytest.importorskip("lanner")
nvc = pytest.importorskip("lanner.compat.PyNvVideoCodec")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("defects")


@pytest.fixture(scope="module")
def clip(folder):
    return write_clip(folder / "clip.mp4")


@pytest.fixture(scope="module")
def wanted(clip):
    return wanted_frames(clip)


def decode_all(demuxer, decoder):
    return [frame for packet in demuxer for frame in decoder.Decode(packet)]


def test_defect_01_slices_negative_numbers_and_len(clip, wanted):
    decoder = nvc.SimpleDecoder(clip)
    assert len(decoder) == COUNT
    for key in (slice(2, 6), slice(None), slice(20, COUNT), slice(0, 1000), slice(-3, None), slice(None, None, -7), slice(5, 2), slice(1, 20, 6)):
        assert_same(decoder[key], wanted[key])
    assert_same([decoder[-1], decoder[-COUNT], decoder[np.int64(4)]], [wanted[-1], wanted[0], wanted[4]])
    for number in (COUNT, -COUNT - 1, 10**30):
        with pytest.raises(IndexError):
            decoder[number]


def test_defect_02_a_batch_has_a_frame_for_each_number(clip, wanted):
    decoder = nvc.SimpleDecoder(clip)
    numbers = [5, 5, 29, 0, 5, 12, 0]
    assert_same(decoder.get_batch_frames_by_index(numbers), [wanted[number] for number in numbers])
    assert decoder.get_batch_frames_by_index([]) == []
    with pytest.raises(IndexError):
        decoder.get_batch_frames_by_index([1, COUNT])


def test_defect_03_a_failed_reconfigure_leaves_the_decoder_usable(folder, clip, wanted):
    other = write_clip(folder / "other.mp4", width=96, height=32, count=7)
    damaged = folder / "damaged.mp4"
    damaged.write_bytes(b"\0\0\0\x18ftypisom" + bytes(100))
    decoder = nvc.SimpleDecoder(clip)
    for bad in (str(damaged), "no such file.mp4", b"nonsense"):
        with pytest.raises(nvc.PyNvVCException):
            decoder.reconfigure_decoder(bad)
        assert_same(decoder[3:5], wanted[3:5])
    decoder.reconfigure_decoder(other)
    assert_same(decoder[:], wanted_frames(other))
    decoder.reconfigure_decoder(clip)
    assert_same(decoder[:], wanted)


def test_defect_04_stop_ends_decoding_and_keeps_frames(clip, wanted):
    decoder = nvc.SimpleDecoder(clip)
    frame = decoder[7]
    decoder.stop()
    decoder.stop()
    assert_same([frame], [wanted[7]])
    with pytest.raises(nvc.PyNvVCException, match="stopped"):
        decoder[0]


def test_defect_05_mpeg_ts_seeks_and_has_its_own_times(folder, clip):
    stream = write_clip(folder / "clip.ts")
    wanted = wanted_frames(stream)
    times = [frame.pts for frame in lanner.VideoReader(stream)]
    demuxer = nvc.CreateDemuxer(stream)
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())
    frames = decode_all(demuxer, decoder)
    assert_same(frames, wanted)
    assert [frame.timestamp for frame in frames] == times
    for number in (0, 13, 29):
        assert demuxer.TimestampFromFrame(number) == pytest.approx(number / 25)
        packet = demuxer.Seek(number)
        assert packet.key == 1 and packet.pts == times[number // GOP * GOP] and packet.seek_pts == times[number]
    assert len(nvc.SimpleDecoder(stream)) == COUNT
    assert_same(nvc.SimpleDecoder(stream)[::9], wanted[::9])


def test_defect_06_seeking_lands_on_the_keyframe_of_every_frame(folder, clip):
    edited = write_clip(folder / "clip.mov")
    for path in (clip, edited, write_clip(folder / "clip.mkv")):
        times = [frame.pts for frame in lanner.VideoReader(path)]
        demuxer = nvc.CreateDemuxer(path)
        for number in [*range(COUNT), 0, 29]:
            packet = demuxer.Seek(number)
            assert (packet.key, packet.pts) == (1, times[number // GOP * GOP]), (path, number)
        for number in (-1, COUNT, 10**12):
            with pytest.raises(nvc.PyNvVCException, match=f"frame {number}, expected 0 to {COUNT - 1}"):
                demuxer.Seek(number)
        assert demuxer.Seek(1.0).seek_pts == times[25]


def test_edit_lists_hide_what_they_hide(clip, folder):
    """A cut that begins between keyframes: what is in front of it is decoded and not shown, from any frame on. Part of defect 6."""
    cut = str(folder / "cut.mp4")
    done = subprocess.run(["ffmpeg", "-v", "error", "-y", "-ss", "0.6", "-i", clip, "-c", "copy", cut], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("ffmpeg is not here")
    shown = wanted_frames(cut)
    demuxer = nvc.CreateDemuxer(cut)
    packets = list(demuxer)
    assert 0 < len(shown) < len(packets) - 1 and any(packet.discardable for packet in packets)
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())
    assert_same(decode_all(packets, decoder), shown)
    for number in (0, 3, len(shown) - 1):
        packet = demuxer.Seek(number)
        decoder.SetSeekPTS(packet.seek_pts)
        assert_same(decoder.Decode(packet) + decode_all(demuxer, decoder), shown[number:])
    assert_same(nvc.SimpleDecoder(cut)[:], shown)


def test_defect_07_set_seek_pts_drops_the_frames_before(clip, wanted):
    demuxer = nvc.CreateDemuxer(clip)
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())
    for number in (17, 3, 29, 20):
        packet = demuxer.Seek(number)
        decoder.SetSeekPTS(packet.seek_pts)
        frames = decoder.Decode(packet) + decode_all(demuxer, decoder)
        assert_same(frames, wanted[number:])
        assert frames[0].getPTS() == packet.seek_pts


def test_defect_08_open_gops_give_every_frame(folder):
    ffmpeg = folder / "open.mkv"
    made = subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", f"testsrc2=s={WIDTH}x{HEIGHT}:r=25:d=2", "-c:v", "libx264", "-x264-params",
         "open-gop=1:keyint=10:min-keyint=10:bframes=3:scenecut=0", "-pix_fmt", "yuv420p", str(ffmpeg)], capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("ffmpeg with libx264 is not here")
    wanted = wanted_frames(ffmpeg)
    assert len(wanted) == 50
    decoder = nvc.SimpleDecoder(str(ffmpeg))
    assert_same([decoder[number] for number in range(len(wanted))], wanted)
    numbers = [49, 0, 10, 9, 11, 31]
    assert_same(decoder.get_batch_frames_by_index(numbers), [wanted[number] for number in numbers])


def test_defect_09_decoding_releases_the_gil(clip):
    """A thread that waits for the lock gets it while another is in Decode(): nothing else lets go of it in this test."""
    packets, decoder = [packet for packet in nvc.CreateDemuxer(clip)], nvc.CreateDecoder()
    waiting, wake = os.pipe()
    marks = []
    thread = threading.Thread(target=lambda: marks.append(os.read(waiting, 1)))
    interval = sys.getswitchinterval()
    thread.start()
    sys.setswitchinterval(1000)  # Python itself does not pass the lock on.
    try:
        ctypes.PyDLL(None).write(wake, b"x", 1)  # Wakes the thread, without letting go of the lock.
        for _ in range(1000):
            if marks:
                break
            for packet in packets:
                decoder.Decode(packet)
    finally:
        sys.setswitchinterval(interval)
        thread.join()
        os.close(waiting), os.close(wake)
    assert marks == [b"x"]


def test_defect_10_threaded_decoder_ends_and_frames_stay(clip, wanted):
    for taken in (0, 4, 12):
        decoder = nvc.ThreadedDecoder(clip, 4)
        frames = []
        while len(frames) < taken:
            frames += decoder.get_batch_frames(4)
        decoder.end()
        decoder.end()
        assert_same(frames, wanted[:taken])
        with pytest.raises(nvc.PyNvVCException, match="ended"):
            decoder.get_batch_frames(1)
    decoder = nvc.ThreadedDecoder(clip, 8)
    frames = []
    while batch := decoder.get_batch_frames(8):
        frames += batch
    del decoder
    assert_same(frames, wanted)


def handles():
    return len(os.listdir("/proc/self/fd"))


def test_defect_11_capabilities_and_frames_leak_nothing(clip):
    """Asking for capabilities and dropping decoders and encoders leaves no file, thread or frame."""
    def work():
        nvc.GetDecoderCaps(), nvc.GetEncoderCaps()
        nvc.CreateEncoder(64, 48, "NV12", True).Encode(bytes(64 * 48 * 3 // 2))
        demuxer = nvc.CreateDemuxer(clip)
        decode_all(demuxer, nvc.CreateDecoder(codec=demuxer.GetNvCodecId()))
        threaded = nvc.ThreadedDecoder(clip, 4)
        threaded.get_batch_frames(2)
        threaded.end()

    work()
    gc.collect()
    files, threads = handles(), threading.active_count()
    for _ in range(5):
        work()
    gc.collect()
    assert handles() == files and threading.active_count() == threads
    assert not [one for one in gc.get_objects() if isinstance(one, nvc.DecodedFrame)]


@pytest.mark.parametrize("address", ["rtsp://127.0.0.1:1/stream", "rtsp://nonsense", "rtsp:", "http://127.0.0.1:1/clip.mp4"])
def test_defect_12_addresses_are_refused_in_one_line(address):
    with pytest.raises(nvc.PyNvVCException) as caught:
        nvc.CreateDemuxer(address)
    assert len(str(caught.value).splitlines()) == 1


def test_defect_13_memory_and_files_without_a_path(clip, wanted):
    data = open(clip, "rb").read()
    for source in (data, bytearray(data), memoryview(data), open(clip, "rb")):
        assert_same(nvc.SimpleDecoder(source)[::4], wanted[::4])
    place = 0

    def feed(buffer):
        nonlocal place
        piece = data[place : place + len(buffer)]
        buffer[: len(piece)] = piece
        place += len(piece)
        return len(piece)

    mkv = write_clip(os.path.join(os.path.dirname(clip), "fed.mkv"))
    data, frames = open(mkv, "rb").read(), wanted_frames(mkv)
    demuxer = nvc.CreateDemuxer(feed)
    assert_same(decode_all(demuxer, nvc.CreateDecoder(codec=demuxer.GetNvCodecId())), frames)


def test_defect_14_colour_spaces_have_bt_2020(folder):
    """Decoding's half; the encoder's is test_profile_level_and_times_of_packets."""
    path = folder / "bt2020.mkv"
    made = subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", f"testsrc2=s={WIDTH}x{HEIGHT}:r=25:d=0.2", "-c:v", "libx264", "-pix_fmt", "yuv420p10le",
         "-colorspace", "bt2020nc", "-color_primaries", "bt2020", "-color_trc", "smpte2084", "-color_range", "tv", str(path)], capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("ffmpeg with libx264 is not here")
    demuxer = nvc.CreateDemuxer(str(path))
    assert (demuxer.ColorSpace(), demuxer.ColorRange(), demuxer.BitDepth()) == (nvc.ColorSpace.BT_2020, nvc.ColorRange.MPEG, 10)
    frames = decode_all(demuxer, nvc.CreateDecoder(codec=demuxer.GetNvCodecId()))
    assert {frame.format for frame in frames} == {nvc.Pixel_Format.P016} and frames[0].dtype == "<u2"
    for frame, other in zip(frames, lanner.VideoReader(path), strict=True):
        np.testing.assert_array_equal(array_of(frame), other.contiguous("p010").numpy())


def test_defect_15_import_needs_no_driver(folder, clip):
    code = "import PyNvVideoCodec as nvc; print(len(nvc.SimpleDecoder(__import__('sys').argv[1])))"
    script = folder / "alone.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "lanner.compat", str(script), clip], capture_output=True, text=True, check=False, timeout=120,
        env=environment(folder),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, f"{COUNT}\n"), done.stderr


def test_defect_16_frames_are_ones_own_and_follow_the_size(folder):
    """No clone is needed, and a change of size in the stream needs no host memory: each frame has its own size."""
    one, two = write_clip(folder / "one.h264", count=12), write_clip(folder / "two.h264", width=96, height=80, count=9)
    joined = folder / "joined.h264"
    joined.write_bytes(open(one, "rb").read() + open(two, "rb").read())
    demuxer = nvc.CreateDemuxer(str(joined))
    frames = decode_all(demuxer, nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), usedevicememory=True))
    sums = [hashlib.sha256(array_of(frame).tobytes()).hexdigest() for frame in frames]
    assert_same(frames, [samples_of(frame) for frame in lanner.VideoReader(joined, rotate=False)])
    assert [tuple(frame.shape) for frame in frames] == [(HEIGHT * 3 // 2, WIDTH)] * 12 + [(120, 96)] * 9
    del demuxer
    gc.collect()
    assert [hashlib.sha256(array_of(frame).tobytes()).hexdigest() for frame in frames] == sums


def test_there_are_sixteen():
    numbers = sorted(int(name.split("_")[2]) for name in globals() if name.startswith("test_defect_"))
    assert numbers == list(range(1, 17))
