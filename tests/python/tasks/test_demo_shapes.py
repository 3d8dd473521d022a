import json
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "demo"))
from shapes import DEMO_SEED, HELD_OUT_SEEDS, LABELS, SCENE_FRAMES, TRAIN_SEEDS, Clip, Shape, _draw_shape


def moved_pixels(a, b):
    return int((np.abs(a.astype(int) - b.astype(int)).max(axis=-1) > 40).sum())


def test_same_seed_draws_the_same_clip_in_any_order():
    first, second = Clip(5, frames=202), Clip(5, frames=202)
    numbers = [0, 150, 201]
    forward = [first[n] for n in numbers]
    backward = [second[n] for n in reversed(numbers)][::-1]
    for a, b in zip(forward, backward, strict=True):
        assert np.array_equal(a.rgb, b.rgb)
        assert a.objects == b.objects
        assert a.pts == b.pts == a.number / 30


def test_another_seed_draws_another_clip():
    a, b = Clip(5)[0], Clip(6)[0]
    assert moved_pixels(a.rgb, b.rgb) > 1000
    assert a.objects != b.objects


def test_seeds_by_purpose_are_disjoint():
    assert not set(TRAIN_SEEDS) & set(HELD_OUT_SEEDS)
    assert DEMO_SEED not in TRAIN_SEEDS
    assert DEMO_SEED not in HELD_OUT_SEEDS


@pytest.mark.parametrize("seed", [DEMO_SEED, *HELD_OUT_SEEDS[:4]])
def test_boxes_are_inside_the_frame_with_known_classes(seed):
    clip = Clip(seed)
    for n in range(len(clip)):
        objects = clip.objects(n)
        assert 2 <= len(objects) <= 5
        for item in objects:
            x0, y0, x1, y1 = item["box"]
            assert -1e-3 <= x0 < x1 <= clip.width + 1e-3
            assert -1e-3 <= y0 < y1 <= clip.height + 1e-3
            assert LABELS[item["class"]] == item["label"]


def test_demo_clip_shows_every_class():
    clip = Clip(DEMO_SEED)
    assert {o["label"] for n in range(0, 300, SCENE_FRAMES) for o in clip.objects(n)} == set(LABELS)


def test_shapes_move_between_frames():
    clip = Clip(DEMO_SEED)
    assert moved_pixels(clip[10].rgb, clip[20].rgb) > 200
    assert clip.objects(10) != clip.objects(20)


@pytest.mark.parametrize("angle", np.linspace(0, 2 * np.pi, 9))
@pytest.mark.parametrize("label", LABELS)
def test_box_is_tight_around_what_is_drawn(label, angle):
    shape = Shape(label, 40.0, np.full(3, 255, np.float32), 80.3, 70.8, 0.0, 0.0, angle, 0.0)
    canvas = np.full((150, 170, 3), 20, np.float32)
    _draw_shape(canvas, shape)
    # The shadow only darkens, so pixels brighter than the background are the shape.
    rows, columns = np.nonzero(canvas.max(axis=-1) > 60)
    drawn = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    # The soft edge of a star's point, 36 degrees wide, extends half a pixel / sin(18 degrees).
    assert np.abs(np.array(drawn) - shape.box()).max() < 2


def test_truth_file_has_a_line_a_frame(tmp_path):
    clip = Clip(9, frames=12)
    clip.write_truth(tmp_path / "truth.jsonl")
    lines = [json.loads(text) for text in (tmp_path / "truth.jsonl").read_text().splitlines()]
    assert [line["frame"] for line in lines] == list(range(12))
    assert lines[7] == {"frame": 7, "pts": 7 / 30, "objects": clip.objects(7)}


def test_frame_outside_the_clip_is_refused():
    with pytest.raises(IndexError):
        Clip(5, frames=10)[10]
    with pytest.raises(ValueError, match="0 frames"):
        Clip(5, frames=0)
