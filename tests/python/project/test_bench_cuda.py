"""`./dev bench cuda`: its rows and its table, also for missing or failing systems. The measurements need a GPU."""

import argparse
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[3] / "bench"
sys.path.insert(0, str(BENCH))

import cuda  # noqa: E402
import table  # noqa: E402
from systems import Broken, Missing  # noqa: E402

SHARED = {"device": "cuda:0", "budget": None, "max_autotune": False, "both_formats": False, "seconds": 0.01, "pairs": 3}


class Answers:
    """A worker with fixed answers, instead of a process with a GPU."""

    outcome = {}
    asked = []

    def __init__(self, script):
        self.system = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        pass

    def load(self, system, job):
        self.system = system
        Answers.asked.append((system, job.get("batch")))
        found = self.outcome.get(system, {})
        if isinstance(found, Exception):
            raise found
        for written in (job["model"], job["weights"]) if system == "export" else ():
            Path(written).touch()
        return {"version": "1", "how": "default", "values": [1.0, 2.0], "build": 1.0} | found

    def ask(self, command):
        return {"seconds": {"lanner": 0.5, "inductor": 1.0}[self.system]}


def measured(folder, monkeypatch, nets="mlp", **outcome):
    monkeypatch.setattr(cuda, "Worker", Answers)
    monkeypatch.setattr(Answers, "outcome", outcome)
    rows = []
    cuda.measure(folder, argparse.Namespace(cuda_nets=nets, **SHARED), rows.append)
    return rows


def test_a_row_has_the_ratio_and_the_error(tmp_path, monkeypatch):
    (row,) = measured(tmp_path, monkeypatch)
    assert row["ratio"] == 2.0 and row["error"] == 0.0 and row["batch"] == 1
    told = table.cuda_table([row])
    assert "| mlp, batch 1, FP16 | 500.000 ms, 2/s |" in told and "geometric mean of 1 ratios: 2.00" in told
    assert not list(tmp_path.iterdir()), "the models are removed when they were measured"


def test_every_batch_of_a_network_has_a_row(tmp_path, monkeypatch):
    rows = measured(tmp_path, monkeypatch, "resnet50,mlp")
    assert [(row["network"], row["batch"]) for row in rows] == [("resnet50", 1), ("resnet50", 8), ("resnet50", 32), ("resnet50", 128), ("mlp", 1)]


def test_differing_outputs_fail_the_row(tmp_path, monkeypatch):
    (row,) = measured(tmp_path, monkeypatch, lanner={"values": [1.0, 2.5]})
    assert "ratio" not in row and "the outputs differ: by 22" in row["failed"]
    (row,) = measured(tmp_path, monkeypatch, lanner={"values": [1.0]})
    assert "1 and 2 values" in row["failed"]
    (row,) = measured(tmp_path, monkeypatch, lanner={"values": [0.0, 0.0]}, inductor={"values": [0.0, 0.0]})
    assert "only zeros" in row["failed"]


@pytest.mark.parametrize("system", ["export", "inductor", "lanner"])
def test_missing_and_broken_systems_have_rows_with_the_reason(tmp_path, monkeypatch, system):
    rows = measured(tmp_path, monkeypatch, "bert_base", **{system: Missing("torch is not installed")})
    assert [row["skipped"] for row in rows] == ["torch is not installed"] * 2
    rows = measured(tmp_path, monkeypatch, "bert_base", **{system: Broken("no GPU")})
    assert [row["failed"] for row in rows] == ["no GPU"] * 2
    assert "FAILED: no GPU" in table.cuda_table(rows)


def test_unknown_networks_are_named(tmp_path, monkeypatch):
    with pytest.raises(RuntimeError, match="no network 'resnet': expected resnet50"):
        measured(tmp_path, monkeypatch, "resnet")
