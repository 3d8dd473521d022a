"""Compares every operator of ONNX, version by version and attribute by attribute, with onnxruntime, onnx.reference and, where it is installed, PyTorch.

python tests/definitions/run.py                   # all, some minutes
python tests/definitions/run.py -k 'Resize-1[19]' # some, by a pattern of their names
python tests/definitions/run.py --every 9         # every ninth, as the tests do
"""

import argparse
import collections
import multiprocessing
import os
import re
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "build" / "python")]

from definitions.case import every_case, uncovered  # noqa: E402
from definitions.check import Verdict, judge  # noqa: E402
from definitions.differences import DIFFERENCES  # noqa: E402
from definitions.torch_functions import installed  # noqa: E402

CASES = []


def judge_number(number: int) -> Verdict | None:
    warnings.simplefilter("ignore")
    return judge(CASES[number])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", metavar="REGEX", help="only cases whose name it matches: Operator-version(inputs){attributes}")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth case")
    parser.add_argument("--workers", type=int, default=min(os.cpu_count() or 1, 2))
    parser.add_argument("--known", action="store_true", help="also show the differences listed in tests/definitions/differences.py")
    options = parser.parse_args()
    for line in uncovered():
        print(f"no case: {line}")
    CASES.extend([case for case in every_case() if re.search(options.k, case.name)][:: options.every])
    counts: collections.Counter[str] = collections.Counter()
    needed: set[str] = set()
    with multiprocessing.get_context("fork").Pool(options.workers) as pool:
        for verdict in pool.imap(judge_number, range(len(CASES)), chunksize=8):
            if verdict is None:
                counts["not run by any oracle, or not a valid model"] += 1
                continue
            needed.update(verdict.known.values())
            counts["failed" if verdict.failed else "right"] += 1
            counts.update(f"agrees with {oracle}" for oracle in verdict.agreed)
            counts.update(f"differs from {oracle} as listed" for oracle in verdict.known)
            if verdict.failed:
                print(verdict, flush=True)
            if options.known:
                for oracle, reason in verdict.known.items():
                    print(f"{verdict.case.name}: {oracle} differs: {reason}")
    stale = [entry.reason for entry in DIFFERENCES if entry.reason not in needed] if not options.k and options.every == 1 else []
    for reason in stale:
        print(f"no case has this listed difference any more: {reason}")
    for what, count in sorted(counts.items()):
        print(f"{count} {what}")
    if installed() is None:
        print("torch is not installed: not compared with it")
    return 1 if counts["failed"] or stale or uncovered() else 0


if __name__ == "__main__":
    sys.exit(main())
