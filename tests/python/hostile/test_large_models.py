"""Models of very many parts (large_models.py): each is built, or refused in one line that names a limit, soon
after the limit on time and without much more memory than the limit on memory."""

import re
import resource
import subprocess
import sys
import time

import pytest

import large_models
import protobuf_records
import peak_memory
from command import COMMAND, refuse
from samples import sampled

PARTS = 40_000
MEMORY = 96 << 20  # The command holds the model as it was read beside the build, each within the limit.
PROCESS = 128 << 20  # What the command takes for any model: libraries, threads, code that is made.
SECONDS = 1
FEW = 2000
PROCESS_ALONE = 24 << 20  # What the command takes for the smallest model.
LEAST = 8 << 20  # Growth of less says nothing.
MOST_SECONDS = 40  # Others may work on this machine: what ignores the limit takes minutes or ends never.
LIMIT = r"over the limit (seconds|total_bytes|nodes|rank|depth) of"
PRODUCTS = {
    "long_function_text",  # Each call has a copy of the text, which counts.
}
REFUSED = {
    "recursive": "function F calls itself; expected functions without recursion",
    "recursive_in_branch": "function F calls itself; expected functions without recursion",
    "mutual": "function F calls itself by way of 1 others",
    "tf_recursive": "function F calls itself",
    "tf_long_answers": "the names of its 60000 results take",
    "open_concat": "dim: a sum of more than 256 terms",
    "attributes_of_one": "attribute a0 is not one of neg's",
    "long_attribute": "perm has",
}


def build(path, *options):
    """Exit code, output, seconds and peak bytes of a build in a separate process."""
    start = time.monotonic()
    command = [COMMAND, "build", path, "-o", path.with_suffix(".plan"), "--budget", "0", "--threads", "1", *options]
    process = subprocess.Popen(
        [sys.executable, "-c", peak_memory.OF_COMMAND, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS)),
    )
    peak, said = process.communicate()
    return process.returncode, said, time.monotonic() - start, int(peak)


# A sample takes each model in one of the two tests that have cases for all of them.
@pytest.mark.parametrize("case", dict.fromkeys([*sampled(large_models.CASES, every=2), *PRODUCTS]))
def test_limits_hold(tmp_path, case):
    path = tmp_path / f"{case}.model"
    path.write_bytes(large_models.CASES[case](PARTS))
    code, said, seconds, memory = build(path, "--limit", f"seconds={SECONDS}", "--limit", f"total_bytes={MEMORY}")
    lines = [line for line in said.splitlines() if not line.startswith("lanner: note: ")]
    assert (code, len(lines)) in ((0, 0), (2, 1)), (code, said[:2000])
    if code == 2:
        assert re.search(f"{LIMIT}|{re.escape(REFUSED.get(case, 'none'))}", lines[0]), lines[0][:2000]
    assert memory < 2 * MEMORY + PROCESS, f"{memory >> 20} MB"
    assert seconds < MOST_SECONDS


def test_constants_that_are_merged_are_given_back(tmp_path):
    """Also without a limit on memory: 2000 times 160 kB pass through this build."""
    path = tmp_path / "merged.model"
    path.write_bytes(large_models.CASES["large_function_constant"](PARTS))
    code, said, _, memory = build(path, "--limit", f"seconds={MOST_SECONDS // 4}")
    assert code in (0, 2), said[:2000]
    assert memory < PROCESS, f"{memory >> 20} MB"


@pytest.mark.parametrize("case", [case for case in sampled(large_models.CASES, every=2, first=1) if case not in PRODUCTS])
def test_memory_grows_with_the_file(tmp_path, case):
    """Also without a limit: four times as many parts take about four times the memory, not sixteen times."""
    held = []
    for parts in (FEW, 4 * FEW):
        path = tmp_path / f"{case}.model"
        path.write_bytes(large_models.CASES[case](parts))
        code, said, _, memory = build(path, "--limit", f"seconds={3 * SECONDS}")
        assert code in (0, 2), said[:2000]
        held.append(memory)
    assert held[1] < 8 * max(held[0] - PROCESS_ALONE, LEAST) + PROCESS_ALONE, [each >> 20 for each in held]


@pytest.mark.parametrize("case", ["initialisers_added", "inputs_read", "outputs", "split_read", "chain_of_products"])
def test_plans_of_many_parts_are_read_in_time(tmp_path, case):
    """The tables of a plan have a row for each weight, input and node."""
    path = tmp_path / f"{case}.model"
    path.write_bytes(large_models.CASES[case](20_000))
    code, said, _, _ = build(path)
    assert code == 0, said
    read = subprocess.run(
        [COMMAND, "explain", path.with_suffix(".plan")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS)),
        check=False,
    )
    assert (read.returncode, read.stderr) == (0, "")


@pytest.mark.parametrize("case", ["recursive", "recursive_in_branch", "mutual", "tf_recursive"])
def test_recursive_functions_are_rejected_at_once(tmp_path, case):
    path = tmp_path / f"{case}.model"
    path.write_bytes(large_models.CASES[case](200))
    line = refuse("build", path, "--print-ir")
    assert REFUSED[case] in line and line.count("node ") < 8, line


@pytest.mark.parametrize("case", ["chain", "outputs", "inputs", "initialisers", "metadata", "tf_chain", "caffe_chain"])
def test_memory_of_a_graph_is_counted(tmp_path, case):
    """Counts its nodes, values and names, not only the file's bytes."""
    path = tmp_path / f"{case}.model"
    path.write_bytes(large_models.CASES[case](PARTS))
    line = refuse("build", path, "--print-ir", "--limit", "total_bytes=12MiB")
    assert "over the limit total_bytes of 12582912" in line


def test_a_function_called_twice_is_no_recursion(tmp_path):
    """Calling the same function twice, in parallel and in sequence, is valid."""
    nodes = [protobuf_records.node("F", ["x"], ["a"], domain="f"), protobuf_records.node("F", ["a"], ["b"], domain="f"),
             protobuf_records.node("F", ["x"], ["c"], domain="f"), protobuf_records.node("Add", ["b", "c"], ["y"])]
    function = protobuf_records.function("F", ["p"], ["q"], [protobuf_records.node("Neg", ["p"], ["q"])])
    path = tmp_path / "twice.model"
    path.write_bytes(protobuf_records.model(protobuf_records.graph(nodes), [function]))
    code, said, _, _ = build(path)
    assert (code, said) == (0, "")
