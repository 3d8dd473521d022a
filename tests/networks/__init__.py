"""Runs every network of the zoo with Lanner, onnxruntime and in float64: docs/networks.md."""
