"""The tree as the documentation and the tests name it."""

import re
from itertools import product

import pytest
from command import ROOT

PAGES = sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md"])
TOPS = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"build"}
LAYERS = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
PATH = re.compile(r"(?<![\w./~-])(?:[\w.*<>{},-]+/)+[\w.*<>{},-]*")
# Parts of a path that stand for a name of the reader's: src/ops/<family>/x.cpp, tests/fuzz/NAME_target.cpp.
STANDS_FOR = re.compile(r"<|NAME|(\*_)?x\b|x_")


def paths_in(page):
    """Paths of the repository that are written as code; layers are named without src/. Not those that `./dev demo` makes."""
    for code in re.findall(r"`([^`\n]+)`", page.read_text()):
        for path in PATH.findall(code):
            if path.split("/")[0] in TOPS | LAYERS and not path.startswith("demo/out/"):
                yield path


def written_out(path):
    """The paths that braces abbreviate: targets.{h,cpp} is two."""
    parts = re.split(r"\{([^}]*)\}", path)
    return ["".join(choice) for choice in product(*[part.split(",") if number % 2 else [part] for number, part in enumerate(parts)])]


def exists(path):
    parts = path.rstrip("/").split("/")
    named = next((number for number, part in enumerate(parts) if STANDS_FOR.match(part)), len(parts))
    known = "/".join(parts[:named])
    folder = ROOT if parts[0] in TOPS else ROOT / "src"
    return any(folder.glob(known)) if "*" in known else (folder / known).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_that_a_page_names_exist(page):
    assert [path for path in paths_in(page) if not all(map(exists, written_out(path)))] == []


def test_paths_are_found_and_missing_ones_too():
    assert len(set(paths_in(ROOT / "docs/HACKING.md"))) > 80
    assert exists("src/ops/<family>/x.cpp") and exists("tests/fuzz/NAME_target.cpp") and exists("lower/check/")
    for path in ("src/opps/<family>/x.cpp", "tests/fuzz/no_target.cpp", "lower/no.h", "src/*.nothing", "docs/no.md"):
        assert not exists(path)
    assert written_out("a/b.{h,cpp}") == ["a/b.h", "a/b.cpp"]


def test_no_test_imports_another_test():
    """What tests share is in tests/python/support, which is all that pytest puts on the path of one file."""
    importing = re.compile(r"^\s*(?:from|import) test_\w+", re.MULTILINE)
    assert [str(path) for path in ROOT.glob("tests/python/**/*.py") if importing.search(path.read_text())] == []
