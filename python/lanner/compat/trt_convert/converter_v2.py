"""TrtGraphConverterV2: SavedModels of TensorFlow 2."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import lanner
from lanner.compat.trt_convert import conversion, functions, graphs, logs, report, variables
from lanner.compat.trt_convert.parameters import (
    DEFAULT_TRT_MAX_WORKSPACE_SIZE_BYTES,
    PROFILE_STRATEGY_RANGE,
    TrtConversionParams,
    TrtPrecisionMode,
    check_conversion_params,
    check_profile_strategy,
    needs_calibration,
)

InputFunction = Callable[[], Iterator[Any]]


class TrtGraphConverterV2:
    """Converts a SavedModel, as TF-TRT did in TensorFlow 2.

    input_saved_model_dir, input_saved_model_tags, input_saved_model_signature_key: what is converted
    use_dynamic_shape, dynamic_shape_profile_strategy: engines serve the profiles that build() makes of the inputs' shapes
    conversion_params: a TrtConversionParams, in place of the parameters one by one
    names: "2.x": engines are called TRTEngineOp_000_000; "1.x": TRTEngineOp_0
    The others: see TrtConversionParams.
    """

    def __init__(
        self,
        input_saved_model_dir: str | None = None,
        input_saved_model_tags: Sequence[str] | None = None,
        input_saved_model_signature_key: str | None = None,
        use_dynamic_shape: bool | TrtConversionParams | None = None,
        dynamic_shape_profile_strategy: str | None = None,
        max_workspace_size_bytes: int = DEFAULT_TRT_MAX_WORKSPACE_SIZE_BYTES,
        precision_mode: str = TrtPrecisionMode.FP32,
        minimum_segment_size: int = 3,
        maximum_cached_engines: int = 1,
        use_calibration: bool = True,
        allow_build_at_runtime: bool = True,
        conversion_params: TrtConversionParams | None = None,
        *,
        names: str = "2.x",
        **early: Any,
    ) -> None:
        if isinstance(use_dynamic_shape, TrtConversionParams):  # the fourth parameter of TensorFlow 2.0
            use_dynamic_shape, conversion_params = None, use_dynamic_shape
        params = conversion_params or TrtConversionParams(
            max_workspace_size_bytes,
            precision_mode,
            minimum_segment_size,
            maximum_cached_engines,
            use_calibration,
            allow_build_at_runtime,
            **early,
        )
        if not input_saved_model_dir:
            raise ValueError("Must specify input_saved_model_dir")
        check_conversion_params(params)
        graphs.check_names(names)
        if params.is_dynamic_op is not None and not params.is_dynamic_op:
            raise ValueError("is_dynamic_op is either None or True for TF2")
        self._strategy = ""
        if use_dynamic_shape:
            self._strategy = dynamic_shape_profile_strategy or PROFILE_STRATEGY_RANGE
            check_profile_strategy(self._strategy)
            if self._strategy == "ImplicitBatchModeCompatible":
                logs.warn("ImplicitBatchModeCompatible strategy is deprecated. Please consider using a different profile strategy.")
        conversion.tell_of_template(params.rewriter_config_template)
        self._params = params
        self._key = input_saved_model_signature_key or "serving_default"
        self._source = conversion.Source(str(input_saved_model_dir), conversion.tags_of(input_saved_model_tags), self._key)
        self._settings = graphs.EngineSettings(params, names=names, native_segments=params.use_function_backup, functions=False)
        self._options: dict[str, Any] = {"mode": "dynamic"}
        if self._strategy:
            self._options |= {"engine_shapes": "profiles", "profile_strategy": self._strategy}
        self._model: lanner.tf.ConvertedModel | None = None
        self._result: conversion.Result | None = None
        self._function: Any = None
        self._calibration_input_fn: InputFunction | None = None
        self._calibrated = self._built = False

    def convert(self, calibration_input_fn: InputFunction | None = None) -> Any:
        """Converts the model and returns its function.

        calibration_input_fn: with INT8, a generator function of calibration data: each time an array, a list or tuple in
            the order of the inputs' names, or a dict
        """
        if self._function is not None:
            raise AssertionError("convert() is already called")
        calibrates = needs_calibration(self._params)
        if calibrates and not calibration_input_fn:
            raise ValueError("Should specify calibration_input_fn because INT8 calibration is needed")
        if not calibrates and calibration_input_fn:
            raise ValueError("Should not specify calibration_input_fn because INT8 calibration is not needed")
        self._model = conversion.convert(self._source, self._params, **self._options)
        self._calibration_input_fn = calibration_input_fn
        if calibrates and not self._strategy:
            self._calibrate()
        self._take_result(engines=False)
        report.tell(self._model)
        if variables.graph_viz_path():
            assert self._result is not None
            report.write_graph_viz(self._result.meta_graph.graph_def, self._result.ops, variables.graph_viz_path())
        return self._function

    def _calibrate(self) -> None:
        assert self._model is not None and self._calibration_input_fn is not None
        batches = conversion.batches_of(self._calibration_input_fn(), self._model)
        conversion.require_equal_shapes(batches)
        self._model = conversion.convert(self._source, self._params, batches=batches, **self._options)
        self._calibrated = True
        if not self._strategy and not self._model.needs_tensorflow:
            self._model.build(batches[:1])

    def _take_result(self, engines: bool) -> None:
        assert self._model is not None
        functions.register_operators()
        self._result = conversion.result_of(self._model, self._settings, engines=engines)
        if not self._result.has_state:
            self._function = functions.concrete_function(self._result.meta_graph)
            return
        folder = tempfile.TemporaryDirectory()
        self._result.write(folder.name)
        self._loaded, self._function = functions.loaded(folder, self._key)

    def build(self, input_fn: InputFunction | None) -> None:
        """Builds engines for the shapes of the given inputs, ahead of time.

        input_fn: a generator function of inputs, as calibration_input_fn
        """
        if self._built:
            raise NotImplementedError("build() is already called. It is not supported to call build() more than once.")
        if input_fn is None:
            raise RuntimeError("input_fn is None. Method build() needs input_fn to be specified in order to build TensorRT engines")
        if self._model is None:
            raise RuntimeError("Need to call convert() before build()")
        calibrates = needs_calibration(self._params) and not self._calibrated
        if calibrates:
            self._calibrate()
        batches = conversion.batches_of(input_fn(), self._model)
        if not batches:
            raise RuntimeError("input_fn gave no inputs; expected at least one, for whose shapes engines are built")
        if not self._model.needs_tensorflow:
            self._model.build(batches)
        if calibrates or not self._model.needs_tensorflow:
            self._take_result(engines=False)
        if self._model.needs_tensorflow:
            self._run(batches)
        self._built = True

    def _run(self, batches: Sequence[dict[str, Any]]) -> None:
        """Runs the function, whose engines are built then: some nodes only TensorFlow can run."""
        import tensorflow as tf

        for batch in batches:
            self._function(**{name: tf.constant(value) for name, value in batch.items()})
        logs.tell_once("build(): some nodes only TensorFlow can run, so engines are built in this process; the saved model builds its own.")

    def save(self, output_saved_model_dir: str, save_gpu_specific_engines: bool = True, options: Any = None) -> None:
        """Saves the converted model as a SavedModel.

        save_gpu_specific_engines: whether engines that are built are saved too; False: they are built where the model runs
        options: tf.saved_model.SaveOptions
        """
        if self._model is None or self._result is None:
            raise AssertionError("Need to call convert() before save()")
        if needs_calibration(self._params) and not self._calibrated:
            raise RuntimeError(
                "A model that requires INT8 calibration has to be built before saving it. Call build() to build and calibrate the TensorRT engines."
            )
        if "remove_native_segments" in variables.experimental_features():
            self._settings.native_segments = False
        self._take_result(engines=save_gpu_specific_engines)
        if self._result.has_state:
            self._result.write(str(output_saved_model_dir))
            return
        with tempfile.TemporaryDirectory() as scratch:
            functions.save(
                self._function, self._key, self._result.plans, self._params.maximum_cached_engines, output_saved_model_dir, scratch, options
            )

    def summary(self, line_length: int = 160, detailed: bool = True, print_fn: Callable[[str], object] | None = None) -> None:
        """Prints a table of the engines, and the share of operators that are converted.

        line_length: at least 160
        detailed: also the operators of each engine
        print_fn: called with each line; default: print
        """
        if self._result is None:
            raise RuntimeError(f"Impossible to call `{type(self).__name__}.summary()` before calling {type(self).__name__}.convert()`.")
        if line_length < 160:
            raise ValueError(f"Invalid `line_length` value has been received: {line_length}. Minimum: 160.")
        report.print_summary(self._result.meta_graph.graph_def, self._result.ops, line_length, detailed, print_fn or print)
