"""lanner run: result files for other programs."""

import csv
import json
import os
import sys

import pytest

from command import DETECTOR, LABELS, ROOT, color_classifier, lanner, leftovers, make_ppm, refuse, succeed

sys.path.insert(0, str(ROOT / "demo"))
import shapes  # noqa: E402

QUICK = ["--budget", "0", "--threads", "1"]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scene")
    clip = shapes.Clip(shapes.HELD_OUT_SEEDS[7], frames=3)
    paths = []
    for frame in clip:
        paths.append(folder / f"{frame.number}.ppm")
        paths[-1].write_bytes(f"P6 {clip.width} {clip.height} 255\n".encode() + frame.rgb.tobytes())
    return paths


@pytest.fixture(scope="module")
def written(pictures, tmp_path_factory):
    """The folder of one run with every output, and its answers as JSON."""
    folder = tmp_path_factory.mktemp("results")
    outputs = ["--csv", folder / "out.csv", "--coco", folder / "coco.json", "--yolo", folder / "labels", "--crops", folder / "crops"]
    text = succeed("run", DETECTOR, "-i", *pictures, "--json", "-", *outputs, *QUICK)
    assert not leftovers(folder, "out.csv", "coco.json", "labels", "crops")
    return folder, [json.loads(line) for line in text.splitlines()]


def boxes_of(answers):
    return [(n, entry) for n, row in enumerate(answers) for entry in row["detections"]]


def test_csv_has_the_answers_of_json(written, pictures):
    folder, answers = written
    with open(folder / "out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = boxes_of(answers)
    assert len(rows) == len(expected) > 3
    for row, (picture, entry) in zip(rows, expected):
        assert (row["source"], row["label"], int(row["class"])) == (str(pictures[picture]), entry["label"], entry["class"])
        assert [float(row[name]) for name in ("left", "top", "right", "bottom")] == pytest.approx(entry["box"], abs=1e-3)
        assert float(row["score"]) == pytest.approx(entry["score"], abs=1e-6)


def test_coco_has_the_answers_of_json(written, pictures):
    folder, answers = written
    coco = json.loads((folder / "coco.json").read_text())
    names = {entry["id"]: entry["name"] for entry in coco["categories"]}
    files = {entry["id"]: entry["file_name"] for entry in coco["images"]}
    assert list(files.values()) == [path.name for path in pictures]
    expected = boxes_of(answers)
    assert len(coco["annotations"]) == len(expected)
    for annotation, (picture, entry) in zip(coco["annotations"], expected):
        assert (files[annotation["image_id"]], names[annotation["category_id"]]) == (pictures[picture].name, entry["label"])
        left, top, width, height = annotation["bbox"]
        assert [left, top, left + width, top + height] == pytest.approx(entry["box"], abs=1e-3)
        assert annotation["area"] == pytest.approx(width * height, rel=1e-5)


def test_pycocotools_reads_the_coco_file(written):
    coco = pytest.importorskip("pycocotools.coco", reason="pycocotools is not installed").COCO(written[0] / "coco.json")
    assert len(coco.imgs) == 3 and len(coco.anns) == len(boxes_of(written[1]))


def test_yolo_has_the_answers_of_json(written):
    folder, answers = written
    for n, row in enumerate(answers):
        lines = (folder / "labels" / f"{n}.txt").read_text().splitlines()
        assert len(lines) == len(row["detections"])
        for line, entry in zip(lines, row["detections"]):
            number, x, y, width, height, score = (float(word) for word in line.split())
            assert number == entry["class"] and score == pytest.approx(entry["score"], abs=1e-5)
            box = [(x - width / 2) * row["width"], (y - height / 2) * row["height"], (x + width / 2) * row["width"], (y + height / 2) * row["height"]]
            assert box == pytest.approx(entry["box"], abs=0.01)
    assert (folder / "labels" / "classes.txt").read_text().splitlines()[3] == "star"


def test_crops_are_the_pixels_of_boxes(written):
    folder, answers = written
    names = {f"{n}_{i}_{entry['label']}.jpg" for n, row in enumerate(answers) for i, entry in enumerate(row["detections"])}
    assert {path.name for path in (folder / "crops").iterdir()} == names
    entry = answers[0]["detections"][0]
    crop = json.loads(succeed("probe", folder / "crops" / f"0_0_{entry['label']}.jpg", "--json"))
    left, top, right, bottom = entry["box"]
    assert abs(crop["width"] - (right - left)) < 2 and abs(crop["height"] - (bottom - top)) < 2


def test_csv_of_classes_has_a_row_each(tmp_path):
    labels = tmp_path / "labels.txt"
    labels.write_text(LABELS)
    picture = make_ppm(tmp_path / "a, b.ppm", color=(0, 40, 200))
    succeed("run", color_classifier(tmp_path / "model.onnx"), "--labels", labels, "--range", "0,1", "--size", "8x8", "-i", picture, "--csv", tmp_path / "out.csv", *QUICK)
    with open(tmp_path / "out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == ["blue", "green", "red"]
    assert {row["source"] for row in rows} == {str(picture)}


def test_csv_labels_are_never_formulas(tmp_path):
    labels = tmp_path / "labels.txt"
    labels.write_bytes(b'=HYPERLINK("x")\n@su\x07m\n-2\n')
    picture = make_ppm(tmp_path / "=1.ppm", color=(0, 40, 200))
    succeed("run", color_classifier(tmp_path / "model.onnx"), "--labels", labels, "--range", "0,1", "--size", "8x8", "-i", picture, "--csv", tmp_path / "out.csv", *QUICK)
    with open(tmp_path / "out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["label"] for row in rows} == {"'=HYPERLINK(\"x\")", "'@su\\x07m", "'-2"}
    assert {row["source"] for row in rows} == {str(picture)}


class TestRefused:
    @pytest.mark.parametrize(
        "options, said",
        [
            (["--csv", "-"], "only --json can write to standard output"),
            (["--csv", "x", "--coco", "x"], "would both be written"),
            (["--coco", "missing/x.json"], "--coco: missing/x.json: its folder does not exist"),
            (["--task", "none", "--csv", "x"], "csv cannot hold results of the task none"),
            (["--task", "none", "--crops", "x"], "finds no boxes"),
        ],
    )
    def test_invalid_combinations_are_refused(self, pictures, tmp_path, monkeypatch, options, said):
        monkeypatch.chdir(tmp_path)
        assert said in refuse("run", DETECTOR, "-i", pictures[0], *options, *QUICK)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("option", ["--csv", "--coco"])
    def test_inputs_are_not_overwritten(self, pictures, option):
        assert "would overwrite" in refuse("run", DETECTOR, "-i", pictures[0], option, pictures[0], *QUICK)

    def test_yolo_labels_do_not_overwrite_a_text_input(self, pictures, tmp_path):
        labels = tmp_path / "labels.txt"
        labels.write_text("a\nb\n")
        assert "might be overwritten" in refuse("run", DETECTOR, "-i", pictures[0], "--labels", labels, "--yolo", tmp_path, *QUICK)

    @pytest.mark.parametrize("option", ["--yolo", "--crops"])
    def test_equal_names_of_pictures_are_refused(self, pictures, tmp_path, option):
        other = tmp_path / pictures[0].name
        other.write_bytes(pictures[1].read_bytes())
        said = refuse("run", DETECTOR, "-i", pictures[0], other, option, tmp_path / "out", "--quiet", *QUICK)
        assert str(pictures[0]) in said and str(other) in said


def test_a_run_that_fails_leaves_no_file(pictures, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    folder = tmp_path / "out"
    folder.mkdir()
    refuse("run", DETECTOR, "-i", broken, "--csv", folder / "a.csv", "--coco", folder / "a.json", "--quiet", *QUICK)
    assert not list(folder.iterdir())


def test_doctor_names_fonts_that_are_missing(tmp_path):
    nowhere = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_DATA_DIRS": str(tmp_path)}
    (row,) = (entry for entry in json.loads(lanner("doctor", "--json", env=nowhere).stdout)["other"] if entry["name"] == "fonts")
    assert row["state"] == "none"
    assert "apt-get install" in row["detail"] and "empty boxes" in row["detail"]
