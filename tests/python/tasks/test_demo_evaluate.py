import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

DEMO = pathlib.Path(__file__).parents[3] / "demo"
sys.path.insert(0, str(DEMO))
from evaluate import box_iou, evaluate
from shapes import Clip


@pytest.fixture(scope="module")
def truth():
    clip = Clip(3, frames=120)
    return [{"frame": n, "pts": n / 30, "objects": clip.objects(n)} for n in range(len(clip))]


def answers_for(truth, shift=0.0):
    return [
        {
            "frame": line["frame"],
            "pts": line["pts"],
            "detections": [
                {**o, "score": 0.9, "box": [v + shift for v in o["box"]]} for o in line["objects"]
            ],
        }
        for line in truth
    ]


def test_perfect_answers(truth):
    measures = evaluate(answers_for(truth), truth)
    assert measures["mean_iou"] == pytest.approx(1)
    assert measures["class_accuracy"] == measures["recall"] == measures["precision"] == 1
    assert measures["objects"] == measures["detections"] == sum(len(line["objects"]) for line in truth)


def test_no_answers(truth):
    for answers in ([], [{"frame": 0, "detections": []}]):
        measures = evaluate(answers, truth)
        assert [measures[k] for k in ("mean_iou", "class_accuracy", "recall", "precision")] == [0, 0, 0, 0]
        assert measures["frames"] == len(truth)


def test_shifted_answers_lose_overlap_only(truth):
    slightly, far = evaluate(answers_for(truth, 4), truth), evaluate(answers_for(truth, 300), truth)
    assert 0.6 < slightly["mean_iou"] < 0.95
    assert slightly["recall"] == slightly["class_accuracy"] == 1
    assert far["mean_iou"] < 0.05


def test_shift_by_a_third_is_the_known_ratio():
    truth = [{"frame": 0, "objects": [{"label": "a", "class": 0, "box": [0, 0, 30, 10]}]}]
    answers = [{"frame": 0, "detections": [{"label": "a", "class": 0, "box": [10, 0, 40, 10]}]}]
    assert box_iou([[0, 0, 30, 10]], [[10, 0, 40, 10]]) == pytest.approx(0.5)
    assert evaluate(answers, truth)["mean_iou"] == pytest.approx(0.5)


def test_wrong_class_counts_in_the_confusion(truth):
    answers = answers_for(truth)
    for line in answers:
        for found in line["detections"]:
            if found["label"] == "circle":
                found.update({"label": "hexagon", "class": 5})
    measures = evaluate(answers, truth)
    circles = measures["classes"]["circle"]["drawn"]
    assert circles > 0
    assert measures["confusion"][0][5] == circles
    assert measures["class_accuracy"] == pytest.approx(1 - circles / measures["objects"])
    assert measures["mean_iou"] == pytest.approx(1)


def test_a_second_answer_for_one_object_costs_precision(truth):
    answers = answers_for(truth)
    for line in answers:
        line["detections"] = line["detections"] * 2
    measures = evaluate(answers, truth)
    assert measures["recall"] == 1
    assert measures["precision"] == pytest.approx(0.5)


def test_missing_frames_count_as_not_found(truth):
    measures = evaluate(answers_for(truth)[:60], truth)
    seen = sum(len(line["objects"]) for line in truth[:60])
    assert measures["recall"] == pytest.approx(seen / measures["objects"])


def test_no_objects_and_no_answers_do_not_divide_by_zero():
    assert evaluate([], [{"frame": 0, "objects": []}])["mean_iou"] == 0
    assert np.array_equal(box_iou([[0, 0, 0, 0]], [[0, 0, 0, 0]]), [[0]])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"frame": 900, "detections": []}, "frame 900 is not in the truth"),
        ({"frame": 0, "detections": [{"label": "a", "class": -1, "box": [0, 0, 1, 1]}]}, "class -1"),
        ({"frame": 0, "detections": [{"label": "a", "class": 0, "box": [0, 0, 1, 1]}]}, "called both"),
        (
            {"frame": 0, "detections": [{"label": "circle", "class": 0, "box": [0, 0, 1]}]},
            "four finite numbers",
        ),
    ],
)
def test_malformed_answers_are_refused(truth, line, said):
    with pytest.raises(ValueError, match=said):
        evaluate([line], truth)


def test_frame_given_twice_is_refused(truth):
    with pytest.raises(ValueError, match="frame 3 comes twice"):
        evaluate([{"frame": 3, "detections": []}] * 2, truth)


def run_command(tmp_path, answers_text, truth):
    (tmp_path / "answers.jsonl").write_text(answers_text)
    (tmp_path / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in truth))
    command = [sys.executable, DEMO / "evaluate.py", "answers.jsonl", "truth.jsonl", "-o", "accuracy.json"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


def test_command_writes_the_measures(tmp_path, truth):
    text = "".join(json.dumps(line) + "\n" for line in answers_for(truth))
    assert run_command(tmp_path, text, truth).returncode == 0
    assert json.loads((tmp_path / "accuracy.json").read_text())["mean_iou"] == pytest.approx(1)


def test_command_names_the_malformed_line(tmp_path, truth):
    result = run_command(tmp_path, '{"frame": 0, "detections": []}\n{"frame"', truth)
    assert result.returncode == 2
    assert "answers.jsonl:2: not JSON" in result.stderr
    assert not (tmp_path / "accuracy.json").exists()
