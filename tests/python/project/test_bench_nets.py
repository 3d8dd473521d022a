"""`./dev bench nets` with trivial systems: which process runs what under which load, and the rows."""

import argparse
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[3] / "bench"
sys.path.insert(0, str(BENCH))

import cgroup  # noqa: E402
import history  # noqa: E402
import jobs  # noqa: E402
import nets  # noqa: E402
import pairs  # noqa: E402
import systems  # noqa: E402
import table  # noqa: E402

SECONDS = 60
PAIRS, RUNS = 2, nets.LEAST_RUNS

# Each run writes a line: its system, its pid, the number of busy processes, its cgroups.
FAKES = f"""
import os, pathlib, sys
sys.path.insert(0, {str(BENCH)!r})
import worker
LOG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runs")

def busy():
    count = 0
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            count += parent == str(os.getppid()) and b"busy.py" in (folder / "cmdline").read_bytes()
        except OSError:
            pass
    return count

def fake(name, factor=1.0):
    def runner(job, feed):
        print("a library greets")
        def run():
            groups = ";".join(open("/proc/self/cgroup").read().split())
            with open(LOG, "a") as file:
                file.write(f"{{name}}\\t{{os.getpid()}}\\t{{busy()}}\\t{{groups}}\\n")
            return [feed["input"] * factor]
        return run
    return runner

def refuses(job, feed):
    raise ValueError("operator Frobnicate:\\n not known")

def dies(job, feed):
    runs = [lambda: os._exit(3), lambda: [feed["input"]]]
    return lambda: runs.pop()()

def absent(job, feed):
    raise ModuleNotFoundError("No module named 'torch'", name="torch")

def lacks(job, feed):
    raise worker.Missing("it has no " + job["precision"])

def needs_another(job, feed):
    raise ModuleNotFoundError("No module named 'onnx'", name="onnx")

KINDS = dict(lacks=lacks, refuses=refuses, dies=dies, absent=absent, needs_another=needs_another, wrong=fake("wrong", 2.0), nan=fake("nan", float("nan")))
worker.RUNNERS = {{name: fake(name) for name in worker.RUNNERS}}
worker.RUNNERS.update((name, KINDS[kind]) for name, kind in REPLACED.items())
worker.serve(worker.Systems())
"""


class Bench:
    """A run with such systems; returns the rows."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.rows = folder, []
        np.savez(folder / "feed.npz", input=np.ones((2, 3), np.float32))
        self.job = jobs.Job("tiny", 2, folder / "tiny.onnx", folder / "feed.npz")
        self.replace({})
        monkeypatch.setattr(systems, "SCRIPT", folder / "fakes.py")

    def replace(self, replaced):
        (self.folder / "fakes.py").write_text(FAKES.replace("REPLACED", repr(replaced)))

    def options(self, **given):
        usual = {"threads": 1, "budget": 0.0, "seconds": 0.0, "pairs": PAIRS, "burst": 1, "busy": [0], "same_process": False, "quota": []}
        return argparse.Namespace(**usual | {"rivals": ["onnxruntime", "openvino"]} | given)

    def measure(self, **given):
        nets.measure_one(self.job, self.options(**given), self.rows.append)
        return self.rows

    def runs(self):
        """Lines of the log: system, process, busy processes, cgroups."""
        path = self.folder / "runs"
        return [line.split("\t") for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def bench(tmp_path, monkeypatch):
    return Bench(tmp_path, monkeypatch)


def said(rows, *names):
    return [tuple(row.get(name) for name in names) for row in rows]


# --- Precisions ---


def test_each_precision_is_a_job(monkeypatch, tmp_path):
    job = jobs.Job("tiny", 2, tmp_path / "tiny.onnx", tmp_path / "feed.npz")
    monkeypatch.setattr(jobs, "standard", lambda *_: [job])
    monkeypatch.setattr(jobs, "zoo", lambda *_: [jobs.Skipped("other", "it is missing")])
    found = list(jobs.chosen(tmp_path, argparse.Namespace(precision=["fp32", "int8"])))
    assert [one.label for one in found] == ["tiny, batch 2", "tiny, batch 2, int8", "other"]


def test_a_system_without_the_precision_is_skipped(bench):
    bench.job = dataclasses.replace(bench.job, precision="bf16")
    bench.replace({"onnxruntime": "lacks"})
    rows = bench.measure()
    assert said(rows, "job", "precision", "rival_name", "skipped") == [
        ("tiny, batch 2, bf16", "bf16", "onnxruntime", "it has no bf16"),
        ("tiny, batch 2, bf16", "bf16", "openvino", None),
    ]


# --- States ---


def test_a_quiet_run_has_a_row_for_each_rival(bench):
    rows = bench.measure()
    assert said(rows, "job", "state", "rival_name") == [("tiny, batch 2", "quiet", "onnxruntime"), ("tiny, batch 2", "quiet", "openvino")]
    for row in rows:
        assert row["lanner_runs"]["count"] == row["rival_runs"]["count"] == PAIRS * RUNS
        assert 0 < row["lanner_runs"]["p50"] <= row["lanner_runs"]["p99"] <= row["lanner_runs"]["max"]
        assert len(row["own_times"]) == len(row["rival_times"]) == PAIRS
        assert row["ratio"] > 0
        assert row["others"] >= 0


def test_systems_run_in_processes_of_their_own(bench):
    bench.measure(rivals=["onnxruntime"])
    processes = {name: {process for who, process, *_ in bench.runs() if who == name} for name in ("lanner", "onnxruntime")}
    assert all(len(found) == 1 for found in processes.values())
    assert processes["lanner"] != processes["onnxruntime"]


def test_busy_processes_are_there_while_a_system_is_measured_and_only_then(bench):
    rows = bench.measure(busy=[0, 1, 2], rivals=["onnxruntime"])
    assert said(rows, "state") == [("quiet",), ("1 busy process",), ("2 busy processes",)]
    beside = [int(count) for name, _, count, _ in bench.runs() if name == "lanner"]
    measured = PAIRS * (RUNS + 1)  # The first run of each measurement is not counted.
    assert beside == [0] * (1 + measured) + [1] * measured + [2] * measured


@pytest.mark.parametrize("burst", [1, 2])
def test_systems_in_one_process_alternate(bench, burst):
    rows = bench.measure(busy=[], same_process=True, burst=burst, rivals=["openvino"])
    assert said(rows, "state", "rival_name") == [("one process, in turn", "openvino")]
    runs = bench.runs()
    assert len({process for _, process, *_ in runs}) == 1
    order = [name for name, *_ in runs]
    assert order[:2] == ["openvino", "lanner"]  # Loaded in this order.
    bursts = [order[at : at + burst] for at in range(2, len(order), burst)]
    assert all(len(set(names)) == 1 for names in bursts)
    of_a_pair = len(bursts) // PAIRS
    first, second = ([names[0] for names in bursts[at : at + of_a_pair]] for at in (0, of_a_pair))
    assert first == ["lanner", "openvino"] * (of_a_pair // 2)
    assert second == ["openvino", "lanner"] * (of_a_pair // 2)
    counted = (of_a_pair // 2 - 1) * burst * PAIRS
    assert rows[0]["lanner_runs"]["count"] == rows[0]["rival_runs"]["count"] == counted >= PAIRS * RUNS


def test_each_system_has_a_cgroup_of_its_own(bench):
    rows = bench.measure(busy=[], quota=[0.5], rivals=["onnxruntime"])
    assert said(rows, "state") == [("quota of 0.5 cores",)]
    if "skipped" in rows[0]:
        pytest.skip(rows[0]["skipped"])
    groups = {name: {text for who, _, _, text in bench.runs() if who == name} for name in ("lanner", "onnxruntime")}
    assert all(len(found) == 1 and f"lanner-bench-{os.getpid()}-" in next(iter(found)) for found in groups.values())
    assert groups["lanner"] != groups["onnxruntime"]


def test_without_cgroups_rows_of_quotas_are_skipped_with_the_reason(bench, monkeypatch):
    nowhere = cgroup.Machine("proc /proc proc rw 0 0\n", "0::/\n")
    monkeypatch.setattr(cgroup, "Machine", lambda: nowhere)
    rows = bench.measure(quota=[0.5, 1])
    quiet, limited = rows[:2], rows[2:]
    assert all("ratio" in row for row in quiet)
    assert said(limited, "state") == [("quota of 0.5 cores",)] * 2 + [("quota of 1 core",)] * 2
    assert all("none with the controller cpu is mounted" in row["skipped"] for row in limited)


def test_a_cgroup_that_cannot_be_entered_is_skipped_with_the_reason(bench, monkeypatch, tmp_path):
    class Closed:
        folder = tmp_path / "closed"

    closed = systems.Worker()
    with closed, pytest.raises(cgroup.NoCgroup, match="cannot enter a cgroup: FileNotFoundError"):
        closed.enter(Closed)


# --- What goes wrong ---


def test_after_an_error_a_worker_is_ended_at_once(bench):
    with systems.Worker() as whole:
        whole.load("lanner", {"feed": str(bench.job.feed)})
    assert whole.process.returncode == 0
    with pytest.raises(ValueError, match="something"), systems.Worker() as cut:
        cut.load("lanner", {"feed": str(bench.job.feed)})
        raise ValueError("something")
    assert cut.process.returncode == -signal.SIGKILL


def test_a_rival_that_is_not_installed_is_skipped(bench):
    bench.replace({"torch": "absent"})
    rows = bench.measure(busy=[0, 1], same_process=True, rivals=["torch", "openvino"])
    assert said(rows, "rival_name", "state", "skipped") == [
        ("torch", "quiet", "torch is not installed"),
        ("torch", "1 busy process", "torch is not installed"),
        ("openvino", "quiet", None),
        ("openvino", "1 busy process", None),
        ("torch", "one process, in turn", "torch is not installed"),
        ("openvino", "one process, in turn", None),
    ]


@pytest.mark.parametrize(
    "kind, why",
    [
        ("refuses", "openvino: ValueError: operator Frobnicate: not known"),
        ("dies", "openvino ended with exit code 3"),
        ("needs_another", "openvino: ModuleNotFoundError: No module named 'onnx'"),
        ("wrong", "Lanner's and openvino's answers differ: the sums of the first output are 6 and 12"),
        ("nan", "Lanner's and openvino's answers differ: the sums of the first output are 6 and nan"),
    ],
)
def test_failing_rival_fails_only_its_rows(bench, kind, why):
    bench.replace({"openvino": kind})
    rows = bench.measure(busy=[0, 1], rivals=["openvino", "onnxruntime"])
    assert said(rows, "rival_name", "state", "failed") == [
        ("openvino", "quiet", why),
        ("openvino", "1 busy process", why),
        ("onnxruntime", "quiet", None),
        ("onnxruntime", "1 busy process", None),
    ]


@pytest.mark.parametrize("kind, why", [("refuses", "lanner: ValueError: operator Frobnicate: not known"), ("dies", "lanner ended with exit code 3")])
def test_failing_lanner_fails_every_row(bench, kind, why):
    bench.replace({"lanner": kind})
    rows = bench.measure(busy=[0, 1])
    assert len(rows) == 4
    assert {row["failed"] for row in rows} == {why}


# --- Networks ---


def test_a_missing_zoo_is_skipped_with_the_reason(tmp_path, monkeypatch):
    pytest.importorskip("onnx", reason="the zoo is read with onnx")
    list(jobs.zoo(tmp_path, argparse.Namespace(zoo="", batch=[1])))
    sys.path.append(str(BENCH.parent / "tests"))
    from networks import catalogue

    monkeypatch.setattr(catalogue, "ZOO", tmp_path / "nothing")
    found = list(jobs.zoo(tmp_path, argparse.Namespace(zoo="small", batch=[1])))
    assert [one.label for one in found] == list(jobs.SMALL)
    assert all("the zoo is missing" in one.reason for one in found)


def test_networks_of_the_zoo(tmp_path):
    pytest.importorskip("onnx", reason="the zoo is read with onnx")
    if not (jobs.SHARED / "data" / "zoo").is_dir():
        pytest.skip("no networks at ../shared/data/zoo")
    found = []
    for job in jobs.zoo(tmp_path, argparse.Namespace(zoo="cl_lstm_tagger", batch=[1, 3])):
        assert job.model.exists()
        with np.load(job.feed) as feed:
            found.append((job.label, {name: array.shape[0] for name, array in feed.items()}))
    assert [label for label, _ in found] == ["cl_lstm_tagger, batch 1", "cl_lstm_tagger, batch 3"]
    assert all(set(sizes.values()) == {batch} for (_, sizes), batch in zip(found, (1, 3), strict=True))
    assert not list(tmp_path.glob("*.onnx"))
    skipped = list(jobs.zoo(tmp_path, argparse.Namespace(zoo="tv_squeezenet1_1", batch=[2])))
    assert skipped == [jobs.Skipped("tv_squeezenet1_1, batch 2", "its batch size is fixed at 1")]
    with pytest.raises(RuntimeError, match="no network frobnicate"):
        list(jobs.zoo(tmp_path, argparse.Namespace(zoo="frobnicate", batch=[1])))


# --- Rows, logs and tables ---


def row(state, ratio, **given):
    runs = {"count": 100, "p50": 0.001, "p90": 0.002, "p99": 0.0025, "max": 0.01}
    facts = {"job": "tiny, batch 1", "state": state, "rival_name": "onnxruntime", "threads": 2, "budget": None, "built": "default, 1.0 s"}
    return facts | {"lanner": "1.00 ms, 1000/s", "rival": "1.10 ms, 909/s", "ratio": ratio, "interval": [ratio, ratio], "lanner_runs": runs, "rival_runs": runs, "others": 0.05} | given


MACHINE = {"cpu": "a processor", "cores": 2, "date": "2026-01-01"}


def test_percentiles_are_times_that_were_measured():
    times = [float(number) for number in range(100, 0, -1)]
    assert pairs.spread(times) == {"count": 100, "p50": 50.0, "p90": 90.0, "p99": 99.0, "max": 100.0}
    assert pairs.spread([3.0]) == {"count": 1, "p50": 3.0, "p90": 3.0, "p99": 3.0, "max": 3.0}


def test_row_has_its_share_of_the_quiet_ratio():
    rows = history.History(None, MACHINE)
    rows.add(row("1 busy process", 1.0))
    rows.add(row("quiet", 1.25))
    rows.add(row("1 busy process", 1.0))
    rows.add(row("1 busy process", 1.0, rival_name="openvino"))
    assert [found.get("share") for found in rows.rows] == [None, None, 0.8, None]


def test_quiet_rows_of_the_log_count_where_machine_and_job_are_the_same(tmp_path):
    path = tmp_path / "log.jsonl"
    earlier = history.History(path, MACHINE)
    earlier.add(row("quiet", 3.0))
    earlier.add(row("quiet", 2.0))
    earlier.add({"job": "other", "state": "", "rival_name": "", "skipped": "the zoo is missing"})
    history.History(path, MACHINE | {"cores": 4}).add(row("quiet", 5.0))
    later = history.History(path, MACHINE | {"date": "2026-01-02"})
    later.add(row("1 busy process", 1.0))
    later.add(row("1 busy process", 1.0, threads=4))
    assert [found.get("share") for found in later.rows] == [0.5, None]
    written = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(written) == 6
    assert written[4]["share"] == 0.5
    assert written[4]["machine"]["date"] == "2026-01-02"


@pytest.mark.parametrize("line", ["{", "[]", '{"job": "a"}'])
def test_invalid_log_line_is_named(tmp_path, line):
    path = tmp_path / "log.jsonl"
    history.History(path, MACHINE).add(row("quiet", 3.0))
    with open(path, "a") as file:
        file.write(line)
    with pytest.raises(RuntimeError, match="log.jsonl, line 2: no row of this log .*remove the line"):
        history.History(path, MACHINE)


def test_report_text():
    rows = [
        row("quiet", 2.0),
        row("quiet", 1.5, rival_name="openvino"),
        row("1 busy process", 1.8, share=0.9),
        row("1 busy process", 1.5, share=1.0, rival_name="openvino"),
        {"job": "tiny, batch 1", "state": "quota of 1 core", "rival_name": "openvino", "skipped": "no a|b"},
        {"job": "tiny, batch 1", "state": "quiet", "rival_name": "torch", "failed": "it ended"},
    ]
    text = table.report(rows, [])
    lines = text.splitlines()
    columns = {line.replace("\\|", "").count("|") for line in lines if line.startswith("|")}
    assert len(columns) == 1
    assert "| tiny, batch 1 | 1 busy process | 1.00 ms, 1000/s | 1, 2.5 ms | onnxruntime | 1.10 ms, 909/s | 1, 2.5 ms | **1.80** (1.80 to 1.80) | 0.90 | default, 1.0 s |" in lines
    assert "1 busy process: 0.90 of the quiet ratio or more (tiny, batch 1, onnxruntime), median 0.95 over 2; Lanner's p99 at most 2.50 times its median (tiny, batch 1, 100 runs)" in lines
    assert "DISTURBED" not in text
    assert "skipped: no a\\|b" in text
    assert "FAILED: it ended" in text
    assert lines[-1].endswith("over 1 networks and batches, quiet: 1.50")


def test_report_shows_disturbance_by_other_programs():
    text = table.report([row("quiet", 2.0), row("quiet", 2.0, others=1.25, rival_name="openvino")], [])
    assert "DISTURBED: other programs used up to 1.25 cores while it was measured (tiny, batch 1, openvino)" in text


# --- The command ---


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["nets", "--busy", "some"], "argument --busy: expected numbers of processes such as 0,1,2, got 'some'"),
        (["nets", "--quota", "0"], "argument --quota: expected cores such as 0.5 or 0.5,1"),
        (["nets", "--rivals", "nobody"], "no rival 'nobody': expected onnxruntime, openvino, torch"),
        (["nets", "--batch", "0"], "argument --batch: expected sizes such as 1,8, got '0'"),
        (["nets", "--pairs", "0"], "argument --pairs: expected a whole number from 1 on, got '0'"),
        (["video", "--busy", "1"], "got the suite video alone; add nets"),
        (["nest"], "unknown suite nest; known are cuda, encode, nets, run, video"),
    ],
)
def test_wrong_options_are_refused(arguments, message):
    done = subprocess.run([sys.executable, BENCH / "run.py", *arguments], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 2
    assert message in done.stderr


def children(process):
    """Pids of the processes that it started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, parent, *_ = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if parent == str(process):
            found.append(int(stat.parent.name))
    return found


def program(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def command(bench, *arguments):
    """bench/run.py with the fake systems and one job."""
    script = f"""
import pathlib, sys
sys.path.insert(0, {str(BENCH)!r})
import jobs, run, systems
folder = pathlib.Path({str(bench.folder)!r})
systems.SCRIPT = folder / "fakes.py"
jobs.chosen = lambda *_: [jobs.Job("tiny", 2, folder / "tiny.onnx", folder / "feed.npz")]
sys.exit(run.main())
"""
    return [sys.executable, "-c", script, "nets", "--seconds", "0", *arguments]


def test_the_command_prints_a_table_and_writes_rows(bench, tmp_path):
    arguments = ["--pairs", "2", "--busy", "0,1", "--log", tmp_path / "log.jsonl", "--json", tmp_path / "all.json"]
    done = subprocess.run(command(bench, *map(str, arguments)), capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    assert "| tiny, batch 2 | 1 busy process |" in done.stdout
    written = json.loads((tmp_path / "all.json").read_text())
    assert said(written["rows"], "state", "rival_name") == [
        ("quiet", "onnxruntime"),
        ("1 busy process", "onnxruntime"),
        ("quiet", "openvino"),
        ("1 busy process", "openvino"),
    ]
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["ratio"] for line in lines] == [found["ratio"] for found in written["rows"]]


def test_a_failed_row_fails_the_command(bench):
    bench.replace({"openvino": "refuses"})
    done = subprocess.run(command(bench, "--pairs", "1"), capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 1
    assert "FAILED: openvino: ValueError" in done.stdout


@pytest.mark.parametrize(
    "stop",
    [
        pytest.param(lambda process: os.killpg(process.pid, signal.SIGINT), id="Ctrl-C, which a terminal sends to all"),
        pytest.param(lambda process: process.terminate(), id="SIGTERM"),
    ],
)
def test_interrupted_command_leaves_no_process(bench, stop):
    arguments = command(bench, "--pairs", "1000000", "--busy", "1")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        end = time.monotonic() + SECONDS
        while not any(int(count) for _, _, count, _ in bench.runs()[:-1]):  # The last line may be incomplete.
            assert running.poll() is None, running.stderr.read()
            assert time.monotonic() < end, "nothing is measured beside a busy process"
            time.sleep(0.05)
        started = children(running.pid)
        assert sum(b"busy.py" in program(process) for process in started) == 1
        stop(running)
        output, errors = running.communicate(timeout=SECONDS)
    assert running.returncode == 130
    assert errors.splitlines() == ["a library greets", "a library greets", "bench: interrupted"]
    assert not any(b"busy.py" in program(process) or b"fakes.py" in program(process) for process in started)
