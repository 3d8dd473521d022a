"""The command `lanner` as a console script: replaces this process by the program that the package carries."""

import os
import sys
from pathlib import Path


def command_path() -> Path:
    """In an installed wheel beside this file; in a build folder two levels up."""
    package = Path(__file__).parent
    candidates = [package / "bin" / "lanner", package.parents[1] / "bin" / "lanner"]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(
        f"lanner: the command is missing: expected {candidates[0]}; reinstall the package, or run ./dev build"
    )


def main() -> None:
    try:
        path = command_path()
    except FileNotFoundError as error:
        sys.exit(str(error))
    os.execv(path, ["lanner", *sys.argv[1:]])


if __name__ == "__main__":
    main()
