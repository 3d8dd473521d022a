"""The products of the build: symbols, dependencies, the stable ABI and the stubs of the package."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build"
LIBRARY = BUILD / "lib" / "liblanner.so"
OURS = re.compile(r"lanner_|_ZN[KRO]*6lanner|_ZT[ISVTCW]N6lanner|_ZTHN6lanner|_ZT[hvc].*6lanner|_ZZNK?6lanner|_ZGVZ?NK?6lanner")


def output(*command: str | Path, **options) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def needed(library: Path) -> list[str]:
    return re.findall(r"NEEDED.*\[(.+)\]", output("readelf", "-d", library))


def test_library_exports_only_its_own_symbols():
    symbols = [line.split()[0] for line in output("nm", "-D", "--defined-only", "-P", LIBRARY).splitlines()]
    assert any(symbol.startswith("_ZN6lanner") for symbol in symbols)
    assert [symbol for symbol in symbols if not OURS.match(symbol)] == []


def test_files_for_one_instruction_set_share_no_inline_function():
    """The linker keeps one copy of an inline function: from such a file, it would run on processors that lack the set.
    Functions whose namespace is named for the set are its own, and what is local to them."""
    objects = sorted((BUILD / "src").rglob("*_avx*.cpp.o"))
    assert objects
    for path in objects:
        own = "simd_" + path.name.split(".")[0].rsplit("_", 1)[1]
        symbols = [line.split()[:2] for line in output("nm", "-P", path).splitlines()]
        shared = [name for name, kind in symbols if kind in "WVu" and not name.startswith("DW.ref.")]
        assert [name for name in shared if not name.startswith(("_ZN6lanner", "_ZZN6lanner")) or own not in name] == [], path


@pytest.mark.parametrize("product", ["lib/liblanner.so", "bin/lanner", "python/lanner/_lanner.abi3.so"])
def test_heavy_libraries_are_opened_and_not_linked(product):
    foreign = ("libav", "libsw", "libdnnl", "libcuda", "libcudart", "libnv", "libpython")
    assert [name for name in needed(BUILD / product) if name.startswith(foreign)] == []


@pytest.mark.parametrize("module, library", [("ffmpeg", "libavformat"), ("onednn", "libdnnl")])
def test_a_module_links_the_library_and_its_own(module, library):
    names = needed(BUILD / "lib" / f"liblanner-{module}.so")
    assert LIBRARY.resolve().name in names
    assert any(name.startswith(library) for name in names)


def test_import_opens_no_heavy_library():
    script = "import lanner; print(open('/proc/self/maps').read())"
    maps = output(sys.executable, "-c", script)
    assert "liblanner.so" in maps
    assert not re.search(r"libavcodec|libdnnl|libcuda", maps)


def test_extension_uses_only_the_stable_abi():
    module = BUILD / "python" / "lanner" / "_lanner.abi3.so"
    audit = subprocess.run(
        [sys.executable, "-m", "abi3audit", "--strict", "--assume-minimum-abi3", "3.11", str(module)],
        capture_output=True, text=True, check=False,
    )
    assert audit.returncode == 0, audit.stdout + audit.stderr


def mypy(*arguments: str | Path) -> str:
    environment = {**os.environ, "MYPYPATH": str(BUILD / "python")}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", os.devnull, *map(str, arguments)],
        capture_output=True, text=True, check=False, env=environment, cwd=ROOT,
    )
    return done.stdout + done.stderr


def public(names) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def stub_names(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Public names that a stub's module or class defines; imports are not definitions."""
    names: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names[node.target.id] = node
        elif isinstance(node, ast.Assign):
            names.update({target.id: node for target in node.targets if isinstance(target, ast.Name)})
    return {name: node for name, node in names.items() if not name.startswith("_")}


def test_stubs_match_the_module():
    import lanner._lanner as module

    stub = stub_names(ast.parse((BUILD / "python" / "lanner" / "_lanner.pyi").read_text()).body)
    assert set(stub) == public(vars(module))
    for name, node in stub.items():
        if isinstance(node, ast.ClassDef):
            assert set(stub_names(node.body)) == public(vars(getattr(module, name))), name


def test_stubs_type_check():
    assert mypy("-p", "lanner") == ""


def test_type_checker_sees_the_package(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import lanner\nreveal_type(lanner.build)\nlanner.no_such_name\n")
    seen = mypy(program)
    assert 'has no attribute "no_such_name"' in seen
    assert seen.count("error:") == 1, seen
    assert 'Revealed type is "Any"' not in seen


def test_the_command_runs_from_the_package():
    assert output(sys.executable, "-m", "lanner", "--help") == output(BUILD / "bin" / "lanner", "--help")
