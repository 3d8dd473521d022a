"""Builds a model of large_runs.py, runs it once within limits, and prints what came: `ok` or the error's text, then seconds of the run and
the most bytes that the process held beyond what it held before. Arguments: the case, its size, total_bytes, seconds."""

import sys
import time

import lanner

import large_runs
import peak_memory

exec(peak_memory.OWN)  # noqa: S102


def main():
    case, count, total, seconds = sys.argv[1], *map(int, sys.argv[2:4]), float(sys.argv[4])
    limits = {"total_bytes": total, "seconds": seconds}
    model, inputs = large_runs.CASES[case](count)
    given = sum(each.nbytes for each in inputs.values())
    start, before = time.monotonic(), peak()  # noqa: F821
    try:
        engine = lanner.build(model, budget=0, threads=1, limits=limits)
        start = time.monotonic()
        outputs = engine.create_context()(inputs)
        said = "ok"
        del outputs
    except lanner.Error as error:
        said = str(error).replace("\n", " ")
    print(said)
    print(time.monotonic() - start, peak() - before, given)  # noqa: F821


main()
