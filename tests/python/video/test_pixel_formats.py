"""Every pixel format that an encoder of FFmpeg's stores, read as it is: the same bytes as ffmpeg's, alpha and depth kept."""

import hashlib
import shutil
import subprocess

import numpy as np
import pytest

from command import ROOT, succeed, without_notes
from command import lanner as run_command

lanner = pytest.importorskip("lanner")

WIDTH, HEIGHT, FRAMES = 44, 28, 2
# Opacity differs from pixel to pixel.
SOURCE = f"testsrc2=s={WIDTH}x{HEIGHT}:r=5,format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='X*5+Y+N'"

_FFV1 = """yuv420p yuva420p yuva422p yuv444p yuva444p yuv440p yuv422p yuv411p yuv410p bgra yuv420p16le yuv422p16le yuv444p16le yuv444p9le yuv422p9le
yuv420p9le yuv420p10le yuv422p10le yuv444p10le yuv420p12le yuv422p12le yuv444p12le yuva444p16le yuva422p16le yuva420p16le yuva444p10le yuva422p10le
yuva420p10le yuva444p9le yuva422p9le yuva420p9le gray16le gray gbrp9le gbrp10le gbrp12le gbrp14le gbrap10le gbrap12le ya8 gray10le gray12le gbrp16le
rgb48le gbrap16le rgba64le gray9le yuv420p14le yuv422p14le yuv444p14le yuv440p10le yuv440p12le"""
_NUT = "rgb24 bgr24 nv12 rgba bgr48le bgra64le gray14le yuva422p12le yuva444p12le gbrp gbrap"
ENCODED = {
    ("ffv1", "mkv"): _FFV1,
    ("rawvideo", "nut"): _NUT,
    ("utvideo", "mkv"): "gbrp gbrap yuv422p yuv420p yuv444p",
    ("prores_ks", "mov"): "yuv422p10le yuv444p10le yuva444p10le",
    ("png", "mkv"): "rgb24 rgba gray ya8",
    ("libx264", "mkv"): "yuv420p10le yuv422p10le yuv444p10le gray gray10le yuvj444p",
    ("libx265", "mkv"): "yuv420p10le gbrp10le yuv422p12le gbrp12le gray10le gray12le",
}
OPTIONS = {"prores_ks": ["-profile:v", "4444"], "libx265": ["-x265-params", "log-level=none"], "ffv1": ["-level", "3"]}
CASES = [(codec, kind, name) for (codec, kind), names in ENCODED.items() for name in names.split()]
# What has no format of its own, and what it becomes without a loss.
UNPACKED = {
    "yuyv422": "yuv422p", "uyvy422": "yuv422p", "yvyu422": "yuv422p", "nv21": "yuv420p", "argb": "rgba", "abgr": "rgba", "bgr0": "rgb24", "0rgb": "rgb24",
    "gray16be": "gray16le", "gray10be": "gray10le", "rgb48be": "rgb48le", "bgr48be": "bgr48le", "rgba64be": "rgba64le", "yuv420p10be": "yuv420p10le",
    "yuva444p10be": "yuva444p10le", "gbrp12be": "gbrp12le", "gbrap12be": "gbrap12le",
}  # fmt: skip


def run_ffmpeg(*arguments):
    return subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], check=True, capture_output=True, timeout=120).stdout


def has_encoder(codec):
    return subprocess.run(["ffmpeg", "-hide_banner", "-h", f"encoder={codec}"], capture_output=True, text=True, check=False).stdout.startswith("Encoder")


class Clips:
    """Made together: two processes a codec, but for libx265."""

    def __init__(self, folder):
        self.folder, self.made = folder, {}

    def of(self, codec, kind, names):
        if codec not in self.made:
            self.made[codec] = has_encoder(codec) and self.make(codec, kind, names)
        if not self.made[codec]:
            pytest.skip(f"this ffmpeg has no {codec}")

    def make(self, codec, kind, names):
        outputs, inputs, raw = [], [], []
        for place, name in enumerate(names):
            path = self.path(codec, kind, name)
            outputs += ["-map", "0:v", "-frames:v", FRAMES, "-c:v", codec, *OPTIONS.get(codec, []), "-pix_fmt", name, path]
            inputs += ["-i", path]
            raw += ["-map", f"{place}:v", "-f", "rawvideo", path.with_suffix(".raw")]
        # libx265 loads a library for each bit depth; encoders of several depths in one process have crashed in it.
        size = len(outputs) // len(names) if codec == "libx265" else len(outputs)
        for first in range(0, len(outputs), size):
            run_ffmpeg("-f", "lavfi", "-i", SOURCE, *outputs[first : first + size])
        run_ffmpeg(*inputs, *raw)
        return True

    def path(self, codec, kind, name):
        return self.folder / f"{codec}_{name}.{kind}"


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    if not shutil.which("ffmpeg"):
        pytest.skip("ffmpeg is not installed")
    return Clips(tmp_path_factory.mktemp("formats"))


def encoded(clips, codec, kind, name):
    clips.of(codec, kind, ENCODED[(codec, kind)].split())
    path = clips.path(codec, kind, name)
    return path, path.with_suffix(".raw").read_bytes()


def bytes_of(frames):
    return b"".join(np.ascontiguousarray(np.asarray(plane)).tobytes() for frame in frames for plane in frame.planes)


def own_name(name):
    """Lanner's name of FFmpeg's format."""
    return {"gray": "gray8", "rgba": "rgba32", "bgra": "bgra32"}.get(name, name.removesuffix("le").replace("yuvj", "yuv"))


@pytest.mark.parametrize(("codec", "kind", "name"), CASES)
def test_frames_have_the_bytes_of_ffmpeg(clips, codec, kind, name):
    path, raw = encoded(clips, codec, kind, name)
    video = lanner.VideoReader(path)
    frames = list(video)
    stored = video.stream.format
    assert {frame.format for frame in frames} == {own_name(stored)}
    assert bytes_of(frames) == raw
    packed = [frame.contiguous().numpy().tobytes() for frame in frames]
    if frames[0].format not in ("nv12", "nv16"):
        assert b"".join(packed) == raw
    again = lanner.VideoReader(path, format=stored)[1]
    assert again.format == frames[1].format
    assert bytes_of([again]) == bytes_of(frames[1:])


@pytest.mark.parametrize(("codec", "kind", "name"), CASES[::6] + [("utvideo", "mkv", "gbrp"), ("utvideo", "mkv", "gbrap"), ("ffv1", "mkv", "ya8")])
def test_md5_is_that_of_ffmpeg(clips, codec, kind, name):
    path, raw = encoded(clips, codec, kind, name)
    assert succeed("decode", path, "--md5").strip() == hashlib.md5(raw).hexdigest()
    assert run_ffmpeg("-i", path, "-f", "rawvideo", "-pix_fmt", lanner.VideoReader(path).stream.format, "-") == raw


@pytest.mark.parametrize("name", UNPACKED)
def test_formats_without_a_twin_lose_nothing(tmp_path, name):
    path = tmp_path / "clip.nut"
    run_ffmpeg("-f", "lavfi", "-i", SOURCE, "-frames:v", FRAMES, "-c:v", "rawvideo", "-pix_fmt", name, path)
    raw = run_ffmpeg("-i", path, "-f", "rawvideo", "-pix_fmt", UNPACKED[name], "-")
    video = lanner.VideoReader(path)
    frames = list(video)
    assert (video.stream.format, frames[0].format) == (name, own_name(UNPACKED[name]))
    assert bytes_of(frames) == raw
    assert lanner.VideoReader(path, format=video.stream.format)[0].format == frames[0].format
    result = run_command("decode", path, "--md5")
    assert (result.returncode, result.stdout.strip()) == (0, hashlib.md5(raw).hexdigest())
    assert f"--md5 is of {frames[0].format} pixels" in result.stderr
    assert name in result.stderr
    assert without_notes(result.stderr) == ""


def test_every_name_of_ffmpeg_is_known():
    listed = run_ffmpeg("-hide_banner", "-pix_fmts").decode().splitlines()
    names = [line.split()[1] for line in listed if line[:5].strip(".IOHPB") == "" and "H" not in line[:5] and len(line.split()) >= 4]
    names = [name for name in names if name != "="]
    assert len(names) > 150
    image = lanner.Image.from_array(np.zeros((8, 8, 3), np.uint8))
    for name in names:
        assert image.contiguous(name).numpy().size > 0, name


@pytest.mark.parametrize("name", ["yuva420p", "yuva422p10le", "yuva444p12le", "gbrap", "gbrap12le", "ya8", "rgba64le"])
def test_alpha_reaches_rgba(clips, name):
    codec, kind = ("ffv1", "mkv") if name in _FFV1.split() else ("rawvideo", "nut")
    path, _ = encoded(clips, codec, kind, name)
    frame = lanner.VideoReader(path)[1]
    bits = 16 if name == "rgba64le" else int("".join(filter(str.isdigit, name.partition("p")[2] if "p" in name else "")) or 8)
    rgba, words = frame.contiguous("rgba").numpy(), frame.contiguous("rgba64le").numpy()
    assert rgba.shape == words.shape == (HEIGHT, WIDTH, 4)
    assert (rgba.dtype, words.dtype) == (np.uint8, np.uint16)
    if frame.alpha is not None:
        stored = np.asarray(frame.alpha).astype(int)
        np.testing.assert_array_equal(np.asarray(frame.planes[-1]), stored)
        np.testing.assert_array_equal(words[..., 3], (stored * 65535 + (1 << bits) // 2 - 1) // ((1 << bits) - 1))
    expected = 5 * np.arange(WIDTH)[None] + np.arange(HEIGHT)[:, None] + 1
    assert np.abs(rgba[..., 3].astype(int) - expected).max() <= 1
    assert len(np.unique(rgba[..., 3])) > 100


@pytest.mark.parametrize(
    ("kind", "codec", "name"),
    [("mkv", "ffv1", name) for name in ("rgba", "yuva420p", "yuva444p10", "gbrap12", "gray10", "gray12", "ya8", "yuv410p", "yuv440p", "gbrp10", "rgb48", "rgba64", "yuv420p9")]
    + [("mov", "prores_ks", "yuva444p10"), ("mkv", "png", "rgba"), ("mkv", "png", "rgba64"), ("mkv", "png", "gray16"), ("mkv", "png", "ya8"), ("mkv", "utvideo", "gbrap")]
    + [("mkv", "libaom-av1", "gbrp"), ("mkv", "libaom-av1", "yuv444p12"), ("mkv", "libaom-av1", "gray10")],
)
def test_written_and_read_again(tmp_path, kind, codec, name):
    if not has_encoder(codec):
        pytest.skip(f"this ffmpeg has no {codec}")
    rng = np.random.default_rng(5)
    smooth = np.add.outer(np.arange(HEIGHT), 2 * np.arange(WIDTH))[..., None] * [1, 0.5, 0.2] + [20, 60, 90]
    pixels = np.concatenate([smooth, rng.integers(0, 256, (HEIGHT, WIDTH, 1))], -1).astype(np.uint8)
    given = lanner.Image(pixels, "rgba")
    stored = lanner.Image.from_contiguous(given.contiguous(name), name, WIDTH, HEIGHT)
    options = {"crf": 0} if codec == "libaom-av1" else {}
    with lanner.VideoWriter(tmp_path / f"clip.{kind}", codec=codec, format=name, width=WIDTH, height=HEIGHT, fps=5, **options) as out:
        out.write(stored)
        assert out.notes == []
    frame = lanner.VideoReader(tmp_path / f"clip.{kind}")[0]
    if codec in ("ffv1", "png", "utvideo"):
        kept = frame if frame.format == stored.format else frame.to(stored.format)
        np.testing.assert_array_equal(kept.contiguous().numpy(), stored.contiguous().numpy())
        return
    assert frame.format == name or codec == "prores_ks"
    found, wanted = (one.contiguous("rgba64").numpy().astype(int) >> 8 for one in (frame, stored))
    assert np.abs(found[..., :3] - wanted[..., :3]).mean() < 3
    if codec == "prores_ks":
        assert np.abs(found[..., 3] - wanted[..., 3]).mean() < 6


def test_opacity_that_cannot_be_stored_is_told(clips, tmp_path):
    path, _ = encoded(clips, "ffv1", "mkv", "yuva420p")
    result = run_command("transcode", path, tmp_path / "out.mp4")
    assert result.returncode == 0
    assert "opacity of yuva420p pictures is left out" in result.stderr
    assert lanner.VideoReader(tmp_path / "out.mp4")[0].format == "yuv420p"
    succeed("transcode", path, tmp_path / "out.mkv", "--codec", "ffv1")
    assert bytes_of(lanner.VideoReader(tmp_path / "out.mkv")) == bytes_of(lanner.VideoReader(path))


def test_ten_bits_of_444_stay(tmp_path):
    """NVENC's YUV444_10BIT has its samples in the high bits, which FFmpeg has no format for."""
    path = tmp_path / "clip.mkv"
    run_ffmpeg("-f", "lavfi", "-i", SOURCE, "-frames:v", 1, "-c:v", "ffv1", "-pix_fmt", "yuv444p10le", path)
    own = lanner.VideoReader(path)[0]
    frame = lanner.VideoReader(path, format="YUV444_10BIT")[0]
    assert frame.format == "yuv444p10msb"
    for plane, high in zip(own.planes, frame.planes, strict=True):
        np.testing.assert_array_equal(np.asarray(plane) << 6, np.asarray(high))
    for codec, options in (("ffv1", {}), ("libx264", {"tuning": "lossless"})):
        if not has_encoder(codec):
            continue
        with lanner.VideoWriter(tmp_path / "out.mkv", codec=codec, format="YUV444_10BIT", width=WIDTH, height=HEIGHT, fps=5, **options) as out:
            out.write(frame)
        written = lanner.VideoReader(tmp_path / "out.mkv")
        assert written.stream.format == "yuv444p10le"
        assert bytes_of(written) == bytes_of([own])


def test_still_pictures_keep_alpha_and_depth(clips, tmp_path):
    for name, kept in (("rgba64le", "rgba64"), ("ya8", "ya8"), ("gray16le", "gray16"), ("bgra", "rgba32")):
        path, _ = encoded(clips, "ffv1", "mkv", name)
        frame = lanner.VideoReader(path)[0]
        succeed("decode", path, "--frames", 0, "-o", tmp_path / "a.png")
        image = lanner.load_image(tmp_path / "a.png")
        assert image.format == kept
        np.testing.assert_array_equal(image.contiguous().numpy(), frame.contiguous(kept).numpy())


@pytest.mark.parametrize(
    ("primaries", "transfer", "space", "told"),
    [("bt2020", "smpte2084", "bt2020nc", "bt2020"), ("bt2020", "arib-std-b67", "bt2020nc", "bt2020"), ("bt709", "bt709", "bt709", "bt709"),
     ("bt709", "bt709", "ycgco", "ycgco"), ("bt2020", "bt2020-10", "bt2020c", "bt2020c")],
)  # fmt: skip
def test_colours_that_a_frame_tells(tmp_path, primaries, transfer, space, told):
    path = tmp_path / "clip.mkv"
    tags = ["-color_primaries", primaries, "-color_trc", transfer, "-colorspace", space, "-color_range", "tv"]
    run_ffmpeg("-f", "lavfi", "-i", SOURCE, "-frames:v", 1, "-vf", "format=yuv444p10le", "-c:v", "libx264", *tags, path)
    video = lanner.VideoReader(path)
    frame = video[0]
    for one in (frame, video.stream):
        assert (one.color_primaries, one.color_transfer, one.color_space) == (primaries, transfer, told)
    assert frame.to_rgb().shape == (HEIGHT, WIDTH, 3)


def test_ycgco_against_zscale(tmp_path):
    filters = subprocess.run(["ffmpeg", "-hide_banner", "-filters"], capture_output=True, text=True, check=True).stdout
    if " zscale " not in filters:
        pytest.skip("this ffmpeg has no zscale")
    path = tmp_path / "clip.mkv"
    for places in ("tv", "pc"):
        convert = f"format=rgb24,format=gbrp,zscale=min=gbr:rin=full:m=ycgco:r={places},format=yuv444p"
        run_ffmpeg("-f", "lavfi", "-i", SOURCE, "-frames:v", 1, "-vf", convert, "-c:v", "ffv1", "-colorspace", "ycgco", "-color_range", places, path)
        frame = lanner.VideoReader(path)[0]
        assert (frame.color_space, frame.color_range) == ("ycgco", {"tv": "limited", "pc": "full"}[places])
        raw = run_ffmpeg("-f", "lavfi", "-i", SOURCE, "-frames:v", 1, "-vf", "format=rgb24", "-f", "rawvideo", "-")
        rgb = np.frombuffer(raw, np.uint8).reshape(HEIGHT, WIDTH, 3).astype(int)
        assert np.abs(frame.to_rgb().numpy().astype(int) - rgb).max() <= 3


def test_the_page_lists_every_format():
    with pytest.raises(lanner.InvalidArgument) as error:
        lanner.VideoReader("clip.mp4", format="none of them")
    known = str(error.value).partition("expected one of ")[2].replace(" ", "").split(",")
    page = (ROOT / "docs" / "pixel-formats.md").read_text()
    table = page.partition("| formats |")[2].partition("## Names")[0]
    listed = {part for line in table.splitlines()[2:] if line.startswith("|") for part in line.split("|")[1].replace("`", "").replace(" ", "").split(",")}
    assert listed == set(known)
    assert len(known) > 70


@pytest.mark.parametrize(
    ("matrix", "primaries", "name", "same_as"),
    [
        ("chroma-derived-nc", "bt709", "bt709", "bt709"),
        ("chroma-derived-nc", "bt2020", "bt2020", "bt2020nc"),
        ("chroma-derived-nc", "smpte170m", "smpte240m", "smpte240m"),
        ("chroma-derived-c", "bt2020", "bt2020c", "bt2020c"),
        ("chroma-derived-nc", "bt470bg", "chroma-derived-nc", None),
        ("chroma-derived-c", "bt709", "chroma-derived-c", None),
        ("ictcp", "bt2020", "ictcp", None),
        ("smpte2085", "bt2020", "smpte2085", None),
    ],
)
def test_matrices_are_known_or_refused(tmp_path, matrix, primaries, name, same_as):
    """Never read as another one; transcoding keeps samples and matrix of those that are not converted."""
    if not has_encoder("libx265"):
        pytest.skip("this ffmpeg has no libx265")

    def make(path, colours):
        source = ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=5:d=0.4", "-pix_fmt", "yuv420p10le", "-c:v", "libx265"]
        subprocess.run(["ffmpeg", "-v", "error", *source, "-x265-params", f"log-level=none:lossless=1:colorprim={primaries}:transfer=bt709:colormatrix={colours}", path], check=True)
        return lanner.VideoReader(path)[0]

    frame = make(tmp_path / "a.mp4", matrix)
    assert lanner.VideoReader(tmp_path / "a.mp4").stream.color_space == frame.image.color_space == name
    if same_as:
        other = make(tmp_path / "b.mp4", same_as)
        np.testing.assert_array_equal(frame.contiguous("rgb24").numpy(), other.contiguous("rgb24").numpy())
        return
    for use in (lambda: frame.to("rgb24"), lambda: lanner.VideoReader(tmp_path / "a.mp4").batch([0], size=(32, 32)), lambda: lanner.VideoReader(tmp_path / "a.mp4", format="rgb24")[0]):
        with pytest.raises(lanner.Unsupported, match=f"of matrix {name} "):
            use()
    lanner.transcode(tmp_path / "a.mp4", tmp_path / "c.mp4", codec="hevc", tuning="lossless")
    again = lanner.VideoReader(tmp_path / "c.mp4")
    assert again.stream.color_space == name
    np.testing.assert_array_equal(again[0].contiguous().numpy(), frame.contiguous().numpy())


@pytest.mark.parametrize(("codec", "options"), [("libvpx-vp9", []), ("libvpx", ["-auto-alt-ref", "0"])])
def test_alpha_beside_vp8_and_vp9(tmp_path, codec, options):
    """WebM keeps it beside the packets; libvpx's decoder gives it, FFmpeg's own leave it out."""
    if not has_encoder(codec):
        pytest.skip(f"this ffmpeg has no {codec}")
    source = ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=5:d=1,format=yuva420p,geq=lum='p(X,Y)':a='X*4'"]
    subprocess.run(["ffmpeg", "-v", "error", *source, "-c:v", codec, *options, "-pix_fmt", "yuva420p", tmp_path / "a.webm"], check=True)
    video = lanner.VideoReader(tmp_path / "a.webm")
    if codec not in video.decoder:
        pytest.skip(f"this FFmpeg decodes without {codec}")
    assert video.stream.format == "yuva420p" and len(video) == 5 and video.times() == [0, 0.2, 0.4, 0.6, 0.8]
    plain = subprocess.run(["ffmpeg", "-v", "error", "-i", tmp_path / "a.webm", "-pix_fmt", "yuv420p", "-f", "rawvideo", "-"], capture_output=True, check=True).stdout
    for frame in (video[3], *video):
        assert np.abs(np.asarray(frame.alpha).astype(int) - 4 * np.arange(64)[None]).max() <= 24
        size = 64 * 48 * 3 // 2
        assert frame.contiguous().numpy().tobytes()[:size] == plain[frame.index * size : (frame.index + 1) * size]
    assert lanner.transcode(tmp_path / "a.webm", tmp_path / "b.mkv", codec="ffv1").notes == []
    np.testing.assert_array_equal(np.asarray(lanner.VideoReader(tmp_path / "b.mkv")[2].alpha), np.asarray(video[2].alpha))
    (note,) = lanner.transcode(tmp_path / "a.webm", tmp_path / "b.webm").notes
    assert note.startswith("opacity of yuva420p pictures is left out")
