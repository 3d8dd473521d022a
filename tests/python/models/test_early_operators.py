"""Experimental operators of ONNX's first versions, which networks for Windows ML use."""

import numpy as np
import pytest
from single_node import agree, random, refused

EARLY = {"domain": "", "version": 7}


def test_elementwise():
    x = random(2, 3, 4)
    agree("Affine", {"x": x}, {"alpha": 1.5, "beta": -0.25}, **EARLY)
    agree("Affine", {"x": x}, expected=[x], **EARLY)
    agree("Scale", {"x": x}, {"scale": 1 / 255}, **EARLY)
    agree("ParametricSoftplus", {"x": x}, {"alpha": 0.5, "beta": 2.0}, **EARLY)
    agree("ScaledTanh", {"x": x}, {"alpha": 1.7, "beta": 0.6}, **EARLY)
    agree("ThresholdedRelu", {"x": x}, {"alpha": 0.3}, **EARLY)


def test_image_scaler():
    image = random(2, 3, 4, 5)
    agree("ImageScaler", {"x": image}, {"scale": 0.5, "bias": [1.0, -2.0, 3.0]}, **EARLY)
    refused("ImageScaler", {"x": image}, {"bias": [1.0]}, match="attribute bias has 1 numbers for 3 channels", **EARLY)
    refused("ImageScaler", {"x": random(3, 4)}, {"bias": [1.0]}, match="expected rank 4", **EARLY)


@pytest.mark.parametrize("attributes", [{"border": [1, 2, 1, 0]}, {"border": [0, 1, 0, 0], "scale": [2, 3]}], ids=str)
def test_crop(attributes):
    agree("Crop", {"x": random(1, 2, 5, 6)}, attributes, **EARLY)


def test_crop_refuses_invalid_borders():
    refused("Crop", {"x": random(1, 2, 5, 6)}, {"border": [1, 2]}, match="attribute border has 2 numbers, expected 4", **EARLY)
    refused("Crop", {"x": random(1, 2, 5, 6)}, {"border": [-1, 0, 0, 0]}, match="a border or size is -1", **EARLY)


def test_fill():
    values = np.arange(6, dtype=np.float32)
    attributes = {"values": values.tolist()}
    agree("GivenTensorFill", {}, attributes | {"shape": [2, 3]}, expected=[values.reshape(2, 3)], **EARLY)
    shape = {"s": np.array([3], np.int64)}
    agree("GivenTensorFill", shape, attributes | {"input_as_shape": 1, "extra_shape": [2]}, constants=("s",), expected=[values.reshape(3, 2)], **EARLY)
    agree("ConstantFill", {}, {"shape": [2, 2], "value": 1.5}, expected=[np.full((2, 2), 1.5, np.float32)], **EARLY)
    agree("ConstantFill", {"x": random(3)}, {"value": 2.0, "dtype": 7, "extra_shape": [2]}, expected=[np.full((3, 2), 2)], **EARLY)
    refused("GivenTensorFill", {}, attributes, match="expected an input or attribute shape, got neither", **EARLY)


@pytest.mark.parametrize("axes", [None, [1, 0]])
def test_dynamic_slice(axes):
    inputs = {"x": random(4, 5), "starts": np.array([1, -3]), "ends": np.array([3, 1000]), "axes": None if axes is None else np.array(axes)}
    agree("DynamicSlice", inputs, constants=("starts", "ends", "axes"), **EARLY)


@pytest.mark.parametrize("across", [0, 1])
@pytest.mark.parametrize("variance", [0, 1])
def test_mean_variance_normalization(across, variance):
    attributes = {"across_channels": across, "normalize_variance": variance}
    agree("MeanVarianceNormalization", {"x": random(2, 3, 4, 5)}, attributes, atol=1e-5, **EARLY)
