#!/usr/bin/env python3
"""Fails when the layers above the operators name more of them than today.

Layers above the operators ask an operator's traits (src/graph/traits.h) instead of its name. This counts the
operator names that are string literals in src/ outside of the operators, importers, passes and backends, and
in the tools and the package: enumerators of `Pattern` that stand for one operator count too. The number only falls:
a change that removes one lowers `MOST`.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST = 32

# A kernel's own file, and code that recognises a pattern of operators, may name them.
EXEMPT = {"ops", "importers", "passes", "backends"}
# So does the reader of IR that was written before an operator was renamed.
FORMER = ROOT / "src" / "graph" / "text" / "former_names.h"
# Operators whose names are also ordinary words: these count only where they are compared with a node's kind, or where a
# node is created.
WORDS = {"abs", "clip", "concat", "constant", "fail", "if", "log", "loop", "max", "mean", "min", "not", "range",
         "resize", "reshape", "round", "scan", "shape", "sigmoid", "sign", "size", "softmax", "split", "sum", "where",
         "pad", "mod", "and", "or"}
LITERAL = re.compile(r'"([a-z_0-9.]+)"')
OF_NODES = re.compile(r'(?:kind\(\)|\bkind) *[!=]= *"([a-z_0-9.]+)"|(?:emit|ops\(\)\.get|made)\(\s*"([a-z_0-9.]+)"')
ENUMERATOR = re.compile(r"\bPattern::(constant|group|conversion)\b")


def operators() -> set[str]:
    """From the generated page, which a test compares with the table."""
    page = (ROOT / "docs" / "operands.md").read_text()
    return set(re.findall(r"^\| `([a-z_0-9.]+)` \|", page, re.MULTILINE))


def code_of(path: Path) -> str:
    """Without comments; line numbers stay the same."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), path.read_text(), flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", text)


def names_in(path: Path, known: set[str]) -> list[tuple[int, str]]:
    found = []
    code = code_of(path)

    def line_of(at: int) -> int:
        return code.count("\n", 0, at) + 1

    for match in LITERAL.finditer(code):
        if match.group(1) in known - WORDS:
            found.append((line_of(match.start()), match.group(1)))
    for match in OF_NODES.finditer(code):
        name = match.group(1) or match.group(2)
        if name in known & WORDS:
            found.append((line_of(match.start()), name))
    for match in ENUMERATOR.finditer(code):
        found.append((line_of(match.start()), match.group()))
    return sorted(found)


def sources() -> list[Path]:
    paths = [path for folder in sorted((ROOT / "src").iterdir()) if folder.is_dir() and folder.name not in EXEMPT
             for path in sorted(folder.rglob("*"))]
    for folder in ("tools", "python", "include"):
        paths += sorted((ROOT / folder).rglob("*"))
    return [path for path in paths if path.suffix in {".cpp", ".h", ".cu"} and path != FORMER]


def by_file() -> dict[Path, list[tuple[int, str]]]:
    known = operators()
    found = {path: names_in(path, known) for path in sources()}
    return {path: names for path, names in found.items() if names}


def main() -> int:
    found = by_file()
    count = sum(len(names) for names in found.values())
    if count == MOST:
        return 0
    for path, names in found.items():
        for line, name in names:
            print(f"{path.relative_to(ROOT)}:{line}: {name}")
    if count > MOST:
        print(f"tools/check_operator_names.py: {count} names of operators above src/ops, at most {MOST}: ask a trait of "
              "src/graph/traits.h, or add one")
    else:
        print(f"tools/check_operator_names.py: {count} names of operators are left; set MOST to {count}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
