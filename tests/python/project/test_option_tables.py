"""Keywords and flags of the library's option tables: each sets the option of its row."""

import re

import pytest
from command import ROOT, color_classifier, make_clip, refuse, succeed

import lanner
from lanner import _lanner

TABLES = ["build", "load", "verify", "context", "reader", "writer", "encoder", "transcode", "convert", "preprocess"]
ROWS = [(table, row) for table in TABLES for row in _lanner._option_rows(table)]
KEYWORDS = [(table, row) for table, row in ROWS if row["keyword"]]

# Python's value for the example of a row, if it is not a text, number or list of names.
OBJECTS = {
    "pins": {"/head/*": "fp32"},
    "placement": {"layer4*": "cuda:1"},
    "shapes": {"x": (1, 3, 224, 224)},
    "profiles": [{"x": ((1, 3, 8, 8), (2, 3, 8, 8), (4, 3, 8, 8))}],
    "states": {"past": "present"},
    "aliases": {"y": "x"},
    "storages": {"x": "acdb"},
    "metadata": {"author": "me"},
    "outputs": ["features"],
    "denied_nodes": ["logits"],
    "denied_operators": ["Softmax"],
    "minimum_segment_size": 5,
    "maximum_cached_engines": 100,
    "max_batch_size": 8,
    "allow_build_at_runtime": False,
    "memory_limit": 512 << 20,
    "tags": ["serve"],
    "overridden": ("scale",),
    "overwritable": ["x"],
    "budget": 30,
    "weight_budget": 512 << 20,
    "frame_bytes": 512 << 20,
    "bit_rate": 4_000_000,
    "fps": 25,
    "crf": 28,
    "const_qp": (20, 22, 24),
    "qp_min": [20, 22, 24],
    "qp_max": (20, 22, 24),
    "initial_qp": (20, 22, 24),
    "max_bit_rate": 6_000_000,
    "vbv_buffer_size": 2_000_000,
    "vbv_initial": 1_000_000,
    "lookahead": 20,
    "low_delay_keyframe_scale": 2,
    "b_frames": 2,
    "num_ref_l0": 4,
    "num_ref_l1": 2,
    "slice_data": 4,
    "num_units_in_tick": 1001,
    "time_scale": 60_000,
    "codec_options": {"tune": "film"},
    "size": (480, 640),
    "region": (100, 0, 640, 480),
    "range": (0, 1),
    "mean": [0.485, 0.456, 0.406],
    "std": (0.229, 0.224, 0.225),
    "pad_value": 114,
    "least_snr": 25,
    "ranges": {"x": "-1:1"},
}  # fmt: skip
# Options whose values have no text form, with the line that is read back.
SPECIAL = {
    ("build", "preprocess"): ({"x": lanner.Preprocess(preset="imagenet")}, "0.485"),
    ("build", "images"): ({"x": ("nv12", lanner.Preprocess(preset="imagenet"))}, "x=nv12 {"),
    ("reader", "preprocess"): (lanner.Preprocess(preset="imagenet"), "0.485"),
    ("build", "weights"): (b"bytes", "given"),
    ("load", "weights"): (b"bytes", "given"),
    ("build", "environment"): (lanner.Environment(backends=["cpu"]), "cpu; "),
    ("load", "environment"): (lanner.Environment(backends=["cpu"]), "cpu; "),
    ("writer", "spatial_aq"): (False, "false"),
    ("writer", "temporal_aq"): (True, "true"),
    ("writer", "repeat_headers"): (False, "false"),
    ("transcode", "metadata"): ({"title": "Harbour"}, "title=Harbour"),
    ("reader", "cuda_context"): (4096, "4096"),
    ("reader", "cuda_stream"): (4096, "4096"),
}


def read_back(table, options):
    """Each option by its name, as text."""
    return dict(line.split(" = ", 1) for line in _lanner._options_text(table, options).splitlines())


def on_the_cpu(table):
    """So that nothing searches for a GPU."""
    return {"device": "cpu"} if table == "build" else {}


def value_of(table, row):
    """A value other than the default, and the value that is read back."""
    name = row["name"]
    if (table, name) in SPECIAL:
        return SPECIAL[table, name]
    if name == "limits":
        key, text = row["example"].split("=")
        return {key: text}, row["text"]
    if row["example"]:
        return OBJECTS.get(name, row["example"]), row["text"]
    before = read_back(table, on_the_cpu(table))[name]
    return (before == "false", {"true": "false", "false": "true"}[before]) if before in ("true", "false") else (3, "3")


@pytest.mark.parametrize(("table", "row"), KEYWORDS, ids=[f"{table}-{row['name']}" for table, row in KEYWORDS])
def test_keyword_sets_what_the_text_sets_and_nothing_else(table, row):
    name = row["name"]
    if name in ("progress", "index", "preset"):
        pytest.skip("it takes part in the call itself, or sets other options")
    value, text = value_of(table, row)
    before, after = read_back(table, on_the_cpu(table)), read_back(table, {**on_the_cpu(table), name: value})
    assert text in after[name]
    assert text == after[name] or (table, name) in SPECIAL
    assert before[name] != after[name]
    assert {key: text for key, text in before.items() if key != name} == {key: text for key, text in after.items() if key != name}
    assert read_back(table, {**on_the_cpu(table), name: None} if name != "device" else on_the_cpu(table)) == before


def docs_of(table):
    function = {
        "build": _lanner.build, "load": _lanner.load, "verify": lanner.Engine.verify, "context": lanner.Engine.create_context,
        "reader": lanner.VideoReader.__init__, "writer": lanner.VideoWriter.__init__,
        "encoder": lanner.Encoder.__init__, "transcode": lanner.transcode,
        "convert": lanner.tf.convert, "preprocess": lanner.Preprocess.__init__,
    }[table]  # fmt: skip
    return function.__doc__


@pytest.mark.parametrize("table", TABLES)
def test_docstrings_describe_each_keyword(table):
    for row in _lanner._option_rows(table):
        told = re.search(rf"^{row['name']}: (.*)$", docs_of(table), re.MULTILINE)
        assert bool(told) == row["keyword"], row["name"]
        if told and (table, row["name"]) != ("verify", "shapes"):
            assert told[1].startswith(row["help"]), row["name"]


def test_help_describes_each_flag():
    """In the help of some command, with the row's text."""
    texts = {command: " ".join(succeed(command, "--help-all").split()) for command in ("run", "decode", "transcode", "build", "bench", "verify", "convert")}
    for table, row in ROWS:
        if not row["flag"] or row["flag"] == "--conceal" or row["flag"].startswith("--no-"):
            continue
        # Commands for models and plans show the text of builds.
        known = table == "load" and any(other["name"] == row["name"] for other in _lanner._option_rows("build"))
        if known or (table, row["name"]) in {("verify", "shapes"), ("verify", "threads")}:
            continue
        words = row["help"][0].upper() + row["help"][1:]
        assert any(row["flag"] + " " in text and words in text for text in texts.values()), (table, row["flag"])


def test_pins_keep_the_order_in_which_they_are_given():
    """The first pin that matches a node wins."""
    assert read_back("build", {"device": "cpu", "pins": {"z*": "fp16", "a*": "fp32"}})["pins"] == "z*=fp16 a*=fp32"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--threads", "4097"], "expected a whole number from 0 to 4096, got '4097'"),
        (["--threads", "two"], "expected a whole number from 0 to 4096, got 'two'"),
        (["--budget", "soon"], "duration 'soon'"),
        (["--precision", "fp8"], "precision 'fp8'"),
        (["--device", "tpu"], "device 'tpu'"),
        (["--shape", "input:1x3x8x8", "--shape", "input:2x3x8x8"], "'input' comes twice"),
        (["--metadata", "=me"], "expected KEY=VALUE"),
        (["--metadata", "a=1", "--metadata", "a=2"], "'a' comes twice"),
        (["--metadata", "lanner.task={}", "--task", "classify"], "lanner.task"),
        (["--state", "past"], "expected INPUT=OUTPUT"),
        (["--storage", "input=nowhere"], "storage of input: layout"),
        (["--limit", "memory=3"], "limit memory=3"),
        (["--precision", ""], "--precision: precision ''"),
        (["--trace-passes", ""], "--trace-passes: expected a path"),
        (["--budget", "1s", "--budget", "2s"], "--budget: "),
        (["--budget"], "--budget"),
        (["--pad", "300", "--preset", "none"], "expected a pixel value, 0 to 255"),
    ],
)
def test_errors_of_wrong_values_name_the_flag(tmp_path, options, said):
    model = color_classifier(tmp_path / "model.onnx")
    line = refuse("build", model, "-o", tmp_path / "model.plan", *options)
    assert said in line and not (tmp_path / "model.plan").exists()


def test_build_options_are_refused_for_a_plan(tmp_path):
    """Every option of builds that loads do not have."""
    model, plan = color_classifier(tmp_path / "model.onnx"), tmp_path / "model.plan"
    succeed("build", model, "-o", plan, "--shape", "input:1x3x8x8", "--budget", 0)
    loads = {row["name"] for row in _lanner._option_rows("load")}
    every_command = succeed("explain", "--help-all")
    tried = 0
    for row in _lanner._option_rows("build"):
        if not row["flag"] or row["name"] in loads or f"  {row['flag']}" not in every_command:
            continue
        value = [row["example"]] if row["example"] else []
        line = refuse("explain", plan, row["flag"], *value)
        assert f"is a plan, for which {row['flag']} was fixed when it was built" in line
        tried += 1
    assert tried >= 10
    for flag in ("--verify",):
        assert f"is not a plan, and {flag} is only for plans" in refuse("explain", model, flag)


def test_options_of_torch_compile_are_documented_and_name_nothing_in_a_model():
    """Of builds' options, torch.compile has those that hold for any graph; without torch, as the table says."""
    rows = [row for row in _lanner._option_rows("build") if row["torch_compile"]]
    names = [row["name"] for row in rows]
    assert {"precision", "budget", "threads", "limits"} < set(names) and all(row["keyword"] for row in rows)
    named = {"pins", "placement", "shapes", "profiles", "preprocess", "images", "states", "aliases", "outputs", "overridden", "overwritable", "storages"}
    assert not named & set(names)
    page = re.sub(r"\s+", " ", (ROOT / "docs/pytorch.md").read_text())
    (listed,) = re.findall(r"- `options`: (.*?), as in `lanner.build`, and `share_weights`", page)
    assert sorted(re.findall(r"\w+", listed)) == sorted(names)
    source = (ROOT / "python/lanner/_torch/backend.py").read_text()
    (listed,) = re.findall(r"    options: (.*?) as of build; share_weights\n", source)
    assert sorted(re.split(r", | and ", listed)) == sorted(names)


def test_threads_of_a_clip_are_limited_to_the_decoders(tmp_path):
    """The flag is that of builds, which accept more."""
    line = refuse("bench", make_clip(tmp_path), "--threads", 300)
    assert line == "--threads: expected a whole number from 0 to 256, got '300'"
