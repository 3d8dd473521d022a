"""Names from files stay text: on the terminal, in JSON and in the report."""

import json
import os
import re
import unicodedata

import numpy as np
import pytest
from onnx import helper

from command import color_classifier, lanner, make_clip, make_ppm, refuse, save_model, succeed

# Colour by ESC, DEL, the one-byte CSI in UTF-8, the right-to-left mark, and a line break other than a line feed.
HOSTILE = "a\x1b[31m\x7f\u009b31m\u202e\u2028<script>alert(1)</script>"
ESCAPED = r"a\x1b[31m\x7f\xc2\x9b31m\xe2\x80\xae\xe2\x80\xa8<script>alert(1)</script>"


def controls(text):
    """Characters that are neither visible nor a line feed."""
    return [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]


@pytest.fixture
def model(tmp_path):
    """Every kind of name in a model, hostile."""
    name = HOSTILE.encode().decode()
    nodes = [
        helper.make_node("Exp", [name + "in"], [name + "mid"], name),
        helper.make_node("Abs", [name + "mid"], [name + "out"], name + "2"),
    ]
    metadata = {"lanner.task": "none", name: name}
    return save_model(tmp_path / "m.onnx", nodes, {name + "in": [1, 3, 8, 8]}, {name + "out": [1, 3, 8, 8]}, {}, metadata)


def test_explain_shows_them_escaped(model):
    whole = succeed("explain", model, "--budget", "0", "--json")
    assert controls(whole) == []
    plan = json.loads(whole)
    assert any(HOSTILE + "in" in text for text in plan["inputs"]), "the same text, told in other letters"
    for options in ([], ["--all"], ["--node", plan["nodes"][0]["sources"][0]]):
        said = succeed("explain", model, "--budget", "0", *options)
        assert "alert(1)" in said and controls(said) == [], options
        assert options[:1] == ["--node"] or ESCAPED in said


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_every_command_shows_them_escaped(tmp_path, model, form):
    picture = make_ppm(tmp_path / (HOSTILE.replace("/", "") + ".ppm"))
    clip = make_clip(tmp_path, HOSTILE.replace("/", "") + ".mp4", frames=3)
    commands = [
        ["bench", model, "--budget", "0", "--duration", "1ms", *(form or ["--profile"])],
        ["probe", picture, *form],
        ["probe", clip, *form],
        ["explain", clip, *form],
        ["bench", clip, "--duration", "1ms", *form],
        ["build", model, "--budget", "0", "--print-ir"],
        ["build", model, "--budget", "0", "--print-ir=lowered"],
        ["run", model, "--range", "0,1", "--budget", "0", "-i", picture, clip, *(["--json", "-"] if form else [])],
    ]
    for command in commands:
        said = succeed(*command)
        assert said and controls(said) == [], command


def test_printed_graphs_can_be_read_again(model):
    """An escape in the text form represents the byte that it names."""
    ir = succeed("build", model, "--budget", "0", "--print-ir")
    name = re.search(r'%"((?:[^"\\]|\\.)*)in"', ir).group(1)
    assert re.sub(rb"\\x(..)", lambda m: bytes.fromhex(m.group(1).decode()), name.encode()).decode() == HOSTILE


def test_errors_show_them_escaped(tmp_path, model):
    for arguments in (
        ["explain", model, "--budget", "0", "--node", HOSTILE],
        ["run", model, "-i", tmp_path / HOSTILE],
        ["run", model, "-i", make_ppm(tmp_path / "p.ppm"), "--input", HOSTILE + "?"],
        ["explain", tmp_path / HOSTILE],
        [HOSTILE],
        ["run", "--" + HOSTILE],
        ["build", model, "--print-ir", "--shape", HOSTILE + ":1x2x"],
    ):
        said = refuse(*arguments)
        assert controls(said) == [] and "\\x1b" in said, arguments


def test_names_of_invalid_utf8_are_escaped(tmp_path):
    result = lanner("probe", os.fsdecode(bytes(tmp_path / "x") + b"\x9b31m\xff.mp4"))
    assert "x\\x9b31m\\xff.mp4" in result.stderr and result.returncode == 2


def test_labels_and_the_report(tmp_path):
    labels = tmp_path / "labels.txt"
    labels.write_text(f"{HOSTILE.replace(chr(0x2028), '')}\ngreen\nblue\n")
    model = color_classifier(tmp_path / "c.onnx")
    said = succeed("run", model, "-i", make_ppm(tmp_path / "p.ppm"), "--labels", labels, "--range", "0,1", "--budget", "0", "--report", tmp_path / "r.html")
    assert "\\x1b[31m" in said and controls(said) == []
    page = (tmp_path / "r.html").read_text()
    assert controls(page) == []
    assert page.count("<script") == 2 and "alert(1)</" not in page, "the page's own data and code"
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))
    assert "\\x1b[31m" in data["frames"][0]["caption"]
    assert controls(json.dumps(data, ensure_ascii=False)) == []
