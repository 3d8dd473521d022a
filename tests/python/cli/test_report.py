"""The report in a browser: every section, no error, nothing loaded, light and dark."""

import json
import re
import sys

import numpy as np
import pytest

from browser import dom_of, needs_browser, one_browser, opened  # noqa: F401
from command import DETECTOR, ROOT, make_clip, make_ppm, color_classifier, succeed

sys.path.insert(0, str(ROOT / "demo"))
import shapes  # noqa: E402

SECTIONS = ["frames", "accuracy", "speed", "nodes", "graph", "details"]
HOSTILE = "</script><script>document.title='taken'</script>"


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))


def y4m_of(clip, path):
    """Full-range 4:4:4, so that colours are preserved."""
    weights = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{clip.width} H{clip.height} F{clip.fps}:1 Ip A1:1 C444 XCOLORRANGE=FULL\n".encode())
        for frame in clip:
            planes = frame.rgb.astype(np.float64) @ weights.T + [0, 128, 128]
            file.write(b"FRAME\n" + np.clip(planes + 0.5, 0, 255).astype(np.uint8).transpose(2, 0, 1).tobytes())
    return path


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    clip = shapes.Clip(shapes.HELD_OUT_SEEDS[3], frames=25)
    clip.write_truth(folder / "truth.jsonl")
    y4m_of(clip, folder / "clip.y4m")
    succeed(
        "run", DETECTOR, "-i", folder / "clip.y4m", "-o", folder / "marked.mp4", "--json", folder / "answers.jsonl",
        "--truth", folder / "truth.jsonl", "--report", folder / "report.html", "--budget", "0", "--threads", "1",
    )  # fmt: skip
    return folder / "report.html"


def test_page_has_the_measurements(report):
    data = data_of(report.read_text())
    assert 6 <= len(data["frames"]) <= 13
    assert all(frame[side].startswith("data:image/jpeg;base64,/9j/") for frame in data["frames"] for side in ("input", "result"))
    assert all(frame["input"] != frame["result"] for frame in data["frames"])
    assert len(data["times"]["infer"]) == 25 and all(value > 0 for value in data["times"]["infer"])
    assert data["accuracy"]["frames"] == 25 and data["accuracy"]["mean_iou"] > 0.9
    assert 0.8 < data["accuracy"]["ap"] <= data["accuracy"]["ap50"] <= 1
    assert sum(data["accuracy"]["histogram"]) == sum(one["found"] for one in data["accuracy"]["classes"])
    assert {span[0] for span in data["timeline"]["spans"]} == {"decode", "infer", "encode"}
    assert {span[1] for span in data["timeline"]["spans"]} == {"decode", "infer", "draw", "encode", "report"}
    assert all(step["runs"] == 25 for step in data["nodes"])
    before, after = data["graphs"]
    assert before["operators"] > after["operators"] > 1
    for graph in data["graphs"]:
        assert all(0 <= node["x"] <= graph["width"] and 0 <= node["y"] <= graph["height"] for node in graph["nodes"])
        assert len(graph["curves"]) >= len(graph["nodes"]) - 2


def test_page_has_time_command_and_machine(report):
    data = data_of(report.read_text())
    facts = dict(data["facts"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}", facts["date"])
    assert facts["command"].startswith("lanner run ") and facts["command"].endswith("--budget 0 --threads 1")
    assert re.fullmatch(r"clip\.y4m, .*: rawvideo, 640x360, yuvj?444p, 30 fps, 0\.83 s.*", facts["clip"])
    assert facts["precision"] == "fp32"


def test_page_has_stages_and_throughput_of_the_run(report):
    data = data_of(report.read_text())
    stages = data["stages"]
    assert [stage["name"] for stage in stages["stages"]] == ["decode", "preprocess", "network", "draw", "encode", "report"]
    assert re.search(r"limits? the rate[:;] .*at work \d+ %", stages["limit"]) and stages["limit"] in data["lead"]
    spent = {stage["name"]: stage["seconds"] for stage in stages["stages"]}
    assert spent["preprocess"] + spent["network"] == pytest.approx(sum(data["times"]["infer"]), rel=1e-3)
    for name in ("decode", "draw"):
        assert spent[name] == pytest.approx(sum(data["times"][name]), rel=1e-3)
    assert spent["encode"] > 0.999 * sum(data["times"]["encode"])  # Includes the end of the file.
    assert any(tile["what"] == "Preprocessing" for tile in data["tiles"])
    through = data["throughput"]
    assert sum(through["done"]) == 25 and len(through["done"]) * through["stretch"] >= through["end"] > 0


def test_graph_arrows_connect_nodes(report):
    for graph in data_of(report.read_text())["graphs"]:
        wide, high = graph["node_width"] / 2, graph["node_height"] / 2
        places = np.array([[node["x"], node["y"]] for node in graph["nodes"]])
        for curve in graph["curves"]:
            for x, y in (curve[0], curve[-1]):
                beyond = np.maximum(np.abs(places - [x, y]) - [wide, high], 0).max(axis=1)
                assert beyond.min() < 1.5


def test_page_loads_nothing(report):
    page = report.read_text()
    markup = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.S)
    assert "default-src 'none'" in markup
    assert not re.search(r"\b(src|href)=\"(?!data:|#)", markup)
    assert not re.search(r"url\((?!data:|#)|@import|https?://(?!www\.w3\.org/2000/svg)", markup)


@needs_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_browser_shows_every_section(report, theme):
    dom = dom_of(report, theme=theme)
    assert f'data-theme="{theme}"' in dom
    assert re.findall(r'<section id="(\w+)"', dom) == SECTIONS
    assert "NaN" not in re.sub(r"<script.*?</script>|data:image[^\"]*", "", dom, flags=re.S)
    assert dom.count('class="graph"') == 2
    assert dom.count('role="img"') >= 5
    assert "p50" in dom and "p90" in dom and "p99" in dom


def labels_of(dom):
    """The percentiles' labels: their horizontal extent and row."""
    found = []
    for attributes, text in re.findall(r"<text ([^>]*)>(p\d\d [^<]+)</text>", dom):
        at = dict(re.findall(r'([\w-]+)="([^"]*)"', attributes))
        x, wide = float(at["x"]), 6.5 * len(text)
        found.append((x - wide if at["text-anchor"] == "end" else x, x if at["text-anchor"] == "end" else x + wide, float(at["y"])))
    return found


@needs_browser
@pytest.mark.parametrize("width", [400, 760, 1320])
def test_percentile_labels_do_not_overlap(report, width):
    dom = dom_of(report, width=width)
    labels = labels_of(dom)
    assert len(labels) == 3
    for i, (begin, end, y) in enumerate(labels):
        assert begin >= 0
        assert all(y != other[2] or end <= other[0] or other[1] <= begin for other in labels[:i])


@needs_browser
def test_many_inputs_are_folded(tmp_path):
    model = color_classifier(tmp_path / "model.onnx")
    picture = make_ppm(tmp_path / "a.ppm", 16, 16)
    succeed("run", model, "-i", *[picture] * 200, "--range", "0,1", "--budget", "0", "--report", tmp_path / "r.html", "-q")
    with opened(tmp_path / "r.html") as shown:
        dom = shown.content()
        height = shown.evaluate("document.documentElement.scrollHeight")
    assert "images (200)" in dom and "and 197 more</summary>" in dom
    page = re.sub(r"<script.*?</script>", "", dom, flags=re.S)
    assert page.count("a.ppm, ") == 200 and "Stages run one after the other" in page
    assert 1000 < height < 5000  # A line for each input, or the whole command, would make it twice as high.


def test_preprocessing_outside_of_the_network_is_timed_separately(tmp_path):
    plan = tmp_path / "shapes.plan"
    succeed("build", DETECTOR, "-o", plan, "-q", "--budget", "0", "--threads", "1")
    succeed("run", plan, "-i", make_clip(tmp_path, frames=9), "-q", "--report", tmp_path / "r.html")
    data = data_of((tmp_path / "r.html").read_text())
    assert len(data["times"]["preprocess"]) == 9 and all(value > 0 for value in data["times"]["preprocess"])
    spans = data["timeline"]["spans"]
    networks = {span[4]: span for span in spans if span[1] == "infer"}
    for _, name, start, end, frame in spans:
        if name == "preprocess":
            assert networks[frame][2] <= start <= end <= networks[frame][3] + 1e-6
    spent = {stage["name"]: stage["seconds"] for stage in data["stages"]["stages"]}
    assert spent["preprocess"] == pytest.approx(sum(data["times"]["preprocess"]), rel=0.01, abs=1e-5)


@needs_browser
def test_hostile_names_stay_text(tmp_path):
    labels = tmp_path / "labels.txt"
    labels.write_text(f"{HOSTILE}\ngreen\nblue\n")
    model = color_classifier(tmp_path / "a & <b>.onnx")
    picture = make_ppm(tmp_path / "<img src=x onerror=alert(1)>.ppm", 64, 64)
    succeed("run", model, "-i", picture, make_clip(tmp_path, frames=3), "--labels", labels, "--range", "0,1", "--budget", "0", "--report", tmp_path / "r.html", "-q")
    dom = dom_of(tmp_path / "r.html")
    title = re.search(r"<title>(.*?)</title>", dom).group(1)
    assert title.startswith("a &amp; &lt;b&gt;.onnx on ")
    assert HOSTILE not in dom
    assert re.findall(r'<section id="(\w+)"', dom) == [name for name in SECTIONS if name != "accuracy"]
