"""Runs the tests of ./dev test and prints their total as the last line."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORES = len(os.sched_getaffinity(0))
BINARIES = ["lanner_tests", "lanner_fake_libraries_tests", "lanner_fake_driver_tests"]
LONGEST = """
hostile/test_large_models.py
tensorflow/test_trt_convert.py
tensorflow/test_inside_tensorflow.py
models/test_onnx_suite.py
models/test_networks.py
tensorflow/test_operators.py
engine/test_build_cost.py
models/test_onnxruntime_files.py
tensorflow/test_keras_models.py
project/test_cookbook.py
video/test_video_memory.py
video/test_pixel_formats.py
cli/test_pages.py
project/test_install.py
""".split()
"""Files of tests that take longest: those which start first, so that no core waits for one of them in the end."""


@dataclass
class Outcome:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    reasons: dict[str, int] = field(default_factory=dict)

    def fail(self, name: str) -> None:
        self.failed += 1
        self.failures.append(name)

    def skip(self, reason: str) -> None:
        self.skipped += 1
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def add(self, other: "Outcome") -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures
        for reason, count in other.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + count

    def line(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def exit_code(self) -> int:
        """1 if a test failed, 2 if none ran (a filter without matches, a broken build)."""
        if self.failed:
            return 1
        return 0 if self.passed else 2


def heading(text: str) -> None:
    print(f"==> {text}", file=sys.stderr, flush=True)


def run_checks() -> Outcome:
    """Each check is a script that prints what is wrong and returns non-zero."""
    outcome = Outcome()
    for script in ["tools/check_layers.py", "tools/check_names.py", "tools/check_operator_names.py"]:
        heading(f"check: {script}")
        if subprocess.run([sys.executable, str(ROOT / script)], cwd=ROOT).returncode == 0:
            outcome.passed += 1
        else:
            outcome.fail(script)
    return outcome


def read_gtest(report: dict) -> Outcome:
    """From GoogleTest's JSON report."""
    outcome = Outcome()
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            if test.get("failures"):
                outcome.fail(f"{suite['name']}.{test['name']}")
            elif test["result"] == "SKIPPED":
                outcome.skipped += 1
            elif test["result"] == "COMPLETED":
                outcome.passed += 1
    return outcome


class GtestOutput:
    """Follows the binary's output: shows important lines, keeps reasons of skips and the running test."""

    QUIET = (
        "Running main()", "Note: Google Test filter", "[ RUN      ]", "[       OK ]", "[  SKIPPED ]", "[----------]",
        "[==========]", "[  PASSED  ]",
    )

    def __init__(self) -> None:
        self.running = ""
        self.reasons: dict[str, int] = {}
        self.after_skip = False

    def feed(self, line: str) -> None:
        if line.startswith("[ RUN      ]"):
            self.running = line.split("]", 1)[1].strip()
        elif line.startswith(("[       OK ]", "[  FAILED  ]", "[  SKIPPED ]")):
            self.running = ""
        if self.after_skip and line.strip():
            self.reasons[line.strip()] = self.reasons.get(line.strip(), 0) + 1
        was_skip = self.after_skip
        self.after_skip = line.rstrip().endswith(": Skipped")
        if line.strip() and not (was_skip or self.after_skip or line.startswith(self.QUIET)):
            print(line, end="", flush=True)


class Shard:
    """One of several processes that share the tests of a binary (GoogleTest's own sharding)."""

    def __init__(self, binary: Path, index: int, count: int, pattern: str) -> None:
        self.name = binary.name
        self.report = binary.parents[1] / f"{binary.name}-{index}.json"
        self.report.unlink(missing_ok=True)
        self.output = GtestOutput()
        self.command = [str(binary), f"--gtest_output=json:{self.report}"]
        if pattern:
            self.command.append("--gtest_filter=" + ":".join(f"*{part}*" for part in pattern.split("|")))
        self.environment = os.environ | {"GTEST_TOTAL_SHARDS": str(count), "GTEST_SHARD_INDEX": str(index)}
        self.process: subprocess.Popen[str] | None = None

    def run(self) -> Outcome:
        process = subprocess.Popen(self.command, cwd=ROOT, stdout=subprocess.PIPE, text=True, errors="replace", env=self.environment)
        self.process = process
        assert process.stdout
        with process.stdout:
            for line in process.stdout:
                self.output.feed(line)
        return read_shard(self, process.wait())

    def stop(self) -> None:
        if self.process:
            self.process.terminate()


def read_shard(shard: Shard, status: int) -> Outcome:
    """If the process died, the running test has failed."""
    outcome = Outcome()
    if shard.report.exists():
        outcome.add(read_gtest(json.loads(shard.report.read_text())))
    outcome.reasons = shard.output.reasons
    if status != 0 and not outcome.failed:
        how = f"died with {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        outcome.fail(f"{shard.name} {how} in {shard.output.running or 'no test'}")
    return outcome


def shards_of(build: Path, name: str, pattern: str, count: int) -> list[Shard]:
    binary = build / "bin" / name
    if not binary.exists():
        heading(f"C++: {binary} was not built: there are no C++ tests")
        return []
    heading(f"C++ tests: {name}")
    return [Shard(binary, index, count, pattern) for index in range(count)]


def run_gtest(build: Path, names: list[str], pattern: str, processes: int = CORES, shards: int = 2 * CORES) -> Outcome:
    """The tests of some binaries, in as many processes at a time as there are cores. There are more shards than cores, so that no core
    has nothing to do for long while another runs the last one."""
    every = [shard for name in names for shard in shards_of(build, name, pattern, shards)]
    outcome = Outcome()
    with ThreadPoolExecutor(processes) as threads:
        try:
            for part in threads.map(Shard.run, every):
                outcome.add(part)
        except KeyboardInterrupt:  # The threads end with their processes.
            threads.shutdown(wait=False, cancel_futures=True)
            for shard in every:
                shard.stop()
            raise
    return outcome


def read_junit(path: Path) -> Outcome:
    """From pytest's JUnit report; an error in a fixture or at import counts as a failure."""
    outcome = Outcome()
    for case in ElementTree.parse(path).iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.fail(f"{case.get('classname')}::{case.get('name')}")
        elif skipped is not None:
            outcome.skip(skipped.get("message", ""))
        else:
            outcome.passed += 1
    return outcome


def test_files() -> list[Path]:
    """In the order in which they start."""
    folder = ROOT / "tests" / "python"
    first = [folder / name for name in LONGEST]
    return first + sorted(set(folder.rglob("test_*.py")) - set(first))


def names_tests(argument: str) -> bool:
    return not argument.startswith("-") and (ROOT / argument.partition("::")[0]).exists()


def run_pytest(build: Path, pattern: str, extra: list[str]) -> Outcome:
    outcome = Outcome()
    heading("Python tests")
    report = build / "pytest.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}"]
    # Tests of a file share what they built, so files are what processes share out. A debugger needs the terminal.
    if not {"-s", "--pdb", "-n"} & set(extra):
        command += ["-n", str(CORES), "--dist", "loadfile", "--no-loadscope-reorder"]
    if pattern:
        command += ["-k", pattern.replace("|", " or ")]
    if not any(map(names_tests, extra)):
        extra = [*extra, *map(str, test_files())]
    status = subprocess.run(command + extra, cwd=ROOT).returncode
    if report.exists():
        outcome.add(read_junit(report))
    nothing_collected = 5
    if status not in (0, nothing_collected) and not outcome.failed:
        outcome.fail(f"pytest ended with status {status}")
    return outcome


def use_own_caches(folder: Path) -> None:
    """Neither do tests depend on what the user's builds have kept, nor do they add to it, and an empty cache is read in no time."""
    shutil.rmtree(folder, ignore_errors=True)
    os.environ["LANNER_CACHE_DIR"] = str(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--filter", default="", help="only tests whose name contains this")
    for part in ("cpp", "python", "checks"):
        parser.add_argument(f"--{part}", action="store_true")
    parser.add_argument("extra", nargs="*", help="for pytest")
    options = parser.parse_args()
    build = ROOT / options.build
    use_own_caches(build / "tests" / "cache")

    total = Outcome()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if options.checks and not options.filter:
            total.add(run_checks())
        if options.cpp:
            total.add(run_gtest(build, BINARIES, options.filter))
        if options.python:
            total.add(run_pytest(build, options.filter, options.extra))
    except KeyboardInterrupt:
        heading("interrupted: the tests did not run to their end")
        return 130
    for reason, count in sorted(total.reasons.items()):
        heading(f"skipped {count}: {reason}")
    for name in total.failures:
        heading(f"FAILED {name}")
    if total.exit_code() == 2:
        heading("no test ran")
    print(total.line(), flush=True)
    return total.exit_code()


if __name__ == "__main__":
    sys.exit(main())
