"""Parameters of conversions, as TF-TRT had them from TensorFlow 1.13 to 2.17."""

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple


class TrtPrecisionMode:
    FP32 = "FP32"
    FP16 = "FP16"
    INT8 = "INT8"

    @staticmethod
    def supported_precision_modes() -> list[str]:
        modes = [TrtPrecisionMode.FP32, TrtPrecisionMode.FP16, TrtPrecisionMode.INT8]
        return modes + [mode.lower() for mode in modes]


# Of the last release with TensorRT 8.4 or newer. Engines of Lanner take what they need; the number is written to their nodes.
DEFAULT_TRT_MAX_WORKSPACE_SIZE_BYTES = sys.maxsize - 512

PROFILE_STRATEGY_RANGE = "Range"
PROFILE_STRATEGY_OPTIMAL = "Optimal"
PROFILE_STRATEGY_RANGE_OPTIMAL = "Range+Optimal"
PROFILE_STRATEGY_IMPLICIT_BATCH_MODE_COMPATIBLE = "ImplicitBatchModeCompatible"


def supported_profile_strategies() -> list[str]:
    return [PROFILE_STRATEGY_RANGE, PROFILE_STRATEGY_OPTIMAL, PROFILE_STRATEGY_RANGE_OPTIMAL, PROFILE_STRATEGY_IMPLICIT_BATCH_MODE_COMPATIBLE]


class _Fields(NamedTuple):
    max_workspace_size_bytes: int = DEFAULT_TRT_MAX_WORKSPACE_SIZE_BYTES
    precision_mode: str = TrtPrecisionMode.FP32
    minimum_segment_size: int = 3
    maximum_cached_engines: int = 1
    use_calibration: bool = True
    allow_build_at_runtime: bool = True
    # Of TensorFlow 1.14 to 2.2; the last release had them no more.
    rewriter_config_template: Any = None
    is_dynamic_op: bool | None = True
    max_batch_size: int | None = 1
    use_function_backup: bool = True
    cached_engine_batches: Sequence[int] | None = None


# The order of TensorFlow 1.15 and 2.0, whose first field no integer can be.
_EARLY_ORDER = (
    "rewriter_config_template",
    "max_workspace_size_bytes",
    "precision_mode",
    "minimum_segment_size",
    "is_dynamic_op",
    "maximum_cached_engines",
    "use_calibration",
    "max_batch_size",
)


class TrtConversionParams(_Fields):
    """Parameters of a conversion: those of the last release of TF-TRT, and after them those that only earlier releases had.

    max_workspace_size_bytes: written to the engines' nodes; engines take what they need
    precision_mode: "FP32", "FP16" or "INT8", in upper or lower case
    minimum_segment_size: parts with fewer nodes stay native; at least 1, or -1: no engines
    maximum_cached_engines: engines of one node, for different input shapes, that are kept
    use_calibration: with INT8: ranges come from calibration data; False: from quantization nodes of the model
    allow_build_at_runtime: False: shapes without a built engine run natively
    rewriter_config_template: without effect, as there is no Grappler pass; reported
    is_dynamic_op: TrtGraphConverterV2 takes True alone
    max_batch_size: of static engines
    use_function_backup: False: no native function is stored, and an engine's error is raised where the model runs
    cached_engine_batches: batch sizes of cached engines, at most maximum_cached_engines; written to the nodes
    """

    __slots__ = ()

    def __new__(cls, *values: Any, **named: Any) -> "TrtConversionParams":
        early = bool(values) and (values[0] is None or hasattr(values[0], "SerializeToString"))
        order = _EARLY_ORDER if early else cls._fields
        if len(values) > len(order):
            raise TypeError(f"TrtConversionParams: expected at most {len(order)} values, got {len(values)}")
        given = dict(zip(order, values, strict=False))
        for name, value in named.items():
            if name not in cls._fields or name in given:
                problem = "given twice" if name in given else f"no such parameter; there are {', '.join(cls._fields)}"
                raise TypeError(f"TrtConversionParams: {name}: {problem}")
            given[name] = value
        return super().__new__(cls, **given)


DEFAULT_TRT_CONVERSION_PARAMS = TrtConversionParams()


def check_conversion_params(params: TrtConversionParams) -> None:
    modes = TrtPrecisionMode.supported_precision_modes()
    if params.precision_mode not in modes:
        raise ValueError(f"precision mode '{params.precision_mode}' is not supported. It should be one of {modes}")
    if params.minimum_segment_size <= 0 and params.minimum_segment_size != -1:
        raise ValueError(f"minimum segment size should be positive or -1 (to disable main graph conversion), got {params.minimum_segment_size}.")
    batches = params.cached_engine_batches
    if batches is not None and not isinstance(batches, (list, tuple)):
        raise TypeError(f"cached_engine_batches: expected a list of batch sizes, got {type(batches).__name__}")
    if batches and len(batches) > params.maximum_cached_engines:
        raise ValueError(f"cached_engine_batches has {len(batches)} sizes; maximum_cached_engines={params.maximum_cached_engines} should be no less")


def is_int8(params: TrtConversionParams) -> bool:
    return bool(params.precision_mode.upper() == TrtPrecisionMode.INT8)


def needs_calibration(params: TrtConversionParams) -> bool:
    return is_int8(params) and bool(params.use_calibration)


def check_profile_strategy(strategy: str) -> None:
    names = supported_profile_strategies()
    if strategy.lower() not in [name.lower() for name in names]:
        raise ValueError(f"profile_strategy '{strategy}' is not supported. It should be one of {names}")
