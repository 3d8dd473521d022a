"""Every operator of ONNX, in every version that operator sets 7 to 23 hold and with every attribute, beside onnxruntime, onnx.reference and PyTorch."""
