"""Processes that load one core each, like other programs on the machine; as a script it is one of them.

They run at the parent's priority and in the same session: some kernels divide time between sessions first, and a
process of another session would get more or less than its share.
"""

import ctypes
import os
import pathlib
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1  # From linux/prctl.h.
READY = "busy"


def end_with_parent(parent):
    """The kernel ends this process when `parent` (its pid), which started it, ends for whatever reason."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # The parent ended before the call.
        os._exit(1)


class Busy:
    """`with Busy(2):` two cores are loaded from the first line of the block to its end, however it ends."""

    def __init__(self, count):
        self.count, self.processes = count, []

    def __enter__(self):
        try:
            for _ in range(self.count):
                self.processes.append(start())
            for process in self.processes:
                if process.stdout.readline().strip() != READY:
                    raise RuntimeError(f"a busy process did not start: exit code {process.wait()}, expected a running process")
        except BaseException:
            self.stop()
            raise
        return self

    def check(self):
        """Raises if one has ended, as measurements in the meantime are invalid."""
        for process in self.processes:
            if process.poll() is not None:
                raise RuntimeError(f"a busy process ended while it was needed, by exit code {process.returncode}: measure again")

    def stop(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
            process.stdout.close()

    def __exit__(self, *exception):
        self.stop()


def start():
    command = [sys.executable, pathlib.Path(__file__).resolve(), str(os.getpid())]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)


def main():
    end_with_parent(int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches every process of the terminal: this one ends silently.
    print(READY, flush=True)
    number = 1
    while True:
        number = (number * 1103515245 + 12345) & 0x7FFFFFFF


if __name__ == "__main__":
    main()
