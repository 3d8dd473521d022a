"""`lanner run` and `bench` on the fake GPU, whose kernels only copy numbers: where clips are decoded, the notes about it, and bench's
separate times."""

import json
import os
import subprocess
import sys

import lanner
import numpy as np
import pytest
from command import BUILD, COMMAND, SECONDS, refuse, save_model
from onnx import helper

SPEC = ["--range", "0,1", "--size", "16x12", "--task", "none", "--budget", "0"]


@pytest.fixture(scope="module")
def fakes(tmp_path_factory):
    driver, libraries = BUILD / "lib" / "libfake_cuda.so", BUILD / "tests" / "fake_libraries"
    if not driver.exists() or not libraries.exists():
        pytest.skip("the fake driver and libraries are not built here")
    folder = tmp_path_factory.mktemp("fakes")
    # The libraries are found by their folder, what they are linked to by the loader.
    found = {"LANNER_CUDA_DRIVER": str(driver), "LANNER_LIBRARY_PATH": str(libraries), "LD_LIBRARY_PATH": str(driver.parent)}
    nodes = [helper.make_node("Transpose", ["input"], ["output"], "turn", perm=[0, 2, 3, 1])]
    model = save_model(folder / "turn.onnx", nodes, {"input": ["N", 3, 12, 16]}, {"output": ["N", 12, 16, 3]}, {}, {})
    return {"folder": folder, "model": model, "env": os.environ | found | {"LANNER_CACHE_DIR": str(folder / "cache")}}


def run(fakes, *arguments, code=0, **environment):
    done = subprocess.run(
        [COMMAND, *map(str, arguments)], env=fakes["env"] | environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def clip(fakes):
    """A codec that the fake decoder does not support."""
    path = fakes["folder"] / "clip.mkv"
    try:
        with lanner.VideoWriter(str(path), width=64, height=48, codec="ffv1", fps=25) as writer:
            for number in range(5):
                writer.write(np.full((48, 64, 3), 50 * number, np.uint8))
    except lanner.Error as error:
        pytest.skip(f"no ffv1 here: {error}")
    return path



def test_codec_unknown_to_the_gpu_is_decoded_on_the_cpu_with_a_note(fakes, clip):
    there = run(fakes, "run", fakes["model"], "-i", clip, "--device", "cuda:0", "--batch", "2", "--json", "-", *SPEC)
    here = run(fakes, "run", fakes["model"], "-i", clip, "--json", "-", "--device", "cpu", *SPEC)
    assert f"note: {clip} is decoded on the CPU (auto: " in there.stderr and "ffv1" in there.stderr
    assert "decoded on the CPU" not in here.stderr
    means = [[json.loads(line)["outputs"]["output"]["mean"] for line in done.stdout.splitlines()] for done in (there, here)]
    assert len(means[0]) == 5 and means[0] == pytest.approx(means[1], abs=1e-5)
    quiet = run(fakes, "run", fakes["model"], "-i", clip, "--device", "cuda:0", "-q", *SPEC)
    assert "decoded on the CPU" not in quiet.stderr


@pytest.mark.parametrize("options", [(), ("--device-inputs",)])
def test_bench_separates_enqueue_copies_and_compute(fakes, options):
    options = [*options, "--device", "cuda:0", "--budget", "0", "--iterations", "5", "--warmup", "1", "--shape", "input:2x3x12x16"]
    done = run(fakes, "bench", fakes["model"], "--json", *options)
    (result,) = json.loads(done.stdout)["results"]
    there = "--device-inputs" in options
    assert result["inputs"] == ("device" if there else "host")
    assert set(result["device"]) == {"enqueue", "copies", "compute"}
    assert 0 < result["device"]["enqueue"] <= result["device"]["compute"] and result["device"]["copies"] >= 0
    text = run(fakes, "bench", fakes["model"], *options).stdout
    assert "\nGPU      enqueue " in text and f"results on the {'GPU' if there else 'host'}" in text


def test_device_inputs_without_a_gpu_is_refused(fakes):
    told = refuse("bench", fakes["model"], "--device-inputs", "--device", "cpu")
    assert "--device-inputs: the network runs on the CPU, where all inputs already are; give --device cuda:0, or leave it out" in told


def rows_of(done):
    return {row["name"]: (row["state"], row["detail"]) for row in json.loads(done.stdout)["gpu"]}


def needs_kernels(fakes):
    if rows_of(run(fakes, "doctor", "--json")).get("GPU kernels"):
        pytest.skip("built without nvcc")


def device_of(fakes, plan):
    return json.loads(run(fakes, "explain", plan, "--json").stdout)["target"]["device"]


OLD = {"LANNER_FAKE_DRIVER_VERSION": "12040"}
SHORTFALL = "the driver is of CUDA 12.4, older than CUDA 13.0, which this build's GPU kernels need"


def test_a_driver_that_is_too_old_is_named_and_auto_is_the_cpu(fakes):
    needs_kernels(fakes)
    plan = fakes["folder"] / "old.plan"
    rows = rows_of(run(fakes, "doctor", "--json", code=2, **OLD))
    assert rows["driver"][0] == "MISSING" and SHORTFALL in rows["driver"][1], rows
    assert rows["cuda:0"][0] == "none", rows
    built = run(fakes, "build", fakes["model"], "-o", plan, "--budget", "0", **OLD)
    assert built.stderr.count(f"device auto is the CPU: {SHORTFALL}") == built.stderr.count(SHORTFALL) == 1, built.stderr
    assert device_of(fakes, plan) == "cpu"
    refused = run(fakes, "build", fakes["model"], "-o", plan, "--budget", "0", "--device", "cuda:0", code=2, **OLD)
    assert f"cuda:0: {SHORTFALL}" in refused.stderr, refused.stderr


def test_a_driver_that_is_new_enough_is_what_auto_takes(fakes):
    needs_kernels(fakes)
    rows, plan = rows_of(run(fakes, "doctor", "--json")), fakes["folder"] / "new.plan"
    assert rows["driver"][0] == rows["cuda:0"][0] == "ok", rows
    built = run(fakes, "build", fakes["model"], "-o", plan, "--budget", "0")
    assert "device auto" not in built.stderr
    assert device_of(fakes, plan) == "cuda:0"


def test_clips_are_decoded_on_the_cpu_where_the_driver_is_too_old(fakes, clip):
    needs_kernels(fakes)
    done = run(fakes, "run", fakes["model"], "-i", clip, "--json", "-", *SPEC, **OLD)
    assert len(done.stdout.splitlines()) == 5
    assert done.stderr.count(SHORTFALL) == 1, done.stderr
    code = f"import lanner; print(lanner.VideoReader({str(clip)!r}, device='auto'))"
    shown = subprocess.run([sys.executable, "-c", code], env=fakes["env"] | OLD, capture_output=True, text=True, timeout=SECONDS, check=True)
    assert "ffmpeg" in shown.stdout


def test_python_warns_once_of_a_driver_that_is_too_old(fakes):
    needs_kernels(fakes)
    code = f"""
import lanner, warnings
warnings.simplefilter("always")
for _ in range(2):
    print(lanner.build({str(fakes["model"])!r}, budget=0, shapes={{"input": (1, 3, 12, 16)}}, device="auto").device)
"""
    done = subprocess.run([sys.executable, "-c", code], env=fakes["env"] | OLD, capture_output=True, text=True, timeout=SECONDS, check=True)
    assert done.stdout.split() == ["cpu", "cpu"]
    assert done.stderr.count("RuntimeWarning: device auto is the CPU") == done.stderr.count(SHORTFALL) == 1, done.stderr
