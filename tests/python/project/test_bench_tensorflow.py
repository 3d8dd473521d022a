"""The page of the networks of TF-TRT's guide."""

import json
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))
import drawn_weights as weights
import synthetic_images as synthetic
import tensorflow_networks as networks

GOOD = {
    "network": "VGG16",
    "images": 1000,
    "nodes": 61,
    "share": 1.0,
    "engines": 1,
    "difference": 2e-6,
    "accuracy": 0.95,
    "fp32": 1.0,
    "int8": 0.991,
    "int8_nodes": 12,
    "int8_candidates": 16,
}


def row(**changes):
    return networks.row_text("VGG16", GOOD | changes)


def test_rows_say_what_was_measured():
    assert row() == "| VGG16 | 1000 | 61 | 100.0 % | 1 | 2.0e-06 | 95.0 % | 100.0 % | 99.1 % | 12 of 16 |"
    assert networks.row_text("VGG16", None).startswith("| VGG16 | not measured |")
    assert row().count("|") == networks.row_text("VGG16", None).count("|")


@pytest.mark.parametrize("changes", [{"share": 0.98}, {"engines": 2}, {"difference": 2e-4}, {"accuracy": 0.8}, {"int8": 0.97}, {"int8_nodes": 0}])
def test_a_missed_bound_is_marked(changes):
    assert "**no**" in row(**changes) and "**no**" not in row()


def test_page_lists_every_network_once():
    lines = networks.page({"VGG16": GOOD}).splitlines()
    assert [line.split("|")[1].strip() for line in lines if line.startswith("| ")][1:] == networks.NAMES
    assert sum("not measured" in line for line in lines if line.startswith("| ")) == 9


def test_pictures_come_from_their_set_and_place_alone():
    images, labels = synthetic.pictures(synthetic.TEST, 45, 32)
    again, _ = synthetic.pictures(synthetic.TEST, 3, 32)
    assert images.shape == (45, 32, 32, 3) and np.array_equal(images[:3], again)
    assert list(labels[:3]) == [0, 1, 2] and set(labels) == set(range(synthetic.CLASSES))


def test_sets_share_no_picture():
    sets = [synthetic.pictures(which, 40, 16)[0] for which in (synthetic.TRAINING, synthetic.CALIBRATION, synthetic.TEST)]
    found = {image.tobytes() for images in sets for image in images}
    assert len(found) == 120


def test_pictures_of_a_class_differ_and_classes_differ_more():
    images, labels = synthetic.pictures(synthetic.TEST, 200, 24)
    coloured = images.reshape(200, -1, 3).mean(1)
    centres = np.array([coloured[labels == label].mean(0) for label in range(synthetic.CLASSES)])
    within = np.sqrt(np.square(coloured - centres[labels]).mean())
    assert 1 < within < centres.std(0).mean()


def test_kept_pictures_are_those_made_anew(tmp_path):
    made = [synthetic.cached(tmp_path, synthetic.CALIBRATION, 5, 16)[0] for _ in range(2)]
    assert np.array_equal(made[0], made[1]) and np.array_equal(made[0], synthetic.pictures(synthetic.CALIBRATION, 5, 16)[0])
    assert [path.name for path in tmp_path.iterdir()] == ["calibration-16-5.npy"]


def test_a_step_that_was_done_is_not_repeated(tmp_path):
    calls = []
    for _ in range(2):
        assert networks.resumed(tmp_path / "row.json", lambda: calls.append(1) or {"share": 1.0}) == {"share": 1.0}
    assert calls == [1]


DRAWN = {
    "1": [{"shape": [3, 3, 2, 4], "fan_in": 18}],
    "5": [{"shape": [3, 3, 4, 1], "fan_in": 9}, {"shape": [6, 5], "fan_in": 6, "divisor": [1, 2, 3, 4, 5]}],
}


def saved_model(folder):
    """With each variable twice, and one kernel that was changed after it was drawn."""
    drawn = {place: list(weights.kernels(int(place), of)) for place, of in DRAWN.items()}
    drawn["5"][0] = drawn["5"][0] + 1
    variables = b"between".join(kernel.tobytes() for of in drawn.values() for kernel in of)
    (folder / weights.VARIABLES).parent.mkdir(parents=True)
    (folder / weights.VARIABLES).write_bytes(b"head" + variables + variables + b"tail")
    (folder / "saved_model" / "saved_model.pb").write_bytes(b"graph")
    (folder / "drawn.json").write_text(json.dumps(DRAWN))


def test_a_packed_model_has_its_bytes_again(tmp_path):
    saved_model(tmp_path / "a")
    assert weights.pack(tmp_path / "a", tmp_path / "a.tar.xz") == 2
    weights.unpack(tmp_path / "a.tar.xz", tmp_path / "b")
    for path in ("saved_model/saved_model.pb", weights.VARIABLES, "drawn.json"):
        assert (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes()


def test_packed_models_leave_drawn_kernels_out(tmp_path):
    saved_model(tmp_path / "a")
    weights.pack(tmp_path / "a", tmp_path / "a.tar.xz")
    with tarfile.open(tmp_path / "a.tar.xz") as tar:
        data = tar.extractfile(str(weights.VARIABLES)).read()
    first, changed = (next(weights.kernels(int(place), DRAWN[place])) for place in ("1", "5"))
    assert first.tobytes() not in data and (changed + 1).tobytes() in data


def test_kernels_are_smooth_and_have_their_variance():
    (kernel,) = weights.kernels(3, [{"shape": [3, 3, 40, 50], "fan_in": 360}])
    assert kernel.var() == pytest.approx(2 / 360, rel=0.1)
    between = np.corrcoef(kernel[0, 0].ravel(), kernel[2, 1].ravel())[0, 1]
    assert between == pytest.approx(weights.COMMON**2 / (1 + weights.COMMON**2), abs=0.05)
