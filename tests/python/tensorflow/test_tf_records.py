"""lanner tf eval on files that TensorFlow wrote."""

import json
import subprocess
from pathlib import Path

from command import succeed
from tensorflow_python import PYTHON, needs_tensorflow

import lanner


@needs_tensorflow
def test_records_of_tensorflow_give_its_accuracy(tmp_path):
    made = subprocess.run([PYTHON, Path(__file__).with_name("record_data.py"), tmp_path], capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr[-4000:]
    wanted = json.loads((tmp_path / "answers.json").read_text())["top1"]
    arguments = ["--data", tmp_path / "validation-*", "--preset", "imagenet-tf", "--budget", "0", "--json", "--batch", "3"]
    for more, engines in (([], 1), (["--native"], 0), (["--precision", "bf16"], 1)):
        found = json.loads(succeed("tf", "eval", tmp_path / "saved", *arguments, *more))
        assert (found["images"], found["engines"]) == (40, engines)
        assert abs(found["top1"] - wanted) < (1e-9 if "bf16" not in more else 0.2)
    assert len(list(lanner.tf.records(tmp_path / "validation-*"))) == 40
