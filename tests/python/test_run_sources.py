"""lanner run: where pictures and clips come from, and where marked ones go."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading

import numpy as np
import pytest

from command import COMMAND, LABELS, SECONDS, color_classifier, lanner, leftovers, make_clip, make_ppm, make_y4m, refuse, succeed, without_notes

QUICK = ["--budget", "0", "--threads", "1", "--range", "0,1", "--size", "8x8"]
COLORS = {"red": (250, 0, 0), "green": (0, 250, 0), "blue": (0, 0, 250)}
needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg command here")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "labels.txt").write_text(LABELS)
    return ["run", color_classifier(folder / "model.onnx"), "--labels", folder / "labels.txt", *QUICK]


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def named(run, *arguments, **options):
    """Names of what was answered, without their folders, each once, in order."""
    found = rows(succeed(*run, "--json", "-", *arguments, **options))
    return list(dict.fromkeys(row["source"].rsplit("/", 1)[-1] for row in found))


def numbers(run, *arguments):
    return [row["frame"] for row in rows(succeed(*run, "--json", "-", *arguments))]


def video(path):
    (stream,) = json.loads(succeed("probe", path, "--json"))["streams"]
    return stream


def piped(run, content, *arguments, code=0):
    """With `content` coming through a pipe; bytes of stdout, and stderr."""
    result = subprocess.run([COMMAND, *map(str, [*run, *arguments])], input=content, capture_output=True, timeout=SECONDS, check=False)
    assert result.returncode == code, result.stderr.decode()
    return result.stdout, without_notes(result.stderr.decode())


def fed(pipe, content):
    """Writes into a named pipe from a thread; what is not read is given up."""

    def write():
        with contextlib.suppress(BrokenPipeError):
            pipe.write_bytes(content)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    (folder / "deep" / "er").mkdir(parents=True)
    for name in ("p1.ppm", "p10.ppm", "p2.ppm", "deep/q.ppm", "deep/er/r.ppm", ".hidden.ppm"):
        make_ppm(folder / name)
    return folder


class TestNames:
    def test_a_folder_in_natural_order(self, run, pictures):
        assert named(run, "-i", pictures) == ["p1.ppm", "p2.ppm", "p10.ppm"]

    def test_what_is_no_picture_and_no_clip_is_counted(self, run, pictures):
        (pictures / "notes.txt").write_text("Good pictures")
        (pictures / "more.md").write_text("BMW")
        make_clip(pictures, "clip.mp4", frames=2)
        result = lanner(*run, "-i", pictures, "--json", "-")
        assert result.returncode == 0
        assert without_notes(result.stderr) == f"lanner: {pictures}: 2 files were skipped, neither image nor clip\n"
        assert [(row["source"].rsplit("/", 1)[-1], row["frame"]) for row in rows(result.stdout)][:2] == [("clip.mp4", 0), ("clip.mp4", 1)]

    def test_a_folder_without_any(self, run, tmp_path):
        empty, other = tmp_path / "empty", tmp_path / "other"
        empty.mkdir()
        other.mkdir()
        (other / "notes").write_text("none")
        assert "no file in the folder" in refuse(*run, "-i", empty)
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
    def test_patterns(self, run, pictures, pattern, expected):
        assert named(run, "-i", f"{pictures}/{pattern}") == expected
        assert named(run, "-i", pattern, cwd=pictures) == expected

    def test_a_pattern_that_matches_nothing(self, run, pictures):
        assert "no file has such a name" in refuse(*run, "-i", f"{pictures}/*.jpg")
        assert "no file has such a name" in refuse(*run, "-i", f"{pictures}/x_%03d.ppm")

    def test_a_file_with_the_characters_of_a_pattern(self, run, pictures):
        make_ppm(pictures / "p[1].ppm")
        assert named(run, "-i", pictures / "p[1].ppm") == ["p[1].ppm"]

    @pytest.mark.parametrize("name", ["list.txt", "LIST.TXT", "@names"])
    def test_lists(self, run, pictures, name):
        listed = pictures / name.removeprefix("@")
        listed.write_bytes(b"\xef\xbb\xbf# pictures\n\np2.ppm\r\n  deep/q.ppm  \n" + f"{pictures}/p1.ppm\ndeep/er/*.ppm".encode())
        argument = f"@{listed}" if name.startswith("@") else listed
        assert named(run, "-i", argument) == ["p2.ppm", "q.ppm", "p1.ppm", "r.ppm"]

    @pytest.mark.parametrize(
        ("content", "said"),
        [(b"", "got no line"), (b"a\0b\n", "binary data"), (b"p1.ppm\nnone*.ppm\n", "list.txt:2:"), (b"-\n", "standard input"), (b"other.txt\n", "a list in a list")],
    )
    def test_lists_that_are_none(self, run, pictures, content, said):
        (pictures / "list.txt").write_bytes(content)
        (pictures / "other.txt").write_text("p1.ppm\n")
        assert said in refuse(*run, "-i", "list.txt", cwd=pictures)

    def test_a_list_that_is_not_there(self, run):
        assert "there is no such list" in refuse(*run, "-i", "@nowhere")

    @pytest.mark.parametrize(
        ("address", "said"),
        [
            ("rtsp://camera/1", "ffmpeg -loglevel error -rtsp_transport tcp -i 'rtsp://camera/1' -c copy -an -f matroska - | lanner run "),
            ("https://host/a?b='c'", "-i 'https://host/a?b='\\''c'\\''' -c copy"),
            ("0", "-f v4l2 -i /dev/video0"),
            ("file:///tmp/a.mp4", "give the path alone: /tmp/a.mp4"),
        ],
    )
    def test_live_sources_say_what_to_do(self, run, tmp_path, address, said):
        assert said in refuse(*run, "-i", address, cwd=tmp_path)


class TestWhatCannotBeRead:
    def test_others_are_run_and_the_code_tells(self, run, tmp_path):
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

    def test_the_only_one_is_an_error_at_once(self, run, tmp_path):
        assert "missing.png" in refuse(*run, "-i", tmp_path / "missing.png", "--json", tmp_path / "a.jsonl")
        assert leftovers(tmp_path) == []

    def test_none_of_several(self, run, tmp_path):
        result = lanner(*run, "-i", tmp_path / "a.png", tmp_path / "b.png", "--json", tmp_path / "a.jsonl")
        assert result.returncode == 2
        assert result.stderr.endswith("run: none of 2 inputs could be read\n")
        assert leftovers(tmp_path) == []

    def test_an_output_that_cannot_be_written_ends_all(self, run, tmp_path):
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
    def test_frames(self, run, long_clip, tmp_path, options, expected, source):
        if source == "file":
            assert numbers(run, "-i", long_clip, *options) == expected
            return
        container = tmp_path / "clip.mkv"
        succeed("transcode", long_clip, container)
        answers, _ = piped(run, container.read_bytes(), "-i", "-", "--json", "-", *options)
        assert [row["frame"] for row in rows(answers)] == expected

    def test_long_skips_give_the_same_frames(self, run, tmp_path):
        clip = make_clip(tmp_path, frames=600, rate=25, width=32, height=32)
        whole = {row["frame"]: row for row in rows(succeed(*run, "-i", clip, "--json", "-"))}
        for options, expected in ((["--start", 20], range(500, 600)), (["--stride", 50], range(0, 600, 50)), (["--start", 12, "--fps", 1], range(300, 600, 25))):
            assert rows(succeed(*run, "-i", clip, "--json", "-", *options)) == [whole[n] for n in expected]

    def test_a_part_begins_at_zero(self, run, long_clip, tmp_path):
        succeed(*run, "-i", long_clip, "--start", 1, "--stride", 2, "-o", tmp_path / "part.mkv", "-q")
        succeed(*run, "-i", long_clip, "--stride", 2, "-o", tmp_path / "thin.mkv", "-q")
        assert [row["pts"] for row in rows(succeed(*run, "-i", tmp_path / "part.mkv", "--json", "-"))] == pytest.approx([n / 5 for n in range(10)])
        assert [row["pts"] for row in rows(succeed(*run, "-i", tmp_path / "thin.mkv", "--json", "-"))] == pytest.approx([n / 5 for n in range(15)])

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--start", 9], "no frame lies between --start and --end"),
            (["--start", 2, "--end", 1], "--end 1: is not behind the start (2)"),
            (["--start", "1:75"], "--start '1:75': expected a time"),
            (["--end", "soon"], "--end 'soon': expected a time"),
            (["--fps", "fast"], "--fps 'fast'"),
            (["--fps", "-1"], "--fps '-1'"),
            (["--fps", 2, "--stride", 2], "give one"),
            (["--stride", 0], "--stride"),
            (["--frames", 0], "--frames"),
        ],
    )
    def test_what_makes_no_sense(self, run, long_clip, options, said):
        assert said in refuse(*run, "-i", long_clip, *options)

    def test_they_are_for_clips(self, run, tmp_path):
        assert "are for clips" in refuse(*run, "-i", make_ppm(tmp_path / "p.ppm"), "--stride", 2)


class TestPipes:
    @pytest.mark.parametrize("kind", ["mkv", "ts", "mp4", "y4m"])
    def test_clips_through_standard_input(self, run, tmp_path, kind):
        clip = make_y4m(tmp_path / "clip.y4m") if kind == "y4m" else make_clip(tmp_path, f"clip.{kind}", frames=12)
        answers, _ = piped(run, clip.read_bytes(), "-i", "-", "--json", "-")
        expected = rows(succeed(*run, "-i", clip, "--json", "-"))
        assert rows(answers.decode()) == [row | {"source": "stdin"} for row in expected]

    def test_a_file_as_standard_input_is_a_file(self, run, tmp_path):
        clip = make_clip(tmp_path, frames=30, rate=10)
        with open(clip, "rb") as file:
            assert "frame 20  " in succeed(*run, "-i", "-", "--stride", "20", stdin=file)

    @needs_ffmpeg
    def test_an_mp4_with_its_tables_at_the_end(self, run, tmp_path):
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

    def test_a_picture(self, run, tmp_path):
        content = make_ppm(tmp_path / "p.ppm", color=COLORS["blue"]).read_bytes()
        answers, _ = piped(run, content, "-i", "-", "-o", tmp_path / "marked.png")
        assert answers.split()[:1] == [b"stdin"] and answers.split()[2] == b"blue"
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
    def test_what_is_neither(self, run, content, said):
        assert said in piped(run, content, "-i", "-", code=2)[1]

    def test_standard_input_that_is_none(self, run):
        assert "neither a file nor a pipe" in refuse(*run, "-i", "-", stdin=subprocess.DEVNULL)
        assert "named twice" in piped(run, b"", "-i", "-", "/dev/stdin", code=2)[1]

    def test_a_pipe_that_nobody_writes_into_is_told_and_ends_with_ctrl_c(self, run, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        process = subprocess.Popen([COMMAND, *map(str, [*run, "-i", pipe])], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        assert "nothing has come through the pipe yet" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.communicate() == ("", "lanner: interrupted\n")
        assert process.returncode == 130
        timer.cancel()

    def test_ctrl_c_ends_a_read_from_a_writer_who_says_no_more(self, run, tmp_path):
        content = make_y4m(tmp_path / "clip.y4m", frames=100).read_bytes()
        process = subprocess.Popen([COMMAND, *map(str, [*run, "-i", "-"])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        process.stdin.write(content)
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"frame 0 ")  # Told before the pipe ends.
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert without_notes(process.stderr.read().decode()) == "lanner: interrupted\n"
        timer.cancel()

    def test_a_range_that_ends_does_not_wait_for_the_writer(self, run, tmp_path):
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


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    return [make_clip(folder, f"{n}.mp4", frames=frames, width=32 + 16 * n, height=32) for n, frames in enumerate((5, 9, 3, 7))]


class TestSeveralClips:
    @pytest.mark.parametrize("options", [["--batch", 2], ["--batch", 4], ["--batch", 16], ["--batch", 3, "--clips-at-once", 1], ["--clips-at-once", 4]])
    def test_answers_are_those_of_each_alone(self, run, clips, tmp_path, options):
        alone = {str(clip): rows(succeed(*run, "-i", clip, "--json", "-")) for clip in clips}
        out = tmp_path / "out"
        together = rows(succeed(*run, "-i", *clips, *options, "--json", "-", "-o", f"{out}/"))
        for clip in clips:
            own = [row for row in together if row["source"] == str(clip)]
            for row, expected in zip(own, alone[str(clip)], strict=True):
                assert {**row, "top": None} == {**expected, "top": None}
                shares, others = ({entry["label"]: entry["probability"] for entry in one["top"]} for one in (row, expected))
                assert shares == pytest.approx(others, abs=1e-5)
            marked = video(out / clip.name)
            assert (marked["width"], marked["frames"]["count"]) == (video(clip)["width"], len(own))

    def test_they_take_turns(self, run, clips):
        found = [(row["source"][-5], row["frame"]) for row in rows(succeed(*run, "-i", *clips[:2], "--batch", 4, "--json", "-"))]
        assert found == [*((str(c), n) for n in range(5) for c in (0, 1)), *(("1", n) for n in range(5, 9))]
        found = [row["source"][-5] for row in rows(succeed(*run, "-i", *clips, "--json", "-"))]
        assert found == [*"0" * 5, *"1" * 9, *"2" * 3, *"3" * 7]

    def test_a_network_of_fixed_batch_size(self, clips, tmp_path):
        model = color_classifier(tmp_path / "model.onnx", batch=4)
        found = rows(succeed("run", model, "--range", "0,1", "--budget", "0", "-i", *clips, "--json", "-"))
        assert sorted((row["source"][-5], row["frame"]) for row in found) == [(str(c), n) for c, frames in enumerate((5, 9, 3, 7)) for n in range(frames)]

    def test_pictures_between_clips_keep_their_place(self, run, clips, tmp_path):
        picture = make_ppm(tmp_path / "p.ppm")
        assert named(run, "-i", clips[0], picture, clips[1], "--batch", 4) == ["0.mp4", "p.ppm", "1.mp4"]

    def test_a_range_is_of_each(self, run, clips):
        found = [(row["source"][-5], row["frame"]) for row in rows(succeed(*run, "-i", *clips, "--batch", 4, "--stride", 2, "--frames", 2, "--json", "-"))]
        assert sorted(found) == [(str(c), n) for c in range(4) for n in (0, 2)]

    def test_one_that_ends_in_damage(self, run, clips, tmp_path):
        whole = tmp_path / "whole.mkv"
        succeed("transcode", make_clip(tmp_path, frames=40, width=320, height=240), whole, "-c:v", "mpeg4", "--gop", "5")
        cut = tmp_path / "cut.mkv"
        cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
        out = tmp_path / "out"
        result = lanner(*run, "-i", clips[0], cut, clips[1], "--batch", 3, "-o", f"{out}/", "-q")
        assert result.returncode == 2
        assert "cut.mkv: ends early" in result.stderr and "1 of 3 inputs" in result.stderr
        assert leftovers(out) == ["0.mp4", "1.mp4"]
        assert video(out / "1.mp4")["frames"]["count"] == 9


class TestClipsOut:
    @pytest.mark.parametrize(
        ("name", "codec"),
        [("a.mp4", "h264"), ("a.mkv", "h264"), ("a.mov", "h264"), ("a.webm", "vp9"), ("a.avi", "mpeg4"), ("a.ts", "h264"), ("a.flv", "h264"), ("a.y4m", "rawvideo")],
    )
    def test_the_container_says_the_codec(self, run, tmp_path, name, codec):
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

    def test_a_clip_whose_size_changes_goes_on_at_the_first(self, run, tmp_path):
        parts = [make_clip(tmp_path, f"{n}.ts", frames=4, width=64 * n, height=48 * n) for n in (1, 2)]
        joined = tmp_path / "joined.ts"
        joined.write_bytes(b"".join(part.read_bytes() for part in parts))
        result = lanner(*run, "-i", joined, "-o", tmp_path / "out.mkv", "--json", tmp_path / "a.jsonl")
        assert result.returncode == 0
        assert without_notes(result.stderr) == f"lanner: {joined}: its size changes from 64x48 to 128x96 at frame 4; the output keeps the first\n"
        assert [row["width"] for row in rows((tmp_path / "a.jsonl").read_text())] == [64] * 4 + [128] * 4
        stream = video(tmp_path / "out.mkv")
        assert (stream["width"], stream["height"], stream["frames"]["count"]) == (64, 48, 8)

    @pytest.mark.parametrize(("options", "format_name"), [([], "matroska"), (["-f", "ts"], "mpegts"), (["--format", "webm"], "webm"), (["-f", "mp4"], "mp4"), (["-f", "y4m"], "yuv4mpegpipe")])
    def test_standard_output(self, run, tmp_path, options, format_name):
        clip = make_clip(tmp_path, frames=5)
        out, said = piped(run, None, "-i", clip, "-o", "-", *options)
        assert said == ""
        (tmp_path / "out").write_bytes(out)
        found = json.loads(succeed("probe", tmp_path / "out", "--json"))
        assert format_name in found["format"]
        assert found["streams"][0]["frames"]["count"] == 5

    def test_from_pipe_to_pipe(self, run, tmp_path):
        clip = make_clip(tmp_path, "clip.mkv", frames=5)
        out, _ = piped(run, clip.read_bytes(), "-i", "-", "-o", "-", "--json", tmp_path / "a.jsonl")
        again, _ = piped(run, out, "-i", "-", "--json", "-")
        assert len(rows(again)) == len(rows((tmp_path / "a.jsonl").read_text())) == 5

    def test_a_named_pipe_and_a_device(self, run, tmp_path):
        clip, pipe = make_clip(tmp_path, frames=5), tmp_path / "pipe"
        os.mkfifo(pipe)
        read = []
        thread = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
        thread.start()
        succeed(*run, "-i", clip, "-o", pipe, "-f", "ts", "-q")
        thread.join(SECONDS)
        assert read[0][:1] == b"G" and len(read[0]) % 188 == 0
        succeed(*run, "-i", clip, "-o", "/dev/null", "-q")

    def test_the_format_may_differ_from_the_name(self, run, tmp_path):
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
            (["-o", "x.gif"], "GIF is not written"),
            (["-o", "x.png"], "marked_%05d.png"),
            (["-o", "x.unknown"], "no container for extension"),
        ],
    )
    def test_what_makes_no_sense(self, run, tmp_path, options, said):
        clip = make_clip(tmp_path, frames=2)
        assert said in refuse(*run, "-i", clip, *options, cwd=tmp_path)
        assert leftovers(tmp_path) == ["clip.mp4"]


class TestPicturesOut:
    def test_a_picture_of_each_frame_by_its_number(self, run, tmp_path):
        clip = make_clip(tmp_path, frames=7)
        succeed(*run, "-i", clip, "--stride", 3, "-o", tmp_path / "f_%03d.png", "-q")
        assert leftovers(tmp_path, "clip.mp4") == ["f_000.png", "f_003.png", "f_006.png"]

    def test_pictures_by_their_place(self, run, pictures, tmp_path):
        succeed(*run, "-i", pictures, "-o", tmp_path / "out_%02d.jpg", "-q")
        assert leftovers(tmp_path, "pictures") == ["out_00.jpg", "out_01.jpg", "out_02.jpg"]

    def test_inputs_are_not_written_over(self, run, tmp_path):
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
    def test_a_reader_that_goes_away_ends_it_quietly(self, run, tmp_path, options):
        clip = make_clip(tmp_path, frames=200)
        marked = [] if options else ["-o", tmp_path / "out.mp4"]
        process = subprocess.Popen([COMMAND, *map(str, [*run, "-i", clip, *options, *marked])], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        assert process.stdout.read(5)
        process.stdout.close()
        assert process.wait() == 141
        timer.cancel()
        assert without_notes(process.stderr.read().decode()) == ""
        assert leftovers(tmp_path) == ["clip.mp4"]

    def test_head(self, run, tmp_path):
        clip = make_clip(tmp_path, frames=200)
        line = " ".join(f"'{word}'" for word in [COMMAND, *run, "-i", clip])
        result = subprocess.run(["bash", "-c", f"{line} | head -n 2"], capture_output=True, text=True, timeout=SECONDS, check=False)
        assert (result.returncode, without_notes(result.stderr), len(result.stdout.splitlines())) == (0, "", 2)

    def test_json_to_devices(self, run, tmp_path):
        picture = make_ppm(tmp_path / "p.ppm")
        assert succeed(*run, "-i", picture, "--json", "/dev/null").startswith("1 image in ")
        assert rows(succeed(*run, "-i", picture, "--json", "/dev/stdout")) == rows(succeed(*run, "-i", picture, "--json", "-"))

    def test_counts_in_words(self, run, tmp_path):
        picture, clip = make_ppm(tmp_path / "p.ppm"), make_clip(tmp_path, frames=1)
        assert succeed(*run, "-i", picture, "-q").startswith("1 image in ")
        assert succeed(*run, "-i", picture, picture, "-q").startswith("2 images in ")
        assert succeed(*run, "-i", clip, "-q").startswith("1 frame in ")

    def test_answers_come_while_the_clip_does(self, run, tmp_path):
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


def test_a_folder_of_tensorflow_is_named_as_such(run, tmp_path):
    (tmp_path / "saved" / "variables").mkdir(parents=True)
    (tmp_path / "saved" / "saved_model.pb").write_bytes(b"")
    for arguments in (["run", tmp_path / "saved", "-i", make_ppm(tmp_path / "p.ppm")], ["build", tmp_path / "saved", "-o", tmp_path / "a.plan"]):
        said = refuse(*arguments)
        assert "is a TensorFlow SavedModel folder" in said and "tf2onnx.convert" in said


def test_output_stays_where_an_encoder_would_print(tmp_path):
    clip = make_clip(tmp_path, frames=2)
    assert "no preset 'nonsense'; expected one of ultrafast" in refuse("transcode", clip, tmp_path / "x.mp4", "--preset", "nonsense")
    small = make_clip(tmp_path, "small.mkv", frames=2, width=61, height=45)
    result = lanner("transcode", small, tmp_path / "x.mkv", "-c:v", "av1")
    assert without_notes(result.stderr).count("\n") == (result.returncode != 0)


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
def test_options_of_other_programs(run, tmp_path, arguments, meant):
    said = refuse(*run, "-i", tmp_path / "clip.mp4", *arguments)
    assert meant in said and arguments[0].split("=")[0].lstrip("-") in said
