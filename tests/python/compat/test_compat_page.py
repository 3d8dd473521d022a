"""docs/pynvvideocodec.md is what its table says, each name of the table exists, each name of the module has a row, and each test is there."""

import inspect
import re
import subprocess
import sys

import pytest

from command import ROOT

nvc = pytest.importorskip("lanner.compat.PyNvVideoCodec")
sys.path.insert(0, str(ROOT / "tools"))

from lanner.compat.PyNvVideoCodec.encoder_options import _OF_ENCODER, _PLAIN  # noqa: E402
from pynvvideocodec_table import DEFECTS, SECTIONS  # noqa: E402

ROWS = [row for rows in SECTIONS.values() for row in rows]
NAMES = [name for row in ROWS if not row.is_feature for name in row.names.split()]


def test_the_page_is_not_stale():
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "pynvvideocodec_page.py"), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def known(name):
    owner, _, member = name.partition(".")
    call, _, parameter = name.partition("(")
    if parameter:
        return parameter.rstrip(")") in inspect.signature(getattr(nvc, call)).parameters
    if not hasattr(nvc, owner):
        return False
    kind = getattr(nvc, owner)
    return not member or hasattr(kind, member) or member in getattr(kind, "__annotations__", {}) or hasattr(make(owner), member)


def make(name):
    """An object where attributes are set by __init__."""
    return {"PacketData": nvc.PacketData, "CAIMemoryView": lambda: nvc.CAIMemoryView([1], [1], "|u1", 0, 0, False)}.get(name, object)()


def test_each_name_of_the_table_is_there():
    missing = [name for name in NAMES if not known(name)]
    assert not missing


def test_each_name_of_the_module_has_a_row():
    named = set(NAMES)
    wanted = set(nvc.__all__)
    for name in ("PyNvDemuxer", "PyNvDecoder", "DecodedFrame", "SimpleDecoder", "ThreadedDecoder", "PyNvEncoder", "Transcoder", "FFmpegMuxer"):
        wanted |= {f"{name}.{member}" for member in vars(getattr(nvc, name)) if not member.startswith("_")}
    wanted |= {f"PacketData.{member}" for member in vars(nvc.PacketData()) if not member.startswith("_")}
    wanted |= {f"{kind.__name__}.{field}" for kind in (nvc.NV_ENC_PIC_PARAMS, nvc.structEncodeReconfigureParams) for field in vars(kind())}
    wanted |= {f"CreateDecoder({parameter})" for parameter in inspect.signature(nvc.CreateDecoder).parameters}
    wanted |= {f"CreateEncoder({parameter})" for parameter in inspect.signature(nvc.CreateEncoder).parameters if parameter != "kwargs"}
    assert not wanted - named


def test_each_keyword_of_the_encoder_has_a_row():
    told = set(re.findall(r"`(\w+)", " ".join(row.names for row in SECTIONS["Keywords of CreateEncoder and Transcoder"])))
    assert not {*_PLAIN, *_OF_ENCODER} - told


def test_each_test_of_the_table_is_there():
    text = "\n".join(path.read_text() for path in (ROOT / "tests" / "python").rglob("test_compat_*.py"))
    there = set(re.findall(r"^def (test_\w+)", text, re.MULTILINE))
    assert not {name for row in ROWS for name in row.tests.split()} - there
    assert len(DEFECTS) == len([name for name in there if name.startswith("test_defect_")]) == 16
    assert all(row.tests for row in ROWS)
