#include "tf/write/engine_node.h"

#include "base/check.h"

namespace lanner::tf {
namespace {

std::vector<PartialShape> shapes_for(const std::vector<DataType>& types,
                                     const std::vector<PartialShape>& shapes, std::string_view what) {
  if (shapes.empty()) return std::vector<PartialShape>(types.size());
  check(shapes.size() == types.size(), ErrorCode::invalid_argument,
        "an engine's {} have {} types and {} shapes", what, types.size(), shapes.size());
  return shapes;
}

} // namespace

NodeRecord engine_node(const EngineNode& engine, EngineAttributes attributes) {
  NodeRecord node{engine.name, "TRTEngineOp", engine.device, engine.inputs, {}};
  Attributes& to = node.attributes;
  to["InT"] = engine.input_types;
  to["OutT"] = engine.output_types;
  to["input_shapes"] = shapes_for(engine.input_types, engine.input_shapes, "inputs");
  to["output_shapes"] = shapes_for(engine.output_types, engine.output_shapes, "outputs");
  to["serialized_segment"] = engine.serialized_segment;
  to["workspace_size_bytes"] = engine.workspace_bytes;
  to["precision_mode"] = engine.precision;
  to["calibration_data"] = engine.calibration_data;
  to["use_calibration"] = engine.use_calibration;
  to["static_engine"] = engine.is_static;
  if (attributes == EngineAttributes::first) {
    to["segment_funcdef_name"] = engine.segment_function;
    to["cached_engine_batches"] = engine.cached_engine_batches;
    to["max_cached_engines_count"] = engine.max_cached_engines;
    to["fixed_input_size"] = true;
    return node;
  }
  // TensorFlow's loader looks each function up that a node names, the empty name too.
  if (!engine.segment_function.empty()) to["segment_func"] = FunctionName{engine.segment_function};
  to["segment_funcdef_name"] = std::string();
  to["cached_engine_batches"] = engine.cached_engine_batches;
  to["fixed_input_size"] = true;
  to["max_cached_engines_count"] = engine.max_cached_engines;
  to["max_batch_size"] = engine.max_batch_size;
  to["profile_strategy"] = engine.profile_strategy;
  to["use_explicit_precision"] = engine.explicit_precision;
  to["_use_implicit_batch"] = engine.use_implicit_batch;
  to["_allow_build_at_runtime"] = engine.allow_build_at_runtime;
  to["_allow_soft_placement"] = true;
  to["_profile_generation_mode"] = engine.profile_generation;
  return node;
}

} // namespace lanner::tf
