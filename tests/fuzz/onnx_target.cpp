#include "fuzz/targets.h"
#include "importers/importer.h"
#include "ops/table/table.h"
#include "passes/pipeline.h"

namespace lanner::fuzz {

void read_onnx(std::span<const std::byte> input) {
  const Limits limits = small_limits();
  const auto graph = import_model(open_bytes(input), {builtin_op_table(), {}, limits});
  PassOptions options;
  options.verify = true;
  options.limits = limits;
  run_passes(*graph, options);
}

} // namespace lanner::fuzz
