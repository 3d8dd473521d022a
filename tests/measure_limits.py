"""Worst-case time and memory of builds and runs under their limits, each in a child process:

builds: `lanner build` of tests/python/support/large_models.py with some thousand parts
runs:   one run of each of tests/python/support/large_runs.py
growth: builds of some thousand parts and of four times as many: processor time and memory of both, and their growth

With --write the tables of docs/limits.md are updated (builds and runs)."""

import argparse
import re
import resource
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests" / "python" / folder) for folder in ("support", "hostile")]

import large_models  # noqa: E402
import test_large_models  # noqa: E402

LIMITS = {
    "none": [],
    "total_bytes=256MiB": ["--limit", "total_bytes=256MiB"],
    "seconds=2": ["--limit", "seconds=2"],
}
RUN_BYTES, RUN_SECONDS, RUN_ELEMENTS = 256 << 20, 2, 1 << 26


def builds(parts, cases):
    """By limit: a list of (case, seconds, bytes)."""
    rows = {limit: [] for limit in LIMITS}
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            path = Path(folder) / f"{case}.model"
            path.write_bytes(large_models.CASES[case](parts))
            for limit, options in LIMITS.items():
                code, _, seconds, memory = test_large_models.build(path, *options)
                rows[limit].append((case, seconds, memory))
                print(f"{case} {limit}: exit {code}, {seconds:.1f} s, {memory >> 20} MiB", flush=True)
            path.unlink()
    return rows


def runs(cases):
    import test_large_runs

    limit = f"total_bytes={RUN_BYTES >> 20}MiB, seconds={RUN_SECONDS}"
    rows = {limit: []}
    for case in cases:
        said, seconds, memory = test_large_runs.run(case, RUN_ELEMENTS, RUN_BYTES, RUN_SECONDS)
        rows[limit].append((case, seconds, memory))
        print(f"{case}: {seconds:.1f} s, {memory >> 20} MiB: {said[:120]}", flush=True)
    return rows


def growth(parts, cases):
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            taken = []
            for count in (parts, 4 * parts):
                path = Path(folder) / f"{case}.model"
                path.write_bytes(large_models.CASES[case](count))
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                code, _, _, memory = test_large_models.build(path)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                taken.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, memory, code))
            (few, least, _), (many, most, code) = taken
            print(f"{case}: exit {code}, {few:.2f} s -> {many:.2f} s ({many / few:.1f} times), "
                  f"{least >> 20} MiB -> {most >> 20} MiB", flush=True)


def table(rows, head):
    lines = [f"| {head} | most memory | longest |", "|---|---|---|"]
    for limit, measured in rows.items():
        large = max(measured, key=lambda row: row[2])
        long = max(measured, key=lambda row: row[1])
        lines.append(f"| {limit} | {large[2] >> 20} MiB (`{large[0]}`) | {long[1]:.1f} s (`{long[0]}`) |")
    return "\n".join(lines)


def write(name, text):
    page = ROOT / "docs" / "limits.md"
    begin, end = f"<!-- {name} measured by tests/measure_limits.py -->", "<!-- end -->"
    before = page.read_text()
    after = re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: f"{begin}\n{text}\n{end}", before, flags=re.DOTALL)
    assert begin in before, f"docs/limits.md has no {begin}"
    page.write_text(after)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["builds", "runs", "growth"])
    parser.add_argument("--parts", type=int, default=10_000)
    parser.add_argument("--write", action="store_true", help="puts the table into docs/limits.md")
    parser.add_argument("cases", nargs="*", help="all without one")
    options = parser.parse_args()
    if options.what == "growth":
        return growth(options.parts, options.cases or large_models.CASES)
    if options.what == "builds":
        rows = builds(options.parts, options.cases or large_models.CASES)
        text = table(rows, f"limit, models of {options.parts:,} parts")
    else:
        import large_runs

        text = table(runs(options.cases or large_runs.CASES), "limits, runs of each")
    print(text)
    if options.write:
        write(options.what, text)


if __name__ == "__main__":
    main()
