"""Keywords of the package: typed in the stub, which names exactly those that the module accepts."""

import ast
import os
import subprocess
import sys

import numpy as np
import pytest
from command import BUILD, ROOT, color_classifier, make_clip

import lanner

STUB = ast.parse((BUILD / "python" / "lanner" / "_lanner.pyi").read_text())
PREPROCESS = ["Preprocess.__init__", "Image.to_tensor", "Frame.to_tensor", "VideoReader.batch"]
READERS = ["VideoReader.__init__", "ParallelDecoder.__init__"]
ENGINES = ["build", "load"]


def functions(body=None, prefix=""):
    """Functions of the stub by name; of overloads the last."""
    found = {}
    for node in STUB.body if body is None else body:
        if isinstance(node, ast.ClassDef):
            found.update(functions(node.body, f"{prefix}{node.name}."))
        elif isinstance(node, ast.FunctionDef):
            found[prefix + node.name] = node
    return found


def keywords(name):
    """Parameters that have a default, with the text of their types, and those defaults."""
    arguments = functions()[name].args
    optional = arguments.args[len(arguments.args) - len(arguments.defaults) :] + arguments.kwonlyargs
    types = {argument.arg: ast.unparse(argument.annotation) for argument in optional}
    return types, dict(zip(types, arguments.defaults + arguments.kw_defaults, strict=True))


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return color_classifier(tmp_path_factory.mktemp("model") / "model.onnx")


@pytest.fixture(scope="module")
def calls(clip, model, tmp_path_factory):
    """Functions that take keywords as a dict, ready to be called."""
    reader = lanner.VideoReader(clip)
    plan = tmp_path_factory.mktemp("plan") / "plan"
    lanner.build(model, budget=0.0, device="cpu").save(plan)
    frame = reader[0]
    return {
        "Preprocess.__init__": lanner.Preprocess,
        "Image.to_tensor": frame.image.to_tensor,
        "Frame.to_tensor": frame.to_tensor,
        "VideoReader.batch": lambda **options: reader.batch([0], **options),
        "VideoReader.__init__": lambda **options: lanner.VideoReader(clip, **options),
        "ParallelDecoder.__init__": lambda **options: lanner.ParallelDecoder(clip, **options),
        "build": lambda **options: lanner.build(model, **{"budget": 0.0, "device": "cpu", **options}),
        "load": lambda **options: lanner.load(plan, **options),
    }


def test_functions_take_only_keywords_of_the_stub():
    open_ended = {name for name, node in functions().items() if node.args.kwarg}
    assert open_ended == set()


def test_every_keyword_of_a_stub_has_a_type():
    for name, node in functions().items():
        for argument in node.args.kwonlyargs:
            assert argument.annotation is not None, (name, argument.arg)


@pytest.mark.parametrize("name", PREPROCESS + READERS + ENGINES)
def test_the_stub_names_the_modules_keywords(calls, name):
    with pytest.raises((TypeError, lanner.InvalidArgument), match="unknown option 'no_such'") as refused:
        calls[name](no_such=None)
    known = str(refused.value).split("known are ")[1].split(", ")
    types, defaults = keywords(name)
    assert [one for one in types if one != "example_inputs"] == known  # Which stands in its place too, in lanner.build alone.
    for keyword, default in defaults.items():
        assert (ast.unparse(default) == "None") == types[keyword].endswith(" | None"), keyword
        assert name in ENGINES or ast.unparse(default) == "None", keyword
        calls[name](**{keyword: None})  # Changes nothing.


@pytest.mark.parametrize("name", PREPROCESS + READERS + ENGINES)
def test_each_keyword_is_applied(calls, name):
    for keyword in keywords(name)[0]:
        with pytest.raises((TypeError, ValueError, lanner.Error)) as refused:
            calls[name](**{keyword: object()})  # Fits nothing.
        assert "is not applied" not in str(refused.value) and "unknown" not in str(refused.value), keyword


def given(default):
    """The value of a default as a stub has it; `...` stands for an Environment."""
    return lanner.Environment() if ast.unparse(default) == "..." else ast.literal_eval(default)


def test_calls_take_every_keyword_of_their_stub(model, tmp_path):
    def called(name, function, *arguments, **others):
        options = {keyword: given(default) for keyword, default in keywords(name)[1].items()}
        assert len(options) > 0, name
        return function(*arguments, **{**options, **others})

    environment = called("Environment.__init__", lanner.Environment)
    engine = called("build", lanner.build, model, environment=environment, budget=0.0, device="cpu")
    called("Engine.save", engine.save, tmp_path / "plan")
    loaded = called("load", lanner.load, tmp_path / "plan")
    called("Engine.verify", loaded.verify, runs=1)
    context = called("Engine.create_context", loaded.create_context)
    picture = np.ones((1, 3, 8, 8), np.float32)
    assert called("Engine.__call__", loaded, {"input": picture})
    assert called("Context.__call__", context, {"input": picture})


def errors_of_mypy(program):
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", os.devnull, str(program)],
        capture_output=True, text=True, check=False, env={**os.environ, "MYPYPATH": str(BUILD / "python")}, cwd=ROOT,
    )
    return (done.stdout + done.stderr).splitlines()


RIGHT = """
import numpy as np

import lanner

engine = lanner.build("model.onnx", profiles=[{"input": (1, 3, 8, 8)}], threads=1, precision=["fp32", "fp16"])
spec = lanner.Preprocess(preset="imagenet", size=(224, 224), dtype="float32", resize="bilinear", mean=(0.5, 0.5, 0.5))
reader = lanner.VideoReader("clip.mp4", device="cpu", preprocess=spec, latency="low", limits={"pixels": "4MiB"})
context = engine.create_context(threads=1)
for frame in reader:
    out = context({"input": frame.to_tensor(size=(8, 8), layout="nchw", std=2.0)})["logits"]
batch: lanner.Tensor = reader.batch(range(2), fit="letterbox", pad_value=0.5)
for frame in lanner.ParallelDecoder("clip.mp4", decoders=2, format="rgb24"):
    frame.image.to_tensor(region=(0, 0, 4, 4), quarter_turns=1)
shapes: dict[str, list[int]] = {"input": [1, 3, 8, 8]}
bounds = {"seconds": 60}
ranges = [{"input": ((1, 3, 8, 8), (2, 3, 8, 8), (4, 3, 8, 8))}]
ranged = lanner.build("model.onnx", shapes=shapes, profiles=ranges, limits=bounds, preprocess={"input": spec})
lanner.build("model.onnx", shapes={"input": ([1, 3], [2, 3], [4, 3])}, images={"input": ("nv12", spec)})
ranged.prepare(shapes, threads=[1, 2])
ranged.prepare([shapes, {"input": (2, 3, 8, 8)}])
arrays: dict[str, np.ndarray] = {"input": np.ones((1, 3, 8, 8), np.float32)}
ranged(arrays)
ranged.refit(arrays).create_context(profile=True)(arrays, outputs=arrays)
ranged.verify(shapes, arrays)
lanner.load("plan", limits=bounds)
one: lanner.Frame = reader[0]
some: list[lanner.Frame] = reader[1:3] + reader[[0, np.int64(2)]] + list(reversed(reader))
with lanner.VideoReader("clip.mp4", rotate=False) as video:
    both = [(a.index, b.index) for a, b in zip(video, video)]
    seconds: float = (video.duration or 0.0) * (video.fps or 0.0) + video.width + sum(time or 0.0 for time in video.times())
    title: str = video.metadata.get("title", "")
    ticks: list[int | None] = video.pts([0, 1]) + video.pts()
image: lanner.Image = lanner.Image.from_array(arrays["input"], layout="chw", range=(0, 1))
again = image.to_tensor(spec, size=(8, 8))
video.batch([0], spec)
lanner.build("model.onnx", outputs=["mean"]).preprocess["input"].to_json()
"""

WRONG = {
    'lanner.Preprocess(sise=(8, 8))': 'Unexpected keyword argument "sise"',
    'lanner.Preprocess(size="8")': "incompatible type",
    'lanner.Preprocess(fit="stretched")': "incompatible type",
    'lanner.VideoReader("a", latency="none")': "incompatible type",
    'lanner.VideoReader("a", thread=1)': 'Unexpected keyword argument "thread"',
    'lanner.VideoReader("a").batch([0], crop="x")': 'Unexpected keyword argument "crop"',
    'lanner.ParallelDecoder("a", prefetch="many")': "incompatible type",
    'lanner.build("a", budgets=1)': 'Unexpected keyword argument "budgets"',
    'lanner.load("a", threads="2")': "incompatible type",
    'lanner.build("a", shapes={"x": 3})': "incompatible type",
    'lanner.build("a", shapes={"x": "1x3"})': "incompatible type",
    'lanner.build("a", shapes={"x": ((1, 3), (2, 3))})': "incompatible type",
    'lanner.build("a", shapes=(1, 3))': "incompatible type",
    'lanner.build("a", profiles={"x": (1, 3)})': "incompatible type",
    'lanner.build("a", profiles=[{"x": ("1x3", "2x3", "4x3")}])': "incompatible type",
    'lanner.build("a", preprocess=lanner.Preprocess())': "incompatible type",
    'lanner.build("a", images={"x": "imagenet"})': "incompatible type",
    'lanner.load("a").prepare({"x": 3})': "incompatible type",
    'lanner.load("a").verify(shapes={"x": "3"})': "incompatible type",
    'lanner.load("a")([1.0])': "incompatible type",
    'lanner.load("a", limits="4GiB")': "incompatible type",
    'lanner.VideoReader("a", rotate="no")': "incompatible type",
    'lanner.VideoReader("a")[0].no_such': 'has no attribute "no_such"',
    'lanner.VideoReader("a")["0"]': "Invalid index type",
    'next(lanner.VideoReader("a"))': "No overload variant",
    'lanner.VideoReader("a")[0].to_tensor((8, 8))': "incompatible type",
    'lanner.Image.from_array([[0.5]], layout="cwh")': "incompatible type",
    'lanner.build("a", outputs="mean")': "incompatible type",
    'lanner.VideoReader("a").batch([0], spec="imagenet")': "incompatible type",
}


def test_a_type_checker_accepts_the_keywords(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    assert errors_of_mypy(tmp_path / "right.py") == []
    (tmp_path / "wrong.py").write_text("import lanner\n" + "\n".join(WRONG) + "\n")
    said = [line for line in errors_of_mypy(tmp_path / "wrong.py") if ": error:" in line]
    for number, (call, fault) in enumerate(WRONG.items(), 2):
        assert any(f"wrong.py:{number}:" in line and fault in line for line in said), (call, said)
    assert len(said) == len(WRONG), said


@pytest.mark.parametrize(("wrong", "meant"), [("precison", "precision"), ("thread", "threads"), ("devices", "device"), ("shape", "shapes")])
def test_the_nearest_keyword_is_suggested(model, wrong, meant):
    with pytest.raises(TypeError) as refused:
        lanner.build(model, **{wrong: "fp16"})
    assert f"unknown option '{wrong}'; did you mean {meant}" in str(refused.value)
    assert "known are" not in str(refused.value)
    with pytest.raises(TypeError, match="unknown option 'frobnicate'; known are precision"):
        lanner.build(model, frobnicate=1)


def test_dir_shows_the_public_names():
    public = [name for name in dir(lanner) if not name.startswith("__")]
    assert sorted(public) == sorted(name for name in lanner.__all__ if not name.startswith("__"))
    assert all(hasattr(lanner, name) for name in dir(lanner))
    assert not {"os", "sys", "importlib"} & vars(lanner).keys()


def test_a_missing_package_error_names_the_install_command(tmp_path):
    """A separate interpreter without installed packages."""
    (tmp_path / "site").mkdir()
    program = f"import sys; sys.path[:] = [{str(BUILD / 'python')!r}, *(p for p in sys.path if 'site-packages' not in p)]; import lanner"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: lanner: ") and f"{sys.executable} -m pip install 'nanobind-backend" in last
    assert done.stderr.count("Traceback") == 1
