"""How the command responds to wrong usage, and its help."""

import json
import os
import pty
import re
import subprocess

import pytest

from command import COMMAND, ROOT, SECONDS, lanner, make_y4m, refuse, succeed

COMMANDS = ["run", "probe", "transcode", "build", "bench", "eval", "explain", "verify", "doctor"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command):
    text = succeed(command, "--help")
    assert "Examples:" in text
    assert f"  lanner {command}" in text


def test_help_names_exit_codes_and_every_command():
    text = succeed("--help")
    assert all(f"\n  {command} " in text for command in COMMANDS)
    assert all(code in text for code in ("0 done", "1 a fault", "2 bad input", "130 interrupted", "141 the reader"))


def test_version():
    name, version = succeed("--version").split()
    assert name == "lanner"
    assert len(version.split(".")) == 3


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["prob", "x"], "did you mean probe?"),
        (["probe", "x.mp4", "--exat"], "did you mean --exact?"),
        (["transcode", "a", "b", "--bit-rat=4M"], "did you mean --bit-rate?"),
        (["build", "m.onnx", "-o", "m.plan", "--budgt", "1s"], "did you mean --budget?"),
        (["run", "m.onnx", "-i", "c.mp4", "--presett", "caffe"], "did you mean --preset?"),
        (["bench", "m.onnx", "--durration", "1s"], "did you mean --duration?"),
    ],
)
def test_the_nearest_name_is_suggested(arguments, meant):
    assert meant in refuse(*arguments)


@pytest.mark.parametrize(
    "arguments", [["probe"], ["transcode", "a.mp4"], ["run", "m.onnx"], ["bench", "a", "b"], ["probe", "x", "--frobnicate"]]
)
def test_wrong_usage_is_one_line_and_points_at_help(arguments):
    assert f"lanner {arguments[0]} --help" in refuse(*arguments)


@pytest.mark.parametrize("size", ["x", "-1", "1.5GiB", "5GiBs"])
def test_invalid_size_shows_the_expected_form(size):
    line = refuse("explain", "model.onnx", f"--weight-budget={size}")
    assert f"--weight-budget: '{size}' is no size; expected a whole number of bytes, or one with a unit, like 512MiB" in line


def test_doctor_lists_what_was_found():
    found = json.loads(lanner("doctor", "--json").stdout)
    rows = {row["name"]: row for section in ("machine", "networks", "video") for row in found[section]}
    assert rows["FFmpeg"]["state"] == rows["reference"]["state"] == "ok"
    assert "liblanner-ffmpeg.so" in rows["FFmpeg"]["detail"]
    assert "libx264" in rows["encoders"]["detail"]
    assert "cores" in rows


def test_doctor_names_reason_and_remedy_for_a_missing_module(tmp_path):
    copy = tmp_path / "bin" / "lanner"
    copy.parent.mkdir()
    (tmp_path / "lib").mkdir()
    copy.write_bytes(COMMAND.read_bytes())
    copy.chmod(0o755)
    library = (COMMAND.parents[1] / "lib" / "liblanner.so").resolve()
    (tmp_path / "lib" / library.name).write_bytes(library.read_bytes())
    result = subprocess.run([copy, "doctor"], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert result.returncode == 2
    lines = [line for line in result.stdout.splitlines() if "MISSING" in line]
    assert {line.split()[1] for line in lines} == {"FFmpeg", "onednn"}
    assert all("liblanner-" in line and "apt-get install" in line for line in lines)
    refused = subprocess.run(
        [copy, "explain", ROOT / "demo" / "kinds.onnx", "--backends", "onednn"], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert refused.returncode == 2 and "backend onednn: module onednn was not opened" in refused.stderr


def test_closed_reader_ends_the_command_silently(tmp_path):
    clip = make_y4m(tmp_path / "clip.y4m")
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run([COMMAND, "probe", clip], stdout=write, stderr=subprocess.PIPE, text=True, timeout=SECONDS, check=False)
    os.close(write)
    assert (result.returncode, result.stderr) == (141, "")


def on_terminal(*arguments):
    """The command's stderr on a terminal."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"this system has no terminals to give: {error}")
    process = subprocess.Popen([COMMAND, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    text = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # Linux says EIO when the last writer has gone.
            break
        if not piece:
            break
        text += piece
    os.close(ours)
    assert process.wait(SECONDS) == 0
    return text.decode()


def test_progress_is_shown_only_on_terminals(tmp_path):
    clip = make_y4m(tmp_path / "clip.y4m", frames=60)
    shown = on_terminal("transcode", clip, tmp_path / "a.mp4")
    assert "transcode" in shown and "frames" in shown
    assert shown.endswith("\r\x1b[K")  # Cleared at the end.
    assert succeed("transcode", clip, tmp_path / "b.mp4") == ""  # succeed() expects an empty stderr.


SHAPES = ROOT / "demo" / "shapes.onnx"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--preset", "imagnet"], "preset 'imagnet' is not known: expected one of imagenet, .*; did you mean imagenet"),
        (["--fit", "leterbox"], "fit 'leterbox': expected one of .*; did you mean letterbox?"),
        (["--head", "yolo_v9"], "; did you mean .*yolo_v8"),
        (["--limit", "secnds=3"], "; did you mean seconds?"),
        (["--batch", "0"], "--batch: expected a whole number from 1 to 65536, got '0'"),
        (["--score-threshold", "2"], "--score-threshold: expected a number from 0 to 1, got '2'"),
        (["--frames", "x"], "--frames: expected a whole number from 1 on, got 'x'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_value_suggests_the_nearest(tmp_path, arguments, said):
    picture = tmp_path / "p.png"
    picture.write_bytes(b"")
    assert re.search(said.replace("?", r"\?"), refuse("run", SHAPES, "-i", picture, *arguments))


def test_file_in_place_of_a_command_suggests_probe():
    assert refuse(SHAPES) == f"no command '{SHAPES}'; expected a command before the file: lanner probe {SHAPES} shows what it is"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["transcode", "a.mp4", "-o", "b.mp4"], "transcode: no option '-o'; the output needs no option: lanner transcode INPUT OUTPUT"),
        (["decode", "-i", "a.mp4"], "decode: no option '-i'; the clip needs no option: lanner decode CLIP"),
        (["transcode", "a.mp4"], "transcode: OUTPUT is required; see lanner transcode --help"),
        (["run", "-i", "a.png"], "run: MODEL is required; see lanner run --help"),
    ],
)
def test_option_for_a_positional_argument_is_explained(arguments, said):
    assert refuse(*arguments) == said


def test_daily_help_describes_each_option():
    """A text that begins with an example and a colon would be cut there."""
    assert "Images with ground truth" in succeed("eval", "--help")
