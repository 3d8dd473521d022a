"""Every operator of ONNX, in every version of operator sets 7 to 23 and with every attribute, compared with onnxruntime, onnx.reference and PyTorch."""
