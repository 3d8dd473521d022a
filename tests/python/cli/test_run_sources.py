"""lanner run: sources of images and clips."""

import contextlib
import os
import signal
import subprocess
import threading

import numpy as np
import pytest

from command import COMMAND, SECONDS, lanner, leftovers, make_clip, make_ppm, make_y4m, refuse, succeed, without_notes
from run_support import COLORS, fed, named, needs_ffmpeg, numbers, pictures, piped, rows, run  # noqa: F401


class TestNames:
    def test_folder_is_read_in_natural_order(self, run, pictures):
        assert named(run, "-i", pictures) == ["p1.ppm", "p2.ppm", "p10.ppm"]

    def test_other_files_of_a_folder_are_counted(self, run, pictures):
        (pictures / "notes.txt").write_text("Good pictures")
        (pictures / "more.md").write_text("BMW")
        make_clip(pictures, "clip.mp4", frames=2)
        result = lanner(*run, "-i", pictures, "--json", "-")
        assert result.returncode == 0
        assert without_notes(result.stderr) == f"lanner: {pictures}: 2 files were skipped, neither image nor clip\n"
        assert [(row["source"].rsplit("/", 1)[-1], row["frame"]) for row in rows(result.stdout)][:2] == [("clip.mp4", 0), ("clip.mp4", 1)]

    def test_folder_without_images_is_an_error(self, run, tmp_path):
        empty, other = tmp_path / "empty", tmp_path / "other"
        empty.mkdir()
        other.mkdir()
        (other / "notes").write_text("none")
        assert "the folder has no files" in refuse(*run, "-i", empty)
        assert "no image and no clip among 1 file" in refuse(*run, "-i", other)

    @pytest.mark.parametrize(
        ("pattern", "expected"),
        [
            ("p*.ppm", ["p1.ppm", "p2.ppm", "p10.ppm"]),
            ("p?.ppm", ["p1.ppm", "p2.ppm"]),
            ("[p]1.*", ["p1.ppm"]),
            ("*/*.ppm", ["q.ppm"]),
            ("**/*.ppm", ["r.ppm", "q.ppm", "p1.ppm", "p2.ppm", "p10.ppm"]),
            ("deep/**", ["r.ppm", "q.ppm"]),
            (".h*", [".hidden.ppm"]),
            ("p%d.ppm", ["p1.ppm", "p2.ppm", "p10.ppm"]),
            ("p%02d.ppm", ["p10.ppm"]),
        ],
    )
    def test_patterns_match_in_natural_order(self, run, pictures, pattern, expected):
        assert named(run, "-i", f"{pictures}/{pattern}") == expected
        assert named(run, "-i", pattern, cwd=pictures) == expected

    def test_pattern_without_matches_is_an_error(self, run, pictures):
        assert "no file has such a name" in refuse(*run, "-i", f"{pictures}/*.jpg")
        assert "no file has such a name" in refuse(*run, "-i", f"{pictures}/x_%03d.ppm")

    def test_file_named_like_a_pattern_is_read(self, run, pictures):
        make_ppm(pictures / "p[1].ppm")
        assert named(run, "-i", pictures / "p[1].ppm") == ["p[1].ppm"]

    @pytest.mark.parametrize("name", ["list.txt", "LIST.TXT", "@names"])
    def test_lists_of_paths_are_read(self, run, pictures, name):
        listed = pictures / name.removeprefix("@")
        listed.write_bytes(b"\xef\xbb\xbf# pictures\n\np2.ppm\r\n  deep/q.ppm  \n" + f"{pictures}/p1.ppm\ndeep/er/*.ppm".encode())
        argument = f"@{listed}" if name.startswith("@") else listed
        assert named(run, "-i", argument) == ["p2.ppm", "q.ppm", "p1.ppm", "r.ppm"]

    @pytest.mark.parametrize(
        ("content", "said"),
        [(b"", "the list is empty"), (b"a\0b\n", "binary data"), (b"p1.ppm\nnone*.ppm\n", "list.txt:2:"), (b"-\n", "standard input"), (b"other.txt\n", "a list inside a list")],
    )
    def test_malformed_lists_are_refused(self, run, pictures, content, said):
        (pictures / "list.txt").write_bytes(content)
        (pictures / "other.txt").write_text("p1.ppm\n")
        assert said in refuse(*run, "-i", "list.txt", cwd=pictures)

    def test_missing_list_is_an_error(self, run):
        assert "-i @nowhere: no such list" in refuse(*run, "-i", "@nowhere")

    @pytest.mark.parametrize(
        ("address", "said"),
        [
            ("rtsp://camera/1", "ffmpeg -loglevel error -rtsp_transport tcp -i 'rtsp://camera/1' -c copy -an -f matroska - | lanner run "),
            ("https://host/a?b='c'", "-i 'https://host/a?b='\\''c'\\''' -c copy"),
            ("0", "-f v4l2 -i /dev/video0"),
            ("file:///tmp/a.mp4", "give only the path: /tmp/a.mp4"),
        ],
    )
    def test_network_sources_get_a_remedy(self, run, tmp_path, address, said):
        assert said in refuse(*run, "-i", address, cwd=tmp_path)


class TestWhatCannotBeRead:
    def test_unreadable_inputs_set_the_exit_code(self, run, tmp_path):
        picture, noise = make_ppm(tmp_path / "p.ppm"), tmp_path / "noise.jpg"
        clip, cut = make_clip(tmp_path, frames=3), tmp_path / "cut.mp4"
        noise.write_bytes(b"noise")
        cut.write_bytes(clip.read_bytes()[:600])
        out = tmp_path / "out"
        result = lanner(*run, "-i", noise, picture, tmp_path / "missing.png", cut, clip, "--json", tmp_path / "a.jsonl", "-o", f"{out}/")
        assert result.returncode == 2
        lines = without_notes(result.stderr).splitlines()
        assert len(lines) == 4
        for line, name in zip(lines, ("missing.png", "noise.jpg", "cut.mp4"), strict=False):
            assert line.startswith("lanner: ") and name in line
        assert lines[-1] == "lanner: run: 3 of 5 inputs could not be read"
        assert [row["source"].rsplit("/", 1)[-1] for row in rows((tmp_path / "a.jsonl").read_text())] == ["p.ppm", *["clip.mp4"] * 3]
        assert leftovers(out) == ["clip.mp4", "p.png"]

    def test_only_input_unreadable_is_an_error(self, run, tmp_path):
        assert "missing.png" in refuse(*run, "-i", tmp_path / "missing.png", "--json", tmp_path / "a.jsonl")
        assert leftovers(tmp_path) == []

    def test_no_input_readable_is_an_error(self, run, tmp_path):
        result = lanner(*run, "-i", tmp_path / "a.png", tmp_path / "b.png", "--json", tmp_path / "a.jsonl")
        assert result.returncode == 2
        assert result.stderr.endswith("run: none of 2 inputs could be read\n")
        assert leftovers(tmp_path) == []

    def test_unwritable_output_ends_the_run(self, run, tmp_path):
        clips = [make_clip(tmp_path, f"{n}.mp4", frames=2) for n in range(2)]
        (tmp_path / "out" / "0.mp4").mkdir(parents=True)
        result = lanner(*run, "-i", *clips, "-o", tmp_path / "out", "-q")
        assert result.returncode == 2 and "0.mp4: is a folder" in result.stderr
        assert leftovers(tmp_path / "out") == ["0.mp4"]


@pytest.fixture(scope="module")
def long_clip(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("clip"), frames=30, rate=10)


class TestRanges:
    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            (["--frames", 4], [0, 1, 2, 3]),
            (["--frames", 99], list(range(30))),
            (["--start", 1], list(range(10, 30))),
            (["--start", "0:01.05", "--end", "1.5s"], [11, 12, 13, 14]),
            (["--end", "500ms"], [0, 1, 2, 3, 4]),
            (["--stride", 9], [0, 9, 18, 27]),
            (["--stride", 20], [0, 20]),
            (["--fps", 2], [0, 5, 10, 15, 20, 25]),
            (["--fps", "0.5"], [0, 20]),
            (["--fps", 4], [0, 3, 5, 8, 10, 13, 15, 18, 20, 23, 25, 28]),
            (["--fps", "1000/1"], list(range(30))),
            (["--start", 2, "--stride", 4, "--frames", 2], [20, 24]),
            (["--start", 1, "--fps", "5", "--end", 2], [10, 12, 14, 16, 18]),
        ],
    )
    @pytest.mark.parametrize("source", ["file", "pipe"])
    def test_start_end_fps_and_stride_select_frames(self, run, long_clip, tmp_path, options, expected, source):
        if source == "file":
            assert numbers(run, "-i", long_clip, *options) == expected
            return
        container = tmp_path / "clip.mkv"
        succeed("transcode", long_clip, container)
        answers, _ = piped(run, container.read_bytes(), "-i", "-", "--json", "-", *options)
        assert [row["frame"] for row in rows(answers)] == expected

    def test_long_skips_give_the_same_frames_as_decoding(self, run, tmp_path):
        clip = make_clip(tmp_path, frames=600, rate=25, width=32, height=32)
        whole = {row["frame"]: row for row in rows(succeed(*run, "-i", clip, "--json", "-"))}
        for options, expected in ((["--start", 20], range(500, 600)), (["--stride", 50], range(0, 600, 50)), (["--start", 12, "--fps", 1], range(300, 600, 25))):
            assert rows(succeed(*run, "-i", clip, "--json", "-", *options)) == [whole[n] for n in expected]

    def test_output_of_a_range_begins_at_zero(self, run, long_clip, tmp_path):
        succeed(*run, "-i", long_clip, "--start", 1, "--stride", 2, "-o", tmp_path / "part.mkv", "-q")
        succeed(*run, "-i", long_clip, "--stride", 2, "-o", tmp_path / "thin.mkv", "-q")
        assert [row["pts"] for row in rows(succeed(*run, "-i", tmp_path / "part.mkv", "--json", "-"))] == pytest.approx([n / 5 for n in range(10)])
        assert [row["pts"] for row in rows(succeed(*run, "-i", tmp_path / "thin.mkv", "--json", "-"))] == pytest.approx([n / 5 for n in range(15)])

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--start", 9], "no frame is between --start and --end"),
            (["--start", 2, "--end", 1], "--end 1: is not after the start (2)"),
            (["--start", "1:75"], "--start '1:75': expected a time"),
            (["--end", "soon"], "--end 'soon': expected a time"),
            (["--fps", "fast"], "--fps 'fast'"),
            (["--fps", "-1"], "--fps '-1'"),
            (["--fps", 2, "--stride", 2], "give one"),
            (["--stride", 0], "--stride"),
            (["--frames", 0], "--frames"),
        ],
    )
    def test_invalid_ranges_are_refused(self, run, long_clip, options, said):
        assert said in refuse(*run, "-i", long_clip, *options)

    def test_ranges_are_refused_for_images(self, run, tmp_path):
        assert "are for clips" in refuse(*run, "-i", make_ppm(tmp_path / "p.ppm"), "--stride", 2)


class TestPipes:
    @pytest.mark.parametrize("kind", ["mkv", "ts", "mp4", "y4m"])
    def test_clips_from_standard_input(self, run, tmp_path, kind):
        clip = make_y4m(tmp_path / "clip.y4m") if kind == "y4m" else make_clip(tmp_path, f"clip.{kind}", frames=12)
        answers, _ = piped(run, clip.read_bytes(), "-i", "-", "--json", "-")
        expected = rows(succeed(*run, "-i", clip, "--json", "-"))
        assert rows(answers.decode()) == [row | {"source": "stdin"} for row in expected]

    def test_a_file_as_standard_input_is_a_file(self, run, tmp_path):
        clip = make_clip(tmp_path, frames=30, rate=10)
        with open(clip, "rb") as file:
            assert "frame 20  " in succeed(*run, "-i", "-", "--stride", "20", stdin=file)

    @needs_ffmpeg
    def test_mp4_with_tables_at_the_end_is_explained(self, run, tmp_path):
        source = tmp_path / "source.mkv"
        noise = np.random.default_rng(1)
        with open(tmp_path / "noise.y4m", "wb") as file:
            file.write(b"YUV4MPEG2 W320 H240 F10:1 Ip A1:1 C420jpeg\n")
            for _ in range(10):
                file.write(b"FRAME\n" + noise.bytes(320 * 240 * 3 // 2))
        succeed("transcode", tmp_path / "noise.y4m", source)
        subprocess.run(["ffmpeg", "-v", "error", "-i", source, "-c", "copy", tmp_path / "late.mp4"], check=True, timeout=SECONDS)
        _, said = piped(run, (tmp_path / "late.mp4").read_bytes(), "-i", "-", code=2)
        assert "moov" in said and "-movflags +faststart" in said and "Matroska" in said

    def test_picture_from_standard_input(self, run, tmp_path):
        content = make_ppm(tmp_path / "p.ppm", color=COLORS["blue"]).read_bytes()
        answers, _ = piped(run, content, "-i", "-")
        assert answers.split()[:1] == [b"stdin"] and answers.split()[2] == b"blue"
        piped(run, content, "-i", "-", "-o", tmp_path / "marked.png")
        assert leftovers(tmp_path) == ["marked.png", "p.ppm"]
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        fed(pipe, content)
        assert "blue" in succeed(*run, "-i", pipe)

    @needs_ffmpeg
    def test_several_pictures_in_a_pipe_are_a_clip(self, run, tmp_path):
        for color, name in COLORS.items():
            make_ppm(tmp_path / f"{color}.ppm", 64, 64, name)
            subprocess.run(["ffmpeg", "-loglevel", "error", "-i", tmp_path / f"{color}.ppm", "-q:v", "2", tmp_path / f"{color}.jpg"], check=True)
        content = b"".join((tmp_path / f"{color}.jpg").read_bytes() for color in COLORS)
        answers, _ = piped(run, content, "-i", "-", "--json", "-")
        assert [row["top"][0]["label"] for row in rows(answers)] == list(COLORS)

    @pytest.mark.parametrize(("content", "said"), [(b"", "stdin"), (b"noise" * 100, "stdin"), (b"\x89PNG\r\n\x1a\n" + bytes(99), "stdin")])
    def test_unknown_content_of_a_pipe_is_an_error(self, run, content, said):
        assert said in piped(run, content, "-i", "-", code=2)[1]

    def test_unusable_standard_input_is_an_error(self, run):
        assert "neither a file nor a pipe" in refuse(*run, "-i", "-", stdin=subprocess.DEVNULL)
        assert "named twice" in piped(run, b"", "-i", "-", "/dev/stdin", code=2)[1]

    def test_idle_pipe_is_reported_and_ends_with_ctrl_c(self, run, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        process = subprocess.Popen([COMMAND, *map(str, [*run, "-i", pipe])], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        assert "waiting for the first bytes of the pipe" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.communicate() == ("", "lanner: interrupted\n")
        assert process.returncode == 130
        timer.cancel()

    def test_ctrl_c_ends_a_read_from_a_stalled_writer(self, run, tmp_path):
        content = make_y4m(tmp_path / "clip.y4m", frames=100).read_bytes()
        process = subprocess.Popen([COMMAND, *map(str, [*run, "-i", "-"])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        process.stdin.write(content)
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"frame 0 ")  # Reported before the pipe ends.
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert without_notes(process.stderr.read().decode()) == "lanner: interrupted\n"
        timer.cancel()

    def test_end_of_range_does_not_wait_for_the_writer(self, run, tmp_path):
        content = make_y4m(tmp_path / "clip.y4m", frames=100).read_bytes()
        process = subprocess.Popen([COMMAND, *map(str, [*run, "-i", "-", "--frames", 2])], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(content)
            process.stdin.flush()
        assert process.wait() == 0  # The pipe is still open.
        timer.cancel()
        assert [line.split()[1] for line in process.stdout.read().splitlines()] == [b"0", b"1"]


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["--conf", "0.4"], "did you mean --score-threshold?"),
        (["--iou=0.4"], "did you mean --iou-threshold?"),
        (["--source", "x"], "did you mean -i?"),
        (["--half"], "did you mean --precision fp16?"),
        (["--fp16"], "did you mean --precision fp16?"),
        (["--imgsz", "640"], "did you mean --size WIDTHxHEIGHT?"),
        (["--vid-stride", "2"], "did you mean --stride?"),
        (["--vid_stride", "2"], "did you mean --stride?"),
        (["-ss", "3"], "did you mean --start?"),
        (["-frames:v", "3"], "did you mean --frames?"),
        (["-loglevel", "quiet"], "-q leaves the answers out"),
        (["--model", "x.onnx"], "lanner run MODEL"),
        (["-y"], "leave it out"),
    ],
)
def test_options_of_other_programs_suggest_ours(run, tmp_path, arguments, meant):
    said = refuse(*run, "-i", tmp_path / "clip.mp4", *arguments)
    assert meant in said and arguments[0].split("=")[0].lstrip("-") in said
