"""Faults that would end a process silently end the command with a message."""

import os
import resource
import signal
import subprocess
from pathlib import Path

import large_models
import pytest
from command import COMMAND, color_classifier, leftovers, make_clip, refuse, succeed


def within(limit, amount):
    return lambda: resource.setrlimit(limit, (amount, amount))


def test_file_beyond_the_ulimit_is_an_error(tmp_path):
    clip = make_clip(tmp_path)
    made = tmp_path / "made"
    made.mkdir()
    line = refuse("transcode", clip, made / "large.mkv", code=2, preexec_fn=within(resource.RLIMIT_FSIZE, 1024))
    assert "File too large" in line
    assert leftovers(made) == []


def test_build_out_of_memory_ends_in_one_line(tmp_path):
    model = color_classifier(tmp_path / "model.onnx")
    for megabytes in range(50, 140, 15):
        arguments = [COMMAND, "build", model, "-o", tmp_path / "m.plan", "--budget", "0", "--threads", "1"]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False, preexec_fn=within(resource.RLIMIT_AS, megabytes << 20))
        started = "error while loading shared libraries" not in done.stderr
        assert done.returncode == 0 or not started or "lanner: " in done.stderr, (megabytes, done.returncode, done.stderr)


@pytest.mark.parametrize("megabytes", [400, 1000])
def test_kernels_out_of_address_space_end_in_one_line(tmp_path, megabytes):
    """oneDNN's code takes 256 KiB of addresses a kernel; where they were refused it wrote to address 0."""
    model = tmp_path / "model.onnx"
    model.write_bytes(large_models.CASES["chain_of_convolutions"](5000))
    line = refuse("build", model, "-o", tmp_path / "m.plan", "--budget", "0", "--threads", "1", code=1, preexec_fn=within(resource.RLIMIT_AS, megabytes << 20))
    assert "memory was refused by the system" in line


def test_memory_of_kernel_code_counts_for_the_limit(tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(large_models.CASES["chain_of_convolutions"](5000))
    # The limit is met at another allocation of a kernel each time.
    for limit in ("64MiB", "67108860", "67108700"):
        line = refuse("build", model, "-o", tmp_path / "m.plan", "--budget", "0", "--threads", "1", "--limit", f"total_bytes={limit}")
        assert "node v" in line and "memory: " in line and "over the limit total_bytes" in line


def catches(process, number):
    status = Path(f"/proc/{process.pid}/status").read_text()
    (caught,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")]
    return int(caught, 16) >> (number - 1) & 1


def test_processor_fault_is_reported():
    with subprocess.Popen([COMMAND, "decode", "-", "--md5"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not catches(process, signal.SIGFPE):
            pass
        process.send_signal(signal.SIGFPE)
        _, said = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGFPE
    assert said.startswith("lanner: the processor reported a fault (SIGFPE)") and said.count("\n") == 1


def test_files_of_a_killed_command_are_removed_by_the_next(tmp_path):
    clip = make_clip(tmp_path)
    made = tmp_path / "made"
    made.mkdir()
    os.mkfifo(tmp_path / "pipe.y4m")
    with subprocess.Popen([COMMAND, "transcode", tmp_path / "pipe.y4m", made / "cut.mkv"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        with (tmp_path / "pipe.y4m").open("wb", buffering=0) as pipe:
            pipe.write(b"YUV4MPEG2 W16 H16 F25:1 Ip A1:1 C420jpeg\n" + 40 * (b"FRAME\n" + bytes(384)))
            while not leftovers(made):
                assert process.poll() is None
                pipe.write(b"FRAME\n" + bytes(384))
            process.kill()
            process.wait(timeout=300)
    assert len(leftovers(made)) == 1
    succeed("transcode", clip, made / "whole.mkv")
    assert leftovers(made, "whole.mkv") == []
