"""What a build takes at worst under its limits: tests/python/large_models.py with some thousand parts, each by
`lanner build` in a process of its own. With --write the table of docs/limits.md is made of it."""

import argparse
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))

import large_models  # noqa: E402
import test_large_models  # noqa: E402

BEGIN, END = "<!-- measured by tests/measure_limits.py -->", "<!-- end -->"
LIMITS = {
    "none": [],
    "total_bytes=256MiB": ["--limit", "total_bytes=256MiB"],
    "seconds=2": ["--limit", "seconds=2"],
}


def measure(parts, cases):
    """By limit: a list of (case, seconds, bytes, whether it was refused)."""
    rows = {limit: [] for limit in LIMITS}
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            path = Path(folder) / f"{case}.model"
            path.write_bytes(large_models.CASES[case](parts))
            for limit, options in LIMITS.items():
                code, _, seconds, memory = test_large_models.build(path, *options)
                rows[limit].append((case, seconds, memory, code != 0))
                print(f"{case} {limit}: exit {code}, {seconds:.1f} s, {memory >> 20} MiB", flush=True)
            path.unlink()
    return rows


def table(rows, parts):
    lines = [
        f"| limit, models of {parts:,} parts | most memory of the process | longest |",
        "|---|---|---|",
    ]
    for limit, measured in rows.items():
        large = max(measured, key=lambda row: row[2])
        long = max(measured, key=lambda row: row[1])
        lines.append(f"| {limit} | {large[2] >> 20} MiB (`{large[0]}`) | {long[1]:.1f} s (`{long[0]}`) |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", type=int, default=20_000)
    parser.add_argument("--write", action="store_true", help="puts the table into docs/limits.md")
    parser.add_argument("cases", nargs="*", default=list(large_models.CASES))
    options = parser.parse_args()
    text = table(measure(options.parts, options.cases), options.parts)
    print(text)
    if options.write:
        page = ROOT / "docs" / "limits.md"
        begin, end = map(re.escape, (BEGIN, END))
        found = re.sub(f"{begin}.*{end}", f"{BEGIN}\n{text}\n{END}", page.read_text(), flags=re.DOTALL)
        page.write_text(found)


if __name__ == "__main__":
    main()
