"""Peak memory of processes. `ru_maxrss` of a process counts what it was forked from: pytest, with all that earlier tests hold."""

#: Code for a process of its own: defines `peak()`, the most bytes that it has held.
OWN = """
import re
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
"""

#: Code that runs the command in sys.argv, prints the most bytes that it held, and ends as it did.
OF_COMMAND = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)
sys.exit(code if code >= 0 else 128 - code)
"""
