"""`./dev bench encode` with small pictures: its rows, its log, its page."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest
from run_support import needs_ffmpeg

BENCH = Path(__file__).resolve().parents[3] / "bench"
sys.path.insert(0, str(BENCH))

import encode  # noqa: E402
import encode_page  # noqa: E402
import encode_settings as settings  # noqa: E402

FACTS = {"cpu": "Some CPU", "cores": 2, "date": "2026-01-01"}


def options_of(*arguments):
    parser = argparse.ArgumentParser()
    encode.add_options(parser, int)
    parser.add_argument("--pairs", type=int)
    return parser.parse_args([*arguments, "--sizes", "96x64", "--frames", "5", "--pairs", "1"])


def measured(folder, *arguments, log=None):
    rows = []
    encode.measure(folder, options_of(*arguments), log or encode.Log(None, FACTS), rows.append)
    return rows


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """One encoder and preset in the log."""
    folder = tmp_path_factory.mktemp("encode")
    log = encode.Log(folder / "log.jsonl", FACTS)
    measured(folder, "--codecs", "libx264", "--presets", "P1", "--tunings", "high_quality,lossless", log=log)
    return log.path


# --- Measuring ---


@needs_ffmpeg
def test_lanner_and_ffmpeg_write_the_same_stream(logged):
    rows = [json.loads(line) for line in logged.read_text().splitlines()]
    assert [(row["codec"], row["tuning"], row["preset"], row["size"]) for row in rows] == [
        ("libx264", "high_quality", "P1", "96x64"),
        ("libx264", "lossless", "P1", "96x64"),
    ]
    for row in rows:
        assert row["ratio"] > 0 and row["seconds"] > 0 and len(row["own_times"]) == len(row["rival_times"]) == 1
        own, rival = ({name: side[name] for name in ("kbps", "psnr", "sha256")} for side in (row["lanner"], row["ffmpeg"]))
        assert own == rival and own["kbps"] > 0 and row["lanner"]["cpu"] > 0
    assert 20 < rows[0]["lanner"]["psnr"] < rows[1]["lanner"]["psnr"] == float("inf")


@needs_ffmpeg
@pytest.mark.parametrize("codec", ["libx265", "libsvtav1"])
def test_other_encoders_write_the_same_stream_too(tmp_path, codec):
    (row,) = measured(tmp_path, "--codecs", codec, "--presets", "P1", "--tunings", "ultra_low_latency")
    assert row["lanner"]["sha256"] == row["ffmpeg"]["sha256"], row


@needs_ffmpeg
def test_what_is_in_the_log_is_not_measured_again(logged, tmp_path, monkeypatch):
    monkeypatch.setattr(encode, "measure_one", lambda *job: pytest.fail("measured again"))
    before = logged.read_text()
    rows = measured(tmp_path, "--codecs", "libx264", "--presets", "P1", "--tunings", "lossless", log=encode.Log(logged, FACTS))
    assert [row["tuning"] for row in rows] == ["lossless"] and logged.read_text() == before


@needs_ffmpeg
def test_another_machine_or_another_number_of_frames_is_measured(logged):
    (job,) = encode.jobs(options_of("--codecs", "libx264", "--presets", "P1", "--tunings", "lossless"))
    assert encode.Log(logged, FACTS).find(job)
    assert not encode.Log(logged, FACTS | {"cores": 4}).find(job)
    assert not encode.Log(logged, FACTS).find(job | {"frames": 6})


@needs_ffmpeg
def test_tuning_that_an_encoder_lacks_is_skipped_with_its_reason(tmp_path):
    (row,) = measured(tmp_path, "--codecs", "libsvtav1", "--presets", "P1", "--tunings", "lossless")
    assert "SVT-AV1 1.4 loses samples" in row["skipped"]
    assert f"skipped: {row['skipped']}" in encode_page.table([row])


@needs_ffmpeg
def test_failing_ffmpeg_fails_the_row_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "ffmpeg_settings", lambda job: ["-c:v", "libx264", "-preset", "no_such"])
    (row,) = measured(tmp_path, "--codecs", "libx264", "--presets", "P1", "--tunings", "lossless")
    assert row["failed"].startswith("ffmpeg ended with code") and "\n" not in row["failed"]


@needs_ffmpeg
def test_frames_of_a_clip_are_scaled_and_repeated(tmp_path):
    import lanner
    import numpy as np

    clip = tmp_path / "clip.mp4"
    with lanner.VideoWriter(str(clip), width=128, height=96) as writer:
        for number in range(3):
            writer.write(np.full((96, 128, 3), 60 * number, np.uint8))
    options = options_of("--source", str(clip))
    job = next(encode.jobs(options))
    assert encode.Frames(tmp_path, options).of(job).stat().st_size == 5 * 96 * 64 * 3 // 2
    assert job["source"] == "clip.mp4"


# --- Settings ---


@needs_ffmpeg
def test_arguments_are_those_of_the_documented_table():
    job = {"codec": "libx264", "tuning": "low_latency", "preset": "P4", "width": 640, "height": 360, "rate": 30}
    arguments = settings.ffmpeg_settings(job)
    pairs = dict(zip(arguments[::2], arguments[1::2], strict=True))
    assert pairs["-preset"] == "faster" and pairs["-crf"] == "23" and pairs["-rc-lookahead"] == "0"
    assert pairs["-x264-params"] == "bframes=0:sync-lookahead=0"
    assert settings.lanner_settings(job)["tuning"] == "low_latency"
    assert settings.ffmpeg_settings(job | {"codec": "libsvtav1", "tuning": "lossless"}) is None


def test_default_is_the_whole_table():
    jobs = encode_page.whole_table()
    sizes = [job["size"] for job in jobs]
    assert (sizes.count("640x360"), sizes.count("1920x1080")) == (3 * 4 * 7, 3 * 4 * 2)
    assert {job["preset"] for job in jobs if job["size"] == "1920x1080"} == {"P1", "P4"}
    assert {job["frames"] for job in jobs} == {120}


@pytest.mark.parametrize("arguments, said", [("--codecs=h266", "expected libx264"), ("--presets=P8", "no 'P8'"), ("--sizes=63x64", "even sizes")])
def test_wrong_selections_are_refused(arguments, said, capsys):
    with pytest.raises(SystemExit):
        options_of(arguments)
    assert said in capsys.readouterr().err


def test_write_is_of_encoding_alone():
    done = subprocess.run([sys.executable, BENCH / "run.py", "nets", "--write"], capture_output=True, text=True)
    assert done.returncode == 2 and "bench encode --log FILE --write" in done.stderr


# --- The page ---


@needs_ffmpeg
def test_page_has_the_rows_and_what_was_not_measured(logged, tmp_path, monkeypatch):
    monkeypatch.setattr(encode_page, "PAGE", tmp_path / "encode-speed.md")
    text = encode_page.write(encode.Log(logged, FACTS)).read_text()
    assert "## Some CPU, 2 cores, ffmpeg " in text and "5 frames of ffmpeg's mandelbrot with noise" in text
    assert "| libx264 | lossless | P1 | " in text and "| lossless | lossless | yes |" in text
    assert "PSNR is the same in all 2." in text
    assert "Not measured, 108 rows: libx264 high_quality P1 640x360, " in text


def test_page_of_an_empty_log_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="holds no measurement of encoding"):
        encode_page.write(encode.Log(tmp_path / "none.jsonl", FACTS))


def test_line_that_is_no_row_is_named(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"suite": "encode"}\n')
    with pytest.raises(RuntimeError, match=r"log.jsonl, line 1: no row of this log"):
        encode.Log(tmp_path / "log.jsonl", FACTS)


def row_of(**changes):
    side = {"kbps": 1.0, "psnr": 40.0, "sha256": "a", "cpu": 1.0}
    row = {"codec": "libx264", "tuning": "lossless", "preset": "P1", "size": "640x360", "frames": 120, "source": "x"}
    row |= {"ratio": 1.0, "interval": [1.0, 1.0], "seconds": 1.0, "rival_seconds": 1.0, "others": 0.0, "lanner": side, "ffmpeg": dict(side)}
    return row | changes


def test_misses_are_named():
    assert "1 of 1 at 0.95" in encode_page.in_words([row_of()]) and "DISTURBED" not in encode_page.in_words([row_of()])
    slow = row_of(ratio=0.9, others=0.5, ffmpeg={"kbps": 1.0, "psnr": 41.0, "sha256": "b", "cpu": 1.0})
    told = encode_page.in_words([slow])
    assert "0 of 1 at 0.95 of ffmpeg's fps or more; below: libx264 lossless P1 640x360" in told
    assert "PSNR differs: libx264 lossless P1 640x360" in told and "the same bytes in 0 of 1" in told
    assert "DISTURBED: other programs used up to 0.50 cores" in told
