"""What `tensorflow.contrib.tensorrt` gives, as in TensorFlow 1.7 to 1.15."""

from typing import Any

from lanner.compat.trt_convert import TrtGraphConverter, TrtPrecisionMode, calib_graph_to_infer_graph
from lanner.compat.trt_convert import create_inference_graph as _create_inference_graph

__all__ = ["TrtGraphConverter", "TrtPrecisionMode", "calib_graph_to_infer_graph", "create_inference_graph"]


def create_inference_graph(
    input_graph_def: Any,
    outputs: Any,
    max_batch_size: int | None = 1,
    max_workspace_size_bytes: int = 2 << 20,
    precision_mode: str = TrtPrecisionMode.FP32,
    minimum_segment_size: int = 3,
    is_dynamic_op: bool = False,
    maximum_cached_engines: int = 1,
    cached_engine_batches: Any = None,
    use_calibration: bool = True,
    input_saved_model_dir: str | None = None,
    input_saved_model_tags: Any = None,
    output_saved_model_dir: str | None = None,
    session_config: Any = None,
) -> Any:
    """Converts a GraphDef, or a SavedModel where that is None, and returns the GraphDef. See lanner.compat.trt_convert."""
    return _create_inference_graph(
        input_graph_def,
        outputs,
        max_batch_size,
        max_workspace_size_bytes,
        precision_mode,
        minimum_segment_size,
        is_dynamic_op,
        maximum_cached_engines,
        input_saved_model_dir,
        input_saved_model_tags,
        None,
        output_saved_model_dir,
        cached_engine_batches=cached_engine_batches,
        use_calibration=use_calibration,
        session_config=session_config,
    )
