"""TF-TRT's Python interface over `lanner.tf`: what `tensorflow.python.compiler.tensorrt.trt_convert` was. docs/tf-trt.md.

    from lanner.compat import trt_convert as trt

The converters need TensorFlow in the process, which runs what they return; conversion itself does not.
"""

from typing import Any, NoReturn

from lanner.compat.trt_convert.converter_v1 import TrtGraphConverter, create_inference_graph
from lanner.compat.trt_convert.converter_v2 import TrtGraphConverterV2
from lanner.compat.trt_convert.parameters import (
    DEFAULT_TRT_CONVERSION_PARAMS,
    DEFAULT_TRT_MAX_WORKSPACE_SIZE_BYTES,
    PROFILE_STRATEGY_IMPLICIT_BATCH_MODE_COMPATIBLE,
    PROFILE_STRATEGY_OPTIMAL,
    PROFILE_STRATEGY_RANGE,
    PROFILE_STRATEGY_RANGE_OPTIMAL,
    TrtConversionParams,
    TrtPrecisionMode,
    supported_profile_strategies,
)

__all__ = [
    "DEFAULT_TRT_CONVERSION_PARAMS",
    "DEFAULT_TRT_MAX_WORKSPACE_SIZE_BYTES",
    "PROFILE_STRATEGY_IMPLICIT_BATCH_MODE_COMPATIBLE",
    "PROFILE_STRATEGY_OPTIMAL",
    "PROFILE_STRATEGY_RANGE",
    "PROFILE_STRATEGY_RANGE_OPTIMAL",
    "TrtConversionParams",
    "TrtGraphConverter",
    "TrtGraphConverterV2",
    "TrtPrecisionMode",
    "calib_graph_to_infer_graph",
    "create_inference_graph",
    "get_tensorrt_rewriter_config",
    "supported_profile_strategies",
]


def get_tensorrt_rewriter_config(*values: Any, **named: Any) -> NoReturn:
    """Conversion by Grappler while a session runs is not there."""
    raise NotImplementedError(
        "get_tensorrt_rewriter_config: Lanner converts ahead of time, not inside a session; use TrtGraphConverter or TrtGraphConverterV2"
    )


def calib_graph_to_infer_graph(calibration_graph_def: Any, is_dynamic_op: bool = False) -> NoReturn:
    """Calibration by runs of the converted graph itself is not there."""
    raise NotImplementedError(
        "calib_graph_to_infer_graph: Lanner calibrates from data, not by runs of the converted graph; "
        "use TrtGraphConverter(precision_mode='INT8').calibrate()"
    )
