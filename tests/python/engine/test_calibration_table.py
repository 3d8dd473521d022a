"""lanner.CalibrationTable and lanner.TensorRange."""

import math
import re
import struct

import pytest

from command import ROOT

lanner = pytest.importorskip("lanner")

TABLE = """lanner calibration 1
"a b" least=-1.5 most=2.25 threshold=2 calibrator=entropy
"gr\\xc3\\xbc\\xc3\\x9f" least=0 most=6 threshold=0.30000000000000004 calibrator=auto
"""


def test_text_is_read_and_written():
    table = lanner.CalibrationTable.parse(TABLE)
    assert set(table.ranges) == {"a b", "grüß"} and len(table) == 2
    one = table.ranges["a b"]
    assert (one.least, one.most, one.threshold, one.calibrator, one.has_negative) == (-1.5, 2.25, 2, "entropy", True)
    assert table.ranges["grüß"].threshold == 0.1 + 0.2 and not table.ranges["grüß"].has_negative
    assert str(table) == TABLE
    assert lanner.CalibrationTable.parse(TABLE.encode()) == table
    assert repr(table) == "CalibrationTable of 2 ranges"
    assert repr(one) == "TensorRange(-1.5, 2.25, threshold=2, calibrator='entropy')"
    assert eval(repr(one), {"TensorRange": lanner.TensorRange}) == one


def test_files_are_saved_and_loaded(tmp_path):
    table = lanner.CalibrationTable({"x": (-1, 3), "any \n\udcff name": lanner.TensorRange(0, 1)})
    table.save(tmp_path / "net.calibration")
    assert lanner.CalibrationTable.load(tmp_path / "net.calibration") == table
    assert lanner.CalibrationTable.load(str(tmp_path / "net.calibration")).ranges == table.ranges
    assert [path.name for path in tmp_path.iterdir()] == ["net.calibration"]
    with pytest.raises(lanner.NotFound, match="missing"):
        lanner.CalibrationTable.load(tmp_path / "missing")
    (tmp_path / "wrong").write_text(TABLE + "x: 3\n")
    with pytest.raises(lanner.BadData, match='wrong: line 4: expected "tensor" least='):
        lanner.CalibrationTable.load(tmp_path / "wrong")


def test_caches_of_tensorrt_are_read():
    scale = struct.unpack(">f", bytes.fromhex("3c010a14"))[0]
    table = lanner.CalibrationTable.parse("TRT-8401-EntropyCalibration2\nconv1/convolution:0: 3c010a14\n")
    found = table.ranges["conv1/convolution:0"]
    assert (found.threshold, found.calibrator, found.has_negative) == (127 * scale, "entropy2", True)
    with pytest.raises(lanner.BadData, match="line 2: expected a scale of up to 8 hexadecimal digits"):
        lanner.CalibrationTable.parse("TRT-8401-EntropyCalibration2\na: zero\n")


def test_ranges_of_users_get_the_larger_magnitude():
    table = lanner.CalibrationTable({"a": (-1, 3), "b": (-3, 1), "c": (0, 0), "d": lanner.TensorRange(-2, 5, threshold=4)})
    assert {name: found.threshold for name, found in table.ranges.items()} == {"a": 3, "b": 3, "c": 1, "d": 4}
    assert table.ranges["a"].calibrator == "minmax"
    assert lanner.CalibrationTable({**table.ranges, "a": (-7, 7)}).ranges["a"].threshold == 7
    assert len(lanner.CalibrationTable()) == 0 and not lanner.CalibrationTable().ranges


def test_ranges_are_a_copy():
    table = lanner.CalibrationTable({"a": (-1, 1)})
    table.ranges.clear()
    assert len(table) == 1
    with pytest.raises(AttributeError):
        table.ranges["a"].threshold = 3


@pytest.mark.parametrize(
    "given", [(1, 0), (0, math.inf), (math.nan, 1), lambda: lanner.TensorRange(0, 1, threshold=0), lambda: lanner.TensorRange(0, 1, threshold=math.nan)]
)
def test_ranges_that_are_none_are_refused(given):
    with pytest.raises(lanner.InvalidArgument, match="expected"):
        lanner.CalibrationTable({"x": given() if callable(given) else given})


def test_refused_ranges_are_named():
    with pytest.raises(lanner.InvalidArgument, match="^range of x: range 1 to 0: expected two finite numbers, the smaller one first$"):
        lanner.CalibrationTable({"x": (1, 0)})
    with pytest.raises(lanner.InvalidArgument, match="ranges: '' is no name"):
        lanner.CalibrationTable({"": (0, 1)})


def test_wrong_types_are_named():
    with pytest.raises(TypeError, match=r"range of x: 3 is of the wrong type or size; expected a TensorRange, or \(least, most\)"):
        lanner.CalibrationTable({"x": 3})
    with pytest.raises(TypeError, match="text: 3 is of the wrong type; expected str or bytes"):
        lanner.CalibrationTable.parse(3)
    with pytest.raises(lanner.InvalidArgument, match="calibrator 'max': expected one of auto, entropy"):
        lanner.TensorRange(0, 1, calibrator="max")


def test_equality_is_by_content():
    assert lanner.TensorRange(-1, 1) == lanner.TensorRange(-1, 1)
    assert lanner.TensorRange(-1, 1) != lanner.TensorRange(-1, 1, calibrator="entropy")
    assert lanner.TensorRange(-1, 1) != (-1, 1) and lanner.CalibrationTable() != {}


def test_texts_of_the_guide_are_tables():
    blocks = re.findall(r"^```\n((?:lanner|TRT).*?)^```$", (ROOT / "docs" / "int8.md").read_text(), re.MULTILINE | re.DOTALL)
    tables = [lanner.CalibrationTable.parse(block) for block in blocks]
    assert [sorted(table.ranges) for table in tables] == [["/layer1/relu/Relu_output_0", "input"], ["data", "prob"]]
    assert round(tables[1].ranges["prob"].threshold, 5) == 1.00024
