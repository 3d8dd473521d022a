"""lanner tf eval and lanner eval on TFRecord files, folders and synthetic data, without TensorFlow."""

import gzip
import json
import signal
import subprocess

import numpy as np
import pytest
from record_files import brightest_channel, example, framed, write_records

import lanner
from command import COMMAND, color_classifier, lanner as command, make_ppm, refuse, succeed, without_notes

QUICK = ["--preset", "none", "--budget", "0", "--threads", "1"]
COLORS = [(250, 10, 20), (30, 240, 10), (10, 20, 230)]


@pytest.fixture
def model(tmp_path):
    return brightest_channel(tmp_path / "model.pbtxt")


def picture(folder, number, color):
    path = make_ppm(folder / f"{number}.ppm", 4, 4, color)
    content = path.read_bytes()
    path.unlink()
    return content


@pytest.fixture
def shards(tmp_path):
    """12 pictures in two files with labels from 1 on; the last two labels are wrong."""
    folder = tmp_path / "records"
    folder.mkdir()
    records = [
        example(image__encoded=picture(tmp_path, i, COLORS[i % 3]), image__class__label=(i + (i >= 10)) % 3 + 1, other=0.5) for i in range(12)
    ]
    for shard in range(2):
        write_records(folder / f"validation-0000{shard}-of-00002", records[shard::2])
    return folder


def evaluated(*arguments):
    return json.loads(succeed("tf", "eval", *arguments, *QUICK, "--json"))


def test_records_are_measured_in_parts_and_native(model, shards):
    found = evaluated(model, "--data", shards / "validation-*", "--batch", "5")
    assert found["top1"] == found["metrics"]["top1"] == pytest.approx(10 / 12)
    assert (found["images"], found["batch"], found["runs"], found["failed"]) == (12, 5, 3, 0)
    assert (found["share"], found["engines"], found["native"]) == (1, 1, False)
    assert found["throughput"] == pytest.approx(12 / found["run_seconds"])
    assert 0 < found["latency"]["mean"] <= found["latency"]["p99"] <= found["latency"]["max"]
    assert found["seconds"] > found["convert_seconds"] + found["run_seconds"]
    native = evaluated(model, "--data", shards, "--native")
    assert (native["share"], native["engines"], native["native"], native["batch"]) == (0, 0, True, 1)
    assert native["top1"] == found["top1"]


def test_one_file_and_first_label(model, shards, tmp_path):
    found = evaluated(model, "--data", shards / "validation-00000-of-00002")
    assert found["top1"] == pytest.approx(5 / 6)
    zero = write_records(
        tmp_path / "zero.tfrecord", [example(jpg=picture(tmp_path, 0, COLORS[1]), label=1), example(jpg=picture(tmp_path, 1, COLORS[0]), label=0)]
    )
    keys = ["--image-key", "jpg", "--label-key", "label"]
    assert evaluated(model, "--data", zero, *keys)["top1"] == 1
    assert evaluated(model, "--data", zero, *keys, "--first-label", "-1")["top1"] == 0


def test_text_has_every_number(model, shards):
    text = succeed("tf", "eval", model, "--data", shards, *QUICK)
    for name in ("precision", "converted", "top-1", "throughput", "latency, mean", "latency, p99", "total time"):
        assert f"\n{name} " in "\n" + text, name
    assert "100.0 % of the nodes, in 1 engine\n" in text and "0.8333" in text


def test_folder_of_classes_gives_the_same(model, tmp_path):
    for i, color in enumerate(COLORS):
        (tmp_path / "pictures" / "abc"[i]).mkdir(parents=True)
        make_ppm(tmp_path / "pictures" / "abc"[i] / "one.ppm", 4, 4, color)
    assert evaluated(model, "--data", tmp_path / "pictures")["top1"] == 1


def test_synthetic_data(model):
    arguments = ["--data", "synthetic", "--batch", "4", "--runs", "7", "--seed", "3", "--budget", "0", "--json"]
    found = json.loads(succeed("tf", "eval", model, *arguments))
    assert (found["images"], found["runs"], found["top1"], found["metrics"]) == (28, 7, None, {})
    assert "is for --data synthetic" in refuse("tf", "eval", model, "--data", "x", "--runs", "3")
    assert "no ground truth" in refuse("tf", "eval", model, "--data", "synthetic", "--preset", "imagenet")


def test_converted_folder_runs_with_its_engines(model, shards, tmp_path):
    succeed("convert", model, "-o", tmp_path / "converted", "--deny-operator", "Softmax", "--min-segment", "2", "--budget", "0")
    found = evaluated(tmp_path / "converted", "--data", shards)
    assert (found["engines"], found["top1"]) == (1, pytest.approx(10 / 12)) and 0 < found["share"] < 1
    assert evaluated(tmp_path / "converted", "--data", shards, "--precision", "fp32")["share"] == 1


def test_lanner_eval_reads_records_too(shards, tmp_path):
    network = color_classifier(tmp_path / "model.onnx", size=4)
    found = json.loads(succeed("eval", network, "--data", shards, *QUICK, "--json", "-", "--report", tmp_path / "page.html"))
    assert found["metrics"]["top1"] == pytest.approx(10 / 12)
    assert all("validation-0000" in one["source"] for one in found["worst"]) and len(found["worst"]) == 2
    assert (tmp_path / "page.html").read_text().count('<figure class="card">') == 2


def test_picture_that_cannot_be_read_is_left_out(model, tmp_path):
    records = [example(image__encoded=b"\xff\xd8\xffno", image__class__label=1), example(image__encoded=picture(tmp_path, 0, COLORS[2]), image__class__label=3)]
    data = write_records(tmp_path / "some.tfrecord", records)
    result = command("tf", "eval", model, "--data", data, *QUICK, "--json")
    assert result.returncode == 2 and json.loads(result.stdout)["images"] == 1
    lines = without_notes(result.stderr).splitlines()
    assert len(lines) == 2 and "at byte 0: " in lines[0] and lines[1] == "lanner: tf eval: 1 of 2 pictures could not be read"


def broken(content, at):
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.mark.parametrize(
    "content, said",
    [
        (b"", "has no records"),
        (b"short", "ends after 5 bytes of a header"),
        (framed(example(image__encoded=b"x", image__class__label=1))[:-1], "the file ends after"),
        (broken(framed(example(image__encoded=b"x", image__class__label=1)), 20), "checksum of its 53 bytes is wrong"),
        (gzip.compress(framed(b"x")), "decompress it first"),
        (framed(example(image__encoded=b"x", label=1)), "no feature 'image/class/label'"),
        (framed(example(image__encoded=5, image__class__label=1)), "'image/encoded' is not one string of bytes"),
        (framed(example(image__encoded=b"x", image__class__label=0.5)), "'image/class/label' is not one integer"),
        (framed(example(image__encoded=b"x", image__class__label=9)), "label 9, and the network has 3 classes"),
        (framed(b"\xff\xff"), "record 0"),
    ],
    ids=range(10),
)
def test_bad_records_are_refused_in_a_line(model, tmp_path, content, said):
    data = tmp_path / "bad.tfrecord"
    data.write_bytes(content)
    assert said in refuse("tf", "eval", model, "--data", data, *QUICK)


def test_wrong_calls(model, shards, tmp_path):
    assert "--precision" in refuse("tf", "eval", model, "--data", shards, "--native", "--precision", "bf16")
    assert "not a model of TensorFlow" in refuse("tf", "eval", color_classifier(tmp_path / "m.onnx", size=4), "--data", shards, *QUICK)
    succeed("build", model, "-o", tmp_path / "m.plan", "--budget", "0")
    assert "is a plan" in refuse("tf", "eval", tmp_path / "m.plan", "--data", shards)
    assert "no such file" in refuse("tf", "eval", model, "--data", tmp_path / "nothing", *QUICK)
    assert "--first-label is for TFRecord" in refuse("tf", "eval", model, "--data", tmp_path, "--first-label", "1", *QUICK)
    assert "did you mean eval?" in refuse("tf", "evil") and "tf eval: MODEL" in refuse("tf", "eval")


def test_interrupt_ends_it(model):
    arguments = [COMMAND, "tf", "eval", model, "--data", "synthetic", "--runs", "100000000", "--budget", "0"]
    process = subprocess.Popen([*map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline().startswith("lanner: note: ")  # The shapes, which are known when the signal's handler is there.
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, without_notes(errors)) == (130, "", "lanner: interrupted\n")


def test_records_in_python(shards, tmp_path):
    found = list(lanner.tf.records(shards / "validation-*"))
    assert len(found) == 12 and found[0]["image/class/label"] == [1] and found[0]["other"] == [0.5]
    assert all(one["image/encoded"][0].startswith(b"P6 4 4 255") for one in found)
    files = sorted(shards.iterdir())
    raw = list(lanner.tf.records(files, raw=True))
    assert [lanner.tf.parse_example(one) for one in raw] == found
    assert list(lanner.tf.records(files[0].read_bytes(), raw=True)) == raw[:6]
    with pytest.raises(lanner.NotFound, match="no file matches"):
        lanner.tf.records(tmp_path / "no*")
    damaged = tmp_path / "damaged"
    damaged.write_bytes(broken(files[0].read_bytes(), -1 % files[0].stat().st_size))
    reader = lanner.tf.records(damaged)
    assert len([next(reader) for _ in range(5)]) == 5
    with pytest.raises(lanner.BadData, match="record 5 at byte"):
        next(reader)
    with pytest.raises(lanner.LimitExceeded, match="packet_bytes"):
        list(lanner.tf.records(files, limits={"packet_bytes": 10}))
    with pytest.raises(lanner.BadData):
        lanner.tf.parse_example(np.array([255, 255], np.uint8).tobytes())
