"""Demuxers, packets and decoders in Python: the frames of a VideoReader, and one line for what does not fit."""

import io
import re
import threading
from fractions import Fraction

import numpy as np
import pytest

from compat_support import COUNT, GOP, HEIGHT, WIDTH, write_clip

lanner = pytest.importorskip("lanner")


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return write_clip(tmp_path_factory.mktemp("clip") / "clip.mp4")


def decoded(decoder, packets):
    frames = []
    for packet in packets:
        frames += decoder.decode(packet)
    return frames + decoder.decode(None)


def assert_frames_of_a_reader(frames, source):
    wanted = list(lanner.VideoReader(source, rotate=False))
    assert [frame.pts for frame in frames] == [frame.pts for frame in wanted]
    for frame, other in zip(frames, wanted, strict=True):
        np.testing.assert_array_equal(frame.contiguous().numpy(), other.contiguous().numpy())


@pytest.mark.parametrize("kind", ["path", "bytes", "memoryview", "file", "buffer"])
def test_decoding_the_packets_of_any_source_gives_the_frames_of_a_reader(clip, kind):
    data = open(clip, "rb").read()
    source = {"path": clip, "bytes": data, "memoryview": memoryview(data), "file": open(clip, "rb"), "buffer": io.BytesIO(data)}[kind]
    with lanner.Demuxer(source) as demuxer:
        stream = demuxer.streams[demuxer.best_video]
        decoder = lanner.Decoder(stream, device="cpu")
        frames = decoded(decoder, demuxer)
    assert_frames_of_a_reader(frames, clip)
    assert decoder.finished and decoder.device == "cpu" and decoder.reason == "asked for"
    assert re.fullmatch(r"ffmpeg h264, \d+ threads?", decoder.description) and decoder.description in repr(decoder)


def test_a_demuxer_tells_of_the_container_and_its_streams(clip):
    demuxer = lanner.Demuxer(clip)
    (stream,) = demuxer.streams
    assert demuxer.format.startswith("mov,mp4") and demuxer.best_video == 0 and demuxer.damage == ""
    assert demuxer.duration == pytest.approx(COUNT / 25, abs=0.1) and isinstance(demuxer.metadata, dict)
    assert (stream.kind, stream.codec, stream.width, stream.height, stream.format) == ("video", "h264", WIDTH, HEIGHT, "yuv420p")
    assert stream.sample_aspect == 1 and stream.start_pts == 0 and stream.duration * stream.time_base == Fraction(COUNT, 25)
    assert stream.extradata[:1] == b"\1" and stream.color_range in ("limited", "unspecified") and isinstance(stream.metadata, dict)
    assert "h264" in repr(demuxer)


def test_packets_show_their_bytes_without_a_copy(clip):
    packets = list(lanner.Demuxer(clip))
    assert len(packets) == COUNT and [i for i, packet in enumerate(packets) if packet.key] == list(range(0, COUNT, GOP))
    first = packets[0]
    assert first.pts == 0 and first.dts <= 0 and first.duration > 0 and first.pos > 0 and first.stream == 0
    assert not (first.discard or first.discontinuity or first.corrupt)
    assert len(first) == len(first.data) == len(bytes(first)) and first.data.readonly
    assert np.frombuffer(first, np.uint8).ctypes.data == first.ptr
    content = open(clip, "rb").read()
    assert content[first.pos :][: len(first)] == bytes(first)
    view = first.data
    del packets, first
    assert len(view) > 0 and bytes(view) in content  # The view keeps the packet.


def test_packets_are_made_of_bytes_and_of_other_packets(clip):
    packet = lanner.Packet(b"abc", stream=2, pts=5, dts=4, duration=3, pos=9, key=True, discard=True, discontinuity=True, corrupt=True)
    assert (bytes(packet), packet.stream, packet.pts, packet.dts, packet.duration, packet.pos) == (b"abc", 2, 5, 4, 3, 9)
    assert packet.key and packet.discard and packet.discontinuity and packet.corrupt and "key" in repr(packet)
    empty = lanner.Packet(b"")
    assert len(empty) == 0 and bytes(empty.data) == b"" and empty.pts is None and empty.dts is None and empty.pos == -1
    memory = bytearray(b"xyz")
    shared = lanner.Packet(memory)
    memory[0] = ord("a")
    assert bytes(shared) == b"ayz"
    with lanner.Demuxer(clip) as demuxer:
        stream = demuxer.streams[0]
        later = [lanner.Packet(one, pts=one.pts + 1000, dts=one.dts, key=one.key) for one in demuxer]
    frames = decoded(lanner.Decoder(stream, device="cpu"), later)
    assert [frame.pts for frame in frames] == [frame.pts + 1000 for frame in lanner.VideoReader(clip)]


def test_send_and_receive_take_turns(clip):
    demuxer = lanner.Demuxer(clip)
    decoder = lanner.Decoder(demuxer.streams[0], device="cpu", threads=1, latency="low")
    frames = []
    for packet in [*demuxer, None]:
        while not decoder.send(packet):
            frames.append(decoder.receive())
        while (frame := decoder.receive()) is not None:
            frames.append(frame)
    assert decoder.finished
    assert_frames_of_a_reader(frames, clip)
    with pytest.raises(lanner.InvalidArgument, match=r"flush\(\)"):
        decoder.send(lanner.Packet(b"x"))
    decoder.flush()
    assert not decoder.finished
    assert_frames_of_a_reader(decoded(decoder, lanner.Demuxer(clip)), clip)


def test_seek_continues_at_the_keyframe_before(clip):
    demuxer = lanner.Demuxer(clip)
    times = [frame.pts for frame in lanner.VideoReader(clip)]
    for number in (0, 1, GOP - 1, GOP, 25, COUNT - 1):
        demuxer.seek(times[number])
        packet = next(demuxer)
        assert packet.key and packet.pts == times[number // GOP * GOP]
    demuxer.seek(times[0], stream=0)
    assert len(list(demuxer)) == COUNT and next(demuxer, None) is None
    with pytest.raises(lanner.Unsupported, match="byte"):
        demuxer.seek_to_byte(0)
    with pytest.raises(lanner.InvalidArgument, match="no stream 7"):
        demuxer.seek(0, stream=7)


def test_select_leaves_streams_out(clip):
    demuxer = lanner.Demuxer(clip)
    demuxer.select([])
    assert list(demuxer) == []
    with pytest.raises(lanner.InvalidArgument, match="no stream 1"):
        demuxer.select([1])


def test_reset_goes_on_with_another_stream(clip, tmp_path):
    other = write_clip(tmp_path / "other.mkv", count=5, width=32, height=16, codec="mpeg4")
    decoder = lanner.Decoder(lanner.Demuxer(clip).streams[0], device="cpu")
    assert_frames_of_a_reader(decoded(decoder, lanner.Demuxer(clip)), clip)
    with pytest.raises(lanner.Unsupported, match="no such codec|not known"):
        decoder.reset(lanner.StreamInfo("nonsense"))
    demuxer = lanner.Demuxer(other)
    decoder.reset(demuxer.streams[0])
    assert_frames_of_a_reader(decoded(decoder, demuxer), other)


def test_a_stream_described_by_hand_decodes(clip, tmp_path):
    with lanner.Demuxer(clip) as demuxer:
        found = demuxer.streams[0]
        packets = list(demuxer)
    stream = lanner.StreamInfo("h264", width=WIDTH, height=HEIGHT, time_base=found.time_base, extradata=found.extradata)
    assert (stream.kind, stream.codec, stream.time_base, stream.format) == ("video", "h264", found.time_base, "yuv420p")
    assert_frames_of_a_reader(decoded(lanner.Decoder(stream, device="cpu"), packets), clip)


def test_sei_and_damage_follow_the_options(clip):
    with lanner.Demuxer(clip) as demuxer:
        stream = demuxer.streams[0]
        packets = list(demuxer)
    broken = [lanner.Packet(bytes(packet)[: len(packet) // 2], pts=packet.pts, dts=packet.dts, key=packet.key) for packet in packets]
    with pytest.raises(lanner.BadData):
        decoded(lanner.Decoder(stream, device="cpu", raise_on_error=True), broken)
    decoded(lanner.Decoder(stream, device="cpu"), broken)  # Concealed.
    frames = decoded(lanner.Decoder(stream, device="cpu", sei=True), packets)
    plain = decoded(lanner.Decoder(stream, device="cpu"), packets)
    assert [frame.sei for frame in frames] == [frame.sei for frame in lanner.VideoReader(clip, sei=True)]
    assert all(frame.sei == [] for frame in plain)


def test_pipes_are_read_once(clip):
    class Pipe(io.RawIOBase):
        def __init__(self):
            self.file = open(mkv, "rb")

        def readable(self):
            return True

        def seekable(self):
            return False

        def read(self, size=-1):
            return self.file.read(size)

    mkv = write_clip(clip.replace(".mp4", "_pipe.mkv"))
    demuxer = lanner.Demuxer(Pipe())
    assert len(list(demuxer)) == COUNT
    with pytest.raises(lanner.Unsupported, match="cannot go back"):
        demuxer.seek(0)


def test_a_closed_demuxer_says_so(clip):
    with lanner.Demuxer(clip) as demuxer:
        packet = next(demuxer)
    assert demuxer.closed and repr(demuxer) == "lanner.Demuxer(closed)" and len(packet) > 0
    demuxer.close()
    for call in (lambda: next(demuxer), lambda: demuxer.streams, lambda: demuxer.seek(0), lambda: demuxer.select([0]), lambda: demuxer.damage):
        with pytest.raises(lanner.InvalidArgument, match="closed"):
            call()


@pytest.mark.parametrize("wrong", [None, 5, object(), b"", b"no clip at all", "no such file.mp4", io.StringIO("text")])
def test_what_is_no_clip_is_refused_in_one_line(wrong):
    with pytest.raises((lanner.Error, TypeError)) as caught:
        lanner.Demuxer(wrong)
    assert len(str(caught.value).splitlines()) == 1 and str(caught.value)


def test_a_call_out_of_the_source_is_refused(tmp_path):
    class Curious(io.BytesIO):
        demuxer, seen = None, None

        def read(self, size=-1):
            if self.demuxer is not None and self.seen is None:
                try:
                    next(self.demuxer)
                except lanner.InvalidArgument as error:
                    self.seen = str(error)
            return super().read(size)

    large = write_clip(tmp_path / "large.mkv", width=320, height=240, codec="ffv1")  # More than a demuxer reads when it is opened.
    source = Curious(open(large, "rb").read())
    source.demuxer = lanner.Demuxer(source)
    assert len(list(source.demuxer)) == COUNT
    assert "one at a time" in source.seen


def test_threads_that_meet_get_an_error_and_no_crash(clip):
    demuxer = lanner.Demuxer(clip)
    decoder = lanner.Decoder(demuxer.streams[0], device="cpu")
    faults, frames = [], []

    def work():
        for _ in range(60):
            try:
                packet = next(demuxer, None)
                frames.extend(decoder.decode(packet) if packet else [])
            except lanner.InvalidArgument as error:
                if "one at a time" not in str(error):
                    faults.append(error)
            except lanner.Error as error:  # Packets reach the decoder in any order.
                faults.extend([] if isinstance(error, lanner.BadData) else [error])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


FORMATS = {
    "nv12": ((HEIGHT * 3 // 2, WIDTH), "uint8"), "nv16": ((HEIGHT * 2, WIDTH), "uint8"), "p010": ((HEIGHT * 3 // 2, WIDTH), "uint16"),
    "rgb24": ((HEIGHT, WIDTH, 3), "uint8"), "rgb_planar": ((3, HEIGHT, WIDTH), "uint8"), "yuv444p": ((3, HEIGHT, WIDTH), "uint8"),
    "yuv420p": ((HEIGHT * WIDTH * 3 // 2,), "uint8"), "gray8": ((HEIGHT, WIDTH), "uint8"), "yuv444p10msb": ((3, HEIGHT, WIDTH), "uint16"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_contiguous_has_the_samples_of_the_planes_without_gaps(clip, name):
    frame = lanner.VideoReader(clip)[3]
    tensor = frame.contiguous(name)
    assert (tensor.shape, tensor.dtype) == FORMATS[name]
    planes = [np.asarray(plane) for plane in frame.to(name).planes]
    np.testing.assert_array_equal(tensor.numpy().ravel(), np.concatenate([plane.ravel() for plane in planes]))
    image = lanner.Image.from_contiguous(tensor, name, WIDTH, HEIGHT)
    for one, other in zip(image.planes, planes, strict=True):
        np.testing.assert_array_equal(np.asarray(one), other)
    np.testing.assert_array_equal(image.contiguous().numpy(), tensor.numpy())


def test_contiguous_rows_of_odd_sizes(tmp_path):
    path = write_clip(tmp_path / "odd.mkv", count=1, width=35, height=17, codec="ffv1")
    frame = lanner.VideoReader(path)[0]
    tensor = frame.contiguous("nv12").numpy()
    luma, chroma = (np.asarray(plane) for plane in frame.to("nv12").planes)
    assert tensor.shape == (17 + 9, 36)
    np.testing.assert_array_equal(tensor[:17, :35], luma)
    np.testing.assert_array_equal(tensor[:17, 35], 0)
    np.testing.assert_array_equal(tensor[17:].reshape(chroma.shape), chroma)


def test_from_contiguous_refuses_what_does_not_fit():
    data = np.zeros(64 * 48 * 3 // 2, np.uint8)
    for arguments, match in [
        (("nv12", 64, 50), "takes 4800 bytes, got 4608"), (("nv12", 0, 48), "sizes of 1"), (("nv12", 2**31 - 1, 48), "sizes of 1"), (("nonsense", 64, 48), "nonsense"),
    ]:  # fmt: skip
        with pytest.raises(lanner.InvalidArgument, match=match):
            lanner.Image.from_contiguous(data, *arguments)
    with pytest.raises(lanner.InvalidArgument, match="color_space"):
        lanner.Image.from_contiguous(data, "nv12", 64, 48, color_space="bt1")
    assert lanner.Image.from_contiguous(data, "nv12", 64, 48, color_space="bt709", color_range="full").color_range == "full"


def test_options_of_a_decoder_are_those_of_a_reader(clip):
    stream = lanner.Demuxer(clip).streams[0]
    for wrong, match in [({"threads": 1000}, "256"), ({"latency": "soon"}, "latency"), ({"prefetch": 2}, "prefetch"), ({"device": "gpu"}, "gpu"), ({"cuda_stream": 5}, "CUDA")]:
        with pytest.raises((lanner.InvalidArgument, TypeError), match=match):
            lanner.Decoder(stream, device="cpu", **{key: value for key, value in wrong.items() if key != "device"}) if "device" not in wrong else lanner.Decoder(stream, **wrong)
    names = re.findall(r"(\w+): ", lanner.Decoder.__init__.__doc__)
    for name in ("threads", "device", "output", "raise_on_error", "sei", "latency", "cuda_context", "cuda_stream", "limits"):
        assert name in names


def test_capabilities_without_a_gpu_say_why():
    try:
        found = lanner.decoder_capabilities("cuda:0")
    except lanner.Unsupported as error:
        assert len(str(error).splitlines()) == 1 and str(error)
        return
    assert any(one.supported and one.codec == "h264" and one.max_width >= 4096 for one in found)
