#!/usr/bin/env python3
"""Fails when an #include runs against the layers of docs/design.md.

    base <- device <- tensor <- image <- graph <- ops <- {importers, passes, backends}
    backends <- program <- run <- engine <- pipeline    image <- video <- pipeline
    engine <- tasks     {engine, video} <- options <- c     tensor <- calibration <- engine
    {passes, program} <- lower    image <- known       {importers, known, lower, engine} <- builder
    {builder, options} <- tf
    python, tools, src/c, src/tensorflow_ops -> include/lanner only

liblanner-runtime leaves out importers, passes, lower, builder and tf: none of its layers may depend on them.
A file may include its own layer and those that its layer reaches by the arrows. A folder of src/ is a layer; a public
header belongs to the layer of its noun (HEADERS below).
"""

import argparse
import re
import sys
from pathlib import Path

# layer -> the layers directly below it
BELOW = {
    "base": [],
    "device": ["base"],
    "tensor": ["device"],
    "image": ["tensor"],
    "graph": ["image"],
    "ops": ["graph"],
    "importers": ["ops"],
    "passes": ["ops"],
    "backends": ["ops"],
    "program": ["backends"],
    "lower": ["program", "passes"],
    "run": ["program"],
    "engine": ["run", "calibration"],
    "calibration": ["tensor"],
    "known": ["image"],
    "builder": ["engine", "importers", "known", "lower"],
    "tf": ["builder", "options"],
    "video": ["image"],
    "pipeline": ["engine", "video"],
    "tasks": ["engine"],
    "options": ["engine", "video"],
    "c": ["options", "pipeline", "tasks"],
}

# public header -> layer of its noun
HEADERS = {
    "batch": "engine",
    "allocator": "base",
    "c_options": "base",
    "c_types": "base",
    "cancel": "base",
    "environment": "engine",
    "operator": "graph",
    "machine_limits": "device",
    "profiled_range": "device",
    "error": "base",
    "version": "base",
    "trace": "base",
    "limits": "base",
    "log": "base",
    "message": "base",
    "nearest": "base",
    "output": "base",
    "source": "base",
    "cuda_memory": "device",
    "device": "device",
    "placement": "device",
    "threads": "device",
    "dlpack": "tensor",
    "dlpack_structs": "tensor",
    "dtype": "tensor",
    "item": "tensor",
    "layout": "tensor",
    "shape": "tensor",
    "calibration": "calibration",
    "tensor": "tensor",
    "tensor_file": "tensor",
    "tensorflow_options": "base",
    "tensorflow": "tf",
    "tf_records": "tf",
    "tf_export": "tf",
    "model_folder": "base",
    "precision": "tensor",
    "image": "image",
    "raw_image": "image",
    "preprocess": "image",
    "known_preprocess": "known",
    "doctor": "engine",
    "engine": "engine",
    "model_file": "importers",
    "keras": "importers",
    "packet": "video",
    "audio_reader": "video",
    "demuxer": "video",
    "decoder": "video",
    "encoder": "video",
    "muxer": "video",
    "video_writer": "video",
    "upright": "video",
    "transcode": "video",
    "hdr": "video",
    "video_reader": "video",
    "video_support": "video",
    "pipeline": "pipeline",
    "classes": "tasks",
    "crop_runner": "tasks",
    "run_sizes": "engine",
    "task": "tasks",
    "draw": "tasks",
    "result_writer": "tasks",
    "evaluation": "tasks",
    "option_table": "options",
    "c": "c",
}

# Folders that may include only public headers (and their own files), and how their own #include lines begin.
OUTSIDE = {"python": "python/bindings", "tools": "tools", "src/c": "src/c", "src/tensorflow_ops": "src/tensorflow_ops"}

SUFFIXES = {".h", ".hpp", ".cpp", ".c", ".cu", ".cuh", ".in", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def reach(layer: str) -> set[str]:
    """The layer itself and everything below it."""
    found = {layer}
    for lower in BELOW[layer]:
        found |= reach(lower)
    return found


class Checker:
    def __init__(self, root: Path):
        self.root = root
        self.errors: list[str] = []
        self.reach = {layer: reach(layer) for layer in BELOW}

    def error(self, path: Path, line: int, text: str) -> None:
        self.errors.append(f"{path.relative_to(self.root)}:{line}: {text}")

    def header_layer(self, name: str) -> str | None:
        """Layer of <lanner/name>: its own row, or that of the folder for <lanner/folder/noun.h>."""
        stem = name.removesuffix(".h").split("/")[0]
        return HEADERS.get(stem)

    def layer_of_target(self, path: Path, name: str) -> tuple[bool, str | None]:
        """(is it a header of this project, its layer) for an include of `name` in `path`"""
        if name.startswith("lanner/"):
            return True, self.header_layer(name.removeprefix("lanner/"))
        if (path.parent / name).is_file():
            resolved = (path.parent / name).resolve()
            source = (self.root / "src").resolve()
            if resolved.is_relative_to(source):
                return True, resolved.relative_to(source).parts[0]
            return False, None
        first = name.split("/")[0]
        if first in BELOW and "/" in name:
            return True, first
        return False, None

    def check_layered(self, path: Path, layer: str | None) -> None:
        if layer not in BELOW:
            self.error(path, 1, f"belongs to no layer: name '{layer or path.stem}' in tools/check_layers.py, "
                                "or move the file into a layer's folder")
            return
        for line, name in includes(path):
            ours, target = self.layer_of_target(path, name)
            if not ours:
                continue
            if target is None:
                self.error(path, line, f"<{name}> has no row in HEADERS of tools/check_layers.py")
            elif target not in self.reach[layer]:
                self.error(path, line, f"{layer} includes {name} of {target}, which is not below it; "
                                       f"{layer} may use {', '.join(sorted(self.reach[layer]))}")

    def check_outside(self, path: Path, folder: str) -> None:
        for line, name in includes(path):
            own = (path.parent / name).is_file() or (self.root / OUTSIDE[folder] / name).is_file()
            if name.startswith("lanner/") or own and "../src" not in name:
                continue
            first = name.split("/")[0]
            if first in BELOW or name.startswith("..") or (self.root / "src" / name).is_file():
                self.error(path, line, f"{folder} includes {name}: {folder} may use only <lanner/...> and its own files")

    def run(self) -> list[str]:
        for path in sources(self.root / "src"):
            if path.relative_to(self.root).as_posix().startswith(tuple(f"{folder}/" for folder in OUTSIDE)):
                continue
            self.check_layered(path, path.relative_to(self.root / "src").parts[0])
        include = self.root / "include" / "lanner"
        for path in sources(include):
            self.check_layered(path, self.header_layer(path.relative_to(include).as_posix()))
        for folder in OUTSIDE:
            for path in sources(self.root / folder):
                self.check_outside(path, folder)
        return self.errors


def sources(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file())


def includes(path: Path) -> list[tuple[int, str]]:
    text = path.read_text(encoding="utf-8", errors="replace")
    return [(text.count("\n", 0, match.start(2)) + 1, match.group(2)) for match in INCLUDE.finditer(text)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks the layers of the source tree.")
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    errors = Checker(parser.parse_args().root).run()
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
