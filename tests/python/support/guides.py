"""Python code in the project's guides, and the folder of files that it runs in."""

import re
import shutil
import subprocess
import sys

import numpy as np

from command import BUILD, ROOT, color_classifier, make_clip

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(page):
    """Blocks of a page under docs/ that run on their own: those that import what they use."""
    text = (ROOT / "docs" / page).read_text()
    return [code for code in BLOCK.findall(text) if re.match(r"(import|from) \w", code)]


def commands(page):
    """Lines of a page's blocks that call `lanner`."""
    blocks = re.findall(r"^```\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("lanner ")]


def pixels_of_a_photo(width, height):
    """Waves and noise: detail of every size."""
    y, x = np.mgrid[:height, :width]
    waves = np.stack([127 + 100 * np.sin(x / 17 + y / 31), 127 + 100 * np.cos(y / 13), 255 * x / width], -1)
    return np.clip(waves + np.random.default_rng(0).normal(0, 8, waves.shape), 0, 255).astype(np.uint8)


def make_files(folder):
    """clip.mp4, photo.png, model.onnx (`input` [N, 3, 8, 8] -> `logits` [N, 3]) and detector.onnx."""
    make_clip(folder)
    import lanner

    lanner.save_image(folder / "photo.png", lanner.Image(pixels_of_a_photo(640, 480)))
    color_classifier(folder / "model.onnx")
    shutil.copy(ROOT / "demo" / "shapes.onnx", folder / "detector.onnx")
    return folder


def run_example(code, folder):
    """In a process and a folder of its own; what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder,
        env={"PYTHONPATH": str(BUILD / "python"), "LANNER_CACHE_DIR": str(folder / "cache"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, code + done.stdout + done.stderr
    return done.stdout


def run_command(command, folder):
    """A shell's line in a folder of files."""
    environment = {"PATH": f"{BUILD / 'bin'}:/usr/bin:/bin", "LANNER_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, command + done.stdout + done.stderr
