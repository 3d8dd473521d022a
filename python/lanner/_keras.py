"""A keras.Model by Keras's own export to ONNX. Keras is imported already: the model is there."""

import os
import tempfile
from typing import Any

from lanner import _lanner


def build_model(model: Any, *others: object, **options: Any) -> _lanner.Engine:
    with tempfile.TemporaryDirectory(prefix="lanner-") as folder:
        path = os.path.join(folder, "model.onnx")
        model.export(path, format="onnx", verbose=False)
        return _lanner.build(path, *others, **options)
