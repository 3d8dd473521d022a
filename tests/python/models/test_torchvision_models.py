"""Models of torchvision: what counts as equal to torch's results, and their section of the page."""

import dataclasses
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

TESTS = Path(__file__).resolve().parents[2]
SCRIPT = TESTS / "networks" / "run.py"
sys.path.insert(0, str(TESTS))

from networks import log, page, table  # noqa: E402
from networks import torchvision_answers as answers  # noqa: E402
from networks import torchvision_models  # noqa: E402


def test_models_of_torchvision_keep_their_part_of_the_page(tmp_path):
    path = tmp_path / "networks.md"
    older = [{"what": "torchvision", "network": "alexnet", "exporter": "dynamo", "failed": "LimitExceeded: too long"}]
    newer = [
        {"what": "torchvision", "network": "swin_s", "exporter": "torchscript", "difference": 4e-7, "build_seconds": 14.2, "run_seconds": 1.0, "peak_mib": 20 * 1024},
        {"what": "torchvision", "network": "vit_b_16", "exporter": "dynamo", "not_exported": "a | b"},
    ]
    for rows in (older, newer):
        table.write({log.key_of(row): row for row in rows}, path)
    text = path.read_text()
    assert text.count(torchvision_models.HEADING) == 1
    assert "| alexnet | dynamo | **no**: LimitExceeded: too long |" in text
    assert "| swin_s | torchscript | as torch | 4.0e-07 | 14.2 | 1.00 | 20480 |" in text
    assert "| vit_b_16 | dynamo | torch does not export it: a / b |" in text
    assert "Over 16 GiB: swin_s by torchscript: 20.0 GiB." in text
    assert page.read(path) == []


def test_missing_torchvision_is_reported():
    with pytest.raises(ValueError, match="cannot list torchvision's models: .*name one that has torch"):
        torchvision_models.names(sys.executable if not importlib.util.find_spec("torchvision") else "false")


def test_measuring_torchvision_starts_nothing_after_its_time_limit(tmp_path, capsys):
    kept = log.Log(tmp_path / log.NAME)
    settings = torchvision_models.Settings("false", 60, 1 << 30)
    assert torchvision_models.run(kept, ["a", "b"], dataclasses.replace(settings, until=0)) == 0
    assert kept.rows == {}
    assert "a by torchscript and what follows: not begun" in capsys.readouterr().out
    torchvision_models.run(kept, ["a", "b"], settings)
    assert len(kept.rows) == 4


def test_a_torchvision_model_beyond_its_limits_is_ended():
    command = [sys.executable, "-c", "import time; kept = bytearray(1 << 28); time.sleep(600)"]
    assert torchvision_models.stage(command, torchvision_models.Settings("", 600, 1 << 27))[1].endswith("GiB of memory")
    assert torchvision_models.stage(command, torchvision_models.Settings("", 0.1, 1 << 40)) == ("", "stopped after 0.1 s")
    fails = [sys.executable, "-c", "import sys; print('told'); print(' by the way', file=sys.stderr); raise ValueError('why')"]
    assert torchvision_models.stage(fails, torchvision_models.Settings("", 60, 1 << 40)) == ("told\n", "ValueError: why")


def detections(boxes=6):
    """Outputs of a mask and key point network: boxes, labels, scores, masks, key points."""
    draw = np.random.default_rng(0)
    corners = draw.random((boxes, 2)) * 50
    return [np.concatenate([corners, corners + 40], 1), np.arange(boxes) % 3, np.linspace(0.9, 0.1, boxes), draw.random((boxes, 1, 8, 8)), draw.random((boxes, 17, 3)) * 100]


def test_reordered_boxes_are_compared_with_their_partners():
    expected = detections()
    order = [1, 0, 2, 3, 5, 4]
    assert answers.judged([array[order] for array in expected], expected) == {"boxes": 6, "found": 6, "difference": 0}
    got = [array.copy() for array in expected]
    got[3] += 0.003
    row = answers.judged(got, expected)
    assert row["found"] == 6 and 0.003 < row["difference"] < 0.004
    assert answers.is_right(row) and answers.told(row) == "as torch"


@pytest.mark.parametrize("what", ["corner", "label", "score", "mask", "key point", "fewer", "twice"])
def test_a_different_box_is_not_matched(what):
    expected = detections()
    got = [array.copy() for array in expected]
    if what == "fewer":
        got = [array[:-1] for array in got]
    elif what == "twice":  # one box of ours matches one of torch's
        for array in got:
            array[1] = array[0]
    else:
        place = {"corner": 0, "label": 1, "score": 2, "mask": 3, "key point": 4}[what]
        got[place][2] += {"corner": 9, "label": 1, "score": 0.05, "mask": 0.02, "key point": 5}[what]
    row = answers.judged(got, expected)
    assert (row["found"], row["boxes"]) == (5, 6)
    assert answers.is_right(row | {"rival_found": 5}) and answers.is_right(row | {"rival_found": 6}) and not answers.is_right(row | {"found": 4, "rival_found": 6})
    assert answers.told(row | {"rival_found": 5}) == "5 of 6 boxes as torch, onnxruntime 5"


def test_what_the_rival_misses_excuses_half_of_the_boxes_at_most():
    assert answers.is_right({"boxes": 20, "found": 18, "rival_found": 20})
    assert answers.is_right({"boxes": 20, "found": 10, "rival_found": 11})
    assert not answers.is_right({"boxes": 20, "found": 9, "rival_found": 2})
    assert answers.told({"boxes": 20, "found": 9, "rival_found": 2}) == "**no**: 9 of 20 boxes as torch, onnxruntime 2"
    assert answers.is_right({"boxes": 0, "found": 0})


def test_outputs_other_than_boxes_have_one_bound():
    expected = [np.linspace(-1, 1, 7)]
    row = answers.judged([expected[0] + 0.002], expected)
    assert not answers.is_right(row | {"rival": 0.5}) and answers.told(row) == "**no**"
    assert answers.is_right(answers.judged([expected[0] + 0.0009], expected))
    row = answers.judged([expected[0][:5]], expected)
    assert not answers.is_right(row) and answers.told(row) == "**no**: sizes [[5]], expected [[7]]"
    assert answers.is_right(answers.judged([np.zeros((0, 4))], [np.zeros((0, 4))]))


def test_torchvision_refuses_options_of_other_networks():
    done = subprocess.run([sys.executable, SCRIPT, "--torchvision", "--device", "cuda:0", "--time"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--device, --time: only for the zoo's networks" in done.stderr


@pytest.mark.parametrize("name", ["squeezenet1_1", "raft_small"])
def test_a_sample_of_torchvision_agrees_with_torch(name):
    pytest.importorskip("torchvision", reason="torchvision's models are exported with torch, which is no requirement")
    row = torchvision_models.row_of(name, "torchscript", torchvision_models.Settings(sys.executable, 500, 8 << 30))
    assert answers.is_right(row), torchvision_models.told(row)
