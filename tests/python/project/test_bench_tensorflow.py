"""The page of the networks of TF-TRT's guide."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))
import tensorflow_networks as networks

GOOD = {
    "network": "VGG16",
    "images": 1000,
    "nodes": 61,
    "share": 1.0,
    "engines": 1,
    "difference": 2e-6,
    "accuracy": 0.95,
    "fp32": 1.0,
    "int8": 0.991,
    "int8_nodes": 16,
}


def row(**changes):
    return networks.row_text("VGG16", GOOD | changes)


def test_rows_say_what_was_measured():
    assert row() == "| VGG16 | 1000 | 61 | 100.0 % | 1 | 2.0e-06 | 95.0 % | 100.0 % | 99.1 % | 16 |"
    assert networks.row_text("VGG16", None).startswith("| VGG16 | not measured |")
    assert row().count("|") == networks.row_text("VGG16", None).count("|")


@pytest.mark.parametrize("changes", [{"share": 0.98}, {"engines": 2}, {"difference": 2e-4}, {"accuracy": 0.8}, {"int8": 0.97}, {"int8_nodes": 0}])
def test_a_missed_bound_is_marked(changes):
    assert "**no**" in row(**changes) and "**no**" not in row()


def test_page_lists_every_network_once():
    lines = networks.page({"VGG16": GOOD}).splitlines()
    assert [line.split("|")[1].strip() for line in lines if line.startswith("| ")][1:] == networks.NAMES
    assert sum("not measured" in line for line in lines if line.startswith("| ")) == 9
