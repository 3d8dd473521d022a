"""The hardware of the measurements, without the machine's name."""

import os
import shutil
import subprocess


def processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "an unknown processor")
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def graphics(device: str) -> str:
    """Name and driver of a GPU; `device` is cuda:N."""
    if not shutil.which("nvidia-smi"):
        return "an unknown GPU"
    query = ["nvidia-smi", f"--id={device.partition(':')[2] or 0}", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0].split(", ")
    return f"{name}, driver {driver}"


def machine(device: str) -> str:
    return processor() if device == "cpu" else graphics(device)
