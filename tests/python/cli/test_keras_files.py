"""Keras' files: the child process that exports them, with interpreters that are not Keras'."""

import functools
import io
import os
import signal
import subprocess
import time
import zipfile

import pytest

import lanner as package
from command import COMMAND, lanner, refuse, without_notes
from interpreters import name_interpreter


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder of temporary files, in which nothing may stay."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def archive(*names):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name in names:
            file.writestr(name, b"{}")
    return data.getvalue()


FILES = {
    "m.keras": archive("metadata.json", "config.json", "model.weights.h5"),
    "m.h5": b"\x89HDF\r\n\x1a\n" + bytes(100) + b"model_config" + bytes(100),
}


@pytest.fixture(params=FILES)
def model(request, tmp_path):
    (tmp_path / request.param).write_bytes(FILES[request.param])
    return tmp_path / request.param


@pytest.fixture
def interpreter(tmp_path, monkeypatch):
    return functools.partial(name_interpreter, tmp_path, monkeypatch)


def test_without_keras_every_command_gives_the_command_to_run(model, temporary, interpreter):
    interpreter("echo No module named keras; exit 5\n")
    for command in (["probe", model], ["build", model, "-o", model.parent / "m.plan"], ["bench", model], ["run", model, "-i", model], ["convert", model]):
        said = refuse(*command)
        assert "has no Keras with TensorFlow (No module named keras)" in said
        assert f"keras.saving.load_model('{model}', compile=False).export('{model.with_suffix('')}')" in said and "LANNER_KERAS_PYTHON" in said
    for make in (package.build, package.tf.convert):
        with pytest.raises(package.NotFound, match="has no Keras"):
            make(model)
        with pytest.raises(package.NotFound, match="load_model.'model.keras'"):
            make(model.read_bytes())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo a; echo 'ValueError: broken'; exit 3\n", "Keras cannot export it: ValueError: broken"),
        ("echo 'it has a Lambda'; exit 4\n", ": it has a Lambda"),
        ("exit 7\n", "ended with code 7 while Keras exported it: no reason was given"),
        ("echo help >&2; kill -9 $$\n", "ended with signal 9 while Keras exported it: help"),
        ("yes 0123456789 | head -c 50000000; echo; echo last; exit 3\n", "Keras cannot export it: last"),
        ("exit 0\n", "saved_model.pb: No such file"),
        ("mkdir $3; echo x > $3/saved_model.pb\n", "the SavedModel has no graph"),
    ],
)
def test_what_the_interpreter_does_becomes_one_line(tmp_path, temporary, interpreter, text, said):
    (tmp_path / "m.keras").write_bytes(FILES["m.keras"])
    interpreter(text)
    assert said in refuse("build", tmp_path / "m.keras", "-o", tmp_path / "m.plan")


def test_missing_interpreter(model, temporary, monkeypatch):
    monkeypatch.setenv("LANNER_KERAS_PYTHON", "/nowhere/python")
    assert "/nowhere/python cannot be started (No such file or directory)" in refuse("convert", model)


def test_the_child_gets_no_standard_input_and_runs_in_its_folder(tmp_path, temporary, interpreter):
    (tmp_path / "m.keras").write_bytes(FILES["m.keras"])
    interpreter(f'(pwd; cat; echo $KERAS_BACKEND, $CUDA_VISIBLE_DEVICES, $#; echo $2; dirname $1) > {tmp_path}/told; exit 3\n')
    refuse("convert", tmp_path / "m.keras", input="typed")
    folder, variables, copy, script = (tmp_path / "told").read_text().splitlines()
    assert folder.startswith(f"{temporary}/lanner-keras-") and variables == "tensorflow, , 4"
    assert (copy, script) == (f"{folder}/model.keras", folder)


def ended(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z"


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


SLEEP = "sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; wait\n"


def test_interrupt_ends_the_child_and_its_children(tmp_path, temporary, interpreter):
    (tmp_path / "m.keras").write_bytes(FILES["m.keras"])
    interpreter(SLEEP.format(tmp_path / "pid"))
    process = subprocess.Popen([COMMAND, "build", tmp_path / "m.keras", "-o", tmp_path / "m.plan"], stderr=subprocess.PIPE, text=True)
    wait_for((tmp_path / "pid").exists)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, without_notes(errors)) == (130, "lanner: interrupted\n")
    wait_for(lambda: ended(int((tmp_path / "pid").read_text())))


def test_limit_of_time_ends_the_child(tmp_path, temporary, interpreter):
    (tmp_path / "m.keras").write_bytes(FILES["m.keras"])
    interpreter(SLEEP.format(tmp_path / "pid"))
    with pytest.raises(package.LimitExceeded, match="seconds"):
        package.build(tmp_path / "m.keras", limits={"seconds": 2})
    wait_for(lambda: ended(int((tmp_path / "pid").read_text())))


def test_archives_of_others_and_weights_alone_start_nothing(tmp_path, temporary, interpreter):
    interpreter(f"touch {tmp_path}/started; exit 3\n")
    for content in (archive("config.json"), archive("data.pkl", "config.json"), FILES["m.keras"][:-10], b"\x89HDF\r\n\x1a\n" + bytes(300)):
        (tmp_path / "m.keras").write_bytes(content)
        assert lanner("build", tmp_path / "m.keras", "-o", tmp_path / "m.plan").returncode == 2
    assert not (tmp_path / "started").exists()
