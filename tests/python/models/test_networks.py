"""The tool that runs every network of the zoo, on a few fast ones, and whether it detects faults."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="networks are read with onnx")
pytest.importorskip("onnxruntime", reason="results are compared with onnxruntime")
pytest.importorskip("lanner")
from onnx import numpy_helper  # noqa: E402

TESTS = Path(__file__).resolve().parents[2]
SCRIPT = TESTS / "networks" / "run.py"
sys.path.insert(0, str(TESTS))

from networks import apart, catalogue, comparison, jobs, log, memory, page, pieces, session, table, verdict  # noqa: E402
from networks.jobs import Job  # noqa: E402

needs_zoo = pytest.mark.skipif(not catalogue.ZOO.is_dir(), reason="no networks at ../shared/data/zoo")
SAMPLE = ["hf_bert", "cl_lstm_tagger", "tv_mobilenet_v3_small", "tv_ssdlite320"]


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """From the log: results and models are computed once."""
    return tmp_path_factory.mktemp("networks")


# --- The networks ---


@needs_zoo
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("budget", [0, 1])
@pytest.mark.parametrize("name", SAMPLE)
def test_a_network_is_right(folder, name, budget):
    outcome = run("--nets", name, "--budget", budget, "--log", folder)
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stderr.endswith("none failed\n")
    rows = [row for row in log.of_kind(log.read([folder / log.NAME]), "check") if row["network"] == name and row["budget"] == budget]
    expected = {"exported"} | ({"before choices"} if name == "tv_ssdlite320" else set()) | ({"other", "several shapes"} if name in ("hf_bert", "cl_lstm_tagger") else set())
    assert {row["label"] for row in rows} == expected
    assert all(row["outputs"] for row in rows)


@needs_zoo
@pytest.mark.parametrize("name", SAMPLE[:3])
def test_by_torch_it_is_the_same(folder, name):
    pytest.importorskip("torch", reason="PyTorch is the rival on GPUs and not installed here")
    from networks.answers import Store
    from networks.torch_run import TorchNetwork

    store, network = Store(folder), catalogue.Network(name)
    for case in network.cases():
        store.compute(network, case, lambda name: None)
        feed = store.feed(network, case)
        results = TorchNetwork(onnx.load(store.model(network)), feed, "fp32", "cpu").run(feed)
        assert all(found["error"] < 1e-4 and not found["unlike"] for found in comparison.distances(results, store.answers(network, case)).values())


@needs_zoo
def test_a_detector_before_its_choices_is_run_by_torch(folder):
    """And the rest by onnxruntime, from there on."""
    pytest.importorskip("torch", reason="PyTorch is the rival on GPUs and not installed here")
    job = Job("rival", "tv_ssdlite320", "exported", folder)
    jobs.oracle(job, lambda name: None)
    name, run = jobs.split_runner(job, lambda name: None)
    network = catalogue.Network(job.network)
    found = comparison.detections(run(job.store.feed(network, job.case())), job.store.answers(network, job.case()))
    assert name.endswith("before choices") and found["detections"]["matched"] > 0.9, found


@needs_zoo
def test_logged_jobs_are_not_run_again(folder):
    first = run("--nets", "hf_bert", "--budget", 0, "--log", folder)
    size = (folder / log.NAME).stat().st_size
    second = run("--nets", "hf_bert", "--budget", 0, "--log", folder)
    assert (first.returncode, second.returncode, second.stderr) == (0, 0, "none failed\n")
    assert (folder / log.NAME).stat().st_size == size


@needs_zoo
def test_every_network_has_inputs_and_shapes():
    names = catalogue.names()
    assert len(names) == 74
    for name in names:
        network = catalogue.Network(name)
        for case in network.cases((8,)):
            shapes = network.shapes(case)
            feed = network.sample(case, 2)
            assert {key: array.shape[1:] for key, array in feed.items()} == {key: shape[1:] for key, shape in shapes.items()}
            assert all(np.isfinite(array).all() for array in feed.values())


@needs_zoo
def test_samples_are_the_same_in_every_batch():
    network = catalogue.Network("hf_bert")
    alone, batched = network.cases()[0], network.cases((8,))[-1]
    for name, array in network.sample(alone, 3).items():
        np.testing.assert_array_equal(array, network.sample(batched, 3)[name])
    assert not np.array_equal(network.sample(alone, 3)["input_ids"], network.sample(alone, 4)["input_ids"])


@needs_zoo
@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--nets", "hf_bert,no_such"], "--nets: no network is called no_such; --list prints their names"),
        (["--share", "4/4"], "--share: expected I/N with I below N, as 0/4, got 4/4"),
    ],
)
def test_invalid_arguments_are_refused(tmp_path, arguments, said):
    outcome = run(*arguments, "--log", tmp_path)
    assert (outcome.returncode, outcome.stderr) == (2, f"networks: {said}\n")


@needs_zoo
def test_shares_are_all_networks():
    shares = [run("--list", "--share", f"{i}/3").stdout.splitlines() for i in range(3)]
    assert sorted(line.partition(";")[0] for share in shares for line in share) == catalogue.names()


# --- The float64 run ---


def outputs(error, snr=100.0, **more):
    return {"y": {"error": error, "snr": snr, "unlike": "", **more}}


def row_of(found, **more):
    return {"what": "check", "network": "n", "label": "exported", "device": "cpu", "precision": "fp32", "outputs": found, "seconds": 1, **more}


RIVALS = {("n", "exported", "cpu", "fp32"): row_of(outputs(1e-5))}


@pytest.mark.parametrize(
    "found, more, said",
    [
        (outputs(1.5e-5, 97), {}, ""),
        (outputs(3e-7, 132), {}, ""),
        (outputs(1e-5, 90), {}, "y: error 1e-05 at 90 dB, the rival's 1e-05 at 100 dB"),
        (outputs(5e-5, 99), {}, "y: error 5e-05 at 99 dB, the rival's 1e-05 at 100 dB"),
        (outputs(0, unlike="2 of 8 are NaN or infinite"), {}, "y: 2 of 8 are NaN or infinite"),
        (outputs(1e-5), {"spread": 1e-5}, "runs differ by 1e-05"),
        (outputs(1e-5), {"beside": float("inf")}, "two contexts at once differ from one by inf"),
        (outputs(1e-5), {"failure": {"kind": "crash", "stage": "run", "text": "the process died with SIGSEGV"}}, "crash (run): the process died with SIGSEGV"),
        (outputs(1e-5), {"label": "no rival ran it"}, ""),
        (outputs(1e-3), {"label": "no rival ran it"}, "y: error 0.001, no rival ran it"),
    ],
)
def test_verdict_says_what_is_wrong_with_a_row(found, more, said):
    assert "; ".join(verdict.failures(row_of(found, **more), RIVALS)) == said


ON_GPU = {"device": "cuda:0"}
SUMMED_THERE = {("n", "exported", "cuda:0", "fp32"): row_of(outputs(1e-5), same_device={"outputs": outputs(4e-5, 88)}, **ON_GPU)}


def test_on_a_gpu_the_larger_error_of_both_rivals_counts():
    ours = row_of(outputs(5e-5, 90), **ON_GPU)
    assert verdict.failures(ours, SUMMED_THERE) == []
    assert verdict.failures(ours, SUMMED_THERE, same_device=False) == ["y: error 5e-05 at 90 dB, the rival's 1e-05 at 100 dB"]
    assert verdict.failures(row_of(outputs(5e-4, 60), **ON_GPU), SUMMED_THERE) == ["y: error 0.0005 at 60 dB, the rival's 4e-05 at 88 dB"]


def test_results_that_no_rival_gives_either_are_reported_but_not_wrong():
    broken = outputs(0, unlike="2 of 8 are NaN or infinite")
    rivals = {("n", "exported", "cpu", "fp32"): row_of(outputs(0, unlike="8 of 8 are NaN or infinite"))}
    assert verdict.failures(row_of(broken), rivals) == [] and verdict.beyond_the_type(row_of(broken), rivals) == ["y"]
    assert verdict.failures(row_of(broken), RIVALS) and verdict.beyond_the_type(row_of(broken), RIVALS) == []
    assert verdict.failures(row_of(outputs(0, unlike="shape [1], expected [2]")), rivals)


def test_an_engine_for_several_shapes_is_compared_shape_by_shape():
    rivals = RIVALS | {("n", "other", "cpu", "fp32"): row_of(outputs(1e-3, 60))}
    small, large = outputs(1e-5)["y"], outputs(1e-3, 60)["y"]
    as_they_were = {"y (exported shape)": small, "y (other shape)": large}
    assert verdict.failures(row_of(as_they_were, label="several shapes"), rivals) == []
    wrong = verdict.failures(row_of(as_they_were | {"y (exported shape)": large}, label="several shapes"), rivals)
    assert wrong == ["y (exported shape): error 0.001 at 60 dB, the rival's 1e-05 at 100 dB"]


def test_distances():
    expected = np.array([[1.0, -4.0], [2.0, 0.5]])
    moved = expected.copy()
    moved[0, 0] += 0.04
    assert comparison.distance(expected.astype(np.float32), expected) == comparison.Distance(0.0, 320.0)
    found = comparison.distance(moved, expected)
    assert found.error == pytest.approx(0.01) and found.snr == pytest.approx(10 * np.log10(21.25 / 0.0016))
    assert comparison.distance(moved.T[:1], expected).unlike == "shape [1, 2], expected [2, 2]"
    assert comparison.distance(np.full((2, 2), np.nan), expected).unlike == "4 of 4 are NaN or infinite"
    assert comparison.distance(np.array([1, 3]), np.array([1, 2])).unlike == "1 of 2 differ"


def test_pooled_samples_have_the_largest_difference_and_all_noise():
    pooled = comparison.pooled([outputs(1e-3, 60), outputs(1e-5, 100)])["y"]
    assert pooled["error"] == 1e-3 and pooled["snr"] == pytest.approx(60 + 10 * np.log10(2), abs=0.01)
    assert comparison.pooled([outputs(0, 100), outputs(0, 320, unlike="shape")])["y"]["unlike"] == "shape"


def test_runs_that_differ():
    first, other = {"y": np.array([1.0, 2.0], np.float32)}, {"y": np.array([1.0, 2.5], np.float32)}
    assert comparison.spread([first, first]) == 0
    assert comparison.spread([first, first, other]) == pytest.approx(0.25)
    assert comparison.spread([first, {"y": np.array([np.nan, 2], np.float32)}]) == np.inf


def boxes(*rows):
    """Left, score, label of squares of side 10."""
    return {
        "boxes": np.array([[left, 0, left + 10, 10] for left, _, _ in rows], np.float32).reshape(-1, 4),
        "scores": np.array([score for _, score, _ in rows], np.float32),
        "labels": np.array([label for _, _, label in rows], np.int64),
    }


@pytest.mark.parametrize(
    "got, share",
    [
        (boxes((50, 0.5, 1), (0, 0.9, 1)), 1.0),
        (boxes((0.2, 0.89, 1), (50, 0.5, 1)), 1.0),
        (boxes((0, 0.9, 2), (50, 0.5, 1)), 0.5),
        (boxes((3, 0.9, 1), (50, 0.5, 1)), 0.5),
        (boxes((0, 0.8, 1), (50, 0.5, 1)), 0.5),
        (boxes((0, 0.9, 1)), 0.5),
        (boxes((0, 0.9, 1), (0, 0.9, 1), (50, 0.5, 1), (80, 0.5, 1)), 0.5),
        (boxes(), 0.0),
    ],
)
def test_boxes_are_matched_in_any_order(got, share):
    expected = boxes((0, 0.9, 1), (50, 0.5, 1))
    assert comparison.detections(got, expected)["detections"]["matched"] == share


def test_a_subpixel_box_is_matched_despite_rounding():
    def thin(left):
        return boxes((0, 0.9, 1)) | {"boxes": np.array([[left, 0, left + 0.07, 256]], np.float32)}

    assert comparison.detections(thin(72.43), thin(72.42))["detections"]["matched"] == 1
    assert comparison.detections(thin(73), thin(72.42))["detections"]["matched"] == 0


# --- Processes and the log ---


@pytest.mark.parametrize(
    "task, seconds, failure",
    [
        (lambda *_: os.kill(os.getpid(), signal.SIGSEGV), 300, {"kind": "crash", "stage": "", "text": "the process died with SIGSEGV"}),
        (lambda *_: time.sleep(300), 1, {"kind": "hang", "stage": "", "text": "stopped after 1 s"}),
    ],
)
def test_a_job_that_crashes_or_hangs_is_a_row(monkeypatch, tmp_path, task, seconds, failure):
    monkeypatch.setitem(apart.JOBS, "check", task)
    row = apart.run_apart(Job("check", "n", "exported", tmp_path), seconds, 1 << 40)
    assert (row["failure"], row["network"], row["label"]) == (failure, "n", "exported")


def test_a_job_that_takes_all_memory_is_stopped(monkeypatch, tmp_path):
    def greedy(job, stage):
        stage("taking")
        kept = np.ones(1 << 26)
        time.sleep(300)
        return {"kept": kept.size}

    monkeypatch.setitem(apart.JOBS, "check", greedy)
    allowed = memory.resident_bytes(os.getpid()) + (256 << 20)
    row = apart.run_apart(Job("check", "n", "exported", tmp_path), 300, allowed)
    assert row["failure"]["kind"] == "memory" and row["failure"]["stage"] == "taking"
    assert row["failure"]["text"].endswith(f"allowed are {allowed / 2**30:.1f}")


def test_a_log_keeps_the_last_row_of_a_key(tmp_path):
    path = tmp_path / "folder" / log.NAME
    kept = log.Log(path)
    for error in (1e-3, 1e-5):
        kept.add(row_of(outputs(error), machine="m", device="cpu", budget=0, threads=1))
    kept.add(row_of(outputs(1e-4), machine="m", device="cpu", budget=10, threads=1))
    assert len(path.read_text().splitlines()) == 3
    assert sorted(row["outputs"]["y"]["error"] for row in log.Log(path).rows.values()) == [1e-5, 1e-4]
    path.write_text(path.read_text() + "{broken\n")
    with pytest.raises(ValueError, match="log.jsonl, line 4: expected a row of measurements"):
        log.Log(path)


def test_the_table_lists_failures_first(tmp_path):
    section = {"machine": "a machine", "device": "cpu", "budget": 0.0, "threads": 2}
    steps = {"count": 3, "shares": {"reference": 0.4, "interpreter": 0.0, "host": 0.0}, "named": [["conv", "reference", 0.4]]}
    rows = [
        row_of(outputs(1e-5), network="a_right", build_seconds=1.25, steps=steps, **section),
        row_of(outputs(1e-2, 30), network="b_wrong", build_seconds=2.0, **section),
        {**row_of(outputs(1e-5), network="a_right"), "what": "rival"},
        {**row_of(outputs(1e-5), network="b_wrong"), "what": "rival"},
    ]
    kept = log.Log(tmp_path / log.NAME)
    for row in rows:
        kept.add(row)
    text = table.text(kept.rows)
    assert "a machine; 2 threads. 1 of 2 networks are right." in text
    assert text.index("| b_wrong | **no** | 1.0e-02 (1.0e-05) | 30 (100) | 2.0 |") < text.index("| a_right | yes | 1.0e-05 (1.0e-05) | 100 (100) | 1.2 |")
    assert "- b_wrong: exported: y: error 0.01 at 30 dB, the rival's 1e-05 at 100 dB" in text
    assert "- a_right: `conv` 40% (reference)" in text


def test_new_measurements_replace_only_their_own_rows(tmp_path):
    path = tmp_path / "page.md"

    def wrote(what, error, **facts):
        row = row_of(outputs(error), machine="a gpu", budget=10.0, build_seconds=1.0, **facts)
        kept = log.Log(tmp_path / f"{what}.jsonl")
        for one in (row, {**row, "what": "rival", "outputs": outputs(1e-5)}):
            kept.add(one)
        table.write(kept.rows, path)
        return path.read_text()

    gpu = {"device": "cuda:0", "precision": "fp16"}
    first = wrote("first", 1e-2, network="a", threads=2, **gpu)
    assert "- a: exported" in first and "2 threads. 0 of 1 networks are right." in first
    both = wrote("second", 1e-5, network="b", threads=16, **gpu)
    assert both.index("| a | **no** |") < both.index("| b | yes |") and "2 or 16 threads. 1 of 2 networks are right." in both
    mended = wrote("third", 1e-5, network="a", threads=2, **gpu)
    assert "2 or 16 threads. 2 of 2 networks are right." in mended and "Not right" not in mended
    other = wrote("fourth", 1e-5, network="a", threads=2, device="cpu", precision="fp32")
    assert other.count("| a | yes |") == 2 and other.count("## ") == 2
    assert "\n".join(line for section in page.read(path) for line in section.lines()).rstrip() == other[other.index("## ") :].rstrip()
    path.write_text(other.replace("; 2 threads.", "."))
    with pytest.raises(ValueError, match="page.md, cpu, FP32, budget 10 s: expected a machine and its threads"):
        wrote("fifth", 1e-5, network="a", threads=2, **gpu)


@needs_zoo
def test_a_wrong_node_is_found(monkeypatch, tmp_path):
    """Lanner gets other weights for one convolution than the float64 run and the rival."""
    job = Job("locate", "tv_squeezenet1_1", "exported", tmp_path)
    nodes = pieces.Cutter(job, lambda name: None).nodes
    victim = [node for node in nodes if node.op_type == "Conv"][9]
    build = pieces.Subject.build_model

    def tampered(subject, model, shapes):
        model = onnx.ModelProto.FromString(model.SerializeToString())
        for tensor in model.graph.initializer:
            if tensor.name == victim.input[1]:
                tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(1.01), tensor.name))
        return build(subject, model, shapes)

    assert pieces.locate(job, lambda name: None)["nodes"] == []
    monkeypatch.setattr(pieces.Subject, "build_model", tampered)
    found = pieces.locate(job, lambda name: None)
    assert found["nodes"] == [f"{victim.name} (Conv)"] and "the rival's" in found["text"]


@needs_zoo
def test_pieces_beyond_the_range_of_halves_are_reported_except_masks(tmp_path):
    cutter = pieces.Cutter(Job("in pieces", "tv_squeezenet1_1", "exported", tmp_path), lambda name: None)
    name = cutter.nodes[3].output[0]
    for largest, beyond in ((6e4, False), (1.5e5, True), (3.4e38, False)):
        cutter.values[name] = np.array([1.0, -largest])
        assert cutter.leaves_halves(0, 6) == beyond and not cutter.leaves_halves(4, 6)


@needs_zoo
def test_settings_make_the_jobs(tmp_path):
    made = session.Session(session.Settings(tmp_path, ("hf_bert",), precisions=("fp32",), batches=(8,)))
    jobs = list(made.jobs(catalogue.Network("hf_bert")))
    assert [(job.what, job.label) for job in jobs] == [
        *(("oracle", label) for label in ("exported", "other", "batch 8")),
        *(("rival", label) for label in ("exported", "other", "batch 8")),
        *(("check", label) for label in ("exported", "other", "batch 8", "several shapes")),
    ]
    assert json.loads(json.dumps(jobs[0].facts()))["network"] == "hf_bert"


def test_a_folder_without_a_log_is_refused(tmp_path):
    done = run("--write", "--log", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == f"networks: --log: {tmp_path} holds no log.jsonl; give folders that measurements wrote\n"
