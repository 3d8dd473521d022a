"""Every kernel family that a file defines stands in the list of its backend; one that does not would never be asked."""

import re
from pathlib import Path

BACKENDS = Path(__file__).resolve().parents[3] / "src" / "backends"


def listed(text):
    return set(re.findall(r"^LANNER_(CPU|ONEDNN|CUDA)_FAMILY\((\w+)\)", text, flags=re.M))


def defined(path):
    """Pairs of the backend, by the end of the file's name or its folder, and the family."""
    kinds = {"cuda": "CUDA", "cudnn": "CUDA", "cublaslt": "CUDA", "onednn": "ONEDNN"}
    kind = kinds.get(path.stem.rsplit("_", 1)[-1], "CPU")
    names = re.findall(r"^extern (?:constinit )?const KernelFamily (\w+)_family\s*[{=]", path.read_text(), flags=re.M)
    return {(kind, name) for name in names}


def test_every_defined_family_is_listed():
    found = set().union(*(defined(path) for path in BACKENDS.rglob("*.cpp")))
    assert found == listed((BACKENDS / "families.inc").read_text())
