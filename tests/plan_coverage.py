"""Coverage of the plan reader by plan mutations: lines of the loader, the text IR's parser and the verifier.

    cmake -B build -DLANNER_COVERAGE="$(python tests/plan_coverage.py --files)" && cmake --build build -t lanner_tests
    LANNER_PLAN_MUTATIONS=100000 build/bin/lanner_tests --gtest_filter='PlanMutations.*'
    python tests/plan_coverage.py build

`--missed` prints the lines that were not covered; `-DLANNER_COVERAGE=` turns coverage off again."""

import argparse
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES = (
    r"/src/(engine/plan_file/plan_(file|numbers|weights)|graph/(text/(parser|lexer|attribute_text|tensor_text)|type/dim_text|storage/storage_parser|verifier)"
    r"|program/lowered/(portable|joins|step_checks)|tensor/safetensors)\.cpp$"
)


def lines_of(build):
    """By file, a list of (line, times it ran), summed over all instances of a template or lambda."""
    files = {}
    for data in sorted(build.resolve().rglob("*.gcda")):
        told = subprocess.run(["gcov", "--json-format", "--stdout", data], capture_output=True, text=True, check=True, cwd=build)
        for text in told.stdout.splitlines():
            for file in json.loads(text)["files"]:
                path = Path(file["file"])
                if path.name != data.stem:
                    continue  # a header
                counts = files.setdefault(str(Path("src", *path.parts[path.parts.index("src") + 1 :])), {})
                for line in file["lines"]:
                    counts[line["line_number"]] = counts.get(line["line_number"], 0) + line["count"]
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, nargs="?", default=ROOT / "build")
    parser.add_argument("--files", action="store_true", help="prints the regular expression of the files that are measured")
    parser.add_argument("--missed", action="store_true", help="prints the lines that were not reached")
    options = parser.parse_args()
    if options.files:
        return print(FILES)
    print("| file | lines | reached |\n|---|---|---|")
    for path, counts in sorted(lines_of(options.build).items()):
        reached = sum(count > 0 for count in counts.values())
        print(f"| `{path}` | {len(counts)} | {100 * reached / len(counts):.1f} % |")
        if options.missed:
            text = (ROOT / path).read_text().splitlines()
            for number in sorted(line for line, count in counts.items() if count == 0):
                print(f"    {number}: {text[number - 1]}")


if __name__ == "__main__":
    main()
