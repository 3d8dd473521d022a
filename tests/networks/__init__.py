"""Every network of the zoo through Lanner, beside onnxruntime and a float64 run: docs/networks.md."""
