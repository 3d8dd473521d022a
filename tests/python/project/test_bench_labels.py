"""`./dev bench run` on an existing clip and a trivial network: its rows, also for systems that are
missing or wrong."""

import argparse
import sys
from pathlib import Path

import pytest
from command import color_classifier
from run_support import needs_ffmpeg

BENCH = Path(__file__).resolve().parents[3] / "bench"
sys.path.insert(0, str(BENCH))

import labels  # noqa: E402
import table  # noqa: E402
import video  # noqa: E402


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    make_small_clip(folder / f"libx264-{video.FRAMES}.mp4")
    options = argparse.Namespace(device="cpu", run_batch=8, run_input="input", pairs=2, clips=folder)
    return {row["rival_name"]: row for row in labels.measure(folder, color_classifier(folder / "model.onnx", size=224), options)}


def make_small_clip(path):
    import lanner
    import numpy as np

    with lanner.VideoWriter(str(path), width=64, height=48, codec="libx264", fps=25) as writer:
        for number in range(21):
            writer.write(np.full((48, 64, 3), (10 * number, 120, 250 - 10 * number), np.uint8))


@needs_ffmpeg
def test_rows_compare_the_command_with_the_loop_and_decoding(rows):
    for name in ("loop in Python", "decoding alone"):
        (row,) = [row for rival, row in rows.items() if rival.startswith(name)]
        assert row["ratio"] > 0 and len(row["own_times"]) == len(row["rival_times"]) == 2
        assert "lanner run, 21 frames, whole process" in row["lanner"]


@needs_ffmpeg
def test_missing_rival_is_skipped_with_the_reason(rows):
    row = rows["PyNvVideoCodec and torch.compile"]
    assert "a GPU" in row["skipped"]
    assert f"skipped: {row['skipped']}" in table.video_table(list(rows.values()))


def test_differing_labels_fail_the_row():
    assert labels.same_labels([1, 2, 3, 4], [1, 2, 3, 5]) == 0.75
    assert labels.same_labels([1, 2], [1]) == 0
