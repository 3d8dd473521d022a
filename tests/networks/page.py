"""A page of tables, a section for each machine, device and precision, a row for each network: new measurements replace rows, the rest stays."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from networks import torchvision_models

HEAD = "| network | right | error | dB | build s | Lanner ms | rival ms | ratio | reference | interpreter | host |\n|---|---|---|---|---|---|---|---|---|---|---|"
WRONG = "**no**"
MACHINE = re.compile(r"(?P<machine>.*); (?P<threads>[\d or]+) threads\. \d+ of \d+ networks are right\.")


@dataclass
class Section:
    heading: str
    machine: str
    threads: set[int]
    cells: dict[str, list[str]] = field(default_factory=dict)
    """Cells of a network's row, the verdict first."""
    lists: dict[str, dict[str, str]] = field(default_factory=dict)
    """By title, a line for each network with a remark."""

    @property
    def key(self) -> tuple:
        """Threads of the host do not matter for a GPU's kernels."""
        return self.heading, self.machine, tuple(sorted(self.threads)) if self.heading.startswith("cpu") else ()

    def update(self, newer: "Section") -> None:
        self.threads |= newer.threads
        self.cells |= newer.cells
        for title in {**self.lists, **newer.lists}:
            kept = {name: text for name, text in self.lists.get(title, {}).items() if name not in newer.cells}
            self.lists[title] = kept | newer.lists.get(title, {})

    def names(self) -> list[str]:
        """Wrong networks first."""
        return sorted(self.cells, key=lambda name: (self.cells[name][0] != WRONG, name))

    def lines(self) -> Iterator[str]:
        names = self.names()
        right = sum(self.cells[name][0] != WRONG for name in names)
        yield f"## {self.heading}\n"
        yield f"{self.machine}; {' or '.join(map(str, sorted(self.threads)))} threads. {right} of {len(names)} networks are right.\n"
        yield HEAD
        yield from (f"| {' | '.join([name, *self.cells[name]])} |" for name in names)
        for title, texts in self.lists.items():
            if texts:
                yield f"\n{title}:\n"
                yield from (f"- {name}: {texts[name]}" for name in names if name in texts)
        yield ""


def read(path: Path) -> list[Section]:
    """The page's sections; empty if there is no page."""
    if not path.exists():
        return []
    own, _ = torchvision_models.parts_of(path.read_text(encoding="utf-8"))
    _, *parts = re.split(r"^## ", own, flags=re.MULTILINE)
    return [section_of(part, path) for part in parts]


def section_of(text: str, path: Path) -> Section:
    heading, machine, *lines = (line for line in text.splitlines() if line)
    found = MACHINE.fullmatch(machine)
    if not found:
        raise ValueError(f"{path}, {heading}: expected a machine and its threads, got {machine[:60]!r}; remove the section")
    section = Section(heading, found["machine"], {int(number) for number in found["threads"].split(" or ")})
    title = ""
    for line in lines:
        if line.startswith("- "):
            name, _, told = line.removeprefix("- ").partition(": ")
            section.lists[title][name] = told
        elif line.startswith("|"):
            name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            if name != "network" and not name.startswith("--"):
                section.cells[name] = cells
        else:
            title = line.removesuffix(":")
            section.lists[title] = {}
    return section


def merged(older: Iterable[Section], newer: Iterable[Section]) -> list[Section]:
    sections = {section.key: section for section in older}
    for section in newer:
        if section.key in sections:
            sections[section.key].update(section)
        else:
            sections[section.key] = section
    return [sections[key] for key in sorted(sections)]
