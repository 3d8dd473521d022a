"""Metadata of an engine: the model's, and that added by the build."""

import pytest

from command import color_classifier, refuse, succeed

lanner = pytest.importorskip("lanner")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return color_classifier(tmp_path_factory.mktemp("model") / "model.onnx", metadata={"color": "channel", "author": "somebody"})


def test_a_build_adds_to_the_models_metadata(model, tmp_path):
    engine = lanner.build(model, budget=0, device="cpu", metadata={"author": "me", "größe": "3 µm\n<b>"})
    expected = {"color": "channel", "author": "me", "größe": "3 µm\n<b>"}
    assert engine.metadata == expected
    engine.save(tmp_path / "model.plan")
    assert lanner.load(tmp_path / "model.plan").metadata == expected


def test_a_task_in_the_metadata_is_used(model):
    engine = lanner.build(
        model,
        budget=0,
        device="cpu",
        metadata={"lanner.task": '{"task": "classify", "labels": ["red", "green", "blue"]}'},
        preprocess={"input": lanner.Preprocess()},
    )
    assert lanner.tasks.TaskReader(engine).label(1) == "green"


@pytest.mark.parametrize(
    ("metadata", "error", "text"),
    [
        ({"a": 1}, TypeError, "metadata"),
        ([("a", "b")], TypeError, "metadata"),
        ({"": "b"}, lanner.InvalidArgument, "an empty key"),
        ({"lanner.preprocess": "{}"}, lanner.InvalidArgument, "by its own option"),
        ({"lanner.preprocess.input": "{}"}, lanner.InvalidArgument, "by its own option"),
    ],
)
def test_invalid_metadata_is_rejected(model, metadata, error, text):
    with pytest.raises(error, match=text):
        lanner.build(model, budget=0, device="cpu", metadata=metadata)


def test_the_command_writes_it(model, tmp_path):
    plan = tmp_path / "model.plan"
    succeed("build", model, "-o", plan, "--budget", 0, "-q", "--metadata", "author=me=you", "--metadata", "note=")
    assert lanner.load(plan).metadata == {"color": "channel", "author": "me=you", "note": ""}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--metadata", "author"], "expected KEY=VALUE"),
        (["--metadata", "=x"], "expected KEY=VALUE"),
        (["--metadata", "a=1", "--metadata", "a=2"], "'a' comes twice"),
        (["--metadata", "lanner.task=wash"], "--metadata lanner.task"),
        (["--metadata", "lanner.task=classify", "--task", "classify"], "given by --metadata and by --task"),
        (["--metadata", "lanner.preprocess={}"], "by its own option"),
    ],
)
def test_the_command_rejects_invalid_metadata(model, tmp_path, arguments, text):
    assert text in refuse("build", model, "-o", tmp_path / "model.plan", "--budget", 0, "-q", *arguments)
    assert not (tmp_path / "model.plan").exists()
