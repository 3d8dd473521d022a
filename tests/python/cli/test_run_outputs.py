"""lanner run: outputs of annotated images and clips."""

import json
import os
import shutil
import subprocess
import threading

import numpy as np
import pytest

from command import COMMAND, SECONDS, color_classifier, lanner, leftovers, make_clip, make_ppm, make_y4m, refuse, succeed, without_notes
from run_support import pictures, piped, rows, run, video  # noqa: F401


class TestClipsOut:
    @pytest.mark.parametrize(
        ("name", "codec"),
        [("a.mp4", "h264"), ("a.mkv", "h264"), ("a.mov", "h264"), ("a.webm", "vp9"), ("a.avi", "mpeg4"), ("a.ts", "h264"), ("a.flv", "h264"), ("a.y4m", "rawvideo")],
    )
    def test_container_decides_the_codec(self, run, tmp_path, name, codec):
        clip = make_clip(tmp_path, "in.mkv", frames=6, rate=10)
        succeed(*run, "-i", clip, "-o", tmp_path / name, "-q")
        stream = video(tmp_path / name)
        assert (stream["codec"], stream["width"], stream["height"], stream["frames"]["count"]) == (codec, 64, 48, 6)
        times = [row["pts"] for row in rows(succeed(*run, "-i", tmp_path / name, "--json", "-"))]
        assert np.diff(times) == pytest.approx([0.1] * 5, abs=2e-3)

    @pytest.mark.parametrize(("name", "size"), [("a.mp4", (62, 46)), ("a.webm", (62, 46)), ("a.avi", (62, 46)), ("a.y4m", (61, 45))])
    def test_odd_sizes_are_padded_where_they_must_be(self, run, tmp_path, name, size):
        clip = make_clip(tmp_path, "odd.mkv", frames=3, width=61, height=45)
        result = lanner(*run, "-i", clip, "-o", tmp_path / name, "-q")
        assert result.returncode == 0
        padded = f"lanner: -o {tmp_path / name}: 61x45 was padded to 62x46: 4:2:0 needs even sizes\n"
        assert without_notes(result.stderr) == (padded if size == (62, 46) else "")
        stream = video(tmp_path / name)
        assert (stream["width"], stream["height"], stream["frames"]["count"]) == (*size, 3)
        if name == "a.mp4":
            assert stream["pixel_format"] == "yuv420p"
            succeed("decode", tmp_path / name, "--frames", "0", "--format", "rgb24", "-o", tmp_path / "a.rgb")
            pixels = np.fromfile(tmp_path / "a.rgb", np.uint8).reshape(46, 62, 3).astype(int)
            assert np.abs(pixels[-1] - pixels[-2]).max() < 24 and np.abs(pixels[:, -1] - pixels[:, -2]).max() < 24

    def test_clip_with_changing_size_keeps_the_first(self, run, tmp_path):
        parts = [make_clip(tmp_path, f"{n}.ts", frames=4, width=64 * n, height=48 * n) for n in (1, 2)]
        joined = tmp_path / "joined.ts"
        joined.write_bytes(b"".join(part.read_bytes() for part in parts))
        result = lanner(*run, "-i", joined, "-o", tmp_path / "out.mkv", "--json", tmp_path / "a.jsonl")
        assert result.returncode == 0
        notes = [line for line in result.stderr.splitlines() if "size changes" in line]
        assert len(notes) == 1 and notes[0].startswith(f"lanner: note: -o {tmp_path / 'out.mkv'}: frame 4 (")
        assert notes[0].endswith("the size changes to 128x96; it is scaled to 64x48")
        assert [row["width"] for row in rows((tmp_path / "a.jsonl").read_text())] == [64] * 4 + [128] * 4
        stream = video(tmp_path / "out.mkv")
        assert (stream["width"], stream["height"], stream["frames"]["count"]) == (64, 48, 8)

    def test_a_clip_whose_size_changes_begins_another_file(self, run, tmp_path):
        parts = [make_clip(tmp_path, f"{n}.ts", frames=4, width=64 * n, height=48 * n) for n in (1, 2)]
        joined = tmp_path / "joined.ts"
        joined.write_bytes(b"".join(part.read_bytes() for part in parts))
        succeed(*run, "-i", joined, "-o", tmp_path / "out.mkv", "-q", "--on-size-change", "segment")
        sizes = [(stream["width"], stream["frames"]["count"]) for stream in map(video, (tmp_path / "out.mkv", tmp_path / "out_2.mkv"))]
        assert sizes == [(64, 4), (128, 4)]

    @pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")
    @pytest.mark.parametrize(("options", "kinds"), [([], ["video", "audio"]), (["--no-audio"], ["video"]), (["--start", "0.2"], ["video", "audio"])])
    def test_audio_is_copied(self, run, tmp_path, options, kinds):
        clip = tmp_path / "in.mp4"
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=s=64x48:d=0.4", "-f", "lavfi", "-i", "sine=d=0.4", clip], check=True)
        succeed(*run, "-i", clip, "-o", tmp_path / "out.mp4", "-q", *options)
        found = json.loads(succeed("probe", tmp_path / "out.mp4", "--json"))
        assert [stream["kind"] for stream in found["streams"]] == kinds

    @pytest.mark.parametrize(("options", "format_name"), [([], "matroska"), (["-f", "ts"], "mpegts"), (["--format", "webm"], "webm"), (["-f", "mp4"], "mp4"), (["-f", "y4m"], "yuv4mpegpipe")])
    def test_standard_output(self, run, tmp_path, options, format_name):
        clip = make_clip(tmp_path, frames=5)
        out, said = piped(run, None, "-i", clip, "-o", "-", *options)
        assert said == ""
        (tmp_path / "out").write_bytes(out)
        found = json.loads(succeed("probe", tmp_path / "out", "--json"))
        assert format_name in found["format"]
        assert found["streams"][0]["frames"]["count"] == 5

    def test_pipe_input_and_pipe_output(self, run, tmp_path):
        clip = make_clip(tmp_path, "clip.mkv", frames=5)
        out, _ = piped(run, clip.read_bytes(), "-i", "-", "-o", "-", "--json", tmp_path / "a.jsonl")
        again, _ = piped(run, out, "-i", "-", "--json", "-")
        assert len(rows(again)) == len(rows((tmp_path / "a.jsonl").read_text())) == 5

    def test_named_pipe_and_device_outputs(self, run, tmp_path):
        clip, pipe = make_clip(tmp_path, frames=5), tmp_path / "pipe"
        os.mkfifo(pipe)
        read = []
        thread = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
        thread.start()
        succeed(*run, "-i", clip, "-o", pipe, "-f", "ts", "-q")
        thread.join(SECONDS)
        assert read[0][:1] == b"G" and len(read[0]) % 188 == 0
        succeed(*run, "-i", clip, "-o", "/dev/null", "-q")

    def test_format_option_overrides_the_extension(self, run, tmp_path):
        clip = make_clip(tmp_path, frames=5)
        succeed(*run, "-i", clip, "-o", tmp_path / "out.bin", "-f", "mkv", "-q")
        assert "matroska" in json.loads(succeed("probe", tmp_path / "out.bin", "--json"))["format"]

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["-o", "-", "--json", "-"], "would both write to standard output"),
            (["-o", "x.mp4", "-f", "avif"], "--format 'avif': expected mp4, mkv"),
            (["-f", "mkv"], "give -o"),
            (["-o", "-", "-f", "png"], "is a clip"),
            (["-o", "x.png"], "marked_%05d.png"),
            (["-o", "x.unknown"], "no container for extension"),
        ],
    )
    def test_invalid_outputs_are_refused(self, run, tmp_path, options, said):
        clip = make_clip(tmp_path, frames=2)
        assert said in refuse(*run, "-i", clip, *options, cwd=tmp_path)
        assert leftovers(tmp_path) == ["clip.mp4"]


class TestPicturesOut:
    def test_numbered_images_of_frames(self, run, tmp_path):
        clip = make_clip(tmp_path, frames=7)
        succeed(*run, "-i", clip, "--stride", 3, "-o", tmp_path / "f_%03d.png", "-q")
        assert leftovers(tmp_path, "clip.mp4") == ["f_000.png", "f_003.png", "f_006.png"]

    def test_numbered_images_of_pictures(self, run, pictures, tmp_path):
        succeed(*run, "-i", pictures, "-o", tmp_path / "out_%02d.jpg", "-q")
        assert leftovers(tmp_path, "pictures") == ["out_00.jpg", "out_01.jpg", "out_02.jpg"]

    def test_inputs_are_not_overwritten(self, run, tmp_path):
        for n in range(2):
            make_ppm(tmp_path / f"f_{n}.png")
        assert "would overwrite" in refuse(*run, "-i", "f_%d.png", "-o", "f_%d.png", cwd=tmp_path)
        clip = make_clip(tmp_path, frames=2)
        assert "name a folder" in refuse(*run, "-i", tmp_path / "f_0.png", clip, "-o", tmp_path / "x_%d.png")

    def test_names_in_a_folder_do_not_collide(self, run, tmp_path):
        for name in ("a/x.ppm", "b/x.ppm", "b/x_2.ppm", "b/x.pgm"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            make_ppm(tmp_path / name)
        clip = make_clip(tmp_path / "a", "x.mp4", frames=2)
        succeed(*run, "-i", tmp_path / "a" / "x.ppm", *sorted((tmp_path / "b").iterdir()), clip, "-o", f"{tmp_path}/out/", "-q")
        assert leftovers(tmp_path / "out") == ["x.mp4", "x.png", "x_2.png", "x_2_2.png", "x_3.png"]

    @pytest.mark.parametrize(("options", "begin"), [([], b"\x89PNG"), (["-f", "jpg"], b"\xff\xd8\xff")])
    def test_standard_output(self, run, tmp_path, options, begin):
        out, said = piped(run, None, "-i", make_ppm(tmp_path / "p.ppm"), "-o", "-", *options)
        assert out.startswith(begin) and said == ""


class TestStandardOutput:
    @pytest.mark.parametrize("options", [[], ["--json", "-"], ["-o", "-"]])
    def test_closed_reader_ends_the_run_silently(self, run, tmp_path, options):
        clip = make_clip(tmp_path, frames=200)
        process = subprocess.Popen([COMMAND, *map(str, [*run, "-i", clip, *options])], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        assert process.stdout.read(5)
        process.stdout.close()
        assert process.wait() == 141
        timer.cancel()
        assert without_notes(process.stderr.read().decode()) == ""
        assert leftovers(tmp_path) == ["clip.mp4"]

    def test_head_of_the_output_ends_the_run(self, run, tmp_path):
        clip = make_clip(tmp_path, frames=200)
        line = " ".join(f"'{word}'" for word in [COMMAND, *run, "-i", clip])
        result = subprocess.run(["bash", "-c", f"{line} | head -n 2"], capture_output=True, text=True, timeout=SECONDS, check=False)
        assert (result.returncode, without_notes(result.stderr), len(result.stdout.splitlines())) == (0, "", 2)

    def test_json_to_devices(self, run, tmp_path):
        picture = make_ppm(tmp_path / "p.ppm")
        assert succeed(*run, "-i", picture, "--json", "/dev/null").startswith("1 image in ")
        assert rows(succeed(*run, "-i", picture, "--json", "/dev/stdout")) == rows(succeed(*run, "-i", picture, "--json", "-"))

    def test_summary_counts_in_words(self, run, tmp_path):
        picture, clip = make_ppm(tmp_path / "p.ppm"), make_clip(tmp_path, frames=1)
        assert succeed(*run, "-i", picture, "-q").startswith("1 image in ")
        assert succeed(*run, "-i", picture, picture, "-q").startswith("2 images in ")
        assert succeed(*run, "-i", clip, "-q").startswith("1 frame in ")

    def test_answers_are_flushed_frame_by_frame(self, run, tmp_path):
        content = make_y4m(tmp_path / "clip.y4m", frames=60, width=320, height=240).read_bytes()
        process = subprocess.Popen([COMMAND, *map(str, [*run, "-i", "-"])], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        process.stdin.write(content)
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"frame 0 ")
        process.stdin.close()
        assert len(process.stdout.read().splitlines()) == 59
        assert process.wait() == 0
        timer.cancel()


def test_encoder_messages_do_not_mix_with_output(tmp_path):
    clip = make_clip(tmp_path, frames=2)
    assert "no preset 'nonsense'; expected one of ultrafast" in refuse("transcode", clip, tmp_path / "x.mp4", "--preset", "nonsense")
    small = make_clip(tmp_path, "small.mkv", frames=2, width=61, height=45)
    result = lanner("transcode", small, tmp_path / "x.mkv", "-c:v", "av1")
    assert without_notes(result.stderr).count("\n") == (result.returncode != 0)


class TestPicturesInBatches:
    @pytest.mark.parametrize("batch", [2, 3, 16])
    def test_several_inputs_have_the_answers_and_files_of_each_alone(self, run, tmp_path, batch):
        rng = np.random.default_rng(3)
        for n in range(7):
            make_ppm(tmp_path / f"p{n}.ppm", 10 + 3 * n, 20 - n, tuple(int(v) for v in rng.integers(0, 256, 3)))
        alone = succeed(*run, "-i", tmp_path / "p*.ppm", "--json", "-", "-o", f"{tmp_path}/alone/")
        report = tmp_path / "report.html"
        together = succeed(*run, "-i", tmp_path / "p*.ppm", "--json", "-", "-o", f"{tmp_path}/together/", "--batch", batch, "--report", report)
        assert together == alone and together.count("\n") == 7
        for n in range(7):
            assert (tmp_path / "together" / f"p{n}.png").read_bytes() == (tmp_path / "alone" / f"p{n}.png").read_bytes()
        text = succeed(*run, "-i", tmp_path / "p*.ppm", "-q", "--batch", batch)
        assert text.startswith("7 images in ")

    def test_unreadable_input_does_not_affect_the_others(self, run, tmp_path):
        for n in range(4):
            make_ppm(tmp_path / f"p{n}.png")
        (tmp_path / "p1.png").write_bytes((tmp_path / "p1.png").read_bytes()[:40])
        result = lanner(*run, "-i", tmp_path / "p*.png", "--json", "-", "--batch", 3)
        assert result.returncode == 2 and "1 of 4 inputs could not be read" in result.stderr
        assert [row["source"][-6:] for row in rows(result.stdout)] == ["p0.png", "p2.png", "p3.png"]

    def test_a_network_of_fixed_batch_size(self, tmp_path):
        pictures = [make_ppm(tmp_path / f"p{n}.ppm", color=(40 * n, 250 - 40 * n, 90)) for n in range(5)]
        options = ["--range", "0,1", "--budget", "0", "--task", "classify", "--json", "-", "-i", *pictures]
        fixed = rows(succeed("run", color_classifier(tmp_path / "fixed.onnx", batch=3), *options))
        single = rows(succeed("run", color_classifier(tmp_path / "single.onnx", batch=1), *options))
        assert [[entry["class"] for entry in row["top"]] for row in fixed] == [[entry["class"] for entry in row["top"]] for row in single]
        assert [row["top"][0]["probability"] for row in fixed] == pytest.approx([row["top"][0]["probability"] for row in single], abs=1e-6)


class TestTimesOut:
    @pytest.mark.parametrize("name", ["out.avi", "out.mkv"])
    def test_times_of_joined_files_go_on(self, run, tmp_path, name):
        parts = [make_clip(tmp_path, f"{n}.ts", frames=frames) for n, frames in enumerate((20, 10))]
        joined = tmp_path / "joined.ts"
        joined.write_bytes(b"".join(part.read_bytes() for part in parts))
        succeed(*run, "-i", joined, "-o", tmp_path / name, "-q")
        np.testing.assert_allclose(np.diff(times_of(tmp_path / name)), 1 / 25, atol=1.1e-3)
        assert len(times_of(tmp_path / name)) == 30

    def test_clip_with_fewer_frames_is_evenly_spaced_in_avi(self, run, tmp_path):
        clip = make_clip(tmp_path, frames=30)
        succeed(*run, "-i", clip, "-o", tmp_path / "thin.avi", "--stride", 3, "--start", "0.4", "-q")
        times = times_of(tmp_path / "thin.avi")
        assert len(times) == 7
        np.testing.assert_allclose(np.diff(times), 3 / 25, atol=1e-3)
        assert video(tmp_path / "thin.avi")["fps"] == pytest.approx(25 / 3, abs=0.01)


def times_of(path):
    found = next(stream for stream in json.loads(succeed("probe", path, "--exact", "--json"))["streams"] if stream["kind"] == "video")
    num, den = found["frames"]["time_base"]
    return [pts * num / den for pts in found["frames"]["pts"]]
