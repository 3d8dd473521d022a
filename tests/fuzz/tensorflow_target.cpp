#include "fuzz/targets.h"
#include "importers/importer.h"
#include "importers/tensorflow/graph_def.h"
#include "ops/table/table.h"
#include "passes/pipeline.h"

namespace lanner::fuzz {

/// A GraphDef, binary or text.
void read_tensorflow(std::span<const std::byte> input) {
  if (!tensorflow::looks_like_graph_def(input)) return;
  const Limits limits = small_limits();
  const auto graph = import_model(open_bytes(input), {builtin_op_table(), {}, limits});
  PassOptions options;
  options.verify = true;
  options.limits = limits;
  run_passes(*graph, options);
}

} // namespace lanner::fuzz
