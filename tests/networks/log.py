"""The log of measurements: JSON lines; the last line with a key wins."""

import json
from collections.abc import Iterator
from pathlib import Path

NAME = "log.jsonl"
Row = dict
KEY = ("what", "network", "label", "machine", "device", "precision", "budget", "threads")
# Float64 runs are machine-independent; the rival's errors do not depend on Lanner's settings.
EVERYWHERE = {"oracle": ("what", "network", "label"), "rival": ("what", "network", "label", "device", "precision"), "torchvision": ("what", "network", "exporter")}


def key_of(row: Row) -> tuple:
    return tuple(row.get(name) for name in EVERYWHERE.get(row["what"], KEY))


def read(paths: list[Path]) -> dict[tuple, Row]:
    rows = {}
    for path in paths:
        if not path.exists():
            raise ValueError(f"--log: {path.parent} holds no {path.name}; give folders that measurements wrote")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                row = json.loads(line)
                rows[key_of(row)] = row
            except (ValueError, KeyError) as error:
                raise ValueError(f"{path}, line {number}: expected a row of measurements, got {line[:60]!r}; remove the line") from error
    return rows


class Log:
    """A file to which rows are appended, and its content."""

    def __init__(self, path: Path):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rows = read([path]) if path.exists() else {}

    def has(self, row: Row) -> bool:
        return key_of(row) in self.rows

    def find(self, row: Row) -> Row | None:
        return self.rows.get(key_of(row))

    def add(self, row: Row) -> None:
        """Written with one call, as several runs may write to one log."""
        self.rows[key_of(row)] = row
        with open(self.path, "ab", buffering=0) as file:
            file.write((json.dumps(row) + "\n").encode())


def of_kind(rows: dict[tuple, Row], what: str) -> Iterator[Row]:
    return (row for row in rows.values() if row["what"] == what)
