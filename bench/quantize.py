"""Networks in INT8 as other products' quantisers write them, made once and kept beside the model."""

import pathlib

import numpy as np

SAMPLES = 32


def drawn_like(array, random):
    """An array of its shape and type: integers (token ids, masks) of its range, others of its mean and deviation."""
    if array.dtype.kind in "iub":
        return random.integers(int(array.min()), int(array.max()), array.shape, endpoint=True).astype(array.dtype)
    return random.normal(array.mean(), array.std(), array.shape).astype(array.dtype)


def samples(feed):
    """Batches for calibration, as large as the feed's and drawn like it: of at least SAMPLES samples together."""
    random = np.random.default_rng(1)
    batch = max((array.shape[0] for array in feed.values() if array.ndim), default=1)
    return [{name: drawn_like(array, random) for name, array in feed.items()} for _ in range(-(-SAMPLES // batch))]


def by_onnxruntime(model, feed):
    """Quantize and dequantize nodes, activations in u8, weights in s8 by channel: what onnxruntime advises on x86."""
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            self.batches = iter(samples(feed))

        def get_next(self):
            return next(self.batches, None)

    path = pathlib.Path(model).with_suffix(".qdq.onnx")
    if not path.exists():
        ready = path.with_suffix(".pre.onnx")
        quantization.shape_inference.quant_pre_process(model, ready, skip_symbolic_shape=True)
        types = {"activation_type": quantization.QuantType.QUInt8, "weight_type": quantization.QuantType.QInt8}
        quantization.quantize_static(ready, path, Reader(), per_channel=True, **types)
        ready.unlink()
    return str(path)


def by_nncf(model, feed):
    """A model of OpenVINO, quantised by its own tool with default settings."""
    import openvino

    path = pathlib.Path(model).with_suffix(".nncf.xml")
    if not path.exists():
        import nncf

        float_model = openvino.Core().read_model(model)
        float_model.reshape({name: list(array.shape) for name, array in feed.items()})
        openvino.save_model(nncf.quantize(float_model, nncf.Dataset(samples(feed))), path)
    return openvino.Core().read_model(path)
