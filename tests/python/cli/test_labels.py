"""Class names from files in the model's folder: read only with --labels, suggested in a note."""

import json
import resource

import pytest

from command import color_classifier, lanner, make_ppm, refuse


@pytest.fixture
def model(tmp_path):
    make_ppm(tmp_path / "red.ppm")
    return color_classifier(tmp_path / "model.onnx")


def run(model, *arguments):
    result = lanner("run", model, "-i", model.parent / "red.ppm", "--preset", "none", *arguments)
    assert result.returncode == 0, result.stderr
    return result


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("labels.txt", "rot\ngrün\nblau\n"),
        ("synset.txt", "n01440764 rot\nn01443537 grün\nn01484850 blau\n"),
        ("config.json", json.dumps({"architectures": ["X"], "id2label": {"0": "rot", "2": "blau", "1": "grün"}})),
        ("imagenet_class_index.json", json.dumps({"0": ["n01440764", "rot"], "1": ["n1", "grün"], "2": ["n2", "blau"]})),
        ("names.json", '["rot", "gr\\u00fcn", "blau"]'),
    ],
)
def test_label_files_are_parsed(model, name, text):
    path = model.parent / name
    path.write_text(text)
    result = run(model, "--labels", path)
    assert "rot" in result.stdout and "blau" in result.stdout and "class 0" not in result.stdout
    assert "in the model's folder" not in result.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "expected JSON because of its extension .json"),
        ('"rot"', "got string"),
        ('{"0": "a", "2": "b"}', "1 is missing"),
        ("[1, 2, 3]", "class 0: expected its name"),
        ('{"id2label": 3}', "got number"),
        ("[]", "got none"),
        ("[" * 100000, "at most 64 levels"),
        ("[" + "[]," * 3_000_000 + "0]", "at most 1048576 names"),
    ],
)
def test_malformed_json_is_an_error(model, text, said):
    path = model.parent / "names.json"
    path.write_text(text)
    said_by_command = refuse("run", model, "-i", model.parent / "red.ppm", "--preset", "none", "--labels", path)
    assert said in said_by_command and "names.json" in said_by_command


def test_very_long_list_of_names_is_read_in_linear_time(model):
    """Each of Keras's pairs used to search all others."""
    path = model.parent / "many.json"
    path.write_text(json.dumps({str(i): [f"n{i:08}", "name"] for i in range(250_000)}))
    result = lanner("run", model, "-i", model.parent / "red.ppm", "--preset", "none", "--labels", path,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)))
    assert result.returncode in (0, 2), (result.returncode, result.stderr)


def test_too_many_lines_are_an_error(model):
    path = model.parent / "labels.txt"
    path.write_text("\n" * 2_000_000 + "rot")
    line = refuse("run", model, "-i", model.parent / "red.ppm", "--preset", "none", "--labels", path)
    assert "labels.txt: expected at most 1048576 names of classes, got more" in line


@pytest.mark.parametrize("name", ["labels.txt", "model.txt", "class_names.txt", "synset.txt", "config.json"])
def test_note_names_a_label_file_in_the_models_folder(model, name):
    path = model.parent / name
    path.write_text('{"id2label": {"0": "rot"}}' if name == "config.json" else "rot\ngrün\nblau\n")
    result = run(model)
    assert "rot" not in result.stdout and "class 0" in result.stdout
    assert f"lanner: note: classes have no names; {name} is in the model's folder: --labels {path}\n" in result.stderr
    assert "beside" not in run(model, "-q").stderr


def test_no_note_without_a_label_file(model):
    (model.parent / "config.json").write_text('{"learning_rate": 1}')
    (model.parent / "labels.txt").mkdir()
    assert "beside" not in run(model).stderr
    (model.parent / "labels.txt").rmdir()
    (model.parent / "labels.txt").write_text("a\nb\nc\n")
    named = color_classifier(model.parent / "named.onnx", metadata={"id2label": '{"0": "rot", "1": "grün", "2": "blau"}'})
    result = run(named)
    assert "beside" not in result.stderr and "rot" in result.stdout and "id2label" in result.stderr


def test_a_path_with_spaces_is_quoted(model):
    folder = model.parent / "my models"
    folder.mkdir()
    moved = model.rename(folder / "model.onnx")
    make_ppm(folder / "red.ppm")
    (folder / "labels.txt").write_text("a\nb\nc\n")
    assert f"--labels '{folder / 'labels.txt'}'\n" in run(moved).stderr
