#pragma once
// TRTEngineOp, the node of an engine, as TF-TRT wrote it (tensorflow/compiler/tf2tensorrt/ops).

#include "tf/write/graph_def.h"

namespace lanner::tf {

/// Which release's attributes a node has: the last one's (to 2.17), or those of 1.x, which named the native
/// segment by `segment_funcdef_name`.
enum class EngineAttributes { last, first };

struct EngineNode {
  std::string name, device;
  std::vector<std::string> inputs; ///< Control inputs last.
  std::vector<DataType> input_types, output_types;
  std::vector<PartialShape> input_shapes, output_shapes; ///< Of each input and output; unknown by default.
  std::string segment_function;                          ///< The native segment; empty: there is none.
  std::string serialized_segment;                        ///< The engine of a static node.
  std::int64_t max_cached_engines = 1, max_batch_size = 1, workspace_bytes = 0;
  std::string precision = "FP32"; ///< `FP32`, `FP16` or `INT8`.
  std::string calibration_data;
  bool use_calibration = true;
  bool is_static = false;
  bool use_implicit_batch = true, allow_build_at_runtime = true;
  std::string profile_strategy; ///< `Range`, `Optimal`, `Range+Optimal`; empty: the node has no profiles.
  bool profile_generation = false;
  bool explicit_precision = false;
  std::vector<std::int64_t> cached_engine_batches; ///< Of 1.x.
};

/// Throws Error{invalid_argument} where a list of shapes has another length than its types.
NodeRecord engine_node(const EngineNode& engine, EngineAttributes attributes = EngineAttributes::last);

} // namespace lanner::tf
