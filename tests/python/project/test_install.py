"""Third-party programs in C++ and C built against an installed tree, which may be moved, by CMake and by pkg-config."""

import os
import re
import shutil
import subprocess

import pytest
from command import BUILD, ROOT, color_classifier, make_clip

CONSUMER = ROOT / "tests" / "install"
SECONDS = 300
STRICT_C = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=SECONDS, check=False, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Installed in one folder, then moved to another."""
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--component", "sdk", "--prefix", folder / "first")
    shutil.move(folder / "first", folder / "moved")
    return folder / "moved"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    return color_classifier(folder / "model.onnx", metadata={"color": "channel"}), make_clip(folder)


def environment(prefix, **more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "LANNER_", "CMAKE_"))}
    return {**kept, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig"), **more}


def flags(prefix, library="lanner"):
    words = run("pkg-config", "--cflags", "--libs", library, env=environment(prefix)).split()
    return [*words, f"-Wl,-rpath,{prefix}/lib"]


def check_consumer(program, inputs, **options):
    said = run(program, *inputs, **options).splitlines()
    assert said[0] == "input: f32[N, 3, 8, 8]"
    assert said[1] == "frame 11 of 12: channel 1"
    assert said[2].startswith("not_found: ") and "absent.onnx" in said[2]
    assert said[3].startswith("bad_data: ")


def test_a_program_by_find_package(prefix, inputs, tmp_path):
    run("cmake", "-G", "Ninja", "-S", CONSUMER, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}", env=environment(prefix))
    run("cmake", "--build", tmp_path)
    check_consumer(tmp_path / "consumer", inputs)


def test_a_program_by_pkg_config(prefix, inputs, tmp_path):
    run("g++", "-std=c++20", "-Wall", "-Werror", CONSUMER / "consumer.cpp", "-o", tmp_path / "consumer", *flags(prefix))
    check_consumer(tmp_path / "consumer", inputs)
    needed = run("readelf", "-d", tmp_path / "consumer")
    version = run("pkg-config", "--modversion", "lanner", env=environment(prefix)).strip()
    assert f"liblanner.so.{version.rpartition('.')[0]}]" in needed


def test_program_with_only_the_runtime(prefix, inputs, tmp_path):
    plan = tmp_path / "model.plan"
    run(prefix / "bin" / "lanner", "build", inputs[0], "-o", plan, "--shape", "input:1x3x8x8", "--budget", 0, env=environment(prefix))
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\nfind_package(lanner REQUIRED)\n"
        f"add_executable(by_cmake {ROOT}/tests/runtime/probe.cpp)\n"
        "target_link_libraries(by_cmake PRIVATE lanner::lanner-runtime)\n"
    )
    run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}", env=environment(prefix))
    run("cmake", "--build", tmp_path)
    source = ROOT / "tests" / "runtime" / "probe.cpp"
    run("g++", "-std=c++20", source, "-o", tmp_path / "by_pkg_config", *flags(prefix, "lanner-runtime"))
    for program in (tmp_path / "by_cmake", tmp_path / "by_pkg_config"):
        name, answer, libraries = run(program, "load", plan, "run", "1x3x8x8", "libraries", "-").splitlines()
        assert answer.startswith("logits ") and "error" not in name
        assert all(library.startswith("liblanner-runtime") for library in libraries.split()), libraries


def test_a_newer_version_is_not_found(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\nfind_package(lanner 0.99 REQUIRED)\n"
    )
    done = subprocess.run(
        ["cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}"],
        capture_output=True, text=True, timeout=SECONDS, check=False, env=environment(prefix),
    )
    assert done.returncode != 0 and "0.99" in done.stderr


def test_the_c_interface_from_c99(prefix, inputs, tmp_path):
    sources = sorted((ROOT / "tests" / "c").glob("*_test.c"))
    run("cc", *STRICT_C, *sources, "-o", tmp_path / "c_test", *flags(prefix))
    assert run(tmp_path / "c_test", *inputs, cwd=tmp_path) == "all holds\n"
    example = tmp_path / "example.c"
    page = (ROOT / "docs" / "c.md").read_text()
    example.write_text(page.split("```c\n", 1)[1].split("```", 1)[0])
    run("cc", *STRICT_C, example, "-o", tmp_path / "example", *flags(prefix))
    assert run(tmp_path / "example", *inputs) == "frame 0: channel 1\n"


def test_plugins_from_c99(prefix, tmp_path):
    page = (ROOT / "docs" / "plugins.md").read_text()
    (tmp_path / "example.c").write_text(page.split("```c\n", 1)[1].split("```", 1)[0])
    for source in (ROOT / "tests" / "c" / "custom_operators.c", tmp_path / "example.c"):
        built = tmp_path / f"{source.stem}.so"
        run("cc", *STRICT_C, "-shared", "-fPIC", source, "-o", built, *flags(prefix), "-lm")
        assert "lanner_plugin" in run("nm", "-D", "--defined-only", built)


def test_every_header_compiles_alone(prefix):
    """Those of the checkout, which have the same bytes, by the same names in every checkout, so that ccache knows them again."""
    compiler = ["ccache", "g++"] if shutil.which("ccache") else ["g++"]
    sources = BUILD / "tests" / "headers"
    sources.mkdir(exist_ok=True)
    for header in sorted((prefix / "include" / "lanner").glob("*.h")):
        assert header.read_bytes() == (ROOT / "include" / "lanner" / header.name).read_bytes()
        source = sources / f"{header.stem}.cpp"
        source.write_text(f"#include <lanner/{header.name}>\n")
        source = source.relative_to(ROOT)
        run(*compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-c", source, "-o", source.with_suffix(".o"), cwd=ROOT)


def commands(prefix, *group):
    """Names of the commands of `lanner`, or of one of its groups."""
    listed = run(prefix / "bin" / "lanner", *group, "--help").split("Commands:")[1].split("Options:")[0]
    return re.findall(r"^  (\w+)  ", listed, re.MULTILINE)


def test_manual_pages_and_completion_are_installed(prefix):
    share = prefix / "share"
    pages = {path.name for path in (share / "man" / "man1").iterdir()}
    assert pages == {"lanner.1", *(f"lanner-{name}.1" for name in [*commands(prefix), *(f"tf-{name}" for name in commands(prefix, "tf"))])}
    assert (share / "man" / "man1" / "lanner-run.1").read_text().startswith(".TH LANNER-RUN 1")
    for path in ("bash-completion/completions/lanner", "zsh/site-functions/_lanner", "fish/vendor_completions.d/lanner.fish"):
        assert "precision" in (share / path).read_text()


def test_the_command_runs_from_the_moved_tree(prefix, inputs):
    doctor = run(prefix / "bin" / "lanner", "doctor", env=environment(prefix))
    for module in ("ffmpeg", "onednn"):
        assert str(prefix / "lib" / f"liblanner-{module}.so") in doctor
    run("python3", "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1]).TF_InitKernel()", prefix / "lib" / "liblanner-tensorflow.so", env=environment(prefix))
    assert "12 frames" in run(prefix / "bin" / "lanner", "probe", inputs[1], env=environment(prefix))
