"""docs/python.md is up to date with the package, and every name of the package has a docstring."""

import ast
import importlib.util
import inspect
import re
import subprocess
import sys

import pytest

from command import ROOT
from guides import examples, make_files, run_example

lanner = pytest.importorskip("lanner")
PAGE = ROOT / "docs" / "python.md"
GENERATOR = ROOT / "tools" / "python_reference.py"


def generator():
    spec = importlib.util.spec_from_file_location("python_reference", GENERATOR)
    module = importlib.util.module_from_spec(spec)
    sys.modules["python_reference"] = module
    spec.loader.exec_module(module)
    return module


def public_names():
    return [("lanner", name) for name in lanner.__all__ if name not in ("__version__", "tasks")] + [
        ("lanner.tasks", name) for name in lanner.tasks.__all__
    ]


def test_page_is_up_to_date():
    done = subprocess.run([sys.executable, GENERATOR, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_public_name_has_a_docstring():
    missing = []
    for module, name in public_names():
        thing = getattr(sys.modules[module], name)
        if not inspect.getdoc(thing):
            missing.append(f"{module}.{name}")
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            missing += [
                f"{module}.{name}.{member}"
                for member, value in vars(thing).items()
                if not member.startswith("_") and not inspect.getdoc(value)
            ]
    assert not missing


def functions():
    """Name and definition of every public function and method with parameters."""
    reference = generator()
    names = reference.Names()
    for module, name in public_names():
        node = names.definition(module, name)
        if isinstance(node, ast.FunctionDef):
            yield f"{module}.{name}", reference.function_of(node, name)
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and (
                    not method.name.startswith("_") or method.name in ("__init__", "__call__")
                ):
                    if not reference.is_property(method) and not reference.is_setter(method):
                        yield f"{module}.{name}.{method.name}", reference.function_of(method, name)


def test_every_parameter_has_a_meaning_and_no_other_name_has_one():
    missing = []
    for name, function in functions():
        names = [one.name for _, one in function.parameters]
        missing += [f"{name}({one})" for one in names if one not in function.docs.parameters]
        # A line like `path: ...` left in the text would be a parameter that does not exist.
        assert not re.search(r"^\w+: ", function.docs.text, re.MULTILINE), name
    assert not missing


def test_links_have_targets():
    text = PAGE.read_text()
    anchors = {
        re.sub(r"[^a-z0-9_ -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }
    for target in re.findall(r"\]\(([^)]+)\)", text):
        file, _, anchor = target.partition("#")
        assert not file or (PAGE.parent / file).is_file(), target
        assert file or anchor in anchors, target


def test_name_without_a_part_is_an_error(monkeypatch):
    reference = generator()
    parts = reference.read_parts()
    parts[0].names.remove("lanner.Frame")
    monkeypatch.setattr(reference, "read_parts", lambda: parts)
    with pytest.raises(SystemExit, match=r"lanner\.Frame"):
        reference.Page().text()


def test_a_star_stands_for_the_rest_of_a_module():
    page = generator().Page()
    names = page.expanded(["lanner.tasks.draw", "lanner.tasks.*"], {"lanner.tasks.draw", "lanner.tasks.Result"})
    assert names[0] == "lanner.tasks.draw" and "lanner.tasks.crop" in names[1:]
    assert names.count("lanner.tasks.draw") == 1 and "lanner.tasks.Result" not in names


def test_parameter_lines_are_parsed():
    reference = generator()
    docs = reference.split_docs("Does it.\n\npath: where\nsize: how much: 3 or 4\n\nRaises: nothing", ["path", "size"])
    assert docs.parameters == {"path": "where", "size": "how much: 3 or 4"}
    assert docs.text == "Does it.\n\nRaises: nothing"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("files"))


@pytest.mark.parametrize("number", range(9))
def test_examples_run(folder, number):
    codes = examples("python.md")
    assert len(codes) == 9, "an example more or less: say so in this test"
    run_example(codes[number], folder)
