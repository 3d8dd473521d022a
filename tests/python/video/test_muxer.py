"""lanner.Muxer: packets of encoders and demuxers in containers of every kind; what goes wrong leaves nothing behind."""

import gc
import io
import json
import os
import shutil
import subprocess
import threading
from fractions import Fraction

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")
from command import leftovers, make_clip

needs_ffmpeg = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")
WIDTH, HEIGHT = 64, 64


def picture(number):
    return np.full((HEIGHT, WIDTH, 3), 20 * number, np.uint8)


def make_encoder(**options):
    try:
        return lanner.Encoder(**{"width": WIDTH, "height": HEIGHT, "fps": 25, "threads": 1, "crf": 20, **options})
    except lanner.Unsupported as error:
        pytest.skip(str(error))


def encode(muxer, frames=8, **options):
    """Writes pictures into a muxer; the packets."""
    encoder = make_encoder(global_header=muxer.wants_global_header, **options)
    number = muxer.add_stream(encoder.stream)
    packets = []
    for i in range(frames):
        encoder.send(picture(i))
        packets += encoder
    packets += encoder.end()
    for packet in packets:
        muxer.write(packet, stream=number)
    return packets


def ffmpeg(*arguments):
    done = subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def ffprobe(path):
    command = ["ffprobe", "-v", "error", "-of", "json", "-show_streams", "-show_format", "-show_chapters", str(path)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def md5(path, kind):
    return ffmpeg("-i", path, "-map", f"0:{kind}", "-f", "md5", "-")


def boxes(data):
    """Names of the boxes of an MP4, in their order."""
    place, names = 0, []
    while place < len(data):
        size = int.from_bytes(data[place : place + 4], "big")
        names.append(data[place + 4 : place + 8].decode())
        place += size
    return names


@pytest.fixture(scope="module")
def with_sound(tmp_path_factory):
    """B pictures, sound in German, subtitles, a chapter and a title."""
    if not shutil.which("ffmpeg"):
        pytest.skip("needs ffmpeg")
    folder = tmp_path_factory.mktemp("clip")
    (folder / "words.srt").write_text("1\n00:00:00,200 --> 00:00:00,600\nWords\n")
    (folder / "chapters.txt").write_text(";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=500\ntitle=First\n")
    path = folder / "in.mkv"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x64:r=25:d=1", "-f", "lavfi", "-i", "sine=d=1", "-i", folder / "words.srt", "-i", folder / "chapters.txt",
           "-map_metadata", "3", "-metadata", "title=Harbour", "-metadata:s:a", "language=ger", "-c:v", "libx264", "-bf", "2", "-c:a", "aac", path)  # fmt: skip
    return path


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.mov", "a.ts", "a.h264"])
@pytest.mark.parametrize("b_frames", [0, 2])
def test_packets_of_an_encoder(tmp_path, name, b_frames):
    with lanner.Muxer(tmp_path / name) as muxer:
        encode(muxer, b_frames=b_frames)
        assert not (tmp_path / name).exists()
    assert leftovers(tmp_path, name) == [] and muxer.closed and muxer.bytes == (tmp_path / name).stat().st_size
    video = lanner.VideoReader(tmp_path / name)
    assert [round(float(frame.to_rgb().numpy().mean()) / 20) for frame in video] == list(range(8))
    if name != "a.h264":
        np.testing.assert_allclose(np.diff(video.times()), 1 / 25, atol=1.1e-3)


@pytest.mark.parametrize(("codec", "name"), [("hevc", "a.hevc"), ("av1", "a.obu"), ("av1", "a.webm"), ("hevc", "a.mp4"), ("ffv1", "a.mkv")])
def test_other_codecs(tmp_path, codec, name):
    with lanner.Muxer(tmp_path / name) as muxer:
        encode(muxer, codec=codec, **({"crf": None} if codec == "ffv1" else {}))
    assert len(lanner.VideoReader(tmp_path / name)) == 8


def test_faststart_and_fragments(tmp_path):
    for name, fragmented in (("whole.mp4", False), ("parts.mp4", True)):
        with lanner.Muxer(tmp_path / name, fragmented=fragmented) as muxer:
            encode(muxer, gop=4)
        found = boxes((tmp_path / name).read_bytes())
        assert found.index("moov") < found.index("mdat") and ("moof" in found) == fragmented
        assert len(lanner.VideoReader(tmp_path / name)) == 8


def test_the_container_by_name_and_tags(tmp_path):
    with lanner.Muxer(tmp_path / "clip.bin", container="matroska", metadata={"title": "Mine"}) as muxer:
        assert muxer.format == "matroska" and muxer.wants_global_header and repr(muxer) == "lanner.Muxer(matroska)"
        encoder = make_encoder(global_header=True)
        muxer.add_stream(encoder.stream, metadata={"language": "ger"})
        encoder.send(picture(1))
        for packet in encoder.end():
            muxer.write(packet)
    assert repr(muxer) == "lanner.Muxer(matroska, closed)"
    demuxer = lanner.Demuxer(tmp_path / "clip.bin")
    assert demuxer.metadata["title"] == "Mine" and demuxer.streams[0].metadata["language"] == "ger"


def test_file_objects_get_the_bytes(tmp_path):
    out = io.BytesIO()
    with lanner.Muxer(out) as muxer:
        encode(muxer)
    assert "moof" in boxes(out.getvalue()) and len(lanner.VideoReader(out.getvalue())) == 8
    with (tmp_path / "x.ts").open("wb") as file, lanner.Muxer(file) as muxer:
        assert muxer.format == "mpegts"
        encode(muxer)
    assert len(lanner.VideoReader(tmp_path / "x.ts")) == 8
    with pytest.raises(lanner.InvalidArgument, match="fragmented: .*matroska"):
        lanner.Muxer(io.BytesIO(), container="matroska", fragmented=True)

    class Full:
        def write(self, data):
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"), lanner.Muxer(Full()) as muxer:
        encode(muxer)


@needs_ffmpeg
@pytest.mark.parametrize("name", ["out.mkv", "out.mp4", "out.ts", "out.mov"])
def test_streams_of_a_demuxer_without_decoding(tmp_path, with_sound, name):
    with lanner.Demuxer(with_sound) as demuxer, lanner.Muxer(tmp_path / name, metadata=demuxer.metadata) as muxer:
        numbers = {}
        for stream in demuxer.streams:
            try:
                numbers[stream.index] = muxer.copy_stream(demuxer, stream.index)
            except lanner.Unsupported as error:
                assert stream.kind == "subtitle" and name != "out.mkv" and "cannot hold it" in str(error)
        chapters = muxer.copy_chapters(demuxer)
        for packet in demuxer:
            if packet.stream in numbers:
                muxer.write(packet, stream=numbers[packet.stream])
    assert chapters == (0 if name == "out.ts" else 1)
    for kind in ("v", "a"):
        assert md5(tmp_path / name, kind) == md5(with_sound, kind)
    found = ffprobe(tmp_path / name)
    assert next(stream for stream in found["streams"] if stream["codec_type"] == "audio")["tags"]["language"] == "ger"
    if name != "out.ts":
        assert found["format"]["tags"]["title"] == "Harbour" and found["chapters"][0]["tags"]["title"] == "First"
        assert lanner.VideoReader(tmp_path / name).times() == pytest.approx(lanner.VideoReader(with_sound).times(), abs=1.1e-3)


@needs_ffmpeg
def test_encoded_pictures_beside_copied_sound(tmp_path, with_sound):
    with lanner.Demuxer(with_sound) as demuxer, lanner.Muxer(tmp_path / "out.mp4") as muxer:
        sound = next(stream.index for stream in demuxer.streams if stream.kind == "audio")
        demuxer.select([sound])
        packets = encode(muxer, frames=12)
        with pytest.raises(lanner.InvalidArgument, match="described after the first packet"):
            muxer.copy_stream(demuxer, sound)
    assert len(packets) == 12
    with lanner.Demuxer(with_sound) as demuxer, lanner.Muxer(tmp_path / "out.mp4") as muxer:
        demuxer.select([sound])
        encoder = make_encoder(global_header=True)
        muxer.add_stream(encoder.stream)
        number = muxer.add_stream(demuxer.streams[sound])
        for i in range(20):
            encoder.send(picture(i % 8))
        for packet in [*encoder, *encoder.end()]:
            muxer.write(packet)
        for packet in demuxer:
            muxer.write(packet, stream=number)
    assert md5(tmp_path / "out.mp4", "a") == md5(with_sound, "a") and len(lanner.VideoReader(tmp_path / "out.mp4")) == 20


def test_rotation_and_shape_of_a_stream_made_by_hand(tmp_path):
    encoder = make_encoder(global_header=True)
    encoder.send(picture(3))
    (packet,) = encoder.end()
    stream = lanner.StreamInfo("h264", width=WIDTH, height=HEIGHT, time_base=encoder.time_base, extradata=encoder.extradata,
                               average_rate=Fraction(25), sample_aspect=Fraction(4, 3), rotation=90)  # fmt: skip
    with lanner.Muxer(tmp_path / "out.mp4") as muxer:
        muxer.add_stream(stream)
        muxer.write(lanner.Packet(bytes(packet), pts=0, duration=1, key=True))
    found = lanner.VideoReader(tmp_path / "out.mp4")
    assert (found.stream.rotation, found.stream.sample_aspect, len(found)) == (90, Fraction(4, 3), 1)
    for wrong in ({"average_rate": Fraction(-1)}, {"sample_aspect": Fraction(1, 2**40)}, {"rotation": float("nan")}, {"rotation": 1e9}):
        with pytest.raises(lanner.InvalidArgument, match=next(iter(wrong))):
            lanner.StreamInfo("h264", **wrong)


def test_an_error_leaves_no_file_and_keeps_the_old_one(tmp_path):
    (tmp_path / "old.mp4").write_bytes(b"before")
    for name in ("new.mp4", "old.mp4"):
        with pytest.raises(RuntimeError, match="mine"), lanner.Muxer(tmp_path / name) as muxer:
            encode(muxer)
            assert any(left.endswith(".part") for left in os.listdir(tmp_path))
            raise RuntimeError("mine")
        assert muxer.closed
        with pytest.raises(lanner.InvalidArgument, match="it is closed"):
            muxer.write(lanner.Packet(b"x", pts=0))
    muxer = lanner.Muxer(tmp_path / "forgotten.mp4")
    encode(muxer)
    del muxer
    gc.collect()
    assert leftovers(tmp_path) == ["old.mp4"] and (tmp_path / "old.mp4").read_bytes() == b"before"


def test_a_failed_close_leaves_nothing(tmp_path):
    muxer = lanner.Muxer(tmp_path / "out.mp4")
    with pytest.raises(lanner.InvalidArgument, match="no stream was added"):
        muxer.close()
    assert muxer.closed and leftovers(tmp_path) == []
    muxer.close()


def test_what_the_container_cannot_hold(tmp_path):
    for name, codec in (("a.ts", "ffv1"), ("a.h264", "hevc"), ("a.hevc", "h264"), ("a.obu", "h264"), ("a.ts", "vp9")):
        encoder = make_encoder(codec=codec, **({"crf": None} if codec == "ffv1" else {}))
        with pytest.raises(lanner.Unsupported, match=f"cannot hold {codec}") as caught, lanner.Muxer(tmp_path / name) as muxer:
            muxer.add_stream(encoder.stream)
        assert "\n" not in str(caught.value)
    with pytest.raises(lanner.Unsupported, match="no container for extension '.xyz'"):
        lanner.Muxer(tmp_path / "a.xyz")
    with pytest.raises(lanner.Unsupported, match="no container for format 'nonsense'"):
        lanner.Muxer(tmp_path / "a.mp4", container="nonsense")
    with pytest.raises(lanner.NotFound):
        lanner.Muxer(tmp_path / "none" / "a.mp4")
    assert leftovers(tmp_path) == []


def test_wrong_packets_and_streams(tmp_path):
    with lanner.Muxer(tmp_path / "a.mp4") as muxer:
        with pytest.raises(lanner.InvalidArgument, match="global_header"):
            muxer.add_stream(make_encoder().stream)
        with pytest.raises(lanner.InvalidArgument, match="no time base"):
            muxer.add_stream(lanner.StreamInfo("mpeg4", width=WIDTH, height=HEIGHT))
        with pytest.raises(TypeError, match="expected a StreamInfo"):
            muxer.add_stream("h264")
        with pytest.raises(TypeError, match="expected a Packet"):
            muxer.write(b"bytes")
        with pytest.raises(TypeError, match="expected a Demuxer"):
            muxer.copy_stream("clip.mp4", 0)
        with pytest.raises(lanner.InvalidArgument, match="no stream 0; 0 were added"):
            muxer.write(lanner.Packet(b"x", pts=0))
        packets = encode(muxer)
        with pytest.raises(lanner.InvalidArgument, match="no pts"):
            muxer.write(lanner.Packet(bytes(packets[0])))
        with pytest.raises(lanner.InvalidArgument, match="no stream 3"):
            muxer.write(packets[0], stream=3)
        with pytest.raises(lanner.InvalidArgument, match="monoton"):
            muxer.write(packets[0])
    clip = make_clip(tmp_path, frames=2)
    with lanner.Demuxer(clip) as demuxer, lanner.Muxer(tmp_path / "b.mkv") as muxer:
        with pytest.raises(lanner.InvalidArgument, match="no stream 7"):
            muxer.copy_stream(demuxer, 7)
        muxer.copy_stream(demuxer, 0)
        for packet in demuxer:
            muxer.write(packet)
    assert len(lanner.VideoReader(tmp_path / "b.mkv")) == 2


def test_one_thread_at_a_time(tmp_path):
    """A second call is refused while the first one is in the code of the file object."""
    entered, go = threading.Event(), threading.Event()

    class Slow(io.BytesIO):
        def write(self, data):
            entered.set()
            assert go.wait(60)
            return super().write(data)

    muxer = lanner.Muxer(Slow(), container="matroska")
    thread = threading.Thread(target=encode, args=(muxer,))
    thread.start()
    assert entered.wait(60)
    with pytest.raises(lanner.InvalidArgument, match="Muxer is busy"):
        muxer.write(lanner.Packet(b"x", pts=0))
    go.set()
    thread.join()
    muxer.close()


@needs_ffmpeg
def test_brightness_and_colours_of_hdr_are_copied(tmp_path):
    encoder = {"width": WIDTH, "height": HEIGHT, "codec": "ffv1", "format": "yuv420p10", "color_primaries": "bt2020", "color_transfer": "smpte2084", "color_matrix": "bt2020"}
    with lanner.VideoWriter(tmp_path / "plain.mkv", **encoder) as out:
        out.write(picture(3))
    ffmpeg("-i", tmp_path / "plain.mkv", "-c:v", "libx265", "-x265-params",
           "log-level=none:master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):max-cll=1000,400", tmp_path / "raw.mp4")  # fmt: skip
    lanner.transcode(tmp_path / "raw.mp4", tmp_path / "in.mp4", codec="hevc")
    with lanner.Demuxer(tmp_path / "in.mp4") as demuxer, lanner.Muxer(tmp_path / "out.mkv") as muxer:
        muxer.copy_stream(demuxer, 0)
        for packet in demuxer:
            muxer.write(packet)
    sides = [sorted(side["side_data_type"] for side in ffprobe(tmp_path / name)["streams"][0].get("side_data_list", [])) for name in ("in.mp4", "out.mkv")]
    assert sides[0] == sides[1] == ["Content light level metadata", "Mastering display metadata"]
    stream = ffprobe(tmp_path / "out.mkv")["streams"][0]
    assert (stream["color_primaries"], stream["color_transfer"], stream["color_space"]) == ("bt2020", "smpte2084", "bt2020nc")
