"""Searches for graphs whose results in Lanner differ from those in onnxruntime or onnx.reference.

    python tests/random_graphs/run.py --count 1000             # seeds 0 to 999
    python tests/random_graphs/run.py --family conv --seconds 60
    python tests/random_graphs/run.py --replay random-graphs/123

Each failure is reduced and saved under --out: SEED.onnx, SEED.npz with its inputs, SEED.txt with the failure."""

import argparse
import itertools
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

# Set before anything is imported that reads them: no tactics from the user's cache, no threads besides the
# workers.
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, help="number of seeds (100; unlimited where --seconds is given)")
    parser.add_argument("--seeds", type=int, nargs="+", help="these instead")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no graph after so many seconds")
    parser.add_argument("--family", default="", help="a family of operators or a group of them; others appear rarely")
    parser.add_argument("--special", action="store_true", help="NaN, infinities and extreme numbers among the inputs, for which tactics may differ")
    parser.add_argument("--device", default="cpu", help="cpu or cuda:0")
    parser.add_argument("--budget", type=float, help="seconds of tuning, instead of each seed's own")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=60, help="seconds after which a graph counts as hanging, for the oracle and for Lanner each")
    parser.add_argument("--out", type=Path, default=Path("random-graphs"))
    parser.add_argument("--replay", type=Path, metavar="DIR/SEED", help="run a saved case again")
    parser.add_argument("--verbose", action="store_true", help="at the end list what was not compared, and why")
    return parser.parse_args()


def replay(prefix: Path, device: str) -> int:
    import onnx

    from random_graphs.cases import Case
    from random_graphs.check import check

    saved = prefix.with_suffix("") if prefix.suffix in (".onnx", ".npz", ".txt") else prefix
    case = Case.load(saved)
    print(onnx.printer.to_text(case.model), case.options, sep="\n")
    outcome = check(case)
    failure = outcome.failure
    print(f"{failure.kind}: {failure.where}: {failure.text}" if failure else f"passed: {outcome}")
    return 1 if failure else 0


def search(options: argparse.Namespace) -> int:
    from random_graphs.registry import named
    from random_graphs.session import Settings, Summary, reports, say

    if options.family:
        named(options.family)
    settings = Settings(
        family=options.family,
        special=options.special,
        device=options.device,
        budget=options.budget,
        workers=options.workers,
        seconds_a_case=options.timeout,
        out=options.out,
    )
    count = options.count if options.count is not None else None if options.seconds < float("inf") else 100
    seeds = iter(options.seeds) if options.seeds else itertools.islice(itertools.count(options.seed), count)
    summary = Summary(settings)
    for report in reports(settings, seeds, time.monotonic() + options.seconds):
        summary.add(report)
        summary.progress(say, report)
    for line in summary.lines(options.verbose):
        print(line)
    return 1 if summary.failures else 0


def main() -> int:
    options = arguments()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="lanner-random-") as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        try:
            return replay(options.replay, options.device) if options.replay else search(options)
        except ValueError as error:
            print(f"run.py: {error}", file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main())
