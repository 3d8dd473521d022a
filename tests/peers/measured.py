"""Measurements of a model, and their log: JSON lines; the last line of a model wins."""

import json
import os
import pickle
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers import child, differences, one_model
from peers.wheels import Model

Row = dict[str, Any]


@dataclass(frozen=True)
class Bounds:
    """Limits of each process: seconds, bytes of memory."""

    seconds: float
    memory: int


def key_of(row: Row) -> tuple[str, str, str]:
    return row["package"], row["version"], row["model"]


def measure(model: Model, cache: Path, bounds: Bounds) -> Row:
    """`built`, `error` where known; `refused`: why Lanner's build or run failed; `skipped`: why there is no comparison."""
    row: Row = {"package": model.package, "version": model.version, "model": model.name}
    folder = model.path.parent / "answers"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="lanner-peers-", dir=cache) as own:
        environment = {**os.environ, "XDG_CACHE_HOME": own, "LANNER_CACHE_DIR": own}
        expected = expectation(model, folder, bounds, environment)
        if "failure" in expected:
            return {**row, "skipped": f"onnxruntime: {shown(expected['failure'], model)}"}
        (folder / one_model.FOUND).unlink(missing_ok=True)
        facts = child.facts_of("run", model.path, folder, bounds.seconds, bounds.memory, environment)
    row |= {"built": "build_seconds" in facts, "sizes": expected["sizes"], "quantized": expected["quantized"]}
    row |= {name: facts[name] for name in ("build_seconds", "first_seconds", "peak") if name in facts}
    if "failure" in facts:
        return {**row, "refused": shown(facts["failure"], model)}
    if not expected["steady"]:
        return {**row, "skipped": "random: onnxruntime's own two runs differ"}
    try:
        row["error"] = differences.error_between(answers(folder / one_model.FOUND), answers(folder / one_model.EXPECTED))
    except differences.Apart as apart:
        row["refused"] = str(apart)
    return row


def expectation(model: Model, folder: Path, bounds: Bounds, environment: dict[str, str]) -> Row:
    """onnxruntime's part, which is stored."""
    kept = folder / "expected.json"
    if kept.exists():
        return dict(json.loads(kept.read_text()))
    facts = child.facts_of("expect", model.path, folder, bounds.seconds, bounds.memory, environment)
    if "failure" not in facts:
        kept.write_text(json.dumps(facts))
    return facts


def answers(path: Path) -> Any:
    return pickle.loads(path.read_bytes())


def shown(failure: str, model: Model) -> str:
    """Without this machine's folders."""
    return re.sub(r"\S*/" + re.escape(model.path.name), model.path.name, failure)


class Log:
    def __init__(self, path: Path):
        self.path = path
        self.rows: dict[tuple[str, str, str], Row] = {}
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                self.keep(row)
            except (ValueError, KeyError, TypeError):
                raise ValueError(f"{path}, line {number}: expected a row of measurements, got {line[:60]!r}; remove the line") from None

    def keep(self, row: Row) -> None:
        """A package has either one row without a model, which says why, or rows of models."""
        package, _, model = key_of(row)
        self.rows = {key: old for key, old in self.rows.items() if key[0] != package or (bool(key[2]) == bool(model) and key[1] == row["version"])}
        self.rows[key_of(row)] = row

    def add(self, row: Row) -> None:
        """Written with one call, so that an interrupt leaves whole lines."""
        self.keep(row)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab", buffering=0) as file:
            file.write((json.dumps(row) + "\n").encode())
