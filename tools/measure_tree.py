#!/usr/bin/env python3
"""Figures of the source tree: files and lines by folder, lengths of functions, names of operators above the operators,
folders with many files, and duplicated texts. `--json` is for comparing two trees by another script.

Lengths are counted from a function's first line to its closing brace, of functions with a body of their own in C++ and
of `def` in Python. A text is duplicated where ten consecutive lines, without blanks and comments, are equal.
"""

import argparse
import ast
import collections
import json
import re
import sys
from pathlib import Path

import check_operator_names

ROOT = check_operator_names.ROOT
PARTS = ("include", "src", "python", "tools", "tests", "bench", "demo")
CODE = {".cpp", ".h", ".cu", ".inc", ".py", ".js", ".css", ".html"}
MANY = 40
CLONE_LINES = 10
# A header or the start of a function's body in the style of .clang-format: at column 0, or two columns deep in a class.
OPENS = re.compile(r"^( {0,4})\S.*\)( const| noexcept| override| final| mutable|\s*->\s*[\w:<>,\s&*]+|\s*:\s.*)*\s*\{$")
NO_FUNCTION = re.compile(r"^\s*(:|if|for|while|switch|else|do|catch|namespace|struct|class|enum|union|return|\}|TEST)")


def files() -> list[Path]:
    return [path for part in PARTS for path in sorted((ROOT / part).rglob("*"))
            if path.is_file() and path.suffix in CODE and "corpus" not in path.parts
            and not any(name.startswith((".", "out", "__")) for name in path.relative_to(ROOT).parts)]


def folder_of(path: Path) -> str:
    return str(path.relative_to(ROOT).parent)


def cpp_functions(text: str) -> list[int]:
    lengths = []
    lines = text.split("\n")
    for i, line in enumerate(lines):
        found = OPENS.match(line)
        if not found or NO_FUNCTION.match(line):
            continue
        close = found.group(1) + "}"
        for k in range(i + 1, len(lines)):
            if lines[k].startswith(close) and not lines[k].startswith(close + " "):
                lengths.append(k - i + 1)
                break
    return lengths


def python_functions(text: str) -> list[int]:
    return [node.end_lineno - node.lineno + 1 for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def share(values: list[int], part: float) -> int:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0


def clones(texts: dict[Path, str]) -> list[tuple[str, str, int]]:
    """(file, file, lines) for each pair of files that share that many lines."""
    seen: dict[tuple[str, ...], tuple[Path, int]] = {}
    pairs: collections.Counter = collections.Counter()
    for path, text in texts.items():
        if path.suffix not in {".cpp", ".h", ".cu"}:
            continue
        lines = [line.strip() for line in text.split("\n")]
        lines = [line for line in lines if len(line) > 3 and not line.startswith(("//", "#", "*", "\"", "{\""))]
        for i in range(len(lines) - CLONE_LINES + 1):
            window = tuple(lines[i:i + CLONE_LINES])
            first = seen.setdefault(window, (path, i))
            if first[0] != path or first[1] + CLONE_LINES <= i:
                pairs[first[0], path] += 1
    return [(str(a.relative_to(ROOT)), str(b.relative_to(ROOT)), count + CLONE_LINES - 1)
            for (a, b), count in pairs.most_common()]


def figures() -> dict:
    texts = {path: path.read_text(errors="replace") for path in files()}
    counts: collections.Counter = collections.Counter()
    lines: collections.Counter = collections.Counter()
    lengths: dict[str, list[int]] = {"C++": [], "Python": []}
    for path, text in texts.items():
        counts[folder_of(path)] += 1
        lines[folder_of(path)] += text.count("\n")
        if path.suffix in {".cpp", ".h", ".cu"}:
            lengths["C++"] += cpp_functions(text)
        elif path.suffix == ".py":
            lengths["Python"] += python_functions(text)
    names = check_operator_names.by_file()
    by_folder: collections.Counter = collections.Counter()
    for path, found in names.items():
        by_folder[folder_of(path)] += len(found)
    return {
        "folders": {name: {"files": counts[name], "lines": lines[name]} for name in sorted(counts)},
        "functions": {language: {"count": len(all_), "median": share(all_, 0.5), "p90": share(all_, 0.9),
                                 "longest": max(all_, default=0), "over 60": sum(length > 60 for length in all_)}
                      for language, all_ in lengths.items()},
        "names of operators": dict(by_folder.most_common()),
        "folders over 40 files": {name: counts[name] for name in sorted(counts) if counts[name] > MANY},
        "clones": clones(texts),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--json", action="store_true", help="all figures as JSON")
    found = figures()
    if parser.parse_args().json:
        json.dump(found, sys.stdout, indent=1)
        return 0
    total = {key: sum(folder[key] for folder in found["folders"].values()) for key in ("files", "lines")}
    print(f"{total['files']} files, {total['lines']} lines in {len(found['folders'])} folders")
    for language, lengths in found["functions"].items():
        print(f"{language}: {lengths['count']} functions, median {lengths['median']} lines, p90 {lengths['p90']}, "
              f"longest {lengths['longest']}, {lengths['over 60']} over 60")
    print(f"names of operators above src/ops: {sum(found['names of operators'].values())}")
    for name, count in found["names of operators"].items():
        print(f"  {count:4} {name}")
    print(f"folders with more than {MANY} files: {len(found['folders over 40 files'])}")
    for name, count in found["folders over 40 files"].items():
        print(f"  {count:4} {name}")
    print(f"pairs of files that share {CLONE_LINES} lines or more: {len(found['clones'])}")
    for a, b, count in found["clones"][:20]:
        print(f"  {count:4} {a} {b}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
