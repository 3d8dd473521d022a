"""What transcode keeps of a clip: sound, subtitles, chapters, tags, brightness, fields, times, parts; seen by ffprobe."""

import io
import json
import os
import shutil
import signal
import struct
import subprocess
import time

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")
from command import COMMAND, DATA, leftovers, refuse, succeed

pytestmark = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")
FOUND = DATA.parent / "found" / "video"
HDR = "master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):max-cll=1000,400"


def ffmpeg(*arguments):
    done = subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def ffprobe(path, *arguments):
    command = ["ffprobe", "-v", "error", "-of", "json", "-show_format", "-show_streams", "-show_chapters", *arguments, path]
    return json.loads(subprocess.run(list(map(str, command)), capture_output=True, check=True).stdout)


def stream_of(path, kind, *arguments):
    return next(stream for stream in ffprobe(path, *arguments)["streams"] if stream["codec_type"] == kind)


def frames_md5(path, *filters):
    return ffmpeg("-i", path, "-map", "0:v:0", *filters, "-f", "md5", "-")


def audio_md5(path):
    return ffmpeg("-i", path, "-map", "0:a", "-c", "copy", "-f", "md5", "-")


def found(name):
    if not (FOUND / name).exists():
        pytest.skip("no clips at ../shared/found")
    return FOUND / name


def pictures(size="96x64", seconds=1.0, rate=25):
    return ["-f", "lavfi", "-i", f"testsrc2=s={size}:r={rate}:d={seconds}"]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("part") / "in.mp4"
    ffmpeg(*pictures(seconds=4), "-f", "lavfi", "-i", "sine=d=4", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-c:a", "aac", path)
    return path


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """A Matroska with sound, subtitles, a font, chapters and tags."""
    folder = tmp_path_factory.mktemp("rich")
    (folder / "s.srt").write_text("1\n00:00:00,200 --> 00:00:01,500\nHello\n")
    (folder / "f.ttf").write_bytes(b"a font")
    (folder / "meta.txt").write_text(
        ";FFMETADATA1\ntitle=Harbour\nartist=Me\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1000\ntitle=One\n"
        "[CHAPTER]\nTIMEBASE=1/1000\nSTART=1000\nEND=2000\ntitle=Two\n"
    )
    path = folder / "rich.mkv"
    ffmpeg(*pictures(seconds=2), "-f", "lavfi", "-i", "sine=440:d=2", "-i", folder / "s.srt", "-i", folder / "meta.txt",
           "-map", "0", "-map", "1", "-map", "2", "-map_metadata", "3", "-c:v", "libx264", "-preset", "ultrafast",
           "-c:a", "aac", "-c:s", "srt", "-attach", folder / "f.ttf", "-metadata:s:t", "mimetype=application/x-truetype-font",
           "-metadata:s:a", "language=fra", "-metadata:s:s", "language=deu", path)  # fmt: skip
    return path


class TestWhatLiesBesideThePictures:
    def test_matroska_keeps_everything(self, rich, tmp_path):
        out = tmp_path / "out.mkv"
        result = lanner.transcode(rich, out, codec="ffv1")
        assert result.notes == [] and result.frames == 50 and result.paths == [str(out)]
        assert frames_md5(out) == frames_md5(rich) and audio_md5(out) == audio_md5(rich)
        before, after = ffprobe(rich), ffprobe(out)
        assert [s["codec_type"] for s in before["streams"]] == [s["codec_type"] for s in after["streams"]]
        times = [[p["pts_time"] for p in ffprobe(path, "-show_packets", "-select_streams", "a")["packets"]] for path in (rich, out)]
        assert times[0] == times[1]
        texts = [ffprobe(path, "-show_packets", "-show_data_hash", "md5", "-select_streams", "s")["packets"] for path in (rich, out)]
        facts = [[(p["pts_time"], p["duration_time"], p["data_hash"]) for p in packets] for packets in texts]
        assert facts[0] == facts[1] and len(facts[0]) == 1
        tags = [s.get("tags", {}) for s in after["streams"]]
        assert (tags[1]["language"], tags[2]["language"], tags[3]["filename"]) == ("fra", "deu", "f.ttf")
        assert [c["tags"]["title"] for c in after["chapters"]] == ["One", "Two"]
        assert [c["start_time"] for c in after["chapters"]] == [c["start_time"] for c in before["chapters"]]
        assert after["format"]["tags"]["title"] == "Harbour"
        ffmpeg("-dump_attachment:t:0", tmp_path / "font", "-i", out, "-f", "null", "-")
        assert (tmp_path / "font").read_bytes() == b"a font"

    def test_what_mp4_cannot_hold_is_said(self, rich, tmp_path):
        out = tmp_path / "out.mp4"
        notes = lanner.transcode(rich, out).notes
        assert notes == ["stream 2 (subtitle subrip) is converted to mov_text: mp4 cannot hold it as it is",
                         "stream 3 (attachment ttf) is left out: mp4 cannot hold it"]  # fmt: skip
        assert audio_md5(out) == audio_md5(rich)
        assert [c["tags"]["title"] for c in ffprobe(out)["chapters"]] == ["One", "Two"]
        # Players may start before the whole file has arrived.
        data = out.read_bytes()
        assert data.index(b"moov") < data.index(b"mdat")

    def test_each_kind_can_be_left_out(self, rich, tmp_path):
        out = tmp_path / "out.mkv"
        said = succeed("transcode", rich, out, "--no-audio", "--no-subtitles", "--no-attachments", "--no-chapters", "--no-tags",
                       "--metadata", "title=Mine")  # fmt: skip
        after = ffprobe(out)
        assert said == "" and [s["codec_type"] for s in after["streams"]] == ["video"]
        assert after["chapters"] == [] and after["format"]["tags"]["title"] == "Mine"
        assert "ARTIST" not in {key.upper() for key in after["format"]["tags"]}

    def test_a_cover_picture_is_kept(self, tmp_path):
        ffmpeg(*pictures(size="32x32", seconds=0.04), "-frames:v", "1", tmp_path / "cover.png")
        ffmpeg(*pictures(), "-i", tmp_path / "cover.png", "-map", "0", "-map", "1", "-c:v:0", "libx264", "-c:v:1", "copy",
               "-disposition:v:1", "attached_pic", tmp_path / "in.mp4")  # fmt: skip
        for name in ("out.mp4", "out.mkv"):
            assert lanner.transcode(tmp_path / "in.mp4", tmp_path / name).notes == []
            covers = [s for s in ffprobe(tmp_path / name)["streams"] if s["disposition"]["attached_pic"]]
            assert [s["codec_name"] for s in covers] == ["png"]

    def test_a_cover_picture_is_kept_in_a_part_of_a_clip_with_sound(self, tmp_path):
        ffmpeg(*pictures(size="32x32", seconds=0.04), "-frames:v", "1", tmp_path / "cover.png")
        ffmpeg(*pictures(seconds=2), "-f", "lavfi", "-i", "sine=440:d=2", "-i", tmp_path / "cover.png", "-map", "0", "-map", "1", "-map", "2",
               "-c:v:0", "libx264", "-c:a", "aac", "-c:v:1", "copy", "-disposition:v:1", "attached_pic", tmp_path / "in.mp4")  # fmt: skip
        lanner.transcode(tmp_path / "in.mp4", tmp_path / "out.mp4", start=1.0)
        streams = ffprobe(tmp_path / "out.mp4")["streams"]
        assert [s["codec_name"] for s in streams if s["disposition"]["attached_pic"]] == ["png"]
        audio = next(s for s in streams if s["codec_type"] == "audio")
        assert float(audio["duration"]) == pytest.approx(1.0, abs=0.06)

    def test_sound_from_a_pipe_is_missed_with_a_word(self, rich, tmp_path):
        with rich.open("rb") as file:
            class Once:
                def read(self, count):
                    return file.read(count)

            notes = lanner.transcode(Once(), tmp_path / "out.mkv").notes
        assert len(notes) == 1 and "only its video is written" in notes[0]


class TestPixels:
    @pytest.mark.parametrize("codec", ["hevc", "av1", "h264"])
    @pytest.mark.parametrize("container", ["mp4", "mkv"])
    def test_hdr_is_kept_in_container_and_stream(self, tmp_path, codec, container):
        clip = tmp_path / "hdr.mkv"
        ffmpeg(*pictures(seconds=0.2), "-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-x265-params",
               f"log-level=none:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:{HDR}", clip)  # fmt: skip
        out = tmp_path / f"out.{container}"
        lanner.transcode(clip, out, codec=codec)
        stream = stream_of(out, "video")
        assert (stream["color_transfer"], stream["color_primaries"], stream["color_space"]) == ("smpte2084", "bt2020", "bt2020nc")
        assert stream["pix_fmt"] == "yuv420p10le"
        frames = ffprobe(out, "-show_frames", "-read_intervals", "%+#1")["frames"]
        for sides in (stream["side_data_list"], frames[0].get("side_data_list", []) if codec != "h264" else None):
            if sides is None:
                continue  # FFmpeg 5.1 reads none from H.264.
            facts = {key: value for side in sides for key, value in side.items()}
            assert (facts["max_content"], facts["max_average"]) == (1000, 400)
            value = {key: eval(facts[key]) for key in ("red_x", "green_y", "white_point_x", "max_luminance")}
            assert value == pytest.approx({"red_x": 0.68, "green_y": 0.69, "white_point_x": 0.3127, "max_luminance": 1000}, rel=1e-4)

    @pytest.mark.parametrize("luminance", [0, 0xFFFFFFFF])
    def test_a_mastering_display_out_of_range_is_left_out_with_a_note(self, tmp_path, luminance):
        """Zeros say that it is not known (CTA-861)."""
        encoder = lanner.Encoder(width=64, height=48, codec="libx265", fps=25, format="yuv420p")
        message = struct.pack(">8HII", *[0] * 8, luminance, 0)
        packets = []
        for i in range(5):
            encoder.send(np.full((48, 64, 3), 20 * i, np.uint8), sei=[(137, message)])
            packets += encoder
        (tmp_path / "in.hevc").write_bytes(b"".join(map(bytes, packets + encoder.end())))
        notes = lanner.transcode(tmp_path / "in.hevc", tmp_path / "out.mp4", codec="hevc").notes
        assert [note for note in notes if "mastering display is left out: its values are out of range" in note], notes
        assert not any("max_luminance" in side for side in stream_of(tmp_path / "out.mp4", "video").get("side_data_list", []))

    def test_the_shape_of_its_pixels_is_the_clips(self, tmp_path):
        with pytest.raises(TypeError, match="sample_aspect"):
            lanner.transcode(DATA / "none.mp4", tmp_path / "out.mp4", sample_aspect="4:3")

    def test_colours_that_are_not_said_stay_unsaid(self, tmp_path):
        clip = tmp_path / "in.mp4"
        ffmpeg(*pictures(seconds=0.2), "-c:v", "libx264", clip)
        for codec in ("h264", "ffv1"):
            lanner.transcode(clip, tmp_path / "out.mkv", codec=codec)
            stream = stream_of(tmp_path / "out.mkv", "video")
            assert [stream.get(key, "unknown") for key in ("color_space", "color_range", "color_transfer")] == ["unknown"] * 3
        assert frames_md5(tmp_path / "out.mkv") == frames_md5(clip)

    @pytest.mark.parametrize("pixels", ["yuv420p", "yuv422p10le", "yuv444p"])
    @pytest.mark.parametrize("degrees", [90, 180])
    def test_they_stay_unsaid_of_a_turned_clip(self, tmp_path, pixels, degrees):
        ffmpeg(*pictures(seconds=0.1), "-pix_fmt", pixels, "-c:v", "libx264", tmp_path / "flat.mp4")
        ffmpeg("-i", tmp_path / "flat.mp4", "-c", "copy", "-metadata:s:v", f"rotate={degrees}", tmp_path / "in.mp4")
        lanner.transcode(tmp_path / "in.mp4", tmp_path / "out.mkv", codec="ffv1")
        stream = stream_of(tmp_path / "out.mkv", "video")
        assert [stream.get(key, "unknown") for key in ("color_space", "color_range", "color_transfer")] == ["unknown"] * 3
        assert (stream["width"] < stream["height"]) == (degrees == 90)

    def test_they_stay_unsaid_of_frames_that_are_written(self, tmp_path):
        """What is made of RGB is said."""
        ffmpeg(*pictures(seconds=0.1), "-c:v", "libx264", tmp_path / "in.mp4")
        for kind, told in ((None, "unknown"), ("rgb24", "smpte170m")):
            reader = lanner.VideoReader(tmp_path / "in.mp4")
            with lanner.VideoWriter(tmp_path / "out.mp4", width=reader.width, height=reader.height) as out:
                for frame in reader:
                    out.write(frame.to(kind) if kind else frame)
            assert stream_of(tmp_path / "out.mp4", "video").get("color_space", "unknown") == told

    def test_deinterlacing_is_that_of_bwdif(self, tmp_path):
        clip = tmp_path / "in.mp4"
        ffmpeg(*pictures(seconds=0.4, rate=50), "-vf", "interlace", "-c:v", "libx264", "-flags", "+ilme+ildct", "-x264-params", "tff=1", clip)
        lanner.transcode(clip, tmp_path / "out.mkv", codec="ffv1", deinterlace=True)
        assert frames_md5(tmp_path / "out.mkv") == frames_md5(clip, "-vf", "bwdif=mode=send_frame:deint=interlaced")
        assert stream_of(tmp_path / "out.mkv", "video").get("field_order", "progressive") == "progressive"

    def test_fields_are_kept_or_it_is_said(self, tmp_path):
        for scan, order in (("tff", "tt"), ("bff", "bb")):
            clip = tmp_path / f"{scan}.mp4"
            ffmpeg(*pictures(seconds=0.4, rate=50), "-vf", f"interlace=scan={scan}", "-c:v", "libx264", "-flags", "+ilme+ildct",
                   "-x264-params", f"{scan}=1", clip)  # fmt: skip
            notes = lanner.transcode(clip, tmp_path / "out.mkv", codec="ffv1").notes
            assert stream_of(tmp_path / "out.mkv", "video")["field_order"] == order
            assert len(notes) == 1 and "deinterlace" in notes[0]

    def test_fields_are_kept_in_the_stream_of_libx264(self, tmp_path):
        for scan, first in (("tff", 1), ("bff", 0)):
            clip = tmp_path / f"{scan}.mp4"
            ffmpeg(*pictures(seconds=0.4, rate=50), "-vf", f"interlace=scan={scan}", "-c:v", "mpeg2video", "-q:v", "2", "-flags", "+ilme+ildct",
                   "-top", first, clip)  # fmt: skip
            notes = lanner.transcode(clip, tmp_path / "out.mp4", codec="libx264").notes
            assert notes == []
            frames = ffprobe(tmp_path / "out.mp4", "-show_frames")["frames"]
            assert {(frame["interlaced_frame"], frame["top_field_first"]) for frame in frames} == {(1, first)}

    def test_rotation_can_stay_a_word_to_players(self, tmp_path):
        ffmpeg(*pictures(seconds=0.2), "-c:v", "libx264", tmp_path / "plain.mp4")
        ffmpeg("-i", tmp_path / "plain.mp4", "-c", "copy", "-metadata:s:v", "rotate=90", tmp_path / "in.mp4")
        for keep, size in ((False, (64, 96)), (True, (96, 64))):
            lanner.transcode(tmp_path / "in.mp4", tmp_path / "out.mp4", keep_rotation=keep)
            stream = stream_of(tmp_path / "out.mp4", "video")
            assert (stream["width"], stream["height"]) == size
            sides = [side["rotation"] for side in stream.get("side_data_list", [])]
            assert sides == ([side["rotation"] for side in stream_of(tmp_path / "in.mp4", "video")["side_data_list"]] if keep else [])
        shown, upright = (lanner.VideoReader(tmp_path / name) for name in ("out.mp4", "in.mp4"))
        assert (shown.width, shown.height, shown.stream.rotation) == (upright.width, upright.height, upright.stream.rotation)
        notes = lanner.transcode(tmp_path / "in.mp4", tmp_path / "out.ts", keep_rotation=True).notes
        assert any("rotation" in note for note in notes)


class TestTimes:
    @pytest.mark.parametrize(("name", "frames"), [("wrap33.ts", 50), ("negative_pts.mkv", 50)])
    def test_times_before_zero_are_moved_and_said(self, tmp_path, name, frames):
        clip = found(name)
        for out in (tmp_path / "out.mp4", tmp_path / "out.mkv"):
            notes = lanner.transcode(clip, out).notes
            assert len(notes) == 1 and notes[0].startswith("timestamps begin at -0.7")
            stream = stream_of(out, "video", "-count_frames")
            assert (stream["nb_read_frames"], float(stream["start_time"])) == (str(frames), 0)

    @pytest.mark.parametrize(("name", "seconds"), [("g_pause.gif", 2.5), ("e16_vfr.mp4", 3.94)])
    def test_the_last_frame_keeps_its_own_duration(self, tmp_path, name, seconds):
        clip = found(name)
        for out in (tmp_path / "out.mp4", tmp_path / "out.mkv"):
            assert lanner.transcode(clip, out).seconds == pytest.approx(seconds)
            assert float(ffprobe(out)["format"]["duration"]) == pytest.approx(seconds, abs=2e-3)

    def write_frames(self, tmp_path, ticks):
        """A file of frames with these times in milliseconds: what was said, and the times that ffprobe sees."""
        path = tmp_path / "out.mkv"
        with lanner.VideoWriter(path, width=64, height=48, fps=25, codec="ffv1") as out:
            for number, tick in enumerate(ticks):
                out.write(np.full((48, 64, 3), number, np.uint8), pts=tick, time_base="1/1000")
            notes = out.notes
        packets = ffprobe(path, "-show_packets")["packets"]
        return notes, sorted(round(1000 * float(packet["pts_time"])) for packet in packets)

    def test_one_time_that_goes_back_lies_between_its_neighbours(self, tmp_path):
        notes, times = self.write_frames(tmp_path, [0, 40, 80, 60, 160, 200])
        assert times == [0, 40, 80, 120, 160, 200]
        assert notes == ["frame 3: its timestamp 0.060 s is not after 0.080 s; it is shown at 0.120 s"]

    def test_a_clock_that_begins_anew_goes_on(self, tmp_path):
        notes, times = self.write_frames(tmp_path, [0, 40, 80, 0, 40, 80])
        assert times == [0, 40, 80, 120, 160, 200] and len(notes) == 1

    def test_many_wrong_times_are_counted(self, tmp_path):
        notes, times = self.write_frames(tmp_path, [200, 160, 120, 80, 40, 0])
        assert times == [200 + 40 * i for i in range(6)] and len(set(times)) == 6
        assert len(notes) >= 1


class TestParts:
    def test_a_part_has_exactly_its_frames(self, clip, tmp_path):
        out = tmp_path / "out.mkv"
        result = lanner.transcode(clip, out, start=1, end=2, codec="ffv1")
        assert (result.frames, result.seconds) == (25, pytest.approx(1))
        assert frames_md5(out) == frames_md5(clip, "-vf", "trim=1:2,setpts=PTS-STARTPTS")
        audio = stream_of(out, "audio", "-count_packets")
        assert float(audio["start_time"]) < 0.03 and 42 <= int(audio["nb_read_packets"]) <= 44
        said = succeed("transcode", clip, tmp_path / "cli.mkv", "--start", "1", "--end", "0:02", "-c:v", "ffv1")
        assert said == "" and frames_md5(tmp_path / "cli.mkv") == frames_md5(out)

    def test_a_part_without_a_frame_is_an_error(self, clip, tmp_path):
        with pytest.raises(lanner.InvalidArgument, match="no frame is shown from 5 s"):
            lanner.transcode(clip, tmp_path / "out.mp4", start=5)
        with pytest.raises(lanner.InvalidArgument, match="start of 0 or more before the end"):
            lanner.transcode(clip, tmp_path / "out.mp4", start=2, end=1)
        assert os.listdir(tmp_path) == []

    def test_bytes_and_file_objects(self, clip, tmp_path):
        out = io.BytesIO()
        result = lanner.transcode(clip.read_bytes(), out, end=0.4)
        assert result.frames == 10 and result.bytes == len(out.getvalue()) and b"moof" in out.getvalue()
        (tmp_path / "x.mp4").write_bytes(out.getvalue())
        assert stream_of(tmp_path / "x.mp4", "video", "-count_frames")["nb_read_frames"] == "10"

    def test_quality_is_ffmpegs(self, clip, tmp_path):
        out = tmp_path / "out.mkv"
        quality = lanner.transcode(clip, out, end=0.4, crf=30, quality=True).quality
        ffmpeg("-i", out, "-i", clip, "-lavfi", f"[0:v][1:v]psnr=stats_file={tmp_path}/p:shortest=1", "-f", "null", "-")
        ffmpeg("-i", out, "-i", clip, "-lavfi", f"[0:v][1:v]ssim=stats_file={tmp_path}/s:shortest=1", "-f", "null", "-")
        psnr, ssim = ([line for line in (tmp_path / name).read_text().splitlines()][:10] for name in "ps")
        assert len(quality) == len(psnr) == 10
        for one, p, s in zip(quality, psnr, ssim, strict=True):
            assert one.psnr == pytest.approx(float(p.split("psnr_avg:")[1].split()[0]), abs=0.01)
            assert one.ssim == pytest.approx(float(s.split("All:")[1].split()[0]), abs=1e-4)

    def test_quality_and_progress_of_the_command(self, clip, tmp_path):
        succeed("transcode", clip, tmp_path / "out.mkv", "--end", "0.4", "--quality", tmp_path / "q.csv", "--progress", tmp_path / "p.txt")
        table = (tmp_path / "q.csv").read_text().splitlines()
        assert table[0].startswith("frame,seconds,psnr,ssim") and len(table) == 11
        last = dict(line.split("=") for line in (tmp_path / "p.txt").read_text().splitlines()[-11:])
        assert (last["frame"], last["progress"], last["out_time"]) == ("10", "end", "00:00:00.400000")
        assert int(last["total_size"]) == (tmp_path / "out.mkv").stat().st_size

    def test_standard_output(self, clip, tmp_path):
        for name in ("-", "/dev/stdout"):
            done = subprocess.run([COMMAND, "transcode", clip, name, "--end", "0.2", "--format", "mp4"], capture_output=True, timeout=300, check=True)
            assert done.stdout[4:8] == b"ftyp" and done.stderr == b""


class TestSizeChanges:
    def test_each_choice(self, tmp_path):
        clip = found("size_change.mp4")
        for choice in ("scale", "pad"):
            result = lanner.transcode(clip, tmp_path / f"{choice}.mkv", on_size_change=choice)
            assert result.frames == 50 and len(result.notes) == 1 and "frame 25 (1.000 s): the size changes to 64x96" in result.notes[0]
            stream = stream_of(tmp_path / f"{choice}.mkv", "video", "-count_frames")
            assert (stream["width"], stream["height"], stream["nb_read_frames"]) == (96, 64, "50")
        scaled, padded = (lanner.VideoReader(tmp_path / f"{name}.mkv")[30].to_rgb().numpy() for name in ("scale", "pad"))
        assert padded[:, :20].max() < 30 and padded[:, -20:].max() < 30 and scaled[:, :20].max() > 60

    def test_segments(self, tmp_path):
        clip = found("size_change.mp4")
        result = lanner.transcode(clip, tmp_path / "out.mkv", on_size_change="segment", codec="ffv1")
        assert [os.path.basename(path) for path in result.paths] == ["out.mkv", "out_2.mkv"]
        whole = [lanner.VideoReader(clip), *(lanner.VideoReader(path) for path in result.paths)]
        assert [len(video) for video in whole] == [50, 25, 25]
        assert (whole[2].width, whole[2].height, whole[2][0].seconds) == (64, 96, 0)
        assert (whole[2][3].to_rgb().numpy() == whole[0][28].to_rgb().numpy()).all()

    def test_a_segment_tells_of_the_file_that_it_replaces(self, tmp_path):
        clip = found("size_change.mp4")
        (tmp_path / "out_2.mkv").write_bytes(b"old")
        options = {"on_size_change": "segment", "codec": "ffv1"}
        (note,) = lanner.transcode(clip, tmp_path / "out.mkv", **options).notes
        assert note.endswith("out_2.mkv begins, in place of the file of this name") and len(lanner.VideoReader(tmp_path / "out_2.mkv")) == 25

    def test_a_segment_does_not_replace_the_clip(self, tmp_path):
        clip = tmp_path / "out_2.mp4"
        shutil.copy(found("size_change.mp4"), clip)
        before = clip.read_bytes()
        assert "would overwrite the clip that is read" in refuse("transcode", clip, tmp_path / "out.mp4", "--on-size-change", "segment")
        assert clip.read_bytes() == before and leftovers(tmp_path, "out_2.mp4") == []

    def test_an_error_leaves_nothing(self, tmp_path):
        clip = found("size_change.mp4")
        message = refuse("transcode", clip, tmp_path / "out.mkv", "--on-size-change", "error")
        assert "frame 25 (1.000 s) is 64x96, those before are 96x64" in message
        assert "what" in refuse("transcode", clip, tmp_path / "out.mkv", "--on-size-change", "what")
        assert leftovers(tmp_path) == []


class TestUnfinishedFiles:
    def start(self, folder):
        """A transcode that has begun its file."""
        clip = folder / "in.mkv"
        if not clip.exists():
            ffmpeg(*pictures(size="640x480", seconds=40), "-c:v", "libx264", "-preset", "ultrafast", clip)
        process = subprocess.Popen([COMMAND, "transcode", clip, folder / "out.mkv", "--preset", "placebo"], stderr=subprocess.PIPE)
        for _ in range(600):
            if any(name.endswith(".part") for name in os.listdir(folder)):
                return process
            time.sleep(0.05)
        raise AssertionError("it did not begin")

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_signals_leave_nothing(self, tmp_path, number):
        process = self.start(tmp_path)
        process.send_signal(number)
        process.communicate(timeout=120)
        assert process.returncode != 0 and leftovers(tmp_path, "in.mkv") == []

    def test_a_killed_process_is_cleaned_up_after_by_the_next(self, tmp_path):
        first = self.start(tmp_path)
        first.kill()
        first.communicate(timeout=120)
        assert len(leftovers(tmp_path, "in.mkv")) == 1
        succeed("transcode", tmp_path / "in.mkv", tmp_path / "short.mkv", "--end", "0.1", "--preset", "ultrafast")
        assert leftovers(tmp_path, "in.mkv", "short.mkv") == []

    def test_a_bound_on_files_leaves_nothing(self, tmp_path):
        clip = tmp_path / "in.mkv"
        ffmpeg(*pictures(seconds=1), "-c:v", "libx264", clip)
        command = f"ulimit -f 8; exec {COMMAND} transcode {clip} {tmp_path}/out.mkv -c:v ffv1"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode != 0 and "write" in done.stderr and leftovers(tmp_path, "in.mkv") == []
