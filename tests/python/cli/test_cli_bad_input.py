"""Every command answers every kind of bad file with one line, exit code 2 and no file."""

import json
import random

import pytest

from command import DETECTOR, color_classifier, lanner, leftovers, make_clip, make_ppm, refuse, succeed

QUICK = ["--budget", "0", "--threads", "1", "--preset", "none", "--size", "8x8"]
PLAYLIST = b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{}\n#EXT-X-ENDLIST\n"


@pytest.fixture
def good(tmp_path):
    folder = tmp_path / "good"
    folder.mkdir()
    return {
        "model": color_classifier(folder / "model.onnx"),
        "clip": make_clip(folder, frames=5),
        "picture": make_ppm(folder / "picture.ppm"),
    }


def bad_files(folder, good):
    """Files that no command can read, by their defect."""
    noise = random.Random(7).randbytes(5000)
    clip = good["clip"].read_bytes()
    contents = {
        "empty": b"",
        "noise": noise,
        "zeros": bytes(4096),
        "noise_behind_mp4": clip[:32] + noise,
        "noise_behind_png": b"\x89PNG\r\n\x1a\n" + noise,
        "noise_behind_onnx": good["model"].read_bytes()[:20] + noise,
        "noise_behind_plan": (4000).to_bytes(8, "little") + b"{" + noise,
        "plan_of_endless_header": (2**31).to_bytes(8, "little") + b'{"a":1}',
        "playlist.mp4": PLAYLIST.replace(b"{}", str(good["clip"]).encode()),
        "concat.mp4": b"ffconcat version 1.0\nfile " + good["clip"].name.encode() + b"\n",
        "sizeless.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xff\xff\xff\xff\xff\xff\xff\x08\x02\0\0\0" + bytes(64),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder.mp4").mkdir()
    (folder / "dangling").symlink_to("nowhere")
    return [folder / name for name in [*contents, "folder.mp4", "dangling", "missing"]]


def commands(path, good, out):
    yield ["probe", path, "--exact"]
    yield ["transcode", path, out / "out.mp4"]
    yield ["run", good["model"], *QUICK, "-i", path, "-o", f"{out}/", "--json", out / "out.jsonl", "--report", out / "out.html"]
    yield ["run", path, "--preset", "none", "-i", good["picture"], "-o", out / "out.png", "--json", out / "out.jsonl"]
    yield ["build", path, "-o", out / "out.plan"]
    yield ["explain", path]
    yield ["verify", path]
    yield ["eval", path, "--data", good["picture"].parent, "--preset", "none", "--json", out / "out.json"]
    yield ["eval", good["model"], *QUICK, "--data", path, "--report", out / "out.html"]
    yield ["bench", path, "--duration", "10ms"]


def test_bad_file_ends_in_one_line_and_leaves_no_output(tmp_path, good):
    bad, out = tmp_path / "bad", tmp_path / "out"
    bad.mkdir()
    out.mkdir()
    for path in bad_files(bad, good):
        for arguments in commands(path, good, out):
            said = refuse(*arguments)
            assert path.name in said, (arguments, said)
            assert leftovers(out) == [], arguments


def test_bad_files_among_good_ones_are_reported_and_skipped(tmp_path, good):
    bad, out = tmp_path / "bad", tmp_path / "out"
    bad.mkdir()
    out.mkdir()
    paths = [path for path in bad_files(bad, good) if path.name != "folder.mp4"]
    result = lanner("run", good["model"], *QUICK, "-i", good["picture"], *paths, good["clip"], "--json", out / "out.jsonl")
    assert result.returncode == 2
    lines = result.stderr.splitlines()
    assert all(any(path.name in line for line in lines) for path in paths)
    assert lines[-1] == f"lanner: run: {len(paths)} of {len(paths) + 2} inputs could not be read"
    assert len((out / "out.jsonl").read_text().splitlines()) == 6


def test_control_characters_in_file_names_are_escaped(tmp_path):
    path = tmp_path / "a\x1b[31m\nb.mp4"
    assert "\\x1b[31m\\nb.mp4" in refuse("probe", path)


@pytest.fixture
def cut(tmp_path):
    """A clip with its tables first that is truncated within its frames."""
    whole = make_clip(tmp_path, frames=40, width=320, height=240)
    container = tmp_path / "whole.mkv"
    succeed("transcode", whole, container, "-c:v", "mpeg4", "--gop", "5")
    path = tmp_path / "cut.mkv"
    path.write_bytes(container.read_bytes()[: container.stat().st_size * 2 // 3])
    container.unlink()
    whole.unlink()
    return path


def test_a_truncated_clip_is_an_error(tmp_path, good, cut):
    for arguments in (["transcode", cut, tmp_path / "out.mp4"], ["run", good["model"], *QUICK, "-q", "-i", cut, "-o", tmp_path / "out.mp4"]):
        assert "cut.mkv: ends early" in refuse(*arguments)
        assert leftovers(tmp_path, "good", "cut.mkv") == []
    result = lanner("probe", cut)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "mpeg4" in result.stdout and "ends early" in result.stderr


def test_conceal_goes_on_after_damage(tmp_path, cut):
    succeed("transcode", cut, tmp_path / "out.mp4", "--conceal")
    frames = json.loads(succeed("probe", tmp_path / "out.mp4", "--json"))["streams"][0]["frames"]["count"]
    assert 10 < frames < 40


@pytest.mark.parametrize("option", ["-o", "--json", "--report"])
def test_output_that_cannot_be_created_is_reported_before_the_work(tmp_path, good, option):
    name = {"-o": "x.png", "--json": "x.jsonl", "--report": "x.html"}[option]
    assert name in refuse("run", good["model"], *QUICK, "-i", good["picture"], option, tmp_path / "no" / "folder" / name)


def test_outputs_must_fit_their_inputs(tmp_path, good):
    run = ["run", good["model"], *QUICK]
    assert "name a video file" in refuse(*run, "-i", good["clip"], "-o", tmp_path / "x.png")
    assert "name a .png or .jpg" in refuse(*run, "-i", good["picture"], "-o", tmp_path / "x.mp4")
    assert "name a folder" in refuse(*run, "-i", good["picture"], good["clip"], "-o", tmp_path / "x.mp4")
    assert "would overwrite" in refuse(*run, "-i", good["clip"], "-o", good["clip"])
    assert "would overwrite" in refuse(*run, "-i", good["picture"], "--json", good["picture"])
    assert leftovers(tmp_path, "good") == []


@pytest.mark.parametrize(
    "truth",
    [
        b"not json\n",
        b'{"frame": 0}\n',
        b'{"frame": 0, "objects": [{"class": -1, "label": "a", "box": [0, 0, 1, 1]}]}\n',
        b'{"frame": 0, "objects": [{"class": 0, "label": "a", "box": [0, 0, 1]}]}\n',
        b'{"frame": 7, "objects": []}\n',
    ],
)
def test_malformed_truth_is_refused(tmp_path, good, truth):
    path = tmp_path / "truth.jsonl"
    path.write_bytes(truth)
    said = refuse("run", DETECTOR, "-i", good["picture"], "--budget", "0", "--json", tmp_path / "a.jsonl", "--truth", path)
    assert "truth.jsonl" in said


def test_binary_labels_are_refused(tmp_path, good):
    path = tmp_path / "labels.txt"
    path.write_bytes(b"\0\1\2")
    assert "labels.txt" in refuse("run", good["model"], *QUICK, "-i", good["picture"], "--labels", path)
