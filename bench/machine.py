"""The machine that is measured on, and other programs' use of it."""

import datetime
import os
import pathlib
import platform
import shutil
import subprocess
import time


def facts():
    """The hardware of the measurements, without the machine's name."""
    model = next(
        (line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")),
        platform.machine(),
    )
    found = {"date": datetime.date.today().isoformat(), "cpu": model, "cores": len(os.sched_getaffinity(0)), "python": platform.python_version()}
    if shutil.which("nvidia-smi"):
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        found["gpu"], found["driver"] = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0].split(", ")
    return found


def seconds_in_use():
    """Processor time of the cores that this process may use since the machine started, without waiting and a hypervisor's share."""
    cores, ticks = {f"cpu{core}" for core in os.sched_getaffinity(0)}, 0
    with open("/proc/stat", encoding="ascii") as file:
        for name, *fields in map(str.split, file):
            if name in cores:
                user, nice, system, _idle, _wait, irq, soft = map(int, fields[:7])
                ticks += user + nice + system + irq + soft
    return ticks / os.sysconf("SC_CLK_TCK")


def seconds_of(process):
    """Processor time that it used; none for one that has ended."""
    try:
        fields = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Others:
    """`with Others(processes) as others:` then `others.cores`: mean number of cores used during the block by programs that are
    neither this process nor one of those pids. The machine is quiet if that is near 0."""

    def __init__(self, processes):
        self.processes, self.cores = [os.getpid(), *processes], 0.0

    def now(self):
        return time.monotonic(), seconds_in_use() - sum(map(seconds_of, self.processes))

    def __enter__(self):
        self.begun = self.now()
        return self

    def __exit__(self, *exception):
        (start, before), (end, after) = self.begun, self.now()
        # The counters have steps of hundredths of a second, and do not change together.
        self.cores = max(0.0, after - before) / max(end - start, 0.01)
