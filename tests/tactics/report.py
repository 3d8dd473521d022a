"""Writes docs/tactics.md from logs of the sweep over tactics: `./dev sweep --report LOG...`."""

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INTRODUCTION = """# Tactics

Every way of running a node that a backend offers (a *tactic*) is tried for the problems that networks give kernels.
`./dev sweep` takes each different problem once, most used first, and for each tactic

- runs it ten times on random operands, launched and recorded where it runs on a stream, with NaN patterns and large
  numbers in outputs and workspace before each run, and in its input's memory where it may take that over; the first
  run is compared with the operator's definition within the rounding of its types, the others bit for bit with the
  first; padding must be zero and memory beside its own untouched;
- then runs it ten times in each of two contexts with different operands, on threads (and streams) of their own at the
  same time.

A tactic that ends the process or does not end is wrong too. *Untried* are those for which there was no memory.
Written by `./dev sweep --report` from the sweep's logs, where sections of other machines and libraries stay; decision
014 says what builds do with it.
"""


class Row(dict):
    """A line of a log."""

    @property
    def machine(self) -> tuple[str, str, str]:
        return self["device"], self["libraries"], self["lanner"]


def read(paths: list[Path]) -> list[Row]:
    """Of rows with one key the last counts."""
    rows = {}
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                row = Row(json.loads(line))
                row.machine, row["what"], row["verdict"]
                rows[row["key"]] = row
            except (ValueError, KeyError) as error:
                raise ValueError(f"{path}, line {number}: expected a row of a sweep, got {line[:60]!r}; remove the line") from error
    return list(rows.values())


def cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")


def table(head: list[str], rows: list[list]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell(one) for one in line) + " |" for line in lines]


def counts(tactics: list[Row]) -> list[str]:
    found = Counter((row["backend"], row["kernel"], row["precision"], row["verdict"]) for row in tactics)
    rows = []
    for kernel in sorted({key[:3] for key in found}):
        of = {verdict: found[(*kernel, verdict)] for verdict in ("right", "wrong", "untried")}
        rows.append([*kernel, sum(of.values()), *of.values()])
    rows.append(["all", "", "", len(tactics), *(sum(row[column] for row in rows) for column in (4, 5, 6))])
    return table(["backend", "kernel", "precision", "offered", "right", "wrong", "untried"], rows)


def failures(rows: list[Row], verdict: str) -> list[str]:
    chosen = [row for row in rows if row["verdict"] == verdict]
    if not chosen:
        return []
    lines = []
    for row in sorted(chosen, key=lambda row: (row.get("backend", ""), row.get("kernel", ""), row["reason"], row["problem"])):
        what = " ".join([row.get("backend", row["what"]), row.get("kernel", ""), row.get("precision", ""), row.get("config", "")])
        stored = f"{', '.join(row['inputs'])} -> {', '.join(row['outputs'])}" if "inputs" in row else ""
        lines.append([" ".join(what.split()), stored, row["problem"], ", ".join(row["networks"]), row["reason"]])
    return ["", f"### {verdict.capitalize()}", "", *table(["tactic", "stored as", "problem", "networks", "reason"], lines)]


def named(what: str, networks: set[str]) -> list[str]:
    return [f"{what}: {', '.join(sorted(networks))}."] if networks else []


def section(machine: tuple[str, str, str], rows: list[Row]) -> list[str]:
    device, libraries, lanner = machine
    tactics = [row for row in rows if row["what"] == "tactic"]
    built = {name for row in rows if row["what"] == "build" for name in row["networks"]}
    whole = {name for row in rows for name in row["networks"]} - built
    problems = len({row["problem"] for row in tactics})
    return [
        device,
        "",
        f"Lanner {lanner}; {libraries or 'no libraries'}; {problems} different problems.",
        *named("All tactics of", whole),
        *named("What builds take, and the runners-up, of", built),
        "",
        *counts(tactics),
        *failures(rows, "wrong"),
        *failures(rows, "untried"),
    ]


def key_of(text: str) -> tuple[str, str]:
    """The machine of a section, and Lanner's and the libraries' versions."""
    heading, _, facts = text.partition("\n\n")
    return heading, facts.partition("\n")[0].rpartition("; ")[0]


def sections_of(page: Path) -> dict[tuple[str, str], str]:
    if not page.exists():
        return {}
    _, *parts = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {key_of(part): part.rstrip("\n") for part in parts}


def document(rows: list[Row], older: dict[tuple[str, str], str]) -> str:
    """Of the rows' machines, and what an older page has of others."""
    made = ("\n".join(section(machine, [row for row in rows if row.machine == machine])) for machine in sorted({row.machine for row in rows}))
    sections = older | {key_of(text): text for text in made}
    return INTRODUCTION + "".join(f"\n## {sections[key]}\n" for key in sorted(sections))


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev sweep --report", description=__doc__)
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOG")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "tactics.md")
    options = parser.parse_args()
    try:
        rows = read(options.logs)
    except (OSError, ValueError) as error:
        print(f"sweep: {error}", file=sys.stderr)
        return 2
    if not rows:
        print("sweep: the logs hold no rows: nothing is written", file=sys.stderr)
        return 2
    options.output.write_text(document(rows, sections_of(options.output)), encoding="utf-8")
    wrong = sum(row["verdict"] == "wrong" for row in rows)
    print(f"{options.output}: {len(rows)} rows, {wrong} wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main())
