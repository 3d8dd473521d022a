"""No command overwrites its inputs, or writes two outputs to one file, under whatever names."""

import os
import shutil
import subprocess

import onnx
import pytest

from command import COMMAND, LABELS, SECONDS, color_classifier, leftovers, lanner, make_clip, make_ppm, refuse, succeed

RUN = ["run", "c.onnx", "--range", "0,1", "--budget", "0", "-q"]


@pytest.fixture
def folder(tmp_path):
    """A model with external weights, and all files that a command can take."""
    model = onnx.load(color_classifier(tmp_path / "c.onnx"))
    onnx.save(model, tmp_path / "c.onnx", save_as_external_data=True, location="good.bin", size_threshold=0)
    (tmp_path / "labels.txt").write_text(LABELS)
    (tmp_path / "truth.jsonl").write_text("{}\n")
    (tmp_path / "net.caffemodel").write_bytes(b"weights")
    (tmp_path / "net.prototxt").write_text("layer {}\n")
    make_ppm(tmp_path / "p.png")  # Recognised by content.
    make_clip(tmp_path, frames=3)
    shutil.copy(tmp_path / "clip.mp4", tmp_path / "plain")
    (tmp_path / "below").mkdir()
    return tmp_path


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def lanner_to(output, folder, *arguments):
    return subprocess.run([COMMAND, *arguments], stdout=output, stderr=subprocess.PIPE, text=True, timeout=SECONDS, check=False, cwd=folder)


OVERWRITTEN = [
    ([*RUN, "-i", "p.png", "--labels", "labels.txt", "--json"], "labels.txt", "--labels"),
    ([*RUN, "-i", "p.png", "--labels", "labels.txt", "--report"], "labels.txt", "--labels"),
    ([*RUN, "-i", "p.png", "--json"], "c.onnx", "the model"),
    ([*RUN, "-i", "p.png", "--json"], "good.bin", "data of the model"),
    ([*RUN, "-i", "p.png", "--report"], "good.bin", "data of the model"),
    ([*RUN, "-i", "p.png", "--json"], "p.png", "-i"),
    ([*RUN, "-i", "p.png", "-o"], "p.png", "-i"),
    ([*RUN, "-i", "clip.mp4", "-o"], "clip.mp4", "-i"),
    ([*RUN, "-i", "clip.mp4", "--truth", "truth.jsonl", "--json"], "truth.jsonl", "--truth"),
    ([*RUN, "-i", "p.png", "--weights", "net.caffemodel", "--json"], "net.caffemodel", "--weights"),
    (["build", "c.onnx", "--budget", "0", "-o"], "c.onnx", "the model"),
    (["build", "c.onnx", "--budget", "0", "-o"], "good.bin", "data of the model"),
    (["build", "net.prototxt", "--weights", "net.caffemodel", "-o"], "net.caffemodel", "--weights"),
    (["transcode", "clip.mp4"], "clip.mp4", "the clip"),
    (["decode", "plain", "-o"], "plain", "the clip"),
]


@pytest.mark.parametrize("spelling", ["plain", "dots", "absolute", "symlink", "hardlink"])
@pytest.mark.parametrize(("arguments", "victim", "role"), OVERWRITTEN)
def test_inputs_are_not_overwritten(folder, arguments, victim, role, spelling):
    suffix = "" if "." not in victim else victim[victim.index(".") :]
    output = {
        "plain": victim,
        "dots": f"./below/../{victim}",
        "absolute": str(folder / victim),
        "symlink": "link" + suffix,
        "hardlink": "link" + suffix,
    }[spelling]
    if spelling == "symlink":
        (folder / output).symlink_to(victim)
    if spelling == "hardlink":
        os.link(folder / victim, folder / output)
    before = contents(folder)
    said = refuse(*arguments, output, cwd=folder)
    if (victim, spelling) == ("good.bin", "hardlink"):  # Such a model is refused for any output.
        assert "further hard links" in said
    else:
        assert f"{output}: would overwrite " in said and f"{victim}, which is also read ({role})" in said
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-i", "p.png", "--json", "x", "--report", "below/../x"], "--json and --report would both be written"),
        (["-i", "p.png", "-o", "x.png", "--json", "x.png"], "-o and --json would both be written"),
        (["-i", "p.png", "below/p.png", "-o", "out/", "--json", "out/p_2.png"], "-o of below/p.png and --json would both be written"),
        (["-i", "p.png", "below/p.png", "-o", "below/"], "would overwrite below/p.png"),
    ],
)
def test_two_outputs_in_one_file_are_refused(folder, arguments, said):
    make_ppm(folder / "below" / "p.png")
    before = contents(folder)
    assert said in refuse(*RUN, *arguments, cwd=folder)
    assert contents(folder) == before


def test_trace_passes_does_not_overwrite_the_model(folder):
    (folder / "c.onnx").rename(folder / "01_a.ir")
    before = contents(folder)
    said = refuse("build", "01_a.ir", "--budget", "0", "--trace-passes", folder, "--print-ir", cwd=folder)
    assert "01_a.ir (the model) is in this folder" in said
    assert contents(folder) == before


def test_standard_output_redirected_to_an_input_is_refused(folder):
    before = contents(folder)
    with open(folder / "clip.mp4", "ab") as output:
        result = lanner_to(output, folder, "decode", "clip.mp4", "-o", "-")
    assert result.returncode == 2 and "would overwrite clip.mp4" in result.stderr
    assert contents(folder) == before


def test_unrelated_outputs_are_written(folder):
    out = folder / "out"
    out.mkdir()
    succeed(*RUN, "-i", "p.png", "--labels", "labels.txt", "--json", out / "labels.txt", "--report", out / "c.onnx", "-o", out / "p.png", cwd=folder)
    succeed("build", "c.onnx", "--budget", "0", "-o", out / "good.bin", cwd=folder)
    assert leftovers(out, "labels.txt", "c.onnx", "p.png", "good.bin") == []
    assert lanner("verify", "--file-only", out / "good.bin").returncode == 0
