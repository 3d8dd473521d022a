"""Rows of this run and of earlier ones: a log of JSON lines, and each ratio relative to the quiet machine's."""

import json

import states

SAME = ("job", "rival_name", "threads", "budget")
MACHINE = ("cpu", "cores")


class History:
    """Collects rows, and writes each to the log at once."""

    def __init__(self, path, machine):
        self.path, self.machine, self.rows, self.quiet = path, machine, [], {}
        if path and path.exists():
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                try:
                    row = json.loads(line)
                    self.note(row, row["machine"])
                except (ValueError, KeyError, TypeError) as error:
                    raise RuntimeError(f"{path}, line {number}: no row of this log ({error}); remove the line or name another file") from error

    def key(self, row, machine):
        return tuple(json.dumps(row.get(name)) for name in SAME) + tuple(machine[name] for name in MACHINE)

    def note(self, row, machine):
        if row.get("state") == states.State(states.QUIET).text and "ratio" in row:
            self.quiet[self.key(row, machine)] = row["ratio"]

    def add(self, row):
        self.note(row, self.machine)
        quiet = self.quiet.get(self.key(row, self.machine))
        if quiet is not None and "ratio" in row and row.get("state") != states.State(states.QUIET).text:
            row["share"] = row["ratio"] / quiet
        self.rows.append(row)
        if self.path:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps({"machine": self.machine, **row}) + "\n")
