"""./dev must report what is wrong with a machine, with a remedy, before it changes anything."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
COMMANDS = ["setup", "build", "test", "demo", "fuzz", "bench", "sweep", "networks", "docs", "lint", "chroot", "clean"]


@pytest.fixture
def machine(tmp_path):
    """A copy of ./dev with scripts in place of the package tools; nothing is installed."""
    for name in ["dev", "cmake/apt-packages.txt"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    tools = tmp_path / "tools"
    tools.mkdir()
    scripts = {"dpkg-query": "exit 1", "apt-get": "echo 'E: no such host'; exit 100", "id": "echo 0"}

    def run(*arguments, **replaced):
        for name, script in {**scripts, **replaced}.items():
            name = name.replace("_", "-")
            (tools / name).write_text(f"#!/bin/sh\n{script}\n")
            (tools / name).chmod(0o755)
        environment = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(tmp_path), "CI": "true"}
        return subprocess.run(
            ["bash", str(tmp_path / "dev"), *arguments],
            capture_output=True, text=True, check=False, env=environment, stdin=subprocess.DEVNULL,
        )

    return run


def test_without_arguments_dev_lists_every_command():
    listed = subprocess.run([str(ROOT / "dev")], capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^  (\w+) ", listed, re.MULTILINE) == COMMANDS


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["frobnicate"], "unknown command 'frobnicate'"),
        (["test", "--frobnicate"], "unknown option --frobnicate"),
        (["test", "--sanitize=memory"], "there are address,undefined and thread, not 'memory'"),
        (["build", "--sanitize="], "unknown option --sanitize="),
        (["test", "-k"], "-k needs an expression"),
        (["setup", "frobnicate"], "no group 'frobnicate'"),
        (["chroot"], "which Debian?"),
    ],
)
def test_wrong_arguments_are_refused(machine, arguments, message):
    done = machine(*arguments)
    assert done.returncode == 1
    assert message in done.stderr


def test_packages_of_a_group_are_installed(machine):
    done = machine("setup", "chroot")
    assert "installing 1 Debian packages: debootstrap" in done.stderr


def test_missing_network_is_explained(machine):
    done = machine("build")
    assert done.returncode == 1
    assert "E: no such host" in done.stderr
    assert "check the network" in done.stderr


def test_refused_sudo_is_explained(machine):
    done = machine("build", id="echo 1000", sudo="exit 1")
    assert done.returncode == 1
    assert "sudo may be used" in done.stderr


def test_installed_packages_are_left_alone(machine):
    installed = 'shift 3; for name; do echo "installed $name"; done'
    done = machine("setup", "chroot", dpkg_query=installed)
    assert done.returncode == 0
    assert "Debian packages" not in done.stderr


@pytest.mark.parametrize("name", ["dev", ".ci/run", ".ci/lint", ".ci/chroot"])
def test_scripts_are_executable(name):
    assert os.access(ROOT / name, os.X_OK)
