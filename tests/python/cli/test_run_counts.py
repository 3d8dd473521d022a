"""For any number of frames, pictures or boxes, `lanner run` makes all kernels before the first of them, none in the
middle of a run."""

import os
import subprocess
import sys

import pytest
from command import COMMAND, LABELS, ROOT, SECONDS, color_classifier, make_ppm

sys.path.insert(0, str(ROOT / "demo"))
import shapes  # noqa: E402

QUICK = ["--budget", "0", "--threads", "1"]
SPEC = ["--range", "0,1", "--size", "8x8"]


def chosen(*arguments):
    """Shapes that kernels were chosen for, and the answers."""
    done = subprocess.run(
        [COMMAND, *map(str, arguments)], env=os.environ | {"LANNER_LOG": "debug"}, capture_output=True, text=True,
        timeout=SECONDS, check=False,
    )
    assert done.returncode == 0, done.stderr
    told = [line.partition(": kernels for ")[2] for line in done.stderr.splitlines() if line.endswith(" are chosen")]
    return told, done.stdout.splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counts")
    (folder / "labels.txt").write_text(LABELS)
    color_classifier(folder / "model.onnx")
    (folder / "pictures").mkdir()
    for number in range(5):
        make_ppm(folder / "pictures" / f"{number}.ppm", color=(250, 50 * number, 0))
    clip = shapes.Clip(shapes.HELD_OUT_SEEDS[7], frames=7)
    with open(folder / "clip.y4m", "wb") as file:
        file.write(f"YUV4MPEG2 W{clip.width} H{clip.height} F25:1 Ip A1:1 Cmono\n".encode())
        for frame in clip:
            file.write(b"FRAME\n" + frame.rgb[:, :, 0].tobytes())
    return folder


def run(folder, inputs, *options):
    return chosen("run", folder / "model.onnx", "-i", *inputs, "--labels", folder / "labels.txt", "--json", "-", *QUICK, *SPEC, *options)


@pytest.mark.parametrize("batch", [1, 2, 5, 8])
def test_pictures_of_a_folder_make_no_late_kernels(folder, batch):
    told, answers = run(folder, [folder / "pictures"], "--batch", batch)
    assert len(told) == 1 and f"[{min(batch, 5)}]" in told[0], told
    assert len(answers) == 5


@pytest.mark.parametrize("batch", [1, 3, 7, 16])
def test_frames_of_a_clip_make_no_late_kernels(folder, batch):
    told, answers = run(folder, [folder / "clip.y4m"], "--batch", batch)
    assert len(told) == 1 and f"[{batch}]" in told[0], told
    assert len(answers) == 7


def test_clips_and_pictures_make_no_late_kernels(folder):
    told, answers = run(folder, [folder / "clip.y4m", folder / "pictures", folder / "clip.y4m"], "--batch", 4)
    assert len(told) == 1, told
    assert len(answers) == 7 + 5 + 7


def test_second_network_makes_no_late_kernels(folder):
    """The batch size and its halves, for any number of boxes."""
    detector = ROOT / "demo" / "shapes.onnx"
    then = ["--then", folder / "model.onnx", "--then-labels", folder / "labels.txt", "--then-range", "0,1", "--then-size", "8x8"]
    told, answers = chosen("run", detector, "-i", folder / "clip.y4m", "--json", "-", *QUICK, "--batch", 4, *then)
    assert len(answers) == 7
    assert len(told) == 1 + 4, told  # The detector at 4, the classifier at 8, 1, 2 and 4.
