"""Colours that FFmpeg has no names for: read exactly, or refused with a line; and what a stream says that is not read."""

import os
import subprocess

import numpy as np
import pytest
from command import lanner as command

lanner = pytest.importorskip("lanner")

WIDTH, HEIGHT, FRAMES = 64, 48, 3
WARNINGS = {**os.environ, "LANNER_LOG": "warning"}


def ffmpeg(*arguments, given=None):
    return subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], input=given, check=True, capture_output=True, timeout=120).stdout


def has_encoder(codec):
    try:
        return subprocess.run(["ffmpeg", "-hide_banner", "-h", f"encoder={codec}"], capture_output=True, text=True, check=False).stdout.startswith("Encoder")
    except FileNotFoundError:
        return False


def pictures(bits):
    return np.random.default_rng(3).integers(0, 1 << bits, (FRAMES, HEIGHT, WIDTH, 3))


def stored(rgb):
    """Y, Cg and Co of 10 bits, by the equations of H.273 for MatrixCoefficients 16 and 17."""
    red, green, blue = (rgb[..., c] for c in range(3))
    orange = red - blue
    middle = blue + (orange >> 1)
    other = green - middle
    return np.stack([middle + (other >> 1), other + 512, orange + 512], axis=1).astype("<u2")


CODECS = {"libx264": ("h264_metadata", ["-qp", "0"]), "libx265": ("hevc_metadata", ["-x265-params", "lossless=1:log-level=none"])}


def clip(path, codec, rgb, *, code, full=1, more=""):
    if not has_encoder(codec):
        pytest.skip(f"this ffmpeg has no {codec}")
    name, options = CODECS[codec]
    raw = ["-f", "rawvideo", "-pix_fmt", "yuv444p10le", "-s", f"{WIDTH}x{HEIGHT}", "-r", 5, "-i", "-"]
    marks = ["-bsf:v", f"{name}=matrix_coefficients={code}:video_full_range_flag={full}{more}", "-color_range", "pc" if full else "tv"]
    ffmpeg(*raw, "-c:v", codec, *options, *marks, path, given=stored(rgb).tobytes())
    return path


@pytest.mark.parametrize("kind", ["mp4", "mkv", "ts", "bare"])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(("code", "name", "bits"), [(16, "ycgco-re", 8), (17, "ycgco-ro", 9)])
def test_ycgco_r_is_read_exactly(tmp_path, codec, kind, code, name, bits):
    rgb = pictures(bits)
    kind = {"libx264": "h264", "libx265": "hevc"}[codec] if kind == "bare" else kind
    path = clip(tmp_path / f"a.{kind}", codec, rgb, code=code)
    video = lanner.VideoReader(path)
    assert video.stream.color_space == name
    for frame, picture in zip(video, rgb, strict=True):
        assert frame.image.color_space == name
        planes = frame.to("gbrp" if bits == 8 else "gbrp9").planes
        for plane, channel in zip(planes, (1, 2, 0), strict=True):
            np.testing.assert_array_equal(np.asarray(plane), picture[..., channel])
    if bits == 8:
        np.testing.assert_array_equal(np.asarray(video[1].to("rgb24")), rgb[1])
    lanner.transcode(path, tmp_path / "b.mkv", codec="ffv1", format="gbrp" if bits == 8 else "gbrp9")
    again = lanner.VideoReader(tmp_path / "b.mkv")[2].to("gbrp" if bits == 8 else "gbrp9")
    np.testing.assert_array_equal(np.asarray(again.planes[2]), rgb[2][..., 0])


@pytest.mark.parametrize("codec", CODECS)
def test_ycgco_r_is_not_lost_without_a_word(tmp_path, codec):
    path = clip(tmp_path / "a.mp4", codec, pictures(8), code=16)
    with pytest.raises(lanner.Unsupported, match=r"matrix ycgco-re \(16 of H.273\) cannot be written"):
        lanner.transcode(path, tmp_path / "b.mp4", codec=codec)
    limited = clip(tmp_path / "c.mp4", codec, pictures(8), code=16, full=0)
    with pytest.raises(lanner.Unsupported, match="of matrix ycgco-re "):
        lanner.VideoReader(limited)[0].to("rgb24")


@pytest.mark.parametrize("codec", CODECS)
def test_reserved_code_points_are_told_once(tmp_path, codec):
    more = ":colour_primaries=100:transfer_characteristics=99"
    path = clip(tmp_path / "a.mp4", codec, pictures(8), code=200, more=more)
    for arguments in (["probe", path, "--exact"], ["decode", path, "--md5"]):
        said = command(*arguments, env=WARNINGS).stderr
        assert said.count("primaries 100, transfer 99, matrix 200: reserved in H.273, read as unspecified") == 1
        assert said.count("\n") == 1 and "a.mp4: stream 0: " in said
    frame = lanner.VideoReader(path)[0]
    assert frame.image.color_space == "unspecified"
    plain = clip(tmp_path / "b.mp4", codec, pictures(8), code=2)
    assert command("decode", plain, "--md5", env=WARNINGS).stderr == ""


def said_of(path):
    return command("decode", path, "--md5", env=WARNINGS).stderr


def test_alpha_without_a_decoder_is_told(tmp_path):
    """Matroska's AlphaMode of a codec, or of pixels, that no decoder gives alpha with."""
    source = ["-f", "lavfi", "-i", f"testsrc2=s={WIDTH}x{HEIGHT}:r=5:d=0.4,setsar=0"]
    for codec, pixels, why in [("mpeg4", "yuv420p", "no decoder of mpeg4 gives it"), ("libvpx-vp9", "yuv444p", "yuv420p, not with yuv444p")]:
        if not has_encoder(codec):
            continue
        path = tmp_path / f"{codec}.mkv"
        ffmpeg(*source, "-pix_fmt", pixels, "-c:v", codec, path)
        assert said_of(path) == ""
        content = path.read_bytes()
        unit = b"\x54\xb2\x81\x04"  # DisplayUnit, in whose place AlphaMode is put.
        if content.count(unit) != 1:
            pytest.skip("this ffmpeg writes no DisplayUnit")
        path.write_bytes(content.replace(unit, b"\x53\xc0\x81\x01"))
        assert f"{codec}.mkv: stream 0: its alpha is left out: it is beside its packets: " in said_of(path)
        assert why in said_of(path) or "lacks libvpx" in said_of(path)
        assert lanner.VideoReader(path).stream.format == pixels
        (note,) = lanner.transcode(path, tmp_path / "out.mkv", codec="ffv1").notes
        assert note.startswith("the clip's alpha is left out: it is beside its packets: ")


def test_alpha_of_avif_is_told(tmp_path):
    if not has_encoder("libaom-av1"):
        pytest.skip("this ffmpeg has no libaom-av1")
    source = ["-f", "lavfi", "-i", f"testsrc2=s={WIDTH}x{HEIGHT}:r=5:d=0.4,format=yuva420p"]
    split = ["-filter_complex", "[0:v]split[a][b];[a]format=yuv420p[c];[b]alphaextract,format=gray[d]", "-map", "[c]", "-map", "[d]"]
    encoder = ["-c:v", "libaom-av1", "-crf", 40, "-b:v", 0, "-cpu-used", 8]
    try:
        ffmpeg(*source, *split, *encoder, "-f", "avif", tmp_path / "a.avif")
        ffmpeg(*source, *encoder, "-f", "avif", tmp_path / "b.avif")
    except subprocess.CalledProcessError as error:
        pytest.skip(error.stderr.decode())
    assert "a.avif: stream 0: its alpha is left out: it is a picture of its own" in said_of(tmp_path / "a.avif")
    assert said_of(tmp_path / "b.avif") == ""


def test_alpha_in_a_layer_of_hevc_is_told(tmp_path):
    """As Apple writes it: SEI alpha_channel_info and a layer of its own, which a decoder of the base skips."""
    if not has_encoder("libx265"):
        pytest.skip("this FFmpeg has no libx265")
    bits = "0" * 7 + f"{0:09b}{255:09b}" + "00" + "10000"
    info = int(bits, 2).to_bytes(4, "big")
    cancelled = bytes([0x80])
    picture = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
    for name, message in (("a", info), ("b", cancelled)):
        with lanner.Muxer(tmp_path / f"{name}.mkv") as out:
            encoder = lanner.Encoder(width=WIDTH, height=HEIGHT, codec="libx265", fps=25, global_header=out.wants_global_header)
            number = out.add_stream(encoder.stream)
            for _ in range(3):
                encoder.send(picture, sei=[(165, message)])
            for packet in encoder.end():
                units = bytes(packet)
                layer = bytearray(units[units.rindex(b"\0\0\1") :])
                layer[4] |= 1 << 3  # nuh_layer_id 1.
                out.write(lanner.Packet(units + bytes(layer), pts=packet.pts, dts=packet.dts, key=packet.key), stream=number)
        assert len(lanner.VideoReader(tmp_path / f"{name}.mkv")) == 3
    said = said_of(tmp_path / "a.mkv")
    assert "a.mkv: stream 0: its alpha is left out: it is a layer of its own: FFmpeg" in said and said.count("\n") == 1
    assert said_of(tmp_path / "b.mkv") == ""
