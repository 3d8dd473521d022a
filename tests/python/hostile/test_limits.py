"""Limits from the command line and from Python: syntax and errors."""

import pytest
from command import color_classifier, make_clip, make_ppm, refuse, succeed

lanner = pytest.importorskip("lanner")

QUICK = ["--budget", "0", "--threads", "1"]
LIFTED = "if the input is trusted, raise it with --limit {}=N"


@pytest.fixture
def model(tmp_path):
    return color_classifier(tmp_path / "model.onnx")


@pytest.fixture
def clip(tmp_path):
    return make_clip(tmp_path)


@pytest.mark.parametrize("command", ["build", "run", "bench", "explain", "verify"])
def test_commands_of_models_take_limits(tmp_path, model, command):
    plan, picture = tmp_path / "model.plan", make_ppm(tmp_path / "picture.ppm")
    succeed("build", model, "-o", plan, "--preset", "none", "--size", "8x8", *QUICK)
    file = plan if command == "verify" else model
    more = {"build": ["-o", tmp_path / "b.plan"], "run": ["-i", picture], "verify": []}.get(command, QUICK)
    line = refuse(command, file, *more, "--limit", "total_bytes=1KiB")
    assert "over the limit total_bytes of 1024" in line and LIFTED.format("total_bytes") in line


def test_a_plan_is_verified_within_limits(tmp_path, model):
    plan = tmp_path / "model.plan"
    succeed("build", model, "-o", plan, "--preset", "none", "--size", "8x8", *QUICK)
    succeed("verify", plan, "--runs", "1", "--limit", "total_bytes=1GiB")
    assert LIFTED.format("total_bytes") in refuse("verify", plan, "--file-only", "--limit", "total_bytes=1KiB")


@pytest.mark.parametrize("command", ["probe", "decode", "transcode", "bench", "explain"])
def test_commands_of_clips_take_limits(tmp_path, clip, command):
    more = {"decode": ["--md5"], "transcode": [tmp_path / "b.mp4"]}.get(command, [])
    line = refuse(command, clip, *more, "--limit", "rank=8", "--limit", "file_bytes=9")
    assert "over the limit file_bytes of 9" in line and LIFTED.format("file_bytes") in line
    assert "limit pixels of 16" in refuse("probe", clip, "--exact", "--limit", "pixels=16")


def test_unknown_limits_are_rejected(model):
    line = refuse("build", model, "--print-ir", "--limit", "memory=4GiB")
    assert "limit memory=4GiB: expected NAME=VALUE, where NAME is one of file_bytes" in line
    assert "got 4GB" in refuse("build", model, "--print-ir", "--limit", "total_bytes=4GB")


def test_a_dict_sets_limits(model, clip):
    shapes = {"input": (1, 3, 8, 8)}
    options = {"shapes": shapes, "threads": 1, "budget": 0}
    engine = lanner.build(model, limits={"total_bytes": "1GiB", "seconds": 600, "rank": 8}, **options)
    assert engine.inputs[0].shape == (1, 3, 8, 8)
    with pytest.raises(lanner.LimitExceeded, match=r"over the limit total_bytes of 1024.*--limit total_bytes=N"):
        lanner.build(model, limits={"total_bytes": 1024}, **options)
    with pytest.raises(lanner.LimitExceeded, match="over the limit seconds of"):
        lanner.build(model, limits={"seconds": 1e-9}, **options)
    with pytest.raises(lanner.LimitExceeded, match="over the limit file_bytes of 9"):
        lanner.VideoReader(clip, limits={"file_bytes": 9})
    with pytest.raises(lanner.LimitExceeded, match="over the limit pixels of 16"):
        next(iter(lanner.VideoReader(clip, limits={"pixels": 16})))


def test_plans_and_pictures_accept_limits(tmp_path, model):
    lanner.build(model, shapes={"input": (1, 3, 8, 8)}, threads=1, budget=0).save(tmp_path / "m.plan")
    assert lanner.load(tmp_path / "m.plan", limits={"total_bytes": 1 << 30}).inputs
    with pytest.raises(lanner.LimitExceeded, match="--limit total_bytes=N"):
        lanner.load(tmp_path / "m.plan", limits={"total_bytes": 1024})
    with pytest.raises(lanner.LimitExceeded, match="--limit pixels=N"):
        lanner.load_image(make_ppm(tmp_path / "picture.ppm"), limits={"pixels": 16})
    with pytest.raises(lanner.LimitExceeded, match="--limit total_bytes=N"):
        lanner.load_tensors(tmp_path / "m.plan", limits={"total_bytes": 1024})


def test_memory_of_a_batch_is_counted(clip):
    reader = lanner.VideoReader(clip, limits={"total_bytes": "64MiB"})
    assert reader.batch([0, 1], preset="none").shape[0] == 2
    with pytest.raises(lanner.LimitExceeded, match="over the limit total_bytes of 67108864"):
        reader.batch([0] * 100_000, preset="none")


def test_limits_of_wrong_types_are_rejected(model):
    with pytest.raises(TypeError, match="limits: 4 is of the wrong type"):
        lanner.build(model, limits=4)
    with pytest.raises(lanner.InvalidArgument, match="limit memory=4"):
        lanner.build(model, limits={"memory": 4})
    with pytest.raises(lanner.InvalidArgument, match="got None, expected a number"):
        lanner.build(model, limits={"seconds": None})
