"""Programs in place of the Python interpreter that Lanner starts."""

import stat


def name_interpreter(folder, monkeypatch, text):
    """Names a program in place of Python, which is given as the lines of a shell's script."""
    path = folder / "interpreter"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("LANNER_KERAS_PYTHON", str(path))
