#!/usr/bin/env python3
"""Fails when two files define types of one name in one namespace.

The linker keeps one copy of a template's code for both, `std::vector<Span>` for instance, made for one of them: memory
is corrupted, and no compiler says so. Types of one source file belong into an anonymous namespace.
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("include", "src", "python", "tools", "tests")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"', re.DOTALL)
REST = re.compile(r"""//.*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'""")
NAMESPACE = re.compile(r"\s*(?:inline )?namespace\s*([\w:]*)\s*\{")
TYPE = re.compile(r"\s*(?:enum class|enum struct|struct|class|union|enum)\s+(\w+)\s*(?::(?!:)[^;]*|final[^;]*)?\{")


def blank(match: re.Match[str]) -> str:
    return "\n" * match.group(0).count("\n")


def types_of(text: str) -> Iterator[tuple[str, int]]:
    """Qualified names that are defined outside of anonymous namespaces and of other types, with their lines."""
    text = RAW_STRING.sub(blank, COMMENT.sub(blank, text))
    namespaces: list[str] = []
    depth = 0
    for number, line in enumerate(text.split("\n"), 1):
        code = REST.sub("", line)
        if code.lstrip().startswith("#"):
            continue
        found = TYPE.match(code)
        if found and namespaces and depth == len(namespaces) and "" not in namespaces:
            yield "::".join([*namespaces, found.group(1)]), number
        change = code.count("{") - code.count("}")
        namespace = NAMESPACE.match(code)
        if namespace and change > 0:
            namespaces.append(namespace.group(1))
        depth += change
        del namespaces[max(0, depth) :]


def check(root: Path) -> list[str]:
    places = defaultdict(list)
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".cuh"):
                for name, line in types_of(path.read_text()):
                    places[name].append(f"{path.relative_to(root)}:{line}")
    return [f"{name} is defined in {' and '.join(where)}" for name, where in sorted(places.items()) if len(where) > 1]


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks that types of one namespace have names of their own.")
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    errors = check(parser.parse_args().root)
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
