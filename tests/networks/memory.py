"""Memory of another process, which is ended if it is too much."""

import subprocess
import time

SECONDS_BETWEEN_LOOKS = 0.25


def resident_bytes(process: int) -> int:
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096
    except (OSError, IndexError):  # it has ended meanwhile
        return 0


def watched(process: subprocess.Popen[bytes], seconds: float, memory: int) -> str:
    """Waits for its end; returns why the wait was given up, or nothing."""
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        if time.monotonic() > deadline:
            return f"stopped after {seconds:g} s"
        if (taken := resident_bytes(process.pid)) > memory:
            return f"stopped at {taken / 2**30:.1f} GiB of memory"
        try:
            process.wait(SECONDS_BETWEEN_LOOKS)
        except subprocess.TimeoutExpired:
            pass
    return ""
