"""Operators of classical machine learning (ai.onnx.ml), as exporters of scikit-learn, LightGBM and XGBoost write them."""

import numpy as np
import pytest
from onnx import TensorProto
from single_node import agree, by_lanner, model_of, random, refused

import lanner

ML = {"domain": "ai.onnx.ml"}
LABEL = {"y0": TensorProto.INT64, "y1": TensorProto.FLOAT}
NAMES = {"y0": TensorProto.STRING, "y1": TensorProto.FLOAT}


def test_rows_are_scaled():
    x = random(5, 4)
    agree("Scaler", {"x": x}, {"offset": [1.0, 0.5, 0.0, -2.0], "scale": [0.5, 1.0, 3.0, -1.0]}, **ML)
    agree("Scaler", {"x": x}, {"offset": [0.25], "scale": [4.0]}, **ML)
    agree("Scaler", {"x": np.arange(8, dtype=np.int64).reshape(2, 4)}, {"offset": [1.0] * 4, "scale": [0.5] * 4}, **ML)


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_rows_are_normalised(norm):
    x = np.abs(random(4, 5)) + np.float32(0.1)
    agree("Normalizer", {"x": x}, {"norm": norm}, **ML)
    x[1] = 0
    agree("Normalizer", {"x": x}, {"norm": norm}, **ML)
    refused("Normalizer", {"x": x}, {"norm": "L3"}, match="attribute norm is 'L3', expected MAX, L1 or L2", **ML)


def test_missing_values_are_imputed():
    x = random(4, 3)
    x[1, 2] = x[3, 0] = np.nan
    agree("Imputer", {"x": x}, {"imputed_value_floats": [1.0, 2.0, 3.0], "replaced_value_float": float("nan")}, **ML)
    whole = np.array([[1, -1, 3], [-1, 5, 6]])
    agree("Imputer", {"x": whole}, {"imputed_value_int64s": [7, 8, 9], "replaced_value_int64": -1}, **ML)
    large = np.array([[2**53, 2**53 + 1, 2**53 + 2]])  # apart by less than doubles are
    agree("Imputer", {"x": large}, {"imputed_value_int64s": [7], "replaced_value_int64": 2**53 + 1}, rtol=0, atol=0, **ML)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_linear_models(transform):
    x = random(6, 3)
    weights = [0.5, -1.0, 0.25, 1.5, 0.75, -0.5, -0.125, 1.0, 2.0]
    agree("LinearRegressor", {"x": x}, {"coefficients": weights, "intercepts": [0.1, -0.2, 0.3], "targets": 3}, **ML)
    for labels, types in (({"classlabels_ints": [3, 5, 9]}, LABEL), ({"classlabels_strings": ["cat", "dog", "eel"]}, NAMES)):
        attributes = {"coefficients": weights, "intercepts": [0.1, -0.2, 0.3], "post_transform": transform} | labels
        agree("LinearClassifier", {"x": x}, attributes, outputs=2, types=types, **ML)
    refused("LinearRegressor", {"x": x}, {"coefficients": weights, "post_transform": "PROBIT", "targets": 3}, match="'PROBIT', expected NONE", **ML)


def test_categories_and_columns():
    agree("OneHotEncoder", {"x": np.array([2, 7, 1])}, {"cats_int64s": [1, 2, 3]}, types={"y0": TensorProto.FLOAT}, **ML)
    agree("OneHotEncoder", {"x": np.array(["b", "z"], object)}, {"cats_strings": ["a", "b"]}, types={"y0": TensorProto.FLOAT}, **ML)
    agree("FeatureVectorizer", {"a": random(3, 2), "b": random(3, 1)}, {"inputdimensions": [2, 1]}, **ML)
    refused("ZipMap", {"x": random(2, 2)}, {"classlabels_int64s": [0, 1]}, match=r"ZipMap.*maps are not supported; export without it .*'zipmap': False", types={"y0": TensorProto.FLOAT}, **ML)


MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def trees(prefix, targets, seed=0, count=5, depth=3, features=4, several=False, positive=False, mode=None):
    """Full trees, in the operators' attribute lists; leaves with a weight for one target or for each."""
    draw = np.random.default_rng(seed)
    lists = {f"nodes_{name}": [] for name in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    weights = {f"{prefix}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(count):
        for node in range(2 ** (depth + 1) - 1):
            leaf = node >= 2**depth - 1
            row = (tree, node, int(draw.integers(features)), "LEAF" if leaf else mode or MODES[int(draw.integers(4))], float(np.float32(draw.normal())), 0 if leaf else 2 * node + 1, 0 if leaf else 2 * node + 2, int(draw.integers(2)))
            for values, value in zip(lists.values(), row, strict=True):
                values.append(value)
            for target in (range(targets) if several else [int(draw.integers(targets))]) if leaf else ():
                weight = abs(draw.normal()) / count if positive else draw.normal()
                for values, value in zip(weights.values(), (tree, node, target, float(np.float32(weight))), strict=True):
                    values.append(value)
    return lists | weights


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("mode", MODES[:4])
def test_trees_that_regress(several, mode):
    x = random(20, 4)
    x[3, 1] = x[7] = np.nan
    agree("TreeEnsembleRegressor", {"x": x}, trees("target", 3, several=several, mode=mode) | {"n_targets": 3}, **ML)
    agree("TreeEnsembleRegressor", {"x": x}, trees("target", 1, mode=mode) | {"n_targets": 1, "base_values": [0.5]}, **ML)


def test_trees_of_mixed_modes_and_aggregates():
    x = random(20, 4)
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        agree("TreeEnsembleRegressor", {"x": x}, trees("target", 1) | {"n_targets": 1, "aggregate_function": aggregate}, **ML)
    refused("TreeEnsembleRegressor", {"x": x}, trees("target", 2, several=True) | {"n_targets": 2, "aggregate_function": "MAX"}, match="aggregate_function SUM only", **ML)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
def test_trees_that_classify(several, transform):
    x = random(20, 4)
    made = trees("class", 3, several=several) | {"post_transform": transform}
    agree("TreeEnsembleClassifier", {"x": x}, made | {"classlabels_int64s": [4, 7, 9]}, outputs=2, types=LABEL, **ML)
    agree("TreeEnsembleClassifier", {"x": x}, made | {"classlabels_strings": ["a", "b", "c"], "base_values": [0.1, -0.2, 0.3]}, outputs=2, types=NAMES, **ML)


@pytest.mark.parametrize(("positive", "transform"), [(True, "NONE"), (False, "NONE"), (False, "LOGISTIC")])
def test_two_classes_of_which_one_is_scored(positive, transform):
    x = random(20, 4)
    made = trees("class", 1, positive=positive) | {"post_transform": transform, "classlabels_int64s": [0, 1]}
    agree("TreeEnsembleClassifier", {"x": x}, made, outputs=2, types=LABEL, **ML)
    agree("TreeEnsembleClassifier", {"x": x}, made | {"base_values": [0.25]}, outputs=2, types=LABEL, **ML)


def test_invalid_trees_are_refused():
    x = random(2, 4)
    made = trees("target", 1) | {"n_targets": 1}
    refused("TreeEnsembleRegressor", {"x": x}, made | {"nodes_values": [0.0]}, match="nodes_values has 1 entries, expected 75", **ML)
    refused("TreeEnsembleRegressor", {"x": x}, made | {"nodes_truenodeids": [99] * 75}, match="tree 0 has no node 99", **ML)
    refused("TreeEnsembleRegressor", {"x": x}, made | {"target_ids": [5] * 40}, match="target 5, expected 0 to 0", **ML)
    refused("TreeEnsembleRegressor", {"x": x}, made | {"nodes_modes": ["BRANCH_X"] * 75}, match="BRANCH_X", **ML)
    circle = made | {"nodes_truenodeids": [0] * 75, "nodes_falsenodeids": [0] * 75}
    with pytest.raises(lanner.Error, match="form a cycle"):
        by_lanner(model_of("TreeEnsembleRegressor", {"x": x}, circle, **ML), {"x": x})
